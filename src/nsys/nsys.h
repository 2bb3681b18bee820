/*
 * Queries on an Nsight Systems export (SQLite): which ranks there are, the window of each that
 * shows its steady state, what its streams do there, and how well communication is hidden by
 * stage.  Straight from the file: memory holds what rules match, and of the
 * kernels in the windows communication and the union of the rest.
 */
#ifndef TW_NSYS_NSYS_H
#define TW_NSYS_NSYS_H

#include "table/table.h"
#include "text/str.h"

enum tw_nsys_query {
	TW_NSYS_SETUP,
	TW_NSYS_WINDOWS,
	TW_NSYS_STREAMS,
	TW_NSYS_OVERLAP,
};

struct tw_nsys_options {
	const struct trawl_allocator *allocator; /* NULL: the default */
	unsigned threads;			 /* 0: one a core */
	const char *rules;			 /* a preset or a file; NULL: what fits */
	int64_t rank;				 /* -1: all */
	bool window; /* start_ns to end_ns instead of a window of rules */
	int64_t start_ns, end_ns;
	const char *by; /* rows added up over ranks, by this column (nsys/grouped.h); NULL: not */
	bool compat;	/* the numbers, columns and order of the original scripts */
};

/*
 * The table of a query.  *left_out has a line for each thing that was left out, such as a rank
 * without a window.  TRAWL_EUSAGE: no such rank or rules; TRAWL_ENODATA: with compat, what the
 * original scripts have no answer to.  Messages do not name the file.
 */
int tw_nsys_ask(struct trawl_table **out, enum tw_nsys_query query, const char *path,
		const struct tw_nsys_options *options, struct tw_str *left_out,
		struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
