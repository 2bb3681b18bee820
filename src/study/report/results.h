/* What is made of a sweep, behind trawl/sweep.h: its configurations, tables, sentences and files. */
#ifndef TW_STUDY_REPORT_RESULTS_H
#define TW_STUDY_REPORT_RESULTS_H

#include "study/sweep/aggregate.h"
#include "study/sweep/configurations.h"
#include "study/variance/steps.h"

#define TW_RESULTS_MOST_TABLES 8
#define TW_RESULTS_OUTPUTS 9 /* of enum trawl_sweep_outputs */

struct trawl_sweep_results {
	const struct trawl_sweep *sweep; /* NULL: of a table alone */
	struct trawl_sweep_options options;
	struct tw_sweep_reading reading;
	struct trawl_sweep part; /* what was read of the sweep: all, or some ranks */
	struct tw_point_analysis *points;
	size_t point_count;
	struct tw_configuration *list; /* by point, NULL: none were asked for */
	struct tw_variance_steps steps;
	struct tw_aggregate aggregate;
	bool has_steps, has_aggregate;
	const struct trawl_table *step; /* what there is to say of variance, NULL: nothing */
	struct trawl_table *tables[TW_RESULTS_MOST_TABLES];
	size_t table_count;
	struct tw_str answer, text, path; /* answer: of tw_str_note() */
	size_t files[TW_RESULTS_OUTPUTS];
	bool incomplete;
};

/* NULL: out of memory.  `options` NULL: those of the sweep. */
struct trawl_sweep_results *tw_results_new(const struct trawl_sweep *sweep,
					   const struct trawl_sweep_options *options,
					   struct trawl_error *err) TRAWL_MUST_CHECK;
/* Gives them to the caller, or frees them where status says that something failed. */
int tw_results_give(struct trawl_sweep_results *results, int status,
		    struct trawl_sweep_results **out);

/* Of tw_str_note(); the notes are empty then. */
void tw_results_tell(const struct trawl_sweep_results *results, struct tw_str *notes, bool always);
void tw_results_count(struct trawl_sweep_results *results, enum trawl_sweep_outputs output,
		      size_t files);
/* The results own the table, also after a failure; NULL: there was no memory for it. */
int tw_results_add(struct trawl_sweep_results *results, struct trawl_table *table,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * Reads the traces of results->part, and tells.  An error is the first in the order of
 * configurations.
 */
int tw_results_read(struct trawl_sweep_results *results, unsigned outputs,
		    struct trawl_error *err) TRAWL_MUST_CHECK;

/* The pictures of a table, which `name` is of in messages; *points in `arena`, for statistics. */
struct tw_variance_points;
int tw_results_draw(struct trawl_sweep_results *results, const struct trawl_table *table,
		    const char *name, const char *directory, bool svg, struct tw_arena *arena,
		    struct tw_variance_points *points, struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
