/*
 * Sweeps, reports or traces side by side: what got faster, what slower, and what is noise.
 *
 *	trawl_compare(&c, (const char *[]){ "before", "after" }, 2, NULL, &err);
 *	for (i = 0; i < trawl_comparison_lines(c); i++)
 *		puts(trawl_comparison_line(c, i));
 *
 * examples/compare.c is a whole program.
 */
#ifndef TRAWL_COMPARE_H
#define TRAWL_COMPARE_H

#include "trawl/sweep.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sheets of reports in the workbook. */
enum trawl_compared_sheets {
	TRAWL_COMPARE_TIMELINE = 1,  /* gpu_timeline */
	TRAWL_COMPARE_OPS = 2,	     /* ops_summary */
	TRAWL_COMPARE_KERNELS = 4,   /* kernel_summary */
	TRAWL_COMPARE_ALL_OPS = 8,   /* ops_unique_args, unified_perf_summary */
	TRAWL_COMPARE_ROOFLINE = 16, /* GEMM, SDPA_fwd, ... */
	TRAWL_COMPARE_EVERYTHING = 31,
};

/* The most sides of a comparison. */
#define TRAWL_COMPARE_MOST_SIDES 16

struct trawl_compare_options {
	const struct trawl_report_options *report; /* of traces; NULL: the defaults */
	unsigned threads;			   /* 0: one a core */
	int64_t max_memory; /* bytes for traces held at once; 0: half of the machine's */
	/* What the sides are called; NULL: by their directories. */
	const char *labels[TRAWL_COMPARE_MOST_SIDES];
	struct trawl_sweep_filter filter;
	/* Refuse sweeps that have no configuration in common, as a gate needs one: TRAWL_ENODATA. */
	bool in_common;
	bool strict; /* refuse traces in which anything is odd: TRAWL_EFORMAT */
	/* Reads what a workbook shows beyond the rest, and which sheets of reports. */
	bool workbook;
	bool full_stacks;  /* keep them for trawl_comparison_stacks() */
	unsigned sheets;   /* enum trawl_compared_sheets */
	size_t block_size; /* bytes per read; 0: 1 MB */
	/* Called now and then with bytes of a side's files; other than 0 stops: TRAWL_ECANCELED. */
	int (*progress)(void *context, int64_t bytes_read, int64_t bytes);
	void *progress_context;
	/* Called for skipped or damaged items and, unless `quiet`, for other defects. */
	void (*note)(void *context, const char *line);
	void *note_context;
	bool quiet;
};

struct trawl_comparison;

TRAWL_API void trawl_compare_options_init(struct trawl_compare_options *options);

/*
 * Compares each of the paths after the first with the first, the baseline.  Each is a sweep, a report
 * (a workbook, a directory of CSV files), a trace, or the traces of one job.  Of more than two sides
 * tables have a first column `test`, the label of the side that is compared (the summary, with a row
 * a side, has none); what has nothing in common with the baseline is skipped.  TRAWL_EIO when a path
 * is not there, TRAWL_ENODATA when there is nothing to compare.
 */
TRAWL_API int trawl_compare(struct trawl_comparison **out, const char *const *paths, size_t count,
			    const struct trawl_compare_options *options,
			    struct trawl_error *err) TRAWL_MUST_CHECK;
TRAWL_API void trawl_comparison_free(struct trawl_comparison *comparison);

/* Whether nothing is skipped, and all sides have a configuration in common with the baseline. */
TRAWL_API bool trawl_comparison_is_whole(const struct trawl_comparison *comparison);

/* What a side is called. */
TRAWL_API const char *trawl_comparison_label(const struct trawl_comparison *comparison,
					     size_t side);

/*
 * The answer in sentences, side by side: which is faster by how much, what made it so, what got worse.
 */
TRAWL_API size_t trawl_comparison_lines(const struct trawl_comparison *comparison);
TRAWL_API const char *trawl_comparison_line(const struct trawl_comparison *comparison,
					    size_t index);

/* Non-empty tables, in the order of a workbook. */
TRAWL_API size_t trawl_comparison_tables(const struct trawl_comparison *comparison);
TRAWL_API const struct trawl_table *trawl_comparison_table(
	const struct trawl_comparison *comparison, size_t index);
/* By name, NULL when it is not there. */
TRAWL_API const struct trawl_table *trawl_comparison_find(const struct trawl_comparison *comparison,
							  const char *name);

/*
 * Why times cannot be compared: a side does not show as many steps as the baseline.  NULL: all do, as
 * far as it is known.
 */
TRAWL_API const char *trawl_comparison_uneven(const struct trawl_comparison *comparison);

/*
 * A gate: how much got worse by more than `percent` (the total time over all and of each
 * configuration, and items of 1 % of it), each a line to `note`.  Sides that do not
 * show as many steps as the baseline are left out.  *total (may be NULL): whether all others have a
 * total time, which else was not looked at.
 */
TRAWL_API size_t trawl_comparison_gate(const struct trawl_comparison *comparison, double percent,
				       void (*note)(void *context, const char *line),
				       void *note_context, bool *total);

/*
 * A flame graph of the difference between the baseline and side `test` + 1, as folded text: a line for each stack, as
 * trawl_report_stacks() has it, then its GPU time in ns on both sides, summed over ranks and configurations.  Of traces;
 * full ones where options.full_stacks asked for them.  TRAWL_ENODATA: a side has none.
 */
TRAWL_API int trawl_comparison_stacks(const struct trawl_comparison *comparison, size_t test,
				      enum trawl_stacks stacks,
				      void (*write)(void *context, const char *text, size_t len),
				      void *context, struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * A workbook of the tables and, where options.workbook asked for it, of the reports side by side;
 * *tables (may be NULL): their number.  TRAWL_ENODATA when there are none.
 */
TRAWL_API int trawl_comparison_write_xlsx(const struct trawl_comparison *comparison,
					  const char *path, size_t *tables,
					  struct trawl_error *err) TRAWL_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
