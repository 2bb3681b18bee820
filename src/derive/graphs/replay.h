/* What the nodes of launches become, once it is known which capture they are a replay of. */
#ifndef TW_DERIVE_GRAPHS_REPLAY_H
#define TW_DERIVE_GRAPHS_REPLAY_H

#include "base/ids.h"
#include "base/scope.h"
#include "derive/derived.h"

struct work {
	struct tw_derived *d;
	struct tw_graphs *graphs;
	const struct trawl_allocator *a; /* of the scope */
	bool accept_count;
	uint32_t *events;     /* GPU events by launch, in order of start */
	uint32_t *of_queue;   /* by queue: the graph, plus 1, that had it last */
	uint64_t *queue_hash; /* by queue, of a launch */
	struct tw_chooser chooser;
	uint32_t *captures;    /* those of no eager run, in order */
	bool pieces;	       /* the k-th launch is of the k-th of them */
	struct tw_ids ids;     /* graphs by their key */
	struct tw_ids likes;   /* first launches by graph and signature */
	uint32_t *key_of_name; /* by text id; 0: not asked yet */
	uint32_t *keys;	       /* as `events` */
	/* Of a launch, by node. */
	uint32_t *counted, *call_of;
	/* replay.c: */
	uint32_t map;	   /* the capture that is an eager run, TW_NOT_MATCHED: none */
	struct tw_ids ops; /* a call of it by key */
	bool *ops_differ;  /* by call of it: others with its key have other operators */
	uint32_t *placed;  /* of a launch, by node: call of it */
	struct fits *fits;
	struct node_source *sources;
	uint32_t *stamp, *position; /* by captured node */
	uint32_t stamps;
	uint32_t *used; /* captured nodes of a launch */
	size_t used_count;
	uint32_t *of_stream; /* by queue: a node of a launch */
};

int tw_replay_init(struct work *w, uint32_t most) TRAWL_MUST_CHECK;
/* The launch that a graph has its capture from, whose choice and call_of are known; and any other. */
int tw_replay_first(struct work *w, struct tw_graph *graph,
		    const struct tw_nodes *nodes) TRAWL_MUST_CHECK;
int tw_replay_other(struct work *w, struct tw_graph *graph, uint32_t number,
		    const struct tw_nodes *nodes) TRAWL_MUST_CHECK;

#endif
