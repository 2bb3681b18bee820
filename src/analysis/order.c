#define _GNU_SOURCE
#include "analysis/order.h"

#include <stdlib.h>
#include <string.h>

static int compare_texts(const struct tw_pool *pool, uint32_t a, uint32_t b)
{
	const struct tw_pool_entry *x = &pool->entries[a], *y = &pool->entries[b];
	int order = memcmp(x->ptr, y->ptr, x->len < y->len ? x->len : y->len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

static int compare_order(const void *a, const void *b, void *pool)
{
	const struct tw_order *x = a, *y = b;
	int order, i;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	for (i = 0; i < 2; i++) {
		if (x->texts[i] == y->texts[i])
			continue;
		order = compare_texts(pool, x->texts[i], y->texts[i]);
		if (order)
			return order;
	}
	if (x->tie != y->tie)
		return x->tie < y->tie ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

void tw_order_sort(struct tw_order *order, size_t count, const struct tw_pool *pool)
{
	union {
		const struct tw_pool *in;
		void *out;
	} context = { .in = pool };

	if (count)
		qsort_r(order, count, sizeof(*order), compare_order, context.out);
}
