/*
 * Tables of the ranks' reports, summed over the ranks: a row for each key that a rank has, with
 * how many ranks have it, mean, median, min and max of what was measured over these ranks, the
 * slowest of them, and totals.  Columns say what they are of that (enum trawl_over_ranks).
 *
 * A row or a cell that a rank lacks does not count; it is not 0.  Sums, and the least, most and
 * median of integers and decimals are exact.  Time and memory are linear in the rows of all ranks.
 */
#ifndef TW_JOB_SUMS_SUMS_H
#define TW_JOB_SUMS_SUMS_H

#include "job/set/job.h"

/* Whether rows over ranks have something to stand by. */
bool tw_table_is_summed(const struct tw_table_spec *table);

/*
 * Names of the tables that can be summed, in the order of a report, `most` at most: what ranks are
 * to keep.  There are no more than analyses.
 */
size_t tw_sums_names(const char **names, size_t most);

/* What summing needs of such a table, in a table of its own; NULL when out of memory. */
struct trawl_table *tw_sums_keep(const struct trawl_table *table,
				 const struct trawl_allocator *allocator);

/*
 * The table of that name over the job's ranks, named and with keys as in a report of one.  *out
 * stays NULL when no rank has it.  It needs neither the job nor its ranks any more.  0 or
 * TRAWL_ENOMEM.
 */
int tw_sums_make(struct trawl_table **out, const struct trawl_job *job, const char *name,
		 const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* All that there are, in the same order: room for as many in `tables`, none on failure. */
int tw_sums_make_all(struct trawl_table **tables, size_t *count, const struct trawl_job *job,
		     unsigned threads, const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

#endif
