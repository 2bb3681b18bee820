/* Sheets of text as tables: columns as they are declared, others by what is in them. */
#include "table/csv.h"

#include "base/alloc.h"
#include "text/scan.h"

#include <string.h>

struct typing {
	const struct tw_csv *csv;
	struct trawl_column *columns;
	struct tw_str text; /* of the cell at hand, as its column writes it */
};

/* What a cell says in a column; false: a column of that type would write it otherwise. */
static bool read_cell(struct typing *t, size_t row, size_t i, struct trawl_cell *cell)
{
	const struct trawl_column *column = &t->columns[i];
	const char *text = tw_csv_text(t->csv, row, i);
	size_t len = strlen(text);
	bool is_number;

	*cell = (struct trawl_cell){ .state = len ? TRAWL_CELL_VALUE : TRAWL_CELL_MISSING,
				     .text = text,
				     .text_len = len };
	if (!len || !tw_column_is_number(column))
		return true;
	if (column->type == TRAWL_COLUMN_REAL)
		is_number = tw_text_real(text, len, &cell->real);
	else
		is_number = tw_text_decimal(text, column->scale, &cell->integer);
	if (!is_number)
		return false;
	tw_str_clear(&t->text);
	tw_number_exact(&t->text, column, cell);
	return t->text.len == len && !memcmp(t->text.ptr, text, len);
}

static bool fits(struct typing *t, size_t i)
{
	struct trawl_cell cell;
	size_t row;

	for (row = 0; row < t->csv->rows; row++)
		if (!read_cell(t, row, i, &cell))
			return false;
	return true;
}

static void declare(struct typing *t, const struct tw_table_spec *spec, size_t i)
{
	struct trawl_column *column = &t->columns[i];
	const char *header = t->csv->cells[i];
	size_t k;

	*column = (struct trawl_column){ .type = TRAWL_COLUMN_INTEGER, .unit = "", .meaning = "" };
	for (k = 0; k < spec->column_count; k++)
		if (tw_same_header(spec->columns[k].header, header)) {
			*column = spec->columns[k];
			break;
		}
	column->header = header;
	if (fits(t, i))
		return;
	column->type = TRAWL_COLUMN_REAL;
	column->scale = 0;
	if (!fits(t, i))
		column->type = TRAWL_COLUMN_ID;
}

static void fill(struct typing *t, struct trawl_table *table)
{
	struct trawl_cell cell;
	size_t row, i;

	tw_table_reserve(table, t->csv->rows);
	for (row = 0; row < t->csv->rows; row++) {
		tw_table_add_row(table);
		for (i = 0; i < t->csv->columns; i++) {
			read_cell(t, row, i, &cell);
			if (cell.state == TRAWL_CELL_MISSING)
				continue;
			if (!tw_column_is_number(&t->columns[i]))
				tw_table_set_text(table, row, i, cell.text, cell.text_len);
			else if (t->columns[i].type == TRAWL_COLUMN_REAL)
				tw_table_set_real(table, row, i, cell.real);
			else
				tw_table_set_integer(table, row, i, cell.integer);
		}
	}
}

int tw_csv_table(const struct tw_csv *csv, const struct tw_table_spec *spec,
		 const struct trawl_allocator *allocator, struct trawl_table **table,
		 struct trawl_error *err)
{
	struct typing t = { .csv = csv };
	struct tw_table_spec own = *spec;
	size_t i;

	*table = NULL;
	tw_str_init(&t.text, allocator);
	t.columns = tw_alloc_array(allocator, csv->columns + 1, sizeof(*t.columns));
	for (i = 0; t.columns && i < csv->columns; i++)
		declare(&t, spec, i);
	own.columns = t.columns;
	own.column_count = csv->columns;
	if (t.columns)
		*table = tw_table_new_owning(&own, allocator);
	if (*table)
		fill(&t, *table);
	tw_free(allocator, t.columns, (csv->columns + 1) * sizeof(*t.columns));
	*table = tw_table_finished(*table);
	if (*table && t.text.failed) {
		trawl_table_free(*table);
		*table = NULL;
	}
	tw_str_release(&t.text);
	return *table ? 0 : tw_no_memory(err);
}
