#define _GNU_SOURCE
#include "diagnose/look.h"

#include "diagnose/kinds.h"

#include "base/alloc.h"
#include "base/order.h"
#include "base/search.h"
#include "base/sort.h"
#include "data/limits.h"
#include "model/call.h"
#include "model/roofline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

unsigned tw_look_kinds(struct tw_look *look, uint32_t text)
{
	enum { ASKED = 1u << 31 };
	const struct tw_pool_entry *name = &look->trace->texts.entries[text];

	if (!look->kinds[text])
		look->kinds[text] = tw_host_kinds_of(name->ptr, name->len) | ASKED;
	return look->kinds[text] & ~ASKED;
}

uint32_t tw_look_thread(const struct tw_look *look, uint32_t track)
{
	const struct tw_path_rank *r = &look->part->rank;
	size_t t = TW_LOWER_BOUND(at, 0, r->thread_count, r->threads[at].track < track);

	return t < r->thread_count && r->threads[t].track == track ? (uint32_t)t : UINT32_MAX;
}

/* ---- steps */

int64_t tw_step_index(const struct tw_look *look, int64_t time_ns)
{
	const struct tw_path_rank *r = &look->part->rank;
	size_t i = TW_LOWER_BOUND(at, 0, r->step_count, r->steps[at].start_ns <= time_ns);

	return i && time_ns <= r->steps[i - 1].end_ns ? (int64_t)i - 1 : -1;
}

bool tw_in_step(const struct tw_look *look, int64_t time_ns)
{
	return !look->part->rank.step_count || tw_step_index(look, time_ns) >= 0;
}

bool tw_in_steady_step(const struct tw_look *look, int64_t time_ns)
{
	return look->part->rank.step_count < 2 || tw_step_index(look, time_ns) > 0;
}

int64_t tw_step_number(const struct tw_look *look, int64_t time_ns)
{
	int64_t step = tw_step_index(look, time_ns);

	return step < 0 ? -1 : look->part->rank.steps[step].number;
}

/* ---- the tree */

uint32_t tw_nearest_above(const struct tw_look *look, uint32_t node, const char *name)
{
	uint32_t at = node;

	for (; at != TW_NONE; at = look->d->host.parent[at])
		if (!strcmp(tw_look_name(look, at), name))
			return at;
	return TW_NONE;
}

static bool is_one_of(uint32_t text, const uint32_t *ids, size_t count)
{
	while (count && ids[count - 1] != text)
		count--;
	return count;
}

uint32_t *tw_outermost_of(struct tw_look *look, const char *const *names)
{
	enum { MOST = 8 };
	const struct tw_host *host = &look->d->host;
	uint32_t ids[MOST], *found, i, text;
	size_t count = 0;

	for (; *names && count < MOST; names++)
		if ((text = trawl_trace_find_text(look->trace, *names)))
			ids[count++] = text;
	if (!count)
		return NULL;
	found = tw_alloc_array(look->scratch, (size_t)host->all + 1, sizeof(*found));
	look->failed |= !found;
	/* Parents come before what is below them. */
	for (i = 0; found && i < host->all; i++) {
		uint32_t parent = host->parent[i];
		uint32_t above = parent == TW_NONE ? TW_NONE : found[parent];

		text = look->trace->events.name[host->event[i]];
		found[i] = above == TW_NONE && is_one_of(text, ids, count) ? i : above;
	}
	return found;
}

uint32_t tw_look_op_event(const struct tw_look *look, uint32_t call)
{
	uint64_t op = tw_launching_op(look->d, call, false);

	return look->d->host.event[op == TW_NONE ? call : op];
}

bool tw_in_optimizer(const struct tw_look *look, uint32_t node)
{
	return tw_range_at(&look->optimizer, tw_look_track(look, node),
			   tw_look_start(look, node)) != NULL;
}

/* ---- links */

static const struct tw_links *links_of(const struct tw_look *look)
{
	size_t i;

	for (i = 0; look->platform && i < tw_link_count; i++)
		if (!strcmp(tw_platform_links[i].platform, look->platform->name))
			return &tw_platform_links[i];
	return NULL;
}

double tw_host_link(const struct tw_look *look)
{
	const struct tw_links *links = links_of(look);

	return links ? links->host : TW_LIMIT_HOST_LINK_GBPS;
}

double tw_node_link(const struct tw_look *look)
{
	const struct tw_links *links = links_of(look);

	return links ? links->node : 0;
}

/* ---- ranges by name */

static bool may_be_range(enum trawl_class class)
{
	return class == TRAWL_CLASS_PYTHON || class == TRAWL_CLASS_ANNOTATION ||
	       class == TRAWL_CLASS_CPU_OP;
}

static void find_ranges(struct tw_look *look)
{
	const struct tw_events *e = &look->trace->events;
	uint32_t n;

	for (n = 0; n < e->count; n++)
		if (e->phase[n] == 'X' && may_be_range(tw_class(look->trace, n)) &&
		    tw_look_kinds(look, e->name[n]))
			look->failed |= !TW_LIST_ADD(&look->ranges, &n, look->scratch);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct tw_range *x = a, *y = b;

	return TW_ORDER_BY(x, y, track, start_ns)	?:
		       TW_COMPARE(y->end_ns, x->end_ns) ?:
							  TW_ORDER_BY(x, y, event);
}

static void note_inner(const struct tw_look *look, struct tw_range *outer, const struct tw_range *r)
{
	const uint32_t *name = look->trace->events.name;

	if (outer->inner == TW_NONE && name[outer->event] != name[r->event])
		outer->inner = r->event;
}

void tw_ranges_of_kind(struct tw_look *look, unsigned kinds, struct tw_ranges *out)
{
	const struct tw_events *e = &look->trace->events;
	size_t i, kept = 0;

	out->list.count = 0;
	for (i = 0; i < look->ranges.count; i++) {
		uint32_t n = look->ranges.at[i];
		struct tw_range range = { e->start_ns[n], e->start_ns[n] + e->dur_ns[n], n,
					  e->track[n], TW_NONE };

		if (!(tw_look_kinds(look, e->name[n]) & kinds))
			continue;
		look->failed |= !TW_LIST_ADD(&out->list, &range, look->scratch);
	}
	if (out->list.count)
		qsort(out->list.at, out->list.count, sizeof(*out->list.at), compare_ranges);
	for (i = 0; i < out->list.count; i++) {
		const struct tw_range *r = &out->list.at[i];

		if (kept && out->list.at[kept - 1].track == r->track &&
		    r->end_ns <= out->list.at[kept - 1].end_ns) {
			note_inner(look, &out->list.at[kept - 1], r);
			continue;
		}
		out->list.at[kept++] = *r;
	}
	out->list.count = kept;
}

const struct tw_range *tw_range_at(const struct tw_ranges *ranges, uint32_t track, int64_t time_ns)
{
	const struct tw_range *list = ranges->list.at;
	size_t i = TW_LOWER_BOUND(at, 0, ranges->list.count,
				  list[at].track < track || (list[at].track == track &&
							     list[at].start_ns <= time_ns));

	return i && list[i - 1].track == track && time_ns < list[i - 1].end_ns ? &list[i - 1] :
										 NULL;
}

void tw_launched_in(struct tw_look *look, uint32_t track, int64_t from_ns, int64_t to_ns,
		    void (*visit)(void *context, uint32_t gpu), void *context)
{
	const struct tw_path_rank *r = &look->part->rank;
	const struct tw_path_point *points = look->part->points;
	size_t i = TW_LOWER_BOUND(at, 0, r->launched_count,
				  points[r->launch[r->launched[at]]].time_ns < from_ns);

	for (; i < r->launched_count; i++) {
		uint32_t g = r->launched[i];
		int64_t time_ns = points[r->launch[g]].time_ns;

		/* What begins as a range ends is not in it. */
		if (time_ns > to_ns || (time_ns == to_ns && time_ns > from_ns))
			return;
		if (tw_look_track(look, look->d->gpu.launch[g]) == track)
			visit(context, g);
	}
}

/* ---- shapes and work */

static void read_shape(const struct tw_call *call, struct tw_shape *shape)
{
	unsigned i;

	shape->element_bytes = tw_element_bytes(tw_operand(call, 0));
	strncpy(shape->precision, tw_precision(tw_operand(call, 0)), sizeof(shape->precision) - 1);
	for (i = 0; i < call->count && i < TW_CALL_MOST_OPERANDS; i++) {
		const struct tw_operand *o = &call->operand[i];
		double n = tw_elements(&o->dims);

		if (o->is_list || !tw_is_tensor(o))
			continue;
		shape->largest = n > shape->largest ? n : shape->largest;
		shape->sum += n;
		if (shape->tensors == TW_MOST_TENSORS)
			continue;
		shape->dims[shape->tensors] = o->dims;
		shape->type[shape->tensors] = o->dtype;
		shape->elements[shape->tensors++] = n;
	}
}

/* The text of an argument, 0: it is not recorded. */
static uint32_t text_argument(const struct tw_look *look, uint32_t event, uint32_t key)
{
	struct trawl_argument arg;

	return trawl_event_argument(look->trace, event, key, &arg) && arg.kind == TRAWL_VALUE_JSON ?
		       arg.text :
		       0;
}

static struct tw_slice slice_of(const struct tw_look *look, uint32_t text)
{
	struct tw_slice slice;

	slice.ptr = tw_pool_text(&look->trace->texts, text, &slice.len);
	return slice;
}

static const struct tw_shape *read_shapes(struct tw_look *look, uint32_t node, uint32_t dims,
					  uint32_t types)
{
	const struct tw_call_texts texts = { .name = { tw_look_name(look, node),
						       strlen(tw_look_name(look, node)) },
					     .dims = slice_of(look, dims),
					     .types = slice_of(look, types) };
	struct tw_shape *shape = tw_arena_array(&look->arena, 1, sizeof(*shape));

	if (!look->call)
		look->call = tw_alloc(look->scratch, sizeof(*look->call));
	look->failed |= !look->call || !shape;
	if (look->failed)
		return NULL;
	tw_call_read(look->call, &texts);
	read_shape(look->call, shape);
	return shape;
}

/* NULL where no shapes were recorded, or out of memory.  Those that are the same are read once. */
const struct tw_shape *tw_shape_of(struct tw_look *look, uint32_t node)
{
	uint32_t event = look->d->host.event[node];
	uint32_t key[2] = { text_argument(look, event, TW_KEY_input_dims),
			    text_argument(look, event, TW_KEY_input_type) };
	const struct tw_shape **shape;

	if (!key[0])
		key[0] = text_argument(look, event, TW_KEY_input_dims_2021);
	if (!key[0] || look->trace->texts.entries[key[0]].len <= 2)
		return NULL;
	shape = tw_groups_at(&look->shapes, key);
	look->failed |= !shape;
	if (shape && !*shape)
		*shape = read_shapes(look, node, key[0], key[1]);
	return shape ? *shape : NULL;
}

double tw_target_at(const struct tw_look *look, double flops, double bytes, const char *spec,
		    double math_percent)
{
	double math = 0;

	if (!look->platform || isnan(bytes))
		return NAN;
	if (flops > 0 && *spec)
		math = flops / (tw_platform_peak(look->platform, spec, NULL) * 1e3) /
		       (math_percent / 100);
	return isnan(math) ? NAN :
			     fmax(math, bytes / look->platform->mem_bw_gbps /
						(TW_LIMIT_TARGET_MEMORY_PERCENT / 100.0));
}

double tw_target_ns(const struct tw_look *look, double flops, double bytes, const char *spec)
{
	return tw_target_at(look, flops, bytes, spec, TW_LIMIT_TARGET_MATH_PERCENT);
}

double tw_attention_ns(const struct tw_look *look, double flops, double bytes, const char *spec,
		       bool backward)
{
	return tw_target_at(look, flops, bytes, spec,
			    backward ? TW_LIMIT_TARGET_ATTENTION_BACKWARD_PERCENT :
				       TW_LIMIT_TARGET_ATTENTION_PERCENT);
}

bool tw_waits_for_copy(struct tw_look *look, uint32_t node, uint32_t gpu)
{
	return tw_is_blocking_copy(look->d, tw_look_node_kinds(look, node), node, gpu);
}

static double parameter(const struct tw_look *look, const struct tw_op_work *work, const char *name,
			double fallback)
{
	const struct tw_modelled *m = look->modelled;
	uint32_t i;

	for (i = 0; i < work->parameter_count; i++) {
		const struct tw_op_parameter *p = &m->parameters[work->parameters + i];

		if (!strcmp(p->name, name))
			return strtod(tw_pool_text(&m->texts, p->text, NULL), NULL);
	}
	return fallback;
}

bool tw_gemm_of(const struct tw_look *look, const struct tw_leaf *leaf, struct tw_gemm *gemm)
{
	const struct tw_op_work *work = leaf->work;

	if (!work || strcmp(work->model->sheet, "GEMM") || !leaf->shape)
		return false;
	gemm->b = parameter(look, work, "B", 1);
	gemm->m = parameter(look, work, "M", NAN);
	gemm->n = parameter(look, work, "N", NAN);
	gemm->k = parameter(look, work, "K", NAN);
	gemm->element_bytes = leaf->shape->element_bytes;
	return gemm->b * gemm->m * gemm->n * gemm->k > 0;
}

/* ---- leaves */

static bool has_shapes(const struct tw_look *look, uint32_t node)
{
	uint32_t event = look->d->host.event[node];
	struct trawl_argument arg;

	return tw_node_class(look->d, node) == TRAWL_CLASS_CPU_OP &&
	       (trawl_event_argument(look->trace, event, TW_KEY_input_dims, &arg) ||
		trawl_event_argument(look->trace, event, TW_KEY_input_dims_2021, &arg)) &&
	       arg.kind == TRAWL_VALUE_JSON && look->trace->texts.entries[arg.text].len > 2;
}

/*
 * The nearest operation above a launch with recorded shapes, else the call.  `nearest`, by node: that
 * operation + 2, 1: there is none, 0: not known yet.
 */
static uint32_t leaf_node(const struct tw_look *look, uint32_t *nearest, uint32_t call)
{
	const uint32_t *parent = look->d->host.parent;
	uint32_t at, found, i;

	for (at = call; at != TW_NONE && !nearest[at] && !has_shapes(look, at); at = parent[at])
		;
	found = at == TW_NONE ? 1 : nearest[at] ? nearest[at] : at + 2;
	for (i = call; i != at; i = parent[i])
		nearest[i] = found;
	if (at != TW_NONE)
		nearest[at] = found;
	return found == 1 ? call : found - 2;
}

/* "mul" of "aten::mul_". */
static const char *short_name(struct tw_look *look, uint32_t node)
{
	static const char aten[] = "aten::";
	const char *name = tw_look_name(look, node);
	size_t len;

	if (tw_node_class(look->d, node) != TRAWL_CLASS_CPU_OP)
		return "";
	if (!strncmp(name, aten, sizeof(aten) - 1))
		name += sizeof(aten) - 1;
	len = strlen(name);
	if (!len || name[len - 1] != '_')
		return name;
	name = tw_arena_copy(&look->arena, name, len - 1);
	return name ? name : "";
}

static const struct tw_op_work *work_at(const struct tw_look *look, uint32_t node)
{
	uint32_t number = tw_work_at(look->modelled, node);

	if (number == TW_NO_GROUP)
		number = tw_work_by(look->modelled, node, true);
	return number == TW_NO_GROUP || look->modelled->works[number].reason ?
		       NULL :
		       &look->modelled->works[number];
}

/* Whether the kernels of a leaf take nearly all GPU time of an operation around: a fill beside is nothing. */
static bool is_nearly_all(const struct tw_look *look, const struct tw_leaf *leaf, uint32_t node)
{
	uint64_t count, i;
	const uint32_t *under = tw_gpu_under(look->modelled, node, &count);
	int64_t all_ns = 0;

	if (count > leaf->count + TW_LIMIT_KERNELS_BESIDE)
		return false;
	for (i = 0; i < count; i++)
		all_ns += tw_gpu_ns(look, under[i]);
	return (double)leaf->gpu_ns * 100 >= TW_LIMIT_STANDS_FOR_PERCENT * (double)all_ns;
}

/* The work of an operation, or of the nearest around it that launched next to nothing else. */
static void find_work(const struct tw_look *look, struct tw_leaf *leaf)
{
	uint32_t node;

	for (node = leaf->node; node != TW_NONE && !leaf->work; node = look->d->host.parent[node]) {
		if (!is_nearly_all(look, leaf, node))
			return;
		leaf->work = work_at(look, node);
		leaf->work_node = node;
	}
}

struct numbering {
	uint32_t *of_node; /* leaf + 1 */
	uint32_t *nearest; /* as leaf_node() has it */
	uint32_t *next;	   /* by leaf */
};

static uint32_t number_leaves(struct tw_look *look, struct numbering *n)
{
	const struct tw_path_rank *r = &look->part->rank;
	uint32_t i, count = 0;

	for (i = 0; i < r->launched_count; i++) {
		uint32_t g = r->launched[i];
		uint32_t node = leaf_node(look, n->nearest, tw_gpu_origins(look->d)[g]);

		if (!n->of_node[node]) {
			n->of_node[node] = ++count;
			look->leaves[count - 1].node = node;
		}
		look->leaf_of[g] = n->of_node[node] - 1;
		look->leaves[look->leaf_of[g]].count++;
		look->leaves[look->leaf_of[g]].gpu_ns += tw_gpu_ns(look, g);
	}
	return count;
}

static bool is_pointwise(const char *op)
{
	static const char *const ops[] = {
		"mul",	"add",	  "sub",   "div",	"tanh",	       "neg",  "exp",
		"log",	"sqrt",	  "rsqrt", "pow",	"sigmoid",     "gelu", "relu",
		"silu", "abs",	  "where", "clamp",	"masked_fill", "erf",  "sin",
		"cos",	"square", "rsub",  "reciprocal"
	};
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (!strcmp(op, ops[i]))
			return true;
	return false;
}

static void fill_leaves(struct tw_look *look, struct numbering *n)
{
	const struct tw_path_rank *r = &look->part->rank;
	uint32_t i, sum = 0;

	for (i = 0; i < look->leaf_count; i++) {
		struct tw_leaf *leaf = &look->leaves[i];

		leaf->first = n->next[i] = sum;
		sum += leaf->count;
		leaf->op = short_name(look, leaf->node);
		leaf->pointwise = is_pointwise(leaf->op);
		leaf->shape = tw_node_class(look->d, leaf->node) == TRAWL_CLASS_CPU_OP ?
				      tw_shape_of(look, leaf->node) :
				      NULL;
		find_work(look, leaf);
	}
	for (i = 0; i < r->launched_count; i++) {
		uint32_t g = r->launched[i];

		look->leaf_gpu[n->next[look->leaf_of[g]]++] = g;
	}
}

static uint64_t thread_key(const void *context, uint32_t leaf)
{
	const struct tw_look *look = context;

	return tw_look_thread(look, tw_look_track(look, look->leaves[leaf].node));
}

/* In order of thread, then of launch. */
static void sort_leaves(struct tw_look *look)
{
	uint32_t n = look->leaf_count, i, t = 0;
	uint32_t *order = tw_alloc_array(look->scratch, (size_t)n + 1, sizeof(*order));
	uint32_t *place = tw_alloc_array(look->scratch, (size_t)n + 1, sizeof(*place));
	struct tw_leaf *sorted = tw_alloc_array(look->scratch, (size_t)n + 1, sizeof(*sorted));

	look->failed |= !order || !place || !sorted;
	if (look->failed)
		return;
	for (i = 0; i < n; i++)
		order[i] = i;
	look->failed |= tw_sort(order, n, thread_key, look, look->scratch);
	for (i = 0; i < n; i++) {
		sorted[i] = look->leaves[order[i]];
		place[order[i]] = i;
	}
	look->leaves = sorted;
	for (i = 0; i < look->part->rank.gpu_count; i++)
		if (look->leaf_of[i] != TW_NONE)
			look->leaf_of[i] = place[look->leaf_of[i]];
	for (i = 0; i < n && !look->failed; i++) {
		t = (uint32_t)thread_key(look, i);
		if (t == UINT32_MAX)
			continue;
		if (!look->threads[t].count++)
			look->threads[t].at = &sorted[i];
	}
	for (t = 0; t < look->part->rank.thread_count; t++)
		look->threads[t].track = look->part->rank.threads[t].track;
}

static void *array(struct tw_look *look, size_t count, size_t size)
{
	void *made = tw_alloc_array(look->scratch, count + 1, size);

	look->failed |= !made;
	return made;
}

static void find_leaves(struct tw_look *look)
{
	const struct tw_path_rank *r = &look->part->rank;
	struct numbering n = { .of_node = array(look, look->d->host.all, sizeof(*n.of_node)),
			       .nearest = array(look, look->d->host.all, sizeof(*n.nearest)) };
	uint32_t i;

	look->leaves = array(look, r->launched_count, sizeof(*look->leaves));
	look->leaf_of = array(look, r->gpu_count, sizeof(*look->leaf_of));
	look->leaf_gpu = array(look, r->launched_count, sizeof(*look->leaf_gpu));
	look->threads = array(look, r->thread_count, sizeof(*look->threads));
	if (look->failed)
		return;
	for (i = 0; i < r->gpu_count; i++)
		look->leaf_of[i] = TW_NONE;
	look->leaf_count = number_leaves(look, &n);
	n.next = array(look, look->leaf_count, sizeof(*n.next));
	if (look->failed)
		return;
	fill_leaves(look, &n);
	sort_leaves(look);
}

static void mark_backward(struct tw_look *look)
{
	static const char engine[] = "autograd::engine::evaluate_function";
	const struct tw_host *host = &look->d->host;
	uint32_t i;

	look->backward = array(look, host->all, 1);
	for (i = 0; i < host->all && !look->failed; i++) {
		uint32_t parent = host->parent[i];

		look->backward[i] = (parent != TW_NONE && look->backward[parent]) ||
				    !strncmp(tw_look_name(look, i), engine, sizeof(engine) - 1);
		look->trains |= look->backward[i];
	}
}

/* Whether it trains: by what the host did, by kernels where operators are not recorded, or not in a graph. */
static void find_mode(struct tw_look *look)
{
	uint8_t *asked = array(look, look->trace->texts.count, 1);
	uint32_t g, i;

	look->trains |= look->optimizer.list.count > 0;
	for (g = 0; g < look->d->gpu.count && !look->trains && !look->failed; g++) {
		uint32_t name = look->trace->events.name[look->d->gpu.event[g]];

		look->trains = !asked[name] && tw_kernel_has(TW_TRAIT_TRAINING,
							     look->trace->texts.entries[name].ptr);
		asked[name] = 1;
	}
	for (i = 0; i < look->d->host.count; i++)
		if (tw_node_class(look->d, i) == TRAWL_CLASS_CPU_OP)
			break;
	look->claims->mode_unknown = !look->trains && i == look->d->host.count;
}

/* ---- calls, callers */

static void index_copies(struct tw_look *look)
{
	const struct tw_path_rank *r = &look->part->rank;
	uint32_t i;

	look->last_copy = array(look, look->d->host.count, sizeof(*look->last_copy));
	for (i = 0; i < r->launched_count && !look->failed; i++) {
		uint32_t g = r->launched[i];

		if (tw_class(look->trace, look->d->gpu.event[g]) == TRAWL_CLASS_MEMCPY)
			look->last_copy[look->d->gpu.launch[g]] = g + 1;
	}
}

static void index_nodes(struct tw_look *look)
{
	const struct tw_host *host = &look->d->host;
	uint32_t tracks = look->trace->track_count, i, t;

	look->first_node = array(look, (size_t)tracks + 1, sizeof(*look->first_node));
	if (look->failed)
		return;
	for (i = 0; i < host->count; i++)
		look->first_node[tw_look_track(look, i) + 1]++;
	for (t = 0; t < tracks; t++)
		look->first_node[t + 1] += look->first_node[t];
}

static void index_borrowed(struct tw_look *look)
{
	const struct tw_host *host = &look->d->host;
	uint64_t own = look->trace->events.count, i;

	look->node_of = array(look, look->trace->events.borrowed, sizeof(*look->node_of));
	for (i = host->all; i-- > host->count && !look->failed;)
		look->node_of[host->event[i] - own] = (uint32_t)i;
}

void tw_look_prepare(struct tw_look *look)
{
	look->kinds = array(look, look->trace->texts.count, sizeof(*look->kinds));
	if (!look->failed)
		find_leaves(look);
	if (!look->failed)
		mark_backward(look);
	if (!look->failed)
		index_copies(look);
	if (!look->failed)
		index_nodes(look);
	if (!look->failed)
		index_borrowed(look);
	if (!look->failed)
		tw_find_callers(look);
	if (!look->failed)
		look->layout_op = tw_outermost_of(
			look, (const char *const[]){ "aten::contiguous", "aten::clone", NULL });
	if (!look->failed)
		find_ranges(look);
	if (!look->failed)
		tw_ranges_of_kind(look, TW_HOST_OPTIMIZER_STEP, &look->optimizer);
	if (!look->failed)
		find_mode(look);
}
