#include "study/variance/points.h"

#include "base/alloc.h"
#include "study/variance/variance.h"

#include <math.h>

/* Rows that are named one by one. */
#define ROWS_NOTED 10

enum { THREADS, CHANNELS, RANK, DIFFERENCE, COLUMNS };

static const enum tw_variance_column read[COLUMNS] = { TW_VARIANCE_THREADS, TW_VARIANCE_CHANNEL,
						       TW_VARIANCE_RANK, TW_VARIANCE_DIFF };

/* A whole number of a cell: "256", or "256.0" of a program that has only one kind. */
static bool take_number(double value, int64_t *number)
{
	if (!(fabs(value) < 1e15) || value != floor(value))
		return false;
	*number = (int64_t)value;
	return true;
}

/* The column that cannot be used, COLUMNS: none. */
static size_t take_row(const struct trawl_table *table, size_t row, struct tw_variance_point *point)
{
	int64_t *const numbers[] = { &point->threads, &point->channels, &point->rank };
	size_t i;

	for (i = 0; i < DIFFERENCE; i++)
		if (!take_number(tw_variance_number(table, row, read[i]), numbers[i]))
			return i;
	point->difference_us = tw_variance_number(table, row, read[DIFFERENCE]);
	return fabs(point->difference_us) <= TW_VARIANCE_MOST_US ? COLUMNS : DIFFERENCE;
}

static bool is_wanted(const struct trawl_sweep_filter *f, const struct tw_variance_point *p)
{
	return !f || (tw_sweep_is_wanted(f->threads, f->thread_count, p->threads) &&
		      tw_sweep_is_wanted(f->channels, f->channel_count, p->channels) &&
		      tw_sweep_is_wanted(f->ranks, f->rank_count, p->rank));
}

static void note_row(struct tw_str *notes, const char *name, const struct trawl_table *table,
		     size_t row, size_t which)
{
	size_t column = tw_variance_at(table, read[which]);
	struct tw_str text;

	tw_str_init(&text, notes->allocator);
	/* As spreadsheets number them: the header is the first. */
	tw_str_note(notes, "'%s': row %zu skipped: %s '%.60s' is not a %snumber%s", name, row + 2,
		    tw_variance_columns[read[which]].header,
		    tw_table_text(table, row, column, &text), which == DIFFERENCE ? "" : "whole ",
		    which == DIFFERENCE && !isnan(tw_table_number(table, row, column)) ?
			    " of microseconds" :
			    "");
	tw_str_release(&text);
}

int tw_variance_points_of(const struct trawl_table *table, const char *name,
			  const struct trawl_sweep_filter *filter, struct tw_arena *arena,
			  struct tw_variance_points *out, struct tw_str *notes,
			  struct trawl_error *err)
{
	size_t rows = trawl_table_rows(table), i, wrong;

	*out = (struct tw_variance_points){ 0 };
	for (i = 0; i < COLUMNS; i++)
		if (tw_variance_at(table, read[i]) == trawl_table_columns(table))
			return trawl_error_set(
				err, TRAWL_EFORMAT,
				"'%s' has no column '%s': not a table of time differences", name,
				tw_variance_columns[read[i]].header);
	out->points = tw_arena_alloc(arena, (rows + 1) * sizeof(*out->points));
	if (!out->points)
		return tw_no_memory(err);
	for (i = 0; i < rows; i++) {
		struct tw_variance_point *point = &out->points[out->count];

		wrong = take_row(table, i, point);
		if (wrong == COLUMNS)
			out->count += is_wanted(filter, point);
		else if (out->skipped++ < ROWS_NOTED)
			note_row(notes, name, table, i, wrong);
	}
	if (out->skipped > ROWS_NOTED)
		tw_str_note(notes, "'%s': %zu more rows skipped", name, out->skipped - ROWS_NOTED);
	if (out->count)
		return 0;
	if (!rows)
		return trawl_error_set(err, TRAWL_ENODATA, "nothing to draw: '%s' has no rows",
				       name);
	if (out->skipped < rows)
		return trawl_error_set(err, TRAWL_ENODATA,
				       "nothing to draw: no row of '%s' is selected", name);
	return trawl_error_set(err, TRAWL_ENODATA, "nothing to draw: no valid row in '%s'", name);
}
