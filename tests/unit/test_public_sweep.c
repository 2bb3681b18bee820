/* Sweeps as users of the library see them: nothing but trawl/trawl.h. */
#include <trawl/trawl.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "scratch.h"

#define EVENT \
	"{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%d,\"dur\":%d,"
#define VARIANCE "tracelens_analysis/top5_gemm_kernels_time_variance"

static struct scratch scratch;
static char notes[4096];

/* A product of matrices, its launch, and its kernel 100 µs after it was called. */
static int add_mm(char *out, size_t size, int id, int at, int kernel_us)
{
	return snprintf(out, size,
			EVENT "\"args\":{\"External id\":%d,\"Input Dims\":[[8,4],[4,2]],"
			      "\"Input type\":[\"float\",\"float\"]}}," EVENT
			      "\"args\":{\"correlation\":%d,\"External id\":%d}}," EVENT
			      "\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d}}",
			"cpu_op", "aten::mm", 1, 1, at, 50, id, "cuda_runtime", "cudaLaunchKernel",
			1, 1, at + 10, 10, id, id, "kernel", "gemm", 0, 7, at + 100, kernel_us, id);
}

/* Two calls of it, the first of 100 µs from 100 µs on, the second of so many from 1100 µs on. */
static void write_trace(int channels, int rank, int second_us)
{
	static const char *const parts[] = { "", "/nccl_%dchannels", "/torch_profiler", "/rank%d" };
	char name[256] = "256thread", text[4096] = "[";
	size_t i, len;

	for (i = 0; i < 4; i++) {
		len = strlen(name);
		snprintf(name + len, sizeof(name) - len, parts[i], i == 1 ? channels : rank);
		mkdir(scratch_path(&scratch, name), 0777);
	}
	strcat(name, "/trace.json");
	add_mm(text + 1, sizeof(text) - 1, 1, 0, 100);
	strcat(text, ",");
	len = strlen(text);
	add_mm(text + len, sizeof(text) - len, 2, 1000, second_us);
	strcat(text, "]");
	scratch_write(&scratch, name, text);
}

static int make_files(void **state)
{
	int rank;

	scratch_make(&scratch);
	for (rank = 0; rank < 2; rank++) {
		write_trace(28, rank, 500);
		write_trace(56, rank, 300);
	}
	return 0;
}

static int remove_files(void **state)
{
	scratch_remove(&scratch);
	return 0;
}

static void keep_note(void *context, const char *line)
{
	size_t len = strlen(notes);

	(void)context;
	snprintf(notes + len, sizeof(notes) - len, "%s\n", line);
}

static struct trawl_sweep *find(struct trawl_sweep_options *options)
{
	struct trawl_sweep *sweep;
	struct trawl_error err;

	notes[0] = 0;
	trawl_sweep_options_init(options);
	options->note = keep_note;
	/*
	 * Workbooks are made in a forked process.  The allocators of sanitizers, unlike the C library's,
	 * may be locked in it for good when another thread allocates meanwhile.
	 */
	options->threads = 1;
	assert_int_equal(trawl_sweep_find(&sweep, scratch.dir, options, &err), 0);
	return sweep;
}

static double number(const struct trawl_table *table, size_t row, const char *header)
{
	size_t at = trawl_table_find_column(table, header);
	const struct trawl_column *column = trawl_table_column(table, at);
	struct trawl_cell cell = trawl_table_cell(table, row, at);

	if (cell.state == TRAWL_CELL_MISSING)
		return NAN;
	return column->type == TRAWL_COLUMN_REAL ? cell.real :
						   (double)cell.integer / pow(10, column->scale);
}

static void what_is_there(void **state)
{
	const int64_t channels[] = { 56 };
	struct trawl_sweep_options options;
	struct trawl_sweep *sweep = find(&options);
	struct trawl_configuration c;
	struct trawl_error err;

	assert_int_equal(trawl_sweep_configurations(sweep), 2);
	assert_true(trawl_sweep_is_whole(sweep));
	assert_string_equal(trawl_sweep_output(sweep), scratch.dir);
	c = trawl_sweep_configuration(sweep, 1);
	assert_string_equal(c.name, "256thread_56ch");
	assert_int_equal(c.threads, 256);
	assert_int_equal(c.channels, 56);
	assert_int_equal(c.ranks, 2);
	assert_int_equal(c.traces, 2);
	assert_null(c.ended);
	trawl_sweep_free(sweep);
	options.filter.channels = channels;
	options.filter.channel_count = 1;
	assert_int_equal(trawl_sweep_find(&sweep, scratch.dir, &options, &err), 0);
	assert_int_equal(trawl_sweep_configurations(sweep), 1);
	trawl_sweep_free(sweep);
	trawl_sweep_free(NULL);
}

/* From 100 µs to 1400 or 1600 µs: the configuration of 56 channels has 1.3 ms in the place of 1.5. */
static void the_best_one(void **state)
{
	struct trawl_sweep_options options;
	struct trawl_sweep *sweep = find(&options);
	struct trawl_sweep_results *r;
	const struct trawl_table *t;
	struct trawl_error err;

	assert_int_equal(trawl_sweep_analyse(&r, sweep, 0, &err), 0);
	assert_true(trawl_sweep_results_is_whole(r));
	assert_int_equal(trawl_sweep_results_tables(r), 1);
	t = trawl_sweep_results_table(r, 0);
	assert_ptr_equal(trawl_sweep_results_find(r, "configurations"), t);
	assert_null(trawl_sweep_results_find(r, "merged_traces"));
	assert_int_equal(trawl_table_rows(t), 2);
	assert_int_equal(number(t, 0, "channels"), 56);
	assert_true(fabs(number(t, 0, "total ms") - 1.3) < 1e-9);
	assert_true(fabs(number(t, 1, "total ms") - 1.5) < 1e-9);
	assert_true(fabs(number(t, 0, "idle ms") - 0.9) < 1e-9);
	assert_true(trawl_sweep_results_lines(r) >= 2);
	assert_non_null(strstr(trawl_sweep_results_line(r, 0), "Best: 256thread_56ch, 1.300 ms"));
	assert_int_equal(trawl_sweep_results_files(r, TRAWL_SWEEP_REPORTS), 0);
	assert_false(scratch_exists(&scratch, "tracelens_analysis"));
	trawl_sweep_results_free(r);
	trawl_sweep_results_free(NULL);
	trawl_sweep_free(sweep);
}

static void all_files(void **state)
{
	const unsigned outputs = TRAWL_SWEEP_REPORTS | TRAWL_SWEEP_COLLECTIVES |
				 TRAWL_SWEEP_MERGED | TRAWL_SWEEP_VARIANCE;
	struct trawl_sweep_options options;
	struct trawl_sweep *sweep = find(&options);
	struct trawl_sweep_results *r;
	const struct trawl_table *t;
	struct trawl_error err;

	assert_int_equal(trawl_sweep_analyse(&r, sweep, outputs, &err), 0);
	assert_int_equal(trawl_sweep_results_files(r, TRAWL_SWEEP_REPORTS), 4);
	assert_int_equal(trawl_sweep_results_files(r, TRAWL_SWEEP_COLLECTIVES), 2);
	assert_int_equal(trawl_sweep_results_files(r, TRAWL_SWEEP_MERGED), 2);
	t = trawl_sweep_results_find(r, "merged_traces");
	assert_int_equal(trawl_table_rows(t), 2);
	assert_int_equal(number(t, 0, "ranks"), 2);
	assert_int_equal(trawl_sweep_results_write(r, TRAWL_SWEEP_VARIANCE | TRAWL_SWEEP_AGGREGATES,
						   &err),
			 0);
	assert_int_equal(trawl_sweep_results_files(r, TRAWL_SWEEP_VARIANCE), 3);
	assert_int_equal(trawl_sweep_results_files(r, TRAWL_SWEEP_AGGREGATES), 2);
	assert_true(scratch_exists(&scratch, VARIANCE ".csv"));
	/* 500 - 100 µs on both ranks of the one, 300 - 100 µs of the other; the largest first. */
	t = trawl_sweep_results_find(r, "gemm_variance");
	assert_int_equal(trawl_table_rows(t), 4);
	assert_int_equal(number(t, 0, "channel"), 28);
	assert_int_equal(number(t, 0, "time_diff_us"), 400);
	assert_int_equal(number(t, 3, "time_diff_us"), 200);
	t = trawl_sweep_results_find(r, "configurations");
	assert_int_equal(number(t, 0, "GEMM max-min µs"), 200);
	assert_int_equal(number(t, 1, "GEMM max-min µs"), 400);
	assert_non_null(trawl_sweep_results_find(r, "All_Data"));
	assert_non_null(strstr(trawl_sweep_results_text(r, 100), "4 rows"));
	/* Once. */
	assert_int_equal(trawl_sweep_results_write(r, TRAWL_SWEEP_AGGREGATES, NULL), TRAWL_EUSAGE);
	trawl_sweep_results_free(r);
	trawl_sweep_free(sweep);
}

/* From the files that are there now. */
static void from_file_to_file(void **state)
{
	struct trawl_sweep_options options;
	struct trawl_sweep *sweep = find(&options);
	struct trawl_sweep_results *r;
	const struct trawl_table *t;
	struct trawl_error err;

	assert_int_equal(trawl_sweep_aggregate(&r, sweep, &err), 0);
	t = trawl_sweep_results_find(r, "All_Data");
	assert_non_null(t);
	assert_true(trawl_table_rows(t) > 0);
	assert_non_null(strstr(notes, "no collective"));
	assert_non_null(strstr(trawl_sweep_results_text(r, 100), "total_time"));
	trawl_sweep_results_free(r);
	assert_int_equal(trawl_sweep_variance(&r, sweep, TRAWL_STEP_TIMESTAMPS, NULL, NULL, &err),
			 0);
	t = trawl_sweep_results_find(r, "gemm_variance");
	/* The kernels begin at 100 and 1100 µs. */
	assert_int_equal(number(t, 0, "max_call_start_us"), 1100);
	assert_int_equal(number(t, 0, "max_call_end_us"), 1600);
	assert_non_null(strstr(trawl_sweep_results_path(r), VARIANCE "_with_timestamps.csv"));
	trawl_sweep_results_free(r);
	assert_int_equal(trawl_sweep_variance(&r, sweep, TRAWL_STEP_OVERLAP, NULL,
					      scratch_path(&scratch, "own.csv"), &err),
			 0);
	t = trawl_sweep_results_find(r, "gemm_variance");
	assert_int_equal(number(t, 0, "overlapping_collective_count"), 0);
	assert_true(scratch_exists(&scratch, "own.csv"));
	trawl_sweep_results_free(r);
	trawl_sweep_free(sweep);
}

static void what_is_refused(void **state)
{
	struct trawl_sweep_options options;
	struct trawl_sweep *sweep;
	struct trawl_sweep_results *r;
	struct trawl_error err;
	char place[512];

	snprintf(place, sizeof(place), "%s", scratch_path(&scratch, "absent"));
	assert_int_equal(trawl_sweep_find(&sweep, place, NULL, &err), TRAWL_EIO);
	assert_null(sweep);
	assert_non_null(strstr(err.message, "absent"));
	mkdir(scratch_path(&scratch, "empty"), 0777);
	snprintf(place, sizeof(place), "%s", scratch_path(&scratch, "empty"));
	assert_int_equal(trawl_sweep_find(&sweep, place, NULL, NULL), TRAWL_ENODATA);
	sweep = find(&options);
	assert_int_equal(trawl_sweep_variance(&r, sweep, TRAWL_STEP_OVERLAP,
					      scratch_path(&scratch, "absent.csv"), NULL, &err),
			 TRAWL_EIO);
	assert_null(r);
	assert_int_equal(trawl_variance_draw(&r, scratch_path(&scratch, "absent.csv"), place, false,
					     NULL, NULL),
			 TRAWL_EIO);
	assert_null(r);
	trawl_sweep_free(sweep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there),   cmocka_unit_test(the_best_one),
		cmocka_unit_test(all_files),	   cmocka_unit_test(from_file_to_file),
		cmocka_unit_test(what_is_refused),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
