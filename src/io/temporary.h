/*
 * Temporary files: what their names end with, those that exist now, so that a signal handler can
 * remove them, and those that processes left which could not.  Noting is lock-free: names come and
 * go from any thread while the handler runs in another.
 */
#ifndef TW_IO_TEMPORARY_H
#define TW_IO_TEMPORARY_H

#include "trawl/api.h"

struct tw_temporary;

/* "trawl-", host, "-", process, "-" and, still to be chosen, this many letters and digits. */
#define TW_TEMPORARY_RANDOM 6
#define TW_TEMPORARY_ENDING 128

/* The ending with "XXXXXX" for the random part; its length. */
size_t tw_temporary_ending_of_name(char text[TW_TEMPORARY_ENDING]);

/*
 * Removes from a directory, once in the life of the process, what has such an ending of this host
 * and of a process that is no more; of directories what lies in them, too.
 */
void tw_temporary_clean(const char *directory);

/*
 * Enters `name`, before its file is created.  The string must stay until tw_temporary_forget()
 * has returned true.  NULL when out of memory.
 */
struct tw_temporary *tw_temporary_note(char *name);

/*
 * Takes the name out; NULL is allowed.  False when a signal handler holds the name at this very
 * moment: then the string must not be freed, ever.
 */
bool tw_temporary_forget(struct tw_temporary *temporary);

/* tw_temporary_unlink_all() was called: the process is about to end. */
bool tw_temporary_ending(void);

/* Only unlink(), rmdir() and atomic operations; a directory goes when it is empty then. */
void tw_temporary_unlink_all(void);

#endif
