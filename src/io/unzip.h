/*
 * Reads a zip archive from a seekable file, entry by entry, as a stream of bytes.  Stored and
 * deflated entries; lengths and checksums are checked.  No encryption, no parts, no ZIP64.
 */
#ifndef TW_IO_UNZIP_H
#define TW_IO_UNZIP_H

#include "trawl/error.h"

/*
 * Called with each piece of an entry in turn, at least once; `last` with its last, which may be
 * empty.  Returns 0, or a status (with *err filled) that ends the reading.
 */
typedef int tw_unzip_fn(void *context, const char *name, const char *bytes, size_t len, bool last,
			struct trawl_error *err);

/* All entries, in the order of the archive's directory.  TRAWL_EFORMAT when it is damaged. */
int tw_unzip(int fd, tw_unzip_fn *each, void *context, const struct trawl_allocator *allocator,
	     struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
