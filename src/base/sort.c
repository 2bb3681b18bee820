#include "base/sort.h"

#include <string.h>

/* 2^11 counters of 4 kB pages stay in the first-level cache; 6 passes cover 64 bits. */
#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
#define PASSES 6

static void count_digits(const struct tw_sort_item *items, size_t count, uint64_t low,
			 size_t (*counts)[DIGITS])
{
	size_t i;
	unsigned pass;

	memset(counts, 0, PASSES * sizeof(*counts));
	for (i = 0; i < count; i++) {
		uint64_t key = items[i].key - low;

		for (pass = 0; pass < PASSES; pass++)
			counts[pass][key >> (pass * DIGIT_BITS) & (DIGITS - 1)]++;
	}
}

static bool is_sorted(const struct tw_sort_item *items, size_t count)
{
	size_t i;

	for (i = 1; i < count; i++)
		if (items[i].key < items[i - 1].key)
			return false;
	return true;
}

/* For a handful of items clearing the counters would cost more than the work. */
static void insertion_sort(struct tw_sort_item *items, size_t count)
{
	size_t i, j;

	for (i = 1; i < count; i++) {
		struct tw_sort_item item = items[i];

		for (j = i; j && items[j - 1].key > item.key; j--)
			items[j] = items[j - 1];
		items[j] = item;
	}
}

void tw_sort(struct tw_sort_item *items, struct tw_sort_item *scratch, size_t count)
{
	size_t counts[PASSES][DIGITS], i;
	struct tw_sort_item *from = items, *to = scratch;
	uint64_t low = UINT64_MAX;
	unsigned pass, digit;

	if (count < 64) {
		insertion_sort(items, count);
		return;
	}
	if (is_sorted(items, count))
		return;
	for (i = 0; i < count; i++)
		if (items[i].key < low)
			low = items[i].key;
	count_digits(items, count, low, counts);
	for (pass = 0; pass < PASSES; pass++) {
		size_t *at = counts[pass], sum = 0;
		struct tw_sort_item *swap;

		if (at[(from[0].key - low) >> (pass * DIGIT_BITS) & (DIGITS - 1)] == count)
			continue;
		for (digit = 0; digit < DIGITS; digit++) {
			size_t n = at[digit];

			at[digit] = sum;
			sum += n;
		}
		for (i = 0; i < count; i++)
			to[at[(from[i].key - low) >> (pass * DIGIT_BITS) & (DIGITS - 1)]++] =
				from[i];
		swap = from;
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, count * sizeof(*items));
}
