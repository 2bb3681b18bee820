/* A directory of a test's own, and small reads and questions about files in it. */
#ifndef TRAWL_TEST_SCRATCH_H
#define TRAWL_TEST_SCRATCH_H

#include "trawl/api.h"

#define SCRATCH_NAME 512

struct scratch {
	char dir[SCRATCH_NAME];
};

/* Creates an empty directory under $TMPDIR or /tmp; aborts when that fails. */
void scratch_make(struct scratch *scratch);
/* Removes it with everything in it. */
void scratch_remove(struct scratch *scratch);
/* DIR/name, in one of eight buffers that take turns. */
const char *scratch_path(const struct scratch *scratch, const char *name);
/* How many names are in DIR/name ("" for DIR), hidden ones too; -1 when it cannot be read. */
int scratch_count(const struct scratch *scratch, const char *name);
bool scratch_exists(const struct scratch *scratch, const char *name);
/* Writes a file. */
void scratch_write(const struct scratch *scratch, const char *name, const char *text);
/* The whole file, to be freed, with a NUL behind it; NULL when it cannot be read. */
char *scratch_read(const char *path, size_t *len);

#endif
