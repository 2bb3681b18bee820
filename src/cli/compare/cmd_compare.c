/* trawl compare: two sweeps, reports or traces side by side. */
#include "cli/compare/compare.h"
#include "cli/screen.h"

#include "cli/ranks/ranks.h"
#include "cli/sweep/sweep.h"
#include "cli/trace/reporting.h"
#include "io/sink.h"
#include "study/compare/per_rank.h"
#include "study/compare/report_tables.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE "sweep_comparison_report.html"
#define MOST_SIDES 16

struct compare_command {
	struct cli_reporting reporting;
	const char *labels[2], *page, *xlsx;
	struct cli_filter lists;
	int64_t max_memory;
	double percent;	 /* of --fail-on, NaN: no gate */
	unsigned sheets; /* in the workbook; 0: all */
};

struct comparison {
	const struct compare_command *cmd;
	struct tw_side_options reading;
	struct cli_progress progress;
	struct tw_samples samples;
	struct tw_side sides[MOST_SIDES];
	size_t side_count, opened;
	const char *labels[MOST_SIDES];
	struct tw_changes changes;
	struct trawl_table *tables[TW_COMPARE_TABLES];
	struct tw_answer answer;
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
	return cli_bad_value(err, option, text, "no percentage such as 5 or 2.5");
}

static int read_sheets(const struct cli_option *option, const char *text, void *value,
		       struct trawl_error *err)
{
	static const struct {
		const char *name;
		unsigned sheets;
	} names[] = {
		{ "gpu_timeline", TW_COMPARE_TIMELINE },  { "ops_summary", TW_COMPARE_OPS },
		{ "kernel_summary", TW_COMPARE_KERNELS }, { "ops_all", TW_COMPARE_ALL_OPS },
		{ "roofline", TW_COMPARE_ROOFLINE },	  { "all", TW_COMPARE_EVERYTHING },
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
					       "--%s: not '%.*s'; of gpu_timeline, ops_summary, "
					       "kernel_summary, ops_all, roofline, all",
					       option->name, (int)(len > 60 ? 60 : len), p);
		*sheets |= names[i].sheets;
	}
	return *sheets ? 0 : trawl_error_set(err, TRAWL_EUSAGE, "--%s: which?", option->name);
}

static const struct cli_kind percent_kind = { .read = read_percent };
static const struct cli_kind sheets_kind = { .read = read_sheets };

#define AT(member) offsetof(struct compare_command, member)

static const struct cli_option own_options[] = {
	{ "label1", 0, &cli_string, "TEXT", AT(labels[0]),
	  "what the baseline is called (default: its directory)" },
	{ "label2", 0, &cli_string, "TEXT", AT(labels[1]), "what is compared with it is called" },
	{ "fail-on", 0, &percent_kind, "PERCENT", AT(percent),
	  "exit with 4 when something got worse by more" },
	{ "xlsx", 0, &cli_string, "FILE", AT(xlsx), "write a workbook too" },
	{ "sheets", 0, &sheets_kind, "LIST", AT(sheets),
	  "of reports in the workbook: gpu_timeline, ops_summary, kernel_summary, "
	  "ops_all, roofline, all (default)" },
	{ "threads", 0, &cli_number_list, "LIST", AT(lists.threads),
	  "of sweeps these thread counts alone, such as 256,512" },
	{ "channels", 0, &cli_number_list, "LIST", AT(lists.channels),
	  "of sweeps these channel counts alone" },
	{ "ranks", 0, &cli_number_list, "LIST", AT(lists.ranks), "these ranks alone, such as 0-7" },
	{ "max-memory", 0, &cli_size, "SIZE", AT(max_memory),
	  "for traces held at once, such as 16G (default: half of the machine's)" },
	{ 0 },
};

static const struct cli_option page_options[] = {
	{ "output", 'o', &cli_string, "FILE", AT(page), "the page (default: " PAGE " here)" },
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
		return cli_usage_error(command, "which two? the baseline, then what is compared "
						"with it");
	if (count > MOST_SIDES)
		return cli_usage_error(command, "more than %d are too many", MOST_SIDES);
	if (count > 2 && (!cmd->xlsx || cmd->page || !isnan(cmd->percent)))
		return cli_usage_error(command,
				       "more than two go into a workbook alone: --xlsx FILE, "
				       "without --output and --fail-on");
	if (cmd->sheets && !cmd->xlsx)
		return cli_usage_error(command, "--sheets is of the workbook: --xlsx FILE");
	if (cmd->xlsx && !strcmp(cmd->xlsx, page))
		return cli_usage_error(command, "the page and the workbook are two files, not '%s'",
				       cmd->xlsx);
	cmd->page = page;
	if (!cmd->sheets)
		cmd->sheets = TW_COMPARE_EVERYTHING;
	return -1;
}

/* ---- sides */

/* None of the inputs that are known is written over; CLI_DONE, else the exit status. */
static int check_outputs(const struct comparison *c)
{
	struct trawl_error err;

	if ((c->side_count == 2 && tw_sink_check(c->cmd->page, &err)) ||
	    (c->cmd->xlsx && tw_sink_check(c->cmd->xlsx, &err)))
		return cli_fail(&err);
	return CLI_DONE;
}

static int open_sides(struct comparison *c, char **arguments)
{
	struct trawl_error err;
	size_t i;

	for (i = 0; i < c->side_count; i++) {
		c->opened++;
		if (tw_side_open(&c->sides[i], arguments[i], &c->reading, &err))
			return cli_fail(&err);
		c->sides[i].label = i < 2 ? c->cmd->labels[i] : NULL;
	}
	if (tw_sides_label(c->sides, c->side_count, &err))
		return cli_fail(&err);
	for (i = 0; i < c->side_count; i++)
		c->labels[i] = c->sides[i].label;
	/* Files that were named, before they are read; what directories hold shows later. */
	return check_outputs(c);
}

static int read_side(struct comparison *c, size_t i, uint32_t which)
{
	const struct cli_common *common = &c->cmd->reporting.common;
	struct tw_side *side = &c->sides[i];
	double start = cli_seconds();
	struct trawl_error err;
	int status;

	cli_progress_begin(&c->progress, common->quiet);
	status = tw_side_read(side, &c->samples, which, &err);
	cli_progress_end(&c->progress);
	if (common->verbose && side->traces)
		cli_message("%zu ranks read in %.3f s", side->traces, cli_seconds() - start);
	/* With nothing but what is left out where --quiet is given. */
	cli_tell_notes(&side->notes, false);
	return status ? cli_fail(&err) : CLI_DONE;
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
static void tell_one_sided(const struct comparison *c)
{
	const size_t *a = c->sides[0].having, *b = c->sides[1].having;
	/* One of the two tables of collectives is enough. */
	bool by_rank = a[TW_COLLECTIVE_RANK] && b[TW_COLLECTIVE_RANK];
	bool by_sync = a[TW_COLLECTIVE_SYNC] && b[TW_COLLECTIVE_SYNC];
	size_t k;

	for (k = 0; k < TW_COMPARED_KINDS && !c->cmd->reporting.common.quiet; k++) {
		if (!a[k] == !b[k] || (k == TW_COLLECTIVE_SYNC && by_rank) ||
		    (k == TW_COLLECTIVE_RANK && by_sync))
			continue;
		cli_message("%s has no %s: %s are not compared", c->labels[a[k] ? 1 : 0],
			    tw_compared_tables[k]->name, what_of((enum tw_compared_kind)k));
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
static int check_common(const struct comparison *c)
{
	bool first = own_configs(&c->samples, 0), second = own_configs(&c->samples, 1);
	size_t i;

	for (i = 0; i < TW_COMPARED_KINDS; i++)
		if (c->changes.all[i].count)
			return CLI_DONE;
	if (!first || !second)
		cli_message("nothing to compare: there are no times in %s",
			    c->labels[first ? 1 : 0]);
	else if (c->changes.common)
		cli_message("nothing to compare: no table is in both %s and %s", c->labels[0],
			    c->labels[1]);
	else if (c->sides[0].kind == c->sides[1].kind && isnan(c->cmd->percent))
		return CLI_DONE;
	else
		cli_message("nothing to compare: no configuration is in both %s and %s (--threads "
			    "and --channels choose one of each)",
			    c->labels[0], c->labels[1]);
	return CLI_FAILED;
}

/* Which ranks have lost a part of their traces, and whether their times count. */
static void tell_damaged(const struct comparison *c)
{
	const struct tw_samples *s = &c->samples;
	size_t i;

	for (i = 0; i < s->damaged_count; i++) {
		const struct tw_sample_damage *d = &s->damaged[i];
		const struct tw_sample_config *config = &s->configs[d->config];
		const char *name = d->side && config->test_name ? config->test_name : config->name;
		char rank[48] = "its trace";

		if (d->rank >= 0)
			snprintf(rank, sizeof(rank), "rank %lld", (long long)d->rank);
		cli_message("%s%s%s: %s is damaged, a part of the trace is lost: %s",
			    c->labels[d->side], name[0] ? " " : "", name, rank,
			    d->left_out ? "its times do not count" :
					  "its times are of what is left");
	}
}

static int find_changes(struct comparison *c)
{
	struct tw_compared_side sides[2];
	struct trawl_error err;
	size_t i;

	if (tw_samples_finish(&c->samples, &err) || tw_changes_make(&c->changes, &c->samples, &err))
		return cli_fail(&err);
	tell_damaged(c);
	if (check_common(c))
		return CLI_FAILED;
	tell_one_sided(c);
	for (i = 0; i < 2; i++) {
		const struct tw_side *s = &c->sides[i];

		sides[i] = (struct tw_compared_side){ s->label, tw_side_what(s), s->name,
						      s->reports,
						      s->rank_list.len ? s->rank_list.ptr : "" };
	}
	if (tw_compare_tables(&c->changes, sides, c->tables, &err))
		return cli_fail(&err);
	tw_compare_answer(&c->changes, c->labels, &c->answer);
	for (i = 0; i < c->answer.count; i++)
		if (c->answer.lines[i].failed)
			return cli_no_memory();
	return CLI_DONE;
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

static int add_report_tables(const struct comparison *c, struct workbook *w,
			     struct trawl_error *err)
{
	struct tw_compared sides[MOST_SIDES];
	struct tw_str told;
	size_t i;
	int status;

	for (i = 0; i < c->side_count; i++) {
		if (!c->sides[i].book)
			return 0;
		sides[i] = (struct tw_compared){ c->labels[i], c->sides[i].book };
	}
	tw_str_init(&told, trawl_allocator_default());
	status = tw_compare_reports(sides, c->side_count, c->cmd->sheets, w->sheets,
				    &w->sheet_count, &told, trawl_allocator_default(), err);
	if (!status && !c->cmd->reporting.common.quiet)
		cli_tell_lines(&told);
	tw_str_release(&told);
	for (i = 0; i < w->sheet_count && !status; i++)
		w->list[w->count++] = w->sheets[i];
	return status;
}

static const struct trawl_table *table_of(struct tw_book *book, const struct tw_ranks_table *which)
{
	const struct trawl_table *table = NULL;

	return book && !tw_book_table(book, &which->table, &table, NULL) ? table : NULL;
}

/* Two runs of one configuration, each of several ranks. */
static int add_single_tables(const struct comparison *c, struct workbook *w,
			     struct trawl_error *err)
{
	struct tw_single_side sides[2];
	size_t i;
	int status;

	if (c->samples.config_count != 1 || c->sides[0].rank_count < 2 ||
	    c->sides[1].rank_count < 2)
		return 0;
	for (i = 0; i < 2; i++)
		sides[i] = (struct tw_single_side){
			c->labels[i],
			table_of(c->sides[i].collectives,
				 &tw_ranks_table_nccl_summary_implicit_sync),
			table_of(c->sides[i].collectives, &tw_ranks_table_nccl_summary_long),
		};
	status = tw_single_tables(&c->changes, sides, w->single, err);
	for (i = 0; i < TW_SINGLE_TABLES && !status; i++)
		if (w->single[i])
			w->list[w->count++] = w->single[i];
	return status;
}

static int write_workbook(const struct comparison *c)
{
	struct workbook *w = cli_alloc(1, sizeof(*w));
	struct trawl_error err;
	int status = 0;
	size_t i;

	for (i = 0; i < TW_COMPARE_TABLES; i++)
		if (c->tables[i] && trawl_table_rows(c->tables[i]))
			w->list[w->count++] = c->tables[i];
	if (c->side_count == 2)
		status = add_single_tables(c, w, &err);
	if (!status)
		status = add_report_tables(c, w, &err);
	if (!status && !w->count)
		status = trawl_error_set(&err, TRAWL_ENODATA, "there is nothing for a workbook");
	if (!status)
		status = tw_render_xlsx(w->list, w->count, c->cmd->xlsx, trawl_allocator_default(),
					&err);
	if (!status && !c->cmd->reporting.common.quiet)
		cli_message("%zu tables written to %s", w->count, c->cmd->xlsx);
	for (i = 0; i < TW_COMPARE_MOST_TABLES; i++)
		tw_table_free(w->sheets[i]);
	for (i = 0; i < TW_SINGLE_TABLES; i++)
		tw_table_free(w->single[i]);
	return status ? cli_fail(&err) : CLI_DONE;
}

/* ---- what is printed */

static int print_result(const struct comparison *c)
{
	const struct trawl_table *list[TW_COMPARE_TABLES];
	enum tw_format format = c->cmd->reporting.common.format;
	struct cli_screen s;
	size_t count = 0, i;

	if (format != TW_FORMAT_TABLE) {
		/* The first seven are always there: readers by program find them by place too. */
		for (i = 0; i < TW_COMPARE_TABLES; i++)
			if (c->tables[i])
				list[count++] = c->tables[i];
		return cli_print_tables(list, count, format, "compare", 0);
	}
	cli_screen_init(&s);
	cli_summarise_comparison(&c->changes, &c->answer, c->labels, &s);
	return cli_screen_print(&s);
}

static void tell_failed(void *context, const char *line)
{
	(void)context;
	cli_message("over the limit: %s", line);
}

/* A gate on what cannot be compared must neither pass nor fail as if it could. */
static int check_even(const struct comparison *c)
{
	bool uneven, gate = !isnan(c->cmd->percent);
	struct tw_str line;

	tw_str_init(&line, trawl_allocator_default());
	uneven = tw_compare_uneven(&c->changes, c->labels, &line);
	if (uneven && (gate || !c->cmd->reporting.common.quiet))
		cli_message("%s%s", gate ? "--fail-on cannot be decided: " : "",
			    line.failed ? "the sides are not comparable" : line.ptr);
	tw_str_release(&line);
	return uneven && gate ? CLI_FAILED : CLI_DONE;
}

/* The exit status where it decides that: else CLI_DONE. */
static int check_gate(const struct comparison *c)
{
	int status = check_even(c);

	if (status != CLI_DONE || isnan(c->cmd->percent))
		return status;
	return tw_compare_gate(&c->changes, c->cmd->percent, tell_failed, NULL) ? CLI_GATE :
										  CLI_DONE;
}

/* ---- the steps */

/* More than two: a workbook of their reports. */
static int compare_many(struct comparison *c)
{
	bool incomplete = false;
	size_t damaged = 0, i;
	int status;

	for (i = 0; i < c->side_count; i++) {
		status = read_side(c, i, 0);
		if (status != CLI_DONE)
			return status;
		incomplete |= c->sides[i].incomplete;
		if (c->samples.damaged_count > damaged)
			cli_message("%s: its trace is damaged, a part of it is lost", c->labels[i]);
		damaged = c->samples.damaged_count;
		if (!c->sides[i].book) {
			cli_message("%s is no single report or trace: more than two of those alone "
				    "can be compared",
				    c->labels[i]);
			return CLI_FAILED;
		}
	}
	status = write_workbook(c);
	return status == CLI_DONE && incomplete ? CLI_INCOMPLETE : status;
}

/* What was found is printed also where it cannot be written. */
static int write_and_print(struct comparison *c, bool *incomplete)
{
	int written = cli_write_comparison_page(c->sides, c->tables, &c->answer, c->cmd->page,
						c->cmd->reporting.common.quiet, incomplete);
	int printed;

	if (written == CLI_DONE && c->cmd->xlsx)
		written = write_workbook(c);
	printed = print_result(c);
	return written == CLI_DONE && printed == CLI_DONE ? CLI_DONE : CLI_FAILED;
}

static int compare_two(struct comparison *c)
{
	bool incomplete = false;
	int status = CLI_DONE;
	uint32_t i;

	for (i = 0; i < 2 && status == CLI_DONE; i++) {
		status = read_side(c, i, i);
		incomplete |= c->sides[i].incomplete;
	}
	if (status == CLI_DONE)
		status = check_outputs(c);
	if (status == CLI_DONE)
		status = find_changes(c);
	if (status == CLI_DONE)
		status = write_and_print(c, &incomplete);
	if (status != CLI_DONE)
		return status;
	status = check_gate(c);
	incomplete |= !c->changes.common;
	if (!isnan(c->cmd->percent) && !tw_changes_part(&c->changes, "total_time")) {
		cli_message("--fail-on: the total time is not in both, and was not checked");
		incomplete = true;
	}
	return status == CLI_DONE && incomplete ? CLI_INCOMPLETE : status;
}

static void release_comparison(struct comparison *c)
{
	size_t i;

	tw_answer_release(&c->answer);
	for (i = 0; i < TW_COMPARE_TABLES; i++)
		tw_table_free(c->tables[i]);
	tw_changes_release(&c->changes);
	for (i = 0; i < c->opened; i++)
		tw_side_release(&c->sides[i]);
	tw_samples_release(&c->samples);
}

static struct tw_side_options reading_of(const struct compare_command *cmd,
					 struct cli_progress *progress)
{
	return (struct tw_side_options){
		.load = { .threads = cmd->reporting.common.threads,
			  .max_memory = cmd->max_memory,
			  .block_size = cli_block_size(),
			  .report = &cmd->reporting.options,
			  .progress = cli_progress_update,
			  .progress_context = progress },
		.filter = cli_filter_of(&cmd->lists),
		.strict = cmd->reporting.common.strict,
		.quiet = cmd->reporting.common.quiet,
		.for_workbook = cmd->xlsx,
	};
}

static int compare(const struct cli_command *command, int argc, char **argv)
{
	struct compare_command cmd = { .percent = (double)NAN };
	struct comparison *c = cli_alloc(1, sizeof(*c));
	int count, status;

	cli_reporting_init(&cmd.reporting);
	status = cli_begin(command, &cmd, argc, argv, &count);
	if (status < 0)
		status = check_options(command, &cmd, (size_t)count);
	if (status >= 0)
		return status;
	c->cmd = &cmd;
	c->side_count = (size_t)count;
	c->reading = reading_of(&cmd, &c->progress);
	if (tw_samples_init(&c->samples, trawl_allocator_default()))
		return cli_no_memory();
	status = open_sides(c, argv);
	if (status == CLI_DONE)
		status = count > 2 ? compare_many(c) : compare_two(c);
	release_comparison(c);
	return status;
}

const struct cli_command cli_compare = {
	"compare",
	"A B",
	"two sweeps, reports or traces: what got faster, what slower, and noise",
	"A (the baseline) and B are each a sweep, a report (perf_report.xlsx, a directory of CSV\n"
	"files), a trace, or the traces of one job. Writes a page, sweep_comparison_report.html in\n"
	"the current directory, with --xlsx a workbook, and prints a summary. A difference counts\n"
	"when it is over the noise of the ranks and over 1 %. With --fail-on the exit status is 4\n"
	"when the total time, or an item of 1 % of it, got worse by more than PERCENT. More than\n"
	"two reports go into a workbook.\n\n"
	"  trawl compare sweep_before sweep_after --label1 'ROCm 6.4' --label2 'ROCm 7.0'\n",
	options,
	compare,
};
