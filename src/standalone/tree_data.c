#include "standalone/tree_data.h"

#include "analysis/launches/siblings.h"
#include "analysis/signature.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "findings/findings.h"
#include "json/writer.h"
#include "table/table.h"

#include <math.h>
#include <string.h>

/* Of a category without an operation above the threshold, so many with the most time. */
#define FALLBACK_OPERATIONS 5
/* Around an operation, the innermost: as few as are enough, up to so many. */
#define FEW_CALLERS 64
#define MOST_CALLERS 1024
#define MOST_CALLEES 200
#define MODULE "nn.Module: "

/* ---- which operations */

static int64_t kernel_ns(const struct trawl_table *table, size_t row)
{
	return tw_table_cell(table, row, "Kernel Time (µs)_sum").integer;
}

static bool is_over_threshold(const struct tw_manifest *m, const struct tw_category_rows *category,
			      size_t row)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	if (category->kernel_ns > 0)
		facts.value[TW_FACT_percent_of_category] =
			100 * (double)kernel_ns(m->categories.table, row) /
			(double)category->kernel_ns;
	return tw_level_is_yes("tree_operation", &facts);
}

/* Kernels of one graph launch are rows of the same event: one tree. `first` of the category. */
static void add_tree(struct tw_trees *trees, size_t first, size_t row)
{
	const struct trawl_table *table = trees->manifest->categories.table;
	uint32_t event = (uint32_t)tw_table_cell(table, row, "ex_UID").integer;
	size_t i;

	for (i = first; i < trees->count; i++)
		if (trees->items[i].event == event)
			return;
	trees->items[trees->count++] = (struct tw_tree){
		.row = row,
		.event = event,
		.node = TW_NONE,
		.forward = TW_NONE,
	};
}

static void choose(struct tw_trees *trees)
{
	const struct tw_manifest *m = trees->manifest;
	size_t c, i;

	for (c = 0; c < m->categories.count; c++) {
		const struct tw_category_rows *category = &m->categories.items[c];

		trees->first[c] = trees->count;
		for (i = 0; i < category->count; i++)
			if (is_over_threshold(m, category, category->rows[i]))
				add_tree(trees, trees->first[c], category->rows[i]);
		if (trees->count > trees->first[c])
			continue;
		for (i = 0; i < category->count && i < FALLBACK_OPERATIONS; i++)
			add_tree(trees, trees->first[c], category->rows[i]);
	}
	trees->first[c] = trees->count;
}

/* ---- where they are */

/* The forward operation of a pass back through it, from a node of that pass. */
static uint32_t forward_of(const struct tw_analysis_input *in, uint64_t node)
{
	unsigned level;

	for (level = 0; node != TW_NONE && level < TW_LEVELS_TO_PAIR; level++) {
		uint32_t pair = tw_pair_at(in->modelled, node);

		if (pair != TW_NO_GROUP)
			return in->derived->autograd.pairs[pair].forward;
		node = in->derived->host.parent[node];
	}
	return TW_NONE;
}

/* Host nodes of the chosen events: one pass. 0 or -1, out of memory. */
static int find_nodes(struct tw_trees *trees, const struct tw_analysis_input *in)
{
	const struct tw_derived *d = in->derived;
	size_t bytes = in->trace->events.count / 8 + 1, i;
	uint8_t *wanted = tw_alloc_array(in->allocator, bytes, 1);
	uint64_t node;

	if (!wanted)
		return -1;
	for (i = 0; i < trees->count; i++)
		wanted[trees->items[i].event / 8] |= (uint8_t)(1u << trees->items[i].event % 8);
	for (node = 0; node < d->host.count; node++) {
		uint32_t event = d->host.event[node];

		if (!(wanted[event / 8] & 1u << event % 8))
			continue;
		for (i = 0; i < trees->count; i++)
			if (trees->items[i].event == event) {
				trees->items[i].node = (uint32_t)node;
				trees->items[i].forward = forward_of(in, node);
			}
	}
	tw_free(in->allocator, wanted, bytes);
	return 0;
}

static bool any_is_full(const struct tw_trees *trees)
{
	size_t i;

	for (i = 0; i < 2 * trees->count; i++)
		if (tw_enclosing_is_full(&trees->enclosing, i))
			return true;
	return false;
}

static int find_callers(struct tw_trees *trees, struct tw_arena *arena,
			const struct tw_analysis_input *in)
{
	uint32_t *targets = tw_arena_alloc(arena, (2 * trees->count + 1) * sizeof(*targets));
	unsigned most = FEW_CALLERS / 2;
	int status;
	size_t i;

	if (!targets)
		return -1;
	for (i = 0; i < trees->count; i++) {
		const struct tw_tree *tree = &trees->items[i];

		targets[i] = tree->event;
		targets[trees->count + i] = tree->forward == TW_NONE ?
						    tree->event :
						    in->derived->host.event[tree->forward];
	}
	do {
		tw_trees_release(trees);
		most *= 2;
		status = tw_enclosing_init(&trees->enclosing, in->trace, targets, 2 * trees->count,
					   TW_CLASS_BIT(TRAWL_CLASS_PYTHON) |
						   TW_CLASS_BIT(TRAWL_CLASS_ANNOTATION) |
						   TW_CLASS_BIT(TRAWL_CLASS_CPU_OP),
					   most, in->allocator);
	} while (!status && most < MOST_CALLERS && any_is_full(trees));
	return status;
}

int tw_trees_init(struct tw_trees *trees, struct tw_arena *arena,
		  const struct tw_manifest *manifest, struct trawl_error *err)
{
	const struct tw_analysis_input *in = tw_report_input(manifest->report);
	const struct trawl_table *table = manifest->categories.table;
	size_t rows = table ? trawl_table_rows(table) : 0;

	*trees = (struct tw_trees){ .manifest = manifest };
	trees->items = tw_arena_alloc(arena, (rows + 1) * sizeof(*trees->items));
	trees->first =
		tw_arena_alloc(arena, (manifest->categories.count + 1) * sizeof(*trees->first));
	if (!trees->items || !trees->first)
		return tw_no_memory(err);
	choose(trees);
	if (find_nodes(trees, in) || find_callers(trees, arena, in)) {
		tw_trees_release(trees);
		return tw_no_memory(err);
	}
	return 0;
}

void tw_trees_release(struct tw_trees *trees)
{
	if (trees->enclosing.allocator)
		tw_enclosing_release(&trees->enclosing);
}

/* ---- JSON */

struct writer {
	struct tw_json json;
	const struct tw_trees *trees;
	const struct tw_analysis_input *in;
	struct tw_str text; /* scratch */
};

static void add_event_name(struct writer *w, uint32_t event)
{
	const struct tw_pool_entry *name =
		&w->in->trace->texts.entries[w->in->trace->events.name[event]];

	tw_json_key(&w->json, "name");
	tw_json_string(&w->json, name->ptr, name->len);
}

static void add_type(struct writer *w, const char *type)
{
	tw_json_key(&w->json, "type");
	tw_json_cstr(&w->json, type);
}

static const char *event_text(const struct writer *w, uint32_t event)
{
	return w->in->trace->texts.entries[w->in->trace->events.name[event]].ptr;
}

static bool is_module(const struct writer *w, uint32_t event)
{
	return !strncmp(event_text(w, event), MODULE, sizeof(MODULE) - 1);
}

static const char *caller_type(const struct writer *w, uint32_t event)
{
	switch (tw_class(w->in->trace, event)) {
	case TRAWL_CLASS_PYTHON:
		return is_module(w, event) ? "module" : "python";
	case TRAWL_CLASS_ANNOTATION:
		return "annotation";
	default:
		return "operation";
	}
}

/* Up to the outermost module; everything where there is none. Returns whether there is one. */
static bool add_callers(struct writer *w, uint64_t target)
{
	unsigned depth, end = 0;
	uint32_t event;
	bool modules = false;

	for (depth = 0;
	     (event = tw_enclosing_at(&w->trees->enclosing, target, depth)) != TW_NOT_ENCLOSED;
	     depth++)
		if (is_module(w, event)) {
			modules = true;
			end = depth + 1;
		}
	if (!modules)
		end = depth;
	for (depth = 0; depth < end; depth++) {
		event = tw_enclosing_at(&w->trees->enclosing, target, depth);
		tw_json_object(&w->json, TW_JSON_INLINE);
		add_event_name(w, event);
		add_type(w, caller_type(w, event));
		tw_json_end(&w->json);
	}
	return modules;
}

/* Backward operations run in a thread without modules: those of the forward pass say where. */
static void add_parent_chain(struct writer *w, size_t i)
{
	const struct tw_tree *tree = &w->trees->items[i];

	tw_json_key(&w->json, "parent_chain");
	tw_json_array(&w->json, TW_JSON_LINES);
	if (!add_callers(w, i) && tree->forward != TW_NONE) {
		tw_json_object(&w->json, TW_JSON_INLINE);
		add_event_name(w, w->in->derived->host.event[tree->forward]);
		add_type(w, "forward");
		tw_json_end(&w->json);
		add_callers(w, w->trees->count + i);
	}
	tw_json_end(&w->json);
}

/* Shapes or types in the notation of the tables; absent when not recorded. */
static void add_argument(struct writer *w, const char *key, uint32_t text)
{
	const struct tw_pool_entry *json = &w->in->trace->texts.entries[text];

	if (!text)
		return;
	tw_str_clear(&w->text);
	tw_python_repr(json->ptr, json->len, &w->text);
	tw_json_key(&w->json, key);
	tw_json_string(&w->json, w->text.ptr ? w->text.ptr : "", w->text.len);
}

static void add_callee(struct writer *w, uint32_t event, const char *type, unsigned depth,
		       int64_t ns)
{
	tw_json_object(&w->json, TW_JSON_INLINE);
	add_event_name(w, event);
	add_type(w, type);
	tw_json_key(&w->json, "depth");
	tw_json_integer(&w->json, depth);
	tw_json_key(&w->json, "dur_us");
	if (ns == TRAWL_TIME_NONE)
		tw_json_null(&w->json);
	else
		tw_json_decimal(&w->json, ns, 3);
	if (!strcmp(type, "operation")) {
		struct tw_signature s = tw_signature_texts(w->in->trace, event);

		add_argument(w, "input_dims", s.dims);
		add_argument(w, "input_type", s.types);
	}
	tw_json_end(&w->json);
}

/* The node's own GPU events, at most so many. Returns how many. */
static size_t add_kernels(struct writer *w, uint64_t node, unsigned depth, size_t most)
{
	const struct tw_modelled *m = w->in->modelled;
	const struct tw_gpu *gpu = &w->in->derived->gpu;
	uint64_t first = m->first_gpu[node], count = m->first_gpu[node + 1] - first, i;

	for (i = 0; i < count && i < most; i++) {
		uint32_t g = m->gpu[first + i];

		add_callee(w, gpu->event[g], "kernel", depth, gpu->end_ns[g] - gpu->start_ns[g]);
	}
	return i;
}

static unsigned depth_below(const struct tw_derived *d, uint64_t node, uint64_t root)
{
	unsigned depth = 0;

	for (; node != root; node = d->host.parent[node])
		depth++;
	return depth;
}

/* Returns how many calls and kernels were left out. */
static size_t add_subtree(struct writer *w, const struct tw_tree *tree)
{
	const struct tw_derived *d = w->in->derived;
	uint64_t node = tree->node, end, kernels;
	size_t shown = 0;

	tw_json_key(&w->json, "subtree");
	tw_json_array(&w->json, TW_JSON_LINES);
	if (node == TW_NONE) {
		tw_json_end(&w->json);
		return 0;
	}
	end = w->in->modelled->end[node];
	tw_gpu_under(w->in->modelled, node, &kernels);
	for (; node < end && shown < MOST_CALLEES; node++) {
		unsigned depth = depth_below(d, node, tree->node);
		uint32_t event = d->host.event[node];

		add_callee(w, event,
			   tw_node_class(d, node) == TRAWL_CLASS_CPU_OP ? "operation" : "runtime",
			   depth, w->in->trace->events.dur_ns[event]);
		shown++;
		shown += add_kernels(w, node, depth + 1, MOST_CALLEES - shown);
	}
	tw_json_end(&w->json);
	return end - tree->node + kernels - shown;
}

/* ---- what runs beside it */

static void add_siblings(struct writer *w, const struct tw_siblings *s)
{
	size_t i;

	tw_json_key(&w->json, "siblings");
	tw_json_array(&w->json, TW_JSON_LINES);
	for (i = 0; i < s->count; i++) {
		tw_json_object(&w->json, TW_JSON_INLINE);
		add_event_name(w, w->in->derived->host.event[s->items[i].node]);
		tw_json_key(&w->json, "category");
		tw_json_cstr(&w->json, s->items[i].category);
		tw_json_key(&w->json, "time_us");
		tw_json_decimal(&w->json, s->items[i].gpu_ns, 3);
		tw_json_key(&w->json, "kernels");
		tw_json_integer(&w->json, (int64_t)s->items[i].gpu_events);
		if (i == s->self) {
			tw_json_key(&w->json, "self");
			tw_json_bool(&w->json, true);
		}
		tw_json_end(&w->json);
	}
	tw_json_end(&w->json);
}

static bool copies_to_host(const struct writer *w, uint32_t node)
{
	const struct tw_gpu *gpu = &w->in->derived->gpu;
	uint64_t count, i;
	const uint32_t *under = tw_gpu_under(w->in->modelled, node, &count);

	for (i = 0; i < count; i++)
		if (tw_kernel_has(TW_TRAIT_HOST_COPY, event_text(w, gpu->event[under[i]])))
			return true;
	return false;
}

/* Work that a compiler can put into one kernel with what stands beside it. */
static bool is_fusible(const struct writer *w, const struct tw_sibling *sibling)
{
	static const char *const kinds[] = { "elementwise", "reduce", "NORM_fwd", "RMSNorm" };
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(sibling->category, kinds[i]))
			return !copies_to_host(w, sibling->node);
	return false;
}

/* Of the operations beside each other. */
struct chain {
	size_t first, end;
};

/* The run of fusible operations around the operation itself. */
static struct chain find_chain(const struct writer *w, const struct tw_siblings *s,
			       struct tw_facts *facts)
{
	struct chain chain = { .first = s->self, .end = s->self };
	int64_t ns = 0, longest_ns = 0;
	size_t i;

	if (!s->count || !is_fusible(w, &s->items[s->self]))
		return chain;
	while (chain.first && is_fusible(w, &s->items[chain.first - 1]))
		chain.first--;
	while (chain.end < s->count && is_fusible(w, &s->items[chain.end]))
		chain.end++;
	for (i = chain.first; i < chain.end; i++) {
		ns += s->items[i].gpu_ns;
		if (s->items[i].gpu_ns > longest_ns)
			longest_ns = s->items[i].gpu_ns;
	}
	facts->value[TW_FACT_chain_count] = (double)(chain.end - chain.first);
	facts->value[TW_FACT_chain_us] = (double)ns / 1e3;
	facts->value[TW_FACT_chain_longest_us] = (double)longest_ns / 1e3;
	return chain;
}

/* The innermost module in which the operations beside each other are, TW_NOT_ENCLOSED: none. */
static uint32_t module_of(const struct writer *w, const struct tw_siblings *s, uint64_t target)
{
	bool inside = false;
	unsigned depth;
	uint32_t event;

	for (depth = 0;
	     (event = tw_enclosing_at(&w->trees->enclosing, target, depth)) != TW_NOT_ENCLOSED;
	     depth++) {
		inside |= event == s->event;
		if (inside && is_module(w, event))
			return event;
	}
	return TW_NOT_ENCLOSED;
}

static bool same_call(const struct writer *w, uint32_t a, uint32_t b)
{
	const struct trawl_trace *trace = w->in->trace;

	return trace->events.name[a] == trace->events.name[b] &&
	       tw_signature_texts(trace, a).dims == tw_signature_texts(trace, b).dims;
}

/* Members in order; what they are and work on, in one number; how often the operation is in it. */
static void add_chain(struct writer *w, const struct tw_siblings *s, const struct chain *chain,
		      uint64_t target)
{
	uint32_t module = module_of(w, s, target);
	const uint32_t *event = w->in->derived->host.event;
	uint64_t id = 0;
	unsigned same = 0;
	size_t i;

	tw_json_key(&w->json, "chain");
	tw_json_array(&w->json, TW_JSON_INLINE);
	for (i = chain->first; i < chain->end; i++) {
		uint32_t member = event[s->items[i].node];
		const struct tw_pool_entry *dims =
			&w->in->trace->texts.entries[tw_signature_texts(w->in->trace, member).dims];

		tw_json_cstr(&w->json, event_text(w, member));
		id = tw_hash_mix(id ^ tw_hash_fixed(event_text(w, member),
						    strlen(event_text(w, member))),
				 TW_HASH_K1 ^ tw_hash_fixed(dims->ptr, dims->len));
		same += same_call(w, member, event[s->items[s->self].node]);
	}
	tw_json_end(&w->json);
	tw_str_clear(&w->text);
	tw_str_addf(&w->text, "%016llx", (unsigned long long)id);
	tw_json_key(&w->json, "chain_id");
	tw_json_cstr(&w->json, chain->end > chain->first ? w->text.ptr : NULL);
	tw_json_key(&w->json, "chain_under");
	tw_json_cstr(&w->json, chain->end == chain->first || module == TW_NOT_ENCLOSED ?
				       NULL :
				       event_text(w, module));
	tw_json_key(&w->json, "chain_same");
	tw_json_integer(&w->json, same);
}

/* A softmax with a matrix product before and one behind it, among what runs beside the operation. */
static void find_attention(const struct writer *w, const struct tw_siblings *s,
			   struct tw_facts *facts)
{
	bool product = false, between = false, found = false;
	size_t i;

	for (i = 0; i < s->count && !found; i++) {
		const char *name = event_text(w, w->in->derived->host.event[s->items[i].node]);
		bool is_product = !strcmp(s->items[i].category, "GEMM");

		found = between && is_product;
		product |= is_product;
		between |= product && strstr(name, "softmax");
	}
	facts->value[TW_FACT_unfused_attention] = found;
}

static void add_note(struct writer *w, const char *format, size_t number)
{
	tw_str_clear(&w->text);
	tw_str_addf(&w->text, format, number);
	tw_json_string(&w->json, w->text.ptr ? w->text.ptr : "", w->text.len);
}

/* What was left out of the tree. */
static void add_rest(struct writer *w, size_t i, size_t left_out, const struct tw_siblings *s)
{
	const struct tw_trees *t = w->trees;

	if (tw_enclosing_is_full(&t->enclosing, i) ||
	    tw_enclosing_is_full(&t->enclosing, t->count + i))
		add_note(w, "the callers may go on: the %zu innermost are looked at",
			 t->enclosing.most);
	if (left_out)
		add_note(w, "the subtree goes on: %zu more calls and kernels", left_out);
	if (s->left_out)
		add_note(w, "the siblings go on: %zu more with GPU work", s->left_out);
}

static void add_notes(struct writer *w, const struct tw_facts *facts)
{
	const struct tw_rule *rule = NULL;
	bool fusion = tw_rule_next("fusion", facts, NULL);

	tw_json_key(&w->json, "fusion_opportunity");
	tw_json_bool(&w->json, fusion);
	tw_json_key(&w->json, "notes");
	tw_json_array(&w->json, TW_JSON_LINES);
	while ((rule = tw_rule_next("fusion", facts, rule))) {
		tw_str_clear(&w->text);
		tw_rule_text(&w->text, rule->issue, facts);
		tw_json_string(&w->json, w->text.ptr, w->text.len);
	}
}

static void add_facts(struct writer *w, const struct tw_facts *facts)
{
	tw_json_key(&w->json, "chain_count");
	tw_json_rounded(&w->json, facts->value[TW_FACT_chain_count], 0);
	tw_json_key(&w->json, "chain_us");
	tw_json_rounded(&w->json, facts->value[TW_FACT_chain_us], 3);
	tw_json_key(&w->json, "chain_longest_us");
	tw_json_rounded(&w->json, facts->value[TW_FACT_chain_longest_us], 3);
	tw_json_key(&w->json, "unfused_attention");
	tw_json_bool(&w->json, facts->value[TW_FACT_unfused_attention] > 0);
}

static void add_cell(struct writer *w, const char *key, struct trawl_cell cell)
{
	tw_json_key(&w->json, key);
	if (cell.state == TRAWL_CELL_MISSING)
		tw_json_null(&w->json);
	else
		tw_json_string(&w->json, cell.text, cell.text_len);
}

static void add_tree_of(struct writer *w, size_t i)
{
	const struct tw_tree *tree = &w->trees->items[i];
	const struct trawl_table *table = w->trees->manifest->categories.table;
	struct tw_siblings siblings = { .count = 0 };
	struct tw_facts facts;
	struct chain chain;
	char uid[16] = "";
	size_t left_out;

	tw_str_clear(&w->text);
	tw_str_add_int(&w->text, tree->event);
	if (w->text.ptr)
		strncat(uid, w->text.ptr, sizeof(uid) - 1);
	tw_facts_init(&facts);
	tw_json_key(&w->json, uid);
	tw_json_object(&w->json, TW_JSON_LINES);
	add_cell(w, "op", tw_table_cell(table, tree->row, "name"));
	tw_json_key(&w->json, "ex_uid");
	tw_json_integer(&w->json, tree->event);
	tw_json_key(&w->json, "call_count");
	tw_json_integer(&w->json, tw_table_cell(table, tree->row, "operation_count").integer);
	tw_json_key(&w->json, "time_ms");
	tw_json_rounded(&w->json, (double)kernel_ns(table, tree->row) / 1e6, 3);
	add_cell(w, "input_dims", tw_table_cell(table, tree->row, "Input Dims"));
	add_parent_chain(w, i);
	left_out = add_subtree(w, tree);
	if (tree->node != TW_NONE)
		tw_siblings_of(&siblings, w->in, tree->node, &w->trees->enclosing, i);
	add_siblings(w, &siblings);
	chain = find_chain(w, &siblings, &facts);
	find_attention(w, &siblings, &facts);
	add_facts(w, &facts);
	add_chain(w, &siblings, &chain, i);
	add_notes(w, &facts);
	add_rest(w, i, left_out, &siblings);
	tw_json_end(&w->json);
	tw_json_end(&w->json);
}

void tw_trees_json(struct tw_str *out, const struct tw_trees *trees,
		   const struct tw_category_rows *category)
{
	size_t c = (size_t)(category - trees->manifest->categories.items), i;
	struct writer w = { .trees = trees, .in = tw_report_input(trees->manifest->report) };

	tw_str_init(&w.text, w.in->allocator);
	tw_json_init(&w.json, out);
	tw_json_object(&w.json, TW_JSON_LINES);
	for (i = trees->first[c]; i < trees->first[c + 1]; i++)
		add_tree_of(&w, i);
	tw_json_end(&w.json);
	tw_json_finish(&w.json);
	out->failed |= w.text.failed;
	tw_str_release(&w.text);
}
