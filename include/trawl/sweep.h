/*
 * Sweeps: one training run with different numbers of threads and channels, a directory a
 * configuration; which of them is the best, by how much, and why.
 *
 *	trawl_sweep_find(&sweep, "experiments/sweep", NULL, &err);
 *	trawl_sweep_analyse(&results, sweep, 0, &err);
 *	for (i = 0; i < trawl_sweep_results_lines(results); i++)
 *		puts(trawl_sweep_results_line(results, i));
 */
#ifndef TRAWL_SWEEP_H
#define TRAWL_SWEEP_H

#include "trawl/job.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of sweeps these thread and channel counts alone, and these ranks; of none of them: all. */
struct trawl_sweep_filter {
	const int64_t *threads, *channels, *ranks;
	size_t thread_count, channel_count, rank_count;
};

struct trawl_sweep_options {
	struct trawl_sweep_filter filter;
	/* Where results go, laid out as in a sweep; NULL: into the sweep. */
	const char *output;
	unsigned threads;   /* of all configurations together; 0: one a core */
	int64_t max_memory; /* bytes for traces held at once; 0: half of the machine's */
	size_t block_size;  /* bytes per read; 0: 1 MB */
	enum trawl_align align;
	bool strict;	  /* refuse traces in which anything is odd: TRAWL_EFORMAT */
	unsigned top_k;	  /* operations of each report whose calls differ most */
	double tolerance; /* how far their times may be off, a fraction of them */
	/* Called now and then with bytes of all files; other than 0 stops: TRAWL_ECANCELED. */
	int (*progress)(void *context, int64_t bytes_read, int64_t bytes);
	void *progress_context;
	/* Called for skipped or damaged items and, unless `quiet`, for other defects. */
	void (*note)(void *context, const char *line);
	void *note_context;
	bool quiet;
};

struct trawl_sweep;

TRAWL_API void trawl_sweep_options_init(struct trawl_sweep_options *options);

/*
 * Finds the configurations in a directory and what is there of each; nothing is read but
 * directories.  `options` may be NULL; what it points to must live as long as the sweep.  TRAWL_EIO
 * when the directory is not there, TRAWL_ENODATA when no configuration is in it.
 */
TRAWL_API int trawl_sweep_find(struct trawl_sweep **out, const char *directory,
			       const struct trawl_sweep_options *options,
			       struct trawl_error *err) TRAWL_MUST_CHECK;
TRAWL_API void trawl_sweep_free(struct trawl_sweep *sweep);

/* One configuration; the texts live as long as the sweep. */
struct trawl_configuration {
	int64_t threads, channels;
	const char *name;      /* "256thread_28ch" */
	const char *directory; /* of the run, NULL: only reports are there */
	const char *ended;     /* how its run ended, where that is told and no success; else NULL */
	size_t ranks, traces, reports; /* ranks, those with a trace, those with a report */
};

/* By threads, then channels. */
TRAWL_API size_t trawl_sweep_configurations(const struct trawl_sweep *sweep);
TRAWL_API struct trawl_configuration trawl_sweep_configuration(const struct trawl_sweep *sweep,
							       size_t index);
/* Whether all is there that was asked for, or that other configurations have. */
TRAWL_API bool trawl_sweep_is_whole(const struct trawl_sweep *sweep);
/* Where results go: options.output, else the directory. */
TRAWL_API const char *trawl_sweep_output(const struct trawl_sweep *sweep);

/* ---- results: tables, sentences, and files in tracelens_analysis below options.output */

enum trawl_sweep_outputs {
	TRAWL_SWEEP_REPORTS = 1,      /* a report a rank */
	TRAWL_SWEEP_COLLECTIVES = 2,  /* a collective report a configuration */
	TRAWL_SWEEP_MERGED = 4,	      /* a merged timeline a configuration */
	TRAWL_SWEEP_VARIANCE = 8,     /* the tables of the three steps below */
	TRAWL_SWEEP_PICTURES = 16,    /* of these tables, by gnuplot */
	TRAWL_SWEEP_SVG = 32,	      /* these as SVG too */
	TRAWL_SWEEP_COMPARISONS = 64, /* of a rank's reports over all thread counts */
	TRAWL_SWEEP_AGGREGATES = 128, /* timelines, and collectives, of all in one table */
	/* What limits each configuration: findings.csv, and a sheet of its collective report. */
	TRAWL_SWEEP_FINDINGS = 256,
};

struct trawl_sweep_results;

/*
 * Analyses the traces of all configurations, each read once.  `outputs`: which files are written,
 * of the first four of the enum (the tables of variance by trawl_sweep_results_write()) and of
 * findings; 0: none.  The sweep must outlive the results.  Tables: "configurations", the best one
 * first; "findings" of each, in that order, where they are asked for; "merged_traces".  TRAWL_ENODATA when no trace could be read.
 */
TRAWL_API int trawl_sweep_analyse(struct trawl_sweep_results **out, const struct trawl_sweep *sweep,
				  unsigned outputs, struct trawl_error *err) TRAWL_MUST_CHECK;
/*
 * Writes the others of the enum; once a results.  Those of variance need TRAWL_SWEEP_VARIANCE above
 * too.  Tables: "gemm_variance", with what each configuration's GEMMs add to "configurations";
 * "All_Data" of the GPU's timelines; "NCCL_Data" of collectives.
 */
TRAWL_API int trawl_sweep_results_write(struct trawl_sweep_results *results, unsigned outputs,
					struct trawl_error *err) TRAWL_MUST_CHECK;
/*
 * The aggregates of the reports that are there, without reading a trace.  TRAWL_ENODATA when there
 * is none that can be read.
 */
TRAWL_API int trawl_sweep_aggregate(struct trawl_sweep_results **out,
				    const struct trawl_sweep *sweep,
				    struct trawl_error *err) TRAWL_MUST_CHECK;

/* Operations whose calls differ most in time. */
enum trawl_variance_step {
	TRAWL_STEP_VARIANCE,   /* which they are: rows of the sheet GEMM of the reports */
	TRAWL_STEP_TIMESTAMPS, /* when the shortest and the longest call ran */
	TRAWL_STEP_OVERLAP,    /* what communicated meanwhile */
};

/*
 * One step, from reports and, where those do not have it, from traces: the table "gemm_variance".
 * `input` is a file of the step before, NULL: the one that is there, TRAWL_ENODATA if none is;
 * `output` what is written, NULL: the step's file, beside `input` where options.output is NULL.
 */
TRAWL_API int trawl_sweep_variance(struct trawl_sweep_results **out,
				   const struct trawl_sweep *sweep, enum trawl_variance_step step,
				   const char *input, const char *output,
				   struct trawl_error *err) TRAWL_MUST_CHECK;
/*
 * Pictures of the table of a step, a CSV file, in a directory, and the table
 * "variance_statistics".  Of the options the filter, threads and notes count; NULL: the defaults.
 * TRAWL_ENODATA when there are no rows.
 */
TRAWL_API int trawl_variance_draw(struct trawl_sweep_results **out, const char *table,
				  const char *directory, bool svg,
				  const struct trawl_sweep_options *options,
				  struct trawl_error *err) TRAWL_MUST_CHECK;

TRAWL_API void trawl_sweep_results_free(struct trawl_sweep_results *results);

/* Whether nothing that was asked for is left out. */
TRAWL_API bool trawl_sweep_results_is_whole(const struct trawl_sweep_results *results);

/* Tables, and by name, NULL when it is not there; until the next _write. */
TRAWL_API size_t trawl_sweep_results_tables(const struct trawl_sweep_results *results);
TRAWL_API const struct trawl_table *trawl_sweep_results_table(
	const struct trawl_sweep_results *results, size_t index);
TRAWL_API const struct trawl_table *trawl_sweep_results_find(
	const struct trawl_sweep_results *results, const char *name);

/* The answer in sentences: the best configuration, by how much, what it trades. */
TRAWL_API size_t trawl_sweep_results_lines(const struct trawl_sweep_results *results);
TRAWL_API const char *trawl_sweep_results_line(const struct trawl_sweep_results *results,
					       size_t index);

/*
 * What the tables of variance, else those of aggregates say, for people: lines of at most `width`
 * characters, "" of other results.  It lives until the next call; NULL: out of memory.
 */
TRAWL_API const char *trawl_sweep_results_text(struct trawl_sweep_results *results, unsigned width);

/* How many files of one of the enum are written. */
TRAWL_API size_t trawl_sweep_results_files(const struct trawl_sweep_results *results,
					   enum trawl_sweep_outputs output);
/* What the last of them is called, "": there is none. */
TRAWL_API const char *trawl_sweep_results_path(const struct trawl_sweep_results *results);

#ifdef __cplusplus
}
#endif

#endif
