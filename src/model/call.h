/*
 * The arguments of one call of an operation, as far as cost models need them: shapes, strides,
 * types and concrete values, by position, as PyTorch's profiler records them.
 */
#ifndef TW_MODEL_CALL_H
#define TW_MODEL_CALL_H

#include "data/tables.h"
#include "trawl/api.h"

#define TW_CALL_MOST_OPERANDS 64
#define TW_MOST_DIMS 12

/* A piece of a text that somebody else owns. */
struct tw_slice {
	const char *ptr;
	size_t len;
};

/* A text that is not there ends where it begins: to NULL nothing is added. */
static inline const char *tw_slice_end(const struct tw_slice *text)
{
	return text->len ? text->ptr + text->len : text->ptr;
}

/* Sizes of a tensor's dimensions, or its strides; rank 0 for a number or what was not given. */
struct tw_dims {
	unsigned rank;
	int64_t size[TW_MOST_DIMS];
};

struct tw_operand {
	bool is_list; /* a list of tensors: its shapes are not kept, `dims` has rank 0 */
	struct tw_dims dims, strides;
	struct tw_slice type;	      /* "c10::BFloat16", "Scalar", "" */
	const struct tw_dtype *dtype; /* NULL: unknown */
	struct tw_slice value; /* concrete value of what is no tensor: "[1, 1]", "True", "" */
};

/*
 * Queries and keys of the requests that an inference step serves, from the annotation around it:
 * sums over requests of the new tokens, of the tokens attended to, and of their products.
 * Source: the iteration annotations of vLLM, SGLang and ATOM.
 */
struct tw_requests {
	bool known;
	double context_sq, context_sk, context_sqsq, context_sqsk;
	double generation_sq, generation_sk, generation_sqsq, generation_sqsk;
};

struct tw_call {
	struct tw_slice name;
	unsigned count; /* operands */
	struct tw_operand operand[TW_CALL_MOST_OPERANDS];
	/* What is known of the call from elsewhere. */
	struct tw_requests requests;
	const struct tw_call *forward; /* of a backward call, NULL: not recorded */
	const char *reason;	       /* why the arguments cannot be read, NULL: they could */
};

/* The texts of a call's arguments: JSON lists, empty when not recorded. */
struct tw_call_texts {
	struct tw_slice name, dims, types, strides, concrete;
};

/*
 * Reads the arguments.  The texts must outlive *call, which points into them.  What cannot be
 * understood (a size below 0 or above int64, too many operands or dimensions) leaves `reason`.
 */
void tw_call_read(struct tw_call *call, const struct tw_call_texts *texts);

/* ---- asking: positions past the end are operands that were not given */

const struct tw_operand *tw_operand_of(const struct tw_call *call, unsigned position);
/* Whether a tensor of at least one dimension was given there. */
bool tw_has_tensor(const struct tw_call *call, unsigned position);
/* Product of the sizes, 1 for rank 0; NaN when no memory could hold so many elements. */
double tw_elements(const struct tw_dims *dims);
/* Bytes of an element, NaN when the type is unknown. */
double tw_element_bytes(const struct tw_operand *operand);
double tw_bytes(const struct tw_operand *operand); /* of all elements; NaN: unknown */
/* The precision of an operand's type, "": none or unknown. */
const char *tw_precision(const struct tw_operand *operand);

/* Concrete values: `fallback` when nothing was recorded there or it is no such thing. */
int64_t tw_value_integer(const struct tw_call *call, unsigned position, int64_t fallback);
bool tw_value_true(const struct tw_call *call, unsigned position, bool fallback);
/* A list of integers, "[1, 1]"; false when it is none. "[]" is a list of none. */
bool tw_value_list(const struct tw_call *call, unsigned position, struct tw_dims *list);
/* A list of numbers, "[2., 2.]": how many there are, at most `most`; 0 when it is none. */
unsigned tw_value_reals(const struct tw_call *call, unsigned position, double *list, unsigned most);

#endif
