/*
 * Result of a cost model for one call: the floating-point operations and the bytes that must move
 * between memory and GPU, and the parameters they follow from.
 *
 * Counts are doubles: integers up to 2^53 exactly, larger ones to 16 digits, and NaN for what is
 * not known, which every formula propagates.
 */
#ifndef TW_MODEL_WORK_H
#define TW_MODEL_WORK_H

#include "model/call.h"
#include "text/str.h"

/* As many parameters as any sheet of sheets.def has, and one. */
#define TW_SHEET(id, ...) char id[sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)];
union tw_sheet_sizes {
#include "model/sheets.def"
};
#undef TW_SHEET
#define TW_MAX_PARAMETERS (sizeof(union tw_sheet_sizes) + 1)

/* Which units of the GPU do the work, for the peak. */
enum tw_unit { TW_UNIT_NONE, TW_UNIT_MATRIX, TW_UNIT_VECTOR };

/* A parameter of a model, in Python's notation, as TraceLens' columns "param: NAME" have it. */
struct tw_parameter {
	const char *name;
	size_t at, len; /* in the texts */
};

struct tw_work {
	const struct tw_model *model; /* whose work it is: set before it runs */
	bool backward;		      /* of its backward pass: set before it runs */
	double flops, bytes;	      /* NaN: unknown */
	bool at_least;		      /* more moves than `bytes`: not all operands are arguments */
	enum tw_unit unit;	      /* set from the model before it runs; a model may change it */
	const char *precision;	      /* "bf16"; "": none or unknown */
	const char *reason;	      /* why there is no result: a literal; NULL: there is one */
	struct tw_parameter parameters[TW_MAX_PARAMETERS];
	unsigned parameter_count;
	struct tw_str texts;
};

void tw_work_init(struct tw_work *work, const struct trawl_allocator *allocator);
void tw_work_release(struct tw_work *work);
/* Nothing known, no parameters; memory is kept. */
void tw_work_clear(struct tw_work *work);

/* Gives up: returns -1 and keeps the reason. */
static inline int tw_work_fail(struct tw_work *work, const char *reason)
{
	work->reason = reason;
	return -1;
}

/* Says how much; of an operand's precision, unless the model has set one.  Returns 0. */
int tw_work_set(struct tw_work *work, double flops, double bytes, const struct tw_operand *operand);

/* ---- parameters, in the order in which they are added */

struct tw_number {
	const char *name;
	double value;
};

/* TW_PARAM_INTEGERS(work, { "M", m }, { "N", n }) */
#define TW_PARAM_INTEGERS(work, ...) \
	tw_param_integers(work, (const struct tw_number[]){ __VA_ARGS__, { NULL, 0 } })

void tw_param_integers(struct tw_work *work, const struct tw_number *list);
void tw_param_integer(struct tw_work *work, const char *name, double value);
void tw_param_real(struct tw_work *work, const char *name, double value);
void tw_param_bool(struct tw_work *work, const char *name, bool value);
void tw_param_none(struct tw_work *work, const char *name);
void tw_param_text(struct tw_work *work, const char *name, const char *text);
/* "(16, 8)", and as a list, "[16, 8]" */
void tw_param_dims(struct tw_work *work, const char *name, const struct tw_dims *dims);
void tw_param_list(struct tw_work *work, const char *name, const struct tw_dims *list);
/* Those of an operand, NULL means None; empty where none were recorded. */
void tw_param_strides(struct tw_work *work, const char *name, const struct tw_operand *operand);
/* "('float', None)": types of operands; NULL means None. */
void tw_param_types(struct tw_work *work, const char *name, const struct tw_operand *const *list,
		    size_t count);

#define TW_OPERANDS(...) ((const struct tw_operand *const[]){ __VA_ARGS__ })
/* TW_PARAM_TYPES(work, "dtype_A_B", a, b) */
#define TW_PARAM_TYPES(work, name, ...)                      \
	tw_param_types(work, name, TW_OPERANDS(__VA_ARGS__), \
		       sizeof(TW_OPERANDS(__VA_ARGS__)) / sizeof(void *))

/* Shape and strides of an input, types of input and output, the output's strides; NULL: no output. */
void tw_param_in_out(struct tw_work *work, const struct tw_operand *in,
		     const struct tw_operand *out);

/* The text of a parameter, "" and false when it has none of that name. */
bool tw_param_find(const struct tw_work *work, const char *name, struct tw_slice *text);

#endif
