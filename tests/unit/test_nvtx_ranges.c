/* GPU time of ranges: values worked out by hand. Times are in nanoseconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "base/scope.h"
#include "failing.h"
#include "store/trace.h"
#include "traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct script script;
static struct trawl_trace *trace;
static struct trawl_report *report;

#define NCCL "ncclDevKernel_AllReduce_Sum_f32_RING_LL"

static void range(const char *name, int tid, int64_t start_ns, int64_t end_ns)
{
	script_slice(&script, "user_annotation", name, 1, tid, start_ns, end_ns - start_ns, NULL);
}

static void range_in_domain(const char *name, const char *domain, int64_t start_ns, int64_t end_ns)
{
	char args[80];

	snprintf(args, sizeof(args), "\"domain\":\"%s\"", domain);
	script_slice(&script, "user_annotation", name, 1, 1, start_ns, end_ns - start_ns, args);
}

/* A launch call of process 1 with a GPU event of `dur_ns`, by default a kernel on stream 7. */
static void launch_of_kind(const char *category, const char *name, int pid, int tid,
			   int64_t call_ns, int stream, int64_t start_ns, int64_t dur_ns)
{
	static int id;
	char args[80];

	snprintf(args, sizeof(args), "\"correlation\":%d", ++id);
	script_slice(&script, "cuda_runtime", "cudaLaunchKernel", pid, tid, call_ns, 1, args);
	snprintf(args, sizeof(args), "\"device\":%d,\"stream\":%d,\"correlation\":%d", pid - 1,
		 stream, id);
	script_slice(&script, category, name, pid - 1, stream, start_ns, dur_ns, args);
}

static void launch(int tid, int64_t call_ns, int64_t start_ns, int64_t dur_ns)
{
	launch_of_kind("kernel", "gemm", 1, tid, call_ns, 7, start_ns, dur_ns);
}

/* As if from an export, where GPU tracks have the pid of their process: here 1. */
static void as_export(void)
{
	uint32_t i;

	trace->by_process = true;
	for (i = 0; i < trace->track_count; i++)
		if (trace->tracks[i].device != TW_CODE_NONE)
			trace->tracks[i].pid = 1;
}

static void analyse(const struct trawl_report_options *options)
{
	struct trawl_report_options with;

	trawl_report_options_init(&with);
	if (options)
		with = *options;
	with.only = "nvtx_ranges";
	assert_int_equal(trawl_report_new(&report, trace, &with, NULL), 0);
}

static void read_script(void)
{
	trace = script_read(&script);
	analyse(NULL);
}

static void done(void)
{
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* A cell of the row of this range in nanoseconds, or as it is; "" when missing. */
static const char *cell(const char *name, const char *header)
{
	return cell_of(report, "nvtx_ranges", "range", name, header);
}

static const char *rest(const char *kind, const char *header)
{
	return cell_of(report, "nvtx_ranges", "kind", kind, header);
}

static int64_t ns(const char *ms)
{
	assert_string_not_equal(ms, "");
	return (int64_t)(atof(ms) * 1e6 + 0.5);
}

#define GPU(name) ns(cell(name, "GPU time (ms)"))
#define SELF(name) ns(cell(name, "self GPU time (ms)"))
#define KERNELS(name) atoi(cell(name, "kernels"))

/* The column of self times. */
static int64_t sum_of_self(void)
{
	size_t row, rows = rows_of(report, "nvtx_ranges");
	int64_t sum = 0;

	for (row = 0; row < rows; row++) {
		const char *ms = cell_at(report, "nvtx_ranges", row, "self GPU time (ms)");

		sum += *ms ? ns(ms) : 0;
	}
	return sum;
}

static void test_nesting(void **state)
{
	(void)state;
	script_begin(&script);
	range("outer", 1, 0, 1000);
	range("inner", 1, 100, 200);
	range("inner", 1, 300, 400);
	launch(1, 50, 500, 10);	   /* outer */
	launch(1, 150, 600, 20);   /* inner */
	launch(1, 350, 700, 40);   /* inner, the second */
	launch(1, 2000, 3000, 80); /* none */
	read_script();
	assert_int_equal(GPU("outer"), 70);
	assert_int_equal(SELF("outer"), 10);
	assert_int_equal(KERNELS("outer"), 3);
	assert_string_equal(cell("outer", "instances"), "1");
	assert_int_equal(ns(cell("outer", "host time (ms)")), 1000);
	assert_int_equal(ns(cell("outer", "projected (ms)")), 240);
	assert_int_equal(GPU("inner"), 60);
	assert_int_equal(SELF("inner"), 60);
	assert_string_equal(cell("inner", "instances"), "2");
	assert_int_equal(ns(cell("inner", "host time (ms)")), 200);
	assert_int_equal(ns(cell("inner", "projected (ms)")), 60);
	assert_int_equal(ns(rest("outside", "self GPU time (ms)")), 80);
	assert_string_equal(rest("outside", "pid"), "1");
	assert_string_equal(rest("outside", "instances"), "");
	assert_int_equal(sum_of_self(), 150);
	/* By GPU time, the rest last. */
	assert_string_equal(cell_at(report, "nvtx_ranges", 0, "range"), "outer");
	assert_string_equal(cell_at(report, "nvtx_ranges", 1, "range"), "inner");
	assert_int_equal(rows_of(report, "nvtx_ranges"), 3);
	done();
}

/* A name inside itself counts once; so do two of a name that cross. */
static void test_same_name(void **state)
{
	(void)state;
	script_begin(&script);
	range("a", 1, 0, 1000);
	range("a", 1, 100, 200);
	range("b", 1, 2000, 2100);
	range("b", 1, 2050, 2200);
	launch(1, 150, 500, 10);
	launch(1, 300, 600, 20);
	launch(1, 2020, 2500, 40);
	launch(1, 2070, 2600, 80);
	launch(1, 2150, 2700, 160);
	read_script();
	assert_int_equal(GPU("a"), 30);
	assert_int_equal(SELF("a"), 30);
	assert_int_equal(KERNELS("a"), 2);
	assert_string_equal(cell("a", "instances"), "2");
	assert_int_equal(ns(cell("a", "projected (ms)")), 120);
	assert_int_equal(GPU("b"), 280);
	/* The second instance has only what the first has not. */
	assert_int_equal(ns(cell("b", "projected (ms)")), 180 + 160);
	assert_int_equal(sum_of_self(), 310);
	done();
}

/* Ranges that cross both have what is in both; it is the shorter one's own. */
static void test_crossing(void **state)
{
	(void)state;
	script_begin(&script);
	range("long", 1, 0, 200);
	range("short", 1, 100, 250);
	range("same start", 1, 0, 50);
	launch(1, 10, 500, 1);
	launch(1, 60, 510, 2);
	launch(1, 150, 520, 4);
	launch(1, 240, 530, 8);
	read_script();
	assert_int_equal(GPU("long"), 7);
	assert_int_equal(SELF("long"), 2);
	assert_int_equal(GPU("short"), 12);
	assert_int_equal(SELF("short"), 12);
	assert_int_equal(GPU("same start"), 1);
	assert_int_equal(SELF("same start"), 1);
	done();
}

static void test_both_ends(void **state)
{
	(void)state;
	script_begin(&script);
	range("a", 1, 100, 200);
	range("moment", 1, 300, 300);
	launch(1, 99, 500, 1);
	launch(1, 100, 510, 2);
	launch(1, 200, 520, 4);
	launch(1, 201, 530, 8);
	launch(1, 300, 540, 16);
	read_script();
	assert_int_equal(GPU("a"), 6);
	assert_int_equal(GPU("moment"), 16);
	assert_int_equal(ns(rest("outside", "GPU time (ms)")), 9);
	done();
	/* The last of several. */
	script_begin(&script);
	range("a", 1, 100, 200);
	launch(1, 110, 500, 1);
	launch(1, 120, 510, 2);
	launch(1, 200, 520, 4);
	launch(1, 201, 530, 8);
	read_script();
	assert_int_equal(GPU("a"), 7);
	done();
}

/* Backward passes are launched from a thread that has no ranges, or none there. */
static void test_other_thread(void **state)
{
	(void)state;
	script_begin(&script);
	range("step", 1, 0, 1000);
	range("backward", 1, 500, 900);
	range("of the other", 2, 100, 200);
	launch(1, 50, 2000, 1);
	launch(2, 150, 2010, 2);  /* its own range */
	launch(2, 600, 2020, 4);  /* no range of its own there */
	launch(3, 700, 2030, 8);  /* a thread without ranges */
	launch(3, 950, 2040, 16); /* in the step only */
	launch(3, 1500, 2050, 32);
	launch_of_kind("kernel", "gemm", 2, 1, 600, 7, 2060, 64); /* another process */
	read_script();
	assert_int_equal(GPU("step"), 29);
	assert_int_equal(SELF("step"), 17);
	assert_int_equal(GPU("backward"), 12);
	assert_int_equal(SELF("backward"), 12);
	assert_int_equal(GPU("of the other"), 2);
	assert_int_equal(ns(cell("step", "projected (ms)")), 2056 - 2000);
	assert_int_equal(sum_of_self(), 127);
	/* Processes in order. */
	assert_string_equal(cell_at(report, "nvtx_ranges", 3, "kind"), "outside");
	assert_string_equal(cell_at(report, "nvtx_ranges", 3, "pid"), "1");
	assert_string_equal(cell_at(report, "nvtx_ranges", 3, "self GPU time (ms)"), "0.000032");
	assert_string_equal(cell_at(report, "nvtx_ranges", 4, "pid"), "2");
	assert_int_equal(rows_of(report, "nvtx_ranges"), 5);
	done();
}

/* The engine's thread works while the thread that called backward() waits: both ranges have it. */
static void test_autograd_thread(void **state)
{
	(void)state;
	script_begin(&script);
	script_raw(&script, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2,"
			    "\"args\":{\"name\":\"thread 2 (pt_autograd_0)\"}}");
	range("backward", 1, 0, 1000);
	range("layer", 2, 100, 300);
	range("layer", 1, 150, 400); /* of the same name: what both hold counts once */
	range("other", 3, 0, 1000);
	launch(2, 200, 2000, 1);
	launch(2, 350, 2010, 2); /* behind its own range */
	launch(3, 200, 2020, 4); /* no such thread: in its own range alone */
	read_script();
	assert_int_equal(GPU("backward"), 3);
	assert_int_equal(GPU("layer"), 3);
	assert_int_equal(SELF("layer"), 3);
	assert_int_equal(GPU("other"), 7); /* which thread waits is not recorded */
	assert_int_equal(sum_of_self(), 7);
	done();
}

/* In exports operations are ranges of their thread, and hide no annotation of another one. */
static void test_operations(void **state)
{
	(void)state;
	script_begin(&script);
	range("backward", 1, 0, 1000);
	script_op(&script, "aten::add", 1200, 100);
	script_slice(&script, "cpu_op", "MmBackward0", 1, 2, 100, 100, NULL);
	launch(2, 150, 2000, 1);
	launch(2, 250, 2010, 2);
	launch(1, 1250, 2020, 4);
	launch(2, 1250, 2030, 8); /* the operation on the other thread has not launched it */
	trace = script_read(&script);
	as_export();
	analyse(NULL);
	assert_int_equal(GPU("backward"), 3);
	assert_int_equal(SELF("backward"), 2);
	assert_int_equal(GPU("MmBackward0"), 1);
	assert_int_equal(SELF("MmBackward0"), 1);
	assert_string_equal(cell("MmBackward0", "kind"), "operation");
	assert_int_equal(GPU("aten::add"), 4);
	assert_int_equal(ns(rest("outside", "GPU time (ms)")), 8);
	assert_int_equal(sum_of_self(), 15);
	done();
}

static void test_domains(void **state)
{
	(void)state;
	script_begin(&script);
	range("a", 1, 0, 100);
	range_in_domain("a", "NCCL", 200, 300);
	launch(1, 50, 500, 1);
	launch(1, 250, 600, 2);
	trace = script_read(&script);
	as_export();
	analyse(NULL);
	assert_int_equal(rows_of(report, "nvtx_ranges"), 2);
	assert_int_equal(ns(cell_of(report, "nvtx_ranges", "domain", "NCCL", "GPU time (ms)")), 2);
	assert_int_equal(ns(cell_of(report, "nvtx_ranges", "domain", "", "GPU time (ms)")), 1);
	done();
}

/*
 * NCCL and the framework set ranges around their calls, on whatever thread makes them: what these
 * launch in a backward pass belongs to it all the same.
 */
static void test_ranges_of_libraries(void **state)
{
	(void)state;
	script_begin(&script);
	range("backward", 1, 0, 1000);
	script_slice(&script, "user_annotation", "ncclGroupEnd", 1, 2, 100, 50,
		     "\"domain\":\"NCCL\"");
	range("nccl:all_reduce", 2, 200, 300);
	range("hook", 2, 400, 500);
	launch_of_kind("kernel", NCCL, 1, 2, 120, 20, 2000, 1);
	launch_of_kind("kernel", NCCL, 1, 2, 250, 20, 2010, 2);
	launch(2, 450, 2020, 4); /* in a range of the user's on its own thread */
	/* On another thread while nothing else runs there. */
	range("nccl:broadcast", 1, 1100, 1200);
	range_in_domain("mine", "app", 1300, 1400);
	launch(2, 1150, 2030, 8);
	launch(2, 1350, 2040, 16);
	trace = script_read(&script);
	as_export();
	analyse(NULL);
	assert_int_equal(GPU("backward"), 3);
	assert_int_equal(ns(cell("backward", "exposed communication (ms)")), 3);
	assert_int_equal(SELF("backward"), 0);
	assert_int_equal(SELF("ncclGroupEnd"), 1);
	assert_int_equal(GPU("ncclGroupEnd"), 1);
	assert_int_equal(SELF("nccl:all_reduce"), 2);
	assert_int_equal(GPU("hook"), 4);
	assert_int_equal(GPU("nccl:broadcast"), 0);
	assert_int_equal(GPU("mine"), 16);
	assert_int_equal(SELF("mine"), 16);
	assert_int_equal(ns(rest("outside", "GPU time (ms)")), 8);
	assert_int_equal(sum_of_self(), 31);
	done();
}

static void test_copies_and_communication(void **state)
{
	(void)state;
	script_begin(&script);
	range("step", 1, 0, 1000);
	range("reduce", 1, 400, 500);
	launch_of_kind("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1, 1, 50, 8, 2000, 5);
	launch_of_kind("gpu_memset", "Memset (Device)", 1, 1, 60, 8, 2100, 6);
	launch(1, 100, 3000, 100);
	/* Its first 20 ns and the last 30 ns are exposed; copies hide nothing. */
	launch_of_kind("kernel", NCCL, 1, 1, 410, 20, 2980, 150);
	launch_of_kind("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1, 1, 70, 8, 2980, 10);
	/* The other device computes all the time. */
	launch_of_kind("kernel", "gemm", 2, 1, 10, 7, 2000, 2000);
	read_script();
	assert_int_equal(KERNELS("step"), 2);
	assert_string_equal(cell("step", "GPU events"), "5");
	assert_int_equal(GPU("step"), 5 + 6 + 100 + 150 + 10);
	assert_int_equal(ns(cell("step", "communication (ms)")), 150);
	assert_int_equal(ns(cell("step", "self communication (ms)")), 0);
	assert_int_equal(ns(cell("step", "exposed communication (ms)")), 50);
	assert_int_equal(ns(cell("step", "self exposed communication (ms)")), 0);
	assert_int_equal(ns(cell("reduce", "self communication (ms)")), 150);
	assert_int_equal(ns(cell("reduce", "self exposed communication (ms)")), 50);
	done();
}

static void test_without_launches(void **state)
{
	(void)state;
	script_begin(&script);
	range("a", 1, 0, 100);
	script_slice(&script, "kernel", "k", 0, 7, 50, 10, "\"device\":0,\"stream\":7");
	read_script();
	assert_string_equal(cell("a", "GPU time (ms)"), "");
	assert_string_equal(cell("a", "kernels"), "");
	assert_string_equal(cell("a", "instances"), "1");
	assert_int_equal(ns(rest("unlaunched", "self GPU time (ms)")), 10);
	assert_string_equal(rest("unlaunched", "pid"), "");
	done();

	script_begin(&script);
	launch(1, 50, 500, 1);
	read_script();
	assert_int_equal(rows_of(report, "nvtx_ranges"), 0);
	assert_string_equal(trawl_table_note(trawl_report_find(report, "nvtx_ranges"), 0),
			    "no NVTX ranges in this trace");
	done();
}

/* GPU time is cut by the view; a range counts where it touches it, its events do in any case. */
static void test_view(void **state)
{
	struct trawl_report_options options;

	(void)state;
	script_begin(&script);
	range("before", 1, 0, 100);
	range("over the edge", 1, 200, 1100);
	range("behind", 1, 5000, 5100);
	launch(1, 50, 900, 200);   /* 100 in the view */
	launch(1, 300, 1200, 10);  /* all of it */
	launch(1, 1050, 4000, 10); /* none */
	trace = script_read(&script);
	trawl_report_options_init(&options);
	options.start_ns = 1000;
	options.end_ns = 3000;
	analyse(&options);
	assert_int_equal(GPU("before"), 100);
	assert_string_equal(cell("before", "instances"), "0");
	assert_int_equal(ns(cell("before", "host time (ms)")), 0);
	assert_int_equal(GPU("over the edge"), 10);
	assert_string_equal(cell("over the edge", "instances"), "1");
	assert_int_equal(ns(cell("over the edge", "host time (ms)")), 100);
	assert_false(has_row(report, "nvtx_ranges", "range", "behind"));
	assert_int_equal(sum_of_self(), 110);
	done();
}

/* Only exports have the table in their report. */
static void test_in_reports(void **state)
{
	(void)state;
	script_begin(&script);
	range("a", 1, 0, 100);
	launch(1, 50, 500, 1);
	trace = script_read(&script);
	report = report_of(trace, NULL);
	assert_null(trawl_report_find(report, "nvtx_ranges"));
	trawl_report_free(report);
	as_export();
	report = report_of(trace, NULL);
	assert_int_equal(GPU("a"), 1);
	done();

	/* Also where there is nothing else. */
	script_begin(&script);
	range("a", 1, 0, 100);
	trace = script_read(&script);
	as_export();
	report = report_of(trace, NULL);
	assert_string_equal(cell("a", "instances"), "1");
	done();
}

static void test_out_of_memory(void **state)
{
	struct tw_derived *derived;
	struct trawl_report_options options;
	long n;

	(void)state;
	script_begin(&script);
	range("a", 1, 0, 1000);
	range("b", 1, 100, 300);
	launch(1, 150, 500, 10);
	launch_of_kind("kernel", NCCL, 1, 2, 200, 7, 600, 10);
	trace = script_read(&script);
	as_export();
	derived = derive(trace, NULL);
	trawl_report_options_init(&options);
	for (n = 0;; n++) {
		const struct trawl_allocator *real = derived->allocator;
		struct failing failing;
		struct tw_scope scope;
		struct tw_analysis_input in = { .trace = trace,
						.derived = derived,
						.options = &options,
						.allocator = &scope.allocator };
		struct trawl_table *table;
		int status;

		failing_init(&failing, n);
		derived->allocator = &failing.allocator;
		tw_scope_begin(&scope, &failing.allocator);
		table = tw_table_new(&tw_analysis_nvtx_ranges.table, trawl_allocator_default());
		status = tw_analysis_nvtx_ranges.run(&in, table);
		tw_scope_end(&scope);
		derived->allocator = real;
		trawl_table_free(table);
		assert_int_equal(status, failing.failed ? TRAWL_ENOMEM : 0);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
	}
	assert_true(n > 20);
	tw_derived_free(derived);
	trawl_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_same_name),
		cmocka_unit_test(test_crossing),
		cmocka_unit_test(test_both_ends),
		cmocka_unit_test(test_other_thread),
		cmocka_unit_test(test_autograd_thread),
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_domains),
		cmocka_unit_test(test_ranges_of_libraries),
		cmocka_unit_test(test_copies_and_communication),
		cmocka_unit_test(test_without_launches),
		cmocka_unit_test(test_view),
		cmocka_unit_test(test_in_reports),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
