#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "failing.h"
#include "table/table.h"

static const struct trawl_column columns[] = {
	TW_TEXT("Name", 0, "Name of the operation."),
	TW_INTEGER("Count", 0, "How often."),
	TW_MS("time ms", 0, "Time."),
	TW_PERCENT_2("share", 0, "Of the total."),
};

static const struct tw_table_spec spec = {
	.name = "ops",
	.meaning = "One row an operation.",
	.columns = columns,
	.column_count = 4,
	.keep_empty = true,
};

static void declared_once_found_everywhere(void **state)
{
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());

	assert_non_null(table);
	assert_string_equal(trawl_table_name(table), "ops");
	assert_string_equal(trawl_table_meaning(table), "One row an operation.");
	assert_int_equal(trawl_table_columns(table), 4);
	assert_int_equal(trawl_table_rows(table), 0);
	assert_string_equal(trawl_table_column(table, 2)->header, "time ms");
	assert_null(trawl_table_column(table, 4));
	assert_true(tw_table_spec(table)->keep_empty);
	assert_int_equal(trawl_table_notes(table), 0);
	assert_null(trawl_table_note(table, 0));
	trawl_table_free(table);
	trawl_table_free(NULL);
}

static void cells_are_missing_until_set(void **state)
{
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	struct trawl_cell cell;
	char name[] = "aten::mm";
	size_t row, i;

	row = tw_table_add_row(table);
	assert_int_equal(row, 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(trawl_table_cell(table, 0, i).state, TRAWL_CELL_MISSING);
	tw_table_set_text(table, row, 0, name, strlen(name));
	name[0] = 'X'; /* the table has its own copy */
	tw_table_set_integer(table, row, 1, 0);
	tw_table_set_integer(table, row, 2, -1500000);
	tw_table_set_real(table, row, 3, 0.25);
	cell = trawl_table_cell(table, 0, 0);
	assert_int_equal(cell.state, TRAWL_CELL_VALUE);
	assert_int_equal(cell.text_len, 8);
	assert_memory_equal(cell.text, "aten::mm", 8);
	cell = trawl_table_cell(table, 0, 1);
	assert_int_equal(cell.state, TRAWL_CELL_VALUE);
	assert_int_equal(cell.integer, 0);
	assert_int_equal(trawl_table_cell(table, 0, 2).integer, -1500000);
	assert_true(trawl_table_cell(table, 0, 3).real == 0.25);
	/* Beyond the table: missing, no crash. */
	assert_int_equal(trawl_table_cell(table, 1, 0).state, TRAWL_CELL_MISSING);
	assert_int_equal(trawl_table_cell(table, 0, 4).state, TRAWL_CELL_MISSING);
	/* Back to missing. */
	tw_table_set_real(table, row, 3, NAN);
	assert_int_equal(trawl_table_cell(table, 0, 3).state, TRAWL_CELL_MISSING);
	tw_table_set_real(table, row, 3, INFINITY);
	assert_int_equal(trawl_table_cell(table, 0, 3).state, TRAWL_CELL_MISSING);
	tw_table_set_str(table, row, 0, NULL);
	assert_int_equal(trawl_table_cell(table, 0, 0).state, TRAWL_CELL_MISSING);
	tw_table_set_str(table, row, 0, "");
	assert_int_equal(trawl_table_cell(table, 0, 0).state, TRAWL_CELL_VALUE);
	assert_int_equal(trawl_table_cell(table, 0, 0).text_len, 0);
	assert_int_equal(tw_table_finish(table, NULL), 0);
	trawl_table_free(table);
}

static void borrowed_text_is_not_copied(void **state)
{
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	static const char name[] = "kernel";

	tw_table_add_row(table);
	tw_table_set_text_borrowed(table, 0, 0, name, 6);
	assert_ptr_equal(trawl_table_cell(table, 0, 0).text, name);
	tw_table_set_text_borrowed(table, 0, 0, NULL, 6);
	assert_int_equal(trawl_table_cell(table, 0, 0).state, TRAWL_CELL_MISSING);
	trawl_table_free(table);
}

static void many_rows(void **state)
{
	struct failing failing;
	struct trawl_table *table;
	const size_t count = 300001;
	size_t i;

	failing_init(&failing, -1);
	table = tw_table_new(&spec, &failing.allocator);
	for (i = 0; i < count; i++) {
		char name[32];
		int len = snprintf(name, sizeof(name), "op%zu", i);

		assert_int_equal(tw_table_add_row(table), i);
		if (i % 3)
			tw_table_set_text(table, i, 0, name, (size_t)len);
		if (i % 5)
			tw_table_set_integer(table, i, 1, (int64_t)i);
		if (i % 7)
			tw_table_set_real(table, i, 3, (double)i / 2);
	}
	for (i = 0; i < count; i++) {
		assert_int_equal(trawl_table_cell(table, i, 0).state, i % 3 != 0);
		assert_int_equal(trawl_table_cell(table, i, 1).state, i % 5 != 0);
		assert_int_equal(trawl_table_cell(table, i, 2).state, TRAWL_CELL_MISSING);
		assert_int_equal(trawl_table_cell(table, i, 3).state, i % 7 != 0);
		if (i % 5)
			assert_int_equal(trawl_table_cell(table, i, 1).integer, i);
		if (i % 7)
			assert_true(trawl_table_cell(table, i, 3).real == (double)i / 2);
	}
	/* Columns and text blocks, not a block a cell. */
	assert_in_range(failing.live_blocks, 1, 60);
	trawl_table_free(table);
	assert_int_equal(failing.live_blocks, 0);
	assert_int_equal(failing.live_bytes, 0);
	assert_false(failing.wrong_size);
}

static void notes_are_kept_in_order(void **state)
{
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	char text[32];
	int i;

	for (i = 0; i < 20; i++)
		tw_table_add_note(table, "note %d of %s", i, "20");
	assert_int_equal(trawl_table_notes(table), 20);
	for (i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "note %d of 20", i);
		assert_string_equal(trawl_table_note(table, (size_t)i), text);
	}
	trawl_table_free(table);
}

static void columns_chosen_at_run_time_are_copied(void **state)
{
	struct trawl_column own[2] = { columns[0], columns[1] };
	const struct tw_table_spec bare = { .name = "chosen" };
	struct trawl_table *table = tw_table_new_columns(&bare, own, 2, trawl_allocator_default());

	own[0].header = "changed";
	assert_string_equal(trawl_table_column(table, 0)->header, "Name");
	assert_int_equal(trawl_table_columns(table), 2);
	assert_string_equal(trawl_table_meaning(table), "");
	trawl_table_free(table);
	table = tw_table_new_columns(&bare, NULL, 0, trawl_allocator_default());
	assert_int_equal(tw_table_add_row(table), 0);
	assert_int_equal(trawl_table_rows(table), 1);
	trawl_table_free(table);
}

/* Fills a table with whatever memory there is; gives what _finish says. */
static int fill(struct failing *failing, struct trawl_error *err)
{
	struct trawl_table *table = tw_table_new_columns(&spec, columns, 4, &failing->allocator);
	int status, i;

	if (!table)
		return TRAWL_ENOMEM;
	for (i = 0; i < 200; i++) {
		size_t row = tw_table_add_row(table);

		tw_table_set_str(table, row, 0, "a name that takes some room in the arena");
		tw_table_set_integer(table, row, 1, i);
		tw_table_set_integer(table, row, 2, i);
		tw_table_set_real(table, row, 3, i);
		if (i % 50 == 0)
			tw_table_add_note(table, "row %d", i);
	}
	status = tw_table_finish(table, err);
	trawl_table_free(table);
	return status;
}

static void every_failed_allocation_is_reported(void **state)
{
	struct failing failing;
	struct trawl_error err;
	int status;
	long n;

	for (n = 0;; n++) {
		failing_init(&failing, n);
		status = fill(&failing, &err);
		assert_int_equal(status, failing.failed ? TRAWL_ENOMEM : 0);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
	}
	assert_true(n > 10);
	assert_string_equal(err.message, "out of memory for table 'ops'");
}

/* Of four columns: one without values, one that is not asked for, one that is not there. */
static void narrowed_to_named_columns_with_values(void **state)
{
	static const char *const headers[] = { "time ms", "share", "no such", "Name" };
	struct trawl_table *from = tw_table_new(&spec, trawl_allocator_default()), *to;
	struct failing failing;
	long n;

	tw_table_add_row(from);
	tw_table_add_row(from);
	tw_table_set_str(from, 0, 0, "a");
	tw_table_set_integer(from, 1, 1, 7);
	tw_table_set_integer(from, 1, 2, 1500000);
	tw_table_add_note(from, "100 %% of it");
	for (n = 0;; n++) {
		failing_init(&failing, n);
		to = tw_table_narrow(from, headers, 4, &failing.allocator);
		assert_true(!to == failing.failed);
		if (to)
			break;
		assert_int_equal(failing.live_blocks, 0);
	}
	assert_int_equal(trawl_table_columns(to), 2);
	assert_string_equal(trawl_table_column(to, 0)->header, "time ms");
	assert_string_equal(trawl_table_column(to, 1)->header, "Name");
	assert_int_equal(trawl_table_rows(to), 2);
	assert_int_equal(trawl_table_cell(to, 0, 0).state, TRAWL_CELL_MISSING);
	assert_int_equal(trawl_table_cell(to, 1, 0).integer, 1500000);
	assert_string_equal(trawl_table_cell(to, 0, 1).text, "a");
	assert_string_equal(trawl_table_note(to, 0), "100 % of it");
	assert_string_equal(trawl_table_name(to), "ops");
	trawl_table_free(to);
	trawl_table_free(from);
	assert_int_equal(failing.live_blocks, 0);
	assert_false(failing.wrong_size);
}

/* Rows of six numbers and names; ids that are numbers and those that are not. */
static struct trawl_table *unsorted(void)
{
	static const struct trawl_column mixed[] = { TW_TEXT("t", 0, "x"), TW_INTEGER("i", 0, "x"),
						     TW_REAL("r", "", 0, 0, "x"),
						     TW_ID("d", 0, "x") };
	static const char *const texts[] = { "b", "ab", "a", NULL, "b", "" };
	static const char *const ids[] = { "10", "9", "x", "007", NULL, "y" };
	static const int64_t integers[] = { 3, INT64_MIN, INT64_MAX, INT64_MAX - 1, 3, 0 };
	static const double reals[] = { 1, -1, 0.5, INFINITY, 1, 1e300 }; /* infinite: missing */
	struct trawl_table *table =
		tw_table_new_columns(&spec, mixed, 4, trawl_allocator_default());
	size_t row;

	for (row = 0; row < 6; row++) {
		tw_table_add_row(table);
		tw_table_set_str(table, row, 0, texts[row]);
		tw_table_set_integer(table, row, 1, integers[row]);
		tw_table_set_real(table, row, 2, reals[row]);
		tw_table_set_str(table, row, 3, ids[row]);
	}
	return tw_table_finished(table);
}

static void rows_in_the_order_of_a_column(void **state)
{
	static const struct {
		size_t column;
		bool descending;
		size_t rows[6];
	} cases[] = {
		{ 0, false, { 5, 2, 1, 0, 4, 3 } }, { 0, true, { 0, 4, 1, 2, 5, 3 } },
		{ 1, false, { 1, 5, 0, 4, 3, 2 } }, { 1, true, { 2, 3, 0, 4, 5, 1 } },
		{ 2, false, { 1, 2, 0, 4, 5, 3 } }, { 2, true, { 5, 0, 4, 2, 1, 3 } },
		{ 3, false, { 3, 1, 0, 2, 5, 4 } }, { 3, true, { 5, 2, 0, 1, 3, 4 } },
	};
	struct trawl_table *table = unsorted();
	struct failing failing;
	size_t i, row;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t rows[6] = { 0, 1, 2, 3, 4, 5 };

		assert_int_equal(tw_table_sort_rows(table, cases[i].column, cases[i].descending,
						    rows, 6, trawl_allocator_default()),
				 0);
		for (row = 0; row < 6; row++)
			if (rows[row] != cases[i].rows[row])
				fail_msg("case %zu: row %zu is %zu", i, row, rows[row]);
	}
	assert_int_equal(tw_table_sort_rows(table, 0, true, NULL, 0, trawl_allocator_default()), 0);
	failing_init(&failing, 0);
	assert_int_equal(
		tw_table_sort_rows(table, 0, true, (size_t[]){ 1, 0 }, 2, &failing.allocator), -1);
	trawl_table_free(table);
}

static void picked_rows_and_columns(void **state)
{
	static const size_t columns_picked[] = { 1, 0, 1 }, rows[] = { 4, 0 };
	struct trawl_table *from = unsorted(), *to;
	struct failing failing;
	long n;

	tw_table_add_note(from, "100 %% of it");
	for (n = 0;; n++) {
		failing_init(&failing, n);
		to = tw_table_pick(from, columns_picked, 3, rows, 2, &failing.allocator);
		assert_true(!to == failing.failed);
		if (to)
			break;
		assert_int_equal(failing.live_blocks, 0);
	}
	assert_int_equal(trawl_table_columns(to), 3);
	assert_string_equal(trawl_table_column(to, 0)->header, "i");
	assert_string_equal(trawl_table_column(to, 2)->header, "i");
	assert_int_equal(trawl_table_rows(to), 2);
	assert_int_equal(trawl_table_cell(to, 0, 0).integer, 3);
	assert_string_equal(trawl_table_cell(to, 1, 1).text, "b");
	assert_string_equal(trawl_table_note(to, 0), "100 % of it");
	trawl_table_free(to);
	assert_int_equal(failing.live_blocks, 0);
	/* Without numbers of rows the first. */
	to = tw_table_pick(from, columns_picked, 2, NULL, 2, trawl_allocator_default());
	assert_int_equal(trawl_table_rows(to), 2);
	assert_string_equal(trawl_table_cell(to, 1, 1).text, "ab");
	trawl_table_free(to);
	trawl_table_free(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(declared_once_found_everywhere),
		cmocka_unit_test(cells_are_missing_until_set),
		cmocka_unit_test(borrowed_text_is_not_copied),
		cmocka_unit_test(many_rows),
		cmocka_unit_test(notes_are_kept_in_order),
		cmocka_unit_test(columns_chosen_at_run_time_are_copied),
		cmocka_unit_test(every_failed_allocation_is_reported),
		cmocka_unit_test(narrowed_to_named_columns_with_values),
		cmocka_unit_test(rows_in_the_order_of_a_column),
		cmocka_unit_test(picked_rows_and_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
