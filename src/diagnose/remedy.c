#include "diagnose/remedy.h"

#include "data/limits.h"

static int64_t duration_of(const struct tw_scenario *s, const struct tw_path_rank *rank,
			   uint32_t gpu, enum tw_cause *code)
{
	uint32_t end = tw_gpu_end(rank, gpu), cause = s->path->points[end].causes;

	*code = tw_path_code(s->path, cause);
	return tw_path_delay(s->path, end, cause);
}

/* False: it does not wait for that, and began before. */
static bool start_earlier(struct tw_scenario *s, const struct tw_path_rank *rank,
			  const struct tw_remedy_part *c)
{
	uint32_t start = tw_gpu_start(rank, c->gpu), end = tw_gpu_end(rank, c->other), cause;

	if (s->path->points[end].time_ns > s->path->points[start].time_ns)
		return false;
	for (cause = s->path->points[start].causes; cause < s->path->points[start + 1].causes;
	     cause++)
		switch (tw_path_code(s->path, cause)) {
		case TW_CAUSE_WAIT:
		case TW_CAUSE_EVENT:
		case TW_CAUSE_LAUNCH:
		case TW_CAUSE_INFERRED:
			tw_scenario_cut(s, start, cause);
			break;
		default:
			break;
		}
	tw_scenario_add(s, start, end, TW_LIMIT_GRADIENTS_READY_NS);
	return true;
}

static bool close_gap(struct tw_scenario *s, const struct tw_path_rank *rank,
		      const struct tw_remedy_part *c)
{
	uint32_t start = tw_gpu_start(rank, c->gpu), cause;

	for (cause = s->path->points[start].causes; cause < s->path->points[start + 1].causes;
	     cause++)
		if (tw_path_code(s->path, cause) == TW_CAUSE_STREAM &&
		    tw_path_delay(s->path, start, cause) > c->ns) {
			tw_scenario_set(s, start, cause, c->ns);
			return true;
		}
	return false;
}

/* Whether a change changed something. */
static bool apply(const struct tw_remedy_part *c, struct tw_scenario *s,
		  const struct tw_path_rank *r)
{
	enum tw_cause code;
	int64_t ns;
	uint32_t point;

	switch (c->kind) {
	case TW_REMEDY_REMOVE:
		tw_scenario_remove(s, r, c->gpu);
		return true;
	case TW_REMEDY_DURATION:
		tw_scenario_duration(s, r, c->gpu, (double)c->ns);
		return true;
	case TW_REMEDY_SCALE:
		ns = duration_of(s, r, c->gpu, &code);
		tw_scenario_duration(s, r, c->gpu, (double)ns * c->factor);
		return true;
	case TW_REMEDY_HOST:
		tw_scenario_free_host(s, &r->threads[c->thread], c->from_ns + r->shift_ns,
				      c->to_ns + r->shift_ns, c->ns);
		return true;
	case TW_REMEDY_EARLIER:
		return start_earlier(s, r, c);
	case TW_REMEDY_POINT:
		point = r->first + c->gpu;
		if (tw_path_binding(s->path, point) == TW_NO_POINT)
			return false;
		tw_scenario_set(s, point, tw_path_binding(s->path, point), c->ns);
		return true;
	case TW_REMEDY_GAP:
		return close_gap(s, r, c);
	case TW_REMEDY_BANDWIDTH:
		ns = duration_of(s, r, c->gpu, &code);
		if (code != TW_CAUSE_COLLECTIVE ||
		    (double)ns <= TW_LIMIT_SLOW_TRANSFER_TIMES * c->factor)
			return false;
		tw_scenario_duration(s, r, c->gpu, (double)c->ns);
		return true;
	}
	return false;
}

uint64_t tw_remedy_apply(const struct tw_remedy *changes, struct tw_scenario *scenario,
			 uint32_t rank)
{
	uint64_t changed = 0;
	size_t i;

	for (i = 0; i < changes->list.count; i++)
		changed += apply(&changes->list.at[i], scenario, &scenario->path->ranks[rank]);
	return changed;
}
