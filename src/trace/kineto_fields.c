/*
 * Fields beside the list of events: `"schemaVersion": 1, "deviceProperties": [ ... ],`.  Texts,
 * numbers and words are read as those of events are; lists and objects, which may be larger than
 * any window, byte by byte.
 */
#include "trace/kineto.h"

#include "text/scan.h"

/* A field's place, for what is counted when it is left. */
static int64_t here(const struct tw_kineto_part *part)
{
	return tw_kineto_offset(&part->k, part->p);
}

static void count_at(struct tw_kineto_part *part, enum tw_defect kind, int64_t n, int64_t offset)
{
	tw_quality_add(&part->k.trace->quality, kind, n, offset, -1);
}

/* ---- the key of the list of events, wherever it turns up */

/*
 * `name` and a colon and a bracket, with blanks between.  After a name without quotes one may
 * stand: text in which the way is lost may have its quotes anywhere.
 */
struct list_match {
	const char *name;
	size_t seen; /* bytes of the name; one more for the colon, and for the bracket */
};

/* Takes the next byte; true: it is the bracket, or the brace of an event after it (`event`). */
static bool match_list(struct list_match *match, char c, bool event)
{
	size_t len = strlen(match->name);
	bool quoted = match->name[0] == '"', goes_on;

	if (match->seen < len) {
		goes_on = c == match->name[match->seen];
	} else {
		if (tw_is_space(c) || (match->seen == len && c == '"' && !quoted))
			return false;
		goes_on = c == (match->seen == len ? ':' : match->seen == len + 1 ? '[' : '{');
	}
	match->seen = goes_on ? match->seen + 1 : c == match->name[0];
	return match->seen == len + 2 + event;
}

/* After the bracket of the list of events: 1; 0: there is none; negative: failed. */
static int find_list(struct tw_kineto_part *part)
{
	struct list_match match = { .name = "traceEvents" };
	int there;

	for (;; part->p++) {
		if (part->p >= part->k.window.end) {
			there = tw_kineto_next_byte(part);
			if (there <= 0)
				return there;
		}
		if (match_list(&match, *part->p, false))
			break;
	}
	part->p++;
	return 1;
}

/* ---- keys */

/* Escapes of a key by what they mean. */
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

static bool is_key_char(char c)
{
	return (unsigned char)((c | 0x20) - 'a') < 26 || tw_is_digit(c) || c == '_';
}

/* A key that has lost its opening quote, or both: p after its name, or TRAWL_EFORMAT. */
static int take_bare_key(struct tw_kineto_part *part, struct tw_str *key)
{
	enum { LONGEST = 64 };
	int status = tw_kineto_have_text(part, 2 * LONGEST);
	const char *start = part->p, *p = start, *after;

	if (status)
		return status;
	while (is_key_char(*p) && p - start < LONGEST)
		p++;
	after = tw_skip_space(p + (*p == '"'));
	if (p == start || after >= part->k.window.end || *after != ':')
		return TRAWL_EFORMAT;
	tw_kineto_count(part, TW_DEFECT_bare_key, 1);
	tw_str_add(key, start, (size_t)(p - start));
	part->p = after;
	return 1;
}

/* The string at p into `key`, p after it. */
static int take_quoted_key(struct tw_kineto_part *part, struct tw_str *key)
{
	bool escaped = false;
	int there;

	for (part->p++;; part->p++) {
		if (part->p >= part->k.window.end) {
			if (part->k.window.last)
				return 0;
			there = tw_kineto_more_text(part, part->k.window.end);
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
		return tw_kineto_no_memory(part);
	return 1;
}

/*
 * The key at p into `key`, p at its value: 1; 0: the text ended; TRAWL_EFORMAT: there is none;
 * other negative: failed.
 */
static int take_key(struct tw_kineto_part *part, struct tw_str *key)
{
	int there = tw_kineto_next_byte(part);

	if (there > 0)
		there = *part->p == '"' ? take_quoted_key(part, key) : take_bare_key(part, key);
	if (there > 0)
		there = tw_kineto_next_byte(part);
	if (there <= 0)
		return there;
	if (*part->p != ':')
		return TRAWL_EFORMAT;
	part->p++;
	return tw_kineto_next_byte(part);
}

/* ---- values */

/* How a value went. */
enum taken {
	TAKEN_CUT,  /* the text ended first */
	TAKEN,	    /* p is after it */
	TAKEN_LIST, /* the list of events begins at p, in a value that was never closed */
	TAKEN_NONE, /* it cannot be understood; p is where it begins, or after */
};

/* A text, number or word as inside events; values too large for that unchanged. */
static int take_scalar(struct tw_kineto_part *part, struct tw_str *out)
{
	struct tw_kineto *k = &part->k;
	enum tw_attempt attempt;
	const char *start;
	int status;
	unsigned i;

	for (;;) {
		status = tw_kineto_try_value(part, &attempt, &start);
		if (status)
			return status;
		if (attempt != TW_EVENT_MORE)
			break;
		if ((size_t)(k->window.end - part->p) >= TW_LARGEST_FIELD)
			return tw_kineto_take_value(part, out);
		if (k->window.last)
			return TAKEN_CUT;
		status = tw_kineto_more_text(part, part->p);
		if (status)
			return status;
	}
	if (attempt == TW_EVENT_BAD)
		return TAKEN_NONE;
	for (i = 0; i < k->flaw_kinds; i++)
		count_at(part, k->flaws[i].kind, k->flaws[i].count, k->flaws[i].offset);
	tw_str_add(out, start, (size_t)(part->p - start));
	return TAKEN;
}

/* Levels of nesting of which it is known whether they are objects or lists: a bit each. */
#define TOLD_LEVELS 64

/* A list or object on its way. */
struct nested {
	struct tw_str *out;
	size_t len;	  /* bytes so far; `out` keeps no more than TW_LARGEST_FIELD */
	uint64_t objects; /* bit i: level i is an object; newest lowest */
	size_t depth;
	bool in_string, escaped;
	bool unclosed;	  /* a bracket is missing */
	size_t quote;	  /* bytes in front of the last string */
	const char *hold; /* its quote, when it is in a list and may be a key; NULL: it is none */
	const char *list; /* the first event of what looks like the list of events; NULL: none */
};

static bool in_object(const struct nested *n)
{
	return n->depth > TOLD_LEVELS || (n->objects & 1);
}

static void open_level(struct nested *n, bool object)
{
	if (n->depth++ < TOLD_LEVELS)
		n->objects = n->objects << 1 | object;
}

static void close_level(struct nested *n)
{
	if (n->depth-- <= TOLD_LEVELS)
		n->objects >>= 1;
}

/* Closes what a bracket closes; one that was forgotten before goes with it.  False: not ours. */
static bool close_bracket(struct nested *n, bool object, bool strict)
{
	uint64_t told = n->depth < TOLD_LEVELS ? ((uint64_t)1 << n->depth) - 1 : UINT64_MAX;
	uint64_t same = (object ? n->objects : ~n->objects) & told;

	if (n->depth <= TOLD_LEVELS && !same && strict)
		return false;
	while (n->depth <= TOLD_LEVELS && same && in_object(n) != object)
		close_level(n);
	close_level(n);
	return true;
}

/* The value as it is up to `len`, with the brackets that are missing. */
static void cut_nested(struct nested *n, size_t len)
{
	struct tw_str *out = n->out;

	if (len >= TW_LARGEST_FIELD || n->depth > TOLD_LEVELS)
		return;
	out->len = len;
	while (out->len && (tw_is_space(out->ptr[out->len - 1]) || out->ptr[out->len - 1] == ','))
		out->len--;
	for (; n->depth; close_level(n))
		tw_str_add_char(out, in_object(n) ? '}' : ']');
}

/* A byte outside of strings that is no blank.  True: the value ends in front of it, or with it. */
static bool take_structure(struct tw_kineto_part *part, struct nested *n, char c)
{
	bool ends = false;

	switch (c) {
	case '"':
		n->in_string = true;
		n->quote = n->len;
		n->hold = in_object(n) ? NULL : part->p;
		return false;
	case ':':
		/* A key, but in a list: that was to end before. */
		if (!n->hold || (size_t)(part->p - n->hold) > TW_KEY_REACH)
			break;
		n->unclosed = true;
		while (n->depth && !in_object(n))
			close_level(n);
		if (n->depth)
			break;
		open_level(n, false);
		part->p = n->hold;
		part->skipped = true;
		cut_nested(n, n->quote);
		return true;
	case '[':
	case '{':
		open_level(n, c == '{');
		break;
	case ']':
	case '}':
		/* After the events the object around them ends sooner or later. */
		if (!close_bracket(n, c == '}', part->any_events)) {
			n->unclosed = true;
			cut_nested(n, n->len);
			return true;
		}
		ends = !n->depth;
		break;
	}
	n->hold = NULL;
	if (n->len++ < TW_LARGEST_FIELD)
		tw_str_add_char(n->out, c);
	part->p += ends;
	return ends;
}

static void take_text(struct nested *n, char c)
{
	if (n->escaped)
		n->escaped = false;
	else if (c == '\\')
		n->escaped = true;
	else if (c == '"')
		n->in_string = false;
}

/* More text for a value; a string that may be a key stays, and what may be the list. */
static int nested_text(struct tw_kineto_part *part, struct nested *n)
{
	struct tw_kineto *k = &part->k;
	const char *keep;
	size_t after;
	int status;

	if (n->hold && (size_t)(part->p - n->hold) > TW_KEY_REACH)
		n->hold = NULL;
	if (k->window.last)
		return 0;
	keep = n->list ? n->list : n->hold ? n->hold : k->window.end;
	after = n->hold ? (size_t)(n->hold - keep) : 0;
	status = tw_kineto_more_text(part, keep);
	if (status)
		return status;
	if (n->list)
		n->list = k->window.begin;
	if (n->hold)
		n->hold = k->window.begin + after;
	return 1;
}

/* The bytes of a list or object; what they were up to the list of events, into *before. */
static int scan_nested(struct tw_kineto_part *part, struct nested *n, struct nested *before)
{
	struct list_match match = { .name = "\"traceEvents\"" };
	int there;

	for (;; part->p++) {
		char c;

		while (part->p >= part->k.window.end) {
			if (n->list && (size_t)(part->p - n->list) >= TW_LARGEST_FIELD)
				return TAKEN_LIST;
			there = nested_text(part, n);
			if (there <= 0)
				return there;
		}
		c = *part->p;
		if (!part->any_events && !n->list && match_list(&match, c, true)) {
			*before = *n;
			n->list = part->p;
			if (n->in_string)
				return TAKEN_LIST;
		}
		if (n->in_string) {
			take_text(n, c);
		} else if (!tw_is_space(c)) {
			if (take_structure(part, n, c))
				return TAKEN;
			if (c != '"')
				continue;
		}
		if (n->len++ < TW_LARGEST_FIELD)
			tw_str_add_char(n->out, c);
	}
}

/* What is odd in the text of a value that began at `offset`; half characters are put right. */
static int check_nested(struct tw_kineto_part *part, struct nested *n, int64_t offset)
{
	struct tw_str *out = n->out, *scratch = &part->k.scratch;
	unsigned flaws = 0;
	size_t i;

	if (out->failed)
		return tw_kineto_no_memory(part);
	if (out->len < TW_LARGEST_FIELD)
		flaws = tw_text_check(out->ptr, out->len);
	if (n->unclosed)
		flaws |= TW_TEXT_SYNTAX;
	for (i = 0; i < TW_TEXT_FLAWS; i++)
		if (flaws & tw_kineto_text_defects[i].flaw)
			count_at(part, tw_kineto_text_defects[i].kind, 1, offset);
	if (!(flaws & TW_TEXT_SURROGATE))
		return TAKEN;
	tw_str_clear(scratch);
	tw_text_mend_surrogates(out->ptr, out->len, scratch);
	tw_str_clear(out);
	tw_str_add(out, scratch->ptr, scratch->len);
	return scratch->failed ? tw_kineto_no_memory(part) : TAKEN;
}

/*
 * The list of events inside a value.  In an object it may have been meant, or a brace is missing:
 * the end of the document shows which.  In a string or a list it was not meant.
 */
static int leave_nested(struct tw_kineto_part *part, struct nested *n, int64_t offset)
{
	uint64_t told;
	int status;

	close_level(n);
	told = n->depth < TOLD_LEVELS ? ((uint64_t)1 << n->depth) - 1 : UINT64_MAX;
	if (n->in_string || n->depth > TOLD_LEVELS) {
		count_at(part, TW_DEFECT_unreadable_stretch, 1, offset);
		tw_str_clear(n->out);
		return TAKEN_LIST;
	}
	if ((n->objects & told) == told) {
		part->doubtful = (int)n->depth;
		part->doubtful_at = offset;
		part->depth += part->doubtful;
	} else {
		n->unclosed = true;
	}
	cut_nested(n, n->quote);
	status = check_nested(part, n, offset);
	return status < 0 ? status : TAKEN_LIST;
}

/*
 * Whether the list in a value that was `taken` is that of the document: 1 or 0.  It is not where
 * the value ends as it should and more fields follow.
 */
static int is_the_list(struct tw_kineto_part *part, struct nested *n, int taken)
{
	const char *next;

	if (taken != TAKEN || n->unclosed || (size_t)(part->p - n->list) >= TW_LARGEST_FIELD)
		return 1;
	n->hold = NULL;
	for (;;) {
		int there;

		next = tw_skip_space(part->p);
		if (next < part->k.window.end)
			return *next != ',' && *next != '"';
		there = nested_text(part, n);
		if (there <= 0)
			return there ? there : 1;
	}
}

static int take_nested(struct tw_kineto_part *part, struct tw_str *out)
{
	struct nested n = { .out = out }, before;
	int64_t offset = here(part);
	int taken = scan_nested(part, &n, &before), meant = 0;

	if (taken >= 0 && n.list)
		meant = is_the_list(part, &n, taken);
	if (taken < 0 || meant < 0)
		return taken < 0 ? taken : meant;
	if (meant) {
		part->p = n.list;
		return leave_nested(part, &before, offset);
	}
	return taken == TAKEN ? check_nested(part, &n, offset) : taken;
}

/* ---- fields */

/* A field given before counts no more: the last one does. */
static int keep_field(struct tw_kineto_part *part, struct tw_str *key, struct tw_str *value,
		      int64_t offset)
{
	struct trawl_trace *trace = part->k.trace;
	uint32_t key_id, value_id, known = trace->texts.count, i;

	while (value->len && tw_is_space(value->ptr[value->len - 1]))
		value->len--;
	if (key->failed || value->failed)
		return tw_kineto_no_memory(part);
	/* What is too large to keep is still known to be there. */
	if (value->len >= TW_LARGEST_FIELD)
		value->len = 0;
	key_id = tw_pool_intern(&trace->texts, key->ptr ? key->ptr : "", key->len);
	value_id = tw_pool_intern(&trace->texts, value->ptr ? value->ptr : "", value->len);
	if (!key_id || !value_id)
		return tw_kineto_no_memory(part);
	/* A new text is the key of no other field. */
	for (i = 0; key_id < known && i < trace->field_count; i++) {
		if (trace->fields[i].key != key_id)
			continue;
		trace->fields[i].value = value_id;
		count_at(part, TW_DEFECT_duplicate_key, 1, offset);
		return 0;
	}
	return tw_trace_add_field(trace, key_id, value_id) ? tw_kineto_no_memory(part) : 0;
}

/* Whether `key` names the list of events. */
static bool is_events_key(const struct tw_str *key)
{
	return key->len == 11 && !memcmp(key->ptr, "traceEvents", 11);
}

/* Damage at `offset`: on with the list of events (1); without one 0, after one, or an error. */
static int leave_damage(struct tw_kineto_part *part, const char *missing, int64_t offset)
{
	int found = find_list(part);

	if (!found && !part->any_events)
		return trawl_error_set_at(&part->err, TRAWL_EFORMAT, offset,
					  "not a JSON object: expected a %s at byte %lld", missing,
					  (long long)offset);
	if (found >= 0)
		count_at(part, TW_DEFECT_unreadable_stretch, 1, offset);
	return found;
}

/* The end of the text in the middle of the document. */
static int end_of_fields(struct tw_kineto_part *part)
{
	part->p = part->k.window.end;
	/* A brace that was missing in front of the events is one too few here. */
	if (part->depth > part->doubtful)
		tw_kineto_count(part, TW_DEFECT_truncated, 1);
	return 0;
}

enum { FIELD_KEPT = 2, FIELD_OPENED = 3, FIELD_NONE = 4 };

/*
 * The field at p: FIELD_KEPT; FIELD_OPENED: it is an object around the list; 1: the list begins;
 * 0: the document ends; FIELD_NONE: there is none, after the events; negative: failed.
 */
static int take_field(struct tw_kineto_part *part, struct tw_str *key, struct tw_str *value)
{
	int64_t offset;
	int there, status;

	tw_str_clear(key);
	tw_str_clear(value);
	there = take_key(part, key);
	if (there == TRAWL_EFORMAT)
		return part->any_events ? FIELD_NONE : leave_damage(part, "key", here(part));
	if (there <= 0)
		return there ? there : end_of_fields(part);
	if (is_events_key(key) && *part->p == '[') {
		if (part->any_events)
			tw_kineto_count(part, TW_DEFECT_duplicate_key, 1);
		part->p++;
		return 1;
	}
	if (is_events_key(key) && *part->p == '{') {
		tw_kineto_count(part, TW_DEFECT_nested_events, 1);
		part->p++;
		part->depth++;
		return FIELD_OPENED;
	}
	offset = here(part);
	there = *part->p == '{' || *part->p == '[' ? take_nested(part, value) :
						     take_scalar(part, value);
	if (there < 0)
		return there;
	if (there == TAKEN_CUT)
		return end_of_fields(part);
	status = keep_field(part, key, value, offset);
	if (status)
		return status;
	if (there == TAKEN_NONE)
		return leave_damage(part, "value", offset);
	return there == TAKEN_LIST ? 1 : FIELD_KEPT;
}

/*
 * A closing bracket where a field or the end of the object may be.  In front of the events one that
 * leaves nothing open, with more after it, is one too many: nothing is lost.  1; 0: it is no
 * bracket that can stand here; negative: failed.
 */
static int take_end(struct tw_kineto_part *part)
{
	int64_t offset = here(part);
	bool brace = *part->p == '}';
	int there;

	if (!brace && part->any_events)
		return 0;
	part->p++;
	part->depth -= brace;
	if (part->any_events || (brace && part->depth))
		return 1;
	there = tw_kineto_next_byte(part);
	if (there < 0)
		return there;
	if (brace && !(there && (*part->p == ',' || *part->p == '"' || *part->p == ']')))
		return 1;
	count_at(part, TW_DEFECT_malformed_value, 1, offset);
	part->depth += brace;
	return 1;
}

int tw_kineto_take_fields(struct tw_kineto_part *part, bool first)
{
	struct tw_str key, value;
	int status = FIELD_KEPT;
	bool comma = false;

	tw_str_init(&key, part->k.trace->allocator);
	tw_str_init(&value, part->k.trace->allocator);
	while (status > 1 && part->depth) {
		int there = tw_kineto_next_byte(part);

		if (there <= 0) {
			status = there ? there : end_of_fields(part);
			break;
		}
		if (*part->p == '}' || *part->p == ']') {
			if (comma && *part->p == '}')
				tw_kineto_count(part, TW_DEFECT_extra_comma, 1);
			there = take_end(part);
			if (there < 0)
				status = there;
			if (there)
				first = comma = false;
			if (there)
				continue;
		}
		if (*part->p == ',') {
			if (comma || first)
				tw_kineto_count(part, TW_DEFECT_extra_comma, 1);
			part->p++;
			comma = true;
			continue;
		}
		if (!first && !comma && *part->p != ']')
			tw_kineto_count(part, TW_DEFECT_missing_comma, 1);
		status = take_field(part, &key, &value);
		first = status == FIELD_OPENED;
		comma = part->skipped;
		part->skipped = false;
		if (status == FIELD_NONE)
			break;
	}
	tw_str_release(&key);
	tw_str_release(&value);
	return status > 1 ? 0 : status;
}
