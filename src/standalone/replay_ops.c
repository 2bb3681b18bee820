/* The operations of a prepared directory, with what a package tells of them. */
#include "standalone/replay.h"

#include "base/alloc.h"
#include "findings/findings.h"
#include "store/pool.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One category's file. */
struct source {
	const struct tw_json_value *metadata;
	struct tw_prepared_ops ops;
};

struct reading {
	struct tw_prepared *prepared;
	const struct tw_json_value *manifest;
	struct source *sources;
	size_t source_count;
	double compute_us; /* time in which anything computes; NaN: unknown */
};

/* ---- rows */

static const struct {
	const char *header;
	size_t at; /* in struct tw_replay_row */
} text_columns[] = {
	{ "name", offsetof(struct tw_replay_row, name) },
	{ "Input Dims", offsetof(struct tw_replay_row, dims) },
	{ "Input type", offsetof(struct tw_replay_row, types) },
	{ "Input Strides", offsetof(struct tw_replay_row, strides) },
	{ "Concrete Inputs", offsetof(struct tw_replay_row, concrete) },
	{ "kernel_details_summary", offsetof(struct tw_replay_row, kernels) },
	{ "ex_UID", offsetof(struct tw_replay_row, uid) },
	{ "Roofline Bound", offsetof(struct tw_replay_row, bound) },
	{ "Compute Spec", offsetof(struct tw_replay_row, spec) },
}, number_columns[] = {
	{ "operation_count", offsetof(struct tw_replay_row, count) },
	{ "Kernel Time (µs)_sum", offsetof(struct tw_replay_row, time_us) },
	{ "Kernel Time (µs)_mean", offsetof(struct tw_replay_row, mean_us) },
	{ "GFLOPS", offsetof(struct tw_replay_row, gflops) },
	{ "Data Moved (MB)", offsetof(struct tw_replay_row, megabytes) },
	{ "FLOPS/Byte", offsetof(struct tw_replay_row, flops_per_byte) },
	{ "TFLOPS/s_mean", offsetof(struct tw_replay_row, tflops) },
	{ "TB/s_mean", offsetof(struct tw_replay_row, tb_s) },
	{ "Pct Roofline_mean", offsetof(struct tw_replay_row, efficiency_percent) },
};

#define TEXT_COLUMNS (sizeof(text_columns) / sizeof(*text_columns))
#define NUMBER_COLUMNS (sizeof(number_columns) / sizeof(*number_columns))

static bool is_read(const char *header)
{
	bool read = false;
	size_t i;

	for (i = 0; i < TEXT_COLUMNS && !read; i++)
		read = tw_same_header(header, text_columns[i].header);
	for (i = 0; i < NUMBER_COLUMNS && !read; i++)
		read = tw_same_header(header, number_columns[i].header);
	return read;
}

static bool is_compute(const struct tw_json_value *category)
{
	const char *name = tw_json_text(tw_json_get(category, "name"));

	return strcmp(tw_json_text(tw_json_get(category, "tier")), "system") != 0 && *name &&
	       !strchr(name, '/');
}

static int read_source(struct reading *r, const char *category, struct trawl_error *err)
{
	struct tw_prepared *prepared = r->prepared;
	const char *table = tw_prepared_name(prepared, category, "_ops.csv");
	const char *metadata = tw_prepared_name(prepared, category, "_metadata.json");
	struct source *source = &r->sources[r->source_count];
	int status;

	if (!table || !metadata)
		return tw_no_memory(err);
	if (!tw_prepared_has(prepared, TW_CATEGORY_DATA, table))
		return 0;
	status = tw_prepared_ops(prepared, category, is_read, &source->ops, err);
	if (status)
		return status;
	source->metadata = NULL;
	if (tw_prepared_has(prepared, TW_METADATA, metadata)) {
		source->metadata = tw_prepared_json(prepared, TW_METADATA, metadata, err);
		if (!source->metadata)
			return err ? err->status : TRAWL_EFORMAT;
	}
	r->source_count++;
	return 0;
}

static int read_sources(struct reading *r, struct trawl_error *err)
{
	const struct tw_json_value *categories = tw_json_get(r->manifest, "categories"), *item;
	int status = 0;

	r->sources =
		tw_arena_alloc(&r->prepared->arena, (categories->count + 1) * sizeof(*r->sources));
	if (!r->sources)
		return tw_no_memory(err);
	for (item = categories->first; item && !status; item = item->next)
		if (is_compute(item))
			status = read_source(r, tw_json_text(tw_json_get(item, "name")), err);
	return status;
}

/* Of the roofline; without one, what was achieved to the peak of what bounds it. */
static double efficiency(const struct tw_replay_row *row, const struct tw_json_value *metadata,
			 double of_roofline)
{
	bool computes = !strcmp(row->bound, "COMPUTE_BOUND");
	const struct tw_json_value *peaks = tw_json_get(metadata, "max_achievable_tflops");
	double peak = tw_json_number(computes ? tw_json_get(peaks, row->spec) :
						tw_json_get(metadata, "peak_hbm_bw_tbs"));

	if (!isnan(of_roofline))
		return of_roofline;
	return peak > 0 ? 100 * (computes ? row->tflops : row->tb_s) / peak : (double)NAN;
}

static int read_row(const struct reading *r, struct tw_replay_row *row, const struct source *source,
		    size_t at)
{
	const struct trawl_table *table = source->ops.table;
	size_t i;

	for (i = 0; i < TEXT_COLUMNS; i++) {
		const char *text =
			tw_ops_text(r->prepared, &source->ops, at,
				    trawl_table_find_column(table, text_columns[i].header));

		if (!text)
			return TRAWL_ENOMEM;
		*(const char **)((char *)row + text_columns[i].at) = text;
	}
	for (i = 0; i < NUMBER_COLUMNS; i++)
		*(double *)((char *)row + number_columns[i].at) = tw_ops_number(
			&source->ops, at, trawl_table_find_column(table, number_columns[i].header));
	row->efficiency_percent = efficiency(row, source->metadata, row->efficiency_percent);
	return 0;
}

static struct tw_replay_row *read_rows(const struct reading *r, size_t *count)
{
	struct tw_replay_row *rows;
	size_t i, k;

	*count = 0;
	for (i = 0; i < r->source_count; i++)
		*count += r->sources[i].ops.count;
	rows = tw_arena_alloc(&r->prepared->arena, (*count + 1) * sizeof(*rows));
	if (!rows)
		return NULL;
	*count = 0;
	for (i = 0; i < r->source_count; i++) {
		for (k = 0; k < r->sources[i].ops.count; k++) {
			struct tw_replay_row *row = &rows[*count];

			if (read_row(r, row, &r->sources[i], k))
				return NULL;
			row->percent_of_compute = 100 * row->time_us / r->compute_us;
			row->order = (*count)++;
		}
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

static double compute_us(const struct tw_json_value *manifest)
{
	const struct tw_json_value *use = tw_json_get(manifest, "gpu_utilization");
	double ms = tw_json_number(tw_json_get(use, "computation_time_ms"));

	if (isnan(ms))
		ms = tw_json_number(tw_json_get(use, "total_time_ms")) *
		     tw_json_number(tw_json_get(use, "computation_time_percent")) / 100;
	return ms > 0 ? ms * 1000 : (double)NAN;
}

static const char *known_text(const struct tw_json_value *value)
{
	return *tw_json_text(value) ? tw_json_text(value) : NULL;
}

int tw_replay_read(struct tw_prepared *prepared, struct tw_replay_ops *ops, struct trawl_error *err)
{
	struct reading r = { .prepared = prepared };
	struct tw_replay_row *rows;
	size_t count;
	int status;

	*ops = (struct tw_replay_ops){ 0 };
	r.manifest = tw_prepared_json(prepared, "", TW_MANIFEST, err);
	if (!r.manifest)
		return err ? err->status : TRAWL_EFORMAT;
	r.compute_us = compute_us(r.manifest);
	ops->platform = known_text(tw_json_get(r.manifest, "platform"));
	ops->device = known_text(tw_json_get(r.manifest, "device_name"));
	status = read_sources(&r, err);
	if (status)
		return status;
	rows = read_rows(&r, &count);
	if (!rows || group(ops, rows, count, &prepared->arena) || name_files(ops, prepared))
		return tw_no_memory(err);
	return 0;
}
