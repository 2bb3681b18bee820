/* The page that compares two sides. */
#include "cli/compare/compare.h"

#include "base/alloc.h"
#include "io/sink.h"
#include "render/charts/variance_plots.h"
#include "render/pages/compare_page.h"
#include "study/compare/columns.h"

#include <string.h>
#include <unistd.h>

/* Rows of a table before "show all". */
#define SHOWN_ROWS 20

/* What the page is made of. */
struct page {
	const struct tw_side *sides;
	struct trawl_table *const *tables;
	const struct tw_answer *answer;
};

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
	"name",
	TW_COL_KERNEL_NAME,
	TW_COL_COLLECTIVE_NAME,
	"dtype",
	TW_COL_IN_MSG_NELEMS,
	"rank",
	"verdict",
	TW_COL_BASELINE_MS,
	TW_COL_TEST_MS,
	TW_COL_DIFFERENCE_MS,
	TW_COL_FASTER,
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

static bool has_values(const struct trawl_table *table, size_t column)
{
	size_t row;

	for (row = 0; row < trawl_table_rows(table); row++)
		if (trawl_table_cell(table, row, column).state == TRAWL_CELL_VALUE)
			return true;
	return false;
}

/* Names are in the table before, and how many configurations an item is in is no news. */
static bool is_said_elsewhere(const char *table, const char *column)
{
	bool summary = !strcmp(table, tw_compare_specs[TW_COMPARISON_SUMMARY].name);

	return !strcmp(column, summary ? "name" : "configurations");
}

/* Those of its columns that are shown and say something; NULL when out of memory. */
static struct trawl_table *narrowed(const struct trawl_table *table)
{
	struct trawl_column columns[SHOWN_COLUMNS];
	size_t from[SHOWN_COLUMNS], count = 0, i, row;
	const struct tw_table_spec spec = { .name = trawl_table_name(table),
					    .meaning = trawl_table_meaning(table),
					    .keep_empty = true };
	struct trawl_table *out;

	for (i = 0; i < SHOWN_COLUMNS; i++) {
		size_t column = trawl_table_find_column(table, shown_columns[i]);

		if (column == trawl_table_columns(table) || !has_values(table, column) ||
		    is_said_elsewhere(trawl_table_name(table), shown_columns[i]))
			continue;
		columns[count] = *trawl_table_column(table, column);
		from[count++] = column;
	}
	out = tw_table_new_columns(&spec, columns, count, trawl_allocator_default());
	for (row = 0; row < trawl_table_rows(table) && out; row++) {
		size_t to = tw_table_add_row(out);

		for (i = 0; i < count; i++)
			tw_table_copy_cell(out, to, i, table, row, from[i]);
	}
	for (i = 0; i < trawl_table_notes(table) && out; i++)
		tw_table_add_note(out, "%s", trawl_table_note(table, i));
	return tw_table_finished(out);
}

/* Tables of the page in their order; those of many rows per configuration are in the workbook. */
static const struct {
	enum tw_compare_table table;
	const char *heading, *text;
} on_page[] = {
	{ TW_COMPARISON_SUMMARY, "Baseline and Test", NULL },
	{ TW_CONFIGURATION_CHANGES, "Configurations", NULL },
	{ TW_TIMELINE_CHANGES, "Timeline",
	  "Compute, exposed communication, exposed copies and idle time add up to the total. "
	  "Faster work leaves more idle time in the same total: no regression." },
	{ TW_RANK_CHANGES, "Compute Time by Rank",
	  "A rank that alone computes much longer than before is a straggler: the communication "
	  "time of the other ranks grows." },
	{ TW_OPERATION_CHANGES, "Operations", NULL },
	{ TW_KERNEL_CHANGES, "Kernels", NULL },
	{ TW_COLLECTIVE_CHANGES, "Collectives", NULL },
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
		if (strcmp(trawl_table_cell(table, row, verdict).text, tw_verdict_names[TW_SAME]))
			return true;
	return which != TW_RANK_CHANGES;
}

/* The narrowed ones are the caller's to free; *count of tables. */
static int list_tables(const struct page *p, struct tw_page_table *list, size_t *count,
		       struct trawl_table *narrow[ON_PAGE])
{
	size_t i;

	*count = 0;
	for (i = 0; i < ON_PAGE; i++) {
		const struct trawl_table *table = p->tables[on_page[i].table];
		size_t verdict;

		if (!is_shown(on_page[i].table, table))
			continue;
		narrow[i] = narrowed(table);
		if (!narrow[i])
			return TRAWL_ENOMEM;
		table = narrow[i];
		verdict = trawl_table_find_column(table, "verdict");
		list[(*count)++] = (struct tw_page_table){
			on_page[i].heading, on_page[i].text, table,
			verdict < trawl_table_columns(table) ? verdict : SIZE_MAX, SHOWN_ROWS
		};
	}
	return 0;
}

/* ---- pictures */

static const char *const picture_headings[TW_VARIANCE_PLOTS] = {
	[TW_PLOT_THREADS] = "Variance by Thread Count",
	[TW_PLOT_CHANNELS] = "Variance by Channel Count",
	[TW_PLOT_RANKS] = "Variance by Rank",
	[TW_PLOT_VIOLINS] = "Variance Distribution (Violin Plots)",
	[TW_PLOT_INTERACTION] = "Thread-Channel Interaction",
};

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

/* Of sweeps: pictures that the stage before has drawn. */
static size_t list_pictures(const struct page *p, struct tw_page_pictures *list, bool missing[2])
{
	size_t side, i;

	if (p->sides[0].kind != TW_SIDE_SWEEP || p->sides[1].kind != TW_SIDE_SWEEP)
		return 0;
	for (i = 0; i < TW_VARIANCE_PLOTS; i++) {
		list[i] = (struct tw_page_pictures){ .heading = picture_headings[i] };
		for (side = 0; side < 2; side++) {
			const char *path =
				picture_path(&p->sides[side].sweep, tw_variance_plot_names[i]);

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

/* What a side is, where both are the same. */
static const char *what_of(const struct tw_side sides[2])
{
	if (sides[0].kind == TW_SIDE_SWEEP && sides[1].kind == TW_SIDE_SWEEP)
		return "Sweep";
	if (sides[0].kind != TW_SIDE_TRACES && sides[1].kind != TW_SIDE_TRACES)
		return "Report";
	return sides[0].kind == sides[1].kind && sides[0].traces == 1 && sides[1].traces == 1 ?
		       "Trace" :
		       "Run";
}

static int render_page(const struct page *p, struct trawl_table *narrow[ON_PAGE], bool missing[2],
		       struct tw_str *html, struct tw_str *told, struct trawl_error *err)
{
	struct tw_page_table tables[ON_PAGE];
	struct tw_page_pictures pictures[TW_VARIANCE_PLOTS];
	const char *files[2][5], *lines[TW_ANSWER_LINES];
	struct tw_compare_page page = {
		.what = what_of(p->sides),
		.labels = { p->sides[0].label, p->sides[1].label },
		.directories = { p->sides[0].name, p->sides[1].name },
		.lines = lines,
		.line_count = p->answer->count,
		.tables = tables,
		.pictures = pictures,
		.files = files[0],
		.other_files = files[1],
	};
	size_t i;

	for (i = 0; i < p->answer->count; i++)
		lines[i] = p->answer->lines[i].ptr;
	if (list_tables(p, tables, &page.table_count, narrow))
		return tw_no_memory(err);
	page.picture_count = list_pictures(p, pictures, missing);
	page.title = page.picture_count ? "GEMM Kernel Variance - Sweep Comparison" :
					  "Performance Comparison";
	describe_files(&p->sides[0], files[0]);
	describe_files(&p->sides[1], files[1]);
	return tw_render_compare_page(&page, html, told, err);
}

int cli_write_comparison_page(const struct trawl_comparison *c, const char *path, bool quiet,
			      bool *lacking)
{
	const struct page page = { c->sides, c->all, &c->answer };
	struct trawl_table *narrow[ON_PAGE] = { NULL };
	bool missing[2] = { false, false };
	struct tw_str html, told;
	struct trawl_error err;
	size_t i;
	int status;

	tw_str_init(&html, trawl_allocator_default());
	tw_str_init(&told, trawl_allocator_default());
	status = render_page(&page, narrow, missing, &html, &told, &err);
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
	for (i = 0; i < ON_PAGE; i++)
		trawl_table_free(narrow[i]);
	tw_str_release(&html);
	tw_str_release(&told);
	return status ? CLI_FAILED : CLI_DONE;
}
