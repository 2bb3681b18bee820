/*
 * What commands that make a report of one trace share: their options, reading and analysing it,
 * where the results go.
 */
#ifndef TW_CLI_TRACE_REPORTING_H
#define TW_CLI_TRACE_REPORTING_H

#include "cli/cli.h"
#include "trawl/job.h"

struct cli_reporting {
	struct cli_common common;
	struct trawl_report_options options;
	int64_t steps[2];
	unsigned by;			  /* what of steps and ranges is looked at: enum cli_by */
	const char *path;		  /* of the trace */
	struct cli_texts captures;	  /* files with captures of its graphs, and directories */
	const char *map;		  /* an eager run of its model, NULL */
	struct trawl_job_source *sources; /* all of them, by cli_list_sources() */
	size_t source_count;
	bool no_xlsx, no_csv;
};

/* --stacks */
enum cli_stacks { CLI_STACKS_DEFAULT, CLI_STACKS_NONE, CLI_STACKS_MODULES, CLI_STACKS_FULL };
extern const struct cli_kind cli_stacks;

enum cli_by { CLI_BY_DEFAULT, CLI_BY_LAUNCH, CLI_BY_TIME };

/* Lists of options that are bound to a struct cli_reporting. */
extern const struct cli_option cli_counting_options[], cli_part_options[], cli_by_options[];
extern const struct cli_option cli_no_xlsx_options[], cli_no_csv_options[];
extern const struct cli_option cli_graph_options[];
extern const struct cli_kind cli_by;

#define CLI_COUNTING(at) CLI_OPTIONS("Counting", cli_counting_options, at)
#define CLI_PART(at) CLI_OPTIONS("A part of the trace", cli_part_options, at)
#define CLI_VIEW(at) CLI_PART(at), CLI_OPTIONS("A part of the trace", cli_by_options, at)
#define CLI_GRAPHS(at) CLI_OPTIONS("GPU graphs", cli_graph_options, at)
#define CLI_NO_XLSX(at) CLI_OPTIONS("Files", cli_no_xlsx_options, at)
#define CLI_NO_CSV(at) CLI_OPTIONS("Files", cli_no_csv_options, at)

void cli_reporting_init(struct cli_reporting *r);

/*
 * Parses the arguments, of which one is the trace; -1 to go on, else the exit status.  With
 * `optional`, no trace leaves path NULL.  `r` is in `state`.
 */
int cli_reporting_begin(struct cli_reporting *r, const struct cli_command *command, void *state,
			int argc, char **argv, bool optional);

/* The part after parsing: checks combinations of options; -1 to go on. */
int cli_reporting_view(struct cli_reporting *r, const struct cli_command *command);

/*
 * Which files --capture and --map lead to; their ranks, where directories have a file for each.  The
 * ranks of a job take them too.  CLI_DONE, or an exit status after a message.
 */
int cli_list_sources(struct cli_reporting *r, struct trawl_job_options *ranks);

/*
 * Reads a trace (an Nsight Systems report is exported by nsys first), with progress on a terminal;
 * `memory` NULL: the default. CLI_DONE, or an exit status after a message.
 */
int cli_read_trace(struct trawl_trace **trace, const char *path, const struct cli_common *common,
		   const struct trawl_allocator *memory, bool no_python);

/* A trace and its report. */
struct cli_trace_report {
	const struct cli_reporting *r;
	struct tw_reuse *memory;
	struct trawl_trace *trace;
	struct trawl_report *report;
	struct trawl_defect *defects;
	size_t defect_count;
};

/*
 * Reads and analyzes the trace and reports its defects. CLI_DONE, or the exit status after a
 * message: a failure, or --strict; CLI_LED. _end is due in any case.
 */
int cli_report_make(struct cli_trace_report *made, const struct cli_reporting *r, bool writes);
/* The exit status of all, `status` being that of what was done with the report. */
int cli_report_end(struct cli_trace_report *made, int status);

/* Whether it is an export of several GPUs, each of a rank. */
bool cli_is_of_ranks(const struct cli_trace_report *made);

/*
 * The standalone analysis needs one rank: an export of several devices needs --device (CLI_USAGE);
 * another trace of several devices is analyzed with a warning, CLI_DONE.
 */
int cli_one_device(const struct cli_trace_report *made);

/* The directory beside the trace when none was asked for. */
char *cli_output_dir(const struct cli_reporting *r);

/* ---- outputs.c: files that reports of traces and of ranks write */

/* DIR/name */
char *cli_below(const char *dir, const char *name);
/* Whether a directory for output can be one: it, or the nearest of its parents that there is. */
int cli_check_output(const char *dir, struct trawl_error *err) TRAWL_MUST_CHECK;

struct cli_outputs {
	const struct cli_reporting *r;
	const char *dir;
	const char *csvs, *xlsx; /* names in it */
	const char *picture;	 /* NULL: none was drawn */
	const char *stacks;	 /* NULL: none were written */
	const char *page;	 /* NULL: none was written */
};

struct cli_outputs cli_report_outputs(const struct cli_reporting *r, const char *dir);

/*
 * Tables into a directory and a workbook, as far as they are wanted; TRAWL_EUSAGE, and neither is
 * written, when the workbook is one of the inputs.
 */
int cli_write_tables(const struct cli_outputs *o, const struct trawl_table *const *tables,
		     size_t count, struct trawl_error *err) TRAWL_MUST_CHECK;
/* perf_report_csvs/ and perf_report.xlsx, as far as they are wanted; `findings` first, NULL: none. */
int cli_write_report(const struct cli_reporting *r, const struct trawl_report *report,
		     const struct trawl_table *findings, struct trawl_error *err) TRAWL_MUST_CHECK;
/* The same of the tables of a job. */
struct trawl_job_report;
int cli_write_job_report(const struct cli_outputs *o, const struct trawl_job_report *report,
			 struct trawl_error *err) TRAWL_MUST_CHECK;
/* cli_fail() where an output directory could not be written to: which option names another. */
int cli_fail_output(const struct trawl_error *err);
/* "9 tables written to DIR/ (...)" */
void cli_tell_outputs(const struct cli_outputs *o, size_t tables);
/*
 * Nothing is deleted here, but a file from before may be of something else: what it is, where it is
 * there.
 */
void cli_tell_stale(const char *path, const char *what);
void cli_tell_stale_table(const struct cli_outputs *o, const char *table, const char *what);

#endif
