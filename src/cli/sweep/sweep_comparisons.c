/* comparisons/ of a sweep: the reports of one rank and channel count over all thread counts. */
#include "cli/sweep/sweep_results.h"

#include "base/alloc.h"
#include "os/thread.h"
#include "study/compare/report_tables.h"
#include "table/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST_SIDES 64

/* Of each report, what is compared. */
static const char *const sheets[] = { "gpu_timeline", "ops_summary" };
#define SHEETS (sizeof(sheets) / sizeof(sheets[0]))

struct comparison {
	const struct cli_sweep_results *r;
	int64_t channels, rank;
	const struct cli_sweep_made *sides[MOST_SIDES]; /* by threads */
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
		tables[count] = cli_sweep_rank_table(c->sides[i], c->rank, sheets[k]);
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
	tw_sweep_comparison_path(&c->r->s->sweep, c->channels, c->rank, &path);
	status = path.failed ? tw_no_memory(err) :
			       trawl_write_xlsx((const struct trawl_table *const *)tables, count,
						path.ptr, err);
	tw_str_release(&path);
	return status;
}

static void compare(void *context, size_t number)
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
		status = tw_compare_reports(sides, c->count, TW_COMPARE_TIMELINE | TW_COMPARE_OPS,
					    tables, &count, &told, a, &c->err);
	if (!status && count)
		status = write_tables(c, tables, count, &c->err);
	c->written = !status && count;
	for (i = 0; i < count; i++)
		tw_table_free(tables[i]);
	for (i = 0; i < c->count; i++)
		tw_book_free(sides[i].book);
	tw_str_release(&told);
	if (!status)
		c->err.status = 0;
}

/* The comparison of a channel count and rank, added where it is new. */
static struct comparison *comparison_of(struct comparison *list, size_t *count,
					const struct cli_sweep_results *r, int64_t channels,
					int64_t rank)
{
	size_t i;

	for (i = 0; i < *count; i++)
		if (list[i].channels == channels && list[i].rank == rank)
			return &list[i];
	list[*count] = (struct comparison){ .r = r, .channels = channels, .rank = rank };
	return &list[(*count)++];
}

/* All that have several sides, in front; configurations come by threads. */
static size_t list_comparisons(struct comparison *list, const struct cli_sweep_results *r)
{
	size_t count = 0, several = 0, i, k;

	for (i = 0; i < r->s->sweep.count; i++) {
		const struct cli_sweep_made *made = &r->made[i];

		for (k = 0; k < made->point->rank_count; k++) {
			int64_t rank = made->point->ranks[k].rank;
			struct comparison *c;

			if (!cli_sweep_rank_table(made, rank, sheets[0]))
				continue;
			c = comparison_of(list, &count, r, made->point->channels, rank);
			c->cut |= c->count == MOST_SIDES;
			if (!c->cut)
				c->sides[c->count++] = made;
		}
	}
	for (i = 0; i < count; i++)
		if (list[i].count > 1)
			list[several++] = list[i];
	return several;
}

int cli_sweep_write_comparisons(struct cli_sweep_results *r)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	unsigned threads = r->s->common.threads ? r->s->common.threads : tw_thread_count();
	struct comparison *list;
	size_t most = 1, count, i;
	int status = CLI_DONE;

	for (i = 0; i < r->s->sweep.count; i++)
		most += r->made[i].point->rank_count;
	list = tw_alloc_array(a, most, sizeof(*list));
	if (!list)
		return cli_no_memory();
	count = list_comparisons(list, r);
	tw_parallel(threads, count, compare, list);
	for (i = 0; i < count; i++) {
		r->comparisons += list[i].written;
		if (list[i].cut) {
			cli_message("comparison of %" PRId64 " channels, rank %" PRId64
				    ": of the first %d thread counts alone",
				    list[i].channels, list[i].rank, MOST_SIDES);
			status = status == CLI_DONE ? CLI_INCOMPLETE : status;
		}
		if (list[i].err.status && status == CLI_DONE)
			status = cli_fail(&list[i].err);
	}
	tw_free(a, list, most * sizeof(*list));
	return status;
}
