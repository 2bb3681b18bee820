#include "standalone/categories.h"

#include "base/alloc.h"
#include "data/tables.h"
#include "findings/findings.h"
#include "table/table.h"

#include <ctype.h>
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
static struct tw_category_rows category_of(struct tw_arena *arena, const struct trawl_table *table,
					   size_t row)
{
	struct trawl_cell category = tw_table_cell(table, row, "op category");
	struct trawl_cell name = tw_table_cell(table, row, "name");
	struct tw_category_rows found = { .skill = GENERIC_SKILL };
	size_t i;

	if (category.state == TRAWL_CELL_MISSING)
		category.text = "";
	for (i = 0; i < tw_analysis_category_count; i++) {
		const struct tw_analysis_category *known = &tw_analysis_categories[i];

		if (!has_text(category, known->op_category) ||
		    !tw_name_matches(known->operation, name.text ? name.text : "", name.text_len))
			continue;
		found.name = known->name;
		found.display_name = known->display_name;
		found.skill = known->skill;
		return found;
	}
	found.name = plain_name(arena, category.text, category.text_len);
	found.display_name = category.text_len ?
				     tw_arena_copy(arena, category.text, category.text_len) :
				     "other";
	return found;
}

static int64_t ns_of(struct trawl_cell cell)
{
	return cell.state == TRAWL_CELL_VALUE ? cell.integer : 0;
}

static void add_row(struct tw_category_rows *category, const struct trawl_table *table, size_t row)
{
	int64_t kernel_ns = ns_of(tw_table_cell(table, row, "Kernel Time (µs)_sum"));
	int64_t host_ns = ns_of(tw_table_cell(table, row, "total_duration_us"));
	struct tw_facts facts;

	category->rows[category->count++] = row;
	category->kernel_ns += kernel_ns;
	category->host_ns += host_ns;
	tw_facts_init(&facts);
	if (kernel_ns > 0)
		facts.value[TW_FACT_host_to_kernel] = (double)host_ns / (double)kernel_ns;
	if (tw_level_is_yes("sync_operation", &facts)) {
		category->sync_ns += host_ns - kernel_ns;
		category->sync_operations++;
	}
}

static void judge_sync(struct tw_category_rows *category)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_sync_ms] = (double)category->sync_ns / 1e6;
	if (category->kernel_ns)
		facts.value[TW_FACT_sync_percent] =
			100 * (double)category->sync_ns / (double)category->kernel_ns;
	category->sync_bottleneck = tw_level_is_yes("sync_bottleneck", &facts);
}

/* The category of that name, made when it is new; NULL when out of memory. */
static struct tw_category_rows *find(struct tw_report_categories *c, struct tw_arena *arena,
				     const struct tw_category_rows *wanted, size_t rows)
{
	size_t i;

	if (!wanted->name || !wanted->display_name)
		return NULL;
	for (i = 0; i < c->count; i++)
		if (!strcmp(c->items[i].name, wanted->name))
			return &c->items[i];
	c->items[i] = *wanted;
	c->items[i].rows = tw_arena_alloc(arena, rows * sizeof(*c->items[i].rows));
	c->count++;
	return c->items[i].rows ? &c->items[i] : NULL;
}

int tw_categories_of_report(struct tw_report_categories *c, struct tw_arena *arena,
			    const struct trawl_report *report, struct trawl_error *err)
{
	const struct trawl_table *table = trawl_report_find(report, "unified_perf_summary");
	size_t rows = table ? trawl_table_rows(table) : 0, i;

	*c = (struct tw_report_categories){ .table = table };
	c->items = tw_arena_alloc(arena, (rows + 1) * sizeof(*c->items));
	c->of_row = tw_arena_alloc(arena, (rows + 1) * sizeof(*c->of_row));
	if (!c->items || !c->of_row)
		return tw_no_memory(err);
	for (i = 0; i < rows; i++) {
		struct tw_category_rows wanted = category_of(arena, table, i);
		struct tw_category_rows *category = find(c, arena, &wanted, rows);

		if (!category)
			return tw_no_memory(err);
		add_row(category, table, i);
		c->of_row[i] = (size_t)(category - c->items);
	}
	for (i = 0; i < c->count; i++)
		judge_sync(&c->items[i]);
	return 0;
}
