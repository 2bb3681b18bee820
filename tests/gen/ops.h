/*
 * The inputs of an operation in a short notation, blank separated:
 *
 *   b[B,S,H]      tensor (b bfloat16, f float, l long, c bool), contiguous
 *   b[H,3H]T      the same with its last two dimensions swapped in memory (M: the two before)
 *   2*b[H]        list of two such tensors
 *   L=[B,-1,H]    list of scalars
 *   m=[1,0]       list of flags, [True, False]
 *   s=1e-05       scalar, as written; d=BS a scalar that is a dimension
 *   -             absent argument
 *
 * A dimension is a number followed by capital letters, multiplied: 3BS.
 */
#ifndef GEN_OPS_H
#define GEN_OPS_H

#include <stdint.h>

#include "model.h"

/* Value of one dimension; *s is moved behind it. */
int64_t dim_value(const struct dims *d, const char **s);

struct op_info {
	int64_t flops;	  /* of mm, addmm and bmm; 0 for the rest */
	int64_t bytes;	  /* of the first tensor or size list, for [memory] events */
	int64_t computed; /* FLOPs of matrix products, those of attention too */
	int64_t moved;	  /* bytes that no implementation does without */
};

/* Appends "Concrete Inputs", "Input type", "Input Strides" and "Input Dims" to out. */
struct op_info ops_put_inputs(struct sb *out, const struct dims *d, const char *op, const char *in);

#endif
