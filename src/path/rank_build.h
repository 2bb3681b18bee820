/*
 * One rank's part of the graph while it is built, from its derived trace, the whole of it.  All
 * numbers of points are the rank's own, from 0.
 */
#ifndef TW_PATH_RANK_BUILD_H
#define TW_PATH_RANK_BUILD_H

#include "derive/derived.h"
#include "path/graph.h"

struct tw_path_edge {
	uint32_t point, from;
	enum tw_cause code;
};

/* Threads of one group hand work to each other. */
struct tw_rank_build {
	const struct tw_derived *d;
	const struct trawl_allocator *scratch;	 /* a scope: nothing needs to be freed */
	const struct trawl_allocator *allocator; /* of what stays */
	struct tw_path_rank *rank;
	const struct tw_delays *delays;	      /* of the vendor */
	TW_LIST(struct tw_path_point) points; /* of `allocator`: they stay */
	TW_LIST(struct tw_path_edge) edges;
	unsigned *kinds;       /* by text id of host events: enum tw_host_kind, asked once */
	uint32_t *start_of;    /* by host node: its first point, TW_NO_POINT: it has none */
	uint32_t *end_of;      /* by host node */
	uint8_t *in_op;	       /* by host node: below an operation */
	bool named_steps;      /* steps are ranges of the program */
	uint32_t *group;       /* by track: number of its group of threads */
	uint32_t *launch_node; /* by GPU event: host node of its launch, TW_NONE */
	uint32_t *module; /* by host node: text id of the module around it; NULL: none recorded */
	/* GPU events with a recorded launch, in order of launch: rank->launched; of each of them, */
	int64_t *launch_ns; /* when its call began */
	uint32_t *other;    /* the last one before it on another stream, TW_NO_POINT */
	/* Of a stream, the launched ones in order: positions in rank->launched. */
	uint32_t *by_queue, *first_of_queue;
	bool failed; /* out of memory */
};

/* The steps of building, in this order; each leaves `failed` where memory runs out. */
void tw_host_points(struct tw_rank_build *b);
void tw_hand_overs(struct tw_rank_build *b);
void tw_gpu_points(struct tw_rank_build *b);
void tw_stream_waits(struct tw_rank_build *b);
void tw_late_starts(struct tw_rank_build *b);
void tw_syncs(struct tw_rank_build *b);
void tw_path_collectives(struct tw_rank_build *b);
/* Sets b->module by what is around each node; then by the forward operation, and the node above. */
void tw_path_find_modules(struct tw_rank_build *b);
void tw_path_pass_modules(struct tw_rank_build *b);
void tw_path_labels(struct tw_rank_build *b);
void tw_path_targets(struct tw_rank_build *b, const struct tw_modelled *modelled,
		     const struct tw_platform *platform);

void tw_add_edge(struct tw_rank_build *b, uint32_t point, uint32_t from, enum tw_cause code);

/* `count` zeroed items, NULL: failed. */
void *tw_build_array(struct tw_rank_build *b, size_t count, size_t size);

/* Kinds of a text of the host. */
unsigned tw_build_kinds(struct tw_rank_build *b, uint32_t text);

static inline unsigned tw_node_kinds(struct tw_rank_build *b, uint32_t node)
{
	return tw_build_kinds(b, b->d->trace->events.name[b->d->host.event[node]]);
}

static inline int64_t tw_node_start(const struct tw_rank_build *b, uint32_t node)
{
	return b->d->trace->events.start_ns[b->d->host.event[node]];
}

/* One without a usable duration takes no time. */
static inline int64_t tw_node_end(const struct tw_rank_build *b, uint32_t node)
{
	const struct tw_events *e = &b->d->trace->events;
	uint32_t event = b->d->host.event[node];

	return e->start_ns[event] + (e->phase[event] == 'X' ? e->dur_ns[event] : 0);
}

static inline uint32_t tw_node_track(const struct tw_rank_build *b, uint32_t node)
{
	return b->d->trace->events.track[b->d->host.event[node]];
}

/* Where a time belongs among launches: the number of those before it. */
uint32_t tw_launches_before(const struct tw_rank_build *b, int64_t time_ns);
/* The last launched on a stream before a place in rank->launched, TW_NO_POINT: none. */
uint32_t tw_last_of_queue(const struct tw_rank_build *b, uint32_t queue, uint32_t before);

/* Its points and causes, once they are taken over. */
void tw_path_part_drop(struct tw_path_part *part);
void tw_path_rank_release(struct tw_path_rank *rank, const struct trawl_allocator *allocator);

#endif
