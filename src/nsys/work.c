#include "nsys/work.h"

#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"

#include <stdlib.h>

static const char *const columns[TW_GPU_COLUMNS] = { TW_GPU_COLUMN_NAMES };

struct part {
	struct tw_nsys_part part;
	struct tw_nsys_workers found;
	uint32_t last;
};

static bool add(struct tw_nsys_workers *w, const struct tw_nsys_work *work, uint32_t *last)
{
	uint32_t known = *last;
	struct tw_nsys_work *to;

	if (known >= w->list.count || w->list.at[known].process != work->process)
		known = tw_ids_get(&w->ids, work->process);
	if (known == TW_IDS_NONE) {
		known = (uint32_t)w->list.count;
		if (!TW_LIST_ADD(&w->list, work, w->allocator) ||
		    !tw_ids_put(&w->ids, work->process, known, w->allocator))
			return false;
	}
	to = &w->list.at[known];
	if (work->first_ns < to->first_ns)
		to->first_ns = work->first_ns;
	if (work->last_ns > to->last_ns)
		to->last_ns = work->last_ns;
	*last = known;
	return true;
}

static int on_row(void *part)
{
	const uint32_t needed = TW_BITS_BEFORE(TW_GPU_DEVICE);
	struct part *p = part;
	const int64_t *v = p->part.rows.values;
	struct tw_nsys_work work = { tw_nsys_process(v[TW_GPU_PROCESS]), v[TW_GPU_START],
				     v[TW_GPU_END] };

	p->found.allocator = p->part.rows.allocator;
	/* Odd rows are told of by who reads what is in them. */
	if (p->part.rows.given != needed || !tw_nsys_is_time(work.first_ns) ||
	    !tw_nsys_is_time(work.last_ns) || work.last_ns < work.first_ns ||
	    work.last_ns - work.first_ns > TW_LONGEST_DURATION_NS)
		return 0;
	return add(&p->found, &work, &p->last) ? 0 : tw_nsys_no_memory(&p->part);
}

static int join(void *part)
{
	struct part *p = part;
	size_t i;

	for (i = 0; i < p->found.list.count; i++)
		if (!add(p->part.context, &p->found.list.at[i], &p->last))
			return tw_nsys_no_memory(&p->part);
	return 0;
}

static int by_process(const void *a, const void *b)
{
	const struct tw_nsys_work *x = a, *y = b;

	return TW_ORDER_BY(x, y, process);
}

int tw_nsys_workers_read(struct tw_nsys_workers *w, struct tw_nsys_source *source,
			 struct trawl_error *err)
{
	static const char *const tables[] = { TW_NSYS_KERNELS, TW_NSYS_COPIES, TW_NSYS_MEMSETS,
					      TW_NSYS_GRAPHS };
	struct tw_table_reader reader = {
		.columns = columns,
		.column_count = TW_GPU_DEVICE,
		.integers = TW_BITS_BEFORE(TW_GPU_DEVICE),
		.part_size = sizeof(struct part),
		.row = on_row,
		.join = join,
	};
	int status = 0;
	size_t i;

	*w = (struct tw_nsys_workers){ .allocator = source->allocator };
	for (i = 0; i < sizeof(tables) / sizeof(*tables) && !status; i++) {
		reader.table = tables[i];
		status = tw_nsys_scan(source, &reader, w, err);
	}
	if (!status && w->list.count)
		qsort(w->list.at, w->list.count, sizeof(*w->list.at), by_process);
	return status;
}

/* ---- the end of the capture */

struct latest {
	struct tw_nsys_part part;
	int64_t end_ns;
	bool any;
};

static int on_time(void *part)
{
	struct latest *p = part;
	unsigned i;

	for (i = TW_GPU_START; i <= TW_GPU_END; i++) {
		int64_t time = p->part.rows.values[i];

		if (!tw_part_has(&p->part.rows, i) || !tw_nsys_is_time(time))
			continue;
		if (!p->any || time > p->end_ns)
			p->end_ns = time;
		p->any = true;
	}
	return 0;
}

static int join_latest(void *part)
{
	const struct latest *p = part;
	int64_t *end_ns = p->part.context;

	if (p->any && p->end_ns > *end_ns)
		*end_ns = p->end_ns;
	return 0;
}

int tw_nsys_latest(struct tw_nsys_source *source, bool kernels, bool calls, int64_t *end_ns,
		   struct trawl_error *err)
{
	static const char *const tables[] = { TW_NSYS_KERNELS, TW_NSYS_CALLS, TW_NSYS_COPIES,
					      TW_NSYS_MEMSETS, TW_NSYS_SYNCS, TW_NSYS_GRAPHS };
	struct tw_table_reader reader = {
		.columns = columns,
		.column_count = TW_GPU_PROCESS,
		.integers = TW_BITS_BEFORE(TW_GPU_PROCESS),
		.part_size = sizeof(struct latest),
		.row = on_time,
		.join = join_latest,
	};
	int status = 0;
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(*tables) && !status; i++) {
		reader.table = tables[i];
		if ((i != 0 || kernels) && (i != 1 || calls))
			status = tw_nsys_scan(source, &reader, end_ns, err);
	}
	return status;
}
