/*
 * The trials of a search for settings: trial_<N>/trial_metrics.json with overlap_ratio,
 * avg_compute_ms, avg_overlap_ms and num_iterations, each beside the config.yaml that it ran with.
 */
#ifndef TW_STUDY_SWEEP_TRIALS_H
#define TW_STUDY_SWEEP_TRIALS_H

#include "base/arena.h"
#include "text/str.h"
#include "trawl/error.h"
#include "trawl/table.h"

struct tw_trial {
	int64_t number;
	double overlap_ratio;
	double compute_ms, overlap_ms; /* NaN: not there */
	int64_t iterations;	       /* -1: not there */
};

struct tw_trials {
	const struct trawl_allocator *allocator;
	struct tw_arena arena;
	struct tw_trial *trials; /* the best first */
	size_t count, capacity;
	double mean_ratio, mean_compute_ms; /* NaN: none */
	const char **notes;		    /* lines for the user: what was left out */
	size_t note_count, note_capacity;
};

/*
 * TRAWL_EIO when the directory cannot be read, TRAWL_ENODATA when no trial is in it; the notes hold
 * also then.  _release is due in any case.
 */
int tw_trials_read(struct tw_trials *trials, const char *directory,
		   const struct trawl_allocator *allocator,
		   struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_trials_release(struct tw_trials *trials);

/* The best and worst `top`, and how they compare with a ratio of `baseline`. */
void tw_trials_text(const struct tw_trials *trials, size_t top, double baseline,
		    struct tw_str *out);
/* analysis_summary.json */
int tw_trials_write(const struct tw_trials *trials, const char *path,
		    struct trawl_error *err) TRAWL_MUST_CHECK;
/* A row a trial; NULL when out of memory. */
struct trawl_table *tw_trials_table(const struct tw_trials *trials, double baseline);

#endif
