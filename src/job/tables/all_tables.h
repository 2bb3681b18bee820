/* All tables over ranks, as tables.def lists them, and making them. */
#ifndef TW_JOB_TABLES_ALL_TABLES_H
#define TW_JOB_TABLES_ALL_TABLES_H

#include "job/tables/tables.h"

extern const struct tw_ranks_table *const tw_ranks_tables[];
extern const size_t tw_ranks_table_count;

/* One of them, complete: *table stays NULL when empty. 0 or TRAWL_ENOMEM. */
int tw_ranks_table_make(const struct tw_ranks_input *in, const struct tw_ranks_table *self,
			struct trawl_table **table) TRAWL_MUST_CHECK;

/*
 * Makes those that are not empty: *tables has room for tw_ranks_table_count, *count is their
 * number. The tables point into the job and the matches, which must outlive them. They are to be
 * freed in any case: tw_ranks_tables_free().
 */
int tw_ranks_tables_make(const struct tw_ranks_input *in, unsigned threads,
			 struct trawl_table **tables, size_t *count,
			 struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_ranks_tables_free(struct trawl_table **tables, size_t count);
/* NULL: there is none of this name. */
const struct trawl_table *tw_ranks_tables_find(struct trawl_table *const *tables, size_t count,
					       const char *name);

/* What is known of a job once its ranks are held against each other.  It must not move. */
struct trawl_job_report {
	struct tw_matches matches;
	struct tw_clocks clocks;
	struct tw_ranks_input in;
	struct trawl_table **tables;
	size_t count, room;
};

struct tw_job_wanted {
	const struct tw_ranks_table *const *tables; /* NULL: all that are not empty */
	size_t count;
	size_t more;			    /* room for as many of another kind */
	const struct trawl_table *findings; /* as tw_ranks_input has them */
	bool of_step;
};

/* Matches collectives, measures clocks, makes tables; _release is due in any case. */
int tw_job_tables_make(struct trawl_job_report *t, const struct trawl_job *job,
		       enum trawl_align align, const struct tw_job_wanted *wanted, unsigned threads,
		       const struct trawl_allocator *allocator,
		       struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_job_tables_release(struct trawl_job_report *t);

#endif
