/*
 * Time of operations on the host, by name: for traces without GPU work, and to see what the host
 * is busy with.  Self time is the time outside the operations and calls nested in it.
 */
#include "analysis/analysis.h"

#include "analysis/order.h"
#include "base/alloc.h"

enum { NAME, COUNT, TOTAL, SELF, MEAN, MIN, MAX, OF_SELF };

static const struct trawl_column columns[] = {
	[NAME] = { "name", TRAWL_COLUMN_TEXT, "", 0, 0, 48, "name of the operation" },
	[COUNT] = { "Count", TRAWL_COLUMN_INTEGER, "", 0, 0, 10, "calls" },
	[TOTAL] = { "total host time (ms)", TRAWL_COLUMN_DECIMAL, "ms", 6, 3, 16,
		    "time of all calls, with what they call" },
	[SELF] = { "self host time (ms)", TRAWL_COLUMN_DECIMAL, "ms", 6, 3, 16,
		   "time of all calls outside what they call" },
	[MEAN] = { "mean (µs)", TRAWL_COLUMN_REAL, "µs", 0, 3, 14, "mean time of a call" },
	[MIN] = { "min (µs)", TRAWL_COLUMN_DECIMAL, "µs", 3, 3, 14, "shortest call" },
	[MAX] = { "max (µs)", TRAWL_COLUMN_DECIMAL, "µs", 3, 3, 14, "longest call" },
	[OF_SELF] = { "Percentage (%)", TRAWL_COLUMN_REAL, "%", 0, 2, 12,
		      "share of the self time of this table" },
};

struct sum {
	tw_wide total, self;
	int64_t count, min, max;
	uint64_t timed; /* calls with a usable duration */
	uint64_t first;
};

/* Adds the time of an event in the view; false when it lies outside or has no usable duration. */
static bool add_time(const struct tw_derived *d, uint64_t event, struct tw_union *u)
{
	const struct tw_events *events = &d->trace->events;
	int64_t start = events->start_ns[event], end;

	if (events->phase[event] != 'X')
		return false;
	end = start + events->dur_ns[event];
	if (!tw_view_clip(&d->view, &start, &end))
		return false;
	tw_union_add(u, start, end);
	return true;
}

/* The time that the direct children of each node cover; they come by increasing start. */
static struct tw_union *children_times(const struct tw_derived *d)
{
	struct tw_union *times = tw_alloc(d->allocator, (d->host.count + 1) * sizeof(*times));
	uint64_t i;

	for (i = 0; times && i < d->host.count; i++)
		times[i] = (struct tw_union)TW_UNION_INIT;
	for (i = 0; times && i < d->host.count; i++)
		if (d->host.parent[i] != TW_NONE)
			add_time(d, d->host.event[i], &times[d->host.parent[i]]);
	return times;
}

static void add_call(struct sum *sum, const struct tw_derived *d, uint64_t node, int64_t children)
{
	struct tw_union own = TW_UNION_INIT;

	if (!sum->count++ || d->host.event[node] < sum->first)
		sum->first = d->host.event[node];
	if (!add_time(d, d->host.event[node], &own))
		return;
	sum->total += own.length_ns;
	sum->self += own.length_ns > children ? own.length_ns - children : 0;
	if (!sum->timed || own.length_ns < sum->min)
		sum->min = own.length_ns;
	if (!sum->timed || own.length_ns > sum->max)
		sum->max = own.length_ns;
	sum->timed++;
}

static void add_row(const struct tw_analysis_input *in, struct trawl_table *table, uint32_t name,
		    const struct sum *sum, tw_wide all)
{
	size_t row = tw_table_add_row(table);

	tw_set_name(table, row, NAME, in->trace, name);
	tw_table_set_integer(table, row, COUNT, sum->count);
	if (!sum->timed)
		return;
	tw_set_sum(table, row, TOTAL, sum->total);
	tw_set_sum(table, row, SELF, sum->self);
	tw_set_us(table, row, MEAN, (double)sum->total / (double)sum->timed);
	tw_table_set_integer(table, row, MIN, sum->min);
	tw_table_set_integer(table, row, MAX, sum->max);
	tw_set_percent(table, row, OF_SELF, (double)sum->self, (double)all);
}

/* Operations of the view: those that overlap it, or all. */
static bool is_counted(const struct tw_derived *d, uint64_t node)
{
	struct tw_union ignored = TW_UNION_INIT;

	return tw_node_class(d, node) == TRAWL_CLASS_CPU_OP &&
	       (!d->view.limited || add_time(d, d->host.event[node], &ignored));
}

/* Numbers the names of operations that are counted, in of_name (1 + number); returns how many. */
static uint32_t number_names(const struct tw_derived *d, uint32_t *of_name)
{
	uint32_t count = 0;
	uint64_t i;

	for (i = 0; i < d->host.count; i++) {
		uint32_t *number = &of_name[d->trace->events.name[d->host.event[i]]];

		if (!*number && is_counted(d, i))
			*number = ++count;
	}
	return count;
}

static int fill(const struct tw_analysis_input *in, struct trawl_table *table,
		const uint32_t *of_name, uint32_t count, const struct tw_union *children)
{
	const struct tw_derived *d = in->derived;
	size_t n = (size_t)count + 1;
	struct sum *sums = tw_alloc_array(in->allocator, n, sizeof(*sums));
	struct tw_order *order = tw_alloc_array(in->allocator, n, sizeof(*order));
	tw_wide all = 0;
	uint64_t i;
	uint32_t g;

	if (sums && order) {
		for (i = 0; i < d->host.count; i++)
			if (is_counted(d, i))
				add_call(
					&sums[of_name[in->trace->events.name[d->host.event[i]]] - 1],
					d, i, children[i].length_ns);
		for (g = 0; g < count; g++) {
			order[g] = (struct tw_order){ .value = sums[g].self,
						      .tie = sums[g].first,
						      .index = g };
			all += sums[g].self;
		}
		tw_order_sort(order, count, NULL);
		for (g = 0; g < count; g++) {
			const struct sum *sum = &sums[order[g].index];

			add_row(in, table, in->trace->events.name[sum->first], sum, all);
		}
	}
	tw_free(in->allocator, sums, n * sizeof(*sums));
	tw_free(in->allocator, order, n * sizeof(*order));
	return sums && order ? 0 : TRAWL_ENOMEM;
}

static int run(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_derived *d = in->derived;
	uint32_t *of_name = tw_alloc_array(in->allocator, in->trace->texts.count, sizeof(*of_name));
	struct tw_union *children = children_times(d);
	int status = TRAWL_ENOMEM;

	if (children && of_name)
		status = fill(in, table, of_name, number_names(d, of_name), children);
	tw_free(in->allocator, of_name, in->trace->texts.count * sizeof(*of_name));
	tw_free(in->allocator, children, (d->host.count + 1) * sizeof(*children));
	return status;
}

const struct tw_analysis tw_analysis_cpu_ops = {
	TW_TABLE("cpu_ops", "time of operations on the host, by name", columns),
	.needs = TW_NEEDS_HOST,
	.run = run,
};
