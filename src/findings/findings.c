#include "findings/findings.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void tw_facts_init(struct tw_facts *facts)
{
	size_t i;

	for (i = 0; i < TW_FACT_COUNT; i++)
		facts->value[i] = NAN;
}

static bool holds(const struct tw_condition *conditions, unsigned count,
		  const struct tw_facts *facts)
{
	unsigned i;

	for (i = 0; i < count; i++) {
		const struct tw_condition *c = &conditions[i];
		double value = facts->value[c->fact];
		bool held = false;

		/* Comparisons with NaN are false. */
		switch (c->operator) {
		case TW_OVER:
			held = value > c->value;
			break;
		case TW_AT_LEAST:
			held = value >= c->value;
			break;
		case TW_BELOW:
			held = value < c->value;
			break;
		case TW_AT_MOST:
			held = value <= c->value;
			break;
		case TW_IS:
			held = value >= c->value && value <= c->value;
			break;
		case TW_KNOWN:
			held = !isnan(value);
			break;
		case TW_UNKNOWN:
			held = isnan(value);
			break;
		}
		if (!held)
			return false;
	}
	return true;
}

const struct tw_level *tw_level_of(const char *ladder, const struct tw_facts *facts)
{
	size_t i;

	for (i = 0; i < tw_level_count; i++) {
		const struct tw_level *level = &tw_levels[i];

		if (!strcmp(level->ladder, ladder) &&
		    holds(level->conditions, level->condition_count, facts))
			return level;
	}
	assert(!"a ladder of data/levels.tsv");
	return &tw_levels[0];
}

bool tw_level_is_yes(const char *ladder, const struct tw_facts *facts)
{
	return !strcmp(tw_level_of(ladder, facts)->level, "yes");
}

unsigned tw_level_rank(const char *ladder, const char *level)
{
	unsigned rank = 0;
	size_t i;

	for (i = 0; i < tw_level_count; i++) {
		if (strcmp(tw_levels[i].ladder, ladder))
			continue;
		if (!strcmp(tw_levels[i].level, level))
			break;
		rank++;
	}
	return rank;
}

double tw_level_bound(const char *ladder, const char *level)
{
	size_t i;

	for (i = 0; i < tw_level_count; i++)
		if (!strcmp(tw_levels[i].ladder, ladder) && !strcmp(tw_levels[i].level, level) &&
		    tw_levels[i].condition_count)
			return tw_levels[i].conditions[0].value;
	return NAN;
}

const struct tw_rule *tw_rule_next(const char *scope, const struct tw_facts *facts,
				   const struct tw_rule *after)
{
	size_t i = after ? (size_t)(after - tw_rules) + 1 : 0;

	for (; i < tw_rule_count; i++) {
		const struct tw_rule *rule = &tw_rules[i];

		if (!strcmp(rule->scope, scope) &&
		    holds(rule->conditions, rule->condition_count, facts))
			return rule;
	}
	return NULL;
}

static bool is_named(const struct tw_fact_info *fact, const char *name, size_t len)
{
	return strlen(fact->name) == len && !memcmp(fact->name, name, len);
}

void tw_rule_text(struct tw_str *out, const char *text, const struct tw_facts *facts)
{
	const char *open, *close;

	while ((open = strchr(text, '{')) && (close = strchr(open, '}'))) {
		size_t i = 0, len = (size_t)(close - open) - 1;

		tw_str_add(out, text, (size_t)(open - text));
		while (i < TW_FACT_COUNT && !is_named(&tw_facts_known[i], open + 1, len))
			i++;
		if (i < TW_FACT_COUNT && !isnan(facts->value[i]))
			tw_str_add_real_fixed(out, facts->value[i], tw_facts_known[i].digits);
		else
			tw_str_add_cstr(out, "unknown");
		text = close + 1;
	}
	tw_str_add_cstr(out, text);
}

static bool tells(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (; text && (text = strchr(text, '{')); text++)
		if (!strncmp(text + 1, name, len) && text[1 + len] == '}')
			return true;
	return false;
}

bool tw_rule_uses(const struct tw_rule *rule, enum tw_fact fact)
{
	const char *name = tw_facts_known[fact].name;
	unsigned i;

	for (i = 0; i < rule->condition_count; i++)
		if (rule->conditions[i].fact == fact)
			return true;
	return tells(rule->issue, name) || tells(rule->algorithmic, name) ||
	       tells(rule->kernel, name);
}
