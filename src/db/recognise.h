/* What a database is, by the names of its tables. */
#ifndef TW_DB_RECOGNISE_H
#define TW_DB_RECOGNISE_H

#include "db/database.h"

/* Whether it is an export of Nsight Systems: 0, or TRAWL_EFORMAT, and the message says what else. */
int tw_recognise_nsys(const struct tw_database *database, const struct trawl_allocator *allocator,
		      struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
