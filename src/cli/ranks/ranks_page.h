/* What pages show of the ranks of a job: their time, their waits, their collectives. */
#ifndef TW_CLI_RANKS_RANKS_PAGE_H
#define TW_CLI_RANKS_RANKS_PAGE_H

#include "cli/page.h"
#include "trawl/job.h"

/* "What limits the job - NAME": its model (NULL: not named) or its directory. */
const char *cli_page_of_job(const char *what, const char *model, const struct trawl_job *job);
/* Which ranks there are, and which are missing: lines of the answer. */
void cli_page_known_ranks(struct cli_page *page, const struct trawl_job *job);
/* Tables of the job with their charts, those that it has; `charts` false: without. */
void cli_page_ranks(struct cli_page *page, const struct trawl_job_report *report, bool charts);

#endif
