/*
 * The events of a trace one by one, for analyses of one's own.
 *
 *	for (i = 0; i < trawl_trace_events(trace); i++) {
 *		struct trawl_event e = trawl_trace_event(trace, i);
 *
 *		if (e.kind == TRAWL_CLASS_MEMCPY && trawl_event_argument(trace, i, bytes, &arg))
 *			total += arg.integer;
 *	}
 *
 * examples/events.c is a whole program.  Texts are ids into the pool of the trace: equal texts have
 * equal ids, trawl_trace_text() has the text.  Nothing here allocates, so nothing fails or is to be
 * freed; several threads may read one trace at once.
 */
#ifndef TRAWL_EVENTS_H
#define TRAWL_EVENTS_H

#include "trawl/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TRAWL_ID_NONE INT64_MIN /* the number of an id that is absent or is a text */

/* A process, thread, stream or correlation: nearly always a number, else a text. */
struct trawl_id {
	int64_t number;
	uint32_t text; /* text id of what is no number, 0: none */
};

struct trawl_event {
	int64_t start_ns, dur_ns; /* TRAWL_TIME_NONE: not recorded */
	uint32_t name, category;  /* text ids, 0: none */
	enum trawl_class kind;
	char phase; /* as in Chrome traces: 'X' slice, 's' and 'f' flow, 'M' metadata, ...; 'x' is a
		       slice without usable times */
	uint32_t track; /* events of one process and thread, or of one stream, have one; below
			   trawl_trace_tracks() */
	struct trawl_id process, thread;
	struct trawl_id device, stream; /* of GPU work; on the host none */
	struct trawl_id correlation;	/* of a launch and its GPU work; of a flow its id */
	struct trawl_id external;	/* "External id" */
};

TRAWL_API struct trawl_event trawl_trace_event(const struct trawl_trace *trace, uint64_t event);
TRAWL_API uint32_t trawl_trace_tracks(const struct trawl_trace *trace);

/* What the value of an argument is. */
enum trawl_value_kind {
	TRAWL_VALUE_NULL,
	TRAWL_VALUE_BOOL,
	TRAWL_VALUE_INTEGER,
	TRAWL_VALUE_REAL,
	TRAWL_VALUE_TEXT,
	TRAWL_VALUE_NUMBER, /* one that neither int64_t nor double holds exactly, as its text */
	TRAWL_VALUE_JSON,   /* a list or object, as its JSON text */
};

struct trawl_argument {
	uint32_t key; /* text id of its name */
	enum trawl_value_kind kind;
	int64_t integer; /* INTEGER, BOOL */
	double real;	 /* REAL */
	uint32_t text;	 /* text id of TEXT, NUMBER, JSON */
};

/* The id of a text, 0: it has none, so nothing in the trace is called so. */
TRAWL_API uint32_t trawl_trace_find_text(const struct trawl_trace *trace, const char *text);

/*
 * The argument of an event with that name (a text id), false: it has none.  Where a name is there
 * twice, the last one.  Correlation and external id are no arguments here but fields of the event.
 */
TRAWL_API bool trawl_event_argument(const struct trawl_trace *trace, uint64_t event, uint32_t key,
				    struct trawl_argument *argument);

/*
 * All arguments of an event, in the order of the input but for a sequence number, which is first:
 * *at begins as 0 and is moved on; false after the last.
 */
TRAWL_API bool trawl_event_next_argument(const struct trawl_trace *trace, uint64_t event,
					 size_t *at, struct trawl_argument *argument);

#ifdef __cplusplus
}
#endif

#endif
