#include "analysis/order.h"

#include "base/alloc.h"

#include <stdlib.h>

static int compare_order(const void *a, const void *b)
{
	const struct tw_order *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	if (x->tie != y->tie)
		return x->tie < y->tie ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

void tw_order_sort(struct tw_order *order, size_t count)
{
	qsort(order, count, sizeof(*order), compare_order);
}

struct ranked {
	const struct tw_pool_entry *text;
	uint32_t id;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct tw_pool_entry *x = ((const struct ranked *)a)->text;
	const struct tw_pool_entry *y = ((const struct ranked *)b)->text;
	int order = memcmp(x->ptr, y->ptr, x->len < y->len ? x->len : y->len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

uint32_t *tw_text_ranks(const struct tw_pool *pool)
{
	struct ranked *list = tw_alloc(pool->allocator, pool->count * sizeof(*list));
	uint32_t *rank = tw_alloc(pool->allocator, pool->count * sizeof(*rank)), i;

	if (list && rank) {
		for (i = 0; i < pool->count; i++)
			list[i] = (struct ranked){ &pool->entries[i], i };
		qsort(list, pool->count, sizeof(*list), compare_ranked);
		for (i = 0; i < pool->count; i++)
			rank[list[i].id] = i;
	} else if (rank) {
		tw_free(pool->allocator, rank, pool->count * sizeof(*rank));
		rank = NULL;
	}
	tw_free(pool->allocator, list, pool->count * sizeof(*list));
	return rank;
}
