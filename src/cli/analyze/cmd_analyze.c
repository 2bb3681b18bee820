/* trawl analyze: the standalone analysis, here or where the trace is. */
#include "cli/analyze/analysing.h"
#include "cli/analyze/questions.h"
#include "cli/analyze/remote.h"
#include "cli/ranks/ranks.h"
#include "cli/ranks/report_ranks.h"
#include "trawl/nsys.h"

#include <stddef.h>
#include <string.h>

struct analyze_command {
	struct cli_analysing analysing;
	struct cli_ranks ranks;
	const char *node, *container;
};

#define AT(member) offsetof(struct analyze_command, member)

static const struct cli_option where_options[] = {
	{ "node", 0, &cli_remote_name, "N", AT(node), "run on host N through ssh" },
	{ "container", 0, &cli_remote_name, "C", AT(container),
	  "run in container C through docker" },
	{ 0 },
};

static const struct cli_option own_options[] = {
	{ "model", 0, &cli_string, "NAME", AT(analysing.model),
	  "model name in titles (default: the trace name)" },
	{ "replay", 0, &cli_strings, "OPS", AT(analysing.replay),
	  "replay packages for these operators, comma-separated" },
	{ "no-replay", 0, &cli_flag, NULL, AT(analysing.no_replay), "write no replay packages" },
	{ "no-plots", 0, &cli_flag, NULL, AT(analysing.no_plots), "draw no charts" },
	{ 0 },
};

static const struct cli_options options[] = {
	{ .list = where_options },
	{ .list = own_options },
	CLI_NO_XLSX(AT(analysing.reporting)),
	CLI_COUNTING(AT(analysing.reporting)),
	CLI_GRAPHS(AT(analysing.reporting)),
	CLI_RANKS(AT(ranks)),
	CLI_VIEW(AT(analysing.reporting)),
	CLI_OUTPUT(AT(analysing.reporting.common)),
	CLI_COMMON(AT(analysing.reporting.common)),
	{ 0 },
};

/* What the options leave open is asked; without anybody to ask, the usage. */
static int ask_missing(const struct cli_command *command, struct analyze_command *c)
{
	struct cli_reporting *r = &c->analysing.reporting;
	const char **const answers[CLI_QUESTIONS] = {
		[CLI_ASK_TRACE] = &r->path,
		[CLI_ASK_PLATFORM] = &r->options.platform,
		[CLI_ASK_NODE] = &c->node,
		[CLI_ASK_CONTAINER] = &c->container,
		[CLI_ASK_OUTPUT] = &r->common.output,
	};

	if (cli_can_ask())
		return cli_ask(command, answers);
	return cli_usage_error(command, "missing TRACE argument (options: --platform, --node, "
					"--container, -o)");
}

/* The same call there, by the options that were given and what was answered besides. */
static int run_there(const struct analyze_command *c, const struct analyze_command *given,
		     const struct cli_texts *options_given)
{
	const struct cli_reporting *r = &c->analysing.reporting;
	const struct cli_remote where = { c->node, c->container, !strcmp(r->path, "-") };
	struct cli_texts words = { 0 };
	size_t i;

	cli_add_text(&words, "analyze");
	for (i = 0; i < options_given->count; i++)
		cli_add_text(&words, options_given->text[i]);
	if (r->options.platform != given->analysing.reporting.options.platform) {
		cli_add_text(&words, "--platform");
		cli_add_text(&words, r->options.platform);
	}
	if (r->common.output != given->analysing.reporting.common.output) {
		cli_add_text(&words, "--output");
		cli_add_text(&words, r->common.output);
	}
	cli_add_text(&words, "--");
	cli_add_text(&words, r->path);
	return cli_remote_run(&where, words.text, words.count);
}

static int analyse_made(const struct cli_analysing *a, struct cli_trace_report *made, int status)
{
	if (status == CLI_DONE)
		status = cli_one_device(made);
	if (status == CLI_DONE)
		status = cli_analyse(a, made);
	return cli_report_end(made, status);
}

static int analyse_here(const struct cli_analysing *a)
{
	struct cli_trace_report made;

	return analyse_made(a, &made, cli_report_make(&made, &a->reporting, true));
}

/* ---- the ranks of a job */

/* A rank's trace, and which GPU of it where it has several ranks. */
static void choose_rank(struct cli_reporting *r, const struct trawl_job *job, int64_t rank)
{
	size_t i;

	for (i = 0; i < trawl_job_ranks(job); i++) {
		const struct trawl_rank of = trawl_job_rank(job, i);

		if (of.rank != rank)
			continue;
		r->path = of.path;
		if (*of.gpu)
			r->options.device = of.gpu;
	}
}

/* What limits the job, and the analysis of the rank that does. */
static int analyse_limiting_rank(struct analyze_command *c, const struct trawl_job *job,
				 const struct trawl_diagnosis *diagnosis,
				 const struct trawl_job_report *report)
{
	struct cli_reporting *r = &c->analysing.reporting;
	int64_t rank = trawl_diagnosis_limiting_rank(diagnosis);

	choose_rank(r, job, rank);
	r->common.output = cli_job_dir(job, &r->common);
	if (!r->common.quiet)
		cli_message(
			"%zu ranks: findings are of all of them, the rest is of rank %lld (%s%s%s)",
			trawl_job_ranks(job), (long long)rank, r->path,
			r->options.device ? ", device " : "",
			r->options.device ? r->options.device : "");
	c->analysing.diagnosis = diagnosis;
	c->analysing.job = job;
	c->analysing.job_report = report;
	return analyse_here(&c->analysing);
}

/* Findings, and what the ranks did, of all of them. */
static int diagnose_job(struct analyze_command *c, struct trawl_job *job)
{
	struct trawl_job_report_options o = { .align = TRAWL_ALIGN_AUTO,
					      .collectives = true,
					      .threads = c->ranks.common->threads };
	struct trawl_diagnosis *diagnosis = NULL;
	struct trawl_job_report *report = NULL;
	struct trawl_error err;
	int status;

	status = trawl_diagnose_job(&diagnosis, job, o.threads, &err);
	/* So that both conclude the same. */
	o.diagnosis = diagnosis;
	if (status || trawl_job_report_new(&report, job, &o, &err))
		status = cli_fail(&err);
	else
		status = analyse_limiting_rank(c, job, diagnosis, report);
	trawl_job_report_free(report);
	trawl_diagnosis_free(diagnosis);
	return status;
}

static int analyse_job(struct analyze_command *c, const char *const *arguments, size_t count)
{
	struct trawl_job *job = NULL;
	int status, loaded;

	c->ranks.common = &c->analysing.reporting.common;
	c->ranks.options.collectives_only = c->ranks.options.findings = true;
	c->ranks.options.report = &c->analysing.reporting.options;
	loaded = cli_load_job(&job, &c->ranks, arguments, count);
	if (loaded != CLI_DONE && loaded != CLI_INCOMPLETE)
		return loaded;
	status = diagnose_job(c, job);
	trawl_job_free(job);
	return status == CLI_DONE ? loaded : status;
}

/* One trace; an export of several GPUs is a job. */
static int analyse_trace(struct analyze_command *c)
{
	const char *path = c->analysing.reporting.path;
	struct cli_trace_report made;
	int status = cli_list_captures(&c->analysing.reporting);

	if (status != CLI_DONE)
		return status;
	status = cli_report_make(&made, &c->analysing.reporting, true);

	if (status == CLI_DONE && trawl_nsys_is_export(path) && cli_is_of_ranks(&made)) {
		cli_report_end(&made, CLI_INCOMPLETE);
		return analyse_job(c, &path, 1);
	}
	return analyse_made(&c->analysing, &made, status);
}

/* Traces, a directory or a pattern; elsewhere it is seen there. */
static bool is_job(const struct analyze_command *c, const char *const *arguments, int count)
{
	return !c->node && !c->container && cli_is_rank_set(arguments, (size_t)count);
}

static int analyze(const struct cli_command *command, int argc, char **argv)
{
	struct cli_texts options_given = { cli_alloc((size_t)argc, sizeof(char *)), 0 };
	struct analyze_command c = { .node = NULL }, given;
	struct cli_analysing *a = &c.analysing;
	int status, count;

	trawl_job_options_init(&c.ranks.options);
	cli_reporting_init(&a->reporting);
	a->reporting.options.exposed_time = true;
	options_given.count =
		cli_given_options(options, where_options, argc, argv, options_given.text);
	status = cli_begin(command, &c, argc, argv, &count);
	if (status < 0)
		status = cli_reporting_view(&a->reporting, command);
	if (status < 0 && a->no_replay && a->replay.count)
		status = cli_usage_error(command, "--replay and --no-replay exclude each other");
	if (status < 0 && (a->reporting.captures.count || a->reporting.map) && count &&
	    is_job(&c, (const char *const *)argv, count))
		status = cli_usage_error(command, "--capture and --map need one trace, not ranks");
	if (status < 0 && count && is_job(&c, (const char *const *)argv, count))
		return analyse_job(&c, (const char *const *)argv, (size_t)count);
	if (status < 0 && count > 1)
		status = cli_usage_error(command, "more than one TRACE argument (%d given)", count);
	if (status < 0 && count)
		a->reporting.path = argv[0];
	given = c;
	if (status < 0 && !a->reporting.path)
		status = ask_missing(command, &c);
	if (status >= 0)
		return status;
	if (c.node || c.container)
		return run_there(&c, &given, &options_given);
	return analyse_trace(&c);
}

const struct cli_command cli_command_analyze = {
	"analyze",
	"[TRACE...]",
	"what limits a run, what each remedy would gain, and why",
	"Prints the findings: what limits the run, largest gain first, by replay of what waited for\n"
	"what. Several traces, a directory or a pattern are the ranks of a job: findings are of all\n"
	"of them, the rest of the rank that limits it, and findings.html has them, charts and tables of\n"
	"its ranks on a page. Writes findings.csv and findings.json, two reports\n"
	"(standalone_analysis_fair.md, also as .html, and standalone_analysis_rough.md), their data,\n"
	"replay packages of operators, perf_report.xlsx and perf_report_csvs/*.csv into the output\n"
	"directory (default: analysis_output next to the trace). Without TRACE it prompts for missing\n"
	"options on a terminal. --node and --container run it remotely: paths are remote, and trawl must\n"
	"be on the remote PATH.\n\n"
	"  trawl analyze run/trace.json.gz -o analysis --platform MI300X --model BERT\n",
	options,
	analyze,
};
