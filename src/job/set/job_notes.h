/* Notes on the traces of a job, and whether they are accepted as one job. */
#ifndef TW_JOB_SET_JOB_NOTES_H
#define TW_JOB_SET_JOB_NOTES_H

#include "job/set/job.h"
#include "text/str.h"

struct tw_job_rules {
	bool strict;	   /* any defect of a trace is refused */
	bool quiet;	   /* only rejections are reported */
	bool as_ranks;	   /* also traces that do not look like ranks of one job */
	bool all_groups;   /* all jobs of several groups are looked at, not the first alone */
	bool ranks_chosen; /* that others are not there is no omission */
	bool steps_chosen; /* those that ranks show besides do not matter */
};

/*
 * *whole is false where a rank or a part of one is skipped.  Notes as tw_str_note() adds them.
 * TRAWL_EFORMAT: the traces are refused.
 */
int tw_job_check(const struct trawl_job *job, const struct tw_job_rules *rules,
		 struct tw_str *notes, bool *whole, struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- notes that also apply to ranks which are not loaded; nothing if there is no anomaly */

/* Traces that are not of one time. */
void tw_note_apart(const struct tw_apart *apart, struct tw_str *notes);
/* Traces with the same rank from collectives, or ranks numbered by file order only. */
void tw_note_order(size_t clashes, size_t by_order, size_t count, struct tw_str *notes);
/*
 * Traces that do not fit into one job: `rank` has another world size (its_world, -1: none), or the
 * last rank is outside the world size (-1: unknown).
 */
void tw_note_world(int64_t rank, int64_t its_world, int64_t last_rank, int64_t world,
		   struct tw_str *notes);

#endif
