/* trawl compare: what its sides are, and reading them. */
#ifndef TW_CLI_COMPARE_COMPARE_H
#define TW_CLI_COMPARE_COMPARE_H

#include "cli/ranks/ranks.h"
#include "cli/trace/reporting.h"

#include "book/book.h"
#include "job/tables/tables.h"
#include "study/compare/answer.h"
#include "study/sweep/sweep.h"

/* What a side turned out to be. */
enum cli_side_kind {
	CLI_SIDE_SWEEP,	  /* several configurations */
	CLI_SIDE_REPORTS, /* reports of ranks, of one configuration or by channels */
	CLI_SIDE_REPORT,
	CLI_SIDE_TRACES, /* one, or those of the ranks of a job */
};

struct cli_side {
	const char *path; /* as given */
	enum cli_side_kind kind;
	char *label;	    /* for columns and people; different from those of other sides */
	struct tw_str name; /* base name of the path */
	struct tw_str from; /* REPORT: its path; REPORTS: the directory of them */
	struct tw_str rank_list;
	struct tw_sweep sweep;
	bool swept;	/* `sweep` is to be released */
	bool lone;	/* one file with a trace */
	size_t reports; /* reports and traces that were read */
	size_t traces;	/* of these */
	size_t collective_reports;
	size_t stale;			  /* reports that are older than their traces */
	size_t having[TW_COMPARED_KINDS]; /* reports with such a sheet */
	int64_t *ranks;			  /* of what was read, in order, each once */
	size_t rank_count, rank_capacity;
	bool incomplete; /* something was left out, and told */

	/* Kept for the workbook: the one report, and the one of collectives. */
	struct tw_book *book, *collectives;
	/* What those of traces are made of. */
	struct tw_job job;
	bool loaded;
	struct tw_matches matches;
	struct tw_clocks clocks;
	struct trawl_table *job_tables[2];
	size_t job_table_count;
};

/* How sides are read. */
struct cli_comparing {
	const struct cli_command *command;
	struct cli_common common;
	struct cli_ranks ranks; /* how traces are */
	struct tw_sweep_filter filter;
	bool for_workbook; /* sheets beyond those that are compared are wanted too */
	struct tw_samples samples;
};

/* -1 to go on; else the exit status, and what is wrong has been told. */
int cli_side_open(struct cli_side *side, const struct cli_comparing *c, const char *path);
/*
 * Labels for those that have none: names of directories, as much of them as makes them different.
 * False: out of memory.
 */
bool cli_sides_label(struct cli_side *sides, size_t count);
/* Its times into the samples as those of side `which`; -1 to go on. */
int cli_side_read(struct cli_side *side, struct cli_comparing *c, uint32_t which);
void cli_side_release(struct cli_side *side);

const char *cli_side_what(const struct cli_side *side);

/* ---- compare_page.c */

/* *lacking: something of it is there and cannot be read, which is told. */
int cli_write_comparison_page(const struct cli_side sides[2], struct trawl_table *const *tables,
			      const struct tw_answer *answer, const char *path, bool quiet,
			      bool *lacking);

/* ---- compare_summary.c: the answer, then the tables as far as they fit a screen */
void cli_summarise_comparison(const struct tw_changes *changes, const struct tw_answer *answer,
			      const char *const labels[2], unsigned width, bool colour,
			      struct tw_str *out);

#endif
