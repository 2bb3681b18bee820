#include "job/merge/texts.h"

#include "base/hash.h"
#include "json/reader.h"
#include "json/writer.h"

void tw_merge_texts_init(struct tw_merge_texts *texts, const struct trawl_trace *trace,
			 int64_t rank, struct tw_lines *lines, struct tw_arena *arena)
{
	*texts = (struct tw_merge_texts){
		.trace = trace,
		.lines = lines,
		.rank = rank,
		.first_id = rank * TW_MERGE_STRIDE,
		.next_fresh = TW_MERGE_FRESH,
		.arena = arena,
		.of = tw_arena_array(arena, trace->texts.count, sizeof(*texts->of)),
		.fresh = tw_arena_array(arena, trace->texts.count, sizeof(*texts->fresh)),
		.reals = tw_arena_array(arena, TW_MERGE_REALS, sizeof(*texts->reals)),
	};
	tw_str_init(&texts->scratch, arena->allocator);
}

/* Whether it is the same between quotes. */
static bool is_plain(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < ' ' || c >= 0x7f || c == '"' || c == '\\')
			return false;
	}
	return true;
}

void tw_merge_text_prepare(struct tw_merge_texts *texts, uint32_t id)
{
	struct tw_json_text *out = &texts->of[id];
	size_t len;
	const char *text = tw_pool_text(&texts->trace->texts, id, &len);
	char *copy;

	out->ptr = text ? text : "";
	out->len = (uint32_t)len;
	if (is_plain(out->ptr, len))
		return;
	tw_str_clear(&texts->scratch);
	tw_json_quote(&texts->scratch, text, len);
	copy = texts->scratch.failed ?
		       NULL :
		       tw_arena_copy(texts->arena, texts->scratch.ptr + 1, texts->scratch.len - 2);
	out->ptr = copy ? copy : "";
	out->len = copy ? (uint32_t)(texts->scratch.len - 2) : 0;
}

/* Whether a text is one JSON value, by a reader that lets nothing pass. */
static bool is_value(struct tw_merge_texts *texts, uint32_t id)
{
	struct tw_json_reader reader;
	size_t len;
	const char *text = tw_pool_text(&texts->trace->texts, id, &len);

	tw_json_reader_init(&reader, text, len, texts->arena->allocator);
	tw_json_next(&reader);
	tw_json_skip(&reader);
	return !tw_json_reader_end(&reader, "", NULL);
}

void tw_merge_put_value(struct tw_merge_texts *texts, uint32_t id)
{
	struct tw_json_text *out = &texts->of[id];
	size_t len;
	const char *text;

	if (!out->checked) {
		out->valid = is_value(texts, id);
		out->checked = true;
	}
	/* A number beyond all doubles is told digit by digit. */
	if (out->valid) {
		text = tw_pool_text(&texts->trace->texts, id, &len);
		tw_merge_put(texts, text, len);
		return;
	}
	TW_MERGE_PUT(texts, "\"");
	tw_merge_put_text(texts, id);
	TW_MERGE_PUT(texts, "\"");
}

void tw_merge_put_real(struct tw_merge_texts *texts, double value)
{
	uint64_t bits;
	size_t slot;

	memcpy(&bits, &value, sizeof(bits));
	slot = tw_hash_u64(bits) % TW_MERGE_REALS;
	if (!texts->reals[slot].len || texts->reals[slot].bits != bits) {
		tw_str_clear(&texts->scratch);
		tw_str_add_real(&texts->scratch, value);
		if (texts->scratch.failed || !texts->scratch.len ||
		    texts->scratch.len > TW_MERGE_NUMBER) {
			TW_MERGE_PUT(texts, "null");
			return;
		}
		texts->reals[slot].bits = bits;
		texts->reals[slot].len = (uint8_t)texts->scratch.len;
		memcpy(texts->reals[slot].digits, texts->scratch.ptr, texts->scratch.len);
	}
	tw_merge_put(texts, texts->reals[slot].digits, texts->reals[slot].len);
}

int64_t tw_merge_fresh_id(struct tw_merge_texts *texts)
{
	return texts->first_id + texts->next_fresh++;
}

int64_t tw_merge_id(struct tw_merge_texts *texts, tw_code code)
{
	int64_t *fresh;

	if (!(code & TW_CODE_TEXT))
		return texts->first_id + code;
	if (code == TW_CODE_NONE)
		return texts->first_id;
	fresh = &texts->fresh[code & ~TW_CODE_TEXT];
	if (!*fresh)
		*fresh = tw_merge_fresh_id(texts);
	return *fresh;
}

char *tw_merge_digits(char *p, int64_t value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
	char digits[20], *at = digits + sizeof(digits);

	if (value < 0)
		*p++ = '-';
	while (rest >= 100) {
		at -= 2;
		memcpy(at, pairs + 2 * (rest % 100), 2);
		rest /= 100;
	}
	if (rest >= 10) {
		at -= 2;
		memcpy(at, pairs + 2 * rest, 2);
	} else {
		*--at = (char)('0' + rest);
	}
	memcpy(p, at, (size_t)(digits + sizeof(digits) - at));
	return p + (digits + sizeof(digits) - at);
}

char *tw_merge_time(char *p, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	unsigned part = (unsigned)(size % 1000);

	if (ns < 0)
		*p++ = '-';
	p = tw_merge_digits(p, (int64_t)(size / 1000));
	if (!part)
		return p;
	*p++ = '.';
	*p++ = (char)('0' + part / 100);
	part %= 100;
	if (part) {
		*p++ = (char)('0' + part / 10);
		if (part % 10)
			*p++ = (char)('0' + part % 10);
	}
	return p;
}
