/*
 * Operations whose calls differ most in time: which ones, when their shortest and longest call ran,
 * and what communication ran at the same time.  Between the steps are sheets of text (table/csv.h),
 * so that each can go on from a file of the step before; columns that a step does not know pass
 * through it, byte for byte.
 */
#ifndef TW_SWEEP_VARIANCE_H
#define TW_SWEEP_VARIANCE_H

#include "base/arena.h"
#include "table/csv.h"
#include "table/table.h"

/* ---- which operations: rows of the sheet GEMM of each report */

struct tw_variance; /* rows as they are gathered */

/* `top_k` rows of each report, at least 1. */
struct tw_variance *tw_variance_new(size_t top_k, const struct trawl_allocator *allocator);
void tw_variance_free(struct tw_variance *variance);
/*
 * The rows of one report.  What is wrong with it (a column is not there, rows that have no times)
 * is a line in `told`, which the caller clears.  TRAWL_EFORMAT: nothing could be taken from it.
 */
int tw_variance_add(struct tw_variance *variance, int64_t threads, int64_t channels, int64_t rank,
		    const struct tw_csv *gemm, struct tw_str *told,
		    struct trawl_error *err) TRAWL_MUST_CHECK;
/* All rows, those with the largest difference first; in `arena`. */
int tw_variance_finish(struct tw_variance *variance, struct tw_arena *arena, struct tw_csv *out,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- when: the calls themselves, from the traces */

/*
 * The table gemm_instances (analysis/gemm_instances.c) of the trace of a rank, NULL: there is
 * none.  It must live until the step is done.
 */
typedef const struct trawl_table *tw_instances_fn(void *context, int64_t threads, int64_t channels,
						  int64_t rank);

/* `tolerance`: a fraction of the expected time. */
int tw_variance_timestamps(const struct tw_csv *in, tw_instances_fn *instances, void *context,
			   double tolerance, struct tw_arena *arena, struct tw_csv *out,
			   struct tw_str *told, struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- what ran at the same time: collectives of the same rank */

struct tw_sweep_collective {
	int64_t start_ns, end_ns;
	const char *name; /* "allreduce" */
};

struct tw_sweep_collectives {
	const struct tw_sweep_collective *items; /* in any order */
	size_t count;
};

/* *known false: neither traces nor reports tell. */
typedef struct tw_sweep_collectives tw_collectives_fn(void *context, int64_t threads,
						      int64_t channels, int64_t rank, bool *known);

int tw_variance_overlap(const struct tw_csv *in, tw_collectives_fn *collectives, void *context,
			struct tw_arena *arena, struct tw_csv *out, struct tw_str *told,
			struct trawl_error *err) TRAWL_MUST_CHECK;

/* What the three say together, for people: lines that end with a line feed. */
void tw_variance_digest(const struct tw_csv *overlap, unsigned width, struct tw_str *out);

#endif
