/* SQLite exports of Nsight Systems: their tables of events, read into one trace. */
#include "trace/nsys.h"

#include "base/alloc.h"
#include "trace/reader.h"

/* A part has this many rowids. Blocks of another size, as tests have them, hold more or fewer. */
#define PART_ROWS ((uint64_t)1 << 15)
#define BYTES_PER_ROW 32

static const struct tw_table_reader *const tables[] = {
	&tw_export_kernel.reader, &tw_export_memcpy.reader, &tw_export_memset.reader,
	&tw_export_sync.reader,	  &tw_export_graph.reader,  &tw_export_runtime.reader,
	&tw_export_nvtx.reader,
};

struct reading {
	const struct trawl_read_options *options;
	struct trawl_trace *trace; /* of all parts */
	int64_t bytes;		   /* of the file */
};

/* ---- a part of a table */

int tw_export_begin(void *context)
{
	struct tw_export_part *part = context;
	const struct reading *reading = part->rows.context;
	uint64_t rows = (uint64_t)part->rows.last - (uint64_t)part->rows.first;

	tw_str_init(&part->scratch, part->rows.allocator);
	part->trace = tw_trace_new(reading->options->allocator);
	/* Room for all, which is mostly what there is. */
	if (!part->trace ||
	    tw_events_reserve(&part->trace->events, (rows < PART_ROWS ? rows : PART_ROWS - 1) + 1,
			      part->trace->allocator))
		return tw_no_memory(&part->rows.error);
	return 0;
}

int tw_export_row(void *context)
{
	struct tw_export_part *part = context;
	/* Its reader is the first member of a table. */
	const struct tw_export_table *table = (const void *)part->rows.reader;

	if (part->rows.odd & table->needed) {
		tw_export_count(part, TW_DEFECT_unreadable_row);
		return 0;
	}
	if (part->rows.odd)
		tw_export_count(part, TW_DEFECT_odd_value);
	return table->take(part) ? tw_no_memory(&part->rows.error) : 0;
}

int tw_export_join(void *context)
{
	struct tw_export_part *part = context;
	const struct reading *reading = part->rows.context;
	struct trawl_trace *trace = part->trace;

	if (part->rows.damaged)
		tw_export_count(part, TW_DEFECT_table_damaged);
	part->trace = NULL;
	return tw_trace_append(reading->trace, trace) ? tw_no_memory(&part->rows.error) : 0;
}

void tw_export_release(void *context)
{
	trawl_trace_free(((struct tw_export_part *)context)->trace);
}

/* ---- the whole export */

static int tell_progress(void *context, uint64_t rows, uint64_t of)
{
	const struct reading *reading = context;
	const struct trawl_read_options *o = reading->options;
	double share = of ? (double)rows / (double)of : 1;

	return o->progress ?
		       o->progress(o->progress_context,
				   (int64_t)((double)reading->bytes * (share < 1 ? share : 1)),
				   reading->bytes) :
		       0;
}

static int read_tables(struct reading *reading, struct tw_database *database,
		       struct trawl_error *err)
{
	const struct trawl_read_options *o = reading->options;
	struct tw_tables_reading events = {
		.readers = tables,
		.count = sizeof(tables) / sizeof(tables[0]),
		.context = reading,
		.part_rows = o->block_size ? o->block_size / BYTES_PER_ROW + 1 : PART_ROWS,
		.threads = o->threads,
		.progress = tell_progress,
	};
	int status = tw_tables_read(&events, database, o->allocator, err);

	if (!status && events.texts_failed)
		tw_quality_add_row(&reading->trace->quality, TW_DEFECT_table_damaged, 1,
				   TW_NSYS_TEXTS, -1);
	return status;
}

/* Metadata of the events. */
static int finish(struct trawl_trace *trace, struct tw_database *database, struct trawl_error *err)
{
	struct tw_export_part whole = { .trace = trace };
	int failed;

	if (tw_database_cut(database))
		tw_quality_add(&trace->quality, TW_DEFECT_truncated, 1, trace->bytes, -1);
	if (!trace->events.count && trace->quality.kinds[TW_DEFECT_table_damaged].count)
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "damaged database: no event is readable; export again");
	whole.rows.database = database;
	tw_scope_begin(&whole.rows.scope, trace->allocator);
	whole.rows.allocator = &whole.rows.scope.allocator;
	tw_str_init(&whole.scratch, whole.rows.allocator);
	failed = tw_export_about(&whole) || tw_export_settle(&whole);
	tw_scope_end(&whole.rows.scope);
	return failed ? tw_no_memory(err) : 0;
}

int tw_nsys_read(struct trawl_trace *trace, const char *path,
		 const struct trawl_read_options *options, struct trawl_error *err)
{
	struct reading reading = { .options = options, .trace = trace };
	struct tw_database *database;
	int status = tw_database_open(&database, path, options->allocator, err);

	if (status)
		return status;
	reading.bytes = tw_database_size(database);
	trace->format = tw_nsys_reader.name;
	trace->by_process = tw_nsys_reader.by_process;
	trace->bytes = reading.bytes;
	status = tw_nsys_recognise(database, options->allocator, err);
	if (!status)
		status = read_tables(&reading, database, err);
	if (!status)
		status = finish(trace, database, err);
	tw_database_close(database);
	return status;
}
