/*
 * Collectives that make ranks wait for each other: who came when, and how long the others waited.
 * Source: TraceLens' nccl_implicit_sync.
 */
#ifndef TW_JOB_COLLECTIVES_SYNCING_H
#define TW_JOB_COLLECTIVES_SYNCING_H

#include "base/wide.h"
#include "job/collectives/facts.h"

struct tw_sync {
	const struct tw_match *match;
	const char *kind;      /* NULL: not known */
	int64_t latency_ns;    /* the shortest member: nobody waits in it */
	int64_t transfer_ns;   /* last end - last start */
	int64_t last_start_ns; /* the wait of a member is this less its start */
	int64_t start_skew_ns, end_skew_ns;
	tw_wide wait_ns; /* of all members */
	tw_wide dur_ns;	 /* of all members */
	/* Members; of several that came first the last one, of several that came last the first. */
	uint32_t earliest, last;
	/*
	 * Members can be one collective: false where they were matched by order, which is
	 * uncertain, and one had ended before another started. Its times are then meaningless.
	 */
	bool sound;
};

/* Whether the match is one of these, and if so what it comes to. */
bool tw_sync_of(const struct tw_ranks_input *in, const struct tw_match *match,
		struct tw_sync *sync);

/*
 * The same for all whose members wait for each other: besides those above all_to_allv and barriers,
 * which nccl_implicit_sync, as TraceLens has it, leaves out.
 */
bool tw_wait_of(const struct tw_ranks_input *in, const struct tw_match *match,
		struct tw_sync *sync);
/* How long a member waits for the last one; never longer than its kernel runs. */
int64_t tw_member_wait(const struct tw_ranks_input *in, const struct tw_match_member *member,
		       int64_t last_start_ns);

/* Visits those of all matches, in the order of tw_visit_matches(); other than 0 stops. */
int tw_visit_syncs(const struct tw_ranks_input *in,
		   int (*visit)(void *context, const struct tw_sync *sync), void *context);
int tw_visit_waits(const struct tw_ranks_input *in,
		   int (*visit)(void *context, const struct tw_sync *sync), void *context);

/* Tells of collectives that are not sound, and so not in the table's sums. */
void tw_note_unsound(struct trawl_table *table, uint64_t count);

/* Megabytes of the whole message, from the first member; NaN: not known. */
double tw_sync_megabytes(const struct tw_ranks_input *in, const struct tw_sync *sync);
/* GB/s (2^30); NaN: not known.  Of the bus: what links must carry, by the kind of collective. */
double tw_sync_bandwidth(const struct tw_ranks_input *in, const struct tw_sync *sync);
double tw_sync_bus_bandwidth(const struct tw_ranks_input *in, const struct tw_sync *sync);

#endif
