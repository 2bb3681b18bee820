#include "study/compare/steps.h"

#include "base/alloc.h"
#include "base/order.h"
#include "data/limits.h"

#include <math.h>
#include <stdlib.h>

/* How many times as often the test calls something. */
struct factor {
	uint32_t config;
	double ratio;
};

static int compare_factors(const void *a, const void *b)
{
	const struct factor *x = a, *y = b;

	return TW_ORDER_BY(x, y, config, ratio);
}

static const struct tw_change_list *list_of(const struct tw_changes *changes,
					    enum tw_compared_kind kind)
{
	return changes->common > 1 ? &changes->each[kind] : &changes->all[kind];
}

static size_t take_factors(const struct tw_changes *changes, enum tw_compared_kind kind,
			   struct factor *out)
{
	const struct tw_change_list *list = list_of(changes, kind);
	size_t n = 0, i;

	for (i = 0; i < list->count; i++) {
		const struct tw_change *c = &list->items[i];

		if (c->configs && c->calls[0] > 0 && c->calls[1] > 0)
			out[n++] = (struct factor){ c->config,
						    (double)c->calls[1] / (double)c->calls[0] };
	}
	return n;
}

/* The factor that calls of one configuration have in common, in order; NaN: none, or about 1. */
static double common_factor(const struct factor *factors, size_t count)
{
	double middle = (factors[(count - 1) / 2].ratio + factors[count / 2].ratio) / 2;
	size_t same = 0, i;

	for (i = 0; i < count; i++)
		same += fabs(factors[i].ratio / middle - 1) * 100 <= TW_LIMIT_UNEVEN_SAME_PERCENT;
	if (count < TW_LIMIT_UNEVEN_LEAST || same * 2 <= count ||
	    (middle * 100 < TW_LIMIT_UNEVEN_CALLS_PERCENT &&
	     100 / middle < TW_LIMIT_UNEVEN_CALLS_PERCENT))
		return (double)NAN;
	return middle;
}

static int64_t steps_of(const struct tw_sample_config *config, unsigned side)
{
	return config->first_step[side] < 0 ?
		       0 :
		       config->last_step[side] - config->first_step[side] + 1;
}

/* The only configuration that both sides have. */
static uint32_t lone_config(const struct tw_samples *samples)
{
	uint32_t i;

	for (i = 0; i < samples->config_count; i++)
		if (samples->configs[i].there[0] && samples->configs[i].there[1])
			return i;
	return 0;
}

static void judge(struct tw_changes *changes, const struct factor *factors, size_t count)
{
	const struct tw_samples *samples = changes->samples;
	size_t first, end, i;

	for (i = 0; i < samples->config_count; i++)
		changes->uneven.ratios[i] = (double)NAN;
	for (first = 0; first < count; first = end) {
		uint32_t config = factors[first].config;

		for (end = first + 1; end < count && factors[end].config == config; end++)
			;
		/* Where only one is on both sides, the row over all is of it. */
		if (config == TW_ALL_CONFIGS)
			config = lone_config(samples);
		changes->uneven.ratios[config] = common_factor(&factors[first], end - first);
	}
	for (i = 0; i < samples->config_count; i++) {
		int64_t a = steps_of(&samples->configs[i], 0),
			b = steps_of(&samples->configs[i], 1);

		if (a && b)
			changes->uneven.ratios[i] = a == b ? (double)NAN : (double)b / (double)a;
		changes->uneven.count += !isnan(changes->uneven.ratios[i]);
	}
}

int tw_changes_find_uneven(struct tw_changes *changes)
{
	const struct trawl_allocator *a = changes->samples->allocator;
	size_t room =
		list_of(changes, TW_OPERATION)->count + list_of(changes, TW_KERNEL)->count + 1;
	struct factor *factors;
	size_t count;

	if (!changes->samples->config_count)
		return 0;
	changes->uneven.ratios =
		tw_alloc_array(a, changes->samples->config_count, sizeof(*changes->uneven.ratios));
	factors = tw_alloc_array(a, room, sizeof(*factors));
	if (changes->uneven.ratios && factors) {
		count = take_factors(changes, TW_OPERATION, factors);
		count += take_factors(changes, TW_KERNEL, factors + count);
		qsort(factors, count, sizeof(*factors), compare_factors);
		judge(changes, factors, count);
	}
	tw_free(a, factors, room * sizeof(*factors));
	return changes->uneven.ratios && factors ? 0 : TRAWL_ENOMEM;
}

void tw_uneven_release(struct tw_changes *changes)
{
	tw_free(changes->samples->allocator, changes->uneven.ratios,
		changes->samples->config_count * sizeof(*changes->uneven.ratios));
}
