/*
 * gpu_timeline_all_configs_{mean,geomean}.xlsx and nccl_master_all_configs.{xlsx,csv}: reports of a
 * sweep, from files or still in memory, gathered one after another and then written.
 */
#ifndef TW_STUDY_SWEEP_AGGREGATE_H
#define TW_STUDY_SWEEP_AGGREGATE_H

#include "study/sweep/aggregates.h"
#include "study/sweep/point_analysis.h"

struct tw_aggregate {
	struct tw_timelines *timelines;
	struct tw_comms *comms;
	size_t reports, collectives; /* that were taken */
	size_t files;		     /* that were written */
	struct tw_str notes;	     /* of tw_str_note(): what a report lacks */
	bool incomplete;	     /* a report could not be taken */
};

/* _release is due in any case. */
int tw_aggregate_init(struct tw_aggregate *a, struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_aggregate_release(struct tw_aggregate *a);

/* The reports of a configuration, from files. */
void tw_aggregate_point(struct tw_aggregate *a, const struct tw_sweep_point *point);
/* The same as they were made of its traces; rows name the files that they are written to. */
int tw_aggregate_analysis(struct tw_aggregate *a, const struct tw_point_analysis *analysis,
			  struct trawl_error *err) TRAWL_MUST_CHECK;

/* Writes what there is to write into tracelens_analysis. */
int tw_aggregate_write(struct tw_aggregate *a, const struct trawl_sweep *sweep,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
