/* The report of a job: its own tables, and those of its ranks summed over them. */
#include "base/alloc.h"
#include "diagnose/diagnosis.h"
#include "job/sums/sums.h"
#include "job/tables/all_tables.h"
#include "job/tables/outliers.h"
#include "table/pack.h"
#include "trawl/findings.h"

#include <math.h>
#include <string.h>

/* Of the job itself, before those summed over its ranks. */
static const struct tw_ranks_table *const of_job[] = {
	&tw_ranks_table_ranks,
	&tw_ranks_table_verdict,
	&tw_ranks_table_rank_timeline,
	&tw_ranks_table_rank_outliers,
	&tw_ranks_table_nccl_summary_implicit_sync,
	&tw_ranks_table_nccl_summary_long,
	&tw_ranks_table_straggler_summary,
	&tw_ranks_table_stragglers,
	&tw_ranks_table_collective_waits,
};

void trawl_job_report_options_init(struct trawl_job_report_options *options)
{
	*options = (struct trawl_job_report_options){ .align = TRAWL_ALIGN_AUTO };
}

static int add_sums(struct trawl_job_report *report, unsigned threads)
{
	size_t count = 0;

	if (tw_sums_make_all(report->tables + report->count, &count, report->in.job, threads,
			     report->in.allocator))
		return -1;
	report->count += count;
	return 0;
}

/* The findings come before everything else; the tables of the job have them as long as it is made. */
static int add_findings(struct trawl_job_report *report, const struct trawl_table *findings)
{
	struct trawl_table *copy = tw_table_copy(findings, report->in.allocator);

	if (!copy)
		return -1;
	memmove(report->tables + 1, report->tables, report->count * sizeof(report->tables[0]));
	report->tables[0] = copy;
	report->in.findings = copy;
	report->count++;
	return 0;
}

/* Those with rows, or that are always there. */
static void drop_empty(struct trawl_job_report *report)
{
	size_t kept = 0, i;

	for (i = 0; i < report->count; i++) {
		struct trawl_table *table = report->tables[i];

		if (trawl_table_rows(table) || tw_table_spec(table)->keep_empty)
			report->tables[kept++] = table;
		else
			trawl_table_free(table);
	}
	report->count = kept;
}

int trawl_job_report_new(struct trawl_job_report **out, const struct trawl_job *job,
			 const struct trawl_job_report_options *given, struct trawl_error *err)
{
	struct tw_job_wanted wanted = { .more = tw_analysis_count + 1 };
	const struct trawl_table *findings = NULL;
	struct trawl_job_report_options options;
	struct trawl_job_report *report = tw_alloc_array(job->allocator, 1, sizeof(*report));
	int status;

	*out = NULL;
	if (!report)
		return tw_no_memory(err);
	trawl_job_report_options_init(&options);
	if (given)
		options = *given;
	if (!options.collectives) {
		wanted.tables = of_job;
		wanted.count = sizeof(of_job) / sizeof(of_job[0]);
	}
	if (options.diagnosis) {
		findings = trawl_diagnosis_findings(options.diagnosis);
		wanted.of_step = !isnan(trawl_diagnosis_step_ns(options.diagnosis));
		/* Otherwise the verdict is by waits. */
		if (trawl_diagnosis_knows_waits(options.diagnosis))
			wanted.findings = findings;
	}
	status = tw_job_tables_make(report, job, options.align, &wanted, options.threads,
				    job->allocator, err);
	if (!status && !options.collectives && add_sums(report, options.threads))
		status = tw_no_memory(err);
	if (!status && findings && add_findings(report, findings))
		status = tw_no_memory(err);
	if (status) {
		trawl_job_report_free(report);
		return status;
	}
	drop_empty(report);
	*out = report;
	return 0;
}

void trawl_job_report_free(struct trawl_job_report *report)
{
	const struct trawl_allocator *a;

	if (!report)
		return;
	a = report->in.allocator;
	tw_job_tables_release(report);
	tw_free(a, report, sizeof(*report));
}

size_t trawl_job_report_tables(const struct trawl_job_report *report)
{
	return report->count;
}

const struct trawl_table *trawl_job_report_table(const struct trawl_job_report *report,
						 size_t index)
{
	return report->tables[index];
}

const char *trawl_job_report_table_name(size_t index)
{
	return index < tw_ranks_table_count ? tw_ranks_tables[index]->table.name : NULL;
}

bool trawl_job_report_declares(size_t index, struct trawl_table_declaration *out)
{
	const struct tw_table_spec *const more[] = { &tw_findings_spec,
						     &tw_ranks_table_rank_outliers.table };
	const size_t before = sizeof(more) / sizeof(more[0]);

	if (index >= before + tw_ranks_table_count)
		return false;
	*out = tw_declaration(index < before ? more[index] :
					       &tw_ranks_tables[index - before]->table);
	return true;
}
