/*
 * One rank on its way into the merged trace: which of its events go there (choose.c), where they
 * stand (places.c), on which lane they are drawn (lanes.c), which arrows join them (arrows.c), and
 * the text of all that (write.c).
 */
#ifndef TW_JOB_MERGE_RANK_EVENTS_H
#define TW_JOB_MERGE_RANK_EVENTS_H

#include "derive/names.h"
#include "job/merge/texts.h"

#define TW_NOWHERE UINT32_MAX

/* Processes of a rank: GPUs from rank x 1000 on, those of the host from rank x 1000 + 500 on. */
#define TW_MERGE_PIDS 1000
#define TW_MERGE_HOST_PIDS 500

/* A process of the merged trace: a GPU, or a process of the host. */
struct tw_merge_process {
	tw_code code; /* device, or the pid that it has in the trace */
	int64_t pid;
	bool gpu;
	uint32_t labels; /* text id, 0: none */
};

/* A thread or stream. */
struct tw_merge_place {
	uint32_t track; /* the first of the trace's tracks that are it */
	uint32_t process;
	tw_code code; /* stream or thread, as the trace has it */
	int64_t tid;
	uint32_t first_lane, last_lane;
	bool gpu;
};

struct tw_open {
	int64_t end_ns;
	uint64_t event;
};

/* Slices that nest: what partly overlaps goes to the next lane of its place. */
struct tw_merge_lane {
	uint32_t place;
	uint32_t number; /* in its place, from 0 */
	uint32_t next;	 /* of its place, TW_NOWHERE: none */
	int64_t tid;
	struct tw_open *stack; /* what is open, while events are gone through in order of time */
	size_t depth, capacity;
	char head[64]; /* "pid":0,"tid":7,"ts": */
	uint8_t head_len;
};

/* An end of an arrow; those of one arrow have one id. */
struct tw_merge_end {
	uint64_t event;
	uint32_t lane; /* TW_NOWHERE: it lies on no slice that is kept */
	uint32_t also; /* another arrow from the same place: index of ends, TW_NOWHERE: none */
	int64_t id;    /* -1: without its other end; skipped */
};

/* What became of a rank's events. */
struct tw_merge_counts {
	uint64_t gpu_slices, host_slices, others, arrows;
	uint64_t moved; /* slices on lanes of their own, since they partly overlap others */
	uint64_t loose; /* ends of arrows that were skipped, since what they join is not there */
};

struct tw_rank_events {
	const struct trawl_allocator *allocator;
	struct tw_arena arena; /* of what does not grow */
	const struct trawl_trace *trace;
	int64_t rank;
	int64_t shift_ns; /* added to all times */
	bool keep_all;

	struct tw_merge_category {
		bool kept, launches; /* arrows from a launch to its work */
	} * categories;
	struct tw_names names;
	struct tw_merge_texts texts;

	uint32_t *order;   /* events that are kept, by time; `count` of them */
	uint32_t *lane_of; /* by place in `order`; ends of arrows: index of `ends` */
	uint64_t count;

	struct tw_merge_process *processes;
	uint32_t process_count;
	struct tw_merge_place *places;
	uint32_t place_count;
	int64_t next_tid;   /* that no thread has */
	uint32_t *place_of; /* by track, TW_NOWHERE: none */
	/* Tracks by process and thread, so that those of one pid and tid stand together. */
	uint32_t *by_thread;
	uint32_t *thread_first; /* by track: where those begin */
	struct tw_merge_lane *lanes;
	uint32_t lane_count;
	size_t lane_capacity;

	struct tw_merge_end *ends; /* in order of time, then copies */
	uint32_t end_count;
	size_t end_capacity;

	struct tw_merge_counts counts;
	struct tw_quality quality; /* what was found on the way */
};

/* The phases of events that are ends of arrows: start, step, finish. */
static inline bool tw_merge_is_end(uint8_t phase)
{
	return phase == 's' || phase == 't' || phase == 'f';
}

/* Each in turn; 0, TRAWL_ENOMEM, or TRAWL_ELIMIT with a message. */
int tw_choose_events(struct tw_rank_events *one, struct trawl_error *err) TRAWL_MUST_CHECK;
int tw_place_events(struct tw_rank_events *one, struct trawl_error *err) TRAWL_MUST_CHECK;
/* 0, or -1: out of memory. */
int tw_lay_lanes(struct tw_rank_events *one) TRAWL_MUST_CHECK;
int tw_pair_arrows(struct tw_rank_events *one) TRAWL_MUST_CHECK;
/* The arena, the texts or their lines tell of a failure. */
void tw_write_events(struct tw_rank_events *one);

/*
 * All of it: the text of the rank into `lines`, counts into *one, which the caller has given its
 * first fields.  What else *one holds is freed.
 */
int tw_merge_rank_events(struct tw_rank_events *one, struct tw_lines *lines,
			 struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
