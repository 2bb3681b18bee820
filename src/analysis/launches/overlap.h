/*
 * Times of compute, communication and copies of each direction, and the part of
 * that nothing hides: a sweep over the starts and ends of GPU events that counts what runs.  It
 * shares nothing with the unions of gpu_timeline.c, so each can be checked by the other.
 */
#ifndef TW_ANALYSIS_LAUNCHES_OVERLAP_H
#define TW_ANALYSIS_LAUNCHES_OVERLAP_H

#include "analysis/analysis.h"

struct tw_overlap {
	int64_t compute_ns, communication_ns, copy_ns;
	int64_t exposed_communication_ns; /* nothing computes meanwhile */
	int64_t exposed_copy_ns;	  /* nothing computes or communicates meanwhile */
	int64_t exposed_direction_ns[TW_COPY_DIRECTIONS];
};

/* The direction of a copy by its name, else by its arguments. */
enum tw_copy_direction tw_copy_direction_of(const struct tw_derived *derived, uint64_t g);

/* The same of each GPU event: the caller's array, one each. */
void tw_copy_directions(const struct tw_derived *derived, uint8_t *directions);

/* Of all GPU events, with tw_copy_directions() of them.  0, or -1 when out of memory. */
int tw_overlap_of(struct tw_overlap *out, const struct tw_derived *derived,
		  const uint8_t *directions,
		  const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

#endif
