/* What the GPU of each rank did, a row a rank.  Terms as in gpu_timeline. */
#include "job/tables/tables.h"

/* Behind the rank the parts of a timeline, in their order. */
enum { RANK, COMPUTE, EXPOSED_COMM, EXPOSED_COPY, BUSY, IDLE, TOTAL, COMM, COPY };

#define TIME(header, meaning) TW_DECIMAL(header, "ms", 6, 4, 14, meaning, .values = ">=0")

static const struct trawl_column columns[] = {
	[RANK] = TW_INTEGER("rank", 6, "rank in the job", .values = "!>=0"),
	[COMPUTE] = TIME(TW_COL_COMPUTATION_TIME_MS, "computing"),
	[EXPOSED_COMM] =
		TIME(TW_COL_EXPOSED_COMM_TIME_MS, "communication not overlapped by compute"),
	[EXPOSED_COPY] = TIME(TW_COL_EXPOSED_MEMCPY_TIME_MS, "copies not overlapped by compute or "
							     "communication"),
	[BUSY] = TIME(TW_COL_BUSY_TIME_MS, "busy with any work"),
	[IDLE] = TIME(TW_COL_IDLE_TIME_MS, "idle"),
	[TOTAL] = TIME(TW_COL_TOTAL_TIME_MS, "first start to last end"),
	[COMM] = TIME("total_comm_time ms", "communicating"),
	[COPY] = TIME("total_memcpy_time ms", "copying"),
};

static int add_timelines(const struct tw_ranks_input *in, struct trawl_table *table)
{
	size_t i, part;

	for (i = 0; i < in->job->count; i++) {
		const struct tw_rank *rank = &in->job->ranks[i];
		size_t row = tw_table_add_row(table);

		tw_table_set_integer(table, row, RANK, rank->rank);
		for (part = 0; part < TW_TIMELINE_PARTS && rank->gpu_events; part++)
			tw_table_set_integer(table, row, RANK + 1 + part,
					     tw_timeline_part(&rank->timeline, part));
	}
	return 0;
}

const struct tw_ranks_table tw_ranks_table_rank_timeline = {
	TW_TABLE("rank_timeline", "GPU time of each rank", columns),
	.fill = add_timelines,
};
