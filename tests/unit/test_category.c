#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "edges.h"
#include "failing.h"
#include "scratch.h"
#include "standalone/category/category.h"
#include "standalone/literal.h"

/* ---- rules */

static void test_a_pattern_is_medium_at_least(void **state)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_percent_of_compute] = 1;
	facts.value[TW_FACT_pattern] = 0;
	assert_string_equal(tw_level_of("category_priority", &facts)->level, "Low");
	facts.value[TW_FACT_pattern] = 1;
	assert_string_equal(tw_level_of("category_priority", &facts)->level, "Medium");
}

/* Whether a rule of a scope holds. */
static bool says(const char *scope, const char *id, const struct tw_facts *facts)
{
	const struct tw_rule *rule = NULL;

	while ((rule = tw_rule_next(scope, facts, rule)))
		if (!strcmp(rule->id, id))
			return true;
	return false;
}

static void test_rules_of_gemms_at_each_boundary(void **state)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_efficiency_percent] = 39.99;
	facts.value[TW_FACT_too_short] = 0;
	facts.value[TW_FACT_weight] = 1;
	facts.value[TW_FACT_batched] = 0;
	facts.value[TW_FACT_count] = 2;
	facts.value[TW_FACT_quantized] = 0;
	facts.value[TW_FACT_flops_per_byte] = 200;
	assert_false(says("gemm", "compute_bound", &facts));
	facts.value[TW_FACT_flops_per_byte] = 200.01;
	assert_true(says("gemm", "compute_bound", &facts));
	assert_false(says("gemm", "memory_bound", &facts));
	facts.value[TW_FACT_efficiency_percent] = 40;
	assert_false(says("gemm", "compute_bound", &facts));
	facts.value[TW_FACT_efficiency_percent] = 39.99;
	facts.value[TW_FACT_flops_per_byte] = 100;
	assert_false(says("gemm", "memory_bound", &facts));
	facts.value[TW_FACT_flops_per_byte] = 99.99;
	assert_true(says("gemm", "memory_bound", &facts));
	assert_true(says("gemm", "quantize", &facts));
	assert_false(says("gemm", "quantized", &facts));
	facts.value[TW_FACT_quantized] = 1;
	assert_false(says("gemm", "quantize", &facts));
	assert_true(says("gemm", "quantized", &facts));

	tw_facts_init(&facts);
	facts.value[TW_FACT_gemm_m] = 8;
	facts.value[TW_FACT_gemm_n] = 16;
	facts.value[TW_FACT_gemm_k] = 64;
	facts.value[TW_FACT_batched] = 0;
	facts.value[TW_FACT_gemm_count] = 999;
	assert_false(says("gemm", "tiny_batched", &facts));
	facts.value[TW_FACT_gemm_count] = 1000;
	assert_true(says("gemm", "tiny_batched", &facts));
	facts.value[TW_FACT_gemm_k] = 65;
	assert_false(says("gemm", "tiny_batched", &facts));
}

static void test_few_large_and_many_small(void **state)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_operation_kinds] = 2;
	facts.value[TW_FACT_largest_percent] = 50.01;
	facts.value[TW_FACT_calls] = 101;
	facts.value[TW_FACT_mean_us] = 100;
	assert_true(says("any_overall", "few_large", &facts));
	assert_false(says("any_overall", "many_small", &facts));
	facts.value[TW_FACT_mean_us] = 19.99;
	assert_false(says("any_overall", "few_large", &facts));
	assert_true(says("any_overall", "many_small", &facts));
	facts.value[TW_FACT_calls] = 100;
	assert_false(says("any_overall", "many_small", &facts));
}

static bool advice_has(const struct tw_advice *advice, const char *id)
{
	unsigned i;

	for (i = 0; i < advice->count; i++)
		if (!strcmp(advice->rules[i]->id, id))
			return true;
	return false;
}

/* Whatever is known: both kinds of recommendation, and an issue. */
static void test_every_family_recommends_something(void **state)
{
	size_t i;
	unsigned known, k;

	for (i = 0; i < tw_category_family_count; i++) {
		for (known = 0; known < 2; known++) {
			struct tw_advice advice;
			struct tw_facts facts;
			bool issue, algorithmic = false, kernel = false;

			tw_facts_init(&facts);
			if (known) {
				facts.value[TW_FACT_efficiency_percent] = 10;
				facts.value[TW_FACT_flops_per_byte] = 150;
			}
			tw_category_advise(&advice, tw_category_families[i].family, &facts);
			issue = advice.achieved != NULL;
			for (k = 0; k < advice.count; k++) {
				algorithmic |= advice.rules[k]->algorithmic != NULL;
				kernel |= advice.rules[k]->kernel != NULL;
			}
			assert_true(issue && algorithmic && kernel);
			assert_int_equal(advice.patterns, 0);
		}
	}
}

static void test_families(void **state)
{
	assert_string_equal(tw_category_family("gemm")->family, "gemm");
	assert_string_equal(tw_category_family("groupedgemm_fwd")->family, "gemm");
	assert_string_equal(tw_category_family("sdpa_bwd")->family, "sdpa");
	assert_string_equal(tw_category_family("moe_unfused")->family, "moe");
	assert_string_equal(tw_category_family("batchnorm")->family, "norm");
	assert_string_equal(tw_category_family("norm_fwd")->family, "norm");
	assert_string_equal(tw_category_family("convolution")->family, "convolution");
	assert_string_equal(tw_category_family("ssm_fwd")->family, "other");
	assert_null(tw_category_family("ssm_fwd")->title);
}

/* ---- cells in Python's notation */

static const char *path_text(const struct tw_json_value *value, const char *key)
{
	return tw_json_text(tw_json_get(value, key));
}

static void test_literals(void **state)
{
	struct tw_arena arena;
	const struct tw_json_value *v;

	tw_arena_init(&arena, trawl_allocator_default());
	v = tw_literal_parse(&arena, "((512,), (141, 512), (), ((1, 2), (3,)))");
	assert_int_equal(v->type, TW_JSON_ARRAY);
	assert_int_equal(v->count, 4);
	assert_true(v->first->first->number == 512);
	assert_int_equal(v->first->next->count, 2);
	assert_int_equal(v->first->next->next->count, 0);
	v = tw_literal_parse(&arena, "{'convNd': conv2d, 'ok': True, 'none': None, 'x': -1.5e3, "
				     "'ops': aten.mul, aten.add, 'n': 3, \"it's\": 'a\\'b\\\\c'}");
	assert_int_equal(v->type, TW_JSON_OBJECT);
	assert_string_equal(path_text(v, "convNd"), "conv2d");
	assert_true(tw_json_true(tw_json_get(v, "ok")));
	assert_true(tw_json_is_null(tw_json_get(v, "none")));
	assert_true(tw_json_number(tw_json_get(v, "x")) == -1500);
	assert_int_equal(tw_json_get(v, "ops")->count, 2);
	assert_true(tw_json_number(tw_json_get(v, "n")) == 3);
	assert_string_equal(path_text(v, "it's"), "a'b\\c");
	v = tw_literal_parse(&arena, "[{'name': \"k'1\", 'count': 2}]");
	assert_string_equal(path_text(v->first, "name"), "k'1");
	tw_arena_release(&arena);
}

static void test_literals_that_are_none(void **state)
{
	static const char *const texts[] = { "",      "(",	 "(1",	  "(1,",      "'a",
					     "{'a'}", "{'a': }", "(1) 2", "{1: 2}",   ")",
					     "(,)",   "[1)",	 "((((",  "{'a': b,", ":" };
	char deep[200];
	struct tw_arena arena;
	size_t i;

	tw_arena_init(&arena, trawl_allocator_default());
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!tw_json_is_null(tw_literal_parse(&arena, texts[i])))
			fail_msg("'%s' is something", texts[i]);
	memset(deep, '(', 99);
	memset(deep + 99, ')', 100);
	deep[198] = '\0';
	assert_true(tw_json_is_null(tw_literal_parse(&arena, deep)));
	tw_arena_release(&arena);
}

/* ---- a directory */

#define HEADER                                                                                 \
	"name,Input Dims,Input type,ex_UID,operation_count,FLOPS/Byte,Compute Spec,"           \
	"Roofline Bound,TB/s_mean,TFLOPS/s_mean,Kernel Time (µs)_mean,Kernel Time (µs)_std," \
	"Kernel Time (µs)_sum,Exposed Kernel Time (µs)_sum,Pct Roofline_mean,"               \
	"kernel_details_summary,perf_params,has_perf_model\n"

#define METADATA                                                                       \
	"{\"platform\": \"P\", \"peak_hbm_bw_tbs\": 5, \"max_achievable_tflops\": "    \
	"{\"matrix_bf16\": 1000, \"vector_fp32\": 100}, \"category\": \"GEMM\", "      \
	"\"gpu_utilization\": {\"total_time_ms\": 200, \"computation_time_ms\": 100, " \
	"\"computation_time_percent\": 50}}"

static struct scratch scratch;
static struct tw_prepared prepared;
static struct tw_category_result result;
static const struct tw_json_value *metrics;
static char *findings;

static int setup(void **state)
{
	scratch_make(&scratch);
	assert_int_equal(mkdir(scratch_path(&scratch, "category_data"), 0777), 0);
	assert_int_equal(mkdir(scratch_path(&scratch, "metadata"), 0777), 0);
	tw_prepared_init(&prepared, scratch.dir, trawl_allocator_default());
	return 0;
}

static int teardown(void **state)
{
	tw_prepared_release(&prepared);
	scratch_remove(&scratch);
	free(findings);
	findings = NULL;
	return 0;
}

static void write_ops(const char *category, const char *rows)
{
	char name[100], text[16384];

	snprintf(name, sizeof(name), "category_data/%s_ops.csv", category);
	snprintf(text, sizeof(text), "%s%s", HEADER, rows);
	scratch_write(&scratch, name, text);
	snprintf(name, sizeof(name), "metadata/%s_metadata.json", category);
	scratch_write(&scratch, name, METADATA);
}

static void analyse(const char *category)
{
	char name[100];
	struct trawl_error err;

	if (tw_category_compute(&prepared, category, &result, &err))
		fail_msg("%s", err.message);
	snprintf(name, sizeof(name), "%s_metrics.json", category);
	metrics = tw_prepared_json(&prepared, TW_CATEGORY_DATA, name, &err);
	assert_non_null(metrics);
	snprintf(name, sizeof(name), "category_findings/%s_findings.md", category);
	free(findings);
	findings = scratch_read(scratch_path(&scratch, name), NULL);
	assert_non_null(findings);
}

static const struct tw_json_value *item(const char *key, unsigned number)
{
	const struct tw_json_value *value = tw_json_get(metrics, key)->first;

	while (value && number--)
		value = value->next;
	return value;
}

static double number_of(const struct tw_json_value *value, const char *key)
{
	return tw_json_number(tw_json_get(value, key));
}

static bool bottleneck_says(const char *rule)
{
	const struct tw_json_value *id = tw_json_get(item("bottlenecks", 0), "rules")->first;

	for (; id; id = id->next)
		if (!strcmp(tw_json_text(id), rule))
			return true;
	return false;
}

static void assert_near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * fabs(b)))
		fail_msg("%.12g is not %.12g", a, b);
}

#define MM                                                                               \
	"aten::mm,\"((8, 16), (16, 8))\",\"('c10::BFloat16', 'c10::BFloat16')\",7,4,50," \
	"matrix_bf16,MEMORY_BOUND,1.25,60,5000,100,20000,20000,25,"                      \
	"\"[{'name': 'Cijk_A', 'count': 4, 'total_duration_us': 20000}]\","              \
	"\"{'M': 8, 'N': 8, 'K': 16, 'B': 1}\",True\n"
/* 600 of 1000 TFLOP/s: no bottleneck. */
#define ADDMM                                                                                     \
	"aten::addmm,\"((8,), (8, 16), (16, 8), ())\",\"('float', 'float', 'float', 'Scalar')\"," \
	"9,2,250,matrix_bf16,COMPUTE_BOUND,2.4,600,2500,0,5000,5000,60,,,True\n"
/* No cost model. */
#define LOST "lost::gemm,,,11,10,,,,,,160,0,1600,1600,,,,False\n"

static void test_findings_of_gemms_are_the_template(void **state)
{
	static const char expected[] =
		"# GEMM Analysis Summary\n"
		"\n"
		"## Overview\n"
		"GEMMs account for 26.6% of compute time. Average efficiency: 32%.\n"
		"\n"
		"## Operations Breakdown\n"
		"| Operation | Count | Time (ms) | % of Category | Efficiency | FLOPS/Byte | Type |\n"
		"|-----------|-------|-----------|---------------|------------|------------|------|\n"
		"| `aten::mm` `(8,16) bf16, (16,8) bf16` | 4 | 20 | 75.19% | 25% | 50 | memory |\n"
		"| `aten::addmm` `(8,) fp32, (8,16) fp32, (16,8) fp32` | 2 | 5 | 18.8% | 60% | 250 | "
		"compute |\n"
		"| `lost::gemm` | 10 | 1.6 | 6.02% | n/a | n/a | unknown |\n"
		"\n"
		"## Key Bottlenecks\n"
		"\n"
		"### 1. `aten::mm`\n"
		"- **Time:** 20 ms (20% of compute)\n"
		"- **Efficiency:** 25% of peak HBM BW\n"
		"- **Issue:** 25.00% of the roofline: 1.25 of 5.00 TB/s at 50.00 FLOPS/Byte, memory bound. "
		"Calls: 4, of `(8,16) bf16, (16,8) bf16`\n"
		"- **Algorithmic:** Fusion opportunities to reduce memory traffic. Consider "
		"quantization (W8A8, FP8) for memory-bound GEMMs\n"
		"- **Kernel:** If not reaching expected bandwidth, indicates kernel optimization "
		"opportunity\n"
		"- **Priority:** Critical\n"
		"\n"
		"### 2. `lost::gemm`\n"
		"- **Time:** 1.6 ms (1.6% of compute)\n"
		"- **Efficiency:** n/a (unmodelled)\n"
		"- **Issue:** Unmodelled: no cost model gives its efficiency. 6.02% of the category's "
		"kernel time in 10 calls of 160.000 µs. Calls: 10\n"
		"- **Algorithmic:** Check if torch.compile can batch operators automatically\n"
		"- **Kernel:** Generate replay artifact for the kernel team\n"
		"- **Priority:** Low\n"
		"\n"
		"## Additional Notes\n"
		"- Missing perf models: 1\n"
		"- Quantized GEMMs detected: 0\n"
		"- Pattern: Few large calls: one set of arguments has 75.19% of the "
		"category's kernel time; calls: 16, of 1662.500 µs on average. Optimize this one first\n";

	/* Not in the order of their time: they come out in it. */
	write_ops("gemm", LOST MM ADDMM);
	analyse("gemm");
	assert_int_equal(result.status, TW_CATEGORY_DONE);
	assert_string_equal(findings, expected);
}

static void test_metrics_of_gemms(void **state)
{
	const struct tw_json_value *op, *efficiency;

	write_ops("gemm", MM ADDMM LOST);
	scratch_write(&scratch, "category_manifest.json",
		      "{\"top_operations\": [{\"rank\": 1, \"uid\": 7, \"name\": \"aten::mm\", "
		      "\"category\": \"gemm\"}, {\"uid\": 9, \"name\": \"aten::addmm\", "
		      "\"category\": \"other\"}]}");
	analyse("gemm");
	assert_string_equal(path_text(metrics, "status"), "OK");
	assert_string_equal(path_text(metrics, "platform"), "P");
	assert_near(number_of(metrics, "total_time_ms"), 26.6);
	assert_near(number_of(metrics, "percent_of_compute"), 26.6);
	assert_near(number_of(metrics, "percent_of_total"), 13.3);
	assert_near(number_of(metrics, "operation_count"), 16);
	/* (20 x 25 + 5 x 60) / 25 */
	assert_near(number_of(metrics, "average_efficiency_percent"), 32);
	op = item("operations", 0);
	efficiency = tw_json_get(op, "efficiency");
	assert_near(number_of(op, "uid"), 7);
	assert_near(number_of(op, "percent_of_total"), 10);
	assert_string_equal(path_text(op, "args"), "(8,16) bf16<br>(16,8) bf16");
	assert_string_equal(path_text(op, "library"), "Tensile");
	assert_string_equal(path_text(op, "kernel_name"), "Cijk_A");
	assert_true(tw_json_true(tw_json_get(op, "in_top_operations")));
	assert_true(tw_json_true(tw_json_get(op, "is_bottleneck")));
	assert_near(number_of(efficiency, "resolved_peak_maf"), 1000);
	assert_near(number_of(efficiency, "resolved_peak_hbm_bw"), 5);
	assert_string_equal(path_text(efficiency, "bound_type"), "memory");
	/* Another category's top operation is none of ours. */
	assert_false(tw_json_true(tw_json_get(item("operations", 1), "in_top_operations")));
	assert_false(tw_json_true(tw_json_get(item("operations", 1), "is_bottleneck")));
	assert_false(tw_json_true(tw_json_get(item("bottlenecks", 1), "modelled")));
	assert_int_equal(tw_json_get(metrics, "bottlenecks")->count, 2);
}

static void test_impact_by_hand(void **state)
{
	const struct tw_json_value *e, *group;

	EDGE_OF(TW_LIMIT_GAIN_LOW_FRAC);
	EDGE_OF(TW_LIMIT_GAIN_MIDDLE_FRAC);
	EDGE_OF(TW_LIMIT_GAIN_GUESS_LOW_FRAC);
	EDGE_OF(TW_LIMIT_GAIN_GUESS_MIDDLE_FRAC);
	EDGE_OF(TW_LIMIT_GAIN_GUESS_HIGH_FRAC);
	write_ops("gemm", MM ADDMM LOST);
	analyse("gemm");
	assert_int_equal(tw_json_get(metrics, "impact_estimates")->count, 3);
	/* 0.75 of 20 ms, in 200. */
	e = item("impact_estimates", 0);
	assert_near(number_of(e, "impact_score_high"), 7.5);
	assert_near(number_of(e, "impact_score"), 6.56);
	assert_near(number_of(e, "impact_score_low"), 5.63);
	assert_string_equal(path_text(e, "estimate_method"), "quantified");
	assert_string_equal(path_text(e, "type"), "kernel_tuning");
	e = item("impact_estimates", 1);
	assert_near(number_of(e, "impact_score_high"), 1);
	/* 0.15, 0.30 and 0.45 of 0.8 %. */
	e = item("impact_estimates", 2);
	assert_string_equal(path_text(e, "estimate_method"), "heuristic");
	assert_near(number_of(e, "impact_score_low"), 0.12);
	assert_near(number_of(e, "impact_score"), 0.24);
	assert_near(number_of(e, "impact_score_high"), 0.36);
	/* The guess is below half a per cent. */
	assert_int_equal(tw_json_get(metrics, "category_findings")->count, 2);
	group = item("category_findings", 0);
	assert_string_equal(path_text(group, "eff_bucket"), "0-30");
	assert_string_equal(path_text(group, "bound_type"), "memory");
	assert_string_equal(path_text(group, "library"), "Tensile");
	assert_near(number_of(group, "rank"), 1);
	assert_near(number_of(group, "member_count"), 1);
	assert_string_equal(path_text(item("category_findings", 1), "eff_bucket"), "60-100");
}

/* Hidden behind other work for all but 2 ms of its 20: no more can be won. */
static void test_no_gain_beyond_the_exposed_time(void **state)
{
	const struct tw_json_value *e;

	write_ops("gemm", "aten::mm,,,7,4,50,matrix_bf16,MEMORY_BOUND,1.25,60,5000,0,20000,2000,"
			  "25,,,True\n");
	analyse("gemm");
	e = item("impact_estimates", 0);
	assert_near(number_of(e, "impact_score_high"), 1);
	assert_near(number_of(e, "impact_score_low"), 0.75);
	assert_true(tw_json_true(tw_json_get(e, "bounded_by_exposed_time")));
}

/* 9.999 and 10 µs a call; the shortest kernel of the trace bounds what may be won. */
static void test_too_short_to_judge(void **state)
{
	const struct tw_json_value *b, *e;

	write_ops("gemm",
		  "aten::mm,,,7,2000,50,matrix_bf16,MEMORY_BOUND,1.25,60,9.999,0,19998,"
		  "19998,25,\"[{'name': 'small', 'count': 2000, 'total_duration_us': 9000}, "
		  "{'name': 'large', 'count': 2000, 'total_duration_us': 10998}]\",,True\n"
		  "aten::mm,,,8,1000,50,matrix_bf16,MEMORY_BOUND,1.25,60,10,0,10000,10000,"
		  "25,,,True\n");
	scratch_write(&scratch, "category_manifest.json", "{\"shortest_kernel_us\": 5.999}");
	analyse("gemm");
	b = item("bottlenecks", 0);
	assert_true(tw_json_true(tw_json_get(b, "too_short")));
	assert_true(tw_json_true(tw_json_get(item("operations", 0), "too_short")));
	assert_non_null(strstr(path_text(b, "issue"), "Too short"));
	assert_non_null(strstr(path_text(b, "algorithmic"), "GPU graph"));
	assert_false(bottleneck_says("quantize"));
	assert_null(strstr(path_text(b, "kernel"), "replay"));
	assert_string_equal(path_text(b, "kernel_name_trunc"), "large");
	b = item("bottlenecks", 1);
	assert_false(tw_json_true(tw_json_get(b, "too_short")));
	assert_non_null(strstr(path_text(b, "algorithmic"), "quantization"));
	/* 19.998 - 2000 x 0.005999 = 8 ms of 200; three quarters of it would be 14.9985. */
	e = item("impact_estimates", 0);
	assert_near(number_of(e, "impact_score_high"), 4);
	/* 10 - 5.999 = 4.001 ms. */
	assert_near(number_of(item("impact_estimates", 1), "impact_score_high"), 2);
	scratch_write(&scratch, "category_manifest.json", "{}");
	analyse("gemm");
	assert_near(number_of(item("impact_estimates", 0), "impact_score_high"), 7.5);
}

static void test_advice_that_does_not_fit(void **state)
{
	const struct tw_json_value *b;

	write_ops("gemm",
		  "aten::bmm,,,7,4,50,matrix_bf16,MEMORY_BOUND,1.25,60,5000,0,20000,20000,"
		  "25,,\"{'M': 8, 'N': 8, 'K': 16, 'B': 1000}\",True\n"
		  "aten::addmm,,,8,1,50,matrix_bf16,MEMORY_BOUND,1.25,60,9000,0,9000,9000,25,,,"
		  "True\n");
	analyse("gemm");
	b = item("bottlenecks", 0);
	assert_null(strstr(path_text(b, "algorithmic"), "quantization"));
	assert_null(strstr(path_text(b, "algorithmic"), "torch.bmm"));
	assert_non_null(strstr(path_text(b, "algorithmic"), "Already batched"));
	assert_null(strstr(path_text(item("bottlenecks", 1), "algorithmic"), "atch"));
	write_ops("norm",
		  "aten::group_norm,,,7,4,1,vector_fp32,MEMORY_BOUND,1,1,5000,0,20000,20000,"
		  "20,\"[{'name': 'k', 'count': 8, 'total_duration_us': 1}]\",,True\n"
		  "aten::batch_norm,,,8,4,1,vector_fp32,MEMORY_BOUND,1,1,5000,0,20000,20000,"
		  "20,\"[{'name': 'k', 'count': 8, 'total_duration_us': 1}]\",,True\n");
	analyse("norm");
	assert_null(strstr(findings, "layer norm"));
	write_ops("sdpa_fwd",
		  "aten::scaled_dot_product_attention,,,7,4,300,matrix_bf16,COMPUTE_BOUND,1,100,"
		  "5000,0,20000,20000,10,,\"{'N_Q': 1000, 'N_KV': 1000}\",True\n"
		  "aten::scaled_dot_product_attention,,,8,4,300,matrix_bf16,COMPUTE_BOUND,1,100,"
		  "5000,0,20000,20000,10,,\"{'N_Q': 900, 'N_KV': 900}\",True\n");
	analyse("sdpa_fwd");
	assert_true(bottleneck_says("padding"));
}

static void test_impossible_efficiency(void **state)
{
	const struct tw_json_value *efficiency;

	write_ops("gemm", "aten::mm,,,7,4,50,matrix_bf16,MEMORY_BOUND,1.25,60,5000,0,20000,2000,"
			  "110.01,,,True\n"
			  "aten::mm,,,8,4,50,matrix_bf16,MEMORY_BOUND,1.25,60,5000,0,19000,2000,"
			  "110,,,True\n");
	analyse("gemm");
	efficiency = tw_json_get(item("operations", 0), "efficiency");
	assert_true(tw_json_true(tw_json_get(efficiency, "is_anomaly")));
	assert_true(*path_text(efficiency, "warning"));
	efficiency = tw_json_get(item("operations", 1), "efficiency");
	assert_false(tw_json_true(tw_json_get(efficiency, "is_anomaly")));
	assert_near(number_of(metrics, "average_efficiency_percent"), 110);
	assert_int_equal(tw_json_get(metrics, "impact_estimates")->count, 0);
	assert_non_null(strstr(findings, "- Warning for `aten::mm`"));
}

/* Without the column of the roofline: achieved by the peak that bounds. */
static void test_efficiency_from_peaks(void **state)
{
	write_ops("gemm", "a,,,7,1,50,matrix_bf16,MEMORY_BOUND,2,60,90000,0,90000,9,,,,True\n"
			  "b,,,8,1,0,matrix_bf16,COMPUTE_BOUND,2,300,80000,0,80000,9,,,,True\n"
			  "c,,,9,1,50,matrix_bf16,,2,300,70000,0,70000,9,,,,True\n"
			  "d,,,10,1,50,matrix_fp8,COMPUTE_BOUND,2,300,60000,0,60000,9,,,,True\n");
	analyse("gemm");
	assert_near(number_of(tw_json_get(item("operations", 0), "efficiency"),
			      "efficiency_percent"),
		    40);
	assert_near(number_of(tw_json_get(item("operations", 1), "efficiency"),
			      "efficiency_percent"),
		    30);
	/* What does no operations has no intensity. */
	assert_near(number_of(tw_json_get(item("operations", 0), "efficiency"), "flops_per_byte"),
		    50);
	assert_true(tw_json_is_null(
		tw_json_get(tw_json_get(item("operations", 1), "efficiency"), "flops_per_byte")));
	/* The larger share bounds it. */
	assert_string_equal(path_text(tw_json_get(item("operations", 2), "efficiency"),
				      "bound_type"),
			    "memory");
	/* No peak of its type is known. */
	assert_true(tw_json_is_null(tw_json_get(tw_json_get(item("operations", 3), "efficiency"),
						"efficiency_percent")));
}

static void test_unknown_platform(void **state)
{
	write_ops("gemm", "a,,,7,1,50,,,2,60,90000,0,90000,9,,,,True\n");
	scratch_write(&scratch, "metadata/gemm_metadata.json",
		      "{\"platform\": null, \"peak_hbm_bw_tbs\": null, \"max_achievable_tflops\": "
		      "null, \"gpu_utilization\": {\"total_time_ms\": 200, "
		      "\"computation_time_percent\": 50}}");
	analyse("gemm");
	assert_int_equal(result.status, TW_CATEGORY_DONE);
	assert_true(tw_json_is_null(tw_json_get(metrics, "platform")));
	assert_near(number_of(metrics, "percent_of_compute"), 90);
	assert_non_null(strstr(findings, "Average efficiency: n/a."));
	assert_non_null(strstr(findings, "n/a (unmodelled)"));
	assert_non_null(strstr(findings, "60.00 TFLOPS/s and 2.00 TB/s achieved; peak unknown"));
	assert_null(strstr(findings, "of unknown"));
}

static void test_copies_to_the_host_have_no_efficiency(void **state)
{
	const struct tw_json_value *op;

	write_ops("elementwise",
		  "aten::copy_,,,7,1,0.25,vector_fp32,MEMORY_BOUND,0.05,0,90000,0,90000,90000,1,"
		  "\"[{'name': 'Memcpy DtoH (Device -> Pageable)', 'count': 1, "
		  "'total_duration_us': 90000}]\",,True\n");
	analyse("elementwise");
	op = tw_json_get(item("operations", 0), "efficiency");
	assert_true(tw_json_is_null(tw_json_get(op, "efficiency_percent")));
	assert_true(tw_json_is_null(tw_json_get(op, "bound_type")));
	/* The multi-kernel analysis has them: nothing to win by computing. */
	assert_true(tw_json_true(tw_json_get(item("operations", 0), "host_copy")));
	assert_false(tw_json_true(tw_json_get(item("operations", 0), "is_bottleneck")));
	assert_int_equal(tw_json_get(metrics, "bottlenecks")->count, 0);
	assert_int_equal(tw_json_get(metrics, "patterns")->count, 0);
	assert_int_equal(tw_json_get(metrics, "impact_estimates")->count, 0);
}

static void test_no_data(void **state)
{
	analyse("gemm");
	assert_int_equal(result.status, TW_CATEGORY_NO_DATA);
	assert_string_equal(path_text(metrics, "status"), "NO_DATA");
	assert_string_equal(findings, "# GEMM Analysis Summary\n\n"
				      "No GEMM operations found in trace\n");
	write_ops("sdpa_fwd", "");
	analyse("sdpa_fwd");
	assert_int_equal(result.status, TW_CATEGORY_NO_DATA);
	assert_non_null(strstr(findings, "No SDPA Forward operations found in trace\n"));
}

static void assert_failed(const char *message)
{
	analyse("gemm");
	assert_int_equal(result.status, TW_CATEGORY_FAILED);
	if (!strstr(result.message, message))
		fail_msg("'%s' is not in '%s'", message, result.message);
	assert_null(strstr(result.message, scratch.dir));
	assert_string_equal(path_text(metrics, "status"), "ERROR");
	assert_string_equal(path_text(metrics, "error"), result.message);
	assert_int_equal(tw_json_get(metrics, "bottlenecks")->count, 0);
	assert_non_null(strstr(findings, "\n**Status**: ERROR\n"));
	assert_null(strstr(findings, "Bottleneck"));
	assert_null(strstr(findings, "Algorithmic"));
}

static void test_unusable_data(void **state)
{
	write_ops("gemm", MM "aten::mm,1,2\n");
	assert_failed("category_data/gemm_ops.csv");
	write_ops("gemm", MM);
	scratch_write(&scratch, "metadata/gemm_metadata.json", "{\"platform\": ");
	assert_failed("metadata/gemm_metadata.json");
	write_ops("gemm", MM);
	scratch_write(&scratch, "metadata/gemm_metadata.json",
		      "{\"peak_hbm_bw_tbs\": \"fast\", \"gpu_utilization\": {}}");
	assert_failed("metadata/gemm_metadata.json: no number");
	scratch_write(&scratch, "metadata/gemm_metadata.json",
		      "{\"gpu_utilization\": {\"total_time_ms\": \"long\"}}");
	assert_failed("metadata/gemm_metadata.json: no number");
	write_ops("gemm", MM);
	scratch_write(&scratch, "category_data/gemm_tree_data.json", "[}");
	assert_failed("category_data/gemm_tree_data.json");
	scratch_write(&scratch, "category_data/gemm_tree_data.json", "{}");
	scratch_write(&scratch, "category_manifest.json", "nothing");
	assert_failed("category_manifest.json");
	scratch_write(&scratch, "category_manifest.json", "{}");
	scratch_write(&scratch, "category_data/gemm_ops.csv", "name,operation_count\nmm,1\n");
	assert_failed("no column 'Kernel Time (µs)_sum'");
	scratch_write(&scratch, "category_data/gemm_ops.csv", "");
	assert_failed("no column");
	scratch_write(&scratch, "category_data/gemm_ops.csv",
		      "name,operation_count,Kernel Time (µs)_sum\nmm,1,many\n");
	assert_failed("row 1: 'many' is no number for 'Kernel Time (µs)_sum'");
	scratch_write(&scratch, "category_data/gemm_ops.csv",
		      "name,operation_count,Kernel Time (µs)_sum\nmm,1,2\nmm,,2\n");
	assert_failed("row 2");
	scratch_write(&scratch, "category_data/gemm_ops.csv",
		      "name,operation_count,Kernel Time (µs)_sum\nmm,1,-2\n");
	assert_failed("'-2'");
}

/* Three alike: strides, and the thread where these are the same too; another is not touched. */
static void test_rows_that_look_alike(void **state)
{
	static const char rows[] =
		"name,operation_count,Kernel Time (µs)_sum,Input Strides,thread_name\n"
		"mm,1,40,\"((8, 1),)\",t 1\nmm,1,30,\"((1, 8),)\",t 1\n"
		"add,1,20,,t 1\nadd,1,10,,t 2\nmul,1,5,,t 1\n";

	write_ops("gemm", MM);
	scratch_write(&scratch, "category_data/gemm_ops.csv", rows);
	analyse("gemm");
	assert_string_equal(path_text(item("operations", 0), "distinct"), "strides ((8, 1),)");
	assert_string_equal(path_text(item("operations", 1), "distinct"), "strides ((1, 8),)");
	assert_string_equal(path_text(item("operations", 2), "distinct"), "thread t 1");
	assert_string_equal(path_text(item("operations", 3), "distinct"), "thread t 2");
	assert_string_equal(path_text(item("operations", 4), "distinct"), "");
	assert_non_null(strstr(findings, "`strides ((1, 8),)`"));
}

static void test_missing_metadata(void **state)
{
	write_ops("gemm", MM);
	assert_int_equal(remove(scratch_path(&scratch, "metadata/gemm_metadata.json")), 0);
	assert_failed("metadata/gemm_metadata.json");
}

static void test_name_that_is_a_path(void **state)
{
	struct trawl_error err;

	assert_int_equal(tw_category_compute(&prepared, "../gemm", &result, &err), TRAWL_EUSAGE);
	assert_int_equal(tw_category_compute(&prepared, "", &result, &err), TRAWL_EUSAGE);
}

/* ---- what trees and names show */

#define EFFICIENT_NOT "0.25,vector_fp32,MEMORY_BOUND,0.05,0,90000,0,90000,9,1,,,True\n"

static void write_tree(const char *category, const char *siblings)
{
	char name[100], text[4096];

	snprintf(name, sizeof(name), "category_data/%s_tree_data.json", category);
	snprintf(
		text, sizeof(text),
		"{\"7\": {\"parent_chain\": [{\"name\": "
		"\"<built-in method bmm of type object at 0x7f6660>\", \"type\": \"python\"}, {\"name\": \"attn.py(12): forward\", \"type\": "
		"\"python\"}, {\"name\": \"nn.Module: Attention_0\", \"type\": \"module\"}, "
		"{\"name\": \"nn.Module: Layer_3\", \"type\": \"module\"}], \"siblings\": [%s]}}",
		siblings);
	scratch_write(&scratch, name, text);
}

#define SIBLING(name, category)                                                      \
	"{\"name\": \"" name "\", \"category\": \"" category "\", \"time_us\": 10, " \
	"\"kernels\": 1}"
#define ATTENTION                                            \
	SIBLING("aten::bmm", "GEMM")                         \
	"," SIBLING("aten::mul", "elementwise") "," SIBLING( \
		"aten::_softmax", "other") "," SIBLING("aten::bmm", "GEMM")

static void test_attention_in_pieces(void **state)
{
	write_ops("gemm", "aten::bmm,,,7,1," EFFICIENT_NOT);
	write_tree("gemm", SIBLING("aten::addmm", "GEMM") "," ATTENTION);
	analyse("gemm");
	assert_true(bottleneck_says("unfused_attention"));
	assert_non_null(strstr(findings, "called from `Layer_3` > `Attention_0`"));
	assert_string_equal(path_text(item("bottlenecks", 0), "group"), "unfused_attention");
	assert_string_equal(path_text(item("bottlenecks", 0), "group_key"), "Attention_0");
	assert_string_equal(path_text(item("bottlenecks", 0), "launcher_path"),
			    "attn.py(12): forward");
	write_ops("other", "aten::_softmax,,,7,1," EFFICIENT_NOT);
	write_tree("other", ATTENTION);
	analyse("other");
	assert_true(bottleneck_says("unfused_attention"));
	write_ops("elementwise", "aten::mul,,,7,1," EFFICIENT_NOT);
	write_tree("elementwise", ATTENTION);
	analyse("elementwise");
	assert_true(bottleneck_says("unfused_attention"));
}

/* A softmax that no matrix product follows, a product before another softmax: not attention. */
static void test_what_is_no_attention(void **state)
{
	write_ops("other", "aten::_softmax,,,7,1," EFFICIENT_NOT);
	write_tree("other", SIBLING("aten::addmm", "GEMM") "," SIBLING("aten::_softmax", "other"));
	analyse("other");
	assert_false(bottleneck_says("unfused_attention"));
	assert_true(bottleneck_says("softmax"));
	write_tree("other", SIBLING("aten::_softmax", "other") "," SIBLING("aten::mm", "GEMM"));
	analyse("other");
	assert_false(bottleneck_says("unfused_attention"));
	/* Elsewhere under the caller is not between. */
	write_ops("elementwise", "aten::add,,,7,1," EFFICIENT_NOT);
	write_tree("elementwise", ATTENTION "," SIBLING("aten::add", "elementwise"));
	analyse("elementwise");
	assert_false(bottleneck_says("unfused_attention"));
}

static void test_norm_in_pieces(void **state)
{
	static const char norm[] =
		SIBLING("aten::copy_", "elementwise") "," SIBLING("aten::pow", "elementwise") "," SIBLING(
			"aten::mean",
			"reduce") "," SIBLING("aten::add",
					      "elementwise") "," SIBLING("aten::rsqrt",
									 "elementwise") "," SIBLING("aten::mul",
												    "elementwise");

	write_ops("reduce", "aten::mean,,,7,1," EFFICIENT_NOT);
	write_tree("reduce", norm);
	analyse("reduce");
	assert_true(bottleneck_says("unfused_norm"));
	write_ops("elementwise", "aten::mul,,,7,1," EFFICIENT_NOT);
	write_tree("elementwise", norm);
	analyse("elementwise");
	assert_true(bottleneck_says("unfused_norm"));
}

/* One row of a category that has bad figures, with parameters and kernels. */
static void analyse_one(const char *category, const char *name, const char *types,
			const char *kernels, const char *params)
{
	char row[2048];

	snprintf(
		row, sizeof(row),
		"%s,\"((8, 16), (16, 8))\",\"%s\",7,4,50,vector_fp32,MEMORY_BOUND,1,1,5000,0,20000,"
		"20000,20,\"%s\",\"%s\",True\n",
		name, types, kernels, params);
	write_ops(category, row);
	analyse(category);
}

/* Whether padding is seen in attention of these operands, the fourth or fifth of which may be a mask. */
static bool shows_padding(const char *name, const char *dims)
{
	char row[512];

	snprintf(row, sizeof(row),
		 "%s,\"%s\",,7,4,300,matrix_bf16,COMPUTE_BOUND,1,100,5000,0,20000,20000,10,,"
		 "\"{'N_Q': 1000, 'N_KV': 1000}\",True\n",
		 name, dims);
	write_ops("sdpa_fwd", row);
	analyse("sdpa_fwd");
	return bottleneck_says("padding");
}

static void test_masks_of_attention(void **state)
{
	static const char four[] =
		"((8, 16, 512, 64), (8, 16, 512, 64), (8, 16, 512, 64), (512, 512))";
	static const char none[] = "((8, 16, 512, 64), (8, 16, 512, 64), (8, 16, 512, 64), ())";
	static const char gradient[] = "((8, 16, 512, 64), (8, 16, 512, 64), (8, 16, 512, 64), "
				       "(8, 16, 512, 64), (512, 512))";

	assert_true(shows_padding("aten::scaled_dot_product_attention", four));
	assert_false(shows_padding("aten::scaled_dot_product_attention", none));
	/* Of a backward pass the first is the gradient; flash attention takes no mask. */
	assert_true(
		shows_padding("aten::_scaled_dot_product_efficient_attention_backward", gradient));
	assert_false(shows_padding("aten::_scaled_dot_product_efficient_attention_backward", four));
	assert_false(shows_padding("aten::_scaled_dot_product_flash_attention_backward", gradient));
}

static void test_rules_of_attention(void **state)
{
	const struct tw_json_value *kind;

	analyse_one("sdpa_fwd", "flash_attn::fwd", "", "",
		    "{'N_Q': 1, 'N_KV': 1000, 'H_Q': 32, 'H_KV': 8}");
	assert_true(bottleneck_says("decode"));
	assert_true(bottleneck_says("gqa"));
	assert_false(bottleneck_says("not_fused_by_name"));
	kind = tw_json_get(item("operations", 0), "classification");
	assert_string_equal(path_text(kind, "attention_type"), "flash");
	assert_string_equal(path_text(tw_json_get(kind, "workload_profile"), "attention_pattern"),
			    "GQA");
	assert_near(number_of(tw_json_get(kind, "workload_profile"), "gqa_ratio"), 4);
	analyse_one("sdpa_fwd", "aten::sdpa", "", "[{'name': 'fmha_fwd', 'count': 4}]",
		    "{'N_Q': 81, 'N_KV': 100, 'H_Q': 8, 'H_KV': 8}");
	assert_true(bottleneck_says("prefill"));
	assert_false(bottleneck_says("padding"));
	assert_true(bottleneck_says("short_sequences"));
	assert_false(bottleneck_says("gqa"));
	assert_false(bottleneck_says("not_fused_by_name"));
	analyse_one("sdpa_fwd", "aten::sdpa", "", "[{'name': 'gemm', 'count': 4}]", "");
	assert_true(bottleneck_says("not_fused_by_name"));
	analyse_one("inferenceattention", "vllm::unified_attention", "", "", "");
	assert_true(bottleneck_says("paged"));
	assert_near(number_of(tw_json_get(metrics, "category_specific"), "paged_attention_count"),
		    1);
}

static const char *type_of_gemm(const char *category)
{
	analyse_one(category, "aten::mm", "", "", "");
	return path_text(tw_json_get(item("operations", 0), "classification"), "gemm_type");
}

static void test_grouped_gemms(void **state)
{
	assert_string_equal(type_of_gemm("gemm"), "regular");
	assert_string_equal(type_of_gemm("groupedgemm_fwd"), "grouped");
}

static void test_rules_of_other_families(void **state)
{
	analyse_one("gemm", "x::gemm_w8a8", "", "", "");
	assert_true(bottleneck_says("quantized"));
	analyse_one("gemm", "aten::mm", "('c10::Float8_e4m3fn', 'c10::Float8_e4m3fn')", "", "");
	assert_true(bottleneck_says("quantized"));
	analyse_one("gemm", "aten::mm", "('bool', 'float')", "", "");
	assert_false(bottleneck_says("quantized"));
	analyse_one(
		"convolution", "aten::convolution", "",
		"[{'name': 'batched_transpose_32x16_half', 'count': 4, 'total_duration_us': 501}, "
		"{'name': 'conv', 'count': 4, 'total_duration_us': 9499}]",
		"{'input_shape': (1, 8, 4, 4), 'groups': 8}");
	assert_true(bottleneck_says("layout_transposes"));
	assert_true(bottleneck_says("depthwise"));
	assert_near(number_of(tw_json_get(metrics, "category_specific"), "transpose_time_ms"),
		    1.002);
	analyse_one("convolution", "aten::convolution", "",
		    "[{'name': 'nchwToNhwcKernel', 'count': 4, 'total_duration_us': 500}, "
		    "{'name': 'conv', 'count': 4, 'total_duration_us': 9500}]",
		    "{'input_shape': (1, 8, 4, 4), 'groups': 2}");
	assert_false(bottleneck_says("layout_transposes"));
	assert_true(bottleneck_says("grouped"));
	analyse_one("triton", "triton_red_fused_add_mul_0", "", "",
		    "{'fused_ops': aten.add, aten.mul, 'xnumel': 8}");
	assert_true(bottleneck_says("reduction"));
	assert_non_null(strstr(path_text(item("bottlenecks", 0), "issue"), "(2 fused ops)"));
	analyse_one("moe_fused", "moe", "", "", "{'M': 8, 'E': 64, 'topk': 2}");
	assert_true(bottleneck_says("small_experts"));
	analyse_one("moe_unfused", "moe_sorting", "", "", "");
	assert_true(bottleneck_says("routing"));
	analyse_one("batchnorm", "aten::batch_norm", "", "", "{'is_training': False}");
	assert_true(bottleneck_says("batch_norm_inference"));
	analyse_one("batchnorm", "aten::native_batch_norm_backward", "", "",
		    "{'is_training': False}");
	assert_false(bottleneck_says("batch_norm_inference"));
	analyse_one("norm", "aten::layer_norm", "", "[{'name': 'k', 'count': 8}]", "");
	assert_true(bottleneck_says("several_kernels"));
	assert_true(bottleneck_says("fused_layer_norm"));
	analyse_one("elementwise", "aten::copy_", "('float', 'c10::BFloat16')",
		    "[{'name': 'k', 'count': 8, 'total_duration_us': 1}]", "");
	assert_true(bottleneck_says("cast"));
	analyse_one("elementwise", "aten::copy_", "('float', 'float')",
		    "[{'name': 'k', 'count': 8, 'total_duration_us': 1}]", "");
	assert_true(bottleneck_says("copy"));
	analyse_one("other", "hipGraphLaunch->k (Synthetic Op)", "", "", "");
	assert_true(bottleneck_says("not_visible"));
	assert_string_equal(path_text(item("bottlenecks", 0), "kind"), "not_visible");
	analyse_one("other", "cudaLaunchKernel->k (Synthetic Op)", "", "", "");
	assert_true(bottleneck_says("not_visible"));
	analyse_one("other", "Torch-Compiled Region: 0/0->k (Synthetic Op)", "",
		    "[{'name': 'Cijk_Alik_norm', 'count': 4, 'total_duration_us': 20000}]", "");
	assert_true(bottleneck_says("not_visible"));
	assert_string_equal(path_text(item("bottlenecks", 0), "kernel_kind"), "gemm");
	assert_null(strstr(path_text(item("bottlenecks", 0), "algorithmic"), "torch.compile"));
	/* Told once: 100 % of the category. */
	assert_non_null(
		strstr(findings, "- Pattern: 100.00% of the category's kernel time is in "));
	analyse_one("reduce", "aten::_softmax", "", "", "");
	assert_true(bottleneck_says("softmax_unplaced"));
}

/* A category that no table knows has the general analysis, by its own name. */
static void test_unknown_category(void **state)
{
	analyse_one("ssm_fwd", "mamba|`x`", "", "", "");
	assert_int_equal(result.status, TW_CATEGORY_DONE);
	assert_non_null(strstr(findings, "### 1. `mamba\\|'x'`"));
	assert_non_null(strstr(findings, "GEMM operations account for"));
}

/* Two of a name under one caller: the one that is marked counts. */
static void test_the_operation_itself_among_its_neighbours(void **state)
{
	static const char marked[] =
		"{\"name\": \"aten::bmm\", \"category\": \"GEMM\", \"self\": true}";
	char siblings[2048];

	write_ops("gemm", "aten::bmm,,,7,1," EFFICIENT_NOT);
	snprintf(siblings, sizeof(siblings), "%s,%s", ATTENTION, marked);
	write_tree("gemm", siblings);
	analyse("gemm");
	assert_false(bottleneck_says("unfused_attention"));
	snprintf(siblings, sizeof(siblings), "%s,%s,%s", marked, SIBLING("aten::_softmax", "other"),
		 SIBLING("aten::bmm", "GEMM"));
	write_tree("gemm", siblings);
	analyse("gemm");
	assert_true(bottleneck_says("unfused_attention"));
}

static void test_a_pattern_in_an_efficient_operation_is_a_note(void **state)
{
	write_ops(
		"elementwise",
		"aten::copy_,,,7,1,0.25,vector_fp32,MEMORY_BOUND,4,0,90000,0,90000,9,80,\"[{'name': 'k', 'count': 1}]\",,"
		"True\n");
	analyse("elementwise");
	assert_int_equal(tw_json_get(metrics, "bottlenecks")->count, 0);
	assert_non_null(strstr(findings, "- Pattern in `aten::copy_` (90 ms): Pure copy"));
}

static void test_advice_is_not_said_twice(void **state)
{
	struct tw_advice advice;
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_efficiency_percent] = 10;
	facts.value[TW_FACT_flops_per_byte] = 10;
	facts.value[TW_FACT_quantized] = 1;
	facts.value[TW_FACT_too_short] = 0;
	tw_category_advise(&advice, "gemm", &facts);
	assert_true(advice_has(&advice, "memory_bound"));
	assert_true(advice_has(&advice, "quantized"));
	assert_false(advice_has(&advice, "modelled"));
	assert_false(advice_has(&advice, "memory"));
}

static void test_out_of_memory(void **state)
{
	struct failing failing;
	struct trawl_error err;
	long n;
	int status;

	write_ops("gemm", MM ADDMM LOST);
	write_tree("gemm", ATTENTION);
	for (n = 0;; n++) {
		struct tw_prepared own;

		failing_init(&failing, n);
		tw_prepared_init(&own, scratch.dir, &failing.allocator);
		status = tw_category_compute(&own, "gemm", &result, &err);
		tw_prepared_release(&own);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
		assert_int_equal(status, TRAWL_ENOMEM);
	}
	assert_int_equal(status, 0);
	assert_true(n > 10);
}

int main(void)
{
#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_pattern_is_medium_at_least),
		cmocka_unit_test(test_rules_of_gemms_at_each_boundary),
		cmocka_unit_test(test_few_large_and_many_small),
		cmocka_unit_test(test_every_family_recommends_something),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_literals),
		cmocka_unit_test(test_literals_that_are_none),
		cmocka_unit_test(test_advice_is_not_said_twice),
		IN_DIRECTORY(test_findings_of_gemms_are_the_template),
		IN_DIRECTORY(test_metrics_of_gemms),
		IN_DIRECTORY(test_impact_by_hand),
		IN_DIRECTORY(test_no_gain_beyond_the_exposed_time),
		IN_DIRECTORY(test_too_short_to_judge),
		IN_DIRECTORY(test_advice_that_does_not_fit),
		IN_DIRECTORY(test_impossible_efficiency),
		IN_DIRECTORY(test_efficiency_from_peaks),
		IN_DIRECTORY(test_unknown_platform),
		IN_DIRECTORY(test_copies_to_the_host_have_no_efficiency),
		IN_DIRECTORY(test_no_data),
		IN_DIRECTORY(test_unusable_data),
		IN_DIRECTORY(test_rows_that_look_alike),
		IN_DIRECTORY(test_missing_metadata),
		IN_DIRECTORY(test_name_that_is_a_path),
		IN_DIRECTORY(test_attention_in_pieces),
		IN_DIRECTORY(test_what_is_no_attention),
		IN_DIRECTORY(test_norm_in_pieces),
		IN_DIRECTORY(test_the_operation_itself_among_its_neighbours),
		IN_DIRECTORY(test_rules_of_attention),
		IN_DIRECTORY(test_masks_of_attention),
		IN_DIRECTORY(test_grouped_gemms),
		IN_DIRECTORY(test_rules_of_other_families),
		IN_DIRECTORY(test_unknown_category),
		IN_DIRECTORY(test_a_pattern_in_an_efficient_operation_is_a_note),
		IN_DIRECTORY(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
