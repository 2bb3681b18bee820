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
		     const struct tw_remedy_part *change)
{
	struct tw_claims *c = look->claims;

	look->failed |= !TW_LIST_ADD(&c->of[kind].remedy.list, change, c->allocator);
}

void tw_claim_remove(struct tw_look *look, enum tw_finding_kind kind, uint32_t gpu)
{
	tw_claim_change(look, kind,
			&(struct tw_remedy_part){ .kind = TW_REMEDY_REMOVE, .gpu = gpu });
}

void tw_claim_duration(struct tw_look *look, enum tw_finding_kind kind, uint32_t gpu, double ns)
{
	tw_claim_change(look, kind,
			&(struct tw_remedy_part){ .kind = TW_REMEDY_DURATION,
						  .gpu = gpu,
						  .ns = tw_whole_ns(ns) });
}

void tw_claim_scale(struct tw_look *look, enum tw_finding_kind kind, uint32_t gpu, double factor)
{
	tw_claim_change(
		look, kind,
		&(struct tw_remedy_part){ .kind = TW_REMEDY_SCALE, .gpu = gpu, .factor = factor });
}

void tw_claim_host(struct tw_look *look, enum tw_finding_kind kind, uint32_t track, int64_t from_ns,
		   int64_t to_ns, int64_t keep_ns)
{
	uint32_t thread = tw_look_thread(look, track);

	if (thread != UINT32_MAX)
		tw_claim_change(look, kind,
				&(struct tw_remedy_part){ .kind = TW_REMEDY_HOST,
							  .thread = thread,
							  .from_ns = from_ns,
							  .to_ns = to_ns,
							  .ns = keep_ns });
}

void tw_claim_node(struct tw_look *look, enum tw_finding_kind kind, uint32_t node)
{
	if (tw_is_recorded(look, node))
		tw_claim_host(look, kind, tw_look_track(look, node), tw_look_start(look, node),
			      tw_look_end(look, node), 0);
}

/* ---- where: texts of the rank's own */

uint32_t tw_claim_text(struct tw_look *look, const char *text, size_t len)
{
	return len ? tw_pool_intern(&look->claims->texts, text, len) : 0;
}

static uint32_t keep_name(struct tw_look *look, uint32_t event)
{
	const struct tw_pool_entry *name =
		&look->trace->texts.entries[look->trace->events.name[event]];

	return tw_claim_text(look, name->ptr, name->len);
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
		return tw_claim_text(look, name->ptr, name->len);
	tw_str_init(&out, look->scratch);
	tw_str_add(&out, name->ptr, name->len);
	add_shapes(&out, look->trace->texts.entries[arg.text].ptr);
	look->failed |= out.failed;
	text = out.failed ? 0 : tw_claim_text(look, out.ptr, out.len);
	tw_str_release(&out);
	return text;
}

/* A place of one step is where that is; those of GPU work were asked for before. */
static bool is_viewed(const struct tw_look *look, const struct tw_spot *like)
{
	const struct tw_path_rank *r = &look->part->rank;
	const struct tw_events *e = &look->trace->events;
	int64_t start = e->start_ns[like->event];
	uint32_t i;

	if (like->event >= e->count)
		return true;

	for (i = 0; like->step >= 0 && i < r->step_count; i++)
		if (r->steps[i].number == like->step)
			return tw_is_viewed(look, r->steps[i].start_ns, r->steps[i].end_ns);
	return tw_class_is_gpu(tw_class(look->trace, like->event)) ||
	       tw_is_viewed(look, start, start + e->dur_ns[like->event]);
}

/* Adds a place, or adds to it; all of one claim with the same texts are one. */
static void add_spot(struct tw_look *look, enum tw_finding_kind kind, const struct tw_spot *like,
		     int64_t ns)
{
	struct tw_claim *claim = &look->claims->of[kind];
	struct {
		uint32_t kind, operation, call, site, module;
		int32_t step;
	} key = { kind, like->operation, like->call, like->site, like->module, (int32_t)like->step };
	uint32_t *number;
	struct tw_spot *spot;

	if (look->view && !is_viewed(look, like))
		return;
	number = tw_groups_at(&look->spots, &key);
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

static void claim_spot(struct tw_look *look, enum tw_finding_kind kind, uint32_t event,
		       uint32_t call_event, uint32_t site_event, int64_t ns, int64_t step)
{
	struct tw_spot spot = { .operation = operation_text(look, event),
				.call = call_event == TW_NONE || call_event == event ?
						0 :
						keep_name(look, call_event),
				.site = site_event == TW_NONE ? 0 : keep_name(look, site_event),
				.step = step,
				.event = event };

	add_spot(look, kind, &spot, ns);
}

void tw_claim_spot_at(struct tw_look *look, enum tw_finding_kind kind, uint32_t event,
		      uint32_t call_event, uint32_t site_event, int64_t ns)
{
	claim_spot(look, kind, event, call_event, site_event, ns, -1);
}

void tw_claim_spot_in_step(struct tw_look *look, enum tw_finding_kind kind, uint32_t event,
			   uint32_t call_event, int64_t ns, int64_t step)
{
	claim_spot(look, kind, event, call_event, TW_NONE, ns, step);
}

void tw_claim_collective(struct tw_look *look, enum tw_finding_kind kind, uint32_t gpu)
{
	const struct tw_path_rank *r = &look->part->rank;
	uint32_t event = look->d->gpu.event[gpu], i, call = look->d->gpu.launch[gpu];
	struct tw_spot spot = { .step = -1, .event = event };

	if (!tw_is_gpu_viewed(look, gpu))
		return;
	i = (uint32_t)TW_LOWER_BOUND(at, 0, r->collective_count, r->collectives[at].first < gpu);
	if (i < r->collective_count && r->collectives[i].first == gpu)
		spot.operation = look->claims->collectives[i].name;
	if (!spot.operation)
		spot.operation = keep_name(look, event);
	if (call != TW_NONE)
		spot.call = keep_name(look, tw_look_op_event(look, call));
	add_spot(look, kind, &spot, tw_gpu_ns(look, gpu));
}

void tw_claim_launch(struct tw_look *look, enum tw_finding_kind kind, uint32_t gpu, int64_t ns)
{
	uint32_t leaf = look->leaf_of[gpu], call = look->d->gpu.launch[gpu];
	bool has_site = look->site && look->site[leaf] != TW_NONE;
	struct tw_spot spot = { .step = -1, .event = look->d->host.event[call] };

	if (has_site)
		spot.site = keep_name(look, look->site[leaf]);
	else if (tw_launching_op(look->d, call, false) == TW_NONE)
		spot.call = keep_name(look, look->d->gpu.event[gpu]);
	if (spot.site || spot.call)
		add_spot(look, kind, &spot, ns);
}

void tw_claim_place(struct tw_look *look, enum tw_finding_kind kind, const struct tw_spot *spot,
		    int64_t ns)
{
	add_spot(look, kind, spot, ns);
}

void tw_claim_module(struct tw_look *look, enum tw_finding_kind kind, uint32_t module,
		     uint32_t event, const char *note, int64_t ns)
{
	struct tw_spot spot = { .operation = operation_text(look, event),
				.step = -1,
				.event = event };
	size_t len;
	const char *name = tw_module_name(look->who, module, &len);

	spot.module = tw_claim_text(look, name, len);
	spot.note = tw_claim_text(look, note, strlen(note));
	add_spot(look, kind, &spot, ns);
}

void tw_claim_operator(struct tw_look *look, enum tw_finding_kind kind, uint32_t node, int64_t ns)
{
	struct tw_spot spot = { .step = -1, .event = look->d->host.event[node], .spread = true };

	spot.operation = keep_name(look, (uint32_t)spot.event);
	add_spot(look, kind, &spot, ns);
}

void tw_claim_chain_spot(struct tw_look *look, enum tw_finding_kind kind,
			 const struct tw_leaf *first, uint32_t count, int64_t ns)
{
	struct tw_spot spot = { .step = -1, .event = look->d->host.event[first->node] };
	struct tw_str out;
	uint32_t i;

	for (i = 1; i < count && !strcmp(first[i].op, first->op); i++)
		;
	if (i == count) {
		spot.operation = operation_text(look, (uint32_t)spot.event);
		add_spot(look, kind, &spot, ns);
		return;
	}
	tw_str_init(&out, look->scratch);
	for (i = 0; i < count && out.len < 120; i++)
		tw_str_addf(&out, "%s%s", i ? ", " : "", tw_look_name(look, first[i].node));
	look->failed |= out.failed;
	if (!look->failed) {
		spot.operation = tw_claim_text(look, out.ptr, out.len);
		add_spot(look, kind, &spot, ns);
	}
	tw_str_release(&out);
}

void tw_claim_spot(struct tw_look *look, enum tw_finding_kind kind, uint32_t event,
		   uint32_t call_event, int64_t ns)
{
	tw_claim_spot_at(look, kind, event, call_event, TW_NONE, ns);
}

void tw_claims_release(struct tw_claims *c)
{
	size_t i;

	if (!c->allocator)
		return;
	for (i = 0; i < TW_FINDING_KINDS; i++) {
		TW_LIST_FREE(&c->of[i].remedy.list, c->allocator);
		TW_LIST_FREE(&c->of[i].spots, c->allocator);
	}
	TW_LIST_FREE(&c->functions, c->allocator);
	TW_LIST_FREE(&c->whose, c->allocator);
	TW_LIST_FREE(&c->served, c->allocator);
	tw_free(c->allocator, c->whose_of, ((size_t)c->gpu_count + 1) * sizeof(*c->whose_of));
	tw_free(c->allocator, c->place, ((size_t)c->gpu_count + 1) * sizeof(*c->place));
	tw_free(c->allocator, c->pass, (size_t)c->gpu_count + 1);
	tw_free(c->allocator, c->loads_or_waits, (size_t)c->label_count + 1);
	tw_free(c->allocator, c->collectives,
		((size_t)c->collective_count + 1) * sizeof(*c->collectives));
	tw_pool_release(&c->texts);
	memset(c, 0, sizeof(*c));
}
