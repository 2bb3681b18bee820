/*
 * Which communication kernels of different ranks are one collective.
 *
 * By the first of these that the traces have: one id for all ranks ("Comms Id"); process group
 * (name and ranks) with sequence number; order within the process group, by name, type and size,
 * resynchronised after what one rank lacks, with the ends (which differ by the clocks' offsets
 * only) deciding where several alignments are possible.
 *
 * Send and receive of two ranks are one transfer.
 */
#ifndef TW_JOB_MATCH_MATCH_H
#define TW_JOB_MATCH_MATCH_H

#include "base/arena.h"
#include "job/set/job.h"

enum tw_match_rule {
	TW_MATCH_BY_ID,	      /* Comms Id */
	TW_MATCH_BY_SEQUENCE, /* process group and Seq */
	TW_MATCH_BY_ORDER,    /* order in the process group, name, type and size */
};

enum tw_match_state {
	TW_MATCH_WHOLE,	  /* every rank of the group that has a trace takes part */
	TW_MATCH_PARTIAL, /* several do, one or more lack it */
	TW_MATCH_ALONE,	  /* one rank only, where others of its group have traces */
	TW_MATCH_LOCAL,	  /* one rank only, and no other of its group has a trace */
};

enum tw_match_sureness {
	TW_MATCH_CERTAIN,   /* by id or sequence, and what is recorded agrees */
	TW_MATCH_LIKELY,    /* by order, and the ends agree */
	TW_MATCH_DOUBTFUL,  /* by order, and the ends disagree or cannot decide */
	TW_MATCH_DIFFERENT, /* what is recorded (name, type, size) differs between ranks */
};

struct tw_match_member {
	uint32_t rank;	     /* index of job->ranks */
	uint64_t collective; /* index of its collectives */
};

/* A process group: same name and same ranks. */
struct tw_match_group {
	const char *name;  /* "Unknown_Group" where none is recorded, "all" in simplified mode */
	const char *ranks; /* as recorded, "": not recorded */
	const char *span;  /* tw_node_span() of them */
	bool shared_name;  /* another group has this name and other ranks */
	uint64_t count;	   /* matches in it */
};

struct tw_match {
	uint32_t group;
	uint64_t index; /* in the group, from 0, in order of time */
	uint64_t first; /* members[first .. first + count - 1], in order of rank */
	uint32_t count;
	enum tw_match_rule rule;
	enum tw_match_state state;
	enum tw_match_sureness sureness;
	/*
	 * Its members end together by nature: those of allreduce, allgather, reduce-scatter,
	 * all-to-all and barrier do; broadcast, reduce, gather, scatter, send and receive need not.
	 */
	bool together;
};

struct tw_matches {
	struct tw_arena arena; /* of all that is here */
	struct tw_match_group *groups;
	uint32_t group_count;
	struct tw_match *matches; /* in order of group, then index */
	uint64_t count;
	struct tw_match_member *members;
	uint64_t member_count;
	uint64_t **index_of; /* by rank and collective: its match */
	bool simplified;     /* no process groups are recorded, and a rank has one stream */
};

/*
 * Every collective of every rank is a member of exactly one match.  The result does not depend
 * on threads.  0 or TRAWL_ENOMEM.
 */
int tw_matches_build(struct tw_matches *matches, const struct trawl_job *job,
		     const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_matches_release(struct tw_matches *matches);

/*
 * "dp_3"; with the ranks where another group has the same name: "tp[0, 1]_3"; in simplified mode
 * "3".
 */
void tw_match_id(const struct tw_matches *matches, const struct tw_match *match,
		 struct tw_str *out);

#endif
