/* From files to a job: traces are read a few at a time and reduced at once. */
#ifndef TW_JOB_SET_LOAD_H
#define TW_JOB_SET_LOAD_H

#include "job/set/job.h"
#include "trawl/report.h"

struct tw_load_options {
	unsigned threads;   /* 0: one a core */
	int64_t max_memory; /* bytes for traces that are held at once; 0: half of what there is */
	int64_t gpus_per_node;			   /* 0: as the traces tell */
	size_t block_size;			   /* of reading, 0: the default */
	const struct trawl_report_options *report; /* view and so on; NULL: defaults */
	bool who_only; /* no more than who each is: ranks without work, collectives and tables */
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
	/* Called now and then, by one thread at a time; other than 0 stops: TRAWL_ECANCELED. */
	int (*progress)(void *context, size_t files_done, size_t files, int64_t bytes_done,
			int64_t bytes);
	void *progress_context;
};

/*
 * Reads the traces of `set`, which the job takes over.  A file that cannot be read or is of a
 * rank that was there before is in job->left_out; TRAWL_ENODATA when no file is left.  The job is
 * to be released in any case.
 */
int tw_job_load(struct tw_job *job, struct tw_rank_set *set, const struct tw_load_options *options,
		const struct trawl_allocator *allocator, struct trawl_error *err) TRAWL_MUST_CHECK;

/* What became of a file of the set. */
struct tw_file_ranks {
	struct tw_rank *ranks;
	size_t count;
	int status;
};

/* The same where it is up to `reduce` who reads the files: it says of each what became of it. */
typedef void tw_reduce_files(void *context, const struct tw_job *job,
			     const struct tw_load_options *options, struct tw_file_ranks *files);
int tw_job_load_by(struct tw_job *job, struct tw_rank_set *set,
		   const struct tw_load_options *options, tw_reduce_files *reduce, void *context,
		   const struct trawl_allocator *allocator,
		   struct trawl_error *err) TRAWL_MUST_CHECK;
/* This process alone. */
tw_reduce_files tw_reduce_alone;

/*
 * The first step of it: reduces every file of a set, in the memory and on the threads of the
 * options, and hands over what each gave, as tw_rank_reduce() has it, in any order and by several
 * threads at once.
 */
typedef void tw_take_ranks(void *context, uint32_t file, int status, struct tw_rank *ranks,
			   size_t count);
void tw_files_reduce(const struct tw_rank_set *set, const struct tw_load_options *options,
		     const struct trawl_allocator *allocator, tw_take_ranks *take, void *context);

/*
 * The second step: ranks of all files, in order of file, into a job whose set is there.  Takes over
 * `files`, an array of job->allocator as long as the set, and what it holds, also when it fails.
 */
int tw_job_settle_files(struct tw_job *job, struct tw_file_ranks *files,
			const struct tw_load_options *options,
			struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * Bytes of memory to count for a file while it is worked at, by what its name tells of it;
 * `tenths_of_text`: what a byte of text takes, 10 at most (docs/PERFORMANCE.md).
 */
int64_t tw_rank_file_memory(const struct tw_rank_file *file, unsigned tenths_of_text);

/* Half of the memory of this machine, which traces get when nothing is said. */
int64_t tw_half_of_memory(void);

/*
 * The steps of that, for ranks that are reduced elsewhere: one file into one rank or, of an export
 * of several GPUs, several (*count of them in *ranks, in memory of `allocator`); failures of the
 * file are in their state and message, so the status is 0 or TRAWL_ENOMEM ...
 */
int tw_rank_reduce(const struct tw_rank_set *set, uint32_t file,
		   const struct tw_load_options *options, unsigned threads,
		   const struct trawl_allocator *allocator, struct tw_rank **ranks, size_t *count);
/* The same of a trace that has been read. */
int tw_rank_reduce_trace(const struct tw_rank_set *set, uint32_t file,
			 const struct trawl_trace *trace, const struct tw_load_options *options,
			 unsigned threads, const struct trawl_allocator *allocator,
			 struct tw_rank **ranks, size_t *count);
/*
 * ... and all ranks of all files, in any order, into a job whose set is there; takes over what they
 * hold and the list, also when it fails.
 */
int tw_job_settle(struct tw_job *job, struct tw_rank *ranks, size_t count,
		  const struct tw_load_options *options, struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
