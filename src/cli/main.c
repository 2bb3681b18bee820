/* The hub: finds the command and runs it. */
#include "cli/cli.h"

#include "cli/exporting.h"
#include "cli/processes.h"
#include "os/inputs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

const struct cli_command cli_commands[] = {
	{ "report", "TRACE...", "performance report: where the GPU time went",
	  "Writes perf_report.xlsx and perf_report_csvs/*.csv into the output directory (default:\n"
	  "analysis_output beside the trace) and prints a summary. TRACE is a PyTorch profiler trace:\n"
	  "JSON, plain or compressed by gzip or zstd; '-' reads standard input. --plots adds\n"
	  "roofline.png. Several traces, a directory of them or a pattern are the ranks of a job:\n"
	  "the same tables over the ranks, with means, extremes and the slowest rank.\n\n"
	  "  trawl report trace.json.gz -o report --step 3\n"
	  "  trawl report run/profiles -o report --gpus-per-node 8\n",
	  cli_report },
	{ "analyze", "[TRACE]", "the standalone analysis: what is worth changing, and why",
	  "Writes two reports (standalone_analysis_fair.md, also as .html, and\n"
	  "standalone_analysis_rough.md), the data they are made of, packages with which operations\n"
	  "can be run again elsewhere, perf_report.xlsx and perf_report_csvs/*.csv into the output\n"
	  "directory (default: analysis_output beside the trace), and prints what is most worth\n"
	  "changing. Without TRACE it asks, on a terminal. --node and --container run it where the\n"
	  "trace is; every path is one of there, and trawl is on the PATH there.\n\n"
	  "  trawl analyze run/trace.json.gz -o analysis --platform MI300X --model BERT\n",
	  cli_analyze },
	{ "prepare", "TRACE", "the data of a standalone analysis, by category of operations",
	  "Writes the report and, into the same directory (default: analysis_output beside the trace),\n"
	  "category_manifest.json and for each category its operations (category_data/), tree data and\n"
	  "metadata (metadata/). Prints the categories.\n\n"
	  "  trawl prepare trace.json.gz -o analysis --platform MI300X\n",
	  cli_prepare },
	{ "category", "NAME DIR", "the analysis of one category, on prepared data",
	  "Writes category_data/NAME_metrics.json and the findings of the category into DIR, where\n"
	  "'trawl prepare' or 'trawl analyze' has put its data, and prints how it ended.\n\n"
	  "  trawl category gemm run/analysis_output\n",
	  cli_category },
	{ "check", "TRACE...", "what is odd in a trace: repairs, losses, suspect events",
	  "Prints the data-quality record of each trace, worst first, and writes nothing. The exit\n"
	  "status is 3 when something is lost for good.\n\n"
	  "  trawl check --strict rank0.json.gz rank1.json.gz\n",
	  cli_check },
	{ "model", "OP", "how much work an operation is, without a trace",
	  "Prints the floating-point operations and bytes of a call of OP, the parameters they\n"
	  "follow from and, with --platform, its roofline. Writes no file. Positions are those of the\n"
	  "profiler's \"Input Dims\".\n\n"
	  "  trawl model aten::mm --dims 8944x1024,1024x2816 --dtype bf16 --platform MI300X\n",
	  cli_model },
	{ "platforms", "[NAME]", "known GPUs, their bandwidth and peaks",
	  "Prints what each known GPU can do, as rooflines use it; of one, each figure with its\n"
	  "source. Writes no file.\n\n"
	  "  trawl platforms MI300X\n",
	  cli_platforms },
	{ "collectives", "RANKS", "collectives over all ranks: who waits for whom, and how long",
	  "RANKS is a directory, a pattern or a list of the traces of one job, one a rank. Writes\n"
	  "collective_all_ranks.xlsx, collective_all_ranks_csvs/*.csv and, where there are all_to_allv,\n"
	  "all2allv_heatmap.png into the output directory (default: analysis_output beside the\n"
	  "traces), and prints a summary. The exit status is 3 when a rank is missing or left out.\n\n"
	  "  trawl collectives traces/ -o collectives --gpus-per-node 8\n",
	  cli_collectives },
	{ "merge", "RANKS", "one timeline of all ranks of a job, for Perfetto",
	  "RANKS is a directory, a pattern or a list of traces. Writes FILE (default:\n"
	  "merged_gpu_trace_enhanced.json here; a name that ends with .gz is compressed), a trace\n"
	  "that https://ui.perfetto.dev opens, and prints what of each rank is in it.\n\n"
	  "  trawl merge run/torch_profiler -o merged.json.gz\n",
	  cli_merge },
	{ "nsys", "QUERY FILE", "queries on an export of Nsight Systems",
	  "QUERY is one of\n"
	  "  setup     the ranks: a process each, with the label that its trainer gave it\n"
	  "  windows   the part of each rank that shows its steady state\n"
	  "  streams   what each stream does there, and what its communication is for\n"
	  "  overlap   how much of each stage's communication is hidden by computation\n"
	  "  ranges    the GPU time of each NVTX range, or annotation of a trace of PyTorch\n"
	  "  rules     presets of rules for the ranges of trainers; with a NAME, that one\n"
	  "FILE is the SQLite export of a report, or the report (.nsys-rep) where nsys is on the\n"
	  "PATH. Prints a table and writes no file.\n\n"
	  "  trawl nsys overlap profile.sqlite --format csv\n",
	  cli_nsys },
	{ "sweep", "STAGE DIR", "configurations of a training run side by side, in stages",
	  "'trawl sweep' lists the stages.\n", cli_sweep },
	{ "compare", "A B",
	  "two sweeps, reports or traces: what got faster, what slower, and noise",
	  "A (the baseline) and B are each a sweep, a report (perf_report.xlsx, a directory of CSV\n"
	  "files), a trace, or the traces of one job. Writes a page, sweep_comparison_report.html in\n"
	  "the current directory, with --xlsx a workbook, and prints a summary. A difference counts\n"
	  "when it is over the noise of the ranks and over 1 %. With --fail-on the exit status is 4\n"
	  "when the total time, or an item of 1 % of it, got worse by more than PERCENT. More than\n"
	  "two reports go into a workbook.\n\n"
	  "  trawl compare sweep_before sweep_after --label1 'ROCm 6.4' --label2 'ROCm 7.0'\n",
	  cli_compare },
	{ "replay", "DIR", "packages with which operations can be run again elsewhere",
	  "DIR is the directory of an analysis. Writes\n"
	  "DIR/replay_packages/<op>_replay_package.zip for each operation named, else for those\n"
	  "that take much of the compute time at a low efficiency: its arguments and times, and a\n"
	  "Python script that rebuilds and times it with PyTorch. Prints which were written.\n\n"
	  "  trawl replay analysis_output --ops aten::addmm aten::mm\n",
	  cli_replay },
	{ "help", "[COMMAND]", "the commands, or the options of one", "  trawl help report\n",
	  cli_help },
	{ NULL, NULL, NULL, NULL, NULL },
};

static const struct cli_command *find_command(const char *name)
{
	const struct cli_command *command;

	for (command = cli_commands; command->name; command++)
		if (!strcmp(command->name, name))
			return command;
	return NULL;
}

static int list_commands(void)
{
	const struct cli_command *command;
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	tw_str_add_cstr(&out, "trawl: where the GPU time of AI training and inference goes\n\n"
			      "usage: trawl COMMAND [OPTIONS] ARGUMENTS\n\n");
	for (command = cli_commands; command->name; command++)
		tw_str_addf(&out, "  %-9s %-10s  %s\n", command->name, command->arguments,
			    command->summary);
	tw_str_add_cstr(&out, "\n'trawl help COMMAND' tells the options of a command.\n");
	return cli_print_str(&out);
}

int cli_help(const struct cli_command *self, int argc, char **argv)
{
	char option[] = "--help", *help[] = { NULL, option, NULL };
	char *stage[] = { NULL, NULL, option, NULL };
	const struct cli_command *command;

	if (argc < 2)
		return list_commands();
	if (argv[1][0] == '-' && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")))
		return list_commands();
	command = find_command(argv[1]);
	if (command && command->run == cli_sweep && argc == 3) {
		/* A stage has options of its own. */
		stage[0] = argv[1];
		stage[1] = argv[2];
		return command->run(command, 3, stage);
	}
	if (!command || argc > 2)
		return cli_usage_error(self, "no command '%.60s'", argv[argc > 2 ? 2 : 1]);
	if (command == self)
		return list_commands();
	help[0] = argv[1];
	return command->run(command, 2, help);
}

/* Leaves no half-written file behind. */
static void on_signal(int signal_number)
{
	cli_export_stop();
	tw_sink_unlink_open();
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

/* Every signal does but these, and one that nobody can catch. */
static bool ends_process(int number)
{
	switch (number) {
	case SIGKILL:
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
	case SIGCONT:
	case SIGCHLD:
	case SIGURG:
	case SIGWINCH:
		return false;
	}
	return true;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_NODEFER }, old;
	int number;

	for (number = 1; number <= SIGRTMAX; number++)
		if (ends_process(number) && !sigaction(number, NULL, &old) &&
		    old.sa_handler == SIG_DFL)
			sigaction(number, &action, NULL);
	/* A limit on file sizes is an error of writing, told like any other. */
	signal(SIGXFSZ, SIG_IGN);
}

/* Standard output may fail as late as here. */
static int close_output(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		if (errno == EPIPE)
			return status;
		cli_message("cannot write to standard output: %s", strerror(errno));
		return CLI_FAILED;
	}
	return status;
}

int main(int argc, char **argv)
{
	const struct cli_command *command;
	int status;

	catch_signals();
	tw_inputs_begin();
	if (argc < 2) {
		cli_message("which command? 'trawl help' lists them");
		return CLI_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("trawl %s\n", trawl_version());
		return close_output(CLI_DONE);
	}
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))
		return close_output(list_commands());
	command = find_command(argv[1]);
	if (!command) {
		cli_message("no command '%.60s'; 'trawl help' lists them", argv[1]);
		return CLI_USAGE;
	}
	status = cli_together_begin(command->name);
	if (status < 0)
		status = close_output(command->run(command, argc - 1, argv + 1));
	return cli_together_end(status);
}
