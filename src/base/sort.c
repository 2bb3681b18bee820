/*
 * Key and number are packed into one word, which halves the memory to go through.  A key that has
 * no room there is taken in parts, the lowest first: what a later part leaves equal stays in the
 * order of the earlier ones.
 */
#include "base/sort.h"

#include "base/alloc.h"

#include <string.h>

/* 2^11 counters of 4 kB pages stay in the first-level cache; 6 passes cover 64 bits. */
#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
#define PASSES 6

/* For a handful clearing the counters would cost more than the work. */
#define FEW 64

struct keys {
	tw_sort_key_of *of;
	const void *context;
	uint64_t low, high;
	uint32_t largest; /* number */
	bool in_order;
};

static void look_at(struct keys *keys, const uint32_t *list, size_t count)
{
	uint64_t before = 0;
	size_t i;

	keys->low = UINT64_MAX;
	keys->in_order = true;
	for (i = 0; i < count; i++) {
		uint64_t key = keys->of(keys->context, list[i]);

		if (key < keys->low)
			keys->low = key;
		if (key > keys->high)
			keys->high = key;
		if (list[i] > keys->largest)
			keys->largest = list[i];
		keys->in_order &= key >= before;
		before = key;
	}
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

static unsigned bits_of(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* Sorts words by their bits from `low_bit` on. */
static void radix_sort(uint64_t *words, uint64_t *scratch, size_t count, unsigned low_bit)
{
	size_t counts[PASSES][DIGITS], i;
	uint64_t *from = words, *to = scratch;
	unsigned pass, digit;

	memset(counts, 0, sizeof(counts));
	for (i = 0; i < count; i++) {
		uint64_t key = words[i] >> low_bit;

		for (pass = 0; pass < PASSES; pass++)
			counts[pass][key >> (pass * DIGIT_BITS) & (DIGITS - 1)]++;
	}
	for (pass = 0; pass < PASSES; pass++) {
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
	unsigned taken;
	size_t i;

	for (taken = 0; taken < key_bits; taken += 64 - number_bits) {
		for (i = 0; i < count; i++) {
			uint64_t key = keys->of(keys->context, list[i]) - keys->low;

			words[i] = key >> taken << number_bits | list[i];
		}
		radix_sort(words, scratch, count, number_bits);
		for (i = 0; i < count; i++)
			list[i] = (uint32_t)(words[i] & (((uint64_t)1 << number_bits) - 1));
	}
}

int tw_sort(uint32_t *list, size_t count, tw_sort_key_of *key, const void *context,
	    const struct trawl_allocator *allocator)
{
	struct keys keys = { .of = key, .context = context };
	uint64_t *words, *scratch;

	if (count <= FEW) {
		insertion_sort(&keys, list, count);
		return 0;
	}
	look_at(&keys, list, count);
	if (keys.in_order)
		return 0;
	words = tw_alloc(allocator, count * sizeof(*words));
	scratch = tw_alloc(allocator, count * sizeof(*scratch));
	if (words && scratch)
		sort_packed(&keys, list, count, words, scratch);
	tw_free(allocator, words, count * sizeof(*words));
	tw_free(allocator, scratch, count * sizeof(*scratch));
	return words && scratch ? 0 : -1;
}
