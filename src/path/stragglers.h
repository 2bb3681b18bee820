/*
 * Ranks that compute as others do, each piece of GPU work at the same place: the same step, kernel and
 * shapes, and the same number of those before it.
 */
#ifndef TW_PATH_STRAGGLERS_H
#define TW_PATH_STRAGGLERS_H

#include "path/path_ops.h"
#include "path/scenario.h"

struct tw_places {
	const struct tw_path *path;
	uint32_t *of;	 /* by rank and GPU event, ranks one after the other: TW_NO_GROUP: none */
	uint32_t *first; /* by rank: where its events begin in `of` */
	struct tw_members at; /* events by place, as numbers of `of` */
	uint32_t *order;      /* indices of ranks, that which computes longest first */
	uint32_t count;	      /* places */
};

/* Of a scope's memory but for `at`: tw_places_release(). */
int tw_places_find(struct tw_places *places, const struct tw_path *path,
		   const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_places_release(struct tw_places *places);

/* Work of one rank, UINT32_MAX: of all, takes as long as on the median rank. */
void tw_scenario_as_median(struct tw_scenario *s, const struct tw_places *places, uint32_t rank);
/* Work of a rank takes no longer than on the next rank of `order`. */
void tw_scenario_as_next(struct tw_scenario *s, const struct tw_places *places, uint32_t rank);

#endif
