#include "analysis/who/op_stacks.h"

#include "analysis/signature.h"
#include "analysis/who/stacks.h"
#include "base/alloc.h"
#include "data/limits.h"

#include <string.h>

enum { PARENT_MODULE, ENTRY_POINT, CALL_STACK, IS_RECOMPUTE };

const struct trawl_column tw_stack_columns[TW_STACK_COLUMNS] = {
	[PARENT_MODULE] = TW_TEXT("parent_module", 24,
				  "class of the innermost module around the first call of the row"),
	[ENTRY_POINT] = TW_TEXT("entry_point", 40,
				"Python function that calls the operator, as TraceLens finds it"),
	[CALL_STACK] = TW_TEXT("call_stack_full", 60,
			       "frames and operators around the kernels of the first call"),
	[IS_RECOMPUTE] = TW_COLUMN(TEXT, "is_recompute", "bool", 0, 0, 8,
				   "True: calls of forward passes that are run again; else False",
				   .over_ranks = TRAWL_KEY),
};

/* So many kernels of a call have their own part of a stack. */
#define MOST_TAILS 16

struct stack {
	const char *at[TW_LIMIT_STACK_DEPTH + 1]; /* frames that are shown, then the kernel */
	size_t len[TW_LIMIT_STACK_DEPTH + 1];
	unsigned count;
};

bool tw_is_recomputed(const struct tw_analysis_input *in, uint64_t node)
{
	return in->stacks && tw_attribution_of_node(in->who, node)->pass == TW_PASS_RECOMPUTE;
}

/* Built-in functions are not shown. */
static void add_frame(struct stack *s, const struct trawl_trace *trace, uint32_t text)
{
	size_t len;
	const char *name = tw_pool_text(&trace->texts, text, &len);

	if (len && *name == '<')
		return;
	if (!strncmp(name, "nn.Module: ", 11))
		len = tw_module_class_len(name, len);
	s->at[s->count] = name;
	s->len[s->count++] = len;
}

static void find_stack(const struct tw_analysis_input *in, uint32_t gpu, struct stack *s)
{
	uint32_t names[TW_LIMIT_STACK_DEPTH];
	uint32_t launch = in->derived->gpu.launch[gpu];
	unsigned count = tw_call_stack(in->stacks, in->stacks->of_node[launch], names), i;
	size_t len;

	s->count = 0;
	for (i = 0; i < count; i++)
		add_frame(s, in->trace, names[i]);
	s->at[s->count] = tw_pool_text(&in->trace->texts,
				       in->trace->events.name[in->derived->gpu.event[gpu]], &len);
	s->len[s->count++] = len;
}

static bool is_same(const struct stack *a, const struct stack *b, unsigned i)
{
	return a->len[i] == b->len[i] && !memcmp(a->at[i], b->at[i], a->len[i]);
}

/* Frames from `from` to `to` in Python's notation. */
static void add_frames(struct tw_str *out, const struct stack *s, unsigned from, unsigned to)
{
	for (; from < to; from++) {
		tw_python_quote(s->at[from], s->len[from], out);
		tw_str_add_cstr(out, from + 1 < to ? ", " : "");
	}
}

/* The frames that all stacks begin with, then what each has of its own. */
static void add_stacks(struct tw_str *out, const struct stack *s, unsigned count)
{
	unsigned common = s[0].count - 1, i, k;

	for (k = 1; k < count; k++)
		for (i = 0; i < common; i++)
			if (i + 1 >= s[k].count || !is_same(&s[0], &s[k], i))
				common = i;
	tw_str_add_char(out, '[');
	add_frames(out, &s[0], 0, count > 1 ? common : s[0].count);
	for (k = 0; count > 1 && k < count; k++) {
		tw_str_add_cstr(out, k || common ? ", [" : "[");
		add_frames(out, &s[k], common, s[k].count);
		tw_str_add_char(out, ']');
	}
	tw_str_add_char(out, ']');
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool contains(const char *text, size_t len, const char *part, size_t part_len)
{
	size_t i, k;

	for (i = 0; i + part_len <= len; i++) {
		for (k = 0; k < part_len && lower(text[i + k]) == lower(part[k]); k++)
			;
		if (k == part_len)
			return true;
	}
	return false;
}

/* Whether a Python function is named after the operator: "forward: linear" of aten::linear. */
static bool is_named_after(const struct stack *s, unsigned i, const char *op)
{
	const char *word = strstr(op, "::"), *end = s->at[i] + s->len[i], *function = s->at[i];

	word = word ? word + 2 : op;
	while (function + 3 <= end && memcmp(function, "): ", 3))
		function++;
	return function + 3 <= end &&
	       contains(function + 3, (size_t)(end - function) - 3, word, strlen(word));
}

/*
 * Of the frames inside of the operator the first Python function that is named after it, else of those around
 * it the innermost that does not just hand its arguments on.
 */
static unsigned find_entry(const struct stack *s, const char *op)
{
	unsigned at = s->count, i;
	size_t len = strlen(op);

	while (at-- > 0 && (s->len[at] != len || memcmp(s->at[at], op, len)))
		;
	if (at >= s->count)
		return s->count;
	for (i = at + 1; i < s->count; i++)
		if (contains(s->at[i], s->len[i], ".py", 3) && is_named_after(s, i, op))
			return i;
	while (at-- > 0)
		if (contains(s->at[at], s->len[at], ".py", 3) &&
		    !tw_is_passing_frame(s->at[at], s->len[at]))
			return at;
	return s->count;
}

static void set_stacks(const struct tw_analysis_input *in, struct trawl_table *table, size_t row,
		       size_t first, uint32_t node)
{
	static const char missing[] = "Not found";
	uint64_t count, i, looked;
	const uint32_t *gpu = tw_gpu_under(in->modelled, node, &count);
	struct stack *s = tw_alloc(in->allocator, MOST_TAILS * sizeof(*s));
	unsigned kept = 0, k, entry;
	struct tw_str text;

	looked = count < 4 * MOST_TAILS ? count : 4 * MOST_TAILS;
	for (i = 0; s && i < looked && kept < MOST_TAILS; i++) {
		find_stack(in, gpu[i], &s[kept]);
		for (k = 0; k < kept && (s[k].count != s[kept].count ||
					 !is_same(&s[k], &s[kept], s[k].count - 1));
		     k++)
			;
		kept += k == kept;
	}
	tw_str_init(&text, in->allocator);
	if (kept) {
		add_stacks(&text, s, kept);
		entry = find_entry(
			&s[0],
			trawl_trace_text(in->trace,
					 in->trace->events.name[in->derived->host.event[node]],
					 NULL));
		tw_table_set_text(table, row, first + CALL_STACK, text.ptr, text.len);
	}
	if (!kept)
		tw_table_set_str(table, row, first + CALL_STACK, missing);
	if (kept && entry < s[0].count)
		tw_table_set_text(table, row, first + ENTRY_POINT, s[0].at[entry], s[0].len[entry]);
	else
		tw_table_set_str(table, row, first + ENTRY_POINT, missing);
	tw_str_release(&text);
	tw_free(in->allocator, s, MOST_TAILS * sizeof(*s));
}

void tw_set_op_stack(const struct tw_analysis_input *in, struct trawl_table *table, size_t row,
		     uint32_t node)
{
	const struct tw_attribution *a;
	size_t first, len;
	const char *name;

	if (!in->stacks)
		return;
	first = trawl_table_columns(table) - TW_STACK_COLUMNS - (in->grouping ? 1 : 0);
	a = tw_attribution_of_node(in->who, node);
	if (a->path) {
		name = tw_module_name(in->who, a->path, &len);
		tw_table_set_text(table, row, first + PARENT_MODULE, name,
				  tw_module_class_len(name, len));
	}
	tw_table_set_str(table, row, first + IS_RECOMPUTE,
			 a->pass == TW_PASS_RECOMPUTE ? "True" : "False");
	set_stacks(in, table, row, first, node);
}
