/*
 * Launchers: the operations that GPU work is charged to.  Of every GPU event with a recorded
 * launch, communication aside, it is the nearest operation above the launch call ("execute"
 * skipped), else the call itself.
 */
#ifndef TW_ANALYSIS_LAUNCHES_LAUNCHERS_H
#define TW_ANALYSIS_LAUNCHES_LAUNCHERS_H

#include "analysis/groups.h"
#include "analysis/launches/categories.h"
#include "derive/derived.h"

struct tw_launcher {
	uint32_t node;	    /* host node */
	uint32_t category;  /* of the launchers' categories */
	int64_t direct_ns;  /* union of its own GPU events */
	int64_t subtree_ns; /* union of all GPU events launched under it, communication too */
};

struct tw_launchers {
	uint64_t count;
	struct tw_launcher *items; /* in order of start, then of first GPU event */
	uint32_t *of_gpu;	   /* by GPU event: launcher, TW_NO_GROUP: none */
	struct tw_members gpu;	   /* GPU events by launcher, in order of start */
	struct tw_categories categories;
};

/* What they are made of is left to the allocator's scope. */
int tw_launchers_build(struct tw_launchers *launchers, const struct tw_derived *derived,
		       const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

#endif
