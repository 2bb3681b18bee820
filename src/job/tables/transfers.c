/* Send and receive of two ranks: a row each. */
#include "job/collectives/facts.h"
#include "job/tables/tables.h"

#include <math.h>
#include <string.h>

enum {
	ID,
	SOURCE,
	DESTINATION,
	BYTES,
	SKEW,
	WAITING,
	TIME,
	RATE,
	END_SKEW,
	GROUP,
	GROUP_RANKS,
	DTYPE,
	NELEMS,
	RULE,
	SURENESS,
	SPAN
};

static const struct trawl_column columns[] = {
	[ID] = TW_COLUMN_COLLECTIVE_ID,
	[SOURCE] = TW_INTEGER(TW_COL_SRC_RANK, 8, "sending rank", .values = ">=0"),
	[DESTINATION] = TW_INTEGER(TW_COL_DST_RANK, 8, "receiving rank", .values = ">=0"),
	[BYTES] = TW_COLUMN(INTEGER, "bytes", "B", 0, 0, 14, "elements sent x bytes of the type",
			    .values = ">=0"),
	[SKEW] = TW_US(TW_COL_START_SKEW_US, 14,
		       "later start - earlier start, on the aligned clock", .values = ">=0"),
	[WAITING] = TW_INTEGER(TW_COL_WAITING_RANK, 8, "rank that started first; empty: same time",
			       .values = ">=0"),
	[TIME] = TW_US(TW_COL_TIME_IN_US, 14, "last end - later start: both started",
		       .values = ">=0"),
	[RATE] = TW_REAL("GB/s", "GB/s", 3, 12, "bytes / time, in 10^9 bytes", .values = ">=0"),
	[END_SKEW] = TW_US("end skew (us)", 14, "last end - first end", .values = ">=0"),
	[GROUP] = TW_COLUMN_GROUP,
	[GROUP_RANKS] = TW_COLUMN_GROUP_RANKS,
	[DTYPE] = TW_COLUMN_DTYPE,
	[NELEMS] = TW_ID(TW_COL_IN_MSG_NELEMS, 14, "elements sent"),
	[RULE] = TW_TEXT("matched by", 10, "id, sequence or order (see nccl_long)"),
	[SURENESS] =
		TW_TEXT("sureness", 10, "certain, likely, doubtful or different (see nccl_long)"),
	[SPAN] = TW_TEXT(TW_COL_NODE_SPAN, 12,
			 "intra_node, inter_node, or unknown: whether both are on one node"),
};

struct work {
	const struct tw_ranks_input *in;
	struct trawl_table *table;
};

/* The first member of a kind, NULL: none. */
static const struct tw_match_member *member_of(const struct tw_ranks_input *in,
					       const struct tw_match *match, const char *kind)
{
	const struct tw_match_member *m = tw_match_members(in, match);
	uint32_t i;

	for (i = 0; i < match->count; i++) {
		const char *type = tw_collective_type(tw_member_rank(in, &m[i]),
						      tw_member_collective(in, &m[i]));

		if (type && !strcmp(type, kind))
			return &m[i];
	}
	return NULL;
}

static void set_times(const struct work *w, size_t row, const struct tw_match_member *send,
		      const struct tw_match_member *receive, double bytes)
{
	int64_t start = tw_member_start(w->in, send), other = tw_member_start(w->in, receive);
	int64_t end = tw_member_end(w->in, send), other_end = tw_member_end(w->in, receive);
	int64_t last_start = start > other ? start : other;
	int64_t last_end = end > other_end ? end : other_end;
	const struct tw_match_member *first = start < other ? send : receive;

	tw_table_set_integer(w->table, row, SKEW, start > other ? start - other : other - start);
	if (start != other)
		tw_table_set_integer(w->table, row, WAITING, tw_member_rank(w->in, first)->rank);
	tw_table_set_integer(w->table, row, TIME, last_end - last_start);
	if (last_end > last_start)
		tw_table_set_real(w->table, row, RATE, bytes / (double)(last_end - last_start));
	tw_table_set_integer(w->table, row, END_SKEW,
			     end > other_end ? end - other_end : other_end - end);
}

static int add_match(void *context, const struct tw_match *match)
{
	struct work *w = context;
	const struct tw_ranks_input *in = w->in;
	const struct tw_match_member *send, *receive;
	const struct tw_collective *c;
	const struct tw_rank *from, *to;
	double bytes;
	size_t row;

	if (!tw_match_is_shared(match))
		return 0;
	send = member_of(in, match, "send");
	receive = member_of(in, match, "recv");
	if (!send || !receive)
		return 0;
	from = tw_member_rank(in, send);
	to = tw_member_rank(in, receive);
	c = tw_member_collective(in, send);
	bytes = tw_collective_size(from, c, TW_COLLECTIVE_IN_NELEMS) * 1048576;
	row = tw_table_add_row(w->table);
	tw_set_match_id(w->table, row, ID, in, match);
	tw_table_set_integer(w->table, row, SOURCE, from->rank);
	tw_table_set_integer(w->table, row, DESTINATION, to->rank);
	if (bytes >= 0 && bytes < 0x1p53)
		tw_table_set_integer(w->table, row, BYTES, (int64_t)bytes);
	set_times(w, row, send, receive, bytes);
	tw_set_match_group(w->table, row, GROUP, in, match);
	tw_set_collective_arg(w->table, row, DTYPE, from, c, TW_COLLECTIVE_DTYPE);
	tw_set_collective_arg(w->table, row, NELEMS, from, c, TW_COLLECTIVE_IN_NELEMS);
	tw_table_set_str(w->table, row, RULE, tw_match_rule_name(match->rule));
	tw_table_set_str(w->table, row, SURENESS, tw_match_sureness_name(match->sureness));
	tw_table_set_str(w->table, row, SPAN, tw_job_span(in->job, from->rank, to->rank));
	return 0;
}

static int add_transfers(const struct tw_ranks_input *in, struct trawl_table *table)
{
	struct work w = { .in = in, .table = table };

	return tw_visit_matches(in, add_match, &w);
}

const struct tw_ranks_table tw_ranks_table_transfers = {
	TW_TABLE("transfers", "sends and receives between two ranks", columns),
	.fill = add_transfers,
};
