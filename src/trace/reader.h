/*
 * Readers: one per dialect of trace.  A reader fills an empty trace from an input and counts what
 * it found odd; it knows nothing of analyses.  Whoever has to know what an input is asks here.
 */
#ifndef TW_TRACE_READER_H
#define TW_TRACE_READER_H

#include "io/feed.h"
#include "os/times.h"
#include "store/trace.h"

struct tw_reader {
	const char *name; /* of the dialect */
	bool by_path;	  /* reads a file where it lies: no pipe, nothing compressed */
	bool by_process;  /* an input is of several processes, each of which may be a rank */
	bool (*is_it)(const char *path);
	int (*read)(struct trawl_trace *trace, const char *path,
		    const struct trawl_read_options *options, struct trawl_error *err);
};

/* Which reader an input is for; unknown input is left to the last one, which names its type. */
const struct tw_reader *tw_reader_of(const char *path);

/* Kineto JSON, the format of the PyTorch profiler, from any kind of text. */
extern const struct tw_reader tw_kineto_reader;
/* SQLite exports of Nsight Systems. */
extern const struct tw_reader tw_nsys_reader;

/* What the two read: of the first a feed, which is closed in any case. */
int tw_kineto_read(struct trawl_trace *trace, struct tw_feed *feed,
		   const struct trawl_read_options *options,
		   struct trawl_error *err) TRAWL_MUST_CHECK;
int tw_nsys_read(struct trawl_trace *trace, const char *path,
		 const struct trawl_read_options *options,
		 struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
