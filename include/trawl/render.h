/*
 * Writing tables: CSV files, a workbook, text.  Files appear whole or not at all; the same
 * tables give the same bytes.
 */
#ifndef TRAWL_RENDER_H
#define TRAWL_RENDER_H

#include "trawl/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * DIR/<table name>.csv for each table; missing directories are created, no file appears if one
 * fails.
 */
TRAWL_API int trawl_write_csv(const struct trawl_table *const *tables, size_t count,
			      const char *dir, struct trawl_error *err) TRAWL_MUST_CHECK;

/* One workbook, one sheet per table, in that order; missing directories of its path are created. */
TRAWL_API int trawl_write_xlsx(const struct trawl_table *const *tables, size_t count,
			       const char *path, struct trawl_error *err) TRAWL_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
