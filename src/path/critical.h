/*
 * The critical path: from the end of the window back along what each point waited for.  Its segments
 * lie end to end, so that their sum is the window.
 */
#ifndef TW_PATH_CRITICAL_H
#define TW_PATH_CRITICAL_H

#include "path/scenario.h"

enum tw_path_class {
	TW_PATH_COMPUTE,
	TW_PATH_TRANSFER,  /* a collective, once all have arrived */
	TW_PATH_RANK_WAIT, /* communication of which other ranks are not in the graph */
	TW_PATH_COPY,
	TW_PATH_LAUNCH,	    /* from a launch to its work */
	TW_PATH_STREAM_GAP, /* between two pieces of GPU work */
	TW_PATH_IN_OP,
	TW_PATH_BETWEEN_OPS,
	TW_PATH_LOADING,
	TW_PATH_ALLOCATOR,
	TW_PATH_PAUSE,
	TW_PATH_SYNC_RETURN,
	TW_PATH_UNKNOWN,
	TW_PATH_CLASSES,
};

/* "compute", "waiting for a rank": as tables have it. */
const char *tw_path_class_name(enum tw_path_class class);
/* Of what a point waited for by its binding cause. */
enum tw_path_class tw_path_class_of(const struct tw_path *path, uint32_t point, uint32_t from,
				    enum tw_cause code);

struct tw_segment {
	uint32_t point, from;	       /* from TW_NO_POINT: the path begins in it */
	int64_t start_ns, duration_ns; /* below 0 where work began before the end of its cause */
	enum tw_cause code;	       /* TW_CAUSES: none */
	enum tw_path_class class;
	bool inferred; /* the cause is not in the record */
};

struct tw_critical {
	struct tw_path_window window;
	TW_LIST(struct tw_segment) segments; /* in order of time */
};

/* Of recorded times.  0 or TRAWL_ENOMEM; to be released in any case. */
int tw_critical_find(struct tw_critical *critical, const struct tw_path *path,
		     const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_critical_release(struct tw_critical *critical, const struct trawl_allocator *allocator);

/*
 * Time of the critical path that inferred causes put on it, in a scenario that was replayed: they, and
 * what directly precedes each.
 */
int64_t tw_critical_inferred_ns(const struct tw_replay *replay, unsigned lane,
				const struct tw_scenario *s, const struct tw_path_window *window);

#define TW_NO_SLACK INT64_MAX

/*
 * How much later each point may be without moving the end of the window, of recorded times;
 * TW_NO_SLACK: nothing of it follows.
 */
void tw_slack_find(const struct tw_path *path, int64_t *slack);

#endif
