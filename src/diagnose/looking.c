/* Looking at one rank: all rules, and what rules over ranks will ask. */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include "base/alloc.h"
#include "base/order.h"
#include "base/scope.h"
#include "base/search.h"
#include "model/call.h"

#include <stdlib.h>
#include <string.h>

/* ---- call sites and modules of the places that matter: python functions around them */

#define PLACES_SHOWN 3

static int more_time_first(const void *a, const void *b)
{
	const struct tw_spot *x = a, *y = b;

	return TW_COMPARE(y->ns, x->ns) ?: TW_ORDER_BY(x, y, event);
}

struct wanted {
	struct tw_spot *spot;
	uint32_t track;
	int64_t start_ns, end_ns, site_ns, module_ns; /* the last two: start of what was found */
	bool has_site;				      /* a rule named it */
};

struct sites {
	struct wanted at[TW_FINDING_KINDS * PLACES_SHOWN];
	size_t count;
};

/* The host node of an event, TW_NONE: it is none. */
static uint32_t node_of(const struct tw_look *look, uint32_t event)
{
	const struct tw_events *e = &look->trace->events;
	const struct tw_host *host = &look->d->host;
	size_t node;

	if (event >= e->count)
		return look->node_of[event - e->count];
	node = TW_LOWER_BOUND(at, 0, host->count,
			      e->track[host->event[at]] < e->track[event] ||
				      (e->track[host->event[at]] == e->track[event] &&
				       e->start_ns[host->event[at]] < e->start_ns[event]));

	for (; node < host->count && e->track[host->event[node]] == e->track[event] &&
	       e->start_ns[host->event[node]] == e->start_ns[event];
	     node++)
		if (host->event[node] == event)
			return (uint32_t)node;
	return TW_NONE;
}

/* Operations and calls have the module and call site of their GPU work; of backward ones the forward's. */
static bool attribute(struct tw_look *look, struct tw_spot *spot)
{
	uint32_t node = node_of(look, (uint32_t)spot->event);
	const struct tw_attribution *a;
	const char *text;
	size_t len;

	if (node == TW_NONE)
		return false;
	a = tw_attribution_of_node(look->who, node);
	if (a->path && !spot->module) {
		text = tw_module_name(look->who, a->path, &len);
		spot->module = tw_claim_text(look, text, len);
	}
	spot->event = look->d->host.event[tw_graph_call(look->d, node)];
	if (a->site && !spot->site) { /* a rule may have named it */
		text = tw_pool_text(&look->trace->texts, a->site, &len);
		spot->site = tw_claim_text(look, text, len);
	}
	return true;
}

static void list_wanted(struct tw_look *look, struct sites *s)
{
	const struct tw_events *e = &look->trace->events;
	size_t kind, i;

	for (kind = 0; kind < TW_FINDING_KINDS; kind++) {
		struct tw_claim *claim = &look->claims->of[kind];

		if (claim->spots.count)
			qsort(claim->spots.at, claim->spots.count, sizeof(*claim->spots.at),
			      more_time_first);
		for (i = 0; i < claim->spots.count && i < PLACES_SHOWN; i++) {
			uint32_t event = (uint32_t)claim->spots.at[i].event;

			if (claim->spots.at[i].spread || attribute(look, &claim->spots.at[i]))
				continue;
			s->at[s->count++] = (struct wanted){ &claim->spots.at[i],
							     e->track[event],
							     e->start_ns[event],
							     e->start_ns[event] + e->dur_ns[event],
							     INT64_MIN,
							     INT64_MIN,
							     claim->spots.at[i].site != 0 };
		}
	}
}

static bool is_module(const char *name)
{
	static const char prefix[] = "nn.Module: ";

	return !strncmp(name, prefix, sizeof(prefix) - 1);
}

/* The innermost function of the program, with its file, and the innermost module. */
static void try_site(struct tw_look *look, struct wanted *w, uint64_t frame, int64_t start_ns,
		     int64_t end_ns)
{
	uint32_t name = look->trace->events.name[frame];
	const struct tw_pool_entry *text = &look->trace->texts.entries[name];

	if (start_ns > w->start_ns || end_ns < w->end_ns)
		return;
	if (is_module(text->ptr)) {
		if (start_ns > w->module_ns)
			w->spot->module = tw_claim_text(look, text->ptr + 11, text->len - 11);
		w->module_ns = start_ns > w->module_ns ? start_ns : w->module_ns;
		return;
	}
	if (w->has_site || start_ns < w->site_ns || !tw_is_program(look, name))
		return;
	w->site_ns = start_ns;
	w->spot->site = tw_claim_text(look, text->ptr, text->len);
}

static int by_start(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return TW_ORDER_BY(x, y, track, start_ns, spot);
}

/* Those of a track that begin in a frame. */
static void try_frame(struct tw_look *look, struct sites *s, uint64_t frame)
{
	const struct tw_events *e = &look->trace->events;
	int64_t start = e->start_ns[frame], end = start + e->dur_ns[frame];
	uint32_t track = e->track[frame];
	size_t k = TW_LOWER_BOUND(at, 0, s->count,
				  s->at[at].track < track ||
					  (s->at[at].track == track && s->at[at].start_ns < start));

	for (; k < s->count && s->at[k].track == track && s->at[k].start_ns <= end; k++)
		try_site(look, &s->at[k], frame, start, end);
}

static void find_sites(struct tw_look *look)
{
	const struct tw_events *e = &look->trace->events;
	struct sites *s = tw_alloc_array(look->scratch, 1, sizeof(*s));
	uint64_t i;

	look->failed |= !s;
	if (!s)
		return;
	list_wanted(look, s);
	if (s->count)
		qsort(s->at, s->count, sizeof(s->at[0]), by_start);
	for (i = 0; i < e->count && s->count; i++)
		if (e->phase[i] == 'X' && tw_class(look->trace, i) == TRAWL_CLASS_PYTHON)
			try_frame(look, s, i);
}

/* ---- what rules over ranks ask for */

static void list_places(struct tw_look *look)
{
	struct tw_claims *c = look->claims;
	const struct tw_gpu *gpu = &look->d->gpu;
	uint32_t g;

	for (g = 0; g < c->gpu_count; g++) {
		uint32_t event = gpu->event[g], leaf = look->leaf_of[g];
		uint64_t name = look->trace->events.name[event];
		const struct tw_pool_entry *text = &look->trace->texts.entries[name];
		struct tw_slice dims = { "", 0 };
		struct trawl_argument arg;

		if (gpu->bucket[g] != TW_COMPUTE || leaf == TW_NONE)
			continue;
		if (trawl_event_argument(look->trace, look->d->host.event[look->leaves[leaf].node],
					 TW_KEY_input_dims, &arg) &&
		    arg.kind == TRAWL_VALUE_JSON)
			dims.ptr = tw_pool_text(&look->trace->texts, arg.text, &dims.len);
		c->place[g] = tw_place_of(text->ptr, text->len, dims.ptr, dims.len);
		c->pass[g] = look->backward[look->leaves[leaf].node];
	}
}

static int allocate(struct tw_claims *c, const struct tw_path_part *part)
{
	c->gpu_count = part->rank.gpu_count;
	c->collective_count = part->rank.collective_count;
	c->place = tw_alloc_array(c->allocator, (size_t)c->gpu_count + 1, sizeof(*c->place));
	c->pass = tw_alloc_array(c->allocator, (size_t)c->gpu_count + 1, 1);
	c->whose_of = tw_alloc_array(c->allocator, (size_t)c->gpu_count + 1, sizeof(*c->whose_of));
	c->collectives = tw_alloc_array(c->allocator, (size_t)c->collective_count + 1,
					sizeof(*c->collectives));
	return c->place && c->pass && c->whose_of && c->collectives ? 0 : -1;
}

/* ---- functions of the program by their own time */

struct open_frames {
	TW_LIST(uint32_t) list; /* a stack of them */
};

/* What a function takes is not of the one around it. */
static void add_self_times(struct tw_look *look, const struct tw_leaves *thread,
			   struct open_frames *open, int64_t *self_ns)
{
	const uint32_t *name = look->trace->events.name;
	uint32_t i;

	open->list.count = 0;
	for (i = 0; i < thread->frame_count && !look->failed; i++) {
		const struct tw_frame *frame = &thread->frames[i], *top = NULL;

		for (; open->list.count; open->list.count--) {
			top = &thread->frames[open->list.at[open->list.count - 1]];
			if (top->end_ns >= frame->end_ns)
				break;
		}
		if (open->list.count && tw_is_viewed(look, top->start_ns, top->start_ns))
			self_ns[name[top->event]] -= frame->end_ns - frame->start_ns;
		if (tw_is_viewed(look, frame->start_ns, frame->start_ns))
			self_ns[name[frame->event]] += frame->end_ns - frame->start_ns;
		look->failed |= !TW_LIST_ADD(&open->list, &i, look->scratch);
	}
}

static int more_self_first(const void *a, const void *b)
{
	const struct tw_function *x = a, *y = b;

	return TW_COMPARE(y->self_ns, x->self_ns) ?: TW_ORDER_BY(x, y, text);
}

static void list_functions(struct tw_look *look)
{
	struct tw_claims *c = look->claims;
	const struct tw_pool *texts = &look->trace->texts;
	int64_t *self_ns =
		tw_alloc_array(look->scratch, (size_t)texts->count + 1, sizeof(*self_ns));
	struct open_frames open = { 0 };
	uint32_t i;

	look->failed |= !self_ns;
	for (i = 0; i < look->part->rank.thread_count && !look->failed; i++)
		add_self_times(look, &look->threads[i], &open, self_ns);
	for (i = 0; i < texts->count && !look->failed; i++) {
		struct tw_function function = { .self_ns = self_ns[i] };

		if (self_ns[i] <= 0 || !tw_is_program(look, i))
			continue;
		function.text = tw_claim_text(look, texts->entries[i].ptr, texts->entries[i].len);
		look->failed |= !TW_LIST_ADD(&c->functions, &function, c->allocator);
	}
	if (c->functions.count)
		qsort(c->functions.at, c->functions.count, sizeof(*c->functions.at),
		      more_self_first);
}

/* With fewer steps the first one is compared with none. */
#define STEPS_TO_COMPARE 3

/* First uses that only the first step has. */
static void find_warmup(struct tw_look *look)
{
	const struct tw_host *host = &look->d->host;
	int64_t first = 0, later = 0;
	uint64_t i;

	for (i = 0; i < host->call_count; i++) {
		uint32_t node = host->call[i];
		int64_t step = tw_step_index(look, tw_look_start(look, node));

		if (step < 0 ||
		    !(tw_look_node_kinds(look, node) & (TW_HOST_MODULE_LOAD | TW_HOST_ALLOCATION)))
			continue;
		*(step ? &later : &first) += tw_look_end(look, node) - tw_look_start(look, node);
	}
	if (look->part->rank.step_count >= STEPS_TO_COMPARE && first > later)
		look->claims->warm_ns = first;
}

/* By GPU event how long nothing had run before it; in order of start. */
static void list_gaps(const struct tw_look *look, int64_t *gap_ns)
{
	int64_t end = INT64_MAX;
	uint32_t g;

	for (g = 0; g < look->part->rank.gpu_count; g++) {
		int64_t start = look->part->points[2 * g].time_ns;
		int64_t own = look->part->points[2 * g + 1].time_ns;

		gap_ns[g] = start > end ? start - end : 0;
		end = g && end > own ? end : own;
	}
}

/*
 * Without steps, or with few: calls that are the first to launch their kernel and take long while the GPU is idle, for
 * they load its code.
 */
static void find_first_uses(struct tw_look *look)
{
	const struct tw_host *host = &look->d->host;
	size_t names = (size_t)look->trace->texts.count + 1;
	uint8_t *seen = tw_alloc_array(look->scratch, names, sizeof(*seen));
	int64_t *gap_ns = tw_alloc_array(look->scratch, (size_t)look->part->rank.gpu_count + 1,
					 sizeof(*gap_ns));
	uint64_t i, count;

	look->failed |= !seen || !gap_ns;
	if (look->failed)
		return;
	memset(seen, 0, names);
	list_gaps(look, gap_ns);
	for (i = 0; i < host->call_count; i++) {
		uint32_t node = host->call[i], name;
		const uint32_t *launched = tw_gpu_under(look->modelled, node, &count);
		int64_t ns = tw_look_end(look, node) - tw_look_start(look, node);

		if (!count)
			continue;
		name = look->trace->events.name[look->d->gpu.event[launched[0]]];
		if (!seen[name] && ns > TW_LIMIT_FIRST_USE_US * 1000 &&
		    tw_is_viewed(look, tw_look_start(look, node), tw_look_start(look, node)))
			look->claims->warm_ns += ns < gap_ns[launched[0]] ? ns :
									    gap_ns[launched[0]];
		seen[name] = 1;
	}
}

/* Of the time of computing how much has a roofline. */
static void find_coverage(struct tw_look *look)
{
	const struct tw_path_rank *r = &look->part->rank;
	uint32_t i;

	for (i = 0; i < r->launched_count; i++) {
		uint32_t g = r->launched[i];
		const struct tw_leaf *leaf = &look->leaves[look->leaf_of[g]];
		enum tw_computing known = TW_COMPUTING_NO_MODEL;

		if (leaf->work && look->platform)
			known = TW_COMPUTING_KNOWN;
		else if (tw_launching_op(look->d, tw_gpu_origins(look->d)[g], false) == TW_NONE)
			known = TW_COMPUTING_NO_OPERATOR;
		else if (!leaf->shape)
			known = TW_COMPUTING_NO_SHAPES;
		if (look->d->gpu.bucket[g] == TW_COMPUTE)
			look->claims->computing_ns[known] += tw_gpu_ns(look, g);
	}
	for (i = 0; i < r->thread_count; i++)
		look->claims->stack_events += look->threads[i].frame_count;
}

static void run_rules(struct tw_look *look)
{
	size_t i;

	tw_look_prepare(look);
	if (look->failed)
		return;
	list_places(look);
	tw_list_whose(look);
	tw_collective_sizes(look);
	find_warmup(look);
	if (look->part->rank.step_count < STEPS_TO_COMPARE)
		find_first_uses(look);
	list_functions(look);
	find_coverage(look);
	for (i = 0; i < TW_FINDING_KINDS && !look->failed; i++)
		if (tw_kind_list[i]->look)
			tw_kind_list[i]->look(look);
	if (!look->failed)
		tw_idle_by_cause(look);
	if (!look->failed)
		find_sites(look);
	look->claims->trains = look->trains;
	look->claims->amd = look->part->rank.vendor == TW_VENDOR_AMD;
}

int tw_claims_make(struct tw_claims *claims, const struct tw_analysis_input *in,
		   const struct tw_derived *view, const struct tw_path_part *part,
		   const struct trawl_allocator *allocator)
{
	struct tw_scope scope;
	struct tw_attributions who;
	struct tw_when when;
	struct tw_look look = { .trace = in->trace,
				.d = in->derived,
				.view = view ? tw_host_view(view) : NULL,
				.modelled = in->modelled,
				.who = in->who,
				.when = in->when && in->when->trace ? in->when : NULL,
				.platform = in->platform,
				.part = part,
				.delays = &tw_delays[part->rank.vendor],
				.edge = tw_edge_of(part->points, &part->rank),
				.scratch = &scope.allocator,
				.claims = claims };

	memset(claims, 0, sizeof(*claims));
	claims->allocator = allocator;
	if (allocate(claims, part) || tw_pool_init(&claims->texts, allocator))
		return TRAWL_ENOMEM;
	tw_scope_begin(&scope, allocator);
	tw_arena_init(&look.arena, &scope.allocator);
	tw_groups_init_values(&look.spots, 6 * sizeof(uint32_t), sizeof(uint32_t),
			      &scope.allocator);
	tw_groups_init_values(&look.shapes, 2 * sizeof(uint32_t), sizeof(struct tw_shape *),
			      &scope.allocator);
	if (!look.who) {
		look.who = &who;
		look.failed = tw_attributions_build(&who, look.d, &scope.allocator);
	}
	if (!look.when && !look.failed) {
		look.when = &when;
		look.failed = tw_when_build(&when, look.d, &scope.allocator);
	}
	if (!look.failed)
		run_rules(&look);
	look.failed |= look.shapes.failed || look.spots.failed;
	tw_scope_end(&scope);
	return look.failed || claims->texts.failed ? TRAWL_ENOMEM : 0;
}
