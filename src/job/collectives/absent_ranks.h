/* Which ranks of a group have a trace and no part in a match. */
#ifndef TW_JOB_COLLECTIVES_ABSENT_RANKS_H
#define TW_JOB_COLLECTIVES_ABSENT_RANKS_H

#include "job/collectives/facts.h"

struct tw_absent_ranks {
	const struct tw_ranks_input *in;
	size_t words;	/* of a group's set */
	uint64_t *sets; /* of ranks, by group */
	bool *listed;	/* by group: its ranks are recorded, all of them */
	int64_t *ranks; /* room for an answer */
	bool *here;	/* room, by rank; all false between answers */
};

/*
 * A group's ranks are those that are recorded, else all that have a match in it.  0 or
 * TRAWL_ENOMEM.  Memory is that of in->allocator, and given back with it.
 */
int tw_absent_ranks_build(struct tw_absent_ranks *absent,
			  const struct tw_ranks_input *in) TRAWL_MUST_CHECK;

/* "0-3, 7"; empty when no rank is missing. */
void tw_absent_ranks_add(struct tw_absent_ranks *absent, const struct tw_match *match,
			 struct tw_str *out);
/* The ranks that do take part, likewise. */
void tw_present_ranks_add(struct tw_absent_ranks *absent, const struct tw_match *match,
			  struct tw_str *out);

#endif
