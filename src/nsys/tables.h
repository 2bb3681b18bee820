/* The tables of the queries, each filled by the file of its name. */
#ifndef TW_NSYS_TABLES_H
#define TW_NSYS_TABLES_H

#include "nsys/capture.h"

extern const struct tw_table_spec tw_nsys_setup_spec, tw_nsys_windows_spec, tw_nsys_streams_spec,
	tw_nsys_overlap_spec;

/* Each fills a table of its columns from the export. */
int tw_nsys_setup(struct tw_nsys_capture *capture, struct trawl_table *table,
		  struct trawl_error *err) TRAWL_MUST_CHECK;
int tw_nsys_windows(struct tw_nsys_capture *capture, struct trawl_table *table,
		    struct trawl_error *err) TRAWL_MUST_CHECK;
int tw_nsys_streams(struct tw_nsys_capture *capture, struct trawl_table *table,
		    struct trawl_error *err) TRAWL_MUST_CHECK;
int tw_nsys_overlap(struct tw_nsys_capture *capture, struct trawl_table *table,
		    struct trawl_error *err) TRAWL_MUST_CHECK;

/* Their columns, those of the original scripts first. */
enum { TW_SETUP_PID, TW_SETUP_LABEL, TW_SETUP_COMPAT };
enum { TW_WINDOWS_PID, TW_WINDOWS_START, TW_WINDOWS_END, TW_WINDOWS_NAME, TW_WINDOWS_COMPAT };
enum {
	TW_STREAMS_PID,
	TW_STREAMS_STREAM,
	TW_STREAMS_N_COMM,
	TW_STREAMS_N_COMP,
	TW_STREAMS_COMM_NS,
	TW_STREAMS_COMP_NS,
	TW_STREAMS_PURPOSE,
	TW_STREAMS_COMPAT
};
enum {
	TW_OVERLAP_PID,
	TW_OVERLAP_STAGE,
	TW_OVERLAP_EXPOSED_NS,
	TW_OVERLAP_OVERLAP,
	TW_OVERLAP_MIN,
	TW_OVERLAP_MAX,
	TW_OVERLAP_COMPAT
};

/* The stage, in `overlap`, of what is on streams that compute too. */
#define TW_NSYS_COMPUTE_STREAM "(compute stream)"

/* A sum that does not fit a cell is missing there. */
static inline void tw_nsys_set_sum(struct trawl_table *table, size_t row, size_t column,
				   tw_wide sum)
{
	if (tw_wide_fits(sum))
		tw_table_set_integer(table, row, column, (int64_t)sum);
}

/* ---- overlap: sums of one stage of one rank */

struct tw_nsys_hidden {
	tw_wide comm_ns, exposed_ns;
	double least, most; /* percent hidden of single kernels; NaN: none has a length */
};

#define TW_NSYS_HIDDEN_INIT    \
	{                      \
		0, 0, NAN, NAN \
	}

void tw_nsys_hidden_add(struct tw_nsys_hidden *hidden, const struct tw_intervals *compute,
			int64_t start_ns, int64_t end_ns);
/* Percent of the stage's time that is hidden, NaN: it has none. */
double tw_nsys_hidden_percent(const struct tw_nsys_hidden *hidden);

/* ---- compat.c */
int tw_nsys_compat(struct trawl_table *table, enum trawl_nsys_table query,
		   struct tw_nsys_source *source, const struct trawl_nsys_options *options,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
