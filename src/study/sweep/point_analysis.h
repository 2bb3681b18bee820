/*
 * What is made of the traces of one configuration, each read once: reports of its ranks, its
 * collective report, its merged timeline, and what later stages of a sweep look at.
 */
#ifndef TW_STUDY_SWEEP_POINT_ANALYSIS_H
#define TW_STUDY_SWEEP_POINT_ANALYSIS_H

#include "job/merge/merge.h"
#include "job/set/load.h"
#include "study/sweep/sweep.h"
#include "trawl/table.h"

#include <pthread.h>

/* How the traces of a sweep are read. */
struct tw_sweep_reading {
	unsigned threads;   /* of all configurations together; 0: one a core */
	int64_t max_memory; /* 0: half of what there is */
	size_t block_size;  /* 0: the default */
	enum trawl_align align;
	bool ranks_chosen; /* that others are not there is no omission */
	/* As struct tw_merge_options has it, of all configurations together. */
	int (*progress)(void *context, int64_t bytes_done, int64_t bytes);
	void *progress_context;
};

struct tw_point_analysis {
	const struct trawl_sweep *sweep;
	const struct tw_sweep_point *point;
	const struct tw_sweep_reading *reading;
	unsigned outputs, threads; /* its share of the threads */
	int64_t max_memory;	   /* and of the memory */

	struct trawl_job job; /* ranks with their tables; those of merged alone are not there */
	bool loaded;	      /* the job is there */
	bool *reported;	      /* by rank of the point: its report was written */
	struct trawl_table *comms;    /* nccl_summary_implicit_sync, NULL: no collectives */
	struct trawl_table *findings; /* what limits it; NULL: not asked for, or no rank */
	bool findings_of_step,
		findings_of_waits; /* gains are of a step; stragglers are among them */
	struct tw_str straggler;   /* ranks that the others wait for; empty: none */
	uint64_t merged_slices;
	struct tw_str notes; /* of tw_str_note() */
	bool incomplete;     /* something was left out */
	int status;	     /* enum trawl_status of what failed, 0: nothing; `failure` says why */
	struct trawl_error failure;

	struct tw_sweep_progress *progress;
	int64_t bytes_done;
	pthread_mutex_t lock;		    /* of failure, while ranks are read in parallel */
	const struct tw_load_options *load; /* while ranks are read, not of merged alone */
	struct tw_file_ranks *reduced;	    /* by file, while they are merged */
	bool *visited;
};

/*
 * All configurations of a sweep, as many `analyses`, several at once, in the memory and on the
 * threads that there are.  `outputs`: TRAWL_SWEEP_REPORTS, _COLLECTIVES, _MERGED, _FINDINGS, and
 * _VARIANCE for the table gemm_instances of each rank to be kept.  Each is to be released.
 */
void tw_sweep_analyse(const struct trawl_sweep *sweep, const struct tw_sweep_reading *reading,
		      unsigned outputs, struct tw_point_analysis *analyses);
void tw_point_analysis_release(struct tw_point_analysis *analysis);

/* A table of the report of a rank of the point, NULL: it is not there. */
const struct trawl_table *tw_point_rank_table(const struct tw_point_analysis *analysis,
					      int64_t rank, const char *name);
/* The rank of the job whose trace is that of a rank of the point; NULL: there is none. */
const struct tw_rank *tw_point_job_rank(const struct tw_point_analysis *analysis, int64_t rank);

/* With --strict: the first thing that is odd in a trace or not there as an error; else 0. */
int tw_sweep_check_strict(const struct tw_point_analysis *analyses, size_t count,
			  struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
