/* Arguments as Python writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/signature.h"
#include "base/scope.h"
#include "traces.h"

static const char *repr(const char *json)
{
	static char text[4096];
	size_t len = strlen(json);
	char *copy = malloc(len ? len : 1);
	struct tw_str out;

	assert_non_null(copy);
	memcpy(copy, json, len);
	tw_str_init(&out, trawl_allocator_default());
	tw_python_repr(copy, len, &out);
	assert_false(out.failed);
	assert_true(out.len < sizeof(text));
	snprintf(text, sizeof(text), "%s", out.len ? out.ptr : "");
	tw_str_release(&out);
	free(copy);
	return text;
}

/* What Python 3.11 prints for the same value with its lists made tuples. */
static void lists_become_tuples(void **state)
{
	static const char *const cases[][2] = {
		{ "[]", "()" },
		{ "[5]", "(5,)" },
		{ "[5,6]", "(5, 6)" },
		{ "[ 5 ,\n6 ]", "(5, 6)" },
		{ "[[]]", "((),)" },
		{ "[[5]]", "((5,),)" },
		{ "[[],[]]", "((), ())" },
		{ "[[8,16],[],[4]]", "((8, 16), (), (4,))" },
		{ "[[[1],[2,3]],[]]", "(((1,), (2, 3)), ())" },
		{ "[1,[]]", "(1, ())" },
		{ "[[],1]", "((), 1)" },
		{ "[-1,0.5,1e-05]", "(-1, 0.5, 1e-05)" },
		{ "[null,true,false]", "(None, True, False)" },
		{ "[null]", "(None,)" },
		{ "\"float\"", "'float'" },
		{ "[\"float\"]", "('float',)" },
		{ "[\"c10::BFloat16\",\"Scalar\",\"\"]", "('c10::BFloat16', 'Scalar', '')" },
		{ "{}", "{}" },
		{ "{\"a\":1}", "{'a': 1}" },
		{ "{\"a\":[1],\"b\":[]}", "{'a': (1,), 'b': ()}" },
		{ "[{\"a\":1}]", "({'a': 1},)" },
		{ "[{},{}]", "({}, {})" },
		{ "5", "5" },
		{ "", "" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(repr(cases[i][0]), cases[i][1]);
}

static void texts_are_quoted(void **state)
{
	static const char *const cases[][2] = {
		{ "\"it's\"", "\"it's\"" },
		{ "\"say \\\"x\\\"\"", "'say \"x\"'" },
		{ "\"it's \\\"x\\\"\"", "'it\\'s \"x\"'" },
		{ "\"a\\\\b\"", "'a\\\\b'" },
		{ "\"a\\nb\\tc\\rd\"", "'a\\nb\\tc\\rd'" },
		{ "\"\\u0001\\u001b\\u007f\"", "'\\x01\\x1b\\x7f'" },
		{ "\"\\u00e9\\u20ac\\ud83d\\ude00\"", "'\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80'" },
		/* Brackets and commas in texts are text. */
		{ "[\"[1,2]\",\"}\",\",\"]", "('[1,2]', '}', ',')" },
		{ "[\"]\"]", "(']',)" },
		{ "[\"a\\\"]\"]", "('a\"]',)" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(repr(cases[i][0]), cases[i][1]);
}

/* What is not quite JSON comes out somehow, and what is in it is still there. */
static void malformed_values(void **state)
{
	static const char *const cases[] = { "[1,...,3]", "[1",	       "1]",   "]",    "[\"a",
					     "[\"a\\",	  "{\"a\" 1}", "[,]",  "[1,]", "[nul",
					     ":",	  ",",	       "[[[[", "}}}}" };
	size_t i;

	assert_string_equal(repr("[1,...,3]"), "(1, ..., 3)");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		repr(cases[i]);
}

static void deep_lists(void **state)
{
	static const int depths[] = { 1, 2, 63, 64, 65, 200 };
	char json[1000], expected[1000];
	size_t i;
	int n, k, used;

	for (i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		n = depths[i];
		memset(json, '[', (size_t)n);
		json[n] = '1';
		memset(json + n + 1, ']', (size_t)n);
		json[2 * n + 1] = '\0';
		memset(expected, '(', (size_t)n);
		used = n + snprintf(expected + n, sizeof(expected) - (size_t)n, "1");
		for (k = 0; k < n; k++)
			used += snprintf(expected + used, sizeof(expected) - (size_t)used, ",)");
		if (n <= 64)
			assert_string_equal(repr(json), expected);
		else
			assert_int_equal(strchr(repr(json), '1')[0], '1');
	}
}

static void signatures_of_events(void **state)
{
	struct trawl_trace *t = TRACE_OF(
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"Input Dims\":"
		"[[8,4],[]],\"Input type\":[\"float\",\"\"],\"Input Strides\":[[4,1],[]],"
		"\"Concrete Inputs\":[\"\",\"1.\"]}}",
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"ts\":1,\"dur\":1,\"args\":{\"Input dims\":"
		"[ [8, 4], [] ],\"other\":[1]}}",
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"c\",\"ts\":1,\"dur\":1}",
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"d\",\"ts\":1,\"dur\":1,\"args\":{\"Input Dims\":"
		"\"already text\",\"Input type\":null,\"Concrete Inputs\":5}}");
	struct tw_signature a, b, c, d;
	struct tw_signatures s;
	struct tw_scope scope;

	tw_scope_begin(&scope, trawl_allocator_default());
	assert_int_equal(tw_signatures_init(&s, t, &scope.allocator), 0);
	a = tw_signature_of(&s, 0);
	b = tw_signature_of(&s, 1);
	c = tw_signature_of(&s, 2);
	d = tw_signature_of(&s, 3);
	assert_string_equal(tw_pool_text(&s.texts, a.dims, NULL), "((8, 4), ())");
	assert_string_equal(tw_pool_text(&s.texts, a.types, NULL), "('float', '')");
	assert_string_equal(tw_pool_text(&s.texts, a.strides, NULL), "((4, 1), ())");
	assert_string_equal(tw_pool_text(&s.texts, a.concrete, NULL), "('', '1.')");
	/* The spelling of 2021, and other blanks: the same shapes. */
	assert_int_equal(b.dims, a.dims);
	assert_int_equal(b.types, 0);
	assert_true(!c.dims && !c.types && !c.strides && !c.concrete);
	assert_string_equal(tw_pool_text(&s.texts, d.dims, NULL), "already text");
	assert_int_equal(d.types, 0);
	assert_int_equal(tw_signature_of(&s, 0).dims, a.dims);
	assert_false(tw_signatures_failed(&s));
	tw_scope_end(&scope);
	trawl_trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_become_tuples),	cmocka_unit_test(texts_are_quoted),
		cmocka_unit_test(malformed_values),	cmocka_unit_test(deep_lists),
		cmocka_unit_test(signatures_of_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
