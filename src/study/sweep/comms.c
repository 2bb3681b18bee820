#define _GNU_SOURCE
#include "study/sweep/aggregates.h"

#include "base/alloc.h"
#include "base/order.h"
#include "data/limits.h"
#include "render/escape.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OF_TIMES(name, what)                                       \
	TW_MEAN_US(name "_mean", 14, "mean of " what),             \
		TW_MEAN_US(name "_median", 14, "median of " what), \
		TW_MEAN_US(name "_min", 14, "min of " what),       \
		TW_MEAN_US(name "_max", 14, "max of " what)

#define OF_RATES(name, what)                                               \
	TW_REAL(name "_mean", "GB/s", 3, 12, "mean of " what),             \
		TW_REAL(name "_median", "GB/s", 3, 12, "median of " what), \
		TW_REAL(name "_min", "GB/s", 3, 12, "min of " what),       \
		TW_REAL(name "_max", "GB/s", 3, 12, "max of " what)

static const struct trawl_column columns[] = {
	TW_TEXT("operation_id", 12,
		"number of the collective, data type, size and group, small messages first"),
	TW_TEXT("operation_name", 18, "message size as text"),
	TW_REAL("Full msg size (MB)", "MB", 3, 12, "2^20 bytes"),
	TW_ID("In msg nelems", 14, "number of elements sent"),
	TW_INTEGER("threads_num", 10, "threads per block of collective kernels"),
	TW_TEXT("thread_config", 12, "same as text"),
	TW_INTEGER("channels_num", 10, "max channels of a collective"),
	TW_TEXT("channel_config", 12, "same as text"),
	TW_TEXT("full_config", 18, "threads and channels"),
	TW_TEXT("Collective name", 18, "name in the trace"),
	TW_TEXT("dtype", 12, "data type"),
	TW_ID("Group size", 10, "number of ranks of the process group"),
	TW_ID("count", 8, "number of collectives"),
	OF_TIMES("comm_latency", "min time over ranks"),
	TW_MEAN_MS("Total comm latency (ms)", 14, "sum of comm_latency"),
	OF_RATES("algo bw (GB/s)", "full size / 1024 / comm_latency"),
	OF_RATES("bus bw (GB/s)", "bus bandwidth: algorithm bandwidth x factor of the collective"),
	OF_TIMES("skew in start time", "last start - first start"),
	OF_TIMES("skew in end time", "last end - first end"),
	TW_TEXT("Process Group Name", 14, "process group of the first collective"),
	TW_TEXT("source_file", 24, "source report"),
};

#define COLUMNS (sizeof(columns) / sizeof(*columns))

enum {
	OPERATION_ID,
	OPERATION_NAME,
	SIZE,
	ELEMENTS,
	THREADS_NUM,
	THREAD_CONFIG,
	CHANNELS_NUM,
	CHANNEL_CONFIG,
	FULL_CONFIG,
	COLLECTIVE,
	DTYPE,
	GROUP_SIZE,
	COUNT,
	LATENCY_MEAN,
	TOTAL_LATENCY = LATENCY_MEAN + 4,
	GROUP_NAME = COLUMNS - 2,
	SOURCE_FILE
};

_Static_assert(COLUMNS == 36, "fixed layout of 36 columns");

static const struct tw_table_spec spec = {
	.name = "NCCL_Data",
	.meaning = "collectives of all configurations (nccl_summary_implicit_sync)",
	.columns = columns,
	.column_count = COLUMNS,
	.keep_empty = true,
};

struct row {
	size_t at; /* in the table */
	int64_t threads, channels;
	double size;	  /* NaN: not known */
	size_t operation; /* from 1 */
};

struct tw_comms {
	const struct trawl_allocator *allocator;
	struct trawl_table *table; /* all rows as they came, operations not yet numbered */
};

struct tw_comms *tw_comms_new(const struct trawl_allocator *allocator)
{
	struct tw_comms *comms = tw_alloc_array(allocator, 1, sizeof(*comms));

	if (!comms)
		return NULL;
	comms->allocator = allocator;
	comms->table = tw_table_new(&spec, allocator);
	if (comms->table)
		return comms;
	tw_comms_free(comms);
	return NULL;
}

void tw_comms_free(struct tw_comms *comms)
{
	if (!comms)
		return;
	trawl_table_free(comms->table);
	tw_free(comms->allocator, comms, sizeof(*comms));
}

static bool is_made_here(size_t column)
{
	return column == OPERATION_ID || column == OPERATION_NAME || column == SOURCE_FILE ||
	       (column >= THREADS_NUM && column <= FULL_CONFIG);
}

/* Where each column is; without the key there is nothing to put side by side. */
static int find_columns(const struct trawl_table *from, size_t found[COLUMNS],
			struct trawl_error *err)
{
	static const size_t key[] = { COLLECTIVE, DTYPE, SIZE };
	size_t i;

	for (i = 0; i < COLUMNS; i++)
		found[i] = is_made_here(i) ? SIZE_MAX :
					     trawl_table_find_column(from, columns[i].header);
	for (i = 0; i < sizeof(key) / sizeof(*key); i++)
		if (found[key[i]] == trawl_table_columns(from))
			return trawl_error_set(err, TRAWL_EFORMAT,
					       "nccl_summary_implicit_sync has no column '%s'",
					       columns[key[i]].header);
	return 0;
}

static void set_configuration(struct trawl_table *table, size_t row, int64_t threads,
			      int64_t channels)
{
	char text[64];

	tw_table_set_integer(table, row, THREADS_NUM, threads);
	tw_table_set_integer(table, row, CHANNELS_NUM, channels);
	snprintf(text, sizeof(text), "%" PRId64 "thread", threads);
	tw_table_set_str(table, row, THREAD_CONFIG, text);
	snprintf(text, sizeof(text), "%" PRId64 "ch", channels);
	tw_table_set_str(table, row, CHANNEL_CONFIG, text);
	snprintf(text, sizeof(text), "%" PRId64 "thread_%" PRId64 "ch", threads, channels);
	tw_table_set_str(table, row, FULL_CONFIG, text);
}

int tw_comms_add(struct tw_comms *comms, int64_t threads, int64_t channels, const char *source,
		 const struct trawl_table *from, struct trawl_error *err)
{
	struct trawl_table *to = comms->table;
	size_t found[COLUMNS], i, k, row;

	if (find_columns(from, found, err))
		return err->status;
	for (i = 0; i < trawl_table_rows(from); i++) {
		if (tw_table_text_is(from, i, found[COLLECTIVE], ""))
			continue;
		row = tw_table_add_row(to);
		set_configuration(to, row, threads, channels);
		tw_table_set_str(to, row, SOURCE_FILE, source);
		for (k = 0; k < COLUMNS; k++)
			if (columns[k].type == TRAWL_COLUMN_REAL)
				tw_table_set_real(to, row, k, tw_table_number(from, i, found[k]));
			else if (!tw_table_text_is(from, i, found[k], ""))
				tw_table_copy_cell(to, row, k, from, i, found[k]);
	}
	return tw_table_finish(to, err);
}

/* ---- operations */

static int compare_text(const struct trawl_table *table, const struct row *a, const struct row *b,
			size_t column)
{
	struct trawl_cell x = trawl_table_cell(table, a->at, column);
	struct trawl_cell y = trawl_table_cell(table, b->at, column);
	size_t len = x.text_len < y.text_len ? x.text_len : y.text_len;
	int order = len ? memcmp(x.text, y.text, len) : 0;

	return order ? order : (x.text_len > y.text_len) - (x.text_len < y.text_len);
}

/* Numbers by their value, before what is none. */
static int compare_real(double a, double b)
{
	if (isnan(a) || isnan(b))
		return (isnan(a) != 0) - (isnan(b) != 0);
	return a < b ? -1 : a > b;
}

static int compare_number(const struct trawl_table *table, const struct row *a, const struct row *b,
			  size_t column)
{
	return compare_real(tw_table_number(table, a->at, column),
			    tw_table_number(table, b->at, column));
}

/* What makes an operation: its size, so that ids go up with it, and what else tells it apart. */
static int compare_operations(const struct trawl_table *table, const struct row *a,
			      const struct row *b)
{
	int order = compare_real(a->size, b->size);

	order = order ? order : compare_text(table, a, b, COLLECTIVE);
	order = order ? order : compare_text(table, a, b, DTYPE);
	order = order ? order : compare_number(table, a, b, ELEMENTS);
	order = order ? order : compare_number(table, a, b, GROUP_SIZE);
	return order ? order : compare_text(table, a, b, GROUP_NAME);
}

static int compare_configurations(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	return TW_ORDER_BY(a, b, threads, channels, at);
}

static int compare_rows(const void *x, const void *y, void *table)
{
	int order = compare_operations(table, x, y);

	return order ? order : compare_configurations(x, y);
}

/* The rows in order, with the numbers of their operations; NULL when out of memory. */
static struct row *ordered_rows(const struct tw_comms *comms, size_t *count)
{
	struct trawl_table *table = comms->table;
	struct row *rows;
	size_t i;

	*count = trawl_table_rows(table);
	rows = tw_alloc_array(comms->allocator, *count, sizeof(*rows));
	for (i = 0; rows && i < *count; i++)
		rows[i] = (struct row){
			.at = i,
			.threads = trawl_table_cell(table, i, THREADS_NUM).integer,
			.channels = trawl_table_cell(table, i, CHANNELS_NUM).integer,
			.size = tw_table_number(table, i, SIZE),
			.operation = 1,
		};
	if (rows)
		qsort_r(rows, *count, sizeof(*rows), compare_rows, table);
	for (i = 1; rows && i < *count; i++)
		rows[i].operation = rows[i - 1].operation +
				    (compare_operations(table, &rows[i - 1], &rows[i]) != 0);
	return rows;
}

static void free_rows(const struct tw_comms *comms, struct row *rows, size_t count)
{
	tw_free(comms->allocator, rows, count * sizeof(*rows));
}

/* As many digits as the last one needs, so that text sorts as numbers do. */
static void operation_id(char id[32], size_t operation, size_t last)
{
	int digits = 2;

	for (last /= 100; last; last /= 10)
		digits++;
	snprintf(id, 32, "OP_%0*zu", digits, operation);
}

static void operation_name(struct tw_str *out, double size)
{
	tw_str_clear(out);
	if (isnan(size)) {
		tw_str_add_cstr(out, "unknown");
	} else if (size < TW_LIMIT_MESSAGE_TINY_MB) {
		tw_str_add_cstr(out, "tiny_");
		tw_str_add_real_fixed(out, size * 1024, 3);
		tw_str_add_cstr(out, "KB");
	} else {
		tw_str_add_cstr(out, size < TW_LIMIT_MESSAGE_MEDIUM_MB ? "medium_" : "large_");
		tw_str_add_real_fixed(out, size, 2);
		tw_str_add_cstr(out, "MB");
	}
}

static void add_row(struct trawl_table *to, const struct trawl_table *from, const struct row *r,
		    size_t last, struct tw_str *name)
{
	size_t row = tw_table_add_row(to), i;
	char id[32];

	for (i = 0; i < COLUMNS; i++)
		tw_table_copy_cell(to, row, i, from, r->at, i);
	operation_id(id, r->operation, last);
	tw_table_set_str(to, row, OPERATION_ID, id);
	operation_name(name, r->size);
	tw_table_set_str(to, row, OPERATION_NAME, name->ptr);
}

int tw_comms_table(const struct tw_comms *comms, struct trawl_table **table,
		   struct trawl_error *err)
{
	struct tw_str name;
	struct row *rows;
	size_t count, i;
	int status = 0;

	*table = NULL;
	if (!trawl_table_rows(comms->table))
		return 0;
	rows = ordered_rows(comms, &count);
	*table = rows ? tw_table_new(&spec, comms->allocator) : NULL;
	tw_str_init(&name, comms->allocator);
	for (i = 0; *table && i < count; i++)
		add_row(*table, comms->table, &rows[i], rows[count - 1].operation, &name);
	if (!*table || name.failed)
		status = tw_no_memory(err);
	else
		status = tw_table_finish(*table, err);
	tw_str_release(&name);
	free_rows(comms, rows, count);
	return status;
}

/* ---- for people */

#define MOST_LINES 10

/* Rows [first, first + count) of one operation. */
struct span {
	size_t first, count;
	double total_ms;
};

static int compare_spans(const void *x, const void *y)
{
	const struct span *a = x, *b = y;

	if (a->total_ms > b->total_ms || a->total_ms < b->total_ms)
		return a->total_ms > b->total_ms ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

static size_t make_spans(const struct trawl_table *table, const struct row *rows, size_t count,
			 struct span *spans)
{
	size_t i, made = 0;

	for (i = 0; i < count; i++) {
		double ms = tw_table_number(table, rows[i].at, TOTAL_LATENCY);

		if (!i || rows[i].operation != rows[i - 1].operation)
			spans[made++] = (struct span){ .first = i };
		spans[made - 1].count++;
		spans[made - 1].total_ms += isnan(ms) ? 0 : ms;
	}
	qsort(spans, made, sizeof(*spans), compare_spans);
	return made;
}

static void add_operation(const struct trawl_table *table, const struct row *rows,
			  const struct span *span, size_t last, unsigned width, struct tw_str *out)
{
	const struct row *first = &rows[span->first], *least = NULL, *most = NULL;
	const struct trawl_cell name = trawl_table_cell(table, first->at, COLLECTIVE);
	const struct trawl_cell dtype = trawl_table_cell(table, first->at, DTYPE);
	size_t i, begin = out->len;
	double low = 0, high = 0;
	char id[32];

	for (i = 0; i < span->count; i++) {
		double value = tw_table_number(table, first[i].at, LATENCY_MEAN);

		if (isnan(value))
			continue;
		if (!least || value < low) {
			least = &first[i];
			low = value;
		}
		if (!most || value > high) {
			most = &first[i];
			high = value;
		}
	}
	if (!least)
		return;
	operation_id(id, first->operation, last);
	tw_str_addf(out, "  %s ", id);
	tw_escape_terminal(out, name.text, name.text_len);
	tw_str_add_char(out, ' ');
	tw_escape_terminal(out, dtype.text, dtype.text_len);
	tw_str_add_char(out, ' ');
	tw_str_add_real_fixed(out, first->size, 2);
	tw_str_add_cstr(out, " MB: ");
	tw_str_add_real_fixed(out, low, 3);
	tw_str_addf(out, " µs %" PRId64 "thread_%" PRId64 "ch", least->threads, least->channels);
	if (high > low && (!width || out->len - begin + 43 <= width)) {
		tw_str_add_cstr(out, "; max ");
		tw_str_add_real_fixed(out, high, 3);
		tw_str_addf(out, " µs %" PRId64 "thread_%" PRId64 "ch", most->threads,
			    most->channels);
		if (low > 0) {
			tw_str_add_cstr(out, " (+");
			tw_str_add_real_fixed(out, 100 * (high / low - 1), 1);
			tw_str_add_cstr(out, " %)");
		}
	}
	tw_str_add_char(out, '\n');
}

/* The configuration with the least of all collectives together; rows get another order. */
static void add_total(const struct trawl_table *table, struct row *rows, size_t count,
		      struct tw_str *out)
{
	const struct row *best = NULL, *first = rows;
	double least = 0, sum = 0;
	size_t i;

	qsort(rows, count, sizeof(*rows), compare_configurations);
	for (i = 0; i < count; i++) {
		double value = tw_table_number(table, rows[i].at, TOTAL_LATENCY);

		sum += isnan(value) ? 0 : value;
		if (i + 1 < count && rows[i + 1].threads == first->threads &&
		    rows[i + 1].channels == first->channels)
			continue;
		if (!best || sum < least) {
			best = first;
			least = sum;
		}
		first = &rows[i + 1];
		sum = 0;
	}
	tw_str_add_cstr(out, "  all collectives: ");
	tw_str_add_real_fixed(out, least, 3);
	tw_str_addf(out, " ms %" PRId64 "thread_%" PRId64 "ch\n", best->threads, best->channels);
}

void tw_comms_digest(const struct tw_comms *comms, unsigned width, struct tw_str *out)
{
	struct span *spans = NULL;
	struct row *rows = NULL;
	size_t count = 0, made, i;

	if (!trawl_table_rows(comms->table))
		return;
	rows = ordered_rows(comms, &count);
	if (rows)
		spans = tw_alloc_array(comms->allocator, count, sizeof(*spans));
	if (spans) {
		size_t last = rows[count - 1].operation;

		made = make_spans(comms->table, rows, count, spans);
		tw_str_add_cstr(out, "Collectives, mean latency: min over configurations\n");
		for (i = 0; i < made && i < MOST_LINES; i++)
			add_operation(comms->table, rows, &spans[i], last, width, out);
		if (made > MOST_LINES)
			tw_str_addf(out, "  and %zu more\n", made - MOST_LINES);
		add_total(comms->table, rows, count, out);
	} else {
		out->failed = true;
	}
	tw_free(comms->allocator, spans, count * sizeof(*spans));
	free_rows(comms, rows, count);
}
