#include "path/standard.h"

#define FREE(code) (1 << TW_CAUSE_##code)
#define FREE_ALL ((1 << TW_CAUSES) - 1)
#define FREE_OF_HOST \
	(FREE(HOST) | FREE(HANDOVER) | FREE(BATCH) | FREE(LAUNCH) | FREE(QUEUE) | FREE(SYNC))

static const struct {
	const char *name, *meaning;
} standards[TW_STANDARDS] = {
	[TW_GPU_FREE] = { "gpu_free", "GPU work takes no time: the floor of the host" },
	[TW_HOST_FREE] = { "host_free", "the host takes no time: the floor of the GPU" },
	[TW_LAUNCHES_FREE] = { "launches_free", "launches take no time, as inside a GPU graph" },
	[TW_TRANSFERS_FREE] = { "transfers_free",
				"collectives end when the last rank has arrived" },
	[TW_NO_WAITING] = { "no_waiting", "no rank waits for another in a collective" },
	[TW_LONE_FREE] = { "unmatched_free",
			   "communication whose other ranks have no trace takes no time: its waiting "
			   "and transfer are not known apart" },
};

const char *tw_standard_name(enum tw_standard standard)
{
	return standards[standard].name;
}

const char *tw_standard_meaning(enum tw_standard standard)
{
	return standards[standard].meaning;
}

/* Each member's transfer begins with its own start. */
static void set_no_waiting(struct tw_scenario *s)
{
	const struct tw_path *path = s->path;
	uint32_t p;

	for (p = 0; p < path->first_hub; p++) {
		uint32_t cause = path->points[p].causes;

		if (!tw_is_gpu_point(&path->points[p]) || !tw_is_end(&path->points[p]) ||
		    path->from[cause] == TW_NO_POINT ||
		    tw_path_code(path, cause) != TW_CAUSE_COLLECTIVE)
			continue;
		tw_scenario_add(s, p, p - 1, tw_path_delay(path, p, cause));
		tw_scenario_cut(s, p, cause);
	}
}

static const uint16_t free_causes[TW_STANDARDS][TW_POINT_CLASSES] = {
	[TW_GPU_FREE] = { [TW_OF_LAUNCHED] = FREE_ALL, [TW_OF_LAUNCHED_LONE] = FREE_ALL },
	[TW_HOST_FREE] = { [TW_OF_HOST... TW_OF_LAUNCH] = FREE_OF_HOST | FREE(DURATION),
			   [TW_OF_GPU... TW_OF_LAUNCHED_LONE] = FREE_OF_HOST },
	[TW_LAUNCHES_FREE] = { [TW_OF_LAUNCH] = FREE(LAUNCH) | FREE(DURATION),
			       [TW_OF_GPU... TW_OF_LAUNCHED_LONE] = FREE(LAUNCH) },
	[TW_TRANSFERS_FREE] = { [TW_OF_HOST... TW_OF_LAUNCHED_LONE] = FREE(COLLECTIVE) },
	[TW_LONE_FREE] = { [TW_OF_LONE... TW_OF_LAUNCHED_LONE] = FREE_ALL },
};

void tw_standard_set(struct tw_scenario *s, enum tw_standard standard)
{
	s->free = free_causes[standard];
	if (standard == TW_NO_WAITING)
		set_no_waiting(s);
}
