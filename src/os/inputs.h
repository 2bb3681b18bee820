/*
 * Which files this process reads, so that none of them is replaced by an output.  A program that
 * writes what its user names starts the record; for others nothing is kept.
 */
#ifndef TW_OS_INPUTS_H
#define TW_OS_INPUTS_H

#include "trawl/api.h"

void tw_inputs_begin(void);

/* `path` is an input, under whatever name it may be reached.  Any thread. */
void tw_inputs_note(const char *path);

/* Whether the file that `path` leads to is one. */
bool tw_inputs_have(const char *path);

#endif
