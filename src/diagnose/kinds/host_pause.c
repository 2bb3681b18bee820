/*
 * The host stands still in some steps: between the same two points of a step (the n-th time of both) it
 * takes far longer than in the other steps, and nothing is recorded for half of that.  Without: as
 * long as in the other steps.
 */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include "analysis/groups.h"
#include "base/alloc.h"
#include "base/sort.h"

#include <stdlib.h>

#define KIND TW_KIND_host_pause

enum { MOST_PAUSES = 1000 };

/* Two points of a thread that follow each other, the n-th of their kind in a step. */
struct place {
	uint32_t thread, from, to; /* labels */
	uint32_t kinds, nth;
};

struct between {
	uint32_t group, point;
	int32_t step;
	int64_t ns;
};

struct pause {
	const struct between *of;
	int64_t usual_ns, from_ns, to_ns;
	uint32_t track;
	TW_LIST(int64_t) seen; /* times of events inside */
};

struct pauses {
	struct tw_look *look;
	struct tw_groups counts, places;
	TW_LIST(struct between) list;
	struct pause *found;
	size_t count;
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

static void list_thread(struct pauses *s, uint32_t t)
{
	const struct tw_path_part *part = s->look->part;
	const struct tw_path_thread *thread = &part->rank.threads[t];
	uint32_t p;

	for (p = thread->first + 1; p < thread->first + thread->count; p++) {
		const struct tw_path_point *a = &part->points[p - 1], *b = a + 1;
		int32_t step = (int32_t)tw_step_index(s->look, b->time_ns);
		struct {
			struct place place;
			int32_t step;
		} key = { { t, a->label, b->label, (uint32_t)(a->kind << 8 | b->kind), 0 }, step };
		struct between between = { .point = p, .step = step, .ns = bound_delay(part, p) };
		uint32_t *count;

		if (step < 0)
			continue;
		count = tw_groups_at(&s->counts, &key);
		if (!count)
			return;
		key.place.nth = (*count)++;
		between.group = tw_groups_add(&s->places, &key.place);
		if (between.ns >= 0)
			s->look->failed |= !TW_LIST_ADD(&s->list, &between, s->look->scratch);
	}
}

static int by_group(const void *a, const void *b)
{
	const struct between *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static void add_pause(struct pauses *s, const struct between *of, int64_t usual_ns)
{
	const struct tw_path_part *part = s->look->part;
	uint32_t t;

	if (s->count == MOST_PAUSES || is_explained(s->look, &part->points[of->point]))
		return;
	for (t = 0; of->point - part->rank.threads[t].first >= part->rank.threads[t].count; t++)
		;
	s->found[s->count++] = (struct pause){ .of = of,
					       .usual_ns = usual_ns,
					       .from_ns = part->points[of->point - 1].time_ns,
					       .to_ns = part->points[of->point].time_ns,
					       .track = part->rank.threads[t].track };
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

static void note_seen(struct pauses *s, struct pause *p, int64_t time_ns)
{
	if (time_ns > p->from_ns && time_ns < p->to_ns)
		s->look->failed |= !TW_LIST_ADD(&p->seen, &time_ns, s->look->scratch);
}

static void find_events(struct pauses *s)
{
	const struct tw_events *e = &s->look->trace->events;
	uint64_t i;
	size_t k;

	for (i = 0; i < e->count && s->count; i++) {
		if (e->phase[i] != 'X')
			continue;
		for (k = 0; k < s->count; k++) {
			if (s->found[k].track != e->track[i])
				continue;
			note_seen(s, &s->found[k], e->start_ns[i]);
			note_seen(s, &s->found[k], e->start_ns[i] + e->dur_ns[i]);
		}
	}
}

/* Nothing is recorded for half of it: the longest such stretch. */
static bool is_silent(struct pause *p, int64_t *from_ns, int64_t *to_ns)
{
	int64_t before = p->from_ns, longest = 0;
	size_t i;

	tw_sort_numbers(p->seen.at, p->seen.count);
	for (i = 0; i <= p->seen.count; i++) {
		int64_t now = i < p->seen.count ? p->seen.at[i] : p->to_ns;

		if (now - before > longest) {
			longest = now - before;
			*from_ns = before;
			*to_ns = now;
		}
		before = now;
	}
	return (double)longest * 100 >
	       (double)(p->to_ns - p->from_ns) * TW_LIMIT_PAUSE_SILENT_PERCENT;
}

/* The event that the thread was in, or came to. */
static void claim(struct pauses *s, struct pause *p)
{
	struct tw_look *look = s->look;
	uint32_t point = p->of->point;
	int64_t from_ns = 0, to_ns = 0;

	if (!is_silent(p, &from_ns, &to_ns) || tw_range_at(&s->explained, p->track, from_ns))
		return;
	tw_claim_change(look, KIND,
			&(struct tw_remedy_part){ .kind = TW_REMEDY_POINT,
						  .gpu = point,
						  .ns = p->usual_ns });
	tw_claim_spot_in_step(look, KIND, tw_event_at(look, p->track, from_ns, to_ns), TW_NONE,
			      p->of->ns - p->usual_ns, look->part->rank.steps[p->of->step].number);
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
	size_t k;

	if (look->part->rank.step_count < 2 || !is_anything_long(look))
		return;
	tw_groups_init_values(&s.counts, sizeof(struct place) + sizeof(int32_t), sizeof(uint32_t),
			      look->scratch);
	tw_groups_init(&s.places, sizeof(struct place), look->scratch);
	s.found = tw_alloc_array(look->scratch, MOST_PAUSES, sizeof(*s.found));
	look->failed |= !s.found;
	for (t = 0; t < look->part->rank.thread_count && !look->failed; t++)
		list_thread(&s, t);
	look->failed |= s.counts.failed || s.places.failed;
	tw_ranges_of_kind(look, TW_HOST_CHECKPOINTING | TW_HOST_COMPILATION | TW_HOST_DATA_LOADING,
			  &s.explained);
	if (!look->failed && s.list.count) {
		qsort(s.list.at, s.list.count, sizeof(*s.list.at), by_group);
		compare_steps(&s);
		find_events(&s);
		for (k = 0; k < s.count && !look->failed; k++)
			claim(&s, &s.found[k]);
	}
	tw_groups_release(&s.counts);
	tw_groups_release(&s.places);
}

const struct tw_kind tw_kind_host_pause = { .look = look_at_pauses, .of_window = true };
