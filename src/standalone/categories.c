/*
 * The operations of a report in the categories of the standalone analysis: rows of
 * unified_perf_summary, split by category and, where norms are concerned, by name.
 */
#include "standalone/manifest.h"

#include "base/alloc.h"
#include "data/tables.h"
#include "table/table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define GENERIC_SKILL "generic-op-analysis"

/* A category that has no row of its own: "FusedRoPE x/y" gives "fusedrope_x_y". */
static const char *plain_name(struct tw_arena *arena, const char *text, size_t len)
{
	char *name = tw_arena_copy(arena, text, len);
	size_t i;

	if (!len)
		return "other";
	/* Names of files: anything else could lead elsewhere. */
	for (i = 0; name && i < len; i++)
		name[i] = isalnum((unsigned char)name[i]) ? (char)tolower((unsigned char)name[i]) :
							    '_';
	return name;
}

static bool has_text(struct trawl_cell cell, const char *text)
{
	return cell.text_len == strlen(text) && !memcmp(cell.text, text, cell.text_len);
}

/* What a row belongs to; names are NULL when out of memory. */
static struct tw_prepared_category category_of(struct tw_arena *arena,
					       const struct trawl_table *table, size_t row)
{
	struct trawl_cell category = tw_table_cell(table, row, "op category");
	struct trawl_cell name = tw_table_cell(table, row, "name");
	struct tw_prepared_category found = { .skill = GENERIC_SKILL, .tier = "compute_kernel" };
	size_t i;

	if (category.state == TRAWL_CELL_MISSING)
		category.text = "";
	for (i = 0; i < tw_analysis_category_count; i++) {
		const struct tw_analysis_category *known = &tw_analysis_categories[i];

		if (!has_text(category, known->op_category) ||
		    !tw_name_matches(known->operation, name.text ? name.text : "", name.text_len))
			continue;
		found.name = known->name;
		found.title = known->display_name;
		found.skill = known->skill;
		return found;
	}
	found.name = plain_name(arena, category.text, category.text_len);
	found.title = category.text_len ? tw_arena_copy(arena, category.text, category.text_len) :
					  "other";
	return found;
}

static int64_t ns_of(struct trawl_cell cell)
{
	return cell.state == TRAWL_CELL_VALUE ? cell.integer : 0;
}

static void add_row(struct tw_prepared_category *category, size_t *place,
		    const struct trawl_table *table, size_t row)
{
	int64_t kernel_ns = ns_of(tw_table_cell(table, row, "Kernel Time (µs)_sum"));
	int64_t host_ns = ns_of(tw_table_cell(table, row, "total_duration_us"));
	struct tw_facts facts;

	*place = row;
	category->ops_count++;
	category->kernel_ns += (double)kernel_ns;
	category->host_ns += (double)host_ns;
	tw_facts_init(&facts);
	if (kernel_ns > 0)
		facts.value[TW_FACT_host_to_kernel] = (double)host_ns / (double)kernel_ns;
	if (tw_level_is_yes("sync_operation", &facts)) {
		category->sync_ns += (double)(host_ns - kernel_ns);
		category->sync_operations++;
	}
}

static void judge(struct tw_prepared_category *category, const struct tw_use *use)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_sync_ms] = category->sync_ns / 1e6;
	if (category->kernel_ns > 0)
		facts.value[TW_FACT_sync_percent] = 100 * category->sync_ns / category->kernel_ns;
	category->sync_bottleneck = tw_level_is_yes("sync_bottleneck", &facts);
	category->sync_ms = category->sync_ns / 1e6;
	category->host_ms = category->host_ns / 1e6;
	category->kernel_ms = category->kernel_ns / 1e6;
	category->percent_of_compute =
		tw_percent_of(category->kernel_ns, (double)use->ns[TW_USE_COMPUTATION]);
	category->percent_of_total =
		tw_percent_of(category->kernel_ns, (double)use->ns[TW_USE_TOTAL]);
	category->area_priority = NAN;
}

static const char *file_of(struct tw_arena *arena, const char *folder, const char *name,
			   const char *ending)
{
	size_t room = strlen(folder) + strlen(name) + strlen(ending) + 2;
	char *path = tw_arena_alloc(arena, room);

	if (path)
		snprintf(path, room, "%s/%s%s", folder, name, ending);
	return path;
}

static void name_files(struct tw_prepared_category *c, struct tw_arena *arena)
{
	bool system = tw_category_is_system(c);

	c->metadata_file = file_of(arena, TW_METADATA, c->name, "_metadata.json");
	if (!system || !strcmp(c->name, "cpu_idle"))
		c->csv_file = file_of(arena, TW_CATEGORY_DATA, c->name, "_ops.csv");
	if (system)
		c->data_file = file_of(arena, TW_CATEGORY_DATA, c->name, "_data.json");
	else
		c->tree_data_file = file_of(arena, TW_CATEGORY_DATA, c->name, "_tree_data.json");
}

/* The category of that name, made when it is new; NULL when out of memory. */
static struct tw_prepared_category *find(struct tw_manifest *m, struct tw_arena *arena,
					 const struct tw_prepared_category *wanted, size_t rows)
{
	struct tw_prepared_category *c = m->categories.at;
	size_t i;

	if (!wanted->name || !wanted->title)
		return NULL;
	for (i = 0; i < m->categories.count; i++)
		if (!tw_category_is_system(&c[i]) && !strcmp(c[i].name, wanted->name))
			return &c[i];
	c[i] = *wanted;
	c[i].rows = tw_arena_alloc(arena, (rows + 1) * sizeof(*c[i].rows));
	m->categories.count++;
	return c[i].rows ? &c[i] : NULL;
}

int tw_manifest_sort(struct tw_manifest *m, struct tw_arena *arena, struct trawl_error *err)
{
	static const struct tw_prepared_category idle = { .name = "cpu_idle",
							  .title = "CPU/Idle Analysis",
							  .skill = "cpu-idle-analysis",
							  .tier = "system" };
	static const struct tw_prepared_category several = { .name = "multi_kernel",
							     .title = "Multi-Kernel Issues",
							     .skill = "multi-kernel-analysis",
							     .tier = "system" };
	const struct trawl_table *table = m->table;
	size_t rows = table ? trawl_table_rows(table) : 0, i;

	m->categories.at = tw_arena_array(arena, rows + 2, sizeof(*m->categories.at));
	m->of_row = tw_arena_array(arena, rows + 1, sizeof(*m->of_row));
	if (!m->categories.at || !m->of_row || !find(m, arena, &idle, 0))
		return tw_no_memory(err);
	for (i = 0; i < rows; i++) {
		struct tw_prepared_category wanted = category_of(arena, table, i);
		struct tw_prepared_category *category = find(m, arena, &wanted, rows);

		if (!category)
			return tw_no_memory(err);
		add_row(category, category->rows + category->ops_count, table, i);
		m->of_row[i] = (size_t)(category - m->categories.at);
	}
	if (!find(m, arena, &several, 0))
		return tw_no_memory(err);
	for (i = 0; i < m->categories.count; i++) {
		judge(&m->categories.at[i], &m->use);
		name_files(&m->categories.at[i], arena);
	}
	m->categories.at[0].area_priority = 0;
	return arena->failed ? tw_no_memory(err) : 0;
}
