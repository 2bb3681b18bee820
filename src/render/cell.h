/* What renderers share about columns and the numbers in them.  Text cells: see escape.h. */
#ifndef TW_RENDER_CELL_H
#define TW_RENDER_CELL_H

#include "table/table.h"

/*
 * A cell of an ID column that holds a plain integer of up to 15 digits, which every reader keeps
 * exactly: written as a number where numbers and texts differ.
 */
bool tw_id_is_number(const struct trawl_column *column, const struct trawl_cell *cell,
		     int64_t *value);

/* Rounded to the column's `digits`, for people. */
void tw_number_rounded(struct tw_str *out, const struct trawl_column *column,
		       const struct trawl_cell *cell);

/* The header names the unit already: "time ms" and "ms", "mean_us" and "µs", "percent" and "%". */
bool tw_header_has_unit(const struct trawl_column *column);
/* The header, and " (unit)" unless it names its unit already; not escaped. */
void tw_header_with_unit(struct tw_str *out, const struct trawl_column *column);

/* "text", "integer", "decimal", "real" */
const char *tw_column_type_name(const struct trawl_column *column);

#endif
