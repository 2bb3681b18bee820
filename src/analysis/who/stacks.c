#include "analysis/who/stacks.h"

#include "analysis/analysis.h"
#include "analysis/who/sweep.h"
#include "base/alloc.h"
#include "base/scope.h"
#include "data/limits.h"

#include <stdlib.h>
#include <string.h>

/* ---- stacks of nodes */

struct naming {
	const struct tw_derived *d;
	struct tw_call_stacks *stacks;
	bool calls;
};

struct depth {
	unsigned frames;
};

static int add_name(struct naming *n, struct tw_around *around, uint32_t event)
{
	struct tw_groups *groups = &n->stacks->stacks;
	const uint32_t key[2] = { around->path, n->d->trace->events.name[event] };
	unsigned frames = ((const struct depth *)tw_groups_value(groups, around->path))->frames;
	struct depth *depth;

	/* Deeper ones are left out: else stacks of n frames are n times as long. */
	if (frames == TW_LIMIT_STACK_DEPTH)
		return 0;
	depth = tw_groups_at(groups, key);
	if (!depth)
		return -1;
	depth->frames = frames + 1;
	around->path = tw_groups_number(groups, depth);
	return 0;
}

static int enter_frame(void *context, struct tw_around *around, uint32_t event)
{
	return add_name(context, around, event);
}

static int enter_node(void *context, struct tw_around *around, uint32_t node)
{
	struct naming *n = context;

	if ((n->calls || tw_node_class(n->d, node) == TRAWL_CLASS_CPU_OP) &&
	    add_name(n, around, n->d->host.event[node]))
		return -1;
	n->stacks->of_node[node] = around->path;
	return 0;
}

int tw_call_stacks_build(struct tw_call_stacks *stacks, const struct tw_derived *d, bool calls,
			 const struct trawl_allocator *a)
{
	const uint32_t outside[2] = { 0, 0 };
	struct naming naming = { d, stacks, calls };
	const struct tw_sweep sweep = { d, a, &naming, enter_frame, enter_node };

	tw_groups_init_values(&stacks->stacks, sizeof(outside), sizeof(struct depth), a);
	stacks->of_node = tw_alloc_array(a, d->host.count + 1, sizeof(*stacks->of_node));
	return stacks->of_node && tw_groups_add(&stacks->stacks, outside) != TW_NO_GROUP ?
		       tw_sweep_run(&sweep) :
		       -1;
}

unsigned tw_call_stack(const struct tw_call_stacks *stacks, uint32_t stack, uint32_t *names)
{
	unsigned count = ((const struct depth *)tw_groups_value(&stacks->stacks, stack))->frames, i;

	for (i = count; i-- > 0;) {
		const uint32_t *key = tw_groups_key(&stacks->stacks, stack);

		names[i] = key[1];
		stack = key[0];
	}
	return count;
}

/* ---- lines */

/* Without what separates frames and lines, and control characters; never empty. */
void tw_add_frame(struct tw_str *out, const char *name, size_t len)
{
	size_t i, start = out->len;
	bool is_blank = true;

	tw_str_add(out, name, len);
	for (i = start; !out->failed && i < out->len; i++) {
		unsigned char c = (unsigned char)out->ptr[i];

		if (c == ';' || c < ' ' || c == 0x7f)
			out->ptr[i] = c == ';' ? ',' : ' ';
		is_blank &= out->ptr[i] == ' ';
	}
	if (is_blank) {
		out->len = start;
		tw_str_add_cstr(out, "(no name)");
	}
	tw_str_add_char(out, ';');
}

static void add_text(struct tw_str *out, const struct tw_derived *d, uint32_t text)
{
	size_t len;
	const char *name = tw_pool_text(&d->trace->texts, text, &len);

	tw_add_frame(out, name, len);
}

static void end_line(struct tw_str *out, const struct tw_derived *d, uint32_t kernel, tw_wide ns)
{
	add_text(out, d, kernel);
	if (!out->failed)
		out->ptr[out->len - 1] = ' ';
	tw_str_add_int(out, tw_wide_fits(ns) ? (int64_t)ns : INT64_MAX);
	tw_str_add_char(out, '\n');
}

static int64_t gpu_ns(const struct tw_derived *d, uint64_t g)
{
	return d->gpu.end_ns[g] - d->gpu.start_ns[g];
}

static uint32_t gpu_name(const struct tw_derived *d, uint64_t g)
{
	return d->trace->events.name[d->gpu.event[g]];
}

static void add_unlinked(struct tw_str *out)
{
	tw_add_frame(out, TW_LABEL_UNLINKED, sizeof(TW_LABEL_UNLINKED) - 1);
}

/* Stacks by a key that ends in the name of the kernel. */
struct module_key {
	uint32_t linked, path, pass, op, kernel;
};

static void add_module_frames(struct tw_str *out, const struct tw_attributions *who,
			      const struct module_key *key)
{
	uint32_t around[TW_LIMIT_MODULE_DEPTH + 1], module = key->path;
	unsigned count = 0;
	const char *name;
	size_t len;

	if (!key->linked) {
		add_unlinked(out);
		add_unlinked(out);
		return;
	}
	if (key->pass != TW_PASS_FORWARD)
		tw_str_addf(out, "[%s];", tw_pass_names[key->pass]);
	if (!module)
		tw_add_frame(out, TW_LABEL_NONE, sizeof(TW_LABEL_NONE) - 1);
	for (; module; module = who->module[module].parent)
		around[count++] = module;
	while (count-- > 0) {
		name = tw_module_name(who, around[count], &len);
		tw_add_frame(out, name, len);
	}
	add_text(out, who->derived, key->op);
}

/* Times (tw_wide) by struct module_key. */
static int sum_by_module(const struct tw_attributions *who, const struct trawl_allocator *a,
			 struct tw_groups *lines)
{
	const struct tw_derived *d = who->derived;
	uint64_t g;

	tw_groups_init_values(lines, sizeof(struct module_key), sizeof(tw_wide), a);
	for (g = 0; g < d->gpu.count; g++) {
		const struct tw_attribution *at = tw_attribution_of_gpu(who, g);
		struct module_key key = { .kernel = gpu_name(d, g) };
		tw_wide *ns;

		if (at)
			key = (struct module_key){ 1, at->path, at->pass, tw_launching_name(d, g),
						   key.kernel };
		ns = tw_groups_at(lines, &key);
		if (!ns)
			return -1;
		*ns += gpu_ns(d, g);
	}
	return 0;
}

int tw_stacks_by_module(const struct tw_attributions *who, const struct trawl_allocator *a,
			struct tw_str *out)
{
	struct tw_groups lines;
	uint32_t i;
	int status = sum_by_module(who, a, &lines);

	for (i = 0; i < lines.count; i++) {
		const struct module_key *key = tw_groups_key(&lines, i);

		add_module_frames(out, who, key);
		end_line(out, who->derived, key->kernel,
			 *(const tw_wide *)tw_groups_value(&lines, i));
	}
	tw_groups_release(&lines);
	return status || out->failed ? -1 : 0;
}

struct full_key {
	uint32_t stack, kernel;
};

int tw_stacks_full(const struct tw_derived *d, const struct trawl_allocator *a, struct tw_str *out)
{
	uint32_t names[TW_LIMIT_STACK_DEPTH], i;
	struct tw_call_stacks stacks;
	struct tw_groups lines;
	unsigned count, k;
	uint64_t g;

	if (tw_call_stacks_build(&stacks, d, true, a))
		return -1;
	tw_groups_init_values(&lines, sizeof(struct full_key), sizeof(tw_wide), a);
	for (g = 0; g < d->gpu.count; g++) {
		uint32_t launch = d->gpu.launch[g];
		struct full_key key = { launch == TW_NONE ? 0 : stacks.of_node[launch],
					gpu_name(d, g) };
		tw_wide *ns = tw_groups_at(&lines, &key);

		if (!ns)
			break;
		*ns += gpu_ns(d, g);
	}
	for (i = 0; i < lines.count; i++) {
		const struct full_key *key = tw_groups_key(&lines, i);

		count = tw_call_stack(&stacks, key->stack, names);
		for (k = 0; k < count; k++)
			add_text(out, d, names[k]);
		if (!count)
			add_unlinked(out);
		end_line(out, d, key->kernel, *(const tw_wide *)tw_groups_value(&lines, i));
	}
	return lines.failed || out->failed ? -1 : 0;
}

/* ---- the same as tables */

enum { MODULE, PASS, OPERATOR, KERNEL, MODULE_TIME };

static const struct trawl_column module_columns[] = {
	[MODULE] = TW_TEXT(TW_COL_MODULE, 60, "module with those around it"),
	[PASS] = TW_TEXT("pass", 12, "forward, backward or recompute"),
	[OPERATOR] = TW_TEXT("name", 48, "operator, or call, that launched it"),
	[KERNEL] = TW_TEXT(TW_COL_KERNEL_NAME, 60, "kernel name"),
	[MODULE_TIME] = TW_MS(TW_COL_GPU_TIME_MS, 14, "sum of durations"),
};

const struct tw_table_spec tw_module_stacks_spec =
	TW_SPEC("module_stacks", "GPU time by module, pass, operator and kernel", module_columns);

enum { STACK, STACK_TIME };

static const struct trawl_column stack_columns[] = {
	[STACK] = TW_TEXT(TW_COL_STACK, 60, "frames, outermost first, and the kernel"),
	[STACK_TIME] = TW_MS(TW_COL_GPU_TIME_MS, 14, "sum of durations"),
};

const struct tw_table_spec tw_full_stacks_spec =
	TW_SPEC("full_stacks", "GPU time by stack", stack_columns);

static void add_module_row(struct trawl_table *table, const struct tw_attributions *who,
			   const struct module_key *key, tw_wide ns, struct tw_str *path)
{
	size_t row = tw_table_add_row(table);

	tw_str_clear(path);
	if (key->path)
		tw_module_path(who, key->path, path);
	else
		tw_str_add_cstr(path, key->linked ? TW_LABEL_NONE : TW_LABEL_UNLINKED);
	tw_table_set_text(table, row, MODULE, path->ptr, path->len);
	tw_table_set_str(table, row, PASS,
			 key->linked ? tw_pass_names[key->pass] : TW_LABEL_UNLINKED);
	if (key->linked)
		tw_set_name(table, row, OPERATOR, who->derived->trace, key->op);
	else
		tw_table_set_str(table, row, OPERATOR, TW_LABEL_UNLINKED);
	tw_set_name(table, row, KERNEL, who->derived->trace, key->kernel);
	tw_set_sum(table, row, MODULE_TIME, ns);
}

static int add_module_rows(struct trawl_table *table, const struct tw_analysis_input *in,
			   const struct trawl_allocator *a, struct tw_str *text)
{
	struct tw_groups lines;
	uint32_t i;
	int status = sum_by_module(in->who, a, &lines);

	for (i = 0; i < lines.count; i++)
		add_module_row(table, in->who, tw_groups_key(&lines, i),
			       *(const tw_wide *)tw_groups_value(&lines, i), text);
	return status;
}

static int add_stack_rows(struct trawl_table *table, const struct tw_analysis_input *in,
			  const struct trawl_allocator *a, struct tw_str *text)
{
	int status = tw_stacks_full(in->derived, a, text);
	const char *line = text->ptr, *end;

	for (; !status && line && *line; line = end + 1) {
		const char *number = end = line + strcspn(line, "\n");
		size_t row = tw_table_add_row(table);

		while (*number != ' ')
			number--;
		tw_table_set_text(table, row, STACK, line, (size_t)(number - line));
		tw_table_set_integer(table, row, STACK_TIME, strtoll(number, NULL, 10));
	}
	return status;
}

int tw_stacks_table(const struct trawl_report *report, enum trawl_stacks which,
		    struct trawl_table **table, const struct trawl_allocator *tables)
{
	const struct tw_analysis_input *in = tw_report_input(report);
	bool full = which == TRAWL_STACKS_FULL;
	struct tw_scope scope;
	struct tw_str text;
	int status;

	*table = NULL;
	if (!in->who || (!full && !in->who->modules))
		return 0;
	*table = tw_table_new(full ? &tw_full_stacks_spec : &tw_module_stacks_spec, tables);
	if (!*table)
		return TRAWL_ENOMEM;
	tw_scope_begin(&scope, in->allocator);
	tw_str_init(&text, &scope.allocator);
	status = full ? add_stack_rows(*table, in, &scope.allocator, &text) :
			add_module_rows(*table, in, &scope.allocator, &text);
	if (text.failed)
		status = -1;
	tw_scope_end(&scope);
	if (status)
		trawl_table_free(*table);
	*table = status ? NULL : tw_table_finished(*table);
	return *table ? 0 : TRAWL_ENOMEM;
}

int trawl_report_stacks(const struct trawl_report *report, enum trawl_stacks which,
			void (*write)(void *context, const char *text, size_t len), void *context,
			struct trawl_error *err)
{
	const struct tw_analysis_input *in = tw_report_input(report);
	struct tw_scope scope;
	struct tw_str text;
	int status;

	if (!in->who || (which == TRAWL_STACKS_BY_MODULE && !in->who->modules))
		return trawl_error_set(err, TRAWL_ENODATA,
				       in->who ? "no modules were recorded" :
						 "no Python functions were recorded");
	tw_scope_begin(&scope, in->allocator);
	tw_str_init(&text, &scope.allocator);
	status = which == TRAWL_STACKS_FULL ? tw_stacks_full(in->derived, &scope.allocator, &text) :
					      tw_stacks_by_module(in->who, &scope.allocator, &text);
	if (status)
		status = tw_no_memory(err);
	else if (text.len)
		write(context, text.ptr, text.len);
	tw_scope_end(&scope);
	return status;
}
