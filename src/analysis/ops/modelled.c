#include "analysis/ops/modelled.h"

#include "analysis/signature.h"
#include "base/alloc.h"
#include "base/list.h"
#include "base/order.h"
#include "base/scope.h"
#include "base/search.h"
#include "base/sort.h"
#include "model/requests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What decides the work of a call. */
struct key {
	uint32_t name;
	uint32_t signature;
	uint32_t annotation; /* of the step around it, where the model asks for it */
	uint32_t transposed; /* what its kernel's name says of the matrices */
	uint32_t elements;   /* and of the elements of lists: see elements_of() */
	uint32_t backward;   /* 1: of its backward pass */
	uint32_t forward;    /* signature of its forward call, where the model asks for it */
};

/* An annotation with the requests of an inference step. */
struct step {
	int64_t start_ns, end_ns;
	uint32_t text;
	struct tw_requests requests;
};

struct builder {
	struct tw_modelled *m;
	const struct tw_derived *d;
	const struct tw_model **of_name; /* by text id */
	uint8_t *asked;	     /* by text id: the model was looked up, then takes_lists() */
	uint8_t *transposed; /* by text id: transposition_of() and ASKED */
	uint8_t *elements;   /* by text id: elements_of() and ASKED */
	struct tw_call *call, *forward;
	struct tw_work work;
	struct step *steps; /* in order of start */
	uint64_t step_count, step_capacity;
	bool failed;
};

/* ---- the tree */

static int find_ends(struct tw_modelled *m)
{
	const struct tw_host *host = &m->derived->host;
	uint64_t node;

	m->end = tw_alloc(m->allocator, (host->all + 1) * sizeof(*m->end));
	if (!m->end)
		return -1;
	for (node = 0; node < host->all; node++)
		m->end[node] = (uint32_t)node + 1;
	/* Children come after their parents. */
	for (node = host->all; node-- > 0;)
		if (host->parent[node] != TW_NONE && m->end[host->parent[node]] < m->end[node])
			m->end[host->parent[node]] = m->end[node];
	return 0;
}

/* GPU events by launching node; within a node they stay in order of start. */
static int find_launched(struct tw_modelled *m)
{
	const struct tw_gpu *gpu = &m->derived->gpu;
	struct tw_members members;

	if (tw_members_build(&members, tw_gpu_origins(m->derived), gpu->count,
			     (uint32_t)m->derived->host.all, m->allocator))
		return -1;
	m->first_gpu = members.first;
	m->gpu = members.list;
	return 0;
}

/* ---- what is asked of the surroundings of a call */

/* Whether any text could be the annotation of such a step: there are far fewer than events. */
static bool has_step_names(const struct tw_pool *texts)
{
	struct tw_requests requests;
	uint32_t i;

	for (i = 0; i < texts->count; i++)
		if (tw_requests_read(&requests, texts->entries[i].ptr, texts->entries[i].len))
			return true;
	return false;
}

/* Steps of inference servers in the trace, if any. */
static int find_steps(struct builder *b, const struct trawl_allocator *a)
{
	const struct trawl_trace *trace = b->d->trace;
	uint64_t i;

	if (!has_step_names(&trace->texts))
		return 0;
	for (i = 0; i < trace->events.count; i++) {
		const struct tw_pool_entry *name = &trace->texts.entries[trace->events.name[i]];
		struct step step;

		if (tw_class(trace, i) != TRAWL_CLASS_ANNOTATION || trace->events.phase[i] != 'X' ||
		    !tw_requests_read(&step.requests, name->ptr, name->len))
			continue;
		if (!tw_list_grow(&b->steps, &b->step_capacity, b->step_count, sizeof(*b->steps),
				  a))
			return -1;
		step.start_ns = trace->events.start_ns[i];
		step.end_ns = step.start_ns + trace->events.dur_ns[i];
		step.text = trace->events.name[i];
		b->steps[b->step_count++] = step;
	}
	return 0;
}

static int compare_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return TW_ORDER_BY(x, y, start_ns, text);
}

/* The step that was running when an event began, NULL: none. */
static const struct step *step_at(const struct builder *b, int64_t time_ns)
{
	size_t begun = TW_LOWER_BOUND(at, 0, b->step_count, b->steps[at].start_ns <= time_ns);

	return begun && time_ns < b->steps[begun - 1].end_ns ? &b->steps[begun - 1] : NULL;
}

/*
 * Transposed matrices, from a kernel's name: flags, with RECOGNIZED for a kind of name that has them,
 * and KNOWN for each matrix in it.  Source: Tensile's "C..._A...B..." index order and the suffix of
 * nvjet kernels, as TraceLens reads them.
 */
enum {
	NOT_SAID = 0,
	RECOGNIZED = 16,
	ASKED = 128,
	A_KNOWN = 4,
	A_TRANSPOSED = 1,
	B_KNOWN = 8,
	B_TRANSPOSED = 2
};

static unsigned transposition_of(const char *name)
{
	const char *indices = strstr(name, "Cijk_A"), *last;
	unsigned known = RECOGNIZED;

	if (indices) {
		if (!strncmp(indices + 4, "_Ailk_", 6))
			known |= A_KNOWN;
		else if (!strncmp(indices + 4, "_Alik_", 6))
			known |= A_KNOWN | A_TRANSPOSED;
		if (!strncmp(indices + 9, "_Bljk_", 6))
			known |= B_KNOWN;
		else if (!strncmp(indices + 9, "_Bjlk_", 6))
			known |= B_KNOWN | B_TRANSPOSED;
		return known;
	}
	if (!strncmp(name, "nvjet", 5) && (last = strrchr(name, '_')) && last[1] && last[2])
		return RECOGNIZED | A_KNOWN | B_KNOWN | (last[1] == 'T' ? A_TRANSPOSED : 0) |
		       (last[2] == 'T' ? B_TRANSPOSED : 0);
	return NOT_SAID;
}

static void add_transposition(struct tw_work *work, unsigned known)
{
	static const char *const texts[3][3] = {
		{ "(None, None)", "(None, False)", "(None, True)" },
		{ "(False, None)", "(False, False)", "(False, True)" },
		{ "(True, None)", "(True, False)", "(True, True)" },
	};
	unsigned a = known & A_KNOWN ? (known & A_TRANSPOSED ? 2 : 1) : 0;
	unsigned b = known & B_KNOWN ? (known & B_TRANSPOSED ? 2 : 1) : 0;

	if (known)
		tw_param_text(work, "transpose", texts[a][b]);
}

/*
 * Bytes of the elements that a kernel works on, as its name shows them: of the first tensor in the
 * low three bits, of others in the next three, 0 or the number's bits, as sizes are powers of 2.
 */
static unsigned elements_of(const char *name)
{
	unsigned bytes[2], code[2] = { 0, 0 }, i;

	tw_element_bytes_of_kernel(name, bytes);
	for (i = 0; i < 2; i++)
		for (; bytes[i]; bytes[i] >>= 1)
			code[i]++;
	return code[0] | code[1] << 3;
}

/*
 * Flags of the first kernel under the node with a recognized name; `known`, by text id, has what
 * was asked before, with ASKED.
 */
static unsigned known_under(const struct builder *b, uint64_t node, uint8_t *known,
			    unsigned (*ask)(const char *name))
{
	const struct tw_derived *d = b->d;
	uint64_t count, i;
	const uint32_t *gpu = tw_gpu_under(b->m, node, &count);

	for (i = 0; i < count; i++) {
		uint32_t name = d->trace->events.name[d->gpu.event[gpu[i]]];

		if (!known[name])
			known[name] = (uint8_t)(ASKED | ask(d->trace->texts.entries[name].ptr));
		if (known[name] != ASKED)
			return known[name] & ~ASKED;
	}
	return NOT_SAID;
}

static double element_bytes(unsigned code)
{
	return code ? (double)(1u << (code - 1)) : NAN;
}

/* ---- working out a signature */

static struct tw_slice slice_of(const struct builder *b, uint32_t text)
{
	const struct tw_pool_entry *entry = &b->d->trace->texts.entries[text];

	return (struct tw_slice){ text ? entry->ptr : "", text ? entry->len : 0 };
}

static void read_call(const struct builder *b, struct tw_call *call, uint32_t name,
		      uint32_t signature)
{
	const struct tw_signature *s = tw_groups_key(&b->m->signatures, signature);
	struct tw_call_texts texts = {
		slice_of(b, name),	 slice_of(b, s->dims),	   slice_of(b, s->types),
		slice_of(b, s->strides), slice_of(b, s->concrete),
	};

	tw_call_read(call, &texts);
}

static void keep_parameters(struct builder *b, struct tw_op_work *work)
{
	struct tw_modelled *m = b->m;
	unsigned i;

	work->parameters = m->parameter_count;
	for (i = 0; i < b->work.parameter_count; i++) {
		const struct tw_parameter *p = &b->work.parameters[i];

		if (!tw_list_grow(&m->parameters, &m->parameter_capacity, m->parameter_count,
				  sizeof(*m->parameters), m->allocator)) {
			b->failed = true;
			return;
		}
		m->parameters[m->parameter_count++] = (struct tw_op_parameter){
			p->name, tw_pool_intern(&m->texts, b->work.texts.ptr + p->at, p->len)
		};
		work->parameter_count++;
	}
}

static void work_out(struct builder *b, const struct tw_model *model, const struct key *key,
		     const struct step *step, struct tw_op_work *out)
{
	read_call(b, b->call, key->name, key->signature);
	if (step)
		b->call->requests = step->requests;
	b->call->list_bytes[0] = element_bytes(key->elements & 7);
	b->call->list_bytes[1] = element_bytes(key->elements >> 3);
	if (key->forward) {
		read_call(b, b->forward, key->name, key->forward);
		b->call->forward = b->forward;
	}
	*out = (struct tw_op_work){ .model = model,
				    .name = key->name,
				    .signature = key->signature };
	tw_model_run(model, key->backward, b->call, &b->work);
	add_transposition(&b->work, b->work.reason ? NOT_SAID : key->transposed);
	out->reason = b->work.reason;
	out->flops = b->work.flops;
	out->bytes = b->work.bytes;
	out->at_least = b->work.at_least;
	if (!out->reason) {
		char text[32];

		strncpy(out->spec, tw_compute_spec(&b->work, text), sizeof(out->spec) - 1);
		keep_parameters(b, out);
	}
	b->failed |= b->work.texts.failed;
}

/* The forward node of a backward one: the node or one above it is paired. TW_NONE: not known. */
static uint64_t forward_of(const struct builder *b, uint64_t node)
{
	unsigned level;

	for (level = 0; node != TW_NONE && level <= TW_LEVELS_TO_PAIR; level++) {
		uint32_t pair = tw_pair_at(b->m, node);

		if (pair != TW_NO_GROUP)
			return b->d->autograd.pairs[pair].forward;
		node = b->d->host.parent[node];
	}
	return TW_NONE;
}

/* Whether an operation is one of those whose arguments can be lists of tensors. */
static bool takes_lists(struct builder *b, uint32_t name)
{
	if (b->asked[name] == 1) {
		const struct tw_pool_entry *text = &b->d->trace->texts.entries[name];

		b->asked[name] = tw_aten_takes_lists(text->ptr, text->len) ? 3 : 2;
	}
	return b->asked[name] == 3;
}

/* Work of a call, or of its backward pass; worked out when its signature is new. */
static uint32_t work_of(struct builder *b, const struct tw_model *model, uint64_t node,
			bool backward)
{
	struct tw_modelled *m = b->m;
	uint64_t event = b->d->host.event[node], forward;
	const struct step *step = NULL;
	struct key key = { .name = b->d->trace->events.name[event],
			   .signature = tw_signature_at(m, node),
			   .backward = backward };
	uint32_t at, before = m->keys.count;

	if (b->step_count && !strcmp(model->sheet, "InferenceAttention")) {
		step = step_at(b, tw_launch_ns(b->d, node));
		key.annotation = step ? step->text : 0;
	}
	if (model->general && takes_lists(b, key.name))
		key.elements = known_under(b, node, b->elements, elements_of);
	if (!backward && !strcmp(model->sheet, "GEMM"))
		key.transposed = known_under(b, node, b->transposed, transposition_of);
	if (model->by_forward_call && (forward = forward_of(b, node)) != TW_NONE)
		key.forward = tw_signature_at(m, forward);
	at = tw_groups_add(&m->keys, &key);
	if (m->keys.failed || m->keys.count == before)
		return at;
	if (!tw_list_grow(&m->works, &m->work_capacity, at, sizeof(*m->works), m->allocator)) {
		b->failed = true;
		return TW_NO_GROUP;
	}
	work_out(b, model, &key, step, &m->works[at]);
	return at;
}

/* ---- which calls count */

static const struct tw_model *model_of(struct builder *b, uint64_t node)
{
	uint32_t name = b->d->trace->events.name[b->d->host.event[node]];

	if (tw_node_class(b->d, node) != TRAWL_CLASS_CPU_OP)
		return NULL;
	if (!b->asked[name]) {
		const struct tw_pool_entry *text = &b->d->trace->texts.entries[name];

		b->asked[name] = 1;
		b->of_name[name] = tw_model_of(text->ptr, text->len);
	}
	return b->of_name[name];
}

static bool has_modelled_parts(struct builder *b, uint64_t node)
{
	uint64_t i;

	for (i = node + 1; i < b->m->end[node]; i++)
		if (model_of(b, i) && !model_of(b, i)->general)
			return true;
	return false;
}

/* Whether GPU work was launched by the node, not by an operation inside it. */
static bool launches_itself(const struct builder *b, uint64_t node)
{
	uint64_t count, i;
	const uint32_t *gpu = tw_gpu_under(b->m, node, &count);

	for (i = 0; i < count; i++)
		if (tw_launching_op(b->d, tw_gpu_origins(b->d)[gpu[i]], false) == node)
			return true;
	return false;
}

/* Compiled kernels are known by name only; without usable arguments they have no model. */
static bool is_usable(const struct tw_op_work *work)
{
	return !work->reason || strcmp(work->model->sheet, "Triton");
}

static int add_call(struct tw_modelled *m, uint64_t node)
{
	if (!tw_list_grow(&m->calls, &m->call_capacity, m->call_count, sizeof(*m->calls),
			  m->allocator))
		return -1;
	m->calls[m->call_count++] = (uint32_t)node;
	return 0;
}

/* All nodes above have a modelled call with GPU work below them. */
static void mark_above(struct tw_modelled *m, uint64_t node)
{
	const uint32_t *parent = m->derived->host.parent;

	for (node = parent[node]; node != TW_NONE && !tw_is_above_modelled(m, node);
	     node = parent[node])
		m->of_node[node] |= TW_NODE_ABOVE;
}

/* Of each node once: its arguments lie far away in memory. */
static int find_signatures(struct builder *b)
{
	struct tw_modelled *m = b->m;
	struct tw_signature signature = { 0 };
	uint64_t node;

	/* Number 0 is that of no arguments. */
	tw_groups_add(&m->signatures, &signature);
	for (node = 0; node < b->d->host.all; node++) {
		if (!tw_gpu_count_under(m, node) && !model_of(b, node))
			continue;
		signature = tw_signature_texts(b->d->trace, b->d->host.event[node]);
		m->of_node[node] = tw_groups_add(&m->signatures, &signature);
	}
	return m->signatures.failed ? -1 : 0;
}

/* The modelled calls around a node, outermost first: one of a family, and of those without. */
struct around {
	struct {
		uint64_t end;
		const char *family;
	} calls[TW_SHEETS + 1];
	unsigned count;
};

/*
 * The work of a general model, of what has GPU work below it; what its arguments do not tell stays
 * without one. It makes no rows of its own, so nothing counts within it.
 */
static int add_general(struct builder *b, const struct tw_model *model, uint64_t node)
{
	uint32_t work;

	if (!tw_gpu_count_under(b->m, node))
		return 0;
	work = work_of(b, model, node, false);
	if (work == TW_NO_GROUP || b->failed)
		return -1;
	if (!b->m->works[work].reason)
		b->m->of_node[node] = (b->m->of_node[node] & TW_NODE_ABOVE) | TW_NODE_MODELLED |
				      work;
	return 0;
}

/* Whether a call of a family counts here, for itself: none of its family is around it. */
static bool counts(struct around *around, uint64_t node, const char *family)
{
	unsigned i;

	while (around->count && around->calls[around->count - 1].end <= node)
		around->count--;
	for (i = 0; i < around->count; i++)
		if (!strcmp(around->calls[i].family, family))
			return false;
	return true;
}

static int find_modelled_calls(struct builder *b)
{
	struct tw_modelled *m = b->m;
	uint64_t count = b->d->host.all, node;
	struct around around = { .count = 0 };

	m->of_node = tw_alloc_array(m->allocator, count + 1, sizeof(*m->of_node));
	if (!m->of_node || find_signatures(b))
		return -1;
	for (node = 0; node < count; node++) {
		const struct tw_model *model = model_of(b, node);
		uint32_t work;

		if (model && model->general) {
			if (add_general(b, model, node))
				return -1;
			continue;
		}
		if (!model || !counts(&around, node, model->sheet) ||
		    (model->composite && has_modelled_parts(b, node)))
			continue;
		work = work_of(b, model, node, false);
		if (work == TW_NO_GROUP || b->failed)
			return -1;
		if (!is_usable(&m->works[work]))
			continue;
		/* A lower bound is replaced by its parts, if they are complete. */
		if (m->works[work].at_least && has_modelled_parts(b, node) &&
		    !launches_itself(b, node))
			continue;
		m->of_node[node] = TW_NODE_MODELLED | work;
		if (add_call(m, node))
			return -1;
		if (tw_gpu_count_under(m, node) && !around.count)
			mark_above(m, node);
		/* What is not known of a call may be known of its parts. */
		if (m->works[work].reason)
			continue;
		around.calls[around.count].end = m->end[node];
		around.calls[around.count++].family = model->sheet;
	}
	return 0;
}

static uint64_t event_key(const void *host, uint32_t node)
{
	return ((const struct tw_host *)host)->event[node];
}

/* ---- backward passes */

static uint64_t forward_key(const void *pairs, uint32_t i)
{
	return ((const struct tw_autograd_pair *)pairs)[i].forward;
}

static uint64_t backward_key(const void *pairs, uint32_t i)
{
	return ((const struct tw_autograd_pair *)pairs)[i].backward;
}

static uint32_t *order_pairs(const struct tw_modelled *m, tw_sort_key_of *key)
{
	const struct tw_autograd *autograd = &m->derived->autograd;
	uint32_t *order = tw_alloc(m->allocator, (autograd->count + 1) * sizeof(*order)), i;

	if (!order)
		return NULL;
	for (i = 0; i < autograd->count; i++)
		order[i] = i;
	return tw_sort(order, autograd->count, key, autograd->pairs, m->allocator) ? NULL : order;
}

static int find_pairs(struct tw_modelled *m)
{
	uint64_t n = m->derived->autograd.count;

	m->by_forward = order_pairs(m, forward_key);
	m->by_backward = order_pairs(m, backward_key);
	m->backward_work = tw_alloc(m->allocator, (n + 1) * sizeof(*m->backward_work));
	return m->by_forward && m->by_backward && m->backward_work ? 0 : -1;
}

/* The first of the ordered pairs whose node, forward or backward, is at or after `node`. */
static uint64_t first_pair_from(const struct tw_modelled *m, const uint32_t *order, bool backward,
				uint64_t node)
{
	const struct tw_autograd_pair *pairs = m->derived->autograd.pairs;

	return TW_LOWER_BOUND(at, 0, m->derived->autograd.count,
			      (backward ? pairs[order[at]].backward : pairs[order[at]].forward) <
				      node);
}

uint32_t tw_pair_at(const struct tw_modelled *m, uint64_t node)
{
	const struct tw_derived *d = m->derived;
	uint64_t at;

	if (!d->autograd.count || !d->autograd.engine[d->trace->events.name[d->host.event[node]]])
		return TW_NO_GROUP;
	at = first_pair_from(m, m->by_backward, true, node);
	if (at == m->derived->autograd.count ||
	    m->derived->autograd.pairs[m->by_backward[at]].backward != node)
		return TW_NO_GROUP;
	return m->by_backward[at];
}

static void work_out_backward(struct builder *b)
{
	struct tw_modelled *m = b->m;
	uint64_t i;

	for (i = 0; i < m->derived->autograd.count; i++) {
		uint64_t forward = m->derived->autograd.pairs[i].forward;
		const struct tw_model *model = model_of(b, forward);
		uint32_t work;

		m->backward_work[i] = TW_NO_GROUP;
		if (!model || !model->backward)
			continue;
		work = work_of(b, model, forward, true);
		if (work != TW_NO_GROUP && !m->works[work].reason)
			m->backward_work[i] = work;
	}
}

void tw_pairs_under(const struct tw_modelled *m, uint64_t node, uint64_t *first, uint64_t *end)
{
	*first = first_pair_from(m, m->by_forward, false, node);
	*end = first_pair_from(m, m->by_forward, false, m->end[node]);
}

void tw_op_parameters(const struct tw_modelled *m, const struct tw_op_work *work,
		      struct tw_str *out)
{
	const char *between = "";
	uint32_t i;

	tw_str_add_char(out, '{');
	for (i = 0; i < work->parameter_count; i++) {
		const struct tw_op_parameter *p = &m->parameters[work->parameters + i];
		size_t len;
		const char *text = tw_pool_text(&m->texts, p->text, &len);

		if (!len)
			continue; /* not recorded */
		tw_str_addf(out, "%s'%s': ", between, p->name);
		tw_str_add(out, text, len);
		between = ", ";
	}
	tw_str_add_char(out, '}');
}

/* ---- making and freeing */

/* `a` is of what only the builder needs. */
static int build(struct builder *b, const struct trawl_allocator *a)
{
	struct tw_modelled *m = b->m;
	uint32_t texts = b->d->trace->texts.count;

	tw_groups_init(&m->keys, sizeof(struct key), m->allocator);
	tw_groups_init(&m->signatures, sizeof(struct tw_signature), m->allocator);
	tw_work_init(&b->work, a);
	b->of_name = tw_alloc_array(a, texts, sizeof(*b->of_name));
	b->asked = tw_alloc_array(a, texts, 1);
	b->transposed = tw_alloc_array(a, texts, 1);
	b->elements = tw_alloc_array(a, texts, 1);
	b->call = tw_alloc(a, sizeof(*b->call));
	b->forward = tw_alloc(a, sizeof(*b->forward));
	if (!b->of_name || !b->asked || !b->transposed || !b->elements || !b->call || !b->forward ||
	    tw_pool_init(&m->texts, m->allocator) || find_ends(m) || find_launched(m) ||
	    find_steps(b, a) || find_pairs(m))
		return -1;
	if (b->step_count)
		qsort(b->steps, b->step_count, sizeof(*b->steps), compare_steps);
	if (find_modelled_calls(b) || tw_sort(m->calls, m->call_count, event_key, &b->d->host, a))
		return -1;
	work_out_backward(b);
	return b->failed || m->keys.failed || m->texts.failed ? -1 : 0;
}

int tw_modelled_build(struct tw_modelled *m, const struct tw_derived *d,
		      const struct trawl_allocator *allocator)
{
	struct builder b = { .m = m, .d = d };
	struct tw_scope scope;
	int status;

	*m = (struct tw_modelled){ .derived = d, .allocator = allocator };
	tw_scope_begin(&scope, allocator);
	status = build(&b, &scope.allocator);
	tw_scope_end(&scope);
	return status;
}
