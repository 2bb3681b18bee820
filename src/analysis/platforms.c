/* Known platforms as a table, and the sources of one's figures as another. */
#include "base/alloc.h"
#include "model/platform.h"
#include "table/table.h"
#include "trawl/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_COLUMNS (TW_PEAK_COUNT + 4)

static const struct trawl_column platform_column =
	TW_TEXT("platform", 16, "name for --platform", .values = "!");
static const struct trawl_column marks_column =
	TW_TEXT("marks", 24, "confidence of the figures: achievable, datasheet, unverified",
		.values = "!~^(achievable|datasheet|unverified)(, (datasheet|unverified))*$");

static const struct tw_table_spec whole_spec = {
	.name = "platforms",
	.meaning = "memory bandwidth, memory size, and dense peaks in TFLOP/s (TOP/s for int8)",
	.keep_empty = true,
};
static const struct trawl_column fact_columns[] = {
	TW_TEXT("fact", 16, "memory figure, or peak by unit and precision",
		.values =
			"!mem_bw_gbps|memory_gb|matrix_fp64|matrix_fp32|matrix_tf32|matrix_fp16|matrix_bf16|matrix_fp8|matrix_fp6|matrix_fp4|matrix_int8|vector_fp64|vector_fp32|vector_fp16|vector_bf16|units|compute"),
	TW_REAL("value", "", 1, 10, "value of the figure", .values = "!>0"),
	TW_TEXT("unit", 10, "unit of the figure", .values = "GB/s|GB|TFLOP/s|TOP/s"),
	TW_TEXT("mark", 12, "achievable, datasheet or unverified",
		.values = "achievable|datasheet|unverified"),
	TW_TEXT("source", 60, "source of the figure", .values = "!"),
};

static const struct tw_table_spec fact_spec =
	TW_SPEC("platform", "peaks of one GPU, without sparsity", fact_columns, .keep_empty = true);

/* ---- all of them */

static size_t add_columns(struct trawl_column *columns)
{
	static const struct trawl_column figure = { .type = TRAWL_COLUMN_REAL, .values = ">0" };
	size_t n = 0, i;

	columns[n++] = platform_column;
	columns[n] = figure;
	columns[n].header = "mem_bw_gbps";
	columns[n++].meaning = "memory bandwidth in GB/s";
	columns[n] = figure;
	columns[n].header = "memory_gb";
	columns[n++].meaning = "memory size in GB";
	for (i = 0; i < TW_PEAK_COUNT; i++) {
		columns[n] = figure;
		columns[n].digits = 1;
		columns[n].header = tw_peak_keys[i];
		columns[n++].meaning = "peak in TFLOP/s (TOP/s for int8)";
	}
	columns[n++] = marks_column;
	return n;
}

/* "datasheet, unverified": the marks that occur. */
static void add_marks(const struct tw_platform *p, char *text, size_t size)
{
	bool seen[TW_MARK_UNVERIFIED + 1] = { false };
	size_t i;

	seen[p->mem_bw_mark] = seen[p->memory_mark] = true;
	for (i = 0; i < TW_PEAK_COUNT; i++)
		seen[p->peak_mark[i]] = true;
	text[0] = '\0';
	for (i = TW_MARK_ACHIEVABLE; i <= TW_MARK_UNVERIFIED; i++) {
		size_t len = strlen(text);

		if (seen[i])
			snprintf(text + len, size - len, "%s%s", len ? ", " : "",
				 tw_mark_name((enum tw_mark)i));
	}
}

int trawl_platforms(struct trawl_table **out, struct trawl_error *err)
{
	struct trawl_column columns[MOST_COLUMNS];
	size_t count = add_columns(columns), i, k, row;
	struct trawl_table *table =
		tw_table_new_columns(&whole_spec, columns, count, trawl_allocator_default());
	struct tw_platform p;
	char marks[64];

	for (i = 0; table && i < tw_platform_count(); i++) {
		if (!tw_platform_find(tw_platform_name(i), &p))
			continue;
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, 0, p.name);
		tw_table_set_real(table, row, 1, p.mem_bw_gbps);
		tw_table_set_real(table, row, 2, p.memory_gb);
		for (k = 0; k < TW_PEAK_COUNT; k++)
			tw_table_set_real(table, row, 3 + k, p.peak_tflops[k]);
		add_marks(&p, marks, sizeof(marks));
		tw_table_set_str(table, row, count - 1, marks);
	}
	*out = tw_table_finished(table);
	return *out ? 0 : tw_no_memory(err);
}

/* ---- one */

static const char *unit_of(const char *key)
{
	if (!strcmp(key, "mem_bw_gbps"))
		return "GB/s";
	if (!strcmp(key, "memory_gb"))
		return "GB";
	if (!strcmp(key, "units") || !strcmp(key, "compute"))
		return NULL;
	return strstr(key, "int") ? "TOP/s" : "TFLOP/s";
}

static void add_fact(struct trawl_table *table, const char *key, double value, enum tw_mark mark,
		     const char *source)
{
	size_t row;

	if (isnan(value))
		return;
	row = tw_table_add_row(table);
	tw_table_set_str(table, row, 0, key);
	tw_table_set_real(table, row, 1, value);
	tw_table_set_str(table, row, 2, unit_of(key));
	tw_table_set_str(table, row, 3, *tw_mark_name(mark) ? tw_mark_name(mark) : NULL);
	tw_table_set_str(table, row, 4, source);
}

static void add_facts_of_file(struct trawl_table *table, const struct tw_platform *p,
			      const char *file)
{
	size_t i;

	add_fact(table, "mem_bw_gbps", p->mem_bw_gbps, TW_MARK_NONE, file);
	add_fact(table, "memory_gb", p->memory_gb, TW_MARK_NONE, file);
	for (i = 0; i < TW_PEAK_COUNT; i++)
		add_fact(table, tw_peak_keys[i], p->peak_tflops[i], TW_MARK_NONE, file);
}

static void add_known_facts(struct trawl_table *table, const char *platform)
{
	size_t i;

	for (i = 0; i < tw_platform_fact_count; i++) {
		const struct tw_platform_fact *fact = &tw_platform_facts[i];

		if (!strcmp(fact->platform, platform) && !*fact->pattern)
			add_fact(table, fact->key, fact->value, fact->mark, fact->source);
	}
}

static void add_devices(struct trawl_table *table, const char *platform)
{
	struct tw_str text;
	size_t i;

	tw_str_init(&text, trawl_allocator_default());
	for (i = 0; i < tw_platform_fact_count; i++) {
		const struct tw_platform_fact *fact = &tw_platform_facts[i];

		if (strcmp(fact->platform, platform) || !*fact->pattern)
			continue;
		tw_str_add_cstr(&text, text.len ? ", " : "");
		tw_str_add_cstr(&text, fact->pattern);
	}
	if (text.len && !text.failed)
		tw_table_add_note(table, "device names in traces: %s", text.ptr);
	tw_str_release(&text);
}

int trawl_platform_facts(struct trawl_table **out, const char *platform, struct trawl_error *err)
{
	struct trawl_table *table;
	struct tw_platform p;
	int status = tw_platform_open(platform, NULL, &p, err);
	bool from_file;

	*out = NULL;
	if (status)
		return status;
	table = tw_table_new(&fact_spec, trawl_allocator_default());
	from_file = p.mem_bw_mark == TW_MARK_NONE;
	if (table) {
		if (from_file)
			add_facts_of_file(table, &p, platform);
		else
			add_known_facts(table, p.name);
		tw_table_add_note(table, "figures of %s", p.name);
		if (!from_file)
			add_devices(table, p.name);
	}
	*out = tw_table_finished(table);
	return *out ? 0 : tw_no_memory(err);
}
