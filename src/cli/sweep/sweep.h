/*
 * trawl sweep STAGE: each stage is a command of its own in a file of its own, sweep_<stage>.c; what
 * they share is here.
 */
#ifndef TW_CLI_SWEEP_SWEEP_H
#define TW_CLI_SWEEP_SWEEP_H

#include "cli/cli.h"

#include "study/sweep/configurations.h"
#include "study/sweep/point_analysis.h"

/* Lists of numbers that choose a part of a sweep. */
struct cli_filter {
	struct cli_numbers threads, channels, ranks;
};
struct trawl_sweep_filter cli_filter_of(const struct cli_filter *lists);

/* Options of stages that read a sweep: --threads, --channels, --ranks (lists as 256,512 or 0-7). */
struct cli_sweep {
	struct cli_common common;
	struct cli_filter lists;
	enum trawl_align align; /* of the clocks of ranks */
	int64_t max_memory;
	struct trawl_sweep_filter filter;
	struct tw_sweep sweep;
};

/* Bound to a struct cli_sweep. */
extern const struct cli_option cli_sweep_filter_options[], cli_sweep_memory_options[],
	cli_sweep_output_options[], cli_sweep_align_options[];
#define CLI_SWEEP_FILTER(at) CLI_OPTIONS("Of a sweep", cli_sweep_filter_options, at)
#define CLI_SWEEP(at)                                                                  \
	CLI_SWEEP_FILTER(at), CLI_OPTIONS("Of a sweep", cli_sweep_memory_options, at), \
		CLI_OPTIONS("Of a sweep", cli_sweep_output_options, at)
#define CLI_SWEEP_ALIGN(at) CLI_OPTIONS(NULL, cli_sweep_align_options, at)

/*
 * Parses into `state`, which has `s` in it, finds the sweep of the one argument and tells its notes;
 * -1 to go on, else the exit status.  tw_sweep_release() is due when it is -1.
 */
int cli_sweep_begin(struct cli_sweep *s, const struct cli_command *command, void *state, int argc,
		    char **argv);

/* tracelens_analysis/NAME of it */
char *cli_sweep_path(const struct tw_sweep *sweep, const char *name);

/*
 * tw_sweep_analyse() of a sweep or some ranks of it, with progress on a terminal; then what there is
 * to tell, in the order of configurations.  The exit status: CLI_DONE, CLI_INCOMPLETE, or that of a
 * failure, which is told; the analyses are to be released (cli_sweep_release_points()).
 */
int cli_sweep_analyse(const struct cli_sweep *s, const struct tw_sweep *sweep, bool some_ranks,
		      unsigned outputs, struct tw_point_analysis *points);
void cli_sweep_release_points(struct tw_point_analysis *points, size_t count);

/* ---- sweep_results.c: of all configurations together */

struct cli_sweep_results {
	const struct cli_sweep *s;
	struct tw_point_analysis *points; /* by configuration */
	struct tw_configuration *list;	  /* the same */
	/* Files that were written. */
	size_t reports, collectives, comparisons, aggregates, variance, pictures, merged;
};

/*
 * Analyses the configurations and lists them.  The exit status; release is due in any case.  Without
 * a trace that could be read it is CLI_FAILED.
 */
int cli_sweep_results_make(struct cli_sweep_results *r, const struct cli_sweep *s,
			   unsigned outputs);
void cli_sweep_results_release(struct cli_sweep_results *r);
/* comparisons/, then timelines and collectives of all configurations in one table each. */
int cli_sweep_write_all(struct cli_sweep_results *r);
/* The answer and the table of configurations, and `more` behind it unless NULL. */
int cli_sweep_print_results(const struct cli_sweep_results *r, const struct trawl_table *more);
/* Where the files are. */
void cli_sweep_tell_where(const struct cli_sweep_results *r);

/* Of two exit statuses: failed, else left out, else done. */
static inline int cli_worse(int status, int other)
{
	if (status == CLI_FAILED || other == CLI_FAILED)
		return CLI_FAILED;
	return status == CLI_DONE ? other : status;
}

/* Stages as commands: their names are "sweep run", ... */
extern const struct cli_command cli_sweep_run, cli_sweep_report, cli_sweep_variance,
	cli_sweep_timestamps, cli_sweep_overlap, cli_sweep_merge, cli_sweep_plots,
	cli_sweep_aggregate, cli_sweep_all, cli_sweep_timeline, cli_sweep_trials;

#endif
