/* Whose work a step is: what it launched, whenever that ran. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "edges.h"
#include "traces.h"

/* An annotation of the host, or of a GPU's stream; times in microseconds, as in all of this file. */
static void annotate(struct script *s, const char *name, int pid, int64_t start, int64_t end)
{
	script_slice(s, "user_annotation", name, pid, 1, start * 1000, (end - start) * 1000, NULL);
}

static void annotate_gpu(struct script *s, const char *name, int64_t start, int64_t end)
{
	script_slice(s, "gpu_user_annotation", name, 0, 7, start * 1000, (end - start) * 1000,
		     "\"device\":0,\"stream\":7");
}

/* A call on a thread of a process, and what it launched on a stream. */
static void launch(struct script *s, int pid, int tid, int64_t call, int id, const char *kernel,
		   int stream, int64_t start, int64_t dur)
{
	char args[80];

	snprintf(args, sizeof(args), "\"correlation\":%d", id);
	script_slice(s, "cuda_runtime", "cudaLaunchKernel", pid, tid, call * 1000, 1000, args);
	snprintf(args, sizeof(args), "\"device\":0,\"stream\":%d,\"correlation\":%d", stream, id);
	script_slice(s, "kernel", kernel, 0, stream, start * 1000, dur * 1000, args);
}

/* Three steps of 100; the GPU runs `lag` steps behind, for 80 of each. */
static struct trawl_trace *lagging(int lag)
{
	static const char *const steps[] = { "ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3" };
	static const char *const kernels[] = { "k1", "k2", "k3" };
	struct script s;
	int i;

	script_begin(&s);
	for (i = 0; i < 3; i++) {
		annotate(&s, steps[i], 1, 100 * i, 100 * (i + 1));
		launch(&s, 1, 1, 100 * i + 5, i + 1, kernels[i], 7, 100 * (i + lag) + 10, 80);
	}
	return script_read(&s);
}

static struct trawl_report *step_of(const struct trawl_trace *trace, int64_t first, int64_t last,
				    bool by_time)
{
	struct trawl_report_options options;

	trawl_report_options_init(&options);
	options.step_first = first;
	options.step_last = last;
	options.by_time = by_time;
	return report_of(trace, &options);
}

static struct trawl_report *range_of(const struct trawl_trace *trace, const char *name)
{
	struct trawl_report_options options;

	trawl_report_options_init(&options);
	options.range = name;
	return report_of(trace, &options);
}

/* Cells in milliseconds as text. */
static const char *timeline(const struct trawl_report *report, const char *row)
{
	return cell_of(report, "gpu_timeline", "type", row, "time ms");
}

static const char *work(const struct trawl_report *report, size_t row, const char *column)
{
	return cell_at(report, "step_work", row, column);
}

static void steps_of_a_gpu_that_lags(void **state)
{
	static const char *const kernels[] = { "k1", "k2", "k3" };
	int lag, step;

	for (lag = 0; lag <= 3; lag++) {
		struct trawl_trace *trace = lagging(lag);

		for (step = 1; step <= 3; step++) {
			struct trawl_report *report = step_of(trace, step, step, false);

			assert_int_equal(rows_of(report, "kernel_summary"), 1);
			assert_true(has_row(report, "kernel_summary", "Kernel name",
					    kernels[step - 1]));
			assert_string_equal(timeline(report, "total_time"), "0.08");
			assert_string_equal(timeline(report, "busy_time"), "0.08");
			assert_string_equal(timeline(report, "other_work_time"), "0");
			assert_string_equal(work(report, 0, "after its end (ms)"),
					    lag ? "0.08" : "0");
			assert_string_equal(work(report, 0, "own during it (ms)"),
					    lag ? "0" : "0.08");
			assert_string_equal(work(report, 0, "GPU busy during it (ms)"),
					    step > lag ? "0.08" : "0");
			trawl_report_free(report);
			/* By time it is what ran meanwhile. */
			report = step_of(trace, step, step, true);
			assert_int_equal(rows_of(report, "kernel_summary"), step > lag);
			if (step > lag)
				assert_true(has_row(report, "kernel_summary", "Kernel name",
						    kernels[step - 1 - lag]));
			assert_string_equal(timeline(report, "total_time"), "0.1");
			trawl_report_free(report);
		}
		trawl_trace_free(trace);
	}
}

/* Steps that follow each other are one stretch; what idles between them is theirs. */
static void several_steps(void **state)
{
	struct trawl_trace *trace = lagging(1);
	struct trawl_report *report = step_of(trace, 1, 3, false);

	assert_int_equal(rows_of(report, "kernel_summary"), 3);
	assert_string_equal(timeline(report, "busy_time"), "0.24");
	assert_string_equal(timeline(report, "total_time"), "0.28"); /* 110 to 390 */
	assert_string_equal(timeline(report, "idle_time"), "0.04");
	assert_int_equal(rows_of(report, "step_work"), 3);
	assert_string_equal(trawl_report_view(report), "steps 1-3, by launch");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/*
 * Of step 1: k1 [150,200) on stream 7, launched by another thread; k3 [300,340).  Between them k2 of
 * step 2 runs, on stream 8 from 180 to 260: 60 of it alone.
 */
static struct trawl_trace *mixed(const char *gpu_annotation, int64_t from, int64_t to)
{
	struct script s;

	script_begin(&s);
	annotate(&s, "ProfilerStep#1", 1, 0, 100);
	annotate(&s, "ProfilerStep#2", 1, 100, 200);
	if (gpu_annotation)
		annotate_gpu(&s, gpu_annotation, from, to);
	launch(&s, 1, 2, 10, 1, "k1", 7, 150, 50);
	launch(&s, 1, 1, 110, 2, "k2", 8, 180, 80);
	launch(&s, 1, 1, 99, 3, "k3", 7, 300, 40);
	return script_read(&s);
}

static void other_work_is_apart(void **state)
{
	struct trawl_trace *trace = mixed(NULL, 0, 0);
	struct trawl_report *report = step_of(trace, 1, 1, false);

	assert_string_equal(timeline(report, "busy_time"), "0.09");
	assert_string_equal(timeline(report, "other_work_time"), "0.06");
	assert_string_equal(timeline(report, "idle_time"), "0.04");
	assert_string_equal(timeline(report, "total_time"), "0.19");
	assert_string_equal(work(report, 0, "GPU events"), "2");
	assert_string_equal(work(report, 0, "other work (ms)"), "0.06");
	assert_string_equal(work(report, 0, "first start (µs)"), "150");
	assert_string_equal(work(report, 0, "last end (µs)"), "340");
	assert_string_equal(cell_of(report, "gpu_timeline_by_device", "type", "other_work_time",
				    "time ms"),
			    "0.06");
	assert_string_equal(cell_of(report, "reconciliation", "quantity", "difference", "time ns"),
			    "0");
	trawl_report_free(report);
	/* Whole, though it reaches over the step's end. */
	report = step_of(trace, 2, 2, false);
	assert_string_equal(timeline(report, "busy_time"), "0.08");
	assert_string_equal(timeline(report, "other_work_time"), "0");
	assert_string_equal(work(report, 0, "own during it (ms)"), "0.02");
	assert_string_equal(work(report, 0, "GPU busy during it (ms)"), "0.05");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

static bool has_note(const struct trawl_report *report, const char *text)
{
	const struct trawl_table *table = trawl_report_find(report, "step_work");
	size_t i;

	for (i = 0; i < trawl_table_notes(table); i++)
		if (strstr(trawl_table_note(table, i), text))
			return true;
	return false;
}

static void annotations_of_the_gpu_agree_or_not(void **state)
{
	struct trawl_trace *trace = mixed("ProfilerStep#1", 150, 340);
	struct trawl_report *report = step_of(trace, 1, 1, false);

	assert_false(has_note(report, "GPU annotations"));
	assert_string_equal(timeline(report, "total_time"), "0.19");
	trawl_report_free(report);
	trawl_trace_free(trace);
	trace = mixed("ProfilerStep#1", 150, 310);
	report = step_of(trace, 1, 1, false);
	assert_true(has_note(report, "do not cover 0.030 ms (33.3 %) of the launched work"));
	trawl_report_free(report);
	trawl_trace_free(trace);
	/* Without the host's nothing is known of launches within. */
	trace = mixed("forward", 150, 310);
	report = range_of(trace, "forward");
	assert_string_equal(trawl_report_view(report),
			    "range 'forward', by time (no host annotation of that name)");
	assert_string_equal(timeline(report, "total_time"), "0.16");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* 1000 us of work in a step; of its annotation on the GPU so many lie outside. */
static void assert_uncovered(int64_t outside, bool noted)
{
	struct trawl_report *report;
	struct trawl_trace *trace;
	struct script s;

	script_begin(&s);
	annotate(&s, "ProfilerStep#1", 1, 0, 100);
	annotate_gpu(&s, "ProfilerStep#1", 150, 1150 - outside);
	launch(&s, 1, 1, 10, 1, "k1", 7, 150, 1000);
	trace = script_read(&s);
	report = step_of(trace, 1, 1, false);
	assert_int_equal(has_note(report, "GPU annotations of that name do not cover"), noted);
	trawl_report_free(report);
	trawl_trace_free(trace);
}

static void a_hundredth_may_be_uncovered(void **state)
{
	EDGE_OF(TW_LIMIT_UNCOVERED_PERCENT);
	assert_uncovered(10, false);
	assert_uncovered(11, true);
}

/* Ranges of one name within each other, and of two processes. */
static void ranges_of_one_name(void **state)
{
	struct trawl_report *report;
	struct trawl_trace *trace;
	struct script s;

	script_begin(&s);
	annotate(&s, "r", 1, 0, 100);
	annotate(&s, "r", 1, 20, 40);
	annotate(&s, "r", 2, 200, 300);
	annotate(&s, "other", 2, 0, 100);
	launch(&s, 1, 1, 10, 1, "outer", 7, 500, 10);
	launch(&s, 1, 1, 30, 2, "inner", 7, 520, 10);
	launch(&s, 1, 1, 50, 3, "outer", 7, 540, 10);
	launch(&s, 2, 1, 250, 4, "second", 8, 600, 10);
	launch(&s, 2, 1, 30, 5, "none", 8, 700, 10);
	launch(&s, 1, 1, 250, 6, "none", 7, 800, 10);
	launch(&s, 1, 1, 100, 7, "none", 7, 900, 10); /* at the end is not within */
	trace = script_read(&s);
	report = range_of(trace, "r");
	assert_int_equal(rows_of(report, "step_work"), 3);
	assert_string_equal(work(report, 0, "GPU events"), "2");
	assert_string_equal(work(report, 1, "GPU events"), "1");
	assert_string_equal(work(report, 2, "GPU events"), "1");
	assert_false(has_row(report, "kernel_summary", "Kernel name", "none"));
	/* 500 to 550 and 600 to 610. */
	assert_string_equal(timeline(report, "total_time"), "0.06");
	assert_string_equal(timeline(report, "busy_time"), "0.04");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* One call, many kernels: of a graph.  And a moment at the end of all that. */
static void graphs_and_moments(void **state)
{
	struct trawl_report_options options;
	struct trawl_report *report;
	struct trawl_trace *trace;
	struct script s;

	script_begin(&s);
	annotate(&s, "ProfilerStep#1", 1, 0, 100);
	annotate(&s, "ProfilerStep#2", 1, 100, 200);
	script_slice(&s, "cuda_runtime", "cudaGraphLaunch", 1, 1, 90000, 5000, "\"correlation\":1");
	script_kernel(&s, "a", 7, 150000, 10001, 1);
	script_kernel(&s, "b", 7, 170000, 10000, 1);
	script_kernel(&s, "moment", 7, 180000, 0, 1);
	script_call(&s, "cudaLaunchKernel", 150000, 1000, 2);
	script_kernel(&s, "c", 7, 180000, 10000, 2);
	trace = script_read(&s);
	report = step_of(trace, 1, 1, false);
	assert_int_equal(rows_of(report, "kernel_summary"), 3);
	assert_string_equal(timeline(report, "total_time"), "0.03");
	assert_string_equal(work(report, 0, "GPU events"), "3");
	trawl_report_free(report);
	report = step_of(trace, 2, 2, false);
	assert_int_equal(rows_of(report, "kernel_summary"), 1);
	trawl_report_free(report);
	/* Not of what ends with that moment. */
	trawl_report_options_init(&options);
	options.step_first = options.step_last = 1;
	options.end_ns = 180000;
	report = report_of(trace, &options);
	assert_int_equal(rows_of(report, "kernel_summary"), 2);
	trawl_report_free(report);
	trawl_trace_free(trace);
}

static void without_launches(void **state)
{
	struct trawl_report *report;
	struct trawl_trace *trace;
	struct script s;

	/* None at all: by time, clipped. */
	script_begin(&s);
	annotate(&s, "ProfilerStep#1", 1, 0, 100);
	script_kernel(&s, "k", 7, 90000, 20000, 1);
	trace = script_read(&s);
	report = step_of(trace, 1, 1, false);
	assert_string_equal(trawl_report_view(report), "step 1, by time (no launches recorded)");
	assert_string_equal(timeline(report, "busy_time"), "0.01");
	assert_string_equal(timeline(report, "total_time"), "0.1");
	assert_string_equal(work(report, 0, "GPU events"), "");
	trawl_report_free(report);
	trawl_trace_free(trace);
	/* Of some: these go by their start, and are whole. */
	script_begin(&s);
	annotate(&s, "ProfilerStep#1", 1, 0, 100);
	launch(&s, 1, 1, 10, 1, "k", 7, 210, 10);
	script_kernel(&s, "alone", 7, 90000, 20000, 9);
	script_kernel(&s, "before", 7, -10000, 20000, 10);
	trace = script_read(&s);
	report = step_of(trace, 1, 1, false);
	assert_string_equal(trawl_report_view(report), "step 1, by launch");
	assert_int_equal(rows_of(report, "kernel_summary"), 2);
	assert_string_equal(timeline(report, "busy_time"), "0.03");
	assert_true(has_note(report, "1 GPU events have no matching launch"));
	trawl_report_free(report);
	trawl_trace_free(trace);
	/* A step that launched nothing: its time, in which others work. */
	script_begin(&s);
	annotate(&s, "ProfilerStep#1", 1, 0, 100);
	annotate(&s, "ProfilerStep#2", 1, 100, 200);
	launch(&s, 1, 1, 10, 1, "k", 7, 90, 50);
	trace = script_read(&s);
	report = step_of(trace, 2, 2, false);
	assert_string_equal(timeline(report, "busy_time"), "0");
	assert_string_equal(timeline(report, "other_work_time"), "0.04");
	assert_string_equal(timeline(report, "idle_time"), "0.06");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* Events that go by their start are part of the span, gaps included. */
static void gaps_of_unlaunched_work(void **state)
{
	struct trawl_report *report;
	struct trawl_trace *trace;
	struct script s;
	int i;

	script_begin(&s);
	annotate(&s, "ProfilerStep#1", 1, 0, 300);
	launch(&s, 1, 1, 10, 1, "k", 7, 100, 20);
	for (i = 0; i < 3; i++)
		script_kernel(&s, "alone", 7, (150 + 50 * i) * 1000, 10000, 50 + i);
	trace = script_read(&s);
	report = step_of(trace, 1, 1, false);
	assert_string_equal(timeline(report, "total_time"), "0.16"); /* 100 to 260 */
	assert_string_equal(timeline(report, "busy_time"), "0.05");
	assert_string_equal(timeline(report, "idle_time"), "0.11");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* In windows of the GPU, which lags a range behind, such events are of the work there. */
static void unlaunched_work_of_a_gpu_that_lags(void **state)
{
	struct trawl_report *report;
	struct trawl_trace *trace;
	struct script s;

	script_begin(&s);
	annotate(&s, "r", 1, 0, 100);
	annotate(&s, "r", 1, 110, 200);
	annotate_gpu(&s, "r", 250, 390);
	annotate_gpu(&s, "r", 400, 540);
	launch(&s, 1, 1, 10, 1, "k", 7, 250, 20);
	script_kernel(&s, "alone", 7, 300000, 10000, 50);
	launch(&s, 1, 1, 120, 2, "k", 7, 400, 20);
	script_kernel(&s, "alone", 7, 450000, 10000, 51);
	trace = script_read(&s);
	report = range_of(trace, "r");
	assert_string_equal(timeline(report, "total_time"), "0.12"); /* 250 to 310, 400 to 460 */
	assert_string_equal(timeline(report, "busy_time"), "0.06");
	assert_string_equal(timeline(report, "idle_time"), "0.06");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* Ids below that of the first recorded call are of before it: no later step launched that work. */
static void launched_before_the_capture(void **state)
{
	struct trawl_report *report;
	struct trawl_trace *trace;
	struct script s;

	script_begin(&s);
	annotate(&s, "ProfilerStep#0", 1, -100, 0); /* its calls are lost */
	annotate(&s, "ProfilerStep#1", 1, 0, 100);
	annotate(&s, "ProfilerStep#2", 1, 100, 200);
	launch(&s, 1, 1, 110, 11, "k2", 7, 160, 30);
	launch(&s, 1, 1, 20, 10, "k1", 7, 110, 20);
	script_kernel(&s, "e0", 7, -50000, 10000, 4);
	script_kernel(&s, "e1", 7, 50000, 40000, 5);
	script_kernel(&s, "e2", 7, 135000, 20000, 6);
	trace = script_read(&s);
	report = step_of(trace, 0, 0, false);
	assert_true(has_row(report, "kernel_summary", "Kernel name", "e0"));
	assert_string_equal(timeline(report, "total_time"), "0.01");
	assert_false(has_note(report, "before calls were recorded"));
	trawl_report_free(report);
	report = step_of(trace, 1, 1, false);
	assert_int_equal(rows_of(report, "kernel_summary"), 1);
	assert_string_equal(timeline(report, "total_time"), "0.02");
	assert_true(has_note(report, "1 GPU events in its time were launched before "
				     "recording began: other work"));
	trawl_report_free(report);
	/* 110 to 190, with e2 within. */
	report = step_of(trace, 1, 2, false);
	assert_int_equal(rows_of(report, "kernel_summary"), 2);
	assert_string_equal(timeline(report, "total_time"), "0.08");
	assert_string_equal(timeline(report, "busy_time"), "0.05");
	assert_string_equal(timeline(report, "other_work_time"), "0.02");
	assert_string_equal(timeline(report, "idle_time"), "0.01");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* Host tables look at the time on the host; --start and --end cut both. */
static void tables_of_the_host(void **state)
{
	struct trawl_report_options options;
	struct trawl_report *report;
	struct trawl_trace *trace;
	struct script s;

	script_begin(&s);
	annotate(&s, "ProfilerStep#1", 1, 0, 100);
	annotate(&s, "ProfilerStep#2", 1, 100, 200);
	script_op(&s, "aten::mm", 10000, 20000);
	launch(&s, 1, 1, 15, 1, "k", 7, 150, 50);
	script_op(&s, "aten::add", 150000, 20000);
	trace = script_read(&s);
	report = step_of(trace, 1, 1, false);
	assert_true(has_row(report, "cpu_ops", "name", "aten::mm"));
	assert_false(has_row(report, "cpu_ops", "name", "aten::add"));
	assert_true(has_row(report, "ops_summary", "name", "aten::mm"));
	trawl_report_free(report);
	trawl_report_options_init(&options);
	options.step_first = options.step_last = 1;
	options.end_ns = 170000;
	report = report_of(trace, &options);
	assert_string_equal(timeline(report, "busy_time"), "0.02");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_of_a_gpu_that_lags),
		cmocka_unit_test(several_steps),
		cmocka_unit_test(other_work_is_apart),
		cmocka_unit_test(annotations_of_the_gpu_agree_or_not),
		cmocka_unit_test(a_hundredth_may_be_uncovered),
		cmocka_unit_test(ranges_of_one_name),
		cmocka_unit_test(graphs_and_moments),
		cmocka_unit_test(without_launches),
		cmocka_unit_test(gaps_of_unlaunched_work),
		cmocka_unit_test(unlaunched_work_of_a_gpu_that_lags),
		cmocka_unit_test(launched_before_the_capture),
		cmocka_unit_test(tables_of_the_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
