/*
 * The layout of small scripts for terminals: columns as wide as their contents, everything to the
 * left, one blank between, a line of dashes.  Notes are not shown, a missing value is "None".
 * For who reads such tables by program already.
 */
#include "base/alloc.h"
#include "render/cell.h"
#include "render/escape.h"
#include "render/render.h"

#include <string.h>

/* "97.5%", "100.0%": as many digits after the point as it takes, at least one, `digits` at most. */
static void add_percent(struct tw_str *out, const struct trawl_column *column, double value)
{
	size_t begin = out->len;

	tw_str_add_real_fixed(out, value, column->digits);
	if (out->failed || !memchr(out->ptr + begin, '.', out->len - begin))
		return;
	while (out->ptr[out->len - 1] == '0' && out->ptr[out->len - 2] != '.')
		out->len--;
}

static void format_cell(const struct trawl_table *table, size_t row, size_t column,
			struct tw_str *out)
{
	const struct trawl_column *declared = trawl_table_column(table, column);
	struct trawl_cell cell = trawl_table_cell(table, row, column);

	tw_str_clear(out);
	if (cell.state == TRAWL_CELL_MISSING) {
		tw_str_add_cstr(out, "None");
	} else if (declared->type == TRAWL_COLUMN_REAL && !strcmp(declared->unit, "%")) {
		add_percent(out, declared, cell.real);
		tw_str_add_char(out, '%');
	} else if (tw_column_is_number(declared)) {
		tw_number_exact(out, declared, &cell);
	} else {
		tw_escape_terminal(out, cell.text, cell.text_len);
	}
}

/* Code points: bytes that do not continue one. */
static size_t width_of(const char *text, size_t len)
{
	size_t width = 0, i;

	for (i = 0; i < len; i++)
		width += ((unsigned char)text[i] & 0xc0) != 0x80;
	return width;
}

static void add_padded(struct tw_str *out, const char *text, size_t len, size_t width, bool last)
{
	size_t used = width_of(text, len);

	tw_str_add(out, text, len);
	for (; used < width; used++)
		tw_str_add_char(out, ' ');
	tw_str_add_char(out, last ? '\n' : ' ');
}

static void measure(const struct trawl_table *table, size_t *widths, struct tw_str *cell)
{
	size_t columns = trawl_table_columns(table), rows = trawl_table_rows(table), i, row;

	for (i = 0; i < columns; i++) {
		const char *header = trawl_table_column(table, i)->header;

		widths[i] = width_of(header, strlen(header));
		for (row = 0; row < rows; row++) {
			size_t width;

			format_cell(table, row, i, cell);
			width = cell->len ? width_of(cell->ptr, cell->len) : 0;
			if (width > widths[i])
				widths[i] = width;
		}
	}
}

void tw_render_fixed(const struct trawl_table *table, struct tw_str *out)
{
	size_t columns = trawl_table_columns(table), rows = trawl_table_rows(table), i, k, row;
	size_t *widths = tw_alloc_array(out->allocator, columns + 1, sizeof(*widths));
	struct tw_str cell;

	tw_str_init(&cell, out->allocator);
	if (!widths)
		out->failed = true;
	for (i = 0; widths && i < columns; i++) {
		const char *header = trawl_table_column(table, i)->header;

		if (!i)
			measure(table, widths, &cell);
		add_padded(out, header, strlen(header), widths[i], i + 1 == columns);
	}
	for (i = 0; widths && i < columns; i++) {
		for (k = 0; k < widths[i]; k++)
			tw_str_add_char(out, '-');
		tw_str_add_char(out, i + 1 == columns ? '\n' : ' ');
	}
	for (row = 0; widths && row < rows && !out->failed; row++)
		for (i = 0; i < columns; i++) {
			format_cell(table, row, i, &cell);
			add_padded(out, cell.ptr ? cell.ptr : "", cell.len, widths[i],
				   i + 1 == columns);
		}
	out->failed = out->failed || cell.failed;
	if (widths)
		tw_free(out->allocator, widths, (columns + 1) * sizeof(*widths));
	tw_str_release(&cell);
}
