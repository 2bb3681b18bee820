/* The scenarios of a path: those that are always computed, what is asked for, and what comes of them. */
#ifndef TW_PATH_SCENARIOS_H
#define TW_PATH_SCENARIOS_H

#include "path/path_ops.h"
#include "path/stragglers.h"
#include "path/scenario.h"
#include "text/str.h"
#include "trawl/path.h"

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
	int64_t inferred_ns;		      /* of the critical path then */
};

/* Several threads take from the allocator.  0 or TRAWL_ENOMEM. */
int tw_what_if_run(struct tw_what_if *list, size_t count, const struct tw_path *path,
		   unsigned threads, const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* Of an operator's GPU work in the window. */
struct tw_path_op_sums {
	uint32_t op;
	int64_t path_ns, total_ns;
	int64_t headroom_ns; /* how much less it takes at a share of its roofline */
	int64_t slack_ns;    /* the median of its ends, TW_NO_SLACK: nothing follows */
	int64_t gain_ns;     /* of the window where it takes 10 % less; INT64_MIN: not computed */
};

struct tw_scenarios {
	const struct tw_path *path;
	const struct tw_path_ops *ops;
	const struct trawl_path_change *changes;
	size_t change_count;
	const struct trawl_allocator *allocator; /* of a scope that all this is left to */
	struct tw_places places;		 /* where there are several ranks */
	struct tw_str text;
	TW_LIST(uint32_t) fastest; /* operators with the most headroom */
	TW_LIST(struct tw_what_if) list;
};

/*
 * Lists them: `sums` are those of operators, with the most time on the path first.  0, TRAWL_ENOMEM, or
 * TRAWL_EUSAGE where a change selects nothing; tw_scenarios_release() in any case.
 */
int tw_scenarios_list(struct tw_scenarios *s, const struct tw_path_op_sums *sums,
		      struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_scenarios_release(struct tw_scenarios *s);

#endif
