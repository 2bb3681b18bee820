/* trawl sweep merge: one timeline a configuration, of all its ranks. */
#include "cli/sweep/sweep_point.h"

#include "base/alloc.h"
#include "table/table.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { CONFIGURATION, RANKS, SLICES, FILE_NAME };

static const struct trawl_column columns[] = {
	[CONFIGURATION] = TW_TEXT("configuration", 18, "threads and channels", .values = "!"),
	[RANKS] = TW_INTEGER("ranks", 6, "ranks with a trace", .values = "!"),
	[SLICES] = TW_INTEGER("slices", 12, "slices of GPUs and hosts in the merged trace",
			      .values = "!"),
	[FILE_NAME] = TW_TEXT("file", 40, "the merged trace, below the directory of results",
			      .values = "!"),
};

static const struct tw_table_spec spec = TW_SPEC(
	"merged_traces", "the merged timeline of each configuration", columns, .keep_empty = true);

static void add_row(struct trawl_table *table, const struct cli_sweep_made *made)
{
	const struct tw_sweep *sweep = &made->of->sweep;
	size_t row = tw_table_add_row(table), i;
	int64_t ranks = 0;
	struct tw_str path;

	for (i = 0; i < made->point->rank_count; i++)
		ranks += made->point->ranks[i].trace != NULL;
	tw_str_init(&path, trawl_allocator_default());
	tw_sweep_merged_path(sweep, made->point, &path);
	tw_table_set_str(table, row, CONFIGURATION, made->point->name);
	tw_table_set_integer(table, row, RANKS, ranks);
	tw_table_set_integer(table, row, SLICES, (int64_t)made->merged_slices);
	if (!path.failed)
		tw_table_set_str(table, row, FILE_NAME, path.ptr + strlen(sweep->output) + 1);
	tw_str_release(&path);
}

static int print(const struct cli_sweep *s, const struct cli_sweep_made *made)
{
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	size_t i;

	for (i = 0; table && i < s->sweep.count; i++)
		if (made[i].merged_slices)
			add_row(table, &made[i]);
	table = tw_table_finished(table);
	if (!table || trawl_table_rows(table))
		return cli_print_table(table, s->common.format, "sweep_merge");
	cli_message("%s: nothing to merge", s->sweep.directory);
	tw_table_free(table);
	return CLI_FAILED;
}

int cli_sweep_merge(const struct cli_command *command, int argc, char **argv)
{
	struct cli_sweep s = { .command = command };
	struct cli_option own[5], common[8];
	const struct cli_option *const tables[] = { own, common };
	struct cli_sweep_made *made;
	int status;
	size_t i;

	cli_sweep_options(&s, own, common);
	status = cli_sweep_begin(&s, tables, 2, argc, argv);
	if (status >= 0)
		return status;
	made = tw_alloc_array(trawl_allocator_default(), s.sweep.count, sizeof(*made));
	if (made) {
		int printed;

		status = cli_sweep_make_all(&s, CLI_MAKE_MERGED, made);
		printed = status == CLI_FAILED ? CLI_FAILED : print(&s, made);
		status = printed == CLI_DONE ? status : printed;
		for (i = 0; i < s.sweep.count; i++)
			cli_sweep_made_release(&made[i]);
		tw_free(trawl_allocator_default(), made, s.sweep.count * sizeof(*made));
	} else {
		status = cli_no_memory();
	}
	tw_sweep_release(&s.sweep);
	return status;
}
