#include "analysis/ops/op_rows.h"

#include "analysis/ops/kernel_details.h"
#include "base/alloc.h"
#include "base/intervals.h"
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

void tw_op_rows_release(struct tw_op_rows *rows)
{
	const struct trawl_allocator *a = rows->in->allocator;

	tw_free(a, rows->items, rows->capacity * sizeof(*rows->items));
	tw_free(a, rows->gpu.first, rows->first_capacity * sizeof(*rows->gpu.first));
	tw_free(a, rows->gpu.list, rows->gpu_capacity * sizeof(*rows->gpu.list));
	tw_free(a, rows->values, (rows->largest + 1) * sizeof(*rows->values));
	tw_free(a, rows->times, (rows->largest + 1) * sizeof(*rows->times));
	tw_members_release(&rows->members);
	tw_str_release(&rows->full);
	tw_str_release(&rows->short_form);
}

/* Room for `more` behind `count` of `size` bytes each: the list, or NULL (sticky). */
static void *grow(struct tw_op_rows *rows, void *list, uint64_t *capacity, uint64_t count,
		  uint64_t more, size_t size)
{
	uint64_t wanted = *capacity ? *capacity : 256;
	void *grown;

	if (*capacity - count >= more)
		return list;
	while (wanted - count < more)
		wanted *= 2;
	grown = tw_realloc(rows->in->allocator, list, *capacity * size, wanted * size);
	if (grown)
		*capacity = wanted;
	else
		rows->failed = true;
	return grown;
}

void tw_op_rows_gpu(struct tw_op_rows *rows, const uint32_t *gpu, uint64_t count)
{
	uint32_t *list;

	if (rows->failed || !count)
		return;
	list = grow(rows, rows->gpu.list, &rows->gpu_capacity, rows->gpu.count, count,
		    sizeof(*list));
	if (!list)
		return;
	rows->gpu.list = list;
	memcpy(list + rows->gpu.count, gpu, count * sizeof(*gpu));
	rows->gpu.count += count;
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
	const struct tw_gpu *gpu = &rows->in->derived->gpu;
	struct tw_union busy = TW_UNION_INIT;
	struct tw_op_row *items = NULL;
	uint32_t *first = NULL, *list;
	uint64_t begin, i, n = 0;

	if (!rows->failed)
		items = grow(rows, rows->items, &rows->capacity, rows->count, 1, sizeof(*items));
	if (items) {
		rows->items = items;
		first = grow(rows, rows->gpu.first, &rows->first_capacity, rows->count, 2,
			     sizeof(*first));
	}
	if (!first)
		return;
	rows->gpu.first = first;
	if (!rows->count)
		first[0] = 0;
	begin = first[rows->count];
	if (rows->gpu.count > begin) {
		list = rows->gpu.list + begin;
		n = sort_distinct(list, rows->gpu.count - begin);
		for (i = 0; i < n; i++)
			tw_union_add(&busy, gpu->start_ns[list[i]], gpu->end_ns[list[i]]);
	}
	items[rows->count++] = (struct tw_op_row){ busy.length_ns, (uint32_t)event, work, group };
	first[rows->count] = (uint32_t)(begin + n);
	rows->gpu.count = begin + n;
	rows->gpu.group_count = rows->count;
}

int tw_op_rows_group(struct tw_op_rows *rows, uint32_t group_count)
{
	const struct trawl_allocator *a = rows->in->allocator;
	uint32_t *of = tw_alloc(a, (rows->count + 1) * sizeof(*of));
	int status = -1;
	uint64_t i;

	if (of && !rows->failed) {
		for (i = 0; i < rows->count; i++)
			of[i] = rows->items[i].group;
		status = tw_members_build(&rows->members, of, rows->count, group_count, a);
	}
	tw_free(a, of, (rows->count + 1) * sizeof(*of));
	if (status)
		return -1;
	for (i = 0; i < group_count; i++) {
		uint64_t n = rows->members.first[i + 1] - rows->members.first[i];

		if (n > rows->largest)
			rows->largest = n;
	}
	rows->times = tw_alloc(a, (rows->largest + 1) * sizeof(*rows->times));
	return rows->times ? 0 : -1;
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
static struct tw_real_stats measure(struct tw_op_rows *rows, const uint32_t *list, uint64_t count,
				    enum rate which)
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
	if (!rows->values)
		rows->values =
			tw_alloc(rows->in->allocator, (rows->largest + 1) * sizeof(*rows->values));
	if (!rows->values) {
		rows->failed = true;
		return;
	}
	group->tflops_per_s = measure(rows, list, group->count, TFLOPS);
	group->tb_per_s = measure(rows, list, group->count, TB);
	group->percent = measure(rows, list, group->count, PERCENT);
}

void tw_op_group_of(struct tw_op_rows *rows, uint32_t number, struct tw_op_group *group)
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

int tw_op_group_kernels(struct tw_op_rows *rows, uint32_t group)
{
	uint64_t first = rows->members.first[group];

	tw_str_clear(&rows->full);
	tw_str_clear(&rows->short_form);
	return tw_kernel_details(rows->in->derived, &rows->gpu, rows->members.list + first,
				 rows->members.first[group + 1] - first, &rows->full,
				 &rows->short_form);
}

void tw_op_rows_order(const struct tw_op_rows *rows, struct tw_order *order, tw_wide *total)
{
	uint64_t group, i;

	*total = 0;
	for (group = 0; group < rows->members.group_count; group++) {
		order[group] = (struct tw_order){ .tie = UINT64_MAX, .index = (uint32_t)group };
		for (i = rows->members.first[group]; i < rows->members.first[group + 1]; i++) {
			const struct tw_op_row *row = &rows->items[rows->members.list[i]];

			order[group].value += row->kernel_ns;
			if (row->event < order[group].tie)
				order[group].tie = row->event;
		}
		*total += order[group].value;
	}
	tw_order_sort(order, rows->members.group_count, NULL);
}
