/* trawl sweep plots: how the time differences of operations are spread, as pictures. */
#include "cli/ranks/ranks.h"
#include "cli/sweep/sweep.h"

#include "os/file.h"

#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANALYSIS "tracelens_analysis"
#define TABLE_NAME "top5_gemm_kernels_time_variance.csv"

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

/* A pipe is read where the user names it; under a name that is looked for it would be waited for. */
static int check_table(const struct plots_command *c)
{
	struct stat info;

	if (c->input_csv || stat(c->table, &info) || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))
		return CLI_DONE;
	cli_message("cannot read '%s': not a regular file", c->table);
	return CLI_FAILED;
}

static int draw_table(struct plots_command *c)
{
	struct cli_sweep *s = &c->sweep;
	struct trawl_sweep_results *results;
	struct trawl_error err;
	int status = check_table(c);

	if (status != CLI_DONE)
		return status;
	tw_str_init(&s->notes, trawl_allocator_default());
	s->options.threads = s->common.threads;
	s->options.quiet = s->common.quiet;
	s->options.note = cli_keep_note;
	s->options.note_context = &s->notes;
	status = trawl_variance_draw(&results, c->table, c->dir, c->svg, &s->options, &err);
	cli_tell_notes(&s->notes, false);
	status = status ? cli_fail(&err) :
			  cli_sweep_status(cli_sweep_print_table(s, results, "variance_statistics",
								 "sweep_plots"),
					   results);
	trawl_sweep_results_free(results);
	tw_str_release(&s->notes);
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
	c.sweep.options.filter = cli_filter_of(&c.sweep.lists);
	if (count > 1 || (!count && !c.input_csv))
		return cli_usage_error(command,
				       count ? "expected one sweep, got %d" :
					       "missing DIR argument, or --input-csv (%d given)",
				       count);
	status = choose_places(&c, count ? argv[0] : NULL);
	return status < 0 ? draw_table(&c) : status;
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
