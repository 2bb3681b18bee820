#include "io/temporary.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* How many files are written at once in common work; more get further blocks. */
#define BLOCK_SLOTS 64

enum slot_state {
	SLOT_FREE,
	SLOT_TAKEN, /* its owner is putting the name in */
	SLOT_ARMED, /* the name is valid: a handler may take it */
	SLOT_HELD,  /* a handler is using the name */
	SLOT_GONE,  /* a handler has removed the file */
};

struct tw_temporary {
	_Atomic int state;
	char *name;
};

/* Blocks are added and never freed: a handler may be walking over them. */
struct slot_block {
	struct tw_temporary slots[BLOCK_SLOTS];
	struct slot_block *_Atomic next;
};

/*
 * Process-wide, because signals are: the one piece of state that the library keeps between calls.
 */
static struct slot_block first_block;
static _Atomic bool ending;

static struct tw_temporary *take_slot(struct slot_block *block)
{
	int i;

	for (i = 0; i < BLOCK_SLOTS; i++) {
		int expected = SLOT_FREE;

		if (atomic_compare_exchange_strong(&block->slots[i].state, &expected, SLOT_TAKEN))
			return &block->slots[i];
	}
	return NULL;
}

static struct slot_block *next_block(struct slot_block *block)
{
	struct slot_block *next = atomic_load(&block->next), *fresh;

	if (next)
		return next;
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return NULL;
	/* Another thread may have been faster: its block serves as well. */
	if (atomic_compare_exchange_strong(&block->next, &next, fresh))
		return fresh;
	free(fresh);
	return next;
}

struct tw_temporary *tw_temporary_note(char *name)
{
	struct slot_block *block;

	for (block = &first_block; block; block = next_block(block)) {
		struct tw_temporary *slot = take_slot(block);

		if (slot) {
			slot->name = name;
			atomic_store(&slot->state, SLOT_ARMED);
			return slot;
		}
	}
	return NULL;
}

bool tw_temporary_forget(struct tw_temporary *temporary)
{
	int expected = SLOT_ARMED;

	if (!temporary)
		return true;
	if (atomic_compare_exchange_strong(&temporary->state, &expected, SLOT_FREE))
		return true;
	if (expected == SLOT_HELD)
		return false;
	atomic_store(&temporary->state, SLOT_FREE);
	return true;
}

bool tw_temporary_ending(void)
{
	return atomic_load(&ending);
}

void tw_temporary_unlink_all(void)
{
	int saved = errno, i;
	struct slot_block *block;

	/* First the flag: a file created behind our back is then removed by its creator. */
	atomic_store(&ending, true);
	for (block = &first_block; block; block = atomic_load(&block->next)) {
		for (i = 0; i < BLOCK_SLOTS; i++) {
			struct tw_temporary *slot = &block->slots[i];
			int expected = SLOT_ARMED;

			if (!atomic_compare_exchange_strong(&slot->state, &expected, SLOT_HELD))
				continue;
			if (unlink(slot->name))
				rmdir(slot->name); /* a directory, noted behind what is in it */
			atomic_store(&slot->state, SLOT_GONE);
		}
	}
	errno = saved;
}
