#include "analysis/launches/launchers.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/scope.h"
#include "base/sort.h"

/* The host node that a GPU event is charged to, TW_NONE: none. */
static uint64_t launcher_node(const struct tw_derived *d, uint64_t g)
{
	uint64_t launch = tw_gpu_origins(d)[g], op;

	if (launch == TW_NONE || d->gpu.bucket[g] == TW_COMMUNICATION)
		return TW_NONE;
	op = tw_launching_op(d, launch, true);
	return op != TW_NONE ? op : launch;
}

struct draft {
	uint32_t node;
	uint32_t above;	      /* the next launcher above it, TW_NO_GROUP: none */
	uint32_t first_event; /* its first GPU event in the order of the input */
	int64_t start_ns;
	struct tw_union direct, subtree;
};

/* Launchers while they are found: by host node, in order of first GPU start. */
struct drafts {
	const struct tw_derived *d;
	const struct trawl_allocator *a;
	uint32_t *of_node; /* launcher of a host node, TW_NO_GROUP: none */
	struct draft *items;
	uint64_t count, capacity;
};

static int add_draft(struct drafts *drafts, uint64_t node)
{
	if (drafts->count + 1 >= TW_NO_GROUP ||
	    !tw_list_grow(&drafts->items, &drafts->capacity, drafts->count, sizeof(*drafts->items),
			  drafts->a))
		return -1;
	drafts->items[drafts->count] =
		(struct draft){ (uint32_t)node, TW_NO_GROUP,
				UINT32_MAX,	tw_launch_ns(drafts->d, node),
				TW_UNION_INIT,	TW_UNION_INIT };
	drafts->of_node[node] = (uint32_t)drafts->count++;
	return 0;
}

static int find_launchers(struct drafts *drafts, uint32_t *of_gpu)
{
	const struct tw_derived *d = drafts->d;
	uint64_t g, node;

	for (node = 0; node < d->host.all; node++)
		drafts->of_node[node] = TW_NO_GROUP;
	for (g = 0; g < d->gpu.count; g++) {
		struct draft *draft;

		node = launcher_node(d, g);
		of_gpu[g] = TW_NO_GROUP;
		if (node == TW_NONE)
			continue;
		if (drafts->of_node[node] == TW_NO_GROUP && add_draft(drafts, node))
			return -1;
		of_gpu[g] = drafts->of_node[node];
		draft = &drafts->items[of_gpu[g]];
		tw_union_add(&draft->direct, d->gpu.start_ns[g], d->gpu.end_ns[g]);
		if (d->gpu.event[g] < draft->first_event)
			draft->first_event = d->gpu.event[g];
	}
	return 0;
}

/* From here on of_node is the launcher at a node or the nearest above it. */
static void find_above(struct drafts *drafts)
{
	const struct tw_host *host = &drafts->d->host;
	uint64_t node;

	for (node = 0; node < host->all; node++) {
		uint64_t parent = host->parent[node];
		uint32_t above = parent == TW_NONE ? TW_NO_GROUP : drafts->of_node[parent];

		if (drafts->of_node[node] == TW_NO_GROUP)
			drafts->of_node[node] = above;
		else
			drafts->items[drafts->of_node[node]].above = above;
	}
}

/*
 * Every GPU event counts for all launchers above its launch call; starts come in order.  One that
 * is busy beyond the end of the event already is so together with all that are above it.
 */
static void add_subtrees(struct drafts *drafts)
{
	const struct tw_derived *d = drafts->d;
	const uint32_t *origins = tw_gpu_origins(d);
	uint32_t launcher;
	uint64_t g;

	find_above(drafts);
	for (g = 0; g < d->gpu.count; g++) {
		int64_t start_ns = d->gpu.start_ns[g], end_ns = d->gpu.end_ns[g];

		launcher = origins[g] == TW_NONE ? TW_NO_GROUP : drafts->of_node[origins[g]];
		while (launcher != TW_NO_GROUP) {
			struct draft *draft = &drafts->items[launcher];

			if (draft->subtree.end_ns >= end_ns)
				break;
			tw_union_add(&draft->subtree, start_ns, end_ns);
			launcher = draft->above;
		}
	}
}

static uint64_t first_event_key(const void *context, uint32_t i)
{
	return ((const struct drafts *)context)->items[i].first_event;
}

static uint64_t start_key(const void *context, uint32_t i)
{
	return tw_sort_key(((const struct drafts *)context)->items[i].start_ns);
}

/* By start of the operation, then by its first GPU event: renumbers of_gpu too. */
static int take_launchers(struct tw_launchers *l, const struct drafts *drafts)
{
	uint64_t gpu_count = drafts->d->gpu.count;
	uint32_t *order = tw_alloc(drafts->a, (drafts->count + 1) * sizeof(*order));
	uint32_t *rank = tw_alloc(drafts->a, (drafts->count + 1) * sizeof(*rank));
	uint64_t i;

	if (!order || !rank)
		return -1;
	for (i = 0; i < drafts->count; i++)
		order[i] = (uint32_t)i;
	if (tw_sort(order, drafts->count, first_event_key, drafts, drafts->a) ||
	    tw_sort(order, drafts->count, start_key, drafts, drafts->a))
		return -1;
	for (i = 0; i < drafts->count; i++) {
		const struct draft *draft = &drafts->items[order[i]];

		rank[order[i]] = (uint32_t)i;
		l->items[i] = (struct tw_launcher){ draft->node, 0, draft->direct.length_ns,
						    draft->subtree.length_ns };
	}
	for (i = 0; i < gpu_count; i++)
		if (l->of_gpu[i] != TW_NO_GROUP)
			l->of_gpu[i] = rank[l->of_gpu[i]];
	return 0;
}

static int list_launchers(struct tw_launchers *l, struct drafts *drafts,
			  const struct trawl_allocator *allocator)
{
	const struct tw_derived *d = drafts->d;

	l->of_gpu = tw_alloc(allocator, (d->gpu.count + 1) * sizeof(*l->of_gpu));
	drafts->of_node = tw_alloc(drafts->a, (d->host.all + 1) * sizeof(*drafts->of_node));
	if (!l->of_gpu || !drafts->of_node || find_launchers(drafts, l->of_gpu))
		return -1;
	add_subtrees(drafts);
	l->count = drafts->count;
	l->items = tw_alloc(allocator, (l->count + 1) * sizeof(*l->items));
	return l->items ? take_launchers(l, drafts) : -1;
}

int tw_launchers_build(struct tw_launchers *l, const struct tw_derived *d,
		       const struct trawl_allocator *allocator)
{
	struct drafts drafts = { .d = d };
	struct tw_scope scope;
	uint64_t i;
	int status;

	*l = (struct tw_launchers){ .count = 0 };
	tw_scope_begin(&scope, allocator);
	drafts.a = &scope.allocator;
	status = list_launchers(l, &drafts, allocator);
	tw_scope_end(&scope);
	if (status ||
	    tw_members_build(&l->gpu, l->of_gpu, d->gpu.count, (uint32_t)l->count, allocator) ||
	    tw_categories_init(&l->categories, d, allocator))
		return -1;
	for (i = 0; i < l->count; i++)
		l->items[i].category = tw_category_of(&l->categories,
						      d->host.event[l->items[i].node],
						      l->gpu.list[l->gpu.first[i]]);
	return 0;
}
