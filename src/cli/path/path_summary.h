/* What trawl path prints for people. */
#ifndef TW_CLI_PATH_PATH_SUMMARY_H
#define TW_CLI_PATH_PATH_SUMMARY_H

#include "cli/screen.h"
#include "trawl/path.h"

void cli_summarise_path(const struct trawl_job *job, const struct trawl_path *path,
			struct cli_screen *s);

#endif
