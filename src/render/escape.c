#include "render/escape.h"
#include "text/text.h"
#include "text/utf8.h"

#include <stdio.h>
#include <string.h>

enum target { CSV = 1, TERMINAL = 2, MARKDOWN = 4, HTML = 8, XLSX = 16, ALL = 31 };

/* Bytes at which something may have to be done; between them text is copied in runs. */
static const unsigned char special[256] = {
	[0 ... 0x1F] = ALL, ['"'] = CSV | HTML, ['$'] = MARKDOWN,	 ['&'] = MARKDOWN | HTML,
	['\''] = HTML,	    ['*'] = MARKDOWN,	['<'] = MARKDOWN | HTML, ['>'] = MARKDOWN | HTML,
	['\\'] = MARKDOWN,  [']'] = MARKDOWN,	['_'] = MARKDOWN | XLSX, ['`'] = MARKDOWN,
	['|'] = MARKDOWN,   ['~'] = MARKDOWN,	[0x7F ... 0xFF] = ALL,
};

/* The replacement of the special ASCII character at text[at] in a target; NULL: itself. */
typedef const char *replace_fn(const char *text, size_t at, size_t len);

/* The visible form of an unsafe character. */
static const char *visible(char buffer[16], uint32_t code)
{
	if (code < 0x100)
		snprintf(buffer, 16, "\\x%02x", (unsigned)code);
	else if (code < 0x10000)
		snprintf(buffer, 16, "\\u%04x", (unsigned)code);
	else
		snprintf(buffer, 16, "\\U%08x", (unsigned)code);
	return buffer;
}

/* How many bytes from here on are plain in CSV files, in eights: no control, quote, DEL or beyond. */
static size_t plain_eights(const char *text, size_t len)
{
	static const uint64_t ones = 0x0101010101010101, high = 0x8080808080808080;
	size_t i = 0;

	for (; i + 8 <= len; i += 8) {
		uint64_t word, quote, del;

		memcpy(&word, text + i, sizeof(word));
		quote = word ^ ones * '"';
		del = word ^ ones * 0x7F;
		if ((((word - ones * 0x20) | (quote - ones) | (del - ones)) | word) & high)
			break;
	}
	return i;
}

static void add_safe(struct tw_str *out, const char *text, size_t len, enum target target,
		     replace_fn *replace)
{
	size_t i = 0, copied = 0;
	char buffer[16];

	while (i < len) {
		const char *instead = NULL;
		uint32_t code;
		size_t step;

		if (!(special[(unsigned char)text[i]] & target)) {
			i++;
			if (target == CSV && !(i & 7))
				i += plain_eights(text + i, len - i);
			continue;
		}
		step = tw_utf8_next(text + i, len - i, &code);
		if (code < 0x80)
			instead = replace(text, i, len);
		if (code == TW_UTF8_BAD)
			instead = "\xEF\xBF\xBD";
		else if (!instead && tw_utf8_is_unsafe(code))
			instead = visible(buffer, code);
		if (instead) {
			tw_str_add(out, text + copied, i - copied);
			tw_str_add_cstr(out, instead);
			copied = i + step;
		}
		i += step;
	}
	if (copied < len) /* otherwise text may be NULL */
		tw_str_add(out, text + copied, len - copied);
}

/* --- CSV ---------------------------------------------------------------------------------- */

static size_t skip_digits(const char *text, size_t i, size_t len)
{
	while (i < len && text[i] >= '0' && text[i] <= '9')
		i++;
	return i;
}

/* [+-]DIGITS[.DIGITS][e[+-]DIGITS] */
static bool is_plain_number(const char *text, size_t len)
{
	size_t i = text[0] == '+' || text[0] == '-', begin = i;

	i = skip_digits(text, i, len);
	if (i == begin)
		return false;
	if (i < len && text[i] == '.') {
		begin = ++i;
		i = skip_digits(text, i, len);
		if (i == begin)
			return false;
	}
	if (i < len && (text[i] == 'e' || text[i] == 'E')) {
		i++;
		i += i < len && (text[i] == '+' || text[i] == '-');
		begin = i;
		i = skip_digits(text, i, len);
		if (i == begin)
			return false;
	}
	return i == len;
}

static bool needs_apostrophe(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && text[i] == '\'')
		i++;
	if (i == len || !tw_text_begins_formula(text + i, len - i))
		return false;
	return i > 0 || (len > 1 && !is_plain_number(text, len));
}

static const char *replace_csv(const char *text, size_t at, size_t len)
{
	(void)len;
	switch (text[at]) {
	case '"':
		return "\"\"";
	case '\n':
		return "\n";
	case '\t':
		return "\t";
	}
	return NULL;
}

static const char *replace_cell(const char *text, size_t at, size_t len)
{
	(void)len;
	return text[at] == '\n' ? "\n" : text[at] == '\t' ? "\t" : NULL;
}

void tw_escape_cell(struct tw_str *out, const char *text, size_t len)
{
	add_safe(out, text, len, CSV, replace_cell);
}

void tw_escape_csv(struct tw_str *out, const char *text, size_t len)
{
	bool quoted = false;
	size_t i;

	for (i = 0; i < len && !quoted; i++)
		quoted = text[i] == ',' || text[i] == '"' || text[i] == '\n';
	if (quoted)
		tw_str_add_char(out, '"');
	if (needs_apostrophe(text, len))
		tw_str_add_char(out, '\'');
	add_safe(out, text, len, CSV, replace_csv);
	if (quoted)
		tw_str_add_char(out, '"');
}

void tw_escape_csv_exact(struct tw_str *out, const char *text, size_t len)
{
	/* A byte order mark at the beginning of a file is none of its text. */
	bool quoted = len >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3);
	size_t i;

	for (i = 0; i < len && !quoted; i++)
		quoted = text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r';
	if (quoted)
		tw_str_add_char(out, '"');
	if (needs_apostrophe(text, len))
		tw_str_add_char(out, '\'');
	for (i = 0; i < len; i++) {
		if (text[i] == '"')
			tw_str_add_char(out, '"');
		tw_str_add_char(out, text[i]);
	}
	if (quoted)
		tw_str_add_char(out, '"');
}

/* --- terminal, Markdown, HTML ------------------------------------------------------------- */

static const char *replace_terminal(const char *text, size_t at, size_t len)
{
	(void)len;
	switch (text[at]) {
	case '\n':
		return "\\n";
	case '\t':
		return "\\t";
	}
	return NULL;
}

void tw_escape_terminal(struct tw_str *out, const char *text, size_t len)
{
	add_safe(out, text, len, TERMINAL, replace_terminal);
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (unsigned char)c >= 0x80;
}

/* How far to look for the ends of a run of `_`: real names have no longer ones. */
#define LONGEST_RUN 32

/* A run of `_` with a word on both sides is text in CommonMark; elsewhere it may be emphasis. */
static bool inside_word(const char *text, size_t at, size_t len)
{
	size_t first = at, last = at;

	while (first > 0 && text[first - 1] == '_' && at - first < LONGEST_RUN)
		first--;
	while (last + 1 < len && text[last + 1] == '_' && last - at < LONGEST_RUN)
		last++;
	return first > 0 && last + 1 < len && is_word(text[first - 1]) && is_word(text[last + 1]);
}

static const char *replace_markdown(const char *text, size_t at, size_t len)
{
	switch (text[at]) {
	case '\n':
	case '\t':
		return " ";
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '|':
		return "\\|";
	case '\\':
		return "\\\\";
	case '`':
		return "\\`";
	case '*':
		return "\\*";
	case '~':
		return "\\~";
	case '$':
		return "\\$";
	case '_':
		return inside_word(text, at, len) ? NULL : "\\_";
	case ']':
		return at + 1 < len && (text[at + 1] == '(' || text[at + 1] == '[') ? "\\]" : NULL;
	}
	return NULL;
}

void tw_escape_markdown(struct tw_str *out, const char *text, size_t len)
{
	add_safe(out, text, len, MARKDOWN, replace_markdown);
}

static const char *replace_html(const char *text, size_t at, size_t len)
{
	(void)len;
	switch (text[at]) {
	case '\n':
		return "\n";
	case '\t':
		return "\t";
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	}
	return NULL;
}

void tw_escape_html(struct tw_str *out, const char *text, size_t len)
{
	add_safe(out, text, len, HTML, replace_html);
}

/* --- workbooks ---------------------------------------------------------------------------- */

/* _xHHHH_ */
static bool is_xlsx_escape(const char *text, size_t at, size_t len)
{
	size_t i;

	if (len - at < 7 || text[at + 1] != 'x' || text[at + 6] != '_')
		return false;
	for (i = at + 2; i < at + 6; i++) {
		char c = text[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')))
			return false;
	}
	return true;
}

static const char *replace_xlsx(const char *text, size_t at, size_t len)
{
	switch (text[at]) {
	case '\n':
		return "\n";
	case '\t':
		return "\t";
	case '_':
		return is_xlsx_escape(text, at, len) ? "_x005F_" : NULL;
	}
	return NULL;
}

/* Cuts what was added after `begin` to the limit of a cell. */
static void cut_xlsx(struct tw_str *out, size_t begin)
{
	size_t i = begin, units = 0, keep = begin;

	/* A unit takes at least one byte. */
	if (out->failed || out->len - begin <= TW_XLSX_TEXT_LIMIT)
		return;
	while (i < out->len && units <= TW_XLSX_TEXT_LIMIT) {
		uint32_t code;

		i += tw_utf8_next(out->ptr + i, out->len - i, &code);
		units += code >= 0x10000 ? 2 : 1;
		if (units <= TW_XLSX_TEXT_LIMIT - 1)
			keep = i;
	}
	if (units <= TW_XLSX_TEXT_LIMIT)
		return;
	out->len = keep;
	tw_str_add_cstr(out, "\xE2\x80\xA6");
}

void tw_escape_xlsx(struct tw_str *out, const char *text, size_t len)
{
	size_t begin = out->len;

	/* 4 bytes a character at most: what lies after cannot be shown. */
	if (len > 8 * TW_XLSX_TEXT_LIMIT)
		len = 8 * TW_XLSX_TEXT_LIMIT;
	add_safe(out, text, len, XLSX, replace_xlsx);
	cut_xlsx(out, begin);
}
