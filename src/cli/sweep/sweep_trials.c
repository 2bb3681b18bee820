/* trawl sweep trials: which settings of a search overlapped best. */
#include "cli/sweep/sweep.h"

#include "study/sweep/trials.h"
#include "text/scan.h"

#include <math.h>
#include <stddef.h>

struct trials_command {
	struct cli_common common;
	unsigned top;
	double baseline;
};

static int print_trials(const struct trials_command *c, const struct tw_trials *found)
{
	struct tw_str out;

	if (c->common.format != TW_FORMAT_TABLE)
		return cli_print_table(tw_trials_table(found, c->baseline), c->common.format,
				       "sweep_trials");
	tw_str_init(&out, trawl_allocator_default());
	tw_trials_text(found, c->top, c->baseline, &out);
	return cli_print_str(&out);
}

static int write_summary(const struct trials_command *c, const struct tw_trials *found,
			 const char *directory)
{
	const char *path = cli_text("%s/analysis_summary.json",
				    c->common.output ? c->common.output : directory);
	struct trawl_error err;

	if (tw_trials_write(found, path, &err))
		return cli_fail(&err);
	if (!c->common.quiet)
		cli_message("all trials in '%s'", path);
	return CLI_DONE;
}

static int analyse_trials(const struct trials_command *c, const char *directory)
{
	struct tw_trials found;
	struct trawl_error err;
	int status = tw_trials_read(&found, directory, trawl_allocator_default(), &err);
	size_t i;

	for (i = 0; i < found.note_count; i++)
		cli_message("%s", found.notes[i]);
	if (status) {
		status = cli_fail(&err);
	} else {
		status = write_summary(c, &found, directory);
		if (!status)
			status = print_trials(c, &found);
		if (!status && found.note_count)
			status = c->common.strict ? CLI_FAILED : CLI_INCOMPLETE;
	}
	tw_trials_release(&found);
	return status;
}

static int read_ratio(const struct cli_option *option, const char *text, void *value,
		      struct trawl_error *err)
{
	const char *behind = tw_parse_real(text, value);

	if (!behind || *behind || !isfinite(*(double *)value))
		return cli_bad_value(err, option, text, "not a number");
	return 0;
}

static const struct cli_kind ratio = { .read = read_ratio };

#define AT(member) offsetof(struct trials_command, member)

static const struct cli_option own_options[] = {
	{ "top-n", 0, &cli_positive, "N", AT(top),
	  "number of best and worst trials shown (default: 10)" },
	{ "baseline", 0, &ratio, "RATIO", AT(baseline), "baseline overlap ratio (default: 0.007)" },
	{ "output", 'o', &cli_string, "DIR", AT(common.output),
	  "output directory of analysis_summary.json (default: DIR)" },
	{ 0 },
};

static const struct cli_options options[] = {
	{ .list = own_options },
	CLI_COMMON(AT(common)),
	{ 0 },
};

static int trials(const struct cli_command *command, int argc, char **argv)
{
	struct trials_command c = { .top = 10, .baseline = 0.007 };
	int count, status = cli_begin(command, &c, argc, argv, &count);

	if (status >= 0)
		return status;
	if (count != 1)
		return cli_usage_error(command, "expected one directory of trials, got %d", count);
	return analyse_trials(&c, argv[0]);
}

const struct cli_command cli_sweep_trials = {
	"sweep trials",
	"DIR",
	"rank the trials of a parameter search by overlap",
	"Reads trial_<N>/trial_metrics.json of each trial in DIR that has a config.yaml, prints the\n"
	"best and the worst and how they compare with a baseline, and writes\n"
	"DIR/analysis_summary.json.\n\n"
	"  trawl sweep trials experiments/search --top-n 5 --baseline 0.01\n",
	options,
	trials,
};
