#include "table/table.h"
#include "base/alloc.h"
#include "base/list.h"
#include "text/scan.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Many tables have a handful of rows; 64 fill one word of the bitmap. */
#define FIRST_ROWS 64
/* Integers that doubles hold. */
#define MAX_EXACT (INT64_C(1) << 53)

struct text {
	const char *ptr; /* NULL: missing */
	size_t len;
};

/* One column's cells.  Which of the three it has follows from its declared type. */
struct cells {
	void *values;
	size_t capacity;   /* in rows */
	uint64_t *present; /* one bit a row; texts do without */
	size_t present_capacity;
};

struct trawl_table {
	const struct trawl_allocator *allocator;
	struct tw_table_spec spec;
	struct trawl_column *own_columns;
	struct cells *cells;
	size_t rows, capacity; /* capacity: rows for which every column has room */
	struct tw_arena arena;
	const char **notes;
	size_t note_count, note_capacity;
	bool failed;
};

/* --- making and freeing ------------------------------------------------------------------- */

static bool is_text(enum trawl_column_type type)
{
	return type == TRAWL_COLUMN_TEXT || type == TRAWL_COLUMN_ID;
}

static size_t value_size(const struct trawl_column *column)
{
	return is_text(column->type) ? sizeof(struct text) : sizeof(int64_t);
}

struct trawl_table *tw_table_new(const struct tw_table_spec *spec,
				 const struct trawl_allocator *allocator)
{
	struct trawl_table *table = tw_alloc_array(allocator, 1, sizeof(*table));

	if (!table)
		return NULL;
	table->allocator = allocator;
	table->spec = *spec;
	tw_arena_init(&table->arena, allocator);
	if (spec->column_count == 0)
		return table;
	table->cells = tw_alloc_array(allocator, spec->column_count, sizeof(*table->cells));
	if (!table->cells) {
		tw_free(allocator, table, sizeof(*table));
		return NULL;
	}
	return table;
}

struct trawl_table *tw_table_new_columns(const struct tw_table_spec *spec,
					 const struct trawl_column *columns, size_t column_count,
					 const struct trawl_allocator *allocator)
{
	struct tw_table_spec own = *spec;
	struct trawl_table *table;
	struct trawl_column *copy;

	own.columns = columns;
	own.column_count = column_count;
	table = tw_table_new(&own, allocator);
	if (!table || column_count == 0)
		return table;
	copy = tw_alloc_array(allocator, column_count, sizeof(*copy));
	if (!copy) {
		trawl_table_free(table);
		return NULL;
	}
	memcpy(copy, columns, column_count * sizeof(*copy));
	table->own_columns = copy;
	table->spec.columns = copy;
	return table;
}

static const char *own_string(struct trawl_table *table, const char *text)
{
	char *copy = text ? tw_arena_copy(&table->arena, text, strlen(text)) : NULL;

	table->failed |= text && !copy;
	return copy;
}

struct trawl_table *tw_table_new_owning(const struct tw_table_spec *spec,
					const struct trawl_allocator *allocator)
{
	struct trawl_table *table =
		tw_table_new_columns(spec, spec->columns, spec->column_count, allocator);
	size_t i;

	if (!table)
		return NULL;
	table->spec.name = own_string(table, spec->name);
	table->spec.meaning = own_string(table, spec->meaning);
	for (i = 0; i < spec->column_count; i++) {
		struct trawl_column *column = &table->own_columns[i];

		column->header = own_string(table, column->header);
		column->unit = own_string(table, column->unit);
		column->meaning = own_string(table, column->meaning);
		if (column->values)
			column->values = own_string(table, column->values);
	}
	if (!table->failed)
		return table;
	trawl_table_free(table);
	return NULL;
}

void tw_table_name_column(struct trawl_table *table, size_t column, const char *prefix,
			  const char *name)
{
	size_t prefix_len = strlen(prefix), len = strlen(name);
	char *header = tw_arena_alloc(&table->arena, prefix_len + len + 1);

	assert(table->own_columns && column < table->spec.column_count);
	if (!header) {
		table->failed = true;
		return;
	}
	memcpy(header, prefix, prefix_len);
	memcpy(header + prefix_len, name, len + 1);
	table->own_columns[column].header = header;
}

void trawl_table_free(struct trawl_table *table)
{
	size_t columns, i;

	if (!table)
		return;
	columns = table->spec.column_count;
	for (i = 0; i < columns; i++) {
		struct cells *cells = &table->cells[i];

		tw_free(table->allocator, cells->values,
			cells->capacity * value_size(&table->spec.columns[i]));
		tw_free(table->allocator, cells->present,
			cells->present_capacity / 64 * sizeof(uint64_t));
	}
	tw_free(table->allocator, table->cells, columns * sizeof(*table->cells));
	tw_free(table->allocator, table->notes, table->note_capacity * sizeof(*table->notes));
	tw_free(table->allocator, table->own_columns, columns * sizeof(*table->own_columns));
	tw_arena_release(&table->arena);
	tw_free(table->allocator, table, sizeof(*table));
}

/* --- rows --------------------------------------------------------------------------------- */

/* Grows an array and zeroes what is new. */
static bool grow_zeroed(const struct trawl_allocator *a, void **block, size_t old_count,
			size_t count, size_t size)
{
	size_t bytes;
	char *grown;

	if (__builtin_mul_overflow(count, size, &bytes))
		return false;
	grown = tw_realloc(a, *block, old_count * size, bytes);
	if (!grown)
		return false;
	memset(grown + old_count * size, 0, bytes - old_count * size);
	*block = grown;
	return true;
}

static bool grow_column(struct trawl_table *table, size_t column, size_t capacity)
{
	const struct trawl_column *declared = &table->spec.columns[column];
	struct cells *cells = &table->cells[column];
	void *present = cells->present;

	if (cells->capacity < capacity) {
		if (!grow_zeroed(table->allocator, &cells->values, cells->capacity, capacity,
				 value_size(declared)))
			return false;
		cells->capacity = capacity;
	}
	if (is_text(declared->type) || cells->present_capacity >= capacity)
		return true;
	/* The bitmap has whole words. */
	capacity += 63 - (capacity + 63) % 64;
	if (!grow_zeroed(table->allocator, &present, cells->present_capacity / 64, capacity / 64,
			 sizeof(uint64_t)))
		return false;
	cells->present = present;
	cells->present_capacity = capacity;
	return true;
}

static bool grow_rows(struct trawl_table *table, size_t capacity)
{
	size_t i;

	if (capacity < table->capacity || capacity > SIZE_MAX - 64)
		return false;
	for (i = 0; i < table->spec.column_count; i++)
		if (!grow_column(table, i, capacity))
			return false;
	table->capacity = capacity;
	return true;
}

static bool grow_more(struct trawl_table *table)
{
	return grow_rows(table, table->capacity ? table->capacity * 2 : FIRST_ROWS);
}

void tw_table_reserve(struct trawl_table *table, size_t rows)
{
	if (rows > table->capacity && !table->failed && !grow_rows(table, rows))
		table->failed = true;
}

size_t tw_table_add_row(struct trawl_table *table)
{
	if (table->rows == table->capacity && (table->failed || !grow_more(table))) {
		table->failed = true;
		return table->rows;
	}
	return table->rows++;
}

/* --- cells -------------------------------------------------------------------------------- */

/* A row that found no room is skipped; any other wrong place is a bug. */
static bool has_cell(const struct trawl_table *table, size_t row, size_t column)
{
	assert(column < table->spec.column_count);
	assert(row < table->rows || table->failed);
	return row < table->rows && column < table->spec.column_count;
}

static enum trawl_column_type type_of(const struct trawl_table *table, size_t column)
{
	return table->spec.columns[column].type;
}

void tw_table_set_integer(struct trawl_table *table, size_t row, size_t column, int64_t value)
{
	if (!has_cell(table, row, column))
		return;
	assert(type_of(table, column) == TRAWL_COLUMN_INTEGER ||
	       type_of(table, column) == TRAWL_COLUMN_DECIMAL);
	((int64_t *)table->cells[column].values)[row] = value;
	table->cells[column].present[row / 64] |= UINT64_C(1) << row % 64;
}

void tw_table_set_real(struct trawl_table *table, size_t row, size_t column, double value)
{
	if (!has_cell(table, row, column))
		return;
	assert(type_of(table, column) == TRAWL_COLUMN_REAL);
	((double *)table->cells[column].values)[row] = value;
	if (isfinite(value))
		table->cells[column].present[row / 64] |= UINT64_C(1) << row % 64;
	else
		table->cells[column].present[row / 64] &= ~(UINT64_C(1) << row % 64);
}

void tw_table_set_text_borrowed(struct trawl_table *table, size_t row, size_t column,
				const char *text, size_t len)
{
	struct text *cell;

	if (!has_cell(table, row, column))
		return;
	assert(is_text(type_of(table, column)));
	cell = &((struct text *)table->cells[column].values)[row];
	cell->ptr = text;
	cell->len = text ? len : 0;
}

/* The text of the cell above when it is the same, as in a column of types: it is there once. */
static const char *text_above(const struct trawl_table *table, size_t row, size_t column,
			      const char *text, size_t len)
{
	const struct text *above;

	assert(is_text(type_of(table, column)));
	if (!row || !text)
		return NULL;
	above = &((const struct text *)table->cells[column].values)[row - 1];
	return above->ptr && above->len == len && !memcmp(above->ptr, text, len) ? above->ptr :
										   NULL;
}

void tw_table_set_text(struct trawl_table *table, size_t row, size_t column, const char *text,
		       size_t len)
{
	const char *copy;

	if (!has_cell(table, row, column))
		return;
	copy = text_above(table, row, column, text, len);
	if (text && !copy) {
		copy = tw_arena_copy(&table->arena, text, len);
		if (!copy)
			table->failed = true;
	}
	tw_table_set_text_borrowed(table, row, column, copy, len);
}

void tw_table_set_str(struct trawl_table *table, size_t row, size_t column, const char *text)
{
	tw_table_set_text(table, row, column, text, text ? strlen(text) : 0);
}

/* --- notes -------------------------------------------------------------------------------- */

void tw_table_add_note(struct trawl_table *table, const char *format, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	text = len < 0 ? NULL : tw_arena_alloc(&table->arena, (size_t)len + 1);
	if (!text || !tw_list_grow(&table->notes, &table->note_capacity, table->note_count,
				   sizeof(*table->notes), table->allocator)) {
		table->failed = true;
		return;
	}
	va_start(args, format);
	vsnprintf(text, (size_t)len + 1, format, args);
	va_end(args);
	table->notes[table->note_count++] = text;
}

/* --- asking ------------------------------------------------------------------------------- */

int tw_table_finish(struct trawl_table *table, struct trawl_error *err)
{
	if (!table->failed)
		return 0;
	return trawl_error_set(err, TRAWL_ENOMEM, "out of memory for table '%s'", table->spec.name);
}

struct trawl_table *tw_table_finished(struct trawl_table *table)
{
	if (!table || !tw_table_finish(table, NULL))
		return table;
	trawl_table_free(table);
	return NULL;
}

const struct tw_table_spec *tw_table_spec(const struct trawl_table *table)
{
	return &table->spec;
}

const char *trawl_table_name(const struct trawl_table *table)
{
	return table->spec.name;
}

const char *trawl_table_meaning(const struct trawl_table *table)
{
	return table->spec.meaning ? table->spec.meaning : "";
}

size_t trawl_table_rows(const struct trawl_table *table)
{
	return table->rows;
}

size_t trawl_table_columns(const struct trawl_table *table)
{
	return table->spec.column_count;
}

const struct trawl_column *trawl_table_column(const struct trawl_table *table, size_t column)
{
	return column < table->spec.column_count ? &table->spec.columns[column] : NULL;
}

struct trawl_cell trawl_table_cell(const struct trawl_table *table, size_t row, size_t column)
{
	struct trawl_cell cell = { .state = TRAWL_CELL_MISSING };
	const struct cells *cells;
	const struct text *text;

	if (row >= table->rows || column >= table->spec.column_count)
		return cell;
	cells = &table->cells[column];
	if (is_text(type_of(table, column))) {
		text = &((const struct text *)cells->values)[row];
		cell.text = text->ptr;
		cell.text_len = text->len;
		cell.state = text->ptr ? TRAWL_CELL_VALUE : TRAWL_CELL_MISSING;
		return cell;
	}
	if (!(cells->present[row / 64] >> row % 64 & 1))
		return cell;
	cell.state = TRAWL_CELL_VALUE;
	if (type_of(table, column) == TRAWL_COLUMN_REAL)
		cell.real = ((const double *)cells->values)[row];
	else
		cell.integer = ((const int64_t *)cells->values)[row];
	return cell;
}

size_t trawl_table_notes(const struct trawl_table *table)
{
	return table->note_count;
}

const char *trawl_table_note(const struct trawl_table *table, size_t note)
{
	return note < table->note_count ? table->notes[note] : NULL;
}

void tw_number_exact(struct tw_str *out, const struct trawl_column *column,
		     const struct trawl_cell *cell)
{
	switch (column->type) {
	case TRAWL_COLUMN_INTEGER:
		tw_str_add_int(out, cell->integer);
		break;
	case TRAWL_COLUMN_DECIMAL:
		tw_str_add_decimal(out, cell->integer, column->scale);
		break;
	case TRAWL_COLUMN_REAL:
		tw_str_add_real(out, cell->real);
		break;
	case TRAWL_COLUMN_TEXT:
	case TRAWL_COLUMN_ID:
		tw_str_add(out, cell->text, cell->text_len);
	}
}

void tw_table_add_text(struct tw_str *out, const struct trawl_table *table, size_t row,
		       size_t column)
{
	struct trawl_cell cell = trawl_table_cell(table, row, column);

	if (cell.state == TRAWL_CELL_VALUE)
		tw_number_exact(out, trawl_table_column(table, column), &cell);
}

const char *tw_table_text(const struct trawl_table *table, size_t row, size_t column,
			  struct tw_str *scratch)
{
	tw_str_clear(scratch);
	tw_table_add_text(scratch, table, row, column);
	return scratch->len && !scratch->failed ? scratch->ptr : "";
}

const char *tw_table_copy_text(const struct trawl_table *table, size_t row, size_t column,
			       struct tw_arena *arena)
{
	const char *copy = NULL;
	struct tw_str text;

	tw_str_init(&text, arena->allocator);
	tw_table_add_text(&text, table, row, column);
	if (!text.failed)
		copy = text.len ? tw_arena_copy(arena, text.ptr, text.len) : "";
	tw_str_release(&text);
	return copy;
}

double tw_table_number(const struct trawl_table *table, size_t row, size_t column)
{
	static const double powers[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };
	const struct trawl_column *declared = trawl_table_column(table, column);
	struct trawl_cell cell = trawl_table_cell(table, row, column);
	double value = NAN;
	char text[32];

	if (cell.state == TRAWL_CELL_MISSING)
		return NAN;
	if (declared->type == TRAWL_COLUMN_REAL)
		return cell.real;
	if (is_text(declared->type))
		return tw_text_real(cell.text, cell.text_len, &value) ? value : (double)NAN;
	/* Both exact: one correctly rounded division. */
	if (cell.integer <= MAX_EXACT && cell.integer >= -MAX_EXACT &&
	    declared->scale < sizeof(powers) / sizeof(powers[0]))
		return (double)cell.integer / powers[declared->scale];
	snprintf(text, sizeof(text), "%" PRId64 "e-%u", cell.integer, declared->scale);
	return tw_text_real(text, strlen(text), &value) ? value : (double)NAN;
}

const char *tw_table_own_text(const struct trawl_table *table, size_t row, size_t column)
{
	struct trawl_cell cell = trawl_table_cell(table, row, column);

	assert(cell.state == TRAWL_CELL_MISSING || (cell.text && !cell.text[cell.text_len]));
	return cell.state == TRAWL_CELL_VALUE ? cell.text : "";
}

bool tw_table_text_is(const struct trawl_table *table, size_t row, size_t column, const char *text)
{
	struct trawl_cell cell = trawl_table_cell(table, row, column);
	size_t len = strlen(text);

	if (cell.state == TRAWL_CELL_MISSING || !is_text(type_of(table, column)))
		return cell.state == TRAWL_CELL_MISSING && !len;
	return cell.text_len == len && (!len || !memcmp(cell.text, text, len));
}

void tw_table_copy_cell(struct trawl_table *to, size_t row, size_t column,
			const struct trawl_table *from, size_t from_row, size_t from_column)
{
	struct trawl_cell cell = trawl_table_cell(from, from_row, from_column);
	struct tw_str text;

	if (cell.state == TRAWL_CELL_MISSING)
		return;
	if (is_text(type_of(from, from_column))) {
		tw_table_set_text(to, row, column, cell.text, cell.text_len);
		return;
	}
	if (!is_text(type_of(to, column))) {
		if (type_of(to, column) == TRAWL_COLUMN_REAL)
			tw_table_set_real(to, row, column, cell.real);
		else
			tw_table_set_integer(to, row, column, cell.integer);
		return;
	}
	/* A number in a column of texts. */
	tw_str_init(&text, to->allocator);
	tw_table_add_text(&text, from, from_row, from_column);
	tw_table_set_text(to, row, column, text.ptr ? text.ptr : "", text.len);
	to->failed |= text.failed;
	tw_str_release(&text);
}

/* The letter at *p with all signs for micro as u; moves behind it. */
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

size_t trawl_table_find_column(const struct trawl_table *table, const char *header)
{
	size_t i;

	for (i = 0; i < trawl_table_columns(table); i++)
		if (tw_same_header(trawl_table_column(table, i)->header, header))
			return i;
	return i;
}

bool tw_table_has_column(const struct trawl_table *table, const char *header)
{
	return trawl_table_find_column(table, header) < trawl_table_columns(table);
}

struct trawl_cell tw_table_cell(const struct trawl_table *table, size_t row, const char *header)
{
	static const struct trawl_cell missing = { .state = TRAWL_CELL_MISSING };

	return table ? trawl_table_cell(table, row, trawl_table_find_column(table, header)) :
		       missing;
}
