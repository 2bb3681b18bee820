#include "job/set/merged.h"

#include <string.h>

/* "Rank 3 - GPU Stream": the name that a merge gives to the process of a GPU. */
static bool is_merged_name(const char *name)
{
	static const char front[] = "Rank ", behind[] = " - GPU Stream";

	if (strncmp(name, front, sizeof(front) - 1))
		return false;
	for (name += sizeof(front) - 1; *name >= '0' && *name <= '9'; name++)
		;
	return !strncmp(name, behind, sizeof(behind) - 1);
}

/* By the names of its processes, which `trawl merge` and the script that it replaces give. */
bool trawl_trace_is_merged(const struct trawl_trace *trace)
{
	struct trawl_argument arg;
	uint64_t i;

	for (i = 0; i < trace->events.count; i++)
		if (trace->events.phase[i] == 'M' && trace->events.name[i] == TW_KEY_process_name &&
		    trawl_event_argument(trace, i, TW_KEY_name, &arg) &&
		    arg.kind == TRAWL_VALUE_TEXT &&
		    is_merged_name(tw_pool_text(&trace->texts, arg.text, NULL)))
			return true;
	return false;
}

bool tw_is_other_list(const struct trawl_trace *trace)
{
	return trace->bare && !tw_quality_lost(&trace->quality) &&
	       (uint64_t)trace->quality.kinds[TW_DEFECT_not_an_event].count == trace->events.count;
}
