/* A map from whole numbers (ids of texts, of processes) to small numbers. */
#ifndef TW_BASE_IDS_H
#define TW_BASE_IDS_H

#include "trawl/api.h"

struct tw_ids {
	int64_t *keys;
	uint32_t *values; /* TW_IDS_NONE: the place is free */
	size_t count, capacity;
};

#define TW_IDS_NONE UINT32_MAX

/* TW_IDS_NONE when it is not there. */
uint32_t tw_ids_get(const struct tw_ids *ids, int64_t key);
/* A key that is not there yet; false: out of memory. */
bool tw_ids_put(struct tw_ids *ids, int64_t key, uint32_t value,
		const struct trawl_allocator *allocator);
void tw_ids_release(struct tw_ids *ids, const struct trawl_allocator *allocator);

#endif
