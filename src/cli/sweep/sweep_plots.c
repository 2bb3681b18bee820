/* trawl sweep plots: how the time differences of operations are spread, as pictures. */
#include "cli/sweep/sweep_plots.h"

#include "cli/sweep/sweep.h"
#include "os/file.h"
#include "os/inputs.h"
#include "os/thread.h"
#include "study/variance/points.h"
#include "study/variance/variance.h"
#include "table/csv.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define ANALYSIS "tracelens_analysis"
#define TABLE_NAME "top5_gemm_kernels_time_variance.csv"
#define TABLE_LIMIT ((size_t)1 << 32)
/* ---- statistics */

static const struct trawl_column columns[] = {
	TW_TEXT("by", 10, "grouping", .values = "!threads|channels|rank"),
	TW_INTEGER("number", 8, "value of threads, channels or rank", .values = "!"),
	TW_REAL("mean us", "us", 2, 10, "mean time difference", .values = "!"),
	TW_REAL("median us", "us", 2, 10, "median time difference", .values = "!"),
	TW_REAL("max us", "us", 2, 10, "max time difference", .values = "!"),
	TW_INTEGER("n", 6, "rows", .values = "!>=1"),
};

static const struct tw_table_spec statistics_spec = TW_SPEC(
	"variance_statistics",
	"time difference of an operator (max - min call), all operators of the table", columns);

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

static struct trawl_table *make_statistics(const struct tw_variance_points *points,
					   struct tw_arena *arena)
{
	static const char *const by[] = { "threads", "channels", "rank" };
	struct trawl_table *table = tw_table_new(&statistics_spec, trawl_allocator_default());
	size_t i, count;

	for (i = 0; i < 3 && table; i++) {
		const struct tw_variance_group *groups = tw_variance_groups(
			points->points, points->count, (enum tw_variance_by)i, arena, &count);

		if (!groups) {
			tw_table_free(table);
			return NULL;
		}
		add_groups(table, groups, count, by[i]);
	}
	return tw_table_finished(table);
}

/* ---- pictures */

/* How many there are now. */
static size_t draw_kind(const struct cli_sweep_plots *plots, const struct tw_variance_points *p,
			bool svg)
{
	bool done[TW_VARIANCE_PLOTS];
	struct trawl_error err;
	size_t drawn = 0, i, told = 0;

	if (!tw_render_variance_plots(p->points, p->count, plots->dir, svg, plots->threads, done,
				      trawl_allocator_default(), &err))
		return TW_VARIANCE_PLOTS;
	cli_message("%s", err.message);
	for (i = 0; i < TW_VARIANCE_PLOTS; i++)
		drawn += done[i];
	/* The message is of the first. */
	for (i = 0; i < TW_VARIANCE_PLOTS && drawn; i++)
		if (!done[i] && told++)
			cli_message("'%s.%s' missing too", tw_variance_plot_names[i],
				    svg ? "svg" : "png");
	return drawn;
}

static int draw_kinds(const struct cli_sweep_plots *plots, const struct tw_variance_points *p)
{
	size_t wanted = TW_VARIANCE_PLOTS, drawn = draw_kind(plots, p, false);

	/* Where there is no gnuplot, that is said once. */
	if (plots->svg && drawn) {
		wanted += TW_VARIANCE_PLOTS;
		drawn += draw_kind(plots, p, true);
	}
	if (!drawn)
		return CLI_FAILED;
	if (!plots->quiet)
		cli_message("%zu plots written to %s", drawn, plots->dir);
	return drawn < wanted || p->skipped ? CLI_INCOMPLETE : CLI_DONE;
}

int cli_sweep_draw(const struct cli_sweep_plots *plots, struct tw_arena *arena,
		   struct trawl_table **statistics)
{
	struct tw_variance_points points;
	struct trawl_error err;
	struct tw_str notes;
	int status;

	tw_str_init(&notes, trawl_allocator_default());
	status = tw_variance_points_of(plots->table, plots->name, plots->filter, arena, &points,
				       &notes, &err);
	cli_tell_notes(&notes, false);
	tw_str_release(&notes);
	if (status)
		return cli_fail(&err);
	status = draw_kinds(plots, &points);
	if (status == CLI_FAILED || !statistics)
		return status;
	*statistics = make_statistics(&points, arena);
	return *statistics ? status : cli_no_memory();
}

/* ---- the command */

struct plots_command {
	struct cli_sweep sweep;
	const char *input_csv;
	bool svg;
	const char *table, *dir; /* paths: the table's, of the pictures */
};

/* Where below a sweep, or a directory of reports alone, its table is: "" or "/...", NULL: nowhere. */
static const char *find_table(struct plots_command *c, const char *root)
{
	static const char *const places[] = { "/" ANALYSIS, "" };
	size_t i;

	for (i = 0; i < 2; i++) {
		c->table = cli_text("%s%s/%s", root, places[i], TABLE_NAME);
		if (!access(c->table, F_OK))
			return places[i];
	}
	return NULL;
}

/* Which table, and where the pictures go; -1 to go on. */
static int choose_places(struct plots_command *c, const char *sweep)
{
	const char *output = c->sweep.common.output, *place = "/" ANALYSIS;

	if (c->input_csv) {
		c->table = c->input_csv;
	} else {
		place = output ? find_table(c, output) : NULL;
		place = place ? place : find_table(c, sweep);
	}
	if (!place) {
		cli_message("no %s in '%s': run 'trawl sweep variance', or give --input-csv",
			    TABLE_NAME, sweep);
		return CLI_FAILED;
	}
	if (sweep)
		c->dir = cli_text("%s%s/plots", output ? output : sweep, place);
	else if (output)
		c->dir = output;
	else
		c->dir = cli_text("%.*splots", (int)(tw_file_name(c->table) - c->table), c->table);
	return -1;
}

static int draw_table(struct plots_command *c, const struct trawl_table *differences,
		      struct tw_arena *arena)
{
	const struct cli_common *common = &c->sweep.common;
	struct cli_sweep_plots plots = { differences,	   c->table,	  c->dir,
					 &c->sweep.filter, .svg = c->svg, .quiet = common->quiet };
	struct trawl_table *table = NULL;
	int status, printed = CLI_DONE;

	plots.threads = common->threads ? common->threads : tw_thread_count();
	status = cli_sweep_draw(&plots, arena, &table);
	if (table)
		printed = cli_print_table(table, common->format, "sweep_plots");
	return printed == CLI_DONE ? status : printed;
}

static int read_and_draw(struct plots_command *c)
{
	static const struct tw_table_spec spec = {
		.name = "variance",
		.columns = tw_variance_columns,
		.column_count = TW_VARIANCE_COLUMNS,
	};
	struct trawl_error err;
	struct tw_arena arena;
	struct tw_str text;
	struct trawl_table *table = NULL;
	struct tw_csv csv;
	int status;

	tw_str_init(&text, trawl_allocator_default());
	tw_arena_init(&arena, trawl_allocator_default());
	tw_inputs_note(c->table);
	status = c->input_csv ? tw_file_read(c->table, TABLE_LIMIT, &text, &err) :
				tw_file_read_found(c->table, TABLE_LIMIT, &text, &err);
	if (!status)
		status = tw_csv_parse(&csv, &arena, text.ptr ? text.ptr : "", text.len, c->table,
				      &err);
	if (!status)
		status = tw_csv_table(&csv, &spec, trawl_allocator_default(), &table, &err);
	status = status ? cli_fail(&err) : draw_table(c, table, &arena);
	tw_table_free(table);
	tw_arena_release(&arena);
	tw_str_release(&text);
	return status;
}

#define AT(member) offsetof(struct plots_command, member)

static const struct cli_option own_options[] = {
	{ "input-csv", 0, &cli_string, "FILE", AT(input_csv),
	  "input table (default: " TABLE_NAME " of the sweep)" },
	{ "svg", 0, &cli_flag, NULL, AT(svg), "also write SVG files" },
	{ "output", 'o', &cli_string, "DIR", AT(sweep.common.output),
	  "output directory, laid out as a sweep (default: the sweep); without DIR: for the "
	  "plots (default: plots next to the table)" },
	{ 0 },
};

static const struct cli_options options[] = {
	CLI_SWEEP_FILTER(AT(sweep)),
	{ .list = own_options },
	CLI_COMMON_SHOWN(AT(sweep.common), " jobs quiet format "),
	{ 0 },
};

static int draw_plots(const struct cli_command *command, int argc, char **argv)
{
	struct plots_command c = { .svg = false };
	int count, status = cli_begin(command, &c, argc, argv, &count);

	if (status >= 0)
		return status;
	c.sweep.filter = cli_filter_of(&c.sweep.lists);
	if (count > 1 || (!count && !c.input_csv))
		return cli_usage_error(command,
				       count ? "expected one sweep, got %d" :
					       "missing DIR argument, or --input-csv (%d given)",
				       count);
	status = choose_places(&c, count ? argv[0] : NULL);
	return status < 0 ? read_and_draw(&c) : status;
}

const struct cli_command cli_sweep_plots = {
	"sweep plots",
	"[DIR]",
	"plot the distribution of operator time differences",
	"Draws the result of 'trawl sweep variance', top5_gemm_kernels_time_variance.csv or another\n"
	"such table, with gnuplot into tracelens_analysis/plots: variance_by_threads_boxplot.png,\n"
	"variance_by_channels_boxplot.png, variance_by_ranks_boxplot.png,\n"
	"variance_violin_combined.png and variance_thread_channel_interaction.png, of 300 dots an\n"
	"inch. Prints mean, median and maximum by threads, channels and rank.\n\n"
	"  trawl sweep plots experiments/sweep_20251124_222204\n"
	"  trawl sweep plots --input-csv variance.csv -o pictures --svg\n",
	options,
	draw_plots,
};
