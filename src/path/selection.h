/* Selections of GPU work and of the host, as users write them: include/trawl/path.h. */
#ifndef TW_PATH_SELECTION_H
#define TW_PATH_SELECTION_H

#include "path/scenario.h"
#include "trawl/path.h"

/* Whether a text is one: TRAWL_EUSAGE says why not. */
int tw_selection_check(const char *selection, struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * Changes what a checked selection selects: it takes `factor` times as long, or is gone.  How many
 * pieces of GPU work or ranges of the host those are.
 */
uint64_t tw_selection_apply(struct tw_scenario *s, const char *selection,
			    enum trawl_path_change_kind kind, double factor);

#endif
