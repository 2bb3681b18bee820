#include "derive/intervals.h"

#include "base/alloc.h"

#include <string.h>

void tw_intervals_init(struct tw_intervals *set, const struct trawl_allocator *allocator)
{
	memset(set, 0, sizeof(*set));
	set->allocator = allocator;
}

void tw_intervals_release(struct tw_intervals *set)
{
	if (set->allocator)
		tw_free(set->allocator, set->items, set->capacity * sizeof(*set->items));
	memset(set, 0, sizeof(*set));
}

static struct tw_interval *add_item(struct tw_intervals *set)
{
	if (set->count == set->capacity) {
		size_t capacity = set->capacity ? set->capacity * 2 : 256;
		struct tw_interval *items = tw_realloc(set->allocator, set->items,
						       set->capacity * sizeof(*items),
						       capacity * sizeof(*items));

		if (!items) {
			set->failed = true;
			return NULL;
		}
		set->items = items;
		set->capacity = capacity;
	}
	return &set->items[set->count++];
}

void tw_intervals_add(struct tw_intervals *set, int64_t start_ns, int64_t end_ns)
{
	struct tw_interval *last = set->count ? &set->items[set->count - 1] : NULL;

	if (last && start_ns <= last->end_ns) {
		if (end_ns > last->end_ns)
			last->end_ns = end_ns;
		return;
	}
	last = add_item(set);
	if (last)
		*last = (struct tw_interval){ start_ns, end_ns };
}

int64_t tw_intervals_length(const struct tw_intervals *set)
{
	int64_t length = 0;
	size_t i;

	for (i = 0; i < set->count; i++)
		length += set->items[i].end_ns - set->items[i].start_ns;
	return length;
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
