/*
 * Operators of ATen whose work follows from a row of data/aten_ops.tsv: how many elements their
 * results have (aten_results.c), what moves for that (aten.c).
 */
#ifndef TW_MODEL_FAMILIES_ATEN_H
#define TW_MODEL_FAMILIES_ATEN_H

#include "model/model.h"

struct tw_aten {
	const struct tw_call *call;
	const struct tw_aten_op *row;
	bool in_place;	    /* the first operand is the result */
	double results;	    /* elements of a result; NaN: not known */
	double picked;	    /* elements that are looked up, or put into the first operand */
	double window;	    /* elements that make one of the result, 1 but for windows */
	double read;	    /* of the first operand's elements, where not all are read; NaN: all */
	const char *reason; /* why `results` is not known */
};

/* The letter of an operand in the row's inputs, '-' after them. */
char tw_aten_role(const struct tw_aten_op *row, unsigned position);
/* Sets results, picked, window, read and reason. */
void tw_aten_results(struct tw_aten *aten);

#endif
