#include "table/table.h"

#include "base/alloc.h"

static bool has_values(const struct trawl_table *table, size_t column)
{
	size_t row;

	for (row = 0; row < trawl_table_rows(table); row++)
		if (trawl_table_cell(table, row, column).state == TRAWL_CELL_VALUE)
			return true;
	return false;
}

static void copy_rows(struct trawl_table *to, const struct trawl_table *from, const size_t *columns,
		      size_t count)
{
	size_t row, i;

	for (row = 0; row < trawl_table_rows(from); row++) {
		size_t at = tw_table_add_row(to);

		for (i = 0; i < count; i++)
			tw_table_copy_cell(to, at, i, from, row, columns[i]);
	}
	for (i = 0; i < trawl_table_notes(from); i++)
		tw_table_add_note(to, "%s", trawl_table_note(from, i));
}

struct trawl_table *tw_table_narrow(const struct trawl_table *from, const char *const *headers,
				    size_t count, const struct trawl_allocator *allocator)
{
	const struct tw_table_spec spec = { .name = trawl_table_name(from),
					    .meaning = trawl_table_meaning(from),
					    .keep_empty = true };
	struct trawl_column *columns = tw_alloc_array(allocator, count, sizeof(*columns));
	size_t *places = tw_alloc_array(allocator, count, sizeof(*places)), kept = 0, i;
	struct trawl_table *out = NULL;

	for (i = 0; i < count && columns && places; i++) {
		size_t column = trawl_table_find_column(from, headers[i]);

		if (column == trawl_table_columns(from) || !has_values(from, column))
			continue;
		columns[kept] = *trawl_table_column(from, column);
		places[kept++] = column;
	}
	if (columns && places)
		out = tw_table_new_columns(&spec, columns, kept, allocator);
	if (out)
		copy_rows(out, from, places, kept);
	tw_free(allocator, columns, count * sizeof(*columns));
	tw_free(allocator, places, count * sizeof(*places));
	return tw_table_finished(out);
}
