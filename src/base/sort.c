/*
 * A list that is a few sorted runs is merged: profilers write their events so.  Any other is
 * sorted by the digits of its keys, key and number packed into one word, which halves the memory
 * to go through.  A key that has no room there is taken in parts, the lowest first: what a later
 * part leaves equal stays in the order of the earlier ones.
 */
#include "base/sort.h"

#include "base/alloc.h"

#include <string.h>

/* 2^11 counters of 4 kB pages stay in the first-level cache; 6 passes cover 64 bits. */
#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
#define PASSES 6

/* With more runs merging takes longer than sorting by digits. */
#define MAX_RUNS 8

/* For a handful clearing the counters would cost more than the work. */
#define FEW 64

struct keys {
	tw_sort_key_of *of;
	const void *context;
	uint64_t low, high;
	uint32_t largest;	   /* number */
	size_t runs[MAX_RUNS + 1]; /* where they begin; the end of the list after the last */
	size_t run_count;	   /* MAX_RUNS + 1: more than those */
};

static void look_at(struct keys *keys, const uint32_t *list, size_t count)
{
	uint64_t before = 0;
	size_t i;

	keys->low = UINT64_MAX;
	for (i = 0; i < count; i++) {
		uint64_t key = keys->of(keys->context, list[i]);

		if (key < keys->low)
			keys->low = key;
		if (key > keys->high)
			keys->high = key;
		if (list[i] > keys->largest)
			keys->largest = list[i];
		if ((!i || key < before) && keys->run_count <= MAX_RUNS)
			keys->runs[keys->run_count++] = i;
		before = key;
	}
	if (keys->run_count <= MAX_RUNS)
		keys->runs[keys->run_count] = count;
}

static void insertion_sort(const struct keys *keys, uint32_t *list, size_t count)
{
	uint64_t sorted[FEW];
	size_t i, j;

	for (i = 0; i < count; i++) {
		uint32_t number = list[i];
		uint64_t key = keys->of(keys->context, number);

		for (j = i; j && sorted[j - 1] > key; j--) {
			sorted[j] = sorted[j - 1];
			list[j] = list[j - 1];
		}
		sorted[j] = key;
		list[j] = number;
	}
}

/* Two runs, one after the other, into one; of equal keys the first run's come first. */
static void merge(const struct keys *keys, const uint32_t *from, size_t first, size_t second,
		  size_t end, uint32_t *to)
{
	size_t a = first, b = second, at = first;
	uint64_t key_a = keys->of(keys->context, from[a]), key_b = keys->of(keys->context, from[b]);

	for (;;) {
		if (key_b < key_a) {
			to[at++] = from[b++];
			if (b == end)
				break;
			key_b = keys->of(keys->context, from[b]);
		} else {
			to[at++] = from[a++];
			if (a == second)
				break;
			key_a = keys->of(keys->context, from[a]);
		}
	}
	memcpy(to + at, from + a, (second - a) * sizeof(*to));
	at += second - a;
	memcpy(to + at, from + b, (end - b) * sizeof(*to));
}

/* Merges neighbours until one run is left. */
static void merge_runs(struct keys *keys, uint32_t *list, uint32_t *scratch)
{
	uint32_t *from = list, *to = scratch, *swap;
	size_t *runs = keys->runs, count = keys->run_count, end = runs[count], i, n;

	while (count > 1) {
		for (i = 0, n = 0; i < count; i += 2) {
			size_t first = runs[i];

			if (i + 1 < count)
				merge(keys, from, first, runs[i + 1], runs[i + 2], to);
			else
				memcpy(to + first, from + first, (end - first) * sizeof(*to));
			runs[n++] = first;
		}
		runs[n] = end;
		count = n;
		swap = from;
		from = to;
		to = swap;
	}
	if (from != list)
		memcpy(list, from, end * sizeof(*list));
}

static unsigned bits_of(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* Sorts words by `bits` bits from `low_bit` on, above which there are none. */
static void radix_sort(uint64_t *words, uint64_t *scratch, size_t count, unsigned low_bit,
		       unsigned bits)
{
	size_t counts[PASSES][DIGITS], i;
	uint64_t *from = words, *to = scratch;
	unsigned passes = (bits + DIGIT_BITS - 1) / DIGIT_BITS, pass, digit;

	memset(counts, 0, passes * sizeof(counts[0]));
	for (i = 0; i < count; i++) {
		uint64_t key = words[i] >> low_bit;

		for (pass = 0; pass < passes; pass++)
			counts[pass][key >> (pass * DIGIT_BITS) & (DIGITS - 1)]++;
	}
	for (pass = 0; pass < passes; pass++) {
		size_t *at = counts[pass], sum = 0;
		uint64_t *swap;

		if (at[from[0] >> low_bit >> (pass * DIGIT_BITS) & (DIGITS - 1)] == count)
			continue;
		for (digit = 0; digit < DIGITS; digit++) {
			size_t n = at[digit];

			at[digit] = sum;
			sum += n;
		}
		for (i = 0; i < count; i++)
			to[at[from[i] >> low_bit >> (pass * DIGIT_BITS) & (DIGITS - 1)]++] =
				from[i];
		swap = from;
		from = to;
		to = swap;
	}
	if (from != words)
		memcpy(words, from, count * sizeof(*words));
}

static void sort_packed(const struct keys *keys, uint32_t *list, size_t count, uint64_t *words,
			uint64_t *scratch)
{
	unsigned number_bits = bits_of(keys->largest), key_bits = bits_of(keys->high - keys->low);
	unsigned room = 64 - number_bits, taken;
	size_t i;

	for (taken = 0; taken < key_bits; taken += room) {
		for (i = 0; i < count; i++) {
			uint64_t key = keys->of(keys->context, list[i]) - keys->low;

			words[i] = key >> taken << number_bits | list[i];
		}
		radix_sort(words, scratch, count, number_bits,
			   key_bits - taken < room ? key_bits - taken : room);
		for (i = 0; i < count; i++)
			list[i] = (uint32_t)(words[i] & (((uint64_t)1 << number_bits) - 1));
	}
}

static int sort_by_digits(const struct keys *keys, uint32_t *list, size_t count,
			  const struct trawl_allocator *allocator)
{
	uint64_t *words = tw_alloc(allocator, count * sizeof(*words));
	uint64_t *scratch = tw_alloc(allocator, count * sizeof(*scratch));

	if (words && scratch)
		sort_packed(keys, list, count, words, scratch);
	tw_free(allocator, words, count * sizeof(*words));
	tw_free(allocator, scratch, count * sizeof(*scratch));
	return words && scratch ? 0 : -1;
}

int tw_sort(uint32_t *list, size_t count, tw_sort_key_of *key, const void *context,
	    const struct trawl_allocator *allocator)
{
	struct keys keys = { .of = key, .context = context };
	uint32_t *scratch;

	if (count <= FEW) {
		insertion_sort(&keys, list, count);
		return 0;
	}
	look_at(&keys, list, count);
	if (keys.run_count == 1)
		return 0;
	if (keys.run_count > MAX_RUNS)
		return sort_by_digits(&keys, list, count, allocator);
	scratch = tw_alloc(allocator, count * sizeof(*scratch));
	if (scratch)
		merge_runs(&keys, list, scratch);
	tw_free(allocator, scratch, count * sizeof(*scratch));
	return scratch ? 0 : -1;
}

void tw_sort_numbers(int64_t *numbers, size_t count)
{
	size_t gap, i, j;

	for (gap = count / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11) {
		for (i = gap; i < count; i++) {
			int64_t number = numbers[i];

			for (j = i; j >= gap && numbers[j - gap] > number; j -= gap)
				numbers[j] = numbers[j - gap];
			numbers[j] = number;
		}
	}
}
