/* The work of a call that is written down: trawl/model.h. */
#include "base/alloc.h"
#include "model/call_text.h"
#include "model/model.h"
#include "model/roofline.h"
#include "text/suggestions.h"

#include <stdio.h>
#include <string.h>

struct trawl_work {
	struct tw_arena arena; /* what the call points to */
	struct tw_call call;
	struct tw_work work;
	char spec[32];
};

static const struct tw_model *model_of(const char *operation)
{
	return tw_model_of(operation, strlen(operation));
}

int trawl_model_check(const char *operation, struct trawl_error *err)
{
	struct tw_nearest nearest = { .count = 0 };
	size_t i;

	if (model_of(operation))
		return 0;
	for (i = 0; i < tw_op_model_count; i++)
		if (model_of(tw_op_models[i].op))
			tw_nearest_add(&nearest, operation, tw_op_models[i].op);
	return trawl_error_set(err, TRAWL_EUSAGE,
			       "no model of '%.100s'; nearest: %s, %s, %s; "
			       "'trawl model --list' lists all",
			       operation, nearest.name[0], nearest.name[1], nearest.name[2]);
}

static int run(struct trawl_work *w, const struct trawl_call *call, bool backward,
	       struct trawl_error *err)
{
	int status = trawl_model_check(call->operation, err);

	if (!status && (!call->dims || !call->types))
		status = trawl_error_set(err, TRAWL_EUSAGE, "missing option --%s",
					 call->dims ? "dtype" : "dims");
	if (!status)
		status = tw_call_of_text(call, &w->arena, &w->call, err);
	if (!status && tw_model_run(model_of(call->operation), backward, &w->call, &w->work))
		status = trawl_error_set(err, TRAWL_ENODATA, "%s: %s", call->operation,
					 w->work.reason);
	if (!status && w->work.texts.failed)
		status = tw_no_memory(err);
	if (!status)
		tw_compute_spec(&w->work, w->spec);
	return status;
}

int trawl_work_new(struct trawl_work **out, const struct trawl_call *call, bool backward,
		   struct trawl_error *err)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct trawl_work *w = tw_alloc_array(a, 1, sizeof(*w));
	struct trawl_error own;
	int status;

	err = err ? err : &own;
	*out = NULL;
	if (!w)
		return tw_no_memory(err);
	tw_arena_init(&w->arena, a);
	tw_work_init(&w->work, a);
	status = run(w, call, backward, err);
	if (status)
		trawl_work_free(w);
	else
		*out = w;
	return status;
}

void trawl_work_free(struct trawl_work *w)
{
	if (!w)
		return;
	tw_work_release(&w->work);
	tw_arena_release(&w->arena);
	tw_free(trawl_allocator_default(), w, sizeof(*w));
}

struct trawl_work_figures trawl_work_figures(const struct trawl_work *w, int64_t time_ns)
{
	struct tw_rates rates;

	tw_rates(&rates, w->work.flops, w->work.bytes, time_ns);
	return (struct trawl_work_figures){
		.flops = w->work.flops,
		.bytes = w->work.bytes,
		.more_bytes = w->work.at_least,
		.flops_per_byte = rates.flops_per_byte,
		.tflops_per_s = rates.tflops_per_s,
		.tb_per_s = rates.tb_per_s,
		.spec = w->spec,
	};
}

size_t trawl_work_parameters(const struct trawl_work *w)
{
	return w->work.parameter_count;
}

const char *trawl_work_parameter(const struct trawl_work *w, size_t index, const char **value,
				 size_t *value_len)
{
	const struct tw_parameter *p = &w->work.parameters[index];

	*value = p->len ? w->work.texts.ptr + p->at : "";
	*value_len = p->len;
	return p->name;
}

int trawl_work_roofline(const struct trawl_work *w, const char *platform, int64_t time_ns,
			struct trawl_roofline *out, struct trawl_error *err)
{
	struct tw_platform p;
	struct tw_roofline r;
	int status = tw_platform_open(platform, NULL, &p, err);

	if (status)
		return status;
	tw_roofline(&r, &p, w->work.flops, w->work.bytes, w->spec, time_ns);
	*out = (struct trawl_roofline){
		.peak = tw_platform_peak(&p, w->spec, NULL),
		.bandwidth = p.mem_bw_gbps,
		.time_us = r.time_us,
		.bound = r.bound,
		.percent = r.percent,
		.memory_us = r.memory_us,
		.memory_percent = r.memory_percent,
		.over = r.anomaly,
		.unverified = r.mark == TW_MARK_UNVERIFIED,
	};
	snprintf(out->platform, sizeof(out->platform), "%s", p.name);
	return 0;
}
