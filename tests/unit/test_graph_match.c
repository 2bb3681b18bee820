/* Nodes of GPU graphs and calls of captures: how they match, against slow computations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "derive/graphs/choose.h"
#include "edges.h"

#include <stdlib.h>
#include <string.h>

#define MOST 300

static uint32_t call_of[MOST], expected[MOST];
static uint32_t table[MOST + 1][MOST + 1];

/* The definition: of those that are longest, a node is skipped before a call. */
static uint32_t slow_lcs(struct tw_keys a, struct tw_keys b)
{
	uint32_t i, j;

	for (i = a.count + 1; i-- > 0;)
		for (j = b.count + 1; j-- > 0;) {
			uint32_t longest = 0;

			if (i < a.count && table[i + 1][j] > longest)
				longest = table[i + 1][j];
			if (j < b.count && table[i][j + 1] > longest)
				longest = table[i][j + 1];
			if (i < a.count && j < b.count && a.at[i] == b.at[j])
				longest = table[i + 1][j + 1] + 1;
			table[i][j] = i == a.count || j == b.count ? 0 : longest;
		}
	for (i = j = 0; i < a.count; i++)
		expected[i] = TW_NOT_MATCHED;
	for (i = j = 0; i < a.count && j < b.count;) {
		if (a.at[i] == b.at[j]) {
			expected[i++] = j++;
		} else if (table[i + 1][j] >= table[i][j + 1]) {
			i++;
		} else {
			j++;
		}
	}
	return table[0][0];
}

static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

/* Of every size around a word of bits, with few and with many names, some of them frequent. */
static void longest_common_subsequences_are_those_of_the_definition(void **state)
{
	static uint32_t x[MOST], y[MOST];
	uint32_t run, i, matched;

	(void)state;
	for (run = 0; run < 2000; run++) {
		uint32_t names = 1 + draw(run % 2 ? 4 : 60);
		struct tw_keys a = { x, draw(run % 10 ? 70 : MOST) };
		struct tw_keys b = { y, draw(run % 10 ? 70 : MOST) };

		for (i = 0; i < a.count; i++)
			x[i] = draw(names) * draw(2);
		for (i = 0; i < b.count; i++)
			y[i] = draw(names) * draw(2);
		assert_int_equal(tw_match_lcs(a, b, call_of, &matched, trawl_allocator_default()),
				 0);
		assert_int_equal(matched, slow_lcs(a, b));
		for (i = 0; i < a.count; i++)
			assert_int_equal(call_of[i], expected[i]);
	}
}

/* ---- modes */

static uint64_t steps;

static enum tw_match_mode match(const char *nodes, const char *calls, bool several_streams,
				uint32_t *matched)
{
	static uint32_t x[MOST], y[MOST];
	struct tw_keys a = { x, (uint32_t)strlen(nodes) }, b = { y, (uint32_t)strlen(calls) };
	enum tw_match_mode mode;
	uint32_t i;

	for (i = 0; i < a.count; i++)
		x[i] = (uint32_t)nodes[i];
	for (i = 0; i < b.count; i++)
		y[i] = (uint32_t)calls[i];
	assert_int_equal(tw_match(a, b, several_streams, &steps, &mode, call_of, matched,
				  trawl_allocator_default()),
			 0);
	return mode;
}

static void check_calls(uint32_t count, const uint32_t *calls)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		assert_int_equal(call_of[i], calls[i]);
}

#define CALLS(...)                                                     \
	check_calls(sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(int), \
		    (const uint32_t[]){ __VA_ARGS__ })

static void equal_before_subsequence_before_names(void **state)
{
	uint32_t matched;

	(void)state;
	steps = TW_MATCH_STEPS;
	assert_int_equal(match("abc", "abc", true, &matched), TW_MATCH_EQUAL);
	CALLS(0, 1, 2);
	assert_int_equal(match("abc", "xabbc", true, &matched), TW_MATCH_SUBSEQUENCE);
	CALLS(1, 2, 4);
	assert_int_equal(match("bacab", "aabbc", true, &matched), TW_MATCH_BY_NAME);
	CALLS(2, 0, 4, 1, 3);
	assert_int_equal(match("bacab", "aabbc", false, &matched), TW_MATCH_LCS);
	assert_int_equal(matched, 3);
	/* As many, and one name is another. */
	assert_int_equal(match("bacax", "aabbc", true, &matched), TW_MATCH_LCS);
	assert_int_equal(match("", "", true, &matched), TW_MATCH_EQUAL);
	assert_int_equal(match("a", "", true, &matched), TW_MATCH_LCS);
	assert_int_equal(matched, 0);
}

/* What is equal, or in order, costs no steps; the rest is not looked for without any. */
static void without_steps_nothing_is_aligned(void **state)
{
	uint32_t matched;

	(void)state;
	steps = 0;
	assert_int_equal(match("abc", "abc", false, &matched), TW_MATCH_EQUAL);
	assert_int_equal(match("abc", "xabbc", false, &matched), TW_MATCH_SUBSEQUENCE);
	assert_int_equal(match("bac", "abc", false, &matched), TW_MATCH_NONE);
	CALLS(TW_NOT_MATCHED, TW_NOT_MATCHED, TW_NOT_MATCHED);
	assert_int_equal(steps, 0);
}

static bool match_next(const char *nodes, const char *calls, uint32_t from)
{
	static uint32_t x[MOST], y[MOST];
	struct tw_keys a = { x, (uint32_t)strlen(nodes) }, b = { y, (uint32_t)strlen(calls) };
	uint32_t i;

	for (i = 0; i < a.count; i++)
		x[i] = (uint32_t)nodes[i];
	for (i = 0; i < b.count; i++)
		y[i] = (uint32_t)calls[i];
	return tw_match_next(a, b, from, call_of);
}

/* "abab" is first whole at call 7; from there backwards it begins at 3. */
static void the_next_calls_end_first_and_begin_last(void **state)
{
	(void)state;
	assert_true(match_next("abab", "aacabcabxab", 0));
	CALLS(3, 4, 6, 7);
	assert_true(match_next("abab", "aacabcabxab", 3));
	CALLS(3, 4, 6, 7);
	assert_true(match_next("abab", "aacabcabxab", 4));
	CALLS(6, 7, 9, 10);
	assert_false(match_next("abab", "aacabcabxab", 7));
	assert_true(match_next("b", "ab", 1));
	CALLS(1);
	assert_false(match_next("b", "ab", 2));
	assert_true(match_next("aa", "aa", 0));
	CALLS(0, 1);
	assert_false(match_next("", "ab", 0));
}

/* ---- which capture */

#define NODES 200

static bool is_taken(uint32_t nodes, uint32_t calls, uint32_t same)
{
	static uint32_t keys[MOST + 3];
	struct trawl_trace *trace = tw_trace_new(trawl_allocator_default());
	struct tw_captured_call call = { 0 };
	struct tw_capture capture = { .call_count = calls };
	struct tw_chooser chooser;
	struct tw_choice choice;
	struct tw_nodes of = { keys, keys, nodes, false };
	uint32_t i;

	for (i = 0; i < calls; i++) {
		call.key = i < same ? 1 + i : 1000 + i;
		assert_true(TW_LIST_ADD(&trace->captures.calls, &call, trace->allocator));
	}
	assert_true(TW_LIST_ADD(&trace->captures.list, &capture, trace->allocator));
	for (i = 0; i < nodes; i++)
		keys[i] = i < same ? 1 + i : 2000 + i;
	assert_int_equal(tw_chooser_init(&chooser, trace, trace->allocator), 0);
	assert_int_equal(tw_choose(&chooser, &of, &choice, call_of), 0);
	assert_int_equal(choice.matched, same);
	assert_int_equal(choice.left, calls - same);
	tw_chooser_release(&chooser);
	trawl_trace_free(trace);
	return choice.taken;
}

/* 1 % of 200 nodes are two, and of 250 calls two; one call may be left of any number. */
static void one_percent_may_be_left_over(void **state)
{
	(void)state;
	EDGE_OF(TW_LIMIT_GRAPH_LEFT_PERCENT);
	assert_true(is_taken(200, 198, 198));
	assert_false(is_taken(200, 197, 197));
	assert_true(is_taken(200, 200, 198));
	assert_false(is_taken(200, 201, 198));
	assert_false(is_taken(199, 199, 197));
	assert_true(is_taken(248, 250, 248));
	assert_false(is_taken(247, 250, 247));
	assert_true(is_taken(20, 21, 20));
	assert_false(is_taken(20, 22, 20));
	assert_false(is_taken(20, 20, 19));
	assert_true(is_taken(1, 1, 1));
	assert_false(is_taken(1, 1, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(longest_common_subsequences_are_those_of_the_definition),
		cmocka_unit_test(equal_before_subsequence_before_names),
		cmocka_unit_test(without_steps_nothing_is_aligned),
		cmocka_unit_test(the_next_calls_end_first_and_begin_last),
		cmocka_unit_test(one_percent_may_be_left_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
