/* What the verdict over ranks says just below and just above each of its limits; times are by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "job/tables/all_tables.h"
#include "job/tables/outliers.h"
#include "edges.h"
#include "made_jobs.h"

#include <string.h>

#define AWAY (-1)

static struct trawl_table *table_of(const struct tw_ranks_table *self, struct looked_across *made)
{
	struct tw_ranks_input in = look_across(made);
	struct trawl_table *table = NULL;

	assert_int_equal(tw_ranks_table_make(&in, self, &table), 0);
	return table;
}

/* A column of the row with a finding, copied; "" when there is none. */
static void look_up(const struct trawl_table *verdict, const char *finding, const char *column,
		    char text[400])
{
	size_t row;

	text[0] = '\0';
	for (row = 0; row < trawl_table_rows(verdict); row++) {
		struct trawl_cell name = tw_table_cell(verdict, row, "finding");
		struct trawl_cell cell = tw_table_cell(verdict, row, column);

		if (name.text_len != strlen(finding) || memcmp(name.text, finding, name.text_len))
			continue;
		assert_true(cell.text_len < 400);
		snprintf(text, 400, "%.*s", (int)cell.text_len, cell.text_len ? cell.text : "");
	}
}

/* What a job of such meetings gets for a finding: its ranks, or its text where those are none. */
static void assert_finding(size_t ranks, const struct meeting *meetings, size_t count,
			   const char *finding, const char *want)
{
	struct looked_across made = { 0 };
	struct trawl_table *verdict;
	char text[400];

	make_job(&made.job, ranks);
	add_meetings(&made.job, meetings, count);
	verdict = table_of(&tw_ranks_table_verdict, &made);
	look_up(verdict, finding, "ranks", text);
	if (!text[0])
		look_up(verdict, finding, "text", text);
	if (want)
		assert_non_null(strstr(text, want));
	else
		assert_string_equal(text, "");
	trawl_table_free(verdict);
	release_looked_across(&made);
}

/* Three ranks wait 40 us of 310, the fourth runs 270: 120 of 1200. */
static void waits_that_matter(void **state)
{
	const struct meeting at[] = { { .starts = { 0, 40, 0, 0 }, 310 } };
	const struct meeting below[] = { { .starts = { 0, 40, 0, 0 }, 310.001 } };

	EDGE_OF(TW_LIMIT_WAITS_MATTER_PERCENT);
	assert_finding(4, at, 1, "straggler", "1");
	assert_finding(4, at, 1, "no straggler", NULL);
	assert_finding(4, below, 1, "straggler", NULL);
	assert_finding(4, below, 1, "no straggler", "wait is 10.0 % of communication time");
}

/* Rank 0 passes on 300 us that it waited for rank 1; all waiting is 300 + 310 + 2390. */
static void passing_on_that_matters(void **state)
{
	struct meeting meetings[] = {
		{ .starts = { 0, 0, 0, 0 }, 10 },
		{ .starts = { 100, 400, AWAY, AWAY }, 420, "tp" },
		{ .starts = { 500, AWAY, 190, AWAY }, 510, "dp" },
		{ .starts = { 1000, 3390, AWAY, AWAY }, 3400, "tp" },
	};

	EDGE_OF(TW_LIMIT_WAITS_MATTER_PERCENT);
	assert_finding(4, meetings, 4, "straggler", "1");
	assert_finding(4, meetings, 4, "passed on", "0");
	meetings[3].starts[1] = 3390.001;
	assert_finding(4, meetings, 4, "straggler", "1");
	assert_finding(4, meetings, 4, "passed on", NULL);
}

/*
 * Rank 1 causes 300 + 2390 us of waiting, rank 0 310, of which it passes on the 300: of 2700 that
 * somebody causes 2690 are rank 1's.
 */
static void share_of_the_straggler(void **state)
{
	const struct meeting meetings[] = {
		{ .starts = { 0, 0, 0, 0 }, 10 },
		{ .starts = { 100, 400, AWAY, AWAY }, 420, "tp" },
		{ .starts = { 500, AWAY, 190, AWAY }, 510, "dp" },
		{ .starts = { 1000, 3390, AWAY, AWAY }, 3400, "tp" },
	};
	struct looked_across made = { 0 };
	struct trawl_table *verdict;

	make_job(&made.job, 4);
	add_meetings(&made.job, meetings, 4);
	verdict = table_of(&tw_ranks_table_verdict, &made);
	assert_float_equal(tw_table_cell(verdict, 0, "share (%)").real, 100 * 2690. / 2700, 1e-9);
	trawl_table_free(verdict);
	release_looked_across(&made);
}

/* Each in turn waits 40 us of 220 for the other, which runs 180: 80 of 800. */
static void percentages_from_10_on_are_whole(void **state)
{
	const struct meeting meetings[] = { { .starts = { 0, 40 }, 220 },
					    { .starts = { 1040, 1000 }, 1220 } };

	assert_finding(2, meetings, 2, "no straggler", "wait is 10 % of communication time");
}

/* One waits 200 us of 300, the other runs 100. */
static void half_is_most(void **state)
{
	const struct meeting at[] = { { .starts = { 0, 200 }, 300 } };
	const struct meeting below[] = { { .starts = { 0, 200 }, 300.001 } };

	EDGE_OF(TW_LIMIT_WAITS_ARE_MOST_PERCENT);
	assert_finding(2, at, 1, "waiting", "50 % of communication time is waiting for late ranks");
	assert_finding(2, at, 1, "transfers", NULL);
	assert_finding(2, below, 1, "waiting", NULL);
	assert_finding(2, below, 1, "transfers", "50 % of communication time is transfer");
}

/* So many ranks, from 0 on, each in turn 200 us late in what takes 250. */
static void assert_in_turn(size_t ranks, size_t late, const char *stragglers)
{
	struct meeting meetings[MEETING_RANKS];
	size_t i, r;

	for (i = 0; i < late; i++) {
		meetings[i] = (struct meeting){ .end = 1000 * (double)i + 250 };
		for (r = 0; r < ranks; r++)
			meetings[i].starts[r] = 1000 * (double)i + (r == i ? 200 : 0);
	}
	assert_finding(ranks, meetings, late, "straggler", stragglers);
	assert_finding(ranks, meetings, late, "no straggler", stragglers ? NULL : "spread over");
}

/*
 * Of n ranks k are stragglers that cause (1 + k / n) / 2.  Two of seven or eight in turn: one causes a
 * half of it, which is less than 4/7 and 9/16, both all; but of seven a quarter is one.
 */
static void a_quarter_of_the_ranks(void **state)
{
	EDGE_OF(TW_LIMIT_STRAGGLERS_SHARE);
	assert_in_turn(8, 2, "0, 1");
	assert_in_turn(7, 2, NULL);
	/* Of three a quarter is none, but one may always be. */
	assert_in_turn(3, 1, "0");
}

/*
 * Of 20 ranks a quarter is five.  Of six in turn three cause 1/2, less than 23/40, four 2/3, more than
 * 24/40; of seven four cause 4/7, less than that, and five are too many.
 */
static void four_at_most(void **state)
{
	EDGE_OF(TW_LIMIT_STRAGGLERS_MOST);
	assert_in_turn(20, 6, "0, 1, 2, 3");
	assert_in_turn(20, 7, NULL);
}

/* Rank 1 is late by 995 us in the one and by 5 in the other. */
static void nearly_all(void **state)
{
	const struct meeting at[] = {
		{ .starts = { 0, 995 }, 1000 },
		{ .starts = { 2000, 2005 }, 2100, .name = "allgather" },
	};
	const struct meeting below[] = {
		{ .starts = { 0, 994.999 }, 1000 },
		{ .starts = { 2000, 2005.001 }, 2100, .name = "allgather" },
	};
	struct looked_across made = { 0 };
	struct trawl_table *verdict;
	char text[400];
	size_t i;

	EDGE_OF(TW_LIMIT_NEARLY_ALL_PERCENT);
	for (i = 0; i < 2; i++) {
		make_job(&made.job, 2);
		add_meetings(&made.job, i ? below : at, 2);
		verdict = table_of(&tw_ranks_table_verdict, &made);
		look_up(verdict, "straggler", "text", text);
		assert_int_equal(!strstr(text, "of all wait, in allreduce 4 MB"), i);
		assert_int_equal(!strstr(text, " % of it in allreduce 4 MB"), !i);
		trawl_table_free(verdict);
		release_looked_across(&made);
	}
}

/* Four parts of a million in the mean, the largest a quarter more. */
static void uneven_exchanges(void **state)
{
	static const int parts[][4] = { { 1000000, 1250000, 750000, 1000000 },
					{ 1000000, 1249999, 750001, 1000000 } };
	struct looked_across made = { 0 };
	struct trawl_table *verdict;
	char text[400];
	size_t i, r;

	EDGE_OF(TW_LIMIT_UNEVEN_TIMES);
	for (i = 0; i < 2; i++) {
		make_job(&made.job, 4);
		for (r = 0; r < 4; r++)
			add_call(&made.job, r,
				 &(struct call){ 0, 10, "all_to_allv", .group = "0",
						 .list = "[0, 1, 2, 3]", .dtype = "Byte",
						 .in = 1000000, .out = parts[i][r], .group_size = 4,
						 .sequence = 1 });
		verdict = table_of(&tw_ranks_table_verdict, &made);
		look_up(verdict, "imbalance", "ranks", text);
		assert_string_equal(text, i ? "" : "1");
		trawl_table_free(verdict);
		release_looked_across(&made);
	}
}

/* ---- ranks that stand out */

/* Five ranks of a total of 100000 ns; of the first four computing and idling take 1000 each. */
static struct trawl_table *of_five(const struct tw_ranks_table *self, int64_t compute_ns,
				   int64_t idle_ns, int64_t total_ns)
{
	const struct meeting meeting = { .starts = { 0, 0, 0, 0, 40 }, 50 };
	struct looked_across made = { 0 };
	struct trawl_table *table;
	size_t r;

	make_job(&made.job, 5);
	add_meetings(&made.job, &meeting, 1);
	for (r = 0; r < 5; r++) {
		struct tw_timeline *t = &made.job.ranks[r].timeline;

		made.job.ranks[r].gpu_events = 1;
		t->compute_ns = r == 4 ? compute_ns : 1000;
		t->idle_ns = r == 4 ? idle_ns : 1000;
		t->total_ns = total_ns;
	}
	table = table_of(self, &made);
	release_looked_across(&made);
	return table;
}

static void assert_reason(int64_t compute_ns, int64_t idle_ns, const char *want)
{
	struct trawl_table *verdict = of_five(&tw_ranks_table_verdict, compute_ns, idle_ns, 10000);
	char text[400];

	look_up(verdict, "reason", "text", text);
	assert_non_null(strstr(text, want));
	trawl_table_free(verdict);
}

static void reasons(void **state)
{
	EDGE_OF(TW_LIMIT_OUTLIER_PERCENT);
	assert_reason(1051, 1000, "longer compute, ");
	assert_reason(1050, 1051, "host-bound");
	assert_reason(1050, 1050, "timing of its work");
}

static void assert_outliers(int64_t compute_ns, int64_t idle_ns, int64_t total_ns, size_t rows)
{
	struct trawl_table *table =
		of_five(&tw_ranks_table_rank_outliers, compute_ns, idle_ns, total_ns);

	assert_int_equal(trawl_table_rows(table), rows);
	trawl_table_free(table);
}

static void outliers(void **state)
{
	EDGE_OF(TW_LIMIT_OUTLIER_PERCENT);
	EDGE_OF(TW_LIMIT_OUTLIER_OF_TOTAL_PERCENT);
	assert_outliers(1050, 1050, 1000, 0);
	assert_outliers(1051, 1050, 1000, 1);
	assert_outliers(1051, 1051, 1000, 2);
	/* 100 ns are 1 % of the total. */
	assert_outliers(1100, 1000, 10000, 0);
	assert_outliers(1101, 1000, 10000, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_that_matter),
		cmocka_unit_test(passing_on_that_matters),
		cmocka_unit_test(share_of_the_straggler),
		cmocka_unit_test(percentages_from_10_on_are_whole),
		cmocka_unit_test(half_is_most),
		cmocka_unit_test(a_quarter_of_the_ranks),
		cmocka_unit_test(four_at_most),
		cmocka_unit_test(nearly_all),
		cmocka_unit_test(uneven_exchanges),
		cmocka_unit_test(reasons),
		cmocka_unit_test(outliers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
