#include "study/sweep/aggregates.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/list.h"
#include "data/limits.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A timeline has eight; what has more than this is none. */
#define MOST_TYPES 1000

struct value {
	int64_t threads, channels, rank;
	const char *type; /* in the arena */
	double ms, percent;
	size_t number; /* in the order they came */
};

struct rank {
	int64_t threads, channels;
};

struct tw_timelines {
	struct tw_arena arena;
	struct value *values;
	size_t value_count, value_capacity;
	struct rank *ranks; /* one for each sheet */
	size_t rank_count, rank_capacity;
};

/* A type of time in a configuration, over its ranks. */
struct group {
	const struct value *first;
	int64_t ranks, used; /* of the configuration; those that have this type */
	double ms, percent;
	double min, max, std; /* std NaN below two */
	int64_t worst, zeros;
};

struct groups {
	const struct trawl_allocator *allocator;
	struct value *values;
	struct group *items;
	size_t value_count, count;
};

struct tw_timelines *tw_timelines_new(const struct trawl_allocator *allocator)
{
	struct tw_timelines *timelines = tw_alloc_array(allocator, 1, sizeof(*timelines));

	if (!timelines)
		return NULL;
	tw_arena_init(&timelines->arena, allocator);
	return timelines;
}

void tw_timelines_free(struct tw_timelines *timelines)
{
	const struct trawl_allocator *allocator;

	if (!timelines)
		return;
	allocator = timelines->arena.allocator;
	tw_free(allocator, timelines->values,
		timelines->value_capacity * sizeof(*timelines->values));
	tw_free(allocator, timelines->ranks, timelines->rank_capacity * sizeof(*timelines->ranks));
	tw_arena_release(&timelines->arena);
	tw_free(allocator, timelines, sizeof(*timelines));
}

int tw_timelines_add(struct tw_timelines *timelines, int64_t threads, int64_t channels,
		     int64_t rank, const struct trawl_table *table, struct trawl_error *err)
{
	static const char *const headers[] = { "type", TW_COL_TIME_MS, "percent" };
	const struct rank whose = { threads, channels };
	size_t columns[3], rows = trawl_table_rows(table), row, i;

	for (i = 0; i < 3; i++) {
		columns[i] = trawl_table_find_column(table, headers[i]);
		if (columns[i] == trawl_table_columns(table))
			return trawl_error_set(err, TRAWL_EFORMAT,
					       "gpu_timeline has no column '%s'", headers[i]);
	}
	if (rows > MOST_TYPES)
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "gpu_timeline has %zu rows: not a timeline", rows);
	for (row = 0; row < rows; row++) {
		struct value value = { .threads = threads, .channels = channels, .rank = rank };

		value.ms = tw_table_number(table, row, columns[1]);
		value.percent = tw_table_number(table, row, columns[2]);
		value.number = timelines->value_count;
		if (tw_table_text_is(table, row, columns[0], "") || isnan(value.ms))
			continue;
		value.type = tw_table_copy_text(table, row, columns[0], &timelines->arena);
		if (!value.type || !tw_list_grow(&timelines->values, &timelines->value_capacity,
						 timelines->value_count, sizeof(value),
						 timelines->arena.allocator))
			return tw_no_memory(err);
		timelines->values[timelines->value_count++] = value;
	}
	if (!tw_list_grow(&timelines->ranks, &timelines->rank_capacity, timelines->rank_count,
			  sizeof(whose), timelines->arena.allocator))
		return tw_no_memory(err);
	timelines->ranks[timelines->rank_count++] = whose;
	return 0;
}

/* ---- over the ranks */

static int compare_int(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int same_configuration(const struct value *a, const struct value *b)
{
	return a->threads == b->threads && a->channels == b->channels;
}

static int compare_values(const void *x, const void *y)
{
	const struct value *a = x, *b = y;
	int order = compare_int(a->threads, b->threads);

	order = order ? order : compare_int(a->channels, b->channels);
	order = order ? order : strcmp(a->type, b->type);
	order = order ? order : compare_int(a->rank, b->rank);
	return order ? order : compare_int((int64_t)a->number, (int64_t)b->number);
}

/* Sums in the order of ranks, so that they are the same whoever came first. */
struct mean {
	double sum;
	long double log_sum; /* more digits than the result, which equal values then are */
	int64_t count, positive;
};

static void add_to_mean(struct mean *mean, double value)
{
	if (isnan(value))
		return;
	mean->sum += value;
	mean->count++;
	if (value > 0) {
		mean->log_sum += logl((long double)value);
		mean->positive++;
	}
}

/* A geometric mean is that of the values above 0; where all are 0, it is 0. */
static double mean_of(const struct mean *mean, bool geometric)
{
	if (!mean->count)
		return NAN;
	if (!geometric)
		return mean->sum / (double)mean->count;
	return mean->positive ? (double)expl(mean->log_sum / (long double)mean->positive) : 0;
}

static int64_t count_ranks(const struct tw_timelines *timelines, const struct value *of)
{
	const struct rank *ranks = timelines->ranks;
	int64_t found = 0;
	size_t i;

	for (i = 0; i < timelines->rank_count; i++)
		found += ranks[i].threads == of->threads && ranks[i].channels == of->channels;
	return found;
}

static struct group group_of(const struct value *values, size_t count, bool geometric)
{
	struct group g = { .first = values, .min = INFINITY, .max = -INFINITY, .std = NAN };
	struct mean ms = { 0 }, percent = { 0 };
	double squares = 0, mean;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct value *v = &values[i];

		add_to_mean(&ms, v->ms);
		add_to_mean(&percent, v->percent);
		g.used += !i || v->rank != v[-1].rank;
		g.zeros += v->ms <= 0;
		g.min = v->ms < g.min ? v->ms : g.min;
		if (v->ms > g.max) {
			g.max = v->ms;
			g.worst = v->rank;
		}
	}
	mean = mean_of(&ms, false);
	for (i = 0; i < count; i++)
		squares += (values[i].ms - mean) * (values[i].ms - mean);
	if (count > 1)
		g.std = sqrt(squares / (double)(count - 1));
	g.ms = mean_of(&ms, geometric);
	g.percent = mean_of(&percent, geometric);
	return g;
}

static void free_groups(struct groups *groups)
{
	tw_free(groups->allocator, groups->values, groups->value_count * sizeof(*groups->values));
	tw_free(groups->allocator, groups->items, groups->value_count * sizeof(*groups->items));
}

/* By threads, channels, type. */
static int make_groups(const struct tw_timelines *timelines, bool geometric, struct groups *groups,
		       struct trawl_error *err)
{
	size_t count = timelines->value_count, i, n;

	*groups = (struct groups){ .allocator = timelines->arena.allocator, .value_count = count };
	if (!count)
		return 0;
	groups->values = tw_alloc_array(groups->allocator, count, sizeof(*groups->values));
	groups->items = tw_alloc_array(groups->allocator, count, sizeof(*groups->items));
	if (!groups->values || !groups->items)
		return tw_no_memory(err);
	memcpy(groups->values, timelines->values, count * sizeof(*groups->values));
	qsort(groups->values, count, sizeof(*groups->values), compare_values);
	for (i = 0; i < count; i += n) {
		const struct value *first = &groups->values[i];
		struct group *group = &groups->items[groups->count++];

		for (n = 1; i + n < count && same_configuration(first, first + n) &&
			    !strcmp(first->type, first[n].type);
		     n++)
			;
		*group = group_of(first, n, geometric);
		group->ranks = count_ranks(timelines, first);
	}
	return 0;
}

static int compare_group(const void *key, const void *item)
{
	const struct value *a = key, *b = ((const struct group *)item)->first;
	int order = compare_int(a->threads, b->threads);

	order = order ? order : compare_int(a->channels, b->channels);
	return order ? order : strcmp(a->type, b->type);
}

/* The group of that type in the configuration of `like`, NULL when there is none. */
static const struct group *find_group(const struct groups *groups, const struct value *like,
				      const char *type)
{
	const struct value key = { .threads = like->threads,
				   .channels = like->channels,
				   .type = type };

	return bsearch(&key, groups->items, groups->count, sizeof(*groups->items), compare_group);
}

/* ---- tables */

#define RANKS_MEANING "ranks with a readable timeline"

enum {
	FULL_CONFIG,
	THREADS_NUM,
	THREAD_CONFIG,
	CHANNELS_NUM,
	CHANNEL_CONFIG,
	NUM_RANKS,
	TYPE,
	TIME,
	PERCENT,
	RANKS_USED,
	TIME_MIN,
	TIME_MAX,
	TIME_STD,
	WORST_RANK,
	ZEROS,
	PERCENT_OF_TOTAL
};

static const struct trawl_column all_columns[] = {
	[FULL_CONFIG] = TW_TEXT("full_config", 18, "threads and channels"),
	[THREADS_NUM] = TW_INTEGER("threads_num", 10, "threads per block of collective kernels"),
	[THREAD_CONFIG] = TW_TEXT("thread_config", 12, "same as text"),
	[CHANNELS_NUM] = TW_INTEGER("channels_num", 10, "max channels of a collective"),
	[CHANNEL_CONFIG] = TW_TEXT("channel_config", 12, "same as text"),
	[NUM_RANKS] = TW_INTEGER("num_ranks", 10, RANKS_MEANING),
	[TYPE] = TW_TEXT("type", 20, "part of the GPU timeline"),
	[TIME] = TW_MEAN_MS(TW_COL_TIME_MS, 12, "mean over ranks; geometric: of values above 0"),
	[PERCENT] = TW_PERCENT_2("percent", 10, "share of the total time, mean over ranks"),
	[RANKS_USED] = TW_INTEGER("ranks_used", 10, "ranks with this type"),
	[TIME_MIN] = TW_MEAN_MS(TW_COL_TIME_MS_MIN, 12, "min over ranks"),
	[TIME_MAX] = TW_MEAN_MS(TW_COL_TIME_MS_MAX, 12, "max over ranks"),
	[TIME_STD] = TW_MEAN_MS("time ms_std", 12, "sample standard deviation over ranks"),
	[WORST_RANK] = TW_INTEGER("worst_rank", 10, "rank with the max, lowest of equals"),
	[ZEROS] = TW_INTEGER("zeros", 8, "ranks with 0, skipped by the geometric mean"),
	[PERCENT_OF_TOTAL] = TW_PERCENT_2("percent_of_total", 10, "mean time / mean total_time"),
};

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

static const struct tw_table_spec all_spec = {
	.name = "All_Data",
	.meaning = "GPU time by type and configuration, over ranks",
	.columns = all_columns,
	.column_count = COUNT_OF(all_columns),
	.keep_empty = true,
};

static void set_name(struct trawl_table *table, size_t row, size_t column, const char *unit,
		     int64_t a, int64_t b)
{
	char name[64];

	if (b >= 0)
		snprintf(name, sizeof(name), "%" PRId64 "thread_%" PRId64 "ch", a, b);
	else
		snprintf(name, sizeof(name), "%" PRId64 "%s", a, unit);
	tw_table_set_str(table, row, column, name);
}

static struct trawl_table *all_data(const struct groups *groups)
{
	struct trawl_table *table = tw_table_new(&all_spec, groups->allocator);
	size_t i;

	for (i = 0; table && i < groups->count; i++) {
		const struct group *g = &groups->items[i], *total;
		const struct value *v = g->first;
		size_t row = tw_table_add_row(table);

		total = find_group(groups, v, "total_time");
		set_name(table, row, FULL_CONFIG, "", v->threads, v->channels);
		tw_table_set_integer(table, row, THREADS_NUM, v->threads);
		set_name(table, row, THREAD_CONFIG, "thread", v->threads, -1);
		tw_table_set_integer(table, row, CHANNELS_NUM, v->channels);
		set_name(table, row, CHANNEL_CONFIG, "ch", v->channels, -1);
		tw_table_set_integer(table, row, NUM_RANKS, g->ranks);
		tw_table_set_str(table, row, TYPE, v->type);
		tw_table_set_real(table, row, TIME, g->ms);
		tw_table_set_real(table, row, PERCENT, g->percent);
		tw_table_set_integer(table, row, RANKS_USED, g->used);
		tw_table_set_real(table, row, TIME_MIN, g->min);
		tw_table_set_real(table, row, TIME_MAX, g->max);
		tw_table_set_real(table, row, TIME_STD, g->std);
		tw_table_set_integer(table, row, WORST_RANK, g->worst);
		tw_table_set_integer(table, row, ZEROS, g->zeros);
		if (total && total->ms > 0)
			tw_table_set_real(table, row, PERCENT_OF_TOTAL, 100 * g->ms / total->ms);
	}
	return table;
}

/* The first group of each configuration, and how many there are. */
static size_t next_configuration(const struct groups *groups, size_t at)
{
	size_t i = at + 1;

	while (i < groups->count &&
	       same_configuration(groups->items[at].first, groups->items[i].first))
		i++;
	return i;
}

static size_t count_configurations(const struct groups *groups)
{
	size_t i, count = 0;

	for (i = 0; i < groups->count; i = next_configuration(groups, i))
		count++;
	return count;
}

/* The next type in the order of the alphabet, NULL when `after` is the last; after NULL: the first. */
static const char *next_type(const struct groups *groups, const char *after)
{
	const char *next = NULL;
	size_t i;

	for (i = 0; i < groups->count; i++) {
		const char *type = groups->items[i].first->type;

		if ((!after || strcmp(type, after) > 0) && (!next || strcmp(type, next) < 0))
			next = type;
	}
	return next;
}

static void fill_pivot(struct trawl_table *table, const struct groups *groups, bool percent)
{
	const char *type = NULL;
	size_t i, column = 1;
	char name[64];

	for (i = 0; i < groups->count; i = next_configuration(groups, i)) {
		const struct value *v = groups->items[i].first;

		snprintf(name, sizeof(name), "%" PRId64 "thread_%" PRId64 "ch", v->threads,
			 v->channels);
		tw_table_name_column(table, column++, "", name);
	}
	while ((type = next_type(groups, type))) {
		size_t row = tw_table_add_row(table);

		tw_table_set_str(table, row, 0, type);
		column = 1;
		for (i = 0; i < groups->count; i = next_configuration(groups, i)) {
			const struct group *g = find_group(groups, groups->items[i].first, type);

			if (g)
				tw_table_set_real(table, row, column, percent ? g->percent : g->ms);
			column++;
		}
	}
}

static struct trawl_table *pivot(const struct groups *groups, bool percent)
{
	static const struct trawl_column type = TW_TEXT("type", 20, "part of the GPU timeline");
	const struct trawl_column configuration =
		TW_REAL("", percent ? "%" : "ms", percent ? 2 : 3, 16,
			percent ? "percentage in the configuration" : "time in the configuration");
	size_t count = count_configurations(groups) + 1, i;
	struct trawl_column *columns = tw_alloc_array(groups->allocator, count, sizeof(*columns));
	struct tw_table_spec spec = {
		.name = percent ? "Pivot_Percent" : "Pivot_Time_ms",
		.meaning = percent ? "percentages of All_Data, one column per configuration" :
				     "times of All_Data, one column per configuration",
		.columns = columns,
		.column_count = count,
		.keep_empty = true,
	};
	struct trawl_table *table;

	if (!columns)
		return NULL;
	columns[0] = type;
	for (i = 1; i < count; i++)
		columns[i] = configuration;
	table = tw_table_new_owning(&spec, groups->allocator);
	tw_free(groups->allocator, columns, count * sizeof(*columns));
	if (table)
		fill_pivot(table, groups, percent);
	return table;
}

#define SUMMARY_FIRST 4

static const struct {
	const char *type;
	struct trawl_column column;
} summary_types[] = {
	{ "computation_time", TW_MEAN_MS("computation_time_ms", 12, "computing") },
	{ "exposed_comm_time",
	  TW_MEAN_MS("exposed_comm_time_ms", 12, TW_LABEL_EXPOSED_COMMUNICATION) },
	{ "busy_time", TW_MEAN_MS("busy_time_ms", 12, "any GPU work") },
	{ "idle_time", TW_MEAN_MS("idle_time_ms", 12, "nothing") },
	{ "total_time", TW_MEAN_MS("total_time_ms", 12, "first start to last end") },
};

static struct trawl_table *new_summary(const struct groups *groups)
{
	struct trawl_column columns[SUMMARY_FIRST + COUNT_OF(summary_types)] = {
		all_columns[FULL_CONFIG],
		all_columns[THREADS_NUM],
		all_columns[CHANNELS_NUM],
		all_columns[NUM_RANKS],
	};
	const struct tw_table_spec spec = {
		.name = "Summary_By_Config",
		.meaning = "configurations: mean over ranks, as in All_Data",
		.columns = columns,
		.column_count = COUNT_OF(columns),
		.keep_empty = true,
	};
	size_t i;

	for (i = 0; i < COUNT_OF(summary_types); i++)
		columns[SUMMARY_FIRST + i] = summary_types[i].column;
	return tw_table_new_owning(&spec, groups->allocator);
}

static struct trawl_table *summary(const struct groups *groups)
{
	struct trawl_table *table = new_summary(groups);
	size_t i, k;

	for (i = 0; table && i < groups->count; i = next_configuration(groups, i)) {
		const struct value *v = groups->items[i].first;
		size_t row = tw_table_add_row(table);

		set_name(table, row, 0, "", v->threads, v->channels);
		tw_table_set_integer(table, row, 1, v->threads);
		tw_table_set_integer(table, row, 2, v->channels);
		tw_table_set_integer(table, row, 3, groups->items[i].ranks);
		for (k = 0; k < COUNT_OF(summary_types); k++) {
			const struct group *g = find_group(groups, v, summary_types[k].type);

			if (g)
				tw_table_set_real(table, row, SUMMARY_FIRST + k, g->ms);
		}
	}
	return table;
}

int tw_timelines_tables(const struct tw_timelines *timelines, bool geometric,
			struct trawl_table *tables[TW_TIMELINE_TABLES], struct trawl_error *err)
{
	struct groups groups;
	int status, i;

	memset(tables, 0, TW_TIMELINE_TABLES * sizeof(*tables));
	status = make_groups(timelines, geometric, &groups, err);
	if (!status && groups.count) {
		tables[0] = all_data(&groups);
		tables[1] = pivot(&groups, false);
		tables[2] = pivot(&groups, true);
		tables[3] = summary(&groups);
		for (i = 0; i < TW_TIMELINE_TABLES && !status; i++)
			status = tables[i] ? tw_table_finish(tables[i], err) : tw_no_memory(err);
	}
	free_groups(&groups);
	return status;
}

/* ---- for people */

/* Min and max of a type over the configurations. */
static void add_extremes(const struct groups *groups, const char *type, unsigned width,
			 struct tw_str *out)
{
	const struct group *min = NULL, *max = NULL;
	size_t i, begin = out->len;
	char line[256];

	for (i = 0; i < groups->count; i++) {
		const struct group *g = &groups->items[i];

		if (strcmp(g->first->type, type))
			continue;
		min = !min || g->ms < min->ms ? g : min;
		max = !max || g->ms > max->ms ? g : max;
	}
	if (!min)
		return;
	snprintf(line, sizeof(line), "  %-20s", type);
	tw_str_add_cstr(out, line);
	tw_str_add_real_fixed(out, min->ms, 3);
	tw_str_addf(out, " ms %" PRId64 "thread_%" PRId64 "ch", min->first->threads,
		    min->first->channels);
	if ((max->ms - min->ms) * 100 > min->ms * TW_LIMIT_NO_DIFFERENCE_PERCENT &&
	    (!width || out->len - begin + 43 <= width)) {
		tw_str_add_cstr(out, "; max ");
		tw_str_add_real_fixed(out, max->ms, 3);
		tw_str_addf(out, " ms %" PRId64 "thread_%" PRId64 "ch", max->first->threads,
			    max->first->channels);
		if (min->ms > 0) {
			tw_str_add_cstr(out, " (+");
			tw_str_add_real_fixed(out, 100 * (max->ms / min->ms - 1), 1);
			tw_str_add_cstr(out, " %)");
		}
	}
	tw_str_add_char(out, '\n');
}

void tw_timelines_digest(const struct tw_timelines *timelines, unsigned width, struct tw_str *out)
{
	static const char *const types[] = { "total_time",	    "busy_time",
					     "computation_time",    "exposed_comm_time",
					     "exposed_memcpy_time", "idle_time" };
	struct groups groups;
	size_t i;

	if (make_groups(timelines, false, &groups, NULL)) {
		out->failed = true;
	} else if (groups.count) {
		tw_str_add_cstr(out, "GPU time, mean over ranks: min over configurations\n");
		for (i = 0; i < COUNT_OF(types); i++)
			add_extremes(&groups, types[i], width, out);
	}
	free_groups(&groups);
}
