#include "analysis/launches/parents.h"

#include "base/alloc.h"

#include <string.h>

/* Letters of `needle` (lower case) in any case. */
static bool contains_folded(const char *text, const char *needle)
{
	size_t len = strlen(needle), i;

	for (; *text; text++) {
		for (i = 0; i < len && (text[i] | 0x20) == needle[i]; i++)
			;
		if (i == len)
			return true;
	}
	return false;
}

/* Kernels of a graph have nothing but the call that launched it above them. */
static void find_graph_calls(struct tw_parents *p)
{
	const struct tw_pool *texts = &p->derived->trace->texts;
	uint32_t i;

	for (i = 0; i < texts->count; i++)
		p->is_graph[i] = p->derived->host.name[i] &&
				 (contains_folded(texts->entries[i].ptr, "graphlaunch") ||
				  contains_folded(texts->entries[i].ptr, "cudagraph"));
}

static void find_first_gpu(struct tw_parents *p)
{
	const struct tw_derived *d = p->derived;
	const uint32_t *origins = tw_gpu_origins(d);
	uint64_t g, node;

	for (node = 0; node < d->host.all; node++)
		p->first_gpu[node] = TW_NONE;
	for (g = 0; g < d->gpu.count; g++) {
		if (origins[g] == TW_NONE || d->gpu.bucket[g] == TW_COMMUNICATION)
			continue;
		node = tw_launching_op(d, origins[g], false);
		if (node != TW_NONE && p->first_gpu[node] == TW_NONE)
			p->first_gpu[node] = (uint32_t)g;
	}
}

int tw_parents_init(struct tw_parents *p, const struct tw_derived *d,
		    const struct tw_launchers *launchers, const struct trawl_allocator *allocator)
{
	*p = (struct tw_parents){ .derived = d, .categories = &launchers->categories };
	p->first_gpu = tw_alloc(allocator, (d->host.all + 1) * sizeof(*p->first_gpu));
	p->is_graph = tw_alloc(allocator, d->trace->texts.count);
	if (!p->first_gpu || !p->is_graph)
		return -1;
	find_graph_calls(p);
	find_first_gpu(p);
	return 0;
}

struct tw_parent tw_parent_of(const struct tw_parents *p, uint64_t gpu)
{
	const struct tw_derived *d = p->derived;
	struct tw_parent parent = { TW_NONE, TW_NONE, false, NULL };
	uint32_t launch = tw_gpu_origins(d)[gpu], node;

	if (launch == TW_NONE)
		return parent;
	node = (uint32_t)tw_launching_op(d, launch, false);
	parent.node = node != TW_NONE ? node : launch;
	parent.event = d->host.event[parent.node];
	if (node != TW_NONE) {
		parent.is_op = true;
		parent.category = p->categories->names[tw_category_of(p->categories, parent.event,
								      p->first_gpu[node])];
		return parent;
	}
	parent.category = p->is_graph[d->trace->events.name[parent.event]] ? "graph" : "runtime";
	return parent;
}
