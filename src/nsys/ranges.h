/*
 * One look at the NVTX ranges of an export: labels of processes, ranges that can be a window, and
 * markers, which are ranges that a rule for stages or purposes matches.  Nothing is kept of others.
 */
#ifndef TW_NSYS_RANGES_H
#define TW_NSYS_RANGES_H

#include "base/ids.h"
#include "nsys/rules.h"
#include "nsys/scan.h"
#include "os/times.h"

#define TW_NSYS_OPEN INT64_MAX /* the end of a range that is never closed */

/* Beyond these a rule takes data for a stage, or the file is not of this world. */
#define TW_NSYS_MOST_MARKS 4096
#define TW_NSYS_MOST_PROCESSES 65535

struct tw_nsys_process {
	int64_t process; /* tw_nsys_process() */
	char *label;	 /* in the arena; NULL: it has none */
	int64_t label_start, rank;
};

/* What a marker stands for; "": nothing. */
struct tw_nsys_mark {
	const char *stage, *purpose;
};

struct tw_nsys_range {
	int64_t start_ns, end_ns;
	int64_t row; /* in NVTX_EVENTS */
	uint32_t process;
	uint32_t rule; /* of the rules; 0 where they have no part in it */
};

struct tw_nsys_marker {
	int64_t start_ns, end_ns;
	uint32_t tid;
	uint16_t process, mark;
};

struct tw_nsys_ranges {
	struct tw_arena arena;
	const struct trawl_allocator *allocator;
	struct tw_nsys_process *processes;
	size_t process_count, process_capacity;
	struct tw_ids process_ids;
	struct tw_nsys_mark *marks;
	size_t mark_count, mark_capacity;
	struct tw_nsys_range *windows;
	size_t window_count, window_capacity;
	struct tw_nsys_marker *markers;
	size_t marker_count, marker_capacity;
	uint64_t label_count;
	bool open;	/* a window or marker is never closed */
	int64_t end_ns; /* largest time seen */
};

/* Released by tw_nsys_ranges_release(), also after a failure. */
int tw_nsys_ranges_read(struct tw_nsys_ranges *ranges, struct tw_nsys_source *source,
			const struct tw_nsys_rules *rules,
			struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_nsys_ranges_release(struct tw_nsys_ranges *ranges);

/* The name of a row of NVTX_EVENTS, into the arena; NULL: it has none. */
int tw_nsys_range_name(struct tw_nsys_source *source, struct tw_arena *arena, int64_t row,
		       const char **name, struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- rows of NVTX_EVENTS, for whoever scans them */

enum {
	TW_NVTX_START,
	TW_NVTX_END,
	TW_NVTX_TYPE,
	TW_NVTX_TID,
	TW_NVTX_NUMBERS,
	TW_NVTX_TEXT = TW_NVTX_NUMBERS,
	TW_NVTX_TEXT_ID,
	TW_NVTX_COLUMNS
};
extern const char *const tw_nvtx_columns[TW_NVTX_COLUMNS];

struct tw_nvtx_row {
	int64_t start_ns, end_ns, gid;
	bool range; /* a range; else a mark */
};

enum tw_nvtx_kind { TW_NVTX_EVENT, TW_NVTX_OTHER, TW_NVTX_ODD };

/* The times and thread of a row: EVENT, OTHER (no event), or ODD (counted). */
enum tw_nvtx_kind tw_nvtx_read(struct tw_nsys_part *part, const struct tw_scan *scan,
			       struct tw_nvtx_row *row);

/* A time of which differences and sums cannot overflow. */
static inline bool tw_nsys_is_time(int64_t time_ns)
{
	return time_ns >= -TW_LATEST_TIME_NS && time_ns <= TW_LATEST_TIME_NS;
}

#endif
