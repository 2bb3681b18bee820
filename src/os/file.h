/* A small file as a whole, and its name. */
#ifndef TW_OS_FILE_H
#define TW_OS_FILE_H

#include "text/str.h"
#include "trawl/error.h"

#include <sys/types.h>

/*
 * Opens what is read: a file, a device, a pipe that was opened by another (/dev/stdin, /dev/fd/N).
 * A FIFO by its name is TRAWL_EIO at once: it may be waited for for ever.
 */
int tw_file_open(const char *path, int *fd, struct trawl_error *err) TRAWL_MUST_CHECK;

/* The first bytes of a file, up to `size`; -1 of what is none, or cannot be read. */
ssize_t tw_file_read_head(const char *path, char *head, size_t size);

/*
 * Appends the bytes of a file that the user named to `text`, and notes it as an input.  TRAWL_EIO when it cannot be read, TRAWL_ELIMIT when it has
 * more than `limit` bytes, TRAWL_ENOMEM; each names the file.
 */
int tw_file_read(const char *path, size_t limit, struct tw_str *text,
		 struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * The same of a file that was found under its name, not named by the user: it is no input, and a
 * pipe or a device cannot be read.
 */
int tw_file_read_found(const char *path, size_t limit, struct tw_str *text,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

/* A path without the directories in front. */
const char *tw_file_name(const char *path);
bool tw_file_is_directory(const char *path);

#endif
