/*
 * The optimizer launches small kernels for each parameter: more than 49 under one step, their median
 * below 20 us.  Without: one kernel that passes 7 times over the parameters' bytes (parameters,
 * gradients and two states read, parameters and states written), and little host time.
 */
#include "diagnose/kinds.h"

#include "base/median.h"
#include "base/alloc.h"
#include "data/limits.h"

#include <math.h>
#include <string.h>

#define KIND TW_KIND_optimizer_unfused

struct step {
	struct tw_look *look;
	TW_LIST(uint32_t) gpu;
};

static void take(void *context, uint32_t gpu)
{
	struct step *s = context;

	if (s->look->d->gpu.bucket[gpu] == TW_COMPUTE &&
	    !TW_LIST_ADD(&s->gpu, &gpu, s->look->scratch))
		s->look->failed = true;
}

static int64_t median_ns(struct step *s)
{
	int64_t *ns = tw_alloc_array(s->look->scratch, s->gpu.count + 1, sizeof(*ns)), median;
	size_t i;

	s->look->failed |= !ns;
	if (!ns)
		return INT64_MAX;
	for (i = 0; i < s->gpu.count; i++)
		ns[i] = tw_gpu_ns(s->look, s->gpu.at[i]);
	median = tw_middle_of(ns, s->gpu.count).upper;
	tw_free(s->look->scratch, ns, (s->gpu.count + 1) * sizeof(*ns));
	return median;
}

/*
 * Bytes of the parameters: each operator of the update works once on each of them, some on other
 * tensors too; the operator with the fewest bytes tells.
 */
static double parameter_bytes(const struct step *s, const struct tw_range *r)
{
	static const char *const updates[] = { "addcdiv", "addcmul", "lerp", "sqrt" };
	const struct tw_look *look = s->look;
	double bytes[sizeof(updates) / sizeof(updates[0])] = { 0 }, all = 0, least = INFINITY;
	uint32_t last = TW_NONE;
	size_t i, k;

	for (i = 0; i < s->gpu.count; i++) {
		uint32_t number = look->leaf_of[s->gpu.at[i]];
		const struct tw_leaf *leaf = &look->leaves[number];
		double of;

		if (number == last || number == TW_NONE || !leaf->shape)
			continue;
		last = number;
		of = leaf->shape->largest * leaf->shape->element_bytes;
		all += isnan(of) ? 0 : of;
		for (k = 0; k < sizeof(updates) / sizeof(updates[0]); k++)
			if (!strcmp(leaf->op, updates[k]))
				bytes[k] += isnan(of) ? 0 : of;
	}
	(void)r;
	for (k = 0; k < sizeof(updates) / sizeof(updates[0]); k++)
		least = bytes[k] > 0 && bytes[k] < least ? bytes[k] : least;
	return isinf(least) ? all : least;
}

static void look_at_step(struct tw_look *look, const struct tw_range *r)
{
	struct step s = { .look = look };
	double ns;
	size_t i;
	int64_t gpu_ns = 0;

	tw_launched_in(look, r->track, r->start_ns, r->end_ns, take, &s);
	if (s.gpu.count < TW_LIMIT_OPTIMIZER_KERNELS_LEAST ||
	    median_ns(&s) >= TW_LIMIT_OPTIMIZER_KERNEL_US * 1000 || !look->platform)
		return;
	ns = TW_LIMIT_OPTIMIZER_PASSES * parameter_bytes(&s, r) /
	     (look->platform->mem_bw_gbps * TW_LIMIT_TARGET_MEMORY_PERCENT / 100.0);
	for (i = 0; i < s.gpu.count; i++) {
		gpu_ns += tw_gpu_ns(look, s.gpu.at[i]);
		if (i)
			tw_claim_remove(look, KIND, s.gpu.at[i]);
		if (look->leaf_of[s.gpu.at[i]] != TW_NONE)
			look->leaves[look->leaf_of[s.gpu.at[i]]].taken = true;
	}
	tw_claim_duration(look, KIND, s.gpu.at[0], fmax(TW_LIMIT_KERNEL_LEAST_NS, ns));
	tw_claim_host(look, KIND, r->track, r->start_ns, r->end_ns,
		      TW_LIMIT_OPTIMIZER_HOST_US * 1000);
	tw_claim_spot(look, KIND, r->event, TW_NONE, gpu_ns);
	TW_LIST_FREE(&s.gpu, look->scratch);
}

static void look_at_optimizer(struct tw_look *look)
{
	struct tw_ranges ranges = { 0 };
	size_t i;

	tw_ranges_of_kind(look, TW_HOST_OPTIMIZER_STEP, &ranges);
	look->trains |= ranges.list.count > 0;
	for (i = 0; i < ranges.list.count && !look->failed; i++)
		look_at_step(look, &ranges.list.at[i]);
}

const struct tw_kind tw_kind_optimizer_unfused = { .look = look_at_optimizer };
