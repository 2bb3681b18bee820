/*
 * Grouping by keys of fixed size: gives each distinct key a number, in order of first appearance.
 * Keys are compared as bytes, so their padding must be zero.  A group may have a value beside its
 * key, zero at first.
 */
#ifndef TW_ANALYSIS_GROUPS_H
#define TW_ANALYSIS_GROUPS_H

#include "trawl/api.h"

struct tw_groups {
	const struct trawl_allocator *allocator;
	size_t key_size, value_at, stride;
	char *keys; /* each with its value after it, aligned for any type */
	uint32_t count, capacity;
	uint32_t *slots; /* 0: free, else group + 1 */
	uint32_t slot_count;
	bool failed; /* out of memory, sticky */
};

#define TW_NO_GROUP UINT32_MAX

void tw_groups_init(struct tw_groups *groups, size_t key_size,
		    const struct trawl_allocator *allocator);
/* The same with room for a value of `value_size` bytes in each group. */
void tw_groups_init_values(struct tw_groups *groups, size_t key_size, size_t value_size,
			   const struct trawl_allocator *allocator);
void tw_groups_release(struct tw_groups *groups);
/* The group of a key, adding it when new; TW_NO_GROUP (and `failed`) when out of memory. */
uint32_t tw_groups_add(struct tw_groups *groups, const void *key);

static inline const void *tw_groups_key(const struct tw_groups *groups, uint32_t group)
{
	return groups->keys + group * groups->stride;
}

/* Valid until a key is added. */
static inline void *tw_groups_value(const struct tw_groups *groups, uint32_t group)
{
	return groups->keys + group * groups->stride + groups->value_at;
}

/* The value of a key, adding it when new; NULL (and `failed`) when out of memory. */
static inline void *tw_groups_at(struct tw_groups *groups, const void *key)
{
	uint32_t group = tw_groups_add(groups, key);

	return group == TW_NO_GROUP ? NULL : tw_groups_value(groups, group);
}

/* The group of a value. */
uint32_t tw_groups_number(const struct tw_groups *groups, const void *value);

/*
 * Members by group: of[i] is the group of member i (TW_NO_GROUP: of none).  Group g has the
 * members list[first[g]] .. list[first[g + 1] - 1], in increasing order.
 */
struct tw_members {
	const struct trawl_allocator *allocator;
	uint32_t *first;
	uint32_t *list;
	uint64_t group_count, count;
};

int tw_members_build(struct tw_members *members, const uint32_t *of, uint64_t count,
		     uint32_t group_count,
		     const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_members_release(struct tw_members *members);

#endif
