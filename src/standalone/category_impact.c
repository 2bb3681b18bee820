/*
 * What may be won, in per cent of the whole time.  With an efficiency: what lies between it and the
 * roofline.  Without: a guess, marked as one.  Never more than the time in which the operation
 * keeps the GPU busy alone: what other work hides is no gain.
 *
 * Formulas and groups: TraceLens' agent, category scripts.
 */
#include "standalone/category.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "data/limits.h"
#include "store/pool.h"

#include <math.h>
#include <string.h>

struct estimate {
	const struct tw_category_row *row;
	bool guessed, bounded;
	/* Hundredths of a per cent, so that sums are those of what is written. */
	int64_t low, middle, high;
	const char *bucket;
	const struct estimate *next; /* of its group */
};

struct group {
	const struct estimate *first; /* what its members have in common */
	struct estimate *last;	      /* its members are a list */
	int64_t low, middle, high, percent_of_total;
	uint32_t members;
};

struct estimates {
	struct estimate *items;
	uint32_t *order; /* most first */
	struct group *groups;
	uint32_t *group_order;
	uint32_t *group_of_key; /* by text of a key: which of the groups, from 1 on */
	struct tw_pool keys;
	uint32_t count, group_count;
};

static int64_t hundredths(double percent)
{
	/* Cells may hold any number; a share beyond all reason stays one. */
	return llround(fmin(percent, 1e12) * 100);
}

/* As it stands in the metrics, so that a reader who computes from them gets the same. */
static double as_written(double value, double steps)
{
	return round(value * steps) / steps;
}

/* The three scores from the greatest gain, in per cent of the whole, and what bounds it. */
static void score(struct estimate *e, double percent_of_total, double efficiency_percent,
		  double bound_percent)
{
	double high, middle, low;

	if (e->guessed) {
		high = TW_LIMIT_GAIN_GUESS_HIGH_FRAC * percent_of_total;
		middle = TW_LIMIT_GAIN_GUESS_MIDDLE_FRAC * percent_of_total;
		low = TW_LIMIT_GAIN_GUESS_LOW_FRAC * percent_of_total;
	} else {
		high = fmin(fmax(0, 1 - efficiency_percent / 100) * percent_of_total,
			    bound_percent);
		middle = TW_LIMIT_GAIN_MIDDLE_FRAC * high;
		low = TW_LIMIT_GAIN_LOW_FRAC * high;
	}
	e->bounded = high >= bound_percent;
	e->high = hundredths(fmin(high, bound_percent));
	e->middle = hundredths(fmin(middle, bound_percent));
	e->low = hundredths(fmin(low, bound_percent));
}

/* No call is shorter than the shortest kernel of the trace. */
static double least_ms(const struct tw_category_row *row, const struct tw_category_data *data)
{
	return isnan(data->shortest_us) ? 0 : row->count * data->shortest_us / 1e3;
}

/* Whether there is anything to tell. */
static bool estimate(struct estimate *e, const struct tw_category_row *row,
		     const struct tw_category_data *data)
{
	double time_ms = as_written(row->time_us / 1e3, 1e3);
	double exposed_ms = as_written(row->exposed_us / 1e3, 1e3);
	double total_ms = data->total_ms, percent = 100 * time_ms / total_ms;
	double most_ms = fmin(exposed_ms, fmax(0, time_ms - least_ms(row, data)));
	struct tw_facts facts = row->facts;

	if (row->is_anomaly || row->is_host_copy || !(time_ms > 0) || !(total_ms > 0))
		return false;
	*e = (struct estimate){ .row = row, .guessed = isnan(row->efficiency_percent) };
	e->bucket = tw_level_of("eff_bucket", &row->facts)->level;
	if (e->guessed)
		percent = as_written(row->facts.value[TW_FACT_percent_of_total], 1e2);
	score(e, percent, as_written(row->efficiency_percent, 1e2), 100 * most_ms / total_ms);
	facts.value[TW_FACT_impact_percent] = (double)e->high / 100;
	return tw_level_is_yes("impact_told", &facts);
}

/* What members of a group have in common. */
static void add_key(struct tw_str *key, const struct estimate *e)
{
	tw_str_clear(key);
	if (e->guessed)
		tw_str_addf(key, "%s", e->row->name);
	else
		tw_str_addf(key, "\n%s\n%s\n%s", e->row->bound ? e->row->bound : "",
			    e->row->library ? e->row->library : "", e->bucket);
}

static void add_to_group(struct estimates *all, uint32_t number, struct tw_str *key)
{
	struct estimate *e = &all->items[number];
	struct group *group;
	uint32_t id;

	add_key(key, e);
	id = key->failed ? 0 : tw_pool_intern(&all->keys, key->ptr, key->len);
	if (!id)
		return;
	if (!all->group_of_key[id]) {
		all->groups[all->group_count] = (struct group){ .first = e };
		all->group_order[all->group_count] = all->group_count;
		all->group_of_key[id] = ++all->group_count;
	}
	group = &all->groups[all->group_of_key[id] - 1];
	if (group->last)
		group->last->next = e;
	group->last = e;
	group->low += e->low;
	group->middle += e->middle;
	group->high += e->high;
	group->percent_of_total += hundredths(e->row->facts.value[TW_FACT_percent_of_total]);
	group->members++;
}

static uint64_t estimate_key(const void *context, uint32_t number)
{
	const struct estimate *items = context;

	return UINT64_MAX - (uint64_t)items[number].middle;
}

static uint64_t group_key(const void *context, uint32_t number)
{
	const struct group *groups = context;

	return UINT64_MAX - (uint64_t)groups[number].middle;
}

static int find_groups(struct estimates *all, const struct trawl_allocator *allocator)
{
	struct tw_str key;
	uint32_t i;
	bool failed;

	if (tw_pool_init(&all->keys, allocator))
		return -1;
	tw_str_init(&key, allocator);
	for (i = 0; i < all->count; i++)
		add_to_group(all, all->order[i], &key);
	failed = key.failed || all->keys.failed;
	tw_str_release(&key);
	tw_pool_release(&all->keys);
	if (failed)
		return -1;
	return tw_sort(all->group_order, all->group_count, group_key, all->groups, allocator);
}

static int collect(struct estimates *all, const struct tw_category_data *data)
{
	struct tw_arena *arena = &data->prepared->arena;
	size_t rows = data->row_count + (size_t)1;
	uint32_t i;

	*all = (struct estimates){ .items = tw_arena_alloc(arena, rows * sizeof(*all->items)),
				   .order = tw_arena_alloc(arena, rows * sizeof(uint32_t)),
				   .group_of_key = tw_arena_alloc(arena, rows * sizeof(uint32_t)),
				   .groups = tw_arena_alloc(arena, rows * sizeof(*all->groups)),
				   .group_order = tw_arena_alloc(arena, rows * sizeof(uint32_t)) };
	if (!all->items || !all->order || !all->group_of_key || !all->groups || !all->group_order)
		return -1;
	memset(all->group_of_key, 0, rows * sizeof(uint32_t));
	for (i = 0; i < data->row_count; i++) {
		if (!estimate(&all->items[all->count], &data->rows[i], data))
			continue;
		all->order[all->count] = all->count;
		all->count++;
	}
	if (tw_sort(all->order, all->count, estimate_key, all->items, data->prepared->allocator))
		return -1;
	return find_groups(all, data->prepared->allocator);
}

static void write_scores(struct tw_json *json, int64_t low, int64_t middle, int64_t high)
{
	tw_json_key(json, "impact_score");
	tw_json_decimal(json, middle, 2);
	tw_json_key(json, "impact_score_low");
	tw_json_decimal(json, low, 2);
	tw_json_key(json, "impact_score_high");
	tw_json_decimal(json, high, 2);
}

static void write_estimate(struct tw_json *json, const struct tw_category_data *data,
			   const struct estimate *e)
{
	const struct tw_category_row *row = e->row;

	tw_json_object(json, TW_JSON_LINES);
	tw_field_text(json, "operation", row->name);
	tw_json_key(json, "uid");
	tw_category_uid(json, row);
	tw_field_text(json, "category", data->name);
	tw_field_text(json, "type", e->guessed ? "unmodeled_significant" : "kernel_tuning");
	tw_field_text(json, "estimate_method", e->guessed ? "heuristic" : "quantified");
	write_scores(json, e->low, e->middle, e->high);
	tw_field_real(json, "efficiency_pct", row->efficiency_percent, 2);
	tw_field_text(json, "bound_type", row->bound);
	tw_field_text(json, "library", row->library);
	tw_field_real(json, "time_ms", row->time_us / 1e3, 3);
	tw_field_real(json, "exposed_time_ms", row->exposed_us / 1e3, 3);
	tw_field_bool(json, "bounded_by_exposed_time", e->bounded);
	if (e->guessed) {
		tw_field_real(json, "percent_of_total", row->facts.value[TW_FACT_percent_of_total],
			      2);
	}
	tw_json_end(json);
}

static void write_group(struct tw_json *json, const struct tw_category_data *data,
			const struct estimates *all, uint32_t number, unsigned rank)
{
	const struct group *group = &all->groups[number];
	const struct tw_category_row *row = group->first->row;
	bool guessed = group->first->guessed;
	const struct estimate *e;

	tw_json_object(json, TW_JSON_LINES);
	tw_field_text(json, "bound_type",
		      guessed	 ? "unmodeled" :
		      row->bound ? row->bound :
				   "unknown");
	tw_field_text(json, "library", row->library ? row->library : "Unknown");
	tw_field_text(json, "eff_bucket", group->first->bucket);
	tw_field_text(json, "estimate_method", guessed ? "heuristic" : "quantified");
	write_scores(json, group->low, group->middle, group->high);
	if (guessed) {
		tw_json_key(json, "percent_of_total");
		tw_json_decimal(json, group->percent_of_total, 2);
	}
	tw_field_count(json, "member_count", group->members);
	tw_json_key(json, "members");
	tw_json_array(json, TW_JSON_LINES);
	for (e = group->first; e; e = e->next)
		write_estimate(json, data, e);
	tw_json_end(json);
	tw_field_count(json, "rank", rank);
	tw_json_end(json);
}

static bool is_told(const struct group *group)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_impact_percent] = (double)group->middle / 100;
	return tw_level_is_yes("finding_told", &facts);
}

int tw_category_impact(struct tw_json *json, const struct tw_category_data *data,
		       struct trawl_error *err)
{
	struct estimates all;
	unsigned rank = 0;
	uint32_t i;

	if (collect(&all, data))
		return tw_no_memory(err);
	tw_json_key(json, "impact_estimates");
	tw_json_array(json, TW_JSON_LINES);
	for (i = 0; i < all.count; i++)
		write_estimate(json, data, &all.items[all.order[i]]);
	tw_json_end(json);
	tw_json_key(json, "category_findings");
	tw_json_array(json, TW_JSON_LINES);
	for (i = 0; i < all.group_count; i++)
		if (is_told(&all.groups[all.group_order[i]]))
			write_group(json, data, &all, all.group_order[i], ++rank);
	tw_json_end(json);
	return 0;
}
