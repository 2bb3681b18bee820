#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models.h"

#define BF16 "c10::BFloat16"

/* The examples of src/model/families/softmax.c. */
static void example(void **state)
{
	(void)state;
	model("aten::_softmax", "[[4, 8], [], []]", "['" BF16 "', 'Scalar', 'Scalar']",
	      "['', '-1', 'False']");
	expect_work(160, 128, "vector_bf16");
	expect_parameter("op_shape", "(4, 8)");
	expect_parameter("dim", "1");
	model_backward("aten::_softmax", "[[4, 8], [], []]", "['" BF16 "', 'Scalar', 'Scalar']",
		       "['', '-1', 'False']");
	expect_work(128, 192, "vector_bf16");
	model("aten::_softmax_backward_data", "[[4, 8], [4, 8], [], []]",
	      "['" BF16 "', '" BF16 "', 'Scalar', 'Scalar']", "['', '', '-1', '15']");
	expect_work(128, 192, "vector_bf16");
}

/* By counting every step of a softmax of `rows` of `columns`. */
static double steps(int rows, int columns)
{
	double flops = 0;
	int r, c;

	for (r = 0; r < rows; r++) {
		for (c = 0; c < columns; c++)
			flops++; /* max = x > max ? x : max */
		for (c = 0; c < columns; c++)
			flops += 3; /* e = exp(x - max), sum += e */
		for (c = 0; c < columns; c++)
			flops++; /* y = e / sum, or x - max less log(sum) */
	}
	return flops;
}

static void agrees_with_loops(void **state)
{
	static const char *const names[] = { "aten::_softmax", "aten::_log_softmax",
					     "aten::softmax", "aten::log_softmax" };
	char dims[60];
	int rows, columns, i;

	(void)state;
	for (rows = 0; rows < 5; rows += 2)
		for (columns = 1; columns < 9; columns += 3)
			for (i = 0; i < 4; i++) {
				snprintf(dims, sizeof(dims), "[[%d, %d], [], []]", rows, columns);
				model(names[i], dims, "['float', 'Scalar', '']", "['', '1', '']");
				expect_work(steps(rows, columns), 8. * rows * columns,
					    "vector_fp32");
			}
}

static void types(void **state)
{
	(void)state;
	/* half in, float out */
	model("aten::_softmax", "[[4, 8], [], []]", "['c10::Half', 'Scalar', 'Scalar']",
	      "['', '-1', 'True']");
	expect_work(160, 32 * (2 + 4), "vector_fp16");
	model("aten::log_softmax", "[[4, 8], [], []]", "['c10::Half', 'Scalar', 'Scalar']",
	      "['', '-1', '6']");
	expect_work(160, 32 * (2 + 4), "vector_fp16");
	/* and back: float gradient and result, half out */
	model("aten::_log_softmax_backward_data", "[[4, 8], [4, 8], [], []]",
	      "['float', 'float', 'Scalar', 'Scalar']", "['', '', '1', '5']");
	expect_work(128, 32 * (4 + 4 + 2), "vector_fp32");
	model("aten::_softmax", "[[4, 8]]", "['float']", "[]");
	expect_work(160, 256, "vector_fp32");
	expect_parameter("dim", "None");
	model("aten::_softmax", "[[4, 8]]", "['UnknownT']", "['', '-1', 'False']");
	expect_work(160, NAN, "");
}

static void what_makes_no_sense(void **state)
{
	(void)state;
	model("aten::_softmax", "[[4, 8]]", "['float']", "['', '2', 'False']");
	expect_failure("dimension");
	model("aten::_softmax", "[[4, 8]]", "['float']", "['', '-3', 'False']");
	expect_failure("dimension");
	model("aten::_softmax", "[[]]", "['Scalar']", "['']");
	expect_failure("not a tensor");
	model("aten::_softmax_backward_data", "[[4, 8], [4, 7]]", "['float', 'float']", "[]");
	expect_failure("does not match");
}

static void composites(void **state)
{
	(void)state;
	assert_true(tw_model_of("aten::softmax", strlen("aten::softmax"))->composite);
	assert_true(tw_model_of("aten::embedding", strlen("aten::embedding"))->composite);
	assert_false(tw_model_of("aten::_softmax", strlen("aten::_softmax"))->composite);
	assert_false(tw_model_of("aten::gather", strlen("aten::gather"))->composite);
}

/* ---- look-ups */

/* The example of src/model/families/embedding.c. */
static void embedding(void **state)
{
	(void)state;
	model("aten::embedding", "[[10, 4], [2, 3], [], [], []]", "['float', 'long int']", "[]");
	expect_work(0, 240, "vector_fp32");
	expect_parameter("op_shape", "(10, 4)");
	expect_parameter("index_shape", "(2, 3)");
	expect_parameter("num_output_elems", "24");
	/* more indices than rows: the table is read once */
	model("aten::embedding", "[[10, 4], [5, 6], [], [], []]", "['float', 'long int']", "[]");
	expect_work(0, 160 + 480 + 240, "vector_fp32");
	model("aten::embedding", "[[10], [5, 6]]", "['float', 'long int']", "[]");
	expect_failure("rows");
}

static void selected(void **state)
{
	(void)state;
	/* 3 of 5 columns of 4 rows */
	model("aten::index_select", "[[4, 5], [], [3]]", "['float', 'Scalar', 'long int']",
	      "['', '-1', '']");
	expect_work(0, 48 + 48 + 24, "vector_fp32");
	model("aten::index_select", "[[4, 5], [], [3]]", "['float', 'Scalar', 'int']",
	      "['', '0', '']");
	expect_work(0, 60 + 60 + 12, "vector_fp32");
	model("aten::index_select", "[[4, 5], [], [3]]", "['float', 'Scalar', 'int']", "[]");
	expect_failure("dimension");
	model("aten::index_select", "[[4, 5], [], [3, 2]]", "['float', 'Scalar', 'int']",
	      "['', '0', '']");
	expect_failure("vector");
	model("aten::gather", "[[4, 5], [], [2, 5]]", "['" BF16 "', 'Scalar', 'long int']",
	      "['', '0', '']");
	expect_work(0, 20 + 20 + 80, "vector_bf16");
	model("aten::gather", "[[4, 5], [], [100, 5]]", "['" BF16 "', 'Scalar', 'long int']",
	      "['', '0', '']");
	expect_work(0, 40 + 1000 + 4000, "vector_bf16");
	model("aten::gather", "[[4, 5], [], [100]]", "['float', 'Scalar', 'long int']", "[]");
	expect_failure("do not match");
}

static void embedding_backward(void **state)
{
	(void)state;
	/* 6 rows of 4 are added to a table of 10 rows */
	model("aten::embedding_dense_backward", "[[2, 3, 4], [2, 3], [], [], []]",
	      "['float', 'long int', 'Scalar', 'Scalar', 'Scalar']",
	      "['', '', '10', '-1', 'False']");
	expect_work(24, 96 + 160 + 48, "vector_fp32");
	model("aten::embedding_dense_backward", "[[2, 3, 4], [2, 3]]", "['float', 'long int']",
	      "[]");
	expect_work(24, NAN, "vector_fp32");
	model("aten::embedding_dense_backward", "[[2, 3, 4], [2, 4]]", "['float', 'long int']",
	      "['', '', '10']");
	expect_failure("do not match");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example),    cmocka_unit_test(agrees_with_loops),
		cmocka_unit_test(types),      cmocka_unit_test(what_makes_no_sense),
		cmocka_unit_test(composites), cmocka_unit_test(embedding),
		cmocka_unit_test(selected),   cmocka_unit_test(embedding_backward),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
