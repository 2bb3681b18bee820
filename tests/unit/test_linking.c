/* Which call launched which GPU event: by correlation, External id, arrows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "derive/derived.h"
#include "event_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `args` is the inside of the arguments, such as "'correlation':1". */
static uint64_t call(const char *cat, const char *name, int tid, int ts, const char *args)
{
	return add("{'ph':'X','cat':'%s','name':'%s','pid':1,'tid':%d,'ts':%d,'dur':5,"
		   "'args':{%s}}",
		   cat, name, tid, ts, args);
}

static uint64_t launch(int tid, int ts, const char *args)
{
	return call("cuda_runtime", "cudaLaunchKernel", tid, ts, args);
}

static uint64_t kernel(int ts, const char *args)
{
	return add("{'ph':'X','cat':'kernel','name':'k','pid':0,'tid':7,'ts':%d,'dur':5,"
		   "'args':{'device':0,'stream':7,%s}}",
		   ts, args);
}

/* ---- the links of a trace */

#define NONE UINT64_MAX

struct links {
	struct trawl_trace *trace;
	struct tw_derived *d;
};

static struct links build(void)
{
	const struct tw_derive_options options = { .view = TW_VIEW_OPTIONS_INIT };
	struct links l;

	l.trace = end();
	assert_int_equal(tw_derive(&l.d, l.trace, &options, NULL), 0);
	return l;
}

static void release(struct links *l)
{
	tw_derived_free(l->d);
	trawl_trace_free(l->trace);
}

/* Event number of the launch of a GPU event, NONE: not linked. */
static uint64_t launch_of(const struct links *l, uint64_t event)
{
	const struct tw_gpu *gpu = &l->d->gpu;
	uint64_t g;

	for (g = 0; g < gpu->count; g++)
		if (gpu->event[g] == event)
			return gpu->launch[g] == TW_NONE ? NONE : l->d->host.event[gpu->launch[g]];
	fail_msg("event %llu is no GPU event of the view", (unsigned long long)event);
	return NONE;
}

static int64_t defects(const struct links *l, enum tw_defect kind)
{
	return l->d->quality.kinds[kind].count;
}

/* ---- correlation */

static void test_correlation(void **state)
{
	uint64_t a, b, k, copy, set;
	struct links l;

	begin();
	/* The copy comes first in the file, and in another order than its call. */
	copy = add("{'ph':'X','cat':'gpu_memcpy','name':'Memcpy HtoD','pid':0,'tid':7,'ts':50,"
		   "'dur':5,'args':{'correlation':2,'stream':7,'device':0}}");
	a = launch(1, 0, "'correlation':1");
	b = call("cuda_runtime", "cudaMemcpyAsync", 1, 10, "'correlation':2");
	k = kernel(60, "'correlation':1");
	set = add("{'ph':'X','cat':'gpu_memset','name':'Memset','pid':0,'tid':7,'ts':70,"
		  "'dur':5,'args':{'correlation':3,'stream':7,'device':0}}");
	l = build();
	assert_int_equal(launch_of(&l, k), a);
	assert_int_equal(launch_of(&l, copy), b);
	assert_int_equal(launch_of(&l, set), NONE);
	assert_int_equal(defects(&l, TW_DEFECT_unlinked_gpu), 1);
	assert_int_equal(l.d->quality.kinds[TW_DEFECT_unlinked_gpu].event, set);
	assert_int_equal(defects(&l, TW_DEFECT_duplicate_correlation), 0);
	assert_int_equal(defects(&l, TW_DEFECT_launch_without_kernel), 0);
	release(&l);
}

/* Operations have correlation ids in some traces; they launch nothing. */
static void test_operations_do_not_launch(void **state)
{
	uint64_t op, k, b;
	struct links l;

	begin();
	op = call("cpu_op", "aten::mm", 1, 0, "'correlation':1");
	b = launch(1, 1, "'correlation':1");
	k = kernel(60, "'correlation':1");
	l = build();
	assert_int_not_equal(launch_of(&l, k), op);
	assert_int_equal(launch_of(&l, k), b);
	assert_int_equal(defects(&l, TW_DEFECT_duplicate_correlation), 0);
	release(&l);
}

static void test_duplicates_go_to_the_nearest_before(void **state)
{
	uint64_t first, second, third, k_early, k_at, k_between, k_late, k_same;
	struct links l;

	begin();
	first = launch(1, 100, "'correlation':5");
	second = launch(1, 200, "'correlation':5");
	third = launch(1, 300, "'correlation':5");
	launch(1, 400, "'correlation':6");
	k_late = kernel(1000, "'correlation':5");
	k_between = kernel(250, "'correlation':5");
	k_at = kernel(200, "'correlation':5");
	k_same = kernel(299, "'correlation':5");
	k_early = kernel(50, "'correlation':5");
	l = build();
	assert_int_equal(launch_of(&l, k_late), third);
	assert_int_equal(launch_of(&l, k_between), second);
	assert_int_equal(launch_of(&l, k_at), second);
	assert_int_equal(launch_of(&l, k_same), second);
	assert_int_equal(launch_of(&l, k_early), first);
	assert_int_equal(defects(&l, TW_DEFECT_duplicate_correlation), 2);
	assert_int_equal(defects(&l, TW_DEFECT_kernel_before_launch), 1);
	release(&l);
}

/* The call that starts last before the kernel, on whichever thread. */
static void test_duplicates_on_several_threads(void **state)
{
	uint64_t late, early, middle, k, k2;
	struct links l;

	begin();
	late = launch(1, 300, "'correlation':5");
	early = launch(2, 100, "'correlation':5");
	middle = launch(3, 200, "'correlation':5");
	k = kernel(250, "'correlation':5");
	k2 = kernel(150, "'correlation':5");
	l = build();
	assert_int_equal(launch_of(&l, k), middle);
	assert_int_equal(launch_of(&l, k2), early);
	assert_int_not_equal(late, middle);
	assert_int_equal(defects(&l, TW_DEFECT_duplicate_correlation), 2);
	release(&l);
}

static void test_ids_that_are_none(void **state)
{
	static const char *const ids[] = { "0", "-1", "-7", "18446744073709551615" };
	size_t i;

	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		char args[64];
		struct links l;
		uint64_t k;

		snprintf(args, sizeof(args), "'correlation':%s", ids[i]);
		begin();
		launch(1, 0, args);
		launch(1, 10, args);
		k = kernel(60, args);
		l = build();
		assert_int_equal(launch_of(&l, k), NONE);
		assert_int_equal(defects(&l, TW_DEFECT_duplicate_correlation), 0);
		release(&l);
	}
}

static void test_large_ids(void **state)
{
	static const char *const ids[] = { "2147483647", "2147483648", "4294967294",
					   "9223372036854775807" };
	struct links l;
	uint64_t k[4], c[4];
	char args[64];
	size_t i;

	begin();
	for (i = 0; i < 4; i++) {
		snprintf(args, sizeof(args), "'correlation':%s", ids[i]);
		c[i] = launch(1, (int)i * 10, args);
		k[i] = kernel(100 + (int)i, args);
	}
	l = build();
	for (i = 0; i < 4; i++)
		assert_int_equal(launch_of(&l, k[i]), c[i]);
	release(&l);
}

static void test_graph_launch(void **state)
{
	uint64_t graph, other, k[50], last;
	struct links l;
	int i;

	begin();
	graph = call("cuda_runtime", "cudaGraphLaunch", 1, 0, "'correlation':9");
	other = launch(1, 10, "'correlation':10");
	for (i = 0; i < 50; i++)
		k[i] = kernel(20 + 10 * i, "'correlation':9");
	last = kernel(600, "'correlation':10");
	l = build();
	for (i = 0; i < 50; i++)
		assert_int_equal(launch_of(&l, k[i]), graph);
	assert_int_equal(launch_of(&l, last), other);
	assert_int_equal(defects(&l, TW_DEFECT_unlinked_gpu), 0);
	assert_int_equal(defects(&l, TW_DEFECT_launch_without_kernel), 0);
	release(&l);
}

static void test_kinds_of_calls(void **state)
{
	static const char *const kinds[] = { "cuda_runtime", "cuda_driver",  "hip_runtime",
					     "hip_driver",   "xpu_runtime",  "mtia_runtime",
					     "runtime",	     "CUDA_Runtime", "privateuse1_driver" };
	uint64_t c[9], k[9];
	struct links l;
	char args[64];
	size_t i;

	begin();
	for (i = 0; i < 9; i++) {
		snprintf(args, sizeof(args), "'correlation':%zu", i + 1);
		c[i] = call(kinds[i], "launch", 1, (int)i * 10, args);
		k[i] = kernel(100 + 10 * (int)i, args);
	}
	l = build();
	for (i = 0; i < 9; i++)
		assert_int_equal(launch_of(&l, k[i]), c[i]);
	release(&l);
}

static void test_kernel_before_its_launch(void **state)
{
	uint64_t a, b, k, same;
	struct links l;

	begin();
	a = launch(1, 100, "'correlation':1");
	b = launch(1, 200, "'correlation':2");
	k = kernel(99, "'correlation':1");
	same = kernel(200, "'correlation':2");
	l = build();
	assert_int_equal(launch_of(&l, k), a);
	assert_int_equal(launch_of(&l, same), b);
	assert_int_equal(defects(&l, TW_DEFECT_kernel_before_launch), 1);
	assert_int_equal(l.d->quality.kinds[TW_DEFECT_kernel_before_launch].event, k);
	release(&l);
}

/* Calls that should have GPU work, by name; of these, those without. */
static void test_launch_without_kernel(void **state)
{
	static const struct {
		const char *name;
		bool launches;
	} calls[] = {
		{ "cudaLaunchKernel", true },
		{ "cudaLaunchKernelExC", true },
		{ "cuLaunchKernelEx", true },
		{ "hipModuleLaunchKernel", true },
		{ "hipExtModuleLaunchKernel", true },
		{ "cudaGraphLaunch", true },
		{ "cudaMemcpyAsync", true },
		{ "hipMemcpyWithStream", true },
		{ "cudaMemsetAsync", true },
		{ "cuMemsetD8Async", true },
		{ "cudaLaunchHostFunc", false },
		{ "cudaGraphAddMemcpyNode", false },
		{ "cuGraphAddMemsetNode", false },
		{ "cudaGraphExecMemcpyNodeSetParams", false },
		{ "cudaGraphMemcpyNodeGetParams", false },
		{ "cudaDeviceSynchronize", false },
		{ "cudaMalloc", false },
		{ "cudaStreamIsCapturing", false },
		{ "cudaEventRecord", false },
	};
	struct links l;
	size_t i, n = sizeof(calls) / sizeof(calls[0]);
	int64_t expected = 0;
	char args[64];

	begin();
	for (i = 0; i < n; i++) {
		snprintf(args, sizeof(args), "'correlation':%zu", i + 1);
		call("cuda_runtime", calls[i].name, 1, (int)i * 10, args);
		expected += calls[i].launches;
	}
	/* An operation of such a name is no call; the first call has its kernel. */
	call("cpu_op", "my_launch", 2, 0, "'correlation':77");
	kernel(1000, "'correlation':1");
	l = build();
	assert_int_equal(defects(&l, TW_DEFECT_launch_without_kernel), expected - 1);
	for (i = 0; i < n; i++) {
		assert_string_equal(
			trawl_trace_text(l.trace, l.trace->events.name[l.d->host.event[i]], NULL),
			calls[i].name);
		assert_int_equal(tw_is_launch_call(l.d, i), calls[i].launches);
	}
	release(&l);

	/* Without any GPU event it is every one of them: the profiler lost what ran there. */
	begin();
	launch(1, 0, "'correlation':1");
	l = build();
	assert_int_equal(defects(&l, TW_DEFECT_launch_without_kernel), 1);
	assert_int_equal(defects(&l, TW_DEFECT_no_gpu_events), 1);
	release(&l);
}

/* ---- External id */

static void test_external_in_order(void **state)
{
	uint64_t c[3], k[3];
	struct links l;

	begin();
	c[1] = launch(1, 20, "'External id':8");
	c[0] = launch(1, 10, "'External id':8");
	c[2] = launch(2, 30, "'External id':8");
	/* All of them after the last call: the order decides, not the time. */
	k[2] = kernel(300, "'External id':8");
	k[0] = kernel(100, "'External id':8");
	k[1] = kernel(200, "'External id':8");
	l = build();
	assert_int_equal(launch_of(&l, k[0]), c[0]);
	assert_int_equal(launch_of(&l, k[1]), c[1]);
	assert_int_equal(launch_of(&l, k[2]), c[2]);
	assert_int_equal(defects(&l, TW_DEFECT_ambiguous_link), 0);
	release(&l);
}

static void test_external_ambiguous(void **state)
{
	uint64_t early, late, k[3], other, alone, k_alone[2];
	struct links l;

	begin();
	early = launch(1, 10, "'External id':8");
	late = launch(1, 150, "'External id':8");
	k[0] = kernel(100, "'External id':8");
	k[1] = kernel(150, "'External id':8");
	k[2] = kernel(300, "'External id':8");
	other = kernel(400, "'External id':9");
	/* One call, several events: no choice. */
	alone = launch(1, 200, "'external id':10");
	k_alone[0] = kernel(500, "'External id':10");
	k_alone[1] = kernel(510, "'External id':10");
	l = build();
	assert_int_equal(launch_of(&l, k[0]), early);
	assert_int_equal(launch_of(&l, k[1]), late);
	assert_int_equal(launch_of(&l, k[2]), late);
	assert_int_equal(launch_of(&l, other), NONE);
	assert_int_equal(launch_of(&l, k_alone[0]), alone);
	assert_int_equal(launch_of(&l, k_alone[1]), alone);
	assert_int_equal(defects(&l, TW_DEFECT_ambiguous_link), 3);
	release(&l);
}

/* Where no call has the id, the operation that has it; a call goes first. */
static void test_external_of_an_operation(void **state)
{
	uint64_t op, op2, c, k, k2;
	struct links l;

	begin();
	op = call("cpu_op", "aten::mm", 1, 0, "'External id':3");
	op2 = call("cpu_op", "aten::add", 1, 10, "'External id':4");
	c = launch(1, 11, "'External id':4");
	k = kernel(100, "'External id':3");
	k2 = kernel(200, "'External id':4");
	l = build();
	assert_int_equal(launch_of(&l, k), op);
	assert_int_equal(launch_of(&l, k2), c);
	assert_int_not_equal(launch_of(&l, k2), op2);
	assert_int_equal(defects(&l, TW_DEFECT_unlinked_gpu), 0);
	assert_int_equal(defects(&l, TW_DEFECT_ambiguous_link), 0);
	release(&l);
}

/* A correlation id that leads nowhere is not overruled by an External id. */
static void test_external_only_without_correlation(void **state)
{
	uint64_t c, k_id, k_zero, k_minus, k_none;
	struct links l;

	begin();
	c = launch(1, 10, "'External id':8,'correlation':5");
	k_id = kernel(100, "'External id':8,'correlation':6");
	k_zero = kernel(110, "'External id':8,'correlation':0");
	k_minus = kernel(120, "'External id':8,'correlation':-1");
	k_none = kernel(130, "'External id':0");
	l = build();
	assert_int_equal(launch_of(&l, k_id), NONE);
	assert_int_equal(launch_of(&l, k_zero), c);
	assert_int_equal(launch_of(&l, k_minus), c);
	assert_int_equal(launch_of(&l, k_none), NONE);
	assert_int_equal(defects(&l, TW_DEFECT_unlinked_gpu), 2);
	release(&l);
}

/* The calls were not recorded at all: External ids name the operations. */
static void test_external_without_calls(void **state)
{
	uint64_t a, b, twice, later, k[6];
	struct links l;

	begin();
	a = call("cpu_op", "aten::mm", 1, 0, "'External id':1");
	b = call("cpu_op", "aten::add", 1, 10, "'External id':2");
	twice = call("cpu_op", "aten::mul", 1, 20, "'External id':3");
	call("cpu_op", "aten::mul", 2, 20, "'External id':3");
	later = call("cpu_op", "aten::sum", 1, 900, "'External id':4");
	k[0] = kernel(100, "'correlation':700,'External id':1");
	k[1] = kernel(110, "'correlation':701,'External id':2");
	k[2] = kernel(120, "'correlation':702,'External id':2");
	k[3] = kernel(130, "'correlation':703,'External id':3"); /* of which of the two? */
	k[4] = kernel(140, "'correlation':704,'External id':4"); /* before its operation */
	k[5] = kernel(150, "'correlation':705,'External id':9"); /* of none that is there */
	l = build();
	assert_int_equal(launch_of(&l, k[0]), a);
	assert_int_equal(launch_of(&l, k[1]), b);
	assert_int_equal(launch_of(&l, k[2]), b);
	assert_int_equal(launch_of(&l, k[3]), NONE);
	assert_int_equal(launch_of(&l, k[4]), NONE);
	assert_int_equal(launch_of(&l, k[5]), NONE);
	assert_int_equal(defects(&l, TW_DEFECT_unlinked_gpu), 3);
	assert_int_equal(defects(&l, TW_DEFECT_ambiguous_link), 0);
	assert_true(twice < later);
	release(&l);
}

/* Where External ids repeat correlation ids they name no operation. */
static void test_external_that_repeats_the_correlation(void **state)
{
	uint64_t k;
	struct links l;

	begin();
	call("cpu_op", "aten::mm", 1, 0, "'External id':1");
	call("cpu_op", "aten::add", 1, 10, "'External id':2");
	kernel(100, "'correlation':1,'External id':1");
	k = kernel(110, "'correlation':2,'External id':2");
	l = build();
	assert_int_equal(launch_of(&l, k), NONE);
	assert_int_equal(defects(&l, TW_DEFECT_unlinked_gpu), 2);
	release(&l);
}

/* One call of several is missing; what the others' External ids are tells what its is. */
static void test_external_where_one_call_is_missing(void **state)
{
	static const char *const ids[] = { "'correlation':%d,'External id':%d",
					   "'correlation':%d,'External id':1%d" };
	uint64_t op = 0, k = 0;
	struct links l;
	char args[60];
	int i, wrong;

	for (wrong = 0; wrong < 2; wrong++) {
		begin();
		for (i = 1; i <= 3; i++) {
			snprintf(args, sizeof(args), "'External id':%d", i);
			op = call("cpu_op", "aten::mm", 1, 20 * i, args);
			snprintf(args, sizeof(args), "'correlation':%d", 70 + i);
			if (i < 3)
				launch(1, 20 * i, args);
			snprintf(args, sizeof(args), ids[wrong && i < 3], 70 + i, i);
			k = kernel(100 + 10 * i, args);
		}
		l = build();
		assert_int_equal(launch_of(&l, k), wrong ? NONE : op);
		assert_int_equal(defects(&l, TW_DEFECT_unlinked_gpu), wrong);
		release(&l);
	}
}

/* ---- arrows */

static void arrow(const char *cat, int id, int tid, int ts, int gpu_ts)
{
	add("{'ph':'s','id':%d,'cat':'%s','name':'%s','pid':1,'tid':%d,'ts':%d}", id, cat, cat, tid,
	    ts);
	add("{'ph':'f','id':%d,'cat':'%s','name':'%s','pid':0,'tid':7,'ts':%d,'bp':'e'}", id, cat,
	    cat, gpu_ts);
}

static void test_arrows_only(void **state)
{
	static const char *const kinds[] = { "ac2g", "async_cpu_to_gpu", "async_gpu" };
	uint64_t a, b, ka, kb, lonely;
	struct links l;
	size_t i;

	for (i = 0; i < 3; i++) {
		begin();
		a = launch(1, 10, "'x':1");
		b = launch(2, 20, "'x':1");
		kb = kernel(100, "'x':1");
		ka = kernel(200, "'x':1");
		lonely = kernel(300, "'x':1");
		arrow(kinds[i], 1, 1, 10, 200);
		arrow(kinds[i], 2, 2, 20, 100);
		l = build();
		assert_int_equal(launch_of(&l, ka), a);
		assert_int_equal(launch_of(&l, kb), b);
		assert_int_equal(launch_of(&l, lonely), NONE);
		release(&l);
	}
}

static void test_arrows_that_lead_nowhere(void **state)
{
	uint64_t k_other, k_no_call, k_no_start, k_id;
	struct links l;

	begin();
	launch(1, 10, "'correlation':4");
	k_other = kernel(100, "'x':1");
	k_no_call = kernel(200, "'x':1");
	k_no_start = kernel(300, "'x':1");
	k_id = kernel(400, "'correlation':77");
	arrow("fwdbwd", 1, 1, 10, 100);
	arrow("ac2g", 2, 1, 9, 200);
	add("{'ph':'f','id':3,'cat':'ac2g','name':'ac2g','pid':0,'tid':7,'ts':300,'bp':'e'}");
	arrow("ac2g", 4, 1, 10, 400);
	l = build();
	assert_int_equal(launch_of(&l, k_other), NONE);
	assert_int_equal(launch_of(&l, k_no_call), NONE);
	assert_int_equal(launch_of(&l, k_no_start), NONE);
	/* A correlation id that leads nowhere is not overruled either. */
	assert_int_equal(launch_of(&l, k_id), NONE);
	assert_int_equal(defects(&l, TW_DEFECT_unlinked_gpu), 4);
	release(&l);
}

/* Correlation before External id before arrows. */
static void test_order_of_precedence(void **state)
{
	uint64_t by_id, by_external, by_arrow, k1, k2, k3;
	struct links l;

	begin();
	by_id = launch(1, 10, "'correlation':1");
	by_external = launch(1, 20, "'External id':2");
	by_arrow = launch(1, 30, "'x':1");
	k1 = kernel(100, "'correlation':1,'External id':2");
	k2 = kernel(200, "'External id':2");
	k3 = kernel(300, "'External id':3");
	arrow("ac2g", 1, 1, 30, 100);
	arrow("ac2g", 2, 1, 30, 200);
	arrow("ac2g", 3, 1, 30, 300);
	l = build();
	assert_int_equal(launch_of(&l, k1), by_id);
	assert_int_equal(launch_of(&l, k2), by_external);
	assert_int_equal(launch_of(&l, k3), by_arrow);
	release(&l);
}

/* ---- many ids against a slow search */

static uint64_t random_state;

static int random_below(int n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (int)((random_state >> 33) % (unsigned)n);
}

/* ---- several processes with the same ids */

static uint64_t launch_in(int pid, int ts, int correlation)
{
	return add("{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':%d,'tid':1,"
		   "'ts':%d,'dur':5,'args':{'correlation':%d}}",
		   pid, ts, correlation);
}

/* `more` follows the arguments, such as ",'pid':1". */
static uint64_t kernel_on(int pid, int device, int ts, int correlation, const char *more)
{
	return add("{'ph':'X','cat':'kernel','name':'k','pid':%d,'tid':7,'ts':%d,'dur':5,"
		   "'args':{'device':%d,'stream':7,'correlation':%d%s}}",
		   pid, ts, device, correlation, more);
}

static void arrow_between(int id, int from_pid, int from, int to_pid, int to)
{
	add("{'ph':'s','cat':'ac2g','name':'ac2g','id':%d,'pid':%d,'tid':1,'ts':%d}", id, from_pid,
	    from);
	add("{'ph':'f','cat':'ac2g','name':'ac2g','id':%d,'pid':%d,'tid':7,'ts':%d,'bp':'e'}", id,
	    to_pid, to);
}

/* Two ranks in one file: pids and arrows tell them apart, correlation ids do not. */
static void test_processes_with_equal_ids_by_arrow(void **state)
{
	uint64_t launches[2][3], kernels[2][3];
	int rank, i;
	struct links l;

	begin();
	for (rank = 0; rank < 2; rank++) {
		for (i = 0; i < 3; i++) {
			/* The second rank is a little later: its call is always the nearest. */
			int at = 100 * i + 10 * rank;

			launches[rank][i] = launch_in(31 + rank, at, i + 1);
			kernels[rank][i] = kernel_on(1000 + rank, 0, at + 30, i + 1, "");
			arrow_between(10 * rank + i + 1, 31 + rank, at, 1000 + rank, at + 30);
		}
	}
	l = build();
	for (rank = 0; rank < 2; rank++)
		for (i = 0; i < 3; i++)
			assert_int_equal(launch_of(&l, kernels[rank][i]), launches[rank][i]);
	assert_int_equal(defects(&l, TW_DEFECT_duplicate_correlation), 0);
	assert_int_equal(defects(&l, TW_DEFECT_ambiguous_link), 0);
	assert_int_equal(defects(&l, TW_DEFECT_launch_without_kernel), 0);
	release(&l);
}

/* Arrows of two processes have one id: they tell nothing, the pids do. */
static void test_arrows_with_equal_ids_tell_no_process(void **state)
{
	uint64_t a, b, of_a, of_b;
	struct links l;

	begin();
	a = launch_in(31, 0, 1);
	b = launch_in(32, 10, 1);
	of_a = kernel_on(31, 0, 30, 1, "");
	of_b = kernel_on(32, 0, 40, 1, "");
	arrow_between(1, 31, 0, 31, 30);
	arrow_between(1, 32, 10, 32, 40);
	l = build();
	assert_int_equal(launch_of(&l, of_a), a);
	assert_int_equal(launch_of(&l, of_b), b);
	assert_int_equal(defects(&l, TW_DEFECT_ambiguous_link), 0);
	release(&l);
}

static void test_processes_with_equal_ids_by_what_they_say(void **state)
{
	uint64_t a, b, of_a, of_b;
	struct links l;

	/* Arguments name the process. */
	begin();
	a = launch_in(31, 0, 1);
	b = launch_in(32, 10, 1);
	of_a = kernel_on(0, 0, 30, 1, ",'pid':31");
	of_b = kernel_on(1, 1, 40, 1, ",'pid':32");
	l = build();
	assert_int_equal(launch_of(&l, of_a), a);
	assert_int_equal(launch_of(&l, of_b), b);
	assert_int_equal(defects(&l, TW_DEFECT_ambiguous_link), 0);
	release(&l);

	/* The pid does, when it is not the device's number. */
	begin();
	a = launch_in(31, 0, 1);
	b = launch_in(32, 10, 1);
	of_a = kernel_on(31, 0, 30, 1, "");
	of_b = kernel_on(32, 0, 40, 1, "");
	l = build();
	assert_int_equal(launch_of(&l, of_a), a);
	assert_int_equal(launch_of(&l, of_b), b);
	release(&l);

	/* The number of a device is no process: the nearest before, and it is said. */
	begin();
	launch_in(1, 0, 1);
	b = launch_in(32, 10, 1);
	of_a = kernel_on(1, 1, 30, 1, "");
	l = build();
	assert_int_equal(launch_of(&l, of_a), b);
	assert_int_equal(defects(&l, TW_DEFECT_ambiguous_link), 1);
	assert_int_equal(defects(&l, TW_DEFECT_duplicate_correlation), 0);
	release(&l);
}

/* An event that tells nothing goes with the others of its stream, which one process launched. */
static void test_processes_with_equal_ids_by_stream(void **state)
{
	uint64_t a, b, of_a, of_b;
	struct links l;

	begin();
	a = launch_in(31, 0, 1);
	b = launch_in(32, 10, 1);
	launch_in(31, 20, 2); /* the other process has no 2, nor this one a 3 */
	launch_in(32, 20, 3);
	of_a = kernel_on(0, 0, 30, 1, "");
	of_b = kernel_on(1, 1, 40, 1, "");
	kernel_on(0, 0, 50, 2, "");
	kernel_on(1, 1, 50, 3, "");
	l = build();
	assert_int_equal(launch_of(&l, of_a), a);
	assert_int_equal(launch_of(&l, of_b), b);
	assert_int_equal(defects(&l, TW_DEFECT_ambiguous_link), 0);
	release(&l);
}

/* The same where the stream is the first that is recorded. */
static void test_processes_with_equal_ids_by_the_first_stream(void **state)
{
	uint64_t a, of_a;
	struct links l;

	begin();
	of_a = kernel_on(0, 0, 30, 1, "");
	a = launch_in(31, 0, 1);
	launch_in(32, 10, 1);
	launch_in(31, 20, 2);
	kernel_on(0, 0, 50, 2, "");
	l = build();
	assert_int_equal(launch_of(&l, of_a), a);
	assert_int_equal(defects(&l, TW_DEFECT_ambiguous_link), 0);
	release(&l);
}

/* An External id that repeats the correlation names no operation, whatever has none. */
static void test_external_ids_that_repeat_the_correlation(void **state)
{
	uint64_t k;
	struct links l;

	begin();
	call("cpu_op", "aten::mm", 1, 0, "'External id':5");
	k = kernel(100, "'External id':5,'correlation':5");
	kernel(200, "'correlation':7");
	l = build();
	assert_int_equal(launch_of(&l, k), NONE);
	release(&l);
}

/* An id used again in one process is a duplicate there, and only there. */
static void test_duplicates_within_processes(void **state)
{
	uint64_t early, late, other, first, second;
	struct links l;

	begin();
	early = launch_in(31, 0, 1);
	late = launch_in(31, 100, 1);
	other = launch_in(32, 110, 1);
	first = kernel_on(1000, 0, 20, 1, ",'pid':31");
	second = kernel_on(1000, 0, 120, 1, ",'pid':31");
	l = build();
	assert_int_equal(launch_of(&l, first), early);
	assert_int_equal(launch_of(&l, second), late);
	assert_int_equal(defects(&l, TW_DEFECT_duplicate_correlation), 1);
	assert_int_equal(l.d->quality.kinds[TW_DEFECT_duplicate_correlation].event, late);
	assert_int_not_equal(other, late);
	release(&l);
}

/* Arrows that begin or end together are taken in the order of the input. */
static void test_arrows_at_one_place(void **state)
{
	uint64_t first, k;
	struct links l;

	begin();
	first = launch(1, 0, "'x':1");
	launch(1, 0, "'x':2");
	add("{'ph':'f','cat':'ac2g','name':'ac2g','id':8,'pid':0,'tid':7,'ts':30}");
	add("{'ph':'f','cat':'ac2g','name':'ac2g','id':9,'pid':0,'tid':7,'ts':30}");
	add("{'ph':'s','cat':'ac2g','name':'ac2g','id':8,'pid':1,'tid':1,'ts':0}");
	add("{'ph':'s','cat':'ac2g','name':'ac2g','id':8,'pid':1,'tid':1,'ts':77}");
	add("{'ph':'s','cat':'ac2g','name':'ac2g','id':9,'pid':1,'tid':1,'ts':77}");
	k = kernel(30, "'x':1");
	l = build();
	assert_int_equal(launch_of(&l, k), first);
	release(&l);
}

static void test_random_correlations(void **state)
{
	enum { CALLS = 60, KERNELS = 60 };
	struct {
		uint64_t event;
		int id, ts;
	} c[CALLS], k[KERNELS];
	unsigned round;
	int i, j;

	random_state = 3;
	for (round = 0; round < 200; round++) {
		int ids = 1 + random_below(40);
		struct links l;
		char args[64];

		begin();
		/* Starts differ, so that the nearest before is one call. */
		for (i = 0; i < CALLS; i++) {
			c[i].id = random_below(ids);
			c[i].ts = i * 10 + random_below(10);
			snprintf(args, sizeof(args), "'correlation':%d", c[i].id);
			c[i].event = launch(1 + random_below(3), c[i].ts, args);
		}
		for (i = 0; i < KERNELS; i++) {
			k[i].id = random_below(ids);
			k[i].ts = CALLS * 10 / 2 + random_below(CALLS * 10);
			/* Those that are alike else are nodes of a graph. */
			snprintf(args, sizeof(args), "'correlation':%d,'graph node id':%d", k[i].id,
				 i);
			k[i].event = kernel(k[i].ts, args);
		}
		l = build();
		for (i = 0; i < KERNELS; i++) {
			bool any = false;
			int best = -1;

			for (j = 0; k[i].id && j < CALLS; j++) {
				any |= c[j].id == k[i].id;
				if (c[j].id == k[i].id && c[j].ts <= k[i].ts)
					best = j;
			}
			if (best >= 0)
				assert_int_equal(launch_of(&l, k[i].event), c[best].event);
			else if (!any)
				assert_int_equal(launch_of(&l, k[i].event), NONE);
			else
				assert_int_not_equal(launch_of(&l, k[i].event), NONE);
		}
		release(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes_with_equal_ids_by_arrow),
		cmocka_unit_test(test_arrows_with_equal_ids_tell_no_process),
		cmocka_unit_test(test_processes_with_equal_ids_by_what_they_say),
		cmocka_unit_test(test_processes_with_equal_ids_by_stream),
		cmocka_unit_test(test_processes_with_equal_ids_by_the_first_stream),
		cmocka_unit_test(test_external_ids_that_repeat_the_correlation),
		cmocka_unit_test(test_duplicates_within_processes),
		cmocka_unit_test(test_arrows_at_one_place),
		cmocka_unit_test(test_correlation),
		cmocka_unit_test(test_operations_do_not_launch),
		cmocka_unit_test(test_duplicates_go_to_the_nearest_before),
		cmocka_unit_test(test_duplicates_on_several_threads),
		cmocka_unit_test(test_ids_that_are_none),
		cmocka_unit_test(test_large_ids),
		cmocka_unit_test(test_graph_launch),
		cmocka_unit_test(test_kinds_of_calls),
		cmocka_unit_test(test_kernel_before_its_launch),
		cmocka_unit_test(test_launch_without_kernel),
		cmocka_unit_test(test_external_in_order),
		cmocka_unit_test(test_external_ambiguous),
		cmocka_unit_test(test_external_of_an_operation),
		cmocka_unit_test(test_external_only_without_correlation),
		cmocka_unit_test(test_external_without_calls),
		cmocka_unit_test(test_external_that_repeats_the_correlation),
		cmocka_unit_test(test_external_where_one_call_is_missing),
		cmocka_unit_test(test_arrows_only),
		cmocka_unit_test(test_arrows_that_lead_nowhere),
		cmocka_unit_test(test_order_of_precedence),
		cmocka_unit_test(test_random_correlations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
