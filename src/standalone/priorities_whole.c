/* The part of priority_data.json that is about the analysis as a whole. */
#include "standalone/priorities.h"

#include <math.h>
#include <string.h>

static bool is_attention(const struct tw_report_category *c)
{
	return !strncmp(c->name, "sdpa", 4) || !strcmp(c->name, "inferenceattention");
}

/* Whether a rule of the categories has seen attention in pieces. */
static bool has_unfused_attention(const struct tw_report_category *c)
{
	const struct tw_json_value *b = tw_json_get(c->metrics, "bottlenecks")->first, *rule;

	for (; b; b = b->next)
		for (rule = tw_json_get(b, "rules")->first; rule; rule = rule->next)
			if (!strcmp(tw_json_text(rule), "unfused_attention"))
				return true;
	return false;
}

/* Whether attention runs as one fused kernel; NULL: there is no attention. */
static const char *flash_attention(const struct tw_report_material *m)
{
	bool hidden = tw_report_number(tw_json_get(m->manifest, "unlinked"), "compute_time_ms") > 0;
	bool pieces = false;
	size_t i;

	for (i = 0; i < m->category_count; i++) {
		const struct tw_report_category *c = &m->categories[i];
		const struct tw_json_value *specific;

		if (!c->metrics)
			continue;
		specific = tw_json_get(c->metrics, "category_specific");
		if (c->operations.fused_attention ||
		    tw_json_true(tw_json_get(specific, "flash_attention_detected")))
			return "Yes";
		hidden |= c->operations.hidden;
		pieces |= is_attention(c) || has_unfused_attention(c);
	}
	return pieces ? "No" : hidden ? "Unknown" : NULL;
}

/* The compute category with the most kernel time, NULL without any. */
static const struct tw_report_category *top_category(const struct tw_report_material *m)
{
	const struct tw_report_category *top = NULL;
	double most = 0;
	size_t i;

	for (i = 0; i < m->category_count; i++) {
		const struct tw_report_category *c = &m->categories[i];
		double time = tw_report_number(c->entry, "gpu_kernel_time_ms");

		if (!c->is_system && time > most) {
			most = time;
			top = c;
		}
	}
	return top;
}

static void write_summary(struct tw_ranking *r)
{
	static const char *const times[] = {
		"total_time_ms",	  "computation_time_ms", "exposed_comm_time_ms",
		"exposed_memcpy_time_ms", "idle_time_ms",
	};
	static const char *const shares[] = {
		"computation_time_percent",
		"exposed_comm_time_percent",
		"exposed_memcpy_time_percent",
		"idle_time_percent",
	};
	const struct tw_json_value *used = tw_json_get(r->material->manifest, "gpu_utilization");
	const struct tw_report_category *top = top_category(r->material);
	size_t i;

	tw_json_key(&r->json, "summary");
	tw_json_object(&r->json, TW_JSON_LINES);
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		tw_field_real(&r->json, times[i], tw_report_number(used, times[i]), 3);
	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		tw_field_real(&r->json, shares[i], tw_report_number(used, shares[i]), 2);
	tw_field_some_text(&r->json, "top_category", top ? top->title : NULL);
	tw_field_real(&r->json, "top_category_percent_of_compute",
		      tw_report_number(top ? top->entry : NULL, "percent_of_compute"), 2);
	tw_field_some_text(&r->json, "flash_attention", flash_attention(r->material));
	tw_json_end(&r->json);
}

static void count_categories(const struct tw_report_material *m, struct tw_facts *facts)
{
	double excluded = 0, sync = 0;
	size_t i;

	for (i = 0; i < m->category_count; i++) {
		const struct tw_report_category *c = &m->categories[i];

		excluded += c->excluded != NULL;
		sync += tw_json_true(tw_json_get(c->entry, "has_sync_bottleneck"));
		if (!strcmp(c->name, "other"))
			facts->value[TW_FACT_other_percent] =
				tw_report_number(c->entry, "percent_of_compute");
	}
	facts->value[TW_FACT_excluded_count] = excluded;
	facts->value[TW_FACT_sync_category_count] = sync;
}

static void count_hidden(const struct tw_ranking *r, struct tw_facts *facts)
{
	double time = 0, hidden = 0;
	size_t i;

	for (i = 0; i < r->count; i++) {
		double all = tw_report_number(r->list[i]->source, "time_ms");
		double exposed = tw_report_number(r->list[i]->source, "exposed_time_ms");

		if (!isnan(all) && !isnan(exposed)) {
			time += all;
			hidden += all - exposed;
		}
	}
	facts->value[TW_FACT_hidden_percent] = 100 * hidden / time;
	facts->value[TW_FACT_bottleneck_count] = (double)r->count;
}

static double lost_events(const struct tw_report_material *m)
{
	const struct tw_json_value *d = tw_json_get(m->manifest, "defects")->first;
	double lost = 0;

	for (; d; d = d->next)
		if (!strcmp(tw_report_text(d, "severity"), "lost"))
			lost += tw_report_number(d, "count");
	return lost;
}

/* What rules about the analysis as a whole may ask. */
static void write_facts(struct tw_ranking *r)
{
	const struct tw_report_material *m = r->material;
	const struct tw_json_value *used = tw_json_get(m->manifest, "gpu_utilization");
	struct tw_facts facts;
	size_t i;

	tw_facts_init(&facts);
	facts.value[TW_FACT_unmodelled_count] = m->operations.unmodelled;
	facts.value[TW_FACT_unmodelled_percent] = m->operations.unmodelled_percent;
	facts.value[TW_FACT_anomaly_count] = m->operations.anomalies;
	count_categories(m, &facts);
	count_hidden(r, &facts);
	facts.value[TW_FACT_lost_count] = lost_events(m);
	facts.value[TW_FACT_idle_percent] = tw_report_number(used, "idle_time_percent");
	facts.value[TW_FACT_exposed_comm_percent] =
		tw_report_number(used, "exposed_comm_time_percent");
	facts.value[TW_FACT_platform_known] = m->platform != NULL;
	facts.value[TW_FACT_platform_guessed] =
		m->platform && tw_json_true(tw_json_get(m->manifest, "platform_guessed"));
	tw_json_key(&r->json, "facts");
	tw_json_object(&r->json, TW_JSON_LINES);
	for (i = 0; i < TW_FACT_COUNT; i++)
		if (!isnan(facts.value[i]))
			tw_field_real(&r->json, tw_facts_known[i].name, facts.value[i],
				      tw_facts_known[i].digits);
	tw_json_end(&r->json);
}

static void write_excluded(struct tw_ranking *r)
{
	size_t i;

	tw_json_key(&r->json, "excluded");
	tw_json_array(&r->json, TW_JSON_LINES);
	for (i = 0; i < r->material->category_count; i++) {
		const struct tw_report_category *c = &r->material->categories[i];

		if (!c->excluded)
			continue;
		tw_json_object(&r->json, TW_JSON_INLINE);
		tw_field_some_text(&r->json, "category", c->name);
		tw_field_some_text(&r->json, "display_name", c->title);
		tw_field_some_text(&r->json, "reason", c->excluded);
		tw_json_end(&r->json);
	}
	tw_json_end(&r->json);
}

/* Categories' operations that cannot be seen and that nothing can be done about. */
static void write_notes(struct tw_ranking *r)
{
	size_t i;

	tw_json_key(&r->json, "notes");
	tw_json_array(&r->json, TW_JSON_LINES);
	for (i = 0; i < r->material->category_count; i++) {
		const struct tw_report_category *c = &r->material->categories[i];
		const struct tw_json_value *b = tw_json_get(c->metrics, "bottlenecks")->first;
		const struct tw_json_value *first = NULL;
		double time = 0, share = 0;
		int64_t count = 0;

		for (; b; b = b->next) {
			if (!tw_is_only_noted(b))
				continue;
			first = first ? first : b;
			time += tw_report_number(b, "time_ms");
			share += tw_report_number(b, "percent_of_total");
			count++;
		}
		if (!count)
			continue;
		tw_json_object(&r->json, TW_JSON_LINES);
		tw_field_some_text(&r->json, "category", c->name);
		tw_field_some_text(&r->json, "display_name", c->title);
		tw_json_key(&r->json, "count");
		tw_json_integer(&r->json, count);
		tw_field_real(&r->json, "time_ms", time, 3);
		tw_field_real(&r->json, "percent_of_total", share, 2);
		tw_field_copy(&r->json, "issue", tw_json_get(first, "issue"));
		tw_json_end(&r->json);
	}
	tw_json_end(&r->json);
}

void tw_priorities_write_whole(struct tw_ranking *r)
{
	write_summary(r);
	write_facts(r);
	write_excluded(r);
	write_notes(r);
}
