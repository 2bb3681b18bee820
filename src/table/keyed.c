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

void tw_table_add_keyed(struct trawl_table *to, const char *const *keys, size_t key_count,
			const struct trawl_table *from)
{
	size_t columns = trawl_table_columns(to), row, i;

	for (row = 0; row < trawl_table_rows(from); row++) {
		size_t at = tw_table_add_row(to);

		for (i = 0; i < key_count; i++)
			tw_table_set_str(to, at, i, *keys[i] ? keys[i] : NULL);
		for (; i < columns; i++)
			tw_table_copy_cell(
				to, at, i, from, row,
				trawl_table_find_column(from, trawl_table_column(to, i)->header));
	}
}
