/*
 * Scenarios: what changes in a run, and when its points are then.
 *
 * time'(p) = the latest of time'(c) + delay'(c, p) over the causes c of p; a point without causes
 * keeps its time.
 */
#ifndef TW_PATH_SCENARIO_H
#define TW_PATH_SCENARIO_H

#include "base/ids.h"
#include "path/graph.h"

#define TW_CUT INT64_MIN /* in the place of a delay: the cause is gone */

struct tw_scenario_edit {
	uint32_t cause;
	int64_t delay_ns;   /* TW_CUT: none */
	int64_t removed_ns; /* of host time, by all ranges so far */
};

struct tw_scenario_cause {
	uint32_t point, from;
	int64_t delay_ns;
};

/* What a point is, as far as it decides whether its causes have no delay. */
enum tw_point_class {
	TW_OF_HOST,
	TW_OF_LAUNCH, /* of a call that launched GPU work */
	TW_OF_GPU,
	TW_OF_LAUNCHED, /* of GPU work whose launch is recorded */
	TW_OF_LONE,	/* the end of communication whose other ranks are not there */
	TW_OF_LAUNCHED_LONE,
	TW_POINT_CLASSES
};

/* Delays by a rule, of all causes that no edit names. */
typedef int64_t tw_scenario_rule(const struct tw_path *path, uint32_t point, uint32_t cause,
				 int64_t delay_ns, const void *context);

/* A change; zeroed, with path and allocator, it is none.  One thread at a time. */
struct tw_scenario {
	const struct tw_path *path;
	const struct trawl_allocator *allocator;
	struct tw_ids by_cause; /* cause -> edit */
	TW_LIST(struct tw_scenario_edit) edits;
	TW_LIST(struct tw_scenario_cause) added;
	TW_LIST(uint32_t) removed; /* starts of GPU events that are gone */
	const uint16_t *free;	   /* by class of a point: causes without delay, bits; NULL: none */
	tw_scenario_rule *rule;	   /* NULL: none */
	const void *context;
	uint64_t *touched; /* a bit for each point that an edit or an added cause is about */
	/* A replayed scenario whose edits and added causes hold too: the smaller of two delays. */
	const struct tw_scenario *under;
	bool failed; /* out of memory */
};

void tw_scenario_init(struct tw_scenario *s, const struct tw_path *path,
		      const struct trawl_allocator *allocator);
void tw_scenario_release(struct tw_scenario *s);

/* The delay of a cause as changed so far, TW_CUT: it is gone. */
int64_t tw_scenario_delay(const struct tw_scenario *s, uint32_t point, uint32_t cause);
void tw_scenario_set(struct tw_scenario *s, uint32_t point, uint32_t cause, int64_t delay_ns);
void tw_scenario_cut(struct tw_scenario *s, uint32_t point, uint32_t cause);
void tw_scenario_add(struct tw_scenario *s, uint32_t point, uint32_t from, int64_t delay_ns);

/* Halves up; not below 0. */
int64_t tw_whole_ns(double ns);
/* A GPU event takes so long; of a collective its transfer. */
void tw_scenario_duration(struct tw_scenario *s, const struct tw_path_rank *rank, uint32_t gpu,
			  double ns);
/* GPU work takes `factor` times as long; of a collective its transfer does. */
void tw_scenario_scale(struct tw_scenario *s, const struct tw_path_rank *rank, uint32_t gpu,
		       double factor);
/* A GPU event is gone: it takes no time, and its causes no delay. */
void tw_scenario_remove(struct tw_scenario *s, const struct tw_path_rank *rank, uint32_t gpu);
/*
 * The time of a thread between two moments is gone but for `keep_ns`; waits of calls inside are
 * gone too.
 */
void tw_scenario_free_host(struct tw_scenario *s, const struct tw_path_thread *thread,
			   int64_t from_ns, int64_t to_ns, int64_t keep_ns);
/*
 * Times of all points in some scenarios, TW_LANES at most.  Most points follow one other by the same
 * delay in all of them: of those only which one, and the sum of delays since, is kept.
 */
#define TW_LANES 8
struct tw_replay {
	const struct tw_path *path;
	const struct trawl_allocator *allocator;
	unsigned width; /* times of a slot beside each other, one for each scenario */
	uint32_t *slot; /* by point */
	int64_t *after; /* by point: how much later it is */
	int64_t *slots;
	uint32_t *inferred; /* beside the times: the last point before whose inferred cause binds */
	size_t room;
};

/* Several threads may run some of a path.  0 or -1: out of memory; to be released in any case. */
int tw_replay_run(struct tw_replay *replay, const struct tw_path *path,
		  struct tw_scenario *scenarios, unsigned count,
		  const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_replay_release(struct tw_replay *replay);

/* Times of points: as recorded, or of one of the scenarios of a replay. */
struct tw_times {
	const int64_t *at; /* by slot, so far from each other */
	size_t stride;
	const uint32_t *slot; /* by point; NULL: its number */
	const int64_t *after; /* by point */
};

static inline struct tw_times tw_recorded(const struct tw_path *path)
{
	return (struct tw_times){ &path->points->time_ns, sizeof(*path->points) / sizeof(int64_t),
				  NULL, NULL };
}

static inline struct tw_times tw_replayed(const struct tw_replay *r, unsigned lane)
{
	return (struct tw_times){ r->slots + lane, r->width, r->slot, r->after };
}

/* What `after` is to be added to, of a replay beside those of the scenarios that follow. */
static inline const int64_t *tw_times_of(struct tw_times times, uint32_t point)
{
	return &times.at[(times.slot ? times.slot[point] : point) * times.stride];
}

static inline int64_t tw_time(struct tw_times times, uint32_t point)
{
	return tw_ns_sum(*tw_times_of(times, point), times.slot ? times.after[point] : 0);
}

/* The last point that a point waited for, or it, whose inferred cause binds; TW_NO_POINT: none. */
static inline uint32_t tw_last_inferred(const struct tw_replay *r, unsigned lane, uint32_t point)
{
	return r->inferred ? r->inferred[(size_t)r->slot[point] * r->width + lane] : TW_NO_POINT;
}

/* What a point's time comes from, of replayed times; `from` TW_NO_POINT: it has no cause. */
struct tw_bound {
	uint32_t from;
	enum tw_cause code;
	int64_t time_ns;
};

/* `s` NULL: as recorded. */
struct tw_bound tw_path_bound(const struct tw_path *path, const struct tw_scenario *s,
			      uint32_t point, struct tw_times times);

/*
 * First start to last end of the window's GPU work; `last`: that end, of equals the one of the lowest
 * rank, device, stream and number, TW_NO_POINT: there is none.
 */
struct tw_path_window {
	int64_t start_ns, end_ns;
	uint32_t last;
};

struct tw_path_window tw_window_of(const struct tw_path *path, struct tw_times times);
/* The same of the first scenarios of a replay. */
void tw_find_windows(const struct tw_replay *replay, unsigned count,
		     struct tw_path_window *windows);

/* How long it is; 0 without any. */
static inline int64_t tw_window_length(const struct tw_path_window *w)
{
	return w->end_ns > w->start_ns ? tw_ns_between(w->start_ns, w->end_ns) : 0;
}
static inline int64_t tw_window_ns(const struct tw_path *path, struct tw_times times)
{
	const struct tw_path_window window = tw_window_of(path, times);

	return tw_window_length(&window);
}

/* The step, as a mean of those after the first, over all ranks; NaN: there are not two. */
double tw_step_ns(const struct tw_path *path, struct tw_times times);

/* GPU events that the window is about: those with a recorded launch, all where it is whole or none has. */
bool tw_in_window(const struct tw_path *path, const struct tw_path_rank *rank, uint32_t gpu);

#endif
