/* What there is to tell of the traces of a job, and whether they are taken for one. */
#ifndef TW_JOB_SET_JOB_NOTES_H
#define TW_JOB_SET_JOB_NOTES_H

#include "job/set/job.h"
#include "text/str.h"

struct tw_job_rules {
	bool strict;	   /* any defect of a trace is refused */
	bool quiet;	   /* nothing is told but what is refused */
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

/* ---- notes that apply to ranks which are not loaded, too: nothing where there is nothing to say */

/* Traces that are not of one time. */
void tw_note_apart(const struct tw_apart *apart, struct tw_str *notes);
/* Collectives of several traces say one rank, or ranks are numbered by the order of files alone. */
void tw_note_order(size_t clashes, size_t by_order, size_t count, struct tw_str *notes);
/*
 * Traces that do not fit into one job: `rank` says another size (its_world, -1: none does), or the
 * last rank is beyond the size (-1: not known).
 */
void tw_note_world(int64_t rank, int64_t its_world, int64_t last_rank, int64_t world,
		   struct tw_str *notes);

#endif
