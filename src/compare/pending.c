/* Until the parts that make them are there: a workbook without sheets of reports, a bare page. */
#include "base/str.h"

#include "compare/report_tables.h"
#include "render/compare_page.h"

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

__attribute__((weak)) int tw_render_compare_page(const struct tw_compare_page *page,
						 struct tw_str *out, struct tw_str *told,
						 struct trawl_error *err)
{
	(void)told, (void)err;
	tw_str_add_cstr(out, page->title);
	return 0;
}
