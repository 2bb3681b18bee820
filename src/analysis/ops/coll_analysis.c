/*
 * Collectives by process group, collective, type, size and stream: what TraceLens
 * calls nccl_summary_long, of one trace.  What neither a kernel's arguments nor those of the
 * operation that launched it tell stays empty; the kind of collective then comes from their names.
 */
#include "analysis/analysis.h"

#include "analysis/ops/collective_args.h"
#include "analysis/order.h"
#include "analysis/stats.h"
#include "base/alloc.h"
#include "store/parts.h"

#include <string.h>

enum {
	RANK,
	GROUP,
	GROUP_RANKS,
	NAME,
	GROUP_SIZE,
	DTYPE,
	IN_NELEMS,
	OUT_NELEMS,
	IN_SPLIT,
	OUT_SPLIT,
	STREAM,
	IN_MB,
	OUT_MB,
	SUM,
	MEAN,
	STD,
	MIN,
	MAX,
	COUNT,
	COLLECTIVE,
	LIBRARY,
	DEVICE,
	EVIDENCE
};

static const struct trawl_column columns[] = {
	[RANK] =
		TW_INTEGER("rank", 6, "0 for a single trace; empty for an export of several ranks"),
	[GROUP] = TW_TEXT(TW_COL_PROCESS_GROUP_NAME, 14, "process group"),
	[GROUP_RANKS] = TW_TEXT("Process Group Ranks", 24, "ranks of the group"),
	[NAME] = TW_TEXT(TW_COL_COLLECTIVE_NAME, 22, "collective name as recorded"),
	[GROUP_SIZE] = TW_ID("Group size", 10, "number of ranks in the group"),
	[DTYPE] = TW_TEXT("dtype", 12, "element type"),
	[IN_NELEMS] = TW_ID(TW_COL_IN_MSG_NELEMS, 14, "elements sent"),
	[OUT_NELEMS] = TW_ID(TW_COL_OUT_MSG_NELEMS, 14, "elements received"),
	[IN_SPLIT] = TW_TEXT("In split size", 14, "elements to each rank"),
	[OUT_SPLIT] = TW_TEXT("Out split size", 14, "elements from each rank"),
	[STREAM] = TW_ID("stream", 8, "stream"),
	[IN_MB] = TW_REAL("In msg size (MB)_first", "MB", 3, 12,
			  "elements sent x bytes of the type / 2^20"),
	[OUT_MB] = TW_REAL("Out msg size (MB)_first", "MB", 3, 12,
			   "elements received x bytes of the type / 2^20"),
	[SUM] = TW_US(TW_COL_DUR_SUM, 14, "sum of durations"),
	[MEAN] = TW_MEAN_US(TW_COL_DUR_MEAN, 14, "mean duration"),
	[STD] = TW_MEAN_US("dur_std", 14, "sample standard deviation of durations"),
	[MIN] = TW_US(TW_COL_DUR_MIN, 14, "min duration"),
	[MAX] = TW_US(TW_COL_DUR_MAX, 14, "max duration"),
	[COUNT] = TW_INTEGER(TW_COL_OPERATION_COUNT, 10,
			     "number of calls; all copies that one operator launches count as one"),
	[COLLECTIVE] = TW_TEXT(
		"Collective type", 16,
		"collective type from the recorded name, else the operator name, else the kernel "
		"name"),
	[LIBRARY] = TW_TEXT("Library", 16, "library of the kernel, from the kernel name"),
	[DEVICE] = TW_ID("device", 8, "device"),
	[EVIDENCE] =
		TW_TEXT("Evidence", 12,
			"why it counts as communication; arguments: the event has arguments of a "
			"collective; operation: its operator communicates; kernel name"),
};

/* Arguments that have columns, in their order from GROUP on. */
#define ARGS (TW_COLLECTIVE_OUT_SPLIT + 1)

struct key {
	const struct tw_kernel_name *kernel;
	uint32_t args[ARGS]; /* ids of `texts`, 0: not recorded */
	uint32_t queue;
	uint32_t operation; /* its name, id of the trace's texts; 0: none */
	enum tw_evidence evidence;
};

struct work {
	const struct tw_analysis_input *in;
	struct tw_pool texts;
	struct tw_str scratch;
	struct tw_groups groups;
	struct tw_members members;
	struct tw_groups begun;
	uint32_t *of;
	int64_t *time; /* by GPU event: of the collective that begins with it */
	int64_t *values;
};

static uint32_t arg_text(struct work *w, const struct trawl_argument *arg)
{
	tw_str_clear(&w->scratch);
	tw_collective_arg_text(w->in->trace, arg, &w->scratch);
	return w->scratch.len ? tw_pool_intern(&w->texts, w->scratch.ptr, w->scratch.len) : 0;
}

static struct key collective_key(struct work *w, uint64_t g,
				 const struct tw_collective_facts *facts)
{
	const struct tw_derived *d = w->in->derived;
	struct key key;
	size_t i;

	memset(&key, 0, sizeof(key));
	key.kernel = tw_gpu_known(d, g);
	key.queue = d->gpu.queue[g];
	key.evidence = facts->why.evidence;
	for (i = 0; i < ARGS; i++)
		key.args[i] = arg_text(w, &facts->args[i]);
	/* A recorded name is decisive. */
	if (!key.args[TW_COLLECTIVE_NAME] && facts->why.operation != TW_NONE)
		key.operation = d->trace->events.name[facts->why.operation];
	return key;
}

/* A collective of several copies is placed at the first one. */
static int group_collectives(struct work *w)
{
	const struct tw_derived *d = w->in->derived;
	const struct tw_gpu *gpu = &d->gpu;
	uint64_t g;

	for (g = 0; g < gpu->count; g++) {
		struct tw_collective_facts facts;
		const uint64_t *first;
		struct key key;

		w->of[g] = TW_NO_GROUP;
		w->time[g] = gpu->end_ns[g] - gpu->start_ns[g];
		if (gpu->bucket[g] != TW_COMMUNICATION)
			continue;
		tw_collective_facts_of(d, g, &facts);
		first = tw_collective_begun(&w->begun, d, g, &facts, g);
		if (first) {
			w->time[*first] += w->time[g];
			continue;
		}
		key = collective_key(w, g, &facts);
		w->of[g] = tw_groups_add(&w->groups, &key);
	}
	return w->groups.failed || w->begun.failed || w->texts.failed || w->scratch.failed ? -1 : 0;
}

static const char *text_of(const struct work *w, const struct key *key, enum tw_collective_arg arg,
			   size_t *len)
{
	return tw_pool_text(&w->texts, key->args[arg], len);
}

/* Megabytes of a number of elements; missing when the type's size is not known. */
static void set_megabytes(const struct work *w, struct trawl_table *table, size_t row,
			  size_t column, const struct key *key, enum tw_collective_arg elements)
{
	size_t len, dtype_len;
	const char *nelems = text_of(w, key, elements, &len);
	const char *dtype = text_of(w, key, TW_COLLECTIVE_DTYPE, &dtype_len);

	tw_table_set_real(table, row, column,
			  tw_collective_megabytes(nelems, len, dtype, dtype_len));
}

static void set_kind(const struct work *w, struct trawl_table *table, size_t row,
		     const struct key *key)
{
	size_t len, operation_len;
	const char *recorded = text_of(w, key, TW_COLLECTIVE_NAME, &len);
	const char *operation = tw_pool_text(&w->in->trace->texts, key->operation, &operation_len);
	const char *kind = tw_collective_kind(recorded, len, operation, operation_len, key->kernel);

	if (kind)
		tw_table_set_str(table, row, COLLECTIVE, kind);
	if (key->kernel)
		tw_table_set_str(table, row, LIBRARY, key->kernel->library);
	tw_table_set_str(table, row, EVIDENCE, tw_evidence_name(key->evidence));
}

/* Of a trace of several ranks that of the process, where all are of one and it is known. */
static void set_rank(struct work *w, struct trawl_table *table, size_t row, const uint32_t *list,
		     uint64_t n)
{
	const struct trawl_trace *trace = w->in->trace;
	const uint32_t *event = w->in->derived->gpu.event;
	uint32_t part = trace->part_count ? tw_part_of(trace, event[list[0]]) : TW_NO_PART;
	bool one = part != TW_NO_PART && trace->rank_parts[part].rank >= 0;
	uint64_t i;

	if (!trace->by_process)
		tw_table_set_integer(table, row, RANK, 0);
	for (i = 1; i < n && one; i++)
		one = tw_part_of(trace, event[list[i]]) == part;
	if (trace->by_process && (one || trace->labelled))
		tw_table_set_integer(table, row, RANK,
				     one ? trace->rank_parts[part].rank : trace->rank);
}

static int add_collectives_row(void *context, struct trawl_table *table, uint32_t group)
{
	struct work *w = context;
	const struct key *key = tw_groups_key(&w->groups, group);
	const struct tw_queue *queue = &w->in->derived->gpu.queues[key->queue];
	const uint32_t *list = w->members.list + w->members.first[group];
	uint64_t n = w->members.first[group + 1] - w->members.first[group], i;
	size_t row = tw_table_add_row(table), arg;
	struct tw_stats stats;

	for (i = 0; i < n; i++)
		w->values[i] = w->time[list[i]];
	stats = tw_stats_of(w->values, n);
	set_rank(w, table, row, list, n);
	for (arg = 0; arg < ARGS; arg++)
		tw_set_pool_text(table, row, GROUP + arg, &w->texts, key->args[arg]);
	tw_set_code(table, row, STREAM, w->in->trace, queue->stream);
	tw_set_code(table, row, DEVICE, w->in->trace, queue->device);
	set_megabytes(w, table, row, IN_MB, key, TW_COLLECTIVE_IN_NELEMS);
	set_megabytes(w, table, row, OUT_MB, key, TW_COLLECTIVE_OUT_NELEMS);
	tw_set_sum(table, row, SUM, stats.sum);
	tw_set_us(table, row, MEAN, stats.mean);
	tw_set_us(table, row, STD, stats.std);
	tw_table_set_integer(table, row, MIN, stats.min);
	tw_table_set_integer(table, row, MAX, stats.max);
	tw_table_set_integer(table, row, COUNT, (int64_t)stats.count);
	set_kind(w, table, row, key);
	return 0;
}

static struct tw_order describe_collectives(void *context, uint32_t group)
{
	const struct work *w = context;
	const uint32_t *list = w->members.list, *first = &w->members.first[group];
	struct tw_order order = { .tie = w->in->derived->gpu.event[list[first[0]]] };
	uint32_t i;

	for (i = first[0]; i < first[1]; i++)
		order.value += w->time[list[i]];
	return order;
}

static int run_coll_analysis(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct trawl_allocator *a = in->allocator;
	uint64_t n = in->derived->gpu.count;
	struct work w = { .in = in };
	const struct tw_order_rows rows = { &w, describe_collectives, add_collectives_row, NULL };

	tw_groups_init(&w.groups, sizeof(struct key), a);
	tw_str_init(&w.scratch, a);
	TW_COLLECTIVES_BEGUN_INIT(&w.begun, a);
	w.of = tw_alloc(a, (n + 1) * sizeof(*w.of));
	w.time = tw_alloc(a, (n + 1) * sizeof(*w.time));
	w.values = tw_alloc(a, (n + 1) * sizeof(*w.values));
	return !w.of || !w.time || !w.values || tw_pool_init(&w.texts, a) ||
			       group_collectives(&w) ||
			       tw_members_build(&w.members, w.of, n, w.groups.count, a) ?
		       TRAWL_ENOMEM :
		       tw_add_in_order(table, w.groups.count, &rows, a);
}

const struct tw_analysis tw_analysis_coll_analysis = {
	TW_TABLE("coll_analysis", "communication kernels by collective, message size and stream",
		 columns),
	.needs = TW_NEEDS_GPU,
	.run = run_coll_analysis,
};
