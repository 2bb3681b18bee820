/*
 * Rules over facts: levels by thresholds (data/levels.tsv) and advice (data/rules.tsv).  A fact that
 * is not known is NaN, and no condition on it holds but unknown().  Pure functions of what they
 * are given.
 */
#ifndef TW_FINDINGS_FINDINGS_H
#define TW_FINDINGS_FINDINGS_H

#include "data/tables.h"
#include "text/str.h"

struct tw_facts {
	double value[TW_FACT_COUNT];
};

/* All unknown. */
void tw_facts_init(struct tw_facts *facts);

/* The level of a ladder, which must exist. */
const struct tw_level *tw_level_of(const char *ladder, const struct tw_facts *facts);
/* Whether that level is "yes". */
bool tw_level_is_yes(const char *ladder, const struct tw_facts *facts);
/* Place of a level's name in a ladder, from 0 on: the smaller the worse. */
unsigned tw_level_rank(const char *ladder, const char *level);
/* The number that the first condition of a level compares with; NaN when it has none. */
double tw_level_bound(const char *ladder, const char *level);

/* The next rule of a scope that holds, after `after` (NULL: the first); NULL: no more. */
const struct tw_rule *tw_rule_next(const char *scope, const struct tw_facts *facts,
				   const struct tw_rule *after);

/* A rule's text with the numbers in place of {fact}; an unknown one is "unknown". */
void tw_rule_text(struct tw_str *out, const char *text, const struct tw_facts *facts);
/* Whether a rule uses a fact in its condition or text. */
bool tw_rule_uses(const struct tw_rule *rule, enum tw_fact fact);

#endif
