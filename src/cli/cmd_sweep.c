/* trawl sweep STAGE: finds the stage and runs it. */
#include "cli/sweep.h"

#include <stdio.h>
#include <string.h>

/* "sweep report" to "report". */
static const char *stage_name(const struct cli_command *stage)
{
	return stage->name + strlen("sweep ");
}

const struct cli_command cli_sweep_stages[] = {
	{ "sweep report", "DIR", "reports of every rank and configuration, and these side by side",
	  "Writes into tracelens_analysis: <T>thread/individual_reports/perf_<C>ch_rank<R>.xlsx,\n"
	  "<T>thread/collective_reports/collective_<C>ch.xlsx,\n"
	  "comparisons/compare_<C>ch_rank<R>_across_threads.xlsx, gpu_timeline_all_configs_mean.xlsx,\n"
	  "gpu_timeline_all_configs_geomean.xlsx, nccl_master_all_configs.xlsx and .csv. Traces are\n"
	  "read where they are and stay there. Prints the configurations, the best one first.\n\n"
	  "  trawl sweep report experiments/sweep_20251124_222204\n",
	  cli_sweep_report },
	{ "sweep aggregate", "DIR", "reports that are there, all configurations in one table",
	  "Writes into tracelens_analysis: gpu_timeline_all_configs_mean.xlsx,\n"
	  "gpu_timeline_all_configs_geomean.xlsx, nccl_master_all_configs.xlsx and .csv, from the\n"
	  "reports that 'trawl sweep report' or TraceLens wrote there, workbooks or directories of\n"
	  "CSV files. Prints the configuration with the least time, by part and by collective.\n\n"
	  "  trawl sweep aggregate experiments/sweep_20251124_222204\n",
	  cli_sweep_aggregate },
	{ "sweep merge", "DIR", "one timeline a configuration, of all its ranks",
	  "Writes merged_traces/<T>thread_<C>ch_merged.json for each configuration, traces that\n"
	  "https://ui.perfetto.dev opens, and prints what is in them.\n\n"
	  "  trawl sweep merge experiments/sweep_20251124_222204 --threads 256 --channels 28\n",
	  cli_sweep_merge },
	{ "sweep plots", "[DIR]", "pictures of how the time differences of operations are spread",
	  "Draws what 'trawl sweep variance' found, top5_gemm_kernels_time_variance.csv or another\n"
	  "such table, with gnuplot into tracelens_analysis/plots: variance_by_threads_boxplot.png,\n"
	  "variance_by_channels_boxplot.png, variance_by_ranks_boxplot.png,\n"
	  "variance_violin_combined.png and variance_thread_channel_interaction.png, of 300 dots an\n"
	  "inch. Prints mean, median and maximum by threads, channels and rank.\n\n"
	  "  trawl sweep plots experiments/sweep_20251124_222204\n"
	  "  trawl sweep plots --input-csv variance.csv -o pictures --svg\n",
	  cli_sweep_plots },
	{ NULL, NULL, NULL, NULL, NULL },
};

static const struct cli_command *find_stage(const char *name)
{
	const struct cli_command *stage;

	for (stage = cli_sweep_stages; stage->name; stage++)
		if (!strcmp(stage_name(stage), name))
			return stage;
	return NULL;
}

static int list_stages(void)
{
	const struct cli_command *stage;
	struct tw_str out;
	int status;

	tw_str_init(&out, trawl_allocator_default());
	tw_str_add_cstr(&out, "trawl sweep: configurations of a training run side by side\n\n"
			      "usage: trawl sweep STAGE [OPTIONS] DIR\n\n");
	for (stage = cli_sweep_stages; stage->name; stage++)
		tw_str_addf(&out, "  %-11s %s\n", stage_name(stage), stage->summary);
	tw_str_add_cstr(&out,
			"\nDIR is the directory of a sweep: 256thread/nccl_28channels and so "
			"on in it.\n'trawl help sweep STAGE' tells the options of a stage.\n\n"
			"  trawl sweep all experiments/sweep_20251124_222204\n");
	status = out.failed ? CLI_FAILED : cli_print(out.ptr, out.len);
	tw_str_release(&out);
	return status;
}

static int no_stage(const struct cli_command *command, const char *name)
{
	const struct cli_command *stage;
	char list[400] = "";
	size_t len = 0;

	for (stage = cli_sweep_stages; stage->name && len < sizeof(list); stage++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", len ? ", " : "",
					stage_name(stage));
	return cli_usage_error(command,
			       name ? "no stage '%.60s'; there are: %s" :
				      "which stage?%.60s there are: %s",
			       name ? name : "", list);
}

int cli_sweep(const struct cli_command *command, int argc, char **argv)
{
	const struct cli_command *stage;

	if (argc < 2)
		return no_stage(command, NULL);
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))
		return list_stages();
	stage = find_stage(argv[1]);
	if (!stage)
		return no_stage(command, argv[1]);
	return stage->run(stage, argc - 1, argv + 1);
}
