/* Step 1: the rows of each report whose shortest and longest call differ most. */
#include "study/variance/variance.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/order.h"
#include "study/variance/cells.h"
#include "study/variance/kernel_details.h"
#include "text/scan.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DETAILS "kernel_details"
#define PREFIX TW_VARIANCE_PREFIX

enum {
	FIRST = TW_VARIANCE_DIFF + 1, /* columns in front of those of the report */
	LAST = TW_VARIANCE_KERNEL_NAMES - TW_VARIANCE_DIFF, /* and behind them */
};

/* Of a report's table where it has what is looked at. */
struct place {
	size_t details, min, max;
};

/* A report's table, as far as rows of it are kept. */
struct sheet {
	const struct trawl_table *gemm;
	const char **headers; /* "col_...", NULL: has none, or one that was there before */
	struct place place;
};

/* Where the table's own shortest call counts. */
#define OWN_MIN (-1)

struct row {
	int64_t threads, channels, rank;
	double diff_us;
	size_t order; /* in which rows were added */
	size_t sheet; /* index of its report's */
	size_t at;    /* row of that */
	int64_t min_ns;
	const char *kernel, *names;
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

static size_t details_column(const struct trawl_table *gemm)
{
	size_t count = trawl_table_columns(gemm), i;
	size_t column = trawl_table_find_column(gemm, TW_COL_KERNEL_DETAILS_SUMMARIZE_KERNEL_STATS);

	for (i = 0; column == count && i < count; i++)
		if (!strncmp(trawl_table_column(gemm, i)->header, DETAILS, strlen(DETAILS)))
			column = i;
	return column;
}

static int find_columns(const struct trawl_table *gemm, struct place *place,
			struct trawl_error *err)
{
	size_t none = trawl_table_columns(gemm);
	const char *missing = NULL;

	place->details = details_column(gemm);
	place->min = trawl_table_find_column(gemm, TW_COL_KERNEL_TIME_US_MIN);
	place->max = trawl_table_find_column(gemm, TW_COL_KERNEL_TIME_US_MAX);
	if (place->max == none)
		missing = TW_COL_KERNEL_TIME_US_MAX;
	if (place->min == none)
		missing = TW_COL_KERNEL_TIME_US_MIN;
	if (place->details == none)
		missing = TW_COL_KERNEL_DETAILS_SUMMARIZE_KERNEL_STATS;
	if (!missing)
		return 0;
	return trawl_error_set(err, TRAWL_EFORMAT, "sheet GEMM has no column '%s'", missing);
}

/* Names of the columns as the result has them. */
static int keep_sheet(struct tw_variance *v, const struct trawl_table *gemm,
		      const struct place *place)
{
	size_t columns = trawl_table_columns(gemm), i;
	struct sheet sheet = { .gemm = gemm, .place = *place };

	if (!tw_list_grow(&v->sheets, &v->sheet_capacity, v->sheet_count, sizeof(sheet),
			  v->allocator))
		return -1;
	sheet.headers = tw_arena_alloc(&v->arena, columns * sizeof(*sheet.headers));
	if (!sheet.headers)
		return -1;
	for (i = 0; i < columns; i++) {
		const char *own = trawl_table_column(gemm, i)->header;
		size_t len = strlen(own), k;
		char *header = tw_arena_alloc(&v->arena, strlen(PREFIX) + len + 1);

		if (!header)
			return -1;
		memcpy(header, PREFIX, strlen(PREFIX));
		memcpy(header + strlen(PREFIX), own, len + 1);
		for (k = 0; k < i && strcmp(trawl_table_column(gemm, k)->header, own); k++)
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
	bool has_time;	/* the longest call is over 0 */
	int64_t min_ns; /* of the shortest call that has GPU work */
};

/* Largest difference first, of equals the earlier row. */
static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return TW_COMPARE(y->diff_us, x->diff_us) ?: TW_ORDER_BY(x, y, row);
}

/* Of times that are told to the ns: differences of doubles have digits that nobody measured. */
static bool exact_ns(const struct trawl_table *gemm, size_t row, size_t column, int64_t *ns)
{
	enum { NS = 3 };
	struct tw_str text;
	bool exact;

	tw_str_init(&text, trawl_allocator_default());
	exact = tw_decimal_digits(tw_table_text(gemm, row, column, &text)) <= NS &&
		tw_text_decimal(text.ptr, NS, ns);
	tw_str_release(&text);
	return exact;
}

static double difference(const struct sheet *sheet, size_t row, int64_t min_ns)
{
	int64_t from = min_ns, to, ns;

	if ((min_ns != OWN_MIN || exact_ns(sheet->gemm, row, sheet->place.min, &from)) &&
	    exact_ns(sheet->gemm, row, sheet->place.max, &to) &&
	    !__builtin_sub_overflow(to, from, &ns))
		return (double)ns / 1000;
	return tw_table_number(sheet->gemm, row, sheet->place.max) -
	       tw_table_number(sheet->gemm, row, sheet->place.min);
}

static const char *keep(struct tw_variance *v, const char *text)
{
	return tw_arena_copy(&v->arena, text, strlen(text));
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

/* Rows of one report, with what is wrong with some. */
struct adding {
	struct tw_variance *v;
	const struct sheet *sheet;
	const struct trawl_table *gemm, *instances;
	struct row like; /* threads, channels, rank, sheet */
	struct candidate *candidates;
	size_t count, kept, without_times, without_kernel, without_min;
};

/*
 * The time of the shortest call.  One whose GPU work was not recorded counts in the table as 0,
 * which is no time of it: of those that have some, the table of instances tells.  False: it is not
 * known.
 */
static bool shortest(const struct adding *a, size_t row, int64_t *min_ns)
{
	const struct place *place = &a->sheet->place;
	int64_t uid, other;
	size_t column, i;

	*min_ns = OWN_MIN;
	if (tw_table_number(a->gemm, row, place->min) != 0 ||
	    !(tw_table_number(a->gemm, row, place->max) > 0))
		return true;
	if (!a->instances ||
	    !tw_table_whole(a->gemm, row, trawl_table_find_column(a->gemm, TW_COL_UID_FIRST), &uid))
		return false;
	column = trawl_table_find_column(a->instances, TW_COL_UID_FIRST);
	for (i = 0; i < trawl_table_rows(a->instances); i++)
		if (tw_table_whole(a->instances, i, column, &other) && other == uid)
			break;
	return tw_table_decimal(a->instances, i,
				trawl_table_find_column(a->instances, "min_time_ns"), 0, min_ns) &&
	       *min_ns > 0;
}

static int add_row(struct adding *a, const struct candidate *candidate, struct trawl_error *err)
{
	struct tw_variance *v = a->v;
	struct tw_listed_kernels kernels;
	struct row row = a->like;
	struct tw_str text;
	int status;

	tw_str_init(&text, v->allocator);
	status = tw_listed_kernels_read(
		&kernels, tw_table_text(a->gemm, candidate->row, a->sheet->place.details, &text),
		v->allocator, err);
	if (text.failed)
		status = tw_no_memory(err);
	tw_str_release(&text);

	if (!status && !kernels.count) {
		/* Calls without any GPU work are no loss. */
		a->without_kernel += candidate->has_time;
	} else if (!status && a->kept < v->top_k) {
		row.diff_us = candidate->diff_us;
		row.order = v->count;
		row.at = candidate->row;
		row.min_ns = candidate->min_ns;
		if (!tw_list_grow(&v->rows, &v->capacity, v->count, sizeof(row), v->allocator) ||
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

	for (i = 0; i < trawl_table_rows(a->gemm); i++) {
		int64_t min_ns;
		bool known = shortest(a, i, &min_ns);
		double diff = known ? difference(a->sheet, i, min_ns) : NAN;

		if (isfinite(diff))
			a->candidates[a->count++] = (struct candidate){
				diff, i, tw_table_number(a->gemm, i, a->sheet->place.max) > 0,
				min_ns
			};
		else if (known)
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
	size_t rows = trawl_table_rows(a->gemm);

	if (a->without_times)
		tw_str_addf(told, "%zu of %zu rows of sheet GEMM have no times\n", a->without_times,
			    rows);
	if (a->without_min)
		tw_str_addf(told,
			    "%zu of %zu rows of sheet GEMM have calls without GPU work: min call "
			    "time unknown\n",
			    a->without_min, rows);
	if (a->without_kernel)
		tw_str_addf(told, "%zu of %zu rows of sheet GEMM name no kernel\n",
			    a->without_kernel, rows);
}

int tw_variance_add(struct tw_variance *v, int64_t threads, int64_t channels, int64_t rank,
		    const struct trawl_table *gemm, const struct trawl_table *instances,
		    struct tw_str *told, struct trawl_error *err)
{
	struct adding a = { .v = v, .gemm = gemm, .instances = instances };
	size_t bytes = (trawl_table_rows(gemm) + 1) * sizeof(*a.candidates);
	struct place place;
	int status;

	/* A table without anything is one of a trace without such operations. */
	if (!trawl_table_columns(gemm))
		return 0;
	status = find_columns(gemm, &place, err);
	if (status)
		return status;
	a.like = (struct row){ .threads = threads,
			       .channels = channels,
			       .rank = rank,
			       .sheet = v->sheet_count };
	a.candidates = tw_alloc(v->allocator, bytes);
	if (!a.candidates || keep_sheet(v, gemm, &place)) {
		status = tw_no_memory(err);
	} else {
		a.sheet = &v->sheets[a.like.sheet];
		status = add_rows(&a, err);
	}
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

	return TW_COMPARE(y->diff_us, x->diff_us) ?: TW_ORDER_BY(x, y, order);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Headers of all tables that rows are of, each once, in order of their code points. */
static const char **join_headers(struct tw_variance *v, size_t *count)
{
	const char **all;
	size_t i, k, n = 0;

	for (i = 0; i < v->sheet_count; i++)
		n += trawl_table_columns(v->sheets[i].gemm);
	all = tw_arena_alloc(&v->arena, (n + 1) * sizeof(*all));
	if (!all)
		return NULL;
	for (i = n = 0; i < v->sheet_count; i++)
		for (k = 0; k < trawl_table_columns(v->sheets[i].gemm); k++)
			if (v->sheets[i].headers[k])
				all[n++] = v->sheets[i].headers[k];
	if (n)
		qsort(all, n, sizeof(*all), compare_texts);
	for (i = *count = 0; i < n; i++)
		if (!*count || strcmp(all[*count - 1], all[i]) != 0)
			all[(*count)++] = all[i];
	return all;
}

/* The result while it is made. */
struct result {
	const struct tw_variance *v;
	struct trawl_column *columns;
	size_t count;
	struct trawl_table *table;
	struct tw_str text; /* of a cell */
};

/* Where a column of a report's table goes; 0: nowhere. */
static size_t place_of(const struct result *r, const struct sheet *sheet, size_t column)
{
	size_t i;

	for (i = FIRST; sheet->headers[column] && i < r->count - LAST; i++)
		if (!strcmp(r->columns[i].header, sheet->headers[column]))
			return i;
	return 0;
}

static void declare(struct result *r, const char *const *headers)
{
	size_t i;

	memcpy(r->columns, tw_variance_columns, FIRST * sizeof(*r->columns));
	memcpy(r->columns + r->count - LAST, tw_variance_columns + FIRST,
	       LAST * sizeof(*r->columns));
	for (i = FIRST; i < r->count - LAST; i++)
		r->columns[i] = (struct trawl_column){ .header = headers[i - FIRST],
						       .type = TRAWL_COLUMN_ID,
						       .unit = "" };
	/* As reports write them, too. */
	r->columns[TW_VARIANCE_MIN].type = r->columns[TW_VARIANCE_MAX].type = TRAWL_COLUMN_ID;
}

static void set_min(struct result *r, size_t row, int64_t ns)
{
	tw_str_clear(&r->text);
	tw_str_add_decimal(&r->text, ns, 3);
	tw_table_set_text(r->table, row, TW_VARIANCE_MIN, r->text.ptr, r->text.len);
}

static void fill_row(struct result *r, size_t number)
{
	const struct row *row = &r->v->rows[number];
	const struct sheet *sheet = &r->v->sheets[row->sheet];
	size_t last = r->count - LAST - FIRST, i, to;

	tw_table_add_row(r->table);
	tw_table_set_integer(r->table, number, TW_VARIANCE_THREADS, row->threads);
	tw_table_set_integer(r->table, number, TW_VARIANCE_CHANNEL, row->channels);
	tw_table_set_integer(r->table, number, TW_VARIANCE_RANK, row->rank);
	tw_table_set_str(r->table, number, TW_VARIANCE_KERNEL, row->kernel);
	if (row->min_ns == OWN_MIN)
		tw_table_copy_cell(r->table, number, TW_VARIANCE_MIN, sheet->gemm, row->at,
				   sheet->place.min);
	else
		set_min(r, number, row->min_ns);
	tw_table_copy_cell(r->table, number, TW_VARIANCE_MAX, sheet->gemm, row->at,
			   sheet->place.max);
	tw_table_set_real(r->table, number, TW_VARIANCE_DIFF, row->diff_us);
	for (i = 0; i < trawl_table_columns(sheet->gemm); i++) {
		to = place_of(r, sheet, i);
		if (to)
			tw_table_copy_cell(r->table, number, to, sheet->gemm, row->at, i);
	}
	if (row->kernel_total_ns)
		tw_table_set_integer(r->table, number, last + TW_VARIANCE_KERNEL_TOTAL,
				     row->kernel_total_ns);
	tw_table_set_integer(r->table, number, last + TW_VARIANCE_KERNEL_COUNT, row->kernel_count);
	tw_table_set_str(r->table, number, last + TW_VARIANCE_KERNEL_NAMES, row->names);
}

int tw_variance_finish(struct tw_variance *v, struct trawl_table **out, struct trawl_error *err)
{
	struct tw_table_spec spec = { .name = "variance", .keep_empty = true };
	size_t count = 0, i;
	const char **headers = join_headers(v, &count);
	struct result r = { .v = v, .count = FIRST + count + LAST };

	r.columns = tw_arena_alloc(&v->arena, r.count * sizeof(*r.columns));
	*out = NULL;
	if (!headers || !r.columns)
		return tw_no_memory(err);
	if (v->count)
		qsort(v->rows, v->count, sizeof(*v->rows), compare_rows);
	declare(&r, headers);
	spec.columns = r.columns;
	spec.column_count = r.count;
	tw_str_init(&r.text, v->allocator);
	r.table = tw_table_new_owning(&spec, v->allocator);
	for (i = 0; r.table && i < v->count; i++)
		fill_row(&r, i);
	*out = tw_table_finished(r.table);
	if (r.text.failed) {
		trawl_table_free(*out);
		*out = NULL;
	}
	tw_str_release(&r.text);
	return *out ? 0 : tw_no_memory(err);
}
