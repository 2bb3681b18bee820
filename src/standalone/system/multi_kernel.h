/*
 * Memory copies by direction with who asked for them, communication, and how much of both computing hides:
 * multi_kernel_data.json.  All GPU events of the view count, launched in the trace or not.
 */
#ifndef TW_STANDALONE_MULTI_KERNEL_H
#define TW_STANDALONE_MULTI_KERNEL_H

#include "standalone/system/system.h"

#define TW_MULTI_KERNEL_DATA "multi_kernel_data.json"
#define TW_MULTI_KERNEL_TITLE "Multi-Kernel Issue Analysis"

struct tw_asker {
	const char *operation, *python; /* NULL: not recorded */
	uint64_t count;
	int64_t total_ns;
};

struct tw_copies {
	uint64_t count, count_with_bytes;
	int64_t total_ns, max_ns, exposed_ns;
	double mean_us, total_bytes, mean_bytes;
	double caller_count; /* NaN: not looked for */
	TW_FIELD_LIST(struct tw_asker) callers;
};

struct tw_copies_by_direction {
	struct tw_copies *of[TW_COPY_DIRECTIONS]; /* NULL: none */
};

struct tw_copy_summary {
	uint64_t count;
	int64_t total_ns;
	struct tw_copies_by_direction by_direction;
	double total_ms;
};

struct tw_top_communication {
	const char *name, *stream;
	int64_t dur_ns;
};

struct tw_communication_summary {
	uint64_t count;
	int64_t total_ns, max_ns;
	double mean_us, total_ms;
	bool gradient_buckets; /* gradients are communicated during the backward pass */
	TW_FIELD_LIST(struct tw_top_communication) top;
};

struct tw_overlap_times {
	int64_t total_ns, computation_ns, comm_ns, exposed_comm_ns, memcpy_ns, exposed_memcpy_ns;
	double comm_ratio, memcpy_ratio, comm_percent, memcpy_percent;
};

/* The same by the timeline's unions, to check against. */
struct tw_checked_times {
	bool manifest_counts_the_same;
	int64_t total_ns, computation_ns, exposed_comm_ns, exposed_memcpy_ns;
};

struct tw_multi_kernel {
	struct tw_copy_summary copies;
	struct tw_communication_summary communication;
	struct tw_overlap_times overlap;
	struct tw_checked_times *timeline; /* NULL: not told */
};

extern const struct tw_fields tw_multi_kernel_fields, tw_overlap_times_fields, tw_asker_fields;
extern const struct tw_fields tw_copies_by_direction_fields, tw_top_communication_fields;

#endif
