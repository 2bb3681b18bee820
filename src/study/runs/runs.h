/*
 * Running a sweep: the same command once for each number of threads and channels, one after the
 * other, each into a directory of its own.
 *
 *	DIR/nccl_thread_sweep_<stamp>.log, nccl_thread_sweep_summary_<stamp>.txt
 *	DIR/<T>thread/nccl_<C>channels/run_output.log	what the command printed; of earlier
 *		attempts run_output.1.log, run_output.2.log, ...
 *	DIR/<T>thread/nccl_<C>channels/run_status.json	how it ended
 */
#ifndef TW_STUDY_RUNS_RUNS_H
#define TW_STUDY_RUNS_RUNS_H

#include "base/arena.h"
#include "study/runs/process.h"
#include "text/str.h"
#include "trawl/error.h"
#include "trawl/table.h"

#include <stdio.h>
#include <time.h>

struct tw_runs;

struct tw_runs_options {
	const int64_t *threads, *channels;
	size_t thread_count, channel_count;
	const char *directory; /* NULL: experiments/sweep_<stamp> */
	const char *config;
	unsigned processes; /* {nproc} */
	/* {out} {config} {nproc} {threads} {channels} are replaced; none: the trainer's command. */
	const char *const *command;
	size_t command_count;
	bool skip_existing; /* those that have succeeded */
	bool no_summary;
	bool rocprof, stats;	   /* under rocprofv3, with its statistics */
	const char *rocprof_input; /* its input file, NULL: all kernels */
	const char *container;	   /* in it, by docker exec; NULL: here */
	int64_t timeout_ns;	   /* of an attempt, 0: none */
	int64_t grace_ns, pause_ns;
	unsigned retries;
	int show; /* where the output goes besides the log, -1: nowhere */
	const struct tw_process_stop *stop;
	/*
	 * What happens, for whoever waits.  `at` is the number of a point, NULL events are not asked
	 * for.
	 */
	void (*began)(void *context, const struct tw_runs *runs, size_t at);
	void (*tick)(void *context, const struct tw_runs *runs, size_t at, int64_t elapsed_ns);
	void (*ended)(void *context, const struct tw_runs *runs, size_t at);
	/* A line for the user: something is odd, and the runs go on. */
	void (*warn)(void *context, const char *line);
	void *context;
};

enum tw_run_status {
	TW_RUN_UNKNOWN, /* not reached */
	TW_RUN_SUCCESS,
	TW_RUN_FAILED,
	TW_RUN_TIMEOUT,
	TW_RUN_INTERRUPTED,
	TW_RUN_SKIPPED, /* had succeeded before */
	TW_RUN_RUNNING, /* only in a run_status.json */
};

struct tw_run_point {
	int64_t threads, channels;
	const char *directory; /* DIR/<T>thread/nccl_<C>channels */
	enum tw_run_status status;
	int exit_code; /* -1: it has none */
	int signal;    /* that ended it, 0: none */
	unsigned attempts;
	int64_t duration_ns; /* of the last attempt, -1: it did not run */
	const char *problem; /* why it has not succeeded, NULL: it has, or is not reached */
};

struct tw_runs {
	const struct trawl_allocator *allocator;
	struct tw_arena arena;
	const struct tw_runs_options *options;
	const char *directory, *stamp;
	struct tw_run_point *points; /* threads outside, channels inside */
	size_t count;
	const char *log, *summary; /* paths; NULL: not written */
	/* The engine's own. */
	FILE *log_file;
	int lock; /* -1: none */
	char token[17];
	bool log_failed;
};

/* The plan; creates nothing.  _release is due in any case. */
int tw_runs_plan(struct tw_runs *runs, const struct tw_runs_options *options,
		 const struct trawl_allocator *allocator, struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_runs_release(struct tw_runs *runs);

/*
 * Runs them.  What becomes of each is in its point; an error is that of the whole: its directory or
 * files cannot be written, another one is at work in it, out of memory.
 */
int tw_runs_run(struct tw_runs *runs, struct trawl_error *err) TRAWL_MUST_CHECK;

/* Whether this point would be skipped; tells what is odd about what is there. */
bool tw_runs_is_done(struct tw_runs *runs, const struct tw_run_point *point);

/* SUCCESS, FAILED, ... */
const char *tw_run_status_name(enum tw_run_status status);

/* A row a point; NULL when out of memory. */
struct trawl_table *tw_runs_table(const struct tw_runs *runs);

/* ---- run_command.c */

#define TW_RUN_VARIABLES 4

/* One variable of the environment of each run: NAME=VALUE in the arena, NULL: out of memory. */
const char *tw_run_variable(struct tw_runs *runs, const struct tw_run_point *point, size_t i);
/*
 * The command of a point as words, ending with NULL; NULL when out of memory.  `marked`: with what
 * tw_run_reach() finds it by in a container, which is for the run alone.
 */
const char *const *tw_run_command(struct tw_runs *runs, const struct tw_run_point *point,
				  bool marked);
/* All of the environment of its process; NULL when out of memory. */
const char *const *tw_run_environment(struct tw_runs *runs, const struct tw_run_point *point);
/*
 * Sends a signal (0: none) to all that runs of it in the container, also where that is in sessions
 * of its own: found by the variable that its command was given there.  As reach() of a process; the
 * context is the struct tw_runs.
 */
bool tw_run_reach(void *runs, int signal_number);

/* ---- run_record.c: run_status.json */

/* `start`: when the (last) attempt began. */
int tw_run_record(struct tw_runs *runs, const struct tw_run_point *point, enum tw_run_status status,
		  time_t start, struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- run_log.c */

/* The directory is there. */
int tw_run_log_open(struct tw_runs *runs, struct trawl_error *err) TRAWL_MUST_CHECK;
/* A line with the time in front. */
void tw_run_log(struct tw_runs *runs, const char *format, ...) TRAWL_PRINTF(2, 3);
/* An empty line and a heading. */
void tw_run_log_heading(struct tw_runs *runs, const char *format, ...) TRAWL_PRINTF(2, 3);
/* At the end; TRAWL_EIO when a line of it could not be written. */
int tw_run_log_close(struct tw_runs *runs, struct trawl_error *err) TRAWL_MUST_CHECK;
int tw_run_write_summary(struct tw_runs *runs, struct trawl_error *err) TRAWL_MUST_CHECK;
/* Whole seconds. */
int64_t tw_run_seconds(int64_t ns);
/* "3.5 s", "42 s", "5 min 3 s", "2 h 15 min". */
void tw_run_add_time(struct tw_str *out, int64_t ns);

/*
 * How the run in a directory ended, as its run_status.json says ("SUCCESS"), in the arena; NULL: there
 * is none that can be read.
 */
const char *tw_run_status_in(const char *directory, struct tw_arena *arena);

#endif
