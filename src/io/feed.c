#define _GNU_SOURCE
#include "io/feed.h"
#include "base/alloc.h"
#include "io/ring.h"
#include "io/sniff.h"
#include "io/source.h"
#include "os/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_BLOCK ((size_t)1 << 20)

/* Blocks of tests are small, and so is their head room: both ways to keep bytes get used. */
#define LARGE_BLOCK ((size_t)64 << 10)
#define LARGE_HEAD_ROOM ((size_t)256 << 10)
#define SMALL_HEAD_ROOM ((size_t)4 << 10)

/* Where reads go: whole cache lines are copied faster. */
#define ALIGNMENT 64

#define COMPRESSIONS_MAX 3

/* Larger blocks gain nothing, and sizes made of a few of them cannot overflow. */
#define BLOCK_MAX ((size_t)1 << 30)

struct tw_feed {
	struct tw_input input;
	struct tw_source *source;
	struct tw_ring *ring; /* NULL: read by who asks for windows */
	int fd;		      /* -1: memory */
	const char *memory;   /* NULL: a file */
	bool owns_fd;
	bool regular;
	bool plain;
	int64_t file_size;
	size_t block_size;
	size_t head_room;
	unsigned compressions;
	const char *compression; /* the innermost so far */

	/* Of the thread that reads `source`. */
	struct trawl_error failure; /* met after bytes that had to be given first */

	/* Of the thread that asks for windows. */
	struct tw_feed_note notes[TW_FEED_NOTE_KINDS];
	struct trawl_error error; /* sticky */
	char *begin, *end;	  /* the present window, in `buffer` or a block of the ring */
	int64_t end_offset;
	bool last;
	char *buffer;
	size_t buffer_size;
};

/* Both of these end the text, so that is their place; a source below may have met it early. */
static void place_end(struct tw_input *input)
{
	if (input->notes[TW_FEED_TRUNCATED].count)
		input->notes[TW_FEED_TRUNCATED].offset = input->text_offset;
	if (input->notes[TW_FEED_CORRUPT].count)
		input->notes[TW_FEED_CORRUPT].offset = input->text_offset;
}

/* Up to len bytes of text; fewer at the end and before a failure, which comes next time. */
static int fill(struct tw_feed *feed, char *buf, size_t len, size_t *got, bool *ended,
		struct trawl_error *err)
{
	struct tw_input *input = &feed->input;
	size_t more;

	*got = 0;
	*ended = false;
	while (!feed->failure.status && *got < len) {
		if (tw_source_read(feed->source, buf + *got, len - *got, &more, &feed->failure))
			break;
		if (!more) {
			*ended = true;
			break;
		}
		*got += more;
		input->text_offset += (int64_t)more;
	}
	if (*ended)
		place_end(input);
	if (!feed->failure.status || *got)
		return 0;
	*err = feed->failure;
	return feed->failure.status;
}

static int fill_block(void *context, struct tw_ring_block *block, size_t size,
		      struct trawl_error *err)
{
	struct tw_feed *feed = context;
	int status = fill(feed, block->data, size, &block->len, &block->last, err);

	memcpy(block->notes, feed->input.notes, sizeof(block->notes));
	return status;
}

/* The next block of the ring, what is kept copied to its head room. */
static int next_in_ring(struct tw_feed *feed, size_t keep)
{
	char *data = tw_ring_next_data(feed->ring);
	struct tw_ring_block *block;
	int status;

	if (keep)
		memcpy(data - keep, feed->end - keep, keep);
	feed->begin = data - keep;
	feed->end = data;
	status = tw_ring_take(feed->ring, &block, &feed->error);
	if (status)
		return status;
	feed->end += block->len;
	feed->end_offset += (int64_t)block->len;
	feed->last = block->last;
	memcpy(feed->notes, block->notes, sizeof(feed->notes));
	return 0;
}

static char *align_up(char *ptr)
{
	return ptr + (-(uintptr_t)ptr & (ALIGNMENT - 1));
}

/*
 * Makes the kept bytes the window and room after it.  They stay in place when there is room
 * and moving them would cost about as much as reading: windows of one byte stay cheap.
 */
static int make_room(struct tw_feed *feed, size_t keep, size_t room)
{
	char *tail = keep ? feed->end - keep : feed->end, *old = feed->buffer, *to;
	size_t old_size = feed->buffer_size, need, size;
	bool inside = old && feed->end >= old && feed->end <= old + old_size;

	if (inside && keep > room / 4 &&
	    (size_t)(old + old_size - feed->end) >= room + TW_FEED_SENTINEL) {
		feed->begin = tail;
		return 0;
	}
	if (__builtin_add_overflow(keep, room + TW_FEED_SENTINEL + ALIGNMENT, &need))
		return tw_input_nomem(&feed->input, &feed->error);
	if (need > old_size) {
		size = feed->head_room + room;
		size = size > 2 * old_size ? size : 2 * old_size;
		size = size > need ? size : need;
		feed->buffer = tw_alloc(feed->input.allocator, size);
		if (!feed->buffer) {
			feed->buffer = old;
			return tw_input_nomem(&feed->input, &feed->error);
		}
		feed->buffer_size = size;
	}
	to = align_up(feed->buffer + keep) - keep;
	if (keep)
		memmove(to, tail, keep);
	if (feed->buffer != old)
		tw_free(feed->input.allocator, old, old_size);
	feed->begin = to;
	feed->end = to + keep;
	return 0;
}

/* Text to the end of the window: `want` bytes, or a block of the ring. */
static int append(struct tw_feed *feed, size_t want, size_t *got)
{
	struct tw_ring_block *block;
	int status;

	if (!feed->ring) {
		status = fill(feed, feed->end, want, got, &feed->last, &feed->error);
		memcpy(feed->notes, feed->input.notes, sizeof(feed->notes));
	} else {
		status = tw_ring_take(feed->ring, &block, &feed->error);
		if (!status) {
			memcpy(feed->end, block->data, block->len);
			memcpy(feed->notes, block->notes, sizeof(feed->notes));
			*got = block->len;
			feed->last = block->last;
		}
	}
	if (status)
		return status;
	feed->end += *got;
	feed->end_offset += (int64_t)*got;
	return 0;
}

/*
 * The window in a buffer of its own.  Much kept means an event longer than a window: each time
 * it is scanned again from its beginning, so windows then double instead of growing by a block.
 */
static int next_in_buffer(struct tw_feed *feed, size_t keep)
{
	bool long_event = keep > SMALL_HEAD_ROOM && keep / 16 > feed->block_size;
	size_t want = long_event ? keep : feed->block_size, total = 0, got;
	int status = make_room(feed, keep, want + (feed->ring ? feed->block_size : 0));

	while (!status && total < want && !feed->last) {
		status = append(feed, want - total, &got);
		if (!status)
			total += got;
	}
	/* What came before the failure is given first; it stays in feed->error. */
	return total ? 0 : status;
}

int tw_feed_next(struct tw_feed *feed, size_t keep, struct tw_window *window,
		 struct trawl_error *err)
{
	int status = 0;

	assert(keep <= (size_t)(feed->end - feed->begin));
	if (feed->error.status) {
		if (err)
			*err = feed->error;
		return feed->error.status;
	}
	if (feed->last)
		feed->begin = feed->end - keep;
	else if (feed->ring && keep <= feed->head_room)
		status = next_in_ring(feed, keep);
	else
		status = next_in_buffer(feed, keep);
	if (status) {
		if (err)
			*err = feed->error;
		return status;
	}
	memset(feed->end, '"', TW_FEED_SENTINEL);
	window->begin = feed->begin;
	window->end = feed->end;
	window->offset = feed->end_offset - (feed->end - feed->begin);
	window->last = feed->last;
	return 0;
}

static int not_text(const struct tw_feed *feed, const struct tw_sniff *sniff,
		    struct trawl_error *err)
{
	if (!feed->compressions)
		return trawl_error_set(err, TRAWL_EFORMAT, "%s is %s%s", feed->input.name,
				       sniff->name, sniff->remedy);
	return trawl_error_set(err, TRAWL_EFORMAT, "%s is %s inside %s%s", feed->input.name,
			       sniff->name, feed->compression, sniff->remedy);
}

/* A source that decodes what the present one gives. */
static int add_source(struct tw_feed *feed, const struct tw_sniff *sniff, struct trawl_error *err)
{
	struct tw_source *inner = feed->source;

	switch (sniff->kind) {
	case TW_SNIFF_GZIP:
	case TW_SNIFF_ZLIB:
		return tw_source_open_inflate(&feed->source, inner, sniff->kind == TW_SNIFF_ZLIB,
					      err);
	case TW_SNIFF_ZSTD:
		return tw_source_open_zstd(&feed->source, inner, err);
	default:
		return tw_source_open_utf16(&feed->source, inner, sniff->kind == TW_SNIFF_UTF16_BE,
					    err);
	}
}

static int add_decompressor(struct tw_feed *feed, const struct tw_sniff *sniff,
			    struct trawl_error *err)
{
	struct tw_input *input = &feed->input;
	int status;

	if (feed->compressions == COMPRESSIONS_MAX)
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "%s is compressed more than %d times (%s inside %s): "
				       "decompress it first",
				       input->name, COMPRESSIONS_MAX, sniff->name,
				       feed->compression);
	status = add_source(feed, sniff, err);
	if (status)
		return status;
	/* Notes so far have their place in what turned out not to be the text. */
	input->text_offset = 0;
	input->notes[TW_FEED_CHECKSUM].offset = 0;
	if (sniff->kind == TW_SNIFF_ZLIB)
		tw_input_note(input, TW_FEED_ZLIB, 1, 0);
	if (feed->compressions++)
		tw_input_note(input, TW_FEED_NESTED, 1, 0);
	feed->compression = sniff->name;
	return 0;
}

/* The text begins in the present source, after a byte order mark maybe. */
static int begin_text(struct tw_feed *feed, const struct tw_sniff *sniff, struct trawl_error *err)
{
	struct tw_input *input = &feed->input;
	int status = 0;

	/* Standard input has one place for all who read it. */
	feed->plain = (feed->memory || (feed->regular && feed->owns_fd)) && !feed->compressions;
	tw_source_skip(feed->source, sniff->mark);
	input->text_offset = 0;
	if (sniff->kind == TW_SNIFF_UTF8_MARK) {
		/* Offsets in the text are those in the file all the same. */
		input->text_offset = (int64_t)sniff->mark;
		tw_input_note(input, TW_FEED_BOM, 1, 0);
	} else if (sniff->kind != TW_SNIFF_TEXT) {
		feed->plain = false;
		tw_input_note(input, TW_FEED_UTF16, 1, 0);
		status = add_source(feed, sniff, err);
	}
	feed->end_offset = input->text_offset;
	return status;
}

static int nothing_left(const struct tw_feed *feed, struct trawl_error *err)
{
	bool damaged = feed->input.notes[TW_FEED_CORRUPT].count > 0;

	return trawl_error_set(err, TRAWL_EFORMAT,
			       "%s is a %s %s file: no data can be decompressed", feed->input.name,
			       damaged ? "damaged" : "truncated", feed->compression);
}

/* Puts sources on the lowest one until text comes out. */
static int find_text(struct tw_feed *feed, struct trawl_error *err)
{
	for (;;) {
		struct tw_source *source = feed->source;
		struct tw_sniff sniff;
		int status = tw_source_peek(source, err);

		if (status)
			return status;
		if (!source->head_len && !feed->compressions)
			return trawl_error_set(err, TRAWL_EFORMAT,
					       "%s is empty (the profiler wrote no data)",
					       feed->input.name);
		if (!source->head_len && source->broken)
			return nothing_left(feed, err);
		sniff = tw_sniff(source->head, source->head_len);
		switch (sniff.kind) {
		case TW_SNIFF_GZIP:
		case TW_SNIFF_ZLIB:
		case TW_SNIFF_ZSTD:
			status = add_decompressor(feed, &sniff, err);
			if (status)
				return status;
			break;
		case TW_SNIFF_DATABASE:
		case TW_SNIFF_OTHER:
			return not_text(feed, &sniff, err);
		default:
			return begin_text(feed, &sniff, err);
		}
	}
}

/* Bytes [start, end) of the file, or of the memory. */
static int open_part(struct tw_feed *feed, int64_t start, int64_t end, struct trawl_error *err)
{
	struct tw_input *input = &feed->input;

	input->text_offset = start;
	feed->end_offset = start;
	if (feed->memory) {
		if (end < 0 || end > feed->file_size)
			end = feed->file_size;
		return tw_source_open_memory(&feed->source, input, feed->memory + start,
					     (size_t)(end > start ? end - start : 0), err);
	}
	return tw_source_open_file(&feed->source, input, feed->fd, start, end, err);
}

/* The same, once it is known that they are text. */
static int reopen_part(struct tw_feed *feed, int64_t start, int64_t end, struct trawl_error *err)
{
	if (!feed->plain)
		return trawl_error_set(err, TRAWL_EUSAGE,
				       "%s is not a regular plain text file: it cannot be read in "
				       "parts",
				       feed->input.name);
	if (!start)
		return 0;
	tw_source_close(feed->source);
	feed->source = NULL;
	atomic_store(&feed->input.bytes_read, 0);
	return open_part(feed, start, end, err);
}

/* A thread is for speed: without one the caller's decompresses. */
static int start_thread(struct tw_feed *feed, struct trawl_error *err)
{
	struct tw_input *input = &feed->input;
	int status;

	/* A read from a pipe may last for ever; close has to be able to end it. */
	if (feed->fd >= 0 && !feed->regular && pipe2(input->wake, O_CLOEXEC)) {
		input->wake[0] = input->wake[1] = -1;
		return 0;
	}
	status = tw_ring_start(&feed->ring, input->allocator, feed->block_size, feed->head_room,
			       fill_block, feed, err);
	return status == TRAWL_ELIMIT ? 0 : status;
}

/* path NULL: no file, and `what` names the input. */
static int feed_new(struct tw_feed **out, const char *path, const char *what,
		    const struct tw_feed_options *options, struct trawl_error *err)
{
	struct tw_feed *feed = tw_alloc(options->allocator, sizeof(*feed));
	size_t name_size = strlen(path ? path : what) + sizeof("''");
	struct tw_input *input;

	if (!feed)
		return tw_no_memory(err);
	memset(feed, 0, sizeof(*feed));
	feed->fd = -1;
	feed->file_size = -1;
	feed->block_size = options->block_size ? options->block_size : DEFAULT_BLOCK;
	if (feed->block_size > BLOCK_MAX)
		feed->block_size = BLOCK_MAX;
	feed->head_room = feed->block_size < LARGE_BLOCK ? SMALL_HEAD_ROOM : LARGE_HEAD_ROOM;
	input = &feed->input;
	input->allocator = options->allocator;
	input->wake[0] = input->wake[1] = -1;
	input->name = tw_alloc(options->allocator, name_size);
	if (!input->name) {
		tw_feed_close(feed);
		return tw_no_memory(err);
	}
	input->name_size = name_size;
	snprintf(input->name, name_size, path ? "'%s'" : "%s", path ? path : what);
	*out = feed;
	return 0;
}

static int open_file(struct tw_feed *feed, const char *path, struct trawl_error *err)
{
	const char *name = feed->input.name;
	struct stat st;

	feed->owns_fd = strcmp(path, "-") != 0;
	feed->fd = STDIN_FILENO;
	if (feed->owns_fd) {
		int status = tw_file_open(path, &feed->fd, err);

		if (status)
			return status;
	}
	if (fstat(feed->fd, &st))
		return trawl_error_set(err, TRAWL_EIO, "cannot open %s: %s", name, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return trawl_error_set(err, TRAWL_EIO, "%s is a directory", name);
	feed->regular = S_ISREG(st.st_mode);
	if (feed->regular) {
		feed->file_size = (int64_t)st.st_size;
		posix_fadvise(feed->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	}
	return 0;
}

/* What is the same for files and memory, with the lowest source there. */
static int open_rest(struct tw_feed *feed, const struct tw_feed_options *options,
		     struct trawl_error *err)
{
	int64_t end = options->end > 0 ? options->end : -1;
	int status = find_text(feed, err);

	if (!status && (options->start > 0 || end > 0))
		status = reopen_part(feed, options->start, end, err);
	if (!status && options->threaded && feed->source->inner)
		status = start_thread(feed, err);
	return status;
}

int tw_feed_open(struct tw_feed **out, const char *path, const struct tw_feed_options *options,
		 struct trawl_error *err)
{
	bool is_stdin = !strcmp(path, "-");
	int64_t first_end = options->start <= 0 && options->end > 0 ? options->end : -1;
	struct tw_feed *feed = NULL;
	int status = feed_new(&feed, is_stdin ? NULL : path, "standard input", options, err);

	if (status)
		return status;
	status = open_file(feed, path, err);
	if (!status)
		status = tw_source_open_file(&feed->source, &feed->input, feed->fd, 0, first_end,
					     err);
	if (!status)
		status = open_rest(feed, options, err);
	if (status) {
		tw_feed_close(feed);
		return status;
	}
	*out = feed;
	return 0;
}

int tw_feed_open_again(struct tw_feed **out, const struct tw_feed *feed,
		       const struct tw_feed_options *options, struct trawl_error *err)
{
	struct tw_feed *again = NULL;
	int status;

	assert(feed->plain);
	status = feed_new(&again, NULL, feed->input.name, options, err);
	if (status)
		return status;
	again->plain = true;
	again->memory = feed->memory;
	again->file_size = feed->file_size;
	/* What was odd at the beginning is odd about the part that ends the reading, too. */
	memcpy(again->input.notes, feed->input.notes, sizeof(again->input.notes));
	again->owns_fd = again->regular = !feed->memory;
	if (!feed->memory)
		again->fd = fcntl(feed->fd, F_DUPFD_CLOEXEC, 0);
	if (!feed->memory && again->fd < 0)
		status = trawl_error_set(err, TRAWL_EIO, "cannot open %s again: %s",
					 feed->input.name, strerror(errno));
	if (!status)
		status =
			open_part(again, options->start, options->end > 0 ? options->end : -1, err);
	if (status) {
		tw_feed_close(again);
		return status;
	}
	*out = again;
	return 0;
}

int tw_feed_open_memory(struct tw_feed **out, const void *bytes, size_t len,
			const struct tw_feed_options *options, struct trawl_error *err)
{
	struct tw_feed *feed = NULL;
	int status = feed_new(&feed, NULL, "the input", options, err);

	if (status)
		return status;
	feed->memory = bytes;
	feed->file_size = (int64_t)len;
	status = tw_source_open_memory(&feed->source, &feed->input, bytes, len, err);
	if (!status)
		status = open_rest(feed, options, err);
	if (status) {
		tw_feed_close(feed);
		return status;
	}
	*out = feed;
	return 0;
}

static void stop_thread(struct tw_feed *feed)
{
	struct tw_input *input = &feed->input;

	atomic_store(&input->stop, true);
	/* The pipe is empty and never full: this cannot block, and fails only with the process. */
	while (input->wake[1] >= 0 && write(input->wake[1], "", 1) < 0 && errno == EINTR)
		;
	tw_ring_stop(feed->ring);
}

void tw_feed_close(struct tw_feed *feed)
{
	const struct trawl_allocator *allocator;

	if (!feed)
		return;
	if (feed->ring)
		stop_thread(feed);
	allocator = feed->input.allocator;
	tw_source_close(feed->source);
	tw_free(allocator, feed->buffer, feed->buffer_size);
	if (feed->input.wake[0] >= 0) {
		close(feed->input.wake[0]);
		close(feed->input.wake[1]);
	}
	if (feed->owns_fd && feed->fd >= 0)
		close(feed->fd);
	tw_free(allocator, feed->input.name, feed->input.name_size);
	tw_free(allocator, feed, sizeof(*feed));
}

const struct tw_feed_note *tw_feed_notes(const struct tw_feed *feed)
{
	return feed->notes;
}

int64_t tw_feed_file_size(const struct tw_feed *feed)
{
	return feed->file_size;
}

int64_t tw_feed_bytes_read(const struct tw_feed *feed)
{
	return atomic_load_explicit(&feed->input.bytes_read, memory_order_relaxed);
}

bool tw_feed_is_plain(const struct tw_feed *feed)
{
	return feed->plain;
}
