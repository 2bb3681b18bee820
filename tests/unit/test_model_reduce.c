#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models.h"

/* The example of src/model/families/reduce.c. */
static void example(void **state)
{
	(void)state;
	model("aten::sum", "[[3, 4, 5], [], [], []]", "['float', 'ScalarList', 'Scalar', '']",
	      "['', '[-1, 0]', 'True', '']");
	expect_work(60, 256, "vector_fp32");
	expect_parameter("num_input_elems", "60");
	expect_parameter("num_output_elems", "4");
	expect_parameter("dtype_in_out", "('float', None)");
	expect_parameter("reduce_type", "sum");
	model_backward("aten::sum", "[[3, 4, 5], [], [], []]",
		       "['float', 'ScalarList', 'Scalar', '']", "['', '[-1, 0]', 'True', '']");
	expect_work(60, 256, "vector_fp32");
}

/* Every element adds itself to its place in the result: places that were met. */
static void loops(int a, int b, int c, bool over_a, bool over_b, bool over_c, double *steps,
		  double *places)
{
	static bool met[4][4][4];
	int i, j, k;

	memset(met, 0, sizeof(met));
	*steps = *places = 0;
	for (i = 0; i < a; i++)
		for (j = 0; j < b; j++)
			for (k = 0; k < c; k++) {
				bool *place = &met[over_a ? 0 : i][over_b ? 0 : j][over_c ? 0 : k];

				*steps += 1;
				*places += !*place;
				*place = true;
			}
}

static void agrees_with_loops(void **state)
{
	int shape, set;

	(void)state;
	for (shape = 0; shape < 64; shape++)
		for (set = 1; set < 8; set++) {
			int a = 1 + shape % 4, b = 1 + shape / 4 % 4, c = 1 + shape / 16;
			char dims[100], list[40] = "", values[100];
			double steps, places;

			/* the last dimension by its negative number */
			snprintf(list, sizeof(list), "%s%s%s%s%s", set & 4 ? "-1" : "",
				 set & 4 && set & 3 ? ", " : "", set & 1 ? "0" : "",
				 (set & 3) == 3 ? ", " : "", set & 2 ? "1" : "");
			snprintf(dims, sizeof(dims), "[[%d, %d, %d], [], []]", a, b, c);
			snprintf(values, sizeof(values), "['', '[%s]', 'False']", list);
			loops(a, b, c, set & 1, set & 2, set & 4, &steps, &places);
			model("aten::amax", dims, "['double', 'ScalarList', 'Scalar']", values);
			expect_work(steps, 8 * (steps + places), "vector_fp64");
			snprintf(dims, sizeof(dims), "[[%d, %d, %d], [], [], []]", a, b, c);
			snprintf(values, sizeof(values), "['', '2', '[%s]', 'True']", list);
			model("aten::linalg_norm", dims,
			      "['double', 'Scalar', 'ScalarList', 'Scalar']", values);
			expect_work(steps, 8 * (steps + places), "vector_fp64");
			expect_parameter("reduce_type", "norm");
		}
}

static void all_dimensions(void **state)
{
	static const char *const values[] = { "['', '[]', 'False', '']", "['', '', 'False', '']",
					      "['']", "[]" };
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		model("aten::mean", "[[3, 4, 5], [], [], []]", "['float', '', 'Scalar', '']",
		      values[i]);
		expect_work(60, 244, "vector_fp32");
		expect_parameter("num_output_elems", "1");
		expect_parameter("reduce_type", "mean");
	}
	/* sum(x, dtype=...): a number that is no dimension; std(x, unbiased) */
	model("aten::sum", "[[3, 4, 5], []]", "['float', 'Scalar']", "['', '6']");
	expect_work(60, 244, "vector_fp32");
	model("aten::std", "[[3, 4, 5], []]", "['float', 'Scalar']", "['', 'True']");
	expect_work(60, 244, "vector_fp32");
	model("aten::var", "[[3, 4, 5], [], [], []]", "['float', 'ScalarList', 'Scalar', 'Scalar']",
	      "['', '[1]', '1', 'True']");
	expect_work(60, 240 + 60, "vector_fp32");
	/* a tensor without dimensions */
	model("aten::sum", "[[], []]", "['float', 'ScalarList']", "['', '[-1]']");
	expect_work(1, 8, "vector_fp32");
}

static void maxima(void **state)
{
	(void)state;
	model("aten::max", "[[2, 4, 8], [], []]", "['float', 'Scalar', 'Scalar']",
	      "['', '-1', 'False']");
	/* eight places of 8 bytes, too; amax has none */
	expect_work(64, 4 * (64 + 8) + 8 * 8, "vector_fp32");
	expect_parameter("reduce_type", "max");
	model("aten::amax", "[[2, 4, 8], [], []]", "['float', 'ScalarList', 'Scalar']",
	      "['', '[-1]', 'False']");
	expect_work(64, 4 * (64 + 8), "vector_fp32");
	model("aten::max", "[[2, 4, 8]]", "['float']", "['']");
	expect_work(64, 4 * 65, "vector_fp32");
	/* of two tensors: a comparison for each of 3 x 4 results */
	model("aten::min", "[[3, 1], [4]]", "['long int', 'long int']", "['', '']");
	expect_work(12, 8 * (3 + 4 + 12), "");
	expect_parameter("num_output_elems", "12");
	model("aten::max", "[[3, 2], [4]]", "['float', 'float']", "['', '']");
	expect_failure("broadcast");
}

static void cumulative(void **state)
{
	(void)state;
	model("aten::cumsum", "[[4, 8], [], []]", "['int', 'Scalar', '']", "['', '0', '']");
	expect_work(32, 4 * 64, "");
	expect_parameter("num_output_elems", "32");
	expect_parameter("reduce_type", "sum");
	model("aten::cumprod", "[[4, 8], [], []]", "['c10::Half', 'Scalar', '']", "['', '1', '']");
	expect_work(32, 2 * 64, "vector_fp16");
}

static void scales_with_each_size(void **state)
{
	static const char *const dims[] = { "[[2, 3, 4]]", "[[4, 3, 4]]", "[[2, 6, 4]]",
					    "[[2, 3, 8]]" };
	/* reduced over the second: 24 + 8 */
	static const double bytes[] = { 128, 256, 4 * (48 + 8), 256 };
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++) {
		model("aten::logsumexp", dims[i], "['float', 'ScalarList']", "['', '[1]']");
		expect_work(i ? 48 : 24, bytes[i], "vector_fp32");
	}
}

static void what_makes_no_sense(void **state)
{
	(void)state;
	model("aten::sum", "[[3, 4], []]", "['float', 'ScalarList']", "['', '[2]']");
	expect_failure("do not match");
	model("aten::sum", "[[3, 4], []]", "['float', 'ScalarList']", "['', '[-3]']");
	expect_failure("do not match");
	model("aten::sum", "[[3, 4], []]", "['float', 'ScalarList']", "['', '[0, -2]']");
	expect_failure("do not match");
	model("aten::sum", "[[], []]", "['Scalar', 'ScalarList']", "[]");
	expect_failure("not a tensor");
	model("aten::sum", "[[[3], [4]], []]", "['TensorList', 'ScalarList']", "[]");
	expect_failure("not a tensor");
	model("aten::sum", "[[0, 4], []]", "['float', 'ScalarList']", "['', '[0]']");
	expect_work(0, 16, "vector_fp32");
	/* Of an unknown type the bytes are unknown, the FLOPs are not. */
	model("aten::sum", "[[3, 4], []]", "['UnknownT', 'ScalarList']", "['', '[0]']");
	expect_work(12, NAN, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example),
		cmocka_unit_test(agrees_with_loops),
		cmocka_unit_test(all_dimensions),
		cmocka_unit_test(maxima),
		cmocka_unit_test(cumulative),
		cmocka_unit_test(scales_with_each_size),
		cmocka_unit_test(what_makes_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
