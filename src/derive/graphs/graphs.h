/*
 * What runs inside launches of GPU graphs.
 *
 * A replay has kernels, copies and fills, and nothing of the program above them.  A capture has
 * the calls that made them, under the operators that made these calls, and no GPU work; an eager
 * run of the same model has both, elsewhere.  Which node is whose call is found here, by names.
 *
 * Candidates (analysis/graphs/captures.c reads them, store/captures.h holds them): of each capture
 * the launches, copies and fills, without GPU work of their own, between its begin and its end, of
 * its thread, and of threads of its process that capture nothing themselves.  A call without the
 * name of its kernel takes it from a warm-up: the same operators with the same inputs, in the same
 * order, with GPU work, shortly before the capture.  Without a warm-up only numbers and kinds can
 * agree, which those of another model may do: such a capture counts in the tables of graphs alone,
 * unless it is asked for (accept_count).
 *
 * Which candidate (choose.c): one whose calls match the nodes, of which at most 1 % may be without
 * a call, and at most 1 % of the calls, or one, without a node.  Where no launch has a graph id,
 * there are as many captures as launches, and each matches its own, the k-th belongs to the k-th:
 * layers of equal kernels are different layers.  Else, of several that match as well, the first;
 * what they do not agree on is not said: operators, their inputs, modules.  A graph's is that of its
 * first launch that has one.  An eager run is no candidate: it says what it knows, by the name of a
 * kernel all of whose operators are one, else by place, whatever is left over: where the nodes lie
 * most as they do in the launch; of several such places what they agree on.
 *
 * How they match (match.c), in this order: equal; nodes are a subsequence of the calls; on several
 * streams the k-th of a name is the k-th; longest common subsequence.  All but the last take one
 * pass.  The last takes n m / 64 steps and sqrt(n) m / 32 bytes: 100,000 nodes against as many calls
 * 0.2 s and 8 MB.  A report takes TW_MATCH_STEPS of them (about a second); what remains is not
 * compared, and refused.  Replays with the names of an earlier one take its match.
 *
 * What a node becomes: its GPU event keeps its launch, whose time counts, and gets an origin: a node
 * of the host behind the recorded ones, the call of the capture, under its operators (at most
 * TW_CAPTURED_DEPTH), once for every launch: operators are called as often as the graph is launched.
 * These nodes have borrowed events: names and arguments, no times.  Tables that ask what launched a
 * GPU event ask for origins and go through nodes up to host.all; those that ask when, or what the
 * host did, ask for launches, and go up to host.count.
 *
 * Memory: eight bytes for each node and operator of a replay, four a GPU event, and what is borrowed.
 */
#ifndef TW_DERIVE_GRAPHS_GRAPHS_H
#define TW_DERIVE_GRAPHS_GRAPHS_H

#include "derive/graphs/choose.h"

/* Operators kept above a call of a capture, the innermost. */
#define TW_CAPTURED_DEPTH 16

enum tw_graph_source {
	TW_GRAPH_NO_SOURCE,
	TW_GRAPH_CAPTURE,
	TW_GRAPH_COUNT, /* a capture whose calls have no names */
	TW_GRAPH_MAP_NAME,
	TW_GRAPH_MAP_PLACE,
};

/* A node of a graph, over its launches. */
struct tw_graph_node {
	uint32_t graph, number;
	uint32_t call;	/* of the captured calls, TW_NOT_MATCHED: none */
	uint8_t source; /* enum tw_graph_source */
	uint8_t differ; /* TW_DIFFER_*: what captures that match as well do not agree on */
};

/* A launch; those of all threads in order of time. */
struct tw_graph_launch {
	uint32_t call;	       /* host node */
	uint32_t graph;	       /* TW_NOT_MATCHED: it has no GPU events */
	uint32_t first, count; /* GPU events, and where they are in a list while graphs are found */
	uint32_t node;	       /* the first of its host nodes, behind the recorded ones */
	uint32_t like;	       /* the first launch of its graph with its streams and kernels */
	uint32_t left;	       /* calls without a node; TW_NOT_MATCHED: it has no capture */
};

enum tw_graph_identity { TW_GRAPH_BY_ID, TW_GRAPH_BY_PLACE, TW_GRAPH_BY_NAMES };

struct tw_graph {
	enum tw_graph_identity identity;
	uint64_t key;	 /* code of its id; number of its launch; hash of its streams and names */
	uint32_t launch; /* the first that matches a capture, else the first */
	uint32_t launches;
	uint32_t streams; /* of that launch */
	struct tw_choice choice;
	uint32_t base, calls; /* of the nodes: that of call 0, and number of calls */
	uint32_t others;      /* nodes that are of no call */
	uint32_t unmatched;   /* the first launch without a capture, TW_NOT_MATCHED: none */
	uint32_t lost;	      /* over all launches: calls without a node */
	uint32_t refused;     /* launches that do not match, where one does */
};

struct tw_graphs {
	TW_LIST(struct tw_graph) list;
	TW_LIST(struct tw_graph_launch) launches;
	TW_LIST(struct tw_graph_node) nodes;
	/* Host nodes to add behind the recorded ones. */
	TW_LIST(uint32_t) event;
	TW_LIST(uint32_t) parent;
};

struct tw_derived;

/* After links are known, before a view drops events; 0 or -1. */
int tw_graphs_build(struct tw_derived *d, bool accept_count) TRAWL_MUST_CHECK;
/* Puts the nodes of replays behind those of the host. */
int tw_graphs_add_nodes(struct tw_derived *d) TRAWL_MUST_CHECK;
void tw_graphs_release(struct tw_derived *d);

/* The recorded call that a host node stands behind: of a node of a replay its graph launch. */
uint32_t tw_graph_call(const struct tw_derived *d, uint32_t node);

/* The key of a GPU event or of a call's kernel by its name: TW_CALL_COPY, TW_CALL_FILL or the name. */
struct tw_pool;
uint32_t tw_graph_key_of(const struct tw_pool *texts, uint32_t name);

#endif
