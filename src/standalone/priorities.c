/* priority_data.json: the bottlenecks of all categories in one order, and what limits the run. */
#include "standalone/priorities.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PRIORITY TW_PRIORITY_LADDER

/* ---- what is one */

/* Kernels of one launch that no operation encloses share its uid, but not their name. */
static size_t top_rank(const struct tw_ranking *r, const struct tw_json_value *bottleneck)
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

/* Of the time that goes only that helps in which nothing else runs on the GPU. */
static double bounded_ms(const struct tw_json_value *source, double less)
{
	return fmax(fmin(less, tw_report_number(source, "exposed_time_ms")), 0);
}

/* Known for operations of a group whose parts one change replaces. */
static double speedup_of(const struct tw_json_value *source)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_unfused_attention] =
		!strcmp(tw_report_text(source, "group"), "unfused_attention");
	return tw_target_of(tw_level_of("group_speedup", &facts));
}

/* What the change of a bottleneck saves; NaN: not known. */
static double gain_ms(const struct tw_ranking *r, struct tw_bottleneck *o,
		      const struct tw_facts *facts)
{
	double efficiency = facts->value[TW_FACT_efficiency_percent];
	const struct tw_level *last = o->target, *next;

	if (!isnan(o->speedup))
		return bounded_ms(o->source, o->time_ms * (1 - 1 / o->speedup));
	if (isnan(efficiency) || tw_level_is_yes("anomaly", facts) ||
	    tw_json_true(tw_json_get(o->source, "too_short")))
		return NAN;
	if (!last)
		return 0;
	while ((next = tw_next_target(last)))
		last = next;
	return bounded_ms(o->source, o->time_ms - tw_priorities_time_ms(r, o->source, efficiency,
									tw_target_of(last)));
}

static struct tw_bottleneck *add(struct tw_ranking *r, const struct tw_report_category *category,
				 const struct tw_json_value *source, size_t number)
{
	struct tw_arena *arena = &r->material->prepared->arena;
	struct tw_bottleneck *o = tw_arena_alloc(arena, sizeof(*o));

	if (o && r->count == r->most) {
		size_t most = r->most ? 2 * r->most : 64;
		struct tw_bottleneck **list = tw_arena_alloc(arena, most * sizeof(*list));

		if (list && r->count)
			memcpy(list, r->list, r->count * sizeof(*list));
		r->list = list ? list : r->list;
		r->most = list ? most : r->most;
	}
	if (!o || r->count == r->most) {
		r->failed = true;
		return NULL;
	}
	r->list[r->count++] = o;
	*o = (struct tw_bottleneck){ .category = category, .source = source, .number = number };
	o->members = 1;
	o->gain_percent = o->speedup = NAN;
	o->percent_of_total = tw_report_number(source, "percent_of_total");
	o->percent_of_compute = tw_report_number(source, "percent_of_compute");
	o->time_ms = tw_report_number(source, "time_ms");
	o->exposed_ms = tw_report_number(source, "exposed_time_ms");
	return o;
}

static void add_bottleneck(struct tw_ranking *r, const struct tw_report_category *category,
			   const struct tw_json_value *source, size_t number)
{
	struct tw_bottleneck *o = add(r, category, source, number);
	struct tw_facts facts;

	if (!o)
		return;
	o->top_rank = top_rank(r, source);
	o->speedup = speedup_of(source);
	tw_facts_init(&facts);
	facts.value[TW_FACT_in_top_operations] = o->top_rank ? 1 : 0;
	facts.value[TW_FACT_efficiency_percent] = tw_report_number(source, "efficiency_percent");
	facts.value[TW_FACT_percent_of_category] = tw_report_number(source, "percent_of_category");
	facts.value[TW_FACT_pattern_count] = pattern_count(source);
	o->priority = tw_level_of(PRIORITY, &facts)->level;
	o->target = tw_level_of(TW_TARGET_LADDER, &facts);
	if (isnan(tw_target_of(o->target)) || tw_json_true(tw_json_get(source, "too_short")))
		o->target = NULL;
	o->gain_percent = 100 * gain_ms(r, o, &facts) / r->total_ms;
}

/* ---- several as one */

static bool is_small(const struct tw_bottleneck *o)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_gain_percent] = o->gain_percent;
	return tw_level_is_yes("small_gain", &facts);
}

static const char *first_rule(const struct tw_bottleneck *o)
{
	const struct tw_json_value *rule = tw_json_get(o->source, "rules")->first;

	return rule ? tw_json_text(rule) : "";
}

/*
 * What those told as one have in common: parts of one thing; what cannot be seen of a category;
 * small ones of it with the same advice.  "" for what is told alone.
 */
static void add_common(struct tw_str *key, const struct tw_bottleneck *o)
{
	const char *group = tw_report_text(o->source, "group");

	tw_str_clear(key);
	if (*group)
		tw_str_addf(key, "%s\n%s", group, tw_report_text(o->source, "group_key"));
	else if (!strcmp(tw_report_text(o->source, "kind"), "not_visible"))
		tw_str_addf(key, "\nhidden\n%p", (const void *)o->category);
	else if (*first_rule(o) && is_small(o))
		tw_str_addf(key, "\n%s\n%p", first_rule(o), (const void *)o->category);
}

/* Puts it behind the last of those it is told with. */
static void join(struct tw_bottleneck *leader, struct tw_bottleneck *last, struct tw_bottleneck *o)
{
	last->next = o;
	leader->members++;
	o->members = 0;
}

/* Sums into the first of them, which stands for all. */
static void sum_up(struct tw_bottleneck *leader)
{
	const struct tw_bottleneck *o;

	for (o = leader->next; o; o = o->next) {
		leader->gain_percent += o->gain_percent;
		leader->percent_of_total += o->percent_of_total;
		leader->percent_of_compute += o->percent_of_compute;
		leader->time_ms += o->time_ms;
		leader->exposed_ms += o->exposed_ms;
		if (tw_level_rank(PRIORITY, o->priority) <
		    tw_level_rank(PRIORITY, leader->priority))
			leader->priority = o->priority;
		if (o->top_rank && (!leader->top_rank || o->top_rank < leader->top_rank))
			leader->top_rank = o->top_rank;
	}
}

/* The members of a finding are compared as they were alone: sums come last. */
static void join_all(struct tw_ranking *r)
{
	struct tw_arena *arena = &r->material->prepared->arena;
	/* By what they have in common: the first and the last of them. */
	struct tw_bottleneck *(*ends)[2];
	size_t room = (size_t)r->texts->count + r->count + 1, i, kept = 0;
	struct tw_str key;

	ends = tw_arena_alloc(arena, room * sizeof(*ends));
	if (!ends) {
		r->failed = true;
		return;
	}
	memset(ends, 0, room * sizeof(*ends));
	tw_str_init(&key, r->material->prepared->allocator);
	for (i = 0; i < r->count; i++) {
		struct tw_bottleneck *o = r->list[i];
		uint32_t id;

		add_common(&key, o);
		id = key.len ? tw_pool_intern(r->texts, key.ptr, key.len) : 0;
		if (id && ends[id][0])
			join(ends[id][0], ends[id][1], o);
		else
			ends[id][0] = o;
		ends[id][1] = o;
	}
	r->failed |= key.failed;
	tw_str_release(&key);
	for (i = 0; i < r->count; i++) {
		if (!r->list[i]->members)
			continue;
		sum_up(r->list[i]);
		r->list[kept++] = r->list[i];
	}
	r->count = kept;
}

/* ---- the order */

static void limit_priority(struct tw_bottleneck *o)
{
	struct tw_facts facts;
	const char *limit;

	tw_facts_init(&facts);
	facts.value[TW_FACT_gain_percent] = o->gain_percent;
	facts.value[TW_FACT_percent_of_total] = o->percent_of_total;
	limit = tw_level_of("priority_limit", &facts)->level;
	if (tw_level_rank(PRIORITY, limit) > tw_level_rank(PRIORITY, o->priority))
		o->priority = limit;
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
	const struct tw_bottleneck *p = *(const struct tw_bottleneck *const *)a;
	const struct tw_bottleneck *q = *(const struct tw_bottleneck *const *)b;
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

static void sort(struct tw_ranking *r)
{
	if (r->count)
		qsort(r->list, r->count, sizeof(*r->list), compare);
}

void tw_priorities_collect(struct tw_ranking *r)
{
	size_t i, number;

	for (i = 0; i < r->material->category_count; i++) {
		const struct tw_report_category *c = &r->material->categories[i];
		const struct tw_json_value *item = tw_json_get(c->metrics, "bottlenecks")->first;

		for (number = 1; item; item = item->next, number++)
			if (!c->is_system && !tw_is_only_noted(item))
				add_bottleneck(r, c, item, number);
	}
	join_all(r);
	for (i = 0; i < r->count; i++)
		limit_priority(r->list[i]);
	sort(r);
}

void tw_priorities_write(const struct tw_report_material *material, struct tw_str *out)
{
	const struct tw_json_value *used = tw_json_get(material->manifest, "gpu_utilization");
	struct tw_pool texts = { 0 };
	struct tw_ranking r = { .material = material, .texts = &texts };

	r.total_ms = tw_report_number(used, "total_time_ms");
	r.shortest_kernel_ms = tw_report_number(material->manifest, "shortest_kernel_us") / 1000;
	if (tw_pool_init(&texts, material->prepared->allocator)) {
		out->failed = true;
		return;
	}
	tw_priorities_collect(&r);
	tw_json_init(&r.json, out);
	tw_json_object(&r.json, TW_JSON_LINES);
	tw_field_some_text(&r.json, "model", material->model);
	tw_field_some_text(&r.json, "platform", material->platform);
	tw_field_copy(&r.json, "baseline_ms", tw_json_get(used, "total_time_ms"));
	tw_priorities_estimates(material, &r.json);
	tw_recommendations_write(material, &r.json);
	tw_priorities_write_list(&r);
	tw_priorities_write_whole(&r);
	tw_json_end(&r.json);
	tw_json_finish(&r.json);
	out->failed |= r.failed || texts.failed;
	tw_pool_release(&texts);
}
