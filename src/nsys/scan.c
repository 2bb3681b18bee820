#include "nsys/scan.h"

#include "base/alloc.h"
#include "base/thread.h"

#include <string.h>

/* Rowids a part: a few tenths of a second; small enough that threads end together. */
#define PART_ROWS ((uint64_t)1 << 18)
/* Rowids that a hostile file spreads over all 64 bits do not make more parts. */
#define MOST_PARTS 256

struct work {
	struct tw_nsys_source *source;
	const struct tw_nsys_scan *scan;
	char *parts;
	int64_t first, last;
	uint64_t step;

	pthread_mutex_t lock; /* of what follows */
	/* Handles, one for each thread that reads: to open one takes reading what tables there are. */
	struct tw_database **idle;
	size_t idle_count, idle_capacity;
	bool texts_failed;
};

static struct tw_nsys_part *part_at(const struct tw_nsys_scan *scan, void *parts, size_t i)
{
	return (struct tw_nsys_part *)(void *)((char *)parts + i * scan->part_size);
}

static int read_rows(const struct tw_nsys_scan *scan, struct tw_nsys_part *part, int64_t first,
		     int64_t last)
{
	struct tw_scan *rows;
	int status = tw_scan_open(&rows, part->database, scan->table, scan->columns,
				  scan->column_count, first, last, &part->error);
	int failed = 0;

	if (status)
		return status;
	while (!failed && (status = tw_scan_next(rows, &part->error)) > 0)
		failed = scan->row(part, rows);
	tw_scan_close(rows);
	return failed ? failed : status;
}

static int take_database(struct work *work, struct tw_nsys_part *part)
{
	pthread_mutex_lock(&work->lock);
	if (work->idle_count)
		part->database = work->idle[--work->idle_count];
	pthread_mutex_unlock(&work->lock);
	return part->database ? 0 :
				tw_database_open_again(&part->database, work->source->database,
						       &part->error);
}

static void give_database_back(struct work *work, struct tw_nsys_part *part)
{
	pthread_mutex_lock(&work->lock);
	work->texts_failed |= tw_database_text_failed(part->database);
	if (work->idle_count < work->idle_capacity) {
		work->idle[work->idle_count++] = part->database;
		part->database = NULL;
	}
	pthread_mutex_unlock(&work->lock);
	tw_database_close(part->database);
	part->database = NULL;
}

static void read_part(void *context, size_t i)
{
	struct work *work = context;
	struct tw_nsys_part *part = part_at(work->scan, work->parts, i);
	uint64_t skipped = (uint64_t)i * work->step, left;
	int64_t first = (int64_t)((uint64_t)work->first + skipped), last = work->last;
	int status;

	left = (uint64_t)work->last - (uint64_t)first;
	if (left >= work->step)
		last = (int64_t)((uint64_t)first + work->step - 1);
	part->allocator = work->source->allocator;
	part->context = work->scan->context;
	part->odd_row = -1;
	part->status = take_database(work, part);
	if (part->status)
		return;
	part->status = read_rows(work->scan, part, first, last);
	if (work->scan->finish && (!part->status || part->status == TRAWL_EFORMAT)) {
		status = work->scan->finish(part);
		if (status)
			part->status = status;
	}
	give_database_back(work, part);
}

/* All parts, by several threads. */
static int read_parts(struct work *work, size_t count, struct trawl_error *err)
{
	const struct trawl_allocator *a = work->source->allocator;
	unsigned threads = work->source->threads ? work->source->threads : tw_thread_count();
	size_t i;

	work->idle_capacity = threads < count ? threads : count;
	work->idle = tw_alloc_array(a, work->idle_capacity, sizeof(struct tw_database *));
	if (!work->idle)
		return trawl_error_set(err, TRAWL_ENOMEM, "out of memory");
	pthread_mutex_init(&work->lock, NULL);
	tw_parallel(threads, count, read_part, work);
	pthread_mutex_destroy(&work->lock);
	for (i = 0; i < work->idle_count; i++)
		tw_database_close(work->idle[i]);
	tw_free(a, work->idle, work->idle_capacity * sizeof(struct tw_database *));
	return 0;
}

/* What was left out of the table: damage, and rows that hold no numbers. */
static int tell(struct tw_nsys_source *source, const struct tw_nsys_scan *scan, void *parts,
		size_t count, struct trawl_error *err)
{
	int64_t odd = 0, odd_row = -1;
	bool damaged = false;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct tw_nsys_part *part = part_at(scan, parts, i);

		if (part->status && part->status != TRAWL_EFORMAT)
			return trawl_error_set(err, part->status, "%s", part->error.message);
		if (part->status && !damaged && !scan->told)
			tw_str_addf(&source->troubles, "%s; rows behind it are left out\n",
				    part->error.message);
		damaged = damaged || part->status;
		if (part->odd && !odd)
			odd_row = part->odd_row;
		odd += part->odd;
	}
	if (odd && !scan->told)
		tw_str_addf(
			&source->troubles,
			"table %s: %lld rows in which a number is missing or impossible are left "
			"out, the first is row %lld\n",
			scan->table, (long long)odd, (long long)odd_row);
	return 0;
}

/* A table without a first row is empty, or damaged where it begins. */
static int tell_unreadable(struct tw_nsys_source *source, const struct tw_nsys_scan *scan,
			   struct trawl_error *err)
{
	struct trawl_error error;
	struct tw_scan *rows;
	int status = tw_scan_open(&rows, source->database, scan->table, scan->columns,
				  scan->column_count, INT64_MIN, INT64_MAX, &error);

	if (!status) {
		status = tw_scan_next(rows, &error);
		tw_scan_close(rows);
	}
	if (status == TRAWL_ENOMEM)
		return trawl_error_set(err, status, "%s", error.message);
	if (status < 0 && !scan->told)
		tw_str_addf(&source->troubles, "%s; it is left out\n", error.message);
	return 0;
}

int tw_nsys_scan(struct tw_nsys_source *source, const struct tw_nsys_scan *scan, void **parts,
		 size_t *count, struct trawl_error *err)
{
	struct work work = { .source = source, .scan = scan, .step = PART_ROWS };
	uint64_t rows;
	int status;

	*parts = NULL;
	*count = 0;
	if (!tw_database_rowids(source->database, scan->table, &work.first, &work.last))
		return tell_unreadable(source, scan, err);
	rows = (uint64_t)work.last - (uint64_t)work.first;
	if (rows / work.step >= MOST_PARTS)
		work.step = rows / MOST_PARTS + 1;
	*count = (size_t)(rows / work.step) + 1;
	*parts = work.parts = tw_alloc_array(source->allocator, *count, scan->part_size);
	if (!*parts) {
		*count = 0;
		return trawl_error_set(err, TRAWL_ENOMEM, "out of memory");
	}
	status = read_parts(&work, *count, err);
	if (!status)
		status = tell(source, scan, *parts, *count, err);
	if (work.texts_failed && !source->texts_told) {
		source->texts_told = true;
		tw_str_add_cstr(&source->troubles,
				"table StringIds is damaged: names that stand in it are missing; "
				"export it again\n");
	}
	if (status) {
		tw_nsys_scan_free(source, scan, *parts, *count);
		*parts = NULL;
		*count = 0;
	}
	return status;
}

void tw_nsys_scan_free(struct tw_nsys_source *source, const struct tw_nsys_scan *scan, void *parts,
		       size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		scan->release(part_at(scan, parts, i));
	tw_free(source->allocator, parts, count * scan->part_size);
}

int tw_nsys_odd(struct tw_nsys_part *part, const struct tw_scan *scan)
{
	if (!part->odd++)
		part->odd_row = tw_scan_rowid(scan);
	return 0;
}

int tw_nsys_no_memory(struct tw_nsys_part *part)
{
	return trawl_error_set(&part->error, TRAWL_ENOMEM, "out of memory");
}

const char *tw_nsys_text(struct tw_database *database, int64_t id, size_t *len)
{
	static const char table[] = "StringIds", column[] = "value";

	return tw_database_text(database, table, column, id, len);
}
