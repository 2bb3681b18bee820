/* The GPU work: its order, its streams, its kinds, ends that come too late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "traces.h"

static void in_order_of_start_then_of_the_input(void **state)
{
	static const char *const order[] = { "e", "b", "d", "a", "c" };
	struct script s;
	struct trawl_trace *t;
	struct tw_derived *d;
	uint64_t g;

	script_begin(&s);
	script_kernel(&s, "a", 7, 300, 10, 0);
	script_kernel(&s, "b", 7, 200, 10, 0);
	script_kernel(&s, "c", 9, 300, 90, 0);
	script_copy(&s, "d", 7, 200, 90, 0);
	script_kernel(&s, "e", 7, 100, 10, 0);
	/* None of these is GPU work with a time. */
	script_op(&s, "op", 100, 10);
	script_slice(&s, "gpu_user_annotation", "step", 0, 7, 0, 1000, NULL);
	script_raw(&s, "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"lost\",\"ts\":0,\"dur\":0}");
	script_raw(&s, "{\"ph\":\"i\",\"cat\":\"kernel\",\"name\":\"mark\",\"ts\":1}");
	t = script_read(&s);
	d = derive(t, NULL);
	assert_int_equal(d->gpu.count, 5);
	for (g = 0; g < 5; g++)
		assert_string_equal(name_of(t, d->gpu.event[g]), order[g]);
	assert_int_equal(d->gpu.start_ns[4], 300);
	assert_int_equal(d->gpu.end_ns[4], 390);
	tw_derived_free(d);
	trawl_trace_free(t);
}

static void streams_are_listed_as_people_count(void **state)
{
	static const char *const given[][2] = {
		{ "0", "10" },	     { "1", "7" },
		{ "0", "7" },	     { "10", "7" },
		{ "2", "\"main\"" }, { "2", "18446744073709551615" },
		{ "2", "\"7\"" },    { "2", "140737353832256" },
		{ "\"GPU\"", "1" },  { "0", "\"0x7f\"" },
		{ "0", "7" },	     { "2", "-3" },
	};
	static const char *const order[][2] = {
		{ "0", "7" },
		{ "0", "10" },
		{ "0", "0x7f" },
		{ "1", "7" },
		{ "2", "-3" },
		{ "2", "7" },
		{ "2", "140737353832256" },
		{ "2", "18446744073709551615" },
		{ "2", "main" },
		{ "10", "7" },
		{ "GPU", "1" },
	};
	struct script s;
	struct trawl_trace *t;
	struct tw_derived *d;
	char args[100];
	size_t i, n = 0;
	uint32_t q;

	script_begin(&s);
	for (i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		snprintf(args, sizeof(args), "\"device\":%s,\"stream\":%s", given[i][0],
			 given[i][1]);
		script_slice(&s, "kernel", "k", 5, 5, 1000 + (int)i, 10, args);
	}
	t = script_read(&s);
	d = derive(t, NULL);
	for (q = 0; q < d->gpu.queue_count; q++) {
		const struct tw_queue *queue = &d->gpu.queues[q];

		if (queue->device == TW_CODE_NONE && queue->stream == TW_CODE_NONE)
			continue;
		assert_true(n < sizeof(order) / sizeof(order[0]));
		assert_string_equal(code_of(t, queue->device), order[n][0]);
		assert_string_equal(code_of(t, queue->stream), order[n][1]);
		n++;
	}
	assert_int_equal(n, sizeof(order) / sizeof(order[0]));
	for (i = 0; i < d->gpu.count; i++) {
		const struct tw_queue *queue = &d->gpu.queues[d->gpu.queue[i]];
		const struct tw_track *track = &t->tracks[t->events.track[d->gpu.event[i]]];

		assert_true(queue->device == track->device && queue->stream == track->stream);
	}
	tw_derived_free(d);
	trawl_trace_free(t);
}

/* Also GPU events that say neither where they ran nor on which thread. */
static void events_without_a_place(void **state)
{
	struct trawl_trace *t = TRACE_OF(
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":1,\"dur\":1}",
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"ts\":2,\"dur\":1,\"pid\":0,\"tid\":7}",
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"c\",\"ts\":3,\"dur\":1,\"pid\":null}");
	struct tw_derived *d = derive(t, NULL);
	uint64_t g;

	assert_int_equal(d->gpu.count, 3);
	for (g = 0; g < 3; g++)
		assert_true(d->gpu.queue[g] < d->gpu.queue_count);
	assert_int_equal(d->gpu.queue[0], d->gpu.queue[2]);
	assert_int_not_equal(d->gpu.queue[0], d->gpu.queue[1]);
	tw_derived_free(d);
	trawl_trace_free(t);
}

static void kinds_by_class_and_name(void **state)
{
	static const struct {
		const char *category, *name;
		enum tw_bucket bucket;
	} cases[] = {
		{ "kernel", "gemm_f32", TW_COMPUTE },
		{ "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", TW_COMMUNICATION },
		{ "kernel", "void vllm::cross_device_reduce_1stage<float, 2>", TW_COMMUNICATION },
		{ "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", TW_COPY },
		/* A copy is a copy whatever its name. */
		{ "gpu_memcpy", "nccl copy", TW_COPY },
		{ "gpu_memset", "Memset (Device)", TW_COMPUTE },
		{ "gpu_memset", "ncclMemset", TW_COMMUNICATION },
		/* Older ROCm. */
		{ "kernel", "__amd_rocclr_copyBuffer.kd", TW_COPY },
		{ "kernel", "MEMORY_COPY_HOST_TO_DEVICE", TW_COPY },
		{ "kernel", "__amd_rocclr_fillBufferAligned.kd", TW_COMPUTE },
		{ "gpu_memset", "__amd_rocclr_copyBuffer", TW_COMPUTE },
	};
	struct script s;
	struct trawl_trace *t;
	struct tw_derived *d;
	size_t i, n = sizeof(cases) / sizeof(cases[0]);

	script_begin(&s);
	for (i = 0; i < n; i++)
		script_slice(&s, cases[i].category, cases[i].name, 0, 7, 1000 * (int)(i + 1), 10,
			     NULL);
	t = script_read(&s);
	d = derive(t, NULL);
	assert_int_equal(d->gpu.count, n);
	for (i = 0; i < n; i++)
		if (d->gpu.bucket[i] != cases[i].bucket)
			fail_msg("%s %s: %d", cases[i].category, cases[i].name, d->gpu.bucket[i]);
	assert_null(tw_gpu_known(d, 0));
	assert_string_equal(tw_gpu_known(d, 1)->collective, "allreduce");
	tw_derived_free(d);
	trawl_trace_free(t);
}

/* a runs over the whole of b; c and d merely overlap; on stream 9 nothing is wrong. */
static struct trawl_trace *overruns(void)
{
	struct script s;

	script_begin(&s);
	script_kernel(&s, "a", 7, 100, 500, 0);
	script_kernel(&s, "b", 7, 200, 100, 0);
	script_kernel(&s, "c", 7, 700, 100, 0);
	script_kernel(&s, "d", 7, 750, 100, 0);
	script_kernel(&s, "e", 9, 100, 500, 0);
	/* Ends with the one before, starts with it. */
	script_kernel(&s, "f", 11, 100, 500, 0);
	script_kernel(&s, "g", 11, 300, 300, 0);
	script_kernel(&s, "h", 13, 100, 500, 0);
	script_kernel(&s, "i", 13, 100, 300, 0);
	return script_read(&s);
}

static int64_t end_of(const struct tw_derived *d, const char *name)
{
	return d->gpu.end_ns[gpu_named(d, name)];
}

static void overruns_are_counted_and_left(void **state)
{
	struct trawl_trace *t = overruns();
	struct tw_derived *d = derive(t, NULL);

	assert_int_equal(DERIVED(d, kernel_overrun), 2);
	assert_int_equal(DERIVED_EVENT(d, kernel_overrun), 0);
	assert_int_equal(end_of(d, "a"), 600);
	assert_int_equal(end_of(d, "f"), 600);
	tw_derived_free(d);
	trawl_trace_free(t);
}

static void overruns_are_clipped_when_asked_for(void **state)
{
	struct tw_derive_options options = { .clip_overruns = true, .view = TW_VIEW_OPTIONS_INIT };
	struct trawl_trace *t = overruns();
	struct tw_derived *d = derive(t, &options);

	assert_int_equal(DERIVED(d, kernel_overrun), 2);
	assert_int_equal(end_of(d, "a"), 200);
	assert_int_equal(end_of(d, "b"), 300);
	assert_int_equal(end_of(d, "f"), 300);
	/* Programmatic launches let a kernel start before the last one ends. */
	assert_int_equal(end_of(d, "c"), 800);
	assert_int_equal(end_of(d, "d"), 850);
	assert_int_equal(end_of(d, "e"), 600);
	assert_int_equal(end_of(d, "h"), 600);
	tw_derived_free(d);
	/* Clipping comes before the view: what is cut off does not reach into it. */
	options.view.start_ns = 400;
	d = derive(t, &options);
	assert_int_equal(d->gpu.count, 5);
	assert_int_equal(d->gpu.start_ns[gpu_named(d, "e")], 400);
	assert_int_equal(d->gpu.start_ns[gpu_named(d, "g")], 400);
	tw_derived_free(d);
	trawl_trace_free(t);
}

static void one_kernel_over_several(void **state)
{
	struct tw_derive_options options = { .clip_overruns = true, .view = TW_VIEW_OPTIONS_INIT };
	struct script s;
	struct trawl_trace *t;
	struct tw_derived *d;

	script_begin(&s);
	script_kernel(&s, "long", 7, 100, 1000, 0);
	script_kernel(&s, "one", 7, 200, 100, 0);
	script_kernel(&s, "two", 7, 300, 100, 0);
	script_kernel(&s, "three", 7, 400, 100, 0);
	t = script_read(&s);
	d = derive(t, &options);
	/* Kernels are counted, not what they run over. */
	assert_int_equal(DERIVED(d, kernel_overrun), 1);
	assert_int_equal(end_of(d, "long"), 200);
	tw_derived_free(d);
	trawl_trace_free(t);
}

/* An event without length is in the window in which it begins. */
static void moments_at_the_edges_of_a_view(void **state)
{
	struct tw_derive_options options = { .view = TW_VIEW_OPTIONS_INIT };
	struct script s;
	struct trawl_trace *t;
	struct tw_derived *d;

	script_begin(&s);
	script_kernel(&s, "before", 7, 99, 0, 0);
	script_kernel(&s, "up to", 7, 50, 50, 0);
	script_kernel(&s, "at the start", 7, 100, 0, 0);
	script_kernel(&s, "inside", 7, 150, 0, 0);
	script_kernel(&s, "at the end", 7, 200, 0, 0);
	t = script_read(&s);
	options.view.start_ns = 100;
	options.view.end_ns = 200;
	d = derive(t, &options);
	assert_int_equal(d->gpu.count, 2);
	assert_string_equal(name_of(t, d->gpu.event[0]), "at the start");
	assert_string_equal(name_of(t, d->gpu.event[1]), "inside");
	tw_derived_free(d);
	trawl_trace_free(t);
}

static void no_gpu_events(void **state)
{
	struct script s;
	struct trawl_trace *t;
	struct tw_derived *d;

	script_begin(&s);
	script_op(&s, "a", 0, 10);
	t = script_read(&s);
	d = derive(t, NULL);
	assert_int_equal(d->gpu.count, 0);
	assert_int_equal(DERIVED(d, no_gpu_events), 1);
	tw_derived_free(d);
	trawl_trace_free(t);
}

/* ---- names of processes and threads */

static const char *named(const struct tw_derived *d, const char *event, char what)
{
	uint32_t track = d->trace->events.track[event_named(d->trace, event)];
	const struct tw_track_names *n = &d->names.tracks[track];
	uint32_t id = what == 'p' ? n->process : what == 'l' ? n->labels : n->thread;

	return tw_pool_text(&d->trace->texts, id, NULL);
}

#define META(name, pid, tid, args)                                         \
	"{\"ph\":\"M\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid \
	",\"ts\":0,\"args\":{" args "}}"

static void names_of_processes_and_threads(void **state)
{
	struct trawl_trace *t = TRACE_OF(
		META("process_name", "1", "0", "\"name\":\"python\""),
		META("process_labels", "1", "0", "\"labels\":\"CPU\""),
		META("thread_name", "1", "11", "\"name\":\"main\""),
		META("thread_name", "1", "12", "\"name\":\"first\""),
		META("process_sort_index", "1", "0", "\"sort_index\":5"),
		META("some_new_thing", "1", "11", "\"name\":\"wrong\""),
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":11,\"ts\":1,\"dur\":1}",
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":1,\"tid\":12,\"ts\":1,\"dur\":1}",
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"c\",\"pid\":2,\"tid\":11,\"ts\":1,\"dur\":1}",
		/* Behind the events, and another name for the same thread: the last one counts. */
		META("thread_name", "1", "12", "\"name\":\"second\""),
		META("process_name", "3", "0", "\"name\":\"nobody\""));
	struct tw_derived *d = derive(t, NULL);

	assert_kinds(t, 0);
	assert_string_equal(named(d, "a", 'p'), "python");
	assert_string_equal(named(d, "a", 'l'), "CPU");
	assert_string_equal(named(d, "a", 't'), "main");
	assert_string_equal(named(d, "b", 'p'), "python");
	assert_string_equal(named(d, "b", 't'), "second");
	assert_string_equal(named(d, "c", 'p'), "");
	assert_string_equal(named(d, "c", 't'), "");
	tw_derived_free(d);
	trawl_trace_free(t);
}

/* ---- events recorded twice */

static void gpu_events_recorded_twice(void **state)
{
	struct script s;
	struct trawl_trace *t;
	struct tw_derived *d;
	int i;

	script_begin(&s);
	script_kernel(&s, "a", 7, 1000, 10, 1);
	script_kernel(&s, "b", 7, 1000, 10, 1); /* another name */
	script_kernel(&s, "a", 8, 1000, 10, 1); /* another stream */
	script_kernel(&s, "a", 7, 1000, 11, 1); /* another end */
	script_kernel(&s, "a", 7, 1000, 10, 2); /* another correlation */
	script_kernel(&s, "a", 7, 1001, 10, 1); /* another start */
	script_slice(&s, "kernel", "a", 1, 7, 1000, 10,
		     "\"device\":1,\"stream\":7,\"correlation\":1"); /* another device */
	for (i = 0; i < 2; i++)
		script_kernel(&s, "a", 7, 1000, 10, 1); /* again, and again */
	script_kernel(&s, "z", 9, 5001, 0, 3);
	script_kernel(&s, "z", 9, 5001, 0, 3); /* without length, but to the nanosecond */
	for (i = 0; i < 2; i++)
		script_slice(&s, "kernel", "g", 0, 7, 6000, 10,
			     i ? "\"device\":0,\"stream\":7,\"correlation\":4,\"graph node id\":2" :
				 "\"device\":0,\"stream\":7,\"correlation\":4,\"graph node id\":1");
	t = script_read(&s);
	d = derive(t, NULL);
	assert_int_equal(d->gpu.count, 7 + 1 + 2);
	assert_int_equal(DERIVED(d, repeated_gpu), 3);
	assert_int_equal(DERIVED_EVENT(d, repeated_gpu), 7);
	tw_derived_free(d);
	trawl_trace_free(t);
}

/* In whole microseconds short nodes of a graph are without length, one like the other. */
static void moments_of_whole_microseconds(void **state)
{
	struct script s;
	struct trawl_trace *t;
	struct tw_derived *d;
	int i;

	script_begin(&s);
	for (i = 0; i < 3; i++)
		script_kernel(&s, "node", 7, 5000, 0, 3);
	for (i = 0; i < 2; i++)
		script_kernel(&s, "long", 7, 7000, 4000, 3);
	t = script_read(&s);
	d = derive(t, NULL);
	assert_int_equal(d->gpu.count, 3 + 1);
	assert_int_equal(DERIVED(d, repeated_gpu), 1);
	tw_derived_free(d);
	trawl_trace_free(t);
}

/* A thousand that start together, on several streams, in an order of their own: each twice. */
static void many_recorded_twice(void **state)
{
	enum { MANY = 1000 };
	struct script s;
	struct trawl_trace *t;
	struct tw_derived *d;
	uint64_t g;
	int i;

	script_begin(&s);
	for (i = 0; i < 2 * MANY; i++) {
		int n = i < MANY ? i : 2 * MANY - 1 - i;

		script_kernel(&s, n % 3 ? "a" : "b", n % 7, 1001, 5 + n % 11, n + 1);
	}
	t = script_read(&s);
	d = derive(t, NULL);
	assert_int_equal(d->gpu.count, MANY);
	assert_int_equal(DERIVED(d, repeated_gpu), MANY);
	assert_int_equal(DERIVED_EVENT(d, repeated_gpu), MANY);
	for (g = 0; g < MANY; g++)
		assert_int_equal(d->gpu.event[g], g);
	tw_derived_free(d);
	trawl_trace_free(t);
}

/* Of the host those with an id: loops without one may call the same twice in no time. */
static void host_events_recorded_twice(void **state)
{
	struct script s;
	struct trawl_trace *t;
	struct tw_derived *d;
	int i;

	script_begin(&s);
	for (i = 0; i < 2; i++) {
		script_slice(&s, "cpu_op", "outer", 1, 1, 1000, 100, "\"External id\":1");
		script_slice(&s, "cpu_op", "inner", 1, 1, 1000, 100, "\"External id\":2");
		script_call(&s, "cudaLaunchKernel", 1000, 100, 5);
		script_kernel(&s, "k", 7, 2001, 10, 5);
		script_op(&s, "without", 3000, 10);
		script_call(&s, "cudaEventRecord", 3100, 0, 0);
		script_slice(&s, "cpu_op", "next", 1, 1, 4000, 100,
			     i ? "\"External id\":4" : "\"External id\":3");
		script_slice(&s, "cpu_op", "outer", 1, 2 + i, 5000, 100, "\"External id\":6");
	}
	t = script_read(&s);
	d = derive(t, NULL);
	assert_int_equal(d->host.count, 3 + 2 * 4);
	assert_int_equal(d->host.call_count, 1 + 2);
	assert_int_equal(DERIVED(d, repeated_host), 3);
	assert_int_equal(DERIVED_EVENT(d, repeated_host), 8);
	assert_int_equal(DERIVED(d, duplicate_correlation), 0);
	assert_int_equal(DERIVED(d, repeated_gpu), 1);
	assert_string_equal(parent_of(d, "inner"), "outer");
	assert_string_equal(launch_of(d, "k"), "cudaLaunchKernel");
	tw_derived_free(d);
	trawl_trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_of_start_then_of_the_input),
		cmocka_unit_test(streams_are_listed_as_people_count),
		cmocka_unit_test(events_without_a_place),
		cmocka_unit_test(kinds_by_class_and_name),
		cmocka_unit_test(overruns_are_counted_and_left),
		cmocka_unit_test(overruns_are_clipped_when_asked_for),
		cmocka_unit_test(one_kernel_over_several),
		cmocka_unit_test(moments_at_the_edges_of_a_view),
		cmocka_unit_test(gpu_events_recorded_twice),
		cmocka_unit_test(moments_of_whole_microseconds),
		cmocka_unit_test(many_recorded_twice),
		cmocka_unit_test(host_events_recorded_twice),
		cmocka_unit_test(no_gpu_events),
		cmocka_unit_test(names_of_processes_and_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
