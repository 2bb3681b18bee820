#include "analysis/launches/overlap.h"

#include "base/alloc.h"
#include "base/sort.h"

#include <stdio.h>
#include <string.h>

/* Text of an argument, "" when it is none. */
static const char *arg_text(const struct trawl_trace *trace, uint64_t event, uint32_t key)
{
	struct trawl_argument arg;

	return trawl_event_argument(trace, event, key, &arg) && arg.kind == TRAWL_VALUE_TEXT ?
		       tw_pool_text(&trace->texts, arg.text, NULL) :
		       "";
}

enum tw_copy_direction tw_copy_direction_of(const struct tw_derived *d, uint64_t g)
{
	const struct trawl_trace *trace = d->trace;
	uint64_t event = d->gpu.event[g];
	enum tw_copy_direction direction;
	char composed[128];
	const char *name, *kind;
	size_t len;

	name = tw_pool_text(&trace->texts, trace->events.name[event], &len);
	direction = tw_copy_direction(name, len);
	if (direction != TW_COPY_OTHER)
		return direction;
	kind = arg_text(trace, event, TW_KEY_copy_kind);
	if (!*kind)
		kind = arg_text(trace, event, TW_KEY_kind);
	snprintf(composed, sizeof(composed), "Memcpy %.30s (%.30s -> %.30s)", kind,
		 arg_text(trace, event, TW_KEY_source_kind),
		 arg_text(trace, event, TW_KEY_destination_kind));
	return tw_copy_direction(composed, strlen(composed));
}

void tw_copy_directions(const struct tw_derived *d, uint8_t *directions)
{
	uint64_t g;

	for (g = 0; g < d->gpu.count; g++)
		directions[g] = d->gpu.bucket[g] == TW_COPY ? (uint8_t)tw_copy_direction_of(d, g) :
							      TW_COPY_OTHER;
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
	int status;

	*out = (struct tw_overlap){ 0 };
	if (!by_end)
		return -1;
	for (i = 0; i < gpu->count; i++)
		by_end[i] = (uint32_t)i;
	status = tw_sort(by_end, gpu->count, end_key, gpu, allocator);
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
