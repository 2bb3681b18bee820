/*
 * Workbooks: one sheet per table with a frozen bold header, a filter, number formats and column
 * widths; and "about" as the last one, which says what each sheet and column means, with the
 * notes.  Text is always a string, never a formula.  An integer above 2^53, which a spreadsheet
 * would round, is written as text, and so is a number larger than it can hold; what else is a
 * number has the 15 to 16 digits that spreadsheets have.
 */
#include "base/alloc.h"
#include "render/cell.h"
#include "render/escape.h"
#include "render/render.h"
#include "render/width.h"
#include "render/xlsx_file.h"
#include "text/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What the format can hold; the header takes one row. */
#define MAX_ROWS ((size_t)1048576 - 1)
#define MAX_COLUMNS ((size_t)16384)
#define SHEET_NAME_UNITS 31
#define SHEET_NAME_BYTES (SHEET_NAME_UNITS * 4 + 1)
#define LARGEST_NUMBER 9.99999999999999e307
#define EXACT_IN_DOUBLE ((int64_t)1 << 53)

/* More cells than this (about 60 MB inside the library) are written row by row. */
#define CELLS_IN_MEMORY ((size_t)500000)

/* Widths in characters. */
#define NARROWEST 6
#define WIDEST 60
#define FILTER_BUTTON 3
/* A column is widened up to HEADER_WIDTH to have its header on so many lines. */
#define USUAL_LINES 2
#define HEADER_WIDTH 24
#define HEADER_LINES 4
#define LINE_HEIGHT 15.0
/* Contents are measured up to here: what comes later seldom differs and can take long. */
#define MEASURED_ROWS ((size_t)10000)
#define MEASURED_BYTES ((size_t)4 * WIDEST)

/* Digits after the point that a number format is made for. */
#define MAX_DIGITS 15

/* What a verdict makes of a row. */
enum colour { GREEN, RED, COLOURS };

struct book {
	const struct trawl_table *const *tables;
	size_t count;
	struct tw_xlsx_file file;
	lxw_format *header, *wrapped, *bold;
	lxw_format *by_digits[MAX_DIGITS + 1];
	lxw_format *colours[COLOURS][MAX_DIGITS + 2]; /* the last for text; made when needed */
	char (*names)[SHEET_NAME_BYTES];	      /* of count + 1 sheets, about as the last */
	struct tw_str text;
	lxw_error error; /* the first */
	int number;	 /* its errno */
};

static void keep_error(struct book *book, lxw_error error)
{
	if (error && !book->error) {
		book->error = error;
		book->number = errno;
	}
}

/* Nothing more is to be done. */
static bool has_failed(const struct book *book)
{
	return book->error || book->text.failed;
}

/* --- names -------------------------------------------------------------------------------- */

static bool is_taken(const struct book *book, size_t before, const char *name)
{
	size_t i;

	/* Reserved for the change log of shared workbooks. */
	if (strcasecmp(name, "history") == 0)
		return true;
	for (i = 0; i < before; i++)
		if (strcasecmp(book->names[i], name) == 0)
			return true;
	return false;
}

/* `wanted` with what is not allowed replaced, at most `units` UTF-16 units. */
static size_t clean_name(char *out, const char *wanted, unsigned units)
{
	size_t len = strlen(wanted), i = 0, used = 0;
	unsigned count = 0;

	while (i < len) {
		uint32_t code;

		i += tw_utf8_next(wanted + i, len - i, &code);
		if (code == TW_UTF8_BAD || tw_utf8_is_unsafe(code) ||
		    (code < 0x80 && strchr("[]:*?/\\", (int)code)))
			code = '_';
		if (code == '\'' && (used == 0 || i == len))
			code = '_';
		count += code >= 0x10000 ? 2 : 1;
		if (count > units)
			break;
		used += tw_utf8_put(out + used, code);
	}
	/* The cut may have left an apostrophe at the end. */
	if (used && out[used - 1] == '\'')
		out[used - 1] = '_';
	out[used] = '\0';
	return used;
}

static void name_sheet(struct book *book, size_t index, const char *wanted)
{
	char *name = book->names[index], suffix[16];
	unsigned number;

	if (!*wanted)
		wanted = "sheet";
	clean_name(name, wanted, SHEET_NAME_UNITS);
	for (number = 2; is_taken(book, index, name); number++) {
		size_t len = (size_t)snprintf(suffix, sizeof(suffix), "_%u", number), used;

		used = clean_name(name, wanted, SHEET_NAME_UNITS - (unsigned)len);
		memcpy(name + used, suffix, len + 1);
	}
}

/* --- formats ------------------------------------------------------------------------------ */

static void make_formats(struct book *book)
{
	lxw_workbook *workbook = book->file.workbook;
	struct tw_str *text = &book->text;
	unsigned digits;

	book->header = workbook_add_format(workbook);
	book->wrapped = workbook_add_format(workbook);
	book->bold = workbook_add_format(workbook);
	for (digits = 0; digits <= MAX_DIGITS; digits++)
		book->by_digits[digits] = workbook_add_format(workbook);
	if (!book->header || !book->wrapped || !book->bold || !book->by_digits[MAX_DIGITS]) {
		keep_error(book, LXW_ERROR_MEMORY_MALLOC_FAILED);
		return;
	}
	format_set_bold(book->header);
	format_set_text_wrap(book->header);
	format_set_align(book->header, LXW_ALIGN_VERTICAL_TOP);
	format_set_bottom(book->header, LXW_BORDER_THIN);
	format_set_text_wrap(book->wrapped);
	format_set_align(book->wrapped, LXW_ALIGN_VERTICAL_TOP);
	format_set_bold(book->bold);
	format_set_align(book->bold, LXW_ALIGN_VERTICAL_TOP);
	for (digits = 0; digits <= MAX_DIGITS; digits++) {
		tw_str_clear(text);
		tw_str_add_real_fixed(text, 0, digits);
		if (!text->failed)
			format_set_num_format(book->by_digits[digits], text->ptr);
	}
}

static unsigned column_digits(const struct trawl_column *column)
{
	bool whole = column->type == TRAWL_COLUMN_INTEGER || column->type == TRAWL_COLUMN_ID;
	unsigned digits = whole ? 0 : column->digits;

	return digits < MAX_DIGITS ? digits : MAX_DIGITS;
}

/* NULL for text. */
static lxw_format *column_format(const struct book *book, const struct trawl_column *column)
{
	return column->type == TRAWL_COLUMN_TEXT ? NULL : book->by_digits[column_digits(column)];
}

/* Of a cell in colour, with the digits of its column. */
static lxw_format *coloured_format(struct book *book, const struct trawl_column *column,
				   enum colour colour)
{
	static const struct {
		lxw_color_t text, back;
	} looks[COLOURS] = { [GREEN] = { 0x1A7335, 0xE4F5E9 }, [RED] = { 0xB42318, 0xFDECEB } };
	bool is_text = column->type == TRAWL_COLUMN_TEXT;
	unsigned digits = is_text ? MAX_DIGITS + 1 : column_digits(column);
	lxw_format **format = &book->colours[colour][digits];

	if (*format)
		return *format;
	*format = workbook_add_format(book->file.workbook);
	if (!*format) {
		keep_error(book, LXW_ERROR_MEMORY_MALLOC_FAILED);
		return NULL;
	}
	format_set_font_color(*format, looks[colour].text);
	format_set_bg_color(*format, looks[colour].back);
	tw_str_clear(&book->text);
	tw_str_add_real_fixed(&book->text, 0, digits);
	if (!is_text && !book->text.failed)
		format_set_num_format(*format, book->text.ptr);
	return *format;
}

/* --- widths ------------------------------------------------------------------------------- */

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The longest word and the lines of the header at `width`, as spreadsheets break it. */
static size_t wrap_header(const char *header, size_t width, size_t *longest_word)
{
	size_t lines = 1, used = 0;
	const char *p = header;

	*longest_word = 0;
	while (*p) {
		size_t bytes = strcspn(p, " "), word = tw_text_width(p, bytes);

		if (word > *longest_word)
			*longest_word = word;
		if (used && used + 1 + word <= width) {
			used += 1 + word;
		} else {
			lines += used ? 1 : 0;
			lines += word > width ? (word - 1) / width : 0;
			used = word > width ? (word - 1) % width + 1 : word;
		}
		p += bytes;
		p += strspn(p, " ");
	}
	return lines;
}

static size_t contents_width(struct book *book, const struct trawl_table *table, size_t index)
{
	const struct trawl_column *column = trawl_table_column(table, index);
	size_t rows = smaller(trawl_table_rows(table), MEASURED_ROWS), widest = 0, row, width;

	for (row = 0; row < rows && widest < WIDEST && !book->text.failed; row++) {
		struct trawl_cell cell = trawl_table_cell(table, row, index);

		if (cell.state == TRAWL_CELL_MISSING)
			continue;
		if (tw_column_is_number(column)) {
			tw_str_clear(&book->text);
			tw_number_rounded(&book->text, column, &cell);
			width = book->text.len;
		} else {
			width = tw_text_width(cell.text, smaller(cell.text_len, MEASURED_BYTES));
		}
		if (width > widest)
			widest = width;
	}
	return widest;
}

static size_t column_width(struct book *book, const struct trawl_table *table, size_t index)
{
	const struct trawl_column *column = trawl_table_column(table, index);
	size_t header, contents, word;

	if (column->width)
		return smaller(column->width, WIDEST);
	contents = contents_width(book, table, index) + 1;
	wrap_header(column->header, WIDEST, &word);
	header = smaller(word, HEADER_WIDTH);
	while (header < HEADER_WIDTH && wrap_header(column->header, header, &word) > USUAL_LINES)
		header++;
	header += FILTER_BUTTON;
	if (contents < header)
		contents = header;
	return smaller(contents < NARROWEST ? NARROWEST : contents, WIDEST);
}

/* --- cells -------------------------------------------------------------------------------- */

/* `text` has been escaped and ends with a NUL; an empty one leaves the cell empty. */
static void put_string(struct book *book, lxw_worksheet *sheet, size_t row, size_t column,
		       lxw_format *format)
{
	if (has_failed(book) || book->text.len == 0)
		return;
	keep_error(book, worksheet_write_string(sheet, (lxw_row_t)row, (lxw_col_t)column,
						book->text.ptr, format));
	book->file.cells++;
}

static void put_text(struct book *book, lxw_worksheet *sheet, size_t row, size_t column,
		     const char *text, size_t len, lxw_format *format)
{
	tw_str_clear(&book->text);
	tw_escape_xlsx(&book->text, text, len);
	put_string(book, sheet, row, column, format);
}

static void put_cstr(struct book *book, lxw_worksheet *sheet, size_t row, size_t column,
		     const char *text, lxw_format *format)
{
	put_text(book, sheet, row, column, text, strlen(text), format);
}

/* The double nearest to value x 10^-scale. */
static double decimal_value(struct book *book, int64_t value, unsigned scale)
{
	tw_str_clear(&book->text);
	tw_str_add_decimal(&book->text, value, scale);
	return book->text.failed ? 0 : strtod(book->text.ptr, NULL);
}

static void put_number(struct book *book, lxw_worksheet *sheet, size_t row, size_t column,
		       const struct trawl_column *declared, const struct trawl_cell *cell,
		       lxw_format *format)
{
	double value = cell->real;

	if (declared->type == TRAWL_COLUMN_INTEGER &&
	    (cell->integer > EXACT_IN_DOUBLE || cell->integer < -EXACT_IN_DOUBLE)) {
		tw_str_clear(&book->text);
		tw_str_add_int(&book->text, cell->integer);
		put_string(book, sheet, row, column, format);
		return;
	}
	if (declared->type == TRAWL_COLUMN_INTEGER)
		value = (double)cell->integer;
	else if (declared->type == TRAWL_COLUMN_DECIMAL)
		value = decimal_value(book, cell->integer, declared->scale);
	if (fabs(value) > LARGEST_NUMBER) {
		tw_str_clear(&book->text);
		tw_str_add_real(&book->text, value);
		put_string(book, sheet, row, column, format);
		return;
	}
	keep_error(book,
		   worksheet_write_number(sheet, (lxw_row_t)row, (lxw_col_t)column, value, format));
	book->file.cells++;
}

/* Readers of workbooks take the text "False" for something that is there. */
static void put_boolean(struct book *book, lxw_worksheet *sheet, size_t row, size_t column,
			const struct trawl_cell *cell)
{
	bool is_true = cell->text_len == strlen("True") &&
		       !memcmp(cell->text, "True", cell->text_len);

	keep_error(book, worksheet_write_boolean(sheet, (lxw_row_t)row, (lxw_col_t)column, is_true,
						 NULL));
	book->file.cells++;
}

static void put_cell(struct book *book, lxw_worksheet *sheet, size_t row, size_t column,
		     const struct trawl_column *declared, const struct trawl_cell *cell,
		     lxw_format *format)
{
	static const struct trawl_column plain = { .type = TRAWL_COLUMN_INTEGER };
	struct trawl_cell number = *cell;

	if (declared->unit && !strcmp(declared->unit, "bool"))
		put_boolean(book, sheet, row, column, cell);
	else if (tw_column_is_number(declared))
		put_number(book, sheet, row, column, declared, cell, format);
	else if (tw_id_is_number(declared, cell, &number.integer))
		put_number(book, sheet, row, column, &plain, &number, format);
	else
		put_text(book, sheet, row, column, cell->text, cell->text_len, format);
}

/* --- sheets ------------------------------------------------------------------------------- */

static lxw_worksheet *add_sheet(struct book *book, size_t index)
{
	lxw_worksheet *sheet;

	if (has_failed(book))
		return NULL;
	errno = 0;
	sheet = workbook_add_worksheet(book->file.workbook, book->names[index]);
	if (!sheet)
		keep_error(book, errno == ENOMEM ? LXW_ERROR_MEMORY_MALLOC_FAILED :
						   LXW_ERROR_CREATING_TMPFILE);
	return sheet;
}

/* What every sheet of this workbook has: a header that stays and a filter over all rows. */
static void dress_sheet(struct book *book, lxw_worksheet *sheet, size_t rows, size_t columns)
{
	worksheet_freeze_panes(sheet, 1, 0);
	if (columns)
		keep_error(book, worksheet_autofilter(sheet, 0, 0, (lxw_row_t)rows,
						      (lxw_col_t)(columns - 1)));
	/* Ids and stream names in text columns are meant to be text. */
	keep_error(book, worksheet_ignore_errors(sheet, LXW_IGNORE_NUMBER_STORED_AS_TEXT,
						 "A1:XFD1048576"));
}

static void add_header(struct book *book, lxw_worksheet *sheet, const struct trawl_table *table,
		       size_t columns)
{
	size_t lines = 1, i;

	for (i = 0; i < columns && !has_failed(book); i++) {
		const struct trawl_column *column = trawl_table_column(table, i);
		size_t width = column_width(book, table, i), word, needed;

		keep_error(book, worksheet_set_column(sheet, (lxw_col_t)i, (lxw_col_t)i,
						      (double)width, column_format(book, column)));
		needed = wrap_header(column->header,
				     width > FILTER_BUTTON ? width - FILTER_BUTTON : 1, &word);
		if (needed > lines)
			lines = needed;
	}
	keep_error(book,
		   worksheet_set_row(sheet, 0, LINE_HEIGHT * (double)smaller(lines, HEADER_LINES),
				     NULL));
	for (i = 0; i < columns; i++)
		put_cstr(book, sheet, 0, i, trawl_table_column(table, i)->header, book->header);
}

/* ---- comparisons */

/* The verdict on a row, "": it has none. */
static struct trawl_cell verdict_of(const struct trawl_table *table, size_t row)
{
	const char *column = tw_table_spec(table)->verdict;

	return column ? tw_table_cell(table, row, column) :
			(struct trawl_cell){ .state = TRAWL_CELL_MISSING };
}

static bool cell_is(const struct trawl_cell *cell, const char *text)
{
	return text && cell->state == TRAWL_CELL_VALUE && cell->text &&
	       cell->text_len == strlen(text) && !strncasecmp(cell->text, text, cell->text_len);
}

/* Rows without a difference are an outline that is closed; its button is on the row after them. */
static void fold_row(struct book *book, lxw_worksheet *sheet, const struct trawl_table *table,
		     size_t row)
{
	const char *folded = tw_table_spec(table)->folded;
	struct trawl_cell own = verdict_of(table, row), above;
	lxw_row_col_options options = { 0 };

	if (!folded)
		return;
	if (row < trawl_table_rows(table) && cell_is(&own, folded)) {
		options.hidden = 1;
		options.level = 1;
	} else if (row) {
		above = verdict_of(table, row - 1);
		options.collapsed = cell_is(&above, folded);
	}
	if (options.level || options.collapsed)
		keep_error(book, worksheet_set_row_opt(sheet, (lxw_row_t)row + 1,
						       LXW_DEF_ROW_HEIGHT, NULL, &options));
}

/* Which colour a row's cells have; COLOURS: none. */
static enum colour colour_of(const struct trawl_table *table, size_t row)
{
	struct trawl_cell verdict = verdict_of(table, row);

	return cell_is(&verdict, "better") ? GREEN : cell_is(&verdict, "worse") ? RED : COLOURS;
}

static void add_row(struct book *book, lxw_worksheet *sheet, const struct trawl_table *table,
		    size_t row, size_t columns)
{
	enum colour colour = colour_of(table, row);
	size_t i;

	fold_row(book, sheet, table, row);
	for (i = 0; i < columns; i++) {
		const struct trawl_column *column = trawl_table_column(table, i);
		struct trawl_cell cell = trawl_table_cell(table, row, i);
		lxw_format *format = NULL;

		if (cell.state == TRAWL_CELL_MISSING)
			continue;
		if (colour != COLOURS)
			format = coloured_format(book, column, colour);
		put_cell(book, sheet, row + 1, i, column, &cell, format);
	}
}

static void add_table(struct book *book, size_t index)
{
	const struct trawl_table *table = book->tables[index];
	size_t rows = smaller(trawl_table_rows(table), MAX_ROWS), row;
	size_t columns = smaller(trawl_table_columns(table), MAX_COLUMNS);
	lxw_worksheet *sheet = add_sheet(book, index);

	if (!sheet)
		return;
	add_header(book, sheet, table, columns);
	for (row = 0; row < rows && !has_failed(book); row++)
		add_row(book, sheet, table, row, columns);
	if (rows && rows < MAX_ROWS)
		fold_row(book, sheet, table, rows);
	dress_sheet(book, sheet, rows, columns);
}

/* --- about -------------------------------------------------------------------------------- */

enum about_column { ABOUT_SHEET, ABOUT_COLUMN, ABOUT_UNIT, ABOUT_MEANING, ABOUT_COLUMNS };

static const struct {
	const char *header;
	double width;
} about_columns[ABOUT_COLUMNS] = {
	{ "Sheet", 30 },
	{ "Column", 36 },
	{ "Unit", 8 },
	{ "Meaning", 110 },
};

static void add_about_row(struct book *book, lxw_worksheet *sheet, size_t *row, const char *name,
			  const char *column, const char *unit, const char *meaning)
{
	put_cstr(book, sheet, *row, ABOUT_SHEET, name, *column ? book->wrapped : book->bold);
	put_cstr(book, sheet, *row, ABOUT_COLUMN, column, book->wrapped);
	put_cstr(book, sheet, *row, ABOUT_UNIT, unit, book->wrapped);
	put_cstr(book, sheet, *row, ABOUT_MEANING, meaning, book->wrapped);
	++*row;
}

/* A table that does not fit says so: nobody shall take the sheet for the whole. */
static void add_about_limits(struct book *book, lxw_worksheet *sheet, size_t *row, size_t index)
{
	const struct trawl_table *table = book->tables[index];
	size_t rows = trawl_table_rows(table), columns = trawl_table_columns(table);
	struct tw_str text;

	if (rows <= MAX_ROWS && columns <= MAX_COLUMNS)
		return;
	tw_str_init(&text, book->text.allocator);
	tw_str_addf(&text,
		    "The table has %zu rows and %zu columns; this sheet has the first %zu rows and "
		    "%zu columns. The CSV file is complete.",
		    rows, columns, smaller(rows, MAX_ROWS), smaller(columns, MAX_COLUMNS));
	if (text.failed)
		book->text.failed = true;
	else
		add_about_row(book, sheet, row, book->names[index], "(cut)", "", text.ptr);
	tw_str_release(&text);
}

static void add_about_table(struct book *book, lxw_worksheet *sheet, size_t *row, size_t index)
{
	const struct trawl_table *table = book->tables[index];
	size_t columns = trawl_table_columns(table), notes = trawl_table_notes(table), i;
	const char *name = book->names[index];

	add_about_row(book, sheet, row, name, "", "", trawl_table_meaning(table));
	if (strcmp(name, trawl_table_name(table)) != 0)
		add_about_row(book, sheet, row, name, "(name)", "", trawl_table_name(table));
	add_about_limits(book, sheet, row, index);
	for (i = 0; i < notes; i++)
		add_about_row(book, sheet, row, name, "(note)", "", trawl_table_note(table, i));
	for (i = 0; i < columns; i++) {
		const struct trawl_column *column = trawl_table_column(table, i);

		add_about_row(book, sheet, row, name, column->header,
			      column->unit ? column->unit : "",
			      column->meaning ? column->meaning : "");
	}
}

static void add_about(struct book *book)
{
	lxw_worksheet *sheet = add_sheet(book, book->count);
	size_t row = 1, i;

	if (!sheet)
		return;
	for (i = 0; i < ABOUT_COLUMNS; i++) {
		keep_error(book, worksheet_set_column(sheet, (lxw_col_t)i, (lxw_col_t)i,
						      about_columns[i].width, NULL));
		put_cstr(book, sheet, 0, i, about_columns[i].header, book->header);
	}
	for (i = 0; i < book->count && !has_failed(book); i++)
		add_about_table(book, sheet, &row, i);
	dress_sheet(book, sheet, row - 1, ABOUT_COLUMNS);
}

/* --- the whole ---------------------------------------------------------------------------- */

static bool is_large(const struct trawl_table *const *tables, size_t count)
{
	size_t cells = 0, i;

	for (i = 0; i < count; i++)
		cells += trawl_table_rows(tables[i]) * trawl_table_columns(tables[i]);
	return cells > CELLS_IN_MEMORY;
}

static int fill(void *context, struct trawl_error *err)
{
	struct book *book = context;
	size_t i;

	/* Not the caller's allocator: who knows which locks it has. */
	tw_str_init(&book->text, trawl_allocator_default());
	for (i = 0; i < book->count; i++)
		name_sheet(book, i, trawl_table_name(book->tables[i]));
	name_sheet(book, book->count, "about");
	make_formats(book);
	for (i = 0; i < book->count; i++)
		add_table(book, i);
	add_about(book);
	if (book->text.failed)
		keep_error(book, LXW_ERROR_MEMORY_MALLOC_FAILED);
	tw_str_release(&book->text);
	return tw_xlsx_error(&book->file, book->error, book->number, err);
}

int tw_render_xlsx(const struct trawl_table *const *tables, size_t count, const char *path,
		   const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct book book = { .tables = tables, .count = count };
	int status = tw_xlsx_open(&book.file, path, is_large(tables, count), allocator, err);

	if (status)
		return status;
	book.names = tw_alloc_array(allocator, count + 1, sizeof(*book.names));
	if (book.names)
		status = tw_xlsx_make(&book.file, fill, &book, err);
	else
		status = tw_xlsx_error(&book.file, LXW_ERROR_MEMORY_MALLOC_FAILED, 0, err);
	if (status)
		tw_xlsx_abort(&book.file);
	else
		status = tw_xlsx_close(&book.file, err);
	tw_free(allocator, book.names, (count + 1) * sizeof(*book.names));
	return status;
}
