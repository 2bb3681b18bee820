/*
 * A page of tables and pictures, of one thing or of sides next to each other, that needs nothing
 * else: its style, pictures and the script that sorts and filters its tables are inside; without the script it is whole too.
 * Nothing else runs in it and nothing is loaded.  All text is escaped here.
 */
#ifndef TW_RENDER_PAGES_COMPARE_PAGE_H
#define TW_RENDER_PAGES_COMPARE_PAGE_H

#include "text/str.h"
#include "trawl/error.h"
#include "trawl/table.h"

/* A table of the page, shown with the digits that people read; its columns sort. */
struct tw_page_table {
	const char *heading;
	const char *text; /* a paragraph below the heading, NULL: none */
	const struct trawl_table *table;
	size_t verdict; /* column whose text colours the row (better, worse), SIZE_MAX: none */
	size_t shown;	/* rows shown at first, further ones on demand; 0: all */
	size_t folded;	/* so many of the last rows do not differ, and are folded */
	/* Of the first table of a part of the page: its heading and lines; NULL: it is in that before. */
	const char *part;
	const char *const *lines;
	size_t line_count;
	const struct tw_str *chart; /* an SVG picture above the table; NULL or empty: none */
	bool open; /* it is part of the page, so that pointing at what is in it shows more */
};

struct tw_page_side {
	const char *label, *directory; /* directory: base name, shown beside the label */
	/* "Data Files Information": lines of text, NULL ends; NULL for all sides: no such part. */
	const char *const *files;
};

/* A picture of each side; of a page without sides the first. */
struct tw_page_pictures {
	const char *heading;
	const char *paths[2]; /* PNG or SVG files; NULL or not there: said so in its place */
};

struct tw_compare_page {
	const char *title;
	const char *what;		  /* a side is: "Sweep", "Report", "Trace"; NULL: "Sweep" */
	const struct tw_page_side *sides; /* none, or several; two where there are pictures */
	size_t side_count;
	const char *const *lines; /* the answer in sentences, first of all */
	size_t line_count;
	const struct tw_page_table *tables;
	size_t table_count;
	const struct tw_page_pictures *pictures;
	size_t picture_count;
};

/*
 * Appends the page to `out`.  Pictures that cannot be read are lines in `told`, each with a line
 * feed.  TRAWL_ENOMEM.
 */
int tw_render_compare_page(const struct tw_compare_page *page, struct tw_str *out,
			   struct tw_str *told, struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
