/* Cells of the tables that the steps hand each other, whichever program wrote them. */
#ifndef TW_STUDY_VARIANCE_CELLS_H
#define TW_STUDY_VARIANCE_CELLS_H

#include "study/variance/variance.h"

/*
 * The columns of `in` but for those of the `count` headers; these stand behind them, empty, from
 * column *first on.  NULL when out of memory.
 */
struct trawl_table *tw_table_extended(const struct trawl_table *in,
				      const struct trawl_column *columns, size_t count,
				      size_t *first, const struct trawl_allocator *allocator);
/* value x 10^-scale as a text with all its digits, made in `scratch`. */
void tw_table_set_fixed(struct trawl_table *table, size_t row, size_t column, int64_t value,
			unsigned scale, struct tw_str *scratch);

/* Digits behind the point of a plain decimal; UINT_MAX: it is none. */
unsigned tw_decimal_digits(const char *text);
/* A cell as tw_text_decimal() reads it. */
bool tw_table_decimal(const struct trawl_table *table, size_t row, size_t column, unsigned scale,
		      int64_t *value);
/* The whole number in a cell, written as one or with zeros behind the point. */
bool tw_table_whole(const struct trawl_table *table, size_t row, size_t column, int64_t *value);

/* TRAWL_EFORMAT, with its name, when one of the columns is not there. */
int tw_table_needs(const struct trawl_table *table, const enum tw_variance_column *columns,
		   size_t count, struct trawl_error *err) TRAWL_MUST_CHECK;

/* Whether two cells mean the same arguments: blanks, kinds of quotes and of brackets do not count. */
bool tw_same_arguments(const char *a, const char *b);

#endif
