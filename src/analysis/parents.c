#include "analysis/parents.h"

#include "base/alloc.h"

#include <string.h>

int tw_parents_init(struct tw_parents *p, const struct tw_analysis_input *in)
{
	const struct tw_derived *d = in->derived;
	uint64_t n = d->host.count, g, node;

	p->in = in;
	p->first_gpu = tw_alloc(in->allocator, (n + 1) * sizeof(*p->first_gpu));
	if (!p->first_gpu)
		return -1;
	for (node = 0; node < n; node++)
		p->first_gpu[node] = TW_NONE;
	for (g = 0; g < d->gpu.count; g++) {
		if (d->gpu.launch[g] == TW_NONE || d->gpu.bucket[g] == TW_COMMUNICATION)
			continue;
		node = tw_launching_op(d, d->gpu.launch[g], false);
		if (node != TW_NONE && p->first_gpu[node] == TW_NONE)
			p->first_gpu[node] = g;
	}
	return 0;
}

void tw_parents_release(struct tw_parents *p)
{
	if (p->in)
		tw_free(p->in->allocator, p->first_gpu,
			(p->in->derived->host.count + 1) * sizeof(*p->first_gpu));
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
	const struct tw_categories *categories = &p->in->launchers->categories;
	const struct tw_derived *d = p->in->derived;
	struct tw_parent parent = { TW_NONE, false, NULL };
	uint64_t launch = d->gpu.launch[gpu], node;
	const char *name;

	if (launch == TW_NONE)
		return parent;
	node = tw_launching_op(d, launch, false);
	if (node != TW_NONE) {
		parent.event = d->host.event[node];
		parent.is_op = true;
		parent.category = categories->names[tw_category_of(categories, parent.event,
								   p->first_gpu[node])];
		return parent;
	}
	parent.event = d->host.event[launch];
	name = p->in->trace->texts.entries[p->in->trace->events.name[parent.event]].ptr;
	parent.category = contains_folded(name, "graphlaunch") ||
					  contains_folded(name, "cudagraph") ?
				  "graph" :
				  "runtime";
	return parent;
}
