#include "study/variance/cells.h"

#include "base/alloc.h"
#include "text/scan.h"

#include <limits.h>
#include <string.h>

static bool is_among(const char *header, const struct trawl_column *columns, size_t count)
{
	size_t i;

	for (i = 0; i < count && strcmp(columns[i].header, header); i++)
		;
	return i < count;
}

struct trawl_table *tw_table_extended(const struct trawl_table *in,
				      const struct trawl_column *columns, size_t count,
				      size_t *first, const struct trawl_allocator *allocator)
{
	size_t all = trawl_table_columns(in), rows = trawl_table_rows(in), row, i;
	struct trawl_column *kept = tw_alloc_array(allocator, all + count, sizeof(*kept));
	struct tw_table_spec spec = *tw_table_spec(in);
	struct trawl_table *table;

	if (!kept)
		return NULL;
	for (i = *first = 0; i < all; i++)
		if (!is_among(trawl_table_column(in, i)->header, columns, count))
			kept[(*first)++] = *trawl_table_column(in, i);
	memcpy(kept + *first, columns, count * sizeof(*columns));
	spec.columns = kept;
	spec.column_count = *first + count;
	table = tw_table_new_owning(&spec, allocator);
	tw_free(allocator, kept, (all + count) * sizeof(*kept));
	if (!table)
		return NULL;
	tw_table_reserve(table, rows);
	for (row = 0; row < rows; row++) {
		size_t to = 0;

		tw_table_add_row(table);
		for (i = 0; i < all; i++)
			if (!is_among(trawl_table_column(in, i)->header, columns, count))
				tw_table_copy_cell(table, row, to++, in, row, i);
	}
	return table;
}

void tw_table_set_fixed(struct trawl_table *table, size_t row, size_t column, int64_t value,
			unsigned scale, struct tw_str *scratch)
{
	tw_str_clear(scratch);
	tw_str_add_decimal_fixed(scratch, value, scale, scale);
	if (!scratch->failed)
		tw_table_set_text(table, row, column, scratch->ptr, scratch->len);
}

/* ---- numbers */

unsigned tw_decimal_digits(const char *text)
{
	const char *p = text + (*text == '-' || *text == '+');
	size_t whole = strspn(p, "0123456789"), behind = 0;

	p += whole;
	if (*p == '.') {
		behind = strspn(p + 1, "0123456789");
		p += 1 + behind;
	}
	return *p || !(whole + behind) ? UINT_MAX : (unsigned)behind;
}

bool tw_table_decimal(const struct trawl_table *table, size_t row, size_t column, unsigned scale,
		      int64_t *value)
{
	const struct trawl_column *declared = trawl_table_column(table, column);
	struct trawl_cell cell = trawl_table_cell(table, row, column);
	struct tw_str text;
	bool is;

	if (cell.state == TRAWL_CELL_MISSING)
		return false;
	if (tw_column_is_number(declared) && declared->type != TRAWL_COLUMN_REAL &&
	    declared->scale == scale) {
		*value = cell.integer;
		return true;
	}
	tw_str_init(&text, trawl_allocator_default());
	is = tw_text_decimal(tw_table_text(table, row, column, &text), scale, value);
	tw_str_release(&text);
	return is;
}

bool tw_table_whole(const struct trawl_table *table, size_t row, size_t column, int64_t *value)
{
	enum { DIGITS = 3 };
	int64_t scaled;

	if (trawl_table_cell(table, row, column).state == TRAWL_CELL_VALUE &&
	    trawl_table_column(table, column)->type == TRAWL_COLUMN_INTEGER)
		return tw_table_decimal(table, row, column, 0, value);
	if (!tw_table_decimal(table, row, column, DIGITS, &scaled) || scaled % 1000)
		return false;
	*value = scaled / 1000;
	return true;
}

int tw_table_needs(const struct trawl_table *table, const enum tw_variance_column *columns,
		   size_t count, struct trawl_error *err)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!tw_table_has_column(table, tw_variance_columns[columns[i]].header))
			return trawl_error_set(err, TRAWL_EFORMAT,
					       "no column '%s': not a file of the previous stage",
					       tw_variance_columns[columns[i]].header);
	return 0;
}

/* ---- texts that mean the same */

/* The next character that counts; a comma in front of the end of a list does not. */
static char argument_letter(const char **p)
{
	const char *next;
	char c;

	while (**p == ' ')
		(*p)++;
	c = **p;
	if (c)
		(*p)++;
	if (c == ',') {
		for (next = *p; *next == ' '; next++)
			;
		if (*next == ')' || *next == ']') {
			*p = next + 1;
			return ']';
		}
	}
	return c == '(' ? '[' : c == ')' ? ']' : c == '"' ? '\'' : c;
}

bool tw_same_arguments(const char *a, const char *b)
{
	int64_t m, n;
	char x, y;

	/* 64 and 64.0 */
	if (tw_text_decimal(a, 3, &m) && tw_text_decimal(b, 3, &n))
		return m == n;
	do {
		x = argument_letter(&a);
		y = argument_letter(&b);
	} while (x && x == y);
	return x == y;
}
