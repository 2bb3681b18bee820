/*
 * Attention made of a product, pointwise operators and a softmax, and a product, in the order of
 * launches; its backward pass by the pairs of autograd.  Without: one fused kernel at the target, of
 * 4 b m n k operations and q, k, v and o read and written once, and 2.5 times that backward; it takes strides, so
 * copies that change the layout of its operands or of its output right beside are gone.
 */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KIND TW_KIND_unfused_attention

static bool is_product(const struct tw_look *look, const struct tw_leaf *leaf, struct tw_gemm *gemm)
{
	return (!strcmp(leaf->op, "bmm") || !strcmp(leaf->op, "baddbmm") ||
		!strcmp(leaf->op, "matmul")) &&
	       tw_gemm_of(look, leaf, gemm);
}

static bool is_between(const struct tw_leaf *leaf)
{
	return leaf->pointwise || strstr(leaf->op, "softmax") || strstr(leaf->op, "dropout") ||
	       !strcmp(leaf->op, "copy") || !strcmp(leaf->op, "masked_fill");
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

/* A copy that only changes the layout, of an operand or the output: b x m x k or b x n x k elements. */
static bool is_layout_copy(const struct tw_look *look, const struct tw_leaf *leaf,
			   const struct tw_gemm *g)
{
	return !leaf->taken && leaf->shape && tw_layout_op(look, leaf->node) != TW_NONE &&
	       (leaf->shape->largest == g->b * g->m * g->k ||
		leaf->shape->largest == g->b * g->n * g->k);
}

static void claim_copy(struct tw_look *look, struct tw_leaf *leaf)
{
	uint32_t op = tw_layout_op(look, leaf->node), k;

	leaf->taken = true;
	for (k = 0; k < leaf->count; k++)
		tw_claim_remove(look, KIND, look->leaf_gpu[leaf->first + k]);
	tw_claim_node(look, KIND, op);
}

/* Right before the leaves of an attention, `count` from `first` on, and right after. */
static void claim_copies(struct tw_look *look, const struct tw_leaves *leaves, uint32_t first,
			 uint32_t count, const struct tw_gemm *g)
{
	uint32_t i;

	for (i = first; i > 0 && is_layout_copy(look, &leaves->at[i - 1], g); i--)
		claim_copy(look, &leaves->at[i - 1]);
	for (i = first + count; i < leaves->count && is_layout_copy(look, &leaves->at[i], g); i++)
		claim_copy(look, &leaves->at[i]);
}

static void look_at_thread(struct tw_look *look, const struct tw_leaves *leaves)
{
	uint32_t i = 0, n;

	while (i < leaves->count && !look->failed) {
		struct tw_gemm g = { 0 };
		double backward_ns;
		double flops, bytes, ns;
		const char *spec = leaves->at[i].work ? leaves->at[i].work->spec : "";

		n = length_at(look, &leaves->at[i], leaves->count - i, &g);
		bytes = g.element_bytes * g.b * 2 * (g.m * g.k + g.n * g.k);
		flops = 4 * g.b * g.m * g.n * g.k;
		ns = n ? tw_attention_ns(look, flops, bytes, spec, false) : NAN;
		if (isnan(ns)) {
			i++;
			continue;
		}
		tw_claim_fusion(look, KIND, &leaves->at[i], n, ns);
		backward_ns = tw_attention_ns(look, TW_LIMIT_ATTENTION_BACKWARD_TIMES * flops,
					      2 * bytes, spec, true);
		tw_claim_backward_fusion(look, KIND, &leaves->at[i], n, backward_ns);
		claim_copies(look, leaves, i, n, &g);
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
