/*
 * One event of a Kineto trace, from text to columns.  This is the hot loop of the whole
 * program: everything here runs once for each event, most of it once for each field.
 */
#include "trace/kineto.h"

#include "base/hash.h"
#include "text/scan.h"
#include "trace/reader.h"

#include <strings.h>

void tw_kineto_flaw(struct tw_kineto *k, enum tw_defect kind, const char *at)
{
	unsigned i;

	k->flaw_count++;
	for (i = 0; i < k->flaw_kinds && k->flaws[i].kind != kind; i++)
		;
	if (i == TW_EVENT_FLAWS)
		return;
	if (i == k->flaw_kinds) {
		k->flaws[i].kind = kind;
		k->flaws[i].offset = tw_kineto_offset(k, at);
		k->flaws[i].count = 0;
		k->flaw_kinds++;
	}
	k->flaws[i].count++;
}

/* Lists and objects in arguments are shorter, mostly. */
#define USUAL_NESTED (16 << 10)
/* A python function is hardly longer. */
#define USUAL_EVENT 1024

/* Flag of a pooled text that was looked at as JSON, beside the flaws found (enum tw_text_flaw). */
#define TEXT_CHECKED 128u

static const char *fail(struct tw_kineto *k, const char *at)
{
	k->failed_at = at;
	return NULL;
}

const struct tw_text_defect tw_kineto_text_defects[TW_TEXT_FLAWS] = {
	{ TW_TEXT_CONTROL, TW_DEFECT_control_character },
	{ TW_TEXT_ESCAPE, TW_DEFECT_bad_escape },
	{ TW_TEXT_UTF8, TW_DEFECT_bad_utf8 },
	{ TW_TEXT_SURROGATE, TW_DEFECT_bad_surrogate },
	{ TW_TEXT_NAN, TW_DEFECT_not_a_number },
	{ TW_TEXT_SYNTAX, TW_DEFECT_malformed_value },
};

static void note_text_flaws(struct tw_kineto *k, unsigned flaws, const char *at)
{
	size_t i;

	for (i = 0; i < TW_TEXT_FLAWS; i++)
		if (flaws & tw_kineto_text_defects[i].flaw)
			tw_kineto_flaw(k, tw_kineto_text_defects[i].kind, at);
}

static uint32_t intern(struct tw_kineto *k, const char *text, size_t len)
{
	uint32_t id = tw_pool_intern(&k->trace->texts, text, len);

	if (!id)
		k->out_of_memory = true;
	return id;
}

/* Where a text is remembered: by its kind, the key before it, and what else it may depend on. */
enum guess_kind { GUESS_STRING, GUESS_NESTED = TW_GUESS_SETS };

static inline struct tw_guess *guess_set(struct tw_kineto *k, enum guess_kind kind, uint32_t key,
					 uint32_t other)
{
	uint32_t hash = key * 0x9e3779b1u ^ other * 0x85ebca6bu;

	return k->guesses[kind + (hash >> 7 & (TW_GUESS_SETS - 1))];
}

/*
 * The guess whose text is at p, followed by `end` (a quote, or 0 for text that ends itself);
 * NULL: none.
 */
static inline const struct tw_guess *guess_text(const struct tw_kineto *k, struct tw_guess *set,
						const char *p, char end)
{
	unsigned way;

	/* In damaged text a string may go on after a quote. */
	for (way = 0; way < TW_GUESS_WAYS && !k->lenient; way++) {
		const struct tw_guess *guess = &set[way];

		/* A shorter rest of the window cannot hold it, nor one that ends before p. */
		if (guess->id && (ptrdiff_t)guess->len + 1 < k->window.end - p &&
		    !memcmp(guess->text, p, guess->len) && (!end || p[guess->len] == end))
			return guess;
	}
	return NULL;
}

static inline void keep_guess(struct tw_kineto *k, struct tw_guess *set, uint32_t id)
{
	const struct tw_pool_entry *text = &k->trace->texts.entries[id];

	/* Texts with flaws are counted each time they are met: they are read in full. */
	if (k->lenient || !id || k->trace->texts.flags[id] & ~TEXT_CHECKED)
		return;
	set[1] = set[0];
	set[0] = (struct tw_guess){ text->ptr, text->len, id };
}

/* The rest of a string that has more in it than plain ASCII: `special` is the first such byte. */
static const char *read_odd_string(struct tw_kineto *k, const char *text, const char *special,
				   bool is_key, uint32_t *id)
{
	const char *p = special;

	if (k->lenient) {
		p = tw_kineto_string_end(k, text, is_key);
		if (!p)
			return NULL;
	} else {
		while (*p != '"') {
			p += *p == '\\' ? 2 : 1;
			p = tw_scan_string(p);
			if (p >= k->window.end)
				return fail(k, p);
		}
	}
	tw_str_clear(&k->scratch);
	note_text_flaws(k, tw_text_decode(text, (size_t)(p - text), &k->scratch), text);
	if (k->scratch.failed)
		k->out_of_memory = true;
	*id = intern(k, k->scratch.ptr ? k->scratch.ptr : "", k->scratch.len);
	return p + 1;
}

/* The string at p (its quote); returns after it. */
static inline const char *read_string(struct tw_kineto *k, const char *p, bool is_key, uint32_t *id)
{
	const char *text = p + 1;

	p = tw_scan_string(text);
	if (__builtin_expect(p >= k->window.end, 0))
		return fail(k, p);
	if (__builtin_expect(*p != '"' || k->lenient, 0))
		return read_odd_string(k, text, p, is_key, id);
	*id = intern(k, text, (size_t)(p - text));
	return p + 1;
}

/* As read_string, for a value that depends on `key` and `other`. */
static inline const char *read_guessed_string(struct tw_kineto *k, const char *p, uint32_t key,
					      uint32_t other, uint32_t *id)
{
	struct tw_guess *set = guess_set(k, GUESS_STRING, key, other);
	const struct tw_guess *guess = guess_text(k, set, p + 1, '"');
	const char *text = p + 1;

	if (guess) {
		*id = guess->id;
		return p + guess->len + 2;
	}
	p = tw_scan_string(text);
	if (__builtin_expect(p >= k->window.end, 0))
		return fail(k, p);
	/* What a guess can match has no escapes: it is the text unchanged. */
	if (__builtin_expect(*p != '"' || k->lenient, 0))
		return read_odd_string(k, text, p, false, id);
	*id = intern(k, text, (size_t)(p - text));
	keep_guess(k, set, *id);
	return p + 1;
}

/* The text of a list or object in which an escape means half a character, with U+FFFD. */
static uint32_t mend_nested(struct tw_kineto *k, const char *text, size_t len)
{
	tw_str_clear(&k->scratch);
	tw_text_mend_surrogates(text, len, &k->scratch);
	if (k->scratch.failed) {
		k->out_of_memory = true;
		return 0;
	}
	return intern(k, k->scratch.ptr, k->scratch.len);
}

/* A list or object, kept as its text; each distinct text is checked once. */
static const char *read_nested(struct tw_kineto *k, const char *p, uint32_t key, uint32_t *id)
{
	struct tw_guess *set = guess_set(k, GUESS_NESTED, key, k->fields.name);
	const struct tw_guess *guess = guess_text(k, set, p, 0);
	struct tw_pool *texts = &k->trace->texts;
	const char *after, *near;

	if (guess && k->trace->texts.flags[guess->id] == TEXT_CHECKED) {
		*id = guess->id;
		return p + guess->len;
	}
	near = k->limit - p > USUAL_NESTED ? p + USUAL_NESTED : k->limit;
	after = tw_scan_nested(p, near);
	/* An unclosed bracket must not make every event a search to the end of the text. */
	if (!after && near < k->limit && tw_kineto_end_before_event(p, near))
		return fail(k, p);
	if (!after)
		after = tw_scan_nested(p, k->limit);
	if (!after)
		return fail(k, k->window.end);
	*id = intern(k, p, (size_t)(after - p));
	if (__builtin_expect(!(texts->flags[*id] & TEXT_CHECKED), 0))
		texts->flags[*id] = (uint8_t)(TEXT_CHECKED | tw_text_check(p, (size_t)(after - p)));
	if (__builtin_expect(texts->flags[*id] != TEXT_CHECKED, 0)) {
		note_text_flaws(k, texts->flags[*id], p);
		if (texts->flags[*id] & TW_TEXT_SURROGATE) {
			*id = mend_nested(k, p, (size_t)(after - p));
			return after;
		}
	}
	keep_guess(k, set, *id);
	return after;
}

/* What a word in place of a value means. */
struct word {
	const char *text;
	uint8_t len;
	enum trawl_value_kind kind;
	bool value;
	int flaw; /* enum tw_defect, -1: none */
};

static const struct word words[] = {
	{ "true", 4, TRAWL_VALUE_BOOL, true, -1 },
	{ "false", 5, TRAWL_VALUE_BOOL, false, -1 },
	{ "null", 4, TRAWL_VALUE_NULL, false, -1 },
	{ "True", 4, TRAWL_VALUE_BOOL, true, TW_DEFECT_python_literal },
	{ "False", 5, TRAWL_VALUE_BOOL, false, TW_DEFECT_python_literal },
	{ "None", 4, TRAWL_VALUE_NULL, false, TW_DEFECT_python_literal },
	{ "undefined", 9, TRAWL_VALUE_NULL, false, TW_DEFECT_malformed_value },
	{ "NaN", 3, TRAWL_VALUE_NULL, false, TW_DEFECT_not_a_number },
	{ "nan(ind)", 8, TRAWL_VALUE_NULL, false, TW_DEFECT_not_a_number },
	{ "nan(snan)", 9, TRAWL_VALUE_NULL, false, TW_DEFECT_not_a_number },
	{ "nan", 3, TRAWL_VALUE_NULL, false, TW_DEFECT_not_a_number },
	{ "Infinity", 8, TRAWL_VALUE_NULL, false, TW_DEFECT_not_a_number },
	{ "infinity", 8, TRAWL_VALUE_NULL, false, TW_DEFECT_not_a_number },
	{ "inf", 3, TRAWL_VALUE_NULL, false, TW_DEFECT_not_a_number },
	{ "Inf", 3, TRAWL_VALUE_NULL, false, TW_DEFECT_not_a_number },
};

static bool is_word_char(char c)
{
	return (unsigned char)((c | 0x20) - 'a') < 26 || c == '(' || c == ')' || c == '.';
}

static const char *read_word(struct tw_kineto *k, const char *p, struct trawl_argument *arg)
{
	const char *start = p, *end;
	size_t i;

	if (*p == '-' || *p == '+')
		p++;
	for (end = p; is_word_char(*end); end++)
		;
	/* Cut by the end of the window: "Inf" may go on as "Infinity". */
	if (end >= k->window.end)
		return fail(k, end);
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strncmp(p, words[i].text, words[i].len) ||
		    (p > start && words[i].flaw != TW_DEFECT_not_a_number))
			continue;
		if (words[i].flaw >= 0)
			tw_kineto_flaw(k, (enum tw_defect)words[i].flaw, p);
		arg->kind = words[i].kind;
		arg->integer = words[i].value;
		return p + words[i].len;
	}
	/* A value that is not there at all, or a bare "..." where something was cut out. */
	if (k->lenient && (*p == ',' || *p == '}')) {
		tw_kineto_flaw(k, TW_DEFECT_malformed_value, p);
		arg->kind = TRAWL_VALUE_NULL;
		return p;
	}
	if (!strncmp(p, "...", 3)) {
		tw_kineto_flaw(k, TW_DEFECT_malformed_value, p);
		arg->kind = TRAWL_VALUE_NULL;
		return p + 3;
	}
	return fail(k, start);
}

/* After what may be part of a number. */
static const char *number_end(const char *p)
{
	while (tw_is_digit(*p) || *p == '.' || *p == '+' || *p == '-' || (*p | 0x20) == 'e')
		p++;
	return p;
}

/* A number with a fraction, an exponent or too many digits. */
static const char *read_odd_number(struct tw_kineto *k, const char *p, struct trawl_argument *arg)
{
	const char *start = p, *after;
	bool fraction = false;

	after = tw_parse_real(p, &arg->real);
	if (!after) {
		if (*p == '-' && (unsigned char)((p[1] | 0x20) - 'a') < 26)
			return read_word(k, p, arg);
		return fail(k, number_end(p));
	}
	for (p = start; p < after; p++)
		fraction |= *p == '.' || *p == 'e' || *p == 'E';
	arg->kind = TRAWL_VALUE_REAL;
	if (!fraction || arg->real > 1.7e308 || arg->real < -1.7e308) {
		arg->kind = TRAWL_VALUE_NUMBER;
		arg->text = intern(k, start, (size_t)(after - start));
	}
	return after;
}

static inline const char *read_number(struct tw_kineto *k, const char *p,
				      struct trawl_argument *arg)
{
	bool negative = *p == '-';
	uint64_t value;
	unsigned digits;
	const char *after = tw_parse_digits(p + negative, &value, &digits);

	if (__builtin_expect(digits - 1 >= 18 || *after == '.' || (*after | 0x20) == 'e', 0))
		return read_odd_number(k, p, arg);
	arg->kind = TRAWL_VALUE_INTEGER;
	arg->integer = negative ? -(int64_t)value : (int64_t)value;
	return after;
}

/* Any value into *arg. */
static inline const char *read_value(struct tw_kineto *k, const char *p, uint32_t key,
				     struct trawl_argument *arg)
{
	char c = *p;

	if (tw_is_digit(c) || c == '-')
		return read_number(k, p, arg);
	if (c == '"') {
		arg->kind = TRAWL_VALUE_TEXT;
		return read_guessed_string(k, p, key, k->fields.name, &arg->text);
	}
	if (c == '[' || c == '{') {
		arg->kind = TRAWL_VALUE_JSON;
		return read_nested(k, p, key, &arg->text);
	}
	return read_word(k, p, arg);
}

/* Once for each field of the document: it shall not change how the loop over events is made. */
__attribute__((cold)) enum tw_attempt tw_kineto_value(struct tw_kineto *k, const char **place)
{
	const char *p, *next;
	struct trawl_argument arg;

	k->flaw_kinds = k->flaw_count = 0;
	k->fields.name = 0;
	p = read_value(k, *place, 0, &arg);
	if (!p)
		return k->failed_at >= k->window.end ? TW_EVENT_MORE : TW_EVENT_BAD;
	next = tw_skip_space(p);
	if (next >= k->limit)
		return TW_EVENT_MORE;
	/* A quote: the comma before the next key is missing. */
	if (*next != ',' && *next != '}' && *next != '"')
		return TW_EVENT_BAD;
	*place = p;
	return TW_EVENT_READ;
}

/* Whether 64 bits hold the number with these digits and maybe a minus. */
static bool fits_64_bits(const char *text, size_t len)
{
	const char *limit = "18446744073709551615";

	if (len && *text == '-') {
		limit = "9223372036854775808";
		text++;
		len--;
	}
	return len < strlen(limit) || (len == strlen(limit) && memcmp(text, limit, len) <= 0);
}

/* The id that a number with a point or an exponent means: "5.0" is 5, "5.5" is itself. */
static tw_code code_of_real(struct tw_kineto *k, double real, const char *at)
{
	if (real > -9e18 && real < 9e18 && real == (double)(int64_t)real)
		return tw_code_from_integer(k->trace, (int64_t)real);
	return TW_CODE_TEXT | intern(k, at, (size_t)(number_end(at) - at));
}

/* An id: number or text. Fractions and numbers beyond 64 bits keep their digits. */
static tw_code code_of(struct tw_kineto *k, const struct trawl_argument *arg, const char *at)
{
	const char *text;
	size_t len;

	switch (arg->kind) {
	case TRAWL_VALUE_INTEGER:
		if (arg->integer >= 0 && arg->integer < (int64_t)TW_CODE_TEXT)
			return (tw_code)arg->integer;
		return tw_code_from_integer(k->trace, arg->integer);
	case TRAWL_VALUE_NUMBER:
		text = tw_pool_text(&k->trace->texts, arg->text, &len);
		if (!fits_64_bits(text, len))
			tw_kineto_flaw(k, TW_DEFECT_wide_id, at);
		return TW_CODE_TEXT | arg->text;
	case TRAWL_VALUE_REAL:
		tw_kineto_flaw(k, TW_DEFECT_wide_id, at);
		return code_of_real(k, arg->real, at);
	case TRAWL_VALUE_TEXT:
		text = tw_pool_text(&k->trace->texts, arg->text, &len);
		return len ? tw_code_from_text(k->trace, text, len) : TW_CODE_NONE;
	case TRAWL_VALUE_JSON:
		return TW_CODE_TEXT | arg->text;
	default:
		return TW_CODE_NONE;
	}
}

/* Correlation and External id: 0, -1 and its unsigned spellings (32 and 64 bits) mean none. */
static tw_code link_code(struct tw_kineto *k, const struct trawl_argument *arg, const char *at)
{
	const char *text;
	size_t len;

	if ((arg->kind == TRAWL_VALUE_INTEGER &&
	     (arg->integer <= 0 || arg->integer == UINT32_MAX)) ||
	    (arg->kind == TRAWL_VALUE_REAL && arg->real <= 0))
		return TW_CODE_NONE;
	if (arg->kind == TRAWL_VALUE_TEXT || arg->kind == TRAWL_VALUE_NUMBER) {
		text = tw_pool_text(&k->trace->texts, arg->text, &len);
		if (len && text[0] == '-')
			return TW_CODE_NONE;
		if ((len == 20 && !memcmp(text, "18446744073709551615", 20)) ||
		    (len == 10 && !memcmp(text, "4294967295", 10)))
			return TW_CODE_NONE;
		if (len == 1 && text[0] == '0')
			return TW_CODE_NONE;
	}
	return code_of(k, arg, at);
}

static inline bool literal_matches(const struct tw_literal *literal, const char *p)
{
	unsigned i, last = literal->words - 1u;

	if (!literal->words)
		return false;
	for (i = 0; i < last; i++)
		if (tw_load64(p + 8 * i) != tw_load64(literal->text + 8 * i))
			return false;
	return !((tw_load64(p + 8 * last) ^ tw_load64(literal->text + 8 * last)) &
		 literal->last_mask);
}

static void keep_literal(struct tw_literal *literal, const char *p, const char *after, uint32_t key)
{
	size_t len = (size_t)(after - p);
	unsigned rest;

	literal->words = 0;
	if (!len || len > TW_LITERAL_MAX)
		return;
	memset(literal->text, 0, sizeof(literal->text));
	memcpy(literal->text, p, len);
	literal->key = key;
	literal->len = (uint8_t)len;
	literal->words = (uint8_t)((len + 7) / 8);
	rest = (unsigned)len % 8;
	literal->last_mask = rest ? ((uint64_t)1 << (8 * rest)) - 1 : UINT64_MAX;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	literal->last_mask = __builtin_bswap64(literal->last_mask);
#endif
}

/* A key without its opening quote, or without both: `tid": 0`. */
static const char *read_bare_key(struct tw_kineto *k, const char *p, uint32_t *key)
{
	const char *start = p;

	while ((unsigned char)((*p | 0x20) - 'a') < 26 || tw_is_digit(*p) || *p == '_')
		p++;
	if (p >= k->window.end)
		return fail(k, p);
	if (p == start)
		return fail(k, p);
	*key = intern(k, start, (size_t)(p - start));
	if (*p == '"')
		p++;
	if (*tw_skip_space(p) != ':')
		return fail(k, tw_skip_space(p));
	tw_kineto_flaw(k, TW_DEFECT_bare_key, start);
	return p;
}

/*
 * From after a value (or the opening brace, `first`) to the next value: its key, or 0 with the
 * place after the closing brace.
 */
static const char *read_key_slow(struct tw_kineto *k, const char *p, bool first, uint32_t *key)
{
	bool comma = first;

	p = tw_skip_space(p);
	while (*p == ',') {
		if (comma)
			tw_kineto_flaw(k, TW_DEFECT_extra_comma, p);
		comma = true;
		p = tw_skip_space(p + 1);
	}
	if (p >= k->window.end)
		return fail(k, p);
	if (*p == '}') {
		if (comma && !first)
			tw_kineto_flaw(k, TW_DEFECT_extra_comma, p);
		*key = 0;
		return p + 1;
	}
	if (!comma)
		tw_kineto_flaw(k, TW_DEFECT_missing_comma, p);
	if (*p == '"')
		p = read_string(k, p, true, key);
	else if (k->lenient)
		p = read_bare_key(k, p, key);
	else
		return fail(k, p);
	if (!p)
		return NULL;
	p = tw_skip_space(p);
	if (*p != ':')
		return fail(k, p);
	return tw_skip_space(p + 1);
}

static inline const char *read_key(struct tw_kineto *k, const char *p, uint32_t context,
				   uint32_t previous, uint32_t *key)
{
	/* Row 0 is for the first key alone: the text before it has no comma. */
	struct tw_literal *literal =
		&k->literals[context][previous ? 1 + previous % (TW_LITERAL_KEYS - 1) : 0];
	unsigned flaws = k->flaw_count;
	const char *after;

	if (__builtin_expect(literal_matches(literal, p), 1)) {
		*key = literal->key;
		return tw_skip_space(p + literal->len);
	}
	after = read_key_slow(k, p, !previous, key);
	/* Only what was flawless may be taken for granted the next time. */
	if (after && after < k->window.end && k->flaw_count == flaws && !k->lenient)
		keep_literal(literal, p, after, *key);
	return after;
}

static void keep_arg(struct tw_kineto *k, uint32_t key, const struct trawl_argument *arg,
		     const char *at)
{
	struct tw_args *args = &k->trace->args;

	switch (key) {
	case TW_KEY_correlation:
		k->fields.correlation = link_code(k, arg, at);
		return;
	case TW_KEY_external_id:
	case TW_KEY_external_id_2021:
		k->fields.external = link_code(k, arg, at);
		return;
	case TW_KEY_stream:
		k->fields.stream = code_of(k, arg, at);
		break;
	case TW_KEY_device:
		k->fields.device = code_of(k, arg, at);
		break;
	}
	/* The "" key is no key of a record. */
	if (key)
		tw_args_put(args, key, arg);
}

static const char *read_args(struct tw_kineto *k, const char *p)
{
	struct tw_args *args = &k->trace->args;
	uint32_t context = k->last_category.category % (TW_LITERAL_CONTEXTS - 8), key = 0;
	size_t start, last;
	struct trawl_argument arg;

	if (tw_args_reserve(args, TW_ARG_MAX_BYTES + 2 * TW_ARGS_ALIGN)) {
		k->out_of_memory = true;
		return fail(k, p);
	}
	start = args->len;
	for (p++;;) {
		const char *at = p = read_key(k, p, context, key, &key);

		if (!p)
			return NULL;
		if (!key)
			break;
		p = read_value(k, p, key, &arg);
		if (!p)
			return NULL;
		if (tw_args_reserve(args, TW_ARG_MAX_BYTES + 2 * TW_ARGS_ALIGN)) {
			k->out_of_memory = true;
			return fail(k, p);
		}
		last = args->len;
		keep_arg(k, key, &arg, at);
		if (key == TW_KEY_sequence_number)
			tw_args_put_first(args, start, last);
	}
	if (args->len == start)
		return p;
	if (tw_args_end(args, start, &k->fields.args)) {
		k->out_of_memory = true;
		return fail(k, p);
	}
	return p;
}

/* Microseconds at p, maybe as text, in nanoseconds. */
static const char *read_odd_time(struct tw_kineto *k, const char *p, int64_t *ns)
{
	const char *after = p, *text, *end;
	struct trawl_argument arg;
	size_t len;

	*ns = TRAWL_TIME_NONE;
	if (tw_is_digit(*p) || ((*p == '-' || *p == '+') && (tw_is_digit(p[1]) || p[1] == '.'))) {
		after = tw_parse_time_ns(p, ns);
		if (!after)
			return fail(k, number_end(p));
		return after;
	}
	after = read_value(k, p, 0, &arg);
	if (!after || arg.kind != TRAWL_VALUE_TEXT)
		return after;
	text = tw_pool_text(&k->trace->texts, arg.text, &len);
	/* Pooled texts end with NUL, which ends every number. */
	text = tw_skip_space(text);
	end = tw_parse_time_ns(text, ns);
	if (!end || *tw_skip_space(end))
		*ns = TRAWL_TIME_NONE;
	else
		tw_kineto_flaw(k, TW_DEFECT_time_as_text, p);
	return after;
}

static inline const char *read_time(struct tw_kineto *k, const char *p, int64_t *ns)
{
	static const uint32_t to_ns[] = { 1000, 100, 10, 1 };
	uint64_t whole;
	unsigned digits, n = 0;
	const char *after = tw_parse_digits(p, &whole, &digits);

	if (__builtin_expect(digits - 1 >= 15, 0))
		return read_odd_time(k, p, ns);
	if (*after == '.') {
		uint32_t fraction = tw_parse_digits8(after + 1, &n);

		if (n == 0 || n > 3)
			return read_odd_time(k, p, ns);
		after += 1 + n;
		if ((*after | 0x20) == 'e')
			return read_odd_time(k, p, ns);
		*ns = (int64_t)(whole * 1000 + (uint64_t)fraction * to_ns[n]);
		return after;
	}
	if ((*after | 0x20) == 'e')
		return read_odd_time(k, p, ns);
	*ns = (int64_t)(whole * 1000);
	return after;
}

static const char *read_code(struct tw_kineto *k, const char *p, tw_code *code)
{
	struct trawl_argument arg;
	const char *after = read_value(k, p, 0, &arg);

	if (after)
		*code = code_of(k, &arg, p);
	return after;
}

/* A name or category: text, or the text of whatever is there. */
static inline const char *read_label(struct tw_kineto *k, const char *p, uint32_t key, uint32_t *id)
{
	struct trawl_argument arg;
	const char *after;

	if (__builtin_expect(*p == '"', 1))
		return read_guessed_string(k, p, key, k->last_name, id);
	after = read_value(k, p, 0, &arg);
	if (!after)
		return NULL;
	*id = 0;
	/* Cut by the end of the window: it is read again, and shall be no category before. */
	if (after >= k->window.end)
		return fail(k, after);
	if (arg.kind != TRAWL_VALUE_NULL && arg.kind != TRAWL_VALUE_BOOL)
		*id = intern(k, p, (size_t)(after - p));
	return after;
}

static const char *read_phase(struct tw_kineto *k, const char *p)
{
	uint32_t id;

	if (p[0] == '"' && p[2] == '"' && p[1] != '"' && p[1] != '\\') {
		k->fields.phase = (uint8_t)p[1];
		return p + 3;
	}
	k->fields.phase = '?';
	return read_label(k, p, TW_KEY_ph, &id);
}

static const char *read_field(struct tw_kineto *k, const char *p, uint32_t key)
{
	struct tw_event_fields *f = &k->fields;
	struct trawl_argument arg;

	switch (key) {
	case TW_KEY_ph:
		p = read_phase(k, p);
		/* 'X', 'M', 's', 'f', 't', 'i' fall on different rows. */
		k->context = TW_LITERAL_CONTEXTS - 8 + (f->phase & 7);
		return p;
	case TW_KEY_cat:
		p = read_label(k, p, key, &f->category);
		if (p)
			tw_kineto_set_category(k);
		return p;
	case TW_KEY_name:
		return read_label(k, p, key, &f->name);
	case TW_KEY_pid:
		return read_code(k, p, &f->pid);
	case TW_KEY_tid:
		return read_code(k, p, &f->tid);
	case TW_KEY_ts:
		return read_time(k, p, &f->start_ns);
	case TW_KEY_dur:
		return read_time(k, p, &f->dur_ns);
	case TW_KEY_id:
		return read_code(k, p, &f->id);
	case TW_KEY_args:
		if (*p == '{')
			return read_args(k, p);
		return read_value(k, p, 0, &arg); /* null, a list, a string */
	default:
		return read_value(k, p, 0, &arg);
	}
}

/* A field that was there before: the last one counts, of arguments all of them. */
static void given_again(struct tw_kineto *k, uint32_t key, const char *at)
{
	struct tw_event_fields *f = &k->fields;

	tw_kineto_flaw(k, TW_DEFECT_duplicate_key, at);
	if (key == TW_KEY_args) {
		f->correlation = f->external = f->device = f->stream = TW_CODE_NONE;
		f->args = 0;
	}
}

static bool is_skipped(const struct tw_kineto *k)
{
	return k->fields.category && k->last_category.name == k->fields.category &&
	       k->trace->categories[k->last_category.category].class == TRAWL_CLASS_PYTHON;
}

/*
 * After an event that is skipped, without a look at its fields: it ends before the next one, which mostly
 * follows.  NULL where neither that nor its own end is near.
 */
static const char *skip_event(const struct tw_kineto *k, const char *start)
{
	const char *near = k->limit - start > USUAL_EVENT ? start + USUAL_EVENT : k->limit;
	const char *after = tw_kineto_end_before_event(start, near);

	return after ? after : tw_scan_nested(start, near);
}

/* Nothing of an attempt stays; the first record begins at TW_ARGS_ALIGN. */
static void drop_args(struct tw_kineto *k, size_t args_len)
{
	if (k->trace->args.len)
		k->trace->args.len = args_len ? args_len : TW_ARGS_ALIGN;
}

enum tw_attempt tw_kineto_event(struct tw_kineto *k, const char **place)
{
	size_t args_len = k->trace->args.len;
	const char *p = *place;
	uint32_t key = 0;

	k->flaw_kinds = k->flaw_count = 0;
	k->context = TW_LITERAL_CONTEXTS - 8;
	k->fields = (struct tw_event_fields){
		.start_ns = TRAWL_TIME_NONE,
		.dur_ns = TRAWL_TIME_NONE,
		.pid = TW_CODE_NONE,
		.tid = TW_CODE_NONE,
		.id = TW_CODE_NONE,
		.correlation = TW_CODE_NONE,
		.external = TW_CODE_NONE,
		.device = TW_CODE_NONE,
		.stream = TW_CODE_NONE,
	};
	for (p++; p;) {
		p = read_key(k, p, k->context, key, &key);
		if (!p || !key)
			break;
		if (key >= TW_KEY_ph && key < TW_KEY_COUNT) {
			uint32_t bit = 1u << (key - TW_KEY_ph);

			if (__builtin_expect(k->fields.seen & bit, 0))
				given_again(k, key, p);
			k->fields.seen |= bit;
		}
		p = read_field(k, p, key);
		if (__builtin_expect(k->no_python && key == TW_KEY_cat, 0) && p && is_skipped(k)) {
			const char *after = skip_event(k, *place);

			p = after ? after : p;
			if (after)
				break;
		}
	}
	if (p && p <= k->limit) {
		if (k->no_python && is_skipped(k))
			drop_args(k, args_len);
		else if (tw_kineto_keep_event(k, *place) == TW_EVENT_BAD)
			return TW_EVENT_BAD;
		*place = p;
		return TW_EVENT_READ;
	}
	drop_args(k, args_len);
	return p || k->failed_at >= k->window.end ? TW_EVENT_MORE : TW_EVENT_BAD;
}
