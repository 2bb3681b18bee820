/* Stretches of time: lists of them, their union, and how much of it lies in another stretch. */
#ifndef TW_NSYS_SPANS_H
#define TW_NSYS_SPANS_H

#include "base/innermost.h"

struct tw_spans {
	struct tw_span *at;
	size_t count, capacity;
	int64_t *before; /* after tw_spans_sum(): time covered by those before each, and by all */
};

/* False: out of memory. */
bool tw_spans_add(struct tw_spans *spans, int64_t start_ns, int64_t end_ns,
		  const struct trawl_allocator *allocator);
/* Exactly this much room, at least that of those there are.  False: out of memory. */
bool tw_spans_resize(struct tw_spans *spans, size_t capacity,
		     const struct trawl_allocator *allocator);
/* In order, those that touch joined: what is left is the union.  False: out of memory. */
bool tw_spans_unite(struct tw_spans *spans, const struct trawl_allocator *allocator);
/* Makes tw_spans_cover() possible for united spans.  False: out of memory. */
bool tw_spans_sum(struct tw_spans *spans, const struct trawl_allocator *allocator);
/* How much of the time from start_ns to end_ns the spans cover.  O(log count). */
int64_t tw_spans_cover(const struct tw_spans *spans, int64_t start_ns, int64_t end_ns);
void tw_spans_release(struct tw_spans *spans, const struct trawl_allocator *allocator);

#endif
