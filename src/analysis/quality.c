/* What is odd in the trace, worst first. */
#include "analysis/analysis.h"
#include "analysis/found.h"

enum { KIND, CLASS, COUNT, BYTE, EVENT, MEANING };

static const struct trawl_column columns[] = {
	[KIND] = { "kind", TRAWL_COLUMN_TEXT, "", 0, 0, 24, "name of the defect" },
	[CLASS] = { "class", TRAWL_COLUMN_TEXT, "", 0, 0, 8,
		    "lost: left out; defect: kept but suspect; repair: put right; note" },
	[COUNT] = { "count", TRAWL_COLUMN_INTEGER, "", 0, 0, 10, "times seen" },
	[BYTE] = { "first byte", TRAWL_COLUMN_INTEGER, "", 0, 0, 14,
		   "place in the decompressed input where first seen" },
	[EVENT] = { "first event", TRAWL_COLUMN_INTEGER, "", 0, 0, 14,
		    "number of the first event concerned" },
	[MEANING] = { "meaning", TRAWL_COLUMN_TEXT, "", 0, 0, 60, "what it is and what was done" },
};

/* Where no GPU event was recognised: what there is instead. */
static int note_found(const struct tw_analysis_input *in, struct trawl_table *table)
{
	struct tw_str found;
	bool failed;

	tw_str_init(&found, in->allocator);
	tw_describe_found(in->derived, &found);
	if (found.len)
		tw_table_add_note(table, "%s", found.ptr);
	failed = found.failed;
	tw_str_release(&found);
	return failed ? TRAWL_ENOMEM : 0;
}

static int run(const struct tw_analysis_input *in, struct trawl_table *table)
{
	struct trawl_defect list[TW_DEFECT_COUNT];
	size_t count = tw_quality_list(in->quality, list), i;

	for (i = 0; i < count; i++) {
		size_t row = tw_table_add_row(table);

		tw_table_set_str(table, row, KIND, list[i].kind);
		tw_table_set_str(table, row, CLASS, tw_severity_name(list[i].severity));
		tw_table_set_integer(table, row, COUNT, list[i].count);
		if (list[i].offset >= 0)
			tw_table_set_integer(table, row, BYTE, list[i].offset);
		if (list[i].event >= 0)
			tw_table_set_integer(table, row, EVENT, list[i].event);
		tw_table_set_str(table, row, MEANING, list[i].meaning);
	}
	return in->derived->gpu.count ? 0 : note_found(in, table);
}

const struct tw_analysis tw_analysis_quality = {
	TW_TABLE_KEPT("quality", "what is odd in the trace, worst first", columns),
	.needs = TW_NEEDS_NOTHING,
	.run = run,
};
