/* trawl replay: packages with which operations of a trace can be run again elsewhere. */
#include "cli/cli.h"

#include "base/alloc.h"
#include "standalone/replay/replay.h"
#include "table/table.h"

#include <stddef.h>

static const struct trawl_column columns[] = {
	TW_TEXT("package", 60, "file, in the directory given",
		.values = "!~^replay_packages/[A-Za-z0-9._-]*_replay_package\\.zip$"),
	TW_TEXT("operation", 40, "operator name in the trace"),
	TW_INTEGER("argument sets", 10, "distinct argument sets (shapes, types, strides, values)",
		   .values = "!>=1"),
	TW_MEAN_MS("kernel time", 12, "sum of its kernels' durations", .values = ">=0"),
	TW_PERCENT_2("of compute", 10, "kernel time / compute time", .values = ">=0"),
	TW_PERCENT_2("efficiency", 10,
		     "% of the roofline, else of the peak, weighted by kernel time",
		     .values = ">=0"),
};

static const struct tw_table_spec spec =
	TW_SPEC("replay_packages", "replay packages written", columns, .keep_empty = true);

static void add_package(struct trawl_table *table, const struct tw_replay_op *op)
{
	size_t row = tw_table_add_row(table);
	struct tw_str path;

	tw_str_init(&path, trawl_allocator_default());
	tw_str_addf(&path, "%s/%s", TW_REPLAY_FOLDER, op->file);
	tw_table_set_text(table, row, 0, path.ptr, path.len);
	tw_str_release(&path);
	tw_table_set_str(table, row, 1, op->name);
	tw_table_set_integer(table, row, 2, (int64_t)op->rows);
	tw_table_set_real(table, row, 3, op->time_us / 1000);
	tw_table_set_real(table, row, 4, op->percent_of_compute);
	tw_table_set_real(table, row, 5, op->efficiency_percent);
}

static int print_packages(const struct tw_replay_ops *ops, const bool *chosen, bool named,
			  enum tw_format format)
{
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	size_t i, written = 0;

	for (i = 0; table && i < ops->count; i++) {
		if (chosen[i])
			add_package(table, &ops->op[i]);
		written += chosen[i];
	}
	if (table && !written && !named)
		tw_table_add_note(table, "no operator has enough compute time at low efficiency: "
					 "choose with --ops");
	return cli_print_table(table, format, "replay");
}

static int write_packages(const char *dir, const struct cli_texts *names, enum tw_format format)
{
	const struct trawl_allocator *allocator = trawl_allocator_default();
	struct tw_prepared prepared;
	struct tw_replay_ops ops;
	struct trawl_error err;
	bool *chosen = NULL;
	int status;

	tw_prepared_init(&prepared, dir, allocator);
	if (!tw_prepared_has(&prepared, "", TW_MANIFEST)) {
		cli_message("no %s in '%s': run 'trawl prepare TRACE -o DIR'", TW_MANIFEST, dir);
		status = CLI_FAILED;
	} else if (tw_replay_packages(&prepared, names->count ? names->text : NULL, names->count,
				      &ops, &chosen, &err)) {
		status = cli_fail(&err);
	} else {
		status = print_packages(&ops, chosen, names->count, format);
		tw_free(allocator, chosen, (ops.count + 1) * sizeof(*chosen));
	}
	tw_prepared_release(&prepared);
	return status;
}

struct replay_command {
	struct cli_common common;
	struct cli_texts names;
};

#define AT(member) offsetof(struct replay_command, member)

static const struct cli_option own_options[] = {
	{ "ops", 0, &cli_strings, "NAME...", AT(names),
	  "operators to package; also as arguments after DIR" },
	{ 0 },
};

static const struct cli_options options[] = {
	{ .list = own_options },
	CLI_TABLE(AT(common)),
	{ 0 },
};

static int replay(const struct cli_command *command, int argc, char **argv)
{
	struct replay_command c = { .names.count = 0 };
	int count, i, status = cli_begin(command, &c, argc, argv, &count);

	if (status >= 0)
		return status;
	if (!count)
		return cli_usage_error(command, "missing DIR argument: run 'trawl prepare' to "
						"make one");
	if (count > 1 && !c.names.count)
		return cli_usage_error(
			command, "unexpected argument '%.60s': name operators with --ops", argv[1]);
	for (i = 1; i < count; i++)
		cli_add_text(&c.names, argv[i]);
	return write_packages(argv[0], &c.names, c.common.format);
}

const struct cli_command cli_command_replay = {
	"replay",
	"DIR",
	"write replay packages of operators",
	"DIR is the directory of an analysis. Writes\n"
	"DIR/replay_packages/<op>_replay_package.zip for each operator named, else for those\n"
	"with much compute time at low efficiency: arguments, times, and a\n"
	"Python script that rebuilds and times it with PyTorch. Prints the packages written.\n\n"
	"  trawl replay analysis_output --ops aten::addmm aten::mm\n",
	options,
	replay,
};
