/* priority_data.json: everything the categories found, in one order, with what it is worth. */
#include "standalone/priorities.h"

#include "data/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
				 strcmp(tw_rules[i].scope, "any") &&
				 strcmp(tw_rules[i].scope, "headroom");
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
static double gain_ms(const struct tw_ranking *r, struct tw_optimization *o,
		      const struct tw_facts *facts)
{
	double efficiency = facts->value[TW_FACT_efficiency_percent];
	double saved = tw_report_number(o->source, "saved_ms");
	const struct tw_level *last = o->target, *next;

	if (!isnan(o->speedup))
		return bounded_ms(o->source, o->time_ms * (1 - 1 / o->speedup));
	if (!isnan(saved))
		return bounded_ms(o->source, saved);
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

static struct tw_optimization *add(struct tw_ranking *r, const struct tw_report_category *category,
				   const struct tw_json_value *source, size_t number)
{
	struct tw_arena *arena = &r->material->prepared->arena;
	struct tw_optimization *o = tw_arena_alloc(arena, sizeof(*o));

	if (o && r->count == r->most) {
		size_t most = r->most ? 2 * r->most : 64;
		struct tw_optimization **list = tw_arena_alloc(arena, most * sizeof(*list));

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
	*o = (struct tw_optimization){ .category = category, .source = source, .number = number };
	o->members = 1;
	o->gain_percent = o->speedup = NAN;
	o->percent_of_total = tw_report_number(source, "percent_of_total");
	o->percent_of_compute = tw_report_number(source, "percent_of_compute");
	o->time_ms = tw_report_number(source, "time_ms");
	o->exposed_ms = tw_report_number(source, "exposed_time_ms");
	return o;
}

/* A chain with members of several categories is among the findings of each. */
static bool is_told(const struct tw_ranking *r, const struct tw_json_value *source)
{
	const char *chain = tw_report_text(source, "chain_id");
	bool told = *chain && tw_pool_find(r->texts, chain, strlen(chain));

	if (*chain)
		tw_pool_intern_cstr(r->texts, chain);
	return told;
}

static void add_bottleneck(struct tw_ranking *r, const struct tw_report_category *category,
			   const struct tw_json_value *source, size_t number)
{
	struct tw_optimization *o = is_told(r, source) ? NULL : add(r, category, source, number);
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

/* What is part of another finding is told there. */
static void add_system(struct tw_ranking *r, const struct tw_report_category *category,
		       const struct tw_json_value *source, size_t number)
{
	const char *severity = priority_of_severity(tw_report_text(source, "severity"));
	struct tw_optimization *o;
	struct tw_facts facts;

	if (!severity || *tw_report_text(source, "included_in"))
		return;
	o = add(r, category, source, number);
	if (!o)
		return;
	o->gain_percent = o->percent_of_total;
	tw_facts_init(&facts);
	facts.value[TW_FACT_gain_percent] = o->gain_percent;
	o->priority = isnan(o->gain_percent) ? severity :
					       tw_level_of("priority_system", &facts)->level;
}

/* ---- several as one */

static bool is_small(const struct tw_optimization *o)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_gain_percent] = o->gain_percent;
	return tw_level_is_yes("small_gain", &facts);
}

static const char *first_rule(const struct tw_optimization *o)
{
	const struct tw_json_value *rule = tw_json_get(o->source, "rules")->first;

	return rule ? tw_json_text(rule) : "";
}

/*
 * What those told as one have in common: parts of one thing; what cannot be seen of a category;
 * small ones of it with the same advice.  "" for what is told alone.
 */
static void add_common(struct tw_str *key, const struct tw_optimization *o)
{
	const char *group = tw_report_text(o->source, "group");

	tw_str_clear(key);
	if (o->category->is_system)
		return;
	if (*group)
		tw_str_addf(key, "%s\n%s", group, tw_report_text(o->source, "group_key"));
	else if (!strcmp(tw_report_text(o->source, "kind"), "not_visible"))
		tw_str_addf(key, "\nhidden\n%p", (const void *)o->category);
	else if (*first_rule(o) && is_small(o))
		tw_str_addf(key, "\n%s\n%p", first_rule(o), (const void *)o->category);
}

/* Puts it behind the last of those it is told with. */
static void join(struct tw_optimization *leader, struct tw_optimization *last,
		 struct tw_optimization *o)
{
	last->next = o;
	leader->members++;
	o->members = 0;
}

/* Sums into the first of them, which stands for all. */
static void sum_up(struct tw_optimization *leader)
{
	const struct tw_optimization *o;

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
	struct tw_optimization *(*ends)[2];
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
		struct tw_optimization *o = r->list[i];
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

static void limit_priority(struct tw_optimization *o)
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
	const struct tw_optimization *p = *(const struct tw_optimization *const *)a;
	const struct tw_optimization *q = *(const struct tw_optimization *const *)b;
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

/* ---- the headroom that is left */

static void write_headroom_texts(struct tw_json *json, const struct tw_facts *facts)
{
	const struct tw_rule *rule = tw_rule_next("headroom", facts, NULL);
	const char *const texts[][2] = {
		{ "issue", rule ? rule->issue : "" },
		{ "algorithmic", rule ? rule->algorithmic : "" },
		{ "kernel", rule ? rule->kernel : "" },
	};
	struct tw_str text;
	size_t i;

	tw_json_key(json, "rules");
	tw_json_array(json, TW_JSON_INLINE);
	if (rule)
		tw_json_cstr(json, rule->id);
	tw_json_end(json);
	tw_str_init(&text, json->out->allocator);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		tw_str_clear(&text);
		if (texts[i][1])
			tw_rule_text(&text, texts[i][1], facts);
		tw_field_some_text(json, texts[i][0], text.ptr ? text.ptr : "");
	}
	json->out->failed |= text.failed;
	tw_str_release(&text);
}

/* The operation with the keys of a bottleneck; NULL when out of memory. */
static const struct tw_json_value *as_bottleneck(struct tw_ranking *r,
						 const struct tw_json_value *op)
{
	static const char *const keys[] = {
		"uid",
		"args",
		"count",
		"time_ms",
		"exposed_time_ms",
		"percent_of_category",
		"percent_of_compute",
		"percent_of_total",
		"library",
		"launcher_path",
	};
	static const char *const figures[] = { "efficiency_percent", "bound_type",
					       "flops_per_byte" };
	const struct tw_json_value *efficiency = tw_json_get(op, "efficiency"), *value;
	struct trawl_error err;
	struct tw_facts facts;
	struct tw_json json;
	struct tw_str text;
	size_t i;

	tw_facts_init(&facts);
	facts.value[TW_FACT_percent_of_category] = tw_report_number(op, "percent_of_category");
	facts.value[TW_FACT_efficiency_percent] =
		tw_report_number(efficiency, "efficiency_percent");
	tw_str_init(&text, r->material->prepared->allocator);
	tw_json_init(&json, &text);
	tw_json_object(&json, TW_JSON_LINES);
	tw_field_copy(&json, "operation", tw_json_get(op, "name"));
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		tw_field_copy(&json, keys[i], tw_json_get(op, keys[i]));
	for (i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		tw_field_copy(&json, figures[i], tw_json_get(efficiency, figures[i]));
	write_headroom_texts(&json, &facts);
	tw_json_end(&json);
	tw_json_finish(&json);
	value = text.failed ? NULL :
			      tw_json_parse(&r->material->prepared->arena, text.ptr, text.len,
					    "headroom", &err);
	tw_str_release(&text);
	r->failed |= !value;
	return value;
}

/* Findings that are more than details. */
static size_t count_named(const struct tw_ranking *r)
{
	size_t count = 0, i;

	for (i = 0; i < r->count; i++)
		count += strcmp(r->list[i]->priority, "Low") != 0;
	return count;
}

/* So few findings that a reader may ask what is next: the most that operations could still win. */
static void add_headroom(struct tw_ranking *r)
{
	size_t before = r->count, named = count_named(r), i;
	struct tw_ranking more = *r;

	if (named >= TW_LIMIT_FINDINGS_FEWEST)
		return;
	more.list = NULL;
	more.count = more.most = 0;
	for (i = 0; i < r->material->category_count; i++) {
		const struct tw_report_category *c = &r->material->categories[i];
		const struct tw_json_value *op = tw_json_get(c->metrics, "operations")->first;

		for (; op && !more.failed; op = op->next) {
			const struct tw_json_value *source;

			source = tw_has_headroom(op) ? as_bottleneck(&more, op) : NULL;
			if (source)
				add_bottleneck(&more, c, source, 0);
		}
	}
	for (i = 0; i < more.count; i++)
		limit_priority(more.list[i]);
	sort(&more);
	r->failed |= more.failed;
	for (i = 0; i < more.count && r->count - before < TW_LIMIT_FINDINGS_FEWEST - named; i++) {
		const struct tw_optimization *o = more.list[i];
		struct tw_optimization *added;

		if (!(o->gain_percent > 0))
			continue;
		added = add(r, o->category, o->source, 0);
		if (added)
			*added = *o;
	}
}

void tw_priorities_collect(struct tw_ranking *r)
{
	size_t i, number;

	for (i = 0; i < r->material->category_count; i++) {
		const struct tw_report_category *c = &r->material->categories[i];
		const struct tw_json_value *list, *item;

		list = tw_json_get(c->metrics, c->is_system ? "findings" : "bottlenecks");
		for (item = list->first, number = 1; item; item = item->next, number++) {
			if (c->is_system)
				add_system(r, c, item, number);
			else if (!tw_is_only_noted(item))
				add_bottleneck(r, c, item, number);
		}
	}
	join_all(r);
	for (i = 0; i < r->count; i++)
		limit_priority(r->list[i]);
	add_headroom(r);
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
	tw_priorities_write_list(&r);
	tw_priorities_write_whole(&r);
	tw_json_end(&r.json);
	tw_json_finish(&r.json);
	out->failed |= r.failed || texts.failed;
	tw_pool_release(&texts);
}
