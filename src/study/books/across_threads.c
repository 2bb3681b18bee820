#include "study/books/across_threads.h"

#include "base/alloc.h"
#include "os/thread.h"
#include "study/books/report_tables.h"
#include "table/table.h"
#include "trawl/render.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST_SIDES 64

/* Of each report, what is compared. */
static const char *const sheets[] = { "gpu_timeline", "ops_summary" };
#define SHEETS (sizeof(sheets) / sizeof(sheets[0]))

struct comparison {
	const struct trawl_sweep *sweep;
	int64_t channels, rank;
	const struct tw_point_analysis *sides[MOST_SIDES]; /* by threads */
	size_t count;
	bool cut; /* there are more */
	bool written;
	struct trawl_error err; /* of what failed, status 0: nothing did */
};

static int open_side(const struct comparison *c, size_t i, char name[32], struct tw_compared *side,
		     struct trawl_error *err)
{
	const struct trawl_table *tables[SHEETS];
	size_t count = 0, k;

	snprintf(name, 32, "%" PRId64 "thread", c->sides[i]->point->threads);
	side->name = name;
	for (k = 0; k < SHEETS; k++) {
		tables[count] = tw_point_rank_table(c->sides[i], c->rank, sheets[k]);
		count += tables[count] != NULL;
	}
	return tw_book_of_tables(&side->book, name, tables, count, trawl_allocator_default(), err);
}

static int write_tables(const struct comparison *c, struct trawl_table **tables, size_t count,
			struct trawl_error *err)
{
	struct tw_str path;
	int status;

	tw_str_init(&path, trawl_allocator_default());
	tw_sweep_comparison_path(c->sweep, c->channels, c->rank, &path);
	status = path.failed ? tw_no_memory(err) :
			       trawl_write_xlsx((const struct trawl_table *const *)tables, count,
						path.ptr, err);
	tw_str_release(&path);
	return status;
}

static void compare_threads(void *context, size_t number)
{
	struct comparison *c = (struct comparison *)context + number;
	const struct trawl_allocator *a = trawl_allocator_default();
	struct trawl_table *tables[TW_COMPARE_MOST_TABLES] = { NULL };
	struct tw_compared sides[MOST_SIDES] = { 0 };
	char names[MOST_SIDES][32];
	struct tw_str told; /* what a report lacks was told with the report */
	size_t count = 0, i;
	int status = 0;

	tw_str_init(&told, a);
	for (i = 0; i < c->count && !status; i++)
		status = open_side(c, i, names[i], &sides[i], &c->err);
	if (!status)
		status = tw_compare_reports(sides, c->count,
					    TRAWL_COMPARE_TIMELINE | TRAWL_COMPARE_OPS, tables,
					    &count, &told, a, &c->err);
	if (!status && count)
		status = write_tables(c, tables, count, &c->err);
	c->written = !status && count;
	for (i = 0; i < count; i++)
		trawl_table_free(tables[i]);
	for (i = 0; i < c->count; i++)
		tw_book_free(sides[i].book);
	tw_str_release(&told);
	if (!status)
		c->err.status = 0;
}

/* The comparison of a channel count and rank, added where it is new. */
static struct comparison *comparison_of(struct comparison *list, size_t *count,
					const struct trawl_sweep *sweep, int64_t channels,
					int64_t rank)
{
	size_t i;

	for (i = 0; i < *count; i++)
		if (list[i].channels == channels && list[i].rank == rank)
			return &list[i];
	list[*count] = (struct comparison){ .sweep = sweep, .channels = channels, .rank = rank };
	return &list[(*count)++];
}

/* All that have several sides, in front; configurations come by threads. */
static size_t list_comparisons(struct comparison *list, const struct tw_point_analysis *points,
			       const struct trawl_sweep *sweep)
{
	size_t count = 0, several = 0, i, k;

	for (i = 0; i < sweep->count; i++) {
		const struct tw_sweep_point *point = points[i].point;

		for (k = 0; k < point->rank_count; k++) {
			int64_t rank = point->ranks[k].rank;
			struct comparison *c;

			if (!tw_point_rank_table(&points[i], rank, sheets[0]))
				continue;
			c = comparison_of(list, &count, sweep, point->channels, rank);
			c->cut |= c->count == MOST_SIDES;
			if (!c->cut)
				c->sides[c->count++] = &points[i];
		}
	}
	for (i = 0; i < count; i++)
		if (list[i].count > 1)
			list[several++] = list[i];
	return several;
}

int tw_compare_across_threads(const struct tw_point_analysis *points,
			      const struct trawl_sweep *sweep, unsigned threads,
			      struct tw_across_threads *out, struct trawl_error *err)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct comparison *list;
	size_t most = 1, count, i;
	int status = 0;

	for (i = 0; i < sweep->count; i++)
		most += points[i].point->rank_count;
	list = tw_alloc_array(a, most, sizeof(*list));
	if (!list)
		return tw_no_memory(err);
	count = list_comparisons(list, points, sweep);
	tw_parallel(threads ? threads : tw_thread_count(), count, compare_threads, list);
	for (i = 0; i < count; i++) {
		out->written += list[i].written;
		out->incomplete |= list[i].cut;
		if (list[i].cut)
			tw_str_note(&out->notes,
				    "comparison of %" PRId64 " channels, rank %" PRId64
				    ": first %d thread counts only",
				    list[i].channels, list[i].rank, MOST_SIDES);
		if (list[i].err.status && !status) {
			status = list[i].err.status;
			*err = list[i].err;
		}
	}
	tw_free(a, list, most * sizeof(*list));
	return status;
}
