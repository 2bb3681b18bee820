/*
 * Operations whose calls differ most in time: which ones, when their shortest and longest call ran,
 * and what communication ran at the same time.  Between the steps are tables, so that each can go on
 * from a file of the step before (tw_csv_table()); columns that a step does not know pass through it,
 * byte for byte.
 */
#ifndef TW_STUDY_VARIANCE_VARIANCE_H
#define TW_STUDY_VARIANCE_VARIANCE_H

#include "base/arena.h"
#include "job/set/job.h"
#include "table/table.h"
#include "text/str.h"

/* ---- the columns of all steps, in the order of their files */

enum tw_variance_column {
	/* Of the first step; between DIFF and KERNEL_TOTAL stand those of the report, "col_...". */
	TW_VARIANCE_THREADS,
	TW_VARIANCE_CHANNEL,
	TW_VARIANCE_RANK,
	TW_VARIANCE_KERNEL,
	TW_VARIANCE_MIN,
	TW_VARIANCE_MAX,
	TW_VARIANCE_DIFF,
	TW_VARIANCE_KERNEL_TOTAL,
	TW_VARIANCE_KERNEL_COUNT,
	TW_VARIANCE_KERNEL_NAMES,
	/* Of the second. */
	TW_VARIANCE_MIN_TS,
	TW_VARIANCE_MAX_TS,
	TW_VARIANCE_BETWEEN,
	TW_VARIANCE_MIN_FOUND,
	TW_VARIANCE_MAX_FOUND,
	TW_VARIANCE_STATUS,
	TW_VARIANCE_MATCHED_BY,
	TW_VARIANCE_MAIN,
	TW_VARIANCE_MIN_TIME,
	TW_VARIANCE_MAX_TIME,
	TW_VARIANCE_MIN_START,
	TW_VARIANCE_MIN_END,
	TW_VARIANCE_MAX_START,
	TW_VARIANCE_MAX_END,
	TW_VARIANCE_MIN_EVENT,
	TW_VARIANCE_MAX_EVENT,
	/* Of the third. */
	TW_VARIANCE_COUNT,
	TW_VARIANCE_NAMES,
	TW_VARIANCE_MOST,
	TW_VARIANCE_MOST_NAME,
	TW_VARIANCE_TOTAL,
	TW_VARIANCE_TOTAL_PERCENT,
	TW_VARIANCE_SPAN,
	TW_VARIANCE_COLUMNS
};

/* Times in ms are texts: files have all their digits. */
extern const struct trawl_column tw_variance_columns[TW_VARIANCE_COLUMNS];
/* Where a table has it; its number of columns: nowhere. */
size_t tw_variance_at(const struct trawl_table *table, enum tw_variance_column column);
double tw_variance_number(const struct trawl_table *table, size_t row,
			  enum tw_variance_column column);

/* What names columns of a report's table. */
#define TW_VARIANCE_PREFIX "col_"

/* ---- which operations: rows of the sheet GEMM of each report */

struct tw_variance; /* rows as they are gathered */

/* `top_k` rows of each report, at least 1. */
struct tw_variance *tw_variance_new(size_t top_k, const struct trawl_allocator *allocator);
void tw_variance_free(struct tw_variance *variance);
/*
 * The rows of one report, whose table must last until _finish.  `instances` is its table
 * gemm_instances, NULL: it has none; the shortest time of a row with calls whose GPU work was not
 * recorded comes from there.  Rows that have no times or name no kernel are left out: a line for each
 * kind in `told`, which the caller clears, but none for calls without GPU work.  TRAWL_EFORMAT: a
 * column is not there, so nothing could be taken from it.
 */
int tw_variance_add(struct tw_variance *variance, int64_t threads, int64_t channels, int64_t rank,
		    const struct trawl_table *gemm, const struct trawl_table *instances,
		    struct tw_str *told, struct trawl_error *err) TRAWL_MUST_CHECK;
/*
 * All rows, those with the largest difference first, of equals in the order in which reports were
 * added.  kernel_name is the kernel with the most time of its row.  The table is the caller's to
 * free, as those of other steps, and depends on nothing.
 */
int tw_variance_finish(struct tw_variance *variance, struct trawl_table **out,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- when: the calls themselves, from the traces */

/*
 * The table gemm_instances or kernel_instances of the trace of a rank (analysis/), NULL: there is
 * none.  It must live until the step is done.
 */
typedef const struct trawl_table *tw_instances_fn(void *context, int64_t threads, int64_t channels,
						  int64_t rank, const char *name);

/*
 * `tolerance`: a fraction of the expected time.  Behind the columns of `in` stand when the main kernel of the shortest and of the longest call ran,
 * in ms, and how long it took; then match_status, which says how well the calls' times are those
 * of `in` (exact: but for the rounding of doubles; within_tol; nearest; none: no such operation),
 * matched_by (operation, or kernel: by its exact name), and the calls themselves; of kernels without
 * an operation those runs whose durations are nearest.  Rows that find nothing are told.  TRAWL_EFORMAT: `in` is no file of step 1.
 */
int tw_variance_timestamps(const struct trawl_table *in, tw_instances_fn *instances, void *context,
			   double tolerance, const struct trawl_allocator *allocator,
			   struct trawl_table **out, struct tw_str *told,
			   struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- what ran at the same time: collectives of the same rank */

struct tw_sweep_collective {
	int64_t start_ns, end_ns;
	const char *name; /* "allreduce" */
};

struct tw_sweep_collectives {
	const struct tw_sweep_collective *items; /* in any order */
	size_t count;
};

/* Those of a rank that was reduced from its trace; names are borrowed from it. */
int tw_sweep_collectives_of_rank(const struct tw_rank *rank, struct tw_arena *arena,
				 struct tw_sweep_collectives *out,
				 struct trawl_error *err) TRAWL_MUST_CHECK;
/*
 * Those of a rank by the table nccl_long of a collective report; *without_times of them have none
 * and are left out.  TRAWL_EFORMAT: a column is not there.
 */
int tw_sweep_collectives_of_table(const struct trawl_table *nccl_long, int64_t rank,
				  struct tw_arena *arena, struct tw_sweep_collectives *out,
				  size_t *without_times, struct trawl_error *err) TRAWL_MUST_CHECK;

/* *known false: neither traces nor reports tell. */
typedef struct tw_sweep_collectives tw_collectives_fn(void *context, int64_t threads,
						      int64_t channels, int64_t rank, bool *known);

/*
 * Of the longest call of a row, from its first start to its last end (of files without those, of
 * its kernel): how many collectives run meanwhile, their names in order of start with `;` between
 * them, the largest part one of them covers and which, and what all of them cover together.  Cells
 * of rows whose times or collectives are not known are empty, and told.
 */
int tw_variance_overlap(const struct trawl_table *in, tw_collectives_fn *collectives, void *context,
			const struct trawl_allocator *allocator, struct trawl_table **out,
			struct tw_str *told, struct trawl_error *err) TRAWL_MUST_CHECK;

/* Which configuration and rank a row of any step is of; false: it does not say. */
bool tw_variance_point(const struct trawl_table *in, size_t row, int64_t *threads,
		       int64_t *channels, int64_t *rank);

/*
 * A table of any step as the table gemm_variance, for printing: the same columns whatever the step,
 * without those of the report; the caller's to free.  NULL when out of memory.
 */
struct trawl_table *tw_variance_table(const struct trawl_table *step,
				      const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* Rows whose match_status is that. */
size_t tw_variance_matched(const struct trawl_table *step, const char *status);

/* Whether a row's longest call was blocked by communication (ladder gemm_overlap). */
bool tw_variance_is_blocked(const struct trawl_table *step, size_t row);

/* What a table of any step says, for people: lines that end with a line feed. */
void tw_variance_digest(const struct trawl_table *step, unsigned width, struct tw_str *out);

#endif
