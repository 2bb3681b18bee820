/* trawl tables: which tables there are, and which columns a table has. */
#include "cli/trace/tables.h"

#include "render/cell.h"
#include "render/column_ids.h"
#include "table/table.h"

#include <stddef.h>
#include <string.h>

enum { NAME, OF, MEANING };

static const struct trawl_column table_columns[] = {
	[NAME] = TW_TEXT("table", 24, "its name", .values = "!"),
	[OF] = TW_TEXT("of", 8,
		       "trace: of one trace and, most of them, over ranks; ranks: of ranks",
		       .values = "!trace|ranks"),
	[MEANING] = TW_TEXT("meaning", 60, "what a row is", .values = "!"),
};

static const struct tw_table_spec tables_spec =
	TW_SPEC("tables", "tables for report --table", table_columns);

enum { TABLE, ID, HEADER, TYPE, UNIT, COLUMN_MEANING };

static const struct trawl_column column_columns[] = {
	[TABLE] = TW_TEXT("table", 24, "its table", .values = "!"),
	[ID] = TW_TEXT("id", 24, "for --columns and --sort, and the key in JSON Lines",
		       .values = "!"),
	[HEADER] = TW_TEXT("header", 24, "as in CSV and workbooks", .values = "!"),
	[TYPE] = TW_TEXT("type", 8, "type of its cells", .values = "!text|integer|decimal|real|id"),
	[UNIT] = TW_TEXT("unit", 6, "its unit"),
	[COLUMN_MEANING] = TW_TEXT("meaning", 60, "what a cell is", .values = "!"),
};

static const struct tw_table_spec columns_spec =
	TW_SPEC("columns", "columns of tables", column_columns);

typedef bool declares(size_t index, struct trawl_table_declaration *out);

static void add_tables(struct trawl_table *table, declares *of, const char *what)
{
	struct trawl_table_declaration known;
	size_t i;

	for (i = 0; table && of(i, &known); i++) {
		size_t row = tw_table_add_row(table);

		tw_table_set_str(table, row, NAME, known.name);
		tw_table_set_str(table, row, OF, what);
		tw_table_set_str(table, row, MEANING, known.meaning);
	}
}

/* False: out of memory. */
static bool add_columns(struct trawl_table *table, const struct trawl_table_declaration *of)
{
	const struct tw_table_spec spec = { .name = of->name,
					    .meaning = of->meaning,
					    .columns = of->columns,
					    .column_count = of->column_count };
	const struct trawl_allocator *a = trawl_allocator_default();
	struct trawl_table *declared = tw_table_new(&spec, a);
	bool made;
	struct tw_column_ids ids;
	size_t i, row;

	if (!declared)
		return false;
	made = tw_column_ids_make(&ids, declared, a);
	for (i = 0; made && i < ids.count; i++) {
		const struct trawl_column *column = &of->columns[i];

		row = tw_table_add_row(table);
		tw_table_set_str(table, row, TABLE, of->name);
		tw_table_set_str(table, row, ID, ids.text.ptr + ids.begin[i]);
		tw_table_set_str(table, row, HEADER, column->header);
		tw_table_set_str(table, row, TYPE, tw_column_type_name(column));
		if (*column->unit)
			tw_table_set_str(table, row, UNIT, column->unit);
		tw_table_set_str(table, row, COLUMN_MEANING, column->meaning);
	}
	tw_column_ids_release(&ids, a);
	trawl_table_free(declared);
	return made;
}

static bool add_columns_of(struct trawl_table *table, declares *of, const char *name)
{
	struct trawl_table_declaration known;
	size_t i;

	for (i = 0; of(i, &known); i++)
		if (!strcmp(known.name, name))
			return add_columns(table, &known) || cli_no_memory();
	return false;
}

static const struct cli_options options[] = { CLI_TABLE(0), { 0 } };

static int tables(const struct cli_command *command, int argc, char **argv)
{
	struct cli_common common = { 0 };
	struct trawl_table *table;
	struct trawl_error err;
	int count, status = cli_begin(command, &common, argc, argv, &count), i;

	if (status >= 0)
		return status;
	table = tw_table_new(count ? &columns_spec : &tables_spec, trawl_allocator_default());
	if (!count) {
		add_tables(table, trawl_report_declares, "trace");
		add_tables(table, trawl_job_report_declares, "ranks");
	}
	for (i = 0; table && i < count; i++)
		if (!add_columns_of(table, trawl_report_declares, argv[i]) &&
		    !add_columns_of(table, trawl_job_report_declares, argv[i])) {
			trawl_table_free(table);
			cli_unknown_table(argv[i], strlen(argv[i]), true, &err);
			return cli_usage_error(command, "%s", err.message);
		}
	return cli_print_table(table, common.format, count ? "table_columns" : "tables");
}

const struct cli_command cli_command_tables = {
	"tables",
	"[NAME...]",
	"list the tables for report --table, or the columns of some of them",
	"  trawl tables\n"
	"  trawl tables kernels steps\n",
	options,
	tables,
};
