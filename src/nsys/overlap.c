/* How much of each stage's communication is hidden by computation: a row for each rank and stage. */
#include "nsys/tables.h"

#include "base/alloc.h"
#include "base/search.h"
#include "base/sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = TW_OVERLAP_COMPAT, WINDOW_START, WINDOW_END, EXPOSED_UNION, COMM, COLUMNS };

static const struct trawl_column columns[COLUMNS] = {
	TW_INTEGER("pid", 10, "operating system process id", .values = "!>=0"),
	TW_TEXT("stage", 16,
		"stage that launched the communication; missing: launched outside all stages; "
		"(compute stream): all on streams that compute",
		.values = "!"),
	TW_NS(TW_COL_EXPOSED_NS, 14,
	      "sum over its communication kernels of the time not overlapped by compute on the "
	      "device",
	      .values = ">=0"),
	TW_PERCENT_2("overlap", 10, "share of communication time overlapped by compute",
		     .values = "0..100"),
	TW_PERCENT_2("overlap_min", 10, "min overlapped share of a kernel", .values = "0..100"),
	TW_PERCENT_2("overlap_max", 10, "max overlapped share of a kernel", .values = "0..100"),
	TW_INTEGER("rank", 8, "rank", .values = "!>=0"),
	TW_NS(TW_COL_WINDOW_START, 16, "start of the window", .values = "!"),
	TW_NS(TW_COL_WINDOW_END, 16, "end of the window", .values = "!"),
	TW_NS("exposed_union_ns", 14, "exposed time, concurrent kernels counted once",
	      .values = ">=0"),
	TW_NS(TW_COL_COMM_NS, 14, "total time of its communication kernels", .values = ">=0"),
};

const struct tw_table_spec tw_nsys_overlap_spec = {
	.name = "overlap",
	.meaning = "communication by rank and stage, and its overlap",
	.columns = columns,
	.column_count = COLUMNS,
	.keep_empty = true,
};
/* ---- sums */

void tw_nsys_hidden_add(struct tw_nsys_hidden *hidden, const struct tw_intervals *compute,
			int64_t start_ns, int64_t end_ns)
{
	int64_t length = end_ns - start_ns;
	int64_t covered = tw_intervals_covered(compute, start_ns, end_ns);
	double percent;

	hidden->comm_ns += length;
	if (length <= 0)
		return;
	hidden->exposed_ns += length - covered;
	percent = 100.0 * (double)covered / (double)length;
	/* NaN, where there is none yet, compares with nothing. */
	if (!(hidden->least <= percent))
		hidden->least = percent;
	if (!(hidden->most >= percent))
		hidden->most = percent;
}

double tw_nsys_hidden_percent(const struct tw_nsys_hidden *hidden)
{
	if (hidden->comm_ns <= 0)
		return NAN;
	return 100.0 * (double)(hidden->comm_ns - hidden->exposed_ns) / (double)hidden->comm_ns;
}

/* ---- stages in the order of their names */

struct work {
	const struct tw_nsys_capture *capture;
	const struct trawl_allocator *allocator;
	const char **stages; /* sorted, each once */
	uint32_t *stage_of_mark;
	size_t stage_count;
	uint32_t *order; /* of attributed kernels, and behind those of kernels on compute streams */
	size_t count;
	uint32_t *computing; /* in kernels.comm: those on compute streams */
	size_t computing_count;
};

#define NO_STAGE UINT32_MAX
/* Behind the stages: what is launched for them has streams of its own. */
#define COMPUTE_STREAM (NO_STAGE - 1)

static int by_text(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static void number_stages(struct work *w)
{
	const struct tw_nsys_ranges *r = &w->capture->ranges;
	size_t i;

	for (i = 0; i < r->marks.count; i++)
		if (*r->marks.at[i].stage)
			w->stages[w->stage_count++] = r->marks.at[i].stage;
	if (w->stage_count)
		qsort(w->stages, w->stage_count, sizeof(*w->stages), by_text);
	for (i = 0; i < r->marks.count; i++) {
		const char *stage = r->marks.at[i].stage;

		/* The first of equal ones: purposes may differ where the stage does not. */
		w->stage_of_mark[i] = (uint32_t)TW_LOWER_BOUND(at, 0, w->stage_count,
							       strcmp(w->stages[at], stage) < 0);
		if (!*stage)
			w->stage_of_mark[i] = NO_STAGE;
	}
}

static uint32_t stage_of(const struct work *w, uint32_t number)
{
	const struct tw_nsys_attribution *a = &w->capture->attribution;
	uint16_t mark = number < a->list.count ? a->list.at[number].mark : 0;

	if (number >= a->list.count)
		return COMPUTE_STREAM;
	return mark ? w->stage_of_mark[mark - 1] : NO_STAGE;
}

static const struct tw_nsys_comm *comm_of(const struct work *w, uint32_t number)
{
	const struct tw_nsys_attribution *a = &w->capture->attribution;
	uint32_t comm = number < a->list.count ? a->list.at[number].comm :
						 w->computing[number - a->list.count];

	return &w->capture->kernels.comm.at[comm];
}

static void list_computing(struct work *w)
{
	const struct tw_nsys_kernels *k = &w->capture->kernels;
	size_t i;

	for (i = 0; i < k->comm.count; i++)
		if (k->streams.at[k->comm.at[i].stream].compute_count)
			w->computing[w->computing_count++] = (uint32_t)i;
}

static uint32_t window_of(const struct work *w, uint32_t number)
{
	return w->capture->kernels.streams.at[comm_of(w, number)->stream].window;
}

static uint64_t group_of(const void *context, uint32_t number)
{
	const struct work *w = context;

	/* Behind the stages of its rank what was launched in none. */
	return (uint64_t)window_of(w, number) << 32 | stage_of(w, number);
}

static uint32_t cover_of(const struct work *w, uint32_t number)
{
	return w->capture->kernels.streams.at[comm_of(w, number)->stream].cover;
}

static uint64_t cover_key(const void *context, uint32_t number)
{
	return cover_of(context, number);
}

/* By rank, stage, device. */
static bool put_in_order(struct work *w)
{
	list_computing(w);
	for (; w->count < w->capture->attribution.list.count + w->computing_count; w->count++)
		w->order[w->count] = (uint32_t)w->count;
	return !tw_sort(w->order, w->count, cover_key, w, w->allocator) &&
	       !tw_sort(w->order, w->count, group_of, w, w->allocator);
}

/* ---- rows */

/* Time in which any of the kernels runs and nothing computes. */
static int64_t exposed_union(struct tw_intervals *kernels, const struct tw_intervals *compute)
{
	int64_t exposed_ns;
	size_t i;

	tw_intervals_unite(kernels);
	exposed_ns = tw_intervals_length(kernels);
	for (i = 0; i < kernels->count; i++)
		exposed_ns -= tw_intervals_covered(compute, kernels->items[i].start_ns,
						   kernels->items[i].end_ns);
	return exposed_ns;
}

/* Sums of the kernels order[first] to order[last - 1], device by device. */
static bool sum_kernels(const struct work *w, size_t first, size_t last,
			struct tw_nsys_hidden *hidden, int64_t *exposed_ns)
{
	struct tw_intervals kernels;
	bool good;
	size_t i;

	*exposed_ns = 0;
	tw_intervals_init(&kernels, w->allocator);
	for (i = first; i < last; i++) {
		const struct tw_nsys_comm *comm = comm_of(w, w->order[i]);
		uint32_t cover = cover_of(w, w->order[i]);
		const struct tw_intervals *compute = &w->capture->kernels.covers.at[cover].busy;

		tw_nsys_hidden_add(hidden, compute, comm->start_ns, comm->end_ns);
		tw_intervals_put(&kernels, comm->start_ns, comm->end_ns);
		if (i + 1 < last && cover_of(w, w->order[i + 1]) == cover)
			continue;
		*exposed_ns += exposed_union(&kernels, compute);
		kernels.count = 0;
	}
	good = !kernels.failed;
	tw_intervals_release(&kernels);
	return good;
}

static bool add_row(const struct work *w, size_t first, size_t last, struct trawl_table *table)
{
	uint32_t window = window_of(w, w->order[first]), stage = stage_of(w, w->order[first]);
	const struct tw_nsys_rank *rank = &w->capture->ranks.at[w->capture->rank_of_window[window]];
	struct tw_nsys_hidden hidden = TW_NSYS_HIDDEN_INIT;
	int64_t exposed_ns;
	size_t row;

	if (!sum_kernels(w, first, last, &hidden, &exposed_ns))
		return false;
	row = tw_table_add_row(table);
	tw_table_set_integer(table, row, TW_OVERLAP_PID, tw_nsys_pid(rank->process));
	if (stage == COMPUTE_STREAM)
		tw_table_set_str(table, row, TW_OVERLAP_STAGE, TW_NSYS_COMPUTE_STREAM);
	else if (stage != NO_STAGE)
		tw_table_set_str(table, row, TW_OVERLAP_STAGE, w->stages[stage]);
	tw_nsys_set_sum(table, row, TW_OVERLAP_EXPOSED_NS, hidden.exposed_ns);
	tw_table_set_real(table, row, TW_OVERLAP_OVERLAP, tw_nsys_hidden_percent(&hidden));
	tw_table_set_real(table, row, TW_OVERLAP_MIN, hidden.least);
	tw_table_set_real(table, row, TW_OVERLAP_MAX, hidden.most);
	tw_table_set_integer(table, row, RANK, rank->rank);
	tw_table_set_integer(table, row, WINDOW_START, rank->start_ns);
	tw_table_set_integer(table, row, WINDOW_END, rank->end_ns);
	tw_table_set_integer(table, row, EXPOSED_UNION, exposed_ns);
	tw_nsys_set_sum(table, row, COMM, hidden.comm_ns);
	return true;
}

static bool add_rows(struct work *w, struct trawl_table *table)
{
	size_t first, last;

	number_stages(w);
	if (!put_in_order(w))
		return false;
	for (first = 0; first < w->count; first = last) {
		uint64_t group = group_of(w, w->order[first]);

		for (last = first + 1; last < w->count && group_of(w, w->order[last]) == group;
		     last++)
			;
		if (!add_row(w, first, last, table))
			return false;
	}
	return true;
}

int tw_nsys_overlap(struct tw_nsys_capture *c, struct trawl_table *table, struct trawl_error *err)
{
	const struct trawl_allocator *a = c->source->allocator;
	struct work w = { .capture = c, .allocator = a };
	size_t marks = c->ranges.marks.count + 1, kernels = c->kernels.comm.count + 1;

	w.stages = tw_alloc_array(a, marks, sizeof(*w.stages));
	w.stage_of_mark = tw_alloc_array(a, marks, sizeof(*w.stage_of_mark));
	w.order = tw_alloc_array(a, kernels, sizeof(*w.order));
	w.computing = tw_alloc_array(a, kernels, sizeof(*w.computing));
	return w.stages && w.stage_of_mark && w.order && w.computing && add_rows(&w, table) ?
		       0 :
		       tw_no_memory(err);
}
