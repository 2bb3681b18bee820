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
	tw_wide total_ns;      /* their kernel time */
	struct tw_members gpu; /* by row, in order of start; `first` has count + 1 entries */
	uint64_t first_capacity, gpu_capacity;
	struct tw_members members;	/* rows by group, after tw_op_rows_group() */
	int64_t *times;			/* room for the largest group */
	double *values;			/* the same */
	struct tw_str full, short_form; /* kernels of the group asked last */
	bool failed;			/* out of memory, sticky */
};

void tw_op_rows_init(struct tw_op_rows *rows, const struct tw_analysis_input *in);

/* Adds GPU events to the row that tw_op_rows_end() then makes of all since the last one. */
void tw_op_rows_gpu(struct tw_op_rows *rows, const uint32_t *gpu, uint64_t count);
void tw_op_rows_end(struct tw_op_rows *rows, uint64_t event, uint32_t work, uint32_t group);

/* Ends adding. */
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

/* The columns of five statistics. */
struct tw_five {
	size_t mean, median, std, min, max;
};

void tw_set_five(struct trawl_table *table, size_t row, struct tw_five to,
		 const struct tw_real_stats *stats);

/*
 * Adds rows to a table, those of most kernel time first, then of the earliest call: `set` sets the
 * cells of a group, whose kernels are in rows->full and rows->short_form; it may use rows->times.
 */
typedef void tw_set_op_row(void *context, struct trawl_table *table, size_t row, uint32_t number,
			   const struct tw_op_group *group);

int tw_op_rows_add(struct tw_op_rows *rows, struct trawl_table *table, tw_set_op_row *set,
		   void *context) TRAWL_MUST_CHECK;

#endif
