/*
 * Who holds up a job, from the traces of its ranks: files, a directory or a pattern.
 *
 *	cc ranks.c -ltrawl -o ranks && ./ranks sample.json.gz
 */
#include <stdio.h>
#include <trawl/trawl.h>

static void print_note(void *context, const char *line)
{
	(void)context;
	fprintf(stderr, "ranks: %s\n", line);
}

static void print_ranks(const struct trawl_job *job)
{
	size_t i;

	for (i = 0; i < trawl_job_ranks(job); i++) {
		struct trawl_rank rank = trawl_job_rank(job, i);

		printf("rank %lld: %s, %llu GPU events, %s\n", (long long)rank.rank, rank.device,
		       (unsigned long long)rank.gpu_events, rank.path);
	}
}

/* A sentence a row. */
static void print_verdict(const struct trawl_job_report *report)
{
	const struct trawl_table *table = trawl_job_report_find(report, "verdict");
	size_t row, column;

	if (!table)
		return;
	column = trawl_table_find_column(table, "text");
	for (row = 0; row < trawl_table_rows(table); row++) {
		struct trawl_cell text = trawl_table_cell(table, row, column);

		printf("%.*s\n", (int)text.text_len, text.text);
	}
}

int main(int argc, char **argv)
{
	struct trawl_job_options options;
	struct trawl_job_report *report = NULL;
	struct trawl_job *job = NULL;
	struct trawl_error err;

	if (argc < 2)
		return fprintf(stderr, "usage: ranks TRACE...\n"), 2;
	trawl_job_options_init(&options);
	options.note = print_note;
	if (trawl_job_read(&job, (const char *const *)argv + 1, (size_t)argc - 1, &options, &err) ||
	    trawl_job_report_new(&report, job, NULL, &err)) {
		fprintf(stderr, "ranks: %s\n", err.message);
		trawl_job_free(job);
		return 1;
	}
	print_ranks(job);
	print_verdict(report);
	trawl_job_report_free(report);
	trawl_job_free(job);
	return 0;
}
