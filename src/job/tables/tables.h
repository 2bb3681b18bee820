/* Tables over the ranks of a job: tables.def lists them in the order of the workbook. */
#ifndef TW_JOB_TABLES_TABLES_H
#define TW_JOB_TABLES_TABLES_H

#include "job/collectives/input.h"

struct tw_ranks_table {
	struct tw_table_spec table;
	/*
	 * Fills the table; what it takes from in->allocator is given back after it. 0 or
	 * TRAWL_ENOMEM.
	 */
	int (*fill)(const struct tw_ranks_input *in, struct trawl_table *table);
	/*
	 * Instead, where the columns depend on the job: makes the table too, of `keep`; *table
	 * stays NULL when empty. The spec's columns are those that it always has.
	 */
	int (*make)(const struct tw_ranks_input *in, const struct tw_ranks_table *self,
		    const struct trawl_allocator *keep, struct trawl_table **table);
};

/* The parts of a timeline as gpu_timeline names and orders them, in nanoseconds. */
#define TW_TIMELINE_PARTS 8
extern const char *const tw_timeline_part_names[TW_TIMELINE_PARTS];
int64_t tw_timeline_part(const struct tw_timeline *timeline, size_t part);

/* The path of a rank's trace below the directory that holds all of them. */
const char *tw_rank_file_name(const struct trawl_job *job, const struct tw_rank *rank);

#define TW_RANKS_TABLE(id) extern const struct tw_ranks_table tw_ranks_table_##id;
#include "job/tables/tables.def"
#undef TW_RANKS_TABLE

#endif
