#include "path/critical.h"

#include "data/limits.h"

static const char *const class_names[TW_PATH_CLASSES] = {
	[TW_PATH_COMPUTE] = "compute",
	[TW_PATH_TRANSFER] = "transfer",
	[TW_PATH_RANK_WAIT] = "waiting for a rank",
	[TW_PATH_COPY] = "copy",
	[TW_PATH_LAUNCH] = "launch latency",
	[TW_PATH_STREAM_GAP] = "stream gap",
	[TW_PATH_IN_OP] = "host in an operator",
	[TW_PATH_BETWEEN_OPS] = "host between operators",
	[TW_PATH_LOADING] = "data loading",
	[TW_PATH_ALLOCATOR] = "allocator",
	[TW_PATH_PAUSE] = "pause",
	[TW_PATH_SYNC_RETURN] = "return of a synchronisation",
	[TW_PATH_UNKNOWN] = "unknown",
};

const char *tw_path_class_name(enum tw_path_class class)
{
	return class_names[class];
}

static enum tw_path_class class_of_work(const struct tw_path_point *p)
{
	if (p->flags & TW_POINT_COMMUNICATION)
		return p->flags & TW_POINT_MATCHED ? TW_PATH_TRANSFER : TW_PATH_RANK_WAIT;
	return (p->flags & (TW_POINT_COPY | TW_POINT_FILL)) == TW_POINT_COPY ? TW_PATH_COPY :
									       TW_PATH_COMPUTE;
}

/* Late after its launch without another cause: the device did what is not recorded. */
static enum tw_path_class class_of_start(const struct tw_path *path, const struct tw_path_point *p,
					 enum tw_cause code, int64_t gap_ns)
{
	if (code != TW_CAUSE_LAUNCH)
		return TW_PATH_STREAM_GAP;
	return gap_ns > path->ranks[p->rank].late_ns ? TW_PATH_UNKNOWN : TW_PATH_LAUNCH;
}

static enum tw_path_class class_of_host(const struct tw_path_point *p, enum tw_cause code,
					int64_t gap_ns)
{
	if (code == TW_CAUSE_SYNC)
		return TW_PATH_SYNC_RETURN;
	if (code == TW_CAUSE_BATCH || p->flags & TW_POINT_IN_LOADER)
		return TW_PATH_LOADING;
	if (code == TW_CAUSE_DURATION)
		return p->flags & TW_POINT_IS_ALLOCATION ? TW_PATH_ALLOCATOR : TW_PATH_IN_OP;
	if (p->flags & TW_POINT_IN_OP)
		return TW_PATH_IN_OP;
	return gap_ns > TW_LIMIT_PATH_PAUSE_NS ? TW_PATH_PAUSE : TW_PATH_BETWEEN_OPS;
}

enum tw_path_class tw_path_class_of(const struct tw_path *path, uint32_t point, uint32_t from,
				    enum tw_cause code)
{
	const struct tw_path_point *p = &path->points[point];
	int64_t gap_ns;

	if (from == TW_NO_POINT)
		return TW_PATH_UNKNOWN;
	gap_ns = tw_ns_between(path->points[from].time_ns, p->time_ns);
	if (!tw_is_gpu_point(p))
		return class_of_host(p, code, gap_ns);
	return tw_is_end(p) ? class_of_work(p) : class_of_start(path, p, code, gap_ns);
}

/* ---- the path */

static void reverse(struct tw_critical *c)
{
	size_t i, n = c->segments.count;

	for (i = 0; i < n / 2; i++) {
		struct tw_segment other = c->segments.at[i];

		c->segments.at[i] = c->segments.at[n - 1 - i];
		c->segments.at[n - 1 - i] = other;
	}
}

/* The segment that ends at a point; where it begins. */
static struct tw_segment segment_at(const struct tw_path *path, const struct tw_scenario *s,
				    struct tw_times times, int64_t start_ns, uint32_t p)
{
	struct tw_bound bound = tw_path_bound(path, s, p, times);
	struct tw_segment seg = { .point = p, .code = bound.code };

	/* A hub is the last arrival itself. */
	if (bound.from != TW_NO_POINT && bound.from >= path->first_hub)
		bound.from = tw_path_bound(path, s, bound.from, times).from;
	seg.from = bound.from;
	if (bound.from == TW_NO_POINT || tw_time(times, bound.from) < start_ns) {
		seg.from = TW_NO_POINT;
		seg.code = TW_CAUSES;
	}
	seg.start_ns = seg.from == TW_NO_POINT ? start_ns : tw_time(times, seg.from);
	seg.duration_ns = tw_ns_between(seg.start_ns, tw_time(times, p));
	seg.inferred = tw_is_inferred(seg.code);
	return seg;
}

int tw_critical_find(struct tw_critical *c, const struct tw_path *path,
		     const struct trawl_allocator *allocator)
{
	const struct tw_times times = tw_recorded(path);
	uint32_t p;

	*c = (struct tw_critical){ .window = tw_window_of(path, times) };
	p = c->window.last;
	while (p != TW_NO_POINT && tw_time(times, p) > c->window.start_ns) {
		struct tw_segment seg = segment_at(path, NULL, times, c->window.start_ns, p);

		seg.class = tw_path_class_of(path, p, seg.from, seg.code);
		if (!TW_LIST_ADD(&c->segments, &seg, allocator))
			return TRAWL_ENOMEM;
		p = seg.from;
	}
	reverse(c);
	return 0;
}

void tw_critical_release(struct tw_critical *c, const struct trawl_allocator *allocator)
{
	TW_LIST_FREE(&c->segments, allocator);
}

int64_t tw_critical_inferred_ns(const struct tw_replay *r, unsigned lane,
				const struct tw_scenario *s, const struct tw_path_window *w)
{
	const struct tw_times times = tw_replayed(r, lane);
	uint32_t p = w->last;
	int64_t sum = 0;

	while (p != TW_NO_POINT && (p = tw_last_inferred(r, lane, p)) != TW_NO_POINT) {
		struct tw_segment own = segment_at(r->path, s, times, w->start_ns, p), before;

		if (!own.inferred || tw_time(times, p) <= w->start_ns)
			break;
		sum += own.duration_ns;
		p = own.from;
		if (tw_time(times, p) <= w->start_ns)
			break;
		before = segment_at(r->path, s, times, w->start_ns, p);
		if (!before.inferred)
			sum += before.duration_ns;
	}
	return sum;
}

/* ---- slack */

static void end_slack(const struct tw_path *path, int64_t *slack, int64_t end_ns)
{
	uint32_t i, g;

	for (i = 0; i < path->point_count; i++)
		slack[i] = TW_NO_SLACK;
	for (i = 0; i < path->rank_count; i++)
		for (g = 0; g < path->ranks[i].gpu_count; g++)
			if (tw_in_window(path, &path->ranks[i], g)) {
				uint32_t end = tw_gpu_end(&path->ranks[i], g);

				slack[end] = tw_ns_between(path->points[end].time_ns, end_ns);
			}
}

void tw_slack_find(const struct tw_path *path, int64_t *slack)
{
	uint32_t i = path->point_count, cause;
	int64_t left;

	end_slack(path, slack, tw_window_of(path, tw_recorded(path)).end_ns);
	while (i--) {
		uint32_t p = path->order[i];

		if (slack[p] == TW_NO_SLACK)
			continue;
		for (cause = path->points[p].causes; cause < path->points[p + 1].causes; cause++) {
			uint32_t from = path->from[cause];

			if (from == TW_NO_POINT)
				continue;
			left = tw_ns_sum(slack[p],
					 tw_ns_between(tw_path_delay(path, p, cause),
						       tw_ns_between(path->points[from].time_ns,
								     path->points[p].time_ns)));
			if (left < slack[from])
				slack[from] = left;
		}
	}
}
