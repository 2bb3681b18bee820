/*
 * What may be won, in per cent of the whole time.  With an efficiency: what lies between it and the
 * roofline.  Without: a guess, marked as one.  Never more than the time in which the operation
 * keeps the GPU busy alone: what other work hides is no gain.
 *
 * Formulas and groups: TraceLens' agent, category scripts.
 */
#include "standalone/category/category.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "data/limits.h"
#include "store/pool.h"

#include <math.h>
#include <string.h>

/* ---- members */

#define F(kind, member, key, ...) TW_FIELD(struct tw_estimate, kind, member, key, __VA_ARGS__)
static const struct tw_member estimate_fields[] = {
	F(PLAIN, operation, "operation"),
	F(REAL, uid, "uid"),
	F(PLAIN, category, "category"),
	F(PLAIN, type, "type"),
	F(PLAIN, method, "estimate_method"),
	F(NS, middle, "impact_score", 2),
	F(NS, low, "impact_score_low", 2),
	F(NS, high, "impact_score_high", 2),
	F(REAL, efficiency_percent, "efficiency_pct", 2),
	F(PLAIN, bound, "bound_type"),
	F(PLAIN, library, "library"),
	F(REAL, time_ms, "time_ms", 3),
	F(REAL, exposed_ms, "exposed_time_ms", 3),
	F(BOOL, bounded, "bounded_by_exposed_time"),
	F(REAL, percent_of_total, "percent_of_total", 2, .if_known = true),
};
#undef F
const struct tw_fields tw_estimate_fields = TW_FIELDS(struct tw_estimate, estimate_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_estimates, kind, member, key, __VA_ARGS__)
static const struct tw_member group_fields[] = {
	F(PLAIN, bound, "bound_type"),
	F(PLAIN, library, "library"),
	F(PLAIN, bucket, "eff_bucket"),
	F(PLAIN, method, "estimate_method"),
	F(NS, middle, "impact_score", 2),
	F(NS, low, "impact_score_low", 2),
	F(NS, high, "impact_score_high", 2),
	F(NS, percent_of_total, "percent_of_total", 2, .if_known = true),
	F(COUNT, count, "member_count"),
	F(LIST, members, "members", .of = &tw_estimate_fields, .inlined = true),
};
#undef F
const struct tw_fields tw_estimates_fields = TW_FIELDS(struct tw_estimates, group_fields);

/* An estimate while it is sorted. */
struct item {
	struct tw_estimate estimate;
	const struct tw_category_row *row;
	const char *bucket;
	bool guessed;
	uint32_t group;
};

struct estimates {
	struct item *items;
	uint32_t *order; /* most first */
	struct tw_estimates *groups;
	uint32_t *group_order;
	uint32_t *group_of_key; /* by text of a key: which of the groups, from 1 on */
	struct tw_pool keys;
	uint32_t count, group_count;
};

/* ---- scores */

static int64_t hundredths(double percent)
{
	/* Cells may hold any number; a share beyond all reason stays one. */
	return llround(fmin(percent, 1e12) * 100);
}

/* The three scores from the greatest gain, in per cent of the whole, and what bounds it. */
static void score(struct item *item, double percent_of_total, double efficiency_percent,
		  double bound_percent)
{
	struct tw_estimate *e = &item->estimate;
	double high, middle, low;

	if (item->guessed) {
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
static bool estimate(struct item *item, const struct tw_category_row *row,
		     const struct tw_category_data *data)
{
	double time_ms = tw_as_written(row->time_us / 1e3, 3);
	double exposed_ms = tw_as_written(row->exposed_us / 1e3, 3);
	double total_ms = data->total_ms, percent = 100 * time_ms / total_ms;
	double most_ms = fmin(exposed_ms, fmax(0, time_ms - least_ms(row, data)));
	double share = row->facts.value[TW_FACT_percent_of_total];
	struct tw_facts facts = row->facts;

	if (row->is_anomaly || row->is_host_copy || !(time_ms > 0) || !(total_ms > 0))
		return false;
	*item = (struct item){ .row = row, .guessed = isnan(row->efficiency_percent) };
	item->bucket = tw_level_of("eff_bucket", &row->facts)->level;
	item->estimate = (struct tw_estimate){
		.operation = row->name,
		.uid = row->uid,
		.category = data->name,
		.type = item->guessed ? "unmodeled_significant" : "kernel_tuning",
		.method = item->guessed ? "heuristic" : "quantified",
		.bound = row->bound,
		.library = row->library,
		.efficiency_percent = row->efficiency_percent,
		.time_ms = row->time_us / 1e3,
		.exposed_ms = row->exposed_us / 1e3,
		.percent_of_total = item->guessed ? share : (double)NAN,
	};
	score(item, item->guessed ? tw_as_written(share, 2) : percent,
	      tw_as_written(row->efficiency_percent, 2), 100 * most_ms / total_ms);
	facts.value[TW_FACT_impact_percent] = (double)item->estimate.high / 100;
	return tw_level_is_yes("impact_told", &facts);
}

/* ---- groups */

/* What members of a group have in common. */
static void add_key(struct tw_str *key, const struct item *item)
{
	const struct tw_estimate *e = &item->estimate;

	tw_str_clear(key);
	if (item->guessed)
		tw_str_addf(key, "%s", e->operation);
	else
		tw_str_addf(key, "\n%s\n%s\n%s", e->bound ? e->bound : "",
			    e->library ? e->library : "", item->bucket);
}

static struct tw_estimates group_of(const struct item *item)
{
	const struct tw_estimate *e = &item->estimate;

	return (struct tw_estimates){
		.bound = item->guessed ? "unmodeled" :
			 e->bound      ? e->bound :
					 "unknown",
		.library = e->library ? e->library : "Unknown",
		.bucket = item->bucket,
		.method = e->method,
		.percent_of_total = item->guessed ? 0 : TRAWL_TIME_NONE,
	};
}

static void add_to_group(struct estimates *all, uint32_t number, struct tw_str *key)
{
	struct item *item = &all->items[number];
	struct tw_estimates *group;
	uint32_t id;

	add_key(key, item);
	id = key->failed ? 0 : tw_pool_intern(&all->keys, key->ptr, key->len);
	if (!id)
		return;
	if (!all->group_of_key[id]) {
		all->groups[all->group_count] = group_of(item);
		all->group_order[all->group_count] = all->group_count;
		all->group_of_key[id] = ++all->group_count;
	}
	item->group = all->group_of_key[id] - 1;
	group = &all->groups[item->group];
	group->low += item->estimate.low;
	group->middle += item->estimate.middle;
	group->high += item->estimate.high;
	if (item->guessed)
		group->percent_of_total += hundredths(item->estimate.percent_of_total);
	group->count++;
}

static uint64_t estimate_key(const void *context, uint32_t number)
{
	const struct item *items = context;

	return UINT64_MAX - (uint64_t)items[number].estimate.middle;
}

static uint64_t group_key(const void *context, uint32_t number)
{
	const struct tw_estimates *groups = context;

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

static int collect(struct estimates *all, const struct tw_category_data *data,
		   struct tw_arena *arena)
{
	size_t rows = data->row_count + (size_t)1;
	uint32_t i;

	*all = (struct estimates){ .items = tw_arena_alloc(arena, rows * sizeof(*all->items)),
				   .order = tw_arena_alloc(arena, rows * sizeof(uint32_t)),
				   .group_of_key = tw_arena_array(arena, rows, sizeof(uint32_t)),
				   .groups = tw_arena_alloc(arena, rows * sizeof(*all->groups)),
				   .group_order = tw_arena_alloc(arena, rows * sizeof(uint32_t)) };
	if (arena->failed)
		return -1;
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

static bool is_told(const struct tw_estimates *group)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_impact_percent] = (double)group->middle / 100;
	return tw_level_is_yes("finding_told", &facts);
}

/* The estimates in order, and the groups that are told, with their members in that order. */
static void keep(struct tw_category_data *data, struct estimates *all)
{
	struct tw_arena *arena = &data->prepared->arena;
	uint32_t i;

	data->estimates.at = tw_arena_array(arena, all->count + 1, sizeof(*data->estimates.at));
	data->groups.at = tw_arena_array(arena, all->group_count + 1, sizeof(*data->groups.at));
	for (i = 0; i < all->group_count; i++)
		all->groups[i].members.at =
			tw_arena_array(arena, all->groups[i].count, sizeof(struct tw_estimate));
	if (arena->failed)
		return;
	for (i = 0; i < all->count; i++) {
		const struct item *item = &all->items[all->order[i]];
		struct tw_estimates *group = &all->groups[item->group];

		data->estimates.at[data->estimates.count++] = item->estimate;
		group->members.at[group->members.count++] = item->estimate;
	}
	for (i = 0; i < all->group_count; i++)
		if (is_told(&all->groups[all->group_order[i]]))
			data->groups.at[data->groups.count++] = all->groups[all->group_order[i]];
}

int tw_category_estimate(struct tw_category_data *data)
{
	struct estimates all;
	struct tw_arena own;
	int status;

	tw_arena_init(&own, data->prepared->allocator);
	status = collect(&all, data, &own);
	if (!status)
		keep(data, &all);
	tw_arena_release(&own);
	return status || data->prepared->arena.failed ? TRAWL_ENOMEM : 0;
}
