/* What each stream of each device did. */
#include "analysis/analysis.h"

#include "base/alloc.h"

enum { DEVICE, STREAM, KERNELS, COPIES, SETS, COMMUNICATION, BUSY, OF_TOTAL, SUM, FIRST, LAST };

static const struct trawl_column columns[] = {
	[DEVICE] = TW_ID("device", 8, "device number", .values = ">=0"),
	[STREAM] = TW_ID("stream", 10, "stream number", .over_ranks = TRAWL_KEY, .values = ">=0"),
	[KERNELS] = TW_INTEGER("kernels", 10, "kernels on the stream", .over_ranks = TRAWL_TOTAL),
	[COPIES] =
		TW_INTEGER("copies", 10, "memory copies on the stream", .over_ranks = TRAWL_TOTAL),
	[SETS] = TW_INTEGER("memsets", 10, "memsets on the stream", .over_ranks = TRAWL_TOTAL),
	[COMMUNICATION] = TW_INTEGER("communication kernels", 12,
				     "communication kernels among them", .over_ranks = TRAWL_TOTAL),
	[BUSY] = TW_MS("busy (ms)", 14, "time with at least one event running (union)",
		       .over_ranks = TRAWL_TIME),
	[OF_TOTAL] = TW_PERCENT_1("busy (% of total)", 12, "share of total_time of gpu_timeline",
				  .over_ranks = TRAWL_SHARE, .place = 1),
	[SUM] = TW_MS("sum (ms)", 14, "sum of event durations; above busy where events overlap",
		      .over_ranks = TRAWL_TOTAL),
	[FIRST] = TW_US("first start (µs)", 20, "start of the first event, trace clock"),
	[LAST] = TW_US("last end (µs)", 20, "end of the last event, trace clock"),
};

struct stream {
	struct tw_union busy;
	tw_wide sum;
	int64_t first, last, kernels, copies, sets, communication;
};

static void add_to_stream(struct stream *s, const struct tw_analysis_input *in, uint64_t g)
{
	const struct tw_gpu *gpu = &in->derived->gpu;
	const struct tw_view *view = &in->derived->view;
	int64_t last = tw_view_real_end(view, gpu->start_ns[g], gpu->end_ns[g]);

	if (!(s->kernels + s->copies + s->sets))
		s->first = tw_view_real_start(view, gpu->start_ns[g]);
	if (last > s->last || !(s->kernels + s->copies + s->sets))
		s->last = last;
	switch (tw_class(in->trace, gpu->event[g])) {
	case TRAWL_CLASS_KERNEL:
		s->kernels++;
		break;
	case TRAWL_CLASS_MEMCPY:
		s->copies++;
		break;
	default:
		s->sets++;
	}
	s->communication += gpu->bucket[g] == TW_COMMUNICATION &&
			    tw_class(in->trace, gpu->event[g]) == TRAWL_CLASS_KERNEL;
	s->sum += gpu->end_ns[g] - gpu->start_ns[g];
	tw_union_add(&s->busy, gpu->start_ns[g], gpu->end_ns[g]);
}

static void add_stream_row(const struct tw_analysis_input *in, struct trawl_table *table,
			   const struct stream *s, const struct tw_queue *queue)
{
	size_t row;

	if (!(s->kernels + s->copies + s->sets))
		return;
	row = tw_table_add_row(table);
	tw_set_code(table, row, DEVICE, in->trace, queue->device);
	tw_set_code(table, row, STREAM, in->trace, queue->stream);
	tw_table_set_integer(table, row, KERNELS, s->kernels);
	tw_table_set_integer(table, row, COPIES, s->copies);
	tw_table_set_integer(table, row, SETS, s->sets);
	tw_table_set_integer(table, row, COMMUNICATION, s->communication);
	tw_table_set_integer(table, row, BUSY, s->busy.length_ns);
	tw_set_percent(table, row, OF_TOTAL, (double)s->busy.length_ns,
		       (double)in->timeline->total_ns);
	tw_set_sum(table, row, SUM, s->sum);
	tw_table_set_integer(table, row, FIRST, s->first);
	tw_table_set_integer(table, row, LAST, s->last);
}

static int run_streams(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_gpu *gpu = &in->derived->gpu;
	struct stream *streams =
		tw_alloc_array(in->allocator, (size_t)gpu->queue_count + 1, sizeof(*streams));
	uint64_t g;
	uint32_t q;

	if (!streams)
		return TRAWL_ENOMEM;
	for (q = 0; q < gpu->queue_count; q++)
		streams[q].busy = (struct tw_union)TW_UNION_INIT;
	for (g = 0; g < gpu->count; g++)
		add_to_stream(&streams[gpu->queue[g]], in, g);
	for (q = 0; q < gpu->queue_count; q++)
		add_stream_row(in, table, &streams[q], &gpu->queues[q]);
	return 0;
}

const struct tw_analysis tw_analysis_streams = {
	TW_TABLE("streams", "activity of each stream of each device", columns),
	.needs = TW_NEEDS_GPU,
	.run = run_streams,
};
