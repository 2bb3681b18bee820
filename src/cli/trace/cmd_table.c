/* trawl kernels, ops, steps, ranges: the four tables that are asked for most, one screen each. */
#include "cli/ranks/report_tables.h"

#include <stddef.h>

struct table_command {
	struct cli_reporting reporting;
	struct cli_ranks ranks;
	struct cli_tables tables;
};

#define AT(member) offsetof(struct table_command, member)

static const struct cli_option by_options[] = {
	{ "by", 0, &cli_string, "WHAT", AT(reporting.options.group_by),
	  "rows for each stream, module, site, pass, step or phase" },
	{ 0 },
};

static const struct cli_options options[] = {
	CLI_ROWS(AT(tables)), CLI_PART(AT(reporting)),		CLI_GRAPHS(AT(reporting)),
	CLI_RANKS(AT(ranks)), CLI_COMMON(AT(reporting.common)), { 0 },
};

static const struct cli_options grouped_options[] = {
	{ .list = by_options },
	CLI_ROWS(AT(tables)),
	CLI_PART(AT(reporting)),
	CLI_GRAPHS(AT(reporting)),
	CLI_RANKS(AT(ranks)),
	CLI_COMMON(AT(reporting.common)),
	{ 0 },
};

/* What a command shows: the first of its tables that has rows, of it these columns. */
static int run(const struct cli_command *command, const struct cli_tables *tables, int argc,
	       char **argv)
{
	struct table_command c = { .tables = *tables };
	const char *const *arguments = (const char *const *)argv;
	int count, status;

	cli_reporting_init(&c.reporting);
	c.tables.one = true;
	c.tables.top = CLI_TOP_SCREEN;
	status = cli_begin(command, &c, argc, argv, &count);
	if (status < 0)
		status = cli_reporting_view(&c.reporting, command);
	if (status >= 0)
		return status;
	if (!count)
		return cli_usage_error(command, "missing TRACE argument");
	return cli_report_tables(&c.tables, &c.reporting, &c.ranks, arguments, (size_t)count);
}

#define GROUPS ",module,call_site,pass,step,phase,stream,"
#define SPREAD ",total_ms,share,mean_us,median_us,min_us,max_us,std_us"

static int run_kernels(const struct cli_command *command, int argc, char **argv)
{
	static const struct cli_tables tables = { .names = "kernels",
						  .shown = "kernel" GROUPS "count" SPREAD };

	return run(command, &tables, argc, argv);
}

static int run_ops(const struct cli_command *command, int argc, char **argv)
{
	static const struct cli_tables tables = {
		.names = "ops,cpu_ops",
		.shown = "operator,name" GROUPS "calls,count,"
			 "total_host_time_ms,self_host_time_ms,percentage" SPREAD
	};

	return run(command, &tables, argc, argv);
}

static int run_steps(const struct cli_command *command, int argc, char **argv)
{
	static const struct cli_tables tables = {
		.names = "steps,phases",
		.shown = "name,phase,wall_ms,busy_ms,computing_ms,exposed_communication_ms,"
			 "exposed_copies_ms,idle_ms,mfu,gpu_time_ms,host_ms,waiting_ms,tokens"
	};

	return run(command, &tables, argc, argv);
}

static int run_ranges(const struct cli_command *command, int argc, char **argv)
{
	static const struct cli_tables tables = {
		.names = "nvtx_ranges",
		.shown = "range,kind,instances,gpu_time_ms,self_gpu_time_ms,kernels,"
			 "exposed_communication_ms,host_time_ms"
	};

	return run(command, &tables, argc, argv);
}

#define WRITES_NOTHING \
	"Writes no files; at most a screen of rows as text, all in the other formats.\n"

const struct cli_command cli_command_kernels = {
	"kernels",
	"TRACE...",
	"kernels by name: count, total, mean, median, min, max, standard deviation",
	WRITES_NOTHING "Shares are of the summed duration of all GPU work.\n"
		       "\n"
		       "  trawl kernels trace.json.gz --top 5\n"
		       "  trawl kernels trace.json.gz --by stream --sort max_us\n",
	grouped_options,
	run_kernels,
};

const struct cli_command cli_command_ops = {
	"ops",
	"TRACE...",
	"operators by name: calls and the GPU work that they launch",
	WRITES_NOTHING
	"Shares are of the summed duration of all GPU work; with the row (not attributed) they are\n"
	"100 %. Without GPU work: operators by their time on the host.\n"
	"\n"
	"  trawl ops trace.json.gz --by module\n",
	grouped_options,
	run_ops,
};

const struct cli_command cli_command_steps = {
	"steps",
	"TRACE...",
	"profiler steps: wall time, GPU work, idle time, MFU",
	WRITES_NOTHING "Without profiler steps: the steps of an inference server.\n"
		       "\n"
		       "  trawl steps trace.json.gz --format jsonl\n",
	options,
	run_steps,
};

const struct cli_command cli_command_ranges = {
	"ranges",
	"TRACE...",
	"annotations and NVTX ranges: the GPU work launched in them",
	WRITES_NOTHING "\n"
		       "  trawl ranges profile.sqlite --sort self_gpu_time_ms\n",
	options,
	run_ranges,
};
