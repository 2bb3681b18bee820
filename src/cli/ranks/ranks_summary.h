/* What a report over ranks prints: GPU time over ranks, and outlier ranks. */
#ifndef TW_CLI_RANKS_RANKS_SUMMARY_H
#define TW_CLI_RANKS_RANKS_SUMMARY_H

#include "cli/cli.h"
#include "trawl/findings.h"

struct cli_ranks_report {
	const struct trawl_job *job;
	struct trawl_job_report *of;
	const struct trawl_diagnosis *diagnosis;
	size_t top_ops;
};

/*
 * The operations with the most GPU time over all ranks; kernels where there are no operations, and
 * times on the host where no rank has GPU work.  NULL when out of memory.
 */
struct trawl_table *cli_top_over_ranks(const struct cli_ranks_report *report);

void cli_summarise_ranks(const struct cli_ranks_report *report, struct cli_screen *s);

#endif
