/*
 * Where the GPU time of a trace went, in a few lines.
 *
 *	cc timeline.c -ltrawl -o timeline && ./timeline sample.json.gz
 */
#include <stdio.h>
#include <trawl/trawl.h>

int main(int argc, char **argv)
{
	struct trawl_trace *trace = NULL;
	struct trawl_report *report = NULL;
	const struct trawl_table *table;
	struct trawl_error err;
	size_t row;

	if (argc != 2)
		return fprintf(stderr, "usage: timeline TRACE\n"), 2;
	if (trawl_trace_read(&trace, argv[1], NULL, &err) ||
	    trawl_report_new(&report, trace, NULL, &err)) {
		fprintf(stderr, "timeline: %s\n", err.message);
		trawl_trace_free(trace);
		return 1;
	}
	table = trawl_report_find(report, "gpu_timeline");
	for (row = 0; table && row < trawl_table_rows(table); row++) {
		struct trawl_cell type = trawl_table_cell(table, row, 0);
		struct trawl_cell time = trawl_table_cell(table, row, 1);

		printf("%-20.*s %14.6f ms\n", (int)type.text_len, type.text, time.integer / 1e6);
	}
	trawl_report_free(report);
	trawl_trace_free(trace);
	return 0;
}
