/*
 * Quantizations: a tensor of n elements into fewer bits, with a scale for the whole, for each row
 * or for each group of a row.  b: bytes of an element before.
 *
 *	per_group_quant			83 / 32 n FLOPs; bytes of result, input and scales
 *	per_token_group_quant_fp8	6 n FLOPs; n b + n + 4 (scales) bytes, rows x groups scales
 *	MXFP4 (block of 32, scale 1 byte)
 *					2 n FLOPs; n b + n / 2 + n / 32 bytes
 *	quantize_fp8			n FLOPs; n b + n bytes
 *	quantize_mxfp4_dual		n FLOPs; n b + 2 (n / 2) + M (N / 32) + N (M / 32) bytes, for
 *					the matrix (M, N) and its transpose
 *
 *	by name				83 / 32 n FLOPs, n with a given scale; bytes of input, result
 *					and scales; with a gated activation before, that of half
 *					the input: 5 FLOPs each more
 *
 * Quotients for a row are rounded up, those of whole tensors n / 2 up and n / 32 down.  Source:
 * TraceLens 0.1; operands as in the Python signatures of aiter (ops/quant.py), vLLM, SGLang and
 * Primus-Turbo.  The input of the MXFP4 kernels is the first tensor in floating point of 16 or
 * more bits: what they write, scales included, is in 8 bits.
 *
 * Example: dynamic_per_token_scaled_quant into fp8 (4, 32) of bf16 (4, 32), 4 scales of float:
 * 83 / 32 x 128 = 332 FLOPs, 128 + 256 + 16 = 400 bytes.
 */
#include "model/arguments.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

static const char no_input[] = "input is not a tensor";

/* (out, input, scales, ...) */
static int per_group_quant(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *out = tw_operand(call, 0), *input = tw_operand(call, 1);
	const struct tw_operand *scales = tw_operand(call, 2);

	if (!tw_is_tensor(out) || !tw_is_tensor(input))
		return tw_work_fail(work, "no input and output");
	tw_param_dims(work, "shape_in1", &input->dims);
	tw_param_dims(work, "shape_in2", &scales->dims);
	TW_PARAM_TYPES(work, "dtype_in1_in2_out", input, scales, out);
	tw_param_strides(work, "stride_input1", input);
	tw_param_strides(work, "stride_input2", scales);
	tw_param_strides(work, "stride_output", out);
	return tw_work_set(work, 83. / 32 * tw_elements(&out->dims),
			   tw_bytes(out) + tw_bytes(input) + tw_bytes(scales), input);
}

/* A result that is no argument, of so many bytes. */
static int count_quantization(const struct tw_operand *input, double flops, double result_bytes,
			      struct tw_work *work)
{
	tw_param_in_out(work, input, NULL);
	return tw_work_set(work, flops, tw_bytes(input) + result_bytes, input);
}

/* triton_per_token_group_quant_fp8(x, group size): rows of the last dimension. */
static int per_token_group_quant_fp8(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *x = tw_operand(call, 0);
	int64_t size = tw_value_integer(call, 1, 0);
	double n = tw_elements(&x->dims), group = size > 0 ? (double)size : NAN, width;

	if (!tw_is_tensor(x))
		return tw_work_fail(work, no_input);
	width = tw_size(x, -1);
	count_quantization(x, 6 * n, n + (width > 0 ? n / width * ceil(width / group) * 4 : 0),
			   work);
	tw_param_integer(work, "group_size", group);
	return 0;
}

static int to_mxfp4(const struct tw_operand *input, struct tw_work *work)
{
	double n = tw_elements(&input->dims);

	return count_quantization(input, 2 * n, ceil(n / 2) + floor(n / 32), work);
}

/* Whether it is a tensor in fp16, bf16 or wider. */
static bool is_wide(const struct tw_operand *operand)
{
	const char *precision = tw_precision(operand);

	return tw_is_tensor(operand) && tw_element_bytes(operand) >= 2 &&
	       (!strncmp(precision, "fp", 2) || !strcmp(precision, "bf16"));
}

/* (out, scales, input, ...) or (out, input, scales, ...) */
static int mxfp4_into(const struct tw_call *call, struct tw_work *work)
{
	unsigned i;

	for (i = 0; i < call->count; i++)
		if (is_wide(&call->operand[i]))
			return to_mxfp4(&call->operand[i], work);
	return tw_work_fail(work, "no tensor to quantize");
}

/* fused_flatten_mxfp4_quant(x) */
static int flatten_mxfp4_quant(const struct tw_call *call, struct tw_work *work)
{
	if (!tw_has_tensor(call, 0))
		return tw_work_fail(work, no_input);
	return to_mxfp4(tw_operand(call, 0), work);
}

/* quantize_fp8_tensorwise(x, type, ...) */
static int quantize_fp8(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *x = tw_operand(call, 0);
	double n = tw_elements(&x->dims);

	if (!tw_is_tensor(x))
		return tw_work_fail(work, no_input);
	return count_quantization(x, n, n, work);
}

/* quantize_mxfp4_dual(x (M, N), ...) */
static int quantize_mxfp4_dual(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *x = tw_operand(call, 0);
	double rows, columns, n = tw_elements(&x->dims);

	if (x->dims.rank != 2)
		return tw_work_fail(work, "input is not a matrix");
	rows = tw_size(x, 0);
	columns = tw_size(x, 1);
	return count_quantization(
		x, n, 2 * ceil(n / 2) + rows * ceil(columns / 32) + columns * ceil(rows / 32),
		work);
}

/* By the names of arguments.  Whether the scales are found is whether they are written. */
static int quantize_named(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *out =
		tw_argument_tensor(&a, "result|output|out|output_q|quant_output|y_q|out_q");
	const struct tw_operand *input = tw_argument(&a, "input|x|inp|act");
	const struct tw_operand *scales = tw_argument(
		&a, "output_scale|result_block_scale|scale|scales|output_s|scale_factor|y_s");
	const struct tw_slice *name = &call->name;
	bool given = tw_name_matches("*static*", name->ptr, name->len);
	bool gated = tw_name_matches("*silu*mul*", name->ptr, name->len);
	double n = tw_elements(&input->dims) / (gated ? 2 : 1), result = n;

	if (!tw_is_tensor(input))
		return tw_work_fail(work, no_input);
	/* A result that is no argument: 8 bits an element, in fp4 half of that and block scales. */
	if (out)
		result = tw_bytes(out);
	else if (tw_name_matches("*fp4*", name->ptr, name->len))
		result = n / 2 + n / 16;
	tw_param_dims(work, "op_shape", &input->dims);
	if (out)
		TW_PARAM_TYPES(work, "dtype_in_out", input, out);
	else
		TW_PARAM_TYPES(work, "dtype_in_out", input);
	tw_param_strides(work, "stride_input", input);
	return tw_work_set(work, (gated ? 5 * n : 0) + (given ? 1 : 83. / 32) * n,
			   tw_bytes(input) + tw_given_bytes(scales) + result, input);
}

#define QUANT(id, sheet, function) TW_MODEL(id, sheet, VECTOR, .forward = function)

const struct tw_model tw_family_quant[] = {
	QUANT(per_group_quant, "BinaryElementwise", per_group_quant),
	QUANT(per_token_group_quant_fp8, "BinaryElementwise", per_token_group_quant_fp8),
	QUANT(mx_quant_moe_sort, "GroupQuant", mxfp4_into),
	QUANT(flatten_mxfp4_quant, "GroupQuant", flatten_mxfp4_quant),
	QUANT(dynamic_mxfp4_quant, "GroupQuant", mxfp4_into),
	QUANT(quantize_named, "GroupQuant", quantize_named),
	QUANT(quantize_fp8, "UnaryElementwise", quantize_fp8),
	QUANT(quantize_mxfp4_dual, "UnaryElementwise", quantize_mxfp4_dual),
	{ .name = NULL },
};
