#include "analysis/launches/siblings.h"

#include <string.h>

struct walk {
	const struct tw_analysis_input *in;
	int64_t start_ns, end_ns; /* of the caller */
	struct tw_siblings *out;
};

static int64_t start_of(const struct tw_derived *d, uint64_t node)
{
	return tw_launch_ns(d, node);
}

static uint32_t track_of(const struct tw_derived *d, uint64_t node)
{
	return d->trace->events.track[d->host.event[node]];
}

/* Of the outermost call in it that has a cost model, else of what launches its first GPU event. */
static const char *sibling_category(const struct tw_analysis_input *in, uint64_t node)
{
	const struct tw_categories *c = &in->launchers->categories;
	const struct tw_modelled *m = in->modelled;
	uint64_t below, count;
	const uint32_t *gpu = tw_gpu_under(m, node, &count);
	uint32_t launcher;

	for (below = node; below < m->end[node]; below++) {
		uint64_t under;
		const uint32_t *first = tw_gpu_under(m, below, &under);

		if (under && tw_work_at(m, below) != TW_NO_GROUP)
			return c->names[tw_category_of(c, in->derived->host.event[below], first[0])];
	}
	launcher = count ? in->launchers->of_gpu[gpu[0]] : TW_NO_GROUP;
	return launcher == TW_NO_GROUP ? "other" :
					 c->names[in->launchers->items[launcher].category];
}

static struct tw_sibling sibling(const struct tw_analysis_input *in, uint64_t node)
{
	const struct tw_gpu *gpu = &in->derived->gpu;
	struct tw_sibling s = { .node = (uint32_t)node };
	const uint32_t *list = tw_gpu_under(in->modelled, node, &s.gpu_events);
	uint64_t i;

	for (i = 0; i < s.gpu_events; i++)
		s.gpu_ns += gpu->end_ns[list[i]] - gpu->start_ns[list[i]];
	s.category = sibling_category(in, node);
	return s;
}

/* The outermost host node over a node that begins inside the caller. */
static uint64_t topmost(const struct walk *w, uint64_t node)
{
	const struct tw_derived *d = w->in->derived;
	uint32_t parent;

	while ((parent = d->host.parent[node]) != TW_NONE && start_of(d, parent) > w->start_ns)
		node = parent;
	return node;
}

/* The node before one, with the same parent; TW_NONE: it is the first. */
static uint64_t before(const struct tw_derived *d, uint64_t node)
{
	uint64_t parent = d->host.parent[node], at = node;

	if (!at || (parent != TW_NONE && at - 1 == parent))
		return TW_NONE;
	for (at--; d->host.parent[at] != parent; at = d->host.parent[at])
		if (d->host.parent[at] == TW_NONE)
			return TW_NONE;
	return track_of(d, at) == track_of(d, node) ? at : TW_NONE;
}

/* The node after one, with the same parent; TW_NONE: it is the last. */
static uint64_t after(const struct walk *w, uint64_t node)
{
	const struct tw_derived *d = w->in->derived;
	uint64_t next = w->in->modelled->end[node];

	return next < d->host.all && d->host.parent[next] == d->host.parent[node] &&
			       track_of(d, next) == track_of(d, node) ?
		       next :
		       TW_NONE;
}

static bool inside(const struct walk *w, uint64_t node)
{
	int64_t start = start_of(w->in->derived, node);

	return start >= w->start_ns && start < w->end_ns;
}

/* One that has GPU work: up to `most` are listed, the others counted. */
static void collect_sibling(struct walk *w, uint64_t node, size_t most)
{
	struct tw_siblings *out = w->out;

	if (!tw_gpu_count_under(w->in->modelled, node))
		return;
	if (out->count < most)
		out->items[out->count++] = sibling(w->in, node);
	else
		out->left_out++;
}

/* The nearest ones before it, half of the places. */
static void collect_before(struct walk *w, uint64_t node)
{
	struct tw_siblings *out = w->out;
	size_t i;

	while ((node = before(w->in->derived, node)) != TW_NONE && inside(w, node))
		collect_sibling(w, node, TW_MAX_SIBLINGS / 2);
	for (i = 0; i < out->count / 2; i++) {
		struct tw_sibling s = out->items[i];

		out->items[i] = out->items[out->count - 1 - i];
		out->items[out->count - 1 - i] = s;
	}
}

static void collect_after(struct walk *w, uint64_t node)
{
	while ((node = after(w, node)) != TW_NONE && inside(w, node))
		collect_sibling(w, node, TW_MAX_SIBLINGS);
}

/* Whether those of an operation are more than what it does for itself. */
static bool is_company(const struct tw_siblings *s, bool of_operation)
{
	size_t kinds = 0, i;

	for (i = 0; i < s->count; i++)
		kinds += !of_operation || strcmp(s->items[i].category, "elementwise");
	return kinds > 1;
}

void tw_siblings_of(struct tw_siblings *siblings, const struct tw_analysis_input *in, uint64_t node,
		    const struct tw_enclosing *enclosing, uint64_t target)
{
	const struct tw_events *events = &in->trace->events;
	unsigned depth;
	uint32_t event;

	siblings->count = 0;
	for (depth = 0; (event = tw_enclosing_at(enclosing, target, depth)) != TW_NOT_ENCLOSED;
	     depth++) {
		struct walk w = { .in = in, .start_ns = events->start_ns[event], .out = siblings };
		uint64_t top;

		w.end_ns = w.start_ns + events->dur_ns[event];
		top = topmost(&w, node);
		siblings->count = siblings->left_out = 0;
		siblings->event = event;
		collect_before(&w, top);
		siblings->self = siblings->count;
		siblings->items[siblings->count++] = sibling(in, top);
		collect_after(&w, top);
		if (is_company(siblings, tw_class(in->trace, event) == TRAWL_CLASS_CPU_OP))
			return;
	}
	siblings->count = siblings->left_out = 0;
}
