/*
 * Activations are computed again in the backward pass: work of the pass "recompute" (analysis/who/attributions.h), as
 * the table `recompute` has it.  Without: that work is gone, and the host's time below a checkpoint's backward
 * function before its first own node of the backward graph.
 */
#include "diagnose/kinds.h"

#include "base/search.h"

#include <string.h>

#define KIND TW_KIND_activation_recompute

struct removing {
	struct tw_look *look;
	int64_t ns;
};

static bool runs_again(const struct tw_look *look, uint32_t gpu)
{
	const struct tw_claims *c = look->claims;

	return c->whose.at[c->whose_of[gpu]].pass == TW_PASS_RECOMPUTE;
}

static void add_gpu(void *context, uint32_t gpu)
{
	struct removing *r = context;

	if (runs_again(r->look, gpu))
		r->ns += tw_gpu_ns(r->look, gpu);
}

static void remove_gpu(struct tw_look *look)
{
	const struct tw_path_rank *r = &look->part->rank;
	uint32_t i;

	for (i = 0; i < r->launched_count; i++) {
		uint32_t g = r->launched[i];

		if (!runs_again(look, g))
			continue;
		tw_claim_remove(look, KIND, g);
		if (tw_is_gpu_viewed(look, g))
			look->claims->of[KIND].gpu_ns += tw_gpu_ns(look, g);
	}
}

/* The start of the first node of the backward graph inside a range, else the range's end. */
static int64_t first_backward(const struct tw_look *look, const struct tw_range *r)
{
	static const char engine[] = "autograd::engine::evaluate_function";
	uint32_t end = look->first_node[r->track + 1];
	uint32_t i = (uint32_t)TW_LOWER_BOUND(at, look->first_node[r->track], end,
					      tw_look_start(look, (uint32_t)at) <= r->start_ns);

	for (; i < end && tw_look_start(look, i) <= r->end_ns; i++)
		if (!strncmp(tw_look_name(look, i), engine, sizeof(engine) - 1))
			return tw_look_start(look, i);
	return r->end_ns;
}

static void look_at_recomputation(struct tw_look *look)
{
	struct tw_ranges ranges = { 0 };
	size_t i;

	remove_gpu(look);
	tw_ranges_of_kind(look, TW_HOST_RECOMPUTATION, &ranges);
	for (i = 0; i < ranges.list.count && !look->failed; i++) {
		const struct tw_range *r = &ranges.list.at[i];
		struct removing removing = { look, 0 };
		int64_t stop = first_backward(look, r);

		tw_launched_in(look, r->track, r->start_ns, stop, add_gpu, &removing);
		if (!removing.ns)
			continue;
		tw_claim_host(look, KIND, r->track, r->start_ns, stop, 0);
		tw_claim_spot(look, KIND, r->event, r->inner, removing.ns);
	}
}

static bool set_kept(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f)
{
	int64_t ns = 0;
	uint32_t i;

	(void)s;
	for (i = 0; i < d->rank_count; i++)
		ns += d->claims[i].of[KIND].gpu_ns;
	if (!tw_apply_claims(d, f))
		return false;
	tw_add_evidence(f, "; %.3f ms of GPU time run again", (double)ns / 1e6);
	return true;
}

const struct tw_kind tw_kind_activation_recompute = { .look = look_at_recomputation,
						      .change = set_kept };
