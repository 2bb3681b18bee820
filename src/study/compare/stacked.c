/* Tables of several comparisons with one baseline, in one. */
#include "study/compare/comparison.h"

#include "diagnose/diagnosis.h"
#include "study/compare/columns.h"

#include <string.h>

static const struct trawl_column test_column =
	TW_TEXT("test", 24, "label of the side that is compared with the baseline", .values = "!");

static const struct trawl_column side_columns[] = {
	TW_TEXT("side", 24, "label of the side", .values = "!"),
	TW_TEXT("configuration", 20, "threads and channels"),
};

/* What the baseline has in common with one side says nothing of the others. */
static bool is_of_pair(const char *header)
{
	return !strcmp(header, TW_COL_IN_BOTH) || !strcmp(header, TW_COL_ONLY_HERE) ||
	       !strcmp(header, TW_COL_TOTAL_MS);
}

/* A row for each side, the baseline once. */
static struct trawl_table *stack_summaries(const struct tw_pair *pairs, size_t count,
					   const struct trawl_allocator *a)
{
	const struct trawl_table *first = pairs[0].tables[TW_COMPARISON_SUMMARY];
	struct trawl_table *out = tw_table_new(&tw_compare_specs[TW_COMPARISON_SUMMARY], a);
	size_t i, k;

	if (!out)
		return NULL;
	tw_table_add_row(out);
	for (i = 0; i < trawl_table_columns(first); i++)
		if (!is_of_pair(trawl_table_column(first, i)->header))
			tw_table_copy_cell(out, 0, i, first, 0, i);
	for (i = 0; i < count; i++) {
		size_t row = tw_table_add_row(out);

		for (k = 0; k < trawl_table_columns(first); k++)
			tw_table_copy_cell(out, row, k, pairs[i].tables[TW_COMPARISON_SUMMARY], 1,
					   k);
	}
	return out;
}

struct trawl_table *tw_stack_tables(const struct tw_pair *pairs, size_t count,
				    enum tw_compare_table which, int *status)
{
	const struct trawl_allocator *a = pairs[0].samples.allocator;
	struct trawl_table *out = NULL;
	bool any = false;
	size_t i, k;

	for (i = 0; i < count; i++)
		any |= pairs[i].tables[which] != NULL;
	if (!any)
		return NULL;
	out = which == TW_COMPARISON_SUMMARY ?
		      stack_summaries(pairs, count, a) :
		      tw_table_new_keyed(&tw_compare_specs[which], &test_column, 1, a);
	for (i = 0; i < count && out && which != TW_COMPARISON_SUMMARY; i++) {
		const struct trawl_table *table = pairs[i].tables[which];

		if (!table)
			continue;
		tw_table_add_keyed(out, &pairs[i].labels[1], 1, table);
		for (k = 0; k < trawl_table_notes(table); k++)
			tw_table_add_note(out, "%s: %s", pairs[i].labels[1],
					  trawl_table_note(table, k));
	}
	out = tw_table_finished(out);
	*status = out ? 0 : TRAWL_ENOMEM;
	return out;
}

struct trawl_table *tw_stack_findings(const struct tw_samples *times, const char *const *labels,
				      size_t count, int *status)
{
	struct trawl_table *out =
		tw_table_new_keyed(&tw_findings_spec, side_columns, 2, trawl_allocator_default());
	bool any = false;
	size_t i, k;

	for (i = 0; out && i < count; i++)
		for (k = 0; k < times[i].config_count; k++) {
			const struct tw_sample_config *c = &times[i].configs[k];
			const char *const keys[] = { labels[i], c->name };

			if (c->findings[0])
				tw_table_add_keyed(out, keys, 2, c->findings[0]);
			any |= c->findings[0] != NULL;
		}
	out = tw_table_finished(out);
	*status = out ? 0 : TRAWL_ENOMEM;
	if (any)
		return out;
	trawl_table_free(out);
	return NULL;
}
