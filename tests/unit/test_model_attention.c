#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models.h"

#define BF16_3 "['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16']"

/* The example of src/model/families/attention.c. */
static void example(void **state)
{
	const char *dims = "[[2, 4, 8, 16], [2, 4, 8, 16], [2, 4, 8, 16], [], [], [], []]";
	const char *concrete = "['', '', '', '0.', 'False', 'False', '0.25']";

	(void)state;
	model("aten::_scaled_dot_product_flash_attention", dims, BF16_3, concrete);
	expect_work(32768, 8192, "matrix_bf16");
	expect_parameter("B", "2");
	expect_parameter("N_Q", "8");
	expect_parameter("H_Q", "4");
	expect_parameter("N_KV", "8");
	expect_parameter("H_KV", "4");
	expect_parameter("d_h_qk", "16");
	expect_parameter("d_h_v", "16");
	expect_parameter("dropout", "0.0");
	expect_parameter("causal", "False");
	expect_parameter("flash_impl", "True");
	expect_parameter("dtype_A_B", "('c10::BFloat16', 'c10::BFloat16')");
	model_backward("aten::_scaled_dot_product_flash_attention", dims, BF16_3, concrete);
	expect_work(81920, 14336, "matrix_bf16");
}

/* ---- by counting */

enum { BOTTOM_RIGHT, TOP_LEFT };

struct sizes {
	int b, hq, hkv, nq, nkv, dqk, dv;
	bool causal;
	int align;
};

static bool sees(const struct sizes *s, int query, int key)
{
	return !s->causal || key <= query + (s->align == TOP_LEFT ? 0 : s->nkv - s->nq);
}

/* Multiply-adds of the products that have `inner` steps for every visible pair. */
static double steps(const struct sizes *s, int inner)
{
	double count = 0;
	int b, h, i, j, d;

	for (b = 0; b < s->b; b++)
		for (h = 0; h < s->hq; h++)
			for (i = 0; i < s->nq; i++)
				for (j = 0; j < s->nkv; j++)
					for (d = 0; sees(s, i, j) && d < inner; d++)
						count++;
	return count;
}

/* Half of all by convention where the mask is a square. */
static double product(const struct sizes *s, int inner)
{
	struct sizes all = *s;

	if (!s->causal || s->nq != s->nkv)
		return 2 * steps(s, inner);
	all.causal = false;
	return 2 * steps(&all, inner) / 2;
}

static double forward(const struct sizes *s)
{
	return product(s, s->dqk) + product(s, s->dv);
}

static double backward(const struct sizes *s, bool flash)
{
	double flops = 0;
	int b, j, h, d;

	if (flash)
		flops += product(s, s->dqk); /* S = Q K^T again */
	flops += product(s, s->dv);	     /* dP = dO V^T */
	flops += product(s, s->dv);	     /* dV = P^T dO */
	flops += product(s, s->dqk);	     /* dQ = dS K */
	flops += product(s, s->dqk);	     /* dK = dS^T Q */
	/* the gradients of every head of a group but the first are added to the first's */
	for (b = 0; b < s->b; b++)
		for (j = 0; j < s->nkv; j++)
			for (h = 0; h < s->hq; h++)
				for (d = 0; h % (s->hq / s->hkv) && d < s->dqk + s->dv; d++)
					flops++;
	return flops;
}

/* Elements of q, k, v and out; backward also of three gradients. */
static double moved(const struct sizes *s, bool is_backward)
{
	double q = s->b * s->nq * s->hq * s->dqk, k = s->b * s->nkv * s->hkv * s->dqk;
	double v = s->b * s->nkv * s->hkv * s->dv, out = s->b * s->nq * s->hq * s->dv;

	return (is_backward ? 2 : 1) * (q + k + v) + out;
}

/* Three tensors, behind `before` empty ones. */
static const char *write_dims(const struct sizes *s, bool heads_first, unsigned before)
{
	static char text[400];
	int n[3] = { s->nq, s->nkv, s->nkv }, h[3] = { s->hq, s->hkv, s->hkv };
	int d[3] = { s->dqk, s->dqk, s->dv }, i;
	size_t len = 0;

	text[len++] = '[';
	while (before--)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "[], ");
	for (i = 0; i < 3; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s[%d, %d, %d, %d]",
					i ? ", " : "", s->b, heads_first ? h[i] : n[i],
					heads_first ? n[i] : h[i], d[i]);
	snprintf(text + len, sizeof(text) - len, "]");
	return text;
}

/* `count` values, of which `causal` is at one place and a dropout at another. */
static const char *write_values(unsigned count, unsigned dropout, unsigned at, const char *causal)
{
	static char text[400];
	size_t len = 0;
	unsigned i;

	text[len++] = '[';
	for (i = 0; i < count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s'%s'", i ? ", " : "",
					i == at	     ? causal :
					i == dropout ? "0.5" :
						       "");
	snprintf(text + len, sizeof(text) - len, "]");
	return text;
}

static const struct sizes sizes[] = {
	{ 1, 1, 1, 4, 4, 3, 5, false, 0 }, { 2, 4, 2, 5, 7, 4, 2, false, 0 },
	{ 2, 4, 4, 6, 6, 8, 8, true, 0 },  { 2, 6, 2, 6, 6, 3, 5, true, 0 },
	{ 1, 4, 1, 3, 9, 4, 4, true, 0 },  { 3, 2, 2, 9, 4, 2, 6, true, 0 },
	{ 1, 2, 1, 1, 8, 4, 4, true, 0 },  { 2, 8, 2, 5, 4, 1, 1, false, 0 },
};

struct operation {
	const char *op;
	bool heads_first, is_backward, flash;
	unsigned before, dropout, causal, values;
	int align;
	const char *yes, *no;
};

/* Positions from the public signatures; see src/model/families/attention.c. */
static const struct operation operations[] = {
	{ "FlashAttnFunc", 0, 0, 1, 0, 3, 5, 8, 0, "True", "False" },
	{ "flash_attn::_flash_attn_forward", 0, 0, 1, 0, 3, 5, 11, 0, "True", "False" },
	{ "flash_attn::_flash_attn_backward", 0, 1, 1, 1, 9, 11, 18, 0, "True", "False" },
	{ "flash_attn::_flash_attn_backward", 0, 1, 1, 1, 8, 10, 17, 0, "True", "False" },
	{ "aten::_scaled_dot_product_flash_attention", 1, 0, 1, 0, 3, 4, 7, 0, "True", "False" },
	{ "aten::_scaled_dot_product_efficient_attention", 1, 0, 0, 0, 5, 6, 8, TOP_LEFT, "True",
	  "False" },
	{ "aten::_scaled_dot_product_cudnn_attention", 1, 0, 0, 0, 5, 6, 9, TOP_LEFT, "True",
	  "False" },
	{ "aten::_scaled_dot_product_flash_attention_backward", 1, 1, 1, 1, 10, 11, 15, 0, "True",
	  "False" },
	{ "aten::_scaled_dot_product_efficient_attention_backward", 1, 1, 0, 1, 9, 11, 13, TOP_LEFT,
	  "True", "False" },
	{ "aten::_scaled_dot_product_cudnn_attention_backward", 1, 1, 0, 1, 13, 14, 16, TOP_LEFT,
	  "True", "False" },
	{ "aten::_flash_attention_forward", 0, 0, 1, 0, 7, 8, 15, 0, "True", "False" },
	{ "aten::_flash_attention_backward", 0, 1, 1, 1, 10, 11, 17, 0, "True", "False" },
	{ "aten::_efficient_attention_forward", 0, 0, 0, 0, 8, 9, 14, TOP_LEFT, "1", "0" },
	{ "aten::_efficient_attention_forward", 0, 0, 0, 0, 8, 9, 14, 0, "2", "0" },
	{ "aten::_efficient_attention_backward", 0, 1, 0, 1, 11, 14, 20, TOP_LEFT, "1", "0" },
	{ "aten::_scaled_dot_product_attention_math", 1, 0, 0, 0, 4, 5, 9, TOP_LEFT, "True",
	  "False" },
	{ "aten::scaled_dot_product_attention", 1, 0, 0, 0, 4, 5, 8, TOP_LEFT, "True", "False" },
	{ "aiter::_flash_attn_forward", 0, 0, 1, 0, 3, 5, 11, 0, "True", "False" },
	{ "aiter::mha_fwd", 0, 0, 1, 0, 3, 5, 11, 0, "True", "False" },
	{ "aiter::fmha_v3_fwd", 0, 0, 1, 0, 3, 5, 11, 0, "True", "False" },
	{ "aiter::_flash_attn_backward", 0, 1, 1, 1, 10, 12, 20, 0, "True", "False" },
	{ "aiter::wrapper_fmha_v3_fwd", 0, 0, 1, 1, 4, 6, 12, 0, "True", "False" },
	{ "aiter::wrapper_fmha_v3_bwd", 0, 1, 1, 1, 7, 9, 12, 0, "True", "False" },
	{ "aiter::mha_bwd", 0, 1, 1, 1, 6, 8, 12, 0, "True", "False" },
	{ "flash_attn_3::fwd", 0, 0, 1, 0, 0, 24, 34, 0, "True", "False" },
};

static void one_by_counting(const struct operation *o, struct sizes s)
{
	const char *types = o->before ? "['float', 'float', 'float', 'float']" :
					"['float', 'float', 'float']";
	const char *dims = write_dims(&s, o->heads_first, o->before);
	const char *values =
		write_values(o->values, o->dropout, o->causal, s.causal ? o->yes : o->no);

	s.align = o->align;
	model(o->op, dims, types, values);
	expect_work(o->is_backward ? backward(&s, o->flash) : forward(&s),
		    4 * moved(&s, o->is_backward), "matrix_fp32");
	expect_parameter("causal", s.causal ? "True" : "False");
	expect_parameter("dropout", o->dropout ? "0.5" : "0.0");
	expect_parameter("flash_impl", o->flash ? "True" : "False");
	if (o->is_backward)
		return;
	model_backward(o->op, dims, types, values);
	expect_work(backward(&s, o->flash), 4 * moved(&s, true), "matrix_fp32");
}

static void agrees_with_loops(void **state)
{
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		for (j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++)
			one_by_counting(&operations[i], sizes[j]);
}

static double flops_of(int b, int hq, int hkv, int nq, int nkv, int d, double *bytes)
{
	struct sizes s = { b, hq, hkv, nq, nkv, d, d, false, 0 };

	model("aten::_scaled_dot_product_flash_attention", write_dims(&s, true, 0), BF16_3,
	      "['', '', '', '0.0', 'False']");
	*bytes = model_bytes();
	return model_flops();
}

static void scales_with_each_size(void **state)
{
	double y, y2, f = flops_of(2, 4, 2, 8, 16, 32, &y);

	(void)state;
	assert_true(flops_of(4, 4, 2, 8, 16, 32, &y2) == 2 * f && y2 == 2 * y);
	assert_true(flops_of(2, 4, 2, 8, 16, 64, &y2) == 2 * f && y2 == 2 * y);
	assert_true(flops_of(2, 8, 4, 8, 16, 32, &y2) == 2 * f && y2 == 2 * y);
	/* more queries: only q and out grow; more keys: only k and v; more K/V heads: no work */
	assert_true(flops_of(2, 4, 2, 16, 16, 32, &y2) == 2 * f);
	assert_true(y2 - y == 2. * 2 * 2 * 8 * 4 * 32);
	assert_true(flops_of(2, 4, 2, 8, 32, 32, &y2) == 2 * f);
	assert_true(y2 - y == 2. * 2 * 2 * 16 * 2 * 32);
	assert_true(flops_of(2, 4, 4, 8, 16, 32, &y2) == f);
	assert_true(y2 - y == 2. * 2 * 2 * 16 * 2 * 32);
}

/*
 * 3 sequences, 20 tokens, the longest 10: 10, 5 and 5.  Two heads of 4: 2 x 2 x (100 + 25 + 25) x 8.
 */
static void packed_sequences(void **state)
{
	const char *dims = "[[20, 2, 4], [20, 2, 4], [20, 2, 4], [4], [4]]";
	const char *backward_dims =
		"[[20, 2, 4], [20, 2, 4], [20, 2, 4], [20, 2, 4], [20, 2, 4], [2, 20],"
		" [20, 2, 4], [20, 2, 4], [20, 2, 4], [4], [4]]";

	(void)state;
	model("flash_attn::_flash_attn_varlen_forward", dims, BF16_3,
	      "['', '', '', '', '', '10', '10', '0.', '0.5', 'False']");
	expect_work(2. * 2 * 150 * 8, 2 * 4 * 160, "matrix_bf16");
	expect_parameter("num_seqs_q", "3");
	expect_parameter("max_seqlen_kv", "10");
	expect_parameter("B", "1");
	model("flash_attn::_flash_attn_varlen_forward", dims, BF16_3,
	      "['', '', '', '', '', '10', '10', '0.', '0.5', 'True']");
	expect_work(2. * 2 * 75 * 8, 2 * 4 * 160, "matrix_bf16");
	model("flash_attn::_flash_attn_varlen_backward", backward_dims,
	      "['float', 'float', 'float', 'float']",
	      "['', '', '', '', '', '', '', '', '', '', '', '10', '10', '0.', '0.5', 'False']");
	expect_work(2. * 2 * 150 * 20, 4 * 7 * 160, "matrix_fp32");
	model("aten::_flash_attention_forward", dims, BF16_3,
	      "['', '', '', '', '', '10', '10', '0.', 'True', 'False']");
	expect_work(2. * 2 * 75 * 8, 2 * 4 * 160, "matrix_bf16");
	/* the same as one batch of B, N, H, D */
	model("aten::_efficient_attention_forward",
	      "[[1, 20, 2, 4], [1, 20, 2, 4], [1, 20, 2, 4], [], [4], [4]]", BF16_3,
	      "['', '', '', '', '', '', '10', '10', '0.', '0', 'False']");
	expect_work(2. * 2 * 150 * 8, 2 * 4 * 160, "matrix_bf16");
	/* one sequence */
	model("flash_attn::_flash_attn_varlen_forward",
	      "[[20, 2, 4], [20, 2, 4], [20, 2, 4], [2], [2]]", BF16_3,
	      "['', '', '', '', '', '20', '20', '0.', '0.5', 'False']");
	expect_work(2. * 2 * 400 * 8, 2 * 4 * 160, "matrix_bf16");
	model("flash_attn::_flash_attn_varlen_forward", dims, BF16_3,
	      "['', '', '', '', '', '30', '10', '0.', '0.5', 'True']");
	expect_failure("max sequence length exceeds");
	model("flash_attn::_flash_attn_varlen_forward", dims, BF16_3, "[]");
	expect_failure("causal");
}

/* Older versions of PyTorch do not give the longest of the keys. */
static void efficient_attention_without_longest_key(void **state)
{
	(void)state;
	model("aten::_efficient_attention_forward", "[[1, 4, 2, 8], [1, 4, 2, 8], [1, 4, 2, 8]]",
	      BF16_3, "['', '', '', '', '', '', '', '0.', '2', 'True', '', '', '']");
	expect_work(2. * 2 * 8 * 16, 2 * 4 * 64, "matrix_bf16");
	expect_parameter("causal", "True");
}

/* 8-bit q, k, v: a 16-bit result. (1, 4, 2, 8) each. */
static void sizes_of_elements(void **state)
{
	(void)state;
	model("flash_attn_3::fwd", "[[1, 4, 2, 8], [1, 4, 2, 8], [1, 4, 2, 8]]",
	      "['c10::Float8_e4m3fn', 'c10::Float8_e4m3fn', 'c10::Float8_e4m3fn']",
	      write_values(34, 0, 24, "False"));
	expect_work(2. * 2 * 16 * 16, 3 * 64 + 128, "matrix_fp8");
	model("flash_attn_3::fwd", "[[1, 4, 2, 8], [1, 4, 2, 8], [1, 4, 2, 8]]",
	      "['UnknownT', 'UnknownT', 'UnknownT']", write_values(34, 0, 24, "False"));
	expect_work(2. * 2 * 16 * 16, NAN, "");
}

/* B S batches of N: 2 x 3, 4 queries, 2 heads of 8. */
static void evoformer(void **state)
{
	const char *dims = "[[2, 3, 4, 2, 8], [2, 3, 4, 2, 8], [2, 3, 4, 2, 8]]";

	(void)state;
	model("EvoformerAttention", dims, BF16_3, "[]");
	expect_work(2. * 6 * 2 * 16 * 16, 4 * 2 * 6 * 64, "matrix_bf16");
	expect_parameter("B", "6");
	expect_parameter("flash_impl", "False");
	model_backward("EvoformerAttention", dims, BF16_3, "[]");
	expect_work(2. * 6 * 2 * 16 * 32, 7 * 2 * 6 * 64, "matrix_bf16");
	model("EvoformerAttention", "[[2, 4, 2, 8]]", "['float']", "[]");
	expect_failure("5-dimensional");
}

/* Batches of one head, and no batch at all. */
static void fewer_dimensions(void **state)
{
	(void)state;
	model("aten::scaled_dot_product_attention", "[[3, 4, 8], [3, 6, 8], [3, 6, 8]]",
	      "['float', 'float', 'float']", write_values(8, 4, 5, "False"));
	expect_work(2. * 3 * 24 * 16, 4. * 3 * (4 * 16 + 6 * 16), "matrix_fp32");
	expect_parameter("H_Q", "1");
	model("aten::scaled_dot_product_attention", "[[4, 8], [6, 8], [6, 8]]",
	      "['float', 'float', 'float']", write_values(8, 4, 5, "False"));
	expect_work(2. * 24 * 16, 4. * (4 * 16 + 6 * 16), "matrix_fp32");
}

static void what_makes_no_sense(void **state)
{
	static const struct {
		const char *dims, *reason;
	} cases[] = {
		{ "[[1, 2, 4, 8], [2, 2, 4, 8], [2, 2, 4, 8]]", "batches" },
		{ "[[1, 2, 4, 8], [1, 2, 4, 8], [1, 2, 5, 8]]", "keys and values" },
		{ "[[1, 2, 4, 8], [1, 2, 4, 8], [1, 1, 4, 8]]", "keys and values" },
		{ "[[1, 2, 4, 8], [1, 2, 4, 9], [1, 2, 4, 9]]", "queries and keys" },
		{ "[[1, 3, 4, 8], [1, 2, 4, 8], [1, 2, 4, 8]]", "multiple of key heads" },
		{ "[[1, 3, 4, 8], [1, 0, 4, 8], [1, 0, 4, 8]]", "multiple of key heads" },
		{ "[[1, 2, 4, 8], [1, 2, 4, 8]]", "not queries" },
		{ "[[8], [8], [8]]", "not queries" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		model("aten::_scaled_dot_product_flash_attention", cases[i].dims, BF16_3,
		      "['', '', '', '0.', 'False']");
		expect_failure(cases[i].reason);
	}
	model("aten::_scaled_dot_product_flash_attention",
	      "[[1, 2, 4, 8], [1, 2, 4, 8], [1, 2, 4, 8]]", BF16_3, "[]");
	expect_failure("causal");
	/* a paged cache */
	model("flash_attn_3::fwd",
	      "[[1, 4, 2, 8], [9, 4, 2, 8], [9, 4, 2, 8], [], [], [], [], [], [], [], [], [1], [],"
	      " [], [1, 9]]",
	      BF16_3, write_values(34, 0, 24, "True"));
	expect_failure("cached keys");
	/* nothing to do is an answer */
	model("aten::_scaled_dot_product_flash_attention",
	      "[[1, 2, 0, 8], [1, 2, 4, 8], [1, 2, 4, 8]]", BF16_3, "['', '', '', '0.', 'True']");
	expect_work(0, 256, "matrix_bf16");
}

/* Sizes at the edge of int64 end in a number or nothing, never in an overflow. */
static void huge_sizes(void **state)
{
	(void)state;
	model("aten::_scaled_dot_product_flash_attention",
	      "[[9223372036854775807, 1, 9223372036854775807, 9223372036854775807],"
	      " [9223372036854775807, 1, 9223372036854775807, 9223372036854775807],"
	      " [9223372036854775807, 1, 9223372036854775807, 9223372036854775807]]",
	      BF16_3, "['', '', '', '0.', 'True']");
	assert_true(isnan(model_bytes()));
	model("EvoformerAttention", "[[9223372036854775807, 3, 4, 2, 8]]", "['float']", "[]");
	expect_failure("too many");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example),
		cmocka_unit_test(agrees_with_loops),
		cmocka_unit_test(scales_with_each_size),
		cmocka_unit_test(packed_sequences),
		cmocka_unit_test(efficient_attention_without_longest_key),
		cmocka_unit_test(sizes_of_elements),
		cmocka_unit_test(evoformer),
		cmocka_unit_test(fewer_dimensions),
		cmocka_unit_test(what_makes_no_sense),
		cmocka_unit_test(huge_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
