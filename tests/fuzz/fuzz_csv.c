/*
 * Any bytes as a CSV file.  What is accepted is a table, and what is written of it reads back to
 * the same cells.
 */
#include "text/str.h"
#include "render/escape.h"
#include "table/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* As render/csv.c does. */
static void write_all(const struct tw_csv *csv, struct tw_str *out)
{
	size_t i, count = (csv->rows + 1) * csv->columns;

	tw_str_clear(out);
	for (i = 0; i < count; i++) {
		size_t begin = out->len;

		tw_escape_csv(out, csv->cells[i], strlen(csv->cells[i]));
		if (csv->columns == 1 && out->len == begin)
			tw_str_add_cstr(out, "\"\"");
		tw_str_add_char(out, (i + 1) % csv->columns ? ',' : '\n');
	}
}

static void check_same(const struct tw_csv *a, const struct tw_csv *b)
{
	size_t i, count = (a->rows + 1) * a->columns;

	check(a->rows == b->rows && a->columns == b->columns);
	for (i = 0; i < count; i++)
		check(!strcmp(a->cells[i], b->cells[i]));
}

/* As a table it says the same, cell by cell. */
static void look(const struct tw_csv *csv)
{
	static const struct trawl_column declared[] = { TW_US("a", 0, ""), TW_INTEGER("b", 0, "") };
	static const struct tw_table_spec spec = TW_SPEC("fuzz", "", declared);
	struct trawl_table *table;
	size_t row, column;
	struct tw_str text;

	tw_str_init(&text, trawl_allocator_default());
	check(!tw_csv_table(csv, &spec, trawl_allocator_default(), &table, NULL));
	check(trawl_table_rows(table) == csv->rows && trawl_table_columns(table) == csv->columns);
	for (row = 0; row < csv->rows; row++)
		for (column = 0; column < csv->columns; column++) {
			const char *cell = tw_csv_text(csv, row, column);

			check(!strcmp(tw_table_text(table, row, column, &text), cell));
			check(tw_table_text_is(table, row, column, "") == !*cell);
			check(isnan(tw_table_number(table, row, column)) || *cell);
		}
	check(trawl_table_find_column(table, csv->cells[0]) == 0);
	tw_str_release(&text);
	trawl_table_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_csv given, once, twice;
	struct tw_arena arena;
	struct tw_str text;

	tw_arena_init(&arena, trawl_allocator_default());
	tw_str_init(&text, trawl_allocator_default());
	if (!tw_csv_parse(&given, &arena, (const char *)data, size, "fuzz.csv", NULL) &&
	    given.columns) {
		look(&given);
		/* Characters that would be obeyed are written as escapes: from then on it stays. */
		write_all(&given, &text);
		check(!tw_csv_parse(&once, &arena, text.ptr, text.len, "once.csv", NULL));
		check(once.rows == given.rows && once.columns == given.columns);
		write_all(&once, &text);
		check(!tw_csv_parse(&twice, &arena, text.ptr, text.len, "twice.csv", NULL));
		check_same(&once, &twice);
	}
	tw_str_release(&text);
	tw_arena_release(&arena);
	return 0;
}
