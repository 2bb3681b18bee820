/* trawl replay: packages with which operations of a trace can be run again elsewhere. */
#include "cli/cli.h"

#include "base/alloc.h"
#include "standalone/replay.h"
#include "table/table.h"

#include <stdio.h>

static const struct trawl_column columns[] = {
	TW_TEXT("package", 60, "the file, in the directory given",
		.values = "!~^replay_packages/[A-Za-z0-9._-]*_replay_package\\.zip$"),
	TW_TEXT("operation", 40, "name as the profiler recorded it"),
	TW_INTEGER("argument sets", 10, "calls that differ in shapes, types, strides or values",
		   .values = "!>=1"),
	TW_MEAN_MS("kernel time", 12, "time of its GPU kernels", .values = ">=0"),
	TW_PERCENT_2("of compute", 10, "that time to the time in which anything computes",
		     .values = ">=0"),
	TW_PERCENT_2("efficiency", 10,
		     "of the roofline, else of the peak that bounds it, by kernel time",
		     .values = ">=0"),
};

static const struct tw_table_spec spec = TW_SPEC(
	"replay_packages", "replay packages that were written", columns, .keep_empty = true);

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
	const struct trawl_table *tables[] = { table };
	struct trawl_error err;
	size_t i, written = 0;
	int status;

	if (!table)
		return cli_no_memory();
	for (i = 0; i < ops->count; i++) {
		if (chosen[i])
			add_package(table, &ops->op[i]);
		written += chosen[i];
	}
	if (!written && !named)
		tw_table_add_note(table, "no operation takes so much of the compute time at so low "
					 "an efficiency; --ops names others");
	status = tw_table_finish(table, &err) ?
			 cli_fail(&err) :
			 cli_print_tables(tables, 1, format, "replay", cli_width());
	tw_table_free(table);
	return status;
}

static int run(const char *dir, const struct cli_texts *names, enum tw_format format)
{
	const struct trawl_allocator *allocator = trawl_allocator_default();
	struct tw_prepared prepared;
	struct tw_replay_ops ops;
	struct trawl_error err;
	bool *chosen = NULL;
	int status;

	tw_prepared_init(&prepared, dir, allocator);
	if (!tw_prepared_has(&prepared, "", TW_MANIFEST)) {
		cli_message("no %s in '%s': 'trawl prepare TRACE -o DIR' makes it", TW_MANIFEST,
			    dir);
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

int cli_replay(const struct cli_command *command, int argc, char **argv)
{
	const struct trawl_allocator *allocator = trawl_allocator_default();
	size_t room = (size_t)argc + 1;
	struct cli_texts names = { tw_alloc_array(allocator, room, sizeof(*names.text)), 0 };
	const struct cli_option own[] = {
		{ "ops", 0, CLI_TEXTS, "NAME...", &names,
		  "the operations; names behind DIR count too" },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};
	struct cli_common common;
	struct cli_option options[8];
	const struct cli_option *const tables[] = { own, options };
	int count, status, i;

	if (!names.text)
		return cli_no_memory();
	cli_table_options(&common, options);
	status = cli_begin(command, tables, 2, argc, argv, &count);
	if (status < 0 && !count)
		status = cli_usage_error(command, "which directory? 'trawl prepare' makes one");
	else if (status < 0 && count > 1 && !names.count)
		status =
			cli_usage_error(command, "'%.60s': operations are named by --ops", argv[1]);
	for (i = 1; status < 0 && i < count; i++)
		names.text[names.count++] = argv[i];
	if (status < 0)
		status = run(argv[0], &names, common.format);
	tw_free(allocator, names.text, room * sizeof(*names.text));
	return status;
}
