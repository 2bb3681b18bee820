/* The answer of an analysis in sentences: what limits the run, then what collectives of a job say. */
#include "cli/analyze/findings.h"

#include "base/alloc.h"
#include "table/table.h"

#include <math.h>
#include <string.h>

enum { FINDING, RANKS, SHARE, TEXT, COLUMNS };

/* Those behind the first row as table verdict of a job has them. */
static const struct trawl_column columns[COLUMNS] = {
	[FINDING] = TW_TEXT(
		"finding", 14,
		"limits: the largest gain; no limit: nothing worth changing; unknown: no "
		"finding, or none in the part that is known. Of a job also straggler, reason, passed on (propagated wait), no "
		"straggler, waiting or transfers, imbalance, clocks, as in collectives",
		.values = "!limits|no limit|unknown|straggler|reason|passed on|no straggler|"
			  "waiting|transfers|imbalance|clocks"),
	[RANKS] = TW_TEXT("ranks", 10, "ranks concerned; missing: all"),
	[SHARE] = TW_PERCENT_1("share (%)", 8,
			       "limits: gain / step, or / window; else as in collectives",
			       .values = ">=0"),
	[TEXT] = TW_TEXT("text", 100, "finding as text", .values = "!"),
};

static const struct tw_table_spec spec =
	TW_SPEC("verdict", "answer in sentences, the first is what limits the run", columns,
		.keep_empty = true);

static const char *text_of(const struct trawl_table *findings, size_t row, const char *column)
{
	struct trawl_cell cell = tw_table_cell(findings, row, column);

	return cell.state == TRAWL_CELL_VALUE ? cell.text : NULL;
}

/* " (rank 2): its remedy gains about 8.8 % of a step (1.926 ms of 21.911 ms)" */
static void add_gain(struct tw_str *out, const struct trawl_diagnosis *diagnosis)
{
	const struct trawl_table *findings = trawl_diagnosis_findings(diagnosis);
	double step_ns = trawl_diagnosis_step_ns(diagnosis);
	double of_ns = isnan(step_ns) ? (double)trawl_diagnosis_window_ns(diagnosis) : step_ns;
	const char *ranks = text_of(findings, 0, TW_COL_FINDING_RANK);

	if (ranks)
		tw_str_addf(out, " (rank%s %s)", strchr(ranks, ',') ? "s" : "", ranks);
	tw_str_addf(out, ": its remedy gains %s%.1f %% of %s (%.3f ms of %.3f ms)",
		    cli_gain_words(text_of(findings, 0, TW_COL_GAIN_HOW)),
		    tw_table_cell(findings, 0, TW_COL_GAIN_PERCENT).real,
		    isnan(step_ns) ? "the window" : "a step",
		    tw_table_cell(findings, 0, TW_COL_GAIN_MS).real, of_ns / 1e6);
}

/* The first row of a kind; their number: there is none. */
static size_t find_kind(const struct trawl_table *findings, const char *kind)
{
	size_t rows = trawl_table_rows(findings), row = 0;

	while (row < rows && strcmp(text_of(findings, row, "kind"), kind))
		row++;
	return row;
}

/* "GPU graphs hide their operators: 96.9 % of the GPU time in 1 launches of graphs"; nothing where most is known. */
static void add_unknown(struct tw_str *out, const struct trawl_table *findings)
{
	static const char *const kinds[] = { "graph_hides_operations", "efficiency_unknown" };
	size_t i, row;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		row = find_kind(findings, kinds[i]);
		if (row == trawl_table_rows(findings))
			continue;
		tw_str_addf(out, "%s%s: %s", out->len ? ". " : "",
			    text_of(findings, row, TW_COL_FINDING_TITLE),
			    text_of(findings, row, TW_COL_EVIDENCE));
	}
}

/* What limits the run, in a sentence. */
static void add_limit(struct trawl_table *table, const struct trawl_diagnosis *diagnosis,
		      struct tw_str *text)
{
	const struct trawl_table *findings = trawl_diagnosis_findings(diagnosis);
	size_t nothing = find_kind(findings, "nothing_found"), row = tw_table_add_row(table);

	if (nothing < trawl_table_rows(findings)) {
		add_unknown(text, findings);
		tw_table_set_str(table, row, FINDING,
				 text->len || !trawl_diagnosis_window_ns(diagnosis) ? "unknown" :
										      "no limit");
		tw_str_addf(text, "%s%s: %s", text->len ? ". " : "",
			    text_of(findings, nothing, TW_COL_FINDING_TITLE),
			    text_of(findings, nothing, TW_COL_EVIDENCE));
	} else if (tw_table_cell(findings, 0, TW_COL_GAIN_PERCENT).state == TRAWL_CELL_VALUE) {
		tw_table_set_str(table, row, FINDING, "limits");
		tw_table_set_str(table, row, RANKS, text_of(findings, 0, TW_COL_FINDING_RANK));
		tw_table_set_real(table, row, SHARE,
				  tw_table_cell(findings, 0, TW_COL_GAIN_PERCENT).real);
		tw_str_add_cstr(text, text_of(findings, 0, TW_COL_FINDING_TITLE));
		add_gain(text, diagnosis);
		add_unknown(text, findings);
	} else {
		tw_table_set_str(table, row, FINDING, "unknown");
		tw_str_add_cstr(text, "No finding has a gain: what limits the run is unknown");
	}
	tw_table_set_str(table, row, TEXT, text->ptr);
}

struct trawl_table *cli_analysis_verdict(const struct trawl_diagnosis *diagnosis,
					 const struct trawl_job_report *job_report)
{
	const struct trawl_table *of_job =
		job_report ? trawl_job_report_find(job_report, spec.name) : NULL;
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	size_t rows = of_job ? trawl_table_rows(of_job) : 0, row, i;
	struct tw_str text;

	if (!table)
		return NULL;
	tw_str_init(&text, trawl_allocator_default());
	add_limit(table, diagnosis, &text);
	for (row = 0; row < rows; row++) {
		size_t to;

		/* The first row says it. */
		if (!strcmp(text_of(of_job, row, columns[FINDING].header), "limits"))
			continue;
		to = tw_table_add_row(table);
		for (i = 0; i < COLUMNS; i++)
			tw_table_copy_cell(table, to, i, of_job, row,
					   trawl_table_find_column(of_job, columns[i].header));
	}
	if (text.failed) {
		trawl_table_free(table);
		table = NULL;
	}
	tw_str_release(&text);
	return tw_table_finished(table);
}
