/*
 * Operands of a call by the names that its operation gives its arguments (data/op_arguments.tsv):
 * libraries have the same operands in other places, outputs first or last.  Where a model has its
 * operands in fixed places its row lists them, with names of their own for what the model needs.
 */
#ifndef TW_MODEL_ARGUMENTS_H
#define TW_MODEL_ARGUMENTS_H

#include "model/call.h"

struct tw_arguments {
	const struct tw_call *call;
	const struct tw_op_arguments *known; /* NULL: of no known operation */
};

/*
 * The first of the operation's overloads that what was recorded fits, those with as many arguments
 * before others; of a call with fewer, the last ones are not known.
 */
struct tw_arguments tw_arguments_of(const struct tw_call *call);

#define TW_NOWHERE TW_CALL_MOST_OPERANDS

/* The position of a name in a list such as "q k v dropout"; TW_NOWHERE: it is not there. */
unsigned tw_place(const char *list, const char *name);
/* The position of the first of the names, "out|result", that it has; TW_NOWHERE: none. */
unsigned tw_argument_at(const struct tw_arguments *a, const char *names);
/* The operand there; one that was not given when there is none. */
const struct tw_operand *tw_argument(const struct tw_arguments *a, const char *names);
/* The tensor there, NULL: there is none. */
const struct tw_operand *tw_argument_tensor(const struct tw_arguments *a, const char *names);
/* Its whole number; `fallback` when nothing was recorded there. */
double tw_argument_integer(const struct tw_arguments *a, const char *names, double fallback);
/* Bytes of all tensors whose names contain one of the words. */
double tw_argument_bytes(const struct tw_arguments *a, const char *words);

#endif
