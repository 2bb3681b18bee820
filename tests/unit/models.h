/*
 * Cost models in tests: a call written as the profiler writes it, and what its model says.
 *
 *	model("aten::mm", "[[8, 16], [16, 4]]", "['float', 'float']", "['', '']");
 *	expect_work(1024, 896, "matrix_fp32");
 *	expect_parameter("M", "8");
 *
 * Lists are written with single quotes, which become double ones.
 */
#ifndef TRAWL_TEST_MODELS_H
#define TRAWL_TEST_MODELS_H

#include "model/model.h"

/* Runs the forward model of an operation; the result is what the expect_ functions look at. */
void model(const char *op, const char *dims, const char *types, const char *concrete);
/* The same with strides, written as shapes are. */
void model_strided(const char *op, const char *dims, const char *types, const char *strides,
		   const char *concrete);
/* The same for its backward pass. */
void model_backward(const char *op, const char *dims, const char *types, const char *concrete);
/* For calls that need more than their arguments: changes the call before the model runs. */
void model_with(const char *op, const char *dims, const char *types, const char *concrete,
		void (*change)(struct tw_call *call, const void *context), const void *context);

/* FLOPs and bytes to 12 digits, NaN: must be unknown; `spec` as tw_compute_spec() has it. */
void expect_work(double flops, double bytes, const char *spec);
void expect_parameter(const char *name, const char *text);
/* The model must have failed, with a reason that contains `part`. */
void expect_failure(const char *part);

/* Whether the parameter is there and has no text. */
void expect_empty_parameter(const char *name);

double model_flops(void);
double model_bytes(void);

#endif
