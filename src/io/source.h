/*
 * Sources: where the bytes of an input come from, as a chain.  The lowest one reads a file or
 * memory, each one above decodes the one it owns.  Sources are pulled, and never read ahead of
 * what their caller needs beyond a buffer of their own.
 */
#ifndef TW_IO_SOURCE_H
#define TW_IO_SOURCE_H

#include "io/feed.h"

#include <stdatomic.h>

/* Bytes that can be looked at before they are read: up to the mark of a tar archive. */
#define TW_SOURCE_HEAD 512

/* What decoders read from the source below in one go: stays in the second-level cache. */
#define TW_SOURCE_CHUNK ((size_t)128 << 10)

/* What all sources of one input share.  Used by one thread at a time, save the atomics. */
struct tw_input {
	const struct trawl_allocator *allocator;
	char *name; /* as messages show it: 'trace.json', standard input */
	size_t name_size;
	struct tw_feed_note notes[TW_FEED_NOTE_KINDS];
	int64_t text_offset; /* bytes of text so far, kept by who reads the topmost source */
	_Atomic int64_t bytes_read;
	atomic_bool stop; /* the reader is gone: reads fail with TRAWL_ECANCELED */
	int wake[2];	  /* a pipe that ends a blocked read; -1 when there is none */
};

struct tw_source;

struct tw_source_ops {
	/*
	 * Up to len (> 0) bytes to buf, their number to *got: fewer than asked for at any time,
	 * 0 at the end only.  A source with bytes to return does so before it reads from the one
	 * below or notes something: no failure loses them, and notes get their exact place.
	 */
	int (*read)(struct tw_source *source, char *buf, size_t len, size_t *got,
		    struct trawl_error *err);
	/* Frees what the source holds and itself, not `inner`. */
	void (*close)(struct tw_source *source);
};

/* Head of every source. */
struct tw_source {
	const struct tw_source_ops *ops;
	struct tw_input *input;
	struct tw_source *inner;   /* what it decodes; NULL for files and memory */
	bool broken;		   /* ended early because of damage, here or below */
	size_t head_len, head_pos; /* bytes looked at, and how many of them are read since */
	char head[TW_SOURCE_HEAD];
};

/* Zeroed, with its head set up; NULL when out of memory. */
void *tw_source_new(size_t size, const struct tw_source_ops *ops, struct tw_input *input,
		    struct tw_source *inner);
void tw_source_close(struct tw_source *source); /* and all below; NULL allowed */

int tw_source_read(struct tw_source *source, char *buf, size_t len, size_t *got,
		   struct trawl_error *err);
/* Fills source->head as far as there are bytes; only before the first read. */
int tw_source_peek(struct tw_source *source, struct trawl_error *err);
/* Skips the first len bytes of the look-ahead. */
void tw_source_skip(struct tw_source *source, size_t len);

void tw_input_note(struct tw_input *input, enum tw_feed_note_kind kind, int64_t count,
		   int64_t offset);
/* As tw_input_note, once, at the end of the text so far. */
void tw_input_note_here(struct tw_input *input, enum tw_feed_note_kind kind);

/* "out of memory reading NAME" */
int tw_input_nomem(struct tw_input *input, struct trawl_error *err);

/*
 * The lowest sources.  The descriptor stays the caller's.  From `start` > 0 on a file is read by
 * place, so that several can share a descriptor.  `end` < 0: to the end of the file.
 */
int tw_source_open_file(struct tw_source **out, struct tw_input *input, int fd, int64_t start,
			int64_t end, struct trawl_error *err);
int tw_source_open_memory(struct tw_source **out, struct tw_input *input, const char *bytes,
			  size_t len, struct trawl_error *err);

/* Decoders.  They own `inner` once they return 0. */
int tw_source_open_inflate(struct tw_source **out, struct tw_source *inner, bool zlib,
			   struct trawl_error *err);
int tw_source_open_zstd(struct tw_source **out, struct tw_source *inner, struct trawl_error *err);
int tw_source_open_utf16(struct tw_source **out, struct tw_source *inner, bool big_endian,
			 struct trawl_error *err);

/* The bytes of the source below, for a decoder. */
struct tw_chunk {
	char *bytes;	 /* TW_SOURCE_CHUNK of them */
	size_t pos, len; /* [pos, len) are not used yet */
	int64_t offset;	 /* of bytes[0] in what the source below gives */
	bool ended;
};

/* When no bytes are left, reads more; none left afterwards: the source below has ended. */
int tw_chunk_fill(struct tw_chunk *chunk, struct tw_source *inner, struct trawl_error *err);
/*
 * Notes everything from here on as bytes that belong to nothing (`before` bytes before here are
 * part of them) and reads to the end.
 */
int tw_chunk_trailing(struct tw_chunk *chunk, struct tw_source *inner, size_t before,
		      struct trawl_error *err);

#endif
