/* What the clocks of ranks are off, against what they were made to be. */
#include "job/clocks/clocks.h"

#include "edges.h"
#include "failing.h"
#include "instrumented.h"
#include "made_jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void measure(struct tw_clocks *clocks, const struct trawl_job *job, enum trawl_align asked)
{
	struct tw_matches matches;

	assert_int_equal(tw_matches_build(&matches, job, trawl_allocator_default()), 0);
	assert_int_equal(tw_clocks_measure(clocks, job, &matches, asked, trawl_allocator_default()),
			 0);
	tw_matches_release(&matches);
}

/* The i-th collective of a group, numbered; it ends at `end` us on the rank's clock. */
static void add_end(struct trawl_job *job, size_t rank, const char *group, const char *name, int i,
		    double start, double end)
{
	add_call(job, rank, &(struct call){ start, end, name, .group = group, .sequence = i + 1 });
}

/* Hosts 5 ms apart: the ends of three collectives, exactly. Starts are rank 1's to be late. */
static void test_hosts_that_are_apart(void **state)
{
	static const double starts[][2] = { { 1000, 6040 }, { 1300, 6290 }, { 1500, 6550 } };
	static const double ends[] = { 1100, 1350, 1580 };
	struct tw_clocks clocks;
	struct trawl_job job;
	int i;

	make_job(&job, 2);
	for (i = 0; i < 3; i++) {
		add_end(&job, 0, "dp", "allreduce", i, starts[i][0], ends[i]);
		add_end(&job, 1, "dp", "allreduce", i, starts[i][1], ends[i] + 5000);
	}
	measure(&clocks, &job, TRAWL_ALIGN_AUTO);
	assert_int_equal(clocks.align, TRAWL_ALIGN_COLLECTIVES);
	assert_true(clocks.differ);
	assert_false(clocks.based);
	assert_int_equal(clocks.reference, 0);
	assert_true(clocks.of[0].known);
	assert_int_equal(clocks.of[0].offset_ns, 0);
	assert_true(clocks.of[1].known);
	assert_int_equal(clocks.of[1].offset_ns, 5000000);
	assert_int_equal(clocks.of[1].samples, 3);
	assert_true(isnan(clocks.of[1].drift_ppm));
	assert_int_equal(clocks.shift_ns[0], 0);
	assert_int_equal(clocks.shift_ns[1], -5000000);
	tw_clocks_release(&clocks);
	measure(&clocks, &job, TRAWL_ALIGN_NONE);
	assert_int_equal(clocks.align, TRAWL_ALIGN_NONE);
	assert_int_equal(clocks.shift_ns[1], 0);
	assert_int_equal(clocks.of[1].offset_ns, 5000000);
	tw_clocks_release(&clocks);
	tw_job_release(&job);
}

static void test_one_clock_stays_as_it_is(void **state)
{
	struct tw_clocks clocks;
	struct trawl_job job;
	int i;

	make_job(&job, 2);
	for (i = 0; i < 10; i++) {
		add_end(&job, 0, "dp", "allreduce", i, i * 1000, i * 1000 + 100 + i % 3);
		add_end(&job, 1, "dp", "allreduce", i, i * 1000, i * 1000 + 101);
	}
	measure(&clocks, &job, TRAWL_ALIGN_AUTO);
	assert_int_equal(clocks.align, TRAWL_ALIGN_BASE_TIME);
	assert_false(clocks.differ);
	assert_int_equal(clocks.shift_ns[1], 0);
	/* Names of hosts that differ: there are two clocks. */
	tw_clocks_release(&clocks);
	job.ranks[0].host = "a";
	job.ranks[1].host = "b";
	measure(&clocks, &job, TRAWL_ALIGN_AUTO);
	assert_int_equal(clocks.align, TRAWL_ALIGN_COLLECTIVES);
	/* What is within its uncertainty is not applied. */
	assert_true(clocks.of[1].uncertainty_ns > 1000);
	assert_int_equal(clocks.shift_ns[1], 0);
	tw_clocks_release(&clocks);
	tw_job_release(&job);
}

/* Base times are added where all ranks tell one, before anything else. */
/* Of three ranks of a host one is 20 ms off, of the next host all are 5 s off. */
static void test_rank_apart_from_its_host(void **state)
{
	static const double off[] = { 0, 20000, 3, 5000000, 5000001, 5000002 };
	struct tw_clocks clocks;
	struct trawl_job job;
	int i;
	size_t r;

	make_job(&job, 6);
	job.gpus_per_node = 3;
	for (i = 0; i < 10; i++)
		for (r = 0; r < 6; r++)
			add_end(&job, r, "dp", "allreduce", i, i * 1000 + off[r],
				i * 1000 + 100 + off[r]);
	measure(&clocks, &job, TRAWL_ALIGN_AUTO);
	for (r = 0; r < 6; r++)
		assert_int_equal(clocks.of[r].suspect, r == 1);
	tw_clocks_release(&clocks);
	/* Two that differ do not say which of them is off. */
	job.gpus_per_node = 2;
	measure(&clocks, &job, TRAWL_ALIGN_AUTO);
	for (r = 0; r < 6; r++)
		assert_false(clocks.of[r].suspect);
	tw_clocks_release(&clocks);
	tw_job_release(&job);
	(void)state;
}

/* Of a host's ranks the middle one is off by so much, in us. */
static void assert_suspect(size_t ranks, double off, bool suspect)
{
	struct tw_clocks clocks;
	struct trawl_job job;
	size_t r;
	int i;

	make_job(&job, ranks);
	job.gpus_per_node = (int64_t)ranks;
	for (i = 0; i < 10; i++)
		for (r = 0; r < ranks; r++)
			add_end(&job, r, "dp", "allreduce", i, i * 1000 + (r == 1 ? off : 0),
				i * 1000 + 100 + (r == 1 ? off : 0));
	measure(&clocks, &job, TRAWL_ALIGN_NONE);
	for (r = 0; r < ranks; r++)
		assert_int_equal(clocks.of[r].suspect, suspect && r == 1);
	tw_clocks_release(&clocks);
	tw_job_release(&job);
}

static void test_ten_milliseconds_are_suspect(void **state)
{
	EDGE_OF(TW_LIMIT_CLOCK_SUSPECT_NS);
	assert_suspect(3, 10000, false);
	assert_suspect(3, 10000.001, true);
	assert_suspect(3, -10000.001, true);
	EDGE_OF(TW_LIMIT_CLOCK_SUSPECT_RANKS);
	assert_suspect(2, 20000, false);
	assert_suspect(3, 20000, true);
}

/* Two clocks that are apart by `off` us at the ends of so many collectives. */
static void assert_differ(int collectives, double off, bool differ)
{
	struct tw_clocks clocks;
	struct trawl_job job;
	int i;

	make_job(&job, 2);
	for (i = 0; i < collectives; i++) {
		add_end(&job, 0, "dp", "allreduce", i, i * 1000, i * 1000 + 100);
		add_end(&job, 1, "dp", "allreduce", i, i * 1000 + off, i * 1000 + 100 + off);
	}
	measure(&clocks, &job, TRAWL_ALIGN_NONE);
	assert_int_equal(clocks.differ, differ);
	tw_clocks_release(&clocks);
	tw_job_release(&job);
}

/* Ends that agree are uncertain by 50 us divided by their number. */
static void test_clocks_that_differ(void **state)
{
	EDGE_OF(TW_LIMIT_CLOCKS_DIFFER_NS);
	assert_differ(10, 50, false);
	assert_differ(10, 50.001, true);
	EDGE_OF(TW_LIMIT_CLOCKS_DIFFER_TIMES);
	assert_differ(1, 150, false);
	assert_differ(1, 150.003, true);
}

static void test_base_times(void **state)
{
	const int64_t base[] = { 1767189312000000000, 1767189312003000000 };
	struct tw_clocks clocks;
	struct trawl_job job;
	int i;

	make_job(&job, 2);
	for (i = 0; i < 4; i++) {
		add_end(&job, 0, "dp", "allreduce", i, 5000 + i * 1000, 5100 + i * 1000);
		add_end(&job, 1, "dp", "allreduce", i, 2000 + i * 1000, 2100 + i * 1000);
	}
	job.ranks[0].base_time_ns = base[0];
	job.ranks[1].base_time_ns = base[1];
	measure(&clocks, &job, TRAWL_ALIGN_AUTO);
	assert_int_equal(clocks.align, TRAWL_ALIGN_BASE_TIME);
	assert_true(clocks.based);
	assert_int_equal(clocks.of[1].offset_ns, 0);
	assert_int_equal(clocks.shift_ns[0], base[0]);
	assert_int_equal(clocks.shift_ns[1], base[1]);
	tw_clocks_release(&clocks);
	/* 20 us more on rank 1, then: rank 0 tells none. */
	job.ranks[1].base_time_ns += 20000;
	measure(&clocks, &job, TRAWL_ALIGN_COLLECTIVES);
	assert_int_equal(clocks.of[1].offset_ns, 20000);
	assert_int_equal(clocks.shift_ns[1], base[1]);
	tw_clocks_release(&clocks);
	job.ranks[0].base_time_ns = TRAWL_TIME_NONE;
	measure(&clocks, &job, TRAWL_ALIGN_BASE_TIME);
	assert_false(clocks.based);
	assert_int_equal(clocks.shift_ns[0], 0);
	assert_int_equal(clocks.shift_ns[1], 0);
	assert_int_equal(clocks.of[1].offset_ns, -3000000);
	tw_clocks_release(&clocks);
	tw_job_release(&job);
}

/* Ranks 0-1 and 2-3 share collectives, 4 only sends, 5 has nothing. */
static void test_what_nothing_connects(void **state)
{
	struct tw_clocks clocks;
	struct trawl_job job;
	int i;

	make_job(&job, 6);
	for (i = 0; i < 4; i++) {
		add_end(&job, 0, "a", "allreduce", i, i * 1000, i * 1000 + 100);
		add_end(&job, 1, "a", "allreduce", i, i * 1000 + 7000, i * 1000 + 7100);
		add_end(&job, 2, "b", "allgather", i, i * 1000, i * 1000 + 100);
		add_end(&job, 3, "b", "allgather", i, i * 1000 - 900, i * 1000 - 800);
		add_end(&job, 0, "c", "broadcast", i, i * 1000 + 200, i * 1000 + 300);
		add_end(&job, 4, "c", "broadcast", i, i * 1000 + 200, i * 1000 + 300);
	}
	measure(&clocks, &job, TRAWL_ALIGN_COLLECTIVES);
	assert_int_equal(clocks.of[1].offset_ns, 7000000);
	assert_int_equal(clocks.of[1].reference, 0);
	assert_int_equal(clocks.of[2].offset_ns, 0);
	assert_int_equal(clocks.of[2].reference, 2);
	assert_int_equal(clocks.of[3].offset_ns, -900000);
	assert_int_equal(clocks.of[3].reference, 2);
	assert_true(clocks.of[3].known);
	assert_false(clocks.of[4].known);
	assert_false(clocks.of[5].known);
	assert_int_equal(clocks.shift_ns[4], 0);
	tw_clocks_release(&clocks);
	tw_job_release(&job);
}

/* Pairs in a chain: each offset adds up, and so does what is not known of it. */
static void test_a_chain_of_pairs(void **state)
{
	static const char *const groups[] = { "g0", "g1", "g2", "g3" };
	struct tw_clocks clocks;
	struct trawl_job job;
	size_t r;
	int i;

	make_job(&job, 5);
	for (i = 0; i < 12; i++) {
		for (r = 0; r < 5; r++) {
			double ahead = 1000.0 * (double)(r * r);

			if (r)
				add_end(&job, r, groups[r - 1], "allreduce", i,
					i * 9000 + (double)r * 100 + ahead,
					i * 9000 + (double)r * 100 + 90 + ahead);
			if (r < 4)
				add_end(&job, r, groups[r], "allreduce", i,
					i * 9000 + (double)r * 100 + 120 + ahead,
					i * 9000 + (double)r * 100 + 190 + ahead);
		}
	}
	measure(&clocks, &job, TRAWL_ALIGN_AUTO);
	for (r = 0; r < 5; r++)
		assert_int_equal(clocks.of[r].offset_ns, 1000000 * (int64_t)(r * r));
	assert_true(clocks.of[4].uncertainty_ns > clocks.of[1].uncertainty_ns);
	tw_clocks_release(&clocks);
	tw_job_release(&job);
}

/* A clock that runs 20 ppm fast, and noise of 5 us: over 4 s that is 80 us. */
static void test_drift(void **state)
{
	struct tw_clocks clocks;
	struct trawl_job job;
	uint64_t random = 11;
	int i;

	make_job(&job, 3);
	for (i = 0; i < 400; i++) {
		double at = i * 10000;
		double fast = at * (1 + 20e-6) + 3000, noise = (double)(next(&random) % 1000) / 100;

		add_end(&job, 0, "dp", "allreduce", i, at - 50, at);
		add_end(&job, 1, "dp", "allreduce", i, fast - 10, fast + noise - 5);
		add_end(&job, 2, "dp", "allreduce", i, at - 70, at);
	}
	measure(&clocks, &job, TRAWL_ALIGN_AUTO);
	assert_true(fabs(clocks.of[1].drift_ppm - 20) < 1);
	assert_true(fabs(clocks.of[2].drift_ppm) < 1);
	/* 3 ms in the beginning, 80 us more at the end: the uncertainty holds both. */
	assert_true(clocks.of[1].offset_ns - clocks.of[1].uncertainty_ns <= 3000000 + 5000);
	assert_true(clocks.of[1].offset_ns + clocks.of[1].uncertainty_ns >= 3080000 - 5000);
	tw_clocks_release(&clocks);
	tw_job_release(&job);
}

/* Of two ranks whose times have these fractions of a microsecond. */
static int64_t least_uncertainty(double first, double second)
{
	struct tw_clocks clocks;
	struct trawl_job job;
	int64_t uncertainty;
	int i;

	make_job(&job, 2);
	for (i = 0; i < 500; i++) {
		add_end(&job, 0, "dp", "allreduce", i, i * 1000, i * 1000 + 100 + first);
		add_end(&job, 1, "dp", "allreduce", i, i * 1000, i * 1000 + 100 + second);
	}
	measure(&clocks, &job, TRAWL_ALIGN_AUTO);
	uncertainty = clocks.of[1].uncertainty_ns;
	tw_clocks_release(&clocks);
	tw_job_release(&job);
	return uncertainty;
}

/* Times of whole microseconds cannot tell less than one, whichever rank has them. */
static void test_resolution(void **state)
{
	assert_int_equal(least_uncertainty(0, 0), 1000);
	assert_int_equal(least_uncertainty(0, 0.001), 1000);
	assert_int_equal(least_uncertainty(0.001, 0), 1000);
	assert_true(least_uncertainty(0.001, 0.001) < 1000);
}

/*
 * Random jobs of several hosts: offsets lie within what is stated. A rank is late by up to 30 ms
 * at every start, one collective in twenty ends up to 2 ms off on a rank, noise is 4 us.
 */
enum { RANKS = 6 };

static void check_skew(uint64_t seed)
{
	uint64_t random = seed;
	int count = 3 + (int)(next(&random) % 60), numbered = (int)(next(&random) % 2), i;
	double ahead[RANKS], at = 0;
	struct tw_clocks clocks;
	struct trawl_job job;
	size_t r;

	make_job(&job, RANKS);
	for (r = 0; r < RANKS; r++)
		ahead[r] = (double)(next(&random) % 20001) - 10000 +
			   (double)(next(&random) % 1000) / 1000;
	for (i = 0; i < count; i++) {
		at += 40000 + (double)(next(&random) % 5000);
		for (r = 0; r < RANKS; r++) {
			double end = at + ahead[r] + (double)(next(&random) % 8001) / 1000 - 4;
			double late = r == 2 ? 30000 : (double)(next(&random) % 500);

			if (count > 20 && next(&random) % 20 == 0)
				end += (double)(next(&random) % 2000);
			add_end(&job, r, "dp", "allreduce", numbered ? i : -1, end - 30500 + late,
				end);
		}
	}
	measure(&clocks, &job, TRAWL_ALIGN_AUTO);
	for (r = 0; r < RANKS; r++) {
		double off = ((double)clocks.of[r].offset_ns / 1000 - (ahead[r] - ahead[0]));

		assert_true(clocks.of[r].known);
		if (fabs(off) * 1000 > (double)clocks.of[r].uncertainty_ns)
			fail_msg("seed %d: rank %d is off by %f us, stated are %f", (int)seed,
				 (int)r, off, (double)clocks.of[r].uncertainty_ns / 1000);
		/* What is stated says something, too, where one in twenty is not off. */
		assert_true(count > 20 || clocks.of[r].uncertainty_ns < 25000);
	}
	tw_clocks_release(&clocks);
	tw_job_release(&job);
}

static void test_offsets_lie_within_what_is_stated(void **state)
{
	uint64_t seed, seeds = UNDER_TSAN ? 50 : 2000;

	for (seed = 1; seed <= seeds; seed++)
		check_skew(seed);
}

/* Times of broken traces: any of 64 bits. */
static void test_any_times(void **state)
{
	static const int64_t times[] = { INT64_MIN, INT64_MIN / 2, -1,	     0,
					 1,	    INT64_MAX / 2, INT64_MAX };
	uint64_t seed;

	for (seed = 1; seed <= 200; seed++) {
		uint64_t random = seed;
		struct tw_clocks clocks;
		struct trawl_job job;
		size_t r;
		int i;

		make_job(&job, 3);
		for (r = 0; r < 3; r++) {
			for (i = 0; i < 40; i++) {
				add_end(&job, r, "dp", "allreduce", i, i * 1e6, i * 1e6 + 100);
				if (next(&random) % 3 == 0)
					job.ranks[r].collectives[i].end_ns =
						times[next(&random) % 7];
			}
			job.ranks[r].base_time_ns = times[next(&random) % 7];
		}
		measure(&clocks, &job, TRAWL_ALIGN_COLLECTIVES);
		for (r = 0; r < 3; r++)
			assert_true(clocks.of[r].known && clocks.of[r].uncertainty_ns >= 0);
		tw_clocks_release(&clocks);
		tw_job_release(&job);
	}
}

static void test_no_ranks(void **state)
{
	struct tw_clocks clocks;
	struct trawl_job job;

	make_job(&job, 0);
	measure(&clocks, &job, TRAWL_ALIGN_AUTO);
	assert_int_equal(clocks.align, TRAWL_ALIGN_BASE_TIME);
	tw_clocks_release(&clocks);
	tw_job_release(&job);
}

static void test_out_of_memory(void **state)
{
	struct tw_matches matches;
	struct trawl_job job;
	long n;
	int i;

	make_job(&job, 2);
	for (i = 0; i < 80; i++) {
		add_end(&job, 0, "dp", "allreduce", i, i * 50000, i * 50000 + 100);
		add_end(&job, 1, "dp", "allreduce", i, i * 50000, i * 50000 + 100);
	}
	assert_int_equal(tw_matches_build(&matches, &job, trawl_allocator_default()), 0);
	for (n = 0;; n++) {
		struct failing failing;
		struct tw_clocks clocks;
		int status;

		failing_init(&failing, n);
		status = tw_clocks_measure(&clocks, &job, &matches, TRAWL_ALIGN_AUTO,
					   &failing.allocator);
		assert_int_equal(status, failing.failed ? TRAWL_ENOMEM : 0);
		tw_clocks_release(&clocks);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
	}
	assert_true(n > 3);
	tw_matches_release(&matches);
	tw_job_release(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts_that_are_apart),
		cmocka_unit_test(test_one_clock_stays_as_it_is),
		cmocka_unit_test(test_rank_apart_from_its_host),
		cmocka_unit_test(test_ten_milliseconds_are_suspect),
		cmocka_unit_test(test_clocks_that_differ),
		cmocka_unit_test(test_base_times),
		cmocka_unit_test(test_what_nothing_connects),
		cmocka_unit_test(test_a_chain_of_pairs),
		cmocka_unit_test(test_drift),
		cmocka_unit_test(test_resolution),
		cmocka_unit_test(test_offsets_lie_within_what_is_stated),
		cmocka_unit_test(test_any_times),
		cmocka_unit_test(test_no_ranks),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
