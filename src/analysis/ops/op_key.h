/*
 * Groups of calls of an operation: one a name, category, thread and arguments, as TraceLens
 * groups them, and the columns that say which.
 */
#ifndef TW_ANALYSIS_OPS_OP_KEY_H
#define TW_ANALYSIS_OPS_OP_KEY_H

#include "analysis/analysis.h"
#include "analysis/groups.h"
#include "analysis/signature.h"

/* The key columns of a table of groups, from the first column on. */
#define TW_OP_KEY_COLUMNS                                                                        \
	TW_TEXT("name", 40, "operator name", .over_ranks = TRAWL_KEY),                           \
		TW_TEXT(TW_COL_OP_CATEGORY, 18, "operator category", .over_ranks = TRAWL_KEY),   \
		TW_TEXT("process_name", 14, "process name"),                                     \
		TW_TEXT("process_label", 12, "process label"),                                   \
		TW_TEXT("thread_name", 24, "thread name"),                                       \
		TW_TEXT(TW_COL_INPUT_DIMS, 36, "shapes of the inputs", .over_ranks = TRAWL_KEY), \
		TW_TEXT(TW_COL_INPUT_TYPE, 30, "types of the inputs", .over_ranks = TRAWL_KEY),  \
		TW_TEXT(TW_COL_INPUT_STRIDES, 30, "strides of the inputs",                       \
			.over_ranks = TRAWL_KEY),                                                \
		TW_TEXT(TW_COL_CONCRETE_INPUTS, 30, "values of non-tensor inputs",               \
			.over_ranks = TRAWL_KEY)

enum {
	TW_OP_NAME,
	TW_OP_CATEGORY,
	TW_OP_PROCESS,
	TW_OP_LABEL,
	TW_OP_THREAD,
	TW_OP_DIMS,
	TW_OP_TYPES,
	TW_OP_STRIDES,
	TW_OP_CONCRETE,
	TW_OP_KEY_COLUMN_COUNT
};

struct tw_op_keys {
	const struct tw_analysis_input *in;
	struct tw_signatures signatures;
	struct tw_groups groups;
	struct tw_groups seen; /* calls as recorded, each with 1 + its group */
	struct tw_str name;    /* of the row that is set */
};

int tw_op_keys_init(struct tw_op_keys *keys, const struct tw_analysis_input *in) TRAWL_MUST_CHECK;
/* Out of memory at some time. */
bool tw_op_keys_failed(const struct tw_op_keys *keys);

/*
 * The group of a call, a host node with GPU work below it.  With a kernel (text id of its name, 0: none) the group is that of a
 * kernel under the call that no operation accounts for: "<call>-><kernel> (Synthetic Op)".
 */
uint32_t tw_op_key_of(struct tw_op_keys *keys, uint64_t node, uint32_t kernel,
		      const char *category);

/* The name of such a kernel's group. */
void tw_synthetic_name(const struct trawl_trace *trace, uint32_t name, uint32_t kernel,
		       struct tw_str *out);

/* Sets the key columns of a row, and the last one, TW_VIA_COLUMN, where there is one. */
void tw_op_key_set(struct tw_op_keys *keys, struct trawl_table *table, size_t row, uint32_t group,
		   size_t via);

/* The texts of a call's process, label and thread into three columns; "Unknown" when missing. */
void tw_set_track(struct trawl_table *table, size_t row, size_t column,
		  const struct tw_derived *derived, uint64_t event);

#endif
