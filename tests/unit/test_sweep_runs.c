/* The runs of a sweep and the tools beside it from inside: processes, plans, and no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/charts/metrics_timeline_plot.h"
#include "study/sweep/metrics_timeline.h"
#include "study/runs/process.h"
#include "study/runs/runs.h"
#include "study/sweep/trials.h"
#include "table/table.h"
#include "edges.h"
#include "failing.h"
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MS INT64_C(1000000)

extern char **environ;

/* ---- processes */

static struct tw_process_result run_shell(const char *script, const struct tw_process *like)
{
	const char *const words[] = { "sh", "-c", script, NULL };
	struct tw_process process = *like;
	struct tw_process_result result;

	process.arguments = words;
	process.environment = (const char *const *)environ;
	assert_int_equal(tw_process_run(&process, &result, trawl_allocator_default(), NULL), 0);
	return result;
}

static void test_how_it_ends(void **state)
{
	const struct tw_process quiet = { .log = -1, .show = -1 };
	const struct tw_process hasty = {
		.log = -1,
		.show = -1,
		.timeout_ns = 100 * MS,
		.grace_ns = 50 * MS,
	};
	struct tw_process_result result = run_shell("exit 0", &quiet);

	assert_int_equal(result.end, TW_PROCESS_EXITED);
	assert_int_equal(result.code, 0);
	assert_int_equal(result.left_behind, 0);
	result = run_shell("exit 77", &quiet);
	assert_int_equal(result.code, 77);
	result = run_shell("kill -USR1 $$", &quiet);
	assert_int_equal(result.end, TW_PROCESS_KILLED);
	assert_int_equal(result.code, SIGUSR1);
	result = run_shell("sleep 100", &hasty);
	assert_int_equal(result.end, TW_PROCESS_TIMEOUT);
	assert_true(result.duration_ns >= 100 * MS);
	result = run_shell("trap '' TERM; while :; do sleep 0.01; done", &hasty);
	assert_int_equal(result.end, TW_PROCESS_TIMEOUT);
	assert_false(result.unkillable);
}

static void test_not_started(void **state)
{
	static const char *const words[] = { "/no/such/program", NULL };
	static const char *const nothing[] = { NULL };
	const struct tw_process process = {
		.arguments = words,
		.environment = nothing,
		.log = -1,
		.show = -1,
	};
	struct tw_process_result result;

	assert_int_equal(tw_process_run(&process, &result, trawl_allocator_default(), NULL), 0);
	assert_int_equal(result.end, TW_PROCESS_NOT_STARTED);
	assert_int_equal(result.code, ENOENT);
}

/* A signal that has come before it starts. */
static void test_stopped(void **state)
{
	struct tw_process_stop stop = { .signal = SIGINT, .count = 1, .wake = -1 };
	const struct tw_process process = {
		.log = -1,
		.show = -1,
		.grace_ns = 10000 * MS,
		.stop = &stop,
	};
	struct tw_process_result result = run_shell("sleep 100", &process);

	assert_int_equal(result.end, TW_PROCESS_INTERRUPTED);
	assert_int_equal(result.code, SIGINT);
	assert_true(result.duration_ns < 5000 * MS);
}

/* A log that takes nothing more is told, and the command goes on. */
static void test_full_log(void **state)
{
	struct tw_process process = { .log = open("/dev/full", O_WRONLY | O_CLOEXEC), .show = -1 };
	struct tw_process_result result;

	if (process.log < 0)
		skip();
	result = run_shell("echo one; echo two; exit 3", &process);
	assert_int_equal(result.log_error, ENOSPC);
	assert_int_equal(result.end, TW_PROCESS_EXITED);
	assert_int_equal(result.code, 3);
	close(process.log);
}

static void count_tick(void *context, int64_t elapsed_ns)
{
	assert_true(elapsed_ns >= 0);
	++*(unsigned *)context;
}

static void test_ticks(void **state)
{
	unsigned ticks = 0;
	const struct tw_process process = {
		.log = -1,
		.show = -1,
		.tick = count_tick,
		.context = &ticks,
	};

	run_shell("sleep 0.3", &process);
	assert_true(ticks >= 2);
}

/* ---- without memory */

static struct scratch scratch;

static int make_scratch(void **state)
{
	scratch_make(&scratch);
	return 0;
}

static int remove_scratch(void **state)
{
	scratch_remove(&scratch);
	return 0;
}

static int run_sweep(const struct trawl_allocator *allocator)
{
	static const int64_t numbers[] = { 1 };
	static const char *const command[] = { "true", "{out}" };
	const struct tw_runs_options options = {
		.threads = numbers,
		.channels = numbers,
		.thread_count = 1,
		.channel_count = 1,
		.directory = scratch_path(&scratch, "sweep"),
		.config = "c",
		.processes = 1,
		.command = command,
		.command_count = 2,
		.skip_existing = true,
		.show = -1,
	};
	struct trawl_table *table;
	struct tw_runs runs;
	int status = tw_runs_plan(&runs, &options, allocator, NULL);

	if (!status)
		status = tw_runs_run(&runs, NULL);
	if (!status && runs.points[0].status != TW_RUN_SUCCESS &&
	    runs.points[0].status != TW_RUN_SKIPPED)
		status = TRAWL_EIO;
	if (!status) {
		table = tw_runs_table(&runs);
		status = table ? 0 : TRAWL_ENOMEM;
		trawl_table_free(table);
	}
	tw_runs_release(&runs);
	return status;
}

static int read_timeline(const struct trawl_allocator *allocator)
{
	const char *path = scratch_path(&scratch, "metrics.jsonl");
	struct tw_metrics_timeline timeline;
	struct trawl_table *table;
	struct tw_str text;
	int status = tw_metrics_timeline_read(&timeline, path, 0, 10, allocator, NULL);

	tw_str_init(&text, allocator);
	if (!status) {
		assert_int_equal(timeline.count, 1);
		/* Half a record, and a number that is too large for a step. */
		assert_int_equal(timeline.note_count, 2);
		assert_int_equal(timeline.steps[0].overlap_ns, 500000);
		tw_metrics_timeline_text(&timeline, 500000, &text);
		table = tw_metrics_timeline_table(&timeline);
		status = table && !text.failed ? 0 : TRAWL_ENOMEM;
		trawl_table_free(table);
	}
	tw_str_release(&text);
	tw_metrics_timeline_release(&timeline);
	return status;
}

static int read_trials(const struct trawl_allocator *allocator)
{
	struct tw_trials trials;
	struct trawl_table *table;
	struct tw_str text;
	int status = tw_trials_read(&trials, scratch.dir, allocator, NULL);

	tw_str_init(&text, allocator);
	if (!status)
		status = tw_trials_write(&trials, scratch_path(&scratch, "summary.json"), NULL);
	if (!status) {
		assert_int_equal(trials.count, 1);
		assert_int_equal(trials.note_count, 1);
		tw_trials_text(&trials, 3, 0.007, &text);
		table = tw_trials_table(&trials, 0.007);
		status = table && !text.failed ? 0 : TRAWL_ENOMEM;
		trawl_table_free(table);
	}
	tw_str_release(&text);
	tw_trials_release(&trials);
	return status;
}

static void assert_trial(double ratio, const char *verdict)
{
	struct tw_trial trial = { 1, ratio, 1, 1, 1 };
	const struct tw_trials trials = { .allocator = trawl_allocator_default(),
					  .trials = &trial,
					  .count = 1 };
	struct trawl_table *table = tw_trials_table(&trials, 0);
	struct trawl_cell cell = tw_table_cell(table, 0, "against baseline");

	assert_int_equal(cell.text_len, strlen(verdict));
	assert_memory_equal(cell.text, verdict, cell.text_len);
	trawl_table_free(table);
}

static void test_trials_like_the_baseline(void **state)
{
	EDGE_OF(TW_LIMIT_TRIALS_SIMILAR);
	assert_trial(0.001, "similar");
	assert_trial(0.00101, "better");
	assert_trial(-0.001, "similar");
	assert_trial(-0.00101, "worse");
}

static int draw_lanes(const struct trawl_allocator *allocator)
{
	static const char *const lanes[] = { "100 %" };
	static const struct tw_lane_bar bars[] = { { 0, 1, 0, 20000000, "it's" } };
	const struct tw_lane_panel panels[] = { { "Step 1", lanes, 1, bars, 1, 20000000 },
						{ "Step 2", lanes, 1, bars, 1, 40000000 } };
	const char *axis;
	struct tw_str script;
	int status;

	tw_str_init(&script, allocator);
	tw_lanes_script(panels, 2, &script);
	status = script.failed ? TRAWL_ENOMEM : 0;
	if (!status) {
		assert_non_null(strstr(script.ptr, "set ytics ('100 %%' 0)"));
		assert_non_null(strstr(script.ptr, "0 20 0\n"));
		assert_null(strstr(script.ptr, "it's"));
		/* One axis for both: 5 % more than the longer one. */
		axis = strstr(script.ptr, "set xrange [0:42]");
		assert_non_null(axis);
		assert_non_null(strstr(axis + 1, "set xrange [0:42]"));
	}
	tw_str_release(&script);
	return status;
}

static void fail_each(int (*work)(const struct trawl_allocator *allocator))
{
	struct failing failing;
	long n;
	int status;

	for (n = 0;; n++) {
		failing_init(&failing, n);
		status = work(&failing.allocator);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
		/* Some can be done without. */
		assert_true(status == 0 || status == TRAWL_ENOMEM || status == TRAWL_EIO);
	}
	assert_int_equal(status, 0);
	assert_true(n > 1);
}

static void test_no_memory(void **state)
{
	scratch_write(
		&scratch, "metrics.jsonl",
		"{\"step\":3,\"loss\":NaN,\"profile\":{\"ranges\":["
		"{\"stream\":\"a\",\"tag\":\"forward\",\"start_ms\":1,\"end_ms\":2.5},"
		"{\"stream\":\"b\",\"tag\":\"all_reduce\",\"start_ms\":2,\"end_ms\":3}]}}\n{\n"
		"{\"step\":1e15}\n{\"step\":999999999999999}\n");
	assert_int_equal(mkdir(scratch_path(&scratch, "trial_1"), 0777), 0);
	assert_int_equal(mkdir(scratch_path(&scratch, "trial_2"), 0777), 0);
	scratch_write(&scratch, "trial_1/config.yaml", "");
	scratch_write(&scratch, "trial_1/trial_metrics.json", "{\"overlap_ratio\": 0.5}");
	fail_each(draw_lanes);
	fail_each(read_timeline);
	fail_each(read_trials);
	fail_each(run_sweep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how_it_ends),
		cmocka_unit_test(test_not_started),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_full_log),
		cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_trials_like_the_baseline),
		cmocka_unit_test_setup_teardown(test_no_memory, make_scratch, remove_scratch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
