/*
 * Prints the findings of a trace, or of the ranks of a job, as CSV.
 *
 * usage: findings_dump [--step N-M] TRACE...
 */
#include "diagnose/job_diagnosis.h"
#include "render/render.h"

#include <stdio.h>
#include <string.h>

static int diagnose(struct tw_diagnosis *d, const struct trawl_report_options *report,
		    const char *const *files, size_t count, struct trawl_error *err)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	const struct tw_load_options options = { .attach = tw_diagnose_attach, .report = report };
	struct tw_rank_set set = { 0 };
	struct trawl_job job = { 0 };
	int status = tw_rank_set_find(&set, files, count, a, err);

	if (!status)
		status = tw_job_load(&job, &set, &options, a, err);
	if (!status)
		status = tw_diagnose_job(d, &job, 2, a);
	tw_job_release(&job);
	return status;
}

static int print(const struct tw_diagnosis *d, struct trawl_error *err)
{
	struct trawl_table *table = tw_findings_table(d, trawl_allocator_default());
	int status = table ? tw_table_finish(table, err) : TRAWL_ENOMEM;
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	if (!status)
		tw_render_csv(table, &out);
	if (out.ptr)
		fputs(out.ptr, stdout);
	tw_str_release(&out);
	trawl_table_free(table);
	return status;
}

int main(int argc, char **argv)
{
	struct trawl_error err = { 0 };
	struct tw_diagnosis d = { 0 };
	struct trawl_report_options report;
	const char *const *files = (const char *const *)argv + 1;
	size_t count = (size_t)argc - 1;
	int status = -1;
	long first, last;

	trawl_report_options_init(&report);
	if (count > 2 && !strcmp(files[0], "--step") &&
	    sscanf(files[1], "%ld-%ld", &first, &last) == 2) {
		report.step_first = first;
		report.step_last = last;
		files += 2;
		count -= 2;
	}
	if (count)
		status = diagnose(&d, &report, files, count, &err);
	if (!status)
		status = print(&d, &err);
	tw_diagnosis_release(&d);
	if (status)
		fprintf(stderr, "findings_dump: %d %s\n", status, err.message);
	return status != 0;
}
