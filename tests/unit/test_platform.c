/* Platforms: the facts, names, devices, users' files; and the roofline that is made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/platform.h"
#include "model/roofline.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB 1073741824.0

static struct tw_platform platform(const char *name)
{
	struct tw_platform found;

	if (!tw_platform_find(name, &found))
		fail_msg("no platform '%s'", name);
	return found;
}

static void expect_near(double found, double wanted)
{
	if (!(fabs(found - wanted) <= 1e-9 * fabs(wanted)))
		fail_msg("%.17g, not %.17g", found, wanted);
}

/* ---- facts */

/* What users' documents fix must not change. */
static void test_fixed_figures(void **state)
{
	static const struct {
		const char *name;
		double bw, gb, bf16;
	} fixed[] = {
		{ "MI300X", 5300, 192, 708 },
		{ "MI325X", 6000, 256, 708 },
		{ "MI355X", 6500, 288, 850 },
		{ "MI400", 7000, 320, 1000 },
	};
	enum tw_mark mark;
	size_t i;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		struct tw_platform p = platform(fixed[i].name);

		assert_true(p.mem_bw_gbps == fixed[i].bw && p.memory_gb == fixed[i].gb);
		assert_true(tw_platform_peak(&p, "matrix_bf16", &mark) == fixed[i].bf16);
		assert_int_equal(mark, TW_MARK_ACHIEVABLE);
	}
	assert_true(isnan(platform("MI355X").peak_tflops[0]));
	assert_true(isnan(tw_platform_peak(&(struct tw_platform){ 0 }, "vector_bfloat16", NULL)));
}

static double peak(const struct tw_platform *p, const char *spec)
{
	return tw_platform_peak(p, spec, NULL);
}

/* Errors of typing: a figure with sparsity, TB for GB, a peak under another's name. */
static void test_plausible(void **state)
{
	size_t i, k;

	assert_true(tw_platform_count() >= 17);
	for (i = 0; i < tw_platform_count(); i++) {
		struct tw_platform p = platform(tw_platform_name(i));

		assert_string_equal(p.name, tw_platform_name(i));
		assert_true(p.mem_bw_gbps > 500 && p.mem_bw_gbps < 20000);
		assert_true(p.memory_gb >= 16 && p.memory_gb < 1000);
		assert_int_not_equal(p.mem_bw_mark, TW_MARK_NONE);
		for (k = 0; k < TW_PEAK_COUNT; k++)
			assert_true(isnan(p.peak_tflops[k]) == (p.peak_mark[k] == TW_MARK_NONE));
		/* Achieved figures differ a little; peaks are the same for both kinds of 16 bits. */
		assert_false(fabs(peak(&p, "matrix_fp16") / peak(&p, "matrix_bf16") - 1) > 0.15);
		/* Half the bits, twice the rate; a sparse figure among dense ones makes four. */
		assert_false(fabs(peak(&p, "matrix_fp8") / peak(&p, "matrix_bf16") - 2) > 0.25);
		assert_false(fabs(peak(&p, "matrix_bf16") / peak(&p, "matrix_tf32") - 2) > 0.1);
		assert_false(fabs(peak(&p, "matrix_fp4") / peak(&p, "matrix_fp8") - 2) > 0.1);
	}
}

/* Every row of the file is in the program. */
static void test_rows(void **state)
{
	char *text = scratch_read("data/platforms.tsv", NULL), *line, *next;
	size_t rows = 0;

	if (!text)
		fail_msg("cannot read data/platforms.tsv: run from the root of the sources");
	for (line = text; *line; line = next) {
		const struct tw_platform_fact *fact = &tw_platform_facts[rows];
		char again[400], number[40] = "";

		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		if (!*line || *line == '#')
			continue;
		assert_true(rows++ < tw_platform_fact_count);
		if (!*fact->pattern)
			snprintf(number, sizeof(number), "%.10g", fact->value);
		snprintf(again, sizeof(again), "%s\t%s\t%s%s\t%s\t%s", fact->platform, fact->key,
			 number, fact->pattern, *fact->pattern ? "-" : tw_mark_name(fact->mark),
			 fact->source);
		assert_string_equal(line, again);
	}
	assert_int_equal(rows, tw_platform_fact_count);
	free(text);
}

/* ---- names */

static void test_names(void **state)
{
	static const char *const names[][2] = {
		{ "mi300x", "MI300X" },
		{ "AMD Instinct MI300X", "MI300X" },
		{ "instinct-mi355x", "MI355X" },
		{ "h100-sxm", "H100 SXM" },
		{ "NVIDIA H100 SXM", "H100 SXM" },
		{ "a100_80gb_sxm", "A100 80GB SXM" },
		{ "GeForce RTX4090", "RTX 4090" },
		{ "nvidia  geforce rtx 4090 ", "RTX 4090" },
	};
	struct tw_platform p;
	struct tw_str list;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(platform(names[i][0]).name, names[i][1]);
	assert_false(tw_platform_find("H100", &p));
	assert_false(tw_platform_find("MI300X2", &p));
	assert_false(tw_platform_find("", &p));
	assert_false(tw_platform_find("nvidia", &p));
	tw_str_init(&list, trawl_allocator_default());
	tw_platform_list(&list);
	assert_int_equal(strncmp(list.ptr, "MI300X, MI325X, MI355X, MI400, ", 31), 0);
	tw_str_release(&list);
}

/* NULL: unknown. */
static void guess(const char *device, double bytes, const char *wanted)
{
	struct tw_platform p;
	bool found = tw_platform_guess(device, strlen(device), bytes, &p);

	if (found != !!wanted || (found && strcmp(p.name, wanted)))
		fail_msg("%s, %.0f: %s, not %s", device, bytes, found ? p.name : "unknown",
			 wanted ? wanted : "unknown");
}

static void test_devices(void **state)
{
	/* As in traces. */
	guess("AMD Instinct MI300X", 206141652992, "MI300X");
	guess("AMD Instinct MI210", 68702699520, "MI210");
	guess("NVIDIA H100 80GB HBM3", 84987740160, "H100 SXM");
	guess("NVIDIA A100-SXM4-40GB", 42298834944, "A100 40GB SXM");
	guess("NVIDIA A100-SXM4-80GB", 84987740160, "A100 80GB SXM");
	guess("NVIDIA GeForce RTX 4090", 25386352640, "RTX 4090");
	guess("NVIDIA L40S", 47697362944, "L40S");
	guess("NVIDIA H200", 150110011392, "H200");
	/* The memory decides, or is not recorded. */
	guess("A100-SXM", 40 * GIB, "A100 40GB SXM");
	guess("A100-SXM", 80 * GIB, "A100 80GB SXM");
	guess("A100-SXM", 0, NULL);
	/* a very name says enough */
	guess("NVIDIA A100-SXM4-40GB", 0, "A100 40GB SXM");
	guess("gfx942:sramecc+:xnack-", 256 * GIB, "MI325X");
	guess("gfx942", 192 * GIB, "MI300X");
	guess("gfx942", 128 * GIB, NULL);
	guess("AMD Instinct MI300X", 0, "MI300X");
	/* A part of a GPU, another variant, no GPU of ours. */
	guess("AMD Instinct MI300X", 24 * GIB, NULL);
	guess("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 10 * GIB, NULL);
	guess("NVIDIA H100 80GB HBM3", 64 * GIB, NULL);
	guess("AMD Instinct MI350X", 309220868096, NULL);
	guess("Tesla V100-SXM2-16GB", 16 * GIB, NULL);
	guess("", 0, NULL);
}

/* ---- files */

static int parse(const char *text, struct tw_platform *p, struct trawl_error *err)
{
	return tw_platform_parse(text, strlen(text), "dir/mine.json", p, trawl_allocator_default(),
				 err);
}

static void test_file(void **state)
{
	struct tw_platform p;
	struct trawl_error err;
	enum tw_mark mark;

	assert_int_equal(
		parse("{\"name\": \"Mine\", \"mem_bw_gbps\": 1234.5, \"memory_gb\": 64,\n"
		      "\"freq_mhz\": [1, {}], \"max_achievable_tflops\": {\"matrix_bf16\": 500,"
		      "\"vector_fp32\": 12.5, \"matrix_fp4\": null, \"matrix_xx\": \"?\"}}",
		      &p, &err),
		0);
	assert_string_equal(p.name, "Mine");
	assert_true(p.mem_bw_gbps == 1234.5 && p.memory_gb == 64);
	assert_true(tw_platform_peak(&p, "matrix_bf16", &mark) == 500);
	assert_int_equal(mark, TW_MARK_NONE);
	assert_true(peak(&p, "vector_fp32") == 12.5);
	assert_true(isnan(peak(&p, "matrix_fp4")) && isnan(peak(&p, "matrix_fp8")));
	assert_int_equal(parse("{\"mem_bw_gbps\": 1}", &p, &err), 0);
	assert_string_equal(p.name, "mine");
}

static void test_bad_files(void **state)
{
	static const char *const bad[][2] = {
		{ "", "mine.json:1:1: the text ends" },
		{ "[]", "mine.json:1:1: a platform is an object" },
		{ "{\"name\": \"x\"}", "\"mem_bw_gbps\" is missing" },
		{ "{\"mem_bw_gbps\": null}", "\"mem_bw_gbps\" is missing" },
		{ "{\"name\": 1, \"mem_bw_gbps\": 1}", "(the value of \"name\")" },
		{ "{\n\"mem_bw_gbps\": \"5300\"}",
		  "mine.json:2:16: a number above 0 is needed here (the value of \"mem_bw_gbps\")" },
		{ "{\"mem_bw_gbps\": -1}", "a number above 0" },
		{ "{\"mem_bw_gbps\": 0}", "a number above 0" },
		{ "{\"mem_bw_gbps\": NaN}", "no value of JSON (the value of \"mem_bw_gbps\")" },
		{ "{\"mem_bw_gbps\": 1e999}", "a number too large" },
		{ "{\"mem_bw_gbps\": 1, \"memory_gb\": []}", "(the value of \"memory_gb\")" },
		{ "{\"mem_bw_gbps\": 1, \"max_achievable_tflops\": 5}",
		  "(the value of \"max_achievable_tflops\")" },
		{ "{\"mem_bw_gbps\": 1, \"max_achievable_tflops\": {\"matrix_bf16\": true}}",
		  "(the value of \"matrix_bf16\")" },
		{ "{\"mem_bw_gbps\": 1", "the text ends" },
		{ "{\"mem_bw_gbps\": 1} x", "more text" },
	};
	struct tw_platform p;
	struct trawl_error err;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i][0], &p, &err), TRAWL_EFORMAT);
		if (!strstr(err.message, bad[i][1]))
			fail_msg("%s: %s, not %s", bad[i][0], err.message, bad[i][1]);
		assert_non_null(strstr(err.message, "dir/mine.json"));
		assert_null(strchr(err.message, '\n'));
	}
}

/* ---- roofline */

/* The example of src/model/roofline.h, worked by hand. */
static void test_roofline_example(void **state)
{
	struct tw_platform p = platform("MI300X");
	struct tw_roofline r;
	struct tw_rates rates;

	tw_roofline(&r, &p, 137438953472, 100663296, "matrix_bf16", 250000);
	/* 137438953472 / 708e6 µs; 100663296 / 5300e3 µs. */
	expect_near(r.time_us, 137438.953472 / 708);
	expect_near(r.memory_us, 100663.296 / 5300);
	assert_string_equal(r.bound, "COMPUTE_BOUND");
	expect_near(r.percent, 137438.953472 / 708 / 2.5);
	assert_false(r.anomaly);
	assert_int_equal(r.mark, TW_MARK_ACHIEVABLE);
	tw_rates(&rates, 137438953472, 100663296, 250000);
	expect_near(rates.tflops_per_s, 549.755813888);
	expect_near(rates.tb_per_s, 0.402653184);
	expect_near(rates.flops_per_byte, 4096 / 3.0);
}

static void test_roofline_memory(void **state)
{
	struct tw_platform p = platform("MI300X");
	struct tw_roofline r;

	/* An addition of 10^9 numbers in bf16: 6 GB at 5.3 TB/s, 10^9 FLOPs at 163 TFLOP/s. */
	tw_roofline(&r, &p, 1e9, 6e9, "vector_bf16", 2000000);
	assert_string_equal(r.bound, "MEMORY_BOUND");
	expect_near(r.time_us, 6e6 / 5300);
	expect_near(r.percent, 6e6 / 5300 / 20);
	expect_near(r.memory_percent, r.percent);
	/* Equal times: compute has it. */
	tw_roofline(&r, &p, 163e9, 5300e6, "vector_bf16", 1000000);
	assert_string_equal(r.bound, "COMPUTE_BOUND");
	expect_near(r.time_us, 1000);
	assert_false(r.anomaly);
	tw_roofline(&r, &p, 163e9, 5300e6, "vector_bf16", 900000);
	assert_true(r.anomaly);
	p = platform("B200");
	tw_roofline(&r, &p, 1e9, 1e9, "vector_bf16", 1);
	assert_int_equal(r.mark, TW_MARK_UNVERIFIED);
}

static void expect_no_roofline(const struct tw_platform *p, double flops, double bytes,
			       const char *spec)
{
	struct tw_roofline r;

	tw_roofline(&r, p, flops, bytes, spec, 1000);
	assert_true(isnan(r.time_us) && isnan(r.percent));
	assert_null(r.bound);
	assert_false(r.anomaly);
	assert_int_equal(r.mark, TW_MARK_NONE);
}

/* What computes nothing, or what no peak is for, is bound by its bytes: 5.3 GB at 5.3 TB/s. */
static void test_roofline_of_bytes(void **state)
{
	static const struct {
		double flops;
		const char *spec;
	} calls[] = { { 0, "vector_bf16" }, { 0, "" }, { NAN, "matrix_bf16" }, { 1e9, "" } };
	struct tw_platform p = platform("MI300X");
	struct tw_roofline r;
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		tw_roofline(&r, &p, calls[i].flops, 5300e6, calls[i].spec, 2000000);
		assert_string_equal(r.bound, "MEMORY_BOUND");
		expect_near(r.time_us, 1000);
		expect_near(r.percent, 50);
		expect_near(r.memory_percent, 50);
		assert_false(r.anomaly);
	}
	tw_roofline(&r, &p, 0, 5300e6, "", 900000);
	assert_true(r.anomaly);
	/* Over the bandwidth, where the peak is not known. */
	tw_roofline(&r, &p, 1e9, 5300e6, "matrix_mystery", 900000);
	assert_true(r.anomaly && !r.bound);
}

static void test_roofline_absent(void **state)
{
	struct tw_platform p = platform("MI355X"), bare = p;
	struct tw_roofline r;
	struct tw_rates rates;

	expect_no_roofline(&p, 1e9, 1e9, "matrix_fp8");
	expect_no_roofline(&p, 1e9, 1e9, "vector_bfloat16");
	expect_no_roofline(&p, 1e9, NAN, "matrix_bf16");
	expect_no_roofline(&p, 0, 0, "matrix_bf16");
	bare.mem_bw_gbps = NAN;
	expect_no_roofline(&bare, 1e9, 1e9, "matrix_bf16");
	/* Without a time there is a roofline, but no share of it. */
	tw_roofline(&r, &p, 1e9, 1e9, "matrix_bf16", 0);
	assert_true(r.time_us > 0 && isnan(r.percent) && isnan(r.memory_percent) && !r.anomaly);
	tw_rates(&rates, 1e9, 0, 0);
	assert_true(isnan(rates.flops_per_byte) && isnan(rates.tflops_per_s) &&
		    isnan(rates.tb_per_s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed_figures),
		cmocka_unit_test(test_plausible),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_roofline_example),
		cmocka_unit_test(test_roofline_memory),
		cmocka_unit_test(test_roofline_absent),
		cmocka_unit_test(test_roofline_of_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
