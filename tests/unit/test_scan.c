/* Numbers, brackets and strings of JSON text: text/scan.h and text/text.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/scan.h"
#include "text/text.h"
#include "io/feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- help ---- */

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % n;
}

/* A block with the text at `shift`, exactly as long as windows are: sentinel quotes behind. */
static char *window_of(const char *text, size_t len, size_t shift)
{
	char *block = malloc(shift + len + TW_FEED_SENTINEL);

	assert_non_null(block);
	memset(block, 'x', shift);
	memcpy(block + shift, text, len);
	memset(block + shift + len, '"', TW_FEED_SENTINEL);
	return block;
}

/* ---- times ---- */

/* The time in `text`, of which `used` bytes are the number. */
static void check_time(const char *text, size_t used, int64_t right)
{
	char *window = window_of(text, strlen(text), 0);
	int64_t ns = 12345;
	const char *behind = tw_parse_time_ns(window, &ns);

	if (!behind || (size_t)(behind - window) != used || ns != right)
		print_error("time '%s'\n", text);
	assert_non_null(behind);
	assert_int_equal(behind - window, used);
	assert_int_equal(ns, right);
	free(window);
}

static void time_is(const char *text, int64_t right)
{
	check_time(text, strlen(text), right);
}

static void no_time(const char *text)
{
	char *window = window_of(text, strlen(text), 0);
	int64_t ns;

	assert_null(tw_parse_time_ns(window, &ns));
	free(window);
}

static void test_time_plain(void **state)
{
	(void)state;
	time_is("0", 0);
	time_is("-0", 0);
	time_is("7", 7000);
	time_is("+7", 7000);
	time_is("-7", -7000);
	time_is("1.5", 1500);
	time_is("1.05", 1050);
	time_is("1.005", 1005);
	time_is("0.001", 1);
	time_is("-0.001", -1);
	time_is("6341077425389.367", 6341077425389367);
	time_is("1723542154000000.123", 1723542154000000123);
	time_is("0000012.5", 12500);
	time_is("1.", 1000);
	time_is(".5", 500);
	time_is("-.5", -500);
	check_time("12,", 2, 12000);
	check_time("12.25}", 5, 12250);
	check_time("12 ", 2, 12000);
	check_time("1.5.5", 3, 1500);
	check_time("1-2", 1, 1000);
	no_time("");
	no_time("-");
	no_time("+");
	no_time(".");
	no_time("-.");
	no_time("e5");
	no_time("x");
	no_time("--1");
}

static void test_time_halves(void **state)
{
	(void)state;
	time_is("0.0004", 0);
	time_is("0.0005", 1);
	time_is("-0.0005", -1);
	time_is("0.0014", 1);
	time_is("0.0015", 2);
	time_is("0.0025", 3);
	time_is("-0.0025", -3);
	time_is("0.00249999999999999999999999999999", 2);
	time_is("0.00250000000000000000000000000001", 3);
	time_is("0.00049999999999999999", 0);
	time_is("0.9995", 1000);
	time_is("0.9994999", 999);
	time_is("999.9999", 1000000);
	time_is("0.00005", 0);
	time_is("0.00000000000000000000000000000000000001", 0);
	time_is("0.00099999999999999999999999999999999999", 1);
}

static void test_time_exponents(void **state)
{
	(void)state;
	time_is("1e0", 1000);
	time_is("1e3", 1000000);
	time_is("1E3", 1000000);
	time_is("1e+3", 1000000);
	time_is("1.5e2", 150000);
	time_is("15e-1", 1500);
	time_is("1e-3", 1);
	time_is("4e-4", 0);
	time_is("5e-4", 1);
	time_is("5e-5", 0);
	time_is("-1.7e-3", -2);
	time_is("6.3410774e+12", 6341077400000000);
	time_is("1.7235421540001234e15", 1723542154000123400);
	time_is("0e999999999999", 0);
	time_is("0.000e99", 0);
	time_is("1e-999999999999", 0);
	time_is("123456789e-9", 123);
	time_is("1e00000000000000003", 1000000);
	/* As strtod and Python would, an exponent without digits is none: not a number here. */
	no_time("1e");
	no_time("1e+");
	no_time("1ex");
}

static void test_time_many_digits(void **state)
{
	(void)state;
	time_is("123456789012345.678901234567890", 123456789012345679);
	time_is("123456789012345.678499999999999", 123456789012345678);
	time_is("1.00000000000000000000000000000", 1000);
	time_is("000000000000000000000000000001.5", 1500);
	time_is("0.00000000000000000000000000015e26", 15);
	time_is("100000000000000000000000000000e-26", 1000000);
	time_is("123456789012345678901234567890e-20", 1234567890123);
	time_is("999999999999999999999999999999e-30", 1000);
}

static void test_time_overflow(void **state)
{
	(void)state;
	time_is("9223372036854775.807", INT64_MAX);
	time_is("9223372036854775.806", INT64_MAX - 1);
	time_is("9223372036854775.8065", INT64_MAX);
	time_is("9223372036854775.8064999", INT64_MAX - 1);
	time_is("9223372036854775.8075", INT64_MAX);
	time_is("9223372036854775.808", INT64_MAX);
	time_is("-9223372036854775.807", -INT64_MAX);
	time_is("-9223372036854775.808", -INT64_MAX);
	time_is("9223372036854776", INT64_MAX);
	time_is("9223372036854775807", INT64_MAX);
	time_is("18446744073709551615", INT64_MAX);
	time_is("18446744073709552", INT64_MAX);
	time_is("18446744073709551616000", INT64_MAX);
	time_is("-18446744073709551616000", -INT64_MAX);
	time_is("1e16", INT64_MAX);
	time_is("1e300", INT64_MAX);
	time_is("-1e300", -INT64_MAX);
	time_is("1e99999999999999999999", INT64_MAX);
	time_is("123456789012345678901234567890", INT64_MAX);
	time_is("922337203685477580.7e-2", INT64_MAX);
	time_is("9223372036854775807e-3", INT64_MAX);
	time_is("9223372036854775806e-3", INT64_MAX - 1);
}

/* The same by moving the point in the digits themselves and looking at the first one dropped. */
static int64_t time_by_digits(const char *digits, int point, int exponent, bool negative)
{
	int count = (int)strlen(digits), last = point + exponent + 3, i;
	unsigned __int128 value = 0;

	for (i = 0; i < last && value < (unsigned __int128)1 << 100; i++)
		value = value * 10 + (unsigned)(i < count ? digits[i] - '0' : 0);
	if (last >= 0 && last < count && digits[last] >= '5')
		value++;
	if (value > INT64_MAX)
		value = INT64_MAX;
	return negative ? -(int64_t)value : (int64_t)value;
}

static void test_time_random(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 200000; round++) {
		char digits[40], text[80], *p = text;
		int count = 1 + (int)random_below(32),
		    point = (int)random_below((uint32_t)count + 1);
		int exponent = random_below(3) ? 0 : (int)random_below(50) - 25, i;
		bool negative = !random_below(4);

		for (i = 0; i < count; i++)
			/* Runs of 0, 4, 5 and 9 are where rounding goes wrong. */
			digits[i] = "01234567890459"[random_below(2) ? random_below(10) :
								       10 + random_below(4)];
		digits[count] = 0;
		if (negative)
			*p++ = '-';
		p += sprintf(p, "%.*s", point, digits);
		if (point < count)
			p += sprintf(p, ".%s", digits + point);
		if (exponent)
			p += sprintf(p, "e%d", exponent);
		check_time(text, strlen(text), time_by_digits(digits, point, exponent, negative));
	}
}

/* ---- digits ---- */

static void digits_are(const char *text, unsigned right_digits, uint64_t right)
{
	char *window = window_of(text, strlen(text), 0);
	uint64_t value = 1;
	unsigned digits = 99, eight;
	const char *behind = tw_parse_digits(window, &value, &digits);

	assert_int_equal(digits, right_digits);
	assert_int_equal(behind - window, right_digits);
	if (digits <= 18)
		assert_int_equal(value, right);
	value = tw_parse_digits8(window, &eight);
	assert_int_equal(eight, right_digits < 8 ? right_digits : 8);
	if (right_digits <= 8)
		assert_int_equal(value, right);
	free(window);
}

static void test_digits(void **state)
{
	int c, at;

	(void)state;
	digits_are("", 0, 0);
	digits_are("x", 0, 0);
	digits_are("-1", 0, 0);
	digits_are("0", 1, 0);
	digits_are("7", 1, 7);
	digits_are("007", 3, 7);
	digits_are("1234567", 7, 1234567);
	digits_are("12345678", 8, 12345678);
	digits_are("99999999", 8, 99999999);
	digits_are("123456789", 9, 123456789);
	digits_are("1234567812345678", 16, 1234567812345678);
	digits_are("12345678123456789", 17, 12345678123456789);
	digits_are("999999999999999999", 18, 999999999999999999);
	digits_are("1234567890123456789", 19, 0);
	digits_are("123456789012345678901234", 24, 0);
	digits_are("12.5", 2, 12);
	digits_are("12345678.5", 8, 12345678);
	/* No other byte is taken for a digit, wherever it stands. */
	for (at = 0; at < 16; at++) {
		for (c = 0; c < 256; c++) {
			char text[17] = "1111111111111111";
			uint64_t value, right = 0;
			unsigned digits;
			char *window;
			int i;

			if (c >= '0' && c <= '9')
				continue;
			text[at] = (char)c;
			for (i = 0; i < at; i++)
				right = right * 10 + 1;
			window = window_of(text, 16, 0);
			tw_parse_digits(window, &value, &digits);
			assert_int_equal(digits, at);
			assert_int_equal(value, right);
			free(window);
		}
	}
}

static void test_digits_random(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 100000; round++) {
		char text[24];
		uint64_t right;
		unsigned count = 1 + random_below(18), i;

		for (i = 0; i < count; i++)
			text[i] = (char)('0' + random_below(10));
		text[count] = 0;
		right = strtoull(text, NULL, 10);
		text[count] = "\",.}e "[random_below(6)];
		text[count + 1] = 0;
		digits_are(text, count, right);
	}
}

/* ---- doubles ---- */

static int64_t ordered_bits(double value)
{
	int64_t bits;

	memcpy(&bits, &value, 8);
	return bits < 0 ? INT64_MIN - bits : bits;
}

static int64_t check_real(const char *text)
{
	char *window = window_of(text, strlen(text), 0);
	double value = -1, right = strtod(text, NULL);
	const char *behind = tw_parse_real(window, &value);
	int64_t apart;

	assert_non_null(behind);
	assert_int_equal(behind - window, strlen(text));
	apart = ordered_bits(value) - ordered_bits(right);
	if (apart < -1 || apart > 1)
		print_error("real '%s': %.17g, should be %.17g\n", text, value, right);
	assert_in_range(apart + 1, 0, 2);
	free(window);
	return apart;
}

static void test_real_exact(void **state)
{
	static const char *const exact[] = { "0",
					     "1",
					     "-1",
					     "0.5",
					     "0.1",
					     "12.5",
					     "-2.25e3",
					     "1e22",
					     "1e-22",
					     "3.14",
					     "93.75",
					     "123456789.125",
					     "0.000001",
					     "1e5",
					     "1E-05",
					     "1e+16",
					     "51.8046875",
					     "9007199254740991",
					     "100000000000",
					     "99.99",
					     "2.5e-7",
					     "6.02e23" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
		assert_int_equal(check_real(exact[i]), 0);
	assert_null(tw_parse_real("x\"\"\"\"\"\"\"\"", &(double){ 0 }));
	assert_null(tw_parse_real("1e\"\"\"\"\"\"\"\"", &(double){ 0 }));
	assert_null(tw_parse_real("-\"\"\"\"\"\"\"\"", &(double){ 0 }));
}

static void test_real_extremes(void **state)
{
	static const char *const texts[] = {
		"1e300",
		"1e308",
		"1.7976931348623157e308",
		"1e309",
		"1e400",
		"1e5000",
		"1e99999999999",
		"2.2250738585072014e-308",
		"1e-310",
		"4.9e-324",
		"5e-324",
		"1e-400",
		"1e-99999999999",
		"18446744073709551615",
		"18446744073709551616",
		"123456789012345678901234567890",
		"0.123456789012345678901234567890",
		"9007199254740993",
		"0.00000000000000000000000000000000000000000000000001",
		"100000000000000000000000000000000000000000000000000000",
		"1.00000000000000011102230246251565",
	};
	char text[32];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		check_real(texts[i]);
		snprintf(text, sizeof(text), "-%.30s", texts[i]);
		check_real(text);
	}
}

static void test_real_random(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 300000; round++) {
		char text[80], *p = text;
		unsigned whole = random_below(12), fraction = random_below(20), i;
		int reach = random_below(4) ? 25 : 300;

		if (!random_below(3))
			*p++ = '-';
		*p++ = (char)('0' + random_below(10));
		for (i = 0; i < whole; i++)
			*p++ = (char)('0' + random_below(10));
		if (fraction) {
			*p++ = '.';
			for (i = 0; i < fraction; i++)
				*p++ = (char)('0' + random_below(10));
		}
		*p = 0;
		if (!random_below(2))
			sprintf(p, "e%d", (int)random_below((uint32_t)reach * 2) - reach);
		check_real(text);
	}
}

/* ---- brackets ---- */

/* Appends a list or object of random contents. */
static void add_nested(struct tw_str *out, unsigned depth)
{
	static const char *const inside[] = {
		"1",	    "\"\"",	   "\"a\"",
		"\"]\"",    "\"}}]]\"",	   "\"[{\"",
		"\"\\\"\"", "\"\\\\\"",	   "\"\\\\\\\"]\"",
		" ",	    "null",	   "\"x\\\"]y\\\\\"",
		"-1.5e3",   "\"\\u005d\"", "\"long enough for more than one step of sixteen: ]]]\"",
	};
	unsigned n = random_below(5), i;
	bool object = random_below(2);

	tw_str_add_cstr(out, object ? "{" : "[");
	for (i = 0; i < n; i++) {
		if (i)
			tw_str_add_cstr(out, ",");
		if (object)
			tw_str_add_cstr(out, "\"k{[\":");
		if (depth && random_below(2))
			add_nested(out, depth - 1);
		else
			tw_str_add_cstr(out, inside[random_below(15)]);
	}
	tw_str_add_cstr(out, object ? "}" : "]");
}

static void test_nested_random(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 3000; round++) {
		struct tw_str text;
		size_t len, shift, cut;
		char *window;

		tw_str_init(&text, trawl_allocator_default());
		add_nested(&text, 4);
		len = text.len;
		for (shift = 0; shift < 20; shift++) {
			/* Alone, then with more behind it that must not count. */
			window = window_of(text.ptr, len, shift);
			assert_ptr_equal(tw_scan_nested(window + shift, window + shift + len),
					 window + shift + len);
			free(window);
		}
		tw_str_add_cstr(&text, ",\"b\":[1]}]");
		for (shift = 0; shift < 20; shift++) {
			window = window_of(text.ptr, text.len, shift);
			assert_ptr_equal(tw_scan_nested(window + shift, window + shift + text.len),
					 window + shift + len);
			free(window);
		}
		for (cut = 1; cut < len && round < 100; cut++) {
			window = window_of(text.ptr, cut, cut % 16);
			assert_null(tw_scan_nested(window + cut % 16, window + cut % 16 + cut));
			free(window);
		}
		tw_str_release(&text);
	}
}

static void nested_ends(const char *text, ptrdiff_t right)
{
	size_t len = strlen(text), shift;

	for (shift = 0; shift < 33; shift++) {
		char *window = window_of(text, len, shift);
		const char *behind = tw_scan_nested(window + shift, window + shift + len);

		if (right < 0)
			assert_null(behind);
		else
			assert_int_equal(behind - (window + shift), right);
		free(window);
	}
}

static void test_nested_by_hand(void **state)
{
	(void)state;
	nested_ends("[]", 2);
	nested_ends("{}", 2);
	nested_ends("[[]]]", 4);
	nested_ends("[\"]\"]", 5);
	nested_ends("[\"\\\"]\"]", 7);
	nested_ends("[\"\\\\\"]", 6);
	nested_ends("[\"\\\\\"]\"]", 6);
	nested_ends("{\"a\":[{\"b\":[]}]},", 16);
	nested_ends("[", -1);
	nested_ends("[\"]", -1);
	nested_ends("[\"\\", -1);
	nested_ends("[\"\\\"", -1);
	nested_ends("[[[]]", -1);
	/* The end at, before and behind each edge of sixteen bytes, a backslash early or late. */
	nested_ends("[1,2,3,4,5,6,7,]", 16);
	nested_ends("[1,2,3,4,5,6,7,8]", 17);
	nested_ends("[\"\\n\",2,3,4,5,6]", 16);
	nested_ends("[1,2,3,4,5,6,\"\\\"]\"]", 19);
	nested_ends("[1,2,3,4,5,6,7\"\\\"]\"]", 20);
	nested_ends("[1,2,3,4,5,6,78\"\\\"]\"]", 21);
	/* Brackets are counted, not matched. */
	nested_ends("[}", 2);
}

static void test_nested_deep(void **state)
{
	const size_t depth = 100000;
	char *text = malloc(2 * depth + 1), *window;

	(void)state;
	assert_non_null(text);
	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	window = window_of(text, 2 * depth, 3);
	assert_ptr_equal(tw_scan_nested(window + 3, window + 3 + 2 * depth),
			 window + 3 + 2 * depth);
	assert_null(tw_scan_nested(window + 3, window + 3 + 2 * depth - 1));
	free(window);
	free(text);
}

/* The plain part of a string ends at the same byte as a byte-wise look finds. */
static void test_scan_string(void **state)
{
	unsigned at, c;

	(void)state;
	for (at = 0; at < 40; at++) {
		for (c = 0; c < 256; c++) {
			char text[48], *window;
			size_t right = c == '"' || c == '\\' || c < ' ' || c >= 128 ? at : 40;

			memset(text, 'a', sizeof(text));
			text[at] = (char)c;
			window = window_of(text, 40, at % 16);
			assert_int_equal(tw_scan_string(window + at % 16) - (window + at % 16),
					 right);
			free(window);
		}
	}
}

/* ---- strings ---- */

static void decodes(const char *text, size_t len, unsigned right_flaws, const char *right,
		    size_t right_len)
{
	/* Exactly as long as it is: reading behind its end is an error. */
	char *exact = malloc(len ? len : 1);
	struct tw_str out;
	unsigned flaws;

	assert_non_null(exact);
	memcpy(exact, text, len);
	tw_str_init(&out, trawl_allocator_default());
	flaws = tw_text_decode(exact, len, &out);
	if (flaws != right_flaws || out.len != right_len)
		print_error("decode '%.*s'\n", (int)len, text);
	assert_int_equal(flaws, right_flaws);
	assert_int_equal(out.len, right_len);
	if (right_len)
		assert_memory_equal(out.ptr, right, right_len);
	tw_str_release(&out);
	free(exact);
}

#define DECODES(text, flaws, right) decodes(text, sizeof(text) - 1, flaws, right, sizeof(right) - 1)

static void test_decode_good(void **state)
{
	(void)state;
	DECODES("", 0, "");
	DECODES("plain", 0, "plain");
	DECODES("\\\"\\\\\\/\\b\\f\\n\\r\\t", 0, "\"\\/\b\f\n\r\t");
	DECODES("\\u0041\\u00e9\\u20ac\\uFFFD", 0, "A\xc3\xa9\xe2\x82\xac\xef\xbf\xbd");
	DECODES("\\ud83d\\ude00", 0, "\xf0\x9f\x98\x80");
	DECODES("\\uD800\\uDC00\\uDBFF\\uDFFF", 0, "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
	DECODES("a\\u0000b", 0, "a\0b");
	DECODES("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 0, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	DECODES("\x7f", 0, "\x7f");
	DECODES("\\\\u0041", 0, "\\u0041");
}

static void test_decode_flaws(void **state)
{
	(void)state;
	DECODES("a\tb\n", TW_TEXT_CONTROL, "a\tb\n");
	DECODES("a\0b", TW_TEXT_CONTROL, "a\0b");
	DECODES("C:\\Windows\\system", TW_TEXT_ESCAPE, "C:\\Windows\\system");
	DECODES("\\x41", TW_TEXT_ESCAPE, "\\x41");
	DECODES("end\\", TW_TEXT_ESCAPE, "end\\");
	DECODES("\\", TW_TEXT_ESCAPE, "\\");
	DECODES("\\u", TW_TEXT_ESCAPE, "\\u");
	DECODES("\\u12", TW_TEXT_ESCAPE, "\\u12");
	DECODES("\\u12g4", TW_TEXT_ESCAPE, "\\u12g4");
	DECODES("\\\0", TW_TEXT_ESCAPE | TW_TEXT_CONTROL, "\\\0");
	DECODES("\\ud83d", TW_TEXT_SURROGATE, "\xef\xbf\xbd");
	DECODES("\\ud83dx", TW_TEXT_SURROGATE, "\xef\xbf\xbdx");
	DECODES("\\ude00", TW_TEXT_SURROGATE, "\xef\xbf\xbd");
	DECODES("\\ud83d\\u0041", TW_TEXT_SURROGATE,
		"\xef\xbf\xbd"
		"A");
	DECODES("\\ud83d\\ud83d\\ude00", TW_TEXT_SURROGATE, "\xef\xbf\xbd\xf0\x9f\x98\x80");
	DECODES("\\ud83d\\n", TW_TEXT_SURROGATE, "\xef\xbf\xbd\n");
	DECODES("\\ud83d\\u12", TW_TEXT_SURROGATE | TW_TEXT_ESCAPE, "\xef\xbf\xbd\\u12");
	DECODES("\xff", TW_TEXT_UTF8, "\xef\xbf\xbd");
	DECODES("a\x80z", TW_TEXT_UTF8, "a\xef\xbf\xbdz");
	DECODES("\xc3", TW_TEXT_UTF8, "\xef\xbf\xbd");
	DECODES("\xc3z", TW_TEXT_UTF8, "\xef\xbf\xbdz");
	/* The longest good beginning counts as one bad character, as Unicode advises. */
	DECODES("\xe2\x82z", TW_TEXT_UTF8, "\xef\xbf\xbdz");
	DECODES("\xf0\x9f\x98z", TW_TEXT_UTF8, "\xef\xbf\xbdz");
	/* Overlong, a surrogate, above U+10FFFF: no byte begins anything. */
	DECODES("\xc0\x80", TW_TEXT_UTF8, "\xef\xbf\xbd\xef\xbf\xbd");
	DECODES("\xed\xa0\x80", TW_TEXT_UTF8, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	DECODES("\xf4\x90\x80\x80", TW_TEXT_UTF8,
		"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	DECODES("\x01\\q\xff\\udc00",
		TW_TEXT_CONTROL | TW_TEXT_ESCAPE | TW_TEXT_UTF8 | TW_TEXT_SURROGATE,
		"\x01\\q\xef\xbf\xbd\xef\xbf\xbd");
}

/* ---- values ---- */

static void checks(const char *text, size_t len, unsigned right)
{
	char *exact = malloc(len ? len : 1);
	unsigned flaws;

	assert_non_null(exact);
	memcpy(exact, text, len);
	flaws = tw_text_check(exact, len);
	free(exact);
	if (flaws != right)
		print_error("check '%.*s': %u, should be %u\n", (int)(len < 100 ? len : 100), text,
			    flaws, right);
	assert_int_equal(flaws, right);
}

#define CHECKS(text, right) checks(text, sizeof(text) - 1, right)

static void test_check_good(void **state)
{
	(void)state;
	CHECKS("1", 0);
	CHECKS(" -1.5e+3 ", 0);
	CHECKS("true", 0);
	CHECKS("false", 0);
	CHECKS("null", 0);
	CHECKS("\"a\"", 0);
	CHECKS("\"\"", 0);
	CHECKS("[]", 0);
	CHECKS("{}", 0);
	CHECKS("[ ]", 0);
	CHECKS("{ }", 0);
	CHECKS("[1,2]", 0);
	CHECKS("[[],{},[[]]]", 0);
	CHECKS("{\"a\":1,\"b\":[1,{\"c\":null}],\"d\":\"x\"}", 0);
	CHECKS(" { \"a\" : [ 1 , 2 ] , \"b\" : { } } \n", 0);
	CHECKS("[\"\\\"]\"]", 0);
	CHECKS("[\"\\u0041\\n\"]", 0);
	CHECKS("[[[[],[2,3]],[]],[\"a\",1]]", 0);
}

static void mends(const char *text, const char *right)
{
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	tw_text_mend_surrogates(text, strlen(text), &out);
	tw_str_add_cstr(&out, "");
	assert_string_equal(out.ptr, right);
	tw_str_release(&out);
}

static void test_half_surrogates_of_a_value(void **state)
{
	(void)state;
	CHECKS("[\"\\ud83d\\ude00\"]", 0);
	CHECKS("[\"\\ud83d\"]", TW_TEXT_SURROGATE);
	CHECKS("{\"\\ude00\":1}", TW_TEXT_SURROGATE);
	CHECKS("\"\\ud83d\\ud83d\\ude00\"", TW_TEXT_SURROGATE);
	CHECKS("\"\\ud83d\\u12\"", TW_TEXT_SURROGATE | TW_TEXT_ESCAPE);
	/* A backslash that stands for itself begins no escape. */
	CHECKS("\"\\\\ud83d\"", 0);
	mends("", "");
	mends("[1,\"\\\\ud800\"]", "[1,\"\\\\ud800\"]");
	mends("[\"\\ud83d\\ude00\"]", "[\"\\ud83d\\ude00\"]");
	mends("[\"\\ud83d\\ud83d\\ude00x\\udc00\"]", "[\"\\ufffd\\ud83d\\ude00x\\ufffd\"]");
	mends("\\ud800\\", "\\ufffd\\");
}

static void test_check_flaws(void **state)
{
	(void)state;
	CHECKS("", TW_TEXT_SYNTAX);
	CHECKS(" ", TW_TEXT_SYNTAX);
	CHECKS("[", TW_TEXT_SYNTAX);
	CHECKS("]", TW_TEXT_SYNTAX);
	CHECKS("[1", TW_TEXT_SYNTAX);
	CHECKS("[1,", TW_TEXT_SYNTAX);
	CHECKS("[1,]", TW_TEXT_SYNTAX);
	CHECKS("[,1]", TW_TEXT_SYNTAX);
	CHECKS("[1 2]", TW_TEXT_SYNTAX);
	CHECKS("[1,,2]", TW_TEXT_SYNTAX);
	CHECKS("[1}", TW_TEXT_SYNTAX);
	CHECKS("{\"a\":1]", TW_TEXT_SYNTAX);
	CHECKS("{\"a\"}", TW_TEXT_SYNTAX);
	CHECKS("{\"a\":}", TW_TEXT_SYNTAX);
	CHECKS("{\"a\" 1}", TW_TEXT_SYNTAX);
	CHECKS("{a:1}", TW_TEXT_SYNTAX);
	CHECKS("{1:1}", TW_TEXT_SYNTAX);
	CHECKS("{\"a\":1,}", TW_TEXT_SYNTAX);
	CHECKS("{\"a\":1 \"b\":2}", TW_TEXT_SYNTAX);
	CHECKS("[\"a\":1]", TW_TEXT_SYNTAX);
	CHECKS("[1]]", TW_TEXT_SYNTAX);
	CHECKS("[1] 2", TW_TEXT_SYNTAX);
	CHECKS("[...]", TW_TEXT_SYNTAX);
	CHECKS("[1, ...]", TW_TEXT_SYNTAX);
	CHECKS("[None]", TW_TEXT_SYNTAX);
	CHECKS("[True]", TW_TEXT_SYNTAX);
	CHECKS("\"a", TW_TEXT_SYNTAX);
	CHECKS("[\"a", TW_TEXT_SYNTAX);
	CHECKS("[-]", TW_TEXT_SYNTAX);
	CHECKS("[+1]", TW_TEXT_SYNTAX);
	CHECKS("[.5]", TW_TEXT_SYNTAX);
	CHECKS("['a']", TW_TEXT_SYNTAX);
	CHECKS("[truex]", TW_TEXT_SYNTAX);
	CHECKS("[NaN]", TW_TEXT_NAN);
	CHECKS("[nan, -nan]", TW_TEXT_NAN);
	CHECKS("{\"a\":Infinity,\"b\":-Infinity}", TW_TEXT_NAN);
	CHECKS("[inf,-inf]", TW_TEXT_NAN);
	CHECKS("[\"a\tb\"]", TW_TEXT_CONTROL);
	CHECKS("{\"a\nb\":1}", TW_TEXT_CONTROL);
	CHECKS("[\"\\d\"]", TW_TEXT_ESCAPE);
	CHECKS("[\"\\u12\"]", TW_TEXT_ESCAPE);
	CHECKS("[\"\xff\"]", TW_TEXT_UTF8);
	CHECKS("[\"\xc3\"]", TW_TEXT_UTF8);
	CHECKS("[NaN,\"\t\",\"\\d\",\"\xff\",]",
	       TW_TEXT_NAN | TW_TEXT_CONTROL | TW_TEXT_ESCAPE | TW_TEXT_UTF8 | TW_TEXT_SYNTAX);
}

static void test_check_numbers(void **state)
{
	(void)state;
	CHECKS("[0,-0,10,0.5,-1.25,1e5,1E+05,2.5e-07,123456789012345678901234567890]", 0);
	CHECKS("[1.5.5]", TW_TEXT_SYNTAX);
	CHECKS("[1-2]", TW_TEXT_SYNTAX);
	CHECKS("[1e]", TW_TEXT_SYNTAX);
	CHECKS("[1e5e5]", TW_TEXT_SYNTAX);
	CHECKS("[1.]", TW_TEXT_SYNTAX);
	CHECKS("[1+]", TW_TEXT_SYNTAX);
	CHECKS("[01]", TW_TEXT_SYNTAX);
}

static void test_check_deep(void **state)
{
	const size_t depth = 200000;
	char *text = malloc(2 * depth);
	size_t i;

	(void)state;
	assert_non_null(text);
	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	checks(text, 2 * depth, 0);
	checks(text, 2 * depth - 1, TW_TEXT_SYNTAX);
	checks(text + 1, 2 * depth - 1, TW_TEXT_SYNTAX);
	/* Kinds of brackets are told apart in the outer levels. */
	for (i = 1; i <= 64; i++) {
		text[2 * depth - i] = '}';
		checks(text, 2 * depth, TW_TEXT_SYNTAX);
		text[2 * depth - i] = ']';
	}
	free(text);
}

/* ---- members and elements ---- */

static void member_is(const char *text, const char *key, const char *right)
{
	size_t len = strlen(text), value_len = 99;
	char *exact = malloc(len ? len : 1);
	const char *value;

	assert_non_null(exact);
	memcpy(exact, text, len);
	value = tw_text_member(exact, len, key, &value_len);
	if (!right) {
		assert_null(value);
	} else {
		assert_non_null(value);
		assert_int_equal(value_len, strlen(right));
		assert_memory_equal(value, right, value_len);
	}
	free(exact);
}

static void test_member(void **state)
{
	static const char text[] = " { \"a\" : 1 , \"bc\":\"x,\\\"}\", \"d\":{\"e\":2, \"a\":7},"
				   "\"f\":[1,{\"g\":3}],\"a\":9,\"n\":null,\"z\":-1.5e3}";

	(void)state;
	member_is(text, "a", "1");
	member_is(text, "bc", "\"x,\\\"}\"");
	member_is(text, "d", "{\"e\":2, \"a\":7}");
	member_is(text, "f", "[1,{\"g\":3}]");
	member_is(text, "n", "null");
	member_is(text, "z", "-1.5e3");
	member_is(text, "e", NULL);
	member_is(text, "g", NULL);
	member_is(text, "b", NULL);
	member_is(text, "", NULL);
	member_is("{\"\":5}", "", "5");
	member_is("", "a", NULL);
	member_is("[]", "a", NULL);
	member_is("{}", "a", NULL);
	member_is("{", "a", NULL);
	member_is("{\"a", "a", NULL);
	member_is("{\"a\"", "a", NULL);
	member_is("{\"a\":", "a", NULL);
	member_is("{\"a\":\"x", "a", NULL);
	member_is("{\"a\":[1", "a", NULL);
	member_is("{\"b\":1 \"a\":2}", "a", NULL);
	member_is("{b:1,\"a\":2}", "a", NULL);
}

static void element_is(const char *text, size_t n, const char *right)
{
	size_t len = strlen(text), value_len = 99;
	char *exact = malloc(len ? len : 1);
	const char *value;

	assert_non_null(exact);
	memcpy(exact, text, len);
	value = tw_text_element(exact, len, n, &value_len);
	if (!right) {
		assert_null(value);
	} else {
		assert_non_null(value);
		assert_int_equal(value_len, strlen(right));
		assert_memory_equal(value, right, value_len);
	}
	free(exact);
}

static void test_element(void **state)
{
	static const char text[] = "[1, [2,3] ,\"a,]\",{\"b\":[4]}\n,null ]";

	(void)state;
	element_is(text, 0, "1");
	element_is(text, 1, "[2,3]");
	element_is(text, 2, "\"a,]\"");
	element_is(text, 3, "{\"b\":[4]}");
	element_is(text, 4, "null");
	element_is(text, 5, NULL);
	element_is(text, 1000, NULL);
	element_is("[]", 0, NULL);
	element_is("[ ]", 0, NULL);
	element_is("", 0, NULL);
	element_is("{}", 0, NULL);
	element_is("[", 0, NULL);
	element_is("[,1]", 0, NULL);
	element_is("[,1]", 1, NULL);
	element_is("[[1", 0, NULL);
	element_is("[1 2]", 1, NULL);
}

static void integer_is(const char *text, bool right, int64_t value)
{
	int64_t out = 99;

	assert_int_equal(tw_text_integer(text, strlen(text), &out), right);
	if (right)
		assert_int_equal(out, value);
}

static void test_integer(void **state)
{
	(void)state;
	integer_is("0", true, 0);
	integer_is("12", true, 12);
	integer_is("-12", true, -12);
	integer_is("\"34\"", true, 34);
	integer_is("\"-34\"", true, -34);
	integer_is("9223372036854775807", true, INT64_MAX);
	integer_is("-9223372036854775807", true, -INT64_MAX);
	integer_is("9223372036854775808", false, 0);
	integer_is("99999999999999999999", false, 0);
	integer_is("", false, 0);
	integer_is("\"\"", false, 0);
	integer_is("-", false, 0);
	integer_is("1.5", false, 0);
	integer_is("1e3", false, 0);
	integer_is("null", false, 0);
	integer_is("\"x\"", false, 0);
}

/* ---- a whole text as a number ---- */

static void real_is(const char *text)
{
	double value = 0, expected = strtod(text, NULL);

	assert_true(tw_text_real(text, strlen(text), &value));
	if (memcmp(&value, &expected, sizeof(value)) != 0)
		print_message("%s: %.17g, not %.17g\n", text, value, expected);
	assert_memory_equal(&value, &expected, sizeof(value));
}

/* Every bit, for doubles in 15 to 20 digits and texts of any digits. */
static void test_text_real_random(void **state)
{
	char text[64];
	int i;

	for (i = 0; i < 200000; i++) {
		uint64_t bits = (uint64_t)random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX);
		double value;

		memcpy(&value, &bits, sizeof(value));
		if (value != value || value - value != 0)
			continue;
		snprintf(text, sizeof(text), "%.*g", (int)(15 + random_below(6)), value);
		real_is(text);
		snprintf(text, sizeof(text), "%s%u.%09u%09ue%d", i % 2 ? "-" : "",
			 random_below(1000000000), random_below(1000000000),
			 random_below(1000000000), (int)random_below(40) - 20);
		real_is(text);
	}
}

static void test_text_real_forms(void **state)
{
	static const char *const numbers[] = { "0",
					       "-0",
					       "+5",
					       "1.",
					       ".5",
					       "1e400",
					       "-1e400",
					       "1e-400",
					       "5e-324",
					       "007",
					       "1E+2",
					       "2.2250738585072011e-308",
					       "1.5e-99999999999999999999",
					       "1.5e99999999999999999999" };
	static const char *const others[] = { "",   " 1",  "1 ",  "1x",	  "-",	 ".",  "e5",
					      "1e", "nan", "inf", "0x10", "1,5", "--1" };
	char longest[64];
	double value;
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		real_is(numbers[i]);
	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(tw_text_real(others[i], strlen(others[i]), &value));
	memset(longest, '7', sizeof(longest));
	assert_true(tw_text_real(longest, 55, &value));
	assert_false(tw_text_real(longest, 56, &value));
	/* What stands behind it is not looked at. */
	assert_true(tw_text_real("12345", 2, &value));
	assert_int_equal((int)value, 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_real_random),
		cmocka_unit_test(test_text_real_forms),
		cmocka_unit_test(test_time_plain),
		cmocka_unit_test(test_time_halves),
		cmocka_unit_test(test_time_exponents),
		cmocka_unit_test(test_time_many_digits),
		cmocka_unit_test(test_time_overflow),
		cmocka_unit_test(test_time_random),
		cmocka_unit_test(test_digits),
		cmocka_unit_test(test_digits_random),
		cmocka_unit_test(test_real_exact),
		cmocka_unit_test(test_real_extremes),
		cmocka_unit_test(test_real_random),
		cmocka_unit_test(test_nested_random),
		cmocka_unit_test(test_nested_by_hand),
		cmocka_unit_test(test_nested_deep),
		cmocka_unit_test(test_scan_string),
		cmocka_unit_test(test_decode_good),
		cmocka_unit_test(test_decode_flaws),
		cmocka_unit_test(test_check_good),
		cmocka_unit_test(test_half_surrogates_of_a_value),
		cmocka_unit_test(test_check_flaws),
		cmocka_unit_test(test_check_numbers),
		cmocka_unit_test(test_check_deep),
		cmocka_unit_test(test_member),
		cmocka_unit_test(test_element),
		cmocka_unit_test(test_integer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
