#include "render/base64.h"

void tw_add_base64(struct tw_str *out, const unsigned char *bytes, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t i;

	tw_str_reserve(out, (len + 2) / 3 * 4);
	for (i = 0; i < len; i += 3) {
		size_t left = len - i;
		uint32_t group = (uint32_t)bytes[i] << 16;

		group |= left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
		group |= left > 2 ? bytes[i + 2] : 0;
		tw_str_add_char(out, digits[group >> 18]);
		tw_str_add_char(out, digits[group >> 12 & 63]);
		tw_str_add_char(out, left > 1 ? digits[group >> 6 & 63] : '=');
		tw_str_add_char(out, left > 2 ? digits[group & 63] : '=');
	}
}
