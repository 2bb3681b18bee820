/* The pictures of the reports: time by category, operations under the roofline, modules. */
#include "standalone/reports/reports.h"

#include "base/alloc.h"
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

	for (i = 0; i < m->categories.count; i++) {
		const struct tw_prepared_category *c = m->categories.at[i].entry;

		if (!tw_category_is_system(c) && !isnan(c->kernel_ms))
			bars[count++] =
				(struct tw_category_bar){ c->title, TW_BAR_COMPUTE,
							  tw_as_written(c->kernel_ms, 3),
							  tw_as_written(c->percent_of_total, 2) };
	}
	if (count)
		qsort(bars, count, sizeof(*bars), compare_bars);
	return count;
}

/* What no category has, and the time in which nothing is computed; what did not occur has no bar. */
static size_t other_bars(const struct tw_report_material *m, struct tw_category_bar *bars)
{
	static const struct {
		const char *name;
		enum tw_bar_kind kind;
		enum tw_use_part part;
	} rows[] = {
		{ "communication, exposed", TW_BAR_COMMUNICATION, TW_USE_COMM },
		{ "memory copies, exposed", TW_BAR_COPY, TW_USE_MEMCPY },
		{ "idle", TW_BAR_IDLE, TW_USE_IDLE },
	};
	const struct tw_unlinked *unlinked = m->manifest->unlinked;
	const struct tw_use *use = &m->manifest->use;
	double ms = unlinked ? tw_as_written(unlinked->compute_time_ms, 3) : 0;
	size_t count = 0, i;

	/* Of computing: the rest is in the bars of communication and copies. */
	if (ms > 0)
		bars[count++] = (struct tw_category_bar){ "without a recorded launch",
							  TW_BAR_UNLINKED, ms,
							  100 * ms / tw_use_ms(use, TW_USE_TOTAL) };
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double time = tw_use_ms(use, rows[i].part);

		if (time > 0)
			bars[count++] = (struct tw_category_bar){ rows[i].name, rows[i].kind, time,
								  use->percent[rows[i].part] };
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

	bars = tw_arena_alloc(&m->prepared->arena, (m->categories.count + 5) * sizeof(*bars));
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

static bool add_point(struct tw_arena *arena, struct tw_chart_point *point,
		      const struct tw_category_row *row, double kernel_us)
{
	*point = (struct tw_chart_point){
		.name = row->name,
		.detail = shapes_of(row->dims_text, arena),
		.flops_per_byte = row->flops_per_byte,
		.tflops_per_s = row->tflops,
		.time_frac = row->time_us / kernel_us,
		.calls = row->count > 0 ? (uint64_t)row->count : 0,
		.spec = row->compute_spec,
	};
	return point->detail;
}

/* Of all categories: of one that cannot be read there are none. False when out of memory. */
static bool collect_points(const struct tw_report_material *m, struct tw_roofline_chart *chart)
{
	struct tw_arena *arena = &m->prepared->arena;
	struct tw_chart_point *points;
	double kernel_us = 0;
	size_t count = 0, i, k;

	for (i = 0; i < m->categories.count; i++) {
		const struct tw_category_data *data = m->categories.at[i].data;

		count += data ? data->row_count : 0;
		kernel_us += data ? data->time_ms * 1e3 : 0;
	}
	points = tw_arena_array(arena, count + 1, sizeof(*points));
	chart->points = points;
	for (i = 0; points && i < m->categories.count; i++) {
		const struct tw_category_data *data = m->categories.at[i].data;

		for (k = 0; data && k < data->row_count; k++)
			if (!add_point(arena, &points[chart->point_count++], &data->rows[k],
				       kernel_us))
				return false;
	}
	return points;
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

/* Whether there is something to draw. */
static bool add_roofline(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_hardware *h = &m->manifest->hardware;
	struct tw_chart_ceiling *ceilings =
		tw_arena_array(&m->prepared->arena, h->tflops.count + 1, sizeof(*ceilings));
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
	chart.mem_bw_gbps = h->hbm_tb_s * 1000;
	for (; ceilings && chart.ceiling_count < h->tflops.count; chart.ceiling_count++)
		ceilings[chart.ceiling_count] =
			(struct tw_chart_ceiling){ h->tflops.at[chart.ceiling_count].name,
						   h->tflops.at[chart.ceiling_count].value };
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

/* ---- all */

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
	if (!status)
		status = write_chart(&own, TW_MODULE_CHART, tw_report_module_chart,
				     &m->has_module_chart, err);
	tw_prepared_release(&prepared);
	m->without_charts = "no operation has GPU work that could be drawn";
	return status;
}
