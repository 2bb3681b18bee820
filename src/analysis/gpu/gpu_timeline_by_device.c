/* The timeline of each device: as gpu_timeline, whose definitions hold. */
#include "analysis/analysis.h"

#include "base/alloc.h"

#include <string.h>

enum { DEVICE, TYPE, TIME, PERCENT };

static const struct trawl_column columns[] = {
	[DEVICE] = TW_ID("device", 8, "number of the device"),
	[TYPE] = TW_TEXT("type", 22, "what the time went to"),
	[TIME] = TW_MS("time ms", 14, "how long"),
	[PERCENT] = TW_PERCENT_1("percent", 10, "share of the device's total_time"),
};

static void add_device(const struct tw_analysis_input *in, struct trawl_table *table,
		       tw_code device, const struct tw_timeline *t)
{
	const struct {
		const char *type;
		int64_t ns;
	} rows[] = {
		{ "computation_time", t->compute_ns },
		{ "exposed_comm_time", t->exposed_communication_ns },
		{ "exposed_memcpy_time", t->exposed_copy_ns },
		{ "busy_time", t->busy_ns },
		{ "other_work_time", t->other_ns },
		{ "idle_time", t->idle_ns },
		{ "total_time", t->total_ns },
		{ "total_comm_time", t->communication_ns },
		{ "total_memcpy_time", t->copy_ns },
	};
	size_t i, row;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!in->derived->steps.by_launch && !strcmp(rows[i].type, "other_work_time"))
			continue;
		row = tw_table_add_row(table);
		tw_set_code(table, row, DEVICE, in->trace, device);
		tw_table_set_str(table, row, TYPE, rows[i].type);
		tw_table_set_integer(table, row, TIME, rows[i].ns);
		tw_set_percent(table, row, PERCENT, (double)rows[i].ns, (double)t->total_ns);
	}
}

/* Numbers devices in order, by queue; queues are in order of device. Returns how many there are. */
static uint32_t number_devices(const struct tw_gpu *gpu, uint32_t *of_queue, tw_code *codes)
{
	uint32_t q, count = 0;

	for (q = 0; q < gpu->queue_count; q++) {
		if (!q || gpu->queues[q].device != gpu->queues[q - 1].device)
			codes[count++] = gpu->queues[q].device;
		of_queue[q] = count - 1;
	}
	return count;
}

/* Whether a device without GPU events in the view was looked at: it is idle there. */
static bool is_idle_device(const struct tw_view *view, tw_code device)
{
	return view->limited && (view->device == TW_CODE_NONE || view->device == device);
}

static int fill(const struct tw_analysis_input *in, struct trawl_table *table,
		const struct tw_members *members, const tw_code *codes)
{
	const struct tw_derived *d = in->derived;
	struct tw_timeline t;
	uint64_t device;

	for (device = 0; device < members->group_count; device++) {
		uint32_t first = members->first[device];
		uint64_t count = members->first[device + 1] - first;

		/* Events that do not tell their device are in gpu_timeline only. */
		if (codes[device] == TW_CODE_NONE ||
		    (!count && !is_idle_device(&d->view, codes[device])))
			continue;
		if (count == d->gpu.count && !d->gpu.other_count)
			t = *in->timeline;
		else if (tw_timeline_of(&t, d, members->list + first, count, codes[device],
					in->options->linked_only, -1))
			return TRAWL_ENOMEM;
		if (t.events || is_idle_device(&d->view, codes[device]))
			add_device(in, table, codes[device], &t);
	}
	return 0;
}

static int run(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_gpu *gpu = &in->derived->gpu;
	size_t queues = (size_t)gpu->queue_count + 1, events = gpu->count + 1;
	uint32_t *of_queue = tw_alloc(in->allocator, queues * sizeof(*of_queue));
	tw_code *codes = tw_alloc(in->allocator, queues * sizeof(*codes));
	uint32_t *of = tw_alloc(in->allocator, events * sizeof(*of));
	struct tw_members members = { 0 };
	int status = TRAWL_ENOMEM;
	uint32_t devices;
	uint64_t g;

	if (of_queue && codes && of) {
		devices = number_devices(gpu, of_queue, codes);
		for (g = 0; g < gpu->count; g++)
			of[g] = of_queue[gpu->queue[g]];
		if (!tw_members_build(&members, of, gpu->count, devices, in->allocator))
			status = fill(in, table, &members, codes);
	}
	tw_members_release(&members);
	tw_free(in->allocator, of_queue, queues * sizeof(*of_queue));
	tw_free(in->allocator, codes, queues * sizeof(*codes));
	tw_free(in->allocator, of, events * sizeof(*of));
	return status;
}

const struct tw_analysis tw_analysis_gpu_timeline_by_device = {
	TW_TABLE("gpu_timeline_by_device", "where the time of each GPU goes", columns),
	.needs = TW_NEEDS_GPU,
	.run = run,
};
