/* All tables over ranks, as tables.def lists them, and making them. */
#ifndef TW_JOB_TABLES_ALL_TABLES_H
#define TW_JOB_TABLES_ALL_TABLES_H

#include "job/tables/tables.h"

extern const struct tw_ranks_table *const tw_ranks_tables[];
extern const size_t tw_ranks_table_count;

/* One of them, whole: *table stays NULL when there is nothing to say.  0 or TRAWL_ENOMEM. */
int tw_ranks_table_make(const struct tw_ranks_input *in, const struct tw_ranks_table *self,
			struct trawl_table **table) TRAWL_MUST_CHECK;

/*
 * Makes those that have something to say: *tables has room for tw_ranks_table_count, and *count of
 * it are there.  The tables point into the job and the matches, which must outlive them.  They
 * are to be freed in any case: tw_ranks_tables_free().
 */
int tw_ranks_tables_make(const struct tw_ranks_input *in, unsigned threads,
			 struct trawl_table **tables, size_t *count,
			 struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_ranks_tables_free(struct trawl_table **tables, size_t count);
/* NULL: there is none of this name. */
const struct trawl_table *tw_ranks_tables_find(struct trawl_table *const *tables, size_t count,
					       const char *name);

#endif
