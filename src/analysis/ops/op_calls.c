#include "analysis/ops/op_calls.h"

#include "base/alloc.h"

#include <string.h>

/* Name, parameters with their columns, and whether it is in a graph. */
#define KEY_COUNT (2 + 2 * TW_MAX_PARAMETERS)

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

/* The column of a parameter, counted among the parameters: sheets.def has each. */
static uint32_t column_of(const struct tw_op_calls *c, const char *name)
{
	uint32_t p;

	for (p = 0; p < c->parameter_count; p++)
		if (!strcmp(c->parameters[p], name))
			break;
	return p;
}

/* Calls of one name and equal parameters are a group, in graphs another; a work belongs to one name. */
static uint32_t group_of(struct tw_op_calls *c, uint32_t work, bool graph)
{
	const struct tw_op_work *o = &c->m->works[work];
	uint32_t key[KEY_COUNT] = { 0 }, i, *group = &c->group_of_work[2 * (size_t)work + graph];

	if (*group)
		return *group - 1;
	key[0] = o->name;
	for (i = 0; i < o->parameter_count; i++) {
		const struct tw_op_parameter *parameter = &c->m->parameters[o->parameters + i];

		key[1 + 2 * i] = 1 + column_of(c, parameter->name);
		key[2 + 2 * i] = parameter->text;
	}
	key[KEY_COUNT - 1] = graph;
	*group = tw_groups_add(&c->groups, key) + 1;
	return *group - 1;
}

/* Whether a call, or GPU work under it, is in the view. */
static bool is_in_view(const struct tw_op_calls *c, uint64_t node)
{
	const struct tw_derived *d = c->in->derived;
	const struct tw_events *events = &d->trace->events;
	uint64_t event;
	int64_t start, end;

	if (!d->view.limited || tw_gpu_count_under(c->m, node))
		return true;
	event = d->host.event[node];
	if (events->phase[event] != 'X')
		return false;
	start = events->start_ns[event];
	end = start + events->dur_ns[event];
	return tw_view_clip(tw_host_view(d), &start, &end);
}

static void add_forward(struct tw_op_calls *c, uint64_t node, uint32_t work)
{
	uint64_t count, event = c->in->derived->host.event[node];
	const uint32_t *gpu = tw_gpu_under(c->m, node, &count);

	if (!is_in_view(c, node))
		return;
	tw_op_rows_gpu(&c->rows, gpu, count);
	tw_op_rows_end(&c->rows, event, work, group_of(c, work, tw_is_via_graph(c->in, event)));
}

/* Whether an operation of the family was recorded under a backward node: it has its own row. */
static bool has_own_backward(const struct tw_op_calls *c, uint64_t node)
{
	uint64_t i;

	for (i = node; i < c->m->end[node]; i++)
		if (tw_work_at(c->m, i) != TW_NO_GROUP && c->member[tw_work_at(c->m, i)])
			return true;
	return false;
}

/* The pass back through a call: all GPU events under the backward nodes of what is in it. */
static void add_backward(struct tw_op_calls *c, uint64_t node)
{
	uint32_t work = TW_NO_GROUP;
	uint64_t first, end, i, count;
	bool in_view = false;

	tw_pairs_under(c->m, node, &first, &end);
	for (i = first; i < end; i++) {
		uint64_t pair = c->m->by_forward[i];

		in_view |= is_in_view(c, c->in->derived->autograd.pairs[pair].backward);
		if (has_own_backward(c, c->in->derived->autograd.pairs[pair].backward))
			return;
		if (c->in->derived->autograd.pairs[pair].forward == node)
			work = c->m->backward_work[pair];
	}
	if (work == TW_NO_GROUP || !in_view)
		return;
	for (i = first; i < end; i++) {
		const uint32_t *gpu = tw_gpu_under(
			c->m, c->in->derived->autograd.pairs[c->m->by_forward[i]].backward, &count);

		tw_op_rows_gpu(&c->rows, gpu, count);
	}
	tw_op_rows_end(&c->rows, c->in->derived->host.event[node], work, group_of(c, work, false));
}

static void collect_family(struct tw_op_calls *c)
{
	uint64_t i;

	for (i = 0; i < c->m->call_count; i++) {
		uint32_t node = c->m->calls[i], work = tw_work_at(c->m, node);
		bool backward = c->member[work] == BACKWARD;

		if (!c->member[work])
			continue;
		if (c->sheet->passes == TW_BACKWARD && !backward)
			add_backward(c, node);
		else if (!c->m->works[work].reason &&
			 (c->sheet->passes == TW_BOTH_PASSES ||
			  backward == (c->sheet->passes == TW_BACKWARD)))
			add_forward(c, node, work);
	}
}

static bool has_calls(const struct tw_modelled *m, const char *family)
{
	uint32_t i;

	for (i = 0; i < m->keys.count; i++)
		if (!strcmp(m->works[i].model->sheet, family))
			return true;
	return false;
}

static enum member member_of(const struct tw_op_calls *c, const struct tw_op_work *work)
{
	if (strcmp(work->model->sheet, c->sheet->family))
		return OF_ANOTHER;
	return is_backward(&c->in->trace->texts.entries[work->name]) ? BACKWARD : FORWARD;
}

int tw_op_calls_collect(struct tw_op_calls *c, const struct tw_analysis_input *in,
			const struct tw_analysis *sheet)
{
	const struct trawl_allocator *a = in->allocator;
	uint32_t works = in->modelled->keys.count, i;

	*c = (struct tw_op_calls){ .in = in, .m = in->modelled, .sheet = sheet };
	tw_groups_init(&c->groups, KEY_COUNT * sizeof(uint32_t), a);
	tw_op_rows_init(&c->rows, in);
	/* Most families are not in a trace; their tables cost nothing. */
	if (!has_calls(c->m, sheet->family))
		return 0;
	c->group_of_work = tw_alloc_array(a, 2 * (size_t)works, sizeof(*c->group_of_work));
	c->member = tw_alloc_array(a, works, sizeof(*c->member));
	if (!c->group_of_work || !c->member || tw_signatures_init(&c->signatures, in->trace, a))
		return TRAWL_ENOMEM;
	c->signatures.lists = true;
	c->parameters = tw_sheet_parameters(sheet->family);
	while (c->parameters[c->parameter_count])
		c->parameter_count++;
	for (i = 0; i < works; i++)
		c->member[i] = (uint8_t)member_of(c, &c->m->works[i]);
	collect_family(c);
	return c->groups.failed || tw_op_rows_group(&c->rows, c->groups.count) ? TRAWL_ENOMEM : 0;
}

/* ---- the table */

static struct trawl_table *new_table(const struct tw_op_calls *c, const struct tw_table_spec *spec)
{
	static const struct trawl_column parameter =
		TW_TEXT("param", 16, "parameters of the cost model, from the arguments",
			.over_ranks = TRAWL_KEY);
	bool without = !tw_has_via(c->in) &&
		       !strcmp(spec->columns[spec->column_count - 1].header, TW_COL_VIA);
	size_t p, total = spec->column_count - without + c->parameter_count;
	struct trawl_column *all = tw_alloc_array(c->in->allocator, total, sizeof(*all));
	struct trawl_table *table;

	if (!all)
		return NULL;
	all[0] = spec->columns[0];
	for (p = 0; p < c->parameter_count; p++)
		all[1 + p] = parameter;
	memcpy(all + 1 + p, spec->columns + 1, (total - 1 - p) * sizeof(*all));
	table = tw_table_new_columns(spec, all, total, c->in->tables);
	for (p = 0; table && p < c->parameter_count; p++)
		tw_table_name_column(table, 1 + p, "param: ", c->parameters[p]);
	return table;
}

/* The cells of the parameters; those that another model of the family has stay missing. */
static void set_parameters(const struct tw_op_calls *c, struct trawl_table *table, size_t row,
			   const struct tw_op_work *work)
{
	uint32_t i;

	for (i = 0; i < work->parameter_count; i++) {
		const struct tw_op_parameter *parameter = &c->m->parameters[work->parameters + i];
		uint32_t column = column_of(c, parameter->name);

		if (column < c->parameter_count && c->m->texts.entries[parameter->text].len)
			tw_set_pool_text(table, row, 1 + column, &c->m->texts, parameter->text);
	}
}

struct making {
	const struct tw_op_calls *calls;
	tw_set_op_row *set;
	void *context;
};

static void set_family_calls(void *context, struct trawl_table *table, size_t row, uint32_t number,
			     const struct tw_op_group *group)
{
	const struct making *making = context;
	const struct trawl_trace *trace = making->calls->in->trace;

	tw_set_name(table, row, 0, trace, trace->events.name[group->first->event]);
	set_parameters(making->calls, table, row, group->work);
	making->set(making->context, table, row, number, group);
}

int tw_op_calls_make(struct tw_op_calls *c, const struct tw_table_spec *spec, tw_set_op_row *set,
		     void *context, struct trawl_table **table)
{
	struct making making = { c, set, context };
	int status;

	if (!c->rows.count)
		return 0;
	*table = new_table(c, spec);
	if (!*table)
		return TRAWL_ENOMEM;
	status = tw_op_rows_add(&c->rows, *table, set_family_calls, &making);
	return tw_signatures_failed(&c->signatures) ? TRAWL_ENOMEM : status;
}

void tw_op_calls_set_arguments(struct tw_op_calls *c, struct trawl_table *table, size_t row,
			       size_t column, uint64_t event)
{
	struct tw_signature signature = tw_signature_of(&c->signatures, event);

	tw_set_signature(table, row, column, &c->signatures.texts, &signature);
}
