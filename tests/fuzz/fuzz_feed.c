/*
 * Any bytes as an input: the feed neither crashes nor hangs, and windows of all sizes, with and
 * without a thread, give the same text, notes and failure.  Plain text opened again from anywhere
 * is the rest of it.
 */
#include "io/feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A few bytes can stand for any amount of text. */
#define TEXT_LIMIT ((size_t)4 << 20)

/* zstd frames can ask for a window of 2 GB. */
#define BLOCK_LIMIT ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
	int status;
	char message[sizeof(((struct trawl_error *)0)->message)];
	uint64_t hash;
	size_t len;
	bool whole;
	struct tw_feed_note notes[TW_FEED_NOTE_KINDS];
};

static void *limited_realloc(void *context, void *block, size_t old_size, size_t size)
{
	(void)context;
	(void)old_size;
	return size > BLOCK_LIMIT ? NULL : realloc(block, size ? size : 1);
}

static void limited_free(void *context, void *block, size_t size)
{
	(void)context;
	(void)size;
	free(block);
}

static const struct trawl_allocator limited = { limited_realloc, limited_free, NULL };

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "windows differ: %s\n", what);
	abort();
}

static void take(struct outcome *o, const char *bytes, size_t len)
{
	size_t i;

	if (len > TEXT_LIMIT - o->len)
		len = TEXT_LIMIT - o->len;
	for (i = 0; i < len; i++)
		o->hash = (o->hash ^ (unsigned char)bytes[i]) * 0x100000001b3;
	o->len += len;
}

static void read_windows(struct tw_feed *feed, size_t keep_wish, struct outcome *o)
{
	struct trawl_error err = { 0 };
	struct tw_window w = { 0 };
	size_t keep = 0;

	do {
		o->status = tw_feed_next(feed, keep, &w, &err);
		if (o->status)
			break;
		check((size_t)(w.end - w.begin) >= keep && w.end[0] == '"' &&
			      w.end[TW_FEED_SENTINEL - 1] == '"',
		      "no window");
		take(o, w.begin + keep, (size_t)(w.end - w.begin) - keep);
		keep = (size_t)(w.end - w.begin) < keep_wish ? (size_t)(w.end - w.begin) :
							       keep_wish;
	} while (!w.last && o->len < TEXT_LIMIT);
	o->whole = o->status || w.last;
	memcpy(o->message, err.message, sizeof(o->message));
	memcpy(o->notes, tw_feed_notes(feed), sizeof(o->notes));
}

static void run(const uint8_t *data, size_t size, size_t block, size_t keep, bool threaded,
		struct outcome *o)
{
	struct tw_feed_options options = {
		.allocator = &limited,
		.block_size = block,
		.threaded = threaded,
		.end = -1,
	};
	struct trawl_error err = { 0 };
	struct tw_feed *feed;

	memset(o, 0, sizeof(*o));
	o->status = tw_feed_open_memory(&feed, data, size, &options, &err);
	if (o->status) {
		o->whole = true;
		memcpy(o->message, err.message, sizeof(o->message));
		return;
	}
	read_windows(feed, keep, o);
	tw_feed_close(feed);
}

/* Plain text again, from `start` on. */
static void run_part(const uint8_t *data, size_t size, size_t start, size_t block)
{
	struct tw_feed_options options = {
		.allocator = &limited,
		.block_size = block,
		.end = -1,
	};
	struct outcome part = { 0 }, rest = { 0 };
	struct tw_feed *feed, *again;

	if (tw_feed_open_memory(&feed, data, size, &options, NULL))
		return;
	options.start = (int64_t)start;
	if (tw_feed_is_plain(feed) && !tw_feed_open_again(&again, feed, &options, NULL)) {
		tw_feed_close(feed);
		read_windows(again, 0, &part);
		tw_feed_close(again);
		take(&rest, (const char *)data + start, size - start);
		check(part.len == rest.len && part.hash == rest.hash, "a part");
		return;
	}
	tw_feed_close(feed);
}

static void compare(const struct outcome *a, const struct outcome *b)
{
	int i;

	check(a->len == b->len, "length of the text");
	check(a->hash == b->hash, "text");
	if (!a->whole || !b->whole)
		return;
	check(a->status == b->status, "status");
	check(!strcmp(a->message, b->message), "message");
	for (i = 0; i < TW_FEED_NOTE_KINDS; i++) {
		check(a->notes[i].count == b->notes[i].count, "count of a note");
		check(!a->notes[i].count || a->notes[i].offset == b->notes[i].offset,
		      "place of a note");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t blocks[] = { 1, 7, 100, 4096, 65536 };
	static const size_t keeps[] = { 0, 3, 300, 5000, 70000 };
	/* The manner of the second reading follows from the bytes, so that findings repeat. */
	size_t choice = size ? data[size / 2] + size : 0, block = blocks[choice % 5];
	struct outcome a, b;

	run(data, size, 0, 0, false, &a);
	/* Large texts in small windows take seconds, and threads much of the time there is. */
	if (block < 4096 && a.len > 100000)
		block = 65536;
	run(data, size, block, keeps[choice / 5 % 5], choice % 16 == 3, &b);
	compare(&a, &b);
	if (size)
		run_part(data, size, choice % size, block);
	return 0;
}
