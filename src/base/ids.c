#include "base/ids.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/slots.h"

#include <string.h>

static size_t place_of(const struct tw_ids *ids, int64_t key)
{
	return TW_SLOT(at, ids->capacity, tw_hash_id((uint64_t)key),
		       ids->values[at] == TW_IDS_NONE || ids->keys[at] == key);
}

uint32_t tw_ids_get(const struct tw_ids *ids, int64_t key)
{
	return ids->capacity ? ids->values[place_of(ids, key)] : TW_IDS_NONE;
}

static bool grow(struct tw_ids *ids, const struct trawl_allocator *a)
{
	struct tw_ids more = { .capacity = ids->capacity ? ids->capacity * 2 : 64 };
	size_t i, at;

	more.keys = tw_alloc_array(a, more.capacity, sizeof(*more.keys));
	more.values = tw_alloc_array(a, more.capacity, sizeof(*more.values));
	if (!more.keys || !more.values) {
		tw_ids_release(&more, a);
		return false;
	}
	memset(more.values, 0xff, more.capacity * sizeof(*more.values));
	for (i = 0; i < ids->capacity; i++) {
		if (ids->values[i] == TW_IDS_NONE)
			continue;
		at = place_of(&more, ids->keys[i]);
		more.keys[at] = ids->keys[i];
		more.values[at] = ids->values[i];
	}
	more.count = ids->count;
	tw_ids_release(ids, a);
	*ids = more;
	return true;
}

bool tw_ids_put(struct tw_ids *ids, int64_t key, uint32_t value, const struct trawl_allocator *a)
{
	size_t at;

	if (ids->count * 2 >= ids->capacity && !grow(ids, a))
		return false;
	at = place_of(ids, key);
	ids->keys[at] = key;
	ids->values[at] = value;
	ids->count++;
	return true;
}

void tw_ids_release(struct tw_ids *ids, const struct trawl_allocator *a)
{
	tw_free(a, ids->keys, ids->capacity * sizeof(*ids->keys));
	tw_free(a, ids->values, ids->capacity * sizeof(*ids->values));
	*ids = (struct tw_ids){ 0 };
}
