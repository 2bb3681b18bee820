/* GPU time of operations by name and arguments. */
#include "analysis/analysis.h"

#include "analysis/ops/kernel_details.h"
#include "analysis/ops/op_key.h"
#include "analysis/order.h"
#include "analysis/stats.h"
#include "base/alloc.h"

enum {
	COUNT = TW_OP_KEY_COLUMN_COUNT,
	DIRECT_MEAN,
	SUBTREE_MEAN,
	DIRECT_MEDIAN,
	SUBTREE_MEDIAN,
	DIRECT_STD,
	SUBTREE_STD,
	DIRECT_MIN,
	SUBTREE_MIN,
	DIRECT_MAX,
	SUBTREE_MAX,
	DIRECT_SUM,
	SUBTREE_SUM,
	EVENT,
	DETAILS,
	SHORT_DETAILS,
	PERCENTAGE,
	CUMULATIVE,
	VIA
};

static const struct trawl_column columns[] = {
	TW_OP_KEY_COLUMNS,
	[COUNT] = TW_INTEGER(TW_COL_OPERATION_COUNT, 10, "number of calls",
			     .over_ranks = TRAWL_COUNT),
	[DIRECT_MEAN] = TW_MEAN_US(TW_COL_TOTAL_DIRECT_KERNEL_TIME_MEAN, 14,
				   "direct time of a call, mean", .over_ranks = TRAWL_MEAN),
	[SUBTREE_MEAN] =
		TW_MEAN_US("total_subtree_kernel_time_mean", 14, "subtree time of a call, mean"),
	[DIRECT_MEDIAN] =
		TW_MEAN_US("total_direct_kernel_time_median", 14, "direct time of a call, median"),
	[SUBTREE_MEDIAN] = TW_MEAN_US("total_subtree_kernel_time_median", 14,
				      "subtree time of a call, median"),
	[DIRECT_STD] = TW_MEAN_US("total_direct_kernel_time_std", 14,
				  "direct time of a call, sample standard deviation"),
	[SUBTREE_STD] = TW_MEAN_US("total_subtree_kernel_time_std", 14,
				   "subtree time of a call, sample standard deviation"),
	[DIRECT_MIN] = TW_US("total_direct_kernel_time_min", 14, "direct time of a call, min",
			     .over_ranks = TRAWL_MIN),
	[SUBTREE_MIN] = TW_US("total_subtree_kernel_time_min", 14, "subtree time of a call, min"),
	[DIRECT_MAX] = TW_US("total_direct_kernel_time_max", 14, "direct time of a call, max",
			     .over_ranks = TRAWL_MAX),
	[SUBTREE_MAX] = TW_US("total_subtree_kernel_time_max", 14, "subtree time of a call, max"),
	[DIRECT_SUM] = TW_US(TW_COL_TOTAL_DIRECT_KERNEL_TIME_SUM, 14, "direct time, sum of calls",
			     .over_ranks = TRAWL_TIME),
	[SUBTREE_SUM] = TW_US("total_subtree_kernel_time_sum", 14, "subtree time, sum of calls",
			      .over_ranks = TRAWL_TOTAL, .place = -1),
	[EVENT] = TW_INTEGER("ex_UID", 10, "event number of the first call"),
	[DETAILS] = TW_TEXT("kernel_details_summary", 40,
			    "kernels of a call in order, with statistics"),
	[SHORT_DETAILS] = TW_TEXT("trunc_kernel_details", 40,
				  "kernels of a call in order, shortened names, "
				  "mean durations"),
	[PERCENTAGE] = TW_PERCENT_2(TW_COL_PERCENTAGE, 12, "share of the table's direct time",
				    .over_ranks = TRAWL_SHARE),
	[CUMULATIVE] = TW_PERCENT_2(TW_COL_CUMULATIVE_PERCENTAGE, 12,
				    "cumulative share: this row and all rows above"),
	[VIA] = TW_VIA_COLUMN,
};

struct work {
	const struct tw_analysis_input *in;
	struct tw_op_keys keys;
	struct tw_members members; /* launchers by key */
	int64_t *values;
	struct tw_str full, short_form;
	tw_wide total_ns, running_ns; /* direct time: of all, of the rows so far */
};

/* Statistics of the direct (offset 0) or subtree times (1) of a group. */
static struct tw_stats measure_times(const struct work *w, uint32_t group, bool subtree)
{
	uint64_t first = w->members.first[group], n = w->members.first[group + 1] - first, i;

	for (i = 0; i < n; i++) {
		const struct tw_launcher *l = &w->in->launchers->items[w->members.list[first + i]];

		w->values[i] = subtree ? l->subtree_ns : l->direct_ns;
	}
	return tw_stats_of(w->values, n);
}

static void set_stats(struct trawl_table *table, size_t row, size_t offset,
		      const struct tw_stats *s)
{
	tw_set_us(table, row, DIRECT_MEAN + offset, s->mean);
	tw_set_us(table, row, DIRECT_MEDIAN + offset, s->median);
	tw_set_us(table, row, DIRECT_STD + offset, s->std);
	tw_table_set_integer(table, row, DIRECT_MIN + offset, s->min);
	tw_table_set_integer(table, row, DIRECT_MAX + offset, s->max);
	tw_set_sum(table, row, DIRECT_SUM + offset, s->sum);
}

static const struct tw_launcher *first_of(const struct work *w, uint32_t group)
{
	return &w->in->launchers->items[w->members.list[w->members.first[group]]];
}

static int add_operation_row(void *context, struct trawl_table *table, uint32_t group)
{
	struct work *w = context;
	const struct tw_derived *d = w->in->derived;
	uint64_t first = w->members.first[group], n = w->members.first[group + 1] - first;
	struct tw_stats direct = measure_times(w, group, false),
			subtree = measure_times(w, group, true);
	size_t row = tw_table_add_row(table);

	tw_op_key_set(&w->keys, table, row, group, VIA);
	tw_table_set_integer(table, row, COUNT, (int64_t)n);
	set_stats(table, row, 0, &direct);
	set_stats(table, row, 1, &subtree);
	if (!tw_is_via_graph(w->in, d->host.event[first_of(w, group)->node]))
		tw_table_set_integer(table, row, EVENT, d->host.event[first_of(w, group)->node]);
	tw_str_clear(&w->full);
	tw_str_clear(&w->short_form);
	if (tw_kernel_details(d, &w->in->launchers->gpu, w->members.list + first, n, &w->full,
			      &w->short_form))
		return TRAWL_ENOMEM;
	tw_table_set_text(table, row, DETAILS, w->full.ptr, w->full.len);
	tw_table_set_text(table, row, SHORT_DETAILS, w->short_form.ptr, w->short_form.len);
	w->running_ns += direct.sum;
	tw_set_percent(table, row, PERCENTAGE, (double)direct.sum, (double)w->total_ns);
	tw_set_percent(table, row, CUMULATIVE, (double)w->running_ns, (double)w->total_ns);
	return 0;
}

static struct tw_order describe_operation(void *context, uint32_t group)
{
	const struct work *w = context;
	struct tw_order order = { .tie = w->in->derived->host.event[first_of(w, group)->node] };
	uint64_t i;

	for (i = w->members.first[group]; i < w->members.first[group + 1]; i++)
		order.value += w->in->launchers->items[w->members.list[i]].direct_ns;
	return order;
}

static int run_ops_unique_args(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct trawl_allocator *a = in->allocator;
	const struct tw_launchers *launchers = in->launchers;
	uint32_t *of = tw_alloc(a, (launchers->count + 1) * sizeof(*of));
	struct work w = { .in = in };
	const struct tw_order_rows rows = { &w, describe_operation, add_operation_row, NULL };
	uint64_t i;
	int status;

	tw_str_init(&w.full, a);
	tw_str_init(&w.short_form, a);
	w.values = tw_alloc(a, (launchers->count + 1) * sizeof(*w.values));
	if (!of || !w.values || tw_op_keys_init(&w.keys, in))
		return TRAWL_ENOMEM;
	for (i = 0; i < launchers->count; i++) {
		const struct tw_launcher *launcher = &launchers->items[i];

		of[i] = tw_op_key_of(&w.keys, launcher->node, 0,
				     launchers->categories.names[launcher->category]);
		w.total_ns += launcher->direct_ns;
	}
	if (tw_op_keys_failed(&w.keys) ||
	    tw_members_build(&w.members, of, launchers->count, w.keys.groups.count, a))
		return TRAWL_ENOMEM;
	status = tw_add_in_order(table, w.keys.groups.count, &rows, a);
	return tw_op_keys_failed(&w.keys) ? TRAWL_ENOMEM : status;
}

const struct tw_analysis tw_analysis_ops_unique_args = {
	TW_TABLE("ops_unique_args", "GPU time by operator and arguments, without communication",
		 columns),
	.needs = TW_NEEDS_GPU | TW_NEEDS_HOST | TW_NEEDS_MODELS | TW_GROUPS | TW_STACKS,
	.run = run_ops_unique_args,
};
