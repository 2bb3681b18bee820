/* Which ranks of a group have a trace and no part in a match. */
#ifndef TW_JOB_COLLECTIVES_ABSENT_RANKS_H
#define TW_JOB_COLLECTIVES_ABSENT_RANKS_H

#include "job/collectives/facts.h"

struct tw_lacking {
	const struct tw_ranks_input *in;
	size_t words;	/* of a group's set */
	uint64_t *sets; /* of ranks, by group */
	bool *listed;	/* by group: its ranks are recorded, all of them */
	int64_t *ranks; /* room for an answer */
	bool *here;	/* room, by rank; all false between answers */
};

/*
 * A group's ranks are those that are recorded, else all that have a match in it.  0 or
 * TRAWL_ENOMEM; to be released in both cases.
 */
int tw_lacking_build(struct tw_lacking *lacking, const struct tw_ranks_input *in) TRAWL_MUST_CHECK;
void tw_lacking_release(struct tw_lacking *lacking);

/* "0-3, 7"; nothing when none lacks it. */
void tw_lacking_add(struct tw_lacking *lacking, const struct tw_match *match, struct tw_str *out);
/* The ranks that do take part, likewise. */
void tw_taking_part_add(struct tw_lacking *lacking, const struct tw_match *match,
			struct tw_str *out);

#endif
