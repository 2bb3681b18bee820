#include "nsys/compat/compat_kernels.h"

#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"
#include "nsys/compat/compat_ranges.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct part {
	struct tw_nsys_part part;
	TW_LIST(struct tw_compat_kernel) list;
};

/* ---- rows */

static uint32_t kind_of_name(const void *part, const char *name, size_t len)
{
	(void)part;
	if (!name)
		return TW_COMPAT_NAMELESS;
	if (len < 4 || strncasecmp(name, "nccl", 4) != 0)
		return TW_COMPAT_COMPUTE;
	return memcmp(name, "nccl", 4) ? TW_COMPAT_LOUD : TW_COMPAT_COMMUNICATION;
}

uint32_t tw_compat_window(struct tw_compat_kernels *k, int64_t pid, int64_t start_ns,
			  int64_t end_ns)
{
	struct tw_compat_window window = { .pid = pid, .start_ns = start_ns, .end_ns = end_ns };
	uint32_t known = tw_ids_get(&k->window_ids, pid);

	if (known != TW_IDS_NONE)
		return known;
	known = (uint32_t)k->windows.count;
	tw_intervals_init(&window.compute, k->allocator);
	return TW_LIST_ADD(&k->windows, &window, k->allocator) &&
			       tw_ids_put(&k->window_ids, pid, known, k->allocator) ?
		       known :
		       UINT32_MAX;
}

/* Whether it lies in the window of its process. */
static bool find_window(const struct tw_compat_kernels *k, int64_t pid,
			struct tw_compat_kernel *kernel)
{
	kernel->window = tw_ids_get(&k->window_ids, pid);
	return kernel->window != TW_IDS_NONE &&
	       kernel->start_ns >= k->windows.at[kernel->window].start_ns &&
	       kernel->end_ns <= k->windows.at[kernel->window].end_ns;
}

static int on_row(void *part)
{
	struct part *p = part;
	struct tw_table_part *rows = &p->part.rows;
	const int64_t *v = rows->values;
	struct tw_compat_kernel kernel = { .stream = -1,
					   .start_ns = v[TW_GPU_START],
					   .end_ns = v[TW_GPU_END] };
	uint32_t kind = TW_COMPAT_NAMELESS;
	int64_t id;

	if (rows->given != TW_BITS_BEFORE(TW_GPU_DEVICE) || !tw_nsys_is_time(kernel.start_ns) ||
	    !tw_nsys_is_time(kernel.end_ns))
		return tw_nsys_odd(&p->part);
	if (kernel.end_ns < kernel.start_ns)
		kernel.end_ns = kernel.start_ns;
	if (!find_window(p->part.context, tw_compat_pid(v[TW_GPU_PROCESS]), &kernel))
		return 0;
	if (tw_scan_integer(rows->scan, TW_KERNEL_SHORT_NAME, &id) == TW_VALUE_GIVEN &&
	    !tw_nsys_meaning(&p->part, id, kind_of_name, &kind))
		return tw_nsys_no_memory(&p->part);
	if (kind == TW_COMPAT_NAMELESS)
		return 0;
	kernel.kind = (uint8_t)kind;
	if (tw_scan_integer(rows->scan, TW_GPU_STREAM, &id) == TW_VALUE_GIVEN)
		kernel.stream = id;
	kernel.linked = tw_scan_integer(rows->scan, TW_GPU_CORRELATION, &kernel.correlation) ==
			TW_VALUE_GIVEN;
	return TW_LIST_ADD(&p->list, &kernel, rows->allocator) ? 0 : tw_nsys_no_memory(&p->part);
}

static int join(void *part)
{
	struct part *p = part;
	struct tw_compat_kernels *k = p->part.context;

	return TW_LIST_JOIN(&k->list, &p->list, k->allocator) ? 0 : tw_nsys_no_memory(&p->part);
}

/* ---- streams */

static int kernel_order(const void *a, const void *b)
{
	const struct tw_compat_kernel *x = a, *y = b;

	return TW_ORDER_BY(x, y, window, stream);
}

static void add_kernel(struct tw_compat_stream *s, const struct tw_compat_kernel *kernel)
{
	int64_t length = kernel->end_ns - kernel->start_ns;

	if (kernel->kind == TW_COMPAT_COMPUTE) {
		s->compute_count++;
		s->compute_ns += length;
	} else {
		s->comm_count++;
		s->comm_ns += length;
	}
}

/* On a stream that computes, what is named like communication in capitals computes. */
static void cover(struct tw_intervals *compute, const struct tw_compat_kernels *k,
		  const struct tw_compat_stream *s)
{
	size_t i;

	for (i = s->first; i < s->last; i++)
		if (k->list.at[i].kind == TW_COMPAT_COMPUTE ||
		    (k->list.at[i].kind == TW_COMPAT_LOUD && s->compute_count))
			tw_intervals_put(compute, k->list.at[i].start_ns, k->list.at[i].end_ns);
}

static bool find_streams(struct tw_compat_kernels *k)
{
	size_t i;

	if (k->list.count)
		qsort(k->list.at, k->list.count, sizeof(*k->list.at), kernel_order);
	for (i = 0; i < k->list.count;) {
		const struct tw_compat_kernel *first = &k->list.at[i];
		struct tw_compat_stream s = { .window = first->window,
					      .stream = first->stream,
					      .first = i };

		for (; i < k->list.count && !kernel_order(first, &k->list.at[i]); i++)
			add_kernel(&s, &k->list.at[i]);
		s.last = i;
		cover(&k->windows.at[s.window].compute, k, &s);
		if (!TW_LIST_ADD(&k->streams, &s, k->allocator))
			return false;
	}
	for (i = 0; i < k->windows.count; i++) {
		tw_intervals_unite(&k->windows.at[i].compute);
		tw_intervals_sum(&k->windows.at[i].compute);
		if (k->windows.at[i].compute.failed)
			return false;
	}
	return true;
}

int tw_compat_kernels_read(struct tw_compat_kernels *k, struct tw_nsys_source *source,
			   struct trawl_error *err)
{
	static const struct tw_table_reader reader = {
		.table = TW_NSYS_KERNELS,
		.columns = tw_kernel_columns,
		.column_count = TW_KERNEL_NODE,
		.integers = TW_BITS_BEFORE(TW_GPU_DEVICE),
		.part_size = sizeof(struct part),
		.row = on_row,
		.join = join,
	};
	int status = tw_nsys_scan(source, &reader, k, err);

	return status || find_streams(k) ? status : tw_no_memory(err);
}
