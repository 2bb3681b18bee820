#include "analysis/signature.h"

#include "base/alloc.h"
#include "text/scan.h"
#include "text/text.h"
#include "text/utf8.h"

#include <string.h>

void tw_python_quote(const char *text, size_t len, struct tw_str *out)
{
	const char *end = text + len;
	char quote = memchr(text, '\'', len) && !memchr(text, '"', len) ? '"' : '\'';
	uint32_t code;

	tw_str_add_char(out, quote);
	while (text < end) {
		size_t n = tw_utf8_next(text, (size_t)(end - text), &code);

		if (*text == '\\' || *text == quote)
			tw_str_addf(out, "\\%c", *text);
		else if (*text == '\n')
			tw_str_add_cstr(out, "\\n");
		else if (*text == '\r')
			tw_str_add_cstr(out, "\\r");
		else if (*text == '\t')
			tw_str_add_cstr(out, "\\t");
		else if (code != TW_UTF8_BAD && code < 0x100 && tw_utf8_is_unsafe(code))
			tw_str_addf(out, "\\x%02x", (unsigned)code);
		else
			tw_str_add(out, text, n);
		text += n;
	}
	tw_str_add_char(out, quote);
}

/* The string at p (its quote); returns after it. */
static const char *quote_string(const char *p, const char *end, struct tw_str *out)
{
	const char *start = ++p;
	struct tw_str plain;

	while (p < end && *p != '"')
		p += *p == '\\' && p + 1 < end ? 2 : 1;
	tw_str_init(&plain, out->allocator);
	tw_text_decode(start, (size_t)(p - start), &plain);
	tw_python_quote(plain.ptr ? plain.ptr : "", plain.len, out);
	out->failed |= plain.failed;
	tw_str_release(&plain);
	return p < end ? p + 1 : end;
}

static const char *quote_word(const char *p, const char *end, struct tw_str *out)
{
	static const struct {
		const char *json, *python;
	} words[] = { { "null", "None" }, { "true", "True" }, { "false", "False" } };
	const char *start = p;
	size_t i, len;

	while (p < end && !strchr(",:]}[{\" \n\r\t", *p))
		p++;
	len = (size_t)(p - start);
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i].json) == len && !memcmp(words[i].json, start, len)) {
			tw_str_add_cstr(out, words[i].python);
			return p;
		}
	}
	tw_str_add(out, start, len);
	return p > start ? p : p + 1;
}

/*
 * Without recursion: a list of one element ends with a comma, so the number of elements of each
 * open list is kept, as commas seen since it began (bit: more than one) for 64 levels.
 */
static void add_repr(const char *p, size_t len, bool lists, struct tw_str *out)
{
	const char *end = p + len;
	uint64_t several = 0, empty = 0; /* lowest bit: innermost */
	size_t depth = 0;

	for (; p < end; p++) {
		bool open = *p == '[' || *p == '{', close = *p == ']' || *p == '}';

		if (memchr(" \n\r\t", *p, 4))
			continue;
		if (open) {
			several <<= 1;
			empty = (empty & ~(uint64_t)1) << 1 | 1;
			depth++;
			tw_str_add_char(out, *p == '{' ? '{' : lists ? '[' : '(');
		} else if (close) {
			if (*p == ']' && !lists && !(several & 1) && !(empty & 1) && depth)
				tw_str_add_char(out, ',');
			several >>= 1;
			empty >>= 1;
			depth -= depth > 0;
			tw_str_add_char(out, *p == '}' ? '}' : lists ? ']' : ')');
		} else if (*p == ',') {
			several |= 1;
			tw_str_add_cstr(out, ", ");
		} else if (*p == ':') {
			tw_str_add_cstr(out, ": ");
		} else {
			empty &= ~(uint64_t)1;
			p = (*p == '"' ? quote_string(p, end, out) : quote_word(p, end, out)) - 1;
		}
	}
}

void tw_python_repr(const char *json, size_t len, struct tw_str *out)
{
	add_repr(json, len, false, out);
}

int tw_signatures_init(struct tw_signatures *s, const struct trawl_trace *trace,
		       const struct trawl_allocator *allocator)
{
	*s = (struct tw_signatures){ .trace = trace };
	tw_str_init(&s->scratch, allocator);
	s->of_text = tw_alloc_array(allocator, trace->texts.count, sizeof(*s->of_text));
	return s->of_text && !tw_pool_init(&s->texts, allocator) ? 0 : -1;
}

bool tw_signatures_failed(const struct tw_signatures *s)
{
	return s->texts.failed || s->scratch.failed;
}

/* Where the text of an argument with one of the keys goes. */
static uint32_t *field_of(struct tw_signature *signature, uint32_t key)
{
	switch (key) {
	case TW_KEY_input_dims:
	case TW_KEY_input_dims_2021:
		return &signature->dims;
	case TW_KEY_input_type:
		return &signature->types;
	case TW_KEY_input_strides:
		return &signature->strides;
	default:
		return &signature->concrete;
	}
}

#define BIT(key, word) ((key) >> 6 == (word) ? (uint64_t)1 << ((key)&63) : 0)
#define BITS(word)                                                          \
	(BIT(TW_KEY_input_dims, word) | BIT(TW_KEY_input_dims_2021, word) | \
	 BIT(TW_KEY_input_type, word) | BIT(TW_KEY_input_strides, word) |   \
	 BIT(TW_KEY_concrete_inputs, word))

static const struct tw_arg_keys signature_keys = { { BITS(0), BITS(1) } };

struct tw_signature tw_signature_texts(const struct trawl_trace *trace, uint64_t event)
{
	size_t at = (size_t)trace->events.args[event] * TW_ARGS_ALIGN;
	struct tw_signature signature = { 0 };

	while (at && tw_args_seek(&trace->args, &at, &signature_keys)) {
		uint32_t key = trace->args.bytes[at];
		uint32_t text = tw_args_take_text(&trace->args, &at);

		/* A value that is not text is ignored. */
		if (text)
			*field_of(&signature, key) = text;
	}
	return signature;
}

/* JSON begins with a bracket; an argument that was a plain text stays as it is. */
static uint32_t repr_of(struct tw_signatures *s, uint32_t text_id)
{
	const char *text;
	size_t len;

	if (!text_id || s->of_text[text_id])
		return s->of_text[text_id];
	text = tw_pool_text(&s->trace->texts, text_id, &len);
	tw_str_clear(&s->scratch);
	if (len && (*text == '[' || *text == '{'))
		add_repr(text, len, s->lists, &s->scratch);
	else
		tw_str_add(&s->scratch, text, len);
	s->of_text[text_id] =
		tw_pool_intern(&s->texts, s->scratch.ptr ? s->scratch.ptr : "", s->scratch.len);
	return s->of_text[text_id];
}

struct tw_signature tw_signature_repr(struct tw_signatures *s, const struct tw_signature *texts)
{
	return (struct tw_signature){ repr_of(s, texts->dims), repr_of(s, texts->types),
				      repr_of(s, texts->strides), repr_of(s, texts->concrete) };
}

struct tw_signature tw_signature_of(struct tw_signatures *s, uint64_t event)
{
	struct tw_signature texts = tw_signature_texts(s->trace, event);

	return tw_signature_repr(s, &texts);
}
