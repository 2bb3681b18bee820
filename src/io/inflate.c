/*
 * gzip (any number of members) and zlib, by ISA-L.  Headers and trailers are read here, byte by
 * byte, since members may be cut anywhere and kinds of damage are distinguished: ISA-L sees deflate
 * data alone and keeps the checksum.
 */
#include "base/alloc.h"
#include "io/source.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <string.h>

/* avail_in and avail_out are 32 bits wide. */
#define ISAL_LIMIT ((size_t)1 << 30)

enum gzip_flag {
	GZIP_HAS_HEADER_CRC = 2,
	GZIP_HAS_EXTRA = 4,
	GZIP_HAS_NAME = 8,
	GZIP_HAS_COMMENT = 16,
	GZIP_RESERVED = 0xe0,
};

enum inflate_step { STEP_HEADER, STEP_DATA, STEP_RESCUE, STEP_TRAILER, STEP_END };

/* What reading a header or trailer came to; a failure is a negative trawl_status. */
enum part { PART_OK, PART_ENDS_EARLY, PART_WRONG, PART_NOTHING };

struct inflate_source {
	struct tw_source source;
	struct tw_chunk chunk;
	bool zlib;
	enum inflate_step step;
	size_t members; /* whole ones so far */
	/* Bytes that ISA-L had taken in after the deflate data: the trailer and what follows. */
	unsigned char carry[8];
	size_t carry_pos, carry_len;
	uint32_t header_crc;
	size_t header_len;
	size_t padding; /* zeros in front of the header */
	uint32_t adler;
	struct inflate_state isal, before; /* before: when the last call began */
};

/* The next byte: 1, at the end 0. */
static int next_byte(struct inflate_source *inflate, unsigned char *byte, struct trawl_error *err)
{
	struct tw_chunk *chunk = &inflate->chunk;
	int status;

	if (inflate->carry_pos < inflate->carry_len) {
		*byte = inflate->carry[inflate->carry_pos++];
		return 1;
	}
	status = tw_chunk_fill(chunk, inflate->source.inner, err);
	if (status)
		return status;
	if (chunk->pos == chunk->len)
		return 0;
	*byte = (unsigned char)chunk->bytes[chunk->pos++];
	return 1;
}

/* len bytes of the header; PART_ENDS_EARLY when there are fewer. */
static int header_bytes(struct inflate_source *inflate, unsigned char *bytes, size_t len,
			struct trawl_error *err)
{
	size_t i;

	for (i = 0; i < len; i++) {
		int n = next_byte(inflate, &bytes[i], err);

		if (n <= 0)
			return n < 0 ? n : PART_ENDS_EARLY;
		inflate->header_len++;
		inflate->header_crc = crc32_gzip_refl(inflate->header_crc, &bytes[i], 1);
	}
	return PART_OK;
}

static int skip_header_text(struct inflate_source *inflate, struct trawl_error *err)
{
	unsigned char byte;
	int part;

	do {
		part = header_bytes(inflate, &byte, 1, err);
	} while (part == PART_OK && byte);
	return part;
}

static int skip_header_extra(struct inflate_source *inflate, struct trawl_error *err)
{
	unsigned char bytes[2];
	size_t len;
	int part = header_bytes(inflate, bytes, 2, err);

	if (part != PART_OK)
		return part;
	for (len = bytes[0] | (size_t)bytes[1] << 8; len && part == PART_OK; len--)
		part = header_bytes(inflate, bytes, 1, err);
	return part;
}

static int check_header_crc(struct inflate_source *inflate, struct trawl_error *err)
{
	uint32_t crc = inflate->header_crc & 0xffff;
	unsigned char bytes[2];
	int part = header_bytes(inflate, bytes, 2, err);

	if (part == PART_OK && crc != (bytes[0] | (uint32_t)bytes[1] << 8))
		tw_input_note_here(inflate->source.input, TW_FEED_CHECKSUM);
	return part;
}

/* After the mark: method, flags, time, level, system, then what the flags announce. */
static int read_gzip_fields(struct inflate_source *inflate, struct trawl_error *err)
{
	unsigned char fixed[8];
	int part = header_bytes(inflate, fixed, sizeof(fixed), err);

	if (part != PART_OK)
		return part;
	if (fixed[0] != 8 || fixed[1] & GZIP_RESERVED)
		return PART_WRONG;
	if (fixed[1] & GZIP_HAS_EXTRA)
		part = skip_header_extra(inflate, err);
	if (part == PART_OK && fixed[1] & GZIP_HAS_NAME)
		part = skip_header_text(inflate, err);
	if (part == PART_OK && fixed[1] & GZIP_HAS_COMMENT)
		part = skip_header_text(inflate, err);
	if (part == PART_OK && fixed[1] & GZIP_HAS_HEADER_CRC)
		part = check_header_crc(inflate, err);
	return part;
}

static int read_gzip_header(struct inflate_source *inflate, struct trawl_error *err)
{
	unsigned char mark[2];
	int part;

	/* Zeros pad the last member to a block of a tape or disk. */
	for (inflate->padding = 0;; inflate->padding++) {
		inflate->header_len = 0;
		inflate->header_crc = 0;
		part = header_bytes(inflate, mark, 1, err);
		if (part != PART_OK || mark[0] || !inflate->members)
			break;
	}
	if (part != PART_OK)
		return part == PART_ENDS_EARLY ? PART_NOTHING : part;
	if (mark[0] != 0x1f)
		return PART_WRONG;
	part = header_bytes(inflate, mark + 1, 1, err);
	/* A single byte says too little to call it the beginning of a member. */
	if (part == PART_ENDS_EARLY && inflate->members)
		return PART_WRONG;
	if (part != PART_OK)
		return part;
	return mark[1] == 0x8b ? read_gzip_fields(inflate, err) : PART_WRONG;
}

static int read_zlib_header(struct inflate_source *inflate, struct trawl_error *err)
{
	unsigned char bytes[2];
	int part;

	inflate->header_len = 0;
	part = header_bytes(inflate, bytes, 1, err);
	if (part != PART_OK)
		return part == PART_ENDS_EARLY ? PART_NOTHING : part;
	/* Only the first stream counts: nothing writes several. */
	if (inflate->members)
		return PART_WRONG;
	part = header_bytes(inflate, bytes + 1, 1, err);
	if (part != PART_OK)
		return part;
	if ((bytes[0] & 15) != 8 || bytes[1] & 0x20 || (bytes[0] << 8 | bytes[1]) % 31)
		return PART_WRONG;
	return PART_OK;
}

static void end_broken(struct inflate_source *inflate, enum tw_feed_note_kind kind)
{
	/* When the source below ended early, that is noted already. */
	if (!(kind == TW_FEED_TRUNCATED && inflate->source.inner->broken))
		tw_input_note_here(inflate->source.input, kind);
	inflate->source.broken = true;
	inflate->step = STEP_END;
}

static int note_trailing(struct inflate_source *inflate, struct trawl_error *err)
{
	/* Zeros in front of bytes that are no member are no padding, but part of them. */
	size_t before =
		inflate->padding + inflate->header_len + inflate->carry_len - inflate->carry_pos;

	inflate->step = STEP_END;
	inflate->carry_pos = inflate->carry_len;
	return tw_chunk_trailing(&inflate->chunk, inflate->source.inner, before, err);
}

static int begin_member(struct inflate_source *inflate, struct trawl_error *err)
{
	int part = inflate->zlib ? read_zlib_header(inflate, err) : read_gzip_header(inflate, err);

	switch (part) {
	case PART_OK:
		isal_inflate_reset(&inflate->isal);
		inflate->isal.crc_flag = inflate->zlib ? ISAL_DEFLATE : ISAL_GZIP_NO_HDR;
		inflate->adler = 1;
		inflate->step = STEP_DATA;
		return 0;
	case PART_NOTHING:
		inflate->source.broken |= inflate->source.inner->broken;
		inflate->step = STEP_END;
		return 0;
	case PART_ENDS_EARLY:
		end_broken(inflate, TW_FEED_TRUNCATED);
		return 0;
	case PART_WRONG:
		if (inflate->members)
			return note_trailing(inflate, err);
		end_broken(inflate, TW_FEED_CORRUPT);
		return 0;
	}
	return part;
}

/*
 * ISA-L takes in up to eight bytes at a time, so it may hold bytes from after the deflate data,
 * which can be older than the chunk at hand.  They are no more than a gzip trailer is long: the
 * carry is used up before deflate data begins again.
 */
static void end_data(struct inflate_source *inflate)
{
	struct inflate_state *isal = &inflate->isal;
	uint64_t bits = isal->read_in >> (isal->read_in_length % 8);
	size_t n = 0;

	for (; n < (size_t)isal->read_in_length / 8; n++, bits >>= 8)
		inflate->carry[n] = (unsigned char)bits;
	inflate->carry_pos = 0;
	inflate->carry_len = n;
	inflate->step = STEP_TRAILER;
}

/*
 * Until the chunk at hand ends, the output is full or it fails, a byte of input a call.  While there
 * is much input, ISA-L moves the end of its output after a match before it looks at the distance:
 * of a wrong one up to 258 bytes stay that nothing decoded.  Near the end of the input it looks
 * first, and with one byte it is always near.
 */
static int decode_carefully(struct inflate_state *isal, uint32_t avail_in)
{
	int result;

	do {
		isal->avail_in = 1;
		result = isal_inflate(isal);
		avail_in -= 1 - isal->avail_in;
	} while (result >= 0 && !isal->avail_in && avail_in);
	isal->avail_in = avail_in;
	return result;
}

/* Deflate data from the chunk at hand to buf; from an empty one, what ISA-L holds back. */
static int decode(struct inflate_source *inflate, char *buf, size_t len, size_t *got)
{
	struct inflate_state *isal = &inflate->isal;
	struct tw_chunk *chunk = &inflate->chunk;
	int result;

	isal->next_in = (unsigned char *)chunk->bytes + chunk->pos;
	isal->avail_in = (uint32_t)(chunk->len - chunk->pos);
	isal->next_out = (unsigned char *)buf;
	isal->avail_out = (uint32_t)(len < ISAL_LIMIT ? len : ISAL_LIMIT);
	inflate->before = *isal;
	result = isal_inflate(isal);
	if (result < 0 && inflate->before.avail_in) {
		*isal = inflate->before;
		result = decode_carefully(isal, isal->avail_in);
	}
	chunk->pos = chunk->len - isal->avail_in;
	*got = (size_t)((char *)isal->next_out - buf);
	if (inflate->zlib)
		inflate->adler = isal_adler32(inflate->adler, (unsigned char *)buf, *got);
	return result;
}

static int read_data(struct inflate_source *inflate, char *buf, size_t len, size_t *got,
		     struct trawl_error *err)
{
	int result, status = tw_chunk_fill(&inflate->chunk, inflate->source.inner, err);

	if (status)
		return status;
	result = decode(inflate, buf, len, got);
	if (result < 0)
		inflate->step = STEP_RESCUE;
	else if (inflate->isal.block_state == ISAL_BLOCK_FINISH)
		end_data(inflate);
	else if (!*got && inflate->chunk.ended)
		end_broken(inflate, TW_FEED_TRUNCATED);
	return 0;
}

/* Decoded bytes that ISA-L holds back when it fails: they came before the damage. */
static void rescue(struct inflate_source *inflate, char *buf, size_t len, size_t *got)
{
	struct inflate_state *isal = &inflate->isal;
	size_t n = (size_t)(isal->tmp_out_valid - isal->tmp_out_processed);

	*got = n < len ? n : len;
	memcpy(buf, isal->tmp_out_buffer + isal->tmp_out_processed, *got);
	isal->tmp_out_processed += (int32_t)*got;
	if (!*got)
		end_broken(inflate, TW_FEED_CORRUPT);
}

/* gzip: CRC and length, little endian; zlib: Adler-32, big endian. */
static int check_trailer(struct inflate_source *inflate, struct trawl_error *err)
{
	size_t i, len = inflate->zlib ? 4 : 8;
	uint64_t trailer = 0, expected;
	unsigned char byte = 0;

	for (i = 0; i < len; i++) {
		int n = next_byte(inflate, &byte, err);

		if (n < 0)
			return n;
		if (!n) {
			end_broken(inflate, TW_FEED_TRUNCATED);
			return 0;
		}
		if (inflate->zlib)
			trailer = trailer << 8 | byte;
		else
			trailer |= (uint64_t)byte << (8 * i);
	}
	expected = inflate->zlib ? inflate->adler :
				   inflate->isal.crc | (uint64_t)inflate->isal.total_out << 32;
	if (trailer != expected)
		tw_input_note_here(inflate->source.input, TW_FEED_CHECKSUM);
	inflate->members++;
	inflate->step = STEP_HEADER;
	return 0;
}

static int inflate_read(struct tw_source *source, char *buf, size_t len, size_t *got,
			struct trawl_error *err)
{
	struct inflate_source *inflate = (struct inflate_source *)source;
	int status = 0;

	*got = 0;
	while (!status && !*got && inflate->step != STEP_END) {
		switch (inflate->step) {
		case STEP_HEADER:
			status = begin_member(inflate, err);
			break;
		case STEP_DATA:
			status = read_data(inflate, buf, len, got, err);
			break;
		case STEP_RESCUE:
			rescue(inflate, buf, len, got);
			break;
		case STEP_TRAILER:
			status = check_trailer(inflate, err);
			break;
		case STEP_END:
			break;
		}
	}
	return status;
}

static void inflate_close(struct tw_source *source)
{
	struct inflate_source *inflate = (struct inflate_source *)source;
	const struct trawl_allocator *allocator = source->input->allocator;

	tw_free(allocator, inflate->chunk.bytes, TW_SOURCE_CHUNK);
	tw_free(allocator, inflate, sizeof(*inflate));
}

int tw_source_open_inflate(struct tw_source **out, struct tw_source *inner, bool zlib,
			   struct trawl_error *err)
{
	static const struct tw_source_ops ops = { inflate_read, inflate_close };
	struct tw_input *input = inner->input;
	struct inflate_source *inflate = tw_source_new(sizeof(*inflate), &ops, input, inner);

	if (!inflate)
		return tw_input_nomem(input, err);
	inflate->chunk.bytes = tw_alloc(input->allocator, TW_SOURCE_CHUNK);
	if (!inflate->chunk.bytes) {
		inflate_close(&inflate->source);
		return tw_input_nomem(input, err);
	}
	inflate->zlib = zlib;
	isal_inflate_init(&inflate->isal);
	*out = &inflate->source;
	return 0;
}
