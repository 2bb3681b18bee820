/*
 * gpu_timeline_all_configs_{mean,geomean}.xlsx and nccl_master_all_configs.{xlsx,csv}: reports of a
 * sweep, from files or still in memory, gathered one after another and then written.  What a report
 * lacks is told on stderr.
 */
#ifndef TW_CLI_SWEEP_AGGREGATING_H
#define TW_CLI_SWEEP_AGGREGATING_H

#include "cli/cli.h"

#include "book/book.h"
#include "study/sweep/aggregates.h"
#include "study/sweep/sweep.h"

struct cli_aggregate {
	struct tw_timelines *timelines;
	struct tw_comms *comms;
	size_t reports, collectives; /* that were taken */
	size_t files;		     /* that were written */
	bool incomplete;	     /* a report could not be taken */
};

/* CLI_DONE, or told that memory is out; _end is due in any case. */
int cli_aggregate_begin(struct cli_aggregate *a);
void cli_aggregate_end(struct cli_aggregate *a);

/*
 * The report of a rank, and the collective report, of a configuration.  One that is in memory has
 * the name of the configuration; its rows name the file that it is written to.
 */
void cli_aggregate_report(struct cli_aggregate *a, const struct tw_sweep_point *point, int64_t rank,
			  struct tw_book *book);
void cli_aggregate_collective(struct cli_aggregate *a, const struct tw_sweep_point *point,
			      struct tw_book *book);

/* Writes what there is to write into tracelens_analysis; CLI_DONE, or told. */
int cli_aggregate_write(struct cli_aggregate *a, const struct tw_sweep *sweep);
/* What they say, for people or as tables. */
int cli_aggregate_print(const struct cli_aggregate *a, enum tw_format format);

#endif
