/*
 * The event store: what a reader fills and every analysis reads.
 *
 * A reader builds (tw_trace_new, append to `events`, `args`, `texts`), tw_trace_finish() settles
 * and checks, and from then on everybody has a `const struct trawl_trace *`.
 */
#ifndef TW_STORE_TRACE_H
#define TW_STORE_TRACE_H

#include "base/ids.h"
#include "store/args.h"
#include "store/captures.h"
#include "store/keys.h"
#include "store/origins.h"
#include "store/pool.h"
#include "store/quality.h"
#include "trawl/trace.h"

/*
 * 64-bit ids as 32-bit codes: numbers below 2^31 are themselves; everything else (negative,
 * larger, text) is 2^31 + the text id of its digits.  Equal ids have equal codes.
 */
typedef uint32_t tw_code;
#define TW_CODE_NONE UINT32_MAX
#define TW_CODE_TEXT (1u << 31)

#define TW_EVENT_COLUMN_COUNT 9

struct tw_events {
	uint64_t count;
	uint64_t borrowed; /* behind them: store/captures.h */
	uint64_t capacity;
	int64_t *start_ns;    /* TRAWL_TIME_NONE: missing */
	int64_t *dur_ns;      /* TRAWL_TIME_NONE: missing; never negative in a finished trace */
	uint32_t *name;	      /* text id */
	uint32_t *track;      /* index into tracks */
	tw_code *correlation; /* slices: correlation; flows: their id; 0 and NONE: none */
	tw_code *external;    /* External id; 0 and NONE: none */
	uint32_t *args;	      /* record in `args`, in units of TW_ARGS_ALIGN; 0: none */
	uint16_t *category;   /* index into categories */
	uint8_t *phase; /* 'X' slice, 'M', 's', 'f', ...; a slice without usable time is 'x' */
	size_t column_bytes[TW_EVENT_COLUMN_COUNT]; /* allocated, by column */
};

/* For tw_sort(): the start of an event as a key; `events` is a struct tw_events. */
uint64_t tw_events_start_key(const void *events, uint32_t event);

/* Where an event happened: thread of a process, or stream of a device. */
struct tw_track {
	tw_code pid, tid;
	tw_code device, stream; /* TW_CODE_NONE on the host */
};

struct tw_category {
	uint32_t name; /* text id, 0: events without a category */
	enum trawl_class class;
};

/* A field of the input beside the event list, as JSON text. */
struct tw_field {
	uint32_t key, value; /* text ids */
};

/* A rank of several in one trace: store/parts.h. */
struct tw_part {
	int64_t rank; /* by its label or mark, -1: not known */
};

/* Distinct values of a cell of the column. */
#define TW_MAX_CATEGORIES UINT16_MAX

struct trawl_trace {
	const struct trawl_allocator *allocator;
	struct tw_events events;
	struct tw_args args;
	struct tw_pool texts;
	struct tw_captures captures; /* what graph launches may be replays of */

	struct tw_track *tracks;
	uint32_t track_count, track_capacity;
	uint32_t *track_slots; /* open addressing, 0: free, else track + 1 */
	uint32_t track_slot_count;

	struct tw_category *categories;
	size_t category_capacity;
	unsigned category_count;
	struct tw_ids category_ids; /* by name and class, of those with a name */

	struct tw_field *fields;
	uint32_t field_count;
	size_t field_capacity;

	struct tw_origins origins; /* of events that come from a database */
	struct tw_part *rank_parts;
	uint32_t part_count, part_room; /* 0: the trace is one */
	uint32_t *part_of_track;	/* as many as track_capacity; NULL: the trace is one */
	bool labelled;			/* `rank` is from a label of the process */
	bool marked;			/* `rank` is from the mark of the processes of its part */
	bool by_process; /* correlation ids count per process: (pid, correlation) is exact */

	struct tw_quality quality;
	struct trawl_defect *defects; /* the record as shown, made by finish */
	size_t defect_count;

	const char *format;	  /* what was read, such as "Kineto JSON" */
	bool bare;		  /* of JSON: a list of events, and nothing around it */
	const char *holds;	  /* where it has no events: what else is in the input; NULL */
	int64_t bytes;		  /* of text read, decompressed */
	uint32_t parts;		  /* that were read by other threads, and joined */
	int64_t rank, world_size; /* -1: unknown */
	const char *device_name;  /* of the first device, "": unknown */
	int64_t device_bytes;	  /* its memory, -1: unknown */
	int64_t device_units;	  /* its multiprocessors or compute units, -1: unknown */
	int64_t device_compute;	  /* its compute capability, 94 for 9.4, -1: unknown */
	int64_t base_time_ns;	  /* TRAWL_TIME_NONE: missing */
};

struct trawl_trace *tw_trace_new(const struct trawl_allocator *allocator);

/* Room for one more event in all columns: 0 or -1. */
int tw_events_grow(struct trawl_trace *trace);

/* Room for `more` events in all columns: 0 or -1. */
int tw_events_reserve(struct tw_events *events, uint64_t more,
		      const struct trawl_allocator *allocator);

/*
 * Moves one column of `more` (0 to TW_EVENT_COLUMN_COUNT - 1) after that of `events`, which has
 * room; counts stay as they are.
 */
void tw_events_take_column(struct tw_events *events, struct tw_events *more, size_t column,
			   const struct trawl_allocator *allocator);

/* What columns hold. */
void tw_events_release(struct tw_events *events, const struct trawl_allocator *allocator);

/* The index of a track, adding it when new; UINT32_MAX when out of memory. */
uint32_t tw_trace_track(struct trawl_trace *trace, const struct tw_track *track);

/* The same without adding: UINT32_MAX when it is not there. */
uint32_t tw_trace_find_track(const struct trawl_trace *trace, const struct tw_track *track);

/* The index of the category with this name (0: none), adding it; the last one holds the rest. */
unsigned tw_trace_category(struct trawl_trace *trace, uint32_t name, enum trawl_class class);

int tw_trace_add_field(struct trawl_trace *trace, uint32_t key, uint32_t value);

/* The JSON text of a field beside the event list, NULL when absent. */
const char *tw_trace_field(const struct trawl_trace *trace, const char *key, size_t *len);

/*
 * Moves the events of `more` after those of `trace` and frees it: text ids, tracks and
 * categories are translated.  0 or -1; `more` is freed either way.
 */
int tw_trace_append(struct trawl_trace *trace, struct trawl_trace *more);

/* The code of a text id or number; text that is a plain number below 2^31 becomes that number. */
tw_code tw_code_from_text(struct trawl_trace *trace, const char *text, size_t len);
tw_code tw_code_from_integer(struct trawl_trace *trace, int64_t value);
/* Writes the id's text to `buffer` (at least 24 bytes) or returns the pooled one. */
const char *tw_code_text(const struct trawl_trace *trace, tw_code code, char *buffer, size_t *len);
/* Order for display: numbers by value, then texts. */
int tw_code_compare(const struct trawl_trace *trace, tw_code a, tw_code b);

static inline enum trawl_class tw_class(const struct trawl_trace *trace, uint64_t event)
{
	return trace->categories[trace->events.category[event]].class;
}

static inline bool tw_class_is_gpu(enum trawl_class class)
{
	return class >= TRAWL_CLASS_KERNEL;
}

static inline bool tw_class_is_launch(enum trawl_class class)
{
	return class == TRAWL_CLASS_RUNTIME || class == TRAWL_CLASS_DRIVER;
}

/*
 * Kinds seen in `quality`, worst first, as tw_quality_list(); events that come from a database are
 * told by table and row.
 */
size_t tw_trace_list_defects(const struct trawl_trace *trace, const struct tw_quality *quality,
			     struct trawl_defect *out);

/* Counts defects of the columns, makes the record to show.  0 or -1. */
int tw_trace_finish(struct trawl_trace *trace) TRAWL_MUST_CHECK;

#endif
