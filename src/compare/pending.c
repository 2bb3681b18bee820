/* Until they are there: a workbook without sheets of reports. */
#include "base/str.h"

#include "compare/report_tables.h"

__attribute__((weak)) int tw_compare_reports(const struct tw_compared *sides, size_t side_count,
					     unsigned sheets,
					     struct trawl_table *tables[TW_COMPARE_MOST_TABLES],
					     size_t *count, struct tw_str *told,
					     const struct trawl_allocator *allocator,
					     struct trawl_error *err)
{
	(void)sides, (void)side_count, (void)sheets, (void)tables, (void)told, (void)allocator;
	(void)err;
	*count = 0;
	return 0;
}
