#include "text/str.h"
#include "base/alloc.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST 64

void tw_str_init(struct tw_str *str, const struct trawl_allocator *allocator)
{
	memset(str, 0, sizeof(*str));
	str->allocator = allocator;
}

void tw_str_release(struct tw_str *str)
{
	tw_free(str->allocator, str->ptr, str->capacity);
	tw_str_init(str, str->allocator);
}

void tw_str_clear(struct tw_str *str)
{
	str->len = 0;
	if (str->ptr)
		str->ptr[0] = '\0';
}

bool tw_str_reserve(struct tw_str *str, size_t more)
{
	size_t need, capacity;
	char *ptr;

	if (str->failed)
		return false;
	if (more < str->capacity - str->len)
		return true;
	if (__builtin_add_overflow(str->len, more, &need) || need > SIZE_MAX / 4) {
		str->failed = true;
		return false;
	}
	capacity = str->capacity * 2;
	if (capacity < need + 1)
		capacity = need + 1;
	if (capacity < SMALLEST)
		capacity = SMALLEST;
	ptr = tw_realloc(str->allocator, str->ptr, str->capacity, capacity);
	if (!ptr) {
		str->failed = true;
		return false;
	}
	str->ptr = ptr;
	str->capacity = capacity;
	str->ptr[str->len] = '\0';
	return true;
}

void tw_str_add(struct tw_str *str, const char *bytes, size_t len)
{
	if (!tw_str_reserve(str, len))
		return;
	if (len)
		memcpy(str->ptr + str->len, bytes, len);
	str->len += len;
	str->ptr[str->len] = '\0';
}

void tw_str_add_cstr(struct tw_str *str, const char *text)
{
	tw_str_add(str, text, strlen(text));
}

void tw_str_add_char(struct tw_str *str, char c)
{
	if (!tw_str_reserve(str, 1))
		return;
	str->ptr[str->len++] = c;
	str->ptr[str->len] = '\0';
}

void tw_str_addv(struct tw_str *str, const char *format, va_list args)
{
	va_list again;
	int len;

	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (len < 0) {
		str->failed = true;
		return;
	}
	if (!tw_str_reserve(str, (size_t)len))
		return;
	vsnprintf(str->ptr + str->len, (size_t)len + 1, format, args);
	str->len += (size_t)len;
}

void tw_str_addf(struct tw_str *str, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tw_str_addv(str, format, args);
	va_end(args);
}

/* --- integers and exact decimals ---------------------------------------------------------- */

/* Digits of `value` ending at `end`, at least `least` of them; gives their beginning. */
static char *put_digits(char *end, uint64_t value, unsigned least)
{
	char *p = end;

	while (value || p > end - least) {
		*--p = (char)('0' + value % 10);
		value /= 10;
	}
	return p;
}

static uint64_t magnitude(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

void tw_str_add_int(struct tw_str *str, int64_t value)
{
	char buffer[24], *end = buffer + sizeof(buffer), *p = put_digits(end, magnitude(value), 1);

	if (value < 0)
		*--p = '-';
	tw_str_add(str, p, (size_t)(end - p));
}

/* Scale is an unsigned char in a column's declaration: 255 zeros at most. */
#define LARGEST_SCALE 255

void tw_str_add_decimal(struct tw_str *str, int64_t value, unsigned scale)
{
	char buffer[LARGEST_SCALE + 32], *end = buffer + sizeof(buffer), *p;
	size_t fraction = scale > LARGEST_SCALE ? LARGEST_SCALE : scale;

	p = put_digits(end, magnitude(value), (unsigned)fraction + 1);
	if (value < 0)
		tw_str_add_char(str, '-');
	tw_str_add(str, p, (size_t)(end - p) - fraction);
	p = end - fraction;
	while (fraction && p[fraction - 1] == '0')
		fraction--;
	if (fraction) {
		tw_str_add_char(str, '.');
		tw_str_add(str, p, fraction);
	}
}

/* value / 10^count, halves away from zero. */
static uint64_t round_off(uint64_t value, unsigned count)
{
	unsigned last = 0;

	/* Only the digit right after the cut decides: the others cannot carry to a half. */
	while (count-- && (value || last)) {
		last = (unsigned)(value % 10);
		value /= 10;
	}
	return value + (last >= 5);
}

void tw_str_add_decimal_fixed(struct tw_str *str, int64_t value, unsigned scale, unsigned digits)
{
	char buffer[LARGEST_SCALE + 32], *end = buffer + sizeof(buffer), *p;
	unsigned kept = scale < digits ? scale : digits, i;
	uint64_t rounded = round_off(magnitude(value), scale - kept);

	if (kept > LARGEST_SCALE)
		kept = LARGEST_SCALE;
	p = put_digits(end, rounded, kept + 1);
	if (value < 0 && rounded)
		tw_str_add_char(str, '-');
	tw_str_add(str, p, (size_t)(end - p) - kept);
	if (!digits)
		return;
	tw_str_add_char(str, '.');
	tw_str_add(str, end - kept, kept);
	for (i = kept; i < digits; i++)
		tw_str_add_char(str, '0');
}

/* --- doubles ------------------------------------------------------------------------------ */

#define MAX_DIGITS 17

/* A finite positive double in decimal: 0.DIGITS x 10^point. */
struct decimal {
	char digits[MAX_DIGITS + 1];
	int count, point;
};

/* `count` significant digits, rounded; the decimal point of the locale is skipped. */
static void to_decimal(struct decimal *d, char text[64], double value, int count)
{
	const char *p;

	snprintf(text, 64, "%.*e", count - 1, value);
	d->count = 0;
	for (p = text; *p && *p != 'e'; p++)
		if (*p >= '0' && *p <= '9' && d->count < MAX_DIGITS)
			d->digits[d->count++] = *p;
	d->point = *p ? (int)strtol(p + 1, NULL, 10) + 1 : 1;
}

/* The next larger decimal of as many digits; false when it would need one more. */
static bool step_up(struct decimal *d, char text[64])
{
	char *e = strchr(text, 'e'), *p = e;
	int i;

	for (i = d->count - 1; i >= 0 && d->digits[i] == '9'; i--)
		d->digits[i] = '0';
	if (i < 0 || !e)
		return false;
	d->digits[i]++;
	/* The same step in the text: its digits are in the same order. */
	for (i = d->count - 1; i >= 0 && p > text;)
		if (*--p >= '0' && *p <= '9')
			*p = d->digits[i--];
	return true;
}

/*
 * 16 digits are not always enough, 17 are.  Between them: at a power of two the doubles above
 * are twice as far apart as those below, so that a decimal of 16 digits may read back although
 * the nearest one, on the other side, does not.
 */
static void shortest_long(struct decimal *d, double value)
{
	char text[64];
	int exponent;

	to_decimal(d, text, value, 16);
	if (strtod(text, NULL) == value)
		return;
	if (frexp(value, &exponent) == 0.5 && step_up(d, text) && strtod(text, NULL) == value)
		return;
	to_decimal(d, text, value, MAX_DIGITS);
}

/* Powers of ten that a double holds exactly. */
static const double exact_powers[] = { 1e0,  1e1,  1e2,	 1e3,  1e4,  1e5,  1e6,	 1e7,
				       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
				       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/*
 * Up to 15 digits in integers: n = value x 10^k, rounded, is below 10^15 and 10^k is exact, so
 * that n / 10^k is the double nearest to that decimal.  If it is `value`, the decimal reads
 * back; and if some decimal of 15 digits does, the product is within 0.25 of it, so none is missed.
 */
static bool shortest_short(struct decimal *d, double value)
{
	char buffer[24], *end = buffer + sizeof(buffer), *p;
	double scaled;
	int exponent, k;

	if (value < 1e-7 || value >= 1e15)
		return false;
	frexp(value, &exponent);
	/* 10^(digits before the point) > value; one digit too few is made good below. */
	k = 15 - (int)ceil(exponent * 0.30103);
	if (k < 0)
		k = 0;
	if (k > 22)
		k = 22;
	scaled = nearbyint(value * exact_powers[k]);
	if (scaled < 1e14 && k < 22)
		scaled = nearbyint(value * exact_powers[++k]);
	if (scaled >= 1e15 || scaled / exact_powers[k] != value)
		return false;
	p = put_digits(end, (uint64_t)scaled, 1);
	d->count = (int)(end - p);
	d->point = d->count - k;
	memcpy(d->digits, p, (size_t)d->count);
	return true;
}

/* number / 2^bits, halves to the even number. */
static uint64_t shift_off(unsigned __int128 number, int bits)
{
	unsigned __int128 half = (unsigned __int128)1 << (bits - 1), rest = number & (2 * half - 1);
	uint64_t whole = (uint64_t)(number >> bits);

	return whole + (rest > half || (rest == half && whole & 1));
}

/*
 * 16 digits, or 17 where these do not read back, of what has no 15: value = m / 2^s, so that
 * value x 10^k = m x 5^k / 2^(s - k), of which 128 bits hold all.
 */
static bool shortest_exact(struct decimal *d, double value)
{
	int exponent, k, i;
	uint64_t m = (uint64_t)ldexp(frexp(value, &exponent), 53), five = 1, number;
	char buffer[24], *end = buffer + sizeof(buffer), *p;
	unsigned __int128 scaled, near, off;

	/* At a power of two the doubles below are nearer than those above. */
	if (value < 1e-7 || value >= 1e15 || !(m & (m - 1)))
		return false;
	k = 16 - (int)ceil(exponent * 0.30103);
	for (i = 0; i < k; i++)
		five *= 5;
	scaled = five * (unsigned __int128)m;
	number = shift_off(scaled, 53 - exponent - k);
	if (number < 1000000000000000) {
		k++;
		five *= 5;
		scaled *= 5;
		number = shift_off(scaled, 53 - exponent - k);
	}
	near = (unsigned __int128)number << (53 - exponent - k);
	off = 2 * (near > scaled ? near - scaled : scaled - near);
	/* Doubles are 5^k apart here; what lies between two reads back as the even one. */
	if (off > five || (off == five && m & 1)) {
		k++;
		number = shift_off(scaled * 5, 53 - exponent - k);
	}
	p = put_digits(end, number, 1);
	d->count = (int)(end - p);
	d->point = d->count - k;
	memcpy(d->digits, p, (size_t)d->count);
	return true;
}

/* Below the normal range doubles have fewer digits than 15: count up. */
static void shortest_subnormal(struct decimal *d, double value)
{
	char text[64];
	int count;

	for (count = 1; count <= MAX_DIGITS; count++) {
		to_decimal(d, text, value, count);
		if (strtod(text, NULL) == value)
			return;
	}
}

static void shortest(struct decimal *d, double value)
{
	char text[64];

	if (shortest_short(d, value) || shortest_exact(d, value))
		return;
	if (fpclassify(value) == FP_SUBNORMAL) {
		shortest_subnormal(d, value);
		return;
	}
	to_decimal(d, text, value, 15);
	if (strtod(text, NULL) != value)
		shortest_long(d, value);
}

static void add_zeros(struct tw_str *str, int count)
{
	while (count-- > 0)
		tw_str_add_char(str, '0');
}

static void add_scientific(struct tw_str *str, const struct decimal *d)
{
	int exponent = d->point - 1;

	tw_str_add_char(str, d->digits[0]);
	if (d->count > 1) {
		tw_str_add_char(str, '.');
		tw_str_add(str, d->digits + 1, (size_t)d->count - 1);
	}
	tw_str_addf(str, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
}

static void add_positional(struct tw_str *str, const struct decimal *d)
{
	int before = d->point < d->count ? d->point : d->count;

	if (d->point <= 0) {
		tw_str_add_cstr(str, "0.");
		add_zeros(str, -d->point);
		tw_str_add(str, d->digits, (size_t)d->count);
		return;
	}
	tw_str_add(str, d->digits, (size_t)before);
	add_zeros(str, d->point - d->count);
	if (d->count > before) {
		tw_str_add_char(str, '.');
		tw_str_add(str, d->digits + before, (size_t)(d->count - before));
	}
}

void tw_str_add_real(struct tw_str *str, double value)
{
	struct decimal d;

	if (!isfinite(value))
		return;
	if (signbit(value)) {
		tw_str_add_char(str, '-');
		value = -value;
	}
	if (value < 1e15 && value == (double)(int64_t)value) {
		tw_str_add_int(str, (int64_t)value);
		return;
	}
	shortest(&d, value);
	while (d.count > 1 && d.digits[d.count - 1] == '0')
		d.count--;
	/* Where Python changes to exponents. */
	if (d.point > 16 || d.point < -3)
		add_scientific(str, &d);
	else
		add_positional(str, &d);
}

void tw_str_add_real_fixed(struct tw_str *str, double value, unsigned digits)
{
	/* The largest double has 309 digits before its point. */
	char text[640], *p;
	bool nonzero = false;

	if (!isfinite(value))
		return;
	snprintf(text, sizeof(text), "%.*f", digits > LARGEST_SCALE ? LARGEST_SCALE : (int)digits,
		 value);
	for (p = text; *p; p++)
		nonzero = nonzero || (*p >= '1' && *p <= '9');
	for (p = text; *p; p++) {
		if (*p >= '0' && *p <= '9')
			tw_str_add_char(str, *p);
		else if (*p == '-' && nonzero)
			tw_str_add_char(str, '-');
		else if (p > text && p[-1] >= '0' && p[-1] <= '9')
			tw_str_add_char(str, '.');
	}
}

void tw_str_note(struct tw_str *notes, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tw_str_addv(notes, format, args);
	va_end(args);
	tw_str_add_char(notes, '\0');
}

void tw_str_tell(const struct tw_str *notes, void (*note)(void *context, const char *line),
		 void *context)
{
	size_t at;

	for (at = 0; note && at < notes->len; at += strlen(notes->ptr + at) + 1)
		note(context, notes->ptr + at);
}

bool tw_ends_with(const char *text, const char *ending)
{
	size_t len = strlen(text), ending_len = strlen(ending);

	return len >= ending_len && !strcmp(text + len - ending_len, ending);
}
