/* Which capture the nodes of a graph are a replay of. */
#ifndef TW_DERIVE_GRAPHS_CHOOSE_H
#define TW_DERIVE_GRAPHS_CHOOSE_H

#include "derive/graphs/match.h"
#include "store/trace.h"

/* What captures that match as well as the first do not agree on. */
enum { TW_DIFFER_OP = 1, TW_DIFFER_DIMS = 2, TW_DIFFER_MODULE = 4 };

struct tw_choice {
	uint32_t capture; /* that matches, or, refused, the best; TW_NOT_MATCHED: none */
	bool taken;
	bool by_place;	/* the k-th of as many: no other was looked at */
	bool too_large; /* some were not compared */
	enum tw_match_mode mode;
	uint32_t matched; /* nodes with a call */
	uint32_t left;	  /* calls without a node */
	uint32_t others;  /* captures that match as well */
	bool ops_differ;  /* they have other operators */
};

static inline uint8_t tw_calls_differ(const struct tw_captured_call *x,
				      const struct tw_captured_call *y)
{
	return (uint8_t)((x->op != y->op ? TW_DIFFER_OP : 0) |
			 (x->dims != y->dims ? TW_DIFFER_DIMS : 0) |
			 (x->module != y->module || x->site != y->site ? TW_DIFFER_MODULE : 0));
}

/* The captures of a trace, ready to be compared. */
struct tw_chooser {
	const struct tw_captures *captures;
	const struct trawl_allocator *allocator;
	uint32_t *keys;	  /* by call */
	uint64_t *hashes; /* by capture */
	uint32_t *order;  /* captures by hash, then number; those of eager runs are not in it */
	uint32_t count;	  /* of order */
	uint8_t *differ;  /* by call, once its capture was chosen */
	uint8_t *asked;	  /* by capture */
	uint8_t *repeats; /* by capture: an earlier one has its keys */
	uint64_t steps;	  /* left for common subsequences */
};

int tw_chooser_init(struct tw_chooser *c, const struct trawl_trace *trace,
		    const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_chooser_release(struct tw_chooser *c);

/* Nodes of a launch. */
struct tw_nodes {
	const uint32_t *keys;	 /* names of kernels, TW_CALL_COPY or TW_CALL_FILL */
	const uint32_t *counted; /* the same with TW_CALL_ANY for every name */
	uint32_t count;
	bool several_streams;
};

/* Sets *choice, and call_of[i], of its capture, where it is taken.  -1: out of memory. */
int tw_choose(struct tw_chooser *c, const struct tw_nodes *nodes, struct tw_choice *choice,
	      uint32_t *call_of) TRAWL_MUST_CHECK;
/* The same with one capture to choose from. */
int tw_choose_one(struct tw_chooser *c, const struct tw_nodes *nodes, uint32_t capture,
		  struct tw_choice *choice, uint32_t *call_of) TRAWL_MUST_CHECK;

struct tw_keys tw_keys_of(const struct tw_chooser *c, uint32_t capture);

#endif
