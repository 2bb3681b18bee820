#include "standalone/markdown.h"

#include "render/escape.h"

#include <string.h>

void tw_md_cut(struct tw_str *text, size_t most)
{
	static const char mark[] = "…";
	size_t tail = most / 3, head = most - tail;

	if (text->failed || text->len <= most)
		return;
	while (head && (text->ptr[head] & 0xc0) == 0x80)
		head--;
	while (tail && (text->ptr[text->len - tail] & 0xc0) == 0x80)
		tail--;
	/* What goes is at least as long as the mark, or nothing is won. */
	if (text->len - head - tail < sizeof(mark))
		return;
	memcpy(text->ptr + head, mark, sizeof(mark) - 1);
	memmove(text->ptr + head + sizeof(mark) - 1, text->ptr + text->len - tail, tail + 1);
	text->len = head + sizeof(mark) - 1 + tail;
}

void tw_md_code(struct tw_str *out, const char *text, size_t most)
{
	struct tw_str safe;
	size_t i;

	tw_str_init(&safe, out->allocator);
	tw_escape_terminal(&safe, text, strlen(text));
	if (most)
		tw_md_cut(&safe, most);
	tw_str_add_char(out, '`');
	for (i = 0; i < safe.len; i++) {
		char c = safe.ptr[i];

		if (c == '|')
			tw_str_add_cstr(out, "\\|");
		else
			tw_str_add_char(out, c == '`' ? '\'' : c == '\n' || c == '\t' ? ' ' : c);
	}
	tw_str_add_char(out, '`');
	out->failed |= safe.failed;
	tw_str_release(&safe);
}

/* Bytes of a piece of code at the start, with its backticks; 0: there is none. */
static size_t code_length(const char *text)
{
	size_t len;

	if (*text != '`')
		return 0;
	len = strcspn(text + 1, "`\n");
	return len && text[len + 1] == '`' ? len + 2 : 0;
}

void tw_md_text(struct tw_str *out, const char *text)
{
	struct tw_str code;

	tw_str_init(&code, out->allocator);
	while (*text) {
		size_t rest = 0, len;

		while (text[rest] && !code_length(text + rest))
			rest++;
		tw_escape_markdown(out, text, rest);
		text += rest;
		len = code_length(text);
		if (!len)
			continue;
		tw_str_clear(&code);
		tw_str_add(&code, text + 1, len - 2);
		tw_md_code(out, code.ptr ? code.ptr : "", 0);
		text += len;
	}
	out->failed |= code.failed;
	tw_str_release(&code);
}

void tw_md_number(struct tw_str *out, const struct tw_json_value *value, const char *unit)
{
	if (value->type != TW_JSON_NUMBER) {
		tw_str_add_cstr(out, TW_MD_UNKNOWN);
		return;
	}
	tw_str_add_cstr(out, value->text);
	tw_str_add_cstr(out, unit);
}
