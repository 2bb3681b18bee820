/*
 * One table a family of operations with cost models, as TraceLens names them: calls by what their
 * models took from the arguments.  A call that is part of another one of its family counts with
 * that one; passes back are in tables of their own, "..._bwd", unless the family has a single one.
 */
#include "analysis/analysis.h"

#include "analysis/ops/op_calls.h"
#include "analysis/ops/op_key.h"

#include <math.h>
#include <string.h>

#define REAL(header, unit, digits, ...) TW_REAL(header, unit, digits, 12, __VA_ARGS__)
#define FIVE(header, unit, digits, what)                                                     \
	REAL(header "_mean", unit, digits, what ", mean of calls", .over_ranks = TRAWL_MEAN, \
	     .place = 1),                                                                    \
		REAL(header "_median", unit, digits, what ", median of calls"),              \
		REAL(header "_std", unit, digits, what ", sample standard deviation"),       \
		REAL(header "_min", unit, digits, what ", min of calls"),                    \
		REAL(header "_max", unit, digits, what ", max of calls")

enum {
	NAME, /* the parameters follow */
	GFLOPS,
	DATA,
	INTENSITY,
	TB,
	TFLOPS = TB + 5,
	PROCESS = TFLOPS + 5,
	LABEL,
	THREAD,
	SPEC,
	ROOFLINE_TIME,
	BOUND,
	PERCENT,
	DETAILS = PERCENT + 5,
	SHORT_DETAILS,
	DIMS,
	TYPES,
	STRIDES,
	CONCRETE,
	KERNEL,
	KERNEL_SUM = KERNEL + 5,
	COUNT,
	EVENT,
	VIA,
	COLUMNS
};

static const struct trawl_column columns[COLUMNS] = {
	TW_TEXT("name", 40, "operator name; the cost model's parameters follow as \"param: ...\"",
		.over_ranks = TRAWL_KEY),
	REAL("GFLOPS_first", "GFLOP", 6, "floating-point operations per call, in 10^9",
	     .over_ranks = TRAWL_SAME),
	REAL("Data Moved (MB)_first", "MB", 3, "bytes that a call must read and write, in 2^20",
	     .over_ranks = TRAWL_SAME),
	REAL("FLOPS/Byte_first", "", 2, "arithmetic intensity: FLOPs per byte of data moved",
	     .over_ranks = TRAWL_SAME),
	FIVE("TB/s", "TB/s", 3, "achieved bandwidth: data moved / kernel time"),
	FIVE(TW_COL_TFLOPS_S, "TFLOP/s", 3, "achieved TFLOP/s: FLOPs / kernel time"),
	TW_TEXT("process_name_first", 14, "process of the first call"),
	TW_TEXT("process_label_first", 12, "process label of the first call"),
	TW_TEXT("thread_name_first", 24, "thread of the first call"),
	TW_TEXT(TW_COL_COMPUTE_SPEC, 14, "compute unit and precision of the roofline peak",
		.over_ranks = TRAWL_SAME),
	REAL("Roofline Time (µs)_first", "µs", 3,
	     "roofline time: min time of a call on the "
	     "platform",
	     .over_ranks = TRAWL_SAME),
	TW_TEXT("Roofline Bound_first", 16, "roofline limit: compute or memory",
		.over_ranks = TRAWL_SAME),
	FIVE(TW_COL_PCT_ROOFLINE, "%", 2, "roofline time / kernel time"),
	TW_TEXT(TW_COL_KERNEL_DETAILS_SUMMARIZE_KERNEL_STATS, 40,
		"kernels of a call in order, with statistics"),
	TW_TEXT("trunc_kernel_details", 40,
		"kernels of a call in order, shortened names, mean "
		"durations"),
	TW_TEXT(TW_COL_INPUT_DIMS_FIRST, 36, "shapes of the inputs of the first call"),
	TW_TEXT(TW_COL_INPUT_TYPE_FIRST, 30, "types of the inputs of the first call"),
	TW_TEXT(TW_COL_INPUT_STRIDES_FIRST, 30, "strides of the inputs of the first call"),
	TW_TEXT(TW_COL_CONCRETE_INPUTS_FIRST, 30,
		"values of the non-tensor inputs of the first "
		"call"),
	TW_MEAN_US(TW_COL_KERNEL_TIME_US_MEAN, 12,
		   "kernel time of a call (union of its kernels), mean of calls",
		   .over_ranks = TRAWL_MEAN),
	TW_MEAN_US("Kernel Time (µs)_median", 12,
		   "kernel time of a call (union of its kernels), median of calls"),
	TW_MEAN_US("Kernel Time (µs)_std", 12,
		   "kernel time of a call (union of its kernels), sample standard deviation"),
	TW_MEAN_US(TW_COL_KERNEL_TIME_US_MIN, 12,
		   "kernel time of a call (union of its kernels), min of calls",
		   .over_ranks = TRAWL_MIN),
	TW_MEAN_US(TW_COL_KERNEL_TIME_US_MAX, 12,
		   "kernel time of a call (union of its kernels), max of calls",
		   .over_ranks = TRAWL_MAX),
	TW_US(TW_COL_KERNEL_TIME_US_SUM, 14, "kernel time, sum of calls", .over_ranks = TRAWL_TIME),
	TW_INTEGER(TW_COL_NAME_COUNT, 10, "number of calls", .over_ranks = TRAWL_COUNT,
		   .place = -1),
	TW_INTEGER(TW_COL_UID_FIRST, 10, "event number of the first call"),
	TW_VIA_COLUMN,
};

/* ---- the table */

static struct tw_five five_from(size_t column)
{
	return (struct tw_five){ column, column + 1, column + 2, column + 3, column + 4 };
}

static void set_family_row(void *context, struct trawl_table *table, size_t row, uint32_t number,
			   const struct tw_op_group *g)
{
	struct tw_op_calls *c = context;
	const struct tw_stats *ns = &g->kernel_ns;
	const struct tw_real_stats us = { ns->mean / 1000, ns->median / 1000, ns->std / 1000,
					  (double)ns->min / 1000, (double)ns->max / 1000 };
	size_t shift = c->parameter_count;

	(void)number;
	tw_table_set_real(table, row, shift + GFLOPS, g->work->flops / 1e9);
	tw_table_set_real(table, row, shift + DATA, g->work->bytes / 1048576);
	tw_table_set_real(table, row, shift + INTENSITY,
			  g->work->bytes > 0 ? g->work->flops / g->work->bytes : NAN);
	tw_set_five(table, row, five_from(shift + TB), &g->tb_per_s);
	tw_set_five(table, row, five_from(shift + TFLOPS), &g->tflops_per_s);
	tw_set_track(table, row, shift + PROCESS, c->in->derived, g->first->event);
	if (g->work->spec[0])
		tw_table_set_str(table, row, shift + SPEC, g->work->spec);
	tw_table_set_real(table, row, shift + ROOFLINE_TIME, g->roofline_us);
	tw_table_set_str(table, row, shift + BOUND, g->bound);
	tw_set_five(table, row, five_from(shift + PERCENT), &g->percent);
	tw_table_set_text(table, row, shift + DETAILS, c->rows.full.ptr, c->rows.full.len);
	tw_table_set_text(table, row, shift + SHORT_DETAILS, c->rows.short_form.ptr,
			  c->rows.short_form.len);
	tw_op_calls_set_arguments(c, table, row, shift + DIMS, g->first->event);
	tw_set_five(table, row, five_from(shift + KERNEL), &us);
	tw_set_sum(table, row, shift + KERNEL_SUM, g->kernel_ns.sum);
	tw_table_set_integer(table, row, shift + COUNT, (int64_t)g->count);
	if (!tw_is_via_graph(c->in, g->first->event))
		tw_table_set_integer(table, row, shift + EVENT, (int64_t)g->first->event);
	tw_set_via(c->in, table, row, shift + VIA, tw_is_via_graph(c->in, g->first->event));
}

static int make_op_sheet(const struct tw_analysis_input *in, const struct tw_analysis *self,
			 struct trawl_table **table)
{
	struct tw_op_calls c;

	return tw_op_calls_collect(&c, in, self) ?
		       TRAWL_ENOMEM :
		       tw_op_calls_make(&c, &self->table, set_family_row, &c, table);
}

#define SHEET(id, name, of_family, of_passes, meaning)                   \
	const struct tw_analysis tw_analysis_sheet_##id = {              \
		TW_TABLE(name, meaning, columns),                        \
		.needs = TW_NEEDS_GPU | TW_NEEDS_HOST | TW_NEEDS_MODELS, \
		.make = make_op_sheet,                                   \
		.family = of_family,                                     \
		.passes = of_passes,                                     \
	}
#define SINGLE(family)                                  \
	SHEET(family, #family, #family, TW_BOTH_PASSES, \
	      "calls of this family by parameters of the cost model")
#define FORWARD(family)                                          \
	SHEET(family##_fwd, #family "_fwd", #family, TW_FORWARD, \
	      "forward calls of this family by parameters of the cost model")
/* A family without a table of passes back: whatever its operations are called. */
#define ONLY_FORWARD(family)                                         \
	SHEET(family##_fwd, #family "_fwd", #family, TW_BOTH_PASSES, \
	      "forward calls of this family by parameters of the cost model")
#define BACKWARD(family)                                          \
	SHEET(family##_bwd, #family "_bwd", #family, TW_BACKWARD, \
	      "backward calls of this family, and autograd's calls for forward ones")

SINGLE(GEMM);
FORWARD(SDPA);
BACKWARD(SDPA);
FORWARD(CONV);
BACKWARD(CONV);
ONLY_FORWARD(InferenceAttention);
SINGLE(BinaryElementwise);
FORWARD(GroupedGEMM);
BACKWARD(GroupedGEMM);
FORWARD(MoE_comm);
BACKWARD(MoE_comm);
FORWARD(SSM);
BACKWARD(SSM);
FORWARD(RoPE);
BACKWARD(RoPE);
FORWARD(CrossEntropy);
BACKWARD(CrossEntropy);
SINGLE(UnaryElementwise);
ONLY_FORWARD(MoE_fused);
ONLY_FORWARD(MoE_unfused);
ONLY_FORWARD(MoE_aux);
ONLY_FORWARD(RMSNorm);
ONLY_FORWARD(elementwise);
ONLY_FORWARD(GroupQuant);
ONLY_FORWARD(FusedRoPE);
ONLY_FORWARD(CustomCollective);
ONLY_FORWARD(mHC);
SINGLE(Normalization);
FORWARD(Reduce);
BACKWARD(Reduce);
FORWARD(Softmax);
BACKWARD(Softmax);
FORWARD(Embedding);
BACKWARD(Embedding);
ONLY_FORWARD(Triton);
