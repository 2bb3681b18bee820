/* Nodes of GPU graphs, over the launches of each: what the kernels are, and what launched them. */
#include "analysis/graphs/sources.h"

#include "analysis/analysis.h"
#include "analysis/signature.h"
#include "analysis/stats.h"
#include "base/alloc.h"
#include "base/sort.h"
#include "model/roofline.h"

#include <math.h>

enum {
	GRAPH,
	NODE,
	KERNEL,
	STREAM,
	CATEGORY,
	OPERATOR,
	MODULE,
	SITE,
	DIMS,
	TYPE,
	COUNT,
	TIME,
	MEAN,
	MIN,
	MEDIAN,
	P95,
	MAX,
	OF_GRAPH,
	ROOFLINE,
	SOURCE
};

static const struct trawl_column columns[] = {
	[GRAPH] = TW_ID("graph", 6, "graph, as in graphs", .over_ranks = TRAWL_KEY),
	[NODE] = TW_ID("node", 7,
		       "number: of the call in the capture, behind them in order of start in "
		       "the first launch that has it",
		       .over_ranks = TRAWL_KEY),
	[KERNEL] = TW_TEXT(TW_COL_KERNEL_NAME, 60, "name of the kernel, copy or fill",
			   .over_ranks = TRAWL_KEY),
	[STREAM] = TW_ID("stream", 8, "stream"),
	[CATEGORY] = TW_TEXT(TW_COL_CATEGORY_OF_KERNEL, 14, "kernel category, from the kernel name",
			     .over_ranks = TRAWL_SAME),
	[OPERATOR] = TW_TEXT("operator", 32, "operator that launched it, else the call",
			     .over_ranks = TRAWL_SAME),
	[MODULE] =
		TW_TEXT("module", 40, "nn.Module path that launched it", .over_ranks = TRAWL_SAME),
	[SITE] = TW_TEXT("call site", 40, "innermost frame of the program that launched it",
			 .over_ranks = TRAWL_SAME),
	[DIMS] = TW_TEXT(TW_COL_INPUT_DIMS, 24, "shapes of the operator's inputs",
			 .over_ranks = TRAWL_SAME),
	[TYPE] = TW_TEXT(TW_COL_INPUT_TYPE, 24, "types of the operator's inputs",
			 .over_ranks = TRAWL_SAME),
	[COUNT] = TW_INTEGER("count", 8, "GPU events: launches in which it was recorded",
			     .over_ranks = TRAWL_COUNT),
	[TIME] = TW_MS(TW_COL_GPU_TIME_MS, 14, "sum of their durations", .over_ranks = TRAWL_TIME),
	[MEAN] = TW_MEAN_US("mean (µs)", 10, "mean duration", .over_ranks = TRAWL_MEAN),
	[MIN] = TW_US("min (µs)", 10, "min duration", .over_ranks = TRAWL_MIN),
	[MEDIAN] = TW_MEAN_US("median (µs)", 10, "median duration"),
	[P95] = TW_US("p95 (µs)", 10, "duration that 95 % of them do not exceed"),
	[MAX] = TW_US("max (µs)", 10, "max duration", .over_ranks = TRAWL_MAX),
	[OF_GRAPH] = TW_PERCENT_2("of graph (%)", 8, "share of the graph's GPU time",
				  .over_ranks = TRAWL_SHARE),
	[ROOFLINE] = TW_PERCENT_1("roofline (%)", 8,
				  "roofline time / mean duration, where the operator has a cost "
				  "model and launched nothing else"),
	[SOURCE] =
		TW_TEXT("source", 22,
			"what says so: capture; capture by count only; eager run, by the kernel's "
			"name or its place; kernel name: the category alone",
			.over_ranks = TRAWL_SAME),
};

struct work {
	const struct tw_analysis_input *in;
	struct tw_members members; /* GPU events by node */
	tw_wide *graph_ns;	   /* by graph */
	int64_t *times;
	struct tw_signatures signatures;
};

static uint64_t number_key(const void *context, uint32_t node)
{
	const struct tw_graph_node *nodes = context;

	return (uint64_t)nodes[node].graph << 32 | nodes[node].number;
}

static void set_source(struct work *w, struct trawl_table *table, size_t row,
		       const struct tw_graph_node *node)
{
	static const char *const texts[] = {
		[TW_GRAPH_NO_SOURCE] = "kernel name",	    [TW_GRAPH_CAPTURE] = "capture",
		[TW_GRAPH_COUNT] = "capture by count only", [TW_GRAPH_MAP_NAME] = "eager run: name",
		[TW_GRAPH_MAP_PLACE] = "eager run: place",
	};
	const struct trawl_trace *trace = w->in->trace;
	const struct tw_captured_call *call = tw_node_op(w->in->derived, node);
	struct tw_signature s;

	tw_table_set_str(table, row, SOURCE, texts[call ? node->source : TW_GRAPH_NO_SOURCE]);
	if (!call)
		return;
	tw_set_name(table, row, OPERATOR, trace, call->op);
	if (!(node->differ & TW_DIFFER_MODULE)) {
		tw_set_name(table, row, MODULE, trace, call->module);
		tw_set_name(table, row, SITE, trace, call->site);
	}
	if (node->differ & TW_DIFFER_DIMS)
		return;
	s = tw_signature_of(&w->signatures, trace->captures.nodes.at[call->op_node].event);
	tw_set_pool_text(table, row, DIMS, &w->signatures.texts, s.dims);
	tw_set_pool_text(table, row, TYPE, &w->signatures.texts, s.types);
}

/* Of a node that is all that its operator launched. */
static void set_roofline(const struct work *w, struct trawl_table *table, size_t row, uint32_t g,
			 double mean_ns)
{
	const struct tw_modelled *m = w->in->modelled;
	const struct tw_op_work *work;
	struct tw_roofline roofline;
	uint64_t op;
	uint32_t number;

	if (!w->in->platform || !tw_is_replayed(m->derived, g))
		return;
	/* The innermost that has one. */
	for (op = m->derived->gpu.origin[g];
	     op != TW_NONE && tw_gpu_count_under(m, op) == 1 && tw_work_at(m, op) == TW_NO_GROUP;
	     op = m->derived->host.parent[op])
		;
	number = op == TW_NONE || tw_gpu_count_under(m, op) != 1 ? TW_NO_GROUP : tw_work_at(m, op);
	if (number == TW_NO_GROUP || m->works[number].reason)
		return;
	work = &m->works[number];
	tw_roofline(&roofline, w->in->platform, work->flops, work->at_least ? NAN : work->bytes,
		    work->spec, (int64_t)mean_ns);
	tw_table_set_real(table, row, ROOFLINE, roofline.percent);
}

static void add_node(struct work *w, struct trawl_table *table, uint32_t number)
{
	const struct tw_derived *d = w->in->derived;
	const struct tw_graph_node *node = &d->graphs.nodes.at[number];
	uint64_t first = w->members.first[number], n = w->members.first[number + 1] - first, i;
	const uint32_t *gpu = w->members.list + first;
	struct tw_stats stats;
	size_t row;

	if (!n)
		return;
	for (i = 0; i < n; i++)
		w->times[i] = d->gpu.end_ns[gpu[i]] - d->gpu.start_ns[gpu[i]];
	stats = tw_stats_of(w->times, n);
	row = tw_table_add_row(table);
	tw_set_code(table, row, GRAPH, w->in->trace, node->graph);
	tw_set_code(table, row, NODE, w->in->trace, node->number);
	tw_set_name(table, row, KERNEL, w->in->trace,
		    w->in->trace->events.name[d->gpu.event[*gpu]]);
	tw_set_code(table, row, STREAM, w->in->trace, d->gpu.queues[d->gpu.queue[*gpu]].stream);
	tw_table_set_str(table, row, CATEGORY, tw_kernel_category_names[tw_gpu_category(d, *gpu)]);
	set_source(w, table, row, node);
	tw_table_set_integer(table, row, COUNT, (int64_t)n);
	tw_set_sum(table, row, TIME, stats.sum);
	tw_set_us(table, row, MEAN, stats.mean);
	tw_table_set_integer(table, row, MIN, stats.min);
	tw_set_us(table, row, MEDIAN, stats.median);
	tw_table_set_integer(table, row, P95, tw_nth_value(w->times, n, (n * 19 + 19) / 20 - 1));
	tw_table_set_integer(table, row, MAX, stats.max);
	set_roofline(w, table, row, *gpu, stats.mean);
	tw_set_percent(table, row, OF_GRAPH, (double)stats.sum, (double)w->graph_ns[node->graph]);
}

static int run_graph_nodes(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_graphs *graphs = &in->derived->graphs;
	const struct tw_gpu *gpu = &in->derived->gpu;
	const struct trawl_allocator *a = in->allocator;
	struct work w = { .in = in };
	uint32_t *order, i, n = (uint32_t)graphs->nodes.count;
	uint64_t g;

	if (!n)
		return 0;
	order = tw_alloc(a, ((size_t)n + 1) * sizeof(*order));
	w.graph_ns = tw_alloc_array(a, graphs->list.count + 1, sizeof(*w.graph_ns));
	w.times = tw_alloc(a, (gpu->count + 1) * sizeof(*w.times));
	if (!order || !w.graph_ns || !w.times || tw_signatures_init(&w.signatures, in->trace, a) ||
	    tw_members_build(&w.members, gpu->graph_node, gpu->count, n, a))
		return TRAWL_ENOMEM;
	for (g = 0; g < gpu->count; g++)
		if (gpu->graph_node[g] != TW_NONE)
			w.graph_ns[graphs->nodes.at[gpu->graph_node[g]].graph] +=
				gpu->end_ns[g] - gpu->start_ns[g];
	for (i = 0; i < n; i++)
		order[i] = i;
	if (tw_sort(order, n, number_key, graphs->nodes.at, a))
		return TRAWL_ENOMEM;
	for (i = 0; i < n; i++)
		add_node(&w, table, order[i]);
	return tw_signatures_failed(&w.signatures) ? TRAWL_ENOMEM : 0;
}

const struct tw_analysis tw_analysis_graph_nodes = {
	TW_TABLE(
		"graph_nodes",
		"nodes of GPU graphs: kernels, what launched them, and their times over the launches",
		columns),
	.needs = TW_NEEDS_GPU | TW_NEEDS_HOST | TW_NEEDS_MODELS,
	.run = run_graph_nodes,
};
