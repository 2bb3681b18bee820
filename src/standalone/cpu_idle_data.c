/*
 * cpu_idle_data.json and cpu_idle_ops.csv: the time in which the GPU does nothing by cause, what
 * would be without it, its largest gaps with what stands around them, and how short kernels are.
 */
#include "standalone/cpu_idle.h"

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

struct category_count {
	const char *name;
	uint64_t count;
};

struct kernels {
	uint64_t count, short_count;
	tw_wide total_ns, short_ns;
	struct category_count categories[MOST_CATEGORIES];
	size_t category_count;
};

/* One of the largest gaps, with names of what stands around it: text ids, 0: none. */
struct told {
	const struct tw_gap *gap;
	uint32_t operation, call, python, before, after;
	struct tw_gap_host host;
};

struct work {
	const struct tw_analysis_input *in;
	struct tw_idle_gaps gaps;
	struct told largest[LARGEST];
	size_t largest_count;
	uint64_t most_of_it[TW_IDLE_CAUSES]; /* the fewest gaps that make most of a cause */
	struct kernels kernels;
	struct tw_json json;
};

static double percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : (double)NAN;
}

/* ---- kernels */

static void count_category(struct kernels *k, const char *name)
{
	size_t i;

	for (i = 0; i < k->category_count; i++)
		if (!strcmp(k->categories[i].name, name))
			break;
	if (i == MOST_CATEGORIES)
		return;
	if (i == k->category_count)
		k->categories[k->category_count++] = (struct category_count){ name, 0 };
	k->categories[i].count++;
}

static void count_kernels(struct work *w)
{
	const struct tw_gpu *gpu = &w->in->derived->gpu;
	struct kernels *k = &w->kernels;
	uint64_t g;

	for (g = 0; g < gpu->count; g++) {
		int64_t ns = gpu->end_ns[g] - gpu->start_ns[g];
		const char *category;

		if (tw_class(w->in->trace, gpu->event[g]) != TRAWL_CLASS_KERNEL)
			continue;
		k->count++;
		k->total_ns += ns;
		if (ns < w->in->options->short_kernel_ns) {
			k->short_count++;
			k->short_ns += ns;
		}
		category = tw_parent_of(w->in->parents, g).category;
		count_category(k, category ? category : "unlinked");
	}
}

/* ---- the largest gaps */

static uint32_t name_of_gpu(const struct work *w, uint32_t g)
{
	return g == TW_NONE ? 0 : w->in->trace->events.name[w->in->derived->gpu.event[g]];
}

static void tell_gap(const struct work *w, const struct tw_gap *gap, struct told *told)
{
	const struct tw_derived *d = w->in->derived;
	const uint32_t *name = w->in->trace->events.name;
	uint32_t launch = gap->after == TW_NONE ? TW_NONE : d->gpu.launch[gap->after];
	uint64_t op;

	*told = (struct told){ .gap = gap,
			       .before = name_of_gpu(w, gap->before),
			       .after = name_of_gpu(w, gap->after) };
	if (launch == TW_NONE)
		return;
	told->call = name[d->host.event[launch]];
	op = tw_launching_op(d, launch, true);
	if (op != TW_NONE)
		told->operation = name[d->host.event[op]];
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
			w->most_of_it[gap->cause]++;
		sums[gap->cause] += gap->dur_ns;
	}
}

static int find_hosts(struct work *w)
{
	struct tw_gap_host hosts[LARGEST];
	size_t i;

	for (i = 0; i < w->largest_count; i++)
		hosts[i].gap = w->largest[i].gap;
	if (tw_gap_hosts(hosts, w->largest_count, w->in))
		return -1;
	for (i = 0; i < w->largest_count; i++)
		w->largest[i].host = hosts[i];
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
		tell_gap(w, &w->gaps.items[order[i].index], &w->largest[i]);
	w->largest_count = i;
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
		uint32_t after = w->largest[i].gap->after;

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
			w->largest[place[i]].python = w->in->trace->events.name[event];
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

static const char *python_name(const struct work *w, uint32_t python, struct tw_str *text)
{
	tw_str_clear(text);
	if (!python)
		return NULL;
	tw_python_name(text, tw_pool_text(&w->in->trace->texts, python, NULL));
	return text->ptr;
}

static void add_row(const struct work *w, struct trawl_table *table, size_t rank,
		    struct tw_str *scratch)
{
	const struct told *told = &w->largest[rank];
	size_t row = tw_table_add_row(table);

	tw_table_set_integer(table, row, RANK, (int64_t)rank + 1);
	tw_table_set_integer(table, row, START, told->gap->start_ns);
	tw_table_set_integer(table, row, DURATION, told->gap->dur_ns);
	tw_table_set_str(table, row, CAUSE, tw_idle_cause_known[told->gap->cause].key);
	tw_set_name(table, row, OPERATION, w->in->trace, told->operation);
	tw_set_name(table, row, CALL, w->in->trace, told->call);
	tw_table_set_str(table, row, PYTHON, python_name(w, told->python, scratch));
	tw_set_name(table, row, BEFORE, w->in->trace, told->before);
	tw_set_name(table, row, AFTER, w->in->trace, told->after);
}

static int write_ops(struct tw_prepared *prepared, const struct work *w, struct trawl_error *err)
{
	struct trawl_table *table = tw_table_new(&ops_spec, prepared->allocator);
	struct tw_str text, scratch;
	int status = TRAWL_ENOMEM;
	size_t i;

	tw_str_init(&text, prepared->allocator);
	tw_str_init(&scratch, prepared->allocator);
	for (i = 0; table && i < w->largest_count; i++)
		add_row(w, table, i, &scratch);
	if (table && !scratch.failed)
		status = tw_table_finish(table, NULL);
	if (status) {
		trawl_error_set(err, status, "out of memory");
	} else {
		tw_render_csv(table, &text);
		status = tw_prepared_write(prepared, TW_CATEGORY_DATA, TW_CPU_IDLE_OPS, &text, err);
	}
	tw_str_release(&text);
	tw_str_release(&scratch);
	trawl_table_free(table);
	return status;
}

/* ---- the JSON */

static void add_timeline(struct work *w)
{
	const struct tw_timeline *t = w->in->timeline;
	struct tw_json *json = &w->json;
	int64_t largest_ns = w->largest_count ? w->largest[0].gap->dur_ns : 0;

	tw_json_key(json, "idle_analysis");
	tw_json_object(json, TW_JSON_LINES);
	tw_field_us(json, "total_time_us", t->total_ns);
	tw_field_us(json, "busy_time_us", t->busy_ns);
	tw_field_us(json, "computation_time_us", t->compute_ns);
	tw_field_us(json, "exposed_comm_time_us", t->exposed_communication_ns);
	tw_field_us(json, "exposed_memcpy_time_us", t->exposed_copy_ns);
	tw_field_us(json, "idle_time_us", t->idle_ns);
	tw_field_real(json, "idle_percent_of_total",
		      percent_of((double)t->idle_ns, (double)t->total_ns), 2);
	tw_field_count(json, "gap_count", w->gaps.count);
	tw_field_us(json, "largest_gap_us", largest_ns);
	tw_json_end(json);
}

static void add_name(struct work *w, const char *key, uint32_t text)
{
	size_t len;
	const char *ptr = tw_pool_text(&w->in->trace->texts, text, &len);

	tw_json_key(&w->json, key);
	if (text)
		tw_json_string(&w->json, ptr, len);
	else
		tw_json_null(&w->json);
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

static uint32_t name_of_event(const struct work *w, uint32_t event)
{
	return event == TW_NONE ? 0 : w->in->trace->events.name[event];
}

/* What runs on the launching thread for most of a gap. */
static void add_running(struct work *w, const struct told *told, struct tw_str *scratch)
{
	const struct tw_derived *d = w->in->derived;
	const struct tw_gap_host *host = &told->host;
	uint32_t after = told->gap->after;
	struct tw_json *json = &w->json;

	tw_field_bool(json, "at_edge", is_at_edge(w, told->gap));
	add_name(w, "running_call", name_of_event(w, host->call));
	if (host->call != TW_NONE) {
		tw_field_us(json, "running_call_us", w->in->trace->events.dur_ns[host->call]);
		tw_field_bool(json, "running_call_launches",
			      d->host.event[d->gpu.launch[after]] == host->call &&
				      tw_class(w->in->trace, d->gpu.event[after]) ==
					      TRAWL_CLASS_KERNEL);
	}
	add_name(w, "running_operation", name_of_event(w, host->operation));
	tw_field_text(json, "running_python_function",
		      python_name(w, name_of_event(w, host->python), scratch));
}

static void add_gap(struct work *w, size_t rank, struct tw_str *scratch)
{
	const struct told *told = &w->largest[rank];
	struct tw_json *json = &w->json;

	tw_json_object(json, TW_JSON_LINES);
	tw_field_count(json, "rank", rank + 1);
	tw_field_us(json, "start_us", told->gap->start_ns);
	tw_field_us(json, "duration_us", told->gap->dur_ns);
	tw_field_text(json, "cause", tw_idle_cause_known[told->gap->cause].key);
	add_name(w, "operation", told->operation);
	add_name(w, "launch_call", told->call);
	tw_field_text(json, "python_function", python_name(w, told->python, scratch));
	add_name(w, "kernel_before", told->before);
	add_name(w, "kernel_after", told->after);
	add_running(w, told, scratch);
	tw_json_end(json);
}

/* The largest gap of a cause, where it is among the largest of all. */
static void add_largest(struct work *w, enum tw_idle_cause cause, struct tw_str *scratch)
{
	size_t i;

	tw_json_key(&w->json, "largest_gap");
	for (i = 0; i < w->largest_count && w->largest[i].gap->cause != cause; i++)
		;
	if (i < w->largest_count)
		add_gap(w, i, scratch);
	else
		tw_json_null(&w->json);
}

static void add_cause(struct work *w, enum tw_idle_cause cause, struct tw_str *scratch)
{
	const struct tw_idle_sum *sum = &w->gaps.sums[cause];
	const struct tw_timeline *t = w->in->timeline;
	struct tw_json *json = &w->json;
	int64_t without_ns = t->total_ns - sum->total_ns;

	tw_json_key(json, tw_idle_cause_known[cause].key);
	tw_json_object(json, TW_JSON_LINES);
	tw_field_count(json, "count", (uint64_t)sum->count);
	tw_field_us(json, "total_time_us", sum->total_ns);
	tw_field_real(json, "mean_us",
		      sum->count ? (double)sum->total_ns / 1000 / (double)sum->count : (double)NAN,
		      3);
	tw_field_us(json, "largest_us", sum->largest_ns);
	tw_field_real(json, "largest_percent",
		      percent_of((double)sum->largest_ns, (double)sum->total_ns), 2);
	tw_field_count(json, "gaps_of_80_percent", w->most_of_it[cause]);
	tw_field_real(json, "percent_of_idle",
		      percent_of((double)sum->total_ns, (double)t->idle_ns), 2);
	tw_field_real(json, "percent_of_total",
		      percent_of((double)sum->total_ns, (double)t->total_ns), 2);
	tw_field_us(json, "total_time_without_us", without_ns);
	tw_field_real(json, "speedup_without",
		      without_ns > 0 ? (double)t->total_ns / (double)without_ns : (double)NAN, 4);
	add_largest(w, cause, scratch);
	tw_json_end(json);
}

static void add_kernels(struct work *w)
{
	const struct kernels *k = &w->kernels;
	struct tw_json *json = &w->json;
	size_t i;

	tw_json_key(json, "kernel_analysis");
	tw_json_object(json, TW_JSON_LINES);
	tw_field_us(json, "short_kernel_threshold_us", w->in->options->short_kernel_ns);
	tw_field_count(json, "short_kernel_count", k->short_count);
	tw_field_real(json, "short_kernel_percent",
		      percent_of((double)k->short_count, (double)k->count), 2);
	tw_field_sum_us(json, "short_kernel_time_us", k->short_ns);
	tw_field_real(json, "short_kernel_time_percent",
		      percent_of((double)k->short_ns, (double)k->total_ns), 2);
	tw_field_count(json, "total_kernel_count", k->count);
	tw_field_sum_us(json, "total_kernel_time_us", k->total_ns);
	tw_field_real(json, "avg_kernel_time_us",
		      k->count ? (double)k->total_ns / 1000 / (double)k->count : (double)NAN, 3);
	tw_json_key(json, "kernel_count_by_category");
	tw_json_object(json, TW_JSON_LINES);
	for (i = 0; i < k->category_count; i++)
		tw_field_count(json, k->categories[i].name, k->categories[i].count);
	tw_json_end(json);
	tw_json_end(json);
}

static int write_data(struct tw_prepared *prepared, struct work *w, struct trawl_error *err)
{
	struct tw_json *json = &w->json;
	struct tw_str text, scratch;
	int status, i;
	size_t gap;

	tw_str_init(&text, prepared->allocator);
	tw_str_init(&scratch, prepared->allocator);
	tw_json_init(json, &text);
	tw_json_object(json, TW_JSON_LINES);
	add_timeline(w);
	tw_json_key(json, "causes");
	tw_json_object(json, TW_JSON_LINES);
	for (i = 0; i < TW_IDLE_CAUSES; i++)
		add_cause(w, i, &scratch);
	tw_json_end(json);
	add_kernels(w);
	tw_json_key(json, "largest_gaps");
	tw_json_array(json, TW_JSON_LINES);
	for (gap = 0; gap < w->largest_count && gap < LARGEST_TOLD; gap++)
		add_gap(w, gap, &scratch);
	tw_json_end(json);
	tw_json_end(json);
	tw_json_finish(json);
	text.failed |= scratch.failed;
	status = tw_prepared_write(prepared, TW_CATEGORY_DATA, TW_CPU_IDLE_DATA, &text, err);
	tw_str_release(&text);
	tw_str_release(&scratch);
	return status;
}

int tw_prepare_cpu_idle(struct tw_prepared *prepared, const struct tw_analysis_input *in,
			struct trawl_error *err)
{
	struct work w = { .in = in };
	int status = tw_idle_gaps_init(&w.gaps, in);

	if (!status && (choose_largest(&w) || find_python(&w) || find_hosts(&w)))
		status = TRAWL_ENOMEM;
	if (status) {
		trawl_error_set(err, status, "out of memory");
	} else {
		count_kernels(&w);
		status = write_ops(prepared, &w, err);
	}
	if (!status)
		status = write_data(prepared, &w, err);
	tw_idle_gaps_release(&w.gaps);
	return status;
}
