/* What each stream of each device did. */
#include "analysis/analysis.h"

#include "base/alloc.h"

enum { DEVICE, STREAM, KERNELS, COPIES, SETS, COMMUNICATION, BUSY, OF_TOTAL, SUM, FIRST, LAST };

static const struct trawl_column columns[] = {
	[DEVICE] = { "device", TRAWL_COLUMN_ID, "", 0, 0, 8, "number of the device" },
	[STREAM] = { "stream", TRAWL_COLUMN_ID, "", 0, 0, 10, "number of the stream" },
	[KERNELS] = { "kernels", TRAWL_COLUMN_INTEGER, "", 0, 0, 10, "kernels on it" },
	[COPIES] = { "copies", TRAWL_COLUMN_INTEGER, "", 0, 0, 10, "memory copies on it" },
	[SETS] = { "memsets", TRAWL_COLUMN_INTEGER, "", 0, 0, 10, "memory sets on it" },
	[COMMUNICATION] = { "communication kernels", TRAWL_COLUMN_INTEGER, "", 0, 0, 12,
			    "of the kernels, those that communicate" },
	[BUSY] = { "busy (ms)", TRAWL_COLUMN_DECIMAL, "ms", 6, 3, 14, "union of its events" },
	[OF_TOTAL] = { "busy (% of total)", TRAWL_COLUMN_REAL, "%", 0, 1, 12,
		       "share of total_time of gpu_timeline" },
	[SUM] = { "sum (ms)", TRAWL_COLUMN_DECIMAL, "ms", 6, 3, 14,
		  "sum of its events; more than busy where they overlap" },
	[FIRST] = { "first start (µs)", TRAWL_COLUMN_DECIMAL, "µs", 3, 3, 20,
		    "start of its first event, on the clock of the trace" },
	[LAST] = { "last end (µs)", TRAWL_COLUMN_DECIMAL, "µs", 3, 3, 20, "end of its last event" },
};

struct stream {
	struct tw_union busy;
	tw_wide sum;
	int64_t first, last, kernels, copies, sets, communication;
};

static void add_event(struct stream *s, const struct tw_analysis_input *in, uint64_t g)
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

static void add_row(const struct tw_analysis_input *in, struct trawl_table *table,
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

static int run(const struct tw_analysis_input *in, struct trawl_table *table)
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
		add_event(&streams[gpu->queue[g]], in, g);
	for (q = 0; q < gpu->queue_count; q++)
		add_row(in, table, &streams[q], &gpu->queues[q]);
	tw_free(in->allocator, streams, ((size_t)gpu->queue_count + 1) * sizeof(*streams));
	return 0;
}

const struct tw_analysis tw_analysis_streams = {
	TW_TABLE("streams", "what each stream of each device did", columns),
	.needs = TW_NEEDS_GPU,
	.run = run,
};
