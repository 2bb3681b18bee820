/*
 * What the rules look at: one rank, while its trace is there.  A rule finds the places of its kind
 * of finding and says what would change there; what it says outlives the trace (claims.h).
 */
#ifndef TW_DIAGNOSE_LOOK_H
#define TW_DIAGNOSE_LOOK_H

#include "analysis/analysis.h"
#include "analysis/groups.h"
#include "base/arena.h"
#include "diagnose/claims.h"
#include "derive/graphs/graphs.h"
#include "derive/when.h"
#include "diagnose/edges.h"

#define TW_MOST_TENSORS 8

/* Arguments of an operation, as far as rules ask for them; each distinct one is read once. */
struct tw_shape {
	unsigned tensors; /* of one dimension or more, at most TW_MOST_TENSORS of them */
	struct tw_dims dims[TW_MOST_TENSORS];
	double elements[TW_MOST_TENSORS];
	const struct tw_dtype *type[TW_MOST_TENSORS]; /* NULL: not known */
	double largest, sum;			      /* elements: of the largest tensor, of all */
	double element_bytes; /* of the first operand's type; NaN: not known */
	char precision[8];    /* "bf16"; "": not known */
};

/* An operation with recorded shapes, or a call, and the GPU work that it launched itself. */
struct tw_leaf {
	uint32_t node;		      /* host node, of a node of a graph that of its capture */
	uint32_t first, count;	      /* in look->leaf_gpu */
	int64_t gpu_ns;		      /* sum of durations */
	const struct tw_shape *shape; /* NULL: not recorded */
	const char *op; /* "mul": without "aten::" and a final "_"; "": of another kind */
	const struct tw_op_work *work; /* NULL: no model */
	uint32_t work_node;	       /* the operation that has it: the leaf's, or one around it */
	bool pointwise;
	bool taken; /* belongs to a finding: slow kernels of it are no other one */
};

/* Leaves of a thread, in order of launch. */
struct tw_leaves {
	uint32_t track;
	struct tw_leaf *at;
	uint32_t count;
	struct tw_frame *frames; /* python functions, of threads with leaves; outer ones first */
	uint32_t frame_count;
};

/* A range of the host: a python function, an annotation, an operation. */
struct tw_range {
	int64_t start_ns, end_ns;
	uint32_t event, track;
	uint32_t inner; /* the first range of the kind inside it that is called otherwise; TW_NONE */
};

/* An event of the host; of python functions, what it is in: numbers of frames of its thread, TW_NONE. */
struct tw_frame {
	int64_t start_ns, end_ns;
	uint32_t event, track;
	uint32_t parent;
	uint32_t program; /* the nearest function of the program, itself or around it */
};

/* For qsort(): by track, then start; of those that begin together the longest comes first. */
int tw_frame_order(const void *a, const void *b);

/* Ranges in order of track, then start, the longest first; those inside others of the list left out. */
struct tw_ranges {
	TW_LIST(struct tw_range) list;
};

struct tw_look {
	const struct trawl_trace *trace;
	const struct tw_derived *d;
	const struct tw_modelled *modelled;
	const struct tw_attributions *who;
	const struct tw_when *when;
	const struct tw_platform *platform; /* NULL: not known */
	const struct tw_path_part *part;
	const struct tw_view *view; /* of the host, what is looked at; NULL: all */
	const struct tw_delays *delays;
	struct tw_edge edge;		       /* of the recording */
	const struct trawl_allocator *scratch; /* a scope */
	struct tw_claims *claims;	       /* where the rules put what they find */
	struct tw_arena arena;
	struct tw_groups shapes;   /* texts of shapes and types -> const struct tw_shape * */
	struct tw_call *call;	   /* scratch of reading them */
	struct tw_groups spots;	   /* of all claims: numbers of their places */
	unsigned *kinds;	   /* by text id: enum tw_host_kind, bit 31: asked */
	TW_LIST(uint32_t) ranges;  /* events: python functions, annotations, operations of a kind */
	struct tw_leaves *threads; /* by number of thread of the part */
	uint32_t *leaf_gpu;
	uint32_t *leaf_of;	/* by GPU event: leaf number, over all threads; TW_NONE: none */
	struct tw_leaf *leaves; /* of all threads */
	uint32_t leaf_count;
	uint8_t *backward;   /* by host node: in the backward pass */
	uint32_t *last_copy; /* by host node of a call: the last copy that it launched, + 1 */
	uint32_t *layout_op; /* by host node: the outermost aten::contiguous or clone; NULL: none */
	uint32_t *node_of;   /* by borrowed event: the first node of a replay that has it */
	uint32_t *first_node; /* by track: its first host node; one more than there are tracks */
	uint32_t *caller;     /* by leaf: event of the innermost python function, TW_NONE */
	uint32_t *site;	      /* the same of the program: no file of the framework */
	struct tw_ranges optimizer;
	struct tw_ranges pauses; /* that are claimed, in order */
	bool trains;		 /* it has a backward pass or an optimizer */
	bool failed;
};

/* Kinds of a text of the host, of a node. */
unsigned tw_look_kinds(struct tw_look *look, uint32_t text);
static inline unsigned tw_look_node_kinds(struct tw_look *look, uint32_t node)
{
	return tw_look_kinds(look, look->trace->events.name[look->d->host.event[node]]);
}

/* Whether a node is recorded: those of replays of graphs are not, and have the times of their launch. */
static inline bool tw_is_recorded(const struct tw_look *look, uint32_t node)
{
	return node < look->d->host.count;
}

static inline int64_t tw_look_start(const struct tw_look *look, uint32_t node)
{
	return look->trace->events.start_ns[look->d->host.event[tw_graph_call(look->d, node)]];
}

static inline int64_t tw_look_end(const struct tw_look *look, uint32_t node)
{
	const struct tw_events *e = &look->trace->events;
	uint32_t event = look->d->host.event[tw_graph_call(look->d, node)];

	return e->start_ns[event] + (e->phase[event] == 'X' ? e->dur_ns[event] : 0);
}

static inline uint32_t tw_look_track(const struct tw_look *look, uint32_t node)
{
	return look->trace->events.track[look->d->host.event[tw_graph_call(look->d, node)]];
}

static inline const char *tw_look_name(const struct tw_look *look, uint32_t node)
{
	return look->trace->texts.entries[look->trace->events.name[look->d->host.event[node]]].ptr;
}

static inline int64_t tw_gpu_ns(const struct tw_look *look, uint32_t gpu)
{
	return look->d->gpu.end_ns[gpu] - look->d->gpu.start_ns[gpu];
}

/* Whether any of a time of the host, or a GPU event, is in what is looked at. */
static inline bool tw_is_viewed(const struct tw_look *look, int64_t start_ns, int64_t end_ns)
{
	return !look->view || tw_view_clip(look->view, &start_ns, &end_ns);
}

static inline bool tw_is_gpu_viewed(const struct tw_look *look, uint32_t gpu)
{
	const uint32_t *piece = look->part->rank.piece;

	return !piece || piece[2 * gpu] != TW_NO_POINT;
}

/* The number of a track's thread in the part, UINT32_MAX: it has none. */
uint32_t tw_look_thread(const struct tw_look *look, uint32_t track);

/* The number of the step at a time, from 0, -1: none. */
int64_t tw_step_index(const struct tw_look *look, int64_t time_ns);
/* Whether a time is in a step after the first, where there are several. */
bool tw_in_steady_step(const struct tw_look *look, int64_t time_ns);
/* Whether a node is in a profiler step; all are where there are no steps. */
bool tw_in_step(const struct tw_look *look, int64_t time_ns);
/* The profiler's number of the step at a time, -1: none. */
int64_t tw_step_number(const struct tw_look *look, int64_t time_ns);

/* The nearest node above with this name, or the outermost; TW_NONE. */
uint32_t tw_nearest_above(const struct tw_look *look, uint32_t node, const char *name);
/*
 * By host node the outermost one at or above it with one of some names, up to a NULL; TW_NONE: there is
 * none.  NULL: no node has such a name, or out of memory.
 */
uint32_t *tw_outermost_of(struct tw_look *look, const char *const *names);
/* The same of contiguous copies. */
static inline uint32_t tw_layout_op(const struct tw_look *look, uint32_t node)
{
	return look->layout_op ? look->layout_op[node] : TW_NONE;
}

/* Ranges whose names are of a kind: python functions, annotations, operations. */
void tw_ranges_of_kind(struct tw_look *look, unsigned kinds, struct tw_ranges *out);
/* The range that holds a time of a track, NULL: none. */
const struct tw_range *tw_range_at(const struct tw_ranges *ranges, uint32_t track, int64_t time_ns);

/* GPU events launched on a track in a time: calls visit for each. */
void tw_launched_in(struct tw_look *look, uint32_t track, int64_t from_ns, int64_t to_ns,
		    void (*visit)(void *context, uint32_t gpu), void *context);

/* Shapes and work of an operation. */
const struct tw_shape *tw_shape_of(struct tw_look *look, uint32_t node);

/* How long a leaf's work needs at the share of the roofline that good kernels reach; NaN. */
double tw_target_ns(const struct tw_look *look, double flops, double bytes, const char *spec);

/* The same with another share of the peak: of attention and convolutions, which reach less. */
double tw_target_at(const struct tw_look *look, double flops, double bytes, const char *spec,
		    double math_percent);
double tw_attention_ns(const struct tw_look *look, double flops, double bytes, const char *spec,
		       bool backward);

/* Whether a copy call waits for its copy. */
bool tw_waits_for_copy(struct tw_look *look, uint32_t node, uint32_t gpu);

/* Links of the platform in GB/s; of the host a cautious one where it is not known, of the node 0. */
double tw_host_link(const struct tw_look *look);
double tw_node_link(const struct tw_look *look);

/* The event of the innermost operation around a call, else of the call. */
uint32_t tw_look_op_event(const struct tw_look *look, uint32_t call);
/*
 * The event of the innermost python function around a leaf, TW_NONE: none is recorded; in a graph another
 * number for each module and call site.
 */
static inline uint32_t tw_caller_of(const struct tw_look *look, const struct tw_leaf *leaf)
{
	if (!tw_is_recorded(look, leaf->node))
		return ~look->who->of_node[leaf->node];
	return look->caller ? look->caller[leaf - look->leaves] : TW_NONE;
}
/* Whether a text is a python function of the program. */
bool tw_is_program(struct tw_look *look, uint32_t text);
/* The innermost python function of the program that a track is in for most of a time, NULL. */
const struct tw_frame *tw_function_in(const struct tw_look *look, uint32_t track, int64_t from_ns,
				      int64_t to_ns);
bool tw_in_optimizer(const struct tw_look *look, uint32_t node);

/* Dimensions of a matrix product. */
struct tw_gemm {
	double b, m, n, k, element_bytes;
};
bool tw_gemm_of(const struct tw_look *look, const struct tw_leaf *leaf, struct tw_gemm *gemm);

#endif
