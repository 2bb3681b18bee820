/* Binary search: the only one of the program. */
#ifndef TW_BASE_SEARCH_H
#define TW_BASE_SEARCH_H

#include <stddef.h>

/*
 * The first index in [low, high) for which `is_before`, an expression of the index `at`, is false;
 * high when it is true of all of them.  It is true of the beginning of the range and false of the
 * rest.
 *
 *	first = TW_LOWER_BOUND(at, 0, count, items[at].end_ns <= time_ns);
 */
#define TW_LOWER_BOUND(at, low, high, is_before)               \
	__extension__({                                        \
		size_t low_ = (low), high_ = (high);           \
                                                               \
		while (low_ < high_) {                         \
			size_t at = low_ + (high_ - low_) / 2; \
                                                               \
			if (is_before)                         \
				low_ = at + 1;                 \
			else                                   \
				high_ = at;                    \
		}                                              \
		low_;                                          \
	})

#endif
