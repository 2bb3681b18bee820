/* What the answer says of causes: findings that appeared, went, or changed in gain. */
#include "study/compare/answer.h"

#include "data/limits.h"
#include "diagnose/diagnosis.h"

/* Findings named in a sentence. */
#define MAX_NAMED 3

/* "new ... (gain 1.388 ms)", "gone ... (gain was 0.5 ms)", "larger ... (gain 1.2 ms -> 3.1 ms)" */
static void add_change(struct tw_str *out, const struct tw_changes *changes,
		       const struct tw_cause_change *c)
{
	const struct tw_side_cause *shown = tw_cause_shown(c);
	size_t i;

	tw_str_add_cstr(out, !c->of[0].findings	    ? "new " :
			     !c->of[1].findings	    ? "gone " :
			     c->verdict == TW_WORSE ? "larger " :
						      "smaller ");
	tw_finding_add_name(out, shown->findings, shown->row);
	if (changes->common > 1)
		tw_str_addf(out, " in %s", changes->samples->configs[c->config].name);
	tw_str_add_cstr(out, c->of[1].findings ? " (gain " : " (gain was ");
	for (i = 0; i < 2; i++) {
		if (i && c->of[0].findings && c->of[1].findings)
			tw_str_add_cstr(out, " -> ");
		if (c->of[i].findings)
			tw_finding_add_gain(out, c->of[i].findings, c->of[i].row);
	}
	tw_str_add_char(out, ')');
}

/* Which sides do not tell what limits them. */
static void say_unknown(const struct tw_changes *changes, const char *const labels[2],
			struct tw_str *out)
{
	const struct tw_cause_changes *causes = &changes->causes;
	bool first = causes->lacking[0], both = first && causes->lacking[1];

	tw_str_addf(out, "Causes%s are not compared: %s%s%s %s no findings.",
		    causes->known ? " of some configurations" : "", labels[first ? 0 : 1],
		    both ? " and " : "", both ? labels[1] : "", both ? "have" : "has");
}

void tw_say_causes(const struct tw_changes *changes, const char *const labels[2],
		   struct tw_answer *answer)
{
	const struct tw_cause_changes *causes = &changes->causes;
	struct tw_str *out;
	size_t n = 0, i;

	if (causes->known) {
		out = tw_answer_line(answer);
		for (i = 0; i < causes->list.count; i++) {
			if (causes->list.at[i].verdict == TW_SAME || n++ >= MAX_NAMED)
				continue;
			tw_str_add_cstr(out, n == 1 ? "Causes: " : "; ");
			add_change(out, changes, &causes->list.at[i]);
		}
		if (!n)
			tw_str_add_cstr(
				out,
				"Causes: no finding appeared, went or changed by " TW_LIMIT_TEXT(
					TW_LIMIT_FINDING_TOLD_PERCENT) " % of a step");
		if (n > MAX_NAMED)
			tw_str_addf(out, " and %zu more", n - MAX_NAMED);
		tw_str_add_char(out, '.');
	}
	if (causes->lacking[0] || causes->lacking[1])
		say_unknown(changes, labels, tw_answer_line(answer));
}
