#include "job/tables/outliers.h"

#include "base/alloc.h"
#include "base/median.h"
#include "base/order.h"
#include "data/limits.h"

#include <stdlib.h>
#include <string.h>

enum { RANK, TYPE, TIME, MEDIAN, OVER, OVER_PERCENT };

#define EXACT(header, scale, meaning) TW_DECIMAL(header, "ms", (scale), 3, 14, (meaning))

static const struct trawl_column columns[] = {
	[RANK] = TW_INTEGER("rank", 6, "rank in the job", .values = "!"),
	[TYPE] = TW_TEXT("type", 22, "part of its GPU time", .values = "!"),
	[TIME] = EXACT(TW_COL_TIME_MS, 6, "duration"),
	[MEDIAN] = EXACT("median ms", 7, "median over ranks"),
	[OVER] = EXACT(TW_COL_OVER_MEDIAN_MS, 7, "time above the median"),
	[OVER_PERCENT] =
		TW_PERCENT_1(TW_COL_OVER_MEDIAN_PERCENT, 10, "time above the median / median"),
};

/* Independent parts of the timeline; the other parts are sums of these. */
static const char *const looked_at[] = { "computation_time", "exposed_comm_time", "idle_time" };
#define LOOKED_AT (sizeof(looked_at) / sizeof(looked_at[0]))
static const char whole[] = "total_time";

/* Medians are doubled, so that they are integers: the middle of two numbers need not be one. */
struct outlier {
	tw_wide over2; /* twice the time over the median */
	tw_wide median2;
	int64_t time_ns, rank;
	size_t part;
};

struct search {
	const struct trawl_job *job;
	int64_t *values; /* of the ranks with GPU work */
	struct outlier *found;
	size_t count;
};

static size_t part_named(const char *name)
{
	size_t part = 0;

	while (strcmp(tw_timeline_part_names[part], name))
		part++;
	return part;
}

static tw_wide twice_the_median(struct search *s, size_t part)
{
	size_t i, n = 0;

	for (i = 0; i < s->job->count; i++)
		if (s->job->ranks[i].gpu_events)
			s->values[n++] = tw_timeline_part(&s->job->ranks[i].timeline, part);
	return tw_twice_the_median(s->values, n);
}

static void look_at(struct search *s, size_t part, tw_wide total2)
{
	tw_wide median2 = twice_the_median(s, part);
	size_t i;

	for (i = 0; i < s->job->count; i++) {
		const struct tw_rank *rank = &s->job->ranks[i];
		int64_t time = tw_timeline_part(&rank->timeline, part);
		tw_wide over2 = (tw_wide)time * 2 - median2;

		if (!rank->gpu_events || over2 * 100 <= median2 * TW_LIMIT_OUTLIER_PERCENT ||
		    over2 * 100 <= total2 * TW_LIMIT_OUTLIER_OF_TOTAL_PERCENT)
			continue;
		s->found[s->count++] = (struct outlier){ over2, median2, time, rank->rank, part };
	}
}

static int compare_outliers(const void *a, const void *b)
{
	const struct outlier *x = a, *y = b;

	return TW_COMPARE(y->over2, x->over2) ?: TW_ORDER_BY(x, y, rank, part);
}

static void add_outlier_row(struct trawl_table *table, const struct outlier *o)
{
	size_t row = tw_table_add_row(table);

	tw_table_set_integer(table, row, RANK, o->rank);
	tw_table_set_str(table, row, TYPE, tw_timeline_part_names[o->part]);
	tw_table_set_integer(table, row, TIME, o->time_ns);
	/* Half of it, with one digit more. */
	tw_set_sum(table, row, MEDIAN, o->median2 * 5);
	tw_set_sum(table, row, OVER, o->over2 * 5);
	tw_set_percent(table, row, OVER_PERCENT, (double)o->over2, (double)o->median2);
}

static int add_outliers(const struct tw_ranks_input *in, struct trawl_table *table)
{
	struct search s = { .job = in->job };
	size_t ranks = in->job->count, i;
	tw_wide total2;

	s.values = tw_alloc_array(in->allocator, ranks + 1, sizeof(*s.values));
	s.found = tw_alloc_array(in->allocator, ranks * LOOKED_AT + 1, sizeof(*s.found));
	if (!s.values || !s.found)
		return TRAWL_ENOMEM;
	total2 = twice_the_median(&s, part_named(whole));
	for (i = 0; i < LOOKED_AT; i++)
		look_at(&s, part_named(looked_at[i]), total2);
	qsort(s.found, s.count, sizeof(*s.found), compare_outliers);
	for (i = 0; i < s.count; i++)
		add_outlier_row(table, &s.found[i]);
	return 0;
}

const struct tw_ranks_table tw_ranks_table_rank_outliers = {
	TW_TABLE(
		"rank_outliers",
		"outlier ranks: compute, exposed communication or idle more than " TW_LIMIT_TEXT(
			TW_LIMIT_OUTLIER_PERCENT) " % above the median rank, and by more than " TW_LIMIT_TEXT(TW_LIMIT_OUTLIER_OF_TOTAL_PERCENT) " % of the median total time",
		columns, .keep_empty = true),
	.fill = add_outliers,
};
