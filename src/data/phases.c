#include "data/phases.h"

#include <ctype.h>
#include <string.h>

/* Lists of a name, "bs=2 tok=700 ctx=[3, 4]", by the letter of the pattern. */
#define MOST_LISTS 2

struct lists {
	size_t count;
	struct list {
		char letter;
		const char *ptr;
		size_t len;
	} list[MOST_LISTS];
};

/* A number of at most 18 digits, -1: none or a longer one; *p moves on. */
static int64_t take_number(const char **p, const char *end)
{
	const char *from = *p;
	int64_t value = 0;

	for (; *p < end && **p >= '0' && **p <= '9'; ++*p)
		if (*p - from < 18)
			value = value * 10 + (**p - '0');
	return *p == from || *p - from > 18 ? -1 : value;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Up to the bracket that closes; a list goes on with no word that is open before it. */
static bool take_list(struct lists *lists, char letter, const char *name, const char **p,
		      const char *end)
{
	const char *from = *p;
	int depth = 0;

	if (from < end && from > name && is_word(*from) && is_word(from[-1]))
		return false;
	for (; *p < end && (**p != ']' || depth); ++*p)
		depth += (**p == '[') - (**p == ']');
	lists->list[lists->count++] = (struct list){ letter, from, (size_t)(*p - from) };
	return true;
}

/* The number of a key of a list, -1: there is none, or it is too long, which *bad tells. */
static int64_t number_in(const struct list *list, const char *key, size_t key_len, bool *bad)
{
	const char *p = list->ptr, *end = p + list->len, *word;
	int64_t value;

	while (p < end) {
		for (word = p; p < end && is_word(*p); p++)
			;
		if ((size_t)(p - word) == key_len && !memcmp(word, key, key_len) && p + 1 < end &&
		    *p == '=' && isdigit((unsigned char)p[1])) {
			p++;
			value = take_number(&p, end);
			*bad |= value < 0;
			return value;
		}
		p += p == word || p < end;
	}
	return -1;
}

/* "s.c_sq|s.toks|0": the first that is there. */
static int64_t value_of(const char *text, const struct lists *lists, bool *bad)
{
	int64_t value = -1;
	size_t i, len;

	for (; text && *text && value < 0; text += len + (text[len] == '|')) {
		len = strcspn(text, "|");
		if (isdigit((unsigned char)*text))
			value = *text - '0';
		for (i = 0; i < lists->count && value < 0; i++)
			if (lists->list[i].letter == *text)
				value = number_in(&lists->list[i], text + 2, len - 2, bad);
	}
	return value;
}

/* "{0}" a number for that value, "{-}" one for none, "{s*}" a list. */
static bool match(const char *pattern, const char *name, size_t len, int64_t *values,
		  struct lists *lists)
{
	const char *p = name, *end = name + len;

	for (; *pattern; pattern++) {
		int64_t value;

		if (*pattern != '{') {
			if (p == end || *p++ != *pattern)
				return false;
			continue;
		}
		if (pattern[2] == '*') {
			if (!take_list(lists, pattern[1], name, &p, end))
				return false;
			pattern += 3;
			continue;
		}
		value = take_number(&p, end);
		if (value < 0)
			return false;
		if (pattern[1] != '-')
			values[pattern[1] - '0'] = value;
		pattern += 2;
	}
	return p == end;
}

static bool read_by(const struct tw_phase_rule *rule, struct tw_served_step *step, const char *name,
		    size_t len)
{
	int64_t values[2 * TW_SERVEDS];
	struct lists lists = { 0 };
	bool bad = false;
	size_t i;

	memset(values, -1, sizeof(values));
	if (!match(rule->pattern, name, len, values, &lists))
		return false;
	for (i = 0; i < 2 * TW_SERVEDS; i++)
		if (rule->values[i])
			values[i] = value_of(rule->values[i], &lists, &bad);
	step->family = rule->family;
	step->phase = rule->phase;
	memcpy(step->context, values, sizeof(step->context));
	memcpy(step->generation, values + TW_SERVEDS, sizeof(step->generation));
	if (rule->phase == TW_PHASES)
		step->phase = step->context[TW_SERVED] <= 0    ? TW_PHASE_DECODE :
			      step->generation[TW_SERVED] <= 0 ? TW_PHASE_PREFILL :
								 TW_PHASE_MIXED;
	return !bad;
}

bool tw_served_step_read(struct tw_served_step *step, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < tw_phase_rule_count; i++)
		if (len && *name == *tw_phase_rules[i].pattern &&
		    read_by(&tw_phase_rules[i], step, name, len))
			return true;
	return false;
}
