/* What runs inside launches of GPU graphs, by captures and eager runs of other traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "edges.h"
#include "failing.h"
#include "instrumented.h"
#include "trace/reader.h"
#include "traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- traces: operators and kernels have a letter each, and take 10 us */

static struct script s;
static int64_t now_ns, gpu_ns;
static int id, thread, process, device;

static void start(void)
{
	script_begin(&s);
	now_ns = gpu_ns = 1000000;
	id = 0;
	thread = process = 1;
	device = 0;
}

static void call(const char *name, const char *args)
{
	script_slice(&s, "cuda_runtime", name, process, thread, now_ns, 1000, args);
	now_ns += 2000;
}

static void kernel(char letter, int stream, int64_t dur_ns, int correlation, const char *more)
{
	char name[8] = "k_", args[128];

	name[2] = letter;
	snprintf(args, sizeof(args), "\"device\":%d,\"stream\":%d,\"correlation\":%d%s", device,
		 stream, correlation, more);
	script_slice(&s, "kernel", name, device, stream, gpu_ns, dur_ns, args);
	gpu_ns += dur_ns;
}

enum how { NAMED, NAMELESS, EAGER };

/* An operator of this letter that launches the kernel of that one. */
static void op(char letter, char of_kernel, int rows, enum how how)
{
	char name[16] = "aten::op_", args[128];

	name[9] = letter;
	snprintf(args, sizeof(args), "\"Input Dims\":[[%d,4]]", rows);
	script_slice(&s, "cpu_op", name, 1, thread, now_ns, 10000, args);
	now_ns += 2000;
	snprintf(args, sizeof(args), "\"correlation\":%d", ++id);
	if (how == NAMED)
		snprintf(args, sizeof(args), "\"correlation\":%d,\"kernel\":\"k_%c\"", id,
			 of_kernel);
	if (how == EAGER)
		kernel(of_kernel, 7, 10000, id, "");
	call("cudaLaunchKernel", args);
	now_ns += 8000;
}

/* Operators of the letters, each with its own kernel. */
static void ops(const char *letters, int rows, enum how how)
{
	for (; *letters; letters++)
		op(*letters, *letters, rows, how);
}

static void capture(const char *letters, int rows, enum how how)
{
	call("cudaStreamBeginCapture", NULL);
	ops(letters, rows, how);
	call("cudaStreamEndCapture", NULL);
}

static struct trawl_trace *captured(const char *letters, int rows, enum how how)
{
	start();
	capture(letters, rows, how);
	return script_read(&s);
}

/* A launch of a graph with kernels of the letters, on stream 7, or on stream n, where each takes n 10 us. */
static void launch_on(const char *letters, const char *streams, const char *more)
{
	char args[64];

	snprintf(args, sizeof(args), "\"correlation\":%d", ++id);
	call("cudaGraphLaunch", args);
	if (gpu_ns < now_ns)
		gpu_ns = now_ns;
	for (; *letters; letters++) {
		int stream = *streams ? *streams++ - '0' : 7;

		kernel(*letters, stream, stream == 7 ? 10000 : stream * 10000, id, more);
	}
	now_ns = gpu_ns + 1000;
}

static void launch(const char *letters, const char *more)
{
	launch_on(letters, "", more);
}

static struct trawl_trace *replayed(const char *letters, int launches)
{
	start();
	while (launches--)
		launch(letters, "");
	return script_read(&s);
}

/* ---- reports: `from` is added, and freed */

static void add_source(struct trawl_trace *trace, struct trawl_trace *from,
		       enum trawl_graph_source kind)
{
	struct trawl_error err;

	assert_int_equal(trawl_trace_add_source(trace, from, "other.json", kind, &err), 0);
	trawl_trace_free(from);
}

static struct trawl_report *report(const struct trawl_trace *trace, bool accept_count)
{
	struct trawl_report_options options;

	trawl_report_options_init(&options);
	options.accept_count = accept_count;
	options.threads = 1;
	return report_of(trace, &options);
}

static void end(struct trawl_report *r, struct trawl_trace *trace)
{
	trawl_report_free(r);
	trawl_trace_free(trace);
}

static struct trawl_report *with_capture(struct trawl_trace *trace, struct trawl_trace *from)
{
	add_source(trace, from, TRAWL_GRAPH_CAPTURE);
	return report(trace, false);
}

static void check_count(const struct trawl_report *r, const char *operator_name, const char *count)
{
	assert_string_equal(cell_of(r, "ops_summary", "name", operator_name, "Count"), count);
}

static bool has_operator(const struct trawl_report *r, const char *name)
{
	return has_row(r, "ops_summary", "name", name);
}

static const char *difference(const struct trawl_report *r)
{
	return cell_of(r, "reconciliation", "quantity", "difference", "time ns");
}

static void operators_are_called_once_for_each_launch(void **state)
{
	struct trawl_trace *trace = replayed("abca", 3);
	struct trawl_report *r = with_capture(trace, captured("abca", 8, NAMED));

	(void)state;
	check_count(r, "aten::op_a", "6");
	check_count(r, "aten::op_b", "3");
	assert_false(has_operator(r, "cudaGraphLaunch"));
	assert_string_equal(cell_of(r, "ops_summary", "name", "aten::op_b", "via"), "graph");
	assert_string_equal(cell_of(r, "ops_unique_args", "name", "aten::op_b", "Input Dims"),
			    "((8, 4),)");
	assert_string_equal(difference(r), "0");
	assert_string_equal(cell_at(r, "graph_nodes", 3, "count"), "3");
	/* The host called none of them. */
	assert_false(has_row(r, "cpu_ops", "name", "aten::op_b"));
	end(r, trace);
}

static void without_a_source_there_is_no_column_of_it(void **state)
{
	struct trawl_trace *trace = replayed("ab", 1);
	struct trawl_report *r = report(trace, false);

	(void)state;
	assert_false(tw_table_has_column(trawl_report_find(r, "ops_summary"), "via"));
	assert_string_equal(cell_at(r, "graphs", 0, "source"), "kernel names");
	assert_string_equal(cell_at(r, "graph_nodes", 1, "source"), "kernel name");
	end(r, trace);
}

static void one_letter_off_is_another_model(void **state)
{
	struct trawl_trace *trace = replayed("abcd", 1);
	struct trawl_report *r = with_capture(trace, captured("abxd", 8, NAMED));

	(void)state;
	assert_true(has_operator(r, "cudaGraphLaunch"));
	assert_string_equal(cell_at(r, "graphs", 0, "note"),
			    "refused: best candidate other.json #0 matches 3 of 4 nodes, 1 calls "
			    "left over");
	end(r, trace);
}

/* ---- calls without names */

static void counts_alone_have_to_be_accepted(void **state)
{
	struct trawl_trace *trace = replayed("abc", 1);
	struct trawl_report *r = with_capture(trace, captured("xyz", 8, NAMELESS));

	(void)state;
	assert_true(has_operator(r, "cudaGraphLaunch"));
	assert_string_equal(cell_at(r, "graphs", 0, "source"), "capture by count only");
	assert_string_equal(cell_at(r, "graph_nodes", 1, "operator"), "aten::op_y");
	trawl_report_free(r);
	r = report(trace, true);
	check_count(r, "aten::op_y", "1");
	end(r, trace);
}

static struct trawl_trace *warmed_up(const char *before, int rows, const char *between)
{
	start();
	ops(before, rows, EAGER);
	ops(between, 8, EAGER);
	capture("abcab", 8, NAMELESS);
	return script_read(&s);
}

static const char *source_after(struct trawl_trace *from)
{
	static char source[64];
	struct trawl_trace *trace = replayed("abcab", 2);
	struct trawl_report *r = with_capture(trace, from);

	snprintf(source, sizeof(source), "%s", cell_at(r, "graphs", 0, "source"));
	end(r, trace);
	return source;
}

/* The last of several counts; at most 20 calls before the capture are looked at. */
static void a_warm_up_has_the_names(void **state)
{
	(void)state;
	assert_string_equal(source_after(warmed_up("abcab", 8, "")), "capture");
	assert_string_equal(source_after(warmed_up("abcababcab", 8, "xyz")), "capture");
	assert_string_equal(source_after(warmed_up("abcab", 8, "123456789012345")), "capture");
	assert_string_equal(source_after(warmed_up("abcab", 8, "1234567890123456")),
			    "capture by count only");
	assert_string_equal(source_after(warmed_up("abcab", 9, "")), "capture by count only");
	assert_string_equal(source_after(warmed_up("abca", 8, "")), "capture by count only");
}

/* ---- which calls are of a capture */

static void calls_of_other_threads_belong_to_the_capture_that_is_open(void **state)
{
	struct trawl_trace *trace = replayed("abc", 1);
	struct trawl_report *r;

	(void)state;
	start();
	op('x', 'x', 8, NAMED);
	call("cudaStreamBeginCapture", NULL);
	op('a', 'a', 8, NAMED);
	thread = 2;
	op('b', 'b', 8, NAMED);
	op('e', 'e', 8, EAGER);
	thread = 1;
	op('c', 'c', 8, NAMED);
	call("cudaStreamEndCapture", NULL);
	op('x', 'x', 8, NAMED);
	/* Begun and never ended: the next one ends it. */
	call("cudaStreamBeginCapture", NULL);
	op('y', 'y', 8, NAMED);
	call("cudaStreamBeginCapture", NULL);
	r = with_capture(trace, script_read(&s));
	assert_string_equal(cell_at(r, "graphs", 0, "match"), "equal");
	assert_string_equal(cell_at(r, "graphs", 0, "capture"), "other.json #0");
	assert_int_equal(trace->captures.list.count, 3);
	assert_int_equal(trace->captures.list.at[1].call_count, 1);
	assert_int_equal(trace->captures.list.at[2].call_count, 0);
	end(r, trace);
}

static void check_captures(size_t captures, const uint32_t *counts)
{
	struct trawl_trace *from = script_read(&s), *trace = replayed("abc", 1);
	size_t i;

	add_source(trace, from, TRAWL_GRAPH_CAPTURE);
	assert_int_equal(trace->captures.list.count, captures);
	for (i = 0; i < captures; i++)
		assert_int_equal(trace->captures.list.at[i].call_count, counts[i]);
	trawl_trace_free(trace);
}

static void begin_capture(const char *letters)
{
	call("cudaStreamBeginCapture", NULL);
	ops(letters, 8, NAMED);
}

static void end_capture(const char *letters)
{
	call("cudaStreamEndCapture", NULL);
	ops(letters, 8, NAMED);
}

/* Of two streams, by one thread: what comes after the end of the inner one is the outer one's. */
static void a_capture_within_another_ends_alone(void **state)
{
	const uint32_t counts[] = { 6, 2, 1 };

	(void)state;
	start();
	begin_capture("a");
	begin_capture("ab");
	end_capture("ab");
	begin_capture("a");
	end_capture("abc");
	end_capture("xyz");
	check_captures(3, counts);
}

/* Its calls end where the next one of its thread begins. */
static void a_capture_that_does_not_end_has_no_calls_behind_the_next_one(void **state)
{
	const uint32_t counts[] = { 2, 3, 1 };

	(void)state;
	start();
	begin_capture("ab");
	begin_capture("abc");
	end_capture("xyz");
	begin_capture("a");
	end_capture("x");
	check_captures(3, counts);
}

static void another_thread_may_end_a_capture(void **state)
{
	const uint32_t counts[] = { 1, 2, 3 };

	(void)state;
	start();
	end_capture("x");
	begin_capture("a");
	thread = 2;
	end_capture("x");
	thread = 1;
	ops("xyz", 8, NAMED);
	begin_capture("a");
	begin_capture("ab");
	thread = 2;
	end_capture("a");
	end_capture("x");
	thread = 1;
	ops("xyz", 8, NAMED);
	check_captures(3, (const uint32_t[]){ counts[0], counts[1], counts[1] });
	/* Of several threads each ends its own. */
	start();
	begin_capture("a");
	thread = 2;
	begin_capture("a");
	thread = 1;
	end_capture("");
	thread = 2;
	ops("b", 8, NAMED);
	end_capture("x");
	check_captures(2, counts);
}

static void a_trace_without_captures_is_said_to_be_one(void **state)
{
	struct trawl_trace *trace = replayed("a", 1), *from = replayed("a", 1);
	struct trawl_error err;

	(void)state;
	assert_int_equal(trawl_trace_add_source(trace, from, "x", TRAWL_GRAPH_CAPTURE, &err),
			 TRAWL_ENODATA);
	assert_non_null(strstr(err.message, "no graph capture"));
	assert_int_equal(trawl_trace_add_source(trace, from, "x", TRAWL_GRAPH_MAP, &err),
			 TRAWL_ENODATA);
	assert_non_null(strstr(err.message, "eager run"));
	trawl_trace_free(from);
	trawl_trace_free(trace);
}

/* ---- several captures that match */

/* Captures of kernels k_a and k_b by operators of these letters, of inputs with so many rows. */
static void capture_as(const char *letters, int rows)
{
	call("cudaStreamBeginCapture", NULL);
	op(letters[0], 'a', rows, NAMED);
	op(letters[1], 'b', rows, NAMED);
	call("cudaStreamEndCapture", NULL);
}

static void what_captures_do_not_agree_on_is_not_said(void **state)
{
	struct trawl_trace *trace = replayed("ab", 3);
	struct trawl_report *r;

	(void)state;
	start();
	capture_as("pq", 8);
	capture_as("pr", 16);
	r = with_capture(trace, script_read(&s));
	assert_string_equal(cell_at(r, "graphs", 0, "note"),
			    "1 other capture matches too, operators differ");
	assert_string_equal(cell_at(r, "graph_nodes", 0, "operator"), "aten::op_p");
	assert_string_equal(cell_at(r, "graph_nodes", 0, "Input Dims"), "");
	assert_string_equal(cell_at(r, "graph_nodes", 1, "operator"), "");
	check_count(r, "aten::op_p", "3");
	assert_string_equal(cell_of(r, "ops_unique_args", "name", "aten::op_p", "Input Dims"), "");
	check_count(r, "cudaGraphLaunch", "3");
	assert_string_equal(difference(r), "0");
	end(r, trace);
}

static void as_many_captures_as_launches_are_pieces(void **state)
{
	struct trawl_trace *trace = replayed("ab", 2);
	struct trawl_report *r;

	(void)state;
	start();
	capture_as("pq", 8);
	capture_as("pr", 16);
	r = with_capture(trace, script_read(&s));
	assert_int_equal(rows_of(r, "graphs"), 2);
	check_count(r, "aten::op_p", "2");
	check_count(r, "aten::op_q", "1");
	check_count(r, "aten::op_r", "1");
	end(r, trace);
}

/* With ids launches have no place: which capture the graph is of is not known. */
static void a_graph_with_an_id_has_no_place(void **state)
{
	struct trawl_trace *trace;
	struct trawl_report *r;

	(void)state;
	start();
	launch("ab", ",\"graph id\":5");
	launch("ab", ",\"graph id\":5");
	trace = script_read(&s);
	start();
	capture_as("pq", 8);
	capture_as("pr", 16);
	r = with_capture(trace, script_read(&s));
	assert_int_equal(rows_of(r, "graphs"), 1);
	assert_string_equal(cell_at(r, "graphs", 0, "note"),
			    "1 other capture matches too, operators differ");
	check_count(r, "aten::op_p", "2");
	assert_false(has_operator(r, "aten::op_q"));
	assert_string_equal(cell_of(r, "ops_unique_args", "name", "aten::op_p", "Input Dims"), "");
	end(r, trace);
}

/* Launches of the same nodes are one graph, of a single one too. */
static void launches_of_one_node_are_one_graph(void **state)
{
	struct trawl_trace *trace = replayed("a", 3);
	struct trawl_report *r = with_capture(trace, captured("a", 8, NAMED));

	(void)state;
	assert_int_equal(rows_of(r, "graphs"), 1);
	assert_string_equal(cell_at(r, "graphs", 0, "launches"), "3");
	check_count(r, "aten::op_a", "3");
	end(r, trace);
}

/* ---- graphs with ids */

static void an_id_makes_a_graph(void **state)
{
	struct trawl_trace *trace;
	struct trawl_report *r;

	(void)state;
	start();
	launch("abcab", ",\"graph id\":7");
	launch("abcab", ",\"graph id\":9");
	launch("xy", ",\"graph id\":7");
	launch("abcab", ",\"graph id\":7");
	trace = script_read(&s);
	r = with_capture(trace, captured("abcab", 8, NAMED));
	assert_int_equal(rows_of(r, "graphs"), 2);
	assert_string_equal(cell_at(r, "graphs", 0, "identity"), "id 7");
	assert_string_equal(cell_at(r, "graphs", 0, "launches"), "3");
	assert_string_equal(cell_at(r, "graphs", 0, "note"), "1 launch differs from the capture");
	check_count(r, "aten::op_a", "6");
	check_count(r, "cudaGraphLaunch", "1");
	assert_string_equal(difference(r), "0");
	end(r, trace);
}

/* Four of eight kernels are none of the capture's; all eight are. */
static void a_graph_has_the_capture_of_its_first_whole_launch(void **state)
{
	static const char *const counts[] = { "2", "2", "2", "2", "2", "2",
					      "2", "2", "3", "3", "3", "3" };
	struct trawl_trace *trace;
	struct trawl_report *r;
	char number[8];
	size_t i;

	(void)state;
	start();
	launch("efgh", ",\"graph id\":5");
	launch("efgh", ",\"graph id\":5");
	launch_on("abcdefgh", "77777778", ",\"graph id\":5");
	launch("efgh", ",\"graph id\":5");
	launch_on("abcdefgh", "77777778", ",\"graph id\":5");
	trace = script_read(&s);
	r = with_capture(trace, captured("abcdefgh", 8, NAMED));
	assert_int_equal(rows_of(r, "graphs"), 1);
	assert_string_equal(cell_at(r, "graphs", 0, "launches"), "5");
	assert_string_equal(cell_at(r, "graphs", 0, "nodes"), "8");
	assert_string_equal(cell_at(r, "graphs", 0, "streams"), "2");
	assert_string_equal(cell_at(r, "graphs", 0, "match"), "equal");
	assert_string_equal(cell_at(r, "graphs", 0, "note"), "3 launches differ from the capture");
	assert_int_equal(rows_of(r, "graph_nodes"), 12);
	for (i = 0; i < 12; i++) {
		snprintf(number, sizeof(number), "%zu", i);
		assert_string_equal(cell_at(r, "graph_nodes", i, "node"), number);
		assert_string_equal(cell_at(r, "graph_nodes", i, "count"), counts[i]);
		assert_string_equal(cell_at(r, "graph_nodes", i, "source"),
				    i < 8 ? "capture" : "kernel name");
	}
	assert_string_equal(cell_at(r, "graph_nodes", 8, "Kernel name"), "k_e");
	check_count(r, "aten::op_e", "2");
	check_count(r, "cudaGraphLaunch", "3");
	assert_string_equal(difference(r), "0");
	end(r, trace);
}

/* A graph that is updated: with a capture and without one. */
static void launches_with_equal_kernels_share_their_nodes(void **state)
{
	static const char *const counts[] = { "2", "2", "2", "3", "3", "2", "2" };
	int is_captured;
	size_t i;

	(void)state;
	for (is_captured = 0; is_captured < 2; is_captured++) {
		struct trawl_trace *trace;
		struct trawl_report *r;

		start();
		launch("abc", ",\"graph id\":5");
		launch("xy", ",\"graph id\":5");
		launch("vw", ",\"graph id\":5");
		launch("xy", ",\"graph id\":5");
		launch("vw", ",\"graph id\":5");
		launch("xy", ",\"graph id\":5");
		launch("abc", ",\"graph id\":5");
		trace = script_read(&s);
		r = is_captured ? with_capture(trace, captured("abc", 8, NAMED)) :
				  report(trace, false);
		assert_int_equal(rows_of(r, "graph_nodes"), 7);
		for (i = 0; i < 7; i++)
			assert_string_equal(cell_at(r, "graph_nodes", i, "count"), counts[i]);
		assert_string_equal(cell_at(r, "graphs", 0, "note"),
				    is_captured ? "5 launches differ from the capture" : "");
		end(r, trace);
	}
}

/* Kernels of stream 8 take 80 us, and come before or after those of stream 7 with their name. */
static void nodes_of_a_stream_stay_those_of_the_stream(void **state)
{
	struct trawl_trace *trace;
	struct trawl_report *r;

	(void)state;
	start();
	launch("c", ",\"graph id\":5");
	launch_on("aab", "787", ",\"graph id\":5");
	launch_on("aab", "877", ",\"graph id\":5");
	launch_on("aba", "778", ",\"graph id\":5");
	trace = script_read(&s);
	r = report(trace, false);
	assert_int_equal(rows_of(r, "graph_nodes"), 4);
	assert_string_equal(cell_at(r, "graph_nodes", 1, "mean (µs)"), "10");
	end(r, trace);
}

/* Ids, and captures of them, are those of a process and a device. */
static void equal_ids_of_others_are_other_graphs(void **state)
{
	struct trawl_trace *trace;
	struct trawl_report *r;
	int i;

	(void)state;
	start();
	for (i = 0; i < 2; i++) {
		process = 1, device = 0;
		launch("ab", ",\"graph id\":5");
		process = 2;
		launch("cd", ",\"graph id\":5");
		device = 1;
		launch("ef", ",\"graph id\":5");
	}
	trace = script_read(&s);
	start();
	capture("ab", 8, NAMED);
	capture("cd", 8, NAMED);
	capture("ef", 8, NAMED);
	r = with_capture(trace, script_read(&s));
	assert_int_equal(rows_of(r, "graphs"), 3);
	for (i = 0; i < 3; i++) {
		assert_string_equal(cell_at(r, "graphs", (size_t)i, "identity"), "id 5");
		assert_string_equal(cell_at(r, "graphs", (size_t)i, "launches"), "2");
		assert_string_equal(cell_at(r, "graphs", (size_t)i, "matched (%)"), "100");
	}
	end(r, trace);
}

/* Whichever of its devices is first. */
static void a_graph_on_two_devices_is_one(void **state)
{
	struct trawl_trace *trace;
	struct trawl_report *r;
	char args[32];
	int i;

	(void)state;
	start();
	for (i = 0; i < 2; i++) {
		snprintf(args, sizeof(args), "\"correlation\":%d", ++id);
		call("cudaGraphLaunch", args);
		device = i;
		kernel('a', 7, 10000, id, ",\"graph id\":5");
		device = !i;
		kernel('a', 7, 10000, id, ",\"graph id\":5");
	}
	trace = script_read(&s);
	r = report(trace, false);
	assert_int_equal(rows_of(r, "graphs"), 1);
	assert_int_equal(rows_of(r, "graph_nodes"), 2);
	end(r, trace);
}

/* Those of a graph launch without GPU events are none. */
static void operators_of_a_replay_know_their_launch(void **state)
{
	const struct tw_derive_options options = { .view = TW_VIEW_OPTIONS_INIT,
						   .allocator = trawl_allocator_default(),
						   .threads = 1 };
	struct trawl_trace *trace;
	struct tw_derived *d;
	uint64_t g;

	(void)state;
	start();
	launch("ab", "");
	launch("", "");
	launch("xy", "");
	launch("ab", "");
	launch("", "");
	trace = script_read(&s);
	add_source(trace, captured("ab", 8, NAMED), TRAWL_GRAPH_CAPTURE);
	assert_int_equal(tw_derive(&d, trace, &options, NULL), 0);
	assert_int_equal(d->gpu.count, 6);
	for (g = 0; g < 6; g++) {
		assert_int_equal(tw_graph_call(d, d->gpu.origin[g]), d->gpu.launch[g]);
		assert_int_equal(d->gpu.origin[g] < d->host.count, g == 2 || g == 3);
	}
	tw_derived_free(d);
	trawl_trace_free(trace);
}

/* ---- eager runs */

/* By letters of operators, of their kernels, and digits for the rows of their inputs. */
static struct trawl_report *mapped(struct trawl_trace **trace, const char *nodes,
				   const char *letters, const char *kernels, const char *rows)
{
	*trace = replayed(nodes, 1);
	start();
	for (; *letters; letters++, kernels++, rows++)
		op(*letters, *kernels, *rows - '0', EAGER);
	add_source(*trace, script_read(&s), TRAWL_GRAPH_MAP);
	return report(*trace, false);
}

/* Rows of its inputs by node, "-": none; and letters of operators, "-": not known. */
static void check_places(const char *nodes, const char *letters, const char *kernels,
			 const char *rows, const char *right_letters, const char *right_rows)
{
	struct trawl_trace *trace;
	struct trawl_report *r = mapped(&trace, nodes, letters, kernels, rows);
	size_t i;

	for (i = 0; nodes[i]; i++) {
		const char *name = cell_at(r, "graph_nodes", i, "operator");
		const char *dims = cell_at(r, "graph_nodes", i, "Input Dims");

		assert_int_equal(*name ? name[strlen("aten::op_")] : '-', right_letters[i]);
		assert_int_equal(*dims ? dims[2] : '-', right_rows[i]);
	}
	assert_string_equal(difference(r), "0");
	end(r, trace);
}

/* A graph of decoding, and an eager run that prefills first with other GEMMs. */
static void a_place_in_an_eager_run_is_the_nearest(void **state)
{
	(void)state;
	check_places("abab", "pmqmrnsn", "axaxabab", "12345678", "rnsn", "5678");
	/* The earliest of one that nodes without a place are in too: they are as far apart. */
	check_places("aza", "pqmr", "aaxa", "1234", "q-r", "2-4");
	check_places("azza", "pmnqr", "axxaa", "12345", "p--q", "1--4");
	check_places("azz", "p", "a", "1", "p--", "1--");
}

/* Where there are several such places, what they agree on. */
static void places_as_near_have_to_agree(void **state)
{
	(void)state;
	/* The operator is known by its name. */
	check_places("ab", "pnpn", "abab", "1323", "pn", "-3");
	check_places("ab", "pnqn", "abab", "1313", "-n", "-3");
	check_places("aba", "pnpnp", "ababa", "12323", "pnp", "-23");
	/* Farther ones do not count, before or after the nearest. */
	check_places("ab", "pmnqn", "axbab", "11122", "qn", "22");
	check_places("ab", "qnpmn", "abaxb", "22111", "qn", "22");
	/* One place, with several calls that the node may be. */
	check_places("abc", "pnno", "abbc", "1234", "pno", "1-4");
	check_places("abc", "pnno", "abbc", "1224", "pno", "124");
}

static void modules_of_places_have_to_agree(void **state)
{
	struct trawl_trace *trace = replayed("ab", 1);
	struct trawl_report *r;
	int i;

	(void)state;
	start();
	for (i = 0; i < 2; i++) {
		char name[32];

		snprintf(name, sizeof(name), "nn.Module: Layer_%d", i);
		script_slice(&s, "python_function", name, 1, thread, now_ns, 11000, NULL);
		op('p', 'a', 8, EAGER);
		now_ns += 2000;
		script_slice(&s, "python_function", "nn.Module: Head_0", 1, thread, now_ns, 11000,
			     NULL);
		op('q', 'b', 8, EAGER);
		now_ns += 2000;
	}
	add_source(trace, script_read(&s), TRAWL_GRAPH_MAP);
	r = report(trace, false);
	assert_string_equal(cell_at(r, "graph_nodes", 0, "operator"), "aten::op_p");
	assert_string_equal(cell_at(r, "graph_nodes", 0, "module"), "");
	assert_string_equal(cell_at(r, "graph_nodes", 0, "Input Dims"), "((8, 4),)");
	assert_string_equal(cell_at(r, "graph_nodes", 1, "module"), "Head_0");
	end(r, trace);
}

static void an_eager_run_knows_by_name_and_by_place(void **state)
{
	struct trawl_trace *trace = replayed("xabcad", 2);
	struct trawl_report *r;

	(void)state;
	start();
	op('p', 'a', 8, EAGER);
	op('b', 'b', 8, EAGER);
	op('q', 'a', 8, EAGER);
	op('c', 'c', 8, EAGER);
	op('b', 'b', 16, EAGER);
	add_source(trace, script_read(&s), TRAWL_GRAPH_MAP);
	r = report(trace, false);
	assert_string_equal(cell_at(r, "graph_nodes", 0, "operator"), "");
	assert_string_equal(cell_at(r, "graph_nodes", 1, "operator"), "aten::op_p");
	assert_string_equal(cell_at(r, "graph_nodes", 1, "source"), "eager run: place");
	assert_string_equal(cell_at(r, "graph_nodes", 2, "source"), "eager run: name");
	assert_string_equal(cell_at(r, "graph_nodes", 2, "Input Dims"), "((8, 4),)");
	assert_string_equal(cell_at(r, "graph_nodes", 3, "operator"), "aten::op_c");
	/* Of a b c and a b a, as long, the one with the earlier calls: k_c has no place. */
	assert_string_equal(cell_at(r, "graph_nodes", 3, "Input Dims"), "");
	assert_string_equal(cell_at(r, "graph_nodes", 4, "operator"), "aten::op_q");
	assert_string_equal(cell_at(r, "graphs", 0, "source"), "eager run");
	assert_string_equal(cell_at(r, "graphs", 0, "matched (ms)"), "0.08");
	check_count(r, "aten::op_p", "2");
	assert_string_equal(difference(r), "0");
	end(r, trace);
}

/* 12,000 places of 6,000 nodes each are more than are compared: none is sure, though all agree. */
static void what_is_not_compared_is_not_said(void **state)
{
	static char nodes[6001], letters[18001], rows[18001];
	static const struct {
		int count;
		const char *dims;
	} cases[] = { { 100, "((8, 4),)" }, { 6000, "" } };
	size_t i;

	(void)state;
	memset(letters, 'a', sizeof(letters) - 1);
	memset(rows, '8', sizeof(rows) - 1);
	for (i = 0; i < (full_run() ? 2 : 1); i++) {
		struct trawl_trace *trace;
		struct trawl_report *r;

		memset(nodes, 'a', (size_t)cases[i].count);
		r = mapped(&trace, nodes, letters, letters, rows);
		assert_string_equal(cell_at(r, "graph_nodes", 0, "operator"), "aten::op_a");
		assert_string_equal(cell_at(r, "graph_nodes", 0, "Input Dims"), cases[i].dims);
		end(r, trace);
	}
}

/* ---- the notice */

/* Whether it is given where the graph takes so much of 100 us. */
static bool is_told(int64_t graph_ns)
{
	struct trawl_trace *trace;
	struct trawl_report *r;
	struct tw_str text;
	bool told;

	start();
	op('e', 'e', 8, EAGER);
	kernel('d', 7, 90000 - graph_ns, 99, "");
	call("cudaGraphLaunch", "\"correlation\":2");
	gpu_ns += 100000;
	kernel('a', 7, graph_ns, 2, "");
	trace = script_read(&s);
	r = report(trace, false);
	tw_str_init(&text, trawl_allocator_default());
	told = tw_graph_notice(tw_report_input(r), &text);
	assert_int_equal(told, text.len > 0);
	assert_int_equal(trawl_table_notes(trawl_report_find(r, "graphs")), told);
	tw_str_release(&text);
	end(r, trace);
	return told;
}

static void a_fifth_of_the_gpu_time_in_graphs_is_told(void **state)
{
	(void)state;
	EDGE_OF(TW_LIMIT_GRAPH_UNKNOWN_PERCENT);
	assert_true(is_told(20000));
	assert_false(is_told(19999));
}

static void what_is_known_is_not_told(void **state)
{
	struct trawl_trace *trace = replayed("abc", 1);
	struct trawl_report *r = with_capture(trace, captured("abc", 8, NAMED));

	(void)state;
	assert_int_equal(trawl_table_notes(trawl_report_find(r, "graphs")), 0);
	end(r, trace);
}

/* ---- memory */

static int add_and_report(const struct trawl_allocator *allocator, struct trawl_trace *trace,
			  const struct trawl_trace *capture, const struct trawl_trace *eager)
{
	const struct trawl_allocator *own = trace->allocator;
	struct tw_derive_options options = { .view = TW_VIEW_OPTIONS_INIT,
					     .allocator = allocator,
					     .threads = 1 };
	struct tw_derived *d = NULL;
	int status = trawl_trace_add_source(trace, capture, "c", TRAWL_GRAPH_CAPTURE, NULL);

	assert_ptr_equal(own, trace->allocator);
	if (!status)
		status = trawl_trace_add_source(trace, eager, "e", TRAWL_GRAPH_MAP, NULL);
	if (!status)
		status = tw_derive(&d, trace, &options, NULL);
	tw_derived_free(d);
	return status;
}

/* Two replays that match, one that lost an event, others that do not. */
static struct trawl_trace *read_with(const struct trawl_allocator *allocator)
{
	const struct tw_feed_options feed_options = { .allocator = allocator, .end = -1 };
	const struct trawl_read_options read = { .allocator = allocator, .threads = 1 };
	struct trawl_trace *trace = tw_trace_new(allocator);
	struct tw_feed *feed;

	start();
	launch("abcab", ",\"graph id\":7");
	launch("abcab", ",\"graph id\":7");
	launch("abcb", ",\"graph id\":7");
	launch("abxcab", "");
	launch("abxcab", "");
	launch("abxcb", "");
	tw_str_add_cstr(&s.text, "]}");
	assert_int_equal(tw_feed_open_memory(&feed, s.text.ptr, s.text.len, &feed_options, NULL),
			 0);
	assert_int_equal(tw_kineto_read(trace, feed, &read, NULL), 0);
	assert_int_equal(tw_trace_finish(trace), 0);
	tw_str_release(&s.text);
	return trace;
}

static void nothing_leaks_where_memory_runs_out(void **state)
{
	struct trawl_trace *capture = warmed_up("abcab", 8, ""), *eager;
	struct failing failing;
	long n;
	int status = 1;

	(void)state;
	start();
	ops("abcxab", 8, EAGER);
	eager = script_read(&s);
	for (n = 0; status; n++) {
		struct trawl_trace *trace;

		failing_init(&failing, -1);
		trace = read_with(&failing.allocator);
		failing.left = n;
		status = add_and_report(&failing.allocator, trace, capture, eager);
		assert_true(status == 0 || status == TRAWL_ENOMEM);
		trawl_trace_free(trace);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
	}
	assert_true(n > 100);
	trawl_trace_free(capture);
	trawl_trace_free(eager);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operators_are_called_once_for_each_launch),
		cmocka_unit_test(without_a_source_there_is_no_column_of_it),
		cmocka_unit_test(one_letter_off_is_another_model),
		cmocka_unit_test(counts_alone_have_to_be_accepted),
		cmocka_unit_test(a_warm_up_has_the_names),
		cmocka_unit_test(calls_of_other_threads_belong_to_the_capture_that_is_open),
		cmocka_unit_test(a_trace_without_captures_is_said_to_be_one),
		cmocka_unit_test(what_captures_do_not_agree_on_is_not_said),
		cmocka_unit_test(as_many_captures_as_launches_are_pieces),
		cmocka_unit_test(launches_of_one_node_are_one_graph),
		cmocka_unit_test(an_id_makes_a_graph),
		cmocka_unit_test(an_eager_run_knows_by_name_and_by_place),
		cmocka_unit_test(a_fifth_of_the_gpu_time_in_graphs_is_told),
		cmocka_unit_test(what_is_known_is_not_told),
		cmocka_unit_test(a_capture_within_another_ends_alone),
		cmocka_unit_test(a_capture_that_does_not_end_has_no_calls_behind_the_next_one),
		cmocka_unit_test(another_thread_may_end_a_capture),
		cmocka_unit_test(a_graph_with_an_id_has_no_place),
		cmocka_unit_test(a_graph_has_the_capture_of_its_first_whole_launch),
		cmocka_unit_test(launches_with_equal_kernels_share_their_nodes),
		cmocka_unit_test(nodes_of_a_stream_stay_those_of_the_stream),
		cmocka_unit_test(equal_ids_of_others_are_other_graphs),
		cmocka_unit_test(a_graph_on_two_devices_is_one),
		cmocka_unit_test(operators_of_a_replay_know_their_launch),
		cmocka_unit_test(a_place_in_an_eager_run_is_the_nearest),
		cmocka_unit_test(places_as_near_have_to_agree),
		cmocka_unit_test(modules_of_places_have_to_agree),
		cmocka_unit_test(what_is_not_compared_is_not_said),
		cmocka_unit_test(nothing_leaks_where_memory_runs_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
