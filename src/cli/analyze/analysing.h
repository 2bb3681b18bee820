/* The standalone analysis of one trace: all of it, or a category; and what is printed of it. */
#ifndef TW_CLI_ANALYZE_ANALYSING_H
#define TW_CLI_ANALYZE_ANALYSING_H

#include "cli/trace/reporting.h"
#include "standalone/standalone.h"
#include "trawl/findings.h"

#include <time.h>

struct cli_analysing {
	struct cli_reporting reporting;
	const char *model;	 /* NULL: the name of the trace */
	struct cli_texts replay; /* names by commas; none: what qualifies by itself */
	bool no_replay, no_plots;
	/* Of the job that the trace is of; NULL: it is alone. */
	const struct trawl_diagnosis *diagnosis;
	const struct trawl_job *job;
	const struct trawl_job_report *job_report;
};

/* The page of the job, which it has. */
#define CLI_JOB_PAGE "findings.html"
int cli_write_job_page(const struct cli_analysing *a, const char *path,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

/* Writes everything that comes of a report, prints the result; the exit status. */
int cli_analyse(const struct cli_analysing *a, const struct cli_trace_report *made);

/* What results call the trace: its name without a directory. */
const char *cli_trace_name(const char *path);

/* ---- earlier_outputs.c */

/*
 * Nothing that exists is deleted, so a category or a package that only another trace had stays
 * beside the new files: tells how many in the folders of DIR are older than `since`, and one of
 * them.
 */
void cli_tell_older(const char *dir, const struct timespec *since);

/* ---- results.c */

/* A table of categories, for the rows below; NULL when out of memory. */
struct trawl_table *cli_category_table(void);

/* How its analysis ended, and its figures where that is well. */
void cli_add_category(struct trawl_table *table, const char *name,
		      const struct tw_category_result *result);

/*
 * What was analysed, its categories and, last, what is most worth changing; by what the analysis
 * wrote.  `job_report` NULL: it is no job.  The exit status.
 */
int cli_print_analysis(struct tw_prepared *prepared, struct trawl_table *categories,
		       const struct trawl_diagnosis *diagnosis,
		       const struct trawl_job_report *job_report, enum tw_format format);

#endif
