#include "study/books/joined.h"

#include "base/arena.h"
#include "data/limits.h"
#include "text/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { KEY, DIFFERENCE, PERCENT, CELL };

struct column {
	enum kind kind;
	size_t side;	 /* the variant of a difference; whose cell */
	size_t at, base; /* column of the side; of the baseline, for differences */
	const char *header;
	double tiny; /* of a percentage: less is next to nothing in this column of the baseline */
};

struct row {
	uint32_t *of; /* row of each side, TW_KEYED_NO_ROW */
	double order;
	size_t number;
};

struct joining {
	const struct tw_join *join;
	struct tw_arena arena;
	struct tw_str columns; /* struct column, as bytes */
	struct row *rows;
	size_t row_count;
	struct tw_str text; /* of the cell at hand */
	bool no_memory;
};

/* ---- rows */

static bool is_wanted(const struct joining *j, size_t side, const uint32_t *of)
{
	bool both = of[0] != TW_KEYED_NO_ROW && of[1] != TW_KEYED_NO_ROW;

	switch (j->join->rows) {
	case TW_JOINED_ALL:
		return true;
	case TW_JOINED_BOTH:
		return both && side == 0;
	case TW_JOINED_ONLY_BASELINE:
		return !both && side == 0;
	case TW_JOINED_ONLY_VARIANT:
		break;
	}
	return !both && side == 1;
}

static double order_of(const struct joining *j, const uint32_t *of)
{
	const struct tw_join *join = j->join;
	const struct trawl_table *table = join->sides[join->rows == TW_JOINED_ONLY_VARIANT]->table;
	uint32_t row = of[join->rows == TW_JOINED_ONLY_VARIANT];

	if (!join->order || row == TW_KEYED_NO_ROW)
		return NAN;
	return tw_table_number(table, row, trawl_table_find_column(table, join->order));
}

/* Rows of a side whose key no side before it has. */
static bool add_rows_of(struct joining *j, size_t side)
{
	const struct tw_join *join = j->join;
	size_t row, i;

	for (row = 0; row < trawl_table_rows(join->sides[side]->table); row++) {
		uint32_t *of = tw_arena_alloc(&j->arena, join->side_count * sizeof(*of));
		bool is_new = true;

		if (!of)
			return false;
		for (i = 0; i < join->side_count && is_new; i++) {
			of[i] = i == side ? (uint32_t)row :
					    tw_keyed_find(join->sides[i], join->sides[side], row);
			is_new = i >= side || of[i] == TW_KEYED_NO_ROW;
		}
		if (!is_new || !is_wanted(j, side, of))
			continue;
		j->rows[j->row_count] = (struct row){ of, order_of(j, of), j->row_count };
		j->row_count++;
	}
	return true;
}

/* The largest first, what has no number last, else as they came. */
static int compare_rows(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	if (isnan(a->order) != isnan(b->order))
		return isnan(a->order) ? 1 : -1;
	if (a->order > b->order || a->order < b->order)
		return a->order > b->order ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static bool make_rows(struct joining *j)
{
	size_t most = 0, i;

	for (i = 0; i < j->join->side_count; i++)
		most += trawl_table_rows(j->join->sides[i]->table);
	j->rows = tw_arena_alloc(&j->arena, (most + 1) * sizeof(*j->rows));
	if (!j->rows)
		return false;
	for (i = 0; i < j->join->side_count; i++)
		if (!add_rows_of(j, i))
			return false;
	qsort(j->rows, j->row_count, sizeof(*j->rows), compare_rows);
	return true;
}

/* ---- cells */

/* A cell of a side, whose row may not be there: then `row` is none of the table. */
struct cell {
	const struct trawl_table *table;
	size_t row, column;
};

static struct cell cell_at(const struct joining *j, const struct row *row, size_t side, size_t at)
{
	return (struct cell){ j->join->sides[side]->table,
			      row->of[side] == TW_KEYED_NO_ROW ? SIZE_MAX : row->of[side], at };
}

static struct cell cell_of(const struct joining *j, const struct row *row,
			   const struct column *column)
{
	size_t side = 0;

	if (column->kind != KEY)
		return cell_at(j, row, column->side, column->at);
	/* The key is that of any side that has the row. */
	while (row->of[side] == TW_KEYED_NO_ROW)
		side++;
	return cell_at(j, row, side, j->join->sides[side]->keys[column->at]);
}

static double number_of(struct cell cell)
{
	return tw_table_number(cell.table, cell.row, cell.column);
}

static double difference_of(const struct joining *j, const struct row *row,
			    const struct column *column)
{
	double base = number_of(cell_at(j, row, 0, column->base));
	double difference = number_of(cell_at(j, row, column->side, column->at)) - base;

	if (column->kind == DIFFERENCE)
		return difference;
	/* Of next to nothing many times as much says nothing. */
	if (fabs(base) < column->tiny && 100 * difference > fabs(base) * TW_LIMIT_TOLD_PERCENT_MOST)
		return (double)NAN;
	return base > 0 || base < 0 ? 100 * difference / base : (double)NAN;
}

/* As much less than the largest as differences of the total are the same. */
static double tiny_of(const struct tw_join *join, size_t base)
{
	const struct trawl_table *table = join->sides[0]->table;
	double largest = 0;
	size_t row;

	for (row = 0; row < trawl_table_rows(table); row++)
		largest = fmax(largest, fabs(tw_table_number(table, row, base)));
	return largest * (TW_LIMIT_SAME_BELOW_TOTAL_PERMILLE / 1000.0);
}

static bool is_number_column(const struct column *column)
{
	return column->kind == DIFFERENCE || column->kind == PERCENT;
}

static bool is_empty(struct cell cell)
{
	return tw_table_text_is(cell.table, cell.row, cell.column, "");
}

static bool has_value(const struct joining *j, const struct column *column)
{
	size_t i;

	for (i = 0; i < j->row_count; i++)
		if (is_number_column(column) ? !isnan(difference_of(j, &j->rows[i], column)) :
					       !is_empty(cell_of(j, &j->rows[i], column)))
			return true;
	return false;
}

/* ---- columns */

static void add_column(struct joining *j, enum kind kind, size_t side, size_t at, size_t base,
		       const char *header)
{
	struct column column = { kind, side,   at,
				 base, header, kind == PERCENT ? tiny_of(j->join, base) : 0 };

	j->no_memory |= !header;
	if (!header || (j->join->no_empty_columns && kind != KEY && !has_value(j, &column)))
		return;
	tw_str_add(&j->columns, (const char *)&column, sizeof(column));
}

/* "a" "::" "b" "" in the arena */
static const char *name_of(struct joining *j, const char *a, const char *between, const char *b,
			   const char *behind)
{
	struct tw_str name;
	const char *copy;

	tw_str_init(&name, j->arena.allocator);
	tw_str_addf(&name, "%s%s%s%s", a, between, b, behind);
	copy = name.failed ? NULL : tw_arena_copy(&j->arena, name.ptr, name.len);
	tw_str_release(&name);
	return copy;
}

static void add_differences(struct joining *j, size_t side)
{
	const struct tw_join *join = j->join;
	size_t i;

	for (i = 0; i < join->difference_count; i++) {
		const char *header = join->differences[i], *tag = join->names[side];
		const struct trawl_table *table = join->sides[side]->table;
		const struct trawl_table *baseline = join->sides[0]->table;
		size_t at = trawl_table_find_column(table, header);
		size_t base = trawl_table_find_column(baseline, header);

		if (at == trawl_table_columns(table) || base == trawl_table_columns(baseline))
			continue;
		add_column(j, DIFFERENCE, side, at, base, name_of(j, header, "__", tag, "_diff"));
		add_column(j, PERCENT, side, at, base, name_of(j, header, "__", tag, "_pct"));
	}
}

static bool is_key(const struct tw_keyed *side, size_t column)
{
	size_t i;

	for (i = 0; i < side->key_count; i++)
		if (side->keys[i] == column)
			return true;
	return false;
}

static void add_cells(struct joining *j, size_t side)
{
	const struct tw_join *join = j->join;
	const struct trawl_table *table = join->sides[side]->table;
	size_t i;

	for (i = 0; i < trawl_table_columns(table); i++) {
		const char *header = trawl_table_column(table, i)->header;

		if (is_key(join->sides[side], i) ||
		    (join->left_out && join->left_out(side, header)))
			continue;
		add_column(j, CELL, side, i, 0, name_of(j, join->names[side], "::", header, ""));
	}
}

static bool make_columns(struct joining *j)
{
	size_t i;

	for (i = 0; i < j->join->key_count; i++)
		add_column(j, KEY, 0, i, 0, j->join->keys[i]);
	for (i = 1; i < j->join->side_count; i++)
		add_differences(j, i);
	for (i = 0; i < j->join->side_count; i++)
		add_cells(j, i);
	return !j->no_memory && !j->columns.failed;
}

/* ---- the table */

static bool is_integer(const char *text)
{
	size_t len = strlen(text), digits;

	digits = strspn(text + (*text == '-'), "0123456789");
	return digits && digits + (*text == '-') == len;
}

/* Integers stay what they are, digit by digit; other numbers are numbers where all cells are. */
static enum trawl_column_type type_of(struct joining *j, const struct column *column)
{
	bool integers = true, any = false;
	size_t i;

	if (is_number_column(column))
		return TRAWL_COLUMN_REAL;
	for (i = 0; i < j->row_count; i++) {
		struct cell cell = cell_of(j, &j->rows[i], column);
		const char *text = tw_table_text(cell.table, cell.row, cell.column, &j->text);

		if (!*text)
			continue;
		any = true;
		integers = integers && is_integer(text);
		if (!integers && isnan(number_of(cell)))
			return TRAWL_COLUMN_TEXT;
	}
	if (!any)
		return TRAWL_COLUMN_TEXT;
	return integers ? TRAWL_COLUMN_ID : TRAWL_COLUMN_REAL;
}

static const char *meaning_of(struct joining *j, const struct column *column)
{
	const struct tw_join *join = j->join;

	switch (column->kind) {
	case KEY:
		return "key of the rows";
	case DIFFERENCE:
		return name_of(j, join->names[column->side], " - ", join->names[0], "");
	case PERCENT:
		return name_of(j, "the difference / ", "", join->names[0], "");
	case CELL:
		break;
	}
	return name_of(j, "of ", "", join->names[column->side], "");
}

static bool declare(struct joining *j, struct trawl_column *declared)
{
	const struct column *columns = (const void *)j->columns.ptr;
	size_t count = j->columns.len / sizeof(*columns), i;

	for (i = 0; i < count; i++) {
		declared[i] = (struct trawl_column){
			.header = columns[i].header,
			.type = type_of(j, &columns[i]),
			.unit = columns[i].kind == PERCENT ? "%" : "",
			.digits = columns[i].kind == PERCENT ? 2 : 3,
			.meaning = meaning_of(j, &columns[i]),
		};
		if (!declared[i].meaning)
			return false;
	}
	return true;
}

static void fill(const struct joining *j, struct trawl_table *table)
{
	const struct column *columns = (const void *)j->columns.ptr;
	size_t count = j->columns.len / sizeof(*columns), i, k;

	tw_table_reserve(table, j->row_count);
	for (i = 0; i < j->row_count; i++) {
		size_t row = tw_table_add_row(table);

		for (k = 0; k < count; k++) {
			const struct column *column = &columns[k];
			struct cell cell;

			if (is_number_column(column)) {
				tw_table_set_real(table, row, k,
						  difference_of(j, &j->rows[i], column));
				continue;
			}
			cell = cell_of(j, &j->rows[i], column);
			if (trawl_table_column(table, k)->type == TRAWL_COLUMN_REAL)
				tw_table_set_real(table, row, k, number_of(cell));
			else if (!is_empty(cell))
				tw_table_copy_cell(table, row, k, cell.table, cell.row,
						   cell.column);
		}
	}
}

static void note_added_up(const struct joining *j, struct trawl_table *table)
{
	const struct tw_join *join = j->join;
	size_t i;

	for (i = 0; i < join->side_count; i++)
		if (join->sides[i]->added_up)
			tw_table_add_note(table, "%zu rows of %s have duplicate keys: added up",
					  join->sides[i]->added_up, join->names[i]);
}

static struct trawl_table *make_table(struct joining *j)
{
	size_t count = j->columns.len / sizeof(struct column);
	struct trawl_column *declared = tw_arena_alloc(&j->arena, (count + 1) * sizeof(*declared));
	struct tw_table_spec spec = { .name = j->join->name,
				      .meaning = j->join->meaning,
				      .columns = declared,
				      .column_count = count,
				      .keep_empty = true };
	struct trawl_table *table;

	if (!declared || !declare(j, declared))
		return NULL;
	table = tw_table_new_owning(&spec, j->arena.allocator);
	if (table) {
		fill(j, table);
		note_added_up(j, table);
	}
	return table;
}

int tw_join_table(const struct tw_join *join, struct trawl_table **table,
		  const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct joining j = { .join = join };
	int status = 0;

	*table = NULL;
	tw_arena_init(&j.arena, allocator);
	tw_str_init(&j.columns, allocator);
	tw_str_init(&j.text, allocator);
	if (!make_rows(&j))
		status = TRAWL_ENOMEM;
	if (!status && j.row_count) {
		if (make_columns(&j))
			*table = make_table(&j);
		status = *table ? tw_table_finish(*table, NULL) : TRAWL_ENOMEM;
	}
	tw_str_release(&j.columns);
	if (!status && j.text.failed)
		status = TRAWL_ENOMEM;
	tw_str_release(&j.text);
	tw_arena_release(&j.arena);
	return status ? trawl_error_set(err, status, "out of memory") : 0;
}
