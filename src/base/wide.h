/*
 * Sums of nanoseconds.  A time fits 64 bits, and so does the length of a union of times; a sum
 * over many events need not (an event may claim a week), and must not wrap.  It is shown where it
 * fits, else the cell is missing: tw_set_sum().
 */
#ifndef TW_BASE_WIDE_H
#define TW_BASE_WIDE_H

#include "trawl/api.h"

__extension__ typedef __int128 tw_wide;

static inline bool tw_wide_fits(tw_wide sum)
{
	return sum >= INT64_MIN && sum <= INT64_MAX;
}

#endif
