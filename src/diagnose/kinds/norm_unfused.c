/*
 * A norm made of pow, mean, rsqrt and mul.  Without: one pass over the tensor, at the rate of its fastest
 * operator over all of it.
 */
#include "diagnose/kinds.h"

#include <math.h>
#include <string.h>

#define MOST_PARTS 8

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

static uint32_t length_at(const struct tw_leaf *at, uint32_t count)
{
	static const char *const parts[] = { "pow", "mean", "add",  "rsqrt", "mul", "copy",
					     "sub", "div",  "sqrt", "var",   NULL };
	static const char *const first[] = { "pow", "mean", "copy", NULL };
	static const char *const mean[] = { "mean", NULL }, *const mul[] = { "mul", NULL };
	static const char *const root[] = { "rsqrt", "sqrt", "div", NULL };
	uint32_t n = 0;

	while (n < count && n < MOST_PARTS && is_one_of(at[n].op, parts) && at[n].shape &&
	       !at[n].taken)
		n++;
	return n && is_one_of(at[0].op, first) && has(at, n, mean) && has(at, n, root) &&
			       has(at, n, mul) ?
		       n :
		       0;
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
			n = length_at(&l->at[i], l->count - i);
			if (n && isfinite(fused_ns(&l->at[i], n)))
				tw_claim_fusion(look, TW_KIND_norm_unfused, &l->at[i], n,
						fused_ns(&l->at[i], n));
		}
	}
}

const struct tw_kind tw_kind_norm_unfused = { .look = look_at_norms };
