#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/str.h"
#include "text/utf8.h"
#include "failing.h"

static struct tw_str str;

static int setup(void **state)
{
	tw_str_init(&str, trawl_allocator_default());
	return 0;
}

static int teardown(void **state)
{
	tw_str_release(&str);
	return 0;
}

static const char *real(double value)
{
	tw_str_clear(&str);
	tw_str_add_real(&str, value);
	tw_str_add(&str, "", 0);
	return str.ptr;
}

static const char *decimal(int64_t value, unsigned scale)
{
	tw_str_clear(&str);
	tw_str_add_decimal(&str, value, scale);
	return str.ptr;
}

static const char *decimal_fixed(int64_t value, unsigned scale, unsigned digits)
{
	tw_str_clear(&str);
	tw_str_add_decimal_fixed(&str, value, scale, digits);
	return str.ptr;
}

static const char *real_fixed(double value, unsigned digits)
{
	tw_str_clear(&str);
	tw_str_add_real_fixed(&str, value, digits);
	tw_str_add(&str, "", 0);
	return str.ptr;
}

static void grows_and_stays_terminated(void **state)
{
	int i;

	assert_null(str.ptr);
	for (i = 0; i < 1000; i++) {
		tw_str_add_char(&str, (char)('a' + i % 26));
		assert_int_equal(str.ptr[str.len], 0);
	}
	assert_int_equal(str.len, 1000);
	tw_str_clear(&str);
	assert_string_equal(str.ptr, "");
	tw_str_add(&str, "a\0b", 3);
	assert_int_equal(str.len, 3);
	assert_memory_equal(str.ptr, "a\0b", 4);
	tw_str_addf(&str, "%d %s", 42, "x");
	assert_memory_equal(str.ptr, "a\0b42 x", 8);
	assert_true(tw_str_reserve(&str, 100000));
	assert_true(str.capacity > 100000);
	assert_int_equal(str.len, 7);
}

static void failure_is_sticky(void **state)
{
	struct failing failing;
	struct tw_str s;

	failing_init(&failing, 1);
	tw_str_init(&s, &failing.allocator);
	tw_str_add_cstr(&s, "kept");
	assert_false(s.failed);
	assert_false(tw_str_reserve(&s, 1 << 20));
	assert_true(s.failed);
	tw_str_add_cstr(&s, "x");
	tw_str_add_int(&s, 1);
	tw_str_addf(&s, "%d", 1);
	assert_string_equal(s.ptr, "kept");
	tw_str_clear(&s);
	assert_true(s.failed);
	tw_str_release(&s);
	assert_int_equal(failing.live_blocks, 0);
	assert_false(failing.wrong_size);
	tw_str_init(&s, &failing.allocator);
	assert_false(s.failed);
	assert_false(tw_str_reserve(&s, SIZE_MAX));
}

static void integers(void **state)
{
	tw_str_add_int(&str, INT64_MIN);
	tw_str_add_char(&str, ' ');
	tw_str_add_int(&str, INT64_MAX);
	tw_str_add_char(&str, ' ');
	tw_str_add_int(&str, 0);
	tw_str_add_char(&str, ' ');
	tw_str_add_int(&str, -7);
	assert_string_equal(str.ptr, "-9223372036854775808 9223372036854775807 0 -7");
}

static void exact_decimals(void **state)
{
	assert_string_equal(decimal(350000, 3), "350");
	assert_string_equal(decimal(350001, 3), "350.001");
	assert_string_equal(decimal(350100, 3), "350.1");
	assert_string_equal(decimal(1, 3), "0.001");
	assert_string_equal(decimal(-1, 3), "-0.001");
	assert_string_equal(decimal(-1500, 3), "-1.5");
	assert_string_equal(decimal(0, 3), "0");
	assert_string_equal(decimal(7, 0), "7");
	assert_string_equal(decimal(INT64_MIN, 3), "-9223372036854775.808");
	assert_string_equal(decimal(INT64_MAX, 6), "9223372036854.775807");
	assert_string_equal(decimal(5, 30), "0.000000000000000000000000000005");
	assert_string_equal(decimal(5, 1000) + 251, "000005");
}

static void rounded_decimals(void **state)
{
	assert_string_equal(decimal_fixed(350000, 3, 3), "350.000");
	assert_string_equal(decimal_fixed(350000, 3, 0), "350");
	assert_string_equal(decimal_fixed(1499, 3, 0), "1");
	assert_string_equal(decimal_fixed(1500, 3, 0), "2");
	assert_string_equal(decimal_fixed(-1500, 3, 0), "-2");
	assert_string_equal(decimal_fixed(-400, 3, 0), "0");
	assert_string_equal(decimal_fixed(1449, 3, 1), "1.4");
	assert_string_equal(decimal_fixed(9996, 3, 2), "10.00");
	assert_string_equal(decimal_fixed(1, 3, 2), "0.00");
	assert_string_equal(decimal_fixed(12, 1, 4), "1.2000");
	assert_string_equal(decimal_fixed(12, 0, 2), "12.00");
	assert_string_equal(decimal_fixed(49, 30, 0), "0");
	assert_string_equal(decimal_fixed(INT64_MIN, 3, 1), "-9223372036854775.8");
}

static void reals_as_python_writes_them(void **state)
{
	assert_string_equal(real(8), "8");
	assert_string_equal(real(0), "0");
	assert_string_equal(real(-0.0), "-0");
	assert_string_equal(real(0.1), "0.1");
	assert_string_equal(real(-2.5), "-2.5");
	assert_string_equal(real(0.1 + 0.2), "0.30000000000000004");
	assert_string_equal(real(1.0 / 3), "0.3333333333333333");
	assert_string_equal(real(2.0 / 3), "0.6666666666666666");
	assert_string_equal(real(1e-4), "0.0001");
	assert_string_equal(real(1e-5), "1e-05");
	assert_string_equal(real(1.5e-7), "1.5e-07");
	assert_string_equal(real(123456.75e-12), "1.2345675e-07");
	assert_string_equal(real(1e15), "1000000000000000");
	assert_string_equal(real(9007199254740993.0), "9007199254740992");
	assert_string_equal(real(1e16), "1e+16");
	assert_string_equal(real(1.5e300), "1.5e+300");
	assert_string_equal(real(1.7976931348623157e308), "1.7976931348623157e+308");
	assert_string_equal(real(DBL_MIN), "2.2250738585072014e-308");
	assert_string_equal(real(5e-324), "5e-324");
	assert_string_equal(real(1e-310), "1e-310");
	assert_string_equal(real(1e22), "1e+22");
	assert_string_equal(real(1e23), "1e+23");
	assert_string_equal(real(ldexp(1, -44)), "5.684341886080802e-14");
	assert_string_equal(real(5.8069411764705885), "5.8069411764705885");
	assert_string_equal(real(98.718), "98.718");
	assert_string_equal(real(999999999999999.9), "999999999999999.9");
	assert_string_equal(real(0.99999999999999989), "0.9999999999999999");
	assert_string_equal(real(NAN), "");
	assert_string_equal(real(INFINITY), "");
	assert_string_equal(real(-INFINITY), "");
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Whatever comes out reads back, and no decimal with fewer digits does. */
static void check_shortest(double value)
{
	char text[64];
	size_t digits = 0, i;
	const char *p = real(value);

	assert_true(strtod(p, NULL) == value);
	for (; *p && *p != 'e'; p++)
		digits += *p >= '0' && *p <= '9' && (digits || *p != '0');
	if (!strpbrk(real(value), ".e"))
		return;
	for (i = 1; i < digits && i <= 17; i++) {
		snprintf(text, sizeof(text), "%.*e", (int)i - 1, value);
		if (strtod(text, NULL) == value)
			fail_msg("%.17g: %s is longer than %s", value, real(value), text);
	}
}

static void reals_read_back(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15u;
	int i;

	for (i = 0; i < 40000; i++) {
		uint64_t bits = next_random(&seed);
		double value;

		memcpy(&value, &bits, sizeof(value));
		if (isfinite(value))
			check_shortest(fabs(value));
		check_shortest((double)(next_random(&seed) % 1000000007) / 1000.0);
		check_shortest((double)(next_random(&seed) % 1000003) / 997.0);
		check_shortest(ldexp(1, (int)(next_random(&seed) % 2000) - 1050));
		check_shortest((double)(next_random(&seed) >> 11) * 1e-16);
	}
}

static void rounded_reals(void **state)
{
	assert_string_equal(real_fixed(1.25, 1), "1.2");
	assert_string_equal(real_fixed(3.14159, 3), "3.142");
	assert_string_equal(real_fixed(-3.14159, 0), "-3");
	assert_string_equal(real_fixed(-0.001, 2), "0.00");
	assert_string_equal(real_fixed(0, 2), "0.00");
	assert_string_equal(real_fixed(NAN, 2), "");
	assert_int_equal(strlen(real_fixed(DBL_MAX, 2)), 312);
	assert_int_equal(strlen(real_fixed(DBL_MAX, 1000)), 309 + 1 + 255);
}

/* A locale that writes 1,5 may not be installed; then only the C locale is tried. */
static void locale_does_not_matter(void **state)
{
	static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
					     "fa_IR.UTF-8" };
	size_t i, tried = 0;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!setlocale(LC_ALL, names[i]))
			continue;
		tried++;
		assert_string_equal(real(0.1), "0.1");
		assert_string_equal(real(0.1 + 0.2), "0.30000000000000004");
		assert_string_equal(real(5e-324), "5e-324");
		assert_string_equal(real_fixed(1234.5, 2), "1234.50");
		setlocale(LC_ALL, "C");
	}
	setlocale(LC_ALL, "C");
	if (!tried)
		print_message("no locale with a decimal comma installed: C alone\n");
}

static void utf8_is_checked(void **state)
{
	static const struct {
		const char *text;
		size_t len, step;
		uint32_t code;
	} cases[] = {
		{ "a", 1, 1, 'a' },
		{ "\xC2\xB5", 2, 2, 0xB5 },
		{ "\xE2\x82\xAC", 3, 3, 0x20AC },
		{ "\xF0\x9F\x98\x80", 4, 4, 0x1F600 },
		{ "\xF4\x8F\xBF\xBF", 4, 4, 0x10FFFF },
		{ "\x80", 1, 1, TW_UTF8_BAD },
		{ "\xC0\xAF", 2, 1, TW_UTF8_BAD },	   /* overlong */
		{ "\xE0\x80\x80", 3, 1, TW_UTF8_BAD },	   /* overlong */
		{ "\xED\xA0\x80", 3, 1, TW_UTF8_BAD },	   /* surrogate */
		{ "\xF4\x90\x80\x80", 4, 1, TW_UTF8_BAD }, /* above U+10FFFF */
		{ "\xF5", 1, 1, TW_UTF8_BAD },
		{ "\xE2\x82", 2, 2, TW_UTF8_BAD }, /* cut */
		{ "\xE2\x82(", 3, 2, TW_UTF8_BAD },
		{ "\xF0\x9F\x98", 3, 3, TW_UTF8_BAD },
		{ "\xE2", 1, 1, TW_UTF8_BAD },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* Behind the end lies what would complete it. */
		char *copy = malloc(cases[i].len), back[4];
		uint32_t code;

		memcpy(copy, cases[i].text, cases[i].len);
		assert_int_equal(tw_utf8_next(copy, cases[i].len, &code), cases[i].step);
		assert_int_equal(code, cases[i].code);
		if (code != TW_UTF8_BAD) {
			assert_int_equal(tw_utf8_put(back, code), cases[i].len);
			assert_memory_equal(back, copy, cases[i].len);
		}
		free(copy);
	}
}

/* "..." stands for what there was no room for, and no character is cut in two. */
static void cuts_are_seen(void **state)
{
	static const struct {
		const char *text, *cut; /* to 8 bytes with the NUL */
	} cases[] = {
		{ "", "" },
		{ "1234567", "1234567" },
		{ "12345678", "1234..." },
		{ "123\xC3\xA9\xC3\xA9", "123\xC3\xA9\xC3\xA9" },
		{ "123\xC3\xA9\xC3\xA9.", "123..." },
		{ "\xF0\x9F\x98\x80\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80..." },
	};
	char to[8];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tw_cut_into(to, sizeof(to), cases[i].text, strlen(cases[i].text));
		assert_string_equal(to, cases[i].cut);
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(grows_and_stays_terminated),
		TEST(failure_is_sticky),
		TEST(integers),
		TEST(exact_decimals),
		TEST(rounded_decimals),
		TEST(reals_as_python_writes_them),
		TEST(reals_read_back),
		TEST(rounded_reals),
		TEST(locale_does_not_matter),
		TEST(utf8_is_checked),
		TEST(cuts_are_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
