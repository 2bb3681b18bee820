#include "standalone/system/system.h"

#include "table/columns.h"
#include "table/table.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- members */

#define F(kind, member, key, ...) TW_FIELD(struct tw_pattern, kind, member, key, __VA_ARGS__)
static const struct tw_member pattern_fields[] = {
	F(PLAIN, id, "pattern"),
	F(PLAIN, title, "title"),
	F(LEVEL, severity, "severity"),
	F(PLAIN, issue, "description"),
	F(PLAIN, impact, "impact"),
	F(REAL, recoverable_ms, "recoverable_ms", 3),
	F(REAL, percent_of_total, "percent_of_total", 2),
}, finding_fields[] = {
	F(PLAIN, id, "id"),
	F(PLAIN, rule, "rule"),
	F(PLAIN, title, "title"),
	F(LEVEL, severity, "severity"),
	F(PLAIN, issue, "issue"),
	F(PLAIN, action, "action"),
	F(PLAIN, impact, "expected_impact"),
	F(REAL, recoverable_ms, "recoverable_ms", 3),
	F(REAL, percent_of_total, "percent_of_total", 2),
	F(TEXT, included_in, "included_in", .if_known = true),
	F(NAMED, evidence, "evidence", .inlined = true),
};
#undef F
const struct tw_fields tw_pattern_fields = TW_FIELDS(struct tw_pattern, pattern_fields);
const struct tw_fields tw_pattern_finding_fields = TW_FIELDS(struct tw_pattern, finding_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_system, kind, member, key, __VA_ARGS__)
static const struct tw_member failure_fields[] = {
	F(PLAIN, name, "category"),
	TW_SAYS("status", "ERROR"),
	F(PLAIN, error, "error"),
}, head_fields[] = { F(TEXT, limitations, "limitations"), F(PLAIN, events, "events") };
#undef F
static const struct tw_fields failure = TW_FIELDS(struct tw_system, failure_fields);
static const struct tw_fields head = TW_FIELDS(struct tw_system, head_fields);

/* ---- patterns */

static const char *issue_of(struct tw_arena *arena, const struct tw_rule *rule,
			    const struct tw_rule *more, const char *place,
			    const struct tw_facts *facts)
{
	struct tw_str text;

	tw_str_init(&text, arena->allocator);
	tw_rule_text(&text, rule->issue, facts);
	if (more) {
		tw_str_add_cstr(&text, ": ");
		tw_rule_text(&text, more->issue, facts);
	}
	tw_str_add_cstr(&text, place ? place : "");
	return tw_kept(arena, &text);
}

/* The first finding of a kind that the area names, which is the largest; their number: none. */
static size_t find_row(const struct trawl_table *findings, const char *kinds)
{
	size_t rows = findings ? trawl_table_rows(findings) : 0, row;

	for (row = 0; row < rows; row++) {
		struct trawl_cell kind = tw_table_cell(findings, row, TW_COL_FINDING_KIND);
		const char *at = kinds ? strstr(kinds, kind.text) : NULL;

		if (at && strcspn(at, " ") == kind.text_len && (at == kinds || at[-1] == ' '))
			break;
	}
	return row;
}

/* What findings of the kind say to do, for those who have not diagnosed the run. */
static const char *words_of(struct tw_arena *arena, const char *kinds)
{
	const struct tw_finding_words *words = tw_finding_words;
	struct tw_str text;

	while (strncmp(words->code, kinds, strcspn(kinds, " ")))
		words++;
	tw_str_init(&text, arena->allocator);
	tw_str_add_cstr(&text, words->training);
	if (strcmp(words->training, words->inference))
		tw_str_addf(&text, ". In inference: %s", words->inference);
	return tw_kept(arena, &text);
}

static const char *action_of(const struct tw_patterns *p, const struct tw_pattern *pattern,
			     const struct tw_rule *rule)
{
	if (pattern->finding)
		return tw_table_cell(p->findings, pattern->finding - 1, TW_COL_REMEDY).text;
	if (p->findings && pattern->area->kind)
		return "None: no finding of the run is about it";
	if (pattern->area->kind)
		return words_of(p->arena, pattern->area->kind);
	return rule->algorithmic ? rule->algorithmic : "";
}

static void add_gain(struct tw_str *out, const struct trawl_table *findings, size_t row)
{
	tw_str_addf(out, "P%zu: ", row + 1);
	tw_str_add_real(out, tw_table_cell(findings, row, TW_COL_GAIN_MS).real);
	tw_str_add_cstr(out, " ms (");
	tw_str_add_real(out, tw_table_cell(findings, row, TW_COL_GAIN_PERCENT).real);
	tw_str_addf(out, "%%) end to end, by %s",
		    tw_table_cell(findings, row, TW_COL_GAIN_HOW).text);
}

static const char *impact_of(const struct tw_patterns *p, const struct tw_pattern *pattern)
{
	struct tw_str text;

	tw_str_init(&text, p->arena->allocator);
	if (pattern->finding) {
		add_gain(&text, p->findings, pattern->finding - 1);
	} else if (isnan(pattern->recoverable_ms)) {
		tw_str_add_cstr(&text, "Not known from these data");
	} else {
		tw_str_add_cstr(&text, "Up to ");
		tw_str_add_real_fixed(&text, pattern->recoverable_ms, 3);
		tw_str_add_cstr(&text, " ms");
		if (!isnan(pattern->percent_of_total)) {
			tw_str_add_cstr(&text, " (");
			tw_str_add_real_fixed(&text, pattern->percent_of_total, 2);
			tw_str_add_cstr(&text, "% of total)");
		}
	}
	return tw_kept(p->arena, &text);
}

/* The facts that its rules ask or tell. */
static void add_evidence(struct tw_patterns *p, struct tw_pattern *pattern,
			 const struct tw_rule *rule, const struct tw_rule *more,
			 const struct tw_facts *facts)
{
	int fact;

	pattern->evidence.at =
		tw_arena_array(p->arena, TW_FACT_COUNT, sizeof(*pattern->evidence.at));
	for (fact = 0; pattern->evidence.at && fact < TW_FACT_COUNT; fact++)
		if (!isnan(facts->value[fact]) &&
		    (tw_rule_uses(rule, (enum tw_fact)fact) ||
		     (more && tw_rule_uses(more, (enum tw_fact)fact))))
			pattern->evidence.at[pattern->evidence.count++] = (struct tw_named){
				tw_facts_known[fact].name,
				tw_as_written(facts->value[fact], tw_facts_known[fact].digits)
			};
}

static bool comes_first(const struct tw_pattern *a, const struct tw_pattern *b)
{
	double a_ms = isnan(a->recoverable_ms) ? -1 : a->recoverable_ms;
	double b_ms = isnan(b->recoverable_ms) ? -1 : b->recoverable_ms;

	if (a_ms > b_ms || a_ms < b_ms)
		return a_ms > b_ms;
	return tw_level_rank(a->severity->ladder, a->severity->level) <
	       tw_level_rank(b->severity->ladder, b->severity->level);
}

/* One that holds the time of another says what to do about both. */
static void find_included(struct tw_patterns *p)
{
	size_t i, k;

	for (i = 0; i < p->list.count; i++) {
		struct tw_pattern *inner = &p->list.at[i];

		for (k = 0; inner->area->inside && k < p->list.count; k++) {
			if (strcmp(p->list.at[k].id, inner->area->inside))
				continue;
			inner->included_in = p->list.at[k].id;
			inner->action = "As for communication that blocks compute";
		}
	}
}

void tw_patterns_add(struct tw_patterns *p, const struct tw_system_area *area,
		     const struct tw_level *severity, const struct tw_facts *facts,
		     const struct tw_rule *more, const char *place)
{
	const struct tw_rule *rule = tw_rule_next(area->scope, facts, NULL);
	struct tw_pattern new = { .area = area, .id = area->id, .title = area->title };
	size_t at = p->list.count, row;

	if (!p->list.at)
		p->list.at = tw_arena_array(p->arena, TW_MOST_PATTERNS, sizeof(*p->list.at));
	if (!rule || !p->list.at)
		return;
	assert(at < TW_MOST_PATTERNS);
	new.rule = rule->id;
	new.severity = severity;
	new.recoverable_ms = facts->value[area->time];
	new.percent_of_total = tw_percent_of(new.recoverable_ms, p->total_ms);
	row = find_row(p->findings, area->kind);
	if (p->findings && row < trawl_table_rows(p->findings))
		new.finding = row + 1;
	new.issue = issue_of(p->arena, rule, more, place, facts);
	new.action = action_of(p, &new, rule);
	new.impact = impact_of(p, &new);
	add_evidence(p, &new, rule, more, facts);
	for (; at && comes_first(&new, &p->list.at[at - 1]); at--)
		p->list.at[at] = p->list.at[at - 1];
	p->list.at[at] = new;
	p->list.count++;
	find_included(p);
}

/* ---- Markdown */

void tw_system_head(struct tw_str *out, const struct tw_system *system, const char *title,
		    const struct tw_findings_place *place)
{
	if (!place->deeper)
		tw_str_addf(out,
			    "# %s Findings\n\n**Status**: %s\n**Analysis Tier**: "
			    "System-Level\n\n",
			    title, system->error ? "ERROR" : "SUCCESS");
	if (system->error)
		return;
	tw_fields_fill(out, "**Events**: times and percentages are over {events}.", &head, system);
	tw_str_add_cstr(out, place->deeper ? "  \n\n" : "\n\n");
	if (!system->limitations)
		return;
	tw_fields_fill(out, "**Limitations**: {limitations}.", &head, system);
	tw_str_add_cstr(out, place->deeper ? "  \n\n" : "\n\n");
}

static void add_recommendation(struct tw_str *out, const struct tw_pattern *pattern, size_t n)
{
	tw_str_addf(out, "### System P%zu: ", n);
	tw_fields_fill(out,
		       "{title}\n**Issue**: {issue}\n**Action**: {action}\n"
		       "**Expected Impact**: {expected_impact}\n\n",
		       &tw_pattern_finding_fields, pattern);
}

void tw_patterns_markdown(struct tw_str *out, const struct tw_patterns *p,
			  const struct tw_findings_place *place)
{
	size_t i;

	tw_findings_heading(out, place, 2, "Detected Patterns");
	tw_str_add_cstr(out, place->deeper ? "" : "\n");
	for (i = 0; i < p->list.count; i++) {
		tw_str_addf(out, "%zu. ", i + 1);
		tw_fields_fill(out,
			       "**{title}** - {severity}\n   - Evidence: {issue}\n"
			       "   - Impact: {expected_impact}\n   - Recommendation: {action}\n",
			       &tw_pattern_finding_fields, &p->list.at[i]);
	}
	tw_str_add_cstr(out, i ? "\n" : "None.\n\n");
	/* A report has the findings themselves. */
	if (place->deeper)
		return;
	tw_findings_heading(out, place, 2, "Recommendations");
	tw_str_add_char(out, '\n');
	for (i = 0; i < p->list.count; i++)
		add_recommendation(out, &p->list.at[i], i + 1);
	if (!i)
		tw_str_addf(out, "None: %s.\n\n",
			    p->total_ms > 0 || isnan(p->total_ms) ?
				    "nothing here is over the thresholds" :
				    "no GPU work was recorded");
}

/* ---- from files, and to files */

/* Without the directory, which is no part of a result. */
static const char *why(const struct tw_prepared *prepared, struct tw_arena *arena,
		       const struct trawl_error *err)
{
	size_t len = strlen(prepared->dir);
	char *text = tw_arena_copy(arena, err->message, strlen(err->message)), *at = text;

	while (at && (at = strstr(at, prepared->dir)) && at[len] == '/')
		memmove(at, at + len + 1, strlen(at + len + 1) + 1);
	return text;
}

static int read_data(struct tw_system_source *source, const char *file,
		     const struct tw_fields *fields, struct trawl_error *err)
{
	struct tw_prepared *prepared = source->prepared;
	const struct tw_json_value *json;
	char name[64];

	if (!tw_prepared_has(prepared, TW_CATEGORY_DATA, file))
		return 0;
	json = tw_prepared_json(prepared, TW_CATEGORY_DATA, file, err);
	if (!json)
		return err->status;
	snprintf(name, sizeof(name), TW_CATEGORY_DATA "/%s", file);
	if (json->type != TW_JSON_OBJECT)
		return trawl_error_set(err, TRAWL_EFORMAT, "%s: not an object", name);
	source->data = tw_arena_array(&prepared->arena, 1, fields->size);
	return source->data ?
		       tw_fields_read(fields, source->data, json, name, &prepared->arena, err) :
		       tw_no_memory(err);
}

static int read_all(struct tw_system_source *source, const char *category, const char *file,
		    const struct tw_fields *fields, struct trawl_error *err)
{
	struct tw_manifest whole;
	const char *title;
	int status = source->data ? 0 : read_data(source, file, fields, err);

	if (status)
		return status;
	source->manifest = tw_manifest_read(source->prepared, err);
	if (!source->manifest && err->status != TRAWL_ENODATA)
		return err->status;
	if (!source->manifest && !source->data)
		return trawl_error_set(err, TRAWL_ENODATA,
				       "neither %s nor %s is there (" TW_CATEGORY_DATA ")", file,
				       TW_MANIFEST);
	if (source->prepared->manifest) {
		source->platform = source->manifest->hardware.platform;
		return 0;
	}
	status = tw_metadata_read(source->prepared, category, &whole, &title, err);
	source->platform = status ? NULL : whole.hardware.platform;
	return status == TRAWL_ENODATA ? 0 : status;
}

int tw_system_read(struct tw_system_source *source, const char *category, const char *file,
		   const struct tw_fields *fields, const char **reason, struct trawl_error *err)
{
	struct trawl_error problem;
	int status = read_all(source, category, file, fields, &problem);

	*reason = NULL;
	if (status == TRAWL_ENOMEM)
		return tw_no_memory(err);
	if (status)
		*reason = why(source->prepared, &source->prepared->arena, &problem);
	return status && !*reason ? tw_no_memory(err) : 0;
}

int tw_system_write(struct tw_prepared *prepared, const char *category,
		    const struct tw_system *system, const struct tw_fields *fields,
		    void (*markdown)(struct tw_str *out, const void *metrics,
				     const struct tw_findings_place *place),
		    struct tw_category_result *result, struct trawl_error *err)
{
	const struct tw_findings_place file = { 0 };
	struct tw_str text;
	int status;

	tw_str_init(&text, prepared->allocator);
	text.failed = prepared->arena.failed;
	tw_fields_document(&text, system->error ? &failure : fields, system);
	status = tw_prepared_write_of(prepared, TW_CATEGORY_DATA, category, "_metrics.json", &text,
				      err);
	tw_str_clear(&text);
	markdown(&text, system, &file);
	if (system->error) {
		tw_fields_fill(&text,
			       "**Error**: {error}\n\nThe data were not analysed. Make them again "
			       "with `trawl prepare`, then run this analysis once more.\n",
			       &failure, system);
		result->status = TW_CATEGORY_FAILED;
		snprintf(result->message, sizeof(result->message), "%s", system->error);
	}
	if (!status)
		status = tw_prepared_write_of(prepared, TW_SYSTEM_FINDINGS, category,
					      "_findings.md", &text, err);
	tw_str_release(&text);
	result->bottlenecks = (int64_t)system->patterns.list.count;
	result->system = system;
	result->markdown = markdown;
	return status;
}
