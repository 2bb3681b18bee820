/* trawl sweep report: the reports of all ranks and configurations, and these side by side. */
#include "cli/ranks/ranks.h"
#include "cli/sweep/sweep_results.h"

int cli_sweep_report(const struct cli_command *command, int argc, char **argv)
{
	struct cli_sweep s = { .command = command };
	const char *align = NULL;
	const struct cli_option of_report[] = {
		{ "align", 0, CLI_TEXT, "HOW", &align, CLI_SWEEP_ALIGN_HELP },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};
	struct cli_option own[5], common[8];
	const struct cli_option *const tables[] = { of_report, own, common };
	struct cli_sweep_results r;
	int status;

	cli_sweep_options(&s, own, common);
	status = cli_sweep_begin(&s, tables, 3, argc, argv);
	if (status >= 0)
		return status;
	status = cli_read_align(command, align, &s.align);
	if (status >= 0) {
		tw_sweep_release(&s.sweep);
		return status;
	}
	status = cli_sweep_results_make(&r, &s, CLI_MAKE_REPORTS | CLI_MAKE_COLLECTIVES);
	if (status != CLI_FAILED) {
		status = cli_worse(status, cli_sweep_write_comparisons(&r));
		if (status != CLI_FAILED)
			status = cli_worse(status, cli_sweep_write_aggregates(&r));
		if (status != CLI_FAILED)
			status = cli_worse(status, cli_sweep_print_results(&r, NULL));
	}
	if (status != CLI_FAILED)
		cli_sweep_tell_where(&r);
	cli_sweep_results_release(&r);
	tw_sweep_release(&s.sweep);
	return status;
}
