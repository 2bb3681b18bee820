/* The date that files carry inside them: fixed, so that the same input gives the same bytes. */
#ifndef TW_OS_CREATION_H
#define TW_OS_CREATION_H

#include <time.h>

/* SOURCE_DATE_EPOCH as reproducible builds have it, else 1980-01-01, before which no zip can be. */
time_t tw_creation_time(void);

#endif
