/*
 * Memory copies by direction, and who on the host asked for those that cross to it or from it.
 */
#ifndef TW_ANALYSIS_GPU_MEMORY_COPIES_H
#define TW_ANALYSIS_GPU_MEMORY_COPIES_H

#include "analysis/launches/overlap.h"

/* Copies that one place of the program asked for. */
struct tw_copy_caller {
	uint32_t operation; /* text id: outermost operator with a meaning, else the
			     * call; 0: no launch recorded */
	uint32_t python; /* text id: innermost function of the program around the call; 0: none */
	uint64_t count;
	tw_wide total_ns;
	uint64_t first; /* its first copy, to order ties */
};

struct tw_copy_sum {
	uint64_t count;
	tw_wide total_ns;
	int64_t max_ns;
	uint64_t with_bytes; /* copies with a recorded size */
	tw_wide bytes;
	struct tw_copy_caller *callers; /* most time first; of D2H and H2D only */
	size_t caller_count;
};

struct tw_memory_copies {
	const struct trawl_allocator *allocator;
	struct tw_copy_sum sums[TW_COPY_DIRECTIONS];
};

/* Of all copies of the view.  0, or -1 when out of memory; release in both cases. */
int tw_memory_copies_init(struct tw_memory_copies *copies, const struct tw_derived *derived,
			  const uint8_t *directions,
			  const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_memory_copies_release(struct tw_memory_copies *copies);

#endif
