#include "derive/graphs/graphs.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/sort.h"
#include "derive/derived.h"
#include "derive/graphs/replay.h"

#include <string.h>

uint32_t tw_graph_key_of(const struct tw_pool *texts, uint32_t name)
{
	const struct tw_kernel_name *known =
		tw_kernel_name(texts->entries[name].ptr, texts->entries[name].len);

	return !known			      ? name :
	       known->class == TW_KERNEL_COPY ? TW_CALL_COPY :
	       known->class == TW_KERNEL_FILL ? TW_CALL_FILL :
						name;
}

/* ---- launches and their GPU events */

static uint64_t call_key(const void *context, uint32_t call)
{
	const struct tw_derived *d = context;

	return tw_events_start_key(&d->trace->events, d->host.event[call]);
}

static bool is_graph_launch(const struct tw_derived *d, uint32_t node)
{
	return d->host.name[d->trace->events.name[d->host.event[node]]] & TW_NAMES_GRAPH &&
	       !tw_is_inner_call(d, node);
}

/* In order of time; of_node, by host node: 1 + launch. */
static int list_launches(struct work *w, uint32_t *of_node)
{
	struct tw_derived *d = w->d;
	uint32_t *calls = tw_alloc(w->a, (d->host.call_count + 1) * sizeof(*calls));
	uint64_t i, n = 0;

	if (!calls)
		return -1;
	for (i = 0; i < d->host.call_count; i++)
		if (is_graph_launch(d, d->host.call[i]))
			calls[n++] = d->host.call[i];
	if (tw_sort(calls, n, call_key, d, w->a))
		return -1;
	for (i = 0; i < n; i++) {
		const struct tw_graph_launch launch = { .call = calls[i], .graph = TW_NOT_MATCHED };

		if (!TW_LIST_ADD(&w->graphs->launches, &launch, d->allocator))
			return -1;
		of_node[calls[i]] = (uint32_t)i + 1;
	}
	return 0;
}

/* GPU events by launch; they come in order of start. */
static int list_events(struct work *w, const uint32_t *of_node)
{
	struct tw_derived *d = w->d;
	struct tw_graph_launch *launches = w->graphs->launches.at;
	uint64_t g, sum = 0, i;

	for (g = 0; g < d->gpu.count; g++)
		if (d->gpu.launch[g] != TW_NONE && of_node[d->gpu.launch[g]])
			launches[of_node[d->gpu.launch[g]] - 1].count++;
	for (i = 0; i < w->graphs->launches.count; i++) {
		launches[i].first = (uint32_t)sum;
		sum += launches[i].count;
		launches[i].count = 0;
	}
	w->events = tw_alloc(w->a, (sum + 1) * sizeof(*w->events));
	if (!w->events)
		return -1;
	for (g = 0; g < d->gpu.count; g++) {
		struct tw_graph_launch *launch;

		if (d->gpu.launch[g] == TW_NONE || !of_node[d->gpu.launch[g]])
			continue;
		launch = &launches[of_node[d->gpu.launch[g]] - 1];
		w->events[launch->first + launch->count++] = (uint32_t)g;
	}
	return 0;
}

/* ---- nodes of a launch, as they are compared */

static uint32_t key_of(struct work *w, uint32_t g)
{
	const struct tw_derived *d = w->d;
	uint32_t event = d->gpu.event[g], name = d->trace->events.name[event];
	enum trawl_class class = tw_class(d->trace, event);

	if (class != TRAWL_CLASS_KERNEL)
		return class == TRAWL_CLASS_MEMCPY ? TW_CALL_COPY : TW_CALL_FILL;
	if (!w->key_of_name[name])
		w->key_of_name[name] = tw_graph_key_of(&d->trace->texts, name);
	return w->key_of_name[name];
}

static struct tw_nodes nodes_of(struct work *w, const struct tw_graph_launch *launch)
{
	const uint32_t *events = w->events + launch->first, *queue = w->d->gpu.queue;
	struct tw_nodes nodes = { w->keys + launch->first, w->counted, launch->count, false };
	uint32_t i;

	for (i = 0; i < launch->count; i++) {
		w->counted[i] = nodes.keys[i] < TW_CALL_FILL ? TW_CALL_ANY : nodes.keys[i];
		nodes.several_streams |= queue[events[i]] != queue[events[0]];
	}
	return nodes;
}

/* ---- which launches are of one graph */

/* The graph id of a GPU event, TW_CODE_NONE: none. */
static uint64_t id_of(const struct work *w, uint32_t g)
{
	struct trawl_argument arg;

	if (!trawl_event_argument(w->d->trace, w->d->gpu.event[g], TW_KEY_graph_id, &arg) ||
	    (arg.kind == TRAWL_VALUE_INTEGER && !arg.integer))
		return 0;
	return arg.kind == TRAWL_VALUE_INTEGER ? (uint64_t)arg.integer :
	       arg.kind == TRAWL_VALUE_TEXT    ? (uint64_t)1 << 63 | arg.text :
						 0;
}

/* Of the streams with their kernels in order: how those of several streams mix does not count. */
static uint64_t signature_of(struct work *w, const struct tw_graph_launch *launch)
{
	const uint32_t *events = w->events + launch->first, *queue = w->d->gpu.queue;
	const uint32_t *keys = w->keys + launch->first;
	uint64_t hash = launch->count;
	uint32_t i;

	for (i = 0; i < launch->count; i++)
		w->queue_hash[queue[events[i]]] = queue[events[i]];
	for (i = 0; i < launch->count; i++) {
		uint64_t *of = &w->queue_hash[queue[events[i]]];

		hash -= *of;
		*of = tw_hash_mix(*of ^ tw_hash_secret[0] ^ (uint64_t)keys[i] << 32,
				  tw_hash_secret[1]);
		hash += *of;
	}
	return hash;
}

/* All launches have the id in their first and last events, or none counts. */
static uint64_t launch_id(const struct work *w, const struct tw_graph_launch *launch)
{
	const uint32_t *events = w->events + launch->first;
	uint64_t id = id_of(w, events[0]);

	return id && id == id_of(w, events[launch->count - 1]) ? id : 0;
}

/* Whether no launch has an id, and the k-th matches the k-th capture, for all of them. */
static int find_pieces(struct work *w)
{
	const struct tw_graphs *graphs = w->graphs;
	uint32_t i;

	w->pieces = w->chooser.count == graphs->launches.count && w->chooser.count > 1;
	for (i = 0; i < graphs->launches.count && w->pieces; i++) {
		const struct tw_graph_launch *launch = &graphs->launches.at[i];
		struct tw_choice choice;
		struct tw_nodes nodes;

		if (!launch->count)
			continue;
		nodes = nodes_of(w, launch);
		if (tw_choose_one(&w->chooser, &nodes, w->captures[i], &choice, w->call_of))
			return -1;
		w->pieces = choice.taken && !launch_id(w, launch);
	}
	return 0;
}

/* The value of a key, `next` when it is new; TW_IDS_NONE: out of memory. */
static uint32_t find_or_add(struct work *w, struct tw_ids *ids, const uint64_t *key, size_t size,
			    uint32_t next)
{
	int64_t hash = (int64_t)tw_hash_bytes((const char *)key, size);
	uint32_t found = tw_ids_get(ids, hash);

	if (found != TW_IDS_NONE)
		return found;
	return tw_ids_put(ids, hash, next, w->d->allocator) ? next : TW_IDS_NONE;
}

/* Ids, and streams, are those of a process and a device: the lowest, of several. */
static void set_owner(const struct work *w, const struct tw_graph_launch *launch, uint64_t owner[2])
{
	const struct tw_derived *d = w->d;
	uint32_t i, lowest = UINT32_MAX;

	for (i = 0; i < launch->count; i++)
		if (d->gpu.queue[w->events[launch->first + i]] < lowest)
			lowest = d->gpu.queue[w->events[launch->first + i]];
	owner[0] =
		(uint64_t)d->trace->tracks[d->trace->events.track[d->host.event[launch->call]]].pid;
	owner[1] = (uint64_t)d->gpu.queues[lowest].device;
}

/* The graph of a launch, adding it when new. */
static struct tw_graph *graph_of(struct work *w, uint32_t number)
{
	struct tw_graph_launch *launch = &w->graphs->launches.at[number];
	uint64_t id = launch_id(w, launch), signature = signature_of(w, launch);
	struct tw_graph graph = {
		.identity = id	      ? TW_GRAPH_BY_ID :
			    w->pieces ? TW_GRAPH_BY_PLACE :
					TW_GRAPH_BY_NAMES,
		.key = id	 ? id :
		       w->pieces ? number :
				   signature,
		.launch = number,
		.unmatched = TW_NOT_MATCHED,
	};
	uint64_t key[4] = { graph.key, graph.identity }, like[2];
	uint32_t count = (uint32_t)w->graphs->list.count;

	set_owner(w, launch, key + 2);
	launch->graph = find_or_add(w, &w->ids, key, sizeof(key), count);
	if (launch->graph == TW_IDS_NONE ||
	    (launch->graph == count && !TW_LIST_ADD(&w->graphs->list, &graph, w->d->allocator)))
		return NULL;
	like[0] = launch->graph;
	like[1] = signature;
	launch->like = find_or_add(w, &w->likes, like, sizeof(like), number);
	return launch->like == TW_IDS_NONE ? NULL : &w->graphs->list.at[launch->graph];
}

static uint32_t count_streams(const struct work *w, uint32_t number)
{
	const struct tw_graph_launch *launch = &w->graphs->launches.at[number];
	uint32_t streams = 0, i;

	for (i = 0; i < launch->count; i++) {
		uint32_t *of = &w->of_queue[w->d->gpu.queue[w->events[launch->first + i]]];

		streams += *of != number + 1;
		*of = number + 1;
	}
	return streams;
}

/* ---- the whole */

/* The capture of a launch: it is that of the graph where it matches, or is asked first. */
static int choose(struct work *w, struct tw_graph *graph, uint32_t number,
		  const struct tw_nodes *nodes)
{
	struct tw_choice choice;

	if (w->pieces ?
		    tw_choose_one(&w->chooser, nodes, w->captures[number], &choice, w->call_of) :
		    tw_choose(&w->chooser, nodes, &choice, w->call_of))
		return -1;
	if (graph->launches > 1 && !choice.taken)
		return 0;
	choice.by_place = w->pieces;
	graph->choice = choice;
	graph->launch = number;
	graph->streams = count_streams(w, number);
	graph->refused = graph->launches - 1;
	return 0;
}

static int do_launch(struct work *w, uint32_t number)
{
	struct tw_graph_launch *launch = &w->graphs->launches.at[number];
	struct tw_graph *graph;
	struct tw_nodes nodes;

	launch->node = (uint32_t)(w->d->host.count + w->graphs->event.count);
	launch->left = TW_NOT_MATCHED;
	if (!launch->count)
		return 0;
	nodes = nodes_of(w, launch);
	graph = graph_of(w, number);
	if (!graph)
		return -1;
	graph->launches++;
	/* What has been refused once is not compared again. */
	if (launch->like == number && !graph->choice.taken) {
		if (choose(w, graph, number, &nodes))
			return -1;
		if (graph->choice.taken)
			return tw_replay_first(w, graph, &nodes);
	}
	return tw_replay_other(w, graph, number, &nodes);
}

/* Numbers of nodes that are of no call come behind those of calls. */
static void number_nodes(struct tw_graphs *graphs)
{
	size_t i;

	for (i = 0; i < graphs->nodes.count; i++) {
		struct tw_graph_node *node = &graphs->nodes.at[i];
		const struct tw_graph *graph = &graphs->list.at[node->graph];

		if (i < graph->base || i - graph->base >= graph->calls)
			node->number += graph->calls;
	}
}

static int build(struct work *w)
{
	struct tw_derived *d = w->d;
	uint32_t *of_node = tw_alloc_array(w->a, d->host.count + 1, sizeof(*of_node));
	uint32_t i, most = 0, n = 0, events = 0;

	if (!of_node || list_launches(w, of_node))
		return -1;
	if (!w->graphs->launches.count)
		return 0;
	if (list_events(w, of_node))
		return -1;
	for (i = 0; i < w->graphs->launches.count; i++) {
		events += w->graphs->launches.at[i].count;
		if (w->graphs->launches.at[i].count > most)
			most = w->graphs->launches.at[i].count;
	}
	w->key_of_name = tw_alloc_array(w->a, d->trace->texts.count, sizeof(uint32_t));
	w->keys = tw_alloc(w->a, ((size_t)events + 1) * sizeof(uint32_t));
	w->counted = tw_alloc(w->a, ((size_t)most + 1) * sizeof(uint32_t));
	w->call_of = tw_alloc(w->a, ((size_t)most + 1) * sizeof(uint32_t));
	w->of_queue = tw_alloc_array(w->a, (size_t)d->gpu.queue_count + 1, sizeof(uint32_t));
	w->queue_hash = tw_alloc_array(w->a, (size_t)d->gpu.queue_count + 1, sizeof(uint64_t));
	w->captures = tw_alloc(w->a, (d->trace->captures.list.count + 1) * sizeof(uint32_t));
	if (!w->key_of_name || !w->keys || !w->counted || !w->call_of || !w->captures ||
	    !w->of_queue || !w->queue_hash || tw_chooser_init(&w->chooser, d->trace, w->a) ||
	    tw_replay_init(w, most))
		return -1;
	for (i = 0; i < d->trace->captures.list.count; i++)
		if (d->trace->captures.list.at[i].kind != TW_CAPTURE_EAGER)
			w->captures[n++] = i;
	for (i = 0; i < events; i++)
		w->keys[i] = key_of(w, w->events[i]);
	if (find_pieces(w))
		return -1;
	for (i = 0; i < w->graphs->launches.count; i++)
		if (do_launch(w, i))
			return -1;
	number_nodes(w->graphs);
	return 0;
}

int tw_graphs_build(struct tw_derived *d, bool accept_count)
{
	struct work w = { .d = d, .graphs = &d->graphs, .accept_count = accept_count };
	struct tw_scope scope;
	int status;

	tw_scope_begin(&scope, d->allocator);
	w.a = &scope.allocator;
	status = build(&w);
	tw_ids_release(&w.ids, d->allocator);
	tw_ids_release(&w.likes, d->allocator);
	tw_ids_release(&w.ops, d->allocator);
	tw_scope_end(&scope);
	return status;
}

/* ---- nodes of replays among those of the host */

/* The list with more behind it. */
static uint32_t *join(const struct tw_derived *d, const uint32_t *list, const uint32_t *more)
{
	uint64_t count = d->host.count, added = d->graphs.event.count;
	uint32_t *all = tw_alloc(d->allocator, (count + added + 1) * sizeof(*all));

	if (all) {
		memcpy(all, list, count * sizeof(*all));
		memcpy(all + count, more, added * sizeof(*all));
	}
	return all;
}

int tw_graphs_add_nodes(struct tw_derived *d)
{
	const struct trawl_allocator *a = d->allocator;
	struct tw_graphs *graphs = &d->graphs;
	size_t bytes = (d->host.count + 1) * sizeof(uint32_t);
	size_t all = (d->host.count + graphs->event.count + 1) * sizeof(uint32_t);
	uint32_t *event, *parent;
	uint64_t i;

	if (!graphs->event.count)
		return 0;
	event = join(d, d->host.event, graphs->event.at);
	parent = join(d, d->host.parent, graphs->parent.at);
	if (!event || !parent) {
		tw_free(a, event, all);
		tw_free(a, parent, all);
		return -1;
	}
	tw_free(a, d->host.event, bytes);
	tw_free(a, d->host.parent, bytes);
	d->host.event = event;
	d->host.parent = parent;
	d->host.all = d->host.count + graphs->event.count;
	for (i = d->host.count; i < d->host.all; i++)
		d->host.name[d->trace->events.name[event[i]]] |= TW_NAMES_NODES;
	TW_LIST_FREE(&graphs->event, a);
	TW_LIST_FREE(&graphs->parent, a);
	return 0;
}

uint32_t tw_graph_call(const struct tw_derived *d, uint32_t node)
{
	const struct tw_graph_launch *launches = d->graphs.launches.at;
	size_t n = d->graphs.launches.count;

	if (node < d->host.count)
		return node;
	return launches[TW_LOWER_BOUND(at, 0, n, launches[at].node <= node) - 1].call;
}

void tw_graphs_release(struct tw_derived *d)
{
	const struct trawl_allocator *a = d->allocator;
	struct tw_graphs *graphs = &d->graphs;

	TW_LIST_FREE(&graphs->list, a);
	TW_LIST_FREE(&graphs->launches, a);
	TW_LIST_FREE(&graphs->nodes, a);
	TW_LIST_FREE(&graphs->event, a);
	TW_LIST_FREE(&graphs->parent, a);
}
