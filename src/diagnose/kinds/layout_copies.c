/*
 * GPU work that only changes the layout: under aten::contiguous or aten::clone, and kernels of libraries
 * around convolutions.  Without: it is gone, and the operator's host time.
 */
#define _GNU_SOURCE
#include "diagnose/kinds.h"

#include <string.h>

#define KIND TW_KIND_layout_copies

/* The host's time of an operator is gone once, however many leaves it has: `last` is that before. */
static void claim_copy(struct tw_look *look, struct tw_leaf *leaf, uint32_t op, uint32_t last)
{
	uint32_t k;

	leaf->taken = true;
	for (k = 0; k < leaf->count; k++)
		tw_claim_remove(look, KIND, look->leaf_gpu[leaf->first + k]);
	if (op != last)
		tw_claim_host(look, KIND, tw_look_track(look, op), tw_look_start(look, op),
			      tw_look_end(look, op), 0);
	tw_claim_spot(look, KIND, look->d->host.event[op], TW_NONE, leaf->gpu_ns);
}

/* Kernels of cuDNN and MIOpen by their names. */
static bool changes_layout(const struct tw_look *look, uint32_t gpu)
{
	static const char *const parts[] = { "nchwToNhwc", "nhwcToNchw", "batched_transpose",
					     "transpose_NCHW2CNHW", "transpose_CNHW2NCHW" };
	uint32_t name = look->trace->events.name[look->d->gpu.event[gpu]];
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcasestr(look->trace->texts.entries[name].ptr, parts[i]))
			return true;
	return false;
}

static void claim_transposes(struct tw_look *look, struct tw_leaf *leaf)
{
	int64_t ns = 0;
	uint32_t k;

	for (k = 0; k < leaf->count; k++) {
		uint32_t gpu = look->leaf_gpu[leaf->first + k];

		if (!changes_layout(look, gpu))
			continue;
		tw_claim_remove(look, KIND, gpu);
		ns += tw_gpu_ns(look, gpu);
	}
	if (!ns)
		return;
	leaf->taken = true;
	tw_claim_spot(look, KIND, look->d->host.event[leaf->node], TW_NONE, ns);
}

static void look_at_layouts(struct tw_look *look)
{
	uint32_t i, op, last = TW_NONE;

	for (i = 0; i < look->leaf_count && !look->failed; i++) {
		struct tw_leaf *leaf = &look->leaves[i];

		if (leaf->taken)
			continue;
		op = tw_layout_op(look, leaf->node);
		if (op != TW_NONE)
			claim_copy(look, leaf, op, last);
		else if (strstr(leaf->op, "convolution"))
			claim_transposes(look, leaf);
		last = op != TW_NONE ? op : last;
	}
}

const struct tw_kind tw_kind_layout_copies = { .look = look_at_layouts };
