/* From files to a job: traces are read a few at a time and reduced at once. */
#ifndef TW_JOB_SET_LOAD_H
#define TW_JOB_SET_LOAD_H

#include "job/set/job.h"
#include "job/set/sources.h"

#include <pthread.h>

struct tw_wire;

struct tw_load_options {
	unsigned threads;   /* 0: one a core */
	int64_t max_memory; /* bytes for traces that are held at once; 0: half of what there is */
	int64_t gpus_per_node;			   /* 0: from the traces */
	size_t block_size;			   /* of reading, 0: the default */
	const struct trawl_report_options *report; /* view and so on; NULL: defaults */
	struct tw_sources *sources;		   /* what their graphs are; NULL: not known */
	bool who_only; /* no more than who each is: ranks without work, collectives and tables */
	bool exposed;  /* keep the stretches of exposed communication; not between processes */
	/* Names of tables of the report of each rank to keep; NULL: none, which is quicker. */
	const char *const *tables;
	size_t table_count;
	/* What is kept of one; it has to need nothing else.  NULL: all of it. */
	struct trawl_table *(*keep)(const struct trawl_table *table,
				    const struct trawl_allocator *allocator);
	/*
	 * Called with the report of each rank while its trace is there, by several threads at once;
	 * `number` counts the ranks of a file.  The report has all tables when some are kept.
	 */
	void (*each)(void *context, uint32_t file, size_t number,
		     const struct trawl_report *report);
	void *each_context;
	/*
	 * Called with the report of each rank, by several threads at once: sets rank->attached and
	 * what frees it. 0 or TRAWL_ENOMEM.
	 */
	int (*attach)(struct tw_rank *rank, const struct trawl_report *report);
	/* Passes rank->attached between processes; NULL: nothing is. */
	void (*pass_attached)(struct tw_wire *wire, struct tw_rank *rank);
	/* Called now and then, by one thread at a time; other than 0 stops: TRAWL_ECANCELED. */
	int (*progress)(void *context, int64_t bytes_done, int64_t bytes);
	void *progress_context;
};

/* What became of a file of the set: its ranks, or why there is none. */
struct tw_file_ranks {
	struct tw_rank *ranks;
	size_t count;
	int status; /* 0, TRAWL_ENOMEM or TRAWL_ECANCELED: other failures are in a rank's state */
};

/*
 * Reads the traces of `set`, which the job takes over.  A file that cannot be read or is of a
 * rank that was there before is in job->left_out; TRAWL_ENODATA when no file is left.  The job is
 * to be released in any case.
 */
int tw_job_load(struct trawl_job *job, struct tw_rank_set *set,
		const struct tw_load_options *options, const struct trawl_allocator *allocator,
		struct trawl_error *err) TRAWL_MUST_CHECK;

/* The same, but `reduce` reads the files and reports the result of each. */
typedef void tw_reduce_files(void *context, const struct trawl_job *job,
			     const struct tw_load_options *options, struct tw_file_ranks *files);
int tw_job_load_by(struct trawl_job *job, struct tw_rank_set *set,
		   const struct tw_load_options *options, tw_reduce_files *reduce, void *context,
		   const struct trawl_allocator *allocator,
		   struct trawl_error *err) TRAWL_MUST_CHECK;
/* This process alone. */
tw_reduce_files tw_reduce_alone;

/* ---- the steps of it, for ranks that are reduced elsewhere */

/*
 * First: reduces every file of a set, in the memory and on the threads of the options, and hands
 * over what each gave, in any order and by several threads at once.
 */
typedef void tw_take_ranks(void *context, uint32_t file, struct tw_file_ranks ranks);
void tw_files_reduce(const struct tw_rank_set *set, const struct tw_load_options *options,
		     const struct trawl_allocator *allocator, tw_take_ranks *take, void *context);

/* One file; of an export of several GPUs a rank each.  Memory is of `allocator`. */
struct tw_file_ranks tw_rank_reduce(const struct tw_rank_set *set, uint32_t file,
				    const struct tw_load_options *options, unsigned threads,
				    const struct trawl_allocator *allocator);
/* The same of a trace that has been read ... */
struct tw_file_ranks tw_rank_reduce_trace(const struct tw_rank_set *set, uint32_t file,
					  const struct trawl_trace *trace,
					  const struct tw_load_options *options, unsigned threads,
					  const struct trawl_allocator *allocator);
/* Of a rank without any yet: the collectives of a trace.  0 or TRAWL_ENOMEM. */
int tw_rank_take_collectives(struct tw_rank *rank,
			     const struct tw_derived *derived) TRAWL_MUST_CHECK;
/* ... and of a file that could not be. */
struct tw_file_ranks tw_rank_of_failure(const struct tw_rank_set *set, uint32_t file, int status,
					const char *message,
					const struct trawl_allocator *allocator);
/* What a file is that could not be read with this status. */
enum trawl_rank_state tw_state_of_failure(int status, const struct tw_rank_file *file);

/*
 * Second: ranks of all files, in order of file, into a job whose set is there.  Takes over
 * `files`, an array of job->allocator as long as the set, and what it holds, also when it fails.
 */
int tw_job_settle(struct trawl_job *job, struct tw_file_ranks *files,
		  const struct tw_load_options *options, struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- memory, and how far it is: files are begun in their order, as far as memory goes */

/*
 * Memory to count for a file while in work, estimated from its name; `tenths_of_text`: tenths of a
 * byte per byte of text, 10 at most (docs/PERFORMANCE.md).
 */
int64_t tw_rank_file_memory(const struct tw_rank_file *file, unsigned tenths_of_text);

/* Half of the memory of this machine: the default limit for traces. */
int64_t tw_half_of_memory(void);

struct tw_reading {
	/* Called now and then, by one thread at a time; other than 0 calls off what is not begun. */
	int (*progress)(void *context, int64_t bytes_done, int64_t bytes);
	void *progress_context;
	int64_t bytes;	/* of all files */
	int64_t budget; /* of memory */

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	size_t begun, running;
	int64_t taken, bytes_done;
	bool canceled;
};

void tw_reading_init(struct tw_reading *reading);
void tw_reading_destroy(struct tw_reading *reading);
/*
 * Waits until those before number `file` are begun, and until there is `need` of memory or nothing
 * else runs; false: the work was called off.
 */
bool tw_reading_begin(struct tw_reading *reading, size_t file, int64_t need);
void tw_reading_end(struct tw_reading *reading, int64_t need);
/* Tells progress of so much more; whether the work is called off. */
bool tw_reading_tell(struct tw_reading *reading, int64_t bytes);

#endif
