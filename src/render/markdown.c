/*
 * Markdown: a table in the form that GitHub and CommonMark readers with tables know, numbers to
 * the right and rounded for people, then the notes as a list.
 */
#include "render/cell.h"
#include "render/escape.h"
#include "render/render.h"

#include <string.h>

static void add_header(const struct trawl_table *table, struct tw_str *out)
{
	size_t columns = trawl_table_columns(table), i;
	struct tw_str header;

	tw_str_init(&header, out->allocator);
	tw_str_add_char(out, '|');
	for (i = 0; i < columns; i++) {
		tw_str_clear(&header);
		tw_header_with_unit(&header, trawl_table_column(table, i));
		out->failed = out->failed || header.failed;
		tw_str_add_char(out, ' ');
		tw_escape_markdown(out, header.ptr, header.len);
		tw_str_add_cstr(out, " |");
	}
	tw_str_release(&header);
	tw_str_add_cstr(out, "\n|");
	for (i = 0; i < columns; i++)
		tw_str_add_cstr(out, tw_column_is_number(trawl_table_column(table, i)) ? " ---: |" :
											 " --- |");
	tw_str_add_char(out, '\n');
}

static void add_row(const struct trawl_table *table, size_t row, struct tw_str *out)
{
	size_t columns = trawl_table_columns(table), i;

	tw_str_add_char(out, '|');
	for (i = 0; i < columns; i++) {
		const struct trawl_column *column = trawl_table_column(table, i);
		struct trawl_cell cell = trawl_table_cell(table, row, i);

		tw_str_add_char(out, ' ');
		if (cell.state == TRAWL_CELL_VALUE && tw_column_is_number(column))
			tw_number_rounded(out, column, &cell);
		else if (cell.state == TRAWL_CELL_VALUE)
			tw_escape_markdown(out, cell.text, cell.text_len);
		tw_str_add_cstr(out, " |");
	}
	tw_str_add_char(out, '\n');
}

void tw_render_markdown(const struct trawl_table *table, struct tw_str *out)
{
	size_t rows = trawl_table_rows(table), notes = trawl_table_notes(table), i;

	if (trawl_table_columns(table) > 0) {
		add_header(table, out);
		for (i = 0; i < rows && !out->failed; i++)
			add_row(table, i, out);
	}
	for (i = 0; i < notes; i++) {
		const char *note = trawl_table_note(table, i);

		tw_str_add_cstr(out, i == 0 ? "\n- " : "- ");
		tw_escape_markdown(out, note, strlen(note));
		tw_str_add_char(out, '\n');
	}
}
