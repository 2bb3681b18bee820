/*
 * Pointwise operators that pass a tensor on: rope_unfused, a rotary embedding of neg, cat, mul, mul and
 * add; fusible_chain, consecutive ones of one caller of which each takes what the one before wrote.
 * Without: one kernel that reads its input once and writes its output once, at the rate of the chain.
 */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include <math.h>
#include <string.h>

/* Elements that a pointwise operator reads and writes. */
static double moved(const struct tw_leaf *leaf)
{
	return leaf->shape ? leaf->shape->sum + leaf->shape->largest : 0;
}

/* ---- rotary embeddings */

enum { ROPE = 5 };

static bool is_op(const struct tw_leaf *leaf, const char *op)
{
	return !strcmp(leaf->op, op);
}

static bool is_rope(const struct tw_leaf *at)
{
	if (is_op(&at[0], "neg") && is_op(&at[1], "cat")) {
		unsigned muls = is_op(&at[2], "mul") + is_op(&at[3], "mul") + is_op(&at[4], "mul");
		unsigned adds = is_op(&at[2], "add") + is_op(&at[3], "add") + is_op(&at[4], "add");

		return muls == 2 && adds == 1;
	}
	return is_op(&at[0], "mul") && is_op(&at[1], "neg") && is_op(&at[2], "cat") &&
	       is_op(&at[3], "mul") && is_op(&at[4], "add");
}

static bool is_taken(const struct tw_leaf *at, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count && !at[i].taken; i++)
		;
	return i < count;
}

static void look_at_rope(struct tw_look *look)
{
	uint32_t t, i;

	for (t = 0; t < look->part->rank.thread_count; t++) {
		const struct tw_leaves *l = &look->threads[t];

		for (i = 0; i + ROPE <= l->count && !look->failed; i++) {
			const struct tw_leaf *last = &l->at[i + ROPE - 1];
			double ns;

			if (!is_rope(&l->at[i]) || is_taken(&l->at[i], ROPE) || !(moved(last) > 0))
				continue;
			ns = 2 * last->shape->largest * (double)last->gpu_ns / moved(last);
			tw_claim_fusion(look, TW_KIND_rope_unfused, &l->at[i], ROPE, ns);
			/* Its gradient is turned back: as much again. */
			tw_claim_backward_fusion(look, TW_KIND_rope_unfused, &l->at[i], ROPE, ns);
		}
	}
}

/* ---- chains */

static bool is_same_tensor(const struct tw_shape *a, unsigned i, const struct tw_shape *b,
			   unsigned k)
{
	return a->type[i] == b->type[k] && a->dims[i].rank == b->dims[k].rank &&
	       !memcmp(a->dims[i].size, b->dims[k].size,
		       a->dims[i].rank * sizeof(a->dims[i].size[0]));
}

/* Whether it takes what the one before wrote: a tensor of that shape and type. */
static bool takes(const struct tw_leaf *leaf, const struct tw_leaf *before)
{
	const struct tw_shape *from = before->shape;
	unsigned i, k;

	for (k = 0; k < from->tensors; k++)
		for (i = 0; from->elements[k] == from->largest && i < leaf->shape->tensors; i++)
			if (is_same_tensor(leaf->shape, i, from, k))
				return true;
	return false;
}

static uint32_t values_of(const struct tw_look *look, const struct tw_leaf *leaf)
{
	struct trawl_argument arg;

	return trawl_event_argument(look->trace, look->d->host.event[leaf->node],
				    TW_KEY_concrete_inputs, &arg) &&
			       arg.kind == TRAWL_VALUE_JSON ?
		       arg.text :
		       0;
}

/*
 * The same operator of one tensor twice, with the same values: nobody scales or negates a tensor twice
 * in a row, so it is another tensor of that shape, as q and k are.
 */
static bool repeats(const struct tw_look *look, const struct tw_leaf *before,
		    const struct tw_leaf *leaf)
{
	return before->shape->tensors == 1 && leaf->shape == before->shape &&
	       !strcmp(leaf->op, before->op) && values_of(look, leaf) == values_of(look, before);
}

static bool goes_on(const struct tw_look *look, const struct tw_leaf *before,
		    const struct tw_leaf *leaf)
{
	return takes(leaf, before) && !repeats(look, before, leaf) &&
	       tw_look_start(look, leaf->node) - tw_look_end(look, before->node) <
		       TW_LIMIT_CHAIN_TOGETHER_US * 1000 &&
	       tw_caller_of(look, leaf) == tw_caller_of(look, before);
}

static bool may_chain(const struct tw_look *look, const struct tw_leaf *leaf)
{
	return leaf->pointwise && leaf->shape && leaf->shape->tensors && !leaf->taken &&
	       !tw_in_optimizer(look, leaf->node);
}

static void end_chain(struct tw_look *look, struct tw_leaf *first, uint32_t count)
{
	double ns = 0, elements = 0;
	uint32_t i;

	for (i = 0; i < count; i++) {
		ns += (double)first[i].gpu_ns;
		elements += moved(&first[i]);
	}
	if (count < 2 || ns <= TW_LIMIT_CHAIN_KERNEL_NS * (double)count || !(elements > 0))
		return;
	tw_claim_fusion(look, TW_KIND_fusible_chain, first, count,
			ns * 2 * first[count - 1].shape->largest / elements);
}

static void look_at_chains(struct tw_look *look)
{
	uint32_t t, i, begin;

	for (t = 0; t < look->part->rank.thread_count; t++) {
		const struct tw_leaves *l = &look->threads[t];

		for (i = begin = 0; i < l->count && !look->failed; i++) {
			if (!may_chain(look, &l->at[i])) {
				end_chain(look, &l->at[begin], i - begin);
				begin = i + 1;
			} else if (i > begin && !goes_on(look, &l->at[i - 1], &l->at[i])) {
				end_chain(look, &l->at[begin], i - begin);
				begin = i;
			}
		}
		if (begin < l->count && !look->failed)
			end_chain(look, &l->at[begin], l->count - begin);
	}
}

const struct tw_kind tw_kind_rope_unfused = { .look = look_at_rope };
const struct tw_kind tw_kind_fusible_chain = { .look = look_at_chains };
