/*
 * Step 2: when the shortest and the longest call of a row ran.  A row is matched to an operation of
 * its rank's trace by what says which operation it is; rows of older files that do not, by a kernel
 * of exactly that name and the nearest times: of an operation, else of runs for which no operation
 * is known.  How well it fits is told in match_status.
 */
#include "study/variance/variance.h"

#include "study/sweep/sheet.h"
#include "study/variance/kernel_details.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PARAMETER "param: "

enum {
	MIN_TS,
	MAX_TS,
	BETWEEN,
	MIN_FOUND,
	MAX_FOUND,
	STATUS,
	MATCHED_BY,
	MAIN,
	MIN_TIME,
	MAX_TIME,
	MIN_START,
	MIN_END,
	MAX_START,
	MAX_END,
	MIN_EVENT,
	MAX_EVENT,
	OWN
};
static const char *const own_headers[OWN] = {
	[MIN_TS] = "min_duration_timestamp_ms",
	[MAX_TS] = "max_duration_timestamp_ms",
	[BETWEEN] = "time_between_min_max_ms",
	[MIN_FOUND] = "min_duration_found_us",
	[MAX_FOUND] = "max_duration_found_us",
	[STATUS] = "match_status",
	[MATCHED_BY] = "matched_by",
	[MAIN] = "main_kernel",
	[MIN_TIME] = "min_call_time_us",
	[MAX_TIME] = "max_call_time_us",
	[MIN_START] = "min_call_start_us",
	[MIN_END] = "min_call_end_us",
	[MAX_START] = "max_call_start_us",
	[MAX_END] = "max_call_end_us",
	[MIN_EVENT] = "min_call_event",
	[MAX_EVENT] = "max_call_event",
};

struct step {
	const struct tw_csv *in;
	struct tw_sheet out;
	double tolerance;
	struct tw_arena scratch; /* of one row */
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

static const char *cell_of(const struct step *s, size_t row, const char *header)
{
	return tw_csv_text(s->in, row, tw_csv_column(s->in, header));
}

/* Text of a table, which need not end with a NUL; "" when it is not there. */
static const char *text_of(struct step *s, const struct trawl_cell *cell)
{
	const char *copy;

	if (cell->state == TRAWL_CELL_MISSING)
		return "";
	copy = tw_arena_copy(&s->scratch, cell->text, cell->text_len);
	s->no_memory |= !copy;
	return copy ? copy : "";
}

static const char *text_at(struct step *s, const struct trawl_table *table, size_t row,
			   const char *header)
{
	struct trawl_cell cell = tw_table_cell(table, row, header);

	return text_of(s, &cell);
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
	char name[256] = "col_";

	if (strlen(header) + sizeof("col_") > sizeof(name))
		return false;
	strncat(name, header, sizeof(name) - strlen(name) - 1);
	return differs(cell_of(s, row, name), text_at(s, table, at, header));
}

static unsigned count_differences(struct step *s, size_t row, const struct trawl_table *table,
				  size_t at)
{
	static const char *const arguments[] = { "Input type_first", "Input Strides_first",
						 "Concrete Inputs_first" };
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
	const char *name = cell_of(s, w->row, "col_name");
	const char *dims = cell_of(s, w->row, "col_Input Dims_first");
	struct fit best = { .found = false };
	size_t i;

	/* Without both, it is not known which operation it is. */
	for (i = 0; *name && *dims && i < trawl_table_rows(table); i++) {
		struct fit fit = { .row = i, .found = true };

		if (strcmp(name, text_at(s, table, i, "name")) != 0 ||
		    !tw_same_arguments(dims, text_at(s, table, i, "Input Dims_first")))
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
	bool has = !strcmp(text_at(s, table, at, "main kernel"), kernel);
	size_t i;

	if (has)
		return true;
	if (tw_listed_kernels_read(&kernels,
				   text_at(s, table, at, "kernel_details__summarize_kernel_stats"),
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

static void set_us(struct step *s, size_t row, int column, const struct trawl_table *table,
		   size_t at, const char *header, unsigned scale)
{
	struct trawl_cell cell = tw_table_cell(table, at, header);

	if (cell.state != TRAWL_CELL_MISSING)
		tw_sheet_decimal(&s->out, row, s->out.own + (size_t)column, cell.integer, scale);
}

static void set_timestamps(struct step *s, size_t row, const struct trawl_cell *min,
			   const struct trawl_cell *max)
{
	enum { MS = 6 };
	int64_t between;

	if (min->state != TRAWL_CELL_MISSING)
		tw_sheet_fixed(&s->out, row, s->out.own + MIN_TS, min->integer, MS, MS);
	if (max->state != TRAWL_CELL_MISSING)
		tw_sheet_fixed(&s->out, row, s->out.own + MAX_TS, max->integer, MS, MS);
	if (min->state == TRAWL_CELL_MISSING || max->state == TRAWL_CELL_MISSING ||
	    __builtin_sub_overflow(max->integer, min->integer, &between) || between == INT64_MIN)
		return;
	tw_sheet_fixed(&s->out, row, s->out.own + BETWEEN, between < 0 ? -between : between, MS,
		       MS);
}

static void set_row(struct step *s, const struct wanted *w, const struct trawl_table *table,
		    size_t at, const char *matched_by)
{
	static const struct {
		int column;
		const char *header;
		unsigned scale;
	} cells[] = {
		{ MIN_FOUND, "min_main_dur_ns", 3 }, { MAX_FOUND, "max_main_dur_ns", 3 },
		{ MIN_TIME, "min_time_ns", 3 },	     { MAX_TIME, "max_time_ns", 3 },
		{ MIN_START, "min_start_ns", 3 },    { MIN_END, "min_end_ns", 3 },
		{ MAX_START, "max_start_ns", 3 },    { MAX_END, "max_end_ns", 3 },
		{ MIN_EVENT, "min_event", 0 },	     { MAX_EVENT, "max_event", 0 },
	};
	const char *main = text_at(s, table, at, "main kernel");
	struct trawl_cell min = tw_table_cell(table, at, "min_main_start_ns");
	struct trawl_cell max = tw_table_cell(table, at, "max_main_start_ns");
	size_t i, own = s->out.own;

	set_timestamps(s, w->row, &min, &max);
	for (i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
		set_us(s, w->row, cells[i].column, table, at, cells[i].header, cells[i].scale);
	tw_sheet_text(&s->out, w->row, own + STATUS, status_of(s, w, table, at));
	tw_sheet_text(&s->out, w->row, own + MATCHED_BY, matched_by);
	tw_sheet_copy(&s->out, w->row, own + MAIN, main, strlen(main));
}

/* ---- runs of a kernel without an operation */

/*
 * The row of the runs of a kernel whose duration is nearest; of equally near ones, and where no time
 * is told, the shortest or the longest.  False: none is of that name.
 */
static bool find_runs(struct step *s, const char *kernel, double wanted_us, bool longest,
		      const struct trawl_table *runs, size_t *found)
{
	double best = INFINITY, best_ns = 0;
	size_t i;

	for (i = 0; i < trawl_table_rows(runs); i++) {
		double ns = ns_at(runs, i, "dur_ns");
		double off = isnan(wanted_us) ? 0 : fabs(ns / 1000 - wanted_us);

		if (off > best || (off == best && (longest ? ns <= best_ns : ns >= best_ns)) ||
		    strcmp(text_at(s, runs, i, "name"), kernel) != 0)
			continue;
		best = off;
		best_ns = ns;
		*found = i;
	}
	return isfinite(best);
}

/* A run is its call: its start, end and duration are those of both. */
static void set_run(struct step *s, size_t row, const struct trawl_table *runs, size_t at,
		    const char *start, const char *event, const int columns[5])
{
	int64_t start_ns = tw_table_cell(runs, at, start).integer;
	int64_t dur_ns = tw_table_cell(runs, at, "dur_ns").integer;
	size_t own = s->out.own;

	tw_sheet_decimal(&s->out, row, own + (size_t)columns[0], dur_ns, 3);
	tw_sheet_decimal(&s->out, row, own + (size_t)columns[1], dur_ns, 3);
	tw_sheet_decimal(&s->out, row, own + (size_t)columns[2], start_ns, 3);
	tw_sheet_decimal(&s->out, row, own + (size_t)columns[3], start_ns + dur_ns, 3);
	set_us(s, row, columns[4], runs, at, event, 0);
}

/* False when no run is of that name. */
static bool set_runs(struct step *s, const struct wanted *w, const struct trawl_table *runs)
{
	static const int of_min[] = { MIN_FOUND, MIN_TIME, MIN_START, MIN_END, MIN_EVENT };
	static const int of_max[] = { MAX_FOUND, MAX_TIME, MAX_START, MAX_END, MAX_EVENT };
	struct trawl_cell first, last;
	size_t min, max, own = s->out.own;

	if (!*w->kernel || !find_runs(s, w->kernel, w->min_us, false, runs, &min) ||
	    !find_runs(s, w->kernel, w->max_us, true, runs, &max))
		return false;
	first = tw_table_cell(runs, min, "first_start_ns");
	last = tw_table_cell(runs, max, "last_start_ns");
	set_timestamps(s, w->row, &first, &last);
	set_run(s, w->row, runs, min, "first_start_ns", "first_event", of_min);
	set_run(s, w->row, runs, max, "last_start_ns", "last_event", of_max);
	tw_sheet_text(
		&s->out, w->row, own + STATUS,
		status_name(
			time_fits(s, w->min_us, ns_at(runs, min, "dur_ns"), (double)first.integer),
			time_fits(s, w->max_us, ns_at(runs, max, "dur_ns"), (double)last.integer)));
	tw_sheet_text(&s->out, w->row, own + MATCHED_BY, "kernel");
	tw_sheet_text(&s->out, w->row, own + MAIN, w->kernel);
	return true;
}

/* `table`: calls by operation, `runs`: of kernels without one; NULL: there is none. */
static void fill_row(struct step *s, size_t row, const struct trawl_table *table,
		     const struct trawl_table *runs)
{
	struct wanted w = {
		.row = row,
		.kernel = cell_of(s, row, "kernel_name"),
		.min_us = tw_csv_number(s->in, row, tw_csv_column(s->in, "kernel_time_min_us")),
		.max_us = tw_csv_number(s->in, row, tw_csv_column(s->in, "kernel_time_max_us")),
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
		tw_sheet_text(&s->out, row, s->out.own + STATUS, "none");
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

static void tell_lost(struct step *s, struct tw_arena *arena)
{
	size_t column = s->out.own + STATUS, count = 0, i;
	struct lost *list = tw_arena_alloc(arena, (s->lost + 1) * sizeof(*list));

	for (i = 0; list && i < s->in->rows; i++) {
		const char *at[3] = { cell_of(s, i, "threads"), cell_of(s, i, "channel"),
				      cell_of(s, i, "rank") };
		struct lost *lost = find_lost(list, count, at);

		if (strcmp(tw_csv_text(s->out.csv, i, column), "none") != 0)
			continue;
		if (lost == &list[count]) {
			*lost = (struct lost){ { at[0], at[1], at[2] }, 0 };
			count++;
		}
		lost->count++;
	}
	for (i = 0; i < count; i++)
		tw_str_addf(s->told,
			    "%.20sthread_%.20sch rank %.20s: %zu row%s without times: not in its "
			    "trace, or there is none\n",
			    list[i].at[0], list[i].at[1], list[i].at[2], list[i].count,
			    list[i].count == 1 ? "" : "s");
	s->no_memory |= !list;
}

bool tw_variance_point(const struct tw_csv *in, size_t row, int64_t *threads, int64_t *channels,
		       int64_t *rank)
{
	return tw_whole_of(tw_csv_text(in, row, tw_csv_column(in, "threads")), threads) &&
	       tw_whole_of(tw_csv_text(in, row, tw_csv_column(in, "channel")), channels) &&
	       tw_whole_of(tw_csv_text(in, row, tw_csv_column(in, "rank")), rank);
}

int tw_variance_timestamps(const struct tw_csv *in, tw_instances_fn *instances, void *context,
			   double tolerance, struct tw_arena *arena, struct tw_csv *out,
			   struct tw_str *told, struct trawl_error *err)
{
	static const char *const needed[] = { "threads", "channel", "rank", "kernel_name" };
	struct step s = { .in = in, .tolerance = tolerance, .told = told };
	int status = tw_sheet_needs(in, needed, sizeof(needed) / sizeof(needed[0]), err);
	size_t i;

	*out = (struct tw_csv){ 0 };
	if (status)
		return status;
	tw_sheet_extend(&s.out, out, arena, in, own_headers, OWN);
	for (i = 0; i < in->rows && !s.out.failed; i++) {
		int64_t threads, channels, rank;
		bool known = tw_variance_point(in, i, &threads, &channels, &rank);

		tw_arena_init(&s.scratch, arena->allocator);
		fill_row(&s, i,
			 known ? instances(context, threads, channels, rank, "gemm_instances") :
				 NULL,
			 known ? instances(context, threads, channels, rank, "kernel_instances") :
				 NULL);
		tw_arena_release(&s.scratch);
	}
	if (!s.out.failed && s.lost)
		tell_lost(&s, arena);
	s.out.failed |= s.no_memory;
	return tw_sheet_end(&s.out, err);
}
