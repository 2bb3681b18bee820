/* How collectives were matched over ranks: a row a process group. */
#include "job/collectives/facts.h"
#include "job/tables/tables.h"

#include "base/alloc.h"

#include <string.h>

enum {
	GROUP,
	GROUP_RANKS,
	COLLECTIVES,
	KERNELS,
	STATES,
	RULES = STATES + TW_MATCH_LOCAL + 1,
	SURE = RULES + TW_MATCH_BY_ORDER + 1,
};

static const struct trawl_column columns[] = {
	[GROUP] = TW_COLUMN_GROUP,
	[GROUP_RANKS] = TW_COLUMN_GROUP_RANKS,
	[COLLECTIVES] = TW_INTEGER("collectives", 10,
				   "number of distinct collectives in this group", .values = ">=0"),
	[KERNELS] = TW_INTEGER("kernels", 10, "their kernels, all ranks", .values = ">=0"),
	[STATES + TW_MATCH_WHOLE] = TW_INTEGER(
		"whole", 8, "collectives on every traced rank of the group", .values = ">=0"),
	[STATES + TW_MATCH_PARTIAL] =
		TW_INTEGER("partial", 8, "collectives on several traced ranks but not on all",
			   .values = ">=0"),
	[STATES + TW_MATCH_ALONE] = TW_INTEGER(
		"alone", 8, "collectives on one of several traced ranks", .values = ">=0"),
	[STATES + TW_MATCH_LOCAL] =
		TW_INTEGER("local", 8, "collectives on the only traced rank", .values = ">=0"),
	[RULES + TW_MATCH_BY_ID] = TW_INTEGER(
		"by id", 8, "matched by an id common to all ranks (Comms Id)", .values = ">=0"),
	[RULES + TW_MATCH_BY_SEQUENCE] =
		TW_INTEGER("by sequence", 8, "matched by process group and sequence number (Seq)",
			   .values = ">=0"),
	[RULES + TW_MATCH_BY_ORDER] = TW_INTEGER(
		"by order", 8, "matched by order in the group, name, type, size and ends",
		.values = ">=0"),
	[SURE + TW_MATCH_CERTAIN] = TW_INTEGER(
		"certain", 8, "matched by id or sequence, with equal records", .values = ">=0"),
	[SURE + TW_MATCH_LIKELY] = TW_INTEGER(
		"likely", 8, "matched by order, with consistent end times", .values = ">=0"),
	[SURE + TW_MATCH_DOUBTFUL] = TW_INTEGER(
		"doubtful", 8, "matched by order, with inconsistent or undecided end times",
		.values = ">=0"),
	[SURE + TW_MATCH_DIFFERENT] = TW_INTEGER(
		"different", 8, "records (name, type, size) differ between ranks", .values = ">=0"),
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void add_group_row(const struct tw_ranks_input *in, struct trawl_table *table, uint32_t g,
			  const int64_t *counts)
{
	const struct tw_match_group *group = &in->matches->groups[g];
	size_t row = tw_table_add_row(table), c;

	tw_table_set_text_borrowed(table, row, GROUP, group->name, strlen(group->name));
	if (group->ranks[0])
		tw_table_set_text_borrowed(table, row, GROUP_RANKS, group->ranks,
					   strlen(group->ranks));
	for (c = COLLECTIVES; c < COLUMNS; c++)
		tw_table_set_integer(table, row, c, counts[c]);
}

static int count_matches(const struct tw_ranks_input *in, struct trawl_table *table)
{
	const struct tw_matches *matches = in->matches;
	size_t cells = (matches->group_count + (size_t)1) * COLUMNS;
	int64_t *counts = tw_alloc_array(in->allocator, cells, sizeof(*counts));
	uint64_t m;
	uint32_t g;

	if (!counts)
		return TRAWL_ENOMEM;
	for (m = 0; m < matches->count; m++) {
		const struct tw_match *match = &matches->matches[m];
		int64_t *of = &counts[match->group * COLUMNS];

		of[COLLECTIVES]++;
		of[KERNELS] += match->count;
		of[STATES + match->state]++;
		of[RULES + match->rule]++;
		of[SURE + match->sureness]++;
	}
	for (g = 0; g < matches->group_count; g++)
		add_group_row(in, table, g, &counts[g * COLUMNS]);
	return 0;
}

const struct tw_ranks_table tw_ranks_table_collective_matches = {
	TW_TABLE("collective_matches", "matching of collectives over ranks, by process group",
		 columns),
	.fill = count_matches,
};
