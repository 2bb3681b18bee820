/*
 * Time of operations on the host, by name: for traces without GPU work, and to see what the host
 * is busy with.  Self time is the time outside the operations and calls nested in it.
 */
#include "analysis/analysis.h"

#include "analysis/order.h"
#include "base/alloc.h"

enum { NAME, COUNT, TOTAL, SELF, MEAN, MIN, MAX, OF_SELF };

static const struct trawl_column columns[] = {
	[NAME] = TW_TEXT("name", 48, "operator name", .over_ranks = TRAWL_KEY),
	[COUNT] = TW_INTEGER(TW_COL_COUNT, 10, "number of calls", .over_ranks = TRAWL_COUNT),
	[TOTAL] = TW_MS("total host time (ms)", 16, "sum over calls, nested operators included",
			.over_ranks = TRAWL_TOTAL, .place = -1),
	[SELF] = TW_MS(TW_COL_SELF_HOST_TIME_MS, 16, "sum over calls, nested operators excluded",
		       .over_ranks = TRAWL_TIME),
	[MEAN] = TW_MEAN_US("mean (µs)", 14, "mean duration of a call", .over_ranks = TRAWL_MEAN),
	[MIN] = TW_US("min (µs)", 14, "min duration of a call", .over_ranks = TRAWL_MIN),
	[MAX] = TW_US("max (µs)", 14, "max duration of a call", .over_ranks = TRAWL_MAX),
	[OF_SELF] = TW_PERCENT_2(TW_COL_PERCENTAGE, 12, "share of self host time of the table",
				 .over_ranks = TRAWL_SHARE),
};

struct sum {
	tw_wide total, self;
	int64_t count, min, max;
	uint64_t timed; /* calls with a usable duration */
	uint64_t first;
};

/* A call of which the walk has not seen the end. */
struct open_call {
	uint32_t node;
	bool timed;		  /* it has a usable duration, and is in the view */
	int64_t own_ns;		  /* the part in the view */
	struct tw_union children; /* what its direct children cover; they come by increasing start */
};

static void add_closed_call(struct sum *sum, const struct tw_derived *d,
			    const struct open_call *call)
{
	uint32_t event = d->host.event[call->node];

	if (!sum->count++ || event < sum->first)
		sum->first = event;
	if (!call->timed)
		return;
	sum->total += call->own_ns;
	if (call->own_ns > call->children.length_ns)
		sum->self += call->own_ns - call->children.length_ns;
	if (!sum->timed || call->own_ns < sum->min)
		sum->min = call->own_ns;
	if (!sum->timed || call->own_ns > sum->max)
		sum->max = call->own_ns;
	sum->timed++;
}

struct work {
	const struct tw_derived *d;
	uint32_t *of_name; /* by text id: 1 + number of the name, 0: none */
	uint32_t count;
	struct sum *sums;	/* by number: room for all names of host events */
	struct open_call *open; /* as deep as the call tree */
	uint64_t depth;
	tw_wide self; /* of all sums */
};

/* Counts operations of the view: those that overlap it, or all. */
static void close_call(struct work *w)
{
	const struct open_call *call = &w->open[--w->depth];
	const struct tw_derived *d = w->d;
	uint32_t *number;

	if (tw_node_class(d, call->node) != TRAWL_CLASS_CPU_OP || (d->view.limited && !call->timed))
		return;
	number = &w->of_name[d->trace->events.name[d->host.event[call->node]]];
	if (!*number)
		*number = ++w->count;
	add_closed_call(&w->sums[*number - 1], d, call);
}

static void open_call(struct work *w, uint32_t node)
{
	const struct tw_events *events = &w->d->trace->events;
	struct open_call *call = &w->open[w->depth];
	uint32_t event = w->d->host.event[node];
	int64_t start = events->start_ns[event], end = start;

	*call = (struct open_call){ .node = node, .children = TW_UNION_INIT };
	if (events->phase[event] == 'X') {
		end = start + events->dur_ns[event];
		call->timed = tw_view_clip(tw_host_view(w->d), &start, &end);
	}
	call->own_ns = end > start ? end - start : 0;
	if (call->timed && w->depth)
		tw_union_add(&call[-1].children, start, end);
	w->depth++;
}

/* Nodes come with their descendants after them, so a stack of open calls is enough. */
static void walk_calls(struct work *w)
{
	const struct tw_host *host = &w->d->host;
	uint32_t node;

	for (node = 0; node < host->count; node++) {
		while (w->depth && w->open[w->depth - 1].node != host->parent[node])
			close_call(w);
		open_call(w, node);
	}
	while (w->depth)
		close_call(w);
}

static struct tw_order describe_sum(void *context, uint32_t number)
{
	const struct sum *sum = &((const struct work *)context)->sums[number];

	return (struct tw_order){ .value = sum->self, .tie = sum->first };
}

static int add_calls_row(void *context, struct trawl_table *table, uint32_t number)
{
	const struct work *w = context;
	const struct sum *sum = &w->sums[number];
	size_t row = tw_table_add_row(table);

	tw_set_name(table, row, NAME, w->d->trace, w->d->trace->events.name[sum->first]);
	tw_table_set_integer(table, row, COUNT, sum->count);
	if (!sum->timed)
		return 0;
	tw_set_sum(table, row, TOTAL, sum->total);
	tw_set_sum(table, row, SELF, sum->self);
	tw_set_us(table, row, MEAN, (double)sum->total / (double)sum->timed);
	tw_table_set_integer(table, row, MIN, sum->min);
	tw_table_set_integer(table, row, MAX, sum->max);
	tw_set_percent(table, row, OF_SELF, (double)sum->self, (double)w->self);
	return 0;
}

static uint32_t count_names(const struct tw_derived *d)
{
	uint32_t name, count = 0;

	for (name = 0; name < d->trace->texts.count; name++)
		count += d->host.name[name] != 0;
	return count;
}

static int run_cpu_ops(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct trawl_allocator *a = in->allocator;
	const struct tw_derived *d = in->derived;
	struct work w = { .d = d };
	const struct tw_order_rows rows = { &w, describe_sum, add_calls_row, NULL };
	uint32_t i;

	w.of_name = tw_alloc_array(a, in->trace->texts.count, sizeof(*w.of_name));
	w.open = tw_alloc(a, (d->host.depth + 1) * sizeof(*w.open));
	w.sums = tw_alloc_array(a, (size_t)count_names(d) + 1, sizeof(*w.sums));
	if (!w.of_name || !w.open || !w.sums)
		return TRAWL_ENOMEM;
	walk_calls(&w);
	for (i = 0; i < w.count; i++)
		w.self += w.sums[i].self;
	return tw_add_in_order(table, w.count, &rows, a);
}

const struct tw_analysis tw_analysis_cpu_ops = {
	TW_TABLE("cpu_ops", "host time by operator", columns),
	.needs = TW_NEEDS_HOST,
	.run = run_cpu_ops,
};
