#include "table/table.h"

#include "base/alloc.h"

bool tw_table_has_values(const struct trawl_table *table, size_t column)
{
	size_t row;

	for (row = 0; row < trawl_table_rows(table); row++)
		if (trawl_table_cell(table, row, column).state == TRAWL_CELL_VALUE)
			return true;
	return false;
}

struct trawl_table *tw_table_pick(const struct trawl_table *from, const size_t *columns,
				  size_t column_count, const size_t *rows, size_t row_count,
				  const struct trawl_allocator *allocator)
{
	const struct tw_table_spec spec = { .name = trawl_table_name(from),
					    .meaning = trawl_table_meaning(from),
					    .keep_empty = true };
	size_t size = column_count * sizeof(struct trawl_column), row, i;
	struct trawl_column *picked = tw_alloc(allocator, size);
	struct trawl_table *out;

	if (!picked)
		return NULL;
	for (i = 0; i < column_count; i++)
		picked[i] = *trawl_table_column(from, columns[i]);
	out = tw_table_new_columns(&spec, picked, column_count, allocator);
	tw_free(allocator, picked, size);
	for (row = 0; out && row < row_count; row++) {
		size_t at = tw_table_add_row(out);

		for (i = 0; i < column_count; i++)
			tw_table_copy_cell(out, at, i, from, rows ? rows[row] : row, columns[i]);
	}
	for (i = 0; out && i < trawl_table_notes(from); i++)
		tw_table_add_note(out, "%s", trawl_table_note(from, i));
	return tw_table_finished(out);
}

struct trawl_table *tw_table_narrow(const struct trawl_table *from, const char *const *headers,
				    size_t count, const struct trawl_allocator *allocator)
{
	size_t *places = tw_alloc_array(allocator, count, sizeof(*places)), kept = 0, i;
	struct trawl_table *out = NULL;

	for (i = 0; i < count && places; i++) {
		size_t column = trawl_table_find_column(from, headers[i]);

		if (column < trawl_table_columns(from) && tw_table_has_values(from, column))
			places[kept++] = column;
	}
	if (places)
		out = tw_table_pick(from, places, kept, NULL, trawl_table_rows(from), allocator);
	tw_free(allocator, places, count * sizeof(*places));
	return out;
}
