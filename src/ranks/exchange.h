/*
 * all_to_allv: each rank sends what it likes to each other.  Source: TraceLens.
 */
#ifndef TW_RANKS_EXCHANGE_H
#define TW_RANKS_EXCHANGE_H

#include "ranks/facts.h"

struct tw_exchange {
	const struct tw_match *match;
	double total_mb, largest_mb, mean_mb; /* sent, over the ranks; NaN: not known */
	int64_t nelems;			      /* sent by all; -1: not known */
	int64_t first_start_ns;		      /* on the clock that all ranks share */
	int64_t wall_ns;		      /* last end - first start */
	int64_t longest_ns, shortest_ns;      /* of the kernels */
	int64_t start_skew_ns, end_skew_ns;
};

/* Whether the match is one, of several ranks, and if so what it comes to. */
bool tw_exchange_of(const struct tw_ranks_input *in, const struct tw_match *match,
		    struct tw_exchange *exchange);

/* All of them, most data first, in memory of in->allocator; 0 or TRAWL_ENOMEM. */
int tw_exchanges_list(const struct tw_ranks_input *in, struct tw_exchange **list,
		      size_t *count) TRAWL_MUST_CHECK;
void tw_exchanges_free(const struct tw_ranks_input *in, struct tw_exchange *list, size_t count);

#endif
