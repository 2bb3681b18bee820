/* A merge while it is under way: what merge.c shares with merge_processes.c. */
#ifndef TW_JOB_MERGE_MERGE_STATE_H
#define TW_JOB_MERGE_MERGE_STATE_H

#include "job/merge/merge.h"
#include "job/merge/ordered_output.h"

struct tw_together;

/* A file with several ranks. */
struct tw_held {
	struct trawl_trace *trace; /* NULL: not read yet, or no longer held */
	uint32_t file;
	size_t ranks; /* that are still to be merged */
	int status;
	struct trawl_error err;
};

struct tw_merging {
	struct tw_merge *merge;
	const struct tw_merge_options *options;
	struct tw_turns turns;
	unsigned threads;		      /* for each trace */
	const struct trawl_allocator *memory; /* that one rank leaves to the next */
	struct tw_together *together;	      /* other processes, NULL: none */
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

/* The rank with this number among merge->ranks, by whoever has it; begun in their order. */
void tw_merging_rank(void *merging, size_t number);

/* ---- merge_processes.c: ranks go round the processes; process 0 writes all of them, in their order */

/* The text of all ranks into m->turns, by tw_merging_rank(); false: one process is to do it alone. */
bool tw_together_merge(struct tw_merging *m, struct tw_cluster *cluster,
		       unsigned threads) TRAWL_MUST_CHECK;
/* Whether another process has this rank. */
bool tw_together_elsewhere(const struct tw_together *together, size_t number);
/* Waits for what that process has sent of it, and takes over the text. */
void tw_together_take(struct tw_together *together, size_t number, struct tw_lines *lines);

#endif
