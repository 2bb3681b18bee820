/* A merge while it is under way: what merge.c shares with merge_processes.c. */
#ifndef TW_JOB_MERGE_MERGE_STATE_H
#define TW_JOB_MERGE_MERGE_STATE_H

#include "job/merge/merge.h"
#include "job/merge/ordered_output.h"

/* A file with several ranks. */
struct tw_held {
	struct trawl_trace *trace; /* NULL: not read yet, or no longer held */
	uint32_t file;
	size_t ranks; /* that are still to be merged */
	int status;
	struct trawl_error err;
};

struct tw_merging {
	struct trawl_merge *merge;
	const struct tw_merge_options *options;
	struct tw_turns turns;
	unsigned threads;		      /* for each trace */
	const struct trawl_allocator *memory; /* that one rank leaves to the next */
	size_t stride; /* processes: of so many ranks one is merged here, from the first on */
	struct tw_reading reading;

	struct tw_held *held; /* by file of the set */
	pthread_mutex_t holding;
};

/* Reads a rank's trace and puts its events into lines; what fails is in the rank. */
void tw_merging_read(struct tw_merging *m, struct tw_merged *rank, struct tw_lines *lines);

/* Of an export: adds the arrows from its calls to what they launched.  0, or why not. */
int tw_merge_add_arrows(struct trawl_trace *trace, struct trawl_error *err) TRAWL_MUST_CHECK;

/* Before ranks are read, and when all are done. */
int tw_merging_hold(struct tw_merging *m) TRAWL_MUST_CHECK;
void tw_merging_let_go(struct tw_merging *m);

/* The next of the ranks that are merged here; begun in their order. */
void tw_merging_rank(void *merging, size_t number);

/*
 * merge_processes.c: all ranks into m->turns with the processes of the options; false: nothing was
 * begun, and one process is to do it alone.
 */
bool tw_together_merge(struct tw_merging *m) TRAWL_MUST_CHECK;

#endif
