/* Rows of several tables of one kind in one, behind columns that say whose they are. */
#include "table/table.h"

#include "base/alloc.h"

#include <string.h>

struct trawl_table *tw_table_new_keyed(const struct tw_table_spec *spec,
				       const struct trawl_column *keys, size_t key_count,
				       const struct trawl_allocator *allocator)
{
	size_t count = key_count + spec->column_count;
	struct trawl_column *columns = tw_alloc_array(allocator, count, sizeof(*columns));
	struct trawl_table *table;

	if (!columns)
		return NULL;
	memcpy(columns, keys, key_count * sizeof(*keys));
	memcpy(columns + key_count, spec->columns, spec->column_count * sizeof(*columns));
	table = tw_table_new_columns(spec, columns, count, allocator);
	tw_free(allocator, columns, count * sizeof(*columns));
	return table;
}

/* A file may have a text where a number belongs: the cell is missing then. */
static void copy_cell(struct trawl_table *to, size_t at, size_t column,
		      const struct trawl_table *from, size_t row)
{
	const struct trawl_column *wanted = trawl_table_column(to, column);
	size_t found = trawl_table_find_column(from, wanted->header);

	if (found < trawl_table_columns(from) &&
	    (!tw_column_is_number(wanted) || tw_column_is_number(trawl_table_column(from, found))))
		tw_table_copy_cell(to, at, column, from, row, found);
}

void tw_table_add_keyed(struct trawl_table *to, const char *const *keys, size_t key_count,
			const struct trawl_table *from)
{
	size_t columns = trawl_table_columns(to), row, i;

	for (row = 0; row < trawl_table_rows(from); row++) {
		size_t at = tw_table_add_row(to);

		for (i = 0; i < key_count; i++)
			tw_table_set_str(to, at, i, *keys[i] ? keys[i] : NULL);
		for (; i < columns; i++)
			copy_cell(to, at, i, from, row);
	}
}
