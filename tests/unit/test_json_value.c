/* JSON as a tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "failing.h"
#include "json/value.h"
#include "json/writer.h"

#include <math.h>
#include <string.h>

static struct tw_arena arena;

static const struct tw_json_value *parse(const char *text)
{
	struct trawl_error err;

	tw_arena_init(&arena, trawl_allocator_default());
	return tw_json_parse(&arena, text, strlen(text), "f.json", &err);
}

static void members_and_elements(void **state)
{
	const struct tw_json_value *v =
		parse("{\"a\": {\"b\": [1, 2.50, \"x\"]}, \"t\": true, \"n\": null}");
	const struct tw_json_value *list = tw_json_get(tw_json_get(v, "a"), "b");

	assert_int_equal(v->count, 3);
	assert_int_equal(list->count, 3);
	assert_string_equal(list->first->next->text, "2.50");
	assert_true(tw_json_number(list->first->next) > 2.4);
	assert_string_equal(tw_json_text(list->first->next->next), "x");
	assert_true(tw_json_true(tw_json_get(v, "t")));
	assert_true(tw_json_is_null(tw_json_get(v, "n")));
	tw_arena_release(&arena);
}

static void what_is_not_there_is_null(void **state)
{
	const struct tw_json_value *v = parse("{\"a\": 1}");

	assert_true(tw_json_is_null(tw_json_get(tw_json_get(v, "x"), "y")));
	assert_true(isnan(tw_json_number(tw_json_get(v, "x"))));
	assert_string_equal(tw_json_text(tw_json_get(v, "a")), "");
	assert_false(tw_json_true(NULL));
	tw_arena_release(&arena);
}

static void a_mistake_names_the_place(void **state)
{
	struct trawl_error err;

	tw_arena_init(&arena, trawl_allocator_default());
	assert_null(tw_json_parse(&arena, "{\"a\":\n 1,}", 10, "f.json", &err));
	assert_int_equal(err.status, TRAWL_EFORMAT);
	assert_non_null(strstr(err.message, "f.json:2:"));
	tw_arena_release(&arena);
}

static void deep_nesting_is_refused(void **state)
{
	char text[2000];
	struct trawl_error err;

	memset(text, '[', sizeof(text));
	tw_arena_init(&arena, trawl_allocator_default());
	assert_null(tw_json_parse(&arena, text, sizeof(text), "f.json", &err));
	assert_int_equal(err.status, TRAWL_EFORMAT);
	tw_arena_release(&arena);
}

static void every_failure_of_memory_is_told(void **state)
{
	const char *text = "{\"a\": [1, {\"b\": \"text\"}], \"c\": null}";
	struct failing failing;
	struct trawl_error err;
	int n;

	for (n = 0;; n++) {
		const struct tw_json_value *v;

		failing_init(&failing, n);
		tw_arena_init(&arena, &failing.allocator);
		v = tw_json_parse(&arena, text, strlen(text), "f.json", &err);
		assert_true(v || err.status == TRAWL_ENOMEM);
		tw_arena_release(&arena);
		assert_int_equal(failing.live_blocks, 0);
		if (v)
			break;
	}
	assert_true(n > 0);
}

static void rounded_numbers(void **state)
{
	static const struct {
		double value;
		unsigned digits;
		const char *text;
	} cases[] = {
		{ 1.25, 3, "1.25" }, { 3.0, 2, "3" },	{ 0.0004, 3, "0" },
		{ -0.0004, 3, "0" }, { 100, 0, "100" }, { 12.3456, 2, "12.35" },
		{ NAN, 2, "null" },  { 0, 3, "0" },	{ 1200, 2, "1200" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tw_json json;
		struct tw_str out;

		tw_str_init(&out, trawl_allocator_default());
		tw_json_init(&json, &out);
		tw_json_rounded(&json, cases[i].value, cases[i].digits);
		assert_string_equal(out.ptr, cases[i].text);
		tw_str_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_and_elements),
		cmocka_unit_test(what_is_not_there_is_null),
		cmocka_unit_test(a_mistake_names_the_place),
		cmocka_unit_test(deep_nesting_is_refused),
		cmocka_unit_test(every_failure_of_memory_is_told),
		cmocka_unit_test(rounded_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
