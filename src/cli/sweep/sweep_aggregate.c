/* trawl sweep aggregate: the reports of a sweep in one table each. */
#include "cli/sweep/sweep.h"

#include <stddef.h>

static int print_aggregate(const struct cli_sweep *s, struct trawl_sweep_results *results)
{
	const struct trawl_table *shown[2];
	size_t count = trawl_sweep_results_tables(results), i;

	if (s->common.format == TW_FORMAT_TABLE)
		return cli_sweep_print_text(results, "");
	for (i = 0; i < count; i++)
		shown[i] = trawl_sweep_results_table(results, i);
	return cli_print_tables(shown, count, s->common.format, "sweep_aggregate", cli_width());
}

static const struct cli_options options[] = {
	CLI_SWEEP(0),
	CLI_COMMON(offsetof(struct cli_sweep, common)),
	{ 0 },
};

static int aggregate_sweep(const struct cli_command *command, int argc, char **argv)
{
	struct cli_sweep s = { 0 };
	struct trawl_sweep_results *results;
	struct trawl_error err;
	int status = cli_sweep_begin(&s, command, &s, argc, argv);

	if (status >= 0)
		return status;
	cli_sweep_call(&s);
	status = cli_sweep_called(&s, trawl_sweep_aggregate(&results, s.sweep, &err), &err);
	if (status == CLI_DONE)
		status = cli_sweep_status(print_aggregate(&s, results), results);
	trawl_sweep_results_free(results);
	cli_sweep_end(&s);
	return status;
}

const struct cli_command cli_sweep_aggregate = {
	"sweep aggregate",
	"DIR",
	"combine existing reports, all configurations in one table",
	"Writes into tracelens_analysis: gpu_timeline_all_configs_mean.xlsx,\n"
	"gpu_timeline_all_configs_geomean.xlsx, nccl_master_all_configs.xlsx and .csv, from the\n"
	"reports that 'trawl sweep report' or TraceLens wrote there, workbooks or directories of\n"
	"CSV files. Prints the configuration with the least time, by part and by collective.\n\n"
	"  trawl sweep aggregate experiments/sweep_20251124_222204\n",
	options,
	aggregate_sweep,
};
