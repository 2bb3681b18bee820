/*
 * Stretches of time of the host, each from an annotation: profiler steps, ranges, steps of inference
 * servers; and which one a call is in.
 */
#ifndef TW_DERIVE_SPANS_H
#define TW_DERIVE_SPANS_H

#include "derive/view.h"

struct tw_span {
	uint32_t event;		  /* the annotation */
	int64_t start_ns, end_ns; /* calls that start in [start, end) are its own */
	bool last;		  /* step of its process: its end is that of its annotation */
};

/* From a time to the next segment: in a span, or in none. */
struct tw_span_segment {
	int64_t start_ns;
	uint32_t span; /* UINT32_MAX: in none */
};

/* Of a thread or process: segments first to end - 1. */
struct tw_span_place {
	uint32_t place; /* track, or pid */
	size_t first, end;
};

struct tw_span_index {
	struct tw_span_segment *segments; /* by place and start */
	size_t segment_count;
	struct tw_span_place *places; /* in order of place */
	size_t count;
};

/* Zeroed is empty. */
struct tw_spans {
	const struct trawl_allocator *allocator;
	struct tw_span *items; /* in order of start */
	uint64_t count;
	struct tw_span_index by_thread, by_process;
};

/*
 * The spans of a list of annotations in order of start, as `list` has them.  0 or -1, as all here; what was
 * made is released either way.
 */
int tw_spans_of(struct tw_spans *spans, const struct trawl_trace *trace, const uint32_t *list,
		uint64_t count, const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_spans_release(struct tw_spans *spans);

/*
 * The profiler's steps on the host, each once: one goes from the start of its annotation to that of
 * the next step of its process, the last one to its own end.  They have an index.
 */
int tw_spans_of_steps(struct tw_spans *spans, const struct trawl_trace *trace,
		      const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* Makes tw_span_at() possible. */
int tw_spans_index(struct tw_spans *spans, const struct trawl_trace *trace) TRAWL_MUST_CHECK;

/*
 * The span that an event starts in, UINT32_MAX: in none.  The innermost of its thread, else of its
 * process.  Where all spans are of one process, an event of any is in it: some exporters number them apart.
 */
uint32_t tw_span_at(const struct tw_spans *spans, const struct trawl_trace *trace, uint32_t event);

#endif
