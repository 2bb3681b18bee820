/*
 * Properties of a collective and its match for tables over ranks, and cells shared by several
 * tables.
 */
#ifndef TW_JOB_COLLECTIVES_FACTS_H
#define TW_JOB_COLLECTIVES_FACTS_H

#include "analysis/stats.h"
#include "job/collectives/input.h"

/* Columns that several tables have, as TraceLens names them. */
#define TW_COLUMN_COLLECTIVE_ID TW_TEXT(TW_COL_COLLECTIVE_ID, 16, "process group and index in it")
#define TW_COLUMN_GROUP                        \
	TW_TEXT(TW_COL_PROCESS_GROUP_NAME, 14, \
		"process group; Unknown_Group: not recorded; all: no rank records one")
#define TW_COLUMN_GROUP_RANKS TW_TEXT("Process Group Ranks", 24, "ranks in the group")
#define TW_COLUMN_NAME                      \
	TW_TEXT(TW_COL_COLLECTIVE_NAME, 22, \
		"recorded name, else the kind from the op or kernel name")
#define TW_COLUMN_GROUP_SIZE TW_ID("Group size", 10, "recorded group size")
#define TW_COLUMN_DTYPE TW_TEXT("dtype", 12, "element type")
#define TW_COLUMN_NODE_ID TW_INTEGER(TW_COL_NODE_ID, 8, "rank / GPUs per node", .values = ">=0")
#define TW_COLUMN_NODE_SPAN           \
	TW_TEXT(TW_COL_NODE_SPAN, 12, \
		"intra_node, inter_node, or unknown: where the ranks of the group are")
#define TW_COLUMN_KIND                                                               \
	TW_TEXT("Collective type", 16,                                               \
		"kind of collective, from its recorded name, else from the op that " \
		"launched it, else from the kernel")
#define TW_COLUMN_KERNEL TW_TEXT("kernel", 40, "kernel name on the lowest rank")

/* Four columns from `at` on, which tw_set_times() and tw_set_reals() set. */
#define TW_COLUMNS_OF_TIMES(at, width, name, what)                                          \
	[at] = TW_MEAN_US(name "_mean", width, "mean of " what, .values = ">=0"),           \
	[(at) + 1] = TW_MEAN_US(name "_median", width, "median of " what, .values = ">=0"), \
	[(at) + 2] = TW_US(name "_min", width, "min of " what, .values = ">=0"),            \
	[(at) + 3] = TW_US(name "_max", width, "max of " what, .values = ">=0")
#define TW_COLUMNS_OF_REALS(at, name, unit, what)                                              \
	[at] = TW_REAL(name "_mean", unit, 3, 12, "mean of " what, .values = ">=0"),           \
	[(at) + 1] = TW_REAL(name "_median", unit, 3, 12, "median of " what, .values = ">=0"), \
	[(at) + 2] = TW_REAL(name "_min", unit, 3, 12, "min of " what, .values = ">=0"),       \
	[(at) + 3] = TW_REAL(name "_max", unit, 3, 12, "max of " what, .values = ">=0")

static inline const struct tw_match_member *tw_match_members(const struct tw_ranks_input *in,
							     const struct tw_match *match)
{
	return &in->matches->members[match->first];
}

static inline const struct tw_rank *tw_member_rank(const struct tw_ranks_input *in,
						   const struct tw_match_member *member)
{
	return &in->job->ranks[member->rank];
}

static inline const struct tw_collective *tw_member_collective(const struct tw_ranks_input *in,
							       const struct tw_match_member *member)
{
	return &in->job->ranks[member->rank].collectives[member->collective];
}

/* Start and end on the clock that all ranks share. */
static inline int64_t tw_member_start(const struct tw_ranks_input *in,
				      const struct tw_match_member *member)
{
	return tw_member_collective(in, member)->start_ns + in->clocks->shift_ns[member->rank];
}

static inline int64_t tw_member_end(const struct tw_ranks_input *in,
				    const struct tw_match_member *member)
{
	return tw_member_collective(in, member)->end_ns + in->clocks->shift_ns[member->rank];
}

static inline int64_t tw_member_dur(const struct tw_ranks_input *in,
				    const struct tw_match_member *member)
{
	const struct tw_collective *c = tw_member_collective(in, member);

	return c->end_ns - c->start_ns;
}

/* Whether ranks took part together: PARTIAL and WHOLE, of two ranks or more. */
bool tw_match_is_shared(const struct tw_match *match);
/* Whether copy engines did the work of a member: a copy waits for no other rank. */
bool tw_match_has_copies(const struct tw_ranks_input *in, const struct tw_match *match);

/*
 * The first matches of their own, in order of ranks, then of their collectives: visits each match
 * once; other than 0 stops. Source: TraceLens' order.
 */
int tw_visit_matches(const struct tw_ranks_input *in,
		     int (*visit)(void *context, const struct tw_match *match), void *context);

/* The recorded name, else its kind; "" when that is unknown. */
const char *tw_collective_label(const struct tw_rank *rank, const struct tw_collective *c,
				size_t *len);
/* The kind of collective, NULL: not known. */
const char *tw_collective_type(const struct tw_rank *rank, const struct tw_collective *c);
/* all_to_allv: its sizes differ between ranks, so that it has tables of its own. */
bool tw_is_all_to_allv(const struct tw_rank *rank, const struct tw_collective *c);
/* Megabytes of IN_NELEMS or OUT_NELEMS; NaN: not known. */
double tw_collective_size(const struct tw_rank *rank, const struct tw_collective *c,
			  enum tw_collective_arg nelems);

/* GB/s (2^30) of megabytes (2^20) in a time; NaN without either. */
double tw_gigabytes_per_second(double megabytes, int64_t ns);

/* "sequence", "whole", "certain": what the tables call them. */
const char *tw_match_rule_name(enum tw_match_rule rule);
const char *tw_match_state_name(enum tw_match_state state);
const char *tw_match_sureness_name(enum tw_match_sureness sureness);

/* ---- cells; texts are those of the job and the matches, which outlive the tables */

void tw_set_collective_arg(struct trawl_table *table, size_t row, size_t column,
			   const struct tw_rank *rank, const struct tw_collective *c,
			   enum tw_collective_arg arg);
void tw_set_collective_label(struct trawl_table *table, size_t row, size_t column,
			     const struct tw_rank *rank, const struct tw_collective *c);
void tw_set_rank_text(struct trawl_table *table, size_t row, size_t column,
		      const struct tw_rank *rank, uint32_t text);
void tw_set_match_id(struct trawl_table *table, size_t row, size_t column,
		     const struct tw_ranks_input *in, const struct tw_match *match);
void tw_set_times(struct trawl_table *table, size_t row, size_t column, const struct tw_stats *of);
void tw_set_reals(struct trawl_table *table, size_t row, size_t column,
		  const struct tw_real_stats *of);
/* Empty when the size of a node is unknown. */
void tw_set_node(struct trawl_table *table, size_t row, size_t column, const struct trawl_job *job,
		 int64_t rank);
/* The group's name and ranks in two columns. */
void tw_set_match_group(struct trawl_table *table, size_t row, size_t column,
			const struct tw_ranks_input *in, const struct tw_match *match);

#endif
