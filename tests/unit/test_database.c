/* SQLite databases, read only: what is no database, tables and columns by name, values, damage. */
#include "db/database.h"
#include "failing.h"
#include "scratch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct scratch scratch;

static void make(const char *name, const char *sql)
{
	char *message = NULL;
	sqlite3 *db;

	unlink(scratch_path(&scratch, name));
	assert_int_equal(sqlite3_open(scratch_path(&scratch, name), &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message))
		fail_msg("%s: %s", sql, message);
	sqlite3_close(db);
}

static struct tw_database *open_it(const char *name)
{
	struct trawl_error err = { 0 };
	struct tw_database *db;

	if (tw_database_open(&db, scratch_path(&scratch, name), trawl_allocator_default(), &err))
		fail_msg("%s", err.message);
	return db;
}

static void expect_refused(const char *name, int status, const char *words)
{
	int before = scratch_count(&scratch, "");
	struct trawl_error err = { 0 };
	struct tw_database *db;

	assert_int_equal(tw_database_open(&db, scratch_path(&scratch, name),
					  trawl_allocator_default(), &err),
			 status);
	assert_null(db);
	if (!strstr(err.message, words))
		fail_msg("'%s' lacks '%s'", err.message, words);
	assert_int_equal(scratch_count(&scratch, ""), before);
}

static void write_bytes(const char *name, const void *bytes, size_t len)
{
	int fd = open(scratch_path(&scratch, name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

/* ---- opening */

static void test_no_database(void **state)
{
	char zeros[4096] = "";

	(void)state;
	expect_refused("absent", TRAWL_EIO, "No such file");
	expect_refused(".", TRAWL_EIO, "directory");
	write_bytes("empty", "", 0);
	expect_refused("empty", TRAWL_EFORMAT, "empty");
	write_bytes("zeros", zeros, sizeof(zeros));
	expect_refused("zeros", TRAWL_EFORMAT, "interrupted");
	write_bytes("text", "hello", 5);
	expect_refused("text", TRAWL_EFORMAT, "not an SQLite database");
	memcpy(zeros, "SQLite format 3", 16);
	write_bytes("mark", zeros, 16);
	expect_refused("mark", TRAWL_EFORMAT, "not an SQLite database");
	write_bytes("header", zeros, sizeof(zeros));
	expect_refused("header", TRAWL_EFORMAT, "damaged");
}

static void test_tables_and_columns(void **state)
{
	struct tw_database *db;

	(void)state;
	make("t",
	     "CREATE TABLE a(x,y); CREATE TABLE \"odd \"\"name\"(z); CREATE VIEW v AS SELECT 1;"
	     "CREATE VIRTUAL TABLE f USING fts5(t); CREATE INDEX i ON a(x)");
	db = open_it("t");
	assert_true(tw_database_has_table(db, "a"));
	assert_true(tw_database_has_table(db, "A"));
	assert_true(tw_database_has_table(db, "odd \"name"));
	assert_false(tw_database_has_table(db, "v"));
	assert_false(tw_database_has_table(db, "f"));
	assert_false(tw_database_has_table(db, "sqlite_master"));
	assert_string_equal(tw_database_table(db, 0), "a");
	assert_true(tw_database_has_column(db, "a", "X"));
	assert_false(tw_database_has_column(db, "a", "z"));
	assert_true(tw_database_has_column(db, "odd \"name", "z"));
	assert_false(tw_database_has_column(db, "v", "1"));
	assert_false(tw_database_cut(db));
	assert_true(tw_database_size(db) > 0);
	tw_database_close(db);
	tw_database_close(NULL);
}

static void test_range(void **state)
{
	struct trawl_error err;
	struct tw_database *db;
	int64_t first, last;

	(void)state;
	make("t",
	     "CREATE TABLE a(x); INSERT INTO a(rowid,x) VALUES(-5,1),(7,2),(9223372036854775807,3);"
	     "CREATE TABLE empty(x); CREATE TABLE w(x PRIMARY KEY) WITHOUT ROWID");
	db = open_it("t");
	assert_int_equal(tw_database_range(db, "a", &first, &last, &err), 1);
	assert_int_equal(first, -5);
	assert_true(last == INT64_MAX);
	assert_int_equal(tw_database_range(db, "empty", &first, &last, &err), 0);
	assert_int_equal(tw_database_range(db, "none", &first, &last, &err), 0);
	assert_int_equal(tw_database_range(db, "w", &first, &last, &err), TRAWL_EFORMAT);
	assert_false(tw_database_rowids(db, "w", &first, &last));
	assert_true(tw_database_rowids(db, "a", &first, &last));
	tw_database_close(db);
}

/* ---- scans */

static void test_values(void **state)
{
	static const char *const columns[] = { "i", "gone", "r", "t", "b", "n", "d" };
	struct trawl_error err;
	struct tw_database *db;
	struct tw_scan *scan;
	int64_t value, values[7];
	uint32_t odd;
	size_t len;

	(void)state;
	make("t", "CREATE TABLE a(i,r,t,b,n,d); INSERT INTO a VALUES"
		  "(-9223372036854775808, 2.5, 'text', x'00ff', NULL, '42')");
	db = open_it("t");
	assert_int_equal(tw_scan_open(&scan, db, "a", columns, 7, INT64_MIN, INT64_MAX, &err), 0);
	assert_int_equal(tw_scan_next(scan, &err), 1);
	assert_int_equal(tw_scan_rowid(scan), 1);
	assert_int_equal(tw_scan_integer(scan, 0, &value), TW_VALUE_GIVEN);
	assert_true(value == INT64_MIN);
	assert_int_equal(tw_scan_integer(scan, 1, &value), TW_VALUE_ABSENT);
	assert_int_equal(tw_scan_integer(scan, 2, &value), TW_VALUE_ODD);
	assert_int_equal(tw_scan_integer(scan, 3, &value), TW_VALUE_ODD);
	assert_int_equal(tw_scan_integer(scan, 4, &value), TW_VALUE_ODD);
	assert_int_equal(tw_scan_integer(scan, 5, &value), TW_VALUE_ABSENT);
	assert_int_equal(tw_scan_integer(scan, 6, &value), TW_VALUE_GIVEN);
	assert_int_equal(value, 42);
	assert_int_equal(tw_scan_integers(scan, 0x7f, values, &odd), 1 << 0 | 1 << 6);
	assert_int_equal(odd, 1 << 2 | 1 << 3 | 1 << 4);
	assert_int_equal(values[6], 42);
	assert_memory_equal(tw_scan_text(scan, 3, &len), "text", 4);
	assert_int_equal(len, 4);
	assert_null(tw_scan_text(scan, 0, &len));
	assert_null(tw_scan_text(scan, 1, &len));
	assert_true(tw_scan_real(scan, 2) == 2.5);
	assert_true(tw_scan_real(scan, 5) != tw_scan_real(scan, 5));
	assert_int_equal(tw_scan_next(scan, &err), 0);
	tw_scan_close(scan);
	tw_database_close(db);
}

static int count_rows(struct tw_database *db, const char *table, int64_t first, int64_t last)
{
	static const char *const columns[] = { "x" };
	struct trawl_error err;
	struct tw_scan *scan;
	int rows = 0, status;

	assert_int_equal(tw_scan_open(&scan, db, table, columns, 1, first, last, &err), 0);
	while ((status = tw_scan_next(scan, &err)) == 1)
		rows++;
	tw_scan_close(scan);
	return status ? status : rows;
}

static void test_part_of_a_table(void **state)
{
	struct tw_database *db, *again;
	struct trawl_error err;

	(void)state;
	make("t", "CREATE TABLE a(x); WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c "
		  "WHERE n<1000) INSERT INTO a SELECT n FROM c; DELETE FROM a WHERE x%10=0");
	db = open_it("t");
	assert_int_equal(count_rows(db, "a", INT64_MIN, INT64_MAX), 900);
	assert_int_equal(count_rows(db, "a", 10, 10), 0);
	assert_int_equal(count_rows(db, "a", 10, 21), 10);
	assert_int_equal(count_rows(db, "none", 10, 21), 0);
	assert_int_equal(tw_database_open_again(&again, db, &err), 0);
	assert_int_equal(count_rows(again, "a", 500, INT64_MAX), 450);
	tw_database_close(again);
	tw_database_close(db);
}

static void test_texts(void **state)
{
	static const char column[] = "value", ids[] = "ids", rows[] = "rows";
	struct tw_database *db;
	size_t len;

	(void)state;
	make("t", "CREATE TABLE ids(value, id INT); INSERT INTO ids VALUES('a',5),(7,6),('b',1);"
		  "CREATE TABLE rows(value); INSERT INTO rows VALUES('x'),('y')");
	db = open_it("t");
	assert_memory_equal(tw_database_text(db, ids, column, 1, &len), "b", 1);
	assert_memory_equal(tw_database_text(db, ids, column, 5, &len), "a", 1);
	assert_null(tw_database_text(db, ids, column, 6, &len));
	assert_null(tw_database_text(db, ids, column, 2, &len));
	assert_memory_equal(tw_database_text(db, rows, column, 2, &len), "y", 1);
	assert_null(tw_database_text(db, "none", column, 2, &len));
	assert_int_equal(len, 0);
	assert_false(tw_database_text_failed(db));
	tw_database_close(db);
}

/* Texts that are asked for by the thousand are found without going through all of them each. */
static void test_many_texts_without_a_key(void **state)
{
	static const char table[] = "ids", column[] = "value";
	struct tw_database *db;
	char expected[24];
	const char *text;
	int64_t id;
	size_t len;

	(void)state;
	make("t", "CREATE TABLE ids(value, id); WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL "
		  "SELECT n+1 FROM c WHERE n<30000) INSERT INTO ids SELECT 'text '||n, n*3 FROM c;"
		  "INSERT INTO ids VALUES('later',300),('of a real',7.0),('half',7.5),(5,8)");
	db = open_it("t");
	for (id = 3; id <= 90000; id += 3) {
		len = (size_t)snprintf(expected, sizeof(expected), "text %lld", (long long)id / 3);
		text = tw_database_text(db, table, column, id, &len);
		assert_non_null(text);
		assert_int_equal(len, strlen(expected));
		assert_memory_equal(text, expected, len);
	}
	assert_memory_equal(tw_database_text(db, table, column, 7, &len), "of a real", 9);
	assert_null(tw_database_text(db, table, column, 8, &len));
	assert_null(tw_database_text(db, table, column, 4, &len));
	assert_false(tw_database_text_failed(db));
	tw_database_close(db);
}

static void test_column_named_rowid(void **state)
{
	static const char *const columns[] = { "x", "rowid" };
	struct tw_database *db;
	struct tw_scan *scan;
	struct trawl_error err;
	int64_t first, last, value;
	size_t len;

	(void)state;
	make("t", "CREATE TABLE a(x, rowid TEXT DEFAULT 'r'); INSERT INTO a(x) VALUES(5),(6);"
		  "CREATE TABLE k(x, rowid INTEGER PRIMARY KEY); INSERT INTO k VALUES(5,77)");
	db = open_it("t");
	assert_true(tw_database_rowids(db, "a", &first, &last));
	assert_int_equal(first, 1);
	assert_int_equal(last, 2);
	assert_int_equal(tw_scan_open(&scan, db, "a", columns, 2, first, last, &err), 0);
	assert_int_equal(tw_scan_next(scan, &err), 1);
	assert_int_equal(tw_scan_next(scan, &err), 1);
	assert_int_equal(tw_scan_rowid(scan), 2);
	assert_int_equal(tw_scan_integer(scan, 0, &value), TW_VALUE_GIVEN);
	assert_int_equal(value, 6);
	assert_memory_equal(tw_scan_text(scan, 1, &len), "r", 1);
	assert_int_equal(tw_scan_next(scan, &err), 0);
	tw_scan_close(scan);
	assert_true(tw_database_rowids(db, "k", &first, &last));
	assert_int_equal(last, 77);
	tw_database_close(db);
}

/* ---- damage */

#define PAGE 512

/* A table of many pages of PAGE bytes; its bytes. */
static char *many_pages(size_t *len)
{
	make("t", "PRAGMA page_size=512; CREATE TABLE a(x); WITH RECURSIVE c(n) AS (SELECT 1 UNION "
		  "ALL SELECT n+1 FROM c WHERE n<2000) INSERT INTO a SELECT n*1000000 FROM c");
	return scratch_read(scratch_path(&scratch, "t"), len);
}

static void test_cut(void **state)
{
	struct tw_database *db;
	char *bytes;
	size_t len;

	(void)state;
	bytes = many_pages(&len);
	write_bytes("cut", bytes, len / 2 / PAGE * PAGE);
	free(bytes);
	db = open_it("cut");
	assert_true(tw_database_cut(db));
	assert_true(tw_database_has_table(db, "a"));
	assert_int_equal(count_rows(db, "a", INT64_MIN, INT64_MAX), TRAWL_EFORMAT);
	assert_true(count_rows(db, "a", 1, 100) == 100);
	tw_database_close(db);
}

/* The root leads back to the same leaf again and again. */
static void test_tree_that_loops(void **state)
{
	struct tw_database *db;
	char *bytes, *root;
	size_t len, i, cells;

	(void)state;
	bytes = many_pages(&len);
	root = bytes + PAGE; /* page 2, inner */
	assert_int_equal(root[0], 5);
	cells = (size_t)(unsigned char)root[3] << 8 | (unsigned char)root[4];
	for (i = 1; i < cells; i++) {
		size_t a = (size_t)(unsigned char)root[12] << 8 | (unsigned char)root[13];
		size_t b = (size_t)(unsigned char)root[12 + 2 * i] << 8 |
			   (unsigned char)root[13 + 2 * i];

		memcpy(root + b, root + a, 4);
	}
	write_bytes("loop", bytes, len);
	free(bytes);
	db = open_it("loop");
	assert_int_equal(count_rows(db, "a", INT64_MIN, INT64_MAX), TRAWL_EFORMAT);
	tw_database_close(db);
}

static void test_no_memory(void **state)
{
	static const char *const columns[] = { "x" };
	struct failing failing;
	long n;

	(void)state;
	make("t", "CREATE TABLE a(x); INSERT INTO a VALUES(1)");
	for (n = 0;; n++) {
		struct trawl_error err = { 0 };
		struct tw_database *db = NULL, *again = NULL;
		struct tw_scan *scan = NULL;
		int status;

		failing_init(&failing, n);
		status = tw_database_open(&db, scratch_path(&scratch, "t"), &failing.allocator,
					  &err);
		if (!status)
			status = tw_database_open_again(&again, db, &err);
		if (!status)
			status = tw_scan_open(&scan, again, "a", columns, 1, 0, 9, &err);
		if (!status)
			assert_int_equal(tw_scan_next(scan, &err), 1);
		tw_scan_close(scan);
		tw_database_close(again);
		tw_database_close(db);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		assert_int_equal(status, failing.failed ? TRAWL_ENOMEM : 0);
		if (!failing.failed)
			break;
	}
	assert_true(n > 2);
}

static int setup(void **state)
{
	(void)state;
	scratch_make(&scratch);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove(&scratch);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_database),
		cmocka_unit_test(test_tables_and_columns),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_part_of_a_table),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_many_texts_without_a_key),
		cmocka_unit_test(test_column_named_rowid),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_tree_that_loops),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
