/*
 * What follows from a trace and every analysis needs: the call tree of the host, the GPU work of
 * the view with its launches, and the names of processes and threads.  Made once, then read-only.
 */
#ifndef TW_DERIVE_DERIVED_H
#define TW_DERIVE_DERIVED_H

#include "data/tables.h"
#include "derive/autograd.h"
#include "derive/graphs/graphs.h"
#include "derive/names.h"
#include "derive/steps.h"

/*
 * Events, host nodes and GPU events have numbers of 32 bits here, which halves the memory of most
 * that is derived; a trace with more events (1.3 TB of JSON) is refused.
 */
#define TW_MAX_EVENTS ((uint64_t)UINT32_MAX - 1)
#define TW_NONE UINT32_MAX

/*
 * Host events (operations, runtime and driver calls) in order of thread and start; an event's
 * descendants follow it directly.
 */
struct tw_host {
	uint64_t count;
	uint64_t all; /* nodes with those of graph replays, which stand behind: derive/graphs/graphs.h */
	uint32_t *event;
	uint32_t *parent; /* node, TW_NONE: top level */
	uint64_t depth;	  /* of the deepest node */
	uint32_t *op[2];  /* of a deep tree, by node: tw_launching_op(), without and with
				    * passing over "execute"; else NULL */
	uint32_t *call;	  /* nodes of runtime and driver calls, in order */
	uint64_t call_count;
	uint8_t *name;		   /* by text id: enum tw_host_name */
	struct tw_quality quality; /* found while building it */
};

enum tw_host_name {
	TW_NAMES_NODES = 1,  /* host events have this name */
	TW_NAMES_LAUNCH = 2, /* calls of this name should have GPU work */
	/* As TW_HOST_COMMUNICATION and so on. */
	TW_NAMES_COMMUNICATION = 4,
	TW_NAMES_PEER_COPY = 8,
	TW_NAMES_GRAPH = 16,   /* calls of this name launch a GPU graph */
	TW_NAMES_CAPTURE = 32, /* calls of this name begin the capture of one */
};

enum tw_bucket { TW_COMPUTE, TW_COMMUNICATION, TW_COPY, TW_BUCKETS };

/* A stream of a device. */
struct tw_queue {
	tw_code device, stream;
};

/* Work outside the view, in the windows of a view by launch, on its clock; by start. */
struct tw_other {
	int64_t start_ns, end_ns;
	uint32_t queue;
	bool launched; /* its launch is recorded */
};

/* GPU events of the view with usable times, in order of start, then of the input. */
struct tw_gpu {
	uint64_t count;
	uint64_t allocated; /* entries of the columns */
	uint32_t *event;
	/* On the clock of the view, cut by it and by --clip-overruns. */
	int64_t *start_ns, *end_ns;
	uint32_t *launch;	 /* host node of the launch call, TW_NONE: not recorded */
	uint32_t *origin;	 /* the same, in a graph the captured call; NULL: as launch */
	uint32_t *graph_node;	 /* of the graphs' nodes, TW_NONE: in no graph; NULL: none is */
	uint32_t *queue;	 /* index into queues */
	uint8_t *bucket;	 /* enum tw_bucket */
	uint16_t *known_name;	 /* by text id: 1 + row of tw_kernel_names, 0: none */
	uint8_t *category;	 /* by text id: enum tw_kernel_category, communication aside */
	struct tw_queue *queues; /* in order of device, stream */
	uint32_t queue_count;
	struct tw_other *others;
	uint64_t other_count, others_allocated;
	struct tw_quality quality; /* found while building it */
};

/* Ranges of the host that communicate, by track; an outer one before those that it holds. */
struct tw_comm_ranges {
	uint32_t count;
	size_t room;
	uint32_t *event;
	uint32_t *parent; /* the range around it, TW_NONE: none */
};

struct tw_derive_options {
	bool clip_overruns; /* end a kernel that runs over whole later ones at the next start */
	bool autograd;	    /* pair forward with backward operations */
	bool accept_count; /* captures whose calls agree in number and kind alone count everywhere */
	unsigned threads;  /* 0: one */
	struct tw_view_options view;
	const struct trawl_allocator *allocator; /* NULL: the trace's */
};

struct tw_derived {
	const struct trawl_trace *trace;
	const struct trawl_allocator *allocator;
	struct tw_view view;
	struct tw_view host_view; /* of the host, where its time is another: by launch */
	struct tw_steps steps;
	struct tw_host host;
	struct tw_gpu gpu;
	struct tw_comm_ranges comm_ranges;
	struct tw_names names;
	struct tw_graphs graphs;
	struct tw_autograd autograd; /* where it was asked for */
	struct tw_quality quality;   /* found here, beside the trace's own */
};

/* `trace` must outlive *out. */
int tw_derive(struct tw_derived **out, const struct trawl_trace *trace,
	      const struct tw_derive_options *options, struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_derived_free(struct tw_derived *derived);

/* ---- the steps of tw_derive, each in a file of its own */
int tw_host_build(struct tw_derived *d) TRAWL_MUST_CHECK;
int tw_gpu_build(struct tw_derived *d, bool clip_overruns) TRAWL_MUST_CHECK;
int tw_links_build(struct tw_derived *d) TRAWL_MUST_CHECK;
/* Kinds of GPU work, which follow from launches too. */
int tw_communication_build(struct tw_derived *d) TRAWL_MUST_CHECK;
/* Counts what links of the view lack, once that has been applied. */
int tw_links_count(struct tw_derived *d) TRAWL_MUST_CHECK;
/* Counts what looks like GPU work and is not known as such. */
int tw_unknown_count(struct tw_derived *d) TRAWL_MUST_CHECK;
/* Of links by correlation: again, where several processes share ids. */
int tw_links_by_process(struct tw_derived *d, uint32_t part) TRAWL_MUST_CHECK;

/* By (process, correlation), for traces where that is exact. */
int tw_links_exact(struct tw_derived *d) TRAWL_MUST_CHECK;

/* Events of the host; the caller frees `event`, of room + 1 entries, in case of a failure too. */
struct tw_by_thread {
	uint32_t *event;
	uint64_t count, room;
};

/*
 * Those that is_it() chooses, each once: those of a thread together, in order of start, an outer one before
 * those that it holds.  0, or -1 when out of memory.
 */
typedef bool tw_is_event(const struct trawl_trace *trace, uint64_t event);
int tw_order_by_thread(const struct tw_derived *derived, tw_is_event *is_it,
		       struct tw_by_thread *out, struct tw_quality *quality,
		       const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* Whether a correlation or External id is one. */
static inline bool tw_is_link_id(tw_code id)
{
	return id != TW_CODE_NONE && id != 0;
}

/* What is known of a GPU event by its name, NULL: nothing. */
static inline const struct tw_kernel_name *tw_gpu_known(const struct tw_derived *d, uint64_t g)
{
	unsigned row = d->gpu.known_name[d->trace->events.name[d->gpu.event[g]]];

	return row ? &tw_kernel_names[row - 1] : NULL;
}

/* The category of a kernel: enum tw_kernel_category. */
static inline unsigned tw_gpu_category(const struct tw_derived *d, uint64_t g)
{
	const struct tw_kernel_name *known = tw_gpu_known(d, g);

	if (d->gpu.bucket[g] == TW_COMMUNICATION)
		return TW_KERNEL_CATEGORY_COMMUNICATION;
	if (known && known->class == TW_KERNEL_COPY)
		return TW_KERNEL_CATEGORY_COPY;
	if (known && known->class == TW_KERNEL_FILL)
		return TW_KERNEL_CATEGORY_FILL;
	return d->gpu.category[d->trace->events.name[d->gpu.event[g]]];
}

/* Whether there is GPU work: a window without it in a trace that has some is idle time. */
static inline bool tw_has_gpu(const struct tw_derived *d)
{
	return d->gpu.count || (d->view.limited && d->gpu.allocated);
}

/* The view that host events are clipped by. */
static inline const struct tw_view *tw_host_view(const struct tw_derived *d)
{
	return d->steps.by_launch ? &d->host_view : &d->view;
}

/* By GPU event the host node that it is charged to: of a node of a graph its captured call, if known. */
static inline const uint32_t *tw_gpu_origins(const struct tw_derived *d)
{
	return d->gpu.origin ? d->gpu.origin : d->gpu.launch;
}

/* Whether a GPU event is charged to what a capture, or an eager run, says of its graph. */
static inline bool tw_is_replayed(const struct tw_derived *d, uint64_t g)
{
	return d->gpu.origin && d->gpu.origin[g] != d->gpu.launch[g];
}

/* Class of a host node. */
static inline enum trawl_class tw_node_class(const struct tw_derived *d, uint64_t node)
{
	return tw_class(d->trace, d->host.event[node]);
}

/* Whether a host node is a call that should have GPU work, by its name. */
static inline bool tw_is_launch_call(const struct tw_derived *d, uint64_t node)
{
	return tw_class_is_launch(tw_node_class(d, node)) &&
	       d->host.name[d->trace->events.name[d->host.event[node]]] & TW_NAMES_LAUNCH;
}

/*
 * Whether a call of the driver is within one of the runtime with its correlation id: the runtime
 * hands on to the driver, and both are one launch.
 */
bool tw_is_inner_call(const struct tw_derived *d, uint64_t node);

/* When a host node began: of a node of a replay its graph launch. */
static inline int64_t tw_launch_ns(const struct tw_derived *d, uint32_t node)
{
	return d->trace->events.start_ns[d->host.event[tw_graph_call(d, node)]];
}

/*
 * The operation that a launch call belongs to: the nearest above it, TW_NONE when there is none.
 * An operation named "execute" is skipped: it is a whole program.
 */
uint64_t tw_launching_op(const struct tw_derived *d, uint64_t launch, bool pass_execute);

#endif
