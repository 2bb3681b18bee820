/*
 * Choosing of tokens: T rows of V logits, divided by a temperature for each row and by noise from
 * an exponential distribution; the largest is chosen.
 *
 *	FLOPs = 2 T V		bytes = logits + noise + T tokens of 4
 *
 * Sources: the definition (the Gumbel-max trick); operands as in aiter's
 * mixed_sample_outer_exponential(out, logits, noise, temperature, eps); TraceLens 0.1.
 *
 * Example: 4 rows of 100 in bf16, noise in float: 800 FLOPs, 800 + 1600 + 16 = 2416 bytes.
 */
#include "model/model.h"

static int outer_exponential(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *logits = tw_operand(call, 1), *noise = tw_operand(call, 2);
	double n;

	if (logits->dims.rank != 2 || !noise->dims.rank)
		return tw_work_fail(work, "its operands are no logits and noise");
	n = tw_elements(&logits->dims);
	work->flops = 2 * n;
	work->bytes = tw_bytes(logits) + tw_bytes(noise) + 4 * (double)logits->dims.size[0];
	work->precision = tw_precision(logits);
	tw_param_integer(work, "T", (double)logits->dims.size[0]);
	tw_param_integer(work, "V", (double)logits->dims.size[1]);
	return 0;
}

const struct tw_model tw_model_mixed_sample_outer_exponential = {
	.name = "mixed_sample_outer_exponential",
	.sheet = "elementwise",
	.unit = TW_UNIT_VECTOR,
	.forward = outer_exponential,
};
