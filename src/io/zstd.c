/* zstd: any number of frames, skippable ones among them, by libzstd. */
#define ZSTD_STATIC_LINKING_ONLY /* for ZSTD_createDCtx_advanced: a given allocator */
#include "base/alloc.h"
#include "io/source.h"

#include <stdalign.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

/* The largest window there is (2 GB, --long=31): asking for less is left to who compresses. */
#define WINDOW_LOG_MAX ZSTD_WINDOWLOG_MAX

struct zstd_source {
	struct tw_source source;
	struct tw_chunk chunk;
	ZSTD_DCtx *context;
	size_t frames;	/* whole ones so far */
	size_t want;	/* bytes that libzstd asks for: what is left of a piece of a frame */
	size_t begun;	/* bytes of the present frame taken in so far */
	size_t padding; /* zeros in front of it */
	bool pending;	/* libzstd may hold decoded bytes */
	bool ended;
};

/* libzstd frees without the size: it is kept in front of each block. */
static void *zstd_alloc(void *opaque, size_t size)
{
	size_t whole;
	char *block;

	if (__builtin_add_overflow(size, alignof(max_align_t), &whole))
		return NULL;
	block = tw_alloc(opaque, whole);
	if (!block)
		return NULL;
	memcpy(block, &whole, sizeof(whole));
	return block + alignof(max_align_t);
}

static void zstd_free(void *opaque, void *address)
{
	size_t whole;
	char *block = address;

	if (!block)
		return;
	block -= alignof(max_align_t);
	memcpy(&whole, block, sizeof(whole));
	tw_free(opaque, block, whole);
}

static void end_broken(struct zstd_source *zstd, enum tw_feed_note_kind kind)
{
	if (!(kind == TW_FEED_TRUNCATED && zstd->source.inner->broken))
		tw_input_note_here(zstd->source.input, kind);
	zstd->source.broken = true;
	zstd->ended = true;
}

static void begin_frame(struct zstd_source *zstd)
{
	ZSTD_DCtx_reset(zstd->context, ZSTD_reset_session_only);
	zstd->want = ZSTD_FRAMEHEADERSIZE_MIN(ZSTD_f_zstd1);
	zstd->begun = 0;
	zstd->padding = 0;
	zstd->pending = false;
}

/* The source below has no more bytes. */
static int end_input(struct zstd_source *zstd, struct trawl_error *err)
{
	zstd->source.broken |= zstd->source.inner->broken;
	zstd->ended = true;
	/* Fewer bytes than a mark are called a frame only where one has to be. */
	if (zstd->begun && zstd->frames && zstd->begun < 4)
		return tw_chunk_trailing(&zstd->chunk, zstd->source.inner,
					 zstd->padding + zstd->begun, err);
	if (zstd->begun)
		end_broken(zstd, TW_FEED_TRUNCATED);
	return 0;
}

static int decode_failed(struct zstd_source *zstd, size_t code, struct trawl_error *err)
{
	struct tw_input *input = zstd->source.input;

	switch (ZSTD_getErrorCode(code)) {
	case ZSTD_error_memory_allocation:
		return tw_input_nomem(input, err);
	case ZSTD_error_frameParameter_windowTooLarge:
		return trawl_error_set(
			err, TRAWL_ELIMIT,
			"%s needs a zstd window above 2^%d bytes: compress it with a smaller "
			"window",
			input->name, WINDOW_LOG_MAX);
	case ZSTD_error_dictionary_wrong:
		return trawl_error_set(
			err, TRAWL_EFORMAT,
			"%s needs a zstd dictionary: decompress it first (zstd -d -D)",
			input->name);
	case ZSTD_error_checksum_wrong:
		/* Given piece by piece, the checksum was the last piece of the frame. */
		tw_input_note_here(input, TW_FEED_CHECKSUM);
		zstd->frames++;
		begin_frame(zstd);
		return 0;
	case ZSTD_error_prefix_unknown:
		if (zstd->frames) {
			zstd->ended = true;
			return tw_chunk_trailing(&zstd->chunk, zstd->source.inner,
						 zstd->padding + zstd->begun, err);
		}
		break;
	default:
		break;
	}
	end_broken(zstd, TW_FEED_CORRUPT);
	return 0;
}

/* Zeros pad the last frame to a block of a tape or disk: no frame begins with one. */
static int next_bytes(struct zstd_source *zstd, struct trawl_error *err)
{
	struct tw_chunk *chunk = &zstd->chunk;

	for (;;) {
		int status = tw_chunk_fill(chunk, zstd->source.inner, err);

		if (status || chunk->ended || zstd->begun || !zstd->frames)
			return status;
		while (chunk->pos < chunk->len && !chunk->bytes[chunk->pos]) {
			chunk->pos++;
			zstd->padding++;
		}
		if (chunk->pos < chunk->len)
			return 0;
	}
}

/*
 * libzstd loses what it has decoded in a call that fails.  It knows how many bytes end the present
 * piece of a frame, plus the header of the next block: it is given the one, then the other, and
 * none while it has something to hand out.  So every block before a damaged one comes out, and
 * when a checksum is wrong, the next frame is known to begin right here.
 */
static int read_frame(struct zstd_source *zstd, char *buf, size_t len, size_t *got,
		      struct trawl_error *err)
{
	enum { BLOCK_HEADER = 3 };
	struct tw_chunk *chunk = &zstd->chunk;
	ZSTD_outBuffer output = { .dst = buf, .size = len };
	ZSTD_inBuffer input = { .src = NULL };
	size_t result, left;

	if (!zstd->pending) {
		int status = next_bytes(zstd, err);

		if (status)
			return status;
		left = chunk->len - chunk->pos;
		if (!left)
			return end_input(zstd, err);
		input.src = chunk->bytes + chunk->pos;
		input.size = zstd->want > BLOCK_HEADER ? zstd->want - BLOCK_HEADER : zstd->want;
		if (input.size > left)
			input.size = left;
	}
	result = ZSTD_decompressStream(zstd->context, &output, &input);
	if (ZSTD_isError(result))
		input.pos = input.size;
	chunk->pos += input.pos;
	zstd->begun += input.pos;
	if (ZSTD_isError(result))
		return decode_failed(zstd, result, err);
	*got = output.pos;
	zstd->pending = output.pos == output.size;
	zstd->want = result;
	if (!result) {
		zstd->frames++;
		begin_frame(zstd);
	}
	return 0;
}

static int zstd_read(struct tw_source *source, char *buf, size_t len, size_t *got,
		     struct trawl_error *err)
{
	struct zstd_source *zstd = (struct zstd_source *)source;
	int status = 0;

	*got = 0;
	while (!status && !*got && !zstd->ended)
		status = read_frame(zstd, buf, len, got, err);
	return status;
}

static void zstd_close(struct tw_source *source)
{
	struct zstd_source *zstd = (struct zstd_source *)source;
	const struct trawl_allocator *allocator = source->input->allocator;

	ZSTD_freeDCtx(zstd->context);
	tw_free(allocator, zstd->chunk.bytes, TW_SOURCE_CHUNK);
	tw_free(allocator, zstd, sizeof(*zstd));
}

int tw_source_open_zstd(struct tw_source **out, struct tw_source *inner, struct trawl_error *err)
{
	static const struct tw_source_ops ops = { zstd_read, zstd_close };
	struct tw_input *input = inner->input;
	ZSTD_customMem memory = { zstd_alloc, zstd_free, (void *)input->allocator };
	struct zstd_source *zstd = tw_source_new(sizeof(*zstd), &ops, input, inner);

	if (!zstd)
		return tw_input_nomem(input, err);
	zstd->context = ZSTD_createDCtx_advanced(memory);
	zstd->chunk.bytes = tw_alloc(input->allocator, TW_SOURCE_CHUNK);
	if (!zstd->context || !zstd->chunk.bytes) {
		zstd_close(&zstd->source);
		return tw_input_nomem(input, err);
	}
	ZSTD_DCtx_setParameter(zstd->context, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	begin_frame(zstd);
	*out = &zstd->source;
	return 0;
}
