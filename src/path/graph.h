/*
 * The dependencies of a run: what waited for what, within a rank and over ranks.
 *
 * A point is the start or the end of something; its causes are the points that it waited for, each
 * with a delay: replay (scenario.h) gives a point the latest of its causes' times plus their delays.  A
 * point without causes keeps its recorded time.  Unchanged, every point comes out at its recorded
 * time.
 *
 * Points of a rank: GPU event g of the derived trace starts at the rank's first point + 2 g and ends
 * at the next; those of the host follow, thread by thread, in order of time.  After all ranks come
 * hubs, one for each collective: the moment at which all that it waits for have arrived.
 */
#ifndef TW_PATH_GRAPH_H
#define TW_PATH_GRAPH_H

#include "base/list.h"
#include "data/tables.h"
#include "store/pool.h"

#define TW_NO_POINT UINT32_MAX

/* Why a point waited for another.  Of causes that are equally late the first of these binds. */
enum tw_cause {
	TW_CAUSE_EVENT,	     /* a recorded event, or an arrow between nodes of a GPU graph */
	TW_CAUSE_STREAM,     /* the work before it on its stream */
	TW_CAUSE_COLLECTIVE, /* the last rank to arrive */
	TW_CAUSE_SYNC,	     /* GPU work that a call of the host waited for */
	TW_CAUSE_LAUNCH,     /* its launch */
	TW_CAUSE_QUEUE,	     /* the queue of a stream was full */
	TW_CAUSE_HANDOVER,   /* another thread, that handed over to this one */
	TW_CAUSE_BATCH,	     /* a batch that other processes make */
	TW_CAUSE_DURATION,   /* its own start */
	TW_CAUSE_HOST,	     /* what the thread did before */
	TW_CAUSE_WAIT,	     /* inferred: an event whose streams are not recorded */
	TW_CAUSE_INFERRED,   /* inferred: work of another stream that ended just before */
	TW_CAUSES,
};

/* Even: a start; odd: the end of the same. */
enum tw_point_kind {
	TW_POINT_GPU = 0,
	TW_POINT_CALL = 2,   /* of the runtime or driver */
	TW_POINT_OP = 4,     /* an outermost operation of the host */
	TW_POINT_LOADER = 6, /* a range around the next batch */
	TW_POINT_STEP = 8,   /* a profiler step */
	TW_POINT_HUB = 10,
};

enum tw_point_flag {
	TW_POINT_LAUNCHED = 1, /* GPU work whose launch is recorded; a call that launched some */
	TW_POINT_COMMUNICATION = 2, /* GPU work */
	TW_POINT_COPY = 4,	    /* GPU work: a copy or fill, no kernel */
	TW_POINT_FILL = 16,	    /* GPU work: of these a fill */
	TW_POINT_MATCHED = 8,	    /* GPU work: of a collective of several ranks */
	TW_POINT_FETCH = 8, /* of the host: the end of a fetch that waited for other processes */
	TW_POINT_IN_LOADER = 16,     /* of the host, while a batch is loaded */
	TW_POINT_IN_OP = 32,	     /* of the host, inside an operation */
	TW_POINT_IS_ALLOCATION = 64, /* a call that allocates or frees */
	TW_POINT_WAITS = 128,	     /* a call that waits for the GPU */
};

struct tw_path_point {
	int64_t time_ns; /* of GPU work and the host on the common clock */
	uint32_t causes; /* where its causes begin, in order of code, to where those of the next do */
	uint32_t label; /* of the rank's labels */
	uint32_t rank;	/* index of ranks */
	uint16_t bind;	/* which of its causes binds, UINT16_MAX: it has none */
	uint8_t kind;	/* enum tw_point_kind, + 1 for an end */
	uint8_t flags;	/* enum tw_point_flag */
};

/* What a point is called; texts are of the rank's pool, 0: none. */
struct tw_path_label {
	uint32_t name;	    /* of the kernel, call or operation */
	uint32_t operation; /* that launched it, or that it is in */
	uint32_t shapes;    /* of the operation, "((8, 16), ())" */
	uint32_t track;	    /* "stream 7", "thread 42" */
	uint32_t module;    /* around the operation: "nn.Module: Linear_0" */
	uint32_t category;  /* of GPU work: 1 + enum tw_kernel_category */
	uint32_t replayed;  /* 1: of a graph, and a capture has its operation */
};

struct tw_path_event {
	uint32_t first, last; /* GPU events */
	int64_t root; /* the rank in its group that all wait for, or that waits; -1: not told */
};

/* The annotation of a step, on the rank's own clock. */
struct tw_path_step {
	int64_t start_ns, end_ns;
	int64_t number; /* of the profiler, -1: it has none */
};

struct tw_path_thread {
	uint32_t track;	       /* of the trace */
	uint32_t first, count; /* points */
};

/* Counts of what a rank's graph lacks or assumes. */
struct tw_path_notes {
	uint64_t without_launch; /* GPU events whose launch is not recorded */
	uint64_t before_launch;	 /* GPU events that start before their launch */
	uint64_t overlaps;    /* GPU events that start before the one before on their stream ends */
	uint64_t unexplained; /* starts that nothing explains */
	uint64_t refuted;     /* waits whose source ended later */
	uint64_t skewed;      /* starts left out of a collective: later than its end */
	uint64_t incomplete;  /* collectives of which ranks are missing */
	uint64_t not_matched; /* collectives whose ends disagree */
	uint64_t cut;	      /* causes that closed a circle */
};

/* The points of one rank. */
struct tw_path_rank {
	int64_t rank; /* its number, -1: not known */
	enum tw_vendor vendor;
	int64_t late_ns;       /* a start later than this after its launch has another cause */
	uint32_t first, count; /* points */
	uint32_t gpu_count;    /* GPU events */
	/* Of these the first and the last that are at the edge of the recording, no part of the window. */
	uint32_t edge_before, edge_after;
	int32_t *step; /* by GPU event: number of the step that launched it, -1: none */
	struct tw_path_step *steps; /* in order of start */
	uint32_t step_count;
	int64_t shift_ns;     /* what was added to the rank's own times */
	int64_t clock_ns;     /* of that, what its clock is off */
	uint32_t *launch;     /* by GPU event: the start of its launch call, TW_NO_POINT */
	uint32_t *launch_end; /* by GPU event: the end of that call */
	uint32_t *queue;      /* by GPU event: number of its stream */
	uint32_t *target_ns; /* by GPU event: at a share of its roofline, 0: not shorter, or not known */
	uint32_t *device; /* by stream: number of its device */
	uint32_t queue_count, device_count;
	int64_t fetch_ns;   /* of a batch that is there */
	uint32_t *launched; /* GPU events in order of launch */
	uint32_t launched_count;
	struct tw_path_thread *threads;
	uint32_t thread_room;
	uint32_t thread_count;
	/*
	 * Collectives, in the order of those of the job's rank: the GPU event of each that starts
	 * first, and that which ends last.
	 */
	struct tw_path_event *collectives;
	uint32_t collective_count;
	struct tw_path_label *labels;
	uint32_t label_count;
	struct tw_pool texts;
	struct tw_path_notes notes;
	/* Of a part of the recording (diagnose/pieces.h): by point which piece it is in, TW_NO_POINT: none. */
	uint32_t *piece; /* NULL: all is looked at */
	uint32_t piece_count, chosen_steps;
	bool by_time;		/* else by launch */
	int64_t from_ns, to_ns; /* of a part by time, on the rank's own clock */
};

struct tw_path {
	const struct trawl_allocator *allocator;
	struct tw_path_rank *ranks; /* in order of rank */
	uint32_t rank_count;
	struct tw_path_point *points; /* one more than there are, for its `causes` */
	uint32_t point_count;
	uint32_t first_hub;
	double *bus_bytes; /* by hub, from the first: of its collective */
	uint32_t *from;	   /* by cause: the point, TW_NO_POINT: it closed a circle */
	uint32_t *lag;	   /* by cause: its code, and above it its delay: tw_path_delay() */
	uint32_t cause_count;
	TW_LIST(int64_t) long_delays;
	uint32_t inferred, queues; /* causes that are inferred, of full queues */
	uint32_t joins;		   /* points with several causes, or an inferred one */
	uint32_t *order;	   /* all points, causes before what they cause */
	size_t point_room, cause_room, rank_room, hub_room;
	struct tw_path_notes notes; /* of the joined graph */
	/* What scenarios are measured by: the window. */
	bool whole;		       /* work without a recorded launch too */
	int64_t step_first, step_last; /* of steps of these numbers, -1: of all */
	int64_t uncertainty_ns;	       /* of the clocks */
};

/* Sums and differences of times that do not wrap: a trace, or a factor, may claim centuries. */
static inline int64_t tw_ns_sum(int64_t a, int64_t b)
{
	int64_t sum;

	if (!__builtin_add_overflow(a, b, &sum))
		return sum;
	return b < 0 ? -INT64_MAX : INT64_MAX;
}

static inline int64_t tw_ns_between(int64_t from, int64_t to)
{
	int64_t gap;

	return __builtin_sub_overflow(to, from, &gap) ? (to < from ? -INT64_MAX : INT64_MAX) : gap;
}

static inline bool tw_is_end(const struct tw_path_point *point)
{
	return point->kind & 1;
}

static inline unsigned tw_kind_of(const struct tw_path_point *point)
{
	return point->kind & ~1u;
}

static inline bool tw_is_gpu_point(const struct tw_path_point *point)
{
	return point->kind <= TW_POINT_GPU + 1;
}

/* Those that are inferred come last. */
static inline bool tw_is_inferred(enum tw_cause code)
{
	return code == TW_CAUSE_WAIT || code == TW_CAUSE_INFERRED;
}

/* The end of communication whose other ranks are not there. */
static inline bool tw_is_lone_end(const struct tw_path_point *p)
{
	return p->kind == TW_POINT_GPU + 1 &&
	       (p->flags & (TW_POINT_COMMUNICATION | TW_POINT_MATCHED)) == TW_POINT_COMMUNICATION;
}

/* A delay beside the code of a cause: from TW_LONG_DELAY on the number of a long one; or as recorded. */
enum {
	TW_CODE_BITS = 4,
	TW_LEAST_DELAY = -(1 << 27),
	TW_AS_RECORDED = (1 << 27) - 1,
	TW_LONG_DELAY = TW_AS_RECORDED - (1 << 22)
};

/* The delay of a cause of a point. */
static inline int64_t tw_path_delay(const struct tw_path *path, uint32_t point, uint32_t cause)
{
	int32_t delay = (int32_t)path->lag[cause] >> TW_CODE_BITS;

	if (delay < TW_LONG_DELAY)
		return delay;
	return delay == TW_AS_RECORDED ? tw_ns_between(path->points[path->from[cause]].time_ns,
						       path->points[point].time_ns) :
					 path->long_delays.at[delay - TW_LONG_DELAY];
}

static inline enum tw_cause tw_path_code(const struct tw_path *path, uint32_t cause)
{
	return (enum tw_cause)(path->lag[cause] & ((1 << TW_CODE_BITS) - 1));
}

/* The cause that binds, TW_NO_POINT: the point has none. */
static inline uint32_t tw_path_binding(const struct tw_path *path, uint32_t point)
{
	const struct tw_path_point *p = &path->points[point];

	return p->bind == UINT16_MAX ? TW_NO_POINT : p->causes + p->bind;
}

static inline uint32_t tw_gpu_start(const struct tw_path_rank *rank, uint32_t gpu)
{
	return rank->first + 2 * gpu;
}

static inline uint32_t tw_gpu_end(const struct tw_path_rank *rank, uint32_t gpu)
{
	return rank->first + 2 * gpu + 1;
}

/* Whether a part of the recording is looked at. */
static inline bool tw_is_parted(const struct tw_path *path)
{
	return path->rank_count && path->ranks[0].piece;
}

/* Whether a point is in it; those between ranks always are. */
static inline bool tw_in_part(const struct tw_path *path, uint32_t point)
{
	const struct tw_path_rank *r;

	if (point >= path->first_hub)
		return true;
	r = &path->ranks[path->points[point].rank];
	return !r->piece || r->piece[point - r->first] != TW_NO_POINT;
}

/* The part of one rank, on its own clock, before it is joined with those of others. */
struct tw_path_part {
	const struct trawl_allocator *allocator;
	struct tw_path_rank rank; /* its numbers of points begin at 0 */
	struct tw_path_point *points;
	uint32_t *from; /* by cause */
	uint8_t *code;	/* by cause: enum tw_cause */
	uint32_t cause_count;
};

struct tw_derived;
struct tw_modelled;
struct tw_platform;

/*
 * From the whole of a trace, which may go then; its models (NULL: made here) and its platform (NULL:
 * not known).  0 or TRAWL_ENOMEM; to be released in any case.
 */
int tw_path_part_build_with(struct tw_path_part *part, const struct tw_derived *derived,
			    const struct tw_modelled *modelled, const struct tw_platform *platform,
			    const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
/* Without models and platform. */
int tw_path_part_build(struct tw_path_part *part, const struct tw_derived *derived,
		       const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_path_part_release(struct tw_path_part *part);

/* Whether a copy call, a host node of such kinds, waits for the copy that it launched last. */
bool tw_is_blocking_copy(const struct tw_derived *derived, unsigned kinds, uint32_t node,
			 uint32_t gpu);

/* GPU work of two or more ranks that is one collective. */
struct tw_path_member {
	uint32_t rank;	      /* index */
	uint32_t first, last; /* GPU events: that which starts first, that which ends last */
	bool waits;	      /* for the others; of a broadcast only for the root, and so on */
	bool waited_for;
};

struct tw_path_collective {
	uint32_t first, count; /* members */
	double bus_bytes;      /* what the links between ranks carry, NaN: not known */
};

struct tw_path_collectives {
	struct tw_path_collective *items;
	uint32_t count;
	struct tw_path_member *members;
	uint32_t member_count;
	const int64_t *shift_ns; /* by rank: to be added to its times; NULL: nothing */
	int64_t uncertainty_ns;
};

/*
 * Joins the parts of ranks, of the same allocator, which are taken over also when it fails: their
 * arrays are empty then.
 * `collectives` NULL: none.  0 or TRAWL_ENOMEM.
 */
int tw_path_join(struct tw_path **out, struct tw_path_part *parts, uint32_t count,
		 const struct tw_path_collectives *collectives,
		 const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
/* Only labels and texts of ranks stay. */
void tw_path_drop_points(struct tw_path *path);
void tw_path_free(struct tw_path *path);

#endif
