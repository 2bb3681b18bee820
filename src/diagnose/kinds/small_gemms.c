/* Four or more of one small product next to each other.  Without: one batched call at the target. */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include <math.h>

static bool is_small(const struct tw_look *look, const struct tw_leaf *leaf, struct tw_gemm *g)
{
	return !leaf->taken && leaf->gpu_ns <= TW_LIMIT_SMALL_GEMM_US * 1000 &&
	       tw_gemm_of(look, leaf, g);
}

static bool is_same(const struct tw_gemm *a, const struct tw_gemm *b)
{
	return a->b == b->b && a->m == b->m && a->n == b->n && a->k == b->k;
}

static void end_run(struct tw_look *look, struct tw_leaf *first, uint32_t count,
		    const struct tw_gemm *g)
{
	double b = g->b * count, ns;

	if (count < TW_LIMIT_SMALL_GEMMS_LEAST)
		return;
	ns = tw_target_ns(look, 2 * b * g->m * g->n * g->k,
			  g->element_bytes * b * (g->m * g->k + g->k * g->n + g->m * g->n),
			  first->work->spec);
	if (!isnan(ns))
		tw_claim_fusion(look, TW_KIND_small_gemms, first, count,
				fmax(TW_LIMIT_KERNEL_LEAST_NS, ns));
}

static void look_at_thread(struct tw_look *look, const struct tw_leaves *l)
{
	struct tw_gemm run = { 0 }, g = { 0 };
	uint32_t i, begin = 0, count = 0;

	for (i = 0; i < l->count && !look->failed; i++) {
		bool small = is_small(look, &l->at[i], &g);

		if (count &&
		    (!small || !is_same(&run, &g) ||
		     tw_look_start(look, l->at[i].node) - tw_look_end(look, l->at[i - 1].node) >
			     TW_LIMIT_SMALL_GEMMS_TOGETHER_US * 1000)) {
			end_run(look, &l->at[begin], count, &run);
			count = 0;
		}
		if (!small)
			continue;
		if (!count)
			begin = i;
		count++;
		run = g;
	}
	if (count)
		end_run(look, &l->at[begin], count, &run);
}

static void look_at_small(struct tw_look *look)
{
	uint32_t t;

	for (t = 0; t < look->part->rank.thread_count; t++)
		look_at_thread(look, &look->threads[t]);
}

const struct tw_kind tw_kind_small_gemms = { .look = look_at_small };
