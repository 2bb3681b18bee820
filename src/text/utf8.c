#include "text/utf8.h"

#include <string.h>

/* For a lead byte: how many bytes follow and what the first of them may be (Unicode table 3-7). */
static unsigned followers(unsigned char lead, unsigned char *low, unsigned char *high)
{
	*low = 0x80;
	*high = 0xBF;
	if (lead >= 0xC2 && lead <= 0xDF)
		return 1;
	if (lead >= 0xE0 && lead <= 0xEF) {
		if (lead == 0xE0)
			*low = 0xA0;
		if (lead == 0xED)
			*high = 0x9F;
		return 2;
	}
	if (lead >= 0xF0 && lead <= 0xF4) {
		if (lead == 0xF0)
			*low = 0x90;
		if (lead == 0xF4)
			*high = 0x8F;
		return 3;
	}
	return 0;
}

size_t tw_utf8_next(const char *text, size_t len, uint32_t *code)
{
	const unsigned char *p = (const unsigned char *)text;
	unsigned char low, high;
	unsigned count, i;
	uint32_t value;

	if (p[0] < 0x80) {
		*code = p[0];
		return 1;
	}
	*code = TW_UTF8_BAD;
	count = followers(p[0], &low, &high);
	if (count == 0)
		return 1;
	value = p[0] & (0x3Fu >> count);
	for (i = 1; i <= count; i++) {
		if (i >= len || p[i] < low || p[i] > high)
			return i;
		value = value << 6 | (p[i] & 0x3F);
		low = 0x80;
		high = 0xBF;
	}
	*code = value;
	return count + 1;
}

bool tw_utf8_is_unsafe(uint32_t code)
{
	if (code < 0xA0)
		return code < 0x20 || code >= 0x7F;
	if (code < 0x2000)
		return code == 0x61C;
	if (code < 0x3000)
		return code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
		       (code >= 0x2066 && code <= 0x2069);
	return code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB) || code == 0xFFFE ||
	       code == 0xFFFF || (code >= 0xE0000 && code <= 0xE007F);
}

size_t tw_utf8_put(char out[4], uint32_t code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xC0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3F));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xE0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3F));
		out[2] = (char)(0x80 | (code & 0x3F));
		return 3;
	}
	out[0] = (char)(0xF0 | (code >> 18 & 0x07));
	out[1] = (char)(0x80 | (code >> 12 & 0x3F));
	out[2] = (char)(0x80 | (code >> 6 & 0x3F));
	out[3] = (char)(0x80 | (code & 0x3F));
	return 4;
}

void tw_cut_into(char *to, size_t size, const char *text, size_t len)
{
	static const char mark[] = "...";
	bool whole = len < size;

	if (!whole)
		for (len = size - sizeof(mark); len && (text[len] & 0xc0) == 0x80;)
			len--;
	memcpy(to, text, len);
	memcpy(to + len, mark + (whole ? sizeof(mark) - 1 : 0), whole ? 1 : sizeof(mark));
}
