/* The timeline of each device: as gpu_timeline, whose definitions hold. */
#include "analysis/analysis.h"

#include "base/alloc.h"

enum { DEVICE, TYPE, TIME, PERCENT };

static const struct trawl_column columns[] = {
	[DEVICE] = { "device", TRAWL_COLUMN_ID, "", 0, 0, 8, "number of the device" },
	[TYPE] = { "type", TRAWL_COLUMN_TEXT, "", 0, 0, 22, "what the time went to" },
	[TIME] = { "time ms", TRAWL_COLUMN_DECIMAL, "ms", 6, 3, 14, "how long" },
	[PERCENT] = { "percent", TRAWL_COLUMN_REAL, "%", 0, 1, 10,
		      "share of the device's total_time" },
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
		{ "idle_time", t->idle_ns },
		{ "total_time", t->total_ns },
		{ "total_comm_time", t->communication_ns },
		{ "total_memcpy_time", t->copy_ns },
	};
	size_t i, row;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		row = tw_table_add_row(table);
		tw_set_code(table, row, DEVICE, in->trace, device);
		tw_table_set_str(table, row, TYPE, rows[i].type);
		tw_table_set_integer(table, row, TIME, rows[i].ns);
		tw_set_percent(table, row, PERCENT, (double)rows[i].ns, (double)t->total_ns);
	}
}

/* Numbers devices in order, by queue; queues are in order of device. Returns how many there are. */
static uint32_t number_devices(const struct tw_gpu *gpu, uint32_t *of_queue)
{
	uint32_t q, count = 0;

	for (q = 0; q < gpu->queue_count; q++) {
		if (!q || gpu->queues[q].device != gpu->queues[q - 1].device)
			count++;
		of_queue[q] = count - 1;
	}
	return count;
}

static int fill(const struct tw_analysis_input *in, struct trawl_table *table,
		const struct tw_members *members)
{
	const struct tw_gpu *gpu = &in->derived->gpu;
	struct tw_timeline t;
	uint64_t device;

	for (device = 0; device < members->group_count; device++) {
		uint64_t first = members->first[device], count;
		tw_code code;

		if (members->first[device + 1] == first)
			continue;
		code = gpu->queues[gpu->queue[members->list[first]]].device;
		/* Events that do not tell their device are in gpu_timeline only. */
		if (code == TW_CODE_NONE)
			continue;
		count = members->first[device + 1] - first;
		if (count == gpu->count)
			t = *in->timeline;
		else if (tw_timeline_of(&t, in->derived, members->list + first, count,
					in->options->linked_only, -1))
			return TRAWL_ENOMEM;
		if (t.events)
			add_device(in, table, code, &t);
	}
	return 0;
}

static int run(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_gpu *gpu = &in->derived->gpu;
	size_t queue_bytes = ((size_t)gpu->queue_count + 1) * sizeof(uint32_t);
	size_t of_bytes = (gpu->count + 1) * sizeof(uint32_t);
	uint32_t *of_queue = tw_alloc(in->allocator, queue_bytes);
	uint32_t *of = tw_alloc(in->allocator, of_bytes);
	struct tw_members members = { 0 };
	int status = TRAWL_ENOMEM;
	uint32_t devices;
	uint64_t g;

	if (of_queue && of) {
		devices = number_devices(gpu, of_queue);
		for (g = 0; g < gpu->count; g++)
			of[g] = of_queue[gpu->queue[g]];
		if (!tw_members_build(&members, of, gpu->count, devices, in->allocator))
			status = fill(in, table, &members);
	}
	tw_members_release(&members);
	tw_free(in->allocator, of_queue, queue_bytes);
	tw_free(in->allocator, of, of_bytes);
	return status;
}

const struct tw_analysis tw_analysis_gpu_timeline_by_device = {
	TW_TABLE("gpu_timeline_by_device", "where the time of each GPU goes", columns),
	.needs = TW_NEEDS_GPU,
	.run = run,
};
