/*
 * The Kineto JSON reader, inside: kineto.c walks the document, kineto_fields.c the fields beside
 * the events, kineto_list.c their list, kineto_parts.c that list by several threads, kineto_event.c reads one event, kineto_repair.c
 * finds the way again in damaged text.
 *
 * One rule governs the streaming: an attempt to read an event either ends at its closing brace
 * inside the window, or fails at some place.  A failure at or after the window's end means
 * "more text is needed"; before it, "this is no valid event".
 */
#ifndef TW_TRACE_KINETO_H
#define TW_TRACE_KINETO_H

#include "io/feed.h"
#include "store/trace.h"
#include "text/text.h"

/*
 * Between two values of an event stands always the same text (`,\n    "tid": `).  It is kept by
 * where it stood, so that the next event's key is found by one comparison of a few words.
 */
#define TW_LITERAL_MAX 48

struct tw_literal {
	uint64_t last_mask; /* of the last of `words` */
	uint32_t key;	    /* text id of the key; 0: the text ends the object */
	uint8_t words;	    /* 0: nothing kept */
	uint8_t len;
	char text[TW_LITERAL_MAX];
};

#define TW_LITERAL_CONTEXTS 32
#define TW_LITERAL_KEYS 128

/*
 * Loops repeat: an operation of the same name mostly has an argument it had before, an event of
 * one name mostly follows one of another.  A text that stood in the same place is compared before
 * it is scanned and looked up.  Strings are kept apart from lists and objects: the text of an
 * object has quotes, which in a string would end it.
 */
struct tw_guess {
	const char *text; /* in the pool */
	uint32_t len;
	uint32_t id; /* 0: no guess */
};

#define TW_GUESS_SETS 4096 /* of strings; as many of lists and objects follow */
#define TW_GUESS_WAYS 2

/* The fields of the event being read. */
struct tw_event_fields {
	int64_t start_ns, dur_ns;
	uint32_t name, category; /* text ids */
	tw_code pid, tid, id;
	tw_code correlation, external;
	tw_code device, stream;
	uint32_t args;
	uint32_t seen; /* keys met, for duplicates; bit by key */
	uint8_t phase;
};

/* No event can have flaws of more kinds. */
#define TW_EVENT_FLAWS 20
#define TW_CATEGORY_CACHE 64

/* Few categories, and one is asked for with every event of another kind than the last. */
struct tw_category_seen {
	uint32_t name; /* text id */
	uint16_t category;
	bool mixed; /* its events are classified by name */
};

struct tw_kineto {
	struct trawl_trace *trace;
	struct tw_feed *feed;
	struct tw_window window;
	const char *failed_at; /* where the last attempt stopped */
	bool lenient;	       /* second attempt at a damaged event */
	bool beside;	       /* the value is outside the events */
	const char *limit;     /* the event has to end before this, or the window's end */

	struct tw_event_fields fields;
	/* Flaws of the event being read, counted when it is kept. */
	struct {
		enum tw_defect kind;
		int64_t offset; /* of the first */
		int64_t count;
	} flaws[TW_EVENT_FLAWS];
	unsigned flaw_kinds;
	unsigned flaw_count; /* of all kinds together */

	struct tw_str scratch;
	uint32_t context;				/* row of `literals` in use */
	struct tw_literal (*literals)[TW_LITERAL_KEYS]; /* [TW_LITERAL_CONTEXTS] */

	struct tw_guess (*guesses)[TW_GUESS_WAYS]; /* [2 * TW_GUESS_SETS] */
	uint32_t last_name;			   /* text id of the name of the event before */

	/* The last category, those seen, a few tracks: neighbours repeat. */
	struct tw_category_seen last_category, categories[TW_CATEGORY_CACHE];
	struct {
		struct tw_track track;
		uint32_t index;
	} tracks[64];

	bool no_python; /* python functions are skipped */
	int64_t stop;	/* events that begin at or after this offset are another's */
	bool out_of_memory;

	int (*progress)(void *context, int64_t bytes_read, int64_t file_size);
	void *progress_context;
	int64_t progress_parts; /* threads that read as much at the same time */
};

enum tw_attempt { TW_EVENT_READ, TW_EVENT_MORE, TW_EVENT_BAD };

/* Tries to read the event at *p (its brace); on TW_EVENT_READ *p is after it, the row is there. */
enum tw_attempt tw_kineto_event(struct tw_kineto *k, const char **p);

/* ---- kineto_keep.c */
/* Looks up what the category of the event that is read means. */
void tw_kineto_find_category(struct tw_kineto *k, struct tw_category_seen *seen);

/* Called as soon as the category is read: the keys of the arguments are guessed by it. */
static inline void tw_kineto_set_category(struct tw_kineto *k)
{
	uint32_t id = k->fields.category;
	struct tw_category_seen *seen = &k->categories[id % TW_CATEGORY_CACHE];

	if (id == k->last_category.name)
		return;
	if (seen->name != id)
		tw_kineto_find_category(k, seen);
	k->last_category = *seen;
}

/* Adds the event that was read as a row; TW_EVENT_BAD only when out of memory. */
enum tw_attempt tw_kineto_keep_event(struct tw_kineto *k, const char *at);

/* Tries to read the text, number or word at *p, beside the events; the flaws are in k->flaws. */
enum tw_attempt tw_kineto_value(struct tw_kineto *k, const char **p);

/* How flaws of text (enum tw_text_flaw) are counted. */
#define TW_TEXT_FLAWS 6
extern const struct tw_text_defect {
	unsigned flaw;
	enum tw_defect kind;
} tw_kineto_text_defects[TW_TEXT_FLAWS];

/* Notes a flaw of the event being read. */
void tw_kineto_flaw(struct tw_kineto *k, enum tw_defect kind, const char *at);

/* Offset in the input of a place in the window. */
static inline int64_t tw_kineto_offset(const struct tw_kineto *k, const char *p)
{
	return k->window.offset + (p - k->window.begin);
}

/* Beside the events and in odd elements, this much of a value is kept; whole logs have been seen. */
#define TW_LARGEST_FIELD ((size_t)1 << 20)
/* Enough to see the start of an event and the text before it, mostly. */
#define TW_BOUNDARY_CONTEXT 512
/* The first key of an event is looked for no further from its brace than this. */
#define TW_KEY_REACH ((size_t)64 << 10)

/* ---- the document: kineto.c and kineto_fields.c; its list: kineto_list.c and kineto_parts.c */

enum tw_kineto_place { TW_PLACE_EVENTS, TW_PLACE_TAIL, TW_PLACE_END };

/* One reader at work: the whole document, or the part of a thread. */
struct tw_kineto_part {
	struct tw_kineto k;
	const char *p;
	bool bare;	     /* the document is a list, not an object */
	int depth;	     /* objects open around the event list */
	int doubtful;	     /* of these, where a brace may be missing instead ... */
	int64_t doubtful_at; /* ... in the value here */
	bool any_events;     /* a list of events was found */
	bool skipped;	     /* damage was skipped just now, and with it the comma after it */
	enum tw_kineto_place place;
	int64_t first; /* offset of the first event of the part */
	int64_t ended; /* offset where the next part has to begin, -1: the list ended */
	int status;
	struct trawl_error err;
};

/* Fresh text, with the text from `keep` on at the front; part->p moves along. */
int tw_kineto_more_text(struct tw_kineto_part *part, const char *keep);
/* Text up to `reach` bytes after p in the window, or all that is left. */
int tw_kineto_have_text(struct tw_kineto_part *part, size_t reach);
/* After white space, at a byte that is there: 1; 0 at the end of the text; negative: failed. */
int tw_kineto_next_byte(struct tw_kineto_part *part);
/*
 * Takes the value at p byte by byte into `out` (NULL: nowhere), whatever its size.  1: it ended;
 * 0: the text ended first; negative: failed.
 */
int tw_kineto_take_value(struct tw_kineto_part *part, struct tw_str *out);
/* Counts a defect at the place where the part stands. */
void tw_kineto_count(struct tw_kineto_part *part, enum tw_defect kind, int64_t n);
int tw_kineto_no_memory(struct tw_kineto_part *part);

/*
 * Fields of an object from p on (after its brace, `first`, or a value) until a list of events
 * begins: 1; 0: the document ends, or there are no more fields; negative: failed.
 */
int tw_kineto_take_fields(struct tw_kineto_part *part, bool first);
/*
 * The text, number or word at p in one attempt, and in a second when it is damaged; *start is
 * where it began, p after it when it was read.
 */
int tw_kineto_try_value(struct tw_kineto_part *part, enum tw_attempt *attempt, const char **start);

/* Moves p to the next event after damaged text: 1; 0 at the end of the text; negative: failed. */
int tw_kineto_skip_damage(struct tw_kineto_part *part);
/* Events up to the end of the list, of the text, or of the part. */
int tw_kineto_take_events(struct tw_kineto_part *part);
/* The same, by several threads where the file is large and plain. */
int tw_kineto_take_events_parallel(struct tw_kineto_part *part,
				   const struct trawl_read_options *options);
int tw_kineto_part_init(struct tw_kineto_part *part, struct trawl_trace *trace,
			struct tw_feed *feed);
void tw_kineto_part_release(struct tw_kineto_part *part);

/* ---- kineto_repair.c */

/*
 * End of the string at p (after its quote) in damaged text: the first quote without a backslash
 * after which the event goes on as events do.  A backslash before the closing quote, as at the
 * end of a Windows path, makes it an escaped quote: the event is lost, and when a comma and a whole
 * key are after it, that is known.  Beside the events, where more would be lost than one, the
 * string then ends there.  NULL with failed_at set when there is no end.
 */
const char *tw_kineto_string_end(struct tw_kineto *k, const char *p, bool is_key);

/*
 * Where a list of events goes on between p and `end`, with an element that begins with "ph": after the element
 * before it; NULL: it does not.
 */
const char *tw_kineto_end_before_event(const char *p, const char *end);

/* Whether the object at p (its brace) begins like an event. */
bool tw_kineto_begins_event(const char *p, const char *end);

/*
 * First place from p on, before `end`, that looks like the start of an event; NULL: none, but text
 * after the end may show that one begins at *cut (NULL: no).  Before `begin` there are blanks and
 * before these the byte `previous`, 0: not known.
 */
const char *tw_kineto_find_event(const char *begin, char previous, const char *p, const char *end,
				 const char **cut);

#endif
