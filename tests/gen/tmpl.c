#include "tmpl.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define SLOT_TEXT_MAX 24 /* the longest number: sign, 20 digits, point */

struct renderer {
	struct sb b;
	enum layout layout;
	int depth;
	char prev; /* last character that was not white space */
};

static void newline(struct renderer *r, int depth)
{
	sb_putf(&r->b, "\n%*s", 2 * depth, "");
}

static bool is_space(char c)
{
	return c == '\n' || c == '\t' || c == '\v';
}

static bool is_closer(char c)
{
	return c == '}' || c == ']';
}

static char next_token(const char *s)
{
	while (is_space(*s))
		s++;
	return *s;
}

static void render_space(struct renderer *r, const char *s)
{
	if (r->layout != LAYOUT_NATIVE)
		return;
	if (*s == '\n')
		newline(r, r->depth - is_closer(s[1]));
	else if (*s == '\t')
		sb_put(&r->b, "      ");
}

/* One character outside strings and slots. */
static void render_char(struct renderer *r, const char *s)
{
	char one[2] = { *s, '\0' };
	bool indent = r->layout == LAYOUT_INDENT;

	if (is_space(*s)) {
		render_space(r, s);
		return;
	}
	if (is_closer(*s)) {
		r->depth--;
		if (indent && r->prev != '{' && r->prev != '[')
			newline(r, r->depth);
	}
	sb_put(&r->b, one);
	if (*s == '{' || *s == '[') {
		char next = next_token(s + 1);

		r->depth++;
		if (indent && next && !is_closer(next))
			newline(r, r->depth);
	} else if (*s == ',') {
		if (indent)
			newline(r, r->depth);
		else if (r->layout == LAYOUT_NATIVE && !is_space(s[1]))
			sb_put(&r->b, " ");
	} else if (*s == ':' && r->layout != LAYOUT_COMPACT) {
		sb_put(&r->b, " ");
	}
	r->prev = *s;
}

static void add_piece(struct tmpl *t, uint32_t end, int slot)
{
	uint32_t off = t->n ? t->pieces[t->n - 1].off + t->pieces[t->n - 1].len : 0;

	t->pieces = xrealloc(t->pieces, t->n + 1, sizeof(*t->pieces));
	t->pieces[t->n++] = (struct piece){ .off = off, .len = end - off, .slot = slot };
	t->max_len += end - off + (slot >= 0 ? SLOT_TEXT_MAX : 0);
}

void tmpl_compile(struct tmpl *t, const char *canon, enum layout layout, int depth)
{
	struct renderer r = { .layout = layout, .depth = depth };
	bool in_string = false;

	memset(t, 0, sizeof(*t));
	sb_reset(&r.b);
	for (const char *s = canon; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c >= 0x80) {
			assert(c - 0x80 < N_SLOTS);
			add_piece(t, (uint32_t)r.b.len, c - 0x80);
			r.prev = '0';
		} else if (in_string || c == '"') {
			sb_putf(&r.b, "%c", c);
			in_string ^= c == '"';
			r.prev = '"';
		} else {
			render_char(&r, s);
		}
	}
	assert(!in_string);
	add_piece(t, (uint32_t)r.b.len, -1);
	t->text = r.b.s;
}

void tmpl_free(struct tmpl *t)
{
	free(t->text);
	free(t->pieces);
}

static char *put_nano(char *p, int64_t v)
{
	uint64_t frac = (uint64_t)v % 1000000000;

	p = put_u64(p, (uint64_t)v / 1000000000);
	*p++ = '.';
	for (uint64_t scale = 100000000; scale; scale /= 10)
		*p++ = (char)('0' + frac / scale % 10);
	return p;
}

static char *put_slot(char *p, int slot, int64_t v)
{
	switch (slot) {
	case S_TS:
	case S_DUR:
		return put_milli(p, v);
	case S_BW:
		return put_nano(p, v);
	case S_PYPAR:
		if (v)
			return put_i64(p, v);
		memcpy(p, "null", 4);
		return p + 4;
	default:
		return put_i64(p, v);
	}
}

void tmpl_emit(struct out *o, const struct tmpl *t, const int64_t v[N_SLOTS])
{
	char *p = out_reserve(o, t->max_len);

	for (uint32_t i = 0; i < t->n; i++) {
		const struct piece *pc = &t->pieces[i];

		memcpy(p, t->text + pc->off, pc->len);
		p += pc->len;
		if (pc->slot >= 0)
			p = put_slot(p, pc->slot, v[pc->slot]);
	}
	out_commit(o, p);
}
