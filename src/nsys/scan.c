#include "nsys/scan.h"

#include "base/alloc.h"
#include "base/thread.h"

#include <string.h>

/* Rowids a part: a few tenths of a second; small enough that threads end together. */
#define PART_ROWS ((uint64_t)1 << 18)
/* Rowids that a hostile file spreads over all 64 bits do not make more parts. */
#define MOST_PARTS 4096

struct work {
	struct tw_nsys_source *source;
	const struct tw_nsys_scan *scan;
	char *parts;
	int64_t first, last;
	uint64_t step;
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
	part->status =
		tw_database_open_again(&part->database, work->source->database, &part->error);
	if (part->status)
		return;
	part->status = read_rows(work->scan, part, first, last);
	if (work->scan->finish && (!part->status || part->status == TRAWL_EFORMAT)) {
		status = work->scan->finish(part);
		if (status)
			part->status = status;
	}
	tw_database_close(part->database);
	part->database = NULL;
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
		tw_str_addf(&source->troubles,
			    "table %s: %lld rows with something else than a number are left out, "
			    "the first is row %lld\n",
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
	tw_parallel(source->threads ? source->threads : tw_thread_count(), *count, read_part,
		    &work);
	status = tell(source, scan, *parts, *count, err);
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
