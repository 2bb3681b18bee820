#include "analysis/ops/op_rows.h"

#include "analysis/ops/kernel_details.h"
#include "base/alloc.h"
#include "base/intervals.h"
#include "base/list.h"
#include "model/roofline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void tw_op_rows_init(struct tw_op_rows *rows, const struct tw_analysis_input *in)
{
	memset(rows, 0, sizeof(*rows));
	rows->in = in;
	tw_str_init(&rows->full, in->allocator);
	tw_str_init(&rows->short_form, in->allocator);
}

void tw_op_rows_gpu(struct tw_op_rows *rows, const uint32_t *gpu, uint64_t count)
{
	struct tw_members *to = &rows->gpu;
	uint64_t i;

	for (i = 0; i < count && !rows->failed; i++) {
		rows->failed = !tw_list_grow(&to->list, &rows->gpu_capacity, to->count,
					     sizeof(*to->list), rows->in->allocator);
		if (!rows->failed)
			to->list[to->count++] = gpu[i];
	}
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* GPU events are numbered in order of start. An event under two passes counts once. */
static uint64_t sort_distinct(uint32_t *list, uint64_t count)
{
	uint64_t i, n;

	for (i = 1; i < count && list[i - 1] < list[i]; i++)
		;
	if (i >= count)
		return count;
	qsort(list, count, sizeof(*list), compare_numbers);
	for (i = 1, n = 1; i < count; i++)
		if (list[i] != list[n - 1])
			list[n++] = list[i];
	return n;
}

void tw_op_rows_end(struct tw_op_rows *rows, uint64_t event, uint32_t work, uint32_t group)
{
	const struct trawl_allocator *a = rows->in->allocator;
	const struct tw_gpu *gpu = &rows->in->derived->gpu;
	struct tw_union busy = TW_UNION_INIT;
	uint64_t begin, i, n;
	uint32_t *list;

	if (rows->failed ||
	    !tw_list_grow(&rows->items, &rows->capacity, rows->count, sizeof(*rows->items), a) ||
	    !tw_list_grow(&rows->gpu.first, &rows->first_capacity, rows->count + 1,
			  sizeof(*rows->gpu.first), a)) {
		rows->failed = true;
		return;
	}
	if (!rows->count)
		rows->gpu.first[0] = 0;
	begin = rows->gpu.first[rows->count];
	n = rows->gpu.count - begin;
	if (n) {
		list = rows->gpu.list + begin;
		n = sort_distinct(list, n);
		for (i = 0; i < n; i++)
			tw_union_add(&busy, gpu->start_ns[list[i]], gpu->end_ns[list[i]]);
	}
	rows->items[rows->count++] =
		(struct tw_op_row){ busy.length_ns, (uint32_t)event, work, group };
	rows->total_ns += busy.length_ns;
	rows->gpu.count = begin + n;
	rows->gpu.first[rows->count] = (uint32_t)rows->gpu.count;
	rows->gpu.group_count = rows->count;
}

int tw_op_rows_group(struct tw_op_rows *rows, uint32_t group_count)
{
	const struct trawl_allocator *a = rows->in->allocator;
	uint32_t *of = tw_alloc(a, (rows->count + 1) * sizeof(*of));
	uint64_t i, largest = 0;

	if (!of || rows->failed)
		return -1;
	for (i = 0; i < rows->count; i++)
		of[i] = rows->items[i].group;
	if (tw_members_build(&rows->members, of, rows->count, group_count, a))
		return -1;
	tw_free(a, of, (rows->count + 1) * sizeof(*of));
	for (i = 0; i < group_count; i++) {
		uint64_t n = rows->members.first[i + 1] - rows->members.first[i];

		if (n > largest)
			largest = n;
	}
	rows->times = tw_alloc(a, (largest + 1) * sizeof(*rows->times));
	rows->values = tw_alloc(a, (largest + 1) * sizeof(*rows->values));
	return rows->times && rows->values ? 0 : -1;
}

/* ---- groups */

static const struct tw_op_work *work_of(const struct tw_op_rows *rows, const struct tw_op_row *row)
{
	return row->work == TW_NO_GROUP ? NULL : &rows->in->modelled->works[row->work];
}

/* Whether all rows of a group have the same work, so that rates are multiples of 1 / time. */
static bool have_same_work(const struct tw_op_rows *rows, const uint32_t *list, uint64_t count)
{
	uint64_t i;

	for (i = 1; i < count; i++)
		if (rows->items[list[i]].work != rows->items[list[0]].work)
			return false;
	return true;
}

/* Rates and rooflines of what is known only in part would be those of other work. */
static double all_bytes(const struct tw_op_work *work)
{
	return work->at_least ? NAN : work->bytes;
}

/* FLOPs per ns are 10^-3 TFLOP/s, bytes per ns 10^-3 TB/s. */
#define PER_NS_TO_TERA 1e-3

static void add_common_rates(struct tw_op_rows *rows, struct tw_op_group *group)
{
	struct tw_real_stats inverse = tw_rate_stats_of(rows->times, group->count);

	group->tflops_per_s = tw_scaled(&inverse, group->work->flops * PER_NS_TO_TERA);
	group->tb_per_s = tw_scaled(&inverse, all_bytes(group->work) * PER_NS_TO_TERA);
	group->percent = tw_scaled(&inverse, group->roofline_us * 1000 * 100);
}

enum rate { TFLOPS, TB, PERCENT };

/* One of the rates of each row, where the rows differ in their work. */
static struct tw_real_stats measure_rates(struct tw_op_rows *rows, const uint32_t *list,
					  uint64_t count, enum rate which)
{
	uint64_t i;

	for (i = 0; i < count; i++) {
		const struct tw_op_row *row = &rows->items[list[i]];
		const struct tw_op_work *work = work_of(rows, row);
		struct tw_roofline roofline = { .percent = NAN };
		struct tw_rates rates;

		rows->values[i] = NAN;
		if (!work || work->reason)
			continue;
		if (rows->in->platform)
			tw_roofline(&roofline, rows->in->platform, work->flops, all_bytes(work),
				    work->spec, row->kernel_ns);
		tw_rates(&rates, work->flops, all_bytes(work), row->kernel_ns);
		rows->values[i] = which == PERCENT ? roofline.percent :
				  which == TFLOPS  ? rates.tflops_per_s :
						     rates.tb_per_s;
	}
	return tw_real_stats_of(rows->values, count);
}

static void add_rates(struct tw_op_rows *rows, const uint32_t *list, struct tw_op_group *group)
{
	struct tw_roofline roofline;

	if (group->work && rows->in->platform) {
		tw_roofline(&roofline, rows->in->platform, group->work->flops,
			    all_bytes(group->work), group->work->spec, 0);
		group->roofline_us = roofline.time_us;
		group->bound = roofline.bound;
	}
	if (group->work && have_same_work(rows, list, group->count)) {
		add_common_rates(rows, group);
		return;
	}
	group->tflops_per_s = measure_rates(rows, list, group->count, TFLOPS);
	group->tb_per_s = measure_rates(rows, list, group->count, TB);
	group->percent = measure_rates(rows, list, group->count, PERCENT);
}

static void measure_group(struct tw_op_rows *rows, uint32_t number, struct tw_op_group *group)
{
	const uint32_t *list = rows->members.list + rows->members.first[number];
	uint64_t n = rows->members.first[number + 1] - rows->members.first[number], i;

	*group = (struct tw_op_group){ .count = n,
				       .first = &rows->items[list[0]],
				       .roofline_us = NAN };
	for (i = 0; i < n; i++) {
		const struct tw_op_row *row = &rows->items[list[i]];
		const struct tw_op_work *work = work_of(rows, row);

		if (row->event < group->first->event)
			group->first = row;
		if (work && !work->reason && !group->work)
			group->work = work;
		rows->times[i] = row->kernel_ns;
	}
	group->kernel_ns = tw_stats_of(rows->times, n);
	add_rates(rows, list, group);
}

/* ---- rows of a table */

void tw_set_five(struct trawl_table *table, size_t row, struct tw_five to,
		 const struct tw_real_stats *s)
{
	tw_table_set_real(table, row, to.mean, s->mean);
	tw_table_set_real(table, row, to.median, s->median);
	tw_table_set_real(table, row, to.std, s->std);
	tw_table_set_real(table, row, to.min, s->min);
	tw_table_set_real(table, row, to.max, s->max);
}

struct adding {
	struct tw_op_rows *rows;
	tw_set_op_row *set;
	void *context;
};

static struct tw_order describe_group(void *context, uint32_t number)
{
	const struct tw_op_rows *rows = ((const struct adding *)context)->rows;
	struct tw_order order = { .tie = UINT64_MAX };
	uint64_t i;

	for (i = rows->members.first[number]; i < rows->members.first[number + 1]; i++) {
		const struct tw_op_row *row = &rows->items[rows->members.list[i]];

		order.value += row->kernel_ns;
		if (row->event < order.tie)
			order.tie = row->event;
	}
	return order;
}

static int add_group_row(void *context, struct trawl_table *table, uint32_t number)
{
	const struct adding *adding = context;
	struct tw_op_rows *rows = adding->rows;
	const uint32_t *first = &rows->members.first[number];
	struct tw_op_group group;

	measure_group(rows, number, &group);
	tw_str_clear(&rows->full);
	tw_str_clear(&rows->short_form);
	if (tw_kernel_details(rows->in->derived, &rows->gpu, rows->members.list + first[0],
			      first[1] - first[0], &rows->full, &rows->short_form))
		return TRAWL_ENOMEM;
	adding->set(adding->context, table, tw_table_add_row(table), number, &group);
	return 0;
}

int tw_op_rows_add(struct tw_op_rows *rows, struct trawl_table *table, tw_set_op_row *set,
		   void *context)
{
	struct adding adding = { rows, set, context };
	const struct tw_order_rows in_order = { &adding, describe_group, add_group_row, NULL };

	return tw_add_in_order(table, (uint32_t)rows->members.group_count, &in_order,
			       rows->in->allocator);
}
