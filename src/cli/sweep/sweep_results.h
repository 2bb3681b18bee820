/* What is made of all configurations of a sweep together, and what is said of them. */
#ifndef TW_CLI_SWEEP_SWEEP_RESULTS_H
#define TW_CLI_SWEEP_SWEEP_RESULTS_H

#include "cli/sweep/sweep_point.h"

#include "study/sweep/configurations.h"

struct cli_sweep_results {
	const struct cli_sweep *s;
	struct cli_sweep_made *made;   /* by configuration */
	struct tw_configuration *list; /* the same */
	/* Files that were written. */
	size_t reports, collectives, comparisons, aggregates, variance, pictures, merged;
};

/*
 * Makes the configurations (cli_sweep_make_all()) and their list.  The exit status; release is due
 * in any case.  Without a trace that could be read it is CLI_FAILED.
 */
int cli_sweep_results_make(struct cli_sweep_results *r, const struct cli_sweep *s, unsigned makes);
void cli_sweep_results_release(struct cli_sweep_results *r);

/* comparisons/; CLI_DONE, or told. */
int cli_sweep_write_comparisons(struct cli_sweep_results *r);
/* The timelines and collectives of all configurations in one table; CLI_DONE, or told. */
int cli_sweep_write_aggregates(struct cli_sweep_results *r);

/* The answer and the table of configurations, and `more` behind it unless NULL. */
int cli_sweep_print_results(const struct cli_sweep_results *r, const struct trawl_table *more);
/* Where the files are. */
void cli_sweep_tell_where(const struct cli_sweep_results *r);

#endif
