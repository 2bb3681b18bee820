/* trawl analyze: the standalone analysis, here or where the trace is. */
#include "cli/analyze/analysing.h"
#include "cli/analyze/questions.h"
#include "cli/analyze/remote.h"

#include "base/alloc.h"

#include <string.h>

struct analyze_command {
	struct cli_analysing analysing;
	const char *node, *container;
	struct cli_option counting[8], view[8], common[8], own[8];
};

static void bind_options(struct analyze_command *c)
{
	const struct cli_option own[] = {
		{ "node", 0, CLI_TEXT, "N", &c->node, "run on the machine N, through ssh" },
		{ "container", 0, CLI_TEXT, "C", &c->container,
		  "run in the container C, through docker" },
		{ "model", 0, CLI_TEXT, "NAME", &c->analysing.model,
		  "the model in titles (default: the name of the trace)" },
		{ "replay", 0, CLI_TEXTS, "OPS", &c->analysing.replay,
		  "replay packages for these operations, by commas" },
		{ "no-replay", 0, CLI_FLAG, NULL, &c->analysing.no_replay,
		  "write no replay packages" },
		{ "no-plots", 0, CLI_FLAG, NULL, &c->analysing.no_plots, "draw no charts" },
		CLI_NO_XLSX(&c->analysing.reporting),
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};

	cli_reporting_init(&c->analysing.reporting, c->counting, c->view, c->common);
	c->analysing.reporting.options.exposed_time = true;
	memcpy(c->own, own, sizeof(own));
}

/* What the options leave open is asked; without anybody to ask, the usage. */
static int complete(const struct cli_command *command, struct analyze_command *c,
		    struct cli_answers *answers)
{
	struct cli_reporting *r = &c->analysing.reporting;
	int status;

	if (r->path)
		return -1;
	if (!cli_can_ask())
		return cli_usage_error(command,
				       "which trace? Give TRACE, and where needed --platform, "
				       "--node, --container and -o");
	answers->answer[CLI_ASK_PLATFORM] = r->options.platform;
	answers->answer[CLI_ASK_NODE] = c->node;
	answers->answer[CLI_ASK_CONTAINER] = c->container;
	answers->answer[CLI_ASK_OUTPUT] = r->common.output;
	status = cli_ask(command, answers);
	if (status >= 0)
		return status;
	r->path = answers->answer[CLI_ASK_TRACE];
	r->options.platform = answers->answer[CLI_ASK_PLATFORM];
	c->node = answers->answer[CLI_ASK_NODE];
	c->container = answers->answer[CLI_ASK_CONTAINER];
	r->common.output = answers->answer[CLI_ASK_OUTPUT];
	return -1;
}

static int check_names(const struct cli_command *command, const struct analyze_command *c)
{
	const char *complaint = c->node ? cli_remote_complaint(c->node) : NULL;

	if (complaint)
		return cli_usage_error(command, "--node: '%.100s' %s", c->node, complaint);
	complaint = c->container ? cli_remote_complaint(c->container) : NULL;
	if (complaint)
		return cli_usage_error(command, "--container: '%.100s' %s", c->container,
				       complaint);
	return -1;
}

/* The same call there: words[1..count] are the options that were given; room for eight more. */
static int run_there(const struct analyze_command *c, const struct cli_answers *answers,
		     const char **words, size_t count)
{
	const char *trace = c->analysing.reporting.path;
	const struct cli_remote where = { c->node, c->container, !strcmp(trace, "-") };

	words[0] = "analyze";
	count++;
	if (answers->texts[CLI_ASK_PLATFORM].len) {
		words[count++] = "--platform";
		words[count++] = answers->answer[CLI_ASK_PLATFORM];
	}
	if (answers->texts[CLI_ASK_OUTPUT].len) {
		words[count++] = "--output";
		words[count++] = answers->answer[CLI_ASK_OUTPUT];
	}
	words[count++] = "--";
	words[count++] = trace;
	return cli_remote_run(&where, words, count);
}

/* The lists of words; room for as many as there can be. */
struct words {
	const char **there;  /* what a run elsewhere is given */
	const char **replay; /* values of --replay */
};

static int analyze(const struct cli_command *command, int argc, char **argv,
		   struct cli_answers *answers, const struct words *words)
{
	struct analyze_command c = { .node = NULL };
	const struct cli_option *const tables[] = { c.own, c.counting, c.view, c.common };
	struct cli_option where[3];
	size_t count;
	int status;

	bind_options(&c);
	c.analysing.replay.text = words->replay;
	/* The first two say where; the run there is to be there. */
	memcpy(where, c.own, 2 * sizeof(*where));
	where[2].name = NULL;
	count = cli_given_options(tables, 4, where, argc, argv, words->there + 1);
	status = cli_reporting_begin(&c.analysing.reporting, command, tables, 4, argc, argv, true);
	if (status < 0 && c.analysing.no_replay && c.analysing.replay.count)
		status = cli_usage_error(command, "--replay and --no-replay exclude each other");
	if (status < 0)
		status = check_names(command, &c);
	if (status < 0)
		status = complete(command, &c, answers);
	if (status >= 0)
		return status;
	if (c.node || c.container)
		return run_there(&c, answers, words->there, count);
	return cli_analyse(&c.analysing);
}

int cli_analyze(const struct cli_command *command, int argc, char **argv)
{
	const struct trawl_allocator *allocator = trawl_allocator_default();
	const size_t room = (size_t)argc + 8;
	const char **list = tw_alloc_array(allocator, 2 * room, sizeof(*list));
	struct cli_answers answers;
	int status;

	if (!list)
		return cli_no_memory();
	cli_answers_init(&answers);
	status = analyze(command, argc, argv, &answers, &(struct words){ list, list + room });
	cli_answers_release(&answers);
	tw_free(allocator, list, 2 * room * sizeof(*list));
	return status;
}
