/*
 * Memory of one piece of work: what is taken from scope.allocator is given back when the scope ends,
 * so that nobody needs to.  What is large and not needed to the end may be freed before, as with any
 * allocator.  A block costs 32 bytes more.  One thread at a time.
 */
#ifndef TW_BASE_SCOPE_H
#define TW_BASE_SCOPE_H

#include "trawl/api.h"

struct tw_scope {
	struct trawl_allocator allocator;
	const struct trawl_allocator *from;
	struct tw_scope_block *blocks;
};

/* The scope must stay where it is until it ends. */
void tw_scope_begin(struct tw_scope *scope, const struct trawl_allocator *from);
void tw_scope_end(struct tw_scope *scope);

#endif
