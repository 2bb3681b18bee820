/* Reports side by side: rows by key, differences, what only one side has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "study/books/joined.h"
#include "study/books/report_tables.h"
#include "failing.h"
#include "render/render.h"
#include "base/scope.h"
#include "scratch.h"
#include "typed.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct tw_scope scope;
static struct tw_pool pool;
static struct trawl_error err;
static struct scratch scratch;

static int setup(void **state)
{
	tw_scope_begin(&scope, trawl_allocator_default());
	assert_int_equal(tw_pool_init(&pool, &scope.allocator), 0);
	scratch_make(&scratch);
	return 0;
}

static int teardown(void **state)
{
	tw_scope_end(&scope);
	free_typed();
	scratch_remove(&scratch);
	return 0;
}

static struct tw_keyed keyed_of(const char *text, const char *key)
{
	struct tw_keyed keyed;

	assert_int_equal(tw_keyed_of(&keyed, typed(text), &key, 1, &pool, &scope.allocator, &err),
			 0);
	return keyed;
}

static void assert_table(const struct trawl_table *table, const char *expected)
{
	struct tw_str out;

	assert_non_null(table);
	tw_str_init(&out, trawl_allocator_default());
	tw_render_csv(table, &out);
	assert_string_equal(out.ptr, expected);
	tw_str_release(&out);
}

/* ---- rows with the same key */

static void rows_of_one_key_are_added_up(void **state)
{
	const struct tw_keyed keyed = keyed_of(
		"name,x_sum,x_mean,x_min,x_max,operation_count,where,who,Percentage (%),UID_first\n"
		"a,10,5,4,6,2,here,me,1.5,7\n"
		"b,1,1,1,1,1,b,b,0.5,\n"
		"a,30,10,2,12,3,here,you,2.25,9\n"
		"a,,,,,,here,me,,7\n",
		"name");

	assert_int_equal(keyed.added_up, 2);
	/* The mean is that of all five calls. */
	assert_table(
		keyed.table,
		"name,x_sum,x_mean,x_min,x_max,operation_count,where,who,Percentage (%),UID_first\n"
		"a,40,8,2,12,5,here,,3.75,\n"
		"b,1,1,1,1,1,b,b,0.5,\n");
}

static void rows_are_found_by_key(void **state)
{
	const struct tw_keyed a = keyed_of("k,v\nx,1\ny,2\nx,3\n\"\",4\n", "k");
	const struct tw_keyed b = keyed_of("v,k\n0,y\n0,z\n0,\n", "k");
	const struct tw_keyed none = keyed_of("k\n", "k");

	assert_int_equal(tw_keyed_find(&a, &b, 0), 1);
	assert_int_equal(tw_keyed_find(&a, &b, 1), TW_KEYED_NO_ROW);
	assert_int_equal(tw_keyed_find(&a, &b, 2), 2);
	assert_int_equal(tw_keyed_find(&none, &b, 0), TW_KEYED_NO_ROW);
}

/* ---- joining */

/* Of 0.1 % of the largest more than ten times as much is no percentage, of a little more it is. */
static void next_to_nothing_has_no_percentage(void **state)
{
	static const char *const names[] = { "a", "b" };
	static const char *const keys[] = { "type" }, *const differences[] = { "ms" };
	const struct tw_keyed a = keyed_of("type,ms\ntotal,1000\nx,0.9\ny,0.9\nz,1\nu,0\n", "type");
	const struct tw_keyed b =
		keyed_of("type,ms\ntotal,1000\nx,9.9\ny,9.91\nz,100\nu,1\n", "type");
	const struct tw_keyed *const sides[] = { &a, &b };
	const struct tw_join join = { .name = "t",
				      .meaning = "m",
				      .sides = sides,
				      .names = names,
				      .side_count = 2,
				      .keys = keys,
				      .key_count = 1,
				      .differences = differences,
				      .difference_count = 1 };
	struct trawl_table *table;

	assert_int_equal(tw_join_table(&join, &table, trawl_allocator_default(), &err), 0);
	assert_table(table, "type,ms__b_diff,ms__b_pct,a::ms,b::ms\n"
			    "total,0,0,1000,1000\n"
			    "x,9,1000,0.9,9.9\n"
			    "y,9.01,,0.9,9.91\n"
			    "z,99,9900,1,100\n"
			    "u,1,,0,1\n");
	trawl_table_free(table);
}

static void three_sides(void **state)
{
	static const char *const names[] = { "one", "two", "3" };
	static const char *const keys[] = { "type" }, *const differences[] = { "ms", "absent" };
	const struct tw_keyed a = keyed_of("type,ms,ok\nbusy,10,True\nidle,0,False\n", "type");
	const struct tw_keyed b = keyed_of("ms,type\n12.5,busy\n1,idle\n7,new\n", "type");
	const struct tw_keyed c = keyed_of("type,ms\nnew,8\nbusy,x\n", "type");
	const struct tw_keyed *const sides[] = { &a, &b, &c };
	const struct tw_join join = { .name = "t",
				      .meaning = "m",
				      .sides = sides,
				      .names = names,
				      .side_count = 3,
				      .keys = keys,
				      .key_count = 1,
				      .differences = differences,
				      .difference_count = 2 };
	struct trawl_table *table;

	assert_int_equal(tw_join_table(&join, &table, trawl_allocator_default(), &err), 0);
	assert_table(table, "type,ms__two_diff,ms__two_pct,ms__3_diff,ms__3_pct,one::ms,one::ok,"
			    "two::ms,3::ms\n"
			    "busy,2.5,25,,,10,True,12.5,x\n"
			    "idle,1,,,,0,False,1,\n"
			    "new,,,,,,,7,8\n");
	trawl_table_free(table);
}

static void order_and_empty_columns(void **state)
{
	static const char *const names[] = { "a", "b" }, *const keys[] = { "k" };
	const struct tw_keyed a =
		keyed_of("k,t,none\nx,1,\ny,9007199254740993,\nz,,\nw,1,\nv,5,\n", "k");
	const struct tw_keyed b = keyed_of("k,t\nx,1\ny,2\nz,3\nw,4\n", "k");
	const struct tw_keyed *const sides[] = { &a, &b };
	struct tw_join join = { .name = "t",
				.meaning = "m",
				.sides = sides,
				.names = names,
				.side_count = 2,
				.keys = keys,
				.key_count = 1,
				.rows = TW_JOINED_BOTH,
				.order = "t",
				.no_empty_columns = true };
	struct trawl_table *table;

	/* Equal ones as they came, what has no number last; large integers digit by digit. */
	assert_int_equal(tw_join_table(&join, &table, trawl_allocator_default(), &err), 0);
	assert_table(table, "k,a::t,b::t\ny,9007199254740993,2\nx,1,1\nw,1,4\nz,,3\n");
	trawl_table_free(table);
	join.rows = TW_JOINED_ONLY_BASELINE;
	assert_int_equal(tw_join_table(&join, &table, trawl_allocator_default(), &err), 0);
	assert_table(table, "k,a::t\nv,5\n");
	trawl_table_free(table);
	join.rows = TW_JOINED_ONLY_VARIANT;
	assert_int_equal(tw_join_table(&join, &table, trawl_allocator_default(), &err), 0);
	assert_null(table);
}

/* Integers below 0 stay what they are too; a sign alone is none. */
static void integers_digit_by_digit(void **state)
{
	static const char *const names[] = { "a", "b" }, *const keys[] = { "k" };
	const struct tw_keyed a = keyed_of("k,n,m\nx,-9007199254740993,-\n", "k");
	const struct tw_keyed b = keyed_of("k,n,m\nx,-9007199254740993,-9007199254740993\n"
					   "y,9007199254740993,0.5\n",
					   "k");
	const struct tw_keyed *const sides[] = { &a, &b };
	const struct tw_join join = { .name = "t",
				      .meaning = "m",
				      .sides = sides,
				      .names = names,
				      .side_count = 2,
				      .keys = keys,
				      .key_count = 1 };
	struct trawl_table *table;

	assert_int_equal(tw_join_table(&join, &table, trawl_allocator_default(), &err), 0);
	/* With a number that is no integer among them they are all doubles. */
	assert_table(table, "k,a::n,a::m,b::n,b::m\n"
			    "x,-9007199254740993,-,-9007199254740993,-9007199254740992\n"
			    "y,,,9007199254740993,0.5\n");
	trawl_table_free(table);
}

/* ---- reports */

/* A file of a report in the scratch directory. */
static void put(const char *report, const char *sheet, const char *text)
{
	char name[128];

	mkdir(scratch_path(&scratch, report), 0700);
	snprintf(name, sizeof(name), "%s/%s.csv", report, sheet);
	scratch_write(&scratch, name, text);
}

static struct tw_book *open_report(const char *report)
{
	struct tw_book *book;

	assert_int_equal(tw_book_open(&book, scratch_path(&scratch, report),
				      trawl_allocator_default(), &err),
			 0);
	return book;
}

struct made {
	struct trawl_table *tables[TW_COMPARE_MOST_TABLES];
	size_t count;
	struct tw_str told;
};

static void compare(struct made *made, const struct tw_compared *sides, size_t count,
		    unsigned sheets)
{
	tw_str_init(&made->told, trawl_allocator_default());
	assert_int_equal(tw_compare_reports(sides, count, sheets, made->tables, &made->count,
					    &made->told, trawl_allocator_default(), &err),
			 0);
}

static const struct trawl_table *made_table(const struct made *made, const char *name)
{
	size_t i;

	for (i = 0; i < made->count; i++)
		if (!strcmp(trawl_table_name(made->tables[i]), name))
			return made->tables[i];
	return NULL;
}

static void free_made(struct made *made)
{
	while (made->count)
		trawl_table_free(made->tables[--made->count]);
	tw_str_release(&made->told);
}

/* One has the micro sign, the other the Greek letter; kernels are not unique by name. */
static void kernels_with_either_micro(void **state)
{
	struct tw_compared sides[] = { { "A", NULL }, { "B", NULL } };
	struct made made;

	put("a", "kernel_summary",
	    "Parent op category,Kernel name,Kernel duration (\xC2\xB5s)_sum,"
	    "Kernel duration (\xC2\xB5s)_count,Kernel duration (\xC2\xB5s)_mean,"
	    "Kernel duration (\xC2\xB5s)_min\n"
	    "GEMM,k,10,2,5,1\nGEMM,l,11,1,11,1\nother,k,2,2,1,1\n");
	put("b", "kernel_summary",
	    "Kernel name,Kernel duration (\xCE\xBCs)_sum,Kernel duration (\xCE\xBCs)_count,"
	    "Kernel duration (\xCE\xBCs)_mean\n"
	    "k,24,4,6\n");
	sides[0].book = open_report("a");
	sides[1].book = open_report("b");
	compare(&made, sides, 2, TRAWL_COMPARE_EVERYTHING);
	assert_int_equal(made.count, 1);
	assert_table(
		made.tables[0],
		"Kernel name,Kernel duration (\xC2\xB5s)_sum__B_diff,"
		"Kernel duration (\xC2\xB5s)_sum__B_pct,Kernel duration (\xC2\xB5s)_mean__B_diff,"
		"Kernel duration (\xC2\xB5s)_mean__B_pct,"
		"Kernel duration (\xC2\xB5s)_count__B_diff,"
		"Kernel duration (\xC2\xB5s)_count__B_pct,A::Kernel duration (\xC2\xB5s)_sum,"
		"A::Kernel duration (\xC2\xB5s)_count,A::Kernel duration (\xC2\xB5s)_mean,"
		"B::Kernel duration (\xCE\xBCs)_sum,B::Kernel duration (\xCE\xBCs)_count,"
		"B::Kernel duration (\xCE\xBCs)_mean\n"
		"k,12,100,3,100,0,0,12,4,3,24,4,6\n"
		"l,,,,,,,11,1,11,,,\n");
	assert_int_equal(trawl_table_notes(made.tables[0]), 1);
	assert_string_equal(trawl_table_note(made.tables[0], 0),
			    "1 rows of A have duplicate keys: added up");
	free_made(&made);
	tw_book_free(sides[0].book);
	tw_book_free(sides[1].book);
}

static void what_a_side_lacks_is_told(void **state)
{
	struct tw_compared sides[] = { { "A", NULL }, { "B", NULL }, { "C", NULL } };
	struct made made;

	put("a", "gpu_timeline", "type,time ms\nbusy,1\n");
	put("b", "gpu_timeline", "type,time ms\nbusy,3\n");
	put("c", "other", "type\n");
	put("a", "ops_summary", "name,Count\nmm,1\n");
	put("b", "ops_summary", "label,Count\nmm,1\n");
	put("b", "kernel_summary", "Kernel name\nk\n");
	put("a", "unified_perf_summary", "name,x\nmm\n");
	put("c", "GEMM", "name,param: M,Kernel Time (\xC2\xB5s)_sum\nmm,1,2\n");
	put("c", "nameless", "param: M,Kernel Time (\xC2\xB5s)_sum\n1,2\n");
	sides[0].book = open_report("a");
	sides[1].book = open_report("b");
	sides[2].book = open_report("c");
	compare(&made, sides, 3, TRAWL_COMPARE_EVERYTHING);
	assert_int_equal(made.count, 1);
	assert_table(made.tables[0], "type,time ms__B_diff,time ms__B_pct,A::time ms,B::time ms\n"
				     "busy,2,200,1,3\n");
	assert_non_null(strstr(made.told.ptr, "C: no sheet 'gpu_timeline'"));
	assert_non_null(strstr(made.told.ptr, "B: sheet 'ops_summary' has no column 'name'"));
	assert_non_null(strstr(made.told.ptr, "A: no sheet 'kernel_summary'"));
	assert_non_null(strstr(made.told.ptr, "unified_perf_summary.csv:2"));
	assert_non_null(strstr(made.told.ptr, "A: no sheet 'GEMM'"));
	assert_null(strstr(made.told.ptr, "nameless"));
	free_made(&made);
	tw_book_free(sides[0].book);
	tw_book_free(sides[1].book);
	tw_book_free(sides[2].book);
}

/* Parameters that not all have are no key. */
static void parameters_that_all_have(void **state)
{
	struct tw_compared sides[] = { { "base", NULL }, { "v/1", NULL }, { "v:1", NULL } };
	struct made made;

	put("a", "GEMM",
	    "name,param: M,param: bias,Kernel Time (\xC2\xB5s)_sum,name_count\n"
	    "mm,8,True,20,2\nmm,8,False,10,1\nmm,9,True,1,1\n");
	put("b", "GEMM",
	    "name,param: M,Kernel Time (\xC2\xB5s)_sum,name_count\nmm,8,33,3\nmm,7,1,1\n");
	sides[0].book = open_report("a");
	sides[1].book = open_report("b");
	sides[2].book = open_report("b");
	compare(&made, sides, 3, TRAWL_COMPARE_ROOFLINE);
	assert_int_equal(made.count, 6);
	assert_string_equal(made.told.ptr ? made.told.ptr : "", "");
	assert_table(
		made_table(&made, "GEMM_intersect_v_1"),
		"name,param: M,Kernel Time (\xC2\xB5s)_sum__v/1_diff,"
		"Kernel Time (\xC2\xB5s)_sum__v/1_pct,name_count__v/1_diff,name_count__v/1_pct,"
		"base::Kernel Time (\xC2\xB5s)_sum,base::name_count,"
		"v/1::Kernel Time (\xC2\xB5s)_sum,v/1::name_count\n"
		"mm,8,3,10,0,0,30,3,33,3\n");
	assert_table(made_table(&made, "GEMM_only_baseline_v_1"),
		     "name,param: M,base::param: bias,base::Kernel Time (\xC2\xB5s)_sum,"
		     "base::name_count\nmm,9,True,1,1\n");
	assert_table(made_table(&made, "GEMM_only_variant_v_1"),
		     "name,param: M,v/1::Kernel Time (\xC2\xB5s)_sum,v/1::name_count\nmm,7,1,1\n");
	assert_non_null(made_table(&made, "GEMM_intersect_v_1_3"));
	free_made(&made);
	assert_int_equal(tw_compare_reports(sides, 1, TRAWL_COMPARE_EVERYTHING, made.tables,
					    &made.count, &made.told, trawl_allocator_default(),
					    &err),
			 TRAWL_EUSAGE);
	tw_book_free(sides[0].book);
	tw_book_free(sides[1].book);
	tw_book_free(sides[2].book);
}

static void each_allocation_fails_once(void **state)
{
	struct tw_compared sides[] = { { "A", NULL }, { "B", NULL } };
	struct trawl_table *tables[TW_COMPARE_MOST_TABLES];
	struct failing failing;
	struct tw_str told;
	size_t count;
	int status;
	long n;

	put("a", "ops_summary", "name,Count\nmm,1\nmm,2\nadd,1\n");
	put("b", "ops_summary", "name,Count\nmm,1\n");
	put("a", "GEMM", "name,param: M,Kernel Time (\xC2\xB5s)_sum,name_count\nmm,8,20,2\n");
	put("b", "GEMM", "name,param: M,Kernel Time (\xC2\xB5s)_sum\nmm,8,33\nmm,7,1\nmm,7,2\n");
	put("b", "gpu_timeline", "type\n");
	sides[0].book = open_report("a");
	sides[1].book = open_report("b");
	for (n = 0;; n++) {
		failing_init(&failing, n);
		tw_str_init(&told, &failing.allocator);
		status = tw_compare_reports(sides, 2, TRAWL_COMPARE_EVERYTHING, tables, &count,
					    &told, &failing.allocator, &err);
		while (count)
			trawl_table_free(tables[--count]);
		tw_str_release(&told);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
		assert_int_equal(status, TRAWL_ENOMEM);
	}
	assert_int_equal(status, 0);
	assert_true(n > 20);
	tw_book_free(sides[0].book);
	tw_book_free(sides[1].book);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rows_of_one_key_are_added_up, setup, teardown),
		cmocka_unit_test_setup_teardown(rows_are_found_by_key, setup, teardown),
		cmocka_unit_test_setup_teardown(next_to_nothing_has_no_percentage, setup, teardown),
		cmocka_unit_test_setup_teardown(three_sides, setup, teardown),
		cmocka_unit_test_setup_teardown(order_and_empty_columns, setup, teardown),
		cmocka_unit_test_setup_teardown(integers_digit_by_digit, setup, teardown),
		cmocka_unit_test_setup_teardown(kernels_with_either_micro, setup, teardown),
		cmocka_unit_test_setup_teardown(what_a_side_lacks_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(parameters_that_all_have, setup, teardown),
		cmocka_unit_test_setup_teardown(each_allocation_fails_once, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
