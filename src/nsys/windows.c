/* The window of each rank, which shows its steady state: a row each. */
#include "nsys/tables.h"

enum { RANK = TW_WINDOWS_COMPAT, RULE, COLUMNS };

static const struct trawl_column columns[COLUMNS] = {
	TW_INTEGER("pid", 10, "operating system process id", .values = "!>=0"),
	TW_NS("start", 16, "start, on the clock of the export", .values = "!"),
	TW_NS("end", 16, "end, on the clock of the export", .values = "!"),
	TW_TEXT("name", 50, "range name of the window"),
	TW_INTEGER("rank", 8, "rank", .values = "!>=0"),
	TW_TEXT("rule", 40, "rule that chose the window", .values = "!"),
};

const struct tw_table_spec tw_nsys_windows_spec = {
	.name = "windows",
	.meaning = "analyzed window of each rank",
	.columns = columns,
	.column_count = COLUMNS,
	.keep_empty = true,
};
/* The end of the trace is looked for only when it ends a window. */
static int end_windows(struct tw_nsys_capture *c, struct trawl_error *err)
{
	size_t i;

	for (i = 0; i < c->ranks.count; i++)
		if (c->ranks.at[i].windowed && c->ranks.at[i].end_ns == TW_NSYS_OPEN)
			return tw_nsys_capture_end(c, true, true, err);
	return 0;
}

int tw_nsys_windows(struct tw_nsys_capture *c, struct trawl_table *table, struct trawl_error *err)
{
	int status = end_windows(c, err);
	size_t i, row;

	if (status)
		return status;
	for (i = 0; i < c->ranks.count; i++) {
		const struct tw_nsys_rank *rank = &c->ranks.at[i];

		if (!rank->windowed)
			continue;
		row = tw_table_add_row(table);
		tw_table_set_integer(table, row, TW_WINDOWS_PID, tw_nsys_pid(rank->process));
		tw_table_set_integer(table, row, TW_WINDOWS_START, rank->start_ns);
		tw_table_set_integer(table, row, TW_WINDOWS_END, rank->end_ns);
		tw_table_set_str(table, row, TW_WINDOWS_NAME, rank->name);
		tw_table_set_integer(table, row, RANK, rank->rank);
		tw_table_set_str(table, row, RULE, rank->rule);
	}
	return 0;
}
