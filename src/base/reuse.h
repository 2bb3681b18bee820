/*
 * An allocator that keeps large blocks for the next one who asks.  Analyses take and give back
 * blocks of megabytes one after the other; on many machines the first touch of fresh memory
 * costs more than what is then done with it.  May be used by several threads.
 */
#ifndef TW_BASE_REUSE_H
#define TW_BASE_REUSE_H

#include "trawl/api.h"

struct tw_reuse;

/* `inner` must outlive it. NULL when out of memory. */
struct tw_reuse *tw_reuse_new(const struct trawl_allocator *inner);
/* Gives everything back; blocks still in use become invalid. NULL allowed. */
void tw_reuse_free(struct tw_reuse *reuse);
const struct trawl_allocator *tw_reuse_allocator(struct tw_reuse *reuse);

#endif
