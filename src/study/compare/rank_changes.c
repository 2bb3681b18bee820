#include "study/compare/rank_changes.h"

#include "analysis/stats.h"
#include "base/alloc.h"
#include "base/list.h"
#include "base/median.h"
#include "data/limits.h"
#include "study/compare/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMPUTING "computation_time"
#define TOTAL "total_time"

static int compare_numbers(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* ---- which ranks both sides have */

static int append(struct tw_rank_changes *changes, const struct tw_samples *samples,
		  const struct tw_sample *baseline, const struct tw_sample *test)
{
	if (!tw_list_grow(&changes->items, &changes->capacity, changes->count,
			  sizeof(*changes->items), samples->allocator))
		return TRAWL_ENOMEM;
	changes->items[changes->count++] = (struct tw_rank_change){
		.config = baseline->config,
		.rank = baseline->rank,
		.ns = { baseline->ns, test->ns },
		.ratio = baseline->ns ? (double)test->ns / (double)baseline->ns : (double)NAN,
		.others_ns = (double)NAN,
	};
	return 0;
}

static int take_pairs(struct tw_rank_changes *changes, const struct tw_samples *samples)
{
	uint32_t name = tw_pool_find(&samples->texts, COMPUTING, strlen(COMPUTING));
	const struct tw_sample *test;
	size_t i;
	int status = 0;

	for (i = 0; i < samples->count && name && !status; i++) {
		const struct tw_sample *s = &samples->items[i];
		struct tw_sample other = *s;

		if (s->kind != TW_TIMELINE_PART || s->name != name || s->side ||
		    s->rank == TW_NO_RANK)
			continue;
		other.side = 1;
		test = tw_samples_find(samples, &other);
		if (test)
			status = append(changes, samples, s, test);
	}
	return status;
}

/* ---- which of them stand out */

static double difference(const struct tw_rank_change *c)
{
	return (double)(c->ns[1] - c->ns[0]);
}

/* The differences of all but each; `sorted` has room for them. */
static void set_others(struct tw_rank_change *items, size_t count, double *sorted)
{
	size_t i, left;

	for (i = 0; i < count; i++)
		sorted[i] = difference(&items[i]);
	qsort(sorted, count, sizeof(*sorted), compare_numbers);
	for (i = 0; i < count && count > 1; i++) {
		/* Where its own stands, the next ones move up. */
		const double own = difference(&items[i]);
		const double *at = bsearch(&own, sorted, count, sizeof(*sorted), compare_numbers);
		size_t skipped = at ? (size_t)(at - sorted) : 0, low, high;

		left = count - 1;
		low = (left - 1) / 2;
		high = left / 2;
		items[i].others_ns =
			(sorted[low + (low >= skipped)] + sorted[high + (high >= skipped)]) / 2;
	}
}

/* Of a rank of the baseline; 0: not known. */
static double total_of(const struct tw_samples *samples, const struct tw_rank_change *c)
{
	const struct tw_sample place = {
		.kind = TW_TIMELINE_PART,
		.name = tw_pool_find(&samples->texts, TOTAL, strlen(TOTAL)),
		.config = c->config,
		.rank = c->rank,
	};
	const struct tw_sample *total = place.name ? tw_samples_find(samples, &place) : NULL;

	return total ? (double)total->ns : 0;
}

/*
 * By ratios, since ranks of a pipeline differ in how much they compute.  Of two ranks neither stands
 * out: the spread is more than either is away from the middle.
 */
static void judge(struct tw_rank_changes *changes, const struct tw_samples *samples,
		  struct tw_rank_change *items, size_t count, double *room)
{
	double middle, spread;
	size_t i, known = 0;

	for (i = 0; i < count; i++)
		if (!isnan(items[i].ratio))
			room[known++] = items[i].ratio;
	if (!known)
		return;
	middle = tw_real_median(room, known);
	for (i = 0; i < known; i++)
		room[i] = fabs(room[i] - middle);
	spread = tw_real_median(room, known) * (TW_SPREAD_PER_10000 / 10000.0);
	for (i = 0; i < count; i++) {
		struct tw_rank_change *c = &items[i];
		double apart = c->ratio - middle;

		if (isnan(c->ratio))
			continue;
		c->apart_ns = (double)c->ns[1] - (double)c->ns[0] * middle;
		if (!(fabs(apart) > spread * TW_LIMIT_RANK_APART_SPREADS) ||
		    !(fabs(c->apart_ns) * 100 > (double)c->ns[0] * TW_LIMIT_RANK_APART_PERCENT) ||
		    fabs(c->apart_ns) * 100 <
			    total_of(samples, c) * TW_LIMIT_RANK_APART_TOTAL_PERCENT)
			continue;
		c->more = apart > 0;
		c->less = apart < 0;
		changes->odd++;
	}
}

int tw_rank_changes_make(struct tw_rank_changes *changes, const struct tw_samples *samples)
{
	size_t first, end;
	double *room;
	int status;

	*changes = (struct tw_rank_changes){ 0 };
	status = take_pairs(changes, samples);
	if (status)
		return status;
	room = tw_alloc_array(samples->allocator, changes->count + 1, sizeof(*room));
	if (!room)
		return TRAWL_ENOMEM;
	for (first = 0; first < changes->count; first = end) {
		for (end = first + 1; end < changes->count &&
				      changes->items[end].config == changes->items[first].config;
		     end++)
			;
		set_others(changes->items + first, end - first, room);
		judge(changes, samples, changes->items + first, end - first, room);
	}
	tw_free(samples->allocator, room, (changes->count + 1) * sizeof(*room));
	return 0;
}

void tw_rank_changes_release(struct tw_rank_changes *changes, const struct tw_samples *samples)
{
	tw_free(samples->allocator, changes->items, changes->capacity * sizeof(*changes->items));
	*changes = (struct tw_rank_changes){ 0 };
}
