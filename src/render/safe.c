/* Tables as they would read back from a file. */
#include "base/alloc.h"
#include "render/escape.h"
#include "render/render.h"
#include "table/table.h"

#include <string.h>

/* A text as it would read back from a file; whether that is another one. */
static bool is_unsafe(const char *text, size_t len, struct tw_str *safe)
{
	tw_str_clear(safe);
	tw_escape_cell(safe, text, len);
	return safe->len != len || (len && memcmp(safe->ptr, text, len) != 0);
}

/* Fills `safe_one`, of the same columns; without one: whether there is anything to make safe. */
static bool make_safe(const struct trawl_table *table, struct trawl_table *safe_one,
		      struct tw_str *safe)
{
	size_t columns = trawl_table_columns(table), row, i;

	for (i = 0; i < columns; i++) {
		const char *header = trawl_table_column(table, i)->header;

		if (!is_unsafe(header, strlen(header), safe))
			continue;
		if (!safe_one)
			return true;
		tw_table_name_column(safe_one, i, "", safe->ptr);
	}
	for (row = 0; row < trawl_table_rows(table); row++) {
		if (safe_one)
			tw_table_add_row(safe_one);
		for (i = 0; i < columns; i++) {
			struct trawl_cell cell = trawl_table_cell(table, row, i);
			bool unsafe = !tw_column_is_number(trawl_table_column(table, i)) &&
				      is_unsafe(cell.text, cell.text_len, safe);

			if (unsafe && !safe_one)
				return true;
			if (unsafe)
				tw_table_set_text(safe_one, row, i, safe->ptr, safe->len);
			else if (safe_one)
				tw_table_copy_cell(safe_one, row, i, table, row, i);
		}
	}
	return false;
}

int tw_table_safe(const struct trawl_table *table, const struct trawl_allocator *allocator,
		  struct trawl_table **own, struct trawl_error *err)
{
	struct tw_str safe;
	bool failed = false;

	*own = NULL;
	tw_str_init(&safe, allocator);
	if (make_safe(table, NULL, &safe)) {
		*own = tw_table_new_owning(tw_table_spec(table), allocator);
		if (*own)
			make_safe(table, *own, &safe);
		*own = tw_table_finished(*own);
		failed = !*own;
	}
	failed |= safe.failed;
	tw_str_release(&safe);
	return failed ? tw_no_memory(err) : 0;
}
