/*
 * Cross entropy of rows of V logits, whose loss is log(sum(exp(x - max))) - (x_target - max):
 *
 *	FLOPs = 5 rows V	maximum, difference, exponential, sum, and the gradient's scale
 *	bytes = logits + targets (8 each) + losses (4 each)
 *
 * Sources: the definition; operands as in Transformer Engine's CrossEntropyFunction(logits,
 * targets, ...); TraceLens 0.1.
 *
 * Example: bf16 logits (2, 8, 100): 16 rows, 8000 FLOPs, 3200 + 128 + 64 = 3392 bytes.
 */
#include "model/model.h"

static int cross_entropy(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *logits = tw_operand(call, 0), *target = tw_operand(call, 1);
	double n = tw_elements(&logits->dims), classes, rows;

	if (logits->dims.rank < 2)
		return tw_work_fail(work, "first operand is not rows of logits");
	classes = tw_size(logits, -1);
	rows = classes > 0 ? n / classes : 0;
	if (tw_is_tensor(target) && tw_elements(&target->dims) != rows)
		return tw_work_fail(work, "targets do not match the logits");
	TW_PARAM_INTEGERS(work, { "B", rows }, { "V", classes });
	return tw_work_set(work, 5 * n,
			   tw_bytes(logits) +
				   rows * (target->dtype ? tw_element_bytes(target) : 8) + rows * 4,
			   logits);
}

const struct tw_model tw_family_loss[] = {
	TW_MODEL(cross_entropy, "CrossEntropy", VECTOR, .forward = cross_entropy),
	{ .name = NULL },
};
