#include "analysis/who/attributions.h"

#include "analysis/who/forward_of.h"
#include "analysis/who/sweep.h"
#include "base/alloc.h"
#include "base/list.h"
#include "base/scope.h"
#include "data/limits.h"

#include <string.h>

const char *const tw_pass_names[TW_PASS_COUNT] = { "forward", "backward", "recompute" };

static const char module_prefix[] = "nn.Module: ";

/* Scopes around each other, forward operations in scopes: as many are looked at. */
#define MOST_AROUND 20

/* What a text is as the name of a frame, of an operation: asked once each. */
enum { INNER = 1, SITE, MODULE, RERUN, ENGINE, OTHER };

struct scope {
	uint32_t around; /* the scope around it, 0: none */
	uint32_t pass;
	uint32_t backward; /* its number among the backward operations, TW_NONE: it is none */
	bool resolved;
	/* Of the forward operation that it differentiates. */
	uint32_t path, site;
};

/* What the sweep knows of a path beside struct tw_module: [1] of frames within a scope. */
struct path {
	unsigned depth;
	bool seen[2];
	int64_t calls[2], recomputed;
	tw_wide host_ns[2];
};

struct work {
	struct tw_attributions *who;
	const struct tw_derived *d;
	const struct trawl_allocator *a; /* of a scope of its own */
	uint8_t *frame_kind, *op_kind;	 /* by text id */
	struct tw_groups paths;		 /* (parent, name) -> struct path */
	struct tw_groups states;
	struct tw_around last; /* the one that last_number is of */
	uint32_t last_number;
	TW_LIST(struct scope) scopes;
	TW_LIST(struct tw_backward_op) backward;
	uint32_t *complete; /* by path: what one is that begins within a scope */
};

/* ---- what names are */

static bool has_prefix(const struct tw_pool_entry *text, const char *prefix, size_t len)
{
	return text->len >= len && !memcmp(text->ptr, prefix, len);
}

static bool ends_in(const struct tw_pool_entry *text, const char *ending)
{
	size_t len = strlen(ending);

	return text->len >= len && !memcmp(text->ptr + text->len - len, ending, len);
}

/* torch/utils/checkpoint.py(N): recompute_fn, or backward of its autograd function. */
static bool runs_again(const struct tw_pool_entry *text)
{
	return strstr(text->ptr, "torch/utils/checkpoint.py(") &&
	       (ends_in(text, "): recompute_fn") || ends_in(text, "): backward"));
}

static unsigned frame_kind(struct work *w, uint32_t name)
{
	const struct tw_pool_entry *text = &w->d->trace->texts.entries[name];

	if (w->frame_kind[name])
		return w->frame_kind[name];
	if (w->d->trace->by_process || has_prefix(text, module_prefix, sizeof(module_prefix) - 1))
		w->frame_kind[name] = MODULE;
	else if (runs_again(text))
		w->frame_kind[name] = RERUN;
	else
		w->frame_kind[name] = tw_is_inner_frame(text->ptr, text->len) ? INNER : SITE;
	return w->frame_kind[name];
}

static unsigned op_kind(struct work *w, uint32_t name)
{
	static const char engine[] = "autograd::engine::evaluate_function";
	const struct tw_pool_entry *text = &w->d->trace->texts.entries[name];

	if (!w->op_kind[name])
		w->op_kind[name] = has_prefix(text, engine, sizeof(engine) - 1)	    ? ENGINE :
				   !strcmp(text->ptr, "CheckpointFunctionBackward") ? RERUN :
										      OTHER;
	return w->op_kind[name];
}

uint32_t tw_launching_name(const struct tw_derived *d, uint64_t gpu)
{
	uint32_t launch = tw_gpu_origins(d)[gpu];
	uint64_t op = tw_launching_op(d, launch, true);

	return d->trace->events.name[d->host.event[op == TW_NONE ? launch : op]];
}

const char *tw_module_name(const struct tw_attributions *who, uint32_t module, size_t *len)
{
	const struct trawl_trace *trace = who->derived->trace;
	const struct tw_pool_entry *text = &trace->texts.entries[who->module[module].name];
	size_t skip = has_prefix(text, module_prefix, sizeof(module_prefix) - 1) ?
			      sizeof(module_prefix) - 1 :
			      0;

	*len = text->len - skip;
	return text->ptr + skip;
}

void tw_module_path(const struct tw_attributions *who, uint32_t module, struct tw_str *out)
{
	uint32_t around[TW_LIMIT_MODULE_DEPTH + 1];
	unsigned count = 0;
	const char *name;
	size_t len;

	for (; module; module = who->module[module].parent)
		around[count++] = module;
	while (count-- > 0) {
		name = tw_module_name(who, around[count], &len);
		tw_str_add(out, name, len);
		if (count)
			tw_str_add_cstr(out, TW_MODULE_SEPARATOR);
	}
}

size_t tw_module_class_len(const char *name, size_t len)
{
	size_t end = len;

	while (end && name[end - 1] >= '0' && name[end - 1] <= '9')
		end--;
	return end < len && end && name[end - 1] == '_' ? end - 1 : len;
}

/* ---- the sweep */

static struct path *path_at(struct work *w, uint32_t path)
{
	return tw_groups_value(&w->paths, path);
}

/* Modules that are too deep belong to the last one that is not: else paths of n modules are n times as long. */
static uint32_t path_below(struct work *w, uint32_t parent, uint32_t name)
{
	const uint32_t key[2] = { parent, name };
	unsigned depth = path_at(w, parent)->depth;
	uint32_t path;

	if (depth >= TW_LIMIT_MODULE_DEPTH)
		return parent;
	path = tw_groups_add(&w->paths, key);
	if (path == TW_NO_GROUP)
		return 0;
	path_at(w, path)->depth = depth + 1;
	return path;
}

static void count_call(struct work *w, const struct tw_around *state, uint32_t event)
{
	struct path *path = path_at(w, state->path);
	bool within = state->scope != 0;
	int64_t start_ns = w->d->trace->events.start_ns[event];
	int64_t end_ns = start_ns + w->d->trace->events.dur_ns[event];

	path->seen[within] = true;
	if (!tw_view_clip(tw_host_view(w->d), &start_ns, &end_ns))
		return;
	path->calls[within]++;
	path->recomputed += w->scopes.at[state->scope].pass == TW_PASS_RECOMPUTE;
	path->host_ns[within] += end_ns - start_ns;
}

static int begin_scope(struct work *w, struct tw_around *state, uint32_t pass, uint32_t backward)
{
	const struct scope scope = { .around = state->scope, .pass = pass, .backward = backward };

	if (w->scopes.count >= UINT32_MAX || !TW_LIST_ADD(&w->scopes, &scope, w->a))
		return -1;
	*state = (struct tw_around){ .scope = (uint32_t)w->scopes.count - 1 };
	return 0;
}

static int enter_frame(void *context, struct tw_around *state, uint32_t event)
{
	struct work *w = context;
	uint32_t name = w->d->trace->events.name[event];

	switch (frame_kind(w, name)) {
	case MODULE:
		state->path = path_below(w, state->path, name);
		count_call(w, state, event);
		return w->paths.failed ? -1 : 0;
	case SITE:
		w->who->sites = true;
		state->site = name;
		return 0;
	case RERUN:
		return begin_scope(w, state, TW_PASS_RECOMPUTE, TW_NONE);
	}
	return 0;
}

/* A backward operation is a call of the engine, or has the thread of its forward operation. */
static bool is_backward(const struct work *w, uint32_t node, bool engine, struct tw_backward_op *op)
{
	struct trawl_argument thread;
	bool recorded, elsewhere;

	op->node = node;
	op->sequence = tw_sequence_of(w->d, node, &recorded);
	op->forward_thread = INT64_MAX;
	if (!recorded)
		return engine;
	elsewhere = trawl_event_argument(w->d->trace, w->d->host.event[node], TW_KEY_forward_thread,
					 &thread) &&
		    thread.kind == TRAWL_VALUE_INTEGER && thread.integer;
	if (elsewhere)
		op->forward_thread = thread.integer;
	return engine || elsewhere;
}

static int enter_op(struct work *w, struct tw_around *state, uint32_t node)
{
	unsigned kind = op_kind(w, w->d->trace->events.name[w->d->host.event[node]]);
	uint32_t number = TW_NONE;
	struct tw_backward_op op;

	if (is_backward(w, node, kind == ENGINE, &op)) {
		if (w->backward.count >= TW_NONE || !TW_LIST_ADD(&w->backward, &op, w->a))
			return -1;
		number = (uint32_t)w->backward.count - 1;
	}
	if (kind == RERUN)
		return begin_scope(w, state, TW_PASS_RECOMPUTE, number);
	return number == TW_NONE ? 0 : begin_scope(w, state, TW_PASS_BACKWARD, number);
}

static uint32_t number_of(struct work *w, const struct tw_around *state)
{
	if (w->last_number == TW_NO_GROUP || memcmp(&w->last, state, sizeof(*state))) {
		w->last = *state;
		w->last_number = tw_groups_add(&w->states, state);
	}
	return w->last_number;
}

static int enter_node(void *context, struct tw_around *state, uint32_t node)
{
	struct work *w = context;

	if (tw_node_class(w->d, node) == TRAWL_CLASS_CPU_OP && enter_op(w, state, node))
		return -1;
	w->who->of_node[node] = number_of(w, state);
	return w->states.failed ? -1 : 0;
}

/* ---- paths that begin in the middle */

/*
 * A path that begins within a scope goes on from the one path that its outermost module has in the forward
 * pass, where that is one.
 */
static int complete_paths(struct work *w)
{
	uint32_t count = w->paths.count, path, *only;
	struct tw_groups names; /* of modules in the forward pass -> path, UINT32_MAX: several */

	tw_groups_init_values(&names, sizeof(uint32_t), sizeof(*only), w->a);
	w->complete = tw_alloc_array(w->a, (size_t)count + 1, sizeof(*w->complete));
	if (!w->complete)
		return -1;
	for (path = 1; path < count; path++) {
		const uint32_t *key = tw_groups_key(&w->paths, path);

		if (path_at(w, path)->seen[0] && (only = tw_groups_at(&names, &key[1])))
			*only = *only ? UINT32_MAX : path;
	}
	for (path = 1; path < count; path++) {
		const uint32_t *key = tw_groups_key(&w->paths, path);
		uint32_t parent = key[0];

		w->complete[path] = path;
		if (!path_at(w, path)->seen[1])
			continue;
		only = parent ? NULL : tw_groups_at(&names, &key[1]);
		if (parent)
			w->complete[path] = path_below(w, w->complete[parent], key[1]);
		else if (only && *only && *only != UINT32_MAX)
			w->complete[path] = *only;
	}
	return names.failed || w->paths.failed ? -1 : 0;
}

/* ---- what scopes take from forward operations */

/* The forward operation of a scope: of backward ones around, the innermost that has one. */
static uint32_t forward_of(const struct work *w, uint32_t scope)
{
	const struct scope *s = &w->scopes.at[scope];
	bool rerun = s->pass == TW_PASS_RECOMPUTE;
	unsigned looked;

	for (looked = 0; scope && looked < MOST_AROUND; looked++, scope = s->around) {
		s = &w->scopes.at[scope];
		if (s->backward == TW_NONE)
			continue;
		if (rerun || w->backward.at[s->backward].forward != TW_NONE)
			return w->backward.at[s->backward].forward;
	}
	return TW_NONE;
}

/* Path and site of a state, that of its scope where it has none of its own. */
static struct tw_attribution attribution_of(const struct work *w, const struct tw_around *state)
{
	const struct scope *scope = &w->scopes.at[state->scope];
	struct tw_attribution its = { state->path, state->site, scope->pass };

	if (state->scope)
		its.path = state->path ? w->complete[state->path] : scope->path;
	if (!its.site)
		its.site = scope->site;
	return its;
}

/*
 * A forward operation may lie in a scope itself: what is run again is differentiated then.  Where that goes
 * round in a circle, in damaged traces, it ends without a path.
 */
static void resolve(struct work *w, uint32_t number, unsigned depth)
{
	struct scope *scope = &w->scopes.at[number];
	uint32_t node;

	if (scope->resolved || depth == MOST_AROUND)
		return;
	scope->resolved = true;
	node = forward_of(w, number);
	if (node != TW_NONE) {
		const struct tw_around *state = tw_groups_key(&w->states, w->who->of_node[node]);
		struct tw_attribution its;

		resolve(w, state->scope, depth + 1);
		its = attribution_of(w, state);
		scope->path = its.path;
		scope->site = its.site;
	}
}

/* From here on of_node has attributions. */
static int resolve_all(struct work *w)
{
	struct tw_attributions *who = w->who;
	uint32_t *of_state = tw_alloc_array(w->a, (size_t)w->states.count + 1, sizeof(*of_state));
	uint64_t node;
	uint32_t i;

	if (!of_state)
		return -1;
	for (i = 0; i < w->scopes.count; i++)
		resolve(w, i, 0);
	for (i = 0; i < w->states.count; i++) {
		const struct tw_attribution its = attribution_of(w, tw_groups_key(&w->states, i));

		of_state[i] = tw_groups_add(&who->all, &its);
	}
	for (node = 0; node < w->d->host.count; node++)
		who->of_node[node] = of_state[who->of_node[node]];
	return who->all.failed ? -1 : 0;
}

/* ---- what runs in GPU graphs */

/* Paths of the modules of captures. */
static int find_captured_paths(struct work *w, uint32_t *path)
{
	const struct tw_captures *captures = &w->d->trace->captures;
	size_t i;

	path[0] = 0;
	for (i = 0; i < captures->modules.count; i++) {
		const struct tw_captured_module *module = &captures->modules.at[i];

		path[i + 1] = path_below(w, path[module->parent], module->name);
	}
	return w->paths.failed ? -1 : 0;
}

/* Of a node of a graph: where its call was captured; in no module there, that of the graph launch. */
static struct tw_attribution replayed(const struct work *w, const uint32_t *path, uint64_t g)
{
	const struct tw_graph_node *node = &w->d->graphs.nodes.at[w->d->gpu.graph_node[g]];
	const struct tw_captured_call *call = &w->d->trace->captures.calls.at[node->call];
	struct tw_attribution its = { 0, 0, call->pass };

	if (!(node->differ & TW_DIFFER_MODULE)) {
		its.path = path[call->path];
		its.site = call->site;
	}
	if (!its.path)
		its.path = tw_attribution_of_node(w->who, w->d->gpu.launch[g])->path;
	return its;
}

static int add_replays(struct work *w)
{
	struct tw_attributions *who = w->who;
	size_t count = w->d->trace->captures.modules.count + 1;
	const struct tw_attribution outside = { 0 };
	uint32_t *path, none;
	uint64_t i;

	if (w->d->host.all == w->d->host.count)
		return 0;
	path = tw_alloc(w->a, count * sizeof(*path));
	none = tw_groups_add(&who->all, &outside);
	if (!path || find_captured_paths(w, path))
		return -1;
	for (i = w->d->host.count; i < w->d->host.all; i++)
		who->of_node[i] = none;
	for (i = 0; i < w->d->gpu.count; i++) {
		uint32_t node = tw_gpu_origins(w->d)[i], number;
		struct tw_attribution its;

		if (!tw_is_replayed(w->d, i))
			continue;
		its = replayed(w, path, i);
		who->sites |= its.site != 0;
		number = tw_groups_add(&who->all, &its);
		/* Its operators are where the first of their calls is. */
		for (; node != TW_NONE && who->of_node[node] == none;
		     node = w->d->host.parent[node])
			who->of_node[node] = number;
	}
	return who->all.failed ? -1 : 0;
}

/* ---- modules */

static int list_modules(struct work *w)
{
	struct tw_attributions *who = w->who;
	uint32_t i;

	who->module_count = w->paths.count;
	who->module =
		tw_alloc_array(who->allocator, (size_t)who->module_count + 1, sizeof(*who->module));
	if (!who->module)
		return -1;
	for (i = 1; i < who->module_count; i++) {
		const uint32_t *key = tw_groups_key(&w->paths, i);

		who->module[i].parent = key[0];
		who->module[i].name = key[1];
		who->module[i].depth = who->module[key[0]].depth + 1;
	}
	for (i = 1; i < who->module_count; i++) {
		const struct path *path = path_at(w, i);
		struct tw_module *forward = &who->module[i], *within;

		forward->calls += path->calls[0];
		forward->host_ns += path->host_ns[0];
		if (!path->seen[1])
			continue;
		within = &who->module[w->complete[i]];
		within->calls += path->calls[1];
		within->recomputed += path->recomputed;
		within->host_ns += path->host_ns[1];
	}
	return 0;
}

static void add_event(struct tw_module_work *work, const struct tw_derived *d, uint64_t g,
		      uint32_t pass)
{
	int64_t ns = d->gpu.end_ns[g] - d->gpu.start_ns[g];

	work->ns[pass] += ns;
	work->communication_ns += d->gpu.bucket[g] == TW_COMMUNICATION ? ns : 0;
	work->events++;
}

static void add_work(struct tw_module_work *to, const struct tw_module_work *work)
{
	unsigned pass;

	for (pass = 0; pass < TW_PASS_COUNT; pass++)
		to->ns[pass] += work->ns[pass];
	to->communication_ns += work->communication_ns;
	to->events += work->events;
}

static void sum_work(struct tw_attributions *who)
{
	const struct tw_derived *d = who->derived;
	uint64_t g;
	uint32_t i;

	for (g = 0; g < d->gpu.count; g++) {
		const struct tw_attribution *its = tw_attribution_of_gpu(who, g);

		if (its)
			add_event(&who->module[its->path].self, d, g, its->pass);
		else
			add_event(&who->unlinked, d, g, TW_PASS_FORWARD);
	}
	who->gpu_ns = tw_module_ns(&who->unlinked);
	for (i = who->module_count; i-- > 0;) {
		struct tw_module *module = &who->module[i];

		who->gpu_ns += tw_module_ns(&module->self);
		add_work(&module->total, &module->self);
		if (module->parent)
			add_work(&who->module[module->parent].total, &module->total);
		who->modules |= module->calls > 0 || (i && module->total.events);
	}
}

/* ---- all of it */

static int build(struct work *w)
{
	const struct scope outside = { .resolved = true, .backward = TW_NONE };
	const uint32_t no_path[2] = { 0, 0 };
	const struct tw_sweep sweep = { w->d, w->a, w, enter_frame, enter_node };

	tw_groups_init_values(&w->paths, sizeof(no_path), sizeof(struct path), w->a);
	tw_groups_init(&w->states, sizeof(struct tw_around), w->a);
	w->frame_kind = tw_alloc_array(w->a, w->d->trace->texts.count, 1);
	w->op_kind = tw_alloc_array(w->a, w->d->trace->texts.count, 1);
	if (!w->frame_kind || !w->op_kind || tw_groups_add(&w->paths, no_path) == TW_NO_GROUP ||
	    !TW_LIST_ADD(&w->scopes, &outside, w->a) || tw_sweep_run(&sweep) || complete_paths(w) ||
	    tw_find_forward(w->d, w->backward.at, (uint32_t)w->backward.count, w->a))
		return -1;
	return resolve_all(w) || add_replays(w) || list_modules(w) ? -1 : 0;
}

int tw_attributions_build(struct tw_attributions *who, const struct tw_derived *d,
			  const struct trawl_allocator *allocator)
{
	struct work w = { .who = who, .d = d, .last_number = TW_NO_GROUP };
	struct tw_scope scope;
	int status;

	*who = (struct tw_attributions){ .derived = d, .allocator = allocator };
	tw_groups_init(&who->all, sizeof(struct tw_attribution), allocator);
	who->of_node = tw_alloc(allocator, (d->host.all + 1) * sizeof(*who->of_node));
	if (!who->of_node)
		return -1;
	tw_scope_begin(&scope, allocator);
	w.a = &scope.allocator;
	status = build(&w);
	tw_scope_end(&scope);
	if (!status)
		sum_work(who);
	return status;
}
