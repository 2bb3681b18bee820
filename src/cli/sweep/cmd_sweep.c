/* trawl sweep STAGE: finds the stage and runs it. */
#include "cli/sweep/sweep.h"

#include <string.h>

static const struct cli_command *const stages[] = {
	&cli_sweep_run,	    &cli_sweep_report,	 &cli_sweep_variance, &cli_sweep_timestamps,
	&cli_sweep_overlap, &cli_sweep_merge,	 &cli_sweep_plots,    &cli_sweep_aggregate,
	&cli_sweep_all,	    &cli_sweep_timeline, &cli_sweep_trials,
};
#define STAGES (sizeof(stages) / sizeof(stages[0]))

const struct cli_command *const *cli_sweep_stages(size_t *count)
{
	*count = STAGES;
	return stages;
}

/* "sweep report" to "report". */
static const char *stage_name(const struct cli_command *stage)
{
	return stage->name + strlen("sweep ");
}

static const struct cli_command *find_stage(const char *name)
{
	size_t i;

	for (i = 0; i < STAGES; i++)
		if (!strcmp(stage_name(stages[i]), name))
			return stages[i];
	return NULL;
}

static int list_stages(void)
{
	struct tw_str out;
	size_t i;

	tw_str_init(&out, trawl_allocator_default());
	tw_str_add_cstr(&out, "trawl sweep: compare configurations of a training run\n\n"
			      "usage: trawl sweep STAGE [OPTIONS] DIR\n\n");
	for (i = 0; i < STAGES; i++)
		tw_str_addf(&out, "  %-11s %s\n", stage_name(stages[i]), stages[i]->summary);
	tw_str_add_cstr(&out, "\nDIR is the directory of a sweep: 256thread/nccl_28channels and so "
			      "on.\n"
			      "See 'trawl help sweep STAGE' for the options of a stage.\n\n"
			      "  trawl sweep all experiments/sweep_20251124_222204\n");
	return cli_print_str(&out);
}

static int no_stage(const struct cli_command *command, const char *name)
{
	const char *list = stage_name(stages[0]);
	size_t i;

	for (i = 1; i < STAGES; i++)
		list = cli_text("%s, %s", list, stage_name(stages[i]));
	return cli_usage_error(command,
			       name ? "unknown stage '%.60s'; stages: %s" :
				      "missing STAGE argument%.60s; stages: %s",
			       name ? name : "", list);
}

static int run_stage(const struct cli_command *command, int argc, char **argv)
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

const struct cli_command cli_command_sweep = {
	"sweep",
	"STAGE DIR",
	"compare configurations of a training run, in stages",
	"'trawl sweep' lists the stages.\n",
	NULL,
	run_stage,
};
