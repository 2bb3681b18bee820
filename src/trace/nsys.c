/*
 * SQLite exports of Nsight Systems.  Tables are read in parts, ranges of rowids, by several
 * threads, and joined in order: the same events for any number of threads.  Which parts there are
 * depends on the file alone.
 */
#include "trace/nsys.h"

#include "base/alloc.h"
#include "base/list.h"
#include "db/recognise.h"
#include "os/thread.h"
#include "trace/reader.h"

/*
 * A part has this many rowids, more when a table would have too many parts.  Blocks of another
 * size, as tests have them, hold more or fewer rows.
 */
#define PART_ROWS ((uint64_t)1 << 15)
#define BYTES_PER_ROW 32
#define MOST_PARTS 256 /* of a table */
/* Progress is told, and interruption asked for, this often. */
#define ROWS_PER_REPORT 16384

static const struct tw_export_table *const tables[] = {
	&tw_export_kernel, &tw_export_memcpy,  &tw_export_memset, &tw_export_sync,
	&tw_export_graph,  &tw_export_runtime, &tw_export_nvtx,
};

#define TABLES (sizeof(tables) / sizeof(tables[0]))

struct crew {
	const struct trawl_read_options *options;
	struct trawl_trace *trace; /* of all parts in the end */
	struct tw_database *main;
	struct tw_export_part *parts;
	size_t count, capacity;

	pthread_mutex_t lock; /* of what follows */
	struct tw_database **idle;
	size_t idle_count, idle_capacity;
	uint64_t rows_done, rows;
	bool canceled, texts_failed;

	pthread_mutex_t joining; /* of `trace` and what follows */
	bool *done;		 /* by part: it is read */
	size_t joined;
	int status; /* of joining, and of the first part that failed */
	struct trawl_error err;
};

/* ---- parts */

static int add_part(struct crew *crew, const struct tw_export_table *table, int64_t first,
		    int64_t last)
{
	if (!tw_list_grow(&crew->parts, &crew->capacity, crew->count, sizeof(*crew->parts),
			  crew->options->allocator))
		return -1;
	crew->parts[crew->count++] =
		(struct tw_export_part){ .table = table, .first = first, .last = last };
	return 0;
}

static int add_table(struct crew *crew, const struct tw_export_table *table)
{
	struct trawl_error ignored;
	uint64_t rows, step, at, least = PART_ROWS;
	int64_t first, last;
	int status = tw_database_range(crew->main, table->name, &first, &last, &ignored);

	if (status == TRAWL_ENOMEM)
		return -1;
	if (!status)
		return 0;
	/* Where an end cannot be read the scan goes as far as it can. */
	if (status < 0)
		return add_part(crew, table, first, last);
	rows = (uint64_t)last - (uint64_t)first;
	step = rows / MOST_PARTS + 1;
	if (crew->options->block_size)
		least = crew->options->block_size / BYTES_PER_ROW + 1;
	if (step < least)
		step = least;
	crew->rows += rows < UINT64_MAX - crew->rows ? rows : 0;
	for (at = 0;; at += step) {
		bool end = rows - at < step;

		if (add_part(crew, table, (int64_t)((uint64_t)first + at),
			     end ? last : (int64_t)((uint64_t)first + at + step - 1)))
			return -1;
		if (end)
			return 0;
	}
}

/* ---- handles, one for each thread that reads */

static int take_database(struct crew *crew, struct tw_export_part *part)
{
	pthread_mutex_lock(&crew->lock);
	if (crew->idle_count)
		part->database = crew->idle[--crew->idle_count];
	pthread_mutex_unlock(&crew->lock);
	return part->database ? 0 : tw_database_open_again(&part->database, crew->main, &part->err);
}

static void give_database_back(struct crew *crew, struct tw_export_part *part)
{
	pthread_mutex_lock(&crew->lock);
	crew->texts_failed |= tw_database_text_failed(part->database);
	if (crew->idle_count < crew->idle_capacity) {
		crew->idle[crew->idle_count++] = part->database;
		part->database = NULL;
	}
	pthread_mutex_unlock(&crew->lock);
	tw_database_close(part->database);
	part->database = NULL;
}

/* ---- rows */

/* Tells how far all threads are; true: stop. */
static bool report_progress(struct crew *crew, uint64_t rows)
{
	const struct trawl_read_options *o = crew->options;
	int64_t size = tw_database_size(crew->main);
	bool stop;

	pthread_mutex_lock(&crew->lock);
	crew->rows_done += rows;
	if (o->progress && !crew->canceled) {
		double share = crew->rows ? (double)crew->rows_done / (double)crew->rows : 1;

		crew->canceled = o->progress(o->progress_context,
					     (int64_t)((double)size * (share < 1 ? share : 1)),
					     size) != 0;
	}
	stop = crew->canceled;
	pthread_mutex_unlock(&crew->lock);
	return stop;
}

static int take_row(struct tw_export_part *part)
{
	uint32_t odd;

	part->given = tw_scan_integers(part->scan, part->table->integers, part->values, &odd);
	part->row = tw_scan_rowid(part->scan);
	if (odd & part->table->needed) {
		tw_export_count(part, TW_DEFECT_unreadable_row);
		return 0;
	}
	if (odd)
		tw_export_count(part, TW_DEFECT_odd_value);
	return part->table->take(part) ? tw_no_memory(&part->err) : 0;
}

/* What cannot be read is over, and noted. */
static int note_damage(struct tw_export_part *part, int status, int64_t row)
{
	if (status == TRAWL_EFORMAT) {
		tw_quality_add_row(&part->trace->quality, TW_DEFECT_table_damaged, 1,
				   part->table->name, row);
		status = 0;
	}
	return status;
}

static int scan_part(struct crew *crew, struct tw_export_part *part)
{
	uint64_t rows = 0;
	int status = tw_scan_open(&part->scan, part->database, part->table->name,
				  part->table->columns, part->table->count, part->first, part->last,
				  &part->err);

	if (status)
		return note_damage(part, status, -1);
	part->row = -1;
	while ((status = tw_scan_next(part->scan, &part->err)) == 1) {
		status = take_row(part);
		if (status)
			break;
		if (++rows % ROWS_PER_REPORT == 0 && report_progress(crew, ROWS_PER_REPORT)) {
			status = TRAWL_ECANCELED;
			break;
		}
	}
	if (report_progress(crew, rows % ROWS_PER_REPORT))
		status = TRAWL_ECANCELED;
	if (status == TRAWL_ECANCELED)
		trawl_error_set(&part->err, TRAWL_ECANCELED, "interrupted");
	status = note_damage(part, status, part->row);
	tw_scan_close(part->scan);
	part->scan = NULL;
	return status;
}

/*
 * Joins what is read and has nothing unread before it: in order, and early, so that the memory of
 * parts is used again.
 */
static void join_parts(struct crew *crew, size_t i)
{
	pthread_mutex_lock(&crew->joining);
	crew->done[i] = true;
	for (; crew->joined < crew->count && crew->done[crew->joined]; crew->joined++) {
		struct tw_export_part *part = &crew->parts[crew->joined];

		if (!crew->status && part->status) {
			crew->status = part->status;
			crew->err = part->err;
		}
		if (crew->status)
			trawl_trace_free(part->trace);
		else if (tw_trace_append(crew->trace, part->trace))
			crew->status = tw_no_memory(&crew->err);
		part->trace = NULL;
	}
	pthread_mutex_unlock(&crew->joining);
}

static int read_part(struct crew *crew, struct tw_export_part *part)
{
	uint64_t rows = (uint64_t)part->last - (uint64_t)part->first;
	int status = TRAWL_ENOMEM;

	/* Room for all, which is mostly what there is. */
	if (tw_export_part_init(part, crew->options->allocator) ||
	    tw_events_reserve(&part->trace->events, (rows < PART_ROWS ? rows : PART_ROWS - 1) + 1,
			      part->trace->allocator))
		tw_no_memory(&part->err);
	else
		status = take_database(crew, part);
	if (!status)
		status = scan_part(crew, part);
	if (part->database)
		give_database_back(crew, part);
	tw_export_part_release(part);
	return status;
}

static void run_part(void *context, size_t i)
{
	struct crew *crew = context;
	bool over;

	pthread_mutex_lock(&crew->joining);
	over = crew->status != 0;
	pthread_mutex_unlock(&crew->joining);
	if (!over)
		crew->parts[i].status = read_part(crew, &crew->parts[i]);
	join_parts(crew, i);
}

static int read_parts(struct crew *crew)
{
	const struct trawl_allocator *a = crew->options->allocator;
	size_t i;

	crew->idle_capacity = crew->options->threads;
	crew->idle = tw_alloc_array(a, crew->idle_capacity, sizeof(struct tw_database *));
	crew->done = tw_alloc_array(a, crew->count + 1, sizeof(*crew->done));
	if (crew->idle && crew->done)
		tw_parallel(crew->options->threads, crew->count, run_part, crew);
	else
		crew->status = tw_no_memory(&crew->err);
	for (i = 0; i < crew->idle_count; i++)
		tw_database_close(crew->idle[i]);
	tw_free(a, crew->idle, crew->idle_capacity * sizeof(struct tw_database *));
	tw_free(a, crew->done, (crew->count + 1) * sizeof(*crew->done));
	return crew->status;
}

static int read_tables(struct crew *crew, struct trawl_error *err)
{
	size_t i;

	for (i = 0; i < TABLES; i++)
		if (add_table(crew, tables[i]))
			return tw_no_memory(err);
	if (!read_parts(crew))
		return 0;
	*err = crew->err;
	return crew->status;
}

/* What is done with all parts: what stands beside the events, and what that tells of them. */
static int finish(struct crew *crew, struct trawl_error *err)
{
	struct trawl_trace *trace = crew->trace;
	struct tw_export_part whole = { .trace = trace, .database = crew->main };
	int failed;

	if (crew->texts_failed)
		tw_quality_add_row(&trace->quality, TW_DEFECT_table_damaged, 1, TW_EXPORT_TEXTS,
				   -1);
	if (tw_database_cut(crew->main))
		tw_quality_add(&trace->quality, TW_DEFECT_truncated, 1,
			       tw_database_size(crew->main), -1);
	if (!trace->events.count && trace->quality.kinds[TW_DEFECT_table_damaged].count)
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "the database is damaged, and no event of it can be read; "
				       "export it again");
	whole.allocator = trace->allocator;
	tw_str_init(&whole.scratch, trace->allocator);
	failed = tw_export_about(&whole) || tw_export_settle(&whole);
	tw_export_part_release(&whole);
	return failed ? tw_no_memory(err) : 0;
}

int tw_nsys_read(struct trawl_trace *trace, const char *path,
		 const struct trawl_read_options *options, struct trawl_error *err)
{
	struct crew crew = { .options = options, .trace = trace };
	int status = tw_database_open(&crew.main, path, options->allocator, err);

	if (status)
		return status;
	pthread_mutex_init(&crew.lock, NULL);
	pthread_mutex_init(&crew.joining, NULL);
	status = tw_recognise_nsys(crew.main, options->allocator, err);
	if (!status)
		status = read_tables(&crew, err);
	if (!status)
		status = finish(&crew, err);
	trace->format = "Nsight Systems export";
	trace->by_process = true;
	trace->bytes = tw_database_size(crew.main);
	tw_database_close(crew.main);
	tw_free(options->allocator, crew.parts, crew.capacity * sizeof(*crew.parts));
	pthread_mutex_destroy(&crew.lock);
	pthread_mutex_destroy(&crew.joining);
	return status;
}
