/*
 * Operations that have a cost model: what each call's work is, which calls count, and the GPU
 * events under any host event.  Made once per report, then read-only; each distinct signature is
 * worked out once.
 */
#ifndef TW_ANALYSIS_OPS_MODELLED_H
#define TW_ANALYSIS_OPS_MODELLED_H

#include "analysis/groups.h"
#include "derive/derived.h"
#include "model/model.h"
#include "text/str.h"

/* A backward operation is at most so far below the call that is paired with a forward one. */
#define TW_LEVELS_TO_PAIR 5

struct tw_op_parameter {
	const char *name;
	uint32_t text; /* in the texts of struct tw_modelled */
};

/* The work of calls of one name and signature, or of their backward pass. */
struct tw_op_work {
	const struct tw_model *model;
	double flops, bytes; /* NaN: unknown */
	bool at_least;	     /* more moves than that */
	const char *reason;  /* why nothing is known, NULL: something is */
	char spec[24];	     /* "matrix_bf16", "": unknown */
	uint32_t name;	     /* of the calls, text id */
	uint32_t signature;  /* of the calls, among those of struct tw_modelled */
	uint32_t parameters, parameter_count;
};

struct tw_modelled {
	const struct tw_derived *derived;
	const struct trawl_allocator *allocator; /* of a scope that all this is left to */
	/* By host node, in 32 bits: there are millions, and memory is what costs time. */
	uint32_t *end;	     /* the node after its subtree */
	uint32_t *first_gpu; /* where its own GPU events begin in `gpu`; one more than nodes */
	uint32_t *of_node;   /* see tw_work_at(), tw_signature_at(), tw_is_above_modelled() */
	uint32_t *gpu;	     /* GPU events by the node that launched them, in order of start */
	/* Of the pairs of autograd. */
	uint32_t *by_forward;	 /* in order of the forward node */
	uint32_t *by_backward;	 /* in order of the backward node */
	uint32_t *backward_work; /* by pair; TW_NO_GROUP: unknown */
	/* Nodes of the modelled calls that are no part of another one of their family, in the order
	 * of the input. */
	uint32_t *calls;
	uint64_t call_count, call_capacity;

	struct tw_groups signatures; /* distinct arguments, as tw_signature_texts() has them, of
					nodes that have a model or GPU work below them; 0: none */
	struct tw_groups keys;	     /* what was worked out */
	struct tw_op_work *works;
	struct tw_op_parameter *parameters;
	size_t work_capacity, parameter_capacity;
	uint32_t parameter_count;
	struct tw_pool texts;
};

int tw_modelled_build(struct tw_modelled *modelled, const struct tw_derived *derived,
		      const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/*
 * What the word of a node holds: the number of its work where it has one of its own, else that of
 * its arguments; groups have numbers below 2^30.
 */
enum {
	TW_NODE_NUMBER = 0x3fffffff,
	TW_NODE_ABOVE = 0x40000000, /* a modelled call with GPU work is below it */
};
#define TW_NODE_MODELLED 0x80000000u

/* Work of a call of its own by the model of a family, or by a general one; TW_NO_GROUP: none. */
static inline uint32_t tw_work_by(const struct tw_modelled *m, uint64_t node, bool general)
{
	uint32_t number = m->of_node[node] & TW_NODE_NUMBER;

	return m->of_node[node] & TW_NODE_MODELLED && m->works[number].model->general == general ?
		       number :
		       TW_NO_GROUP;
}

static inline uint32_t tw_work_at(const struct tw_modelled *m, uint64_t node)
{
	return tw_work_by(m, node, false);
}

/* Number of its arguments among `signatures`. */
static inline uint32_t tw_signature_at(const struct tw_modelled *m, uint64_t node)
{
	uint32_t number = m->of_node[node] & TW_NODE_NUMBER;

	return m->of_node[node] & TW_NODE_MODELLED ? m->works[number].signature : number;
}

static inline bool tw_is_above_modelled(const struct tw_modelled *m, uint64_t node)
{
	return m->of_node[node] & TW_NODE_ABOVE;
}

/* GPU events launched under a host node, in the order of their launches. */
static inline const uint32_t *tw_gpu_under(const struct tw_modelled *m, uint64_t node,
					   uint64_t *count)
{
	uint32_t first = m->first_gpu[node];

	*count = m->first_gpu[m->end[node]] - first;
	return m->gpu + first;
}

static inline uint64_t tw_gpu_count_under(const struct tw_modelled *m, uint64_t node)
{
	return m->first_gpu[m->end[node]] - m->first_gpu[node];
}

/* The pair of autograd with this backward node, TW_NO_GROUP: none. */
uint32_t tw_pair_at(const struct tw_modelled *modelled, uint64_t backward_node);

/* Pairs of autograd whose forward node is in the subtree: indices by_forward[*first] to *end - 1. */
void tw_pairs_under(const struct tw_modelled *modelled, uint64_t node, uint64_t *first,
		    uint64_t *end);

/* "{'M': 8, 'N': 4}": the parameters of a model as Python writes them. */
void tw_op_parameters(const struct tw_modelled *modelled, const struct tw_op_work *work,
		      struct tw_str *out);

#endif
