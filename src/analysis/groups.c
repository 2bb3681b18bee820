#include "analysis/groups.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/slots.h"

#include <stdalign.h>
#include <stddef.h>
#include <string.h>

/* A value may be of any type, whatever the size of its key. */
static size_t aligned(size_t size)
{
	return (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
}

void tw_groups_init_values(struct tw_groups *groups, size_t key_size, size_t value_size,
			   const struct trawl_allocator *allocator)
{
	memset(groups, 0, sizeof(*groups));
	groups->allocator = allocator;
	groups->key_size = key_size;
	groups->value_at = value_size ? aligned(key_size) : key_size;
	groups->stride = value_size ? aligned(groups->value_at + value_size) : key_size;
}

void tw_groups_init(struct tw_groups *groups, size_t key_size,
		    const struct trawl_allocator *allocator)
{
	tw_groups_init_values(groups, key_size, 0, allocator);
}

void tw_groups_release(struct tw_groups *groups)
{
	if (!groups->allocator)
		return;
	tw_free(groups->allocator, groups->keys, groups->capacity * groups->stride);
	tw_free(groups->allocator, groups->slots, groups->slot_count * sizeof(*groups->slots));
	memset(groups, 0, sizeof(*groups));
}

static uint32_t hash_of(const struct tw_groups *groups, const void *key)
{
	return (uint32_t)tw_hash_bytes(key, groups->key_size);
}

/* Keys are short: a call of memcmp() would take longer than the comparison. */
static bool is_same(const char *a, const char *b, size_t size)
{
	size_t i;

	if (size < 8)
		return size == 4 ? !memcmp(a, b, 4) : !memcmp(a, b, size);
	for (i = 0; i + 8 < size; i += 8)
		if (tw_load64(a + i) != tw_load64(b + i))
			return false;
	return tw_load64(a + size - 8) == tw_load64(b + size - 8);
}

static int grow(struct tw_groups *groups)
{
	uint32_t capacity = groups->capacity ? groups->capacity * 2 : 64;
	uint32_t slot_count = capacity * 2, *slots, i;
	char *keys;

	if (capacity > 1u << 30)
		return -1;
	slots = tw_alloc_array(groups->allocator, slot_count, sizeof(*slots));
	if (!slots)
		return -1;
	keys = tw_realloc(groups->allocator, groups->keys, groups->capacity * groups->stride,
			  capacity * groups->stride);
	if (!keys) {
		tw_free(groups->allocator, slots, slot_count * sizeof(*slots));
		return -1;
	}
	groups->keys = keys;
	for (i = 0; i < groups->count; i++)
		slots[TW_SLOT(at, slot_count, hash_of(groups, keys + i * groups->stride),
			      !slots[at])] = i + 1;
	tw_free(groups->allocator, groups->slots, groups->slot_count * sizeof(*slots));
	groups->slots = slots;
	groups->slot_count = slot_count;
	groups->capacity = capacity;
	return 0;
}

uint32_t tw_groups_add(struct tw_groups *groups, const void *key)
{
	const uint32_t *slots;
	uint32_t *slot;
	char *place;

	if (groups->count == groups->capacity && grow(groups)) {
		groups->failed = true;
		return TW_NO_GROUP;
	}
	slots = groups->slots;
	slot = &groups->slots[TW_SLOT(
		at, groups->slot_count, hash_of(groups, key),
		!slots[at] || is_same(groups->keys + (slots[at] - 1) * groups->stride, key,
				      groups->key_size))];
	if (*slot)
		return *slot - 1;
	place = groups->keys + groups->count * groups->stride;
	memcpy(place, key, groups->key_size);
	memset(place + groups->key_size, 0, groups->stride - groups->key_size);
	*slot = ++groups->count;
	return groups->count - 1;
}

uint32_t tw_groups_number(const struct tw_groups *groups, const void *value)
{
	return (uint32_t)((size_t)((const char *)value - groups->keys) / groups->stride);
}

int tw_members_build(struct tw_members *members, const uint32_t *of, uint64_t count,
		     uint32_t group_count, const struct trawl_allocator *allocator)
{
	uint32_t i, sum = 0, n, g;

	*members = (struct tw_members){ .allocator = allocator,
					.group_count = group_count,
					.count = count };
	if (count >= UINT32_MAX)
		return -1;
	members->first =
		tw_alloc_array(allocator, (uint64_t)group_count + 1, sizeof(*members->first));
	members->list = tw_alloc(allocator, (count + 1) * sizeof(*members->list));
	if (!members->first || !members->list)
		return -1;
	for (i = 0; i < count; i++)
		if (of[i] != TW_NO_GROUP)
			members->first[of[i]]++;
	for (g = 0; g <= group_count; g++) {
		n = members->first[g];
		members->first[g] = sum;
		sum += n;
	}
	for (i = 0; i < count; i++)
		if (of[i] != TW_NO_GROUP)
			members->list[members->first[of[i]]++] = i;
	/* Filling moved every start to its end, which is the next one's start. */
	for (g = group_count; g > 0; g--)
		members->first[g] = members->first[g - 1];
	members->first[0] = 0;
	return 0;
}

void tw_members_release(struct tw_members *members)
{
	if (!members->allocator)
		return;
	tw_free(members->allocator, members->first,
		(members->group_count + 1) * sizeof(*members->first));
	tw_free(members->allocator, members->list, (members->count + 1) * sizeof(*members->list));
	memset(members, 0, sizeof(*members));
}
