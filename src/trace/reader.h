/*
 * Readers: one per dialect of trace.  A reader fills an empty trace from a feed and counts what
 * it found odd; it knows nothing of analyses.
 */
#ifndef TW_TRACE_READER_H
#define TW_TRACE_READER_H

#include "io/feed.h"
#include "store/trace.h"

/* A longer duration is a corrupt record: profilers write INT64 limits for calls that never ended. */
#define TW_LONGEST_DURATION_NS ((int64_t)7 * 86400 * 1000000000)
/* Room that sums and differences of two times need. */
#define TW_LATEST_TIME_NS (INT64_MAX / 4)

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
