/* trawl nsys: questions to exports of Nsight Systems. */
#include "cli/cli.h"

#include <string.h>

int cli_nsys(const struct cli_command *command, int argc, char **argv)
{
	const struct cli_command ranges = { "nsys ranges", "FILE", command->summary,
					    command->details, cli_nsys_ranges };
	const char *help[] = { "-h", "--help" };

	if (argc > 1 && (!strcmp(argv[1], help[0]) || !strcmp(argv[1], help[1])))
		return cli_nsys_ranges(&ranges, argc, argv);
	if (argc < 2 || strcmp(argv[1], "ranges"))
		return cli_usage_error(command, "which question? There is: ranges");
	return cli_nsys_ranges(&ranges, argc - 1, argv + 1);
}
