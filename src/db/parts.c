#include "db/parts.h"

#include "base/alloc.h"
#include "base/list.h"
#include "os/thread.h"

#include <pthread.h>

#define MAX_PARTS 256 /* of a table: rowids of a hostile file may be spread over all 64 bits */
/* Interval of progress reports and of checks for interruption. */
#define ROWS_PER_REPORT 16384

/* Where a part is; the rest of it is made when a thread comes to it. */
struct stretch {
	const struct tw_table_reader *reader;
	size_t number;
	int64_t first, last; /* rowids */
	struct tw_table_part *part;
	bool done;
};

struct crew {
	struct tw_tables_reading *reading;
	struct tw_database *main;
	const struct trawl_allocator *allocator;
	struct stretch *stretches;
	size_t count, capacity;

	pthread_mutex_t lock; /* of what follows */
	/* Handles, one for each thread that reads: to open one takes reading what tables there are. */
	struct tw_database **idle;
	size_t idle_count, idle_capacity;
	uint64_t rows_done, rows;
	bool canceled;

	pthread_mutex_t joining; /* of what follows */
	size_t joined;
	int status; /* of joining, and of the first part that failed */
	struct trawl_error error;
};

/* ---- which parts there are */

static bool add_stretch(struct crew *crew, const struct tw_table_reader *reader, size_t number,
			int64_t first, int64_t last)
{
	if (!tw_list_grow(&crew->stretches, &crew->capacity, crew->count, sizeof(*crew->stretches),
			  crew->allocator))
		return false;
	crew->stretches[crew->count++] =
		(struct stretch){ reader, number, first, last, NULL, false };
	return true;
}

static bool add_table(struct crew *crew, const struct tw_table_reader *reader)
{
	struct trawl_error ignored;
	int64_t first, last;
	int found = tw_database_range(crew->main, reader->table, &first, &last, &ignored);
	uint64_t rows = (uint64_t)last - (uint64_t)first, step = rows / MAX_PARTS + 1, at;
	size_t number = 0;
	bool good;

	if (found == TRAWL_ENOMEM)
		return false;
	if (!found)
		return true;
	/* Where an end cannot be read the scan goes as far as it can. */
	if (found < 0)
		return add_stretch(crew, reader, 0, first, last);
	if (step < crew->reading->part_rows)
		step = crew->reading->part_rows;
	crew->rows += rows < UINT64_MAX - crew->rows ? rows : 0;
	for (at = 0;; at += step) {
		int64_t begin = (int64_t)((uint64_t)first + at);
		bool end = rows - at < step;

		good = add_stretch(crew, reader, number++, begin,
				   end ? last : (int64_t)((uint64_t)begin + step - 1));
		if (end || !good)
			return good;
	}
}

/* ---- rows */

/* Reports the progress of all threads; true: stop. */
static bool report_progress(struct crew *crew, uint64_t rows)
{
	const struct tw_tables_reading *r = crew->reading;
	bool stop;

	if (!r->progress)
		return false;
	pthread_mutex_lock(&crew->lock);
	crew->rows_done += rows;
	crew->canceled = crew->canceled ||
			 r->progress(r->context, crew->rows_done, crew->rows) != 0;
	stop = crew->canceled;
	pthread_mutex_unlock(&crew->lock);
	return stop;
}

static int scan_rows(struct crew *crew, struct tw_table_part *part)
{
	const struct tw_table_reader *reader = part->reader;
	uint64_t rows = 0;
	bool stop = false;
	int status = 0;

	while (!stop && (status = tw_scan_next(part->scan, &part->error)) == 1) {
		part->row = tw_scan_rowid(part->scan);
		part->given =
			tw_scan_integers(part->scan, reader->integers, part->values, &part->odd);
		status = reader->row(part);
		if (status)
			return status;
		stop = ++rows % ROWS_PER_REPORT == 0 && report_progress(crew, ROWS_PER_REPORT);
	}
	if (stop || report_progress(crew, rows % ROWS_PER_REPORT))
		return trawl_error_set(&part->error, TRAWL_ECANCELED, "interrupted");
	return status;
}

static int take_database(struct crew *crew, struct tw_table_part *part)
{
	pthread_mutex_lock(&crew->lock);
	if (crew->idle_count)
		part->database = crew->idle[--crew->idle_count];
	pthread_mutex_unlock(&crew->lock);
	return part->database ? 0 :
				tw_database_open_again(&part->database, crew->main, &part->error);
}

static void give_database_back(struct crew *crew, struct tw_table_part *part)
{
	pthread_mutex_lock(&crew->lock);
	crew->reading->texts_failed |= tw_database_text_failed(part->database);
	crew->idle[crew->idle_count++] = part->database;
	pthread_mutex_unlock(&crew->lock);
	part->database = NULL;
}

static int read_part(struct crew *crew, struct tw_table_part *part)
{
	const struct tw_table_reader *reader = part->reader;
	int status = take_database(crew, part);

	if (status)
		return status;
	status = reader->begin ? reader->begin(part) : 0;
	if (!status) {
		status = tw_scan_open(&part->scan, part->database, reader->table, reader->columns,
				      reader->column_count, part->first, part->last, &part->error);
		if (!status)
			status = scan_rows(crew, part);
		tw_scan_close(part->scan);
		part->scan = NULL;
		/* What cannot be read is over; what was read before counts. */
		part->damaged = status == TRAWL_EFORMAT;
		if (part->damaged)
			status = 0;
	}
	if (!status && reader->end)
		status = reader->end(part);
	give_database_back(crew, part);
	return status;
}

/* ---- parts in their order */

static void release_part(struct crew *crew, struct stretch *s)
{
	if (s->part && s->reader->release)
		s->reader->release(s->part);
	if (s->part)
		tw_scope_end(&s->part->scope);
	tw_free(crew->allocator, s->part, s->reader->part_size);
	s->part = NULL;
}

/*
 * Joins what is read and has nothing unread before it: early, so that the memory of parts is used
 * again.
 */
static void join_parts(struct crew *crew, struct stretch *done)
{
	pthread_mutex_lock(&crew->joining);
	done->done = true;
	for (; crew->joined < crew->count && crew->stretches[crew->joined].done; crew->joined++) {
		struct stretch *s = &crew->stretches[crew->joined];
		struct tw_table_part *part = s->part;

		if (!crew->status && !part)
			crew->status = tw_no_memory(&crew->error);
		if (!crew->status) {
			crew->status = part->status ? part->status : s->reader->join(part);
			crew->error = part->error;
		}
		release_part(crew, s);
	}
	pthread_mutex_unlock(&crew->joining);
}

static void run_part(void *context, size_t i)
{
	struct crew *crew = context;
	struct stretch *s = &crew->stretches[i];
	bool over;

	pthread_mutex_lock(&crew->joining);
	over = crew->status != 0;
	pthread_mutex_unlock(&crew->joining);
	if (!over)
		s->part = tw_alloc_array(crew->allocator, 1, s->reader->part_size);
	if (s->part) {
		s->part->reader = s->reader;
		s->part->context = crew->reading->context;
		tw_scope_begin(&s->part->scope, crew->allocator);
		s->part->allocator = &s->part->scope.allocator;
		s->part->number = s->number;
		s->part->first = s->first;
		s->part->last = s->last;
		s->part->row = -1;
		s->part->status = read_part(crew, s->part);
	}
	join_parts(crew, s);
}

int tw_tables_read(struct tw_tables_reading *reading, struct tw_database *database,
		   const struct trawl_allocator *a, struct trawl_error *err)
{
	unsigned threads = reading->threads ? reading->threads : tw_thread_count();
	struct crew crew = { .reading = reading,
			     .main = database,
			     .allocator = a,
			     .idle_capacity = threads };
	bool good = true;
	size_t i;

	for (i = 0; i < reading->count && good; i++)
		good = add_table(&crew, reading->readers[i]);
	crew.idle = good ? tw_alloc_array(a, threads, sizeof(struct tw_database *)) : NULL;
	if (crew.idle) {
		pthread_mutex_init(&crew.lock, NULL);
		pthread_mutex_init(&crew.joining, NULL);
		tw_parallel(threads, crew.count, run_part, &crew);
		pthread_mutex_destroy(&crew.lock);
		pthread_mutex_destroy(&crew.joining);
	} else {
		crew.status = tw_no_memory(&crew.error);
	}
	for (i = 0; i < crew.idle_count; i++)
		tw_database_close(crew.idle[i]);
	tw_free(a, crew.idle, threads * sizeof(struct tw_database *));
	tw_free(a, crew.stretches, crew.capacity * sizeof(*crew.stretches));
	if (crew.status && err)
		*err = crew.error;
	return crew.status;
}
