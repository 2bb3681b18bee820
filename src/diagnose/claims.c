#include "diagnose/claims.h"

#include "diagnose/kinds.h"

#include "base/alloc.h"
#include "base/scope.h"
#include "base/search.h"
#include "text/str.h"

#include <stdlib.h>
#include <string.h>

/* ---- what changes */

void tw_claim_change(struct tw_look *look, enum tw_finding_kind kind,
		     const struct tw_change *change)
{
	struct tw_claims *c = look->claims;

	look->failed |= !TW_LIST_ADD(&c->of[kind].changes.list, change, c->allocator);
}

void tw_claim_remove(struct tw_look *look, enum tw_finding_kind kind, uint32_t gpu)
{
	tw_claim_change(look, kind, &(struct tw_change){ .kind = TW_CHANGE_REMOVE, .gpu = gpu });
}

void tw_claim_duration(struct tw_look *look, enum tw_finding_kind kind, uint32_t gpu, double ns)
{
	tw_claim_change(look, kind,
			&(struct tw_change){ .kind = TW_CHANGE_DURATION,
					     .gpu = gpu,
					     .ns = (int64_t)(ns + 0.5) });
}

void tw_claim_scale(struct tw_look *look, enum tw_finding_kind kind, uint32_t gpu, double factor)
{
	tw_claim_change(
		look, kind,
		&(struct tw_change){ .kind = TW_CHANGE_SCALE, .gpu = gpu, .factor = factor });
}

void tw_claim_host(struct tw_look *look, enum tw_finding_kind kind, uint32_t track, int64_t from_ns,
		   int64_t to_ns, int64_t keep_ns)
{
	uint32_t thread = tw_look_thread(look, track);

	if (thread != UINT32_MAX)
		tw_claim_change(look, kind,
				&(struct tw_change){ .kind = TW_CHANGE_HOST,
						     .thread = thread,
						     .from_ns = from_ns,
						     .to_ns = to_ns,
						     .ns = keep_ns });
}

/* ---- where: texts of the rank's own */

static uint32_t keep(struct tw_look *look, const char *text, size_t len)
{
	return len ? tw_pool_intern(&look->claims->texts, text, len) : 0;
}

static uint32_t keep_name(struct tw_look *look, uint32_t event)
{
	const struct tw_pool_entry *name =
		&look->trace->texts.entries[look->trace->events.name[event]];

	return keep(look, name->ptr, name->len);
}

/* "(8192, 1024) x (1024, 50257)" of "[[8192, 1024], [], [1024, 50257]]": what is no tensor is left out. */
static void add_shapes(struct tw_str *out, const char *dims)
{
	bool first = true, empty = true;
	int depth = 0;

	for (; *dims; dims++) {
		if (*dims == '[') {
			depth++;
			empty = true;
		} else if (*dims == ']') {
			if (!empty && depth > 1)
				tw_str_add_char(out, ')');
			depth--;
			empty = true;
		} else if (*dims >= '0' && *dims <= '9') {
			if (empty) {
				tw_str_add_cstr(out, first ? " (" : " x (");
				empty = first = false;
			}
			tw_str_add_char(out, *dims);
		} else if (*dims == ',' && !empty) {
			tw_str_add_cstr(out, ", ");
		}
	}
}

/* "aten::mm (8192, 1024) x (1024, 50257)" */
static uint32_t operation_text(struct tw_look *look, uint32_t event)
{
	const struct tw_pool_entry *name =
		&look->trace->texts.entries[look->trace->events.name[event]];
	struct trawl_argument arg;
	struct tw_str out;
	uint32_t text;

	if (!trawl_event_argument(look->trace, event, TW_KEY_input_dims, &arg) ||
	    arg.kind != TRAWL_VALUE_JSON)
		return keep(look, name->ptr, name->len);
	tw_str_init(&out, look->scratch);
	tw_str_add(&out, name->ptr, name->len);
	add_shapes(&out, look->trace->texts.entries[arg.text].ptr);
	look->failed |= out.failed;
	text = out.failed ? 0 : keep(look, out.ptr, out.len);
	tw_str_release(&out);
	return text;
}

/* Adds a place, or adds to it; all of one claim with the same texts are one. */
static void add_spot(struct tw_look *look, enum tw_finding_kind kind, const struct tw_spot *like,
		     int64_t ns)
{
	struct tw_claim *claim = &look->claims->of[kind];
	struct {
		uint32_t kind, operation, call;
		int32_t step;
	} key = { kind, like->operation, like->call, (int32_t)like->step };
	uint32_t *number = tw_groups_at(&look->spots, &key);
	struct tw_spot *spot;

	claim->count++;
	if (!number) {
		look->failed = true;
		return;
	}
	if (!*number) {
		look->failed |= !TW_LIST_ADD(&claim->spots, like, look->claims->allocator);
		*number = (uint32_t)claim->spots.count;
	}
	if (look->failed)
		return;
	spot = &claim->spots.at[*number - 1];
	spot->count++;
	spot->ns += ns;
}

void tw_claim_spot_in_step(struct tw_look *look, enum tw_finding_kind kind, uint32_t event,
			   uint32_t call_event, int64_t ns, int64_t step)
{
	struct tw_spot spot = { .operation = operation_text(look, event),
				.call = call_event == TW_NONE || call_event == event ?
						0 :
						keep_name(look, call_event),
				.step = step,
				.event = event };

	add_spot(look, kind, &spot, ns);
}

void tw_claim_collective(struct tw_look *look, enum tw_finding_kind kind, uint32_t gpu)
{
	const struct tw_path_rank *r = &look->part->rank;
	uint32_t event = look->d->gpu.event[gpu], i, call = look->d->gpu.launch[gpu];
	struct tw_spot spot = { .step = -1, .event = event };

	i = (uint32_t)TW_LOWER_BOUND(at, 0, r->collective_count, r->collectives[at].first < gpu);
	if (i < r->collective_count && r->collectives[i].first == gpu)
		spot.operation = look->claims->collectives[i].name;
	if (!spot.operation)
		spot.operation = keep_name(look, event);
	if (call != TW_NONE)
		spot.call = keep_name(look, tw_look_op_event(look, call));
	add_spot(look, kind, &spot, tw_gpu_ns(look, gpu));
}

void tw_claim_chain_spot(struct tw_look *look, enum tw_finding_kind kind,
			 const struct tw_leaf *first, uint32_t count, int64_t ns)
{
	struct tw_spot spot = { .step = -1, .event = look->d->host.event[first->node] };
	struct tw_str out;
	uint32_t i;

	tw_str_init(&out, look->scratch);
	for (i = 0; i < count && out.len < 120; i++)
		tw_str_addf(&out, "%s%s", i ? ", " : "", tw_look_name(look, first[i].node));
	look->failed |= out.failed;
	if (!look->failed) {
		spot.operation = keep(look, out.ptr, out.len);
		add_spot(look, kind, &spot, ns);
	}
	tw_str_release(&out);
}

void tw_claim_spot(struct tw_look *look, enum tw_finding_kind kind, uint32_t event,
		   uint32_t call_event, int64_t ns)
{
	tw_claim_spot_in_step(look, kind, event, call_event, ns, -1);
}

/* ---- call sites and modules of the places that matter: python functions around them */

#define PLACES_SHOWN 3

static int more_time_first(const void *a, const void *b)
{
	const struct tw_spot *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

struct wanted {
	struct tw_spot *spot;
	uint32_t track;
	int64_t start_ns, end_ns, site_ns, module_ns; /* the last two: start of what was found */
};

struct sites {
	struct wanted at[TW_FINDING_KINDS * PLACES_SHOWN];
	size_t count;
};

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

			s->at[s->count++] = (struct wanted){
				&claim->spots.at[i], e->track[event],
				e->start_ns[event],  e->start_ns[event] + e->dur_ns[event],
				INT64_MIN,	     INT64_MIN
			};
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
	unsigned kinds;

	if (start_ns > w->start_ns || end_ns < w->end_ns)
		return;
	if (is_module(text->ptr)) {
		if (start_ns > w->module_ns)
			w->spot->module = keep(look, text->ptr + 11, text->len - 11);
		w->module_ns = start_ns > w->module_ns ? start_ns : w->module_ns;
		return;
	}
	kinds = tw_look_kinds(look, name);
	if (start_ns < w->site_ns || !(kinds & TW_HOST_PYTHON_CODE) ||
	    kinds & TW_HOST_PYTHON_INTERNAL)
		return;
	w->site_ns = start_ns;
	w->spot->site = keep(look, text->ptr, text->len);
}

static void find_sites(struct tw_look *look)
{
	const struct tw_events *e = &look->trace->events;
	struct sites *s = tw_alloc_array(look->scratch, 1, sizeof(*s));
	uint64_t i;
	size_t k;

	look->failed |= !s;
	if (!s)
		return;
	list_wanted(look, s);
	for (i = 0; i < e->count && s->count; i++) {
		if (e->phase[i] != 'X' || tw_class(look->trace, i) != TRAWL_CLASS_PYTHON)
			continue;
		for (k = 0; k < s->count; k++)
			if (s->at[k].track == e->track[i])
				try_site(look, &s->at[k], i, e->start_ns[i],
					 e->start_ns[i] + e->dur_ns[i]);
	}
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
	c->collectives = tw_alloc_array(c->allocator, (size_t)c->collective_count + 1,
					sizeof(*c->collectives));
	return c->place && c->pass && c->collectives ? 0 : -1;
}

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
	if (look->part->rank.step_count > 2 && first > later)
		look->claims->warm_ns = first;
}

static void run_rules(struct tw_look *look)
{
	size_t i;

	tw_look_prepare(look);
	if (look->failed)
		return;
	list_places(look);
	tw_collective_sizes(look);
	tw_idle_by_cause(look);
	find_warmup(look);
	for (i = 0; i < TW_FINDING_KINDS && !look->failed; i++)
		if (tw_kind_list[i]->look)
			tw_kind_list[i]->look(look);
	if (!look->failed)
		find_sites(look);
	look->claims->trains = look->trains;
	look->claims->amd = look->part->rank.vendor == TW_VENDOR_AMD;
}

int tw_claims_make(struct tw_claims *claims, const struct tw_analysis_input *in,
		   const struct tw_path_part *part, const struct trawl_allocator *allocator)
{
	struct tw_scope scope;
	struct tw_look look = { .trace = in->trace,
				.d = in->derived,
				.modelled = in->modelled,
				.platform = in->platform,
				.part = part,
				.delays = &tw_delays[part->rank.vendor],
				.scratch = &scope.allocator,
				.claims = claims };

	memset(claims, 0, sizeof(*claims));
	claims->allocator = allocator;
	if (allocate(claims, part) || tw_pool_init(&claims->texts, allocator))
		return TRAWL_ENOMEM;
	tw_scope_begin(&scope, allocator);
	tw_arena_init(&look.arena, &scope.allocator);
	tw_groups_init_values(&look.spots, 4 * sizeof(uint32_t), sizeof(uint32_t),
			      &scope.allocator);
	run_rules(&look);
	look.failed |= look.spots.failed;
	tw_scope_end(&scope);
	return look.failed || claims->texts.failed ? TRAWL_ENOMEM : 0;
}

void tw_claims_release(struct tw_claims *c)
{
	size_t i;

	if (!c->allocator)
		return;
	for (i = 0; i < TW_FINDING_KINDS; i++) {
		TW_LIST_FREE(&c->of[i].changes.list, c->allocator);
		TW_LIST_FREE(&c->of[i].spots, c->allocator);
	}
	tw_free(c->allocator, c->place, ((size_t)c->gpu_count + 1) * sizeof(*c->place));
	tw_free(c->allocator, c->pass, (size_t)c->gpu_count + 1);
	tw_free(c->allocator, c->collectives,
		((size_t)c->collective_count + 1) * sizeof(*c->collectives));
	tw_pool_release(&c->texts);
	memset(c, 0, sizeof(*c));
}
