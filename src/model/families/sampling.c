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
	double tokens = tw_size(logits, 0);

	if (logits->dims.rank != 2 || !tw_is_tensor(noise))
		return tw_work_fail(work, "operands are not logits and noise");
	TW_PARAM_INTEGERS(work, { "T", tokens }, { "V", tw_size(logits, 1) });
	return tw_work_set(work, 2 * tw_elements(&logits->dims),
			   tw_bytes(logits) + tw_bytes(noise) + 4 * tokens, logits);
}

const struct tw_model tw_family_sampling[] = {
	TW_MODEL(mixed_sample_outer_exponential, "elementwise", VECTOR,
		 .forward = outer_exponential),
	{ .name = NULL },
};
