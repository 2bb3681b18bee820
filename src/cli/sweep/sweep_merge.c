/* trawl sweep merge: one timeline a configuration, of all its ranks. */
#include "cli/sweep/sweep.h"

#include <stddef.h>

static const struct cli_options options[] = {
	CLI_SWEEP(0),
	CLI_COMMON(offsetof(struct cli_sweep, common)),
	{ 0 },
};

static int merge_sweep(const struct cli_command *command, int argc, char **argv)
{
	struct cli_sweep s = { 0 };
	struct trawl_sweep_results *results;
	struct trawl_error err;
	int status = cli_sweep_begin(&s, command, &s, argc, argv);

	if (status >= 0)
		return status;
	cli_sweep_call(&s);
	status = cli_sweep_called(
		&s, trawl_sweep_analyse(&results, s.sweep, TRAWL_SWEEP_MERGED, &err), &err);
	if (status == CLI_DONE)
		status = cli_sweep_status(cli_sweep_print_table(&s, results, "merged_traces",
								"sweep_merge"),
					  results);
	trawl_sweep_results_free(results);
	cli_sweep_end(&s);
	return status;
}

const struct cli_command cli_sweep_merge = {
	"sweep merge",
	"DIR",
	"merge all ranks into one timeline per configuration",
	"Writes merged_traces/<T>thread_<C>ch_merged.json for each configuration, traces that\n"
	"https://ui.perfetto.dev opens, and prints what is in them.\n\n"
	"  trawl sweep merge experiments/sweep_20251124_222204 --threads 256 --channels 28\n",
	options,
	merge_sweep,
};
