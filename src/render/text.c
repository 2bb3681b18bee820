/*
 * Tables for a terminal.  Numbers are to the right and rounded, missing values are "-".
 * Columns have the width of their contents; long headers are broken into lines.  When that is
 * too wide, text columns give way first, their texts shortened in the middle; when it still is,
 * the last columns are skipped and counted below.
 */
#include "base/alloc.h"
#include "render/cell.h"
#include "render/escape.h"
#include "render/render.h"
#include "render/width.h"

#include <string.h>

#define GAP 2
#define HEADER_LINES 3
/* A text shortened to less than this is useless; the first column says what the row is. */
#define NARROWEST_TEXT 16
#define NARROWEST_NAME 28

struct line {
	size_t begin, len;
};

/* How one column is shown. */
struct layout {
	struct tw_str header; /* escaped, with its unit */
	bool number;
	size_t natural; /* wide enough for everything, the header on one line */
	size_t floor;	/* no narrower */
	size_t width;
	struct line lines[HEADER_LINES];
	unsigned line_count;
};

struct sheet {
	const struct trawl_table *table;
	struct tw_str *out;
	struct tw_str cell;
	struct layout *columns;
	size_t column_count, shown;
	size_t rows;
	size_t width; /* 0: no limit */
	unsigned header_lines;
};

/* --- cells -------------------------------------------------------------------------------- */

/* The cell as it is shown, not yet shortened, into sheet->cell. */
static void format_cell(struct sheet *sheet, size_t row, size_t column)
{
	const struct trawl_column *declared = trawl_table_column(sheet->table, column);
	struct trawl_cell cell = trawl_table_cell(sheet->table, row, column);

	tw_str_clear(&sheet->cell);
	if (cell.state == TRAWL_CELL_MISSING)
		tw_str_add_char(&sheet->cell, '-');
	else if (tw_column_is_number(declared))
		tw_number_rounded(&sheet->cell, declared, &cell);
	else
		tw_escape_terminal(&sheet->cell, cell.text, cell.text_len);
}

/* --- headers ------------------------------------------------------------------------------ */

static bool breaks_after(char c)
{
	return c == ' ' || c == '_' || c == '/' || c == ':';
}

/* The end of the piece that begins at `at`: a header may be broken after it. */
static size_t piece_end(const struct tw_str *header, size_t at)
{
	while (at < header->len && !breaks_after(header->ptr[at]))
		at++;
	while (at < header->len && breaks_after(header->ptr[at]))
		at++;
	return at;
}

static size_t trimmed(const struct tw_str *header, size_t begin, size_t end)
{
	while (end > begin && header->ptr[end - 1] == ' ')
		end--;
	return end - begin;
}

static size_t span_width(const struct tw_str *header, size_t begin, size_t end)
{
	return tw_text_width(header->ptr + begin, trimmed(header, begin, end));
}

/* Breaks the header into lines of at most `width`; false when they do not suffice. */
static bool break_header(struct layout *column, size_t width)
{
	const struct tw_str *header = &column->header;
	size_t at = 0;

	column->line_count = 0;
	do {
		size_t begin = at;

		if (column->line_count == HEADER_LINES)
			return false;
		at = piece_end(header, begin);
		if (span_width(header, begin, at) > width)
			return false;
		while (at < header->len &&
		       span_width(header, begin, piece_end(header, at)) <= width)
			at = piece_end(header, at);
		column->lines[column->line_count].begin = begin;
		column->lines[column->line_count].len = trimmed(header, begin, at);
		column->line_count++;
	} while (at < header->len);
	return true;
}

/* The smallest width, from `least` on, into which the header can be broken. */
static size_t header_width(struct layout *column, size_t least)
{
	size_t whole = span_width(&column->header, 0, column->header.len);
	size_t width = least ? least : 1;

	while (width < whole && !break_header(column, width))
		width++;
	return width;
}

/* --- layout ------------------------------------------------------------------------------- */

static void measure_header(struct sheet *sheet, size_t index)
{
	struct layout *column = &sheet->columns[index];
	struct tw_str header;

	tw_str_init(&header, sheet->out->allocator);
	tw_header_with_unit(&header, trawl_table_column(sheet->table, index));
	tw_escape_terminal(&column->header, header.ptr, header.len);
	tw_str_add_cstr(&column->header, ""); /* so that it is a string even when empty */
	sheet->out->failed = sheet->out->failed || header.failed || column->header.failed;
	tw_str_release(&header);
}

static size_t widest_cell(struct sheet *sheet, size_t index)
{
	size_t widest = 1, row, width;

	for (row = 0; row < sheet->rows && !sheet->cell.failed; row++) {
		format_cell(sheet, row, index);
		width = tw_text_width(sheet->cell.ptr, sheet->cell.len);
		if (width > widest)
			widest = width;
	}
	return widest;
}

static void measure(struct sheet *sheet, size_t index)
{
	struct layout *column = &sheet->columns[index];
	size_t contents = widest_cell(sheet, index), least = contents;
	size_t narrowest = index ? NARROWEST_TEXT : NARROWEST_NAME;

	tw_str_init(&column->header, sheet->out->allocator);
	measure_header(sheet, index);
	if (sheet->out->failed)
		return;
	column->number = tw_column_is_number(trawl_table_column(sheet->table, index));
	if (!column->number && least > narrowest)
		least = narrowest;
	column->floor = header_width(column, least);
	column->width = contents > column->floor ? contents : column->floor;
	column->natural = span_width(&column->header, 0, column->header.len);
	if (column->natural < contents)
		column->natural = contents;
}

enum measure { NATURAL, FLOOR, WIDTH };

static size_t total_width(const struct sheet *sheet, enum measure measure)
{
	size_t total = sheet->shown ? (sheet->shown - 1) * GAP : 0, i;

	for (i = 0; i < sheet->shown; i++) {
		const struct layout *column = &sheet->columns[i];

		total += measure == NATURAL ? column->natural :
			 measure == FLOOR   ? column->floor :
					      column->width;
	}
	return total;
}

/* Narrows the widest column that can give way, so that the others keep their contents whole. */
static bool narrow_widest(struct sheet *sheet)
{
	struct layout *widest = NULL;
	size_t i;

	for (i = 0; i < sheet->shown; i++) {
		struct layout *column = &sheet->columns[i];

		if (column->width > column->floor && (!widest || column->width > widest->width))
			widest = column;
	}
	if (widest)
		widest->width--;
	return widest != NULL;
}

static void fit(struct sheet *sheet)
{
	size_t i;

	if (sheet->width == 0 || total_width(sheet, NATURAL) <= sheet->width) {
		for (i = 0; i < sheet->shown; i++)
			sheet->columns[i].width = sheet->columns[i].natural;
		return;
	}
	while (sheet->shown > 1 && total_width(sheet, FLOOR) > sheet->width)
		sheet->shown--;
	while (total_width(sheet, WIDTH) > sheet->width && narrow_widest(sheet))
		;
	if (sheet->shown == 1 && sheet->columns[0].width > sheet->width)
		sheet->columns[0].width = sheet->width;
}

static void break_headers(struct sheet *sheet)
{
	size_t i;

	sheet->header_lines = 1;
	for (i = 0; i < sheet->shown; i++) {
		struct layout *column = &sheet->columns[i];

		if (!break_header(column, column->width)) {
			column->lines[0].begin = 0;
			column->lines[0].len = column->header.len;
			column->line_count = 1;
		}
		if (column->line_count > sheet->header_lines)
			sheet->header_lines = column->line_count;
	}
}

/* --- output ------------------------------------------------------------------------------- */

static void add_padding(struct tw_str *out, size_t count)
{
	while (count--)
		tw_str_add_char(out, ' ');
}

static void add_text(struct sheet *sheet, size_t index, const char *text, size_t len)
{
	const struct layout *column = &sheet->columns[index];
	struct tw_str *out = sheet->out;
	size_t begin, used;

	if (index)
		add_padding(out, GAP);
	begin = out->len;
	used = tw_text_width(text, len);
	if (column->number && used < column->width)
		add_padding(out, column->width - used);
	tw_shorten(out, text, len, column->width);
	if (out->failed)
		return;
	used = tw_text_width(out->ptr + begin, out->len - begin);
	if (used < column->width)
		add_padding(out, column->width - used);
}

static void end_line(struct tw_str *out)
{
	while (out->len && out->ptr[out->len - 1] == ' ')
		out->len--;
	tw_str_add_char(out, '\n');
}

static void add_header(struct sheet *sheet)
{
	unsigned line, skipped;
	size_t i, dash;

	for (line = 0; line < sheet->header_lines; line++) {
		for (i = 0; i < sheet->shown; i++) {
			const struct layout *column = &sheet->columns[i];

			/* Short headers are at the bottom, next to what they head. */
			skipped = sheet->header_lines - column->line_count;
			if (line < skipped)
				add_text(sheet, i, "", 0);
			else
				add_text(sheet, i,
					 column->header.ptr + column->lines[line - skipped].begin,
					 column->lines[line - skipped].len);
		}
		end_line(sheet->out);
	}
	for (i = 0; i < sheet->shown; i++) {
		add_padding(sheet->out, i ? GAP : 0);
		for (dash = 0; dash < sheet->columns[i].width; dash++)
			tw_str_add_char(sheet->out, '-');
	}
	tw_str_add_char(sheet->out, '\n');
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

static void add_rest(struct sheet *sheet)
{
	size_t rows = trawl_table_rows(sheet->table) - sheet->rows;
	size_t columns = sheet->column_count - sheet->shown;
	size_t notes = trawl_table_notes(sheet->table), i;

	if (trawl_table_rows(sheet->table) == 0)
		tw_str_add_cstr(sheet->out, "(no rows)\n");
	if (rows)
		tw_str_addf(sheet->out, "+%zu row%s: csv has all\n", rows, plural(rows));
	if (columns)
		tw_str_addf(sheet->out, "+%zu column%s: csv has all\n", columns, plural(columns));
	for (i = 0; i < notes; i++) {
		const char *note = trawl_table_note(sheet->table, i);

		tw_str_clear(&sheet->cell);
		tw_escape_terminal(&sheet->cell, note, strlen(note));
		tw_str_add_cstr(sheet->out, "note: ");
		tw_add_wrapped(sheet->out, sheet->cell.len ? sheet->cell.ptr : "", sheet->width, 6);
	}
}

static void add_table(struct sheet *sheet)
{
	size_t row, i;

	for (i = 0; i < sheet->column_count; i++)
		measure(sheet, i);
	if (sheet->out->failed || sheet->cell.failed)
		return;
	fit(sheet);
	break_headers(sheet);
	if (sheet->column_count)
		add_header(sheet);
	for (row = 0; row < sheet->rows && !sheet->out->failed; row++) {
		for (i = 0; i < sheet->shown; i++) {
			format_cell(sheet, row, i);
			add_text(sheet, i, sheet->cell.ptr, sheet->cell.len);
		}
		end_line(sheet->out);
	}
	add_rest(sheet);
}

void tw_render_text(const struct trawl_table *table, struct tw_str *out, unsigned width,
		    size_t max_rows)
{
	struct sheet sheet = { .table = table, .out = out, .width = width };
	const struct trawl_allocator *a = out->allocator;
	size_t i;

	sheet.column_count = sheet.shown = trawl_table_columns(table);
	sheet.rows = trawl_table_rows(table);
	if (max_rows && sheet.rows > max_rows)
		sheet.rows = max_rows;
	tw_str_init(&sheet.cell, a);
	sheet.columns = tw_alloc_array(a, sheet.column_count, sizeof(*sheet.columns));
	if (sheet.columns)
		add_table(&sheet);
	if (!sheet.columns || sheet.cell.failed)
		out->failed = true;
	for (i = 0; sheet.columns && i < sheet.column_count; i++)
		if (sheet.columns[i].header.allocator)
			tw_str_release(&sheet.columns[i].header);
	tw_free(a, sheet.columns, sheet.column_count * sizeof(*sheet.columns));
	tw_str_release(&sheet.cell);
}
