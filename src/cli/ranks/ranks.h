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
	const struct trawl_report_options *report; /* NULL: the defaults */
	int64_t max_memory;			   /* 0: half of what there is */
	unsigned gpus_per_node;			   /* 0: as the traces tell */
	const char *const *tables;		   /* of the report of each rank, to keep */
	size_t table_count;
	bool as_ranks; /* also traces that do not look like ranks of one job */
	bool groups;   /* the caller looks at all jobs of several groups, not at the first alone */
	bool chosen; /* ranks, or a trace, were asked for: that others are not there is no omission */
	/* What is kept of such a table, NULL: all of it. */
	struct trawl_table *(*keep)(const struct trawl_table *table,
				    const struct trawl_allocator *allocator);
};

/* Binds the options that say how: --max-memory, --gpus-per-node, --as-ranks. */
void cli_ranks_options(struct cli_ranks *ranks, struct cli_option options[4]);

/*
 * The job of the traces that the arguments lead to, with progress on a terminal; what was left out
 * is told on stderr.  With --strict whatever is odd in a trace fails.  The exit status, CLI_DONE
 * or CLI_INCOMPLETE; the job is to be released unless it is another one (CLI_LED among them, of a
 * process that reduces for another: processes.h).
 */
int cli_load_job(struct tw_job *job, const struct cli_ranks *ranks, const char *const *arguments,
		 size_t count);

/* collectives, base-time or none; `text` NULL leaves *align.  -1 to go on, else CLI_USAGE. */
int cli_read_align(const struct cli_command *command, const char *text, enum tw_align *align);

/*
 * DIR/name, NULL: DIR; without -o the directory analysis_output beside the traces.  Of several
 * groups each has a directory of its name in it.
 */
void cli_job_path(const struct tw_job *job, const struct cli_common *common, const char *name,
		  struct tw_str *out);

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

/*
 * Says, where that is so, that collectives of several traces say one rank, and that ranks have their
 * numbers from the order of the files alone.
 */
void cli_tell_apart(const struct tw_apart *apart);
void cli_tell_order(size_t clashes, size_t by_order, size_t count);

/*
 * Says where traces do not fit into one job: `rank` says another size (its_world, -1: none does),
 * or the last rank is beyond the size (-1: not known).
 */
void cli_tell_world(int64_t rank, int64_t its_world, int64_t last_rank, int64_t world);

/* "0, 3-5, 7" of sorted ranks, "and N more" behind the first twenty parts. */
void cli_add_rank_list(struct tw_str *out, const int64_t *ranks, size_t count);

#endif
