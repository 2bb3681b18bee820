#include "model/model.h"
#include "model/families/triton.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TW_FAMILY(id) tw_family_##id,
const struct tw_model *const tw_families[] = {
#include "model/families.def"
	NULL
};
#undef TW_FAMILY

struct sheet {
	const char *name;
	const char *const *parameters;
};

#define TW_SHEET(id, ...) { #id, (const char *const[]){ __VA_ARGS__, NULL } },
static const struct sheet sheets[] = {
#include "model/sheets.def"
};
#undef TW_SHEET

const char *const *tw_sheet_parameters(const char *sheet)
{
	static const char *const none[] = { NULL };
	size_t i;

	for (i = 0; i < sizeof(sheets) / sizeof(sheets[0]); i++)
		if (!strcmp(sheets[i].name, sheet))
			return sheets[i].parameters;
	return none;
}

static const struct tw_model *by_name(const char *name)
{
	const struct tw_model *const *family, *model;

	for (family = tw_families; *family; family++)
		for (model = *family; model->name; model++)
			if (!strcmp(model->name, name))
				return model;
	return NULL;
}

const struct tw_model *tw_model_of(const char *op, size_t len)
{
	const char *name = tw_op_model(op, len);
	bool in_place;

	if (name)
		return by_name(name);
	return tw_aten_op(op, len, &in_place) ? tw_family_aten : tw_triton_model_of(op, len);
}

/* 9 PB, and two weeks of 10^15 a second: dims beyond it are no dims of a call that was made. */
#define MAX_BYTES 0x1p53
#define MAX_FLOPS 0x1p70

int tw_model_run(const struct tw_model *model, bool backward, const struct tw_call *call,
		 struct tw_work *work)
{
	int (*run)(const struct tw_call *, struct tw_work *) = backward ? model->backward :
									  model->forward;
	int status;

	tw_work_clear(work);
	work->model = model;
	work->backward = backward;
	work->unit = model->unit;
	if (!run)
		return tw_work_fail(work, "backward pass has no cost model");
	if (call->reason)
		return tw_work_fail(work, call->reason);
	if (!call->count)
		return tw_work_fail(work, "inputs not recorded");
	status = run(call, work);
	if (!status && (work->bytes > MAX_BYTES || work->flops > MAX_FLOPS))
		status = tw_work_fail(work, "sizes exceed any memory");
	if (status)
		work->flops = work->bytes = NAN;
	return status;
}

const char *tw_compute_spec(const struct tw_work *work, char *text)
{
	text[0] = '\0';
	if (work->unit != TW_UNIT_NONE && work->precision[0])
		snprintf(text, 32, "%s_%s", work->unit == TW_UNIT_MATRIX ? "matrix" : "vector",
			 work->precision);
	return text;
}
