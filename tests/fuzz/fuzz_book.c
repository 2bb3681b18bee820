/*
 * Workbooks.  The first byte says what the rest is: a whole archive, or the XML of one part of one
 * that is otherwise sound: a sheet, the shared texts, the list of sheets, where they are.
 * What is accepted are tables, and what is written of them reads back to the same cells.
 */
#include "book/book.h"
#include "render/render.h"
#include "standalone/replay/replay.h"
#include "table/csv.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PARTS 4
#define TYPE "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"

static const char *const sound[PARTS][2] = {
	{ "xl/worksheets/sheet1.xml",
	  "<worksheet><sheetData><row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c>"
	  "<c r=\"B1\" t=\"s\"><v>1</v></c></row></sheetData></worksheet>" },
	{ "xl/sharedStrings.xml", "<sst><si><t>name</t></si><si><t>value</t></si></sst>" },
	{ "xl/workbook.xml",
	  "<workbook xmlns:r=\"r\"><sheets><sheet name=\"S\" sheetId=\"1\" r:id=\"a\"/></sheets>"
	  "</workbook>" },
	{ "xl/_rels/workbook.xml.rels",
	  "<Relationships><Relationship Id=\"a\" Type=\"" TYPE "worksheet\" "
	  "Target=\"worksheets/sheet1.xml\"/><Relationship Id=\"b\" Type=\"" TYPE
	  "sharedStrings\" Target=\"sharedStrings.xml\"/></Relationships>" },
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* The archive with part number `given` as this text. */
static void make_archive(struct tw_str *out, size_t given, const char *text, size_t len)
{
	struct tw_replay_part parts[PARTS];
	struct tw_str texts[PARTS];
	size_t i;

	for (i = 0; i < PARTS; i++) {
		tw_str_init(&texts[i], trawl_allocator_default());
		if (i == given)
			tw_str_add(&texts[i], text, len);
		else
			tw_str_add_cstr(&texts[i], sound[i][1]);
		parts[i] = (struct tw_replay_part){ sound[i][0], &texts[i] };
	}
	check(!tw_replay_zip(parts, PARTS, out, NULL));
	for (i = 0; i < PARTS; i++)
		tw_str_release(&texts[i]);
}

static void look(const struct trawl_table *table)
{
	size_t columns = trawl_table_columns(table), row, i;
	struct tw_str text, cell;
	struct tw_arena arena;
	struct tw_csv again;

	if (!columns)
		return;
	tw_str_init(&text, trawl_allocator_default());
	tw_str_init(&cell, trawl_allocator_default());
	tw_arena_init(&arena, trawl_allocator_default());
	tw_render_csv_exact(table, &text);
	check(!tw_csv_parse(&again, &arena, text.ptr, text.len, "again.csv", NULL));
	check(again.rows == trawl_table_rows(table) && again.columns == columns);
	for (i = 0; i < columns; i++)
		check(!strcmp(trawl_table_column(table, i)->header, again.cells[i]));
	for (row = 0; row < again.rows; row++)
		for (i = 0; i < columns; i++)
			check(!strcmp(tw_table_text(table, row, i, &cell),
				      tw_csv_text(&again, row, i)));
	tw_str_release(&text);
	tw_str_release(&cell);
	tw_arena_release(&arena);
}

static void look_at_all(const char *bytes, size_t len)
{
	struct tw_book *book;
	size_t i;

	if (tw_book_of_bytes(&book, "fuzz.xlsx", bytes, len, trawl_allocator_default(), NULL))
		return;
	for (i = 0; i < tw_book_sheets(book) && i < 20; i++) {
		const struct tw_table_spec spec = { .name = tw_book_sheet_name(book, i) };
		const struct trawl_table *table, *second;

		check(spec.name != NULL);
		if (tw_book_table(book, &spec, &table, NULL))
			continue;
		check(table != NULL);
		look(table);
		check(!tw_book_table(book, &spec, &second, NULL) && second == table);
	}
	tw_book_free(book);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_str archive;

	if (!size)
		return 0;
	if (data[0] % (PARTS + 1) == PARTS) {
		look_at_all((const char *)data + 1, size - 1);
		return 0;
	}
	tw_str_init(&archive, trawl_allocator_default());
	make_archive(&archive, data[0] % (PARTS + 1), (const char *)data + 1, size - 1);
	look_at_all(archive.ptr, archive.len);
	tw_str_release(&archive);
	return 0;
}
