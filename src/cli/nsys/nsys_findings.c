/* trawl nsys findings: what limits the run of an export, over its ranks. */
#include "cli/nsys/nsys_findings.h"

#include "cli/analyze/findings.h"
#include "cli/exporting.h"
#include "cli/ranks/ranks.h"

static int print_findings(const struct trawl_diagnosis *diagnosis, const struct cli_common *common)
{
	const struct trawl_table *table = trawl_diagnosis_findings(diagnosis);
	struct cli_screen s;

	if (common->format != TW_FORMAT_TABLE)
		return cli_print_tables(&table, 1, common->format, "nsys", 0);
	cli_screen_init(&s);
	cli_add_findings(&s, diagnosis);
	return cli_screen_print(&s);
}

static int find_and_print(struct cli_ranks *ranks, const char *path)
{
	struct trawl_diagnosis *diagnosis = NULL;
	struct trawl_job *job = NULL;
	int loaded = cli_load_job(&job, ranks, &path, 1), status;

	if (loaded != CLI_DONE && loaded != CLI_INCOMPLETE)
		return loaded;
	status = cli_diagnose_job(&diagnosis, job, ranks);
	if (status == CLI_DONE)
		status = print_findings(diagnosis, ranks->common);
	trawl_diagnosis_free(diagnosis);
	trawl_job_free(job);
	return status == CLI_DONE ? loaded : status;
}

int cli_nsys_findings(const struct cli_command *command, struct cli_reporting *r)
{
	struct cli_ranks ranks = {
		.common = &r->common,
		.options = { .report = &r->options, .collectives_only = true, .findings = true }
	};
	struct cli_exported exported;
	struct trawl_error err;
	int status = cli_reporting_view(r, command);

	if (status >= 0)
		return status;
	if (cli_export(&exported, r->path, &r->common, &err))
		return cli_fail(&err);
	status = find_and_print(&ranks, exported.path);
	cli_export_end(&exported);
	return status;
}
