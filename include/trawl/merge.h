/*
 * One timeline of all ranks of a job, as a trace that viewers open.
 *
 *	trawl_merge_new(&merge, paths, count, "merged.json.gz", NULL, &err);
 *	trawl_merge_commit(merge, &err);
 *	trawl_merge_free(merge);
 */
#ifndef TRAWL_MERGE_H
#define TRAWL_MERGE_H

#include "trawl/job.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where frameworks that write a directory a rank put their trace. */
#define TRAWL_MERGE_TRACE_NAME "trace_step19.json"

struct trawl_merge_options {
	const struct trawl_allocator *allocator; /* NULL: the default */
	unsigned threads;			 /* 0: one a core */
	int64_t max_memory;    /* bytes for traces held at once; 0: half of the machine's */
	int64_t gpus_per_node; /* 0: from the traces */
	bool keep_all;	       /* every event, not only what concerns the GPU */
	int64_t most_ranks;    /* ranks below this one, -1: all */
	enum trawl_align align;
	/*
	 * The file in each directory rank<N> of a path; NULL: TRAWL_MERGE_TRACE_NAME, and any where
	 * that is not there.
	 */
	const char *trace_name;
	size_t block_size; /* bytes per read; 0: 1 MB */
	/* Called now and then with bytes of all files; other than 0 stops: TRAWL_ECANCELED. */
	int (*progress)(void *context, int64_t bytes_read, int64_t bytes);
	void *progress_context;
	/* Called for what is odd in the ranks as a job; what became of a file is in its rank. */
	void (*note)(void *context, const char *line);
	void *note_context;
};

struct trawl_merge;

TRAWL_API void trawl_merge_options_init(struct trawl_merge_options *options);

/*
 * Merges the traces that `paths` lead to, as trawl_job_read() finds them, into the file `output`
 * (gzip where its name ends with .gz), which is not there before trawl_merge_commit(): without
 * that, trawl_merge_free() removes what was written.  The bytes do not depend on threads.
 * TRAWL_EUSAGE when the output is one of the traces, TRAWL_ENODATA when none is left.
 */
TRAWL_API int trawl_merge_new(struct trawl_merge **out, const char *const *paths, size_t count,
			      const char *output, const struct trawl_merge_options *options,
			      struct trawl_error *err) TRAWL_MUST_CHECK;
TRAWL_API int trawl_merge_commit(struct trawl_merge *merge,
				 struct trawl_error *err) TRAWL_MUST_CHECK;
TRAWL_API void trawl_merge_free(struct trawl_merge *merge);

/* What of each rank is in the output: a row a rank. */
TRAWL_API const struct trawl_table *trawl_merge_table(const struct trawl_merge *merge);

/* The ranks, then what was skipped, by file; without counts of events and times. */
TRAWL_API size_t trawl_merge_files(const struct trawl_merge *merge);
TRAWL_API struct trawl_rank trawl_merge_file(const struct trawl_merge *merge, size_t index);
/* The quality record of its trace. */
TRAWL_API const struct trawl_defect *trawl_merge_defects(const struct trawl_merge *merge,
							 size_t index, size_t *count);
/* Whether no rank that was asked for, and no part of one, is skipped. */
TRAWL_API bool trawl_merge_is_whole(const struct trawl_merge *merge);

/* Whether a trace is what a merge has written, of which GPUs of several ranks have one number. */
TRAWL_API bool trawl_trace_is_merged(const struct trawl_trace *trace);

#ifdef __cplusplus
}
#endif

#endif
