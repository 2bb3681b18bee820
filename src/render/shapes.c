#include "render/shapes.h"

void tw_short_shapes(struct tw_str *out, const char *dims, size_t len)
{
	size_t i, absent = 0, shapes = 0;
	char before = ' '; /* what is neither blank nor comma */

	for (i = 0; i < len; i++) {
		char c = dims[i];

		if (c == ' ' || c == ',')
			continue;
		if (c == ')' && before == '(') {
			absent++;
		} else if (c >= '0' && c <= '9' && before == '(') {
			for (; absent; absent--)
				tw_str_add_cstr(out, shapes++ ? ",-" : "-");
			if (shapes++)
				tw_str_add_char(out, ',');
			tw_str_add_char(out, c);
		} else if (c >= '0' && c <= '9') {
			if (i && dims[i - 1] == ' ')
				tw_str_add_char(out, 'x');
			tw_str_add_char(out, c);
		}
		before = c;
	}
}
