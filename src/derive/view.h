/*
 * The part of a trace that is analyzed: stretches of time, one device.  Intervals are
 * clipped at the edges of the stretches here and nowhere else.
 *
 * A view has a clock of its own, which stops between two windows: it is that of the trace
 * until the first window ends.  On it a GPU event that spans several windows is one interval, as
 * long as its parts are together, so unions, sums and differences need not know of windows.
 */
#ifndef TW_DERIVE_VIEW_H
#define TW_DERIVE_VIEW_H

#include "base/intervals.h"
#include "store/trace.h"
#include "text/str.h"

struct tw_view_options {
	const char *range;	       /* name of an annotation, NULL: not asked for */
	int64_t step_first, step_last; /* profiler steps, -1: not asked for */
	int64_t start_ns, end_ns;      /* TRAWL_TIME_NONE: not asked for */
	const char *device;	       /* NULL: all */
	bool by_time; /* of a range or step the time, not what was launched in it */
};

#define TW_VIEW_OPTIONS_INIT                                                \
	{                                                                   \
		NULL, -1, -1, TRAWL_TIME_NONE, TRAWL_TIME_NONE, NULL, false \
	}

static inline bool tw_view_asks_for_annotation(const struct tw_view_options *options)
{
	return options->range || options->step_first >= 0;
}

struct tw_view {
	bool limited;		     /* windows apply */
	struct tw_intervals windows; /* on the clock of the trace */
	int64_t *skipped_ns;	     /* by window: time between windows before it */
	struct tw_interval recorded; /* first start, last end of anything; when limited by time */
	tw_code device;		     /* TW_CODE_NONE: all */
	struct tw_str label;	     /* what was asked for, for people; empty: the whole trace */
};

/* TRAWL_EUSAGE when the step, range or device is not in the trace (the message lists what is). */
int tw_view_init(struct tw_view *view, const struct trawl_trace *trace,
		 const struct tw_view_options *options, struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_view_release(struct tw_view *view);

/* Makes what follows from `windows`, as tw_view_init() does: 0 or -1. */
int tw_view_settle(struct tw_view *view) TRAWL_MUST_CHECK;
/* Before windows are made anew. */
void tw_view_unsettle(struct tw_view *view);

typedef bool tw_wants_annotation(const void *context, const struct trawl_trace *trace,
				 uint64_t event);

/*
 * The annotations of a class that are wanted, each once, in order of start, into a list of *count, which
 * has room for one more and is the caller's to free.  0 or -1.
 */
int tw_annotations(const struct trawl_trace *trace, enum trawl_class class,
		   tw_wants_annotation *wants, const void *context, struct tw_quality *quality,
		   uint32_t **list, uint64_t *count) TRAWL_MUST_CHECK;

/* Those that a view asks for; those on a GPU of one device, TW_CODE_NONE: of any. */
int tw_view_annotations(const struct trawl_trace *trace, const struct tw_view_options *options,
			enum trawl_class class, tw_code device, struct tw_quality *quality,
			uint32_t **list, uint64_t *count) TRAWL_MUST_CHECK;

/* Cuts windows to what is asked for with start and end. */
void tw_view_cut(struct tw_view *view, const struct tw_view_options *options);

/* Adds to the label, after a comma. */
void tw_view_say(struct tw_view *view, const char *format, ...) TRAWL_PRINTF(2, 3);
static inline const char *tw_view_label(const struct tw_view *view)
{
	return view->label.ptr ? view->label.ptr : "";
}

/* tw_view_clip() of a view that has windows. */
bool tw_view_clip_to_windows(const struct tw_view *view, int64_t *start_ns, int64_t *end_ns);

/*
 * Moves an interval to the clock of the view: what lies outside the windows is cut away.  False
 * when nothing is left.
 */
static inline bool tw_view_clip(const struct tw_view *view, int64_t *start_ns, int64_t *end_ns)
{
	return !view->limited || tw_view_clip_to_windows(view, start_ns, end_ns);
}

/* Where a window begins on the clock of the view. */
static inline int64_t tw_view_window_start(const struct tw_view *view, size_t window)
{
	return view->windows.items[window].start_ns - view->skipped_ns[window];
}

/* The way back, of a clipped interval: its start, and its end, on the clock of the trace. */
int64_t tw_view_real_start(const struct tw_view *view, int64_t start_ns);
int64_t tw_view_real_end(const struct tw_view *view, int64_t start_ns, int64_t end_ns);

#endif
