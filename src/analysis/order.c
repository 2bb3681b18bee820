#define _GNU_SOURCE
#include "analysis/order.h"

#include "base/alloc.h"
#include "base/order.h"

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
	return TW_ORDER_BY(x, y, tie, index);
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

int tw_add_in_order(struct trawl_table *table, uint32_t count, const struct tw_order_rows *rows,
		    const struct trawl_allocator *allocator)
{
	struct tw_order *order = tw_alloc_array(allocator, (size_t)count + 1, sizeof(*order));
	int status = 0;
	uint32_t i;

	if (!order)
		return TRAWL_ENOMEM;
	for (i = 0; i < count; i++) {
		order[i] = rows->describe(rows->context, i);
		order[i].index = i;
	}
	tw_order_sort(order, count, rows->pool);
	tw_table_reserve(table, count);
	for (i = 0; i < count && !status; i++)
		status = rows->add(rows->context, table, order[i].index);
	tw_free(allocator, order, ((size_t)count + 1) * sizeof(*order));
	return status;
}
