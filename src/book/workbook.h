/* A workbook: which sheets it has, and where they are. */
#ifndef TW_BOOK_WORKBOOK_H
#define TW_BOOK_WORKBOOK_H

#include "base/arena.h"
#include "book/package.h"

struct tw_workbook_sheet {
	const char *name;
	const char *part; /* NULL: location unknown */
};

struct tw_workbook {
	struct tw_workbook_sheet *sheets;
	size_t count;
	const char *shared_texts; /* the part of them, NULL: none */
};

/* Charts and other sheets without cells are skipped.  Everything lies in the arena. */
int tw_workbook_read(struct tw_workbook *book, const struct tw_package *package,
		     struct tw_arena *arena, struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
