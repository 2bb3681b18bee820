/* trawl compare: what it writes and prints. */
#ifndef TW_CLI_COMPARE_COMPARE_H
#define TW_CLI_COMPARE_COMPARE_H

#include "cli/cli.h"

#include "study/compare/answer.h"
#include "study/compare/sides.h"

/* ---- compare_page.c */

/* *lacking: something of it is there and cannot be read, which is told. */
int cli_write_comparison_page(const struct tw_side sides[2], struct trawl_table *const *tables,
			      const struct tw_answer *answer, const char *path, bool quiet,
			      bool *lacking);

/* ---- compare_summary.c: the answer, then the tables as far as they fit a screen */
void cli_summarise_comparison(const struct tw_changes *changes, const struct tw_answer *answer,
			      const char *const labels[2], struct cli_screen *s);

#endif
