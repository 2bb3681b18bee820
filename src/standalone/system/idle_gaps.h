/*
 * Gaps of the GPU and why they are there: each gap of the timeline has one cause, told from the
 * work that ends it, the call that launched this work, and what the calling thread did meanwhile.
 * The rules are in docs/METRICS.md.
 */
#ifndef TW_STANDALONE_IDLE_GAPS_H
#define TW_STANDALONE_IDLE_GAPS_H

#include "analysis/analysis.h"

enum tw_idle_cause {
	TW_IDLE_LAUNCH_BOUND,	 /* the host came too late with the launch */
	TW_IDLE_SYNCHRONISATION, /* the same, after it had waited for the GPU */
	TW_IDLE_DATA_WAIT,	 /* the same, while it made or copied input */
	TW_IDLE_GRAPH_GAP,	 /* between pieces of a GPU graph that was launched already */
	TW_IDLE_QUEUED,		 /* launched in time, started late */
	TW_IDLE_UNKNOWN,	 /* no launch recorded, or nothing follows */
	TW_IDLE_CAUSES
};

/* The cause as results name it: "launch_bound", "Launch bound", what it means. */
struct tw_idle_cause_info {
	const char *key, *title, *meaning;
};
extern const struct tw_idle_cause_info tw_idle_cause_known[TW_IDLE_CAUSES];

struct tw_gap {
	int64_t start_ns; /* on the clock of the trace */
	int64_t dur_ns;
	uint32_t before, after; /* GPU events around it, TW_NONE: none */
	enum tw_idle_cause cause;
};

struct tw_idle_sum {
	int64_t count, total_ns, largest_ns;
};

struct tw_idle_gaps {
	const struct trawl_allocator *allocator;
	struct tw_gap *items; /* in order of time */
	uint64_t count, capacity;
	struct tw_idle_sum sums[TW_IDLE_CAUSES];
	bool failed;
};

/* Those that make in->timeline->idle_ns; release also when it fails (out of memory). */
int tw_idle_gaps_init(struct tw_idle_gaps *gaps,
		      const struct tw_analysis_input *in) TRAWL_MUST_CHECK;
void tw_idle_gaps_release(struct tw_idle_gaps *gaps);

/*
 * What runs on the launching thread for more than half of a gap: of each kind the innermost, as
 * event; TW_NONE: nothing does, or no launch is recorded.
 */
struct tw_gap_host {
	const struct tw_gap *gap;
	uint32_t track; /* that thread */
	uint32_t call, operation, python;
};

/* 0, or -1 when out of memory. */
int tw_gap_hosts(struct tw_gap_host *hosts, size_t count,
		 const struct tw_analysis_input *in) TRAWL_MUST_CHECK;

#endif
