/* A sheet of any step as a table with the columns that all of them have, and what it says to people. */
#include "study/variance/variance.h"

#include "base/alloc.h"
#include "findings/findings.h"
#include "render/render.h"
#include "render/width.h"
#include "study/sweep/sheet.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LADDER "gemm_overlap"

#define REAL(header, unit, digits, ...) TW_REAL(header, unit, digits, 12, __VA_ARGS__)
#define MS(header, ...) TW_DECIMAL(header, "ms", 6, 6, 20, __VA_ARGS__)

enum {
	THREADS,
	CHANNEL,
	RANK,
	NAME,
	DIMS,
	KERNEL,
	MIN,
	MAX,
	DIFF,
	MIN_TS,
	MAX_TS,
	BETWEEN,
	MIN_FOUND,
	MAX_FOUND,
	STATUS,
	MATCHED_BY,
	MAX_START,
	MAX_END,
	COUNT,
	NAMES,
	MOST,
	MOST_NAME,
	TOTAL,
	TOTAL_PERCENT,
	READING,
	COLUMNS
};

static const struct trawl_column columns[COLUMNS] = {
	TW_INTEGER("threads", 8, "threads of the configuration", .values = ">=0"),
	TW_INTEGER("channel", 8, "its channels", .values = ">=0"),
	TW_INTEGER("rank", 6, "rank whose report has the operation", .values = ">=0"),
	TW_TEXT("name", 20, "name of the operation"),
	TW_TEXT("Input Dims", 36, "shapes of its inputs"),
	TW_TEXT("kernel_name", 40, "its kernel with the most time"),
	REAL("kernel_time_min_us", "µs", 3, "kernel time of its shortest call"),
	REAL("kernel_time_max_us", "µs", 3, "kernel time of its longest call"),
	REAL("time_diff_us", "µs", 3, "what they differ by"),
	MS("min_duration_timestamp_ms", "start of the main kernel in the shortest call"),
	MS("max_duration_timestamp_ms", "start of the main kernel in the longest call"),
	MS("time_between_min_max_ms", "what lies between the two"),
	TW_US("min_duration_found_us", 14, "time of that kernel in the shortest call"),
	TW_US("max_duration_found_us", 14, "time of that kernel in the longest call"),
	TW_TEXT("match_status", 12,
		"whether the calls' times are those of the report: exact, within_tol, nearest, none",
		.values = "exact|within_tol|nearest|none"),
	TW_TEXT("matched_by", 12, "what the operation was found by: operation or kernel",
		.values = "operation|kernel"),
	TW_US("max_call_start_us", 14,
	      "first start of the longest call's kernels, on the trace's clock"),
	TW_US("max_call_end_us", 14, "last end of them"),
	TW_INTEGER("overlapping_collective_count", 8, "collectives that run in that time",
		   .values = ">=0"),
	TW_TEXT("overlapping_collective_names", 24, "their names, in order of start"),
	REAL("max_overlap_percentage", "%", 2, "share of the call that one of them covers at most",
	     .values = "0..100"),
	TW_TEXT("max_overlap_collective", 16, "which one"),
	MS("total_overlap_duration_ms", "time of the call that all of them cover together",
	   .values = ">=0"),
	REAL("total_overlap_percentage", "%", 2, "share of the call that is", .values = "0..100"),
	TW_TEXT("reading", 24, "what that says about the operation",
		.values =
			"blocked by communication|communication-heavy|partly beside communication|pure computation"),
};

static const struct tw_table_spec spec = {
	.name = "gemm_variance",
	.meaning = "operations whose calls differ most in time",
	.columns = columns,
	.column_count = COLUMNS,
	.keep_empty = true,
};

/* Where a column of the table comes from, if its header does not say. */
static const char *source_of(size_t column)
{
	return column == NAME ? "col_name" :
	       column == DIMS ? "col_Input Dims_first" :
				columns[column].header;
}

/* ---- the reading */

static double number_at(const struct tw_csv *csv, size_t row, const char *header)
{
	return tw_csv_number(csv, row, tw_csv_column(csv, header));
}

/* Of all collectives together; files of others tell the largest part alone. */
static double overlap_percent(const struct tw_csv *csv, size_t row)
{
	double percent = number_at(csv, row, columns[TOTAL_PERCENT].header);

	return isnan(percent) ? number_at(csv, row, columns[MOST].header) : percent;
}

static const struct tw_level *level_of(const struct tw_csv *csv, size_t row)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_collective_percent] = overlap_percent(csv, row);
	facts.value[TW_FACT_collectives_at_once] = number_at(csv, row, columns[COUNT].header);
	return tw_level_of(LADDER, &facts);
}

bool tw_variance_is_blocked(const struct tw_csv *csv, size_t row)
{
	return !strcmp(level_of(csv, row)->level, "blocked");
}

/* ---- the table */

static void set_cell(struct trawl_table *table, const struct tw_csv *csv, size_t row, size_t column)
{
	const char *text = tw_csv_text(csv, row, tw_csv_column(csv, source_of(column)));
	int64_t value;

	switch (columns[column].type) {
	case TRAWL_COLUMN_INTEGER:
		if (tw_whole_of(text, &value))
			tw_table_set_integer(table, row, column, value);
		break;
	case TRAWL_COLUMN_DECIMAL:
		if (tw_decimal_of(text, columns[column].scale, &value))
			tw_table_set_integer(table, row, column, value);
		break;
	case TRAWL_COLUMN_REAL:
		tw_table_set_real(table, row, column,
				  tw_csv_number(csv, row, tw_csv_column(csv, source_of(column))));
		break;
	case TRAWL_COLUMN_TEXT:
	case TRAWL_COLUMN_ID:
		if (*text)
			tw_table_set_str(table, row, column, text);
		break;
	}
}

struct trawl_table *tw_variance_table(const struct tw_csv *csv,
				      const struct trawl_allocator *allocator)
{
	struct trawl_table *table = tw_table_new(&spec, allocator);
	size_t row, column;

	for (row = 0; table && row < csv->rows; row++) {
		const struct tw_level *level = level_of(csv, row);

		tw_table_add_row(table);
		for (column = 0; column < READING; column++)
			set_cell(table, csv, row, column);
		if (strcmp(level->level, "unknown") != 0)
			tw_table_set_str(table, row, READING, level->text);
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
	REAL("diff", "µs", 1, "what min and max differ by"),
	REAL("overlap", "%", 0, "share of the longest call beside collectives"),
	TW_TEXT("reading", 8, "what that says"),
	TW_TEXT("operation", 20, "name of the operation"),
	TW_TEXT("input dims", 30, "shapes of its inputs"),
	REAL("min", "µs", 1, "kernel time of its shortest call"),
	REAL("max", "µs", 1, "kernel time of its longest call"),
};

static const struct tw_table_spec shown_spec = {
	.name = "gemm_variance",
	.meaning = "operations whose calls differ most in time",
	.columns = shown_columns,
};

/* Before the step that looks for communication two columns are not there. */
static size_t shown_at(size_t column, bool overlap)
{
	return overlap || column < S_OVERLAP ? column : column - (S_NAME - S_OVERLAP);
}

/* The operation, or the kernel where the file does not tell it. */
static const char *operation_of(const struct tw_csv *csv, size_t row)
{
	const char *name = tw_csv_text(csv, row, tw_csv_column(csv, "col_name"));

	return *name ? name : tw_csv_text(csv, row, tw_csv_column(csv, "kernel_name"));
}

static void add_shown(struct trawl_table *table, const struct tw_csv *csv, size_t row, bool overlap)
{
	const char *dims = tw_csv_text(csv, row, tw_csv_column(csv, source_of(DIMS)));
	const struct tw_level *level = level_of(csv, row);
	size_t at = tw_table_add_row(table);
	int64_t threads, channels, rank;
	struct tw_str text;

	tw_str_init(&text, trawl_allocator_default());
	if (tw_variance_point(csv, row, &threads, &channels, &rank)) {
		tw_str_addf(&text, "%" PRId64 "thread_%" PRId64 "ch", threads, channels);
		tw_table_set_text(table, at, S_CONFIGURATION, text.ptr ? text.ptr : "", text.len);
		tw_table_set_integer(table, at, S_RANK, rank);
	}
	tw_str_release(&text);
	tw_table_set_str(table, at, shown_at(S_NAME, overlap), operation_of(csv, row));
	if (*dims)
		tw_table_set_str(table, at, shown_at(S_DIMS, overlap), dims);
	tw_table_set_real(table, at, shown_at(S_MIN, overlap),
			  number_at(csv, row, columns[MIN].header));
	tw_table_set_real(table, at, shown_at(S_MAX, overlap),
			  number_at(csv, row, columns[MAX].header));
	tw_table_set_real(table, at, S_DIFF, number_at(csv, row, columns[DIFF].header));
	if (!overlap)
		return;
	tw_table_set_real(table, at, S_OVERLAP, overlap_percent(csv, row));
	if (strcmp(level->level, "unknown") != 0)
		tw_table_set_str(table, at, S_READING, level->level);
}

static void add_table(const struct tw_csv *csv, bool overlap, unsigned width, struct tw_str *out)
{
	struct trawl_column own[S_END];
	struct trawl_table *table;
	size_t row, count = csv->rows < SHOWN ? csv->rows : SHOWN, i;

	for (i = 0; i < S_END; i++)
		if (overlap || i < S_OVERLAP || i >= S_NAME)
			own[shown_at(i, overlap)] = shown_columns[i];
	table = tw_table_new_columns(&shown_spec, own, shown_at(S_END, overlap), out->allocator);
	for (row = 0; table && row < count; row++)
		add_shown(table, csv, row, overlap);
	if (!table || tw_table_finish(table, NULL))
		out->failed = true;
	else
		tw_render_text(table, out, width, 0);
	tw_table_free(table);
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

/* "mean 12.3, median 11.0, least 4.0, largest 20.0 µs" of the numbers of a column. */
static void add_statistics(const struct tw_csv *csv, const char *header, const char *what,
			   double us_per_unit, unsigned width, struct tw_str *out)
{
	struct tw_str line;
	double *values = tw_alloc_array(out->allocator, csv->rows + 1, sizeof(*values)), sum = 0;
	size_t i, n = 0;

	for (i = 0; values && i < csv->rows; i++) {
		double value = number_at(csv, i, header);

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
		tw_str_add_cstr(&line, ", least ");
		tw_str_add_real_fixed(&line, values[0], 3);
		tw_str_add_cstr(&line, ", largest ");
		tw_str_add_real_fixed(&line, values[n - 1], 3);
		tw_str_add_cstr(&line, " µs");
		add_wrapped(out, &line, 2, width);
		tw_str_release(&line);
	}
	tw_free(out->allocator, values, (csv->rows + 1) * sizeof(*values));
}

static size_t count_with(const struct tw_csv *csv, const char *header)
{
	size_t column = tw_csv_column(csv, header), i, n = 0;

	for (i = 0; i < csv->rows; i++)
		n += *tw_csv_text(csv, i, column) != '\0';
	return n;
}

size_t tw_variance_matched(const struct tw_csv *csv, const char *status)
{
	size_t column = tw_csv_column(csv, columns[STATUS].header), i, n = 0;

	for (i = 0; i < csv->rows; i++)
		n += !strcmp(tw_csv_text(csv, i, column), status);
	return n;
}

/* How well they were found; of files without that how many have times. */
static void add_matches(const struct tw_csv *csv, unsigned width, struct tw_str *out)
{
	static const struct {
		const char *status, *what;
	} list[] = {
		{ "exact", "exact" },
		{ "within_tol", "within tolerance" },
		{ "nearest", "nearest" },
	};
	struct tw_str line;
	size_t counts[3], found = 0, i;
	bool first = true;

	for (i = 0; i < 3; i++)
		found += counts[i] = tw_variance_matched(csv, list[i].status);
	tw_str_init(&line, out->allocator);
	tw_str_addf(&line, "Found in the traces: %zu of %zu row%s",
		    found ? found : count_with(csv, columns[MIN_TS].header), csv->rows,
		    csv->rows == 1 ? "" : "s");
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

static size_t count_level(const struct tw_csv *csv, const char *level)
{
	size_t i, n = 0;

	for (i = 0; i < csv->rows; i++)
		n += !strcmp(level_of(csv, i)->level, level);
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
static void add_readings(const struct tw_csv *csv, unsigned width, struct tw_str *out)
{
	static const struct {
		const char *level, *what;
	} lines[] = {
		{ "heavy", "several collectives run meanwhile: communication-heavy" },
		{ "partly", "one collective runs meanwhile" },
		{ "pure", "no collective runs meanwhile: pure computation" },
		{ "unknown", "times or collectives are not known" },
	};
	size_t i, n = count_level(csv, "blocked");
	char blocked[112];

	snprintf(blocked, sizeof(blocked),
		 "collectives run in over %d %% of the longest call: blocked by communication",
		 (int)tw_level_bound(LADDER, "blocked"));
	if (n)
		add_reading("blocked", n, blocked, width, out);
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		n = count_level(csv, lines[i].level);
		if (n)
			add_reading(lines[i].level, n, lines[i].what, width, out);
	}
}

void tw_variance_digest(const struct tw_csv *csv, unsigned width, struct tw_str *out)
{
	bool times = tw_csv_column(csv, columns[MIN_TS].header) != TW_CSV_NO_COLUMN;
	bool overlap = tw_csv_column(csv, columns[COUNT].header) != TW_CSV_NO_COLUMN;

	tw_str_addf(out, "Operations whose calls differ most in time: %zu row%s", csv->rows,
		    csv->rows == 1 ? "" : "s");
	tw_str_addf(out, csv->rows > SHOWN ? ", the first %d of them\n\n" : "\n\n", SHOWN);
	if (!csv->rows)
		return;
	add_table(csv, overlap, width, out);
	tw_str_add_char(out, '\n');
	add_statistics(csv, columns[DIFF].header, "Difference", 1, width, out);
	if (times) {
		add_matches(csv, width, out);
		add_statistics(csv, columns[BETWEEN].header,
			       "Between the shortest and the longest call", 1000, width, out);
	}
	if (overlap) {
		tw_str_add_cstr(out, "What communicates during the longest call:\n");
		add_readings(csv, width, out);
	}
}
