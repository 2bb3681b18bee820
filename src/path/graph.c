/* The graph over all ranks: their parts joined, collectives between them, delays, an order. */
#include "path/graph.h"

#include "base/alloc.h"
#include "base/median.h"
#include "base/reuse.h"
#include "base/scope.h"
#include "base/sort.h"
#include "path/rank_build.h"

#include <string.h>

struct join {
	struct tw_path *path;
	struct tw_path_part *parts;
	const struct tw_path_collectives *collectives;
	const struct trawl_allocator *scratch;
	double bus_bytes; /* of the collective at hand */
	bool failed;
};

static void *array(struct join *j, size_t count, size_t size)
{
	void *made = tw_alloc_array(j->path->allocator, count + 1, size);

	j->failed |= !made;
	return made;
}

/* ---- points of all ranks, one after the other */

static int64_t shift_of(const struct join *j, uint32_t rank)
{
	return j->collectives && j->collectives->shift_ns ? j->collectives->shift_ns[rank] : 0;
}

/* Those of the first rank are there already: its arrays have become the path's. */
static void take_points(struct join *j, uint32_t rank)
{
	struct tw_path *path = j->path;
	struct tw_path_part *part = &j->parts[rank];
	uint32_t first = path->ranks[rank].first, i;

	for (i = 0; i < part->rank.count; i++) {
		struct tw_path_point *p = &path->points[first + i];

		if (rank)
			*p = part->points[i];
		p->time_ns = tw_ns_sum(p->time_ns, shift_of(j, rank));
		p->rank = rank;
		p->causes += path->cause_count;
	}
	for (i = 0; i < part->cause_count; i++) {
		if (rank)
			path->from[path->cause_count + i] = first + part->from[i];
		path->lag[path->cause_count + i] = part->code[i];
	}
	path->cause_count += part->cause_count;
	if (rank)
		tw_path_part_drop(part);
}

static void rebase(struct tw_path_rank *r)
{
	uint32_t i;

	for (i = 0; i < r->gpu_count; i++)
		if (r->launch[i] != TW_NO_POINT) {
			r->launch[i] += r->first;
			r->launch_end[i] += r->first;
		}
	for (i = 0; i < r->thread_count; i++)
		r->threads[i].first += r->first;
}

static void take_ranks(struct join *j)
{
	struct tw_path *path = j->path;
	uint32_t i;

	for (i = 0; i < path->rank_count; i++) {
		path->ranks[i].shift_ns = shift_of(j, i);
		take_points(j, i);
		rebase(&path->ranks[i]);
	}
}

/* ---- collectives: a hub for each, in the place of the members' durations */

static uint32_t add_hub(struct join *j, int64_t time_ns)
{
	struct tw_path *path = j->path;

	path->bus_bytes[path->point_count - path->first_hub] = j->bus_bytes;
	path->points[path->point_count] = (struct tw_path_point){ .time_ns = time_ns,
								  .causes = path->cause_count,
								  .kind = TW_POINT_HUB };
	return path->point_count++;
}

static void add_cause(struct join *j, uint32_t from)
{
	j->path->from[j->path->cause_count] = from;
	j->path->lag[j->path->cause_count++] = TW_CAUSE_COLLECTIVE;
}

static uint32_t start_of(const struct tw_path *path, const struct tw_path_member *m)
{
	return tw_gpu_start(&path->ranks[m->rank], m->first);
}

static uint32_t end_of(const struct tw_path *path, const struct tw_path_member *m)
{
	return tw_gpu_end(&path->ranks[m->rank], m->last);
}

/* The end of GPU work has one cause, its duration: from here on the hub. */
static void attach(struct join *j, const struct tw_path_member *m, uint32_t hub)
{
	uint32_t cause = j->path->points[end_of(j->path, m)].causes;

	j->path->from[cause] = hub;
	j->path->lag[cause] = TW_CAUSE_COLLECTIVE;
}

/* A hub of those that are waited for and began before a time; TW_NO_POINT: of fewer than two. */
static uint32_t make_hub(struct join *j, const struct tw_path_member *m, uint32_t count,
			 int64_t until_ns)
{
	struct tw_path *path = j->path;
	int64_t latest = INT64_MIN;
	uint32_t hub = add_hub(j, 0), i;

	for (i = 0; i < count; i++) {
		uint32_t start = start_of(path, &m[i]);

		if (!m[i].waited_for || path->points[start].time_ns > until_ns)
			continue;
		add_cause(j, start);
		latest = path->points[start].time_ns > latest ? path->points[start].time_ns :
								latest;
	}
	path->points[hub].time_ns = latest;
	return hub;
}

/* Whether a member ended before the others can have arrived: clocks differ by less. */
static bool ended_before(const struct join *j, const struct tw_path_member *m, int64_t time_ns)
{
	return m->waits && time_ns > j->path->points[end_of(j->path, m)].time_ns +
					     j->collectives->uncertainty_ns;
}

static void add_collective(struct join *j, const struct tw_path_collective *c)
{
	const struct tw_path *path = j->path;
	const struct tw_path_member *m = j->collectives->members + c->first;
	uint32_t hub, i;

	j->bus_bytes = c->bus_bytes;
	hub = make_hub(j, m, c->count, INT64_MAX);
	for (i = 0; i < c->count; i++) {
		int64_t end = path->points[end_of(path, &m[i])].time_ns;

		j->path->points[start_of(path, &m[i])].flags |= TW_POINT_MATCHED;
		j->path->points[end_of(path, &m[i])].flags |= TW_POINT_MATCHED;
		if (!m[i].waits)
			continue;
		if (!ended_before(j, &m[i], path->points[hub].time_ns)) {
			attach(j, &m[i], hub);
			continue;
		}
		/* Of its own, without those that came later than clocks can say. */
		j->path->notes.skewed++;
		attach(j, &m[i], make_hub(j, m, c->count, end + j->collectives->uncertainty_ns));
	}
}

static void add_collectives(struct join *j)
{
	uint32_t i;

	j->path->first_hub = j->path->point_count;
	for (i = 0; j->collectives && i < j->collectives->count; i++)
		add_collective(j, &j->collectives->items[i]);
	j->path->points[j->path->point_count].causes = j->path->cause_count;
}

/* ---- delays */

/* Groups of causes with a usual delay, of one rank: by code and device, and of calls by name. */
struct usual {
	uint32_t groups, devices;
	uint32_t *first; /* by group, in values */
	int64_t *values;
	uint32_t *lag; /* by group: of its usual delay, UINT32_MAX: not made yet */
};

static uint32_t group_of(const struct join *j, const struct usual *u, uint32_t point,
			 enum tw_cause code)
{
	const struct tw_path_point *p = &j->path->points[point];
	const struct tw_path_rank *r = &j->path->ranks[p->rank];

	if (code == TW_CAUSE_DURATION && !tw_is_gpu_point(p))
		return TW_CAUSES * (1 + u->devices) + r->labels[p->label].name;
	if (!tw_is_gpu_point(p))
		return code;
	return TW_CAUSES * (1 + r->device[r->queue[(point - r->first) / 2]]) + code;
}

static bool counts(const struct tw_path_point *p)
{
	return tw_is_end(p) || !tw_is_gpu_point(p) || p->flags & TW_POINT_LAUNCHED;
}

static bool is_later(const struct tw_path *path, uint32_t a, uint32_t b)
{
	return path->points[path->from[a]].time_ns > path->points[path->from[b]].time_ns;
}

/* The latest cause binds; at the end of a fetch that waited the batch. */
static void bind(struct join *j, uint32_t point)
{
	struct tw_path_point *p = &j->path->points[point];
	uint32_t end = p[1].causes, best = p->causes, i;

	p->bind = UINT16_MAX;
	if (p->causes == end)
		return;
	for (i = p->causes + 1; i < end; i++)
		if (p->flags & TW_POINT_FETCH && !tw_is_gpu_point(p) ?
			    tw_path_code(j->path, i) == TW_CAUSE_BATCH :
			    is_later(j->path, i, best))
			best = i;
	p->bind = best - p->causes < UINT16_MAX ? (uint16_t)(best - p->causes) : UINT16_MAX - 1;
}

static int64_t gap_of(const struct join *j, uint32_t point, uint32_t cause)
{
	return tw_ns_between(j->path->points[j->path->from[cause]].time_ns,
			     j->path->points[point].time_ns);
}

static void gather(struct join *j, struct usual *u, const struct tw_path_rank *r, bool fill)
{
	uint32_t p, cause, group;

	for (p = r->first; p < r->first + r->count; p++) {
		cause = tw_path_binding(j->path, p);
		if (cause == TW_NO_POINT || !counts(&j->path->points[p]))
			continue;
		group = group_of(j, u, p, tw_path_code(j->path, cause));
		if (fill)
			u->values[u->first[group]++] = gap_of(j, p, cause);
		else
			u->first[group + 1]++;
	}
}

static int64_t default_delay(enum tw_vendor vendor, enum tw_cause code)
{
	const struct tw_delays *d = &tw_delays[vendor];

	switch (code) {
	case TW_CAUSE_LAUNCH:
		return d->launch;
	case TW_CAUSE_STREAM:
		return d->stream;
	case TW_CAUSE_EVENT:
		return d->event;
	case TW_CAUSE_WAIT:
		return d->wait;
	case TW_CAUSE_INFERRED:
		return d->inferred;
	case TW_CAUSE_SYNC:
		return d->sync;
	case TW_CAUSE_HOST:
		return d->host;
	case TW_CAUSE_DURATION:
		return d->duration;
	case TW_CAUSE_HANDOVER:
		return d->handover;
	default:
		return 0;
	}
}

static uint32_t pack_lag(enum tw_cause code, int32_t delay)
{
	return (uint32_t)code | (uint32_t)delay << TW_CODE_BITS;
}

static bool is_short(int64_t ns)
{
	return ns >= TW_LEAST_DELAY && ns < TW_LONG_DELAY;
}

static uint32_t new_lag(struct join *j, enum tw_cause code, int64_t ns)
{
	struct tw_path *path = j->path;

	if (is_short(ns))
		return pack_lag(code, (int32_t)ns);
	j->failed |= path->long_delays.count >= TW_AS_RECORDED - TW_LONG_DELAY ||
		     !TW_LIST_ADD(&path->long_delays, &ns, path->allocator);
	return pack_lag(code, TW_LONG_DELAY + (int32_t)path->long_delays.count - 1);
}

static uint32_t recorded_lag(const struct join *j, uint32_t point, uint32_t cause)
{
	int64_t ns = gap_of(j, point, cause);

	return pack_lag(tw_path_code(j->path, cause), is_short(ns) ? (int32_t)ns : TW_AS_RECORDED);
}

static uint32_t usual_lag(struct join *j, struct usual *u, uint32_t group, enum tw_vendor vendor,
			  enum tw_cause code)
{
	uint32_t begin = group ? u->first[group - 1] : 0, end = u->first[group];

	if (u->lag[group] == UINT32_MAX)
		u->lag[group] = new_lag(j, code,
					end > begin ?
						tw_middle_of(u->values + begin, end - begin).lower :
						default_delay(vendor, code));
	return u->lag[group];
}

/*
 * The cause that binds has its delay as recorded, any other at most the usual one of its code: it
 * may have been there for long.  Of work that overlaps on a stream, its start is no less than that
 * of the work before.
 */
static void set_lag(struct join *j, struct usual *u, const struct tw_path_rank *r, uint32_t point,
		    uint32_t cause)
{
	struct tw_path *path = j->path;
	const struct tw_path_point *p = &path->points[point];
	enum tw_cause code = tw_path_code(path, cause);
	uint32_t recorded = recorded_lag(j, point, cause);
	int64_t gap = gap_of(j, point, cause), usual;

	path->lag[cause] = recorded;
	if (code == TW_CAUSE_BATCH || gap < 0 || cause - p->causes == p->bind)
		return;
	if (code == TW_CAUSE_STREAM && !tw_is_end(&path->points[path->from[cause]])) {
		path->lag[cause] = new_lag(j, code, 0);
		return;
	}
	path->lag[cause] = usual_lag(j, u, group_of(j, u, point, code), r->vendor, code);
	if (j->failed)
		return;
	usual = tw_path_delay(path, point, cause);
	if (p->flags & TW_POINT_FETCH && !tw_is_gpu_point(p) && gap > r->fetch_ns &&
	    usual > r->fetch_ns)
		path->lag[cause] = new_lag(j, code, r->fetch_ns);
	else if (gap <= usual)
		path->lag[cause] = recorded;
}

static void delay_rank(struct join *j, const struct tw_path_rank *r)
{
	struct usual u = { .devices = r->device_count };
	uint32_t p, cause;

	u.groups = TW_CAUSES * (1 + u.devices) + r->texts.count;
	u.first = tw_alloc_array(j->scratch, (size_t)u.groups + 1, sizeof(*u.first));
	u.values = tw_alloc_array(j->scratch, (size_t)r->count + 1, sizeof(*u.values));
	u.lag = tw_alloc_array(j->scratch, (size_t)u.groups + 1, sizeof(*u.lag));
	j->failed |= !u.first || !u.values || !u.lag;
	if (j->failed)
		return;
	memset(u.lag, 0xff, u.groups * sizeof(*u.lag));
	for (p = r->first; p < r->first + r->count; p++)
		bind(j, p);
	gather(j, &u, r, false);
	for (p = 0; p < u.groups; p++)
		u.first[p + 1] += u.first[p];
	gather(j, &u, r, true);
	/* Each group's first is its end now, and where the next begins. */
	for (p = r->first; p < r->first + r->count && !j->failed; p++)
		for (cause = j->path->points[p].causes; cause < j->path->points[p + 1].causes;
		     cause++)
			set_lag(j, &u, r, p, cause);
	tw_free(j->scratch, u.values, ((size_t)r->count + 1) * sizeof(*u.values));
}

/* At hubs all arrive without delay. */
static void add_delays(struct join *j)
{
	struct tw_path *path = j->path;
	uint32_t i;

	for (i = 0; i < path->rank_count && !j->failed; i++)
		delay_rank(j, &path->ranks[i]);
	for (i = path->first_hub; i < path->point_count; i++)
		bind(j, i);
	for (i = 0; i < path->point_count; i++) {
		uint32_t first = path->points[i].causes, end = path->points[i + 1].causes;

		path->joins += end - first > 1 ||
			       (end > first && tw_is_inferred(tw_path_code(path, first)));
	}
	for (i = 0; i < path->cause_count; i++) {
		enum tw_cause code = tw_path_code(path, i);

		path->inferred += tw_is_inferred(code);
		path->queues += code == TW_CAUSE_QUEUE;
	}
}

/* ---- an order in which causes come first */

struct order {
	struct join *j;
	uint32_t *sorted; /* points by time */
	uint8_t *done;
	uint32_t *waiting,
		*next; /* by point: the first that waits for it, the next that waits with it */
	uint32_t count;
};

static uint64_t time_key(const void *points, uint32_t point)
{
	return tw_sort_key(((const struct tw_path_point *)points)[point].time_ns);
}

/* The first cause that is not in the order yet, TW_NO_POINT: all are. */
static uint32_t missing(const struct order *o, uint32_t point)
{
	const struct tw_path *path = o->j->path;
	uint32_t cause;

	for (cause = path->points[point].causes; cause < path->points[point + 1].causes; cause++)
		if (path->from[cause] != TW_NO_POINT && !o->done[path->from[cause]])
			return path->from[cause];
	return TW_NO_POINT;
}

/* Puts a point into the order; those that waited for it go on the list of what is to be tried. */
static void emit(struct order *o, uint32_t point, uint32_t *todo)
{
	uint32_t waits;

	o->done[point] = 1;
	o->j->path->order[o->count++] = point;
	while ((waits = o->waiting[point]) != TW_NO_POINT) {
		o->waiting[point] = o->next[waits];
		if (o->done[waits])
			continue;
		o->next[waits] = *todo;
		*todo = waits;
	}
}

static void try_all(struct order *o, uint32_t todo)
{
	while (todo != TW_NO_POINT) {
		uint32_t p = todo, wanted = missing(o, p);

		todo = o->next[p];
		if (wanted == TW_NO_POINT) {
			emit(o, p, &todo);
			continue;
		}
		o->next[p] = o->waiting[wanted];
		o->waiting[wanted] = p;
	}
}

/*
 * Drops the causes of a point that are not in the order: they close a circle.  Of the others the
 * latest binds.
 */
static void cut(struct order *o, uint32_t point)
{
	struct tw_path *path = o->j->path;
	struct tw_path_point *p = &path->points[point];
	uint32_t cause, best = TW_NO_POINT;

	for (cause = p->causes; cause < p[1].causes; cause++) {
		if (path->from[cause] == TW_NO_POINT)
			continue;
		if (!o->done[path->from[cause]]) {
			path->notes.cut++;
			path->queues -= tw_path_code(path, cause) == TW_CAUSE_QUEUE;
			path->from[cause] = TW_NO_POINT;
		} else if (best == TW_NO_POINT || is_later(path, cause, best)) {
			best = cause;
		}
	}
	p->bind = best == TW_NO_POINT ? UINT16_MAX : (uint16_t)(best - p->causes);
	if (best != TW_NO_POINT)
		path->lag[best] = recorded_lag(o->j, point, best);
}

static void order_points(struct order *o)
{
	uint32_t n = o->j->path->point_count, i, todo;

	for (i = 0; i < n; i++) {
		o->next[o->sorted[i]] = TW_NO_POINT;
		try_all(o, o->sorted[i]);
	}
	for (i = 0; i < n && o->count < n; i++) {
		if (o->done[o->sorted[i]])
			continue;
		cut(o, o->sorted[i]);
		todo = TW_NO_POINT;
		emit(o, o->sorted[i], &todo);
		try_all(o, todo);
	}
}

static void find_order(struct join *j)
{
	struct tw_path *path = j->path;
	uint32_t n = path->point_count, i;
	struct order o = { .j = j };

	o.sorted = tw_alloc_array(j->scratch, (size_t)n + 1, sizeof(*o.sorted));
	o.done = tw_alloc_array(j->scratch, (size_t)n + 1, 1);
	o.waiting = tw_alloc_array(j->scratch, (size_t)n + 1, sizeof(*o.waiting));
	o.next = tw_alloc_array(j->scratch, (size_t)n + 1, sizeof(*o.next));
	path->order = array(j, n, sizeof(*path->order));
	j->failed |= !o.sorted || !o.done || !o.waiting || !o.next;
	if (j->failed)
		return;
	for (i = 0; i < n; i++) {
		o.sorted[i] = i;
		o.waiting[i] = TW_NO_POINT;
	}
	j->failed |= tw_sort(o.sorted, n, time_key, path->points, j->scratch);
	if (!j->failed)
		order_points(&o);
}

/* ---- the whole */

/* How many hubs a collective needs besides the first.  Called before points are taken over. */
static uint32_t own_hubs(const struct join *j, const struct tw_path_collective *c)
{
	const struct tw_path_member *m = j->collectives->members + c->first;
	int64_t latest = INT64_MIN;
	uint32_t i, n = 0;

	for (i = 0; i < c->count; i++) {
		int64_t start =
			j->parts[m[i].rank].points[2 * m[i].first].time_ns + shift_of(j, m[i].rank);

		if (m[i].waited_for && start > latest)
			latest = start;
	}
	for (i = 0; i < c->count; i++)
		n += m[i].waits && latest > j->parts[m[i].rank].points[2 * m[i].last + 1].time_ns +
						    shift_of(j, m[i].rank) +
						    j->collectives->uncertainty_ns;
	return n;
}

/* An array of the first part, now with room for all: for one rank nothing is copied. */
static void *grown(struct join *j, void *of_part, size_t have, size_t count, size_t size)
{
	const struct trawl_allocator *a = j->path->allocator;
	void *block, *made;

	memcpy(&block, of_part, sizeof(block));
	made = tw_realloc(a, block, (have + 1) * size, (count + 1) * size);
	j->failed |= !made;
	if (made)
		memset(of_part, 0, sizeof(block));
	return made;
}

/* Room for all points and causes: each member of a collective may have a hub of its own. */
static void reserve(struct join *j, uint32_t count)
{
	struct tw_path *path = j->path;
	uint64_t points = 0, causes = 0, hubs = 0, arrivals = 0;
	uint32_t i;

	for (i = 0; i < count; i++) {
		path->ranks[i].first = (uint32_t)points;
		points += j->parts[i].rank.count;
		causes += j->parts[i].cause_count;
	}
	for (i = 0; j->collectives && i < j->collectives->count; i++) {
		uint64_t n = j->collectives->items[i].count;

		hubs += 1 + own_hubs(j, &j->collectives->items[i]);
		arrivals += n * (1 + own_hubs(j, &j->collectives->items[i]));
	}
	if (points + hubs >= TW_NO_POINT || causes + arrivals >= TW_NO_POINT) {
		j->failed = true;
		return;
	}
	path->point_count = (uint32_t)points;
	path->point_room = (size_t)(points + hubs) + 1;
	path->cause_room = (size_t)(causes + arrivals) + 1;
	path->points = grown(j, &j->parts[0].points, j->parts[0].rank.count, points + hubs,
			     sizeof(*path->points));
	path->from = grown(j, &j->parts[0].from, j->parts[0].cause_count, causes + arrivals,
			   sizeof(*path->from));
	path->lag = array(j, causes + arrivals, sizeof(*path->lag));
	path->bus_bytes = array(j, hubs, sizeof(*path->bus_bytes));
	path->hub_room = (size_t)hubs + 1;
}

static void take_over(struct join *j, uint32_t count)
{
	struct tw_path *path = j->path;
	uint32_t i;

	path->ranks = array(j, count, sizeof(*path->ranks));
	path->rank_room = (size_t)count + 1;
	for (i = 0; i < count && !j->failed; i++) {
		path->ranks[i] = j->parts[i].rank;
		path->rank_count++;
	}
	if (j->collectives)
		path->uncertainty_ns = j->collectives->uncertainty_ns;
}

/* What the path has taken over stays. */
static void release_parts(struct join *j, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		uint32_t points = j->parts[i].rank.count;

		if (i < j->path->rank_count) {
			memset(&j->parts[i].rank, 0, sizeof(j->parts[i].rank));
			j->parts[i].rank.count = points;
		}
		tw_path_part_release(&j->parts[i]);
	}
}

int tw_path_join(struct tw_path **out, struct tw_path_part *parts, uint32_t count,
		 const struct tw_path_collectives *collectives,
		 const struct trawl_allocator *allocator)
{
	struct tw_path *path = tw_alloc_array(allocator, 1, sizeof(*path));
	struct tw_scope scope;
	struct tw_reuse *reuse = tw_reuse_new(allocator);
	struct join j = { path, parts, collectives, &scope.allocator, 0, !reuse };
	static void (*const steps[])(struct join * j) = { take_ranks, add_collectives, add_delays,
							  find_order };
	size_t i;

	*out = path;
	if (!path) {
		for (i = 0; i < count; i++)
			tw_path_part_release(&parts[i]);
		tw_reuse_free(reuse);
		return TRAWL_ENOMEM;
	}
	path->allocator = allocator;
	path->step_first = path->step_last = -1;
	tw_scope_begin(&scope, reuse ? tw_reuse_allocator(reuse) : allocator);
	if (!j.failed)
		take_over(&j, count);
	if (!j.failed)
		reserve(&j, count);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]) && !j.failed; i++)
		steps[i](&j);
	release_parts(&j, count);
	tw_scope_end(&scope);
	tw_reuse_free(reuse);
	if (!j.failed)
		return 0;
	tw_path_free(path);
	*out = NULL;
	return TRAWL_ENOMEM;
}

void tw_path_drop_points(struct tw_path *path)
{
	const struct trawl_allocator *a = path->allocator;

	tw_free(a, path->points, path->point_room * sizeof(*path->points));
	tw_free(a, path->from, path->cause_room * sizeof(*path->from));
	tw_free(a, path->lag, path->cause_room * sizeof(*path->lag));
	tw_free(a, path->order, ((size_t)path->point_count + 1) * sizeof(*path->order));
	TW_LIST_FREE(&path->long_delays, a);
	tw_free(a, path->bus_bytes, path->hub_room * sizeof(*path->bus_bytes));
	path->points = NULL;
	path->bus_bytes = NULL;
	path->from = path->lag = path->order = NULL;
}

void tw_path_free(struct tw_path *path)
{
	const struct trawl_allocator *a;
	uint32_t i;

	if (!path)
		return;
	a = path->allocator;
	tw_path_drop_points(path);
	for (i = 0; i < path->rank_count; i++)
		tw_path_rank_release(&path->ranks[i], a);
	tw_free(a, path->ranks, path->rank_room * sizeof(*path->ranks));
	tw_free(a, path, sizeof(*path));
}
