/*
 * The standalone analysis as commands run it: all of it with the trace read once, or a category;
 * and what they print.
 */
#ifndef TW_CLI_ANALYZE_ANALYSING_H
#define TW_CLI_ANALYZE_ANALYSING_H

#include "cli/analyze/prepare.h"

struct cli_analysing {
	struct cli_reporting reporting;
	const char *model;	 /* NULL: the name of the trace */
	struct cli_texts replay; /* names by commas; none: what qualifies by itself */
	bool no_replay, no_plots;
};

/* Writes everything, prints the result; the exit status. */
int cli_analyse(struct cli_analysing *analysing);

/* ---- results.c */

/* A table of categories, for the rows below; NULL when out of memory. */
struct trawl_table *cli_category_table(void);
/* How its analysis ended, its time and bottlenecks by its metrics. */
/* The time that it is about; negative when it is not known. */
double cli_category_time(struct tw_prepared *prepared, const char *name);
void cli_add_category(struct trawl_table *table, struct tw_prepared *prepared, const char *name,
		      const struct tw_category_result *result);

/*
 * What was analysed, its categories and, last, what is most worth changing; by what the analysis
 * wrote.  The exit status.
 */
int cli_print_analysis(struct tw_prepared *prepared, struct trawl_table *categories,
		       enum tw_format format);

#endif
