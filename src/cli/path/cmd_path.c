/* trawl path: the critical path of a run, and what changes would bring. */
#include "cli/path/path_summary.h"
#include "cli/ranks/ranks.h"
#include "cli/ranks/report_ranks.h"
#include "cli/trace/reporting.h"
#include "text/scan.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct path_command {
	struct cli_reporting reporting;
	struct cli_ranks ranks;
	struct cli_texts scale, remove, rank;
	const char *bus;
	enum trawl_align align;
	bool whole;
	struct trawl_path_change *changes;
	size_t change_count;
};

/* ---- changes */

static int read_factor(const char *text, double *factor)
{
	const char *end = tw_parse_real(text, factor);

	return end && !*end && isfinite(*factor) && *factor >= 0 ? 0 : -1;
}

static struct trawl_path_change *add_change(struct path_command *c,
					    enum trawl_path_change_kind kind)
{
	struct trawl_path_change *change = &c->changes[c->change_count++];

	*change = (struct trawl_path_change){ .kind = kind };
	return change;
}

/* SELECTION=FACTOR: the last "=" divides them. */
static int read_scale(struct path_command *c, const struct cli_command *command, const char *text)
{
	struct trawl_path_change *change = add_change(c, TRAWL_PATH_SCALE);
	char *copy = cli_text("%s", text), *equals = strrchr(copy, '=');

	if (!equals || read_factor(equals + 1, &change->factor))
		return cli_usage_error(
			command,
			"--scale: '%s' is not SELECTION=FACTOR with a factor of 0 or "
			"above, such as kernel:gemm*=0.8",
			text);
	*equals = 0;
	change->selection = copy;
	return -1;
}

static int read_rank(struct path_command *c, const struct cli_command *command, const char *text)
{
	struct trawl_path_change *change;
	char *end;
	long long rank = strtoll(text, &end, 10);

	if (end == text || *end != '=' || (strcmp(end, "=median") && strcmp(end, "=next")))
		return cli_usage_error(command, "--rank: '%s' is not RANK=median or RANK=next",
				       text);
	change = add_change(c, strcmp(end, "=next") ? TRAWL_PATH_RANK_AS_MEDIAN :
						      TRAWL_PATH_RANK_AS_NEXT);
	change->rank = rank;
	return -1;
}

static int read_changes(struct path_command *c, const struct cli_command *command)
{
	int status = -1;
	size_t i;

	c->changes = cli_alloc(c->scale.count + c->remove.count + c->rank.count + 1,
			       sizeof(*c->changes));
	for (i = 0; i < c->scale.count && status < 0; i++)
		status = read_scale(c, command, c->scale.text[i]);
	for (i = 0; i < c->remove.count && status < 0; i++)
		add_change(c, TRAWL_PATH_REMOVE)->selection = c->remove.text[i];
	for (i = 0; i < c->rank.count && status < 0; i++)
		status = read_rank(c, command, c->rank.text[i]);
	if (status >= 0 || !c->bus)
		return status;
	if (read_factor(c->bus, &add_change(c, TRAWL_PATH_BUS_BANDWIDTH)->factor) ||
	    c->changes[c->change_count - 1].factor <= 0)
		return cli_usage_error(command, "--busbw: '%s' is not a bandwidth in GB/s", c->bus);
	return -1;
}

/* ---- the result */

static int print_result(const struct path_command *c, const struct trawl_job *job,
			const struct trawl_path *path)
{
	const struct trawl_table *tables[16];
	enum tw_format format = c->reporting.common.format;
	struct cli_screen s;
	size_t i;

	if (format != TW_FORMAT_TABLE) {
		for (i = 0; i < trawl_path_tables(path); i++)
			tables[i] = trawl_path_table(path, i);
		return cli_print_tables(tables, i, format, "path", 0);
	}
	cli_screen_init(&s);
	cli_summarise_path(job, path, &s);
	return cli_screen_print(&s);
}

static int write_and_print(const struct path_command *c, const struct trawl_job *job,
			   const struct trawl_path *path)
{
	struct cli_outputs o = { .r = &c->reporting,
				 .dir = cli_job_dir(job, &c->reporting.common),
				 .csvs = "path_csvs",
				 .xlsx = "path.xlsx" };
	size_t count = trawl_path_tables(path), i;
	const struct trawl_table **tables = cli_alloc(count, sizeof(*tables));
	struct trawl_error err;
	const char *name;
	int status, failed;

	for (i = 0; i < count; i++)
		tables[i] = trawl_path_table(path, i);
	failed = cli_write_tables(&o, tables, count, &err);
	if (failed && failed != TRAWL_EIO)
		return cli_fail(&err);
	status = print_result(c, job, path);
	if (failed)
		return cli_fail_output(&err);
	if (status != CLI_DONE)
		return status;
	cli_tell_outputs(&o, count);
	for (i = 0; (name = trawl_path_table_name(i)); i++)
		if (!trawl_path_find(path, name))
			cli_tell_stale_table(&o, name, "run: no such table for this one");
	return status;
}

static int analyse_job(void *context, struct trawl_job *job)
{
	const struct path_command *c = context;
	const struct cli_common *common = &c->reporting.common;
	struct trawl_path_options options;
	double start = cli_seconds();
	struct trawl_path *path;
	struct trawl_error err;
	int status;

	trawl_path_options_init(&options);
	options.whole = c->whole;
	options.step_first = c->reporting.steps[0];
	options.step_last = c->reporting.steps[1];
	options.changes = c->changes;
	options.change_count = c->change_count;
	options.align = c->align;
	options.threads = common->threads;
	if (trawl_path_new(&path, job, &options, &err))
		return cli_fail(&err);
	if (common->verbose)
		cli_message("replayed in %.3f s", cli_seconds() - start);
	status = write_and_print(c, job, path);
	trawl_path_free(path);
	return status;
}

#define AT(member) offsetof(struct path_command, member)

static const struct cli_option own_options[] = {
	{ "step", 0, &cli_steps, "N[-M]", AT(reporting.steps), "window: GPU work of steps N to M" },
	{ "whole", 0, &cli_flag, NULL, AT(whole),
	  "window: GPU work without a recorded launch too" },
	{ "scale", 0, &cli_strings, "SEL=F", AT(scale),
	  "what if it took F times as long (several times)" },
	{ "remove", 0, &cli_strings, "SEL", AT(remove), "what if it were gone (several times)" },
	{ "rank", 0, &cli_strings, "R=HOW", AT(rank),
	  "what if rank R computed as the median rank or the next slower one (median, next)" },
	{ "busbw", 0, &cli_string, "GBPS", AT(bus),
	  "what if collectives transferred at this bus bandwidth (GB/s)" },
	{ "align", 0, &cli_align, "HOW", AT(align),
	  "clock alignment: collectives (from their end times), base-time or none (default: "
	  "collectives)" },
	{ "platform", 0, &cli_string, "NAME|FILE", AT(reporting.options.platform),
	  "GPU for the roofline (default: from the device)" },
	{ 0 },
};

static const struct cli_options options[] = {
	{ .list = own_options },
	CLI_NO_XLSX(AT(reporting)),
	CLI_NO_CSV(AT(reporting)),
	CLI_RANKS(AT(ranks)),
	CLI_OUTPUT(AT(reporting.common)),
	CLI_COMMON(AT(reporting.common)),
	{ 0 },
};

static int path(const struct cli_command *command, int argc, char **argv)
{
	struct path_command c = { .align = TRAWL_ALIGN_AUTO };
	int count, status;

	cli_reporting_init(&c.reporting);
	c.ranks = (struct cli_ranks){
		.common = &c.reporting.common,
		.options = { .report = &c.reporting.options,
			     .collectives_only = true,
			     .dependencies = true },
	};
	status = cli_begin(command, &c, argc, argv, &count);
	if (status >= 0)
		return status;
	if (!count)
		return cli_usage_error(command, "missing TRACE argument");
	c.ranks.options.ranks_chosen = !cli_is_rank_set((const char *const *)argv, (size_t)count);
	status = read_changes(&c, command);
	if (status >= 0)
		return status;
	return cli_for_each_job(&c.ranks, (const char *const *)argv, (size_t)count, analyse_job,
				&c);
}

const struct cli_command cli_command_path = {
	"path",
	"TRACE|RANKS",
	"critical path, and what if something were faster",
	"What the end of the run waited for, step by step back to its start, over all ranks, and\n"
	"how long the run would be in scenarios: without GPU work, host time, launches, transfers or\n"
	"waiting, and with the changes asked for. Writes path.xlsx and path_csvs/*.csv into the\n"
	"output directory (default: analysis_output beside the trace) and prints a summary.\n"
	"\n"
	"SEL selects GPU work: kernel:PATTERN, op:PATTERN, category:NAME, module:PATTERN, rank:R, or\n"
	"host:PATTERN for calls and operators of the host; terms joined by / must all apply.\n"
	"\n"
	"  trawl path trace.json.gz -o path --scale kernel:*gemm*=0.8\n",
	options,
	path,
};
