/* trawl sweep timestamps: when the shortest and the longest call of each row ran. */
#include "cli/sweep/sweep_steps.h"

int cli_sweep_timestamps(const struct cli_command *command, int argc, char **argv)
{
	static const struct cli_sweep_following stage = {
		.kind = CLI_STEP_TIMESTAMPS,
		.from = "",
		.to = CLI_SWEEP_WITH_TIMESTAMPS,
		.before = "variance",
		.makes = CLI_MAKE_INSTANCES,
		.step = cli_sweep_step_timestamps,
	};

	return cli_sweep_follow(&stage, command, argc, argv);
}
