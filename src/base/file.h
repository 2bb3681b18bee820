/* A small file as a whole, and its name. */
#ifndef TW_BASE_FILE_H
#define TW_BASE_FILE_H

#include "base/str.h"
#include "trawl/error.h"

/*
 * Appends the file's bytes to `text`.  TRAWL_EIO when it cannot be read, TRAWL_ELIMIT when it has
 * more than `limit` bytes, TRAWL_ENOMEM; each names the file.
 */
int tw_file_read(const char *path, size_t limit, struct tw_str *text,
		 struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * The same of a file that was found under its name, not named by the user: a pipe or a device,
 * which may be waited for for ever, cannot be read.
 */
int tw_file_read_found(const char *path, size_t limit, struct tw_str *text,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

/* A path without the directories in front. */
const char *tw_file_name(const char *path);
bool tw_file_is_directory(const char *path);

#endif
