/*
 * Reading a job, by one process or by those of one run: under mpirun or srun process 0 calls this
 * with its cluster, the others serve it.
 */
#ifndef TW_JOB_REPORT_READ_JOB_H
#define TW_JOB_REPORT_READ_JOB_H

#include "job/set/job.h"
#include "job/transport/cluster.h"

/* As trawl_job_read(); `cluster` NULL: this process alone. */
int tw_job_read(struct trawl_job **out, const char *const *paths, size_t count,
		const struct trawl_job_options *options, struct tw_cluster *cluster,
		struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * Of a process that is led: reduces what process 0 tells it to, with the options that it has too,
 * until it is over.  What is left to go wrong is that process 0 cannot be reached.
 */
int tw_job_serve(const struct trawl_job_options *options, struct tw_cluster *cluster,
		 struct trawl_error *err) TRAWL_MUST_CHECK;

/* What is shown of a rank of the job's set. */
struct trawl_rank tw_rank_shown(const struct trawl_job *job, const struct tw_rank *rank);

#endif
