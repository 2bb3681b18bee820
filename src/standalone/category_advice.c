/* Which operations are bottlenecks, how urgent they are, and what rules say of them. */
#include "standalone/category.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *text_of(const struct tw_rule *rule, enum tw_advice_part part)
{
	switch (part) {
	case TW_ADVICE_ISSUE:
		return rule->issue;
	case TW_ADVICE_ALGORITHMIC:
		return rule->algorithmic;
	case TW_ADVICE_KERNEL:
		return rule->kernel;
	case TW_ADVICE_PARTS:
		break;
	}
	return NULL;
}

static bool says(const struct tw_advice *advice, enum tw_advice_part part)
{
	unsigned i;

	for (i = 0; i < advice->count; i++)
		if (text_of(advice->rules[i], part))
			return true;
	return false;
}

/* Whether it says something that the ones before leave open. */
static bool fills(const struct tw_advice *advice, const struct tw_rule *rule)
{
	enum tw_advice_part part = advice->achieved ? TW_ADVICE_ALGORITHMIC : TW_ADVICE_ISSUE;

	for (; part <= TW_ADVICE_KERNEL; part++)
		if (text_of(rule, part) && !says(advice, part))
			return true;
	return false;
}

static void take(struct tw_advice *advice, const char *scope, const struct tw_facts *facts,
		 bool only_gaps)
{
	const struct tw_rule *rule = NULL;

	while ((rule = tw_rule_next(scope, facts, rule)))
		if (!only_gaps || fills(advice, rule))
			advice->rules[advice->count++] = rule;
}

void tw_category_advise(struct tw_advice *advice, const char *family, const struct tw_facts *facts)
{
	char general[64];

	*advice = (struct tw_advice){ .achieved = tw_rule_next("achieved", facts, NULL) };
	take(advice, family, facts, false);
	advice->patterns = advice->count;
	take(advice, "before_general", facts, true);
	snprintf(general, sizeof(general), "%s_general", family);
	take(advice, general, facts, true);
	take(advice, "any", facts, true);
}

/*
 * A rule that only fills gaps tells nothing but what was open, else there would be two general
 * sayings of a kind.
 */
static bool tells(const struct tw_advice *advice, unsigned i, enum tw_advice_part part)
{
	struct tw_advice before = { .count = i };

	if (!text_of(advice->rules[i], part))
		return false;
	if (i < advice->patterns)
		return true;
	memcpy(before.rules, advice->rules, i * sizeof(*before.rules));
	return !says(&before, part);
}

static bool said_before(const struct tw_advice *advice, unsigned i, enum tw_advice_part part)
{
	const char *text = text_of(advice->rules[i], part);
	unsigned k;

	for (k = 0; k < i; k++) {
		const char *other = text_of(advice->rules[k], part);

		if (other && !strcmp(other, text))
			return true;
	}
	return false;
}

void tw_advice_string(struct tw_json *json, const struct tw_advice *advice,
		      enum tw_advice_part part, const struct tw_facts *facts)
{
	struct tw_str text;
	unsigned i;

	tw_str_init(&text, json->out->allocator);
	if (part == TW_ADVICE_ISSUE && advice->achieved)
		tw_rule_text(&text, advice->achieved->issue, facts);
	for (i = 0; i < advice->count; i++) {
		if (!tells(advice, i, part) || said_before(advice, i, part))
			continue;
		if (text.len)
			tw_str_add_cstr(&text, ". ");
		tw_rule_text(&text, text_of(advice->rules[i], part), facts);
	}
	tw_json_cstr(json, text.len ? text.ptr : NULL);
	json->out->failed |= text.failed;
	tw_str_release(&text);
}

static bool uses(const struct tw_advice *advice, enum tw_fact fact)
{
	unsigned i;

	for (i = 0; i < advice->count; i++)
		if (tw_rule_uses(advice->rules[i], fact))
			return true;
	return advice->achieved && tw_rule_uses(advice->achieved, fact);
}

void tw_advice_evidence(struct tw_json *json, const struct tw_advice *advice,
			const struct tw_facts *facts)
{
	unsigned fact, i;

	tw_json_key(json, "rules");
	tw_json_array(json, TW_JSON_INLINE);
	if (advice->achieved)
		tw_json_cstr(json, advice->achieved->id);
	for (i = 0; i < advice->count; i++)
		tw_json_cstr(json, advice->rules[i]->id);
	tw_json_end(json);
	tw_json_key(json, "evidence");
	tw_json_object(json, TW_JSON_INLINE);
	for (fact = 0; fact < TW_FACT_COUNT; fact++) {
		if (!uses(advice, (enum tw_fact)fact))
			continue;
		tw_json_key(json, tw_facts_known[fact].name);
		tw_json_rounded(json, facts->value[fact], tw_facts_known[fact].digits);
	}
	tw_json_end(json);
}

void tw_category_choose(struct tw_category_data *data)
{
	uint32_t i;

	for (i = 0; i < data->row_count; i++) {
		struct tw_category_row *row = &data->rows[i];
		bool in_time = !row->is_host_copy &&
			       tw_level_is_yes("bottleneck_time", &row->facts);

		tw_category_advise(&row->advice, data->family->family, &row->facts);
		row->facts.value[TW_FACT_pattern] = row->advice.patterns > 0;
		row->priority = tw_level_of("category_priority", &row->facts);
		row->is_unmodelled = in_time && isnan(row->efficiency_percent);
		row->is_bottleneck = in_time &&
				     (row->is_unmodelled ||
				      tw_level_is_yes("bottleneck_efficiency", &row->facts));
	}
}
