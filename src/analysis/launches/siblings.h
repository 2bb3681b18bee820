/*
 * The operations with GPU work beside an operation: what the same caller runs before and after it.
 */
#ifndef TW_ANALYSIS_LAUNCHES_SIBLINGS_H
#define TW_ANALYSIS_LAUNCHES_SIBLINGS_H

#include "analysis/analysis.h"
#include "analysis/launches/enclosing.h"

/* Max number listed, the nearest ones. */
#define TW_MAX_SIBLINGS 48

struct tw_sibling {
	uint32_t node;
	int64_t gpu_ns; /* sum of its GPU events */
	uint64_t gpu_events;
	const char *category; /* of the work in it */
};

struct tw_siblings {
	struct tw_sibling items[TW_MAX_SIBLINGS]; /* in order */
	size_t count;
	size_t left_out; /* further ones with GPU work, before and after these */
	size_t self;	 /* which of them is the operation, or holds it */
	uint32_t event;	 /* whose they are: of a caller, TW_NONE: of the thread */
};

/*
 * Of a host node: the children of the innermost caller that has several with GPU work.  Callers are
 * `enclosing` (target `target`): operations, python functions and annotations.  Copies and other
 * elementwise work that an operation does for itself, as aten::matmul does before its product, are
 * no company: of an operation two children of other kinds are needed.  Nothing is found where no
 * caller has several.
 */
void tw_siblings_of(struct tw_siblings *siblings, const struct tw_analysis_input *in, uint64_t node,
		    const struct tw_enclosing *enclosing, uint64_t target);

#endif
