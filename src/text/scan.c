#include "text/scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Scalar continuation of tw_scan_nested from inside or outside a string. */
static const char *scan_nested_slow(const char *p, const char *end, size_t depth, bool in_string)
{
	for (; p < end; p++) {
		if (in_string) {
			if (*p == '\\')
				p++;
			else if (*p == '"')
				in_string = false;
			continue;
		}
		switch (*p) {
		case '"':
			in_string = true;
			break;
		case '[':
		case '{':
			depth++;
			break;
		case ']':
		case '}':
			if (--depth == 0)
				return p + 1;
			break;
		}
	}
	return NULL;
}

const char *tw_scan_nested(const char *p, const char *end)
{
#if defined(__SSE2__)
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
	const __m128i fold = _mm_set1_epi8(0x20);
	const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
	size_t depth = 0;
	bool in_string = false;

	for (; p < end; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		/* '[' and ']' differ from '{' and '}' by the same bit. */
		__m128i folded = _mm_or_si128(v, fold);
		unsigned opens = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, open));
		unsigned closes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, close));
		unsigned quotes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, quote));
		unsigned mask = opens | closes | quotes;

		if (_mm_movemask_epi8(_mm_cmpeq_epi8(v, backslash)))
			return scan_nested_slow(p, end, depth, in_string);
		for (; mask; mask &= mask - 1) {
			unsigned bit = mask & -mask;

			if (quotes & bit)
				in_string = !in_string;
			else if (in_string)
				continue;
			else if (opens & bit)
				depth++;
			else if (--depth == 0) {
				p += __builtin_ctz(bit) + 1;
				return p <= end ? p : NULL;
			}
		}
	}
	return NULL;
#else
	return scan_nested_slow(p, end, 0, false);
#endif
}

/* Value of a decimal: digits without the point, and where the point stands. */
struct decimal {
	uint64_t digits; /* up to 19 significant ones */
	int exponent;	 /* value = digits x 10^exponent */
	unsigned next;	 /* the first digit that was one too many */
	bool negative;
};

/* Takes one digit more while there is room; false when there is none. */
static bool add_digit(struct decimal *d, char c, bool *full)
{
	unsigned digit = (unsigned)(c - '0');

	if (d->digits < 1000000000000000000u) {
		d->digits = d->digits * 10 + digit;
		return true;
	}
	if (!*full)
		d->next = digit;
	*full = true;
	return false;
}

static const char *parse_decimal(const char *p, struct decimal *d)
{
	bool any = false, full = false, negative_exponent;
	int exponent = 0;

	*d = (struct decimal){ 0 };
	d->negative = *p == '-';
	if (*p == '-' || *p == '+')
		p++;
	for (; tw_is_digit(*p); p++, any = true)
		d->exponent += !add_digit(d, *p, &full);
	if (*p == '.')
		for (p++; tw_is_digit(*p); p++, any = true)
			d->exponent -= add_digit(d, *p, &full);
	if (!any)
		return NULL;
	if (*p == 'e' || *p == 'E') {
		const char *q = p + 1;

		negative_exponent = *q == '-';
		if (*q == '-' || *q == '+')
			q++;
		if (!tw_is_digit(*q))
			return NULL;
		for (; tw_is_digit(*q); q++)
			if (exponent < 100000)
				exponent = exponent * 10 + (*q - '0');
		d->exponent += negative_exponent ? -exponent : exponent;
		p = q;
	}
	return p;
}

const char *tw_parse_time_ns(const char *p, int64_t *ns)
{
	struct decimal d;
	uint64_t value;
	int shift;

	p = parse_decimal(p, &d);
	if (!p)
		return NULL;
	value = d.digits;
	/* Microseconds to nanoseconds. */
	for (shift = d.exponent + 3; shift > 0 && value && value <= INT64_MAX; shift--)
		if (__builtin_mul_overflow(value, 10u, &value))
			value = UINT64_MAX;
	if (shift <= 0) {
		uint64_t rest = d.next;

		for (; shift < 0 && (value || rest); shift++) {
			rest = value % 10;
			value /= 10;
		}
		if (shift == 0 && rest >= 5 && value < INT64_MAX)
			value++;
	}
	if (value > INT64_MAX)
		value = INT64_MAX;
	*ns = d.negative ? -(int64_t)value : (int64_t)value;
	return p;
}

const char *tw_parse_real(const char *p, double *value)
{
	static const double powers[] = { 1e0,  1e1,  1e2,  1e3,	 1e4,  1e5,  1e6,  1e7,
					 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
					 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
	struct decimal d;
	long double v;
	int e;

	p = parse_decimal(p, &d);
	if (!p)
		return NULL;
	e = d.exponent;
	if (d.digits < (uint64_t)1 << 53 && e >= -22 && e <= 22) {
		/* Both exact: one correctly rounded operation. */
		*value = e < 0 ? (double)d.digits / powers[-e] : (double)d.digits * powers[e];
	} else {
		v = (long double)d.digits;
		for (; e <= -22 && v != 0; e += 22)
			v /= powers[22];
		for (; e >= 22 && v < 1e4000L; e -= 22)
			v *= powers[22];
		*value = (double)(e < 0 ? v / powers[e < -22 ? 22 : -e] :
					  v * powers[e > 22 ? 22 : e]);
	}
	if (d.negative)
		*value = -*value;
	return p;
}

/* Digits without a point and an exponent: the same number in any locale. */
static double exact_real(const char *text, size_t len)
{
	char out[96];
	size_t used = 0, i = 0;
	bool after_point = false;
	long exponent = 0;

	for (; i < len && text[i] != 'e' && text[i] != 'E'; i++) {
		if (text[i] == '.') {
			after_point = true;
			continue;
		}
		out[used++] = text[i];
		exponent -= after_point;
	}
	if (i < len) {
		long given = strtol(text + i + 1, NULL, 10);

		/* Beyond this it is 0 or infinite either way. */
		exponent += given > 100000 ? 100000 : given < -100000 ? -100000 : given;
	}
	snprintf(out + used, sizeof(out) - used, "e%ld", exponent);
	return strtod(out, NULL);
}

bool tw_text_real(const char *text, size_t len, double *value)
{
	char copy[64] = ""; /* tw_parse_real() looks at eight bytes at once */
	struct decimal d;

	if (!len || len > sizeof(copy) - 9)
		return false;
	memcpy(copy, text, len);
	if (tw_parse_real(copy, value) != copy + len)
		return false;
	parse_decimal(copy, &d);
	if (d.digits >= (uint64_t)1 << 53 || d.exponent < -22 || d.exponent > 22)
		*value = exact_real(copy, len);
	return true;
}

/* A double that fits 64 bits once it is scaled. */
static bool scaled_real(const char *text, unsigned scale, int64_t *value)
{
	const double limit = 9.2e18;
	char copy[64] = "";
	size_t len = strlen(text);
	double real;

	/* tw_parse_real() looks at eight bytes at once. */
	if (!len || len > sizeof(copy) - 9)
		return false;
	memcpy(copy, text, len);
	if (tw_parse_real(copy, &real) != copy + len)
		return false;
	while (scale--)
		real *= 10;
	if (!(fabs(real) < limit))
		return false;
	*value = llround(real);
	return true;
}

bool tw_text_decimal(const char *text, unsigned scale, int64_t *value)
{
	const char *p = text + (*text == '-' || *text == '+');
	bool point = false, digits = false, up = false;
	unsigned behind = 0;
	int64_t n = 0;

	for (; tw_is_digit(*p) || (*p == '.' && !point); p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		digits = true;
		if (point && behind++ >= scale) {
			if (behind == scale + 1)
				up = *p >= '5';
			continue;
		}
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p - '0', &n))
			return false;
	}
	if (*p || !digits)
		return digits && scaled_real(text, scale, value);
	for (; behind < scale; behind++)
		if (__builtin_mul_overflow(n, 10, &n))
			return false;
	if (up && __builtin_add_overflow(n, 1, &n))
		return false;
	*value = *text == '-' ? -n : n;
	return true;
}
