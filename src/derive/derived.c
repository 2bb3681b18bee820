#include "derive/derived.h"

#include "base/alloc.h"
#include "os/thread.h"

#include <string.h>

struct steps {
	struct tw_derived *derived;
	const struct tw_derive_options *options;
	int status[3];
};

/* Names, call tree and GPU work do not need each other. */
static void run_first(void *context, size_t i)
{
	struct steps *steps = context;
	struct tw_derived *d = steps->derived;

	if (i == 0)
		steps->status[i] = tw_host_build(d);
	else if (i == 1)
		steps->status[i] = tw_gpu_build(d, steps->options->clip_overruns);
	else
		steps->status[i] = tw_names_build(&d->names, d->trace);
}

/* What needs the call tree; links need GPU work too. */
static void run_second(void *context, size_t i)
{
	struct steps *steps = context;
	struct tw_derived *d = steps->derived;

	if (i == 0)
		steps->status[i] =
			tw_links_build(d) || tw_graphs_build(d, steps->options->accept_count) ||
					tw_communication_build(d) ||
					tw_steps_apply(d, &steps->options->view) ||
					tw_links_count(d) ?
				-1 :
				tw_unknown_count(d);
	else if (steps->options->autograd)
		steps->status[i] = tw_autograd_build(&d->autograd, d);
}

static int build_all(struct tw_derived *d, const struct tw_derive_options *options)
{
	struct steps steps = { .derived = d, .options = options };
	unsigned threads = options->threads ? options->threads : 1;

	tw_quality_init(&d->quality);
	tw_quality_init(&d->host.quality);
	tw_quality_init(&d->gpu.quality);
	tw_parallel(threads, 3, run_first, &steps);
	if (steps.status[0] || steps.status[1] || steps.status[2])
		return -1;
	tw_quality_append(&d->quality, &d->gpu.quality, 0);
	tw_quality_append(&d->quality, &d->host.quality, 0);
	tw_parallel(threads, 2, run_second, &steps);
	return steps.status[0] || steps.status[1] ? -1 : tw_graphs_add_nodes(d);
}

int tw_derive(struct tw_derived **out, const struct trawl_trace *trace,
	      const struct tw_derive_options *options, struct trawl_error *err)
{
	const struct trawl_allocator *allocator = options->allocator ? options->allocator :
								       trace->allocator;
	struct tw_derived *d = tw_alloc_array(allocator, 1, sizeof(*d));
	int status;

	*out = NULL;
	if (!d)
		return tw_no_memory(err);
	if (trace->events.count + trace->events.borrowed > TW_MAX_EVENTS) {
		tw_free(allocator, d, sizeof(*d));
		return trawl_error_set(err, TRAWL_ELIMIT,
				       "%llu events exceed the maximum of %llu: record fewer steps",
				       (unsigned long long)trace->events.count,
				       (unsigned long long)TW_MAX_EVENTS);
	}
	d->trace = trace;
	d->allocator = allocator;
	status = tw_view_init(&d->view, trace, &options->view, err);
	if (!status && (build_all(d, options) || d->view.label.failed))
		status = tw_no_memory(err);
	if (status) {
		tw_derived_free(d);
		return status;
	}
	/* In a part of the trace the GPU may just be idle. */
	if (!d->gpu.count && !d->view.label.len)
		tw_quality_add(&d->quality, TW_DEFECT_no_gpu_events, 1, -1, -1);
	*out = d;
	return 0;
}

void tw_derived_free(struct tw_derived *d)
{
	const struct trawl_allocator *a;
	struct tw_gpu *gpu;

	if (!d)
		return;
	a = d->allocator;
	gpu = &d->gpu;
	tw_view_release(&d->view);
	tw_steps_release(d);
	tw_names_release(&d->names);
	tw_autograd_release(&d->autograd);
	tw_graphs_release(d);
	tw_free(a, d->host.event, (d->host.all + 1) * sizeof(*d->host.event));
	tw_free(a, d->host.parent, (d->host.all + 1) * sizeof(*d->host.parent));
	tw_free(a, d->host.op[0], (d->host.count + 1) * sizeof(*d->host.op[0]));
	tw_free(a, d->host.op[1], (d->host.count + 1) * sizeof(*d->host.op[0]));
	tw_free(a, d->comm_ranges.event, d->comm_ranges.room * sizeof(*d->comm_ranges.event));
	tw_free(a, d->comm_ranges.parent,
		(d->comm_ranges.count + 1) * sizeof(*d->comm_ranges.parent));
	tw_free(a, d->host.call, (d->host.call_count + 1) * sizeof(*d->host.call));
	tw_free(a, d->host.name, d->trace->texts.count);
	tw_free(a, gpu->event, (gpu->allocated + 1) * sizeof(*gpu->event));
	tw_free(a, gpu->start_ns, (gpu->allocated + 1) * sizeof(*gpu->start_ns));
	tw_free(a, gpu->end_ns, (gpu->allocated + 1) * sizeof(*gpu->end_ns));
	tw_free(a, gpu->launch, (gpu->allocated + 1) * sizeof(*gpu->launch));
	tw_free(a, gpu->origin, (gpu->allocated + 1) * sizeof(*gpu->origin));
	tw_free(a, gpu->graph_node, (gpu->allocated + 1) * sizeof(*gpu->graph_node));
	tw_free(a, gpu->queue, (gpu->allocated + 1) * sizeof(*gpu->queue));
	tw_free(a, gpu->bucket, (gpu->allocated + 1) * sizeof(*gpu->bucket));
	tw_free(a, gpu->known_name, d->trace->texts.count * sizeof(*gpu->known_name));
	tw_free(a, gpu->category, d->trace->texts.count);
	tw_free(a, gpu->queues, (d->trace->track_count + 1) * sizeof(*gpu->queues));
	tw_free(a, d, sizeof(*d));
}
