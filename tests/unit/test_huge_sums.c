/* Sums that 64 bits of nanoseconds do not hold: missing and said, never wrapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/order.h"
#include "analysis/stats.h"
#include "event_list.h"
#include "trawl/report.h"

#include <string.h>

/* 5.8 days; 20,000 of them are 1.00224e19 ns, and 2^63 is 9.22e18. */
#define LONG_US INT64_C(501120000000)
#define MANY 20000

/* The column of this header. */
static size_t column_of(const struct trawl_table *table, const char *header)
{
	size_t i;

	for (i = 0; i < trawl_table_columns(table); i++)
		if (!strcmp(trawl_table_column(table, i)->header, header))
			return i;
	fail_msg("no column '%s'", header);
	return 0;
}

static const struct trawl_table *find(const struct trawl_report *report, const char *name)
{
	const struct trawl_table *table = trawl_report_find(report, name);

	assert_non_null(table);
	return table;
}

static void expect_missing(const struct trawl_table *table, size_t row, const char *header)
{
	struct trawl_cell cell = trawl_table_cell(table, row, column_of(table, header));
	size_t i, said = 0;

	assert_int_equal(cell.state, TRAWL_CELL_MISSING);
	for (i = 0; i < trawl_table_notes(table); i++)
		said += strstr(trawl_table_note(table, i), "292 years") != NULL;
	assert_int_equal(said, 1);
}

static void expect_integer(const struct trawl_table *table, size_t row, const char *header,
			   int64_t value)
{
	struct trawl_cell cell = trawl_table_cell(table, row, column_of(table, header));

	assert_int_equal(cell.state, TRAWL_CELL_VALUE);
	assert_int_equal(cell.integer, value);
}

static void expect_real(const struct trawl_table *table, size_t row, const char *header,
			double value)
{
	struct trawl_cell cell = trawl_table_cell(table, row, column_of(table, header));

	assert_int_equal(cell.state, TRAWL_CELL_VALUE);
	assert_true(cell.real > value * (1 - 1e-12) && cell.real < value * (1 + 1e-12));
}

static struct trawl_report *report_of(const struct trawl_trace *trace)
{
	struct trawl_report_options options;
	struct trawl_report *report;

	trawl_report_options_init(&options);
	options.threads = 1;
	assert_int_equal(trawl_report_new(&report, trace, &options, NULL), 0);
	return report;
}

/* As many long kernels at the same time, each launched by an operation of its own. */
static void test_sums_of_hostile_durations(void **state)
{
	const struct trawl_table *table;
	struct trawl_report *report;
	struct trawl_trace *trace;
	int i;

	begin();
	for (i = 0; i < MANY; i++) {
		add("{'ph':'X','cat':'cpu_op','name':'op','pid':1,'tid':%d,'ts':1,'dur':%lld}", i,
		    (long long)LONG_US);
		add("{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':1,'tid':%d,"
		    "'ts':1,'dur':%lld,'args':{'correlation':%d}}",
		    i, (long long)LONG_US, i + 1);
		add("{'ph':'X','cat':'kernel','name':'long','pid':0,'tid':7,'ts':5,'dur':%lld,"
		    "'args':{'device':0,'stream':7,'correlation':%d}}",
		    (long long)LONG_US, i + 1);
		add("{'ph':'X','cat':'gpu_memcpy','name':'Memcpy','pid':0,'tid':8,'ts':5,"
		    "'dur':%lld,'args':{'device':0,'stream':8,'correlation':%d}}",
		    (long long)LONG_US, 1000000 + i);
	}
	/* Shorter than the rest, as a wrapped sum is not: it must come last. */
	add("{'ph':'X','cat':'kernel','name':'short','pid':0,'tid':7,'ts':9,'dur':1000,"
	    "'args':{'device':0,'stream':7}}");
	trace = end();
	report = report_of(trace);
	table = find(report, "gpu_timeline");
	expect_integer(table, 3, "time ms", LONG_US * 1000); /* busy */
	table = find(report, "kernel_summary");
	assert_int_equal(trawl_table_rows(table), 2);
	expect_missing(table, 0, "Kernel duration (µs)_sum");
	expect_integer(table, 0, "Kernel duration (µs)_count", MANY);
	expect_real(table, 0, "Kernel duration (µs)_mean", (double)LONG_US);
	expect_real(table, 0, "Percent of kernels time (%)", 100);
	expect_real(table, 0, "Percent of total time (%)", 100.0 * MANY);
	expect_integer(table, 1, "Kernel duration (µs)_sum", 1000 * 1000);
	table = find(report, "ops_summary");
	expect_missing(table, 0, "total_direct_kernel_time_sum");
	expect_missing(table, 0, "total_subtree_kernel_time_ms");
	expect_real(table, 0, "Cumulative Percentage (%)", 100);
	expect_missing(find(report, "ops_summary_by_category"), 0, "total_direct_kernel_time_ms");
	table = find(report, "ops_unique_args");
	expect_missing(table, 0, "total_direct_kernel_time_sum");
	expect_real(table, 0, "total_subtree_kernel_time_mean", (double)LONG_US);
	table = find(report, "streams");
	expect_missing(table, 0, "sum (ms)");
	expect_integer(table, 0, "busy (ms)", LONG_US * 1000);
	table = find(report, "launches");
	expect_missing(table, 0, "call time (ms)");
	expect_real(table, 0, "call mean (µs)", (double)LONG_US);
	expect_missing(find(report, "unlinked"), 0, "time (ms)");
	table = find(report, "cpu_ops");
	expect_missing(table, 0, "total host time (ms)");
	table = find(report, "reconciliation");
	expect_missing(table, 0, "time ns"); /* op_rows */
	expect_missing(table, 2, "time ns"); /* copies */
	expect_missing(table, 4, "time ns"); /* overlap */
	expect_integer(table, 5, "time ns", LONG_US * 1000);
	expect_integer(table, 8, "time ns", 0); /* and yet it closes */
	trawl_report_free(report);
	trawl_trace_free(trace);
}

static void test_statistics_of_hostile_values(void **state)
{
	int64_t values[] = { INT64_MAX, INT64_MAX - 2, INT64_MAX };
	struct tw_stats s = tw_stats_of(values, 3);

	assert_false(tw_wide_fits(s.sum));
	assert_true(s.sum == (tw_wide)INT64_MAX * 3 - 2);
	assert_true(s.mean > 9.22e18 && s.mean < 9.23e18);
}

static void test_fits(void **state)
{
	assert_true(tw_wide_fits(INT64_MAX));
	assert_true(tw_wide_fits(INT64_MIN));
	assert_false(tw_wide_fits((tw_wide)INT64_MAX + 1));
	assert_false(tw_wide_fits((tw_wide)INT64_MIN - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_of_hostile_durations),
		cmocka_unit_test(test_statistics_of_hostile_values),
		cmocka_unit_test(test_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
