/* The pictures of the reports: time by category, and operations under the roofline. */
#include "standalone/reports.h"

#include "render/category_chart.h"
#include "render/gnuplot.h"
#include "render/roofline_chart.h"
#include "render/shapes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHARTS 2
#define REPORT_CSVS "perf_report_csvs"
#define OPERATIONS "unified_perf_summary.csv"
#define MOST_CEILINGS 64

struct tw_report_charts {
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

/* The time in which nothing is computed; what did not occur has no bar. */
static size_t other_bars(const struct tw_report_material *m, struct tw_category_bar *bars)
{
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

	bars = tw_arena_alloc(&m->prepared->arena, (m->category_count + 4) * sizeof(*bars));
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

static struct tw_chart_point *points_of(const struct tw_report_material *m,
					const struct tw_csv *csv)
{
	struct tw_arena *arena = &m->prepared->arena;
	struct tw_chart_point *points = tw_arena_alloc(arena, (csv->rows + 1) * sizeof(*points));
	size_t name = tw_csv_column(csv, "name"), dims = tw_csv_column(csv, "Input Dims");
	size_t intensity = tw_csv_column(csv, "FLOPS/Byte");
	size_t tflops = tw_csv_column(csv, "TFLOPS/s_mean");
	size_t share = tw_csv_column(csv, "Percentage (%)");
	size_t spec = tw_csv_column(csv, "Compute Spec"), i;

	for (i = 0; points && i < csv->rows; i++) {
		points[i] = (struct tw_chart_point){
			.name = tw_csv_text(csv, i, name),
			.detail = shapes_of(tw_csv_text(csv, i, dims), arena),
			.flops_per_byte = tw_csv_number(csv, i, intensity),
			.tflops_per_s = tw_csv_number(csv, i, tflops),
			.time_frac = tw_csv_number(csv, i, share) / 100,
			.spec = tw_csv_text(csv, i, spec),
		};
		if (!points[i].detail)
			return NULL;
	}
	return points;
}

static size_t ceilings_of(const struct tw_report_material *m, struct tw_chart_ceiling *ceilings)
{
	const struct tw_json_value *peak = tw_json_get(m->peaks, "max_achievable_tflops")->first;
	size_t count = 0;

	for (; peak && count < MOST_CEILINGS; peak = peak->next)
		if (peak->key)
			ceilings[count++] =
				(struct tw_chart_ceiling){ peak->key, tw_json_number(peak) };
	return count;
}

/* Whether there is something to draw. */
static bool add_roofline(const struct tw_report_material *m, const char *path,
			 struct tw_str *script)
{
	struct tw_chart_ceiling ceilings[MOST_CEILINGS];
	struct tw_roofline_chart chart = { .ceilings = ceilings };
	struct trawl_error err;
	struct tw_str title, platform;
	struct tw_csv csv;
	int status;

	status = tw_prepared_csv(m->prepared, REPORT_CSVS, OPERATIONS, &csv, &err);
	if (status) {
		script->failed |= status == TRAWL_ENOMEM;
		return false;
	}
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
	chart.ceiling_count = ceilings_of(m, ceilings);
	chart.points = points_of(m, &csv);
	chart.point_count = csv.rows;
	if (title.failed || platform.failed || !chart.points)
		status = TRAWL_ENOMEM;
	else
		status = tw_roofline_chart_script(&chart, path, script, &err);
	script->failed |= status == TRAWL_ENOMEM;
	tw_str_release(&platform);
	tw_str_release(&title);
	return !status;
}

/* ---- both */

struct tw_report_charts *tw_report_charts_begin(const struct tw_report_material *m)
{
	struct tw_report_charts *c = tw_arena_alloc(&m->prepared->arena, sizeof(*c));
	const struct tw_str *scripts[CHARTS];
	size_t count = 0, i;

	if (!c)
		return NULL;
	*c = (struct tw_report_charts){ 0 };
	for (i = 0; i < CHARTS; i++) {
		tw_str_init(&c->scripts[i], m->prepared->allocator);
		tw_str_init(&c->paths[i], m->prepared->allocator);
	}
	tw_prepared_path(m->prepared, "", TW_TIME_CHART, &c->paths[0]);
	c->time_chart = add_time_chart(m, &c->scripts[0]);
	count += c->time_chart;
	tw_prepared_path(m->prepared, "", TW_ROOFLINE_CHART, &c->paths[count]);
	c->roofline = !c->paths[count].failed &&
		      add_roofline(m, c->paths[count].ptr, &c->scripts[count]);
	count += c->roofline;
	for (i = 0; i < CHARTS; i++) {
		c->failed |= c->scripts[i].failed || c->paths[i].failed;
		scripts[i] = &c->scripts[i];
	}
	if (count && !c->failed)
		tw_gnuplot_begin(&c->drawing, scripts, count);
	return c;
}

int tw_report_charts_end(struct tw_report_charts *c, struct tw_report_material *m,
			 struct trawl_error *err)
{
	const char *paths[CHARTS] = { c->paths[0].ptr, c->paths[1].ptr };
	bool done[CHARTS] = { false };
	const char *why;
	int status = 0;
	size_t i;

	if (c->failed) {
		status = trawl_error_set(err, TRAWL_ENOMEM, "out of memory");
	} else if (c->drawing.count) {
		status = tw_gnuplot_end(&c->drawing, paths, done, m->prepared->allocator, err);
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
	m->has_time_chart = c->time_chart && done[0];
	m->has_roofline = c->roofline && done[c->time_chart ? 1 : 0];
	for (i = 0; i < CHARTS; i++) {
		tw_str_release(&c->scripts[i]);
		tw_str_release(&c->paths[i]);
	}
	return status;
}
