/*
 * The ranks of a job, each read from a trace, and a report over all of them.
 *
 *	trawl_job_read(&job, paths, count, NULL, &err);
 *	trawl_job_report_new(&report, job, NULL, &err);
 *	table = trawl_job_report_find(report, "verdict");
 *
 * examples/ranks.c is a whole program.  Times are nanoseconds on the clock of each trace.
 */
#ifndef TRAWL_JOB_H
#define TRAWL_JOB_H

#include "trawl/report.h"

#ifdef __cplusplus
extern "C" {
#endif

struct trawl_job;
struct trawl_diagnosis;

/* How a trace's rank is known, the surest first. */
enum trawl_rank_rule {
	TRAWL_RANK_BY_METADATA,	   /* distributedInfo */
	TRAWL_RANK_BY_LABEL,	   /* a label of the process */
	TRAWL_RANK_BY_COLLECTIVES, /* what is recorded of its collectives */
	TRAWL_RANK_BY_NAME,	   /* of the file or its directories */
	TRAWL_RANK_BY_ORDER,	   /* of the files, which is a guess */
};

/* "distributedInfo", "file order": where the number of a rank comes from, in words. */
TRAWL_API const char *trawl_rank_rule_words(enum trawl_rank_rule rule);

/* What became of a file. */
enum trawl_rank_state {
	TRAWL_RANK_READ,
	TRAWL_RANK_DAMAGED, /* read, but part of it is lost */
	TRAWL_RANK_NO_GPU,  /* read; there is no GPU work in it */
	/* What has no part in the job. */
	TRAWL_RANK_DUPLICATE,	/* skipped: another trace is of the same rank */
	TRAWL_RANK_CAPTURE,	/* skipped: an earlier capture of the same process */
	TRAWL_RANK_UNREADABLE,	/* skipped: `message` has the reason */
	TRAWL_RANK_NOT_A_TRACE, /* ignored: found in a directory, and no trace by its content */
};

/* A rank, or what was skipped; the texts live as long as the job. */
struct trawl_rank {
	int64_t rank;
	enum trawl_rank_state state;
	/* Why it is unreadable; TRAWL_EUSAGE: it does not have the selected step or range. */
	enum trawl_status status;
	enum trawl_rank_rule rule;
	int64_t name_rank; /* from the file's name, -1: none */
	int64_t told_rank; /* of a merge: what the trace says once it is read, -1: nothing */
	const char *path;
	/* "" if unknown. */
	const char *message; /* why it is skipped, or what is odd in it */
	const char *host, *device;
	const char *gpu;  /* of a file of several ranks: its trawl_report_options.device */
	const char *view; /* what of the trace is looked at, as trawl_report_view() */
	uint64_t events, gpu_events, collectives;
	/* Of steps or ranges: busy with what they launched, and that outside of their own time. */
	int64_t launched_ns, elsewhere_ns;
};

/* A trace that says what GPU graphs run, as trawl_trace_add_source() takes it. */
struct trawl_job_source {
	const char *path;
	enum trawl_graph_source kind;
	int64_t rank; /* the one it is of; ranks without one of their own take any.  -1: of all ranks */
	bool found; /* it may have nothing to say */
};

struct trawl_job_options {
	const struct trawl_allocator *allocator;   /* NULL: the default */
	const struct trawl_report_options *report; /* of each rank; NULL: the defaults */
	unsigned threads;			   /* 0: one a core */
	int64_t max_memory;    /* bytes for traces held at once; 0: half of the machine's */
	int64_t gpus_per_node; /* 0: from the traces */
	bool as_ranks;	       /* also traces that do not look like ranks of one job */
	bool ranks_chosen;     /* ranks without a trace are no omission */
	bool strict;	       /* refuse traces in which anything is odd: TRAWL_EFORMAT */
	/*
	 * No tables of the ranks' own reports are kept, which is quicker: there will be none that
	 * are summed over the ranks.
	 */
	bool collectives_only;
	bool dependencies; /* what trawl_path_new() needs is kept of each trace; not with findings */
	bool findings;	   /* keep of each rank what trawl_diagnose_job() needs */
	size_t block_size;			/* bytes per read; 0: 1 MB */
	const struct trawl_job_source *sources; /* of the ranks' graphs */
	size_t source_count;
	/* Called now and then with bytes of all files; other than 0 stops: TRAWL_ECANCELED. */
	int (*progress)(void *context, int64_t bytes_read, int64_t bytes);
	void *progress_context;
	/* Called for each file skipped and for what is odd in a rank, or in the ranks as a job. */
	void (*note)(void *context, const char *line);
	void *note_context;
};

TRAWL_API void trawl_job_options_init(struct trawl_job_options *options);

/*
 * Reads the traces that `paths` lead to: files, directories with all below them, and patterns
 * with * ? [.  What cannot be read, or is of a rank that is there already, is skipped.  TRAWL_EIO
 * when a path is not there, TRAWL_ENODATA when nothing is left, TRAWL_EFORMAT when the traces do
 * not look like ranks of one job.  `options` may be NULL.
 */
TRAWL_API int trawl_job_read(struct trawl_job **out, const char *const *paths, size_t count,
			     const struct trawl_job_options *options,
			     struct trawl_error *err) TRAWL_MUST_CHECK;
TRAWL_API void trawl_job_free(struct trawl_job *job);

/*
 * Replicas of one program among the paths, each with ranks of its own, are a job each: the first,
 * which owns the others, and the one after it, NULL: there is none.  What the group is called:
 * "dp1", NULL where there is only one.
 */
TRAWL_API const struct trawl_job *trawl_job_next(const struct trawl_job *job);
TRAWL_API const char *trawl_job_group(const struct trawl_job *job);

/* The ranks that are analysed, by rank. */
TRAWL_API size_t trawl_job_ranks(const struct trawl_job *job);
TRAWL_API struct trawl_rank trawl_job_rank(const struct trawl_job *job, size_t index);
/* The other files, by file; of several groups the first job has them. */
TRAWL_API size_t trawl_job_left_out(const struct trawl_job *job);
TRAWL_API struct trawl_rank trawl_job_left_out_rank(const struct trawl_job *job, size_t index);
/* Ranks of the job, or of a recorded process group, of which there is no trace: *count of them. */
TRAWL_API const int64_t *trawl_job_missing(const struct trawl_job *job, size_t *count);
/* Whether no rank, and no part of one, is skipped; of several groups asked of the first. */
TRAWL_API bool trawl_job_is_whole(const struct trawl_job *job);

/* The number of ranks recorded in the traces, -1: unknown. */
TRAWL_API int64_t trawl_job_world_size(const struct trawl_job *job);
/* 0: not known. */
TRAWL_API int64_t trawl_job_gpus_per_node(const struct trawl_job *job);
/* The deepest directory that holds all files: for output beside the input. */
TRAWL_API const char *trawl_job_directory(const struct trawl_job *job);

/* ---- the report */

/* What is done about clocks that differ. */
enum trawl_align {
	TRAWL_ALIGN_AUTO,	 /* collectives where several hosts are found, else base time */
	TRAWL_ALIGN_COLLECTIVES, /* base time, minus the offsets from the ends of collectives */
	TRAWL_ALIGN_BASE_TIME,	 /* times of the trace plus its base time, if all ranks have one */
	TRAWL_ALIGN_NONE,	 /* times as the traces have them */
};

struct trawl_job_report_options {
	enum trawl_align align;
	/* Tables about collectives, one by one and by kind, in the place of those of `report`. */
	bool collectives;
	unsigned threads; /* 0: one a core */
	/*
	 * Of this job, by trawl_diagnose_job(): its table is the first, and the verdict says what it
	 * says.  It may be freed afterwards.  NULL: the verdict is by waits alone.
	 */
	const struct trawl_diagnosis *diagnosis;
};

struct trawl_job_report;

TRAWL_API void trawl_job_report_options_init(struct trawl_job_report_options *options);

/*
 * Holds the ranks against each other: tables of the job (its ranks, the verdict, stragglers,
 * waits) and, after them, tables of the ranks' reports summed over the ranks.  The job must
 * outlive the report.  `options` may be NULL.
 */
TRAWL_API int trawl_job_report_new(struct trawl_job_report **out, const struct trawl_job *job,
				   const struct trawl_job_report_options *options,
				   struct trawl_error *err) TRAWL_MUST_CHECK;
TRAWL_API void trawl_job_report_free(struct trawl_job_report *report);

/* Non-empty tables, in the order of a workbook. */
TRAWL_API size_t trawl_job_report_tables(const struct trawl_job_report *report);
TRAWL_API const struct trawl_table *trawl_job_report_table(const struct trawl_job_report *report,
							   size_t index);
/* By name, NULL when it is not there. */
TRAWL_API const struct trawl_table *trawl_job_report_find(const struct trawl_job_report *report,
							  const char *name);
/* The names of all tables of a job itself, in order; NULL after the last. */
TRAWL_API const char *trawl_job_report_table_name(size_t index);
/* What they are, and the findings and outliers among the ranks first; false after the last. */
TRAWL_API bool trawl_job_report_declares(size_t index, struct trawl_table_declaration *out);

#ifdef __cplusplus
}
#endif

#endif
