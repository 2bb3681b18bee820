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
	const char *unlinked; /* the name of events without a recorded launch; NULL: as any other */
	bool who;	      /* needs attributions */
	/* Whether the trace has what it groups by, which `needs` names; NULL: any has. */
	bool (*is_recorded)(const struct tw_analysis_input *in);
	const char *needs;
	/* Of an event with a recorded launch, unless `unlinked` is NULL. */
	uint32_t (*of_gpu)(const struct tw_analysis_input *in, uint64_t gpu);
	void (*add_name)(const struct tw_analysis_input *in, uint32_t group, struct tw_str *out);
};

#define TW_GROUP_UNLINKED UINT32_MAX
#define TW_GROUP_OUTSIDE (UINT32_MAX - 1) /* launched in no step */

/* NULL: there is none of that name; `names` (may be NULL) gets those there are. */
const struct tw_grouping *tw_grouping_named(const char *name, struct tw_str *names);

/* 0 or TRAWL_EUSAGE: what the grouping, if any, needs is not recorded. */
int tw_grouping_check(const struct tw_analysis_input *in, struct trawl_error *err);

/* The group of a GPU event; 0 without a grouping. */
uint32_t tw_group_of_gpu(const struct tw_analysis_input *in, uint64_t gpu);

/* A table with columns of call stacks and a last one for groups, as far as they are asked for. */
struct trawl_table *tw_grouped_table(const struct tw_analysis_input *in,
				     const struct tw_table_spec *spec,
				     const struct trawl_column *columns, size_t count);
void tw_set_group(const struct tw_analysis_input *in, struct trawl_table *table, size_t row,
		  uint32_t group);

#endif
