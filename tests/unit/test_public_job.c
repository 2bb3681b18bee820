/* Jobs and merges as users of the library see them: nothing but trawl/trawl.h. */
#include <trawl/trawl.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failing.h"
#include "scratch.h"

static struct scratch scratch;

/* An operator, its kernel of 5 us and an allreduce that all ranks end at 60 us. */
static void write_rank(const char *name, int rank, int start)
{
	char text[2048];

	snprintf(text, sizeof(text),
		 "{\"distributedInfo\": {\"rank\": %d, \"world_size\": 4}, \"deviceProperties\": "
		 "[{\"id\": 0, \"name\": \"G\"}], \"baseTimeNanoseconds\": 77, \"traceEvents\": ["
		 "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,"
		 "\"ts\":1,\"dur\":8},"
		 "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
		 "\"tid\":1,\"ts\":2,\"dur\":3,\"args\":{\"correlation\":1}},"
		 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,"
		 "\"ts\":10,\"dur\":5,\"args\":{\"correlation\":1,\"device\":0,\"stream\":7}},"
		 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":0,"
		 "\"tid\":9,\"ts\":%d,\"dur\":%d,\"args\":{\"device\":0,\"stream\":9,"
		 "\"Collective name\":\"allreduce\",\"In msg nelems\":100,\"dtype\":\"Float\","
		 "\"Process Group Name\":\"dp\",\"Process Group Ranks\":[0,1,2,3],\"Seq\":4}}]}",
		 rank, start, 60 - start);
	scratch_write(&scratch, name, text);
}

static int make_files(void **state)
{
	scratch_make(&scratch);
	mkdir(scratch_path(&scratch, "job"), 0777);
	mkdir(scratch_path(&scratch, "two"), 0777);
	mkdir(scratch_path(&scratch, "empty"), 0777);
	write_rank("job/rank0.json", 0, 20);
	write_rank("job/rank1.json", 1, 50);
	write_rank("job/rank3.json", 3, 30);
	write_rank("job/rank3_again.json", 3, 30);
	scratch_write(&scratch, "job/rank2.json", "{\"traceEvents\": nothing");
	write_rank("two/rank0.json", 0, 20);
	write_rank("two/rank1.json", 1, 50);
	return 0;
}

static int remove_files(void **state)
{
	scratch_remove(&scratch);
	return 0;
}

static void count_lines(void *count, const char *line)
{
	assert_true(*line && !strchr(line, '\n'));
	++*(size_t *)count;
}

static int read_job(struct trawl_job **job, const char *name, struct trawl_job_options *options,
		    struct trawl_error *err)
{
	const char *const paths[] = { scratch_path(&scratch, name) };

	return trawl_job_read(job, paths, 1, options, err);
}

static void the_ranks_of_a_job(void **state)
{
	struct trawl_job_options options;
	struct trawl_job *job;
	struct trawl_error err;
	size_t lines = 0, missing;
	const int64_t *ranks;
	struct trawl_rank rank;

	trawl_job_options_init(&options);
	options.note = count_lines;
	options.note_context = &lines;
	assert_int_equal(read_job(&job, "job", &options, &err), 0);
	assert_int_equal(trawl_job_ranks(job), 3);
	rank = trawl_job_rank(job, 2);
	assert_int_equal(rank.rank, 3);
	assert_int_equal(rank.state, TRAWL_RANK_READ);
	assert_int_equal(rank.rule, TRAWL_RANK_BY_METADATA);
	assert_string_equal(strrchr(rank.path, '/'), "/rank3.json");
	assert_string_equal(rank.device, "G");
	assert_string_equal(rank.message, "");
	assert_int_equal(rank.events, 4);
	assert_int_equal(rank.gpu_events, 2);
	assert_int_equal(rank.collectives, 1);
	assert_int_equal(trawl_job_left_out(job), 2);
	rank = trawl_job_left_out_rank(job, 0);
	assert_string_equal(strrchr(rank.path, '/'), "/rank2.json");
	assert_int_equal(rank.state, TRAWL_RANK_UNREADABLE);
	assert_int_equal(rank.status, TRAWL_EFORMAT);
	assert_true(rank.message[0]);
	assert_int_equal(trawl_job_left_out_rank(job, 1).state, TRAWL_RANK_DUPLICATE);
	ranks = trawl_job_missing(job, &missing);
	assert_int_equal(missing, 1);
	assert_int_equal(ranks[0], 2);
	assert_int_equal(trawl_job_world_size(job), 4);
	assert_int_equal(trawl_job_gpus_per_node(job), 1);
	assert_false(trawl_job_is_whole(job));
	assert_null(trawl_job_next(job));
	assert_null(trawl_job_group(job));
	assert_string_equal(strrchr(trawl_job_directory(job), '/'), "/job");
	/* The two files, the rank without one. */
	assert_int_equal(lines, 3);
	trawl_job_free(job);
}

static void the_report_of_a_job(void **state)
{
	struct trawl_job_report_options options;
	struct trawl_job_report *report;
	const struct trawl_table *table;
	struct trawl_job *job;
	struct trawl_error err;
	size_t i, c;

	assert_int_equal(read_job(&job, "job", NULL, &err), 0);
	assert_int_equal(trawl_job_report_new(&report, job, NULL, &err), 0);
	assert_true(trawl_job_report_tables(report) > 5);
	for (i = 0; i < trawl_job_report_tables(report); i++) {
		table = trawl_job_report_table(report, i);
		assert_ptr_equal(trawl_job_report_find(report, trawl_table_name(table)), table);
	}
	assert_null(trawl_job_report_find(report, "no such table"));
	assert_int_equal(trawl_table_rows(trawl_job_report_find(report, "ranks")), 6);
	assert_non_null(trawl_job_report_find(report, "verdict"));
	/* Summed over the ranks: a gemm of 5 us on three. */
	table = trawl_job_report_find(report, "ops_summary");
	assert_int_equal(trawl_table_rows(table), 1);
	trawl_job_report_free(report);

	/* Rank 1 begins 30 us after rank 0 and 20 us after rank 3: they wait for it. */
	trawl_job_report_options_init(&options);
	options.collectives = true;
	assert_int_equal(trawl_job_report_new(&report, job, &options, &err), 0);
	assert_null(trawl_job_report_find(report, "ops_summary"));
	table = trawl_job_report_find(report, "collective_waits");
	assert_int_equal(trawl_table_rows(table), 2);
	for (c = 0; strcmp(trawl_table_column(table, c)->header, "late rank") != 0; c++)
		;
	assert_int_equal(trawl_table_cell(table, 0, c).integer, 1);
	assert_int_equal(trawl_table_cell(table, 1, c).integer, 1);
	for (i = 0; trawl_job_report_table_name(i); i++)
		;
	assert_true(i >= trawl_job_report_tables(report));
	trawl_job_report_free(report);
	trawl_job_report_free(NULL);
	trawl_job_free(job);
	trawl_job_free(NULL);
}

static void jobs_that_are_refused(void **state)
{
	struct trawl_job_options options;
	struct trawl_job *job;
	struct trawl_error err;

	trawl_job_options_init(&options);
	assert_int_equal(read_job(&job, "absent", NULL, &err), TRAWL_EIO);
	assert_null(job);
	assert_int_equal(read_job(&job, "empty", NULL, &err), TRAWL_ENODATA);
	assert_int_equal(read_job(&job, "job/rank2.json", NULL, &err), TRAWL_ENODATA);
	assert_int_equal(read_job(&job, "two", &options, &err), 0);
	assert_false(trawl_job_is_whole(job));
	trawl_job_free(job);
	options.strict = true;
	assert_int_equal(read_job(&job, "job", &options, &err), TRAWL_EFORMAT);
	assert_null(job);
}

static int merge(struct trawl_merge **out, const char *name, const char *output,
		 const struct trawl_merge_options *options, struct trawl_error *err)
{
	const char *const paths[] = { scratch_path(&scratch, name) };
	char place[512];

	snprintf(place, sizeof(place), "%s", scratch_path(&scratch, output));
	return trawl_merge_new(out, paths, 1, place, options, err);
}

static bool is_there(const char *name)
{
	return !access(scratch_path(&scratch, name), F_OK);
}

static void a_merge_is_there_once_it_is_committed(void **state)
{
	struct trawl_merge_options options;
	struct trawl_merge *m;
	struct trawl_trace *trace;
	struct trawl_error err;
	struct trawl_rank rank;
	size_t lines = 0, defects;

	trawl_merge_options_init(&options);
	options.note = count_lines;
	options.note_context = &lines;
	assert_int_equal(merge(&m, "job", "merged.json", &options, &err), 0);
	assert_int_equal(trawl_merge_files(m), 5);
	assert_int_equal(trawl_table_rows(trawl_merge_table(m)), 3);
	rank = trawl_merge_file(m, 2);
	assert_int_equal(rank.rank, 3);
	assert_int_equal(rank.told_rank, 3);
	assert_int_equal(rank.state, TRAWL_RANK_READ);
	assert_int_equal(trawl_merge_file(m, 3).state, TRAWL_RANK_UNREADABLE);
	trawl_merge_defects(m, 0, &defects);
	assert_int_equal(defects, 0);
	assert_false(trawl_merge_is_whole(m));
	assert_int_equal(lines, 1);
	trawl_merge_free(m);
	assert_false(is_there("merged.json"));

	assert_int_equal(merge(&m, "two", "merged.json", NULL, &err), 0);
	assert_int_equal(trawl_merge_commit(m, &err), 0);
	trawl_merge_free(m);
	assert_int_equal(
		trawl_trace_read(&trace, scratch_path(&scratch, "merged.json"), NULL, &err), 0);
	assert_true(trawl_trace_events(trace) > 6);
	trawl_trace_free(trace);
	unlink(scratch_path(&scratch, "merged.json"));
}

static void merges_that_are_refused(void **state)
{
	struct trawl_merge *m;
	struct trawl_error err;

	assert_int_equal(merge(&m, "absent", "merged.json", NULL, &err), TRAWL_EIO);
	assert_null(m);
	assert_int_equal(merge(&m, "two", "two/rank1.json", NULL, &err), TRAWL_EUSAGE);
	assert_int_equal(merge(&m, "empty", "merged.json", NULL, &err), TRAWL_ENODATA);
	trawl_merge_free(NULL);
}

/* Whichever allocation fails, it is told, and nothing is lost. */
static void without_memory(void **state)
{
	struct trawl_job_options options;
	struct trawl_merge_options merging;
	struct trawl_job_report *report;
	struct trawl_merge *m;
	struct trawl_job *job;
	struct failing failing;
	struct trawl_error err;
	long n, step;
	int status;

	trawl_job_options_init(&options);
	trawl_merge_options_init(&merging);
	options.threads = merging.threads = 1;
	options.allocator = merging.allocator = &failing.allocator;
	for (n = 0, step = 1;; n += step, step += n > 100) {
		failing_init(&failing, n);
		status = read_job(&job, "two", &options, &err);
		if (!status) {
			status = trawl_job_report_new(&report, job, NULL, &err);
			trawl_job_report_free(report);
		}
		trawl_job_free(job);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
		assert_int_equal(status, TRAWL_ENOMEM);
	}
	assert_int_equal(status, 0);
	for (n = 0;; n++) {
		failing_init(&failing, n);
		status = merge(&m, "two", "merged.json", &merging, &err);
		trawl_merge_free(m);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
		assert_int_equal(status, TRAWL_ENOMEM);
	}
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ranks_of_a_job),
		cmocka_unit_test(the_report_of_a_job),
		cmocka_unit_test(jobs_that_are_refused),
		cmocka_unit_test(a_merge_is_there_once_it_is_committed),
		cmocka_unit_test(merges_that_are_refused),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
