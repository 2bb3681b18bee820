/* The sides of a comparison: what each is, what it is called, and its times. */
#ifndef TW_STUDY_COMPARE_SIDES_H
#define TW_STUDY_COMPARE_SIDES_H

#include "base/list.h"
#include "book/book.h"
#include "job/set/load.h"
#include "job/tables/all_tables.h"
#include "study/compare/samples.h"
#include "study/sweep/sweep.h"

/* What a side turned out to be. */
enum tw_side_kind {
	TW_SIDE_SWEEP,	 /* several configurations */
	TW_SIDE_REPORTS, /* reports of ranks, of one configuration or by channels */
	TW_SIDE_REPORT,
	TW_SIDE_TRACES, /* one, or those of the ranks of a job */
};

/* How sides are read. */
struct tw_side_options {
	struct tw_load_options load; /* of traces; which tables are kept is chosen here */
	struct trawl_sweep_filter filter;
	bool strict, quiet;
	bool full_stacks;  /* of traces */
	bool for_workbook; /* sheets beyond those that are compared are wanted too */
};

struct tw_side {
	const char *path; /* as given */
	enum tw_side_kind kind;
	const char *label; /* for columns and people; different from those of other sides */
	const char *name;  /* base name of the path */
	const char *from;  /* REPORT: its path; REPORTS: the directory of them */
	struct tw_str rank_list;
	struct trawl_sweep sweep;
	bool swept;	/* `sweep` is to be released */
	bool lone;	/* one file with a trace */
	size_t reports; /* reports and traces that were read */
	size_t traces;	/* of these */
	size_t collective_reports;
	size_t stale;			  /* reports that are older than their traces */
	size_t having[TW_COMPARED_KINDS]; /* reports with such a sheet */
	int64_t *ranks;			  /* of what was read, in order, each once */
	size_t rank_count, rank_capacity;
	struct tw_str notes; /* of tw_str_note() */
	bool incomplete;     /* something was left out, and noted */

	TW_LIST(struct trawl_table *) findings; /* of its configurations, for the samples */
	/* Kept for the workbook: the one report, and the one of collectives. */
	struct tw_book *book, *collectives;
	/* What those of traces are made of. */
	struct trawl_job job;
	bool loaded;
	struct trawl_job_report job_tables;

	struct tw_arena arena; /* of its texts */
	const struct tw_side_options *options;
	/* While it is read. */
	struct tw_samples *samples;
	struct tw_sample_place at; /* of what is read now */
	struct trawl_error *err;
};

/*
 * Finds out what it is.  `options` must live as long as the side; _release is due in any case.
 * TRAWL_EIO: it is not there, or has no configuration that is asked for.
 */
int tw_side_open(struct tw_side *side, const char *path, const struct tw_side_options *options,
		 struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_side_release(struct tw_side *side);
/*
 * Labels for those that have none: names of directories, as much of them as makes them different.
 */
int tw_sides_label(struct tw_side *sides, size_t count, struct trawl_error *err) TRAWL_MUST_CHECK;
/* Its times into the samples, as those of side 0: reports where they are, else traces. */
int tw_side_read(struct tw_side *side, struct tw_samples *samples,
		 struct trawl_error *err) TRAWL_MUST_CHECK;

/* "sweep", "reports", "report", "trace", "ranks" */
const char *tw_side_what(const struct tw_side *side);

/* A text of the arena of a side; NULL: out of memory. */
char *tw_side_text(struct tw_side *side, const char *format, ...) TRAWL_PRINTF(2, 3);

#endif
