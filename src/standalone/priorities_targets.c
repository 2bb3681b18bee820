/* Whether there is something to gain, and up to which target. */
#include "standalone/priorities.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool tw_is_only_noted(const struct tw_json_value *bottleneck)
{
	return !strcmp(tw_report_text(bottleneck, "kind"), "not_visible") &&
	       !*tw_report_text(bottleneck, "algorithmic") &&
	       !*tw_report_text(bottleneck, "kernel");
}

double tw_target_of(const struct tw_level *level)
{
	char *end;
	double number = strtod(level->level, &end);

	return *end ? NAN : number;
}

const struct tw_level *tw_next_target(const struct tw_level *level)
{
	/* What the ladder ends with is no target. */
	return isnan(tw_target_of(level + 1)) ? NULL : level + 1;
}

double tw_priorities_time_ms(const struct tw_ranking *r, const struct tw_json_value *source,
			     double efficiency, double target)
{
	double time = tw_report_number(source, "time_ms") * efficiency / target;

	return fmax(time, tw_report_number(source, "count") * r->shortest_kernel_ms);
}
