/* What one thread has read is what several threads read, each a part of the text. */
#ifndef TRAWL_TEST_IN_PARTS_H
#define TRAWL_TEST_IN_PARTS_H

#include "trawl/trace.h"

/*
 * Fails unless the text, read in five parts in blocks of `block` bytes, is `one` (NULL: no trace).
 * How many of the parts were used: the others began where no event did.
 */
unsigned assert_same_in_parts(const struct trawl_trace *one, const char *text, size_t len,
			      size_t block);

#endif
