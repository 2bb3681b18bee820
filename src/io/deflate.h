/*
 * An output file, plain or as gzip, that appears whole or not at all (io/sink.h).  gzip is one
 * member without name and time; its bytes follow from the contents alone, not from how they were
 * cut into writes.
 */
#ifndef TW_IO_DEFLATE_H
#define TW_IO_DEFLATE_H

#include "trawl/error.h"

struct tw_deflate;

/* As tw_sink_open(). `gzip`: compressed. */
int tw_deflate_open(struct tw_deflate **out, const char *path, bool gzip,
		    const struct trawl_allocator *allocator,
		    struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_deflate_write(struct tw_deflate *deflate, const char *bytes, size_t len);
/* Writes what is left, closes, renames; frees it also when it fails. */
int tw_deflate_commit(struct tw_deflate *deflate, struct trawl_error *err) TRAWL_MUST_CHECK;
/* Removes what was written and frees it; NULL allowed. */
void tw_deflate_abort(struct tw_deflate *deflate);

#endif
