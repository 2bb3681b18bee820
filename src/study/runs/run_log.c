/* What is written about the runs of a sweep: the log, as they go, and the summary behind them. */
#include "study/runs/runs.h"

#include "io/sink.h"
#include "os/child.h"
#include "table/table.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define SUMMARY_RULE "----------------------------------------------------"

int64_t tw_run_seconds(int64_t ns)
{
	return (ns + 500000000) / 1000000000;
}

void tw_run_add_time(struct tw_str *out, int64_t ns)
{
	long long s = (long long)tw_run_seconds(ns);

	if (ns < 10000000000) {
		tw_str_add_decimal(out, (ns + 50000000) / 100000000, 1);
		tw_str_add_cstr(out, " s");
	} else if (s < 60) {
		tw_str_addf(out, "%lld s", s);
	} else if (s < 3600) {
		tw_str_addf(out, "%lld min %lld s", s / 60, s % 60);
	} else {
		tw_str_addf(out, "%lld h %lld min", s / 3600, s % 3600 / 60);
	}
}

/* ---- the log */

static void time_text(char *text, size_t size, const char *format)
{
	time_t now = time(NULL);
	struct tm local;

	tw_hold_forks();
	strftime(text, size, format, localtime_r(&now, &local));
	tw_allow_forks();
}

int tw_run_log_open(struct tw_runs *runs, struct trawl_error *err)
{
	runs->log_file = fopen(runs->log, "ae");
	if (!runs->log_file)
		return trawl_error_set(err, TRAWL_EIO,
				       "cannot write '%s': %s: choose a writable directory",
				       runs->log, strerror(errno));
	return 0;
}

/* As it is for whoever looks at the file meanwhile. */
static void end_line(struct tw_runs *runs)
{
	putc('\n', runs->log_file);
	if (fflush(runs->log_file) || ferror(runs->log_file))
		runs->log_failed = true;
}

void tw_run_log(struct tw_runs *runs, const char *format, ...)
{
	char when[40];
	va_list args;

	if (!runs->log_file)
		return;
	time_text(when, sizeof(when), "[%Y-%m-%d %H:%M:%S] ");
	fputs(when, runs->log_file);
	va_start(args, format);
	vfprintf(runs->log_file, format, args);
	va_end(args);
	end_line(runs);
}

void tw_run_log_heading(struct tw_runs *runs, const char *format, ...)
{
	va_list args;

	if (!runs->log_file)
		return;
	fputs("=== ", runs->log_file);
	va_start(args, format);
	vfprintf(runs->log_file, format, args);
	va_end(args);
	fputs(" ===", runs->log_file);
	end_line(runs);
}

int tw_run_log_close(struct tw_runs *runs, struct trawl_error *err)
{
	bool failed = runs->log_failed;

	if (!runs->log_file)
		return 0;
	failed = fclose(runs->log_file) || failed;
	runs->log_file = NULL;
	if (failed)
		return trawl_error_set(err, TRAWL_EIO, "'%s' is incomplete: write failed",
				       runs->log);
	return 0;
}

/* ---- the summary */

static void add_point(struct tw_str *out, const struct tw_run_point *point)
{
	char duration[32] = "N/A";

	if (point->duration_ns >= 0)
		snprintf(duration, sizeof(duration), "%lld",
			 (long long)tw_run_seconds(point->duration_ns));
	tw_str_addf(out, "%-10lld %-15lld %-10s %-15s\n", (long long)point->threads,
		    (long long)point->channels, tw_run_status_name(point->status), duration);
}

static void add_directories(struct tw_str *out, const struct tw_runs *runs)
{
	size_t i;

	tw_str_add_cstr(out, "\nOutput directories:\n");
	for (i = 0; i < runs->count; i++) {
		const struct tw_run_point *point = &runs->points[i];

		if (!i || point->threads != point[-1].threads)
			tw_str_addf(out, "  THREADS=%lld:\n", (long long)point->threads);
		tw_str_addf(out, "    - %s/\n", point->directory);
	}
}

int tw_run_write_summary(struct tw_runs *runs, struct trawl_error *err)
{
	struct tw_str out;
	char when[80];
	int status;
	size_t i;

	tw_str_init(&out, runs->allocator);
	time_text(when, sizeof(when), "%a %b %e %H:%M:%S %Z %Y");
	tw_str_addf(&out, "NCCL Channel & Thread Sweep Summary\nGenerated: %s\n\n", when);
	tw_str_addf(&out, "%-10s %-15s %-10s %-15s\n%s\n", "THREADS", "CHANNELS", "STATUS",
		    "DURATION(s)", SUMMARY_RULE);
	for (i = 0; i < runs->count; i++) {
		add_point(&out, &runs->points[i]);
		if (i + 1 == runs->count || runs->points[i + 1].threads != runs->points[i].threads)
			tw_str_add_char(&out, '\n');
	}
	add_directories(&out, runs);
	status = tw_sink_write_text(runs->summary, &out, runs->allocator, err);
	tw_str_release(&out);
	return status;
}

/* ---- the table */

enum { THREADS, CHANNELS, STATUS, DURATION, ATTEMPTS, EXIT_CODE, DIRECTORY, PROBLEM, COLUMNS };

static const struct trawl_column columns[COLUMNS] = {
	[THREADS] = TW_INTEGER("threads", 8, "RCCL_THREADS_PER_BLOCK", .values = "!>=1"),
	[CHANNELS] = TW_INTEGER("channels", 8, "NCCL_MAX_NCHANNELS", .values = "!>=1"),
	[STATUS] = TW_TEXT(
		"status", 12,
		"SUCCESS, FAILED, TIMEOUT, INTERRUPTED, SKIPPED (already succeeded), UNKNOWN "
		"(not reached)",
		.values = "!UNKNOWN|SUCCESS|FAILED|TIMEOUT|INTERRUPTED|SKIPPED"),
	[DURATION] = TW_DECIMAL("duration (s)", "s", 3, 1, 12,
				"duration of the last attempt; missing: not run", .values = ">=0"),
	[ATTEMPTS] = TW_INTEGER("attempts", 8, "number of attempts", .values = ">=1"),
	[EXIT_CODE] = TW_INTEGER("exit code", 9, "exit code of the command; missing: terminated",
				 .values = "0..255"),
	[DIRECTORY] = TW_TEXT("directory", 40, "output directory", .values = "!"),
	[PROBLEM] = TW_TEXT("problem", 40, "reason for the failure; missing: success"),
};

static const struct tw_table_spec spec = {
	.name = "sweep_runs",
	.meaning = "run status of each configuration",
	.columns = columns,
	.column_count = COLUMNS,
	.keep_empty = true,
};

struct trawl_table *tw_runs_table(const struct tw_runs *runs)
{
	struct trawl_table *table = tw_table_new(&spec, runs->allocator);
	size_t i;

	for (i = 0; table && i < runs->count; i++) {
		const struct tw_run_point *point = &runs->points[i];
		size_t row = tw_table_add_row(table);

		tw_table_set_integer(table, row, THREADS, point->threads);
		tw_table_set_integer(table, row, CHANNELS, point->channels);
		tw_table_set_str(table, row, STATUS, tw_run_status_name(point->status));
		if (point->duration_ns >= 0)
			tw_table_set_integer(table, row, DURATION, point->duration_ns / 1000000);
		if (point->attempts)
			tw_table_set_integer(table, row, ATTEMPTS, point->attempts);
		if (point->exit_code >= 0)
			tw_table_set_integer(table, row, EXIT_CODE, point->exit_code);
		tw_table_set_str(table, row, DIRECTORY, point->directory);
		tw_table_set_str(table, row, PROBLEM, point->problem);
	}
	return tw_table_finished(table);
}
