/*
 * Output files that appear whole or not at all: written beside their place as
 * ".NAME.trawl-HOST-PROCESS-XXXXXX" and renamed by _commit.  Errors are sticky; _finish and _commit
 * report the first, in one line that names the file.
 *
 * An existing file is replaced and keeps its permissions; a symbolic link stays, the file it
 * leads to is replaced.  A device, FIFO or socket is written in place: there is nothing to
 * rename.  A directory, or a file without write permission, is refused at once, and so is a file
 * that is one of the inputs (os/inputs.h): TRAWL_EUSAGE.
 */
#ifndef TW_IO_SINK_H
#define TW_IO_SINK_H

#include "trawl/error.h"

struct tw_str;
struct tw_sink;

/* Whether `path` may be an output as far as the inputs are known: 0, else TRAWL_EUSAGE. */
int tw_sink_check(const char *path, struct trawl_error *err) TRAWL_MUST_CHECK;

/* Missing directories of `path` are created. */
int tw_sink_open(struct tw_sink **out, const char *path, const struct trawl_allocator *allocator,
		 struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_sink_write(struct tw_sink *sink, const char *bytes, size_t len);
/*
 * Flushes and closes the temporary file and gives its memory back, so that whatever can go wrong
 * with the contents of several files is known before the first of them is renamed.  Optional.
 */
int tw_sink_finish(struct tw_sink *sink, struct trawl_error *err) TRAWL_MUST_CHECK;
/* Flushes, closes, renames; frees the sink also when it fails. */
int tw_sink_commit(struct tw_sink *sink, struct trawl_error *err) TRAWL_MUST_CHECK;
/* Removes what was written and frees the sink; NULL allowed. */
void tw_sink_abort(struct tw_sink *sink);

/* All of it: a file with that text.  TRAWL_ENOMEM also for a text that failed. */
int tw_sink_write_text(const char *path, const struct tw_str *text,
		       const struct trawl_allocator *allocator,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * A place for a file that a library writes by itself: gives the temporary name to write to
 * (owned by the sink).  _commit renames it.
 */
int tw_sink_open_path(struct tw_sink **out, const char *path,
		      const struct trawl_allocator *allocator,
		      struct trawl_error *err) TRAWL_MUST_CHECK;
const char *tw_sink_temporary(const struct tw_sink *sink);

/* Creates `path` and its parents; those that exist are left as they are. */
int tw_make_directories(const char *path, struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * Removes the temporary files of every sink that is open: for a signal handler, so only unlink().
 * For a process that is about to end: from then on sinks fail with TRAWL_ECANCELED.
 */
void tw_sink_unlink_open(void);

#endif
