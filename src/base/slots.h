/* Tables with open addressing: the only search for a place of the program. */
#ifndef TW_BASE_SLOTS_H
#define TW_BASE_SLOTS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The place for a hash in a table of `size` places, a power of two, some of which are free: the first
 * from where it belongs on for which `is_it`, an expression of the place `at`, is true, since it is
 * free or holds what is looked for.
 *
 *	at = TW_SLOT(at, table->size, hash, !table->slots[at] || is_same(table->slots[at], key));
 */
#define TW_SLOT(at, size, hash, is_it)                              \
	__extension__({                                             \
		size_t mask_ = (size_t)(size)-1, at = (hash)&mask_; \
                                                                    \
		while (!(is_it))                                    \
			at = (at + 1) & mask_;                      \
		at;                                                 \
	})

/* Number of places for `count` items with half of them free. */
static inline size_t tw_slots_for(uint64_t count)
{
	size_t size = 16;

	while (size < 2 * count)
		size *= 2;
	return size;
}

#endif
