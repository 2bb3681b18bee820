/*
 * From files to a job by several processes (job/transport/cluster.h): files are shared out by size, each
 * process reduces its share, on its own threads and in its own memory, and sends each rank to
 * process 0 at once.  The job is the same, whatever the number of processes.
 */
#ifndef TW_JOB_TRANSPORT_GATHER_H
#define TW_JOB_TRANSPORT_GATHER_H

#include "job/set/load.h"
#include "job/transport/cluster.h"

/*
 * Of process 0, or of one alone: as tw_job_load().  A process that is lost or runs out of memory
 * costs its files: they are left out, as unreadable.
 */
int tw_job_gather(struct tw_job *job, struct tw_rank_set *set,
		  const struct tw_load_options *options, struct tw_cluster *cluster,
		  const struct trawl_allocator *allocator,
		  struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * Of the others: does one task of TW_TASK_REDUCE as tw_cluster_await() gave it.  `options` are
 * those of process 0, for all have the same command line.  What goes wrong with files is sent;
 * what is left is that process 0 cannot be reached.
 */
int tw_gather_share(const char *task, size_t len, const struct tw_load_options *options,
		    struct tw_cluster *cluster, const struct trawl_allocator *allocator,
		    struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * Which process reads which file, the largest first, each by who has the least so far; ties go by
 * number.  Files of a process in that order: order[first[p] .. first[p + 1] - 1].
 */
struct tw_shares {
	const struct trawl_allocator *allocator;
	uint32_t *order;
	size_t *first; /* processes + 1 */
	size_t files, processes;
};

int tw_shares_make(struct tw_shares *shares, const struct tw_rank_set *set, size_t processes,
		   const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_shares_release(struct tw_shares *shares);

#endif
