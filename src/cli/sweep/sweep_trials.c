/* trawl sweep trials: which settings of a search overlapped best. */
#include "cli/sweep/sweep.h"

#include "base/alloc.h"
#include "study/sweep/trials.h"
#include "text/scan.h"

#include <math.h>

struct trials_command {
	const struct cli_command *command;
	struct cli_common common;
	unsigned top;
	const char *baseline_text;
	double baseline;
};

static int print(const struct trials_command *c, const struct tw_trials *trials)
{
	struct tw_str out;

	if (c->common.format != TW_FORMAT_TABLE)
		return cli_print_table(tw_trials_table(trials, c->baseline), c->common.format,
				       "sweep_trials");
	tw_str_init(&out, trawl_allocator_default());
	tw_trials_text(trials, c->top, c->baseline, &out);
	return cli_print_str(&out);
}

static int write_summary(const struct trials_command *c, const struct tw_trials *trials,
			 const char *directory)
{
	struct trawl_error err;
	struct tw_str path;
	int status;

	tw_str_init(&path, trawl_allocator_default());
	tw_str_addf(&path, "%s/analysis_summary.json",
		    c->common.output ? c->common.output : directory);
	if (path.failed)
		status = tw_no_memory(&err);
	else
		status = tw_trials_write(trials, path.ptr, &err);
	if (status)
		status = cli_fail(&err);
	else if (!c->common.quiet)
		cli_message("all trials in '%s'", path.ptr);
	tw_str_release(&path);
	return status;
}

static int show(const struct trials_command *c, const char *directory)
{
	struct tw_trials trials;
	struct trawl_error err;
	int status = tw_trials_read(&trials, directory, trawl_allocator_default(), &err);
	size_t i;

	for (i = 0; i < trials.note_count; i++)
		cli_message("%s", trials.notes[i]);
	if (status) {
		status = cli_fail(&err);
	} else {
		status = write_summary(c, &trials, directory);
		if (!status)
			status = print(c, &trials);
		if (!status && trials.note_count)
			status = c->common.strict ? CLI_FAILED : CLI_INCOMPLETE;
	}
	tw_trials_release(&trials);
	return status;
}

int cli_sweep_trials(const struct cli_command *command, int argc, char **argv)
{
	struct trials_command c = { .command = command, .top = 10, .baseline_text = "0.007" };
	const struct cli_option own[] = {
		{ "top-n", 0, CLI_POSITIVE, "N", &c.top,
		  "how many of the best and worst are shown (default: 10)" },
		{ "baseline", 0, CLI_TEXT, "RATIO", &c.baseline_text,
		  "overlap ratio to compare with (default: 0.007)" },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};
	struct cli_option common[8];
	const struct cli_option *const tables[] = { own, common };
	const char *behind;
	int count, status;

	cli_common_options(&c.common, true, common);
	common[0].help = "where analysis_summary.json goes (default: into DIR)";
	status = cli_begin(command, tables, 2, argc, argv, &count);
	if (status >= 0)
		return status;
	if (count != 1)
		return cli_usage_error(command, "one directory of trials, not %d", count);
	behind = tw_parse_real(c.baseline_text, &c.baseline);
	if (!behind || *behind || !isfinite(c.baseline))
		return cli_usage_error(command, "--baseline: '%.60s' is no number",
				       c.baseline_text);
	return show(&c, argv[0]);
}
