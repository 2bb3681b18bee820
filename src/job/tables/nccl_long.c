/* Every communication kernel of every rank: a row each.  Source: TraceLens. */
#include "job/collectives/facts.h"
#include "job/tables/tables.h"

#include <string.h>

enum {
	ID,
	INDEX,
	RANK,
	GROUP,
	GROUP_RANKS,
	NAME,
	GROUP_SIZE,
	DTYPE,
	IN_NELEMS,
	IN_MB,
	OUT_NELEMS,
	OUT_MB,
	IN_SPLIT,
	OUT_SPLIT,
	STREAM,
	TS,
	DUR,
	NODE,
	SPAN,
	MATCH,
	RULE,
	SURENESS,
	ALIGNED,
	KIND,
	SEQUENCE,
	SOURCE,
	DESTINATION,
	DEVICE,
	KERNEL,
	EVIDENCE
};

static const struct trawl_column columns[] = {
	[ID] = TW_COLUMN_COLLECTIVE_ID,
	[INDEX] = TW_INTEGER("index_in_group", 10,
			     "index of the collective in its process group, from 0, by time"),
	[RANK] = TW_INTEGER("rank", 6, "rank of the trace"),
	[GROUP] = TW_COLUMN_GROUP,
	[GROUP_RANKS] = TW_COLUMN_GROUP_RANKS,
	[NAME] = TW_COLUMN_NAME,
	[GROUP_SIZE] = TW_COLUMN_GROUP_SIZE,
	[DTYPE] = TW_COLUMN_DTYPE,
	[IN_NELEMS] = TW_ID(TW_COL_IN_MSG_NELEMS, 14, "elements sent"),
	[IN_MB] = TW_REAL("In msg size (MB)", "MB", 3, 12,
			  "elements sent x bytes of the type / 2^20"),
	[OUT_NELEMS] = TW_ID(TW_COL_OUT_MSG_NELEMS, 14, "elements received"),
	[OUT_MB] = TW_REAL("Out msg size (MB)", "MB", 3, 12,
			   "elements received x bytes of the type / 2^20"),
	[IN_SPLIT] = TW_TEXT("In split size", 14, "elements sent to each rank"),
	[OUT_SPLIT] = TW_TEXT("Out split size", 14, "elements received from each rank"),
	[STREAM] = TW_ID("stream", 8, "stream"),
	[TS] = TW_US("ts", 20, "start, on the clock of the rank's trace"),
	[DUR] = TW_US("dur", 12, "duration, wait included"),
	[NODE] = TW_COLUMN_NODE_ID,
	[SPAN] = TW_COLUMN_NODE_SPAN,
	[MATCH] = TW_TEXT(
		"match", 10,
		"whole: on all traced ranks of the group; partial: on several; alone: on one "
		"only; local: no other traced rank"),
	[RULE] = TW_TEXT(
		"matched by", 10,
		"id: common id of all ranks; sequence: process group and Seq; order: order in the "
		"group, name, type, size and ends"),
	[SURENESS] =
		TW_TEXT("sureness", 10,
			"certain, likely, doubtful, or different: records differ between ranks"),
	[ALIGNED] = TW_US("aligned ts", 20, "start, on the aligned clock"),
	[KIND] = TW_COLUMN_KIND,
	[SEQUENCE] = TW_INTEGER(TW_COL_SEQ, 8, "recorded sequence number in the process group"),
	[SOURCE] = TW_ID("Src Rank", 8, "recorded sending rank"),
	[DESTINATION] = TW_ID("Dst Rank", 8, "recorded receiving rank"),
	[DEVICE] = TW_ID("device", 8, "device"),
	[KERNEL] = TW_TEXT("kernel", 40, "kernel name"),
	[EVIDENCE] = TW_TEXT("evidence", 12,
			     "why it counts as communication: event arguments (of a collective); "
			     "operation: launched by a communication op; kernel name"),
};

static const struct {
	int column;
	enum tw_collective_arg arg;
} recorded[] = {
	{ GROUP_SIZE, TW_COLLECTIVE_GROUP_SIZE }, { DTYPE, TW_COLLECTIVE_DTYPE },
	{ IN_NELEMS, TW_COLLECTIVE_IN_NELEMS },	  { OUT_NELEMS, TW_COLLECTIVE_OUT_NELEMS },
	{ IN_SPLIT, TW_COLLECTIVE_IN_SPLIT },	  { OUT_SPLIT, TW_COLLECTIVE_OUT_SPLIT },
	{ SOURCE, TW_COLLECTIVE_SOURCE },	  { DESTINATION, TW_COLLECTIVE_DESTINATION },
};

static void set_recorded(struct trawl_table *table, size_t row, const struct tw_rank *rank,
			 const struct tw_collective *c)
{
	const struct tw_collective_kind *kind = &rank->kinds[c->kind];
	const char *type = tw_collective_type(rank, c);
	size_t i;

	for (i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++)
		tw_set_collective_arg(table, row, (size_t)recorded[i].column, rank, c,
				      recorded[i].arg);
	tw_set_collective_label(table, row, NAME, rank, c);
	tw_table_set_real(table, row, IN_MB, tw_collective_size(rank, c, TW_COLLECTIVE_IN_NELEMS));
	tw_table_set_real(table, row, OUT_MB,
			  tw_collective_size(rank, c, TW_COLLECTIVE_OUT_NELEMS));
	tw_set_rank_text(table, row, STREAM, rank, kind->stream);
	tw_set_rank_text(table, row, DEVICE, rank, kind->device);
	tw_set_rank_text(table, row, KERNEL, rank, kind->kernel);
	tw_table_set_str(table, row, EVIDENCE, tw_evidence_name((enum tw_evidence)kind->evidence));
	if (type)
		tw_table_set_text_borrowed(table, row, KIND, type, strlen(type));
	if (c->sequence >= 0)
		tw_table_set_integer(table, row, SEQUENCE, c->sequence);
}

static void add_collective_row(const struct tw_ranks_input *in, struct trawl_table *table,
			       uint32_t r, uint64_t i)
{
	const struct tw_rank *rank = &in->job->ranks[r];
	const struct tw_collective *c = &rank->collectives[i];
	const struct tw_match *match = &in->matches->matches[in->matches->index_of[r][i]];
	size_t row = tw_table_add_row(table);

	tw_set_match_id(table, row, ID, in, match);
	tw_table_set_integer(table, row, INDEX, (int64_t)match->index);
	tw_table_set_integer(table, row, RANK, rank->rank);
	tw_set_match_group(table, row, GROUP, in, match);
	set_recorded(table, row, rank, c);
	tw_table_set_integer(table, row, TS, c->start_ns);
	tw_table_set_integer(table, row, DUR, c->end_ns - c->start_ns);
	tw_table_set_integer(table, row, ALIGNED, c->start_ns + in->clocks->shift_ns[r]);
	tw_set_node(table, row, NODE, in->job, rank->rank);
	tw_table_set_str(table, row, SPAN, in->matches->groups[match->group].span);
	tw_table_set_str(table, row, MATCH, tw_match_state_name(match->state));
	tw_table_set_str(table, row, RULE, tw_match_rule_name(match->rule));
	tw_table_set_str(table, row, SURENESS, tw_match_sureness_name(match->sureness));
}

static int add_collectives(const struct tw_ranks_input *in, struct trawl_table *table)
{
	uint32_t r;
	uint64_t i;

	for (r = 0; r < in->job->count; r++)
		for (i = 0; i < in->job->ranks[r].collective_count; i++)
			add_collective_row(in, table, r, i);
	return 0;
}

const struct tw_ranks_table tw_ranks_table_nccl_long = {
	TW_TABLE("nccl_long", "communication kernels of all ranks, with the collective of each",
		 columns),
	.fill = add_collectives,
};
