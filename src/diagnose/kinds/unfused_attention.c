/*
 * Attention made of a product, pointwise operators and a softmax, and a product, in the order of
 * launches; its backward pass by the pairs of autograd.  Without: one fused kernel at the target, of
 * 4 b m n k operations and q, k, v and o read and written once, and 2.5 times that backward.
 */
#include "diagnose/kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KIND TW_KIND_unfused_attention
/* Source: FlashAttention-2 (Dao 2023): 5 products backward for 2 forward. */
#define BACKWARD_TIMES 2.5

static bool is_product(const struct tw_look *look, const struct tw_leaf *leaf, struct tw_gemm *gemm)
{
	return (!strcmp(leaf->op, "bmm") || !strcmp(leaf->op, "baddbmm") ||
		!strcmp(leaf->op, "matmul")) &&
	       tw_gemm_of(look, leaf, gemm);
}

static bool is_between(const struct tw_leaf *leaf)
{
	return tw_is_pointwise(leaf->op) || strstr(leaf->op, "softmax") ||
	       strstr(leaf->op, "dropout") || !strcmp(leaf->op, "copy") ||
	       !strcmp(leaf->op, "masked_fill");
}

/* How many leaves from here on are one attention, 0: none is. */
static uint32_t length_at(const struct tw_look *look, const struct tw_leaf *at, uint32_t count,
			  struct tw_gemm *first)
{
	struct tw_gemm second;
	bool softmax = false;
	uint32_t i;

	if (!is_product(look, at, first))
		return 0;
	for (i = 1; i < count && is_between(&at[i]); i++)
		softmax |= strstr(at[i].op, "softmax") != NULL;
	/* The matrix of scores, b x m x n, is what the second product takes. */
	return softmax && i < count && is_product(look, &at[i], &second) && second.b == first->b &&
			       second.m == first->m && second.k == first->n ?
		       i + 1 :
		       0;
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
static void fuse_backward(struct tw_look *look, struct nodes *nodes, double ns)
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
				tw_claim_remove(look, KIND, gpu[k]);
			else
				tw_claim_duration(look, KIND, gpu[k], ns);
		}
		if (!first)
			tw_claim_host(look, KIND, tw_look_track(look, node),
				      tw_look_start(look, node), tw_look_end(look, node), 0);
		first = false;
	}
}

static void look_at_thread(struct tw_look *look, const struct tw_leaves *leaves)
{
	uint32_t i = 0, k, n;

	while (i < leaves->count && !look->failed) {
		struct tw_gemm g;
		struct nodes backward = { .count = 0 };
		double bytes, ns;
		const char *spec = leaves->at[i].work ? leaves->at[i].work->spec : "";

		n = length_at(look, &leaves->at[i], leaves->count - i, &g);
		bytes = g.element_bytes * g.b * 2 * (g.m * g.k + g.n * g.k);
		ns = n ? tw_target_ns(look, 4 * g.b * g.m * g.n * g.k, bytes, spec) : NAN;
		if (isnan(ns)) {
			i++;
			continue;
		}
		for (k = 0; k < n; k++)
			add_backward(look, &leaves->at[i + k], &backward);
		tw_claim_fusion(look, KIND, &leaves->at[i], n, ns);
		fuse_backward(look, &backward, BACKWARD_TIMES * ns);
		i += n;
	}
}

static void look_at_attention(struct tw_look *look)
{
	uint32_t t;

	for (t = 0; t < look->part->rank.thread_count && look->platform; t++)
		look_at_thread(look, &look->threads[t]);
}

const struct tw_kind tw_kind_unfused_attention = { .look = look_at_attention };
