/* The step that stands out of its siblings, and what differs in it. */
#ifndef TW_ANALYSIS_WHO_ODD_STEP_H
#define TW_ANALYSIS_WHO_ODD_STEP_H

#include "analysis/who/span_work.h"
#include "derive/when.h"

/* By what: GPU busy time with what was launched, and the time to the next step. */
enum tw_odd_by { TW_ODD_BY_BUSY, TW_ODD_BY_WALL, TW_ODD_BYS };

struct tw_odd_step {
	uint32_t span; /* TW_NONE: none stands out */
	double median_ns;
	int64_t value_ns;
};

/*
 * Of the steps in the view the one farthest from the median, if that is farther than limits allow.  The
 * last one's wall time ends with the recording: by that it is never odd.  0 or -1.
 */
int tw_odd_step_find(struct tw_odd_step *odd, enum tw_odd_by by, const struct tw_when *when,
		     const struct tw_spans_work *work,
		     const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* "busy +28.3 %, 12.310 ms (median 9.594 ms): gemm +2.410 ms, 24 more launches". */
int tw_odd_step_describe(struct tw_str *out, const struct tw_odd_step *odd, enum tw_odd_by by,
			 const struct tw_analysis_input *in,
			 const struct tw_spans_work *work) TRAWL_MUST_CHECK;

#endif
