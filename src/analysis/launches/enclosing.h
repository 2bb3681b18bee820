/*
 * What was going on around events of the host: for each of a few chosen events, the events of some
 * classes that enclose its start on the same thread, innermost first.  Made for python functions,
 * of which there are too many for a call tree: one pass over them.
 */
#ifndef TW_ANALYSIS_LAUNCHES_ENCLOSING_H
#define TW_ANALYSIS_LAUNCHES_ENCLOSING_H

#include "store/trace.h"

/* A set of classes: TW_CLASS_BIT(TRAWL_CLASS_PYTHON) | TW_CLASS_BIT(TRAWL_CLASS_ANNOTATION). */
#define TW_CLASS_BIT(class) (1u << (class))

struct tw_enclosing {
	const struct trawl_allocator *allocator;
	uint64_t count;
	unsigned most;
	uint32_t *around; /* count x most events, TW_NOT_ENCLOSED after the last of each */
};

#define TW_NOT_ENCLOSED UINT32_MAX

/*
 * targets[i] is an event with a start.  An event of `classes` encloses it when it begins before that
 * start and ends after it (not after the target's end: profilers round); of those that begin
 * together the longer one encloses the other, of equal ones the first of the input.  Of more than
 * `most` the innermost are kept.  0, or -1 when out of memory; release in both cases.
 */
int tw_enclosing_init(struct tw_enclosing *enclosing, const struct trawl_trace *trace,
		      const uint32_t *targets, uint64_t count, unsigned classes, unsigned most,
		      const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
/* The same of events whose name is wanted: wanted[text id] is not 0; NULL: all. */
int tw_enclosing_init_wanted(struct tw_enclosing *enclosing, const struct trawl_trace *trace,
			     const uint32_t *targets, uint64_t count, unsigned classes,
			     const uint8_t *wanted, unsigned most,
			     const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_enclosing_release(struct tw_enclosing *enclosing);

/* Whether target i may have more around it than are kept. */
static inline bool tw_enclosing_is_full(const struct tw_enclosing *enclosing, uint64_t i)
{
	return enclosing->around[(i + 1) * enclosing->most - 1] != TW_NOT_ENCLOSED;
}

/* What encloses target i, from 0 for the innermost on; TW_NOT_ENCLOSED: nothing more. */
static inline uint32_t tw_enclosing_at(const struct tw_enclosing *enclosing, uint64_t i,
				       unsigned depth)
{
	return depth < enclosing->most ? enclosing->around[i * enclosing->most + depth] :
					 TW_NOT_ENCLOSED;
}

#endif
