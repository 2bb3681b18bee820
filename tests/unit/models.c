#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models.h"

static struct tw_work work;
static struct tw_call call;
static int status;

/* With double quotes, in memory of its own that ends where the text ends. */
static struct tw_slice json(const char *text, char *buffer, size_t size)
{
	size_t len = strlen(text), i;

	assert_true(len < size);
	for (i = 0; i < len; i++)
		buffer[i] = text[i] == '\'' ? '"' : text[i];
	return (struct tw_slice){ buffer, len };
}

static const char *with_strides = "";

/* src/model/sheets.def has every parameter, so that the columns of a table are always the same. */
static void expect_declared(const struct tw_model *found)
{
	const char *const *declared;
	unsigned i;

	/* What is in no table has the parameters that it has. */
	for (i = 0; i < work.parameter_count && found->sheet[0]; i++) {
		for (declared = tw_sheet_parameters(found->sheet); *declared; declared++)
			if (!strcmp(*declared, work.parameters[i].name))
				break;
		if (!*declared)
			fail_msg("src/model/sheets.def: %s has no %s, of model %s", found->sheet,
				 work.parameters[i].name, found->name);
	}
}

static void run(const char *op, bool backward, const char *dims, const char *types,
		const char *concrete, void (*change)(struct tw_call *, const void *),
		const void *context)
{
	static char buffer[4][8192];
	const struct tw_model *found = tw_model_of(op, strlen(op));
	struct tw_call_texts texts = {
		.name = { op, strlen(op) },
		.dims = json(dims, buffer[0], sizeof(buffer[0])),
		.types = json(types, buffer[1], sizeof(buffer[1])),
		.concrete = json(concrete, buffer[2], sizeof(buffer[2])),
		.strides = json(with_strides, buffer[3], sizeof(buffer[3])),
	};

	if (!found)
		fail_msg("%s has no model", op);
	if (!work.texts.allocator)
		tw_work_init(&work, trawl_allocator_default());
	tw_call_read(&call, &texts);
	if (change)
		change(&call, context);
	status = tw_model_run(found, backward, &call, &work);
	expect_declared(found);
}

void model(const char *op, const char *dims, const char *types, const char *concrete)
{
	run(op, false, dims, types, concrete, NULL, NULL);
}

void model_strided(const char *op, const char *dims, const char *types, const char *strides,
		   const char *concrete)
{
	with_strides = strides;
	run(op, false, dims, types, concrete, NULL, NULL);
	with_strides = "";
}

void model_backward(const char *op, const char *dims, const char *types, const char *concrete)
{
	run(op, true, dims, types, concrete, NULL, NULL);
}

void model_with(const char *op, const char *dims, const char *types, const char *concrete,
		void (*change)(struct tw_call *call, const void *context), const void *context)
{
	run(op, false, dims, types, concrete, change, context);
}

static void expect_number(const char *what, double found, double expected)
{
	bool same = isnan(expected) ? isnan(found) :
				      fabs(found - expected) <= 1e-12 * fabs(expected);

	if (!same)
		fail_msg("%s of %.*s: %.17g, expected %.17g", what, (int)call.name.len,
			 call.name.ptr, found, expected);
}

void expect_work(double flops, double bytes, const char *spec)
{
	char text[32];

	if (status)
		fail_msg("no result: %s", work.reason);
	expect_number("FLOPs", work.flops, flops);
	expect_number("bytes", work.bytes, bytes);
	assert_string_equal(tw_compute_spec(&work, text), spec);
}

void expect_parameter(const char *name, const char *text)
{
	struct tw_slice found;

	if (!tw_param_find(&work, name, &found))
		fail_msg("no parameter %s", name);
	if (found.len != strlen(text) || memcmp(found.ptr, text, found.len))
		fail_msg("%s is %.*s, expected %s", name, (int)found.len, found.ptr, text);
}

void expect_empty_parameter(const char *name)
{
	struct tw_slice found;

	if (!tw_param_find(&work, name, &found) || found.len)
		fail_msg("%s is %.*s, expected nothing", name, (int)found.len, found.ptr);
}

void expect_failure(const char *part)
{
	if (!status)
		fail_msg("%.*s has a result", (int)call.name.len, call.name.ptr);
	if (!strstr(work.reason, part))
		fail_msg("reason: %s; expected: %s", work.reason, part);
	assert_true(isnan(work.flops) && isnan(work.bytes));
}

double model_flops(void)
{
	return work.flops;
}

double model_bytes(void)
{
	return work.bytes;
}
