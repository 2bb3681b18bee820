/*
 * The part of priority_data.json that rolls up the categories' own estimates: the keys that the
 * same pipeline has elsewhere, so that its readers go on working.
 */
#include "standalone/reports/reports.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the estimates of categories, as many get a rank. */
#define RANKED_CATEGORIES 6

/* Of a category the sums of its quantified estimates. */
struct rollup {
	const char *category, *title, *source;
	uint64_t rank;
	int64_t low, middle, high; /* hundredths */
	uint64_t operations;
	double kernel_ms; /* NaN: not told */
	size_t place;
};

#define F(kind, member, key, ...) TW_FIELD(struct rollup, kind, member, key, __VA_ARGS__)
#define SCORES                                                               \
	F(NS, middle, "impact_score", 2), F(NS, low, "impact_score_low", 2), \
		F(NS, high, "impact_score_high", 2)
static const struct tw_member priority_fields[] = {
	F(COUNT, rank, "rank"), F(PLAIN, category, "category"), F(PLAIN, title, "display_name"),
	SCORES,			F(PLAIN, source, "source"),
}, fallback_fields[] = {
	F(COUNT, rank, "rank"),
	F(PLAIN, category, "category"),
	F(PLAIN, title, "display_name"),
	F(NS, middle, "impact_score", 2),
	F(REAL, kernel_ms, "gpu_kernel_time_ms", 3),
	F(PLAIN, source, "source"),
}, recommendation_fields[] = {
	F(PLAIN, category, "category"),
	SCORES,
	F(COUNT, operations, "operation_count"),
	TW_SAYS("type", "kernel_tuning"),
};
#undef F
static const struct tw_fields priority = TW_FIELDS(struct rollup, priority_fields);
static const struct tw_fields fallback = TW_FIELDS(struct rollup, fallback_fields);
static const struct tw_fields recommendation = TW_FIELDS(struct rollup, recommendation_fields);

/* An estimate of a category among those of all. */
struct found {
	const char *category;
	const struct tw_estimates *group;
	uint64_t rank, global_rank;
	size_t place;
};

#define F(kind, member, key, ...) TW_FIELD(struct found, kind, member, key, __VA_ARGS__)
static const struct tw_member found_fields[] = {
	F(INLINE, group, "", .of = &tw_estimates_fields),
	F(PLAIN, category, "category"),
	F(COUNT, rank, "category_rank"),
	F(COUNT, global_rank, "global_rank"),
};
#undef F
static const struct tw_fields founds = TW_FIELDS(struct found, found_fields);

static int compare_rollups(const void *a, const void *b)
{
	const struct rollup *p = a, *q = b;

	if (p->middle != q->middle)
		return p->middle > q->middle ? -1 : 1;
	return (p->place > q->place) - (p->place < q->place);
}

static int compare_found(const void *a, const void *b)
{
	const struct found *p = a, *q = b;

	if (p->group->middle != q->group->middle)
		return p->group->middle > q->group->middle ? -1 : 1;
	return (p->place > q->place) - (p->place < q->place);
}

static int compare_names(const void *a, const void *b)
{
	const struct tw_report_category *const *p = a, *const *q = b;

	return strcmp((*p)->entry->name, (*q)->entry->name);
}

static bool roll_up(const struct tw_report_category *c, struct rollup *sum)
{
	bool any = false;
	size_t i;

	*sum = (struct rollup){ .category = c->entry->name,
				.title = c->entry->title,
				.source = "findings_rollup" };
	for (i = 0; c->data && i < c->data->groups.count; i++) {
		const struct tw_estimates *group = &c->data->groups.at[i];

		if (strcmp(group->method, "quantified"))
			continue;
		any = true;
		sum->low += group->low;
		sum->middle += group->middle;
		sum->high += group->high;
		sum->operations += group->count;
	}
	return any;
}

/* Large, and nothing was found. */
static bool falls_back(const struct tw_report_category *c)
{
	struct tw_facts facts;

	if (!c->data || c->data->groups.count)
		return false;
	tw_facts_init(&facts);
	facts.value[TW_FACT_percent_of_compute] = c->entry->percent_of_compute;
	return tw_level_is_yes("category_without_findings", &facts);
}

/* Sums of the categories, the largest first, then those that fall back; how many have sums. */
static void write_rollups(const struct tw_report_material *m, struct tw_json *json,
			  struct rollup *list)
{
	size_t count = 0, i, rank;

	for (i = 0; i < m->categories.count; i++)
		if (roll_up(&m->categories.at[i], &list[count]))
			list[count++].place = i;
	if (count)
		qsort(list, count, sizeof(*list), compare_rollups);
	count = count < RANKED_CATEGORIES ? count : RANKED_CATEGORIES;
	tw_json_key(json, "priorities");
	tw_json_array(json, TW_JSON_LINES);
	for (rank = 0; rank < count; rank++) {
		list[rank].rank = rank + 1;
		tw_fields_object(json, NULL, &priority, &list[rank]);
	}
	for (i = 0; i < m->categories.count; i++) {
		const struct tw_prepared_category *entry = m->categories.at[i].entry;
		const struct rollup whole = { .rank = rank + 1,
					      .category = entry->name,
					      .title = entry->title,
					      .source = "manifest_fallback",
					      .middle = TRAWL_TIME_NONE,
					      .kernel_ms = entry->kernel_ms };

		if (!falls_back(&m->categories.at[i]))
			continue;
		rank++;
		tw_fields_object(json, NULL, &fallback, &whole);
	}
	tw_json_end(json);
	tw_fields_array(json, "recommendations", &recommendation, list, count);
}

/* Findings and estimates of all categories, by the names of their files. */
static void write_founds(struct tw_json *json, const struct tw_report_category *const *names,
			 size_t categories, struct found *list)
{
	size_t count = 0, i, k;

	for (i = 0; i < categories; i++) {
		const struct tw_category_data *data = names[i]->data;

		for (k = 0; data && k < data->groups.count; k++, count++)
			list[count] = (struct found){ names[i]->entry->name, &data->groups.at[k],
						      k + 1, 0, count };
	}
	if (count)
		qsort(list, count, sizeof(*list), compare_found);
	for (i = 0; i < count; i++)
		list[i].global_rank = i + 1;
	tw_fields_array(json, "findings", &founds, list, count);
	tw_json_key(json, "all_estimates");
	tw_json_array(json, TW_JSON_LINES);
	for (i = 0; i < categories; i++)
		for (k = 0; names[i]->data && k < names[i]->data->estimates.count; k++)
			tw_fields_object(json, NULL, &tw_estimate_fields,
					 &names[i]->data->estimates.at[k]);
	tw_json_end(json);
}

void tw_priorities_estimates(const struct tw_report_material *m, struct tw_json *json)
{
	struct tw_arena *arena = &m->prepared->arena;
	size_t categories = m->categories.count, count = 0, i;
	const struct tw_report_category **names;
	struct rollup *sums;
	struct found *list;

	for (i = 0; i < categories; i++)
		count += m->categories.at[i].data ? m->categories.at[i].data->groups.count : 0;
	names = tw_arena_array(arena, categories + 1, sizeof(const void *));
	sums = tw_arena_array(arena, categories + 1, sizeof(*sums));
	list = tw_arena_array(arena, count + 1, sizeof(*list));
	if (!names || !sums || !list) {
		json->out->failed = true;
		return;
	}
	for (i = 0; i < categories; i++)
		names[i] = &m->categories.at[i];
	if (categories)
		qsort(names, categories, sizeof(const void *), compare_names);
	write_rollups(m, json, sums);
	write_founds(json, names, categories, list);
}
