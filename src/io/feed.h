/*
 * Feed: the text of an input, whatever it is wrapped in, as windows for a streaming parser.
 *
 * The kind is found from the first bytes, never from the name: plain text, gzip (several
 * members, also split anywhere; bytes after the last one), zlib, zstd (several frames,
 * skippable ones), any of these inside another (up to 3 deep), a UTF-8 byte order mark
 * (dropped), UTF-16 with a mark (converted).  Decompression runs in a thread of its own.  What is
 * odd about the wrapping is a note, not an error, as long as text comes out.
 *
 * Memory is a few blocks of 1 MB whatever the size of the input; a window grows only when the
 * parser keeps more than fits (one event larger than the block).
 */
#ifndef TW_IO_FEED_H
#define TW_IO_FEED_H

#include "trawl/error.h"

/* Bytes of '"' after every window: a scan for the end of a string stops without a bound check. */
#define TW_FEED_SENTINEL 64

enum tw_feed_note_kind {
	TW_FEED_TRUNCATED, /* the compressed stream ends early; what came out is kept */
	TW_FEED_CORRUPT,   /* undecodable from here on; what came out before is kept */
	TW_FEED_CHECKSUM,  /* a member's checksum or length does not match its data */
	TW_FEED_TRAILING,  /* bytes after the last member that are no member; padding of zeros
				 * is not worth a note */
	TW_FEED_NESTED,	   /* compressed more than once */
	TW_FEED_ZLIB,	   /* zlib wrapper where gzip is usual */
	TW_FEED_UTF16,	   /* UTF-16, converted */
	TW_FEED_BOM,	   /* UTF-8 byte order mark, dropped */
	TW_FEED_NOTE_KINDS
};

struct tw_feed_note {
	int64_t count;	/* times seen; TRAILING: bytes */
	int64_t offset; /* first place: byte of the file for TRAILING, else of the text */
};

struct tw_feed_options {
	const struct trawl_allocator *allocator;
	size_t block_size;  /* 0: 1 MB; tests use 1, 7, 4096 */
	bool threaded;	    /* decompress in a thread of its own */
	int64_t start, end; /* plain text only: bytes [start, end) of it; end <= 0: to its end */
};

struct tw_window {
	char *begin; /* kept bytes first; writable, TW_FEED_SENTINEL bytes of '"' at end */
	char *end;
	int64_t offset; /* of *begin in the (decompressed) text */
	bool last;	/* the text ends at `end` */
};

struct tw_feed;

/*
 * path "-" is standard input.  Errors: cannot open, a directory (TRAWL_EIO); empty file, SQLite
 * or another known kind that is no text (named, with what to do), nothing at all to decompress
 * (TRAWL_EFORMAT); a part of something that is not plain text (TRAWL_EUSAGE).  Messages name the
 * input.
 */
int tw_feed_open(struct tw_feed **out, const char *path, const struct tw_feed_options *options,
		 struct trawl_error *err) TRAWL_MUST_CHECK;

/* The same of len bytes in memory, which must stay there until tw_feed_close. */
int tw_feed_open_memory(struct tw_feed **out, const void *bytes, size_t len,
			const struct tw_feed_options *options,
			struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * Another feed of the same file or memory, which has to be plain, from options->start on.  It is the file
 * that was opened, also when another has taken its name since.  Both may be read at the same time,
 * and closed in any order.
 */
int tw_feed_open_again(struct tw_feed **out, const struct tw_feed *feed,
		       const struct tw_feed_options *options,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * The next window, beginning with the last `keep` bytes of the one before (0 at first).  The
 * window before becomes invalid.  After a window with `last`, asking again gives an empty rest:
 * the kept bytes alone.  A window is a block longer than what was kept, or more when much was
 * kept, so that one long event costs linear time; only the last one may be shorter, even empty.
 * What can be read before a failure is given first; failures (TRAWL_EIO with the byte of the
 * file, TRAWL_ENOMEM, TRAWL_ELIMIT) come again when asked again.
 */
int tw_feed_next(struct tw_feed *feed, size_t keep, struct tw_window *window,
		 struct trawl_error *err) TRAWL_MUST_CHECK;

void tw_feed_close(struct tw_feed *feed);

/* TW_FEED_NOTE_KINDS of them: what was seen up to the present window. */
const struct tw_feed_note *tw_feed_notes(const struct tw_feed *feed);
/* Bytes on disk, or in memory; -1 when it is not a regular file. */
int64_t tw_feed_file_size(const struct tw_feed *feed);
/* Bytes of the file read so far, for progress. */
int64_t tw_feed_bytes_read(const struct tw_feed *feed);
/*
 * A regular file of plain UTF-8 text, not standard input, or such text in memory: may be read in
 * parts.
 */
bool tw_feed_is_plain(const struct tw_feed *feed);

#endif
