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

static int count_product(struct tw_work *work, const struct gemm *g)
{
	double mn = g->m * g->n;
	double moved = g->m * g->k * g->a_bytes * tw_distinct_share(g->a) +
		       g->k * g->n * g->b_bytes * tw_distinct_share(g->b) + mn * g->out_bytes +
		       (g->bias ? g->n * g->bias_bytes : 0);

	if (g->batch_first)
		tw_param_integer(work, "B", g->batch);
	TW_PARAM_INTEGERS(work, { "M", g->m }, { "N", g->n }, { "K", g->k });
	tw_param_bool(work, "bias", g->bias);
	if (!g->no_strides) {
		tw_param_strides(work, "stride_A", g->a);
		tw_param_strides(work, "stride_B", g->b);
	}
	tw_param_types(work, "dtype_A_B", g->types, g->type_count);
	if (!g->batch_first)
		tw_param_integer(work, "B", g->batch);
	return tw_work_set(work, g->batch * (2 * mn * g->k + (g->bias ? mn : 0)),
			   g->batch * moved + g->scale_bytes, g->a);
}

static double value_bytes(const struct tw_operand *operand)
{
	return tw_element_bytes(operand) / tw_packed_values(operand);
}

/* A and B at two positions, all matrices with elements as large as A's. */
static struct gemm pair(const struct tw_call *call, unsigned a, unsigned b)
{
	struct gemm g = { .batch = 1, .a = tw_operand(call, a), .b = tw_operand(call, b) };

	g.types[g.type_count++] = g.a;
	g.types[g.type_count++] = g.b;
	g.a_values = tw_packed_values(g.a);
	g.b_values = tw_packed_values(g.b);
	g.a_bytes = g.b_bytes = g.out_bytes = g.bias_bytes = value_bytes(g.a);
	return g;
}

/* ---- sizes */

static const char no_matrices[] = "operands are not matrices";
static const char no_batches[] = "operands are not batches of matrices";
static const char no_weight[] = "operands are not a matrix and a weight";
static const char inner_sizes[] = "inner matrix sizes differ";

static bool have_rank(const struct gemm *g, unsigned rank)
{
	return g->a->dims.rank == rank && g->b->dims.rank == rank;
}

/* Whether a size of A and one of B are the same K; it is that of A then. */
static bool take_k(struct gemm *g, int of_a, int of_b)
{
	g->k = tw_size(g->a, of_a) * g->a_values;
	return g->k == tw_size(g->b, of_b) * g->b_values;
}

/* A (M, K), B (K, N) */
static int matrices(struct gemm *g, struct tw_work *work)
{
	if (!have_rank(g, 2))
		return tw_work_fail(work, no_matrices);
	if (!take_k(g, 1, 0))
		return tw_work_fail(work, inner_sizes);
	g->m = tw_size(g->a, 0);
	g->n = tw_size(g->b, 1);
	return 0;
}

/* A (M, K), B (K, N) or, in bitsandbytes, (N, K) */
static int either_order(struct gemm *g, struct tw_work *work)
{
	if (!have_rank(g, 2) || take_k(g, 1, 0))
		return matrices(g, work);
	if (!take_k(g, 1, 1))
		return tw_work_fail(work, inner_sizes);
	g->m = tw_size(g->a, 0);
	g->n = tw_size(g->b, 0);
	return 0;
}

/* A (..., K) and a weight (N, K), as linear layers keep it */
static int with_weight(struct gemm *g, struct tw_work *work)
{
	if (!tw_is_tensor(g->a) || g->b->dims.rank != 2)
		return tw_work_fail(work, no_weight);
	if (!take_k(g, -1, 1))
		return tw_work_fail(work, inner_sizes);
	g->n = tw_size(g->b, 0);
	g->m = g->k ? tw_elements(&g->a->dims) * g->a_values / g->k : 0;
	return 0;
}

/* A (B, M, K), B (B, K, N) */
static int batches(struct gemm *g, struct tw_work *work)
{
	if (!have_rank(g, 3))
		return tw_work_fail(work, no_batches);
	if (!take_k(g, 2, 1) || g->a->dims.size[0] != g->b->dims.size[0])
		return tw_work_fail(work, "batch sizes differ");
	g->batch_first = true;
	g->batch = tw_size(g->a, 0);
	g->m = tw_size(g->a, 1);
	g->n = tw_size(g->b, 2);
	return 0;
}

/* A (B, M, K), weights (B, N, K): what is packed is known from elsewhere. */
static int batches_of_weights(struct gemm *g, struct tw_work *work)
{
	if (!have_rank(g, 3))
		return tw_work_fail(work, no_batches);
	g->batch = tw_size(g->a, 0);
	g->m = tw_size(g->a, 1);
	g->k = tw_size(g->a, 2);
	g->n = tw_size(g->b, 1);
	return 0;
}

/* The same, or A (M, B, K) */
static int weights_tell_batches(struct gemm *g, struct tw_work *work)
{
	if (batches_of_weights(g, work))
		return -1;
	g->batch = tw_size(g->b, 0);
	g->m = tw_size(g->a, tw_size(g->a, 0) == g->batch ? 1 : 0);
	return 0;
}

/* Matrices, one B for a stack of A, or two stacks of one shape. */
static int stacks(struct gemm *g, struct tw_work *work)
{
	unsigned a = g->a->dims.rank, b = g->b->dims.rank, i;
	double stack = 1;

	if (a < 2 || b < 2)
		return tw_work_fail(work, no_matrices);
	if (!take_k(g, -1, -2))
		return tw_work_fail(work, inner_sizes);
	for (i = 0; i + 2 < a; i++)
		stack *= tw_size(g->a, (int)i);
	g->m = tw_size(g->a, -2);
	g->n = tw_size(g->b, -1);
	if (b == 2) {
		/* One B for all: a taller A. */
		g->m *= stack;
		return 0;
	}
	if (a != b || memcmp(g->a->dims.size, g->b->dims.size, (a - 2) * sizeof(int64_t)))
		return tw_work_fail(work, "broadcast batches");
	g->batch_first = true;
	g->batch = stack;
	return 0;
}

/* ---- by layout */

/* Whether a bias is added: at position 2 where one can be given. */
enum bias { NO_BIAS, ALWAYS, GIVEN, GIVEN_OF_OWN_TYPE };

struct layout {
	unsigned a, b; /* positions */
	int (*sizes)(struct gemm *g, struct tw_work *work);
	bool own_b;	  /* B has elements of its own size, else as large as A's */
	double out_bytes; /* of an element; 0: as large as A's */
	enum bias bias;
	/* What else is peculiar, when all that is known. */
	void (*adjust)(struct gemm *g, const struct tw_call *call, struct tw_work *work);
	bool batch_first, no_strides;
};

static void take_bias(struct gemm *g, const struct tw_call *call, enum bias bias)
{
	g->bias = bias == ALWAYS || (bias != NO_BIAS && tw_has_tensor(call, 2));
	if (bias == GIVEN_OF_OWN_TYPE && g->bias)
		g->bias_bytes = tw_element_bytes(tw_operand(call, 2));
}

static int product(const struct tw_call *call, struct tw_work *work)
{
	const struct layout *l = work->model->variant;
	struct gemm g = pair(call, l->a, l->b);

	if (l->sizes(&g, work))
		return -1;
	if (l->own_b)
		g.b_bytes = value_bytes(g.b);
	if (l->out_bytes > 0)
		g.out_bytes = l->out_bytes;
	take_bias(&g, call, l->bias);
	g.batch_first |= l->batch_first;
	g.no_strides = l->no_strides;
	if (l->adjust)
		l->adjust(&g, call, work);
	return count_product(work, &g);
}

/* aten::_weight_int8pack_mm(A (M, K), weight (N, K), scales) */
static void with_scales(struct gemm *g, const struct tw_call *call, struct tw_work *work)
{
	(void)work;
	g->scale_bytes = tw_given_bytes(tw_operand(call, 2));
}

/*
 * Two 4-bit values a byte: K is twice what the shapes say, and a byte holds two of it. Types that
 * say so themselves have been counted as such.
 */
static void four_bits(struct gemm *g, const struct tw_call *call, struct tw_work *work)
{
	(void)call;
	g->k *= 2 / g->a_values;
	g->a_bytes = g->b_bytes = 0.5;
	g->out_bytes = 2;
	work->precision = "fp4";
}

/* With a scale for each block of 32 elements of both matrices. */
static void four_bits_in_blocks(struct gemm *g, const struct tw_operand *scale,
				struct tw_work *work)
{
	double bytes = scale->dtype ? tw_element_bytes(scale) : 1;

	four_bits(g, NULL, work);
	g->scale_bytes = (g->m + g->n) * ceil(g->k / 32) * bytes;
}

/* aiter::gemm_a4w4(A (M, K/2), B (N, K/2), scale_a, scale_b, ...) */
static void a4w4(struct gemm *g, const struct tw_call *call, struct tw_work *work)
{
	four_bits_in_blocks(g, tw_operand(call, 2), work);
}

/* aiter::batched_gemm_a16wfp4_(x (B, M, K), w (B, N, K/2), ...) */
static void four_bits_of_b(struct gemm *g, const struct tw_call *call, struct tw_work *work)
{
	(void)call;
	g->b_bytes = 0.5;
	work->precision = "fp4";
}

static void precision_of_b(struct gemm *g, const struct tw_call *call, struct tw_work *work)
{
	(void)call;
	work->precision = tw_precision(g->b);
}

/* vllm::rocm_unquantized_gemm: the result is of the bias' type, or of the weight's. */
static void rocm_unquantized(struct gemm *g, const struct tw_call *call, struct tw_work *work)
{
	(void)work;
	g->out_bytes = g->bias ? g->bias_bytes : g->b_bytes;
	g->types[g->type_count++] = tw_operand(call, 2);
}

/* The output is what position 2 or 3 was given for, else as A. */
static void given_output(struct gemm *g, const struct tw_call *call, struct tw_work *work)
{
	unsigned i;

	(void)work;
	for (i = 2; i < 4; i++)
		if (tw_operand(call, i)->dims.rank == 2 && tw_operand(call, i)->dtype)
			g->out_bytes = tw_element_bytes(tw_operand(call, i));
}

/*
 * aten::_scaled_mm, aten::_int_mm and kin (A, B, scale_a, scale_b, bias, scale of the result, its
 * type, ...)
 */
static void scaled(struct gemm *g, const struct tw_call *call, struct tw_work *work)
{
	const struct tw_dtype *out = tw_dtype_of_number(tw_value_integer(call, 6, -1));
	const struct tw_operand *bias = tw_operand(call, 4);
	unsigned i;

	(void)work;
	g->out_bytes = out ? out->bits / 8.0 : tw_result_bytes(g->a);
	for (i = 2; i < 4; i++)
		if (tw_operand(call, i)->dtype)
			g->scale_bytes += tw_given_bytes(tw_operand(call, i));
	g->bias = bias->dims.rank == 1 && tw_size(bias, 0) == g->n;
	if (g->bias)
		g->bias_bytes = tw_element_bytes(bias);
}

/* ---- with a layout of their own */

/* vllm::gemm_with_dynamic_quant: the first two matrices are A (M, K) and a weight (N, K). */
static int dynamic_quant(const struct tw_call *call, struct tw_work *work)
{
	unsigned found = 0, i, position[2] = { 0, 0 };
	struct gemm g;

	for (i = 0; i < call->count && found < 2; i++)
		if (call->operand[i].dims.rank == 2)
			position[found++] = i;
	if (found < 2)
		return tw_work_fail(work, "fewer than two matrices");
	g = pair(call, position[0], position[1]);
	g.m = tw_size(g.a, 0);
	g.k = tw_size(g.a, 1) * g.a_values;
	g.n = tw_size(g.b, 0);
	return count_product(work, &g);
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

	if (!have_rank(&g, 2))
		return tw_work_fail(work, no_matrices);
	g.m = tw_size(g.a, a_transposed ? 0 : 1);
	g.k = tw_size(g.a, a_transposed ? 1 : 0) * g.a_values;
	g.n = tw_size(g.b, b_transposed ? 1 : 0);
	g.bias = tw_operand(call, 14)->value.len > 0;
	g.b_bytes = value_bytes(g.b);
	g.out_bytes = tw_element_bytes(tw_operand(call, 10));
	g.bias_bytes = tw_element_bytes(tw_operand(call, 18));
	g.types[g.type_count++] = tw_operand(call, 10);
	g.types[g.type_count++] = tw_operand(call, 18);
	return count_product(work, &g);
}

/*
 * hipblaslt_gemm_fp8 and _fp4(A, scale_a, B, scale_b, out type, transA, transB, transC): with
 * transC the product of the transposed matrices in the other order.
 */
static int hipblaslt(const struct tw_call *call, struct tw_work *work)
{
	const bool *in_four_bits = work->model->variant;
	bool swap = flag(call, 7);
	bool a_transposed = swap ? !flag(call, 6) : flag(call, 5);
	bool b_transposed = swap ? !flag(call, 5) : flag(call, 6);
	struct gemm g = swap ? pair(call, 2, 0) : pair(call, 0, 2);

	if (!have_rank(&g, 2))
		return tw_work_fail(work, no_matrices);
	g.m = tw_size(g.a, a_transposed ? 1 : 0);
	g.k = tw_size(g.a, a_transposed ? 0 : 1) * g.a_values;
	g.n = tw_size(g.b, b_transposed ? 0 : 1);
	g.b_bytes = value_bytes(g.b);
	g.out_bytes = g.a_bytes == 1 ? 2 : g.a_bytes;
	if (*in_four_bits)
		four_bits_in_blocks(&g, tw_operand(call, 1), work);
	return count_product(work, &g);
}

/*
 * aten::_weight_int4pack_mm(A (M, K), weight, group size, scales and zeros): the weight's shape is
 * that of tiles, of words of eight or bytes of two values: N is that of the scales (groups, N, 2),
 * or follows from how many values there are.
 */
static int int4_weight(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *scales = tw_operand(call, 3);
	struct gemm g = pair(call, 0, 1);

	if (g.a->dims.rank != 2 || !tw_is_tensor(g.b))
		return tw_work_fail(work, no_weight);
	g.m = tw_size(g.a, 0);
	g.k = tw_size(g.a, 1);
	if (scales->dims.rank == 3)
		g.n = tw_size(scales, 1);
	else if (g.k > 0)
		g.n = tw_elements(&g.b->dims) * tw_element_bytes(g.b) * 2 / g.k;
	g.b_bytes = g.k * g.n > 0 ? tw_bytes(g.b) / (g.k * g.n) : 0;
	g.scale_bytes = tw_given_bytes(scales);
	if (g.n != floor(g.n))
		return tw_work_fail(work, "weight does not match the matrix");
	return count_product(work, &g);
}

#define GEMM(id, ...) TW_MODEL(id, "GEMM", MATRIX, __VA_ARGS__)
#define LAYOUT(...)                                           \
	.forward = product, .variant = &(const struct layout) \
	{                                                     \
		__VA_ARGS__                                   \
	}
#define A_AND_B .a = 0, .b = 1
#define BEHIND_BIAS .a = 1, .b = 2

const struct tw_model tw_family_gemm[] = {
	GEMM(mm, LAYOUT(A_AND_B, .sizes = matrices)),
	GEMM(addmm, LAYOUT(BEHIND_BIAS, .sizes = matrices, .bias = ALWAYS)),
	GEMM(bmm, LAYOUT(A_AND_B, .sizes = batches)),
	GEMM(baddbmm, LAYOUT(BEHIND_BIAS, .sizes = batches, .bias = ALWAYS)),
	/* made of mm or addmm where those are recorded */
	GEMM(linear, LAYOUT(A_AND_B, .sizes = with_weight, .bias = GIVEN), .composite = true),
	GEMM(matmul, LAYOUT(A_AND_B, .sizes = stacks), .composite = true),
	GEMM(scaled_mm, LAYOUT(A_AND_B, .sizes = either_order, .own_b = true, .adjust = scaled)),
	/* aten::_int_mm(A, B): int8 in, int32 out */
	GEMM(int_mm, LAYOUT(A_AND_B, .sizes = matrices, .own_b = true, .out_bytes = 4)),
	GEMM(int4_weight_mm, .forward = int4_weight),
	GEMM(int8_weight_mm,
	     LAYOUT(A_AND_B, .sizes = with_weight, .own_b = true, .adjust = with_scales)),
	GEMM(dynamic_quant_gemm, .forward = dynamic_quant),
	GEMM(te_gemm, .forward = te_gemm),
	/* products inside Transformer Engine's layers, as mm with a bf16 result */
	GEMM(te_linear_gemm, LAYOUT(A_AND_B, .sizes = matrices, .own_b = true, .out_bytes = 2)),
	GEMM(hipblaslt_gemm_fp8, .forward = hipblaslt, .variant = &(const bool){ false }),
	GEMM(hipblaslt_gemm_fp4, .forward = hipblaslt, .variant = &(const bool){ true }),
	GEMM(gemm_a4w4, LAYOUT(A_AND_B, .sizes = with_weight, .adjust = a4w4)),
	/* A (M, K), weight (N, K), x_scale (M, K / block), w_scale (N / block, K / block) */
	GEMM(gemm_a8w8_blockscale, LAYOUT(A_AND_B, .sizes = with_weight, .own_b = true,
					  .out_bytes = 2, .batch_first = true, .no_strides = true)),
	/* x (M, K), weight (N, K), bias: in 16 bits */
	GEMM(gemm_a16w16,
	     LAYOUT(A_AND_B, .sizes = with_weight, .own_b = true, .bias = GIVEN_OF_OWN_TYPE,
		    .batch_first = true, .no_strides = true)),
	GEMM(rocm_unquantized_gemm,
	     LAYOUT(A_AND_B, .sizes = with_weight, .own_b = true, .bias = GIVEN_OF_OWN_TYPE,
		    .adjust = rocm_unquantized, .no_strides = true)),
	GEMM(gemm_a16w16_into, LAYOUT(A_AND_B, .sizes = with_weight, .own_b = true,
				      .adjust = given_output, .no_strides = true)),
	/* aiter::gemm_afp4wfp4_(x (M, K/2), w (N, K/2), ...) */
	GEMM(gemm_afp4wfp4,
	     LAYOUT(A_AND_B, .sizes = with_weight, .adjust = four_bits, .no_strides = true)),
	GEMM(batched_gemm_a16wfp4,
	     LAYOUT(A_AND_B, .sizes = batches_of_weights, .out_bytes = 2, .adjust = four_bits_of_b,
		    .batch_first = true, .no_strides = true)),
	/* x (B, M, K) or (M, B, K), w (B, N, K): out in bf16 */
	GEMM(batched_gemm_a8w8,
	     LAYOUT(A_AND_B, .sizes = weights_tell_batches, .own_b = true, .out_bytes = 2,
		    .adjust = precision_of_b, .batch_first = true, .no_strides = true)),
	{ .name = NULL },
};
