/*
 * Idle time of the GPU by cause, what would be without it, its largest gaps with what stands around them, and
 * how short kernels are: cpu_idle_data.json.
 */
#ifndef TW_STANDALONE_CPU_IDLE_H
#define TW_STANDALONE_CPU_IDLE_H

#include "standalone/system/idle_gaps.h"
#include "standalone/system/system.h"

#define TW_CPU_IDLE_DATA "cpu_idle_data.json"
#define TW_CPU_IDLE_OPS "cpu_idle_ops.csv"
#define TW_CPU_IDLE_TITLE "CPU/Idle Analysis"

/* Of the timeline. */
struct tw_idle_time {
	int64_t total_ns, busy_ns, computation_ns, exposed_comm_ns, exposed_memcpy_ns, idle_ns;
	double idle_percent;
	uint64_t gap_count;
	int64_t largest_gap_ns;
};

/* A gap with names of what stands around it, and what runs on the launching thread for most of it. */
struct tw_told_gap {
	uint64_t rank;
	int64_t start_ns, dur_ns, running_call_ns;
	const char *cause, *operation, *call, *python, *before, *after;
	const char *running_call, *running_operation, *running_python;
	double running_call_launches; /* 1, 0; NaN: no call runs */
	bool at_edge;
	enum tw_idle_cause of; /* not read */
};

struct tw_idle_part {
	uint64_t count, gaps_of_80_percent;
	int64_t total_ns, largest_ns, without_ns;
	double mean_us, largest_percent, percent_of_idle, percent_of_total, speedup_without;
	struct tw_told_gap *largest; /* NULL: it is not among the largest of all */
	/* Judged. */
	const char *title, *meaning;
	double time_ms, without_ms;
	const struct tw_level *severity;
};

struct tw_idle_kernels {
	int64_t short_threshold_ns, short_ns, total_ns; /* of sums TRAWL_TIME_NONE: too large */
	uint64_t short_count, total_count;
	double short_percent, short_time_percent, mean_us;
	TW_FIELD_LIST(struct tw_named) by_category;
};

struct tw_cpu_idle {
	struct tw_idle_time time;
	struct tw_idle_part causes[TW_IDLE_CAUSES];
	struct tw_idle_kernels kernels;
	TW_FIELD_LIST(struct tw_told_gap) gaps; /* the largest first */
};

extern const struct tw_fields tw_cpu_idle_fields, tw_idle_time_fields, tw_idle_kernels_fields;
extern const struct tw_fields tw_told_gap_fields;

/* A member for each cause, of fields `part`. */
#define TW_IDLE_CAUSE_FIELD(cause, key, part) \
	TW_FIELD(struct tw_cpu_idle, STRUCT, causes[TW_IDLE_##cause], key, .of = (part))
#define TW_IDLE_CAUSE_FIELDS(part)                                             \
	TW_IDLE_CAUSE_FIELD(LAUNCH_BOUND, "launch_bound", part),               \
		TW_IDLE_CAUSE_FIELD(SYNCHRONISATION, "synchronisation", part), \
		TW_IDLE_CAUSE_FIELD(DATA_WAIT, "data_wait", part),             \
		TW_IDLE_CAUSE_FIELD(GRAPH_GAP, "graph_gap", part),             \
		TW_IDLE_CAUSE_FIELD(QUEUED, "queued_work", part),              \
		TW_IDLE_CAUSE_FIELD(UNKNOWN, "unknown", part)

#endif
