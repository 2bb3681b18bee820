/* What encloses events of the host, against a look at every pair. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "analysis/launches/enclosing.h"
#include "base/hash.h"
#include "failing.h"
#include "traces.h"

#define PYTHON TW_CLASS_BIT(TRAWL_CLASS_PYTHON)
#define BOTH (PYTHON | TW_CLASS_BIT(TRAWL_CLASS_ANNOTATION))

static struct script script;

static void python(const char *name, int tid, int64_t start_ns, int64_t dur_ns)
{
	script_slice(&script, "python_function", name, 1, tid, start_ns, dur_ns, NULL);
}

/* Names of what encloses the event of a name, innermost first, each followed by a blank. */
static const char *around(const struct trawl_trace *trace, const char *name, unsigned classes,
			  unsigned most)
{
	static char names[200];
	uint32_t target = (uint32_t)event_named(trace, name);
	struct tw_enclosing e;
	unsigned depth;
	uint32_t event;

	assert_int_equal(tw_enclosing_init(&e, trace, &target, 1, classes, most, trace->allocator),
			 0);
	names[0] = '\0';
	for (depth = 0; (event = tw_enclosing_at(&e, 0, depth)) != TW_NOT_ENCLOSED; depth++) {
		strcat(names, name_of(trace, event));
		strcat(names, " ");
	}
	tw_enclosing_release(&e);
	return names;
}

static void test_innermost_first(void **state)
{
	struct trawl_trace *trace;

	(void)state;
	script_begin(&script);
	python("main", 1, 0, 1000);
	python("before", 1, 100, 100);
	python("inner", 1, 300, 100);
	python("step", 1, 200, 500);
	python("other thread", 2, 0, 1000);
	script_slice(&script, "user_annotation", "range", 1, 1, 250, 300, NULL);
	script_op(&script, "op", 350, 200);
	script_op(&script, "alone", 2000, 10);
	trace = script_read(&script);
	assert_string_equal(around(trace, "op", PYTHON, 9), "inner step main ");
	assert_string_equal(around(trace, "op", BOTH, 9), "inner range step main ");
	assert_string_equal(around(trace, "op", PYTHON, 2), "inner step ");
	assert_string_equal(around(trace, "op", PYTHON, 1), "inner ");
	assert_string_equal(around(trace, "op", PYTHON, 0), "");
	assert_string_equal(around(trace, "alone", BOTH, 9), "");
	assert_string_equal(around(trace, "inner", PYTHON, 9), "step main ");
	trawl_trace_free(trace);
}

/* What ends where the target begins is over; of what begins together the longer is outside. */
static void test_edges(void **state)
{
	struct trawl_trace *trace;

	(void)state;
	script_begin(&script);
	python("over", 1, 0, 100);
	python("long", 1, 100, 100);
	python("same", 1, 100, 50);
	script_op(&script, "op", 100, 50);
	python("same again", 1, 100, 50);
	python("short", 1, 100, 20);
	python("empty", 1, 100, 0);
	trace = script_read(&script);
	assert_string_equal(around(trace, "op", PYTHON, 9), "same long ");
	assert_string_equal(around(trace, "short", PYTHON, 9), "same again same long ");
	assert_string_equal(around(trace, "same again", PYTHON, 9), "same long ");
	trawl_trace_free(trace);
}

/* ---- at random */

static uint64_t seed = 11;

static int64_t draw(uint64_t below)
{
	seed = tw_hash_u64(seed);
	return (int64_t)(seed % below);
}

static struct trawl_trace *random_trace(int events)
{
	int i;

	script_begin(&script);
	for (i = 0; i < events; i++) {
		int kind = (int)draw(4), tid = (int)draw(3);
		int64_t start = draw(60), dur = draw(30);

		script_slice(&script,
			     kind < 2  ? "python_function" :
			     kind == 2 ? "user_annotation" :
					 "cpu_op",
			     "x", 1, tid, start, dur, NULL);
	}
	return script_read(&script);
}

static int64_t end_of(const struct trawl_trace *trace, uint32_t e)
{
	return trace->events.start_ns[e] + trace->events.dur_ns[e];
}

/* Whether `event` encloses `inner`, both told by their times alone. */
static bool encloses(const struct trawl_trace *trace, uint32_t event, uint32_t inner)
{
	int64_t start = trace->events.start_ns[event], of = trace->events.start_ns[inner];
	int64_t end = end_of(trace, event);

	if (event == inner || trace->events.track[event] != trace->events.track[inner] ||
	    start > of || end <= of)
		return false;
	return start < of || end > end_of(trace, inner) ||
	       (end == end_of(trace, inner) && event < inner);
}

static void check_target(const struct trawl_trace *trace, const struct tw_enclosing *e,
			 const uint32_t *targets, uint64_t i, unsigned most)
{
	uint32_t last = TW_NOT_ENCLOSED;
	unsigned n = 0, found = 0;
	uint32_t event;

	for (event = 0; event < trace->events.count; event++)
		n += BOTH & TW_CLASS_BIT(tw_class(trace, event)) &&
		     encloses(trace, event, targets[i]);
	while ((event = tw_enclosing_at(e, i, found)) != TW_NOT_ENCLOSED) {
		assert_true(encloses(trace, event, targets[i]));
		assert_true(last == TW_NOT_ENCLOSED ||
			    trace->events.start_ns[last] >= trace->events.start_ns[event]);
		last = event;
		found++;
	}
	assert_int_equal(found, n < most ? n : most);
}

static void test_every_pair(void **state)
{
	unsigned round;

	(void)state;
	for (round = 0; round < 200; round++) {
		struct trawl_trace *trace = random_trace(1 + (int)draw(40));
		unsigned most = (unsigned)draw(6);
		uint32_t targets[40];
		struct tw_enclosing e;
		uint64_t i;

		for (i = 0; i < trace->events.count; i++)
			targets[i] = (uint32_t)(trace->events.count - 1 - i);
		assert_int_equal(
			tw_enclosing_init(&e, trace, targets, i, BOTH, most, trace->allocator), 0);
		for (i = 0; i < trace->events.count; i++)
			check_target(trace, &e, targets, i, most);
		tw_enclosing_release(&e);
		trawl_trace_free(trace);
	}
}

static void test_out_of_memory(void **state)
{
	struct trawl_trace *trace = random_trace(300);
	uint32_t targets[300], i;
	long n;

	(void)state;
	for (i = 0; i < 300; i++)
		targets[i] = i;
	for (n = 0;; n++) {
		struct tw_enclosing e;
		struct failing failing;
		int status;

		failing_init(&failing, n);
		status = tw_enclosing_init(&e, trace, targets, 300, BOTH, 3, &failing.allocator);
		assert_int_equal(status, failing.failed ? -1 : 0);
		tw_enclosing_release(&e);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
	}
	assert_true(n > 2);
	trawl_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_innermost_first),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_every_pair),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
