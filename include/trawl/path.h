/*
 * What a run waited for: its critical path, and how long it would be if something were different.
 *
 *	options.dependencies = true;
 *	trawl_job_read(&job, paths, count, &options, &err);
 *	trawl_path_new(&path, job, NULL, &err);
 *	table = trawl_path_find(path, "what_if");
 *
 * The starts and ends of GPU work, of calls and of outermost operators, over all ranks, each with
 * all that it waited for: its launch, the work before it on its stream, recorded events, the last
 * rank to arrive at a collective, the thread before it.  In a scenario each is as early as the latest
 * of these, each with its own delay (docs/METRICS.md has the definitions and formulas).  Unchanged,
 * every time comes out as recorded, to the nanosecond.
 *
 * Times are nanoseconds.  Tables belong to the path and live as long.  A path belongs to one thread
 * at a time; it does not need the job once it is made.
 */
#ifndef TRAWL_PATH_H
#define TRAWL_PATH_H

#include "trawl/job.h"

#ifdef __cplusplus
extern "C" {
#endif

enum trawl_path_change_kind {
	TRAWL_PATH_SCALE,	   /* what `selection` selects takes `factor` times as long */
	TRAWL_PATH_REMOVE,	   /* it takes no time, and neither do its launches' delays */
	TRAWL_PATH_RANK_AS_MEDIAN, /* each operator of `rank` takes as long as on the median rank */
	TRAWL_PATH_RANK_AS_NEXT,   /* and no longer than on the next slower rank */
	TRAWL_PATH_BUS_BANDWIDTH,  /* transfers at `factor` GB/s (2^30 bytes) on the bus */
};

/*
 * A selection: terms that must all apply, joined by "/".  Patterns have * ? [ ] as file names do.
 *
 *	kernel:PATTERN	  GPU work by its name
 *	op:PATTERN	  GPU work by the operator that launched it
 *	category:NAME	  GPU work by the category of its operator or kernel
 *	module:PATTERN	  by the module around the operator, "nn.Module: Linear_0"
 *	host:PATTERN	  calls, outermost operators and ranges of the host, in the place of GPU work
 *	rank:N		  of that rank
 */
struct trawl_path_change {
	enum trawl_path_change_kind kind;
	const char *selection;
	double factor; /* 0 or above */
	int64_t rank;
};

struct trawl_path_options {
	bool whole;		       /* GPU work without a recorded launch counts too */
	int64_t step_first, step_last; /* only these profiler steps; -1: all */
	/* Of one scenario besides those that are always computed; count 0: none. */
	const struct trawl_path_change *changes;
	size_t change_count;
	enum trawl_align align; /* AUTO: by collectives, within their uncertainty */
	unsigned threads;	/* 0: one a core */
};

struct trawl_path;

TRAWL_API void trawl_path_options_init(struct trawl_path_options *options);

/*
 * Of a job that was read with `dependencies`; what it kept of them is used up.  `options` may be
 * NULL.  TRAWL_ENODATA: the job has none (left), or no GPU work in the window; TRAWL_EUSAGE: a
 * change selects nothing, or the step is not there.
 */
TRAWL_API int trawl_path_new(struct trawl_path **out, struct trawl_job *job,
			     const struct trawl_path_options *options,
			     struct trawl_error *err) TRAWL_MUST_CHECK;
TRAWL_API void trawl_path_free(struct trawl_path *path);

/* First start to last end of the window's GPU work, as recorded. */
TRAWL_API int64_t trawl_path_window_ns(const struct trawl_path *path);

/* Non-empty tables, in the order of a workbook. */
TRAWL_API size_t trawl_path_tables(const struct trawl_path *path);
TRAWL_API const struct trawl_table *trawl_path_table(const struct trawl_path *path, size_t index);
/* By name, NULL when it is not there. */
TRAWL_API const struct trawl_table *trawl_path_find(const struct trawl_path *path,
						    const char *name);
/* The names of all tables, in order; NULL after the last. */
TRAWL_API const char *trawl_path_table_name(size_t index);

#ifdef __cplusplus
}
#endif

#endif
