/*
 * The part of priority_data.json that rolls up the categories' own estimates: the keys that the
 * same pipeline has elsewhere, so that its readers go on working.
 */
#include "standalone/reports.h"

#include "findings/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the estimates of categories, as many get a rank. */
#define RANKED_CATEGORIES 6

struct estimates {
	const struct tw_report_material *material;
	struct tw_json *json;
};

static int compare_unknown_last(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a < b) - (a > b);
}

static const char *const scores[] = { "impact_score", "impact_score_low", "impact_score_high" };

struct rollup {
	const struct tw_report_category *category;
	double score[3];
	double operations;
	size_t place;
};

static int compare_rollups(const void *a, const void *b)
{
	const struct rollup *p = a, *q = b;
	int order = compare_unknown_last(p->score[0], q->score[0]);

	return order ? order : (p->place > q->place) - (p->place < q->place);
}

static bool is_quantified(const struct tw_json_value *finding)
{
	return !strcmp(tw_report_text(finding, "estimate_method"), "quantified");
}

/* Sums of the quantified findings of each compute category, the largest first. */
static size_t roll_up(const struct estimates *r, struct rollup *list)
{
	size_t count = 0, i, k;

	for (i = 0; i < r->material->category_count; i++) {
		const struct tw_report_category *c = &r->material->categories[i];
		const struct tw_json_value *f = tw_json_get(c->metrics, "category_findings")->first;
		struct rollup sum = { .category = c, .place = i };
		bool any = false;

		for (; f; f = f->next) {
			if (!is_quantified(f))
				continue;
			any = true;
			for (k = 0; k < 3; k++)
				sum.score[k] += tw_report_number(f, scores[k]);
			sum.operations += tw_report_number(f, "member_count");
		}
		if (any)
			list[count++] = sum;
	}
	if (count)
		qsort(list, count, sizeof(*list), compare_rollups);
	return count < RANKED_CATEGORIES ? count : RANKED_CATEGORIES;
}

static void write_scores(struct estimates *r, const struct rollup *sum)
{
	size_t k;

	for (k = 0; k < 3; k++)
		tw_field_real(r->json, scores[k], sum->score[k], 2);
}

static bool is_large(const struct tw_report_category *c)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_percent_of_compute] = tw_report_number(c->entry, "percent_of_compute");
	return tw_level_is_yes("category_without_findings", &facts);
}

static void write_priorities(struct estimates *r, const struct rollup *list, size_t count)
{
	int64_t rank = 0;
	size_t i;

	tw_json_key(r->json, "priorities");
	tw_json_array(r->json, TW_JSON_LINES);
	for (i = 0; i < count; i++) {
		tw_json_object(r->json, TW_JSON_LINES);
		tw_json_key(r->json, "rank");
		tw_json_integer(r->json, ++rank);
		tw_field_some_text(r->json, "category", list[i].category->name);
		tw_field_some_text(r->json, "display_name", list[i].category->title);
		write_scores(r, &list[i]);
		tw_field_some_text(r->json, "source", "findings_rollup");
		tw_json_end(r->json);
	}
	for (i = 0; i < r->material->category_count; i++) {
		const struct tw_report_category *c = &r->material->categories[i];

		if (c->is_system || !c->metrics || !is_large(c) ||
		    tw_json_get(c->metrics, "category_findings")->count)
			continue;
		tw_json_object(r->json, TW_JSON_LINES);
		tw_json_key(r->json, "rank");
		tw_json_integer(r->json, ++rank);
		tw_field_some_text(r->json, "category", c->name);
		tw_field_some_text(r->json, "display_name", c->title);
		tw_field_real(r->json, scores[0], NAN, 2);
		tw_field_copy(r->json, "gpu_kernel_time_ms",
			      tw_json_get(c->entry, "gpu_kernel_time_ms"));
		tw_field_some_text(r->json, "source", "manifest_fallback");
		tw_json_end(r->json);
	}
	tw_json_end(r->json);
}

static void write_recommendations(struct estimates *r, const struct rollup *list, size_t count)
{
	size_t i;

	tw_json_key(r->json, "recommendations");
	tw_json_array(r->json, TW_JSON_LINES);
	for (i = 0; i < count; i++) {
		tw_json_object(r->json, TW_JSON_LINES);
		tw_field_some_text(r->json, "category", list[i].category->name);
		write_scores(r, &list[i]);
		tw_field_real(r->json, "operation_count", list[i].operations, 0);
		tw_field_some_text(r->json, "type", "kernel_tuning");
		tw_json_end(r->json);
	}
	tw_json_end(r->json);
}

/* ---- findings and estimates of all categories, by the names of their files */

static int compare_names(const void *a, const void *b)
{
	const struct tw_report_category *const *p = a, *const *q = b;

	return strcmp((*p)->name, (*q)->name);
}

struct found {
	const struct tw_report_category *category;
	const struct tw_json_value *value;
	int64_t rank; /* in its category */
	size_t place;
};

static int compare_found(const void *a, const void *b)
{
	const struct found *p = a, *q = b;
	int order = compare_unknown_last(tw_report_number(p->value, scores[0]),
					 tw_report_number(q->value, scores[0]));

	return order ? order : (p->place > q->place) - (p->place < q->place);
}

static void write_findings(struct estimates *r, const struct found *list, size_t count)
{
	const struct tw_json_value *member;
	size_t i;

	tw_json_key(r->json, "findings");
	tw_json_array(r->json, TW_JSON_LINES);
	for (i = 0; i < count; i++) {
		tw_json_object(r->json, TW_JSON_LINES);
		for (member = list[i].value->first; member; member = member->next) {
			if (!strcmp(member->key, "rank"))
				continue;
			tw_json_key(r->json, member->key);
			tw_json_copy(r->json, member);
		}
		tw_field_some_text(r->json, "category", list[i].category->name);
		tw_json_key(r->json, "category_rank");
		tw_json_integer(r->json, list[i].rank);
		tw_json_key(r->json, "global_rank");
		tw_json_integer(r->json, (int64_t)i + 1);
		tw_json_end(r->json);
	}
	tw_json_end(r->json);
}

/* Findings into the list, as many as there are; `list` NULL only counts. */
static size_t list_findings(const struct tw_report_category *const *names, size_t categories,
			    struct found *list)
{
	size_t count = 0, i;

	for (i = 0; i < categories; i++) {
		const struct tw_json_value *f;
		int64_t rank = 1;

		f = tw_json_get(names[i]->metrics, "category_findings")->first;
		for (; f; f = f->next, count++, rank++)
			if (list)
				list[count] = (struct found){ names[i], f, rank, count };
	}
	return count;
}

static void write_estimates(struct estimates *r, const struct tw_report_category *const *names,
			    size_t categories)
{
	const struct tw_json_value *e;
	size_t i;

	tw_json_key(r->json, "all_estimates");
	tw_json_array(r->json, TW_JSON_LINES);
	for (i = 0; i < categories; i++)
		for (e = tw_json_get(names[i]->metrics, "impact_estimates")->first; e; e = e->next)
			tw_json_copy(r->json, e);
	tw_json_end(r->json);
}

void tw_priorities_estimates(const struct tw_report_material *material, struct tw_json *json)
{
	struct tw_arena *arena = &material->prepared->arena;
	struct estimates r = { material, json };
	const struct tw_report_category **names;
	size_t categories = material->category_count, count, i;
	struct rollup *sums;
	struct found *list;

	names = tw_arena_alloc(arena, (categories + 1) * sizeof(const void *));
	sums = tw_arena_alloc(arena, (categories + 1) * sizeof(*sums));
	for (i = 0; names && i < categories; i++)
		names[i] = &material->categories[i];
	if (names && categories)
		qsort(names, categories, sizeof(const void *), compare_names);
	count = names ? list_findings(names, categories, NULL) : 0;
	list = tw_arena_alloc(arena, (count + 1) * sizeof(*list));
	if (!names || !sums || !list) {
		json->out->failed = true;
		return;
	}
	list_findings(names, categories, list);
	if (count)
		qsort(list, count, sizeof(*list), compare_found);
	i = roll_up(&r, sums);
	write_priorities(&r, sums, i);
	write_recommendations(&r, sums, i);
	write_findings(&r, list, count);
	write_estimates(&r, names, categories);
}
