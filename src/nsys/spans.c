#include "nsys/spans.h"

#include "base/list.h"
#include "base/search.h"
#include "base/sort.h"

bool tw_spans_add(struct tw_spans *spans, int64_t start_ns, int64_t end_ns,
		  const struct trawl_allocator *a)
{
	if (!tw_list_grow(&spans->at, &spans->capacity, spans->count, sizeof(*spans->at), a))
		return false;
	spans->at[spans->count++] = (struct tw_span){ start_ns, end_ns };
	return true;
}

bool tw_spans_resize(struct tw_spans *spans, size_t capacity, const struct trawl_allocator *a)
{
	struct tw_span *moved;

	if (capacity < spans->count)
		capacity = spans->count;
	if (capacity == spans->capacity || !capacity)
		return true;
	moved = tw_realloc(a, spans->at, spans->capacity * sizeof(*moved),
			   capacity * sizeof(*moved));
	if (!moved)
		return false;
	spans->at = moved;
	spans->capacity = capacity;
	return true;
}

static uint64_t start_of(const void *context, uint32_t number)
{
	const struct tw_span *at = context;

	return tw_sort_key(at[number].start_ns);
}

static bool in_order(const struct tw_spans *spans)
{
	size_t i;

	for (i = 1; i < spans->count; i++)
		if (spans->at[i].start_ns < spans->at[i - 1].start_ns)
			return false;
	return true;
}

/* Puts the items at their places by following the cycles of the order; `order` is used up. */
static void permute(struct tw_span *at, uint32_t *order, uint32_t count)
{
	uint32_t i, to, from;

	for (i = 0; i < count; i++) {
		struct tw_span kept = at[i];

		if (order[i] == i)
			continue;
		for (to = i; (from = order[to]) != i; to = from) {
			at[to] = at[from];
			order[to] = to;
		}
		at[to] = kept;
		order[to] = to;
	}
}

static bool sort(struct tw_spans *spans, const struct trawl_allocator *a)
{
	size_t bytes = spans->count * sizeof(uint32_t);
	uint32_t *order, i;
	bool sorted;

	if (in_order(spans))
		return true;
	if (spans->count >= UINT32_MAX || !(order = tw_alloc(a, bytes)))
		return false;
	for (i = 0; i < spans->count; i++)
		order[i] = i;
	sorted = !tw_sort(order, spans->count, start_of, spans->at, a);
	if (sorted)
		permute(spans->at, order, (uint32_t)spans->count);
	tw_free(a, order, bytes);
	return sorted;
}

bool tw_spans_unite(struct tw_spans *spans, const struct trawl_allocator *a)
{
	struct tw_span *at = spans->at;
	size_t i, last = 0;

	if (!spans->count)
		return true;
	if (!sort(spans, a))
		return false;
	for (i = 1; i < spans->count; i++) {
		if (at[i].start_ns > at[last].end_ns)
			at[++last] = at[i];
		else if (at[i].end_ns > at[last].end_ns)
			at[last].end_ns = at[i].end_ns;
	}
	spans->count = last + 1;
	return true;
}

bool tw_spans_sum(struct tw_spans *spans, const struct trawl_allocator *a)
{
	int64_t total = 0;
	size_t i;

	spans->before = tw_alloc(a, (spans->capacity + 1) * sizeof(*spans->before));
	if (!spans->before)
		return false;
	for (i = 0; i < spans->count; i++) {
		spans->before[i] = total;
		total += spans->at[i].end_ns - spans->at[i].start_ns;
	}
	spans->before[i] = total;
	return true;
}

/* Time covered before a moment. */
static int64_t covered_before(const struct tw_spans *spans, int64_t moment)
{
	size_t low = TW_LOWER_BOUND(at, 0, spans->count, spans->at[at].end_ns <= moment);

	if (low < spans->count && spans->at[low].start_ns < moment)
		return spans->before[low] + (moment - spans->at[low].start_ns);
	return spans->before[low];
}

int64_t tw_spans_cover(const struct tw_spans *spans, int64_t start_ns, int64_t end_ns)
{
	return end_ns > start_ns ? covered_before(spans, end_ns) - covered_before(spans, start_ns) :
				   0;
}

void tw_spans_release(struct tw_spans *spans, const struct trawl_allocator *a)
{
	if (spans->before)
		tw_free(a, spans->before, (spans->capacity + 1) * sizeof(*spans->before));
	tw_free(a, spans->at, spans->capacity * sizeof(*spans->at));
	*spans = (struct tw_spans){ 0 };
}
