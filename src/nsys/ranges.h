/*
 * One look at the NVTX ranges of an export: labels of processes, ranges that can be a window, and
 * markers, which are ranges that a rule for stages or purposes matches.  Nothing is kept of others.
 */
#ifndef TW_NSYS_RANGES_H
#define TW_NSYS_RANGES_H

#include "base/list.h"
#include "nsys/rules.h"
#include "nsys/scan.h"

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
	TW_LIST(struct tw_nsys_process) processes;
	struct tw_ids process_ids;
	TW_LIST(struct tw_nsys_mark) marks;
	TW_LIST(struct tw_nsys_range) windows;
	TW_LIST(struct tw_nsys_marker) markers;
	uint64_t label_count;
	bool open;	/* a window or marker is never closed */
	int64_t end_ns; /* largest time seen */
};

int tw_nsys_ranges_read(struct tw_nsys_ranges *ranges, struct tw_nsys_source *source,
			const struct tw_nsys_rules *rules,
			struct trawl_error *err) TRAWL_MUST_CHECK;

/* The name of a row of NVTX_EVENTS, into the arena; NULL: it has none. */
int tw_nsys_range_name(struct tw_nsys_source *source, struct tw_arena *arena, int64_t row,
		       const char **name, struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- rows of NVTX_EVENTS, for whoever scans them */

/* Which columns are numbers that tw_nvtx_read() wants. */
#define TW_NVTX_NUMBERS TW_BITS_BEFORE(TW_NVTX_TEXT_ID)

struct tw_nvtx_row {
	int64_t start_ns, end_ns, process;
	uint32_t tid;
	bool range; /* a range; else a mark */
};

/* The times and thread of a row; false: it is no event, or odd, and counted. */
bool tw_nvtx_read(struct tw_nsys_part *part, struct tw_nvtx_row *row);

#endif
