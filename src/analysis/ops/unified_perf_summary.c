/*
 * Every GPU event that operations account for in exactly one row, by operation and arguments:
 * the outermost operation that has a cost model, else the one that launches.
 */
#include "analysis/analysis.h"

#include "analysis/launches/exposed.h"
#include "analysis/ops/op_key.h"
#include "analysis/ops/op_rows.h"
#include "analysis/ops/op_work.h"
#include "base/alloc.h"
#include "data/limits.h"
#include "analysis/who/grouping.h"
#include "model/roofline.h"

#include <math.h>
#include <string.h>

enum {
	EVENT = TW_OP_KEY_COLUMN_COUNT,
	COUNT,
	DURATION_SUM,
	DURATION_MEAN,
	DURATION_STD,
	GFLOPS,
	DATA,
	INTENSITY,
	SPEC,
	BOUND,
	TB_MEAN,
	TB_STD,
	TFLOPS_MEAN,
	TFLOPS_STD,
	KERNEL_MEAN,
	KERNEL_STD,
	KERNEL_SUM,
	DURATION_MEDIAN,
	DURATION_MIN,
	DURATION_MAX,
	TB_MEDIAN,
	TB_MIN,
	TB_MAX,
	TFLOPS_MEDIAN,
	TFLOPS_MIN,
	TFLOPS_MAX,
	ROOFLINE_TIME,
	PERCENT_MEAN,
	PERCENT_MEDIAN,
	PERCENT_STD,
	PERCENT_MIN,
	PERCENT_MAX,
	KERNEL_MEDIAN,
	KERNEL_MIN,
	KERNEL_MAX,
	DETAILS,
	SHORT_DETAILS,
	PARAMETERS,
	HAS_MODEL,
	PERCENTAGE,
	CUMULATIVE,
	EXPOSED, /* where it is asked for */
	VIA,
	COLUMN_COUNT
};

#define REAL(header, unit, digits, ...) TW_REAL(header, unit, digits, 12, __VA_ARGS__)

static const struct trawl_column columns[] = {
	TW_OP_KEY_COLUMNS,
	[EVENT] = TW_INTEGER("ex_UID", 10, "event number of the first call"),
	[COUNT] = TW_INTEGER(TW_COL_OPERATION_COUNT, 10, "number of calls",
			     .over_ranks = TRAWL_COUNT),
	[DURATION_SUM] = TW_US(TW_COL_TOTAL_DURATION_US, 14, "host time, sum of calls",
			       .over_ranks = TRAWL_TOTAL),
	[DURATION_MEAN] = REAL(TW_COL_MEAN_DURATION_US, "µs", 3, "host time of a call, mean"),
	[DURATION_STD] =
		REAL("std_duration_us", "µs", 3, "host time of a call, sample standard deviation"),
	[GFLOPS] = REAL(TW_COL_GFLOPS, "GFLOP", 6, "floating-point operations per call, in 10^9",
			.over_ranks = TRAWL_SAME),
	[DATA] = REAL(TW_COL_DATA_MOVED_MB, "MB", 3,
		      "bytes that a call must read and write, in 2^20", .over_ranks = TRAWL_SAME),
	[INTENSITY] = REAL(TW_COL_FLOPS_PER_BYTE, "", 2,
			   "arithmetic intensity: FLOPs per byte of data moved",
			   .over_ranks = TRAWL_SAME),
	[SPEC] = TW_TEXT(TW_COL_COMPUTE_SPEC, 14, "compute unit and precision of the roofline peak",
			 .over_ranks = TRAWL_SAME),
	[BOUND] = TW_TEXT(TW_COL_ROOFLINE_BOUND, 16, "roofline limit: compute or memory",
			  .over_ranks = TRAWL_SAME),
	[TB_MEAN] = REAL(TW_COL_TB_S_MEAN, "TB/s", 3,
			 "achieved bandwidth: data moved / kernel time, mean of calls",
			 .over_ranks = TRAWL_MEAN, .place = 1),
	[TB_STD] = REAL("TB/s_std", "TB/s", 3, "achieved bandwidth, sample standard deviation"),
	[TFLOPS_MEAN] = REAL(TW_COL_TFLOPS_S_MEAN, "TFLOP/s", 3,
			     "achieved TFLOP/s: FLOPs / kernel time, mean of calls",
			     .over_ranks = TRAWL_MEAN, .place = 1),
	[TFLOPS_STD] =
		REAL("TFLOPS/s_std", "TFLOP/s", 3, "achieved TFLOP/s, sample standard deviation"),
	[KERNEL_MEAN] = REAL(TW_COL_KERNEL_TIME_US_MEAN, "µs", 3,
			     "kernel time of a call (union of its kernels), mean of calls",
			     .over_ranks = TRAWL_MEAN),
	[KERNEL_STD] = REAL("Kernel Time (µs)_std", "µs", 3,
			    "kernel time of a call, sample standard deviation"),
	[KERNEL_SUM] = TW_US(TW_COL_KERNEL_TIME_US_SUM, 14, "kernel time, sum of calls",
			     .over_ranks = TRAWL_TIME),
	[DURATION_MEDIAN] = REAL("duration_us_median", "µs", 3, "host time of a call, median"),
	[DURATION_MIN] = TW_US("duration_us_min", 14, "host time of a call, min"),
	[DURATION_MAX] = TW_US("duration_us_max", 14, "host time of a call, max"),
	[TB_MEDIAN] = REAL("TB/s_median", "TB/s", 3, "achieved bandwidth, median of calls"),
	[TB_MIN] = REAL("TB/s_min", "TB/s", 3, "achieved bandwidth, min of calls"),
	[TB_MAX] = REAL("TB/s_max", "TB/s", 3, "achieved bandwidth, max of calls"),
	[TFLOPS_MEDIAN] =
		REAL("TFLOPS/s_median", "TFLOP/s", 3, "achieved TFLOP/s, median of calls"),
	[TFLOPS_MIN] = REAL("TFLOPS/s_min", "TFLOP/s", 3, "achieved TFLOP/s, min of calls"),
	[TFLOPS_MAX] = REAL("TFLOPS/s_max", "TFLOP/s", 3, "achieved TFLOP/s, max of calls"),
	[ROOFLINE_TIME] = REAL("Roofline Time (µs)_first", "µs", 3,
			       "roofline time: min time of a call on the platform",
			       .over_ranks = TRAWL_SAME),
	[PERCENT_MEAN] = REAL(TW_COL_PCT_ROOFLINE_MEAN, "%", 2,
			      "roofline time / kernel time, mean of calls",
			      .over_ranks = TRAWL_MEAN, .place = 1),
	[PERCENT_MEDIAN] =
		REAL("Pct Roofline_median", "%", 2, "roofline time / kernel time, median of calls"),
	[PERCENT_STD] = REAL("Pct Roofline_std", "%", 2,
			     "roofline time / kernel time, sample standard deviation"),
	[PERCENT_MIN] =
		REAL("Pct Roofline_min", "%", 2, "roofline time / kernel time, min of calls"),
	[PERCENT_MAX] =
		REAL("Pct Roofline_max", "%", 2, "roofline time / kernel time, max of calls"),
	[KERNEL_MEDIAN] =
		REAL("Kernel Time (µs)_median", "µs", 3, "kernel time of a call, median of calls"),
	[KERNEL_MIN] = TW_US(TW_COL_KERNEL_TIME_US_MIN, 14, "kernel time of a call, min of calls",
			     .over_ranks = TRAWL_MIN),
	[KERNEL_MAX] = TW_US(TW_COL_KERNEL_TIME_US_MAX, 14, "kernel time of a call, max of calls",
			     .over_ranks = TRAWL_MAX),
	[DETAILS] = TW_TEXT("kernel_details_summary", 40,
			    "kernels of a call in order, with statistics"),
	[SHORT_DETAILS] = TW_TEXT("trunc_kernel_details", 40,
				  "kernels of a call in order, shortened names, "
				  "mean durations"),
	[PARAMETERS] =
		TW_TEXT("perf_params", 40, "parameters of the cost model, from the arguments"),
	[HAS_MODEL] = TW_COLUMN(TEXT, "has_perf_model", "bool", 0, 0, 8,
				"True: the operator has a cost model; else False",
				.over_ranks = TRAWL_SAME),
	[PERCENTAGE] = REAL(TW_COL_PERCENTAGE, "%", 2, "share of the table's kernel time",
			    .over_ranks = TRAWL_SHARE, .place = 1),
	[CUMULATIVE] = REAL(TW_COL_CUMULATIVE_PERCENTAGE, "%", 2,
			    "cumulative share: this row and all "
			    "rows above"),
	[EXPOSED] = TW_US("Exposed Kernel Time (µs)_sum", 14,
			  "kernel time not overlapped by other GPU work; only in output of prepare "
			  "and analyze"),
	[VIA] = TW_VIA_COLUMN,
};

/* Notes of the table. */
struct totals {
	tw_wide unmodelled_ns;
	uint64_t rows, unmodelled, calls;
	uint64_t at_least;
};

struct walk {
	const struct tw_analysis_input *in;
	const struct tw_derived *d;
	const struct tw_modelled *m;
	struct tw_op_keys keys;
	struct tw_op_rows rows;
	uint8_t *counted;      /* by GPU event: it is in a row */
	struct tw_groups rest; /* struct rest, with the category as its value */
	struct tw_str text;
	/* While rows are made: */
	int64_t *exposed_ns; /* by group, NULL: not asked for */
	size_t via;	     /* the column */
	tw_wide running_ns;
	struct totals totals;
};

/* By its first kernel if its name has no category: its own, as in other tables, else one below it. */
static const char *row_category(const struct walk *w, uint64_t node)
{
	const struct tw_categories *c = &w->in->launchers->categories;
	uint64_t count, i, first = w->in->parents->first_gpu[node];
	const uint32_t *gpu = tw_gpu_under(w->m, node, &count);

	for (i = 0; i < count && w->in->parents->first_gpu[node] == TW_NONE; i++)
		if (gpu[i] < first)
			first = gpu[i];
	return c->names[tw_category_of(c, w->d->host.event[node], first)];
}

/* A row of the node with all GPU events under it. */
static void collect_row(void *context, uint64_t node, uint32_t work, const char *category)
{
	struct walk *w = context;
	uint64_t count, i, event = w->d->host.event[node];
	const uint32_t *gpu = tw_gpu_under(w->m, node, &count);

	for (i = 0; i < count; i++)
		w->counted[gpu[i]] = 1;
	tw_op_rows_gpu(&w->rows, gpu, count);
	tw_op_rows_end(&w->rows, event, work,
		       tw_op_key_of(&w->keys, node, 0,
				    category ? category : row_category(w, node)));
}

/* ---- kernels that no operation has a row of */

/*
 * The work of an operation whose parts have rows of their own, for its only kernel that no row has
 * yet; TW_NO_GROUP: not known, or more than one.
 */
static uint32_t work_beside_parts(const struct walk *w, uint64_t op)
{
	const struct tw_gpu *gpu = &w->d->gpu;
	uint64_t count, i, left = 0;
	const uint32_t *under = op != TW_NONE ? tw_gpu_under(w->m, op, &count) : NULL;

	for (i = 0; under && i < count && left < 2; i++)
		left += !w->counted[under[i]] && gpu->bucket[under[i]] != TW_COMMUNICATION;
	return left == 1 ? tw_work_by(w->m, op, true) : TW_NO_GROUP;
}

/* What the category of a kernel with a row of its own follows from. */
struct rest {
	uint32_t name; /* of the operation or call above it */
	uint32_t kernel, is_of_op;
};

static const char *category_of_rest(struct walk *w, const struct rest *rest, uint32_t g)
{
	const struct tw_categories *c = &w->in->launchers->categories;
	const char **category = tw_groups_at(&w->rest, rest);

	if (!category)
		return "other";
	if (*category)
		return *category;
	tw_str_clear(&w->text);
	tw_synthetic_name(w->d->trace, rest->name, rest->kernel, &w->text);
	*category = w->text.failed ? NULL : tw_op_category(w->text.ptr, w->text.len);
	if (!*category)
		*category = rest->is_of_op ? c->names[tw_category_of_kernel(c, g)] : "other";
	return *category;
}

/* Kernels that no row has yet: one row each, named after the operation or call above them. */
static void collect_rest(struct walk *w)
{
	const struct tw_gpu *gpu = &w->d->gpu;
	const uint32_t *names = w->d->trace->events.name, *origins = tw_gpu_origins(w->d);
	uint64_t asked = TW_NONE;
	uint32_t g, work = TW_NO_GROUP;

	for (g = 0; g < gpu->count; g++) {
		uint64_t node = origins[g], op, event;
		struct rest rest;

		if (w->counted[g] || node == TW_NONE || gpu->bucket[g] == TW_COMMUNICATION)
			continue;
		op = tw_launching_op(w->d, node, false);
		if (op != asked)
			work = work_beside_parts(w, op);
		asked = op;
		node = op != TW_NONE ? op : node;
		event = w->d->host.event[node];
		rest = (struct rest){ names[event], names[gpu->event[g]], op != TW_NONE };
		tw_op_rows_gpu(&w->rows, &g, 1);
		tw_op_rows_end(&w->rows, event, work,
			       tw_op_key_of(&w->keys, node, rest.kernel,
					    category_of_rest(w, &rest, g)));
	}
}

/* ---- filling the table */

static void set_host_times(struct walk *w, struct trawl_table *table, size_t row, uint32_t group)
{
	const struct tw_members *members = &w->rows.members;
	uint64_t i, known = 0;
	struct tw_stats s;

	for (i = members->first[group]; i < members->first[group + 1]; i++) {
		int64_t dur = w->d->trace->events.dur_ns[w->rows.items[members->list[i]].event];

		if (dur != TRAWL_TIME_NONE)
			w->rows.times[known++] = dur;
	}
	if (!known)
		return;
	s = tw_stats_of(w->rows.times, known);
	tw_set_sum(table, row, DURATION_SUM, s.sum);
	tw_set_us(table, row, DURATION_MEAN, s.mean);
	tw_set_us(table, row, DURATION_STD, s.std);
	tw_set_us(table, row, DURATION_MEDIAN, s.median);
	tw_table_set_integer(table, row, DURATION_MIN, s.min);
	tw_table_set_integer(table, row, DURATION_MAX, s.max);
}

static void set_kernel_times(struct trawl_table *table, size_t row, const struct tw_stats *s)
{
	tw_set_sum(table, row, KERNEL_SUM, s->sum);
	tw_set_us(table, row, KERNEL_MEAN, s->mean);
	tw_set_us(table, row, KERNEL_STD, s->std);
	tw_set_us(table, row, KERNEL_MEDIAN, s->median);
	tw_table_set_integer(table, row, KERNEL_MIN, s->min);
	tw_table_set_integer(table, row, KERNEL_MAX, s->max);
}

static void set_rates(struct trawl_table *table, size_t row, const struct tw_op_group *g)
{
	static const struct tw_five tb = { TB_MEAN, TB_MEDIAN, TB_STD, TB_MIN, TB_MAX };
	static const struct tw_five tflops = { TFLOPS_MEAN, TFLOPS_MEDIAN, TFLOPS_STD, TFLOPS_MIN,
					       TFLOPS_MAX };
	static const struct tw_five percent = { PERCENT_MEAN, PERCENT_MEDIAN, PERCENT_STD,
						PERCENT_MIN, PERCENT_MAX };

	tw_set_five(table, row, tb, &g->tb_per_s);
	tw_set_five(table, row, tflops, &g->tflops_per_s);
	tw_set_five(table, row, percent, &g->percent);
	tw_table_set_real(table, row, ROOFLINE_TIME, g->roofline_us);
	tw_table_set_str(table, row, BOUND, g->bound);
}

static void set_work(struct walk *w, struct trawl_table *table, size_t row,
		     const struct tw_op_work *work)
{
	struct tw_rates rates;

	tw_rates(&rates, work->flops, work->bytes, 0);
	tw_table_set_real(table, row, GFLOPS, work->flops / 1e9);
	tw_table_set_real(table, row, DATA, work->bytes / 1048576);
	tw_table_set_real(table, row, INTENSITY, rates.flops_per_byte);
	if (work->spec[0])
		tw_table_set_str(table, row, SPEC, work->spec);
	tw_str_clear(&w->text);
	tw_op_parameters(w->m, work, &w->text);
	tw_table_set_text(table, row, PARAMETERS, w->text.ptr, w->text.len);
}

static void add_to_totals(struct walk *w, uint32_t number, const struct tw_op_group *g)
{
	const struct tw_members *members = &w->rows.members;
	uint32_t first = w->rows.items[members->list[members->first[number]]].work;
	struct totals *t = &w->totals;

	t->rows++;
	if (first == TW_NO_GROUP || w->m->works[first].reason) {
		t->unmodelled++;
		t->unmodelled_ns += g->kernel_ns.sum;
		t->calls += g->count;
	}
	t->at_least += first != TW_NO_GROUP && w->m->works[first].at_least;
}

static void set_perf_row(void *context, struct trawl_table *table, size_t row, uint32_t number,
			 const struct tw_op_group *g)
{
	struct walk *w = context;

	w->running_ns += g->kernel_ns.sum;
	add_to_totals(w, number, g);
	tw_op_key_set(&w->keys, table, row, number, w->via);
	if (!tw_is_via_graph(w->in, g->first->event))
		tw_table_set_integer(table, row, EVENT, (int64_t)g->first->event);
	tw_table_set_integer(table, row, COUNT, (int64_t)g->count);
	set_host_times(w, table, row, number);
	set_kernel_times(table, row, &g->kernel_ns);
	tw_table_set_text(table, row, DETAILS, w->rows.full.ptr, w->rows.full.len);
	tw_table_set_text(table, row, SHORT_DETAILS, w->rows.short_form.ptr,
			  w->rows.short_form.len);
	tw_table_set_str(table, row, HAS_MODEL, g->first->work != TW_NO_GROUP ? "True" : "False");
	set_rates(table, row, g);
	if (g->work)
		set_work(w, table, row, g->work);
	tw_set_percent(table, row, PERCENTAGE, (double)g->kernel_ns.sum, (double)w->rows.total_ns);
	tw_set_percent(table, row, CUMULATIVE, (double)w->running_ns, (double)w->rows.total_ns);
	if (w->exposed_ns)
		tw_table_set_integer(table, row, EXPOSED, w->exposed_ns[number]);
}

/* ---- notes */

/* Percent of the roofline or, where there is none, of the bandwidth; 0: not known. */
static double percent_of(const struct walk *w, const struct trawl_table *table, size_t row)
{
	struct trawl_cell percent = trawl_table_cell(table, row, PERCENT_MEAN);
	struct trawl_cell rate = trawl_table_cell(table, row, TB_MEAN);

	if (percent.state == TRAWL_CELL_VALUE)
		return percent.real;
	return w->in->platform && rate.state == TRAWL_CELL_VALUE ?
		       rate.real * 1e3 / w->in->platform->mem_bw_gbps * 100 :
		       0;
}

#define ANOMALY_PERCENT TW_LIMIT_TEXT(TW_LIMIT_ROOFLINE_ANOMALY_PERCENT)

/* Rows above the roofline: max, and row by row. */
static void note_over_roofline(const struct walk *w, struct trawl_table *table)
{
	size_t rows = trawl_table_rows(table), row, count = 0;
	double worst = 0;

	for (row = 0; row < rows; row++) {
		count += percent_of(w, table, row) > TW_LIMIT_ROOFLINE_ANOMALY_PERCENT;
		worst = fmax(worst, percent_of(w, table, row));
	}
	if (count)
		tw_table_add_note(
			table,
			"%zu %s over " ANOMALY_PERCENT
			" %% of the roofline, max %.0f %%: data was cached, or the time, the cost "
			"model or the platform's peak is wrong",
			count, count == 1 ? "row is" : "rows are", worst);
	for (row = 0; row < rows; row++) {
		double percent = percent_of(w, table, row);
		struct trawl_cell bound = trawl_table_cell(table, row, BOUND);
		struct trawl_cell name = trawl_table_cell(table, row, 0);

		if (percent <= 100)
			continue;
		tw_table_add_note(table, "row %zu, %.*s: %.1f %% of the %s", row + 1,
				  (int)name.text_len, name.text, percent,
				  bound.state != TRAWL_CELL_VALUE || bound.text[0] == 'M' ?
					  "memory bandwidth" :
					  "compute peak");
	}
}

static void note_unmodelled(struct walk *w, struct trawl_table *table)
{
	const struct totals *t = &w->totals;
	tw_wide all_ns = w->rows.total_ns;

	tw_str_clear(&w->text);
	tw_str_add_real_fixed(&w->text,
			      all_ns ? 100 * (double)t->unmodelled_ns / (double)all_ns : 0, 1);
	if (!w->text.failed)
		tw_table_add_note(
			table,
			"%llu of %llu rows (%llu calls, %s %% of kernel time) have no FLOP/byte "
			"estimate: no cost model, or shapes not recorded (record_shapes=True)",
			(unsigned long long)t->unmodelled, (unsigned long long)t->rows,
			(unsigned long long)t->calls, w->text.ptr);
}

static void add_notes(struct walk *w, struct trawl_table *table)
{
	uint64_t at_least = w->totals.at_least;

	if (w->totals.unmodelled)
		note_unmodelled(w, table);
	if (at_least)
		tw_table_add_note(
			table,
			"%llu %s of data moved: expert weights or KV cache are not in the recorded "
			"arguments",
			(unsigned long long)at_least,
			at_least == 1 ? "row has a lower bound" : "rows have lower bounds");
	if (w->in->platform)
		tw_table_add_note(table, "roofline peaks: %s", w->in->platform->name);
	else
		tw_table_add_note(table, "no roofline: unknown platform; set --platform (see "
					 "'trawl platforms')");
	note_over_roofline(w, table);
}

/* ---- the table */

/* Exposed time by group, for those whose events are in rows. */
static int find_exposed(struct walk *w)
{
	const struct trawl_allocator *a = w->in->allocator;
	const struct tw_members *gpu = &w->rows.gpu;
	uint32_t count = w->keys.groups.count, g;
	uint32_t *owner = tw_alloc(a, (w->d->gpu.count + 1) * sizeof(*owner));
	uint64_t row, i;

	w->exposed_ns = tw_alloc_array(a, (size_t)count + 1, sizeof(*w->exposed_ns));
	if (!owner || !w->exposed_ns)
		return -1;
	for (g = 0; g < w->d->gpu.count; g++)
		owner[g] = TW_NONE;
	for (row = 0; row < w->rows.count; row++)
		for (i = gpu->first[row]; i < gpu->first[row + 1]; i++)
			owner[gpu->list[i]] = w->rows.items[row].group;
	return tw_exposed_times(w->d, owner, count, w->exposed_ns);
}

/* The calls that make rows, in their groups. */
static int collect_rows(struct walk *w)
{
	const struct trawl_allocator *a = w->in->allocator;
	const struct tw_derived *d = w->d;

	tw_op_rows_init(&w->rows, w->in);
	tw_str_init(&w->text, a);
	tw_groups_init_values(&w->rest, sizeof(struct rest), sizeof(const char *), a);
	w->counted = tw_alloc_array(a, d->gpu.count + 1, 1);
	if (tw_op_keys_init(&w->keys, w->in) || !w->counted ||
	    tw_op_work_visit(d, w->m, collect_row, w, a))
		return -1;
	collect_rest(w);
	return tw_op_keys_failed(&w->keys) || w->rest.failed ||
			       tw_op_rows_group(&w->rows, w->keys.groups.count) ?
		       -1 :
		       0;
}

static int make_unified_perf_summary(const struct tw_analysis_input *in,
				     const struct tw_analysis *self, struct trawl_table **table)
{
	struct walk w = { .in = in, .d = in->derived, .m = in->modelled };
	bool exposed = in->options->exposed_time;
	struct trawl_column all[COLUMN_COUNT];
	size_t count = exposed ? EXPOSED + 1 : EXPOSED;
	int status;

	memcpy(all, columns, sizeof(all));
	all[count] = columns[VIA];
	w.via = count;
	*table = tw_grouped_table(in, &self->table, all, count + tw_has_via(in));
	if (!*table || collect_rows(&w) || (exposed && find_exposed(&w)))
		return TRAWL_ENOMEM;
	status = tw_op_rows_add(&w.rows, *table, set_perf_row, &w);
	if (!status && w.keys.groups.count)
		add_notes(&w, *table);
	return tw_op_keys_failed(&w.keys) || w.text.failed ? TRAWL_ENOMEM : status;
}

const struct tw_analysis tw_analysis_unified_perf_summary = {
	TW_TABLE("unified_perf_summary",
		 "FLOPs, bytes, kernel time and efficiency by operator and arguments; each GPU "
		 "event counted once, without communication",
		 columns),
	.needs = TW_NEEDS_GPU | TW_NEEDS_HOST | TW_NEEDS_MODELS | TW_GROUPS | TW_STACKS,
	.make = make_unified_perf_summary,
};
