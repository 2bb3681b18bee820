/*
 * Matrix products of inference libraries, whose operands are known by the names of arguments: A
 * (M, K) by B in whatever order or packing, of which only the bytes count.
 *
 *	FLOPs = batch (2 M N K + (M N when a bias is added))
 *	bytes = A + B + result + bias + scales and zeros
 *
 * N is the result's width, or a number among the arguments, or that of the scales of a packed B,
 * or what B has beside K.  The result is as recorded, in the type that an argument names, or in 16
 * bits where A has fewer.  Work buffers and permutations are not counted.
 *
 * Sources: the definition; arguments as in vLLM, SGLang, TensorRT-LLM, FlashInfer and DeepGEMM.
 *
 * Example: _C::cutlass_scaled_mm of fp8 (8, 16) by (16, 4) into bf16 (8, 4): 2 x 8 x 4 x 16 = 1024
 * FLOPs, 128 + 64 + 64 = 256 bytes.
 */
#include "model/arguments.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

#define NAMES_A "a|act_fp4|A|mat_a|self|mat1|input|x|X|_in_feats|act|in_feats|input_fp8"
#define NAMES_B "b|B|mat_b|mat2|b_q_weight|b_qweight|qweight|_kernel|weight|W|weights|kernel"
#define NAMES_OUT "out|output|d|D|c_or_none|_out_feats|out_feats|c"
#define NAMES_BIAS "bias|b_bias_or_none|b_bias"
#define NAMES_N "size_n|n|row"
#define NAMES_TYPE "out_dtype|out_type|output_dtype"
#define NAMES_WIDTH                                                                     \
	"b_scales|_scaling_factors|b_gptq_scales|group_scales|scales|b_scale|_wscales|" \
	"weight_scale|channel_scales"

enum kind { PLAIN, FOUR_BITS, QUANTIZED_WEIGHT };

struct product {
	struct tw_arguments arguments;
	const struct tw_operand *a, *b, *out, *bias;
	double batch, m, n, k;
	double out_bytes; /* of an element */
};

static double size(const struct tw_operand *operand, unsigned dimension)
{
	return (double)operand->dims.size[dimension];
}

static double last(const struct tw_operand *operand, unsigned from_end)
{
	return size(operand, operand->dims.rank - from_end);
}

static bool is_tensor(const struct tw_operand *operand)
{
	return operand->dims.rank > 0;
}

/* N; NaN: not known. */
static double width(const struct product *p, enum kind kind, double rows_of_b)
{
	const struct tw_operand *b = p->b, *scales = tw_argument(&p->arguments, NAMES_WIDTH);
	double n = tw_argument_integer(&p->arguments, NAMES_N, NAN);

	if (is_tensor(p->out))
		return last(p->out, 1);
	if (n > 0)
		return n;
	if (kind == QUANTIZED_WEIGHT && is_tensor(scales))
		return last(scales, 1);
	if (b->dims.rank < 2)
		return NAN;
	if (last(b, 1) == rows_of_b)
		return last(b, 2);
	return last(b, 2) == rows_of_b ? last(b, 1) : NAN;
}

static double result_bytes(const struct product *p)
{
	unsigned at = tw_argument_at(&p->arguments, NAMES_TYPE);
	const struct tw_dtype *asked =
		tw_dtype_of_number(tw_value_integer(p->arguments.call, at, -1));
	double bytes = tw_element_bytes(is_tensor(p->out) ? p->out : p->a);

	if (is_tensor(p->out))
		return bytes;
	if (asked)
		return asked->bits / 8.0;
	return bytes == 1 ? 2 : bytes;
}

static int take(struct product *p, const struct tw_call *call, enum kind kind, struct tw_work *work)
{
	unsigned values;

	*p = (struct product){ .arguments = tw_arguments_of(call), .batch = 1 };
	p->a = tw_argument(&p->arguments, NAMES_A);
	p->b = tw_argument(&p->arguments, NAMES_B);
	p->out = tw_argument(&p->arguments, NAMES_OUT);
	p->bias = tw_argument(&p->arguments, NAMES_BIAS);
	if (!is_tensor(p->a) || !is_tensor(p->b))
		return tw_work_fail(work, "its operands are no matrices");
	values = kind == FOUR_BITS ? 2 : (unsigned)tw_packed_values(p->a);
	p->k = last(p->a, 1) * values;
	p->m = p->k > 0 ? tw_elements(&p->a->dims) * values / p->k : 0;
	p->n = width(p, kind, last(p->a, 1));
	if (isnan(p->n))
		return tw_work_fail(work, "the sizes of its matrices do not fit each other");
	/* A batch of B: that many products. */
	if (p->a->dims.rank == 3 && p->b->dims.rank == 3 &&
	    p->a->dims.size[0] == p->b->dims.size[0]) {
		p->batch = size(p->a, 0);
		p->m = p->batch > 0 ? p->m / p->batch : 0;
	}
	p->out_bytes = result_bytes(p);
	return 0;
}

static int product(const struct tw_call *call, enum kind kind, struct tw_work *work)
{
	const struct tw_operand *types[2];
	struct product p;
	double results;
	bool bias;

	if (take(&p, call, kind, work))
		return -1;
	bias = is_tensor(p.bias);
	results = p.batch * p.m * p.n;
	work->flops = results * (2 * p.k + (bias ? 1 : 0));
	work->bytes = tw_bytes(p.a) + tw_bytes(p.b) + results * p.out_bytes +
		      (bias ? tw_bytes(p.bias) : 0);
	work->bytes += tw_argument_bytes(&p.arguments, "scal|zero|act_sf|sfa|sfb");
	if (is_tensor(tw_argument(&p.arguments, "As")))
		work->bytes += tw_bytes(tw_argument(&p.arguments, "As")) +
			       tw_bytes(tw_argument(&p.arguments, "Bs"));
	work->precision = kind == FOUR_BITS ? "fp4" : tw_precision(p.a);
	types[0] = p.a;
	types[1] = p.b;
	tw_param_integer(work, "M", p.m);
	tw_param_integer(work, "N", p.n);
	tw_param_integer(work, "K", p.k);
	tw_param_bool(work, "bias", bias);
	tw_param_strides(work, "stride_A", p.a);
	tw_param_strides(work, "stride_B", p.b);
	tw_param_types(work, "dtype_A_B", types, 2);
	tw_param_integer(work, "B", p.batch);
	return 0;
}

/*
 * Compiled products (A, B, ..., result, ...), with what was fused into them: the first two operands
 * in succession that can be multiplied.
 */
static int template_gemm(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *a = NULL, *b = NULL, *types[2];
	double batch = 1, bytes = 0;
	unsigned i;

	for (i = 0; i < call->count; i++) {
		const struct tw_operand *this = &call->operand[i], *next = tw_operand(call, i + 1);
		unsigned rank = this->dims.rank;

		if (rank)
			bytes += tw_bytes(this);
		if (!a && (rank == 2 || rank == 3) && next->dims.rank == rank &&
		    last(this, 1) == last(next, 2) &&
		    (rank == 2 || this->dims.size[0] == next->dims.size[0])) {
			a = this;
			b = next;
		}
	}
	if (!a)
		return tw_work_fail(work, "its operands are no matrices");
	if (a->dims.rank == 3)
		batch = size(a, 0);
	types[0] = a;
	types[1] = b;
	work->flops = 2 * batch * last(a, 2) * last(a, 1) * last(b, 1);
	work->bytes = bytes;
	work->precision = tw_precision(a);
	tw_param_integer(work, "M", last(a, 2));
	tw_param_integer(work, "N", last(b, 1));
	tw_param_integer(work, "K", last(a, 1));
	tw_param_bool(work, "bias", false);
	tw_param_strides(work, "stride_A", a);
	tw_param_strides(work, "stride_B", b);
	tw_param_types(work, "dtype_A_B", types, 2);
	tw_param_integer(work, "B", batch);
	return 0;
}

static int library_gemm(const struct tw_call *call, struct tw_work *work)
{
	return product(call, PLAIN, work);
}

static int fp4_gemm(const struct tw_call *call, struct tw_work *work)
{
	return product(call, FOUR_BITS, work);
}

static int quantized_weight_gemm(const struct tw_call *call, struct tw_work *work)
{
	return product(call, QUANTIZED_WEIGHT, work);
}

#define GEMM(id)                                                        \
	const struct tw_model tw_model_##id = { .name = #id,            \
						.sheet = "GEMM",        \
						.unit = TW_UNIT_MATRIX, \
						.forward = id }

GEMM(library_gemm);
GEMM(fp4_gemm);
GEMM(quantized_weight_gemm);
GEMM(template_gemm);
