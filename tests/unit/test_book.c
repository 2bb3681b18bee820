/* Reports read back: workbooks, directories of CSV files, tables in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "book/book.h"
#include "failing.h"
#include "made_books.h"
#include "render/render.h"
#include "scratch.h"
#include "table/csv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>

static struct tw_str bytes;
static struct tw_book *book;
static struct trawl_error err;

static void finish(void)
{
	tw_book_free(book);
	book = NULL;
	tw_str_release(&bytes);
}

static int table_of(const char *name, const struct trawl_table **table)
{
	const struct tw_table_spec spec = { .name = name };

	return tw_book_table(book, &spec, table, &err);
}

/* The sheet "S" of this XML; NULL: `err` tells why not. */
static const struct trawl_table *sheet_of(const char *xml, const char *shared)
{
	const struct trawl_table *table = NULL;

	made_workbook(&bytes, xml, shared);
	assert_int_equal(tw_book_of_bytes(&book, "b.xlsx", bytes.ptr, bytes.len,
					  trawl_allocator_default(), &err),
			 0);
	if (table_of("S", &table))
		return NULL;
	assert_non_null(table);
	return table;
}

/* All of a sheet: cells with | between them, rows with a line feed. */
static void assert_cells(const struct trawl_table *table, const char *expected)
{
	size_t columns = table ? trawl_table_columns(table) : 0, row, i;
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	for (i = 0; i < columns; i++)
		tw_str_addf(&out, "%s%c", trawl_table_column(table, i)->header,
			    i + 1 < columns ? '|' : '\n');
	for (row = 0; table && row < trawl_table_rows(table); row++)
		for (i = 0; i < columns; i++) {
			tw_table_add_text(&out, table, row, i);
			tw_str_add_char(&out, i + 1 < columns ? '|' : '\n');
		}
	if (!table)
		print_message("%s\n", err.message);
	assert_string_equal(out.ptr ? out.ptr : "", expected);
	tw_str_release(&out);
}

static void assert_refused(const char *xml, const char *shared, const char *word)
{
	assert_null(sheet_of(xml, shared));
	assert_int_equal(err.status, TRAWL_EFORMAT);
	assert_non_null(strstr(err.message, "b.xlsx"));
	assert_non_null(strstr(err.message, "'S'"));
	if (!strstr(err.message, word))
		print_message("%s\n", err.message);
	assert_non_null(strstr(err.message, word));
	finish();
}

#define SHEET(rows) "<worksheet><sheetData>" rows "</sheetData></worksheet>"
#define TEXT(text) "<c t=\"inlineStr\"><is><t>" text "</t></is></c>"

/* ---- cells */

static void kinds_of_cells(void **state)
{
	assert_cells(
		sheet_of(SHEET("<row r=\"1\"><c r=\"A1\" t=\"s\"><v>1</v></c>"
			       "<c r=\"B1\" t=\"inlineStr\"><is><t>in</t></is></c>"
			       "<c r=\"C1\" t=\"str\"><f>A1&amp;B1</f><v>a&lt;b</v></c>"
			       "<c r=\"D1\" t=\"b\"><v>1</v></c><c r=\"E1\" t=\"b\"><v>0</v></c>"
			       "<c r=\"F1\" t=\"e\"><v>#DIV/0!</v></c>"
			       "<c r=\"G1\"><v>3</v></c><c r=\"H1\" s=\"4\"/></row>"),
			 "<sst><si><t>no</t></si><si><t>name</t></si></sst>"),
		"name|in|a<b|True|False|#DIV/0!|3\n");
	finish();
}

static void numbers_are_the_shortest(void **state)
{
	assert_cells(sheet_of(SHEET("<row><c><v>8.0</v></c><c><v>0.10000000000000001</v></c>"
				    "<c><v>1.0E-5</v></c><c t=\"n\"><v>-5.30</v></c>"
				    "<c><v>1764000000000000001</v></c><c><v>1e2</v></c>"
				    "<c><v>0.30000000000000004</v></c><c><v>0.0</v></c>"
				    "<c><v>81.53314658629994</v></c><c><v>007</v></c>"
				    "<c><v>abc</v></c></row>"),
			      NULL),
		     "8|0.1|1e-05|-5.3|1764000000000000001|100|0.30000000000000004|0|"
		     "81.53314658629994|7|abc\n");
	finish();
}

static void rich_text_and_how_it_is_said(void **state)
{
	const char *shared =
		"<x:sst xmlns:x=\"u\"><x:si><x:r><x:rPr><x:b/></x:rPr><x:t>Ker</x:t></x:r>"
		"<x:r><x:t xml:space=\"preserve\">nel </x:t></x:r>"
		"<x:rPh sb=\"0\" eb=\"1\"><x:t>no</x:t></x:rPh></x:si></x:sst>";

	assert_cells(
		sheet_of("<x:worksheet xmlns:x=\"u\"><x:sheetData><x:row><x:c t=\"s\"><x:v>0</x:v>"
			 "</x:c><x:c t=\"inlineStr\"><x:is><x:r><x:t>a</x:t></x:r><x:r><x:t>b</x:t>"
			 "</x:r><x:rPh><x:t>no</x:t></x:rPh></x:is></x:c></x:row></x:sheetData>"
			 "</x:worksheet>",
			 shared),
		"Kernel |ab\n");
	finish();
}

/* What XML cannot hold is written _xHHHH_; only the whole form counts. */
static void escaped_characters(void **state)
{
	assert_cells(sheet_of(SHEET("<row>" TEXT("a_x000A_b") TEXT("_x005F_x0041_")
					    TEXT("_x41_ _xZZZZ_ _x0000_ _xD800_")
						    TEXT("&#xB5;s \xCE\xBC") "</row>"),
			      NULL),
		     "a\nb|_x0041_|_x41_ _xZZZZ_ _x0000_ _xD800_|\xC2\xB5s \xCE\xBC\n");
	finish();
}

static void sparse_and_without_places(void **state)
{
	assert_cells(sheet_of(SHEET("<row r=\"3\"><c r=\"B3\"><v>1</v></c><c><v>2</v></c></row>"
				    "<row/><row><c/><c/><c/><c><v>4</v></c></row>"
				    "<row r=\"4\"><c r=\"A4\"><v>5</v></c></row>"),
			      NULL),
		     "|1|2|\n5|||\n|||4\n");
	finish();
	assert_cells(sheet_of(SHEET("<row r=\"1\"><c r=\"Z1\"><v>1</v></c><c r=\"AA1\"><v>2</v></c>"
				    "<c r=\"ab1\"><v>3</v></c></row>"),
			      NULL),
		     "|||||||||||||||||||||||||1|2|3\n");
	finish();
	assert_cells(sheet_of(SHEET(""), NULL), "");
	finish();
	assert_cells(sheet_of("<worksheet/>", NULL), "");
	finish();
	assert_cells(sheet_of(SHEET("<row><c t=\"inlineStr\"><is><t></t></is></c></row>"), NULL),
		     "");
	finish();
}

/* ---- files that are wrong, or meant to do harm */

static void places_that_no_sheet_has(void **state)
{
	assert_refused(SHEET("<row><c r=\"ZZZ9999999\"><v>1</v></c></row>"), NULL, "ZZZ9999999");
	assert_refused(SHEET("<row><c r=\"XFE1\"><v>1</v></c></row>"), NULL, "XFE1");
	assert_refused(SHEET("<row><c r=\"A1048577\"><v>1</v></c></row>"), NULL, "A1048577");
	assert_refused(SHEET("<row><c r=\"A0\"><v>1</v></c></row>"), NULL, "A0");
	assert_refused(SHEET("<row><c r=\"1A\"><v>1</v></c></row>"), NULL, "1A");
	assert_refused(SHEET("<row><c r=\"\"><v>1</v></c></row>"), NULL, "''");
	assert_refused(SHEET("<row r=\"99999999999999999999\"><c><v>1</v></c></row>"), NULL, "row");
	assert_refused(SHEET("<row r=\"-1\"/>"), NULL, "-1");
	assert_refused(SHEET("<row r=\"1048576\"/><row><c><v>1</v></c></row>"), NULL, "1048576");
}

/* Two cells would make a sheet of 17 thousand million. */
static void cells_far_apart(void **state)
{
	assert_refused(SHEET("<row><c r=\"A1\"><v>1</v></c><c r=\"XFD1048576\"><v>2</v></c></row>"),
		       NULL, "1048576 rows and 16384 columns");
	assert_refused(SHEET("<row><c r=\"A1\"><v>1</v></c><c r=\"D900000\"><v>2</v></c></row>"),
		       NULL, "2 cells");
	assert_non_null(sheet_of(
		SHEET("<row><c r=\"A1\"><v>1</v></c><c r=\"A900000\"><v>2</v></c></row>"), NULL));
	finish();
}

static void texts_that_are_not_there(void **state)
{
	assert_refused(SHEET("<row><c t=\"s\"><v>0</v></c></row>"), "<sst/>", "outside the 0");
	assert_refused(SHEET("<row><c t=\"s\"><v>1</v></c></row>"), "<sst><si/></sst>", "row 1");
	assert_refused(SHEET("<row><c t=\"s\"><v>-1</v></c></row>"), "<sst><si/></sst>", "row 1");
	assert_refused(SHEET("<row><c t=\"s\"><v>99999999999999999999999</v></c></row>"),
		       "<sst><si/></sst>", "string index outside");
	assert_refused(SHEET("<row><c t=\"s\"><v>0</v></c></row>"), "<sst><si>",
		       "sharedStrings.xml: line 1");
	assert_refused(SHEET("<row><c t=\"s\"><v>0</v></c></row>"), NULL,
		       "missing from the workbook");
}

static void xml_that_is_refused(void **state)
{
	assert_refused("<!DOCTYPE worksheet [<!ENTITY a \"aaaaaaaa\"><!ENTITY b \"&a;&a;\">]>"
		       "<worksheet>&b;</worksheet>",
		       "<sst/>", "DOCTYPE");
	assert_refused("<worksheet><sheetData>", "<sst/>", "line 1");
	assert_refused("", "<sst/>", "line 1");
	assert_refused("<chartsheet/>", "<sst/>", "<chartsheet>");
	assert_refused(SHEET("<row>&nbsp;</row>"), "<sst/>", "entity");
}

static void deep_and_long(void **state)
{
	struct tw_str xml;
	int i;

	tw_str_init(&xml, trawl_allocator_default());
	for (i = 0; i < 5000; i++)
		tw_str_add_cstr(&xml, "<worksheet>");
	assert_refused(xml.ptr, "<sst/>", "nested elements");
	tw_str_clear(&xml);
	tw_str_add_cstr(&xml, "<worksheet x=\"");
	for (i = 0; i < 6000; i++)
		tw_str_addf(&xml, "%01000d", i);
	assert_refused(xml.ptr, "<sst/>", "4 MB");
	tw_str_release(&xml);
}

static void archives_that_end_early(void **state)
{
	size_t len;

	made_workbook(&bytes, SHEET("<row>" TEXT("name") "</row>"), "<sst/>");
	for (len = 0; len < bytes.len; len++) {
		char *copy = malloc(len + 1);

		memcpy(copy, bytes.ptr, len);
		assert_int_equal(tw_book_of_bytes(&book, "b.xlsx", copy, len,
						  trawl_allocator_default(), &err),
				 TRAWL_EFORMAT);
		assert_null(book);
		assert_non_null(strstr(err.message, "b.xlsx"));
		free(copy);
	}
	finish();
}

/* One byte after the other is another one: an error, or the same, or other cells; no crash. */
static void archives_with_a_wrong_byte(void **state)
{
	const struct trawl_table *table;
	size_t at, refused = 0;

	made_workbook(&bytes, SHEET("<row>" TEXT("name") "</row>"), "<sst/>");
	for (at = 0; at < bytes.len; at++) {
		bytes.ptr[at] ^= 0x55;
		if (tw_book_of_bytes(&book, "b.xlsx", bytes.ptr, bytes.len,
				     trawl_allocator_default(), &err) ||
		    table_of("S", &table)) {
			assert_int_equal(err.status, TRAWL_EFORMAT);
			refused++;
		}
		tw_book_free(book);
		bytes.ptr[at] ^= 0x55;
	}
	book = NULL;
	assert_true(refused > bytes.len / 3);
	finish();
}

static void other_archives(void **state)
{
	const char *const parts[] = { "hello.txt", "hello", NULL };

	made_archive(&bytes, parts);
	assert_int_equal(tw_book_of_bytes(&book, "b.zip", bytes.ptr, bytes.len,
					  trawl_allocator_default(), &err),
			 TRAWL_EFORMAT);
	assert_non_null(strstr(err.message, "not a workbook"));
	finish();
}

static void encrypted_parts(void **state)
{
	struct scratch scratch;
	const struct trawl_table *table;
	const char *path;
	zip_t *archive;

	scratch_make(&scratch);
	path = scratch_path(&scratch, "b.xlsx");
	made_workbook(&bytes, SHEET("<row>" TEXT("name") "</row>"), "<sst/>");
	archive = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
	assert_non_null(archive);
	zip_discard(archive);
	{
		FILE *file = fopen(path, "wb");

		fwrite(bytes.ptr, 1, bytes.len, file);
		fclose(file);
	}
	archive = zip_open(path, 0, NULL);
	assert_int_equal(
		zip_file_set_encryption(archive,
					(zip_uint64_t)zip_name_locate(archive, MADE_SHEET_NAME, 0),
					ZIP_EM_TRAD_PKWARE, "secret"),
		0);
	assert_int_equal(zip_close(archive), 0);
	assert_int_equal(tw_book_open(&book, path, trawl_allocator_default(), &err), 0);
	assert_int_equal(table_of("S", &table), TRAWL_EFORMAT);
	assert_non_null(strstr(err.message, "encrypted"));
	finish();
	scratch_remove(&scratch);
}

/* ---- which sheets there are */

#define RELATION(id, type, target) \
	"<Relationship Id=\"" id "\" Type=\"" MADE_TYPE type "\" Target=\"" target "\"/>"

static void where_sheets_are(void **state)
{
	const char *const parts[] = {
		"_rels/.rels",
		"<Relationships>" RELATION("r", "officeDocument",
					   "/book/main.xml") "</Relationships>",
		"book/main.xml",
		"<w:workbook xmlns:w=\"w\" xmlns:q=\"q\"><w:sheets>"
		"<w:sheet name=\"Rel\" q:id=\"1\"/><w:sheet name=\"Abs\" q:id=\"2\"/>"
		"<w:sheet name=\"Up\" q:id=\"3\"/><w:sheet name=\"Chart\" q:id=\"4\"/>"
		"<w:sheet name=\"Lost\" q:id=\"5\"/><w:sheet name=\"Nowhere\" q:id=\"6\"/>"
		"<w:sheet name=\"Two\" q:id=\"1\"/><w:sheet name=\"Two\" q:id=\"2\"/>"
		"<w:sheet name=\"a &amp; &lt;b&gt;\" q:id=\"1\"/></w:sheets></w:workbook>",
		"book/_rels/main.xml.rels",
		"<Relationships>" RELATION("1", "worksheet", "one.xml") RELATION("2", "worksheet",
										 "/book/two.xml")
			RELATION("3", "worksheet", "../top/./x/../Three.xml")
				RELATION("4", "chartsheet", "four.xml")
					RELATION("5", "worksheet", "lost.xml") "</Relationships>",
		"book/one.xml",
		SHEET("<row>" TEXT("one") "</row>"),
		"book/two.xml",
		SHEET("<row>" TEXT("two") "</row>"),
		"top/three.xml",
		SHEET("<row>" TEXT("three") "</row>"),
		NULL,
	};
	static const char *const names[] = { "Rel",	"Abs", "Up",  "Lost",
					     "Nowhere", "Two", "Two", "a & <b>" };
	static const char *const found[] = { "one\n", "two\n", "three\n" };
	const struct trawl_table *table;
	size_t i;

	made_archive(&bytes, parts);
	assert_int_equal(tw_book_of_bytes(&book, "b.xlsx", bytes.ptr, bytes.len,
					  trawl_allocator_default(), &err),
			 0);
	assert_int_equal(tw_book_sheets(book), 8);
	for (i = 0; i < 8; i++)
		assert_string_equal(tw_book_sheet_name(book, i), names[i]);
	assert_null(tw_book_sheet_name(book, 8));
	assert_int_equal(table_of("Lost", &table), TRAWL_EFORMAT);
	assert_non_null(strstr(err.message, "book/lost.xml"));
	assert_int_equal(table_of("Nowhere", &table), TRAWL_EFORMAT);
	assert_int_equal(table_of("Two", &table), TRAWL_EFORMAT);
	assert_non_null(strstr(err.message, "several sheets"));
	assert_int_equal(table_of("rel", &table), 0);
	assert_null(table);
	for (i = 0; i < 3; i++) {
		assert_int_equal(table_of(names[i], &table), 0);
		assert_cells(table, found[i]);
	}
	finish();
}

/* ---- other forms of reports */

static void open_path(const char *path, int status, const char *word)
{
	assert_int_equal(tw_book_open(&book, path, trawl_allocator_default(), &err), status);
	if (!status)
		return;
	assert_null(book);
	assert_non_null(strstr(err.message, path));
	if (!strstr(err.message, word))
		print_message("%s\n", err.message);
	assert_non_null(strstr(err.message, word));
}

static void directories_of_csv_files(void **state)
{
	struct scratch scratch;
	const struct trawl_table *table;

	scratch_make(&scratch);
	open_path(scratch.dir, TRAWL_EFORMAT, "no CSV file");
	scratch_write(&scratch, "b.csv", "\xEF\xBB\xBFname,n\r\n\"x, y\",1\r\n");
	scratch_write(&scratch, "a b.csv", "h\n");
	scratch_write(&scratch, "bad.csv", "h,i\n1\n");
	scratch_write(&scratch, "empty.csv", "");
	scratch_write(&scratch, ".hidden.csv", "h\n");
	scratch_write(&scratch, "notes.txt", "h\n");
	assert_int_equal(mkdir(scratch_path(&scratch, "folder.csv"), 0700), 0);
	open_path(scratch.dir, 0, NULL);
	assert_int_equal(tw_book_sheets(book), 4);
	assert_string_equal(tw_book_sheet_name(book, 0), "a b");
	assert_string_equal(tw_book_name(book), scratch.dir);
	assert_int_equal(table_of("b", &table), 0);
	assert_cells(table, "name|n\nx, y|1\n");
	assert_int_equal(table_of("bad", &table), TRAWL_EFORMAT);
	assert_non_null(strstr(err.message, "bad.csv:2"));
	assert_int_equal(table_of("empty", &table), 0);
	assert_int_equal(trawl_table_columns(table), 0);
	tw_book_free(book);
	open_path(scratch_path(&scratch, "b.csv"), 0, NULL);
	assert_int_equal(tw_book_sheets(book), 1);
	assert_int_equal(table_of("b", &table), 0);
	assert_cells(table, "name|n\nx, y|1\n");
	tw_book_free(book);
	/* Not every file that begins so is an archive. */
	scratch_write(&scratch, "pk.csv", "PKG,n\nx,1\n");
	open_path(scratch_path(&scratch, "pk.csv"), 0, NULL);
	tw_book_free(book);
	book = NULL;
	scratch_remove(&scratch);
}

static void what_is_no_report(void **state)
{
	struct scratch scratch;

	scratch_make(&scratch);
	open_path(scratch_path(&scratch, "none"), TRAWL_EIO, "No such file");
	scratch_write(&scratch, "zero.xlsx", "");
	open_path(scratch_path(&scratch, "zero.xlsx"), TRAWL_EFORMAT, "empty");
	scratch_write(&scratch, "trace.json", "{\"traceEvents\":[]}");
	open_path(scratch_path(&scratch, "trace.json"), TRAWL_EFORMAT, "JSON");
	scratch_write(&scratch, "old.xls", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1");
	open_path(scratch_path(&scratch, "old.xls"), TRAWL_EFORMAT, "password");
	scratch_write(&scratch, "cut.xlsx", "PK\x03\x04 and no more");
	open_path(scratch_path(&scratch, "cut.xlsx"), TRAWL_EFORMAT, "damaged");
	scratch_write(&scratch, "ragged.csv", "a,b\n1\n");
	open_path(scratch_path(&scratch, "ragged.csv"), TRAWL_EFORMAT, ":2");
	assert_int_equal(mkfifo(scratch_path(&scratch, "fifo"), 0600), 0);
	open_path(scratch_path(&scratch, "fifo"), TRAWL_EFORMAT, "neither");
	scratch_remove(&scratch);
}

/* ---- tables, and what our own writer makes of them */

static const struct trawl_column columns[] = {
	{ .header = "name", .type = TRAWL_COLUMN_TEXT, .unit = "", .meaning = "" },
	{ .header = "n", .type = TRAWL_COLUMN_INTEGER, .unit = "", .meaning = "" },
	{ .header = "time ms",
	  .type = TRAWL_COLUMN_DECIMAL,
	  .unit = "ms",
	  .scale = 6,
	  .digits = 3,
	  .meaning = "" },
	{ .header = "ratio", .type = TRAWL_COLUMN_REAL, .unit = "", .digits = 2, .meaning = "" },
	{ .header = "id", .type = TRAWL_COLUMN_ID, .unit = "", .meaning = "" },
};
static const struct tw_table_spec spec = { .name = "made",
					   .meaning = "A row is a row.",
					   .columns = columns,
					   .column_count = 5,
					   .keep_empty = true };

static struct trawl_table *made_table(const struct trawl_allocator *allocator)
{
	struct trawl_table *table = tw_table_new(&spec, allocator);
	size_t row;

	if (!table)
		return NULL;
	row = tw_table_add_row(table);
	tw_table_set_str(table, row, 0, "=SUM(A1) \xCE\xBC \"q\" <&>_x0041_");
	tw_table_set_integer(table, row, 1, -7);
	tw_table_set_integer(table, row, 2, 8653484);
	tw_table_set_real(table, row, 3, 0.1);
	tw_table_set_str(table, row, 4, "12");
	row = tw_table_add_row(table);
	tw_table_set_str(table, row, 0, "-5.3");
	tw_table_set_str(table, row, 4, "0x12");
	return table;
}

#define MADE_CELLS                                                                         \
	"name|n|time ms|ratio|id\n=SUM(A1) \xCE\xBC \"q\" <&>_x0041_|-7|8.653484|0.1|12\n" \
	"-5.3||||0x12\n"

static void tables_in_memory(void **state)
{
	struct trawl_table *made = made_table(trawl_allocator_default());
	const struct trawl_table *const tables[] = { made };
	struct scratch scratch;
	const struct trawl_table *table;
	const char *path;

	scratch_make(&scratch);
	assert_int_equal(
		tw_book_of_tables(&book, "memory", tables, 1, trawl_allocator_default(), &err), 0);
	assert_int_equal(table_of("made", &table), 0);
	assert_ptr_equal(table, made);
	assert_cells(table, MADE_CELLS);
	tw_book_free(book);
	path = scratch_path(&scratch, "made.xlsx");
	assert_int_equal(tw_render_xlsx(tables, 1, path, trawl_allocator_default(), &err), 0);
	open_path(path, 0, NULL);
	assert_int_equal(table_of("made", &table), 0);
	assert_cells(table, MADE_CELLS);
	tw_book_free(book);
	path = scratch_path(&scratch, "csvs");
	assert_int_equal(tw_render_csv_directory(tables, 1, path, trawl_allocator_default(), &err),
			 0);
	open_path(path, 0, NULL);
	assert_int_equal(table_of("made", &table), 0);
	assert_cells(table, MADE_CELLS);
	tw_book_free(book);
	book = NULL;
	scratch_remove(&scratch);
	trawl_table_free(made);
}

/* A control character is there as a file would have it; the table that was given stays as it is. */
static void texts_in_memory_are_safe(void **state)
{
	struct trawl_table *made = made_table(trawl_allocator_default());
	const struct trawl_table *const tables[] = { made };
	const struct trawl_table *table;

	tw_table_set_str(made, 1, 0, "a\x01\tb");
	assert_int_equal(
		tw_book_of_tables(&book, "memory", tables, 1, trawl_allocator_default(), &err), 0);
	assert_int_equal(table_of("made", &table), 0);
	assert_true(tw_table_text_is(table, 1, 0, "a\\x01\tb"));
	assert_true(tw_table_text_is(made, 1, 0, "a\x01\tb"));
	assert_int_equal(trawl_table_cell(table, 0, 2).integer, 8653484);
	tw_book_free(book);
	book = NULL;
	trawl_table_free(made);
}

/* ---- sheets of text written again */

static void text_is_written_as_it_is(void **state)
{
	static const char *const cells[] = {
		"name,x", "time \"us\"",  "c",	     "-5.3", "=1+1", "'@x", "a\r",
		"l\nm",	  "\xE2\x80\xAE", "1.50e+3", "007",  "",
	};
	const struct tw_csv csv = { 3, 3, (const char **)(uintptr_t)cells };
	const struct tw_csv empty = { 1, 0, (const char **)(uintptr_t)&cells[11] };
	struct trawl_table *table;
	struct tw_arena arena;
	struct tw_csv again;
	struct tw_str out;
	size_t i;

	tw_str_init(&out, trawl_allocator_default());
	tw_arena_init(&arena, trawl_allocator_default());
	assert_int_equal(tw_csv_table(&csv, &spec, trawl_allocator_default(), &table, &err), 0);
	tw_render_csv_exact(table, &out);
	trawl_table_free(table);
	assert_string_equal(out.ptr, "\"name,x\",\"time \"\"us\"\"\",c\n-5.3,'=1+1,''@x\n"
				     "\"a\r\",\"l\nm\",\xE2\x80\xAE\n1.50e+3,007,\n");
	assert_int_equal(tw_csv_parse(&again, &arena, out.ptr, out.len, "x", &err), 0);
	assert_int_equal(again.rows, 3);
	for (i = 0; i < 12; i++)
		assert_string_equal(again.cells[i], cells[i]);
	tw_str_clear(&out);
	assert_int_equal(tw_csv_table(&empty, &spec, trawl_allocator_default(), &table, &err), 0);
	tw_render_csv_exact(table, &out);
	trawl_table_free(table);
	assert_string_equal(out.ptr, "\"\"\n");
	tw_str_release(&out);
	tw_arena_release(&arena);
}

/* ---- memory */

static int use_all(const struct trawl_allocator *allocator)
{
	struct trawl_table *made = made_table(allocator);
	const struct trawl_table *const tables[] = { made };
	const struct trawl_table *table;
	struct tw_str out;
	int status = made ? tw_table_finish(made, NULL) : TRAWL_ENOMEM;

	if (!status)
		status = tw_book_of_tables(&book, "b", tables, 1, allocator, NULL);
	if (!status)
		status = table_of("made", &table);
	if (made && book)
		tw_book_free(book);
	book = NULL;
	trawl_table_free(made);
	if (!status)
		status = tw_book_of_bytes(&book, "b.xlsx", bytes.ptr, bytes.len, allocator, NULL);
	if (!status)
		status = table_of("S", &table);
	tw_str_init(&out, allocator);
	if (!status) {
		tw_render_csv_exact(table, &out);
		status = out.failed ? TRAWL_ENOMEM : 0;
	}
	tw_str_release(&out);
	tw_book_free(book);
	book = NULL;
	return status;
}

static void each_allocation_fails_once(void **state)
{
	struct failing failing;
	int status;
	long n;

	made_workbook(&bytes,
		      SHEET("<row><c t=\"s\"><v>0</v></c>" TEXT("b") "<c><v>1.50</v></c></row>"),
		      "<sst><si><t>a</t></si></sst>");
	for (n = 0;; n++) {
		failing_init(&failing, n);
		status = use_all(&failing.allocator);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
		assert_int_equal(status, TRAWL_ENOMEM);
	}
	assert_int_equal(status, 0);
	assert_true(n > 10);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_of_cells),
		cmocka_unit_test(numbers_are_the_shortest),
		cmocka_unit_test(rich_text_and_how_it_is_said),
		cmocka_unit_test(escaped_characters),
		cmocka_unit_test(sparse_and_without_places),
		cmocka_unit_test(places_that_no_sheet_has),
		cmocka_unit_test(cells_far_apart),
		cmocka_unit_test(texts_that_are_not_there),
		cmocka_unit_test(xml_that_is_refused),
		cmocka_unit_test(deep_and_long),
		cmocka_unit_test(archives_that_end_early),
		cmocka_unit_test(archives_with_a_wrong_byte),
		cmocka_unit_test(other_archives),
		cmocka_unit_test(encrypted_parts),
		cmocka_unit_test(where_sheets_are),
		cmocka_unit_test(directories_of_csv_files),
		cmocka_unit_test(what_is_no_report),
		cmocka_unit_test(tables_in_memory),
		cmocka_unit_test(texts_in_memory_are_safe),
		cmocka_unit_test(text_is_written_as_it_is),
		cmocka_unit_test(each_allocation_fails_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
