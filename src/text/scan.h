/*
 * Scanning JSON text in windows that end with sentinel quotes (io/feed.h): loops stop by
 * themselves, the caller compares with the window's end afterwards.
 */
#ifndef TW_TEXT_SCAN_H
#define TW_TEXT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static inline bool tw_is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *tw_skip_space(const char *p)
{
	while (tw_is_space(*p))
		p++;
	return p;
}

static inline bool tw_is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* 0 to 15, -1: it is none. */
static inline int tw_hex_digit(char c)
{
	if (tw_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* First byte from p on that is '"', '\\', a control character or not ASCII. */
static inline const char *tw_scan_string(const char *p)
{
#if defined(__SSE2__)
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
	const __m128i space = _mm_set1_epi8(' ');

	for (;; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		/* Signed: control characters and bytes from 128 on are both less than ' '. */
		__m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash));
		unsigned mask =
			(unsigned)_mm_movemask_epi8(_mm_or_si128(hit, _mm_cmplt_epi8(v, space)));

		if (mask)
			return p + __builtin_ctz(mask);
	}
#else
	while (*p != '"' && *p != '\\' && *(const signed char *)p >= ' ')
		p++;
	return p;
#endif
}

/*
 * After the list or object that begins at p, or NULL when `end` comes first.  Brackets are
 * counted, not matched: what is inside is checked by whoever needs it.
 */
const char *tw_scan_nested(const char *p, const char *end);

/* Up to 8 digits at p as a number; *count is their number. */
static inline uint32_t tw_parse_digits8(const char *p, unsigned *count)
{
	uint64_t v, nondigit;

	memcpy(&v, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	v -= 0x3030303030303030u;
	/* A byte is a digit when it is below 10: neither its own high bit nor that of +118 set. */
	nondigit = (v | (v + 0x7676767676767676u)) & 0x8080808080808080u;
	if (nondigit) {
		unsigned n = (unsigned)__builtin_ctzll(nondigit) >> 3;

		*count = n;
		if (!n)
			return 0;
		v <<= 64 - 8 * n;
	} else {
		*count = 8;
	}
	v = v * 10 + (v >> 8);
	v = ((v & 0x000000ff000000ffu) * 0x000f424000000064u +
	     ((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
	    32;
	return (uint32_t)v;
}

/*
 * Digits at p as a number; returns after them.  *digits says how many; above 18 the value is
 * not meaningful.
 */
static inline const char *tw_parse_digits(const char *p, uint64_t *value, unsigned *digits)
{
	static const uint32_t powers[] = { 1,	   10,	    100,      1000,	10000,
					   100000, 1000000, 10000000, 100000000 };
	unsigned n;
	uint64_t total = tw_parse_digits8(p, &n);

	*digits = n;
	p += n;
	while (n == 8 && *digits < 24) {
		uint32_t more = tw_parse_digits8(p, &n);

		total = total * powers[n] + more;
		*digits += n;
		p += n;
	}
	*value = total;
	return p;
}

/*
 * The number at p (decimal microseconds, as JSON has them: sign, fraction, exponent) in
 * nanoseconds, rounded to nearest, half away from zero.  Returns after it, or NULL when there is no number.
 * Out of range: *ns is INT64_MAX or -INT64_MAX.
 */
const char *tw_parse_time_ns(const char *p, int64_t *ns);

/* The number at p as a double, correct to the last bit or two; NULL when there is none. */
const char *tw_parse_real(const char *p, double *value);

/*
 * A text of up to 55 bytes that is one number and nothing else, no blanks either, as the double
 * that is nearest to it; it need not end in any way.
 */
bool tw_text_real(const char *text, size_t len, double *value);

/*
 * Text as value x 10^-scale, what lies behind that rounded; with an exponent, through a double.
 * False when it is no number, or too large.
 */
bool tw_text_decimal(const char *text, unsigned scale, int64_t *value);

#endif
