/* Tables of CSV text, typed by what is in them, as reports that are read back are. */
#ifndef TRAWL_TESTS_TYPED_H
#define TRAWL_TESTS_TYPED_H

#include "table/csv.h"

#include <string.h>

static struct trawl_table *typed_tables[64];
static size_t typed_count;

/* It lives until free_typed(). */
static const struct trawl_table *typed(const char *text)
{
	static const struct tw_table_spec spec = { .name = "typed" };
	struct tw_arena arena;
	struct tw_csv csv;

	assert_true(typed_count < sizeof(typed_tables) / sizeof(typed_tables[0]));
	tw_arena_init(&arena, trawl_allocator_default());
	assert_int_equal(tw_csv_parse(&csv, &arena, text, strlen(text), "t.csv", NULL), 0);
	assert_int_equal(tw_csv_table(&csv, &spec, trawl_allocator_default(),
				      &typed_tables[typed_count], NULL),
			 0);
	tw_arena_release(&arena);
	return typed_tables[typed_count++];
}

static void free_typed(void)
{
	while (typed_count)
		trawl_table_free(typed_tables[--typed_count]);
}

#endif
