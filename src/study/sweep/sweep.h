/*
 * A sweep: the same training run with different numbers of threads and channels.  This is what lies
 * in its directory, and where results of it go; nothing is read here but directories.
 *
 *	<T>thread/nccl_<C>channels/torch_profiler/rank<R>/...json       traces
 *	tracelens_analysis/<T>thread/individual_reports/perf_<C>ch_rank<R>.xlsx
 *	tracelens_analysis/<T>thread/collective_reports/collective_<C>ch.xlsx
 *
 * Reports may also be directories of CSV files (perf_<C>ch_rank<R>_csvs, ..._perf_report_csvs); a
 * directory of reports alone (tracelens_analysis itself) is a sweep too.
 */
#ifndef TW_STUDY_SWEEP_SWEEP_H
#define TW_STUDY_SWEEP_SWEEP_H

#include "base/arena.h"
#include "job/set/set.h"
#include "text/str.h"
#include "trawl/sweep.h"

struct tw_sweep_rank {
	int64_t rank;
	const char *trace;   /* its trace, NULL: none is there */
	size_t other_traces; /* more that lie there, of which none was taken */
	const char *report;  /* its report from an earlier stage, NULL: none is there */
};

/* One configuration. */
struct tw_sweep_point {
	int64_t threads, channels;
	const char *name;      /* "256thread_28ch" */
	const char *directory; /* of the run, NULL: only reports are there */
	const char *ended;     /* how its run ended, where that is told and no success; else NULL */
	struct tw_sweep_rank *ranks; /* by rank */
	size_t rank_count;
	const char *collective_report; /* NULL: none is there */
};

/* Whether a number is asked for by one of these lists. */
bool tw_sweep_is_wanted(const int64_t *list, size_t count, int64_t number);

struct trawl_sweep {
	struct trawl_sweep_options options; /* of trawl_sweep_find() */
	const struct trawl_allocator *allocator;
	struct tw_arena arena;	       /* all of it */
	const char *directory;	       /* as given */
	const char *output;	       /* where results go: `directory`, or another */
	bool only_reports;	       /* `directory` is what is tracelens_analysis elsewhere */
	struct tw_sweep_point *points; /* by threads, then channels */
	size_t count;
	/* Lines for the user: asked for and not there, which of several traces was taken, ... */
	const char **notes;
	size_t note_count;
	bool incomplete; /* something that was asked for, or that others have, is not there */
};

/*
 * Finds them.  `output` NULL: results go into the sweep; else reports of earlier stages are looked
 * for there first.  TRAWL_EIO when the directory is not there or cannot be read, TRAWL_ENODATA when
 * no configuration is in it.  _release is due in any case.
 */
int tw_sweep_find(struct trawl_sweep *sweep, const char *directory, const char *output,
		  const struct trawl_sweep_filter *filter, const struct trawl_allocator *allocator,
		  struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_sweep_release(struct trawl_sweep *sweep);

/* The traces of a point as the set of a job, all of them named. */
int tw_sweep_set(const struct trawl_sweep *sweep, const struct tw_sweep_point *point,
		 struct tw_rank_set *set, struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- where results go: paths below `output`, as in the layout above */

/* tracelens_analysis/NAME, or that directory for NULL. */
void tw_sweep_analysis_path(const struct trawl_sweep *sweep, const char *name, struct tw_str *out);
void tw_sweep_report_path(const struct trawl_sweep *sweep, const struct tw_sweep_point *point,
			  int64_t rank, struct tw_str *out);
void tw_sweep_collective_path(const struct trawl_sweep *sweep, const struct tw_sweep_point *point,
			      struct tw_str *out);
/* comparisons/compare_<C>ch_rank<R>_across_threads.xlsx */
void tw_sweep_comparison_path(const struct trawl_sweep *sweep, int64_t channels, int64_t rank,
			      struct tw_str *out);
/* merged_traces/<T>thread_<C>ch_merged.json */
void tw_sweep_merged_path(const struct trawl_sweep *sweep, const struct tw_sweep_point *point,
			  struct tw_str *out);

#endif
