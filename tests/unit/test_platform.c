/* Platforms: the facts, names, devices, users' files; and the roofline that is made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/platform.h"
#include "model/roofline.h"
#include "edges.h"
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

/* By hand from the sources that the data file names. */
static void test_figures(void **state)
{
	static const struct {
		const char *name;
		double bw, gb, bf16;
		enum tw_mark mark;
	} fixed[] = {
		{ "MI300X", 5300, 192, 708, TW_MARK_ACHIEVABLE },
		{ "MI325X", 6000, 256, 843, TW_MARK_ACHIEVABLE },
		/* 256 compute units, 4096 FLOPs a cycle each, at 2.4 GHz and 2.2 GHz */
		{ "MI355X", 8000, 288, 2516.6, TW_MARK_DATASHEET },
		{ "MI350X", 8000, 288, 2306.9, TW_MARK_DATASHEET },
		{ "V100 32GB SXM", 900, 32, NAN, TW_MARK_NONE },
		{ "T4", 320, 16, NAN, TW_MARK_NONE },
		{ "L4", 300, 24, 121, TW_MARK_DATASHEET },
		{ "A10", 600, 24, 125, TW_MARK_DATASHEET },
		{ "H20", 4000, 96, 148, TW_MARK_UNVERIFIED },
		{ "GH200 96GB", 4000, 96, 989.5, TW_MARK_DATASHEET },
		{ "Max 1550", 3276.8, 128, 838.9, TW_MARK_DATASHEET },
		{ "Gaudi 2", 2450, 96, 432, TW_MARK_DATASHEET },
	};
	double bf16;
	enum tw_mark mark;
	size_t i;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		struct tw_platform p = platform(fixed[i].name);

		assert_true(p.mem_bw_gbps == fixed[i].bw && p.memory_gb == fixed[i].gb);
		bf16 = tw_platform_peak(&p, "matrix_bf16", &mark);
		assert_true(bf16 == fixed[i].bf16 || (isnan(bf16) && isnan(fixed[i].bf16)));
		assert_int_equal(mark, fixed[i].mark);
	}
	assert_true(isnan(tw_platform_peak(&(struct tw_platform){ 0 }, "vector_bfloat16", NULL)));
}

static double peak(const struct tw_platform *p, const char *spec)
{
	return tw_platform_peak(p, spec, NULL);
}

/* Where both are known. */
static bool in_ratio(const struct tw_platform *p, const char *high, const char *low, double ratio,
		     double tolerance)
{
	return !(fabs(peak(p, high) / peak(p, low) - ratio) > tolerance);
}

/* Errors of typing: a figure with sparsity, TB for GB, a peak under another's name. */
static void test_plausible(void **state)
{
	size_t i, k;

	assert_true(tw_platform_count() >= 17);
	for (i = 0; i < tw_platform_count(); i++) {
		struct tw_platform p = platform(tw_platform_name(i));

		assert_string_equal(p.name, tw_platform_name(i));
		assert_true(p.mem_bw_gbps >= 300 && p.mem_bw_gbps < 20000);
		assert_true(p.memory_gb >= 16 && p.memory_gb < 1000);
		assert_int_not_equal(p.mem_bw_mark, TW_MARK_NONE);
		for (k = 0; k < TW_PEAK_COUNT; k++)
			assert_true(isnan(p.peak_tflops[k]) == (p.peak_mark[k] == TW_MARK_NONE));
		/* Achieved figures differ a little; peaks are the same for both kinds of 16 bits. */
		assert_true(in_ratio(&p, "matrix_fp16", "matrix_bf16", 1, 0.2) ||
			    !strcmp(p.name, "MI100"));
		/* Half the bits, twice the rate; a sparse figure among dense ones makes four. */
		assert_true(in_ratio(&p, "matrix_fp8", "matrix_bf16", 2, 0.5) ||
			    !strcmp(p.name, "Gaudi 3"));
		assert_true(in_ratio(&p, "matrix_bf16", "matrix_tf32", 2, 0.1));
		assert_true(in_ratio(&p, "matrix_fp4", "matrix_fp8", 2, 0.1) ||
			    strstr(p.name, "B300"));
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
			 number, fact->pattern,
			 fact->mark == TW_MARK_NONE ? "-" : tw_mark_name(fact->mark), fact->source);
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
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(platform(names[i][0]).name, names[i][1]);
	assert_false(tw_platform_find("H100", &p));
	assert_false(tw_platform_find("MI300X2", &p));
	assert_false(tw_platform_find("", &p));
	assert_false(tw_platform_find("nvidia", &p));
}

/* NULL: unknown. */
static void guess_by(const struct tw_device *device, const char *wanted)
{
	struct tw_platform p;
	bool found = tw_platform_of_device(device, &p);

	if (found != !!wanted || (wanted && strcmp(p.name, wanted)))
		fail_msg("%s, %.0f, %.0f: %s, not %s", device->name, (double)device->memory_bytes,
			 (double)device->units, found ? p.name : "unknown",
			 wanted ? wanted : "unknown");
}

static void guess(const char *name, double bytes, const char *wanted)
{
	guess_by(&(struct tw_device){ .name = name, .memory_bytes = (int64_t)bytes }, wanted);
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
	EDGE_OF(TW_LIMIT_PLATFORM_MEMORY_PERCENT);
	guess("gfx942", 172.81 * GIB, "MI300X");
	guess("gfx942", 172.79 * GIB, NULL);
	guess("gfx942", 128 * GIB, "MI300A");
	guess("AMD Instinct MI300X", 0, "MI300X");
	/* A part of a GPU, another variant, no GPU of ours. */
	guess("AMD Instinct MI300X", 24 * GIB, NULL);
	guess("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 10 * GIB, NULL);
	guess("NVIDIA H100 80GB HBM3", 64 * GIB, NULL);
	guess("AMD Instinct MI350X", 309220868096, "MI350X");
	guess("Tesla V100-SXM2-16GB", 16 * GIB, "V100 16GB SXM");
	guess("NVIDIA L4", 24152899584, "L4");
	guess("NVIDIA A10G", 24146608128, "A10G");
	guess("NVIDIA H20", 101987123200, "H20");
	guess("NVIDIA GH200 480GB", 101986205696, "GH200 96GB");
	guess("NVIDIA B300 SXM6 AC", 288400343040, "B300");
	guess("Intel(R) Data Center GPU Max 1550", 128 * GIB, "Max 1550");
	guess("Intel(R) Data Center GPU Max 1550", 64 * GIB, "Max 1550 1 stack");
	guess("NVIDIA A100-PG509-200", 42297524224, NULL);
	guess("", 0, NULL);
}

/* What a device without a name is: the only one with its properties. */
static void test_devices_without_name(void **state)
{
	struct tw_device device = { "", 206141652992, 304, 94 };

	guess_by(&device, "MI300X");
	device.name = "AMD Radeon Graphics";
	guess_by(&device, "MI300X");
	device.memory_bytes = 256 * (int64_t)GIB;
	guess_by(&device, "MI325X");
	device = (struct tw_device){ "", 206141652992, 304, 0 };
	guess_by(&device, "MI300X");
	device = (struct tw_device){ "", 34079637504, 120, 90 };
	guess_by(&device, "MI100");
	device = (struct tw_device){ "", 84987740160, 114, 90 };
	guess_by(&device, NULL); /* H100 PCIe or H800 PCIe */
	device = (struct tw_device){ "AMD Radeon Graphics", 68702699520, 104, 90 };
	guess_by(&device, NULL); /* MI210 or half a MI250 */
	device = (struct tw_device){ "", 206141652992, 303, 94 };
	guess_by(&device, NULL);
	device = (struct tw_device){ "", 206141652992, 304, 95 };
	guess_by(&device, NULL);
	device = (struct tw_device){ "", 0, 304, 94 };
	guess_by(&device, NULL);
	device = (struct tw_device){ "", 206141652992, 0, 94 };
	guess_by(&device, NULL);
	/* One that has a name is what its name says, or unknown. */
	device = (struct tw_device){ "Some GPU", 206141652992, 304, 94 };
	guess_by(&device, NULL);
}

static int open_platform(const char *text, const char *device, struct tw_platform *p,
			 struct trawl_error *err)
{
	const struct tw_device d = { .name = device ? device : "" };

	return tw_platform_open(text, device ? &d : NULL, p, err);
}

static void test_variants(void **state)
{
	struct tw_platform p;
	struct trawl_error err;

	assert_int_equal(open_platform("H100", "NVIDIA H100 PCIe", &p, &err), 0);
	assert_string_equal(p.name, "H100 PCIe");
	assert_int_equal(open_platform("nvidia h100", "NVIDIA H100 NVL", &p, &err), 0);
	assert_string_equal(p.name, "H100 NVL");
	/* Another device, or none: which one matters. */
	assert_int_equal(open_platform("H100", "NVIDIA H200", &p, &err), TRAWL_EUSAGE);
	assert_string_equal(err.message, "platform 'H100' has several variants: name one of "
					 "H100 SXM, H100 PCIe, H100 NVL");
	assert_int_equal(open_platform("a100-80gb", NULL, &p, &err), TRAWL_EUSAGE);
	assert_non_null(strstr(err.message, "name one of A100 80GB SXM, A100 80GB PCIe"));
	/* A whole name is itself, whatever the device. */
	assert_int_equal(open_platform("H100 SXM", "NVIDIA H100 PCIe", &p, &err), 0);
	assert_string_equal(p.name, "H100 SXM");
	assert_int_equal(trawl_platform_check("H100", &err), 0);
	assert_int_equal(trawl_platform_check("H100 SXM", &err), 0);
	assert_int_equal(trawl_platform_check("H10", &err), TRAWL_EUSAGE);
	assert_non_null(strstr(err.message, "no platform 'H10'; nearest: A10"));
	assert_int_equal(trawl_platform_check("", &err), TRAWL_EUSAGE);
	assert_int_equal(open_platform("MI300", NULL, &p, &err), TRAWL_EUSAGE);
	assert_non_null(strstr(err.message, "nearest: MI300X, MI300A"));
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

/* A name may be as long as there is room for; of a longer one it is seen that it is cut. */
static void test_long_names(void **state)
{
	char text[200], name[100];
	struct tw_platform p;
	struct trawl_error err;
	size_t most = sizeof(p.name) - 1;

	memset(name, 'n', sizeof(name));
	snprintf(text, sizeof(text), "{\"name\": \"%.*s\", \"mem_bw_gbps\": 1}", (int)most, name);
	assert_int_equal(parse(text, &p, &err), 0);
	assert_memory_equal(p.name, name, most);
	snprintf(text, sizeof(text), "{\"name\": \"%.*s\", \"mem_bw_gbps\": 1}", (int)most + 1,
		 name);
	assert_int_equal(parse(text, &p, &err), 0);
	assert_int_equal(strlen(p.name), most);
	assert_string_equal(p.name + most - 4, "n...");
}

static void test_bad_files(void **state)
{
	static const char *const bad[][2] = {
		{ "", "mine.json:1:1: unexpected end" },
		{ "[]", "mine.json:1:1: expected a platform object" },
		{ "{\"name\": \"x\"}", "\"mem_bw_gbps\" is missing" },
		{ "{\"mem_bw_gbps\": null}", "\"mem_bw_gbps\" is missing" },
		{ "{\"name\": 1, \"mem_bw_gbps\": 1}", "(the value of \"name\")" },
		{ "{\n\"mem_bw_gbps\": \"5300\"}",
		  "mine.json:2:16: expected a number above 0 (the value of \"mem_bw_gbps\")" },
		{ "{\"mem_bw_gbps\": -1}", "a number above 0" },
		{ "{\"mem_bw_gbps\": 0}", "a number above 0" },
		{ "{\"mem_bw_gbps\": NaN}", "not a JSON value (the value of \"mem_bw_gbps\")" },
		{ "{\"mem_bw_gbps\": 1e999}", "number out of range" },
		{ "{\"mem_bw_gbps\": 1, \"memory_gb\": []}", "(the value of \"memory_gb\")" },
		{ "{\"mem_bw_gbps\": 1, \"max_achievable_tflops\": 5}",
		  "(the value of \"max_achievable_tflops\")" },
		{ "{\"mem_bw_gbps\": 1, \"max_achievable_tflops\": {\"matrix_bf16\": true}}",
		  "(the value of \"matrix_bf16\")" },
		{ "{\"mem_bw_gbps\": 1", "unexpected end" },
		{ "{\"mem_bw_gbps\": 1} x", "text after the end" },
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

/* 5.3 GB take 1000 us: in 909.0909 they are 110 %. */
static void test_over_the_roofline(void **state)
{
	struct tw_platform p = platform("MI300X");
	struct tw_roofline r;

	EDGE_OF(TW_LIMIT_ROOFLINE_ANOMALY_PERCENT);
	tw_roofline(&r, &p, 0, 5300e6, "", 909091);
	assert_false(r.anomaly);
	tw_roofline(&r, &p, 0, 5300e6, "", 909090);
	assert_true(r.anomaly);
}

static void expect_no_roofline(const struct tw_platform *p, double flops, double bytes,
			       const char *spec)
{
	struct tw_roofline r;

	tw_roofline(&r, p, flops, bytes, spec, 1000000000);
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
	struct tw_platform p = platform("MI300X"), bare = p;
	struct tw_roofline r;
	struct tw_rates rates;

	expect_no_roofline(&p, 1e9, 1e9, "matrix_fp4");
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
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_plausible),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_devices_without_name),
		cmocka_unit_test(test_variants),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_roofline_example),
		cmocka_unit_test(test_roofline_memory),
		cmocka_unit_test(test_over_the_roofline),
		cmocka_unit_test(test_roofline_absent),
		cmocka_unit_test(test_roofline_of_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
