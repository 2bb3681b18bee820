#include "path/standard.h"

static const struct {
	const char *name, *meaning;
} standards[TW_STANDARDS] = {
	[TW_GPU_FREE] = { "gpu_free", "GPU work takes no time: the floor of the host" },
	[TW_HOST_FREE] = { "host_free", "the host takes no time: the floor of the GPU" },
	[TW_LAUNCHES_FREE] = { "launches_free", "launches take no time, as inside a GPU graph" },
	[TW_TRANSFERS_FREE] = { "transfers_free",
				"collectives end when the last rank has arrived" },
	[TW_NO_WAITING] = { "no_waiting", "no rank waits for another in a collective" },
};

const char *tw_standard_name(enum tw_standard standard)
{
	return standards[standard].name;
}

const char *tw_standard_meaning(enum tw_standard standard)
{
	return standards[standard].meaning;
}

/* A negative delay, of work that overlaps, stays. */
static int64_t none(int64_t delay_ns)
{
	return delay_ns < 0 ? delay_ns : 0;
}

static int64_t gpu_free(const struct tw_path *path, uint32_t point, uint32_t cause,
			int64_t delay_ns, const void *context)
{
	const struct tw_path_point *p = &path->points[point];

	(void)cause;
	(void)context;
	return tw_is_gpu_point(p) && p->flags & TW_POINT_LAUNCHED ? none(delay_ns) : delay_ns;
}

static int64_t host_free(const struct tw_path *path, uint32_t point, uint32_t cause,
			 int64_t delay_ns, const void *context)
{
	(void)context;
	switch (tw_path_code(path, cause)) {
	case TW_CAUSE_HOST:
	case TW_CAUSE_HANDOVER:
	case TW_CAUSE_BATCH:
	case TW_CAUSE_LAUNCH:
	case TW_CAUSE_QUEUE:
	case TW_CAUSE_SYNC:
		return none(delay_ns);
	case TW_CAUSE_DURATION:
		return tw_is_gpu_point(&path->points[point]) ? delay_ns : none(delay_ns);
	default:
		return delay_ns;
	}
}

static int64_t launches_free(const struct tw_path *path, uint32_t point, uint32_t cause,
			     int64_t delay_ns, const void *context)
{
	const struct tw_path_point *p = &path->points[point];
	enum tw_cause code = tw_path_code(path, cause);

	(void)context;
	return code == TW_CAUSE_LAUNCH || (code == TW_CAUSE_DURATION && !tw_is_gpu_point(p) &&
					   p->flags & TW_POINT_LAUNCHED) ?
		       none(delay_ns) :
		       delay_ns;
}

static int64_t transfers_free(const struct tw_path *path, uint32_t point, uint32_t cause,
			      int64_t delay_ns, const void *context)
{
	(void)point;
	(void)context;
	return tw_path_code(path, cause) == TW_CAUSE_COLLECTIVE ? none(delay_ns) : delay_ns;
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

void tw_standard_set(struct tw_scenario *s, enum tw_standard standard)
{
	static tw_scenario_rule *const rules[TW_STANDARDS] = {
		[TW_GPU_FREE] = gpu_free,
		[TW_HOST_FREE] = host_free,
		[TW_LAUNCHES_FREE] = launches_free,
		[TW_TRANSFERS_FREE] = transfers_free,
	};

	s->rule = rules[standard];
	if (standard == TW_NO_WAITING)
		set_no_waiting(s);
}
