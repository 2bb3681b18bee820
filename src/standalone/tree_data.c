/*
 * Of the operations that matter most in a category, who calls them, what they call, and what runs beside
 * them: <category>_tree_data.json.
 */
#include "standalone/manifest.h"

#include "analysis/analysis.h"
#include "analysis/launches/enclosing.h"
#include "analysis/launches/siblings.h"
#include "analysis/signature.h"
#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a category without an operation above the threshold, so many with the most time. */
#define FALLBACK_OPERATIONS 5
/* Around an operation, the innermost: as few as are enough, up to so many. */
#define FEW_CALLERS 64
#define MOST_CALLERS 1024
#define MOST_CALLEES 200
#define MODULE "nn.Module: "

/* ---- members */

#define F(kind, member, key, ...) TW_FIELD(struct tw_caller, kind, member, key, __VA_ARGS__)
static const struct tw_member frame_fields[] = { F(PLAIN, name, "name"), F(PLAIN, type, "type") };
#undef F
static const struct tw_fields frames = TW_FIELDS(struct tw_caller, frame_fields, .inlined = true);

#define F(kind, member, key, ...) TW_FIELD(struct tw_callee, kind, member, key, __VA_ARGS__)
static const struct tw_member callee_fields[] = {
	F(PLAIN, name, "name"),
	F(PLAIN, type, "type"),
	F(COUNT, depth, "depth"),
	F(NS, dur_ns, "dur_us", 3),
	F(TEXT, input_dims, "input_dims", .if_known = true),
	F(TEXT, input_type, "input_type", .if_known = true),
};
#undef F
const struct tw_fields tw_callee_fields =
	TW_FIELDS(struct tw_callee, callee_fields, .inlined = true);

#define F(kind, member, key, ...) TW_FIELD(struct tw_neighbour, kind, member, key, __VA_ARGS__)
static const struct tw_member neighbour_fields[] = {
	F(PLAIN, name, "name"),
	F(PLAIN, category, "category"),
	F(NS, time_ns, "time_us", 3),
	F(COUNT, kernels, "kernels"),
	F(BOOL, self, "self", .if_known = true),
};
#undef F
static const struct tw_fields neighbours =
	TW_FIELDS(struct tw_neighbour, neighbour_fields, .inlined = true);

#define F(kind, member, key, ...) TW_FIELD(struct tw_tree, kind, member, key, __VA_ARGS__)
static const struct tw_member tree_fields[] = {
	F(PLAIN, op, "op"),
	F(COUNT, uid, "ex_uid"),
	F(COUNT, call_count, "call_count"),
	F(REAL, time_ms, "time_ms", 3),
	F(PLAIN, input_dims, "input_dims"),
	F(LIST, callers, "parent_chain", .of = &frames),
	F(LIST, callees, "subtree", .of = &tw_callee_fields),
	F(LIST, neighbours, "siblings", .of = &neighbours),
	F(BOOL, unfused_attention, "unfused_attention"),
	F(TEXTS, notes, "notes"),
};
#undef F
const struct tw_fields tw_tree_fields = TW_FIELDS(struct tw_tree, tree_fields);

/* ---- which operations */

/* An operation that is looked at: a row of a category. */
struct place {
	struct tw_prepared_category *category;
	size_t row;	  /* of unified_perf_summary */
	uint32_t event;	  /* an example of its calls */
	uint32_t node;	  /* of the host, TW_NONE: it is none */
	uint32_t forward; /* host node of the forward operation of a backward one, TW_NONE: none */
};

struct trees {
	const struct tw_manifest *manifest;
	const struct tw_analysis_input *in;
	struct tw_arena *arena;
	struct place *items;
	size_t count;
	/* Of the operations, then of their forward operations in the same order. */
	struct tw_enclosing around;
	struct tw_str text; /* scratch */
};

static void release(struct trees *trees)
{
	if (trees->around.allocator)
		tw_enclosing_release(&trees->around);
}

static int64_t kernel_ns(const struct trawl_table *table, size_t row)
{
	return tw_table_cell(table, row, "Kernel Time (µs)_sum").integer;
}

static bool is_over_threshold(const struct tw_manifest *m,
			      const struct tw_prepared_category *category, size_t row)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	if (category->kernel_ns > 0)
		facts.value[TW_FACT_percent_of_category] =
			100 * (double)kernel_ns(m->table, row) / category->kernel_ns;
	return tw_level_is_yes("tree_operation", &facts);
}

/* Kernels of one graph launch are rows of the same event: one tree. `first` of the category. */
static void add_tree(struct trees *trees, size_t first, struct tw_prepared_category *category,
		     size_t row)
{
	uint32_t event = (uint32_t)tw_table_cell(trees->manifest->table, row, "ex_UID").integer;
	size_t i;

	for (i = first; i < trees->count; i++)
		if (trees->items[i].event == event)
			return;
	category->trees.count++;
	trees->items[trees->count++] = (struct place){ category, row, event, TW_NONE, TW_NONE };
}

static void choose(struct trees *trees)
{
	const struct tw_manifest *m = trees->manifest;
	size_t c, i;

	for (c = 0; c < m->categories.count; c++) {
		struct tw_prepared_category *category = &m->categories.at[c];
		size_t first = trees->count;

		for (i = 0; i < category->ops_count; i++)
			if (is_over_threshold(m, category, category->rows[i]))
				add_tree(trees, first, category, category->rows[i]);
		if (trees->count > first)
			continue;
		for (i = 0; i < category->ops_count && i < FALLBACK_OPERATIONS; i++)
			add_tree(trees, first, category, category->rows[i]);
	}
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
static int find_nodes(struct trees *trees, const struct tw_analysis_input *in)
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

static bool any_is_full(const struct trees *trees)
{
	size_t i;

	for (i = 0; i < 2 * trees->count; i++)
		if (tw_enclosing_is_full(&trees->around, i))
			return true;
	return false;
}

static int find_callers(struct trees *trees, struct tw_arena *arena,
			const struct tw_analysis_input *in)
{
	uint32_t *targets = tw_arena_alloc(arena, (2 * trees->count + 1) * sizeof(*targets));
	unsigned most = FEW_CALLERS / 2;
	int status;
	size_t i;

	if (!targets)
		return -1;
	for (i = 0; i < trees->count; i++) {
		const struct place *tree = &trees->items[i];

		targets[i] = tree->event;
		targets[trees->count + i] = tree->forward == TW_NONE ?
						    tree->event :
						    in->derived->host.event[tree->forward];
	}
	do {
		release(trees);
		most *= 2;
		status = tw_enclosing_init(&trees->around, in->trace, targets, 2 * trees->count,
					   TW_CLASS_BIT(TRAWL_CLASS_PYTHON) |
						   TW_CLASS_BIT(TRAWL_CLASS_ANNOTATION) |
						   TW_CLASS_BIT(TRAWL_CLASS_CPU_OP),
					   most, in->allocator);
	} while (!status && most < MOST_CALLERS && any_is_full(trees));
	return status;
}

/* ---- a tree */

static const char *event_text(const struct trees *t, uint32_t event)
{
	return t->in->trace->texts.entries[t->in->trace->events.name[event]].ptr;
}

static bool is_module(const struct trees *t, uint32_t event)
{
	return !strncmp(event_text(t, event), MODULE, sizeof(MODULE) - 1);
}

static const char *caller_type(const struct trees *t, uint32_t event)
{
	switch (tw_class(t->in->trace, event)) {
	case TRAWL_CLASS_PYTHON:
		return is_module(t, event) ? "module" : "python";
	case TRAWL_CLASS_ANNOTATION:
		return "annotation";
	default:
		return "operation";
	}
}

/* Up to the outermost module; everything where there is none. Returns whether there is one. */
static bool add_callers(const struct trees *t, uint64_t target, struct tw_tree *tree)
{
	unsigned depth, end = 0;
	uint32_t event;
	bool modules = false;

	for (depth = 0; (event = tw_enclosing_at(&t->around, target, depth)) != TW_NOT_ENCLOSED;
	     depth++)
		if (is_module(t, event)) {
			modules = true;
			end = depth + 1;
		}
	if (!modules)
		end = depth;
	for (depth = 0; depth < end; depth++) {
		event = tw_enclosing_at(&t->around, target, depth);
		tree->callers.at[tree->callers.count++] =
			(struct tw_caller){ event_text(t, event), caller_type(t, event) };
	}
	return modules;
}

/* Backward operations run in a thread without modules: those of the forward pass say where. */
static void add_parent_chain(const struct trees *t, size_t i, struct tw_tree *tree)
{
	uint32_t forward = t->items[i].forward;

	tree->callers.at =
		tw_arena_array(t->arena, 2 * (size_t)t->around.most + 1, sizeof(*tree->callers.at));
	if (!tree->callers.at || add_callers(t, i, tree) || forward == TW_NONE)
		return;
	tree->callers.at[tree->callers.count++] =
		(struct tw_caller){ event_text(t, t->in->derived->host.event[forward]), "forward" };
	add_callers(t, t->count + i, tree);
}

/* Keeps what was written; NULL when out of memory. */
static const char *keep(struct trees *t)
{
	return t->text.failed ?
		       NULL :
		       tw_arena_copy(t->arena, t->text.ptr ? t->text.ptr : "", t->text.len);
}

/* Shapes or types in the notation of the tables; NULL when not recorded. */
static const char *argument(struct trees *t, uint32_t text)
{
	const struct tw_pool_entry *json = &t->in->trace->texts.entries[text];

	if (!text)
		return NULL;
	tw_str_clear(&t->text);
	tw_python_repr(json->ptr, json->len, &t->text);
	return keep(t);
}

static void add_callee(struct trees *t, struct tw_tree *tree, uint32_t event, const char *type,
		       unsigned depth, int64_t ns)
{
	struct tw_callee *callee = &tree->callees.at[tree->callees.count++];

	*callee = (struct tw_callee){ .name = event_text(t, event),
				      .type = type,
				      .depth = depth,
				      .dur_ns = ns };
	if (*type == 'o') {
		struct tw_signature s = tw_signature_texts(t->in->trace, event);

		callee->input_dims = argument(t, s.dims);
		callee->input_type = argument(t, s.types);
	}
}

/* The node's own GPU events. */
static void add_kernels(struct trees *t, struct tw_tree *tree, uint64_t node, unsigned depth)
{
	const struct tw_modelled *m = t->in->modelled;
	const struct tw_gpu *gpu = &t->in->derived->gpu;
	uint64_t i;

	for (i = m->first_gpu[node];
	     i < m->first_gpu[node + 1] && tree->callees.count < MOST_CALLEES; i++) {
		uint32_t g = m->gpu[i];

		add_callee(t, tree, gpu->event[g], "kernel", depth,
			   gpu->end_ns[g] - gpu->start_ns[g]);
	}
}

static unsigned depth_below(const struct tw_derived *d, uint64_t node, uint64_t root)
{
	unsigned depth = 0;

	for (; node != root; node = d->host.parent[node])
		depth++;
	return depth;
}

/* Returns how many calls and kernels were left out. */
static size_t add_subtree(struct trees *t, uint64_t root, struct tw_tree *tree)
{
	const struct tw_derived *d = t->in->derived;
	uint64_t node = root, end, kernels;

	if (node == TW_NONE)
		return 0;
	end = t->in->modelled->end[node];
	tw_gpu_under(t->in->modelled, node, &kernels);
	tree->callees.at = tw_arena_array(
		t->arena, end - root + kernels < MOST_CALLEES ? end - root + kernels : MOST_CALLEES,
		sizeof(*tree->callees.at));
	for (; tree->callees.at && node < end && tree->callees.count < MOST_CALLEES; node++) {
		unsigned depth = depth_below(d, node, root);
		uint32_t event = d->host.event[node];

		add_callee(t, tree, event,
			   tw_node_class(d, node) == TRAWL_CLASS_CPU_OP ? "operation" : "runtime",
			   depth, t->in->trace->events.dur_ns[event]);
		add_kernels(t, tree, node, depth + 1);
	}
	return end - root + kernels - tree->callees.count;
}

/* ---- what runs beside it */

static void add_neighbours(const struct trees *t, const struct tw_siblings *s, struct tw_tree *tree)
{
	size_t i;

	tree->neighbours.at = tw_arena_array(t->arena, s->count + 1, sizeof(*tree->neighbours.at));
	for (i = 0; tree->neighbours.at && i < s->count; i++)
		tree->neighbours.at[tree->neighbours.count++] = (struct tw_neighbour){
			.name = event_text(t, t->in->derived->host.event[s->items[i].node]),
			.category = s->items[i].category,
			.time_ns = s->items[i].gpu_ns,
			.kernels = s->items[i].gpu_events,
			.self = i == s->self,
		};
}

/* A softmax with a matrix product before and one behind it, among what runs beside the operation. */
static bool find_attention(const struct trees *t, const struct tw_siblings *s)
{
	bool product = false, between = false;
	size_t i;

	for (i = 0; i < s->count; i++) {
		bool is_product = !strcmp(s->items[i].category, "GEMM");

		if (between && is_product)
			return true;
		product |= is_product;
		between |= product &&
			   strstr(event_text(t, t->in->derived->host.event[s->items[i].node]),
				  "softmax");
	}
	return false;
}

static void add_note(struct trees *t, struct tw_tree *tree, const char *format, size_t number)
{
	tw_str_clear(&t->text);
	tw_str_addf(&t->text, format, number);
	tree->notes.at[tree->notes.count++] = keep(t);
}

/* What was left out of the tree. */
static void add_notes(struct trees *t, size_t i, size_t left_out, const struct tw_siblings *s,
		      struct tw_tree *tree)
{
	tree->notes.at = tw_arena_array(t->arena, 4, sizeof(*tree->notes.at));
	if (!tree->notes.at)
		return;
	if (tree->unfused_attention)
		tree->notes.at[tree->notes.count++] =
			"unfused attention: a softmax between two GEMMs";
	if (tw_enclosing_is_full(&t->around, i) || tw_enclosing_is_full(&t->around, t->count + i))
		add_note(t, tree, "the callers may go on: the %zu innermost are looked at",
			 t->around.most);
	if (left_out)
		add_note(t, tree, "the subtree goes on: %zu more calls and kernels", left_out);
	if (s->left_out)
		add_note(t, tree, "the siblings go on: %zu more with GPU work", s->left_out);
}

static void grow_tree(struct trees *t, size_t i, struct tw_tree *tree)
{
	const struct place *place = &t->items[i];
	const struct trawl_table *table = t->manifest->table;
	size_t name = trawl_table_find_column(table, "name");
	size_t dims = trawl_table_find_column(table, "Input Dims"), left_out;
	struct tw_siblings siblings = { .count = 0 };

	tree->op = tw_table_own_text(table, place->row, name);
	tree->uid = place->event;
	tree->call_count = (uint64_t)tw_table_cell(table, place->row, "operation_count").integer;
	tree->time_ms = (double)kernel_ns(table, place->row) / 1e6;
	if (trawl_table_cell(table, place->row, dims).state != TRAWL_CELL_MISSING)
		tree->input_dims = tw_table_own_text(table, place->row, dims);
	add_parent_chain(t, i, tree);
	left_out = add_subtree(t, place->node, tree);
	if (place->node != TW_NONE)
		tw_siblings_of(&siblings, t->in, place->node, &t->around, i);
	add_neighbours(t, &siblings, tree);
	tree->unfused_attention = find_attention(t, &siblings);
	add_notes(t, i, left_out, &siblings, tree);
}

int tw_manifest_trees(struct tw_manifest *m, struct tw_arena *arena,
		      const struct trawl_report *report, struct trawl_error *err)
{
	struct trees trees = { .manifest = m, .in = tw_report_input(report), .arena = arena };
	size_t rows = m->table ? trawl_table_rows(m->table) : 0, i;
	struct tw_tree *all;
	bool failed;

	trees.items = tw_arena_array(arena, rows + 1, sizeof(*trees.items));
	if (!trees.items)
		return tw_no_memory(err);
	choose(&trees);
	all = tw_arena_array(arena, trees.count + 1, sizeof(*all));
	failed = !all || find_nodes(&trees, trees.in) || find_callers(&trees, arena, trees.in);
	tw_str_init(&trees.text, arena->allocator);
	for (i = 0; !failed && i < trees.count; i++) {
		if (!trees.items[i].category->trees.at)
			trees.items[i].category->trees.at = &all[i];
		grow_tree(&trees, i, &all[i]);
	}
	failed |= trees.text.failed || arena->failed;
	tw_str_release(&trees.text);
	release(&trees);
	return failed ? tw_no_memory(err) : 0;
}

/* ---- the file, by uid */

void tw_trees_json(struct tw_str *out, const struct tw_prepared_category *category)
{
	struct tw_json json;
	char uid[24];
	size_t i;

	tw_json_init(&json, out);
	tw_json_object(&json, TW_JSON_LINES);
	for (i = 0; i < category->trees.count; i++) {
		snprintf(uid, sizeof(uid), "%llu", (unsigned long long)category->trees.at[i].uid);
		tw_fields_object(&json, uid, &tw_tree_fields, &category->trees.at[i]);
	}
	tw_json_end(&json);
	tw_json_finish(&json);
}

int tw_trees_read(struct tw_prepared *prepared, struct tw_prepared_category *category,
		  struct trawl_error *err)
{
	const char *name = tw_prepared_name(prepared, category->name, "_tree_data.json");
	const struct tw_json_value *json, *item;
	int status = 0;

	if (!name)
		return tw_no_memory(err);
	if (!tw_prepared_has(prepared, TW_CATEGORY_DATA, name))
		return 0;
	json = tw_prepared_json(prepared, TW_CATEGORY_DATA, name, err);
	if (!json)
		return err->status;
	category->trees.at =
		tw_arena_array(&prepared->arena, json->count + 1, sizeof(struct tw_tree));
	if (!category->trees.at)
		return tw_no_memory(err);
	for (item = json->first; item && !status; item = item->next) {
		struct tw_tree *tree = &category->trees.at[category->trees.count];

		if (item->type != TW_JSON_OBJECT || !item->key)
			continue;
		status = tw_fields_read(&tw_tree_fields, tree, item, name, &prepared->arena, err);
		tree->uid = strtoull(item->key, NULL, 10);
		category->trees.count++;
	}
	return status;
}
