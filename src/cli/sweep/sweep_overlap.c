/* trawl sweep overlap: what communicated during the longest call of each row. */
#include "cli/sweep/sweep_steps.h"

int cli_sweep_overlap(const struct cli_command *command, int argc, char **argv)
{
	/* Collectives are of every rank that is read; nothing more is made of it. */
	static const struct cli_sweep_following stage = {
		.kind = CLI_STEP_OVERLAP,
		.from = CLI_SWEEP_WITH_TIMESTAMPS,
		.to = CLI_SWEEP_WITH_OVERLAP,
		.before = "timestamps",
		.makes = 0,
		.step = cli_sweep_step_overlap,
	};

	return cli_sweep_follow(&stage, command, argc, argv);
}
