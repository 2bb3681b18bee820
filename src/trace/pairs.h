/* Begin and end events (ph B and E) become slices. */
#ifndef TW_TRACE_PAIRS_H
#define TW_TRACE_PAIRS_H

#include "store/trace.h"

/*
 * Gives every B event the duration up to the E event that closes it on its thread and makes it a
 * slice; what finds no partner is counted.  0 or -1 (out of memory).
 */
int tw_pairs_match(struct trawl_trace *trace);

#endif
