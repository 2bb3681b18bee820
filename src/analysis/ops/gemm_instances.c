/*
 * Of each row of the table GEMM the shortest and the longest call, and where its main kernel ran in
 * them: what tells when an operation was slow, not only that it was.
 */
#include "analysis/ops/op_calls.h"

#include <string.h>

#define INTEGER(header, unit, width, what) TW_COLUMN(INTEGER, header, unit, 0, 0, width, what)
#define CALL(prefix, which)                                                          \
	INTEGER(prefix "_event", "", 10, "event number of " which),                  \
		INTEGER(prefix "_time_ns", "ns", 14, "kernel time of " which),       \
		INTEGER(prefix "_start_ns", "ns", 20,                                \
			"first start of its GPU events, trace clock"),               \
		INTEGER(prefix "_end_ns", "ns", 20, "last end of its GPU events"),   \
		INTEGER(prefix "_main_start_ns", "ns", 20,                           \
			"start of its main kernel (of several the longest)"),        \
		INTEGER(prefix "_main_dur_ns", "ns", 14, "duration of that kernel"), \
		INTEGER(prefix "_kernels", "", 8, "GPU events of " which)

enum { EVENT, TIME, START, END, MAIN_START, MAIN_DUR, KERNELS, PER_CALL };

enum {
	NAME, /* the parameters follow */
	UID,
	DIMS,
	TYPES,
	STRIDES,
	CONCRETE,
	COUNT,
	MAIN,
	DETAILS,
	SHORTEST,
	LONGEST = SHORTEST + PER_CALL,
	COLUMNS = LONGEST + PER_CALL
};

static const struct trawl_column columns[COLUMNS] = {
	TW_TEXT("name", 40, "operator name; the cost model's parameters follow as \"param: ...\""),
	INTEGER(TW_COL_UID_FIRST, "", 10, "event number of the first call, as in the table GEMM"),
	TW_TEXT(TW_COL_INPUT_DIMS_FIRST, 36, "shapes of the inputs of the first call"),
	TW_TEXT(TW_COL_INPUT_TYPE_FIRST, 30, "types of the inputs of the first call"),
	TW_TEXT(TW_COL_INPUT_STRIDES_FIRST, 30, "strides of the inputs of the first call"),
	TW_TEXT(TW_COL_CONCRETE_INPUTS_FIRST, 30,
		"values of the non-tensor inputs of the first "
		"call"),
	INTEGER(TW_COL_NAME_COUNT, "", 10, "number of calls"),
	TW_TEXT(TW_COL_MAIN_KERNEL, 40,
		"kernel with the largest total time over all calls (ties: by name)"),
	TW_TEXT(TW_COL_KERNEL_DETAILS_SUMMARIZE_KERNEL_STATS, 40,
		"kernels of a call in order, with statistics"),
	CALL("min", "the shortest call (ties: the first)"),
	CALL("max", "the longest call (ties: the last)"),
};

/* ---- the main kernel */

struct work {
	struct tw_op_calls calls;
	bool failed;
};

static int64_t duration(const struct tw_gpu *gpu, uint32_t g)
{
	return gpu->end_ns[g] - gpu->start_ns[g];
}

/* Total times by kernel's name, of one call more. */
static void add_times(struct tw_groups *names, const struct tw_derived *d,
		      const struct tw_members *gpu, uint32_t row)
{
	uint32_t i;

	for (i = gpu->first[row]; i < gpu->first[row + 1]; i++) {
		tw_wide *total =
			tw_groups_at(names, &d->trace->events.name[d->gpu.event[gpu->list[i]]]);

		if (total)
			*total += duration(&d->gpu, gpu->list[i]);
	}
}

/* Text id of the kernel with the most time over all calls of a group, 0: there is none. */
static uint32_t find_main(struct work *w, uint32_t group)
{
	const struct tw_op_rows *rows = &w->calls.rows;
	const struct tw_derived *d = w->calls.in->derived;
	const struct tw_pool_entry *texts = d->trace->texts.entries;
	uint32_t main = 0, i;
	struct tw_groups names;
	tw_wide most = 0;

	tw_groups_init_values(&names, sizeof(uint32_t), sizeof(tw_wide), d->allocator);
	for (i = rows->members.first[group]; i < rows->members.first[group + 1]; i++)
		add_times(&names, d, &rows->gpu, rows->members.list[i]);
	for (i = 0; i < names.count; i++) {
		uint32_t name = *(const uint32_t *)tw_groups_key(&names, i);
		tw_wide total = *(const tw_wide *)tw_groups_value(&names, i);

		if (i && (total < most ||
			  (total == most && strcmp(texts[name].ptr, texts[main].ptr) >= 0)))
			continue;
		main = name;
		most = total;
	}
	w->failed |= names.failed;
	tw_groups_release(&names);
	return main;
}

/* ---- the two calls */

static bool has_gpu_work(const struct tw_op_rows *rows, uint32_t call)
{
	return rows->gpu.first[call + 1] > rows->gpu.first[call];
}

/*
 * Of equals the shortest is the first in the input, the longest the last.  A call whose GPU work was
 * not recorded took no time that is known: others count, where there are any.
 */
static void find_extremes(const struct tw_op_rows *rows, uint32_t group, uint32_t found[2])
{
	const uint32_t *list = rows->members.list + rows->members.first[group];
	uint32_t n = rows->members.first[group + 1] - rows->members.first[group], first, i;

	for (first = 0; first + 1 < n && !has_gpu_work(rows, list[first]); first++)
		;
	found[0] = found[1] = list[first];
	for (i = first + 1; i < n; i++) {
		const struct tw_op_row *row = &rows->items[list[i]];
		const struct tw_op_row *least = &rows->items[found[0]];
		const struct tw_op_row *most = &rows->items[found[1]];

		if (!has_gpu_work(rows, list[i]))
			continue;
		if (row->kernel_ns < least->kernel_ns ||
		    (row->kernel_ns == least->kernel_ns && row->event < least->event))
			found[0] = list[i];
		if (row->kernel_ns > most->kernel_ns ||
		    (row->kernel_ns == most->kernel_ns && row->event > most->event))
			found[1] = list[i];
	}
}

/* The longest of the main kernel's runs in a call, the first of equals; TW_NONE: it is not there. */
static uint32_t main_run(const struct tw_derived *d, const uint32_t *list, uint32_t count,
			 uint32_t main)
{
	uint32_t best = TW_NONE, i;

	for (i = 0; i < count; i++)
		if (d->trace->events.name[d->gpu.event[list[i]]] == main &&
		    (best == TW_NONE || duration(&d->gpu, list[i]) > duration(&d->gpu, best)))
			best = list[i];
	return best;
}

/* Times are those of the trace, also where the view leaves stretches out. */
static void set_call(const struct work *w, const struct tw_derived *d, struct trawl_table *table,
		     size_t row, size_t column, uint32_t call, uint32_t main)
{
	const struct tw_op_rows *rows = &w->calls.rows;
	const uint32_t *list = rows->gpu.list + rows->gpu.first[call];
	uint32_t n = rows->gpu.first[call + 1] - rows->gpu.first[call], i, run;
	int64_t end = INT64_MIN;

	tw_table_set_integer(table, row, column + EVENT, rows->items[call].event);
	tw_table_set_integer(table, row, column + TIME, rows->items[call].kernel_ns);
	tw_table_set_integer(table, row, column + KERNELS, n);
	if (!n)
		return;
	for (i = 0; i < n; i++) {
		int64_t real = tw_view_real_end(&d->view, d->gpu.start_ns[list[i]],
						d->gpu.end_ns[list[i]]);

		if (real > end)
			end = real;
	}
	tw_table_set_integer(table, row, column + START,
			     tw_view_real_start(&d->view, d->gpu.start_ns[list[0]]));
	tw_table_set_integer(table, row, column + END, end);
	run = main_run(d, list, n, main);
	if (run == TW_NONE)
		return;
	tw_table_set_integer(table, row, column + MAIN_START,
			     tw_view_real_start(&d->view, d->gpu.start_ns[run]));
	tw_table_set_integer(table, row, column + MAIN_DUR, duration(&d->gpu, run));
}

static void set_instances(void *context, struct trawl_table *table, size_t row, uint32_t number,
			  const struct tw_op_group *g)
{
	struct work *w = context;
	struct tw_op_calls *c = &w->calls;
	const struct tw_derived *d = c->in->derived;
	size_t shift = c->parameter_count;
	uint32_t main = find_main(w, number), found[2];

	tw_table_set_integer(table, row, shift + UID, g->first->event);
	tw_op_calls_set_arguments(c, table, row, shift + DIMS, g->first->event);
	tw_table_set_integer(table, row, shift + COUNT, (int64_t)g->count);
	tw_set_name(table, row, shift + MAIN, c->in->trace, main);
	tw_table_set_text(table, row, shift + DETAILS, c->rows.full.ptr, c->rows.full.len);
	find_extremes(&c->rows, number, found);
	set_call(w, d, table, row, shift + SHORTEST, found[0], main);
	set_call(w, d, table, row, shift + LONGEST, found[1], main);
}

static int make_gemm_instances(const struct tw_analysis_input *in, const struct tw_analysis *self,
			       struct trawl_table **table)
{
	struct work w = { .failed = false };

	return tw_op_calls_collect(&w.calls, in, &tw_analysis_sheet_GEMM) ||
			       tw_op_calls_make(&w.calls, &self->table, set_instances, &w, table) ||
			       w.failed ?
		       TRAWL_ENOMEM :
		       0;
}

const struct tw_analysis tw_analysis_gemm_instances = {
	TW_TABLE("gemm_instances",
		 "shortest and longest call of each row of GEMM; only for stages of a sweep, not "
		 "in "
		 "reports",
		 columns),
	.needs = TW_NEEDS_GPU | TW_NEEDS_HOST | TW_NEEDS_MODELS | TW_NEEDS_ASKING,
	.make = make_gemm_instances,
};
