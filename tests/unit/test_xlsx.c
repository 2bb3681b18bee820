/* Workbooks, read back by unzipping: what is in the XML, what happens when something fails. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "book/book.h"
#include "failing.h"
#include "instrumented.h"
#include "io/unzip.h"
#include "render/render.h"
#include "scratch.h"
#include "standalone/replay/replay.h"
#include "table/table.h"
#include "trawl/render.h"

static const struct trawl_column columns[] = {
	TW_TEXT("Kernel name", 0, "Name of the kernel."),
	TW_INTEGER("Correlation", 0, "Links launch and kernel."),
	TW_DECIMAL("Kernel duration (µs)_sum", "µs", 3, 1, 0, "Sum."),
	TW_PERCENT_2("share", 33, "Of the total & more."),
};

static const struct tw_table_spec spec = {
	.name = "kernels",
	.meaning = "One row a kernel.",
	.columns = columns,
	.column_count = 4,
};

static struct scratch scratch;
static struct trawl_error err;

static int setup(void **state)
{
	scratch_make(&scratch);
	memset(&err, 0, sizeof(err));
	return 0;
}

static int teardown(void **state)
{
	scratch_remove(&scratch);
	return 0;
}

static void add(struct trawl_table *table, const char *name, int64_t correlation, int64_t ns,
		double share)
{
	size_t row = tw_table_add_row(table);

	tw_table_set_str(table, row, 0, name);
	tw_table_set_integer(table, row, 1, correlation);
	tw_table_set_integer(table, row, 2, ns);
	tw_table_set_real(table, row, 3, share);
}

static struct trawl_table *sample(void)
{
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());

	add(table, "gemm<float>", 7, 98718, 32.135079444135194);
	add(table, "=SUM(A1:A9)", INT64_MAX, 350000, NAN);
	add(table, "\x1b[31m _x0041_ ", -((int64_t)1 << 53), -1, 1e300);
	add(table, NULL, 8, 0, INFINITY);
	tw_table_add_note(table, "two streams");
	return table;
}

static int write_book(const struct trawl_table *const *tables, size_t count, const char *name)
{
	return tw_render_xlsx(tables, count, scratch_path(&scratch, name),
			      trawl_allocator_default(), &err);
}

/* --- reading back ------------------------------------------------------------------------- */

struct part {
	const char *name;
	char *text;
	size_t len, capacity;
};

static int gather(void *context, const char *name, const char *bytes, size_t len, bool last,
		  struct trawl_error *error)
{
	struct part *part = context;

	(void)last;
	(void)error;
	if (strcmp(name, part->name) != 0)
		return 0;
	if (part->len + len + 1 > part->capacity) {
		part->capacity = 2 * part->capacity + len + 1;
		part->text = realloc(part->text, part->capacity);
	}
	memcpy(part->text + part->len, bytes, len);
	part->len += len;
	part->text[part->len] = '\0';
	return 0;
}

/* The text of one part of a workbook, to be freed; "" when the part is not there. */
static char *part_of(const char *book, const char *name)
{
	struct part part = { .name = name };
	int fd = open(scratch_path(&scratch, book), O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(tw_unzip(fd, gather, &part, trawl_allocator_default(), &err), 0);
	close(fd);
	return part.text ? part.text : strdup("");
}

static void assert_has(const char *book, const char *name, const char *text)
{
	char *part = part_of(book, name);

	if (!strstr(part, text))
		fail_msg("'%s' is not in %s: %.3000s", text, name, part);
	free(part);
}

static void assert_has_not(const char *book, const char *name, const char *text)
{
	char *part = part_of(book, name);

	if (strstr(part, text))
		fail_msg("'%s' is in %s", text, name);
	free(part);
}

static size_t count_of(const char *book, const char *name, const char *text)
{
	char *part = part_of(book, name), *at;
	size_t len = strlen(text), count = 0;

	/* Not strstr(): under the address sanitizer each call reads to the end. */
	for (at = part; *at; at++)
		count += *at == *text && strncmp(at, text, len) == 0;
	free(part);
	return count;
}

#define SHEET1 "xl/worksheets/sheet1.xml"
#define SHEET2 "xl/worksheets/sheet2.xml"
#define STRINGS "xl/sharedStrings.xml"

/* --- contents ----------------------------------------------------------------------------- */

static void cells_are_what_they_are(void **state)
{
	struct trawl_table *table = sample();
	const struct trawl_table *borrowed = table;

	assert_int_equal(write_book(&borrowed, 1, "book.xlsx"), 0);
	assert_int_equal(scratch_count(&scratch, ""), 1);
	/* Text: strings, never formulas. */
	assert_has("book.xlsx", STRINGS, "<t>gemm&lt;float&gt;</t>");
	assert_has("book.xlsx", STRINGS, "<t>=SUM(A1:A9)</t>");
	assert_has("book.xlsx", STRINGS, "<t xml:space=\"preserve\">\\x1b[31m _x005F_x0041_ </t>");
	assert_has_not("book.xlsx", SHEET1, "<f>");
	/* Numbers: beyond 2^53 text, NaN and infinities nothing. */
	assert_has("book.xlsx", SHEET1, "<c r=\"B2\" s=\"1\"><v>7</v></c>");
	assert_has("book.xlsx", STRINGS, "<t>9223372036854775807</t>");
	assert_has("book.xlsx", SHEET1, "<v>-9007199254740992</v>");
	assert_has("book.xlsx", SHEET1, "<c r=\"C2\" s=\"2\"><v>98.718</v></c>");
	assert_has("book.xlsx", SHEET1, "<v>-0.001</v>");
	assert_has("book.xlsx", SHEET1, "<v>1E+300</v>");
	assert_has_not("book.xlsx", SHEET1, "r=\"D3\"");
	assert_has_not("book.xlsx", SHEET1, "r=\"D5\"");
	assert_has_not("book.xlsx", SHEET1, "r=\"A5\"");
	trawl_table_free(table);
}

static void sheets_are_dressed(void **state)
{
	struct trawl_table *table = sample();
	const struct trawl_table *borrowed = table;

	assert_int_equal(write_book(&borrowed, 1, "book.xlsx"), 0);
	assert_has("book.xlsx", SHEET1, "<pane ySplit=\"1\" topLeftCell=\"A2\"");
	assert_has("book.xlsx", SHEET1, "<autoFilter ref=\"A1:D5\"/>");
	assert_has("book.xlsx", SHEET1, "numberStoredAsText=\"1\"");
	assert_has("book.xlsx", SHEET1, "<col min=\"4\" max=\"4\" width=\"33.7");
	assert_has("book.xlsx", "xl/styles.xml", "formatCode=\"0.0\"");
	assert_has("book.xlsx", "xl/styles.xml", "<b/>");
	assert_has("book.xlsx", "xl/workbook.xml", "name=\"kernels\" sheetId=\"1\"");
	assert_has("book.xlsx", "xl/workbook.xml", "name=\"about\" sheetId=\"2\"");
	/* The last sheet explains. */
	assert_has("book.xlsx", STRINGS, "<t>One row a kernel.</t>");
	assert_has("book.xlsx", STRINGS, "<t>Of the total &amp; more.</t>");
	assert_has("book.xlsx", STRINGS, "<t>two streams</t>");
	assert_has("book.xlsx", SHEET2, "<autoFilter ref=\"A1:D7\"/>");
	trawl_table_free(table);
}

static void assert_same_bytes(const char *a, const char *b)
{
	size_t first_len, second_len;
	char *first = scratch_read(scratch_path(&scratch, a), &first_len);
	char *second = scratch_read(scratch_path(&scratch, b), &second_len);

	assert_int_equal(first_len, second_len);
	assert_memory_equal(first, second, first_len);
	free(first);
	free(second);
}

static void same_tables_same_bytes(void **state)
{
	struct trawl_table *table = sample();
	const struct trawl_table *borrowed = table;

	unsetenv("SOURCE_DATE_EPOCH");
	assert_int_equal(write_book(&borrowed, 1, "a.xlsx"), 0);
	/* Time stamps of archives count in steps of two seconds. */
	sleep(2);
	assert_int_equal(write_book(&borrowed, 1, "b.xlsx"), 0);
	assert_same_bytes("a.xlsx", "b.xlsx");
	assert_has("a.xlsx", "docProps/core.xml", ">1980-01-01T00:00:00Z</dcterms:created>");
	setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
	assert_int_equal(write_book(&borrowed, 1, "c.xlsx"), 0);
	assert_has("c.xlsx", "docProps/core.xml", ">2023-11-14T22:13:20Z</dcterms:created>");
	setenv("SOURCE_DATE_EPOCH", "nonsense", 1);
	assert_int_equal(write_book(&borrowed, 1, "d.xlsx"), 0);
	assert_same_bytes("a.xlsx", "d.xlsx");
	setenv("SOURCE_DATE_EPOCH", "0", 1);
	assert_int_equal(write_book(&borrowed, 1, "d.xlsx"), 0);
	assert_same_bytes("a.xlsx", "d.xlsx");
	unsetenv("SOURCE_DATE_EPOCH");
	trawl_table_free(table);
}

static void names_fit_and_differ(void **state)
{
	static const char *const names[] = {
		"a/b:c*d?e[f]g\\h",
		"about",
		"ABOUT",
		"History",
		"'quoted'",
		"",
		"a_name_longer_than_thirty_one_characters",
		"a_name_longer_than_thirty_one_characters",
		"A_NAME_longer_than_thirty_one_char",
		"\xF0\x9F\x98\x80\xFF\x01",
	};
	static const char *const expected[] = {
		"a_b_c_d_e_f_g_h",
		"about",
		"ABOUT_2",
		"History_2",
		"_quoted_",
		"sheet",
		"a_name_longer_than_thirty_one_c",
		"a_name_longer_than_thirty_one_2",
		"A_NAME_longer_than_thirty_one_3",
		"\xF0\x9F\x98\x80__",
		"about_3",
	};
	const struct trawl_table *tables[10];
	char text[128];
	size_t i;

	for (i = 0; i < 10; i++) {
		struct tw_table_spec own = spec;

		own.name = names[i];
		tables[i] = tw_table_new(&own, trawl_allocator_default());
	}
	assert_int_equal(write_book(tables, 10, "book.xlsx"), 0);
	for (i = 0; i < 11; i++) {
		snprintf(text, sizeof(text), "<sheet name=\"%s\" sheetId=\"%zu\"", expected[i],
			 i + 1);
		assert_has("book.xlsx", "xl/workbook.xml", text);
	}
	for (i = 0; i < 10; i++)
		trawl_table_free((struct trawl_table *)tables[i]);
}

static void nothing_makes_a_workbook_too(void **state)
{
	const struct trawl_table *bare =
		tw_table_new_columns(&spec, NULL, 0, trawl_allocator_default());

	assert_int_equal(write_book(NULL, 0, "empty.xlsx"), 0);
	assert_has("empty.xlsx", "xl/workbook.xml", "name=\"about\" sheetId=\"1\"");
	assert_int_equal(write_book(&bare, 1, "bare.xlsx"), 0);
	trawl_table_free((struct trawl_table *)bare);
}

/* A locale that writes 1,5; not installed everywhere. */
static void locale_does_not_matter(void **state)
{
	struct trawl_table *table = sample();
	const struct trawl_table *borrowed = table;

	assert_int_equal(write_book(&borrowed, 1, "c.xlsx"), 0);
	if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
		trawl_table_free(table);
		skip();
	}
	assert_int_equal(write_book(&borrowed, 1, "de.xlsx"), 0);
	assert_string_equal(localeconv()->decimal_point, ",");
	setlocale(LC_ALL, "C");
	assert_same_bytes("c.xlsx", "de.xlsx");
	trawl_table_free(table);
}

/* --- size --------------------------------------------------------------------------------- */

static void large_tables_are_written_row_by_row(void **state)
{
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	const struct trawl_table *borrowed = table;
	const size_t count = 130000;
	size_t i;

	for (i = 0; i < count; i++)
		add(table, i % 2 ? "a<b" : NULL, (int64_t)i, (int64_t)i * 1001, 0.5);
	assert_int_equal(write_book(&borrowed, 1, "large.xlsx"), 0);
	assert_int_equal(count_of("large.xlsx", SHEET1, "<c r="), 4 + count * 3 + count / 2);
	assert_has("large.xlsx", SHEET1, "<t>a&lt;b</t>");
	assert_has("large.xlsx", SHEET1, "<v>130128.999</v></c>");
	assert_has("large.xlsx", SHEET1, "<pane ySplit=\"1\"");
	assert_has("large.xlsx", SHEET1, "<autoFilter ref=\"A1:D130001\"/>");
	trawl_table_free(table);
}

static void rows_beyond_the_limit_are_named(void **state)
{
	struct trawl_table *table =
		tw_table_new_columns(&spec, columns + 1, 1, trawl_allocator_default());
	const struct trawl_table *borrowed = table;
	size_t i;

	for (i = 0; i < 1048580; i++)
		tw_table_set_integer(table, tw_table_add_row(table), 0, 1);
	assert_int_equal(write_book(&borrowed, 1, "full.xlsx"), 0);
	assert_has("full.xlsx", SHEET1, "r=\"A1048576\"");
	assert_has_not("full.xlsx", SHEET1, "r=\"A1048577\"");
	assert_has(
		"full.xlsx", SHEET2,
		"The table has 1048580 rows and 1 columns; this sheet has the first 1048575 rows");
	trawl_table_free(table);
}

/* --- failure ------------------------------------------------------------------------------ */

static void places_are_refused_before_work_begins(void **state)
{
	mkdir(scratch_path(&scratch, "book.xlsx"), 0777);
	assert_int_equal(write_book(NULL, 0, "book.xlsx"), TRAWL_EIO);
	assert_non_null(strstr(err.message, "book.xlsx': Is a directory"));
	scratch_write(&scratch, "file", "x");
	assert_int_equal(write_book(NULL, 0, "file/book.xlsx"), TRAWL_EIO);
	assert_int_equal(scratch_count(&scratch, ""), 2);
}

static void full_device(void **state)
{
	struct stat st;

	if (stat("/dev/full", &st) != 0 || !S_ISCHR(st.st_mode))
		skip();
	assert_int_equal(tw_render_xlsx(NULL, 0, "/dev/full", trawl_allocator_default(), &err),
			 TRAWL_EIO);
	assert_string_equal(err.message, "cannot write '/dev/full': No space left on device; free "
					 "space or choose another path");
}

/*
 * The temporary XML does not fit where it goes, the compressed workbook would: nothing must
 * appear, and the one message be ours.  `rows`: few are kept by the library, many are not.
 */
static void write_without_room(size_t rows)
{
	struct rlimit limit = { 400000, 400000 };
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	const struct trawl_table *borrowed = table;
	struct stat st;
	size_t i;
	int bad = 0, fd;

	for (i = 0; i < rows; i++)
		tw_table_set_integer(table, tw_table_add_row(table), 1, 1);
	fd = open(scratch_path(&scratch, "stderr"), O_RDWR | O_CREAT | O_TRUNC, 0600);
	dup2(fd, 2);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	bad |= write_book(&borrowed, 1, "book.xlsx") != TRAWL_EIO;
	bad |= !strstr(err.message, "book.xlsx': temporary files in '");
	bad |= !strstr(err.message, "set TMPDIR to a directory with more space");
	bad |= fstat(fd, &st) != 0 || st.st_size != 0;
	bad |= scratch_count(&scratch, "") != 1;
	_exit(bad);
}

static void cut_temporary_files_are_noticed(void **state)
{
	static const size_t rows[] = { 20000, 130000 };
	size_t i;

	for (i = 0; i < 2; i++) {
		pid_t child = fork();
		int status;

		if (child == 0)
			write_without_room(rows[i]);
		waitpid(child, &status, 0);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

static void tmpdir_may_be_useless(void **state)
{
	const char *old = getenv("TMPDIR");
	char *kept = old ? strdup(old) : NULL;

	setenv("TMPDIR", "/nowhere/at/all", 1);
	assert_int_equal(write_book(NULL, 0, "book.xlsx"), 0);
	assert_int_equal(scratch_count(&scratch, ""), 1);
	setenv("TMPDIR", scratch.dir, 1);
	assert_int_equal(write_book(NULL, 0, "book.xlsx"), 0);
	assert_int_equal(scratch_count(&scratch, ""), 1);
	if (kept)
		setenv("TMPDIR", kept, 1);
	else
		unsetenv("TMPDIR");
	free(kept);
}

static void every_failed_allocation_is_reported(void **state)
{
	struct trawl_table *table = sample();
	const struct trawl_table *borrowed = table;
	struct failing failing;
	int status;
	long n;

	for (n = 0;; n++) {
		failing_init(&failing, n);
		status = tw_render_xlsx(&borrowed, 1, scratch_path(&scratch, "book.xlsx"),
					&failing.allocator, &err);
		assert_int_equal(status, failing.failed ? TRAWL_ENOMEM : 0);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		assert_int_equal(scratch_count(&scratch, ""), failing.failed ? 0 : 1);
		if (!failing.failed)
			break;
	}
	assert_true(n > 5);
	trawl_table_free(table);
}

/* The 65th is there as the first, in every form of output. */
static void sixty_five_tables(void **state)
{
	enum { COUNT = 65 };
	const struct trawl_table *borrowed[COUNT];
	struct trawl_table *tables[COUNT];
	const struct trawl_table *sheet;
	struct tw_book *book;
	char name[16];
	size_t i;

	for (i = 0; i < COUNT; i++) {
		struct tw_table_spec one = spec;

		one.name = name;
		snprintf(name, sizeof(name), "table_%zu", i + 1);
		borrowed[i] = tables[i] = tw_table_new_owning(&one, trawl_allocator_default());
		add(tables[i], name, (int64_t)i + 1, 0, 0);
	}
	assert_int_equal(trawl_write_csv(borrowed, COUNT, scratch_path(&scratch, "csv"), &err), 0);
	assert_int_equal(scratch_count(&scratch, "csv"), COUNT);
	assert_int_equal(write_book(borrowed, COUNT, "book.xlsx"), 0);
	assert_int_equal(tw_book_open(&book, scratch_path(&scratch, "book.xlsx"),
				      trawl_allocator_default(), &err),
			 0);
	assert_int_equal(tw_book_sheets(book), 1 + COUNT); /* and the contents */
	assert_int_equal(tw_book_table(book, tw_table_spec(tables[64]), &sheet, &err), 0);
	assert_int_equal(trawl_table_cell(sheet, 0, 1).integer, 65);
	tw_book_free(book);
	for (i = 0; i < COUNT; i++)
		trawl_table_free(tables[i]);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

/* Archives, which ask the C library for the time of their parts, until told to stop. */
static void *make_archives(void *context)
{
	const atomic_bool *stop = context;
	struct tw_replay_part parts[40];
	char names[40][8];
	struct tw_str text, out;
	size_t i;

	tw_str_init(&text, trawl_allocator_default());
	tw_str_init(&out, trawl_allocator_default());
	tw_str_add_cstr(&text, "text");
	for (i = 0; i < 40; i++) {
		snprintf(names[i], sizeof(names[i]), "part%02zu", i);
		parts[i] = (struct tw_replay_part){ names[i], &text };
	}
	while (!atomic_load(stop)) {
		tw_str_clear(&out);
		if (tw_replay_zip(parts, 40, &out, NULL))
			abort();
	}
	tw_str_release(&text);
	tw_str_release(&out);
	return NULL;
}

/* The process that makes a workbook must not begin with a lock that another thread of ours has. */
static void beside_other_threads(void **state)
{
	struct trawl_table *table = sample();
	const struct trawl_table *tables[] = { table };
	atomic_bool stop = false;
	int i, books = full_run() ? 150 : 50;
	pthread_t thread;

	(void)state;
	alarm(600);
	assert_int_equal(pthread_create(&thread, NULL, make_archives, &stop), 0);
	for (i = 0; i < books; i++)
		assert_int_equal(tw_render_xlsx(tables, 1, scratch_path(&scratch, "book.xlsx"),
						trawl_allocator_default(), &err),
				 0);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	alarm(0);
	trawl_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cells_are_what_they_are),
		TEST(sheets_are_dressed),
		TEST(same_tables_same_bytes),
		TEST(names_fit_and_differ),
		TEST(nothing_makes_a_workbook_too),
		TEST(locale_does_not_matter),
		TEST(large_tables_are_written_row_by_row),
		TEST(rows_beyond_the_limit_are_named),
		TEST(places_are_refused_before_work_begins),
		TEST(full_device),
		TEST(cut_temporary_files_are_noticed),
		TEST(tmpdir_may_be_useless),
		TEST(sixty_five_tables),
		TEST(every_failed_allocation_is_reported),
		TEST(beside_other_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
