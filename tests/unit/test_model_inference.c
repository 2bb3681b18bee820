#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/requests.h"
#include "models.h"

#define BF16_3 "['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16']"

/* ---- annotations */

/* In memory that ends where the text ends. */
static struct tw_requests read(const char *text)
{
	size_t len = strlen(text);
	char *copy = malloc(len + !len);
	struct tw_requests r;
	bool found;

	assert_non_null(copy);
	memcpy(copy, text, len);
	found = tw_requests_read(&r, copy, len);
	assert_true(found == r.known);
	free(copy);
	return r;
}

static bool same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static void expect_sums(const char *text, const double c[4], const double g[4])
{
	struct tw_requests r = read(text);

	if (!r.known || !same(r.context.sq, c[0]) || !same(r.context.sk, c[1]) ||
	    !same(r.context.sqsq, c[2]) || !same(r.context.sqsk, c[3]) ||
	    !same(r.generation.sq, g[0]) || !same(r.generation.sk, g[1]) ||
	    !same(r.generation.sqsq, g[2]) || !same(r.generation.sqsk, g[3]))
		fail_msg("%s: %d, c %g %g %g %g, g %g %g %g %g", text, r.known, r.context.sq,
			 r.context.sk, r.context.sqsq, r.context.sqsk, r.generation.sq,
			 r.generation.sk, r.generation.sqsq, r.generation.sqsk);
}

static const double nothing[4] = { 0, 0, 0, 0 };

static void annotations_of_vllm(void **state)
{
	(void)state;
	expect_sums(
		"execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)",
		nothing, (double[]){ 32, 32785, 32, 32785 });
	expect_sums("execute_3_context_1(sq8sk8sqsq64sqsk64)_generation_2(sq2sk30sqsq2sqsk30)",
		    (double[]){ 8, 8, 64, 64 }, (double[]){ 2, 30, 2, 30 });
	/* tokens alone: one request, several of several tokens, one token each */
	expect_sums("execute_context_1(512)_generation_0(0)", (double[]){ 512, NAN, 262144, NAN },
		    nothing);
	expect_sums("execute_context_2(512)_generation_30(30)", (double[]){ 512, NAN, NAN, NAN },
		    (double[]){ 30, NAN, 30, NAN });
}

static void annotations_of_sglang(void **state)
{
	(void)state;
	expect_sums("step[DECODE bs=32]", nothing, (double[]){ 32, NAN, 32, NAN });
	expect_sums("step[EXTEND bs=2 toks=700]", (double[]){ 700, NAN, NAN, NAN }, nothing);
	expect_sums("step[MIXED bs=4 toks=515 c_sq=512 c_sk=600 c_sqsq=262144 c_sqsk=307200 "
		    "g_sq=3 g_sk=90 g_sqsq=3 g_sqsk=90]",
		    (double[]){ 512, 600, 262144, 307200 }, (double[]){ 3, 90, 3, 90 });
	expect_sums("step[DECODE bs=2 toks=2 g_sq=2 g_sk=50 g_sqsq=2 g_sqsk=50]", nothing,
		    (double[]){ 2, 50, 2, 50 });
}

static void annotations_of_atom(void **state)
{
	(void)state;
	expect_sums("decode[bs=8 tok=8 sk=800 sqsq=8 sqsk=800]", nothing,
		    (double[]){ 8, 800, 8, 800 });
	expect_sums("prefill[bs=1 tok=16 sk=16 sqsq=256 sqsk=256]", (double[]){ 16, 16, 256, 256 },
		    nothing);
	expect_sums("prefill[bs=1 tok=16 sk=16 sqsq=256 sqsk=256] decode[bs=1 tok=1 sk=9 sqsq=1 "
		    "sqsk=9]",
		    (double[]){ 16, 16, 256, 256 }, (double[]){ 1, 9, 1, 9 });
}

static void other_texts(void **state)
{
	static const char *const texts[] = {
		"",
		"execute_",
		"execute_diffusion_1_256x256",
		"execute_32_context_0(sq0sk0sqsq0sqsk0)",
		"execute_32_context_0(sq0sk0sqsq0)_generation_1(1)",
		"execute_context_(1)_generation_1(1)",
		"execute_1_context_1(99999999999999999999999)_generation_0(0)",
		"step[",
		"step[IDLE bs=0]",
		"step[MIXED bs=4 toks=515]",
		"step[DECODE bs=x]",
		"decode[",
		"decode[bs=1",
		"decode[tok]",
		"decode[bs=1] tok=5",
		"ProfilerStep#3",
	};
	char long_text[64];
	size_t i, n;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (read(texts[i]).known)
			fail_msg("'%s' was understood", texts[i]);
	/* cut anywhere */
	snprintf(long_text, sizeof(long_text), "execute_context_2(512)_generation_30(30)");
	for (n = strlen(long_text); n--;) {
		long_text[n] = '\0';
		assert_false(read(long_text).known);
	}
}

/* ---- models */

static void set_requests(struct tw_call *call, const void *text)
{
	tw_requests_read(&call->requests, text, strlen(text));
}

static void served(const char *op, const char *dims, const char *types, const char *concrete,
		   const char *annotation)
{
	model_with(op, dims, types, concrete, set_requests, annotation);
}

/* The example of src/model/families/inference_attention.c. */
static void example(void **state)
{
	(void)state;
	served("vllm::unified_attention_with_output", "[[1, 2, 8], [1, 1, 8], [1, 1, 8]]", BF16_3,
	       "[]", "execute_1_context_0(sq0sk0sqsq0sqsk0)_generation_1(sq1sk4sqsq1sqsk4)");
	expect_work(256, 192, "matrix_bf16");
	expect_parameter("H_Q", "2");
	expect_parameter("H_KV", "1");
	expect_parameter("d_h_qk", "8");
	expect_parameter("g_sqsk", "4");
}

/* Requests of (new, attended) tokens: the first `prompts` are read, the others write. */
struct request {
	int q, k;
};

static const char *annotate(const struct request *r, int count, int prompts)
{
	static char text[300];
	int s[2][4] = { { 0 }, { 0 } }, i;

	for (i = 0; i < count; i++) {
		int *sum = s[i >= prompts];

		sum[0] += r[i].q;
		sum[1] += r[i].k;
		sum[2] += r[i].q * r[i].q;
		sum[3] += r[i].q * r[i].k;
	}
	snprintf(text, sizeof(text),
		 "execute_%d_context_%d(sq%dsk%dsqsq%dsqsk%d)_generation_%d(sq%dsk%dsqsq%dsqsk%d)",
		 count, prompts, s[0][0], s[0][1], s[0][2], s[0][3], count - prompts, s[1][0],
		 s[1][1], s[1][2], s[1][3]);
	return text;
}

/*
 * Of each request by itself: q k pairs, less half of q q where the prompt is causal; its new tokens
 * and what was before them.
 */
static void agrees_with_loops(void **state)
{
	static const struct request r[] = { { 8, 8 }, { 4, 10 }, { 1, 20 }, { 1, 7 }, { 2, 9 } };
	int prompts, i, j, h, hq = 6, hkv = 2, dqk = 5, dv = 3;

	(void)state;
	for (prompts = 0; prompts <= 5; prompts++) {
		double flops = 0, bytes = 0, tokens = 0;
		char dims[200];

		for (i = 0; i < 5; i++) {
			double pairs = 0;

			for (j = 0; j < r[i].q; j++)
				pairs += i < prompts ? r[i].k - r[i].q / 2. : r[i].k;
			for (h = 0; h < hq; h++)
				flops += pairs * 2 * (dqk + dv);
			bytes += r[i].q * (hq + hkv) * (dqk + dv) * 2;	   /* queries in bf16 */
			bytes += (r[i].k - r[i].q) * hkv * (dqk + dv) * 1; /* a cache in fp8 */
			tokens += r[i].q;
		}
		snprintf(dims, sizeof(dims), "[[%g, 6, 5], [50, 16, 2, 5], [50, 16, 2, 3]]",
			 tokens);
		served("aiter::mha_varlen_fwd", dims,
		       "['c10::BFloat16', 'c10::Float8_e4m3fn', 'c10::Float8_e4m3fn']", "[]",
		       annotate(r, 5, prompts));
		expect_work(flops, bytes, "matrix_bf16");
		expect_parameter("d_h_v", "3");
	}
}

static void same_wherever_the_operands_are(void **state)
{
	const char *step = "decode[bs=2 tok=2 sk=30 sqsq=2 sqsk=30]";
	double flops = 2. * 4 * 30 * 32, bytes = 2. * (2 * 6 * 32 + 28 * 2 * 32);

	(void)state;
	served("aiter::fmha_v3_varlen_fwd", "[[2, 4, 16], [64, 2, 16], [64, 2, 16]]", BF16_3, "[]",
	       step);
	expect_work(flops, bytes, "matrix_bf16");
	served("aiter::mha_batch_prefill", "[[2, 4, 16], [9, 8, 2, 16], [9, 8, 2, 16]]", BF16_3,
	       "[]", step);
	expect_work(flops, bytes, "matrix_bf16");
	served("sglang_profiler::attention_paged_attention_ragged",
	       "[[2, 4, 16], [1000], [2, 4, 16], [9, 8, 2, 16], [9, 8, 2, 16]]",
	       "['c10::BFloat16', 'float', 'c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16']",
	       "[]", step);
	expect_work(flops, bytes, "matrix_bf16");
	/* pages of vectors of 8 */
	served("aiter::pa_decode_gluon",
	       "[[2, 4, 16], [2, 4, 16], [9, 2, 2, 32, 8], [9, 2, 16, 32]]",
	       "['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16']", "[]", step);
	expect_work(flops, bytes, "matrix_bf16");
	served("aiter::pa_decode_gluon",
	       "[[2, 4, 16], [2, 4, 16], [9, 2, 2, 32, 8], [9, 2, 4, 16, 8]]",
	       "['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16']", "[]", step);
	expect_work(flops, bytes, "matrix_bf16");
}

/* A window of 10 tokens: two requests see 20 of 30, and prompts are another operation's. */
static void sliding_window(void **state)
{
	const char *values = "['', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '',"
			     " '', '', '10', 'True']";

	(void)state;
	served("aiter::pa_decode_gluon",
	       "[[2, 4, 16], [2, 4, 16], [9, 2, 2, 32, 8], [9, 2, 16, 32]]",
	       "['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16']", values,
	       "execute_3_context_1(sq7sk7sqsq49sqsk49)_generation_2(sq2sk30sqsq2sqsk30)");
	expect_work(2. * 4 * 20 * 32, 2. * (2 * 6 * 32 + 18 * 2 * 32), "matrix_bf16");
}

static void latent_attention(void **state)
{
	(void)state;
	/* 2 requests, 100 tokens in all; 16 heads; latents of 576, values their first 512 */
	served("pseudo_mla_decode_fwd",
	       "[[2, 16, 576], [50, 1, 1, 576], [3], [3], [100], [2], [], [2, 4, 16, 512],"
	       " [2, 4, 16, 1], [2, 16, 512]]",
	       "['c10::BFloat16', 'c10::Float8_e4m3fn', 'int', 'int', 'int', 'int', 'Scalar',"
	       " 'float', 'float', 'c10::BFloat16']",
	       "[]", "decode[bs=2 tok=2 sk=100 sqsq=2 sqsk=100]");
	expect_work(2. * 16 * 100 * (576 + 512), 2 * (2 * 16 * (576 + 512) + 2 * 576) + 98 * 576,
		    "matrix_bf16");
	expect_parameter("d_h_v", "512");
	served("pseudo_mla_decode_fwd", "[[2, 16, 576], [50, 1, 1, 576]]",
	       "['c10::BFloat16', 'c10::BFloat16']", "[]",
	       "decode[bs=2 tok=2 sk=100 sqsq=2 sqsk=100]");
	expect_failure("value size unknown");
	/* a prompt of 10; the other requests of the step are another operation's */
	served("pseudo_mla_prefill_fwd", "[[10, 4, 192], [10, 4, 192], [10, 4, 128]]", BF16_3, "[]",
	       "prefill[bs=1 tok=10 sk=10 sqsq=100 sqsk=100] decode[bs=1 tok=1 sk=9 sqsq=1 sqsk=9]");
	expect_work(4. * (200 - 100) * 320, 2. * 10 * 8 * 320, "matrix_bf16");
}

/* The same with a vector a token in the cache: 2 requests, 100 tokens in all. */
static void latent_attention_of_tokens(void **state)
{
	(void)state;
	served("sgl_kernel::fwd_kvcache_mla",
	       "[[2, 16, 576], [100, 576], [], [2], [2, 50], [], [], [1], [3], [], []]",
	       "['c10::BFloat16', 'c10::BFloat16', 'Scalar', 'int', 'int', 'Scalar', 'Scalar', 'int',"
	       " 'int', 'Scalar', '']",
	       "['', '', '512', '', '', '0.1', 'False', '', '', 'False', '']",
	       "decode[bs=2 tok=2 sk=100 sqsq=2 sqsk=100]");
	expect_work(2. * 16 * 100 * (576 + 512), 2 * (2 * 16 * (576 + 512) + 100 * 576),
		    "matrix_bf16");
}

/* 2 requests with 4096 tokens between them, 2048 each; 64 heads of 512. */
static void v4_decode(void **state)
{
	static const struct {
		const char *op, *concrete;
		double keys;
	} cases[] = {
		{ "pseudo_v4_paged_decode_swa", "[]", 128 },
		{ "pseudo_v4_paged_decode_csa", "[]", 128 + 512 },
		{ "pseudo_v4_paged_decode_hca", "[]", 128 + 16 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		served(cases[i].op, "[[2, 64, 512], [99, 512]]",
		       "['c10::BFloat16', 'c10::Float8_e4m3fn']", cases[i].concrete,
		       "decode[bs=2 tok=2 sk=4096 sqsq=2 sqsk=4096]");
		expect_work(2 * 2 * cases[i].keys * 64 * 1024,
			    2. * 2 * 64 * 1024 + 2 * cases[i].keys * 512, "matrix_bf16");
	}
	/* short: 40 tokens are 40, and 10 compressed ones */
	served("pseudo_v4_paged_decode_csa", "[[2, 64, 512], [99, 512]]",
	       "['c10::BFloat16', 'c10::BFloat16']", "[]",
	       "decode[bs=2 tok=2 sk=80 sqsq=2 sqsk=80]");
	expect_work(2. * 2 * 50 * 64 * 1024, 2. * (2 * 64 * 1024 + 2 * 50 * 512), "matrix_bf16");
	/* long: 512 or 1024 are picked */
	served("pseudo_v4_paged_decode_csa", "[[1, 64, 512], [99, 512]]",
	       "['c10::BFloat16', 'c10::BFloat16']", "[]",
	       "decode[bs=1 tok=1 sk=9000 sqsq=1 sqsk=9000]");
	expect_failure("indexer");
	served("pseudo_v4_paged_decode_csa", "[[1, 64, 512], [99, 512], []]",
	       "['c10::BFloat16', 'c10::BFloat16', 'Scalar']", "['', '', '1024']",
	       "decode[bs=1 tok=1 sk=9000 sqsq=1 sqsk=9000]");
	expect_work(2. * 1152 * 64 * 1024, 2. * (64 * 1024 + 1152 * 512), "matrix_bf16");
}

static void sparse(void **state)
{
	(void)state;
	/* 3 queries of 8 heads; 40 + 60 pairs */
	model("aiter::pa_sparse_prefill_opus_fwd",
	      "[[3, 8, 32], [500, 32], [40], [4], [700, 32], [60]]",
	      "['c10::BFloat16', 'c10::Float8_e4m3fn', 'int', 'int', 'c10::Float8_e4m3fn', 'int']",
	      "[]");
	expect_work(100. * 8 * 2 * 64, 2 * 3 * 8 * 32 * 2 + 100 * 32, "matrix_bf16");
	/* 3 queries of 8 heads with 16 keys each */
	model("sglang_profiler::tilelang_kernel_tilelang_sparse_fwd",
	      "[[3, 8, 576], [500, 1, 576], [3, 1, 16]]",
	      "['c10::BFloat16', 'c10::BFloat16', 'int']", "[]");
	expect_work(2. * 48 * 8 * 1088, 2. * (3 * 8 * 1088 + 48 * 576), "matrix_bf16");
	/* they see 30 in all */
	served("sglang_profiler::tilelang_kernel_tilelang_sparse_fwd",
	       "[[3, 8, 576], [500, 1, 576], [3, 1, 16]]",
	       "['c10::BFloat16', 'c10::BFloat16', 'int']", "[]",
	       "decode[bs=3 tok=3 sk=30 sqsq=3 sqsk=30]");
	expect_work(2. * 30 * 8 * 1088, 2. * (3 * 8 * 1088 + 30 * 576), "matrix_bf16");
}

static void linear_attention_and_cache(void **state)
{
	(void)state;
	/* 5 tokens, 4 heads of values and 2 of keys, all of 16: 2 x 2 x 16 + 4 x 16 = 128 */
	model("vllm::gdn_attention_core", "[[5, 128], [5, 4], [5, 4], [5, 4, 16]]",
	      "['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16']", "[]");
	expect_work(7. * 5 * 4 * 256, 2. * 5 * 4 * 50, "matrix_bf16");
	model("aiter::linear_attention_with_output_base", "[[5, 120], [5, 4], [5, 4], [5, 4, 16]]",
	      "['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16']", "[]");
	expect_failure("key size unknown");
	model("sglang::store_cache", "[[5, 2, 16], [5, 2, 16], [99, 2, 16], [99, 2, 16], [5]]",
	      BF16_3, "[]");
	expect_work(0, 4 * 160 * 2, "vector_bf16");
}

static void what_makes_no_sense(void **state)
{
	const char *dims = "[[1, 2, 8], [1, 1, 8], [1, 1, 8]]";

	(void)state;
	model("aiter::mha_varlen_fwd", dims, BF16_3, "[]");
	expect_failure("requests of the step unknown");
	served("vllm::unified_attention_with_output", dims, BF16_3, "[]",
	       "execute_0_context_0(sq0sk0sqsq0sqsk0)_generation_0(sq0sk0sqsq0sqsk0)");
	expect_failure("no active request");
	served("vllm::unified_attention_with_output", dims, BF16_3, "[]",
	       "decode[bs=1 tok=5 sk=4 sqsq=25 sqsk=20]");
	expect_failure("fewer tokens than they add");
	served("vllm::unified_attention_with_output", "[[1, 3, 8], [1, 2, 8], [1, 2, 8]]", BF16_3,
	       "[]", "decode[bs=1 tok=1 sk=4 sqsq=1 sqsk=4]");
	expect_failure("multiple of key heads");
	served("vllm::unified_attention_with_output", "[[1, 16], [1, 8], [1, 8]]", BF16_3, "[]",
	       "decode[bs=1 tok=1 sk=4 sqsq=1 sqsk=4]");
	expect_failure("not queries");
	/* the lengths are not known, nor then is the work */
	served("aiter::mha_varlen_fwd", dims, BF16_3, "[]", "step[DECODE bs=1]");
	expect_work(NAN, NAN, "matrix_bf16");
	/* but what is new: 16 elements of a query, 8 of a key and of a value, 16 of the result */
	served("vllm::unified_attention_with_output", dims, BF16_3, "[]", "step[DECODE bs=1]");
	expect_work(NAN, 96, "matrix_bf16");
	model("vllm::unified_attention_with_output", dims, BF16_3, "[]");
	expect_work(NAN, 96, "matrix_bf16");
	served("vllm::unified_attention_with_output", dims, "['A', 'B', 'C']", "[]",
	       "decode[bs=1 tok=1 sk=4 sqsq=1 sqsk=4]");
	expect_work(256, NAN, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(annotations_of_vllm),
		cmocka_unit_test(annotations_of_sglang),
		cmocka_unit_test(annotations_of_atom),
		cmocka_unit_test(other_texts),
		cmocka_unit_test(example),
		cmocka_unit_test(agrees_with_loops),
		cmocka_unit_test(same_wherever_the_operands_are),
		cmocka_unit_test(sliding_window),
		cmocka_unit_test(latent_attention),
		cmocka_unit_test(latent_attention_of_tokens),
		cmocka_unit_test(v4_decode),
		cmocka_unit_test(sparse),
		cmocka_unit_test(linear_attention_and_cache),
		cmocka_unit_test(what_makes_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
