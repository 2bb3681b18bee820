/* CSV files read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "failing.h"
#include "render/escape.h"
#include "render/render.h"
#include "typed.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tw_arena arena;
static struct trawl_error err;

static int parse(struct tw_csv *csv, const char *text)
{
	tw_arena_init(&arena, trawl_allocator_default());
	return tw_csv_parse(csv, &arena, text, strlen(text), "f.csv", &err);
}

static void cells_by_header(void **state)
{
	const struct trawl_table *table =
		typed("\xef\xbb\xbfname,n\r\n\"a,\"\"b\"\"\nc\",1.5\nplain,\n");

	assert_int_equal(trawl_table_rows(table), 2);
	assert_true(
		tw_table_text_is(table, 0, trawl_table_find_column(table, "name"), "a,\"b\"\nc"));
	assert_true(tw_table_number(table, 0, 1) > 1.4 && tw_table_number(table, 0, 1) < 1.6);
	assert_true(isnan(tw_table_number(table, 1, 1)));
	assert_int_equal(trawl_table_find_column(table, "x"), 2);
	assert_true(tw_table_text_is(table, 9, 0, ""));
	free_typed();
}

static void text_where_a_number_belongs(void **state)
{
	const struct trawl_table *table = typed("n\nabc\n1e3\n12x\n");

	assert_true(isnan(tw_table_number(table, 0, 0)));
	assert_true(tw_table_number(table, 1, 0) > 999);
	assert_true(isnan(tw_table_number(table, 2, 0)));
	free_typed();
}

static void mistakes_name_the_line(void **state)
{
	struct tw_csv csv;

	assert_int_equal(parse(&csv, "a,b\n1,2\n1,2,3\n"), TRAWL_EFORMAT);
	assert_string_equal(err.message, "f.csv:3: number of cells differs from the header");
	assert_int_equal(csv.rows, 0);
	tw_arena_release(&arena);
	assert_int_equal(parse(&csv, "a,b\n\"1,2\n"), TRAWL_EFORMAT);
	assert_non_null(strstr(err.message, "unclosed quote"));
	tw_arena_release(&arena);
	assert_int_equal(parse(&csv, ""), 0);
	assert_int_equal(csv.columns, 0);
	tw_arena_release(&arena);
}

/* What the renderer escapes comes back as it was. */
static void what_was_written_is_read(void **state)
{
	static const struct trawl_column columns[] = {
		TW_TEXT("text", 0, ""),
		TW_INTEGER("n", 0, ""),
	};
	static const struct tw_table_spec spec = { .name = "t",
						   .meaning = "",
						   .columns = columns,
						   .column_count = 2,
						   .keep_empty = true };
	static const char *const texts[] = { "=1+1",	   "'=x", "''-y", "a\"b",
					     "two\nlines", "@x",  "-5",	  "plain" };
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	struct tw_csv csv;
	struct tw_str out;
	size_t i, count = sizeof(texts) / sizeof(texts[0]);

	for (i = 0; i < count; i++) {
		tw_table_add_row(table);
		tw_table_set_str(table, i, 0, texts[i]);
		tw_table_set_integer(table, i, 1, (int64_t)i);
	}
	tw_str_init(&out, trawl_allocator_default());
	tw_render_csv(table, &out);
	assert_int_equal(parse(&csv, out.ptr), 0);
	assert_int_equal(csv.rows, count);
	for (i = 0; i < count; i++)
		assert_string_equal(tw_csv_text(&csv, i, 0), texts[i]);
	tw_arena_release(&arena);
	tw_str_release(&out);
	trawl_table_free(table);
}

/* Names in many cells, more than are kept at once, some the beginning of others: as each alone. */
static void texts_in_many_cells_are_as_each_alone(void **state)
{
	enum { NAMES = 2000, CELLS = 3 * NAMES };
	static const struct trawl_column columns[] = { TW_TEXT("text", 0, "") };
	static const struct tw_table_spec one = TW_SPEC("t", "", columns);
	static char names[NAMES][120];
	struct trawl_table *table = tw_table_new(&one, trawl_allocator_default());
	struct tw_str out, alone;
	size_t i;

	tw_str_init(&out, trawl_allocator_default());
	tw_str_init(&alone, trawl_allocator_default());
	tw_str_add_cstr(&alone, "text\n");
	for (i = 0; i < NAMES; i++)
		snprintf(names[i], sizeof(names[i]), "%s%zu%s %0100zu", i % 3 ? "=" : "", i,
			 i % 2 ? ",\"\x01" : "", i);
	for (i = 0; i < CELLS; i++) {
		const char *name = names[i % 7 ? i * 7919 % NAMES : i % 10];
		size_t len = i % 11 ? strlen(name) : 1 + i % 5;

		tw_table_set_text_borrowed(table, tw_table_add_row(table), 0, name, len);
		tw_escape_csv(&alone, name, len);
		tw_str_add_char(&alone, '\n');
	}
	tw_render_csv(table, &out);
	assert_string_equal(out.ptr, alone.ptr);
	tw_str_release(&out);
	tw_str_release(&alone);
	trawl_table_free(table);
}

/* ---- as tables */

static const struct trawl_column declared[] = {
	TW_US("time (µs)", 0, ""),
	TW_US("long (µs)", 0, ""),
	TW_INTEGER("n", 0, ""),
	TW_TEXT("name", 0, ""),
};
static const struct tw_table_spec spec = TW_SPEC("typed", "", declared);

/* By declaration where each cell is written so; else as reals; else as text.  Empty is missing. */
static void columns_have_types(void **state)
{
	static const struct {
		enum trawl_column_type type;
		double first, second;
	} expected[] = {
		{ TRAWL_COLUMN_DECIMAL, 1.5, 12.345 },
		{ TRAWL_COLUMN_REAL, 1.2345, 2 },
		{ TRAWL_COLUMN_ID, 7, 8 }, /* "8.0" is no way to write an integer */
		{ TRAWL_COLUMN_TEXT, 12, NAN },
		{ TRAWL_COLUMN_INTEGER, 3, NAN },
		{ TRAWL_COLUMN_REAL, 0.1, 1e-5 },
		{ TRAWL_COLUMN_ID, 7, NAN },
		{ TRAWL_COLUMN_ID, INFINITY, NAN },
	};
	const char *text = "time (\xCE\xBCs),long (us),n,name,whole,real,zeros,odd\n"
			   "1.5,1.2345,7,12,3,0.1,007,1e999\n12.345,2,8.0,x,,1e-05,,inf\n";
	struct trawl_table *table;
	struct tw_csv csv;
	struct tw_str out;
	size_t i, row;

	assert_int_equal(parse(&csv, text), 0);
	assert_int_equal(tw_csv_table(&csv, &spec, trawl_allocator_default(), &table, &err), 0);
	tw_arena_release(&arena);
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		assert_int_equal(trawl_table_column(table, i)->type, expected[i].type);
		for (row = 0; row < 2; row++) {
			double want = row ? expected[i].second : expected[i].first;
			double is = tw_table_number(table, row, i);

			assert_true(isnan(want) ? isnan(is) : !(is < want) && !(is > want));
		}
	}
	assert_int_equal(trawl_table_cell(table, 1, 0).integer, 12345);
	assert_int_equal(trawl_table_cell(table, 1, 4).state, TRAWL_CELL_MISSING);
	assert_int_equal(trawl_table_find_column(table, "time (\xC2\xB5s)"), 0);
	assert_false(tw_table_has_column(table, "time"));
	assert_true(tw_table_text_is(table, 0, 3, "12"));
	assert_false(tw_table_text_is(table, 0, 3, "1"));
	assert_true(tw_table_text_is(table, 1, 6, ""));
	assert_true(isnan(tw_table_number(table, 2, 0)) && isnan(tw_table_number(table, 0, 9)));
	/* And all of it is written as it was. */
	tw_str_init(&out, trawl_allocator_default());
	tw_render_csv_exact(table, &out);
	assert_string_equal(out.ptr, text);
	tw_str_release(&out);
	trawl_table_free(table);
}

/* 2^53 + 1 thousandths are nearest to another double than 2^53 of them, divided. */
static void exact_decimals_are_the_nearest_doubles(void **state)
{
	static const int64_t values[] = { 1, 9007199254740991, 9007199254740993, -5300,
					  1699999999999123457 };
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char text[40];

		tw_table_set_integer(table, tw_table_add_row(table), 0, values[i]);
		snprintf(text, sizeof(text), "%" PRId64 "e-3", values[i]);
		assert_memory_equal(&(double){ tw_table_number(table, i, 0) },
				    &(double){ strtod(text, NULL) }, sizeof(double));
	}
	trawl_table_free(table);
}

static void every_failure_of_memory_is_told(void **state)
{
	const char *text = "a,b\n1,\"long enough to need room of its own, somewhere\"\n";
	struct trawl_table *table;
	struct failing failing;
	struct tw_csv csv;
	int n, status;

	for (n = 0;; n++) {
		failing_init(&failing, n);
		tw_arena_init(&arena, &failing.allocator);
		status = tw_csv_parse(&csv, &arena, text, strlen(text), "f.csv", &err);
		table = NULL;
		if (!status)
			status = tw_csv_table(&csv, &spec, &failing.allocator, &table, &err);
		assert_true(!status || status == TRAWL_ENOMEM);
		trawl_table_free(table);
		tw_arena_release(&arena);
		assert_int_equal(failing.live_blocks, 0);
		if (!status)
			break;
	}
	assert_true(n > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_by_header),
		cmocka_unit_test(text_where_a_number_belongs),
		cmocka_unit_test(mistakes_name_the_line),
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(texts_in_many_cells_are_as_each_alone),
		cmocka_unit_test(columns_have_types),
		cmocka_unit_test(exact_decimals_are_the_nearest_doubles),
		cmocka_unit_test(every_failure_of_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
