/* Lists of ranks, as traces record them ("[0, 1, 2]") and as people read them ("0-2, 7"). */
#ifndef TW_TEXT_RANK_LIST_H
#define TW_TEXT_RANK_LIST_H

#include "text/str.h"

struct tw_rank_list {
	const struct trawl_allocator *allocator;
	int64_t *ranks; /* in the order of the text */
	size_t count, capacity;
	bool whole; /* nothing is skipped: the profiler writes "..." into long lists */
	bool failed;
};

/* Of "[0, 1]" or "(0, 1)"; a text that is no list gives an empty one that is not whole. */
void tw_rank_list_parse(struct tw_rank_list *list, const char *text,
			const struct trawl_allocator *allocator);
void tw_rank_list_release(struct tw_rank_list *list);

/* "0-3, 7" of numbers in increasing order. */
void tw_rank_list_add(struct tw_str *out, const int64_t *ranks, size_t count);
/* The same of the first `most` parts, and how many of the numbers are in them. */
size_t tw_rank_list_add_some(struct tw_str *out, const int64_t *ranks, size_t count, size_t most);

/*
 * Whether all are on one node: "intra_node", "inter_node", "unknown" where the text or the size of
 * a node (0) does not tell.
 */
const char *tw_node_span(const char *ranks, int64_t gpus_per_node);

/* The same, and "and N more" behind the first twenty. */
void tw_rank_list_add_most(struct tw_str *out, const int64_t *ranks, size_t count);

#endif
