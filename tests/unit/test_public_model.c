/* Cost models and platforms as users of the library see them: nothing but trawl/trawl.h. */
#include <trawl/trawl.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

static bool is_near(double value, double expected)
{
	return fabs(value - expected) < 1e-9 * fabs(expected);
}

/* The cell's text is `expected`. */
static bool says(const struct trawl_table *table, size_t row, size_t column, const char *expected)
{
	struct trawl_cell cell = trawl_table_cell(table, row, column);

	return cell.state == TRAWL_CELL_VALUE && cell.text_len == strlen(expected) &&
	       !memcmp(cell.text, expected, cell.text_len);
}

/* (16 x 8) (8 x 4) in bf16: 2 * 16 * 8 * 4 FLOPs; 128 + 32 + 64 elements of 2 bytes. */
static void the_work_of_a_product(void **state)
{
	struct trawl_call call = { "aten::mm", .dims = "16x8,8x4", .types = "bf16" };
	struct trawl_work_figures f;
	struct trawl_work *work;
	struct trawl_error err;
	const char *value;
	size_t len;

	assert_int_equal(trawl_work_new(&work, &call, false, &err), 0);
	f = trawl_work_figures(work, 0);
	assert_true(f.flops == 1024 && f.bytes == 448 && !f.more_bytes);
	assert_true(is_near(f.flops_per_byte, 1024.0 / 448));
	assert_true(isnan(f.tflops_per_s) && isnan(f.tb_per_s));
	assert_string_equal(f.spec, "matrix_bf16");
	/* In 1 ns: 1.024 TFLOP/s, 0.448 TB/s. */
	f = trawl_work_figures(work, 1);
	assert_true(is_near(f.tflops_per_s, 1.024) && is_near(f.tb_per_s, 0.448));
	assert_true(trawl_work_parameters(work) >= 3);
	assert_string_equal(trawl_work_parameter(work, 0, &value, &len), "M");
	assert_int_equal(len, 2);
	assert_memory_equal(value, "16", 2);
	trawl_work_free(work);
	/* Its backward pass are other operations. */
	assert_int_equal(trawl_work_new(&work, &call, true, &err), TRAWL_ENODATA);
	assert_null(work);
	/* As the profiler writes it. */
	call.dims = "[[16, 8], [8, 4]]";
	call.types = "[\"c10::BFloat16\", \"c10::BFloat16\"]";
	assert_int_equal(trawl_work_new(&work, &call, false, NULL), 0);
	assert_true(trawl_work_figures(work, 0).bytes == 448);
	trawl_work_free(work);
	trawl_work_free(NULL);
}

/* The example of src/model/roofline.h: 708 TFLOP/s, 5300 GB/s, 250 µs. */
static void a_roofline(void **state)
{
	const struct trawl_call call = { "aten::mm", "4096x4096,4096x4096", "bf16", NULL, NULL };
	struct trawl_roofline r;
	struct trawl_work *work;
	struct trawl_error err;

	assert_int_equal(trawl_work_new(&work, &call, false, &err), 0);
	assert_int_equal(trawl_work_roofline(work, "mi300x", 250000, &r, &err), 0);
	assert_string_equal(r.platform, "MI300X");
	assert_true(r.peak == 708 && r.bandwidth == 5300 && !r.over);
	assert_string_equal(r.bound, "COMPUTE_BOUND");
	assert_true(is_near(r.time_us, 137438953472.0 / 708e6));
	assert_true(is_near(r.percent, 137438953472.0 / 708e6 / 250 * 100));
	assert_true(is_near(r.memory_us, 100663296 / 5300e3));
	/* Faster than it can be. */
	assert_int_equal(trawl_work_roofline(work, "mi300x", 50000, &r, &err), 0);
	assert_true(r.over);
	assert_int_equal(trawl_work_roofline(work, "abacus", 0, &r, &err), TRAWL_EUSAGE);
	trawl_work_free(work);
}

static void what_is_refused(void **state)
{
	struct trawl_call call = { "aten::mm", "16x8,8x4", "bf16", NULL, NULL };
	struct trawl_work *work;
	struct trawl_error err;

	assert_int_equal(trawl_model_check("aten::mm", &err), 0);
	assert_int_equal(trawl_model_check("aten::mmm", &err), TRAWL_EUSAGE);
	assert_non_null(strstr(err.message, "aten::mm"));
	call.operation = "no::such";
	assert_int_equal(trawl_work_new(&work, &call, false, NULL), TRAWL_EUSAGE);
	assert_null(work);
	call.operation = "aten::mm";
	call.dims = "16xx8";
	assert_int_equal(trawl_work_new(&work, &call, false, &err), TRAWL_EUSAGE);
	assert_non_null(strstr(err.message, "16xx8"));
	call.dims = NULL;
	assert_int_equal(trawl_work_new(&work, &call, false, &err), TRAWL_EUSAGE);
	/* 8 columns cannot be multiplied by 9 rows. */
	call.dims = "16x8,9x4";
	assert_int_equal(trawl_work_new(&work, &call, false, &err), TRAWL_ENODATA);
	assert_null(work);
}

static void the_lists(void **state)
{
	struct trawl_table *table;
	struct trawl_error err;
	size_t row, found = 0;

	assert_int_equal(trawl_models(&table, &err), 0);
	for (row = 0; row < trawl_table_rows(table); row++)
		found += says(table, row, 0, "aten::mm") && says(table, row, 3, "matrix") &&
			 says(table, row, 4, "no");
	assert_int_equal(found, 1);
	trawl_table_free(table);
	assert_int_equal(trawl_platforms(&table, &err), 0);
	assert_string_equal(trawl_table_name(table), "platforms");
	for (row = 0, found = 0; row < trawl_table_rows(table); row++)
		if (says(table, row, 0, "MI300X")) {
			size_t peak = trawl_table_find_column(table, "matrix_bf16");

			found++;
			assert_true(trawl_table_cell(table, row, peak).real == 708);
		}
	assert_int_equal(found, 1);
	trawl_table_free(table);
	assert_int_equal(trawl_platform_facts(&table, "MI300X", &err), 0);
	for (row = 0, found = 0; row < trawl_table_rows(table); row++)
		if (says(table, row, 0, "mem_bw_gbps")) {
			found++;
			assert_true(trawl_table_cell(table, row, 1).real == 5300);
			assert_true(trawl_table_cell(table, row, 4).text_len > 0);
		}
	assert_int_equal(found, 1);
	trawl_table_free(table);
	assert_int_equal(trawl_platform_facts(&table, "abacus", NULL), TRAWL_EUSAGE);
	assert_null(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_work_of_a_product),
		cmocka_unit_test(a_roofline),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(the_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
