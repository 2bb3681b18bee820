#include "derive/graphs/replay.h"

#include "base/alloc.h"
#include "base/sort.h"

#include <string.h>

/* What is known of a node of a launch. */
struct node_source {
	uint32_t call;	/* of the captured calls, TW_NOT_MATCHED: none */
	uint8_t source; /* enum tw_graph_source */
	uint8_t differ; /* TW_DIFFER_* */
};

/* Of a launch, by node that the eager run has: which it is, its call in a fit and in another one. */
struct fits {
	uint32_t *keys, *node, *call_of, *other;
	uint8_t *differ; /* by node of the launch: TW_DIFFER_*, of all fits that are as good */
};

static struct fits *make_fits(const struct trawl_allocator *a, size_t room)
{
	struct fits *f = tw_alloc_array(a, 1, sizeof(*f));

	if (!f)
		return NULL;
	f->keys = tw_alloc(a, room * sizeof(*f->keys));
	f->node = tw_alloc(a, room * sizeof(*f->node));
	f->call_of = tw_alloc(a, room * sizeof(*f->call_of));
	f->other = tw_alloc(a, room * sizeof(*f->other));
	f->differ = tw_alloc(a, room);
	return f->keys && f->node && f->call_of && f->other && f->differ ? f : NULL;
}

int tw_replay_init(struct work *w, uint32_t most)
{
	const struct tw_captures *captures = &w->d->trace->captures;
	size_t room = (size_t)most + 1, i;
	struct tw_keys map;

	w->map = TW_NOT_MATCHED;
	for (i = captures->list.count; i-- > 0;)
		if (captures->list.at[i].kind == TW_CAPTURE_EAGER)
			w->map = (uint32_t)i;
	w->sources = tw_alloc(w->a, room * sizeof(*w->sources));
	w->placed = tw_alloc(w->a, room * sizeof(*w->placed));
	w->stamp = tw_alloc_array(w->a, captures->nodes.count + 1, sizeof(*w->stamp));
	w->position = tw_alloc(w->a, (captures->nodes.count + 1) * sizeof(*w->position));
	w->used = tw_alloc(w->a, (captures->nodes.count + 1) * sizeof(*w->used));
	w->of_stream = tw_alloc(w->a, ((size_t)w->d->gpu.queue_count + 1) * sizeof(*w->of_stream));
	w->d->gpu.graph_node =
		tw_alloc(w->d->allocator, (w->d->gpu.allocated + 1) * sizeof(uint32_t));
	if (!w->sources || !w->placed || !w->stamp || !w->position || !w->used || !w->of_stream ||
	    !w->d->gpu.graph_node)
		return -1;
	for (i = 0; i < w->d->gpu.count; i++)
		w->d->gpu.graph_node[i] = TW_NONE;
	if (!captures->list.count)
		return 0;
	w->d->gpu.origin = tw_alloc(w->d->allocator, (w->d->gpu.allocated + 1) * sizeof(uint32_t));
	if (!w->d->gpu.origin)
		return -1;
	memcpy(w->d->gpu.origin, w->d->gpu.launch, w->d->gpu.count * sizeof(uint32_t));
	if (w->map == TW_NOT_MATCHED)
		return 0;
	w->fits = make_fits(w->a, room);
	if (!w->fits)
		return -1;
	map = tw_keys_of(&w->chooser, w->map);
	w->ops_differ = tw_alloc_array(w->a, (size_t)map.count + 1, sizeof(*w->ops_differ));
	if (!w->ops_differ)
		return -1;
	for (i = 0; i < map.count; i++) {
		const struct tw_captured_call *calls =
			captures->calls.at + captures->list.at[w->map].first_call;
		uint32_t found = tw_ids_get(&w->ops, map.at[i]);

		if (found == TW_IDS_NONE &&
		    !tw_ids_put(&w->ops, map.at[i], (uint32_t)i, w->d->allocator))
			return -1;
		if (found != TW_IDS_NONE)
			w->ops_differ[found] |= calls[found].op != calls[i].op;
	}
	return 0;
}

/* ---- sources of the nodes of a launch */

static void take_calls(struct work *w, const struct tw_choice *choice, uint32_t count)
{
	const struct tw_capture *capture = &w->chooser.captures->list.at[choice->capture];
	uint32_t i;

	for (i = 0; i < count; i++) {
		uint32_t call;

		if (w->call_of[i] == TW_NOT_MATCHED)
			continue;
		call = capture->first_call + w->call_of[i];
		w->sources[i] = (struct node_source){
			.call = call,
			.source = capture->kind == TW_CAPTURE_NAMED ? TW_GRAPH_CAPTURE :
								      TW_GRAPH_COUNT,
			.differ = choice->by_place ? 0 : w->chooser.differ[call],
		};
	}
}

/* What a node's calls by f->call_of and by `of` do not agree on. */
static void add_differences(const struct work *w, uint32_t count, const uint32_t *of)
{
	const struct tw_captured_call *calls =
		w->chooser.captures->calls.at + w->chooser.captures->list.at[w->map].first_call;
	const struct fits *f = w->fits;
	uint32_t i;

	for (i = 0; i < count; i++)
		f->differ[f->node[i]] |=
			tw_calls_differ(&calls[w->placed[f->node[i]]], &calls[of[i]]);
}

static void take_fit(const struct work *w, uint32_t count)
{
	const struct fits *f = w->fits;
	uint32_t i;

	for (i = 0; i < count; i++) {
		w->placed[f->node[i]] = f->call_of[i];
		f->differ[f->node[i]] = 0;
	}
}

/*
 * Of the places in the eager run where all nodes follow that have one, the first whose extent is nearest
 * to theirs in the launch; what others as near do not agree on.  Without steps none is sure.
 */
static void find_fit(struct work *w, uint32_t nodes, const uint32_t *keys)
{
	struct tw_keys calls = tw_keys_of(&w->chooser, w->map);
	struct fits *f = w->fits;
	uint32_t i, n = 0, from, best = UINT32_MAX;

	for (i = 0; i < nodes; i++)
		if (w->placed[i] != TW_NOT_MATCHED) {
			f->keys[n] = keys[i];
			f->node[n++] = i;
		}
	for (from = 0; tw_match_next((struct tw_keys){ f->keys, n }, calls, from, f->call_of);
	     from = f->call_of[0] + 1) {
		uint64_t steps = 4 * ((uint64_t)n + f->call_of[n - 1] - from);
		uint32_t extent = f->call_of[n - 1] - f->call_of[0];
		uint32_t of_launch = f->node[n - 1] - f->node[0];
		uint32_t off = extent > of_launch ? extent - of_launch : of_launch - extent;

		if (off < best) {
			best = off;
			take_fit(w, n);
			/* The same place with the earliest calls. */
			calls.count = f->call_of[n - 1] + 1;
			tw_match_in_order((struct tw_keys){ f->keys, n }, calls, f->call_of[0],
					  f->other);
			calls = tw_keys_of(&w->chooser, w->map);
			add_differences(w, n, f->other);
		} else if (off == best) {
			add_differences(w, n, f->call_of);
		}
		if (steps > w->chooser.steps) {
			memset(f->differ, 0xff, nodes);
			return;
		}
		w->chooser.steps -= steps;
	}
}

/* The node's operator by its name, else by its place; of a place its inputs and module too. */
static void take_from_map(const struct work *w, uint32_t key, uint32_t placed, uint8_t differ,
			  struct node_source *source)
{
	uint32_t first = w->chooser.captures->list.at[w->map].first_call;
	uint32_t by_name = tw_ids_get(&w->ops, key);

	if (by_name == TW_IDS_NONE || w->ops_differ[by_name])
		by_name = TW_NOT_MATCHED;
	if (by_name == TW_NOT_MATCHED && placed == TW_NOT_MATCHED)
		return;
	source->source = by_name != TW_NOT_MATCHED ? TW_GRAPH_MAP_NAME : TW_GRAPH_MAP_PLACE;
	source->call = first + (placed != TW_NOT_MATCHED ? placed : by_name);
	source->differ = placed != TW_NOT_MATCHED ? differ : TW_DIFFER_DIMS | TW_DIFFER_MODULE;
	if (by_name != TW_NOT_MATCHED)
		source->differ &= (uint8_t)~TW_DIFFER_OP;
}

/* Of nodes that no capture has a call of. */
static int ask_map(struct work *w, const struct tw_nodes *nodes)
{
	struct tw_keys keys = { nodes->keys, nodes->count };
	enum tw_match_mode mode;
	uint32_t i, matched;

	for (i = 0; i < nodes->count && w->sources[i].source; i++)
		;
	if (w->map == TW_NOT_MATCHED || i == nodes->count)
		return 0;
	if (tw_match(keys, tw_keys_of(&w->chooser, w->map), nodes->several_streams,
		     &w->chooser.steps, &mode, w->placed, &matched, w->a))
		return -1;
	memset(w->fits->differ, 0, nodes->count);
	if (mode != TW_MATCH_BY_NAME)
		find_fit(w, nodes->count, nodes->keys);
	for (; i < nodes->count; i++)
		if (!w->sources[i].source)
			take_from_map(w, nodes->keys[i], w->placed[i], w->fits->differ[i],
				      &w->sources[i]);
	return 0;
}

static int find_sources(struct work *w, const struct tw_choice *choice,
			const struct tw_nodes *nodes)
{
	uint32_t i;

	for (i = 0; i < nodes->count; i++)
		w->sources[i] = (struct node_source){ .call = TW_NOT_MATCHED };
	if (choice->taken)
		take_calls(w, choice, nodes->count);
	return ask_map(w, nodes);
}

/* ---- numbers of nodes */

static int add_node(struct work *w, const struct tw_graph_node *node)
{
	return TW_LIST_ADD(&w->graphs->nodes, node, w->d->allocator) ? 0 : -1;
}

/* Sets the node of each GPU event of a launch; of[i] is it, TW_NOT_MATCHED: a new one. */
static int set_nodes(struct work *w, struct tw_graph *graph, const struct tw_graph_launch *launch,
		     const uint32_t *of)
{
	const uint32_t *events = w->events + launch->first;
	uint32_t i;

	for (i = 0; i < launch->count; i++) {
		const struct node_source *source = &w->sources[i];
		struct tw_graph_node *node;
		uint32_t at = of[i];

		if (at == TW_NOT_MATCHED) {
			at = (uint32_t)w->graphs->nodes.count;
			if (add_node(w, &(struct tw_graph_node){ launch->graph, graph->others++,
								 TW_NOT_MATCHED, 0, 0 }))
				return -1;
		}
		node = &w->graphs->nodes.at[at];
		if (!node->source) {
			node->call = source->call;
			node->source = source->source;
			node->differ = source->differ;
		}
		w->d->gpu.graph_node[events[i]] = at;
	}
	return 0;
}

/* ---- host nodes */

static bool is_used(const struct work *w, const struct node_source *source)
{
	return source->source && !(source->differ & TW_DIFFER_OP) &&
	       (source->source != TW_GRAPH_COUNT || w->accept_count);
}

static void use_node(struct work *w, uint32_t node)
{
	for (; node != UINT32_MAX && w->stamp[node] != w->stamps;
	     node = w->chooser.captures->nodes.at[node].parent) {
		w->stamp[node] = w->stamps;
		w->used[w->used_count++] = node;
	}
}

static uint64_t own_key(const void *context, uint32_t number)
{
	(void)context;
	return number;
}

static int add_host_node(struct work *w, uint32_t event, uint32_t parent)
{
	return TW_LIST_ADD(&w->graphs->event, &event, w->d->allocator) &&
			       TW_LIST_ADD(&w->graphs->parent, &parent, w->d->allocator) ?
		       0 :
		       -1;
}

static uint32_t next_host_node(const struct work *w)
{
	return (uint32_t)(w->d->host.count + w->graphs->event.count);
}

/* The call's operator and the call, without arguments and what is above them. */
static int add_bare(struct work *w, const struct tw_captured_call *call, uint32_t *origin)
{
	const struct tw_captured_node *nodes = w->chooser.captures->nodes.at;
	uint32_t parent = TW_NONE;

	if (call->op_node != call->node) {
		parent = next_host_node(w);
		if (add_host_node(w, nodes[call->op_node].bare, TW_NONE))
			return -1;
	}
	*origin = next_host_node(w);
	return add_host_node(w, nodes[call->node].bare, parent);
}

/* The operators and calls that a launch used, in order, each with its parent. */
static int add_used(struct work *w, uint32_t count)
{
	const struct tw_captures *captures = w->chooser.captures;
	size_t i;

	w->stamps++;
	w->used_count = 0;
	for (i = 0; i < count; i++)
		if (is_used(w, &w->sources[i]) && !(w->sources[i].differ & TW_DIFFER_DIMS))
			use_node(w, captures->calls.at[w->sources[i].call].node);
	if (tw_sort(w->used, w->used_count, own_key, NULL, w->a))
		return -1;
	for (i = 0; i < w->used_count; i++) {
		const struct tw_captured_node *node = &captures->nodes.at[w->used[i]];

		w->position[w->used[i]] = next_host_node(w);
		if (add_host_node(w, node->event,
				  node->parent == UINT32_MAX ? TW_NONE : w->position[node->parent]))
			return -1;
	}
	return 0;
}

/* Host nodes for a launch, and the origins of its GPU events. */
static int add_host_nodes(struct work *w, const struct tw_graph_launch *launch)
{
	const uint32_t *events = w->events + launch->first;
	const struct tw_captured_call *calls = w->chooser.captures->calls.at;
	uint32_t *origin = w->d->gpu.origin, i;

	if (!origin)
		return 0;
	if (add_used(w, launch->count))
		return -1;
	for (i = 0; i < launch->count; i++) {
		const struct node_source *source = &w->sources[i];

		if (!is_used(w, source))
			continue;
		if (!(source->differ & TW_DIFFER_DIMS))
			origin[events[i]] = w->position[calls[source->call].node];
		else if (add_bare(w, &calls[source->call], &origin[events[i]]))
			return -1;
	}
	return 0;
}

/* ---- launches */

static bool has_room(const struct work *w, uint64_t more)
{
	return w->d->host.count + w->graphs->event.count + more < TW_NONE &&
	       w->graphs->nodes.count + more < TW_NONE;
}

/* call_of has calls where the choice is taken, else nodes. */
static int add_launch(struct work *w, struct tw_graph *graph, struct tw_graph_launch *launch,
		      const struct tw_choice *choice, const struct tw_nodes *nodes)
{
	uint32_t i;

	if (!has_room(w, (uint64_t)nodes->count * (TW_CAPTURED_DEPTH + 2)) ||
	    find_sources(w, choice, nodes))
		return -1;
	if (choice->taken) {
		launch->left = choice->left;
		graph->lost += choice->left;
		for (i = 0; i < nodes->count; i++)
			if (w->call_of[i] != TW_NOT_MATCHED)
				w->call_of[i] += graph->base;
	}
	return set_nodes(w, graph, launch, w->call_of) || add_host_nodes(w, launch) ? -1 : 0;
}

int tw_replay_first(struct work *w, struct tw_graph *graph, const struct tw_nodes *nodes)
{
	struct tw_graph_launch *launch = &w->graphs->launches.at[graph->launch];
	uint32_t i;

	graph->base = (uint32_t)w->graphs->nodes.count;
	graph->calls = graph->choice.matched + graph->choice.left;
	if (!has_room(w, graph->calls))
		return -1;
	for (i = 0; i < graph->calls; i++)
		if (add_node(w, &(struct tw_graph_node){ launch->graph, i, TW_NOT_MATCHED, 0, 0 }))
			return -1;
	return add_launch(w, graph, launch, &graph->choice, nodes);
}

/* Copies what an earlier launch with the same nodes in the same order has. */
static int copy_launch(struct work *w, const struct tw_graph_launch *from,
		       struct tw_graph_launch *to)
{
	const uint32_t *of = w->events + from->first, *events = w->events + to->first;
	uint32_t *node = w->d->gpu.graph_node, *origin = w->d->gpu.origin, i;
	uint32_t count = from[1].node - from->node, shift = to->node - from->node;
	uint64_t at = from->node - w->d->host.count;

	if (!has_room(w, count))
		return -1;
	for (i = 0; i < count; i++) {
		uint32_t parent = w->graphs->parent.at[at + i];

		if (add_host_node(w, w->graphs->event.at[at + i],
				  parent == TW_NONE ? TW_NONE : parent + shift))
			return -1;
	}
	for (i = 0; i < to->count; i++) {
		node[events[i]] = node[of[i]];
		if (origin && origin[of[i]] >= from->node)
			origin[events[i]] = origin[of[i]] + shift;
	}
	return 0;
}

/* The nodes of a launch with the streams and kernels of another: the k-th of a stream is the k-th. */
static void match_streams(struct work *w, const struct tw_graph_launch *other,
			  const struct tw_graph_launch *launch)
{
	const uint32_t *from = w->events + other->first, *to = w->events + launch->first;
	const uint32_t *queue = w->d->gpu.queue;
	uint32_t i, *next = w->placed;

	for (i = 0; i < launch->count; i++)
		w->of_stream[queue[to[i]]] = TW_NOT_MATCHED;
	for (i = other->count; i-- > 0;) {
		next[i] = w->of_stream[queue[from[i]]];
		w->of_stream[queue[from[i]]] = i;
	}
	for (i = 0; i < launch->count; i++) {
		uint32_t *first = &w->of_stream[queue[to[i]]];

		w->call_of[i] = *first;
		if (*first != TW_NOT_MATCHED)
			*first = next[*first];
	}
}

/* Which nodes of launches without a capture those of such a launch are, TW_NOT_MATCHED: new ones. */
static int match_unmatched(struct work *w, struct tw_graph *graph, uint32_t number,
			   const struct tw_nodes *nodes)
{
	const struct tw_graph_launch *launches = w->graphs->launches.at;
	const struct tw_graph_launch *launch = &launches[number];
	const struct tw_graph_launch *other = &launches[launch->like];
	struct tw_keys own = { nodes->keys, nodes->count }, keys;
	enum tw_match_mode mode;
	uint32_t i, matched;

	if (graph->unmatched == TW_NOT_MATCHED) {
		graph->unmatched = number;
		memset(w->call_of, 0xff, nodes->count * sizeof(*w->call_of));
		return 0;
	}
	if (other != launch && other->left == TW_NOT_MATCHED) {
		match_streams(w, other, launch);
	} else {
		other = &launches[graph->unmatched];
		keys = (struct tw_keys){ w->keys + other->first, other->count };
		if (tw_match(own, keys, nodes->several_streams, &w->chooser.steps, &mode,
			     w->call_of, &matched, w->a))
			return -1;
	}
	for (i = 0; i < nodes->count; i++)
		if (w->call_of[i] != TW_NOT_MATCHED)
			w->call_of[i] =
				w->d->gpu.graph_node[w->events[other->first + w->call_of[i]]];
	return 0;
}

/* Whether a launch has the nodes of an earlier one in the same order: calls do not ask for streams. */
static bool is_same(const struct work *w, const struct tw_graph_launch *earlier,
		    const struct tw_graph_launch *launch)
{
	const uint32_t *a = w->events + earlier->first, *b = w->events + launch->first;
	const uint32_t *queue = w->d->gpu.queue;
	uint32_t i, n = launch->count;

	if (earlier == launch || earlier->count != n ||
	    memcmp(w->keys + earlier->first, w->keys + launch->first, n * sizeof(*w->keys)))
		return false;
	for (i = 0; earlier->left == TW_NOT_MATCHED && i < n; i++)
		if (queue[a[i]] != queue[b[i]])
			return false;
	return true;
}

int tw_replay_other(struct work *w, struct tw_graph *graph, uint32_t number,
		    const struct tw_nodes *nodes)
{
	struct tw_graph_launch *launch = &w->graphs->launches.at[number];
	const struct tw_graph_launch *like = &w->graphs->launches.at[launch->like];
	struct tw_choice choice = { .capture = TW_NOT_MATCHED };

	if (is_same(w, like, launch)) {
		launch->left = like->left;
		graph->lost += like->left != TW_NOT_MATCHED ? like->left : 0;
		graph->refused += graph->choice.taken && like->left == TW_NOT_MATCHED;
		return copy_launch(w, like, launch);
	}
	if (graph->choice.taken &&
	    tw_choose_one(&w->chooser, nodes, graph->choice.capture, &choice, w->call_of))
		return -1;
	graph->refused += graph->choice.taken && !choice.taken;
	if (!choice.taken && match_unmatched(w, graph, number, nodes))
		return -1;
	return add_launch(w, graph, launch, &choice, nodes);
}
