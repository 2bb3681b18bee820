/* The pictures of the reports: time by category, and operations under the roofline. */
#include "standalone/reports.h"

#include "base/alloc.h"
#include "findings/findings.h"
#include "render/charts/category_chart.h"
#include "render/charts/gnuplot.h"
#include "render/charts/roofline_chart.h"
#include "render/shapes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHARTS 2
_Static_assert(CHARTS <= TW_GNUPLOT_MOST, "they are drawn at once");

struct tw_pictures {
	struct tw_prepared prepared; /* with an arena of its own: others read at the same time */
	struct tw_gnuplot drawing;
	struct tw_str scripts[CHARTS], paths[CHARTS];
	/* What is being drawn, by its place above. */
	bool time_chart, roofline;
	bool failed;
};

static void add_title(struct tw_str *out, const struct tw_report_material *m, const char *what)
{
	tw_str_addf(out, "%s: %s%s%s", what, m->model, m->platform ? " on " : "",
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
static bool add_time_chart(const struct tw_report_material *m, struct tw_str *script)
{
	struct tw_category_chart chart = { 0 };
	struct tw_category_bar *bars;
	struct tw_str title;

	bars = tw_arena_alloc(&m->prepared->arena, (m->category_count + 5) * sizeof(*bars));
	if (!bars) {
		script->failed = true;
		return false;
	}
	chart.bars = bars;
	chart.count = compute_bars(m, bars);
	/* Without work of operations the rest says nothing. */
	if (!chart.count)
		return false;
	chart.count += other_bars(m, bars + chart.count);
	tw_str_init(&title, script->allocator);
	add_title(&title, m, "Time by category");
	chart.title = title.ptr ? title.ptr : "";
	chart.subtitle = "kernel time of operations, overlapping work counted in each; shares of "
			 "the whole time";
	tw_category_chart_script(&chart, script);
	script->failed |= title.failed;
	tw_str_release(&title);
	return true;
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
static bool add_roofline(const struct tw_report_material *m, const char *path,
			 struct tw_str *script)
{
	size_t most = tw_json_get(m->peaks, "max_achievable_tflops")->count + 1;
	struct tw_chart_ceiling *ceilings =
		tw_alloc_array(script->allocator, most, sizeof(*ceilings));
	struct tw_roofline_chart chart = { .ceilings = ceilings };
	struct trawl_error err;
	struct tw_str title, platform;
	int status;

	tw_str_init(&title, script->allocator);
	tw_str_init(&platform, script->allocator);
	add_title(&title, m, "Operations");
	if (m->platform)
		tw_str_addf(&platform, "roofline of %s", m->platform);
	else
		tw_str_add_cstr(&platform, "no roofline: the platform is not known");
	chart.title = title.ptr ? title.ptr : "";
	chart.platform = platform.ptr ? platform.ptr : "";
	chart.mem_bw_gbps = tw_report_number(m->peaks, "peak_hbm_bw_tbs") * 1000;
	if (ceilings)
		chart.ceiling_count = ceilings_of(m, ceilings);
	if (!ceilings || title.failed || platform.failed || !collect_points(m, &chart))
		status = TRAWL_ENOMEM;
	else if (!shows_enough(&chart))
		status = TRAWL_ENODATA;
	else
		status = tw_roofline_chart_script(&chart, path, script, &err);
	script->failed |= status == TRAWL_ENOMEM;
	tw_free(script->allocator, ceilings, most * sizeof(*ceilings));
	tw_str_release(&platform);
	tw_str_release(&title);
	return !status;
}

/* ---- both */

static void add_scripts(struct tw_pictures *p, const struct tw_report_material *m)
{
	const struct tw_str *scripts[CHARTS];
	size_t count = 0, i;

	tw_prepared_path(&p->prepared, "", TW_TIME_CHART, &p->paths[0]);
	p->time_chart = add_time_chart(m, &p->scripts[0]);
	count += p->time_chart;
	tw_prepared_path(&p->prepared, "", TW_ROOFLINE_CHART, &p->paths[count]);
	p->roofline = !p->paths[count].failed &&
		      add_roofline(m, p->paths[count].ptr, &p->scripts[count]);
	count += p->roofline;
	for (i = 0; i < CHARTS; i++) {
		p->failed |= p->scripts[i].failed || p->paths[i].failed;
		scripts[i] = &p->scripts[i];
	}
	if (count && !p->failed)
		tw_gnuplot_begin(&p->drawing, scripts, count);
}

struct tw_pictures *tw_pictures_begin(const struct tw_prepared *prepared,
				      const struct tw_reports_options *options)
{
	struct tw_pictures *p = tw_alloc_array(prepared->allocator, 1, sizeof(*p));
	struct tw_report_material m = { .model = options->model };
	struct trawl_error err;
	size_t i;

	if (!p)
		return NULL;
	tw_prepared_again(&p->prepared, prepared);
	for (i = 0; i < CHARTS; i++) {
		tw_str_init(&p->scripts[i], prepared->allocator);
		tw_str_init(&p->paths[i], prepared->allocator);
	}
	m.prepared = &p->prepared;
	/* Whatever is wrong with it, the reports will say. */
	if (tw_report_read_manifest(&m, &err))
		p->failed = err.status == TRAWL_ENOMEM;
	else
		add_scripts(p, &m);
	tw_prepared_release(&p->prepared);
	return p;
}

static void release(struct tw_pictures *p)
{
	const struct trawl_allocator *allocator = p->prepared.allocator;
	size_t i;

	for (i = 0; i < CHARTS; i++) {
		tw_str_release(&p->scripts[i]);
		tw_str_release(&p->paths[i]);
	}
	tw_prepared_release(&p->prepared);
	tw_free(allocator, p, sizeof(*p));
}

void tw_pictures_abandon(struct tw_pictures *p)
{
	if (!p)
		return;
	if (p->drawing.count)
		tw_gnuplot_abandon(&p->drawing);
	release(p);
}

int tw_pictures_end(struct tw_pictures *p, struct tw_report_material *m, struct trawl_error *err)
{
	const char *paths[CHARTS] = { p->paths[0].ptr, p->paths[1].ptr };
	bool done[CHARTS] = { false };
	const char *why;
	int status = 0;

	m->without_charts = "";
	if (p->failed) {
		status = tw_no_memory(err);
	} else if (p->drawing.count) {
		status = tw_gnuplot_end(&p->drawing, paths, done, p->prepared.allocator, err);
		/* Everything else goes without pictures, if it must. */
		if (status == TRAWL_EIO) {
			why = strstr(err->message, ": ");
			m->without_charts = tw_arena_copy(&m->prepared->arena, why ? why + 2 : "",
							  why ? strlen(why + 2) : 0);
			status = m->without_charts ? 0 : TRAWL_ENOMEM;
		}
	} else {
		m->without_charts = "no operation has GPU work that could be drawn";
	}
	m->has_time_chart = p->time_chart && done[0];
	m->has_roofline = p->roofline && done[p->time_chart ? 1 : 0];
	release(p);
	return status;
}
