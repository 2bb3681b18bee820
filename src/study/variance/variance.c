/* Step 1: the rows of each report whose shortest and longest call differ most. */
#include "study/variance/variance.h"

#include "base/alloc.h"
#include "base/list.h"
#include "study/sweep/sheet.h"
#include "study/variance/kernel_details.h"
#include "text/scan.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DETAILS "kernel_details"
#define PREFIX "col_"

enum {
	THREADS,
	CHANNEL,
	RANK,
	KERNEL,
	MIN,
	MAX,
	DIFF,
	FIRST, /* columns in front of those of the sheet */
};
static const char *const headers[FIRST] = {
	[THREADS] = "threads",	  [CHANNEL] = "channel",	[RANK] = "rank",
	[KERNEL] = "kernel_name", [MIN] = "kernel_time_min_us", [MAX] = "kernel_time_max_us",
	[DIFF] = "time_diff_us",
};

/* Columns behind them. */
enum { KERNEL_TOTAL, KERNEL_COUNT, KERNEL_NAMES, LAST };
static const char *const last_headers[LAST] = {
	[KERNEL_TOTAL] = "kernel_total_time_us",
	[KERNEL_COUNT] = "kernel_count",
	[KERNEL_NAMES] = "kernel_names",
};

/* The sheet of a report, as far as rows of it are kept. */
struct sheet {
	const char **headers; /* "col_...", NULL: has none, or one that was there before */
	size_t columns;
};

struct row {
	int64_t threads, channels, rank;
	double diff_us;
	size_t order;	    /* in which rows were added */
	size_t sheet;	    /* index of its report's */
	const char **cells; /* as long as the sheet has columns */
	const char *min, *max, *diff, *kernel, *names;
	int64_t kernel_total_ns, kernel_count;
};

struct tw_variance {
	const struct trawl_allocator *allocator;
	struct tw_arena arena; /* texts and cells */
	size_t top_k;
	struct row *rows;
	size_t count, capacity;
	struct sheet *sheets;
	size_t sheet_count, sheet_capacity;
};

struct tw_variance *tw_variance_new(size_t top_k, const struct trawl_allocator *allocator)
{
	struct tw_variance *v = tw_alloc_array(allocator, 1, sizeof(*v));

	if (!v)
		return NULL;
	v->allocator = allocator;
	v->top_k = top_k;
	tw_arena_init(&v->arena, allocator);
	return v;
}

void tw_variance_free(struct tw_variance *v)
{
	if (!v)
		return;
	tw_arena_release(&v->arena);
	tw_free(v->allocator, v->rows, v->capacity * sizeof(*v->rows));
	tw_free(v->allocator, v->sheets, v->sheet_capacity * sizeof(*v->sheets));
	tw_free(v->allocator, v, sizeof(*v));
}

/* ---- the columns of a sheet */

struct place {
	size_t details, min, max;
};

static size_t details_column(const struct tw_csv *gemm)
{
	size_t column = tw_sheet_column(gemm, DETAILS "__summarize_kernel_stats"), i;

	for (i = 0; column == TW_CSV_NO_COLUMN && i < gemm->columns; i++)
		if (!strncmp(gemm->cells[i], DETAILS, strlen(DETAILS)))
			column = i;
	return column;
}

static int find_columns(const struct tw_csv *gemm, struct place *place, struct trawl_error *err)
{
	const char *missing = NULL;

	place->details = details_column(gemm);
	place->min = tw_sheet_column(gemm, "Kernel Time (µs)_min");
	place->max = tw_sheet_column(gemm, "Kernel Time (µs)_max");
	if (place->max == TW_CSV_NO_COLUMN)
		missing = "Kernel Time (µs)_max";
	if (place->min == TW_CSV_NO_COLUMN)
		missing = "Kernel Time (µs)_min";
	if (place->details == TW_CSV_NO_COLUMN)
		missing = DETAILS "__summarize_kernel_stats";
	if (!missing)
		return 0;
	return trawl_error_set(err, TRAWL_EFORMAT, "sheet GEMM has no column '%s'", missing);
}

/* Names of the columns as the result has them. */
static int keep_sheet(struct tw_variance *v, const struct tw_csv *gemm)
{
	struct sheet sheet = { .columns = gemm->columns };
	size_t i, k;

	if (!tw_list_grow(&v->sheets, &v->sheet_capacity, v->sheet_count, sizeof(sheet),
			  v->allocator))
		return -1;
	sheet.headers = tw_arena_alloc(&v->arena, (gemm->columns + 1) * sizeof(*sheet.headers));
	if (!sheet.headers)
		return -1;
	for (i = 0; i < gemm->columns; i++) {
		size_t len = strlen(gemm->cells[i]);
		char *header = tw_arena_alloc(&v->arena, strlen(PREFIX) + len + 1);

		if (!header)
			return -1;
		memcpy(header, PREFIX, strlen(PREFIX));
		memcpy(header + strlen(PREFIX), gemm->cells[i], len + 1);
		for (k = 0; k < i && strcmp(gemm->cells[k], gemm->cells[i]); k++)
			;
		sheet.headers[i] = len && k == i ? header : NULL;
	}
	v->sheets[v->sheet_count++] = sheet;
	return 0;
}

/* ---- the rows of a sheet */

struct candidate {
	double diff_us;
	size_t row;
	bool has_time;	 /* the longest call is over 0 */
	const char *min; /* of the shortest call that has GPU work */
};

/* Largest difference first, of equals the earlier row. */
static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->diff_us != y->diff_us)
		return x->diff_us > y->diff_us ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* In ns where both are told to the ns: differences of doubles have digits that nobody measured. */
static bool exact_difference(const char *min, const char *max, int64_t *diff_ns)
{
	enum { NS = 3 };
	unsigned digits_min = tw_decimal_digits(min), digits_max = tw_decimal_digits(max);
	int64_t from, to;

	return digits_min <= NS && digits_max <= NS && tw_decimal_of(min, NS, &from) &&
	       tw_decimal_of(max, NS, &to) && !__builtin_sub_overflow(to, from, diff_ns);
}

static double difference(const struct tw_csv *gemm, const struct place *place, size_t row,
			 const char *min)
{
	int64_t ns;

	if (exact_difference(min, tw_csv_text(gemm, row, place->max), &ns))
		return (double)ns / 1000;
	return tw_csv_number(gemm, row, place->max) - tw_csv_number(gemm, row, place->min);
}

static const char *keep(struct tw_variance *v, const char *text)
{
	return tw_arena_copy(&v->arena, text, strlen(text));
}

static int keep_difference(struct tw_variance *v, struct row *row)
{
	struct tw_str text;
	int64_t ns;

	tw_str_init(&text, v->allocator);
	if (exact_difference(row->min, row->max, &ns))
		tw_str_add_decimal(&text, ns, 3);
	else
		tw_str_add_real(&text, row->diff_us);
	row->diff = text.failed ? NULL :
				  tw_arena_copy(&v->arena, text.ptr ? text.ptr : "", text.len);
	tw_str_release(&text);
	return row->diff ? 0 : -1;
}

static int keep_kernels(struct tw_variance *v, struct row *row,
			const struct tw_listed_kernels *kernels)
{
	struct tw_str names;
	size_t i;

	tw_str_init(&names, v->allocator);
	for (i = 0; i < kernels->count; i++) {
		if (i)
			tw_str_add_char(&names, ';');
		tw_str_add_cstr(&names, kernels->items[i].name);
	}
	row->names = names.failed ? NULL : tw_arena_copy(&v->arena, names.ptr, names.len);
	tw_str_release(&names);
	row->kernel = keep(v, kernels->items[0].name);
	row->kernel_total_ns = kernels->items[0].total_ns;
	row->kernel_count = (int64_t)kernels->count;
	return row->names && row->kernel ? 0 : -1;
}

static int keep_cells(struct tw_variance *v, struct row *row, const struct tw_csv *gemm,
		      const struct place *place, size_t number, const char *min)
{
	size_t i;

	row->cells = tw_arena_alloc(&v->arena, (gemm->columns + 1) * sizeof(*row->cells));
	if (!row->cells)
		return -1;
	for (i = 0; i < gemm->columns; i++) {
		row->cells[i] = keep(v, tw_csv_text(gemm, number, i));
		if (!row->cells[i])
			return -1;
	}
	row->min = keep(v, min);
	row->max = row->cells[place->max];
	return row->min ? keep_difference(v, row) : -1;
}

/* Rows of one report, with what is wrong with some. */
struct adding {
	struct tw_variance *v;
	const struct tw_csv *gemm, *instances;
	struct place place;
	struct row like; /* threads, channels, rank */
	struct candidate *candidates;
	size_t count, kept, without_times, without_kernel, without_min;
};

/*
 * The time of the shortest call in the sheet's unit.  A call whose GPU work was not recorded counts
 * there as 0, which is no time of it: of those that have some, the table of instances tells.  NULL:
 * it is not known.
 */
static const char *shortest(struct adding *a, size_t row)
{
	const char *min = tw_csv_text(a->gemm, row, a->place.min), *uid;
	size_t of_gemm = tw_csv_column(a->gemm, "UID_first"), of_instances, time, i;
	struct tw_str text;
	int64_t ns;

	if (tw_csv_number(a->gemm, row, a->place.min) != 0 ||
	    !(tw_csv_number(a->gemm, row, a->place.max) > 0))
		return min;
	if (!a->instances || of_gemm == TW_CSV_NO_COLUMN)
		return NULL;
	uid = tw_csv_text(a->gemm, row, of_gemm);
	of_instances = tw_csv_column(a->instances, "UID_first");
	time = tw_csv_column(a->instances, "min_time_ns");
	for (i = 0; i < a->instances->rows; i++)
		if (!strcmp(tw_csv_text(a->instances, i, of_instances), uid))
			break;
	if (i == a->instances->rows || !tw_decimal_of(tw_csv_text(a->instances, i, time), 0, &ns) ||
	    ns <= 0)
		return NULL;
	tw_str_init(&text, a->v->allocator);
	tw_str_add_decimal(&text, ns, 3);
	min = text.failed ? NULL : keep(a->v, text.ptr);
	tw_str_release(&text);
	return min;
}

static int add_row(struct adding *a, const struct candidate *candidate, struct trawl_error *err)
{
	struct tw_variance *v = a->v;
	struct tw_listed_kernels kernels;
	struct row row = a->like;
	int status = tw_listed_kernels_read(&kernels,
					    tw_csv_text(a->gemm, candidate->row, a->place.details),
					    v->allocator, err);

	if (!status && !kernels.count) {
		/* Calls without any GPU work are no loss. */
		a->without_kernel += candidate->has_time;
	} else if (!status && a->kept < v->top_k) {
		row.diff_us = candidate->diff_us;
		row.order = v->count;
		if (!tw_list_grow(&v->rows, &v->capacity, v->count, sizeof(row), v->allocator) ||
		    keep_cells(v, &row, a->gemm, &a->place, candidate->row, candidate->min) ||
		    keep_kernels(v, &row, &kernels)) {
			status = tw_no_memory(err);
		} else {
			v->rows[v->count++] = row;
			a->kept++;
		}
	}
	tw_listed_kernels_release(&kernels);
	return status;
}

static int add_rows(struct adding *a, struct trawl_error *err)
{
	size_t i;
	int status = 0;

	for (i = 0; i < a->gemm->rows; i++) {
		const char *min = shortest(a, i);
		double diff = min ? difference(a->gemm, &a->place, i, min) : NAN;

		if (isfinite(diff))
			a->candidates[a->count++] = (struct candidate){
				diff, i, tw_csv_number(a->gemm, i, a->place.max) > 0, min
			};
		else if (min)
			a->without_times++;
		else
			a->without_min++;
	}
	if (a->count)
		qsort(a->candidates, a->count, sizeof(*a->candidates), compare_candidates);
	/* All of them are read, so that what is told does not depend on how many are wanted. */
	for (i = 0; i < a->count && !status; i++)
		status = add_row(a, &a->candidates[i], err);
	return status;
}

static void tell_rows(const struct adding *a, struct tw_str *told)
{
	if (a->without_times)
		tw_str_addf(told, "%zu of %zu rows of sheet GEMM have no times\n", a->without_times,
			    a->gemm->rows);
	if (a->without_min)
		tw_str_addf(
			told,
			"%zu of %zu rows of sheet GEMM have calls without recorded GPU work: how "
			"long the shortest took is not known\n",
			a->without_min, a->gemm->rows);
	if (a->without_kernel)
		tw_str_addf(told, "%zu of %zu rows of sheet GEMM name no kernel\n",
			    a->without_kernel, a->gemm->rows);
}

int tw_variance_add(struct tw_variance *v, int64_t threads, int64_t channels, int64_t rank,
		    const struct tw_csv *gemm, const struct tw_csv *instances, struct tw_str *told,
		    struct trawl_error *err)
{
	struct adding a = { .v = v, .gemm = gemm, .instances = instances };
	size_t bytes = (gemm->rows + 1) * sizeof(*a.candidates);
	int status;

	/* A sheet without anything is one of a trace without such operations. */
	if (!gemm->columns)
		return 0;
	status = find_columns(gemm, &a.place, err);
	if (status)
		return status;
	a.like = (struct row){ .threads = threads,
			       .channels = channels,
			       .rank = rank,
			       .sheet = v->sheet_count };
	a.candidates = tw_alloc(v->allocator, bytes);
	if (!a.candidates || keep_sheet(v, gemm))
		status = tw_no_memory(err);
	else
		status = add_rows(&a, err);
	tw_free(v->allocator, a.candidates, bytes);
	/* Its columns count only with rows. */
	if (!status && !a.kept)
		v->sheet_count--;
	if (!status)
		tell_rows(&a, told);
	return status;
}

/* ---- all of them */

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->diff_us != y->diff_us)
		return x->diff_us > y->diff_us ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Headers of all sheets that rows are of, each once, in order of their code points. */
static const char **join_headers(const struct tw_variance *v, struct tw_arena *arena, size_t *count)
{
	const char **all;
	size_t i, k, n = 0;

	for (i = 0; i < v->sheet_count; i++)
		n += v->sheets[i].columns;
	all = tw_arena_alloc(arena, (n + 1) * sizeof(*all));
	if (!all)
		return NULL;
	for (i = n = 0; i < v->sheet_count; i++)
		for (k = 0; k < v->sheets[i].columns; k++)
			if (v->sheets[i].headers[k])
				all[n++] = v->sheets[i].headers[k];
	if (n)
		qsort(all, n, sizeof(*all), compare_texts);
	for (i = *count = 0; i < n; i++)
		if (!*count || strcmp(all[*count - 1], all[i]) != 0)
			all[(*count)++] = all[i];
	/* What was gathered goes away; the result does not. */
	for (i = 0; i < *count; i++) {
		all[i] = tw_arena_copy(arena, all[i], strlen(all[i]));
		if (!all[i])
			return NULL;
	}
	return all;
}

static void copy_text(struct tw_sheet *out, size_t row, size_t column, const char *text)
{
	if (*text)
		tw_sheet_copy(out, row, column, text, strlen(text));
}

static void fill_row(const struct tw_variance *v, struct tw_sheet *out, size_t number,
		     const char *const *all, size_t count)
{
	const struct row *row = &v->rows[number];
	const struct sheet *sheet = &v->sheets[row->sheet];
	size_t i;

	tw_sheet_decimal(out, number, THREADS, row->threads, 0);
	tw_sheet_decimal(out, number, CHANNEL, row->channels, 0);
	tw_sheet_decimal(out, number, RANK, row->rank, 0);
	copy_text(out, number, KERNEL, row->kernel);
	copy_text(out, number, MIN, row->min);
	copy_text(out, number, MAX, row->max);
	copy_text(out, number, DIFF, row->diff);
	for (i = 0; i < sheet->columns; i++) {
		const char **place;

		if (!sheet->headers[i])
			continue;
		place = bsearch(&sheet->headers[i], all, count, sizeof(*all), compare_texts);
		if (place)
			copy_text(out, number, FIRST + (size_t)(place - (const char **)all),
				  row->cells[i]);
	}
	if (row->kernel_total_ns)
		tw_sheet_decimal(out, number, FIRST + count + KERNEL_TOTAL, row->kernel_total_ns,
				 3);
	tw_sheet_decimal(out, number, FIRST + count + KERNEL_COUNT, row->kernel_count, 0);
	copy_text(out, number, FIRST + count + KERNEL_NAMES, row->names);
}

int tw_variance_finish(struct tw_variance *v, struct tw_arena *arena, struct tw_csv *csv,
		       struct trawl_error *err)
{
	struct tw_sheet out;
	size_t count = 0, i;
	const char **all = join_headers(v, arena, &count);

	*csv = (struct tw_csv){ 0 };
	if (!all)
		return tw_no_memory(err);
	if (v->count)
		qsort(v->rows, v->count, sizeof(*v->rows), compare_rows);
	tw_sheet_begin(&out, csv, arena, FIRST + count + LAST, v->count);
	for (i = 0; i < FIRST; i++)
		tw_sheet_header(&out, i, headers[i]);
	for (i = 0; i < count; i++)
		tw_sheet_header(&out, FIRST + i, all[i]);
	for (i = 0; i < LAST; i++)
		tw_sheet_header(&out, FIRST + count + i, last_headers[i]);
	for (i = 0; i < v->count; i++)
		fill_row(v, &out, i, all, count);
	return tw_sheet_end(&out, err);
}
