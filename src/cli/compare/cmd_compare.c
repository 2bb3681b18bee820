/* trawl compare: two sweeps, reports or traces side by side. */
#include "cli/compare/compare.h"

#include "cli/sweep/sweep.h"
#include "io/sink.h"
#include "study/compare/per_rank.h"
#include "study/compare/report_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE "sweep_comparison_report.html"
#define MOST_SIDES 16

struct compare_command {
	struct cli_comparing c;
	struct cli_reporting reporting;
	const char *labels[2], *xlsx, *fail_on, *sheet_list;
	const char *lists[3]; /* --threads, --channels, --ranks */
	int64_t numbers[3][CLI_SWEEP_NUMBERS];
	double percent; /* of --fail-on, NaN: no gate */
	unsigned sheets;
	struct cli_side sides[MOST_SIDES];
	size_t side_count;
	const char *side_labels[MOST_SIDES];
	struct tw_changes changes;
	struct trawl_table *tables[TW_COMPARE_TABLES];
	struct tw_answer answer;
};

/* ---- options */

static int parse_percent(struct compare_command *cmd)
{
	const char *text = cmd->fail_on;
	size_t len = text ? strspn(text, "0123456789.") : 0;
	char *end;

	cmd->percent = (double)NAN;
	if (!text)
		return -1;
	/* Digits and a point: strtod() would take more, and this is the C locale. */
	if (len) {
		cmd->percent = strtod(text, &end);
		if (end == text + len && (!*end || !strcmp(end, "%")))
			return -1;
	}
	return cli_usage_error(cmd->c.command,
			       "--fail-on: '%.60s' is no percentage such as 5 or 2.5", text);
}

static int parse_sheets(struct compare_command *cmd)
{
	static const struct {
		const char *name;
		unsigned sheets;
	} names[] = {
		{ "gpu_timeline", TW_COMPARE_TIMELINE },  { "ops_summary", TW_COMPARE_OPS },
		{ "kernel_summary", TW_COMPARE_KERNELS }, { "ops_all", TW_COMPARE_ALL_OPS },
		{ "roofline", TW_COMPARE_ROOFLINE },	  { "all", TW_COMPARE_EVERYTHING },
	};
	const char *p = cmd->sheet_list;
	size_t i, len;

	cmd->sheets = p ? 0 : TW_COMPARE_EVERYTHING;
	for (; p && *p; p += len + strspn(p + len, ", ")) {
		len = strcspn(p, ", ");
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strlen(names[i].name) == len && !memcmp(names[i].name, p, len))
				break;
		if (i == sizeof(names) / sizeof(names[0]))
			return cli_usage_error(
				cmd->c.command,
				"--sheets: not '%.*s'; of gpu_timeline, ops_summary, "
				"kernel_summary, ops_all, roofline, all",
				(int)(len > 60 ? 60 : len), p);
		cmd->sheets |= names[i].sheets;
	}
	if (cmd->sheets)
		return -1;
	return cli_usage_error(cmd->c.command, "--sheets: which?");
}

static const char *page_of(const struct compare_command *cmd)
{
	return cmd->reporting.common.output ? cmd->reporting.common.output : PAGE;
}

static int check_options(struct compare_command *cmd, size_t count)
{
	const struct cli_command *command = cmd->c.command;
	int status = parse_percent(cmd);

	if (status < 0)
		status = parse_sheets(cmd);
	if (status < 0)
		status = cli_read_filter(command, cmd->lists, cmd->numbers, &cmd->c.filter);
	if (status < 0)
		status = cli_reporting_view(&cmd->reporting, command);
	if (status >= 0)
		return status;
	if (count < 2)
		return cli_usage_error(command, "which two? the baseline, then what is compared "
						"with it");
	if (count > MOST_SIDES)
		return cli_usage_error(command, "more than %d are too many", MOST_SIDES);
	if (count > 2 && (!cmd->xlsx || cmd->reporting.common.output || cmd->fail_on))
		return cli_usage_error(command,
				       "more than two go into a workbook alone: --xlsx FILE, "
				       "without --output and --fail-on");
	if (cmd->sheet_list && !cmd->xlsx)
		return cli_usage_error(command, "--sheets is of the workbook: --xlsx FILE");
	if (cmd->xlsx && !strcmp(cmd->xlsx, page_of(cmd)))
		return cli_usage_error(command, "the page and the workbook are two files, not '%s'",
				       cmd->xlsx);
	return -1;
}

/* ---- sides */

/* None of the inputs that are known is written over; -1, else the exit status. */
static int check_outputs(const struct compare_command *cmd)
{
	struct trawl_error err;

	if ((cmd->side_count == 2 && tw_sink_check(page_of(cmd), &err)) ||
	    (cmd->xlsx && tw_sink_check(cmd->xlsx, &err)))
		return cli_fail(&err);
	return -1;
}

static int open_sides(struct compare_command *cmd, char **arguments)
{
	size_t i;
	int status;

	for (i = 0; i < cmd->side_count; i++) {
		status = cli_side_open(&cmd->sides[i], &cmd->c, arguments[i]);
		if (status >= 0)
			return status;
		if (i < 2 && cmd->labels[i] && cmd->labels[i][0]) {
			cmd->sides[i].label = strdup(cmd->labels[i]);
			if (!cmd->sides[i].label)
				return cli_no_memory();
		}
	}
	if (!cli_sides_label(cmd->sides, cmd->side_count))
		return cli_no_memory();
	for (i = 0; i < cmd->side_count; i++)
		cmd->side_labels[i] = cmd->sides[i].label;
	/* Files that were named, before they are read; what directories hold shows later. */
	return check_outputs(cmd);
}

static const char *what_of(enum tw_compared_kind kind)
{
	static const char *const words[TW_COMPARED_KINDS] = {
		[TW_TIMELINE_PART] = "the timeline",
		[TW_OPERATION] = "operations",
		[TW_KERNEL] = "kernels",
		[TW_COLLECTIVE_SYNC] = "collectives over the ranks",
		[TW_COLLECTIVE_RANK] = "collectives on each rank",
	};

	return words[kind];
}

/* What only one side tells of cannot be compared, and is not new. */
static void tell_one_sided(const struct compare_command *cmd)
{
	const struct cli_side *s = cmd->sides;
	size_t k;

	for (k = 0; k < TW_COMPARED_KINDS && !cmd->reporting.common.quiet; k++) {
		size_t lacking = s[0].having[k] ? 1 : 0;

		if (!s[0].having[k] == !s[1].having[k])
			continue;
		/* One of the two tables of collectives is enough. */
		if ((k == TW_COLLECTIVE_SYNC && s[0].having[TW_COLLECTIVE_RANK] &&
		     s[1].having[TW_COLLECTIVE_RANK]) ||
		    (k == TW_COLLECTIVE_RANK && s[0].having[TW_COLLECTIVE_SYNC] &&
		     s[1].having[TW_COLLECTIVE_SYNC]))
			continue;
		cli_message("%s has no %s: %s are not compared", s[lacking].label,
			    tw_compared_sheet_names[k], what_of(k));
	}
}

static size_t own_configs(const struct tw_samples *samples, unsigned side)
{
	size_t n = 0, i;

	for (i = 0; i < samples->config_count; i++)
		n += samples->configs[i].there[side];
	return n;
}

/* Whether there is anything to compare; without a gate two sweeps may still show their best. */
static int check_common(const struct compare_command *cmd)
{
	const struct tw_samples *s = &cmd->c.samples;
	size_t i;

	for (i = 0; i < TW_COMPARED_KINDS; i++)
		if (cmd->changes.all[i].count)
			return -1;
	if (!own_configs(s, 0) || !own_configs(s, 1))
		cli_message("nothing to compare: there are no times in %s",
			    cmd->side_labels[own_configs(s, 0) ? 1 : 0]);
	else if (cmd->changes.common)
		cli_message("nothing to compare: no table is in both %s and %s",
			    cmd->side_labels[0], cmd->side_labels[1]);
	else if (cmd->sides[0].kind == cmd->sides[1].kind && isnan(cmd->percent))
		return -1;
	else
		cli_message("nothing to compare: no configuration is in both %s and %s (--threads "
			    "and --channels choose one of each)",
			    cmd->side_labels[0], cmd->side_labels[1]);
	return CLI_FAILED;
}

/* Which ranks have lost a part of their traces, and whether their times count. */
static void tell_damaged(const struct compare_command *cmd)
{
	const struct tw_samples *s = &cmd->c.samples;
	size_t i;

	for (i = 0; i < s->damaged_count; i++) {
		const struct tw_sample_damage *d = &s->damaged[i];
		const struct tw_sample_config *config = &s->configs[d->config];
		const char *name = d->side && config->test_name ? config->test_name : config->name;
		char rank[48] = "its trace";

		if (d->rank >= 0)
			snprintf(rank, sizeof(rank), "rank %lld", (long long)d->rank);
		cli_message("%s%s%s: %s is damaged, a part of the trace is lost: %s",
			    cmd->side_labels[d->side], name[0] ? " " : "", name, rank,
			    d->left_out ? "its times do not count" :
					  "its times are of what is left");
	}
}

static int compare(struct compare_command *cmd)
{
	struct tw_compared_side sides[2];
	struct trawl_error err;
	size_t i;
	int status;

	if (tw_samples_finish(&cmd->c.samples, &err) ||
	    tw_changes_make(&cmd->changes, &cmd->c.samples, &err))
		return cli_fail(&err);
	tell_damaged(cmd);
	status = check_common(cmd);
	if (status >= 0)
		return status;
	tell_one_sided(cmd);
	for (i = 0; i < 2; i++) {
		const struct cli_side *s = &cmd->sides[i];

		sides[i] = (struct tw_compared_side){ s->label, cli_side_what(s), s->name.ptr,
						      s->reports,
						      s->rank_list.len ? s->rank_list.ptr : "" };
	}
	if (tw_compare_tables(&cmd->changes, sides, cmd->tables, &err))
		return cli_fail(&err);
	tw_compare_answer(&cmd->changes, cmd->side_labels, &cmd->answer);
	for (i = 0; i < cmd->answer.count; i++)
		if (cmd->answer.lines[i].failed)
			return cli_no_memory();
	return -1;
}

/* ---- the workbook */

struct workbook {
	const struct trawl_table
		*list[TW_COMPARE_TABLES + TW_COMPARE_MOST_TABLES + TW_SINGLE_TABLES];
	size_t count;
	struct trawl_table *sheets[TW_COMPARE_MOST_TABLES];
	size_t sheet_count;
	struct trawl_table *single[TW_SINGLE_TABLES];
};

static int add_report_tables(const struct compare_command *cmd, struct workbook *w,
			     struct trawl_error *err)
{
	struct tw_compared sides[MOST_SIDES];
	struct tw_str told;
	size_t i;
	int status;

	for (i = 0; i < cmd->side_count; i++) {
		if (!cmd->sides[i].book)
			return 0;
		sides[i] = (struct tw_compared){ cmd->side_labels[i], cmd->sides[i].book };
	}
	tw_str_init(&told, trawl_allocator_default());
	status = tw_compare_reports(sides, cmd->side_count, cmd->sheets, w->sheets, &w->sheet_count,
				    &told, trawl_allocator_default(), err);
	if (!status && !cmd->reporting.common.quiet)
		cli_tell_lines(&told);
	tw_str_release(&told);
	for (i = 0; i < w->sheet_count && !status; i++)
		w->list[w->count++] = w->sheets[i];
	return status;
}

static const struct tw_csv *sheet_of(struct tw_book *book, const char *name)
{
	const struct tw_csv *sheet = NULL;
	struct trawl_error err;

	if (!book || tw_book_sheet(book, name, &sheet, &err))
		return NULL;
	return sheet;
}

/* Two runs of one configuration, each of several ranks. */
static int add_single_tables(const struct compare_command *cmd, struct workbook *w,
			     struct trawl_error *err)
{
	struct tw_single_side sides[2];
	size_t i;
	int status;

	if (cmd->c.samples.config_count != 1 || cmd->sides[0].rank_count < 2 ||
	    cmd->sides[1].rank_count < 2)
		return 0;
	for (i = 0; i < 2; i++)
		sides[i] = (struct tw_single_side){
			cmd->side_labels[i],
			sheet_of(cmd->sides[i].collectives, "nccl_summary_implicit_sync"),
			sheet_of(cmd->sides[i].collectives, "nccl_summary_long"),
		};
	status = tw_single_tables(&cmd->changes, sides, w->single, err);
	for (i = 0; i < TW_SINGLE_TABLES && !status; i++)
		if (w->single[i])
			w->list[w->count++] = w->single[i];
	return status;
}

static int write_workbook(const struct compare_command *cmd)
{
	struct workbook *w = calloc(1, sizeof(*w));
	struct trawl_error err;
	int status = 0;
	size_t i;

	if (!w)
		return cli_no_memory();
	for (i = 0; i < TW_COMPARE_TABLES; i++)
		if (cmd->tables[i] && trawl_table_rows(cmd->tables[i]))
			w->list[w->count++] = cmd->tables[i];
	if (cmd->side_count == 2)
		status = add_single_tables(cmd, w, &err);
	if (!status)
		status = add_report_tables(cmd, w, &err);
	if (!status && !w->count)
		status = trawl_error_set(&err, TRAWL_ENODATA, "there is nothing for a workbook");
	if (!status)
		status = tw_render_xlsx(w->list, w->count, cmd->xlsx, trawl_allocator_default(),
					&err);
	if (!status && !cmd->reporting.common.quiet)
		cli_message("%zu tables written to %s", w->count, cmd->xlsx);
	for (i = 0; i < TW_COMPARE_MOST_TABLES; i++)
		tw_table_free(w->sheets[i]);
	for (i = 0; i < TW_SINGLE_TABLES; i++)
		tw_table_free(w->single[i]);
	free(w);
	return status ? cli_fail(&err) : CLI_DONE;
}

/* ---- what is printed */

static int print_result(const struct compare_command *cmd)
{
	const struct trawl_table *list[TW_COMPARE_TABLES];
	struct tw_str out;
	size_t count = 0, i;

	if (cmd->reporting.common.format != TW_FORMAT_TABLE) {
		/* The first seven are always there: readers by program find them by place too. */
		for (i = 0; i < TW_COMPARE_TABLES; i++)
			if (cmd->tables[i])
				list[count++] = cmd->tables[i];
		return cli_print_tables(list, count, cmd->reporting.common.format, "compare", 0);
	}
	tw_str_init(&out, trawl_allocator_default());
	cli_summarise_comparison(&cmd->changes, &cmd->answer, cmd->side_labels, cli_width(),
				 cli_colour(), &out);
	return cli_print_str(&out);
}

static void tell_failed(void *context, const char *line)
{
	(void)context;
	cli_message("over the limit: %s", line);
}

/* A gate on what cannot be compared must neither pass nor fail as if it could. */
static int tell_uneven(const struct compare_command *cmd)
{
	struct tw_str line;
	bool uneven, gate = !isnan(cmd->percent);

	tw_str_init(&line, trawl_allocator_default());
	uneven = tw_compare_uneven(&cmd->changes, cmd->side_labels, &line);
	if (uneven && (gate || !cmd->reporting.common.quiet))
		cli_message("%s%s", gate ? "--fail-on cannot be decided: " : "",
			    line.failed ? "the sides are not comparable" : line.ptr);
	tw_str_release(&line);
	return uneven && gate ? CLI_FAILED : CLI_DONE;
}

static int check_gate(const struct compare_command *cmd)
{
	int status = tell_uneven(cmd);

	if (status != CLI_DONE)
		return status;
	if (isnan(cmd->percent) || !tw_compare_gate(&cmd->changes, cmd->percent, tell_failed, NULL))
		return CLI_DONE;
	return CLI_GATE;
}

/* ---- the steps */

/* More than two: a workbook of their reports. */
static int compare_many(struct compare_command *cmd)
{
	bool incomplete = false;
	size_t damaged = 0, i;
	int status;

	for (i = 0; i < cmd->side_count; i++) {
		status = cli_side_read(&cmd->sides[i], &cmd->c, 0);
		if (status >= 0)
			return status;
		incomplete |= cmd->sides[i].incomplete;
		if (cmd->c.samples.damaged_count > damaged)
			cli_message("%s: its trace is damaged, a part of it is lost",
				    cmd->side_labels[i]);
		damaged = cmd->c.samples.damaged_count;
		if (!cmd->sides[i].book) {
			cli_message("%s is no single report or trace: more than two of those alone "
				    "can be compared",
				    cmd->side_labels[i]);
			return CLI_FAILED;
		}
	}
	status = write_workbook(cmd);
	return status == CLI_DONE && incomplete ? CLI_INCOMPLETE : status;
}

static int compare_two(struct compare_command *cmd)
{
	bool incomplete = false;
	int status = -1, written, gate;
	uint32_t i;

	for (i = 0; i < 2 && status < 0; i++) {
		status = cli_side_read(&cmd->sides[i], &cmd->c, i);
		incomplete |= cmd->sides[i].incomplete;
	}
	if (status < 0)
		status = check_outputs(cmd);
	if (status < 0)
		status = compare(cmd);
	if (status >= 0)
		return status;
	/* What was found is printed also where it cannot be written. */
	written = cli_write_comparison_page(cmd->sides, cmd->tables, &cmd->answer, page_of(cmd),
					    cmd->reporting.common.quiet, &incomplete);
	if (written == CLI_DONE && cmd->xlsx)
		written = write_workbook(cmd);
	status = print_result(cmd);
	if (status != CLI_DONE || written != CLI_DONE)
		return CLI_FAILED;
	gate = check_gate(cmd);
	incomplete |= !cmd->changes.common;
	if (!isnan(cmd->percent) && !tw_changes_part(&cmd->changes, "total_time")) {
		cli_message("--fail-on: the total time is not in both, and was not checked");
		incomplete = true;
	}
	return gate != CLI_DONE ? gate : incomplete ? CLI_INCOMPLETE : CLI_DONE;
}

static int run(struct compare_command *cmd, char **arguments, size_t count)
{
	size_t i;
	int status;

	cmd->side_count = count;
	cmd->c.common = cmd->reporting.common;
	cmd->c.ranks.common = &cmd->reporting.common;
	cmd->c.ranks.report = &cmd->reporting.options;
	cmd->c.ranks.chosen = cmd->c.filter.rank_count != 0;
	cmd->c.for_workbook = cmd->xlsx != NULL;
	if (tw_samples_init(&cmd->c.samples, trawl_allocator_default()))
		return cli_no_memory();
	status = open_sides(cmd, arguments);
	if (status < 0)
		status = count > 2 ? compare_many(cmd) : compare_two(cmd);
	tw_answer_release(&cmd->answer);
	for (i = 0; i < TW_COMPARE_TABLES; i++)
		tw_table_free(cmd->tables[i]);
	tw_changes_release(&cmd->changes);
	for (i = 0; i < count; i++)
		if (cmd->sides[i].path)
			cli_side_release(&cmd->sides[i]);
	tw_samples_release(&cmd->c.samples);
	return status;
}

int cli_compare(const struct cli_command *command, int argc, char **argv)
{
	struct compare_command *cmd = calloc(1, sizeof(*cmd));
	struct cli_option counting[8], view[8], common[8];
	int count, status;

	if (!cmd)
		return cli_no_memory();
	cmd->c.command = command;
	{
		const struct cli_option own[] = {
			{ "label1", 0, CLI_TEXT, "TEXT", &cmd->labels[0],
			  "what the baseline is called (default: its directory)" },
			{ "label2", 0, CLI_TEXT, "TEXT", &cmd->labels[1],
			  "what is compared with it is called" },
			{ "fail-on", 0, CLI_TEXT, "PERCENT", &cmd->fail_on,
			  "exit with 4 when something got worse by more" },
			{ "xlsx", 0, CLI_TEXT, "FILE", &cmd->xlsx, "write a workbook too" },
			{ "sheets", 0, CLI_TEXT, "LIST", &cmd->sheet_list,
			  "of reports in the workbook: gpu_timeline, ops_summary, kernel_summary, "
			  "ops_all, roofline, all (default)" },
			{ "threads", 0, CLI_TEXT, "LIST", &cmd->lists[0],
			  "of sweeps these thread counts alone, such as 256,512" },
			{ "channels", 0, CLI_TEXT, "LIST", &cmd->lists[1],
			  "of sweeps these channel counts alone" },
			{ "ranks", 0, CLI_TEXT, "LIST", &cmd->lists[2],
			  "these ranks alone, such as 0-7" },
			{ "max-memory", 0, CLI_SIZE, "SIZE", &cmd->c.ranks.max_memory,
			  "for traces held at once, such as 16G (default: half of the machine's)" },
			{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
		};
		const struct cli_option *const tables[] = { own, counting, view, common };

		cli_reporting_init(&cmd->reporting, counting, view, common);
		common[0].argument = "FILE";
		common[0].help = "the page (default: " PAGE " here)";
		status = cli_begin(command, tables, 4, argc, argv, &count);
	}
	if (status < 0)
		status = check_options(cmd, (size_t)count);
	if (status < 0)
		status = run(cmd, argv, (size_t)count);
	free(cmd);
	return status;
}
