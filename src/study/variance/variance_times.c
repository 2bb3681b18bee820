/*
 * Step 2: when the shortest and the longest call of a row ran.  A row is matched to an operation of
 * its rank's trace by what says which operation it is; rows of older files that do not, by a kernel
 * of exactly that name and the nearest times: of an operation, else of runs for which no operation
 * is known.  How well it fits is told in match_status.
 */
#include "study/variance/variance.h"

#include "base/alloc.h"
#include "study/variance/cells.h"
#include "study/variance/kernel_details.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMETER "param: "

#define OWN (TW_VARIANCE_MAX_EVENT + 1 - TW_VARIANCE_MIN_TS)

struct step {
	const struct trawl_table *in;
	struct trawl_table *out;
	size_t own; /* its column of the step's first */
	double tolerance;
	struct tw_arena scratch; /* of one row */
	struct tw_str text;
	struct tw_str *told;
	size_t lost; /* rows without times */
	bool no_memory;
};

/* What is looked for, of a row. */
struct wanted {
	size_t row;
	const char *kernel;
	double min_us, max_us; /* NaN: not told */
};

/* A row of a trace's table that may be it. */
struct fit {
	size_t row;
	bool found;
	unsigned differences; /* of arguments besides name and shapes */
	double distance_us;   /* of the two times */
};

/* ---- cells */

/* Text of the step's input or of a trace's table. */
static const char *text_at(struct step *s, const struct trawl_table *table, size_t row,
			   const char *header)
{
	const char *copy =
		tw_table_copy_text(table, row, trawl_table_find_column(table, header), &s->scratch);

	s->no_memory |= !copy;
	return copy ? copy : "";
}

static size_t own_at(const struct step *s, enum tw_variance_column column)
{
	return s->own + column - TW_VARIANCE_MIN_TS;
}

/* ---- which row of the trace's table */

static bool differs(const char *a, const char *b)
{
	return *a && *b && !tw_same_arguments(a, b);
}

/* Whether a cell of the row and one of the trace's table say something else. */
static bool cells_differ(struct step *s, size_t row, const struct trawl_table *table, size_t at,
			 const char *header)
{
	char name[256];

	if (snprintf(name, sizeof(name), TW_VARIANCE_PREFIX "%s", header) >= (int)sizeof(name))
		return false;
	return differs(text_at(s, s->in, row, name), text_at(s, table, at, header));
}

static unsigned count_differences(struct step *s, size_t row, const struct trawl_table *table,
				  size_t at)
{
	static const char *const arguments[] = { TW_COL_INPUT_TYPE_FIRST,
						 TW_COL_INPUT_STRIDES_FIRST,
						 TW_COL_CONCRETE_INPUTS_FIRST };
	unsigned n = 0;
	size_t i;

	for (i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++)
		n += cells_differ(s, row, table, at, arguments[i]);
	for (i = 0; i < trawl_table_columns(table); i++) {
		const char *header = trawl_table_column(table, i)->header;

		if (!strncmp(header, PARAMETER, strlen(PARAMETER)))
			n += cells_differ(s, row, table, at, header);
	}
	return n;
}

static double ns_at(const struct trawl_table *table, size_t row, const char *header)
{
	struct trawl_cell cell = tw_table_cell(table, row, header);

	return cell.state == TRAWL_CELL_MISSING ? (double)NAN : (double)cell.integer;
}

/* How far the times of a row of the table are from those looked for; what is not told is no distance. */
static double distance(const struct wanted *w, const struct trawl_table *table, size_t at)
{
	double min = fabs(ns_at(table, at, "min_time_ns") / 1000 - w->min_us);
	double max = fabs(ns_at(table, at, "max_time_ns") / 1000 - w->max_us);

	return (isnan(min) ? 0 : min) + (isnan(max) ? 0 : max);
}

static void take_better(struct fit *best, const struct fit *fit)
{
	if (!best->found || fit->differences < best->differences ||
	    (fit->differences == best->differences && fit->distance_us < best->distance_us))
		*best = *fit;
}

static struct fit find_operation(struct step *s, const struct wanted *w,
				 const struct trawl_table *table)
{
	const char *name = text_at(s, s->in, w->row, TW_VARIANCE_PREFIX "name");
	const char *dims = text_at(s, s->in, w->row, TW_VARIANCE_PREFIX TW_COL_INPUT_DIMS_FIRST);
	struct fit best = { .found = false };
	size_t i;

	/* Without both, it is not known which operation it is. */
	for (i = 0; *name && *dims && i < trawl_table_rows(table); i++) {
		struct fit fit = { .row = i, .found = true };

		if (!tw_table_text_is(table, i, trawl_table_find_column(table, "name"), name) ||
		    !tw_same_arguments(dims, text_at(s, table, i, TW_COL_INPUT_DIMS_FIRST)))
			continue;
		fit.differences = count_differences(s, w->row, table, i);
		fit.distance_us = distance(w, table, i);
		take_better(&best, &fit);
	}
	return best;
}

static bool has_kernel(struct step *s, const struct trawl_table *table, size_t at,
		       const char *kernel)
{
	struct tw_listed_kernels kernels;
	bool has = tw_table_text_is(table, at, trawl_table_find_column(table, TW_COL_MAIN_KERNEL),
				    kernel);
	size_t i;

	if (has)
		return true;
	if (tw_listed_kernels_read(
		    &kernels, text_at(s, table, at, TW_COL_KERNEL_DETAILS_SUMMARIZE_KERNEL_STATS),
		    s->scratch.allocator, NULL))
		s->no_memory = true;
	for (i = 0; i < kernels.count && !has; i++)
		has = !strcmp(kernels.items[i].name, kernel);
	tw_listed_kernels_release(&kernels);
	return has;
}

static struct fit find_kernel(struct step *s, const struct wanted *w,
			      const struct trawl_table *table)
{
	struct fit best = { .found = false };
	size_t i;

	for (i = 0; *w->kernel && i < trawl_table_rows(table); i++) {
		struct fit fit = { .row = i, .found = true };

		if (!has_kernel(s, table, i, w->kernel))
			continue;
		fit.distance_us = distance(w, table, i);
		take_better(&best, &fit);
	}
	return best;
}

/* ---- how well it fits */

/* What sums and differences of microseconds in doubles are off by, where a trace's clock is at. */
static double rounding_us(double ts_ns)
{
	const double half_ns = 0.0005, roundings = 2;

	return half_ns + roundings * DBL_EPSILON * fabs(ts_ns) / 1000;
}

/* 0: equal, 1: within the tolerance, 2: further off; what is not told is equal. */
static int time_fits(const struct step *s, double wanted_us, double found_ns, double end_ns)
{
	double off = fabs(found_ns / 1000 - wanted_us);

	if (isnan(wanted_us) || off <= rounding_us(isnan(end_ns) ? 0 : end_ns))
		return 0;
	return off <= s->tolerance * fabs(wanted_us) ? 1 : 2;
}

/* Of the worse of the two. */
static const char *status_name(int min, int max)
{
	static const char *const names[] = { "exact", "within_tol", "nearest" };

	return names[min > max ? min : max];
}

static const char *status_of(const struct step *s, const struct wanted *w,
			     const struct trawl_table *table, size_t at)
{
	return status_name(time_fits(s, w->min_us, ns_at(table, at, "min_time_ns"),
				     ns_at(table, at, "min_end_ns")),
			   time_fits(s, w->max_us, ns_at(table, at, "max_time_ns"),
				     ns_at(table, at, "max_end_ns")));
}

/* ---- the cells of a row */

static void copy_integer(struct step *s, size_t row, enum tw_variance_column column,
			 const struct trawl_table *table, size_t at, const char *header)
{
	struct trawl_cell cell = tw_table_cell(table, at, header);

	if (cell.state != TRAWL_CELL_MISSING)
		tw_table_set_integer(s->out, row, own_at(s, column), cell.integer);
}

static void set_timestamps(struct step *s, size_t row, const struct trawl_cell *min,
			   const struct trawl_cell *max)
{
	enum { MS = 6 };
	int64_t between;

	if (min->state != TRAWL_CELL_MISSING)
		tw_table_set_fixed(s->out, row, own_at(s, TW_VARIANCE_MIN_TS), min->integer, MS,
				   &s->text);
	if (max->state != TRAWL_CELL_MISSING)
		tw_table_set_fixed(s->out, row, own_at(s, TW_VARIANCE_MAX_TS), max->integer, MS,
				   &s->text);
	if (min->state == TRAWL_CELL_MISSING || max->state == TRAWL_CELL_MISSING ||
	    __builtin_sub_overflow(max->integer, min->integer, &between) || between == INT64_MIN)
		return;
	tw_table_set_fixed(s->out, row, own_at(s, TW_VARIANCE_BETWEEN),
			   between < 0 ? -between : between, MS, &s->text);
}

static void set_found(struct step *s, size_t row, const char *status, const char *matched_by,
		      const char *main)
{
	tw_table_set_str(s->out, row, own_at(s, TW_VARIANCE_STATUS), status);
	tw_table_set_str(s->out, row, own_at(s, TW_VARIANCE_MATCHED_BY), matched_by);
	tw_table_set_str(s->out, row, own_at(s, TW_VARIANCE_MAIN), main);
}

static void set_row(struct step *s, const struct wanted *w, const struct trawl_table *table,
		    size_t at, const char *matched_by)
{
	static const struct {
		enum tw_variance_column column;
		const char *header;
	} cells[] = {
		{ TW_VARIANCE_MIN_FOUND, "min_main_dur_ns" },
		{ TW_VARIANCE_MAX_FOUND, "max_main_dur_ns" },
		{ TW_VARIANCE_MIN_TIME, "min_time_ns" },
		{ TW_VARIANCE_MAX_TIME, "max_time_ns" },
		{ TW_VARIANCE_MIN_START, "min_start_ns" },
		{ TW_VARIANCE_MIN_END, "min_end_ns" },
		{ TW_VARIANCE_MAX_START, "max_start_ns" },
		{ TW_VARIANCE_MAX_END, "max_end_ns" },
		{ TW_VARIANCE_MIN_EVENT, "min_event" },
		{ TW_VARIANCE_MAX_EVENT, "max_event" },
	};
	struct trawl_cell min = tw_table_cell(table, at, "min_main_start_ns");
	struct trawl_cell max = tw_table_cell(table, at, "max_main_start_ns");
	size_t i;

	set_timestamps(s, w->row, &min, &max);
	for (i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
		copy_integer(s, w->row, cells[i].column, table, at, cells[i].header);
	set_found(s, w->row, status_of(s, w, table, at), matched_by,
		  text_at(s, table, at, TW_COL_MAIN_KERNEL));
}

/* ---- runs of a kernel without an operation */

/*
 * The row of the runs of a kernel whose duration is nearest; of equally near ones, and where no time
 * is told, the shortest or the longest.  False: none is of that name.
 */
static bool find_runs(const char *kernel, double wanted_us, bool longest,
		      const struct trawl_table *runs, size_t *found)
{
	size_t name = trawl_table_find_column(runs, "name");
	double best = INFINITY, best_ns = 0;
	size_t i;

	for (i = 0; i < trawl_table_rows(runs); i++) {
		double ns = ns_at(runs, i, TW_COL_DUR_NS);
		double off = isnan(wanted_us) ? 0 : fabs(ns / 1000 - wanted_us);

		if (off > best || (off == best && (longest ? ns <= best_ns : ns >= best_ns)) ||
		    !tw_table_text_is(runs, i, name, kernel))
			continue;
		best = off;
		best_ns = ns;
		*found = i;
	}
	return isfinite(best);
}

/* A run is its call: its start, end and duration are those of both. */
static void set_run(struct step *s, size_t row, const struct trawl_table *runs, size_t at,
		    const char *start, const char *event, const enum tw_variance_column columns[5])
{
	int64_t start_ns = tw_table_cell(runs, at, start).integer;
	int64_t dur_ns = tw_table_cell(runs, at, TW_COL_DUR_NS).integer;
	const int64_t values[] = { dur_ns, dur_ns, start_ns, start_ns + dur_ns };
	size_t i;

	for (i = 0; i < 4; i++)
		tw_table_set_integer(s->out, row, own_at(s, columns[i]), values[i]);
	copy_integer(s, row, columns[4], runs, at, event);
}

/* False when no run is of that name. */
static bool set_runs(struct step *s, const struct wanted *w, const struct trawl_table *runs)
{
	static const enum tw_variance_column of_min[] = {
		TW_VARIANCE_MIN_FOUND, TW_VARIANCE_MIN_TIME, TW_VARIANCE_MIN_START,
		TW_VARIANCE_MIN_END, TW_VARIANCE_MIN_EVENT
	};
	static const enum tw_variance_column of_max[] = {
		TW_VARIANCE_MAX_FOUND, TW_VARIANCE_MAX_TIME, TW_VARIANCE_MAX_START,
		TW_VARIANCE_MAX_END, TW_VARIANCE_MAX_EVENT
	};
	struct trawl_cell first, last;
	size_t min, max;

	if (!*w->kernel || !find_runs(w->kernel, w->min_us, false, runs, &min) ||
	    !find_runs(w->kernel, w->max_us, true, runs, &max))
		return false;
	first = tw_table_cell(runs, min, TW_COL_FIRST_START_NS);
	last = tw_table_cell(runs, max, TW_COL_LAST_START_NS);
	set_timestamps(s, w->row, &first, &last);
	set_run(s, w->row, runs, min, TW_COL_FIRST_START_NS, TW_COL_FIRST_EVENT, of_min);
	set_run(s, w->row, runs, max, TW_COL_LAST_START_NS, TW_COL_LAST_EVENT, of_max);
	set_found(s, w->row,
		  status_name(time_fits(s, w->min_us, ns_at(runs, min, TW_COL_DUR_NS),
					(double)first.integer),
			      time_fits(s, w->max_us, ns_at(runs, max, TW_COL_DUR_NS),
					(double)last.integer)),
		  "kernel", w->kernel);
	return true;
}

/* `table`: calls by operation, `runs`: of kernels without one; NULL: there is none. */
static void fill_row(struct step *s, size_t row, const struct trawl_table *table,
		     const struct trawl_table *runs)
{
	struct wanted w = {
		.row = row,
		.kernel = text_at(s, s->in, row, tw_variance_columns[TW_VARIANCE_KERNEL].header),
		.min_us = tw_variance_number(s->in, row, TW_VARIANCE_MIN),
		.max_us = tw_variance_number(s->in, row, TW_VARIANCE_MAX),
	};
	const char *matched_by = "operation";
	struct fit fit = { .found = false };

	if (table)
		fit = find_operation(s, &w, table);
	if (table && !fit.found) {
		fit = find_kernel(s, &w, table);
		matched_by = "kernel";
	}
	if (fit.found) {
		set_row(s, &w, table, fit.row, matched_by);
	} else if (!runs || !set_runs(s, &w, runs)) {
		tw_table_set_str(s->out, row, own_at(s, TW_VARIANCE_STATUS), "none");
		s->lost++;
	}
}

/* ---- the step */

/* Rows of a rank that found nothing. */
struct lost {
	const char *at[3]; /* threads, channel, rank as they stand there */
	size_t count;
};

static struct lost *find_lost(struct lost *list, size_t count, const char *const at[3])
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(list[i].at[0], at[0]) && !strcmp(list[i].at[1], at[1]) &&
		    !strcmp(list[i].at[2], at[2]))
			break;
	return &list[i];
}

static void tell_lost(struct step *s)
{
	size_t count = 0, i, k;
	struct lost *list;

	tw_arena_init(&s->scratch, s->told->allocator);
	list = tw_arena_alloc(&s->scratch, (s->lost + 1) * sizeof(*list));
	for (i = 0; list && i < trawl_table_rows(s->in) && !s->no_memory; i++) {
		const char *at[3];
		struct lost *lost;

		if (!tw_table_text_is(s->out, i, own_at(s, TW_VARIANCE_STATUS), "none"))
			continue;
		for (k = 0; k < 3; k++)
			at[k] = text_at(s, s->in, i,
					tw_variance_columns[TW_VARIANCE_THREADS + k].header);
		lost = find_lost(list, count, at);
		if (lost == &list[count]) {
			*lost = (struct lost){ { at[0], at[1], at[2] }, 0 };
			count++;
		}
		lost->count++;
	}
	for (i = 0; i < count; i++)
		tw_str_addf(s->told,
			    "%.20sthread_%.20sch rank %.20s: %zu row%s without times: not in the "
			    "trace, or no trace\n",
			    list[i].at[0], list[i].at[1], list[i].at[2], list[i].count,
			    list[i].count == 1 ? "" : "s");
	s->no_memory |= !list;
	tw_arena_release(&s->scratch);
}

bool tw_variance_point(const struct trawl_table *in, size_t row, int64_t *threads,
		       int64_t *channels, int64_t *rank)
{
	return tw_table_whole(in, row, tw_variance_at(in, TW_VARIANCE_THREADS), threads) &&
	       tw_table_whole(in, row, tw_variance_at(in, TW_VARIANCE_CHANNEL), channels) &&
	       tw_table_whole(in, row, tw_variance_at(in, TW_VARIANCE_RANK), rank);
}

int tw_variance_timestamps(const struct trawl_table *in, tw_instances_fn *instances, void *context,
			   double tolerance, const struct trawl_allocator *allocator,
			   struct trawl_table **out, struct tw_str *told, struct trawl_error *err)
{
	static const enum tw_variance_column needed[] = { TW_VARIANCE_THREADS, TW_VARIANCE_CHANNEL,
							  TW_VARIANCE_RANK, TW_VARIANCE_KERNEL };
	struct step s = { .in = in, .tolerance = tolerance, .told = told };
	size_t i;

	*out = NULL;
	if (tw_table_needs(in, needed, sizeof(needed) / sizeof(needed[0]), err))
		return err->status;
	tw_str_init(&s.text, allocator);
	s.out = tw_table_extended(in, tw_variance_columns + TW_VARIANCE_MIN_TS, OWN, &s.own,
				  allocator);
	for (i = 0; s.out && i < trawl_table_rows(in) && !s.no_memory; i++) {
		int64_t threads, channels, rank;
		bool known = tw_variance_point(in, i, &threads, &channels, &rank);

		tw_arena_init(&s.scratch, allocator);
		fill_row(&s, i,
			 known ? instances(context, threads, channels, rank, "gemm_instances") :
				 NULL,
			 known ? instances(context, threads, channels, rank, "kernel_instances") :
				 NULL);
		tw_arena_release(&s.scratch);
	}
	if (s.out && s.lost)
		tell_lost(&s);
	if (s.no_memory || s.text.failed) {
		trawl_table_free(s.out);
		s.out = NULL;
	}
	tw_str_release(&s.text);
	*out = tw_table_finished(s.out);
	return *out ? 0 : tw_no_memory(err);
}
