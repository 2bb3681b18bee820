/*
 * Markdown as a page that needs nothing else: its style inside, its pictures inside, no script,
 * nothing to be loaded.  HTML in the Markdown is skipped, links that could run something too.
 */
#ifndef TW_RENDER_PAGES_HTML_PAGE_H
#define TW_RENDER_PAGES_HTML_PAGE_H

#include "text/str.h"
#include "trawl/error.h"

/*
 * The anchor of a heading, as GitHub makes it: letters in lower case, digits, - and _, a - for
 * each blank, the rest gone, emoji included.
 */
void tw_heading_anchor(struct tw_str *out, const char *text, size_t len);

struct tw_html_page {
	const char *title;	  /* any text */
	const char *const *style; /* CSS by lines */
	size_t style_lines;
	const char *dir; /* where the pictures are: SVG, named without a directory */
	const char
		*open; /* of them, one of our own that is put in as it is, to be pointed at; NULL */
};

/* A picture that is not there leaves its text.  TRAWL_ENOMEM; the parser itself ends the process. */
int tw_render_html_page(const struct tw_html_page *page, const struct tw_str *markdown,
			struct tw_str *out, struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
