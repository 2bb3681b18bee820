/* The query "ranges" of trawl nsys: any trace, through the event store. */
#ifndef TW_CLI_NSYS_NSYS_RANGES_H
#define TW_CLI_NSYS_NSYS_RANGES_H

#include "cli/trace/reporting.h"
#include "trawl/nsys.h"

/*
 * Prints the GPU time of the ranges of the trace in r->path; with a rank in `options`, those of its
 * process, by the rules there.  The exit status.
 */
int cli_nsys_ranges(const struct cli_command *command, struct cli_reporting *r,
		    const struct trawl_nsys_options *options);

#endif
