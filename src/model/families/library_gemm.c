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
	const struct tw_operand *a, *b;
	double batch, m, n, k;
};

static void describe_product(const struct product *p, bool bias, struct tw_work *work)
{
	TW_PARAM_INTEGERS(work, { "M", p->m }, { "N", p->n }, { "K", p->k });
	tw_param_bool(work, "bias", bias);
	tw_param_strides(work, "stride_A", p->a);
	tw_param_strides(work, "stride_B", p->b);
	TW_PARAM_TYPES(work, "dtype_A_B", p->a, p->b);
	tw_param_integer(work, "B", p->batch);
}

/* N; NaN: not known. */
static double width(const struct tw_arguments *arguments, const struct product *p, enum kind kind)
{
	const struct tw_operand *out = tw_argument(arguments, NAMES_OUT);
	const struct tw_operand *scales = tw_argument(arguments, NAMES_WIDTH);
	double n = tw_argument_integer(arguments, NAMES_N, NAN), inner = tw_size(p->a, -1);

	if (tw_is_tensor(out))
		return tw_size(out, -1);
	if (n > 0)
		return n;
	if (kind == QUANTIZED_WEIGHT && tw_is_tensor(scales))
		return tw_size(scales, -1);
	if (tw_size(p->b, -1) == inner)
		return tw_size(p->b, -2);
	return tw_size(p->b, -2) == inner ? tw_size(p->b, -1) : NAN;
}

/* Bytes of an element of the result. */
static double element_bytes(const struct tw_arguments *arguments, const struct product *p)
{
	const struct tw_operand *out = tw_argument(arguments, NAMES_OUT);
	unsigned type_at = tw_argument_at(arguments, NAMES_TYPE);
	const struct tw_dtype *asked =
		tw_dtype_of_number(tw_value_integer(arguments->call, type_at, -1));

	if (tw_is_tensor(out))
		return tw_element_bytes(out);
	return asked ? asked->bits / 8.0 : tw_result_bytes(p->a);
}

static int take_product(struct product *p, const struct tw_arguments *arguments, enum kind kind,
			struct tw_work *work)
{
	double values;

	*p = (struct product){ .a = tw_argument(arguments, NAMES_A),
			       .b = tw_argument(arguments, NAMES_B),
			       .batch = 1 };
	if (!tw_is_tensor(p->a) || !tw_is_tensor(p->b))
		return tw_work_fail(work, "operands are not matrices");
	values = kind == FOUR_BITS ? 2 : tw_packed_values(p->a);
	p->k = tw_size(p->a, -1) * values;
	p->m = p->k > 0 ? tw_elements(&p->a->dims) * values / p->k : 0;
	p->n = width(arguments, p, kind);
	if (isnan(p->n))
		return tw_work_fail(work, "matrix sizes do not match");
	/* A batch of B: that many products. */
	if (p->a->dims.rank == 3 && p->b->dims.rank == 3 && tw_size(p->a, 0) == tw_size(p->b, 0)) {
		p->batch = tw_size(p->a, 0);
		p->m = p->batch > 0 ? p->m / p->batch : 0;
	}
	return 0;
}

static int product(const struct tw_call *call, struct tw_work *work)
{
	const enum kind *kind = work->model->variant;
	struct tw_arguments arguments = tw_arguments_of(call);
	const struct tw_operand *bias = tw_argument(&arguments, NAMES_BIAS);
	struct product p;
	double results, moved;

	if (take_product(&p, &arguments, *kind, work))
		return -1;
	results = p.batch * p.m * p.n;
	moved = tw_bytes(p.a) + tw_bytes(p.b) + results * element_bytes(&arguments, &p) +
		tw_given_bytes(bias);
	moved += tw_argument_bytes(&arguments, "scal|zero|act_sf|sfa|sfb");
	if (tw_argument_tensor(&arguments, "As"))
		moved += tw_bytes(tw_argument(&arguments, "As")) +
			 tw_bytes(tw_argument(&arguments, "Bs"));
	describe_product(&p, tw_is_tensor(bias), work);
	if (*kind == FOUR_BITS)
		work->precision = "fp4";
	return tw_work_set(work, results * (2 * p.k + tw_is_tensor(bias)), moved, p.a);
}

/* Whether A, and B after it, are matrices or stacks of them that can be multiplied. */
static bool can_be_multiplied(const struct tw_operand *a, const struct tw_operand *b)
{
	unsigned rank = a->dims.rank;

	return (rank == 2 || rank == 3) && b->dims.rank == rank &&
	       tw_size(a, -1) == tw_size(b, -2) && (rank == 2 || tw_size(a, 0) == tw_size(b, 0));
}

/*
 * Compiled products (A, B, ..., result, ...), with what was fused into them: the first two operands
 * in succession that can be multiplied.
 */
static int template_gemm(const struct tw_call *call, struct tw_work *work)
{
	struct product p = { .batch = 1 };
	unsigned i;

	for (i = 0; i < call->count && !p.a; i++)
		if (can_be_multiplied(tw_operand(call, i), tw_operand(call, i + 1)))
			p.a = tw_operand(call, i);
	if (!p.a)
		return tw_work_fail(work, "operands are not matrices");
	p.b = p.a + 1;
	if (p.a->dims.rank == 3)
		p.batch = tw_size(p.a, 0);
	p.m = tw_size(p.a, -2);
	p.n = tw_size(p.b, -1);
	p.k = tw_size(p.a, -1);
	describe_product(&p, false, work);
	return tw_work_set(work, 2 * p.batch * p.m * p.k * p.n, tw_call_bytes(call), p.a);
}

#define GEMM(id, ...) TW_MODEL(id, "GEMM", MATRIX, __VA_ARGS__)
#define PRODUCT(id, which) GEMM(id, .forward = product, .variant = &(const enum kind){ which })

const struct tw_model tw_family_library_gemm[] = {
	PRODUCT(library_gemm, PLAIN),
	PRODUCT(fp4_gemm, FOUR_BITS),
	PRODUCT(quantized_weight_gemm, QUANTIZED_WEIGHT),
	GEMM(template_gemm, .forward = template_gemm),
	{ .name = NULL },
};
