/* Launches of GPU graphs, by graph: their time, and where it is known from what their nodes are. */
#include "analysis/graphs/sources.h"

#include "analysis/analysis.h"
#include "base/alloc.h"
#include "data/limits.h"

enum {
	GRAPH,
	IDENTITY,
	LAUNCHES,
	NODES,
	EVENTS,
	TIME,
	OF_TOTAL,
	SPAN,
	BUSY,
	GAPS,
	STREAMS,
	SOURCE,
	MATCHED,
	MATCHED_PERCENT,
	HOW,
	CAPTURE,
	WITHOUT_CALL,
	WITHOUT_NODE,
	NOTE
};

static const struct trawl_column columns[] = {
	[GRAPH] = TW_ID("graph", 6, "number, by first launch", .over_ranks = TRAWL_KEY),
	[IDENTITY] = TW_TEXT("identity", 16,
			     "what makes launches one graph: its id; its place, where there are as "
			     "many captures as launches; else its streams and kernels"),
	[LAUNCHES] =
		TW_INTEGER("launches", 9, "launches with GPU events", .over_ranks = TRAWL_COUNT),
	[NODES] = TW_INTEGER("nodes", 8,
			     "kernels, copies and fills of its first launch that "
			     "matches a capture, else of its first"),
	[EVENTS] = TW_INTEGER(TW_COL_GPU_EVENTS, 10, "GPU events of all launches",
			      .over_ranks = TRAWL_TOTAL),
	[TIME] = TW_MS(TW_COL_GPU_TIME_MS, 14, "sum of their durations", .over_ranks = TRAWL_TIME),
	[OF_TOTAL] = TW_PERCENT_1("of GPU time (%)", 10, "share of the durations of all GPU events",
				  .over_ranks = TRAWL_SHARE),
	[SPAN] = TW_MS("span (ms)", 12, "first start to last end of a launch, sum"),
	[BUSY] = TW_PERCENT_1("busy (%)", 8, "share of the span in which a node runs"),
	[GAPS] = TW_MS("gaps (ms)", 12, "rest of the span: no node runs"),
	[STREAMS] = TW_INTEGER("streams", 8, "streams of that launch"),
	[SOURCE] =
		TW_TEXT("source", 22,
			"what says which operators launched its nodes: capture; capture by count "
			"only, which has no names of kernels; eager run; else kernel names, which "
			"give categories"),
	[MATCHED] = TW_MS("matched (ms)", 12, "GPU time of nodes whose operator it says",
			  .over_ranks = TRAWL_TOTAL),
	[MATCHED_PERCENT] = TW_PERCENT_1("matched (%)", 9, "the same, share of its GPU time"),
	[HOW] = TW_TEXT("match", 14,
			"how that launch matches the capture: equal; subsequence; by name, the "
			"k-th of each; longest common subsequence"),
	[CAPTURE] = TW_TEXT("capture", 32, "file, and number of the capture in it"),
	[WITHOUT_CALL] = TW_INTEGER("nodes without call", 10,
				    "nodes of that launch that no call of the capture made"),
	[WITHOUT_NODE] = TW_INTEGER("calls without node", 10,
				    "calls of the capture whose node is not in that launch"),
	[NOTE] = TW_TEXT("note", 48, "what else is to be known, and why a capture was refused"),
};

/* What there is of a graph in the view. */
struct sum {
	int64_t launches, events;
	tw_wide gpu_ns, matched_ns, span_ns, busy_ns;
	bool mapped;
};

struct work {
	const struct tw_analysis_input *in;
	struct sum *sums;      /* by graph */
	uint32_t *launch_of;   /* by host node */
	struct tw_union *busy; /* by launch */
	struct tw_interval *span;
	struct tw_str text;
};

static void add_event(struct work *w, uint64_t g)
{
	const struct tw_derived *d = w->in->derived;
	const struct tw_gpu *gpu = &d->gpu;
	const struct tw_graph_node *node = &d->graphs.nodes.at[gpu->graph_node[g]];
	uint32_t launch = w->launch_of[gpu->launch[g]];
	struct sum *sum = &w->sums[node->graph];
	struct tw_interval own = { gpu->start_ns[g], gpu->end_ns[g] };

	if (w->span[launch].start_ns > w->span[launch].end_ns)
		sum->launches++;
	tw_interval_cover(&w->span[launch], &own);
	tw_union_add(&w->busy[launch], own.start_ns, own.end_ns);
	sum->events++;
	sum->gpu_ns += own.end_ns - own.start_ns;
	if (tw_node_op(d, node)) {
		sum->matched_ns += own.end_ns - own.start_ns;
		sum->mapped |= node->source >= TW_GRAPH_MAP_NAME;
	}
}

static int add_up(struct work *w)
{
	const struct tw_derived *d = w->in->derived;
	const struct trawl_allocator *a = w->in->allocator;
	const struct tw_graphs *graphs = &d->graphs;
	size_t n = graphs->launches.count, i;
	uint64_t g;

	w->sums = tw_alloc_array(a, graphs->list.count + 1, sizeof(*w->sums));
	w->launch_of = tw_alloc(a, (d->host.count + 1) * sizeof(*w->launch_of));
	w->busy = tw_alloc(a, (n + 1) * sizeof(*w->busy));
	w->span = tw_alloc(a, (n + 1) * sizeof(*w->span));
	if (!w->sums || !w->launch_of || !w->busy || !w->span)
		return -1;
	for (i = 0; i < n; i++) {
		w->launch_of[graphs->launches.at[i].call] = (uint32_t)i;
		w->busy[i] = (struct tw_union)TW_UNION_INIT;
		w->span[i] = (struct tw_interval){ INT64_MAX, INT64_MIN };
	}
	for (g = 0; g < d->gpu.count; g++)
		if (d->gpu.graph_node[g] != TW_NONE)
			add_event(w, g);
	for (i = 0; i < n; i++) {
		struct sum *sum = &w->sums[graphs->launches.at[i].graph];

		if (w->span[i].start_ns > w->span[i].end_ns)
			continue;
		sum->span_ns += w->span[i].end_ns - w->span[i].start_ns;
		sum->busy_ns += w->busy[i].length_ns;
	}
	return 0;
}

static void set_identity(struct work *w, struct trawl_table *table, size_t row,
			 const struct tw_graph *graph)
{
	const struct tw_pool *texts = &w->in->trace->texts;
	uint32_t text = (uint32_t)(graph->key & UINT32_MAX);

	tw_str_clear(&w->text);
	if (graph->identity == TW_GRAPH_BY_PLACE)
		tw_str_addf(&w->text, "place %llu", (unsigned long long)graph->key);
	else if (graph->identity == TW_GRAPH_BY_NAMES)
		tw_str_add_cstr(&w->text, "kernels");
	else if (graph->key >> 63)
		tw_str_addf(&w->text, "id %s", texts->entries[text].ptr);
	else
		tw_str_addf(&w->text, "id %llu", (unsigned long long)graph->key);
	tw_table_set_text(table, row, IDENTITY, w->text.ptr, w->text.len);
}

/* The file and number of the capture that it was compared with last. */
static void add_capture(struct work *w, const struct tw_choice *choice)
{
	const struct trawl_trace *trace = w->in->trace;
	const struct tw_capture *capture = &trace->captures.list.at[choice->capture];

	tw_str_addf(&w->text, "%s #%u", trace->texts.entries[capture->file].ptr, capture->number);
}

static void add_clause(struct tw_str *text)
{
	if (text->len)
		tw_str_add_cstr(text, "; ");
}

static void add_captures_note(struct work *w, const struct tw_graph *graph)
{
	const struct tw_choice *choice = &graph->choice;

	if (graph->lost) {
		add_clause(&w->text);
		tw_str_addf(&w->text, "%u node%s not recorded", graph->lost,
			    graph->lost == 1 ? "" : "s");
	}
	if (choice->others) {
		add_clause(&w->text);
		tw_str_addf(&w->text, "%u other capture%s match%s too, operators %s",
			    choice->others, choice->others == 1 ? "" : "s",
			    choice->others == 1 ? "es" : "",
			    choice->ops_differ ? "differ" : "equal");
	}
	if (graph->refused) {
		add_clause(&w->text);
		tw_str_addf(&w->text, "%u launch%s differ%s from the capture", graph->refused,
			    graph->refused == 1 ? "" : "es", graph->refused == 1 ? "s" : "");
	}
}

static void set_note(struct work *w, struct trawl_table *table, size_t row,
		     const struct tw_graph *graph)
{
	const struct tw_choice *choice = &graph->choice;

	tw_str_clear(&w->text);
	if (choice->taken) {
		add_captures_note(w, graph);
	} else if (choice->capture != TW_NOT_MATCHED) {
		tw_str_add_cstr(&w->text, "refused: best candidate ");
		add_capture(w, choice);
		tw_str_addf(&w->text, " matches %u of %u nodes, %u calls left over",
			    choice->matched,
			    w->in->derived->graphs.launches.at[graph->launch].count, choice->left);
	}
	if (choice->too_large) {
		add_clause(&w->text);
		tw_str_add_cstr(&w->text, "too many captures to compare with all");
	}
	if (w->text.len)
		tw_table_set_text(table, row, NOTE, w->text.ptr, w->text.len);
}

static const char *source_of(const struct work *w, const struct tw_graph *graph,
			     const struct sum *sum)
{
	if (graph->choice.taken)
		return w->in->trace->captures.list.at[graph->choice.capture].kind ==
				       TW_CAPTURE_NAMED ?
			       "capture" :
			       "capture by count only";
	return sum->mapped ? "eager run" : "kernel names";
}

static void set_choice(struct work *w, struct trawl_table *table, size_t row,
		       const struct tw_graph *graph)
{
	static const char *const modes[] = {
		[TW_MATCH_NONE] = "none",
		[TW_MATCH_EQUAL] = "equal",
		[TW_MATCH_SUBSEQUENCE] = "subsequence",
		[TW_MATCH_BY_NAME] = "by name",
		[TW_MATCH_LCS] = "lcs",
	};
	const struct tw_choice *choice = &graph->choice;
	uint32_t nodes = w->in->derived->graphs.launches.at[graph->launch].count;

	if (choice->capture == TW_NOT_MATCHED)
		return;
	tw_table_set_str(table, row, HOW, modes[choice->mode]);
	tw_str_clear(&w->text);
	add_capture(w, choice);
	tw_table_set_text(table, row, CAPTURE, w->text.ptr, w->text.len);
	tw_table_set_integer(table, row, WITHOUT_CALL, nodes - choice->matched);
	tw_table_set_integer(table, row, WITHOUT_NODE, choice->left);
}

static void add_graph(struct work *w, struct trawl_table *table, uint32_t number)
{
	const struct tw_graphs *graphs = &w->in->derived->graphs;
	const struct tw_graph *graph = &graphs->list.at[number];
	const struct sum *sum = &w->sums[number];
	size_t row;

	if (!sum->launches)
		return;
	row = tw_table_add_row(table);
	tw_set_code(table, row, GRAPH, w->in->trace, number);
	set_identity(w, table, row, graph);
	tw_table_set_integer(table, row, LAUNCHES, sum->launches);
	tw_table_set_integer(table, row, NODES, graphs->launches.at[graph->launch].count);
	tw_table_set_integer(table, row, EVENTS, sum->events);
	tw_set_sum(table, row, TIME, sum->gpu_ns);
	tw_set_percent(table, row, OF_TOTAL, (double)sum->gpu_ns,
		       (double)tw_gpu_time(w->in->derived));
	tw_set_sum(table, row, SPAN, sum->span_ns);
	tw_set_percent(table, row, BUSY, (double)sum->busy_ns, (double)sum->span_ns);
	tw_set_sum(table, row, GAPS, sum->span_ns - sum->busy_ns);
	tw_table_set_integer(table, row, STREAMS, graph->streams);
	tw_table_set_str(table, row, SOURCE, source_of(w, graph, sum));
	tw_set_sum(table, row, MATCHED, sum->matched_ns);
	tw_set_percent(table, row, MATCHED_PERCENT, (double)sum->matched_ns, (double)sum->gpu_ns);
	set_choice(w, table, row, graph);
	set_note(w, table, row, graph);
}

/* ---- the notice */

static bool holds_captures(const struct tw_derived *d)
{
	uint64_t i;

	for (i = 0; i < d->host.call_count; i++)
		if (d->host.name[d->trace->events.name[d->host.event[d->host.call[i]]]] &
		    TW_NAMES_CAPTURE)
			return true;
	return false;
}

/* Whether any graph has a capture that would count with --accept-count. */
static bool has_counted(const struct tw_derived *d)
{
	size_t i;

	for (i = 0; i < d->graphs.nodes.count; i++)
		if (d->graphs.nodes.at[i].source == TW_GRAPH_COUNT)
			return true;
	return false;
}

bool tw_graph_notice(const struct tw_analysis_input *in, struct tw_str *out)
{
	const struct tw_derived *d = in->derived;
	tw_wide unknown_ns = 0, all_ns = tw_gpu_time(d);
	uint64_t g;

	for (g = 0; d->gpu.graph_node && g < d->gpu.count; g++)
		if (d->gpu.graph_node[g] != TW_NONE && !tw_is_replayed(d, g))
			unknown_ns += d->gpu.end_ns[g] - d->gpu.start_ns[g];
	if (!all_ns || unknown_ns * 100 < all_ns * TW_LIMIT_GRAPH_UNKNOWN_PERCENT)
		return false;
	tw_str_add_real_fixed(out, (double)unknown_ns / (double)all_ns * 100, 1);
	tw_str_add_cstr(out, " % of GPU time runs in GPU graphs, with no operator known: ");
	if (has_counted(d))
		tw_str_add_cstr(out, "a capture agrees in the number of nodes, but has no names of "
				     "kernels; accept it with --accept-count");
	else if (in->trace->captures.list.count)
		tw_str_add_cstr(out, "nothing that was given matches (see graphs)");
	else if (holds_captures(d))
		tw_str_add_cstr(out,
				"this trace holds captures; use --capture with the trace itself");
	else
		tw_str_add_cstr(out,
				"use --capture with a trace of the run's start, where graphs are "
				"captured, or --map with one of an eager run");
	return true;
}

static int run_graphs(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_graphs *graphs = &in->derived->graphs;
	struct work w = { .in = in };
	uint32_t i, empty = 0;

	if (!graphs->list.count)
		return 0;
	tw_str_init(&w.text, in->allocator);
	if (add_up(&w))
		return TRAWL_ENOMEM;
	if (tw_graph_notice(in, &w.text))
		tw_table_add_note(table, "%s", w.text.ptr);
	for (i = 0; i < graphs->list.count; i++)
		add_graph(&w, table, i);
	for (i = 0; i < graphs->launches.count; i++)
		empty += !graphs->launches.at[i].count;
	if (empty)
		tw_table_add_note(table, "%u launch%s without recorded GPU events", empty,
				  empty == 1 ? "" : "es");
	return w.text.failed ? TRAWL_ENOMEM : 0;
}

const struct tw_analysis tw_analysis_graphs = {
	TW_TABLE("graphs", "launches of GPU graphs by graph, and what says what their nodes are",
		 columns),
	.needs = TW_NEEDS_GPU | TW_NEEDS_HOST,
	.run = run_graphs,
};
