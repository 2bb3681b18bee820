#include "nsys/grouped.h"

#include "base/alloc.h"
#include "base/median.h"
#include "base/order.h"
#include "base/sort.h"
#include "nsys/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what can be asked */

const char *trawl_nsys_groupings(enum trawl_nsys_table query)
{
	return query == TRAWL_NSYS_OVERLAP ? "stage, rank, pp, dp, cp, ep, tp" :
	       query == TRAWL_NSYS_STREAMS ? "purpose, rank, pp, dp, cp, ep, tp" :
					     "";
}

bool trawl_nsys_can_group(enum trawl_nsys_table query, const char *by)
{
	const char *key = trawl_nsys_groupings(query);
	size_t len;

	for (; *key; key += len + strspn(key + len, ", ")) {
		len = strcspn(key, ", ");
		if (len == strlen(by) && !memcmp(key, by, len))
			return true;
	}
	return false;
}

/* ---- rows by key and rank */

struct row {
	struct trawl_cell key; /* missing: the rank's label does not tell */
	int64_t rank, number;  /* in the table */
};

static int compare_cells(const struct trawl_cell *a, const struct trawl_cell *b)
{
	size_t len = a->text_len < b->text_len ? a->text_len : b->text_len;
	int order;

	if (a->state != b->state)
		return a->state == TRAWL_CELL_MISSING ? 1 : -1;
	if (a->integer != b->integer)
		return a->integer < b->integer ? -1 : 1;
	order = len ? memcmp(a->text, b->text, len) : 0;
	return order ? order : (a->text_len > b->text_len) - (a->text_len < b->text_len);
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = compare_cells(&x->key, &y->key);

	return order ? order : TW_ORDER_BY(x, y, rank, number);
}

/* The key of a row: in its own table, or in that of ranks.  Pids may be those of several hosts. */
static struct trawl_cell key_of(const struct trawl_table *table, size_t row, const char *by,
				const struct trawl_table *setup)
{
	int64_t rank = tw_table_cell(table, row, "rank").integer;
	size_t i;

	if (trawl_table_find_column(table, by) < trawl_table_columns(table))
		return tw_table_cell(table, row, by);
	for (i = 0; i < trawl_table_rows(setup); i++)
		if (tw_table_cell(setup, i, "rank").integer == rank)
			return tw_table_cell(setup, i, by);
	return (struct trawl_cell){ .state = TRAWL_CELL_MISSING };
}

/* ---- sums */

struct sums {
	const struct row *rows;
	size_t row_count;
	struct trawl_cell key;
	int64_t ranks, worst_rank, most_exposed_ns;
	tw_wide comm_ns, exposed_ns, compute_ns, barrier_ns;
	int64_t least_compute_ns, most_compute_ns; /* of a rank */
	int64_t first_ns, last_ns;		   /* of the windows */
	double median;				   /* of the rows' overlap */
};

/* NaN when no row has one. */
static double median_overlap(const struct trawl_table *table, const struct sums *s, double *values)
{
	size_t count = 0, i;

	for (i = 0; i < s->row_count; i++) {
		struct trawl_cell cell = tw_table_cell(table, (size_t)s->rows[i].number, "overlap");

		if (cell.state == TRAWL_CELL_VALUE)
			values[count++] = cell.real;
	}
	return tw_real_median(values, count);
}

/* Ends the sums of a rank. */
static void end_rank(struct sums *s, int64_t compute_ns, int64_t exposed_ns, int64_t rank)
{
	if (!s->ranks || compute_ns < s->least_compute_ns)
		s->least_compute_ns = compute_ns;
	if (!s->ranks || compute_ns > s->most_compute_ns)
		s->most_compute_ns = compute_ns;
	if (!s->ranks || exposed_ns > s->most_exposed_ns) {
		s->most_exposed_ns = exposed_ns;
		s->worst_rank = rank;
	}
	s->ranks++;
}

static void add_up(struct sums *s, const struct trawl_table *table)
{
	int64_t compute_ns = 0, exposed_ns = 0;
	size_t i;

	for (i = 0; i < s->row_count; i++) {
		size_t row = (size_t)s->rows[i].number;
		int64_t exposed = tw_table_cell(table, row, TW_COL_EXPOSED_NS).integer;
		int64_t compute = tw_table_cell(table, row, TW_COL_COMP_NS).integer;
		int64_t first_ns = tw_table_cell(table, row, TW_COL_WINDOW_START).integer;
		int64_t last_ns = tw_table_cell(table, row, TW_COL_WINDOW_END).integer;

		if (!i || first_ns < s->first_ns)
			s->first_ns = first_ns;
		if (!i || last_ns > s->last_ns)
			s->last_ns = last_ns;
		s->comm_ns += tw_table_cell(table, row, TW_COL_COMM_NS).integer;
		s->barrier_ns += tw_table_cell(table, row, TW_COL_BARRIER_NS).integer;
		s->exposed_ns += exposed;
		s->compute_ns += compute;
		exposed_ns += exposed;
		compute_ns += compute;
		if (i + 1 < s->row_count && s->rows[i + 1].rank == s->rows[i].rank)
			continue;
		end_rank(s, compute_ns, exposed_ns, s->rows[i].rank);
		exposed_ns = compute_ns = 0;
	}
}

static double overlap_of(const struct sums *s)
{
	return s->comm_ns > 0 ? 100.0 * (double)(s->comm_ns - s->exposed_ns) / (double)s->comm_ns :
				NAN;
}

/* ---- tables */

static const struct trawl_column overlap_columns[] = {
	TW_ID("", 16, "grouping key of the rows over ranks"),
	TW_INTEGER("ranks", 8, "number of ranks with such communication", .values = "!>=1"),
	TW_NS(TW_COL_COMM_NS, 14, "total time of its communication kernels", .values = ">=0"),
	TW_NS(TW_COL_EXPOSED_NS, 14, "part of it not overlapped by compute on the rank",
	      .values = ">=0"),
	TW_PERCENT_2("overlap", 10, "share overlapped by compute", .values = "0..100"),
	TW_PERCENT_2("overlap_median", 10, "median over the grouped rows", .values = "0..100"),
	TW_INTEGER("worst_rank", 8, "rank with the max exposed_ns", .values = "!>=0"),
	TW_NS("worst_exposed_ns", 14, "exposed_ns of that rank", .values = ">=0"),
	TW_NS(TW_COL_WINDOW_START, 16, "start of the earliest window", .values = "!"),
	TW_NS(TW_COL_WINDOW_END, 16, "end of the latest window", .values = "!"),
};

static const struct trawl_column stream_columns[] = {
	TW_ID("", 16, "grouping key of the rows over ranks"),
	TW_INTEGER("ranks", 8, "number of ranks with such streams", .values = "!>=1"),
	TW_NS(TW_COL_COMP_NS, 14, "total time of compute kernels", .values = ">=0"),
	TW_REAL("comp_ns_mean", "ns", 0, 14, "mean of it per rank", .values = ">=0"),
	TW_NS("comp_ns_min", 14, "min over ranks", .values = ">=0"),
	TW_NS("comp_ns_max", 14, "max over ranks", .values = ">=0"),
	TW_NS(TW_COL_COMM_NS, 14, "total time of communication kernels", .values = ">=0"),
	TW_NS(TW_COL_BARRIER_NS, 14, "part of it on compute streams", .values = ">=0"),
};

static const struct tw_table_spec overlap_spec = TW_SPEC("overlap_by",
							 "communication over ranks and its overlap",
							 overlap_columns, .keep_empty = true);
static const struct tw_table_spec stream_spec =
	TW_SPEC("streams_by", "streams over ranks", stream_columns, .keep_empty = true);

static size_t add_key(struct trawl_table *table, const struct sums *s)
{
	size_t row = tw_table_add_row(table);
	char digits[24];
	int len;

	if (s->key.state == TRAWL_CELL_VALUE && s->key.text) {
		tw_table_set_text(table, row, 0, s->key.text, s->key.text_len);
	} else if (s->key.state == TRAWL_CELL_VALUE) {
		len = snprintf(digits, sizeof(digits), "%lld", (long long)s->key.integer);
		tw_table_set_text(table, row, 0, digits, (size_t)len);
	}
	tw_table_set_integer(table, row, 1, s->ranks);
	return row;
}

static void add_overlap(struct trawl_table *table, const struct sums *s)
{
	size_t row = add_key(table, s);

	tw_nsys_set_sum(table, row, 2, s->comm_ns);
	tw_nsys_set_sum(table, row, 3, s->exposed_ns);
	tw_table_set_real(table, row, 4, overlap_of(s));
	tw_table_set_real(table, row, 5, s->median);
	tw_table_set_integer(table, row, 6, s->worst_rank);
	tw_table_set_integer(table, row, 7, s->most_exposed_ns);
	tw_table_set_integer(table, row, 8, s->first_ns);
	tw_table_set_integer(table, row, 9, s->last_ns);
}

static void add_streams(struct trawl_table *table, const struct sums *s)
{
	size_t row = add_key(table, s);

	tw_nsys_set_sum(table, row, 2, s->compute_ns);
	tw_table_set_real(table, row, 3, (double)s->compute_ns / (double)s->ranks);
	tw_table_set_integer(table, row, 4, s->least_compute_ns);
	tw_table_set_integer(table, row, 5, s->most_compute_ns);
	tw_nsys_set_sum(table, row, 6, s->comm_ns);
	tw_nsys_set_sum(table, row, 7, s->barrier_ns);
}

static bool is_compute_stream(const struct sums *s)
{
	return s->key.text && s->key.text_len == strlen(TW_NSYS_COMPUTE_STREAM) &&
	       !memcmp(s->key.text, TW_NSYS_COMPUTE_STREAM, s->key.text_len);
}

/*
 * The least hidden first; without any time after those; then what is of no stage but of streams that
 * compute, and what is in no group last.
 */
static int compare_overlaps(const void *a, const void *b)
{
	const struct sums *x = a, *y = b;
	double p = overlap_of(x), q = overlap_of(y);

	if (x->key.state != y->key.state)
		return compare_cells(&x->key, &y->key);
	if (is_compute_stream(x) != is_compute_stream(y))
		return is_compute_stream(x) ? 1 : -1;
	if (isnan(p) || isnan(q))
		return isnan(p) == isnan(q) ? compare_cells(&x->key, &y->key) : isnan(p) - isnan(q);
	return p != q ? (p < q ? -1 : 1) : compare_cells(&x->key, &y->key);
}

/* ---- all of it */

struct grouping {
	const struct trawl_table *table;
	size_t count, sum_count;
	struct row *rows;
	struct sums *sums;
	double *values;
};

static void list_rows(struct grouping *g, const char *by, const struct trawl_table *setup)
{
	size_t i;

	for (i = 0; i < g->count; i++)
		g->rows[i] = (struct row){ key_of(g->table, i, by, setup),
					   tw_table_cell(g->table, i, "rank").integer, (int64_t)i };
	if (g->count)
		qsort(g->rows, g->count, sizeof(*g->rows), compare_rows);
}

static void sum_groups(struct grouping *g)
{
	size_t first, last;

	for (first = 0; first < g->count; first = last) {
		struct sums *s = &g->sums[g->sum_count++];

		for (last = first + 1;
		     last < g->count && !compare_cells(&g->rows[first].key, &g->rows[last].key);
		     last++)
			;
		*s = (struct sums){ .rows = &g->rows[first],
				    .row_count = last - first,
				    .key = g->rows[first].key };
		add_up(s, g->table);
		s->median = median_overlap(g->table, s, g->values);
	}
}

static void add_groups(struct grouping *g, enum trawl_nsys_table query, struct trawl_table *to)
{
	size_t i;

	if (query == TRAWL_NSYS_OVERLAP && g->sum_count)
		qsort(g->sums, g->sum_count, sizeof(*g->sums), compare_overlaps);
	for (i = 0; i < g->sum_count; i++) {
		if (query == TRAWL_NSYS_OVERLAP)
			add_overlap(to, &g->sums[i]);
		else
			add_streams(to, &g->sums[i]);
	}
	for (i = 0; i < trawl_table_notes(g->table); i++)
		tw_table_add_note(to, "%s", trawl_table_note(g->table, i));
}

int tw_nsys_group(struct trawl_table **out, enum trawl_nsys_table query, const char *by,
		  const struct trawl_table *table, const struct trawl_table *setup,
		  const struct tw_nsys_source *source, struct trawl_error *err)
{
	const struct tw_table_spec *spec = query == TRAWL_NSYS_OVERLAP ? &overlap_spec :
									 &stream_spec;
	struct grouping g = { .table = table, .count = trawl_table_rows(table) };
	const struct trawl_allocator *a = source->allocator;
	size_t room = g.count + 1;
	struct trawl_table *to =
		tw_table_new_columns(spec, spec->columns, spec->column_count, source->shared);
	int status = TRAWL_ENOMEM;

	*out = NULL;
	g.rows = tw_alloc_array(a, room, sizeof(*g.rows));
	g.sums = tw_alloc_array(a, room, sizeof(*g.sums));
	g.values = tw_alloc_array(a, room, sizeof(*g.values));
	if (to && g.rows && g.sums && g.values) {
		tw_table_name_column(to, 0, by, "");
		list_rows(&g, by, setup);
		sum_groups(&g);
		add_groups(&g, query, to);
		status = tw_table_finish(to, err);
	} else {
		tw_no_memory(err);
	}
	if (status) {
		trawl_table_free(to);
		return status;
	}
	*out = to;
	return 0;
}
