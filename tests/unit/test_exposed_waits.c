/* For whom ranks wait while nothing else runs; test_exposed_waits.py counts each microsecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "job/collectives/exposed_waits.h"
#include "failing.h"
#include "made_jobs.h"

#include <string.h>

static int64_t waited[3][3];

static void note(void *context, uint32_t waiting, uint32_t late, int64_t ns)
{
	waited[waiting][late] += ns;
	++*(size_t *)context;
}

static void expose(struct tw_rank *rank, int64_t start_us, int64_t end_us)
{
	rank->exposed = tw_alloc_array(rank->allocator, 1, sizeof(*rank->exposed));
	assert_non_null(rank->exposed);
	rank->exposed[0] = (struct tw_interval){ start_us * 1000, end_us * 1000 };
	rank->exposed_count = 1;
}

/*
 * Rank 2 comes last, at 50 of 0 to 60: rank 0 waits from 0 on and computes until 20, rank 1 from 30
 * on, with nothing beside.
 */
static void make(struct looked_across *made)
{
	static const struct meeting meeting = { .starts = { 0, 30, 50 }, 60 };

	make_job(&made->job, 3);
	add_meetings(&made->job, &meeting, 1);
	expose(&made->job.ranks[0], 20, 60);
	expose(&made->job.ranks[1], 30, 60);
	expose(&made->job.ranks[2], 50, 60);
	memset(waited, 0, sizeof(waited));
}

static void what_is_exposed_of_a_wait(void **state)
{
	struct looked_across made = { 0 };
	struct tw_ranks_input in;
	size_t pairs = 0;

	make(&made);
	in = look_across(&made);
	assert_int_equal(tw_exposed_waits(&in, note, &pairs), 0);
	assert_int_equal(pairs, 2);
	assert_int_equal(waited[0][2], 30000);
	assert_int_equal(waited[1][2], 20000);
	release_looked_across(&made);
}

static void memory_that_runs_out(void **state)
{
	struct looked_across made = { 0 };
	struct tw_ranks_input in;
	struct failing failing;
	size_t pairs = 0;
	long n;
	int status;

	make(&made);
	in = look_across(&made);
	in.allocator = &failing.allocator;
	for (n = 0;; n++) {
		failing_init(&failing, n);
		status = tw_exposed_waits(&in, note, &pairs);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
		assert_int_equal(status, TRAWL_ENOMEM);
	}
	assert_int_equal(status, 0);
	assert_true(n > 5);
	release_looked_across(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_exposed_of_a_wait),
		cmocka_unit_test(memory_that_runs_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
