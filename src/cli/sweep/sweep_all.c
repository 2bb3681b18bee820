/* trawl sweep all: every stage of a sweep in one run, each trace read once. */
#include "cli/sweep/sweep.h"
#include "cli/sweep/sweep_plots.h"

#include "study/variance/steps.h"

#include <stddef.h>

struct all_command {
	struct cli_sweep s;
	unsigned top_k;
	bool no_plots, svg;
};

static int draw_plots(const struct all_command *c, struct cli_sweep_results *r,
		      struct tw_variance_steps *steps)
{
	const struct cli_sweep *s = &c->s;
	const struct trawl_table *table = steps->tables[TW_STEP_VARIANCE];
	const struct cli_sweep_plots plots = {
		.table = table,
		.name = "variance",
		.dir = cli_sweep_path(&s->sweep, "plots"),
		.svg = c->svg,
		.quiet = s->common.quiet,
		.threads = s->common.threads,
	};
	int status;

	if (c->no_plots || !trawl_table_rows(table))
		return CLI_DONE;
	status = cli_sweep_draw(&plots, &steps->arena, NULL);
	/* Without gnuplot the rest is as good; it was told. */
	if (status == CLI_DONE)
		r->pictures = c->svg ? 10 : 5;
	return status == CLI_FAILED ? CLI_INCOMPLETE : status;
}

/* For people the table of variance is a digest; for programs it is whole. */
static int print_all(const struct cli_sweep_results *r, const struct trawl_table *overlap)
{
	struct trawl_table *table;
	struct tw_str out;
	int status;

	if (!overlap)
		return cli_sweep_print_results(r, NULL);
	if (r->s->common.format != TW_FORMAT_TABLE) {
		table = tw_variance_table(overlap, trawl_allocator_default());
		status = table ? cli_sweep_print_results(r, table) : cli_no_memory();
		tw_table_free(table);
		return status;
	}
	status = cli_sweep_print_results(r, NULL);
	if (status != CLI_DONE)
		return status;
	tw_str_init(&out, trawl_allocator_default());
	tw_str_add_char(&out, '\n');
	tw_variance_digest(overlap, cli_width(), &out);
	return cli_print_str(&out);
}

static int find_variance(struct tw_variance_steps *steps, const struct all_command *c)
{
	struct trawl_error err;
	int status;

	steps->top_k = c->top_k;
	status = tw_variance_steps_all(steps, &err);
	cli_tell_notes(&steps->notes, c->s.common.quiet);
	if (status)
		return cli_fail(&err);
	return steps->incomplete ? CLI_INCOMPLETE : CLI_DONE;
}

/* The stages behind the reading; the worst status of what they told. */
static int go_on(const struct all_command *c, struct cli_sweep_results *r)
{
	struct tw_variance_steps steps;
	const struct trawl_table *overlap;
	double start = cli_seconds();
	int status;

	tw_variance_steps_init(&steps, &c->s.sweep, r->points, c->s.sweep.count);
	status = find_variance(&steps, c);
	overlap = steps.tables[TW_STEP_OVERLAP];
	r->variance = overlap ? TW_VARIANCE_STEPS : 0;
	if (status != CLI_FAILED)
		status = cli_worse(status, draw_plots(c, r, &steps));
	if (status != CLI_FAILED)
		status = cli_worse(status, cli_sweep_write_all(r));
	if (c->s.common.verbose)
		cli_message("compared in %.3f s", cli_seconds() - start);
	if (status != CLI_FAILED) {
		if (overlap)
			tw_configurations_add_gemms(overlap, r->list, r->s->sweep.count);
		status = cli_worse(status, print_all(r, overlap));
	}
	tw_variance_steps_release(&steps);
	return status;
}

#define AT(member) offsetof(struct all_command, member)

static const struct cli_option own_options[] = {
	{ "top-k", 0, &cli_positive, "N", AT(top_k),
	  "top operators of each report to analyze (default: 5)" },
	{ "no-plots", 0, &cli_flag, NULL, AT(no_plots), "draw no plots" },
	{ "svg", 0, &cli_flag, NULL, AT(svg), "also draw plots as SVG" },
	{ 0 },
};

static const struct cli_options options[] = {
	{ .list = own_options },
	CLI_SWEEP_ALIGN(AT(s)),
	CLI_SWEEP(AT(s)),
	CLI_COMMON(AT(s.common)),
	{ 0 },
};

static int run_all_stages(const struct cli_command *command, int argc, char **argv)
{
	struct all_command c = { .top_k = TW_VARIANCE_TOP_K };
	struct cli_sweep_results r;
	int status = cli_sweep_begin(&c.s, command, &c, argc, argv);

	if (status >= 0)
		return status;
	status = cli_sweep_results_make(&r, &c.s,
					TW_POINT_REPORTS | TW_POINT_COLLECTIVES | TW_POINT_MERGED |
						TW_POINT_INSTANCES);
	if (status != CLI_FAILED)
		status = cli_worse(status, go_on(&c, &r));
	if (status != CLI_FAILED)
		cli_sweep_tell_where(&r);
	cli_sweep_results_release(&r);
	tw_sweep_release(&c.s.sweep);
	return status;
}

const struct cli_command cli_sweep_all = {
	"sweep all",
	"DIR",
	"every stage in one run: the best configuration, and why",
	"Writes what 'sweep report', 'variance', 'timestamps', 'overlap', 'plots' and 'merge' write,\n"
	"reading each trace once, and prints the configurations, best first, with the lead of the\n"
	"best, its trade-offs, and what slows its GEMMs down.\n\n"
	"  trawl sweep all experiments/sweep_20251124_222204\n"
	"  trawl sweep all experiments/sweep_20251124_222204 -o results --no-plots --max-memory 16G\n",
	options,
	run_all_stages,
};
