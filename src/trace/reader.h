/*
 * Readers: one per dialect of trace.  A reader fills an empty trace from an input and counts what
 * it found odd; it knows nothing of analyses.  Whoever has to know what an input is asks here.
 */
#ifndef TW_TRACE_READER_H
#define TW_TRACE_READER_H

#include "io/feed.h"
#include "os/times.h"
#include "store/trace.h"
#include "text/str.h"

struct tw_reader {
	const char *name; /* of the dialect */
	bool by_process;  /* an input is of several processes, each of which may be a rank */
	const char *const *endings; /* of files that are taken from a directory, then NULL */
	bool (*is_it)(const char *path);
	int (*read)(struct trawl_trace *trace, const char *path,
		    const struct trawl_read_options *options, struct trawl_error *err);
};

/* Which reader an input is for; unknown input is left to the last one, which names its type. */
const struct tw_reader *tw_reader_of(const char *path);

/* Whether a file in a directory may be a trace, by its name; the endings, for messages. */
bool tw_reader_takes_name(const char *name);
void tw_reader_list_endings(struct tw_str *out);

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
