#include "analysis/overlap.h"

#include "base/alloc.h"
#include "base/sort.h"

void tw_copy_directions(const struct tw_derived *d, uint8_t *directions)
{
	const struct tw_gpu *gpu = &d->gpu;
	uint64_t g;

	for (g = 0; g < gpu->count; g++) {
		const char *name;
		size_t len;

		directions[g] = TW_COPY_OTHER;
		if (gpu->bucket[g] != TW_COPY)
			continue;
		name = tw_pool_text(&d->trace->texts, d->trace->events.name[gpu->event[g]], &len);
		directions[g] = (uint8_t)tw_copy_direction(name, len);
	}
}

struct running {
	int64_t bucket[TW_BUCKETS], direction[TW_COPY_DIRECTIONS];
};

static void add_time(struct tw_overlap *out, const struct running *now, int64_t ns)
{
	bool computes = now->bucket[TW_COMPUTE] > 0;
	bool communicates = now->bucket[TW_COMMUNICATION] > 0;
	int i;

	if (computes)
		out->compute_ns += ns;
	if (communicates)
		out->communication_ns += ns;
	if (communicates && !computes)
		out->exposed_communication_ns += ns;
	if (!now->bucket[TW_COPY])
		return;
	out->copy_ns += ns;
	if (computes || communicates)
		return;
	out->exposed_copy_ns += ns;
	for (i = 0; i < TW_COPY_DIRECTIONS; i++)
		if (now->direction[i])
			out->exposed_direction_ns[i] += ns;
}

static void count(struct running *now, const struct tw_gpu *gpu, const uint8_t *directions,
		  uint64_t g, int by)
{
	now->bucket[gpu->bucket[g]] += by;
	if (gpu->bucket[g] == TW_COPY)
		now->direction[directions[g]] += by;
}

static uint64_t end_key(const void *gpu, uint32_t g)
{
	return tw_sort_key(((const struct tw_gpu *)gpu)->end_ns[g]);
}

int tw_overlap_of(struct tw_overlap *out, const struct tw_derived *d, const uint8_t *directions,
		  const struct trawl_allocator *allocator)
{
	const struct tw_gpu *gpu = &d->gpu;
	uint32_t *by_end = tw_alloc_array(allocator, gpu->count + 1, sizeof(*by_end));
	struct running now = { { 0 }, { 0 } };
	uint64_t begun = 0, ended = 0, i;
	int64_t before = gpu->count ? gpu->start_ns[0] : 0;
	int status = -1;

	*out = (struct tw_overlap){ 0 };
	for (i = 0; by_end && i < gpu->count; i++)
		by_end[i] = (uint32_t)i;
	if (by_end && !tw_sort(by_end, gpu->count, end_key, gpu, allocator))
		status = 0;
	/* Starts before ends: an event without length begins before it ends. */
	while (!status && ended < gpu->count) {
		bool start = begun < gpu->count &&
			     gpu->start_ns[begun] <= gpu->end_ns[by_end[ended]];
		int64_t time = start ? gpu->start_ns[begun] : gpu->end_ns[by_end[ended]];

		add_time(out, &now, time - before);
		before = time;
		count(&now, gpu, directions, start ? begun++ : by_end[ended++], start ? 1 : -1);
	}
	tw_free(allocator, by_end, (gpu->count + 1) * sizeof(*by_end));
	return status;
}
