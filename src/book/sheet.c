#include "book/sheet.h"

#include "base/alloc.h"
#include "text/scan.h"
#include "text/utf8.h"

#include <string.h>

/* What the format can hold. */
#define MAX_ROWS 1048576u
#define MAX_COLUMNS 16384u
/*
 * A few cells far apart would take the memory of a whole sheet: up to here anything goes, above
 * it one cell in so many must be there.
 */
#define ANY_CELLS ((size_t)1 << 20)
#define EMPTY_TO_FULL 64

struct place {
	uint32_t row, column; /* from 0 */
	const char *text;
};

/* What text belongs to at the moment. */
enum inside { NOTHING, VALUE };

struct sheet {
	struct tw_part part;
	struct tw_arena *arena;
	const struct tw_shared_texts *texts; /* of the workbook */
	struct tw_str cells;		     /* struct place, as bytes */
	struct tw_str text;		     /* of the cell, or of the shared text */
	enum inside inside;
	bool in_phonetic; /* <rPh>: pronunciation */
	bool in_data, in_cell, seen_root;
	char type[12];	      /* of the cell */
	uint32_t row, column; /* of the next cell */
	const char *root;     /* what its first element must be */
};

static void out_of_memory(struct sheet *sheet)
{
	tw_part_fail(&sheet->part, TRAWL_ENOMEM, "out of memory");
}

static void keep_text(struct tw_part *part, const char *text, size_t len)
{
	struct sheet *sheet = (struct sheet *)part;

	if (sheet->inside == NOTHING)
		return;
	tw_str_add(&sheet->text, text, len);
	if (sheet->text.failed)
		out_of_memory(sheet);
}

/* ---- texts */

/* The character of _xHHHH_, which is how workbooks write what XML cannot; -1: it is none. */
static int escaped(const char *text, size_t len)
{
	int code = 0, i;

	if (len < 7 || text[0] != '_' || text[1] != 'x' || text[6] != '_')
		return -1;
	for (i = 2; i < 6; i++) {
		int digit = tw_hex_digit(text[i]);

		if (digit < 0)
			return -1;
		code = code << 4 | digit;
	}
	return code;
}

/* In place.  Half a pair of UTF-16, and NUL, stay as they are written. */
static void decode(struct tw_str *text)
{
	size_t from = 0, to = 0;

	if (!text->len || !memchr(text->ptr, '_', text->len))
		return;
	while (from < text->len) {
		int code = escaped(text->ptr + from, text->len - from);

		if (code > 0 && (code < 0xD800 || code > 0xDFFF)) {
			to += tw_utf8_put(text->ptr + to, (uint32_t)code);
			from += 7;
		} else {
			text->ptr[to++] = text->ptr[from++];
		}
	}
	text->len = to;
	text->ptr[to] = '\0';
}

static const char *copy_text(struct sheet *sheet, const struct tw_str *text)
{
	const char *copy;

	if (!text->len)
		return "";
	copy = tw_arena_copy(sheet->arena, text->ptr, text->len);
	if (!copy)
		out_of_memory(sheet);
	return copy;
}

/* A plain integer is kept digit by digit, however long; else the shortest that reads back. */
static void shorten_number(struct tw_str *text)
{
	size_t i = text->len && text->ptr[0] == '-', begin = i;
	double value;

	while (i < text->len && tw_is_digit(text->ptr[i]))
		i++;
	if (i == text->len && i > begin && (text->ptr[begin] != '0' || i == 1))
		return;
	if (!tw_text_real(text->ptr, text->len, &value))
		return;
	tw_str_clear(text);
	tw_str_add_real(text, value);
}

/* ---- cells */

static void add_cell(struct sheet *sheet, const char *text)
{
	struct place place = { sheet->row, sheet->column, text };

	if (!text || !*text)
		return;
	tw_str_add(&sheet->cells, (const char *)&place, sizeof(place));
	if (sheet->cells.failed)
		out_of_memory(sheet);
	else if (sheet->cells.len / sizeof(place) > TW_SHEET_MOST_CELLS)
		tw_part_fail(&sheet->part, TRAWL_EFORMAT, "more cells than the limit of %zu",
			     TW_SHEET_MOST_CELLS);
}

static void end_shared(struct sheet *sheet)
{
	uint64_t index;
	unsigned digits;
	char number[32] = "";

	if (sheet->text.len && sheet->text.len < 20) {
		memcpy(number, sheet->text.ptr, sheet->text.len);
		if (tw_parse_digits(number, &index, &digits) == number + sheet->text.len &&
		    digits < 19 && index < sheet->texts->count) {
			add_cell(sheet, sheet->texts->items[index]);
			return;
		}
	}
	if (sheet->texts->problem) {
		tw_part_fail(&sheet->part, TRAWL_EFORMAT, "%s", sheet->texts->problem);
		return;
	}
	tw_part_fail(&sheet->part, TRAWL_EFORMAT,
		     "row %u, column %u: string index outside the %zu of the workbook",
		     sheet->row + 1, sheet->column + 1, sheet->texts->count);
}

static void end_cell(struct sheet *sheet)
{
	struct tw_str *text = &sheet->text;
	const char *type = sheet->type;

	sheet->in_cell = false;
	if (!text->len)
		return;
	if (!strcmp(type, "s")) {
		end_shared(sheet);
		return;
	}
	if (!strcmp(type, "b") && text->len == 1 && (text->ptr[0] == '1' || text->ptr[0] == '0')) {
		add_cell(sheet, text->ptr[0] == '1' ? "True" : "False");
		return;
	}
	if (!*type || !strcmp(type, "n"))
		shorten_number(text);
	else if (!strcmp(type, "str") || !strcmp(type, "inlineStr"))
		decode(text);
	add_cell(sheet, copy_text(sheet, text));
}

/* "AB12": false when it is beyond what a sheet can have, or no reference. */
static bool parse_reference(const char *text, uint32_t *row, uint32_t *column)
{
	uint32_t letters = 0, digits = 0;
	size_t i = 0;

	for (; (text[i] | 32) >= 'a' && (text[i] | 32) <= 'z' && i < 4; i++)
		letters = letters * 26 + (uint32_t)((text[i] | 32) - 'a' + 1);
	if (!i || letters > MAX_COLUMNS)
		return false;
	for (; tw_is_digit(text[i]) && digits <= MAX_ROWS; i++)
		digits = digits * 10 + (uint32_t)(text[i] - '0');
	if (text[i] || !digits || digits > MAX_ROWS)
		return false;
	*row = digits - 1;
	*column = letters - 1;
	return true;
}

static void begin_row(struct sheet *sheet, const char **attributes)
{
	const char *number = tw_part_attribute(attributes, "r");
	uint32_t row = 0, column;
	char reference[16] = "A";

	sheet->column = 0;
	if (!number)
		return;
	if (strlen(number) < sizeof(reference) - 1)
		memcpy(reference + 1, number, strlen(number) + 1);
	if (!parse_reference(reference, &row, &column))
		tw_part_fail(&sheet->part, TRAWL_EFORMAT, "invalid row number '%.20s'", number);
	sheet->row = row;
}

static void begin_cell(struct sheet *sheet, const char **attributes)
{
	const char *reference = tw_part_attribute(attributes, "r");
	const char *type = tw_part_attribute(attributes, "t");

	if (reference && !parse_reference(reference, &sheet->row, &sheet->column)) {
		tw_part_fail(&sheet->part, TRAWL_EFORMAT, "invalid cell reference '%.20s'",
			     reference);
		return;
	}
	if (sheet->row >= MAX_ROWS || sheet->column >= MAX_COLUMNS) {
		tw_part_fail(&sheet->part, TRAWL_EFORMAT,
			     "more than the maximum of %u rows or %u columns", MAX_ROWS,
			     MAX_COLUMNS);
		return;
	}
	sheet->in_cell = true;
	tw_str_clear(&sheet->text);
	memset(sheet->type, 0, sizeof(sheet->type));
	if (type)
		memcpy(sheet->type, type, strnlen(type, sizeof(sheet->type) - 1));
}

static bool check_root(struct sheet *sheet, const char *name)
{
	if (!sheet->seen_root && strcmp(name, sheet->root))
		tw_part_fail(&sheet->part, TRAWL_EFORMAT, "it holds <%.40s>, not <%s>", name,
			     sheet->root);
	sheet->seen_root = true;
	return !sheet->part.status;
}

static void sheet_begin(struct tw_part *part, const char *name, const char **attributes)
{
	struct sheet *sheet = (struct sheet *)part;

	if (!check_root(sheet, name))
		return;
	if (!strcmp(name, "sheetData"))
		sheet->in_data = true;
	else if (!sheet->in_data)
		return;
	else if (!strcmp(name, "row"))
		begin_row(sheet, attributes);
	else if (!strcmp(name, "c"))
		begin_cell(sheet, attributes);
	else if (!strcmp(name, "rPh"))
		sheet->in_phonetic = true;
	else if (sheet->in_cell && (!strcmp(name, "v") || (!strcmp(name, "t"))))
		sheet->inside = sheet->in_phonetic ? NOTHING : VALUE;
}

static void sheet_end(struct tw_part *part, const char *name)
{
	struct sheet *sheet = (struct sheet *)part;

	if (!strcmp(name, "v") || !strcmp(name, "t")) {
		sheet->inside = NOTHING;
	} else if (!strcmp(name, "c")) {
		if (sheet->in_cell)
			end_cell(sheet);
		sheet->column++;
	} else if (!strcmp(name, "row")) {
		sheet->row++;
	} else if (!strcmp(name, "rPh")) {
		sheet->in_phonetic = false;
	} else if (!strcmp(name, "sheetData")) {
		sheet->in_data = false;
	}
}

/* ---- the whole */

struct extent {
	uint32_t first, rows, columns; /* rows from the first that has a cell */
};

static struct extent extent_of(const struct place *places, size_t count)
{
	struct extent e = { UINT32_MAX, 0, 0 };
	size_t i;

	for (i = 0; i < count; i++) {
		e.first = places[i].row < e.first ? places[i].row : e.first;
		e.rows = places[i].row + 1 > e.rows ? places[i].row + 1 : e.rows;
		e.columns = places[i].column + 1 > e.columns ? places[i].column + 1 : e.columns;
	}
	e.rows -= count ? e.first : 0;
	return e;
}

static int lay_out(struct sheet *sheet, struct tw_csv *csv, struct trawl_error *err)
{
	const struct place *places = (const struct place *)(const void *)sheet->cells.ptr;
	size_t count = sheet->cells.len / sizeof(*places), i, total;
	struct extent extent = extent_of(places, count);

	if (!count)
		return 0;
	total = (size_t)extent.rows * extent.columns;
	if (total > TW_SHEET_MOST_CELLS || (total > ANY_CELLS && total / EMPTY_TO_FULL > count))
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "%zu cells in %u rows and %u columns: more than the limit "
				       "(%zu cells, most of them non-empty)",
				       count, extent.rows, extent.columns, TW_SHEET_MOST_CELLS);
	csv->cells = tw_arena_alloc(sheet->arena, total * sizeof(*csv->cells));
	if (!csv->cells)
		return tw_no_memory(err);
	csv->columns = extent.columns;
	csv->rows = extent.rows - 1;
	for (i = 0; i < total; i++)
		csv->cells[i] = "";
	for (i = 0; i < count; i++)
		csv->cells[(size_t)(places[i].row - extent.first) * extent.columns +
			   places[i].column] = places[i].text;
	return 0;
}

static void start_sheet(struct sheet *sheet, const struct tw_part_ops *ops, const char *root,
			struct tw_arena *arena)
{
	*sheet = (struct sheet){ .part.ops = ops, .root = root, .arena = arena };
	tw_str_init(&sheet->cells, arena->allocator);
	tw_str_init(&sheet->text, arena->allocator);
}

static void end_sheet(struct sheet *sheet)
{
	tw_str_release(&sheet->cells);
	tw_str_release(&sheet->text);
}

int tw_sheet_read(struct tw_csv *csv, const struct tw_package *package, const char *part,
		  const struct tw_shared_texts *texts, struct tw_arena *arena,
		  struct trawl_error *err)
{
	static const struct tw_part_ops ops = { sheet_begin, sheet_end, keep_text };
	struct sheet sheet;
	int status;

	*csv = (struct tw_csv){ 0 };
	start_sheet(&sheet, &ops, "worksheet", arena);
	sheet.texts = texts;
	status = tw_package_read(package, part, &sheet.part, err);
	if (!status)
		status = lay_out(&sheet, csv, err);
	end_sheet(&sheet);
	return status;
}

/* ---- texts that sheets share */

static void texts_begin(struct tw_part *part, const char *name, const char **attributes)
{
	struct sheet *sheet = (struct sheet *)part;

	(void)attributes;
	if (!check_root(sheet, name))
		return;
	if (!strcmp(name, "si"))
		tw_str_clear(&sheet->text);
	else if (!strcmp(name, "rPh"))
		sheet->in_phonetic = true;
	else if (!strcmp(name, "t"))
		sheet->inside = sheet->in_phonetic ? NOTHING : VALUE;
}

static void texts_end(struct tw_part *part, const char *name)
{
	struct sheet *sheet = (struct sheet *)part;
	const char *text;

	if (!strcmp(name, "t"))
		sheet->inside = NOTHING;
	else if (!strcmp(name, "rPh"))
		sheet->in_phonetic = false;
	if (strcmp(name, "si"))
		return;
	decode(&sheet->text);
	text = copy_text(sheet, &sheet->text);
	tw_str_add(&sheet->cells, (const char *)&text, sizeof(text));
	if (sheet->cells.failed)
		out_of_memory(sheet);
	else if (sheet->cells.len / sizeof(text) > TW_SHEET_MOST_CELLS)
		tw_part_fail(part, TRAWL_EFORMAT, "more strings than the limit of %zu",
			     TW_SHEET_MOST_CELLS);
}

int tw_shared_texts_read(struct tw_shared_texts *texts, const struct tw_package *package,
			 const char *part, struct tw_arena *arena, struct trawl_error *err)
{
	static const struct tw_part_ops ops = { texts_begin, texts_end, keep_text };
	struct sheet sheet;
	const char **items = NULL;
	int status;

	*texts = (struct tw_shared_texts){ 0 };
	start_sheet(&sheet, &ops, "sst", arena);
	status = tw_package_read(package, part, &sheet.part, err);
	if (!status && sheet.cells.len) {
		items = tw_arena_alloc(arena, sheet.cells.len);
		if (items)
			memcpy(items, sheet.cells.ptr, sheet.cells.len);
		else
			status = tw_no_memory(err);
	}
	if (!status) {
		texts->items = (const char *const *)items;
		texts->count = sheet.cells.len / sizeof(*items);
	}
	end_sheet(&sheet);
	return status;
}
