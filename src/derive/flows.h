/*
 * The arrows that the profiler drew from launch calls to GPU events: where one starts and where it
 * ends, found by place and by id.
 */
#ifndef TW_DERIVE_FLOWS_H
#define TW_DERIVE_FLOWS_H

#include "derive/derived.h"

/* An end of an arrow, or another event as the place of one. */
struct tw_flow_end {
	tw_code pid, tid, id;
	int64_t time_ns;
	uint64_t index; /* event number, or what the caller says: unique in its list */
	bool mixed;	/* of the first start of an id: others of it are of other processes */
};

/* Owned lists; tw_flows_release() frees them, zeroed is empty. */
struct tw_flows {
	const struct trawl_allocator *allocator;
	struct tw_flow_end *starts; /* by id, then index */
	struct tw_flow_end *ends;   /* by place, then index */
	uint64_t start_count, end_count, capacity;
};

int tw_flows_build(struct tw_flows *flows, const struct tw_derived *derived,
		   uint32_t part) TRAWL_MUST_CHECK;
void tw_flows_release(struct tw_flows *flows);

/* The place of an event. */
struct tw_flow_end tw_flow_place(const struct tw_derived *derived, uint64_t event, uint64_t index);
void tw_flow_sort_places(struct tw_flow_end *list, uint64_t count);
/* The first of a sorted list at a place, NULL: none. */
const struct tw_flow_end *tw_flow_find_place(const struct tw_flow_end *list, uint64_t count,
					     const struct tw_flow_end *place);
/* The first start, in the order of the input, of the arrow that ends at a place; NULL: none. */
const struct tw_flow_end *tw_flows_start_of(const struct tw_flows *flows,
					    const struct tw_flow_end *place);

#endif
