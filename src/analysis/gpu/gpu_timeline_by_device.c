/* The timeline of each device: as gpu_timeline, whose definitions hold. */
#include "analysis/analysis.h"

#include "base/alloc.h"

enum { DEVICE, TYPE, TIME, PERCENT };

static const struct trawl_column columns[] = {
	[DEVICE] = TW_ID("device", 8, "device number"),
	[TYPE] = TW_TEXT("type", 22, "part of the timeline"),
	[TIME] = TW_MS(TW_COL_TIME_MS, 14, "duration"),
	[PERCENT] = TW_PERCENT_1("percent", 10, "share of the device's total_time"),
};

/* Whether a device without GPU events in the view was looked at: it is idle there. */
static bool is_idle_device(const struct tw_view *view, tw_code device)
{
	return view->limited && (view->device == TW_CODE_NONE || view->device == device);
}

/* Of one device, by its GPU events. */
static int add_device(const struct tw_analysis_input *in, struct trawl_table *table, tw_code device,
		      const uint32_t *list, uint64_t count)
{
	const struct tw_derived *d = in->derived;
	size_t row = trawl_table_rows(table);
	struct tw_timeline t = *in->timeline;

	/* Events without a device are in gpu_timeline only. */
	if (device == TW_CODE_NONE || (!count && !is_idle_device(&d->view, device)))
		return 0;
	if ((count != d->gpu.count || d->gpu.other_count) &&
	    tw_timeline_of(&t, d, list, count, device, in->options->linked_only, -1))
		return TRAWL_ENOMEM;
	if (t.events || is_idle_device(&d->view, device))
		tw_add_timeline_rows(table, TYPE, &t, d->steps.by_launch, false);
	for (; row < trawl_table_rows(table); row++)
		tw_set_code(table, row, DEVICE, in->trace, device);
	return 0;
}

static int run_gpu_timeline_by_device(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_gpu *gpu = &in->derived->gpu;
	const struct tw_queue *queues = gpu->queues;
	uint32_t *device = tw_alloc_array(in->allocator, gpu->queue_count + 1, sizeof(*device));
	uint32_t *of = tw_alloc(in->allocator, (gpu->count + 1) * sizeof(*of));
	struct tw_members members;
	uint32_t q, devices;
	int status = 0;
	uint64_t g;

	if (!device || !of)
		return TRAWL_ENOMEM;
	devices = tw_number_devices(gpu, device);
	for (g = 0; g < gpu->count; g++)
		of[g] = device[gpu->queue[g]];
	if (tw_members_build(&members, of, gpu->count, devices, in->allocator))
		return TRAWL_ENOMEM;
	for (q = 0; q < gpu->queue_count && !status; q++)
		if (!q || device[q] != device[q - 1])
			status =
				add_device(in, table, queues[q].device,
					   members.list + members.first[device[q]],
					   members.first[device[q] + 1] - members.first[device[q]]);
	return status;
}

const struct tw_analysis tw_analysis_gpu_timeline_by_device = {
	TW_TABLE("gpu_timeline_by_device", "GPU time of each device", columns),
	.needs = TW_NEEDS_GPU,
	.run = run_gpu_timeline_by_device,
};
