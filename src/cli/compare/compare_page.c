/* The page that compares sides. */
#include "cli/compare/compare.h"

#include "base/alloc.h"
#include "io/sink.h"
#include "render/charts/variance_plots.h"
#include "render/pages/compare_page.h"
#include "study/compare/columns.h"
#include "table/columns.h"

#include <string.h>
#include <unistd.h>

/* Rows of a table before "show all". */
#define SHOWN_ROWS 20

/* ---- tables */

/*
 * Columns that a page has room for; the workbook has the others too.  The verdict is where a phone
 * shows it.
 */
static const char *const shown_columns[] = {
	"side",
	"label",
	"what",
	"configuration",
	TW_COL_TEST_CONFIGURATION,
	"type",
	"part",
	TW_COL_MODULE,
	TW_COL_MODULE_CLASS,
	TW_COL_CALL_SITE,
	"pass",
	"phase",
	"step",
	TW_COL_TEST_NAME,
	TW_COL_FINDING_N,
	TW_COL_FINDING_TITLE,
	"stage",
	"range",
	"domain",
	"name",
	TW_COL_KERNEL_NAME,
	TW_COL_COLLECTIVE_NAME,
	"dtype",
	TW_COL_IN_MSG_NELEMS,
	"rank",
	TW_COL_IDLE_CAUSE,
	"verdict",
	TW_COL_BASELINE_MS,
	TW_COL_TEST_MS,
	TW_COL_DIFFERENCE_MS,
	TW_COL_FASTER,
	TW_COL_CHANGE_OF_TOTAL,
	TW_COL_BASELINE_OVERLAP,
	TW_COL_TEST_OVERLAP,
	TW_COL_BASELINE_EXPOSED_MS,
	TW_COL_TEST_EXPOSED_MS,
	TW_COL_BASELINE_INCLUSIVE_MS,
	TW_COL_TEST_INCLUSIVE_MS,
	TW_COL_GAIN_MS,
	TW_COL_GAIN_PERCENT,
	TW_COL_GAIN_TOGETHER_PERCENT,
	TW_COL_GAIN_HOW,
	TW_COL_FINDING_WHERE,
	TW_COL_REMEDY,
	TW_COL_OTHERS_DIFFERENCE_MS,
	TW_COL_OF_TOTAL,
	TW_COL_NOISE_MS,
	"why",
	TW_COL_WORST_CONFIGURATION,
	TW_COL_BEST_OF,
	"configurations",
	TW_COL_IN_BOTH,
	TW_COL_ONLY_HERE,
	"reports",
	"ranks",
	TW_COL_TOTAL_MS,
	TW_COL_BEST_CONFIGURATION,
	TW_COL_BEST_TOTAL_MS,
};
#define SHOWN_COLUMNS (sizeof(shown_columns) / sizeof(shown_columns[0]))

/* Names are in the table before, reasons above; how many configurations an item is in is no news. */
static bool is_said_elsewhere(const char *table, const char *column)
{
	if (!strcmp(table, tw_compare_specs[TW_COMPARISON_SUMMARY].name))
		return !strcmp(column, "name") || !strcmp(column, "why");
	return !strcmp(column, "configurations");
}

/* Those of its columns that are shown and say something; NULL when out of memory. */
static struct trawl_table *narrowed(const struct trawl_table *table)
{
	const char *headers[SHOWN_COLUMNS];
	size_t count = 0, i;

	for (i = 0; i < SHOWN_COLUMNS; i++)
		if (!is_said_elsewhere(trawl_table_name(table), shown_columns[i]))
			headers[count++] = shown_columns[i];
	return tw_table_narrow(table, headers, count, trawl_allocator_default());
}

/* Tables of the page in their order; those of many rows per configuration are in the workbook. */
static const struct {
	enum tw_compare_table table;
	const char *heading, *text;
} on_page[] = {
	{ TW_COMPARISON_SUMMARY, "Baseline and Test", NULL },
	{ TW_CONFIGURATION_CHANGES, "Configurations", NULL },
	{ TW_FINDING_CHANGES, "Causes",
	  "Findings of both sides, by kind and place: what the remedy of each would gain, of a step. A "
	  "finding that appeared, or gains more than before, is what got worse." },
	{ TW_TIMELINE_CHANGES, "Timeline",
	  "Compute, exposed communication, exposed copies and idle time of a rank add up to its "
	  "total; medians over ranks need not. Faster work leaves more idle time in the same total: "
	  "no regression." },
	{ TW_DIFFERENCE_SPLIT, "Breakdown of the Difference",
	  "Means over the ranks of both sides: rows add up to the total. Waiting is for the rank of the "
	  "row, transfer the rest of exposed communication." },
	{ TW_STEP_CHANGES, "Steps", "GPU time of what each step launched, summed over ranks." },
	{ TW_PHASE_CHANGES, "Phases", "GPU time of what inference steps launched, by phase." },
	{ TW_PASS_CHANGES, "Passes", "GPU time, summed over ranks." },
	{ TW_MODULE_CHANGES, "Modules",
	  "GPU time that a module launched itself, summed over ranks; rows add up to all GPU time. "
	  "Inclusive: with all modules below it." },
	{ TW_MODULE_CLASS_CHANGES, "Classes of Modules",
	  "The same of all modules that differ in their numbers only." },
	{ TW_MODULE_OPERATION_CHANGES, "Operations by Module", NULL },
	{ TW_CALL_SITE_CHANGES, "Call Sites", "GPU time by the line that launched it." },
	{ TW_RANK_CHANGES, "Compute Time by Rank",
	  "A rank that alone computes much longer than before is a straggler: the communication "
	  "time of the other ranks grows." },
	{ TW_OPERATION_CHANGES, "Operations", NULL },
	{ TW_KERNEL_CHANGES, "Kernels", NULL },
	{ TW_COLLECTIVE_CHANGES, "Collectives", NULL },
	{ TW_STAGE_CHANGES, "Exposed Communication by Stage",
	  "In the steady-state window of each rank, as 'trawl nsys overlap' has it." },
	{ TW_RANGE_CHANGES, "NVTX Ranges", "GPU time of what was launched in each." },
	{ TW_TIMELINE_BY_CONFIGURATION, "Timeline by Configuration", NULL },
};
#define ON_PAGE (sizeof(on_page) / sizeof(on_page[0]))

/* Ranks are only shown where one stands out. */
static bool is_shown(enum tw_compare_table which, const struct trawl_table *table)
{
	size_t verdict, row;

	if (!table || !trawl_table_rows(table) ||
	    (which == TW_CONFIGURATION_CHANGES && trawl_table_rows(table) < 2))
		return false;
	verdict = trawl_table_find_column(table, "verdict");
	for (row = 0; which == TW_RANK_CHANGES && row < trawl_table_rows(table); row++)
		if (!tw_table_text_is(table, row, verdict, tw_verdict_names[TW_SAME]))
			return true;
	return which != TW_RANK_CHANGES;
}

/* Rows at the end that do not differ. */
static size_t count_folded(const struct trawl_table *table)
{
	const char *folded = tw_table_spec(table)->folded;
	size_t verdict = trawl_table_find_column(table, "verdict"), rows = trawl_table_rows(table),
	       n = 0;

	while (folded && n < rows && tw_table_text_is(table, rows - 1 - n, verdict, folded))
		n++;
	return n;
}

/* What is made for a page, and let go with it. */
struct made {
	struct trawl_table *narrow[ON_PAGE * TRAWL_COMPARE_MOST_SIDES + 1];
	struct tw_page_table tables[ON_PAGE * TRAWL_COMPARE_MOST_SIDES + 1];
	struct tw_str charts[TRAWL_COMPARE_MOST_SIDES]; /* of each pair */
	size_t count;
	const char *lines[TRAWL_COMPARE_MOST_SIDES][TW_ANSWER_LINES]; /* of each pair */
};

static int add_table(struct made *m, const char *heading, const char *text,
		     const struct trawl_table *table)
{
	struct trawl_table *narrow = narrowed(table);
	size_t verdict;

	if (!narrow)
		return TRAWL_ENOMEM;
	verdict = trawl_table_find_column(narrow, "verdict");
	m->narrow[m->count] = narrow;
	m->tables[m->count++] = (struct tw_page_table){
		.heading = heading,
		.text = text,
		.table = narrow,
		.verdict = verdict < trawl_table_columns(narrow) ? verdict : SIZE_MAX,
		.shown = SHOWN_ROWS,
		.folded = count_folded(table),
	};
	return 0;
}

/* Of several sides a part each, behind the summary of all. */
static int add_pair(struct made *m, const struct trawl_comparison *c, size_t pair)
{
	const struct tw_pair *p = &c->pairs[pair];
	size_t first = m->count, i;
	bool parted = c->side_count > 2;
	struct tw_str *chart = &m->charts[pair];

	tw_str_init(chart, trawl_allocator_default());
	for (i = 0; i < p->answer.count; i++)
		m->lines[pair][i] = p->answer.lines[i].ptr;
	for (i = 0; i < ON_PAGE; i++) {
		const struct trawl_table *table = p->tables[on_page[i].table];

		if (is_shown(on_page[i].table, table) &&
		    !(parted && on_page[i].table == TW_COMPARISON_SUMMARY) &&
		    add_table(m, on_page[i].heading, on_page[i].text, table))
			return TRAWL_ENOMEM;
		if (on_page[i].table == TW_MODULE_CHANGES && tw_difference_chart(p, chart)) {
			m->tables[m->count - 1].chart = chart;
			m->tables[m->count - 1].open = true;
		}
	}
	if (!parted || m->count == first)
		return 0;
	m->tables[first].part = cli_text("%s against %s", p->labels[1], p->labels[0]);
	m->tables[first].lines = m->lines[pair];
	m->tables[first].line_count = p->answer.count;
	return 0;
}

static int list_tables(struct made *m, const struct trawl_comparison *c)
{
	int status = c->side_count > 2 ? add_table(m, on_page[0].heading, on_page[0].text,
						   c->tables[TW_COMPARISON_SUMMARY]) :
					 0;
	size_t i;

	for (i = 0; i < c->pair_count && !status; i++)
		status = add_pair(m, c, i);
	if (!status && c->findings && trawl_table_rows(c->findings)) {
		status = add_table(m, "Findings of Each Side",
				   "What limits each run, its largest gain first.", c->findings);
		if (!status && c->side_count > 2)
			m->tables[m->count - 1].part = "Findings";
	}
	return status;
}

/* ---- pictures */

static const char *picture_path(const struct trawl_sweep *sweep, const char *plot)
{
	struct tw_str path;
	const char *kept;

	tw_str_init(&path, trawl_allocator_default());
	tw_sweep_analysis_path(sweep, "plots", &path);
	kept = cli_text("%s/%s.png", path.failed ? "" : path.ptr, plot);
	tw_str_release(&path);
	return kept;
}

/* Of two sweeps: pictures that the stage before has drawn. */
static size_t list_pictures(const struct trawl_comparison *c, struct tw_page_pictures *list,
			    bool missing[2])
{
	size_t side, i;

	if (c->side_count > 2 || c->sides[0].kind != TW_SIDE_SWEEP ||
	    c->sides[1].kind != TW_SIDE_SWEEP)
		return 0;
	for (i = 0; i < TW_VARIANCE_PLOTS; i++) {
		list[i] = (struct tw_page_pictures){ .heading = tw_variance_plot_headings[i] };
		for (side = 0; side < 2; side++) {
			const char *path =
				picture_path(&c->sides[side].sweep, tw_variance_plot_names[i]);

			if (!access(path, F_OK))
				list[i].paths[side] = path;
			else
				missing[side] = true;
		}
	}
	return TW_VARIANCE_PLOTS;
}

/* "Data Files Information": what kinds of data each side has. */
static void describe_files(const struct tw_side *s, const char *list[5])
{
	size_t count = 0;

	list[count++] = cli_text("%s: %s", tw_side_what(s), s->name);
	if (s->kind == TW_SIDE_SWEEP)
		list[count++] = cli_text("%zu configuration%s", s->sweep.count,
					 s->sweep.count == 1 ? "" : "s");
	list[count++] =
		cli_text("%zu %s%s of ranks%s%s%s", s->reports, s->traces ? "trace" : "report",
			 s->reports == 1 ? "" : "s", s->rank_list.len ? " (" : "",
			 s->rank_list.len ? s->rank_list.ptr : "", s->rank_list.len ? ")" : "");
	if (s->collective_reports && !s->traces)
		list[count++] = cli_text("%zu collective report%s", s->collective_reports,
					 s->collective_reports == 1 ? "" : "s");
	list[count] = NULL;
}

/* What a side is, where all are the same. */
static const char *what_of(const struct trawl_comparison *c)
{
	size_t sweeps = 0, jobs = 0, traces = 0, i;

	for (i = 0; i < c->side_count; i++) {
		sweeps += c->sides[i].kind == TW_SIDE_SWEEP;
		jobs += c->sides[i].kind == TW_SIDE_TRACES;
		traces += c->sides[i].kind == TW_SIDE_TRACES && c->sides[i].traces == 1;
	}
	return sweeps == c->side_count ? "Sweep" :
	       !jobs		       ? "Report" :
	       traces == c->side_count ? "Trace" :
					 "Run";
}

static int render_page(const struct trawl_comparison *c, struct made *m, bool missing[2],
		       struct tw_str *html, struct tw_str *told, struct trawl_error *err)
{
	struct tw_page_pictures pictures[TW_VARIANCE_PLOTS];
	struct tw_page_side sides[TRAWL_COMPARE_MOST_SIDES];
	const char *files[TRAWL_COMPARE_MOST_SIDES][5], *verdicts[TRAWL_COMPARE_MOST_SIDES];
	bool parted = c->side_count > 2;
	struct tw_compare_page page = {
		.what = what_of(c),
		.sides = sides,
		.side_count = c->side_count,
		.lines = parted ? verdicts : m->lines[0],
		.line_count = parted ? c->pair_count : c->pairs[0].answer.count,
		.tables = m->tables,
		.pictures = pictures,
	};
	size_t i;

	if (list_tables(m, c))
		return tw_no_memory(err);
	page.table_count = m->count;
	page.picture_count = list_pictures(c, pictures, missing);
	page.title = page.picture_count ? "GEMM Kernel Variance - Sweep Comparison" :
					  "Performance Comparison";
	for (i = 0; i < c->pair_count; i++)
		verdicts[i] = m->lines[i][0];
	for (i = 0; i < c->side_count; i++) {
		describe_files(&c->sides[i], files[i]);
		sides[i] = (struct tw_page_side){ c->labels[i], c->sides[i].name, files[i] };
	}
	return tw_render_compare_page(&page, html, told, err);
}

int cli_write_comparison_page(const struct trawl_comparison *c, const char *path, bool quiet,
			      bool *lacking)
{
	struct made *made = cli_alloc(1, sizeof(*made));
	bool missing[2] = { false, false };
	struct tw_str html, told;
	struct trawl_error err;
	size_t i;
	int status;

	tw_str_init(&html, trawl_allocator_default());
	tw_str_init(&told, trawl_allocator_default());
	status = render_page(c, made, missing, &html, &told, &err);
	if (!status)
		status = tw_sink_write_text(path, &html, trawl_allocator_default(), &err);
	for (i = 0; i < 2 && !status && !quiet; i++)
		if (missing[i])
			cli_message("%s: plots missing: run 'trawl sweep plots'", c->labels[i]);
	if (status) {
		cli_fail(&err);
	} else {
		*lacking |= told.len != 0;
		cli_tell_lines(&told);
		if (!quiet)
			cli_message("page written to %s", path);
	}
	for (i = 0; i < made->count; i++)
		trawl_table_free(made->narrow[i]);
	for (i = 0; i < c->pair_count; i++)
		tw_str_release(&made->charts[i]);
	tw_str_release(&html);
	tw_str_release(&told);
	return status ? CLI_FAILED : CLI_DONE;
}
