/* The picture of the table of modules: each in the one that calls it, as wide as its GPU time. */
#include "standalone/reports/reports.h"

#include "analysis/who/attributions.h"
#include "render/charts/icicle_chart.h"
#include "table/columns.h"

#include <string.h>

struct modules {
	const struct trawl_table *table;
	struct tw_arena *arena;
	struct tw_icicle_tree tree;
	struct tw_icicle_chart *chart; /* its kinds are added to */
};

static double number(const struct modules *m, size_t row, const char *header)
{
	return tw_table_number(m->table, row, trawl_table_find_column(m->table, header));
}

/* Modules of a class have one: their names but for the number. */
static size_t kind_of(const struct modules *m, const char *name)
{
	size_t len = tw_module_class_len(name, strlen(name)), i;
	struct tw_icicle_chart *chart = m->chart;

	for (i = 1; i < chart->kind_count && i <= TW_ICICLE_KINDS; i++)
		if (strlen(chart->kinds[i]) == len && !memcmp(chart->kinds[i], name, len))
			return i;
	if (i > TW_ICICLE_KINDS)
		chart->kinds[i] = "further classes";
	else
		chart->kinds[i] = tw_arena_copy(m->arena, name, len);
	chart->kind_count = i + 1;
	return chart->kinds[i] ? i : 0;
}

static void add_module(struct modules *m, const char *path, double depth, double ms)
{
	struct tw_icicle_part *part = tw_icicle_add_path(&m->tree, path, (size_t)depth, ms);

	if (part)
		part->kind = kind_of(m, part->name);
}

/* What is in no module. */
static void add_other(struct modules *m, const char *path, double ms)
{
	const char *name = strcmp(path, TW_LABEL_UNLINKED) ? "outside of modules" :
							     "without a recorded launch";

	tw_icicle_add_path(&m->tree, name, 1, ms);
}

static void add_parts(struct modules *m)
{
	size_t rows = trawl_table_rows(m->table), i;
	size_t path_column = trawl_table_find_column(m->table, TW_COL_MODULE);

	for (i = 0; i < rows; i++) {
		const char *path = tw_table_own_text(m->table, i, path_column);
		double depth = number(m, i, "depth");
		double ms = number(m, i, depth > 0 ? TW_COL_GPU_TIME_MS : TW_COL_SELF_GPU_TIME_MS);

		if (!(100 * ms >= TW_ICICLE_LEAST_PERCENT * m->tree.parts[0].time_ms))
			continue;
		if (depth > 0)
			add_module(m, path, depth, ms);
		else
			add_other(m, path, ms);
	}
}

bool tw_report_module_chart(const struct tw_report_material *material, struct tw_str *out)
{
	struct tw_icicle_chart chart = {
		.title = "GPU time by module",
		.subtitle = "each below the module that calls it, largest first",
		.note = "sums of durations of GPU events; parts from 0.3 % on",
		.kind_count = 1,
	};
	struct modules m = { .table = material->modules,
			     .arena = &material->prepared->arena,
			     .tree = { .count = 1, .between = TW_MODULE_SEPARATOR },
			     .chart = &chart };
	size_t rows = m.table ? trawl_table_rows(m.table) : 0, i;

	if (!rows)
		return false;
	m.tree.parts = tw_arena_array(m.arena, rows + 1, sizeof(*m.tree.parts));
	m.tree.depths = tw_arena_array(m.arena, rows + 1, sizeof(*m.tree.depths));
	if (!m.tree.parts || !m.tree.depths) {
		out->failed = true;
		return false;
	}
	m.tree.parts[0] =
		(struct tw_icicle_part){ .path = "all GPU events", .name = "all GPU events" };
	for (i = 0; i < rows; i++)
		m.tree.parts[0].time_ms += number(&m, i, TW_COL_SELF_GPU_TIME_MS);
	add_parts(&m);
	chart.parts = m.tree.parts;
	chart.count = m.tree.count;
	for (i = 1; i < chart.kind_count; i++)
		out->failed |= !chart.kinds[i];
	return chart.kind_count > 1 && !out->failed && tw_icicle_chart(&chart, out);
}
