/*
 * What is made of the traces of one configuration, each read once: reports of its ranks, its
 * collective report, its merged timeline, and what later stages of a sweep look at.
 */
#ifndef TW_CLI_SWEEP_SWEEP_POINT_H
#define TW_CLI_SWEEP_SWEEP_POINT_H

#include "cli/sweep/sweep.h"

#include "job/merge/merge.h"
#include "job/set/load.h"

#include <pthread.h>

enum cli_sweep_makes {
	CLI_MAKE_REPORTS = 1,	  /* individual_reports/ */
	CLI_MAKE_COLLECTIVES = 2, /* collective_reports/ */
	CLI_MAKE_MERGED = 4,	  /* merged_traces/ */
	CLI_MAKE_INSTANCES = 8,	  /* the table gemm_instances of each rank is kept */
};

/* Of all configurations; they share it. */
struct cli_sweep_progress {
	pthread_mutex_t lock;
	struct cli_progress shown;
	int64_t done, bytes;
};

struct cli_sweep_made {
	const struct cli_sweep *of;
	const struct tw_sweep_point *point;
	unsigned makes, threads;
	int64_t max_memory; /* 0: half of what there is */

	struct tw_job job; /* ranks with their tables; those of merged alone are not there */
	bool loaded;	   /* the job is there */
	bool *reported;	   /* by rank of the point: its report was written */
	struct trawl_table *comms; /* nccl_summary_implicit_sync, NULL: no collectives */
	char *straggler;	   /* ranks that the others wait for, NULL: none */
	uint64_t merged_slices;
	struct tw_str told; /* lines for stderr, in order */
	bool incomplete;    /* something was left out */
	int status;	    /* enum trawl_status of what failed, 0: nothing; `failure` says why */
	struct trawl_error failure;

	struct cli_sweep_progress *progress;
	int64_t bytes_done;
	pthread_mutex_t lock;	       /* of failure, while ranks are read in parallel */
	struct tw_file_ranks *reduced; /* by file, while they are merged */
	bool *visited;
};

void cli_sweep_made_release(struct cli_sweep_made *made);

/*
 * All configurations of a sweep, several at once, in the memory and on the threads of the options;
 * then what there is to tell, in their order.  The exit status: CLI_DONE, CLI_INCOMPLETE, or that of
 * a failure, which is told.
 */
int cli_sweep_make_all(const struct cli_sweep *s, unsigned makes, struct cli_sweep_made *made);

/* A table of the report of a rank of the point, NULL: it is not there. */
const struct trawl_table *cli_sweep_rank_table(const struct cli_sweep_made *made, int64_t rank,
					       const char *name);
/* The rank of the job whose trace is that of a rank of the point; NULL: there is none. */
const struct tw_rank *cli_sweep_job_rank(const struct cli_sweep_made *made, int64_t rank);

#endif
