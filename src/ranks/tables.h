/* Tables over the ranks of a job: tables.def lists them in the order of the workbook. */
#ifndef TW_RANKS_TABLES_H
#define TW_RANKS_TABLES_H

#include "ranks/clocks.h"

struct tw_ranks_input {
	const struct tw_job *job;
	const struct tw_matches *matches; /* NULL: not asked for */
	const struct tw_clocks *clocks;
	const struct trawl_allocator *allocator;
};

struct tw_ranks_table {
	struct tw_table_spec table;
	/*
	 * Makes the table; *table stays NULL when there is nothing to say.  Its columns may depend
	 * on the job; the spec's are those that it always has. 0 or TRAWL_ENOMEM.
	 */
	int (*make)(const struct tw_ranks_input *in, const struct tw_ranks_table *self,
		    struct trawl_table **table);
};

#endif
