/* What is odd in the trace, worst first. */
#include "analysis/analysis.h"
#include "analysis/no_gpu_events.h"

enum { KIND, CLASS, COUNT, BYTE, EVENT, MEANING, ROW };

static const struct trawl_column columns[] = {
	[KIND] = TW_TEXT("kind", 24, "defect id", .over_ranks = TRAWL_KEY,
			 .values = "!~^[a-z0-9_]+$"),
	[CLASS] = TW_TEXT("class", 8,
			  "lost: skipped; defect: kept but suspect; repair: fixed; note",
			  .over_ranks = TRAWL_KEY, .values = "!lost|defect|repair|note"),
	[COUNT] =
		TW_INTEGER("count", 10, "occurrences", .over_ranks = TRAWL_LEAD, .values = "!>=1"),
	[BYTE] = TW_INTEGER("first byte", 14,
			    "offset of the first occurrence in the decompressed input",
			    .values = ">=0"),
	[EVENT] = TW_INTEGER("first event", 14, "event number of the first occurrence",
			     .values = ">=0"),
	[MEANING] = TW_TEXT("meaning", 60, "what was found and how it was handled",
			    .over_ranks = TRAWL_SAME, .values = "!"),
	[ROW] = TW_TEXT("first row", 24, "table and row of the first occurrence (databases)"),
};

void tw_set_defect(struct trawl_table *table, size_t row, size_t first,
		   const struct trawl_defect *defect)
{
	tw_table_set_str(table, row, first + KIND, defect->kind);
	tw_table_set_str(table, row, first + CLASS, trawl_severity_name(defect->severity));
	tw_table_set_integer(table, row, first + COUNT, defect->count);
	if (defect->offset >= 0)
		tw_table_set_integer(table, row, first + BYTE, defect->offset);
	if (defect->event >= 0)
		tw_table_set_integer(table, row, first + EVENT, defect->event);
	if (defect->table) {
		char place[128];

		tw_table_set_str(table, row, first + ROW,
				 trawl_defect_place(defect, place, sizeof(place)));
	}
	tw_table_set_str(table, row, first + MEANING, defect->meaning);
}

/* Where no GPU event was recognised: what there is instead. */
static int note_found(const struct tw_analysis_input *in, struct trawl_table *table)
{
	struct tw_str found;

	tw_str_init(&found, in->allocator);
	if (in->trace->holds)
		tw_str_addf(
			&found,
			"no GPU events, no CUDA calls and no NVTX ranges in the export%s%s; record "
			"them with nsys profile --trace=cuda,nvtx",
			in->trace->holds[0] ? ", but " : "", in->trace->holds);
	else
		tw_describe_found(in->derived, &found);
	if (found.len)
		tw_table_add_note(table, "%s", found.ptr);
	return found.failed ? TRAWL_ENOMEM : 0;
}

static int run_quality(const struct tw_analysis_input *in, struct trawl_table *table)
{
	struct trawl_defect list[TW_DEFECT_COUNT];
	size_t count = tw_trace_list_defects(in->derived->trace, in->quality, list), i;

	for (i = 0; i < count; i++)
		tw_set_defect(table, tw_table_add_row(table), KIND, &list[i]);
	return tw_has_gpu(in->derived) &&
			       !in->quality->kinds[TW_DEFECT_unknown_gpu_category].count ?
		       0 :
		       note_found(in, table);
}

const struct tw_analysis tw_analysis_quality = {
	TW_TABLE("quality", "defects of the trace, worst first", columns, .keep_empty = true,
		 .in_order = true),
	.needs = TW_PLAIN,
	.run = run_quality,
};
