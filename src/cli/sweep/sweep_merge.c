/* trawl sweep merge: one timeline a configuration, of all its ranks. */
#include "cli/sweep/sweep.h"

#include "table/table.h"

#include <stddef.h>
#include <string.h>

enum { CONFIGURATION, RANKS, SLICES, FILE_NAME };

static const struct trawl_column columns[] = {
	[CONFIGURATION] = TW_TEXT("configuration", 18, "threads and channels", .values = "!"),
	[RANKS] = TW_INTEGER("ranks", 6, "number of ranks with a trace", .values = "!"),
	[SLICES] =
		TW_INTEGER("slices", 12, "GPU and host slices in the merged trace", .values = "!"),
	[FILE_NAME] = TW_TEXT("file", 40, "merged trace, relative to the output directory",
			      .values = "!"),
};

static const struct tw_table_spec spec = TW_SPEC(
	"merged_traces", "merged timeline of each configuration", columns, .keep_empty = true);

static void add_merged(struct trawl_table *table, const struct tw_point_analysis *p)
{
	size_t row = tw_table_add_row(table), i;
	int64_t ranks = 0;
	struct tw_str path;

	for (i = 0; i < p->point->rank_count; i++)
		ranks += p->point->ranks[i].trace != NULL;
	tw_str_init(&path, trawl_allocator_default());
	tw_sweep_merged_path(p->sweep, p->point, &path);
	tw_table_set_str(table, row, CONFIGURATION, p->point->name);
	tw_table_set_integer(table, row, RANKS, ranks);
	tw_table_set_integer(table, row, SLICES, (int64_t)p->merged_slices);
	if (!path.failed)
		tw_table_set_str(table, row, FILE_NAME, path.ptr + strlen(p->sweep->output) + 1);
	tw_str_release(&path);
}

static int print_merged(const struct cli_sweep *s, const struct tw_point_analysis *points)
{
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	size_t i;

	for (i = 0; table && i < s->sweep.count; i++)
		if (points[i].merged_slices)
			add_merged(table, &points[i]);
	table = tw_table_finished(table);
	if (!table || trawl_table_rows(table))
		return cli_print_table(table, s->common.format, "sweep_merge");
	cli_message("%s: nothing to merge", s->sweep.directory);
	tw_table_free(table);
	return CLI_FAILED;
}

static const struct cli_options options[] = {
	CLI_SWEEP(0),
	CLI_COMMON(offsetof(struct cli_sweep, common)),
	{ 0 },
};

static int merge_sweep(const struct cli_command *command, int argc, char **argv)
{
	struct cli_sweep s = { 0 };
	struct tw_point_analysis *points;
	int printed, status = cli_sweep_begin(&s, command, &s, argc, argv);

	if (status >= 0)
		return status;
	points = cli_alloc(s.sweep.count, sizeof(*points));
	status = cli_sweep_analyse(&s, &s.sweep, false, TW_POINT_MERGED, points);
	printed = status == CLI_FAILED ? CLI_FAILED : print_merged(&s, points);
	cli_sweep_release_points(points, s.sweep.count);
	tw_sweep_release(&s.sweep);
	return printed == CLI_DONE ? status : printed;
}

const struct cli_command cli_sweep_merge = {
	"sweep merge",
	"DIR",
	"merge all ranks into one timeline per configuration",
	"Writes merged_traces/<T>thread_<C>ch_merged.json for each configuration, traces that\n"
	"https://ui.perfetto.dev opens, and prints what is in them.\n\n"
	"  trawl sweep merge experiments/sweep_20251124_222204 --threads 256 --channels 28\n",
	options,
	merge_sweep,
};
