/* Several operators as one kernel, forward and backward. */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include <stdlib.h>

void tw_claim_fusion(struct tw_look *look, enum tw_finding_kind kind, struct tw_leaf *first,
		     uint32_t count, double ns)
{
	int64_t gpu_ns = 0;
	uint32_t i, k;

	for (i = 0; i < count; i++) {
		first[i].taken = true;
		gpu_ns += first[i].gpu_ns;
		for (k = 0; k < first[i].count; k++) {
			uint32_t gpu = look->leaf_gpu[first[i].first + k];

			if (i || k)
				tw_claim_remove(look, kind, gpu);
			else
				tw_claim_duration(look, kind, gpu, ns);
		}
	}
	for (i = 1; i < count; i++) {
		int64_t before = tw_look_end(look, first[i - 1].node);
		int64_t start = tw_look_start(look, first[i].node);

		if (!tw_is_recorded(look, first[i].node))
			continue;
		tw_claim_host(look, kind, tw_look_track(look, first[i].node),
			      start - before < TW_LIMIT_FUSED_TOGETHER_US * 1000 ? before : start,
			      tw_look_end(look, first[i].node), 0);
	}
	tw_claim_chain_spot(look, kind, first, count, gpu_ns - tw_whole_ns(ns));
}

/* Nodes of the backward graph for the operators of a part, each once. */
struct nodes {
	uint32_t at[64], count;
};

static void add_backward(const struct tw_look *look, const struct tw_leaf *leaf, struct nodes *out)
{
	const struct tw_modelled *m = look->modelled;
	uint32_t node = leaf->node, i;
	uint64_t first = 0, end = 0;

	/* The nearest operation around it with a pair: views and products may nest. */
	for (; node != TW_NONE && first == end; node = look->d->host.parent[node])
		tw_pairs_under(m, node, &first, &end);
	for (; first < end; first++) {
		uint32_t back = look->d->autograd.pairs[m->by_forward[first]].backward;

		for (i = 0; i < out->count && out->at[i] != back; i++)
			;
		if (i == out->count && i < 64)
			out->at[out->count++] = back;
	}
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The kernels of the backward nodes become one; the host calls only the first. */
static void fuse_backward(struct tw_look *look, enum tw_finding_kind kind, struct nodes *nodes,
			  double ns)
{
	bool first = true;
	uint32_t i;

	qsort(nodes->at, nodes->count, sizeof(nodes->at[0]), by_number);
	for (i = 0; i < nodes->count; i++) {
		uint32_t node = nodes->at[i];
		uint64_t n, k;
		const uint32_t *gpu = tw_gpu_under(look->modelled, node, &n);

		if (!n)
			continue;
		for (k = 0; k < n; k++) {
			if (look->leaf_of[gpu[k]] != TW_NONE)
				look->leaves[look->leaf_of[gpu[k]]].taken = true;
			if (!first || k)
				tw_claim_remove(look, kind, gpu[k]);
			else
				tw_claim_duration(look, kind, gpu[k], ns);
		}
		if (!first)
			tw_claim_node(look, kind, node);
		first = false;
	}
}

void tw_claim_backward_fusion(struct tw_look *look, enum tw_finding_kind kind,
			      const struct tw_leaf *first, uint32_t count, double ns)
{
	struct nodes nodes = { .count = 0 };
	uint32_t i;

	for (i = 0; i < count; i++)
		add_backward(look, &first[i], &nodes);
	fuse_backward(look, kind, &nodes, ns);
}
