#include "base/innermost.h"

#include "base/alloc.h"

/* Spans that have begun, as a heap: the shortest is first; what is over leaves when it gets there. */
struct heap {
	const struct tw_interval *spans;
	uint32_t *index;
	uint32_t count;
};

/* An unsigned difference: the length of any span fits. */
static uint64_t length_of(const struct tw_interval *span)
{
	return (uint64_t)span->end_ns - (uint64_t)span->start_ns;
}

static bool is_inside(const struct heap *heap, uint32_t a, uint32_t b)
{
	uint64_t length_a = length_of(&heap->spans[a]), length_b = length_of(&heap->spans[b]);

	/* The order of indices is that of starts. */
	return length_a != length_b ? length_a < length_b : a > b;
}

static void swap(struct heap *heap, uint32_t i, uint32_t j)
{
	uint32_t index = heap->index[i];

	heap->index[i] = heap->index[j];
	heap->index[j] = index;
}

static void push(struct heap *heap, uint32_t span)
{
	uint32_t i = heap->count++;

	heap->index[i] = span;
	for (; i && is_inside(heap, span, heap->index[(i - 1) / 2]); i = (i - 1) / 2)
		swap(heap, i, (i - 1) / 2);
}

static void drop_first(struct heap *heap)
{
	uint32_t i = 0, child;

	heap->index[0] = heap->index[--heap->count];
	while ((child = 2 * i + 1) < heap->count) {
		if (child + 1 < heap->count &&
		    is_inside(heap, heap->index[child + 1], heap->index[child]))
			child++;
		if (!is_inside(heap, heap->index[child], heap->index[i]))
			break;
		swap(heap, i, child);
		i = child;
	}
}

int tw_innermost(const struct tw_interval *spans, uint32_t span_count, const int64_t *moments,
		 size_t moment_count, uint32_t *found, const struct trawl_allocator *allocator)
{
	size_t bytes = ((size_t)span_count + 1) * sizeof(uint32_t), m;
	struct heap heap = { spans, tw_alloc(allocator, bytes), 0 };
	uint32_t next = 0;

	if (!heap.index)
		return -1;
	for (m = 0; m < moment_count; m++) {
		for (; next < span_count && spans[next].start_ns <= moments[m]; next++)
			if (spans[next].end_ns >= moments[m])
				push(&heap, next);
		while (heap.count && spans[heap.index[0]].end_ns < moments[m])
			drop_first(&heap);
		found[m] = heap.count ? heap.index[0] : TW_INNERMOST_NONE;
	}
	tw_free(allocator, heap.index, bytes);
	return 0;
}
