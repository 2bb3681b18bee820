/* Scenarios with what comes of them, several at a time. */
#ifndef TW_PATH_WHAT_IF_H
#define TW_PATH_WHAT_IF_H

#include "path/scenario.h"

struct tw_what_if {
	const char *name, *kind, *note; /* of the caller's; note NULL: none */
	/* Sets an empty scenario to it. */
	void (*set)(struct tw_scenario *s, const struct tw_what_if *what);
	const void *context;
	uint32_t number;
	bool quick; /* only the window is asked for */
	/* What comes of it. */
	int64_t before_ns, after_ns;
	double step_before_ns, step_after_ns; /* NaN: there are not two steps */
	int64_t path_ns, inferred_ns;	      /* of the critical path then */
};

/* Several threads take from the allocator.  0 or TRAWL_ENOMEM. */
int tw_what_if_run(struct tw_what_if *list, size_t count, const struct tw_path *path,
		   const int64_t *recorded, unsigned threads,
		   const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* GPU work takes `factor` times as long; of a collective its transfer does. */
void tw_scenario_scale(struct tw_scenario *s, const struct tw_path_rank *rank, uint32_t gpu,
		       double factor);

#endif
