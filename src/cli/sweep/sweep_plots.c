/* trawl sweep plots: how the time differences of operations are spread, as pictures. */
#include "cli/sweep/sweep_plots.h"

#include "base/alloc.h"
#include "cli/sweep/sweep.h"
#include "os/file.h"
#include "os/inputs.h"
#include "os/thread.h"
#include "render/charts/variance_plots.h"
#include "table/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANALYSIS "tracelens_analysis"
#define TABLE_NAME "top5_gemm_kernels_time_variance.csv"
#define TABLE_LIMIT ((size_t)1 << 32)
/* Rows that are named one by one. */
#define ROWS_TOLD 10

/* ---- the rows */

enum { THREADS, CHANNELS, RANK, DIFFERENCE, COLUMNS };

static const char *const headers[COLUMNS] = { "threads", "channel", "rank", "time_diff_us" };

struct rows {
	const struct cli_sweep_plots *plots;
	size_t columns[COLUMNS];
	struct tw_variance_point *points;
	size_t count, skipped, others; /* others: not asked for */
};

static int find_columns(struct rows *r)
{
	size_t i;

	for (i = 0; i < COLUMNS; i++) {
		r->columns[i] = tw_csv_column(r->plots->csv, headers[i]);
		if (r->columns[i] != TW_CSV_NO_COLUMN)
			continue;
		cli_message("'%s' has no column '%s': it is no table of time differences",
			    r->plots->name, headers[i]);
		return CLI_FAILED;
	}
	return CLI_DONE;
}

/* A whole number of a cell: "256", or "256.0" of a program that has only one kind. */
static bool take_number(const struct rows *r, size_t row, size_t which, int64_t *number)
{
	double value = tw_csv_number(r->plots->csv, row, r->columns[which]);

	if (!(fabs(value) < 1e15) || value != floor(value))
		return false;
	*number = (int64_t)value;
	return true;
}

/* The column that cannot be used, COLUMNS: none. */
static size_t take_row(const struct rows *r, size_t row, struct tw_variance_point *point)
{
	int64_t *const numbers[] = { &point->threads, &point->channels, &point->rank };
	size_t i;

	for (i = 0; i < DIFFERENCE; i++)
		if (!take_number(r, row, i, numbers[i]))
			return i;
	point->difference_us = tw_csv_number(r->plots->csv, row, r->columns[DIFFERENCE]);
	return fabs(point->difference_us) <= TW_VARIANCE_MOST_US ? COLUMNS : DIFFERENCE;
}

static void tell_row(const struct rows *r, size_t row, size_t which)
{
	const char *text = tw_csv_text(r->plots->csv, row, r->columns[which]);

	/* As spreadsheets number them: the header is the first. */
	if (r->skipped < ROWS_TOLD)
		cli_message("'%s': row %zu left out: %s '%.60s' is no %snumber%s", r->plots->name,
			    row + 2, headers[which], text, which == DIFFERENCE ? "" : "whole ",
			    which == DIFFERENCE && !isnan(tw_csv_number(r->plots->csv, row,
									r->columns[which])) ?
				    " of microseconds" :
				    "");
}

static bool is_wanted(const struct tw_sweep_filter *f, const struct tw_variance_point *p)
{
	return !f || (tw_sweep_is_wanted(f->threads, f->thread_count, p->threads) &&
		      tw_sweep_is_wanted(f->channels, f->channel_count, p->channels) &&
		      tw_sweep_is_wanted(f->ranks, f->rank_count, p->rank));
}

static int take_rows(struct rows *r)
{
	const struct tw_csv *csv = r->plots->csv;
	size_t i;

	for (i = 0; i < csv->rows; i++) {
		struct tw_variance_point *point = &r->points[r->count];
		size_t wrong = take_row(r, i, point);

		if (wrong != COLUMNS) {
			tell_row(r, i, wrong);
			r->skipped++;
		} else if (is_wanted(r->plots->filter, point)) {
			r->count++;
		} else {
			r->others++;
		}
	}
	if (r->skipped > ROWS_TOLD)
		cli_message("'%s': %zu more rows left out", r->plots->name, r->skipped - ROWS_TOLD);
	if (r->count)
		return r->skipped ? CLI_INCOMPLETE : CLI_DONE;
	if (!csv->rows)
		cli_message("nothing to draw: '%s' has no rows", r->plots->name);
	else if (r->others)
		cli_message("nothing to draw: '%s' has no row of what was asked for",
			    r->plots->name);
	else
		cli_message("nothing to draw: no row of '%s' can be used", r->plots->name);
	return CLI_FAILED;
}

/* ---- statistics */

static const struct trawl_column columns[] = {
	TW_TEXT("by", 10, "what the rows are put together by", .values = "!threads|channels|rank"),
	TW_INTEGER("number", 8, "of threads, of channels, or of the rank", .values = "!"),
	TW_REAL("mean us", "us", 2, 10, "mean of the time differences", .values = "!"),
	TW_REAL("median us", "us", 2, 10, "half are below", .values = "!"),
	TW_REAL("max us", "us", 2, 10, "largest time difference", .values = "!"),
	TW_INTEGER("n", 6, "rows", .values = "!>=1"),
};

static const struct tw_table_spec statistics_spec =
	TW_SPEC("variance_statistics",
		"time between the shortest and the longest call of an operation, for all "
		"operations of the table together",
		columns);

static void add_groups(struct trawl_table *table, const struct tw_variance_group *groups,
		       size_t count, const char *by)
{
	size_t i, row;

	for (i = 0; i < count; i++) {
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, 0, by);
		tw_table_set_integer(table, row, 1, groups[i].number);
		tw_table_set_real(table, row, 2, groups[i].spread.mean);
		tw_table_set_real(table, row, 3, groups[i].spread.median);
		tw_table_set_real(table, row, 4, groups[i].spread.max);
		tw_table_set_integer(table, row, 5, (int64_t)groups[i].spread.count);
	}
}

static struct trawl_table *make_statistics(const struct rows *r)
{
	static const char *const by[] = { "threads", "channels", "rank" };
	struct trawl_table *table = tw_table_new(&statistics_spec, trawl_allocator_default());
	bool fine = true;
	size_t i, count;

	for (i = 0; i < 3 && table && fine; i++) {
		struct tw_variance_group *groups;
		struct tw_arena arena;

		tw_arena_init(&arena, trawl_allocator_default());
		groups = tw_variance_groups(r->points, r->count, (enum tw_variance_by)i, &arena,
					    &count);
		if (groups)
			add_groups(table, groups, count, by[i]);
		fine = groups != NULL;
		tw_arena_release(&arena);
	}
	if (fine)
		return tw_table_finished(table);
	tw_table_free(table);
	return NULL;
}

/* ---- pictures */

/* How many there are now. */
static size_t draw_kind(const struct rows *r, bool svg)
{
	bool done[TW_VARIANCE_PLOTS];
	struct trawl_error err;
	size_t drawn = 0, i, told = 0;

	if (!tw_render_variance_plots(r->points, r->count, r->plots->dir, svg, r->plots->threads,
				      done, trawl_allocator_default(), &err))
		return TW_VARIANCE_PLOTS;
	cli_message("%s", err.message);
	for (i = 0; i < TW_VARIANCE_PLOTS; i++)
		drawn += done[i];
	/* The message is of the first. */
	for (i = 0; i < TW_VARIANCE_PLOTS && drawn; i++)
		if (!done[i] && told++)
			cli_message("'%s.%s' is not there either", tw_variance_plot_names[i],
				    svg ? "svg" : "png");
	return drawn;
}

static int draw(const struct rows *r)
{
	size_t wanted = TW_VARIANCE_PLOTS, drawn = draw_kind(r, false);

	/* Where there is no gnuplot, that is said once. */
	if (r->plots->svg && drawn) {
		wanted += TW_VARIANCE_PLOTS;
		drawn += draw_kind(r, true);
	}
	if (!drawn)
		return CLI_FAILED;
	if (!r->plots->quiet)
		cli_message("%zu pictures written to %s", drawn, r->plots->dir);
	return drawn < wanted ? CLI_INCOMPLETE : CLI_DONE;
}

int cli_sweep_draw(const struct cli_sweep_plots *plots, struct trawl_table **statistics)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct rows r = { .plots = plots };
	size_t room = plots->csv->rows + 1;
	int status = find_columns(&r), drawn;

	if (statistics)
		*statistics = NULL;
	if (status != CLI_DONE)
		return status;
	r.points = tw_alloc_array(a, room, sizeof(*r.points));
	if (!r.points)
		return cli_no_memory();
	status = take_rows(&r);
	if (status != CLI_FAILED) {
		drawn = draw(&r);
		status = drawn == CLI_DONE ? status : drawn;
	}
	if (status != CLI_FAILED && statistics) {
		*statistics = make_statistics(&r);
		if (!*statistics) {
			status = cli_no_memory();
		}
	}
	tw_free(a, r.points, room * sizeof(*r.points));
	return status;
}

/* ---- the command */

struct stage {
	struct cli_sweep sweep;
	const char *input_csv;
	bool svg;
	struct tw_str table, dir; /* paths: the table's, of the pictures */
};

/* The stage's own options; memory is no matter here.  Some others are taken without effect. */
static void set_options(struct stage *s, struct cli_option own[6], struct cli_option common[8])
{
	struct cli_option *option;

	cli_sweep_options(&s->sweep, own, common);
	own[3] = (struct cli_option){
		"input-csv",   0,
		CLI_TEXT,      "FILE",
		&s->input_csv, "the table (default: " TABLE_NAME " of the sweep)"
	};
	own[4] = (struct cli_option){ "svg", 0, CLI_FLAG, NULL, &s->svg, "SVG files too" };
	own[5] = (struct cli_option){ NULL, 0, CLI_FLAG, NULL, NULL, NULL };
	common[0].help = "where results go, laid out as in a sweep (default: into the sweep); "
			 "without DIR: where the pictures go (default: plots beside the table)";
	for (option = common; option->name; option++)
		if (!strcmp(option->name, "verbose") || !strcmp(option->name, "strict"))
			option->help = NULL;
}

/* Where below a sweep, or a directory of reports alone, its table is: "" or "/...", NULL: nowhere. */
static const char *find_table(struct tw_str *path, const char *root)
{
	static const char *const places[] = { "/" ANALYSIS, "" };
	size_t i;

	for (i = 0; i < 2; i++) {
		tw_str_clear(path);
		tw_str_addf(path, "%s%s/%s", root, places[i], TABLE_NAME);
		if (!path->failed && !access(path->ptr, F_OK))
			return places[i];
	}
	return NULL;
}

/* "plots" beside a file. */
static void beside(struct tw_str *dir, const char *path)
{
	const char *slash = strrchr(path, '/');

	tw_str_add(dir, path, slash ? (size_t)(slash + 1 - path) : 0);
	tw_str_add_cstr(dir, "plots");
}

/* Which table, and where the pictures go; -1 to go on. */
static int choose_places(struct stage *s, const char *sweep)
{
	const char *output = s->sweep.common.output, *place = "/" ANALYSIS;

	if (s->input_csv) {
		tw_str_add_cstr(&s->table, s->input_csv);
	} else {
		place = output ? find_table(&s->table, output) : NULL;
		place = place ? place : find_table(&s->table, sweep);
	}
	if (!place) {
		cli_message("there is no %s in '%s': 'trawl sweep variance' makes it, or name one "
			    "with --input-csv",
			    TABLE_NAME, sweep);
		return CLI_FAILED;
	}
	if (sweep)
		tw_str_addf(&s->dir, "%s%s/plots", output ? output : sweep, place);
	else if (output)
		tw_str_add_cstr(&s->dir, output);
	else
		beside(&s->dir, s->input_csv);
	if (!s->table.failed && !s->dir.failed)
		return -1;
	return cli_no_memory();
}

static int draw_table(struct stage *s, const struct tw_csv *csv)
{
	const struct cli_common *common = &s->sweep.common;
	struct cli_sweep_plots plots = { csv,		s->table.ptr,
					 s->dir.ptr,	&s->sweep.filter,
					 .svg = s->svg, .quiet = common->quiet };
	struct trawl_table *table;
	int status, printed = CLI_DONE;

	plots.threads = common->threads ? common->threads : tw_thread_count();
	status = cli_sweep_draw(&plots, &table);
	if (table)
		printed = cli_print_table(table, common->format, "sweep_plots");
	return printed == CLI_DONE ? status : printed;
}

static int run(struct stage *s)
{
	struct trawl_error err;
	struct tw_arena arena;
	struct tw_str text;
	struct tw_csv csv;
	int status;

	tw_str_init(&text, trawl_allocator_default());
	tw_arena_init(&arena, trawl_allocator_default());
	tw_inputs_note(s->table.ptr);
	status = s->input_csv ? tw_file_read(s->table.ptr, TABLE_LIMIT, &text, &err) :
				tw_file_read_found(s->table.ptr, TABLE_LIMIT, &text, &err);
	if (!status)
		status = tw_csv_parse(&csv, &arena, text.ptr ? text.ptr : "", text.len,
				      s->table.ptr, &err);
	status = status ? cli_fail(&err) : draw_table(s, &csv);
	tw_arena_release(&arena);
	tw_str_release(&text);
	return status;
}

int cli_sweep_plots(const struct cli_command *command, int argc, char **argv)
{
	struct stage s = { .sweep = { .command = command } };
	struct cli_option own[6], common[8];
	const struct cli_option *const tables[] = { own, common };
	int status, count;

	set_options(&s, own, common);
	status = cli_begin(command, tables, 2, argc, argv, &count);
	if (status < 0)
		status = cli_read_filter(command, s.sweep.lists, s.sweep.numbers, &s.sweep.filter);
	if (status >= 0)
		return status;
	if (count > 1 || (!count && !s.input_csv))
		return cli_usage_error(command,
				       count ? "one sweep at a time, not %d" :
					       "which sweep? its directory, or --input-csv "
					       "(%d given)",
				       count);
	tw_str_init(&s.table, trawl_allocator_default());
	tw_str_init(&s.dir, trawl_allocator_default());
	status = choose_places(&s, count ? argv[0] : NULL);
	if (status < 0)
		status = run(&s);
	tw_str_release(&s.table);
	tw_str_release(&s.dir);
	return status;
}
