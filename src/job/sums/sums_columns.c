#include "job/sums/sums_columns.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/list.h"

#include <stdlib.h>
#include <string.h>

/* ---- columns of the ranks' tables */

static struct tw_sum_column *add_column(struct tw_sum_columns *c, const struct trawl_column *column)
{
	struct tw_sum_column *added;
	size_t i;

	if (!tw_list_grow(&c->columns, &c->capacity, c->count, sizeof(*c->columns), c->allocator))
		return NULL;
	added = &c->columns[c->count];
	*added = (struct tw_sum_column){ .column = column, .found = c->count };
	added->at = tw_alloc_array(c->allocator, c->source_count, sizeof(*added->at));
	if (!added->at)
		return NULL;
	c->count++;
	for (i = 0; i < c->source_count; i++)
		added->at[i] = SIZE_MAX;
	return added;
}

static struct tw_sum_column *find_column(struct tw_sum_columns *c, const char *header)
{
	size_t i;

	for (i = 0; i < c->count; i++)
		if (!strcmp(c->columns[i].column->header, header))
			return &c->columns[i];
	return NULL;
}

static int take_columns(struct tw_sum_columns *c, size_t source)
{
	const struct trawl_table *table = c->sources[source].table;
	size_t i;

	for (i = 0; i < trawl_table_columns(table); i++) {
		const struct trawl_column *column = trawl_table_column(table, i);
		struct tw_sum_column *found;

		if (column->over_ranks == TRAWL_NOT_SUMMED)
			continue;
		found = find_column(c, column->header);
		if (!found)
			found = add_column(c, column);
		if (!found)
			return TRAWL_ENOMEM;
		/* What another rank counts in another way cannot be put together. */
		if (found->column->type == column->type && found->column->scale == column->scale)
			found->at[source] = i;
	}
	return 0;
}

/* Keys, what is the same, what rows stand by, other measures. */
static int class_of(enum trawl_over_ranks role)
{
	return role == TRAWL_KEY ? 0 : role == TRAWL_SAME ? 1 : tw_sum_leads(role) ? 2 : 3;
}

static int compare_columns(const void *a, const void *b)
{
	const struct tw_sum_column *x = a, *y = b;
	int order = class_of(x->column->over_ranks) - class_of(y->column->over_ranks);

	if (!order)
		order = x->column->place - y->column->place;
	return order ? order : x->found < y->found ? -1 : 1;
}

/* Where each stands in the table over ranks: keys, what is the same, ranks, measures. */
static void place(struct tw_sum_columns *c)
{
	size_t i, out = 0;

	c->lead = c->weight = c->slowest_out = SIZE_MAX;
	for (i = 0; i < c->count; i++)
		if (!tw_sum_is_measured(c->columns[i].column->over_ranks))
			c->columns[i].out = out++;
	c->ranks_out = out++;
	for (i = 0; i < c->count; i++) {
		struct tw_sum_column *column = &c->columns[i];

		if (!tw_sum_is_measured(column->column->over_ranks))
			continue;
		column->out = out;
		out += TW_SUM_OF_TOTAL + tw_sum_has_total(column->column->over_ranks);
		if (column->column->over_ranks == TRAWL_COUNT)
			c->weight = i;
		if (tw_sum_leads(column->column->over_ranks)) {
			c->lead = i;
			c->slowest_out = out++;
		}
	}
}

int tw_sum_columns_find(struct tw_sum_columns *c, const struct tw_sum_source *sources,
			size_t source_count, const struct trawl_allocator *allocator)
{
	size_t source;

	*c = (struct tw_sum_columns){ .allocator = allocator,
				      .sources = sources,
				      .source_count = source_count };
	for (source = 0; source < source_count; source++)
		if (take_columns(c, source))
			return TRAWL_ENOMEM;
	if (c->count)
		qsort(c->columns, c->count, sizeof(*c->columns), compare_columns);
	while (c->key_count < c->count && c->columns[c->key_count].column->over_ranks == TRAWL_KEY)
		c->key_count++;
	place(c);
	return 0;
}

void tw_sum_columns_release(struct tw_sum_columns *c)
{
	size_t i;

	for (i = 0; i < c->count; i++)
		tw_free(c->allocator, c->columns[i].at, c->source_count * sizeof(size_t));
	tw_free(c->allocator, c->columns, c->capacity * sizeof(*c->columns));
	memset(c, 0, sizeof(*c));
}

/* ---- columns of the table over ranks */

static const char *join(struct tw_arena *arena, const char *first, const char *second, bool *failed)
{
	size_t len = strlen(first), more = strlen(second);
	char *text = tw_arena_alloc(arena, len + more + 1);

	if (!text) {
		*failed = true;
		return "";
	}
	memcpy(text, first, len);
	memcpy(text + len, second, more + 1);
	return text;
}

/*
 * A mean of integers is none, and the median of an even number of them may lie in the middle of
 * two: one digit more keeps it exact.
 */
static struct trawl_column statistic(const struct trawl_column *of, int which)
{
	struct trawl_column column = *of;

	if (of->type == TRAWL_COLUMN_REAL || which >= TW_SUM_OF_MIN)
		return column;
	column.digits = of->digits ? of->digits : 1;
	if (which == TW_SUM_OF_MEAN) {
		column.type = TRAWL_COLUMN_REAL;
		column.scale = 0;
	} else {
		column.type = TRAWL_COLUMN_DECIMAL;
		column.scale = (unsigned char)(of->scale + 1);
	}
	return column;
}

static void declare_measure(const struct tw_sum_columns *c, const struct tw_sum_column *column,
			    struct trawl_column *out, struct tw_arena *arena, bool *failed)
{
	static const char *const suffixes[] = { "_mean", "_median", "_min", "_max", "_total" };
	static const char *const meanings[] = {
		"; mean over the ranks with it", "; median of these ranks", "; min of these ranks",
		"; max of these ranks",		 "; sum over all ranks",
	};
	int count = TW_SUM_OF_TOTAL + tw_sum_has_total(column->column->over_ranks), i;

	for (i = 0; i < count; i++) {
		struct trawl_column *to = &out[column->out + (size_t)i];

		*to = statistic(column->column, i);
		/* No rank may have measured it. */
		if (to->values && *to->values == '!')
			to->values++;
		to->header = join(arena, column->column->header, suffixes[i], failed);
		to->meaning = join(arena, column->column->meaning, meanings[i], failed);
	}
	if (c->columns + c->lead != column)
		return;
	out[c->slowest_out] = (struct trawl_column){
		.header = column->column->over_ranks == TRAWL_TIME ? TW_COL_SLOWEST_RANK :
								     "rank of most",
		.type = TRAWL_COLUMN_INTEGER,
		.unit = "",
		.width = 8,
		.meaning = "rank with the max, lowest of equals",
	};
}

static size_t count_out(const struct tw_sum_columns *c)
{
	size_t count = c->ranks_out + 1, i;

	for (i = 0; i < c->count; i++)
		if (tw_sum_is_measured(c->columns[i].column->over_ranks))
			count += TW_SUM_OF_TOTAL +
				 tw_sum_has_total(c->columns[i].column->over_ranks);
	return count + (c->lead != SIZE_MAX);
}

static bool declare(const struct tw_sum_columns *c, struct trawl_column *out,
		    struct tw_arena *arena)
{
	bool failed = false;
	size_t i;

	for (i = 0; i < c->count; i++) {
		const struct tw_sum_column *column = &c->columns[i];

		if (tw_sum_is_measured(column->column->over_ranks))
			declare_measure(c, column, out, arena, &failed);
		else
			out[column->out] = *column->column;
		if (column->column->over_ranks == TRAWL_SAME)
			out[column->out].meaning = join(arena, column->column->meaning,
							", where all ranks agree", &failed);
	}
	out[c->ranks_out] = (struct trawl_column){
		.header = "ranks",
		.type = TRAWL_COLUMN_INTEGER,
		.unit = "",
		.width = 6,
		.meaning = "number of ranks with the row",
		.values = "!>=1",
	};
	return !failed;
}

struct trawl_table *tw_sum_columns_table(const struct tw_sum_columns *c)
{
	const struct trawl_table *first = c->sources[0].table;
	struct tw_table_spec spec = { .name = trawl_table_name(first),
				      .column_count = count_out(c),
				      .keep_empty = tw_table_spec(first)->keep_empty };
	size_t bytes = spec.column_count * sizeof(struct trawl_column);
	struct trawl_column *columns = tw_alloc_array(c->allocator, 1, bytes);
	struct trawl_table *table = NULL;
	struct tw_arena arena;
	bool failed = false;

	tw_arena_init(&arena, c->allocator);
	spec.columns = columns;
	spec.meaning = join(&arena, trawl_table_meaning(first), ", over ranks", &failed);
	if (columns && !failed && declare(c, columns, &arena))
		table = tw_table_new_owning(&spec, c->allocator);
	tw_arena_release(&arena);
	tw_free(c->allocator, columns, bytes);
	return table;
}
