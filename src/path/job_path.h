/*
 * The dependencies of a job: each rank's part is made while its trace is there and attached to the
 * rank; then the collectives that were matched join them.
 */
#ifndef TW_PATH_JOB_PATH_H
#define TW_PATH_JOB_PATH_H

#include "job/clocks/clocks.h"
#include "job/set/load.h"
#include "path/graph.h"

/* For tw_load_options.attach: makes the rank's part of the graph. */
int tw_path_attach(struct tw_rank *rank, const struct trawl_report *report);

void tw_path_free_attached(void *attached);
/* For tw_load_options.pass_attached: packs the part or reads it back, which may be damaged. */
void tw_path_pass(struct tw_wire *wire, struct tw_rank *rank);
/* The same of a part alone; read into an empty one with an allocator. */
void tw_path_pass_part(struct tw_wire *wire, struct tw_path_part *part);

/*
 * The graph of a job whose ranks have their parts, which it takes: once.  TRAWL_ENODATA: a rank has
 * none.
 */
int tw_path_of_job(struct tw_path **out, struct trawl_job *job, const struct tw_matches *matches,
		   const struct tw_clocks *clocks,
		   const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* The same from parts in the order of the job's ranks, which are taken over also when it fails. */
int tw_path_join_job(struct tw_path **out, struct tw_path_part *parts, const struct trawl_job *job,
		     const struct tw_matches *matches, const struct tw_clocks *clocks,
		     const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

#endif
