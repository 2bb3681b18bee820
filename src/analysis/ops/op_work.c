#include "analysis/ops/op_work.h"

#include "base/alloc.h"

#include <string.h>

struct walk {
	const struct tw_derived *d;
	const struct tw_modelled *m;
	uint8_t *launches; /* by host node: it launches GPU work itself */
	uint32_t *sole;	   /* by pair: the only operation, see sole_operation(); 0: not asked */
	tw_op_work_row *row;
	void *context;
};

static bool is_named(const struct walk *w, uint64_t node, const char *name)
{
	const struct trawl_trace *trace = w->d->trace;

	return !strcmp(trace->texts.entries[trace->events.name[w->d->host.event[node]]].ptr, name);
}

/*
 * The operation with GPU work under a call of the autograd engine that has the name which the
 * engine's call tells, "...: NAME"; TW_NONE unless there is exactly one.
 */
static uint64_t sole_operation(struct walk *w, uint32_t pair)
{
	uint64_t engine = w->d->autograd.pairs[pair].backward;
	const struct trawl_trace *trace = w->d->trace;
	const char *name = trace->texts.entries[trace->events.name[w->d->host.event[engine]]].ptr;
	uint64_t node, found = TW_NONE;

	if (w->sole[pair])
		return w->sole[pair];
	name = strstr(name, ": ");
	for (node = engine + 1; node < w->m->end[engine]; node++) {
		if (tw_node_class(w->d, node) != TRAWL_CLASS_CPU_OP ||
		    !tw_gpu_count_under(w->m, node) || (name && !is_named(w, node, name + 2)))
			continue;
		if (found != TW_NONE) {
			found = TW_NONE;
			break;
		}
		found = node;
	}
	w->sole[pair] = found;
	return found;
}

/* The work of the backward pass that the node alone carries out; TW_NO_GROUP: not known. */
static uint32_t sole_backward(struct walk *w, uint64_t node)
{
	uint64_t operation = node, sole;
	unsigned level;

	for (level = 0; level < TW_LEVELS_TO_PAIR; level++) {
		uint32_t pair, work;

		node = w->d->host.parent[node];
		if (node == TW_NONE)
			return TW_NO_GROUP;
		pair = tw_pair_at(w->m, node);
		if (pair == TW_NO_GROUP)
			continue;
		work = w->m->backward_work[pair];
		if (work == TW_NO_GROUP || !w->m->works[work].model->backward_category)
			return TW_NO_GROUP;
		/* A sibling of that one, or a node below it, is not a backward pass. */
		sole = sole_operation(w, pair);
		return sole != TW_NONE && operation <= sole && sole < w->m->end[operation] ?
			       work :
			       TW_NO_GROUP;
	}
	return TW_NO_GROUP;
}

static bool has_communication(const struct walk *w, uint64_t node)
{
	uint64_t count, i;
	const uint32_t *gpu = tw_gpu_under(w->m, node, &count);

	for (i = 0; i < count; i++)
		if (w->d->gpu.bucket[gpu[i]] == TW_COMMUNICATION)
			return true;
	return false;
}

static bool is_known(const struct walk *w, uint32_t work)
{
	return work != TW_NO_GROUP && !w->m->works[work].reason;
}

/* Whether a call with GPU work below the node has figures. */
static bool has_known_parts(const struct walk *w, uint64_t node)
{
	uint64_t i;

	for (i = node + 1; i < w->m->end[node]; i++)
		if (is_known(w, tw_work_at(w->m, i)) && tw_gpu_count_under(w->m, i))
			return true;
	return false;
}

/* The node after what a node settles. */
static uint64_t visit(struct walk *w, uint64_t node)
{
	uint64_t end = w->m->end[node];
	uint32_t work = tw_work_at(w->m, node), backward;

	if (tw_node_class(w->d, node) != TRAWL_CLASS_CPU_OP || !tw_gpu_count_under(w->m, node))
		return end;
	/* A call whose arguments say nothing gives way to its parts, if theirs do. */
	if (is_known(w, work) || (work != TW_NO_GROUP && !has_known_parts(w, node))) {
		w->row(w->context, node, work, NULL);
		return end;
	}
	if (tw_is_above_modelled(w->m, node))
		return node + 1;
	backward = sole_backward(w, node);
	if (backward != TW_NO_GROUP) {
		w->row(w->context, node, backward, w->m->works[backward].model->backward_category);
		return end;
	}
	if (!w->launches[node])
		return node + 1;
	if (!has_communication(w, node))
		w->row(w->context, node, tw_work_by(w->m, node, true), NULL);
	return end;
}

int tw_op_work_visit(const struct tw_derived *d, const struct tw_modelled *m, tw_op_work_row *row,
		     void *context, const struct trawl_allocator *a)
{
	struct walk w = { .d = d, .m = m, .row = row, .context = context };
	const uint32_t *origins = tw_gpu_origins(d);
	uint64_t node, g;

	w.launches = tw_alloc_array(a, d->host.all + 1, 1);
	w.sole = tw_alloc_array(a, d->autograd.count + 1, sizeof(*w.sole));
	if (!w.launches || !w.sole)
		return -1;
	for (g = 0; g < d->gpu.count; g++) {
		uint64_t op = origins[g] == TW_NONE ? TW_NONE :
						      tw_launching_op(d, origins[g], false);

		if (op != TW_NONE)
			w.launches[op] = 1;
	}
	for (node = 0; node < d->host.all;)
		node = visit(&w, node);
	return 0;
}
