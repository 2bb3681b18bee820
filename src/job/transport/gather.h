/*
 * From files to a job by several processes (cluster.h): files are shared out by size, each process
 * reduces its share, on its own threads and in its own memory, and sends the ranks of each file to
 * process 0 at once.  The job is the same, whatever the number of processes.
 */
#ifndef TW_JOB_TRANSPORT_GATHER_H
#define TW_JOB_TRANSPORT_GATHER_H

#include "job/set/load.h"
#include "job/transport/cluster.h"

/*
 * Of process 0, or of one alone: as tw_job_load().  A process that is lost or runs out of memory
 * costs its files: they are skipped, as unreadable.
 */
int tw_job_gather(struct trawl_job *job, struct tw_rank_set *set,
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

#endif
