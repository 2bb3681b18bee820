/* The call tree of the host: by hand, and against a slow search for every event's parent. */
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

/* Times in microseconds, so that nanoseconds are these times 1000. */
static uint64_t add_event(const char *cat, const char *name, int tid, int ts, int dur)
{
	return add("{'ph':'X','cat':'%s','name':'%s','pid':1,'tid':%d,'ts':%d,'dur':%d}", cat, name,
		   tid, ts, dur);
}

static uint64_t add_op(int tid, int ts, int dur)
{
	return add_event("cpu_op", "op", tid, ts, dur);
}

/* ---- the tree of a trace */

#define MOST 400
#define NO_EVENT UINT64_MAX

struct tree {
	struct trawl_trace *trace;
	struct tw_derived *d;
};

static struct tree build(void)
{
	const struct tw_derive_options options = { .view = TW_VIEW_OPTIONS_INIT };
	struct tree t;

	t.trace = end();
	assert_int_equal(tw_derive(&t.d, t.trace, &options, NULL), 0);
	return t;
}

static void release(struct tree *t)
{
	tw_derived_free(t->d);
	trawl_trace_free(t->trace);
}

static uint64_t node_of(const struct tree *t, uint64_t event)
{
	uint64_t node;

	for (node = 0; node < t->d->host.count; node++)
		if (t->d->host.event[node] == event)
			return node;
	return TW_NONE;
}

/* Event number of an event's parent, NO_EVENT: none. */
static uint64_t parent_of(const struct tree *t, uint64_t event)
{
	uint64_t node = node_of(t, event);

	assert_true(node != TW_NONE);
	return t->d->host.parent[node] == TW_NONE ? NO_EVENT :
						    t->d->host.event[t->d->host.parent[node]];
}

static int64_t overruns(const struct tree *t)
{
	return t->d->quality.kinds[TW_DEFECT_overrun_parent].count;
}

/* Every parent comes before its children, in its own thread; descendants follow directly. */
static void check_order(const struct tree *t)
{
	const struct tw_host *host = &t->d->host;
	const uint32_t *track = t->trace->events.track;
	uint64_t node, up;

	for (node = 0; node < host->count; node++) {
		uint64_t parent = host->parent[node];

		if (parent == TW_NONE)
			continue;
		assert_true(parent < node);
		assert_int_equal(track[host->event[parent]], track[host->event[node]]);
		/* The one before is the parent or below it. */
		for (up = node - 1; up != parent && up != TW_NONE;)
			up = host->parent[up];
		assert_int_equal(up, parent);
	}
}

/* ---- by hand */

static void test_nesting(void **state)
{
	uint64_t a, b, c, d, e;
	struct tree t;

	begin();
	a = add_op(1, 0, 100);
	b = add_op(1, 10, 40);
	c = add_event("cuda_runtime", "cudaLaunchKernel", 1, 20, 5);
	d = add_op(1, 50, 50); /* starts where b ends, ends with a */
	e = add_op(1, 100, 5); /* starts where a ends */
	t = build();
	assert_int_equal(t.d->host.count, 5);
	assert_int_equal(parent_of(&t, a), NO_EVENT);
	assert_int_equal(parent_of(&t, b), a);
	assert_int_equal(parent_of(&t, c), b);
	assert_int_equal(parent_of(&t, d), a);
	assert_int_equal(parent_of(&t, e), NO_EVENT);
	assert_int_equal(overruns(&t), 0);
	check_order(&t);
	release(&t);
}

static void test_longest_first_then_file_order(void **state)
{
	uint64_t small, large, first, second, same;
	struct tree t;

	begin();
	small = add_op(1, 0, 10);
	first = add_op(1, 0, 50);
	second = add_op(1, 0, 50);
	large = add_op(1, 0, 100);
	same = add_op(1, 0, 10);
	t = build();
	assert_int_equal(t.d->host.event[0], large);
	assert_int_equal(t.d->host.event[1], first);
	assert_int_equal(t.d->host.event[2], second);
	assert_int_equal(t.d->host.event[3], small);
	assert_int_equal(t.d->host.event[4], same);
	assert_int_equal(parent_of(&t, large), NO_EVENT);
	assert_int_equal(parent_of(&t, first), large);
	assert_int_equal(parent_of(&t, second), first);
	assert_int_equal(parent_of(&t, small), second);
	assert_int_equal(parent_of(&t, same), small);
	check_order(&t);
	release(&t);
}

static void test_zero_length(void **state)
{
	uint64_t a, at_start, inside, at_end, twin, b;
	struct tree t;

	begin();
	at_start = add_op(1, 10, 0);
	a = add_op(1, 10, 10);
	inside = add_op(1, 15, 0);
	twin = add_op(1, 15, 0);
	b = add_op(1, 15, 3);
	at_end = add_op(1, 20, 0);
	t = build();
	assert_int_equal(parent_of(&t, a), NO_EVENT);
	assert_int_equal(parent_of(&t, at_start), a);
	/* What starts together: the longest holds the others, empty ones hold nothing. */
	assert_int_equal(parent_of(&t, b), a);
	assert_int_equal(parent_of(&t, inside), b);
	assert_int_equal(parent_of(&t, twin), b);
	assert_int_equal(parent_of(&t, at_end), NO_EVENT);
	assert_int_equal(overruns(&t), 0);
	check_order(&t);
	release(&t);
}

static void test_overruns(void **state)
{
	uint64_t a, b, c, d, e, f;
	struct tree t;

	begin();
	a = add_op(1, 0, 100);
	b = add_op(1, 10, 40);
	c = add_op(1, 20, 10);
	d = add_op(1, 25, 35);	/* ends after c and b: in a */
	e = add_op(1, 45, 10);	/* b has not ended, but d holds it */
	f = add_op(1, 90, 200); /* ends after a: in nothing */
	t = build();
	assert_int_equal(parent_of(&t, b), a);
	assert_int_equal(parent_of(&t, c), b);
	assert_int_equal(parent_of(&t, d), a);
	assert_int_equal(parent_of(&t, e), d);
	assert_int_equal(parent_of(&t, f), NO_EVENT);
	assert_int_equal(overruns(&t), 2);
	assert_int_equal(t.d->quality.kinds[TW_DEFECT_overrun_parent].event, d);
	check_order(&t);
	release(&t);
}

static void test_threads_are_apart(void **state)
{
	uint64_t a, b, c, other_process;
	struct tree t;

	begin();
	a = add_op(1, 0, 100);
	b = add_op(2, 10, 10);
	c = add_op(1, 20, 10);
	other_process =
		add("{'ph':'X','cat':'cpu_op','name':'op','pid':2,'tid':1,'ts':30,'dur':5}");
	t = build();
	assert_int_equal(parent_of(&t, a), NO_EVENT);
	assert_int_equal(parent_of(&t, b), NO_EVENT);
	assert_int_equal(parent_of(&t, c), a);
	assert_int_equal(parent_of(&t, other_process), NO_EVENT);
	check_order(&t);
	release(&t);
}

static void test_out_of_order(void **state)
{
	uint64_t a, b, c;
	struct tree t;

	begin();
	c = add_op(1, 30, 10);
	b = add_op(1, 20, 30);
	a = add_op(1, 0, 100);
	t = build();
	assert_int_equal(parent_of(&t, a), NO_EVENT);
	assert_int_equal(parent_of(&t, b), a);
	assert_int_equal(parent_of(&t, c), b);
	check_order(&t);
	release(&t);
}

/* What has a start counts as taking no time; what has none is no node. */
static void test_without_usable_time(void **state)
{
	uint64_t a, open, negative, endless, nowhere, inside;
	struct tree t;

	begin();
	a = add_op(1, 0, 100);
	open = add("{'ph':'X','cat':'cpu_op','name':'op','pid':1,'tid':1,'ts':10}");
	negative = add_op(1, 20, -5);
	endless = add("{'ph':'X','cat':'cpu_op','name':'op','pid':1,'tid':1,'ts':30,"
		      "'dur':9223372036854775}");
	inside = add_op(1, 40, 5);
	nowhere = add("{'ph':'X','cat':'cpu_op','name':'op','pid':1,'tid':1,'dur':5}");
	t = build();
	assert_int_equal(t.d->host.count, 5);
	assert_true(node_of(&t, nowhere) == TW_NONE);
	assert_int_equal(parent_of(&t, open), a);
	assert_int_equal(parent_of(&t, negative), a);
	assert_int_equal(parent_of(&t, endless), a);
	assert_int_equal(parent_of(&t, inside), a);
	assert_int_equal(overruns(&t), 0);
	check_order(&t);
	release(&t);
}

static void test_only_host_work_is_in_it(void **state)
{
	uint64_t op, driver;
	struct tree t;

	(void)state;
	begin();
	add_event("user_annotation", "range", 1, 0, 100);
	add_event("python_function", "f", 1, 1, 90);
	op = add_op(1, 2, 80);
	driver = add_event("cuda_driver", "cuLaunchKernel", 1, 3, 5);
	add_event("kernel", "k", 1, 3, 5);
	add_event("whatever", "w", 1, 3, 5);
	add_event("ac2g", "ac2g", 1, 3, 5);
	t = build();
	assert_int_equal(t.d->host.count, 2);
	assert_int_equal(parent_of(&t, driver), op);
	assert_int_equal(parent_of(&t, op), NO_EVENT);
	check_order(&t);
	release(&t);
}

/* ---- against a slow search */

struct event {
	int tid, ts, dur;
};

/* Whether a comes before b in the order of the definition: start, longest, file. */
static bool before(const struct event *events, uint64_t a, uint64_t b)
{
	if (events[a].ts != events[b].ts)
		return events[a].ts < events[b].ts;
	if (events[a].dur != events[b].dur)
		return events[a].dur > events[b].dur;
	return a < b;
}

/*
 * The last in order among the events before `e` that run when it starts and, if `whole`, hold
 * all of it.
 */
static uint64_t search(const struct event *events, uint64_t count, uint64_t e, bool whole)
{
	uint64_t best = NO_EVENT, i;

	for (i = 0; i < count; i++) {
		int i_end = events[i].ts + events[i].dur, e_end = events[e].ts + events[e].dur;

		if (i == e || events[i].tid != events[e].tid || !before(events, i, e) ||
		    i_end <= events[e].ts || (whole && i_end < e_end))
			continue;
		if (best == NO_EVENT || before(events, best, i))
			best = i;
	}
	return best;
}

static void compare_with_search(const struct event *events, uint64_t count)
{
	int64_t expected = 0;
	struct tree t;
	uint64_t i;

	begin();
	for (i = 0; i < count; i++)
		add_op(events[i].tid, events[i].ts, events[i].dur);
	t = build();
	assert_int_equal(t.d->host.count, count);
	for (i = 0; i < count; i++) {
		uint64_t parent = search(events, count, i, true);

		assert_int_equal(parent_of(&t, i), parent);
		expected += parent != search(events, count, i, false);
	}
	assert_int_equal(overruns(&t), expected);
	check_order(&t);
	release(&t);
}

static uint64_t random_state;

static int random_below(int n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (int)((random_state >> 33) % (unsigned)n);
}

static void test_random_trees(void **state)
{
	struct event events[MOST];
	unsigned round;
	uint64_t i;

	random_state = 7;
	for (round = 0; round < 400; round++) {
		uint64_t count = (uint64_t)random_below(round % 20 ? 40 : MOST);
		int threads = 1 + random_below(3), span = 5 + random_below(60);
		int longest = 1 + random_below(40);

		for (i = 0; i < count; i++)
			events[i] = (struct event){ 1 + random_below(threads), random_below(span),
						    random_below(longest) };
		compare_with_search(events, count);
	}
}

/* In deep trees the operation above a launch is looked up, which must not change it. */
static void test_deep_nesting(void **state)
{
	enum { DEPTH = 150 };
	uint64_t ops[DEPTH], calls[DEPTH];
	struct tree t;
	int i;

	begin();
	for (i = 0; i < DEPTH; i++) {
		/* Every third is a whole program; at the top stand two. */
		ops[i] = add_event("cpu_op", i < 2 || i % 3 == 0 ? "execute" : "op", 1, 2 * i,
				   4 * DEPTH - 4 * i);
		calls[i] = add_event("cuda_runtime", "cudaLaunchKernel", 1, 2 * i + 1, 0);
	}
	t = build();
	assert_int_equal(t.d->host.depth, DEPTH + 1);
	for (i = 0; i < DEPTH; i++) {
		uint64_t call = node_of(&t, calls[i]), above;

		assert_int_equal(tw_launching_op(t.d, call, false), node_of(&t, ops[i]));
		above = i < 2 ? TW_NONE : node_of(&t, ops[i % 3 ? i : i - 1]);
		assert_int_equal(tw_launching_op(t.d, call, true), above);
	}
	release(&t);
}

/* A trace that nobody has the memory for: refused before anything of it is looked at. */
static void test_more_events_than_numbers(void **state)
{
	const struct tw_derive_options options = { .view = TW_VIEW_OPTIONS_INIT };
	struct trawl_trace *trace;
	struct trawl_error error;
	struct tw_derived *d;
	uint64_t count;

	(void)state;
	begin();
	trace = end();
	count = trace->events.count;
	trace->events.count = UINT32_MAX;
	assert_int_equal(tw_derive(&d, trace, &options, &error), TRAWL_ELIMIT);
	assert_null(d);
	assert_non_null(strstr(error.message, "4294967295 events"));
	trace->events.count = count;
	trawl_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_more_events_than_numbers),
		cmocka_unit_test(test_longest_first_then_file_order),
		cmocka_unit_test(test_zero_length),
		cmocka_unit_test(test_overruns),
		cmocka_unit_test(test_threads_are_apart),
		cmocka_unit_test(test_out_of_order),
		cmocka_unit_test(test_without_usable_time),
		cmocka_unit_test(test_only_host_work_is_in_it),
		cmocka_unit_test(test_random_trees),
		cmocka_unit_test(test_deep_nesting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
