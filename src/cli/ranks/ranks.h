/*
 * What commands over the ranks of a job share: finding and loading the traces, telling which were
 * left out.
 */
#ifndef TW_CLI_RANKS_RANKS_H
#define TW_CLI_RANKS_RANKS_H

#include "cli/cli.h"

#include "job/clocks/clocks.h"
#include "job/set/load.h"

struct cli_ranks {
	const struct cli_common *common;
	const struct trawl_report_options *report;
	int64_t max_memory;	   /* 0: half of what there is */
	unsigned gpus_per_node;	   /* 0: as the traces tell */
	bool as_ranks;		   /* also traces that do not look like ranks of one job */
	const char *const *tables; /* of the report of each rank, to keep */
	size_t table_count;
	/* What is kept of such a table, NULL: all of it. */
	struct trawl_table *(*keep)(const struct trawl_table *table,
				    const struct trawl_allocator *allocator);
};

/* --max-memory, --gpus-per-node, --as-ranks, bound to a struct cli_ranks. */
extern const struct cli_option cli_ranks_options[];
#define CLI_RANKS(at) CLI_OPTIONS("Ranks of a job", cli_ranks_options, at)

/* The clock of ranks: enum tw_align. */
extern const struct cli_kind cli_align;
#define CLI_ALIGN_HELP                                                                          \
	"clocks of ranks: collectives (measured from their ends), base-time or none (default: " \
	"collectives for several hosts or where clocks differ, else base-time)"

/*
 * The job of the traces that the arguments lead to, with progress on a terminal; what was left out
 * is told on stderr.  With --strict whatever is odd in a trace fails.  The exit status, CLI_DONE
 * or CLI_INCOMPLETE; the job is to be released unless it is another one (CLI_LED among them, of a
 * process that reduces for another: processes.h).
 */
int cli_load_job(struct tw_job *job, const struct cli_ranks *ranks, const char *const *arguments,
		 size_t count);

/* In a process that is led: reduces, and with options for that merges, what it is told to; CLI_LED. */
struct tw_merge_options;
int cli_be_led(const struct tw_load_options *load, const struct tw_merge_options *merge);

/* For struct tw_load_options, with a struct cli_progress as context. */
int cli_job_progress(void *progress, size_t files_done, size_t files, int64_t bytes_done,
		     int64_t bytes);

/*
 * Where its results go: without -o the directory analysis_output beside the traces.  Of several
 * groups each has a directory of its name in it.
 */
const char *cli_job_dir(const struct tw_job *job, const struct cli_common *common);

/*
 * "4 of 4 ranks (from distributedInfo)": how many there are, of how many, and where their numbers
 * come from.
 */
void cli_add_ranks_known(struct tw_str *out, const struct tw_job *job);

/*
 * What of the traces is looked at, and how much of what steps launched ran after their end; nothing
 * where it is the whole.
 */
void cli_add_ranks_view(struct tw_str *out, const struct tw_job *job);

#endif
