/*
 * What a trainer did in its steps, from the metrics that it writes while it runs:
 * rank_<RR>_metrics.jsonl, an object a line, with profile.ranges[] of {stream, tag, start_ms,
 * end_ms}.
 */
#ifndef TW_STUDY_SWEEP_METRICS_TIMELINE_H
#define TW_STUDY_SWEEP_METRICS_TIMELINE_H

#include "base/arena.h"
#include "data/tables.h"
#include "text/str.h"
#include "trawl/error.h"
#include "trawl/table.h"

struct tw_metrics_range {
	size_t lane; /* number of its stream */
	const char *tag;
	enum tw_metrics_category category;
	int64_t start_ns, end_ns; /* from the start of the step */
};

/* One line of the file that has ranges. */
struct tw_metrics_step {
	int64_t step;
	int64_t epoch;	    /* -1: not known */
	bool repeated;	    /* another line has the same number: told apart by the epoch */
	const char **lanes; /* streams, by their bytes */
	size_t lane_count;
	struct tw_metrics_range *ranges; /* as in the file */
	size_t count;
	int64_t total_ns;		      /* from the first start to the last end */
	int64_t compute_ns, communication_ns; /* sums over ranges */
	int64_t overlap_ns;		      /* with at least one of both at the same time */
};

struct tw_metrics_timeline {
	const struct trawl_allocator *allocator;
	struct tw_arena arena;
	struct tw_metrics_step *steps; /* as in the file */
	size_t count, capacity;
	size_t lines;  /* that could be read, of any step */
	size_t ranges; /* of the steps asked for */
	/* Lines for the user: what was left out. */
	const char **notes;
	size_t note_count, note_capacity, notes_untold;
};

/*
 * The steps from `first` on, `count` numbers.  TRAWL_EIO when the file cannot be read; broken lines
 * and ranges are left out and noted.  _release is due in any case.
 */
int tw_metrics_timeline_read(struct tw_metrics_timeline *timeline, const char *path, int64_t first,
			     int64_t count, const struct trawl_allocator *allocator,
			     struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_metrics_timeline_release(struct tw_metrics_timeline *timeline);

/* "STEP 5", and the epoch where that is needed. */
void tw_metrics_step_title(const struct tw_metrics_step *step, const char *word,
			   struct tw_str *out);

/* A character a cell of `resolution_ns`; widest is `most` cells, and a coarser one is said. */
void tw_metrics_timeline_text(const struct tw_metrics_timeline *timeline, int64_t resolution_ns,
			      struct tw_str *out);

/* A row a step; NULL when out of memory. */
struct trawl_table *tw_metrics_timeline_table(const struct tw_metrics_timeline *timeline);

#endif
