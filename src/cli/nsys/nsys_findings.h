/* The query "findings" of trawl nsys: what analyze finds, without its files. */
#ifndef TW_CLI_NSYS_NSYS_FINDINGS_H
#define TW_CLI_NSYS_NSYS_FINDINGS_H

#include "cli/trace/reporting.h"

/* Prints the findings of the trace in r->path, of all ranks in it. The exit status. */
int cli_nsys_findings(const struct cli_command *command, struct cli_reporting *r);

#endif
