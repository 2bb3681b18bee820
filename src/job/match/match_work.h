/*
 * What matching works with.  A collective is an item: rank after rank, each in order of start.
 *
 * A lane is what is matched apart from everything else: the collectives of a process group, or the
 * transfers between two ranks in it.  Within a lane items that are one collective become members
 * of one draft, a match before its place is known.
 */
#ifndef TW_JOB_MATCH_MATCH_WORK_H
#define TW_JOB_MATCH_MATCH_WORK_H

#include "base/arena.h"
#include "job/match/match.h"

#define TW_MATCH_NONE UINT64_MAX
#define TW_MATCH_UNKNOWN_GROUP "Unknown_Group"

/* What is compared between ranks: ids of the work's texts, 0: not recorded. */
struct tw_match_signature {
	uint32_t kind;	 /* of collective: "allreduce" */
	uint32_t name;	 /* as recorded */
	uint32_t kernel; /* name of the kernel, where no name is recorded */
	uint32_t dtype, group_size;
	uint32_t in, out; /* elements, where they are the same on all ranks by nature */
	uint32_t copies;  /* by copy engines: not compared, but of another nature */
};

/* What follows from the kind of collective; copies of engines end each by itself. */
struct tw_match_nature {
	bool together; /* known to end together */
	bool may;      /* not known to end apart */
	bool strict;   /* ends that are far apart are of two collectives */
};

struct tw_match_lane {
	uint32_t group;
	uint32_t transfer;	      /* 1: between two ranks */
	uint32_t source, destination; /* ids of the work's texts, 0: not known */
};

/* By kind of a rank's collectives. */
struct tw_match_kind {
	uint32_t lane, signature;
};

struct tw_match_draft {
	uint32_t lane, count;
	uint32_t group; /* that of the lane, but for ids of which one rank tells the group */
	enum tw_match_rule rule;
	bool doubtful;
};

/* Ranks whose clocks are known relative to each other, as a forest. */
struct tw_match_frame {
	uint32_t parent;
	int64_t offset; /* of this clock less that of the parent */
};

struct tw_match_work {
	const struct trawl_job *job;
	const struct trawl_allocator *allocator;
	struct tw_arena arena; /* of what is here and lasts while matching */
	struct tw_matches *out;

	struct tw_pool texts;		  /* of all ranks */
	struct tw_pool signatures, lanes; /* each distinct one, as bytes; ids from 1 */
	struct tw_match_nature *natures;  /* by signature */
	size_t nature_count;
	struct tw_match_kind **kinds; /* by rank and kind */

	uint64_t *index; /* by item: its draft, as out->index_of; TW_MATCH_NONE: none yet */

	uint32_t *first;      /* by rank: its first item, and the count of all after the last */
	uint32_t *rank_of;    /* by item */
	uint32_t *by_lane;    /* all items by lane, rank and start */
	uint64_t *lane_first; /* by lane (from 1): where it begins there, and the end */
	bool *restarted;      /* by lane: sequence numbers begin again within a trace */
	struct tw_match_frame *frames; /* by rank */
	int64_t *shift_ns;	       /* by rank: base time, or 0 */

	struct tw_match_draft *drafts;
	uint64_t draft_count, draft_capacity;
};

/* process_groups.c: groups, lanes, signatures. 0 or TRAWL_ENOMEM, as all that give a status. */
int tw_match_groups(struct tw_match_work *work);

static inline const struct tw_match_lane *tw_match_lane(const struct tw_match_work *work,
							uint32_t lane)
{
	return (const struct tw_match_lane *)(const void *)tw_pool_text(&work->lanes, lane, NULL);
}

static inline const struct tw_match_signature *tw_match_signature(const struct tw_match_work *work,
								  uint32_t signature)
{
	return (const struct tw_match_signature *)(const void *)tw_pool_text(&work->signatures,
									     signature, NULL);
}

/* How much two signatures have in common. */
enum tw_match_likeness {
	TW_MATCH_SAME,	  /* nothing that both record differs */
	TW_MATCH_RELATED, /* of one kind, as far as both are known */
	TW_MATCH_OTHER,
};
enum tw_match_likeness tw_match_likeness(const struct tw_match_work *work, uint32_t a, uint32_t b);
/* Whether something that both record differs: what makes a match one of TW_MATCH_DIFFERENT. */
bool tw_match_conflict(const struct tw_match_work *work, uint32_t a, uint32_t b);

/* match.c */
static inline const struct tw_collective *tw_match_collective(const struct tw_match_work *work,
							      uint32_t item)
{
	uint32_t rank = work->rank_of[item];

	return &work->job->ranks[rank].collectives[item - work->first[rank]];
}

static inline struct tw_match_kind tw_match_kind_of(const struct tw_match_work *work, uint32_t item)
{
	return work->kinds[work->rank_of[item]][tw_match_collective(work, item)->kind];
}

/* For sorting. */
static inline uint64_t tw_match_lane_key(const void *work, uint32_t item)
{
	return tw_match_kind_of(work, item).lane;
}

static inline uint64_t *tw_match_draft_of(const struct tw_match_work *work, uint32_t item)
{
	return &work->index[item];
}

/* A new draft, TW_MATCH_NONE when out of memory. */
uint64_t tw_match_draft(struct tw_match_work *work, uint32_t lane, enum tw_match_rule rule);
void tw_match_join(struct tw_match_work *work, uint64_t draft, uint32_t item);
/* Items that have no partner for sure, a draft each; 0 or TRAWL_ENOMEM. */
int tw_match_leave_alone(struct tw_match_work *work, uint32_t lane, enum tw_match_rule rule,
			 const uint32_t *items, size_t count);
/* In a list of items by rank: where those of the rank of the first, `from`, end. */
size_t tw_match_rank_end(const struct tw_match_work *work, const uint32_t *items, size_t from,
			 size_t end);
/* Those of the rank that has most of them; how many ranks have any. */
struct tw_match_run {
	size_t from, to;
	uint32_t ranks;
};
struct tw_match_run tw_match_longest_run(const struct tw_match_work *work, const uint32_t *items,
					 size_t from, size_t end);
/* What clock `a` is ahead of `b`; false: not known. */
bool tw_match_offset(const struct tw_match_work *work, uint32_t a, uint32_t b, int64_t *offset);
void tw_match_learn(struct tw_match_work *work, uint32_t a, uint32_t b, int64_t offset);

/* Times of broken traces reach over all 64 bits. */
static inline int64_t tw_match_minus(int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference))
		return a < b ? INT64_MIN / 2 : INT64_MAX / 2;
	return difference;
}

static inline int64_t tw_match_plus(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
	return sum;
}

/* End on the clock of its rank, base time added where all ranks have one. */
static inline int64_t tw_match_end(const struct tw_match_work *work, uint32_t item)
{
	return tw_match_plus(tw_match_collective(work, item)->end_ns,
			     work->shift_ns[work->rank_of[item]]);
}

static inline int64_t tw_match_apart(int64_t a, int64_t b)
{
	return a < b ? tw_match_minus(b, a) : tw_match_minus(a, b);
}

/* match_by_id.c: by id and by sequence, and what clocks are off as far as these tell. */
int tw_match_by_id(struct tw_match_work *work);
int tw_match_by_sequence(struct tw_match_work *work);
int tw_match_learn_clocks(struct tw_match_work *work);
/* match_by_order.c: what is left, by order. */
int tw_match_by_order(struct tw_match_work *work);
/* match_results.c: matches of drafts, in their order. */
int tw_match_finish(struct tw_match_work *work);

#endif
