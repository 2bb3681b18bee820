/* The tables of a report: values worked out by hand, or by counting time cell by cell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/trace.h"
#include "edges.h"
#include "event_list.h"
#include "trawl/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Times in microseconds, so that nanoseconds are these times 1000; `args` may be empty. */
static uint64_t host(const char *cat, const char *name, int ts, int dur, const char *args)
{
	return add("{'ph':'X','cat':'%s','name':'%s','pid':1,'tid':1,'ts':%d,'dur':%d,"
		   "'args':{%s}}",
		   cat, name, ts, dur, args);
}

static uint64_t op(const char *name, int ts, int dur)
{
	return host("cpu_op", name, ts, dur, "");
}

static uint64_t launch(const char *name, int ts, int dur, int correlation)
{
	char args[40];

	snprintf(args, sizeof(args), "'correlation':%d", correlation);
	return host("cuda_runtime", name, ts, dur, args);
}

/* Correlation 0 is none. */
static uint64_t gpu(const char *cat, const char *name, int stream, int ts, int dur, int correlation)
{
	return add("{'ph':'X','cat':'%s','name':'%s','pid':0,'tid':%d,'ts':%d,'dur':%d,"
		   "'args':{'device':0,'stream':%d,'correlation':%d}}",
		   cat, name, stream, ts, dur, stream, correlation);
}

static uint64_t kernel(const char *name, int stream, int ts, int dur, int correlation)
{
	return gpu("kernel", name, stream, ts, dur, correlation);
}

/* An operation with one call inside it that launches with this id; it takes 4 us. */
static uint64_t op_with_launch(const char *name, int ts, int correlation)
{
	uint64_t event = op(name, ts, 4);

	launch("cudaLaunchKernel", ts + 1, 1, correlation);
	return event;
}

/* ---- tables */

struct result {
	struct trawl_trace *trace;
	struct trawl_report *report;
	const struct trawl_table *table;
};

static struct trawl_report_options defaults(void)
{
	struct trawl_report_options options;

	trawl_report_options_init(&options);
	options.threads = 1;
	return options;
}

static struct result report_with(struct trawl_report_options options, const char *table)
{
	struct result r;

	r.trace = end();
	assert_int_equal(trawl_report_new(&r.report, r.trace, &options, NULL), 0);
	r.table = trawl_report_find(r.report, table);
	return r;
}

static struct result report(const char *table)
{
	struct result r = report_with(defaults(), table);

	assert_non_null(r.table);
	return r;
}

static void use(struct result *r, const char *table)
{
	r->table = trawl_report_find(r->report, table);
	assert_non_null(r->table);
}

static void release(struct result *r)
{
	trawl_report_free(r->report);
	trawl_trace_free(r->trace);
}

static size_t column_of(const struct result *r, const char *header)
{
	size_t column;

	for (column = 0; column < trawl_table_columns(r->table); column++)
		if (!strcmp(trawl_table_column(r->table, column)->header, header))
			return column;
	fail_msg("no column '%s'", header);
	return 0;
}

static struct trawl_cell cell(const struct result *r, size_t row, const char *header)
{
	return trawl_table_cell(r->table, row, column_of(r, header));
}

static bool has_text(struct trawl_cell c, const char *expected)
{
	return c.state == TRAWL_CELL_VALUE && c.text_len == strlen(expected) &&
	       !memcmp(c.text, expected, c.text_len);
}

/* The row whose first text is this; there must be just one. */
static size_t row_of(const struct result *r, const char *header, const char *name)
{
	size_t row, found = SIZE_MAX;

	for (row = 0; row < trawl_table_rows(r->table); row++) {
		if (!has_text(cell(r, row, header), name))
			continue;
		assert_int_equal(found, SIZE_MAX);
		found = row;
	}
	if (found == SIZE_MAX)
		fail_msg("no row '%s'", name);
	return found;
}

static void expect_integer(const struct result *r, size_t row, const char *header, int64_t expected)
{
	struct trawl_cell c = cell(r, row, header);

	assert_int_equal(c.state, TRAWL_CELL_VALUE);
	if (c.integer != expected)
		fail_msg("row %zu, %s: %lld, not %lld", row, header, (long long)c.integer,
			 (long long)expected);
}

/* Equal but for the last digits of a double. */
static void expect_real(const struct result *r, size_t row, const char *header, double expected)
{
	struct trawl_cell c = cell(r, row, header);

	assert_int_equal(c.state, TRAWL_CELL_VALUE);
	if (fabs(c.real - expected) > 1e-12 * fabs(expected) + 1e-15)
		fail_msg("row %zu, %s: %.17g, not %.17g", row, header, c.real, expected);
}

static void expect_text(const struct result *r, size_t row, const char *header,
			const char *expected)
{
	struct trawl_cell c = cell(r, row, header);

	assert_int_equal(c.state, TRAWL_CELL_VALUE);
	if (!has_text(c, expected))
		fail_msg("row %zu, %s: '%.*s', not '%s'", row, header, (int)c.text_len, c.text,
			 expected);
}

static void expect_missing(const struct result *r, size_t row, const char *header)
{
	assert_int_equal(cell(r, row, header).state, TRAWL_CELL_MISSING);
}

static int64_t defects(const struct result *r, const char *kind)
{
	size_t i;

	for (i = 0; i < trawl_report_defects(r->report); i++)
		if (!strcmp(trawl_report_defect(r->report, i).kind, kind))
			return trawl_report_defect(r->report, i).count;
	return 0;
}

/* ---- gpu_timeline */

static void expect_time(const struct result *r, const char *type, int us)
{
	expect_integer(r, row_of(r, "type", type), "time ms", (int64_t)us * 1000);
}

static void build_timeline(void)
{
	begin();
	kernel("k", 7, 1000, 10, 1);
	kernel("k", 7, 1010, 10, 2);				   /* touches */
	kernel("k", 8, 1012, 3, 0);				   /* nested */
	kernel("ncclDevKernel_AllReduce_Sum_f32", 9, 1015, 25, 3); /* 20 us of it seen */
	gpu("gpu_memcpy", "Memcpy DtoH", 10, 1035, 15, 0);	   /* 40 to 45 seen */
	kernel("k", 7, 1045, 20, 0);
	kernel("ncclDevKernel_AllReduce_Sum_f32", 9, 1050, 10, 0); /* hidden */
	gpu("gpu_memcpy", "Memcpy DtoH", 10, 1070, 10, 0);	   /* seen */
	gpu("gpu_memset", "Memset", 7, 1090, 5, 0);
	launch("cudaLaunchKernel", 0, 5, 1);
	launch("cudaLaunchKernel", 5, 5, 2);
	launch("cudaLaunchKernel", 10, 5, 3);
}

static void test_timeline(void **state)
{
	struct result r;

	build_timeline();
	r = report("gpu_timeline");
	assert_int_equal(trawl_table_rows(r.table), 8);
	expect_time(&r, "computation_time", 45);
	expect_time(&r, "exposed_comm_time", 20);
	expect_time(&r, "exposed_memcpy_time", 15);
	expect_time(&r, "busy_time", 80);
	expect_time(&r, "idle_time", 15);
	expect_time(&r, "total_time", 95);
	expect_time(&r, "total_comm_time", 35);
	expect_time(&r, "total_memcpy_time", 25);
	expect_real(&r, row_of(&r, "type", "computation_time"), "percent", 45 / 95. * 100);
	expect_real(&r, row_of(&r, "type", "total_time"), "percent", 100);
	use(&r, "gpu_timeline_by_device");
	assert_int_equal(trawl_table_rows(r.table), 8);
	expect_time(&r, "busy_time", 80);
	expect_text(&r, 0, "device", "0");
	release(&r);
}

static void test_timeline_of_linked_events(void **state)
{
	struct trawl_report_options options = defaults();
	struct result r;

	build_timeline();
	options.linked_only = true;
	r = report_with(options, "gpu_timeline");
	assert_non_null(r.table);
	expect_time(&r, "computation_time", 20);
	expect_time(&r, "exposed_comm_time", 20);
	expect_time(&r, "exposed_memcpy_time", 0);
	expect_time(&r, "busy_time", 40);
	expect_time(&r, "idle_time", 0);
	expect_time(&r, "total_time", 40);
	assert_int_equal(trawl_table_notes(r.table), 1);
	/* The sums of other tables stay. */
	use(&r, "streams");
	expect_integer(&r, row_of(&r, "stream", "7"), "busy (ms)", 45 * 1000);
	expect_real(&r, row_of(&r, "stream", "7"), "busy (% of total)", 45 / 40. * 100);
	release(&r);
}

/* The gaps are of 5 and of 10 us. */
static void test_micro_idle(void **state)
{
	static const struct {
		int64_t threshold_ns;
		int micro, macro;
	} rows[] = { { 0, 0, 15 },     { 5000, 0, 15 },	 { 5001, 5, 10 },
		     { 10000, 5, 10 }, { 10001, 15, 0 }, { 1000000, 15, 0 } };
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct trawl_report_options options = defaults();
		struct result r;

		build_timeline();
		options.micro_idle_ns = rows[i].threshold_ns;
		r = report_with(options, "gpu_timeline");
		assert_int_equal(trawl_table_rows(r.table), 9);
		expect_time(&r, "micro_idle_time", rows[i].micro);
		expect_time(&r, "macro_idle_time", rows[i].macro);
		expect_time(&r, "total_time", 95);
		release(&r);
	}
}

static void test_timeline_by_device(void **state)
{
	static const int64_t expected[2][3] = { { 30000, 30000, 40000 }, { 10000, 15000, 15000 } };
	struct result r;
	size_t i;

	begin();
	add("{'ph':'X','cat':'kernel','name':'k','pid':0,'tid':7,'ts':0.5,'dur':10,"
	    "'args':{'device':0,'stream':7}}");
	add("{'ph':'X','cat':'kernel','name':'k','pid':1,'tid':7,'ts':5.5,'dur':10,"
	    "'args':{'device':1,'stream':7}}");
	add("{'ph':'X','cat':'gpu_memcpy','name':'m','pid':1,'tid':7,'ts':12.5,'dur':8,"
	    "'args':{'device':1,'stream':8}}");
	add("{'ph':'X','cat':'kernel','name':'k','pid':0,'tid':8,'ts':20.5,'dur':20,"
	    "'args':{'device':0,'stream':8}}");
	r = report("gpu_timeline");
	expect_time(&r, "busy_time", 40);
	expect_time(&r, "idle_time", 0);
	use(&r, "gpu_timeline_by_device");
	assert_int_equal(trawl_table_rows(r.table), 16);
	for (i = 0; i < 2; i++) {
		expect_text(&r, i * 8, "device", i ? "1" : "0");
		expect_integer(&r, i * 8, "time ms", expected[i][0]);
		expect_integer(&r, i * 8 + 3, "time ms", expected[i][1]);
		expect_integer(&r, i * 8 + 5, "time ms", expected[i][2]);
	}
	release(&r);
}

/* ---- kernels that run over others */

static void build_overruns(void)
{
	begin();
	kernel("late", 7, 100, 100, 0); /* over the next: would end at 110 */
	kernel("k", 7, 110, 10, 0);
	kernel("k", 7, 150, 10, 0); /* not the next of `late` */
	kernel("overlap", 8, 100, 100, 0);
	kernel("k", 8, 150, 100, 0);
	kernel("twin", 9, 100, 100, 0); /* starts with the next */
	kernel("k", 9, 100, 50, 0);
	kernel("touch", 10, 100, 100, 0);
	kernel("k", 10, 200, 10, 0);
	kernel("to the end", 11, 100, 100, 0); /* the next ends with it: would end at 140 */
	kernel("k", 11, 140, 60, 0);
	kernel("other", 12, 100, 100, 0); /* nothing on its own stream */
}

static void test_overruns(void **state)
{
	struct trawl_report_options options = defaults();
	struct result r;

	build_overruns();
	r = report("streams");
	assert_int_equal(defects(&r, "kernel_overrun"), 2);
	expect_integer(&r, row_of(&r, "stream", "7"), "sum (ms)", 120 * 1000);
	expect_integer(&r, row_of(&r, "stream", "7"), "busy (ms)", 100 * 1000);
	expect_integer(&r, row_of(&r, "stream", "11"), "sum (ms)", 160 * 1000);
	release(&r);

	options.clip_overruns = true;
	build_overruns();
	r = report_with(options, "streams");
	assert_int_equal(defects(&r, "kernel_overrun"), 2);
	expect_integer(&r, row_of(&r, "stream", "7"), "sum (ms)", 30 * 1000);
	expect_integer(&r, row_of(&r, "stream", "7"), "busy (ms)", 30 * 1000);
	expect_integer(&r, row_of(&r, "stream", "8"), "sum (ms)", 200 * 1000);
	expect_integer(&r, row_of(&r, "stream", "9"), "sum (ms)", 150 * 1000);
	expect_integer(&r, row_of(&r, "stream", "10"), "sum (ms)", 110 * 1000);
	expect_integer(&r, row_of(&r, "stream", "11"), "sum (ms)", 100 * 1000);
	expect_integer(&r, row_of(&r, "stream", "12"), "sum (ms)", 100 * 1000);
	use(&r, "kernel_summary");
	expect_integer(&r, row_of(&r, "Kernel name", "late"), "Kernel duration (µs)_sum", 10000);
	release(&r);
}

/* ---- launchers */

static void expect_op(const struct result *r, const char *name, int64_t direct_us,
		      int64_t subtree_us, int64_t count)
{
	size_t row = row_of(r, "name", name);

	expect_integer(r, row, "total_direct_kernel_time_sum", direct_us * 1000);
	expect_integer(r, row, "total_direct_kernel_time_ms", direct_us * 1000);
	expect_integer(r, row, "total_subtree_kernel_time_sum", subtree_us * 1000);
	expect_integer(r, row, "Count", count);
}

static void test_launchers(void **state)
{
	struct result r;

	begin();
	op("outer", 0, 100);
	launch("cudaLaunchKernel", 1, 2, 1);
	op("inner", 10, 20);
	launch("cudaLaunchKernel", 11, 2, 2);
	launch("cudaMemcpyAsync", 14, 2, 3);
	op("aten::collective", 40, 20);
	launch("cudaLaunchKernelExC", 41, 2, 4);
	launch("cudaLaunchKernel", 200, 2, 5); /* in no operation */
	kernel("k", 7, 1000, 10, 1);
	kernel("k", 7, 1005, 10, 2);
	gpu("gpu_memcpy", "Memcpy", 7, 1012, 10, 3);
	kernel("ncclDevKernel_AllReduce", 8, 1030, 10, 4);
	kernel("k", 7, 1100, 7, 5);
	r = report("ops_summary");
	assert_int_equal(trawl_table_rows(r.table), 3);
	/* Inside `inner` 1005 to 1022; all under `outer` 1000 to 1022 and communication. */
	expect_op(&r, "inner", 17, 17, 1);
	expect_op(&r, "outer", 10, 32, 1);
	expect_op(&r, "cudaLaunchKernel", 7, 7, 1);
	/* Largest first, shares of 34. */
	expect_text(&r, 0, "name", "inner");
	expect_text(&r, 1, "name", "outer");
	expect_real(&r, 0, "Percentage (%)", 50);
	expect_real(&r, 0, "Cumulative Percentage (%)", 50);
	expect_real(&r, 1, "Percentage (%)", 10 / 34. * 100);
	expect_real(&r, 1, "Cumulative Percentage (%)", 27 / 34. * 100);
	expect_real(&r, 2, "Cumulative Percentage (%)", 100);
	release(&r);
}

static void test_execute_is_passed_over(void **state)
{
	struct result r;

	begin();
	op("aten::linear", 0, 100);
	op("execute", 10, 50);
	launch("cudaLaunchKernel", 11, 2, 1);
	op("aten::mm", 20, 20);
	launch("cudaLaunchKernel", 21, 2, 2);
	op("execute", 200, 50); /* nothing around it */
	launch("cuLaunchKernel", 210, 2, 3);
	op("execute_more", 300, 50); /* just a name that begins so */
	launch("cudaLaunchKernel", 310, 2, 4);
	kernel("a", 7, 1000, 10, 1);
	kernel("b", 7, 1010, 20, 2);
	kernel("c", 7, 1030, 40, 3);
	kernel("d", 7, 1070, 80, 4);
	r = report("ops_summary");
	assert_int_equal(trawl_table_rows(r.table), 4);
	expect_op(&r, "aten::linear", 10, 30, 1);
	expect_op(&r, "aten::mm", 20, 20, 1);
	expect_op(&r, "cuLaunchKernel", 40, 40, 1);
	expect_op(&r, "execute_more", 80, 80, 1);
	/* By kernel it is a parent as any other. */
	use(&r, "kernel_summary");
	expect_text(&r, row_of(&r, "Kernel name", "a"), "Parent cpu_op", "execute");
	expect_text(&r, row_of(&r, "Kernel name", "b"), "Parent cpu_op", "aten::mm");
	expect_text(&r, row_of(&r, "Kernel name", "c"), "Parent cpu_op", "execute");
	release(&r);
}

static void test_categories(void **state)
{
	static const struct {
		const char *op, *kernel, *category;
	} cases[] = {
		{ "aten::mm", "void at::native::reduce_kernel<512>", "GEMM" },
		{ "triton_poi_fused_add_0", "triton_poi_fused_add_0", "triton" },
		{ "my::a", "void at::native::vectorized_elementwise_kernel<4>", "elementwise" },
		{ "my::b", "void at::native::reduce_kernel<512>", "reduce" },
		{ "my::c", "void at::native::multi_tensor_apply_kernel<x>", "multi_tensor_apply" },
		{ "my::d", "void at::native::elementwise_reduce", "elementwise" },
		{ "my::e", "void at::native::index_kernel", "other" },
		{ "my::f", "at::native::reduce_kernel", "other" },
		{ "my::g", "void my::elementwise", "other" },
	};
	const size_t n = sizeof(cases) / sizeof(cases[0]);
	struct result r;
	size_t i;

	begin();
	for (i = 0; i < n; i++) {
		op_with_launch(cases[i].op, (int)i * 10, (int)i + 1);
		kernel(cases[i].kernel, 7, 1000 + (int)i * 100, 10 + (int)i, (int)i + 1);
		/* The first one decides. */
		kernel("void at::native::reduce_kernel", 7, 1050 + (int)i * 100, 1, (int)i + 1);
	}
	r = report("ops_summary");
	for (i = 0; i < n; i++) {
		char list[60];

		snprintf(list, sizeof(list), "['%s']", cases[i].category);
		expect_text(&r, row_of(&r, "name", cases[i].op), "Categories", list);
	}
	use(&r, "ops_summary_by_category");
	assert_int_equal(trawl_table_rows(r.table), 6);
	/* d has 16 us and the second kernel's, a 13: elementwise; e, f, g: other. */
	expect_integer(&r, row_of(&r, "op category", "other"), "Count", 3);
	expect_integer(&r, row_of(&r, "op category", "other"), "total_direct_kernel_time_ms",
		       (16 + 17 + 18 + 3) * 1000);
	expect_integer(&r, row_of(&r, "op category", "elementwise"), "Count", 2);
	expect_integer(&r, row_of(&r, "op category", "elementwise"), "total_direct_kernel_time_ms",
		       (12 + 15 + 2) * 1000);
	expect_text(&r, 0, "op category", "other");
	expect_text(&r, 1, "op category", "elementwise");
	release(&r);
}

/* ---- ops_unique_args */

static void op_with_args(const char *name, int ts, int correlation, const char *args)
{
	host("cpu_op", name, ts, 4, args);
	launch("cudaLaunchKernel", ts + 1, 1, correlation);
}

static void test_unique_args_statistics(void **state)
{
	static const int odd[] = { 40, 10, 20 }, even[] = { 30, 10, 40, 20 };
	struct result r;
	size_t row;
	int i;

	begin();
	for (i = 0; i < 3; i++) {
		op_with_args("odd", 10 * i, 1 + i, "'Input Dims':[[8,16],[]]");
		kernel("k", 7, 1000 + 100 * i, odd[i], 1 + i);
	}
	for (i = 0; i < 4; i++) {
		op_with_args("even", 100 + 10 * i, 11 + i, "");
		kernel("k", 7, 2000 + 100 * i, even[i], 11 + i);
	}
	op_with_args("odd", 200, 21, "'Input Dims':[[8,17],[]]");
	kernel("k", 7, 3000, 5, 21);
	kernel("k", 8, 3003, 6, 21); /* overlaps: 9 us together */
	r = report("ops_unique_args");
	assert_int_equal(trawl_table_rows(r.table), 3);

	row = row_of(&r, "name", "even");
	assert_int_equal(row, 0);
	expect_integer(&r, row, "operation_count", 4);
	expect_real(&r, row, "total_direct_kernel_time_mean", 25);
	expect_real(&r, row, "total_direct_kernel_time_median", 25);
	expect_real(&r, row, "total_direct_kernel_time_std", sqrt((225 + 25 + 25 + 225) / 3.));
	expect_integer(&r, row, "total_direct_kernel_time_min", 10000);
	expect_integer(&r, row, "total_direct_kernel_time_max", 40000);
	expect_integer(&r, row, "total_direct_kernel_time_sum", 100000);
	expect_missing(&r, row, "Input Dims");
	expect_text(&r, row, "thread_name", "Unknown");

	row = row_of(&r, "Input Dims", "((8, 16), ())");
	assert_int_equal(row, 1);
	expect_text(&r, row, "name", "odd");
	expect_integer(&r, row, "operation_count", 3);
	expect_real(&r, row, "total_direct_kernel_time_mean", 70 / 3.);
	expect_real(&r, row, "total_direct_kernel_time_median", 20);
	/* Squares of the deviations from 70/3: (40-70/3)^2 = 2500/9, 1600/9, 100/9. */
	expect_real(&r, row, "total_direct_kernel_time_std", sqrt(4200 / 9. / 2));
	expect_integer(&r, row, "ex_UID", 0);

	row = row_of(&r, "Input Dims", "((8, 17), ())");
	expect_integer(&r, row, "operation_count", 1);
	expect_integer(&r, row, "total_direct_kernel_time_sum", 9000);
	expect_missing(&r, row, "total_direct_kernel_time_std");
	expect_real(&r, row, "total_direct_kernel_time_median", 9);
	expect_real(&r, row, "Percentage (%)", 9 / 179. * 100);
	expect_real(&r, row, "Cumulative Percentage (%)", 100);
	release(&r);
}

static void test_unique_args_groups(void **state)
{
	static const char *const args[] = {
		"",
		"'Input Dims':[]",
		"'Input Dims':[[1]]",
		"'Input type':['float']",
		"'Input Strides':[[1]]",
		"'Concrete Inputs':['1','','None']",
		"'Input Dims':[[1]],'Input type':['float']",
		"'Input Dims':[[1]],'Other':3", /* as the third */
	};
	struct result r;
	size_t row;
	int i;

	begin();
	for (i = 0; i < 8; i++) {
		op_with_args("op", 10 * i, 1 + i, args[i]);
		kernel("k", 7, 1000 + 100 * i, 10 + i, 1 + i);
	}
	r = report("ops_unique_args");
	assert_int_equal(trawl_table_rows(r.table), 7);
	row = row_of(&r, "Input Dims", "()");
	expect_integer(&r, row, "total_direct_kernel_time_sum", 11000);
	row = row_of(&r, "Concrete Inputs", "('1', '', 'None')");
	expect_integer(&r, row, "total_direct_kernel_time_sum", 15000);
	row = row_of(&r, "Input Strides", "((1,),)");
	expect_integer(&r, row, "total_direct_kernel_time_sum", 14000);
	expect_text(&r, 0, "Input Dims", "((1,),)");
	expect_missing(&r, 0, "Input type");
	expect_integer(&r, 0, "operation_count", 2);
	expect_integer(&r, 0, "total_direct_kernel_time_sum", 12000 + 17000);
	release(&r);
}

static void test_kernel_details(void **state)
{
	struct result r;
	int i;

	begin();
	for (i = 0; i < 3; i++) {
		op_with_args("op", 10 * i, 1 + i, "");
		kernel("it\\u0027s", 7, 1000 + 200 * i, 100, 1 + i);
		if (i < 2) /* the third has another number of kernels */
			kernel("short", 7, 1150 + 200 * i, 10 + 20 * i, 1 + i);
	}
	r = report("ops_unique_args");
	assert_int_equal(trawl_table_rows(r.table), 1);
	expect_integer(&r, 0, "total_direct_kernel_time_sum", 340000);
	expect_text(&r, 0, "kernel_details_summary",
		    "[{'name': 'short', 'stream': 7, 'count': 2, 'total_duration_us': 40, "
		    "'mean_duration_us': 20, 'median_duration_us': 20, 'std_dev_duration_us': 10, "
		    "'min_duration_us': 10, 'max_duration_us': 30}, "
		    "{'name': \"it's\", 'stream': 7, 'count': 2, 'total_duration_us': 200, "
		    "'mean_duration_us': 100, 'median_duration_us': 100, 'std_dev_duration_us': 0, "
		    "'min_duration_us': 100, 'max_duration_us': 100}]");
	expect_text(&r, 0, "trunc_kernel_details",
		    "[{'name': 'short', 'stream': 7, 'mean_duration_us': 20}, "
		    "{'name': \"it's\", 'stream': 7, 'mean_duration_us': 100}]");
	release(&r);
}

static void test_process_and_thread_names(void **state)
{
	struct result r;

	begin();
	add("{'ph':'M','name':'process_name','pid':1,'tid':0,'args':{'name':'python'}}");
	add("{'ph':'M','name':'process_labels','pid':1,'tid':0,'args':{'labels':'CPU'}}");
	add("{'ph':'M','name':'thread_name','pid':1,'tid':1,'args':{'name':'thread 1 (python)'}}");
	add("{'ph':'M','name':'process_name','pid':0,'tid':0,'args':{'name':'gpu'}}");
	op_with_launch("op", 0, 1);
	add("{'ph':'X','cat':'cpu_op','name':'op','pid':1,'tid':2,'ts':0,'dur':9}");
	add("{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':1,'tid':2,'ts':1,"
	    "'dur':1,'args':{'correlation':2}}");
	kernel("k", 7, 100, 10, 1);
	kernel("k", 7, 120, 5, 2);
	r = report("ops_unique_args");
	assert_int_equal(trawl_table_rows(r.table), 2);
	expect_text(&r, 0, "process_name", "python");
	expect_text(&r, 0, "process_label", "CPU");
	expect_text(&r, 0, "thread_name", "thread 1 (python)");
	expect_text(&r, 1, "process_name", "python");
	expect_text(&r, 1, "process_label", "CPU");
	expect_text(&r, 1, "thread_name", "Unknown");
	release(&r);
}

/* ---- kernels */

static void test_kernel_summary(void **state)
{
	struct result r;
	size_t row;

	begin();
	op_with_launch("aten::mm", 0, 1);
	op_with_launch("aten::mm", 10, 2);
	launch("hipGraphLaunch", 20, 2, 3);
	launch("cudaLaunchKernel", 30, 2, 4);
	op_with_launch("c10d::allreduce_", 40, 5);
	kernel("gemm", 7, 1000, 10, 1);
	kernel("gemm", 7, 1010, 15, 2);
	kernel("gemm", 8, 1030, 5, 2);
	kernel("g", 7, 1100, 3, 3);
	kernel("g", 7, 1105, 4, 3);
	kernel("solo", 7, 1200, 13, 4);
	kernel("ncclDevKernel_AllReduce", 9, 1300, 40, 5);
	kernel("lost", 7, 1400, 10, 0);
	gpu("gpu_memcpy", "Memcpy", 7, 1500, 70, 0);
	gpu("gpu_memset", "Memset", 7, 1600, 100, 0);
	r = report("kernel_summary");
	assert_int_equal(trawl_table_rows(r.table), 6);
	/* All kernels: 100 us; the total: 1000 to 1700. */
	expect_text(&r, 0, "Kernel name", "ncclDevKernel_AllReduce");
	expect_text(&r, 0, "Parent cpu_op", "c10d::allreduce_");
	expect_real(&r, 0, "Percent of kernels time (%)", 40);
	expect_real(&r, 0, "Percent of total time (%)", 40 / 700. * 100);
	expect_text(&r, 1, "Kernel name", "gemm");
	expect_text(&r, 1, "Kernel stream", "7");
	expect_text(&r, 1, "Kernel device", "0");
	expect_text(&r, 1, "Parent op category", "GEMM");
	expect_integer(&r, 1, "Kernel duration (µs)_sum", 25000);
	expect_integer(&r, 1, "Kernel duration (µs)_count", 2);
	expect_real(&r, 1, "Kernel duration (µs)_mean", 12.5);
	expect_integer(&r, 1, "Kernel duration (µs)_min", 10000);
	expect_integer(&r, 1, "Kernel duration (µs)_max", 15000);
	row = row_of(&r, "Kernel name", "g");
	expect_text(&r, row, "Parent op category", "graph");
	expect_text(&r, row, "Parent cpu_op", "hipGraphLaunch");
	row = row_of(&r, "Kernel name", "solo");
	expect_text(&r, row, "Parent op category", "runtime");
	expect_text(&r, row, "Parent cpu_op", "cudaLaunchKernel");
	row = row_of(&r, "Kernel name", "lost");
	expect_missing(&r, row, "Parent op category");
	expect_missing(&r, row, "Parent cpu_op");
	row = row_of(&r, "Kernel stream", "8");
	expect_integer(&r, row, "Kernel duration (µs)_sum", 5000);
	release(&r);
}

/* A kernel of so many nanoseconds, one after the other. */
static void kernel_of(int ns)
{
	add("{'ph':'X','cat':'kernel','name':'k','pid':0,'tid':7,'ts':%llu,'dur':%d.%03d,"
	    "'args':{'device':0,'stream':7}}",
	    1000 + 100 * (unsigned long long)event_count, ns / 1000, ns % 1000);
}

/* From 0 to 12.5 us bins are of 125 ns, and no edge is rounded. */
static void test_short_kernels_in_bins(void **state)
{
	static const int lengths[] = { 0,     124,   125,   126,   249,	  250,
				       12374, 12375, 12499, 12500, 20000, 50000 };
	static const struct {
		int bin;
		int64_t count;
	} filled[] = { { 0, 2 }, { 1, 3 }, { 2, 1 }, { 98, 1 }, { 99, 3 } };
	struct trawl_report_options options = defaults();
	struct result r;
	size_t i, next = 0;

	begin();
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		kernel_of(lengths[i]);
	gpu("gpu_memcpy", "Memcpy", 7, 9000, 1, 0); /* no kernel */
	options.short_kernel_ns = 20000;
	r = report_with(options, "short_kernel_histogram");
	assert_int_equal(trawl_table_rows(r.table), 100);
	for (i = 0; i < 100; i++) {
		bool is_filled = next < 5 && filled[next].bin == (int)i;

		expect_real(&r, i, "bin_start", (double)i / 8);
		expect_real(&r, i, "bin_end", (double)(i + 1) / 8);
		expect_integer(&r, i, "count", is_filled ? filled[next++].count : 0);
	}
	release(&r);
}

static void test_short_kernels_equally_long(void **state)
{
	struct result r;
	size_t i;

	begin();
	kernel_of(5000);
	kernel_of(5000);
	kernel_of(10000); /* not short */
	kernel_of(5000);
	r = report("short_kernel_histogram");
	assert_int_equal(trawl_table_rows(r.table), 100);
	expect_real(&r, 0, "bin_start", 4.5);
	expect_real(&r, 99, "bin_end", 5.5);
	for (i = 0; i < 100; i++)
		expect_integer(&r, i, "count", i == 50 ? 3 : 0);
	use(&r, "short_kernels_summary");
	assert_int_equal(trawl_table_rows(r.table), 1);
	expect_integer(&r, 0, "Short Kernel duration (µs) sum", 15000);
	release(&r);
}

static void test_no_short_kernels(void **state)
{
	struct result r;

	begin();
	EDGE_OF(TW_LIMIT_SHORT_KERNEL_US);
	kernel_of(10000);
	r = report("short_kernel_histogram");
	assert_int_equal(trawl_table_rows(r.table), 0);
	use(&r, "short_kernels_summary");
	assert_int_equal(trawl_table_rows(r.table), 0);
	release(&r);

	begin();
	kernel_of(9999);
	r = report("short_kernels_summary");
	assert_int_equal(trawl_table_rows(r.table), 1);
	release(&r);
}

static uint64_t random_state;

static int random_below(int n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (int)((random_state >> 33) % (unsigned)n);
}

/* Edges as numpy.linspace has them; the bin is found by looking at each. */
static void test_short_kernels_random(void **state)
{
	enum { KERNELS = 300 };
	int lengths[KERNELS];
	unsigned round;
	int i, bin;

	random_state = 5;
	for (round = 0; round < 30; round++) {
		int64_t counts[100] = { 0 };
		double edges[101], low, high;
		int shortest = INT32_MAX, longest = 0, below = 2 + random_below(10000);
		struct result r;

		begin();
		for (i = 0; i < KERNELS; i++) {
			lengths[i] = random_below(below);
			if (lengths[i] < shortest)
				shortest = lengths[i];
			if (lengths[i] > longest)
				longest = lengths[i];
			kernel_of(lengths[i]);
		}
		low = shortest / 1000.;
		high = longest / 1000.;
		for (i = 0; i < 100; i++)
			edges[i] = i * ((high - low) / 100) + low;
		edges[100] = high;
		for (i = 0; i < KERNELS; i++) {
			for (bin = 99; bin && lengths[i] / 1000. < edges[bin]; bin--)
				;
			counts[bin]++;
		}
		r = report("short_kernel_histogram");
		for (bin = 0; bin < 100; bin++) {
			expect_real(&r, (size_t)bin, "bin_start", edges[bin]);
			expect_integer(&r, (size_t)bin, "count", counts[bin]);
		}
		release(&r);
	}
}

/* ---- communication */

static void collective(const char *name, int stream, int ts, int dur, const char *args)
{
	add("{'ph':'X','cat':'kernel','name':'%s','pid':0,'tid':%d,'ts':%d,'dur':%d,"
	    "'args':{'device':0,'stream':%d,%s}}",
	    name, stream, ts, dur, stream, args);
}

static void test_collectives(void **state)
{
	static const char sum[] = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";
	static const char args[] = "'Collective name':'allreduce','In msg nelems':1048576,"
				   "'Out msg nelems':524288,'Group size':8,'dtype':'BFloat16',"
				   "'Process Group Name':'0','Process Group Ranks':'[0, 1, 2]'";
	struct result r;

	begin();
	collective(sum, 20, 0, 100, args);
	collective(sum, 20, 200, 130, args);
	collective(sum, 21, 400, 150, args); /* another stream */
	kernel("k", 7, 1000, 500, 0);
	gpu("gpu_memcpy", "Memcpy", 7, 2000, 500, 0);
	r = report("coll_analysis");
	assert_int_equal(trawl_table_rows(r.table), 2);
	expect_text(&r, 0, "stream", "20");
	expect_text(&r, 0, "Collective name", "allreduce");
	expect_text(&r, 0, "Collective type", "allreduce");
	expect_text(&r, 0, "Process Group Name", "0");
	expect_text(&r, 0, "Process Group Ranks", "[0, 1, 2]");
	expect_text(&r, 0, "Group size", "8");
	expect_text(&r, 0, "dtype", "BFloat16");
	expect_text(&r, 0, "In msg nelems", "1048576");
	expect_real(&r, 0, "In msg size (MB)_first", 2);
	expect_real(&r, 0, "Out msg size (MB)_first", 1);
	expect_integer(&r, 0, "dur_sum", 230000);
	expect_real(&r, 0, "dur_mean", 115);
	expect_real(&r, 0, "dur_std", sqrt(15 * 15 * 2));
	expect_integer(&r, 0, "dur_min", 100000);
	expect_integer(&r, 0, "dur_max", 130000);
	expect_integer(&r, 0, "operation_count", 2);
	expect_text(&r, 1, "stream", "21");
	expect_missing(&r, 1, "dur_std");
	release(&r);
}

static void test_kinds_and_sizes_of_collectives(void **state)
{
	static const struct {
		const char *kernel, *args;
		const char *kind; /* NULL: missing */
		double megabytes; /* below 0: missing */
	} cases[] = {
		{ "ncclDevKernel_ReduceScatter_Sum_f32", "'x':1", "reduce_scatter", -1 },
		{ "ncclDevKernel_SendRecv", "'Collective name':'all_to_allv'", "all_to_all", -1 },
		{ "ncclDevKernel_Generic", "'In msg nelems':1048576,'dtype':'Float'", NULL, 4 },
		{ "ncclDevKernel_Generic", "'In msg nelems':1048576,'dtype':'Weird'", NULL, -1 },
		{ "ncclDevKernel_Generic", "'In msg nelems':1048576", NULL, -1 },
		{ "ncclDevKernel_Generic", "'dtype':'Half'", NULL, -1 },
		{ "ncclDevKernel_Generic",
		  "'Collective name':'_allgather_base','In msg nelems':1,'dtype':'Half'",
		  "allgather", 2 / 1048576. },
		{ "ncclKernel_AllReduce_RING_LL_Sum_int8_t", "'Collective name':'my_own'", "my_own",
		  -1 },
		{ "void vllm::cross_device_reduce_1stage<x>", "'x':1", "allreduce", -1 },
		{ "ncclDevKernel_Broadcast_RING_LL",
		  "'In msg nelems':3000000000,'dtype':'c10::BFloat16'", "broadcast",
		  6e9 / 1048576 },
	};
	const size_t n = sizeof(cases) / sizeof(cases[0]);
	struct result r;
	size_t i;

	begin();
	for (i = 0; i < n; i++) /* longest first, so that rows are in this order */
		collective(cases[i].kernel, 7, 1000 * (int)i, 500 - (int)i, cases[i].args);
	r = report("coll_analysis");
	assert_int_equal(trawl_table_rows(r.table), n);
	for (i = 0; i < n; i++) {
		expect_integer(&r, i, "dur_sum", (500 - (int64_t)i) * 1000);
		if (cases[i].kind)
			expect_text(&r, i, "Collective type", cases[i].kind);
		else
			expect_missing(&r, i, "Collective type");
		if (cases[i].megabytes >= 0)
			expect_real(&r, i, "In msg size (MB)_first", cases[i].megabytes);
		else
			expect_missing(&r, i, "In msg size (MB)_first");
	}
	release(&r);
}

/* ---- streams, launches, unlinked, cpu_ops */

static void test_streams(void **state)
{
	struct result r;

	begin();
	kernel("k", 10, 100, 10, 0);
	kernel("k", 7, 105, 10, 0);
	kernel("ncclDevKernel_AllGather", 7, 110, 10, 0);
	gpu("gpu_memcpy", "Memcpy", 7, 150, 10, 0);
	gpu("gpu_memset", "Memset", 7, 155, 1, 0);
	add("{'ph':'X','cat':'kernel','name':'k','pid':2,'tid':1,'ts':200,'dur':10,"
	    "'args':{'device':2,'stream':1}}");
	r = report("streams");
	assert_int_equal(trawl_table_rows(r.table), 3);
	/* By device, then by the number of the stream. */
	expect_text(&r, 0, "stream", "7");
	expect_integer(&r, 0, "kernels", 2);
	expect_integer(&r, 0, "copies", 1);
	expect_integer(&r, 0, "memsets", 1);
	expect_integer(&r, 0, "communication kernels", 1);
	expect_integer(&r, 0, "busy (ms)", 25000);
	expect_integer(&r, 0, "sum (ms)", 31000);
	expect_integer(&r, 0, "first start (µs)", 105000);
	expect_integer(&r, 0, "last end (µs)", 160000);
	expect_real(&r, 0, "busy (% of total)", 25 / 110. * 100);
	expect_text(&r, 1, "stream", "10");
	expect_text(&r, 1, "device", "0");
	expect_text(&r, 2, "device", "2");
	release(&r);
}

/* A GPU event may be linked to an operation, by External id: that is its launch then. */
static void test_launches_by_operations(void **state)
{
	struct result r;
	size_t row;

	begin();
	add("{'ph':'X','cat':'cpu_op','name':'aten::bmm','pid':1,'tid':1,'ts':0,'dur':10,"
	    "'args':{'External id':77}}");
	add("{'ph':'X','cat':'kernel','name':'k','pid':0,'tid':7,'ts':20,'dur':10,"
	    "'args':{'device':0,'stream':7,'External id':77}}");
	launch("cudaLaunchKernel", 302, 1, 9);
	kernel("k", 7, 330, 10, 9);
	r = report("launches");
	assert_int_equal(trawl_table_rows(r.table), 2);
	row = row_of(&r, "launch", "cudaLaunchKernel");
	expect_integer(&r, row, "calls", 1);
	expect_integer(&r, row, "GPU events", 1);
	expect_integer(&r, row, "delay min (µs)", 28000);
	row = row_of(&r, "launch", "aten::bmm");
	expect_integer(&r, row, "calls", 1);
	expect_integer(&r, row, "GPU events", 1);
	expect_integer(&r, row, "delay min (µs)", 20000);
	release(&r);
}

static void test_launches(void **state)
{
	struct result r;
	size_t row;

	begin();
	launch("cudaLaunchKernel", 0, 5, 1);
	launch("cudaLaunchKernel", 10, 5, 2);
	launch("cudaLaunchKernel", 20, 15, 3); /* its kernel starts before it */
	launch("cudaLaunchKernel", 40, 5, 4);  /* without kernel */
	launch("cudaGraphLaunch", 100, 30, 5);
	launch("cudaStreamSynchronize", 200, 500, 6); /* launches nothing */
	kernel("a", 7, 8, 42, 1);		      /* 8 to 50: delay 8 */
	kernel("b", 7, 60, 10, 2);		      /* delay 50, queued 15 to 50 */
	kernel("c", 8, 15, 5, 3);		      /* delay -5 */
	kernel("d", 7, 125, 10, 5);		      /* delay 25, before the call's end */
	kernel("e", 7, 140, 10, 5);
	r = report("launches");
	assert_int_equal(trawl_table_rows(r.table), 2);
	row = row_of(&r, "launch", "cudaLaunchKernel");
	expect_integer(&r, row, "calls", 4);
	expect_integer(&r, row, "GPU events", 3);
	expect_integer(&r, row, "calls without kernel", 1);
	expect_integer(&r, row, "call time (ms)", 30000);
	expect_real(&r, row, "call mean (µs)", 7.5);
	expect_real(&r, row, "delay mean (µs)", 53 / 3.);
	expect_real(&r, row, "delay median (µs)", 8);
	expect_integer(&r, row, "delay min (µs)", -5000);
	expect_integer(&r, row, "delay max (µs)", 50000);
	expect_integer(&r, row, "queued (ms)", 35000);
	expect_integer(&r, row, "negative delays", 1);
	row = row_of(&r, "launch", "cudaGraphLaunch");
	expect_integer(&r, row, "calls", 1);
	expect_integer(&r, row, "GPU events", 2);
	expect_integer(&r, row, "calls without kernel", 0);
	expect_integer(&r, row, "delay min (µs)", 25000);
	expect_integer(&r, row, "queued (ms)", 0);
	assert_int_equal(defects(&r, "launch_without_kernel"), 1);
	release(&r);
}

static void test_unlinked(void **state)
{
	struct result r;

	begin();
	launch("cudaLaunchKernel", 0, 5, 1);
	kernel("linked", 7, 100, 10, 1);
	kernel("a", 7, 120, 10, 0);
	kernel("a", 7, 140, 20, 99);
	kernel("a", 8, 160, 5, 0);
	kernel("ncclDevKernel_AllGather", 7, 170, 8, 0);
	gpu("gpu_memcpy", "Memcpy", 7, 190, 10, 0);
	r = report("unlinked");
	assert_int_equal(trawl_table_rows(r.table), 4);
	expect_text(&r, 0, "name", "a");
	expect_text(&r, 0, "kind", "compute");
	expect_text(&r, 0, "stream", "7");
	expect_text(&r, 0, "device", "0");
	expect_integer(&r, 0, "count", 2);
	expect_integer(&r, 0, "time (ms)", 30000);
	expect_real(&r, 0, "time (% of total)", 30);
	expect_text(&r, 1, "name", "Memcpy");
	expect_text(&r, 1, "kind", "copy");
	expect_text(&r, 2, "kind", "communication");
	expect_text(&r, 3, "stream", "8");
	assert_int_equal(defects(&r, "unlinked_gpu"), 5);
	release(&r);
}

static void test_cpu_ops(void **state)
{
	struct result r;
	size_t row;

	begin();
	op("outer", 0, 100);
	op("inner", 10, 30);
	op("leaf", 15, 5);
	launch("cudaLaunchKernel", 50, 10, 1);
	op("inner", 200, 20);
	host("python_function", "f", 205, 5, "");
	add("{'ph':'X','cat':'cpu_op','name':'never ended','pid':1,'tid':1,'ts':300}");
	r = report("cpu_ops");
	assert_int_equal(trawl_table_rows(r.table), 4);
	row = row_of(&r, "name", "outer");
	assert_int_equal(row, 0);
	expect_integer(&r, row, "total host time (ms)", 100000);
	expect_integer(&r, row, "self host time (ms)", 60000);
	expect_real(&r, row, "Percentage (%)", 60 / 110. * 100);
	row = row_of(&r, "name", "inner");
	expect_integer(&r, row, "Count", 2);
	expect_integer(&r, row, "total host time (ms)", 50000);
	expect_integer(&r, row, "self host time (ms)", 45000);
	expect_real(&r, row, "mean (µs)", 25);
	expect_integer(&r, row, "min (µs)", 20000);
	expect_integer(&r, row, "max (µs)", 30000);
	row = row_of(&r, "name", "leaf");
	expect_integer(&r, row, "self host time (ms)", 5000);
	row = row_of(&r, "name", "never ended");
	expect_integer(&r, row, "Count", 1);
	expect_missing(&r, row, "total host time (ms)");
	release(&r);
}

static void test_cpu_ops_in_view(void **state)
{
	struct trawl_report_options options = defaults();
	struct result r;

	begin();
	op("before", 0, 100);
	op("across", 100, 100);
	op("child", 140, 20);
	op("after", 200, 100);
	options.start_ns = 150000;
	options.end_ns = 200000;
	r = report_with(options, "cpu_ops");
	assert_non_null(r.table);
	assert_int_equal(trawl_table_rows(r.table), 2);
	expect_integer(&r, row_of(&r, "name", "across"), "total host time (ms)", 50000);
	expect_integer(&r, row_of(&r, "name", "across"), "self host time (ms)", 40000);
	expect_integer(&r, row_of(&r, "name", "child"), "total host time (ms)", 10000);
	assert_int_equal(trawl_table_notes(r.table), 1);
	release(&r);
}

/* ---- reconciliation */

static void expect_amount(const struct result *r, const char *quantity, int64_t us)
{
	expect_integer(r, row_of(r, "quantity", quantity), "time ns", us * 1000);
}

static void test_reconciliation(void **state)
{
	struct result r;

	begin();
	op_with_launch("a", 0, 1);
	op_with_launch("b", 10, 2);
	op_with_launch("c", 20, 3);
	kernel("k", 7, 1000, 10, 1);
	kernel("k", 8, 1005, 10, 1);			   /* a: 1000 to 1015 */
	kernel("k", 7, 1010, 10, 2);			   /* b: 5 us with a */
	kernel("ncclDevKernel_AllReduce", 9, 1018, 12, 3); /* 2 us with b */
	gpu("gpu_memcpy", "Memcpy", 10, 1028, 4, 0);	   /* 2 us with it */
	kernel("k", 7, 1100, 10, 0);
	kernel("k", 8, 1105, 2, 0); /* 2 us with the one before */
	r = report("reconciliation");
	expect_amount(&r, "op_rows", 25);
	expect_amount(&r, "communication", 12);
	expect_amount(&r, "copies", 4);
	expect_amount(&r, "unlinked", 12);
	expect_amount(&r, "overlap", 11);
	expect_amount(&r, "busy", 42);
	expect_amount(&r, "idle", 68);
	expect_amount(&r, "total", 110);
	expect_amount(&r, "difference", 0);
	release(&r);
}

/* ---- random traces, a byte for every microsecond */

#define CELLS 400
#define OPS 5

struct picture {
	uint8_t busy[CELLS], compute[CELLS], communication[CELLS], copy[CELLS];
	uint8_t op[OPS][CELLS];
	int pieces[CELLS]; /* without a launcher */
	int64_t communication_sum, copies, unlinked;
};

static void draw_event(struct picture *p, int kind, int launcher, int start, int dur)
{
	int t;

	for (t = start; t < start + dur; t++) {
		p->busy[t] = 1;
		p->compute[t] |= kind == 0;
		p->communication[t] |= kind == 1;
		p->copy[t] |= kind == 2;
		if (launcher >= 0 && kind != 1)
			p->op[launcher][t] = 1;
		else
			p->pieces[t]++;
	}
	if (kind == 1)
		p->communication_sum += dur;
	else if (launcher < 0 && kind == 2)
		p->copies += dur;
	else if (launcher < 0)
		p->unlinked += dur;
}

static void random_trace(struct picture *p, int count)
{
	static const char *const cats[] = { "kernel", "kernel", "gpu_memcpy" };
	static const char *const names[] = { "k", "ncclDevKernel_AllReduce", "Memcpy" };
	int i;

	memset(p, 0, sizeof(*p));
	begin();
	for (i = 0; i < OPS; i++)
		op_with_launch("op", 10 * i, i + 1);
	for (i = 0; i < count; i++) {
		int kind = random_below(3), launcher = random_below(OPS + 2) - 2;
		int start = random_below(CELLS - 40), dur = random_below(40);

		gpu(cats[kind], names[kind], random_below(3), 1000 + start, dur,
		    launcher < 0 ? 0 : launcher + 1);
		draw_event(p, kind, launcher, start, dur);
	}
}

static int64_t sum_of(const uint8_t *cells)
{
	int64_t sum = 0;
	int t;

	for (t = 0; t < CELLS; t++)
		sum += cells[t];
	return sum;
}

static void check_random(const struct picture *p, struct result *r)
{
	int64_t op_rows = 0, overlap = 0, exposed_communication = 0, exposed_copy = 0;
	int t, i;

	for (i = 0; i < OPS; i++)
		op_rows += sum_of(p->op[i]);
	for (t = 0; t < CELLS; t++) {
		int running = p->pieces[t];

		for (i = 0; i < OPS; i++)
			running += p->op[i][t];
		overlap += running > 1 ? running - 1 : 0;
		exposed_communication += p->communication[t] && !p->compute[t];
		exposed_copy += p->copy[t] && !p->compute[t] && !p->communication[t];
	}
	expect_amount(r, "op_rows", op_rows);
	expect_amount(r, "communication", p->communication_sum);
	expect_amount(r, "copies", p->copies);
	expect_amount(r, "unlinked", p->unlinked);
	expect_amount(r, "overlap", overlap);
	expect_amount(r, "busy", sum_of(p->busy));
	expect_amount(r, "difference", 0);
	use(r, "gpu_timeline");
	expect_time(r, "computation_time", (int)sum_of(p->compute));
	expect_time(r, "exposed_comm_time", (int)exposed_communication);
	expect_time(r, "exposed_memcpy_time", (int)exposed_copy);
	expect_time(r, "busy_time", (int)sum_of(p->busy));
	expect_time(r, "total_comm_time", (int)sum_of(p->communication));
	expect_time(r, "total_memcpy_time", (int)sum_of(p->copy));
}

static void test_random_traces(void **state)
{
	unsigned round;

	random_state = 9;
	for (round = 0; round < 150; round++) {
		struct picture p;
		struct result r;

		random_trace(&p, 1 + random_below(round % 2 ? 10 : 60));
		r = report("reconciliation");
		check_random(&p, &r);
		release(&r);
	}
}

/* The same through a window: cells outside it do not count. */
static void test_random_windows(void **state)
{
	unsigned round;

	random_state = 10;
	for (round = 0; round < 100; round++) {
		struct trawl_report_options options = defaults();
		int last = CELLS - 1, from, to, i;
		int64_t busy = 0, compute = 0;
		struct picture p;
		struct result r;

		random_trace(&p, 20 + random_below(40));
		while (!p.busy[last])
			last--;
		/* The trace begins with operations, before any GPU event. */
		from = random_below(last);
		to = from + 1 + random_below(last - from);
		options.start_ns = (1000 + from) * 1000;
		options.end_ns = (1000 + to) * 1000;
		r = report_with(options, "gpu_timeline");
		for (i = from; i < to; i++) {
			busy += p.busy[i];
			compute += p.compute[i];
		}
		if (r.table) {
			expect_time(&r, "busy_time", (int)busy);
			expect_time(&r, "computation_time", (int)compute);
			expect_time(&r, "total_time", to - from);
			expect_time(&r, "idle_time", to - from - (int)busy);
			use(&r, "reconciliation");
			expect_amount(&r, "difference", 0);
		} else {
			assert_int_equal(busy, 0);
		}
		release(&r);
	}
}

/* ---- random call trees */

#define NODES 12

struct calls {
	int parent[NODES]; /* -1: none; else a smaller number */
	bool execute[NODES];
	int now;						     /* on the clock of the host */
	uint8_t direct[2 * NODES][CELLS], subtree[2 * NODES][CELLS]; /* operations, then calls */
	bool launches[2 * NODES];
};

/* An operation: its call first, then those inside it. */
static void write_call_tree(struct calls *c, int node)
{
	int start = c->now++, launched = c->now, i;
	char name[20], args[40];

	c->now += 2;
	for (i = node + 1; i < NODES; i++)
		if (c->parent[i] == node)
			write_call_tree(c, i);
	c->now++;
	snprintf(name, sizeof(name), c->execute[node] ? "execute" : "op%d", node);
	op(name, start, c->now - start);
	snprintf(name, sizeof(name), "launch%d", node);
	snprintf(args, sizeof(args), "'correlation':%d", node + 1);
	host("cuda_runtime", name, launched, 1, args);
	c->now++;
}

/* Who a GPU event of this operation's call is charged to. */
static int launcher_of(const struct calls *c, int node)
{
	int up;

	for (up = node; up >= 0; up = c->parent[up])
		if (!c->execute[up])
			return up;
	return NODES + node;
}

static void add_gpu_work(struct calls *c)
{
	int node = random_below(NODES), launcher = launcher_of(c, node), up;
	int start = random_below(CELLS - 40), dur = 1 + random_below(30);
	bool communication = random_below(4) == 0;

	kernel(communication ? "ncclDevKernel_AllReduce" : "k", random_below(3), 1000 + start, dur,
	       node + 1);
	if (!communication) {
		memset(c->direct[launcher] + start, 1, (size_t)dur);
		c->launches[launcher] = true;
	}
	memset(c->subtree[NODES + node] + start, 1, (size_t)dur);
	for (up = node; up >= 0; up = c->parent[up])
		memset(c->subtree[up] + start, 1, (size_t)dur);
}

static void test_random_call_trees(void **state)
{
	unsigned round;
	int i;

	random_state = 12;
	for (round = 0; round < 150; round++) {
		struct calls c = { .now = 10 };
		size_t launchers = 0;
		struct result r;
		char name[20];

		begin();
		for (i = 0; i < NODES; i++) {
			c.parent[i] = random_below(i + 1) - 1;
			c.execute[i] = random_below(4) == 0;
		}
		for (i = 0; i < NODES; i++)
			if (c.parent[i] < 0)
				write_call_tree(&c, i);
		for (i = 0; i < 30; i++)
			add_gpu_work(&c);
		gpu("gpu_memset", "Memset", 0, 1000, 1, 0); /* never only communication */
		r = report_with(defaults(), "ops_summary");
		for (i = 0; i < 2 * NODES; i++) {
			if (!c.launches[i])
				continue;
			launchers++;
			snprintf(name, sizeof(name), i < NODES ? "op%d" : "launch%d", i % NODES);
			expect_op(&r, name, sum_of(c.direct[i]), sum_of(c.subtree[i]), 1);
		}
		assert_int_equal(r.table ? trawl_table_rows(r.table) : 0, launchers);
		release(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timeline),
		cmocka_unit_test(test_timeline_of_linked_events),
		cmocka_unit_test(test_micro_idle),
		cmocka_unit_test(test_timeline_by_device),
		cmocka_unit_test(test_overruns),
		cmocka_unit_test(test_launchers),
		cmocka_unit_test(test_execute_is_passed_over),
		cmocka_unit_test(test_categories),
		cmocka_unit_test(test_unique_args_statistics),
		cmocka_unit_test(test_unique_args_groups),
		cmocka_unit_test(test_kernel_details),
		cmocka_unit_test(test_process_and_thread_names),
		cmocka_unit_test(test_kernel_summary),
		cmocka_unit_test(test_short_kernels_in_bins),
		cmocka_unit_test(test_short_kernels_equally_long),
		cmocka_unit_test(test_no_short_kernels),
		cmocka_unit_test(test_short_kernels_random),
		cmocka_unit_test(test_collectives),
		cmocka_unit_test(test_kinds_and_sizes_of_collectives),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_launches),
		cmocka_unit_test(test_launches_by_operations),
		cmocka_unit_test(test_unlinked),
		cmocka_unit_test(test_cpu_ops),
		cmocka_unit_test(test_cpu_ops_in_view),
		cmocka_unit_test(test_reconciliation),
		cmocka_unit_test(test_random_traces),
		cmocka_unit_test(test_random_windows),
		cmocka_unit_test(test_random_call_trees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
