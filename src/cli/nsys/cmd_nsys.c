/* trawl nsys: queries on an export of Nsight Systems. */
#include "cli/nsys/nsys_findings.h"
#include "cli/nsys/nsys_ranges.h"

#include "cli/exporting.h"
#include "table/table.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct nsys_command {
	const struct cli_command *command;
	struct cli_reporting reporting; /* of "ranges", and the options that all have */
	struct trawl_nsys_options options;
	unsigned rank;
};

struct nsys_query {
	const char *name;
	int (*run)(const struct nsys_command *n, const struct nsys_query *query, int argc,
		   char **argv);
	enum trawl_nsys_table asks;
};

#define NO_RANK UINT32_MAX

/* ---- queries on a file */

static int print_answer(const struct nsys_command *n, const struct trawl_table *table)
{
	struct tw_str out;

	if (!n->options.compat || n->reporting.common.format != TW_FORMAT_TABLE)
		return cli_print_tables(&table, 1, n->reporting.common.format, "nsys", cli_width());
	tw_str_init(&out, trawl_allocator_default());
	tw_render_fixed(table, &out);
	return cli_print_str(&out);
}

struct left_out {
	const char *path;
	size_t count;
};

static void tell_left_out(void *context, const char *line)
{
	struct left_out *l = context;

	l->count++;
	cli_message("%s: %s", l->path, line);
}

static int fail_on(const char *path, int status, struct trawl_error *err)
{
	trawl_error_context(err, status, "%s", path);
	return cli_fail(err);
}

static bool is_readable_file(const char *path)
{
	struct stat info;

	return !stat(path, &info) && S_ISREG(info.st_mode) && !access(path, R_OK);
}

/* Checked before opening: otherwise it would be reported as a damaged database. */
static int not_an_export(const char *path)
{
	cli_message(!strcmp(path, "-") ?
			    "%s: cannot read a database from a pipe; pass a file" :
			    "%s: not an Nsight Systems export (SQLite database); only the queries "
			    "'ranges' and 'findings' read other traces",
		    path);
	return CLI_FAILED;
}

static int ask(const struct nsys_command *n, const struct nsys_query *query, const char *path)
{
	struct trawl_nsys_options options = n->options;
	struct left_out left_out = { .path = path };
	struct cli_exported exported;
	struct trawl_table *table = NULL;
	struct trawl_error err;
	double start = cli_seconds();
	int status;

	status = cli_export(&exported, path, &n->reporting.common, &err);
	if (status)
		return cli_fail(&err);
	if (!strcmp(path, "-") ||
	    (is_readable_file(exported.path) && !trawl_nsys_is_export(exported.path))) {
		cli_export_end(&exported);
		return not_an_export(path);
	}
	options.note = tell_left_out;
	options.note_context = &left_out;
	status = trawl_nsys_query(&table, query->asks, exported.path, &options, &err);
	cli_export_end(&exported);
	if (status == TRAWL_EUSAGE)
		status = cli_usage_error(n->command, "%s", err.message);
	else if (status)
		status = fail_on(path, status, &err);
	else if (left_out.count && n->reporting.common.strict)
		status = CLI_FAILED;
	else
		status = print_answer(n, table);
	if (!status && left_out.count)
		status = CLI_INCOMPLETE;
	if (n->reporting.common.verbose)
		cli_message("answered in %.3f s", cli_seconds() - start);
	trawl_table_free(table);
	return status;
}

/* One file, which is argv[0]: -1, else the exit status. */
static int one_file(const struct nsys_command *n, int argc)
{
	if (argc == 1)
		return -1;
	return argc ? cli_usage_error(n->command, "more than one FILE argument (%d given)", argc) :
		      cli_usage_error(n->command, "missing FILE argument");
}

static int no_grouping(const struct nsys_command *n, const struct nsys_query *query)
{
	const char *keys = trawl_nsys_groupings(query->asks);

	return cli_usage_error(n->command,
			       *keys ? "--by: unknown key '%.60s'; keys of '%s': %s" :
				       "--by %.60s: query '%s' has no grouping%s",
			       n->options.by, query->name, keys);
}

static int ask_file(const struct nsys_command *n, const struct nsys_query *query, int argc,
		    char **argv)
{
	const struct trawl_report_options *o = &n->reporting.options;
	int status = one_file(n, argc);

	if (status >= 0)
		return status;
	if (o->range || o->device || n->reporting.steps[0] >= 0)
		return cli_usage_error(n->command,
				       "--range, --step and --device need the query 'ranges' or "
				       "'findings'; "
				       "'%s' has --start and --end",
				       query->name);
	if (n->options.by && !trawl_nsys_can_group(query->asks, n->options.by))
		return no_grouping(n, query);
	return ask(n, query, argv[0]);
}

/* The options of a report of the file, --by among them; 0, else the exit status. */
static int read_reporting(const struct nsys_command *n, char **argv,
			  struct cli_reporting *reporting)
{
	static const struct cli_option by = { .name = "by", .kind = &cli_by };
	struct trawl_error err;

	*reporting = n->reporting;
	reporting->path = argv[0];
	if (n->options.by && cli_by.read(&by, n->options.by, &reporting->by, &err))
		return cli_usage_error(n->command, "%s", err.message);
	return 0;
}

static int show_ranges(const struct nsys_command *n, const struct nsys_query *query, int argc,
		       char **argv)
{
	struct cli_reporting reporting;
	int status = one_file(n, argc);

	(void)query;
	if (status >= 0)
		return status;
	if (n->options.compat)
		return cli_usage_error(n->command, "--compat has no query 'ranges'");
	status = read_reporting(n, argv, &reporting);
	return status ? status : cli_nsys_ranges(n->command, &reporting, &n->options);
}

static int show_findings(const struct nsys_command *n, const struct nsys_query *query, int argc,
			 char **argv)
{
	struct cli_reporting reporting;
	int status = one_file(n, argc);

	(void)query;
	if (status >= 0)
		return status;
	if (n->options.compat || n->options.rank >= 0)
		return cli_usage_error(n->command,
				       "%s: query 'findings' is of all ranks, without --compat",
				       n->options.compat ? "--compat" : "--rank");
	status = read_reporting(n, argv, &reporting);
	return status ? status : cli_nsys_findings(n->command, &reporting);
}

/* ---- rules */

static const struct trawl_column preset_columns[] = {
	TW_TEXT("preset", 16, "name for --rules", .values = "!"),
	TW_TEXT("of", 60, "trainer with these ranges", .values = "!"),
};

static const struct tw_table_spec preset_spec = TW_SPEC(
	"rules", "presets of rules for the ranges of trainers", preset_columns, .keep_empty = true);

static int list_presets(const struct nsys_command *n)
{
	struct trawl_table *table = tw_table_new(&preset_spec, trawl_allocator_default());
	struct trawl_error err;
	int status;
	size_t i, row, len;

	for (i = 0; table && i < trawl_nsys_presets(); i++) {
		const char *of = trawl_nsys_preset_title(i, &len);

		row = tw_table_add_row(table);
		tw_table_set_str(table, row, 0, trawl_nsys_preset_name(i));
		tw_table_set_text(table, row, 1, of, len);
	}
	if (table)
		tw_table_add_note(table,
				  "rules of a preset, as a start for a file: 'trawl nsys rules "
				  "NAME'");
	if (!table || tw_table_finish(table, &err)) {
		status = cli_no_memory();
	} else {
		status = cli_print_tables((const struct trawl_table *const *)&table, 1,
					  n->reporting.common.format, "nsys", cli_width());
	}
	trawl_table_free(table);
	return status;
}

static int show_rules(const struct nsys_command *n, const struct nsys_query *query, int argc,
		      char **argv)
{
	const char *text;
	struct tw_str list;
	size_t i;

	(void)query;
	if (argc > 1)
		return cli_usage_error(n->command, "rules: more than one NAME argument");
	if (!argc)
		return list_presets(n);
	text = trawl_nsys_preset_rules(argv[0]);
	if (text)
		return cli_print(text, strlen(text));
	tw_str_init(&list, trawl_allocator_default());
	for (i = 0; i < trawl_nsys_presets(); i++)
		tw_str_addf(&list, "%s%s", i ? ", " : "", trawl_nsys_preset_name(i));
	cli_usage_error(n->command, "unknown preset '%.60s'; presets: %s", argv[0],
			list.failed ? "" : list.ptr);
	tw_str_release(&list);
	return CLI_USAGE;
}

/* ---- the command */

static const struct nsys_query queries[] = {
	{ "setup", ask_file, TRAWL_NSYS_SETUP },
	{ "windows", ask_file, TRAWL_NSYS_WINDOWS },
	{ "streams", ask_file, TRAWL_NSYS_STREAMS },
	{ "overlap", ask_file, TRAWL_NSYS_OVERLAP },
	{ "ranges", show_ranges, 0 },
	{ "findings", show_findings, 0 },
	{ "rules", show_rules, 0 },
};

#define QUERIES (sizeof(queries) / sizeof(queries[0]))

static const struct nsys_query *find_query(const char *name)
{
	size_t i;

	for (i = 0; i < QUERIES; i++)
		if (!strcmp(queries[i].name, name))
			return &queries[i];
	return NULL;
}

static int no_query(const struct cli_command *command, const char *name)
{
	struct tw_str list;
	size_t i;
	int status;

	tw_str_init(&list, trawl_allocator_default());
	for (i = 0; i < QUERIES; i++)
		tw_str_addf(&list, "%s%s", i ? ", " : "", queries[i].name);
	status = cli_usage_error(command,
				 name ? "unknown query '%.60s'; queries: %s" :
					"missing QUERY argument%.60s; queries: %s",
				 name ? name : "", list.failed ? "" : list.ptr);
	tw_str_release(&list);
	return status;
}

/* Checks combinations of options. */
static int check_options(struct nsys_command *n)
{
	struct trawl_report_options *o = &n->reporting.options;
	bool start = o->start_ns != TRAWL_TIME_NONE, end = o->end_ns != TRAWL_TIME_NONE;

	if (start != end)
		return cli_usage_error(n->command, "--start needs --end, and --end needs --start");
	if (start && o->end_ns < o->start_ns)
		return cli_usage_error(n->command, "--end is before --start");
	if (n->options.compat && n->options.by)
		return cli_usage_error(n->command, "--compat excludes --by");
	if (n->options.compat && n->options.rules)
		return cli_usage_error(n->command, "--compat excludes --rules");
	n->options.window = start;
	n->options.start_ns = o->start_ns;
	n->options.end_ns = o->end_ns;
	n->options.rank = n->rank == NO_RANK ? -1 : (int64_t)n->rank;
	n->options.threads = n->reporting.common.threads;
	return -1;
}

#define AT(member) offsetof(struct nsys_command, member)

static const struct cli_option own_options[] = {
	{ "rank", 0, &cli_count, "N", AT(rank), "analyze one rank" },
	{ "rules", 0, &cli_string, "NAME|FILE", AT(options.rules),
	  "rules for range names: a preset or a file (default: matching preset)" },
	{ "by", 0, &cli_string, "COLUMN", AT(options.by),
	  "group rows over ranks: by stage, purpose, rank, pp, dp, cp, ep or tp; in 'ranges', GPU "
	  "work of --step and --range: launch or time" },
	{ "compat", 0, &cli_flag, NULL, AT(options.compat),
	  "numbers, columns and layout of the scripts of analyze-nsys-profile" },
	{ 0 },
};

static const struct cli_options options[] = {
	{ .list = own_options },
	CLI_PART(AT(reporting)),
	CLI_COMMON(AT(reporting.common)),
	{ 0 },
};

static int nsys(const struct cli_command *command, int argc, char **argv)
{
	struct nsys_command n = { .command = command, .rank = NO_RANK };
	const struct nsys_query *query;
	int count, status;

	cli_reporting_init(&n.reporting);
	status = cli_begin(command, &n, argc, argv, &count);
	if (status >= 0)
		return status;
	query = count ? find_query(argv[0]) : NULL;
	if (!query)
		return no_query(command, count ? argv[0] : NULL);
	status = check_options(&n);
	return status >= 0 ? status : query->run(&n, query, count - 1, argv + 1);
}

const struct cli_command cli_command_nsys = {
	"nsys",
	"QUERY FILE",
	"queries on an Nsight Systems export",
	"QUERY is one of\n"
	"  setup     ranks: one process each, with the label from its trainer\n"
	"  windows   steady-state window of each rank\n"
	"  streams   work of each stream in it, and the purpose of its communication\n"
	"  overlap   overlap of each stage's communication with compute\n"
	"  ranges    GPU time of each NVTX range, or annotation of a PyTorch trace\n"
	"  findings  what limits the run, and what each remedy would gain, as analyze has it\n"
	"  rules     presets of rules for the ranges of trainers; with a NAME, that preset\n"
	"FILE is the SQLite export of a report, or the report (.nsys-rep) where nsys is on the\n"
	"PATH. Prints a table and writes no file.\n"
	"\n"
	"  trawl nsys overlap profile.sqlite --format csv\n",
	options,
	nsys,
};
