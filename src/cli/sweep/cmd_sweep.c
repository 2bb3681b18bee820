/* trawl sweep STAGE: finds the stage and runs it. */
#include "cli/sweep/sweep.h"

#include <stdio.h>
#include <string.h>

/* "sweep report" to "report". */
static const char *stage_name(const struct cli_command *stage)
{
	return stage->name + strlen("sweep ");
}

const struct cli_command cli_sweep_stages[] = {
	{ "sweep run", "[DIR] [-- COMMAND...]", "the training runs, one for each configuration",
	  "Runs COMMAND once for each number of threads and channels, with\n"
	  "RCCL_THREADS_PER_BLOCK and NCCL_MAX_NCHANNELS set; {out}, {config}, {nproc}, {threads} and\n"
	  "{channels} in it are replaced (default: torchrun with train.py). Writes, into DIR,\n"
	  "<T>thread/nccl_<C>channels/ with run_output.log, run_status.json and what COMMAND writes to\n"
	  "{out}, nccl_thread_sweep_<time>.log and nccl_thread_sweep_summary_<time>.txt, and prints the\n"
	  "summary. A run that fails does not stop the others. Ctrl-C ends what runs; --skip-existing\n"
	  "goes on later.\n\n"
	  "  trawl sweep run -c 28,42 -t 256,512 -f config/gemm.yaml --timeout 1800 experiments/gemm\n",
	  cli_sweep_run },
	{ "sweep report", "DIR", "reports of every rank and configuration, and these side by side",
	  "Writes into tracelens_analysis: <T>thread/individual_reports/perf_<C>ch_rank<R>.xlsx,\n"
	  "<T>thread/collective_reports/collective_<C>ch.xlsx,\n"
	  "comparisons/compare_<C>ch_rank<R>_across_threads.xlsx, gpu_timeline_all_configs_mean.xlsx,\n"
	  "gpu_timeline_all_configs_geomean.xlsx, nccl_master_all_configs.xlsx and .csv. Traces are\n"
	  "read where they are and stay there. Prints the configurations, the best one first.\n\n"
	  "  trawl sweep report experiments/sweep_20251124_222204\n",
	  cli_sweep_report },
	{ "sweep variance", "DIR", "operations whose calls differ most in time",
	  "Of the sheet GEMM of each report in tracelens_analysis, or of the trace where there is\n"
	  "none, the rows whose longest and shortest call differ most. Writes\n"
	  "top5_gemm_kernels_time_variance.csv into tracelens_analysis, and prints what it says.\n\n"
	  "  trawl sweep variance experiments/sweep_20251124_222204 --top-k 5\n",
	  cli_sweep_variance },
	{ "sweep timestamps", "DIR", "when the shortest and the longest of those calls ran",
	  "Finds both calls in the traces: the operation itself, not whatever has the kernel's name.\n"
	  "Writes top5_gemm_kernels_time_variance_with_timestamps.csv; match_status tells how well\n"
	  "the times are those of the report.\n\n"
	  "  trawl sweep timestamps experiments/sweep_20251124_222204\n",
	  cli_sweep_timestamps },
	{ "sweep overlap", "DIR", "what communicated during the longest of those calls",
	  "Collectives of the same rank, from its trace, else from the collective report. Writes\n"
	  "top5_gemm_kernels_time_variance_with_collective_overlap.csv.\n\n"
	  "  trawl sweep overlap experiments/sweep_20251124_222204\n",
	  cli_sweep_overlap },
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
	{ "sweep aggregate", "DIR", "reports that are there, all configurations in one table",
	  "Writes into tracelens_analysis: gpu_timeline_all_configs_mean.xlsx,\n"
	  "gpu_timeline_all_configs_geomean.xlsx, nccl_master_all_configs.xlsx and .csv, from the\n"
	  "reports that 'trawl sweep report' or TraceLens wrote there, workbooks or directories of\n"
	  "CSV files. Prints the configuration with the least time, by part and by collective.\n\n"
	  "  trawl sweep aggregate experiments/sweep_20251124_222204\n",
	  cli_sweep_aggregate },
	{ "sweep all", "DIR", "every stage in one run: which configuration is the best, and why",
	  "Writes what 'sweep report', 'variance', 'timestamps', 'overlap', 'plots' and 'merge' write,\n"
	  "each trace being read once, and prints the configurations, the best one first, by how much\n"
	  "it is ahead, what it trades for that, and what held up its matrix products.\n\n"
	  "  trawl sweep all experiments/sweep_20251124_222204\n"
	  "  trawl sweep all experiments/sweep_20251124_222204 -o results --no-plots --max-memory 16G\n",
	  cli_sweep_all },
	{ "sweep timeline", "DIR", "compute and communication in the steps of a trainer",
	  "Reads rank_<RR>_metrics.jsonl in DIR, which the trainer writes, prints what ran when on\n"
	  "each stream, with the overlap of compute and communication, and draws it into\n"
	  "DIR/rank_<RR>_timeline.png.\n\n"
	  "  trawl sweep timeline sweep/256thread/nccl_28channels --start-step 5 --num-steps 2\n",
	  cli_sweep_timeline },
	{ "sweep trials", "DIR", "which trials of a search for settings overlapped best",
	  "Reads trial_<N>/trial_metrics.json of each trial in DIR that has a config.yaml, prints the\n"
	  "best and the worst and how they compare with a baseline, and writes\n"
	  "DIR/analysis_summary.json.\n\n"
	  "  trawl sweep trials experiments/search --top-n 5 --baseline 0.01\n",
	  cli_sweep_trials },
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

	tw_str_init(&out, trawl_allocator_default());
	tw_str_add_cstr(&out, "trawl sweep: configurations of a training run side by side\n\n"
			      "usage: trawl sweep STAGE [OPTIONS] DIR\n\n");
	for (stage = cli_sweep_stages; stage->name; stage++)
		tw_str_addf(&out, "  %-11s %s\n", stage_name(stage), stage->summary);
	tw_str_add_cstr(&out,
			"\nDIR is the directory of a sweep: 256thread/nccl_28channels and so "
			"on in it.\n'trawl help sweep STAGE' tells the options of a stage.\n\n"
			"  trawl sweep all experiments/sweep_20251124_222204\n");
	return cli_print_str(&out);
}

static int no_stage(const struct cli_command *command, const char *name)
{
	const struct cli_command *stage;
	struct tw_str list;
	int status;

	tw_str_init(&list, trawl_allocator_default());
	for (stage = cli_sweep_stages; stage->name; stage++)
		tw_str_addf(&list, "%s%s", list.len ? ", " : "", stage_name(stage));
	status = cli_usage_error(command,
				 name ? "no stage '%.60s'; there are: %s" :
					"which stage?%.60s there are: %s",
				 name ? name : "", list.failed ? "" : list.ptr);
	tw_str_release(&list);
	return status;
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
