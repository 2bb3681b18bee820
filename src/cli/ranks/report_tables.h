/* Tables of one trace, or over ranks, on stdout and nothing else. */
#ifndef TW_CLI_RANKS_REPORT_TABLES_H
#define TW_CLI_RANKS_REPORT_TABLES_H

#include "cli/ranks/ranks.h"
#include "cli/trace/reporting.h"
#include "cli/trace/tables.h"

/* Of t->names, and only what they need is computed; the exit status. */
int cli_report_tables(const struct cli_tables *t, struct cli_reporting *r, struct cli_ranks *ranks,
		      const char *const *arguments, size_t count);

#endif
