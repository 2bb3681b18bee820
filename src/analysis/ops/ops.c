/*
 * Operators by name, with all the GPU work that they launch: communication too.  What has no
 * recorded launch is a row of its own, so that the rows add up to all GPU work.
 */
#include "analysis/spread.h"
#include "analysis/who/grouping.h"

enum { NAME, CATEGORY, CALLS, EVENTS, SPREAD };

static const struct trawl_column columns[] = {
	[NAME] = TW_TEXT("operator", 48,
			 "operator name, or the call where no operator is above it; "
			 "(not attributed): no matching launch",
			 .over_ranks = TRAWL_KEY),
	[CATEGORY] =
		TW_TEXT("category", 14, "category of its first call", .over_ranks = TRAWL_SAME),
	[CALLS] = TW_INTEGER("calls", 8, "calls that launched GPU work", .over_ranks = TRAWL_COUNT,
			     .values = ">=1"),
	[EVENTS] = TW_INTEGER(TW_COL_GPU_EVENTS, 8,
			      "kernels, copies and memsets launched in no nested operator",
			      .over_ranks = TRAWL_TOTAL, .values = "!>=1"),
	TW_SPREAD_COLUMN_LIST(SPREAD, "GPU time of a call"),
};

struct key {
	uint32_t name, group;
};

struct value {
	struct tw_spread_sum sum;
	int64_t events;
};

/* The GPU work of a call. */
struct call {
	tw_wide ns;
	int64_t events;
	uint64_t first; /* GPU event */
};

static uint32_t name_of(const void *key)
{
	return ((const struct key *)key)->name;
}

static void set_operator(const struct tw_spread *spread, struct trawl_table *table, size_t row,
			 const void *of_key, const void *of_value, uint64_t count)
{
	const struct value *value = of_value;
	const struct key *key = of_key;

	tw_set_name(table, row, NAME, spread->in->trace, key->name);
	tw_table_set_str(table, row, CATEGORY, value->sum.category);
	tw_table_set_integer(table, row, CALLS, (int64_t)count);
	tw_table_set_integer(table, row, EVENTS, value->events);
	tw_set_group(spread->in, table, row, key->group);
}

/* By host node; `rest`: of those of which no call is known. */
static void add_up(const struct tw_derived *d, struct tw_groups *calls, struct call *rest)
{
	const uint32_t *origins = tw_gpu_origins(d);
	uint64_t g;

	for (g = 0; g < d->gpu.count; g++) {
		struct call *call = rest;

		if (origins[g] != TW_NONE) {
			uint32_t node = (uint32_t)tw_launching_op(d, origins[g], false);

			call = tw_groups_at(calls, node == TW_NONE ? &origins[g] : &node);
		}
		if (!call)
			return;
		if (!call->events++)
			call->first = g;
		call->ns += d->gpu.end_ns[g] - d->gpu.start_ns[g];
	}
}

static void add_not_attributed(const struct tw_spread *spread, struct trawl_table *table,
			       const struct call *rest)
{
	size_t row;

	if (!rest->events)
		return;
	row = tw_table_add_row(table);
	tw_table_set_str(table, row, NAME, TW_LABEL_NOT_ATTRIBUTED);
	tw_table_set_integer(table, row, EVENTS, rest->events);
	tw_spread_set_total(spread, table, row, SPREAD, rest->ns);
	tw_set_group(spread->in, table, row, TW_GROUP_UNLINKED);
}

static int add_call(struct tw_spread *spread, uint32_t node, const struct call *call)
{
	const struct tw_analysis_input *in = spread->in;
	const struct key key = { in->trace->events.name[in->derived->host.event[node]],
				 tw_group_of_gpu(in, call->first) };
	struct value *value = tw_spread_add(spread, &key, call->ns);

	if (!value)
		return TRAWL_ENOMEM;
	value->events += call->events;
	if (!value->sum.category)
		value->sum.category = tw_parent_of(in->parents, call->first).category;
	return 0;
}

static int run_ops(const struct tw_analysis_input *in, struct trawl_table *table)
{
	static const struct tw_spread_rows rows = { name_of, set_operator, SPREAD };
	struct tw_groups calls;
	struct call rest = { 0 };
	struct tw_spread spread;
	uint32_t i;

	tw_groups_init_values(&calls, sizeof(uint32_t), sizeof(struct call), in->allocator);
	add_up(in->derived, &calls, &rest);
	if (calls.failed ||
	    tw_spread_init(&spread, in, sizeof(struct key), sizeof(struct value), calls.count))
		return TRAWL_ENOMEM;
	for (i = 0; i < calls.count; i++)
		if (add_call(&spread, *(const uint32_t *)tw_groups_key(&calls, i),
			     tw_groups_value(&calls, i)))
			return TRAWL_ENOMEM;
	if (tw_spread_add_rows(&spread, table, &rows))
		return TRAWL_ENOMEM;
	add_not_attributed(&spread, table, &rest);
	return 0;
}

const struct tw_analysis tw_analysis_ops = {
	TW_TABLE("ops", "GPU work by operator, communication included", columns),
	.needs = TW_NEEDS_GPU | TW_GROUPS,
	.run = run_ops,
};
