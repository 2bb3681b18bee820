/* Rules for names of ranges: what files of them may say, and which text they look for first. */
#include "nsys/rules.h"

#include "trawl/nsys.h"

#include "data/tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int parse(struct tw_nsys_rules *rules, const char *text, struct trawl_error *err)
{
	return tw_nsys_rules_parse(rules, text, strlen(text), "file", trawl_allocator_default(),
				   err);
}

/* The pieces of one pattern, by blanks. */
static void assert_pieces(const char *pattern, const char *want)
{
	struct tw_nsys_rules rules;
	struct trawl_error err;
	char line[200] = "window\t", found[200] = "";
	unsigned i;

	strncat(line, pattern, sizeof(line) - strlen(line) - 1);
	if (parse(&rules, line, &err))
		fail_msg("%s", err.message);
	assert_int_equal(rules.count, 1);
	for (i = 0; i < rules.rules[0].piece_count; i++) {
		strncat(found, i ? " " : "", sizeof(found) - strlen(found) - 1);
		strncat(found, rules.rules[0].at_begin[i] ? "^" : "",
			sizeof(found) - strlen(found) - 1);
		strncat(found, rules.rules[0].pieces[i], sizeof(found) - strlen(found) - 1);
	}
	assert_string_equal(found, want);
	tw_nsys_rules_release(&rules);
}

static bool has(const struct tw_nsys_rules *rules, enum tw_rule_kind kind)
{
	size_t i;

	for (i = 0; i < rules->count && rules->rules[i].kind != kind; i++)
		;
	return i < rules->count;
}

static void test_pieces(void **state)
{
	assert_pieces("forward", "forward");
	assert_pieces("^forward chunk.*backward chunks", "^forward chunk");
	assert_pieces("^a?bc", "bc");
	assert_pieces("^.*abc", "abc");
	assert_pieces("abc|^de", "abc ^de");
	assert_pieces("abc|defg", "abc defg");
	assert_pieces("abc|[0-9]", "");
	assert_pieces("(abc|d)", "abc d");
	assert_pieces("(^|[.])(abc|de|xabc)$", "abc de");
	assert_pieces("(abc)?", "");
	assert_pieces("(a|[bc])", "");
	assert_pieces("((abc|de)|f)", "abc de f");
	assert_pieces("x(abc|d)wyz", "wyz");
	assert_pieces("^(abc|def) (g|h)$", "abc def");
	assert_pieces("([0-9]) x", " x");
	assert_pieces("abcd*", "abc");
	assert_pieces("abcd?e", "abc");
	assert_pieces("abcd+e", "abcd");
	assert_pieces("ab{0,2}c", "a");
	assert_pieces("a.bc", "bc");
	assert_pieces("a\\.b", "a.b");
	assert_pieces("[]ab]x[^]c]", "x");
	assert_pieces("[[:alpha:]]xy", "xy");
	assert_pieces("a(b[)]c)def", "def");
	assert_pieces("a|b|c|d|e|f|g|h|i", "");
}

/* The piece is only looked for first: what is found is the same as by looking at all. */
static void test_matches(void **state)
{
	static const struct {
		const char *pattern, *name, *value;
	} cases[] = {
		{ ".*stage([1-5])_([fbw])", "layer05_stage5_b_layer06_stage1_f", "1 f" },
		{ "^a(x|y)*b([0-9])?", "ayxb", "x " },
		{ "ab*c(d)(e)", "accde", NULL },
		{ "ab*c(d)(e)", "zacdez", "d e" },
		{ "^(a)|x(y)$", "a", "a " },
		{ "^(a)|x(y)$", "zxy", " y" },
		{ "^(.)(.)", "pq", "p q" },
		{ "(q)()$", "pq", "q " },
	};
	struct tw_nsys_rules rules;
	struct tw_matcher matcher;
	struct trawl_error err;
	struct tw_str value;
	char line[200];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct tw_nsys_rule *rule;

		snprintf(line, sizeof(line), "# comment\n\nstage\t%s\t\\1 \\2\r\n",
			 cases[i].pattern);
		if (parse(&rules, line, &err))
			fail_msg("%s", err.message);
		tw_str_init(&value, trawl_allocator_default());
		assert_true(tw_matcher_init(&matcher, &rules, trawl_allocator_default()));
		rule = tw_matcher_find(&matcher, TW_NSYS_STAGE, cases[i].name,
				       strlen(cases[i].name), &value);
		assert_int_equal(rule != NULL, cases[i].value != NULL);
		if (rule)
			assert_string_equal(value.ptr, cases[i].value);
		if (rule)
			assert_true(tw_matcher_might(&matcher, 1u << TW_NSYS_STAGE, cases[i].name,
						     strlen(cases[i].name)));
		tw_matcher_release(&matcher);
		tw_str_release(&value);
		tw_nsys_rules_release(&rules);
	}
}

/* What stands at the end of a name counts however long it is. */
static void test_long_names(void **state)
{
	enum { LONG = 5000 };
	struct tw_nsys_rules rules;
	struct tw_matcher matcher;
	struct trawl_error err;
	struct tw_str value;
	char name[LONG + 8];
	size_t len;

	assert_int_equal(parse(&rules, "stage\t_stage([0-9])$\t\\1\n", &err), 0);
	assert_true(tw_matcher_init(&matcher, &rules, trawl_allocator_default()));
	memset(name, 'n', sizeof(name));
	for (len = 4095 - 7; len <= LONG; len += LONG - 4095 + 7) {
		memcpy(name + len, "_stage3", 7);
		tw_str_init(&value, trawl_allocator_default());
		/* What lies behind the name is none of it. */
		name[len + 7] = 'x';
		assert_non_null(tw_matcher_find(&matcher, TW_NSYS_STAGE, name, len + 7, &value));
		assert_string_equal(value.ptr, "3");
		tw_str_release(&value);
		memset(name + len, 'n', 8);
	}
	tw_matcher_release(&matcher);
	tw_nsys_rules_release(&rules);
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "window", "file:1: expected KIND, tab" },
		{ "#\nwindows\tx", "file:2: unknown kind 'windows'" },
		{ "window\t", "file:1: empty pattern" },
		{ "window\t(", "is not an extended regular expression" },
		{ "window\ta\tb\tc", "more than three fields" },
		{ "label\t^rank=[0-9]+", "label needs a group" },
		{ "stage\tx", "stage needs a tab and a value" },
		{ "stage\tx\t\\1", "\\1: the pattern has 0 groups" },
		{ "purpose\t(x)\t\\x", "in a value, \\ needs" },
		{ "kernel\tx\tcopy", "not 'copy'" },
	};
	struct tw_nsys_rules rules;
	struct trawl_error err;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(parse(&rules, cases[i].text, &err), TRAWL_EFORMAT);
		if (!strstr(err.message, cases[i].message))
			fail_msg("'%s' is not in '%s'", cases[i].message, err.message);
		tw_nsys_rules_release(&rules);
	}
	assert_int_equal(tw_nsys_rules_open(&rules, "no such", trawl_allocator_default(), &err),
			 TRAWL_EUSAGE);
	assert_non_null(strstr(err.message, "pithtrain, megatron"));
	tw_nsys_rules_release(&rules);
}

static void test_presets_parse(void **state)
{
	struct tw_nsys_rules rules;
	struct trawl_error err;
	const char *title;
	size_t i, len;

	for (i = 0; i < trawl_nsys_presets(); i++) {
		if (tw_nsys_rules_open(&rules, trawl_nsys_preset_name(i), trawl_allocator_default(),
				       &err))
			fail_msg("%s", err.message);
		assert_true(has(&rules, TW_NSYS_WINDOW));
		assert_true(has(&rules, TW_NSYS_STAGE));
		title = trawl_nsys_preset_title(i, &len);
		assert_true(len > 0 && !memchr(title, '\n', len));
		tw_nsys_rules_release(&rules);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),	      cmocka_unit_test(test_matches),
		cmocka_unit_test(test_long_names),    cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_presets_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
