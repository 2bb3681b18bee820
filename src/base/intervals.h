/*
 * Sets of time as sorted, disjoint intervals.  Touching intervals are one.  The only ones of the
 * program.
 */
#ifndef TW_BASE_INTERVALS_H
#define TW_BASE_INTERVALS_H

#include "trawl/api.h"

struct tw_interval {
	int64_t start_ns, end_ns;
};

/* Makes `a` reach from the earlier start to the later end. */
static inline void tw_interval_cover(struct tw_interval *a, const struct tw_interval *b)
{
	if (b->start_ns < a->start_ns)
		a->start_ns = b->start_ns;
	if (b->end_ns > a->end_ns)
		a->end_ns = b->end_ns;
}

/* Owned list; tw_intervals_release() frees it, zeroed is empty. */
struct tw_intervals {
	const struct trawl_allocator *allocator;
	struct tw_interval *items;
	size_t count;
	size_t capacity;
	bool failed;	    /* out of memory, sticky */
	int64_t *before_ns; /* after tw_intervals_sum(): length of those before each, and of all */
};

void tw_intervals_init(struct tw_intervals *set, const struct trawl_allocator *allocator);
void tw_intervals_release(struct tw_intervals *set);
/* Adds [start, end); starts must not decrease from call to call. */
void tw_intervals_add(struct tw_intervals *set, int64_t start_ns, int64_t end_ns);
/* Adds without order; tw_intervals_unite() makes it a set. */
void tw_intervals_put(struct tw_intervals *set, int64_t start_ns, int64_t end_ns);
void tw_intervals_unite(struct tw_intervals *set);
/* Exactly this much room, at least that of those there are. */
void tw_intervals_resize(struct tw_intervals *set, size_t capacity);
int64_t tw_intervals_length(const struct tw_intervals *set);
/* Makes tw_intervals_covered() possible, of a set that stays as it is. */
void tw_intervals_sum(struct tw_intervals *set);
/* The part of the time from start_ns to end_ns that the set covers.  O(log count). */
int64_t tw_intervals_covered(const struct tw_intervals *set, int64_t start_ns, int64_t end_ns);
/* a minus b into `out`, which is initialised and empty. */
void tw_intervals_subtract(const struct tw_intervals *a, const struct tw_intervals *b,
			   struct tw_intervals *out);

/* Length of a union, of intervals that come by increasing start: 16 bytes of state. */
struct tw_union {
	int64_t length_ns;
	int64_t end_ns;
};

#define TW_UNION_INIT        \
	{                    \
		0, INT64_MIN \
	}

static inline void tw_union_add(struct tw_union *u, int64_t start_ns, int64_t end_ns)
{
	if (start_ns >= u->end_ns) {
		u->length_ns += end_ns - start_ns;
		u->end_ns = end_ns;
	} else if (end_ns > u->end_ns) {
		u->length_ns += end_ns - u->end_ns;
		u->end_ns = end_ns;
	}
}

#endif
