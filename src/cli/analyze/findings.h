/* Findings as analyze writes and prints them. */
#ifndef TW_CLI_ANALYZE_FINDINGS_H
#define TW_CLI_ANALYZE_FINDINGS_H

#include "cli/screen.h"
#include "trawl/findings.h"

/* DIR/findings.csv and DIR/findings.json. */
int cli_write_findings(const char *dir, const struct trawl_table *findings,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

/* "at most ", "about ": how a gain is known, by its column; "": by replay. */
const char *cli_gain_words(const char *how);
/*
 * Table `verdict`: what limits the run in a sentence, then the verdict of the job's collectives
 * (NULL: of one trace).  NULL: out of memory.
 */
struct trawl_table *cli_analysis_verdict(const struct trawl_diagnosis *diagnosis,
					 const struct trawl_job_report *job_report);

/* What limits the run, the largest gains first, then what is worth knowing. */
void cli_add_findings(struct cli_screen *s, const struct trawl_diagnosis *diagnosis);

#endif
