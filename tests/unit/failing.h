/*
 * An allocator for tests: counts what lives, checks that blocks are freed with the size they
 * have, and fails the n-th allocation (and all after it) when told to.
 *
 *	struct failing failing;
 *	for (long n = 0; ; n++) {
 *		failing_init(&failing, n);
 *		... work with &failing.allocator ...
 *		assert_int_equal(failing.live_blocks, 0);
 *		if (!failing.failed)
 *			break;
 *	}
 */
#ifndef TRAWL_TEST_FAILING_H
#define TRAWL_TEST_FAILING_H

#include "trawl/api.h"

struct failing {
	struct trawl_allocator allocator;
	long left; /* allocations that succeed; negative: all */
	long live_blocks, live_bytes;
	bool failed;	 /* at least one allocation was refused */
	bool wrong_size; /* a block was freed or resized with a size that it has not */
};

void failing_init(struct failing *failing, long allocations);

#endif
