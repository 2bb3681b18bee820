/* What the clock of each rank is off, how that is known, and what was done about it. */
#include "job/tables/tables.h"

#include <math.h>

enum { RANK, OFFSET, UNCERTAINTY, SAMPLES, DRIFT, SHIFT, NODE, HOST, REMARK };

static const struct trawl_column columns[] = {
	[RANK] = TW_INTEGER("rank", 6, "rank in the job", .values = "!>=0"),
	[OFFSET] = TW_US("offset (us)", 16,
			 "its clock minus that of the lowest rank, from collective end times"),
	[UNCERTAINTY] = TW_US("uncertainty (us)", 14,
			      "bound of the offset error, in both directions", .values = ">=0"),
	[SAMPLES] = TW_INTEGER("samples", 8, "number of collectives measured", .values = ">=0"),
	[DRIFT] = TW_REAL("drift (ppm)", "ppm", 3, 10, "drift of the offset over time"),
	[SHIFT] = TW_US("applied shift (us)", 20,
			"shift added to the times of the trace to compare ranks"),
	[NODE] = TW_INTEGER(TW_COL_NODE_ID, 8, "rank / GPUs per node", .values = ">=0"),
	[HOST] = TW_TEXT("host", 16, "host name, where recorded"),
	[REMARK] = TW_TEXT("remark", 40, "anomaly of this clock"),
};

static const char *const words[] = {
	[TRAWL_ALIGN_AUTO] = "times of the trace",
	[TRAWL_ALIGN_COLLECTIVES] = "offsets from collective end times are applied",
	[TRAWL_ALIGN_BASE_TIME] = ("base times are applied; measured offsets are not applied"),
	[TRAWL_ALIGN_NONE] = "no shift is applied; measured offsets are not applied",
};

static void add_clock_row(const struct tw_ranks_input *in, struct trawl_table *table, size_t r)
{
	const struct tw_rank *rank = &in->job->ranks[r];
	const struct tw_clock *clock = &in->clocks->of[r];
	int64_t node = tw_job_node(in->job, rank->rank);
	size_t row = tw_table_add_row(table);

	tw_table_set_integer(table, row, RANK, rank->rank);
	if (clock->known) {
		tw_table_set_integer(table, row, OFFSET, clock->offset_ns);
		tw_table_set_integer(table, row, UNCERTAINTY, clock->uncertainty_ns);
		tw_table_set_real(table, row, DRIFT, clock->drift_ppm);
	}
	tw_table_set_integer(table, row, SAMPLES, (int64_t)clock->samples);
	tw_table_set_integer(table, row, SHIFT, in->clocks->shift_ns[r]);
	if (node >= 0)
		tw_table_set_integer(table, row, NODE, node);
	if (rank->host[0])
		tw_table_set_str(table, row, HOST, rank->host);
	if (clock->suspect)
		tw_table_set_str(table, row, REMARK,
				 "offset unlike the rest of its node: trace from another time, or "
				 "matched with other collectives of the same kind");
}

static int add_clocks(const struct tw_ranks_input *in, struct trawl_table *table)
{
	size_t r;

	for (r = 0; r < in->job->count; r++)
		add_clock_row(in, table, r);
	tw_table_add_note(table, "%s", words[in->clocks->align]);
	if (in->clocks->differ && in->clocks->align != TRAWL_ALIGN_COLLECTIVES)
		tw_table_add_note(table, "clocks differ (from collective end times): skews and "
					 "waits include it (--align collectives removes it)");
	return 0;
}

const struct tw_ranks_table tw_ranks_table_clocks = {
	TW_TABLE("clocks", "clock offset of each rank, from collective end times", columns),
	.fill = add_clocks,
};
