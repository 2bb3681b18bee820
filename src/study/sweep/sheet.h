/*
 * Sheets of text (table/csv.h) as the steps of a sweep make them: cells are set one by one, numbers
 * as exact decimals; and numbers read back from such text.
 */
#ifndef TW_STUDY_SWEEP_SHEET_H
#define TW_STUDY_SWEEP_SHEET_H

#include "base/arena.h"
#include "table/csv.h"
#include "text/str.h"

struct tw_sheet {
	struct tw_csv *csv;
	struct tw_arena *arena;
	struct tw_str scratch;
	size_t own;  /* the first column behind those that were taken over */
	bool failed; /* out of memory, sticky */
};

/* Empty cells, headers included; text that is set is borrowed, numbers lie in the arena. */
void tw_sheet_begin(struct tw_sheet *sheet, struct tw_csv *csv, struct tw_arena *arena,
		    size_t columns, size_t rows);
/*
 * The columns of `in`, whose text is borrowed, but for those that are among the `count` headers;
 * these stand behind them, empty, from column sheet->own on.
 */
void tw_sheet_extend(struct tw_sheet *sheet, struct tw_csv *csv, struct tw_arena *arena,
		     const struct tw_csv *in, const char *const *headers, size_t count);
/* 0, or TRAWL_ENOMEM when anything failed; an end to it in any case. */
int tw_sheet_end(struct tw_sheet *sheet, struct trawl_error *err) TRAWL_MUST_CHECK;

void tw_sheet_header(struct tw_sheet *sheet, size_t column, const char *text);
void tw_sheet_text(struct tw_sheet *sheet, size_t row, size_t column, const char *text);
/* A copy of text that does not last. */
void tw_sheet_copy(struct tw_sheet *sheet, size_t row, size_t column, const char *text, size_t len);
/* value x 10^-scale: without zeros at its end, or with exactly `digits` behind the point. */
void tw_sheet_decimal(struct tw_sheet *sheet, size_t row, size_t column, int64_t value,
		      unsigned scale);
void tw_sheet_fixed(struct tw_sheet *sheet, size_t row, size_t column, int64_t value,
		    unsigned scale, unsigned digits);
/* The shortest text that reads back; NaN leaves the cell empty. */
void tw_sheet_real(struct tw_sheet *sheet, size_t row, size_t column, double value);

/*
 * Text as value x 10^-scale, what lies behind that rounded; with an exponent, through a double.
 * False when it is no number, or too large.
 */
bool tw_decimal_of(const char *text, unsigned scale, int64_t *value);
/* Digits behind the point of a plain decimal; UINT_MAX: it is none. */
unsigned tw_decimal_digits(const char *text);
/* The whole number in a cell, written as one or with zeros behind the point. */
bool tw_whole_of(const char *text, int64_t *value);

/* A header as tables have it, whichever of its two letters micro is written with, or with u. */
bool tw_same_header(const char *a, const char *b);
size_t tw_sheet_column(const struct tw_csv *csv, const char *header);
/* TRAWL_EFORMAT, with its name, when one of the headers is not there. */
int tw_sheet_needs(const struct tw_csv *csv, const char *const *headers, size_t count,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

/* Whether two cells mean the same arguments: blanks, kinds of quotes and of brackets do not count. */
bool tw_same_arguments(const char *a, const char *b);

#endif
