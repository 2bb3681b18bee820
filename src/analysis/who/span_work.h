/*
 * The GPU work of spans of the host, such as steps: by launch what was launched in each, whenever it
 * ran, and by time what ran in each.  Beside the spans the rest, so that sums are those of the view.
 */
#ifndef TW_ANALYSIS_WHO_SPAN_WORK_H
#define TW_ANALYSIS_WHO_SPAN_WORK_H

#include "analysis/analysis.h"

/* Of a set of GPU events; the parts as gpu_timeline has them. */
struct tw_busy {
	int64_t busy_ns, computing_ns, exposed_communication_ns, exposed_copy_ns, communication_ns;
};

struct tw_span_work {
	/* What was launched in it. */
	uint64_t events, launches; /* launches: calls */
	int64_t first_ns, last_ns; /* first start and last end, on the clock of the view */
	struct tw_busy launched;
	tw_wide gpu_ns,
		after_ns;   /* sum of durations; of those that start after the end of the span */
	tw_wide compute_ns; /* sum of those that compute */
	int64_t unlinked_ns; /* from first to last: in which computing without a recorded launch ran */
	/* What ran in it. */
	int64_t window_ns; /* its length in the view; -1: it is not in the view */
	struct tw_busy during;
	bool whole; /* all of it is in the view of the host */
	/* Of its thread: in operations and calls, and in calls that wait for the GPU. */
	int64_t host_ns, waiting_ns;
	/* Work of the operations that were launched in it, as far as it is known. */
	double flops;
	double peak_s; /* time that it takes at the dense peaks, where they are known */
	/* Of compute_ns: under operations with known FLOPs, and of these with a known peak too. */
	tw_wide counted_ns, peak_ns;
};

struct tw_spans_work {
	struct tw_span_work *items;   /* by span, then these two */
	struct tw_span_work *outside; /* launched in none */
	struct tw_span_work *rest;    /* without a recorded launch */
	int64_t outside_ns;	      /* busy in the time of none */
	bool has_launches;	      /* else nothing is known by launch */
	bool apart;		      /* no two spans overlap in time */
};

/*
 * The GPU's; then, where they are asked for, the host's, and FLOPs, which need models.  `owner` by GPU event.
 * What they take is left to the allocator of `in`.  0 or -1.
 */
int tw_spans_measure(struct tw_spans_work *work, const struct tw_analysis_input *in,
		     const struct tw_spans *spans, const uint32_t *owner) TRAWL_MUST_CHECK;
int tw_spans_measure_host(struct tw_spans_work *work, const struct tw_analysis_input *in,
			  const struct tw_spans *spans) TRAWL_MUST_CHECK;
int tw_spans_measure_flops(struct tw_spans_work *work, const struct tw_analysis_input *in,
			   const uint32_t *owner) TRAWL_MUST_CHECK;

/* Whether the view has anything of a span. */
static inline bool tw_is_span_in_view(const struct tw_span_work *work)
{
	return work->events || work->window_ns >= 0;
}

/*
 * FLOPs over those at the peaks in the time of a span, in percent; NaN: not known, or of too little of the work,
 * or the span is not whole.
 */
double tw_span_mfu(const struct tw_span_work *work, int64_t wall_ns);

#endif
