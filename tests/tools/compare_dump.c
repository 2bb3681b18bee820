/*
 * Compares reports sheet by sheet and writes the tables as CSV files into a directory; what was
 * left out goes to stderr.
 *
 * usage: compare_dump DIR NAME REPORT NAME REPORT...
 */
#include "study/books/report_tables.h"
#include "render/render.h"
#include "table/table.h"

#include <stdio.h>

#define MOST 16

static int compare(const char *dir, const struct tw_compared *sides, size_t count)
{
	struct trawl_table *tables[TW_COMPARE_MOST_TABLES];
	const struct trawl_allocator *allocator = trawl_allocator_default();
	struct trawl_error err = { 0 };
	struct tw_str told;
	size_t made = 0, i;
	int status;

	tw_str_init(&told, allocator);
	status = tw_compare_reports(sides, count, TRAWL_COMPARE_EVERYTHING, tables, &made, &told,
				    allocator, &err);
	if (!status)
		status = tw_render_csv_directory((const struct trawl_table *const *)tables, made,
						 dir, allocator, &err);
	if (told.ptr)
		fputs(told.ptr, stderr);
	if (status)
		fprintf(stderr, "%s\n", err.message);
	for (i = 0; i < made; i++)
		trawl_table_free(tables[i]);
	tw_str_release(&told);
	return status != 0;
}

int main(int argc, char **argv)
{
	struct tw_compared sides[MOST];
	struct trawl_error err = { 0 };
	size_t count = 0;
	int i, failed = 0;

	for (i = 2; i + 1 < argc && count < MOST && !failed; i += 2) {
		sides[count].name = argv[i];
		failed = tw_book_open(&sides[count].book, argv[i + 1], trawl_allocator_default(),
				      &err);
		count += !failed;
	}
	if (failed)
		fprintf(stderr, "%s\n", err.message);
	else
		failed = argc > 1 ? compare(argv[1], sides, count) : 2;
	while (count)
		tw_book_free(sides[--count].book);
	return failed != 0;
}
