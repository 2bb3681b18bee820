/*
 * Cost models without a trace: how much work an operation is, by its arguments alone; and what
 * GPUs can do.
 *
 *	struct trawl_call call = { "aten::mm", .dims = "16x8,8x4", .types = "bf16" };
 *
 *	trawl_work_new(&work, &call, false, &err);
 *	printf("%g FLOPs\n", trawl_work_figures(work, 0).flops);
 */
#ifndef TRAWL_MODEL_H
#define TRAWL_MODEL_H

#include "trawl/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- operations */

/* Whether there is a model of an operation: TRAWL_EUSAGE with the nearest names that have one. */
TRAWL_API int trawl_model_check(const char *operation, struct trawl_error *err) TRAWL_MUST_CHECK;
/* The operations that have one: the table "models", to be freed. */
TRAWL_API int trawl_models(struct trawl_table **out, struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * The arguments of a call by position, as PyTorch's profiler numbers them, "" or "-" for what is no
 * tensor; or each as the JSON list that it writes.
 */
struct trawl_call {
	const char *operation; /* as the profiler records it: "aten::mm" */
	const char *dims;      /* shapes: "8944x1024,1024x2816" */
	const char *types;     /* of all tensors, "bf16", or of each: "fp8,fp8,float" */
	const char *strides;   /* as shapes; NULL: dense */
	const char *concrete;  /* values of what is no tensor: ";;[1,1];True"; NULL: not given */
};

struct trawl_work;

/*
 * The work of a call, or of its backward pass.  TRAWL_EUSAGE: there is no model of it, or arguments
 * cannot be understood; TRAWL_ENODATA: they make no sense for it, or do not tell the work.
 */
TRAWL_API int trawl_work_new(struct trawl_work **out, const struct trawl_call *call, bool backward,
			     struct trawl_error *err) TRAWL_MUST_CHECK;
TRAWL_API void trawl_work_free(struct trawl_work *work);

/* NaN where something is not known, or does not follow from what is. */
struct trawl_work_figures {
	double flops;
	double bytes;		       /* between memory and GPU, at least */
	bool more_bytes;	       /* not all operands are among the arguments: more is moved */
	double flops_per_byte;	       /* of bytes above 0 */
	double tflops_per_s, tb_per_s; /* of a time above 0 */
	const char *spec;	       /* unit and precision, "matrix_bf16"; "": not known */
};

/* `time_ns` 0: not known. */
TRAWL_API struct trawl_work_figures trawl_work_figures(const struct trawl_work *work,
						       int64_t time_ns);
/* What they follow from, such as "M": its name, and its value as Python writes it. */
TRAWL_API size_t trawl_work_parameters(const struct trawl_work *work);
TRAWL_API const char *trawl_work_parameter(const struct trawl_work *work, size_t index,
					   const char **value, size_t *value_len);

/* What a GPU needs at least for some work, and what that is of the time it took. */
struct trawl_roofline {
	char platform[80];
	double peak;	       /* TFLOP/s of the spec, TOP/s of integers */
	double bandwidth;      /* of the memory, GB/s */
	double time_us;	       /* NaN: there is no roofline, as the peak or the bytes are unknown */
	const char *bound;     /* "COMPUTE_BOUND", "MEMORY_BOUND", NULL: there is none */
	double percent;	       /* of the roofline; NaN without a time, too */
	double memory_us;      /* the bytes at full bandwidth */
	double memory_percent; /* and what that is of the time */
	bool over;	       /* it took less: the time, the arguments or the platform are wrong */
	bool unverified;       /* the source of the peak or the bandwidth is */
};

/*
 * On a platform by name, or by the path of a JSON file.  `time_ns` 0: not known.  TRAWL_EUSAGE: the
 * platform is not known.
 */
TRAWL_API int trawl_work_roofline(const struct trawl_work *work, const char *platform,
				  int64_t time_ns, struct trawl_roofline *roofline,
				  struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- platforms */

/* Bandwidth, memory and peaks of all known: the table "platforms", to be freed. */
TRAWL_API int trawl_platforms(struct trawl_table **out, struct trawl_error *err) TRAWL_MUST_CHECK;
/* Each figure of one with its source: the table "platform".  TRAWL_EUSAGE: it is not known. */
TRAWL_API int trawl_platform_facts(struct trawl_table **out, const char *platform,
				   struct trawl_error *err) TRAWL_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
