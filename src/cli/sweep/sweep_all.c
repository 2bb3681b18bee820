/* trawl sweep all: every stage of a sweep in one run, each trace read once. */
#include "cli/sweep/sweep.h"

#include <stddef.h>

struct all_command {
	struct cli_sweep s;
	bool no_plots, svg;
};

/* For people the table of variance is a digest; for programs it is whole. */
static int print_all(const struct cli_sweep *s, struct trawl_sweep_results *results)
{
	const struct trawl_table *variance = trawl_sweep_results_find(results, "gemm_variance");
	int status;

	if (s->common.format != TW_FORMAT_TABLE)
		return cli_sweep_print_results(s, results, variance);
	status = cli_sweep_print_results(s, results, NULL);
	return status == CLI_DONE && variance ? cli_sweep_print_text(results, "\n") : status;
}

/* The stages behind the reading. */
static int go_on(struct all_command *c, struct trawl_sweep_results *results)
{
	unsigned outputs = TRAWL_SWEEP_VARIANCE | TRAWL_SWEEP_COMPARISONS | TRAWL_SWEEP_AGGREGATES;
	double start = cli_seconds();
	int status;

	if (!c->no_plots)
		outputs |= TRAWL_SWEEP_PICTURES | (c->svg ? TRAWL_SWEEP_SVG : 0);
	status = cli_sweep_write(&c->s, outputs, results);
	if (c->s.common.verbose)
		cli_message("compared in %.3f s", cli_seconds() - start);
	if (status == CLI_DONE)
		status = cli_sweep_write_page(&c->s, results, !c->no_plots);
	if (status == CLI_DONE)
		status = print_all(&c->s, results);
	if (status == CLI_DONE)
		cli_sweep_tell_where(&c->s, results);
	return cli_sweep_status(status, results);
}

#define AT(member) offsetof(struct all_command, member)

static const struct cli_option own_options[] = {
	{ "top-k", 0, &cli_positive, "N", AT(s.options.top_k),
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
	struct all_command c = { .svg = false };
	struct trawl_sweep_results *results;
	int status = cli_sweep_begin(&c.s, command, &c, argc, argv);

	if (status >= 0)
		return status;
	status = cli_sweep_analyse(&c.s,
				   TRAWL_SWEEP_REPORTS | TRAWL_SWEEP_COLLECTIVES |
					   TRAWL_SWEEP_MERGED | TRAWL_SWEEP_VARIANCE |
					   TRAWL_SWEEP_FINDINGS,
				   &results);
	if (status == CLI_DONE)
		status = go_on(&c, results);
	trawl_sweep_results_free(results);
	cli_sweep_end(&c.s);
	return status;
}

const struct cli_command cli_sweep_all = {
	"sweep all",
	"DIR",
	"every stage in one run: the best configuration, and why",
	"Writes what 'sweep report', 'variance', 'timestamps', 'overlap', 'plots' and 'merge' write,\n"
	"reading each trace once, and sweep.html, a page with the answer, charts and tables. Prints the\n"
	"configurations, best first, with the lead of the best, its trade-offs, what limits it, and what\n"
	"slows its GEMMs down.\n\n"
	"  trawl sweep all experiments/sweep_20251124_222204\n"
	"  trawl sweep all experiments/sweep_20251124_222204 -o results --no-plots --max-memory 16G\n",
	options,
	run_all_stages,
};
