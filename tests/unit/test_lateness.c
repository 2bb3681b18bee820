/* For whom ranks wait, and what a late rank passes on: no more than it waited, nor than others do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/scope.h"
#include "job/collectives/lateness.h"
#include "made_jobs.h"

/* Four ranks leave "world" at 10; then 0 waits for 1, and 2 for 0. */
#define AWAY (-1)

struct late {
	int64_t caused_ns, passed_ns;
	uint64_t last, passed;
};

static void assert_rank_0(const struct meeting *meetings, size_t count, struct late want)
{
	struct looked_across made = { 0 };
	struct tw_ranks_input in;
	struct tw_scope scope;
	struct tw_lateness l;

	make_job(&made.job, 4);
	add_meetings(&made.job, meetings, count);
	in = look_across(&made);
	tw_scope_begin(&scope, in.allocator);
	in.allocator = &scope.allocator;
	assert_int_equal(tw_lateness_build(&l, &in), 0);
	assert_true(l.of[0].caused_ns == want.caused_ns);
	assert_true(l.of[0].passed_ns == want.passed_ns);
	assert_int_equal(l.of[0].last, want.last);
	assert_int_equal(l.of[0].passed, want.passed);
	tw_scope_end(&scope);
	release_looked_across(&made);
}

/*
 * Rank 0 waited 300 us for rank 1; then rank 2 waits for it, from 500 less `wait` on.  What is passed on
 * is never more than the wait, though rank 0 waited longer: rank 2 came late too, by itself.
 */
static void assert_passes_on(double wait, struct late want)
{
	const struct meeting meetings[] = {
		{ .starts = { 0, 0, 0, 0 }, 10 },
		{ .starts = { 100, 400, AWAY, AWAY }, 420, "tp" },
		{ .starts = { 500, AWAY, 500 - wait, AWAY }, 510, "dp" },
	};

	/* In "world" all come together: the first of them counts as the last. */
	assert_rank_0(meetings, 3, want);
}

static void no_more_than_the_wait(void **state)
{
	assert_passes_on(100, (struct late){ 100000, 100000, 2, 1 });
	assert_passes_on(299, (struct late){ 299000, 299000, 2, 1 });
	assert_passes_on(300, (struct late){ 300000, 300000, 2, 1 });
}

static void no_more_than_it_waited(void **state)
{
	assert_passes_on(301, (struct late){ 301000, 300000, 2, 1 });
	assert_passes_on(450, (struct late){ 450000, 300000, 2, 1 });
}

/* "Times passed on": more than half of what it causes. */
static void more_than_half_is_passed_on(void **state)
{
	const struct meeting half[] = {
		{ .starts = { 0, 0, 0, 0 }, 10 },
		{ .starts = { 100, 300, AWAY, AWAY }, 420, "tp" },
		{ .starts = { 500, AWAY, 100, AWAY }, 510, "dp" },
	};
	const struct meeting more[] = {
		{ .starts = { 0, 0, 0, 0 }, 10 },
		{ .starts = { 100, 300.001, AWAY, AWAY }, 420, "tp" },
		{ .starts = { 500, AWAY, 100, AWAY }, 510, "dp" },
	};

	assert_rank_0(half, 3, (struct late){ 400000, 200000, 2, 0 });
	assert_rank_0(more, 3, (struct late){ 400000, 200001, 2, 1 });
}

/* Rank 2 waited as well, for rank 3: less is passed on by as much, and never less than nothing. */
static void what_both_waited_is_not_passed_on(void **state)
{
	const struct meeting less[] = {
		{ .starts = { 100, 400, AWAY, AWAY }, 420, "tp" },
		{ .starts = { AWAY, AWAY, 100, 220 }, 240, "other" },
		{ .starts = { 700, AWAY, 400, AWAY }, 710, "dp" },
	};
	const struct meeting nothing[] = {
		{ .starts = { 100, 200, AWAY, AWAY }, 420, "tp" },
		{ .starts = { AWAY, AWAY, 100, 220 }, 240, "other" },
		{ .starts = { 700, AWAY, 400, AWAY }, 710, "dp" },
	};

	assert_rank_0(less, 3, (struct late){ 300000, 180000, 1, 1 });
	assert_rank_0(nothing, 3, (struct late){ 300000, 0, 1, 0 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_more_than_the_wait),
		cmocka_unit_test(no_more_than_it_waited),
		cmocka_unit_test(more_than_half_is_passed_on),
		cmocka_unit_test(what_both_waited_is_not_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
