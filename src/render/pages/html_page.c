#include "render/pages/html_page.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "os/file.h"
#include "render/base64.h"
#include "render/escape.h"
#include "text/utf8.h"

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>
#include <setjmp.h>
#include <string.h>

#define PICTURE_LIMIT ((size_t)16 << 20)

/* ---- anchors */

/* Blocks of punctuation, symbols and emoji; marks that only change how the one before looks. */
static bool is_symbol(uint32_t code)
{
	static const uint32_t blocks[][2] = {
		{ 0x80, 0xa9 },	    { 0xab, 0xb4 },	  { 0xb6, 0xb9 },     { 0xbb, 0xbf },
		{ 0xd7, 0xd7 },	    { 0xf7, 0xf7 },	  { 0x2000, 0x206f }, { 0x20a0, 0x20cf },
		{ 0x2190, 0x2bff }, { 0x3000, 0x3004 },	  { 0x3008, 0x3020 }, { 0xfe00, 0xfe0f },
		{ 0xfff0, 0xffff }, { 0x1f000, 0x1faff },
	};
	size_t i;

	for (i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		if (code >= blocks[i][0] && code <= blocks[i][1])
			return true;
	return code == TW_UTF8_BAD;
}

void tw_heading_anchor(struct tw_str *out, const char *text, size_t len)
{
	size_t n;

	for (; len; text += n, len -= n) {
		uint32_t code;

		n = tw_utf8_next(text, len, &code);
		if (code >= 'A' && code <= 'Z')
			tw_str_add_char(out, (char)(code - 'A' + 'a'));
		else if ((code >= 'a' && code <= 'z') || (code >= '0' && code <= '9') ||
			 code == '-' || code == '_' || (code >= 0x80 && !is_symbol(code)))
			tw_str_add(out, text, n);
		else if (code == ' ')
			tw_str_add_char(out, '-');
	}
}

struct anchor {
	const char *text, *heading;
	int level;
	struct anchor *next;
};

struct anchors {
	struct tw_arena arena;
	struct anchor *first, *last;
	struct tw_str texts[5]; /* at work; here, so that they are released in any case */
	bool failed;
};

static bool is_taken(const struct anchors *list, const char *text)
{
	const struct anchor *a;

	for (a = list->first; a; a = a->next)
		if (!strcmp(a->text, text))
			return true;
	return false;
}

/* With a number after it when there is one already. */
static void add_anchor(struct anchors *list, struct tw_str *text, const struct tw_str *heading,
		       int level)
{
	struct anchor *a = tw_arena_alloc(&list->arena, sizeof(*a));
	size_t len = text->len;
	unsigned number = 0;

	tw_str_add(text, "", 0);
	while (!text->failed && is_taken(list, text->ptr ? text->ptr : "")) {
		text->len = len;
		tw_str_addf(text, "-%u", ++number);
	}
	if (a) {
		a->text = tw_arena_copy(&list->arena, text->ptr ? text->ptr : "", text->len);
		a->heading =
			tw_arena_copy(&list->arena, heading->ptr ? heading->ptr : "", heading->len);
		a->level = level;
	}
	if (!a || !a->text || !a->heading || text->failed) {
		list->failed = true;
		return;
	}
	a->next = NULL;
	if (list->last)
		list->last->next = a;
	else
		list->first = a;
	list->last = a;
}

/* ---- memory of cmark */

/*
 * cmark ends the program when memory runs out, unless it is given another way to allocate: from the
 * arena of the page, and out of all its functions when there is none.
 */
static _Thread_local struct {
	struct tw_arena *arena;
	jmp_buf out;
} memory;

/* In front of each block, for realloc. */
struct size {
	size_t size;
};

static void *take(size_t size)
{
	struct size *block = size < SIZE_MAX - sizeof(*block) ?
				     tw_arena_alloc(memory.arena, sizeof(*block) + size) :
				     NULL;

	if (!block)
		longjmp(memory.out, 1);
	block->size = size;
	return block + 1;
}

static void *take_zeroed(size_t count, size_t size)
{
	return memset(take(size && count > SIZE_MAX / size ? SIZE_MAX : count * size), 0,
		      count * size);
}

static void *take_again(void *old, size_t size)
{
	size_t had = old ? ((struct size *)old - 1)->size : 0;
	void *block = take(size);

	if (old)
		memcpy(block, old, had < size ? had : size);
	return block;
}

/* With all others, at the end. */
static void give_back(void *block)
{
	(void)block;
}

static cmark_mem cmark_memory = { take_zeroed, take_again, give_back };

/* ---- headings */

/* What is seen of a heading, or instead of a picture. */
static void seen_text(cmark_node *heading, struct tw_str *out)
{
	cmark_iter *iter = cmark_iter_new(heading);
	cmark_event_type event;

	while ((event = cmark_iter_next(iter)) != CMARK_EVENT_DONE) {
		cmark_node *node = cmark_iter_get_node(iter);
		cmark_node_type type = cmark_node_get_type(node);

		if (event != CMARK_EVENT_ENTER)
			continue;
		if (type == CMARK_NODE_TEXT || type == CMARK_NODE_CODE)
			tw_str_add_cstr(out, cmark_node_get_literal(node));
		else if (type == CMARK_NODE_SOFTBREAK || type == CMARK_NODE_LINEBREAK)
			tw_str_add_char(out, ' ');
	}
	cmark_iter_free(iter);
}

/* ---- pictures */

/* A name that leads nowhere else. */
static bool is_plain_svg(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && name[0] != '.' && !strcmp(name + len - 4, ".svg") &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
		       len;
}

/* Only its text is left. */
static void drop_picture(cmark_node *image)
{
	cmark_node *child;

	while ((child = cmark_node_first_child(image)))
		cmark_node_insert_before(image, child);
	cmark_node_free(image);
}

/* As our own pictures start; in a page without what is only for files. */
#define SVG_START "<svg"
#define SVG_NAMESPACE " xmlns=\"http://www.w3.org/2000/svg\""

static bool put_open(const struct tw_str *bytes, struct tw_str *tag)
{
	static const char start[] = SVG_START SVG_NAMESPACE;
	const size_t len = sizeof(start) - 1;

	if (bytes->len < len || memcmp(bytes->ptr, start, len))
		return false;
	tw_str_add_cstr(tag, SVG_START);
	tw_str_add(tag, bytes->ptr + len, bytes->len - len);
	return true;
}

static void add_img(cmark_node *image, struct tw_str *bytes, struct tw_str *tag)
{
	tw_str_add_cstr(tag, "<img src=\"data:image/svg+xml;base64,");
	tw_add_base64(tag, (const unsigned char *)bytes->ptr, bytes->len);
	tw_str_add_cstr(tag, "\" alt=\"");
	tw_str_clear(bytes);
	seen_text(image, bytes);
	tw_escape_html(tag, bytes->len ? bytes->ptr : "", bytes->len);
	tw_str_add_cstr(tag, "\" />");
}

/* The tag is ours: cmark leaves out data that are SVG.  In it no script runs, nothing is loaded. */
static void put_picture(cmark_node *image, bool open, struct tw_str *bytes, struct tw_str *tag)
{
	cmark_node *own;

	if (!open || !put_open(bytes, tag))
		add_img(image, bytes, tag);
	if (tag->failed || bytes->failed)
		return;
	own = cmark_node_new_with_mem(CMARK_NODE_CUSTOM_INLINE, &cmark_memory);
	cmark_node_set_on_enter(own, tag->ptr);
	cmark_node_replace(image, own);
	cmark_node_free(image);
}

static void embed(cmark_node *image, const struct tw_html_page *page, struct anchors *list)
{
	const char *name = cmark_node_get_url(image);
	struct tw_str *path = &list->texts[0], *bytes = &list->texts[1], *tag = &list->texts[2];
	struct trawl_error err;
	int status = TRAWL_EIO;

	tw_str_clear(path);
	tw_str_clear(bytes);
	tw_str_clear(tag);
	if (is_plain_svg(name)) {
		tw_str_addf(path, "%s/%s", page->dir, name);
		status = path->failed ? TRAWL_ENOMEM :
					tw_file_read_found(path->ptr, PICTURE_LIMIT, bytes, &err);
	}
	if (!status)
		put_picture(image, page->open && !strcmp(name, page->open), bytes, tag);
	else
		drop_picture(image);
	list->failed |= bytes->failed || tag->failed || status == TRAWL_ENOMEM;
}

/* ---- the page */

static cmark_node *parse(const struct tw_str *markdown)
{
	cmark_parser *parser;
	cmark_syntax_extension *tables;
	cmark_node *document;

	cmark_gfm_core_extensions_ensure_registered();
	parser = cmark_parser_new_with_mem(CMARK_OPT_DEFAULT, &cmark_memory);
	tables = cmark_find_syntax_extension("table");
	if (tables)
		cmark_parser_attach_syntax_extension(parser, tables);
	if (markdown->len)
		cmark_parser_feed(parser, markdown->ptr, markdown->len);
	document = cmark_parser_finish(parser);
	cmark_parser_free(parser);
	return document;
}

/* Anchors of all headings, pictures in place of their names. */
static void prepare(cmark_node *document, const struct tw_html_page *page, struct anchors *list)
{
	cmark_iter *iter = cmark_iter_new(document);
	struct tw_str *text = &list->texts[3], *anchor = &list->texts[4];
	cmark_event_type event;

	while ((event = cmark_iter_next(iter)) != CMARK_EVENT_DONE) {
		cmark_node *node = cmark_iter_get_node(iter);
		cmark_node_type type = cmark_node_get_type(node);

		/* The iterator is after an image when it is left, which may then go. */
		if (event == CMARK_EVENT_EXIT && type == CMARK_NODE_IMAGE) {
			embed(node, page, list);
		} else if (event == CMARK_EVENT_ENTER && type == CMARK_NODE_HEADING) {
			tw_str_clear(text);
			tw_str_clear(anchor);
			seen_text(node, text);
			tw_heading_anchor(anchor, text->ptr ? text->ptr : "", text->len);
			add_anchor(list, anchor, text, cmark_node_get_heading_level(node));
			list->failed |= text->failed;
		}
	}
	cmark_iter_free(iter);
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* The headings of level 2, after the title. */
static void add_contents(struct tw_str *out, const struct anchors *list)
{
	const struct anchor *a;
	bool any = false;

	for (a = list->first; a; a = a->next) {
		if (a->level != 2)
			continue;
		tw_str_add_cstr(out, any ? "" : "\n<nav>");
		tw_str_add_cstr(out, "<a href=\"#");
		tw_escape_html(out, a->text, strlen(a->text));
		tw_str_add_cstr(out, "\">");
		tw_escape_html(out, a->heading, strlen(a->heading));
		tw_str_add_cstr(out, "</a>");
		any = true;
	}
	tw_str_add_cstr(out, any ? "</nav>" : "");
}

/* The words of a priority in its colour: its mark is a character that fonts may lack. */
static size_t add_priority(struct tw_str *out, const char *html)
{
	static const char *const marks[][3] = {
		{ "🔴 ", "Critical Priority", "critical" },
		{ "🟡 ", "High Priority", "high" },
		{ "🟢 ", "Medium Priority", "medium" },
		{ "⚪ ", "Low Priority", "low" },
	};
	size_t i;

	for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		size_t mark = strlen(marks[i][0]);

		if (!starts(html, marks[i][0]) || !starts(html + mark, marks[i][1]))
			continue;
		tw_str_addf(out, "%s<span class=\"%s\">%s</span>", marks[i][0], marks[i][2],
			    marks[i][1]);
		return mark + strlen(marks[i][1]);
	}
	return 0;
}

/*
 * Headings get their anchors, tables a box of their own to scroll in.  In the text every < is
 * &lt;, so what looks like a tag is one.
 */
static void add_body(struct tw_str *out, const char *html, const struct anchors *list)
{
	const struct anchor *anchor = list->first;
	bool contents = false;
	const char *tag;

	for (; (tag = strchr(html, '<')); html = tag + 1) {
		tw_str_add(out, html, (size_t)(tag - html));
		if (tag[1] == 'h' && tag[2] >= '1' && tag[2] <= '6' && tag[3] == '>' && anchor) {
			tw_str_addf(out, "<h%c id=\"", tag[2]);
			tw_escape_html(out, anchor->text, strlen(anchor->text));
			tw_str_add_cstr(out, "\">");
			anchor = anchor->next;
			tag += 3 + add_priority(out, tag + 4);
		} else if (starts(tag, "<table>")) {
			tw_str_add_cstr(out, "<div class=\"scroll\"><table>");
			tag += strlen("<table>") - 1;
		} else if (starts(tag, "</h1>") && !contents) {
			tw_str_add_cstr(out, "</h1>");
			add_contents(out, list);
			contents = true;
			tag += strlen("</h1>") - 1;
		} else if (starts(tag, "</table>")) {
			tw_str_add_cstr(out, "</table></div>");
			tag += strlen("</table>") - 1;
		} else {
			tw_str_add_char(out, '<');
		}
	}
	tw_str_add_cstr(out, html);
}

static void add_page(struct tw_str *out, const struct tw_html_page *page, const char *html,
		     const struct anchors *list)
{
	size_t i;

	tw_str_add_cstr(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
			     "<meta charset=\"utf-8\">\n"
			     "<meta name=\"viewport\" content=\"width=device-width, "
			     "initial-scale=1\">\n"
			     "<meta name=\"color-scheme\" content=\"light dark\">\n"
			     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
			     "'none'; style-src 'unsafe-inline'; img-src data:\">\n<title>");
	tw_escape_html(out, page->title, strlen(page->title));
	tw_str_add_cstr(out, "</title>\n<style>\n");
	for (i = 0; i < page->style_lines; i++)
		tw_str_addf(out, "%s\n", page->style[i]);
	tw_str_add_cstr(out, "</style>\n</head>\n<body>\n<main>\n");
	add_body(out, html, list);
	tw_str_add_cstr(out, "</main>\n</body>\n</html>\n");
}

/* Which may end in the middle, without memory. */
static void render(const struct tw_html_page *page, const struct tw_str *markdown,
		   struct tw_str *out, struct anchors *list)
{
	cmark_node *document = parse(markdown);

	prepare(document, page, list);
	if (!list->failed)
		add_page(out, page,
			 cmark_render_html_with_mem(document, CMARK_OPT_DEFAULT, NULL,
						    &cmark_memory),
			 list);
}

int tw_render_html_page(const struct tw_html_page *page, const struct tw_str *markdown,
			struct tw_str *out, struct trawl_error *err)
{
	struct anchors list = { .failed = false };
	size_t i;

	tw_arena_init(&list.arena, out->allocator);
	for (i = 0; i < sizeof(list.texts) / sizeof(list.texts[0]); i++)
		tw_str_init(&list.texts[i], out->allocator);
	memory.arena = &list.arena;
	if (setjmp(memory.out))
		list.failed = true;
	else
		render(page, markdown, out, &list);
	memory.arena = NULL;
	for (i = 0; i < sizeof(list.texts) / sizeof(list.texts[0]); i++)
		tw_str_release(&list.texts[i]);
	tw_arena_release(&list.arena);
	return list.failed || out->failed ? tw_no_memory(err) : 0;
}
