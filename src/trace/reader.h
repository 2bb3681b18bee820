/*
 * Readers: one per dialect of trace.  A reader fills an empty trace from a feed and counts what
 * it found odd; it knows nothing of analyses.
 */
#ifndef TW_TRACE_READER_H
#define TW_TRACE_READER_H

#include "io/feed.h"
#include "store/trace.h"

/*
 * Kineto JSON, the format of the PyTorch profiler.  `path` serves to open further parts; the feed
 * is closed in any case.
 */
int tw_kineto_read(struct trawl_trace *trace, struct tw_feed *feed, const char *path,
		   const struct trawl_read_options *options,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
