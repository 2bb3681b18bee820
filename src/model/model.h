/*
 * Cost models: how much work an operation is, from its arguments alone.
 *
 * A family of operations is a file of families/ with a table of its models; families.def lists the
 * families, data/op_models.tsv says which operation has which model.  A model is a pure function of
 * a call.  What it cannot know it leaves NaN; when the arguments make no sense it fails with a reason
 * and the row has no figures.
 */
#ifndef TW_MODEL_MODEL_H
#define TW_MODEL_MODEL_H

#include "model/work.h"

struct tw_model {
	const char *name;
	const char *sheet; /* the report's table of its operations, one of sheets.def; "": none */
	enum tw_unit unit;
	/* 0, or -1 with work->reason. `work` is cleared but for what is set before it runs. */
	int (*forward)(const struct tw_call *call, struct tw_work *work);
	/* The work of the operation's backward pass, from the forward arguments; NULL: unknown. */
	int (*backward)(const struct tw_call *call, struct tw_work *work);
	/* What distinguishes it from others of its family with the same functions. */
	const void *variant;
	const char *backward_category; /* of its backward pass, NULL: it has none */
	/*
	 * The operation is made of others that have models: where those were recorded they make
	 * the rows, else it does.
	 */
	bool composite;
	bool by_forward_call; /* of a backward pass: from call->forward, not its own arguments */
	/*
	 * The work is that of the operation that launches: it makes no rows that would not be there
	 * without it, and is no family of its own.
	 */
	bool general;
};

/* How many sheets there are. */
#define TW_SHEET(id, ...) TW_SHEET_##id,
enum {
#include "model/sheets.def"
	TW_SHEETS
};
#undef TW_SHEET

/* A row of a family: TW_MODEL(softmax, "Softmax", VECTOR, .forward = softmax, ...) */
#define TW_MODEL(id, sheet_name, which, ...)                                           \
	{                                                                              \
		.name = #id, .sheet = sheet_name, .unit = TW_UNIT_##which, __VA_ARGS__ \
	}

/* The models of a family, up to one without a name. */
#define TW_FAMILY(id) extern const struct tw_model tw_family_##id[];
#include "model/families.def"
#undef TW_FAMILY

/* All families, up to a NULL. */
extern const struct tw_model *const tw_families[];

/* The parameters of models of a sheet, up to a NULL; none of a name that sheets.def has not. */
const char *const *tw_sheet_parameters(const char *sheet);

/* The model of an operation, by its exact name or, for compiled kernels, by its pattern. */
const struct tw_model *tw_model_of(const char *op, size_t len);

/*
 * Work of a call or of its backward pass: 0, or -1 with work->reason (no model, arguments that
 * were not recorded or make no sense).
 */
int tw_model_run(const struct tw_model *model, bool backward, const struct tw_call *call,
		 struct tw_work *work);

/* "matrix_bf16", as the peaks of platforms are named; empty when unknown. `text` has 32 bytes. */
const char *tw_compute_spec(const struct tw_work *work, char *text);

#endif
