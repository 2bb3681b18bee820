/* The pictures of a variance table: what `sweep plots` and `sweep all` share. */
#ifndef TW_CLI_SWEEP_SWEEP_PLOTS_H
#define TW_CLI_SWEEP_SWEEP_PLOTS_H

#include "base/arena.h"
#include "study/sweep/sweep.h"
#include "trawl/table.h"

struct cli_sweep_plots {
	const struct trawl_table
		*table;	  /* columns threads, channel, rank, time_diff_us; others too */
	const char *name; /* of it, for messages */
	const char *dir;  /* where the pictures go */
	const struct trawl_sweep_filter *filter; /* rows to take, NULL: all */
	bool svg;				 /* SVG files too */
	bool quiet;
	unsigned threads;
};

/*
 * Draws them and tells of what it left out: rows that it cannot use, pictures that failed, each
 * with why.  *statistics, unless NULL, is a table of the time differences by threads, channels and
 * rank, the caller's to free; as it was where it fails.  CLI_DONE, CLI_INCOMPLETE, or CLI_FAILED: there
 * are no rows, or no picture was made.
 */
int cli_sweep_draw(const struct cli_sweep_plots *plots, struct tw_arena *arena,
		   struct trawl_table **statistics);

#endif
