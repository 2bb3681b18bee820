/* Tables over ranks: lists of ranks, very many ranks, and no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "job/tables/all_tables.h"
#include "text/rank_list.h"
#include "edges.h"
#include "failing.h"
#include "made_jobs.h"

#include <string.h>

static void assert_list(const int64_t *ranks, size_t count, const char *text)
{
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	tw_rank_list_add(&out, ranks, count);
	assert_string_equal(out.ptr ? out.ptr : "", text);
	tw_str_release(&out);
}

static void test_lists(void **state)
{
	static const int64_t ranks[] = { 0, 1, 2, 3, 7, 9, 10 };
	struct tw_rank_list list;

	assert_list(ranks, 0, "");
	assert_list(ranks, 1, "0");
	assert_list(ranks, 2, "0, 1");
	assert_list(ranks, 7, "0-3, 7, 9, 10");
	tw_rank_list_parse(&list, "[3, 1, 20]", trawl_allocator_default());
	assert_true(list.whole && list.count == 3);
	assert_true(list.ranks[0] == 3 && list.ranks[1] == 1 && list.ranks[2] == 20);
	tw_rank_list_release(&list);
	tw_rank_list_parse(&list, "[0, 1, ..., 31]", trawl_allocator_default());
	assert_false(list.whole);
	tw_rank_list_release(&list);
	tw_rank_list_parse(&list, "", trawl_allocator_default());
	assert_true(!list.whole && !list.count);
	tw_rank_list_release(&list);
}

static void test_node_spans(void **state)
{
	assert_string_equal(tw_node_span("[0, 1, 7]", 8), "intra_node");
	assert_string_equal(tw_node_span("[8, 9]", 8), "intra_node");
	assert_string_equal(tw_node_span("[7, 8]", 8), "inter_node");
	assert_string_equal(tw_node_span("[0, 1]", 0), "unknown");
	assert_string_equal(tw_node_span("", 8), "unknown");
	/* What is left out may be anywhere; two nodes that are told suffice. */
	assert_string_equal(tw_node_span("[0, 1, ..., 7]", 8), "unknown");
	assert_string_equal(tw_node_span("[0, 1, ..., 31]", 8), "inter_node");
}

/* ---- ranks of one job, or of several */

static bool are_unlike(const struct trawl_job *job)
{
	struct tw_unlike unlike;
	bool found;

	assert_int_equal(tw_find_unlike(job->ranks, 2, job->allocator, &found, &unlike), 0);
	return found;
}

/* Of 64 names of the one the other has so many, and no others. */
static void test_half_of_the_names(void **state)
{
	struct trawl_job job;
	uint32_t i;

	EDGE_OF(TW_LIMIT_RANKS_ALIKE_PERCENT);
	make_job(&job, 2);
	for (i = 0; i < 64; i++)
		job.ranks[0].who.names.hashes[i] = job.ranks[1].who.names.hashes[i] = i;
	job.ranks[0].who.names.count = 64;
	job.ranks[1].who.names.count = 32;
	assert_false(are_unlike(&job));
	job.ranks[1].who.names.count = 31;
	assert_true(are_unlike(&job));
	tw_job_release(&job);
}

/* Nothing but a process group in common: a second of each, the one so long after the other. */
static void test_ten_minutes_apart(void **state)
{
	const int64_t second = 1000000000;
	struct trawl_job job;
	size_t r;

	EDGE_OF(TW_LIMIT_JOB_APART_NS);
	make_job(&job, 2);
	for (r = 0; r < 2; r++) {
		struct tw_rank *rank = &job.ranks[r];

		rank->who.names = (struct tw_sketch){ { r }, 1 };
		rank->who.groups = (struct tw_sketch){ { 1000 }, 1 };
		rank->base_time_ns = r ? 601 * second : 0;
		rank->who.first_ns = 0;
		rank->who.last_ns = second;
	}
	assert_false(are_unlike(&job));
	job.ranks[1].base_time_ns++;
	assert_true(are_unlike(&job));
	tw_job_release(&job);
}

/* ---- a job and what is made of it */

#define WORLD .group = "0", .list = "[0, 1, 2]", .group_size = 3

/* Every table has something to say: a call that a rank lacks, one that differs, all_to_allv. */
static void make_all_kinds(struct trawl_job *job)
{
	/* One file of them all, as an export of several GPUs is. */
	static struct tw_rank_file file = { .path = "job/ranks.sqlite", .name_rank = -1 };
	static char directory[] = "job";
	size_t r;

	make_job(job, 3);
	job->set.files = &file;
	job->set.count = 1;
	job->set.directory = directory;
	for (r = 0; r < 3; r++) {
		const struct call calls[] = {
			{ 10 + (double)r, 60, "allreduce", WORLD, .dtype = "Float", .in = 8,
			  .out = 8, .sequence = 1, .stream = "7" },
			{ 100, 160, "all_to_allv", WORLD, .dtype = "Float", .in = 8, .out = 8,
			  .sequence = 2, .stream = "7" },
			{ 200, 260, "allreduce", WORLD, .dtype = r == 1 ? "Half" : "Float", .in = 8,
			  .out = 8, .sequence = 3, .stream = "7" },
			{ 300, 360, r ? "recv" : "send", .group = "1", .list = "[0, 1]",
			  .dtype = "Float", .in = 8, .sequence = 1, .stream = "9", .source = "0",
			  .destination = "1" },
			{ 400, 460, "allgather", WORLD, .dtype = "Float", .in = 8, .out = 24,
			  .sequence = 4, .stream = "7" },
		};

		add_calls(job, r, calls, r == 2 ? 3 : 5);
	}
}

static void test_no_memory(void **state)
{
	struct trawl_table *tables[64];
	struct looked_across m = { 0 };
	struct failing failing;
	size_t count;
	long n;

	make_all_kinds(&m.job);
	look_across(&m);
	for (n = 0;; n++) {
		struct tw_ranks_input in = { .job = &m.job,
					     .matches = &m.matches,
					     .clocks = &m.clocks,
					     .allocator = &failing.allocator };
		struct trawl_error err;
		int status;

		failing_init(&failing, n);
		assert_true(tw_ranks_table_count <= 64);
		status = tw_ranks_tables_make(&in, 1, tables, &count, &err);
		assert_int_equal(status, failing.failed ? TRAWL_ENOMEM : 0);
		if (!failing.failed) {
			assert_non_null(tw_ranks_tables_find(tables, count, "transfers"));
			assert_non_null(
				tw_ranks_tables_find(tables, count, "collective_mismatches"));
			assert_non_null(tw_ranks_tables_find(tables, count, "nccl_all2allv"));
		}
		tw_ranks_tables_free(tables, count);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
	}
	assert_true(n > 50);
	release_looked_across(&m);
}

/* A sheet has no room for three columns of each of so many ranks. */
static void test_very_many_ranks(void **state)
{
	enum { RANKS = 6000 };
	static const struct call call = { 10,		20,	  "allreduce",	.dtype = "Float",
					  .in = 8,	.out = 8, .group = "0", .sequence = 1,
					  .stream = "7" };
	struct tw_ranks_input in;
	struct trawl_table *table = NULL;
	const struct tw_ranks_table *self = &tw_ranks_table_nccl_implicit_sync;
	struct looked_across m = { 0 };
	size_t r;

	make_job(&m.job, RANKS);
	for (r = 0; r < RANKS; r++)
		add_call(&m.job, r, &call);
	in = look_across(&m);
	assert_int_equal(tw_ranks_table_make(&in, self, &table), 0);
	assert_int_equal(trawl_table_rows(table), 1);
	assert_int_equal(trawl_table_columns(table), self->table.column_count);
	assert_int_equal(trawl_table_notes(table), 1);
	assert_int_equal(tw_table_cell(table, 0, "comm_latency").integer, 10000);
	assert_int_equal(tw_table_cell(table, 0, "slowest rank").integer, 0);
	assert_int_equal(tw_table_cell(table, 0, "earliest arrival rank").integer, RANKS - 1);
	trawl_table_free(table);
	release_looked_across(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_node_spans),
		cmocka_unit_test(test_half_of_the_names),
		cmocka_unit_test(test_ten_minutes_apart),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_very_many_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
