/* Tables of several comparisons with one baseline, in one. */
#include "study/compare/comparison.h"

#include "base/alloc.h"
#include "study/compare/columns.h"

#include <string.h>

static const struct trawl_column test_column =
	TW_TEXT("test", 24, "label of the side that is compared with the baseline", .values = "!");

/* The rows of a table, from one on, behind a label where there is one. */
static void add_rows(struct trawl_table *to, const struct trawl_table *from, size_t first,
		     const char *label)
{
	size_t columns = trawl_table_columns(from), row, i;

	for (row = first; row < trawl_table_rows(from); row++) {
		size_t at = tw_table_add_row(to);

		if (label)
			tw_table_set_str(to, at, 0, label);
		for (i = 0; i < columns; i++)
			tw_table_copy_cell(to, at, i + (label != NULL), from, row, i);
	}
}

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
	size_t i;

	if (!out)
		return NULL;
	tw_table_add_row(out);
	for (i = 0; i < trawl_table_columns(first); i++)
		if (!is_of_pair(trawl_table_column(first, i)->header))
			tw_table_copy_cell(out, 0, i, first, 0, i);
	for (i = 0; i < count; i++)
		add_rows(out, pairs[i].tables[TW_COMPARISON_SUMMARY], 1, NULL);
	return out;
}

static struct trawl_table *new_table(const struct tw_table_spec *spec,
				     const struct trawl_allocator *a)
{
	size_t count = spec->column_count + 1, i;
	struct trawl_column *columns = tw_alloc_array(a, count, sizeof(*columns));
	struct trawl_table *table;

	if (!columns)
		return NULL;
	columns[0] = test_column;
	for (i = 1; i < count; i++)
		columns[i] = spec->columns[i - 1];
	table = tw_table_new_columns(spec, columns, count, a);
	tw_free(a, columns, count * sizeof(*columns));
	return table;
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
	out = which == TW_COMPARISON_SUMMARY ? stack_summaries(pairs, count, a) :
					       new_table(&tw_compare_specs[which], a);
	for (i = 0; i < count && out && which != TW_COMPARISON_SUMMARY; i++) {
		const struct trawl_table *table = pairs[i].tables[which];

		if (!table)
			continue;
		add_rows(out, table, 0, pairs[i].labels[1]);
		for (k = 0; k < trawl_table_notes(table); k++)
			tw_table_add_note(out, "%s: %s", pairs[i].labels[1],
					  trawl_table_note(table, k));
	}
	out = tw_table_finished(out);
	*status = out ? 0 : TRAWL_ENOMEM;
	return out;
}
