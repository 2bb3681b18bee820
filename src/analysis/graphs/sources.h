/* What is known of the nodes of GPU graphs, for tables. */
#ifndef TW_ANALYSIS_GRAPHS_SOURCES_H
#define TW_ANALYSIS_GRAPHS_SOURCES_H

#include "base/wide.h"
#include "derive/derived.h"

/* The call that made a node, where all that match agree on its operator; NULL: not known. */
static inline const struct tw_captured_call *tw_node_op(const struct tw_derived *d,
							const struct tw_graph_node *node)
{
	return node->source && !(node->differ & TW_DIFFER_OP) ?
		       &d->trace->captures.calls.at[node->call] :
		       NULL;
}

/* The durations of all GPU events. */
static inline tw_wide tw_gpu_time(const struct tw_derived *d)
{
	tw_wide sum = 0;
	uint64_t g;

	for (g = 0; g < d->gpu.count; g++)
		sum += d->gpu.end_ns[g] - d->gpu.start_ns[g];
	return sum;
}

#endif
