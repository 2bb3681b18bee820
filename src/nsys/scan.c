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
	if (left >= work->step && work->step != UINT64_MAX)
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

/* What has been said of a table. */
static struct tw_nsys_told *told_of(struct tw_nsys_source *source, const char *table)
{
	size_t i = 0;

	while (i + 1 < TW_NSYS_TOLD && source->told[i].table &&
	       strcmp(source->told[i].table, table) != 0)
		i++;
	source->told[i].table = table;
	return &source->told[i];
}

/* What was left out of the table: damage, and rows that hold no numbers. */
static int tell(struct tw_nsys_source *source, const struct tw_nsys_scan *scan, void *parts,
		size_t count, struct trawl_error *err)
{
	struct tw_nsys_told *told = told_of(source, scan->table);
	int64_t odd = 0, odd_row = -1;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct tw_nsys_part *part = part_at(scan, parts, i);

		if (part->status && part->status != TRAWL_EFORMAT)
			return trawl_error_set(err, part->status, "%s", part->error.message);
		if (part->status && !told->damage)
			tw_str_addf(&source->troubles, "%s; rows behind it are left out\n",
				    part->error.message);
		told->damage = told->damage || part->status;
		if (part->odd && !odd)
			odd_row = part->odd_row;
		odd += part->odd;
	}
	if (odd && !told->odd)
		tw_str_addf(
			&source->troubles,
			"table %s: %lld rows in which a number is missing or impossible are left "
			"out, the first is row %lld\n",
			scan->table, (long long)odd, (long long)odd_row);
	told->odd = told->odd || odd;
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
	status = tw_database_range(source->database, scan->table, &work.first, &work.last, err);
	if (!status || status == TRAWL_ENOMEM)
		return status;
	rows = (uint64_t)work.last - (uint64_t)work.first;
	/* Where an end cannot be read the scan goes as far as it can: in one part. */
	if (status < 0)
		work.step = UINT64_MAX;
	else if (rows / work.step >= MOST_PARTS)
		work.step = rows / MOST_PARTS + 1;
	*count = (size_t)(rows / work.step) + (status > 0 || rows < UINT64_MAX);
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
