#include "analysis/sums.h"

void tw_sums_init(struct tw_sums *sums, const struct tw_analysis_input *in, size_t key_size,
		  size_t value_size)
{
	*sums = (struct tw_sums){ .in = in };
	tw_groups_init_values(&sums->groups, key_size, value_size, in->allocator);
}

void *tw_sums_add(struct tw_sums *sums, const void *key, int64_t ns, uint64_t number)
{
	struct tw_sum *sum = tw_groups_at(&sums->groups, key);

	if (!sum)
		return NULL;
	tw_sum_add(sum, ns, number);
	sums->total_ns += ns;
	return sum;
}

int tw_sums_init_numbers(struct tw_sums *sums, const struct tw_analysis_input *in, uint32_t count,
			 size_t value_size)
{
	uint32_t number;

	tw_sums_init(sums, in, sizeof(number), value_size);
	for (number = 0; number < count; number++)
		tw_groups_add(&sums->groups, &number);
	return sums->groups.failed ? TRAWL_ENOMEM : 0;
}

void *tw_sums_add_number(struct tw_sums *sums, uint32_t number, int64_t ns)
{
	struct tw_sum *sum = tw_groups_value(&sums->groups, number);

	tw_sum_add(sum, ns, number);
	sums->total_ns += ns;
	return sum;
}

struct rows {
	struct tw_sums *sums;
	tw_set_sum_row *set;
	tw_order_sum *order;
};

static struct tw_order describe(void *context, uint32_t group)
{
	const struct rows *rows = context;
	const struct tw_groups *groups = &rows->sums->groups;
	const struct tw_sum *sum = tw_groups_value(groups, group);
	struct tw_order order = { .value = sum->ns, .tie = sum->first };

	if (rows->order)
		rows->order(rows->sums, tw_groups_key(groups, group), &order);
	return order;
}

static int add_sum_row(void *context, struct trawl_table *table, uint32_t group)
{
	const struct rows *rows = context;
	const struct tw_groups *groups = &rows->sums->groups;
	const struct tw_sum *sum = tw_groups_value(groups, group);

	if (!sum->count)
		return 0;
	rows->sums->running_ns += sum->ns;
	rows->set(rows->sums, table, tw_table_add_row(table), tw_groups_key(groups, group), sum);
	return 0;
}

int tw_sums_add_rows(struct tw_sums *sums, struct trawl_table *table, tw_set_sum_row *set,
		     tw_order_sum *order)
{
	struct rows context = { sums, set, order };
	const struct tw_order_rows rows = { &context, describe, add_sum_row,
					    &sums->in->trace->texts };

	return sums->groups.failed ?
		       TRAWL_ENOMEM :
		       tw_add_in_order(table, sums->groups.count, &rows, sums->in->allocator);
}
