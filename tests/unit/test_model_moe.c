#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models.h"

#define BF16_3 "['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16', 'float', 'int']"

/* The example of src/model/families/moe.c. */
static void example(void **state)
{
	(void)state;
	model("pseudo_op::moe_aiter_fused_1stage",
	      "[[4, 8], [2, 32, 8], [2, 8, 16], [4, 1], [4, 1]]", BF16_3, "[]");
	expect_work(3104, 1568, "matrix_bf16");
	expect_parameter("M", "4");
	expect_parameter("K", "8");
	expect_parameter("N", "16");
	expect_parameter("E", "2");
	expect_parameter("topk", "1");
	expect_parameter("gated", "True");
}

struct sizes {
	int m, k, n, e, topk;
	bool gated;
};

static const struct sizes sizes[] = {
	{ 1, 4, 8, 4, 2, true }, { 3, 8, 4, 4, 1, true },  { 5, 16, 8, 6, 3, false },
	{ 2, 4, 4, 2, 2, true }, { 4, 2, 8, 5, 1, false },
};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Two operations for every step of every expert of a token. */
static double count_up(const struct sizes *s)
{
	double flops = 0;
	int t, x, i, j;

	for (t = 0; t < s->m; t++)
		for (x = 0; x < s->topk; x++)
			for (i = 0; i < (s->gated ? 2 : 1) * s->n; i++)
				for (j = 0; j < s->k; j++)
					flops += 2;
	return flops;
}

static double count_down(const struct sizes *s)
{
	double flops = 0;
	int t, x, i, j;

	for (t = 0; t < s->m; t++)
		for (x = 0; x < s->topk; x++)
			for (i = 0; i < s->k; i++)
				for (j = 0; j < s->n; j++)
					flops += 2;
	return flops;
}

/* A weight for each result of an expert, and sums of them: topk products, topk - 1 sums. */
static double count_combine(const struct sizes *s)
{
	double flops = 0;
	int t, x, i;

	for (t = 0; t < s->m; t++)
		for (i = 0; i < s->k; i++)
			for (x = 0; x < s->topk; x++)
				flops += x ? 2 : 1;
	return flops;
}

/* Experts reached, by the chance that an expert is missed by one token after another. */
static double count_experts(const struct sizes *s)
{
	double reached = 0;
	int x, t;

	for (x = 0; x < s->e; x++) {
		double missed = 1;

		for (t = 0; t < s->m; t++)
			missed *= 1 - (double)s->topk / s->e;
		reached += 1 - missed;
	}
	return reached;
}

static const char *fused_dims(const struct sizes *s, int packing)
{
	static char text[300];

	snprintf(text, sizeof(text), "[[%d, %d], [%d, %d, %d], [%d, %d, %d], [%d, %d], [%d, %d]]",
		 s->m, s->k, s->e, (s->gated ? 2 : 1) * s->n, s->k / packing, s->e, s->k,
		 s->n / packing, s->m, s->topk, s->m, s->topk);
	return text;
}

static void fused_agrees_with_loops(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < SIZES; i++) {
		const struct sizes *s = &sizes[i];
		int up = (s->gated ? 2 : 1) * s->n * s->k, down = s->n * s->k;
		double experts = count_experts(s), between = s->m * s->topk * s->n;

		model("pseudo_op::moe_aiter_fused_1stage", fused_dims(s, 1), BF16_3, "[]");
		expect_work(count_up(s) + count_down(s) + count_combine(s),
			    2 * (2 * s->m * s->k + experts * (up + down)), "matrix_bf16");
		model("pseudo_op::moe_flydsl_stage1", fused_dims(s, 1), BF16_3, "[]");
		expect_work(count_up(s), 2 * (s->m * s->k + experts * up + between), "matrix_bf16");
		model("pseudo_op::moe_flydsl_stage2", fused_dims(s, 1), BF16_3, "[]");
		expect_work(count_down(s), 2 * (s->m * s->k + experts * down + between),
			    "matrix_bf16");
	}
}

/* Two 4-bit weights a byte: half a byte each, in the tokens' type; or in 4 bits where both are. */
static void packed_weights(void **state)
{
	const struct sizes *s = &sizes[0];
	const char *types =
		"['c10::BFloat16', 'unsigned char', 'unsigned char', 'float', 'long int']";
	double experts = count_experts(s), between = s->m * s->topk * s->n;
	int up = 2 * s->n * s->k, down = s->n * s->k;

	(void)state;
	model("pseudo_op::moe_gptq_awq_up", fused_dims(s, 2), types, "[]");
	expect_work(count_up(s), 2 * (s->m * s->k + between) + experts * up / 2, "matrix_bf16");
	expect_parameter("N", "8");
	model("pseudo_op::moe_gptq_awq_down", fused_dims(s, 2), types, "[]");
	expect_work(count_down(s), 2 * (s->m * s->k + between) + experts * down / 2, "matrix_bf16");
	model("pseudo_op::moe_triton_unfused_up", fused_dims(s, 2), types, "[]");
	expect_work(count_up(s), 2 * (s->m * s->k + between) + experts * up / 2, "matrix_bf16");
	model("pseudo_op::moe_aiter_fused_1stage", fused_dims(s, 2), types, "[]");
	expect_work(count_up(s) + count_down(s) + count_combine(s),
		    2 * 2 * s->m * s->k + experts * (up + down) / 2, "matrix_fp4");
	/* 8-bit weights, not packed */
	model("pseudo_op::moe_aiter_fused_1stage", fused_dims(s, 1),
	      "['c10::BFloat16', 'c10::Float8_e4m3fnuz', 'c10::Float8_e4m3fnuz', 'float', 'int']",
	      "[]");
	expect_work(count_up(s) + count_down(s) + count_combine(s),
		    2 * 2 * s->m * s->k + experts * (up + down), "matrix_fp8");
	/* the type says that an element is two values */
	model("pseudo_op::moe_aiter_fused_1stage", fused_dims(s, 2),
	      "['c10::BFloat16', 'c10::Float4_e2m1fn_x2', 'c10::Float4_e2m1fn_x2', 'float', 'int']",
	      "[]");
	expect_work(count_up(s) + count_down(s) + count_combine(s),
		    2 * 2 * s->m * s->k + experts * (up + down) / 2, "matrix_fp4");
}

/* The same layers written as two operations. */
static void stages_agree_with_loops(void **state)
{
	char dims[400], values[64];
	size_t i;

	(void)state;
	for (i = 0; i < SIZES; i++) {
		const struct sizes *s = &sizes[i];
		int wide = (s->gated ? 2 : 1) * s->n;
		double experts = count_experts(s), between = s->m * s->topk * s->n;
		double up = 2 * (s->m * s->k + between) + experts * wide * s->k;
		double down = 2 * (s->m * s->k + between) + experts * s->n * s->k;
		const char *types = "['c10::BFloat16', 'c10::Float8_e4m3fn', 'c10::BFloat16']";
		const char *ck = "['c10::BFloat16', 'c10::Float8_e4m3fn', 'c10::Float8_e4m3fn',"
				 " 'int', 'int', 'int', 'c10::BFloat16']";

		snprintf(dims, sizeof(dims), "[[%d, %d], [%d, %d, %d], [%d, %d, %d]]", s->m, s->k,
			 s->e, wide, s->k, s->m, s->topk, s->n);
		model("aiter::moe_cktile2stages_gemm1_ck", dims, types, "[]");
		expect_work(count_up(s), up, "matrix_bf16");
		expect_parameter("gated", s->gated ? "True" : "False");
		snprintf(dims, sizeof(dims), "[[%d, %d, %d], [%d, %d, %d], [%d, %d]]", s->m,
			 s->topk, s->n, s->e, s->k, s->n, s->m, s->k);
		model("aiter::moe_cktile2stages_gemm2_ck", dims, types, "[]");
		expect_work(count_down(s), down, "matrix_bf16");
		snprintf(dims, sizeof(dims),
			 "[[%d, %d], [%d, %d, %d], [%d, %d, %d], [64], [2], [1], [%d, %d, %d]]",
			 s->m, s->k, s->e, wide, s->k, s->e, s->k, s->n, s->m, s->topk, s->n);
		model("aiter::ck_moe_stage1", dims, ck, "[]");
		expect_work(count_up(s), up, "matrix_bf16");
		/* A row for each token and expert, how many experts being said. */
		snprintf(dims, sizeof(dims),
			 "[[%d, %d], [%d, %d, %d], [%d, %d, %d], [64], [2], [1], [%d, %d], []]",
			 s->m, s->k, s->e, wide, s->k, s->e, s->k, s->n, s->m * s->topk, s->n);
		snprintf(values, sizeof(values), "['', '', '', '', '', '', '', '%d']", s->topk);
		model("aiter::ck_moe_stage1", dims, ck, values);
		expect_work(count_up(s), up, "matrix_bf16");
		snprintf(dims, sizeof(dims),
			 "[[%d, %d, %d], [%d, %d, %d], [%d, %d, %d], [64], [2], [1], [%d, %d]]",
			 s->m, s->topk, s->n, s->e, wide, s->k, s->e, s->k, s->n, s->m, s->k);
		model("aiter::ck_moe_stage2", dims, ck, "[]");
		expect_work(count_down(s), down, "matrix_bf16");
	}
}

/* Tokens and weights of two 4-bit values a byte: 4 tokens of 16, N 8, 2 experts, topk 1. */
static void four_bit_tokens(void **state)
{
	(void)state;
	model("aiter::moe_cktile2stages_gemm1_ck", "[[4, 8], [2, 16, 8], [4, 1, 8]]",
	      "['c10::Float4_e2m1fn_x2', 'c10::Float4_e2m1fn_x2', 'c10::BFloat16']", "[]");
	expect_work(2. * 4 * 16 * 8 * 2, 4 * 8 + 1.875 * 16 * 8 + 2 * 4 * 8, "matrix_fp4");
	expect_parameter("K", "16");
}

static void fused_blockscale(void **state)
{
	const char *values = "['', '', '', '', '', '', '', '', '2']";
	const struct sizes s = { 4, 8, 16, 4, 2, true };

	(void)state;
	/* fp8 in, bf16 out; 4 experts, two a token: 3.75 are reached */
	model("aiter::fmoe_g1u1", "[[4, 8], [4, 8], [4, 32, 8], [4, 8, 16], [64], [64], [2], [1]]",
	      "['c10::BFloat16', 'c10::Float8_e4m3fnuz', 'c10::Float8_e4m3fnuz',"
	      " 'c10::Float8_e4m3fnuz']",
	      values);
	expect_work(count_up(&s) + count_down(&s) + count_combine(&s), 32 + 3.75 * (256 + 128) + 64,
		    "matrix_fp8");
	model("aiter::fmoe_fp8_blockscale_g1u1", "[[4, 8], [4, 8], [4, 32, 8], [4, 8, 16]]",
	      "['c10::BFloat16', 'c10::Float8_e4m3fnuz', 'c10::Float8_e4m3fnuz',"
	      " 'c10::Float8_e4m3fnuz']",
	      "[]");
	expect_failure("experts per token");
}

/* 4 tokens of 8, 4 experts of 16 rows, two a token. */
static void grouped_gemm(void **state)
{
	const char *op = "sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel";
	const char *types = "['c10::BFloat16', 'c10::BFloat16', '', 'c10::BFloat16', '', '', '',"
			    " 'float', 'int']";

	(void)state;
	model(op, "[[4, 8], [4, 16, 8], [], [4, 2, 16], [], [], [], [4, 2], [4, 2]]", types, "[]");
	expect_work(2. * 8 * 16 * 8, 2 * (32 + 3.75 * 128 + 8 * 16), "matrix_bf16");
	/* the second of a layer: a row for each token and expert */
	model(op, "[[8, 16], [4, 8, 16], [], [4, 2, 8], [], [], [], [4, 2], [4, 2]]", types, "[]");
	expect_work(2. * 8 * 16 * 8, 2 * (128 + 3.75 * 128 + 8 * 8), "matrix_bf16");
	/* older, without a bias */
	model(op, "[[4, 8], [4, 16, 8], [4, 2, 16], [], [], [], [4, 2], [4, 2]]",
	      "['c10::BFloat16', 'c10::Float8_e4m3fn', 'c10::BFloat16', '', '', '', 'float', "
	      "'int']",
	      "[]");
	expect_work(2. * 8 * 16 * 8, 2 * 32 + 3.75 * 128 + 2 * 8 * 16, "matrix_fp8");
	model(op, "[[5, 8], [4, 16, 8], [], [4, 2, 16], [], [], [], [4, 2], [4, 2]]", types, "[]");
	expect_failure("do not match");
}

static double flops_of(int m, int k, int n, int e, int topk, double *bytes)
{
	struct sizes s = { m, k, n, e, topk, true };

	model("pseudo_op::moe_flydsl_stage1", fused_dims(&s, 1), BF16_3, "[]");
	*bytes = model_bytes();
	return model_flops();
}

static void scales_with_each_size(void **state)
{
	double y, y2, f = flops_of(512, 16, 8, 4, 1, &y);

	(void)state;
	assert_true(flops_of(1024, 16, 8, 4, 1, &y2) == 2 * f && y2 > y);
	assert_true(flops_of(512, 32, 8, 4, 1, &y2) == 2 * f && y2 > y);
	assert_true(flops_of(512, 16, 16, 4, 1, &y2) == 2 * f && y2 > y);
	assert_true(flops_of(512, 16, 8, 4, 2, &y2) == 2 * f && y2 > y);
	/* twice the experts, all reached: their weights and no more work */
	assert_true(flops_of(512, 16, 8, 8, 1, &y2) == f);
	assert_true(fabs(y2 - y - 2. * 4 * 2 * 16 * 8) < 1e-6);
}

static void around_the_experts(void **state)
{
	(void)state;
	/* 3 tokens, 16 experts, 4 a token: 96 + 32 + 48 + 48 bytes */
	model("aiter::biased_grouped_topk_hip", "[[3, 16], [16], [3, 4], [3, 4]]",
	      "['c10::BFloat16', 'c10::BFloat16', 'float', 'int']", "['', '', '', '']");
	expect_work(48, 224, "vector_bf16");
	model("aiter::moe_sorting_fwd", "[[3, 4], [3, 4], [64], [64], [2], [1], [3, 8]]",
	      "['int', 'float', 'int', 'float', 'int', 'int', 'c10::BFloat16']", "[]");
	expect_work(64, 48 + 48 + 256 + 256 + 8 + 4 + 48, "");
	model("aiter::topk_softplus", "[[3, 4], [3, 4], [3, 16], [16]]",
	      "['float', 'int', 'c10::BFloat16', 'float']", "[]");
	expect_work(6 * 48, 96 + 64 + 8 * 12, "vector_bf16");
	expect_parameter("topk", "4");
	model("aiter::topk_softplus", "[[3, 4], [3, 4]]", "['float', 'int']", "[]");
	expect_failure("ambiguous");
	/* 3 tokens, 4 experts each and 2 that are shared: reads 4, writes 6 */
	model("sglang_profiler::fused_moe_triton_kernels_fused_append_shared_experts",
	      "[[3, 4], [3, 4], [], []]", "['int', 'float', 'Scalar', 'Scalar']",
	      "['', '', '2', '1.0']");
	expect_work(0, 3 * (4 + 6) * 8, "vector_fp32");
}

static void exchange(void **state)
{
	static const char *const ops[] = { "MoEDispatch", "MoECombine" };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		model(ops[i], "[[100, 64], [100, 4]]", "['c10::BFloat16', 'long int']", "[]");
		expect_work(0, 12800, "");
		model_backward(ops[i], "[[100, 64], [100, 4]]", "['c10::BFloat16', 'long int']",
			       "[]");
		expect_work(0, 12800, "");
	}
}

static void what_makes_no_sense(void **state)
{
	static const struct {
		const char *dims, *reason;
	} cases[] = {
		{ "[[4, 8], [2, 32, 8], [2, 8, 16], [4, 3], [4, 3]]", "experts per token" },
		{ "[[4, 8], [2, 32, 8], [2, 8, 16]]", "experts per token" },
		{ "[[4, 8], [2, 32, 8], [2, 8, 16], [5, 1], [5, 1]]", "experts per token" },
		{ "[[4, 8], [2, 32, 8], [3, 8, 16], [4, 1], [4, 1]]", "do not match" },
		{ "[[4, 8], [2, 33, 8], [2, 8, 16], [4, 1], [4, 1]]", "do not match" },
		{ "[[4, 9], [2, 32, 8], [2, 8, 16], [4, 1], [4, 1]]", "do not match" },
		{ "[[4, 8], [0, 32, 8], [0, 8, 16], [4, 1], [4, 1]]", "experts per token" },
		{ "[[4, 8], [2, 32, 0], [2, 0, 16], [4, 1], [4, 1]]", "do not match" },
		{ "[[4, 8], [4, 2], []]", "not tokens and weights" },
	};
	/* one list of sizes has too many or too few each time */
	static const struct {
		const char *op, *dims;
	} stages[] = {
		{ "aiter::moe_cktile2stages_gemm1_ck", "[[4, 1, 8], [2, 16, 8], [4, 1, 8]]" },
		{ "aiter::moe_cktile2stages_gemm1_ck", "[[4, 8], [16, 8], [4, 1, 8]]" },
		{ "aiter::moe_cktile2stages_gemm1_ck", "[[4, 8], [2, 16, 8], [8]]" },
		{ "aiter::moe_cktile2stages_gemm2_ck", "[[4], [2, 8, 16], [4, 8]]" },
		{ "aiter::moe_cktile2stages_gemm2_ck", "[[4, 1, 1, 16], [2, 8, 16], [4, 8]]" },
		{ "aiter::moe_cktile2stages_gemm2_ck", "[[4, 1, 16], [8, 16], [4, 8]]" },
		{ "aiter::moe_cktile2stages_gemm2_ck", "[[4, 1, 16], [2, 8, 16], [4, 1, 8]]" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		model("pseudo_op::moe_aiter_fused_1stage", cases[i].dims, BF16_3, "[]");
		expect_failure(cases[i].reason);
	}
	for (i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
		model(stages[i].op, stages[i].dims,
		      "['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16']", "[]");
		expect_failure("not tokens and weights");
	}
	/* an empty step */
	model("pseudo_op::moe_aiter_fused_1stage",
	      "[[0, 8], [2, 32, 8], [2, 8, 16], [0, 1], [0, 1]]", BF16_3, "[]");
	expect_work(0, 0, "matrix_bf16");
	model("pseudo_op::moe_aiter_fused_1stage",
	      "[[4, 8], [2, 32, 8], [2, 8, 16], [4, 1], [4, 1]]", "['A', 'B', 'C', 'D', 'E']",
	      "[]");
	expect_work(3104, NAN, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example),
		cmocka_unit_test(fused_agrees_with_loops),
		cmocka_unit_test(packed_weights),
		cmocka_unit_test(stages_agree_with_loops),
		cmocka_unit_test(four_bit_tokens),
		cmocka_unit_test(fused_blockscale),
		cmocka_unit_test(grouped_gemm),
		cmocka_unit_test(scales_with_each_size),
		cmocka_unit_test(around_the_experts),
		cmocka_unit_test(exchange),
		cmocka_unit_test(what_makes_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
