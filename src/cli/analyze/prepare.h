/* What analyze and prepare share. */
#ifndef TW_CLI_ANALYZE_PREPARE_H
#define TW_CLI_ANALYZE_PREPARE_H

#include "cli/trace/reporting.h"
#include "standalone/standalone.h"

/* What results call the trace: its name without a directory. */
const char *cli_trace_name(const char *path);

/* Steps 1 to 5: the files of the report, then what is prepared for the categories. */
int cli_prepare_files(const struct cli_reporting *r, const struct trawl_report *report,
		      struct tw_prepared *prepared, struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
