/* trawl sweep report: the reports of all ranks and configurations, and these side by side. */
#include "cli/sweep/sweep.h"

#include <stddef.h>

#define AT(member) offsetof(struct cli_sweep, member)

static const struct cli_options options[] = {
	CLI_SWEEP_ALIGN(0),
	CLI_SWEEP(0),
	CLI_COMMON(AT(common)),
	{ 0 },
};

static int report_sweep(const struct cli_command *command, int argc, char **argv)
{
	struct cli_sweep s = { 0 };
	struct trawl_sweep_results *results;
	int status = cli_sweep_begin(&s, command, &s, argc, argv);

	if (status >= 0)
		return status;
	status = cli_sweep_analyse(
		&s, TRAWL_SWEEP_REPORTS | TRAWL_SWEEP_COLLECTIVES | TRAWL_SWEEP_FINDINGS, &results);
	if (status == CLI_DONE)
		status = cli_sweep_write(&s, TRAWL_SWEEP_COMPARISONS | TRAWL_SWEEP_AGGREGATES,
					 results);
	if (status == CLI_DONE)
		status = cli_sweep_print_results(&s, results, NULL);
	if (status == CLI_DONE) {
		cli_sweep_tell_where(&s, results);
		status = cli_sweep_status(status, results);
	}
	trawl_sweep_results_free(results);
	cli_sweep_end(&s);
	return status;
}

const struct cli_command cli_sweep_report = {
	"sweep report",
	"DIR",
	"reports of every rank and configuration, and comparisons",
	"Writes into tracelens_analysis: <T>thread/individual_reports/perf_<C>ch_rank<R>.xlsx,\n"
	"<T>thread/collective_reports/collective_<C>ch.xlsx,\n"
	"comparisons/compare_<C>ch_rank<R>_across_threads.xlsx, gpu_timeline_all_configs_mean.xlsx,\n"
	"gpu_timeline_all_configs_geomean.xlsx, nccl_master_all_configs.xlsx and .csv, findings.csv:\n"
	"what limits each configuration. Traces are read in place. Prints the configurations, best\n"
	"first, and the largest finding of each.\n\n"
	"  trawl sweep report experiments/sweep_20251124_222204\n",
	options,
	report_sweep,
};
