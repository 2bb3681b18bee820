/*
 * cpu_idle_data.json and cpu_idle_ops.csv: the time in which the GPU does nothing by cause, what
 * would be without it, its largest gaps with what stands around them, and how short kernels are.
 */
#include "standalone/system/cpu_idle.h"

#include "analysis/launches/enclosing.h"
#include "analysis/launches/host_names.h"
#include "analysis/order.h"
#include "base/alloc.h"
#include "render/render.h"

#include <math.h>
#include <string.h>

#define LARGEST 100	   /* in the table */
#define LARGEST_TOLD 10	   /* in the JSON */
#define MOST_OF_A_CAUSE 80 /* percent */
#define MOST_CATEGORIES (TW_MAX_OP_CATEGORIES + 3)

/* ---- members */

#define F(kind, member, key, ...) TW_FIELD(struct tw_idle_time, kind, member, key, __VA_ARGS__)
static const struct tw_member time_fields[] = {
	F(NS, total_ns, "total_time_us", 3, .needed = true),
	F(NS, busy_ns, "busy_time_us", 3),
	F(NS, computation_ns, "computation_time_us", 3),
	F(NS, exposed_comm_ns, "exposed_comm_time_us", 3),
	F(NS, exposed_memcpy_ns, "exposed_memcpy_time_us", 3),
	F(NS, idle_ns, "idle_time_us", 3, .needed = true),
	F(REAL, idle_percent, "idle_percent_of_total", 2),
	F(COUNT, gap_count, "gap_count"),
	F(NS, largest_gap_ns, "largest_gap_us", 3),
};
#undef F
const struct tw_fields tw_idle_time_fields = TW_FIELDS(struct tw_idle_time, time_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_told_gap, kind, member, key, __VA_ARGS__)
static const struct tw_member gap_fields[] = {
	F(COUNT, rank, "rank"),
	F(NS, start_ns, "start_us", 3),
	F(NS, dur_ns, "duration_us", 3),
	F(PLAIN, cause, "cause"),
	F(TEXT, operation, "operation"),
	F(TEXT, call, "launch_call"),
	F(TEXT, python, "python_function"),
	F(TEXT, before, "kernel_before"),
	F(TEXT, after, "kernel_after"),
	F(BOOL, at_edge, "at_edge"),
	F(TEXT, running_call, "running_call"),
	F(NS, running_call_ns, "running_call_us", 3, .if_known = true),
	F(FLAG, running_call_launches, "running_call_launches", .if_known = true),
	F(TEXT, running_operation, "running_operation"),
	F(TEXT, running_python, "running_python_function"),
};
#undef F
const struct tw_fields tw_told_gap_fields = TW_FIELDS(struct tw_told_gap, gap_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_idle_part, kind, member, key, __VA_ARGS__)
static const struct tw_member part_fields[] = {
	F(COUNT, count, "count", .needed = true),
	F(NS, total_ns, "total_time_us", 3, .needed = true),
	F(REAL, mean_us, "mean_us", 3),
	F(NS, largest_ns, "largest_us", 3),
	F(REAL, largest_percent, "largest_percent", 2),
	F(COUNT, gaps_of_80_percent, "gaps_of_80_percent"),
	F(REAL, percent_of_idle, "percent_of_idle", 2),
	F(REAL, percent_of_total, "percent_of_total", 2),
	F(NS, without_ns, "total_time_without_us", 3),
	F(REAL, speedup_without, "speedup_without", 4),
	F(POINTER, largest, "largest_gap", .of = &tw_told_gap_fields),
};
#undef F
static const struct tw_fields part = TW_FIELDS(struct tw_idle_part, part_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_idle_kernels, kind, member, key, __VA_ARGS__)
static const struct tw_member kernel_fields[] = {
	F(NS, short_threshold_ns, "short_kernel_threshold_us", 3),
	F(COUNT, short_count, "short_kernel_count"),
	F(REAL, short_percent, "short_kernel_percent", 2),
	F(NS, short_ns, "short_kernel_time_us", 3),
	F(REAL, short_time_percent, "short_kernel_time_percent", 2),
	F(COUNT, total_count, "total_kernel_count"),
	F(NS, total_ns, "total_kernel_time_us", 3),
	F(REAL, mean_us, "avg_kernel_time_us", 3),
	F(NAMED, by_category, "kernel_count_by_category"),
};
#undef F
const struct tw_fields tw_idle_kernels_fields = TW_FIELDS(struct tw_idle_kernels, kernel_fields);

static const struct tw_member cause_fields[] = { TW_IDLE_CAUSE_FIELDS(&part) };
static const struct tw_fields causes = TW_FIELDS(struct tw_cpu_idle, cause_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_cpu_idle, kind, member, key, __VA_ARGS__)
static const struct tw_member idle_fields[] = {
	F(STRUCT, time, "idle_analysis", .of = &tw_idle_time_fields),
	{ .key = "causes", .kind = TW_F_STRUCT, .of = &causes },
	F(STRUCT, kernels, "kernel_analysis", .of = &tw_idle_kernels_fields),
	F(LIST, gaps, "largest_gaps", .of = &tw_told_gap_fields),
};
#undef F
const struct tw_fields tw_cpu_idle_fields = TW_FIELDS(struct tw_cpu_idle, idle_fields);

/* ---- making them */

struct work {
	const struct tw_analysis_input *in;
	struct tw_arena *arena;
	struct tw_cpu_idle *idle;
	struct tw_idle_gaps gaps;
	const struct tw_gap *largest[LARGEST];
	struct tw_told_gap told[LARGEST];
	struct tw_gap_host hosts[LARGEST];
	size_t largest_count;
};

/* ---- kernels */

static void count_category(struct tw_idle_kernels *k, const char *name)
{
	size_t i;

	for (i = 0; i < k->by_category.count; i++)
		if (!strcmp(k->by_category.at[i].name, name))
			break;
	if (i == MOST_CATEGORIES)
		return;
	if (i == k->by_category.count)
		k->by_category.at[k->by_category.count++] = (struct tw_named){ name, 0 };
	k->by_category.at[i].value++;
}

static int64_t sum_of(tw_wide ns)
{
	return tw_wide_fits(ns) ? (int64_t)ns : TRAWL_TIME_NONE;
}

static void count_kernels(struct work *w)
{
	const struct tw_gpu *gpu = &w->in->derived->gpu;
	struct tw_idle_kernels *k = &w->idle->kernels;
	tw_wide total_ns = 0, short_ns = 0;
	uint64_t g;

	k->by_category.at =
		tw_arena_array(w->arena, MOST_CATEGORIES + 1, sizeof(*k->by_category.at));
	for (g = 0; k->by_category.at && g < gpu->count; g++) {
		int64_t ns = gpu->end_ns[g] - gpu->start_ns[g];
		const char *category;

		if (tw_class(w->in->trace, gpu->event[g]) != TRAWL_CLASS_KERNEL)
			continue;
		k->total_count++;
		total_ns += ns;
		if (ns < w->in->options->short_kernel_ns) {
			k->short_count++;
			short_ns += ns;
		}
		category = tw_parent_of(w->in->parents, g).category;
		count_category(k, category ? category : "unlinked");
	}
	k->short_threshold_ns = w->in->options->short_kernel_ns;
	k->short_percent =
		tw_as_written(tw_percent_of((double)k->short_count, (double)k->total_count), 2);
	k->short_time_percent = tw_percent_of((double)short_ns, (double)total_ns);
	k->short_ns = sum_of(short_ns);
	k->total_ns = sum_of(total_ns);
	k->mean_us = k->total_count ? (double)total_ns / 1000 / (double)k->total_count :
				      (double)NAN;
}

/* ---- the largest gaps */

/* NULL: none. */
static const char *name_of_event(const struct work *w, uint32_t event)
{
	return event == TW_NONE ?
		       NULL :
		       tw_pool_text(&w->in->trace->texts, w->in->trace->events.name[event], NULL);
}

static const char *name_of_gpu(const struct work *w, uint32_t g)
{
	return g == TW_NONE ? NULL : name_of_event(w, w->in->derived->gpu.event[g]);
}

/* The function's name without its directory. */
static const char *python_name(const struct work *w, uint32_t event)
{
	const char *name = name_of_event(w, event);
	struct tw_str text;

	if (!name)
		return NULL;
	tw_str_init(&text, w->arena->allocator);
	tw_python_name(&text, name);
	return tw_kept(w->arena, &text);
}

static void tell_gap(struct work *w, size_t i)
{
	const struct tw_gap *gap = w->largest[i];
	const struct tw_derived *d = w->in->derived;
	uint32_t launch = gap->after == TW_NONE ? TW_NONE : d->gpu.launch[gap->after];
	struct tw_told_gap *told = &w->told[i];
	uint64_t op;

	*told = (struct tw_told_gap){ .rank = i + 1,
				      .start_ns = gap->start_ns,
				      .dur_ns = gap->dur_ns,
				      .of = gap->cause,
				      .cause = tw_idle_cause_known[gap->cause].key,
				      .running_call_ns = TRAWL_TIME_NONE,
				      .running_call_launches = NAN };
	told->before = name_of_gpu(w, gap->before);
	told->after = name_of_gpu(w, gap->after);
	if (launch == TW_NONE)
		return;
	told->call = name_of_event(w, d->host.event[launch]);
	op = tw_launching_op(d, launch, true);
	if (op != TW_NONE)
		told->operation = name_of_event(w, d->host.event[op]);
}

/* How many of a cause's gaps, from the largest on, make most of it. */
static void count_most(struct work *w, const struct tw_order *order)
{
	int64_t sums[TW_IDLE_CAUSES] = { 0 };
	uint64_t i;

	for (i = 0; i < w->gaps.count; i++) {
		const struct tw_gap *gap = &w->gaps.items[order[i].index];
		double most = (double)w->gaps.sums[gap->cause].total_ns * MOST_OF_A_CAUSE / 100;

		if ((double)sums[gap->cause] < most)
			w->idle->causes[gap->cause].gaps_of_80_percent++;
		sums[gap->cause] += gap->dur_ns;
	}
}

/* Whether a gap lies right behind the first GPU work, or right before the last. */
static bool is_at_edge(const struct work *w, const struct tw_gap *gap)
{
	const struct tw_gpu *gpu = &w->in->derived->gpu;
	bool linked_only = w->in->options->linked_only;
	uint64_t first = 0, last = gpu->count;

	while (linked_only && first < gpu->count && gpu->launch[first] == TW_NONE)
		first++;
	while (linked_only && last && gpu->launch[last - 1] == TW_NONE)
		last--;
	return gap->before == first || (last && gap->after == last - 1);
}

/* What runs on the launching thread for most of a gap. */
static int find_hosts(struct work *w)
{
	const struct tw_derived *d = w->in->derived;
	size_t i;

	for (i = 0; i < w->largest_count; i++)
		w->hosts[i].gap = w->largest[i];
	if (tw_gap_hosts(w->hosts, w->largest_count, w->in))
		return -1;
	for (i = 0; i < w->largest_count; i++) {
		const struct tw_gap_host *host = &w->hosts[i];
		struct tw_told_gap *told = &w->told[i];
		uint32_t after = host->gap->after;

		told->at_edge = is_at_edge(w, host->gap);
		told->running_operation = name_of_event(w, host->operation);
		told->running_python = python_name(w, host->python);
		told->running_call = name_of_event(w, host->call);
		if (host->call == TW_NONE)
			continue;
		told->running_call_ns = w->in->trace->events.dur_ns[host->call];
		told->running_call_launches = d->host.event[d->gpu.launch[after]] == host->call &&
					      tw_class(w->in->trace, d->gpu.event[after]) ==
						      TRAWL_CLASS_KERNEL;
	}
	return 0;
}

static int choose_largest(struct work *w)
{
	const struct trawl_allocator *a = w->in->allocator;
	size_t room = (size_t)w->gaps.count + 1, i;
	struct tw_order *order = tw_alloc_array(a, room, sizeof(*order));

	if (!order)
		return -1;
	for (i = 0; i < w->gaps.count; i++)
		order[i] = (struct tw_order){ .value = w->gaps.items[i].dur_ns,
					      .tie = i,
					      .index = (uint32_t)i };
	tw_order_sort(order, w->gaps.count, NULL);
	for (i = 0; i < w->gaps.count && i < LARGEST; i++)
		w->largest[i] = &w->gaps.items[order[i].index];
	w->largest_count = i;
	for (i = 0; i < w->largest_count; i++)
		tell_gap(w, i);
	count_most(w, order);
	tw_free(a, order, room * sizeof(*order));
	return 0;
}

/* Of the program's functions the innermost around each launch. */
static int find_python(struct work *w)
{
	const struct tw_derived *d = w->in->derived;
	const struct trawl_allocator *a = w->in->allocator;
	uint32_t targets[LARGEST], place[LARGEST], t;
	struct tw_enclosing around = { .allocator = a };
	struct tw_host_names names;
	size_t i, n = 0;
	int status = tw_host_names_init(&names, w->in->trace, a);

	for (i = 0; i < w->largest_count; i++) {
		uint32_t after = w->largest[i]->after;

		if (after == TW_NONE || d->gpu.launch[after] == TW_NONE)
			continue;
		targets[n] = d->host.event[d->gpu.launch[after]];
		place[n++] = (uint32_t)i;
	}
	for (t = 0; !status && t < names.count; t++)
		names.kinds[t] = names.kinds[t] & TW_HOST_PYTHON_CODE &&
				 !(names.kinds[t] & TW_HOST_PYTHON_INTERNAL);
	if (!status)
		status = tw_enclosing_init_wanted(&around, w->in->trace, targets, n,
						  TW_CLASS_BIT(TRAWL_CLASS_PYTHON), names.kinds, 1,
						  a);
	for (i = 0; !status && i < n; i++) {
		uint32_t event = tw_enclosing_at(&around, i, 0);

		if (event != TW_NOT_ENCLOSED)
			w->told[place[i]].python = python_name(w, event);
	}
	tw_enclosing_release(&around);
	tw_host_names_release(&names);
	return status;
}

/* ---- the table */

enum { RANK, START, DURATION, CAUSE, OPERATION, CALL, PYTHON, BEFORE, AFTER };

static const struct trawl_column columns[] = {
	[RANK] = TW_INTEGER("rank", 6, "1: the largest"),
	[START] = TW_US("start_us", 18, "on the trace's clock"),
	[DURATION] = TW_US("duration_us", 14, "how long"),
	[CAUSE] = TW_TEXT("cause", 16, "why the GPU did nothing"),
	[OPERATION] = TW_TEXT("operation", 32, "operation that launched what follows"),
	[CALL] = TW_TEXT("launch_call", 24, "its launch call"),
	[PYTHON] =
		TW_TEXT("python_function", 40, "the program's innermost function around that call"),
	[BEFORE] = TW_TEXT("kernel_before", 40, "GPU work that ended"),
	[AFTER] = TW_TEXT("kernel_after", 40, "GPU work that follows"),
};

static const struct tw_table_spec ops_spec =
	TW_SPEC("cpu_idle_ops", "largest gaps of the GPU", columns, .keep_empty = true);

static void add_row(struct trawl_table *table, const struct tw_told_gap *told)
{
	size_t row = tw_table_add_row(table);

	tw_table_set_integer(table, row, RANK, (int64_t)told->rank);
	tw_table_set_integer(table, row, START, told->start_ns);
	tw_table_set_integer(table, row, DURATION, told->dur_ns);
	tw_table_set_str(table, row, CAUSE, told->cause);
	tw_table_set_str(table, row, OPERATION, told->operation);
	tw_table_set_str(table, row, CALL, told->call);
	tw_table_set_str(table, row, PYTHON, told->python);
	tw_table_set_str(table, row, BEFORE, told->before);
	tw_table_set_str(table, row, AFTER, told->after);
}

static int write_ops(struct tw_prepared *prepared, const struct work *w, struct trawl_error *err)
{
	struct trawl_table *table = tw_table_new(&ops_spec, prepared->allocator);
	struct tw_str text;
	int status;
	size_t i;

	for (i = 0; table && i < w->largest_count; i++)
		add_row(table, &w->told[i]);
	if (!table || tw_table_finish(table, NULL)) {
		trawl_table_free(table);
		return tw_no_memory(err);
	}
	tw_str_init(&text, prepared->allocator);
	tw_render_csv(table, &text);
	status = tw_prepared_write(prepared, TW_CATEGORY_DATA, TW_CPU_IDLE_OPS, &text, err);
	tw_str_release(&text);
	trawl_table_free(table);
	return status;
}

/* ---- all of it */

static void sum_time(struct work *w)
{
	const struct tw_timeline *t = w->in->timeline;

	w->idle->time = (struct tw_idle_time){
		.total_ns = t->total_ns,
		.busy_ns = t->busy_ns,
		.computation_ns = t->compute_ns,
		.exposed_comm_ns = t->exposed_communication_ns,
		.exposed_memcpy_ns = t->exposed_copy_ns,
		.idle_ns = t->idle_ns,
		.idle_percent = tw_percent_of((double)t->idle_ns, (double)t->total_ns),
		.gap_count = w->gaps.count,
		.largest_gap_ns = w->largest_count ? w->told[0].dur_ns : 0,
	};
}

static void sum_cause(struct work *w, enum tw_idle_cause cause)
{
	const struct tw_idle_sum *sum = &w->gaps.sums[cause];
	const struct tw_timeline *t = w->in->timeline;
	struct tw_idle_part *p = &w->idle->causes[cause];
	double ns = (double)sum->total_ns;
	size_t i;

	p->count = (uint64_t)sum->count;
	p->total_ns = sum->total_ns;
	p->largest_ns = sum->largest_ns;
	p->without_ns = t->total_ns - sum->total_ns;
	p->mean_us = tw_as_written(sum->count ? ns / 1000 / (double)sum->count : (double)NAN, 3);
	p->largest_percent = tw_as_written(tw_percent_of((double)sum->largest_ns, ns), 2);
	p->percent_of_idle = tw_percent_of(ns, (double)t->idle_ns);
	p->percent_of_total = tw_percent_of(ns, (double)t->total_ns);
	p->speedup_without = tw_as_written(
		p->without_ns > 0 ? (double)t->total_ns / (double)p->without_ns : (double)NAN, 4);
	for (i = 0; i < w->largest_count && w->told[i].of != cause; i++)
		;
	if (i == w->largest_count)
		return;
	p->largest = tw_arena_alloc(w->arena, sizeof(*p->largest));
	if (p->largest)
		*p->largest = w->told[i];
}

static int write_data(struct tw_prepared *prepared, struct work *w, struct trawl_error *err)
{
	size_t count = w->largest_count < LARGEST_TOLD ? w->largest_count : LARGEST_TOLD;
	struct tw_cpu_idle *idle = w->idle;
	int i;

	sum_time(w);
	count_kernels(w);
	for (i = 0; i < TW_IDLE_CAUSES; i++)
		sum_cause(w, i);
	idle->gaps.at = tw_arena_alloc(w->arena, (count + 1) * sizeof(*idle->gaps.at));
	if (w->arena->failed)
		return tw_no_memory(err);
	memcpy(idle->gaps.at, w->told, count * sizeof(*w->told));
	idle->gaps.count = count;
	prepared->cpu_idle = idle;
	return tw_fields_write(prepared, TW_CATEGORY_DATA, TW_CPU_IDLE_DATA, &tw_cpu_idle_fields,
			       idle, err);
}

int tw_prepare_cpu_idle(struct tw_prepared *prepared, const struct tw_analysis_input *in,
			struct trawl_error *err)
{
	struct work w = { .in = in, .arena = &prepared->arena };
	int status = tw_idle_gaps_init(&w.gaps, in);

	w.idle = tw_arena_array(w.arena, 1, sizeof(*w.idle));
	if (!status &&
	    (!w.idle || choose_largest(&w) || find_python(&w) || find_hosts(&w) || w.arena->failed))
		status = TRAWL_ENOMEM;
	if (status)
		tw_no_memory(err);
	else
		status = write_ops(prepared, &w, err);
	if (!status)
		status = write_data(prepared, &w, err);
	tw_idle_gaps_release(&w.gaps);
	return status;
}
