/*
 * The host stands still in some steps: between the same two points of a step (the n-th time of both) it
 * takes far longer than in the other steps, and nothing is recorded for half of that.  Without: as
 * long as in the other steps.
 */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include "analysis/groups.h"
#include "base/alloc.h"
#include "base/order.h"
#include "base/search.h"
#include "base/sort.h"
#include "data/tables.h"

#include <stdlib.h>

#define KIND TW_KIND_host_pause

/* Two points of a thread that follow each other, the n-th of so many of their kind in a step. */
struct place {
	uint32_t thread, from, to; /* labels */
	uint32_t kinds, nth, count;
};

struct between {
	uint32_t group, point;
	int32_t step;
	int64_t ns;
};

struct pause {
	const struct between *of;
	int64_t usual_ns, from_ns, to_ns;
	int64_t silent_from_ns, silent_to_ns; /* the longest stretch in which nothing is recorded */
	uint32_t track, event;		      /* what the thread was in then, or came to */
	TW_LIST(int64_t) seen;		      /* times of events inside */
};

struct pauses {
	struct tw_look *look;
	struct tw_groups counts, seen, places; /* the first two by place and step */
	TW_LIST(struct between) list;
	TW_LIST(struct pause) found;
	struct tw_ranges explained;
};

/* The delay from the point before, when that is what a point waited for; -1. */
static int64_t bound_delay(const struct tw_path_part *part, uint32_t p)
{
	int64_t before = part->points[p - 1].time_ns;
	uint32_t cause;

	for (cause = part->points[p].causes; cause < part->points[p + 1].causes; cause++)
		if (part->points[part->from[cause]].time_ns > before)
			return -1;
	return part->points[p].time_ns - before;
}

static bool is_explained(const struct tw_look *look, const struct tw_path_point *p)
{
	if (p->kind == TW_POINT_CALL + 1 && look->claims->loads_or_waits[p->label])
		return true;
	return p->flags & (TW_POINT_WAITS | TW_POINT_IS_ALLOCATION) ||
	       p->kind == TW_POINT_LOADER + 1 || p->flags & TW_POINT_FETCH;
}

/* The pair of points that ends at p, in a step. */
struct pair {
	struct place place; /* without number */
	int32_t step;
};

static struct pair pair_of(const struct pauses *s, uint32_t t, uint32_t p)
{
	const struct tw_path_point *a = &s->look->part->points[p - 1], *b = a + 1;

	return (struct pair){ { t, a->label, b->label, (uint32_t)(a->kind << 8 | b->kind), 0, 0 },
			      (int32_t)tw_step_index(s->look, b->time_ns) };
}

static void count_thread(struct pauses *s, uint32_t t)
{
	const struct tw_path_thread *thread = &s->look->part->rank.threads[t];
	uint32_t p, *count;

	for (p = thread->first + 1; p < thread->first + thread->count; p++) {
		struct pair key = pair_of(s, t, p);

		count = key.step < 0 ? NULL : tw_groups_at(&s->counts, &key);
		if (count)
			++*count;
	}
}

/* Steps in which there are more or fewer are not compared: which is which is not known. */
static void list_thread(struct pauses *s, uint32_t t)
{
	const struct tw_path_part *part = s->look->part;
	const struct tw_path_thread *thread = &part->rank.threads[t];
	uint32_t p;

	for (p = thread->first + 1; p < thread->first + thread->count; p++) {
		struct pair key = pair_of(s, t, p);
		struct between between = { .point = p,
					   .step = key.step,
					   .ns = bound_delay(part, p) };
		const uint32_t *count;
		uint32_t *seen;

		if (key.step < 0)
			continue;
		count = tw_groups_at(&s->counts, &key);
		seen = tw_groups_at(&s->seen, &key);
		if (!count || !seen)
			return;
		key.place.nth = (*seen)++;
		key.place.count = *count;
		between.group = tw_groups_add(&s->places, &key.place);
		if (between.ns >= 0)
			s->look->failed |= !TW_LIST_ADD(&s->list, &between, s->look->scratch);
	}
}

static int by_group(const void *a, const void *b)
{
	const struct between *x = a, *y = b;

	return TW_ORDER_BY(x, y, group, ns, point);
}

/* The thread that a point is of. */
static uint32_t track_of(const struct tw_path_rank *r, uint32_t point)
{
	return r->threads[TW_LOWER_BOUND(at, 0, r->thread_count,
					 r->threads[at].first + r->threads[at].count <= point)]
		.track;
}

static void add_pause(struct pauses *s, const struct between *of, int64_t usual_ns)
{
	const struct tw_path_part *part = s->look->part;
	struct pause pause = { .of = of,
			       .usual_ns = usual_ns,
			       .from_ns = part->points[of->point - 1].time_ns,
			       .to_ns = part->points[of->point].time_ns,
			       .track = track_of(&part->rank, of->point) };

	if (!is_explained(s->look, &part->points[of->point]))
		s->look->failed |= !TW_LIST_ADD(&s->found, &pause, s->look->scratch);
}

/* Far longer than usual, of those of one place, in order of time. */
static void compare_steps(struct pauses *s)
{
	struct between *list = s->list.at;
	size_t i, k, end;

	for (i = 0; i < s->list.count; i = end) {
		int64_t usual;

		for (end = i; end < s->list.count && list[end].group == list[i].group; end++)
			;
		usual = list[i + (end - i - 1) / 2].ns;
		for (k = i; k < end && end - i > 1; k++)
			if (list[k].ns > TW_LIMIT_PAUSE_LEAST_US * 1000 &&
			    list[k].ns / TW_LIMIT_PAUSE_TIMES > usual)
				add_pause(s, &list[k], usual);
	}
}

/* ---- what is recorded inside: pauses of a thread do not overlap */

static int by_time(const void *a, const void *b)
{
	const struct pause *x = a, *y = b;

	return TW_ORDER_BY(x, y, track, from_ns);
}

/* The last pause of a track that begins before a time, NULL: none. */
static struct pause *pause_before(struct pauses *s, uint32_t track, int64_t time_ns)
{
	struct pause *list = s->found.at;
	size_t i = TW_LOWER_BOUND(at, 0, s->found.count,
				  list[at].track < track ||
					  (list[at].track == track && list[at].from_ns < time_ns));

	return i && list[i - 1].track == track ? &list[i - 1] : NULL;
}

static void note_seen(struct pauses *s, uint32_t track, int64_t time_ns)
{
	struct pause *p = pause_before(s, track, time_ns);

	if (p && time_ns < p->to_ns)
		s->look->failed |= !TW_LIST_ADD(&p->seen, &time_ns, s->look->scratch);
}

static void find_events(struct pauses *s)
{
	const struct tw_events *e = &s->look->trace->events;
	uint64_t i;

	for (i = 0; i < e->count && !s->look->failed; i++) {
		if (e->phase[i] != 'X')
			continue;
		note_seen(s, e->track[i], e->start_ns[i]);
		note_seen(s, e->track[i], e->start_ns[i] + e->dur_ns[i]);
	}
}

/* The longest stretch in which nothing is recorded. */
static void find_silence(struct pause *p)
{
	int64_t before = p->from_ns, longest = -1;
	size_t i;

	tw_sort_numbers(p->seen.at, p->seen.count);
	for (i = 0; i <= p->seen.count; i++) {
		int64_t now = i < p->seen.count ? p->seen.at[i] : p->to_ns;

		if (now - before > longest) {
			longest = now - before;
			p->silent_from_ns = before;
			p->silent_to_ns = now;
		}
		before = now;
	}
}

static bool is_silent(const struct pause *p)
{
	return (double)(p->silent_to_ns - p->silent_from_ns) * 100 >
	       (double)(p->to_ns - p->from_ns) * TW_LIMIT_PAUSE_SILENT_PERCENT;
}

/* ---- the event that a thread was in then, or came to */

struct around {
	TW_LIST(struct tw_frame) list;
	TW_LIST(uint32_t) open; /* a stack of them */
};

/* Events of the threads that have pauses. */
static void list_events(struct pauses *s, struct around *around)
{
	const struct tw_events *e = &s->look->trace->events;
	uint64_t i;

	for (i = 0; i < e->count && !s->look->failed; i++) {
		struct tw_frame event = { .start_ns = e->start_ns[i],
					  .event = (uint32_t)i,
					  .track = e->track[i] };

		if (e->phase[i] != 'X' || !pause_before(s, e->track[i], INT64_MAX))
			continue;
		event.end_ns = event.start_ns + e->dur_ns[i];
		s->look->failed |= !TW_LIST_ADD(&around->list, &event, s->look->scratch);
	}
	if (around->list.count)
		qsort(around->list.at, around->list.count, sizeof(*around->list.at),
		      tw_frame_order);
}

/* Pauses and events are both in order: those that are open hold what follows. */
static void find_places(struct pauses *s)
{
	struct around a = { .list = { 0 } };
	uint32_t i = 0;
	size_t k;

	list_events(s, &a);
	for (k = 0; k < s->found.count && !s->look->failed; k++) {
		struct pause *p = &s->found.at[k];

		for (; i < a.list.count && !s->look->failed &&
		       (a.list.at[i].track < p->track ||
			(a.list.at[i].track == p->track &&
			 a.list.at[i].start_ns <= p->silent_from_ns));
		     i++)
			s->look->failed |= !TW_LIST_ADD(&a.open, &i, s->look->scratch);
		for (; a.open.count; a.open.count--) {
			const struct tw_frame *top = &a.list.at[a.open.at[a.open.count - 1]];

			if (top->track == p->track && top->end_ns >= p->silent_to_ns)
				break;
		}
		if (a.open.count)
			p->event = a.list.at[a.open.at[a.open.count - 1]].event;
		else if (i < a.list.count && a.list.at[i].track == p->track)
			p->event = a.list.at[i].event;
	}
}

static void claim(struct pauses *s, const struct pause *p)
{
	struct tw_look *look = s->look;

	if (!is_silent(p) || tw_range_at(&s->explained, p->track, p->silent_from_ns))
		return;
	tw_claim_change(look, KIND,
			&(struct tw_remedy_part){ .kind = TW_REMEDY_POINT,
						  .gpu = p->of->point,
						  .ns = p->usual_ns });
	look->failed |= !TW_LIST_ADD(
		&look->pauses.list,
		&((struct tw_range){ p->from_ns, p->to_ns, p->event, p->track, TW_NONE }),
		look->scratch);
	look->claims->of[KIND].host_ns += p->of->ns - p->usual_ns;
	tw_claim_spot_in_step(look, KIND, p->event, TW_NONE, p->of->ns - p->usual_ns,
			      look->part->rank.steps[p->of->step].number);
}

/* Which of those that took far longer are pauses, and where. */
static void judge(struct pauses *s)
{
	size_t k;

	qsort(s->found.at, s->found.count, sizeof(*s->found.at), by_time);
	find_events(s);
	for (k = 0; k < s->found.count && !s->look->failed; k++)
		find_silence(&s->found.at[k]);
	find_places(s);
	tw_ranges_of_kind(s->look,
			  TW_HOST_CHECKPOINTING | TW_HOST_COMPILATION | TW_HOST_DATA_LOADING,
			  &s->explained);
	for (k = 0; k < s->found.count && !s->look->failed; k++)
		claim(s, &s->found.at[k]);
}

/* Whether any delay is long enough: without, there is nothing to compare. */
static bool is_anything_long(const struct tw_look *look)
{
	const struct tw_path_part *part = look->part;
	uint32_t t, p;

	for (t = 0; t < part->rank.thread_count; t++) {
		const struct tw_path_thread *thread = &part->rank.threads[t];

		for (p = thread->first + 1; p < thread->first + thread->count; p++)
			if (part->points[p].time_ns - part->points[p - 1].time_ns >
				    TW_LIMIT_PAUSE_LEAST_US * 1000 &&
			    !is_explained(look, &part->points[p]) && bound_delay(part, p) >= 0)
				return true;
	}
	return false;
}

static void look_at_pauses(struct tw_look *look)
{
	struct pauses s = { .look = look };
	uint32_t t;

	if (look->part->rank.step_count < 2 || !is_anything_long(look))
		return;
	tw_groups_init_values(&s.counts, sizeof(struct pair), sizeof(uint32_t), look->scratch);
	tw_groups_init_values(&s.seen, sizeof(struct pair), sizeof(uint32_t), look->scratch);
	tw_groups_init(&s.places, sizeof(struct place), look->scratch);
	for (t = 0; t < look->part->rank.thread_count && !look->failed; t++)
		count_thread(&s, t);
	for (t = 0; t < look->part->rank.thread_count && !look->failed; t++)
		list_thread(&s, t);
	look->failed |= s.counts.failed || s.seen.failed || s.places.failed;
	if (!look->failed && s.list.count) {
		qsort(s.list.at, s.list.count, sizeof(*s.list.at), by_group);
		compare_steps(&s);
	}
	if (!look->failed && s.found.count)
		judge(&s);
	tw_groups_release(&s.counts);
	tw_groups_release(&s.seen);
	tw_groups_release(&s.places);
}

/* Words for what most of them are: a function that runs for long (idle.c), or nothing that is recorded. */
static bool end_pauses(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f)
{
	double running = 0, silent = 0;
	uint32_t i;

	(void)s;
	for (i = 0; i < d->rank_count; i++) {
		running += d->claims[i].of[KIND].figure;
		silent += (double)d->claims[i].of[KIND].host_ns;
	}
	if (running > silent)
		f->words = &tw_words_host_pause_function;
	return tw_apply_claims(d, f);
}

const struct tw_kind tw_kind_host_pause = { .look = look_at_pauses,
					    .change = end_pauses,
					    .of_window = true };
