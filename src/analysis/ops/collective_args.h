/*
 * What communication kernels record about their collective, as PyTorch's profiler writes it: the
 * arguments as text, and what follows from them.
 */
#ifndef TW_ANALYSIS_OPS_COLLECTIVE_ARGS_H
#define TW_ANALYSIS_OPS_COLLECTIVE_ARGS_H

#include "analysis/groups.h"
#include "data/tables.h"
#include "derive/communication.h"
#include "store/trace.h"
#include "text/str.h"

/* Arguments that distinguish collectives. */
enum tw_collective_arg {
	TW_COLLECTIVE_GROUP,
	TW_COLLECTIVE_GROUP_RANKS,
	TW_COLLECTIVE_NAME,
	TW_COLLECTIVE_GROUP_SIZE,
	TW_COLLECTIVE_DTYPE,
	TW_COLLECTIVE_IN_NELEMS,
	TW_COLLECTIVE_OUT_NELEMS,
	TW_COLLECTIVE_IN_SPLIT,
	TW_COLLECTIVE_OUT_SPLIT,
	TW_COLLECTIVE_SOURCE, /* rank that sends, of transfers between two */
	TW_COLLECTIVE_DESTINATION,
	TW_COLLECTIVE_ARGS,
};

/* The key of keys.h of each. */
extern const uint32_t tw_collective_arg_keys[TW_COLLECTIVE_ARGS];

/* An argument as text: numbers in digits, lists in Python's notation; nothing when it is null. */
void tw_collective_arg_text(const struct trawl_trace *trace, const struct trawl_argument *arg,
			    struct tw_str *out);

/*
 * Megabytes (2^20) of a number of elements, NaN when the number is none or the type's size is not
 * known (data/dtypes.tsv).
 */
double tw_collective_megabytes(const char *nelems, size_t nelems_len, const char *dtype,
			       size_t dtype_len);

/* What is recorded of the collective that a GPU event is of, and why it is one. */
struct tw_collective_facts {
	struct tw_communication why;
	/* TRAWL_VALUE_NULL: not recorded. */
	struct trawl_argument args[TW_COLLECTIVE_ARGS], comms_id, sequence;
};

/*
 * The event's own arguments; what it does not have is taken from the operation around its launch,
 * unless that is of another collective.
 */
void tw_collective_facts_of(const struct tw_derived *d, uint64_t g,
			    struct tw_collective_facts *facts);

/*
 * Copies and fills that one operation launched are one collective: the value that the first of
 * them gave, NULL where this one is the first, or one by itself.  `begun` has a value by operation.
 */
const uint64_t *tw_collective_begun(struct tw_groups *begun, const struct tw_derived *d, uint64_t g,
				    const struct tw_collective_facts *facts, uint64_t value);
#define TW_COLLECTIVES_BEGUN_INIT(begun, allocator) \
	tw_groups_init_values(begun, sizeof(uint32_t), sizeof(uint64_t), allocator)

/*
 * The kind of collective ("allreduce", "all_to_all", ...; data/collective_names.tsv): by its
 * recorded name, else by that of the operation, else by the kernel's (data/kernel_names.tsv); a
 * unknown recorded name is its own kind.  `kernel` may be NULL.  NULL: unknown.
 */
const char *tw_collective_kind(const char *recorded, size_t len, const char *operation,
			       size_t operation_len, const struct tw_kernel_name *kernel);

#endif
