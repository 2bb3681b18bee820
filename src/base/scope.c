#include "base/scope.h"

#include "base/alloc.h"

/* In front of each block, which keeps the alignment that `from` gives. */
struct tw_scope_block {
	struct tw_scope_block *previous, *next;
	size_t size; /* with this head */
	size_t unused;
};

#define HEAD sizeof(struct tw_scope_block)

static struct tw_scope_block *head_of(void *block)
{
	return (struct tw_scope_block *)((char *)block - HEAD);
}

static void unlink_block(struct tw_scope *scope, struct tw_scope_block *b)
{
	if (b->previous)
		b->previous->next = b->next;
	else
		scope->blocks = b->next;
	if (b->next)
		b->next->previous = b->previous;
}

static void link_block(struct tw_scope *scope, struct tw_scope_block *b)
{
	b->previous = NULL;
	b->next = scope->blocks;
	if (b->next)
		b->next->previous = b;
	scope->blocks = b;
}

static void *scope_realloc(void *context, void *block, size_t old_size, size_t size)
{
	struct tw_scope *scope = context;
	struct tw_scope_block *old = block ? head_of(block) : NULL, *b;

	if (size > SIZE_MAX - HEAD)
		return NULL;
	if (old)
		unlink_block(scope, old);
	b = tw_realloc(scope->from, old, old ? old_size + HEAD : 0, size + HEAD);
	if (b)
		b->size = size + HEAD;
	if (b || old)
		link_block(scope, b ? b : old);
	return b ? b + 1 : NULL;
}

static void scope_free(void *context, void *block, size_t size)
{
	struct tw_scope *scope = context;

	unlink_block(scope, head_of(block));
	tw_free(scope->from, head_of(block), size + HEAD);
}

void tw_scope_begin(struct tw_scope *scope, const struct trawl_allocator *from)
{
	*scope = (struct tw_scope){
		.allocator = { .realloc = scope_realloc, .free = scope_free, .context = scope },
		.from = from,
	};
}

void tw_scope_end(struct tw_scope *scope)
{
	struct tw_scope_block *b, *next;

	for (b = scope->blocks; b; b = next) {
		next = b->next;
		tw_free(scope->from, b, b->size);
	}
	scope->blocks = NULL;
}
