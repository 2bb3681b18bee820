/* Which operations are bottlenecks, how urgent they are, and what rules say of them. */
#include "standalone/category/category.h"

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

/* The texts of a part, ". " between them, in the arena; NULL: there is none, or out of memory. */
static const char *join(const struct tw_advice *advice, enum tw_advice_part part,
			const struct tw_facts *facts, struct tw_arena *arena)
{
	const char *kept = NULL;
	struct tw_str text;
	unsigned i;

	tw_str_init(&text, arena->allocator);
	if (part == TW_ADVICE_ISSUE && advice->achieved)
		tw_rule_text(&text, advice->achieved->issue, facts);
	for (i = 0; i < advice->count; i++) {
		if (!tells(advice, i, part) || said_before(advice, i, part))
			continue;
		if (text.len)
			tw_str_add_cstr(&text, ". ");
		tw_rule_text(&text, text_of(advice->rules[i], part), facts);
	}
	if (text.len)
		kept = tw_arena_copy(arena, text.ptr, text.len);
	arena->failed |= text.failed;
	tw_str_release(&text);
	return kept;
}

static bool uses(const struct tw_advice *advice, enum tw_fact fact)
{
	unsigned i;

	for (i = 0; i < advice->count; i++)
		if (tw_rule_uses(advice->rules[i], fact))
			return true;
	return advice->achieved && tw_rule_uses(advice->achieved, fact);
}

static void write_advice(struct tw_advice *advice, const struct tw_facts *facts,
			 struct tw_arena *arena)
{
	const struct tw_fact_info *known = tw_facts_known;
	int part, fact;
	unsigned i;

	for (part = 0; part < TW_ADVICE_PARTS; part++)
		advice->text[part] = join(advice, part, facts, arena);
	advice->ids.at = tw_arena_array(arena, advice->count + 1, sizeof(*advice->ids.at));
	advice->evidence.at = tw_arena_array(arena, TW_FACT_COUNT, sizeof(*advice->evidence.at));
	if (arena->failed)
		return;
	if (advice->achieved)
		advice->ids.at[advice->ids.count++] = advice->achieved->id;
	for (i = 0; i < advice->count; i++)
		advice->ids.at[advice->ids.count++] = advice->rules[i]->id;
	for (fact = 0; fact < TW_FACT_COUNT; fact++)
		if (uses(advice, (enum tw_fact)fact))
			advice->evidence.at[advice->evidence.count++] = (struct tw_named){
				known[fact].name,
				tw_as_written(facts->value[fact], known[fact].digits)
			};
}

/* ---- bottlenecks */

/* Operations of one attention in pieces are one finding: the module in which they are tells which. */
static void find_group(struct tw_category_row *row)
{
	if (!(row->facts.value[TW_FACT_unfused_attention] > 0))
		return;
	row->group = "unfused_attention";
	row->group_key = row->modules.count ? row->modules.at[row->modules.count - 1] : NULL;
}

static void choose_row(struct tw_category_row *row, const char *family)
{
	bool in_time = !row->is_host_copy && tw_level_is_yes("bottleneck_time", &row->facts);

	tw_category_advise(&row->advice, family, &row->facts);
	row->facts.value[TW_FACT_pattern] = row->advice.patterns > 0;
	row->priority = tw_level_of("category_priority", &row->facts);
	row->assessment = tw_level_of("assessment", &row->facts);
	row->type = tw_level_of("bound", &row->facts);
	row->is_unmodelled = in_time && isnan(row->efficiency_percent);
	row->is_modelled = !row->is_unmodelled;
	row->is_slow = in_time && row->is_modelled &&
		       tw_level_is_yes("bottleneck_efficiency", &row->facts);
	row->is_bottleneck = row->is_slow || row->is_unmodelled;
	if (tw_level_is_yes("variance_told", &row->facts)) {
		row->cov = row->facts.value[TW_FACT_cov];
		row->high_variance = tw_level_is_yes("high_variance", &row->facts);
	}
	if (row->is_bottleneck)
		find_group(row);
	else if (row->is_host_copy || !in_time)
		row->advice.patterns = 0;
	else
		/* What is achieved stands among the operations. */
		row->advice.achieved = NULL;
}

/* By priority, the most time first within one. */
static int order_bottlenecks(struct tw_category_data *data)
{
	static const char ladder[] = "category_priority";
	unsigned level, last = tw_level_rank(ladder, "Low");
	struct tw_arena *arena = &data->prepared->arena;
	struct tw_arena literals;
	uint32_t i;

	data->bottlenecks = tw_arena_array(arena, data->row_count + (size_t)1, sizeof(void *));
	for (level = 0; data->bottlenecks && level <= last; level++) {
		for (i = 0; i < data->row_count; i++) {
			struct tw_category_row *row = &data->rows[i];

			if (!row->is_bottleneck ||
			    tw_level_rank(ladder, row->priority->level) != level)
				continue;
			data->bottlenecks[data->bottleneck_count++] = row;
			row->rank = data->bottleneck_count;
			tw_arena_init(&literals, arena->allocator);
			if (tw_category_open(row, &literals))
				arena->failed = true;
			else
				row->main_kernel =
					tw_category_largest_kernel(arena, row, TW_SHORT_KERNEL);
			tw_arena_release(&literals);
		}
	}
	return arena->failed ? TRAWL_ENOMEM : 0;
}

int tw_category_choose(struct tw_category_data *data)
{
	struct tw_advice *overall = &data->advice;
	struct tw_arena *arena = &data->prepared->arena;
	const struct tw_rule *rule = NULL;
	uint32_t i;

	for (i = 0; i < data->row_count; i++) {
		struct tw_category_row *row = &data->rows[i];

		choose_row(row, data->family->family);
		if (row->is_bottleneck || row->advice.patterns)
			write_advice(&row->advice, &row->facts, arena);
	}
	while ((rule = tw_rule_next("any_overall", &data->facts, rule)))
		overall->rules[overall->count++] = rule;
	overall->patterns = overall->count;
	write_advice(overall, &data->facts, arena);
	return order_bottlenecks(data);
}
