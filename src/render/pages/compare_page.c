#include "render/pages/compare_page.h"

#include "base/alloc.h"
#include "data/tables.h"
#include "os/file.h"
#include "render/base64.h"
#include "render/cell.h"
#include "render/escape.h"
#include "render/width.h"

#include <string.h>

#define PICTURE_LIMIT ((size_t)16 << 20)
/* A text that takes more cells is shown in short, and whole when one opens it. */
#define TEXT_CELLS 72
/* A column with longer ones is given room. */
#define WIDE_CELLS 20

static void add(struct tw_str *out, const char *html)
{
	tw_str_add_cstr(out, html);
}

static void add_text(struct tw_str *out, const char *text)
{
	tw_escape_html(out, text, strlen(text));
}

/* ---- the head */

/* What is between the tags is what the hash is of. */
static void add_part(struct tw_str *out, const char *tag, const char *const *lines, size_t count)
{
	size_t i;

	tw_str_addf(out, "<%s>\n", tag);
	for (i = 0; i < count; i++)
		tw_str_addf(out, "%s\n", lines[i]);
	tw_str_addf(out, "</%s>\n", tag);
}

static void add_head(const struct tw_compare_page *page, struct tw_str *out)
{
	add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		 "<meta name=\"color-scheme\" content=\"light dark\">\n"
		 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		 "img-src data:; base-uri 'none'; form-action 'none'; ");
	tw_str_addf(out, "style-src '%s'; script-src '%s'\">\n<title>", tw_compare_style_hash,
		    tw_compare_script_hash);
	add_text(out, page->title);
	add(out, "</title>\n");
	add_part(out, "style", tw_compare_style, tw_compare_style_lines);
	add(out, "</head>\n<body>\n<main>\n<h1>");
	add_text(out, page->title);
	add(out, "</h1>\n");
}

/* ---- what comes first */

static const char *what_of(const struct tw_compare_page *page)
{
	return page->what ? page->what : "Sweep";
}

static bool has_files(const struct tw_compare_page *page)
{
	size_t i;

	for (i = 0; i < page->side_count; i++)
		if (page->sides[i].files)
			return true;
	return false;
}

static void add_lines(const char *const *lines, size_t count, struct tw_str *out)
{
	size_t i;

	if (!count)
		return;
	add(out, "<div class=\"info\">\n");
	for (i = 0; i < count; i++) {
		add(out, "<p>");
		add_text(out, lines[i]);
		add(out, "</p>\n");
	}
	add(out, "</div>\n");
}

static void add_link(struct tw_str *out, const char *kind, size_t number, const char *heading)
{
	tw_str_addf(out, "<a href=\"#%s%zu\">", kind, number);
	add_text(out, heading);
	add(out, "</a>\n");
}

/* Tables within parts are too many for it. */
static void add_contents(const struct tw_compare_page *page, struct tw_str *out)
{
	size_t i;
	bool parted = false;

	add(out, "<nav aria-label=\"Contents\">\n");
	for (i = 0; i < page->table_count; i++) {
		const struct tw_page_table *t = &page->tables[i];

		parted |= t->part != NULL;
		if (t->part)
			add_link(out, "part", i + 1, t->part);
		else if (!parted)
			add_link(out, "table", i + 1, t->heading);
	}
	for (i = 0; i < page->picture_count; i++)
		add_link(out, "pictures", i + 1, page->pictures[i].heading);
	if (has_files(page))
		add_link(out, "files", 1, "Data Files Information");
	add(out, "</nav>\n");
}

/* Which is which. */
static void add_sides(const struct tw_compare_page *page, struct tw_str *out)
{
	size_t i;

	if (!page->side_count)
		return;
	tw_str_addf(out, "<h2>%s Information</h2>\n<div class=\"scroll\">\n<table>\n",
		    what_of(page));
	tw_str_addf(out,
		    "<thead><tr><th scope=\"col\">%s</th><th scope=\"col\">Path</th></tr></thead>\n"
		    "<tbody>\n",
		    what_of(page));
	for (i = 0; i < page->side_count; i++) {
		const struct tw_page_side *side = &page->sides[i];

		add(out, "<tr><th scope=\"row\" class=\"text wide\">");
		add_text(out, side->label);
		add(out, "</th><td class=\"text wide\">");
		add_text(out, side->directory ? side->directory : "");
		add(out, "</td></tr>\n");
	}
	add(out, "</tbody>\n</table>\n</div>\n");
}

/* ---- tables */

/* Columns considered; further ones count as wide. */
#define COLUMNS_SEEN 64

/* What is the same for a whole column. */
struct columns {
	const char *looks[COLUMNS_SEEN];
};

static bool is_number(const struct trawl_table *table, size_t column)
{
	return tw_column_is_number(trawl_table_column(table, column));
}

/* Whether a column has a text that may be broken, so that the table is not too wide. */
static bool is_wide(const struct trawl_table *table, size_t column)
{
	size_t rows = trawl_table_rows(table), r;

	for (r = 0; r < rows; r++) {
		struct trawl_cell cell = trawl_table_cell(table, r, column);

		if (cell.state == TRAWL_CELL_VALUE &&
		    tw_text_width(cell.text, cell.text_len) > WIDE_CELLS)
			return true;
	}
	return false;
}

static struct columns look_at(const struct trawl_table *table)
{
	struct columns columns = { { NULL } };
	size_t c;

	for (c = 0; c < trawl_table_columns(table) && c < COLUMNS_SEEN; c++)
		columns.looks[c] = is_number(table, c) ? "n" :
				   is_wide(table, c)   ? "text wide" :
							 "text";
	return columns;
}

/* Classes of its cells. */
static const char *look_of(const struct columns *columns, const struct trawl_table *table,
			   size_t column)
{
	if (column < COLUMNS_SEEN)
		return columns->looks[column];
	return is_number(table, column) ? "n" : "text wide";
}

static void add_header(const struct trawl_table *table, const struct columns *columns,
		       struct tw_str *out)
{
	size_t count = trawl_table_columns(table), c;
	struct tw_str text;

	tw_str_init(&text, out->allocator);
	add(out, "<thead><tr>");
	for (c = 0; c < count; c++) {
		const struct trawl_column *column = trawl_table_column(table, c);

		tw_str_clear(&text);
		tw_header_with_unit(&text, column);
		tw_str_addf(out, "<th scope=\"col\" class=\"%s\" title=\"",
			    look_of(columns, table, c));
		add_text(out, column->meaning ? column->meaning : "");
		add(out, "\">");
		tw_escape_html(out, text.ptr ? text.ptr : "", text.len);
		add(out, "</th>");
	}
	add(out, "</tr></thead>\n");
	out->failed = out->failed || text.failed;
	tw_str_release(&text);
}

/* In short where it is long; the whole opens without a script. */
static void add_long(struct tw_str *out, const char *text, size_t len)
{
	struct tw_str shown;

	tw_str_init(&shown, out->allocator);
	tw_shorten(&shown, text, len, TEXT_CELLS);
	add(out, "<details><summary>");
	tw_escape_html(out, shown.ptr ? shown.ptr : "", shown.len);
	add(out, "</summary>");
	tw_escape_html(out, text, len);
	add(out, "</details>");
	out->failed = out->failed || shown.failed;
	tw_str_release(&shown);
}

/* " data-value" and then the number as it is shown. */
static void add_number(struct tw_str *out, const struct trawl_column *column,
		       const struct trawl_cell *cell)
{
	add(out, " data-value=\"");
	tw_number_exact(out, column, cell);
	add(out, "\">");
	tw_number_rounded(out, column, cell);
}

static void add_cell(const struct tw_page_table *t, const struct columns *columns, size_t row,
		     size_t c, struct tw_str *out)
{
	const struct trawl_column *column = trawl_table_column(t->table, c);
	struct trawl_cell cell = trawl_table_cell(t->table, row, c);
	bool number = is_number(t->table, c), head = !c && !number;

	add(out, head ? "<th scope=\"row\" class=\"" : "<td class=\"");
	add(out, look_of(columns, t->table, c));
	add(out, c == t->verdict ? " verdict\"" : "\"");
	if (number && cell.state == TRAWL_CELL_VALUE) {
		add_number(out, column, &cell);
	} else {
		add(out, ">");
		if (cell.state == TRAWL_CELL_VALUE &&
		    tw_text_width(cell.text, cell.text_len) > TEXT_CELLS)
			add_long(out, cell.text, cell.text_len);
		else if (cell.state == TRAWL_CELL_VALUE)
			tw_escape_html(out, cell.text, cell.text_len);
	}
	add(out, head ? "</th>" : "</td>");
}

/* "better" and "worse" have a look; other verdicts do not. */
static const char *row_class(const struct tw_page_table *t, size_t row)
{
	static const char *const known[] = { "better", "worse" };
	struct trawl_cell cell;
	size_t i;

	if (t->verdict >= trawl_table_columns(t->table) || is_number(t->table, t->verdict))
		return "";
	cell = trawl_table_cell(t->table, row, t->verdict);
	for (i = 0; i < 2; i++)
		if (cell.state == TRAWL_CELL_VALUE && cell.text_len == strlen(known[i]) &&
		    !memcmp(cell.text, known[i], cell.text_len))
			return known[i];
	return "";
}

static void add_rows(const struct tw_page_table *t, const struct columns *columns, size_t first,
		     size_t end, struct tw_str *out)
{
	size_t count = trawl_table_columns(t->table), r, c;

	add(out, "<tbody>\n");
	for (r = first; r < end && !out->failed; r++) {
		const char *look = row_class(t, r);

		if (*look)
			tw_str_addf(out, "<tr class=\"%s\">", look);
		else
			add(out, "<tr>");
		for (c = 0; c < count; c++)
			add_cell(t, columns, r, c, out);
		add(out, "</tr>\n");
	}
	add(out, "</tbody>\n");
}

static void add_notes(const struct trawl_table *table, struct tw_str *out)
{
	size_t i;

	if (!trawl_table_notes(table))
		return;
	add(out, "<ul class=\"notes\">\n");
	for (i = 0; i < trawl_table_notes(table); i++) {
		add(out, "<li>");
		add_text(out, trawl_table_note(table, i));
		add(out, "</li>\n");
	}
	add(out, "</ul>\n");
}

static void add_grid(const struct tw_page_table *t, size_t number, size_t first, size_t end,
		     struct tw_str *out)
{
	const char *meaning = trawl_table_meaning(t->table);
	struct columns columns = look_at(t->table);

	tw_str_addf(out,
		    "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
		    "aria-labelledby=\"table%zu\">\n"
		    "<table class=\"data\" data-shown=\"%zu\">\n<caption><span>",
		    number, t->shown);
	add_text(out, meaning && *meaning ? meaning : t->heading);
	add(out, "</span></caption>\n");
	add_header(t->table, &columns, out);
	add_rows(t, &columns, first, end, out);
	add(out, "</table>\n</div>\n");
}

/* A part has a heading of its own, above that of its first table. */
static void add_part_head(const struct tw_page_table *t, size_t number, struct tw_str *out)
{
	tw_str_addf(out, "<h2 class=\"part\" id=\"part%zu\">", number);
	add_text(out, t->part);
	add(out, "</h2>\n");
	add_lines(t->lines, t->line_count, out);
}

/* Its title is in it, and so is what a reader of the screen says. */
static void add_chart(const struct tw_page_table *t, struct tw_str *out)
{
	if (!t->chart || !t->chart->len)
		return;
	if (t->open) {
		add(out, "<figure class=\"chart\">\n");
		tw_str_add(out, t->chart->ptr, t->chart->len);
		add(out, "</figure>\n");
		return;
	}
	add(out, "<figure class=\"chart\"><img alt=\"Chart: ");
	add_text(out, t->heading);
	add(out, "\" src=\"data:image/svg+xml;base64,");
	tw_add_base64(out, (const unsigned char *)t->chart->ptr, t->chart->len);
	add(out, "\"></figure>\n");
}

static void add_table(const struct tw_page_table *t, size_t number, struct tw_str *out)
{
	size_t rows = trawl_table_rows(t->table), kept = rows - t->folded;

	if (t->part)
		add_part_head(t, number, out);
	tw_str_addf(out, "<section>\n<h2 id=\"table%zu\">", number);
	add_text(out, t->heading);
	add(out, "</h2>\n");
	if (t->text) {
		add(out, "<p>");
		add_text(out, t->text);
		add(out, "</p>\n");
	}
	add_chart(t, out);
	if (kept)
		add_grid(t, number, 0, kept, out);
	else if (rows)
		add(out, "<p class=\"faint\">Nothing differs by more than noise and "
			 "thresholds.</p>\n");
	else
		add(out, "<p class=\"faint\">No rows.</p>\n");
	if (t->folded) {
		tw_str_addf(out,
			    "<details class=\"folded\"><summary>%zu of %zu without a "
			    "difference</summary>\n",
			    t->folded, rows);
		add_grid(t, number, kept, rows, out);
		add(out, "</details>\n");
	}
	add_notes(t->table, out);
	add(out, "</section>\n");
}

/* ---- pictures */

static bool begins(const struct tw_str *bytes, const char *with, size_t len)
{
	return bytes->len > len && !memcmp(bytes->ptr, with, len);
}

/* Its type, NULL when it is neither. */
static const char *type_of(const struct tw_str *bytes)
{
	if (begins(bytes, "\x89PNG\r\n\x1a\n", 8))
		return "image/png";
	return begins(bytes, "<?xml ", 6) || begins(bytes, "<svg", 4) ? "image/svg+xml" : NULL;
}

static unsigned long size_at(const struct tw_str *bytes, size_t at)
{
	const unsigned char *b = (const unsigned char *)bytes->ptr + at;

	return (unsigned long)b[0] << 24 | (unsigned long)b[1] << 16 | (unsigned long)b[2] << 8 |
	       b[3];
}

static void add_image(const struct tw_page_pictures *p, const char *label,
		      const struct tw_str *bytes, const char *type, struct tw_str *out)
{
	add(out, "<img alt=\"");
	add_text(out, p->heading);
	if (label) {
		add(out, ", ");
		add_text(out, label);
	}
	add(out, "\"");
	/* So that the page does not move while it is decoded. */
	if (!strcmp(type, "image/png") && bytes->len > 24)
		tw_str_addf(out, " width=\"%lu\" height=\"%lu\"", size_at(bytes, 16),
			    size_at(bytes, 20));
	tw_str_addf(out, " src=\"data:%s;base64,", type);
	tw_add_base64(out, (const unsigned char *)bytes->ptr, bytes->len);
	add(out, "\">");
}

static void add_missing(const char *path, struct tw_str *out)
{
	add(out, "<p class=\"missing\">No plot");
	if (path) {
		add(out, ": ");
		add_text(out, tw_file_name(path));
	}
	add(out, "</p>");
}

static int add_picture(const struct tw_page_pictures *p, size_t side, const char *label,
		       struct tw_str *out, struct tw_str *told)
{
	const char *path = p->paths[side], *type = NULL;
	struct trawl_error err;
	struct tw_str bytes;
	int status = 0;

	tw_str_init(&bytes, out->allocator);
	if (path) {
		status = tw_file_read_found(path, PICTURE_LIMIT, &bytes, &err);
		type = status ? NULL : type_of(&bytes);
		if (status)
			tw_str_addf(told, "%s\n", err.message);
		else if (!type)
			tw_str_addf(told, "'%s' is no PNG or SVG picture\n", path);
	}
	add(out, "<figure>");
	if (label) {
		add(out, "<figcaption>");
		add_text(out, label);
		add(out, "</figcaption>");
	}
	if (type)
		add_image(p, label, &bytes, type, out);
	else
		add_missing(path, out);
	add(out, "</figure>\n");
	tw_str_release(&bytes);
	return status == TRAWL_ENOMEM ? status : 0;
}

static int add_pictures(const struct tw_compare_page *page, size_t i, struct tw_str *out,
			struct tw_str *told)
{
	const struct tw_page_pictures *p = &page->pictures[i];
	size_t sides = page->side_count ? 2 : 1, side;
	int status = 0;

	tw_str_addf(out, "<section class=\"pictures\">\n<h2 id=\"pictures%zu\">", i + 1);
	add_text(out, p->heading);
	tw_str_addf(out, "</h2>\n<div%s>\n", sides == 2 ? " class=\"pair\"" : "");
	for (side = 0; side < sides && !status; side++)
		status = add_picture(p, side, sides == 2 ? page->sides[side].label : NULL, out,
				     told);
	add(out, "</div>\n</section>\n");
	return status;
}

/* ---- the end */

static void add_files(const struct tw_compare_page *page, struct tw_str *out)
{
	size_t i, k;

	if (!has_files(page))
		return;
	add(out,
	    "<section>\n<h2 id=\"files1\">Data Files Information</h2>\n<div class=\"files\">\n");
	for (i = 0; i < page->side_count; i++) {
		const struct tw_page_side *side = &page->sides[i];

		add(out, "<div>\n<h3>");
		add_text(out, side->label);
		add(out, "</h3>\n<ul>\n");
		for (k = 0; side->files && side->files[k]; k++) {
			add(out, "<li>");
			add_text(out, side->files[k]);
			add(out, "</li>\n");
		}
		add(out, "</ul>\n</div>\n");
	}
	add(out, "</div>\n</section>\n");
}

int tw_render_compare_page(const struct tw_compare_page *page, struct tw_str *out,
			   struct tw_str *told, struct trawl_error *err)
{
	int status = 0;
	size_t i;

	add_head(page, out);
	add_lines(page->lines, page->line_count, out);
	add_contents(page, out);
	add_sides(page, out);
	for (i = 0; i < page->table_count; i++)
		add_table(&page->tables[i], i + 1, out);
	for (i = 0; i < page->picture_count && !status; i++)
		status = add_pictures(page, i, out, told);
	add_files(page, out);
	add(out, "</main>\n");
	add_part(out, "script", tw_compare_script, tw_compare_script_lines);
	add(out, "</body>\n</html>\n");
	if (status || out->failed || told->failed)
		return tw_no_memory(err);
	return 0;
}
