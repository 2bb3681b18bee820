/* Members of structs: what is written is what is read back, and what Markdown tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "failing.h"
#include "standalone/fields.h"
#include "trawl/trace.h"

#include <math.h>
#include <string.h>

struct part {
	const char *name;
	uint64_t count;
};

struct whole {
	const char *text, *word;
	bool yes;
	double real, short_ms, flag;
	int64_t ns;
	struct part inner, *other;
	TW_FIELD_LIST(struct part) parts;
	TW_FIELD_LIST(const char *) texts;
	TW_FIELD_LIST(struct tw_named) named;
};

static const struct tw_member part_members[] = {
	TW_FIELD(struct part, PLAIN, name, "name"),
	TW_FIELD(struct part, COUNT, count, "count", .needed = true),
};
static const struct tw_fields part = TW_FIELDS(struct part, part_members, .inlined = true);

#define F(kind, member, ...) TW_FIELD(struct whole, kind, member, #member, __VA_ARGS__)
static const struct tw_member members[] = {
	F(TEXT, text),
	F(WORD, word),
	F(BOOL, yes),
	F(REAL, real, 2),
	F(MS, short_ms),
	F(FLAG, flag),
	F(NS, ns, 3),
	F(STRUCT, inner, .of = &part),
	F(POINTER, other, .of = &part),
	F(LIST, parts, .of = &part),
	F(TEXTS, texts, .inlined = true),
	F(NAMED, named, .inlined = true),
};
#undef F
static const struct tw_fields whole = TW_FIELDS(struct whole, members);

static struct part parts[] = { { "a", 1 }, { "b|`", 2 } };
static const char *texts[] = { "x", "y" };
static struct tw_named named[] = { { "one", 1.5 }, { "two", NAN } };

static struct whole filled(void)
{
	return (struct whole){
		.text = "it's *",
		.word = "7",
		.yes = true,
		.real = 1.005,
		.short_ms = 0.0123456,
		.flag = 0,
		.ns = 1234567890123456789,
		.inner = { "i", 3 },
		.parts = { parts, 2 },
		.texts = { texts, 2 },
		.named = { named, 2 },
	};
}

static const char text_of_filled[] =
	"{\n  \"text\": \"it's *\",\n  \"word\": 7,\n  \"yes\": true,\n  \"real\": 1,\n"
	"  \"short_ms\": 0.012346,\n  \"flag\": false,\n  \"ns\": 1234567890123456.789,\n"
	"  \"inner\": {\"name\": \"i\", \"count\": 3},\n  \"other\": null,\n"
	"  \"parts\": [\n    {\"name\": \"a\", \"count\": 1},\n    {\"name\": \"b|`\", \"count\": 2}\n"
	"  ],\n  \"texts\": [\"x\", \"y\"],\n  \"named\": {\"one\": 1.5, \"two\": null}\n}\n";

static void written(void **state)
{
	const struct whole w = filled();
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	tw_fields_document(&out, &whole, &w);
	assert_string_equal(out.ptr, text_of_filled);
	tw_str_release(&out);
}

static int read_text(const char *text, struct whole *w, struct tw_arena *arena,
		     struct trawl_error *err)
{
	const struct tw_json_value *json = tw_json_parse(arena, text, strlen(text), "f", err);

	return json ? tw_fields_read(&whole, w, json, "f.json", arena, err) : err->status;
}

/* What is not there is not known; a number that is not known is no member of a list of them. */
static void read_back(void **state)
{
	struct tw_arena arena;
	struct trawl_error err;
	struct whole w;

	tw_arena_init(&arena, trawl_allocator_default());
	assert_int_equal(read_text(text_of_filled, &w, &arena, &err), 0);
	assert_string_equal(w.text, "it's *");
	assert_string_equal(w.word, "7");
	assert_true(w.yes && w.real == 1 && w.flag == 0);
	assert_int_equal(w.inner.count, 3);
	assert_int_equal(w.parts.count, 2);
	assert_string_equal(w.parts.at[1].name, "b|`");
	assert_string_equal(w.texts.at[1], "y");
	assert_int_equal(w.named.count, 1);
	assert_int_equal(read_text("{\"inner\": {\"count\": 0}}", &w, &arena, &err), 0);
	assert_true(!w.text && !w.word && !w.yes && isnan(w.real) && isnan(w.flag));
	assert_true(w.ns == TRAWL_TIME_NONE && !w.other);
	assert_string_equal(w.inner.name, "");
	tw_arena_release(&arena);
}

static void numbers_that_are_none(void **state)
{
	static const char *const wrong[] = {
		"{\"real\": \"many\", \"inner\": {\"count\": 1}}",
		"{\"inner\": {\"count\": -1}}",
		"{\"inner\": {}}",
		"{\"inner\": {\"count\": 1}, \"named\": {\"a\": []}}",
		"{\"inner\": {\"count\": 1}, \"parts\": [{}]}",
	};
	struct tw_arena arena;
	struct trawl_error err;
	struct whole w;
	size_t i;

	tw_arena_init(&arena, trawl_allocator_default());
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(read_text(wrong[i], &w, &arena, &err), TRAWL_EFORMAT);
		assert_non_null(strstr(err.message, "f.json: no number"));
	}
	tw_arena_release(&arena);
}

static void told(void **state)
{
	struct whole w = filled();
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	tw_fields_fill(&out,
		       "{text} {word:9} {real| ms} {ns| us} {inner.name} {inner.count} {none|%}.",
		       &whole, &w);
	assert_string_equal(out.ptr, "it's \\* 7 1 ms 1234567890123456.789 us i 3 n/a.");
	tw_str_clear(&out);
	w.real = NAN;
	w.word = "all";
	tw_fields_fill(&out, "{real| ms}, {word:9}, {other.count}", &whole, &w);
	assert_string_equal(out.ptr, "n/a, `all`, n/a");
	tw_str_clear(&out);
	tw_fields_fill(&out, "{name:0}", &part, &parts[1]);
	assert_string_equal(out.ptr, "`b\\|'`");
	tw_str_release(&out);
}

static void as_written(void **state)
{
	assert_true(tw_as_written(1.005, 2) == 1);
	assert_true(tw_as_written(0.125, 2) == 0.12);
	assert_true(tw_as_written(-2.5, 0) == -2);
	assert_true(isnan(tw_as_written(NAN, 2)));
}

static void without_memory(void **state)
{
	struct failing failing;
	struct tw_arena arena;
	struct trawl_error err;
	struct whole w;
	long n;
	int status;

	for (n = 0;; n++) {
		failing_init(&failing, n);
		tw_arena_init(&arena, &failing.allocator);
		status = read_text(text_of_filled, &w, &arena, &err);
		tw_arena_release(&arena);
		assert_int_equal(failing.live_blocks, 0);
		if (!failing.failed)
			break;
		assert_int_equal(status, TRAWL_ENOMEM);
	}
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written),
		cmocka_unit_test(read_back),
		cmocka_unit_test(numbers_that_are_none),
		cmocka_unit_test(told),
		cmocka_unit_test(as_written),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
