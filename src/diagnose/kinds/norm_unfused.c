/*
 * A norm made of pow, mean, rsqrt and mul.  Without: one pass over the tensor, at the rate of its fastest
 * operator over all of it.
 */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include <math.h>
#include <string.h>

static bool is_one_of(const char *op, const char *const *ops)
{
	for (; *ops; ops++)
		if (!strcmp(op, *ops))
			return true;
	return false;
}

static bool has(const struct tw_leaf *at, uint32_t count, const char *const *ops)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (is_one_of(at[i].op, ops))
			return true;
	return false;
}

/* A copy that changes the type belongs to a norm, one that changes the layout does not. */
static bool may_be_part(const struct tw_look *look, const struct tw_leaf *leaf,
			const char *const *parts)
{
	return is_one_of(leaf->op, parts) && leaf->shape && !leaf->taken &&
	       (strcmp(leaf->op, "copy") || tw_layout_op(look, leaf->node) == TW_NONE);
}

static uint32_t length_at(const struct tw_look *look, const struct tw_leaf *at, uint32_t count)
{
	static const char *const parts[] = { "pow", "mean", "add",  "rsqrt", "mul", "copy",
					     "sub", "div",  "sqrt", "var",   NULL };
	static const char *const first[] = { "pow", "mean", "copy", NULL };
	static const char *const mean[] = { "mean", NULL }, *const mul[] = { "mul", NULL };
	static const char *const root[] = { "rsqrt", "sqrt", "div", NULL };
	uint32_t n = 0;

	if (!count || !is_one_of(at[0].op, first))
		return 0;
	/* Another pow begins the next one. */
	while (n < count && n < TW_LIMIT_NORM_PARTS_MOST && may_be_part(look, &at[n], parts) &&
	       !(has(at, n, mul) && !strcmp(at[n].op, "pow")))
		n++;
	return has(at, n, mean) && has(at, n, root) && has(at, n, mul) ? n : 0;
}

/* One pass, read and written once. */
static double fused_ns(const struct tw_leaf *at, uint32_t count)
{
	double full = 0, rate = INFINITY;
	uint32_t i;

	for (i = 0; i < count; i++)
		full = fmax(full, at[i].shape->largest);
	for (i = 0; i < count; i++)
		if (at[i].shape->largest == full && full > 0)
			rate = fmin(rate, (double)at[i].gpu_ns /
						  (at[i].shape->sum + at[i].shape->largest));
	return 2 * full * rate;
}

static void look_at_norms(struct tw_look *look)
{
	uint32_t t, i, n;

	for (t = 0; t < look->part->rank.thread_count; t++) {
		const struct tw_leaves *l = &look->threads[t];

		for (i = 0; i < l->count && !look->failed; i += n ? n : 1) {
			double ns;

			n = length_at(look, &l->at[i], l->count - i);
			ns = n ? fused_ns(&l->at[i], n) : NAN;
			if (!isfinite(ns))
				continue;
			tw_claim_fusion(look, TW_KIND_norm_unfused, &l->at[i], n, ns);
			/* Input and gradient are read, a gradient written: three passes for two. */
			tw_claim_backward_fusion(look, TW_KIND_norm_unfused, &l->at[i], n,
						 1.5 * ns);
		}
	}
}

const struct tw_kind tw_kind_norm_unfused = { .look = look_at_norms };
