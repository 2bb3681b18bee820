/* trawl report RANKS: the tables of a report, over the ranks of a job. */
#ifndef TW_CLI_RANKS_REPORT_RANKS_H
#define TW_CLI_RANKS_REPORT_RANKS_H

#include "cli/ranks/ranks.h"
#include "cli/trace/reporting.h"

/* Whether the arguments are a job's ranks: several, a directory, or a pattern; else one trace. */
bool cli_is_rank_set(const char *const *arguments, size_t count);

/* Reads, writes and prints; the exit status. */
int cli_report_ranks(const struct cli_reporting *reporting, struct cli_ranks *ranks,
		     const char *const *arguments, size_t count, size_t top_ops);

#endif
