#include "model/work.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void tw_work_init(struct tw_work *work, const struct trawl_allocator *allocator)
{
	memset(work, 0, sizeof(*work));
	tw_str_init(&work->texts, allocator);
	tw_work_clear(work);
}

void tw_work_release(struct tw_work *work)
{
	tw_str_release(&work->texts);
}

void tw_work_clear(struct tw_work *work)
{
	work->flops = work->bytes = NAN;
	work->at_least = false;
	work->unit = TW_UNIT_NONE;
	work->precision = "";
	work->reason = NULL;
	work->parameter_count = 0;
	tw_str_clear(&work->texts);
}

int tw_work_set(struct tw_work *work, double flops, double bytes, const struct tw_operand *operand)
{
	work->flops = flops;
	work->bytes = bytes;
	if (!work->precision[0])
		work->precision = tw_precision(operand);
	return 0;
}

/* Begins a parameter whose text is what is appended until end(). */
static struct tw_parameter *begin(struct tw_work *work, const char *name)
{
	struct tw_parameter *p = &work->parameters[work->parameter_count];

	/* sheets.def has all parameters of a model. */
	assert(work->parameter_count + 1 < TW_MAX_PARAMETERS);
	if (work->parameter_count + 1 < TW_MAX_PARAMETERS)
		work->parameter_count++;
	p->name = name;
	p->at = work->texts.len;
	return p;
}

static void end(struct tw_work *work, struct tw_parameter *p)
{
	p->len = work->texts.len - p->at;
}

/* An integer that may be too large for int64; NaN is None. */
void tw_param_integer(struct tw_work *work, const char *name, double value)
{
	struct tw_parameter *p = begin(work, name);

	if (isnan(value))
		tw_str_add_cstr(&work->texts, "None");
	else if (fabs(value) < 0x1p62)
		tw_str_add_int(&work->texts, (int64_t)value);
	else
		tw_str_add_real(&work->texts, value);
	end(work, p);
}

void tw_param_integers(struct tw_work *work, const struct tw_number *list)
{
	for (; list->name; list++)
		tw_param_integer(work, list->name, list->value);
}

/* As Python writes a float: with a point. */
void tw_param_real(struct tw_work *work, const char *name, double value)
{
	struct tw_parameter *p = begin(work, name);

	if (isnan(value))
		tw_str_add_cstr(&work->texts, "None");
	else if (value == floor(value) && fabs(value) < 1e15)
		tw_str_add_real_fixed(&work->texts, value, 1);
	else
		tw_str_add_real(&work->texts, value);
	end(work, p);
}

void tw_param_text(struct tw_work *work, const char *name, const char *text)
{
	struct tw_parameter *p = begin(work, name);

	tw_str_add_cstr(&work->texts, text);
	end(work, p);
}

void tw_param_bool(struct tw_work *work, const char *name, bool value)
{
	tw_param_text(work, name, value ? "True" : "False");
}

void tw_param_none(struct tw_work *work, const char *name)
{
	tw_param_text(work, name, "None");
}

/* Between brackets such as "(" and ")". */
static void add_sizes(struct tw_work *work, const char *name, const struct tw_dims *dims,
		      const char *open, const char *close)
{
	struct tw_parameter *p = begin(work, name);
	unsigned i;

	tw_str_add_cstr(&work->texts, open);
	for (i = 0; i < dims->rank; i++) {
		tw_str_add_cstr(&work->texts, i ? ", " : "");
		tw_str_add_int(&work->texts, dims->size[i]);
	}
	tw_str_add_cstr(&work->texts, close);
	end(work, p);
}

void tw_param_dims(struct tw_work *work, const char *name, const struct tw_dims *dims)
{
	add_sizes(work, name, dims, "(", dims->rank == 1 ? ",)" : ")");
}

void tw_param_list(struct tw_work *work, const char *name, const struct tw_dims *list)
{
	add_sizes(work, name, list, "[", "]");
}

void tw_param_strides(struct tw_work *work, const char *name, const struct tw_operand *operand)
{
	if (operand && operand->strides_recorded)
		tw_param_dims(work, name, &operand->strides);
	else
		tw_param_text(work, name, operand ? "" : "None");
}

void tw_param_types(struct tw_work *work, const char *name, const struct tw_operand *const *list,
		    size_t count)
{
	struct tw_parameter *p = begin(work, name);
	size_t i;

	tw_str_add_char(&work->texts, '(');
	for (i = 0; i < count; i++) {
		tw_str_add_cstr(&work->texts, i ? ", " : "");
		if (!list[i]) {
			tw_str_add_cstr(&work->texts, "None");
			continue;
		}
		tw_str_add_char(&work->texts, '\'');
		tw_str_add(&work->texts, list[i]->type.ptr, list[i]->type.len);
		tw_str_add_char(&work->texts, '\'');
	}
	tw_str_add_cstr(&work->texts, count == 1 ? ",)" : ")");
	end(work, p);
}

void tw_param_in_out(struct tw_work *work, const struct tw_operand *in,
		     const struct tw_operand *out)
{
	tw_param_dims(work, "op_shape", &in->dims);
	TW_PARAM_TYPES(work, "dtype_in_out", in, out);
	tw_param_strides(work, "stride_input", in);
	tw_param_strides(work, "stride_output", out);
}

bool tw_param_find(const struct tw_work *work, const char *name, struct tw_slice *text)
{
	unsigned i;

	*text = (struct tw_slice){ "", 0 };
	for (i = 0; i < work->parameter_count; i++) {
		if (strcmp(work->parameters[i].name, name))
			continue;
		*text = (struct tw_slice){ work->texts.ptr + work->parameters[i].at,
					   work->parameters[i].len };
		return true;
	}
	return false;
}
