/*
 * Running the program elsewhere: on another machine through ssh, in a container through docker, or
 * in a container of another machine.
 */
#ifndef TW_CLI_ANALYZE_REMOTE_H
#define TW_CLI_ANALYZE_REMOTE_H

#include "cli/cli.h"

struct cli_remote {
	const char *node;      /* as ssh takes it; NULL: this machine */
	const char *container; /* as docker takes it; NULL: none */
	bool feeds;	       /* the run there reads our standard input; else it has none */
};

/* Options with such names: const char *. */
extern const struct cli_kind cli_remote_name;
/* Why this name cannot be that of a node or container, NULL: it can. */
const char *cli_remote_complaint(const char *name);

/*
 * Runs `trawl` with these arguments there, as it is found on the PATH there.  Its output is ours;
 * the exit status is that run's, 128 + n when signal n ended it.  CLI_FAILED, and told, when ssh
 * or docker is not to be found here.
 */
int cli_remote_run(const struct cli_remote *where, const char *const *arguments, size_t count);

/* A word that a POSIX shell reads as `text`. */
void cli_quote_word(struct tw_str *out, const char *text);

#endif
