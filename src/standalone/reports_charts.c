/* The pictures of the reports: time by category, and operations under the roofline. */
#include "standalone/reports.h"

#include "base/alloc.h"
#include "findings/findings.h"
#include "render/charts/category_chart.h"
#include "render/charts/roofline_chart.h"
#include "render/shapes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "<Model> on <Platform>" */
static void add_subject(struct tw_str *out, const struct tw_report_material *m)
{
	tw_str_addf(out, "%s%s%s", m->model, m->platform ? " on " : "",
		    m->platform ? m->platform : "");
}

/* ---- time by category */

static int compare_bars(const void *a, const void *b)
{
	const struct tw_category_bar *p = a, *q = b;

	if (p->time_ms != q->time_ms)
		return p->time_ms > q->time_ms ? -1 : 1;
	return strcmp(p->name, q->name);
}

static size_t compute_bars(const struct tw_report_material *m, struct tw_category_bar *bars)
{
	size_t count = 0, i;

	for (i = 0; i < m->category_count; i++) {
		const struct tw_report_category *c = &m->categories[i];
		double time = tw_report_number(c->entry, "gpu_kernel_time_ms");

		if (c->is_system || isnan(time))
			continue;
		bars[count++] =
			(struct tw_category_bar){ c->title, TW_BAR_COMPUTE, time,
						  tw_report_number(c->entry, "percent_of_total") };
	}
	if (count)
		qsort(bars, count, sizeof(*bars), compare_bars);
	return count;
}

/* What no category has, and the time in which nothing is computed; what did not occur has no bar. */
static size_t other_bars(const struct tw_report_material *m, struct tw_category_bar *bars)
{
	const struct tw_json_value *unlinked = tw_json_get(m->manifest, "unlinked");
	static const struct {
		const char *name;
		enum tw_bar_kind kind;
		const char *time, *percent;
	} rows[] = {
		{ "communication, exposed", TW_BAR_COMMUNICATION, "exposed_comm_time_ms",
		  "exposed_comm_time_percent" },
		{ "memory copies, exposed", TW_BAR_COPY, "exposed_memcpy_time_ms",
		  "exposed_memcpy_time_percent" },
		{ "idle", TW_BAR_IDLE, "idle_time_ms", "idle_time_percent" },
	};
	const struct tw_json_value *used = tw_json_get(m->manifest, "gpu_utilization");
	size_t count = 0, i;

	/* Of computing: the rest is in the bars of communication and copies. */
	if (tw_report_number(unlinked, "compute_time_ms") > 0)
		bars[count++] = (struct tw_category_bar){
			"without a recorded launch", TW_BAR_UNLINKED,
			tw_report_number(unlinked, "compute_time_ms"),
			100 * tw_report_number(unlinked, "compute_time_ms") /
				tw_report_number(used, "total_time_ms")
		};
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double time = tw_report_number(used, rows[i].time);

		if (time > 0)
			bars[count++] =
				(struct tw_category_bar){ rows[i].name, rows[i].kind, time,
							  tw_report_number(used, rows[i].percent) };
	}
	return count;
}

/* Whether there is something to draw. */
static bool add_time_chart(const struct tw_report_material *m, struct tw_str *out)
{
	struct tw_category_chart chart = { .title = "Time by category" };
	struct tw_category_bar *bars;
	struct tw_str subject;
	bool drawn;

	bars = tw_arena_alloc(&m->prepared->arena, (m->category_count + 5) * sizeof(*bars));
	if (!bars) {
		out->failed = true;
		return false;
	}
	chart.bars = bars;
	chart.count = compute_bars(m, bars);
	/* Without work of operations the rest says nothing. */
	if (!chart.count)
		return false;
	chart.count += other_bars(m, bars + chart.count);
	tw_str_init(&subject, out->allocator);
	add_subject(&subject, m);
	chart.subtitle = subject.ptr ? subject.ptr : "";
	chart.note = "kernel time, overlaps counted in each category; % of total time";
	drawn = tw_category_chart(&chart, out);
	out->failed |= subject.failed;
	tw_str_release(&subject);
	return drawn;
}

/* ---- roofline */

/* NULL when out of memory. */
static const char *shapes_of(const char *dims, struct tw_arena *arena)
{
	struct tw_str text;
	const char *kept;

	tw_str_init(&text, arena->allocator);
	tw_short_shapes(&text, dims, strlen(dims));
	kept = text.failed ? NULL : tw_arena_copy(arena, text.ptr ? text.ptr : "", text.len);
	tw_str_release(&text);
	return kept;
}

/* The columns that a point is made of. */
static bool is_shown(const char *header)
{
	static const char *const columns[] = { "name",
					       TW_COL_INPUT_DIMS,
					       TW_COL_FLOPS_PER_BYTE,
					       TW_COL_TFLOPS_S_MEAN,
					       TW_COL_PERCENTAGE,
					       TW_COL_OPERATION_COUNT,
					       TW_COL_COMPUTE_SPEC };
	size_t i = 0;

	while (i < sizeof(columns) / sizeof(*columns) && !tw_same_header(header, columns[i]))
		i++;
	return i < sizeof(columns) / sizeof(*columns);
}

/* The operations of a category behind those that are there; false when out of memory. */
static bool add_points(struct tw_prepared *prepared, const struct tw_prepared_ops *ops,
		       struct tw_roofline_chart *chart, struct tw_chart_point *points)
{
	const struct trawl_table *table = ops->table;
	size_t i;

	for (i = 0; i < ops->count; i++) {
		struct tw_chart_point *point = &points[chart->point_count++];
		const char *dims = tw_ops_text(prepared, ops, i,
					       trawl_table_find_column(table, TW_COL_INPUT_DIMS));
		double calls = tw_ops_number(
			ops, i, trawl_table_find_column(table, TW_COL_OPERATION_COUNT));

		*point = (struct tw_chart_point){
			.name = tw_ops_text(prepared, ops, i,
					    trawl_table_find_column(table, "name")),
			.detail = dims ? shapes_of(dims, &prepared->arena) : NULL,
			.flops_per_byte = tw_ops_number(
				ops, i, trawl_table_find_column(table, TW_COL_FLOPS_PER_BYTE)),
			.tflops_per_s = tw_ops_number(
				ops, i, trawl_table_find_column(table, TW_COL_TFLOPS_S_MEAN)),
			.time_frac =
				tw_ops_number(ops, i,
					      trawl_table_find_column(table, TW_COL_PERCENTAGE)) /
				100,
			.calls = calls > 0 ? (uint64_t)calls : 0,
			.spec = tw_ops_text(prepared, ops, i,
					    trawl_table_find_column(table, TW_COL_COMPUTE_SPEC)),
		};
		if (!point->detail || !point->name || !point->spec)
			return false;
	}
	return true;
}

/* Of all categories: of one that cannot be read there are none. False when out of memory. */
static bool collect_points(const struct tw_report_material *m, struct tw_roofline_chart *chart)
{
	struct tw_arena *arena = &m->prepared->arena;
	struct tw_prepared_ops *ops = tw_arena_array(arena, m->category_count + 1, sizeof(*ops));
	struct tw_chart_point *points;
	struct trawl_error err;
	size_t count = 0, i;

	for (i = 0; ops && i < m->category_count; i++) {
		if (m->categories[i].is_system)
			continue;
		if (tw_prepared_ops(m->prepared, m->categories[i].name, is_shown, &ops[i], &err) ==
		    TRAWL_ENOMEM)
			return false;
		count += ops[i].count;
	}
	points = ops ? tw_arena_alloc(arena, (count + 1) * sizeof(*points)) : NULL;
	if (!points)
		return false;
	chart->points = points;
	for (i = 0; i < m->category_count; i++)
		if (!add_points(m->prepared, &ops[i], chart, points))
			return false;
	return true;
}

/* Whether enough of the time is in operations whose place is known. */
static bool shows_enough(const struct tw_roofline_chart *chart)
{
	struct tw_facts facts;
	double share = 0;
	size_t i;

	for (i = 0; i < chart->point_count; i++) {
		const struct tw_chart_point *p = &chart->points[i];

		if (p->flops_per_byte > 0 && p->tflops_per_s > 0 && p->time_frac > 0)
			share += p->time_frac;
	}
	tw_facts_init(&facts);
	facts.value[TW_FACT_percent_of_compute] = 100 * share;
	return tw_level_is_yes("roofline_drawn", &facts);
}

static size_t ceilings_of(const struct tw_report_material *m, struct tw_chart_ceiling *ceilings)
{
	const struct tw_json_value *peak = tw_json_get(m->peaks, "max_achievable_tflops")->first;
	size_t count = 0;

	for (; peak; peak = peak->next)
		if (peak->key)
			ceilings[count++] =
				(struct tw_chart_ceiling){ peak->key, tw_json_number(peak) };
	return count;
}

/* Whether there is something to draw. */
static bool add_roofline(const struct tw_report_material *m, struct tw_str *out)
{
	size_t most = tw_json_get(m->peaks, "max_achievable_tflops")->count + 1;
	struct tw_chart_ceiling *ceilings =
		tw_arena_array(&m->prepared->arena, most, sizeof(*ceilings));
	struct tw_roofline_chart chart = { .title = "Operations under the roofline",
					   .ceilings = ceilings };
	struct trawl_error err;
	struct tw_str subject;
	int status;

	tw_str_init(&subject, out->allocator);
	add_subject(&subject, m);
	if (!m->platform)
		tw_str_add_cstr(&subject, "; no roofline: the platform is not known");
	chart.platform = subject.ptr ? subject.ptr : "";
	chart.mem_bw_gbps = tw_report_number(m->peaks, "peak_hbm_bw_tbs") * 1000;
	if (ceilings)
		chart.ceiling_count = ceilings_of(m, ceilings);
	if (!ceilings || subject.failed || !collect_points(m, &chart))
		status = TRAWL_ENOMEM;
	else if (!shows_enough(&chart))
		status = TRAWL_ENODATA;
	else
		status = tw_roofline_chart(&chart, out, &err);
	out->failed |= status == TRAWL_ENOMEM;
	tw_str_release(&subject);
	return !status;
}

/* ---- both */

static int write_chart(const struct tw_report_material *m, const char *name,
		       bool (*add)(const struct tw_report_material *m, struct tw_str *out),
		       bool *drawn, struct trawl_error *err)
{
	struct tw_str out;
	int status = 0;

	tw_str_init(&out, m->prepared->allocator);
	*drawn = add(m, &out);
	if (out.failed)
		status = tw_no_memory(err);
	else if (*drawn)
		status = tw_prepared_write(m->prepared, "", name, &out, err);
	tw_str_release(&out);
	return status;
}

int tw_report_charts(struct tw_report_material *m, struct trawl_error *err)
{
	struct tw_report_material own = *m;
	struct tw_prepared prepared;
	int status;

	/* Memory of its own, which is given back. */
	tw_prepared_again(&prepared, m->prepared);
	own.prepared = &prepared;
	status = write_chart(&own, TW_TIME_CHART, add_time_chart, &m->has_time_chart, err);
	if (!status)
		status = write_chart(&own, TW_ROOFLINE_CHART, add_roofline, &m->has_roofline, err);
	tw_prepared_release(&prepared);
	m->without_charts = "no operation has GPU work that could be drawn";
	return status;
}
