#include "base/intervals.h"

#include "base/list.h"
#include "base/search.h"
#include "base/sort.h"

#include <string.h>

void tw_intervals_init(struct tw_intervals *set, const struct trawl_allocator *allocator)
{
	memset(set, 0, sizeof(*set));
	set->allocator = allocator;
}

void tw_intervals_release(struct tw_intervals *set)
{
	if (set->before_ns)
		tw_free(set->allocator, set->before_ns, (set->count + 1) * sizeof(*set->before_ns));
	if (set->allocator)
		tw_free(set->allocator, set->items, set->capacity * sizeof(*set->items));
	memset(set, 0, sizeof(*set));
}

void tw_intervals_put(struct tw_intervals *set, int64_t start_ns, int64_t end_ns)
{
	if (tw_list_grow(&set->items, &set->capacity, set->count, sizeof(*set->items),
			 set->allocator))
		set->items[set->count++] = (struct tw_interval){ start_ns, end_ns };
	else
		set->failed = true;
}

void tw_intervals_add(struct tw_intervals *set, int64_t start_ns, int64_t end_ns)
{
	struct tw_interval *last = set->count ? &set->items[set->count - 1] : NULL;

	if (!last || start_ns > last->end_ns)
		tw_intervals_put(set, start_ns, end_ns);
	else if (end_ns > last->end_ns)
		last->end_ns = end_ns;
}

void tw_intervals_resize(struct tw_intervals *set, size_t capacity)
{
	struct tw_interval *moved;

	if (capacity < set->count)
		capacity = set->count;
	if (capacity == set->capacity || !capacity)
		return;
	moved = tw_realloc(set->allocator, set->items, set->capacity * sizeof(*moved),
			   capacity * sizeof(*moved));
	if (!moved) {
		set->failed = true;
		return;
	}
	set->items = moved;
	set->capacity = capacity;
}

static uint64_t start_of(const void *context, uint32_t number)
{
	const struct tw_interval *items = context;

	return tw_sort_key(items[number].start_ns);
}

static bool in_order(const struct tw_intervals *set)
{
	size_t i;

	for (i = 1; i < set->count; i++)
		if (set->items[i].start_ns < set->items[i - 1].start_ns)
			return false;
	return true;
}

/* Puts the items at their places by following the cycles of the order; `order` is used up. */
static void permute(struct tw_interval *items, uint32_t *order, uint32_t count)
{
	uint32_t i, to, from;

	for (i = 0; i < count; i++) {
		struct tw_interval kept = items[i];

		if (order[i] == i)
			continue;
		for (to = i; (from = order[to]) != i; to = from) {
			items[to] = items[from];
			order[to] = to;
		}
		items[to] = kept;
		order[to] = to;
	}
}

static bool sort(struct tw_intervals *set)
{
	size_t bytes = set->count * sizeof(uint32_t);
	uint32_t *order, i;
	bool sorted;

	if (in_order(set))
		return true;
	if (set->count >= UINT32_MAX || !(order = tw_alloc(set->allocator, bytes)))
		return false;
	for (i = 0; i < set->count; i++)
		order[i] = i;
	sorted = !tw_sort(order, set->count, start_of, set->items, set->allocator);
	if (sorted)
		permute(set->items, order, (uint32_t)set->count);
	tw_free(set->allocator, order, bytes);
	return sorted;
}

void tw_intervals_unite(struct tw_intervals *set)
{
	size_t count = set->count, i;

	if (!sort(set)) {
		set->failed = true;
		return;
	}
	for (i = 0, set->count = 0; i < count; i++)
		tw_intervals_add(set, set->items[i].start_ns, set->items[i].end_ns);
}

int64_t tw_intervals_length(const struct tw_intervals *set)
{
	int64_t length = 0;
	size_t i;

	for (i = 0; i < set->count; i++)
		length += set->items[i].end_ns - set->items[i].start_ns;
	return length;
}

void tw_intervals_sum(struct tw_intervals *set)
{
	int64_t length = 0;
	size_t i;

	set->before_ns = tw_alloc(set->allocator, (set->count + 1) * sizeof(*set->before_ns));
	if (!set->before_ns) {
		set->failed = true;
		return;
	}
	for (i = 0; i < set->count; i++) {
		set->before_ns[i] = length;
		length += set->items[i].end_ns - set->items[i].start_ns;
	}
	set->before_ns[i] = length;
}

static int64_t covered_before(const struct tw_intervals *set, int64_t time_ns)
{
	size_t i = TW_LOWER_BOUND(at, 0, set->count, set->items[at].end_ns <= time_ns);

	if (i < set->count && set->items[i].start_ns < time_ns)
		return set->before_ns[i] + time_ns - set->items[i].start_ns;
	return set->before_ns[i];
}

int64_t tw_intervals_covered(const struct tw_intervals *set, int64_t start_ns, int64_t end_ns)
{
	return end_ns > start_ns ? covered_before(set, end_ns) - covered_before(set, start_ns) : 0;
}

void tw_intervals_subtract(const struct tw_intervals *a, const struct tw_intervals *b,
			   struct tw_intervals *out)
{
	size_t i, j = 0;

	for (i = 0; i < a->count; i++) {
		int64_t start = a->items[i].start_ns, end = a->items[i].end_ns;
		size_t k;

		while (j < b->count && b->items[j].end_ns <= start)
			j++;
		for (k = j; k < b->count && b->items[k].start_ns < end; k++) {
			if (b->items[k].start_ns > start)
				tw_intervals_add(out, start, b->items[k].start_ns);
			start = b->items[k].end_ns;
		}
		if (start < end)
			tw_intervals_add(out, start, end);
	}
	out->failed |= a->failed || b->failed;
}
