/*
 * Head: the mark, the length of what follows the head, its hash.  Then numbers of 7 bits a byte,
 * the last of which has no eighth bit; integers with the sign in the lowest bit; reals as they lie
 * in memory; strings of the declaration with a NUL after them, texts of cells with their length.
 * Cells follow column by column: of a text length + 1, 0 for a missing one; of numbers first a bit
 * each, then the values that there are.
 */
#include "table/pack.h"
#include "base/alloc.h"
#include "base/hash.h"

#include <math.h>
#include <string.h>

#define MARK "TRAWLTB2"
#define MARK_BYTES 8
#define HEAD_BYTES (MARK_BYTES + 8 + 8)
#define VARINT_BYTES 10
/* Three strings of at least a NUL, type, scale, digits, width, over ranks, place. */
#define COLUMN_BYTES 9
/* 10^18 is the largest power of ten that an exact decimal of 64 bits can be scaled by. */
#define MAX_DIGITS 18

/* --- writing ------------------------------------------------------------------------------ */

static void put_u64(struct tw_str *out, uint64_t value)
{
	tw_str_add(out, (const char *)&value, sizeof(value));
}

static void put_number(struct tw_str *out, uint64_t value)
{
	while (value > 0x7f) {
		tw_str_add_char(out, (char)((value & 0x7f) | 0x80));
		value >>= 7;
	}
	tw_str_add_char(out, (char)value);
}

static void put_string(struct tw_str *out, const char *text)
{
	tw_str_add(out, text ? text : "", text ? strlen(text) + 1 : 1);
}

static bool is_text(const struct trawl_column *column)
{
	return column->type == TRAWL_COLUMN_TEXT || column->type == TRAWL_COLUMN_ID;
}

static void put_declaration(struct tw_str *out, const struct trawl_table *table)
{
	const struct tw_table_spec *spec = tw_table_spec(table);
	size_t columns = trawl_table_columns(table), i;

	put_string(out, trawl_table_name(table));
	put_string(out, trawl_table_meaning(table));
	tw_str_add_char(out, (char)(spec->keep_empty | spec->in_order << 1));
	put_number(out, columns);
	for (i = 0; i < columns; i++) {
		const struct trawl_column *column = trawl_table_column(table, i);

		put_string(out, column->header);
		put_string(out, column->unit);
		put_string(out, column->meaning);
		tw_str_add_char(out, (char)column->type);
		tw_str_add_char(out, (char)column->scale);
		tw_str_add_char(out, (char)column->digits);
		tw_str_add_char(out, (char)column->width);
		tw_str_add_char(out, (char)column->over_ranks);
		tw_str_add_char(out, (char)column->place);
	}
}

static void put_texts(struct tw_str *out, const struct trawl_table *table, size_t column)
{
	size_t rows = trawl_table_rows(table), row;

	for (row = 0; row < rows; row++) {
		struct trawl_cell cell = trawl_table_cell(table, row, column);
		bool is_there = cell.state == TRAWL_CELL_VALUE;

		put_number(out, is_there ? (uint64_t)cell.text_len + 1 : 0);
		if (is_there)
			tw_str_add(out, cell.text, cell.text_len);
	}
}

/* Small numbers of either sign become small numbers without one. */
static uint64_t fold_sign(int64_t value)
{
	return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static int64_t unfold_sign(uint64_t value)
{
	return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

static void put_present(struct tw_str *out, const struct trawl_table *table, size_t column)
{
	size_t rows = trawl_table_rows(table), row, bit;

	for (row = 0; row < rows; row += 8) {
		unsigned byte = 0;

		for (bit = 0; bit < 8; bit++)
			if (trawl_table_cell(table, row + bit, column).state == TRAWL_CELL_VALUE)
				byte |= 1U << bit;
		tw_str_add_char(out, (char)byte);
	}
}

static void put_numbers(struct tw_str *out, const struct trawl_table *table, size_t column)
{
	bool real = trawl_table_column(table, column)->type == TRAWL_COLUMN_REAL;
	size_t rows = trawl_table_rows(table), row;

	put_present(out, table, column);
	for (row = 0; row < rows; row++) {
		struct trawl_cell cell = trawl_table_cell(table, row, column);

		if (cell.state != TRAWL_CELL_VALUE)
			continue;
		if (real)
			tw_str_add(out, (const char *)&cell.real, sizeof(cell.real));
		else
			put_number(out, fold_sign(cell.integer));
	}
}

void tw_table_pack(const struct trawl_table *table, struct tw_str *out)
{
	size_t columns = trawl_table_columns(table), notes = trawl_table_notes(table), i;
	size_t start = out->len;
	uint64_t head[2];

	tw_str_add(out, MARK, MARK_BYTES);
	put_u64(out, 0);
	put_u64(out, 0);
	put_declaration(out, table);
	put_number(out, columns ? trawl_table_rows(table) : 0);
	for (i = 0; i < columns; i++)
		if (is_text(trawl_table_column(table, i)))
			put_texts(out, table, i);
		else
			put_numbers(out, table, i);
	put_number(out, notes);
	for (i = 0; i < notes; i++)
		put_string(out, trawl_table_note(table, i));
	if (out->failed)
		return;
	head[0] = out->len - start - HEAD_BYTES;
	head[1] = tw_hash_fixed(out->ptr + start + HEAD_BYTES, head[0]);
	memcpy(out->ptr + start + MARK_BYTES, head, sizeof(head));
}

/* --- reading ------------------------------------------------------------------------------ */

/* What is left to read.  A failure is sticky, and from then on everything is 0 and "". */
struct input {
	const char *at, *end;
	bool wrong;
};

static size_t left(const struct input *in)
{
	return in->wrong ? 0 : (size_t)(in->end - in->at);
}

static const char *take(struct input *in, uint64_t bytes)
{
	const char *at = in->at;

	if (bytes > left(in)) {
		in->wrong = true;
		return NULL;
	}
	in->at += bytes;
	return at;
}

static unsigned char take_byte(struct input *in)
{
	const char *byte = take(in, 1);

	return byte ? (unsigned char)*byte : 0;
}

static uint64_t take_number(struct input *in)
{
	uint64_t value = 0;
	unsigned i;

	for (i = 0; i < VARINT_BYTES; i++) {
		unsigned char byte = take_byte(in);
		uint64_t bits = byte & 0x7f;

		/* The tenth byte has room for one bit. */
		if (i == VARINT_BYTES - 1 && byte > 1)
			break;
		value |= bits << 7 * i;
		if (!(byte & 0x80))
			return in->wrong ? 0 : value;
	}
	in->wrong = true;
	return 0;
}

static const char *take_string(struct input *in)
{
	const char *text = in->at, *nul = left(in) ? memchr(text, 0, left(in)) : NULL;

	if (!nul) {
		in->wrong = true;
		return "";
	}
	in->at = nul + 1;
	return text;
}

/* A count of things of which each takes at least so many bits. */
static size_t take_count(struct input *in, size_t bits)
{
	uint64_t count = take_number(in);

	if (count > left(in) * 8 / bits) {
		in->wrong = true;
		return 0;
	}
	return (size_t)count;
}

static bool take_column(struct input *in, struct trawl_column *column)
{
	unsigned char type, role;

	*column = (struct trawl_column){ 0 };
	column->header = take_string(in);
	column->unit = take_string(in);
	column->meaning = take_string(in);
	type = take_byte(in);
	column->scale = take_byte(in);
	column->digits = take_byte(in);
	column->width = take_byte(in);
	role = take_byte(in);
	column->place = (signed char)take_byte(in);
	if (type > TRAWL_COLUMN_ID || role > TRAWL_MAX || column->scale > MAX_DIGITS ||
	    column->digits > MAX_DIGITS)
		in->wrong = true;
	column->over_ranks = in->wrong ? TRAWL_NOT_SUMMED : (enum trawl_over_ranks)role;
	column->type = in->wrong ? TRAWL_COLUMN_TEXT : (enum trawl_column_type)type;
	return !in->wrong;
}

static void take_texts(struct input *in, struct trawl_table *table, size_t column, size_t rows)
{
	size_t row;

	for (row = 0; row < rows && !in->wrong; row++) {
		uint64_t len = take_number(in);
		const char *text = len ? take(in, len - 1) : NULL;

		if (text)
			tw_table_set_text(table, row, column, text, (size_t)len - 1);
	}
}

static void take_value(struct input *in, struct trawl_table *table, size_t column, size_t row)
{
	const char *bytes;
	double real;

	if (trawl_table_column(table, column)->type != TRAWL_COLUMN_REAL) {
		tw_table_set_integer(table, row, column, unfold_sign(take_number(in)));
		return;
	}
	bytes = take(in, sizeof(real));
	if (!bytes)
		return;
	memcpy(&real, bytes, sizeof(real));
	in->wrong |= !isfinite(real);
	tw_table_set_real(table, row, column, real);
}

static void take_numbers(struct input *in, struct trawl_table *table, size_t column, size_t rows)
{
	size_t bytes = rows / 8 + (rows % 8 != 0), row;
	const char *present = take(in, bytes);

	if (!present)
		return;
	if (rows % 8 && (unsigned char)present[bytes - 1] >> rows % 8)
		in->wrong = true;
	for (row = 0; row < rows && !in->wrong; row++)
		if ((unsigned char)present[row / 8] >> row % 8 & 1)
			take_value(in, table, column, row);
}

static void take_contents(struct input *in, struct trawl_table *table)
{
	size_t columns = trawl_table_columns(table), bits = 0, rows, notes, i;

	for (i = 0; i < columns; i++)
		bits += is_text(trawl_table_column(table, i)) ? 8 : 1;
	rows = take_count(in, columns ? bits : SIZE_MAX);
	tw_table_reserve(table, rows);
	for (i = 0; i < rows; i++)
		tw_table_add_row(table);
	/* One that found no memory has less, and says so when it is finished: the bytes are good. */
	if (trawl_table_rows(table) < rows)
		return;
	for (i = 0; i < columns && !in->wrong; i++)
		if (is_text(trawl_table_column(table, i)))
			take_texts(in, table, i, rows);
		else
			take_numbers(in, table, i, rows);
	notes = take_count(in, 8);
	for (i = 0; i < notes && !in->wrong; i++) {
		const char *note = take_string(in);

		if (!in->wrong)
			tw_table_add_note(table, "%s", note);
	}
	if (left(in))
		in->wrong = true;
}

/* The declaration; *table is NULL when the bytes are wrong (in->wrong) or memory is out. */
static void take_declaration(struct input *in, struct trawl_table **table,
			     const struct trawl_allocator *allocator)
{
	struct tw_table_spec spec = { .name = take_string(in), .meaning = take_string(in) };
	struct trawl_column *columns;
	unsigned char flags = take_byte(in);
	size_t count = take_count(in, (size_t)COLUMN_BYTES * 8), i;

	*table = NULL;
	if (flags > 3)
		in->wrong = true;
	spec.keep_empty = flags & 1;
	spec.in_order = flags >> 1;
	if (in->wrong)
		return;
	columns = tw_alloc_array(allocator, count ? count : 1, sizeof(*columns));
	if (!columns)
		return;
	for (i = 0; i < count && take_column(in, &columns[i]); i++)
		;
	spec.columns = columns;
	spec.column_count = count;
	if (!in->wrong)
		*table = tw_table_new_owning(&spec, allocator);
	tw_free(allocator, columns, (count ? count : 1) * sizeof(*columns));
}

static bool take_head(struct input *in)
{
	const char *head = take(in, HEAD_BYTES);
	uint64_t sizes[2];

	if (!head || memcmp(head, MARK, MARK_BYTES) != 0)
		return false;
	memcpy(sizes, head + MARK_BYTES, sizeof(sizes));
	if (sizes[0] > left(in) || tw_hash_fixed(in->at, (size_t)sizes[0]) != sizes[1])
		return false;
	in->end = in->at + sizes[0];
	return true;
}

int tw_table_unpack(struct trawl_table **out, const char *bytes, size_t len, size_t *used,
		    const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct input in = { .at = bytes, .end = bytes + len };
	struct trawl_table *table = NULL;
	int status = 0;

	*out = NULL;
	*used = 0;
	if (!take_head(&in))
		return trawl_error_set(err, TRAWL_EFORMAT, "not a table");
	take_declaration(&in, &table, allocator);
	if (table)
		take_contents(&in, table);
	if (in.wrong)
		status = trawl_error_set(err, TRAWL_EFORMAT, "damaged table data");
	else if (!table)
		status = tw_no_memory(err);
	else
		status = tw_table_finish(table, err);
	if (status) {
		trawl_table_free(table);
		return status;
	}
	*used = (size_t)(in.end - bytes);
	*out = table;
	return 0;
}

struct trawl_table *tw_table_copy(const struct trawl_table *table,
				  const struct trawl_allocator *allocator)
{
	struct trawl_table *copy = NULL;
	struct tw_str bytes;
	size_t used;

	tw_str_init(&bytes, allocator);
	tw_table_pack(table, &bytes);
	if (!bytes.failed && tw_table_unpack(&copy, bytes.ptr, bytes.len, &used, allocator, NULL))
		copy = NULL;
	tw_str_release(&bytes);
	return copy;
}
