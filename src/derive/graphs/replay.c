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

int tw_replay_init(struct work *w, uint32_t most)
{
	const struct tw_captures *captures = &w->d->trace->captures;
	size_t room = (size_t)most + 1, i;
	struct tw_keys map;

	w->most = most;
	w->map = TW_NOT_MATCHED;
	for (i = captures->list.count; i-- > 0;)
		if (captures->list.at[i].kind == TW_CAPTURE_EAGER)
			w->map = (uint32_t)i;
	w->sources = tw_alloc(w->a, room * sizeof(*w->sources));
	w->placed = tw_alloc(w->a, room * sizeof(*w->placed));
	w->stamp = tw_alloc_array(w->a, captures->nodes.count + 1, sizeof(*w->stamp));
	w->position = tw_alloc(w->a, (captures->nodes.count + 1) * sizeof(*w->position));
	w->used = tw_alloc(w->a, (captures->nodes.count + 1) * sizeof(*w->used));
	w->d->gpu.graph_node =
		tw_alloc(w->d->allocator, (w->d->gpu.allocated + 1) * sizeof(uint32_t));
	if (!w->sources || !w->placed || !w->stamp || !w->position || !w->used ||
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

/* The node's operator by its name, else by its place; of a place its inputs and module too. */
static void take_from_map(const struct work *w, uint32_t key, uint32_t placed,
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
	source->differ = placed != TW_NOT_MATCHED ? 0 : TW_DIFFER_DIMS | TW_DIFFER_MODULE;
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
	for (; i < nodes->count; i++)
		if (!w->sources[i].source)
			take_from_map(w, nodes->keys[i], w->placed[i], &w->sources[i]);
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

/* Nodes of a graph: calls of its capture, else those of its first launch. */
static int add_nodes(struct work *w, struct tw_graph *graph, const struct tw_nodes *nodes)
{
	uint32_t i, number = (uint32_t)(graph - w->graphs->list.at);

	graph->base = (uint32_t)w->graphs->nodes.count;
	graph->numbers = graph->choice.taken ? graph->choice.matched + graph->choice.left :
					       nodes->count;
	for (i = 0; i < graph->numbers; i++)
		if (add_node(w, &(struct tw_graph_node){ number, i, TW_NOT_MATCHED, 0, 0 }))
			return -1;
	return 0;
}

/* Sets the node of each GPU event of a launch; `of[i]` is its number, TW_NOT_MATCHED: a new one. */
static int set_nodes(struct work *w, struct tw_graph *graph, const struct tw_graph_launch *launch,
		     const uint32_t *of)
{
	const uint32_t *events = w->events + launch->first;
	uint32_t i, number = (uint32_t)(graph - w->graphs->list.at);

	for (i = 0; i < launch->count; i++) {
		const struct node_source *source = &w->sources[i];
		struct tw_graph_node *node;
		uint32_t at = graph->base + of[i];

		if (of[i] == TW_NOT_MATCHED) {
			at = (uint32_t)w->graphs->nodes.count;
			if (add_node(w, &(struct tw_graph_node){ number, graph->numbers++,
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

static int add_launch(struct work *w, struct tw_graph *graph, struct tw_graph_launch *launch,
		      const struct tw_choice *choice, const struct tw_nodes *nodes,
		      const uint32_t *of)
{
	launch->node = next_host_node(w);
	if (find_sources(w, choice, nodes) || set_nodes(w, graph, launch, of))
		return -1;
	return add_host_nodes(w, launch);
}

int tw_replay_first(struct work *w, struct tw_graph *graph, const struct tw_nodes *nodes)
{
	struct tw_graph_launch *launch = &w->graphs->launches.at[graph->launch];
	uint32_t *of = w->call_of, i;

	if (!has_room(w, (uint64_t)nodes->count * (TW_CAPTURED_DEPTH + 2)) ||
	    add_nodes(w, graph, nodes))
		return -1;
	for (i = 0; i < nodes->count && !graph->choice.taken; i++)
		of[i] = i;
	graph->lost = graph->choice.taken ? graph->choice.left : 0;
	if (add_launch(w, graph, launch, &graph->choice, nodes, of))
		return -1;
	graph->node_count = next_host_node(w) - launch->node;
	return 0;
}

/* Whether a launch has the nodes of the first one of its graph, in the same order. */
static bool is_like_first(struct work *w, const struct tw_graph *graph,
			  const struct tw_nodes *nodes)
{
	const struct tw_graph_launch *first = &w->graphs->launches.at[graph->launch];
	uint32_t i;

	if (first->count != nodes->count)
		return false;
	for (i = 0; i < nodes->count; i++)
		if (nodes->keys[i] != tw_replay_key(w, w->events[first->first + i]))
			return false;
	return true;
}

/* Copies what the first launch has. */
static int copy_first(struct work *w, const struct tw_graph *graph, struct tw_graph_launch *launch)
{
	const struct tw_graph_launch *first = &w->graphs->launches.at[graph->launch];
	const uint32_t *from = w->events + first->first;
	const uint32_t *to = w->events + launch->first;
	uint32_t *node = w->d->gpu.graph_node, *origin = w->d->gpu.origin, i, shift;
	uint64_t at = first->node - w->d->host.count;

	launch->node = next_host_node(w);
	shift = launch->node - first->node;
	if (!has_room(w, graph->node_count))
		return -1;
	for (i = 0; i < graph->node_count; i++) {
		uint32_t parent = w->graphs->parent.at[at + i];

		if (add_host_node(w, w->graphs->event.at[at + i],
				  parent == TW_NONE ? TW_NONE : parent + shift))
			return -1;
	}
	for (i = 0; i < launch->count; i++) {
		node[to[i]] = node[from[i]];
		if (origin && origin[from[i]] >= first->node)
			origin[to[i]] = origin[from[i]] + shift;
	}
	return 0;
}

/* A launch of a graph without a capture: which nodes of the first one its nodes are. */
static int match_first(struct work *w, const struct tw_graph *graph, const struct tw_nodes *nodes)
{
	const struct tw_graph_launch *first = &w->graphs->launches.at[graph->launch];
	size_t bytes = ((size_t)first->count + 1) * sizeof(uint32_t);
	uint32_t *keys = tw_alloc(w->a, bytes), i, matched;
	struct tw_keys of_first = { keys, first->count }, own = { nodes->keys, nodes->count };
	enum tw_match_mode mode;
	int status;

	if (!keys)
		return -1;
	for (i = 0; i < first->count; i++)
		keys[i] = tw_replay_key(w, w->events[first->first + i]);
	status = tw_match(own, of_first, nodes->several_streams, &w->chooser.steps, &mode,
			  w->call_of, &matched, w->a);
	tw_free(w->a, keys, bytes);
	return status;
}

int tw_replay_again(struct work *w, struct tw_graph *graph, struct tw_graph_launch *launch,
		    const struct tw_nodes *nodes)
{
	struct tw_choice choice = { .capture = TW_NOT_MATCHED };

	if (is_like_first(w, graph, nodes)) {
		graph->lost += graph->choice.taken ? graph->choice.left : 0;
		return copy_first(w, graph, launch);
	}
	if (!has_room(w, (uint64_t)nodes->count * (TW_CAPTURED_DEPTH + 2)))
		return -1;
	if (!graph->choice.taken)
		return match_first(w, graph, nodes) ||
				       add_launch(w, graph, launch, &choice, nodes, w->call_of) ?
			       -1 :
			       0;
	if (tw_choose_one(&w->chooser, nodes, graph->choice.capture, &choice, w->call_of))
		return -1;
	choice.by_place = graph->choice.by_place;
	if (choice.taken) {
		graph->lost += choice.left;
	} else {
		graph->refused++;
		memset(w->call_of, 0xff, nodes->count * sizeof(*w->call_of));
	}
	return add_launch(w, graph, launch, &choice, nodes, w->call_of);
}
