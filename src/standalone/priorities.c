/* priority_data.json: everything the categories found, in one order, with what it is worth. */
#include "standalone/reports.h"

#include "base/alloc.h"
#include "findings/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PRIORITY "priority"
#define TARGET "target_efficiency"

struct optimization {
	const struct tw_report_category *category;
	const struct tw_json_value *source; /* a bottleneck, or a finding of a system analysis */
	size_t number;			    /* in its category, from 1 on */
	const char *priority;
	const struct tw_level *target;	       /* the first above its efficiency */
	size_t top_rank;		       /* 0: not among the top operations */
	double gain_percent, percent_of_total; /* NaN: unknown */
};

struct ranking {
	const struct tw_report_material *material;
	struct tw_json json;
	double total_ms;
	struct optimization *list;
	size_t count, most;
	bool failed;
};

/* ---- what is one */

/* Kernels of one launch that no operation encloses share its uid, but not their name. */
static size_t top_rank(const struct ranking *r, const struct tw_json_value *bottleneck)
{
	const struct tw_json_value *top = tw_json_get(r->material->manifest, "top_operations");
	const struct tw_json_value *op;
	size_t rank = 1;

	for (op = top->first; op; op = op->next, rank++)
		if (tw_report_number(op, "uid") == tw_report_number(bottleneck, "uid") &&
		    !strcmp(tw_report_text(op, "name"), tw_report_text(bottleneck, "operation")))
			return rank;
	return 0;
}

/* Rules that look for a pattern of the category's kind: not at every category, nor in any case. */
static double pattern_count(const struct tw_json_value *bottleneck)
{
	const struct tw_json_value *rules = tw_json_get(bottleneck, "rules"), *id;
	double count = 0;
	size_t i;

	for (id = rules->first; id; id = id->next)
		for (i = 0; i < tw_rule_count; i++)
			count += tw_rules[i].condition_count &&
				 !strcmp(tw_rules[i].id, tw_json_text(id)) &&
				 strcmp(tw_rules[i].scope, "any");
	return count;
}

/*
 * Time that the operation takes less at a target, of which only that helps in which nothing else
 * runs on the GPU.
 */
static double gain_ms(const struct tw_json_value *bottleneck, double efficiency, double target)
{
	double time = tw_report_number(bottleneck, "time_ms");
	double exposed = tw_report_number(bottleneck, "exposed_time_ms");

	return fmin(time * (1 - efficiency / target), exposed);
}

static double target_of(const struct tw_level *level)
{
	char *end;
	double target = strtod(level->level, &end);

	return *end ? NAN : target;
}

static const struct tw_level *next_target(const struct tw_level *level)
{
	const struct tw_level *next = level + 1;

	return next < tw_levels + tw_level_count && !strcmp(next->ladder, TARGET) &&
			       !isnan(target_of(next)) ?
		       next :
		       NULL;
}

static struct optimization *add(struct ranking *r, const struct tw_report_category *category,
				const struct tw_json_value *source, size_t number)
{
	struct optimization *o;

	if (r->count == r->most) {
		size_t most = r->most ? 2 * r->most : 64;
		struct optimization *list =
			tw_arena_alloc(&r->material->prepared->arena, most * sizeof(*list));

		if (!list) {
			r->failed = true;
			return NULL;
		}
		if (r->count)
			memcpy(list, r->list, r->count * sizeof(*list));
		r->list = list;
		r->most = most;
	}
	o = &r->list[r->count++];
	*o = (struct optimization){ .category = category, .source = source, .number = number };
	o->gain_percent = NAN;
	o->percent_of_total = tw_report_number(source, "percent_of_total");
	return o;
}

static void add_bottleneck(struct ranking *r, const struct tw_report_category *category,
			   const struct tw_json_value *source, size_t number)
{
	struct optimization *o = add(r, category, source, number);
	struct tw_facts facts;
	double efficiency;

	if (!o)
		return;
	efficiency = tw_report_number(source, "efficiency_percent");
	o->top_rank = top_rank(r, source);
	tw_facts_init(&facts);
	facts.value[TW_FACT_in_top_operations] = o->top_rank ? 1 : 0;
	facts.value[TW_FACT_efficiency_percent] = efficiency;
	facts.value[TW_FACT_percent_of_category] = tw_report_number(source, "percent_of_category");
	facts.value[TW_FACT_pattern_count] = pattern_count(source);
	o->priority = tw_level_of(PRIORITY, &facts)->level;
	o->target = tw_level_of(TARGET, &facts);
	if (!isnan(target_of(o->target))) {
		const struct tw_level *last = o->target, *next;

		while ((next = next_target(last)))
			last = next;
		o->gain_percent = 100 * gain_ms(source, efficiency, target_of(last)) / r->total_ms;
	} else {
		o->target = NULL;
	}
}

/* Severities are priorities by other names; ACCEPTABLE and GOOD are none. */
static const char *priority_of_severity(const char *severity)
{
	size_t i;

	for (i = 0; i < tw_level_count; i++)
		if (!strcmp(tw_levels[i].ladder, PRIORITY) &&
		    !strcasecmp(tw_levels[i].level, severity))
			return tw_levels[i].level;
	return NULL;
}

static void add_system(struct ranking *r, const struct tw_report_category *category,
		       const struct tw_json_value *source, size_t number)
{
	const char *priority = priority_of_severity(tw_report_text(source, "severity"));
	struct optimization *o = priority ? add(r, category, source, number) : NULL;

	if (o) {
		o->priority = priority;
		o->gain_percent = o->percent_of_total;
	}
}

/* What is unknown comes last. */
static int compare_unknown_last(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a < b) - (a > b);
}

/* By priority, then by what is to be gained, then by size. */
static int compare(const void *a, const void *b)
{
	const struct optimization *p = a, *q = b;
	unsigned first = tw_level_rank(PRIORITY, p->priority);
	unsigned second = tw_level_rank(PRIORITY, q->priority);
	int order = (first > second) - (first < second);

	if (!order)
		order = compare_unknown_last(p->gain_percent, q->gain_percent);
	if (!order)
		order = compare_unknown_last(p->percent_of_total, q->percent_of_total);
	if (!order)
		order = (p->category > q->category) - (p->category < q->category);
	return order ? order : (p->number > q->number) - (p->number < q->number);
}

static void collect(struct ranking *r)
{
	size_t i, number;

	for (i = 0; i < r->material->category_count; i++) {
		const struct tw_report_category *c = &r->material->categories[i];
		const struct tw_json_value *list, *item;

		list = tw_json_get(c->metrics, c->is_system ? "findings" : "bottlenecks");
		for (item = list->first, number = 1; item; item = item->next, number++) {
			if (c->is_system)
				add_system(r, c, item, number);
			else
				add_bottleneck(r, c, item, number);
		}
	}
	if (r->count)
		qsort(r->list, r->count, sizeof(*r->list), compare);
}

/* ---- writing it */

/* Times of short operations with what is needed to tell them apart from none. */
static void write_ms(struct ranking *r, const char *key, double ms)
{
	tw_report_key_rounded(&r->json, key, ms, fabs(ms) < 0.1 ? 6 : 3);
}

static void write_projection(struct ranking *r, const struct optimization *o)
{
	const struct tw_level *level = o->target;
	double efficiency = tw_report_number(o->source, "efficiency_percent");
	double time = tw_report_number(o->source, "time_ms");

	tw_json_key(&r->json, "impact_projection");
	tw_json_array(&r->json, TW_JSON_LINES);
	for (; level; level = next_target(level)) {
		double target = target_of(level), gain = gain_ms(o->source, efficiency, target);
		double less = time * (1 - efficiency / target);

		tw_json_object(&r->json, TW_JSON_INLINE);
		tw_report_key_rounded(&r->json, "target_efficiency_percent", target, 2);
		write_ms(r, "time_ms", time * efficiency / target);
		tw_report_key_rounded(&r->json, "operation_improvement_percent", 100 * less / time,
				      2);
		write_ms(r, "e2e_improvement_ms", gain);
		tw_report_key_rounded(&r->json, "e2e_improvement_percent", 100 * gain / r->total_ms,
				      2);
		tw_json_key(&r->json, "bounded_by_exposed_time");
		tw_json_bool(&r->json, gain < less);
		tw_json_end(&r->json);
	}
	tw_json_end(&r->json);
}

static void write_compute(struct ranking *r, const struct optimization *o)
{
	static const char *const keys[] = {
		"uid",
		"operation",
		"args",
		"count",
		"time_ms",
		"exposed_time_ms",
		"percent_of_category",
		"percent_of_compute",
		"percent_of_total",
		"efficiency_percent",
		"bound_type",
		"flops_per_byte",
		"rules",
		"library",
	};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		tw_report_key_copy(&r->json, keys[i], o->source, keys[i]);
	tw_json_key(&r->json, "in_top_operations");
	tw_json_bool(&r->json, o->top_rank > 0);
	tw_json_key(&r->json, "top_operations_rank");
	if (o->top_rank)
		tw_json_integer(&r->json, (int64_t)o->top_rank);
	else
		tw_json_null(&r->json);
	tw_report_key_copy(&r->json, "issue", o->source, "issue");
	tw_report_key_copy(&r->json, "path_a", o->source, "algorithmic");
	tw_report_key_copy(&r->json, "path_b", o->source, "kernel");
	write_projection(r, o);
}

static void write_system(struct ranking *r, const struct optimization *o)
{
	static const char *const keys[] = { "severity", "percent_of_total", "issue",
					    "action",	"expected_impact",  "evidence" };
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		tw_report_key_copy(&r->json, keys[i], o->source, keys[i]);
}

static void write_title(struct ranking *r, const struct optimization *o)
{
	struct tw_str title;

	tw_str_init(&title, r->material->prepared->allocator);
	if (o->category->is_system)
		tw_str_add_cstr(&title, tw_report_text(o->source, "title"));
	else
		tw_str_addf(&title, "%s (%s)", tw_report_text(o->source, "operation"),
			    o->category->title);
	tw_report_key_text(&r->json, "title", title.ptr);
	r->failed |= title.failed;
	tw_str_release(&title);
}

static void write_optimizations(struct ranking *r)
{
	char id[24] = "P";
	size_t i;

	tw_json_key(&r->json, "optimizations");
	tw_json_array(&r->json, TW_JSON_LINES);
	for (i = 0; i < r->count; i++) {
		const struct optimization *o = &r->list[i];
		struct tw_str number;

		tw_json_object(&r->json, TW_JSON_LINES);
		tw_str_init(&number, r->material->prepared->allocator);
		tw_str_addf(&number, "%s%zu", id, i + 1);
		tw_report_key_text(&r->json, "id", number.ptr);
		r->failed |= number.failed;
		tw_str_release(&number);
		tw_json_key(&r->json, "rank");
		tw_json_integer(&r->json, (int64_t)i + 1);
		tw_report_key_text(&r->json, "priority", o->priority);
		tw_report_key_text(&r->json, "kind", o->category->is_system ? "system" : "compute");
		tw_report_key_text(&r->json, "category", o->category->name);
		tw_report_key_text(&r->json, "display_name", o->category->title);
		tw_json_key(&r->json, "category_rank");
		tw_json_integer(&r->json, (int64_t)o->number);
		write_title(r, o);
		tw_report_key_rounded(&r->json, "expected_gain_percent", o->gain_percent, 2);
		if (o->category->is_system)
			write_system(r, o);
		else
			write_compute(r, o);
		tw_json_end(&r->json);
	}
	tw_json_end(&r->json);
}

static void write_counts(struct ranking *r)
{
	size_t i, k;

	tw_json_key(&r->json, "priority_counts");
	tw_json_object(&r->json, TW_JSON_INLINE);
	for (i = 0; i < tw_level_count; i++) {
		int64_t count = 0;

		/* A level may have several rows, one behind the other. */
		if (strcmp(tw_levels[i].ladder, PRIORITY) ||
		    (i && !strcmp(tw_levels[i - 1].level, tw_levels[i].level)))
			continue;
		for (k = 0; k < r->count; k++)
			count += !strcmp(r->list[k].priority, tw_levels[i].level);
		tw_json_key(&r->json, tw_levels[i].level);
		tw_json_integer(&r->json, count);
	}
	tw_json_end(&r->json);
}

/* ---- the whole */

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
	const char *answer = NULL;
	size_t i;

	for (i = 0; i < m->category_count; i++) {
		const struct tw_report_category *c = &m->categories[i];
		const struct tw_json_value *specific;

		if (!c->metrics)
			continue;
		specific = tw_json_get(c->metrics, "category_specific");
		if (tw_json_true(tw_json_get(specific, "flash_attention_detected")))
			return "Yes";
		if (is_attention(c) || has_unfused_attention(c))
			answer = "No";
	}
	return answer;
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

static void write_summary(struct ranking *r)
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
		tw_report_key_rounded(&r->json, times[i], tw_report_number(used, times[i]), 3);
	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		tw_report_key_rounded(&r->json, shares[i], tw_report_number(used, shares[i]), 2);
	tw_report_key_text(&r->json, "top_category", top ? top->title : NULL);
	tw_report_key_rounded(&r->json, "top_category_percent_of_compute",
			      tw_report_number(top ? top->entry : NULL, "percent_of_compute"), 2);
	tw_report_key_text(&r->json, "flash_attention", flash_attention(r->material));
	tw_json_end(&r->json);
}

/* Facts about the operations of the aggregate. */
static void count_operations(const struct tw_report_material *m, struct tw_facts *facts)
{
	double unmodelled = 0, percent = 0, anomalies = 0;
	size_t i;

	for (i = 0; i < m->category_count; i++) {
		const struct tw_json_value *op;

		op = tw_json_get(m->categories[i].metrics, "operations")->first;
		for (; op; op = op->next) {
			const struct tw_json_value *e = tw_json_get(op, "efficiency");
			double share = tw_report_number(op, "percent_of_compute");

			anomalies += tw_json_true(tw_json_get(e, "is_anomaly"));
			if (tw_json_get(e, "efficiency_percent")->type == TW_JSON_NUMBER)
				continue;
			unmodelled++;
			percent += isnan(share) ? 0 : share;
		}
	}
	facts->value[TW_FACT_unmodelled_count] = unmodelled;
	facts->value[TW_FACT_unmodelled_percent] = percent;
	facts->value[TW_FACT_anomaly_count] = anomalies;
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

static void count_hidden(const struct ranking *r, struct tw_facts *facts)
{
	double time = 0, hidden = 0;
	size_t i;

	for (i = 0; i < r->count; i++) {
		double all = tw_report_number(r->list[i].source, "time_ms");
		double exposed = tw_report_number(r->list[i].source, "exposed_time_ms");

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
static void write_facts(struct ranking *r)
{
	const struct tw_report_material *m = r->material;
	const struct tw_json_value *used = tw_json_get(m->manifest, "gpu_utilization");
	struct tw_facts facts;
	size_t i;

	tw_facts_init(&facts);
	count_operations(m, &facts);
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
			tw_report_key_rounded(&r->json, tw_facts_known[i].name, facts.value[i],
					      tw_facts_known[i].digits);
	tw_json_end(&r->json);
}

static void write_excluded(struct ranking *r)
{
	size_t i;

	tw_json_key(&r->json, "excluded");
	tw_json_array(&r->json, TW_JSON_LINES);
	for (i = 0; i < r->material->category_count; i++) {
		const struct tw_report_category *c = &r->material->categories[i];

		if (!c->excluded)
			continue;
		tw_json_object(&r->json, TW_JSON_INLINE);
		tw_report_key_text(&r->json, "category", c->name);
		tw_report_key_text(&r->json, "display_name", c->title);
		tw_report_key_text(&r->json, "reason", c->excluded);
		tw_json_end(&r->json);
	}
	tw_json_end(&r->json);
}

void tw_priorities_write(const struct tw_report_material *material, struct tw_str *out)
{
	const struct tw_json_value *used = tw_json_get(material->manifest, "gpu_utilization");
	struct ranking r = { .material = material };

	r.total_ms = tw_report_number(used, "total_time_ms");
	collect(&r);
	tw_json_init(&r.json, out);
	tw_json_object(&r.json, TW_JSON_LINES);
	tw_report_key_text(&r.json, "model", material->model);
	tw_report_key_text(&r.json, "platform", material->platform);
	tw_report_key_copy(&r.json, "baseline_ms", used, "total_time_ms");
	tw_priorities_estimates(material, &r.json);
	write_optimizations(&r);
	write_counts(&r);
	write_summary(&r);
	write_facts(&r);
	write_excluded(&r);
	tw_json_end(&r.json);
	tw_json_finish(&r.json);
	out->failed |= r.failed;
}
