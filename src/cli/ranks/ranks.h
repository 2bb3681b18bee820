/*
 * What commands over the ranks of a job share: finding and loading the traces, telling which were
 * skipped.
 */
#ifndef TW_CLI_RANKS_RANKS_H
#define TW_CLI_RANKS_RANKS_H

#include "cli/cli.h"
#include "trawl/findings.h"

struct cli_ranks {
	const struct cli_common *common;
	struct trawl_job_options options; /* of what is no option of the command line, the defaults */
	unsigned gpus_per_node;		  /* 0: from the traces */
};

/* --max-memory, --gpus-per-node, --as-ranks, bound to a struct cli_ranks. */
extern const struct cli_option cli_ranks_options[];
#define CLI_RANKS(at) CLI_OPTIONS("Ranks of a job", cli_ranks_options, at)

/* The clock of ranks: enum trawl_align. */
extern const struct cli_kind cli_align;
#define CLI_ALIGN_HELP                                                                      \
	"clock alignment: collectives (from their end times), base-time or none (default: " \
	"collectives on several hosts or if clocks differ, else base-time)"

/*
 * The job of the traces given as arguments, with progress on a terminal; skipped traces are named
 * on stderr. With --strict any defect of a trace fails. The exit status, CLI_DONE or
 * CLI_INCOMPLETE; any other one means no job (CLI_LED among them, of a process that reduces for
 * another: processes.h).
 */
int cli_load_job(struct trawl_job **job, struct cli_ranks *ranks, const char *const *arguments,
		 size_t count);

/*
 * Loads it, and calls `command` with each of its replicas until one is not CLI_DONE: that status, else
 * the one of loading.
 */
int cli_for_each_job(struct cli_ranks *ranks, const char *const *arguments, size_t count,
		     int (*command)(void *context, struct trawl_job *job), void *context);

/*
 * What limits the job; *out NULL where it fails, or its traces were not read for findings.  The exit
 * status, CLI_DONE to go on.
 */
int cli_diagnose_job(struct trawl_diagnosis **out, struct trawl_job *job,
		     const struct cli_ranks *ranks);

/* `note` of options, for a struct tw_str that tw_str_note() adds to. */
void cli_keep_note(void *notes, const char *line);

/*
 * Where its results go: without -o the directory analysis_output beside the traces.  Of several
 * groups each has a directory of its name in it.
 */
const char *cli_job_dir(const struct trawl_job *job, const struct cli_common *common);

/*
 * "4 of 4 ranks (from distributedInfo)": how many there are, of how many, and where their numbers
 * come from.
 */
void cli_add_ranks_known(struct tw_str *out, const struct trawl_job *job);

/* "no trace of ranks 2, 4-7", a line; nothing where none is missing. */
void cli_add_missing(struct tw_str *out, const struct trawl_job *job);

/*
 * What of the traces is looked at, and how much of what steps launched ran after their end; nothing
 * where it is the whole.
 */
void cli_add_ranks_view(struct tw_str *out, const struct trawl_job *job);

#endif
