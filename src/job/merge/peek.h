/*
 * Metadata of a trace in front of its events or after them, without reading those: the
 * ranks of a merge have to be in order before the first of them is read.
 */
#ifndef TW_JOB_MERGE_PEEK_H
#define TW_JOB_MERGE_PEEK_H

#include "trawl/error.h"

struct tw_peek {
	bool is_trace;		  /* it looks like one */
	bool merged;		  /* it is what a merge has written */
	bool marked;		  /* pids have marks, as where other tools merged ranks */
	int64_t rank, world_size; /* -1: unknown */
	int64_t base_time_ns;	  /* TRAWL_TIME_NONE: not told */
	int64_t device_count;	  /* 0: not told */
};

/* The key that a merged trace has in front of its events: the version of what it is. */
#define TW_MERGED_KEY "mergedTraceVersion"
#define TW_MERGED_VERSION 1

/* 0, or why nothing can be read of it. */
int tw_peek_file(struct tw_peek *peek, const char *path, const struct trawl_allocator *allocator,
		 struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
