/*
 * Reports of Nsight Systems (.nsys-rep) as inputs: nsys exports them to a temporary file first.
 */
#ifndef TW_CLI_EXPORTING_H
#define TW_CLI_EXPORTING_H

#include "cli/cli.h"

struct tw_temporary;

struct cli_exported {
	const char *path; /* what to read: the export, or the input where that is no report */
	char *directory;  /* of the export; NULL when there is none */
	struct tw_temporary *temporaries[3];
};

/*
 * When the name of `path` says that it is a report, runs nsys on it.  TRAWL_EIO: there is no nsys,
 * or it failed; the message says what to do.  Behind success cli_export_end() takes the export away.
 */
int cli_export(struct cli_exported *exported, const char *path, const struct cli_common *common,
	       struct trawl_error *err) TRAWL_MUST_CHECK;
void cli_export_end(struct cli_exported *exported);

/* For a signal handler: ends nsys. */
void cli_export_stop(void);

#endif
