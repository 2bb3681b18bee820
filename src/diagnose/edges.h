/* The edge of a recording: idle time, and work beyond it, that is no part of what findings are about. */
#ifndef TW_DIAGNOSE_EDGES_H
#define TW_DIAGNOSE_EDGES_H

#include "path/graph.h"

struct tw_edge {
	int64_t idle_ns;
	uint32_t before, after; /* GPU events beyond it: the first ones, the last ones */
};

/* Of a rank with its points; all 0: it has none worth telling. */
struct tw_edge tw_edge_of(const struct tw_path_point *points, const struct tw_path_rank *r);

#endif
