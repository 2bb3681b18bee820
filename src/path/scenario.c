#include "path/scenario.h"

#include "base/alloc.h"
#include "base/search.h"
#include "base/sort.h"

#include <math.h>
#include <string.h>

void tw_scenario_init(struct tw_scenario *s, const struct tw_path *path,
		      const struct trawl_allocator *allocator)
{
	*s = (struct tw_scenario){ .path = path, .allocator = allocator };
}

static size_t touched_bytes(const struct tw_path *path)
{
	return ((size_t)path->point_count / 64 + 1) * sizeof(uint64_t);
}

void tw_scenario_release(struct tw_scenario *s)
{
	tw_ids_release(&s->by_cause, s->allocator);
	TW_LIST_FREE(&s->edits, s->allocator);
	TW_LIST_FREE(&s->added, s->allocator);
	TW_LIST_FREE(&s->removed, s->allocator);
	tw_free(s->allocator, s->touched, touched_bytes(s->path));
	s->touched = NULL;
}

static void touch(struct tw_scenario *s, uint32_t point)
{
	if (!s->touched)
		s->touched = tw_alloc_array(s->allocator, touched_bytes(s->path), 1);
	if (s->touched)
		s->touched[point / 64] |= (uint64_t)1 << point % 64;
	else
		s->failed = true;
}

static struct tw_scenario_edit *edit_of(const struct tw_scenario *s, uint32_t cause)
{
	uint32_t at = tw_ids_get(&s->by_cause, cause);

	/* Of a change that memory ran out for there is a number alone. */
	return at == TW_IDS_NONE || at >= s->edits.count ? NULL : &s->edits.at[at];
}

int64_t tw_scenario_delay(const struct tw_scenario *s, uint32_t point, uint32_t cause)
{
	const struct tw_scenario_edit *edit = edit_of(s, cause);

	if (s->path->from[cause] == TW_NO_POINT)
		return TW_CUT;
	return edit ? edit->delay_ns : tw_path_delay(s->path, point, cause);
}

/* The edit of a cause, NULL: out of memory. */
static struct tw_scenario_edit *make_edit(struct tw_scenario *s, uint32_t point, uint32_t cause)
{
	struct tw_scenario_edit edit = { cause, tw_path_delay(s->path, point, cause), 0 };
	struct tw_scenario_edit *found = edit_of(s, cause);

	if (found)
		return found;
	touch(s, point);
	if (!TW_LIST_ADD(&s->edits, &edit, s->allocator)) {
		s->failed = true;
		return NULL;
	}
	/* No number is kept of an edit that is not there. */
	if (!tw_ids_put(&s->by_cause, cause, (uint32_t)s->edits.count - 1, s->allocator)) {
		s->edits.count--;
		s->failed = true;
		return NULL;
	}
	return &s->edits.at[s->edits.count - 1];
}

void tw_scenario_set(struct tw_scenario *s, uint32_t point, uint32_t cause, int64_t delay_ns)
{
	struct tw_scenario_edit *edit;

	if (s->path->from[cause] == TW_NO_POINT)
		return;
	edit = make_edit(s, point, cause);
	if (edit)
		edit->delay_ns = delay_ns;
}

void tw_scenario_cut(struct tw_scenario *s, uint32_t point, uint32_t cause)
{
	tw_scenario_set(s, point, cause, TW_CUT);
}

void tw_scenario_add(struct tw_scenario *s, uint32_t point, uint32_t from, int64_t delay_ns)
{
	struct tw_scenario_cause cause = { point, from, delay_ns };

	touch(s, point);
	s->failed |= !TW_LIST_ADD(&s->added, &cause, s->allocator);
}

int64_t tw_whole_ns(double ns)
{
	return ns >= 9.2e18 ? INT64_MAX / 2 : ns > 0 ? (int64_t)floor(ns + 0.5) : 0;
}

void tw_scenario_duration(struct tw_scenario *s, const struct tw_path_rank *rank, uint32_t gpu,
			  double ns)
{
	uint32_t end = tw_gpu_end(rank, gpu), cause;

	for (cause = s->path->points[end].causes; cause < s->path->points[end + 1].causes; cause++)
		tw_scenario_set(s, end, cause, tw_whole_ns(ns));
}

void tw_scenario_scale(struct tw_scenario *s, const struct tw_path_rank *rank, uint32_t gpu,
		       double factor)
{
	uint32_t end = tw_gpu_end(rank, gpu), cause;

	for (cause = s->path->points[end].causes; cause < s->path->points[end + 1].causes;
	     cause++) {
		int64_t delay = tw_scenario_delay(s, end, cause);

		if (delay > 0)
			tw_scenario_set(s, end, cause, tw_whole_ns((double)delay * factor));
	}
}

void tw_scenario_remove(struct tw_scenario *s, const struct tw_path_rank *rank, uint32_t gpu)
{
	uint32_t start = tw_gpu_start(rank, gpu), cause;
	int64_t delay;

	s->failed |= !TW_LIST_ADD(&s->removed, &start, s->allocator);
	tw_scenario_duration(s, rank, gpu, 0);
	for (cause = s->path->points[start].causes; cause < s->path->points[start + 1].causes;
	     cause++) {
		delay = tw_scenario_delay(s, start, cause);
		if (delay > 0)
			tw_scenario_set(s, start, cause, 0);
	}
}

/* ---- time of the host */

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

struct freed {
	int64_t from_ns, to_ns, left_ns; /* left: of what is kept */
};

/* The part of a step of the thread that lies in the range is gone. */
static void shorten(struct tw_scenario *s, uint32_t point, uint32_t cause, struct freed *f)
{
	const struct tw_path_point *points = s->path->points;
	int64_t begin = points[s->path->from[cause]].time_ns, end = points[point].time_ns;
	struct tw_scenario_edit *edit = make_edit(s, point, cause);

	if (!edit || edit->delay_ns == TW_CUT)
		return;
	edit->removed_ns += max64(0, min64(f->to_ns, end) - max64(f->from_ns, begin));
	edit->delay_ns = min64(edit->delay_ns, max64(0, end - begin - edit->removed_ns));
	if (end >= f->to_ns) {
		edit->delay_ns += f->left_ns;
		f->left_ns = 0;
	}
}

static bool is_wait(enum tw_cause code)
{
	return code == TW_CAUSE_SYNC || code == TW_CAUSE_BATCH || code == TW_CAUSE_QUEUE;
}

/* The start of what ends at a point: the same label, nearest before it on the thread. */
static int64_t begin_of(const struct tw_path *path, const struct tw_path_thread *thread,
			uint32_t point)
{
	const struct tw_path_point *p = &path->points[point];
	uint32_t depth = 0, at;

	if (!tw_is_end(p))
		return p->time_ns;
	for (at = point; at-- > thread->first;) {
		const struct tw_path_point *q = &path->points[at];

		if (q->label != p->label || tw_kind_of(q) != tw_kind_of(p))
			continue;
		if (tw_is_end(q))
			depth++;
		else if (!depth--)
			return q->time_ns;
	}
	return INT64_MIN;
}

void tw_scenario_free_host(struct tw_scenario *s, const struct tw_path_thread *thread,
			   int64_t from_ns, int64_t to_ns, int64_t keep_ns)
{
	const struct tw_path *path = s->path;
	const struct tw_path_point *points = path->points;
	struct freed f = { from_ns, to_ns, keep_ns };
	uint32_t end = thread->first + thread->count, p, cause;

	p = (uint32_t)TW_LOWER_BOUND(at, thread->first, end, points[at].time_ns <= from_ns);
	for (; p < end && (p == thread->first || points[p - 1].time_ns < to_ns); p++)
		for (cause = points[p].causes; cause < points[p + 1].causes; cause++) {
			enum tw_cause code = tw_path_code(path, cause);

			if (path->from[cause] == TW_NO_POINT)
				continue;
			if ((code == TW_CAUSE_HOST || code == TW_CAUSE_DURATION) &&
			    p > thread->first && path->from[cause] == p - 1)
				shorten(s, p, cause, &f);
			else if (is_wait(code) && points[p].time_ns <= to_ns &&
				 begin_of(path, thread, p) >= from_ns)
				tw_scenario_cut(s, p, cause);
		}
}

/* ---- queues: work that is gone fills none */

static void cut_queues(struct tw_scenario *s)
{
	uint32_t p, cause;

	for (p = 0; p < s->path->first_hub; p++)
		for (cause = s->path->points[p].causes; cause < s->path->points[p + 1].causes;
		     cause++)
			if (tw_path_code(s->path, cause) == TW_CAUSE_QUEUE)
				tw_scenario_cut(s, p, cause);
}

/* Launches of each stream that are left, and how many: as gpu_points.c does with all. */
static void queue_anew(struct tw_scenario *s, const struct tw_path_rank *r, const uint8_t *gone)
{
	const struct tw_path_point *points = s->path->points;
	uint32_t depth = tw_delays[r->vendor].depth, i, q;
	size_t bytes =
		((size_t)r->launched_count + 2 * (size_t)r->queue_count + 2) * sizeof(uint32_t);
	uint32_t *places = tw_alloc_array(s->allocator, bytes, 1), *first, *nth;

	s->failed |= !places;
	if (!places)
		return;
	first = places + r->launched_count;
	nth = first + r->queue_count + 1;
	for (i = 0; i < r->launched_count; i++)
		first[r->queue[r->launched[i]] + 1]++;
	for (q = 0; q < r->queue_count; q++)
		first[q + 1] += first[q];
	for (i = 0; depth && i < r->launched_count; i++) {
		uint32_t g = r->launched[i], n, earlier;

		if (gone[tw_gpu_start(r, g)])
			continue;
		q = r->queue[g];
		n = nth[q]++;
		places[first[q] + n] = tw_gpu_start(r, g);
		if (n < depth)
			continue;
		earlier = places[first[q] + n - depth];
		if (points[earlier].time_ns <= points[r->launch_end[g]].time_ns)
			tw_scenario_add(s, r->launch_end[g], earlier, 0);
	}
	tw_free(s->allocator, places, bytes);
}

static void renew_queues(struct tw_scenario *s)
{
	const struct tw_path *path = s->path;
	uint8_t *gone;
	uint32_t i;
	size_t k;

	if (!s->removed.count || !path->queues)
		return;
	gone = tw_alloc_array(s->allocator, (size_t)path->point_count + 1, 1);
	s->failed |= !gone;
	if (!gone)
		return;
	for (k = 0; k < s->removed.count; k++)
		gone[s->removed.at[k]] = 1;
	cut_queues(s);
	for (i = 0; i < path->rank_count; i++)
		queue_anew(s, &path->ranks[i], gone);
	tw_free(s->allocator, gone, (size_t)path->point_count + 1);
	s->removed.count = 0;
}

/* ---- replay */

static bool touches(const struct tw_scenario *s, uint32_t point)
{
	return s->touched && s->touched[point / 64] >> point % 64 & 1;
}

static bool is_touched(const struct tw_scenario *s, uint32_t point)
{
	while (s && !touches(s, point))
		s = s->under;
	return s;
}

/* The edit of a cause that makes it shortest, of scenarios up to `end`. */
static const struct tw_scenario_edit *shortest_edit(const struct tw_scenario *s,
						    const struct tw_scenario *end, uint32_t point,
						    uint32_t cause)
{
	const struct tw_scenario_edit *best = NULL;

	for (; s != end; s = s->under) {
		const struct tw_scenario_edit *edit = touches(s, point) ? edit_of(s, cause) : NULL;

		if (edit && (!best || edit->delay_ns < best->delay_ns))
			best = edit;
	}
	return best;
}

static uint64_t added_key(const void *list, uint32_t number)
{
	return ((const struct tw_scenario_cause *)list)[number].point;
}

/* Added causes by point. */
static int sort_added(struct tw_scenario *s)
{
	size_t n = s->added.count, i;
	uint32_t *order = tw_alloc_array(s->allocator, n + 1, sizeof(*order));
	struct tw_scenario_cause *sorted = tw_alloc_array(s->allocator, n + 1, sizeof(*sorted));
	int status = order && sorted ? 0 : -1;

	for (i = 0; !status && i < n; i++)
		order[i] = (uint32_t)i;
	if (!status)
		status = tw_sort(order, n, added_key, s->added.at, s->allocator);
	for (i = 0; !status && i < n; i++)
		sorted[i] = s->added.at[order[i]];
	if (!status && n)
		memcpy(s->added.at, sorted, n * sizeof(*sorted));
	tw_free(s->allocator, order, (n + 1) * sizeof(*order));
	tw_free(s->allocator, sorted, (n + 1) * sizeof(*sorted));
	return status;
}

static enum tw_point_class class_of(const struct tw_path_point *p)
{
	bool launched = p->flags & TW_POINT_LAUNCHED;

	if (!tw_is_gpu_point(p))
		return launched ? TW_OF_LAUNCH : TW_OF_HOST;
	if (tw_is_lone_end(p))
		return launched ? TW_OF_LAUNCHED_LONE : TW_OF_LONE;
	return launched ? TW_OF_LAUNCHED : TW_OF_GPU;
}

/* A delay by what holds for all points; a negative one, of work that overlaps, stays. */
static inline int64_t ruled_delay(const struct tw_scenario *s, enum tw_point_class class,
				  uint32_t point, uint32_t cause, int64_t delay)
{
	if (s->free && s->free[class] >> tw_path_code(s->path, cause) & 1 && delay > 0)
		return 0;
	return s->rule ? s->rule(s->path, point, cause, delay, s->context) : delay;
}

/* The latest of the causes, as changed; of those that are equally late the first. */
static struct tw_bound changed_bound(const struct tw_scenario *s, uint32_t point,
				     struct tw_times times)
{
	const struct tw_path *path = s->path;
	uint32_t cause, end = path->points[point + 1].causes;
	enum tw_point_class class = class_of(&path->points[point]);
	struct tw_bound bound = { TW_NO_POINT, TW_CAUSES, INT64_MIN };
	const struct tw_scenario *first = NULL, *after = NULL, *of; /* those that touch it */
	size_t i;

	for (of = s; of; of = of->under)
		if (touches(of, point)) {
			first = first ? first : of;
			after = of->under;
		}
	for (cause = path->points[point].causes; cause < end; cause++) {
		const struct tw_scenario_edit *edit = shortest_edit(first, after, point, cause);
		uint32_t from = path->from[cause];
		int64_t time;

		if (from == TW_NO_POINT || (edit && edit->delay_ns == TW_CUT))
			continue;
		time = edit ? edit->delay_ns :
			      ruled_delay(s, class, point, cause,
					  tw_path_delay(path, point, cause));
		time = tw_ns_sum(tw_time(times, from), time);
		if (time > bound.time_ns)
			bound = (struct tw_bound){ from, tw_path_code(path, cause), time };
	}
	for (of = first; of != after; of = of->under) {
		if (!of->added.count || !touches(of, point))
			continue;
		i = TW_LOWER_BOUND(at, 0, of->added.count, of->added.at[at].point < point);
		for (; i < of->added.count && of->added.at[i].point == point; i++) {
			const struct tw_scenario_cause *added = &of->added.at[i];
			int64_t time = tw_ns_sum(tw_time(times, added->from), added->delay_ns);

			if (time > bound.time_ns)
				bound = (struct tw_bound){ added->from, TW_CAUSE_QUEUE, time };
		}
	}
	return bound;
}

struct tw_bound tw_path_bound(const struct tw_path *path, const struct tw_scenario *s,
			      uint32_t point, struct tw_times times)
{
	uint32_t cause = tw_path_binding(path, point);

	if (s)
		return changed_bound(s, point, times);
	if (cause == TW_NO_POINT)
		return (struct tw_bound){ TW_NO_POINT, TW_CAUSES, INT64_MIN };
	return (struct tw_bound){ path->from[cause], tw_path_code(path, cause),
				  tw_time(times, point) };
}

static int prepare(struct tw_scenario *s)
{
	renew_queues(s);
	return s->failed ? -1 : sort_added(s);
}

struct run {
	struct tw_replay *out;
	const struct tw_scenario *s;
	unsigned count;
	uint64_t *touched; /* by any of them */
	bool ruled;	   /* one of them has a rule, or causes without delay */
	bool called;	   /* one has a rule */
	/* By class of a point and code of a cause, of each: 0: such a cause has no delay, else all bits. */
	int64_t kept[TW_POINT_CLASSES][TW_CAUSES][TW_LANES];
	uint16_t free[TW_POINT_CLASSES]; /* causes without delay in one of them, bits */
};

static void find_rules(struct run *run)
{
	unsigned class, code, k;

	memset(run->kept, 0xff, sizeof(run->kept));
	for (k = 0; k < run->count; k++) {
		const struct tw_scenario *s = &run->s[k];

		run->called |= s->rule != NULL;
		run->ruled |= s->rule || s->free;
		for (class = 0; s->free && class < TW_POINT_CLASSES; class ++) {
			run->free[class] |= s->free[class];
			for (code = 0; code < TW_CAUSES; code++)
				if (s->free[class] >> code & 1)
					run->kept[class][code][k] = 0;
		}
	}
}

static bool is_changed(const struct run *run, uint32_t point)
{
	return run->touched[point / 64] >> point % 64 & 1;
}

static bool changes_delay(const struct run *run, uint32_t point, uint32_t cause, int64_t delay)
{
	enum tw_point_class class = class_of(&run->out->path->points[point]);
	unsigned k;

	if (run->free[class] >> tw_path_code(run->out->path, cause) & 1 && delay > 0)
		return true;
	for (k = 0; run->called && k < run->count; k++)
		if (ruled_delay(&run->s[k], class, point, cause, delay) != delay)
			return true;
	return false;
}

/* Whether a point follows one other in all scenarios, by the same delay, or keeps its time. */
static inline __attribute__((always_inline)) bool follows_one(const struct run *run, uint32_t point,
							      bool ruled)
{
	struct tw_replay *out = run->out;
	const struct tw_path *path = out->path;
	const struct tw_path_point *p = &path->points[point];
	uint32_t cause = p->causes, from;
	int64_t delay;

	if (p[1].causes - cause > 1 || is_changed(run, point))
		return false;
	if (cause == p[1].causes || path->from[cause] == TW_NO_POINT) {
		out->slot[point] = 0;
		out->after[point] = p->time_ns;
		return true;
	}
	delay = tw_path_delay(path, point, cause);
	if (tw_is_inferred(tw_path_code(path, cause)) ||
	    (ruled && changes_delay(run, point, cause, delay)))
		return false;
	from = path->from[cause];
	out->slot[point] = out->slot[from];
	out->after[point] = tw_ns_sum(out->after[from], delay);
	return true;
}

/* By rules alone. */
static void ruled_delays(const struct run *run, uint32_t point, uint32_t cause, int64_t delay,
			 int64_t *delays)
{
	const struct tw_path *path = run->out->path;
	enum tw_point_class class = class_of(&path->points[point]);
	const int64_t *kept = run->kept[class][tw_path_code(path, cause)];
	unsigned k;

	for (k = 0; k < TW_LANES; k++)
		delays[k] = delay > 0 ? delay & kept[k] : delay;
	for (k = 0; run->called && k < run->count; k++)
		delays[k] = ruled_delay(&run->s[k], class, point, cause, delay);
}

/*
 * The latest of the causes by rules alone, in all scenarios, and the last point before whose inferred
 * cause binds.
 */
static inline __attribute__((always_inline)) void find_latest(const struct run *run, uint32_t point,
							      unsigned width, bool ruled,
							      int64_t *latest, uint32_t *inferred)
{
	const struct tw_replay *out = run->out;
	const struct tw_path *path = out->path;
	const struct tw_path_point *p = &path->points[point];
	int64_t delays[TW_LANES], before;
	uint32_t cause;
	unsigned k;

	for (k = 0; k < width; k++) {
		latest[k] = INT64_MIN;
		inferred[k] = TW_NO_POINT;
	}
	for (cause = p->causes; cause < p[1].causes; cause++) {
		uint32_t from = path->from[cause], own[TW_LANES];
		const uint32_t *last = own;
		const int64_t *in;
		int64_t delay, after;

		if (from == TW_NO_POINT)
			continue;
		in = out->slots + (size_t)out->slot[from] * width;
		if (out->inferred && !tw_is_inferred(tw_path_code(path, cause)))
			last = out->inferred + (size_t)out->slot[from] * width;
		else
			for (k = 0; k < width; k++)
				own[k] = point;
		delay = tw_path_delay(path, point, cause);
		if (ruled)
			ruled_delays(run, point, cause, delay, delays);
		before = out->after[from];
		after = tw_ns_sum(before, delay);
		for (k = 0; k < width; k++) {
			int64_t time =
				tw_ns_sum(in[k], ruled ? tw_ns_sum(before, delays[k]) : after);

			inferred[k] = time > latest[k] ? last[k] : inferred[k];
			latest[k] = time > latest[k] ? time : latest[k];
		}
	}
}

/* Of one scenario that changes a point. */
static void change(const struct run *run, uint32_t point, unsigned lane, int64_t *time,
		   uint32_t *inferred)
{
	const struct tw_replay *out = run->out;
	struct tw_bound bound = changed_bound(&run->s[lane], point, tw_replayed(out, lane));

	*time = bound.from == TW_NO_POINT ? out->path->points[point].time_ns : bound.time_ns;
	*inferred = bound.from == TW_NO_POINT  ? TW_NO_POINT :
		    tw_is_inferred(bound.code) ? point :
						 tw_last_inferred(out, lane, bound.from);
}

static inline __attribute__((always_inline)) void replay_all(struct run *run, unsigned width,
							     bool ruled)
{
	struct tw_replay *out = run->out;
	const struct tw_path *path = out->path;
	int64_t *times = out->slots; /* the first slot: of those that follow none */
	uint32_t i, used = 0, found[TW_LANES], *inferred = out->inferred;
	unsigned k;

	memset(times, 0, width * sizeof(*times));
	if (inferred)
		memset(inferred, 0xff, width * sizeof(*inferred));
	for (i = 0; i < path->point_count; i++) {
		uint32_t p = path->order[i];

		if (follows_one(run, p, ruled))
			continue;
		times += width;
		find_latest(run, p, width, ruled, times, found);
		if (times[0] == INT64_MIN)
			for (k = 0; k < width; k++)
				times[k] = path->points[p].time_ns;
		for (k = 0; is_changed(run, p) && k < run->count; k++)
			if (is_touched(&run->s[k], p))
				change(run, p, k, &times[k], &found[k]);
		out->slot[p] = ++used;
		out->after[p] = 0;
		if (inferred)
			memcpy(inferred + (size_t)used * width, found, width * sizeof(*found));
	}
}

static inline __attribute__((always_inline)) void replay(struct run *run, unsigned width)
{
	if (run->ruled)
		replay_all(run, width, true);
	else
		replay_all(run, width, false);
}

static void replay_wide(struct run *run)
{
	if (run->out->width == TW_LANES)
		replay(run, TW_LANES);
	else if (run->out->width == TW_LANES / 2)
		replay(run, TW_LANES / 2);
	else
		replay(run, 1);
}

/* Room for points that follow no single one. */
static int make_room(struct run *run)
{
	struct tw_replay *out = run->out;
	const struct tw_path *path = out->path;
	size_t words = touched_bytes(path) / sizeof(*run->touched), i, most = 1 + path->joins;
	unsigned k;

	find_rules(run);
	run->touched = tw_alloc_array(out->allocator, words, sizeof(*run->touched));
	for (k = 0; run->touched && k < run->count; k++) {
		const struct tw_scenario *s = &run->s[k];

		for (; s; s = s->under)
			for (i = 0; s->touched && i < words; i++)
				run->touched[i] |= s->touched[i];
	}
	for (i = 0; run->touched && i < words; i++)
		most += (size_t)__builtin_popcountll(run->touched[i]);
	if (run->ruled || most > path->point_count)
		most = (size_t)path->point_count + 1;
	out->room = most * out->width;
	out->slot = tw_alloc(out->allocator, ((size_t)path->point_count + 1) * sizeof(*out->slot));
	out->after =
		tw_alloc(out->allocator, ((size_t)path->point_count + 1) * sizeof(*out->after));
	out->slots = tw_alloc(out->allocator, out->room * sizeof(*out->slots));
	if (path->inferred)
		out->inferred = tw_alloc(out->allocator, out->room * sizeof(*out->inferred));
	return run->touched && out->slot && out->after && out->slots &&
			       (out->inferred || !path->inferred) ?
		       0 :
		       -1;
}

int tw_replay_run(struct tw_replay *out, const struct tw_path *path, struct tw_scenario *s,
		  unsigned count, const struct trawl_allocator *allocator)
{
	struct run run = { .out = out, .s = s, .count = count };
	int status = 0;
	unsigned k;

	*out = (struct tw_replay){ .path = path,
				   .allocator = allocator,
				   .width = count > TW_LANES / 2 ? TW_LANES :
					    count > 1		 ? TW_LANES / 2 :
								   1 };
	for (k = 0; k < count && !status; k++)
		status = prepare(&s[k]);
	if (!status)
		status = make_room(&run);
	if (!status)
		replay_wide(&run);
	tw_free(allocator, run.touched, touched_bytes(path));
	return status;
}

void tw_replay_release(struct tw_replay *r)
{
	size_t n = (size_t)r->path->point_count + 1;

	tw_free(r->allocator, r->slot, n * sizeof(*r->slot));
	tw_free(r->allocator, r->after, n * sizeof(*r->after));
	tw_free(r->allocator, r->slots, r->room * sizeof(*r->slots));
	tw_free(r->allocator, r->inferred, r->room * sizeof(*r->inferred));
}

/* ---- what is measured */

static bool has_launches(const struct tw_path *path)
{
	uint32_t i;

	for (i = 0; i < path->rank_count; i++)
		if (path->ranks[i].launched_count)
			return true;
	return false;
}

bool tw_in_window(const struct tw_path *path, const struct tw_path_rank *rank, uint32_t gpu)
{
	if (path->step_first >= 0) {
		int64_t step = rank->step[gpu] < 0 ? -1 : rank->steps[rank->step[gpu]].number;

		if (step < path->step_first || step > path->step_last)
			return false;
	}
	if (rank->piece && rank->piece[2 * gpu] == TW_NO_POINT)
		return false;
	if (path->whole)
		return true;
	return gpu >= rank->edge_before && gpu < rank->gpu_count - rank->edge_after &&
	       (rank->launch[gpu] != TW_NO_POINT || !has_launches(path));
}

static void widen(struct tw_path_window *w, const struct tw_path *path, uint32_t rank, uint32_t gpu,
		  int64_t start, int64_t end)
{
	const struct tw_path_rank *r = &path->ranks[rank];

	w->start_ns = min64(w->start_ns, start);
	if (w->last == TW_NO_POINT || end > w->end_ns ||
	    (end == w->end_ns && path->points[w->last].rank == rank &&
	     r->queue[gpu] < r->queue[(w->last - r->first) / 2]))
		w->last = tw_gpu_end(r, gpu);
	w->end_ns = max64(w->end_ns, end);
}

/* `times`: of the first of some scenarios that are beside each other. */
static void find_windows(const struct tw_path *path, struct tw_times times, unsigned count,
			 struct tw_path_window *windows)
{
	uint32_t i, g;
	unsigned k;

	for (k = 0; k < count; k++)
		windows[k] = (struct tw_path_window){ INT64_MAX, INT64_MIN, TW_NO_POINT };
	for (i = 0; i < path->rank_count; i++)
		for (g = 0; g < path->ranks[i].gpu_count; g++) {
			uint32_t p = tw_gpu_start(&path->ranks[i], g);
			const int64_t *start = tw_times_of(times, p),
				      *end = tw_times_of(times, p + 1);
			int64_t after = times.slot ? times.after[p] : 0;
			int64_t end_after = times.slot ? times.after[p + 1] : 0;

			if (tw_in_window(path, &path->ranks[i], g))
				for (k = 0; k < count; k++)
					widen(&windows[k], path, i, g, tw_ns_sum(start[k], after),
					      tw_ns_sum(end[k], end_after));
		}
}

struct tw_path_window tw_window_of(const struct tw_path *path, struct tw_times times)
{
	struct tw_path_window window;

	find_windows(path, times, 1, &window);
	return window;
}

void tw_find_windows(const struct tw_replay *replay, unsigned count, struct tw_path_window *windows)
{
	find_windows(replay->path, tw_replayed(replay, 0), count, windows);
}

double tw_step_ns(const struct tw_path *path, struct tw_times times)
{
	int64_t end[2] = { INT64_MIN, INT64_MIN };
	int32_t step[2] = { INT32_MAX, -1 };
	uint32_t i, g;

	for (i = 0; i < path->rank_count; i++)
		for (g = 0; g < path->ranks[i].gpu_count; g++) {
			int32_t at = path->ranks[i].step[g];

			if (at >= 0 && at < step[0])
				step[0] = at;
			if (at > step[1])
				step[1] = at;
		}
	if (step[1] <= step[0])
		return NAN;
	for (i = 0; i < path->rank_count; i++)
		for (g = 0; g < path->ranks[i].gpu_count; g++) {
			const struct tw_path_rank *r = &path->ranks[i];
			int which = r->step[g] == step[0] ? 0 : r->step[g] == step[1] ? 1 : -1;

			if (which >= 0)
				end[which] = max64(end[which], tw_time(times, tw_gpu_end(r, g)));
		}
	return (double)tw_ns_between(end[0], end[1]) / (step[1] - step[0]);
}
