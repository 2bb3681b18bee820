/*
 * trawl sweep STAGE: each stage is a command of its own in a file of its own, sweep_<stage>.c; what
 * they share is here.
 */
#ifndef TW_CLI_SWEEP_SWEEP_H
#define TW_CLI_SWEEP_SWEEP_H

#include "cli/cli.h"

#include "trawl/sweep.h"

/* Lists of numbers that choose a part of a sweep. */
struct cli_filter {
	struct cli_numbers threads, channels, ranks;
};
struct trawl_sweep_filter cli_filter_of(const struct cli_filter *lists);

/* Options of stages that read a sweep: --threads, --channels, --ranks (lists as 256,512 or 0-7). */
struct cli_sweep {
	struct cli_common common;
	struct cli_filter lists;
	struct trawl_sweep_options options;
	const char *directory;
	struct trawl_sweep *sweep;
	struct cli_progress progress;
	struct tw_str notes;
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
 * -1 to go on, else the exit status.  cli_sweep_end() is due when it is -1.
 */
int cli_sweep_begin(struct cli_sweep *s, const struct cli_command *command, void *state, int argc,
		    char **argv);
void cli_sweep_end(struct cli_sweep *s);

/* Around a call that reads traces: progress on a terminal, then what there is to tell. */
void cli_sweep_call(struct cli_sweep *s);
/* The exit status of what the call gave: CLI_DONE, or that of the failure. */
int cli_sweep_called(struct cli_sweep *s, int status, const struct trawl_error *err);

/* ---- sweep_results.c: of all configurations together */

/* trawl_sweep_analyse() with the exit status. */
int cli_sweep_analyse(struct cli_sweep *s, unsigned outputs, struct trawl_sweep_results **results);
/* trawl_sweep_results_write() with the exit status. */
int cli_sweep_write(struct cli_sweep *s, unsigned outputs, struct trawl_sweep_results *results);
/* The answer and the table of configurations, and for programs `more` behind it unless NULL. */
int cli_sweep_print_results(const struct cli_sweep *s, const struct trawl_sweep_results *results,
			    const struct trawl_table *more);
/* Tables of results that are there. */
int cli_sweep_print_table(const struct cli_sweep *s, const struct trawl_sweep_results *results,
			  const char *name, const char *schema);
/* trawl_sweep_results_text() */
int cli_sweep_print_text(struct trawl_sweep_results *results, const char *before);
/* sweep_page.c: the page of the whole, in tracelens_analysis; the exit status. */
#define CLI_SWEEP_PAGE "sweep.html"
int cli_sweep_write_page(const struct cli_sweep *s, const struct trawl_sweep_results *results,
			 bool plots);
/* Where the files are. */
void cli_sweep_tell_where(const struct cli_sweep *s, const struct trawl_sweep_results *results);
/* CLI_INCOMPLETE in the place of CLI_DONE where something is left out. */
int cli_sweep_status(int status, const struct trawl_sweep_results *results);

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
