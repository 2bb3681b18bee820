/*
 * The calls of a family of modelled operations in groups: which calls count, and those of one name
 * and equal parameters together.  What the tables of families (op_sheets.c) show, and others that
 * look at the same groups.
 */
#ifndef TW_ANALYSIS_OPS_OP_CALLS_H
#define TW_ANALYSIS_OPS_OP_CALLS_H

#include "analysis/ops/op_rows.h"
#include "analysis/signature.h"

struct tw_op_calls {
	const struct tw_analysis_input *in;
	const struct tw_modelled *m;
	const struct tw_analysis *sheet; /* its family and passes */
	struct tw_groups groups;
	struct tw_op_rows rows; /* by group; count 0: none in this trace */
	uint32_t *group_of_work; /* by work, twice, then in graphs: 1 + its group, 0: not asked yet */
	uint8_t *member;	 /* by work: whether it is of the family, and forward */
	const char *const *parameters; /* names, as sheets.def has them */
	size_t parameter_count;
	struct tw_signatures signatures;
};

int tw_op_calls_collect(struct tw_op_calls *calls, const struct tw_analysis_input *in,
			const struct tw_analysis *sheet) TRAWL_MUST_CHECK;

/*
 * A table of them, NULL where there are none: the first of the spec's columns is the operation's
 * name, after it stands one for each parameter, "param: ...", then the others.  `set` sets the
 * cells of these others.
 */
int tw_op_calls_make(struct tw_op_calls *calls, const struct tw_table_spec *spec,
		     tw_set_op_row *set, void *context,
		     struct trawl_table **table) TRAWL_MUST_CHECK;
/* Shapes, types, strides and values of a call's inputs into four columns, of which `column` is the first. */
void tw_op_calls_set_arguments(struct tw_op_calls *calls, struct trawl_table *table, size_t row,
			       size_t column, uint64_t event);

#endif
