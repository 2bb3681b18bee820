/* The traces of a job: found, numbered, read and reduced. */
#include "job/tables/tables.h"
#include "job/tables/all_tables.h"

#include "job/set/load.h"
#include "scratch.h"
#include "trawl/render.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct scratch scratch;

static int make_scratch(void **state)
{
	(void)state;
	scratch_make(&scratch);
	return 0;
}

static int remove_scratch(void **state)
{
	(void)state;
	scratch_remove(&scratch);
	return 0;
}

/* One kernel of 5 us and an allreduce of `dur` us; `rank` below 0 tells none. */
static void write_rank(const char *name, int rank, int world, int dur)
{
	char text[1024], info[128] = "";

	if (rank >= 0)
		snprintf(info, sizeof(info),
			 "\"distributedInfo\": {\"rank\": %d, \"world_size\": %d}, ", rank, world);
	snprintf(text, sizeof(text),
		 "{%s\"deviceProperties\": [{\"id\": 0, \"name\": \"G\"}, {\"id\": 1}], "
		 "\"baseTimeNanoseconds\": 77, \"traceEvents\": ["
		 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,"
		 "\"ts\":10,\"dur\":5,\"args\":{\"device\":0,\"stream\":7}},"
		 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":0,"
		 "\"tid\":9,\"ts\":20.5,\"dur\":%d,\"args\":{\"device\":0,\"stream\":9,"
		 "\"Collective name\":\"allreduce\",\"In msg nelems\":100,\"dtype\":\"Float\","
		 "\"Process Group Name\":\"dp\",\"Process Group Ranks\":[0,1],\"Seq\":4,"
		 "\"Comms Id\":18446744073709551615}}]}",
		 info, dur);
	scratch_write(&scratch, name, text);
}

static void directory(const char *name)
{
	assert_int_equal(mkdir(scratch_path(&scratch, name), 0777), 0);
}

static int load(struct trawl_job *job, const char *argument, struct trawl_error *err)
{
	const char *const arguments[] = { scratch_path(&scratch, argument) };
	struct tw_load_options options = { .threads = 2 };
	struct tw_rank_set set = { 0 };
	int status = tw_rank_set_find(&set, arguments, 1, trawl_allocator_default(), err);

	memset(job, 0, sizeof(*job));
	return status ? status : tw_job_load(job, &set, &options, trawl_allocator_default(), err);
}

static void test_ranks_in_paths(void **state)
{
	(void)state;
	assert_int_equal(tw_rank_in_path("trace_rank10.json"), 10);
	assert_int_equal(tw_rank_in_path("a/rank-3.json.gz"), 3);
	assert_int_equal(tw_rank_in_path("rank_007/trace_step19.json"), 7);
	assert_int_equal(tw_rank_in_path("run/rank/12/x.json"), 12);
	assert_int_equal(tw_rank_in_path("rank[5].json"), 5);
	assert_int_equal(tw_rank_in_path("RANK4.json"), 4);
	/* The name counts before directories, the last before the first. */
	assert_int_equal(tw_rank_in_path("rank1/rank2/rank3.json"), 3);
	assert_int_equal(tw_rank_in_path("rank1/rank2/trace.json"), 2);
	/* None: another word, no number, a number that is no rank. */
	assert_int_equal(tw_rank_in_path("frank3.json"), -1);
	assert_int_equal(tw_rank_in_path("rank.json"), -1);
	assert_int_equal(tw_rank_in_path("rank99999999999999999999.json"), -1);
	assert_int_equal(tw_rank_in_path("worker3.json"), -1);
}

static void test_numbers_in_names_are_numbers(void **state)
{
	const char *arguments[1];
	struct tw_rank_set set = { 0 };

	(void)state;
	scratch_write(&scratch, "w10.json", "{}");
	scratch_write(&scratch, "w9.json", "{}");
	scratch_write(&scratch, "w010.json", "{}");
	scratch_write(&scratch, "notes.txt", "");
	scratch_write(&scratch, ".hidden.json", "{}");
	directory("x");
	scratch_write(&scratch, "x/w1.json.gz", "");
	directory("analysis_output");
	scratch_write(&scratch, "analysis_output/w2.json", "{}");
	arguments[0] = scratch_path(&scratch, "");
	assert_int_equal(tw_rank_set_find(&set, arguments, 1, trawl_allocator_default(), NULL), 0);
	assert_int_equal(set.count, 4);
	assert_non_null(strstr(set.files[0].path, "/w9.json"));
	assert_non_null(strstr(set.files[1].path, "/w010.json"));
	assert_non_null(strstr(set.files[2].path, "/w10.json"));
	assert_non_null(strstr(set.files[3].path, "x/w1.json.gz"));
	assert_int_equal(strlen(set.directory), strlen(arguments[0]) - 1);
	tw_rank_set_release(&set);
}

/* A link to a directory around it, one to a sibling, one to a file under another rank's name. */
static void test_links(void **state)
{
	const char *arguments[1];
	struct tw_rank_set set = { 0 };
	char path[SCRATCH_NAME];

	(void)state;
	directory("run7");
	scratch_write(&scratch, "run7/rank0.json", "{}");
	snprintf(path, sizeof(path), "%s", scratch_path(&scratch, "run7/rank0.json"));
	assert_int_equal(symlink(".", scratch_path(&scratch, "a")), 0);
	assert_int_equal(symlink("..", scratch_path(&scratch, "run7/up")), 0);
	assert_int_equal(symlink("run7", scratch_path(&scratch, "z")), 0);
	assert_int_equal(symlink(path, scratch_path(&scratch, "run7/rank1.json")), 0);
	arguments[0] = scratch_path(&scratch, "");
	assert_int_equal(tw_rank_set_find(&set, arguments, 1, trawl_allocator_default(), NULL), 0);
	assert_int_equal(set.count, 2);
	assert_non_null(strstr(set.files[0].path, "/run7/rank0.json"));
	assert_non_null(strstr(set.files[1].path, "/run7/rank1.json"));
	tw_rank_set_release(&set);
}

/* In a process that is no root: to that one everything opens. */
static void load_beside_closed_directory(const char *path)
{
	const char *const arguments[] = { path };
	struct tw_load_options options = { .threads = 1 };
	struct tw_rank_set set = { 0 };
	struct trawl_job job;
	bool good;

	if (!geteuid() && setuid(65534))
		_exit(2);
	good = !tw_rank_set_find(&set, arguments, 1, trawl_allocator_default(), NULL) &&
	       !tw_job_load(&job, &set, &options, trawl_allocator_default(), NULL) &&
	       job.count == 1 && job.left_out_count == 1 &&
	       job.left_out[0].state == TRAWL_RANK_UNREADABLE &&
	       strstr(job.left_out[0].message, "Permission denied") &&
	       strstr(job.set.files[job.left_out[0].file].path, "/closed");
	_exit(good ? 0 : 1);
}

static void test_directory_that_cannot_be_read_is_left_out(void **state)
{
	char path[SCRATCH_NAME];
	int status;
	pid_t child;

	(void)state;
	write_rank("rank0.json", 0, 1, 5);
	directory("closed");
	assert_int_equal(chmod(scratch_path(&scratch, "closed"), 0), 0);
	snprintf(path, sizeof(path), "%s", scratch_path(&scratch, ""));
	assert_int_equal(chmod(path, 0755), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child)
		load_beside_closed_directory(path);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(chmod(scratch_path(&scratch, "closed"), 0755), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_files_stand_as_given_and_once(void **state)
{
	char b[SCRATCH_NAME], a[SCRATCH_NAME];
	const char *const arguments[] = { b, a, b };
	struct tw_rank_set set = { 0 };

	(void)state;
	write_rank("a.json", -1, 0, 5);
	write_rank("b.json", -1, 0, 5);
	snprintf(a, sizeof(a), "%s", scratch_path(&scratch, "a.json"));
	snprintf(b, sizeof(b), "%s", scratch_path(&scratch, "b.json"));
	assert_int_equal(tw_rank_set_find(&set, arguments, 3, trawl_allocator_default(), NULL), 0);
	assert_int_equal(set.count, 2);
	assert_string_equal(set.files[0].path, b);
	assert_string_equal(set.files[1].path, a);
	tw_rank_set_release(&set);
}

/* One that is found in a directory and named beside it is one that was named, in either order. */
static void test_a_file_beside_its_directory(void **state)
{
	char b[SCRATCH_NAME], place[SCRATCH_NAME];
	const char *const arguments[] = { place, b, place };
	size_t i;

	(void)state;
	directory("job");
	write_rank("job/a.json", -1, 0, 5);
	write_rank("job/b.json", -1, 0, 5);
	snprintf(place, sizeof(place), "%s", scratch_path(&scratch, "job"));
	snprintf(b, sizeof(b), "%s", scratch_path(&scratch, "job/b.json"));
	for (i = 0; i < 2; i++) {
		struct tw_rank_set set = { 0 };
		size_t k;

		assert_int_equal(tw_rank_set_find(&set, arguments + i, 2, trawl_allocator_default(),
						  NULL),
				 0);
		assert_int_equal(set.count, 2);
		for (k = 0; k < 2; k++)
			assert_int_equal(set.files[k].named, !strcmp(set.files[k].path, b));
		tw_rank_set_release(&set);
	}
}

static size_t count_found(const char *name)
{
	const char *arguments[1] = { scratch_path(&scratch, name) };
	struct tw_rank_set set = { 0 };
	size_t count;

	assert_int_equal(tw_rank_set_find(&set, arguments, 1, trawl_allocator_default(), NULL), 0);
	count = set.count;
	tw_rank_set_release(&set);
	return count;
}

static void make_link(const char *target, const char *name)
{
	assert_int_equal(symlink(target, scratch_path(&scratch, name)), 0);
}

/* Two links to where they are double what is found at every level. */
static void test_directories_that_lead_back_to_themselves(void **state)
{
	(void)state;
	directory("job");
	directory("job/more");
	write_rank("job/rank0.json", 0, 2, 5);
	write_rank("job/more/rank1.json", 1, 2, 5);
	make_link(".", "job/here");
	make_link(".", "job/also");
	make_link("..", "job/more/up");
	make_link("../more", "job/more/same");
	assert_int_equal(count_found("job"), 2);
}

static void test_a_file_of_two_names_is_one(void **state)
{
	struct trawl_job job;
	size_t i;

	(void)state;
	directory("job");
	write_rank("job/rank0.json", -1, 0, 5);
	write_rank("job/rank1.json", -1, 0, 5);
	/* One before, one behind; neither tells a rank. */
	make_link("rank0.json", "job/latest.json");
	make_link("rank1.json", "job/zz.json");
	assert_int_equal(load(&job, "job", NULL), 0);
	assert_int_equal(job.count, 2);
	assert_int_equal(job.left_out_count, 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(job.ranks[i].rank, i);
		assert_int_equal(job.ranks[i].rule, TRAWL_RANK_BY_NAME);
	}
	tw_job_release(&job);
	/* But whoever calls it another rank wants it to be one. */
	make_link("rank1.json", "job/rank2.json");
	assert_int_equal(count_found("job"), 3);
}

static void test_patterns(void **state)
{
	struct trawl_error err;
	struct trawl_job job;

	(void)state;
	write_rank("rank_1.json", -1, 0, 5);
	write_rank("rank_0.json", -1, 0, 6);
	assert_int_equal(load(&job, "rank_[01].js*", &err), 0);
	assert_int_equal(job.count, 2);
	assert_int_equal(job.ranks[0].rank, 0);
	assert_int_equal(job.ranks[0].rule, TRAWL_RANK_BY_NAME);
	tw_job_release(&job);
	assert_int_equal(load(&job, "none*.json", &err), TRAWL_EIO);
	assert_non_null(strstr(err.message, "no file matches"));
	assert_int_equal(load(&job, "none.json", &err), TRAWL_EIO);
	assert_non_null(strstr(err.message, "cannot open"));
}

static void test_metadata_counts_before_names(void **state)
{
	struct trawl_job job;

	(void)state;
	write_rank("rank0.json", 1, 4, 5);
	write_rank("rank1.json", 0, 4, 6);
	assert_int_equal(load(&job, "", NULL), 0);
	assert_int_equal(job.count, 2);
	assert_int_equal(job.ranks[0].rank, 0);
	assert_int_equal(job.ranks[0].name_rank, 1);
	assert_int_equal(job.ranks[0].rule, TRAWL_RANK_BY_METADATA);
	assert_int_equal(job.ranks[0].file, 1);
	/* Ranks 2 and 3 of the job are not there. */
	assert_int_equal(job.world_size, 4);
	assert_int_equal(job.missing_count, 2);
	assert_int_equal(job.missing[0], 2);
	assert_int_equal(job.missing[1], 3);
	/* Two GPUs a host by the traces: one host. */
	assert_int_equal(job.gpus_per_node, 2);
	assert_false(tw_job_several_hosts(&job));
	tw_job_release(&job);
}

/* Copies of one model serve side by side, each a world of its own. */
static void test_world_of_one_tells_no_rank(void **state)
{
	struct trawl_job job;

	(void)state;
	write_rank("rank3.json", 0, 1, 5);
	write_rank("rank2.json", 0, 1, 6);
	assert_int_equal(load(&job, "", NULL), 0);
	assert_int_equal(job.count, 2);
	assert_int_equal(job.ranks[0].rank, 2);
	assert_int_equal(job.ranks[1].rank, 3);
	assert_int_equal(job.world_size, -1);
	assert_int_equal(job.missing_count, 0);
	/* Two GPUs a host: ranks 2 and 3 share one. */
	assert_int_equal(tw_job_node(&job, 3), 1);
	tw_job_release(&job);
}

static void test_bad_files_are_named_and_the_rest_goes_on(void **state)
{
	struct trawl_job job;

	(void)state;
	write_rank("a_rank0.json", 0, 2, 5);
	write_rank("b_rank0.json", 0, 2, 5);
	scratch_write(&scratch, "c_rank1.json", "");
	scratch_write(&scratch, "settings.json", "{\"a\": 1}");
	scratch_write(&scratch, "d_rank5.json",
		      "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\","
		      "\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2}]}");
	assert_int_equal(load(&job, "", NULL), 0);
	assert_int_equal(job.count, 2);
	assert_int_equal(job.ranks[0].rank, 0);
	assert_int_equal(job.ranks[0].state, TRAWL_RANK_READ);
	assert_int_equal(job.ranks[1].rank, 5);
	assert_int_equal(job.ranks[1].state, TRAWL_RANK_NO_GPU);
	assert_int_equal(job.left_out_count, 3);
	assert_int_equal(job.left_out[0].state, TRAWL_RANK_DUPLICATE);
	assert_non_null(strstr(job.left_out[0].message, "a_rank0.json"));
	assert_int_equal(job.left_out[1].state, TRAWL_RANK_UNREADABLE);
	assert_int_equal(job.left_out[1].rank, 1);
	assert_non_null(strstr(job.left_out[1].message, "empty"));
	assert_int_equal(job.left_out[2].state, TRAWL_RANK_NOT_A_TRACE);
	tw_job_release(&job);
	/* By its very name it should have been a trace. */
	assert_int_equal(load(&job, "settings.json", NULL), TRAWL_ENODATA);
	assert_int_equal(job.left_out[0].state, TRAWL_RANK_UNREADABLE);
	tw_job_release(&job);
}

/* Metrics beside the traces, say; a list that is broken may have been one of events. */
static void test_lists_that_are_no_traces(void **state)
{
	struct trawl_job job;

	(void)state;
	directory("job");
	write_rank("job/rank0.json", 0, 3, 5);
	scratch_write(&scratch, "job/a.json", "[{\"loss\": 1}, 2]");
	scratch_write(&scratch, "job/b.json", "[]");
	scratch_write(&scratch, "job/rank1.json", "[{\"ph\": ");
	scratch_write(&scratch, "job/rank2.json", "{\"traceEvents\": []}");
	assert_int_equal(load(&job, "job", NULL), 0);
	assert_int_equal(job.left_out_count, 2);
	assert_int_equal(job.left_out[0].state, TRAWL_RANK_NOT_A_TRACE);
	assert_int_equal(job.left_out[1].state, TRAWL_RANK_NOT_A_TRACE);
	assert_non_null(strstr(job.left_out[0].message, "list"));
	assert_int_equal(job.count, 3);
	assert_string_equal(job.ranks[0].message, "");
	assert_int_equal(job.ranks[1].state, TRAWL_RANK_DAMAGED);
	assert_int_equal(job.ranks[2].state, TRAWL_RANK_NO_GPU);
	tw_job_release(&job);
}

static void test_surest_trace_of_a_rank_stays(void **state)
{
	struct trawl_job job;

	(void)state;
	directory("job");
	write_rank("job/a.json", -1, 0, 5); /* the first, so rank 0 by its place */
	write_rank("job/rank0.json", -1, 0, 5);
	write_rank("job/z.json", 0, 4, 5);
	assert_int_equal(load(&job, "job", NULL), 0);
	assert_int_equal(job.count, 1);
	assert_int_equal(job.ranks[0].rule, TRAWL_RANK_BY_METADATA);
	assert_int_equal(job.left_out_count, 2);
	assert_non_null(strstr(job.left_out[0].message, "z.json"));
	tw_job_release(&job);
}

static void test_what_a_rank_is_reduced_to(void **state)
{
	const struct tw_collective *c;
	const struct tw_rank *rank;
	struct trawl_job job;

	(void)state;
	write_rank("rank0.json", 0, 2, 40);
	write_rank("rank1.json", 1, 2, 30);
	assert_int_equal(load(&job, "", NULL), 0);
	rank = &job.ranks[1];
	assert_string_equal(rank->device_name, "G");
	assert_int_equal(rank->base_time_ns, 77);
	assert_int_equal(rank->events, 2);
	assert_int_equal(rank->gpu_events, 2);
	assert_int_equal(rank->first_ns, 10000);
	assert_int_equal(rank->last_ns, 50500);
	/* 5 us of computing, 5.5 of nothing, 30 of communicating. */
	assert_int_equal(rank->timeline.compute_ns, 5000);
	assert_int_equal(rank->timeline.idle_ns, 5500);
	assert_int_equal(rank->timeline.exposed_communication_ns, 30000);
	assert_int_equal(rank->collective_count, 1);
	c = &rank->collectives[0];
	assert_int_equal(c->start_ns, 20500);
	assert_int_equal(c->end_ns, 50500);
	assert_int_equal(c->sequence, 4);
	assert_true(c->comms_id == UINT64_MAX);
	assert_string_equal(tw_collective_text(rank, c, TW_COLLECTIVE_GROUP_RANKS, NULL), "(0, 1)");
	assert_string_equal(tw_collective_text(rank, c, TW_COLLECTIVE_IN_NELEMS, NULL), "100");
	assert_string_equal(tw_collective_text(rank, c, TW_COLLECTIVE_OUT_NELEMS, NULL), "");
	assert_string_equal(tw_pool_text(&rank->texts, rank->kinds[c->kind].stream, NULL), "9");
	tw_job_release(&job);
}

static void test_merged_traces_are_of_no_rank(void **state)
{
	static const char merged[] =
		"{\"traceEvents\": [{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"tid\":0,"
		"\"args\":{\"name\":\"Rank 0 - GPU Stream\"}},{\"ph\":\"X\",\"cat\":\"kernel\","
		"\"name\":\"[R0] gemm\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":2}]}";
	struct trawl_error err;
	struct trawl_job job;

	(void)state;
	scratch_write(&scratch, "a_merged.json", merged);
	write_rank("rank0.json", 0, 1, 5);
	assert_int_equal(load(&job, "", NULL), 0);
	assert_int_equal(job.count, 1);
	assert_int_equal(job.left_out[0].state, TRAWL_RANK_NOT_A_TRACE);
	tw_job_release(&job);
	assert_int_equal(load(&job, "a_merged.json", &err), TRAWL_ENODATA);
	assert_non_null(strstr(err.message, "merged trace"));
	tw_job_release(&job);
}

static void test_steps(void **state)
{
	struct trawl_job job;

	(void)state;
	scratch_write(&scratch, "rank0.json",
		      "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":"
		      "\"ProfilerStep#13\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":2},{\"ph\":\"X\","
		      "\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#12\",\"pid\":1,"
		      "\"tid\":1,\"ts\":1,\"dur\":2}]}");
	write_rank("rank1.json", 1, 2, 5);
	assert_int_equal(load(&job, "", NULL), 0);
	assert_int_equal(job.ranks[0].first_step, 12);
	assert_int_equal(job.ranks[0].last_step, 13);
	assert_int_equal(job.ranks[1].first_step, -1);
	tw_job_release(&job);
}

static void test_timeline_over_ranks(void **state)
{
	struct tw_ranks_input in = { .allocator = trawl_allocator_default() };
	const struct tw_ranks_table *self = &tw_ranks_table_timeline_over_ranks;
	struct trawl_table *table;
	struct trawl_job job;

	(void)state;
	write_rank("rank0.json", 0, 3, 40);
	write_rank("rank1.json", 1, 3, 90);
	write_rank("rank2.json", 2, 3, 90);
	assert_int_equal(load(&job, "", NULL), 0);
	in.job = &job;
	assert_int_equal(tw_ranks_table_make(&in, self, &table), 0);
	/* exposed_comm_time: 40, 90, 90 us. */
	assert_int_equal(tw_table_cell(table, 1, "ranks").integer, 3);
	assert_true(tw_table_cell(table, 1, "time ms_median").real == 0.09);
	assert_int_equal(tw_table_cell(table, 1, "time ms_min").integer, 40000);
	assert_int_equal(tw_table_cell(table, 1, "time ms_max").integer, 90000);
	assert_int_equal(tw_table_cell(table, 1, "rank of min").integer, 0);
	assert_int_equal(tw_table_cell(table, 1, "slowest rank").integer, 1);
	trawl_table_free(table);
	tw_job_release(&job);
}

/* A budget below any trace lets them through one by one; many threads change nothing. */
static void test_budget_and_threads(void **state)
{
	const char *arguments[1];
	struct tw_load_options options = { .threads = 5, .max_memory = 1 };
	struct tw_rank_set set = { 0 };
	struct trawl_job job;
	char name[32];
	int r;

	(void)state;
	for (r = 0; r < 12; r++) {
		snprintf(name, sizeof(name), "rank%d.json", r);
		write_rank(name, r, 12, 10 + r);
	}
	arguments[0] = scratch_path(&scratch, "");
	assert_int_equal(tw_rank_set_find(&set, arguments, 1, trawl_allocator_default(), NULL), 0);
	assert_int_equal(tw_job_load(&job, &set, &options, trawl_allocator_default(), NULL), 0);
	assert_int_equal(job.count, 12);
	for (r = 0; r < 12; r++)
		assert_int_equal(job.ranks[r].timeline.communication_ns, (10 + r) * 1000);
	tw_job_release(&job);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, make_scratch, remove_scratch)
		TEST(test_ranks_in_paths),
		TEST(test_numbers_in_names_are_numbers),
		TEST(test_links),
		TEST(test_directory_that_cannot_be_read_is_left_out),
		TEST(test_files_stand_as_given_and_once),
		TEST(test_a_file_beside_its_directory),
		TEST(test_directories_that_lead_back_to_themselves),
		TEST(test_a_file_of_two_names_is_one),
		TEST(test_patterns),
		TEST(test_metadata_counts_before_names),
		TEST(test_world_of_one_tells_no_rank),
		TEST(test_bad_files_are_named_and_the_rest_goes_on),
		TEST(test_lists_that_are_no_traces),
		TEST(test_surest_trace_of_a_rank_stays),
		TEST(test_what_a_rank_is_reduced_to),
		TEST(test_merged_traces_are_of_no_rank),
		TEST(test_steps),
		TEST(test_timeline_over_ranks),
		TEST(test_budget_and_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
