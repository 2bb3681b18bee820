/* Merging the ranks of a job, by one process or by those of one run, as read_job.h. */
#ifndef TW_JOB_REPORT_MERGE_JOB_H
#define TW_JOB_REPORT_MERGE_JOB_H

#include "job/merge/merge.h"
#include "job/report/read_job.h"
#include "job/transport/gather.h"
#include "trawl/merge.h"

/* As trawl_merge_new(); `cluster` NULL: this process alone. */
int tw_merge_new(struct trawl_merge **out, const char *const *paths, size_t count,
		 const char *output, const struct trawl_merge_options *options,
		 struct tw_cluster *cluster, struct trawl_error *err) TRAWL_MUST_CHECK;

/* Of a process that is led, as tw_job_serve(). */
int tw_merge_serve(const struct trawl_merge_options *options, struct tw_cluster *cluster,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
