/*
 * One table a family of operations with cost models, as TraceLens names them: calls by what their
 * models took from the arguments.  A call that is part of another one of its family counts with
 * that one; passes back stand in tables of their own, "..._bwd", unless the family has a single one.
 */
#include "analysis/analysis.h"

#include "analysis/op_key.h"
#include "analysis/op_rows.h"
#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define MOST_PARAMETERS 64

#define REAL(header, unit, digits, what)                             \
	{                                                            \
		header, TRAWL_COLUMN_REAL, unit, 0, digits, 12, what \
	}
#define TEXT(header, width, what)                                \
	{                                                        \
		header, TRAWL_COLUMN_TEXT, "", 0, 0, width, what \
	}
#define FIVE(header, unit, digits, what)                                               \
	REAL(header "_mean", unit, digits, what ", mean of calls"),                    \
		REAL(header "_median", unit, digits, what ", median of calls"),        \
		REAL(header "_std", unit, digits, what ", sample standard deviation"), \
		REAL(header "_min", unit, digits, what ", least of the calls"),        \
		REAL(header "_max", unit, digits, what ", largest of the calls")

enum {
	NAME, /* the parameters follow */
	GFLOPS,
	DATA,
	INTENSITY,
	TB,
	TFLOPS = TB + 5,
	PROCESS = TFLOPS + 5,
	LABEL,
	THREAD,
	SPEC,
	ROOFLINE_TIME,
	BOUND,
	PERCENT,
	DETAILS = PERCENT + 5,
	SHORT_DETAILS,
	DIMS,
	TYPES,
	STRIDES,
	CONCRETE,
	KERNEL,
	KERNEL_SUM = KERNEL + 5,
	COUNT,
	EVENT,
	COLUMNS
};

static const struct trawl_column columns[COLUMNS] = {
	TEXT("name", 40, "name of the operation; its model's parameters follow, \"param: ...\""),
	REAL("GFLOPS_first", "GFLOP", 6, "floating-point operations of a call, in 10^9"),
	REAL("Data Moved (MB)_first", "MB", 3, "bytes that a call must read and write, in 2^20"),
	REAL("FLOPS/Byte_first", "", 2, "operations for each of those bytes"),
	FIVE("TB/s", "TB/s", 3, "data moved in the kernel time"),
	FIVE("TFLOPS/s", "TFLOP/s", 3, "operations in the kernel time"),
	TEXT("process_name_first", 14, "process of the first call"),
	TEXT("process_label_first", 12, "label of that process"),
	TEXT("thread_name_first", 24, "thread of the first call"),
	TEXT("Compute Spec", 14, "unit and precision whose peak counts"),
	REAL("Roofline Time (µs)_first", "µs", 3, "time the platform needs at least for a call"),
	TEXT("Roofline Bound_first", 16, "what limits the call: computing or memory"),
	FIVE("Pct Roofline", "%", 2, "roofline time to kernel time"),
	TEXT("kernel_details__summarize_kernel_stats", 40,
	     "its kernels with their statistics, by position"),
	TEXT("trunc_kernel_details", 40, "its kernels, names cut, with mean times"),
	TEXT("Input Dims_first", 36, "shapes of the inputs of the first call"),
	TEXT("Input type_first", 30, "types of its inputs"),
	TEXT("Input Strides_first", 30, "strides of its inputs"),
	TEXT("Concrete Inputs_first", 30, "values of its inputs that are no tensors"),
	FIVE("Kernel Time (µs)", "µs", 3, "time in which kernels of a call ran"),
	{ "Kernel Time (µs)_sum", TRAWL_COLUMN_DECIMAL, "µs", 3, 3, 14, "that of all calls" },
	{ "name_count", TRAWL_COLUMN_INTEGER, "", 0, 0, 10, "calls" },
	{ "UID_first", TRAWL_COLUMN_INTEGER, "", 0, 0, 10, "event number of the first call" },
};

struct work {
	const struct tw_analysis_input *in;
	const struct tw_modelled *m;
	const struct tw_analysis *sheet;
	struct tw_groups groups;
	struct tw_op_rows rows;
	uint32_t *group_of_work;		 /* by work: TW_NO_GROUP: not asked yet */
	uint8_t *member;			 /* by work: enum member */
	const char *parameters[MOST_PARAMETERS]; /* names, in order of appearance */
	size_t parameter_count;
	struct tw_signatures signatures;
};

/* ---- which calls */

/* What a work is to the family. */
enum member { OF_ANOTHER, FORWARD, BACKWARD };

/* An operation of the pass back, by its category, or by its name where it has none. */
static bool is_backward(const struct tw_pool_entry *name)
{
	const char *category = tw_op_category(name->ptr, name->len);
	size_t len = category ? strlen(category) : 0;

	if (category)
		return len > 4 && !strcmp(category + len - 4, "_bwd");
	return strstr(name->ptr, "_backward") != NULL;
}

/* The column of a parameter, counted among the parameters. */
static uint32_t column_of(struct work *w, const char *name)
{
	uint32_t p;

	for (p = 0; p < w->parameter_count; p++)
		if (!strcmp(w->parameters[p], name))
			return p;
	/* As many parameters as no family has. */
	if (p == MOST_PARAMETERS)
		return p - 1;
	w->parameters[w->parameter_count++] = name;
	return p;
}

/* Calls of one name and equal parameters are a group; a work belongs to one name. */
static uint32_t group_of(struct work *w, uint32_t work)
{
	const struct tw_op_work *o = &w->m->works[work];
	uint32_t key[1 + 2 * TW_MOST_PARAMETERS] = { 0 }, i;

	if (w->group_of_work[work] != TW_NO_GROUP)
		return w->group_of_work[work];
	key[0] = o->name;
	for (i = 0; i < o->parameter_count; i++) {
		const struct tw_op_parameter *parameter = &w->m->parameters[o->parameters + i];

		key[1 + 2 * i] = 1 + column_of(w, parameter->name);
		key[2 + 2 * i] = parameter->text;
	}
	w->group_of_work[work] = tw_groups_add(&w->groups, key);
	return w->group_of_work[work];
}

/* Whether a call, or GPU work under it, is in the view. */
static bool is_in_view(const struct work *w, uint64_t node)
{
	const struct tw_derived *d = w->in->derived;
	const struct tw_events *events = &d->trace->events;
	uint64_t count, event;
	int64_t start, end;

	if (!d->view.limited)
		return true;
	tw_gpu_under(w->m, node, &count);
	if (count)
		return true;
	event = d->host.event[node];
	if (events->phase[event] != 'X')
		return false;
	start = events->start_ns[event];
	end = start + events->dur_ns[event];
	return tw_view_clip(&d->view, &start, &end);
}

static void add_call(struct work *w, uint64_t node, uint32_t work)
{
	uint64_t count;
	const uint32_t *gpu = tw_gpu_under(w->m, node, &count);

	if (!is_in_view(w, node))
		return;
	tw_op_rows_gpu(&w->rows, gpu, count);
	tw_op_rows_end(&w->rows, w->in->derived->host.event[node], work, group_of(w, work));
}

/* Whether an operation of the family was recorded under a backward node: it has its own row. */
static bool has_own_backward(const struct work *w, uint64_t node)
{
	uint64_t i;

	for (i = node; i < w->m->end[node]; i++)
		if (tw_work_at(w->m, i) != TW_NO_GROUP && w->member[tw_work_at(w->m, i)])
			return true;
	return false;
}

/* The pass back through a call: all GPU events under the backward nodes of what is in it. */
static void add_backward(struct work *w, uint64_t node)
{
	uint32_t work = TW_NO_GROUP;
	uint64_t first, end, i, count;
	bool in_view = false;

	tw_pairs_under(w->m, node, &first, &end);
	for (i = first; i < end; i++) {
		uint64_t pair = w->m->by_forward[i];

		in_view |= is_in_view(w, w->in->derived->autograd.pairs[pair].backward);
		if (has_own_backward(w, w->in->derived->autograd.pairs[pair].backward))
			return;
		if (w->in->derived->autograd.pairs[pair].forward == node)
			work = w->m->backward_work[pair];
	}
	if (work == TW_NO_GROUP || !in_view)
		return;
	for (i = first; i < end; i++) {
		const uint32_t *gpu = tw_gpu_under(
			w->m, w->in->derived->autograd.pairs[w->m->by_forward[i]].backward, &count);

		tw_op_rows_gpu(&w->rows, gpu, count);
	}
	tw_op_rows_end(&w->rows, w->in->derived->host.event[node], work, group_of(w, work));
}

static void collect(struct work *w)
{
	uint64_t i;

	for (i = 0; i < w->m->call_count; i++) {
		uint32_t node = w->m->calls[i], work = tw_work_at(w->m, node);
		bool backward = w->member[work] == BACKWARD;

		if (!w->member[work])
			continue;
		if (w->sheet->passes == TW_BACKWARD && !backward)
			add_backward(w, node);
		else if (!w->m->works[work].reason &&
			 (w->sheet->passes == TW_BOTH_PASSES ||
			  backward == (w->sheet->passes == TW_BACKWARD)))
			add_call(w, node, work);
	}
}

/* ---- the table */

static void set_five(struct trawl_table *table, size_t row, size_t column,
		     const struct tw_real_stats *s)
{
	tw_table_set_real(table, row, column, s->mean);
	tw_table_set_real(table, row, column + 1, s->median);
	tw_table_set_real(table, row, column + 2, s->std);
	tw_table_set_real(table, row, column + 3, s->min);
	tw_table_set_real(table, row, column + 4, s->max);
}

static void set_kernel_time(struct trawl_table *table, size_t row, size_t shift,
			    const struct tw_stats *s)
{
	tw_set_us(table, row, shift + KERNEL, s->mean);
	tw_set_us(table, row, shift + KERNEL + 1, s->median);
	tw_set_us(table, row, shift + KERNEL + 2, s->std);
	tw_set_us(table, row, shift + KERNEL + 3, (double)s->min);
	tw_set_us(table, row, shift + KERNEL + 4, (double)s->max);
	tw_set_sum(table, row, shift + KERNEL_SUM, s->sum);
}

/* Parameters that another model of the family has stay missing. */
static void set_parameters(const struct work *w, struct trawl_table *table, size_t row,
			   const struct tw_op_work *work)
{
	size_t p, len;
	uint32_t i;

	for (i = 0; i < work->parameter_count; i++) {
		const struct tw_op_parameter *parameter = &w->m->parameters[work->parameters + i];
		const char *text = tw_pool_text(&w->m->texts, parameter->text, &len);

		for (p = 0; p < w->parameter_count; p++)
			if (!strcmp(w->parameters[p], parameter->name))
				tw_table_set_text(table, row, 1 + p, text, len);
	}
}

static void set_arguments(struct work *w, struct trawl_table *table, size_t row, size_t shift,
			  uint64_t event)
{
	struct tw_signature s = tw_signature_of(&w->signatures, event);
	const uint32_t ids[] = { s.dims, s.types, s.strides, s.concrete };
	size_t i, len;

	for (i = 0; i < 4; i++) {
		const char *text = tw_pool_text(&w->signatures.texts, ids[i], &len);

		if (ids[i])
			tw_table_set_text(table, row, shift + DIMS + i, text, len);
	}
}

static int add_row(struct work *w, struct trawl_table *table, uint32_t number)
{
	size_t row = tw_table_add_row(table), shift = w->parameter_count;
	struct tw_op_group g;

	tw_op_group_of(&w->rows, number, &g);
	if (!g.work || tw_op_group_kernels(&w->rows, number))
		return -1;
	tw_set_name(table, row, NAME, w->in->trace, w->in->trace->events.name[g.first->event]);
	set_parameters(w, table, row, g.work);
	tw_table_set_real(table, row, shift + GFLOPS, g.work->flops / 1e9);
	tw_table_set_real(table, row, shift + DATA, g.work->bytes / 1048576);
	tw_table_set_real(table, row, shift + INTENSITY,
			  g.work->bytes > 0 ? g.work->flops / g.work->bytes : NAN);
	set_five(table, row, shift + TB, &g.tb_per_s);
	set_five(table, row, shift + TFLOPS, &g.tflops_per_s);
	tw_set_track(table, row, shift + PROCESS, w->in->derived, g.first->event);
	if (g.work->spec[0])
		tw_table_set_str(table, row, shift + SPEC, g.work->spec);
	tw_table_set_real(table, row, shift + ROOFLINE_TIME, g.roofline_us);
	tw_table_set_str(table, row, shift + BOUND, g.bound);
	set_five(table, row, shift + PERCENT, &g.percent);
	tw_table_set_text(table, row, shift + DETAILS, w->rows.full.ptr, w->rows.full.len);
	tw_table_set_text(table, row, shift + SHORT_DETAILS, w->rows.short_form.ptr,
			  w->rows.short_form.len);
	set_arguments(w, table, row, shift, g.first->event);
	set_kernel_time(table, row, shift, &g.kernel_ns);
	tw_table_set_integer(table, row, shift + COUNT, (int64_t)g.count);
	tw_table_set_integer(table, row, shift + EVENT, (int64_t)g.first->event);
	return 0;
}

/* The fixed columns with those of the parameters in between. */
static struct trawl_table *new_table(const struct work *w)
{
	static const struct trawl_column parameter =
		TEXT("param", 16, "what the cost model took from the arguments");
	struct trawl_column all[COLUMNS + MOST_PARAMETERS];
	struct trawl_table *table;
	size_t p;

	all[0] = columns[0];
	for (p = 0; p < w->parameter_count; p++)
		all[1 + p] = parameter;
	memcpy(all + 1 + p, columns + 1, (COLUMNS - 1) * sizeof(*columns));
	table = tw_table_new_columns(&w->sheet->table, all, COLUMNS + p, w->in->allocator);
	for (p = 0; table && p < w->parameter_count; p++)
		tw_table_name_column(table, 1 + p, "param: ", w->parameters[p]);
	return table;
}

static int fill(struct work *w, struct trawl_table *table)
{
	uint32_t count = w->groups.count, g;
	struct tw_order *order = tw_alloc_array(w->in->allocator, count + 1, sizeof(*order));
	tw_wide total;
	int status = order ? 0 : -1;

	if (!status)
		tw_op_rows_order(&w->rows, order, &total);
	for (g = 0; g < count && !status; g++)
		status = add_row(w, table, order[g].index);
	tw_free(w->in->allocator, order, (count + 1) * sizeof(*order));
	return status;
}

static bool has_calls(const struct tw_modelled *m, const char *family)
{
	uint32_t i;

	for (i = 0; i < m->keys.count; i++)
		if (!strcmp(m->works[i].model->sheet, family))
			return true;
	return false;
}

static enum member member_of(const struct work *w, const struct tw_op_work *work)
{
	if (strcmp(work->model->sheet, w->sheet->family))
		return OF_ANOTHER;
	return is_backward(&w->in->trace->texts.entries[work->name]) ? BACKWARD : FORWARD;
}

/* Calls in groups; *table stays NULL without any. */
static int make_groups(struct work *w, struct trawl_table **table)
{
	uint32_t i;

	for (i = 0; i < w->m->keys.count; i++) {
		w->group_of_work[i] = TW_NO_GROUP;
		w->member[i] = (uint8_t)member_of(w, &w->m->works[i]);
	}
	collect(w);
	if (w->groups.failed || tw_op_rows_group(&w->rows, w->groups.count))
		return -1;
	if (!w->rows.count)
		return 0;
	*table = new_table(w);
	return *table && !fill(w, *table) && !tw_signatures_failed(&w->signatures) &&
			       !w->rows.failed ?
		       0 :
		       -1;
}

static int make(const struct tw_analysis_input *in, const struct tw_analysis *self,
		struct trawl_table **table)
{
	struct work w = { .in = in, .m = in->modelled, .sheet = self };
	size_t works = (size_t)in->modelled->keys.count + 1;
	int status = TRAWL_ENOMEM;

	/* Most families are not in a trace; their tables cost nothing. */
	if (!has_calls(in->modelled, self->family))
		return 0;
	tw_groups_init(&w.groups, (1 + 2 * TW_MOST_PARAMETERS) * sizeof(uint32_t), in->allocator);
	tw_op_rows_init(&w.rows, in);
	w.group_of_work = tw_alloc(in->allocator, works * sizeof(*w.group_of_work));
	w.member = tw_alloc(in->allocator, works * sizeof(*w.member));
	if (w.group_of_work && w.member && !tw_signatures_init(&w.signatures, in->trace)) {
		w.signatures.lists = true;
		status = make_groups(&w, table) ? TRAWL_ENOMEM : 0;
	}
	tw_signatures_release(&w.signatures);
	tw_op_rows_release(&w.rows);
	tw_groups_release(&w.groups);
	tw_free(in->allocator, w.group_of_work, works * sizeof(*w.group_of_work));
	tw_free(in->allocator, w.member, works * sizeof(*w.member));
	return status;
}

#define SHEET(id, name, of_family, of_passes, meaning)                   \
	const struct tw_analysis tw_analysis_sheet_##id = {              \
		TW_TABLE(name, meaning, columns),                        \
		.needs = TW_NEEDS_GPU | TW_NEEDS_HOST | TW_NEEDS_MODELS, \
		.make = make,                                            \
		.family = of_family,                                     \
		.passes = of_passes,                                     \
	}
#define SINGLE(family)                                  \
	SHEET(family, #family, #family, TW_BOTH_PASSES, \
	      "calls of this family by what their cost model took from the arguments")
#define FORWARD(family)                                          \
	SHEET(family##_fwd, #family "_fwd", #family, TW_FORWARD, \
	      "forward calls of this family by what their cost model took from the arguments")
/* A family without a table of passes back: whatever its operations are called. */
#define ONLY_FORWARD(family)                                         \
	SHEET(family##_fwd, #family "_fwd", #family, TW_BOTH_PASSES, \
	      "forward calls of this family by what their cost model took from the arguments")
#define BACKWARD(family)                                          \
	SHEET(family##_bwd, #family "_bwd", #family, TW_BACKWARD, \
	      "passes back of this family: backward calls, and what autograd ran for forward ones")

SINGLE(GEMM);
FORWARD(SDPA);
BACKWARD(SDPA);
FORWARD(CONV);
BACKWARD(CONV);
ONLY_FORWARD(InferenceAttention);
SINGLE(BinaryElementwise);
FORWARD(GroupedGEMM);
BACKWARD(GroupedGEMM);
FORWARD(MoE_comm);
BACKWARD(MoE_comm);
FORWARD(SSM);
BACKWARD(SSM);
FORWARD(RoPE);
BACKWARD(RoPE);
FORWARD(CrossEntropy);
BACKWARD(CrossEntropy);
SINGLE(UnaryElementwise);
ONLY_FORWARD(MoE_fused);
ONLY_FORWARD(MoE_unfused);
ONLY_FORWARD(MoE_aux);
ONLY_FORWARD(RMSNorm);
ONLY_FORWARD(elementwise);
ONLY_FORWARD(GroupQuant);
ONLY_FORWARD(FusedRoPE);
ONLY_FORWARD(CustomCollective);
ONLY_FORWARD(mHC);
SINGLE(Normalization);
FORWARD(Reduce);
BACKWARD(Reduce);
FORWARD(Softmax);
BACKWARD(Softmax);
FORWARD(Embedding);
BACKWARD(Embedding);
ONLY_FORWARD(Triton);
