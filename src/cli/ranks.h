/*
 * What commands over the ranks of a job share: finding and loading the traces, telling which were
 * left out.
 */
#ifndef TW_CLI_RANKS_H
#define TW_CLI_RANKS_H

#include "cli/cli.h"

#include "ranks/clocks.h"
#include "ranks/load.h"

struct cli_ranks {
	const struct cli_common *common;
	const struct trawl_report_options *report; /* NULL: the defaults */
	int64_t max_memory;			   /* 0: half of what there is */
	unsigned gpus_per_node;			   /* 0: as the traces tell */
	const char *const *tables;		   /* of the report of each rank, to keep */
	size_t table_count;
	bool chosen; /* ranks, or a trace, were asked for: that others are not there is no omission */
	/* What is kept of such a table, NULL: all of it. */
	struct trawl_table *(*keep)(const struct trawl_table *table,
				    const struct trawl_allocator *allocator);
};

/* Binds the options that say how: --max-memory, --gpus-per-node. */
void cli_ranks_options(struct cli_ranks *ranks, struct cli_option options[3]);

/*
 * The job of the traces that the arguments lead to, with progress on a terminal; what was left out
 * is told on stderr.  With --strict whatever is odd in a trace fails.  The exit status, CLI_DONE
 * or CLI_INCOMPLETE; the job is to be released unless it is another one (CLI_LED among them, of a
 * process that reduces for another: together.h).
 */
int cli_load_job(struct tw_job *job, const struct cli_ranks *ranks, const char *const *arguments,
		 size_t count);

/* collectives, base-time or none; `text` NULL leaves *align.  -1 to go on, else CLI_USAGE. */
int cli_read_align(const struct cli_command *command, const char *text, enum tw_align *align);

/* DIR/name, NULL: DIR; without -o the directory analysis_output beside the traces. */
void cli_job_path(const struct tw_job *job, const struct cli_common *common, const char *name,
		  struct tw_str *out);

/* "0, 3-5, 7" of sorted ranks, "and N more" behind the first twenty parts. */
void cli_add_rank_list(struct tw_str *out, const int64_t *ranks, size_t count);

#endif
