/*
 * Runs of kernels that no operation is known for, by name and duration: which of them a time was
 * of is found here where there are no calls to look at.
 */
#include "analysis/analysis.h"

#include "analysis/groups.h"

enum { NAME, DURATION, RUNS, FIRST_START, LAST_START, FIRST_EVENT, LAST_EVENT };

static const struct trawl_column columns[] = {
	[NAME] = TW_TEXT("name", 48, "kernel name"),
	[DURATION] = TW_NS(TW_COL_DUR_NS, 14, "duration"),
	[RUNS] = TW_INTEGER("runs", 8, "kernels of that duration"),
	[FIRST_START] = TW_NS(TW_COL_FIRST_START_NS, 20, "start of the first, trace clock"),
	[LAST_START] = TW_NS(TW_COL_LAST_START_NS, 20, "start of the last"),
	[FIRST_EVENT] = TW_INTEGER(TW_COL_FIRST_EVENT, 10, "event number of the first"),
	[LAST_EVENT] = TW_INTEGER(TW_COL_LAST_EVENT, 10, "event number of the last"),
};

struct key {
	int64_t dur_ns;
	uint32_t name, unused;
};

struct runs {
	int64_t count, first_ns, last_ns;
	uint32_t first, last; /* event numbers */
};

static bool has_operation(const struct tw_derived *d, uint64_t g)
{
	uint32_t origin = tw_gpu_origins(d)[g];

	return origin != TW_NONE && tw_launching_op(d, origin, false) != TW_NONE;
}

static void add_run(struct tw_groups *groups, const struct tw_derived *d, uint64_t g)
{
	const struct tw_gpu *gpu = &d->gpu;
	const struct key key = { .dur_ns = gpu->end_ns[g] - gpu->start_ns[g],
				 .name = d->trace->events.name[gpu->event[g]] };
	struct runs *runs = tw_groups_at(groups, &key);

	if (!runs)
		return;
	runs->last_ns = tw_view_real_start(&d->view, gpu->start_ns[g]);
	runs->last = gpu->event[g];
	if (runs->count++)
		return;
	runs->first_ns = runs->last_ns;
	runs->first = runs->last;
}

static void add_runs_row(const struct tw_analysis_input *in, struct trawl_table *table,
			 const struct key *key, const struct runs *runs)
{
	size_t row = tw_table_add_row(table);

	tw_set_name(table, row, NAME, in->trace, key->name);
	tw_table_set_integer(table, row, DURATION, key->dur_ns);
	tw_table_set_integer(table, row, RUNS, runs->count);
	tw_table_set_integer(table, row, FIRST_START, runs->first_ns);
	tw_table_set_integer(table, row, LAST_START, runs->last_ns);
	tw_table_set_integer(table, row, FIRST_EVENT, runs->first);
	tw_table_set_integer(table, row, LAST_EVENT, runs->last);
}

static int run_kernel_instances(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_derived *d = in->derived;
	struct tw_groups groups;
	uint64_t g;
	uint32_t i;

	if (!in->options->kernel_instances)
		return 0;
	tw_groups_init_values(&groups, sizeof(struct key), sizeof(struct runs), in->allocator);
	for (g = 0; g < d->gpu.count; g++)
		if (tw_class(in->trace, d->gpu.event[g]) == TRAWL_CLASS_KERNEL &&
		    !has_operation(d, g))
			add_run(&groups, d, g);
	for (i = 0; i < groups.count; i++)
		add_runs_row(in, table, tw_groups_key(&groups, i), tw_groups_value(&groups, i));
	return groups.failed ? TRAWL_ENOMEM : 0;
}

const struct tw_analysis tw_analysis_kernel_instances = {
	TW_TABLE("kernel_instances",
		 "kernels without an operator, by name and duration; only for stages of a sweep, "
		 "not in reports",
		 columns),
	.needs = TW_NEEDS_GPU | TW_NEEDS_ASKING,
	.run = run_kernel_instances,
};
