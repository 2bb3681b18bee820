/*
 * trawl sweep STAGE: each stage is a command of its own in a file of its own, sweep_<stage>.c; what
 * they share is here.
 */
#ifndef TW_CLI_SWEEP_SWEEP_H
#define TW_CLI_SWEEP_SWEEP_H

#include "cli/cli.h"

#include "job/clocks/clocks.h"
#include "study/sweep/sweep.h"

/* Stages as commands: their names are "sweep run", ...; ends with a NULL name. */
extern const struct cli_command cli_sweep_stages[];

/* Jobs have thousands of ranks. */
#define CLI_SWEEP_NUMBERS 4096

#define CLI_SWEEP_ALIGN_HELP                                                                    \
	"clocks of ranks: collectives (measured from their ends), base-time or none (default: " \
	"collectives for several hosts or where clocks differ, else base-time)"

/* Options of stages that read a sweep: --threads, --channels, --ranks (lists as 256,512 or 0-7). */
struct cli_sweep {
	const struct cli_command *command;
	struct cli_common common;
	const char *lists[3]; /* --threads, --channels, --ranks as given; NULL: not */
	enum tw_align align;  /* of the clocks of ranks */
	int64_t max_memory;
	int64_t numbers[3][CLI_SWEEP_NUMBERS];
	struct tw_sweep_filter filter;
	struct tw_sweep sweep;
};

void cli_sweep_options(struct cli_sweep *s, struct cli_option own[5], struct cli_option common[8]);

/*
 * Parses with the tables (which hold those of cli_sweep_options()), finds the sweep of the one
 * argument and tells its notes; -1 to go on, else the exit status.  tw_sweep_release() is due when
 * it is -1.
 */
int cli_sweep_begin(struct cli_sweep *s, const struct cli_option *const *tables, size_t table_count,
		    int argc, char **argv);

/*
 * "256,512", "0-7": numbers in order, each once; *count of at most CLI_SWEEP_NUMBERS.  `text` NULL:
 * none.  -1 to go on, else the exit status, a mistake told.
 */
int cli_numbers(const struct cli_command *command, const char *option, const char *text,
		int64_t *numbers, size_t *count);
/* The lists of --threads, --channels and --ranks; *filter points into `numbers`.  As cli_numbers(). */
int cli_read_filter(const struct cli_command *command, const char *const lists[3],
		    int64_t numbers[3][CLI_SWEEP_NUMBERS], struct tw_sweep_filter *filter);

/* Of two exit statuses: failed, else left out, else done. */
static inline int cli_worse(int status, int other)
{
	if (status == CLI_FAILED || other == CLI_FAILED)
		return CLI_FAILED;
	return status == CLI_DONE ? other : status;
}

int cli_sweep_run(const struct cli_command *command, int argc, char **argv);
int cli_sweep_report(const struct cli_command *command, int argc, char **argv);
int cli_sweep_aggregate(const struct cli_command *command, int argc, char **argv);
int cli_sweep_variance(const struct cli_command *command, int argc, char **argv);
int cli_sweep_timestamps(const struct cli_command *command, int argc, char **argv);
int cli_sweep_overlap(const struct cli_command *command, int argc, char **argv);
int cli_sweep_plots(const struct cli_command *command, int argc, char **argv);
int cli_sweep_merge(const struct cli_command *command, int argc, char **argv);
int cli_sweep_all(const struct cli_command *command, int argc, char **argv);
int cli_sweep_timeline(const struct cli_command *command, int argc, char **argv);
int cli_sweep_trials(const struct cli_command *command, int argc, char **argv);

#endif
