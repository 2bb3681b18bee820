/* trawl sweep aggregate: the reports of a sweep in one table each. */
#include "cli/sweep/sweep.h"

#include "study/sweep/aggregate.h"

#include <stddef.h>

static int print_digests(const struct tw_aggregate *a)
{
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	tw_timelines_digest(a->timelines, cli_width(), &out);
	if (out.len && a->collectives)
		tw_str_add_char(&out, '\n');
	tw_comms_digest(a->comms, cli_width(), &out);
	return cli_print_str(&out);
}

static int print_aggregate(const struct tw_aggregate *a, enum tw_format format)
{
	const struct trawl_table *shown[2];
	struct trawl_table *tables[TW_TIMELINE_TABLES], *comms = NULL;
	struct trawl_error err;
	size_t count = 0;
	int status, i;

	if (format == TW_FORMAT_TABLE)
		return print_digests(a);
	status = tw_timelines_tables(a->timelines, false, tables, &err);
	if (!status)
		status = tw_comms_table(a->comms, &comms, &err);
	if (tables[0])
		shown[count++] = tables[0];
	if (comms)
		shown[count++] = comms;
	status = status ? cli_fail(&err) :
			  cli_print_tables(shown, count, format, "sweep_aggregate", cli_width());
	for (i = 0; i < TW_TIMELINE_TABLES; i++)
		tw_table_free(tables[i]);
	tw_table_free(comms);
	return status;
}

static int aggregate_reports(struct tw_aggregate *a, const struct cli_sweep *s)
{
	struct trawl_error err;
	int status;
	size_t i;

	for (i = 0; i < s->sweep.count; i++)
		tw_aggregate_point(a, &s->sweep.points[i]);
	cli_tell_notes(&a->notes, false);
	if (!a->reports && !a->collectives) {
		cli_message("%s: no readable report: run 'trawl sweep report'", s->sweep.directory);
		return CLI_FAILED;
	}
	if (!a->collectives && !s->common.quiet)
		cli_message("no collective report with collectives: nccl_master_all_configs "
			    "skipped");
	if (tw_aggregate_write(a, &s->sweep, &err))
		return cli_fail(&err);
	status = print_aggregate(a, s->common.format);
	return status == CLI_DONE && (a->incomplete || s->sweep.incomplete) ? CLI_INCOMPLETE :
									      status;
}

static const struct cli_options options[] = {
	CLI_SWEEP(0),
	CLI_COMMON(offsetof(struct cli_sweep, common)),
	{ 0 },
};

static int aggregate_sweep(const struct cli_command *command, int argc, char **argv)
{
	struct cli_sweep s = { 0 };
	struct tw_aggregate a;
	struct trawl_error err;
	int status = cli_sweep_begin(&s, command, &s, argc, argv);

	if (status >= 0)
		return status;
	status = tw_aggregate_init(&a, &err) ? cli_fail(&err) : aggregate_reports(&a, &s);
	tw_aggregate_release(&a);
	tw_sweep_release(&s.sweep);
	return status;
}

const struct cli_command cli_sweep_aggregate = {
	"sweep aggregate",
	"DIR",
	"combine existing reports, all configurations in one table",
	"Writes into tracelens_analysis: gpu_timeline_all_configs_mean.xlsx,\n"
	"gpu_timeline_all_configs_geomean.xlsx, nccl_master_all_configs.xlsx and .csv, from the\n"
	"reports that 'trawl sweep report' or TraceLens wrote there, workbooks or directories of\n"
	"CSV files. Prints the configuration with the least time, by part and by collective.\n\n"
	"  trawl sweep aggregate experiments/sweep_20251124_222204\n",
	options,
	aggregate_sweep,
};
