#include "study/sweep/aggregate.h"

#include "analysis/analysis.h"
#include "base/alloc.h"
#include "io/sink.h"
#include "job/tables/all_tables.h"
#include "os/file.h"
#include "render/render.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int tw_aggregate_init(struct tw_aggregate *a, struct trawl_error *err)
{
	*a = (struct tw_aggregate){
		.timelines = tw_timelines_new(trawl_allocator_default()),
		.comms = tw_comms_new(trawl_allocator_default()),
	};
	tw_str_init(&a->notes, trawl_allocator_default());
	return a->timelines && a->comms ? 0 : tw_no_memory(err);
}

void tw_aggregate_release(struct tw_aggregate *a)
{
	tw_timelines_free(a->timelines);
	tw_comms_free(a->comms);
	tw_str_release(&a->notes);
}

/* ---- reports */

static void note_left_out(struct tw_aggregate *a, const char *name, const char *why)
{
	a->incomplete = true;
	tw_str_note(&a->notes, "%s: skipped: %s", name, why);
}

/* The message names the report. */
static void note_unreadable(struct tw_aggregate *a, const struct trawl_error *err)
{
	a->incomplete = true;
	tw_str_note(&a->notes, "skipped: %s", err->message);
}

static void add_report(struct tw_aggregate *a, const struct tw_sweep_point *point, int64_t rank,
		       struct tw_book *book)
{
	const struct trawl_table *table;
	struct trawl_error err;
	bool damaged;

	if (tw_book_table(book, &tw_analysis_gpu_timeline.table, &table, &err) ||
	    tw_book_is_damaged(book, &damaged, &err))
		note_unreadable(a, &err);
	else if (damaged)
		note_left_out(a, tw_book_name(book), "damaged trace: times are lower bounds");
	else if (!table)
		note_left_out(a, tw_book_name(book), "no sheet 'gpu_timeline'");
	else if (tw_timelines_add(a->timelines, point->threads, point->channels, rank, table, &err))
		note_left_out(a, tw_book_name(book), err.message);
	else
		a->reports++;
}

static void add_collectives(struct tw_aggregate *a, const struct tw_sweep_point *point,
			    struct tw_book *book)
{
	const char *name = tw_book_name(book), *source = tw_file_name(name);
	const struct trawl_table *table;
	struct trawl_error err;
	char file[64];

	/* One that is in memory has the name of the configuration. */
	if (!strcmp(name, point->name)) {
		snprintf(file, sizeof(file), "collective_%" PRId64 "ch.xlsx", point->channels);
		source = file;
	}
	if (tw_book_table(book, &tw_ranks_table_nccl_summary_implicit_sync.table, &table, &err))
		note_unreadable(a, &err);
	else if (!table || !trawl_table_rows(table))
		tw_str_note(&a->notes, "%s: no synchronizing collectives: not in the master table",
			    name);
	else if (tw_comms_add(a->comms, point->threads, point->channels, source, table, &err))
		note_left_out(a, name, err.message);
	else
		a->collectives++;
}

/* NULL when there is none or it cannot be read, which is noted. */
static struct tw_book *open_report(struct tw_aggregate *a, const char *path)
{
	struct trawl_error err;
	struct tw_book *book;

	if (!path)
		return NULL;
	if (!tw_book_open(&book, path, trawl_allocator_default(), &err))
		return book;
	note_unreadable(a, &err);
	return NULL;
}

void tw_aggregate_point(struct tw_aggregate *a, const struct tw_sweep_point *point)
{
	struct tw_book *book;
	size_t i;

	for (i = 0; i < point->rank_count; i++) {
		book = open_report(a, point->ranks[i].report);
		if (book)
			add_report(a, point, point->ranks[i].rank, book);
		tw_book_free(book);
	}
	book = open_report(a, point->collective_report);
	if (book)
		add_collectives(a, point, book);
	tw_book_free(book);
}

static int add_rank_tables(struct tw_aggregate *a, const struct tw_point_analysis *p, int64_t rank,
			   struct trawl_error *err)
{
	const struct trawl_table *const tables[] = {
		tw_point_rank_table(p, rank, "gpu_timeline"),
		tw_point_rank_table(p, rank, "quality"),
	};
	struct tw_book *book;
	char name[96];

	if (!tables[0])
		return 0;
	snprintf(name, sizeof(name), "%s rank %" PRId64, p->point->name, rank);
	if (tw_book_of_tables(&book, name, tables, tables[1] ? 2 : 1, trawl_allocator_default(),
			      err))
		return err->status;
	add_report(a, p->point, rank, book);
	tw_book_free(book);
	return 0;
}

int tw_aggregate_analysis(struct tw_aggregate *a, const struct tw_point_analysis *p,
			  struct trawl_error *err)
{
	const struct trawl_table *const comms = p->comms;
	struct tw_book *book;
	size_t i;

	for (i = 0; i < p->point->rank_count; i++)
		if (add_rank_tables(a, p, p->point->ranks[i].rank, err))
			return err->status;
	if (!comms)
		return 0;
	if (tw_book_of_tables(&book, p->point->name, &comms, 1, trawl_allocator_default(), err))
		return err->status;
	add_collectives(a, p->point, book);
	tw_book_free(book);
	return 0;
}

/* ---- files */

static int write_book(struct tw_aggregate *a, const struct trawl_sweep *sweep, const char *name,
		      struct trawl_table *const *tables, size_t count, struct trawl_error *err)
{
	const struct trawl_allocator *allocator = trawl_allocator_default();
	struct tw_str path;
	int status;

	tw_str_init(&path, allocator);
	tw_sweep_analysis_path(sweep, name, &path);
	status = path.failed ? tw_no_memory(err) :
			       tw_render_xlsx((const struct trawl_table *const *)tables, count,
					      path.ptr, allocator, err);
	tw_str_release(&path);
	a->files += !status;
	return status;
}

static int write_timelines(struct tw_aggregate *a, const struct trawl_sweep *sweep, bool geometric,
			   struct trawl_error *err)
{
	struct trawl_table *tables[TW_TIMELINE_TABLES];
	int status = tw_timelines_tables(a->timelines, geometric, tables, err), i;

	if (!status && tables[0])
		status = write_book(a, sweep,
				    geometric ? "gpu_timeline_all_configs_geomean.xlsx" :
						"gpu_timeline_all_configs_mean.xlsx",
				    tables, TW_TIMELINE_TABLES, err);
	for (i = 0; i < TW_TIMELINE_TABLES; i++)
		trawl_table_free(tables[i]);
	return status;
}

/* The CSV file is named like the workbook, not like its sheet. */
static int write_csv(struct tw_aggregate *a, const struct trawl_sweep *sweep,
		     const struct trawl_table *table, struct trawl_error *err)
{
	struct tw_str path, text;
	int status;

	tw_str_init(&path, trawl_allocator_default());
	tw_str_init(&text, trawl_allocator_default());
	tw_sweep_analysis_path(sweep, "nccl_master_all_configs.csv", &path);
	tw_render_csv(table, &text);
	status = path.failed ? tw_no_memory(err) :
			       tw_sink_write_text(path.ptr, &text, trawl_allocator_default(), err);
	tw_str_release(&path);
	tw_str_release(&text);
	a->files += !status;
	return status;
}

int tw_aggregate_write(struct tw_aggregate *a, const struct trawl_sweep *sweep,
		       struct trawl_error *err)
{
	struct trawl_table *comms = NULL;
	int status = write_timelines(a, sweep, false, err);

	if (!status)
		status = write_timelines(a, sweep, true, err);
	if (!status)
		status = tw_comms_table(a->comms, &comms, err);
	if (!status && comms)
		status = write_book(a, sweep, "nccl_master_all_configs.xlsx", &comms, 1, err);
	if (!status && comms)
		status = write_csv(a, sweep, comms, err);
	trawl_table_free(comms);
	return status;
}
