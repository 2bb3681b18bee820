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
	unsigned rank = logits->dims.rank;
	double n, classes, rows;

	if (rank < 2)
		return tw_work_fail(work, "its first operand are no rows of logits");
	n = tw_elements(&logits->dims);
	classes = (double)logits->dims.size[rank - 1];
	rows = classes > 0 ? n / classes : 0;
	if (target->dims.rank && tw_elements(&target->dims) != rows)
		return tw_work_fail(work, "its targets do not fit its logits");
	work->flops = 5 * n;
	work->bytes =
		tw_bytes(logits) + rows * (target->dtype ? tw_element_bytes(target) : 8) + rows * 4;
	work->precision = tw_precision(logits);
	tw_param_integer(work, "B", rows);
	tw_param_integer(work, "V", classes);
	return 0;
}

const struct tw_model tw_model_cross_entropy = {
	.name = "cross_entropy",
	.sheet = "CrossEntropy",
	.unit = TW_UNIT_VECTOR,
	.forward = cross_entropy,
};
