/* Two sides compared: medians and spreads, verdicts at their edges, configurations, the gate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "study/compare/per_rank.h"
#include "study/compare/answer.h"
#include "study/compare/comparison.h"
#include "edges.h"
#include "failing.h"
#include "typed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct trawl_error err;

#define SPREAD(...)                              \
	tw_spread_of((int64_t[]){ __VA_ARGS__ }, \
		     sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

static void medians_and_deviations(void **state)
{
	struct tw_spread s = SPREAD(7);

	assert_int_equal(s.median2, 14);
	assert_int_equal(s.mad4, -1);
	/* The middle of 3 and 8 is 5.5, both 2.5 away. */
	s = SPREAD(8, 3);
	assert_int_equal(s.median2, 11);
	assert_int_equal(s.mad4, 10);
	/* Away from 10: 0, 1, 2, 3, 990; in the middle 2. */
	s = SPREAD(1000, 10, 11, 8, 13);
	assert_int_equal(s.median2, 22);
	/* Away from 11: 989, 1, 0, 3, 2; in the middle 2. */
	assert_int_equal(s.mad4, 8);
	s = SPREAD(5, 5, 5, 5);
	assert_int_equal(s.mad4, 0);
	s = tw_spread_of(NULL, 0);
	assert_int_equal(s.count, 0);
	assert_int_equal(s.mad4, -1);
	s = SPREAD(TW_LONGEST_COMPARED_NS, TW_LONGEST_COMPARED_NS);
	assert_true(s.median2 == 2 * TW_LONGEST_COMPARED_NS);
}

static struct tw_judgement judge(struct tw_spread a, struct tw_spread b, int64_t total)
{
	return tw_judge(&a, &b, total < 0 ? -1 : total * 2);
}

static void one_percent_is_the_edge(void **state)
{
	struct tw_judgement j = judge(SPREAD(100000), SPREAD(100999), -1);

	EDGE_OF(TW_LIMIT_SAME_BELOW_PERCENT);
	assert_int_equal(j.verdict, TW_SAME);
	assert_int_equal(j.why, TW_WHY_SMALL);
	j = judge(SPREAD(100000), SPREAD(101000), -1);
	assert_int_equal(j.verdict, TW_WORSE);
	assert_int_equal(j.why, TW_WHY_NO_NOISE);
	assert_int_equal(judge(SPREAD(100000), SPREAD(99001), -1).verdict, TW_SAME);
	assert_int_equal(judge(SPREAD(100000), SPREAD(99000), -1).verdict, TW_BETTER);
	j = judge(SPREAD(100000), SPREAD(100000), -1);
	assert_int_equal(j.verdict, TW_SAME);
	assert_int_equal(j.why, TW_WHY_EQUAL);
}

static void so_is_a_thousandth_of_the_total(void **state)
{
	EDGE_OF(TW_LIMIT_SAME_BELOW_TOTAL_PERMILLE);
	assert_int_equal(judge(SPREAD(1000), SPREAD(1500), 500001).why, TW_WHY_SMALL_OF_TOTAL);
	assert_int_equal(judge(SPREAD(1000), SPREAD(1500), 500000).verdict, TW_WORSE);
	assert_int_equal(judge(SPREAD(0), SPREAD(499), 500000).verdict, TW_SAME);
	assert_int_equal(judge(SPREAD(0), SPREAD(500), 500000).verdict, TW_WORSE);
}

/* Deviations of 10000 make a noise of 14826. */
static void and_the_noise_of_the_ranks(void **state)
{
	const struct tw_spread wide = SPREAD(90000, 100000, 110000);
	struct tw_judgement j;

	assert_int_equal(wide.mad4, 40000);
	j = judge(wide, SPREAD(114826, 114826, 114826), -1);
	assert_int_equal(j.why, TW_WHY_NOISE);
	assert_int_equal(j.noise4, 40000);
	j = judge(wide, SPREAD(114827, 114827, 114827), -1);
	assert_int_equal(j.verdict, TW_WORSE);
	assert_int_equal(j.why, TW_WHY_OVER_NOISE);
	assert_int_equal(judge(wide, SPREAD(85174), -1).verdict, TW_SAME);
	assert_int_equal(judge(wide, SPREAD(85173), -1).verdict, TW_BETTER);
	/* The larger of the two counts, whichever side it is of. */
	assert_int_equal(judge(SPREAD(114826, 114826), wide, -1).why, TW_WHY_NOISE);
}

static void what_one_side_lacks_is_new_or_gone(void **state)
{
	const struct tw_spread none = { .mad4 = -1 };

	assert_int_equal(judge(none, SPREAD(5), -1).verdict, TW_NEW);
	assert_int_equal(judge(SPREAD(5), none, -1).verdict, TW_GONE);
}

static void ratios_have_the_same_edges(void **state)
{
	const double times[2] = { 100, 150 };

	assert_int_equal(tw_judge_ratio(1, NAN, times, 100).why, TW_WHY_EQUAL);
	assert_int_equal(tw_judge_ratio(1.00999, NAN, times, 100).why, TW_WHY_SMALL);
	assert_int_equal(tw_judge_ratio(1.01001, NAN, times, 100).verdict, TW_WORSE);
	assert_int_equal(tw_judge_ratio(1.02, 0.03, times, 100).why, TW_WHY_NOISE);
	assert_int_equal(tw_judge_ratio(1.5, 0.03, times, 100).verdict, TW_WORSE);
	assert_int_equal(tw_judge_ratio(1.5, 0.03, times, 50001).why, TW_WHY_SMALL_OF_TOTAL);
	assert_int_equal(tw_judge_ratio(1.5, 0.03, times, 49999).verdict, TW_WORSE);
	assert_int_equal(tw_judge_ratio(0.5, NAN, times, NAN).why, TW_WHY_NO_NOISE);
	assert_int_equal(tw_judge_ratio(0.5, NAN, times, NAN).verdict, TW_BETTER);
}

/* ---- samples */

static void add(struct tw_samples *s, unsigned side, int64_t threads, int64_t rank,
		enum tw_compared_kind kind, const char *name, int64_t ns)
{
	char config[32];
	struct tw_sample_place place = { side, threads, threads < 0 ? -1 : 28, config, rank };

	config[0] = 0;
	if (threads >= 0)
		snprintf(config, sizeof(config), "%dthread_28ch", (int)threads);
	tw_samples_add(s, &place, kind, name, ns, 4);
}

static void add_total(struct tw_samples *s, unsigned side, int64_t threads, int64_t rank,
		      int64_t ns)
{
	add(s, side, threads, rank, TW_TIMELINE_PART, "total_time", ns);
}

static const struct tw_change *named(const struct tw_changes *c, enum tw_compared_kind kind,
				     const char *name)
{
	size_t i;

	for (i = 0; i < c->all[kind].count; i++)
		if (!strcmp(tw_pool_text(&c->samples->texts, c->all[kind].items[i].name, NULL),
			    name))
			return &c->all[kind].items[i];
	return NULL;
}

static void changes_of(struct tw_samples *s, struct tw_changes *c)
{
	assert_int_equal(tw_samples_finish(s, &err), 0);
	assert_int_equal(tw_changes_make(c, s, &err), 0);
}

static void init(struct tw_samples *s)
{
	assert_int_equal(tw_samples_init(s, trawl_allocator_default()), 0);
}

static void release(struct tw_samples *s, struct tw_changes *c)
{
	tw_changes_release(c);
	tw_samples_release(s);
}

static void rows_of_a_kernel_are_added(void **state)
{
	const struct tw_change *k;
	struct tw_samples s;
	struct tw_changes c;

	init(&s);
	add(&s, 0, -1, 0, TW_KERNEL, "k", 1000000);
	add(&s, 0, -1, 0, TW_KERNEL, "k", 2000000);
	add(&s, 1, -1, 0, TW_KERNEL, "k", 1500000);
	add(&s, 0, -1, 0, TW_KERNEL, "old", 10);
	add(&s, 1, -1, 0, TW_KERNEL, "new", 20);
	/* A kind that one side has alone is not compared. */
	add(&s, 1, -1, 0, TW_OPERATION, "op", 20);
	changes_of(&s, &c);
	k = named(&c, TW_KERNEL, "k");
	assert_non_null(k);
	assert_true(k->ns[0] > 2999999 && k->ns[0] < 3000001);
	assert_int_equal(k->calls[0], 8);
	assert_int_equal(k->judged.verdict, TW_BETTER);
	assert_true(fabs(tw_change_faster(k) - 50) < 1e-12);
	assert_int_equal(named(&c, TW_KERNEL, "old")->judged.verdict, TW_GONE);
	assert_int_equal(named(&c, TW_KERNEL, "new")->judged.verdict, TW_NEW);
	assert_int_equal(c.all[TW_OPERATION].count, 0);
	release(&s, &c);
}

/* Rank 7 of the baseline is not there in the test: it says nothing of the difference. */
static void ranks_of_both_sides_count(void **state)
{
	const struct tw_change *t;
	struct tw_samples s;
	struct tw_changes c;

	init(&s);
	add_total(&s, 0, -1, 0, 100);
	add_total(&s, 0, -1, 1, 110);
	add_total(&s, 0, -1, 7, 900);
	add_total(&s, 1, -1, 1, 210);
	add_total(&s, 1, -1, 0, 200);
	changes_of(&s, &c);
	t = tw_changes_part(&c, "total_time");
	assert_int_equal(t->ranks[0], 2);
	assert_true(fabs(t->ns[0] - 105) < 1e-9);
	assert_true(fabs(t->ns[1] - 205) < 1e-9);
	assert_int_equal(t->slower, 2);
	assert_int_equal(t->paired, 2);
	assert_true(fabs(t->noise_ns - 1.4826 * 5) < 1e-9);
	release(&s, &c);
}

static void no_common_rank_leaves_all(void **state)
{
	struct tw_samples s;
	struct tw_changes c;

	init(&s);
	add_total(&s, 0, -1, 0, 100);
	add_total(&s, 0, -1, 1, 300);
	add_total(&s, 1, -1, TW_NO_RANK, 400);
	changes_of(&s, &c);
	assert_true(fabs(tw_changes_part(&c, "total_time")->ns[0] - 200) < 1e-9);
	assert_true(tw_changes_part(&c, "total_time")->unranked);
	release(&s, &c);
}

/* 100 and 200 become 50 and 400: the mean 150 becomes 225, which is also what they are judged by. */
static void configurations_by_their_mean(void **state)
{
	const struct tw_change *t;
	struct tw_samples s;
	struct tw_changes c;

	init(&s);
	add_total(&s, 0, 512, 0, 200);
	add_total(&s, 1, 512, 0, 400);
	add_total(&s, 0, 256, 0, 100);
	add_total(&s, 1, 256, 0, 50);
	add_total(&s, 0, 1024, 0, 7);
	changes_of(&s, &c);
	t = tw_changes_part(&c, "total_time");
	assert_int_equal(c.common, 2);
	assert_true(fabs(t->ns[0] - 150) < 1e-12);
	assert_true(fabs(t->ns[1] - 225) < 1e-12);
	assert_true(fabs(t->ratio - 1.5) < 1e-12);
	assert_true(fabs(tw_change_faster(t) + 50) < 1e-12);
	assert_int_equal(t->judged.verdict, TW_WORSE);
	assert_int_equal(t->paired, 2);
	assert_int_equal(t->better, 1);
	assert_int_equal(t->worse, 1);
	assert_int_equal(t->worst_config, 1);
	assert_int_equal(s.configs[0].threads, 256);
	assert_int_equal(s.configs[2].threads, 1024);
	assert_int_equal(c.best[0], 2);
	assert_int_equal(c.best[1], 0);
	assert_int_equal(c.totals.items[2].judged.verdict, TW_GONE);
	assert_int_equal(c.each[TW_TIMELINE_PART].count, 2);
	release(&s, &c);
}

/* The one with the largest ratio; none where nothing differs anywhere. */
static void the_worst_configuration(void **state)
{
	static const struct {
		int64_t test[2];
		uint32_t worst;
	} cases[] = {
		{ { 100, 200 }, TW_ALL_CONFIGS },
		{ { 50, 150 }, 1 },
		{ { 75, 100 }, 0 },
		{ { 50, 250 }, 1 },
		{ { 100, 100 }, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tw_samples s;
		struct tw_changes c;

		init(&s);
		add_total(&s, 0, 256, 0, 100);
		add_total(&s, 1, 256, 0, cases[i].test[0]);
		add_total(&s, 0, 512, 0, 200);
		add_total(&s, 1, 512, 0, cases[i].test[1]);
		changes_of(&s, &c);
		assert_int_equal(tw_changes_part(&c, "total_time")->worst_config, cases[i].worst);
		assert_int_equal(tw_changes_part(&c, "total_time")->slower,
				 (cases[i].test[0] > 100) + (cases[i].test[1] > 200));
		release(&s, &c);
	}
}

/*
 * Deviations of the ranks: 5 of 105 us, 10 of 210 us; of the third configuration, 1000 us, there is
 * one rank.  Noise is as large a share of the mean of the three: 7.06 %.
 */
static void the_noise_over_configurations(void **state)
{
	static const double apart[] = { 1.07, 1.072 };
	size_t i;

	for (i = 0; i < 2; i++) {
		const struct tw_change *t;
		struct tw_samples s;
		struct tw_changes c;

		init(&s);
		add_total(&s, 0, 256, 0, 100000);
		add_total(&s, 0, 256, 1, 110000);
		add_total(&s, 1, 256, 0, (int64_t)(105000 * apart[i]));
		add_total(&s, 1, 256, 1, (int64_t)(105000 * apart[i]));
		add_total(&s, 0, 512, 0, 200000);
		add_total(&s, 0, 512, 1, 220000);
		add_total(&s, 1, 512, 0, (int64_t)(210000 * apart[i]));
		add_total(&s, 1, 512, 1, (int64_t)(210000 * apart[i]));
		add_total(&s, 0, 1024, 0, 1000000);
		add_total(&s, 1, 1024, 0, (int64_t)(1000000 * apart[i]));
		changes_of(&s, &c);
		t = tw_changes_part(&c, "total_time");
		assert_int_equal(t->configs, 3);
		assert_true(fabs(t->ratio - apart[i]) < 1e-9);
		assert_true(fabs(t->noise_ns - 1.4826 * 15000 / 315000 * (1315000.0 / 3)) < 1e-6);
		assert_int_equal(t->judged.verdict, i ? TW_WORSE : TW_SAME);
		assert_int_equal(t->judged.why, i ? TW_WHY_OVER_NOISE : TW_WHY_NOISE);
		release(&s, &c);
	}
}

/* Twice as long as 1 ns, of which the noise is 1.4826 times the deviation: 1. */
static void the_noise_of_a_nanosecond(void **state)
{
	const struct tw_change *k;
	struct tw_samples s;
	struct tw_changes c;
	int64_t threads;

	init(&s);
	for (threads = 256; threads <= 512; threads *= 2) {
		add(&s, 0, threads, 0, TW_KERNEL, "k", 1);
		add(&s, 0, threads, 1, TW_KERNEL, "k", 1);
		add(&s, 1, threads, 0, TW_KERNEL, "k", 1);
		add(&s, 1, threads, 1, TW_KERNEL, "k", 3);
	}
	changes_of(&s, &c);
	k = named(&c, TW_KERNEL, "k");
	assert_true(fabs(k->ratio - 2) < 1e-9);
	assert_int_equal(k->judged.verdict, TW_SAME);
	assert_int_equal(k->judged.why, TW_WHY_NOISE);
	release(&s, &c);
}

static void the_largest_difference_is_first(void **state)
{
	static const char *const names[] = { "by 50",  "by 20", "gone 11",
					     "new 11", "by 10", "by 10, too" };
	struct tw_samples s;
	struct tw_changes c;
	size_t i;

	init(&s);
	add(&s, 0, -1, 0, TW_KERNEL, "by 10, too", 1);
	add(&s, 1, -1, 0, TW_KERNEL, "by 10, too", 11);
	add(&s, 0, -1, 0, TW_KERNEL, "by 10", 1000);
	add(&s, 1, -1, 0, TW_KERNEL, "by 10", 1010);
	add(&s, 0, -1, 0, TW_KERNEL, "by 50", 100);
	add(&s, 1, -1, 0, TW_KERNEL, "by 50", 150);
	add(&s, 0, -1, 0, TW_KERNEL, "by 20", 500);
	add(&s, 1, -1, 0, TW_KERNEL, "by 20", 480);
	/* What one side lacks takes no time there. */
	add(&s, 0, -1, 0, TW_KERNEL, "gone 11", 11);
	add(&s, 1, -1, 0, TW_KERNEL, "new 11", 11);
	changes_of(&s, &c);
	assert_int_equal(c.all[TW_KERNEL].count, 6);
	for (i = 0; i < 6; i++)
		assert_string_equal(tw_pool_text(&s.texts, c.all[TW_KERNEL].items[i].name, NULL),
				    names[i]);
	release(&s, &c);
}

static void lone_configurations_are_compared(void **state)
{
	struct tw_samples s;
	struct tw_changes c;

	init(&s);
	add_total(&s, 1, 512, 0, 200);
	add_total(&s, 0, 256, 0, 100);
	changes_of(&s, &c);
	assert_int_equal(s.config_count, 1);
	assert_string_equal(s.configs[0].name, "256thread_28ch");
	assert_string_equal(s.configs[0].test_name, "512thread_28ch");
	assert_int_equal(c.common, 1);
	assert_int_equal(tw_changes_part(&c, "total_time")->judged.verdict, TW_WORSE);
	release(&s, &c);
}

static void idle_time_follows_the_total(void **state)
{
	const char *const idle = "idle_time";
	struct tw_samples s;
	struct tw_changes c;
	int total;

	for (total = 0; total < 3; total++) {
		static const int64_t totals[] = { 1000, 1200, 700 };
		static const enum tw_verdict want[] = { TW_SAME, TW_WORSE, TW_SAME };

		init(&s);
		add_total(&s, 0, -1, 0, 1000);
		add_total(&s, 1, -1, 0, totals[total]);
		add(&s, 0, -1, 0, TW_TIMELINE_PART, idle, 100);
		add(&s, 1, -1, 0, TW_TIMELINE_PART, idle, 400);
		changes_of(&s, &c);
		assert_int_equal(tw_changes_part(&c, idle)->judged.verdict, want[total]);
		release(&s, &c);
	}
}

/* Of a window of 1 ms a thousandth counts, whatever the total time of the whole is. */
static void stages_are_of_their_window(void **state)
{
	const struct tw_sample_place place = { 0, -1, -1, "", 0 };
	struct tw_samples s;
	struct tw_changes c;
	struct tw_str why;
	int64_t more;

	for (more = 999; more <= 1000; more++) {
		init(&s);
		add_total(&s, 0, -1, 0, 1000000000000);
		add_total(&s, 1, -1, 0, 1000000000000);
		tw_samples_note_window(&s, &place, 1000000);
		tw_samples_note_window(&s, &place, 900000);
		add(&s, 0, -1, 0, TW_STAGE, "stage1_f", 1000);
		add(&s, 1, -1, 0, TW_STAGE, "stage1_f", 1000 + more);
		add(&s, 0, -1, 0, TW_STAGE_COMM, "stage1_f", 4000);
		add(&s, 1, -1, 0, TW_STAGE_COMM, "stage1_f", 1500);
		changes_of(&s, &c);
		assert_int_equal(c.all[TW_STAGE].items[0].judged.verdict,
				 more == 999 ? TW_SAME : TW_WORSE);
		tw_str_init(&why, trawl_allocator_default());
		tw_change_why(&c.all[TW_STAGE].items[0], &why);
		assert_int_equal(!strcmp(why.ptr, "below 0.1 % of the window"), more == 999);
		tw_str_release(&why);
		assert_true(fabs(tw_stage_overlap(&c, &c.all[TW_STAGE].items[0], 0) - 75) < 1e-9);
		/* Of different medians more is exposed than there is: nothing is overlapped. */
		assert_true(tw_stage_overlap(&c, &c.all[TW_STAGE].items[0], 1) <= 0);
		release(&s, &c);
	}
}

/* As many as were matched: what one takes is what is compared. */
static void collectives_by_call(void **state)
{
	struct tw_sample_place place = { 0, -1, -1, "", TW_NO_RANK };
	const struct tw_change *k;
	struct tw_samples s;
	struct tw_changes c;

	init(&s);
	tw_samples_add(&s, &place, TW_COLLECTIVE_SYNC,
		       "allreduce\x1f"
		       "Float\x1f"
		       "4",
		       9000, 9);
	place.side = 1;
	tw_samples_add(&s, &place, TW_COLLECTIVE_SYNC,
		       "allreduce\x1f"
		       "Float\x1f"
		       "4",
		       12000, 12);
	changes_of(&s, &c);
	k = &c.all[TW_COLLECTIVE_SYNC].items[0];
	assert_true(k->by_call);
	assert_int_equal(k->judged.verdict, TW_SAME);
	/* The percentage is of the times beside it. */
	assert_true(fabs(tw_change_faster(k) + 100 / 3.0) < 1e-12);
	release(&s, &c);
}

/*
 * Per call 1000 becomes 1500 ns in one configuration, 3000 becomes 2500 in the other: the mean stays
 * 2000, although there are more calls.
 */
static void collectives_by_call_over_configurations(void **state)
{
	static const int64_t calls[2][2] = { { 10, 12 }, { 10, 12 } };
	static const int64_t ns[2][2] = { { 10000, 18000 }, { 30000, 30000 } };
	const struct tw_change *k;
	struct tw_samples s;
	struct tw_changes c;
	size_t i, side;

	init(&s);
	for (i = 0; i < 2; i++)
		for (side = 0; side < 2; side++) {
			const struct tw_sample_place place = { side, 256 << i, 28, "", TW_NO_RANK };

			tw_samples_add(&s, &place, TW_COLLECTIVE_SYNC, "allreduce", ns[i][side],
				       calls[i][side]);
		}
	changes_of(&s, &c);
	k = &c.all[TW_COLLECTIVE_SYNC].items[0];
	assert_true(k->by_call);
	assert_true(fabs(k->call_ns[0] - 2000) < 1e-9 && fabs(k->call_ns[1] - 2000) < 1e-9);
	assert_true(fabs(k->ratio - 1) < 1e-12);
	assert_int_equal(k->judged.verdict, TW_SAME);
	assert_true(fabs(tw_change_faster(k) + 20) < 1e-12);
	release(&s, &c);
}

/* A collective whose type is not told. */
static void what_is_not_told_of_a_collective_is_missing(void **state)
{
	const struct tw_compared_side sides[2] = { { "a", "ranks", "a", 1, "0" },
						   { "b", "ranks", "b", 1, "0" } };
	const struct tw_sample_place places[2] = { { 0, -1, -1, "", 0 }, { 1, -1, -1, "", 0 } };
	struct trawl_table *tables[TW_COMPARE_TABLES];
	const struct trawl_table *collectives;
	struct tw_samples s;
	struct tw_changes c;
	size_t i;

	init(&s);
	for (i = 0; i < 2; i++)
		tw_samples_add(&s, &places[i], TW_COLLECTIVE_SYNC,
			       "allreduce\x1f\x1f"
			       "4",
			       9000, 9);
	changes_of(&s, &c);
	assert_int_equal(tw_compare_tables(&c, sides, tables, &err), 0);
	collectives = tables[TW_COLLECTIVE_CHANGES];
	assert_true(tw_table_text_is(collectives, 0, 0, "allreduce"));
	assert_int_equal(trawl_table_cell(collectives, 0, 1).state, TRAWL_CELL_MISSING);
	assert_true(tw_table_text_is(collectives, 0, 2, "4"));
	for (i = 0; i < TW_COMPARE_TABLES; i++)
		trawl_table_free(tables[i]);
	release(&s, &c);
}

/* ---- steps */

static void add_calls(struct tw_samples *s, unsigned side, int64_t threads, const char *name,
		      int64_t calls)
{
	const struct tw_sample_place place = { side, threads, 28, threads < 500 ? "a" : "b", 0 };

	tw_samples_add(s, &place, TW_KERNEL, name, 1000, calls);
}

/* Three kernels, each so often: in hundreds, so that factors are exact; three are new. */
static void sides_with_other_steps(void **state)
{
	static const struct {
		int64_t calls[3];
		int64_t steps[2]; /* 0: not told */
		double want;	  /* 0: none */
	} cases[] = {
		{ { 200, 200, 200 }, { 0, 0 }, 2 },   { { 50, 50, 100 }, { 0, 0 }, 0.5 },
		{ { 120, 120, 100 }, { 0, 0 }, 1.2 }, { { 119, 119, 119 }, { 0, 0 }, 0 },
		{ { 200, 210, 191 }, { 0, 0 }, 2 },   { { 200, 300, 400 }, { 0, 0 }, 0 },
		{ { 200, 200, 200 }, { 4, 4 }, 0 },   { { 100, 100, 100 }, { 4, 6 }, 1.5 },
		{ { 200, 200, 200 }, { 0, 6 }, 2 },   { { 150, 200, 209 }, { 0, 0 }, 2 },
		{ { 150, 200, 211 }, { 0, 0 }, 0 },   { { 83, 83, 83 }, { 0, 0 }, 0.83 },
		{ { 84, 84, 84 }, { 0, 0 }, 0 },
	};
	static const char *const names[] = { "x", "y", "z" }, *const more[] = { "u", "v", "w" };
	struct tw_samples s;
	struct tw_changes c;
	size_t i, k, side;

	EDGE_OF(TW_LIMIT_UNEVEN_CALLS_PERCENT);
	EDGE_OF(TW_LIMIT_UNEVEN_SAME_PERCENT);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		init(&s);
		for (k = 0; k < 3; k++) {
			add_calls(&s, 0, 256, names[k], 100);
			add_calls(&s, 1, 512, names[k], cases[i].calls[k]);
			add_calls(&s, 1, 512, more[k], 300);
		}
		for (side = 0; side < 2; side++) {
			const struct tw_sample_place place = { side, side ? 512 : 256, 28, "", 0 };

			if (cases[i].steps[side])
				tw_samples_note_steps(&s, &place, 7, 6 + cases[i].steps[side]);
		}
		changes_of(&s, &c);
		assert_int_equal(c.uneven.count, cases[i].want > 0);
		assert_true(cases[i].want > 0 ? fabs(c.uneven.ratios[0] - cases[i].want) < 1e-12 :
						isnan(c.uneven.ratios[0]));
		release(&s, &c);
	}
}

/* Of two configurations the second; the third is on one side alone. */
static void steps_of_configurations(void **state)
{
	static const char *const labels[2] = { "left", "right" };
	struct tw_samples s;
	struct tw_changes c;
	struct tw_str line;
	int64_t threads;

	init(&s);
	tw_str_init(&line, trawl_allocator_default());
	for (threads = 256; threads <= 512; threads += 256) {
		add_calls(&s, 0, threads, "x", 10);
		add_calls(&s, 0, threads, "y", 20);
		add_calls(&s, 1, threads, "x", threads == 512 ? 5 : 10);
		add_calls(&s, 1, threads, "y", threads == 512 ? 10 : 20);
	}
	add_calls(&s, 1, 1024, "x", 500);
	changes_of(&s, &c);
	assert_int_equal(c.uneven.count, 1);
	assert_true(isnan(c.uneven.ratios[0]) && isnan(c.uneven.ratios[2]));
	assert_true(tw_compare_uneven(&c, labels, &line));
	assert_non_null(strstr(line.ptr, "common operators and kernels 0.50 times as often "
					 "(b). Times"));
	tw_str_release(&line);
	release(&s, &c);
}

/* One kernel that runs twice as often is no number of steps, two are. */
static void one_kernel_tells_no_steps(void **state)
{
	static const char *const labels[2] = { "left", "right" };
	struct tw_samples s;
	struct tw_changes c;
	struct tw_str line;

	EDGE_OF(TW_LIMIT_UNEVEN_LEAST);
	init(&s);
	tw_str_init(&line, trawl_allocator_default());
	add_calls(&s, 0, 256, "x", 10);
	add_calls(&s, 1, 256, "x", 20);
	changes_of(&s, &c);
	assert_false(tw_compare_uneven(&c, labels, &line));
	assert_int_equal(line.len, 0);
	release(&s, &c);
	init(&s);
	add_calls(&s, 0, 256, "x", 10);
	add_calls(&s, 1, 256, "x", 20);
	add_calls(&s, 0, 256, "y", 10);
	add_calls(&s, 1, 256, "y", 20);
	changes_of(&s, &c);
	assert_true(tw_compare_uneven(&c, labels, &line));
	tw_str_release(&line);
	release(&s, &c);
}

/* ---- damaged ranks */

static void note_damage(struct tw_samples *s, unsigned side, int64_t threads, int64_t rank)
{
	const struct tw_sample_place place = { side, threads, 28, "", rank };

	tw_samples_note_damage(s, &place);
}

/* Of 300, 300 and what is left of a third; where all of a side are damaged, all count. */
static void damaged_ranks_do_not_count(void **state)
{
	struct tw_samples s;
	struct tw_changes c;
	int64_t rank;

	init(&s);
	for (rank = 0; rank < 3; rank++) {
		add_total(&s, 0, 512, rank, 300);
		add_total(&s, 1, 512, rank, rank == 1 ? 20 : 310);
		add_total(&s, 0, 256, rank, 300);
		add_total(&s, 1, 256, rank, 100 + rank);
		note_damage(&s, 1, 256, 2 - rank);
	}
	note_damage(&s, 1, 512, 1);
	note_damage(&s, 1, 512, 1);
	note_damage(&s, 0, 512, TW_NO_RANK);
	changes_of(&s, &c);
	assert_int_equal(c.totals.items[0].ranks[1], 3);
	assert_true(fabs(c.totals.items[0].ns[1] - 101) < 1e-9);
	assert_int_equal(c.totals.items[1].paired, 2);
	assert_true(fabs(c.totals.items[1].ns[1] - 310) < 1e-9);
	/* Of the first configuration three, of the second the unknown one and rank 1. */
	assert_int_equal(s.damaged_count, 5);
	assert_false(s.damaged[0].left_out || s.damaged[2].left_out || s.damaged[3].left_out);
	assert_int_equal(s.damaged[4].rank, 1);
	assert_true(s.damaged[4].left_out);
	release(&s, &c);
}

/* ---- ranks that stand out */

static void add_computing(struct tw_samples *s, unsigned side, int64_t threads, const int64_t *ns,
			  size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		add(s, side, threads, (int64_t)i, TW_TIMELINE_PART, "computation_time", ns[i]);
}

/*
 * Ratios 1.01, 1, 0.99, 1.02, 1.3: the middle 1.01, away from it 0, 0.01, 0.02, 0.01, 0.29, of which
 * 0.01 is the middle: five spreads are 0.07413.
 */
static void one_rank_that_computes_longer(void **state)
{
	const int64_t first[] = { 1000, 1000, 1000, 1000, 1000 };
	const int64_t second[] = { 1010, 1000, 990, 1020, 1300 };
	const struct tw_rank_change *r;
	struct tw_samples s;
	struct tw_changes c;
	size_t i;

	init(&s);
	add_computing(&s, 0, -1, first, 5);
	add_computing(&s, 1, -1, second, 5);
	changes_of(&s, &c);
	assert_int_equal(c.ranks.count, 5);
	assert_int_equal(c.ranks.odd, 1);
	r = c.ranks.items;
	for (i = 0; i < 5; i++) {
		assert_int_equal(r[i].rank, i);
		assert_int_equal(r[i].more, i == 4);
		assert_false(r[i].less);
	}
	assert_true(fabs(r[4].apart_ns - 290) < 1e-9);
	/* Of 10, 0, -10, 20 the middle; of 0, -10, 20, 300 that for rank 0. */
	assert_true(fabs(r[4].others_ns - 5) < 1e-9);
	assert_true(fabs(r[0].others_ns - 10) < 1e-9);
	release(&s, &c);
}

/* Ratios 1.01, 1, 0.99, 1.02 and that of the last: five spreads are 0.07413 above 1.01. */
static void five_spreads_away(void **state)
{
	const int64_t first[] = { 1000000, 1000000, 1000000, 1000000, 1000000 };
	int64_t second[] = { 1010000, 1000000, 990000, 1020000, 1084129 };
	struct tw_samples s;
	struct tw_changes c;
	size_t odd;

	EDGE_OF(TW_LIMIT_RANK_APART_SPREADS);
	for (odd = 0; odd < 2; odd++) {
		init(&s);
		add_computing(&s, 0, -1, first, 5);
		add_computing(&s, 1, -1, second, 5);
		changes_of(&s, &c);
		assert_int_equal(c.ranks.odd, odd);
		release(&s, &c);
		second[4] = 1084131;
	}
}

/* All a tenth longer, one of them three times as large: nothing is odd.  Then one that is not. */
static void ranks_of_a_pipeline(void **state)
{
	const int64_t first[] = { 1000, 3000, 1000, 1000 }, second[] = { 1100, 3300, 1100, 1100 };
	const int64_t third[] = { 1100, 3300, 1100, 1000 };
	struct tw_samples s;
	struct tw_changes c;

	init(&s);
	add_computing(&s, 0, -1, first, 4);
	add_computing(&s, 1, -1, second, 4);
	changes_of(&s, &c);
	assert_int_equal(c.ranks.odd, 0);
	release(&s, &c);
	init(&s);
	add_computing(&s, 0, -1, first, 4);
	add_computing(&s, 1, -1, third, 4);
	changes_of(&s, &c);
	assert_int_equal(c.ranks.odd, 1);
	assert_true(c.ranks.items[3].less);
	assert_true(fabs(c.ranks.items[3].apart_ns + 100) < 1e-9);
	release(&s, &c);
}

/* Of two ranks neither is the odd one; 5 % is the edge, and so is 1 % of the total. */
static void what_is_not_odd(void **state)
{
	const int64_t first[] = { 1000, 1000, 1000 };
	static const struct {
		int64_t last, total;
		size_t ranks, odd;
	} cases[] = {
		{ 2000, 2000, 2, 0 }, { 1050, 2000, 3, 0 }, { 1051, 2000, 3, 1 },
		{ 1060, 6001, 3, 0 }, { 1060, 6000, 3, 1 },
	};
	struct tw_samples s;
	struct tw_changes c;
	size_t i, k;

	EDGE_OF(TW_LIMIT_RANK_APART_PERCENT);
	EDGE_OF(TW_LIMIT_RANK_APART_TOTAL_PERCENT);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t second[] = { 1000, 1000, 1000 };

		second[cases[i].ranks - 1] = cases[i].last;
		init(&s);
		add_computing(&s, 0, 256, first, cases[i].ranks);
		add_computing(&s, 1, 256, second, cases[i].ranks);
		for (k = 0; k < cases[i].ranks; k++) {
			add_total(&s, 0, 256, (int64_t)k, cases[i].total);
			add_total(&s, 1, 256, (int64_t)k, cases[i].total);
		}
		changes_of(&s, &c);
		assert_int_equal(c.ranks.odd, cases[i].odd);
		release(&s, &c);
	}
}

/* ---- sheets */

static void cells_that_are_no_times_do_not_count(void **state)
{
	const struct trawl_table *sheet =
		typed("type,time ms\ntotal_time,1.5\nbusy_time,-1\nx,nan\ny,1e99\nz,\n");
	struct tw_sample_place place = { 0, -1, -1, "", 0 };
	struct tw_samples s;
	struct tw_str lacks;

	init(&s);
	tw_str_init(&lacks, trawl_allocator_default());
	assert_true(tw_samples_add_sheet(&s, &place, TW_TIMELINE_PART, sheet, &lacks));
	assert_int_equal(s.count, 1);
	assert_int_equal(s.items[0].ns, 1500000);
	assert_false(tw_samples_add_sheet(&s, &place, TW_OPERATION, sheet, &lacks));
	assert_string_equal(lacks.ptr, "ops_summary has no column 'name'");
	tw_str_release(&lacks);
	tw_samples_release(&s);
	free_typed();
}

/* Ranges that are operators are among the operators already. */
static void ranges_of_operators_do_not_count(void **state)
{
	struct tw_sample_place place = { 0, -1, -1, "", 0 };
	struct tw_samples s;

	init(&s);
	assert_true(tw_samples_add_sheet(&s, &place, TW_RANGE,
					 typed("range,domain,kind,GPU time (ms),instances\n"
					       "aten::mm,d,operation,1,3\nlayer,d,range,2,3\n"),
					 NULL));
	assert_int_equal(s.count, 1);
	assert_int_equal(s.items[0].ns, 2000000);
	tw_samples_release(&s);
	free_typed();
}

static void the_longest_time_counts(void **state)
{
	assert_int_equal(tw_compared_ns(9e9, 1e6), TW_LONGEST_COMPARED_NS);
	assert_int_equal(tw_compared_ns(9000000000.001, 1e6), -1);
	assert_int_equal(tw_compared_ns(0, 1e6), 0);
	assert_int_equal(tw_compared_ns(-1e-9, 1e6), -1);
	assert_int_equal(tw_compared_ns(NAN, 1e6), -1);
}

static void both_letters_for_micro_are_read(void **state)
{
	static const char *const texts[] = { "Kernel duration (\u00b5s)_sum,Kernel name\n2.5,k\n",
					     "Kernel duration (\u03bcs)_sum,Kernel name\n2.5,k\n" };
	size_t i;

	for (i = 0; i < 2; i++) {
		struct tw_sample_place place = { 0, -1, -1, "", 0 };
		struct tw_samples s;

		init(&s);
		assert_true(tw_samples_add_sheet(&s, &place, TW_KERNEL, typed(texts[i]), NULL));
		assert_int_equal(s.items[0].ns, 2500);
		assert_int_equal(s.items[0].calls, TW_NO_CALLS);
		tw_samples_release(&s);
	}
	free_typed();
}

/* ---- the gate */

static void count_line(void *context, const char *line)
{
	assert_non_null(strstr(line, "slower"));
	++*(size_t *)context;
}

static void the_gate_has_its_edges(void **state)
{
	struct tw_samples s;
	struct tw_changes c;
	size_t lines = 0;

	EDGE_OF(TW_LIMIT_GATE_OF_TOTAL_PERCENT);
	init(&s);
	add_total(&s, 0, -1, 0, 100000);
	add_total(&s, 1, -1, 0, 105000);
	/* 1 % of the total, and less than that. */
	add(&s, 0, -1, 0, TW_KERNEL, "large", 1000);
	add(&s, 1, -1, 0, TW_KERNEL, "large", 1100);
	add(&s, 0, -1, 0, TW_KERNEL, "small", 999);
	add(&s, 1, -1, 0, TW_KERNEL, "small", 9999);
	changes_of(&s, &c);
	assert_int_equal(tw_compare_gate(&c, 0, count_line, &lines), 2);
	assert_int_equal(lines, 2);
	assert_int_equal(tw_compare_gate(&c, 4.999, count_line, &lines), 2);
	assert_int_equal(tw_compare_gate(&c, 5, count_line, &lines), 1);
	assert_int_equal(tw_compare_gate(&c, 10, count_line, &lines), 0);
	release(&s, &c);
}

static void keep_line(void *context, const char *line)
{
	tw_str_add_cstr(context, line);
}

/* Elevenfold is 1000 % more, which is told as such; a nanosecond more is told as a factor. */
static void above_a_thousand_per_cent_a_factor_is_told(void **state)
{
	static const struct {
		int64_t test;
		const char *gate, *why;
	} cases[] = {
		{ 1100000, "total_time is 1000 % slower: ", NULL },
		{ 1100001, "total_time takes 11.0 times as long: ", "; 11.0 times the baseline" },
		{ 99990000, "total_time takes 1000 times as long: ", "; 1000 times the baseline" },
		{ 100000000,
		  "total_time takes over 1000 times as long: ", "; over 1000 times the baseline" },
	};
	const struct tw_change *total;
	struct tw_samples s;
	struct tw_changes c;
	struct tw_str line;
	size_t i;

	EDGE_OF(TW_LIMIT_TOLD_PERCENT_MOST);
	EDGE_OF(TW_LIMIT_TOLD_TIMES_MOST);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tw_str_init(&line, trawl_allocator_default());
		init(&s);
		add_total(&s, 0, -1, 0, 100000);
		add_total(&s, 1, -1, 0, cases[i].test);
		changes_of(&s, &c);
		total = tw_changes_part(&c, "total_time");
		assert_int_equal(isnan(tw_change_faster(total)), i > 0);
		assert_int_equal(tw_compare_gate(&c, 0, keep_line, &line), 1);
		if (!strstr(line.ptr, cases[i].gate))
			fail_msg("'%s' in '%s'", cases[i].gate, line.ptr);
		tw_str_clear(&line);
		tw_change_why(total, &line);
		assert_int_equal(strstr(line.ptr, " times the baseline") != NULL, i > 0);
		if (i)
			assert_non_null(strstr(line.ptr, cases[i].why));
		/* The gate knows the percentage all the same. */
		assert_int_equal(tw_compare_gate(&c, 1000, keep_line, &line), i > 0);
		release(&s, &c);
		tw_str_release(&line);
	}
}

/* ---- the answer */

static void a_thousand_times_the_noise_is_told(void **state)
{
	struct tw_change c = { .ranks = { 2, 2 },
			       .calls = { TW_NO_CALLS, TW_NO_CALLS },
			       .judged = { TW_WORSE, TW_WHY_OVER_NOISE, 4 } };
	struct tw_str out;

	EDGE_OF(TW_LIMIT_TOLD_TIMES_MOST);
	tw_str_init(&out, trawl_allocator_default());
	c.noise_ns = 1000;
	c.ns[1] = 999999;
	tw_change_why(&c, &out);
	assert_string_equal(out.ptr, "1000x rank-to-rank noise (0.001000 ms)");
	tw_str_clear(&out);
	c.ns[1] = 1000000;
	tw_change_why(&c, &out);
	assert_string_equal(out.ptr, "far above rank-to-rank noise (0.001000 ms)");
	tw_str_release(&out);
}

/* Whether a line of the answer has such words. */
static bool is_answered(const struct tw_changes *c, const char *words)
{
	static const char *const labels[2] = { "left", "right" };
	struct tw_answer answer;
	bool found = false;
	size_t i;

	tw_compare_answer(c, labels, &answer);
	for (i = 0; i < answer.count; i++)
		found |= !!strstr(answer.lines[i].ptr, words);
	tw_answer_release(&answer);
	return found;
}

/* Three ranks that compute longer are named, the first those that do most; a fourth is counted. */
static void three_ranks_are_named(void **state)
{
	int64_t first[12], second[12];
	struct tw_samples s;
	struct tw_changes c;
	int64_t odd;
	size_t i;

	for (odd = 3; odd <= 4; odd++) {
		for (i = 0; i < 12; i++) {
			first[i] = 1000000;
			second[i] = 1000000 + (int64_t)(i % 3) * 1000 +
				    ((int64_t)i < odd ? 600000 - (int64_t)i * 50000 : 0);
		}
		init(&s);
		add_computing(&s, 0, -1, first, 12);
		add_computing(&s, 1, -1, second, 12);
		for (i = 0; i < 12; i++) {
			add_total(&s, 0, -1, (int64_t)i, 2000000);
			add_total(&s, 1, -1, (int64_t)i, 2600000);
		}
		changes_of(&s, &c);
		assert_int_equal(c.ranks.odd, odd);
		assert_true(is_answered(&c, "Rank 0 computes"));
		assert_true(is_answered(&c, ", rank 1 computes"));
		assert_true(is_answered(&c, ", rank 2 computes"));
		assert_false(is_answered(&c, "rank 3 computes"));
		assert_int_equal(is_answered(&c, " and 1 more"), odd == 4);
		release(&s, &c);
	}
}

static void one_per_cent_more_calls_are_the_same_work(void **state)
{
	struct tw_samples s;
	struct tw_changes c;
	int64_t more;

	EDGE_OF(TW_LIMIT_SAME_WORK_PERCENT);
	for (more = 999; more <= 1001; more += 2) {
		init(&s);
		add_calls(&s, 0, 256, "x", 100000);
		add_calls(&s, 1, 256, "x", 100000 + more);
		changes_of(&s, &c);
		assert_int_equal(is_answered(&c, "The work differs"), more > 1000);
		release(&s, &c);
	}
}

/* 140 letters, of which the 51st is another one: cut to 120 they differ, not to 90. */
static void long_names_are_cut_where_they_differ(void **state)
{
	struct tw_samples s;
	struct tw_changes c;
	char names[2][141], head[52];
	size_t i;

	init(&s);
	for (i = 0; i < 2; i++) {
		memset(names[i], 'x', 140);
		names[i][50] = (char)('1' + i);
		names[i][140] = 0;
		add(&s, 0, -1, 0, TW_KERNEL, names[i], 1000000);
		add(&s, 1, -1, 0, TW_KERNEL, names[i], 2000000);
	}
	snprintf(head, sizeof(head), "%.51s", names[0]);
	changes_of(&s, &c);
	assert_true(is_answered(&c, head));
	assert_false(is_answered(&c, names[0]));
	release(&s, &c);
}

/* Computing takes 100000 more, the total so much more than that. */
static void what_parts_leave_is_told(void **state)
{
	struct tw_samples s;
	struct tw_changes c;
	int64_t left;

	EDGE_OF(TW_LIMIT_REST_PERCENT);
	for (left = 999; left <= 1000; left++) {
		init(&s);
		add_total(&s, 0, -1, 0, 500000);
		add_total(&s, 1, -1, 0, 600000 + left);
		add(&s, 0, -1, 0, TW_TIMELINE_PART, "computation_time", 300000);
		add(&s, 1, -1, 0, TW_TIMELINE_PART, "computation_time", 400000);
		changes_of(&s, &c);
		assert_true(is_answered(&c, "compute +0.1000 ms"));
		assert_int_equal(is_answered(&c, " unattributed"), left >= 1000);
		release(&s, &c);
	}
}

/* Of four ranks: three take 10 longer each, the last 89 or 90, which is three quarters of it. */
static void a_rank_with_three_quarters_is_named(void **state)
{
	const int64_t base[] = { 1000, 1000, 1000, 1000 };
	int64_t last;

	EDGE_OF(TW_LIMIT_SPLIT_RANK_PERCENT);
	for (last = 1089; last <= 1090; last++) {
		const int64_t test[] = { 1010, 1010, 1010, last };
		struct tw_samples s;
		struct tw_changes c;
		size_t i;

		init(&s);
		add_computing(&s, 0, -1, base, 4);
		add_computing(&s, 1, -1, test, 4);
		for (i = 0; i < 4; i++) {
			add_total(&s, 0, -1, (int64_t)i, base[i]);
			add_total(&s, 1, -1, (int64_t)i, test[i]);
		}
		changes_of(&s, &c);
		assert_true(fabs(tw_split_difference(&c.split, TW_SPLIT_COMPUTING) -
				 (double)(last - 970) / 4) < 1e-9);
		assert_int_equal(is_answered(&c, "(rank 3: +0.000023 ms)"), last == 1090);
		release(&s, &c);
	}
}

/*
 * Ranks 0 to 2 of the baseline, 1 to 3 of the test: those of both count.  Idle time may be in two
 * parts on one side, and what is missing is told.
 */
static void the_split_is_of_common_ranks(void **state)
{
	struct tw_samples s;
	struct tw_changes c;
	int64_t rank;

	init(&s);
	for (rank = 0; rank < 4; rank++) {
		if (rank < 3) {
			add_total(&s, 0, -1, rank, 1000 + rank);
			add(&s, 0, -1, rank, TW_TIMELINE_PART, "idle_time", 300);
			add(&s, 0, -1, rank, TW_TIMELINE_PART, "computation_time", 700 + rank);
		}
		if (rank) {
			add_total(&s, 1, -1, rank, 2000);
			add(&s, 1, -1, rank, TW_TIMELINE_PART, "micro_idle_time", 1);
			add(&s, 1, -1, rank, TW_TIMELINE_PART, "macro_idle_time", 599);
		}
	}
	changes_of(&s, &c);
	assert_int_equal(c.split.ranks, 2);
	assert_true(fabs(c.split.total_ns[0] - 1001.5) < 1e-9);
	assert_true(fabs(c.split.total_ns[1] - 2000) < 1e-9);
	assert_true(fabs(tw_split_difference(&c.split, TW_SPLIT_IDLE) - 300) < 1e-9);
	assert_true(fabs(tw_split_difference(&c.split, TW_SPLIT_COMPUTING) + 701.5) < 1e-9);
	assert_true(fabs(tw_split_difference(&c.split, TW_SPLIT_REST) - 1400) < 1e-9);
	release(&s, &c);
}

static void copy_line(void *context, const char *line)
{
	snprintf(context, 200, "%s", line);
}

static void percents_are_as_long_as_they_tell(void **state)
{
	static const struct {
		int64_t base, test;
		const char *words;
	} cases[] = {
		{ 100, 101, " 1.0 % slower" },
		{ 100000, 199949, " 99.9 % slower" },
		{ 100000, 199951, " 100 % slower" },
		{ 1, 11, " 1000 % slower" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char line[200] = "";
		struct tw_samples s;
		struct tw_changes c;

		init(&s);
		add_total(&s, 0, -1, 0, cases[i].base);
		add_total(&s, 1, -1, 0, cases[i].test);
		changes_of(&s, &c);
		assert_int_equal(tw_compare_gate(&c, 0, copy_line, line), 1);
		if (!strstr(line, cases[i].words))
			fail_msg("'%s' in '%s'", cases[i].words, line);
		release(&s, &c);
	}
}

/* ---- single configurations */

static double real_cell(const struct trawl_table *table, size_t row, const char *header)
{
	struct trawl_cell cell = tw_table_cell(table, row, header);

	return cell.state == TRAWL_CELL_VALUE ? cell.real : (double)NAN;
}

/* Two process groups of the baseline are one row: 2 calls of 10 µs and 6 of 30. */
static void all_rows_of_a_collective_are_one(void **state)
{
	const struct trawl_table *const sheets[2] = {
		typed("Collective name,dtype,In msg nelems,comm_latency_mean,bus bw (GB/s)_mean,Total comm latency (ms),count\n"
		      "allreduce,Float,4,10,8,0.02,2\n"
		      "allreduce,Float,4,30,4,0.18,6\n"
		      "broadcast,Float,4,1,1,0.001,1\n"),
		typed("Collective name,dtype,In msg nelems,comm_latency_mean,bus bw (GB/s)_mean,Total comm latency (ms),count\n"
		      "allreduce,Float,4,20,10,0.16,8\n"),
	};
	const struct tw_single_side sides[2] = { { "a", sheets[0], NULL },
						 { "b", sheets[1], NULL } };
	struct trawl_table *tables[TW_SINGLE_TABLES];
	struct tw_samples s;
	struct tw_changes c;
	size_t i;

	init(&s);
	add_total(&s, 0, -1, 3, 2000000);
	add_total(&s, 1, -1, 3, 1000000);
	add(&s, 0, -1, 3, TW_TIMELINE_PART, "exposed_memcpy_time", 1000);
	add(&s, 1, -1, 3, TW_TIMELINE_PART, "exposed_memcpy_time", 1000);
	changes_of(&s, &c);
	assert_int_equal(tw_single_tables(&c, sides, tables, &err), 0);
	/* The longest name is not cut. */
	assert_true(tw_table_text_is(tables[0], 0, 0, "GPU_exposed_memcpy_time"));
	assert_true(trawl_table_column(tables[0], 0)->width >= strlen("GPU_exposed_memcpy_time"));
	assert_int_equal(trawl_table_rows(tables[3]), 2);
	assert_true(tw_table_text_is(tables[3], 1, 0, "broadcast"));
	assert_true(tw_table_text_is(tables[3], 1, 1, "Float"));
	assert_true(tw_table_text_is(tables[3], 1, 2, "4"));
	assert_true(fabs(real_cell(tables[3], 0, "a_comm_latency_mean") - 25) < 1e-9);
	assert_true(fabs(real_cell(tables[3], 0, "percent_change_comm_latency_mean") - 20) < 1e-9);
	assert_true(fabs(real_cell(tables[3], 0, "a_bus bw (GB/s)_mean") - 5) < 1e-9);
	/* More bandwidth is better. */
	assert_true(fabs(real_cell(tables[3], 0, "percent_change_bus bw (GB/s)_mean") - 100) <
		    1e-9);
	assert_true(fabs(real_cell(tables[3], 0, "a_Total comm latency (ms)") - 0.2) < 1e-9);
	assert_true(fabs(real_cell(tables[3], 0, "a_count") - 8) < 1e-9);
	assert_true(isnan(real_cell(tables[3], 0, "percent_change_count")));
	assert_true(isnan(real_cell(tables[3], 1, "b_count")));
	assert_null(tables[4]);
	assert_int_equal(tw_table_cell(tables[2], 0, "rank").integer, 3);
	assert_true(fabs(real_cell(tables[2], 1, "percent_change") - 50) < 1e-9);
	assert_memory_equal(tw_table_cell(tables[2], 1, "status").text, "Better", 6);
	for (i = 0; i < TW_SINGLE_TABLES; i++)
		trawl_table_free(tables[i]);
	release(&s, &c);
	free_typed();
}

static void collectives_need_a_sheet_of_each_side(void **state)
{
#define COLLECTIVES "Collective name,dtype,In msg nelems,comm_latency_mean,count\n"
	const struct trawl_table *sheet = typed(COLLECTIVES "allreduce,Float,4,10,2\n"),
				 *empty = typed(COLLECTIVES);
	const struct {
		const struct trawl_table *sheets[2];
		bool made;
	} cases[] = { { { sheet, NULL }, false }, { { NULL, sheet }, false },
		      { { NULL, NULL }, false },  { { empty, empty }, false },
		      { { sheet, empty }, true }, { { empty, sheet }, true } };
	struct tw_samples s;
	struct tw_changes c;
	size_t i, k;

	init(&s);
	add_total(&s, 0, -1, 3, 2000000);
	add_total(&s, 1, -1, 3, 1000000);
	changes_of(&s, &c);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct tw_single_side sides[2] = { { "a", cases[i].sheets[0], NULL },
							 { "b", cases[i].sheets[1], NULL } };
		struct trawl_table *tables[TW_SINGLE_TABLES];

		assert_int_equal(tw_single_tables(&c, sides, tables, &err), 0);
		assert_int_equal(tables[3] != NULL, cases[i].made);
		if (tables[3])
			assert_int_equal(trawl_table_rows(tables[3]), 1);
		for (k = 0; k < TW_SINGLE_TABLES; k++)
			trawl_table_free(tables[k]);
	}
	release(&s, &c);
	free_typed();
}

/* ---- memory */

/* The same pair twice: rows of both, the baseline once. */
static int stack_all(const struct tw_samples *s, struct trawl_table *const *tables)
{
	struct tw_pair pairs[2] = { { .labels = { "a", "b" } }, { .labels = { "a", "c" } } };
	size_t i, k;
	int status = 0;

	for (i = 0; i < TW_COMPARE_TABLES && !status; i++) {
		struct trawl_table *stacked;
		size_t rows = tables[i] ? trawl_table_rows(tables[i]) : 0;

		for (k = 0; k < 2; k++) {
			pairs[k].samples = *s;
			pairs[k].tables[i] = tables[i];
		}
		stacked = tw_stack_tables(pairs, 2, (enum tw_compare_table)i, &status);
		if (stacked)
			assert_int_equal(trawl_table_rows(stacked),
					 i == TW_COMPARISON_SUMMARY ? 3 : 2 * rows);
		if (stacked && rows && i != TW_COMPARISON_SUMMARY)
			assert_true(tw_table_text_is(stacked, rows, 0, "c"));
		trawl_table_free(stacked);
	}
	return status;
}

static int whole_run(const struct trawl_allocator *a, const struct trawl_table *sheet)
{
	static const char *const labels[2] = { "a", "b" };
	const struct tw_single_side single[2] = { { "a", sheet, NULL }, { "b", sheet, NULL } };
	const struct tw_compared_side sides[2] = { { "a", "ranks", "a", 2, "0-1" },
						   { "b", "ranks", "b", 2, "" } };
	struct trawl_table *tables[TW_COMPARE_TABLES] = { NULL },
			   *more[TW_SINGLE_TABLES] = { NULL };
	struct tw_changes c = { 0 };
	struct tw_answer answer;
	struct tw_samples s;
	size_t i;
	int status = tw_samples_init(&s, a);

	for (i = 0; i < 400 && !status; i++) {
		char name[16];

		snprintf(name, sizeof(name), "k%d", (int)(i % 50));
		add(&s, i & 1, -1, (int64_t)(i / 200), TW_KERNEL, name, (int64_t)(i * i));
		add_total(&s, i & 1, -1, (int64_t)(i / 200), 1000);
		/* The last of its ranks stands out. */
		add(&s, i & 1, -1, (int64_t)(i / 2 % 4), TW_TIMELINE_PART, "computation_time",
		    i % 8 == 7 ? 9 : 1);
	}
	for (i = 0; i < 70 && !status; i++)
		note_damage(&s, 0, -1, (int64_t)(i + 1));
	if (!status)
		status = tw_samples_finish(&s, &err);
	if (!status)
		status = tw_changes_make(&c, &s, &err);
	if (!status)
		status = tw_compare_tables(&c, sides, tables, &err);
	if (!status)
		status = stack_all(&s, tables);
	if (!status)
		status = tw_single_tables(&c, single, more, &err);
	if (!status) {
		tw_compare_answer(&c, labels, &answer);
		for (i = 0; i < answer.count; i++)
			status |= answer.lines[i].failed ? TRAWL_ENOMEM : 0;
		tw_answer_release(&answer);
	}
	for (i = 0; i < TW_COMPARE_TABLES; i++)
		trawl_table_free(tables[i]);
	for (i = 0; i < TW_SINGLE_TABLES; i++)
		trawl_table_free(more[i]);
	tw_changes_release(&c);
	tw_samples_release(&s);
	return status;
}

static void every_failure_of_memory_is_told(void **state)
{
	const struct trawl_table *sheet =
		typed("Collective name,dtype,In msg nelems,count,Total comm latency (ms)\n"
		      "allreduce,Float,4,2,3\n");
	struct failing failing;
	long n;
	int status;

	for (n = 0;; n++) {
		failing_init(&failing, n);
		status = whole_run(&failing.allocator, sheet);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
		assert_int_equal(status, TRAWL_ENOMEM);
	}
	assert_int_equal(status, 0);
	assert_true(n > 20);
	free_typed();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(medians_and_deviations),
		cmocka_unit_test(one_percent_is_the_edge),
		cmocka_unit_test(so_is_a_thousandth_of_the_total),
		cmocka_unit_test(and_the_noise_of_the_ranks),
		cmocka_unit_test(what_one_side_lacks_is_new_or_gone),
		cmocka_unit_test(ratios_have_the_same_edges),
		cmocka_unit_test(rows_of_a_kernel_are_added),
		cmocka_unit_test(ranks_of_both_sides_count),
		cmocka_unit_test(no_common_rank_leaves_all),
		cmocka_unit_test(configurations_by_their_mean),
		cmocka_unit_test(the_worst_configuration),
		cmocka_unit_test(the_noise_over_configurations),
		cmocka_unit_test(the_noise_of_a_nanosecond),
		cmocka_unit_test(the_largest_difference_is_first),
		cmocka_unit_test(lone_configurations_are_compared),
		cmocka_unit_test(idle_time_follows_the_total),
		cmocka_unit_test(stages_are_of_their_window),
		cmocka_unit_test(collectives_by_call),
		cmocka_unit_test(collectives_by_call_over_configurations),
		cmocka_unit_test(what_is_not_told_of_a_collective_is_missing),
		cmocka_unit_test(sides_with_other_steps),
		cmocka_unit_test(steps_of_configurations),
		cmocka_unit_test(one_kernel_tells_no_steps),
		cmocka_unit_test(damaged_ranks_do_not_count),
		cmocka_unit_test(one_rank_that_computes_longer),
		cmocka_unit_test(three_ranks_are_named),
		cmocka_unit_test(five_spreads_away),
		cmocka_unit_test(ranks_of_a_pipeline),
		cmocka_unit_test(what_is_not_odd),
		cmocka_unit_test(cells_that_are_no_times_do_not_count),
		cmocka_unit_test(ranges_of_operators_do_not_count),
		cmocka_unit_test(the_longest_time_counts),
		cmocka_unit_test(both_letters_for_micro_are_read),
		cmocka_unit_test(the_gate_has_its_edges),
		cmocka_unit_test(above_a_thousand_per_cent_a_factor_is_told),
		cmocka_unit_test(a_thousand_times_the_noise_is_told),
		cmocka_unit_test(one_per_cent_more_calls_are_the_same_work),
		cmocka_unit_test(long_names_are_cut_where_they_differ),
		cmocka_unit_test(what_parts_leave_is_told),
		cmocka_unit_test(a_rank_with_three_quarters_is_named),
		cmocka_unit_test(the_split_is_of_common_ranks),
		cmocka_unit_test(percents_are_as_long_as_they_tell),
		cmocka_unit_test(all_rows_of_a_collective_are_one),
		cmocka_unit_test(collectives_need_a_sheet_of_each_side),
		cmocka_unit_test(every_failure_of_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
