/*
 * What the GPU did for ranges of the host (NVTX ranges, annotations): a GPU event belongs to the
 * ranges around the start of its launch call, ends included.
 *
 * Those of the launching thread count.  Where it has none, as in backward passes, those of other
 * threads of the process do.  What libraries and the framework set around calls of their own
 * hides none of these: where the thread has only such ranges (NCCL's own, those of emit_nvtx), a
 * launch is in them and in the ranges of other threads too.
 */
#ifndef TW_ANALYSIS_LAUNCHES_RANGES_H
#define TW_ANALYSIS_LAUNCHES_RANGES_H

#include "base/wide.h"
#include "derive/derived.h"

/* What some GPU events add up to. */
struct tw_gpu_sum {
	tw_wide gpu_ns, communication_ns;
	tw_wide exposed_ns; /* of communication, outside the union of its device's compute */
	uint32_t events, kernels;
};

enum tw_range_kind {
	TW_RANGE,	     /* annotations of one process, domain and name */
	TW_RANGE_OPERATION,  /* the same of operations */
	TW_RANGE_OUTSIDE,    /* of a process: launched in no range */
	TW_RANGE_UNLAUNCHED, /* no launch recorded */
	TW_RANGE_KINDS
};

/* Whose launches may be in a range. */
enum tw_range_holds {
	TW_HOLDS_OWN = 1,  /* those of its thread: operations, and what the framework sets */
	TW_HOLDS_LEFT = 2, /* ... and those with no range at all on their thread: other domains */
	TW_HOLDS_PROCESS = 4, /* ... and those with none of this sort: all others */
};

struct tw_range_row {
	uint32_t process, kind; /* process: index into processes */
	uint32_t holds;		/* enum tw_range_holds */
	uint32_t domain, name;	/* text ids; 0: the default domain, no name */
	int64_t instances;	/* that touch the view */
	tw_wide host_ns;	/* their time in it */
	/*
	 * Of all events in them, each once however often the name is nested, and of those that
	 * have no shorter range around their launch.
	 */
	struct tw_gpu_sum all, self;
	/*
	 * From the first start to the last end of an instance's events, over all instances.  An
	 * event in several instances of the row is one of the first.
	 */
	tw_wide projected_ns;
	/* While adding up: number of counted events, and of which list of launches. */
	uint32_t list, done;
};

struct tw_ranges {
	struct tw_range_row *rows; /* of ranges, then one of each other kind for each process */
	uint32_t count, range_rows;
	tw_code *processes; /* in order; the last: unknown */
	uint32_t process_count;
	uint64_t ranges;   /* in the trace, each once */
	uint64_t repeated; /* that were recorded again */
	bool linked;	   /* some GPU event has a recorded launch */
};

/* What they are made of is left to the allocator's scope. */
int tw_ranges_build(struct tw_ranges *ranges, const struct tw_derived *derived,
		    const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

#endif
