/* trawl platforms: known GPUs, or one with the source of each figure. */
#include "cli/cli.h"

#include "model/platform.h"
#include "table/table.h"

#include <ctype.h>
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
static const struct tw_table_spec matrix_spec = {
	.name = "platforms",
	.meaning = "memory, and dense matrix peaks in TFLOP/s (TOP/s for int8)",
	.keep_empty = true,
};
static const struct tw_table_spec vector_spec = {
	.name = "vector peaks",
	.meaning = "in TFLOP/s",
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

/* A table of platforms is made of these; `short_names` leaves "matrix_" and "vector_" to its title. */
struct parts {
	const struct tw_table_spec *spec;
	bool memory, short_names, marks;
	size_t first_peak, end_peak;
};

/* Such peaks are in the thousands: without decimals all of them fit a terminal. */
static bool is_of_few_bits(const char *peak)
{
	size_t len = strlen(peak);

	/* One digit in "fp8", "fp6", "fp4", "int8". */
	return !isdigit((unsigned char)peak[len - 2]);
}

static size_t add_columns(const struct parts *parts, struct trawl_column *columns)
{
	static const struct trawl_column figure = { .type = TRAWL_COLUMN_REAL, .values = ">0" };
	size_t n = 0, i;

	columns[n++] = platform_column;
	if (parts->memory) {
		columns[n] = figure;
		columns[n].header = parts->short_names ? "GB/s" : "mem_bw_gbps";
		columns[n++].meaning = "memory bandwidth in GB/s";
		columns[n] = figure;
		columns[n].header = parts->short_names ? "GB" : "memory_gb";
		columns[n++].meaning = "memory size in GB";
	}
	for (i = parts->first_peak; i < parts->end_peak; i++) {
		columns[n] = figure;
		columns[n].digits = parts->short_names && is_of_few_bits(tw_peak_keys[i]) ? 0 : 1;
		columns[n].header = tw_peak_keys[i] + (parts->short_names ? 7 : 0);
		columns[n++].meaning = "peak in TFLOP/s (TOP/s for int8)";
	}
	if (parts->marks)
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

static struct trawl_table *list_table(const struct parts *parts)
{
	struct trawl_column columns[MOST_COLUMNS];
	size_t count = add_columns(parts, columns), i, k, column, row;
	struct trawl_table *table =
		tw_table_new_columns(parts->spec, columns, count, trawl_allocator_default());
	struct tw_platform p;
	char marks[64];

	for (i = 0; table && i < tw_platform_count(); i++) {
		if (!tw_platform_find(tw_platform_name(i), &p))
			continue;
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, 0, p.name);
		column = 1;
		if (parts->memory) {
			tw_table_set_real(table, row, column++, p.mem_bw_gbps);
			tw_table_set_real(table, row, column++, p.memory_gb);
		}
		for (k = parts->first_peak; k < parts->end_peak; k++)
			tw_table_set_real(table, row, column++, p.peak_tflops[k]);
		if (parts->marks) {
			add_marks(&p, marks, sizeof(marks));
			tw_table_set_str(table, row, column, marks);
		}
	}
	return table;
}

static int print_tables(struct trawl_table *const *tables, size_t count, enum tw_format format,
			unsigned width)
{
	struct trawl_error err;
	size_t i;

	for (i = 0; i < count; i++) {
		if (!tables[i])
			return cli_no_memory();
		if (tw_table_finish(tables[i], &err))
			return cli_fail(&err);
	}
	return cli_print_tables((const struct trawl_table *const *)tables, count, format,
				"platforms", width);
}

/* A terminal is too narrow for all columns; who reads by program wants one table. */
static int list_all(enum tw_format format)
{
	static const struct parts whole = { &whole_spec, true, false, true, 0, TW_PEAK_COUNT };
	struct parts matrix = { &matrix_spec, true, true, false, 0, 0 };
	struct parts vector = { &vector_spec, false, true, true, 0, TW_PEAK_COUNT };
	struct trawl_table *tables[2];
	size_t count = 1;
	int status;

	while (!strncmp(tw_peak_keys[matrix.end_peak], "matrix", 6))
		matrix.end_peak++;
	vector.first_peak = matrix.end_peak;
	if (format == TW_FORMAT_TABLE || format == TW_FORMAT_MARKDOWN) {
		tables[0] = list_table(&matrix);
		tables[1] = list_table(&vector);
		count = 2;
		if (tables[1])
			tw_table_add_note(tables[1],
					  "mark and source of each figure: 'trawl platforms NAME'");
	} else {
		tables[0] = list_table(&whole);
	}
	status = print_tables(tables, count, format, cli_width());
	while (count--)
		tw_table_free(tables[count]);
	return status;
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

static int show_one(const char *name, enum tw_format format)
{
	struct trawl_table *table;
	struct tw_platform p;
	struct trawl_error err;
	bool from_file;
	int status;

	if (tw_platform_open(name, NULL, &p, &err))
		return cli_fail(&err);
	table = tw_table_new(&fact_spec, trawl_allocator_default());
	from_file = p.mem_bw_mark == TW_MARK_NONE;
	if (table) {
		if (from_file)
			add_facts_of_file(table, &p, name);
		else
			add_known_facts(table, p.name);
		tw_table_add_note(table, "figures of %s", p.name);
		if (!from_file)
			add_devices(table, p.name);
	}
	/* Sources are to be read whole. */
	status = print_tables(&table, 1, format, 0);
	tw_table_free(table);
	return status;
}

static const struct cli_options options[] = { CLI_TABLE(0), { 0 } };

static int platforms(const struct cli_command *command, int argc, char **argv)
{
	struct cli_common common = { 0 };
	int count, status = cli_begin(command, &common, argc, argv, &count);

	if (status >= 0)
		return status;
	if (count > 1)
		return cli_usage_error(command, "more than one platform: '%.60s'", argv[1]);
	return count ? show_one(argv[0], common.format) : list_all(common.format);
}

const struct cli_command cli_command_platforms = {
	"platforms",
	"[NAME]",
	"known GPUs, their bandwidth and peaks",
	"Prints the bandwidth and peaks of each known GPU that rooflines use; of one GPU, each\n"
	"figure with its source. Writes no file.\n"
	"\n"
	"  trawl platforms MI300X\n",
	options,
	platforms,
};
