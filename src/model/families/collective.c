/*
 * Collectives as kernels of inference libraries, on one rank; n elements of b bytes.
 *
 *	all-reduce		bytes = 2 n b: read and written once
 *	reduce-scatter, all-gather
 *				bytes = n_in b + n_out b
 *	all-reduce, residual added, RMS norm over rows of C
 *				FLOPs = n + (n / C) (2 C + 2) + 2 n
 *				bytes = 4 n b + C b: input, residual, their sum, result; weight
 *
 * What goes over links between GPUs is not known here, nor is a peak for it: there is no compute
 * spec, and FLOPs of the sums over ranks are not counted.  Source: TraceLens 0.1; operands as in
 * the signatures of vLLM's, SGLang's and aiter's custom all-reduce: a handle may be the first.
 *
 * Example: all_reduce of bf16 (4, 8): 0 FLOPs, 128 bytes; with residual and norm:
 * 32 + 4 x 18 + 64 = 168 FLOPs, 4 x 64 + 16 = 272 bytes.
 */
#include "model/model.h"

/* The first tensor at `from` or after, and the position after it; NULL: there is none. */
static const struct tw_operand *next_tensor(const struct tw_call *call, unsigned *from)
{
	while (*from < call->count)
		if (tw_has_tensor(call, (*from)++))
			return tw_operand(call, *from - 1);
	return NULL;
}

/* `out`: NULL where it is no argument. */
static int count_collective(const struct tw_operand *in, const struct tw_operand *out, double flops,
			    double bytes, struct tw_work *work)
{
	tw_param_dims(work, "shape_in", &in->dims);
	if (out)
		tw_param_dims(work, "shape_out", &out->dims);
	else
		tw_param_none(work, "shape_out");
	TW_PARAM_TYPES(work, "dtype_in_out", in, out);
	return tw_work_set(work, flops, bytes, in);
}

/* (handle, input, output, ...) */
static int all_reduce(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *in = tw_first_tensor(call);

	if (!in)
		return tw_work_fail(work, "no tensor");
	return count_collective(in, NULL, 0, 2 * tw_bytes(in), work);
}

/* An input and an output, in either order: the larger is what is gathered, or scattered. */
static int of_two(const struct tw_call *call, bool gather, struct tw_work *work)
{
	unsigned from = 0;
	const struct tw_operand *a = next_tensor(call, &from), *b = next_tensor(call, &from);
	bool swap;

	if (!a || !b)
		return tw_work_fail(work, "no input and output");
	swap = gather ? tw_elements(&a->dims) > tw_elements(&b->dims) :
			tw_elements(&a->dims) < tw_elements(&b->dims);
	return count_collective(swap ? b : a, swap ? a : b, 0, tw_bytes(a) + tw_bytes(b), work);
}

static int all_gather(const struct tw_call *call, struct tw_work *work)
{
	return of_two(call, true, work);
}

static int reduce_scatter(const struct tw_call *call, struct tw_work *work)
{
	return of_two(call, false, work);
}

/* (handle, input, residual, ..., weight, eps, ...): the weight is as long as a row. */
static int allreduce_rms_norm(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *in = tw_first_tensor(call);
	double n, c, rows;

	if (!in)
		return tw_work_fail(work, "no tensor");
	n = tw_elements(&in->dims);
	c = tw_size(in, -1);
	rows = c > 0 ? n / c : 0;
	count_collective(in, NULL, n + rows * (2 * c + 2) + 2 * n,
			 (n * (3 + tw_distinct_share(in)) + c) * tw_element_bytes(in), work);
	tw_param_integer(work, "num_channels", c);
	return 0;
}

#define COLLECTIVE(id, function) TW_MODEL(id, "CustomCollective", NONE, .forward = function)

const struct tw_model tw_family_collective[] = {
	COLLECTIVE(custom_all_reduce, all_reduce),
	COLLECTIVE(custom_reduce_scatter, reduce_scatter),
	COLLECTIVE(custom_all_gather, all_gather),
	COLLECTIVE(allreduce_rms_norm, allreduce_rms_norm),
	{ .name = NULL },
};
