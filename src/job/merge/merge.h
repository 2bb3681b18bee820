/*
 * One timeline of all ranks of a job, as a trace that viewers open.
 *
 * Ranks are read, formatted and written in parallel, in the order of their numbers; what is in
 * memory is the traces that are being worked at, and text that waits for its turn.  The bytes do
 * not depend on the number of threads.
 */
#ifndef TW_JOB_MERGE_MERGE_H
#define TW_JOB_MERGE_MERGE_H

#include "job/clocks/clocks.h"
#include "job/merge/rank_events.h"
#include "job/set/load.h"
#include "job/transport/cluster.h"
#include "trawl/merge.h"

struct tw_merge_options {
	struct tw_load_options load; /* of reading, and progress */
	bool keep_all;		     /* every event, not only what concerns the GPU */
	int64_t most_ranks;	     /* ranks below this one, -1: all */
	enum trawl_align align;
	/*
	 * Called with each trace while it is there, by several threads at once; `file` is its place
	 * in the set.  Not where several processes merge together.
	 */
	void (*visit)(void *context, uint32_t file, const struct trawl_trace *trace,
		      unsigned threads);
	void *visit_context;
	struct tw_cluster *cluster; /* processes that merge together, NULL: this one alone */
};

/* A rank of the job, or a skipped one, and what became of it in the merge. */
struct tw_merged {
	struct tw_rank *of;    /* state READ, DAMAGED, NO_GPU: it is in the output */
	int64_t told_rank;     /* what the trace tells once it is read, -1: nothing */
	int64_t shift_ns;      /* added to its times */
	struct tw_clock clock; /* where clocks are aligned by collectives */
	struct tw_merge_counts counts;
	const char *about; /* JSON: what the trace tells beside its events, "": nothing */
	struct trawl_defect *defects;
	size_t defect_count;
};

struct trawl_merge {
	const struct trawl_allocator *allocator;
	struct trawl_job job;	 /* who the ranks are; of several groups the first is merged */
	struct tw_merged *ranks; /* by rank, then what is skipped, by file */
	size_t count, file_count, rank_room;
	int64_t world_size; /* of the ranks that were asked for; -1: not known */
	int64_t *missing;   /* of these, those without a trace */
	size_t missing_count, missing_room;
	int64_t base_time_ns;	/* that all times are on, TRAWL_TIME_NONE: none */
	enum trawl_align align; /* what was done */
	bool unsure;		/* the clock of a rank could not be aligned */
	struct tw_deflate *out;
	struct trawl_table *table; /* of trawl_merge_new() */
};

/*
 * Merges the traces of `set`, which it takes over, into the file `path` (gzip by its name), which
 * is not there before _commit.  A file that cannot be read, or is of a rank that was there before,
 * is skipped; TRAWL_ENODATA when none is left.  _release is due in any case.
 */
int tw_merge_run(struct trawl_merge *merge, struct tw_rank_set *set, const char *path,
		 const struct tw_merge_options *options, const struct trawl_allocator *allocator,
		 struct trawl_error *err) TRAWL_MUST_CHECK;
/* Without _commit what was written is removed. */
void tw_merge_release(struct trawl_merge *merge);

/*
 * In a process that is led by another, which merges: does one task of TW_TASK_MERGE as
 * tw_cluster_await() gave it, with the options of process 0.  What goes wrong with files is sent;
 * what is left is that process 0 cannot be reached.
 */
int tw_merge_share(const char *task, size_t len, const struct tw_merge_options *options,
		   const struct trawl_allocator *allocator,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

/* Whether a name asks for gzip. */
bool tw_merge_is_gzip(const char *path);

/* ---- inside: plan.c */

/*
 * Numbers the files and puts them in order; ENODATA when none is left, EUSAGE when one of them is
 * the file to be written.
 */
int tw_merge_plan(struct trawl_merge *merge, const char *path,
		  const struct tw_merge_options *options, struct trawl_error *err) TRAWL_MUST_CHECK;
/* Says why not: of the first file of which there is a reason; TRAWL_ENODATA. */
int tw_merge_nothing_left(const struct trawl_merge *merge, struct trawl_error *err);
/* align.c: what is added to the times of each. */
int tw_merge_align(struct trawl_merge *merge, const struct tw_merge_options *options,
		   struct trawl_error *err) TRAWL_MUST_CHECK;
static inline bool tw_merged_is_in(const struct tw_merged *rank)
{
	return !tw_rank_is_left_out(rank->of);
}

static inline const struct tw_rank_file *tw_merged_file(const struct trawl_merge *merge,
							const struct tw_merged *rank)
{
	return &merge->job.set.files[rank->of->file];
}

#endif
