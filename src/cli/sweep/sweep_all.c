/* trawl sweep all: every stage of a sweep in one run, each trace read once. */
#include "cli/ranks/ranks.h"
#include "cli/sweep/sweep_plots.h"
#include "cli/sweep/sweep_results.h"
#include "cli/sweep/sweep_steps.h"

#include "table/table.h"

#include <string.h>

struct all_command {
	struct cli_sweep s;
	const char *align;
	unsigned top_k;
	bool no_plots, svg;
};

/* ---- pictures */

static int draw(const struct all_command *c, struct cli_sweep_results *r, const struct tw_csv *csv)
{
	const struct cli_sweep *s = &c->s;
	struct cli_sweep_plots plots = {
		.csv = csv,
		.name = "variance",
		.svg = c->svg,
		.quiet = s->common.quiet,
		.threads = s->common.threads,
	};
	struct tw_str dir;
	int status;

	if (c->no_plots || !csv->rows)
		return CLI_DONE;
	tw_str_init(&dir, trawl_allocator_default());
	tw_sweep_analysis_path(&s->sweep, "plots", &dir);
	plots.dir = dir.failed ? "" : dir.ptr;
	status = dir.failed ? CLI_FAILED : cli_sweep_draw(&plots, NULL);
	tw_str_release(&dir);
	/* Without gnuplot the rest is as good; it was told. */
	if (status == CLI_DONE)
		r->pictures = c->svg ? 10 : 5;
	return status == CLI_FAILED ? CLI_INCOMPLETE : status;
}

/* ---- what held up the operations, by configuration */

static void add_operations(struct cli_sweep_results *r, const struct tw_csv *csv)
{
	size_t threads = tw_csv_column(csv, "threads"), channels = tw_csv_column(csv, "channel");
	size_t difference = tw_csv_column(csv, "time_diff_us");
	size_t row, i;

	for (i = 0; i < r->s->sweep.count; i++) {
		struct tw_configuration *c = &r->list[i];
		double sum = 0;

		for (row = 0; row < csv->rows; row++) {
			if (tw_csv_number(csv, row, threads) != (double)c->threads ||
			    tw_csv_number(csv, row, channels) != (double)c->channels)
				continue;
			c->gemm_rows++;
			sum += tw_csv_number(csv, row, difference);
			c->gemm_blocked += tw_variance_is_blocked(csv, row);
		}
		if (c->gemm_rows)
			c->gemm_difference_us = sum / (double)c->gemm_rows;
	}
}

/* For people the table of variance is a digest; for programs it is whole. */
static int print_tables(const struct cli_sweep_results *r, const struct cli_sweep_steps *steps)
{
	struct trawl_table *table = tw_variance_table(&steps->overlap, trawl_allocator_default());
	int status = CLI_FAILED;

	if (table)
		status = cli_sweep_print_results(r, table);
	else
		cli_message("out of memory");
	tw_table_free(table);
	return status;
}

static int print(const struct cli_sweep_results *r, const struct cli_sweep_steps *steps)
{
	struct tw_str out;
	int status;

	if (r->s->common.format != TW_FORMAT_TABLE && steps->overlap.rows)
		return print_tables(r, steps);
	status = cli_sweep_print_results(r, NULL);
	if (status != CLI_DONE || !steps->overlap.rows)
		return status;
	tw_str_init(&out, trawl_allocator_default());
	tw_str_add_char(&out, '\n');
	tw_variance_digest(&steps->overlap, cli_width(), &out);
	status = out.failed ? CLI_FAILED : cli_print(out.ptr, out.len);
	tw_str_release(&out);
	return status;
}

/* ---- the stages behind the reading; the worst status of what they told */

static int go_on(const struct all_command *c, struct cli_sweep_results *r)
{
	struct cli_sweep_steps steps;
	double start = cli_seconds();
	int status;

	cli_sweep_steps_init(&steps, &c->s, r->made, c->s.sweep.count);
	steps.top_k = c->top_k;
	status = cli_sweep_steps_all(&steps);
	r->variance = steps.variance.rows ? 3 : 0;
	if (status != CLI_FAILED)
		status = cli_worse(status, draw(c, r, &steps.variance));
	if (status != CLI_FAILED)
		status = cli_worse(status, cli_sweep_write_comparisons(r));
	if (status != CLI_FAILED)
		status = cli_worse(status, cli_sweep_write_aggregates(r));
	if (steps.incomplete)
		status = cli_worse(status, CLI_INCOMPLETE);
	if (c->s.common.verbose)
		cli_message("compared in %.3f s", cli_seconds() - start);
	if (status != CLI_FAILED) {
		add_operations(r, &steps.overlap);
		status = cli_worse(status, print(r, &steps));
	}
	cli_sweep_steps_release(&steps);
	return status;
}

static int run(const struct all_command *c)
{
	struct cli_sweep_results r;
	int status = cli_sweep_results_make(&r, &c->s,
					    CLI_MAKE_REPORTS | CLI_MAKE_COLLECTIVES |
						    CLI_MAKE_MERGED | CLI_MAKE_INSTANCES);

	if (status != CLI_FAILED)
		status = cli_worse(status, go_on(c, &r));
	if (status != CLI_FAILED)
		cli_sweep_tell_where(&r);
	cli_sweep_results_release(&r);
	return status;
}

int cli_sweep_all(const struct cli_command *command, int argc, char **argv)
{
	struct all_command c = { .s.command = command, .top_k = CLI_SWEEP_TOP_K };
	const struct cli_option of_all[] = {
		{ "top-k", 0, CLI_POSITIVE, "N", &c.top_k,
		  "operations of each report that are looked at (default: 5)" },
		{ "no-plots", 0, CLI_FLAG, NULL, &c.no_plots, "draw no pictures" },
		{ "svg", 0, CLI_FLAG, NULL, &c.svg, "draw them as SVG too" },
		{ "align", 0, CLI_TEXT, "HOW", &c.align, CLI_SWEEP_ALIGN_HELP },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};
	struct cli_option own[5], common[8];
	const struct cli_option *const tables[] = { of_all, own, common };
	int status;

	cli_sweep_options(&c.s, own, common);
	status = cli_sweep_begin(&c.s, tables, 3, argc, argv);
	if (status >= 0)
		return status;
	status = cli_read_align(command, c.align, &c.s.align);
	if (status < 0)
		status = run(&c);
	tw_sweep_release(&c.s.sweep);
	return status;
}
