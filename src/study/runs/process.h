/*
 * One command in a process group of its own: its output into a file, a limit on its time, and an
 * end for all that it has started, whatever group or session that has moved to.
 */
#ifndef TW_STUDY_RUNS_PROCESS_H
#define TW_STUDY_RUNS_PROCESS_H

#include "trawl/error.h"

#include <signal.h>

/* What a handler of signals sets, so that commands end. */
struct tw_process_stop {
	volatile sig_atomic_t signal; /* the first that came; 0: none */
	volatile sig_atomic_t count;  /* how many: from the second on there is no patience */
	int wake;		      /* readable when one came; -1: looked at every now and then */
};

struct tw_process {
	const char *const *arguments;	/* ends with NULL; the first is looked for on the PATH */
	const char *const *environment; /* ends with NULL: all of it */
	int log;			/* a file for standard output and error, -1: none */
	int show;			/* and another one, -1: none */
	int64_t timeout_ns;		/* 0: none */
	int64_t grace_ns;		/* between asking it to end and ending it */
	const struct tw_process_stop *stop; /* NULL: none */
	/* Called every now and then, with the time since the start; NULL: not. */
	void (*tick)(void *context, int64_t elapsed_ns);
	/*
	 * For what runs elsewhere on its behalf: sends it a signal, 0 only asks; false when there
	 * was nothing to send it to.  NULL: nothing does.
	 */
	bool (*reach)(void *context, int signal_number);
	void *context;
};

enum tw_process_end {
	TW_PROCESS_EXITED,	/* by itself; code: its status */
	TW_PROCESS_KILLED,	/* by a signal from elsewhere; code: which */
	TW_PROCESS_TIMEOUT,	/* took too long */
	TW_PROCESS_INTERRUPTED, /* `stop` said so; code: the signal */
	TW_PROCESS_NOT_STARTED, /* code: an errno */
};

struct tw_process_result {
	enum tw_process_end end;
	int code;
	int64_t duration_ns; /* until the command itself ended */
	size_t left_behind;  /* processes that outlived it and had to be ended */
	bool unkillable;     /* something of it is still there */
	int log_error;	     /* errno of the first failed write to the log; 0: none */
};

/*
 * Returns when nothing of it is left.  Its standard input is empty.  TRAWL_ENOMEM, or TRAWL_EIO
 * when the system lacks what this needs; that the command fails is a result.  For one thread at a
 * time: meanwhile orphans of this process come to it, and are ended.
 */
int tw_process_run(const struct tw_process *process, struct tw_process_result *result,
		   const struct trawl_allocator *allocator,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
