#include "nsys/work.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/sort.h"
#include "nsys/ranges.h"

#include <stdlib.h>

enum { START, END, GID, COLUMNS };
static const char *const columns[COLUMNS] = { "start", "end", "globalPid" };

struct part {
	struct tw_nsys_part part;
	struct tw_nsys_workers found;
	uint32_t last;
};

static bool add(struct tw_nsys_workers *w, const struct tw_nsys_work *work, uint32_t *last)
{
	uint32_t known = *last;
	struct tw_nsys_work *to;

	if (known >= w->count || w->at[known].process != work->process)
		known = tw_ids_get(&w->ids, work->process);
	if (known == TW_IDS_NONE) {
		known = (uint32_t)w->count;
		if (!tw_list_grow(&w->at, &w->capacity, w->count, sizeof(*w->at), w->allocator) ||
		    !tw_ids_put(&w->ids, work->process, known, w->allocator))
			return false;
		w->at[w->count++] = *work;
	}
	to = &w->at[known];
	if (work->first_ns < to->first_ns)
		to->first_ns = work->first_ns;
	if (work->last_ns > to->last_ns)
		to->last_ns = work->last_ns;
	*last = known;
	return true;
}

static int on_row(void *part, const struct tw_scan *scan)
{
	struct part *p = part;
	struct tw_nsys_work work;
	int64_t gid;

	p->found.allocator = p->part.allocator;
	/* Odd rows are told of by who reads what is in them. */
	if (tw_scan_integer(scan, START, &work.first_ns) != TW_VALUE_GIVEN ||
	    tw_scan_integer(scan, END, &work.last_ns) != TW_VALUE_GIVEN ||
	    tw_scan_integer(scan, GID, &gid) != TW_VALUE_GIVEN || !tw_nsys_is_time(work.first_ns) ||
	    !tw_nsys_is_time(work.last_ns))
		return 0;
	if (work.last_ns < work.first_ns || work.last_ns - work.first_ns > TW_LONGEST_DURATION_NS)
		return 0;
	work.process = tw_nsys_process(gid, false);
	return add(&p->found, &work, &p->last) ? 0 : tw_nsys_no_memory(&p->part);
}

static void release_part(void *part)
{
	struct part *p = part;

	if (p->found.allocator)
		tw_nsys_workers_release(&p->found);
	p->found.allocator = NULL;
}

static int by_process(const void *a, const void *b)
{
	const struct tw_nsys_work *x = a, *y = b;

	return (x->process > y->process) - (x->process < y->process);
}

static int read_table(struct tw_nsys_workers *w, struct tw_nsys_source *source, const char *table,
		      struct trawl_error *err)
{
	const struct tw_nsys_scan scan = {
		.table = table,
		.columns = columns,
		.column_count = COLUMNS,
		.part_size = sizeof(struct part),
		.row = on_row,
		.release = release_part,
	};
	size_t count, i, k;
	struct part *parts;
	uint32_t last = 0;
	bool good = true;
	void *made;
	int status = tw_nsys_scan(source, &scan, &made, &count, err);

	parts = made;
	for (i = 0; i < count; i++)
		for (k = 0; k < parts[i].found.count && good; k++)
			good = add(w, &parts[i].found.at[k], &last);
	tw_nsys_scan_free(source, &scan, made, count);
	return status || good ? status : tw_no_memory(err);
}

int tw_nsys_workers_read(struct tw_nsys_workers *w, struct tw_nsys_source *source,
			 struct trawl_error *err)
{
	static const char *const tables[] = {
		"CUPTI_ACTIVITY_KIND_KERNEL",
		"CUPTI_ACTIVITY_KIND_MEMCPY",
		"CUPTI_ACTIVITY_KIND_MEMSET",
		"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
	};
	int status = 0;
	size_t i;

	*w = (struct tw_nsys_workers){ .allocator = source->allocator };
	for (i = 0; i < sizeof(tables) / sizeof(*tables) && !status; i++)
		status = read_table(w, source, tables[i], err);
	if (!status && w->count)
		qsort(w->at, w->count, sizeof(*w->at), by_process);
	return status;
}

void tw_nsys_workers_release(struct tw_nsys_workers *w)
{
	tw_free(w->allocator, w->at, w->capacity * sizeof(*w->at));
	tw_ids_release(&w->ids, w->allocator);
	*w = (struct tw_nsys_workers){ .allocator = w->allocator };
}

/* ---- the end of the capture */

struct latest {
	struct tw_nsys_part part;
	int64_t end_ns;
	bool any;
};

static int on_time(void *part, const struct tw_scan *scan)
{
	struct latest *p = part;
	int64_t time;
	size_t i;

	for (i = START; i <= END; i++) {
		if (tw_scan_integer(scan, i, &time) != TW_VALUE_GIVEN || !tw_nsys_is_time(time))
			continue;
		if (!p->any || time > p->end_ns)
			p->end_ns = time;
		p->any = true;
	}
	return 0;
}

static void release_latest(void *part)
{
	(void)part;
}

static int latest_of(struct tw_nsys_source *source, const char *table, int64_t *end_ns,
		     struct trawl_error *err)
{
	const struct tw_nsys_scan scan = {
		.table = table,
		.columns = columns,
		.column_count = GID,
		.part_size = sizeof(struct latest),
		.row = on_time,
		.release = release_latest,
	};
	const struct latest *parts;
	size_t count, i;
	void *made;
	int status = tw_nsys_scan(source, &scan, &made, &count, err);

	parts = made;
	for (i = 0; i < count; i++)
		if (parts[i].any && parts[i].end_ns > *end_ns)
			*end_ns = parts[i].end_ns;
	tw_nsys_scan_free(source, &scan, made, count);
	return status;
}

int tw_nsys_latest(struct tw_nsys_source *source, bool kernels, bool calls, int64_t *end_ns,
		   struct trawl_error *err)
{
	static const char *const tables[] = {
		"CUPTI_ACTIVITY_KIND_KERNEL",	       "CUPTI_ACTIVITY_KIND_RUNTIME",
		"CUPTI_ACTIVITY_KIND_MEMCPY",	       "CUPTI_ACTIVITY_KIND_MEMSET",
		"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
	};
	int status = 0;
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(*tables) && !status; i++)
		if ((i != 0 || kernels) && (i != 1 || calls))
			status = latest_of(source, tables[i], end_ns, err);
	return status;
}
