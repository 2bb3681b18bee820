/*
 * A table as bytes and back: for processes of one program that give each other tables.  The bytes
 * hold everything that renderers show - name, meaning, columns, cells, notes - and a checksum.
 * They are no file format: another version, or a machine of another byte order, refuses them.
 */
#ifndef TW_TABLE_PACK_H
#define TW_TABLE_PACK_H

#include "table/table.h"
#include "text/str.h"

/* Appends the table; out->failed is set on failure. */
void tw_table_pack(const struct trawl_table *table, struct tw_str *out);

/*
 * The table that begins at `bytes`, which owns all that it shows; *used is the number of bytes it
 * took.  TRAWL_EFORMAT for whatever tw_table_pack() did not write.  Memory is bounded by a
 * multiple of `len` (about 65 at worst), whatever the bytes claim.
 */
int tw_table_unpack(struct trawl_table **out, const char *bytes, size_t len, size_t *used,
		    const struct trawl_allocator *allocator,
		    struct trawl_error *err) TRAWL_MUST_CHECK;

/* A copy by that way, which needs nothing of the original; NULL when out of memory. */
struct trawl_table *tw_table_copy(const struct trawl_table *table,
				  const struct trawl_allocator *allocator);

#endif
