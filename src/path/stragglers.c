#include "path/stragglers.h"

#include "base/alloc.h"
#include "base/median.h"
#include "base/search.h"
#include "base/sort.h"

/* Kernels that compute; copies and communication are what they are by others. */
static bool computes(const struct tw_path *path, uint32_t start)
{
	return !(path->points[start].flags & (TW_POINT_COMMUNICATION | TW_POINT_COPY));
}

static int64_t duration_of(const struct tw_path *path, const struct tw_path_rank *r, uint32_t g)
{
	return path->points[tw_gpu_end(r, g)].time_ns - path->points[tw_gpu_start(r, g)].time_ns;
}

struct kind {
	int64_t step;
	uint32_t name, shapes; /* ids of texts over all ranks */
};

struct place {
	uint32_t kind, number;
};

struct finding {
	struct tw_places *out;
	struct tw_pool texts;
	struct tw_groups kinds;	 /* struct kind; its value: how often it was, of the rank */
	struct tw_groups places; /* struct place */
	uint32_t *text;		 /* by text id of the rank: its number over all */
	bool failed;
};

static uint32_t text_of(struct finding *f, const struct tw_path_rank *r, uint32_t text)
{
	size_t len;
	const char *ptr = tw_pool_text(&r->texts, text, &len);

	if (text && !f->text[text])
		f->text[text] = tw_pool_intern(&f->texts, ptr, len);
	return f->text[text];
}

static void add_event(struct finding *f, const struct tw_path_rank *r, uint32_t rank, uint32_t g)
{
	const struct tw_path *path = f->out->path;
	const struct tw_path_label *label = &r->labels[path->points[tw_gpu_start(r, g)].label];
	struct kind kind = { r->step[g] < 0 ? -1 : r->steps[r->step[g]].number,
			     text_of(f, r, label->name), text_of(f, r, label->shapes) };
	struct place place;
	uint32_t *value;

	place.kind = tw_groups_add(&f->kinds, &kind);
	if (place.kind == TW_NO_GROUP)
		return;
	value = tw_groups_value(&f->kinds, place.kind);
	/* The rank that counted last, and what it counted. */
	if (value[0] != rank + 1) {
		value[0] = rank + 1;
		value[1] = 0;
	}
	place.number = value[1]++;
	f->out->of[f->out->first[rank] + g] = tw_groups_add(&f->places, &place);
}

/* In order of launch, which is the program's; what has none after it. */
static void add_rank(struct finding *f, uint32_t rank, const struct trawl_allocator *a)
{
	const struct tw_path_rank *r = &f->out->path->ranks[rank];
	uint32_t i;

	f->text = tw_alloc_array(a, r->texts.count, sizeof(*f->text));
	f->failed |= !f->text;
	for (i = 0; i < r->gpu_count; i++)
		f->out->of[f->out->first[rank] + i] = TW_NO_GROUP;
	for (i = 0; i < r->launched_count && !f->failed; i++)
		if (computes(f->out->path, tw_gpu_start(r, r->launched[i])))
			add_event(f, r, rank, r->launched[i]);
	for (i = 0; i < r->gpu_count && !f->failed; i++)
		if (r->launch[i] == TW_NO_POINT && computes(f->out->path, tw_gpu_start(r, i)))
			add_event(f, r, rank, i);
	f->failed |= f->kinds.failed || f->places.failed || f->texts.failed;
	tw_free(a, f->text, (size_t)r->texts.count * sizeof(*f->text));
}

static uint64_t computing_key(const void *sums, uint32_t rank)
{
	return ~tw_sort_key(((const int64_t *)sums)[rank]);
}

static int order_ranks(struct tw_places *p, const struct trawl_allocator *a)
{
	uint32_t n = p->path->rank_count, i, g;
	int64_t *sums = tw_alloc_array(a, (size_t)n + 1, sizeof(*sums));

	p->order = tw_alloc_array(a, (size_t)n + 1, sizeof(*p->order));
	if (!sums || !p->order)
		return -1;
	for (i = 0; i < n; i++) {
		const struct tw_path_rank *r = &p->path->ranks[i];

		p->order[i] = i;
		for (g = 0; g < r->gpu_count; g++)
			if (computes(p->path, tw_gpu_start(r, g)))
				sums[i] = tw_ns_sum(sums[i], duration_of(p->path, r, g));
	}
	return tw_sort(p->order, n, computing_key, sums, a);
}

int tw_places_find(struct tw_places *p, const struct tw_path *path, const struct trawl_allocator *a)
{
	struct finding f = { .out = p };
	uint32_t i, events = 0;

	*p = (struct tw_places){ .path = path };
	p->first = tw_alloc_array(a, (size_t)path->rank_count + 1, sizeof(*p->first));
	for (i = 0; p->first && i < path->rank_count; i++) {
		p->first[i] = events;
		events += path->ranks[i].gpu_count;
	}
	p->of = tw_alloc_array(a, (size_t)events + 1, sizeof(*p->of));
	tw_groups_init_values(&f.kinds, sizeof(struct kind), 2 * sizeof(uint32_t), a);
	tw_groups_init(&f.places, sizeof(struct place), a);
	f.failed = tw_pool_init(&f.texts, a) || !p->first || !p->of;
	for (i = 0; i < path->rank_count && !f.failed; i++)
		add_rank(&f, i, a);
	p->count = f.places.count;
	if (!f.failed)
		f.failed = tw_members_build(&p->at, p->of, events, p->count, a) ||
			   order_ranks(p, a);
	tw_groups_release(&f.kinds);
	tw_groups_release(&f.places);
	tw_pool_release(&f.texts);
	return f.failed ? TRAWL_ENOMEM : 0;
}

void tw_places_release(struct tw_places *p)
{
	tw_members_release(&p->at);
}

/* ---- scenarios */

static uint32_t rank_of(const struct tw_places *p, uint32_t event)
{
	return (uint32_t)TW_LOWER_BOUND(at, 0, p->path->rank_count, p->first[at] <= event) - 1;
}

/* An event of the list at a place, with its rank and number. */
struct member {
	const struct tw_path_rank *rank;
	uint32_t index, gpu;
};

static struct member member_of(const struct tw_places *p, uint32_t number)
{
	uint32_t event = p->at.list[number], rank = rank_of(p, event);

	return (struct member){ &p->path->ranks[rank], rank, event - p->first[rank] };
}

void tw_scenario_as_median(struct tw_scenario *s, const struct tw_places *p, uint32_t rank)
{
	size_t bytes = ((size_t)p->path->rank_count + 1) * sizeof(int64_t);
	int64_t *values = tw_alloc(s->allocator, bytes), median;
	uint32_t place, i;

	s->failed |= !values;
	for (place = 0; place < p->count && !s->failed; place++) {
		uint32_t first = p->at.first[place], count = p->at.first[place + 1] - first;

		if (count < 2)
			continue;
		for (i = 0; i < count; i++) {
			struct member m = member_of(p, first + i);

			values[i] = duration_of(p->path, m.rank, m.gpu);
		}
		median = tw_middle_of(values, count).lower;
		for (i = 0; i < count; i++) {
			struct member m = member_of(p, first + i);

			if ((rank == UINT32_MAX || m.index == rank) &&
			    duration_of(p->path, m.rank, m.gpu) != median)
				tw_scenario_duration(s, m.rank, m.gpu, (double)median);
		}
	}
	tw_free(s->allocator, values, bytes);
}

void tw_scenario_as_next(struct tw_scenario *s, const struct tw_places *p, uint32_t rank)
{
	uint32_t next = UINT32_MAX, place, i;

	for (i = 0; i + 1 < p->path->rank_count; i++)
		if (p->order[i] == rank)
			next = p->order[i + 1];
	for (place = 0; place < p->count && next != UINT32_MAX; place++) {
		struct member own = { 0 }, other = { 0 };

		for (i = p->at.first[place]; i < p->at.first[place + 1]; i++) {
			struct member m = member_of(p, i);

			own = m.index == rank ? m : own;
			other = m.index == next ? m : other;
		}
		if (own.rank && other.rank &&
		    duration_of(p->path, other.rank, other.gpu) <
			    duration_of(p->path, own.rank, own.gpu))
			tw_scenario_duration(s, own.rank, own.gpu,
					     (double)duration_of(p->path, other.rank, other.gpu));
	}
}
