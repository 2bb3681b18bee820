/* What a report over ranks prints: where the time goes over the ranks, and which stand out. */
#ifndef TW_CLI_RANKS_RANKS_SUMMARY_H
#define TW_CLI_RANKS_RANKS_SUMMARY_H

#include "cli/cli.h"
#include "job/tables/all_tables.h"

/* The tables of a report over ranks. */
struct cli_ranks_report {
	const struct tw_job *job;
	const struct trawl_table *const *tables;
	size_t count;
	size_t top_ops;
};

/* By name, NULL when there is none. */
static inline const struct trawl_table *cli_ranks_table(const struct cli_ranks_report *report,
							const char *name)
{
	return tw_ranks_tables_find((struct trawl_table *const *)report->tables, report->count,
				    name);
}

/*
 * The operations with the most GPU time over all ranks; kernels where there are no operations, and
 * times on the host where no rank has GPU work.  NULL when out of memory.
 */
struct trawl_table *cli_top_over_ranks(const struct cli_ranks_report *report);

void cli_summarise_ranks(const struct cli_ranks_report *report, struct cli_screen *s);

#endif
