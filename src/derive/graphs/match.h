/*
 * Which call of a capture made which node of a replay, by keys in order: the only place where
 * sequences are aligned.
 */
#ifndef TW_DERIVE_GRAPHS_MATCH_H
#define TW_DERIVE_GRAPHS_MATCH_H

#include "trawl/api.h"

enum tw_match_mode {
	TW_MATCH_NONE,
	TW_MATCH_EQUAL,	      /* the same keys in the same order */
	TW_MATCH_SUBSEQUENCE, /* all nodes in order, calls left over between them */
	TW_MATCH_BY_NAME,     /* several streams: the k-th of a key is the k-th */
	TW_MATCH_LCS,	      /* longest common subsequence */
};

/* 64-bit words of rows of common subsequences, at most, in one trace. */
#define TW_MATCH_STEPS ((uint64_t)1 << 29)

struct tw_keys {
	const uint32_t *at;
	uint32_t count;
};

#define TW_NOT_MATCHED UINT32_MAX

/*
 * Sets call_of[i] to the call of node i, TW_NOT_MATCHED: none; `mode` is the first that matches all
 * nodes, else LCS.  What is not in order takes some steps a key, a common subsequence their product
 * / 64; where *steps has no more of them: TW_MATCH_NONE.  -1: out of memory.
 */
int tw_match(struct tw_keys nodes, struct tw_keys calls, bool several_streams, uint64_t *steps,
	     enum tw_match_mode *mode, uint32_t *call_of, uint32_t *matched,
	     const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* The first calls that the nodes match in order, from `from` on; how many do before one does not. */
uint32_t tw_match_in_order(struct tw_keys nodes, struct tw_keys calls, uint32_t from,
			   uint32_t *call_of);

/*
 * All nodes in order, among the calls from `from` on: the calls that end first, and of these those that
 * begin last.  false: there are none, and call_of is void.
 */
bool tw_match_next(struct tw_keys nodes, struct tw_keys calls, uint32_t from, uint32_t *call_of);

/* The longest common subsequence alone, of equals the one with the earliest calls. */
int tw_match_lcs(struct tw_keys nodes, struct tw_keys calls, uint32_t *call_of, uint32_t *matched,
		 const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

#endif
