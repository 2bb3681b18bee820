/*
 * Readers: one per dialect of trace.  A reader fills an empty trace from a feed and counts what
 * it found odd; it knows nothing of analyses.
 */
#ifndef TW_TRACE_READER_H
#define TW_TRACE_READER_H

#include "io/feed.h"
#include "os/times.h"
#include "store/trace.h"

/* Whether a file is a database, or should be one by its name and is nothing at all. */
bool tw_is_database(const char *path);

/*
 * Kineto JSON, the format of the PyTorch profiler.  The feed is closed in any case.
 */
int tw_kineto_read(struct trawl_trace *trace, struct tw_feed *feed,
		   const struct trawl_read_options *options,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * An SQLite export of Nsight Systems, by its path.
 */
int tw_nsys_read(struct trawl_trace *trace, const char *path,
		 const struct trawl_read_options *options,
		 struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
