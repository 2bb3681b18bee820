/*
 * What rows of tables of operators and kernels are grouped by beside their own keys (--group-by): a GPU event
 * is of one group, which has a name.  One more is a row of `groupings` in grouping.c; a table that has it uses the
 * functions below, which do nothing where no grouping is asked for, and says TW_GROUPS.
 */
#ifndef TW_ANALYSIS_WHO_GROUPING_H
#define TW_ANALYSIS_WHO_GROUPING_H

#include "analysis/analysis.h"

struct tw_grouping {
	const char *name; /* as options have it */
	struct trawl_column column;
	bool frames; /* needs a trace that has them */
	/* Of an event with a recorded launch. */
	uint32_t (*of_gpu)(const struct tw_analysis_input *in, uint64_t gpu);
	void (*add_name)(const struct tw_analysis_input *in, uint32_t group, struct tw_str *out);
};

#define TW_GROUP_UNLINKED UINT32_MAX

/* NULL: there is none of that name; `names` (may be NULL) gets those there are. */
const struct tw_grouping *tw_grouping_named(const char *name, struct tw_str *names);

/* The group of a GPU event; 0 without a grouping. */
uint32_t tw_group_of_gpu(const struct tw_analysis_input *in, uint64_t gpu);

/* A table with columns of call stacks and a last one for groups, as far as they are asked for. */
struct trawl_table *tw_grouped_table(const struct tw_analysis_input *in,
				     const struct tw_table_spec *spec,
				     const struct trawl_column *columns, size_t count);
void tw_set_group(const struct tw_analysis_input *in, struct trawl_table *table, size_t row,
		  uint32_t group);

#endif
