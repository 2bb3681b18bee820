/*
 * From what was made of traces, and reports, to the three tables of a sweep: operations whose calls
 * differ most, when their shortest and longest call ran, and what communicated meanwhile.  What is
 * asked of a rank comes from its trace where that was read, else from its reports.
 */
#ifndef TW_STUDY_VARIANCE_STEPS_H
#define TW_STUDY_VARIANCE_STEPS_H

#include "book/book.h"
#include "study/sweep/configurations.h"
#include "study/sweep/point_analysis.h"
#include "study/variance/variance.h"

#define TW_VARIANCE_TOP_K 5

#define TW_VARIANCE_STEPS (TRAWL_STEP_OVERLAP + 1)

struct tw_variance_steps {
	const struct trawl_sweep *sweep;
	const struct tw_point_analysis *points; /* some configurations or all; NULL: none was read */
	size_t point_count;
	unsigned top_k;
	double tolerance; /* a fraction of the expected time */

	struct tw_arena arena;
	struct tw_book **books; /* that tables lie in */
	size_t book_count, book_capacity;
	struct tw_collectives_slot *slots; /* by rank of all configurations in order */
	size_t slot_count;
	struct trawl_table *input;		       /* what was read of a file */
	struct trawl_table *tables[TW_VARIANCE_STEPS]; /* what the steps gave */
	struct tw_str notes;			       /* of tw_str_note(): what was left out */
	bool incomplete;			       /* something was */
};

/*
 * `points` must live until _release, which is due in any case.  They have to have the tables GEMM
 * and gemm_instances for the steps that use them (TRAWL_SWEEP_VARIANCE).
 */
void tw_variance_steps_init(struct tw_variance_steps *steps, const struct trawl_sweep *sweep,
			    const struct tw_point_analysis *points, size_t point_count);
void tw_variance_steps_release(struct tw_variance_steps *steps);

/*
 * One of the steps; it gives steps->tables[step].  `in` is the table of the step before, or a file
 * of one; NULL for the first.
 */
int tw_variance_step(struct tw_variance_steps *steps, enum trawl_variance_step step,
		     const struct trawl_table *in, struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * All three, into the files of their names in tracelens_analysis.  Without any row of operations,
 * which is noted, nothing is written.
 */
int tw_variance_steps_all(struct tw_variance_steps *steps,
			  struct trawl_error *err) TRAWL_MUST_CHECK;

/* What the name of a step's file ends in, and all of it: top<K>_gemm_..._variance<suffix>.csv */
extern const char *const tw_variance_step_suffixes[TW_VARIANCE_STEPS];
void tw_variance_step_name(unsigned top_k, enum trawl_variance_step step, struct tw_str *out);

/* The first table of a file, as far as it is of the configurations and ranks asked for: the input. */
int tw_variance_steps_read(struct tw_variance_steps *steps, const char *path,
			   const struct trawl_sweep_filter *filter,
			   struct trawl_error *err) TRAWL_MUST_CHECK;

/* What held up the GEMMs of each configuration: gemm_rows and so on of the list. */
void tw_configurations_add_gemms(const struct trawl_table *overlap, struct tw_configuration *list,
				 size_t count);

/* ---- ranks of all configurations, in order */

size_t tw_sweep_rank_count(const struct trawl_sweep *sweep);
/* Those that rows are of, *wanted of each rank; in the arena of the steps. */
int tw_variance_ranks_of_rows(struct tw_variance_steps *steps, const struct trawl_table *in,
			      bool **wanted, struct trawl_error *err) TRAWL_MUST_CHECK;
/* Those whose report is not there, or lacks the sheet GEMM, and whose trace can stand in for it. */
int tw_variance_ranks_without_report(struct tw_variance_steps *steps, bool **wanted,
				     struct trawl_error *err) TRAWL_MUST_CHECK;
/* The sweep with the wanted ranks that have traces alone; it borrows from both. */
int tw_sweep_of_ranks(const struct trawl_sweep *sweep, const bool *wanted, struct tw_arena *arena,
		      struct trawl_sweep *part, struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
