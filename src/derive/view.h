/*
 * The part of a trace that analyses look at: stretches of time, one device.  Intervals are
 * clipped at the edges of the stretches here and nowhere else.
 */
#ifndef TW_DERIVE_VIEW_H
#define TW_DERIVE_VIEW_H

#include "derive/intervals.h"
#include "store/trace.h"

struct tw_view_options {
	const char *range;	       /* name of an annotation, NULL: not asked for */
	int64_t step_first, step_last; /* profiler steps, -1: not asked for */
	int64_t start_ns, end_ns;      /* TRAWL_TIME_NONE: not asked for */
	const char *device;	       /* NULL: all */
};

#define TW_VIEW_OPTIONS_INIT                                         \
	{                                                            \
		NULL, -1, -1, TRAWL_TIME_NONE, TRAWL_TIME_NONE, NULL \
	}

struct tw_view {
	bool limited; /* windows apply */
	struct tw_intervals windows;
	tw_code device;	 /* TW_CODE_NONE: all */
	char label[256]; /* what was asked for, for people; "": the whole trace */
};

/* TRAWL_EUSAGE when the step, range or device is not in the trace (the message lists what is). */
int tw_view_init(struct tw_view *view, const struct trawl_trace *trace,
		 const struct tw_view_options *options, struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_view_release(struct tw_view *view);

/*
 * Clips an interval to the stretch that holds its start, or the first it reaches; false when it
 * lies outside.  An interval over several stretches keeps its part in the first: one kernel
 * stays one kernel.
 */
bool tw_view_clip(const struct tw_view *view, int64_t *start_ns, int64_t *end_ns);

#endif
