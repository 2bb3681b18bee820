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

/* (out, input, scales, ...) */
static int per_group_quant(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *out = tw_operand(call, 0), *input = tw_operand(call, 1);
	const struct tw_operand *scales = tw_operand(call, 2);
	const struct tw_operand *types[3] = { input, scales, out };

	if (!out->dims.rank || !input->dims.rank)
		return tw_work_fail(work, "it has no input and output");
	work->flops = 83. / 32 * tw_elements(&out->dims);
	work->bytes = tw_bytes(out) + tw_bytes(input) + tw_bytes(scales);
	work->precision = tw_precision(input);
	tw_param_dims(work, "shape_in1", &input->dims);
	tw_param_dims(work, "shape_in2", &scales->dims);
	tw_param_types(work, "dtype_in1_in2_out", types, 3);
	tw_param_strides(work, "stride_input1", input);
	tw_param_strides(work, "stride_input2", scales);
	tw_param_strides(work, "stride_output", out);
	return 0;
}

static void add_parameters(struct tw_work *work, const struct tw_operand *input)
{
	const struct tw_operand *types[2] = { input, NULL };

	work->precision = tw_precision(input);
	tw_param_dims(work, "op_shape", &input->dims);
	tw_param_types(work, "dtype_in_out", types, 2);
	tw_param_strides(work, "stride_input", input);
	tw_param_none(work, "stride_output");
}

/* triton_per_token_group_quant_fp8(x, group size): rows of the last dimension. */
static int per_token_group_quant_fp8(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *x = tw_operand(call, 0);
	int64_t group = tw_value_integer(call, 1, 0);
	double n = tw_elements(&x->dims), width, groups;

	if (!x->dims.rank)
		return tw_work_fail(work, "its input is no tensor");
	width = (double)x->dims.size[x->dims.rank - 1];
	groups = group > 0 ? ceil(width / (double)group) : NAN;
	work->flops = 6 * n;
	work->bytes = tw_bytes(x) + n + (width > 0 ? n / width * groups * 4 : 0);
	add_parameters(work, x);
	tw_param_integer(work, "group_size", group > 0 ? (double)group : NAN);
	return 0;
}

/* Whether it is a tensor in fp16, bf16 or wider. */
static bool is_wide(const struct tw_operand *operand)
{
	const char *precision = tw_precision(operand);

	return operand->dims.rank && tw_element_bytes(operand) >= 2 &&
	       (!strncmp(precision, "fp", 2) || !strcmp(precision, "bf16"));
}

static int finish_mxfp4(const struct tw_operand *input, struct tw_work *work)
{
	double n = tw_elements(&input->dims);

	work->flops = 2 * n;
	work->bytes = tw_bytes(input) + ceil(n / 2) + floor(n / 32);
	add_parameters(work, input);
	return 0;
}

/* (out, scales, input, ...) or (out, input, scales, ...) */
static int mxfp4_into(const struct tw_call *call, struct tw_work *work)
{
	unsigned i;

	for (i = 0; i < call->count; i++)
		if (is_wide(&call->operand[i]))
			return finish_mxfp4(&call->operand[i], work);
	return tw_work_fail(work, "it has no tensor to quantize");
}

/* fused_flatten_mxfp4_quant(x) */
static int flatten_mxfp4_quant(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *x = tw_operand(call, 0);

	if (!x->dims.rank)
		return tw_work_fail(work, "its input is no tensor");
	return finish_mxfp4(x, work);
}

/* quantize_fp8_tensorwise(x, type, ...) */
static int quantize_fp8(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *x = tw_operand(call, 0);
	double n = tw_elements(&x->dims);

	if (!x->dims.rank)
		return tw_work_fail(work, "its input is no tensor");
	work->flops = n;
	work->bytes = tw_bytes(x) + n;
	add_parameters(work, x);
	return 0;
}

/* quantize_mxfp4_dual(x (M, N), ...) */
static int quantize_mxfp4_dual(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *x = tw_operand(call, 0);
	double m, k, n = tw_elements(&x->dims);

	if (x->dims.rank != 2)
		return tw_work_fail(work, "its input is no matrix");
	m = (double)x->dims.size[0];
	k = (double)x->dims.size[1];
	work->flops = n;
	work->bytes = tw_bytes(x) + 2 * ceil(n / 2) + m * ceil(k / 32) + k * ceil(m / 32);
	add_parameters(work, x);
	return 0;
}

/* By the names of arguments.  Whether the scales are found is whether they are written. */
static int quantize_named(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *out =
		tw_argument(&a, "result|output|out|output_q|quant_output|y_q|out_q");
	const struct tw_operand *input = tw_argument(&a, "input|x|inp|act");
	const struct tw_operand *scales = tw_argument(
		&a, "output_scale|result_block_scale|scale|scales|output_s|scale_factor|y_s");
	const struct tw_operand *types[2] = { input, out };
	double n = tw_elements(&input->dims);
	bool given = tw_name_matches("*static*", call->name.ptr, call->name.len);
	bool gated = tw_name_matches("*silu*mul*", call->name.ptr, call->name.len);

	if (!input->dims.rank)
		return tw_work_fail(work, "its input is no tensor");
	work->bytes = tw_bytes(input) + (scales->dims.rank ? tw_bytes(scales) : 0);
	if (gated) {
		n /= 2;
		work->flops = 5 * n;
	} else {
		work->flops = 0;
	}
	work->flops += (given ? 1 : 83. / 32) * n;
	/* A result that is no argument: 8 bits an element, in fp4 half of that and block scales. */
	if (out->dims.rank)
		work->bytes += tw_bytes(out);
	else if (tw_name_matches("*fp4*", call->name.ptr, call->name.len))
		work->bytes += n / 2 + n / 16;
	else
		work->bytes += n;
	work->precision = tw_precision(input);
	tw_param_dims(work, "op_shape", &input->dims);
	tw_param_types(work, "dtype_in_out", types, out->dims.rank ? 2 : 1);
	tw_param_strides(work, "stride_input", input);
	return 0;
}

#define QUANT(id, its_sheet, function)                                  \
	const struct tw_model tw_model_##id = { .name = #id,            \
						.sheet = its_sheet,     \
						.unit = TW_UNIT_VECTOR, \
						.forward = function }

QUANT(per_group_quant, "BinaryElementwise", per_group_quant);
QUANT(per_token_group_quant_fp8, "BinaryElementwise", per_token_group_quant_fp8);
QUANT(mx_quant_moe_sort, "GroupQuant", mxfp4_into);
QUANT(flatten_mxfp4_quant, "GroupQuant", flatten_mxfp4_quant);
QUANT(dynamic_mxfp4_quant, "GroupQuant", mxfp4_into);
QUANT(quantize_fp8, "UnaryElementwise", quantize_fp8);
QUANT(quantize_named, "GroupQuant", quantize_named);
QUANT(quantize_mxfp4_dual, "UnaryElementwise", quantize_mxfp4_dual);
