/*
 * Call stacks of operators, as TraceLens has them: columns of tables of operators by arguments, of an example
 * of each row (--call-stack).  Rows are of calls that run again, or of none.
 */
#ifndef TW_ANALYSIS_WHO_OP_STACKS_H
#define TW_ANALYSIS_WHO_OP_STACKS_H

#include "analysis/analysis.h"

#define TW_STACK_COLUMNS 4

extern const struct trawl_column tw_stack_columns[TW_STACK_COLUMNS];

/* Whether a call is of a forward pass that is run again; false without call stacks. */
bool tw_is_recomputed(const struct tw_analysis_input *in, uint64_t node);

/* Sets these columns, which are the last but for a group's; nothing without them. */
void tw_set_op_stack(const struct tw_analysis_input *in, struct trawl_table *table, size_t row,
		     uint32_t node);

#endif
