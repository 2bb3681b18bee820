#include "standalone/system_findings.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- findings */

static bool comes_first(const struct tw_system_finding *a, const struct tw_system_finding *b)
{
	double a_ms = isnan(a->recoverable_ms) ? -1 : a->recoverable_ms;
	double b_ms = isnan(b->recoverable_ms) ? -1 : b->recoverable_ms;

	if (a_ms > b_ms || a_ms < b_ms)
		return a_ms > b_ms;
	return tw_level_rank(a->severity->ladder, a->severity->level) <
	       tw_level_rank(b->severity->ladder, b->severity->level);
}

struct tw_system_finding *tw_system_findings_add(struct tw_system_findings *findings,
						 const struct tw_system_area *area,
						 const struct tw_level *severity,
						 const struct tw_facts *facts, double total_ms)
{
	struct tw_system_finding new = { .area = area, .severity = severity, .facts = *facts };
	size_t at = findings->count;

	new.rule = tw_rule_next(area->scope, facts, NULL);
	if (!new.rule)
		return NULL;
	assert(at < TW_MOST_SYSTEM_FINDINGS);
	new.recoverable_ms = facts->value[area->time];
	new.percent_of_total = total_ms > 0 ? 100 * new.recoverable_ms / total_ms : (double)NAN;
	for (; at && comes_first(&new, &findings->items[at - 1]); at--)
		findings->items[at] = findings->items[at - 1];
	findings->items[at] = new;
	findings->count++;
	return &findings->items[at];
}

/* ---- metrics */

static void add_issue(struct tw_json *json, const char *key,
		      const struct tw_system_finding *finding)
{
	struct tw_str text;

	tw_str_init(&text, json->out->allocator);
	if (finding->rule->issue)
		tw_rule_text(&text, finding->rule->issue, &finding->facts);
	if (finding->more) {
		tw_str_add_cstr(&text, ": ");
		tw_rule_text(&text, finding->more->issue, &finding->facts);
	}
	if (finding->place)
		tw_str_add_cstr(&text, finding->place);
	tw_field_text(json, key, text.ptr);
	json->out->failed |= text.failed;
	tw_str_release(&text);
}

/* What to do first, and what besides. */
static void add_action(struct tw_json *json, const char *key,
		       const struct tw_system_finding *finding)
{
	const struct tw_rule *rule = finding->advice ? finding->advice : finding->rule;
	struct tw_str text;

	tw_str_init(&text, json->out->allocator);
	if (finding->lead)
		tw_str_add_cstr(&text, finding->lead);
	if (rule->algorithmic)
		tw_rule_text(&text, rule->algorithmic, &finding->facts);
	if (rule->kernel) {
		tw_str_add_cstr(&text, rule->algorithmic ? ". " : "");
		tw_rule_text(&text, rule->kernel, &finding->facts);
	}
	tw_field_text(json, key, text.ptr);
	json->out->failed |= text.failed;
	tw_str_release(&text);
}

static void add_impact(struct tw_json *json, const char *key,
		       const struct tw_system_finding *finding)
{
	struct tw_str text;

	tw_str_init(&text, json->out->allocator);
	if (isnan(finding->recoverable_ms)) {
		tw_str_add_cstr(&text, "Not known from these data");
	} else {
		tw_str_add_cstr(&text, "Up to ");
		tw_str_add_real_fixed(&text, finding->recoverable_ms, 3);
		tw_str_add_cstr(&text, " ms");
		if (!isnan(finding->percent_of_total)) {
			tw_str_add_cstr(&text, " (");
			tw_str_add_real_fixed(&text, finding->percent_of_total, 2);
			tw_str_add_cstr(&text, "% of total)");
		}
	}
	tw_field_text(json, key, text.ptr);
	json->out->failed |= text.failed;
	tw_str_release(&text);
}

static bool is_used(const struct tw_system_finding *finding, enum tw_fact fact)
{
	return tw_rule_uses(finding->rule, fact) ||
	       (finding->more && tw_rule_uses(finding->more, fact)) ||
	       (finding->advice && tw_rule_uses(finding->advice, fact));
}

static void add_evidence(struct tw_json *json, const struct tw_system_finding *finding)
{
	int fact;

	tw_json_key(json, "evidence");
	tw_json_object(json, TW_JSON_INLINE);
	for (fact = 0; fact < TW_FACT_COUNT; fact++) {
		double value = finding->facts.value[fact];

		if (!isnan(value) && is_used(finding, fact))
			tw_field_real(json, tw_facts_known[fact].name, value,
				      tw_facts_known[fact].digits);
	}
	tw_json_end(json);
}

static void add_time(struct tw_json *json, const struct tw_system_finding *finding)
{
	tw_field_real(json, "recoverable_ms", finding->recoverable_ms, 3);
	tw_field_real(json, "percent_of_total", finding->percent_of_total, 2);
}

static void add_pattern(struct tw_json *json, const struct tw_system_finding *finding)
{
	tw_json_object(json, TW_JSON_LINES);
	tw_field_text(json, "pattern", finding->area->id);
	tw_field_text(json, "title", finding->area->title);
	tw_field_text(json, "severity", finding->severity->level);
	add_issue(json, "description", finding);
	add_impact(json, "impact", finding);
	add_time(json, finding);
	tw_json_end(json);
}

/* The finding that holds the same time, where there is one. */
static const char *included_in(const struct tw_system_findings *findings, const char *id)
{
	size_t i;

	for (i = 0; id && i < findings->count; i++)
		if (!strcmp(findings->items[i].area->id, id))
			return id;
	return NULL;
}

static void add_finding(struct tw_json *json, const struct tw_system_findings *findings,
			const struct tw_system_finding *finding)
{
	const char *within = included_in(findings, finding->area->inside);

	tw_json_object(json, TW_JSON_LINES);
	tw_field_text(json, "id", finding->area->id);
	tw_field_text(json, "rule", finding->rule->id);
	tw_field_text(json, "title", finding->area->title);
	tw_field_text(json, "severity", finding->severity->level);
	add_issue(json, "issue", finding);
	add_action(json, "action", finding);
	add_impact(json, "expected_impact", finding);
	add_time(json, finding);
	if (within)
		tw_field_text(json, "included_in", within);
	add_evidence(json, finding);
	tw_json_end(json);
}

void tw_system_findings_json(struct tw_json *json, const struct tw_system_findings *findings)
{
	size_t i;

	tw_json_key(json, "patterns_detected");
	tw_json_array(json, TW_JSON_LINES);
	for (i = 0; i < findings->count; i++)
		add_pattern(json, &findings->items[i]);
	tw_json_end(json);
	tw_json_key(json, "findings");
	tw_json_array(json, TW_JSON_LINES);
	for (i = 0; i < findings->count; i++)
		add_finding(json, findings, &findings->items[i]);
	tw_json_end(json);
	tw_json_key(json, "impact_estimates");
	tw_json_array(json, TW_JSON_INLINE);
	tw_json_end(json);
}

/* ---- Markdown */

void tw_system_level(struct tw_str *out, const struct tw_json_value *level)
{
	const char *text = tw_json_text(level);

	tw_str_add_cstr(out, *text ? text : TW_MD_UNKNOWN);
}

void tw_system_number(struct tw_str *out, const char *before, const struct tw_json_value *value,
		      const char *behind)
{
	static const char *const units[] = { "%", "x", " ms", " us", " bytes" };
	size_t i;

	tw_str_add_cstr(out, before);
	tw_md_number(out, value, "");
	for (i = 0; value->type != TW_JSON_NUMBER && i < sizeof(units) / sizeof(units[0]); i++) {
		size_t len = strlen(units[i]);

		if (strncmp(behind, units[i], len))
			continue;
		behind += len;
		break;
	}
	tw_str_add_cstr(out, behind);
}

void tw_system_head_markdown(struct tw_str *out, const char *title, const char *status)
{
	tw_str_addf(out, "# %s Findings\n\n**Status**: %s\n**Analysis Tier**: System-Level\n\n",
		    title, status);
}

void tw_system_limits_markdown(struct tw_str *out, const struct tw_json_value *metrics)
{
	const char *limits = tw_json_text(tw_json_get(metrics, "limitations"));
	const char *events = tw_json_text(tw_json_get(metrics, "events"));

	if (*events)
		tw_str_addf(out, "**Events**: times and percentages are over %s.\n\n", events);
	if (!*limits)
		return;
	tw_str_add_cstr(out, "**Limitations**: ");
	tw_md_text(out, limits);
	tw_str_add_cstr(out, ".\n\n");
}

static const char *text_of(const struct tw_json_value *value, const char *key)
{
	return tw_json_text(tw_json_get(value, key));
}

static void put_text(struct tw_str *out, const char *before, const char *text, const char *behind)
{
	tw_str_add_cstr(out, before);
	tw_md_text(out, text);
	tw_str_add_cstr(out, behind);
}

static void add_pattern_markdown(struct tw_str *out, const struct tw_json_value *finding, size_t n)
{
	tw_str_addf(out, "%zu. **%s** - %s\n", n, text_of(finding, "title"),
		    text_of(finding, "severity"));
	put_text(out, "   - Evidence: ", text_of(finding, "issue"), "\n");
	tw_str_addf(out, "   - Impact: %s\n", text_of(finding, "expected_impact"));
	put_text(out, "   - Recommendation: ", text_of(finding, "action"), "\n");
}

static bool is_without_work(const struct tw_json_value *metrics)
{
	return !strcmp(text_of(metrics, "limitations"), TW_NO_GPU_WORK);
}

void tw_system_findings_markdown(struct tw_str *out, const struct tw_json_value *metrics)
{
	const struct tw_json_value *findings = tw_json_get(metrics, "findings"), *finding;
	size_t n = 0;

	tw_str_add_cstr(out, "## Detected Patterns\n\n");
	for (finding = findings->first; finding; finding = finding->next)
		add_pattern_markdown(out, finding, ++n);
	if (n)
		tw_str_add_cstr(out, "\n## Recommendations\n\n");
	else
		tw_str_addf(out, "None.\n\n## Recommendations\n\nNone: %s.\n\n",
			    is_without_work(metrics) ? "no GPU work was recorded" :
						       "nothing here is over the thresholds");
	for (finding = findings->first, n = 0; finding; finding = finding->next) {
		tw_str_addf(out, "### System P%zu: %s\n", ++n, text_of(finding, "title"));
		put_text(out, "**Issue**: ", text_of(finding, "issue"), "\n");
		put_text(out, "**Action**: ", text_of(finding, "action"), "\n");
		tw_str_addf(out, "**Expected Impact**: %s\n\n",
			    text_of(finding, "expected_impact"));
	}
}
