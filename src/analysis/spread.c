#include "analysis/spread.h"

#include "base/alloc.h"

static tw_wide sum_work(const struct tw_gpu *gpu)
{
	tw_wide ns = 0;
	uint64_t g;

	for (g = 0; g < gpu->count; g++)
		ns += gpu->end_ns[g] - gpu->start_ns[g];
	return ns;
}

int tw_spread_init(struct tw_spread *s, const struct tw_analysis_input *in, size_t key_size,
		   size_t value_size, uint64_t room)
{
	*s = (struct tw_spread){ .in = in,
				 .of = tw_alloc(in->allocator, (room + 1) * sizeof(*s->of)),
				 .ns = tw_alloc(in->allocator, (room + 1) * sizeof(*s->ns)),
				 .room = room,
				 .work_ns = sum_work(&in->derived->gpu) };
	tw_groups_init_values(&s->groups, key_size, value_size, in->allocator);
	return s->of && s->ns ? 0 : TRAWL_ENOMEM;
}

void *tw_spread_add(struct tw_spread *s, const void *key, tw_wide ns)
{
	uint32_t group = tw_groups_add(&s->groups, key);
	struct tw_spread_sum *sum;

	if (group == TW_NO_GROUP || s->count == s->room)
		return NULL;
	sum = tw_groups_value(&s->groups, group);
	sum->ns += ns;
	s->of[s->count] = group;
	s->ns[s->count++] = tw_wide_fits(ns) ? (int64_t)ns : INT64_MAX;
	return sum;
}

void tw_spread_set_total(const struct tw_spread *s, struct trawl_table *table, size_t row,
			 size_t column, tw_wide ns)
{
	tw_set_sum(table, row, column + TW_SPREAD_TOTAL, ns);
	tw_set_percent(table, row, column + TW_SPREAD_SHARE, (double)ns, (double)s->work_ns);
}

struct adding {
	struct tw_spread *spread;
	const struct tw_spread_rows *rows;
	struct tw_members members;
	int64_t *values; /* of one group */
};

static struct tw_order describe(void *context, uint32_t group)
{
	const struct adding *a = context;
	const struct tw_groups *groups = &a->spread->groups;
	const struct tw_spread_sum *sum = tw_groups_value(groups, group);

	return (struct tw_order){ .value = sum->ns,
				  .texts = { a->rows->text(tw_groups_key(groups, group)) },
				  .tie = group };
}

static int add_row(void *context, struct trawl_table *table, uint32_t group)
{
	const struct adding *a = context;
	const struct tw_spread *s = a->spread;
	uint64_t first = a->members.first[group], count = a->members.first[group + 1] - first, i;
	size_t row = tw_table_add_row(table), column = a->rows->column;
	struct tw_stats stats;

	for (i = 0; i < count; i++)
		a->values[i] = s->ns[a->members.list[first + i]];
	stats = tw_stats_of(a->values, count);
	tw_spread_set_total(s, table, row, column, stats.sum);
	tw_set_us(table, row, column + TW_SPREAD_MEAN, stats.mean);
	tw_set_us(table, row, column + TW_SPREAD_MEDIAN, stats.median);
	tw_table_set_integer(table, row, column + TW_SPREAD_MIN, stats.min);
	tw_table_set_integer(table, row, column + TW_SPREAD_MAX, stats.max);
	tw_set_us(table, row, column + TW_SPREAD_STD, stats.std);
	a->rows->set(s, table, row, tw_groups_key(&s->groups, group),
		     tw_groups_value(&s->groups, group), count);
	return 0;
}

int tw_spread_add_rows(struct tw_spread *s, struct trawl_table *table,
		       const struct tw_spread_rows *rows)
{
	const struct trawl_allocator *allocator = s->in->allocator;
	struct adding context = { .spread = s, .rows = rows };
	const struct tw_order_rows order = { &context, describe, add_row, &s->in->trace->texts };

	context.values = tw_alloc(allocator, (s->count + 1) * sizeof(*context.values));
	if (s->groups.failed || !context.values ||
	    tw_members_build(&context.members, s->of, s->count, s->groups.count, allocator))
		return TRAWL_ENOMEM;
	return tw_add_in_order(table, s->groups.count, &order, allocator);
}
