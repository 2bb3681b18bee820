/* Whose work a GPU event is: module, call site, pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "data/limits.h"
#include "edges.h"
#include "traces.h"

/* Times in microseconds, in all of this file. */
static void frame_of(struct script *s, const char *name, int tid, int start, int end)
{
	script_slice(s, "python_function", name, 1, tid, start * 1000LL, (end - start) * 1000LL,
		     NULL);
}

static void frame(struct script *s, const char *name, int start, int end)
{
	frame_of(s, name, 1, start, end);
}

static void op(struct script *s, const char *name, int tid, int start, int end, const char *args)
{
	script_slice(s, "cpu_op", name, 1, tid, start * 1000LL, (end - start) * 1000LL, args);
}

static void arrow_of(struct script *s, char phase, int id, int pid, int tid, int64_t at_ns)
{
	char text[200];

	snprintf(text, sizeof(text),
		 "{\"ph\":\"%c\",\"id\":%d,\"pid\":%d,\"tid\":%d,\"ts\":%lld.%03d,"
		 "\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"bp\":\"e\"}",
		 phase, id, pid, tid, (long long)(at_ns / 1000), (int)(at_ns % 1000));
	script_raw(s, text);
}

static void arrow(struct script *s, char phase, int id, int tid, int at)
{
	arrow_of(s, phase, id, 1, tid, at * 1000LL);
}

/* A call at `at` and a kernel that lasts `us`, one after the other on the GPU. */
static void kernel(struct script *s, int tid, int at, int us)
{
	static int id;
	char args[80];

	snprintf(args, sizeof(args), "\"correlation\":%d", ++id);
	script_slice(s, "cuda_runtime", "cudaLaunchKernel", 1, tid, at * 1000LL, 1000, args);
	snprintf(args, sizeof(args), "\"device\":0,\"stream\":7,\"correlation\":%d", id);
	script_slice(s, "kernel", "k", 0, 7, (100000 + id * 1000LL) * 1000, us * 1000LL, args);
}

static const char *cell(const struct trawl_report *r, const char *module, const char *header)
{
	return cell_of(r, "modules", "module", module, header);
}

static void test_self_and_total(void **state)
{
	struct script s;
	struct trawl_trace *trace;
	struct trawl_report *r;

	(void)state;
	script_begin(&s);
	frame(&s, "nn.Module: Net_0", 10, 100);
	frame(&s, "nn.Module: Linear_0", 20, 40);
	kernel(&s, 1, 25, 5);
	frame(&s, "nn.Module: Linear_1", 50, 60);
	kernel(&s, 1, 55, 7);
	kernel(&s, 1, 70, 11);
	kernel(&s, 1, 200, 13);
	script_kernel(&s, "lost", 7, 900000000, 17000, 999999);
	trace = script_read(&s);
	r = report_of(trace, NULL);
	assert_int_equal(rows_of(r, "modules"), 5);
	assert_string_equal(cell(r, "Net_0", "GPU time (ms)"), "0.023");
	assert_string_equal(cell(r, "Net_0", "self GPU time (ms)"), "0.011");
	assert_string_equal(cell(r, "Net_0", "GPU events"), "3");
	assert_string_equal(cell(r, "Net_0", "host time (ms)"), "0.09");
	assert_string_equal(cell(r, "Net_0 > Linear_1", "self GPU time (ms)"), "0.007");
	assert_string_equal(cell(r, "Net_0 > Linear_1", "depth"), "2");
	assert_string_equal(cell(r, "(none)", "self GPU time (ms)"), "0.013");
	assert_string_equal(cell(r, "(unlinked)", "self GPU time (ms)"), "0.017");
	assert_string_equal(cell(r, "(unlinked)", "forward (ms)"), "");
	assert_string_equal(cell_of(r, "reconciliation", "quantity", "modules", "time ns"),
			    "53000");
	assert_string_equal(
		cell_of(r, "reconciliation", "quantity", "modules_difference", "time ns"), "0");
	trawl_report_free(r);
	trawl_trace_free(trace);
}

/* Sequence numbers count on each thread; the arrow of one operation shows whose the id is. */
static void test_backward_of_two_forward_threads(void **state)
{
	struct script s;
	struct trawl_trace *trace;
	struct trawl_report *r;

	(void)state;
	script_begin(&s);
	frame_of(&s, "nn.Module: A_0", 1, 10, 50);
	op(&s, "aten::mm", 1, 12, 20, "\"Sequence number\":5");
	op(&s, "aten::relu", 1, 22, 30, "\"Sequence number\":6");
	frame_of(&s, "nn.Module: B_0", 2, 10, 50);
	op(&s, "aten::mm", 2, 13, 20, "\"Sequence number\":5");
	op(&s, "aten::relu", 2, 23, 30, "\"Sequence number\":6");
	/* Thread 4 of the engine is thread 1: its operation of number 6 has an arrow. */
	arrow(&s, 's', 77, 1, 22);
	op(&s, "autograd::engine::evaluate_function: ReluBackward0", 3, 100, 110,
	   "\"Sequence number\":6,\"Fwd thread id\":4");
	op(&s, "ReluBackward0", 3, 101, 109, "\"Sequence number\":6,\"Fwd thread id\":4");
	arrow(&s, 'f', 77, 3, 101);
	kernel(&s, 3, 102, 3);
	op(&s, "autograd::engine::evaluate_function: MmBackward0", 3, 120, 130,
	   "\"Sequence number\":5,\"Fwd thread id\":4");
	kernel(&s, 3, 122, 5);
	op(&s, "autograd::engine::evaluate_function: MmBackward0", 3, 140, 150,
	   "\"Sequence number\":5,\"Fwd thread id\":9");
	kernel(&s, 3, 142, 7);
	trace = script_read(&s);
	r = report_of(trace, NULL);
	assert_string_equal(cell(r, "A_0", "backward (ms)"), "0.008");
	assert_string_equal(cell(r, "B_0", "backward (ms)"), "0.007");
	assert_false(has_row(r, "modules", "module", "(none)"));
	trawl_report_free(r);
	trawl_trace_free(trace);
}

/*
 * Two processes with the same threads, sequence numbers and arrows: backward work stays in its own.  Process P
 * calls module 10 P + N with number N, and the kernel of its backward operation lasts that.
 */
static void backward_of_two_processes(bool arrows)
{
	struct script s;
	struct trawl_trace *trace;
	struct trawl_report *r;
	int pid, n;

	script_begin(&s);
	for (pid = 1; pid <= 2; pid++) {
		for (n = 1; n <= 2; n++) {
			int64_t forward = 20000 * n + 100 * pid, backward = 200000 + forward;
			char name[64], args[96];

			snprintf(name, sizeof(name), "nn.Module: M_%d%d", pid, n);
			script_slice(&s, "python_function", name, pid, 1, forward - 10, 9000, NULL);
			snprintf(args, sizeof(args), "\"Sequence number\":%d", n);
			script_slice(&s, "cpu_op", "aten::mm", pid, 1, forward, 8000, args);
			snprintf(args, sizeof(args), "\"Sequence number\":%d,\"Fwd thread id\":1",
				 n);
			script_slice(&s, "cpu_op", "MmBackward0", pid, 2, backward, 8000, args);
			snprintf(args, sizeof(args), "\"correlation\":%d", 10 * pid + n);
			script_slice(&s, "cuda_runtime", "cudaLaunchKernel", pid, 2, backward + 10,
				     100, args);
			snprintf(args, sizeof(args), "\"device\":0,\"stream\":7,\"correlation\":%d",
				 10 * pid + n);
			script_slice(&s, "kernel", "k", 0, 7, 1000000 + backward, 10 * pid + n,
				     args);
			if (!arrows)
				continue;
			arrow_of(&s, 's', n, pid, 1, forward);
			arrow_of(&s, 'f', n, pid, 2, backward);
		}
	}
	trace = script_read(&s);
	r = report_of(trace, NULL);
	assert_string_equal(cell(r, "M_11", "backward (ms)"), "0.000011");
	assert_string_equal(cell(r, "M_12", "backward (ms)"), "0.000012");
	assert_string_equal(cell(r, "M_21", "backward (ms)"), "0.000021");
	assert_string_equal(cell(r, "M_22", "backward (ms)"), "0.000022");
	trawl_report_free(r);
	trawl_trace_free(trace);
}

static void test_backward_of_two_processes(void **state)
{
	(void)state;
	backward_of_two_processes(false);
	backward_of_two_processes(true);
}

/* An operation may have the name of a frame. */
static void test_an_operation_named_like_a_module(void **state)
{
	struct script s;
	struct trawl_trace *trace;
	struct trawl_report *r;

	(void)state;
	script_begin(&s);
	op(&s, "nn.Module: Net_1", 1, 5, 8, NULL);
	frame_of(&s, "nn.Module: Net_1", 2, 10, 50);
	kernel(&s, 2, 20, 3);
	trace = script_read(&s);
	r = report_of(trace, NULL);
	assert_string_equal(cell(r, "Net_1", "GPU time (ms)"), "0.003");
	trawl_report_free(r);
	trawl_trace_free(trace);
}

/* A reentrant checkpoint, in frames and without its frame; and a path that begins in the middle. */
static void test_recomputation(void **state)
{
	struct script s;
	struct trawl_trace *trace;
	struct trawl_report *r;

	(void)state;
	script_begin(&s);
	frame(&s, "nn.Module: Net_0", 0, 90);
	frame(&s, "nn.Module: Block_0", 10, 50);
	frame(&s, "nn.Module: Linear_3", 12, 40);
	op(&s, "CheckpointFunction", 1, 11, 45, "\"Sequence number\":1");
	kernel(&s, 1, 20, 2);
	op(&s, "CheckpointFunctionBackward", 2, 100, 200,
	   "\"Sequence number\":1,\"Fwd thread id\":1");
	frame_of(&s, "nn.Module: Linear_3", 2, 110, 120);
	kernel(&s, 2, 115, 3);
	kernel(&s, 2, 130, 5);
	frame_of(&s, "/x/torch/utils/checkpoint.py(5): recompute_fn", 2, 300, 400);
	frame_of(&s, "nn.Module: Other_1", 2, 310, 320);
	kernel(&s, 2, 315, 7);
	frame_of(&s, "torch/utils/checkpoint.py(5): recompute_fn_of_mine", 2, 500, 600);
	kernel(&s, 2, 515, 11);
	trace = script_read(&s);
	r = report_of(trace, NULL);
	assert_string_equal(cell(r, "Net_0 > Block_0 > Linear_3", "recompute (ms)"), "0.003");
	assert_string_equal(cell(r, "Net_0 > Block_0 > Linear_3", "calls"), "2");
	assert_string_equal(cell(r, "Net_0 > Block_0 > Linear_3", "recomputed"), "1");
	/* Outside of modules: what the backward operation differentiates. */
	assert_string_equal(cell(r, "Net_0 > Block_0", "recompute (ms)"), "0.008");
	assert_string_equal(cell(r, "Net_0 > Block_0", "self GPU time (ms)"), "0.005");
	assert_string_equal(cell(r, "Other_1", "recompute (ms)"), "0.007");
	assert_string_equal(cell(r, "(none)", "forward (ms)"), "0.011");
	trawl_report_free(r);
	trawl_trace_free(trace);
}

/* Two forward operations in the scope of each other, of a damaged trace. */
static void test_forward_operations_in_a_circle(void **state)
{
	struct script s;
	struct trawl_trace *trace;
	struct trawl_report *r;

	(void)state;
	script_begin(&s);
	frame(&s, "nn.Module: Net_0", 900, 910);
	op(&s, "autograd::engine::evaluate_function: A", 1, 100, 200, "\"x\":1");
	op(&s, "aten::a", 1, 110, 150, NULL);
	kernel(&s, 1, 120, 3);
	op(&s, "autograd::engine::evaluate_function: B", 2, 100, 200, "\"x\":1");
	op(&s, "aten::b", 2, 110, 150, NULL);
	arrow(&s, 's', 1, 1, 110);
	arrow(&s, 'f', 1, 2, 110);
	arrow(&s, 's', 2, 2, 110);
	arrow(&s, 'f', 2, 1, 110);
	trace = script_read(&s);
	r = report_of(trace, NULL);
	assert_string_equal(cell(r, "(none)", "backward (ms)"), "0.003");
	trawl_report_free(r);
	trawl_trace_free(trace);
}

static struct trawl_report *nested(struct trawl_trace **trace, int depth)
{
	struct script s;
	char name[40];
	int i;

	script_begin(&s);
	for (i = 0; i < depth; i++) {
		snprintf(name, sizeof(name), "nn.Module: M_%d", i);
		frame(&s, name, 10 + i, 10 + 2 * depth + 10 - i);
	}
	kernel(&s, 1, 10 + depth, 3);
	*trace = script_read(&s);
	return report_of(*trace, NULL);
}

static void test_deep_modules(void **state)
{
	const int most = TW_LIMIT_MODULE_DEPTH, depths[] = { most - 1, most, most + 1, 30000 };
	struct trawl_trace *trace;
	struct trawl_report *r;
	char text[12];
	size_t i;

	(void)state;
	EDGE_OF(TW_LIMIT_MODULE_DEPTH);
	for (i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		int depth = depths[i] < most ? depths[i] : most;

		r = nested(&trace, depths[i]);
		assert_int_equal(rows_of(r, "modules"), depth);
		snprintf(text, sizeof(text), "%d", depth);
		assert_string_equal(cell_of(r, "modules", "self GPU time (ms)", "0.003", "depth"),
				    text);
		trawl_report_free(r);
		trawl_trace_free(trace);
	}
}

static void take_text(void *out, const char *text, size_t len)
{
	tw_str_add(out, text, len);
}

/* Frames and the call, as many as there is room for, and the kernel. */
static void test_deep_stacks(void **state)
{
	const int most = TW_LIMIT_STACK_DEPTH, frames[] = { most - 2, most - 1, most, 3000 };
	struct trawl_trace *trace;
	struct trawl_report *r;
	struct tw_str text;
	size_t i, k;

	(void)state;
	EDGE_OF(TW_LIMIT_STACK_DEPTH);
	for (i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		int names = 0, around = frames[i] + 1 < most ? frames[i] + 1 : most;

		r = nested(&trace, frames[i]);
		tw_str_init(&text, trawl_allocator_default());
		assert_int_equal(trawl_report_stacks(r, TRAWL_STACKS_FULL, take_text, &text, NULL),
				 0);
		for (k = 0; k < text.len; k++)
			names += text.ptr[k] == ';';
		assert_int_equal(names, around);
		assert_string_equal(text.ptr + text.len - 8, ";k 3000\n");
		tw_str_release(&text);
		trawl_report_free(r);
		trawl_trace_free(trace);
	}
}

/* Names as programs that read stacks expect them: no control characters, none empty. */
static void test_odd_names_in_stacks(void **state)
{
	static const char *const names[][2] = {
		{ "a;b", "a,b" },
		{ "\\u0000a\\u001b[1m", " a [1m" },
		{ "a\\r\\nb\\tc", "a  b c" },
		{ "a\\u007fb~", "a b~" },
		{ "é ", "é " },
		{ "", "(no name)" },
		{ " \\n", "(no name)" },
	};
	char right[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct script s;
		struct trawl_trace *trace;
		struct trawl_report *r;
		struct tw_str text;

		script_begin(&s);
		frame(&s, names[i][0], 10, 20);
		kernel(&s, 1, 12, 3);
		trace = script_read(&s);
		r = report_of(trace, NULL);
		tw_str_init(&text, trawl_allocator_default());
		assert_int_equal(trawl_report_stacks(r, TRAWL_STACKS_FULL, take_text, &text, NULL),
				 0);
		snprintf(right, sizeof(right), "%s;", names[i][1]);
		assert_memory_equal(text.ptr, right, strlen(right));
		assert_null(strstr(text.ptr, ";;"));
		tw_str_release(&text);
		trawl_report_free(r);
		trawl_trace_free(trace);
	}
}

/* Frames of a step that is looked at, and work of it alone. */
static void test_of_a_step(void **state)
{
	struct trawl_report_options options;
	struct script s;
	struct trawl_trace *trace;
	struct trawl_report *r;

	(void)state;
	script_begin(&s);
	script_slice(&s, "user_annotation", "ProfilerStep#1", 1, 1, 0, 100000, NULL);
	frame(&s, "nn.Module: Net_0", 10, 90);
	kernel(&s, 1, 20, 3);
	script_slice(&s, "user_annotation", "ProfilerStep#2", 1, 1, 100000, 100000, NULL);
	frame(&s, "nn.Module: Net_0", 110, 180);
	kernel(&s, 1, 120, 5);
	trace = script_read(&s);
	trawl_report_options_init(&options);
	options.step_first = options.step_last = 2;
	r = report_of(trace, &options);
	assert_string_equal(cell(r, "Net_0", "calls"), "1");
	assert_string_equal(cell(r, "Net_0", "host time (ms)"), "0.07");
	assert_string_equal(cell(r, "Net_0", "GPU time (ms)"), "0.005");
	trawl_report_free(r);
	trawl_trace_free(trace);
}

/* Of an export ranges are the path, and python functions, which it has none of, would be nothing. */
static void test_ranges_of_an_export(void **state)
{
	struct script s;
	struct trawl_trace *trace;
	struct trawl_report *r;
	uint32_t i;

	(void)state;
	script_begin(&s);
	script_slice(&s, "user_annotation", "step 1", 1, 1, 10000, 90000, NULL);
	script_slice(&s, "user_annotation", "layer_3", 1, 1, 20000, 20000, NULL);
	kernel(&s, 1, 25, 3);
	kernel(&s, 1, 60, 5);
	kernel(&s, 1, 200, 7);
	trace = script_read(&s);
	trace->by_process = true;
	for (i = 0; i < trace->track_count; i++)
		trace->tracks[i].pid = 1;
	r = report_of(trace, NULL);
	assert_string_equal(cell(r, "step 1", "GPU time (ms)"), "0.008");
	assert_string_equal(cell(r, "step 1 > layer_3", "self GPU time (ms)"), "0.003");
	assert_string_equal(cell(r, "(none)", "self GPU time (ms)"), "0.007");
	assert_string_equal(
		cell_of(r, "module_classes", "module_class", "step 1 > layer", "instances"), "1");
	assert_int_equal(rows_of(r, "call_sites"), 0);
	trawl_report_free(r);
	trawl_trace_free(trace);
}

/* A trace without frames has no such table. */
static void test_without_frames(void **state)
{
	struct script s;
	struct trawl_trace *trace;
	struct trawl_report *r;

	(void)state;
	script_begin(&s);
	kernel(&s, 1, 20, 3);
	trace = script_read(&s);
	r = report_of(trace, NULL);
	assert_int_equal(rows_of(r, "modules"), 0);
	assert_false(has_row(r, "reconciliation", "quantity", "modules"));
	trawl_report_free(r);
	trawl_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self_and_total),
		cmocka_unit_test(test_backward_of_two_forward_threads),
		cmocka_unit_test(test_backward_of_two_processes),
		cmocka_unit_test(test_an_operation_named_like_a_module),
		cmocka_unit_test(test_recomputation),
		cmocka_unit_test(test_forward_operations_in_a_circle),
		cmocka_unit_test(test_deep_modules),
		cmocka_unit_test(test_deep_stacks),
		cmocka_unit_test(test_odd_names_in_stacks),
		cmocka_unit_test(test_of_a_step),
		cmocka_unit_test(test_ranges_of_an_export),
		cmocka_unit_test(test_without_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
