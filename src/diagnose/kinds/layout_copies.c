/*
 * GPU work that only changes the layout: under aten::contiguous or aten::clone, and kernels of libraries
 * around convolutions.  Without: it is gone, and the operator's host time.
 */
#define _GNU_SOURCE
#include "diagnose/kinds.h"

#include "base/alloc.h"
#include "data/tables.h"

#include <string.h>

#define KIND TW_KIND_layout_copies

/* The host's time of an operator is gone once, however many leaves it has: `last` is that before. */
static void claim_copy(struct tw_look *look, struct tw_leaf *leaf, uint32_t op, uint32_t last)
{
	uint32_t k;

	leaf->taken = true;
	look->claims->of[KIND].gpu_ns += leaf->gpu_ns;
	for (k = 0; k < leaf->count; k++)
		tw_claim_remove(look, KIND, look->leaf_gpu[leaf->first + k]);
	if (op != last)
		tw_claim_node(look, KIND, op);
	tw_claim_spot(look, KIND, look->d->host.event[op], TW_NONE, leaf->gpu_ns);
}

enum { ASKED = 1, CHANGES = 2 };

/* Kernels of cuDNN and MIOpen by their names, each of which is asked once: `known` is by text id. */
static bool changes_layout(const struct tw_look *look, uint8_t *known, uint32_t gpu)
{
	static const char *const parts[] = { "nchwToNhwc", "nhwcToNchw", "batched_transpose",
					     "transpose_NCHW2CNHW", "transpose_CNHW2NCHW" };
	uint32_t name = look->trace->events.name[look->d->gpu.event[gpu]];
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]) && !(known[name] & ASKED); i++)
		if (strcasestr(look->trace->texts.entries[name].ptr, parts[i]))
			known[name] |= CHANGES;
	known[name] |= ASKED;
	return known[name] & CHANGES;
}

static void claim_transposes(struct tw_look *look, uint8_t *known, struct tw_leaf *leaf)
{
	int64_t ns = 0;
	uint32_t k;

	for (k = 0; k < leaf->count; k++) {
		uint32_t gpu = look->leaf_gpu[leaf->first + k];

		if (!changes_layout(look, known, gpu))
			continue;
		tw_claim_remove(look, KIND, gpu);
		ns += tw_gpu_ns(look, gpu);
	}
	if (!ns)
		return;
	look->claims->of[KIND].figure += (double)ns;
	leaf->taken = true;
	tw_claim_spot(look, KIND, look->d->host.event[leaf->node], TW_NONE, ns);
}

static void look_at_layouts(struct tw_look *look)
{
	uint8_t *known = tw_alloc_array(look->scratch, (size_t)look->trace->texts.count + 1, 1);
	uint32_t i, op, last = TW_NONE;

	look->failed |= !known;
	for (i = 0; i < look->leaf_count && !look->failed; i++) {
		struct tw_leaf *leaf = &look->leaves[i];

		if (leaf->taken)
			continue;
		op = tw_layout_op(look, leaf->node);
		if (op != TW_NONE)
			claim_copy(look, leaf, op, last);
		else if (strstr(leaf->op, "convolution"))
			claim_transposes(look, known, leaf);
		last = op != TW_NONE ? op : last;
	}
}

/* Words for what most of them are: of convolutions, or of other operators. */
static bool remove_copies(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f)
{
	double convolution = 0, other = 0;
	uint32_t i;

	(void)s;
	for (i = 0; i < d->rank_count; i++) {
		convolution += d->claims[i].of[KIND].figure;
		other += (double)d->claims[i].of[KIND].gpu_ns;
	}
	if (convolution > other)
		f->words = &tw_words_layout_copies_convolution;
	return tw_apply_claims(d, f);
}

const struct tw_kind tw_kind_layout_copies = { .look = look_at_layouts, .change = remove_copies };
