#include "nsys/scan.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/slots.h"
#include "os/thread.h"

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
	bool close;

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
	size_t columns = scan->column_count + (part->close ? scan->close_columns : 0);
	struct tw_scan *rows;
	int status = tw_scan_open(&rows, part->database, scan->table, scan->columns, columns, first,
				  last, &part->error);
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
	part->close = work->close;
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
		return tw_no_memory(err);
	pthread_mutex_init(&work->lock, NULL);
	tw_parallel(threads, count, read_part, work);
	pthread_mutex_destroy(&work->lock);
	for (i = 0; i < work->idle_count; i++)
		tw_database_close(work->idle[i]);
	tw_free(a, work->idle, work->idle_capacity * sizeof(struct tw_database *));
	return 0;
}

/* ---- rows that were recorded twice */

bool tw_nsys_is_again(struct tw_nsys_part *part, uint64_t hash, bool *again)
{
	/* A file that is written to meanwhile may have more rows than before. */
	*again = part->asked < part->again_count && part->again[part->asked];
	if (!part->again) {
		if (!tw_list_grow(&part->hashes, &part->hash_capacity, part->asked, sizeof(hash),
				  part->allocator))
			return false;
		part->hashes[part->asked] = hash;
	}
	part->asked++;
	return true;
}

static void free_hashes(struct tw_nsys_part *part)
{
	if (part->hashes)
		tw_free(part->allocator, part->hashes, part->hash_capacity * sizeof(*part->hashes));
	part->hashes = NULL;
	part->hash_capacity = 0;
}

/* The hashes of all parts, in their order. */
struct asked {
	const struct trawl_allocator *allocator;
	uint64_t *hashes;
	uint32_t *places; /* of hashes, by themselves: number + 1 */
	size_t count, place_count;
	bool *again; /* NULL: none is */
};

static void free_asked(struct asked *asked)
{
	const struct trawl_allocator *a = asked->allocator;

	tw_free(a, asked->hashes, asked->count * sizeof(*asked->hashes));
	tw_free(a, asked->places, asked->place_count * sizeof(*asked->places));
	tw_free(a, asked->again, asked->count * sizeof(*asked->again));
	*asked = (struct asked){ .allocator = a };
}

static bool collect(struct asked *asked, const struct work *work, size_t count)
{
	size_t i, at = 0;

	asked->hashes = tw_alloc_array(asked->allocator, asked->count, sizeof(*asked->hashes));
	for (i = 0; asked->hashes && i < count; i++) {
		struct tw_nsys_part *part = part_at(work->scan, work->parts, i);

		if (part->asked)
			memcpy(asked->hashes + at, part->hashes,
			       part->asked * sizeof(*part->hashes));
		at += part->asked;
		free_hashes(part);
	}
	return asked->hashes != NULL;
}

static bool note_again(struct asked *asked, size_t i)
{
	if (!asked->again)
		asked->again =
			tw_alloc_array(asked->allocator, asked->count, sizeof(*asked->again));
	if (!asked->again)
		return false;
	asked->again[i] = true;
	return true;
}

/* Marks the hashes that are there already. */
static bool compare(struct asked *asked)
{
	size_t place, i;

	asked->place_count = tw_slots_for(asked->count);
	asked->places =
		tw_alloc_array(asked->allocator, asked->place_count, sizeof(*asked->places));
	if (!asked->places)
		return false;
	for (i = 0; i < asked->count; i++) {
		uint64_t hash = asked->hashes[i];

		place = TW_SLOT(at, asked->place_count, hash,
				!asked->places[at] || asked->hashes[asked->places[at] - 1] == hash);
		if (!asked->places[place])
			asked->places[place] = (uint32_t)i + 1;
		else if (!note_again(asked, i))
			return false;
	}
	return true;
}

/* Reads the parts, and finds which of the rows they count are an earlier one again. */
static int look(struct work *work, size_t count, struct asked *asked, struct trawl_error *err)
{
	int status = read_parts(work, count, err);
	size_t i;

	for (i = 0; i < count; i++)
		asked->count += part_at(work->scan, work->parts, i)->asked;
	if (status || !asked->count)
		return status;
	if (asked->count >= UINT32_MAX)
		return trawl_error_set(err, TRAWL_ELIMIT, "table %s: more than %u rows count",
				       work->scan->table, UINT32_MAX - 1);
	if (!collect(asked, work, count) || !compare(asked))
		return tw_no_memory(err);
	return 0;
}

/* Makes the parts new; with what is known now of their rows, if `asked` is given. */
static void begin_anew(struct work *work, size_t count, const struct asked *asked)
{
	size_t i, asked_of, at = 0;

	for (i = 0; i < count; i++, at += asked_of) {
		struct tw_nsys_part *part = part_at(work->scan, work->parts, i);

		asked_of = part->asked;
		work->scan->release(part);
		memset(part, 0, work->scan->part_size);
		if (!asked)
			continue;
		part->again = asked->again + at;
		part->again_count = asked_of;
	}
}

/* Reads the parts, as often as rows that are an earlier one again make it needed. */
static int read_once_each(struct work *work, size_t count, struct trawl_error *err)
{
	struct asked asked = { .allocator = work->source->allocator };
	int status = look(work, count, &asked, err);

	if (!status && asked.again && work->scan->close_columns) {
		free_asked(&asked);
		begin_anew(work, count, NULL);
		work->close = true;
		status = look(work, count, &asked, err);
	}
	if (!status && asked.again) {
		begin_anew(work, count, &asked);
		status = read_parts(work, count, err);
	}
	free_asked(&asked);
	return status;
}

/* ---- what there is to say */

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
		return tw_no_memory(err);
	}
	status = read_once_each(&work, *count, err);
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

	for (i = 0; i < count; i++) {
		scan->release(part_at(scan, parts, i));
		free_hashes(part_at(scan, parts, i));
	}
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
	return tw_no_memory(&part->error);
}

const char *tw_nsys_text(struct tw_database *database, int64_t id, size_t *len)
{
	static const char table[] = "StringIds", column[] = "value";

	return tw_database_text(database, table, column, id, len);
}
