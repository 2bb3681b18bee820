/* What points are called, in texts of the rank's own: the trace may go. */
#include "path/rank_build.h"

#include "analysis/groups.h"
#include "analysis/signature.h"
#include "base/alloc.h"
#include "base/sort.h"
#include "text/str.h"

#include <string.h>

struct labels {
	struct tw_rank_build *b;
	struct tw_groups distinct; /* struct tw_path_label */
	uint32_t *kept;		   /* by text id of the trace: id of the rank's, 0: not asked yet */
	uint32_t *tracks;	   /* by track of the trace: id of the rank's */
	uint32_t *op;		   /* by host node: the outermost operation that it is in, or is */
	bool several_devices;
};

static uint32_t keep(struct labels *l, uint32_t text)
{
	const struct tw_pool_entry *entry = &l->b->d->trace->texts.entries[text];

	if (text && !l->kept[text])
		l->kept[text] = tw_pool_intern(&l->b->rank->texts, entry->ptr, entry->len);
	return l->kept[text];
}

static void add_code(const struct trawl_trace *trace, struct tw_str *out, const char *what,
		     tw_code code)
{
	char buffer[24];
	size_t len;
	const char *text = code == TW_CODE_NONE ? NULL : tw_code_text(trace, code, buffer, &len);

	if (!text)
		return;
	tw_str_addf(out, "%s%s ", out->len ? " " : "", what);
	tw_str_add(out, text, len);
}

/* "stream 7", "device 1 stream 7" where there are several devices, "thread 4242". */
static uint32_t track_of(struct labels *l, uint32_t track)
{
	const struct trawl_trace *trace = l->b->d->trace;
	const struct tw_track *t = &trace->tracks[track];
	struct tw_str out;

	if (l->tracks[track])
		return l->tracks[track];
	tw_str_init(&out, l->b->scratch);
	if (t->stream != TW_CODE_NONE && l->several_devices)
		add_code(trace, &out, "device", t->device);
	if (t->stream != TW_CODE_NONE)
		add_code(trace, &out, "stream", t->stream);
	else
		add_code(trace, &out, "thread", t->tid);
	l->tracks[track] = tw_pool_intern(&l->b->rank->texts, out.ptr ? out.ptr : "", out.len);
	l->b->failed |= out.failed;
	tw_str_release(&out);
	return l->tracks[track];
}

/* As tables of operators have them; the texts of shapes are no names. */
static uint32_t shapes_of(struct labels *l, uint32_t event)
{
	const struct trawl_trace *trace = l->b->d->trace;
	struct trawl_argument arg;
	struct tw_str text;

	if (!trawl_event_argument(trace, event, TW_KEY_input_dims, &arg) ||
	    arg.kind != TRAWL_VALUE_JSON)
		return 0;
	if (l->kept[arg.text])
		return l->kept[arg.text];
	tw_str_init(&text, l->b->scratch);
	tw_python_repr(trace->texts.entries[arg.text].ptr, trace->texts.entries[arg.text].len,
		       &text);
	if (text.len)
		l->kept[arg.text] = tw_pool_intern(&l->b->rank->texts, text.ptr, text.len);
	l->b->failed |= text.failed;
	tw_str_release(&text);
	return l->kept[arg.text];
}

/* Shapes and categories are those of GPU work alone, category 0: of the host. */
static struct tw_path_label label(struct labels *l, uint32_t event, uint32_t operation,
				  uint32_t category)
{
	const struct tw_events *e = &l->b->d->trace->events;
	struct tw_path_label label = { .name = keep(l, e->name[event]),
				       .track = track_of(l, e->track[event]),
				       .category = category };

	if (operation != TW_NONE) {
		uint32_t of = l->b->d->host.event[operation];

		if (operation < l->b->d->host.count)
			label.module = l->b->module ? keep(l, l->b->module[operation]) : 0;
		label.operation = keep(l, e->name[of]);
		label.shapes = category ? shapes_of(l, of) : 0;
	}
	return label;
}

static uint32_t add_label(struct labels *l, uint32_t event, uint32_t operation)
{
	const struct tw_path_label of = label(l, event, operation, 0);

	return tw_groups_add(&l->distinct, &of);
}

static void find_outermost(struct labels *l)
{
	const struct tw_derived *d = l->b->d;
	uint32_t i;

	for (i = 0; i < d->host.count; i++) {
		uint32_t parent = d->host.parent[i],
			 above = parent == TW_NONE ? TW_NONE : l->op[parent];

		l->op[i] = above != TW_NONE			     ? above :
			   tw_node_class(d, i) == TRAWL_CLASS_CPU_OP ? i :
								       TW_NONE;
	}
}

static unsigned category_of(const struct tw_derived *d, uint32_t g)
{
	enum trawl_class class = tw_class(d->trace, d->gpu.event[g]);

	return class == TRAWL_CLASS_MEMCPY ? TW_KERNEL_CATEGORY_COPY :
	       class == TRAWL_CLASS_MEMSET ? TW_KERNEL_CATEGORY_FILL :
					     tw_gpu_category(d, g);
}

/* The module of the call that captured a node of a graph. */
static uint32_t captured_module(const struct tw_derived *d, uint32_t g)
{
	const struct tw_captures *captures = &d->trace->captures;
	const struct tw_graph_node *node = &d->graphs.nodes.at[d->gpu.graph_node[g]];
	uint32_t path = node->differ & TW_DIFFER_MODULE ? 0 : captures->calls.at[node->call].path;

	return path ? captures->modules.at[path - 1].name : 0;
}

static uint32_t label_of_gpu(struct labels *l, uint32_t g)
{
	struct tw_rank_build *b = l->b;
	const struct tw_derived *d = b->d;
	bool replayed = tw_is_replayed(d, g);
	uint32_t node = replayed ? d->gpu.origin[g] : b->launch_node[g];
	struct tw_path_label of =
		label(l, d->gpu.event[g],
		      node == TW_NONE ? TW_NONE : (uint32_t)tw_launching_op(d, node, true),
		      1 + category_of(d, g));

	if (replayed) {
		of.replayed = 1;
		of.module = keep(l, captured_module(d, g));
	}
	return tw_groups_add(&l->distinct, &of);
}

static void label_gpu(struct labels *l)
{
	struct tw_rank_build *b = l->b;
	uint32_t g;

	for (g = 0; g < b->rank->gpu_count; g++)
		b->points.at[2 * g].label = b->points.at[2 * g + 1].label = label_of_gpu(l, g);
}

static void label_nodes(struct labels *l)
{
	struct tw_rank_build *b = l->b;
	const struct tw_host *host = &b->d->host;
	uint32_t i, of;

	for (i = 0; i < host->count; i++) {
		if (b->start_of[i] == TW_NO_POINT)
			continue;
		of = add_label(l, host->event[i], l->op[i]);
		b->points.at[b->start_of[i]].label = b->points.at[b->end_of[i]].label = of;
	}
}

/* Points of annotations have their events as labels so far. */
static void label_annotations(struct labels *l)
{
	struct tw_rank_build *b = l->b;
	size_t i;

	for (i = 2 * (size_t)b->rank->gpu_count; i < b->points.count; i++)
		if (tw_kind_of(&b->points.at[i]) >= TW_POINT_LOADER)
			b->points.at[i].label = add_label(l, b->points.at[i].label, TW_NONE);
}

static void take(struct labels *l)
{
	struct tw_path_rank *r = l->b->rank;
	uint32_t i;

	r->label_count = l->distinct.count;
	r->labels = tw_alloc_array(l->b->allocator, r->label_count + 1, sizeof(*r->labels));
	l->b->failed |= !r->labels || r->texts.failed || l->distinct.failed;
	for (i = 0; i < r->label_count && !l->b->failed; i++)
		memcpy(&r->labels[i], tw_groups_key(&l->distinct, i), sizeof(*r->labels));
}

void tw_path_labels(struct tw_rank_build *b)
{
	struct labels l = { .b = b };
	const struct tw_gpu *gpu = &b->d->gpu;

	tw_groups_init(&l.distinct, sizeof(struct tw_path_label), b->scratch);
	l.kept = tw_build_array(b, b->d->trace->texts.count, sizeof(*l.kept));
	l.tracks = tw_build_array(b, b->d->trace->track_count, sizeof(*l.tracks));
	l.op = tw_build_array(b, b->d->host.count, sizeof(*l.op));
	l.several_devices = gpu->queue_count &&
			    gpu->queues[0].device != gpu->queues[gpu->queue_count - 1].device;
	b->failed |= tw_pool_init(&b->rank->texts, b->allocator) != 0;
	if (!b->failed) {
		find_outermost(&l);
		label_gpu(&l);
		label_nodes(&l);
		label_annotations(&l);
		take(&l);
	}
	tw_groups_release(&l.distinct);
}

/*
 * ---- the module around each host node, where the trace has Python's frames: the innermost one on its
 * thread; of a backward operation that of its forward one; else that of the node above
 */

static const char prefix[] = "nn.Module: ";

static bool is_module(const struct trawl_trace *trace, uint64_t i)
{
	const struct tw_pool_entry *name = &trace->texts.entries[trace->events.name[i]];

	return trace->events.phase[i] == 'X' && tw_class(trace, i) == TRAWL_CLASS_PYTHON &&
	       name->len >= sizeof(prefix) && !memcmp(name->ptr, prefix, sizeof(prefix) - 1);
}

static uint64_t track_key(const void *events, uint32_t event)
{
	return ((const struct tw_events *)events)->track[event];
}

static uint64_t longest_key(const void *events, uint32_t event)
{
	return ~(uint64_t)((const struct tw_events *)events)->dur_ns[event];
}

/* By track, then start, outer ones first; *count 0: none are recorded. */
static uint32_t *list_modules(struct tw_rank_build *b, uint32_t *count)
{
	const struct trawl_trace *trace = b->d->trace;
	const struct tw_events *e = &trace->events;
	uint32_t *list;
	uint64_t i, n = 0;

	for (i = 0; i < e->count; i++)
		n += is_module(trace, i);
	*count = 0;
	list = n ? tw_build_array(b, n, sizeof(*list)) : NULL;
	for (i = 0; list && i < e->count; i++)
		if (is_module(trace, i))
			list[(*count)++] = (uint32_t)i;
	b->failed |= list && (tw_sort(list, n, longest_key, e, b->scratch) ||
			      tw_sort(list, n, tw_events_start_key, e, b->scratch) ||
			      tw_sort(list, n, track_key, e, b->scratch));
	return list;
}

/* Of each node the innermost that holds its start: text ids of names, 0: none. */
static void find_around(struct tw_rank_build *b, const uint32_t *list, uint32_t count)
{
	const struct tw_events *e = &b->d->trace->events;
	uint32_t *open = tw_build_array(b, count, sizeof(*open)), depth = 0, next = 0, i;

	for (i = 0; open && i < b->d->host.count; i++) {
		uint32_t track = tw_node_track(b, i);
		int64_t start = tw_node_start(b, i);

		for (; next < count &&
		       (e->track[list[next]] < track ||
			(e->track[list[next]] == track && e->start_ns[list[next]] <= start));
		     next++) {
			while (depth &&
			       (e->track[open[depth - 1]] != e->track[list[next]] ||
				e->start_ns[open[depth - 1]] + e->dur_ns[open[depth - 1]] <=
					e->start_ns[list[next]]))
				depth--;
			open[depth++] = list[next];
		}
		while (depth &&
		       (e->track[open[depth - 1]] != track ||
			e->start_ns[open[depth - 1]] + e->dur_ns[open[depth - 1]] <= start))
			depth--;
		b->module[i] = depth ? e->name[open[depth - 1]] : 0;
	}
}

void tw_path_find_modules(struct tw_rank_build *b)
{
	uint32_t count, *list = list_modules(b, &count);

	if (!list || b->failed)
		return;
	b->module = tw_build_array(b, b->d->host.count, sizeof(*b->module));
	if (!b->failed)
		find_around(b, list, count);
}

void tw_path_pass_modules(struct tw_rank_build *b)
{
	const struct tw_autograd *pairs = &b->d->autograd;
	const struct tw_host *host = &b->d->host;
	uint64_t k;
	uint32_t i;

	for (k = 0; b->module && k < pairs->count; k++)
		if (!b->module[pairs->pairs[k].backward])
			b->module[pairs->pairs[k].backward] = b->module[pairs->pairs[k].forward];
	for (i = 0; b->module && i < host->count; i++)
		if (!b->module[i] && host->parent[i] != TW_NONE)
			b->module[i] = b->module[host->parent[i]];
}
