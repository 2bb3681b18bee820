#include "study/compare/per_rank.h"

#include "base/alloc.h"
#include "base/list.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_MS 1e6

/* Columns whose names hold the labels of the sides. */
struct columns {
	struct tw_arena arena;
	struct trawl_column *items;
	size_t count, capacity;
	bool failed;
};

static void columns_init(struct columns *c, const struct trawl_allocator *allocator)
{
	*c = (struct columns){ 0 };
	tw_arena_init(&c->arena, allocator);
}

/* A column of `model`, named PREFIX + its header + SUFFIX. */
static void add_column(struct columns *c, const char *prefix, const char *suffix,
		       struct trawl_column model)
{
	struct tw_str name;

	tw_str_init(&name, c->arena.allocator);
	tw_str_addf(&name, "%s%s%s", prefix, model.header, suffix);
	model.header = name.failed ? NULL : tw_arena_copy(&c->arena, name.ptr, name.len);
	tw_str_release(&name);
	c->failed |= !model.header || !tw_list_grow(&c->items, &c->capacity, c->count,
						    sizeof(model), c->arena.allocator);
	if (!c->failed)
		c->items[c->count++] = model;
}

/* The table of them, which are let go; NULL when out of memory. */
static struct trawl_table *make_table(struct columns *c, const char *name, const char *meaning,
				      const char *verdict)
{
	const struct tw_table_spec spec = { .name = name,
					    .meaning = meaning,
					    .columns = c->items,
					    .column_count = c->count,
					    .keep_empty = true,
					    .verdict = verdict };
	struct trawl_table *table = c->failed ? NULL :
						tw_table_new_owning(&spec, c->arena.allocator);

	tw_free(c->arena.allocator, c->items, c->capacity * sizeof(*c->items));
	tw_arena_release(&c->arena);
	return table;
}

#define REAL(header, unit, digits, meaning) \
	(struct trawl_column) TW_REAL(header, (unit), (digits), 14, (meaning))
#define TEXT(header, width, meaning) (struct trawl_column) TW_TEXT(header, (width), (meaning))

#define CHANGE_MEANING "(baseline - test) / baseline: above 0 is faster"

static const char *status_of(enum tw_verdict verdict)
{
	return verdict == TW_BETTER ? "Better" : verdict == TW_WORSE ? "Worse" : "Similar";
}

static double percent(double part, double whole)
{
	return whole > 0 ? part / whole * 100 : (double)NAN;
}

/* ---- the timeline */

/* What both sides take, in ns, and the totals that shares are of. */
struct pair {
	double ns[2], total[2];
};

/* ns of a part on a side and rank, NaN: not there. */
static double find_ns(const struct tw_samples *samples, const char *part, uint32_t side,
		      int64_t rank)
{
	const struct tw_sample place = {
		.kind = TW_TIMELINE_PART,
		.name = tw_pool_find(&samples->texts, part, strlen(part)),
		.side = side,
		.rank = rank,
	};
	const struct tw_sample *found = place.name ? tw_samples_find(samples, &place) : NULL;

	return found ? (double)found->ns : (double)NAN;
}

/* Mean over the ranks that have it. */
static double mean_ns(const struct tw_samples *samples, const char *part, uint32_t side)
{
	uint32_t name = tw_pool_find(&samples->texts, part, strlen(part));
	double sum = 0;
	size_t n = 0, i;

	for (i = 0; i < samples->count && samples->items[i].kind == TW_TIMELINE_PART; i++)
		if (samples->items[i].name == name && samples->items[i].side == side) {
			sum += (double)samples->items[i].ns;
			n++;
		}
	return n ? sum / (double)n : (double)NAN;
}

static bool is_pair(const struct pair *pair)
{
	return !isnan(pair->ns[0]) && !isnan(pair->ns[1]);
}

static struct trawl_table *new_timeline(const struct tw_changes *changes,
					const struct tw_single_side sides[2], bool by_rank)
{
	struct columns c;

	columns_init(&c, changes->samples->allocator);
	if (by_rank)
		add_column(&c, "", "", (struct trawl_column)TW_INTEGER("rank", 6, "rank"));
	add_column(&c, "", "", TEXT("type", 22, "part of the timeline"));
	add_column(&c, sides[0].label, "", REAL("_time_ms", "ms", 3, "baseline; all ranks: mean"));
	add_column(&c, sides[1].label, "", REAL("_time_ms", "ms", 3, "same for the test"));
	add_column(&c, "", "", REAL("diff_time_ms", "ms", 3, "test - baseline"));
	add_column(&c, "", "", REAL("percent_change", "%", 2, CHANGE_MEANING));
	if (by_rank)
		add_column(&c, "", "", TEXT("status", 10, "Better, Worse or Similar"));
	add_column(&c, "", "", REAL("ratio", "", 4, "test / baseline"));
	add_column(&c, sides[0].label, "", REAL("_percent", "%", 2, "share of total_time"));
	add_column(&c, sides[1].label, "", REAL("_percent", "%", 2, "same for the test"));
	add_column(&c, "", "", REAL("diff_percent", "%", 2, "difference of the shares"));
	return by_rank ? make_table(&c, "GPU_ByRank_Cmp", "timeline of each rank on both sides",
				    "status") :
			 make_table(&c, "GPU_Summary_Cmp",
				    "timeline on both sides, mean over ranks", NULL);
}

/* The columns from `column` on, but for those that only one of the tables has. */
static void set_pair(struct trawl_table *table, size_t row, size_t column, const struct pair *p,
		     const char *status)
{
	double base = p->ns[0], test = p->ns[1];
	double shares[2] = { percent(base, p->total[0]), percent(test, p->total[1]) };

	tw_table_set_real(table, row, column++, base / NS_PER_MS);
	tw_table_set_real(table, row, column++, test / NS_PER_MS);
	tw_table_set_real(table, row, column++, (test - base) / NS_PER_MS);
	tw_table_set_real(table, row, column++, tw_faster_percent(base, test));
	if (status)
		tw_table_set_str(table, row, column++, status);
	tw_table_set_real(table, row, column++, base > 0 ? test / base : (double)NAN);
	tw_table_set_real(table, row, column++, shares[0]);
	tw_table_set_real(table, row, column++, shares[1]);
	tw_table_set_real(table, row, column, shares[1] - shares[0]);
}

static struct trawl_table *make_summary(const struct tw_changes *changes,
					const struct tw_single_side sides[2])
{
	const struct tw_samples *s = changes->samples;
	struct trawl_table *table = new_timeline(changes, sides, false);
	size_t i, row;

	for (i = 0; table && tw_compared_parts[i]; i++) {
		const char *part = tw_compared_parts[i];
		const struct pair p = { { mean_ns(s, part, 0), mean_ns(s, part, 1) },
					{ mean_ns(s, "total_time", 0),
					  mean_ns(s, "total_time", 1) } };

		if (!is_pair(&p))
			continue;
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, 0, part);
		set_pair(table, row, 1, &p, NULL);
	}
	return table;
}

static struct trawl_table *make_dashboard(const struct tw_changes *changes,
					  const struct tw_single_side sides[2])
{
	struct trawl_table *table;
	struct columns c;
	size_t i, row;

	columns_init(&c, changes->samples->allocator);
	add_column(&c, "", "", TEXT("Metric", 28, "part of the timeline"));
	add_column(&c, sides[0].label, "", REAL("", "ms", 2, "median over ranks"));
	add_column(&c, sides[1].label, "", REAL("", "ms", 2, "median over ranks"));
	add_column(&c, "", "", REAL("Improvement (%)", "%", 2, CHANGE_MEANING));
	add_column(&c, "", "",
		   TEXT("Status", 10,
			"Better, Worse or Similar, from the medians and their noise"));
	table = make_table(&c, "Summary_Dashboard", "summary of changes", "Status");
	for (i = 0; table && tw_compared_parts[i]; i++) {
		const char *part = tw_compared_parts[i];
		const struct tw_change *change = tw_changes_part(changes, part);
		char metric[64];

		if (!change)
			continue;
		row = tw_table_add_row(table);
		snprintf(metric, sizeof(metric), "GPU_%s", part);
		tw_table_set_str(table, row, 0, metric);
		tw_table_set_real(table, row, 1, change->ns[0] / NS_PER_MS);
		tw_table_set_real(table, row, 2, change->ns[1] / NS_PER_MS);
		tw_table_set_real(table, row, 3, tw_change_faster(change));
		tw_table_set_str(table, row, 4, status_of(change->judged.verdict));
	}
	return table;
}

/* One rank tells no noise: the thresholds alone count. */
static const char *rank_status(const struct pair *p)
{
	struct tw_spread spreads[2];
	int64_t value;
	size_t side;

	for (side = 0; side < 2; side++) {
		value = (int64_t)llround(p->ns[side]);
		spreads[side] = tw_spread_of(&value, 1);
	}
	return status_of(tw_judge(&spreads[0], &spreads[1],
				  isnan(p->total[0]) ? -1 : (int64_t)llround(p->total[0] * 2))
				 .verdict);
}

static void add_rank(const struct tw_samples *s, int64_t rank, struct trawl_table *table)
{
	size_t i, row;

	for (i = 0; tw_compared_parts[i]; i++) {
		const char *part = tw_compared_parts[i];
		const struct pair p = { { find_ns(s, part, 0, rank), find_ns(s, part, 1, rank) },
					{ find_ns(s, "total_time", 0, rank),
					  find_ns(s, "total_time", 1, rank) } };

		if (!is_pair(&p))
			continue;
		row = tw_table_add_row(table);
		tw_table_set_integer(table, row, 0, rank);
		tw_table_set_str(table, row, 1, part);
		set_pair(table, row, 2, &p, rank_status(&p));
	}
}

static struct trawl_table *make_by_rank(const struct tw_changes *changes,
					const struct tw_single_side sides[2])
{
	const struct tw_samples *s = changes->samples;
	struct trawl_table *table = new_timeline(changes, sides, true);
	const struct tw_sample *first = s->items, *at;

	/* The ranks of any part of the baseline are in order; those that both have count. */
	for (at = first; table && at < first + s->count && at->kind == TW_TIMELINE_PART; at++)
		if (at->side == 0 && at->name == tw_pool_find(&s->texts, "total_time", 10))
			add_rank(s, at->rank, table);
	return table;
}

/* ---- collectives */

enum { MEASURES = 5 };

struct measure {
	const char *header; /* of the sheet and in the result */
	const char *unit;
	enum { MEAN_OF_CALLS, SUM, LEAST, MOST } how;
	int better; /* -1: less is better, 1: more, 0: neither */
};

static const struct measure sync_measures[MEASURES] = {
	{ "comm_latency_mean", "µs", MEAN_OF_CALLS, -1 },
	{ "algo bw (GB/s)_mean", "GB/s", MEAN_OF_CALLS, 1 },
	{ "bus bw (GB/s)_mean", "GB/s", MEAN_OF_CALLS, 1 },
	{ TW_COL_TOTAL_COMM_LATENCY_MS, "ms", SUM, -1 },
	{ "count", "", SUM, 0 },
};

static const struct measure long_measures[MEASURES] = {
	{ TW_COL_DUR_MEAN, "µs", MEAN_OF_CALLS, -1 }, { TW_COL_DUR_SUM, "µs", SUM, -1 },
	{ TW_COL_DUR_MIN, "µs", LEAST, -1 },	      { TW_COL_DUR_MAX, "µs", MOST, -1 },
	{ TW_COL_OPERATION_COUNT, "", SUM, 0 },
};

static const char *const keys[] = { TW_COL_COLLECTIVE_NAME, "dtype", TW_COL_IN_MSG_NELEMS };

/* One collective: all rows of both sheets that have its name, type and size. */
struct collective {
	double values[2][MEASURES]; /* NaN: not there; MEAN_OF_CALLS: sums over calls at first */
	double calls[2][MEASURES];
};

struct collectives {
	struct tw_pool names;
	struct collective *items; /* by id of its name - 1 */
	size_t capacity;
	bool failed;
};

static struct collective *collective_named(struct collectives *c, const char *name)
{
	uint32_t id = tw_pool_intern_cstr(&c->names, name);
	size_t more = c->capacity ? c->capacity * 2 : 64, i;
	struct collective *items;

	if (!id)
		return NULL;
	if (id > c->capacity) {
		items = tw_realloc(c->names.allocator, c->items, c->capacity * sizeof(*items),
				   more * sizeof(*items));
		if (!items)
			return NULL;
		c->items = items;
		for (; c->capacity < more; c->capacity++)
			for (i = 0; i < MEASURES; i++) {
				items[c->capacity].values[0][i] = (double)NAN;
				items[c->capacity].values[1][i] = (double)NAN;
				items[c->capacity].calls[0][i] = 0;
				items[c->capacity].calls[1][i] = 0;
			}
	}
	return &c->items[id - 1];
}

static void add_value(const struct measure *m, double *total, double *calls, double value,
		      double weight)
{
	bool first = isnan(*total);

	if (isnan(value))
		return;
	if (m->how == LEAST)
		*total = first || value < *total ? value : *total;
	else if (m->how == MOST)
		*total = first || value > *total ? value : *total;
	else
		*total = (first ? 0 : *total) + (m->how == SUM ? value : value * weight);
	*calls += weight;
}

static void add_rows(struct collectives *c, const struct measure measures[MEASURES],
		     const struct trawl_table *from, unsigned side)
{
	size_t count = trawl_table_find_column(from, measures[MEASURES - 1].header), row, i;
	struct tw_str name;

	tw_str_init(&name, c->names.allocator);
	for (row = 0; row < trawl_table_rows(from); row++) {
		double calls = tw_table_number(from, row, count);
		struct collective *to;

		tw_str_clear(&name);
		for (i = 0; i < 3; i++) {
			if (i)
				tw_str_add_char(&name, TW_KEY_SEPARATOR);
			tw_table_add_text(&name, from, row, trawl_table_find_column(from, keys[i]));
		}
		to = name.failed ? NULL : collective_named(c, name.ptr);
		c->failed |= !to;
		for (i = 0; i < MEASURES && to; i++)
			add_value(
				&measures[i], &to->values[side][i], &to->calls[side][i],
				tw_table_number(from, row,
						trawl_table_find_column(from, measures[i].header)),
				isnan(calls) ? 1 : calls);
	}
	c->failed |= name.failed;
	tw_str_release(&name);
}

static struct trawl_table *new_collectives(const struct tw_single_side sides[2],
					   const struct measure measures[MEASURES],
					   const char *name, const struct trawl_allocator *a)
{
	struct columns c;
	size_t i;

	columns_init(&c, a);
	add_column(&c, "", "", TEXT(TW_COL_COLLECTIVE_NAME, 24, "collective"));
	add_column(&c, "", "", TEXT("dtype", 12, "data type"));
	add_column(&c, "", "",
		   (struct trawl_column)TW_ID(TW_COL_IN_MSG_NELEMS, 14, "number of elements sent"));
	for (i = 0; i < MEASURES; i++) {
		const struct measure *m = &measures[i];

		add_column(&c, sides[0].label, m->header,
			   REAL("_", m->unit, 3, "baseline, sum of its rows"));
		add_column(&c, sides[1].label, m->header, REAL("_", m->unit, 3, "test"));
		add_column(&c, "", m->header, REAL("diff_", m->unit, 3, "test - baseline"));
		if (m->better)
			add_column(&c, "", m->header,
				   REAL("percent_change_", "%", 2, "above 0 is better"));
		add_column(&c, "", m->header, REAL("ratio_", "", 4, "test / baseline"));
	}
	return make_table(&c, name, "collectives of both sides by name, data type and size", NULL);
}

static void set_key(struct trawl_table *table, size_t row, const char *name)
{
	const char *end;
	size_t i;

	for (i = 0; i < 3; i++, name = end + (*end != '\0')) {
		end = strchr(name, TW_KEY_SEPARATOR);
		if (!end)
			end = name + strlen(name);
		if (end > name)
			tw_table_set_text(table, row, i, name, (size_t)(end - name));
	}
}

static double value_of(const struct measure *m, const struct collective *c, unsigned side, size_t i)
{
	if (m->how != MEAN_OF_CALLS)
		return c->values[side][i];
	return c->calls[side][i] > 0 ? c->values[side][i] / c->calls[side][i] : (double)NAN;
}

static void add_collective(const struct measure measures[MEASURES], const struct collective *c,
			   const char *name, struct trawl_table *table)
{
	size_t row = tw_table_add_row(table), column = 3, i;

	set_key(table, row, name);
	for (i = 0; i < MEASURES; i++) {
		double base = value_of(&measures[i], c, 0, i),
		       test = value_of(&measures[i], c, 1, i);

		tw_table_set_real(table, row, column++, base);
		tw_table_set_real(table, row, column++, test);
		tw_table_set_real(table, row, column++, test - base);
		if (measures[i].better)
			tw_table_set_real(table, row, column++,
					  measures[i].better < 0 ? tw_faster_percent(base, test) :
								   percent(test - base, base));
		tw_table_set_real(table, row, column++, base > 0 ? test / base : (double)NAN);
	}
}

/* Collectives of one side alone too, in the order of the sheets. */
static int make_collectives(const struct tw_changes *changes, const struct tw_single_side sides[2],
			    const struct measure measures[MEASURES],
			    const struct trawl_table *const from[2], const char *name,
			    struct trawl_table **table)
{
	const struct trawl_allocator *a = changes->samples->allocator;
	struct collectives c = { .items = NULL };
	uint32_t id;

	*table = NULL;
	if (!from[0] || !from[1] || (!trawl_table_rows(from[0]) && !trawl_table_rows(from[1])))
		return 0;
	if (tw_pool_init(&c.names, a))
		return TRAWL_ENOMEM;
	add_rows(&c, measures, from[0], 0);
	add_rows(&c, measures, from[1], 1);
	if (!c.failed)
		*table = new_collectives(sides, measures, name, a);
	for (id = 1; *table && id < c.names.count; id++)
		add_collective(measures, &c.items[id - 1], tw_pool_text(&c.names, id, NULL),
			       *table);
	tw_free(a, c.items, c.capacity * sizeof(*c.items));
	tw_pool_release(&c.names);
	return *table ? 0 : TRAWL_ENOMEM;
}

int tw_single_tables(const struct tw_changes *changes, const struct tw_single_side sides[2],
		     struct trawl_table *tables[TW_SINGLE_TABLES], struct trawl_error *err)
{
	const struct trawl_table *const sync[2] = { sides[0].sync, sides[1].sync };
	const struct trawl_table *const longs[2] = { sides[0].longs, sides[1].longs };
	bool whole;
	size_t i;

	memset(tables, 0, TW_SINGLE_TABLES * sizeof(*tables));
	tables[0] = make_dashboard(changes, sides);
	tables[1] = make_summary(changes, sides);
	tables[2] = make_by_rank(changes, sides);
	whole = tables[0] && tables[1] && tables[2] &&
		!make_collectives(changes, sides, sync_measures, sync, "NCCL_ImplicitSyncCmp",
				  &tables[3]) &&
		!make_collectives(changes, sides, long_measures, longs, "NCCL_LongCmp", &tables[4]);
	for (i = 0; i < TW_SINGLE_TABLES && whole; i++)
		if (tables[i] && tw_table_finish(tables[i], NULL))
			whole = false;
	return whole ? 0 : tw_no_memory(err);
}
