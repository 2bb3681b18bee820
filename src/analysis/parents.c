#include "analysis/parents.h"

#include "base/alloc.h"

#include <string.h>

int tw_parents_init(struct tw_parents *p, const struct tw_derived *d,
		    const struct tw_launchers *launchers)
{
	uint64_t n = d->host.count, g, node;

	p->derived = d;
	p->categories = &launchers->categories;
	p->first_gpu = tw_alloc(d->allocator, (n + 1) * sizeof(*p->first_gpu));
	if (!p->first_gpu)
		return -1;
	for (node = 0; node < n; node++)
		p->first_gpu[node] = TW_NONE;
	for (g = 0; g < d->gpu.count; g++) {
		if (d->gpu.launch[g] == TW_NONE || d->gpu.bucket[g] == TW_COMMUNICATION)
			continue;
		node = tw_launching_op(d, d->gpu.launch[g], false);
		if (node != TW_NONE && p->first_gpu[node] == TW_NONE)
			p->first_gpu[node] = (uint32_t)g;
	}
	return 0;
}

void tw_parents_release(struct tw_parents *p)
{
	if (p->derived)
		tw_free(p->derived->allocator, p->first_gpu,
			(p->derived->host.count + 1) * sizeof(*p->first_gpu));
	p->derived = NULL;
}

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

struct tw_parent tw_parent_of(const struct tw_parents *p, uint64_t gpu)
{
	const struct tw_derived *d = p->derived;
	struct tw_parent parent = { TW_NONE, TW_NONE, false, NULL };
	uint32_t launch = d->gpu.launch[gpu], node;
	const char *name;

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
	name = d->trace->texts.entries[d->trace->events.name[parent.event]].ptr;
	parent.category = contains_folded(name, "graphlaunch") ||
					  contains_folded(name, "cudagraph") ?
				  "graph" :
				  "runtime";
	return parent;
}
