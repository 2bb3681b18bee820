/* When: steps and phases, by launch and by time; names of inference steps; the step that stands out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/scope.h"
#include "data/phases.h"
#include "derive/spans.h"
#include "edges.h"
#include "text/wildcard.h"
#include "traces.h"

/* ---- names */

struct said {
	const char *name, *family, *phase;
	int64_t prefill_requests, decode_requests, prefill_tokens, decode_tokens;
};

/* What the programs say in these names, counted by hand; -1: the name does not say. */
static const struct said names[] = {
	{ "execute_4_context_1(sq9sk9sqsq81sqsk81)_generation_3(sq3sk70sqsq3sqsk70)", "vllm",
	  "mixed", 1, 3, 9, 3 },
	{ "execute_64_context_0(sq0sk0sqsq0sqsk0)_generation_2(sq2sk70sqsq2sqsk70)", "vllm",
	  "decode", 0, 2, 0, 2 },
	{ "execute_context_3(700)_generation_0(0)", "vllm", "prefill", 3, 0, 700, 0 },
	{ "execute_7_context_3(700)_generation_4(4)", "vllm", "mixed", 3, 4, 700, 4 },
	{ "execute_context_1(20_400)_generation_0(0)", "vllm", "prefill", 1, 0, 20, 0 },
	{ "execute_context_0(0_0)_generation_5(5_90)", "vllm", "decode", 0, 5, 0, 5 },
	{ "step[DECODE bs=5]", "sglang", "decode", 0, 5, 0, 5 },
	{ "step[DECODE]", "sglang", "decode", 0, -1, 0, -1 },
	{ "step[DECODE bs=5 g_sq=10 g_sk=7]", "sglang", "decode", 0, 5, 0, 10 },
	{ "step[EXTEND bs=2 toks=700]", "sglang", "prefill", 2, 0, 700, 0 },
	{ "step[EXTEND bs=2 c_sq=30]", "sglang", "prefill", 2, 0, 30, 0 },
	{ "step[MIXED bs=3]", "sglang", "mixed", -1, -1, -1, -1 },
	{ "step[MIXED c=1 g=2 c_sq=8 g_sq=2]", "sglang", "mixed", 1, 2, 8, 2 },
	{ "prefill[bs=2 tok=30 ctx=[10, 20]]", "atom", "prefill", 2, 0, 30, 0 },
	{ "prefill[bs=6 tok=90 ctx=[10, 20]...+4 d=7]", "atom", "prefill", 6, 0, 90, 0 },
	{ "decode[bs=4 tok=4 d=4]", "atom", "decode", 0, 4, 0, 4 },
	{ "prefill[bs=1 tok=16] decode[bs=2 tok=2]", "atom", "mixed", 1, 2, 16, 2 },
	{ "execute_diffusion_2_512x256", "diffusion", "diffusion", 2, 0, -1, -1 },
};

static const char *const no_names[] = {
	"",
	"ProfilerStep#1",
	"step[PREFILL]",
	"step[DECODE2 bs=1]",
	"step[DECODE bs=5",
	"step[DECODE bs=5] ",
	"step[DECODE bs=99999999999999999999]",
	"execute_diffusion_1_256",
	"execute_context_1(9999999999999999999)_generation_0(0)",
	"execute_context_1(1)_generation_0(0",
	"prefill[bs=2 ctx=[1, 2]",
	"prefill(bs=2)",
	"my step[DECODE bs=5]",
};

static void names_of_inference_steps(void **state)
{
	struct tw_served_step step;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct said *s = &names[i];

		if (!tw_served_step_read(&step, s->name, strlen(s->name)))
			fail_msg("'%s' is not known", s->name);
		if (strcmp(step.family, s->family) ||
		    strcmp(tw_phase_names[step.phase], s->phase) ||
		    step.context[TW_SERVED] != s->prefill_requests ||
		    step.generation[TW_SERVED] != s->decode_requests ||
		    step.context[TW_SERVED_SQ] != s->prefill_tokens ||
		    step.generation[TW_SERVED_SQ] != s->decode_tokens)
			fail_msg("'%s': %s, %s, %d %d %d %d", s->name, step.family,
				 tw_phase_names[step.phase], (int)step.context[TW_SERVED],
				 (int)step.generation[TW_SERVED], (int)step.context[TW_SERVED_SQ],
				 (int)step.generation[TW_SERVED_SQ]);
	}
	for (i = 0; i < sizeof(no_names) / sizeof(no_names[0]); i++)
		if (tw_served_step_read(&step, no_names[i], strlen(no_names[i])))
			fail_msg("'%s' is %s", no_names[i], step.family);
	/* A number has 18 digits at most. */
	assert_true(tw_served_step_read(&step, "step[DECODE bs=999999999999999999]", 34));
	assert_int_equal(step.generation[TW_SERVED], 999999999999999999);
}

static void wildcards(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool same;
	} cases[] = {
		{ "a", "a", true },
		{ "a", "A", false },
		{ "a", "ab", false },
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "*", "anything", true },
		{ "?", "", false },
		{ "?", "ab", false },
		{ "?", "\xc3\xa9", true },
		{ "??", "\xc3\xa9", false },
		{ "*b", "aabb", true },
		{ "*ab", "aab", true },
		{ "a*c*e", "abcde", true },
		{ "a*c*e", "abcdf", false },
		{ "step[*]", "step[DECODE bs=1]", true },
		{ "step[D]", "stepD", false },
		{ "[ab]", "a", false },
		{ "a**", "a", true },
		{ "*?", "", false },
		{ "?*", "x", true },
		{ "\\*", "\\x", true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (tw_wildcard_matches(cases[i].pattern, cases[i].text, strlen(cases[i].text)) !=
		    cases[i].same)
			fail_msg("'%s', '%s'", cases[i].pattern, cases[i].text);
}

/* ---- traces; times in microseconds */

static void annotate(struct script *s, const char *name, int pid, int tid, int64_t start,
		     int64_t end)
{
	script_slice(s, "user_annotation", name, pid, tid, start * 1000, (end - start) * 1000,
		     NULL);
}

/* A call of 1 and its kernel. */
static void launch_on(struct script *s, int pid, int stream, int64_t call, int id,
		      const char *kernel, int64_t start, int64_t dur)
{
	char args[80];

	snprintf(args, sizeof(args), "\"correlation\":%d", id);
	script_slice(s, "cuda_runtime", "cudaLaunchKernel", pid, 1, call * 1000, 1000, args);
	snprintf(args, sizeof(args), "\"device\":0,\"stream\":%d,\"correlation\":%d", stream, id);
	script_slice(s, "kernel", kernel, 0, stream, start * 1000, dur * 1000, args);
}

static void launch(struct script *s, int64_t call, int id, const char *kernel, int64_t start,
		   int64_t dur)
{
	launch_on(s, 1, 7, call, id, kernel, start, dur);
}

static const char *step(const struct trawl_report *report, const char *name, const char *column)
{
	return cell_of(report, "steps", "name", name, column);
}

#define EXPECT(report, name, column, value) assert_string_equal(step(report, name, column), value)

static const char *reconciled(const struct trawl_report *report, const char *quantity)
{
	return cell_of(report, "reconciliation", "quantity", quantity, "time ns");
}

/*
 * Two steps, 0-100 and 110-200; what lies between is of the first.
 *
 *	launched at	runs at		by launch	by time
 *	-10		0-10		outside		1
 *	10		20-40		1		1
 *	50		90-130		1		1: 20, 2: 20
 *	105		140-150		1		2
 *	120		190-230		2		2: 10, outside 30
 *	150		240-250 (comm)	2		outside
 *	-		160-170		no launch	2
 */
static struct trawl_trace *two_steps(void)
{
	struct script s;

	script_begin(&s);
	annotate(&s, "ProfilerStep#1", 1, 1, 0, 100);
	annotate(&s, "ProfilerStep#2", 1, 1, 110, 200);
	launch(&s, -10, 1, "k", 0, 10);
	launch(&s, 10, 2, "k", 20, 20);
	launch(&s, 50, 3, "k", 90, 40);
	launch(&s, 105, 4, "k", 140, 10);
	launch(&s, 120, 5, "k", 190, 40);
	launch(&s, 150, 6, "ncclDevKernel_AllReduce", 240, 10);
	script_slice(&s, "kernel", "k", 0, 7, 160000, 10000, "\"device\":0,\"stream\":7");
	script_slice(&s, "cuda_runtime", "cudaStreamSynchronize", 1, 1, 60000, 20000, NULL);
	script_slice(&s, "cuda_runtime", "cudaFree", 1, 1, 160000, 5000, NULL);
	return script_read(&s);
}

static void work_of_two_steps(void **state)
{
	struct trawl_trace *trace = two_steps();
	struct trawl_report *report = report_of(trace, NULL);

	(void)state;
	EXPECT(report, "ProfilerStep#1", "step", "1");
	EXPECT(report, "ProfilerStep#1", "wall (ms)", "0.11");
	EXPECT(report, "ProfilerStep#2", "wall (ms)", "0.09");
	EXPECT(report, "ProfilerStep#1", "GPU events", "3");
	EXPECT(report, "ProfilerStep#1", "launches", "3");
	EXPECT(report, "ProfilerStep#1", "first start (µs)", "20");
	EXPECT(report, "ProfilerStep#1", "span (ms)", "0.13");
	EXPECT(report, "ProfilerStep#1", "busy (ms)", "0.07");
	EXPECT(report, "ProfilerStep#1", "idle (ms)", "0.06");
	EXPECT(report, "ProfilerStep#1", "GPU time (ms)", "0.07");
	EXPECT(report, "ProfilerStep#1", "start after host (ms)", "0.02");
	EXPECT(report, "ProfilerStep#1", "end after host (ms)", "0.04");
	EXPECT(report, "ProfilerStep#1", "started after end (ms)", "0.01");
	EXPECT(report, "ProfilerStep#1", "busy by time (ms)", "0.05");
	EXPECT(report, "ProfilerStep#1", "idle by time (ms)", "0.06");
	EXPECT(report, "ProfilerStep#2", "busy (ms)", "0.05");
	EXPECT(report, "ProfilerStep#2", "computing (ms)", "0.04");
	EXPECT(report, "ProfilerStep#2", "exposed communication (ms)", "0.01");
	EXPECT(report, "ProfilerStep#2", "busy by time (ms)", "0.05");
	EXPECT(report, "(outside)", "busy by time (ms)", "0.04");
	EXPECT(report, "(launched outside)", "GPU time (ms)", "0.01");
	EXPECT(report, "(no launch)", "GPU time (ms)", "0.01");
	/* Calls of 1 each, and the two long ones; a call that frees is none that waits. */
	EXPECT(report, "ProfilerStep#1", "host (ms)", "0.023");
	EXPECT(report, "ProfilerStep#1", "waiting (ms)", "0.02");
	EXPECT(report, "ProfilerStep#2", "host (ms)", "0.007");
	EXPECT(report, "ProfilerStep#2", "waiting (ms)", "0");
	EXPECT(report, "ProfilerStep#1", "MFU (%)", "");
	EXPECT(report, "ProfilerStep#1", "tokens", "");
	assert_string_equal(reconciled(report, "gpu_time"), "140000");
	assert_string_equal(reconciled(report, "step_rows"), "140000");
	assert_string_equal(reconciled(report, "step_difference"), "0");
	assert_string_equal(reconciled(report, "step_rows_by_time"), "140000");
	assert_string_equal(reconciled(report, "step_difference_by_time"), "0");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* A view of one step has its row alone, and it is the same; --step goes by the same rule. */
static void step_of_a_view(void **state)
{
	struct trawl_trace *trace = two_steps();
	struct trawl_report_options options;
	struct trawl_report *report;

	(void)state;
	trawl_report_options_init(&options);
	options.step_first = options.step_last = 1;
	report = report_of(trace, &options);
	EXPECT(report, "(launched outside)", "GPU time (ms)", "0");
	EXPECT(report, "(outside)", "busy by time (ms)", "0.03");
	assert_int_equal(rows_of(report, "steps"), 4);
	EXPECT(report, "ProfilerStep#1", "busy (ms)", "0.07");
	EXPECT(report, "ProfilerStep#1", "GPU events", "3");
	assert_string_equal(reconciled(report, "step_difference"), "0");
	assert_string_equal(reconciled(report, "step_difference_by_time"), "0");
	trawl_report_free(report);
	/* Half of the first one. */
	trawl_report_options_init(&options);
	options.start_ns = 30000;
	options.end_ns = 60000;
	report = report_of(trace, &options);
	EXPECT(report, "ProfilerStep#1", "busy (ms)", "0.01");
	EXPECT(report, "ProfilerStep#1", "busy by time (ms)", "0.01");
	EXPECT(report, "ProfilerStep#1", "idle by time (ms)", "0.02");
	assert_int_equal(rows_of(report, "steps"), 4);
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* Steps of two processes are apart, and may overlap. */
static void steps_of_two_processes(void **state)
{
	struct trawl_trace *trace;
	struct trawl_report *report;
	struct script s;

	(void)state;
	script_begin(&s);
	annotate(&s, "ProfilerStep#1", 1, 1, 0, 100);
	annotate(&s, "ProfilerStep#2", 2, 1, 10, 110);
	annotate(&s, "ProfilerStep#3", 1, 1, 100, 200);
	launch_on(&s, 1, 7, 20, 1, "k", 30, 20);
	launch_on(&s, 2, 8, 25, 2, "k", 60, 30);
	launch_on(&s, 3, 9, 26, 3, "k", 95, 5);
	trace = script_read(&s);
	report = report_of(trace, NULL);
	EXPECT(report, "ProfilerStep#1", "wall (ms)", "0.1");
	EXPECT(report, "ProfilerStep#2", "wall (ms)", "0.1");
	EXPECT(report, "ProfilerStep#1", "busy (ms)", "0.02");
	EXPECT(report, "ProfilerStep#2", "busy (ms)", "0.03");
	EXPECT(report, "ProfilerStep#2", "busy by time (ms)", "0.055");
	EXPECT(report, "(launched outside)", "GPU time (ms)", "0.005");
	assert_string_equal(reconciled(report, "step_difference"), "0");
	assert_false(has_row(report, "reconciliation", "quantity", "step_difference_by_time"));
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* Steps of 2021 are operations: what is in them is the host's work. */
static void steps_that_are_operations(void **state)
{
	struct trawl_trace *trace;
	struct trawl_report_options options;
	struct trawl_report *report;
	struct script s;

	(void)state;
	script_begin(&s);
	script_slice(&s, "Operator", "ProfilerStep#1", 1, 1, 0, 100000, NULL);
	script_slice(&s, "Operator", "ProfilerStep#2", 1, 1, 100000, 100000, NULL);
	script_slice(&s, "Operator", "aten::mm", 1, 1, 5000, 20000, NULL);
	launch(&s, 10, 1, "a", 30, 20);
	launch(&s, 110, 2, "b", 140, 30);
	trace = script_read(&s);
	report = report_of(trace, NULL);
	EXPECT(report, "ProfilerStep#1", "busy (ms)", "0.02");
	EXPECT(report, "ProfilerStep#2", "busy (ms)", "0.03");
	EXPECT(report, "ProfilerStep#1", "host (ms)", "0.02");
	trawl_report_free(report);
	trawl_report_options_init(&options);
	options.step_first = options.step_last = 2;
	report = report_of(trace, &options);
	assert_string_equal(cell_of(report, "gpu_timeline", "type", "busy_time", "time ms"),
			    "0.03");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* What other analyses ask: the step and the phase of a GPU event. */
static void step_and_phase_of_a_gpu_event(void **state)
{
	struct trawl_trace *trace;
	struct tw_derived *d;
	struct tw_scope scope;
	struct tw_when when;
	struct script s;

	(void)state;
	script_begin(&s);
	annotate(&s, "ProfilerStep#7", 1, 1, 0, 100);
	annotate(&s, "step[DECODE bs=2]", 1, 1, 20, 60);
	launch(&s, 10, 1, "a", 30, 5);
	launch(&s, 30, 2, "b", 200, 5);
	launch(&s, 110, 3, "c", 210, 5);
	trace = script_read(&s);
	d = derive(trace, NULL);
	tw_scope_begin(&scope, trawl_allocator_default());
	assert_int_equal(tw_when_build(&when, d, &scope.allocator), 0);
	assert_int_equal(tw_when_step(&when, gpu_named(d, "a")), 7);
	assert_int_equal(tw_when_phase(&when, gpu_named(d, "a")), TW_PHASES);
	assert_int_equal(tw_when_step(&when, gpu_named(d, "b")), 7);
	assert_int_equal(tw_when_phase(&when, gpu_named(d, "b")), TW_PHASE_DECODE);
	assert_int_equal(tw_when_step(&when, gpu_named(d, "c")), -1);
	assert_int_equal(tw_when_phase(&when, gpu_named(d, "c")), TW_PHASES);
	tw_scope_end(&scope);
	tw_derived_free(d);
	trawl_trace_free(trace);
}

/* ---- the step that stands out */

/* Ten steps of 100; the GPU works so long in each. */
static struct trawl_report *report_of_steps(struct trawl_trace **trace, const int *busy, int count,
					    const int *wall)
{
	struct script s;
	int64_t at = 0;
	char name[32];
	int i;

	script_begin(&s);
	for (i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "ProfilerStep#%d", i);
		annotate(&s, name, 1, 1, at, at + wall[i]);
		launch(&s, at + 1, i + 1, i == 3 ? "other" : "k", at + 10, busy[i]);
		at += wall[i];
	}
	*trace = script_read(&s);
	return report_of(*trace, NULL);
}

static const char *odd_of(const int *busy, int count, const int *wall, int number)
{
	struct trawl_trace *trace;
	struct trawl_report *report = report_of_steps(&trace, busy, count, wall);
	static char text[300];
	int i, odd = -1;

	for (i = 0; i < count; i++)
		if (cell_at(report, "steps", (size_t)i, "odd")[0]) {
			assert_int_equal(odd, -1);
			odd = i;
			snprintf(text, sizeof(text), "%s",
				 cell_at(report, "steps", (size_t)i, "odd"));
		}
	assert_int_equal(odd, number);
	trawl_report_free(report);
	trawl_trace_free(trace);
	return text;
}

static const int wall_100[] = { 1000, 1000, 1000, 1000, 1000, 1000, 1000 };

static void odd_steps(void **state)
{
	const char *text;

	(void)state;
	EDGE_OF(TW_LIMIT_ODD_STEP_LEAST);
	odd_of((int[]){ 100, 100, 200 }, 3, wall_100, -1);
	odd_of((int[]){ 100, 100, 200, 100 }, 4, wall_100, 2);
	EDGE_OF(TW_LIMIT_ODD_STEP_PERCENT);
	odd_of((int[]){ 100, 100, 100, 100, 105 }, 5, wall_100, -1);
	odd_of((int[]){ 100, 100, 100, 100, 106 }, 5, wall_100, 4);
	odd_of((int[]){ 100, 94, 100, 100, 100 }, 5, wall_100, 1);
	/*
	 * Deviations 10, 10, 0, 10, 10 and that of the last: the median of them is 10, three scaled
	 * ones are 44.478.
	 */
	EDGE_OF(TW_LIMIT_ODD_STEP_MADS);
	odd_of((int[]){ 90, 110, 100, 90, 100, 110, 144 }, 7, wall_100, -1);
	odd_of((int[]){ 90, 110, 100, 90, 100, 110, 145 }, 7, wall_100, 6);
	/* The last wall time is that of an annotation. */
	odd_of((int[]){ 100, 100, 100, 100, 100 }, 5, (int[]){ 1000, 1000, 1000, 1000, 500 }, -1);
	odd_of((int[]){ 100, 100, 100, 100, 100 }, 5, (int[]){ 1000, 2000, 1000, 1000, 500 }, 1);
	/* Three of four are compared: too few. */
	odd_of((int[]){ 100, 100, 100, 100 }, 4, (int[]){ 1000, 2000, 1000, 1000 }, -1);
	text = odd_of((int[]){ 100, 100, 100, 250, 100 }, 5, wall_100, 3);
	assert_string_equal(text, "busy +150.0 %, 0.250 ms (median 0.100 ms): other +0.250 ms (1 "
				  "times, else 0)");
}

static void expect_note(const struct trawl_report *report, const char *text)
{
	assert_string_equal(trawl_table_note(trawl_report_find(report, "steps"), 0), text);
}

/* Of each process the last step ends with its annotation; in a part of the trace the last one is whole. */
static void last_steps(void **state)
{
	struct trawl_report_options options;
	struct trawl_report *report;
	struct trawl_trace *trace;
	struct script s;
	char name[32];
	int i;

	(void)state;
	script_begin(&s);
	for (i = 0; i < 10; i++) {
		int64_t at = 1000 * (i / 2) + i % 2 * 10;

		snprintf(name, sizeof(name), "ProfilerStep#%d", i / 2);
		annotate(&s, name, 1 + i % 2, 1, at, at + (i < 8 ? 1000 : 500));
		launch_on(&s, 1 + i % 2, 7 + i % 2, at + 20, i + 1, "k", at + 100, 100);
	}
	trace = script_read(&s);
	report = report_of(trace, NULL);
	for (i = 0; i < 10; i++)
		assert_string_equal(cell_at(report, "steps", (size_t)i, "odd"), "");
	expect_note(report, "10 steps (0-4) without the last: median 1.000 ms (1.000 to 1.000)");
	trawl_report_free(report);
	trawl_report_options_init(&options);
	options.step_first = 2;
	options.step_last = 3;
	report = report_of(trace, &options);
	expect_note(report, "4 steps (2-3): median 1.000 ms (1.000 to 1.000)");
	trawl_report_free(report);
	options.step_first = options.step_last = 4;
	report = report_of(trace, &options);
	expect_note(report, "2 steps (4): median 0.500 ms (0.500 to 0.500)");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* What lies between two steps of one number is not its time. */
static void a_number_that_comes_back(void **state)
{
	struct trawl_report_options options;
	struct trawl_report *report;
	struct trawl_trace *trace;
	struct script s;
	char name[32];
	int i;

	(void)state;
	script_begin(&s);
	for (i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "ProfilerStep#%d", 1 + i % 3);
		annotate(&s, name, 1, 1, 1000 * i, 1000 * i + 1000);
		launch(&s, 1000 * i + 10, i + 1, "k", 1000 * i + 100, 300);
	}
	trace = script_read(&s);
	trawl_report_options_init(&options);
	options.step_first = options.step_last = 1;
	report = report_of(trace, &options);
	assert_string_equal(cell_of(report, "gpu_timeline", "type", "total_time", "time ms"),
			    "0.6");
	assert_string_equal(cell_of(report, "gpu_timeline", "type", "busy_time", "time ms"), "0.6");
	trawl_report_free(report);
	options.step_last = 2;
	report = report_of(trace, &options);
	assert_string_equal(cell_of(report, "gpu_timeline", "type", "total_time", "time ms"),
			    "2.6");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* Kernels, launches and waits that differ; parts below a tenth of the difference are not named. */
static void what_differs(void **state)
{
	static const int more[2] = { 9, 10 };
	int edge;

	(void)state;
	EDGE_OF(TW_LIMIT_ODD_STEP_PART_PERCENT);
	for (edge = 0; edge < 2; edge++) {
		struct trawl_trace *trace;
		struct trawl_report *report;
		struct script s;
		char name[32];
		int i;

		script_begin(&s);
		for (i = 0; i < 4; i++) {
			bool odd = i == 2;
			int64_t at = 1000 * i;

			snprintf(name, sizeof(name), "ProfilerStep#%d", i);
			annotate(&s, name, 1, 1, at, at + 1000);
			launch(&s, at + 1, 10 * i + 1, "k", at + 10, 100);
			if (!odd)
				continue;
			launch(&s, at + 5, 10 * i + 2, "extra", at + 200, 100 - more[edge]);
			launch(&s, at + 7, 10 * i + 3, "small", at + 400, more[edge]);
		}
		trace = script_read(&s);
		report = report_of(trace, NULL);
		assert_string_equal(step(report, "ProfilerStep#2", "odd"),
				    edge ? "busy +100.0 %, 0.200 ms (median 0.100 ms): extra "
					   "+0.090 ms (1 times, else 0), small +0.010 ms (1 times, "
					   "else 0), 2 more launches, idle GPU +0.200 ms" :
					   "busy +100.0 %, 0.200 ms (median 0.100 ms): extra "
					   "+0.091 ms (1 times, else 0), 2 more launches, idle GPU "
					   "+0.199 ms");
		trawl_report_free(report);
		trawl_trace_free(trace);
	}
}

/* One kernel more or less than in the other steps. */
static void one_launch(void **state)
{
	int fewer;

	(void)state;
	for (fewer = 0; fewer < 2; fewer++) {
		struct trawl_trace *trace;
		struct trawl_report *report;
		struct script s;
		char name[32];
		int i;

		script_begin(&s);
		for (i = 0; i < 4; i++) {
			int64_t at = 1000 * i;

			snprintf(name, sizeof(name), "ProfilerStep#%d", i);
			annotate(&s, name, 1, 1, at, at + 1000);
			launch(&s, at + 1, 10 * i + 1, "k", at + 10, fewer && i == 2 ? 400 : 100);
			if (fewer != (i == 2))
				launch(&s, at + 5, 10 * i + 2, "other", at + 500, 100);
		}
		trace = script_read(&s);
		report = report_of(trace, NULL);
		assert_non_null(strstr(step(report, "ProfilerStep#2", "odd"),
				       fewer ? ", 1 fewer launch" : ", 1 more launch,"));
		assert_null(strstr(step(report, "ProfilerStep#2", "odd"), "launches"));
		trawl_report_free(report);
		trawl_trace_free(trace);
	}
}

/* ---- FLOPs */

/*
 * A product of 64 x 64 x 64 (2 x 64^3 = 524288 FLOPs) in bf16, and other computing of `other` ns; 900 ns of
 * 1000 are 90 %.  A step of 1 us at 708 TFLOP/s, those of an MI300X: MFU 524288 / 708e6 = 0.0741 %.
 */
static const char *mfu_with(int other_ns, const char *column)
{
	static char value[40];
	struct trawl_report_options options;
	struct trawl_trace *trace;
	struct trawl_report *report;
	struct script s;

	script_begin(&s);
	script_slice(&s, "user_annotation", "ProfilerStep#1", 1, 1, 0, 1000, NULL);
	script_slice(&s, "cpu_op", "aten::mm", 1, 1, 100, 300,
		     "\"Input Dims\":[[64,64],[64,64]],\"Input type\":[\"c10::BFloat16\","
		     "\"c10::BFloat16\"],\"Concrete Inputs\":[\"\",\"\"]");
	script_call(&s, "cudaLaunchKernel", 150, 10, 1);
	script_kernel(&s, "gemm", 7, 1000, 900, 1);
	script_slice(&s, "cpu_op", "my::op", 1, 1, 500, 300, NULL);
	script_call(&s, "cudaLaunchKernel", 550, 10, 2);
	script_kernel(&s, "other", 7, 2000, other_ns, 2);
	trace = script_read(&s);
	trawl_report_options_init(&options);
	options.platform = "MI300X";
	report = report_of(trace, &options);
	snprintf(value, sizeof(value), "%s", step(report, "ProfilerStep#1", column));
	trawl_report_free(report);
	trawl_trace_free(trace);
	return value;
}

static void flops_of_a_step(void **state)
{
	(void)state;
	EDGE_OF(TW_LIMIT_MFU_COVERED_PERCENT);
	assert_float_equal(strtod(mfu_with(100, "MFU (%)"), NULL), 100 * 524288 / 708e6, 1e-12);
	assert_string_equal(mfu_with(101, "MFU (%)"), "");
	assert_string_equal(mfu_with(300, "FLOPs known (%)"), "75");
	assert_string_equal(mfu_with(300, "GFLOP"), "0.000524288");
}

/* ---- phases */

static void phases_of_a_server(void **state)
{
	struct trawl_trace *trace;
	struct trawl_report *report;
	struct script s;

	(void)state;
	script_begin(&s);
	annotate(&s, "ProfilerStep#1", 1, 1, 0, 1000);
	annotate(&s, "step[EXTEND bs=2 toks=300]", 1, 1, 0, 100);
	annotate(&s, "execute_3_context_0(sq0sk0sqsq0sqsk0)_generation_3(sq3sk9sqsq3sqsk9)", 1, 1,
		 200, 300);
	annotate(&s, "step[DECODE bs=3]", 1, 1, 210, 290); /* inside: no step of its own */
	annotate(&s, "step[DECODE bs=4]", 1, 1, 400, 500);
	launch(&s, 10, 1, "a", 20, 150);
	launch(&s, 220, 2, "b", 320, 60);
	launch(&s, 240, 3, "ncclDevKernel_AllReduce", 380, 40);
	launch(&s, 410, 4, "c", 440, 100);
	launch(&s, 600, 5, "d", 610, 10);
	trace = script_read(&s);
	report = report_of(trace, NULL);
	assert_int_equal(rows_of(report, "phases"), 6); /* with those of the rest */
	assert_string_equal(cell_at(report, "phases", 0, "phase"), "prefill");
	assert_string_equal(cell_at(report, "phases", 0, "busy by time (ms)"), "0.08");
	assert_string_equal(cell_at(report, "phases", 0, "tokens/busy s"), "2000000");
	assert_string_equal(cell_at(report, "phases", 1, "family"), "vllm");
	assert_string_equal(cell_at(report, "phases", 1, "exposed communication (ms)"), "0.04");
	assert_string_equal(cell_at(report, "phases", 1, "busy by time (ms)"), "0");
	assert_string_equal(cell_at(report, "phases", 2, "decode requests"), "4");
	assert_string_equal(
		cell_of(report, "phases", "name", "(launched outside)", "GPU time (ms)"), "0.01");
	assert_int_equal(rows_of(report, "phases_summary"), 3);
	assert_string_equal(cell_at(report, "phases_summary", 1, "family"), "vllm");
	assert_string_equal(cell_at(report, "phases_summary", 2, "tokens"), "4");
	EXPECT(report, "ProfilerStep#1", "tokens", "307");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* Steps of a thread that overlap are two; what lies within another one is none, to the last ns. */
static void phases_that_overlap(void **state)
{
	static const struct {
		int64_t start_ns, end_ns;
		const char *steps;
	} second[] = { { 99999, 200000, "2" },
		       { 99999, 100000, "1" },
		       { 0, 100001, "1" },
		       { 0, 99999, "1" } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(second) / sizeof(second[0]); i++) {
		struct trawl_trace *trace;
		struct trawl_report *report;
		struct script s;

		script_begin(&s);
		annotate(&s, "step[DECODE bs=2]", 1, 1, 0, 100);
		script_slice(&s, "user_annotation", "step[DECODE bs=3]", 1, 1, second[i].start_ns,
			     second[i].end_ns - second[i].start_ns, NULL);
		launch(&s, 10, 1, "a", 20, 5);
		launch(&s, 150, 2, "b", 160, 5);
		trace = script_read(&s);
		report = report_of(trace, NULL);
		assert_string_equal(cell_of(report, "phases_summary", "phase", "decode", "steps"),
				    second[i].steps);
		trawl_report_free(report);
		trawl_trace_free(trace);
	}
}

/* A step of the launch's own thread comes before one that another thread began later. */
static void phases_of_two_threads(void **state)
{
	struct trawl_trace *trace;
	struct trawl_report *report;
	struct script s;

	(void)state;
	script_begin(&s);
	annotate(&s, "step[EXTEND bs=1 toks=8]", 1, 1, 0, 100);
	annotate(&s, "step[DECODE bs=4]", 1, 2, 20, 200);
	launch(&s, 10, 1, "a", 20, 10);
	launch(&s, 50, 2, "b", 60, 10);
	launch(&s, 150, 3, "c", 160, 10); /* in none of its own */
	trace = script_read(&s);
	report = report_of(trace, NULL);
	assert_string_equal(cell_of(report, "phases", "phase", "prefill", "GPU time (ms)"), "0.02");
	assert_string_equal(cell_of(report, "phases", "phase", "decode", "GPU time (ms)"), "0.01");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* What one name does not say is not known of the sum. */
static void tokens_that_are_not_known(void **state)
{
	struct trawl_trace *trace;
	struct trawl_report *report;
	struct script s;

	(void)state;
	script_begin(&s);
	annotate(&s, "ProfilerStep#1", 1, 1, 0, 1000);
	annotate(&s, "step[MIXED bs=2]", 1, 1, 0, 100);
	annotate(&s, "step[MIXED c=1 g=1 c_sq=5 g_sq=1]", 1, 1, 100, 200);
	launch(&s, 10, 1, "a", 20, 150);
	trace = script_read(&s);
	report = report_of(trace, NULL);
	assert_string_equal(cell_at(report, "phases", 0, "tokens"), "");
	assert_string_equal(cell_at(report, "phases", 1, "tokens"), "6");
	assert_string_equal(cell_at(report, "phases_summary", 0, "tokens"), "");
	assert_string_equal(cell_at(report, "phases_summary", 0, "tokens/busy s"), "");
	EXPECT(report, "ProfilerStep#1", "tokens", "");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* ---- memory */

static void memory_of_a_step(void **state)
{
	static const char event[] =
		"{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":"
		"\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":%d,\"args\":{\"Total "
		"Allocated\":%d,\"Device Type\":%d}}";
	static const int said[][3] = { { -5, 900, 1 }, { 10, 300, 1 }, { 20, 500, 6 },
				       { 30, 800, 0 }, { 40, 400, 1 }, { 100, 700, 1 } };
	struct trawl_trace *trace;
	struct trawl_report *report;
	struct script s;
	char text[200];
	size_t i;

	(void)state;
	script_begin(&s);
	annotate(&s, "ProfilerStep#1", 1, 1, 0, 100);
	annotate(&s, "ProfilerStep#2", 1, 1, 100, 200);
	for (i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		snprintf(text, sizeof(text), event, said[i][0], said[i][1], said[i][2]);
		script_raw(&s, text);
	}
	launch(&s, 10, 1, "a", 20, 50);
	trace = script_read(&s);
	report = report_of(trace, NULL);
	EXPECT(report, "ProfilerStep#1", "max allocated (bytes)", "500");
	EXPECT(report, "ProfilerStep#2", "max allocated (bytes)", "700");
	trawl_report_free(report);
	trawl_trace_free(trace);
}

/* ---- ranges */

static struct trawl_report *range_of(const struct trawl_trace *trace, const char *name)
{
	struct trawl_report_options options;

	trawl_report_options_init(&options);
	options.range = name;
	return report_of(trace, &options);
}

static void expect_range(const struct trawl_trace *trace, const char *name, const char *busy)
{
	struct trawl_report *report = range_of(trace, name);

	assert_string_equal(cell_of(report, "gpu_timeline", "type", "busy_time", "time ms"), busy);
	trawl_report_free(report);
}

static void expect_no_range(const struct trawl_trace *trace, const char *name, const char *said)
{
	struct trawl_report_options options;
	struct trawl_report *report;
	struct trawl_error err;

	trawl_report_options_init(&options);
	options.range = name;
	assert_int_equal(trawl_report_new(&report, trace, &options, &err), TRAWL_EUSAGE);
	if (!strstr(err.message, said))
		fail_msg("%s", err.message);
}

static void ranges_by_name(void **state)
{
	struct trawl_trace *trace;
	struct script s;

	(void)state;
	script_begin(&s);
	annotate(&s, "step[DECODE bs=1]", 1, 1, 0, 100);
	annotate(&s, "step[DECODE bs=2]", 1, 1, 100, 200);
	annotate(&s, "load*", 1, 1, 200, 300);
	annotate(&s, "loader", 1, 1, 300, 400);
	launch(&s, 10, 1, "a", 20, 1);
	launch(&s, 110, 2, "b", 120, 2);
	launch(&s, 210, 3, "c", 220, 4);
	launch(&s, 310, 4, "d", 320, 8);
	trace = script_read(&s);
	expect_range(trace, "step[DECODE bs=1]", "0.001");
	expect_range(trace, "step[DECODE bs=?]", "0.003");
	expect_range(trace, "step*", "0.003");
	expect_range(trace, "*", "0.015");
	expect_range(trace, "load*", "0.004"); /* an exact name wins */
	expect_range(trace, "loa*", "0.012");
	expect_no_range(trace, "step[DE]*", "no annotation named 'step[DE]*'");
	expect_no_range(trace, "Loadr", "did you mean 'load*', 'loader'?");
	expect_no_range(trace, "step[DECODE bs=11]",
			"did you mean 'step[DECODE bs=1]', 'step[DECODE bs=2]'?");
	expect_no_range(trace, "xyz",
			"annotations: step[DECODE bs=1], step[DECODE bs=2], load*, loader");
	trawl_trace_free(trace);
}

/* An event of a trace without steps is in none. */
static void a_trace_without_steps(void **state)
{
	struct trawl_trace *trace;
	struct tw_spans spans;
	struct script s;

	(void)state;
	script_begin(&s);
	launch(&s, 10, 1, "a", 20, 1);
	trace = script_read(&s);
	assert_int_equal(tw_spans_of_steps(&spans, trace, trace->allocator), 0);
	assert_int_equal(spans.count, 0);
	assert_int_equal(tw_span_at(&spans, trace, 0), UINT32_MAX);
	tw_spans_release(&spans);
	trawl_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_inference_steps),
		cmocka_unit_test(wildcards),
		cmocka_unit_test(work_of_two_steps),
		cmocka_unit_test(step_of_a_view),
		cmocka_unit_test(steps_of_two_processes),
		cmocka_unit_test(steps_that_are_operations),
		cmocka_unit_test(step_and_phase_of_a_gpu_event),
		cmocka_unit_test(odd_steps),
		cmocka_unit_test(last_steps),
		cmocka_unit_test(a_number_that_comes_back),
		cmocka_unit_test(what_differs),
		cmocka_unit_test(one_launch),
		cmocka_unit_test(flops_of_a_step),
		cmocka_unit_test(phases_of_a_server),
		cmocka_unit_test(phases_that_overlap),
		cmocka_unit_test(phases_of_two_threads),
		cmocka_unit_test(tokens_that_are_not_known),
		cmocka_unit_test(memory_of_a_step),
		cmocka_unit_test(ranges_by_name),
		cmocka_unit_test(a_trace_without_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
