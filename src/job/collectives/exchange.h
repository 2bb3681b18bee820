/*
 * all_to_allv: each rank sends what it likes to each other.  Source: TraceLens.
 */
#ifndef TW_JOB_COLLECTIVES_EXCHANGE_H
#define TW_JOB_COLLECTIVES_EXCHANGE_H

#include "job/collectives/facts.h"

/* Max ranks with rank-to-rank sizes: TraceLens' limit. */
#define TW_EXCHANGE_PAIRS_RANKS 1024

struct tw_exchange {
	const struct tw_match *match;
	double total_mb, largest_mb, mean_mb; /* sent, over the ranks; NaN: not known */
	/* The same of what they receive, and who does most, where it is known; of equals the first. */
	double received_mb, largest_received_mb;
	uint32_t sends_most, receives_most; /* members */
	int64_t nelems;			    /* sent by all; -1: not known */
	int64_t first_start_ns;		    /* on the clock that all ranks share */
	int64_t wall_ns;		    /* last end - first start */
	int64_t longest_ns, shortest_ns;    /* of the kernels */
	int64_t start_skew_ns, end_skew_ns;
};

/* Whether the match is one, of several ranks, and if so what it comes to. */
bool tw_exchange_of(const struct tw_ranks_input *in, const struct tw_match *match,
		    struct tw_exchange *exchange);

/* All of them, most data first, in memory of in->allocator; 0 or TRAWL_ENOMEM. */
int tw_exchanges_list(const struct tw_ranks_input *in, struct tw_exchange **list,
		      size_t *count) TRAWL_MUST_CHECK;

/* Over all exchanges, as far as what they receive is known. */
struct tw_exchange_sum {
	double largest_received_mb, mean_received_mb; /* sums over the exchanges */
	uint32_t receives_most;			      /* index of job->ranks, in sum */
};

/* 0 or TRAWL_ENOMEM */
int tw_exchange_sum(const struct tw_ranks_input *in, struct tw_exchange_sum *sum) TRAWL_MUST_CHECK;

/* Most that a rank sends, or receives, over the mean of the ranks; NaN: not known. */
double tw_exchange_send_imbalance(const struct tw_exchange *exchange);
double tw_exchange_receive_imbalance(const struct tw_exchange *exchange);

#endif
