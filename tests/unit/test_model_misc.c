#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models.h"

/* ---- every operation has its model, on the sheet that reports show it on */

static const struct {
	const char *op, *sheet;
} expected[] = {
	{ "FlashAttnFunc", "SDPA" },
	{ "flash_attn::_flash_attn_forward", "SDPA" },
	{ "flash_attn::_flash_attn_backward", "SDPA" },
	{ "flash_attn::_flash_attn_varlen_forward", "SDPA" },
	{ "flash_attn::_flash_attn_varlen_backward", "SDPA" },
	{ "aten::_scaled_dot_product_cudnn_attention", "SDPA" },
	{ "aten::_scaled_dot_product_efficient_attention", "SDPA" },
	{ "aten::_scaled_dot_product_flash_attention", "SDPA" },
	{ "aiter::_flash_attn_forward", "SDPA" },
	{ "aiter::_flash_attn_backward", "SDPA" },
	{ "aiter::wrapper_fmha_v3_fwd", "SDPA" },
	{ "aiter::wrapper_fmha_v3_bwd", "SDPA" },
	{ "aiter::mha_fwd", "SDPA" },
	{ "aiter::fmha_v3_fwd", "SDPA" },
	{ "aiter::mha_bwd", "SDPA" },
	{ "flash_attn_3::fwd", "SDPA" },
	{ "EvoformerAttention", "SDPA" },
	{ "aten::_scaled_dot_product_flash_attention_backward", "SDPA" },
	{ "aten::_scaled_dot_product_efficient_attention_backward", "SDPA" },
	{ "aten::_scaled_dot_product_cudnn_attention_backward", "SDPA" },
	{ "aten::_flash_attention_forward", "SDPA" },
	{ "aten::_flash_attention_backward", "SDPA" },
	{ "aten::_efficient_attention_forward", "SDPA" },
	{ "aten::_efficient_attention_backward", "SDPA" },
	{ "aten::_scaled_dot_product_attention_math", "SDPA" },
	{ "aten::scaled_dot_product_attention", "SDPA" },
	{ "vllm::unified_attention_with_output", "InferenceAttention" },
	{ "aiter::mha_varlen_fwd", "InferenceAttention" },
	{ "aiter::fmha_v3_varlen_fwd", "InferenceAttention" },
	{ "aiter::mha_batch_prefill", "InferenceAttention" },
	{ "sglang_profiler::attention_paged_attention_ragged", "InferenceAttention" },
	{ "pseudo_mla_decode_fwd", "InferenceAttention" },
	{ "pseudo_mla_prefill_fwd", "InferenceAttention" },
	{ "aiter::pa_decode_gluon", "InferenceAttention" },
	{ "pseudo_v4_paged_decode_swa", "InferenceAttention" },
	{ "pseudo_v4_paged_decode_csa", "InferenceAttention" },
	{ "pseudo_v4_paged_decode_hca", "InferenceAttention" },
	{ "aiter::pa_sparse_prefill_opus_fwd", "InferenceAttention" },
	{ "sglang_profiler::tilelang_kernel_tilelang_sparse_fwd", "InferenceAttention" },
	{ "vllm::gdn_attention_core", "InferenceAttention" },
	{ "aiter::linear_attention_with_output_base", "InferenceAttention" },
	{ "sglang::store_cache", "InferenceAttention" },
	{ "MoEDispatch", "MoE_comm" },
	{ "MoECombine", "MoE_comm" },
	{ "DaoAILab::_causal_conv1d_fwd_cpp", "SSM" },
	{ "MambaSplitConv1dScanCombinedFn", "SSM" },
	{ "FusedRoPEFunc", "RoPE" },
	{ "aiter::rope_cached_positions_2c_fwd_impl", "RoPE" },
	{ "sgl_kernel::rotary_embedding", "RoPE" },
	{ "CrossEntropyFunction", "CrossEntropy" },
	{ "pseudo_op::moe_aiter_fused_1stage", "MoE_fused" },
	{ "aiter::fmoe_fp8_blockscale_g1u1", "MoE_fused" },
	{ "aiter::fmoe_g1u1", "MoE_fused" },
	{ "aiter::moe_cktile2stages_gemm1_ck", "MoE_unfused" },
	{ "aiter::moe_cktile2stages_gemm2_ck", "MoE_unfused" },
	{ "aiter::ck_moe_stage1", "MoE_unfused" },
	{ "aiter::ck_moe_stage2", "MoE_unfused" },
	{ "pseudo_op::moe_triton_unfused_up", "MoE_unfused" },
	{ "pseudo_op::moe_triton_unfused_down", "MoE_unfused" },
	{ "pseudo_op::moe_gptq_awq_up", "MoE_unfused" },
	{ "pseudo_op::moe_gptq_awq_down", "MoE_unfused" },
	{ "pseudo_op::moe_flydsl_stage1", "MoE_unfused" },
	{ "pseudo_op::moe_flydsl_stage2", "MoE_unfused" },
	{ "sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel", "MoE_unfused" },
	{ "aiter::biased_grouped_topk_hip", "MoE_aux" },
	{ "aiter::moe_sorting_fwd", "MoE_aux" },
	{ "aiter::mxfp4_moe_sort_hip", "MoE_aux" },
	{ "sglang_profiler::fused_moe_triton_kernels_fused_append_shared_experts", "MoE_aux" },
	{ "aiter::topk_softplus", "MoE_aux" },
	{ "aiter::mixed_sample_outer_exponential", "elementwise" },
	{ "aiter::fused_qk_rope_concat_and_cache_mla", "FusedRoPE" },
	{ "aiter::fused_qk_rope_cat_and_cache_mla", "FusedRoPE" },
	{ "aiter::mhc_post", "mHC" },
	{ "aiter::mhc_pre_gemm_sqrsum", "mHC" },
	{ "aiter::mhc_pre_big_fuse_rmsnorm", "mHC" },
	{ "aiter::mhc_fused_post_pre_gemm_sqrsum", "mHC" },
};

static void operations_have_models(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const char *op = expected[i].op;
		const struct tw_model *found = tw_model_of(op, strlen(op));

		if (!found || !found->forward)
			fail_msg("%s has no model", op);
		if (strcmp(found->sheet, expected[i].sheet) != 0)
			fail_msg("%s is on %s", op, found->sheet);
		if (found->backward && !found->backward_category)
			fail_msg("%s: the backward pass has no category", op);
	}
}

/* Whatever it is called with: no crash, no work below nothing. Sanitizers look for more. */
static void no_model_trusts_its_arguments(void **state)
{
	static const char *const dims[] = {
		"[[]]",
		"[[4]]",
		"[[0, 0], [0, 0], [0, 0]]",
		"[[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]",
		"[[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]",
		"[[2, 3], [2, 3], [2, 3], [2, 3], [2, 3], [2, 3], [2, 3]]",
		"[[2, 3, 4], [2, 3, 4], [2, 3, 4], [2, 3, 4], [2, 3, 4], [2], [2]]",
		"[[2, 3, 4, 5], [2, 3, 4, 5], [2, 3, 4, 5], [2, 3, 4, 5], [4], [4], [4]]",
		("[[9223372036854775807, 9223372036854775807], [9223372036854775807], [], "
		 "[9223372036854775807]]"),
		("[[9223372036854775807, 1, 9223372036854775807], [9223372036854775807, 1, 1], "
		 "[1, 1, 9223372036854775807], [9223372036854775807], [1, 1]]"),
	};
	static const char *const values[] = {
		"[]",
		"['1', '1', '1', '1', '1', '1', '1', '1', '1', '1', '1', '1', '1', '1', '1', '1', "
		"'1']",
		("['-1', 'x', 'False', '', '9223372036854775807', 'False', '99999999999999999999', "
		 "'False', 'nan', 'True', '-0', '1e999', 'True', 'False']"),
	};
	const char *types =
		"['float', 'c10::Half', '', 'long int', 'c10::Float4_e2m1fn_x2', 'int']";
	size_t i, j, k;

	(void)state;
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		for (j = 0; j < sizeof(dims) / sizeof(dims[0]); j++)
			for (k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
				model(expected[i].op, dims[j], types, values[k]);
				if (model_flops() < 0 || model_bytes() < 0)
					fail_msg("%s of %s: less than nothing", expected[i].op,
						 dims[j]);
				model_backward(expected[i].op, dims[j], types, values[k]);
			}
}

/* ---- rotary embedding */

/* The examples of the headers of src/model/families/rope.c, ssm.c, loss.c, sampling.c and mhc.c. */
static void examples(void **state)
{
	(void)state;
	model("FusedRoPEFunc", "[[16, 2, 4, 8], [16, 1, 1, 8]]", "['c10::BFloat16', 'float']",
	      "[]");
	expect_work(3072, 4096, "vector_bf16");
	model("DaoAILab::_causal_conv1d_fwd_cpp", "[[2, 4, 16], [4, 4], [4]]",
	      "['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16']", "[]");
	expect_work(1024, 552, "matrix_bf16");
	model("CrossEntropyFunction", "[[2, 8, 100], [2, 8]]", "['c10::BFloat16', 'long int']",
	      "[]");
	expect_work(8000, 3392, "vector_bf16");
	model("aiter::mixed_sample_outer_exponential", "[[4], [4, 100], [4, 100], [4]]",
	      "['int', 'c10::BFloat16', 'float', 'float']", "[]");
	expect_work(800, 2416, "vector_bf16");
	model("aiter::mhc_post", "[[2, 4, 8], [2, 8], [2, 4, 8], [2, 4, 1], [2, 4, 4]]",
	      "['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16', 'float', 'float']", "[]");
	expect_work(640, 448, "vector_bf16");
}

static void rotary_embedding(void **state)
{
	(void)state;
	/* 5 tokens, 4 heads of queries and 2 of keys, of 16 */
	model("aiter::rope_cached_positions_2c_fwd_impl",
	      "[[1, 5, 4, 16], [1, 5, 2, 16], [1, 5, 4, 16], [1, 5, 2, 16], [99, 1, 1, 8]]",
	      "['c10::Half', 'c10::Half', 'c10::Half', 'c10::Half', 'c10::Half']", "[]");
	expect_work(3 * 5 * 6 * 16, 2 * 5 * 6 * 16 * 2, "vector_fp16");
	model("sgl_kernel::rotary_embedding", "[[5], [5, 64], [5, 32], [], [99, 16]]",
	      "['long int', 'float', 'float', 'Scalar', 'float']", "[]");
	expect_work(3 * 5 * 96, 2 * 5 * 96 * 4, "vector_fp32");
	model("sgl_kernel::rotary_embedding", "[[5], []]", "['long int', '']", "[]");
	expect_failure("no tensor");
}

/* 5 tokens, 4 heads of 32 + 8; one compressed key of 32 + 8, kept in fp8. */
static void fused_rotary_embedding(void **state)
{
	const char *types = "['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16',"
			    " 'c10::Float8_e4m3fnuz', 'c10::BFloat16']";
	double reads = 2 * 5 * (4 * 40 + 40);

	(void)state;
	model("aiter::fused_qk_rope_concat_and_cache_mla",
	      "[[5, 4, 32], [5, 4, 8], [5, 32], [5, 8], [99, 1, 40], [5, 4, 40]]", types, "[]");
	expect_work(3 * 5 * 8 * 5, reads + 5 * 4 * 40 * 2 + 5 * 40, "vector_bf16");
	/* q_out in 8 bits; keys as heads */
	model("aiter::fused_qk_rope_concat_and_cache_mla",
	      "[[5, 4, 32], [5, 4, 8], [5, 1, 32], [5, 1, 8], [99, 1, 40], [5, 4, 40]]",
	      "['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16',"
	      " 'c10::Float8_e4m3fnuz', 'c10::Float8_e4m3fnuz']",
	      "[]");
	expect_work(3 * 5 * 8 * 5, reads + 5 * 4 * 40 + 5 * 40, "vector_bf16");
	model("aiter::fused_qk_rope_cat_and_cache_mla",
	      "[[5, 4, 32], [5, 4, 8], [5, 1, 32], [5, 1, 8], [99, 1, 40], [5]]",
	      "['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16',"
	      " 'c10::BFloat16', 'long int']",
	      "[]");
	expect_work(3 * 5 * 8 * 5, reads + 5 * 4 * 40 * 2 + 5 * 40 * 2, "vector_bf16");
	model("aiter::fused_qk_rope_cat_and_cache_mla",
	      "[[5, 4, 32], [5, 3, 8], [5, 1, 32], [5, 1, 8], [99, 1, 40]]", types, "[]");
	expect_failure("differ in size");
}

/* ---- state spaces */

/* Multiply-adds, one after another. */
static double scan_flops(int batch, int t, int h, int p, int g, int n, int d, int chunk)
{
	int b, i, x, y, z;
	double flops = 0;

	for (b = 0; b < batch; b++)
		for (i = 0; i < t; i++) {
			for (x = 0; x < h * p + 2 * g * n; x++)
				for (y = 0; y < d; y++)
					flops += 2; /* convolution */
			for (x = 0; x < g; x++)
				for (y = 0; y < chunk; y++)
					for (z = 0; z < n; z++)
						flops += 2; /* C B^T in a chunk */
			for (x = 0; x < h; x++) {
				for (y = 0; y < chunk; y++)
					for (z = 0; z < p; z++)
						flops += 2; /* times x */
				for (y = 0; y < n; y++)
					for (z = 0; z < p; z++)
						flops += 2 + 2; /* into the state, out of it */
			}
		}
	return flops;
}

static void state_spaces(void **state)
{
	char dims[200];
	const char *types =
		"['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16', 'float', 'float', 'float']";
	int g;

	(void)state;
	for (g = 1; g < 3; g++) {
		int h = 4, p = 6, n = 3, dim = 2 * h * p + 2 * g * n + h, cc = h * p + 2 * g * n;
		char values[200];

		snprintf(dims, sizeof(dims), "[[2, 16, %d], [%d, 4], [%d], [4], [4], [4]]", dim, cc,
			 cc);
		snprintf(values, sizeof(values),
			 "['', '', '', '', '', '', '8', '', '', '', '', '', '', '', '', '6', '%d']",
			 g);
		model("MambaSplitConv1dScanCombinedFn", dims, types, values);
		expect_work(scan_flops(2, 16, h, p, g, n, 4, 8),
			    2 * (32 * dim + 4 * cc + cc + 32 * h * p) + h * 12, "matrix_bf16");
		expect_parameter("P", "6");
		expect_parameter("N", "3");
	}
	model("MambaSplitConv1dScanCombinedFn", dims, types, "[]");
	expect_failure("chunks");
	model("MambaSplitConv1dScanCombinedFn", "[[2, 16, 61], [30, 4], [30], [4], [4], [4]]",
	      types, "['', '', '', '', '', '', '8']");
	expect_failure("do not match the input");
	model("DaoAILab::_causal_conv1d_fwd_cpp", "[[2, 4, 16], [5, 4]]", "['float', 'float']",
	      "[]");
	expect_failure("filters");
	model("DaoAILab::_causal_conv1d_fwd_cpp", "[[2, 4, 16], [4, 3], []]",
	      "['float', 'float', '']", "[]");
	expect_work(2 * 2 * 4 * 16 * 3, 4 * (256 + 12), "matrix_fp32");
}

/* ---- loss */

static void cross_entropy(void **state)
{
	(void)state;
	model("CrossEntropyFunction", "[[16, 100], [16]]", "['float', 'int']", "[]");
	expect_work(8000, 6400 + 64 + 64, "vector_fp32");
	expect_parameter("B", "16");
	expect_parameter("V", "100");
	model("CrossEntropyFunction", "[[16, 100]]", "['float']", "[]");
	expect_work(8000, 6400 + 128 + 64, "vector_fp32");
	model("CrossEntropyFunction", "[[16, 100], [17]]", "['float', 'long int']", "[]");
	expect_failure("targets");
	model("CrossEntropyFunction", "[[16, 0], [16]]", "['float', 'long int']", "[]");
	expect_failure("targets");
}

/* ---- hyper-connections: 3 tokens of 4 streams of 8, 24 weights */

/* For every stream and element: x and each stream times a weight, added up. */
static double post_flops(int m, int n, int c)
{
	double flops = 0;
	int t, j, i, k;

	for (t = 0; t < m; t++)
		for (j = 0; j < n; j++)
			for (k = 0; k < c; k++)
				for (i = 0; i < n + 1; i++)
					flops += 2;
	return flops;
}

static void hyper_connections(void **state)
{
	double product = 2. * 3 * 24 * 32;

	(void)state;
	model("aiter::mhc_post", "[[3, 4, 8], [3, 8], [3, 4, 8], [3, 4, 1], [3, 4, 4]]",
	      "['float', 'float', 'float', 'float', 'float']", "[]");
	expect_work(post_flops(3, 4, 8), 4 * (96 + 24 + 96 + 12 + 48), "vector_fp32");
	model("aiter::mhc_pre_gemm_sqrsum", "[[2, 3, 24], [2, 3], [3, 4, 8], [24, 32], []]",
	      "['float', 'float', 'c10::BFloat16', 'float', 'Scalar']", "['', '', '', '', '128']");
	expect_work(product, 4 * 144 + 4 * 6 + 2 * 96 + 4 * 768, "matrix_bf16");
	expect_parameter("hc3", "24");
	expect_parameter("K", "32");
	/* the streams as one row */
	model("aiter::mhc_pre_gemm_sqrsum", "[[2, 3, 24], [2, 3], [3, 32], [24, 32], []]",
	      "['float', 'float', 'c10::BFloat16', 'float', 'Scalar']", "[]");
	expect_work(product, 4 * 144 + 4 * 6 + 2 * 96 + 4 * 768, "matrix_bf16");
	model("aiter::mhc_pre_big_fuse_rmsnorm",
	      "[[3, 4, 1], [3, 4, 4], [3, 8], [1, 3, 24], [1, 3], [3], [24], [3, 4, 8], [8]]",
	      "['float', 'float', 'c10::BFloat16', 'float', 'float', 'float', 'float',"
	      " 'c10::BFloat16', 'c10::BFloat16']",
	      "[]");
	expect_work(2. * 3 * 8 * 4 + 5 * 3 * 8, 4 * (12 + 48 + 72 + 3 + 3 + 24) + 2 * (24 + 96 + 8),
		    "vector_bf16");
	model("aiter::mhc_fused_post_pre_gemm_sqrsum",
	      "[[1, 3, 24], [1, 3], [3, 4, 8], [3, 8], [3, 4, 8], [3, 4, 1], [3, 4, 4], [24, 32]]",
	      "['float', 'float', 'c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16', 'float',"
	      " 'float', 'float']",
	      "[]");
	expect_work(post_flops(3, 4, 8) + product,
		    4 * (72 + 3 + 12 + 48 + 768) + 2 * (96 + 24 + 96), "matrix_bf16");
	model("aiter::mhc_post", "[[3, 4, 8], [3, 9]]", "['float', 'float']", "[]");
	expect_failure("no operand matches");
	model("aiter::mhc_pre_gemm_sqrsum", "[[2, 3, 24], [2, 3], [3, 4, 8], [24, 33]]",
	      "['float', 'float', 'float', 'float']", "[]");
	expect_failure("does not match");
}

static void sizes_scale(void **state)
{
	double f, y;

	(void)state;
	model("aiter::mixed_sample_outer_exponential", "[[8], [8, 64], [8, 64], [8]]",
	      "['int', 'float', 'float', 'float']", "[]");
	f = model_flops();
	y = model_bytes();
	model("aiter::mixed_sample_outer_exponential", "[[16], [16, 64], [16, 64], [16]]",
	      "['int', 'float', 'float', 'float']", "[]");
	assert_true(model_flops() == 2 * f && model_bytes() == 2 * y);
	model("aiter::mixed_sample_outer_exponential", "[[8], [8, 128], [8, 128], [8]]",
	      "['int', 'float', 'float', 'float']", "[]");
	assert_true(model_flops() == 2 * f && model_bytes() - y == 8. * 64 * 8);
	/* of an unknown type the FLOPs are known */
	model("aiter::mixed_sample_outer_exponential", "[[8], [8, 64], [8, 64], [8]]",
	      "['int', 'A', 'float', 'float']", "[]");
	expect_work(f, NAN, "");
}

/* Nothing was recorded, or less than the sizes tell: what is asked has its fallback. */
static void values_that_were_not_recorded(void **state)
{
	static const char dims[] = "[[8, 16], [16, 4], []]", values[] = "['', '2']";
	struct tw_call_texts texts[] = {
		{ .name = { "x", 1 }, .dims = { dims, sizeof(dims) - 1 } },
		{ .name = { "x", 1 },
		  .dims = { dims, sizeof(dims) - 1 },
		  .concrete = { values, sizeof(values) - 1 } },
		{ .name = { "x", 1 } },
	};
	struct tw_dims list;
	struct tw_call call;
	double real;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		tw_call_read(&call, &texts[i]);
		assert_int_equal(tw_value_integer(&call, 2, 7), 7);
		assert_false(tw_value_true(&call, 2, false));
		assert_false(tw_value_list(&call, 2, &list));
		assert_int_equal(tw_value_reals(&call, 2, &real, 1), 0);
	}
	/* The mask of the gradients that are asked for was not recorded: all of them are. */
	model("aten::convolution_backward",
	      "[[1, 4, 8, 8], [1, 3, 8, 8], [4, 3, 1, 1], [], [], [], [], [], [], [], []]",
	      "['float', 'float', 'float']", "");
	assert_true(model_flops() > 0 || isnan(model_flops()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_have_models),
		cmocka_unit_test(no_model_trusts_its_arguments),
		cmocka_unit_test(examples),
		cmocka_unit_test(rotary_embedding),
		cmocka_unit_test(fused_rotary_embedding),
		cmocka_unit_test(state_spaces),
		cmocka_unit_test(cross_entropy),
		cmocka_unit_test(hyper_connections),
		cmocka_unit_test(sizes_scale),
		cmocka_unit_test(values_that_were_not_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
