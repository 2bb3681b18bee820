/*
 * What commands that make a report of one trace share: their options, reading and analysing it,
 * where the results go.
 */
#ifndef TW_CLI_TRACE_REPORTING_H
#define TW_CLI_TRACE_REPORTING_H

#include "cli/cli.h"

#include "analysis/analysis.h"

struct cli_reporting {
	struct cli_common common;
	struct trawl_report_options options;
	int64_t steps[2];
	const char *by;	  /* what of steps and ranges is looked at; NULL: the default */
	const char *path; /* of the trace */
	bool no_xlsx, no_csv;
	const struct tw_analysis *only; /* the one table that is wanted; NULL: all */
};

/* The defaults, and the tables of options bound to *r: what is counted, which part, the common ones. */
void cli_reporting_init(struct cli_reporting *r, struct cli_option counting[8],
			struct cli_option view[8], struct cli_option common[8]);

/* Options of which files there are to be; bound to *r. */
#define CLI_NO_XLSX(r)                                                           \
	{                                                                        \
		"no-xlsx", 0, CLI_FLAG, NULL, &(r)->no_xlsx, "write no workbook" \
	}
#define CLI_NO_CSV(r)                                                           \
	{                                                                       \
		"no-csv", 0, CLI_FLAG, NULL, &(r)->no_csv, "write no CSV files" \
	}

/*
 * Parses the arguments, of which one is the trace; -1 to go on, else the exit status.  With
 * `optional`, no trace leaves path NULL.
 */
int cli_reporting_begin(struct cli_reporting *r, const struct cli_command *command,
			const struct cli_option *const *tables, size_t table_count, int argc,
			char **argv, bool optional);

/* The part of its work behind the parsing: what the options say together; -1 to go on. */
int cli_reporting_view(struct cli_reporting *r, const struct cli_command *command);

/*
 * Reads and analyses the trace, tells what is odd in it, and calls `use` for the rest, unless
 * --strict forbids.  The exit status.
 */
int cli_reporting_run(const struct cli_reporting *r, bool writes,
		      int (*use)(void *context, const struct trawl_report *report,
				 const struct trawl_trace *trace),
		      void *context);

/* DIR/name, NULL: DIR; the directory beside the trace when none was asked for. */
void cli_output_path(const struct cli_reporting *r, const char *name, struct tw_str *out);

/* Whether a directory for output can be one: it, or the nearest of its parents that there is. */
int cli_check_output(const char *dir, struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * Tables into a directory and a workbook, as far as they are wanted; TRAWL_EUSAGE, and neither is
 * written, when the workbook is one of the inputs.  Releases the two paths.
 */
int cli_write_tables(const struct cli_reporting *r, const struct trawl_table *const *tables,
		     size_t count, struct tw_str *csvs, struct tw_str *xlsx,
		     struct trawl_error *err) TRAWL_MUST_CHECK;

/* cli_fail() where an output directory could not be written to: which option names another. */
int cli_fail_output(const struct trawl_error *err);

/* perf_report_csvs/ and perf_report.xlsx, as far as they are wanted. */
int cli_write_report(const struct cli_reporting *r, const struct trawl_report *report,
		     struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
