/* The calls that launched kernels: one look at the calls for those that are asked for. */
#ifndef TW_NSYS_LAUNCHES_H
#define TW_NSYS_LAUNCHES_H

#include "base/list.h"
#include "nsys/scan.h"

/* A process and a correlation id; several kernels may have been launched by one call. */
struct tw_nsys_key {
	int64_t process, correlation;
};

struct tw_nsys_launch {
	int64_t start_ns;
	uint32_t key; /* in keys */
	uint32_t tid;
	bool is_launch; /* by its name it puts work on the GPU */
};

struct tw_nsys_launches {
	const struct trawl_allocator *allocator;
	int64_t (*process_of)(int64_t global_tid);
	TW_LIST(struct tw_nsys_key) keys;
	uint32_t *places; /* of the hash of keys: key + 1, 0: free */
	size_t place_count;
	TW_LIST(struct tw_nsys_launch) calls; /* of all keys, in the order of the table */
	int64_t end_ns;			      /* largest time seen */
};

void tw_nsys_launches_init(struct tw_nsys_launches *launches,
			   const struct trawl_allocator *allocator);
/* The number of a key, which is added when it is new; UINT32_MAX: out of memory. */
uint32_t tw_nsys_launches_want(struct tw_nsys_launches *launches, int64_t process,
			       int64_t correlation);
/* Finds the calls of all keys. */
int tw_nsys_launches_read(struct tw_nsys_launches *launches, struct tw_nsys_source *source,
			  struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_nsys_launches_release(struct tw_nsys_launches *launches);

#endif
