/*
 * Prints the sheets of reports as JSON, a line each: {"name": ..., "rows": [[...], ...]}, the
 * header first; of one that cannot be read {"name": ..., "error": ...}.
 *
 * usage: book_dump REPORT...      exit status 1 when one cannot be opened
 */
#include "book/book.h"
#include "json/writer.h"

#include <stdio.h>

static void add_rows(struct tw_json *json, const struct trawl_table *table)
{
	size_t columns = trawl_table_columns(table), row, i;
	struct tw_str text;

	tw_str_init(&text, trawl_allocator_default());
	tw_json_key(json, "rows");
	tw_json_array(json, TW_JSON_INLINE);
	for (row = 0; columns && row <= trawl_table_rows(table); row++) {
		tw_json_array(json, TW_JSON_INLINE);
		for (i = 0; i < columns; i++)
			tw_json_cstr(json, row ? tw_table_text(table, row - 1, i, &text) :
						 trawl_table_column(table, i)->header);
		tw_json_end(json);
	}
	tw_json_end(json);
	tw_str_release(&text);
}

static void add_sheet(struct tw_book *book, const char *name, struct tw_str *out)
{
	struct trawl_error err = { 0 };
	const struct tw_table_spec spec = { .name = name };
	const struct trawl_table *table;
	struct tw_json json;

	tw_json_init(&json, out);
	tw_json_object(&json, TW_JSON_INLINE);
	tw_json_key(&json, "name");
	tw_json_cstr(&json, name);
	if (tw_book_table(book, &spec, &table, &err)) {
		tw_json_key(&json, "error");
		tw_json_cstr(&json, err.message);
	} else if (table) {
		add_rows(&json, table);
	}
	tw_json_end(&json);
	tw_json_finish(&json);
}

int main(int argc, char **argv)
{
	struct trawl_error err = { 0 };
	struct tw_book *book;
	struct tw_str out;
	int failed = 0, i;
	size_t k;

	tw_str_init(&out, trawl_allocator_default());
	for (i = 1; i < argc; i++) {
		if (tw_book_open(&book, argv[i], trawl_allocator_default(), &err)) {
			fprintf(stderr, "%s\n", err.message);
			failed = 1;
			continue;
		}
		for (k = 0; k < tw_book_sheets(book); k++)
			add_sheet(book, tw_book_sheet_name(book, k), &out);
		tw_book_free(book);
	}
	if (out.ptr)
		fwrite(out.ptr, 1, out.len, stdout);
	failed |= out.failed;
	tw_str_release(&out);
	return failed;
}
