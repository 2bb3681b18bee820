/* The self-contained page of a command: the answer first, then tables, each with its chart. */
#ifndef TW_CLI_PAGE_H
#define TW_CLI_PAGE_H

#include "render/pages/compare_page.h"

#define CLI_PAGE_MOST_LINES 24
#define CLI_PAGE_MOST_TABLES 16
#define CLI_PAGE_MOST_PICTURES 8

struct cli_page {
	const char *title;
	const char *lines[CLI_PAGE_MOST_LINES]; /* kept as long as the program runs */
	size_t line_count;
	struct tw_page_table tables[CLI_PAGE_MOST_TABLES];
	struct trawl_table *narrow[CLI_PAGE_MOST_TABLES];
	struct tw_str charts[CLI_PAGE_MOST_TABLES];
	size_t count;
	struct tw_page_pictures pictures[CLI_PAGE_MOST_PICTURES];
	size_t picture_count;
	bool failed; /* memory was out */
};

/* What is shown of a table. */
struct cli_page_part {
	const char *heading, *text; /* text: a paragraph, NULL: none */
	const char *const *columns; /* by their headers, those that have values; NULL: all */
	size_t column_count;
};

/* A line of the answer; texts are copied. */
void cli_page_line(struct cli_page *page, const char *text);
/* The same for each line of `lines`, which is released. */
void cli_page_lines(struct cli_page *page, struct tw_str *lines);
/* The column `text` of a table, a line for each row; NULL: nothing. */
void cli_page_verdict(struct cli_page *page, const struct trawl_table *verdict);
/*
 * A table below those before, which must outlive the page; where its chart goes, NULL: it has no rows
 * and is not shown.
 */
struct tw_str *cli_page_table(struct cli_page *page, const struct cli_page_part *part,
			      const struct trawl_table *table);

/* A picture below the tables: a PNG or SVG file; both texts are kept. */
void cli_page_picture(struct cli_page *page, const char *heading, const char *path);

/* ---- page_bars.c */

/* Rows of a chart at most, those with the most; the table below it has all. */
#define CLI_PAGE_MOST_BARS 32

/* A column of a table as a part of bars. */
struct cli_page_column {
	const char *header;
	double factor; /* from the unit of the column to that of the chart */
	const char *name, *colour;
};

struct cli_page_bars {
	const char *title, *unit;
	const char *what,
		*rest; /* of the sample size: "rank"; ", 8 collectives each", NULL: no more */
	const struct cli_page_column *columns;
	size_t count;
	const char *(*name)(const struct trawl_table *table, size_t row); /* kept */
	bool apart; /* as of struct tw_bar_chart */
};

/* The rows that have a number, as SVG. */
void cli_page_bars(const struct cli_page_bars *bars, const struct trawl_table *table,
		   struct tw_str *out);

/* ---- the end */

/* Renders and writes it, and releases what was made for it. */
int cli_page_write(struct cli_page *page, const char *path,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
