/*
 * Activations are computed again in the backward pass: what is launched below a checkpoint's backward
 * function before its first own node of the backward graph.  Without: those kernels and that
 * host time are gone.
 */
#include "diagnose/kinds.h"

#include "base/search.h"

#include <string.h>

#define KIND TW_KIND_activation_recompute

struct removing {
	struct tw_look *look;
	int64_t ns;
};

static void remove_gpu(void *context, uint32_t gpu)
{
	struct removing *r = context;

	tw_claim_remove(r->look, KIND, gpu);
	r->ns += tw_gpu_ns(r->look, gpu);
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

	tw_ranges_of_kind(look, TW_HOST_RECOMPUTATION, &ranges);
	for (i = 0; i < ranges.list.count && !look->failed; i++) {
		const struct tw_range *r = &ranges.list.at[i];
		struct removing removing = { look, 0 };
		int64_t stop = first_backward(look, r);

		tw_launched_in(look, r->track, r->start_ns, stop, remove_gpu, &removing);
		if (!removing.ns)
			continue;
		tw_claim_host(look, KIND, r->track, r->start_ns, stop, 0);
		tw_claim_spot(look, KIND, r->event, r->inner, removing.ns);
	}
}

const struct tw_kind tw_kind_activation_recompute = { .look = look_at_recomputation };
