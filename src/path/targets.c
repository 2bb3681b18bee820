/* How long GPU work would take at a share of the roofline: of operators whose work is modelled. */
#include "path/rank_build.h"

#include "analysis/ops/op_work.h"
#include "base/alloc.h"
#include "data/limits.h"
#include "model/roofline.h"

#include <math.h>

struct targets {
	struct tw_rank_build *b;
	const struct tw_modelled *m;
	const struct tw_platform *platform;
	int64_t shortest_ns; /* no kernel is shorter than that of the trace */
};

static int64_t duration_of(const struct tw_gpu *gpu, uint32_t g)
{
	return gpu->end_ns[g] - gpu->start_ns[g];
}

/* Time of a call's events, which are in order of start, each moment once. */
static int64_t busy_ns(const struct tw_gpu *gpu, const uint32_t *list, uint64_t count)
{
	int64_t sum = 0, until = INT64_MIN;
	uint64_t i;

	for (i = 0; i < count; i++) {
		int64_t start = gpu->start_ns[list[i]], end = gpu->end_ns[list[i]];

		if (end <= until)
			continue;
		sum += end - (start > until ? start : until);
		until = end;
	}
	return sum;
}

/* Each kernel of the call gets shorter by the same share. */
static void set_target(void *context, uint64_t node, uint32_t work, const char *category)
{
	const struct targets *t = context;
	const struct tw_gpu *gpu = &t->b->d->gpu;
	const struct tw_op_work *w = work == TW_NO_GROUP ? NULL : &t->m->works[work];
	struct tw_roofline roofline;
	uint64_t count, i;
	const uint32_t *list = tw_gpu_under(t->m, node, &count);
	int64_t busy = busy_ns(gpu, list, count);
	double share;

	(void)category;
	if (!w || w->reason || !busy)
		return;
	tw_roofline(&roofline, t->platform, w->flops, w->bytes, w->spec, busy);
	share = roofline.time_us * 1e3 / (double)busy / (TW_LIMIT_PATH_ROOFLINE_PERCENT / 100.0);
	for (i = 0; i < count && share > 0 && share < 1; i++) {
		double ns = fmax(share * (double)duration_of(gpu, list[i]), (double)t->shortest_ns);

		if (ns < (double)duration_of(gpu, list[i]))
			t->b->rank->target_ns[list[i]] = (uint32_t)fmin(ns + 0.5, UINT32_MAX);
	}
}

static int64_t shortest_ns(const struct tw_gpu *gpu)
{
	int64_t least = INT64_MAX;
	uint32_t g;

	for (g = 0; g < gpu->count; g++)
		if (gpu->bucket[g] == TW_COMPUTE && duration_of(gpu, g) > 0 &&
		    duration_of(gpu, g) < least)
			least = duration_of(gpu, g);
	return least;
}

void tw_path_targets(struct tw_rank_build *b, const struct tw_modelled *built,
		     const struct tw_platform *platform)
{
	struct tw_modelled own;
	struct targets t = { b, built, platform, shortest_ns(&b->d->gpu) };

	b->rank->target_ns = tw_alloc_array(b->allocator, (size_t)b->rank->gpu_count + 1,
					    sizeof(*b->rank->target_ns));
	b->failed |= !b->rank->target_ns;
	if (b->failed || !platform)
		return;
	if (!built) {
		b->failed |= tw_modelled_build(&own, b->d, b->scratch) != 0;
		t.m = &own;
	}
	b->failed |= b->failed || tw_op_work_visit(b->d, t.m, set_target, &t, b->scratch) != 0;
}
