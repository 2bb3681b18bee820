/* The operations of a prepared directory, with what a package tells of them. */
#include "standalone/replay/replay.h"

#include "base/alloc.h"
#include "standalone/manifest.h"
#include "store/pool.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows */

#define NUMBER(header, member)                                               \
	{                                                                    \
		header, offsetof(struct tw_replay_row, member), false, false \
	}
#define TEXT(header, member)                                                \
	{                                                                   \
		header, offsetof(struct tw_replay_row, member), true, false \
	}

static const struct tw_ops_column columns[] = {
	TEXT("name", name),
	TEXT("Input Dims", dims),
	TEXT("Input type", types),
	TEXT("Input Strides", strides),
	TEXT("Concrete Inputs", concrete),
	TEXT("kernel_details_summary", kernels_text),
	TEXT("ex_UID", uid),
	TEXT("Roofline Bound", bound),
	TEXT("Compute Spec", spec),
	NUMBER("operation_count", count),
	NUMBER("Kernel Time (µs)_sum", time_us),
	NUMBER("Kernel Time (µs)_mean", mean_us),
	NUMBER("GFLOPS", gflops),
	NUMBER("Data Moved (MB)", megabytes),
	NUMBER("FLOPS/Byte", flops_per_byte),
	NUMBER("TFLOPS/s_mean", tflops),
	NUMBER("TB/s_mean", tb_s),
	NUMBER("Pct Roofline_mean", efficiency_percent),
};

static const struct tw_ops_list list = { columns, sizeof(columns) / sizeof(*columns),
					 sizeof(struct tw_replay_row), "Kernel Time (µs)_sum" };

/* Of the roofline; without one, what was achieved to the peak of what bounds it. */
static double efficiency(const struct tw_replay_row *row, const struct tw_hardware *h)
{
	bool computes = !strcmp(row->bound, "COMPUTE_BOUND");
	double peak = computes ? (double)NAN : h->hbm_tb_s;
	size_t i;

	for (i = 0; computes && i < h->tflops.count; i++)
		if (!strcmp(h->tflops.at[i].name, row->spec))
			peak = h->tflops.at[i].value;
	if (!isnan(row->efficiency_percent))
		return row->efficiency_percent;
	return tw_percent_of(computes ? row->tflops : row->tb_s, peak);
}

/* The rows of a category; none when it has no file. */
static int read_category(struct tw_prepared *prepared, const char *category,
			 const struct tw_manifest *manifest, struct tw_ops_rows *rows,
			 struct trawl_error *err)
{
	double compute_ms = tw_use_ms(&manifest->use, TW_USE_COMPUTATION);
	const char *name = tw_prepared_name(prepared, category, "_ops.csv"), *title;
	struct tw_manifest own = { .hardware = { .hbm_tb_s = NAN } };
	const struct tw_hardware *hardware = &manifest->hardware;
	int status;
	size_t i;

	*rows = (struct tw_ops_rows){ 0 };
	if (!name)
		return tw_no_memory(err);
	if (strchr(category, '/') || !tw_prepared_has(prepared, TW_CATEGORY_DATA, name))
		return 0;
	status = tw_prepared_rows(prepared, category, &list, rows, err);
	if (!status && !prepared->manifest) {
		status = tw_metadata_read(prepared, category, &own, &title, err);
		hardware = &own.hardware;
	}
	if (status && status != TRAWL_ENODATA)
		return status;
	for (i = 0; i < rows->count; i++) {
		struct tw_replay_row *row = (struct tw_replay_row *)rows->at + i;

		row->efficiency_percent = efficiency(row, hardware);
		row->percent_of_compute = compute_ms > 0 ? row->time_us / 10 / compute_ms :
							   (double)NAN;
	}
	return 0;
}

/* Of all categories; NULL with an error. */
static struct tw_replay_row *read_rows(struct tw_prepared *prepared,
				       const struct tw_manifest *manifest, size_t *count,
				       struct trawl_error *err)
{
	size_t categories = manifest->categories.count, i, k;
	struct tw_ops_rows *parts =
		tw_arena_array(&prepared->arena, categories + 1, sizeof(*parts));
	struct tw_replay_row *rows;

	*count = 0;
	for (i = 0; parts && i < categories; i++) {
		const struct tw_prepared_category *c = &manifest->categories.at[i];

		if (!tw_category_is_system(c) && *c->name &&
		    read_category(prepared, c->name, manifest, &parts[i], err))
			return NULL;
		*count += parts[i].count;
	}
	rows = tw_arena_array(&prepared->arena, *count + 1, sizeof(*rows));
	if (!parts || !rows) {
		tw_no_memory(err);
		return NULL;
	}
	for (i = *count = 0; i < categories; i++)
		for (k = 0; k < parts[i].count; k++, ++*count) {
			rows[*count] = ((struct tw_replay_row *)parts[i].at)[k];
			rows[*count].order = *count;
		}
	return rows;
}

/* ---- operations */

static int larger_first(double a, double b)
{
	/* What is not known comes last. */
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a < b) - (a > b);
}

static int by_name(const void *a, const void *b)
{
	const struct tw_replay_row *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (!order)
		order = larger_first(x->time_us, y->time_us);
	return order ? order : (x->order > y->order) - (x->order < y->order);
}

static int by_time(const void *a, const void *b)
{
	const struct tw_replay_op *x = a, *y = b;
	int order = larger_first(x->time_us, y->time_us);

	return order ? order : strcmp(x->name, y->name);
}

static void sum_up(struct tw_replay_op *op)
{
	double weighted = 0, weight = 0;
	size_t i;

	op->name = op->row->name;
	op->time_us = op->percent_of_compute = 0;
	for (i = 0; i < op->rows; i++) {
		const struct tw_replay_row *row = &op->row[i];

		if (isnan(row->time_us))
			continue;
		op->time_us += row->time_us;
		op->percent_of_compute += row->percent_of_compute;
		if (isnan(row->efficiency_percent))
			continue;
		weighted += row->time_us * row->efficiency_percent;
		weight += row->time_us;
	}
	op->efficiency_percent = weight > 0 ? weighted / weight : (double)NAN;
}

static int group(struct tw_replay_ops *ops, struct tw_replay_row *rows, size_t count,
		 struct tw_arena *arena)
{
	size_t i;

	ops->op = tw_arena_alloc(arena, (count + 1) * sizeof(*ops->op));
	if (!ops->op)
		return -1;
	qsort(rows, count, sizeof(*rows), by_name);
	ops->count = 0;
	for (i = 0; i < count; i++) {
		if (!i || strcmp(rows[i].name, rows[i - 1].name) != 0)
			ops->op[ops->count++] = (struct tw_replay_op){ .row = &rows[i] };
		ops->op[ops->count - 1].rows++;
	}
	for (i = 0; i < ops->count; i++)
		sum_up(&ops->op[i]);
	qsort(ops->op, ops->count, sizeof(*ops->op), by_time);
	return 0;
}

/* ---- file names */

static bool may_stay(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-';
}

/* The name as files may have it, cut to leave room for a number and the ending. */
static void file_name(const char *name, unsigned number, struct tw_str *out)
{
	char suffix[16] = "";
	size_t most;

	if (number > 1)
		snprintf(suffix, sizeof(suffix), "_%u", number);
	most = NAME_MAX - strlen(suffix) - strlen(TW_REPLAY_ENDING);
	tw_str_clear(out);
	for (; *name && out->len < most; name++) {
		if (may_stay(*name))
			tw_str_add_char(out, *name);
		else if (may_stay(name[1]) || !name[1])
			tw_str_add_char(out, '_');
	}
	tw_str_add_cstr(out, suffix);
	tw_str_add_cstr(out, TW_REPLAY_ENDING);
}

/* Different names may look the same as files: each gets one of its own, whichever are written. */
static int name_files(struct tw_replay_ops *ops, struct tw_prepared *prepared)
{
	struct tw_pool taken;
	struct tw_str file;
	unsigned *more; /* by file: numbers that those which look the same have beside it */
	bool failed;
	size_t i;

	more = tw_arena_alloc(&prepared->arena, (ops->count + 2) * sizeof(*more));
	if (!more || tw_pool_init(&taken, prepared->allocator))
		return -1;
	tw_str_init(&file, prepared->allocator);
	for (i = 0; i < ops->count && !taken.failed && !file.failed; i++) {
		uint32_t same;

		file_name(ops->op[i].name, 1, &file);
		same = file.failed ? 0 : tw_pool_find(&taken, file.ptr, file.len);
		while (!file.failed && tw_pool_find(&taken, file.ptr, file.len))
			file_name(ops->op[i].name, ++more[same], &file);
		if (file.failed)
			break;
		more[tw_pool_intern(&taken, file.ptr, file.len)] = 1;
		ops->op[i].file = tw_arena_copy(&prepared->arena, file.ptr, file.len);
		file.failed |= !ops->op[i].file;
	}
	failed = taken.failed || file.failed;
	tw_str_release(&file);
	tw_pool_release(&taken);
	return failed ? -1 : 0;
}

/* ---- all of it */

int tw_replay_read(struct tw_prepared *prepared, struct tw_replay_ops *ops, struct trawl_error *err)
{
	const struct tw_manifest *manifest;
	struct tw_replay_row *rows;
	size_t count;

	*ops = (struct tw_replay_ops){ 0 };
	manifest = tw_manifest_read(prepared, err);
	if (!manifest)
		return err->status;
	ops->platform = manifest->platform;
	ops->device = manifest->device_name && *manifest->device_name ? manifest->device_name :
									NULL;
	rows = read_rows(prepared, manifest, &count, err);
	if (!rows)
		return err->status;
	if (group(ops, rows, count, &prepared->arena) || name_files(ops, prepared))
		return tw_no_memory(err);
	return 0;
}
