/* What all parts of the answer are written with. */
#include "study/compare/answer.h"

#include <math.h>

struct tw_str *tw_answer_line(struct tw_answer *answer)
{
	return &answer->lines[answer->count++];
}

void tw_add_ms(struct tw_str *out, double ns)
{
	double ms = fabs(ns) / 1e6;
	unsigned digits = ms >= 100 ? 1 : ms >= 1 ? 2 : ms >= 0.01 ? 4 : 6;

	tw_str_add_real_fixed(out, ms, digits);
	tw_str_add_cstr(out, " ms");
}

void tw_add_signed(struct tw_str *out, double ns)
{
	tw_str_add_char(out, ns < 0 ? '-' : '+');
	tw_add_ms(out, ns);
}

/* Without its sign. */
void tw_add_percent(struct tw_str *out, double percent)
{
	double size = fabs(percent);

	tw_str_add_real_fixed(out, size,
			      size >= 99.95 ? 0 :
			      size >= 0.95  ? 1 :
			      size >= 0.01  ? 2 :
					      4);
	tw_str_add_cstr(out, " %");
}
