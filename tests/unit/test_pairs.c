/* Begin and end events become slices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "traces.h"

#define BEGIN(name, tid, ts)                                                            \
	"{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":" tid \
	",\"ts\":" ts "}"
#define END(tid, ts) "{\"ph\":\"E\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts "}"

static void check(const struct trawl_trace *t, const char *name, int64_t start_ns, int64_t dur_ns)
{
	uint64_t e = event_named(t, name);

	assert_int_equal(t->events.phase[e], 'X');
	assert_int_equal(t->events.start_ns[e], start_ns);
	assert_int_equal(t->events.dur_ns[e], dur_ns);
}

static void nested_pairs(void **state)
{
	struct trawl_trace *t = TRACE_OF(BEGIN("outer", "1", "1"), BEGIN("inner", "1", "2.5"),
					 END("1", "3.125"), BEGIN("second", "1", "4"),
					 END("1", "4"), END("1", "10"));

	assert_kinds(t, 0);
	check(t, "outer", 1000, 9000);
	check(t, "inner", 2500, 625);
	check(t, "second", 4000, 0);
	assert_int_equal(t->events.count, 6);
	trawl_trace_free(t);
}

/* Threads are apart, and the order of the file is not that of time. */
static void threads_and_order(void **state)
{
	struct trawl_trace *t = TRACE_OF(END("2", "9"), BEGIN("a", "1", "1"), END("1", "5"),
					 BEGIN("b", "2", "2"), BEGIN("c", "\"two\"", "3"),
					 END("\"two\"", "4"));

	assert_kinds(t, 0);
	check(t, "a", 1000, 4000);
	check(t, "b", 2000, 7000);
	check(t, "c", 3000, 1000);
	trawl_trace_free(t);
}

/* Of equal times the order of the file decides: this one ends before the next begins. */
static void one_ends_as_the_next_begins(void **state)
{
	struct trawl_trace *t =
		TRACE_OF(BEGIN("a", "1", "1"), END("1", "2"), BEGIN("b", "1", "2"), END("1", "3"));

	assert_kinds(t, 0);
	check(t, "a", 1000, 1000);
	check(t, "b", 2000, 1000);
	trawl_trace_free(t);
}

static void what_finds_no_partner_is_counted(void **state)
{
	struct trawl_trace *t =
		TRACE_OF(END("1", "1"), BEGIN("open", "1", "2"), BEGIN("closed", "1", "3"),
			 END("1", "4"), BEGIN("other", "2", "1"),
			 "{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"no time\",\"pid\":1,"
			 "\"tid\":3}",
			 END("3", "5"));

	assert_kinds(t, 1);
	/* The end at 1, open, other, no time, and the end at 5. */
	assert_int_equal(COUNT(t, open_event), 5);
	assert_int_equal(EVENT(t, open_event), 0);
	check(t, "closed", 3000, 1000);
	assert_int_equal(t->events.phase[event_named(t, "open")], 'x');
	assert_int_equal(t->events.phase[event_named(t, "other")], 'x');
	assert_int_equal(t->events.phase[event_named(t, "no time")], 'x');
	trawl_trace_free(t);
}

static void gpu_events_too(void **state)
{
	struct trawl_trace *t = trace_of(
		"[{\"ph\":\"B\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1},"
		"{\"ph\":\"E\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":2},"
		"{\"ph\":\"B\",\"cat\":\"kernel\",\"name\":\"lost\",\"pid\":0,\"tid\":7,\"ts\":3}]");

	assert_kinds(t, 1);
	assert_int_equal(COUNT(t, gpu_open), 1);
	assert_int_equal(EVENT(t, gpu_open), 2);
	check(t, "k", 1000, 1000);
	trawl_trace_free(t);
}

/* As of slices that come with a duration: over a week nothing lasts. */
static void impossible_times(void **state)
{
	struct trawl_trace *t = TRACE_OF(BEGIN("week", "1", "0"), END("1", "604800000000"),
					 BEGIN("more", "2", "0"), END("2", "604800000000.001"),
					 BEGIN("far", "3", "-1e30"), END("3", "1e30"),
					 BEGIN("limits", "4", "-9223372036854775.807"),
					 END("4", "9223372036854775.807"));
	uint64_t i;

	check(t, "week", 0, 604800000000000);
	assert_int_equal(COUNT(t, overflow), 1);
	assert_int_equal(EVENT(t, overflow), 2);
	assert_int_equal(COUNT(t, open_event), 4);
	assert_kinds(t, 2);
	for (i = 2; i < t->events.count; i++)
		assert_int_not_equal(t->events.phase[i], 'X');
	trawl_trace_free(t);
}

static void deep_nesting(void **state)
{
	struct tw_str text;
	struct trawl_trace *t;
	int i, n = 20000;

	tw_str_init(&text, trawl_allocator_default());
	tw_str_add_char(&text, '[');
	for (i = 0; i < n; i++)
		tw_str_addf(&text,
			    "{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"n\",\"pid\":1,\"tid\":1,"
			    "\"ts\":%d},",
			    i);
	for (i = 0; i < n; i++)
		tw_str_addf(&text, "%s{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":%d}", i ? "," : "",
			    n + i);
	tw_str_add_char(&text, ']');
	t = trace_of(text.ptr);
	tw_str_release(&text);
	assert_kinds(t, 0);
	for (i = 0; i < n; i++)
		assert_true(t->events.dur_ns[i] == (int64_t)(n + (n - 1 - i) - i) * 1000);
	trawl_trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested_pairs),
		cmocka_unit_test(threads_and_order),
		cmocka_unit_test(one_ends_as_the_next_begins),
		cmocka_unit_test(what_finds_no_partner_is_counted),
		cmocka_unit_test(gpu_events_too),
		cmocka_unit_test(impossible_times),
		cmocka_unit_test(deep_nesting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
