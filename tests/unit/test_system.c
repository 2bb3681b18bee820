/*
 * The system analyses: causes of idle time, callers of copies, exposed time, severities at every
 * boundary of their tables, and data that are missing or broken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/launches/overlap.h"
#include "analysis/launches/host_names.h"
#include "base/hash.h"
#include "edges.h"
#include "failing.h"
#include "scratch.h"
#include "standalone/system/idle_gaps.h"
#include "standalone/standalone.h"
#include "traces.h"

static struct script script;

static void python(const char *name, int64_t start_ns, int64_t dur_ns)
{
	script_slice(&script, "python_function", name, 1, 1, start_ns, dur_ns, NULL);
}

static void annotation(const char *name, int64_t start_ns, int64_t dur_ns)
{
	script_slice(&script, "user_annotation", name, 1, 1, start_ns, dur_ns, NULL);
}

/* ---- names */

static void names_of_the_host(void **state)
{
	static const struct {
		const char *name;
		unsigned kinds;
	} names[] = {
		{ "cudaDeviceSynchronize", TW_HOST_SYNCHRONISING | TW_HOST_WAITS_FOR_DEVICE },
		{ "hipMemcpyWithStream",
		  TW_HOST_SYNCHRONISING | TW_HOST_BLOCKING_COPY | TW_HOST_LAUNCH },
		{ "cudaMemcpy", TW_HOST_SYNCHRONISING | TW_HOST_BLOCKING_COPY | TW_HOST_LAUNCH },
		{ "cudaMemcpyAsync", TW_HOST_LAUNCH },
		{ "aten::item", TW_HOST_SYNCHRONISING },
		{ "cudaFree",
		  TW_HOST_SYNCHRONISING | TW_HOST_WAITS_FOR_DEVICE | TW_HOST_ALLOCATION },
		{ "cudaEventRecordWithFlags", TW_HOST_EVENT_RECORD },
		{ "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
		  TW_HOST_DATA_LOADING | TW_HOST_CONTAINER | TW_HOST_WORKER_LOADING },
		{ "urQueueFinish", TW_HOST_SYNCHRONISING | TW_HOST_WAITS_FOR_STREAM },
		{ "zeEventHostSynchronize", TW_HOST_SYNCHRONISING | TW_HOST_WAITS_FOR_STREAM },
		{ "musaStreamSynchronize_ptsz", TW_HOST_SYNCHRONISING | TW_HOST_WAITS_FOR_STREAM },
		{ "aclrtSynchronizeStreamWithTimeout",
		  TW_HOST_SYNCHRONISING | TW_HOST_WAITS_FOR_STREAM },
		{ "synDeviceSynchronize", TW_HOST_SYNCHRONISING | TW_HOST_WAITS_FOR_DEVICE },
		{ "synchronizeStream", TW_HOST_SYNCHRONISING | TW_HOST_WAITS_FOR_STREAM },
		{ "urQueueFlush", 0 },
		{ "musaMemcpyAsync", TW_HOST_LAUNCH },
		{ "cudaMemcpyPeerAsync", TW_HOST_LAUNCH | TW_HOST_PEER_COPY },
		{ "nccl:all_reduce", TW_HOST_COMMUNICATION | TW_HOST_FRAMEWORK_RANGE },
		{ "symm_mem::_async_input_mm", TW_HOST_COMMUNICATION | TW_HOST_ORDINARY },
		{ "hipGraphLaunch", TW_HOST_GRAPH_LAUNCH | TW_HOST_LAUNCH },
		{ "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
		  TW_HOST_DATA_LOADING | TW_HOST_CONTAINER },
		{ "Optimizer.step#SGD.step", TW_HOST_CONTAINER | TW_HOST_OPTIMIZER_STEP },
		{ "train.py(12): step", TW_HOST_PYTHON_CODE },
		{ "torch/nn/modules/module.py(1): _call_impl",
		  TW_HOST_PYTHON_CODE | TW_HOST_PYTHON_INTERNAL },
		{ "<built-in method item of Tensor object at 0x7f>", 0 },
		{ "aten::mm", 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(tw_host_kinds_of(names[i].name, strlen(names[i].name)),
				 names[i].kinds);
}

static void directions_of_copies(void **state)
{
	static const struct {
		const char *name;
		enum tw_copy_direction direction;
	} names[] = {
		{ "Memcpy DtoH (Device -> Pinned)", TW_COPY_D2H },
		{ "Memcpy HtoD (Pageable -> Device)", TW_COPY_H2D },
		{ "Memcpy DtoD (Device -> Device)", TW_COPY_D2D },
		{ "Memcpy PtoP (Device -> Device)", TW_COPY_D2D },
		{ "MEMORY_COPY_DEVICE_TO_HOST", TW_COPY_D2H },
		{ "MEMORY_COPY_HOST_TO_DEVICE", TW_COPY_H2D },
		{ "CopyDeviceToDevice", TW_COPY_D2D },
		{ "__amd_rocclr_copyBuffer", TW_COPY_OTHER },
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(tw_copy_direction(names[i].name, strlen(names[i].name)),
				 names[i].direction);
}

/* Names without a direction, which the arguments have. */
static void directions_in_arguments(void **state)
{
	static const struct {
		const char *args;
		enum tw_copy_direction direction;
	} copies[] = {
		{ "\"copy kind\":\"DtoH\",\"src kind\":\"device\",\"dst kind\":\"pinned\"",
		  TW_COPY_D2H },
		{ "\"copy kind\":\"HtoD\"", TW_COPY_H2D },
		{ "\"copy kind\":\"PtoP\"", TW_COPY_D2D },
		{ "\"copy kind\":\"AtoH\"", TW_COPY_D2H },
		{ "\"copy kind\":\"HtoH\"", TW_COPY_OTHER },
		{ "\"kind\":\"DtoD\"", TW_COPY_D2D },
		{ "\"kind\":\"HostToDevice\"", TW_COPY_H2D },
		/* A kind that the exporter had no name for. */
		{ "\"copy kind\":0,\"src kind\":\"pageable\",\"dst kind\":\"device\"",
		  TW_COPY_H2D },
		{ "\"src kind\":\"device_static\",\"dst kind\":\"pageable\"", TW_COPY_D2H },
		{ "\"src kind\":\"managed\",\"dst kind\":\"device\"", TW_COPY_OTHER },
		{ "\"src kind\":\"Device\",\"dst kind\":\"Pageable\"", TW_COPY_D2H },
		{ "\"src kind\":\"device\",\"dst kind\":\"device\"", TW_COPY_D2D },
		{ "\"copy kind\":\"DTOH\"", TW_COPY_D2H },
		{ "\"bytes\":4", TW_COPY_OTHER },
		/* What is not a text says nothing. */
		{ "\"copy kind\":[\"HtoD\"]", TW_COPY_OTHER },
	};
	enum { N = sizeof(copies) / sizeof(copies[0]) };
	struct trawl_trace *trace;
	struct tw_derived *d;
	uint8_t directions[N];
	int i;

	script_begin(&script);
	for (i = 0; i < N; i++)
		script_slice(&script, "gpu_memcpy", "Memcpy", 0, 7, 1000 * i, 10, copies[i].args);
	trace = script_read(&script);
	d = derive(trace, NULL);
	assert_int_equal(d->gpu.count, N);
	tw_copy_directions(d, directions);
	for (i = 0; i < N; i++)
		assert_int_equal(directions[i], copies[i].direction);
	tw_derived_free(d);
	trawl_trace_free(trace);
}

static void paths_are_not_told(void **state)
{
	static const char *const names[][2] = {
		{ "train.py(12): step", "train.py(12): step" },
		{ "torch/nn/modules/linear.py(5): forward",
		  "torch/nn/modules/linear.py(5): forward" },
		{ "/home/someone/work/train.py(12): step", "train.py(12): step" },
		{ "../../someone/train.py(1): a/b", "train.py(1): a/b" },
		{ "C:\\Users\\someone\\train.py(1): f", "train.py(1): f" },
		{ "/usr/lib/python3/dist-packages/torch/x.py(7): g", "torch/x.py(7): g" },
		{ "/opt/v/site-packages/a/site-packages/b.py(7): g", "b.py(7): g" },
		{ "/x", "x" },
		{ "", "" },
	};
	struct tw_str text;
	size_t i;

	tw_str_init(&text, trawl_allocator_default());
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		tw_str_clear(&text);
		tw_python_name(&text, names[i][0]);
		assert_string_equal(text.len ? text.ptr : "", names[i][1]);
	}
	tw_str_release(&text);
}

/* ---- causes of idle time */

/* The cause of the only gap between two kernels of 1000 ns that begin at 0 and at `next`. */
static enum tw_idle_cause cause(int64_t next_ns)
{
	struct trawl_trace *trace;
	struct trawl_report *report;
	struct tw_idle_gaps gaps;
	enum tw_idle_cause found;

	script_call(&script, "cudaLaunchKernel", -500, 100, 1);
	script_kernel(&script, "first", 7, 0, 1000, 1);
	script_kernel(&script, "next", 7, next_ns, 1000, 2);
	trace = script_read(&script);
	report = report_of(trace, NULL);
	assert_int_equal(tw_idle_gaps_init(&gaps, tw_report_input(report)), 0);
	assert_int_equal(gaps.count, 1);
	assert_int_equal(gaps.items[0].start_ns, 1000);
	assert_int_equal(gaps.items[0].dur_ns, next_ns - 1000);
	assert_int_equal(gaps.sums[gaps.items[0].cause].total_ns, next_ns - 1000);
	found = gaps.items[0].cause;
	tw_idle_gaps_release(&gaps);
	trawl_report_free(report);
	trawl_trace_free(trace);
	return found;
}

/* The next work's call: start and length. */
static void calls(const char *name, int64_t start_ns, int64_t dur_ns)
{
	script_begin(&script);
	script_call(&script, name, start_ns, dur_ns, 2);
}

static void launches_that_come_late(void **state)
{
	calls("cudaLaunchKernel", 5000, 100);
	assert_int_equal(cause(10000), TW_IDLE_LAUNCH_BOUND);
	/* Under way when the gap begins; then just over. */
	calls("cudaLaunchKernel", 900, 101);
	assert_int_equal(cause(10000), TW_IDLE_LAUNCH_BOUND);
	calls("cudaLaunchKernel", 900, 100);
	assert_int_equal(cause(10000), TW_IDLE_QUEUED);
	script_begin(&script);
	assert_int_equal(cause(10000), TW_IDLE_UNKNOWN);
}

/* 100 us from the end of the call to the start: at equality it still counts as the call's. */
static void work_that_starts_late(void **state)
{
	calls("cudaLaunchKernel", 2000, 1000);
	assert_int_equal(cause(103000), TW_IDLE_LAUNCH_BOUND);
	calls("cudaLaunchKernel", 2000, 1000);
	assert_int_equal(cause(103001), TW_IDLE_QUEUED);
	/* The host's part is the longer one. */
	calls("cudaLaunchKernel", 150000, 1000);
	assert_int_equal(cause(251000), TW_IDLE_LAUNCH_BOUND);
}

static void waits_for_the_gpu(void **state)
{
	calls("cudaLaunchKernel", 5000, 100);
	script_slice(&script, "cuda_runtime", "cudaStreamSynchronize", 1, 1, 500, 501, NULL);
	assert_int_equal(cause(10000), TW_IDLE_SYNCHRONISATION);
	/* Over when the gap begins; begun later; in another thread. */
	calls("cudaLaunchKernel", 5000, 100);
	script_slice(&script, "cuda_runtime", "cudaStreamSynchronize", 1, 1, 500, 500, NULL);
	assert_int_equal(cause(10000), TW_IDLE_LAUNCH_BOUND);
	calls("cudaLaunchKernel", 5000, 100);
	script_slice(&script, "cuda_runtime", "cudaStreamSynchronize", 1, 1, 1001, 500, NULL);
	assert_int_equal(cause(10000), TW_IDLE_LAUNCH_BOUND);
	calls("cudaLaunchKernel", 5000, 100);
	script_slice(&script, "cuda_runtime", "cudaStreamSynchronize", 1, 2, 500, 2000, NULL);
	assert_int_equal(cause(10000), TW_IDLE_LAUNCH_BOUND);
	calls("cudaLaunchKernel", 5000, 100);
	script_op(&script, "aten::item", 200, 2000);
	assert_int_equal(cause(10000), TW_IDLE_SYNCHRONISATION);
}

static void waits_for_data(void **state)
{
	static const char loader[] = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";

	/* More than half of the 4000 ns until the call, exactly half, half with a wait. */
	calls("cudaLaunchKernel", 5000, 100);
	annotation(loader, 2000, 2001);
	assert_int_equal(cause(10000), TW_IDLE_DATA_WAIT);
	calls("cudaLaunchKernel", 5000, 100);
	annotation(loader, 2000, 2000);
	assert_int_equal(cause(10000), TW_IDLE_LAUNCH_BOUND);
	calls("cudaLaunchKernel", 5000, 100);
	annotation(loader, 0, 4000);
	script_slice(&script, "cuda_runtime", "cudaStreamSynchronize", 1, 1, 500, 501, NULL);
	assert_int_equal(cause(10000), TW_IDLE_DATA_WAIT);
	/* Two ranges inside one another are not counted twice. */
	calls("cudaLaunchKernel", 5000, 100);
	annotation(loader, 2000, 1500);
	annotation(loader, 2000, 1500);
	assert_int_equal(cause(10000), TW_IDLE_LAUNCH_BOUND);
}

static void graphs(void **state)
{
	calls("cudaGraphLaunch", 900, 3000);
	assert_int_equal(cause(10000), TW_IDLE_GRAPH_GAP);
	calls("cudaGraphLaunch", 1000, 10);
	assert_int_equal(cause(10000), TW_IDLE_GRAPH_GAP);
	calls("cudaGraphLaunch", 1001, 10);
	assert_int_equal(cause(10000), TW_IDLE_LAUNCH_BOUND);
}

/* Copies around gaps: kinds of the gaps in order. */
static void copies_around_gaps(void **state)
{
	static const enum tw_idle_cause expected[] = {
		TW_IDLE_DATA_WAIT,	 /* before a copy to the device */
		TW_IDLE_DATA_WAIT,	 /* behind one whose call was held */
		TW_IDLE_LAUNCH_BOUND,	 /* before one from the device */
		TW_IDLE_SYNCHRONISATION, /* behind one whose call was held */
		TW_IDLE_DATA_WAIT,	 /* before a copy to the device */
		TW_IDLE_LAUNCH_BOUND,	 /* behind one that held nobody */
	};
	struct trawl_report *report;
	struct trawl_trace *trace;
	struct tw_idle_gaps gaps;
	size_t i;

	script_begin(&script);
	script_call(&script, "cudaLaunchKernel", 0, 10, 1);
	script_kernel(&script, "k1", 7, 100, 100, 1);
	script_call(&script, "cudaMemcpyAsync", 400, 250, 2);
	script_copy(&script, "Memcpy HtoD (Pageable -> Device)", 7, 500, 100, 2);
	script_call(&script, "cudaLaunchKernel", 900, 10, 3);
	script_kernel(&script, "k2", 7, 1000, 100, 3);
	script_call(&script, "cudaMemcpyAsync", 1400, 250, 4);
	script_copy(&script, "Memcpy DtoH (Device -> Pageable)", 7, 1500, 100, 4);
	script_call(&script, "cudaLaunchKernel", 1900, 10, 5);
	script_kernel(&script, "k3", 7, 2000, 100, 5);
	script_call(&script, "cudaMemcpyAsync", 2400, 10, 6);
	script_copy(&script, "Memcpy HtoD (Pinned -> Device)", 7, 2500, 100, 6);
	script_call(&script, "cudaLaunchKernel", 2900, 10, 7);
	script_kernel(&script, "k4", 7, 3000, 100, 7);
	trace = script_read(&script);
	report = report_of(trace, NULL);
	assert_int_equal(tw_idle_gaps_init(&gaps, tw_report_input(report)), 0);
	assert_int_equal(gaps.count, 6);
	for (i = 0; i < gaps.count; i++)
		assert_int_equal(gaps.items[i].cause, expected[i]);
	tw_idle_gaps_release(&gaps);
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/*
 * The operation that runs for more than half of the gap of `dur_ns` from 1000 on; "" when there is
 * none.  Around it there are shorter and longer gaps, in which others run.
 */
static void runs_in_gap(int64_t dur_ns, const char *expected)
{
	static const int64_t others[] = { -3000, -1000, 30000, 40000, 70000 };
	struct tw_gap_host hosts[2] = { 0 };
	struct trawl_trace *trace;
	struct trawl_report *report;
	struct tw_idle_gaps gaps;
	size_t i;

	for (i = 0; i < 5; i++)
		script_kernel(&script, "k", 7, others[i], 500, 0);
	script_call(&script, "cudaLaunchKernel", -500, 1, 1);
	script_kernel(&script, "first", 7, 0, 1000, 1);
	script_call(&script, "cudaLaunchKernel", -400, 1, 2);
	script_kernel(&script, "next", 7, 1000 + dur_ns, 1000, 2);
	trace = script_read(&script);
	report = report_of(trace, NULL);
	assert_int_equal(tw_idle_gaps_init(&gaps, tw_report_input(report)), 0);
	assert_int_equal(gaps.count, 6);
	/* Not in order of time. */
	hosts[0].gap = &gaps.items[2];
	hosts[1].gap = &gaps.items[1];
	assert_int_equal(hosts[0].gap->dur_ns, dur_ns);
	assert_int_equal(tw_gap_hosts(hosts, 2, tw_report_input(report)), 0);
	if (*expected)
		assert_string_equal(trawl_trace_text(trace, trace->events.name[hosts[0].operation],
						     NULL),
				    expected);
	else
		assert_int_equal(hosts[0].operation, TW_NONE);
	assert_int_equal(hosts[1].operation, TW_NONE);
	tw_idle_gaps_release(&gaps);
	trawl_report_free(report);
	trawl_trace_free(trace);
}

static void more_than_half_of_a_gap(void **state)
{
	static const struct {
		int64_t gap_ns, start_ns, dur_ns;
		bool runs;
	} cases[] = {
		/* From before it, in it, until after it: five of ten or eleven ns are no more. */
		{ 10, 900, 105, false }, { 10, 900, 106, true },  { 10, 1002, 5, false },
		{ 10, 1002, 6, true },	 { 10, 1005, 99, false }, { 10, 1004, 99, true },
		{ 11, 900, 105, false }, { 11, 900, 106, true },  { 11, 1003, 5, false },
		{ 11, 1003, 6, true },	 { 11, 1006, 99, false }, { 11, 1005, 99, true },
		{ 1, 1000, 1, true },	 { 1, 1001, 1, false },	  { 10, 900, 900, true },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		script_begin(&script);
		script_op(&script, "op", cases[i].start_ns, cases[i].dur_ns);
		runs_in_gap(cases[i].gap_ns, cases[i].runs ? "op" : "");
	}
	/* Of two the innermost; one in another thread is none. */
	script_begin(&script);
	script_op(&script, "outer", 900, 300);
	script_op(&script, "inner", 901, 200);
	runs_in_gap(20, "inner");
	script_begin(&script);
	script_slice(&script, "cpu_op", "other", 1, 2, 900, 300, NULL);
	runs_in_gap(20, "");
}

/* ---- at random: the causes add up, and the sweep agrees with the timeline */

static uint64_t seed = 5;

static int64_t draw(uint64_t below)
{
	seed = tw_hash_u64(seed);
	return (int64_t)(seed % below);
}

static struct trawl_trace *random_trace(void)
{
	static const char *const kernels[] = { "k", "ncclDevKernel_AllReduce", "gemm" };
	static const char *const copies[] = { "Memcpy DtoH (Device -> Pinned)",
					      "Memcpy HtoD (Pinned -> Device)",
					      "Memcpy DtoD (Device -> Device)", "copy" };
	static const char *const launches[] = { "cudaLaunchKernel", "cudaGraphLaunch",
						"cudaMemcpyAsync" };
	int64_t now = 0;
	int i, n = 1 + (int)draw(60);

	script_begin(&script);
	annotation("ProfilerStep#1", 100, 900);
	annotation("ProfilerStep#2", 1500, 900);
	for (i = 0; i < n; i++) {
		int64_t called = now - 100 + draw(120), start = now + draw(40);
		int stream = (int)draw(3);

		now += draw(70);
		if (draw(5))
			script_call(&script, launches[draw(3)], called, draw(60), i + 1);
		if (!draw(4))
			script_op(&script, "aten::item", called - 20, draw(200));
		if (!draw(6))
			annotation("enumerate(DataLoader)#x", called - 10, draw(200));
		if (draw(3))
			script_kernel(&script, kernels[draw(3)], stream, start, draw(60), i + 1);
		else
			script_copy(&script, copies[draw(4)], stream, start, draw(60), i + 1);
	}
	return script_read(&script);
}

static void check_overlap(const struct tw_analysis_input *in)
{
	const struct tw_derived *d = in->derived;
	uint8_t *directions = malloc(d->gpu.count + 1);
	struct tw_overlap x;
	struct tw_timeline t;
	int i;

	tw_copy_directions(d, directions);
	assert_int_equal(tw_overlap_of(&x, d, directions, in->allocator), 0);
	assert_int_equal(tw_timeline_of(&t, d, NULL, d->gpu.count, TW_CODE_NONE, false, -1), 0);
	assert_int_equal(x.compute_ns, t.compute_ns);
	assert_int_equal(x.communication_ns, t.communication_ns);
	assert_int_equal(x.copy_ns, t.copy_ns);
	assert_int_equal(x.exposed_communication_ns, t.exposed_communication_ns);
	assert_int_equal(x.exposed_copy_ns, t.exposed_copy_ns);
	for (i = 0; i < TW_COPY_DIRECTIONS; i++)
		assert_true(x.exposed_direction_ns[i] <= x.exposed_copy_ns);
	free(directions);
}

static void causes_add_up(void **state)
{
	unsigned round;

	for (round = 0; round < 300; round++) {
		struct trawl_trace *trace = random_trace();
		struct trawl_report_options options;
		struct trawl_report *report;
		struct tw_idle_gaps gaps;
		int64_t sum = 0, count = 0, i;

		trawl_report_options_init(&options);
		options.linked_only = draw(2);
		if (draw(2)) {
			options.step_first = 1;
			options.step_last = 1 + draw(2);
		}
		report = report_of(trace, &options);
		assert_int_equal(tw_idle_gaps_init(&gaps, tw_report_input(report)), 0);
		for (i = 0; i < TW_IDLE_CAUSES; i++) {
			sum += gaps.sums[i].total_ns;
			count += gaps.sums[i].count;
		}
		assert_int_equal(sum, tw_report_input(report)->timeline->idle_ns);
		assert_int_equal(count, gaps.count);
		check_overlap(tw_report_input(report));
		tw_idle_gaps_release(&gaps);
		trawl_report_free(report);
		trawl_trace_free(trace);
	}
}

/* ---- files */

struct place {
	struct scratch scratch;
	struct tw_prepared prepared;
};

static void place_make(struct place *p)
{
	scratch_make(&p->scratch);
	tw_prepared_init(&p->prepared, p->scratch.dir, trawl_allocator_default());
}

static void place_remove(struct place *p)
{
	tw_prepared_release(&p->prepared);
	scratch_remove(&p->scratch);
}

static const struct tw_json_value *json_of(struct place *p, const char *name)
{
	struct trawl_error err;
	const struct tw_json_value *value =
		tw_prepared_json(&p->prepared, TW_CATEGORY_DATA, name, &err);

	if (!value)
		fail_msg("%s", err.message);
	return value;
}

/* Until the next one is asked for. */
static const char *findings_of(struct place *p, const char *name)
{
	static char *text;
	char path[100];

	snprintf(path, sizeof(path), TW_SYSTEM_FINDINGS "/%s", name);
	free(text);
	text = scratch_read(scratch_path(&p->scratch, path), NULL);
	assert_non_null(text);
	return text;
}

static void write_data(struct place *p, const char *name, const char *text)
{
	struct trawl_error err;
	struct tw_str str;

	tw_str_init(&str, trawl_allocator_default());
	tw_str_add_cstr(&str, text);
	assert_int_equal(tw_prepared_write(&p->prepared, TW_CATEGORY_DATA, name, &str, &err), 0);
	tw_str_release(&str);
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

/* ---- severities at every boundary */

struct figures {
	double d2h_count, d2h_us, h2d_count, h2d_us, d2d_count, d2d_us;
	double comm_us, exposed_us, ratio; /* ratio NaN: null */
	double compute_us;		   /* 0: all of the time */
};

/* Of 100000 us in all. */
static void judge(struct place *p, const struct figures *f)
{
	struct tw_category_result result;
	struct trawl_error err;
	char text[2000], ratio[32] = "null";

	if (!isnan(f->ratio))
		snprintf(ratio, sizeof(ratio), "%.12g", f->ratio);
	snprintf(
		text, sizeof(text),
		"{\"memcpy_summary\":{\"total_count\":%g,\"total_time_us\":%.12g,\"by_direction\":{"
		"\"D2H\":{\"count\":%g,\"total_time_us\":%.12g,\"exposed_time_us\":%.12g},"
		"\"H2D\":{\"count\":%g,\"total_time_us\":%.12g,\"exposed_time_us\":%.12g},"
		"\"D2D\":{\"count\":%g,\"total_time_us\":%.12g,\"exposed_time_us\":%.12g}}},"
		"\"nccl_summary\":{\"total_count\":3,\"total_time_us\":1},"
		"\"overlap_analysis\":{\"total_time_us\":100000,\"computation_time_us\":%.12g,"
		"\"total_comm_time_us\":%.12g,\"exposed_comm_time_us\":%.12g,"
		"\"total_memcpy_time_us\":%.12g,\"exposed_memcpy_time_us\":0,"
		"\"comm_overlap_ratio\":%s}}",
		f->d2h_count + f->h2d_count + f->d2d_count, f->d2h_us + f->h2d_us + f->d2d_us,
		f->d2h_count, f->d2h_us, f->d2h_us, f->h2d_count, f->h2d_us, f->h2d_us,
		f->d2d_count, f->d2d_us, f->d2d_us, f->compute_us ? f->compute_us : 100000,
		f->comm_us, f->exposed_us, f->d2h_us + f->h2d_us + f->d2d_us, ratio);
	write_data(p, "multi_kernel_data.json", text);
	assert_int_equal(tw_category_multi_kernel(&p->prepared, &result, &err), 0);
	assert_int_equal(result.status, TW_CATEGORY_DONE);
}

static const char *severity_of(struct place *p, const char *assessment, const char *direction)
{
	const struct tw_json_value *a =
		tw_json_get(json_of(p, "multi_kernel_metrics.json"), assessment);

	if (direction)
		a = tw_json_get(tw_json_get(a, "directions"), direction);
	return tw_json_text(tw_json_get(a, "severity"));
}

/* By hand from the tables of the multi-kernel analysis; equality takes the milder class. */
static void copy_times(void **state)
{
	static const struct {
		double us;
		const char *severity;
	} steps[] = {
		{ 499.999, "ACCEPTABLE" }, { 500, "ACCEPTABLE" }, { 500.001, "LOW" },
		{ 1999.999, "LOW" },	   { 2000, "LOW" },	  { 2000.001, "MEDIUM" },
		{ 4999.999, "MEDIUM" },	   { 5000, "MEDIUM" },	  { 5000.001, "HIGH" },
		{ 9999.999, "HIGH" },	   { 10000, "HIGH" },	  { 10000.001, "CRITICAL" },
	};
	struct place p;
	size_t i;

	place_make(&p);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		judge(&p, &(struct figures){ .d2h_count = 1, .d2h_us = steps[i].us, .ratio = NAN });
		assert_string_equal(severity_of(&p, "memcpy_assessment", "D2H"), steps[i].severity);
		assert_string_equal(severity_of(&p, "memcpy_assessment", "H2D"), "ACCEPTABLE");
		assert_string_equal(severity_of(&p, "memcpy_assessment", NULL), steps[i].severity);
		judge(&p, &(struct figures){ .h2d_count = 1, .h2d_us = steps[i].us, .ratio = NAN });
		assert_string_equal(severity_of(&p, "memcpy_assessment", "H2D"), steps[i].severity);
	}
	place_remove(&p);
}

static void copy_counts(void **state)
{
	static const struct {
		double count;
		const char *severity;
	} steps[] = {
		{ 0, "ACCEPTABLE" }, { 4, "ACCEPTABLE" }, { 5, "ACCEPTABLE" }, { 6, "LOW" },
		{ 9, "LOW" },	     { 10, "LOW" },	  { 11, "MEDIUM" },    { 49, "MEDIUM" },
		{ 50, "MEDIUM" },    { 51, "HIGH" },	  { 99, "HIGH" },      { 100, "HIGH" },
		{ 101, "CRITICAL" },
	};
	const char *within;
	struct place p;
	size_t i;

	place_make(&p);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		judge(&p, &(struct figures){ .d2h_count = steps[i].count, .ratio = NAN });
		assert_string_equal(severity_of(&p, "memcpy_assessment", "D2H"), steps[i].severity);
		judge(&p, &(struct figures){ .h2d_count = steps[i].count, .ratio = NAN });
		assert_string_equal(severity_of(&p, "memcpy_assessment", "H2D"), steps[i].severity);
		assert_string_equal(severity_of(&p, "memcpy_assessment", NULL), steps[i].severity);
		/* Within devices at most HIGH. */
		judge(&p, &(struct figures){ .d2d_count = steps[i].count, .ratio = NAN });
		within = steps[i].count > 50 ? "HIGH" : steps[i].severity;
		assert_string_equal(severity_of(&p, "memcpy_assessment", "D2D"), within);
		assert_string_equal(severity_of(&p, "memcpy_assessment", NULL), within);
	}
	/* The worse of time and number. */
	judge(&p, &(struct figures){ .d2h_count = 51, .d2h_us = 1000, .ratio = NAN });
	assert_string_equal(severity_of(&p, "memcpy_assessment", "D2H"), "HIGH");
	judge(&p, &(struct figures){ .d2h_count = 6, .d2h_us = 20000, .ratio = NAN });
	assert_string_equal(severity_of(&p, "memcpy_assessment", "D2H"), "CRITICAL");
	/* Numbers of two directions are not added. */
	judge(&p, &(struct figures){ .d2h_count = 40, .h2d_count = 40, .ratio = NAN });
	assert_string_equal(severity_of(&p, "memcpy_assessment", NULL), "MEDIUM");
	place_remove(&p);
}

static void exposed_communication(void **state)
{
	static const struct {
		double us;
		const char *severity, *text;
	} steps[] = {
		{ 1999.999, "ACCEPTABLE", "Communication well-overlapped with compute" },
		{ 2000, "ACCEPTABLE", "Communication well-overlapped with compute" },
		{ 2000.001, "LOW", "Minor communication overhead" },
		{ 4999.999, "LOW", "Minor communication overhead" },
		{ 5000, "LOW", "Minor communication overhead" },
		{ 5000.001, "MEDIUM", "Notable communication overhead, worth addressing" },
		{ 9999.999, "MEDIUM", "Notable communication overhead, worth addressing" },
		{ 10000, "MEDIUM", "Notable communication overhead, worth addressing" },
		{ 10000.001, "HIGH", "Significant communication overhead on critical path" },
		{ 19999.999, "HIGH", "Significant communication overhead on critical path" },
		{ 20000, "HIGH", "Significant communication overhead on critical path" },
		{ 20000.001, "CRITICAL", "Communication severely blocking compute" },
	};
	struct place p;
	size_t i;

	place_make(&p);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		char line[200];

		judge(&p, &(struct figures){ .comm_us = 90000,
					     .exposed_us = steps[i].us,
					     .ratio = 0.9 });
		assert_string_equal(severity_of(&p, "nccl_blocking_assessment", NULL),
				    steps[i].severity);
		snprintf(line, sizeof(line), "- **Assessment**: %s: %s\n- **Impact**: GPU compute",
			 steps[i].severity, steps[i].text);
		has(findings_of(&p, "multi_kernel_findings.md"), line);
	}
	place_remove(&p);
}

static void overlap_ratios(void **state)
{
	static const struct {
		double ratio;
		const char *severity;
		bool told;
	} steps[] = {
		{ 0, "CRITICAL", true },    { 0.2999, "CRITICAL", true }, { 0.3, "HIGH", true },
		{ 0.3001, "HIGH", true },   { 0.4999, "HIGH", true },	  { 0.5, "MEDIUM", true },
		{ 0.5001, "MEDIUM", true }, { 0.6999, "MEDIUM", true },	  { 0.7, "GOOD", false },
		{ 0.7001, "GOOD", false },  { 1, "GOOD", false },
	};
	struct place p;
	size_t i;

	place_make(&p);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const char *text;

		judge(&p, &(struct figures){ .comm_us = 1000,
					     .exposed_us = 1000 * (1 - steps[i].ratio),
					     .ratio = steps[i].ratio });
		assert_string_equal(severity_of(&p, "overlap_assessment", NULL), steps[i].severity);
		text = findings_of(&p, "multi_kernel_findings.md");
		assert_int_equal(steps[i].told,
				 !!strstr(text, "**Poor compute/communication overlap**"));
	}
	/* Below 100 us of communication nothing is made of it. */
	judge(&p, &(struct figures){ .comm_us = 99.999, .exposed_us = 99.999, .ratio = 0 });
	assert_string_equal(severity_of(&p, "overlap_assessment", NULL), "CRITICAL");
	assert_null(strstr(findings_of(&p, "multi_kernel_findings.md"), "Poor compute"));
	judge(&p, &(struct figures){ .comm_us = 100, .exposed_us = 100, .ratio = 0 });
	has(findings_of(&p, "multi_kernel_findings.md"), "Poor compute");
	judge(&p, &(struct figures){ .ratio = NAN });
	has(findings_of(&p, "multi_kernel_findings.md"),
	    "| Compute/Comm Overlap | n/a | ACCEPTABLE |");
	place_remove(&p);
}

/* Most recoverable time first, numbered on. */
static void order_of_recommendations(void **state)
{
	const char *text, *blocking, *overlap, *d2h;
	struct place p;

	place_make(&p);
	judge(&p, &(struct figures){ .d2h_count = 20,
				     .d2h_us = 3000,
				     .comm_us = 30000,
				     .exposed_us = 24000,
				     .ratio = 0.2 });
	text = findings_of(&p, "multi_kernel_findings.md");
	blocking = strstr(text, "### System P1: Communication blocks compute\n**Issue**: 24.00%");
	overlap = strstr(text, "### System P2: Poor compute/communication overlap\n");
	d2h = strstr(text, "### System P3: Device-to-host (D2H) memory copies\n");
	assert_true(blocking && overlap && d2h && blocking < overlap && overlap < d2h);
	assert_null(strstr(text, "### System P4"));
	/* 24 ms exposed, of 30 ms; an overlap of 70 % leaves 9. */
	has(text,
	    "- **Impact**: on the way to an overlap of 70% at most 15 ms (15% of total) can be "
	    "hidden: 94 ms of computing have no communication beside them yet\n");
	has(text, "**Expected Impact**: Up to 15.000 ms (15.00% of total)\n");
	place_remove(&p);
}

/* By hand: 24 ms of 30 exposed, of 16 ms of computing 6 have communication beside them: 10 are left. */
static void communication_without_computing(void **state)
{
	const struct tw_json_value *metrics, *finding;
	const char *text;
	struct place p;

	place_make(&p);
	judge(&p, &(struct figures){ .comm_us = 30000,
				     .exposed_us = 24000,
				     .ratio = 0.2,
				     .compute_us = 16000 });
	text = findings_of(&p, "multi_kernel_findings.md");
	has(text, "at most 10.000 ms of it can overlap free compute, the other 14.000 ms "
		  "cannot");
	has(text, "Up to 10.000 ms (10.00% of total)");
	metrics = json_of(&p, "multi_kernel_metrics.json");
	finding = tw_json_get(metrics, "findings")->first;
	assert_string_equal(tw_json_text(tw_json_get(finding, "id")), "nccl_blocking_compute");
	assert_true(tw_json_number(tw_json_get(finding, "percent_of_total")) == 10);
	assert_true(tw_json_is_null(tw_json_get(finding, "included_in")));
	finding = finding->next;
	assert_string_equal(tw_json_text(tw_json_get(finding, "id")), "poor_comm_compute_overlap");
	assert_true(tw_json_number(tw_json_get(finding, "percent_of_total")) == 10);
	assert_string_equal(tw_json_text(tw_json_get(finding, "included_in")),
			    "nccl_blocking_compute");
	place_remove(&p);
}

/* ---- idle severities */

static void idle_data(struct place *p, double idle_us)
{
	static const char *const causes[] = { "launch_bound", "synchronisation", "data_wait",
					      "graph_gap",    "queued_work",	 "unknown" };
	struct tw_category_result result;
	struct trawl_error err;
	char text[3000];
	int n, i;

	n = snprintf(text, sizeof(text),
		     "{\"idle_analysis\":{\"total_time_us\":100000,\"idle_time_us\":%.12g},"
		     "\"causes\":{",
		     idle_us);
	for (i = 0; i < 6; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "%s\"%s\":{\"count\":%d,\"total_time_us\":%.12g}", i ? "," : "",
			      causes[i], i ? 0 : 4, i ? 0 : idle_us);
	snprintf(text + n, sizeof(text) - (size_t)n, "}}");
	write_data(p, "cpu_idle_data.json", text);
	assert_int_equal(tw_category_cpu_idle(&p->prepared, &result, &err), 0);
	assert_int_equal(result.status, TW_CATEGORY_DONE);
}

static void idle_times(void **state)
{
	static const struct {
		double us;
		const char *severity;
		bool critical, flagged;
	} steps[] = {
		{ 14999.999, "ACCEPTABLE", false, false }, { 15000, "ACCEPTABLE", false, false },
		{ 15000.001, "ACCEPTABLE", false, true },  { 19999.999, "ACCEPTABLE", false, true },
		{ 20000, "ACCEPTABLE", false, true },	   { 20000.001, "LOW", false, true },
		{ 29999.999, "LOW", false, true },	   { 30000, "LOW", false, true },
		{ 30000.001, "MEDIUM", false, true },	   { 49999.999, "MEDIUM", false, true },
		{ 50000, "MEDIUM", false, true },	   { 50000.001, "HIGH", true, true },
		{ 69999.999, "HIGH", true, true },	   { 70000, "HIGH", true, true },
		{ 70000.001, "CRITICAL", true, true },
	};
	struct place p;
	size_t i;

	place_make(&p);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const struct tw_json_value *metrics;

		idle_data(&p, steps[i].us);
		metrics = json_of(&p, "cpu_idle_metrics.json");
		assert_string_equal(tw_json_text(tw_json_get(metrics, "severity")),
				    steps[i].severity);
		assert_int_equal(tw_json_true(tw_json_get(metrics, "cpu_idle_critical")),
				 steps[i].critical);
		assert_int_equal(tw_json_true(tw_json_get(metrics, "idle_flagged")),
				 steps[i].flagged);
	}
	/* A cause is told of above 1 %. */
	idle_data(&p, 1000);
	assert_null(strstr(findings_of(&p, "cpu_idle_findings.md"), "### System P1"));
	idle_data(&p, 1000.001);
	has(findings_of(&p, "cpu_idle_findings.md"), "### System P1: The GPU waits for launches\n");
	place_remove(&p);
}

/* One cause of 20 ms in 100, with what its largest gap is. */
static const char *largest_gap(struct place *p, const char *cause, const char *gaps,
			       const char *gap)
{
	static const char *const causes[] = { "launch_bound", "synchronisation", "data_wait",
					      "graph_gap",    "queued_work",	 "unknown" };
	struct tw_category_result result;
	struct trawl_error err;
	char text[4000];
	int n, i;

	n = snprintf(text, sizeof(text),
		     "{\"idle_analysis\":{\"total_time_us\":100000,\"idle_time_us\":20000},"
		     "\"kernel_analysis\":{\"short_kernel_percent\":90},\"causes\":{");
	for (i = 0; i < 6; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      strcmp(causes[i], cause) ?
				      "%s\"%s\":{\"count\":0,\"total_time_us\":0}" :
				      "%s\"%s\":{\"total_time_us\":20000,%s,\"largest_gap\":%s}",
			      i ? "," : "", causes[i], gaps, gap);
	snprintf(text + n, sizeof(text) - (size_t)n, "}}");
	write_data(p, "cpu_idle_data.json", text);
	assert_int_equal(tw_category_cpu_idle(&p->prepared, &result, &err), 0);
	assert_int_equal(result.status, TW_CATEGORY_DONE);
	return findings_of(p, "cpu_idle_findings.md");
}

static void gaps_that_dominate(void **state)
{
	static const char one[] = "\"count\":1,\"largest_us\":20000,\"largest_percent\":100,"
				  "\"gaps_of_80_percent\":1";
	static const char few[] = "\"count\":9,\"largest_us\":9000,\"largest_percent\":45,"
				  "\"gaps_of_80_percent\":5";
	static const char many[] = "\"count\":40,\"largest_us\":900,\"largest_percent\":4.5,"
				   "\"gaps_of_80_percent\":6";
	static const char loading[] =
		"{\"start_us\":7.5,\"at_edge\":false,\"running_call\":\"cudaLaunchKernel\","
		"\"running_call_us\":8000,\"running_call_launches\":true,"
		"\"running_operation\":\"aten::mm\","
		"\"running_python_function\":\"a.py(3): f\"}";
	static const char edge[] = "{\"start_us\":7.5,\"at_edge\":true}";
	const char *text;
	struct place p;

	place_make(&p);
	text = largest_gap(&p, "launch_bound", few, loading);
	has(text, "5 of 9 gaps make 80% of it, the largest has 9.000 ms (45.00% of it). The "
		  "largest begins at 7.5 µs; most of it is the host call cudaLaunchKernel (8000 "
		  "µs) in aten::mm in a.py(3): f; so long a launch probably loads code at first "
		  "use\n");
	has(text, "**Action**: Launch less: torch.compile with CUDA graphs");
	has(text, "In inference: Capture the step in a GPU graph");
	text = largest_gap(&p, "launch_bound", many, loading);
	has(text, ": 40 gaps, 500.000 µs on average\n");
	text = largest_gap(&p, "synchronisation", one, edge);
	has(text,
	    ": one gap of 20.000 ms. The largest begins at 7.5 µs, at the start or the end of "
	    "the GPU work\n");
	/* Host events are there, or are not. */
	text = largest_gap(&p, "unknown", many, "null");
	has(text, "Profile with host events");
	write_data(&p, TW_MANIFEST, "{\"recorded\":{\"operations\":5,\"runtime_calls\":9}}");
	text = largest_gap(&p, "unknown", many, "null");
	assert_null(strstr(text, "Profile with host events"));
	has(text, "Check the host around the largest gaps");
	place_remove(&p);
}

static void ten_times_as_fast_is_told(void **state)
{
	struct place p;

	EDGE_OF(TW_LIMIT_TOLD_SPEEDUP_MOST);
	place_make(&p);
	has(largest_gap(&p, "launch_bound", "\"count\":1,\"speedup_without\":10", "null"),
	    ", a speed-up of 10x at most");
	has(largest_gap(&p, "launch_bound", "\"count\":1,\"speedup_without\":10.01", "null"),
	    ", a speed-up of over 10x at most");
	place_remove(&p);
}

/* ---- missing and broken data */

static const char manifest[] =
	"{\"gpu_utilization\":{\"total_time_ms\":50,\"computation_time_percent\":40,"
	"\"exposed_comm_time_percent\":12,\"exposed_memcpy_time_percent\":6,"
	"\"idle_time_percent\":42}}";

static void without_data(void **state)
{
	struct tw_category_result result;
	struct trawl_error err;
	const char *text;
	struct place p;

	place_make(&p);
	write_data(&p, TW_MANIFEST, manifest);
	assert_int_equal(tw_category_multi_kernel(&p.prepared, &result, &err), 0);
	assert_int_equal(result.status, TW_CATEGORY_DONE);
	text = findings_of(&p, "multi_kernel_findings.md");
	has(text, "**Status**: SUCCESS\n");
	has(text, "**Limitations**: ");
	has(text, "| Exposed Communication | 12% of total | HIGH |\n");
	has(text, "| Total Memcpy Events | n/a | HIGH |\n");
	has(text, "| D2H Transfers | n/a (n/a) | n/a |\n");
	assert_null(strstr(text, "well-overlapped"));
	has(text, "| Compute/Comm Overlap | n/a | n/a |\n");
	has(text, "- **Exposed Communication Time**: 6 ms (12% of total)\n");
	has(text, "### System P1: Communication blocks compute\n");
	has(text, "### System P2: Memory copies that nothing hides\n");
	assert_int_equal(tw_category_cpu_idle(&p.prepared, &result, &err), 0);
	assert_int_equal(result.status, TW_CATEGORY_DONE);
	text = findings_of(&p, "cpu_idle_findings.md");
	has(text, "**Limitations**: ");
	has(text, "| GPU Idle Time | 21 ms (42% of total) | MEDIUM |\n");
	place_remove(&p);
}

static void check_failure(struct place *p, const char *data, const char *text, const char *why)
{
	bool idle = strstr(data, "idle");
	const char *findings = idle ? "cpu_idle_findings.md" : "multi_kernel_findings.md";
	const char *metrics = idle ? "cpu_idle_metrics.json" : "multi_kernel_metrics.json";
	struct tw_category_result result;
	struct trawl_error err;

	if (text)
		write_data(p, data, text);
	assert_int_equal(idle ? tw_category_cpu_idle(&p->prepared, &result, &err) :
				tw_category_multi_kernel(&p->prepared, &result, &err),
			 0);
	assert_int_equal(result.status, TW_CATEGORY_FAILED);
	has(result.message, why);
	has(findings_of(p, findings), "**Status**: ERROR\n");
	assert_null(strstr(findings_of(p, findings), "## Summary"));
	assert_null(strstr(findings_of(p, findings), p->scratch.dir));
	assert_string_equal(tw_json_text(tw_json_get(json_of(p, metrics), "status")), "ERROR");
	has(tw_json_text(tw_json_get(json_of(p, metrics), "error")), why);
}

static void broken_data(void **state)
{
	struct place p;

	place_make(&p);
	check_failure(&p, "multi_kernel_data.json", NULL, "neither");
	check_failure(&p, "cpu_idle_data.json", NULL, "neither");
	write_data(&p, TW_MANIFEST, manifest);
	check_failure(&p, "multi_kernel_data.json", "{", "category_data/multi_kernel_data.json");
	check_failure(&p, "multi_kernel_data.json", "[]", "not an object");
	check_failure(&p, "multi_kernel_data.json", "{\"memcpy_summary\":{}}", "nccl_summary");
	check_failure(&p, "multi_kernel_data.json",
		      "{\"memcpy_summary\":{},\"nccl_summary\":{},\"overlap_analysis\":"
		      "{\"total_time_us\":\"many\"}}",
		      "total_time_us");
	check_failure(&p, "multi_kernel_data.json",
		      "{\"memcpy_summary\":{},\"nccl_summary\":{},\"overlap_analysis\":"
		      "{\"total_time_us\":100,\"computation_time_us\":-1}}",
		      "computation_time_us");
	check_failure(&p, "cpu_idle_data.json", "", "category_data/cpu_idle_data.json");
	check_failure(&p, "cpu_idle_data.json", "{}", "idle_analysis");
	check_failure(&p, "cpu_idle_data.json",
		      "{\"idle_analysis\":{\"total_time_us\":1,\"idle_time_us\":-1}}",
		      "idle_analysis");
	write_data(&p, TW_MANIFEST, "no JSON");
	remove(scratch_path(&p.scratch, "category_data/multi_kernel_data.json"));
	check_failure(&p, "multi_kernel_data.json", NULL, "category_data/category_manifest.json");
	place_remove(&p);
}

/* ---- from a trace to the findings */

static struct trawl_trace *small_trace(void)
{
	int i;

	script_begin(&script);
	python("/home/someone/train.py(12): step", 0, 200000);
	python("torch/_tensor.py(3): __float__", 100, 190000);
	for (i = 0; i < 3; i++) {
		int64_t at = 1000 + 20000 * i;

		script_op(&script, "aten::item", at, 3000);
		script_op(&script, "aten::_local_scalar_dense", at + 100, 2800);
		script_call(&script, "cudaMemcpyAsync", at + 200, 500, 10 + i);
		script_copy(&script, "Memcpy DtoH (Device -> Pageable)", 7, at + 1000, 1000,
			    10 + i);
		script_call(&script, "cudaLaunchKernel", at + 5000, 500, 20 + i);
		script_kernel(&script, "k|`1", 7, at + 6000, 2000, 20 + i);
	}
	script_copy(&script, "Memcpy DtoH (Device -> Pageable)", 7, 150000, 500, 99);
	script_kernel(&script, "ncclDevKernel_AllReduce", 8, 160000, 3000, 98);
	return script_read(&script);
}

static void callers_of_copies(void **state)
{
	struct trawl_trace *trace = small_trace();
	struct trawl_report *report = report_of(trace, NULL);
	const struct tw_json_value *d2h, *caller;
	struct trawl_error err;
	struct place p;

	place_make(&p);
	assert_int_equal(tw_prepare_multi_kernel(&p.prepared, tw_report_input(report), &err), 0);
	d2h = tw_json_get(
		tw_json_get(tw_json_get(json_of(&p, "multi_kernel_data.json"), "memcpy_summary"),
			    "by_direction"),
		"D2H");
	assert_int_equal(tw_json_number(tw_json_get(d2h, "count")), 4);
	assert_true(tw_json_is_null(tw_json_get(d2h, "total_bytes")));
	assert_string_equal(tw_json_get(d2h, "total_time_us")->text, "3.5");
	assert_string_equal(tw_json_get(d2h, "avg_time_us")->text, "0.875");
	caller = tw_json_get(d2h, "callers")->first;
	assert_string_equal(tw_json_text(tw_json_get(caller, "operation")), "aten::item");
	assert_string_equal(tw_json_text(tw_json_get(caller, "python")), "train.py(12): step");
	assert_int_equal(tw_json_number(tw_json_get(caller, "count")), 3);
	caller = caller->next;
	assert_true(tw_json_is_null(tw_json_get(caller, "operation")));
	assert_true(tw_json_is_null(tw_json_get(caller, "python")));
	assert_null(caller->next);
	place_remove(&p);
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* Everything with the n-th allocation failing: 0 or out of memory, and nothing is left. */
static void out_of_memory(void **state)
{
	struct trawl_trace *trace = small_trace();
	struct trawl_report *report = report_of(trace, NULL);
	struct scratch scratch;
	long n;

	scratch_make(&scratch);
	for (n = 0;; n++) {
		struct tw_analysis_input in = *tw_report_input(report);
		struct tw_category_result result;
		struct tw_prepared prepared;
		struct trawl_error err;
		struct failing failing;
		int status;

		failing_init(&failing, n);
		in.allocator = &failing.allocator;
		tw_prepared_init(&prepared, scratch.dir, &failing.allocator);
		status = tw_prepare_multi_kernel(&prepared, &in, &err);
		if (!status)
			status = tw_prepare_cpu_idle(&prepared, &in, &err);
		if (!status)
			status = tw_category_multi_kernel(&prepared, &result, &err);
		if (!status)
			status = tw_category_cpu_idle(&prepared, &result, &err);
		tw_prepared_release(&prepared);
		assert_int_equal(status, failing.failed ? TRAWL_ENOMEM : 0);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
	}
	assert_true(n > 50);
	scratch_remove(&scratch);
	trawl_report_free(report);
	trawl_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_the_host),
		cmocka_unit_test(directions_of_copies),
		cmocka_unit_test(directions_in_arguments),
		cmocka_unit_test(paths_are_not_told),
		cmocka_unit_test(launches_that_come_late),
		cmocka_unit_test(work_that_starts_late),
		cmocka_unit_test(waits_for_the_gpu),
		cmocka_unit_test(waits_for_data),
		cmocka_unit_test(graphs),
		cmocka_unit_test(copies_around_gaps),
		cmocka_unit_test(more_than_half_of_a_gap),
		cmocka_unit_test(causes_add_up),
		cmocka_unit_test(copy_times),
		cmocka_unit_test(copy_counts),
		cmocka_unit_test(exposed_communication),
		cmocka_unit_test(overlap_ratios),
		cmocka_unit_test(order_of_recommendations),
		cmocka_unit_test(communication_without_computing),
		cmocka_unit_test(idle_times),
		cmocka_unit_test(gaps_that_dominate),
		cmocka_unit_test(ten_times_as_fast_is_told),
		cmocka_unit_test(without_data),
		cmocka_unit_test(broken_data),
		cmocka_unit_test(callers_of_copies),
		cmocka_unit_test(out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
