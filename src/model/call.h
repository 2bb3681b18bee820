/*
 * The arguments of one call of an operation, as far as cost models need them: shapes, strides,
 * types and concrete values, by position, as PyTorch's profiler records them.
 */
#ifndef TW_MODEL_CALL_H
#define TW_MODEL_CALL_H

#include "data/tables.h"
#include "trawl/api.h"

#include <string.h>

#define TW_CALL_MOST_OPERANDS 64
#define TW_MAX_DIMS 12

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

bool tw_slice_is(const struct tw_slice *text, const char *other);

static inline bool tw_slice_starts(const struct tw_slice *text, const char *with)
{
	return text->len >= strlen(with) && !memcmp(text->ptr, with, strlen(with));
}

bool tw_slice_contains(const struct tw_slice *text, const char *part);

/* Sizes of a tensor's dimensions, or its strides; rank 0 for a number or what was not given. */
struct tw_dims {
	unsigned rank;
	int64_t size[TW_MAX_DIMS];
};

struct tw_operand {
	bool is_list; /* a list of tensors: `dims` has rank 0, its shapes are in `list_dims` */
	bool strides_recorded; /* else `strides` has rank 0 */
	struct tw_dims dims, strides;
	struct tw_slice list_dims, list_strides; /* after their bracket; empty: not recorded */
	struct tw_slice type;			 /* "c10::BFloat16", "Scalar", "" */
	const struct tw_dtype *dtype;		 /* NULL: unknown */
	struct tw_slice value; /* concrete value of what is no tensor: "[1, 1]", "True", "" */
};

/* Sums over requests of the new tokens q, of the tokens attended to k, of q q and of q k. */
struct tw_request_sums {
	double sq, sk, sqsq, sqsk; /* NaN: not given */
};

/*
 * Queries and keys of the requests that an inference step serves, from the annotation around it:
 * of those whose prompt is read, and of those that go on writing.
 * Source: the iteration annotations of vLLM, SGLang and ATOM.
 */
struct tw_requests {
	bool known;
	struct tw_request_sums context, generation;
};

struct tw_call {
	struct tw_slice name;
	unsigned count; /* operands */
	struct tw_operand operand[TW_CALL_MOST_OPERANDS];
	/* What is known of the call from elsewhere. */
	struct tw_requests requests;
	const struct tw_call *forward; /* of a backward call, NULL: not recorded */
	/* Bytes of an element of the first list and of the others, as a kernel's name shows them. */
	double list_bytes[2];
	bool values_recorded; /* concrete values: what has none was not given */
	const char *reason;   /* why the arguments cannot be read, NULL: they could */
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

const struct tw_operand *tw_operand(const struct tw_call *call, unsigned position);

/* Whether it is a tensor of at least one dimension. */
static inline bool tw_is_tensor(const struct tw_operand *operand)
{
	return operand->dims.rank > 0;
}

static inline bool tw_has_tensor(const struct tw_call *call, unsigned position)
{
	return tw_is_tensor(tw_operand(call, position));
}

/* The first tensor of at least one dimension, NULL: there is none. */
const struct tw_operand *tw_first_tensor(const struct tw_call *call);
/* Whether its type is that of a number or of a list of numbers. */
bool tw_is_number(const struct tw_operand *operand);

/* ---- sizes */

/* The size of a dimension, -1 is the last one, -2 that before; NaN: there is none. */
double tw_size(const struct tw_operand *operand, int dimension);
/*
 * The dimension that a call names by a number, counted from either end; -1: there is none.  A tensor
 * without dimensions is as one of a single element.
 */
int tw_dimension(const struct tw_dims *dims, int64_t number);
/* Makes *shape what it and the other broadcast to; false: they do not. */
bool tw_broadcast(struct tw_dims *shape, const struct tw_dims *other);
/* Product of the sizes, 1 for rank 0; NaN when no memory could hold so many elements. */
double tw_elements(const struct tw_dims *dims);
/* Elements of a tensor, or of all tensors of a list; NaN when the shapes were not recorded. */
double tw_operand_elements(const struct tw_operand *operand);
/*
 * How many different elements of memory an operand has: an expanded dimension (stride 0) has one.
 * Of overlapping strides the count is exact where each dimension, by growing stride, goes on in
 * steps of those before it or steps over all of them, as windows do; else it is the smaller of
 * the elements and the addresses between the first and the last one.
 */
double tw_distinct(const struct tw_operand *operand);
/* That as a share of all its elements, 1 where nothing is counted twice or nothing is known. */
double tw_distinct_share(const struct tw_operand *operand);

/* ---- bytes and types */

/* Bytes of an element, NaN when the type is unknown. */
double tw_element_bytes(const struct tw_operand *operand);
/* Bytes of an element of a result from it: what has 8 bits is written in 16. */
double tw_result_bytes(const struct tw_operand *operand);
double tw_bytes(const struct tw_operand *operand); /* of distinct elements; NaN: unknown */
/* The same of a tensor; 0 of what was not given. */
double tw_given_bytes(const struct tw_operand *operand);
/* The same of all tensors of a call. */
double tw_call_bytes(const struct tw_call *call);
/* Values in an element: 2 where two of four bits are packed into a byte. */
double tw_packed_values(const struct tw_operand *operand);
/* The precision of an operand's type, "": none or unknown. */
const char *tw_precision(const struct tw_operand *operand);

/* ---- values */

/* Concrete values: `fallback` when nothing was recorded there or it is no such thing. */
int64_t tw_value_integer(const struct tw_call *call, unsigned position, int64_t fallback);
bool tw_value_true(const struct tw_call *call, unsigned position, bool fallback);
/*
 * A list of truth values, "[True, False]": their number, at most `most`.  False when it is none
 * or has others; *count are those in front.
 */
bool tw_value_flags(const struct tw_call *call, unsigned position, bool *list, unsigned most,
		    unsigned *count);
/* A list of integers, "[1, 1]"; false when it is none. "[]" is a list of none. */
bool tw_value_list(const struct tw_call *call, unsigned position, struct tw_dims *list);
/* A number, be it written with a point; NaN when it is none. */
double tw_value_real(const struct tw_call *call, unsigned position);
/* A list of numbers, "[2., 2.]": their number, at most `most`; 0 when it is none. */
unsigned tw_value_reals(const struct tw_call *call, unsigned position, double *list, unsigned most);

#endif
