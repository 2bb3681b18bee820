/*
 * Inputs for tests of the feed, built byte by byte, and ways to read them: every input in every
 * manner gives the same text and the same notes.
 */
#ifndef TRAWL_TEST_FEED_INPUTS_H
#define TRAWL_TEST_FEED_INPUTS_H

#include "io/feed.h"

#include <stdatomic.h>

/* An allocator for several threads that counts, and can fail from the n-th allocation on. */
struct counting {
	struct trawl_allocator allocator;
	atomic_llong live, peak, allocations, fail_at; /* fail_at 0: never */
};

void counting_init(struct counting *c);

/* Growing bytes for inputs and results. */
struct bytes {
	char *ptr;
	size_t len, capacity;
};

void bytes_add(struct bytes *b, const void *ptr, size_t len);
void bytes_text(struct bytes *b, const char *text);
/* The lowest `bytes` bytes of value, lowest first. */
void bytes_le(struct bytes *b, uint64_t value, int bytes);
void bytes_drop(struct bytes *b);
/* Text that compresses as traces do, and shows when bytes are lost or doubled. */
void bytes_events(struct bytes *b, size_t count);
struct bytes sample_text(size_t events);
void bytes_utf16(struct bytes *b, const char *ascii, size_t len, bool big_endian);
/* Deflate data by ISA-L; wrapper as IGZIP_*. */
void bytes_deflated(struct bytes *b, const void *text, size_t len, uint16_t wrapper);
void bytes_gzip(struct bytes *b, const void *text, size_t len);
/* A member with every optional part in its header, its text stored. */
void bytes_gzip_with_fields(struct bytes *b, const char *text, size_t len);
void bytes_zstd(struct bytes *b, const void *text, size_t len, bool checksum, bool sized);

/* How an input is read: size of blocks, thread, bytes kept from window to window. */
struct feed_manner {
	size_t block;
	bool threaded;
	size_t keep;
};

#define FEED_MANNERS 15
extern const struct feed_manner feed_manners[FEED_MANNERS];

struct feed_outcome {
	int open_status, next_status;
	struct trawl_error err;
	struct bytes text;
	struct tw_feed_note notes[TW_FEED_NOTE_KINDS];
	int64_t first_offset;
};

/* All of an open feed, each window checked. */
void feed_drain(struct tw_feed *feed, size_t keep_wish, struct feed_outcome *o);
/* Opens, reads and closes it. */
void feed_run_with(const struct trawl_allocator *allocator, const struct bytes *input,
		   const struct feed_manner *manner, struct feed_outcome *o);
/* The same, with nothing left allocated. */
void feed_run(const struct bytes *input, const struct feed_manner *manner, struct feed_outcome *o);
/* The outcome, which is the same in every manner. */
void feed_run_all(const struct bytes *input, struct feed_outcome *o);

/* A set of kinds of notes. */
#define NOTE(kind) (1u << (kind))

void feed_check_notes(const struct feed_outcome *o, unsigned kinds);
/* Reads in every manner: this text, these kinds of notes; input and text of the outcome go. */
struct feed_outcome feed_expect(struct bytes *input, const struct bytes *text, unsigned kinds);
/* Reads in every manner: refused with this status, `part` being part of the message. */
void feed_expect_refusal(struct bytes *input, int status, const char *part);

#endif
