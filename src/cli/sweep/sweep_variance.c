/*
 * trawl sweep variance, timestamps, overlap: the operations of each report whose calls differ most in
 * time, when the shortest and the longest of these calls ran, and what communicated meanwhile.
 */
#include "cli/sweep/sweep.h"

#include "data/limits.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct variance_command {
	struct cli_sweep s;
	const char *input, *output; /* NULL: not given */
};

static const char *const stages[] = { "variance", "timestamps", "overlap" };

static int print_step(const struct cli_sweep *s, struct trawl_sweep_results *results)
{
	const struct trawl_table *table = trawl_sweep_results_find(results, "gemm_variance");
	size_t rows = trawl_table_rows(table);
	int status = s->common.format == TW_FORMAT_TABLE ?
			     cli_sweep_print_text(results, "") :
			     cli_sweep_print_table(s, results, "gemm_variance", "sweep_variance");

	if (status == CLI_DONE && !s->common.quiet)
		cli_message("%zu row%s written to %s", rows, rows == 1 ? "" : "s",
			    trawl_sweep_results_path(results));
	return cli_sweep_status(status, results);
}

/* ---- the commands */

/* A fraction up to 1. */
static int read_fraction(const struct cli_option *option, const char *text, void *value,
			 struct trawl_error *err)
{
	char *end;
	double fraction = strtod(text, &end);

	if (!*text || *end || !(fraction >= 0 && fraction <= 1))
		return cli_bad_value(err, option, text, "not a fraction such as 0.01");
	*(double *)value = fraction;
	return 0;
}

static const struct cli_kind fraction_kind = { .read = read_fraction };

#define AT(member) offsetof(struct variance_command, member)

static const struct cli_option first_options[] = {
	{ "top-k", 0, &cli_positive, "N", AT(s.options.top_k),
	  "top operators of each report (default 5); also in the file name" },
	{ 0 },
};

static const struct cli_option following_options[] = {
	{ "top-k", 0, &cli_positive, "N", AT(s.options.top_k),
	  "N of the input file top<N>_... (default 5)" },
	{ "input-csv", 0, &cli_string, "FILE", AT(input),
	  "input file (default: output of the previous stage)" },
	{ 0 },
};

static const struct cli_option output_options[] = {
	{ "output-csv", 0, &cli_string, "FILE", AT(output),
	  "output file (default: in tracelens_analysis, or next to --input-csv)" },
	{ 0 },
};

static const struct cli_option tolerance_options[] = {
	{ "tolerance", 0, &fraction_kind, "FRACTION", AT(s.options.tolerance),
	  "max relative difference for within_tol (default " TW_LIMIT_TEXT(
		  TW_LIMIT_SWEEP_TOLERANCE) ")" },
	{ 0 },
};

static const struct cli_options variance_options[] = {
	{ .list = first_options },
	{ .list = output_options },
	CLI_SWEEP(AT(s)),
	CLI_COMMON(AT(s.common)),
	{ 0 },
};

static const struct cli_options timestamps_options[] = {
	{ .list = following_options }, { .list = output_options },
	{ .list = tolerance_options }, CLI_SWEEP(AT(s)),
	CLI_COMMON(AT(s.common)),      { 0 },
};

static const struct cli_options overlap_options[] = {
	{ .list = following_options },
	{ .list = output_options },
	CLI_SWEEP(AT(s)),
	CLI_COMMON(AT(s.common)),
	{ 0 },
};

static int run_step(const struct cli_command *command, int argc, char **argv)
{
	struct variance_command c = { .input = NULL };
	enum trawl_variance_step step = TRAWL_STEP_VARIANCE;
	struct trawl_sweep_results *results;
	struct trawl_error err;
	int status = cli_sweep_begin(&c.s, command, &c, argc, argv);

	if (status >= 0)
		return status;
	while (strcmp(command->name + strlen("sweep "), stages[step]))
		step++;
	cli_sweep_call(&c.s);
	status = trawl_sweep_variance(&results, c.s.sweep, step, c.input, c.output, &err);
	status = cli_sweep_called(&c.s, status, &err);
	if (status == CLI_DONE)
		status = print_step(&c.s, results);
	trawl_sweep_results_free(results);
	cli_sweep_end(&c.s);
	return status;
}

const struct cli_command cli_sweep_variance = {
	"sweep variance",
	"DIR",
	"operators with the largest variance of call times",
	"Of the sheet GEMM of each report in tracelens_analysis, or of the trace where there is\n"
	"none, the rows with the largest max - min call time. Writes\n"
	"top5_gemm_kernels_time_variance.csv into tracelens_analysis, and prints a digest.\n\n"
	"  trawl sweep variance experiments/sweep_20251124_222204 --top-k 5\n",
	variance_options,
	run_step,
};

const struct cli_command cli_sweep_timestamps = {
	"sweep timestamps",
	"DIR",
	"timestamps of the shortest and the longest of those calls",
	"Finds both calls in the traces, by the operator, not by the kernel name.\n"
	"Writes top5_gemm_kernels_time_variance_with_timestamps.csv; match_status is the\n"
	"quality of the match with the times of the report.\n\n"
	"  trawl sweep timestamps experiments/sweep_20251124_222204\n",
	timestamps_options,
	run_step,
};

const struct cli_command cli_sweep_overlap = {
	"sweep overlap",
	"DIR",
	"collectives that overlap the longest of those calls",
	"Collectives of the same rank, from its trace, else from the collective report. Writes\n"
	"top5_gemm_kernels_time_variance_with_collective_overlap.csv.\n\n"
	"  trawl sweep overlap experiments/sweep_20251124_222204\n",
	overlap_options,
	run_step,
};
