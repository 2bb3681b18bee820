#define _GNU_SOURCE
#include "study/runs/runs.h"

#include "base/alloc.h"
#include "io/sink.h"
#include "os/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define NS INT64_C(1000000000)
/* Attempts of one configuration whose logs are kept apart. */
#define MOST_LOGS 100000

/* In the arena; NULL: out of memory. */
static const char *text_of(struct tw_runs *runs, const char *format, ...) TRAWL_PRINTF(2, 3);

static const char *text_of(struct tw_runs *runs, const char *format, ...)
{
	va_list args, again;
	char *text;
	int len;

	va_start(args, format);
	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, args);
	text = len < 0 ? NULL : tw_arena_alloc(&runs->arena, (size_t)len + 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, format, again);
	va_end(again);
	va_end(args);
	return text;
}

static bool is_there(const char *path)
{
	struct stat info;

	return !lstat(path, &info);
}

/* ---- the plan */

/* Names of this moment, or of the next that no file has yet. */
static int name_files(struct tw_runs *runs, struct trawl_error *err)
{
	time_t now = time(NULL);
	struct tm local;
	char stamp[40];

	do {
		tw_hold_forks();
		strftime(stamp, sizeof(stamp), "%Y%m%d_%H%M%S", localtime_r(&now, &local));
		tw_allow_forks();
		runs->stamp = tw_arena_copy(&runs->arena, stamp, strlen(stamp));
		runs->directory = runs->options->directory ?
					  runs->options->directory :
					  text_of(runs, "experiments/sweep_%s", stamp);
		if (!runs->stamp || !runs->directory)
			return tw_no_memory(err);
		runs->log = text_of(runs, "%s/nccl_thread_sweep_%s.log", runs->directory, stamp);
		runs->summary = text_of(runs, "%s/nccl_thread_sweep_summary_%s.txt",
					runs->directory, stamp);
		if (!runs->log || !runs->summary)
			return tw_no_memory(err);
		now++;
	} while (is_there(runs->log) || is_there(runs->summary));
	return 0;
}

/* Slashes at the end would be seen in every path. */
static int trim_directory(struct tw_runs *runs, struct trawl_error *err)
{
	const char *given = runs->options->directory;
	size_t len = given ? strlen(given) : 0;

	while (len > 1 && given[len - 1] == '/')
		len--;
	if (given) {
		runs->directory = tw_arena_copy(&runs->arena, given, len);
		if (!runs->directory)
			return tw_no_memory(err);
	}
	return 0;
}

int tw_runs_plan(struct tw_runs *runs, const struct tw_runs_options *options,
		 const struct trawl_allocator *allocator, struct trawl_error *err)
{
	size_t t, c;
	int status;

	*runs = (struct tw_runs){ .allocator = allocator, .options = options, .lock = -1 };
	tw_arena_init(&runs->arena, allocator);
	status = name_files(runs, err);
	if (!status)
		status = trim_directory(runs, err);
	if (status)
		return status;
	runs->points = tw_arena_alloc(&runs->arena, options->thread_count * options->channel_count *
							    sizeof(*runs->points));
	if (!runs->points)
		return tw_no_memory(err);
	for (t = 0; t < options->thread_count; t++) {
		for (c = 0; c < options->channel_count; c++) {
			struct tw_run_point *point = &runs->points[runs->count++];

			*point = (struct tw_run_point){
				.threads = options->threads[t],
				.channels = options->channels[c],
				.exit_code = -1,
				.duration_ns = -1,
			};
			point->directory = text_of(runs, "%s/%lldthread/nccl_%lldchannels",
						   runs->directory, (long long)point->threads,
						   (long long)point->channels);
			if (!point->directory)
				return tw_no_memory(err);
		}
	}
	return 0;
}

void tw_runs_release(struct tw_runs *runs)
{
	if (runs->log_file)
		fclose(runs->log_file);
	if (runs->lock >= 0)
		close(runs->lock);
	tw_arena_release(&runs->arena);
}

/* ---- one run */

static void warn(struct tw_runs *runs, const char *line)
{
	tw_run_log(runs, "[WARNING] %s", line ? line : "out of memory");
	if (runs->options->warn)
		runs->options->warn(runs->options->context, line ? line : "out of memory");
}

static bool is_stopped(const struct tw_runs *runs)
{
	return runs->options->stop && runs->options->stop->signal;
}

/* An earlier log keeps its contents under another name: the first that is free. */
static int put_aside(struct tw_runs *runs, const struct tw_run_point *point, const char *log,
		     struct trawl_error *err)
{
	const char *aside;
	unsigned n;

	if (!is_there(log))
		return 0;
	for (n = 1; n < MOST_LOGS; n++) {
		aside = text_of(runs, "%s/run_output.%u.log", point->directory, n);
		if (!aside)
			return tw_no_memory(err);
		if (is_there(aside))
			continue;
		if (!rename(log, aside))
			return 0;
		break;
	}
	return trawl_error_set(err, TRAWL_EIO, "cannot rename '%s': %s", log, strerror(errno));
}

/* The descriptor of a new run_output.log, or a failure. */
static int open_log(struct tw_runs *runs, const struct tw_run_point *point, struct trawl_error *err)
{
	const char *log = text_of(runs, "%s/run_output.log", point->directory);
	int status = log ? put_aside(runs, point, log, err) : tw_no_memory(err), fd;

	if (status)
		return status;
	fd = open(log, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
	if (fd >= 0)
		return fd;
	return trawl_error_set(err, TRAWL_EIO, "cannot write '%s': %s: choose a writable directory",
			       log, strerror(errno));
}

static const char *too_long(struct tw_runs *runs)
{
	const char *text;
	struct tw_str out;

	tw_str_init(&out, runs->allocator);
	tw_str_add_cstr(&out, "took longer than ");
	tw_run_add_time(&out, runs->options->timeout_ns);
	text = out.failed ? NULL : tw_arena_copy(&runs->arena, out.ptr, out.len);
	tw_str_release(&out);
	return text;
}

/* Why the point has not succeeded. */
static void explain(struct tw_runs *runs, struct tw_run_point *point,
		    const struct tw_process_result *result, const char *program)
{
	if (result->end == TW_PROCESS_NOT_STARTED && result->code == ENOENT)
		point->problem = text_of(runs, "'%s' is not on the PATH", program);
	else if (result->end == TW_PROCESS_NOT_STARTED)
		point->problem =
			text_of(runs, "cannot run '%s': %s", program, strerror(result->code));
	else if (result->end == TW_PROCESS_TIMEOUT)
		point->problem = too_long(runs);
	else if (result->end == TW_PROCESS_INTERRUPTED)
		point->problem = "interrupted";
	else if (result->end == TW_PROCESS_KILLED)
		point->problem = text_of(runs, "ended by signal %d", result->code);
	else
		point->problem = text_of(runs, "exit code %d", result->code);
}

static enum tw_run_status status_of(const struct tw_process_result *result)
{
	switch (result->end) {
	case TW_PROCESS_TIMEOUT:
		return TW_RUN_TIMEOUT;
	case TW_PROCESS_INTERRUPTED:
		return TW_RUN_INTERRUPTED;
	case TW_PROCESS_EXITED:
		return result->code ? TW_RUN_FAILED : TW_RUN_SUCCESS;
	default:
		return TW_RUN_FAILED;
	}
}

static void keep_result(struct tw_runs *runs, struct tw_run_point *point,
			const struct tw_process_result *result, const char *program)
{
	point->status = status_of(result);
	point->exit_code = result->end == TW_PROCESS_EXITED ? result->code : -1;
	point->signal = result->end == TW_PROCESS_KILLED || result->end == TW_PROCESS_INTERRUPTED ?
				result->code :
				0;
	point->duration_ns = result->end == TW_PROCESS_NOT_STARTED ? -1 : result->duration_ns;
	point->problem = NULL;
	if (point->status != TW_RUN_SUCCESS)
		explain(runs, point, result, program);
	if (result->left_behind)
		warn(runs,
		     text_of(runs, "%s: %zu processes still running after the command: terminated",
			     point->directory, result->left_behind));
	if (result->unkillable)
		warn(runs, text_of(runs, "%s: a process cannot be killed and still runs",
				   point->directory));
	if (result->log_error)
		warn(runs, text_of(runs, "%s: run_output.log is incomplete: %s", point->directory,
				   strerror(result->log_error)));
}

struct ticking {
	struct tw_runs *runs;
	size_t at;
};

static void on_tick(void *context, int64_t elapsed_ns)
{
	const struct ticking *t = context;
	const struct tw_runs_options *o = t->runs->options;

	if (o->tick)
		o->tick(o->context, t->runs, t->at, elapsed_ns);
}

static bool on_reach(void *context, int signal_number)
{
	return tw_run_reach(((struct ticking *)context)->runs, signal_number);
}

/* A point whose files cannot be written has failed; others may fare better. */
static void fail_point(struct tw_runs *runs, struct tw_run_point *point,
		       const struct trawl_error *err)
{
	point->status = TW_RUN_FAILED;
	point->problem = text_of(runs, "%s", err->message);
}

/* Out of memory or of processes, which is no matter of the point alone. */
static int attempt(struct tw_runs *runs, size_t at, struct trawl_error *err)
{
	const struct tw_runs_options *o = runs->options;
	struct tw_run_point *point = &runs->points[at];
	struct ticking ticking = { runs, at };
	struct tw_process process = {
		.arguments = tw_run_command(runs, point, true),
		.environment = tw_run_environment(runs, point),
		.show = o->show,
		.timeout_ns = o->timeout_ns,
		.grace_ns = o->grace_ns,
		.stop = o->stop,
		.tick = on_tick,
		.reach = o->container ? on_reach : NULL,
		.context = &ticking,
	};
	time_t start = time(NULL);
	struct tw_process_result result;
	struct trawl_error why;
	int status;

	if (!process.arguments || !process.environment)
		return tw_no_memory(err);
	point->attempts++;
	process.log = open_log(runs, point, &why);
	if (process.log < 0 || tw_run_record(runs, point, TW_RUN_RUNNING, start, &why)) {
		fail_point(runs, point, &why);
		if (process.log >= 0)
			close(process.log);
		return 0;
	}
	status = tw_process_run(&process, &result, runs->allocator, err);
	close(process.log);
	if (status)
		return status;
	keep_result(runs, point, &result, process.arguments[0]);
	if (tw_run_record(runs, point, point->status, start, &why))
		fail_point(runs, point, &why);
	return 0;
}

/* Whether another attempt may end otherwise. */
static bool may_try_again(const struct tw_runs *runs, const struct tw_run_point *point)
{
	return (point->status == TW_RUN_FAILED || point->status == TW_RUN_TIMEOUT) &&
	       point->attempts <= runs->options->retries && point->duration_ns >= 0 &&
	       !is_stopped(runs);
}

static void log_end(struct tw_runs *runs, const struct tw_run_point *point)
{
	long long t = point->threads, c = point->channels;
	long long seconds = point->duration_ns < 0 ? 0 : tw_run_seconds(point->duration_ns);

	if (point->status == TW_RUN_SUCCESS)
		tw_run_log(runs,
			   "[OK] Completed run with THREADS=%lld, CHANNELS=%lld (duration: %llds)",
			   t, c, seconds);
	else if (point->status == TW_RUN_FAILED && point->exit_code >= 0)
		tw_run_log(runs,
			   "[ERROR] Failed run with THREADS=%lld, CHANNELS=%lld (exit code: "
			   "%d, duration: %llds)",
			   t, c, point->exit_code, seconds);
	else
		tw_run_log(runs,
			   "[ERROR] %s run with THREADS=%lld, CHANNELS=%lld (%s, duration: %llds)",
			   point->status == TW_RUN_INTERRUPTED ? "Interrupted" : "Failed", t, c,
			   point->problem ? point->problem : "out of memory", seconds);
}

static int run_point(struct tw_runs *runs, size_t at, struct trawl_error *err)
{
	struct tw_run_point *point = &runs->points[at];
	struct trawl_error why;
	int status = 0;

	tw_run_log(runs, "Running with RCCL_THREADS_PER_BLOCK=%lld, NCCL_MAX_NCHANNELS=%lld",
		   (long long)point->threads, (long long)point->channels);
	tw_run_log(runs, "Output directory: %s", point->directory);
	if (runs->options->began)
		runs->options->began(runs->options->context, runs, at);
	if (tw_make_directories(point->directory, &why)) {
		fail_point(runs, point, &why);
		log_end(runs, point);
		return 0;
	}
	do {
		if (point->attempts)
			tw_run_log(runs, "Attempt %u of %u", point->attempts + 1,
				   runs->options->retries + 1);
		status = attempt(runs, at, err);
		if (!status)
			log_end(runs, point);
	} while (!status && may_try_again(runs, point));
	return status;
}

/* ---- all of them */

static void log_list(struct tw_runs *runs, const char *what, const int64_t *numbers, size_t count)
{
	struct tw_str list;
	size_t i;

	tw_str_init(&list, runs->allocator);
	for (i = 0; i < count; i++)
		tw_str_addf(&list, " %lld", (long long)numbers[i]);
	tw_run_log(runs, "%s:%s", what, list.failed ? "" : list.ptr);
	tw_str_release(&list);
}

static const char *yes_or_no(bool value)
{
	return value ? "true" : "false";
}

static void log_options(struct tw_runs *runs)
{
	const struct tw_runs_options *o = runs->options;

	tw_run_log_heading(runs, "NCCL Channel & Thread Sweep");
	tw_run_log(runs, "Config file: %s", o->config);
	tw_run_log(runs, "Processes per node: %u", o->processes);
	log_list(runs, "Testing threads per block", o->threads, o->thread_count);
	log_list(runs, "Testing channels", o->channels, o->channel_count);
	tw_run_log(runs, "Skip existing: %s", yes_or_no(o->skip_existing));
	tw_run_log(runs, "Aggregate results: %s", yes_or_no(!o->no_summary));
	tw_run_log(runs, "rocprofv3 enabled: %s", yes_or_no(o->rocprof));
	if (o->rocprof_input)
		tw_run_log(runs, "  rocprof input: %s", o->rocprof_input);
	else if (o->rocprof)
		tw_run_log(runs, "  Stats enabled: %s", yes_or_no(o->stats));
	if (o->container)
		tw_run_log(runs, "Container: %s", o->container);
	if (o->timeout_ns)
		tw_run_log(runs, "Timeout: %lld s", (long long)tw_run_seconds(o->timeout_ns));
	if (o->retries)
		tw_run_log(runs, "Retries: %u", o->retries);
	tw_run_log(runs, "Results directory: %s", runs->directory);
}

/* Two sweeps in one directory would take each other's configurations. */
static int lock_directory(struct tw_runs *runs, struct trawl_error *err)
{
	int status = tw_make_directories(runs->directory, err);

	if (status)
		return status;
	runs->lock = open(runs->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (runs->lock >= 0 && flock(runs->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return trawl_error_set(
			err, TRAWL_EIO,
			"another 'trawl sweep run' is running in '%s': wait for it, or choose "
			"another directory",
			runs->directory);
	/* Not every file system has locks. */
	return 0;
}

/* Long enough that no other run has it. */
static void make_token(struct tw_runs *runs)
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		number = (uint64_t)time(NULL) << 24 ^ (uint64_t)getpid();
	snprintf(runs->token, sizeof(runs->token), "%016llx", (unsigned long long)number);
}

/* Between two runs; a signal ends it. */
static void pause_between(const struct tw_runs *runs)
{
	const struct tw_runs_options *o = runs->options;
	struct pollfd wake = { .fd = o->stop ? o->stop->wake : -1, .events = POLLIN };

	if (o->pause_ns && !is_stopped(runs))
		poll(&wake, 1, (int)(o->pause_ns / 1000000));
}

static int run_all(struct tw_runs *runs, struct trawl_error *err)
{
	const struct tw_runs_options *o = runs->options;
	bool ran = false;
	int status = 0;
	size_t i;

	for (i = 0; !status && i < runs->count && !is_stopped(runs); i++) {
		struct tw_run_point *point = &runs->points[i];

		if (!i || point->threads != point[-1].threads)
			tw_run_log_heading(runs, "Testing with RCCL_THREADS_PER_BLOCK=%lld",
					   (long long)point->threads);
		if (o->skip_existing && tw_runs_is_done(runs, point)) {
			point->status = TW_RUN_SKIPPED;
			tw_run_log(runs, "Skipping THREADS=%lld, CHANNELS=%lld (already succeeded)",
				   (long long)point->threads, (long long)point->channels);
		} else {
			if (ran)
				pause_between(runs);
			if (is_stopped(runs))
				break;
			ran = true;
			status = run_point(runs, i, err);
		}
		if (!status && o->ended)
			o->ended(o->context, runs, i);
	}
	if (is_stopped(runs))
		tw_run_log(runs, "[WARNING] Interrupted by signal %d; resume with --skip-existing",
			   (int)o->stop->signal);
	return status;
}

int tw_runs_run(struct tw_runs *runs, struct trawl_error *err)
{
	int status, later;

	make_token(runs);
	status = lock_directory(runs, err);
	if (!status)
		status = tw_run_log_open(runs, err);
	if (status)
		return status;
	log_options(runs);
	status = run_all(runs, err);
	if (!status && !runs->options->no_summary) {
		status = tw_run_write_summary(runs, err);
		if (!status)
			tw_run_log(runs, "Summary saved to: %s", runs->summary);
	}
	if (!status && !is_stopped(runs))
		tw_run_log(runs, "All runs completed!");
	later = tw_run_log_close(runs, status ? NULL : err);
	return status ? status : later;
}
