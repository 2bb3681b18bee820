/*
 * The document around the events: `{"schemaVersion": 1, ..., "traceEvents": [ ... ], ...}`, or
 * the list alone.  A large plain file is split at event boundaries and its parts are read by
 * threads of their own; a part is used only when the one before it ended exactly where it began,
 * so a wrong guess of a boundary costs time, not correctness.
 */
#include "trace/kineto.h"

#include "base/alloc.h"
#include "base/thread.h"
#include "base/scan.h"
#include "trace/pairs.h"
#include "trace/reader.h"

/* Fields beside the events are kept up to this size; whole logs have been seen in there. */
#define LARGEST_FIELD ((size_t)1 << 20)
/* No event is larger; what does not end by then is damage. */
#define LARGEST_EVENT ((size_t)64 << 20)
/* A second attempt at a damaged event looks this far. */
#define LARGEST_LENIENT ((size_t)256 << 10)
/* Damage everywhere must not cost more than a few passes over the text. */
#define LENIENT_BUDGET ((int64_t)256 << 20)
/* A part smaller than this is not worth a thread. */
#define SMALLEST_PART ((int64_t)8 << 20)
#define MOST_PARTS 16
/* Enough to see the start of an event and what stands before it. */
#define BOUNDARY_CONTEXT 512

enum place { PLACE_EVENTS, PLACE_TAIL, PLACE_END };

/* One reader at work: the whole document, or the part of a thread. */
struct part {
	struct tw_kineto k;
	const char *p;
	bool bare;	 /* the document is a list, not an object */
	int depth;	 /* objects open around the event list */
	bool any_events; /* a list of events was found */
	bool skipped;	 /* damage was skipped just now, and with it the comma behind it */
	enum place place;
	int64_t first; /* offset of the first event of the part */
	int64_t ended; /* offset where the next part has to begin, -1: the list ended */
	int status;
	struct trawl_error err;
};

/* Fresh text, with what stands from `keep` on at the front; *p moves along. */
static int more_text(struct part *part, const char *keep)
{
	struct tw_kineto *k = &part->k;
	size_t kept = (size_t)(k->window.end - keep), behind = (size_t)(part->p - keep);
	int status;

	status = tw_feed_next(k->feed, kept, &k->window, &part->err);
	if (status)
		return status;
	part->p = k->window.begin + behind;
	if (k->progress &&
	    k->progress(k->progress_context, tw_feed_bytes_read(k->feed) * k->progress_parts,
			tw_feed_file_size(k->feed)))
		return trawl_error_set(&part->err, TRAWL_ECANCELED, "interrupted");
	return 0;
}

/* Behind white space, at a byte that is there: 1; 0 at the end of the text; negative: failed. */
static int next_byte(struct part *part)
{
	int status;

	for (;;) {
		part->p = tw_skip_space(part->p);
		if (part->p < part->k.window.end)
			return 1;
		if (part->k.window.last)
			return 0;
		part->p = part->k.window.end;
		status = more_text(part, part->p);
		if (status)
			return status;
	}
}

static void count(struct part *part, enum tw_defect kind, int64_t n)
{
	tw_quality_add(&part->k.trace->quality, kind, n, tw_kineto_offset(&part->k, part->p), -1);
}

static int no_memory(struct part *part)
{
	return trawl_error_set(&part->err, TRAWL_ENOMEM, "out of memory");
}

/*
 * Takes the value at p byte by byte into `out` (NULL: nowhere), whatever its size.  1: it ended;
 * 0: the text ended first; negative: failed.
 */
static int take_value(struct part *part, struct tw_str *out)
{
	size_t depth = 0, len = 0;
	bool in_string = false, escaped = false;
	int status;

	for (;; part->p++) {
		char c;

		if (part->p >= part->k.window.end) {
			if (part->k.window.last)
				return 0;
			status = more_text(part, part->k.window.end);
			if (status)
				return status;
			if (part->p >= part->k.window.end && part->k.window.last)
				return 0;
		}
		c = *part->p;
		if (!in_string && !depth && (c == ',' || c == '}' || c == ']'))
			return 1;
		if (out && len++ < LARGEST_FIELD)
			tw_str_add_char(out, c);
		if (in_string) {
			if (escaped)
				escaped = false;
			else if (c == '\\')
				escaped = true;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			depth++;
		} else if (c == '}' || c == ']') {
			depth--;
		}
	}
}

static int keep_field(struct part *part, struct tw_str *key, struct tw_str *value)
{
	struct trawl_trace *trace = part->k.trace;
	uint32_t key_id, value_id;

	while (value->len && tw_is_space(value->ptr[value->len - 1]))
		value->len--;
	if (key->failed || value->failed)
		return no_memory(part);
	/* What is too large to keep is still known to be there. */
	if (value->len >= LARGEST_FIELD)
		value->len = 0;
	key_id = tw_pool_intern(&trace->texts, key->ptr ? key->ptr : "", key->len);
	value_id = tw_pool_intern(&trace->texts, value->ptr ? value->ptr : "", value->len);
	if (!key_id || !value_id || tw_trace_add_field(trace, key_id, value_id))
		return no_memory(part);
	return 0;
}

/* Escapes of a key by what they stand for. */
static int decode_key(struct tw_str *key)
{
	struct tw_str plain;

	tw_str_init(&plain, key->allocator);
	tw_text_decode(key->ptr, key->len, &plain);
	tw_str_clear(key);
	tw_str_add(key, plain.ptr ? plain.ptr : "", plain.len);
	key->failed |= plain.failed;
	tw_str_release(&plain);
	return key->failed ? -1 : 0;
}

/* The key at p into `key`, p behind its colon.  As take_value; TRAWL_EFORMAT when there is none. */
static int take_key(struct part *part, struct tw_str *key)
{
	int there = next_byte(part);
	bool escaped = false;

	if (there <= 0)
		return there;
	if (*part->p != '"')
		return TRAWL_EFORMAT;
	for (part->p++;; part->p++) {
		if (part->p >= part->k.window.end) {
			if (part->k.window.last)
				return 0;
			there = more_text(part, part->k.window.end);
			if (there)
				return there;
			if (part->p >= part->k.window.end && part->k.window.last)
				return 0;
		}
		if (*part->p == '"' && !escaped)
			break;
		escaped = *part->p == '\\' && !escaped;
		if (key->len < 1024)
			tw_str_add_char(key, *part->p);
	}
	part->p++;
	if (key->ptr && memchr(key->ptr, '\\', key->len) && decode_key(key))
		return no_memory(part);
	there = next_byte(part);
	if (there <= 0)
		return there;
	if (*part->p != ':')
		return TRAWL_EFORMAT;
	part->p++;
	return next_byte(part);
}

/* ---- the list of events */

/* Skips to the next event behind damaged text; 1 when there is one, 0 at the end of the text. */
static int skip_damage(struct part *part)
{
	struct tw_kineto *k = &part->k;
	const char *found, *keep;
	int status;

	part->p++;
	for (;;) {
		found = tw_kineto_find_event(k->window.begin, part->p, k->window.end);
		/* The end of the window may hide the rest of a key. */
		if (found) {
			part->p = found;
			part->skipped = true;
			return 1;
		}
		if (k->window.last)
			return 0;
		keep = k->window.end - BOUNDARY_CONTEXT;
		if (keep < part->p - 1)
			keep = part->p - 1;
		if (keep < k->window.begin)
			keep = k->window.begin;
		part->p = keep + (keep < k->window.end);
		status = more_text(part, keep);
		if (status)
			return status;
	}
}

/* The text ended inside or between events. */
static int end_of_text(struct part *part, bool inside)
{
	part->ended = -1;
	part->place = PLACE_END;
	/* "The final ] is optional" for a list alone. */
	if (inside || !part->bare)
		count(part, TW_DEFECT_truncated, 1);
	part->p = part->k.window.end;
	return 0;
}

/* A row for an element that is no event: its place in the numbering is kept. */
static int keep_empty_row(struct part *part)
{
	static const struct tw_track nowhere = { TW_CODE_NONE, TW_CODE_NONE, TW_CODE_NONE,
						 TW_CODE_NONE };
	struct trawl_trace *trace = part->k.trace;
	uint32_t track = tw_trace_track(trace, &nowhere);
	uint64_t i;

	if (track == UINT32_MAX || tw_events_grow(trace))
		return no_memory(part);
	i = trace->events.count++;
	trace->events.start_ns[i] = TRAWL_TIME_NONE;
	trace->events.dur_ns[i] = TRAWL_TIME_NONE;
	trace->events.name[i] = 0;
	trace->events.track[i] = track;
	trace->events.correlation[i] = TW_CODE_NONE;
	trace->events.external[i] = TW_CODE_NONE;
	trace->events.args[i] = 0;
	trace->events.category[i] = 0;
	trace->events.phase[i] = 0;
	return 0;
}

/* Skips text that is no JSON, up to the next event. */
static int skip_stretch(struct part *part)
{
	int status;

	count(part, TW_DEFECT_unreadable_stretch, 1);
	status = skip_damage(part);
	if (status < 0)
		return status;
	return status ? 0 : end_of_text(part, false);
}

/* An element that is no object: a JSON value is counted, anything else is damage. */
static int skip_element(struct part *part)
{
	struct tw_kineto *k = &part->k;
	int64_t offset = tw_kineto_offset(k, part->p);
	int status;

	if (!tw_is_digit(*part->p) && !strchr("-\"[tfnNI", *part->p))
		return skip_stretch(part);
	tw_str_clear(&k->scratch);
	status = take_value(part, &k->scratch);
	if (status < 0)
		return status;
	if (k->scratch.failed)
		return no_memory(part);
	if (status == 0)
		return end_of_text(part, true);
	if (k->scratch.len < LARGEST_FIELD &&
	    tw_text_check(k->scratch.ptr, k->scratch.len) & TW_TEXT_SYNTAX) {
		tw_quality_add(&k->trace->quality, TW_DEFECT_unreadable_stretch, 1, offset, -1);
		return 0;
	}
	tw_quality_add(&k->trace->quality, TW_DEFECT_not_an_event, 1, offset, -1);
	return keep_empty_row(part);
}

/* One attempt, with more text as long as it asks for it. */
static int try_event(struct part *part, enum tw_attempt *attempt)
{
	struct tw_kineto *k = &part->k;
	int status;

	for (;;) {
		k->lenient_end = part->p + LARGEST_LENIENT;
		*attempt = tw_kineto_event(k, &part->p);
		if (k->out_of_memory)
			return no_memory(part);
		if (*attempt != TW_EVENT_MORE || k->window.last ||
		    (size_t)(k->window.end - part->p) >=
			    (k->lenient ? LARGEST_LENIENT : LARGEST_EVENT))
			return 0;
		status = more_text(part, part->p);
		if (status)
			return status;
	}
}

/* The event at p, read strictly, then leniently, then skipped. */
static int take_event(struct part *part)
{
	struct tw_kineto *k = &part->k;
	enum tw_attempt attempt;
	int status = try_event(part, &attempt);

	if (status || attempt == TW_EVENT_READ)
		return status;
	if (k->lenient_budget > 0) {
		k->lenient = true;
		status = try_event(part, &attempt);
		k->lenient = false;
		if (status || attempt == TW_EVENT_READ)
			return status;
		k->lenient_budget -= k->failed_at - part->p;
	}
	if (attempt == TW_EVENT_MORE && k->window.last &&
	    !tw_kineto_find_event(k->window.begin, part->p + 1, k->window.end))
		return end_of_text(part, true);
	count(part, TW_DEFECT_unreadable_event, 1);
	status = skip_damage(part);
	if (status < 0)
		return status;
	return status ? 0 : end_of_text(part, false);
}

/* Events up to the end of the list, of the text, or of the part. */
static int take_events(struct part *part)
{
	struct tw_kineto *k = &part->k;
	bool comma = true, first = true;
	int status;

	while (part->place == PLACE_EVENTS) {
		int there = next_byte(part);

		if (there < 0)
			return there;
		if (!there)
			return end_of_text(part, false);
		switch (*part->p) {
		case ',':
			if (comma)
				count(part, TW_DEFECT_extra_comma, 1);
			comma = true;
			part->p++;
			continue;
		case ']':
			if (comma && !first)
				count(part, TW_DEFECT_extra_comma, 1);
			part->p++;
			part->place = PLACE_TAIL;
			part->ended = -1;
			return 0;
		case '{':
			if (!comma)
				count(part, TW_DEFECT_missing_comma, 1);
			/* Who takes the next part cannot see what stands before it. */
			if (tw_kineto_offset(k, part->p) >= k->stop) {
				part->ended = tw_kineto_offset(k, part->p);
				return 0;
			}
			status = take_event(part);
			break;
		case '}':
		case ':':
			/* The rest of something broken. */
			status = skip_stretch(part);
			break;
		default:
			status = skip_element(part);
		}
		if (status)
			return status;
		comma = part->skipped;
		part->skipped = first = false;
	}
	return 0;
}

/* ---- parts */

/* Reads from somewhere in the middle of the file: finds an event start, reads up to `stop`. */
static void read_part(struct part *part)
{
	struct tw_kineto *k = &part->k;
	int64_t start = part->first;
	const char *found = NULL;
	int status = 0;

	part->p = k->window.begin;
	while (!status && !k->window.last && k->window.end - k->window.begin < 4 * BOUNDARY_CONTEXT)
		status = more_text(part, k->window.begin);
	while (!status) {
		found = tw_kineto_find_event(k->window.begin, part->p, k->window.end);
		if (found && tw_kineto_offset(k, found) >= start)
			break;
		if (found) {
			part->p = found + 1;
			continue;
		}
		part->p = k->window.end;
		if (k->window.last)
			break;
		{
			const char *keep = k->window.end - k->window.begin > BOUNDARY_CONTEXT ?
						   k->window.end - BOUNDARY_CONTEXT :
						   k->window.begin;

			part->p = keep;
			status = more_text(part, keep);
		}
	}
	if (!status && found) {
		part->p = found;
		part->first = tw_kineto_offset(k, found);
		status = take_events(part);
	} else {
		part->first = -1;
	}
	part->status = status;
}

static int part_init(struct part *part, struct trawl_trace *trace, struct tw_feed *feed)
{
	struct tw_kineto *k = &part->k;
	size_t i;

	k->trace = trace;
	k->feed = feed;
	k->stop = INT64_MAX;
	k->lenient_budget = LENIENT_BUDGET;
	k->last_category_name = 0;
	k->last_category = 0;
	for (i = 0; i < 64; i++)
		k->tracks[i].index = UINT32_MAX;
	tw_str_init(&k->scratch, trace->allocator);
	k->literals = tw_alloc_array(trace->allocator, TW_LITERAL_CONTEXTS, sizeof(*k->literals));
	return k->literals ? 0 : no_memory(part);
}

static void part_release(struct part *part)
{
	struct tw_kineto *k = &part->k;

	if (!k->trace)
		return;
	tw_free(k->trace->allocator, k->literals, TW_LITERAL_CONTEXTS * sizeof(*k->literals));
	tw_str_release(&k->scratch);
}

/* The main part is piece 0 and goes on where it stands; the others read their stretch. */
struct crew {
	struct part *main;
	struct part *parts; /* 1..count-1; index 0 unused */
	const char *path;
	const struct trawl_read_options *options;
	size_t block_size;
};

static void run_part(void *context, size_t i)
{
	struct crew *crew = context;
	struct part *part = i ? &crew->parts[i] : crew->main;

	if (i == 0)
		part->status = take_events(part);
	else if (!part->status)
		read_part(part);
}

static int open_part(struct crew *crew, struct part *part, int64_t start, int64_t stop)
{
	const struct trawl_allocator *allocator = crew->main->k.trace->allocator;
	struct tw_feed_options options = {
		.allocator = allocator,
		.block_size = crew->block_size,
		.start = start - BOUNDARY_CONTEXT,
		.end = -1,
	};
	struct trawl_trace *trace;
	struct tw_feed *feed = NULL;
	int status;

	part->bare = crew->main->bare;
	part->depth = crew->main->depth;
	part->place = PLACE_EVENTS;
	part->first = start;
	trace = tw_trace_new(allocator);
	if (!trace)
		return no_memory(part);
	status = tw_feed_open(&feed, crew->path, &options, &part->err);
	if (!status)
		status = part_init(part, trace, feed);
	if (status) {
		if (feed)
			tw_feed_close(feed);
		trawl_trace_free(trace);
		part->k.trace = NULL;
		return status;
	}
	part->k.stop = stop;
	part->k.window.offset = options.start;
	part->k.window.begin = part->k.window.end = NULL;
	status = tw_feed_next(feed, 0, &part->k.window, &part->err);
	part->p = part->k.window.begin;
	return status;
}

/*
 * Takes over part i, which began where the main part ended: its events, and its place in the
 * text, from which the main part goes on.
 */
static int adopt_part(struct part *main, struct part *part)
{
	struct trawl_trace *trace = main->k.trace;

	tw_feed_close(main->k.feed);
	main->k.feed = part->k.feed;
	main->k.window = part->k.window;
	main->k.stop = part->k.stop;
	main->k.failed_at = NULL;
	main->p = part->p;
	main->place = part->place;
	main->ended = part->ended;
	/* Joining renumbers nothing that the main part has: its caches stay right. */
	tw_free(trace->allocator, part->k.literals,
		TW_LITERAL_CONTEXTS * sizeof(*part->k.literals));
	tw_str_release(&part->k.scratch);
	if (tw_trace_append(trace, part->k.trace)) {
		part->k.trace = NULL;
		return no_memory(main);
	}
	part->k.trace = NULL;
	return 0;
}

static void discard_part(struct part *part)
{
	struct trawl_trace *trace = part->k.trace;

	if (!trace)
		return;
	part_release(part);
	if (part->k.feed)
		tw_feed_close(part->k.feed);
	trawl_trace_free(trace);
	part->k.trace = NULL;
}

/* Joins the parts in order as long as each began where the one before it ended. */
static int join_parts(struct crew *crew, size_t count)
{
	struct part *main = crew->main;
	size_t i;

	for (i = 1; i < count; i++) {
		struct part *part = &crew->parts[i];

		if (!main->status && main->ended >= 0) {
			if (!part->status && part->first == main->ended) {
				main->status = adopt_part(main, part);
			} else {
				/* Wrong guess: read this stretch from where we are. */
				main->k.stop = part->k.trace ? part->k.stop : INT64_MAX;
				main->status = take_events(main);
			}
		}
		discard_part(part);
	}
	/* The last stretch may have been given up before its end. */
	if (!main->status && main->ended >= 0) {
		main->k.stop = INT64_MAX;
		main->status = take_events(main);
	}
	return main->status;
}

static int take_events_parallel(struct part *main, const char *path,
				const struct trawl_read_options *options)
{
	int64_t here = tw_kineto_offset(&main->k, main->p);
	int64_t rest = tw_feed_file_size(main->k.feed) - here;
	size_t count = rest > 0 ? (size_t)(rest / SMALLEST_PART) : 0, i;
	struct crew crew = { .main = main,
			     .path = path,
			     .options = options,
			     .block_size = options->block_size };
	unsigned threads = options->threads;
	int status;

	if (count > threads)
		count = threads;
	if (count > MOST_PARTS)
		count = MOST_PARTS;
	if (count < 2 || !tw_feed_is_plain(main->k.feed))
		return take_events(main);
	crew.parts = tw_alloc_array(main->k.trace->allocator, count, sizeof(*crew.parts));
	if (!crew.parts)
		return no_memory(main);
	for (i = 1; i < count; i++) {
		int64_t start = here + rest / (int64_t)count * (int64_t)i;
		int64_t stop = i + 1 < count ? start + rest / (int64_t)count : INT64_MAX;

		crew.parts[i].status = open_part(&crew, &crew.parts[i], start, stop);
	}
	main->k.stop = here + rest / (int64_t)count;
	main->k.progress_parts = (int64_t)count;
	tw_parallel(threads, count, run_part, &crew);
	main->k.progress_parts = 1;
	status = join_parts(&crew, count);
	tw_free(main->k.trace->allocator, crew.parts, count * sizeof(*crew.parts));
	return status;
}

/* ---- the document */

/* Whether `key` names the list of events. */
static bool is_events_key(const struct tw_str *key)
{
	return key->len == 11 && !memcmp(key->ptr, "traceEvents", 11);
}

/*
 * Fields of an object from p on (behind its brace or a value) until the list of events begins
 * (1), the document ends (0), or an error.
 */
static int take_fields(struct part *part, bool first)
{
	struct tw_str key, value;
	int there, status = 0;
	bool comma = false;

	tw_str_init(&key, part->k.trace->allocator);
	tw_str_init(&value, part->k.trace->allocator);
	while (part->depth) {
		there = next_byte(part);
		if (there <= 0) {
			status = there;
			if (!there)
				count(part, TW_DEFECT_truncated, 1);
			break;
		}
		if (*part->p == '}') {
			if (comma)
				count(part, TW_DEFECT_extra_comma, 1);
			part->p++;
			part->depth--;
			first = comma = false;
			continue;
		}
		if (*part->p == ',') {
			if (comma || first)
				count(part, TW_DEFECT_extra_comma, 1);
			part->p++;
			comma = true;
			continue;
		}
		if (!first && !comma)
			count(part, TW_DEFECT_missing_comma, 1);
		tw_str_clear(&key);
		tw_str_clear(&value);
		there = take_key(part, &key);
		if (there == TRAWL_EFORMAT) {
			if (part->any_events)
				break;
			status = trawl_error_set_at(
				&part->err, TRAWL_EFORMAT, tw_kineto_offset(&part->k, part->p),
				"no JSON object: a key is expected at byte %lld",
				(long long)tw_kineto_offset(&part->k, part->p));
			break;
		}
		if (there <= 0) {
			status = there;
			if (!there)
				count(part, TW_DEFECT_truncated, 1);
			break;
		}
		first = comma = false;
		if (is_events_key(&key) && *part->p == '[') {
			part->p++;
			status = 1;
			break;
		}
		if (is_events_key(&key) && *part->p == '{') {
			count(part, TW_DEFECT_nested_events, 1);
			part->p++;
			part->depth++;
			first = true;
			continue;
		}
		there = take_value(part, &value);
		if (there < 0) {
			status = there;
			break;
		}
		if (!there) {
			count(part, TW_DEFECT_truncated, 1);
			break;
		}
		status = keep_field(part, &key, &value);
		if (status)
			break;
	}
	tw_str_release(&key);
	tw_str_release(&value);
	return status;
}

/* What stands behind the end of the document. */
static int take_rest(struct part *part)
{
	int there;

	there = next_byte(part);
	if (there <= 0)
		return there;
	if (*part->p == '{' || *part->p == '[')
		count(part, TW_DEFECT_second_document, 1);
	else
		count(part, TW_DEFECT_trailing_text, 1);
	/* Read on, so that a damaged wrapper is seen. */
	while (!part->k.window.last) {
		int status;

		part->p = part->k.window.end;
		status = more_text(part, part->p);
		if (status)
			return status;
	}
	return 0;
}

static int not_json(struct part *part)
{
	unsigned char c = (unsigned char)*part->p;

	if (c > ' ' && c < 127)
		return trawl_error_set_at(&part->err, TRAWL_EFORMAT,
					  tw_kineto_offset(&part->k, part->p),
					  "not a JSON trace (starts with '%c')", c);
	return trawl_error_set_at(&part->err, TRAWL_EFORMAT, tw_kineto_offset(&part->k, part->p),
				  "not a JSON trace (starts with byte 0x%02x)", c);
}

/* JSON that profilers write beside traces, told by a field. */
static const struct {
	const char *field, *what;
} other_documents[] = {
	{ "rocprofiler-sdk-tool", "rocprofv3 JSON, not a Chrome trace: write it with rocprofv3 "
				  "--output-format pftrace, or profile with torch.profiler" },
	{ "nodes", "an execution trace (of ExecutionTraceObserver), not a profiler trace: give the "
		   "trace that torch.profiler exported" },
	{ "deviceProperties", "a trace without its list of events (\"traceEvents\")" },
};

static int no_events(struct part *part)
{
	size_t i, len;

	if (part->k.trace->quality.kinds[TW_DEFECT_truncated].count)
		return trawl_error_set(&part->err, TRAWL_EFORMAT,
				       "the file ends before its list of events (\"traceEvents\")");
	for (i = 0; i < sizeof(other_documents) / sizeof(other_documents[0]); i++)
		if (tw_trace_field(part->k.trace, other_documents[i].field, &len))
			return trawl_error_set(&part->err, TRAWL_EFORMAT, "%s",
					       other_documents[i].what);
	return trawl_error_set(
		&part->err, TRAWL_EFORMAT,
		"JSON without a list of events (\"traceEvents\"): not a profiler trace");
}

/* The document from its first byte to its last. */
static int take_document(struct part *part, const char *path,
			 const struct trawl_read_options *options)
{
	int status = next_byte(part);

	if (status < 0)
		return status;
	if (status == 0)
		return trawl_error_set(
			&part->err, TRAWL_EFORMAT,
			"empty: there is no text in it (the profiler wrote nothing)");
	if (*part->p != '{' && *part->p != '[')
		return not_json(part);
	part->bare = *part->p++ == '[';
	part->depth = !part->bare;
	if (part->depth)
		status = take_fields(part, true);
	while (status > 0) {
		part->any_events = true;
		part->place = PLACE_EVENTS;
		status = take_events_parallel(part, path, options);
		if (status || part->place == PLACE_END || part->bare)
			break;
		status = take_fields(part, false);
	}
	if (status < 0)
		return status;
	if (!part->any_events)
		return no_events(part);
	return part->place == PLACE_END ? 0 : take_rest(part);
}

static void count_feed_notes(struct trawl_trace *trace, const struct tw_feed *feed)
{
	static const enum tw_defect kinds[TW_FEED_NOTE_KINDS] = {
		[TW_FEED_TRUNCATED] = TW_DEFECT_compressed_truncated,
		[TW_FEED_CORRUPT] = TW_DEFECT_compressed_corrupt,
		[TW_FEED_CHECKSUM] = TW_DEFECT_compressed_checksum,
		[TW_FEED_TRAILING] = TW_DEFECT_trailing_bytes,
		[TW_FEED_NESTED] = TW_DEFECT_compressed_twice,
		[TW_FEED_ZLIB] = TW_DEFECT_zlib_wrapper,
		[TW_FEED_UTF16] = TW_DEFECT_utf16,
		[TW_FEED_BOM] = TW_DEFECT_byte_order_mark,
	};
	const struct tw_feed_note *notes = tw_feed_notes(feed);
	size_t i;

	/* The text ends early because the file does: one thing, told once. */
	if (notes[TW_FEED_TRUNCATED].count || notes[TW_FEED_CORRUPT].count)
		trace->quality.kinds[TW_DEFECT_truncated].count = 0;
	for (i = 0; i < TW_FEED_NOTE_KINDS; i++)
		tw_quality_add(&trace->quality, kinds[i], notes[i].count, notes[i].offset, -1);
}

static void take_device_name(struct trawl_trace *trace, const char *text, size_t len)
{
	struct tw_str name;
	uint32_t id;

	tw_str_init(&name, trace->allocator);
	tw_text_decode(text, len, &name);
	id = tw_pool_intern(&trace->texts, name.ptr ? name.ptr : "", name.len);
	trace->device_name = tw_pool_text(&trace->texts, id, NULL);
	trace->texts.failed |= name.failed;
	tw_str_release(&name);
}

/* Facts about the run that stand beside the events. */
static void take_facts(struct trawl_trace *trace)
{
	const char *field, *value;
	size_t len, value_len;

	field = tw_trace_field(trace, "distributedInfo", &len);
	if (field && (value = tw_text_member(field, len, "rank", &value_len)))
		if (!tw_text_integer(value, value_len, &trace->rank))
			trace->rank = -1;
	if (field && (value = tw_text_member(field, len, "world_size", &value_len)))
		if (!tw_text_integer(value, value_len, &trace->world_size))
			trace->world_size = -1;
	field = tw_trace_field(trace, "baseTimeNanoseconds", &len);
	if (field && !tw_text_integer(field, len, &trace->base_time_ns))
		trace->base_time_ns = TRAWL_TIME_NONE;
	field = tw_trace_field(trace, "deviceProperties", &len);
	field = field ? tw_text_element(field, len, 0, &len) : NULL;
	value = field ? tw_text_member(field, len, "name", &value_len) : NULL;
	if (value && value_len > 2 && value[0] == '"')
		take_device_name(trace, value + 1, value_len - 2);
}

int tw_kineto_read(struct trawl_trace *trace, struct tw_feed *feed, const char *path,
		   const struct trawl_read_options *options, struct trawl_error *err)
{
	struct part part = { .ended = -1 };
	int status = part_init(&part, trace, feed);

	part.k.progress = options->progress;
	part.k.progress_context = options->progress_context;
	part.k.progress_parts = 1;
	if (!status)
		status = tw_feed_next(feed, 0, &part.k.window, &part.err);
	part.p = part.k.window.begin;
	if (!status)
		status = take_document(&part, path, options);
	if (!status && tw_pairs_match(trace))
		status = no_memory(&part);
	if (!status) {
		trace->format = "Kineto JSON";
		trace->bytes = part.k.window.offset + (part.k.window.end - part.k.window.begin);
		take_facts(trace);
	}
	count_feed_notes(trace, part.k.feed);
	if (err && status)
		*err = part.err;
	tw_feed_close(part.k.feed);
	part_release(&part);
	return status;
}
