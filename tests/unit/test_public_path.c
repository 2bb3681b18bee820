/* The dependencies of a job as users of the library see them: nothing but trawl/trawl.h. */
#include <trawl/trawl.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "failing.h"
#include "scratch.h"

static struct scratch scratch;

#define HOST "\"pid\":1,\"tid\":1"
#define CALL(name, ts, dur, more)                                                           \
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name "\"," HOST ",\"ts\":" #ts \
	",\"dur\":" #dur ",\"args\":{" more "}},"
#define KERNEL(name, stream, ts, dur, more)                                                     \
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" ts \
	",\"dur\":" dur ",\"args\":{\"device\":0,\"stream\":" #stream "," more "}},"

/*
 * A product of 8 x 4 by 4 x 2 in a module, an event that another stream waits for, an allreduce that
 * both ranks end at 90 us, a call that waits, a step around, and a second thread with its backward.
 */
static void write_rank(const char *name, int rank, const char *compute, const char *start,
		       const char *length)
{
	char text[6000];

	snprintf(
		text, sizeof(text),
		"{\"distributedInfo\": {\"rank\": %d, \"world_size\": 2}, \"deviceProperties\": "
		"[{\"id\": 0, \"name\": \"NVIDIA H100 80GB HBM3\"}], \"traceEvents\": ["
		"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#3\"," HOST
		",\"ts\":0,\"dur\":40},"
		"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#4\"," HOST
		",\"ts\":40,\"dur\":90},"
		"{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"nn.Module: Linear_0\"," HOST
		",\"ts\":0,\"dur\":9},"
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\"," HOST
		",\"ts\":1,\"dur\":8,\"args\":{\"Sequence number\":3,\"Input Dims\":[[8,4],[4,2]],"
		"\"Input type\":[\"float\",\"float\"]}}," CALL("cudaLaunchKernel", 2, 3, "\"correlation\":1") CALL(
			"cudaEventRecord", 10, 1,
			"\"correlation\":2") CALL("cudaStreamWaitEvent", 12, 1,
						  "\"correlation\":3") CALL("cudaLaunchKernel", 14,
									    3, "\"correlation\":4")
			CALL("cudaMalloc", 45, 3, "\"correlation\":5") CALL(
				"cudaDeviceSynchronize", 50, 45,
				"\"correlation\":6") "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":"
						     "\"autograd::engine::evaluate_function: MmBackward0\",\"pid\":1,\"tid\":2,"
						     "\"ts\":100,\"dur\":9,\"args\":{\"Sequence number\":3,\"Fwd thread id\":1}},"
						     "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
						     "\"tid\":2,\"ts\":102,\"dur\":3,\"args\":{\"correlation\":7}}," KERNEL(
							     "gemm", 7, "10", "%s",
							     "\"correlation\":1") KERNEL("gemm", 7,
											 "120", "4",
											 "\"correlation\":7")
							     KERNEL("ncclDevKernel_AllReduce", 9,
								    "%s", "%s",
								    "\"correlation\":4,\"Collective name\":\"allreduce\",\"In msg nelems\":1000,"
								    "\"Out msg nelems\":1000,\"Group size\":2,\"dtype\":\"Float\","
								    "\"Process Group Name\":\"dp\",\"Process Group Ranks\":[0,1],\"Seq\":4") "{\"ph\":\"M\",\"name\":\"x\"}]}",
		rank, compute, start, length);
	scratch_write(&scratch, name, text);
}

static int make_files(void **state)
{
	scratch_make(&scratch);
	write_rank("rank0.json", 0, "20", "31", "59");
	write_rank("rank1.json", 1, "50", "61", "29");
	return 0;
}

static int remove_files(void **state)
{
	scratch_remove(&scratch);
	return 0;
}

static int read_job(struct trawl_job **job, struct trawl_job_options *options,
		    struct trawl_error *err)
{
	const char *const paths[] = { scratch_path(&scratch, "rank0.json"),
				      scratch_path(&scratch, "rank1.json") };

	options->dependencies = true;
	options->threads = 1;
	return trawl_job_read(job, paths, 2, options, err);
}

static struct trawl_cell cell(const struct trawl_path *path, const char *table, size_t row,
			      const char *header)
{
	const struct trawl_table *t = trawl_path_find(path, table);

	assert_non_null(t);
	return trawl_table_cell(t, row, trawl_table_find_column(t, header));
}

static const struct trawl_path_change changes[] = {
	{ .kind = TRAWL_PATH_SCALE,
	  .selection = "kernel:gemm/module:*Linear*/rank:1",
	  .factor = 0.5 },
	{ .kind = TRAWL_PATH_REMOVE, .selection = "host:cudaMalloc" },
	{ .kind = TRAWL_PATH_RANK_AS_MEDIAN, .rank = 1 },
	{ .kind = TRAWL_PATH_BUS_BANDWIDTH, .factor = 1 },
};

/* Rank 1 is the last to arrive, 29 us before the end of both; the last work ends at 124 us. */
static void the_path_of_two_ranks(void **state)
{
	struct trawl_job_options options;
	struct trawl_path_options asked;
	struct trawl_path *path, *again;
	struct trawl_job *job;
	struct trawl_error err;
	size_t i, named = 0;
	int64_t sum = 0;

	trawl_job_options_init(&options);
	assert_int_equal(read_job(&job, &options, &err), 0);
	trawl_path_options_init(&asked);
	asked.align = TRAWL_ALIGN_NONE;
	asked.changes = changes;
	asked.change_count = sizeof(changes) / sizeof(changes[0]);
	assert_int_equal(trawl_path_new(&path, job, &asked, &err), 0);
	assert_int_equal(trawl_path_window_ns(path), 114000);
	for (i = 0; i < trawl_table_rows(trawl_path_find(path, "critical_path")); i++)
		sum += cell(path, "critical_path", i, "duration (µs)").integer;
	assert_int_equal(sum, 114000);
	assert_int_equal(trawl_path_tables(path), 5);
	while (trawl_path_table_name(named))
		assert_non_null(trawl_path_find(path, trawl_path_table_name(named++)));
	assert_int_equal(named, 5);
	assert_null(trawl_path_find(path, "timeline"));
	/* What the job had is used up; the path does not need the job. */
	assert_int_equal(trawl_path_new(&again, job, NULL, &err), TRAWL_ENODATA);
	trawl_job_free(job);
	assert_memory_equal(cell(path, "critical_path", 0, "module").text, "nn.Module: Linear_0",
			    19);
	trawl_path_free(path);
	trawl_path_free(NULL);
}

static void a_job_without_dependencies(void **state)
{
	const char *const one[] = { scratch_path(&scratch, "rank0.json") };
	struct trawl_path *path;
	struct trawl_job *job;
	struct trawl_error err;

	assert_int_equal(trawl_job_read(&job, one, 1, NULL, &err), 0);
	assert_int_equal(trawl_path_new(&path, job, NULL, &err), TRAWL_ENODATA);
	assert_null(path);
	assert_non_null(strstr(err.message, "without its dependencies"));
	trawl_job_free(job);
}

static void steps_that_are_not_there(void **state)
{
	struct trawl_path_options asked;
	struct trawl_job_options options;
	struct trawl_path *path;
	struct trawl_job *job;
	struct trawl_error err;

	trawl_job_options_init(&options);
	assert_int_equal(read_job(&job, &options, &err), 0);
	trawl_path_options_init(&asked);
	asked.step_first = asked.step_last = 5;
	assert_int_equal(trawl_path_new(&path, job, &asked, &err), TRAWL_EUSAGE);
	trawl_job_free(job);
	assert_int_equal(read_job(&job, &options, &err), 0);
	asked.step_first = asked.step_last = 4;
	assert_int_equal(trawl_path_new(&path, job, &asked, &err), 0);
	assert_int_equal(trawl_path_window_ns(path), 4000);
	trawl_path_free(path);
	trawl_job_free(job);
}

/* Whichever allocation fails, it is told, and nothing is lost. */
static void without_memory(void **state)
{
	struct trawl_path_options asked;
	struct trawl_job_options options;
	struct trawl_path *path;
	struct trawl_job *job;
	struct failing failing;
	struct trawl_error err;
	long n, step;
	int status;

	trawl_job_options_init(&options);
	options.collectives_only = true;
	options.allocator = &failing.allocator;
	trawl_path_options_init(&asked);
	asked.threads = 1;
	asked.changes = changes;
	asked.change_count = sizeof(changes) / sizeof(changes[0]);
	for (n = 0, step = 1;; n += step, step += n > 1000) {
		failing_init(&failing, n);
		path = NULL;
		status = read_job(&job, &options, &err);
		if (!status)
			status = trawl_path_new(&path, job, &asked, &err);
		trawl_path_free(path);
		trawl_job_free(job);
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
		cmocka_unit_test(the_path_of_two_ranks),
		cmocka_unit_test(a_job_without_dependencies),
		cmocka_unit_test(steps_that_are_not_there),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
