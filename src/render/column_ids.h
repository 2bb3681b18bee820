/* Ids of columns in JSON, made of their headers: those of a table differ. */
#ifndef TW_RENDER_COLUMN_IDS_H
#define TW_RENDER_COLUMN_IDS_H

#include "text/str.h"
#include "trawl/table.h"

/* One after the other with a NUL between. */
struct tw_column_ids {
	struct tw_str text;
	size_t *begin;
	size_t count;
};

/* False when out of memory; to be released in any case. */
bool tw_column_ids_make(struct tw_column_ids *ids, const struct trawl_table *table,
			const struct trawl_allocator *allocator);
void tw_column_ids_release(struct tw_column_ids *ids, const struct trawl_allocator *allocator);

#endif
