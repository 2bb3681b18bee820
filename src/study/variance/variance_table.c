/* A sheet of any step as a table with the columns that all of them have, and what it says to people. */
#include "study/variance/variance.h"

#include "base/alloc.h"
#include "findings/findings.h"
#include "render/render.h"
#include "render/width.h"
#include "study/variance/cells.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LADDER "gemm_overlap"

#define REAL(header, unit, digits, ...) TW_REAL(header, unit, digits, 12, __VA_ARGS__)
/* Exact, but files have all digits of them. */
#define MS(of_header, ...)                                                              \
	{                                                                               \
		.header = of_header, .type = TRAWL_COLUMN_ID, .unit = "ms", .scale = 6, \
		.digits = 6, .width = 20, .meaning = __VA_ARGS__                        \
	}
#define V(column) [TW_VARIANCE_##column]

const struct trawl_column tw_variance_columns[TW_VARIANCE_COLUMNS] = {
	V(THREADS) =
		TW_INTEGER("threads", 8, "threads per block of the configuration", .values = ">=0"),
	V(CHANNEL) = TW_INTEGER("channel", 8, "channels of the configuration", .values = ">=0"),
	V(RANK) = TW_INTEGER("rank", 6, "rank", .values = ">=0"),
	V(KERNEL) = TW_TEXT("kernel_name", 40, "kernel with the most time"),
	V(MIN) = REAL(TW_COL_KERNEL_TIME_MIN_US, "µs", 3, "min kernel time of a call"),
	V(MAX) = REAL(TW_COL_KERNEL_TIME_MAX_US, "µs", 3, "max kernel time of a call"),
	V(DIFF) = REAL(TW_COL_TIME_DIFF_US, "µs", 3, "max - min"),
	V(KERNEL_TOTAL) = TW_US("kernel_total_time_us", 14, "time of that kernel, all calls"),
	V(KERNEL_COUNT) = TW_INTEGER("kernel_count", 8, "number of kernels of the operator"),
	V(KERNEL_NAMES) = TW_TEXT("kernel_names", 40, "kernel names, most time first"),
	V(MIN_TS) =
		MS("min_duration_timestamp_ms", "start of the main kernel in the shortest call"),
	V(MAX_TS) = MS("max_duration_timestamp_ms", "start of the main kernel in the longest call"),
	V(BETWEEN) = MS("time_between_min_max_ms", "time between the two"),
	V(MIN_FOUND) =
		TW_US("min_duration_found_us", 14, "time of that kernel in the shortest call"),
	V(MAX_FOUND) =
		TW_US("max_duration_found_us", 14, "time of that kernel in the longest call"),
	V(STATUS) = TW_TEXT("match_status", 12,
			    "match with the times of the report: exact, within_tol, nearest, none",
			    .values = "exact|within_tol|nearest|none"),
	V(MATCHED_BY) = TW_TEXT("matched_by", 12, "matched by operation or kernel",
				.values = "operation|kernel"),
	V(MAIN) = TW_TEXT("main_kernel", 40, "kernel with the most time over all calls"),
	V(MIN_TIME) = TW_US("min_call_time_us", 14, "time of the shortest call"),
	V(MAX_TIME) = TW_US("max_call_time_us", 14, "time of the longest call"),
	V(MIN_START) = TW_US("min_call_start_us", 14, "first kernel start of the shortest call"),
	V(MIN_END) = TW_US("min_call_end_us", 14, "last kernel end"),
	V(MAX_START) = TW_US("max_call_start_us", 14,
			     "first kernel start of the longest call, trace clock"),
	V(MAX_END) = TW_US("max_call_end_us", 14, "last kernel end"),
	V(MIN_EVENT) = TW_INTEGER("min_call_event", 10, "event number of the shortest call"),
	V(MAX_EVENT) = TW_INTEGER("max_call_event", 10, "event number of the longest call"),
	V(COUNT) = TW_INTEGER("overlapping_collective_count", 8,
			      "number of collectives that overlap the longest call",
			      .values = ">=0"),
	V(NAMES) =
		TW_TEXT("overlapping_collective_names", 24, "collective names, in order of start"),
	V(MOST) = REAL("max_overlap_percentage", "%", 2,
		       "max share of the call that one collective overlaps", .values = "0..100"),
	V(MOST_NAME) = TW_TEXT("max_overlap_collective", 16, "that collective"),
	V(TOTAL) = MS("total_overlap_duration_ms",
		      "overlap of the call with all collectives (union)", .values = ">=0"),
	V(TOTAL_PERCENT) = REAL(TW_COL_TOTAL_OVERLAP_PERCENTAGE, "%", 2,
				"share of the call in overlap", .values = "0..100"),
	V(SPAN) = TW_US("max_call_span_us", 14, "duration of the longest call, start to end"),
};

size_t tw_variance_at(const struct trawl_table *table, enum tw_variance_column column)
{
	return trawl_table_find_column(table, tw_variance_columns[column].header);
}

double tw_variance_number(const struct trawl_table *table, size_t row,
			  enum tw_variance_column column)
{
	return tw_table_number(table, row, tw_variance_at(table, column));
}

/* ---- the table for printing: those of all steps that say something to people, and two more */

enum {
	NAME = TW_VARIANCE_COLUMNS,
	DIMS,
	READING,
};

static const struct trawl_column more_columns[] = {
	TW_TEXT("name", 20, "operator name"),
	TW_TEXT(TW_COL_INPUT_DIMS, 36, "input shapes"),
	TW_TEXT("reading", 24, "classification of the operator",
		.values =
			"blocked by communication|communication-heavy|partly beside communication|pure computation"),
};

static const int printed[] = {
	TW_VARIANCE_THREADS,
	TW_VARIANCE_CHANNEL,
	TW_VARIANCE_RANK,
	NAME,
	DIMS,
	TW_VARIANCE_KERNEL,
	TW_VARIANCE_MIN,
	TW_VARIANCE_MAX,
	TW_VARIANCE_DIFF,
	TW_VARIANCE_MIN_TS,
	TW_VARIANCE_MAX_TS,
	TW_VARIANCE_BETWEEN,
	TW_VARIANCE_MIN_FOUND,
	TW_VARIANCE_MAX_FOUND,
	TW_VARIANCE_STATUS,
	TW_VARIANCE_MATCHED_BY,
	TW_VARIANCE_MAX_START,
	TW_VARIANCE_MAX_END,
	TW_VARIANCE_COUNT,
	TW_VARIANCE_NAMES,
	TW_VARIANCE_MOST,
	TW_VARIANCE_MOST_NAME,
	TW_VARIANCE_TOTAL,
	TW_VARIANCE_TOTAL_PERCENT,
	READING,
};
#define PRINTED (sizeof(printed) / sizeof(printed[0]))

static struct trawl_column declared(int column)
{
	struct trawl_column c = column < NAME ? tw_variance_columns[column] :
						more_columns[column - NAME];

	if (!strcmp(c.unit, "ms"))
		c.type = TRAWL_COLUMN_DECIMAL;
	return c;
}

/* Where a step has it. */
static size_t source_of(const struct trawl_table *step, int column)
{
	if (column == NAME)
		return trawl_table_find_column(step, TW_VARIANCE_PREFIX "name");
	if (column == DIMS)
		return trawl_table_find_column(step, TW_VARIANCE_PREFIX TW_COL_INPUT_DIMS_FIRST);
	return column == READING ? SIZE_MAX : tw_variance_at(step, (enum tw_variance_column)column);
}

/* ---- the reading */

/* Of all collectives together; files of others tell the largest part alone. */
static double overlap_percent(const struct trawl_table *step, size_t row)
{
	double percent = tw_variance_number(step, row, TW_VARIANCE_TOTAL_PERCENT);

	return isnan(percent) ? tw_variance_number(step, row, TW_VARIANCE_MOST) : percent;
}

static const struct tw_level *level_of(const struct trawl_table *step, size_t row)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_collective_percent] = overlap_percent(step, row);
	facts.value[TW_FACT_collectives_at_once] = tw_variance_number(step, row, TW_VARIANCE_COUNT);
	return tw_level_of(LADDER, &facts);
}

bool tw_variance_is_blocked(const struct trawl_table *step, size_t row)
{
	return !strcmp(level_of(step, row)->level, "blocked");
}

/* ---- the table */

static void set_cell(struct trawl_table *table, const struct trawl_table *step, size_t row,
		     size_t column, size_t from)
{
	const struct trawl_column *declared = trawl_table_column(table, column);
	int64_t value;

	switch (declared->type) {
	case TRAWL_COLUMN_INTEGER:
		if (tw_table_whole(step, row, from, &value))
			tw_table_set_integer(table, row, column, value);
		break;
	case TRAWL_COLUMN_DECIMAL:
		if (tw_table_decimal(step, row, from, declared->scale, &value))
			tw_table_set_integer(table, row, column, value);
		break;
	case TRAWL_COLUMN_REAL:
		tw_table_set_real(table, row, column, tw_table_number(step, row, from));
		break;
	case TRAWL_COLUMN_TEXT:
	case TRAWL_COLUMN_ID:
		if (!tw_table_text_is(step, row, from, ""))
			tw_table_copy_cell(table, row, column, step, row, from);
		break;
	}
}

struct trawl_table *tw_variance_table(const struct trawl_table *step,
				      const struct trawl_allocator *allocator)
{
	static const struct tw_table_spec spec = {
		.name = "gemm_variance",
		.meaning = "operators with the largest variance of call times",
		.keep_empty = true,
	};
	struct trawl_column columns[PRINTED];
	struct trawl_table *table;
	size_t row, i;

	for (i = 0; i < PRINTED; i++)
		columns[i] = declared(printed[i]);
	table = tw_table_new_columns(&spec, columns, PRINTED, allocator);
	for (row = 0; table && row < trawl_table_rows(step); row++) {
		const struct tw_level *level = level_of(step, row);

		tw_table_add_row(table);
		for (i = 0; i < PRINTED; i++)
			set_cell(table, step, row, i, source_of(step, printed[i]));
		if (strcmp(level->level, "unknown") != 0)
			tw_table_set_str(table, row, PRINTED - 1, level->text);
	}
	return tw_table_finished(table);
}

/* ---- for people */

#define SHOWN 10

/* A narrow terminal has no room for the last ones. */
enum { S_CONFIGURATION, S_RANK, S_DIFF, S_OVERLAP, S_READING, S_NAME, S_DIMS, S_MIN, S_MAX, S_END };

static const struct trawl_column shown_columns[S_END] = {
	TW_TEXT("configuration", 18, "threads and channels"),
	TW_INTEGER("rank", 6, "rank"),
	REAL("diff", "µs", 1, "max - min"),
	REAL("overlap", "%", 0, "share of the longest call that overlaps collectives"),
	TW_TEXT("reading", 8, "classification"),
	TW_TEXT("operation", 20, "operator name"),
	TW_TEXT("input dims", 30, "input shapes"),
	REAL("min", "µs", 1, "min kernel time of a call"),
	REAL("max", "µs", 1, "max kernel time of a call"),
};

static const struct tw_table_spec shown_spec = {
	.name = "gemm_variance",
	.meaning = "operators with the largest variance of call times",
	.columns = shown_columns,
};

/* Before the step that looks for communication two columns are not there. */
static size_t shown_at(size_t column, bool overlap)
{
	return overlap || column < S_OVERLAP ? column : column - (S_NAME - S_OVERLAP);
}

static void add_shown(struct trawl_table *table, const struct trawl_table *step, size_t row,
		      bool overlap)
{
	const struct tw_level *level = level_of(step, row);
	size_t name = source_of(step, NAME), dims = source_of(step, DIMS);
	size_t at = tw_table_add_row(table);
	int64_t threads, channels, rank;
	char text[64];

	if (tw_variance_point(step, row, &threads, &channels, &rank)) {
		snprintf(text, sizeof(text), "%" PRId64 "thread_%" PRId64 "ch", threads, channels);
		tw_table_set_str(table, at, S_CONFIGURATION, text);
		tw_table_set_integer(table, at, S_RANK, rank);
	}
	/* The operation, or the kernel where the file does not tell it. */
	if (tw_table_text_is(step, row, name, ""))
		name = tw_variance_at(step, TW_VARIANCE_KERNEL);
	tw_table_set_str(table, at, shown_at(S_NAME, overlap), "");
	tw_table_copy_cell(table, at, shown_at(S_NAME, overlap), step, row, name);
	if (!tw_table_text_is(step, row, dims, ""))
		tw_table_copy_cell(table, at, shown_at(S_DIMS, overlap), step, row, dims);
	tw_table_set_real(table, at, shown_at(S_MIN, overlap),
			  tw_variance_number(step, row, TW_VARIANCE_MIN));
	tw_table_set_real(table, at, shown_at(S_MAX, overlap),
			  tw_variance_number(step, row, TW_VARIANCE_MAX));
	tw_table_set_real(table, at, S_DIFF, tw_variance_number(step, row, TW_VARIANCE_DIFF));
	if (!overlap)
		return;
	tw_table_set_real(table, at, S_OVERLAP, overlap_percent(step, row));
	if (strcmp(level->level, "unknown") != 0)
		tw_table_set_str(table, at, S_READING, level->level);
}

static void add_table(const struct trawl_table *step, bool overlap, unsigned width,
		      struct tw_str *out)
{
	struct trawl_column own[S_END];
	struct trawl_table *table;
	size_t row, count = trawl_table_rows(step), i;

	for (i = 0; i < S_END; i++)
		if (overlap || i < S_OVERLAP || i >= S_NAME)
			own[shown_at(i, overlap)] = shown_columns[i];
	table = tw_table_new_columns(&shown_spec, own, shown_at(S_END, overlap), out->allocator);
	for (row = 0; table && row < count && row < SHOWN; row++)
		add_shown(table, step, row, overlap);
	if (!table || tw_table_finish(table, NULL))
		out->failed = true;
	else
		tw_render_text(table, out, width, 0);
	trawl_table_free(table);
}

static int compare_numbers(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Whole words on lines of at most `width`, those after the first indented. */
static void add_wrapped(struct tw_str *out, const struct tw_str *text, unsigned indent,
			unsigned width)
{
	const char *p = text->len ? text->ptr : "";
	size_t used = 0;

	while (*p) {
		size_t blanks = strspn(p, " "), len = blanks + strcspn(p + blanks, " ");

		if (width && used > indent && used + tw_text_width(p, len) > width) {
			tw_str_addf(out, "\n%*s", (int)indent, "");
			used = indent;
			p += blanks;
			len -= blanks;
		}
		tw_str_add(out, p, len);
		used += tw_text_width(p, len);
		p += len;
	}
	tw_str_add_char(out, '\n');
	out->failed |= text->failed;
}

/* "mean 12.3, median 11.0, min 4.0, max 20.0 µs" of the numbers of a column. */
static void add_statistics(const struct trawl_table *step, enum tw_variance_column column,
			   const char *what, double us_per_unit, unsigned width, struct tw_str *out)
{
	struct tw_str line;
	size_t rows = trawl_table_rows(step), i, n = 0;
	double *values = tw_alloc_array(out->allocator, rows + 1, sizeof(*values)), sum = 0;

	for (i = 0; values && i < rows; i++) {
		double value = tw_variance_number(step, i, column);

		if (isfinite(value)) {
			values[n++] = value * us_per_unit;
			sum += value * us_per_unit;
		}
	}
	out->failed |= !values;
	if (n) {
		qsort(values, n, sizeof(*values), compare_numbers);
		tw_str_init(&line, out->allocator);
		tw_str_addf(&line, "%s: mean ", what);
		tw_str_add_real_fixed(&line, sum / (double)n, 3);
		tw_str_add_cstr(&line, ", median ");
		tw_str_add_real_fixed(&line, (values[(n - 1) / 2] + values[n / 2]) / 2, 3);
		tw_str_add_cstr(&line, ", min ");
		tw_str_add_real_fixed(&line, values[0], 3);
		tw_str_add_cstr(&line, ", max ");
		tw_str_add_real_fixed(&line, values[n - 1], 3);
		tw_str_add_cstr(&line, " µs");
		add_wrapped(out, &line, 2, width);
		tw_str_release(&line);
	}
	tw_free(out->allocator, values, (rows + 1) * sizeof(*values));
}

static size_t count_with(const struct trawl_table *step, enum tw_variance_column column)
{
	size_t at = tw_variance_at(step, column), i, n = 0;

	for (i = 0; i < trawl_table_rows(step); i++)
		n += !tw_table_text_is(step, i, at, "");
	return n;
}

size_t tw_variance_matched(const struct trawl_table *step, const char *status)
{
	size_t at = tw_variance_at(step, TW_VARIANCE_STATUS), i, n = 0;

	for (i = 0; i < trawl_table_rows(step); i++)
		n += tw_table_text_is(step, i, at, status);
	return n;
}

/* How well they were found; of files without that how many have times. */
static void add_matches(const struct trawl_table *step, unsigned width, struct tw_str *out)
{
	static const struct {
		const char *status, *what;
	} list[] = {
		{ "exact", "exact" },
		{ "within_tol", "within tolerance" },
		{ "nearest", "nearest" },
	};
	struct tw_str line;
	size_t rows = trawl_table_rows(step), counts[3], found = 0, i;
	bool first = true;

	for (i = 0; i < 3; i++)
		found += counts[i] = tw_variance_matched(step, list[i].status);
	tw_str_init(&line, out->allocator);
	tw_str_addf(&line, "Found in the traces: %zu of %zu row%s",
		    found ? found : count_with(step, TW_VARIANCE_MIN_TS), rows,
		    rows == 1 ? "" : "s");
	for (i = 0; i < 3; i++)
		if (counts[i]) {
			tw_str_addf(&line, "%s%zu %s", first ? " (" : ", ", counts[i],
				    list[i].what);
			first = false;
		}
	if (found)
		tw_str_add_char(&line, ')');
	add_wrapped(out, &line, 2, width);
	tw_str_release(&line);
}

static size_t count_level(const struct trawl_table *step, const char *level)
{
	size_t i, n = 0;

	for (i = 0; i < trawl_table_rows(step); i++)
		n += !strcmp(level_of(step, i)->level, level);
	return n;
}

static void add_reading(const char *level, size_t n, const char *what, unsigned width,
			struct tw_str *out)
{
	struct tw_str line;

	tw_str_init(&line, out->allocator);
	tw_str_addf(&line, "  %-7s  %6zu row%s: %s", level, n, n == 1 ? " " : "s", what);
	add_wrapped(out, &line, 24, width);
	tw_str_release(&line);
}

/* A line for each reading that rows have. */
static void add_readings(const struct trawl_table *step, unsigned width, struct tw_str *out)
{
	static const struct {
		const char *level, *what;
	} lines[] = {
		{ "heavy", "several collectives overlap: communication-heavy" },
		{ "partly", "one collective overlaps" },
		{ "pure", "no collective overlaps: pure computation" },
		{ "unknown", "times or collectives unknown" },
	};
	size_t i, n = count_level(step, "blocked");
	char blocked[112];

	snprintf(blocked, sizeof(blocked),
		 "collectives overlap more than %d %% of the longest call: blocked by "
		 "communication",
		 (int)tw_level_bound(LADDER, "blocked"));
	if (n)
		add_reading("blocked", n, blocked, width, out);
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		n = count_level(step, lines[i].level);
		if (n)
			add_reading(lines[i].level, n, lines[i].what, width, out);
	}
}

void tw_variance_digest(const struct trawl_table *step, unsigned width, struct tw_str *out)
{
	size_t rows = trawl_table_rows(step), none = trawl_table_columns(step);
	bool times = tw_variance_at(step, TW_VARIANCE_MIN_TS) != none;
	bool overlap = tw_variance_at(step, TW_VARIANCE_COUNT) != none;

	tw_str_addf(out, "Operators with the largest variance of call times: %zu row%s", rows,
		    rows == 1 ? "" : "s");
	tw_str_addf(out, rows > SHOWN ? ", first %d shown\n\n" : "\n\n", SHOWN);
	if (!rows)
		return;
	add_table(step, overlap, width, out);
	tw_str_add_char(out, '\n');
	add_statistics(step, TW_VARIANCE_DIFF, "Difference", 1, width, out);
	if (times) {
		add_matches(step, width, out);
		add_statistics(step, TW_VARIANCE_BETWEEN, "Between shortest and longest call", 1000,
			       width, out);
	}
	if (overlap) {
		tw_str_add_cstr(out, "Collectives during the longest call:\n");
		add_readings(step, width, out);
	}
}
