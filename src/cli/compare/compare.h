/* trawl compare: what it writes and prints. */
#ifndef TW_CLI_COMPARE_COMPARE_H
#define TW_CLI_COMPARE_COMPARE_H

#include "cli/cli.h"

#include "study/compare/comparison.h"

/* ---- compare_page.c */

/* *lacking: something of it is there and cannot be read, which is told. */
int cli_write_comparison_page(const struct trawl_comparison *comparison, const char *path,
			      bool quiet, bool *lacking);

/* ---- compare_summary.c: the answer, then the tables as far as they fit a screen */
void cli_summarise_comparison(const struct trawl_comparison *comparison, struct cli_screen *s);

#endif
