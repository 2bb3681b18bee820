/* GPU work under aten::contiguous or aten::clone.  Without: it is gone, and the operator's host time. */
#include "diagnose/kinds.h"

#include <string.h>

static void look_at_layouts(struct tw_look *look)
{
	uint32_t i, k, at, op;

	for (i = 0; i < look->leaf_count && !look->failed; i++) {
		struct tw_leaf *leaf = &look->leaves[i];

		for (at = leaf->node, op = TW_NONE; at != TW_NONE; at = look->d->host.parent[at])
			if (!strcmp(tw_look_name(look, at), "aten::contiguous") ||
			    !strcmp(tw_look_name(look, at), "aten::clone"))
				op = at;
		if (op == TW_NONE || leaf->taken)
			continue;
		for (k = 0; k < leaf->count; k++)
			tw_claim_remove(look, TW_KIND_layout_copies,
					look->leaf_gpu[leaf->first + k]);
		tw_claim_host(look, TW_KIND_layout_copies, tw_look_track(look, op),
			      tw_look_start(look, op), tw_look_end(look, op), 0);
		tw_claim_spot(look, TW_KIND_layout_copies, look->d->host.event[op], TW_NONE,
			      leaf->gpu_ns);
	}
}

const struct tw_kind tw_kind_layout_copies = { .look = look_at_layouts };
