#include "analysis/launches/exposed.h"

#include "base/alloc.h"
#include "base/scope.h"
#include "base/sort.h"

#include <string.h>

/* A sweep over starts and ends: running events of each owner. */
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

/* Events of no length hide nothing and are skipped: their end would come before their start. */
static int sweep(struct sweep *s, const struct trawl_allocator *a)
{
	const struct tw_gpu *gpu = &s->d->gpu;
	uint64_t next_end = 0, ends = 0;
	uint32_t g;

	s->by_end = tw_alloc_array(a, gpu->count + 1, sizeof(*s->by_end));
	s->running = tw_alloc_array(a, (size_t)s->owners + 1, sizeof(*s->running));
	if (!s->by_end || !s->running)
		return -1;
	for (g = 0; g < gpu->count; g++)
		if (gpu->end_ns[g] > gpu->start_ns[g])
			s->by_end[ends++] = g;
	if (tw_sort(s->by_end, ends, end_key, s, a))
		return -1;
	for (g = 0; g < gpu->count; g++) {
		if (gpu->end_ns[g] <= gpu->start_ns[g])
			continue;
		while (next_end < ends && gpu->end_ns[s->by_end[next_end]] <= gpu->start_ns[g])
			end(s, s->by_end[next_end++]);
		begin(s, g);
	}
	while (next_end < ends)
		end(s, s->by_end[next_end++]);
	return 0;
}

int tw_exposed_times(const struct tw_derived *derived, const uint32_t *owner, uint32_t owners,
		     int64_t *exposed_ns)
{
	struct sweep s = { .d = derived,
			   .owner = owner,
			   .owners = owners,
			   .exposed_ns = exposed_ns };
	struct tw_scope scope;
	int status;

	memset(exposed_ns, 0, owners * sizeof(*exposed_ns));
	tw_scope_begin(&scope, derived->allocator);
	status = sweep(&s, &scope.allocator);
	tw_scope_end(&scope);
	return status;
}
