/* trawl platforms: known GPUs, or one with the source of each figure. */
#include "cli/cli.h"

#include "table/table.h"
#include "trawl/model.h"

#include <ctype.h>
#include <string.h>

#define MOST_COLUMNS 64
#define PREFIX_LEN 7 /* of "matrix_" and "vector_" */

static const struct tw_table_spec matrix_spec = {
	.name = "platforms",
	.meaning = "memory, and dense matrix peaks in TFLOP/s (TOP/s for int8)",
	.keep_empty = true,
};
static const struct tw_table_spec vector_spec = {
	.name = "vector peaks",
	.meaning = "in TFLOP/s",
	.keep_empty = true,
};

/* ---- all of them */

/* Such peaks are in the thousands: without decimals all of them fit a terminal. */
static bool is_of_few_bits(const char *peak)
{
	size_t len = strlen(peak);

	/* One digit in "fp8", "fp6", "fp4", "int8". */
	return !isdigit((unsigned char)peak[len - 2]);
}

static bool starts(const char *header, const char *with)
{
	return !strncmp(header, with, strlen(with));
}

/* Of a column of the whole table, as the one for matrices or for vectors has it; false: not. */
static bool take_column(struct trawl_column *column, bool vector)
{
	if (starts(column->header, vector ? "vector_" : "matrix_")) {
		column->digits = is_of_few_bits(column->header) ? 0 : 1;
		column->header += PREFIX_LEN;
		return true;
	}
	if (starts(column->header, "mem"))
		column->header = starts(column->header, "mem_bw") ? "GB/s" : "GB";
	else if (strcmp(column->header, vector ? "marks" : "platform") != 0)
		return !strcmp(column->header, "platform");
	else
		return true;
	return !vector;
}

/* The part of the whole table that fits a terminal. */
static struct trawl_table *part_of(const struct trawl_table *whole, bool vector)
{
	size_t from[MOST_COLUMNS], count = 0, row, i;
	struct trawl_column columns[MOST_COLUMNS];
	struct trawl_table *table;

	for (i = 0; i < trawl_table_columns(whole) && count < MOST_COLUMNS; i++) {
		columns[count] = *trawl_table_column(whole, i);
		from[count] = i;
		count += take_column(&columns[count], vector);
	}
	table = tw_table_new_columns(vector ? &vector_spec : &matrix_spec, columns, count,
				     trawl_allocator_default());
	for (row = 0; table && row < trawl_table_rows(whole); row++) {
		tw_table_add_row(table);
		for (i = 0; i < count; i++)
			tw_table_copy_cell(table, row, i, whole, row, from[i]);
	}
	if (table && vector)
		tw_table_add_note(table, "mark and source of each figure: 'trawl platforms NAME'");
	return tw_table_finished(table);
}

/* A terminal is too narrow for all columns; who reads by program wants one table. */
static int list_all(enum tw_format format)
{
	struct trawl_table *whole, *parts[2];
	struct trawl_error err;
	int status;

	if (trawl_platforms(&whole, &err))
		return cli_fail(&err);
	if (format != TW_FORMAT_TABLE && format != TW_FORMAT_MARKDOWN)
		return cli_print_table(whole, format, "platforms");
	parts[0] = part_of(whole, false);
	parts[1] = part_of(whole, true);
	status = parts[0] && parts[1] ? cli_print_tables((const struct trawl_table *const *)parts,
							 2, format, "platforms", cli_width()) :
					cli_no_memory();
	trawl_table_free(parts[0]);
	trawl_table_free(parts[1]);
	trawl_table_free(whole);
	return status;
}

/* Sources are to be read whole. */
static int show_one(const char *name, enum tw_format format)
{
	struct trawl_table *table;
	struct trawl_error err;
	int status;

	if (trawl_platform_facts(&table, name, &err))
		return cli_fail(&err);
	status = cli_print_tables((const struct trawl_table *const *)&table, 1, format, "platforms",
				  0);
	trawl_table_free(table);
	return status;
}

static const struct cli_options options[] = { CLI_TABLE(0), { 0 } };

static int platforms(const struct cli_command *command, int argc, char **argv)
{
	struct cli_common common = { 0 };
	int count, status = cli_begin(command, &common, argc, argv, &count);

	if (status >= 0)
		return status;
	if (count > 1)
		return cli_usage_error(command, "more than one platform: '%.60s'", argv[1]);
	return count ? show_one(argv[0], common.format) : list_all(common.format);
}

const struct cli_command cli_command_platforms = {
	"platforms",
	"[NAME]",
	"known GPUs, their bandwidth and peaks",
	"Prints the bandwidth and peaks of each known GPU that rooflines use; of one GPU, each\n"
	"figure with its source. Writes no file.\n"
	"\n"
	"  trawl platforms MI300X\n",
	options,
	platforms,
};
