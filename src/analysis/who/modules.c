/*
 * GPU time of modules: of each path what it launched itself, and with all that is below it, by pass.  What was
 * launched outside of modules, and what has no recorded launch, have rows of their own: self times
 * add up to all GPU time.
 */
#include "analysis/who/pass_columns.h"

#include "analysis/ops/op_work.h"
#include "analysis/order.h"
#include "base/alloc.h"
#include "model/roofline.h"

#include <math.h>

enum {
	PATH,
	DEPTH,
	CALLS,
	RECOMPUTED,
	SELF,
	TOTAL,
	OF_GPU,
	PASSES,
	COMMUNICATION = PASSES + TW_PASS_COUNT,
	EVENTS,
	SELF_EVENTS,
	HOST,
	IDLE,
	GFLOP,
	OF_ROOFLINE
};

static const struct trawl_column columns[] = {
	[PATH] = TW_TEXT(TW_COL_MODULE, 60,
			 "module with those around it, outermost first; of exports NVTX ranges",
			 .over_ranks = TRAWL_KEY),
	[DEPTH] = TW_INTEGER("depth", 8, "modules of the path", .over_ranks = TRAWL_SAME,
			     .values = ">0"),
	[CALLS] = TW_INTEGER("calls", 10, "calls of the module", .over_ranks = TRAWL_COUNT,
			     .values = ">=0"),
	[RECOMPUTED] = TW_INTEGER("recomputed", 11, "of them, calls that run a forward pass again",
				  .over_ranks = TRAWL_TOTAL, .values = ">=0"),
	[SELF] =
		TW_MS(TW_COL_SELF_GPU_TIME_MS, 14,
		      "sum of GPU events launched in the module and in none below it; all rows add "
		      "up to all GPU time",
		      .over_ranks = TRAWL_TOTAL, .values = "!>=0"),
	[TOTAL] = TW_MS(TW_COL_GPU_TIME_MS, 14, "the same with all modules below it",
			.over_ranks = TRAWL_TIME, .values = "!>=0"),
	[OF_GPU] = TW_OF_GPU_TIME_COLUMN,
	TW_PASS_COLUMN_LIST(PASSES),
	[COMMUNICATION] = TW_MS("communication (ms)", 14, "communication part of GPU time",
				.over_ranks = TRAWL_TOTAL, .values = "!>=0"),
	[EVENTS] = TW_INTEGER(TW_COL_GPU_EVENTS, 10, "kernels, copies and memsets of GPU time",
			      .over_ranks = TRAWL_TOTAL, .values = "!>=0"),
	[SELF_EVENTS] = TW_INTEGER("self GPU events", 10, "the same of self GPU time",
				   .over_ranks = TRAWL_TOTAL, .values = "!>=0"),
	[HOST] = TW_MS(TW_COL_HOST_TIME_MS, 14, "sum of durations of the calls on the host",
		       .over_ranks = TRAWL_TOTAL, .values = ">=0"),
	[IDLE] = TW_MS(
		"idle caused (ms)", 14,
		"idle time before work that is launched in the module, by calls that end after the GPU "
		"fell idle; with all modules below it",
		.over_ranks = TRAWL_TOTAL, .values = ">=0"),
	[GFLOP] = TW_DECIMAL("GFLOP", "GFLOP", 9, 3, 12,
			     "work of its operators with a cost model, and of those below it",
			     .over_ranks = TRAWL_TOTAL, .values = ">0"),
	[OF_ROOFLINE] =
		TW_PERCENT_1("roofline (%)", 12,
			     "roofline time of these operators / durations of their GPU events",
			     .over_ranks = TRAWL_MEAN, .values = ">=0"),
};

/* Of operators with a cost model; times of those with a roofline. */
struct effort {
	double flops, roofline_us;
	int64_t ns;
};

static void set_work(const struct tw_attributions *who, struct trawl_table *table, size_t row,
		     const struct tw_module_work *self, const struct tw_module_work *total)
{
	tw_set_sum(table, row, SELF, tw_module_ns(self));
	tw_set_sum(table, row, TOTAL, tw_module_ns(total));
	tw_set_percent(table, row, OF_GPU, (double)tw_module_ns(total), (double)who->gpu_ns);
	tw_set_sum(table, row, COMMUNICATION, total->communication_ns);
	tw_table_set_integer(table, row, EVENTS, (int64_t)total->events);
	tw_table_set_integer(table, row, SELF_EVENTS, (int64_t)self->events);
	if (self == &who->unlinked)
		return;
	tw_set_passes(table, row, PASSES, total->ns);
}

struct rows {
	const struct tw_analysis_input *in;
	const struct tw_attributions *who;
	struct effort *efforts; /* by module */
	tw_wide *idle_ns;	/* by module, with those below; [0]: outside of all */
	struct tw_str text;
};

static void add_effort(void *context, uint64_t node, uint32_t number, const char *category)
{
	struct rows *rows = context;
	const struct tw_gpu *gpu = &rows->in->derived->gpu;
	struct effort *effort = &rows->efforts[tw_attribution_of_node(rows->who, node)->path];
	const struct tw_op_work *work;
	struct tw_roofline roofline;
	const uint32_t *under;
	uint64_t count, i;
	int64_t ns = 0;

	(void)category;
	if (number == TW_NO_GROUP)
		return;
	work = &rows->in->modelled->works[number];
	under = tw_gpu_under(rows->in->modelled, node, &count);
	for (i = 0; i < count; i++)
		ns += gpu->end_ns[under[i]] - gpu->start_ns[under[i]];
	if (!isnan(work->flops))
		effort->flops += work->flops;
	if (!rows->in->platform)
		return;
	tw_roofline(&roofline, rows->in->platform, work->flops, work->bytes, work->spec, ns);
	if (isnan(roofline.time_us))
		return;
	effort->roofline_us += roofline.time_us;
	effort->ns += ns;
}

/* Of each module and of all below it. */
static int find_efforts(struct rows *rows)
{
	const struct tw_analysis_input *in = rows->in;
	uint32_t i;

	rows->efforts = tw_alloc_array(in->allocator, (size_t)rows->who->module_count + 1,
				       sizeof(*rows->efforts));
	if (!rows->efforts ||
	    tw_op_work_visit(in->derived, in->modelled, add_effort, rows, in->allocator))
		return -1;
	for (i = rows->who->module_count; i-- > 1;) {
		struct effort *around = &rows->efforts[rows->who->module[i].parent];

		if (!rows->who->module[i].parent)
			continue;
		around->flops += rows->efforts[i].flops;
		around->roofline_us += rows->efforts[i].roofline_us;
		around->ns += rows->efforts[i].ns;
	}
	return 0;
}

/* Idle time of all devices together, by what launched the work that ends it: that was late. */
static int find_idle(struct rows *rows)
{
	const struct tw_derived *d = rows->in->derived;
	const struct tw_events *e = &d->trace->events;
	int64_t end_ns = INT64_MAX;
	uint64_t g;
	uint32_t i;

	rows->idle_ns = tw_alloc_array(rows->in->allocator, (size_t)rows->who->module_count + 1,
				       sizeof(*rows->idle_ns));
	if (!rows->idle_ns)
		return -1;
	for (g = 0; g < d->gpu.count; g++) {
		uint32_t node = d->gpu.launch[g], call = node == TW_NONE ? 0 : d->host.event[node];

		if (node != TW_NONE && e->phase[call] == 'X' && d->gpu.start_ns[g] > end_ns &&
		    (tw_wide)e->start_ns[call] + e->dur_ns[call] > end_ns)
			rows->idle_ns[tw_attribution_of_node(rows->who, node)->path] +=
				(tw_wide)d->gpu.start_ns[g] - end_ns;
		if (!g || d->gpu.end_ns[g] > end_ns)
			end_ns = d->gpu.end_ns[g];
	}
	for (i = rows->who->module_count; i-- > 1;)
		if (rows->who->module[i].parent)
			rows->idle_ns[rows->who->module[i].parent] += rows->idle_ns[i];
	return 0;
}

static struct tw_order describe(void *context, uint32_t module)
{
	const struct rows *rows = context;

	return (struct tw_order){ .value = module ? tw_module_ns(&rows->who->module[module].total) :
						    -1,
				  .tie = module };
}

static int add_row(void *context, struct trawl_table *table, uint32_t number)
{
	struct rows *rows = context;
	const struct tw_module *module = &rows->who->module[number];
	size_t row;

	if (!tw_module_is_shown(module))
		return 0;
	row = tw_table_add_row(table);
	set_work(rows->who, table, row, &module->self, &module->total);
	if (rows->efforts[number].flops >= 1 && rows->efforts[number].flops < 9e18)
		tw_table_set_integer(table, row, GFLOP, llround(rows->efforts[number].flops));
	tw_set_percent(table, row, OF_ROOFLINE, rows->efforts[number].roofline_us * 1000,
		       (double)rows->efforts[number].ns);
	tw_set_sum(table, row, IDLE, rows->idle_ns[number]);
	if (!number) {
		tw_table_set_str(table, row, PATH, TW_LABEL_NONE);
		return 0;
	}
	tw_str_clear(&rows->text);
	tw_module_path(rows->who, number, &rows->text);
	tw_table_set_text(table, row, PATH, rows->text.ptr, rows->text.len);
	tw_table_set_integer(table, row, DEPTH, module->depth);
	tw_table_set_integer(table, row, CALLS, module->calls);
	tw_table_set_integer(table, row, RECOMPUTED, module->recomputed);
	tw_set_sum(table, row, HOST, module->host_ns);
	return 0;
}

static int run_modules(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_attributions *who = in->who;
	struct rows rows = { .in = in, .who = who };
	const struct tw_order_rows order = { &rows, describe, add_row, NULL };
	size_t row;

	if (!who->modules)
		return 0;
	tw_str_init(&rows.text, in->allocator);
	if (find_efforts(&rows) || find_idle(&rows) ||
	    tw_add_in_order(table, who->module_count, &order, in->allocator) || rows.text.failed)
		return TRAWL_ENOMEM;
	if (who->unlinked.events) {
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, PATH, TW_LABEL_UNLINKED);
		set_work(who, table, row, &who->unlinked, &who->unlinked);
	}
	return 0;
}

const struct tw_analysis tw_analysis_modules = {
	TW_TABLE("modules", "GPU time by module, in its place in the model", columns),
	.needs = TW_NEEDS_GPU | TW_NEEDS_WHO | TW_NEEDS_MODELS,
	.run = run_modules,
};
