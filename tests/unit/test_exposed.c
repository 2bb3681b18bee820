/* Time that only one owner's GPU work fills. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/launches/exposed.h"
#include "traces.h"

#include <stdlib.h>
#include <string.h>

static void hidden_by_another_owner(void **state)
{
	struct script s;
	struct trawl_trace *t;
	struct tw_derived *d;
	/* In order of start: a, b, c, d. */
	static const uint32_t owner[] = { 0, 1, 0, TW_NONE };
	int64_t exposed[2];

	script_begin(&s);
	script_kernel(&s, "a", 7, 0, 100, 0);
	script_kernel(&s, "b", 8, 60, 80, 0); /* hides 60 to 100 of a */
	script_kernel(&s, "c", 7, 200, 100, 0);
	script_kernel(&s, "d", 8, 250, 20, 0); /* nobody's, and hides as well */
	t = script_read(&s);
	d = derive(t, NULL);
	assert_int_equal(tw_exposed_times(d, owner, 2, exposed), 0);
	assert_int_equal(exposed[0], 60 + 80);
	assert_int_equal(exposed[1], 40);
	tw_derived_free(d);
	trawl_trace_free(t);
}

static void an_owner_does_not_hide_itself(void **state)
{
	struct script s;
	struct trawl_trace *t;
	struct tw_derived *d;
	static const uint32_t owner[] = { 0, 0, 0 };
	int64_t exposed[1];

	script_begin(&s);
	script_kernel(&s, "a", 7, 0, 100, 0);
	script_kernel(&s, "b", 8, 50, 100, 0);
	script_kernel(&s, "c", 7, 150, 10, 0);
	t = script_read(&s);
	d = derive(t, NULL);
	assert_int_equal(tw_exposed_times(d, owner, 1, exposed), 0);
	assert_int_equal(exposed[0], 160);
	tw_derived_free(d);
	trawl_trace_free(t);
}

/* Against every nanosecond counted by itself. */
static void random_events(void **state)
{
	enum { EVENTS = 40, SPAN = 400, OWNERS = 5 };
	unsigned round, i, o, at;

	for (round = 0; round < 50; round++) {
		struct script s;
		struct trawl_trace *t;
		struct tw_derived *d;
		uint32_t owner[EVENTS];
		int64_t exposed[OWNERS], expected[OWNERS] = { 0 };

		srandom(round);
		script_begin(&s);
		for (i = 0; i < EVENTS; i++)
			script_kernel(&s, "k", (int)(random() % 4), random() % SPAN, random() % 30,
				      0);
		t = script_read(&s);
		d = derive(t, NULL);
		for (i = 0; i < d->gpu.count; i++)
			owner[i] = random() % 6 ? (uint32_t)(random() % OWNERS) : TW_NONE;
		for (at = 0; at < SPAN + 30; at++) {
			bool runs[OWNERS + 1] = { false };
			unsigned running = 0, last = OWNERS;

			for (i = 0; i < d->gpu.count; i++)
				if (d->gpu.start_ns[i] <= at && at < d->gpu.end_ns[i])
					runs[owner[i] == TW_NONE ? OWNERS : owner[i]] = true;
			for (o = 0; o <= OWNERS; o++)
				if (runs[o]) {
					running++;
					last = o;
				}
			if (running == 1 && last < OWNERS)
				expected[last]++;
		}
		assert_int_equal(tw_exposed_times(d, owner, OWNERS, exposed), 0);
		assert_memory_equal(exposed, expected, sizeof(expected));
		tw_derived_free(d);
		trawl_trace_free(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hidden_by_another_owner),
		cmocka_unit_test(an_owner_does_not_hide_itself),
		cmocka_unit_test(random_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
