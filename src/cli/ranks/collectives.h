/* What trawl collectives does with its tables. */
#ifndef TW_CLI_RANKS_COLLECTIVES_H
#define TW_CLI_RANKS_COLLECTIVES_H

#include "cli/cli.h"

#include "trawl/job.h"

/* ---- collectives_summary.c: what a person reads; heat_map is its file, NULL: not drawn */
void cli_summarise_collectives(const struct trawl_job *job, const struct trawl_job_report *t,
			       const char *heat_map, struct cli_screen *s);

/* ---- collectives_plot.c: the all-to-all heat map as a PNG; TRAWL_ENODATA: nothing to draw */
int cli_draw_all_to_all(const struct trawl_job_report *t, const char *path,
			struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
