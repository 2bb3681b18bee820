/*
 * The GPU time of ranges: NVTX ranges of exports, annotations of other traces.  Which event
 * belongs to which range is said in ranges.h.
 *
 * What is in no range, or has no recorded launch, has rows of its own: the column of self times
 * adds up to all GPU time.
 */
#include "analysis/analysis.h"

#include "analysis/launches/ranges.h"
#include "analysis/order.h"
#include "base/alloc.h"
#include "base/sort.h"

#include <inttypes.h>

enum {
	PID,
	RANGE,
	DOMAIN,
	KIND,
	INSTANCES,
	GPU,
	SELF,
	KERNELS,
	EVENTS,
	COMMUNICATION,
	SELF_COMMUNICATION,
	EXPOSED,
	SELF_EXPOSED,
	PROJECTED,
	HOST
};

static const struct trawl_column columns[] = {
	[PID] = TW_ID("pid", 10, "process id of the range"),
	[RANGE] = TW_TEXT("range", 48, "range name", .over_ranks = TRAWL_KEY),
	[DOMAIN] = TW_TEXT("domain", 14, "NVTX domain; empty: default domain",
			   .over_ranks = TRAWL_KEY),
	[KIND] = TW_TEXT(
		"kind", 14,
		"range; operation: written by emit_nvtx; outside: launched outside all ranges; "
		"unlaunched: no matching launch",
		.over_ranks = TRAWL_KEY, .values = "!range|operation|outside|unlaunched"),
	[INSTANCES] = TW_INTEGER("instances", 10, "number of ranges", .over_ranks = TRAWL_COUNT,
				 .values = ">=0"),
	[GPU] = TW_MS(TW_COL_GPU_TIME_MS, 14, "sum of the GPU events launched in the ranges",
		      .over_ranks = TRAWL_TIME, .values = ">=0"),
	[SELF] = TW_MS(
		TW_COL_SELF_GPU_TIME_MS, 14,
		"part of GPU time launched in no nested range; all rows add up to all GPU time",
		.over_ranks = TRAWL_TOTAL, .place = -1, .values = ">=0"),
	[KERNELS] = TW_INTEGER("kernels", 10, "kernels launched in the ranges",
			       .over_ranks = TRAWL_TOTAL, .values = ">=0"),
	[EVENTS] = TW_INTEGER(TW_COL_GPU_EVENTS, 10,
			      "kernels, copies and memsets launched in the ranges",
			      .values = ">=0"),
	[COMMUNICATION] = TW_MS("communication (ms)", 14, "communication part of GPU time",
				.over_ranks = TRAWL_TOTAL, .values = ">=0"),
	[SELF_COMMUNICATION] = TW_MS("self communication (ms)", 14,
				     "communication part of self GPU time", .values = ">=0"),
	[EXPOSED] = TW_MS(TW_COL_EXPOSED_COMMUNICATION_MS, 14,
			  "communication time in which its device runs no compute",
			  .over_ranks = TRAWL_TOTAL, .values = ">=0"),
	[SELF_EXPOSED] = TW_MS("self exposed communication (ms)", 14,
			       "exposed part of self communication", .values = ">=0"),
	[PROJECTED] =
		TW_MS("projected (ms)", 14,
		      "sum over instances: first start to last end of the instance's GPU events",
		      .values = ">=0"),
	[HOST] = TW_MS(TW_COL_HOST_TIME_MS, 14, "sum of durations on the host",
		       .over_ranks = TRAWL_TOTAL, .values = ">=0"),
};

static void set_gpu(struct trawl_table *table, size_t row, const struct tw_gpu_sum *all,
		    const struct tw_gpu_sum *self)
{
	tw_set_sum(table, row, GPU, all->gpu_ns);
	tw_set_sum(table, row, SELF, self->gpu_ns);
	tw_table_set_integer(table, row, KERNELS, all->kernels);
	tw_table_set_integer(table, row, EVENTS, all->events);
	tw_set_sum(table, row, COMMUNICATION, all->communication_ns);
	tw_set_sum(table, row, SELF_COMMUNICATION, self->communication_ns);
	tw_set_sum(table, row, EXPOSED, all->exposed_ns);
	tw_set_sum(table, row, SELF_EXPOSED, self->exposed_ns);
}

static void add_range_row(const struct tw_analysis_input *in, struct trawl_table *table,
			  const struct tw_ranges *ranges, const struct tw_range_row *range)
{
	static const char *const kinds[TW_RANGE_KINDS] = { "range", "operation", "outside",
							   "unlaunched" };
	size_t row = tw_table_add_row(table);

	tw_set_code(table, row, PID, in->trace, ranges->processes[range->process]);
	tw_table_set_str(table, row, KIND, kinds[range->kind]);
	if (range->kind == TW_RANGE_OUTSIDE || range->kind == TW_RANGE_UNLAUNCHED) {
		set_gpu(table, row, &range->self, &range->self);
		return;
	}
	tw_set_name(table, row, RANGE, in->trace, range->name);
	tw_set_name(table, row, DOMAIN, in->trace, range->domain);
	tw_table_set_integer(table, row, INSTANCES, range->instances);
	tw_set_sum(table, row, HOST, range->host_ns);
	if (!ranges->linked)
		return;
	set_gpu(table, row, &range->all, &range->self);
	if (range->all.events)
		tw_set_sum(table, row, PROJECTED, range->projected_ns);
}

static bool is_shown(const struct tw_range_row *range)
{
	return range->instances || range->all.events || range->self.events;
}

/* In order of GPU time; what is in no range comes last. */
static tw_wide order_value(const struct tw_range_row *range)
{
	switch (range->kind) {
	case TW_RANGE_OUTSIDE:
		return -1;
	case TW_RANGE_UNLAUNCHED:
		return -2;
	default:
		return range->all.gpu_ns;
	}
}

static uint64_t process_key(const void *ranges, uint32_t row)
{
	return ((const struct tw_ranges *)ranges)->rows[row].process;
}

/* Rows by process. */
static int add_rows(const struct tw_analysis_input *in, struct trawl_table *table,
		    const struct tw_ranges *ranges)
{
	size_t room = (size_t)ranges->count + 1, count = 0, i;
	struct tw_order *order = tw_alloc_array(in->allocator, room, sizeof(*order));
	uint32_t *list = tw_alloc(in->allocator, room * sizeof(*list)), r;

	if (!order || !list)
		return TRAWL_ENOMEM;
	for (r = 0; r < ranges->count; r++) {
		const struct tw_range_row *range = &ranges->rows[r];

		if (is_shown(range))
			order[count++] = (struct tw_order){ .value = order_value(range),
							    .texts = { range->name, range->domain },
							    .tie = range->kind,
							    .index = r };
	}
	tw_order_sort(order, count, &in->trace->texts);
	for (i = 0; i < count; i++)
		list[i] = order[i].index;
	if (tw_sort(list, count, process_key, ranges, in->allocator))
		return TRAWL_ENOMEM;
	for (i = 0; i < count; i++)
		add_range_row(in, table, ranges, &ranges->rows[list[i]]);
	return 0;
}

static int run_nvtx_ranges(const struct tw_analysis_input *in, struct trawl_table *table)
{
	struct tw_ranges ranges;

	if (tw_ranges_build(&ranges, in->derived, in->allocator))
		return TRAWL_ENOMEM;
	if (!ranges.ranges) {
		tw_table_add_note(table, "no NVTX ranges in this trace");
		return 0;
	}
	if (ranges.repeated)
		tw_table_add_note(table, "%" PRIu64 " ranges recorded twice: counted once",
				  ranges.repeated);
	if (!ranges.linked)
		tw_table_add_note(table, "%s",
				  in->derived->gpu.count ?
					  "no launches in this trace: GPU work is not attributed "
					  "to ranges" :
					  "no GPU events");
	return add_rows(in, table, &ranges);
}

const struct tw_analysis tw_analysis_nvtx_ranges = {
	TW_TABLE("nvtx_ranges", "GPU time of NVTX ranges", columns),
	.needs = TW_NEEDS_EXPORT | TW_PLAIN,
	.run = run_nvtx_ranges,
};
