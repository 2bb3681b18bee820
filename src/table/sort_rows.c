/* Numbers of rows in the order of a column. */
#include "table/table.h"

#include "base/alloc.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	enum { NUMBER, TEXT, MISSING } kind;
	int direction; /* -1: descending */
	int64_t integer;
	double real;
	struct trawl_cell cell;
	size_t row, place;
};

static struct entry entry_of(const struct trawl_table *table, size_t column, size_t row)
{
	enum trawl_column_type type = trawl_table_column(table, column)->type;
	struct entry entry = { .kind = MISSING,
			       .cell = trawl_table_cell(table, row, column),
			       .row = row };

	if (entry.cell.state == TRAWL_CELL_MISSING)
		return entry;
	entry.kind = NUMBER;
	if (type == TRAWL_COLUMN_INTEGER || type == TRAWL_COLUMN_DECIMAL)
		entry.integer = entry.cell.integer;
	else if (type == TRAWL_COLUMN_REAL)
		entry.real = entry.cell.real;
	else if (type == TRAWL_COLUMN_ID)
		entry.real = tw_table_number(table, row, column);
	if (type == TRAWL_COLUMN_TEXT || isnan(entry.real)) {
		entry.kind = TEXT;
		entry.real = 0;
	}
	return entry;
}

static int compare_texts(const struct trawl_cell *a, const struct trawl_cell *b)
{
	size_t common = a->text_len < b->text_len ? a->text_len : b->text_len;
	int order = common ? memcmp(a->text, b->text, common) : 0;

	return order ? order : TW_COMPARE(a->text_len, b->text_len);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = TW_ORDER_BY(x, y, kind);

	if (order && (x->kind == MISSING || y->kind == MISSING))
		return order;
	if (!order)
		order = x->kind == TEXT ? compare_texts(&x->cell, &y->cell) :
					  TW_ORDER_BY(x, y, integer, real);
	return order ? order * x->direction : TW_ORDER_BY(x, y, place);
}

int tw_table_sort_rows(const struct trawl_table *table, size_t column, bool descending,
		       size_t *rows, size_t count, const struct trawl_allocator *allocator)
{
	struct entry *entries = tw_alloc_array(allocator, count, sizeof(*entries));
	size_t i;

	if (!entries)
		return -1;
	for (i = 0; i < count; i++) {
		entries[i] = entry_of(table, column, rows[i]);
		entries[i].direction = descending ? -1 : 1;
		entries[i].place = i;
	}
	if (count)
		qsort(entries, count, sizeof(*entries), compare_entries);
	for (i = 0; i < count; i++)
		rows[i] = entries[i].row;
	tw_free(allocator, entries, count * sizeof(*entries));
	return 0;
}
