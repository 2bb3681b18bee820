/* trawl compare: sweeps, reports or traces side by side. */
#include "cli/compare/compare.h"
#include "cli/screen.h"

#include "cli/ranks/ranks.h"
#include "cli/sweep/sweep.h"
#include "cli/trace/reporting.h"
#include "io/sink.h"
#include "os/file.h"
#include "trawl/compare.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE "sweep_comparison_report.html"
#define STACKS "stacks_difference.folded" /* beside the page */

struct compare_command {
	struct cli_reporting reporting;
	const char *labels[2], *page, *xlsx;
	struct cli_texts more_labels;
	struct cli_filter lists;
	int64_t max_memory;
	double percent;	 /* of --fail-on, NaN: no gate */
	unsigned sheets; /* in the workbook; 0: all */
	unsigned stacks; /* enum cli_stacks */
	const char *stacks_path;
};

struct comparison {
	const struct compare_command *cmd;
	struct trawl_comparison *of;
	struct cli_progress progress;
	struct tw_str notes;
};

/* ---- options */

static int read_percent(const struct cli_option *option, const char *text, void *value,
			struct trawl_error *err)
{
	size_t len = strspn(text, "0123456789.");
	char *end;

	/* Digits and a point: strtod() would take more, and this is the C locale. */
	if (len) {
		*(double *)value = strtod(text, &end);
		if (end == text + len && (!*end || !strcmp(end, "%")))
			return 0;
	}
	return cli_bad_value(err, option, text, "not a percentage such as 5 or 2.5");
}

static int read_sheets(const struct cli_option *option, const char *text, void *value,
		       struct trawl_error *err)
{
	static const struct {
		const char *name;
		unsigned sheets;
	} names[] = {
		{ "gpu_timeline", TRAWL_COMPARE_TIMELINE },  { "ops_summary", TRAWL_COMPARE_OPS },
		{ "kernel_summary", TRAWL_COMPARE_KERNELS }, { "ops_all", TRAWL_COMPARE_ALL_OPS },
		{ "roofline", TRAWL_COMPARE_ROOFLINE },	     { "all", TRAWL_COMPARE_EVERYTHING },
	};
	unsigned *sheets = value;
	const char *p = text;
	size_t i, len;

	for (*sheets = 0; *p; p += len + strspn(p + len, ", ")) {
		len = strcspn(p, ", ");
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strlen(names[i].name) == len && !memcmp(names[i].name, p, len))
				break;
		if (i == sizeof(names) / sizeof(names[0]))
			return trawl_error_set(err, TRAWL_EUSAGE,
					       "--%s: unknown sheet '%.*s'; sheets: "
					       "gpu_timeline, ops_summary, kernel_summary, "
					       "ops_all, roofline, all",
					       option->name, (int)(len > 60 ? 60 : len), p);
		*sheets |= names[i].sheets;
	}
	return *sheets ? 0 : trawl_error_set(err, TRAWL_EUSAGE, "--%s: empty list", option->name);
}

static const struct cli_kind percent_kind = { .read = read_percent };
static const struct cli_kind sheets_kind = { .read = read_sheets };

#define AT(member) offsetof(struct compare_command, member)

static const struct cli_option own_options[] = {
	{ "label1", 0, &cli_string, "TEXT", AT(labels[0]),
	  "label of the baseline (default: its directory)" },
	{ "label2", 0, &cli_string, "TEXT", AT(labels[1]), "label of the test" },
	{ "label", 0, &cli_strings, "TEXT", AT(more_labels),
	  "label of the next side; repeat for each, the baseline first" },
	{ "fail-on", 0, &percent_kind, "PERCENT", AT(percent),
	  "exit status 4 for a regression above PERCENT" },
	{ "xlsx", 0, &cli_string, "FILE", AT(xlsx), "also write a workbook" },
	{ "sheets", 0, &sheets_kind, "LIST", AT(sheets),
	  "sheets of reports in the workbook: gpu_timeline, ops_summary, kernel_summary, "
	  "ops_all, roofline, all (default)" },
	{ "stacks", 0, &cli_stacks, "HOW", AT(stacks),
	  STACKS
	  " beside the page, for flame graphs of the difference of two traces: modules, full "
	  "or none (default)" },
	{ "threads", 0, &cli_number_list, "LIST", AT(lists.threads),
	  "only these thread counts of sweeps, such as 256,512" },
	{ "channels", 0, &cli_number_list, "LIST", AT(lists.channels),
	  "only these channel counts of sweeps" },
	{ "ranks", 0, &cli_number_list, "LIST", AT(lists.ranks), "only these ranks, such as 0-7" },
	{ "max-memory", 0, &cli_size, "SIZE", AT(max_memory),
	  "max memory for traces, such as 16G (default: half of the machine's)" },
	{ 0 },
};

static const struct cli_option page_options[] = {
	{ "output", 'o', &cli_string, "FILE", AT(page), "HTML page (default: " PAGE " here)" },
	{ 0 },
};

static const struct cli_options options[] = {
	{ .list = own_options },  CLI_COUNTING(AT(reporting)),	    CLI_VIEW(AT(reporting)),
	{ .list = page_options }, CLI_COMMON(AT(reporting.common)), { 0 },
};

/* What the options say together; -1 to go on. */
static int check_options(const struct cli_command *command, struct compare_command *cmd,
			 size_t count)
{
	int status = cli_reporting_view(&cmd->reporting, command);
	const char *page = cmd->page ? cmd->page : PAGE;

	if (status >= 0)
		return status;
	if (count < 2)
		return cli_usage_error(command, "missing argument: give the baseline, then the "
						"test");
	if (count > TRAWL_COMPARE_MOST_SIDES)
		return cli_usage_error(command, "too many arguments: max %d",
				       TRAWL_COMPARE_MOST_SIDES);
	if (cmd->more_labels.count > count)
		return cli_usage_error(command, "--label: more labels than sides");
	if (cmd->sheets && !cmd->xlsx)
		return cli_usage_error(command, "--sheets needs --xlsx FILE");
	if (cmd->xlsx && !strcmp(cmd->xlsx, page))
		return cli_usage_error(command, "page and workbook have the same name '%s'",
				       cmd->xlsx);
	if (cmd->stacks > CLI_STACKS_NONE && count > 2)
		return cli_usage_error(command, "--stacks needs two sides, got %zu", count);
	cmd->page = page;
	cmd->stacks_path = cli_text("%.*s" STACKS, (int)(tw_file_name(page) - page), page);
	if (!cmd->sheets)
		cmd->sheets = TRAWL_COMPARE_EVERYTHING;
	return -1;
}

/* ---- the workbook */

static int write_workbook(struct comparison *c)
{
	struct trawl_error err;
	size_t tables;
	int status = trawl_comparison_write_xlsx(c->of, c->cmd->xlsx, &tables, &err);

	cli_tell_notes(&c->notes, false);
	if (status)
		return cli_fail(&err);
	if (!c->cmd->reporting.common.quiet)
		cli_message("%zu tables written to %s", tables, c->cmd->xlsx);
	return CLI_DONE;
}

/* ---- stacks */

static void add_text(void *out, const char *text, size_t len)
{
	tw_str_add(out, text, len);
}

static int write_stacks(const struct comparison *c, bool *incomplete)
{
	bool full = c->cmd->stacks == CLI_STACKS_FULL;
	struct trawl_error err;
	struct tw_str text;
	int status;

	if (c->cmd->stacks <= CLI_STACKS_NONE)
		return CLI_DONE;
	tw_str_init(&text, trawl_allocator_default());
	status = trawl_comparison_stacks(
		c->of, 0, full ? TRAWL_STACKS_FULL : TRAWL_STACKS_BY_MODULE, add_text, &text, &err);
	if (!status)
		status = tw_sink_write_text(c->cmd->stacks_path, &text, trawl_allocator_default(),
					    &err);
	tw_str_release(&text);
	if (status == TRAWL_ENODATA) {
		cli_message("no " STACKS ": %s", err.message);
		*incomplete = true;
		return CLI_DONE;
	}
	if (status)
		return cli_fail(&err);
	if (!c->cmd->reporting.common.quiet)
		cli_message("stacks written to %s", c->cmd->stacks_path);
	return CLI_DONE;
}

/* ---- what is printed */

static int print_result(const struct comparison *c)
{
	size_t count = trawl_comparison_tables(c->of), i;
	enum tw_format format = c->cmd->reporting.common.format;
	const struct trawl_table **list = cli_alloc(count, sizeof(*list));
	struct cli_screen s;

	if (format != TW_FORMAT_TABLE) {
		for (i = 0; i < count; i++)
			list[i] = trawl_comparison_table(c->of, i);
		return cli_print_tables(list, count, format,
					c->of->side_count > 2 ? "compare_sides" : "compare", 0);
	}
	cli_screen_init(&s);
	cli_summarise_comparison(c->of, &s);
	return cli_screen_print(&s);
}

static void tell_failed(void *context, const char *line)
{
	(void)context;
	cli_message("regression above the limit: %s", line);
}

/* The exit status where the gate decides that: else CLI_DONE. */
static int check_gate(const struct comparison *c, bool *incomplete)
{
	bool gate = !isnan(c->cmd->percent), uneven = false, total;
	size_t worse, i;

	/* A gate on what cannot be compared must neither pass nor fail as if it could. */
	for (i = 0; i < c->of->pair_count; i++) {
		const struct tw_str *why = &c->of->pairs[i].uneven;

		if (why->len && (gate || !c->cmd->reporting.common.quiet))
			cli_message("%s%s", gate ? "--fail-on: no decision: " : "", why->ptr);
		uneven |= why->len;
	}
	if (!gate)
		return CLI_DONE;
	worse = trawl_comparison_gate(c->of, c->cmd->percent, tell_failed, NULL, &total);
	if (!total) {
		cli_message("--fail-on: total time not checked: missing on one side");
		*incomplete = true;
	}
	return worse ? CLI_GATE : uneven ? CLI_FAILED : CLI_DONE;
}

/* ---- the steps */

/* What was found is printed also where it cannot be written. */
static int write_and_print(struct comparison *c, bool *incomplete)
{
	int written = cli_write_comparison_page(c->of, c->cmd->page, c->cmd->reporting.common.quiet,
						incomplete);
	int printed;

	if (written == CLI_DONE && c->cmd->xlsx)
		written = write_workbook(c);
	if (written == CLI_DONE)
		written = write_stacks(c, incomplete);
	printed = print_result(c);
	return written == CLI_DONE && printed == CLI_DONE ? CLI_DONE : CLI_FAILED;
}

static int show(struct comparison *c)
{
	bool incomplete = !trawl_comparison_is_whole(c->of);
	int status = write_and_print(c, &incomplete);

	if (status == CLI_DONE)
		status = check_gate(c, &incomplete);
	return status == CLI_DONE && incomplete ? CLI_INCOMPLETE : status;
}

static struct trawl_compare_options options_of(const struct compare_command *cmd,
					       struct comparison *c)
{
	struct trawl_compare_options o = {
		.report = &cmd->reporting.options,
		.threads = cmd->reporting.common.threads,
		.max_memory = cmd->max_memory,
		.filter = cli_filter_of(&cmd->lists),
		.in_common = !isnan(cmd->percent),
		.strict = cmd->reporting.common.strict,
		.workbook = cmd->xlsx,
		.full_stacks = cmd->stacks == CLI_STACKS_FULL,
		.sheets = cmd->sheets,
		.block_size = cli_block_size(),
		.progress = cli_progress_update,
		.progress_context = &c->progress,
		.note = cli_keep_note,
		.note_context = &c->notes,
		.quiet = cmd->reporting.common.quiet,
	};
	size_t i;

	for (i = 0; i < cmd->more_labels.count; i++)
		o.labels[i] = cmd->more_labels.text[i];
	for (i = 0; i < 2; i++)
		if (cmd->labels[i])
			o.labels[i] = cmd->labels[i];
	return o;
}

static int compare_sides(struct comparison *c, const char *const *paths, size_t count)
{
	const struct compare_command *cmd = c->cmd;
	struct trawl_compare_options o = options_of(cmd, c);
	double start = cli_seconds();
	struct trawl_error err;
	int status;

	cli_progress_begin(&c->progress, o.quiet);
	status = trawl_compare(&c->of, paths, count, &o, &err);
	cli_progress_end(&c->progress);
	if (cmd->reporting.common.verbose && !status)
		cli_message("compared in %.3f s", cli_seconds() - start);
	/* With nothing but what is left out where --quiet is given. */
	cli_tell_notes(&c->notes, false);
	/* None of the inputs is written over. */
	if (!status)
		status = tw_sink_check(cmd->page, &err);
	if (!status && cmd->xlsx)
		status = tw_sink_check(cmd->xlsx, &err);
	if (!status && cmd->stacks > CLI_STACKS_NONE)
		status = tw_sink_check(cmd->stacks_path, &err);
	return status ? cli_fail(&err) : show(c);
}

static int compare(const struct cli_command *command, int argc, char **argv)
{
	struct compare_command cmd = { .percent = (double)NAN };
	struct comparison c = { .cmd = &cmd };
	int count, status;

	cli_reporting_init(&cmd.reporting);
	status = cli_begin(command, &cmd, argc, argv, &count);
	if (status < 0)
		status = check_options(command, &cmd, (size_t)count);
	if (status >= 0)
		return status;
	tw_str_init(&c.notes, trawl_allocator_default());
	status = compare_sides(&c, (const char *const *)argv, (size_t)count);
	trawl_comparison_free(c.of);
	tw_str_release(&c.notes);
	return status;
}

const struct cli_command cli_command_compare = {
	"compare",
	"A B...",
	"compare sweeps, reports or traces: speedups, regressions, noise",
	"A (the baseline) and B are each a sweep, a report (perf_report.xlsx, a directory of CSV\n"
	"files), a trace, or the traces of one job. Writes a page, sweep_comparison_report.html in\n"
	"the current directory, with --xlsx a workbook, and prints a summary, with what changed in\n"
	"the causes (findings, as of trawl analyze). A difference counts when it is above rank-to-rank\n"
	"noise and above 1 %. With --fail-on the exit status is 4 when the total time, or an item of\n"
	"1 % of it, regressed by more than PERCENT. Of more sides each is compared with A.\n\n"
	"  trawl compare sweep_before sweep_after --label1 'ROCm 6.4' --label2 'ROCm 7.0'\n",
	options,
	compare,
};
