/* The scenarios of a path: those that are always computed, and what is asked for. */
#ifndef TW_PATH_SCENARIOS_H
#define TW_PATH_SCENARIOS_H

#include "path/path_ops.h"
#include "path/stragglers.h"
#include "path/what_if.h"
#include "text/str.h"
#include "trawl/path.h"

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
