/*
 * Reports side by side, sheet by sheet, as TraceLens compares them: columns of each side under
 * "<name>::<column>", joined by their keys, with differences to the first.
 */
#ifndef TW_STUDY_BOOKS_REPORT_TABLES_H
#define TW_STUDY_BOOKS_REPORT_TABLES_H

#include "book/book.h"
#include "table/table.h"
#include "text/str.h"
#include "trawl/compare.h"

struct tw_compared {
	const char *name; /* of this side in the columns; names are different */
	struct tw_book *book;
};

#define TW_COMPARE_MOST_TABLES 256

/*
 * The first is the baseline; 2 to 64.  Of the timeline, operations and kernels a table has all
 * sides; of the other sheets there are three for each variant: SHEET_intersect_NAME,
 * SHEET_only_baseline_NAME, SHEET_only_variant_NAME, without those that have no row.  Rows of one
 * side that have the same key are added up first.  Columns stand as: the key, differences to the
 * baseline (COLUMN__NAME_diff, COLUMN__NAME_pct), the columns of each side.
 *
 * What a side lacks (a sheet, a column of its key) is a line in `told`, and left out.  The tables,
 * *count of them, depend on nothing and are the caller's to free, also after a failure.
 */
int tw_compare_reports(const struct tw_compared *sides, size_t side_count, unsigned sheets,
		       struct trawl_table *tables[TW_COMPARE_MOST_TABLES], size_t *count,
		       struct tw_str *told, const struct trawl_allocator *allocator,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
