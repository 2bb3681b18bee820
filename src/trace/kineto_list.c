/*
 * The list of events: one after the other, over windows of text that follow each other, with a
 * second attempt at damaged ones and a way back to the next whole one.
 */
#include "trace/kineto.h"

#include "base/alloc.h"
#include "text/scan.h"

/* No event is larger; what does not end by then is damage. */
#define LARGEST_EVENT ((size_t)64 << 20)
/* A second attempt at a damaged event looks this far. */
#define LARGEST_LENIENT ((size_t)256 << 10)

int tw_kineto_part_init(struct tw_kineto_part *part, struct trawl_trace *trace,
			struct tw_feed *feed)
{
	struct tw_kineto *k = &part->k;
	size_t i;

	k->trace = trace;
	k->feed = feed;
	k->stop = INT64_MAX;
	k->last_category = (struct tw_category_seen){ 0 };
	for (i = 0; i < 64; i++)
		k->tracks[i].index = UINT32_MAX;
	tw_str_init(&k->scratch, trace->allocator);
	k->literals = tw_alloc_array(trace->allocator, TW_LITERAL_CONTEXTS, sizeof(*k->literals));
	k->guesses = tw_alloc_array(trace->allocator, 2 * TW_GUESS_SETS, sizeof(*k->guesses));
	return k->literals && k->guesses ? 0 : tw_kineto_no_memory(part);
}

void tw_kineto_part_release(struct tw_kineto_part *part)
{
	struct tw_kineto *k = &part->k;

	if (!k->trace)
		return;
	tw_free(k->trace->allocator, k->literals, TW_LITERAL_CONTEXTS * sizeof(*k->literals));
	tw_free(k->trace->allocator, k->guesses, 2 * TW_GUESS_SETS * sizeof(*k->guesses));
	tw_str_release(&k->scratch);
}

/* Fresh text, with the text from `keep` on at the front; *p moves along. */
int tw_kineto_more_text(struct tw_kineto_part *part, const char *keep)
{
	struct tw_kineto *k = &part->k;
	size_t kept = (size_t)(k->window.end - keep), after = (size_t)(part->p - keep);
	int status;

	status = tw_feed_next(k->feed, kept, &k->window, &part->err);
	if (status)
		return status;
	part->p = k->window.begin + after;
	if (k->progress &&
	    k->progress(k->progress_context, tw_feed_bytes_read(k->feed) * k->progress_parts,
			tw_feed_file_size(k->feed)))
		return trawl_error_set(&part->err, TRAWL_ECANCELED, "interrupted");
	return 0;
}

/* After white space, at a byte that is there: 1; 0 at the end of the text; negative: failed. */
int tw_kineto_next_byte(struct tw_kineto_part *part)
{
	int status;

	for (;;) {
		part->p = tw_skip_space(part->p);
		if (part->p < part->k.window.end)
			return 1;
		if (part->k.window.last)
			return 0;
		part->p = part->k.window.end;
		status = tw_kineto_more_text(part, part->p);
		if (status)
			return status;
	}
}

void tw_kineto_count(struct tw_kineto_part *part, enum tw_defect kind, int64_t n)
{
	tw_quality_add(&part->k.trace->quality, kind, n, tw_kineto_offset(&part->k, part->p), -1);
}

int tw_kineto_no_memory(struct tw_kineto_part *part)
{
	return tw_no_memory(&part->err);
}

/*
 * Takes the value at p byte by byte into `out` (NULL: nowhere), whatever its size.  1: it ended;
 * 0: the text ended first; negative: failed.
 */
int tw_kineto_take_value(struct tw_kineto_part *part, struct tw_str *out)
{
	size_t depth = 0, len = 0;
	bool in_string = false, escaped = false, any = false;
	int status;

	for (;; part->p++) {
		char c;

		if (part->p >= part->k.window.end) {
			if (part->k.window.last)
				return 0;
			status = tw_kineto_more_text(part, part->k.window.end);
			if (status)
				return status;
			if (part->p >= part->k.window.end && part->k.window.last)
				return 0;
		}
		c = *part->p;
		if (!in_string && !depth && (c == ',' || c == '}' || c == ']'))
			return 1;
		/* The next value begins after this one: the comma between them is missing. */
		if (!in_string && !depth && any && (c == '"' || c == '{' || c == '['))
			return 1;
		any |= !tw_is_space(c);
		if (out && len++ < TW_LARGEST_FIELD)
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

/* Skips to the next event after damaged text; 1 when there is one, 0 at the end of the text. */
int tw_kineto_skip_damage(struct tw_kineto_part *part)
{
	struct tw_kineto *k = &part->k;
	const char *begin = part->p++, *found, *cut, *before;
	char previous = 0; /* the last byte before `begin` that is no blank */
	int status;

	for (;;) {
		found = tw_kineto_find_event(begin, previous, part->p, k->window.end, &cut);
		if (found) {
			part->p = found;
			part->skipped = true;
			return 1;
		}
		if (k->window.last)
			return 0;
		part->p = cut ? cut : k->window.end;
		for (before = part->p; before > begin && tw_is_space(before[-1]); before--)
			;
		if (before > begin)
			previous = before[-1];
		status = tw_kineto_more_text(part, part->p);
		if (status)
			return status;
		begin = part->p;
	}
}

/* The text ended inside or between events. */
static int end_of_text(struct tw_kineto_part *part, bool inside)
{
	part->ended = -1;
	part->place = TW_PLACE_END;
	/* Where skipping ended is irrelevant: it depends on the windows. */
	if (!inside)
		part->p = part->k.window.end;
	/* "The final ] is optional" for a list alone. */
	if (inside || !part->bare)
		tw_kineto_count(part, TW_DEFECT_truncated, 1);
	part->p = part->k.window.end;
	return 0;
}

/* A row for an element that is no event: its place in the numbering is kept. */
static int keep_empty_row(struct tw_kineto_part *part)
{
	static const struct tw_track nowhere = { TW_CODE_NONE, TW_CODE_NONE, TW_CODE_NONE,
						 TW_CODE_NONE };
	struct trawl_trace *trace = part->k.trace;
	uint32_t track = tw_trace_track(trace, &nowhere);
	uint64_t i;

	if (track == UINT32_MAX || tw_events_grow(trace))
		return tw_kineto_no_memory(part);
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
static int skip_stretch(struct tw_kineto_part *part)
{
	int status;

	tw_kineto_count(part, TW_DEFECT_unreadable_stretch, 1);
	status = tw_kineto_skip_damage(part);
	if (status < 0)
		return status;
	return status ? 0 : end_of_text(part, false);
}

/* An element that is no object: a JSON value is counted, anything else is damage. */
static int skip_element(struct tw_kineto_part *part)
{
	struct tw_kineto *k = &part->k;
	int64_t offset = tw_kineto_offset(k, part->p);
	int status;

	if (!tw_is_digit(*part->p) && !strchr("-\"[tfnNI", *part->p))
		return skip_stretch(part);
	tw_str_clear(&k->scratch);
	status = tw_kineto_take_value(part, &k->scratch);
	if (status < 0)
		return status;
	if (k->scratch.failed)
		return tw_kineto_no_memory(part);
	if (status == 0)
		return end_of_text(part, true);
	if (k->scratch.len < TW_LARGEST_FIELD &&
	    tw_text_check(k->scratch.ptr, k->scratch.len) & TW_TEXT_SYNTAX) {
		tw_quality_add(&k->trace->quality, TW_DEFECT_unreadable_stretch, 1, offset, -1);
		return 0;
	}
	tw_quality_add(&k->trace->quality, TW_DEFECT_not_an_event, 1, offset, -1);
	return keep_empty_row(part);
}

int tw_kineto_have_text(struct tw_kineto_part *part, size_t reach)
{
	struct tw_kineto *k = &part->k;
	int status = 0;

	while (!status && !k->window.last && (size_t)(k->window.end - part->p) < reach)
		status = tw_kineto_more_text(part, part->p);
	return status;
}

/* What is read has to end within `largest` bytes from p on. */
static inline void set_limit(struct tw_kineto_part *part, size_t largest)
{
	struct tw_kineto *k = &part->k;

	k->limit = k->window.end;
	if (__builtin_expect((size_t)(k->window.end - part->p) > largest, 0))
		k->limit = part->p + largest;
}

/* One attempt at an event of `largest` bytes at most. */
static inline int attempt_event(struct tw_kineto_part *part, size_t largest,
				enum tw_attempt *attempt)
{
	struct tw_kineto *k = &part->k;

	set_limit(part, largest);
	*attempt = tw_kineto_event(k, &part->p);
	return k->out_of_memory ? tw_kineto_no_memory(part) : 0;
}

/* The strict attempt, with more text as long as it asks for it. */
static inline int try_event(struct tw_kineto_part *part, enum tw_attempt *attempt)
{
	struct tw_kineto *k = &part->k;
	int status;

	for (;;) {
		status = attempt_event(part, LARGEST_EVENT, attempt);
		if (status || *attempt != TW_EVENT_MORE || k->window.last ||
		    (size_t)(k->window.end - part->p) >= LARGEST_EVENT)
			return status;
		status = tw_kineto_more_text(part, part->p);
		if (status)
			return status;
	}
}

/* The second attempt, at a damaged event. */
static int try_damaged_event(struct tw_kineto_part *part, enum tw_attempt *attempt)
{
	int status = tw_kineto_have_text(part, LARGEST_LENIENT + TW_BOUNDARY_CONTEXT);

	if (status)
		return status;
	part->k.lenient = true;
	status = attempt_event(part, LARGEST_LENIENT, attempt);
	part->k.lenient = false;
	return status;
}

int tw_kineto_try_value(struct tw_kineto_part *part, enum tw_attempt *attempt, const char **start)
{
	struct tw_kineto *k = &part->k;
	int status = 0;

	*start = part->p;
	set_limit(part, TW_LARGEST_FIELD);
	*attempt = tw_kineto_value(k, &part->p);
	if (*attempt == TW_EVENT_BAD) {
		status = tw_kineto_have_text(part, LARGEST_LENIENT + TW_BOUNDARY_CONTEXT);
		if (status)
			return status;
		*start = part->p;
		set_limit(part, LARGEST_LENIENT);
		k->lenient = k->beside = true;
		*attempt = tw_kineto_value(k, &part->p);
		k->lenient = k->beside = false;
		/* It could not be read with all the text there is. */
		if (*attempt == TW_EVENT_MORE)
			*attempt = TW_EVENT_BAD;
	}
	return k->out_of_memory ? tw_kineto_no_memory(part) : 0;
}

/*
 * The event at p, read strictly, then leniently, then skipped.  How far an attempt looks is counted
 * from the event, so that windows and parts make no difference.
 */
static int take_event(struct tw_kineto_part *part)
{
	struct tw_kineto *k = &part->k;
	enum tw_attempt attempt;
	int status = try_event(part, &attempt);
	bool cut = attempt == TW_EVENT_MORE && k->window.last &&
		   (size_t)(k->window.end - part->p) < LARGEST_EVENT;
	const char *goes_on;

	if (status || attempt == TW_EVENT_READ)
		return status;
	/* Cut off by the end of the text: nothing to repair. */
	if (cut && !tw_kineto_find_event(part->p, 0, part->p + 1, k->window.end, &goes_on))
		return end_of_text(part, true);
	status = try_damaged_event(part, &attempt);
	if (status || attempt == TW_EVENT_READ)
		return status;
	tw_kineto_count(part, TW_DEFECT_unreadable_event, 1);
	status = tw_kineto_skip_damage(part);
	if (status < 0)
		return status;
	return status ? 0 : end_of_text(part, false);
}

/* Events up to the end of the list, of the text, or of the part. */
int tw_kineto_take_events(struct tw_kineto_part *part)
{
	struct tw_kineto *k = &part->k;
	bool comma = true, first = true;
	int status;

	while (part->place == TW_PLACE_EVENTS) {
		int there = tw_kineto_next_byte(part);

		if (there < 0)
			return there;
		if (!there)
			return end_of_text(part, false);
		switch (*part->p) {
		case ',':
			if (comma)
				tw_kineto_count(part, TW_DEFECT_extra_comma, 1);
			comma = true;
			part->p++;
			continue;
		case ']':
			if (comma && !first)
				tw_kineto_count(part, TW_DEFECT_extra_comma, 1);
			part->p++;
			part->place = TW_PLACE_TAIL;
			part->ended = -1;
			return 0;
		case '{':
			if (!comma)
				tw_kineto_count(part, TW_DEFECT_missing_comma, 1);
			/* The reader of the next part cannot see the text before it. */
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
