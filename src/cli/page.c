#include "cli/page.h"

#include "cli/cli.h"

#include "base/alloc.h"
#include "io/sink.h"
#include "table/table.h"

#include <string.h>

/* Rows of a table before "show all". */
#define SHOWN_ROWS 20

void cli_page_line(struct cli_page *page, const char *text)
{
	if (*text && page->line_count < CLI_PAGE_MOST_LINES)
		page->lines[page->line_count++] = cli_text("%s", text);
}

void cli_page_lines(struct cli_page *page, struct tw_str *lines)
{
	const char *at = lines->ptr ? lines->ptr : "";

	page->failed |= lines->failed;
	while (*at && !lines->failed) {
		size_t len = strcspn(at, "\n");

		cli_page_line(page, cli_text("%.*s", (int)len, at));
		at += len + (at[len] == '\n');
	}
	tw_str_release(lines);
}

void cli_page_verdict(struct cli_page *page, const struct trawl_table *verdict)
{
	size_t rows = verdict ? trawl_table_rows(verdict) : 0, row;

	for (row = 0; row < rows; row++) {
		struct trawl_cell text = tw_table_cell(verdict, row, "text");

		if (text.state == TRAWL_CELL_VALUE)
			cli_page_line(page, text.text);
	}
}

/* The named columns, or all, that have values; NULL: out of memory. */
static struct trawl_table *narrowed(const struct trawl_table *table,
				    const struct cli_page_part *part)
{
	size_t count = part->columns ? part->column_count : trawl_table_columns(table), i;
	const char **headers = cli_alloc(count, sizeof(*headers));

	for (i = 0; i < count; i++)
		headers[i] = part->columns ? part->columns[i] :
					     trawl_table_column(table, i)->header;
	return tw_table_narrow(table, headers, count, trawl_allocator_default());
}

struct tw_str *cli_page_table(struct cli_page *page, const struct cli_page_part *part,
			      const struct trawl_table *table)
{
	size_t at = page->count;
	struct trawl_table *narrow;

	if (!table || !trawl_table_rows(table) || at == CLI_PAGE_MOST_TABLES)
		return NULL;
	narrow = narrowed(table, part);
	if (!narrow) {
		page->failed = true;
		return NULL;
	}
	tw_str_init(&page->charts[at], trawl_allocator_default());
	page->narrow[at] = narrow;
	page->tables[at] = (struct tw_page_table){
		.heading = part->heading,
		.text = part->text,
		.table = narrow,
		.verdict = SIZE_MAX,
		.shown = SHOWN_ROWS,
		.chart = &page->charts[at],
	};
	page->count++;
	return &page->charts[at];
}

void cli_page_picture(struct cli_page *page, const char *heading, const char *path)
{
	if (page->picture_count < CLI_PAGE_MOST_PICTURES)
		page->pictures[page->picture_count++] =
			(struct tw_page_pictures){ heading, { path, NULL } };
}

static int render(const struct cli_page *page, struct tw_str *html, struct trawl_error *err)
{
	const struct tw_compare_page whole = { .title = page->title,
					       .lines = page->lines,
					       .line_count = page->line_count,
					       .tables = page->tables,
					       .table_count = page->count,
					       .pictures = page->pictures,
					       .picture_count = page->picture_count };
	struct tw_str told; /* pictures that cannot be read: it is said in their place */
	bool failed = page->failed;
	size_t i;
	int status;

	for (i = 0; i < page->count; i++)
		failed |= page->charts[i].failed;
	if (failed)
		return tw_no_memory(err);
	tw_str_init(&told, trawl_allocator_default());
	status = tw_render_compare_page(&whole, html, &told, err);
	tw_str_release(&told);
	return status;
}

int cli_page_write(struct cli_page *page, const char *path, struct trawl_error *err)
{
	struct tw_str html;
	size_t i;
	int status;

	tw_str_init(&html, trawl_allocator_default());
	status = render(page, &html, err);
	if (!status)
		status = tw_sink_write_text(path, &html, trawl_allocator_default(), err);
	tw_str_release(&html);
	for (i = 0; i < page->count; i++) {
		trawl_table_free(page->narrow[i]);
		tw_str_release(&page->charts[i]);
	}
	return status;
}
