/*
 * Reads what graphs are replays of: the captures of a trace, and eager runs.  What counts as one is
 * said in derive/graphs/graphs.h.
 */
#include "analysis/who/attributions.h"
#include "base/alloc.h"
#include "base/ids.h"
#include "base/scope.h"
#include "base/search.h"
#include "base/sort.h"
#include "data/tables.h"
#include "derive/derived.h"
#include "text/str.h"
#include "trawl/report.h"

#include <string.h>

/* A call that makes a node, or begins or ends a capture. */
struct call {
	uint32_t node, owner; /* host node; capture, TW_NONE: none */
};

/* A capture while calls are gone through in order of time. */
struct open_capture {
	int64_t begun_ns; /* its calls start no earlier */
	uint32_t outer,
		around; /* the one of its process, and of its thread, that was open before it */
	uint64_t own;	/* calls that are its own if it never ends: those before the next begin */
	bool open;
};

struct reading {
	struct trawl_trace *trace;
	const struct trawl_trace *from;
	const struct tw_derived *d;
	const struct trawl_allocator *a;
	uint32_t file;
	uint32_t *gpu_of; /* by host node: its first GPU event, TW_NONE: none */
	struct tw_attributions who;
	uint32_t *path_text;   /* by module of who: its path, text id of the other trace */
	uint32_t first_module; /* of the captured modules: the first of this trace */
	uint32_t *order;       /* nodes of calls, by start */
	uint64_t count;
	uint32_t *key_of; /* by text id: the key of a kernel of this name, 0: not asked */
	uint8_t *kinds;	  /* by text id: enum of names below, 0: not asked */
	TW_LIST(struct open_capture) open;
	TW_LIST(struct call) calls; /* of captures, in order of time */
	uint32_t *slot;		    /* by host node: 1 + captured node */
	uint32_t *used;		    /* host nodes that are captured nodes, in order */
	uint64_t used_count;
	struct tw_str text;
};

enum { ASKED = 1, MAKES_NODE = 2, GRAPH = 4, BEGINS = 8, ENDS = 16, COPIES = 32, FILLS = 64 };

static uint32_t name_of(const struct reading *r, uint32_t node)
{
	return r->from->events.name[r->d->host.event[node]];
}

static unsigned kinds_of(const struct reading *r, uint32_t node)
{
	uint32_t name = name_of(r, node);
	const struct tw_pool_entry *text = &r->from->texts.entries[name];
	unsigned kinds;

	if (r->kinds[name])
		return r->kinds[name];
	kinds = tw_host_kinds_of(text->ptr, text->len);
	r->kinds[name] = (uint8_t)(ASKED | (kinds & TW_HOST_GRAPH_LAUNCH ? GRAPH : 0) |
				   (kinds & TW_HOST_CAPTURE_BEGIN ? BEGINS : 0) |
				   (kinds & TW_HOST_CAPTURE_END ? ENDS : 0) |
				   (strstr(text->ptr, "emcpy") ? COPIES : 0) |
				   (strstr(text->ptr, "emset") ? FILLS : 0));
	if (kinds & TW_HOST_LAUNCH && !(kinds & (TW_HOST_NO_LAUNCH | TW_HOST_GRAPH_LAUNCH)))
		r->kinds[name] |= MAKES_NODE;
	return r->kinds[name];
}

static int64_t start_of(const struct reading *r, uint32_t node)
{
	return r->from->events.start_ns[r->d->host.event[node]];
}

static uint32_t track_of(const struct reading *r, uint32_t node)
{
	return r->from->events.track[r->d->host.event[node]];
}

static uint64_t start_key(const void *context, uint32_t node)
{
	return tw_sort_key(start_of(context, node));
}

/* Calls in order of time, and what launched GPU work. */
static int prepare(struct reading *r)
{
	const struct tw_derived *d = r->d;
	size_t n = d->host.count + 1;
	uint64_t i;

	r->gpu_of = tw_alloc(r->a, n * sizeof(uint32_t));
	r->slot = tw_alloc_array(r->a, n, sizeof(uint32_t));
	r->used = tw_alloc(r->a, n * sizeof(uint32_t));
	r->order = tw_alloc(r->a, (d->host.call_count + 1) * sizeof(uint32_t));
	r->key_of = tw_alloc_array(r->a, r->from->texts.count, sizeof(uint32_t));
	r->kinds = tw_alloc_array(r->a, r->from->texts.count, 1);
	if (!r->gpu_of || !r->slot || !r->used || !r->order || !r->kinds || !r->key_of)
		return -1;
	memset(r->gpu_of, 0xff, n * sizeof(uint32_t));
	for (i = d->gpu.count; i-- > 0;)
		if (d->gpu.launch[i] != TW_NONE)
			r->gpu_of[d->gpu.launch[i]] = (uint32_t)i;
	for (i = 0; i < d->host.call_count; i++)
		if (kinds_of(r, d->host.call[i]) != ASKED && !tw_is_inner_call(d, d->host.call[i]))
			r->order[r->count++] = d->host.call[i];
	return tw_sort(r->order, r->count, start_key, r, r->a);
}

/* Modules and call sites; the module with number n of the list is captured module first_module + n - 1. */
static int find_modules(struct reading *r)
{
	struct tw_captures *captures = &r->trace->captures;
	uint32_t i;

	r->first_module = (uint32_t)captures->modules.count;
	if (tw_attributions_build(&r->who, r->d, r->a))
		return -1;
	r->path_text = tw_alloc_array(r->a, (size_t)r->who.module_count + 1, sizeof(uint32_t));
	for (i = 1; r->path_text && i < r->who.module_count; i++) {
		const struct tw_module *of = &r->who.module[i];
		const struct tw_captured_module module = {
			of->parent ? r->first_module + of->parent : 0,
			tw_trace_borrow_text(r->trace, r->from, of->name)
		};

		tw_str_clear(&r->text);
		tw_module_path(&r->who, i, &r->text);
		if (r->text.failed ||
		    !TW_LIST_ADD(&captures->modules, &module, r->trace->allocator))
			return -1;
		r->path_text[i] = tw_pool_intern(&r->trace->texts, r->text.ptr, r->text.len);
	}
	return r->path_text ? 0 : -1;
}

/* ---- which calls are of which capture */

struct sweep {
	uint32_t *of_track; /* the open capture of a thread, TW_NONE */
	struct tw_ids processes;
	TW_LIST(uint32_t) of_process; /* the latest open one */
};

static uint32_t *process_of(struct reading *r, struct sweep *s, uint32_t track)
{
	static const uint32_t none = TW_NONE;
	int64_t pid = r->from->tracks[track].pid;
	uint32_t found = tw_ids_get(&s->processes, pid);

	if (found == TW_IDS_NONE) {
		found = (uint32_t)s->of_process.count;
		if (!tw_ids_put(&s->processes, pid, found, r->a) ||
		    !TW_LIST_ADD(&s->of_process, &none, r->a))
			return NULL;
	}
	return &s->of_process.at[found];
}

/* The latest capture of a process, or of a thread, that is still open. */
static uint32_t latest_open(const struct reading *r, uint32_t capture, bool of_thread)
{
	while (capture != TW_NONE && !r->open.at[capture].open)
		capture = of_thread ? r->open.at[capture].around : r->open.at[capture].outer;
	return capture;
}

static int begin_capture(struct reading *r, uint32_t event, uint32_t *of_thread, uint32_t *latest)
{
	const struct tw_events *events = &r->from->events;
	const struct open_capture capture = {
		.begun_ns = events->start_ns[event] +
			    (events->phase[event] == 'X' ? events->dur_ns[event] : 0),
		.outer = *latest,
		.around = *of_thread,
		.own = UINT64_MAX,
		.open = true,
	};

	if (*of_thread != TW_NONE && r->open.at[*of_thread].own == UINT64_MAX)
		r->open.at[*of_thread].own = r->calls.count;
	*latest = *of_thread = (uint32_t)r->open.count;
	return TW_LIST_ADD(&r->open, &capture, r->a) ? 0 : -1;
}

/* Captures of a thread may be within each other; what is ended by a thread without one is another's. */
static int sweep_call(struct reading *r, struct sweep *s, uint32_t node)
{
	unsigned kinds = kinds_of(r, node);
	uint32_t track = track_of(r, node), *latest = process_of(r, s, track), capture;
	uint32_t *of_thread = &s->of_track[track];

	if (!latest)
		return -1;
	*latest = latest_open(r, *latest, false);
	*of_thread = latest_open(r, *of_thread, true);
	if (kinds & BEGINS)
		return begin_capture(r, r->d->host.event[node], of_thread, latest);
	capture = *of_thread != TW_NONE ? *of_thread : *latest;
	if (capture == TW_NONE)
		return 0;
	if (kinds & ENDS)
		r->open.at[capture].open = false;
	if (!(kinds & MAKES_NODE) || r->gpu_of[node] != TW_NONE ||
	    start_of(r, node) < r->open.at[capture].begun_ns)
		return 0;
	return TW_LIST_ADD(&r->calls, (&(struct call){ node, capture }), r->a) ? 0 : -1;
}

static int find_captures(struct reading *r)
{
	struct sweep s = { .of_track =
				   tw_alloc(r->a, (r->from->track_count + 1) * sizeof(uint32_t)) };
	uint64_t i, kept = 0;

	if (!s.of_track)
		return -1;
	memset(s.of_track, 0xff, (r->from->track_count + 1) * sizeof(uint32_t));
	for (i = 0; i < r->count; i++)
		if (sweep_call(r, &s, r->order[i]))
			return -1;
	for (i = 0; i < r->calls.count; i++) {
		const struct open_capture *owner = &r->open.at[r->calls.at[i].owner];

		if (!owner->open || i < owner->own)
			r->calls.at[kept++] = r->calls.at[i];
	}
	r->calls.count = kept;
	return 0;
}

/* ---- calls */

/* The key of a kernel's name in the other trace. */
static uint32_t key_of_name(struct reading *r, uint32_t name)
{
	uint32_t text;

	if (!r->key_of[name] && (text = tw_trace_borrow_text(r->trace, r->from, name)))
		r->key_of[name] = tw_graph_key_of(&r->trace->texts, text);
	return r->key_of[name];
}

static uint32_t key_of_gpu(struct reading *r, uint32_t g)
{
	uint32_t event = r->d->gpu.event[g];
	enum trawl_class class = tw_class(r->from, event);

	return class == TRAWL_CLASS_MEMCPY ? TW_CALL_COPY :
	       class == TRAWL_CLASS_MEMSET ? TW_CALL_FILL :
					     key_of_name(r, r->from->events.name[event]);
}

static uint32_t key_of_call(struct reading *r, uint32_t node, bool *named)
{
	unsigned kinds = kinds_of(r, node);
	struct trawl_argument arg;

	if (kinds & (COPIES | FILLS))
		return kinds & COPIES ? TW_CALL_COPY : TW_CALL_FILL;
	if (!trawl_event_argument(r->from, r->d->host.event[node], TW_KEY_kernel, &arg) ||
	    arg.kind != TRAWL_VALUE_TEXT)
		return TW_CALL_ANY;
	*named = true;
	return key_of_name(r, arg.text);
}

/* The dims of a node's inputs: text id of its own trace. */
static uint32_t dims_of(const struct reading *r, uint32_t node)
{
	uint32_t event = r->d->host.event[node];
	struct trawl_argument arg;

	if (!trawl_event_argument(r->from, event, TW_KEY_input_dims, &arg) &&
	    !trawl_event_argument(r->from, event, TW_KEY_input_dims_2021, &arg))
		return 0;
	return arg.kind == TRAWL_VALUE_JSON || arg.kind == TRAWL_VALUE_TEXT ? arg.text : 0;
}

/* The call and its operators are to be captured nodes. */
static void use_node(struct reading *r, uint32_t node)
{
	unsigned depth;

	for (depth = 0; node != TW_NONE && depth <= TW_CAPTURED_DEPTH; depth++) {
		uint32_t parent = r->d->host.parent[node];

		r->slot[node] = 1;
		node = parent == TW_NONE ? TW_NONE : (uint32_t)tw_launching_op(r->d, parent, false);
	}
}

static int add_call(struct reading *r, uint32_t node, uint32_t key)
{
	uint32_t op = (uint32_t)tw_launching_op(r->d, node, true);
	struct tw_captured_call call = { .key = key, .node = node };
	const struct tw_attribution *who;

	call.op_node = op == TW_NONE ? node : op;
	call.op = tw_trace_borrow_text(r->trace, r->from, name_of(r, call.op_node));
	call.dims = tw_trace_borrow_text(r->trace, r->from, dims_of(r, call.op_node));
	who = tw_attribution_of_node(&r->who, node);
	call.site = tw_trace_borrow_text(r->trace, r->from, who->site);
	call.pass = who->pass;
	if (who->path) {
		call.module = r->path_text[who->path];
		call.path = r->first_module + who->path;
	}
	use_node(r, node);
	if (call.op_node != node)
		use_node(r, call.op_node);
	return TW_LIST_ADD(&r->trace->captures.calls, &call, r->trace->allocator) ? 0 : -1;
}

static int add_capture(struct reading *r, enum tw_capture_kind kind, uint32_t number,
		       size_t first_call)
{
	const struct tw_capture capture = {
		.kind = kind,
		.file = r->file,
		.number = number,
		.first_call = (uint32_t)first_call,
		.call_count = (uint32_t)(r->trace->captures.calls.count - first_call),
	};

	return TW_LIST_ADD(&r->trace->captures.list, &capture, r->trace->allocator) ? 0 : -1;
}

/* ---- warm-ups */

/* What a call has in common with its like in a warm-up. */
struct like {
	uint32_t op, dims, kind;
};

static struct like like_of(const struct reading *r, uint32_t node)
{
	uint32_t op = (uint32_t)tw_launching_op(r->d, node, true);
	uint32_t at = op == TW_NONE ? node : op;

	return (struct like){ name_of(r, at), dims_of(r, at),
			      kinds_of(r, node) & (COPIES | FILLS) };
}

/*
 * The last place before `end` where the likes of the calls follow each other, and the one after
 * them; UINT64_MAX: none.  Backwards, by the lengths of borders, in one pass.
 */
static uint64_t find_last(const struct like *likes, uint64_t begin, uint64_t end,
			  const struct like *calls, uint64_t count, uint64_t *border)
{
	uint64_t i, k;

#define CALL(n) (&calls[count - 1 - (n)])
#define SAME(a, b) (!memcmp((a), (b), sizeof(struct like)))
	border[0] = 0;
	for (i = 1, k = 0; i < count; i++) {
		while (k && !SAME(CALL(i), CALL(k)))
			k = border[k - 1];
		k += SAME(CALL(i), CALL(k));
		border[i] = k;
	}
	for (i = end, k = 0; i-- > begin;) {
		while (k && !SAME(&likes[i], CALL(k)))
			k = border[k - 1];
		k += SAME(&likes[i], CALL(k));
		if (k == count)
			return i;
	}
#undef CALL
#undef SAME
	return UINT64_MAX;
}

/* Eager launches, in order of time, and those of them that began before a capture. */
struct eager {
	uint32_t *nodes;
	struct like *likes;
	uint64_t count;
};

static int list_eager(const struct reading *r, struct eager *e)
{
	uint64_t i;

	e->nodes = tw_alloc(r->a, (r->count + 1) * sizeof(*e->nodes));
	e->likes = tw_alloc_array(r->a, r->count + 1, sizeof(*e->likes));
	if (!e->nodes || !e->likes)
		return -1;
	for (i = 0; i < r->count; i++) {
		uint32_t node = r->order[i];

		if (!(kinds_of(r, node) & MAKES_NODE) || r->gpu_of[node] == TW_NONE)
			continue;
		e->nodes[e->count] = node;
		e->likes[e->count++] = like_of(r, node);
	}
	return 0;
}

/* Names the calls of a capture by those of its warm-up; *named: it has one. */
static int name_by_warm_up(struct reading *r, const struct eager *e, int64_t begun_ns,
			   const uint32_t *calls, uint32_t count, uint32_t *keys, bool *named)
{
	struct like *likes = tw_alloc_array(r->a, (size_t)count + 1, sizeof(*likes));
	uint64_t *border = tw_alloc(r->a, ((size_t)count + 1) * sizeof(*border));
	uint64_t end, begin, at;
	uint32_t i;

	if (!likes || !border)
		return -1;
	end = TW_LOWER_BOUND(n, 0, e->count, start_of(r, e->nodes[n]) < begun_ns);
	begin = end > 4 * (uint64_t)count ? end - 4 * (uint64_t)count : 0;
	for (i = 0; i < count; i++)
		likes[i] = like_of(r, calls[i]);
	at = count ? find_last(e->likes, begin, end, likes, count, border) : UINT64_MAX;
	for (i = 0; at != UINT64_MAX && i < count; i++)
		keys[i] = key_of_gpu(r, r->gpu_of[e->nodes[at + i]]);
	*named = at != UINT64_MAX;
	tw_free(r->a, likes, ((size_t)count + 1) * sizeof(*likes));
	tw_free(r->a, border, ((size_t)count + 1) * sizeof(*border));
	return 0;
}

/* ---- captures */

static int add_calls_of(struct reading *r, const struct eager *e, uint32_t number,
			const uint32_t *nodes, uint32_t count)
{
	size_t first = r->trace->captures.calls.count;
	uint32_t *keys = tw_alloc(r->a, ((size_t)count + 1) * sizeof(*keys)), i;
	bool named = false;

	if (!keys)
		return -1;
	for (i = 0; i < count; i++)
		keys[i] = key_of_call(r, nodes[i], &named);
	if (!named &&
	    name_by_warm_up(r, e, r->open.at[number].begun_ns, nodes, count, keys, &named))
		return -1;
	for (i = 0; i < count; i++)
		if (add_call(r, nodes[i], keys[i]))
			return -1;
	tw_free(r->a, keys, ((size_t)count + 1) * sizeof(*keys));
	return add_capture(r, named ? TW_CAPTURE_NAMED : TW_CAPTURE_COUNTED, number, first);
}

/* The calls of each capture, in order of time. */
static int add_captures(struct reading *r)
{
	uint32_t *first = tw_alloc_array(r->a, r->open.count + 2, sizeof(*first));
	uint32_t *nodes = tw_alloc(r->a, (r->calls.count + 1) * sizeof(*nodes));
	struct eager e = { 0 };
	size_t i;

	if (!first || !nodes || list_eager(r, &e))
		return -1;
	for (i = 0; i < r->calls.count; i++)
		first[r->calls.at[i].owner + 2]++;
	for (i = 2; i < r->open.count + 2; i++)
		first[i] += first[i - 1];
	/* first[c + 1] moves from the start of the calls of c to their end. */
	for (i = 0; i < r->calls.count; i++)
		nodes[first[r->calls.at[i].owner + 1]++] = r->calls.at[i].node;
	for (i = 0; i < r->open.count; i++)
		if (add_calls_of(r, &e, (uint32_t)i, nodes + first[i], first[i + 1] - first[i]))
			return -1;
	return 0;
}

/* GPU events of an eager run, in order of launch. */
static uint64_t launch_key(const void *context, uint32_t g)
{
	const struct reading *r = context;

	return start_key(r, r->d->gpu.launch[g]);
}

static int add_eager(struct reading *r)
{
	const struct tw_gpu *gpu = &r->d->gpu;
	uint32_t *list = tw_alloc(r->a, (gpu->count + 1) * sizeof(*list));
	size_t first = r->trace->captures.calls.count;
	uint64_t i, n = 0;

	if (!list)
		return -1;
	for (i = 0; i < gpu->count; i++)
		if (gpu->launch[i] != TW_NONE && !(kinds_of(r, gpu->launch[i]) & GRAPH))
			list[n++] = (uint32_t)i;
	if (tw_sort(list, n, launch_key, r, r->a))
		return -1;
	for (i = 0; i < n; i++)
		if (add_call(r, gpu->launch[list[i]], key_of_gpu(r, list[i])))
			return -1;
	return n ? add_capture(r, TW_CAPTURE_EAGER, 0, first) : 0;
}

/* ---- borrowed nodes */

/* One of each name and class, without arguments; bare[i]: that of used node i. */
static int borrow_bare(struct reading *r, uint32_t track, uint64_t *bare)
{
	uint32_t *events = tw_alloc(r->a, (r->used_count + 1) * sizeof(*events));
	struct tw_ids ids = { 0 };
	uint64_t i, n = 0, first;

	if (!events)
		return -1;
	for (i = 0; i < r->used_count; i++) {
		int64_t key = (int64_t)name_of(r, r->used[i]) << 8 |
			      tw_node_class(r->d, r->used[i]);
		uint32_t found = tw_ids_get(&ids, key);

		if (found == TW_IDS_NONE) {
			found = (uint32_t)n;
			events[n++] = r->d->host.event[r->used[i]];
			if (!tw_ids_put(&ids, key, found, r->a))
				return -1;
		}
		bare[i] = found;
	}
	if (tw_trace_borrow(r->trace, r->from, events, n, true, track, &first))
		return -1;
	for (i = 0; i < r->used_count; i++)
		bare[i] += first;
	return 0;
}

/* Captured nodes of what calls need, and their numbers in the calls. */
static int borrow_nodes(struct reading *r, uint32_t track, size_t first_call)
{
	struct tw_captures *captures = &r->trace->captures;
	uint32_t *events = tw_alloc(r->a, (r->d->host.count + 1) * sizeof(*events)), i;
	uint64_t *bare, first, n;

	for (n = 0; events && n < r->d->host.count; n++) {
		if (!r->slot[n])
			continue;
		events[r->used_count] = r->d->host.event[n];
		r->used[r->used_count++] = (uint32_t)n;
		r->slot[n] = (uint32_t)(captures->nodes.count + r->used_count);
	}
	bare = tw_alloc(r->a, (r->used_count + 1) * sizeof(*bare));
	if (!events || !bare || borrow_bare(r, track, bare) ||
	    tw_trace_borrow(r->trace, r->from, events, r->used_count, false, track, &first))
		return -1;
	for (n = 0; n < r->used_count; n++) {
		uint32_t above = r->d->host.parent[r->used[n]];
		uint64_t op = above == TW_NONE ? TW_NONE : tw_launching_op(r->d, above, false);
		const struct tw_captured_node node = {
			.event = (uint32_t)(first + n),
			.bare = (uint32_t)bare[n],
			.parent = op == TW_NONE || !r->slot[op] ? UINT32_MAX : r->slot[op] - 1,
		};

		if (!TW_LIST_ADD(&captures->nodes, &node, r->trace->allocator))
			return -1;
	}
	for (i = (uint32_t)first_call; i < captures->calls.count; i++) {
		captures->calls.at[i].node = r->slot[captures->calls.at[i].node] - 1;
		captures->calls.at[i].op_node = r->slot[captures->calls.at[i].op_node] - 1;
	}
	return 0;
}

/* The thread of the first graph launch, for what is borrowed; UINT32_MAX: there is none. */
static uint32_t launching_track(const struct trawl_trace *trace)
{
	uint64_t i;

	for (i = 0; i < trace->events.count; i++) {
		const struct tw_pool_entry *name = &trace->texts.entries[trace->events.name[i]];

		if (tw_class_is_launch(tw_class(trace, i)) && strstr(name->ptr, "GraphLaunch"))
			return trace->events.track[i];
	}
	return UINT32_MAX;
}

static int add_source(struct reading *r, bool eager)
{
	uint32_t track = launching_track(r->trace);
	size_t first = r->trace->captures.calls.count;

	if (track == UINT32_MAX)
		track = 0;
	tw_str_init(&r->text, r->a);
	if (find_modules(r) || prepare(r) ||
	    (eager ? add_eager(r) : find_captures(r) || add_captures(r)) ||
	    borrow_nodes(r, track, first))
		return -1;
	return r->trace->texts.failed || r->text.failed ? -1 : 0;
}

int trawl_trace_add_source(struct trawl_trace *trace, const struct trawl_trace *from,
			   const char *name, enum trawl_graph_source kind, struct trawl_error *err)
{
	const struct tw_derive_options options = { .view = TW_VIEW_OPTIONS_INIT,
						   .allocator = trace->allocator };
	size_t before = trace->captures.list.count;
	struct reading r = { .trace = trace, .from = from };
	struct tw_derived *d;
	struct tw_scope scope;
	int status = tw_derive(&d, from, &options, err);

	if (status)
		return status;
	tw_scope_begin(&scope, trace->allocator);
	r.d = d;
	r.a = &scope.allocator;
	r.file = tw_pool_intern_cstr(&trace->texts, name);
	status = r.file ? add_source(&r, kind == TRAWL_GRAPH_MAP) : -1;
	tw_scope_end(&scope);
	tw_derived_free(d);
	if (status)
		return tw_no_memory(err);
	if (trace->captures.list.count > before)
		return 0;
	return trawl_error_set(
		err, TRAWL_ENODATA, "%s",
		kind == TRAWL_GRAPH_MAP ?
			"no GPU events that operators launched: is it an eager run?" :
			"no graph capture in it (no StreamBeginCapture call): record "
			"the process from before its graphs are captured");
}
