/* Which kernels of different ranks are one collective. */
#include "job/match/match.h"

#include "failing.h"
#include "instrumented.h"
#include "made_jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(list) (sizeof(list) / sizeof(*(list)))

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void build(struct tw_matches *matches, const struct trawl_job *job)
{
	assert_int_equal(tw_matches_build(matches, job, trawl_allocator_default()), 0);
}

static const struct tw_match *match_of(const struct tw_matches *matches, size_t rank, uint64_t c)
{
	return &matches->matches[matches->index_of[rank][c]];
}

static void assert_together(const struct tw_matches *matches, size_t a, uint64_t of_a, size_t b,
			    uint64_t of_b)
{
	assert_int_equal(matches->index_of[a][of_a], matches->index_of[b][of_b]);
}

static void assert_is(const struct tw_matches *matches, size_t rank, uint64_t c, uint64_t index,
		      uint32_t count, enum tw_match_rule rule, enum tw_match_state state,
		      enum tw_match_sureness sureness)
{
	const struct tw_match *match = match_of(matches, rank, c);

	assert_int_equal(match->index, index);
	assert_int_equal(match->count, count);
	assert_int_equal(match->rule, rule);
	assert_int_equal(match->state, state);
	assert_int_equal(match->sureness, sureness);
}

/* What holds of any matches: each call is in one, members in order of rank, groups in order. */
static void assert_sound(const struct tw_matches *matches, const struct trawl_job *job)
{
	uint64_t i, members = 0, *next_index = calloc(matches->group_count + 1, 8);
	uint32_t k;

	assert_non_null(next_index);
	for (i = 0; i < matches->count; i++) {
		const struct tw_match *match = &matches->matches[i];

		assert_int_equal(match->first, members);
		assert_true(match->count > 0);
		assert_true(match->group < matches->group_count);
		assert_true(!i || match->group >= matches->matches[i - 1].group);
		assert_int_equal(match->index, next_index[match->group]++);
		for (k = 0; k < match->count; k++) {
			const struct tw_match_member *m = &matches->members[members + k];

			assert_true(!k || m->rank > matches->members[members + k - 1].rank);
			assert_int_equal(matches->index_of[m->rank][m->collective], i);
		}
		members += match->count;
	}
	for (k = 0; k < matches->group_count; k++)
		assert_int_equal(matches->groups[k].count, next_index[k]);
	free(next_index);
	assert_int_equal(members, matches->member_count);
	for (i = 0, members = 0; i < job->count; i++)
		members += job->ranks[i].collective_count;
	assert_int_equal(members, matches->member_count);
}

#define DP .group = "dp", .list = "[0, 1]", .group_size = 2, .dtype = "BFloat16"
#define ALLREDUCE DP, .name = "allreduce", .in = 4096, .out = 4096
#define ALLGATHER DP, .name = "_allgather_base", .in = 2048, .out = 4096

/* Rank 1 began to record one collective later. */
static const struct call offset_0[] = {
	{ 1000, 1100, ALLREDUCE, .sequence = 6 },
	{ 1300, 1350, ALLGATHER, .sequence = 7 },
	{ 1500, 1580, ALLREDUCE, .sequence = 8 },
};
static const struct call offset_1[] = {
	{ 1290, 1350, ALLGATHER, .sequence = 7 },
	{ 1550, 1580, ALLREDUCE, .sequence = 8 },
	{ 1700, 1720, ALLREDUCE, .sequence = 9 },
};

static void check_offset_windows(bool sequences)
{
	enum tw_match_rule rule = sequences ? TW_MATCH_BY_SEQUENCE : TW_MATCH_BY_ORDER;
	enum tw_match_sureness sure = sequences ? TW_MATCH_CERTAIN : TW_MATCH_LIKELY;
	struct tw_matches m;
	struct trawl_job job;
	size_t i;

	make_job(&job, 2);
	for (i = 0; i < 3; i++) {
		struct call a = offset_0[i], b = offset_1[i];

		a.sequence = sequences ? a.sequence : 0;
		b.sequence = sequences ? b.sequence : 0;
		add_call(&job, 0, &a);
		add_call(&job, 1, &b);
	}
	build(&m, &job);
	assert_sound(&m, &job);
	assert_int_equal(m.count, 4);
	assert_together(&m, 0, 1, 1, 0);
	assert_together(&m, 0, 2, 1, 1);
	assert_is(&m, 0, 0, 0, 1, rule, TW_MATCH_ALONE, sure);
	assert_is(&m, 0, 1, 1, 2, rule, TW_MATCH_WHOLE, sure);
	assert_is(&m, 0, 2, 2, 2, rule, TW_MATCH_WHOLE, sure);
	assert_is(&m, 1, 2, 3, 1, rule, TW_MATCH_ALONE, sure);
	tw_matches_release(&m);
	tw_job_release(&job);
}

static void test_windows_that_began_at_different_times(void **state)
{
	check_offset_windows(true);
	check_offset_windows(false);
}

static void test_groups_that_interleave_differently(void **state)
{
	struct tw_matches m;
	struct trawl_job job;

	make_job(&job, 2);
	add_call(&job, 0, &(struct call){ 1000, 1100, ALLREDUCE, .sequence = 1 });
	add_call(&job, 0,
		 &(struct call){ 1010, 1060, .group = "tp", .list = "[0,1]", .name = "allreduce",
				 .sequence = 1 });
	add_call(&job, 0, &(struct call){ 1200, 1250, ALLREDUCE, .sequence = 2 });
	add_call(&job, 1,
		 &(struct call){ 1005, 1060, .group = "tp", .list = "[0, 1]", .name = "allreduce",
				 .sequence = 1 });
	add_call(&job, 1, &(struct call){ 1030, 1100, ALLREDUCE, .sequence = 1 });
	add_call(&job, 1, &(struct call){ 1210, 1250, ALLREDUCE, .sequence = 2 });
	build(&m, &job);
	assert_sound(&m, &job);
	assert_int_equal(m.count, 3);
	assert_int_equal(m.group_count, 2);
	assert_together(&m, 0, 0, 1, 1);
	assert_together(&m, 0, 1, 1, 0);
	assert_together(&m, 0, 2, 1, 2);
	assert_string_equal(m.groups[0].name, "dp");
	assert_string_equal(m.groups[1].ranks, "[0, 1]"); /* as it was recorded first */
	assert_false(m.groups[0].shared_name);
	tw_matches_release(&m);
	tw_job_release(&job);
}

static void test_one_name_for_groups_of_other_ranks(void **state)
{
	static const char *const lists[] = { "[0, 1]", "[0, 1]", "[2, 3]", "[2, 3]" };
	struct tw_matches m;
	struct trawl_job job;
	struct tw_str id;
	size_t r;

	make_job(&job, 4);
	for (r = 0; r < 4; r++)
		add_call(&job, r,
			 &(struct call){ 1000, 1100, .group = "tp", .list = lists[r],
					 .name = "allreduce", .sequence = 1 });
	build(&m, &job);
	assert_sound(&m, &job);
	assert_int_equal(m.count, 2);
	assert_together(&m, 0, 0, 1, 0);
	assert_together(&m, 2, 0, 3, 0);
	assert_int_equal(m.matches[0].state, TW_MATCH_WHOLE);
	assert_true(m.groups[0].shared_name);
	tw_str_init(&id, trawl_allocator_default());
	tw_match_id(&m, match_of(&m, 3, 0), &id);
	assert_string_equal(id.ptr, "tp[2, 3]_0");
	tw_str_release(&id);
	tw_matches_release(&m);
	tw_job_release(&job);
}

/* Where one list is known for a name, calls without a list are of that group. */
static void test_lists_that_some_calls_lack(void **state)
{
	struct tw_matches m;
	struct trawl_job job;

	make_job(&job, 3);
	add_call(&job, 0,
		 &(struct call){ 10, 20, .group = "dp", .list = "[0, 1]", .name = "allreduce",
				 .sequence = 1 });
	add_call(&job, 1,
		 &(struct call){ 12, 20, .group = "dp", .name = "allreduce", .sequence = 1 });
	build(&m, &job);
	assert_int_equal(m.count, 1);
	assert_int_equal(m.matches[0].state, TW_MATCH_WHOLE);
	assert_string_equal(m.groups[0].ranks, "[0, 1]");
	tw_matches_release(&m);
	/* With two lists it cannot be told. */
	add_call(&job, 2,
		 &(struct call){ 10, 20, .group = "dp", .list = "[2]", .name = "allreduce",
				 .sequence = 1 });
	build(&m, &job);
	assert_sound(&m, &job);
	assert_int_equal(m.group_count, 3);
	assert_int_equal(m.count, 3);
	assert_int_equal(match_of(&m, 2, 0)->state, TW_MATCH_LOCAL);
	assert_int_equal(match_of(&m, 0, 0)->state, TW_MATCH_ALONE);
	tw_matches_release(&m);
	tw_job_release(&job);
}

/* Ids that are one double, and above what 64 bits with a sign hold. */
static void test_ids(void **state)
{
	struct tw_matches m;
	struct trawl_job job;

	make_job(&job, 2);
	add_call(&job, 0,
		 &(struct call){ 1000, 1100, .name = "allreduce", .id = 9223372036854775809u });
	add_call(&job, 0,
		 &(struct call){ 1200, 1250, .name = "allreduce", .id = 9223372036854775810u });
	add_call(&job, 1,
		 &(struct call){ 1210, 1250, .name = "allreduce", .id = 9223372036854775810u });
	build(&m, &job);
	assert_sound(&m, &job);
	assert_int_equal(m.count, 2);
	assert_is(&m, 0, 0, 0, 1, TW_MATCH_BY_ID, TW_MATCH_ALONE, TW_MATCH_CERTAIN);
	assert_is(&m, 0, 1, 1, 2, TW_MATCH_BY_ID, TW_MATCH_WHOLE, TW_MATCH_CERTAIN);
	assert_together(&m, 0, 1, 1, 0);
	assert_true(m.simplified);
	assert_string_equal(m.groups[0].name, "all");
	tw_matches_release(&m);
	tw_job_release(&job);
}

static void test_simplified_only_with_one_stream(void **state)
{
	struct tw_matches m;
	struct trawl_job job;
	struct tw_str id;

	make_job(&job, 2);
	add_call(&job, 0, &(struct call){ 10, 20, .name = "allreduce", .stream = "7" });
	add_call(&job, 1, &(struct call){ 12, 20, .name = "allreduce", .stream = "9" });
	build(&m, &job);
	assert_true(m.simplified);
	tw_str_init(&id, trawl_allocator_default());
	tw_match_id(&m, &m.matches[0], &id);
	assert_string_equal(id.ptr, "0");
	tw_str_release(&id);
	tw_matches_release(&m);
	add_call(&job, 1, &(struct call){ 32, 40, .name = "allreduce", .stream = "10" });
	build(&m, &job);
	assert_false(m.simplified);
	assert_string_equal(m.groups[0].name, "Unknown_Group");
	tw_matches_release(&m);
	tw_job_release(&job);
}

#define TRANSFER .group = "pp", .group_size = 2, .dtype = "Half", .in = 100

static void test_a_transfer_with_a_number(void **state)
{
	struct tw_matches m;
	struct trawl_job job;

	make_job(&job, 2);
	add_call(&job, 0,
		 &(struct call){ 1000, 1050, TRANSFER, .name = "send", .sequence = 1, .source = "0",
				 .destination = "1" });
	/* A collective counts apart from transfers. */
	add_call(&job, 0,
		 &(struct call){ 1100, 1150, TRANSFER, .name = "allreduce", .sequence = 1 });
	add_call(&job, 1,
		 &(struct call){ 980, 1050, TRANSFER, .name = "recv", .sequence = 1, .source = "0",
				 .destination = "1" });
	build(&m, &job);
	assert_sound(&m, &job);
	assert_int_equal(m.count, 2);
	assert_together(&m, 0, 0, 1, 0);
	assert_is(&m, 0, 0, 0, 2, TW_MATCH_BY_SEQUENCE, TW_MATCH_WHOLE, TW_MATCH_CERTAIN);
	assert_is(&m, 0, 1, 1, 1, TW_MATCH_BY_SEQUENCE, TW_MATCH_ALONE, TW_MATCH_CERTAIN);
	assert_false(match_of(&m, 0, 0)->together);
	assert_true(match_of(&m, 0, 1)->together);
	tw_matches_release(&m);
	tw_job_release(&job);
}

/* Without numbers: in the order of each pair of ranks. Rank 2's peer has no trace. */
static void test_transfers_by_order_of_their_pair(void **state)
{
	struct tw_matches m;
	struct trawl_job job;
	int i;

	make_job(&job, 3);
	for (i = 0; i < 4; i++) {
		add_call(&job, 0,
			 &(struct call){ i * 1000, i * 1000 + 50 + i * i, TRANSFER, .name = "send",
					 .destination = "1" });
		add_call(&job, 1,
			 &(struct call){ i * 1000, i * 1000 + 50 + i * i, TRANSFER, .name = "recv",
					 .source = "0" });
		add_call(&job, 1,
			 &(struct call){ i * 1000 + 500, i * 1000 + 540, TRANSFER, .name = "send",
					 .destination = "2" });
		add_call(&job, 2,
			 &(struct call){ i * 1000 + 400, i * 1000 + 541, TRANSFER, .name = "recv",
					 .source = "1" });
		add_call(&job, 2,
			 &(struct call){ i * 1000 + 600, i * 1000 + 640, TRANSFER, .name = "send",
					 .destination = "3" });
	}
	build(&m, &job);
	assert_sound(&m, &job);
	assert_int_equal(m.count, 12);
	for (i = 0; i < 4; i++) {
		assert_together(&m, 0, (uint64_t)i, 1, (uint64_t)i * 2);
		assert_together(&m, 1, (uint64_t)i * 2 + 1, 2, (uint64_t)i * 2);
		assert_int_equal(match_of(&m, 0, (uint64_t)i)->state, TW_MATCH_WHOLE);
		assert_int_equal(match_of(&m, 2, (uint64_t)i * 2 + 1)->state, TW_MATCH_LOCAL);
	}
	tw_matches_release(&m);
	tw_job_release(&job);
}

/* What is recorded differs, and ends agree: one match, and it says so. */
static void test_different_sizes(void **state)
{
	struct tw_matches m;
	struct trawl_job job;
	int i, by_sequence;

	for (by_sequence = 0; by_sequence < 2; by_sequence++) {
		make_job(&job, 2);
		for (i = 0; i < 6; i++) {
			struct call a = { i * 1000 + i * i, i * 1000 + i * i + 100, ALLREDUCE,
					  .sequence = by_sequence ? i + 1 : 0 };

			add_call(&job, 0, &a);
			if (i == 3)
				a.in = a.out = 17;
			if (i == 4)
				a.name = "_allgather_base";
			if (i == 5)
				a.dtype = NULL; /* not recorded is not different */
			add_call(&job, 1, &a);
		}
		build(&m, &job);
		assert_sound(&m, &job);
		assert_int_equal(m.count, 6);
		for (i = 0; i < 6; i++) {
			assert_together(&m, 0, (uint64_t)i, 1, (uint64_t)i);
			assert_int_equal(m.matches[i].sureness, i == 3 || i == 4 ?
									TW_MATCH_DIFFERENT :
								by_sequence ? TW_MATCH_CERTAIN :
									      TW_MATCH_LIKELY);
		}
		tw_matches_release(&m);
		tw_job_release(&job);
	}
}

/* Parts of an all-gather and of an all-to-all may differ, the whole of an all-gather not. */
static void test_sizes_that_may_differ(void **state)
{
	struct tw_matches m;
	struct trawl_job job;

	make_job(&job, 2);
	add_call(&job, 0,
		 &(struct call){ 0, 10, .group = "ep", .name = "all_to_allv", .in = 5, .out = 9,
				 .sequence = 1 });
	add_call(&job, 1,
		 &(struct call){ 0, 10, .group = "ep", .name = "all_to_allv", .in = 7, .out = 3,
				 .sequence = 1 });
	add_call(&job, 0,
		 &(struct call){ 20, 30, .group = "ep", .name = "allgather", .in = 5, .out = 12,
				 .sequence = 2 });
	add_call(&job, 1,
		 &(struct call){ 20, 30, .group = "ep", .name = "allgather", .in = 7, .out = 12,
				 .sequence = 2 });
	add_call(&job, 0,
		 &(struct call){ 40, 50, .group = "ep", .name = "allgather", .in = 5, .out = 12,
				 .sequence = 3 });
	add_call(&job, 1,
		 &(struct call){ 40, 50, .group = "ep", .name = "allgather", .in = 5, .out = 13,
				 .sequence = 3 });
	build(&m, &job);
	assert_int_equal(m.count, 3);
	assert_int_equal(m.matches[0].sureness, TW_MATCH_CERTAIN);
	assert_int_equal(m.matches[1].sureness, TW_MATCH_CERTAIN);
	assert_int_equal(m.matches[2].sureness, TW_MATCH_DIFFERENT);
	tw_matches_release(&m);
	tw_job_release(&job);
}

/* Coalesced collectives share a number: the k-th of each rank are one. */
static void test_numbers_that_are_shared(void **state)
{
	struct tw_matches m;
	struct trawl_job job;
	int i;

	make_job(&job, 2);
	for (i = 0; i < 9; i++) {
		add_call(&job, 0,
			 &(struct call){ i * 100, i * 100 + 50, ALLREDUCE, .sequence = i / 3 + 1 });
		add_call(&job, 1,
			 &(struct call){ i * 100, i * 100 + 50, ALLREDUCE, .sequence = i / 3 + 1 });
	}
	build(&m, &job);
	assert_sound(&m, &job);
	assert_int_equal(m.count, 9);
	for (i = 0; i < 9; i++)
		assert_is(&m, 1, (uint64_t)i, (uint64_t)i, 2, TW_MATCH_BY_SEQUENCE, TW_MATCH_WHOLE,
			  TW_MATCH_CERTAIN);
	tw_matches_release(&m);
	tw_job_release(&job);
}

/* Numbers begin again: rank 1 lacks the first five of the first count, rank 0 the last. */
static void test_numbers_that_begin_again(void **state)
{
	struct tw_matches m;
	struct trawl_job job;
	double at = 0;
	int i;

	make_job(&job, 2);
	for (i = 0; i < 25; i++) {
		struct call call = { at, at + 50, ALLREDUCE, .sequence = i % 10 + 1 };

		if (i < 20)
			add_call(&job, 0, &call);
		call.start += 3000;
		call.end += 3000;
		if (i >= 5)
			add_call(&job, 1, &call);
		at += 1000 + (i * 37 % 11) * 70;
	}
	build(&m, &job);
	assert_sound(&m, &job);
	assert_int_equal(m.count, 25);
	for (i = 5; i < 20; i++)
		assert_together(&m, 0, (uint64_t)i, 1, (uint64_t)i - 5);
	assert_is(&m, 0, 7, 7, 2, TW_MATCH_BY_SEQUENCE, TW_MATCH_WHOLE, TW_MATCH_CERTAIN);
	tw_matches_release(&m);
	tw_job_release(&job);
}

/* Two calls a step, all steps alike but for their length; rank r is 5 ms x r ahead. */
static double step_end(int i)
{
	return i * 2000 + (i * i * 7919 % 13) * 90;
}

static void add_step(struct trawl_job *job, size_t rank, int i, double ahead)
{
	struct call a = { step_end(i) - 200 + ahead - (double)(rank * 31),
			  step_end(i) + ahead,
			  .group = "dp",
			  .name = "allreduce",
			  .in = 4096,
			  .out = 4096 };

	if (i % 2) {
		a.name = "_allgather_base";
		a.in = 1024;
	}
	add_call(job, rank, &a);
}

/* Each of the ranks in turn lacks a call, at the beginning, in the middle, at the end. */
static void test_a_call_that_one_rank_lacks(void **state)
{
	static const int where[] = { 0, 1, 9, 20, 38, 39 };
	struct tw_matches m;
	struct trawl_job job;
	size_t lacks, r, w;
	int i;

	for (lacks = 0; lacks < 4; lacks++) {
		for (w = 0; w < LENGTH(where); w++) {
			make_job(&job, 4);
			for (r = 0; r < 4; r++) {
				for (i = 0; i < 40; i++) {
					if (r != lacks || i != where[w])
						add_step(&job, r, i, 5000.0 * (double)r);
				}
			}
			build(&m, &job);
			assert_sound(&m, &job);
			assert_int_equal(m.count, 40);
			for (i = 0; i < 40; i++) {
				assert_int_equal(m.matches[i].count, i == where[w] ? 3 : 4);
				assert_int_equal(m.matches[i].state,
						 i == where[w] ? TW_MATCH_PARTIAL : TW_MATCH_WHOLE);
				assert_int_equal(m.matches[i].sureness, TW_MATCH_LIKELY);
			}
			for (r = 0; r < 4; r++) {
				for (i = 0; i < 40; i++) {
					if (r != lacks)
						assert_int_equal(
							match_of(&m, r, (uint64_t)i)->index, i);
				}
			}
			tw_matches_release(&m);
			tw_job_release(&job);
		}
	}
}

/* Each of the ranks in turn has a call that no other has. */
static void test_a_call_too_many(void **state)
{
	struct tw_matches m;
	struct trawl_job job;
	size_t more, r;
	int i;

	for (more = 0; more < 4; more++) {
		make_job(&job, 4);
		for (r = 0; r < 4; r++) {
			for (i = 0; i < 40; i++) {
				add_step(&job, r, i, 5000.0 * (double)r);
				if (r == more && i == 17)
					add_step(&job, r, i, 5000.0 * (double)r + 777);
			}
		}
		build(&m, &job);
		assert_sound(&m, &job);
		assert_int_equal(m.count, 41);
		for (i = 0; i < 41; i++)
			assert_int_equal(m.matches[i].count, i == 18 ? 1 : 4);
		assert_is(&m, more, 18, 18, 1, TW_MATCH_BY_ORDER, TW_MATCH_ALONE, TW_MATCH_LIKELY);
		tw_matches_release(&m);
		tw_job_release(&job);
	}
}

/* Of 40 calls one ends 200 us off, 2 ms from any other: it is the one in its place, yet doubtful. */
static void test_an_end_that_is_off_is_doubtful(void **state)
{
	struct tw_matches m;
	struct trawl_job job;
	int i;

	make_job(&job, 2);
	for (i = 0; i < 40; i++) {
		add_step(&job, 0, i, 0);
		add_step(&job, 1, i, i == 17 ? 200 : 0);
	}
	build(&m, &job);
	assert_sound(&m, &job);
	assert_int_equal(m.count, 40);
	for (i = 0; i < 40; i++)
		assert_is(&m, 0, (uint64_t)i, (uint64_t)i, 2, TW_MATCH_BY_ORDER, TW_MATCH_WHOLE,
			  i == 17 ? TW_MATCH_DOUBTFUL : TW_MATCH_LIKELY);
	tw_matches_release(&m);
	tw_job_release(&job);
}

static void add_end(struct trawl_job *job, size_t rank, double start, double end, bool gathers)
{
	struct call call = { start, end, ALLREDUCE };

	if (gathers)
		call.name = "_allgather_base";
	add_call(job, rank, &call);
}

/*
 * One of rank 1 ends so much later than that in its place, and another kind 60 us beside it, so that
 * it is not the nearest end: it is the one in its place where it is off by less than 200 us, and by
 * less than a fourth of what is to the next end of its kind on either rank.
 */
static void test_an_end_that_is_off_beside_another(void **state)
{
	static const struct {
		double before, behind, beside, off; /* us */
		bool together;
	} cases[] = {
		{ 2000, 2000, -60, 199, true },	 { 2000, 2000, 60, 199, true },
		{ 2000, 2000, -60, 200, false }, { 600, 2000, -60, 149, true },
		{ 600, 2000, -60, 150, false },	 { 2000, 600, -60, 119, true },
		{ 2000, 600, -60, 120, false },
	};
	size_t c, r;
	int i;

	for (c = 0; c < LENGTH(cases); c++) {
		uint64_t odd = cases[c].beside < 0 ? 2 : 1;
		struct tw_matches m;
		struct trawl_job job;

		make_job(&job, 2);
		for (r = 0; r < 2; r++) {
			add_end(&job, r, 7000, 10000 - cases[c].before, false);
			if (cases[c].beside < 0)
				add_end(&job, r, 8100, 10000 + cases[c].beside, true);
			add_end(&job, r, 8200, r ? 10000 + cases[c].off : 10000, false);
			if (cases[c].beside > 0)
				add_end(&job, r, 8300, 10000 + cases[c].beside, true);
			add_end(&job, r, 8400, 10000 + cases[c].behind, false);
			for (i = 10; i < 46; i++)
				add_end(&job, r, i * 2000 - 100, i * 2000, i % 2);
		}
		build(&m, &job);
		assert_sound(&m, &job);
		assert_int_equal(m.count, cases[c].together ? 40 : 41);
		assert_int_equal(match_of(&m, 0, odd)->count, cases[c].together ? 2 : 1);
		tw_matches_release(&m);
		tw_job_release(&job);
	}
}

/* As many calls on both, all alike: the windows are a step apart, and clocks 5 ms. */
static void test_periodic_calls_a_period_apart(void **state)
{
	struct tw_matches m;
	struct trawl_job job;
	int i, shift;

	for (shift = -2; shift <= 2; shift += 2) {
		make_job(&job, 2);
		for (i = 0; i < 30; i++) {
			add_step(&job, 0, i + 4, 0);
			add_step(&job, 1, i + 4 + shift, 5000);
		}
		build(&m, &job);
		assert_sound(&m, &job);
		assert_int_equal(m.count, 30 + abs(shift));
		for (i = 0; i < 30; i++) {
			if (i + shift >= 0 && i + shift < 30)
				assert_together(&m, 0, (uint64_t)(i + shift), 1, (uint64_t)i);
		}
		tw_matches_release(&m);
		tw_job_release(&job);
	}
}

/* Ends that tell nothing: still by order, and it says that it is doubtful. */
static void test_ends_that_tell_nothing(void **state)
{
	struct tw_matches m;
	struct trawl_job job;
	uint64_t random = 5;
	int i;

	make_job(&job, 2);
	for (i = 0; i < 30; i++) {
		add_call(&job, 0,
			 &(struct call){ i * 2000, i * 2000 + 100 + (double)(next(&random) % 1500),
					 ALLREDUCE });
		add_call(&job, 1,
			 &(struct call){ i * 2000, i * 2000 + 100 + (double)(next(&random) % 1500),
					 ALLREDUCE });
	}
	build(&m, &job);
	assert_sound(&m, &job);
	assert_int_equal(m.count, 30);
	for (i = 0; i < 30; i++)
		assert_is(&m, 1, (uint64_t)i, (uint64_t)i, 2, TW_MATCH_BY_ORDER, TW_MATCH_WHOLE,
			  TW_MATCH_DOUBTFUL);
	tw_matches_release(&m);
	tw_job_release(&job);
}

/* Kernels of libraries that record nothing are alike by what their names tell. */
static void test_kernels_that_record_nothing(void **state)
{
	struct tw_matches m;
	struct trawl_job job;
	int i;

	make_job(&job, 2);
	for (i = 0; i < 6; i++) {
		struct call a = { .start = i * 100 + i * i, .end = i * 100 + i * i + 20 };

		a.kernel = i % 2 ? "vllm::cross_device_reduce_1stage<2>" :
				   "multimem_all_gather_kernel";
		add_call(&job, 0, &a);
		if (i != 3)
			add_call(&job, 1, &a);
	}
	build(&m, &job);
	assert_sound(&m, &job);
	assert_int_equal(m.count, 6);
	assert_int_equal(m.matches[3].count, 1);
	assert_together(&m, 0, 5, 1, 4);
	assert_true(m.matches[0].together);
	tw_matches_release(&m);
	tw_job_release(&job);
}

/* Only every other call has a number; one rank has none at all. */
static void test_numbers_that_some_calls_lack(void **state)
{
	struct tw_matches m;
	struct trawl_job job;
	int i, all;

	for (all = 0; all < 2; all++) {
		make_job(&job, 2);
		for (i = 0; i < 10; i++) {
			struct call call = { i * 1000 + i * i, i * 1000 + i * i + 50, ALLREDUCE };

			call.sequence = i % 2 ? i : 0;
			add_call(&job, 0, &call);
			call.sequence = all ? 0 : call.sequence;
			if (i != 4)
				add_call(&job, 1, &call);
		}
		build(&m, &job);
		assert_sound(&m, &job);
		assert_int_equal(m.count, 10);
		for (i = 0; i < 10; i++) {
			assert_int_equal(m.matches[i].count, i == 4 ? 1 : 2);
			assert_int_equal(m.matches[i].rule,
					 i % 2 && !all ? TW_MATCH_BY_SEQUENCE : TW_MATCH_BY_ORDER);
			assert_int_equal(match_of(&m, 0, (uint64_t)i)->index, i);
		}
		tw_matches_release(&m);
		tw_job_release(&job);
	}
}

static void test_few_ranks(void **state)
{
	struct tw_matches m;
	struct trawl_job job;

	make_job(&job, 0);
	build(&m, &job);
	assert_int_equal(m.count, 0);
	tw_matches_release(&m);
	tw_job_release(&job);

	make_job(&job, 2); /* nothing in either */
	build(&m, &job);
	assert_int_equal(m.count, 0);
	tw_matches_release(&m);
	/* One has nothing, but it has a trace: it lacks what the other has. */
	add_call(&job, 0,
		 &(struct call){ 10, 20, .group = "dp", .list = "[0, 1]", .name = "allreduce" });
	add_call(&job, 0,
		 &(struct call){ 30, 40, .group = "tp", .list = "[0, 7]", .name = "allreduce" });
	build(&m, &job);
	assert_sound(&m, &job);
	assert_is(&m, 0, 0, 0, 1, TW_MATCH_BY_ORDER, TW_MATCH_ALONE, TW_MATCH_LIKELY);
	assert_is(&m, 0, 1, 0, 1, TW_MATCH_BY_ORDER, TW_MATCH_LOCAL, TW_MATCH_LIKELY);
	tw_matches_release(&m);
	tw_job_release(&job);

	make_job(&job, 1);
	add_call(&job, 0, &(struct call){ 10, 20, ALLREDUCE });
	build(&m, &job);
	assert_is(&m, 0, 0, 0, 1, TW_MATCH_BY_ORDER, TW_MATCH_LOCAL, TW_MATCH_LIKELY);
	tw_matches_release(&m);
	tw_job_release(&job);
}

/*
 * Jobs with known truth: what each call is. Ends differ by clocks (up to 100 ms) and noise (up to
 * 5 us), starts by up to a step (stragglers); groups of two and of all ranks; ranks lack calls at
 * random and begin and stop to record at different times.
 */
enum { MOST_RANKS = 5, MOST_EVENTS = 60 };

struct truth {
	int event[MOST_RANKS][MOST_EVENTS]; /* by rank and call */
	int count[MOST_RANKS];
};

struct made_event {
	double at;
	int pair; /* -1: of all ranks */
	int like; /* which of several signatures */
};

static void make_event(struct made_event *event, double *at, uint64_t *random)
{
	static const double gaps[] = { 350, 500, 800, 1500, 4000 };

	*at += gaps[next(random) % LENGTH(gaps)] + (double)(next(random) % 97);
	event->at = *at;
	event->pair = next(random) % 4 ? -1 : (int)(next(random) % 2);
	event->like = (int)(next(random) % 3);
}

static void add_event(struct trawl_job *job, struct truth *truth, size_t r,
		      const struct made_event *e, int number, double ahead, uint64_t *random)
{
	static const char *const lists[] = { "[0, 1]", "[2, 3]" };
	static const char *const names[] = { "allreduce", "_allgather_base", "allreduce" };
	struct call call = {
		.end = e->at + ahead + (double)(next(random) % 10001) / 1000 - 5,
		.name = names[e->like],
		.group = e->pair < 0 ? "dp" : "tp",
		.list = e->pair < 0 ? NULL : lists[e->pair],
		.dtype = "Float",
		.out = e->like ? 100 : 200,
	};

	call.start = e->at + ahead - 20;
	add_call(job, r, &call);
	truth->event[r][truth->count[r]++] = number;
}

static void make_random(struct trawl_job *job, struct truth *truth, uint64_t seed)
{
	uint64_t random = seed;
	size_t ranks = 2 + next(&random) % (MOST_RANKS - 1), r;
	int events = 30 + (int)(next(&random) % (MOST_EVENTS - 29)), i;
	unsigned lacking = (unsigned)(next(&random) % 8); /* per cent */
	struct made_event made[MOST_EVENTS];
	double at = 1000000;

	make_job(job, ranks);
	memset(truth, 0, sizeof(*truth));
	for (i = 0; i < events; i++)
		make_event(&made[i], &at, &random);
	for (r = 0; r < ranks; r++) {
		double ahead = next(&random) % 2 ? (double)(next(&random) % 200000) - 100000 : 0;
		int first = (int)(next(&random) % 6), last = events - (int)(next(&random) % 6);

		for (i = first; i < last; i++) {
			if (made[i].pair >= 0 && (made[i].pair != (int)(r / 2) || r > 3))
				continue;
			if (next(&random) % 100 >= lacking)
				add_event(job, truth, r, &made[i], i, ahead, &random);
		}
	}
}

static bool is_doubtful(const struct tw_match *match)
{
	return match->sureness == TW_MATCH_DOUBTFUL || match->sureness == TW_MATCH_DIFFERENT;
}

/*
 * Calls of one event are one match, calls of two are two, unless the match says itself that it is
 * doubtful: where each of two ranks lacks the call that the other has, their ends may be close
 * enough for one.  Returns whether there is such a one.
 */
static bool check_random(const struct trawl_job *job, const struct truth *truth, uint64_t seed)
{
	uint64_t match_of_event[MOST_EVENTS], event_of[MOST_RANKS * MOST_EVENTS];
	struct tw_matches m;
	bool doubtful = false;
	size_t r;
	int i;

	memset(match_of_event, 0xff, sizeof(match_of_event));
	memset(event_of, 0xff, sizeof(event_of));
	build(&m, job);
	assert_sound(&m, job);
	for (r = 0; r < job->count; r++) {
		for (i = 0; i < truth->count[r]; i++) {
			uint64_t event = (uint64_t)truth->event[r][i], match = m.index_of[r][i];

			if (match_of_event[event] == UINT64_MAX)
				match_of_event[event] = match;
			if (event_of[match] == UINT64_MAX)
				event_of[match] = event;
			if (match_of_event[event] == match && event_of[match] == event)
				continue;
			doubtful = true;
			if (!is_doubtful(&m.matches[match]) &&
			    !is_doubtful(&m.matches[match_of_event[event]]))
				fail_msg("seed %d: rank %d, call %d is not in its match", (int)seed,
					 (int)r, i);
		}
	}
	tw_matches_release(&m);
	return doubtful;
}

/*
 * Three equal steps on ranks whose ends scatter by far more than a clock does: each rank has every
 * call, so that no step of one is taken for another of the others.
 */
static void test_steps_whose_ends_scatter(void **state)
{
	static const struct {
		double at; /* its end in the step, us */
		const char *name;
		double bytes;
	} step[] = { { 1269, "allreduce", 200 },
		     { 2288, "allreduce", 200 },
		     { 2301, "broadcast", 1 },
		     { 3279, "allreduce", 200 },
		     { 3505, "_allgather_base", 100 } };
	enum { RANKS = 8, STEPS = 3, CALLS = 5 };
	uint64_t seed, i;

	for (seed = 1; seed <= 200; seed++) {
		uint64_t random = seed;
		struct tw_matches m;
		struct trawl_job job;
		size_t r, s, c;

		make_job(&job, RANKS);
		for (r = 0; r < RANKS; r++) {
			double off = 0;

			for (s = 0; s < STEPS; s++)
				for (c = 0; c < CALLS; c++) {
					struct call call = { .name = step[c].name,
							     .group = "0",
							     .dtype = "Float",
							     .out = step[c].bytes };

					/* What follows closely ends as much later. */
					if (c != 2 && c != 4)
						off = (double)(next(&random) % 130000) / 1000;
					call.end = 1e6 + 3550.0 * (double)s + step[c].at + off;
					call.start = call.end - 10;
					add_call(&job, r, &call);
				}
		}
		build(&m, &job);
		assert_int_equal(m.count, STEPS * CALLS);
		for (i = 0; i < m.count; i++)
			assert_int_equal(m.matches[i].state, TW_MATCH_WHOLE);
		tw_matches_release(&m);
		tw_job_release(&job);
	}
}

static void test_random_jobs(void **state)
{
	uint64_t seed, seeds = UNDER_TSAN ? 500 : full_run() ? 10000 : 2000, doubtful = 0;

	for (seed = 1; seed <= seeds; seed++) {
		struct truth truth;
		struct trawl_job job;

		make_random(&job, &truth, seed);
		doubtful += check_random(&job, &truth, seed);
		tw_job_release(&job);
	}
	/* Up to 7 % of all calls are missing; one job in 500 is left with something unsure. */
	assert_true(doubtful <= seeds / 500);
}

/* Times of broken traces: any of 64 bits, ends before their starts. */
static void test_any_times(void **state)
{
	static const int64_t times[] = { INT64_MIN, INT64_MIN / 2, -1,	     0,
					 1,	    INT64_MAX / 2, INT64_MAX };
	uint64_t seed;

	for (seed = 1; seed <= 200; seed++) {
		uint64_t random = seed;
		struct truth truth;
		struct tw_matches m;
		struct trawl_job job;
		size_t r, i;

		make_random(&job, &truth, seed);
		for (r = 0; r < job.count; r++) {
			for (i = 0; i < job.ranks[r].collective_count; i++) {
				struct tw_collective *c = &job.ranks[r].collectives[i];

				if (next(&random) % 3 == 0)
					c->start_ns = times[next(&random) % LENGTH(times)];
				if (next(&random) % 3 == 0)
					c->end_ns = times[next(&random) % LENGTH(times)];
			}
			job.ranks[r].base_time_ns = times[next(&random) % LENGTH(times)];
		}
		build(&m, &job);
		assert_sound(&m, &job);
		tw_matches_release(&m);
		tw_job_release(&job);
	}
}

static void test_out_of_memory(void **state)
{
	struct truth truth;
	struct trawl_job job;
	long n;

	make_random(&job, &truth, 3);
	for (n = 0;; n++) {
		struct failing failing;
		struct tw_matches m;
		int status;

		failing_init(&failing, n);
		status = tw_matches_build(&m, &job, &failing.allocator);
		assert_int_equal(status, failing.failed ? TRAWL_ENOMEM : 0);
		if (!status)
			assert_sound(&m, &job);
		tw_matches_release(&m);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
	}
	assert_true(n > 30);
	tw_job_release(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows_that_began_at_different_times),
		cmocka_unit_test(test_groups_that_interleave_differently),
		cmocka_unit_test(test_one_name_for_groups_of_other_ranks),
		cmocka_unit_test(test_lists_that_some_calls_lack),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_simplified_only_with_one_stream),
		cmocka_unit_test(test_a_transfer_with_a_number),
		cmocka_unit_test(test_transfers_by_order_of_their_pair),
		cmocka_unit_test(test_different_sizes),
		cmocka_unit_test(test_sizes_that_may_differ),
		cmocka_unit_test(test_numbers_that_are_shared),
		cmocka_unit_test(test_numbers_that_begin_again),
		cmocka_unit_test(test_a_call_that_one_rank_lacks),
		cmocka_unit_test(test_a_call_too_many),
		cmocka_unit_test(test_an_end_that_is_off_is_doubtful),
		cmocka_unit_test(test_an_end_that_is_off_beside_another),
		cmocka_unit_test(test_periodic_calls_a_period_apart),
		cmocka_unit_test(test_ends_that_tell_nothing),
		cmocka_unit_test(test_kernels_that_record_nothing),
		cmocka_unit_test(test_numbers_that_some_calls_lack),
		cmocka_unit_test(test_few_ranks),
		cmocka_unit_test(test_steps_whose_ends_scatter),
		cmocka_unit_test(test_random_jobs),
		cmocka_unit_test(test_any_times),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
