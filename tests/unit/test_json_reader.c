/* The pull reader of JSON: tokens, strictness, places of mistakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "failing.h"
#include "json/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(char *out, size_t size, const char *format, ...) TRAWL_PRINTF(3, 4);

static void add(char *out, size_t size, const char *format, ...)
{
	size_t len = strlen(out);
	va_list args;

	va_start(args, format);
	vsnprintf(out + len, size - len, format, args);
	va_end(args);
}

static void add_token(struct tw_json_reader *r, char *out, size_t size)
{
	switch (r->token) {
	case TW_JSON_OBJECT:
	case TW_JSON_OBJECT_END:
		add(out, size, r->token == TW_JSON_OBJECT ? "{" : "}");
		break;
	case TW_JSON_ARRAY:
	case TW_JSON_ARRAY_END:
		add(out, size, r->token == TW_JSON_ARRAY ? "[" : "]");
		break;
	case TW_JSON_KEY:
		add(out, size, "%s:", r->string);
		break;
	case TW_JSON_STRING:
		add(out, size, "<%.*s>", (int)r->string_len, r->string);
		break;
	case TW_JSON_NUMBER:
		if (r->is_integer)
			add(out, size, "i%lld ", (long long)r->integer);
		else
			add(out, size, "%.17g ", r->number);
		break;
	case TW_JSON_BOOL:
		add(out, size, r->boolean ? "T" : "F");
		break;
	case TW_JSON_NULL:
		add(out, size, "N");
		break;
	case TW_JSON_BAD:
	case TW_JSON_END:
		break;
	}
}

/* The text is in memory of its own, without a NUL, so that reading behind it is seen. */
static const char *tokens(const char *text, size_t len, struct trawl_error *err)
{
	static char out[4096];
	char *copy = malloc(len ? len : 1);
	struct tw_json_reader r;

	assert_non_null(copy);
	memcpy(copy, text, len);
	out[0] = '\0';
	err->status = 0;
	tw_json_reader_init(&r, copy, len, trawl_allocator_default());
	while (tw_json_next(&r) != TW_JSON_END && r.token != TW_JSON_BAD)
		add_token(&r, out, sizeof(out));
	if (tw_json_reader_end(&r, "x.json", err) == 0)
		err->message[0] = '\0';
	free(copy);
	return out;
}

static void expect(const char *text, const char *wanted)
{
	struct trawl_error err;
	const char *found = tokens(text, strlen(text), &err);

	if (err.message[0])
		fail_msg("%s: %s", text, err.message);
	assert_string_equal(found, wanted);
}

/* Refused, with "LINE:COLUMN: text". */
static void refuse(const char *text, const char *wanted)
{
	struct trawl_error err;
	char message[200];

	tokens(text, strlen(text), &err);
	snprintf(message, sizeof(message), "x.json:%s", wanted);
	if (strncmp(err.message, message, strlen(message)))
		fail_msg("%s: '%s', not '%s'", text, err.message, message);
	assert_int_equal(err.status, TRAWL_EFORMAT);
}

static void test_documents(void **state)
{
	expect("{}", "{}");
	expect(" [ ] \n", "[]");
	expect("[[],{},[1,[2]]]", "[[]{}[i1 [i2 ]]]");
	expect("{\"a\": 1, \"b\" :[true,false , null], \"\":\"x\"}", "{a:i1 b:[TFN]:<x>}");
	expect("\"alone\"", "<alone>");
	expect("\xEF\xBB\xBF[0]", "[i0 ]");
}

static void test_numbers(void **state)
{
	expect("[0,-0,12,-345]", "[i0 i0 i12 i-345 ]");
	expect("[0.5,1e3,-2.5E-1,1E+2]", "[0.5 1000 -0.25 100 ]");
	expect("9223372036854775807", "i9223372036854775807 ");
	expect("9223372036854775808", "9.2233720368547758e+18 ");
	expect("12345678", "i12345678 ");
	refuse("01", "1:1: not a JSON value");
	refuse("[1.]", "1:2: not a JSON value");
	refuse("[.5]", "1:2: not a JSON value");
	refuse("[+1]", "1:2: not a JSON value");
	refuse("[1e]", "1:2: not a JSON value");
	refuse("[-]", "1:2: not a JSON value");
	refuse("NaN", "1:1: not a JSON value");
	refuse("[Infinity]", "1:2: not a JSON value");
	refuse("[1e999]", "1:2: number out of range");
	refuse("0x10", "1:2: text after the end");
}

static void test_strings(void **state)
{
	struct tw_json_reader r;
	struct trawl_error err;

	expect("\"a\\\"b\\\\c\\/\\n\\u00e9\\ud83d\\ude00\"",
	       "<a\"b\\c/\n\xC3\xA9\xF0\x9F\x98\x80>");
	/* A NUL is a character like others; the length says so. */
	tw_json_reader_init(&r, "\"a\\u0000b\"", 10, trawl_allocator_default());
	assert_int_equal(tw_json_next(&r), TW_JSON_STRING);
	assert_int_equal(r.string_len, 3);
	assert_memory_equal(r.string, "a\0b", 4);
	assert_false(tw_json_is(&r, "a"));
	assert_int_equal(tw_json_reader_end(&r, "x.json", &err), 0);
	refuse("[\"a", "1:2: unterminated string");
	refuse("[\"a\\", "1:2: unterminated string");
	refuse("[\"\\x\"]", "1:2: invalid escape");
	refuse("[\"\\u12\"]", "1:2: invalid escape");
	refuse("[\"\\ud83d\"]", "1:2: unpaired surrogate");
	refuse("[\"\t\"]", "1:2: control character");
	refuse("[\"\xFF\"]", "1:2: invalid UTF-8");
	refuse("['a']", "1:2: not a JSON value");
}

static void test_places(void **state)
{
	refuse("", "1:1: unexpected end");
	refuse("{\n  \"a\": 1,\n  \"b\" 2\n}", "3:7: expected ':'");
	refuse("{\n  \"a\": 1\n  \"b\": 2\n}", "3:3: expected ',' or '}'");
	refuse("[1 2]", "1:4: expected ',' or ']'");
	refuse("[1,]", "1:4: not a JSON value");
	refuse("[,1]", "1:2: not a JSON value");
	refuse("{\"a\":1,}", "1:8: expected a quoted key");
	refuse("{1:2}", "1:2: expected a quoted key");
	refuse("{\"a\"}", "1:5: expected ':'");
	refuse("{\"a\":}", "1:6: not a JSON value");
	refuse("[1}", "1:3: expected ',' or ']'");
	refuse("{\"a\":1]", "1:7: expected ',' or '}'");
	refuse("]", "1:1: not a JSON value");
	refuse("[[1]", "1:5: unexpected end");
	refuse("{\"a\":", "1:6: unexpected end");
	refuse("1 2", "1:3: text after the end");
	refuse("[] []", "1:4: text after the end");
	refuse("nul", "1:1: not a JSON value");
	refuse("// x\n1", "1:1: not a JSON value");
}

static void test_depth(void **state)
{
	static char text[2 * TW_JSON_READ_DEPTH + 3];
	struct trawl_error err;

	memset(text, '[', TW_JSON_READ_DEPTH);
	memset(text + TW_JSON_READ_DEPTH, ']', TW_JSON_READ_DEPTH);
	tokens(text, 2 * TW_JSON_READ_DEPTH, &err);
	assert_int_equal(err.status, 0);
	memset(text, '[', TW_JSON_READ_DEPTH + 1);
	tokens(text, TW_JSON_READ_DEPTH + 1, &err);
	assert_non_null(strstr(err.message, "1:513: nested too deeply"));
}

static void test_skip(void **state)
{
	static const char text[] =
		"{\"a\": {\"b\": [1, {}], \"c\": 2}, \"d\": [], \"e\": 7, \"f\": 8}";
	struct tw_json_reader r;
	struct trawl_error err;
	size_t line, column;

	tw_json_reader_init(&r, text, sizeof(text) - 1, trawl_allocator_default());
	assert_int_equal(tw_json_next(&r), TW_JSON_OBJECT);
	assert_int_equal(tw_json_next(&r), TW_JSON_KEY);
	assert_true(tw_json_is(&r, "a"));
	assert_false(tw_json_is(&r, "ab"));
	tw_json_skip(&r);
	assert_int_equal(tw_json_next(&r), TW_JSON_KEY);
	assert_true(tw_json_is(&r, "d"));
	assert_int_equal(tw_json_next(&r), TW_JSON_ARRAY);
	tw_json_skip(&r);
	assert_int_equal(tw_json_next(&r), TW_JSON_KEY);
	tw_json_skip(&r);
	assert_int_equal(r.integer, 7);
	assert_int_equal(tw_json_next(&r), TW_JSON_KEY);
	assert_int_equal(tw_json_next(&r), TW_JSON_NUMBER);
	tw_json_place(&r, &line, &column);
	assert_int_equal(column, strstr(text, "8") - text + 1);
	tw_json_reject(&r, "eight is too many");
	assert_int_equal(tw_json_next(&r), TW_JSON_BAD);
	assert_int_equal(tw_json_reader_end(&r, "f", &err), TRAWL_EFORMAT);
	assert_non_null(strstr(err.message, ": eight is too many"));
}

static void test_no_memory(void **state)
{
	static const char text[] = "[\"abc\", 1.5]";
	struct failing failing;
	struct tw_json_reader r;
	struct trawl_error err;

	failing_init(&failing, 0);
	tw_json_reader_init(&r, text, sizeof(text) - 1, &failing.allocator);
	assert_int_equal(tw_json_next(&r), TW_JSON_ARRAY);
	assert_int_equal(tw_json_next(&r), TW_JSON_BAD);
	assert_int_equal(tw_json_reader_end(&r, "f", &err), TRAWL_ENOMEM);
	assert_int_equal(failing.live_blocks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_documents), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_strings),	  cmocka_unit_test(test_places),
		cmocka_unit_test(test_depth),	  cmocka_unit_test(test_skip),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
