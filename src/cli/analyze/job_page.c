/* The page of a job: what limits it, the findings, and what its ranks did. */
#include "cli/analyze/analysing.h"
#include "cli/analyze/findings.h"

#include "cli/ranks/ranks_page.h"
#include "table/columns.h"

#include <math.h>

/* What to do is where a screen still shows it. */
static const char *const findings_columns[] = {
	TW_COL_FINDING_TITLE, TW_COL_GAIN_PERCENT, TW_COL_GAIN_MS,
	TW_COL_FINDING_RANK,  TW_COL_REMEDY,	   TW_COL_FINDING_WHERE,
	TW_COL_EVIDENCE,      TW_COL_GAIN_HOW,	   TW_COL_GAIN_TOGETHER_PERCENT,
	"priority",	      "confidence",
};

static const struct cli_page_part findings = {
	"Findings",
	"Largest gain first, end to end, by replay of what waited for what over all ranks; gains are "
	"of a steady step (without steps of the window), each of its remedy alone. Observations have no "
	"gain. findings.csv has all columns.",
	findings_columns,
	sizeof(findings_columns) / sizeof(findings_columns[0]),
};

/* "window 100.703 ms, step 25.162 ms: gains are of a step" */
static const char *what_gains_are_of(const struct trawl_diagnosis *diagnosis)
{
	double window_ms = (double)trawl_diagnosis_window_ns(diagnosis) / 1e6;
	double step_ns = trawl_diagnosis_step_ns(diagnosis);

	if (isnan(step_ns))
		return cli_text("window %.3f ms, no steps: gains are of the window", window_ms);
	return cli_text("window %.3f ms, step %.3f ms: gains are of a step", window_ms,
			step_ns / 1e6);
}

int cli_write_job_page(const struct cli_analysing *a, const char *path, struct trawl_error *err)
{
	struct trawl_table *verdict = cli_analysis_verdict(a->diagnosis, a->job_report);
	struct cli_page page = { .title =
					 cli_page_of_job("What limits the job", a->model, a->job) };
	int status;

	page.failed = !verdict;
	cli_page_verdict(&page, verdict);
	cli_page_line(&page, what_gains_are_of(a->diagnosis));
	cli_page_known_ranks(&page, a->job);
	cli_page_table(&page, &findings, trawl_diagnosis_findings(a->diagnosis));
	cli_page_ranks(&page, a->job_report, !a->no_plots);
	status = cli_page_write(&page, path, err);
	trawl_table_free(verdict);
	return status;
}
