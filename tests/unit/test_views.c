/* The part of a trace that analyses look at: steps, ranges, times, devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "derive/derived.h"
#include "edges.h"
#include "event_list.h"
#include "table/table.h"
#include "traces.h"
#include "trawl/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Times in microseconds, so that nanoseconds are these times 1000. */
static uint64_t kernel(int device, int ts, int dur)
{
	return add("{'ph':'X','cat':'kernel','name':'k','pid':%d,'tid':7,'ts':%d,'dur':%d,"
		   "'args':{'device':%d,'stream':7}}",
		   device, ts, dur, device);
}

static uint64_t range(const char *cat, const char *name, int ts, int dur)
{
	return add("{'ph':'X','cat':'%s','name':'%s','pid':1,'tid':1,'ts':%d,'dur':%d}", cat, name,
		   ts, dur);
}

static uint64_t gpu_step(int number, int ts, int dur)
{
	char name[40];

	snprintf(name, sizeof(name), "ProfilerStep#%d", number);
	return range("gpu_user_annotation", name, ts, dur);
}

static uint64_t host_step(int number, int ts, int dur)
{
	char name[40];

	snprintf(name, sizeof(name), "ProfilerStep#%d", number);
	return range("user_annotation", name, ts, dur);
}

static uint64_t op(int ts, int dur)
{
	return range("cpu_op", "op", ts, dur);
}

/* ---- what is in view */

static const struct tw_view_options whole = TW_VIEW_OPTIONS_INIT;

static struct tw_view_options steps(int64_t first, int64_t last)
{
	struct tw_view_options o = TW_VIEW_OPTIONS_INIT;

	o.step_first = first;
	o.step_last = last;
	o.by_time = true;
	return o;
}

static struct tw_view_options annotation(const char *name)
{
	struct tw_view_options o = TW_VIEW_OPTIONS_INIT;

	o.range = name;
	o.by_time = true;
	return o;
}

static struct tw_view_options times(int64_t start_us, int64_t end_us)
{
	struct tw_view_options o = TW_VIEW_OPTIONS_INIT;

	o.start_ns = start_us * 1000;
	o.end_ns = end_us * 1000;
	return o;
}

static struct tw_derived *derived_of(const struct trawl_trace *trace, struct tw_view_options view)
{
	const struct tw_derive_options options = { .view = view };
	struct tw_derived *d;

	assert_int_equal(tw_derive(&d, trace, &options, NULL), 0);
	return d;
}

/* Of a derived trace: GPU event number `g` is this event from start to end. */
static void expect_gpu(const struct tw_derived *d, uint64_t g, uint64_t event, int start, int stop)
{
	assert_true(g < d->gpu.count);
	assert_int_equal(d->gpu.event[g], event);
	assert_int_equal(d->gpu.start_ns[g], (int64_t)start * 1000);
	assert_int_equal(d->gpu.end_ns[g], (int64_t)stop * 1000);
}

static void expect_error(const struct trawl_trace *trace, struct tw_view_options view,
			 const char *part)
{
	const struct tw_derive_options options = { .view = view };
	struct tw_derived *d = NULL;
	struct trawl_error error;

	assert_int_equal(tw_derive(&d, trace, &options, &error), TRAWL_EUSAGE);
	assert_null(d);
	if (!strstr(error.message, part))
		fail_msg("'%s' is not in '%s'", part, error.message);
}

static void test_whole_trace(void **state)
{
	struct trawl_trace *trace;
	struct tw_derived *d;
	uint64_t a, b;

	begin();
	b = kernel(0, 50, 10);
	a = kernel(1, 0, 60);
	host_step(1, 20, 10);
	trace = end();
	d = derived_of(trace, whole);
	assert_false(d->view.limited);
	assert_string_equal(tw_view_label(&d->view), "");
	assert_int_equal(d->gpu.count, 2);
	expect_gpu(d, 0, a, 0, 60);
	expect_gpu(d, 1, b, 50, 60);
	tw_derived_free(d);
	trawl_trace_free(trace);
}

static void test_clipping_at_the_edges(void **state)
{
	uint64_t over_start, inside, over_end, across;
	struct trawl_trace *trace;
	struct tw_derived *d;

	begin();
	kernel(0, 0, 100);		/* ends where the window begins */
	over_start = kernel(0, 50, 60); /* 100 to 110 of it */
	across = kernel(0, 90, 300);	/* all of the window */
	inside = kernel(0, 120, 10);
	over_end = kernel(0, 190, 30); /* 190 to 200 */
	kernel(0, 200, 10);	       /* begins where the window ends */
	trace = end();
	d = derived_of(trace, times(100, 200));
	assert_true(d->view.limited);
	assert_int_equal(d->gpu.count, 4);
	expect_gpu(d, 0, over_start, 100, 110);
	expect_gpu(d, 1, across, 100, 200);
	expect_gpu(d, 2, inside, 120, 130);
	expect_gpu(d, 3, over_end, 190, 200);
	tw_derived_free(d);
	trawl_trace_free(trace);
}

static void test_several_windows(void **state)
{
	uint64_t in_first, into_gap, from_gap, over_both, in_second;
	struct trawl_trace *trace;
	struct tw_derived *d;

	begin();
	gpu_step(1, 100, 100); /* 100 to 200 */
	gpu_step(2, 300, 100); /* 300 to 400 */
	in_first = kernel(0, 110, 10);
	into_gap = kernel(0, 150, 100);
	over_both = kernel(0, 190, 160); /* 10 in the first, 50 in the second */
	kernel(0, 210, 50);		 /* in the gap */
	from_gap = kernel(0, 290, 20);
	in_second = kernel(0, 350, 10);
	trace = end();
	d = derived_of(trace, steps(1, 2));
	assert_int_equal(d->view.windows.count, 2);
	assert_int_equal(d->gpu.count, 5);
	expect_gpu(d, 0, in_first, 110, 120);
	expect_gpu(d, 1, into_gap, 150, 200);
	/* The clock of the view goes from 200 on with the second window. */
	expect_gpu(d, 2, over_both, 190, 250);
	expect_gpu(d, 3, from_gap, 200, 210);
	expect_gpu(d, 4, in_second, 250, 260);
	assert_string_equal(tw_view_label(&d->view), "steps 1-2, by time");
	tw_derived_free(d);

	d = derived_of(trace, steps(2, 2));
	assert_int_equal(d->gpu.count, 3);
	expect_gpu(d, 0, over_both, 300, 350);
	expect_gpu(d, 1, from_gap, 300, 310);
	expect_gpu(d, 2, in_second, 350, 360);
	assert_string_equal(tw_view_label(&d->view), "step 2, by time");
	tw_derived_free(d);
	trawl_trace_free(trace);
}

static void expect_windows(const struct trawl_trace *trace, struct tw_view_options o, size_t count,
			   const int (*windows)[2])
{
	struct tw_view view;
	size_t i;

	assert_int_equal(tw_view_init(&view, trace, &o, NULL), 0);
	assert_int_equal(view.windows.count, count);
	for (i = 0; i < count; i++) {
		assert_int_equal(view.windows.items[i].start_ns, (int64_t)windows[i][0] * 1000);
		assert_int_equal(view.windows.items[i].end_ns, (int64_t)windows[i][1] * 1000);
	}
	tw_view_release(&view);
}

static void test_annotations_of_the_gpu_before_those_of_the_host(void **state)
{
	struct trawl_trace *trace;

	begin();
	host_step(1, 0, 50);
	host_step(2, 50, 50);
	gpu_step(1, 100, 30);
	host_step(3, 100, 50);
	op(0, 150);
	trace = end();
	expect_windows(trace, steps(1, 1), 1, (const int[][2]){ { 100, 130 } });
	/* None of the GPU has this number: the host's. */
	expect_windows(trace, steps(2, 2), 1, (const int[][2]){ { 50, 100 } });
	trawl_trace_free(trace);

	begin();
	range("user_annotation", "forward", 10, 20);
	range("user_annotation", "forward", 50, 20);
	range("gpu_user_annotation", "forward", 90, 5);
	range("gpu_user_annotation", "forward", 80, 5);
	range("gpu_user_annotation", "backward", 85, 5);
	range("user_annotation", "loss", 95, 5);
	range("cpu_op", "aten::mm", 0, 5);
	trace = end();
	expect_windows(trace, annotation("forward"), 2, (const int[][2]){ { 80, 85 }, { 90, 95 } });
	expect_windows(trace, annotation("loss"), 1, (const int[][2]){ { 95, 100 } });
	expect_error(trace, annotation("aten::mm"),
		     "no annotation named 'aten::mm' in this trace; annotations: forward, "
		     "backward, loss");
	expect_error(trace, annotation("forwar"), "no annotation named 'forwar'");
	expect_error(trace, annotation(""), "no annotation named ''");
	trawl_trace_free(trace);
}

/* What was asked for is told whole, however long the name. */
static void test_label_of_a_long_name(void **state)
{
	char name[301], label[320];
	struct trawl_trace *trace;
	struct tw_derived *d;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	begin();
	range("user_annotation", name, 10, 20);
	op(0, 50);
	trace = end();
	d = derived_of(trace, annotation(name));
	snprintf(label, sizeof(label), "range '%s', by", name);
	assert_memory_equal(tw_view_label(&d->view), label, strlen(label));
	tw_derived_free(d);
	trawl_trace_free(trace);
}

static void test_overlapping_and_touching_windows_are_one(void **state)
{
	struct trawl_trace *trace;

	begin();
	range("gpu_user_annotation", "a", 50, 10);
	range("gpu_user_annotation", "a", 0, 10);
	range("gpu_user_annotation", "a", 10, 10); /* touches */
	range("gpu_user_annotation", "a", 15, 3);  /* inside */
	range("gpu_user_annotation", "a", 55, 10); /* overlaps */
	range("gpu_user_annotation", "a", 66, 1);
	trace = end();
	expect_windows(trace, annotation("a"), 3,
		       (const int[][2]){ { 0, 20 }, { 50, 65 }, { 66, 67 } });
	trawl_trace_free(trace);
}

static void test_steps(void **state)
{
	struct trawl_trace *trace;

	begin();
	range("user_annotation", "ProfilerStep#", 0, 10);
	range("user_annotation", "ProfilerStep#x", 0, 10);
	range("user_annotation", "ProfilerStep#9 ", 0, 10);
	range("user_annotation", "ProfilerStep#99999999999999999999", 0, 10);
	range("cpu_op", "ProfilerStep#8", 0, 10);
	host_step(3, 0, 10);
	host_step(5, 20, 10);
	host_step(4, 10, 10);
	host_step(7, 40, 10);
	trace = end();
	expect_windows(trace, steps(3, 3), 1, (const int[][2]){ { 0, 10 } });
	expect_windows(trace, steps(3, 5), 1, (const int[][2]){ { 0, 30 } });
	/* One is missing in between. */
	expect_windows(trace, steps(5, 7), 2, (const int[][2]){ { 20, 30 }, { 40, 50 } });
	expect_error(trace, steps(2, 2), "this trace has steps 3-5, 7");
	expect_error(trace, steps(0, 0), "this trace has steps 3-5, 7");
	expect_error(trace, steps(6, 6), "no such step");
	expect_error(trace, steps(8, 8), "no such step");
	expect_error(trace, steps(2, 4), "no such step");
	expect_error(trace, steps(5, 8), "no such step");
	trawl_trace_free(trace);

	begin();
	range("user_annotation", "ProfilerStep#", 0, 10);
	op(0, 10);
	trace = end();
	expect_error(trace, steps(0, 0), "no profiler steps");
	trawl_trace_free(trace);
}

/* A range on the GPU of a tenth of the host's counts, a shorter one does not. */
static void test_a_range_on_the_gpu_that_covers_next_to_nothing(void **state)
{
	struct trawl_trace *trace;

	EDGE_OF(TW_LIMIT_GPU_RANGE_SHARE);
	begin();
	host_step(1, 0, 1000);
	gpu_step(1, 500, 100);
	host_step(2, 2000, 1000);
	gpu_step(2, 2500, 99);
	trace = end();
	expect_windows(trace, steps(1, 1), 1, (const int[][2]){ { 500, 600 } });
	expect_windows(trace, steps(2, 2), 1, (const int[][2]){ { 2000, 3000 } });
	trawl_trace_free(trace);
}

static void test_times(void **state)
{
	struct tw_view_options from = TW_VIEW_OPTIONS_INIT, to = TW_VIEW_OPTIONS_INIT, both;
	struct trawl_trace *trace;
	struct tw_derived *d;
	uint64_t a, b;

	begin();
	a = kernel(0, 100, 50);
	b = kernel(0, 200, 50);
	trace = end();
	from.start_ns = 120000;
	d = derived_of(trace, from);
	assert_int_equal(d->gpu.count, 2);
	expect_gpu(d, 0, a, 120, 150);
	expect_gpu(d, 1, b, 200, 250);
	tw_derived_free(d);
	to.end_ns = 120000;
	d = derived_of(trace, to);
	assert_int_equal(d->gpu.count, 1);
	expect_gpu(d, 0, a, 100, 120);
	tw_derived_free(d);
	/* In view, but nothing runs. */
	d = derived_of(trace, times(160, 180));
	assert_int_equal(d->gpu.count, 0);
	tw_derived_free(d);
	expect_error(trace, times(200, 200), "--start must be before --end");
	expect_error(trace, times(200, 100), "--start must be before --end");
	expect_error(trace, times(250, 300), "100000 to 250000 ns");
	expect_error(trace, times(0, 100), "no events in that time");
	both = times(0, 1000);
	d = derived_of(trace, both);
	assert_int_equal(d->view.windows.count, 1);
	assert_int_equal(d->view.windows.items[0].start_ns, 100000);
	assert_int_equal(d->view.windows.items[0].end_ns, 250000);
	tw_derived_free(d);
	trawl_trace_free(trace);
}

static void test_times_narrow_windows(void **state)
{
	struct tw_view_options o = steps(1, 3);
	struct trawl_trace *trace;

	begin();
	gpu_step(1, 0, 10);
	gpu_step(2, 20, 10);
	gpu_step(3, 40, 10);
	trace = end();
	o.start_ns = 5000;
	expect_windows(trace, o, 3, (const int[][2]){ { 5, 10 }, { 20, 30 }, { 40, 50 } });
	o.end_ns = 25000;
	expect_windows(trace, o, 2, (const int[][2]){ { 5, 10 }, { 20, 25 } });
	o.start_ns = 10000;
	o.end_ns = 20000;
	expect_windows(trace, o, 0, NULL);
	trawl_trace_free(trace);
}

static void test_device(void **state)
{
	struct tw_view_options o = TW_VIEW_OPTIONS_INIT;
	struct trawl_trace *trace;
	struct tw_derived *d;
	uint64_t a, b;

	begin();
	kernel(0, 0, 10);
	a = kernel(10, 5, 10);
	b = kernel(10, 25, 10);
	kernel(1, 30, 10);
	op(0, 10);
	trace = end();
	o.device = "10";
	d = derived_of(trace, o);
	assert_false(d->view.limited);
	assert_string_equal(tw_view_label(&d->view), "device 10");
	assert_int_equal(d->gpu.count, 2);
	expect_gpu(d, 0, a, 5, 15);
	expect_gpu(d, 1, b, 25, 35);
	tw_derived_free(d);
	o.start_ns = 10000;
	o.end_ns = 30000;
	d = derived_of(trace, o);
	assert_int_equal(d->gpu.count, 2);
	expect_gpu(d, 0, a, 10, 15);
	expect_gpu(d, 1, b, 25, 30);
	tw_derived_free(d);
	o = whole;
	o.device = "2";
	expect_error(trace, o, "no GPU event of device 2: this trace has devices 0, 1, 10");
	o.device = "";
	expect_error(trace, o, "device");
	o.device = "1x";
	expect_error(trace, o, "device 1x");
	trawl_trace_free(trace);
}

/* Launches without GPU event are told of whole traces only: in a part it may lie outside. */
static void test_barren_launches_of_a_part(void **state)
{
	struct tw_view_options o = TW_VIEW_OPTIONS_INIT;
	struct trawl_trace *trace;
	struct tw_derived *d;

	begin();
	range("cuda_runtime", "cudaLaunchKernel", 0, 5);
	kernel(0, 10, 10);
	trace = end();
	d = derived_of(trace, whole);
	assert_int_equal(d->quality.kinds[TW_DEFECT_launch_without_kernel].count, 1);
	tw_derived_free(d);
	d = derived_of(trace, times(0, 15));
	assert_int_equal(d->quality.kinds[TW_DEFECT_launch_without_kernel].count, 0);
	tw_derived_free(d);
	o.device = "0";
	d = derived_of(trace, o);
	assert_int_equal(d->quality.kinds[TW_DEFECT_launch_without_kernel].count, 0);
	tw_derived_free(d);
	trawl_trace_free(trace);
}

/* ---- clipping, against a slow picture: one nanosecond at a time */

static uint64_t random_state;

static int random_below(int n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (int)((random_state >> 33) % (unsigned)n);
}

static bool is_inside(const struct tw_intervals *windows, int64_t t)
{
	size_t i;

	for (i = 0; i < windows->count; i++)
		if (t >= windows->items[i].start_ns && t < windows->items[i].end_ns)
			return true;
	return false;
}

/*
 * The moments of [start, end) that are in windows, counted on a clock that stands still outside
 * them; false when there are none.  Their first and last, as told by the clock of the trace.
 */
static bool slow_clip(const struct tw_intervals *windows, int64_t *start, int64_t *stop,
		      int64_t *real_start, int64_t *real_stop)
{
	int64_t clock = windows->count ? windows->items[0].start_ns : 0, first = 0, count = 0, t;

	for (t = clock; t < *stop; t++) {
		if (!is_inside(windows, t))
			continue;
		if (t >= *start) {
			if (!count++) {
				first = clock;
				*real_start = t;
			}
			*real_stop = t + 1;
		}
		clock++;
	}
	*start = first;
	*stop = first + count;
	return count > 0;
}

static void test_clip_random(void **state)
{
	unsigned round;

	random_state = 11;
	for (round = 0; round < 3000; round++) {
		struct tw_view view = { .limited = true };
		int at = 0, n = random_below(6), i;

		tw_intervals_init(&view.windows, trawl_allocator_default());
		for (i = 0; i < n; i++) {
			at += 1 + random_below(12);
			tw_intervals_add(&view.windows, at, at + random_below(12));
			at = (int)view.windows.items[view.windows.count - 1].end_ns;
		}
		assert_int_equal(tw_view_settle(&view), 0);
		for (i = 0; i < 30; i++) {
			int64_t start = random_below(100), stop = start + 1 + random_below(60);
			int64_t slow_start = start, slow_stop = stop, real_start = 0, real_stop = 0;
			bool slow = slow_clip(&view.windows, &slow_start, &slow_stop, &real_start,
					      &real_stop);

			assert_int_equal(tw_view_clip(&view, &start, &stop), slow);
			if (!slow)
				continue;
			assert_int_equal(start, slow_start);
			assert_int_equal(stop, slow_stop);
			assert_int_equal(tw_view_real_start(&view, start), real_start);
			assert_int_equal(tw_view_real_end(&view, start, stop), real_stop);
		}
		tw_view_release(&view);
	}
}

/* ---- total time of a report */

static struct trawl_report_options report_options(struct tw_view_options view)
{
	struct trawl_report_options options;

	trawl_report_options_init(&options);
	options.threads = 1;
	options.range = view.range;
	options.step_first = view.step_first;
	options.step_last = view.step_last;
	options.start_ns = view.start_ns;
	options.end_ns = view.end_ns;
	options.device = view.device;
	options.by_time = view.by_time;
	return options;
}

/* The time in nanoseconds of a row of gpu_timeline. */
static int64_t timeline(const struct trawl_trace *trace, struct tw_view_options view,
			const char *type)
{
	const struct trawl_report_options options = report_options(view);
	const struct trawl_table *table;
	struct trawl_report *report;
	int64_t ns = -1;
	size_t row;

	assert_int_equal(trawl_report_new(&report, trace, &options, NULL), 0);
	table = trawl_report_find(report, "gpu_timeline");
	assert_non_null(table);
	for (row = 0; row < trawl_table_rows(table); row++) {
		struct trawl_cell name = trawl_table_cell(table, row, 0);

		if (name.text_len == strlen(type) && !memcmp(name.text, type, name.text_len))
			ns = trawl_table_cell(table, row, 1).integer;
	}
	trawl_report_free(report);
	return ns;
}

static void test_total_time(void **state)
{
	struct tw_view_options from = TW_VIEW_OPTIONS_INIT, to = TW_VIEW_OPTIONS_INIT;
	struct tw_view_options device = TW_VIEW_OPTIONS_INIT;
	struct trawl_trace *trace;

	begin();
	op(0, 1000);
	gpu_step(1, 100, 100);
	gpu_step(3, 300, 50);
	kernel(0, 110, 20);
	kernel(0, 310, 10);
	kernel(1, 400, 30);
	trace = end();
	/* Without windows from the first start to the last end. */
	assert_int_equal(timeline(trace, whole, "total_time"), (430 - 110) * 1000);
	assert_int_equal(timeline(trace, whole, "idle_time"), (430 - 110 - 60) * 1000);
	/* Windows count whole, their edges are idle. */
	assert_int_equal(timeline(trace, steps(1, 1), "total_time"), 100 * 1000);
	assert_int_equal(timeline(trace, steps(1, 1), "idle_time"), 80 * 1000);
	assert_int_equal(timeline(trace, steps(1, 3), "total_time"), 150 * 1000);
	assert_int_equal(timeline(trace, steps(1, 3), "busy_time"), 30 * 1000);
	assert_int_equal(timeline(trace, times(50, 320), "total_time"), 270 * 1000);
	/* An open end is at the first start or the last end of what is in view. */
	from.start_ns = 120 * 1000;
	assert_int_equal(timeline(trace, from, "total_time"), (430 - 120) * 1000);
	assert_int_equal(timeline(trace, from, "busy_time"), 50 * 1000);
	to.end_ns = 315 * 1000;
	assert_int_equal(timeline(trace, to, "total_time"), (315 - 110) * 1000);
	assert_int_equal(timeline(trace, to, "busy_time"), 25 * 1000);
	device.device = "0";
	assert_int_equal(timeline(trace, device, "total_time"), (320 - 110) * 1000);
	device.device = "1";
	assert_int_equal(timeline(trace, device, "total_time"), 30 * 1000);
	assert_int_equal(timeline(trace, device, "idle_time"), 0);
	trawl_trace_free(trace);
}

/* The time of a kernel in every window counts, and it is one kernel. */
static void test_kernel_over_several_windows(void **state)
{
	struct tw_view_options o = steps(1, 3);
	struct trawl_report_options options;
	const struct trawl_table *table;
	struct trawl_report *report;
	struct trawl_trace *trace;

	begin();
	gpu_step(1, 100, 100);
	gpu_step(2, 300, 100);
	gpu_step(3, 500, 100);
	kernel(0, 150, 400); /* 50 in the first, 100 in the second, 50 in the third */
	trace = end();
	assert_int_equal(timeline(trace, o, "busy_time"), 200 * 1000);
	assert_int_equal(timeline(trace, o, "computation_time"), 200 * 1000);
	assert_int_equal(timeline(trace, o, "idle_time"), 100 * 1000);
	assert_int_equal(timeline(trace, o, "total_time"), 300 * 1000);

	trawl_report_options_init(&options);
	options.by_time = true;
	options.step_first = 1;
	options.step_last = 3;
	/* The gap before it and the one behind it, 50 each: in windows of their own. */
	options.micro_idle_ns = 60 * 1000;
	assert_int_equal(trawl_report_new(&report, trace, &options, NULL), 0);
	table = trawl_report_find(report, "kernel_summary");
	assert_non_null(table);
	assert_int_equal(trawl_table_rows(table), 1);
	assert_int_equal(trawl_table_cell(table, 0, 4).integer, 200 * 1000); /* sum */
	assert_int_equal(trawl_table_cell(table, 0, 5).integer, 1);	     /* count */
	table = trawl_report_find(report, "streams");
	assert_non_null(table);
	assert_int_equal(tw_table_cell(table, 0, "busy (ms)").integer, 200 * 1000);
	assert_int_equal(tw_table_cell(table, 0, "first start (µs)").integer, 150 * 1000);
	assert_int_equal(tw_table_cell(table, 0, "last end (µs)").integer, 550 * 1000);
	table = trawl_report_find(report, "reconciliation");
	assert_non_null(table);
	assert_int_equal(trawl_table_cell(table, 3, 1).integer, 200 * 1000); /* unlinked */
	assert_int_equal(trawl_table_cell(table, 5, 1).integer, 200 * 1000); /* busy */
	assert_int_equal(trawl_table_cell(table, 8, 1).integer, 0);	     /* difference */
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* Idle at the end of a window and at the start of the next are two gaps. */
static void test_gaps_end_with_their_window(void **state)
{
	struct trawl_report_options options;
	const struct trawl_table *table;
	struct trawl_report *report;
	struct trawl_trace *trace;

	begin();
	gpu_step(1, 0, 100);
	gpu_step(2, 200, 100);
	gpu_step(3, 400, 50);
	kernel(0, 0, 70);   /* 30 idle behind it */
	kernel(0, 240, 60); /* 40 idle before it; the third is idle for 50 */
	trace = end();
	trawl_report_options_init(&options);
	options.by_time = true;
	options.step_first = 1;
	options.step_last = 3;
	options.micro_idle_ns = 45 * 1000;
	assert_int_equal(trawl_report_new(&report, trace, &options, NULL), 0);
	table = trawl_report_find(report, "gpu_timeline");
	assert_non_null(table);
	assert_int_equal(trawl_table_cell(table, 4, 1).integer, 70 * 1000); /* micro idle */
	assert_int_equal(trawl_table_cell(table, 5, 1).integer, 50 * 1000); /* macro idle */
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* A GPU that does nothing all the time is idle, which is not the same as no GPU. */
static void test_view_of_an_idle_gpu(void **state)
{
	struct tw_view_options from = TW_VIEW_OPTIONS_INIT, part = times(160, 180);
	struct trawl_trace *trace;

	begin();
	kernel(0, 100, 50);
	kernel(1, 200, 50);
	op(0, 400);
	host_step(1, 155, 20);
	trace = end();
	assert_int_equal(timeline(trace, part, "busy_time"), 0);
	assert_int_equal(timeline(trace, part, "idle_time"), 20 * 1000);
	assert_int_equal(timeline(trace, part, "total_time"), 20 * 1000);
	assert_int_equal(timeline(trace, steps(1, 1), "idle_time"), 20 * 1000);
	/* Device 0 is idle while device 1 is not. */
	part = times(210, 220);
	assert_int_equal(timeline(trace, part, "busy_time"), 10 * 1000);
	{
		const struct trawl_report_options options = report_options(part);
		struct trawl_report *report;

		assert_int_equal(trawl_report_new(&report, trace, &options, NULL), 0);
		assert_int_equal(rows_of(report, "gpu_timeline_by_device"), 16);
		assert_string_equal(cell_at(report, "gpu_timeline_by_device", 0, "device"), "0");
		assert_string_equal(cell_at(report, "gpu_timeline_by_device", 4, "type"),
				    "idle_time");
		assert_string_equal(cell_at(report, "gpu_timeline_by_device", 4, "time ms"),
				    "0.01");
		assert_string_equal(cell_at(report, "gpu_timeline_by_device", 11, "time ms"),
				    "0.01");
		trawl_report_free(report);
	}
	part.device = "0";
	assert_int_equal(timeline(trace, part, "busy_time"), 0);
	assert_int_equal(timeline(trace, part, "idle_time"), 10 * 1000);
	/* To the end of what was recorded, since there is no last GPU event. */
	from.start_ns = 300 * 1000;
	assert_int_equal(timeline(trace, from, "total_time"), 100 * 1000);
	assert_int_equal(timeline(trace, from, "idle_time"), 100 * 1000);
	trawl_trace_free(trace);

	/* Without any GPU work in the trace nothing is known of it. */
	begin();
	op(0, 400);
	host_step(1, 155, 20);
	trace = end();
	{
		struct trawl_report_options options;
		struct trawl_report *report;

		trawl_report_options_init(&options);
		options.step_first = options.step_last = 1;
		assert_int_equal(trawl_report_new(&report, trace, &options, NULL), 0);
		assert_null(trawl_report_find(report, "gpu_timeline"));
		trawl_report_free(report);
	}
	trawl_trace_free(trace);
}

/* Steps 1 and 3: an error about 2 must not say "1 to 3". */
static void test_error_names_the_steps_there_are(void **state)
{
	struct trawl_trace *trace;
	int i;

	begin();
	gpu_step(3, 20, 10);
	host_step(1, 0, 10);
	host_step(3, 15, 10);
	trace = end();
	expect_error(trace, steps(2, 2), "no such step: this trace has steps 1, 3");
	trawl_trace_free(trace);

	begin();
	host_step(4, 0, 10);
	trace = end();
	expect_error(trace, steps(2, 2), "no such step: this trace has step 4");
	trawl_trace_free(trace);

	/* Many: some, and how many there are. */
	begin();
	for (i = 0; i < 40; i++) {
		char name[100];

		host_step(2 * i, 10 * i, 5);
		snprintf(name, sizeof(name), "range%d%070d", i, 0);
		range("user_annotation", name, 10 * i, 5);
		kernel(i, 10 * i, 5);
	}
	trace = end();
	expect_error(trace, steps(1, 1),
		     "has steps 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, ... "
		     "(40 in total)");
	expect_error(trace, annotation("x"), "(80 in total)");
	{
		struct tw_view_options o = whole;

		o.device = "40";
		expect_error(trace, o, "devices 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...");
	}
	trawl_trace_free(trace);
}

/* What runs on a stream and is of no known category is in no table: that is said. */
static void test_unknown_category_on_a_stream(void **state)
{
	const struct tw_derive_options options = { .view = TW_VIEW_OPTIONS_INIT };
	struct trawl_trace *trace;
	struct tw_derived *d;
	uint64_t first;

	begin();
	add("{'ph':'X','cat':'kernel','name':'k','pid':0,'tid':7,'ts':1,'dur':5,"
	    "'args':{'device':0,'stream':7}}");
	add("{'ph':'X','cat':'whatever','name':'h','pid':31,'tid':31,'ts':1,'dur':5}");
	add("{'ph':'X','cat':'cuda_sync','name':'w','pid':0,'tid':7,'ts':1,'dur':5,"
	    "'args':{'stream':7}}");
	add("{'ph':'X','cat':'Trace','name':'t','pid':0,'tid':7,'ts':1,'dur':5}");
	first = add("{'ph':'X','cat':'gpu_op','name':'o','pid':0,'tid':7,'ts':10,'dur':5}");
	add("{'ph':'X','cat':'gpu_op','name':'o','pid':9,'tid':9,'ts':10,'dur':5,"
	    "'args':{'stream':8}}");
	trace = end();
	assert_int_equal(tw_derive(&d, trace, &options, NULL), 0);
	assert_int_equal(d->gpu.count, 1);
	assert_int_equal(d->quality.kinds[TW_DEFECT_unknown_gpu_category].count, 2);
	assert_int_equal(d->quality.kinds[TW_DEFECT_unknown_gpu_category].event, first);
	tw_derived_free(d);
	trawl_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_trace),
		cmocka_unit_test(test_clipping_at_the_edges),
		cmocka_unit_test(test_several_windows),
		cmocka_unit_test(test_annotations_of_the_gpu_before_those_of_the_host),
		cmocka_unit_test(test_label_of_a_long_name),
		cmocka_unit_test(test_overlapping_and_touching_windows_are_one),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_a_range_on_the_gpu_that_covers_next_to_nothing),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_times_narrow_windows),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_barren_launches_of_a_part),
		cmocka_unit_test(test_clip_random),
		cmocka_unit_test(test_total_time),
		cmocka_unit_test(test_unknown_category_on_a_stream),
		cmocka_unit_test(test_error_names_the_steps_there_are),
		cmocka_unit_test(test_kernel_over_several_windows),
		cmocka_unit_test(test_gaps_end_with_their_window),
		cmocka_unit_test(test_view_of_an_idle_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
