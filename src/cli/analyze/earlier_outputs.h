/* Files of an earlier analysis that lie among those of this one. */
#ifndef TW_CLI_ANALYZE_EARLIER_OUTPUTS_H
#define TW_CLI_ANALYZE_EARLIER_OUTPUTS_H

#include <time.h>

/*
 * Nothing that exists is deleted, so a category or a package that only another trace had stays
 * beside the new files: tells how many in the folders of DIR are older than `since`, and one of
 * them.
 */
void cli_tell_older(const char *dir, const struct timespec *since);

#endif
