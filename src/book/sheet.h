/* A worksheet of a workbook as a sheet of text, and the texts that its sheets share. */
#ifndef TW_BOOK_SHEET_H
#define TW_BOOK_SHEET_H

#include "base/arena.h"
#include "book/package.h"
#include "table/csv.h"

/* Cells of a sheet, the empty ones between others included. */
#define TW_SHEET_MOST_CELLS ((size_t)1 << 26)

struct tw_shared_texts {
	const char *const *items; /* in the arena */
	size_t count;
	const char *problem; /* why they could not be read, NULL: they were */
};

int tw_shared_texts_read(struct tw_shared_texts *texts, const struct tw_package *package,
			 const char *part, struct tw_arena *arena,
			 struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * Everything lies in the arena.  The first row that has a cell is the header; there are as many
 * columns as the widest row has.  TRAWL_EFORMAT for what is damaged, or larger than a sheet can be.
 */
int tw_sheet_read(struct tw_csv *csv, const struct tw_package *package, const char *part,
		  const struct tw_shared_texts *texts, struct tw_arena *arena,
		  struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
