#include "standalone/markdown.h"

#include "render/escape.h"

#include <string.h>

void tw_md_text(struct tw_str *out, const char *text)
{
	tw_escape_markdown(out, text, strlen(text));
}

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

void tw_md_number(struct tw_str *out, const struct tw_json_value *value, const char *unit)
{
	if (value->type != TW_JSON_NUMBER) {
		tw_str_add_cstr(out, TW_MD_UNKNOWN);
		return;
	}
	tw_str_add_cstr(out, value->text);
	tw_str_add_cstr(out, unit);
}
