/* GPU time of two sides by place: sums over ranks, which names are the same, the picture, in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "edges.h"
#include "failing.h"
#include "study/compare/answer.h"
#include "study/compare/comparison.h"
#include "study/compare/places/align.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct trawl_error err;
static struct tw_pair pair;
#define samples (&pair.samples)
#define changes (&pair.changes)

static void begin(void)
{
	memset(&pair, 0, sizeof(pair));
	assert_int_equal(tw_samples_init(samples, trawl_allocator_default()), 0);
}

static void compare(void)
{
	assert_int_equal(tw_samples_align(samples, &err), 0);
	assert_int_equal(tw_samples_finish(samples, &err), 0);
	assert_int_equal(tw_changes_make(changes, samples, &err), 0);
}

static void end(void)
{
	tw_changes_release(changes);
	tw_samples_release(samples);
}

/* Of a kind that is summed: that the rank has its table too. */
static void add_at(enum tw_compared_kind kind, unsigned side, int64_t threads, int64_t rank,
		   const char *name, int64_t ns)
{
	const struct tw_sample_place at = { side, threads, threads, "", rank };

	tw_samples_add(samples, &at, kind, name, ns, kind == TW_MODULE ? 2 : TW_NO_CALLS);
	tw_samples_add(samples, &at, (enum tw_compared_kind)TW_SUMMED_TABLE,
		       tw_compared_tables[kind]->name, 0, TW_NO_CALLS);
}

static void add(enum tw_compared_kind kind, unsigned side, const char *name, int64_t ns)
{
	add_at(kind, side, -1, 0, name, ns);
}

static const struct tw_change *named(enum tw_compared_kind kind, const char *name)
{
	size_t i;

	for (i = 0; i < changes->all[kind].count; i++)
		if (!strcmp(tw_pool_text(&samples->texts, changes->all[kind].items[i].name, NULL),
			    name))
			return &changes->all[kind].items[i];
	return NULL;
}

static void is(enum tw_compared_kind kind, const char *name, int64_t baseline, int64_t test)
{
	const struct tw_change *c = named(kind, name);

	if (!c)
		fail_msg("no %s", name);
	if ((int64_t)c->ns[0] != baseline || (int64_t)c->ns[1] != test)
		fail_msg("%s: %.0f %.0f", name, c->ns[0], c->ns[1]);
}

static const char *test_name(enum tw_compared_kind kind, const char *name)
{
	uint32_t id = named(kind, name)->name;

	return id < samples->test_name_count && samples->test_names[id] ?
		       tw_pool_text(&samples->texts, samples->test_names[id], NULL) :
		       "";
}

/* ---- sums */

/* Rank 2 is of the baseline alone, rank 3 of the test: what they have does not count. */
static void sums_are_of_common_ranks(void **state)
{
	const struct tw_change *c;

	begin();
	add_at(TW_MODULE, 0, -1, 0, "A", 100);
	add_at(TW_MODULE, 0, -1, 1, "A", 201);
	add_at(TW_MODULE, 0, -1, 2, "A", 1000);
	add_at(TW_MODULE, 0, -1, 2, "C", 1000);
	add_at(TW_MODULE, 1, -1, 0, "A", 150);
	add_at(TW_MODULE, 1, -1, 1, "B", 7);
	add_at(TW_MODULE, 1, -1, 3, "A", 5000);
	compare();
	is(TW_MODULE, "A", 301, 150);
	is(TW_MODULE, "B", 0, 7);
	assert_null(named(TW_MODULE, "C"));
	assert_int_equal((int64_t)changes->sums[TW_MODULE].ns[0], 301);
	assert_int_equal((int64_t)changes->sums[TW_MODULE].ns[1], 157);
	c = named(TW_MODULE, "A");
	assert_int_equal(c->ranks[0], 2);
	assert_int_equal(c->ranks[1], 2);
	assert_int_equal(c->calls[0], 4);
	assert_int_equal(c->calls[1], 2);
	assert_true(fabs(c->call_ns[0] - 301 / 4.0) < 1e-9);
	assert_true(fabs(c->whole_ns - 301) < 1e-9);
	/* 100 and 201 scatter by 50.5 around their middle, 150 and 0 by 75: of two ranks twice that. */
	assert_true(fabs(c->spread_ns[0] - 2 * 1.4826 * 50.5) < 1e-9);
	assert_true(fabs(c->spread_ns[1] - 2 * 1.4826 * 75) < 1e-9);
	assert_true(fabs(c->noise_ns - 2 * 1.4826 * 75) < 1e-9);
	c = named(TW_MODULE, "B");
	assert_int_equal(c->judged.verdict, TW_NEW);
	assert_int_equal(c->judged.why, TW_WHY_ONE_SIDE);
	assert_int_equal(c->ranks[0], 0);
	assert_int_equal(c->calls[0], TW_NO_CALLS);
	end();
}

static void sums_are_of_all_ranks_where_none_is_common(void **state)
{
	begin();
	add_at(TW_PASS, 0, -1, 0, "forward", 10);
	add_at(TW_PASS, 0, -1, 1, "forward", 20);
	add_at(TW_PASS, 1, -1, 2, "forward", 40);
	compare();
	is(TW_PASS, "forward", 30, 40);
	assert_int_equal(named(TW_PASS, "forward")->ranks[0], 2);
	assert_int_equal(named(TW_PASS, "forward")->ranks[1], 1);
	end();
}

/* What is in one side's configurations only, and a table that one side lacks, are no difference. */
static void sums_are_of_common_configurations(void **state)
{
	begin();
	add_at(TW_PASS, 0, 256, 0, "forward", 10);
	add_at(TW_PASS, 1, 256, 0, "forward", 11);
	add_at(TW_PASS, 0, 512, 0, "forward", 100);
	add_at(TW_PASS, 1, 512, 0, "backward", 7);
	add_at(TW_PASS, 1, 1024, 0, "forward", 1000);
	add_at(TW_STEP, 0, 256, 0, "ProfilerStep#1", 10);
	compare();
	is(TW_PASS, "forward", 110, 11);
	is(TW_PASS, "backward", 0, 7);
	assert_int_equal(changes->all[TW_STEP].count, 0);
	assert_int_equal(changes->each[TW_PASS].count, 0);
	end();
}

/* Nothing on both sides is no news, whichever has the row; what begins from nothing is. */
static void verdicts_of_sums(void **state)
{
	begin();
	add(TW_MODULE, 0, "empty", 0);
	add(TW_MODULE, 1, "other", 0);
	add(TW_MODULE, 0, "grown", 0);
	add(TW_MODULE, 1, "grown", 5);
	add(TW_MODULE, 0, "gone", 5);
	add(TW_MODULE, 0, "small", 1000);
	add(TW_MODULE, 1, "small", 1009);
	add(TW_MODULE, 0, "large", 1000);
	add(TW_MODULE, 1, "large", 1010);
	compare();
	assert_int_equal(named(TW_MODULE, "empty")->judged.why, TW_WHY_EQUAL);
	assert_int_equal(named(TW_MODULE, "other")->judged.why, TW_WHY_EQUAL);
	assert_int_equal(named(TW_MODULE, "grown")->judged.verdict, TW_WORSE);
	assert_int_equal(named(TW_MODULE, "gone")->judged.verdict, TW_GONE);
	assert_int_equal(named(TW_MODULE, "small")->judged.why, TW_WHY_SMALL);
	assert_int_equal(named(TW_MODULE, "large")->judged.verdict, TW_WORSE);
	assert_true(isnan(named(TW_MODULE, "large")->noise_ns));
	end();
}

/* 1 of 1000 of the total times of the ranks that count: two of 500 of the baseline. */
static void small_of_the_total_time(void **state)
{
	static const char total[] = "total_time";
	int64_t apart, rank;

	for (apart = 0; apart < 2; apart++) {
		begin();
		for (rank = 0; rank < 2; rank++) {
			add_at(TW_MODULE, 0, -1, rank, "A", 5000);
			add_at(TW_MODULE, 1, -1, rank, "A", 5500 - (apart & rank));
			add_at(TW_TIMELINE_PART, 0, -1, rank, total, 500000);
			add_at(TW_TIMELINE_PART, 1, -1, rank, total, 500000);
		}
		compare();
		assert_int_equal(named(TW_MODULE, "A")->judged.why,
				 apart ? TW_WHY_SMALL_OF_TOTAL : TW_WHY_OVER_NOISE);
		end();
	}
}

/* A rank with lost data does not count where others do. */
static void damaged_ranks_are_left_out(void **state)
{
	const struct tw_sample_place at = { 1, -1, -1, "", 1 };

	begin();
	add_at(TW_PASS, 0, -1, 0, "forward", 10);
	add_at(TW_PASS, 0, -1, 1, "forward", 20);
	add_at(TW_PASS, 1, -1, 0, "forward", 40);
	add_at(TW_PASS, 1, -1, 1, "forward", 80);
	tw_samples_note_damage(samples, &at);
	compare();
	is(TW_PASS, "forward", 10, 40);
	end();
}

/* ---- names */

static void modules_are_matched_by_place(void **state)
{
	begin();
	add(TW_MODULE, 0, "M_0 > Block_2", 1);
	add(TW_MODULE, 0, "M_0 > Block_9 > Linear_1", 2);
	add(TW_MODULE, 0, "M_0 > Block_10", 4);
	add(TW_MODULE, 0, "M_0 > Norm", 8);
	add(TW_MODULE, 0, "(none)", 16);
	/* Their numbers in order, not their texts; 09 is 9. */
	add(TW_MODULE, 1, "M_7 > Block_100", 100);
	add(TW_MODULE, 1, "M_7 > Block_20 > Linear_5", 200);
	add(TW_MODULE, 1, "M_7 > Block_09", 400);
	add(TW_MODULE, 1, "M_7 > Norm", 800);
	add(TW_MODULE, 1, "(none)", 1600);
	add(TW_MODULE_TOTAL, 1, "M_7 > Block_20", 201);
	add(TW_MODULE_TOTAL, 0, "M_0 > Block_9", 3);
	add(TW_MODULE_OPERATION, 0,
	    "M_0 > Block_9 > Linear_1\x1f"
	    "forward\x1f"
	    "mm",
	    5);
	add(TW_MODULE_OPERATION, 1,
	    "M_7 > Block_20 > Linear_5\x1f"
	    "forward\x1f"
	    "mm",
	    6);
	add(TW_MODULE_STACK, 0,
	    "M_0 > Block_2\x1f"
	    "forward\x1f"
	    "mm\x1f"
	    "k_1",
	    7);
	add(TW_MODULE_STACK, 1,
	    "M_7 > Block_09\x1f"
	    "forward\x1f"
	    "mm\x1f"
	    "k_2",
	    8);
	add(TW_MODULE_CLASS, 0, "M > Norm", 9);
	add(TW_MODULE_CLASS, 1, "M > Norm", 10);
	compare();
	is(TW_MODULE, "M_0 > Block_2", 1, 400);
	is(TW_MODULE, "M_0 > Block_9 > Linear_1", 2, 200);
	is(TW_MODULE, "M_0 > Block_10", 4, 100);
	is(TW_MODULE, "M_0 > Norm", 8, 800);
	is(TW_MODULE, "(none)", 16, 1600);
	assert_int_equal(changes->all[TW_MODULE].count, 5);
	is(TW_MODULE_TOTAL, "M_0 > Block_9", 3, 201);
	is(TW_MODULE_OPERATION,
	   "M_0 > Block_9 > Linear_1\x1f"
	   "forward\x1f"
	   "mm",
	   5, 6);
	/* Kernels are what they are called. */
	is(TW_MODULE_STACK,
	   "M_0 > Block_2\x1f"
	   "forward\x1f"
	   "mm\x1f"
	   "k_1",
	   7, 0);
	is(TW_MODULE_STACK,
	   "M_0 > Block_2\x1f"
	   "forward\x1f"
	   "mm\x1f"
	   "k_2",
	   0, 8);
	is(TW_MODULE_CLASS, "M > Norm", 9, 10);
	assert_string_equal(test_name(TW_MODULE, "M_0 > Block_10"), "M_7 > Block_100");
	assert_string_equal(test_name(TW_MODULE, "M_0 > Norm"), "M_7 > Norm");
	assert_string_equal(test_name(TW_MODULE, "(none)"), "");
	end();
}

/* Which is not the same as no module around. */
static void an_outermost_module_without_a_name(void **state)
{
	begin();
	add(TW_MODULE, 0, " > Z_0", 1);
	add(TW_MODULE, 0, "Z_0", 2);
	add(TW_MODULE, 1, " > Z_0", 10);
	add(TW_MODULE, 1, " > Z_1", 40);
	add(TW_MODULE, 1, "Z_7", 20);
	compare();
	/* One more in the one without a name, so that names decide; of the others there is one each. */
	is(TW_MODULE, " > Z_0", 1, 10);
	is(TW_MODULE, " > Z_1", 0, 40);
	is(TW_MODULE, "Z_0", 2, 20);
	assert_int_equal(changes->all[TW_MODULE].count, 3);
	end();
}

/* A block more: names decide, also below what is matched by place. */
static void other_numbers_of_modules_are_matched_by_name(void **state)
{
	begin();
	add(TW_MODULE, 0, "M_0 > Block_1", 1);
	add(TW_MODULE, 0, "M_0 > Block_2", 2);
	add(TW_MODULE, 1, "M_1 > Block_2", 20);
	add(TW_MODULE, 1, "M_1 > Block_3", 30);
	add(TW_MODULE, 1, "M_1 > Block_4", 40);
	/* Of another class in the same place. */
	add(TW_MODULE, 1, "M_1 > Gate_1", 50);
	compare();
	is(TW_MODULE, "M_0 > Block_1", 1, 0);
	is(TW_MODULE, "M_0 > Block_2", 2, 20);
	is(TW_MODULE, "M_0 > Block_3", 0, 30);
	is(TW_MODULE, "M_0 > Block_4", 0, 40);
	is(TW_MODULE, "M_0 > Gate_1", 0, 50);
	assert_string_equal(test_name(TW_MODULE, "M_0 > Block_3"), "M_1 > Block_3");
	end();
}

/* A number is at the end, behind something: what else looks like one is a name. */
static void what_is_no_number_is_a_name(void **state)
{
	static const struct {
		enum tw_compared_kind kind;
		const char *names[2];
	} different[] = {
		{ TW_MODULE, { "_1", "_2" } },
		{ TW_MODULE, { "Block_1x", "Block_2x" } },
		{ TW_MODULE, { "Block1", "Block2" } },
		{ TW_MODULE, { "Block#1", "Block#2" } },
		{ TW_CALL_SITE, { "a.py(1: f", "a.py(2: f" } },
		{ TW_CALL_SITE, { "(1): f", "(2): f" } },
		{ TW_CALL_SITE, { "a.py(): f_1", "a.py(): f_2" } },
		{ TW_STEP, { "#1", "#2" } },
		{ TW_STEP, { "Step#1 a", "Step#2 a" } },
		{ TW_STEP, { "Step_1", "Step_2" } },
	};
	size_t i;

	for (i = 0; i < sizeof(different) / sizeof(different[0]); i++) {
		begin();
		add(different[i].kind, 0, different[i].names[0], 1);
		add(different[i].kind, 1, different[i].names[1], 2);
		compare();
		is(different[i].kind, different[i].names[0], 1, 0);
		is(different[i].kind, different[i].names[1], 0, 2);
		end();
	}
}

/* What has a number and what has none are of one class: that without comes first. */
static void no_number_comes_first(void **state)
{
	begin();
	add(TW_MODULE, 0, "Block_0", 1);
	add(TW_MODULE, 0, "Block", 2);
	add(TW_MODULE, 1, "Block_8", 10);
	add(TW_MODULE, 1, "Block_07", 5);
	compare();
	is(TW_MODULE, "Block", 2, 5);
	is(TW_MODULE, "Block_0", 1, 10);
	end();
}

/* Deeper than modules are, from another's report: the rest of the path is a name. */
static void paths_of_any_depth(void **state)
{
	struct tw_str path[2];
	size_t i, side;

	for (side = 0; side < 2; side++) {
		tw_str_init(&path[side], trawl_allocator_default());
		for (i = 0; i < 20000; i++)
			tw_str_addf(&path[side], "M_%zu > ", i < 50 ? side : i);
		tw_str_add_cstr(&path[side], "end");
	}
	begin();
	add(TW_MODULE, 0, path[0].ptr, 1);
	add(TW_MODULE, 1, path[1].ptr, 2);
	compare();
	is(TW_MODULE, path[0].ptr, 1, 2);
	end();
	for (side = 0; side < 2; side++)
		tw_str_release(&path[side]);
}

/* The same operator that one module gains by and another loses by is two differences. */
static void operators_do_not_cancel_out(void **state)
{
	begin();
	add(TW_MODULE_OPERATION, 0,
	    "A\x1f"
	    "forward\x1f"
	    "mm",
	    1000);
	add(TW_MODULE_OPERATION, 0,
	    "B\x1f"
	    "forward\x1f"
	    "mm",
	    2000);
	add(TW_MODULE_OPERATION, 1,
	    "A\x1f"
	    "forward\x1f"
	    "mm",
	    2000);
	add(TW_MODULE_OPERATION, 1,
	    "B\x1f"
	    "forward\x1f"
	    "mm",
	    1000);
	compare();
	assert_int_equal(named(TW_MODULE_OPERATION, "A\x1f"
						    "forward\x1f"
						    "mm")
				 ->judged.verdict,
			 TW_WORSE);
	assert_int_equal(named(TW_MODULE_OPERATION, "B\x1f"
						    "forward\x1f"
						    "mm")
				 ->judged.verdict,
			 TW_BETTER);
	end();
}

static void call_sites_are_matched_by_lines(void **state)
{
	begin();
	add(TW_CALL_SITE, 0, "a.py(9): run", 1);
	add(TW_CALL_SITE, 0, "a.py(10): run", 2);
	add(TW_CALL_SITE, 0, "a.py(10): other", 4);
	add(TW_CALL_SITE, 0, "b.py(3): one", 8);
	add(TW_CALL_SITE, 0, "b.py(5): one", 16);
	add(TW_CALL_SITE, 0, "no line", 32);
	add(TW_CALL_SITE, 1, "a.py(12): run", 100);
	add(TW_CALL_SITE, 1, "a.py(11): run", 200);
	add(TW_CALL_SITE, 1, "a.py(13): other", 400);
	add(TW_CALL_SITE, 1, "b.py(5): one", 1600);
	add(TW_CALL_SITE, 1, "no line", 3200);
	compare();
	is(TW_CALL_SITE, "a.py(9): run", 1, 200);
	is(TW_CALL_SITE, "a.py(10): run", 2, 100);
	is(TW_CALL_SITE, "a.py(10): other", 4, 400);
	is(TW_CALL_SITE, "b.py(3): one", 8, 0);
	is(TW_CALL_SITE, "b.py(5): one", 16, 1600);
	is(TW_CALL_SITE, "no line", 32, 3200);
	assert_string_equal(test_name(TW_CALL_SITE, "a.py(9): run"), "a.py(11): run");
	assert_string_equal(test_name(TW_CALL_SITE, "b.py(5): one"), "");
	end();
}

static void add_steps(unsigned side, int64_t first, int64_t last)
{
	char name[32];

	for (; first <= last; first++) {
		snprintf(name, sizeof(name), "ProfilerStep#%d", (int)first);
		add(TW_STEP, side, name, first + (side ? 1000 : 0));
	}
	add(TW_STEP, side, "(no launch)", 1);
}

/* One in common is enough for numbers; rows of what is in no step are no steps. */
static void steps_are_matched_by_number_or_order(void **state)
{
	begin();
	add_steps(0, 8, 10);
	add_steps(1, 10, 11);
	compare();
	is(TW_STEP, "ProfilerStep#8", 8, 0);
	is(TW_STEP, "ProfilerStep#10", 10, 1010);
	is(TW_STEP, "ProfilerStep#11", 0, 1011);
	end();
	begin();
	add_steps(0, 8, 10);
	add_steps(1, 11, 14);
	compare();
	is(TW_STEP, "ProfilerStep#8", 8, 1011);
	is(TW_STEP, "ProfilerStep#9", 9, 1012);
	is(TW_STEP, "ProfilerStep#10", 10, 1013);
	is(TW_STEP, "ProfilerStep#14", 0, 1014);
	is(TW_STEP, "(no launch)", 1, 1);
	assert_string_equal(test_name(TW_STEP, "ProfilerStep#10"), "ProfilerStep#13");
	assert_string_equal(test_name(TW_STEP, "ProfilerStep#14"), "");
	end();
}

/* ---- in words */

static bool is_said(const char *what)
{
	static const char *const labels[2] = { "before", "after" };
	struct tw_answer answer;
	bool said = false;
	size_t i;

	tw_compare_answer(changes, labels, &answer);
	for (i = 0; i < answer.count; i++)
		said |= answer.lines[i].len && strstr(answer.lines[i].ptr, what);
	tw_answer_release(&answer);
	return said;
}

/* Of 10000 more 7499 or 7500 are in step 2; of the baseline's 40000 it has a quarter. */
static void a_place_with_most_of_the_difference_is_named(void **state)
{
	int64_t part;

	EDGE_OF(TW_LIMIT_PLACE_PERCENT);
	for (part = 7499; part <= 7500; part++) {
		begin();
		add(TW_STEP, 0, "ProfilerStep#1", 30000);
		add(TW_STEP, 0, "ProfilerStep#2", 10000);
		add(TW_STEP, 1, "ProfilerStep#1", 30000 + 10000 - part);
		add(TW_STEP, 1, "ProfilerStep#2", 10000 + part);
		compare();
		assert_int_equal(is_said("Most of the change in GPU time (+0.0100 ms) is in step "
					 "ProfilerStep#2 (+0.007500 ms)."),
				 part == 7500);
		end();
	}
}

/* Where what grows and shrinks cancels out, what is left is in none of it; steps likewise. */
static void nor_is_what_others_cancel_out(void **state)
{
	static const struct {
		const char *name;
		int64_t ns[2];
	} modules[] = { { "A_0", { 5000, 6000 } },
			{ "B_0", { 2000, 2800 } },
			{ "B_0 > X_0", { 2000, 2800 } },
			{ "C_0", { 4000, 3200 } } };
	size_t i;
	unsigned side;

	begin();
	for (i = 0; i < 4; i++)
		for (side = 0; side < 2; side++) {
			add(TW_MODULE, side, modules[i].name, i == 1 ? 0 : modules[i].ns[side]);
			add(TW_MODULE_TOTAL, side, modules[i].name, modules[i].ns[side]);
		}
	add(TW_STEP, 0, "ProfilerStep#1", 1000);
	add(TW_STEP, 0, "ProfilerStep#2", 1000);
	add(TW_STEP, 1, "ProfilerStep#1", 1500);
	add(TW_STEP, 1, "ProfilerStep#2", 800);
	compare();
	/* 1000 of 2600 ns; 500 of 700. */
	assert_false(is_said("Most of the change"));
	end();
}

/* An item that goes the other way is no place, however large. */
static void nor_is_what_goes_the_other_way(void **state)
{
	begin();
	add(TW_PHASE, 0, "decode", 1000);
	add(TW_PHASE, 0, "mixed", 1000);
	add(TW_PHASE, 0, "prefill", 8000);
	add(TW_PHASE, 1, "decode", 1090);
	add(TW_PHASE, 1, "mixed", 990);
	add(TW_PHASE, 1, "prefill", 8020);
	compare();
	assert_true(is_said("(+0.000100 ms) is in decode (+0.000090 ms)."));
	end();
}

static void place_of_ranks(size_t baseline, size_t test, unsigned configs)
{
	unsigned config;
	int64_t rank;

	begin();
	for (config = 0; config < configs; config++) {
		for (rank = 0; rank < (int64_t)baseline; rank++)
			add_at(TW_PHASE, 0, 256 + config, rank, "decode", 100);
		for (rank = 0; rank < (int64_t)test; rank++) {
			int64_t of_test = baseline == test ? rank : rank + 10;

			add_at(TW_PHASE, 1, 256 + config, of_test, "decode",
			       100 * (int64_t)baseline / (int64_t)test);
			add_at(TW_PHASE, 1, 256 + config, of_test, "prefill", 100);
		}
	}
	compare();
}

/* Beside means over the ranks, sums over them are told. */
static void sums_over_ranks_are_told(void **state)
{
	place_of_ranks(1, 1, 1);
	assert_true(is_said("Most of the change in GPU time (+0.000100 ms) is in "));
	end();
	place_of_ranks(2, 2, 1);
	assert_true(is_said("(+0.000200 ms, summed over 2 ranks) is in "));
	end();
	place_of_ranks(1, 2, 1);
	assert_true(is_said("(+0.000200 ms, summed over 1 and 2 ranks) is in "));
	end();
	place_of_ranks(2, 1, 1);
	assert_true(is_said("(+0.000100 ms, summed over 2 and 1 ranks) is in "));
	end();
	place_of_ranks(2, 2, 2);
	assert_true(is_said("(+0.000400 ms, summed over 4 ranks of 2 configurations) is in "));
	end();
}

/* To 60 cells; what separates the parts of a name is a space. */
static void long_names_are_shortened(void **state)
{
	char name[300];

	memset(name, 'z', sizeof(name) - 1);
	name[0] = 'A';
	name[sizeof(name) - 1] = '\0';
	begin();
	add(TW_PHASE, 0, name, 100);
	add(TW_PHASE, 1, name, 200);
	add(TW_PHASE, 0, "decode", 200);
	add(TW_PHASE, 1, "decode", 200);
	compare();
	assert_true(is_said("is in Azzzzzzzz"));
	assert_true(is_said("\u2026"));
	assert_true(is_said("zzzz (+0.000100 ms)."));
	assert_false(is_said(name + 300 - 61));
	end();
}

/* Only what is within it takes the place of what is found, not what merely has a longer path. */
static void a_module_is_replaced_by_what_is_in_it(void **state)
{
	begin();
	add(TW_MODULE, 0, "A_0", 1000);
	add(TW_MODULE, 1, "A_0", 2000);
	add(TW_MODULE, 0, "rest", 9000);
	add(TW_MODULE, 1, "rest", 9000);
	add(TW_MODULE_TOTAL, 0, "A_0", 1000);
	add(TW_MODULE_TOTAL, 1, "A_0", 2000);
	add(TW_MODULE_TOTAL, 0, "A_01 > L_0", 1000);
	add(TW_MODULE_TOTAL, 1, "A_01 > L_0", 1900);
	compare();
	assert_true(is_said("is in module A_0 (+0.001000 ms)."));
	end();
}

/* What has three quarters of the time has as much of any change. */
static void nor_is_it_most_of_the_time(void **state)
{
	int64_t more;

	EDGE_OF(TW_LIMIT_PLACE_PERCENT);
	for (more = 0; more <= 1; more++) {
		begin();
		add(TW_PHASE, 0, "decode", 7500);
		add(TW_PHASE, 0, "prefill", 2500 + more);
		add(TW_PHASE, 1, "decode", 5500);
		add(TW_PHASE, 1, "prefill", 2500 + more);
		compare();
		assert_int_equal(is_said("GPU time (-0.002000 ms) is in decode (-0.002000 ms)."),
				 more == 1);
		end();
	}
}

/* 1 % of the baseline's GPU time is a difference. */
static void too_small_a_difference_is_not_explained(void **state)
{
	int64_t apart;

	EDGE_OF(TW_LIMIT_SAME_BELOW_PERCENT);
	for (apart = 99; apart <= 100; apart++) {
		begin();
		add(TW_PASS, 0, "forward", 5000);
		add(TW_CALL_SITE, 0, "a.py(1): f", 5000);
		add(TW_CALL_SITE, 0, "a.py(2): g", 5000);
		add(TW_CALL_SITE, 1, "a.py(1): f", 5000 - apart);
		add(TW_CALL_SITE, 1, "a.py(2): g", 5000);
		compare();
		assert_int_equal(is_said("is in a.py(1): f (-0.000100 ms)."), apart == 100);
		end();
	}
}

static void all_places_are_in_one_sentence(void **state)
{
	begin();
	add(TW_STEP, 0, "ProfilerStep#1", 1000);
	add(TW_STEP, 0, "ProfilerStep#2", 1000);
	add(TW_STEP, 1, "ProfilerStep#1", 1000);
	add(TW_STEP, 1, "ProfilerStep#2", 800);
	add(TW_PHASE, 0, "decode", 1000);
	add(TW_PHASE, 0, "prefill", 1000);
	add(TW_PHASE, 1, "decode", 900);
	add(TW_PHASE, 1, "prefill", 900);
	add(TW_CALL_SITE, 0, "a.py(1): f", 1000);
	add(TW_CALL_SITE, 0, "a.py(2): g", 1000);
	add(TW_CALL_SITE, 1, "a.py(1): f", 1020);
	add(TW_CALL_SITE, 1, "a.py(2): g", 780);
	compare();
	assert_true(
		is_said("Most of the change in GPU time (-0.000200 ms) is in step ProfilerStep#2 "
			"(-0.000200 ms), in a.py(2): g (-0.000220 ms)."));
	end();
}

/* The innermost module; its class is not named then, and rests never are. */
static void the_innermost_module_is_named(void **state)
{
	begin();
	add(TW_MODULE, 0, "M", 0);
	add(TW_MODULE, 0, "M > A_0", 0);
	add(TW_MODULE, 0, "M > A_0 > L_0", 1000);
	add(TW_MODULE, 0, "M > A_1 > L_1", 9000);
	add(TW_MODULE, 1, "M > A_0 > L_0", 2000);
	add(TW_MODULE, 1, "M > A_1 > L_1", 9000);
	add(TW_MODULE_TOTAL, 0, "M", 10000);
	add(TW_MODULE_TOTAL, 0, "M > A_0", 1000);
	add(TW_MODULE_TOTAL, 0, "M > A_0 > L_0", 1000);
	add(TW_MODULE_TOTAL, 0, "M > A_1", 9000);
	add(TW_MODULE_TOTAL, 1, "M", 11000);
	add(TW_MODULE_TOTAL, 1, "M > A_0", 2000);
	add(TW_MODULE_TOTAL, 1, "M > A_0 > L_0", 2000);
	add(TW_MODULE_TOTAL, 1, "M > A_1", 9000);
	add(TW_MODULE_CLASS, 0, "M > A > L", 1000);
	add(TW_MODULE_CLASS, 1, "M > A > L", 2000);
	add(TW_MODULE_CLASS, 0, "M > B", 9000);
	add(TW_MODULE_CLASS, 1, "M > B", 9000);
	compare();
	assert_true(is_said("is in module M > A_0 > L_0 (+0.001000 ms)."));
	end();
	/* Half in each of two: they are of one class. */
	begin();
	add(TW_MODULE, 0, "A_0", 1000);
	add(TW_MODULE, 0, "A_1", 1000);
	add(TW_MODULE, 0, "(none)", 1000);
	add(TW_MODULE, 1, "A_0", 1500);
	add(TW_MODULE, 1, "A_1", 1500);
	add(TW_MODULE, 1, "(none)", 1000);
	add(TW_MODULE_CLASS, 0, "A", 2000);
	add(TW_MODULE_CLASS, 1, "A", 3000);
	add(TW_MODULE_CLASS, 0, "(none)", 1000);
	add(TW_MODULE_CLASS, 1, "(none)", 1000);
	compare();
	assert_true(is_said("is in modules A (+0.001000 ms)."));
	end();
	begin();
	add(TW_PHASE, 0, "decode", 1000);
	add(TW_PHASE, 0, "(no launch)", 1000);
	add(TW_PHASE, 1, "decode", 1000);
	add(TW_PHASE, 1, "(no launch)", 2000);
	compare();
	assert_false(is_said("Most of the change"));
	end();
}

/* ---- the picture */

static void has(const struct tw_str *svg, const char *what)
{
	if (!strstr(svg->ptr, what))
		fail_msg("not there: %s\n%s", what, svg->ptr);
}

/*
 * Both sides have 1000 and 1200 ns of 488 pixels: A's 700 and 900 are 16 / 22 of that, what is in no module 3 / 22
 * twice.
 */
static void the_picture_of_the_difference(void **state)
{
	struct tw_str svg;

	begin();
	add(TW_MODULE, 0, "A", 700);
	add(TW_MODULE, 0, "(none)", 150);
	add(TW_MODULE, 0, "(unlinked)", 150);
	add(TW_MODULE, 1, "A", 900);
	add(TW_MODULE, 1, "(none)", 150);
	add(TW_MODULE, 1, "(unlinked)", 150);
	add(TW_MODULE_TOTAL, 0, "A", 700);
	add(TW_MODULE_TOTAL, 0, "A > <B>", 700);
	add(TW_MODULE_TOTAL, 0, "A > <B> > C", 300);
	add(TW_MODULE_TOTAL, 0, "(none)", 150);
	add(TW_MODULE_TOTAL, 0, "(unlinked)", 150);
	add(TW_MODULE_TOTAL, 1, "A", 900);
	add(TW_MODULE_TOTAL, 1, "A > <B>", 900);
	add(TW_MODULE_TOTAL, 1, "A > <B> > C", 270);
	add(TW_MODULE_TOTAL, 1, "(none)", 150);
	add(TW_MODULE_TOTAL, 1, "(unlinked)", 150);
	compare();
	tw_str_init(&svg, trawl_allocator_default());
	assert_true(tw_difference_chart(&pair, &svg));
	has(&svg,
	    "<title>all GPU events: 0.001000 ms -&gt; 0.001200 ms, +0.000200 ms (20.0 % slower)"
	    "</title><rect x=\"16\" y=\"84\" width=\"487.5\" height=\"25\" fill=\"#f6cf86\"/>");
	has(&svg,
	    "<title>A: 0.000700 ms -&gt; 0.000900 ms, +0.000200 ms (28.6 % slower)</title><rect "
	    "x=\"16\" y=\"110\" width=\"354.4\"");
	has(&svg,
	    "<title>outside of modules: 0.000150 ms -&gt; 0.000150 ms, +0.000000 ms</title><rect "
	    "x=\"370.9\" y=\"110\" width=\"66.1\" height=\"25\" fill=\"#dddddd\"/>");
	has(&svg, "<title>without a recorded launch: ");
	has(&svg, "<title>A &gt; &lt;B&gt;: ");
	has(&svg,
	    "<title>A &gt; &lt;B&gt; &gt; C: 0.000300 ms -&gt; 0.000270 ms, -0.000030 ms (10.0 % "
	    "faster)</title><rect x=\"16\" y=\"162\" width=\"125.9\" height=\"25\" "
	    "fill=\"#a6d4f2\"/>");
	has(&svg, ">&lt;B&gt;  +0.000200 ms</text>");
	tw_str_release(&svg);
	end();
	begin();
	compare();
	tw_str_init(&svg, trawl_allocator_default());
	assert_false(tw_difference_chart(&pair, &svg));
	assert_int_equal(svg.len, 0);
	end();
}

/* 3 of 1000 on both sides together, which are 2000, are not seen with 5; nor are rows below the 24th. */
static void parts_that_cannot_be_seen(void **state)
{
	char path[200] = "D";
	struct tw_str svg;
	unsigned depth;

	begin();
	add(TW_MODULE, 0, "A", 994);
	add(TW_MODULE, 0, "B", 6);
	add(TW_MODULE, 1, "A", 1000);
	add(TW_MODULE_TOTAL, 0, "A", 994);
	add(TW_MODULE_TOTAL, 1, "A", 994);
	add(TW_MODULE_TOTAL, 0, "B", 6);
	add(TW_MODULE_TOTAL, 0, "C", 5);
	add(TW_MODULE_TOTAL, 0, "C > below", 900);
	for (depth = 1; depth <= 25; depth++) {
		add(TW_MODULE_TOTAL, 0, path, 900);
		strcat(path, " > D");
	}
	compare();
	tw_str_init(&svg, trawl_allocator_default());
	assert_true(tw_difference_chart(&pair, &svg));
	has(&svg, "<title>B: ");
	assert_null(strstr(svg.ptr, "<title>C"));
	/* The whole is the first row. */
	has(&svg, "y=\"682\"");
	assert_null(strstr(svg.ptr, "y=\"708\" width"));
	tw_str_release(&svg);
	end();
}

/* Of "B > C" the row says where it begins: there is no "A > B", nor a "P". */
static void names_with_what_is_between_them(void **state)
{
	static const char *const paths[] = { "A", "A > B > C", "A > B > C > D", "P > Q",
					     "P > Q > R" };
	struct tw_str svg;
	unsigned side;
	size_t i;

	begin();
	for (side = 0; side < 2; side++) {
		add(TW_MODULE, side, "A > B > C > D", 300);
		add(TW_MODULE, side, "P > Q > R", 100);
		for (i = 0; i < 5; i++)
			add(TW_MODULE_TOTAL, side, paths[i], i < 3 ? 300 : 100);
	}
	compare();
	tw_str_init(&svg, trawl_allocator_default());
	assert_true(tw_difference_chart(&pair, &svg));
	/* Rows are 26 pixels from 84 on; A has three quarters of 488. */
	has(&svg,
	    "<title>A: 0.000300 ms -&gt; 0.000300 ms, +0.000000 ms</title><rect x=\"16\" y=\"110\"");
	has(&svg,
	    "<title>A &gt; B &gt; C: 0.000300 ms -&gt; 0.000300 ms, +0.000000 ms</title><rect x=\"16\" y=\"136\"");
	has(&svg, ">B &gt; C  +0.000000 ms</text>");
	has(&svg,
	    "<title>A &gt; B &gt; C &gt; D: 0.000300 ms -&gt; 0.000300 ms, +0.000000 ms</title><rect x=\"16\" y=\"162\"");
	has(&svg, ">D  +0.000000 ms</text>");
	has(&svg,
	    "<title>P &gt; Q: 0.000100 ms -&gt; 0.000100 ms, +0.000000 ms</title><rect x=\"382\" y=\"110\"");
	has(&svg,
	    "<title>P &gt; Q &gt; R: 0.000100 ms -&gt; 0.000100 ms, +0.000000 ms</title><rect x=\"382\" y=\"136\"");
	tw_str_release(&svg);
	end();
}

/* ---- memory */

static int all(const struct trawl_allocator *a)
{
	static const char *const modules[2] = { "M_0 > B_1", "M_1 > B_2" };
	struct tw_str svg;
	unsigned side;
	int status;

	memset(&pair, 0, sizeof(pair));
	tw_str_init(&svg, a);
	status = tw_samples_init(samples, a);
	for (side = 0; side < 2 && !status; side++) {
		add(TW_MODULE, side, modules[side], 10);
		add(TW_MODULE_TOTAL, side, modules[side], 10);
		add(TW_MODULE_STACK, side, modules[side], 10);
	}
	status = status ? status : tw_samples_align(samples, &err);
	status = status ? status : tw_samples_finish(samples, &err);
	status = status ? status : tw_changes_make(changes, samples, &err);
	if (!status)
		tw_difference_chart(&pair, &svg);
	status = status ? status : svg.failed ? TRAWL_ENOMEM : 0;
	tw_str_release(&svg);
	end();
	return status;
}

static void no_memory(void **state)
{
	long n;

	for (n = 0;; n++) {
		struct failing failing;
		int status;

		failing_init(&failing, n);
		status = all(&failing.allocator);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		assert_int_equal(status, failing.failed ? TRAWL_ENOMEM : 0);
		if (!failing.failed)
			break;
	}
	assert_true(n > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_of_common_ranks),
		cmocka_unit_test(sums_are_of_all_ranks_where_none_is_common),
		cmocka_unit_test(sums_are_of_common_configurations),
		cmocka_unit_test(verdicts_of_sums),
		cmocka_unit_test(small_of_the_total_time),
		cmocka_unit_test(damaged_ranks_are_left_out),
		cmocka_unit_test(modules_are_matched_by_place),
		cmocka_unit_test(other_numbers_of_modules_are_matched_by_name),
		cmocka_unit_test(what_is_no_number_is_a_name),
		cmocka_unit_test(no_number_comes_first),
		cmocka_unit_test(paths_of_any_depth),
		cmocka_unit_test(operators_do_not_cancel_out),
		cmocka_unit_test(call_sites_are_matched_by_lines),
		cmocka_unit_test(steps_are_matched_by_number_or_order),
		cmocka_unit_test(a_place_with_most_of_the_difference_is_named),
		cmocka_unit_test(nor_is_what_others_cancel_out),
		cmocka_unit_test(nor_is_what_goes_the_other_way),
		cmocka_unit_test(sums_over_ranks_are_told),
		cmocka_unit_test(a_module_is_replaced_by_what_is_in_it),
		cmocka_unit_test(long_names_are_shortened),
		cmocka_unit_test(names_with_what_is_between_them),
		cmocka_unit_test(an_outermost_module_without_a_name),
		cmocka_unit_test(nor_is_it_most_of_the_time),
		cmocka_unit_test(too_small_a_difference_is_not_explained),
		cmocka_unit_test(all_places_are_in_one_sentence),
		cmocka_unit_test(the_innermost_module_is_named),
		cmocka_unit_test(parts_that_cannot_be_seen),
		cmocka_unit_test(the_picture_of_the_difference),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
