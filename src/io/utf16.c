/*
 * UTF-16 to UTF-8.  Surrogates without their other half and an odd byte at the end become
 * U+FFFD, one for each.
 */
#include "base/alloc.h"
#include "io/source.h"

#include <string.h>

#define REPLACEMENT 0xfffd

struct utf16_source {
	struct tw_source source;
	struct tw_chunk chunk;
	bool big_endian;
	bool has_byte; /* the first byte of a unit, the second not being there yet */
	unsigned char byte;
	uint32_t high;	 /* a high surrogate waiting for the low one; 0: none */
	char pending[8]; /* converted, but there was no room for it */
	size_t pending_pos, pending_len;
};

static size_t put_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* One unit to at most six bytes: a lost surrogate in front of a character of three. */
static size_t put_unit(struct utf16_source *utf16, char *out, uint32_t unit)
{
	size_t n = 0;

	if (utf16->high && unit >= 0xdc00 && unit <= 0xdfff) {
		uint32_t c = 0x10000 + ((utf16->high - 0xd800) << 10) + (unit - 0xdc00);

		utf16->high = 0;
		return put_utf8(out, c);
	}
	if (utf16->high)
		n = put_utf8(out, REPLACEMENT);
	utf16->high = 0;
	if (unit >= 0xd800 && unit <= 0xdbff)
		utf16->high = unit;
	else
		n += put_utf8(out + n, unit >= 0xdc00 && unit <= 0xdfff ? REPLACEMENT : unit);
	return n;
}

/* Converts whole units while there is room for any; returns the bytes written. */
static size_t convert(struct utf16_source *utf16, char *out, size_t room)
{
	struct tw_chunk *chunk = &utf16->chunk;
	const unsigned char *in = (unsigned char *)chunk->bytes + chunk->pos;
	const unsigned char *end = (unsigned char *)chunk->bytes + chunk->len;
	unsigned low = utf16->big_endian ? 1 : 0;
	size_t n = 0;

	while (end - in >= 2 && room - n >= sizeof(utf16->pending)) {
		uint32_t unit = in[low] | (uint32_t)in[1 - low] << 8;

		in += 2;
		if (unit < 0x80 && !utf16->high)
			out[n++] = (char)unit;
		else
			n += put_unit(utf16, out + n, unit);
	}
	chunk->pos = chunk->len - (size_t)(end - in);
	return n;
}

/* What convert() leaves: units cut by the end of a chunk, the end, little room. */
static void convert_slowly(struct utf16_source *utf16)
{
	struct tw_chunk *chunk = &utf16->chunk;
	char *out = utf16->pending;
	size_t n = 0;

	if (chunk->ended) {
		if (utf16->high)
			n += put_utf8(out + n, REPLACEMENT);
		if (utf16->has_byte)
			n += put_utf8(out + n, REPLACEMENT);
		utf16->high = 0;
		utf16->has_byte = false;
	} else {
		unsigned char byte = (unsigned char)chunk->bytes[chunk->pos++];

		uint32_t first = utf16->byte, unit = first | (uint32_t)byte << 8;

		if (utf16->big_endian)
			unit = first << 8 | byte;
		if (utf16->has_byte)
			n = put_unit(utf16, out, unit);
		utf16->byte = byte;
		utf16->has_byte = !utf16->has_byte;
	}
	utf16->pending_pos = 0;
	utf16->pending_len = n;
}

static int utf16_read(struct tw_source *source, char *buf, size_t len, size_t *got,
		      struct trawl_error *err)
{
	struct utf16_source *utf16 = (struct utf16_source *)source;
	struct tw_chunk *chunk = &utf16->chunk;

	*got = 0;
	while (!*got) {
		size_t left = utf16->pending_len - utf16->pending_pos;
		int status;

		if (left) {
			*got = left < len ? left : len;
			memcpy(buf, utf16->pending + utf16->pending_pos, *got);
			utf16->pending_pos += *got;
			break;
		}
		status = tw_chunk_fill(chunk, source->inner, err);
		if (status)
			return status;
		if (!utf16->has_byte)
			*got = convert(utf16, buf, len);
		if (!*got && (chunk->pos < chunk->len || chunk->ended)) {
			convert_slowly(utf16);
			if (!utf16->pending_len && chunk->ended)
				break;
		}
	}
	source->broken |= source->inner->broken;
	return 0;
}

static void utf16_close(struct tw_source *source)
{
	struct utf16_source *utf16 = (struct utf16_source *)source;
	const struct trawl_allocator *allocator = source->input->allocator;

	tw_free(allocator, utf16->chunk.bytes, TW_SOURCE_CHUNK);
	tw_free(allocator, utf16, sizeof(*utf16));
}

int tw_source_open_utf16(struct tw_source **out, struct tw_source *inner, bool big_endian,
			 struct trawl_error *err)
{
	static const struct tw_source_ops ops = { utf16_read, utf16_close };
	struct tw_input *input = inner->input;
	struct utf16_source *utf16 = tw_source_new(sizeof(*utf16), &ops, input, inner);

	if (!utf16)
		return tw_input_nomem(input, err);
	utf16->chunk.bytes = tw_alloc(input->allocator, TW_SOURCE_CHUNK);
	if (!utf16->chunk.bytes) {
		utf16_close(&utf16->source);
		return tw_input_nomem(input, err);
	}
	utf16->big_endian = big_endian;
	*out = &utf16->source;
	return 0;
}
