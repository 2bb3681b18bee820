/*
 * Calls of operations with the GPU time under each, in groups: what the tables of cost models
 * show.  A row is a call, a pass back through it, or a kernel that no operation accounts for.
 */
#ifndef TW_ANALYSIS_OPS_OP_ROWS_H
#define TW_ANALYSIS_OPS_OP_ROWS_H

#include "analysis/analysis.h"
#include "analysis/groups.h"
#include "analysis/order.h"
#include "analysis/stats.h"
#include "text/str.h"

struct tw_op_row {
	int64_t kernel_ns; /* union of its GPU events */
	uint32_t event;	   /* of the input: an example of the group */
	uint32_t work;	   /* of the modelled operations, TW_NO_GROUP: none */
	uint32_t group;	   /* which the caller gives it */
};

struct tw_op_rows {
	const struct tw_analysis_input *in;
	struct tw_op_row *items;
	uint64_t count, capacity;
	struct tw_members gpu; /* by row, in order of start; `first` has count + 1 entries */
	uint64_t first_capacity, gpu_capacity;
	struct tw_members members; /* rows by group, after tw_op_rows_group() */
	int64_t *times;		   /* room for the largest group */
	double *values;		   /* the same; NULL until it is needed */
	uint64_t largest;
	struct tw_str full, short_form; /* kernels of the group asked last */
	bool failed;			/* out of memory, sticky */
};

void tw_op_rows_init(struct tw_op_rows *rows, const struct tw_analysis_input *in);
void tw_op_rows_release(struct tw_op_rows *rows);

/* Adds GPU events to the row that tw_op_rows_end() then makes of all since the last one. */
void tw_op_rows_gpu(struct tw_op_rows *rows, const uint32_t *gpu, uint64_t count);
void tw_op_rows_end(struct tw_op_rows *rows, uint64_t event, uint32_t work, uint32_t group);

/* Ends adding: 0, or -1 out of memory. */
int tw_op_rows_group(struct tw_op_rows *rows, uint32_t group_count) TRAWL_MUST_CHECK;

/* A group of rows as the tables show it. */
struct tw_op_group {
	uint64_t count;
	const struct tw_op_row *first; /* that comes first in the input */
	const struct tw_op_work *work; /* the first that is known, NULL: none */
	struct tw_stats kernel_ns;
	struct tw_real_stats tflops_per_s, tb_per_s, percent;
	double roofline_us; /* NaN: unknown */
	const char *bound;  /* NULL: unknown */
};

void tw_op_group_of(struct tw_op_rows *rows, uint32_t group, struct tw_op_group *out);
/* Into rows->full and rows->short_form. */
int tw_op_group_kernels(struct tw_op_rows *rows, uint32_t group) TRAWL_MUST_CHECK;

/* Groups in order: most kernel time first, then the earliest call. `order` has a place for each. */
void tw_op_rows_order(const struct tw_op_rows *rows, struct tw_order *order, tw_wide *total);

#endif
