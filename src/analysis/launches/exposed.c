#include "analysis/launches/exposed.h"

#include "base/alloc.h"
#include "base/sort.h"

#include <string.h>

/* A sweep over starts and ends: how many events of each owner run. */
struct sweep {
	const struct tw_derived *d;
	const uint32_t *owner;
	uint32_t owners;   /* the last of `running` is nobody's */
	uint32_t *by_end;  /* GPU events */
	uint32_t *running; /* by owner */
	uint64_t distinct; /* owners with events running, and the sum of their numbers: */
	uint64_t sum;	   /* of one that is alone its number */
	int64_t at_ns;
	int64_t *exposed_ns;
};

static uint64_t end_key(const void *context, uint32_t g)
{
	const struct sweep *s = context;

	return tw_sort_key(s->d->gpu.end_ns[g]);
}

static void advance(struct sweep *s, int64_t to_ns)
{
	if (s->distinct == 1 && s->sum < s->owners)
		s->exposed_ns[s->sum] += to_ns - s->at_ns;
	s->at_ns = to_ns;
}

static uint32_t owner_of(const struct sweep *s, uint32_t g)
{
	return s->owner[g] < s->owners ? s->owner[g] : s->owners;
}

static void begin(struct sweep *s, uint32_t g)
{
	uint32_t owner = owner_of(s, g);

	advance(s, s->d->gpu.start_ns[g]);
	if (!s->running[owner]++) {
		s->distinct++;
		s->sum += owner;
	}
}

static void end(struct sweep *s, uint32_t g)
{
	uint32_t owner = owner_of(s, g);

	advance(s, s->d->gpu.end_ns[g]);
	if (!--s->running[owner]) {
		s->distinct--;
		s->sum -= owner;
	}
}

/* Events of no length hide nothing and are left out: their end would come before their start. */
static void run(struct sweep *s, uint64_t ends)
{
	const struct tw_gpu *gpu = &s->d->gpu;
	uint64_t next_end = 0;
	uint32_t g;

	for (g = 0; g < gpu->count; g++) {
		if (gpu->end_ns[g] <= gpu->start_ns[g])
			continue;
		while (next_end < ends && gpu->end_ns[s->by_end[next_end]] <= gpu->start_ns[g])
			end(s, s->by_end[next_end++]);
		begin(s, g);
	}
	while (next_end < ends)
		end(s, s->by_end[next_end++]);
}

int tw_exposed_times(const struct tw_derived *derived, const uint32_t *owner, uint32_t owners,
		     int64_t *exposed_ns)
{
	const struct trawl_allocator *a = derived->allocator;
	const struct tw_gpu *gpu = &derived->gpu;
	struct sweep s = { .d = derived, .owner = owner, .owners = owners };
	uint64_t ends = 0;
	int status = -1;
	uint32_t g;

	memset(exposed_ns, 0, owners * sizeof(*exposed_ns));
	s.exposed_ns = exposed_ns;
	s.by_end = tw_alloc_array(a, gpu->count + 1, sizeof(*s.by_end));
	s.running = tw_alloc_array(a, (size_t)owners + 1, sizeof(*s.running));
	if (s.by_end && s.running) {
		for (g = 0; g < gpu->count; g++)
			if (gpu->end_ns[g] > gpu->start_ns[g])
				s.by_end[ends++] = g;
		status = tw_sort(s.by_end, ends, end_key, &s, a);
	}
	if (!status)
		run(&s, ends);
	tw_free(a, s.by_end, (gpu->count + 1) * sizeof(*s.by_end));
	tw_free(a, s.running, ((size_t)owners + 1) * sizeof(*s.running));
	return status;
}
