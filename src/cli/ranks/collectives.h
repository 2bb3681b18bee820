/* What trawl collectives does with its tables. */
#ifndef TW_CLI_RANKS_COLLECTIVES_H
#define TW_CLI_RANKS_COLLECTIVES_H

#include "cli/cli.h"

#include "job/tables/tables.h"

struct cli_collectives {
	const struct tw_ranks_input *in;
	struct trawl_table *const *tables;
	size_t count;
	const char *heat_map; /* its file, NULL: not drawn */
};

/* NULL: it is not among them. */
const struct trawl_table *cli_collectives_table(const struct cli_collectives *c, const char *name);

/* ---- collectives_summary.c: what a person reads */
void cli_summarise_collectives(const struct cli_collectives *c, unsigned width, bool colour,
			       struct tw_str *out);

/* ---- collectives_plot.c: the all-to-all heat map as a PNG; TRAWL_ENODATA: nothing to draw */
int cli_draw_all_to_all(const struct cli_collectives *c, const char *path,
			struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
