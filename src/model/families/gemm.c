/*
 * Matrix products: out[M,N] = A[M,K] B[K,N] (+ bias[N]), B times when batched.
 *
 *	FLOPs = batch (2 M N K + (M N when a bias is added))
 *	bytes = batch (M K a + K N b + M N out + (N bias))	a, b, out, bias: bytes of an element
 *
 * A multiply and an add are two operations.  Every matrix moves once: what a kernel with enough
 * cache needs; of A and B what is distinct in memory, as one matrix that is expanded over a batch.
 * Types that pack several values into an element (Float4_e2m1fn_x2) do so along K: K is as many
 * times what the shapes say, and an element holds as many of it.  Scales of blocks, rows or all
 * move too.  Source: the definition of the product; operands as in PyTorch's
 * native_functions.yaml and, for other libraries, their Python signatures.
 *
 * Example: mm of float (8, 16) and (16, 4): 2 x 8 x 4 x 16 = 1024 FLOPs,
 * (128 + 64 + 32) x 4 = 896 bytes.
 */
#include "model/model.h"

#include <math.h>
#include <string.h>

struct gemm {
	double batch, m, n, k;
	double a_values, b_values;			/* in an element, along K */
	double a_bytes, b_bytes, out_bytes, bias_bytes; /* of a value */
	double scale_bytes;				/* of all block scales that are read */
	bool bias;
	const struct tw_operand *a, *b;
	const struct tw_operand *types[4]; /* what "dtype_A_B" shows */
	unsigned type_count;
	bool batch_first; /* among the parameters */
	bool no_strides;  /* among the parameters */
};

static int finish(struct tw_work *work, const struct gemm *g)
{
	double mn = g->m * g->n;

	work->flops = g->batch * (2 * mn * g->k + (g->bias ? mn : 0));
	work->bytes = g->batch * (g->m * g->k * g->a_bytes * tw_distinct_share(g->a) +
				  g->k * g->n * g->b_bytes * tw_distinct_share(g->b) +
				  mn * g->out_bytes + (g->bias ? g->n * g->bias_bytes : 0)) +
		      g->scale_bytes;
	if (!work->precision[0])
		work->precision = tw_precision(g->a);
	if (g->batch_first)
		tw_param_integer(work, "B", g->batch);
	tw_param_integer(work, "M", g->m);
	tw_param_integer(work, "N", g->n);
	tw_param_integer(work, "K", g->k);
	tw_param_bool(work, "bias", g->bias);
	if (!g->no_strides) {
		tw_param_strides(work, "stride_A", g->a);
		tw_param_strides(work, "stride_B", g->b);
	}
	tw_param_types(work, "dtype_A_B", g->types, g->type_count);
	if (!g->batch_first)
		tw_param_integer(work, "B", g->batch);
	return 0;
}

static const struct tw_operand *at(const struct tw_call *call, unsigned position)
{
	return tw_operand(call, position);
}

static double size(const struct tw_operand *operand, unsigned dimension)
{
	return (double)operand->dims.size[dimension];
}

static double value_bytes(const struct tw_operand *operand)
{
	return tw_element_bytes(operand) / tw_packed_values(operand);
}

/* A and B at two positions, all matrices with elements as large as A's. */
static struct gemm pair(const struct tw_call *call, unsigned a, unsigned b)
{
	struct gemm g = { .batch = 1, .a = at(call, a), .b = at(call, b), .type_count = 2 };

	g.types[0] = g.a;
	g.types[1] = g.b;
	g.a_values = tw_packed_values(g.a);
	g.b_values = tw_packed_values(g.b);
	g.a_bytes = g.b_bytes = g.out_bytes = g.bias_bytes = value_bytes(g.a);
	return g;
}

/* Whether a size of A and one of B are the same K; it is that of A then. */
static bool take_k(struct gemm *g, unsigned of_a, unsigned of_b)
{
	g->k = size(g->a, of_a) * g->a_values;
	return g->k == size(g->b, of_b) * g->b_values;
}

/* Sizes from A (M, K) and B (K, N). */
static int take_matrices(struct gemm *g, struct tw_work *work)
{
	if (g->a->dims.rank != 2 || g->b->dims.rank != 2)
		return tw_work_fail(work, "its operands are no matrices");
	if (!take_k(g, 1, 0))
		return tw_work_fail(work, "the inner sizes of its matrices differ");
	g->m = size(g->a, 0);
	g->n = size(g->b, 1);
	return 0;
}

/* Sizes from A (..., K) and a weight (N, K), as linear layers keep it. */
static int take_weight(struct gemm *g, struct tw_work *work)
{
	unsigned rank = g->a->dims.rank;

	if (rank < 1 || g->b->dims.rank != 2)
		return tw_work_fail(work, "its operands are no matrix and weight");
	if (!take_k(g, rank - 1, 1))
		return tw_work_fail(work, "the inner sizes of its matrices differ");
	g->n = size(g->b, 0);
	g->m = g->k ? tw_elements(&g->a->dims) * g->a_values / g->k : 0;
	return 0;
}

/* Sizes from A (B, M, K) and B (B, K, N). */
static int take_batches(struct gemm *g, struct tw_work *work)
{
	if (g->a->dims.rank != 3 || g->b->dims.rank != 3)
		return tw_work_fail(work, "its operands are no batches of matrices");
	if (!take_k(g, 2, 1) || g->a->dims.size[0] != g->b->dims.size[0])
		return tw_work_fail(work, "the sizes of its batches differ");
	g->batch_first = true;
	g->batch = size(g->a, 0);
	g->m = size(g->a, 1);
	g->n = size(g->b, 2);
	return 0;
}

/* aten::mm(A, B) */
static int mm(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 0, 1);

	return take_matrices(&g, work) ? -1 : finish(work, &g);
}

/* aten::addmm(bias, A, B) */
static int addmm(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 1, 2);

	g.bias = true;
	return take_matrices(&g, work) ? -1 : finish(work, &g);
}

/* aten::bmm(A, B) */
static int bmm(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 0, 1);

	return take_batches(&g, work) ? -1 : finish(work, &g);
}

/* aten::baddbmm(bias, A, B) */
static int baddbmm(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 1, 2);

	g.bias = true;
	return take_batches(&g, work) ? -1 : finish(work, &g);
}

/* aten::linear(input, weight, bias): made of mm or addmm where those are recorded. */
static int linear(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 0, 1);

	g.bias = tw_has_tensor(call, 2);
	return take_weight(&g, work) ? -1 : finish(work, &g);
}

/* aten::matmul(A, B) of matrices, or of batches of one shape. */
static int matmul(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 0, 1);
	unsigned a = g.a->dims.rank, b = g.b->dims.rank, i;

	if (a == 2 && b == 2)
		return take_matrices(&g, work) ? -1 : finish(work, &g);
	if (a < 2 || b < 2)
		return tw_work_fail(work, "its operands are no matrices");
	if (!take_k(&g, a - 1, b - 2))
		return tw_work_fail(work, "the inner sizes of its matrices differ");
	g.m = size(g.a, a - 2);
	g.n = size(g.b, b - 1);
	if (b == 2) {
		/* One B for all: a taller A. */
		for (i = 0; i + 2 < a; i++)
			g.m *= size(g.a, i);
		return finish(work, &g);
	}
	if (a != b || memcmp(g.a->dims.size, g.b->dims.size, (a - 2) * sizeof(int64_t)))
		return tw_work_fail(work, "its batches are broadcast");
	g.batch_first = true;
	for (i = 0; i + 2 < a; i++)
		g.batch *= size(g.a, i);
	return finish(work, &g);
}

/* What a product of A's type is written in: 8-bit inputs give 16-bit outputs. */
static double wide_output(double a_bytes)
{
	return a_bytes == 1 ? 2 : a_bytes;
}

/* Scales of A and B, where they are numbers of their own. */
static double scales_of(const struct tw_call *call, unsigned first)
{
	double bytes = 0;
	unsigned i;

	for (i = first; i < first + 2; i++)
		if (tw_has_tensor(call, i) && at(call, i)->dtype)
			bytes += tw_bytes(at(call, i));
	return bytes;
}

/*
 * aten::_scaled_mm, aten::_int_mm and kin (A, B, scale_a, scale_b, bias, scale of the result, its
 * type, ...): B is (K, N) or, in bitsandbytes, (N, K).
 */
static int scaled_mm(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 0, 1);
	const struct tw_dtype *out = tw_dtype_of_number(tw_value_integer(call, 6, -1));

	if (g.a->dims.rank != 2 || g.b->dims.rank != 2)
		return tw_work_fail(work, "its operands are no matrices");
	g.m = size(g.a, 0);
	if (take_k(&g, 1, 0))
		g.n = size(g.b, 1);
	else if (take_k(&g, 1, 1))
		g.n = size(g.b, 0);
	else
		return tw_work_fail(work, "the inner sizes of its matrices differ");
	g.b_bytes = value_bytes(g.b);
	g.out_bytes = out ? out->bits / 8.0 : wide_output(tw_element_bytes(g.a));
	g.scale_bytes = scales_of(call, 2);
	g.bias = tw_operand(call, 4)->dims.rank == 1 && size(at(call, 4), 0) == g.n;
	if (g.bias)
		g.bias_bytes = tw_element_bytes(at(call, 4));
	return finish(work, &g);
}

/* aten::_int_mm(A, B): int8 in, int32 out. */
static int int_mm(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 0, 1);

	g.b_bytes = value_bytes(g.b);
	g.out_bytes = 4;
	return take_matrices(&g, work) ? -1 : finish(work, &g);
}

/* vllm::gemm_with_dynamic_quant: the first two matrices are A (M, K) and a weight (N, K). */
static int dynamic_quant(const struct tw_call *call, struct tw_work *work)
{
	unsigned found = 0, i, position[2] = { 0, 0 };
	struct gemm g;

	for (i = 0; i < call->count && found < 2; i++)
		if (call->operand[i].dims.rank == 2)
			position[found++] = i;
	if (found < 2)
		return tw_work_fail(work, "it has no two matrices");
	g = pair(call, position[0], position[1]);
	g.m = size(g.a, 0);
	g.k = size(g.a, 1) * g.a_values;
	g.n = size(g.b, 0);
	return finish(work, &g);
}

static bool flag(const struct tw_call *call, unsigned position)
{
	return tw_value_integer(call, position, tw_value_true(call, position, false)) == 1;
}

/* tex_ts::te_gemm_ts: A at 0, its transposition at 4, B at 5, its at 9, out 10, bias 14 and 18. */
static int te_gemm(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 0, 5);
	bool a_transposed = flag(call, 4), b_transposed = flag(call, 9);

	if (g.a->dims.rank != 2 || g.b->dims.rank != 2)
		return tw_work_fail(work, "its operands are no matrices");
	g.m = size(g.a, a_transposed ? 0 : 1);
	g.k = size(g.a, a_transposed ? 1 : 0) * g.a_values;
	g.n = size(g.b, b_transposed ? 1 : 0);
	g.bias = at(call, 14)->value.len > 0;
	g.b_bytes = value_bytes(g.b);
	g.out_bytes = tw_element_bytes(at(call, 10));
	g.bias_bytes = tw_element_bytes(at(call, 18));
	g.types[2] = at(call, 10);
	g.types[3] = at(call, 18);
	g.type_count = 4;
	return finish(work, &g);
}

/* Products inside Transformer Engine's layers, as mm with a bf16 result. */
static int te_linear(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 0, 1);

	g.b_bytes = value_bytes(g.b);
	g.out_bytes = 2;
	return take_matrices(&g, work) ? -1 : finish(work, &g);
}

/*
 * hipblaslt_gemm_fp8 and _fp4(A, scale_a, B, scale_b, out type, transA, transB, transC): with
 * transC the product of the transposed matrices in the other order.
 */
static int take_hipblaslt(const struct tw_call *call, struct gemm *g, struct tw_work *work)
{
	bool trans_a = flag(call, 5), trans_b = flag(call, 6);

	*g = pair(call, 0, 2);
	if (g->a->dims.rank != 2 || g->b->dims.rank != 2)
		return tw_work_fail(work, "its operands are no matrices");
	if (flag(call, 7)) {
		const struct tw_operand *a = g->a;
		bool was = trans_a;

		g->a = g->b;
		g->b = a;
		trans_a = !trans_b;
		trans_b = !was;
	}
	g->a_values = tw_packed_values(g->a);
	g->m = size(g->a, trans_a ? 1 : 0);
	g->k = size(g->a, trans_a ? 0 : 1) * g->a_values;
	g->n = size(g->b, trans_b ? 0 : 1);
	g->a_bytes = value_bytes(g->a);
	g->b_bytes = value_bytes(g->b);
	g->types[0] = g->a;
	g->types[1] = g->b;
	return 0;
}

static int hipblaslt_fp8(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g;

	if (take_hipblaslt(call, &g, work))
		return -1;
	g.out_bytes = wide_output(g.a_bytes);
	return finish(work, &g);
}

/* Bytes of one block scale in 32 elements for both matrices. */
static double mx_scales(const struct gemm *g, const struct tw_operand *scale)
{
	double bytes = scale->dtype ? scale->dtype->bits / 8.0 : 1;

	return (g->m + g->n) * ceil(g->k / 32) * bytes;
}

/*
 * Two 4-bit values a byte: K is twice what the shapes say, and a byte holds two of it. Types that
 * say so themselves have been counted as such.
 */
static int finish_fp4(struct gemm *g, const struct tw_operand *scale, struct tw_work *work)
{
	g->k *= 2 / g->a_values;
	g->a_bytes = g->b_bytes = 0.5;
	g->out_bytes = 2;
	g->scale_bytes = mx_scales(g, scale);
	work->precision = "fp4";
	return finish(work, g);
}

static int hipblaslt_fp4(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g;

	return take_hipblaslt(call, &g, work) ? -1 : finish_fp4(&g, at(call, 1), work);
}

/* aiter::gemm_a4w4(A (M, K/2), B (N, K/2), scale_a, scale_b, ...) */
static int a4w4(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 0, 1);

	return take_weight(&g, work) ? -1 : finish_fp4(&g, at(call, 2), work);
}

/* A (M, K), weight (N, K), x_scale (M, K / block), w_scale (N / block, K / block), out in bf16. */
static int a8w8_blockscale(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 0, 1);

	if (take_weight(&g, work))
		return -1;
	g.b_bytes = value_bytes(g.b);
	g.out_bytes = 2;
	g.batch_first = true;
	g.no_strides = true;
	return finish(work, &g);
}

/* x (M, K), weight (N, K), bias: in 16 bits. */
static int take_a16w16(struct gemm *g, const struct tw_call *call, struct tw_work *work)
{
	*g = pair(call, 0, 1);
	if (take_weight(g, work))
		return -1;
	g->b_bytes = value_bytes(g->b);
	g->bias = tw_has_tensor(call, 2);
	if (g->bias)
		g->bias_bytes = tw_element_bytes(at(call, 2));
	g->no_strides = true;
	return 0;
}

static int a16w16(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g;

	if (take_a16w16(&g, call, work))
		return -1;
	g.batch_first = true;
	return finish(work, &g);
}

/* vllm::rocm_unquantized_gemm: the result is of the bias' type, or of the weight's. */
static int rocm_unquantized(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g;

	if (take_a16w16(&g, call, work))
		return -1;
	g.out_bytes = g.bias ? g.bias_bytes : g.b_bytes;
	g.types[2] = at(call, 2);
	g.type_count = 3;
	return finish(work, &g);
}

/* The same without a bias; the output is what position 2 or 3 was given for, else as A. */
static int a16w16_into(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 0, 1);
	unsigned i;

	if (take_weight(&g, work))
		return -1;
	g.b_bytes = value_bytes(g.b);
	for (i = 2; i < 4; i++)
		if (at(call, i)->dims.rank == 2 && at(call, i)->dtype)
			g.out_bytes = tw_element_bytes(at(call, i));
	g.no_strides = true;
	return finish(work, &g);
}

/* aiter::gemm_afp4wfp4_(x (M, K/2), w (N, K/2), ...) */
static int afp4wfp4(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 0, 1);

	if (take_weight(&g, work))
		return -1;
	g.k *= 2 / g.a_values;
	g.a_bytes = g.b_bytes = 0.5;
	g.out_bytes = 2;
	work->precision = "fp4";
	g.no_strides = true;
	return finish(work, &g);
}

/* aiter::batched_gemm_a16wfp4_(x (B, M, K), w (B, N, K/2), ...) */
static int batched_a16wfp4(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 0, 1);

	if (g.a->dims.rank != 3 || g.b->dims.rank != 3)
		return tw_work_fail(work, "its operands are no batches of matrices");
	g.batch_first = true;
	g.batch = size(g.a, 0);
	g.m = size(g.a, 1);
	g.k = size(g.a, 2);
	g.n = size(g.b, 1);
	g.b_bytes = 0.5;
	g.out_bytes = 2;
	work->precision = "fp4";
	g.no_strides = true;
	return finish(work, &g);
}

/* x (B, M, K) or (M, B, K), w (B, N, K): out in bf16. */
static int batched_a8w8(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 0, 1);

	if (g.a->dims.rank != 3 || g.b->dims.rank != 3)
		return tw_work_fail(work, "its operands are no batches of matrices");
	g.batch_first = true;
	g.batch = size(g.b, 0);
	g.n = size(g.b, 1);
	g.k = size(g.a, 2);
	g.m = g.a->dims.size[0] == g.b->dims.size[0] ? size(g.a, 1) : size(g.a, 0);
	g.b_bytes = value_bytes(g.b);
	g.out_bytes = 2;
	work->precision = tw_precision(g.b);
	g.no_strides = true;
	return finish(work, &g);
}

/*
 * aten::_weight_int4pack_mm(A (M, K), weight, group size, scales and zeros): the weight's shape is
 * that of tiles, of words of eight or bytes of two values: N is that of the scales (groups, N, 2),
 * or follows from how many values there are.
 */
static int int4_weight(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 0, 1);

	if (g.a->dims.rank != 2 || !g.b->dims.rank)
		return tw_work_fail(work, "its operands are no matrix and weight");
	g.m = size(g.a, 0);
	g.k = size(g.a, 1);
	g.n = at(call, 3)->dims.rank == 3 ? size(at(call, 3), 1) :
	      g.k > 0 ? tw_elements(&g.b->dims) * tw_element_bytes(g.b) * 2 / g.k :
			0;
	g.b_bytes = g.k * g.n > 0 ? tw_bytes(g.b) / (g.k * g.n) : 0;
	g.scale_bytes = tw_has_tensor(call, 3) ? tw_bytes(at(call, 3)) : 0;
	if (g.n != floor(g.n))
		return tw_work_fail(work, "its weight does not fit its matrix");
	return finish(work, &g);
}

/* aten::_weight_int8pack_mm(A (M, K), weight (N, K), scales) */
static int int8_weight(const struct tw_call *call, struct tw_work *work)
{
	struct gemm g = pair(call, 0, 1);

	if (take_weight(&g, work))
		return -1;
	g.b_bytes = value_bytes(g.b);
	g.scale_bytes = tw_has_tensor(call, 2) ? tw_bytes(at(call, 2)) : 0;
	return finish(work, &g);
}

#define GEMM(id, function)                                              \
	const struct tw_model tw_model_##id = { .name = #id,            \
						.sheet = "GEMM",        \
						.unit = TW_UNIT_MATRIX, \
						.forward = function }

GEMM(mm, mm);
GEMM(addmm, addmm);
GEMM(bmm, bmm);
GEMM(baddbmm, baddbmm);
GEMM(scaled_mm, scaled_mm);
GEMM(int_mm, int_mm);
GEMM(int4_weight_mm, int4_weight);
GEMM(int8_weight_mm, int8_weight);
GEMM(dynamic_quant_gemm, dynamic_quant);
GEMM(te_gemm, te_gemm);
GEMM(te_linear_gemm, te_linear);
GEMM(hipblaslt_gemm_fp8, hipblaslt_fp8);
GEMM(hipblaslt_gemm_fp4, hipblaslt_fp4);
GEMM(gemm_a4w4, a4w4);
GEMM(gemm_a8w8_blockscale, a8w8_blockscale);
GEMM(gemm_a16w16, a16w16);
GEMM(rocm_unquantized_gemm, rocm_unquantized);
GEMM(gemm_a16w16_into, a16w16_into);
GEMM(gemm_afp4wfp4, afp4wfp4);
GEMM(batched_gemm_a16wfp4, batched_a16wfp4);
GEMM(batched_gemm_a8w8, batched_a8w8);

const struct tw_model tw_model_linear = {
	.name = "linear",
	.sheet = "GEMM",
	.unit = TW_UNIT_MATRIX,
	.forward = linear,
	.composite = true,
};
const struct tw_model tw_model_matmul = {
	.name = "matmul",
	.sheet = "GEMM",
	.unit = TW_UNIT_MATRIX,
	.forward = matmul,
	.composite = true,
};
