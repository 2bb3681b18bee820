#include "study/sweep/sheet.h"

#include "base/alloc.h"
#include "text/scan.h"

#include <limits.h>
#include <math.h>
#include <string.h>

void tw_sheet_begin(struct tw_sheet *sheet, struct tw_csv *csv, struct tw_arena *arena,
		    size_t columns, size_t rows)
{
	size_t cells, bytes, i;

	*sheet = (struct tw_sheet){ .csv = csv, .arena = arena };
	*csv = (struct tw_csv){ 0 };
	tw_str_init(&sheet->scratch, arena->allocator);
	if (__builtin_mul_overflow(columns, rows + 1, &cells) ||
	    __builtin_mul_overflow(cells + 1, sizeof(*csv->cells), &bytes) ||
	    !(csv->cells = tw_arena_alloc(arena, bytes))) {
		sheet->failed = true;
		return;
	}
	csv->columns = columns;
	csv->rows = rows;
	for (i = 0; i < cells; i++)
		csv->cells[i] = "";
}

static bool is_among(const char *header, const char *const *headers, size_t count)
{
	size_t i;

	for (i = 0; i < count && strcmp(headers[i], header); i++)
		;
	return i < count;
}

void tw_sheet_extend(struct tw_sheet *sheet, struct tw_csv *csv, struct tw_arena *arena,
		     const struct tw_csv *in, const char *const *headers, size_t count)
{
	size_t kept = 0, column = 0, row, i;

	for (i = 0; i < in->columns; i++)
		kept += !is_among(in->cells[i], headers, count);
	tw_sheet_begin(sheet, csv, arena, kept + count, in->rows);
	sheet->own = kept;
	if (sheet->failed)
		return;
	for (i = 0; i < in->columns; i++) {
		if (is_among(in->cells[i], headers, count))
			continue;
		for (row = 0; row <= in->rows; row++)
			csv->cells[row * csv->columns + column] = in->cells[row * in->columns + i];
		column++;
	}
	for (i = 0; i < count; i++)
		tw_sheet_header(sheet, kept + i, headers[i]);
}

int tw_sheet_end(struct tw_sheet *sheet, struct trawl_error *err)
{
	bool failed = sheet->failed || sheet->scratch.failed;

	tw_str_release(&sheet->scratch);
	return failed ? tw_no_memory(err) : 0;
}

void tw_sheet_header(struct tw_sheet *sheet, size_t column, const char *text)
{
	if (!sheet->failed)
		sheet->csv->cells[column] = text;
}

void tw_sheet_text(struct tw_sheet *sheet, size_t row, size_t column, const char *text)
{
	if (!sheet->failed)
		sheet->csv->cells[(row + 1) * sheet->csv->columns + column] = text;
}

void tw_sheet_copy(struct tw_sheet *sheet, size_t row, size_t column, const char *text, size_t len)
{
	char *copy = sheet->failed ? NULL : tw_arena_copy(sheet->arena, text, len);

	if (copy)
		tw_sheet_text(sheet, row, column, copy);
	else
		sheet->failed = true;
}

static void set_scratch(struct tw_sheet *sheet, size_t row, size_t column)
{
	if (sheet->scratch.failed)
		sheet->failed = true;
	else if (sheet->scratch.len)
		tw_sheet_copy(sheet, row, column, sheet->scratch.ptr, sheet->scratch.len);
}

void tw_sheet_decimal(struct tw_sheet *sheet, size_t row, size_t column, int64_t value,
		      unsigned scale)
{
	tw_str_clear(&sheet->scratch);
	tw_str_add_decimal(&sheet->scratch, value, scale);
	set_scratch(sheet, row, column);
}

void tw_sheet_fixed(struct tw_sheet *sheet, size_t row, size_t column, int64_t value,
		    unsigned scale, unsigned digits)
{
	tw_str_clear(&sheet->scratch);
	tw_str_add_decimal_fixed(&sheet->scratch, value, scale, digits);
	set_scratch(sheet, row, column);
}

void tw_sheet_real(struct tw_sheet *sheet, size_t row, size_t column, double value)
{
	tw_str_clear(&sheet->scratch);
	tw_str_add_real(&sheet->scratch, value);
	set_scratch(sheet, row, column);
}

/* ---- numbers */

/* A double that fits 64 bits once it is scaled. */
static bool real_of(const char *text, unsigned scale, int64_t *value)
{
	const double limit = 9.2e18;
	char copy[64] = "";
	size_t len = strlen(text);
	double real;

	/* tw_parse_real() looks at eight bytes at once. */
	if (!len || len > sizeof(copy) - 9)
		return false;
	memcpy(copy, text, len);
	if (tw_parse_real(copy, &real) != copy + len)
		return false;
	while (scale--)
		real *= 10;
	if (!(fabs(real) < limit))
		return false;
	*value = llround(real);
	return true;
}

bool tw_decimal_of(const char *text, unsigned scale, int64_t *value)
{
	const char *p = text + (*text == '-' || *text == '+');
	bool point = false, digits = false, up = false;
	unsigned behind = 0;
	int64_t n = 0;

	for (; tw_is_digit(*p) || (*p == '.' && !point); p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		digits = true;
		if (point && behind++ >= scale) {
			if (behind == scale + 1)
				up = *p >= '5';
			continue;
		}
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p - '0', &n))
			return false;
	}
	if (*p || !digits)
		return digits && real_of(text, scale, value);
	for (; behind < scale; behind++)
		if (__builtin_mul_overflow(n, 10, &n))
			return false;
	if (up && __builtin_add_overflow(n, 1, &n))
		return false;
	*value = *text == '-' ? -n : n;
	return true;
}

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

bool tw_whole_of(const char *text, int64_t *value)
{
	enum { DIGITS = 3 };
	int64_t scaled;

	if (!tw_decimal_of(text, DIGITS, &scaled) || scaled % 1000)
		return false;
	*value = scaled / 1000;
	return true;
}

/* ---- texts that mean the same */

/* The letter at *p with both signs for micro as u; moves behind it. */
static char header_letter(const char **p)
{
	const char *at = *p;

	if (!strncmp(at, "\xc2\xb5", 2) || !strncmp(at, "\xce\xbc", 2)) {
		*p += 2;
		return 'u';
	}
	return *at ? *(*p)++ : '\0';
}

bool tw_same_header(const char *a, const char *b)
{
	char x, y;

	do {
		x = header_letter(&a);
		y = header_letter(&b);
	} while (x && x == y);
	return x == y;
}

size_t tw_sheet_column(const struct tw_csv *csv, const char *header)
{
	size_t i;

	for (i = 0; i < csv->columns; i++)
		if (tw_same_header(csv->cells[i], header))
			return i;
	return TW_CSV_NO_COLUMN;
}

int tw_sheet_needs(const struct tw_csv *csv, const char *const *headers, size_t count,
		   struct trawl_error *err)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (tw_csv_column(csv, headers[i]) == TW_CSV_NO_COLUMN)
			return trawl_error_set(err, TRAWL_EFORMAT,
					       "no column '%s': not a file of the step before",
					       headers[i]);
	return 0;
}

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
	if (tw_decimal_of(a, 3, &m) && tw_decimal_of(b, 3, &n))
		return m == n;
	do {
		x = argument_letter(&a);
		y = argument_letter(&b);
	} while (x && x == y);
	return x == y;
}
