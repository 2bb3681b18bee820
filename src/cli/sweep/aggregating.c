#include "cli/sweep/aggregating.h"

#include "base/alloc.h"
#include "os/file.h"
#include "table/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int cli_aggregate_begin(struct cli_aggregate *a)
{
	*a = (struct cli_aggregate){
		.timelines = tw_timelines_new(trawl_allocator_default()),
		.comms = tw_comms_new(trawl_allocator_default()),
	};
	return a->timelines && a->comms ? CLI_DONE : cli_no_memory();
}

void cli_aggregate_end(struct cli_aggregate *a)
{
	tw_timelines_free(a->timelines);
	tw_comms_free(a->comms);
}

static void left_out(struct cli_aggregate *a, const char *name, const char *why)
{
	a->incomplete = true;
	cli_message("%s: left out: %s", name, why);
}

/* The message names the report. */
static void unreadable(struct cli_aggregate *a, const struct trawl_error *err)
{
	a->incomplete = true;
	cli_message("left out: %s", err->message);
}

void cli_aggregate_report(struct cli_aggregate *a, const struct tw_sweep_point *point, int64_t rank,
			  struct tw_book *book)
{
	const struct tw_csv *sheet;
	struct trawl_error err;
	bool damaged;

	if (tw_book_sheet(book, "gpu_timeline", &sheet, &err) ||
	    tw_book_is_damaged(book, &damaged, &err))
		unreadable(a, &err);
	else if (damaged)
		left_out(a, tw_book_name(book),
			 "parts of its trace are lost: its times are too short for the means");
	else if (!sheet)
		left_out(a, tw_book_name(book), "no sheet 'gpu_timeline'");
	else if (tw_timelines_add(a->timelines, point->threads, point->channels, rank, sheet, &err))
		left_out(a, tw_book_name(book), err.message);
	else
		a->reports++;
}

void cli_aggregate_collective(struct cli_aggregate *a, const struct tw_sweep_point *point,
			      struct tw_book *book)
{
	const char *name = tw_book_name(book);
	const struct tw_csv *sheet;
	struct trawl_error err;
	struct tw_str source;

	tw_str_init(&source, trawl_allocator_default());
	if (strcmp(name, point->name) != 0)
		tw_str_add_cstr(&source, tw_file_name(name));
	else
		tw_str_addf(&source, "collective_%" PRId64 "ch.xlsx", point->channels);

	if (tw_book_sheet(book, "nccl_summary_implicit_sync", &sheet, &err))
		unreadable(a, &err);
	else if (!sheet || !sheet->rows)
		cli_message("%s: no collectives that ranks wait for: not in the master table",
			    name);
	else if (source.failed)
		left_out(a, name, "out of memory");
	else if (tw_comms_add(a->comms, point->threads, point->channels, source.ptr, sheet, &err))
		left_out(a, name, err.message);
	else
		a->collectives++;
	tw_str_release(&source);
}

/* ---- files */

static int write_book(struct cli_aggregate *a, const struct tw_sweep *sweep, const char *name,
		      struct trawl_table *const *tables, size_t count)
{
	const struct trawl_allocator *allocator = trawl_allocator_default();
	struct trawl_error err;
	struct tw_str path;
	int status;

	tw_str_init(&path, allocator);
	tw_sweep_analysis_path(sweep, name, &path);
	if (path.failed)
		status = tw_no_memory(&err);
	else
		status = tw_render_xlsx((const struct trawl_table *const *)tables, count, path.ptr,
					allocator, &err);
	tw_str_release(&path);
	a->files += !status;
	return status ? cli_fail(&err) : CLI_DONE;
}

static int write_timelines(struct cli_aggregate *a, const struct tw_sweep *sweep, bool geometric)
{
	struct trawl_table *tables[TW_TIMELINE_TABLES];
	struct trawl_error err;
	int status = CLI_DONE, i;

	if (tw_timelines_tables(a->timelines, geometric, tables, &err))
		status = cli_fail(&err);
	else if (tables[0])
		status = write_book(a, sweep,
				    geometric ? "gpu_timeline_all_configs_geomean.xlsx" :
						"gpu_timeline_all_configs_mean.xlsx",
				    tables, TW_TIMELINE_TABLES);
	for (i = 0; i < TW_TIMELINE_TABLES; i++)
		tw_table_free(tables[i]);
	return status;
}

/* The CSV file is named like the workbook, not like its sheet. */
static int write_csv(struct cli_aggregate *a, const struct tw_sweep *sweep,
		     const struct trawl_table *table)
{
	struct trawl_error err;
	struct tw_str path, text;
	int status;

	tw_str_init(&path, trawl_allocator_default());
	tw_str_init(&text, trawl_allocator_default());
	tw_sweep_analysis_path(sweep, "nccl_master_all_configs.csv", &path);
	tw_render_csv(table, &text);
	if (path.failed)
		status = tw_no_memory(&err);
	else
		status = tw_sink_write_text(path.ptr, &text, trawl_allocator_default(), &err);
	tw_str_release(&path);
	tw_str_release(&text);
	a->files += !status;
	return status ? cli_fail(&err) : CLI_DONE;
}

static int write_comms(struct cli_aggregate *a, const struct tw_sweep *sweep)
{
	struct trawl_table *table;
	struct trawl_error err;
	int status = CLI_DONE;

	if (tw_comms_table(a->comms, &table, &err))
		status = cli_fail(&err);
	else if (table)
		status = write_book(a, sweep, "nccl_master_all_configs.xlsx", &table, 1);
	if (table && status == CLI_DONE)
		status = write_csv(a, sweep, table);
	tw_table_free(table);
	return status;
}

int cli_aggregate_write(struct cli_aggregate *a, const struct tw_sweep *sweep)
{
	int status = write_timelines(a, sweep, false);

	if (status == CLI_DONE)
		status = write_timelines(a, sweep, true);
	return status == CLI_DONE ? write_comms(a, sweep) : status;
}

/* ---- what is printed */

static int print_digests(const struct cli_aggregate *a)
{
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	tw_timelines_digest(a->timelines, cli_width(), &out);
	if (out.len && a->collectives)
		tw_str_add_char(&out, '\n');
	tw_comms_digest(a->comms, cli_width(), &out);
	return cli_print_str(&out);
}

static int print_tables(const struct cli_aggregate *a, enum tw_format format)
{
	const struct trawl_table *shown[2];
	struct trawl_table *tables[TW_TIMELINE_TABLES], *comms = NULL;
	struct trawl_error err;
	int status = tw_timelines_tables(a->timelines, false, tables, &err), i;
	size_t count = 0;

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

int cli_aggregate_print(const struct cli_aggregate *a, enum tw_format format)
{
	return format == TW_FORMAT_TABLE ? print_digests(a) : print_tables(a, format);
}
