/*
 * Traces that say what the graphs of ranks run.  Those of any rank are read once for all of them, one
 * of a rank by that rank alone.
 */
#ifndef TW_JOB_SET_SOURCES_H
#define TW_JOB_SET_SOURCES_H

#include "store/trace.h"
#include "text/str.h"
#include "trawl/job.h"

#include <pthread.h>

struct tw_sources {
	const struct trawl_job_source *list;
	size_t count;
	struct trawl_trace **traces; /* by source; NULL: of one rank */
	struct trawl_read_options read;
	pthread_mutex_t lock;	/* of all below, of any rank */
	struct trawl_error err; /* of any rank, what kept a source from being used */
};

/* Whether a source counts for a rank (-1: unknown): where none is of this very rank, each does. */
bool tw_source_counts(const struct trawl_job_source *list, size_t count, size_t i, int64_t rank);

/* The rank that decides which sources count: as the trace has it, else as its name has it. */
int64_t tw_rank_for_sources(const struct trawl_trace *trace, const char *path);

/*
 * A line where sources have nothing to say, or some are of ranks and none is of this one; `known`: one that
 * counts has captures.
 */
void tw_note_sources(const struct trawl_job_source *list, size_t count, int64_t rank, bool known,
		     struct tw_str *note);

/* Reads those of any rank; `read` for all.  tw_sources_end() is due in any case. */
int tw_sources_begin(struct tw_sources *s, const struct trawl_job_source *list, size_t count,
		     const struct trawl_read_options *read,
		     struct trawl_error *err) TRAWL_MUST_CHECK;
/* What was wrong with any of them. */
int tw_sources_end(struct tw_sources *s, struct trawl_error *err);

/* Adds those that count to a trace, by several threads at once.  0 or TRAWL_ENOMEM. */
int tw_sources_add(struct tw_sources *s, struct trawl_trace *trace, const char *path,
		   struct tw_str *note) TRAWL_MUST_CHECK;

#endif
