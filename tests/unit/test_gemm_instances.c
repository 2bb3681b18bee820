/* The shortest and the longest call of rows of GEMM, on small traces: times by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "traces.h"

#include "table/table.h"

#include <stdio.h>

#define TABLE "gemm_instances"
#define MM                                                                     \
	"\"Input Dims\":[[8,16],[16,4]],\"Input type\":[\"float\",\"float\"]," \
	"\"Input Strides\":[[16,1],[4,1]],\"Concrete Inputs\":[\"\",\"\"]"
#define OTHER_MM                                                               \
	"\"Input Dims\":[[8,16],[16,8]],\"Input type\":[\"float\",\"float\"]," \
	"\"Input Strides\":[[16,1],[8,1]],\"Concrete Inputs\":[\"\",\"\"]"

struct fixture {
	struct trawl_trace *trace;
	struct trawl_report *report;
};

static struct fixture report(struct script *s, int64_t start_ns, int64_t end_ns)
{
	struct fixture f = { script_read(s), NULL };
	struct trawl_report_options options;

	trawl_report_options_init(&options);
	options.gemm_instances = true;
	if (end_ns) {
		options.start_ns = start_ns;
		options.end_ns = end_ns;
	}
	f.report = report_of(f.trace, &options);
	return f;
}

static void release(struct fixture *f)
{
	trawl_report_free(f->report);
	trawl_trace_free(f->trace);
}

/* Cells of a row, as text. */
static void assert_cells(const struct fixture *f, size_t row, const char *prefix,
			 const char *const values[7])
{
	static const char *const names[] = { "event",	      "time_ns",     "start_ns", "end_ns",
					     "main_start_ns", "main_dur_ns", "kernels" };
	char header[64];
	size_t i;

	for (i = 0; i < 7; i++) {
		snprintf(header, sizeof(header), "%s_%s", prefix, names[i]);
		assert_string_equal(cell_at(f->report, TABLE, row, header), values[i]);
	}
}
#define CELLS(f, row, prefix, ...) \
	assert_cells(f, row, prefix, (const char *const[7]){ __VA_ARGS__ })

static void only_when_asked(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, MM);
	script_launch_us(&s, 1, 1, "gemm", 20, 4);
	f.trace = script_read(&s);
	f.report = report_of(f.trace, NULL);
	assert_int_equal(rows_of(f.report, "GEMM"), 1);
	assert_null(trawl_report_find(f.report, TABLE));
	release(&f);
}

/* Events 0-2, 3-5, 6-8: a call of 4 us, one of 8 us, one of 6 us; another shape has its own row. */
static void shortest_and_longest(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, MM);
	script_launch_us(&s, 1, 1, "gemm", 20, 4);
	script_op_us(&s, "aten::mm", 20, 10, MM);
	script_launch_us(&s, 21, 2, "gemm", 30, 8);
	script_op_us(&s, "aten::mm", 40, 10, MM);
	script_launch_us(&s, 41, 3, "gemm", 50, 6);
	script_op_us(&s, "aten::mm", 60, 10, OTHER_MM);
	script_launch_us(&s, 61, 4, "gemm", 70, 2);
	f = report(&s, 0, 0);
	assert_int_equal(rows_of(f.report, TABLE), 2);
	assert_string_equal(cell_at(f.report, TABLE, 0, "name"), "aten::mm");
	assert_string_equal(cell_at(f.report, TABLE, 0, "param: N"), "4");
	assert_string_equal(cell_at(f.report, TABLE, 0, "UID_first"), "0");
	assert_string_equal(cell_at(f.report, TABLE, 0, "Input Dims_first"), "[[8, 16], [16, 4]]");
	assert_string_equal(cell_at(f.report, TABLE, 0, "name_count"), "3");
	assert_string_equal(cell_at(f.report, TABLE, 0, "main kernel"), "gemm");
	CELLS(&f, 0, "min", "0", "4000", "20000", "24000", "20000", "4000", "1");
	CELLS(&f, 0, "max", "3", "8000", "30000", "38000", "30000", "8000", "1");
	assert_string_equal(cell_at(f.report, TABLE, 1, "param: N"), "8");
	CELLS(&f, 1, "min", "9", "2000", "70000", "72000", "70000", "2000", "1");
	CELLS(&f, 1, "max", "9", "2000", "70000", "72000", "70000", "2000", "1");
	release(&f);
}

/* Of equals the shortest is the first, the longest the last. */
static void equals(void **state)
{
	struct script s;
	struct fixture f;
	int i;

	(void)state;
	script_begin(&s);
	for (i = 0; i < 4; i++) {
		script_op_us(&s, "aten::mm", 100 * i, 10, MM);
		script_launch_us(&s, 100 * i + 1, i + 1, "gemm", 100 * i + 20, i % 2 ? 9 : 5);
	}
	f = report(&s, 0, 0);
	CELLS(&f, 0, "min", "0", "5000", "20000", "25000", "20000", "5000", "1");
	CELLS(&f, 0, "max", "9", "9000", "320000", "329000", "320000", "9000", "1");
	release(&f);
}

/*
 * A call's time is the union of its kernels; the main kernel is that of most time over all calls,
 * and of several runs in a call the longest counts, of equals the first.
 */
static void several_kernels(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, MM); /* event 0 */
	script_launch_us(&s, 1, 1, "prepare", 20, 3);
	script_launch_us(&s, 3, 2, "split", 22, 6); /* overlaps by 1 */
	script_launch_us(&s, 5, 3, "split", 40, 6);
	script_op_us(&s, "aten::mm", 50, 10, MM); /* event 7 */
	script_launch_us(&s, 51, 4, "prepare", 60, 9);
	script_launch_us(&s, 53, 5, "split", 70, 1);
	script_launch_us(&s, 55, 6, "split", 80, 2);
	f = report(&s, 0, 0);
	assert_int_equal(rows_of(f.report, TABLE), 1);
	/* split 15, prepare 12 */
	assert_string_equal(cell_at(f.report, TABLE, 0, "main kernel"), "split");
	CELLS(&f, 0, "min", "7", "12000", "60000", "82000", "80000", "2000", "3");
	CELLS(&f, 0, "max", "0", "14000", "20000", "46000", "22000", "6000", "3");
	release(&f);
}

/* Kernels of equal time: by name.  A call without the main kernel has no cells for it. */
static void main_kernel_elsewhere(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, MM);
	script_launch_us(&s, 1, 1, "zeta", 20, 5);
	script_op_us(&s, "aten::mm", 40, 10, MM); /* event 3 */
	script_launch_us(&s, 41, 2, "alpha", 60, 3);
	script_launch_us(&s, 43, 3, "alpha", 70, 2);
	script_op_us(&s, "aten::mm", 100, 10, MM); /* event 8 */
	script_launch_us(&s, 101, 4, "beta", 120, 1);
	f = report(&s, 0, 0);
	assert_string_equal(cell_at(f.report, TABLE, 0, "main kernel"), "alpha");
	CELLS(&f, 0, "min", "8", "1000", "120000", "121000", "", "", "1");
	CELLS(&f, 0, "max", "3", "5000", "60000", "72000", "60000", "3000", "2");
	release(&f);
}

/*
 * A call without GPU work is not the shortest where others have some; without any there is neither a
 * main kernel nor a place.
 */
static void without_kernels(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, MM);
	script_launch_us(&s, 1, 1, "gemm", 20, 5);
	script_op_us(&s, "aten::mm", 40, 10, MM);	/* event 3 */
	script_op_us(&s, "aten::mm", 60, 10, OTHER_MM); /* event 4 */
	f = report(&s, 0, 0);
	assert_int_equal(rows_of(f.report, TABLE), 2);
	CELLS(&f, 0, "min", "0", "5000", "20000", "25000", "20000", "5000", "1");
	CELLS(&f, 0, "max", "0", "5000", "20000", "25000", "20000", "5000", "1");
	assert_string_equal(cell_at(f.report, TABLE, 1, "main kernel"), "");
	CELLS(&f, 1, "min", "4", "0", "", "", "", "", "0");
	CELLS(&f, 1, "max", "4", "0", "", "", "", "", "0");
	release(&f);
}

/* In a window, what it cuts off does not count; places are those of the trace. */
static void in_a_window(void **state)
{
	struct script s;
	struct fixture f;

	(void)state;
	script_begin(&s);
	script_op_us(&s, "aten::mm", 0, 10, MM);
	script_launch_us(&s, 1, 1, "gemm", 20, 9);
	script_op_us(&s, "aten::mm", 40, 10, MM); /* event 3 */
	script_launch_us(&s, 41, 2, "gemm", 60, 6);
	f = report(&s, 26000, 100000);
	CELLS(&f, 0, "min", "0", "3000", "26000", "29000", "26000", "3000", "1");
	CELLS(&f, 0, "max", "3", "6000", "60000", "66000", "60000", "6000", "1");
	release(&f);
}

/* The rows are those of GEMM, in its order. */
static void rows_of_gemm(void **state)
{
	static const char *const same[] = { "name",
					    "UID_first",
					    "name_count",
					    "Input Dims_first",
					    "Input type_first",
					    "Concrete Inputs_first",
					    "param: M",
					    "param: N",
					    "kernel_details__summarize_kernel_stats" };
	struct script s;
	struct fixture f;
	size_t row, i;

	(void)state;
	script_begin(&s);
	for (i = 0; i < 12; i++) {
		int64_t at = 100 * (int64_t)i;

		script_op_us(&s, i % 4 == 3 ? "aten::matmul" : "aten::mm", at, 10,
			     i % 3 ? MM : OTHER_MM);
		script_launch_us(&s, at + 1, (int)i + 1, i % 2 ? "a" : "b", at + 20,
				 5 + (int64_t)(i * 7 % 5));
	}
	f = report(&s, 0, 0);
	assert_true(rows_of(f.report, "GEMM") > 1);
	assert_int_equal(rows_of(f.report, TABLE), rows_of(f.report, "GEMM"));
	for (row = 0; row < rows_of(f.report, TABLE); row++) {
		for (i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
			char text[512];

			snprintf(text, sizeof(text), "%s", cell_at(f.report, "GEMM", row, same[i]));
			assert_string_equal(cell_at(f.report, TABLE, row, same[i]), text);
		}
		assert_int_equal(tw_table_cell(trawl_report_find(f.report, TABLE), row,
					       "min_time_ns")
					 .integer,
				 (int64_t)(1000 * tw_table_cell(trawl_report_find(f.report, "GEMM"),
								row, "Kernel Time (µs)_min")
							   .real +
					   0.5));
	}
	release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_when_asked),
		cmocka_unit_test(shortest_and_longest),
		cmocka_unit_test(equals),
		cmocka_unit_test(several_kernels),
		cmocka_unit_test(main_kernel_elsewhere),
		cmocka_unit_test(without_kernels),
		cmocka_unit_test(in_a_window),
		cmocka_unit_test(rows_of_gemm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
