#include "standalone/category/category.h"

#include "base/alloc.h"
#include "standalone/literal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIME_COLUMN "Kernel Time (µs)_sum"
#define EXPOSED_COLUMN "Exposed Kernel Time (µs)_sum"

#define NUMBER(header, member, needed)                                          \
	{                                                                       \
		header, offsetof(struct tw_category_row, member), false, needed \
	}
#define TEXT(header, member, needed)                                           \
	{                                                                      \
		header, offsetof(struct tw_category_row, member), true, needed \
	}

static const struct tw_ops_column columns[] = {
	NUMBER("operation_count", count, true),
	NUMBER(TIME_COLUMN, time_us, true),
	NUMBER("Kernel Time (µs)_mean", mean_us, false),
	NUMBER("Kernel Time (µs)_std", std_us, false),
	NUMBER(EXPOSED_COLUMN, exposed_us, false),
	NUMBER("TFLOPS/s_mean", tflops, false),
	NUMBER("TB/s_mean", tb_s, false),
	NUMBER("FLOPS/Byte", flops_per_byte, false),
	NUMBER("Pct Roofline_mean", roofline_percent, false),
	TEXT("name", name, true),
	TEXT("ex_UID", uid_text, false),
	TEXT("Input Dims", dims_text, false),
	TEXT("Input type", types_text, false),
	TEXT("perf_params", params_text, false),
	TEXT("Compute Spec", compute_spec, false),
	TEXT("Input Strides", strides, false),
	TEXT("thread_name", thread, false),
	TEXT("kernel_details_summary", kernels_text, false),
	TEXT("Roofline Bound", bound, false),
	TEXT("has_perf_model", model_text, false),
};

static const struct tw_ops_list list = { columns, sizeof(columns) / sizeof(*columns),
					 sizeof(struct tw_category_row), TIME_COLUMN };

/* The number by which the tree and the reports know it, and the tree. */
static void find_number(struct tw_category_row *row, const struct tw_prepared_category *category)
{
	size_t digits = strspn(row->uid_text, "0123456789"), i;

	row->uid = NAN;
	if (!digits || row->uid_text[digits] || digits > 15)
		return;
	row->uid = strtod(row->uid_text, NULL);
	for (i = 0; i < category->trees.count; i++)
		if ((double)category->trees.at[i].uid == row->uid)
			row->tree = &category->trees.at[i];
}

int tw_category_open(struct tw_category_row *row, struct tw_arena *arena)
{
	row->dims = tw_literal_parse(arena, row->dims_text);
	row->types = tw_literal_parse(arena, row->types_text);
	row->params = tw_literal_parse(arena, row->params_text);
	row->kernels = tw_literal_parse(arena, row->kernels_text);
	return row->dims && row->types && row->params && row->kernels ? 0 : TRAWL_ENOMEM;
}

/* Whether the manifest has it among the operations with the most time. */
static bool is_top(const struct tw_category_row *row, const char *category,
		   const struct tw_manifest *manifest)
{
	size_t i;

	for (i = 0; manifest && i < manifest->top.count; i++) {
		const struct tw_top_operation *top = &manifest->top.at[i];

		if ((double)top->uid == row->uid && !strcmp(top->name, row->name) &&
		    !strcmp(top->category, category))
			return true;
	}
	return false;
}

double tw_category_peak(const struct tw_category_data *data, const char *compute_spec)
{
	const struct tw_hardware *h = &data->hardware;
	size_t i;

	/* As the agent does for operations without a type. */
	if (!*compute_spec)
		compute_spec = "matrix_bf16";
	for (i = 0; i < h->tflops.count; i++)
		if (!strcmp(h->tflops.at[i].name, compute_spec))
			return h->tflops.at[i].value;
	return NAN;
}

/*
 * Share of the roofline that is reached: as the report has it, else what was achieved of the peak
 * that bounds the operation.
 */
static void derive_efficiency(struct tw_category_row *row, const struct tw_category_data *data)
{
	double compute, memory;

	row->peak_tflops = tw_category_peak(data, row->compute_spec);
	compute = *row->compute_spec ? 100 * row->tflops / row->peak_tflops : NAN;
	memory = 100 * row->tb_s / data->hardware.hbm_tb_s;
	if (!row->bound && (compute >= memory || memory > compute))
		row->bound = compute >= memory ? "compute" : "memory";
	row->efficiency_percent = row->roofline_percent;
	if (isnan(row->efficiency_percent) && row->bound)
		row->efficiency_percent = *row->bound == 'c' ? compute : memory;
}

static void derive_facts(struct tw_category_row *row, const struct tw_category_data *data)
{
	double *value = row->facts.value;

	tw_facts_init(&row->facts);
	value[TW_FACT_time_ms] = row->time_us / 1e3;
	value[TW_FACT_exposed_time_ms] = row->exposed_us / 1e3;
	value[TW_FACT_count] = row->count;
	value[TW_FACT_mean_us] = row->mean_us;
	value[TW_FACT_cov] = row->mean_us > 0 ? row->std_us / row->mean_us : NAN;
	value[TW_FACT_percent_of_category] = tw_percent_of(row->time_us / 1e3, data->time_ms);
	value[TW_FACT_percent_of_compute] = tw_percent_of(row->time_us / 1e3, data->compute_ms);
	value[TW_FACT_percent_of_total] = tw_percent_of(row->time_us / 1e3, data->total_ms);
	value[TW_FACT_flops_per_byte] = row->flops_per_byte;
	value[TW_FACT_tflops_achieved] = row->tflops;
	value[TW_FACT_tb_s_achieved] = row->tb_s;
	value[TW_FACT_peak_tflops] = row->peak_tflops;
	value[TW_FACT_peak_tb_s] = data->hardware.hbm_tb_s;
	value[TW_FACT_in_top_operations] = row->in_top_operations;
	value[TW_FACT_efficiency_percent] = row->efficiency_percent;
}

/* Which efficiencies cannot be what they say. */
static void judge_efficiency(struct tw_category_row *row)
{
	double *value = row->facts.value, *efficiency = &value[TW_FACT_efficiency_percent];

	row->is_host_copy = tw_level_is_yes("host_bound", &row->facts);
	row->is_too_short = tw_level_is_yes("too_short", &row->facts);
	if (value[TW_FACT_not_visible] > 0)
		row->kind = "not_visible";
	value[TW_FACT_host_copy] = row->is_host_copy;
	value[TW_FACT_too_short] = row->is_too_short;
	if (row->bound)
		value[TW_FACT_memory_bound] = *row->bound == 'm';
	if (row->is_host_copy) {
		row->warning = tw_level_of("host_bound", &row->facts)->text;
		row->efficiency_percent = *efficiency = NAN;
		row->bound = NULL;
		value[TW_FACT_memory_bound] = NAN;
	} else if (tw_level_is_yes("anomaly", &row->facts)) {
		row->is_anomaly = true;
		row->warning = tw_level_of("anomaly", &row->facts)->text;
	}
}

static void complete(struct tw_category_row *row, const struct tw_category_data *data,
		     const struct tw_prepared_category *category,
		     const struct tw_manifest *manifest)
{
	row->cov = row->high_variance = NAN;
	if (isnan(row->mean_us) && row->count > 0)
		row->mean_us = row->time_us / row->count;
	/* What is hidden is not known without the column: then all of it may be won. */
	if (!(row->exposed_us <= row->time_us))
		row->exposed_us = row->time_us;
	if (row->flops_per_byte <= 0)
		row->flops_per_byte = NAN;
	row->bound = !strncmp(row->bound, "COMPUTE", 7) ? "compute" :
		     !strncmp(row->bound, "MEMORY", 6)	? "memory" :
							  NULL;
	row->has_model = !strcmp(row->model_text, "True");
	find_number(row, category);
	row->in_top_operations = is_top(row, data->name, manifest);
}

/*
 * Which operand is added to the scores, from 1 on; 0: none, or not known.  aten/src/ATen/native/
 * native_functions.yaml: flash attention takes none, backward passes have the gradient first.
 */
static unsigned mask_operand(const char *name)
{
	if (!strstr(name, "scaled_dot_product") || strstr(name, "flash"))
		return 0;
	return !strstr(name, "backward") ? 4 : strstr(name, "efficient") ? 5 : 0;
}

static bool has_mask(const struct tw_category_row *row)
{
	const struct tw_json_value *dims = row->dims->first;
	unsigned operand = mask_operand(row->name), i;

	for (i = 1; dims && i < operand; i++)
		dims = dims->next;
	return operand && dims && dims->count;
}

/* Whether padding is to be expected: a mask, or other lengths in another row. */
static void find_uneven(struct tw_category_data *data)
{
	enum { QUERIES = TW_FACT_queries, KEYS = TW_FACT_keys };
	bool lengths = false;
	uint32_t i;

	for (i = 1; i < data->row_count; i++) {
		const double *first = data->rows[0].facts.value, *other = data->rows[i].facts.value;

		lengths |= fabs(first[QUERIES] - other[QUERIES]) > 0 ||
			   fabs(first[KEYS] - other[KEYS]) > 0;
	}
	for (i = 0; i < data->row_count; i++)
		data->rows[i].facts.value[TW_FACT_uneven] = lengths || data->rows[i].has_mask;
}

/* 0: they look alike. */
static int compare_looks(const void *a, const void *b)
{
	const struct tw_category_row *x = *(struct tw_category_row *const *)a;
	const struct tw_category_row *y = *(struct tw_category_row *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->args, y->args);
}

/* Of rows that look alike: by what they differ. */
static void tell_apart(struct tw_category_row *const *rows, size_t count, struct tw_arena *arena)
{
	bool strides = false, threads = false;
	size_t i;

	for (i = 1; i < count; i++) {
		strides |= strcmp(rows[i]->strides, rows[0]->strides) != 0;
		threads |= strcmp(rows[i]->thread, rows[0]->thread) != 0;
	}
	for (i = 0; i < count && (strides || threads); i++) {
		const char *text = strides ? rows[i]->strides : rows[i]->thread;
		size_t room = strlen(text) + sizeof("strides ");
		char *distinct = tw_arena_alloc(arena, room);

		if (distinct)
			snprintf(distinct, room, "%s %s", strides ? "strides" : "thread", text);
		rows[i]->distinct = distinct;
	}
}

/* Rows that look alike are told apart by strides, else by the thread that launched them. */
static int find_distinct(struct tw_category_data *data, struct trawl_error *err)
{
	const struct trawl_allocator *a = data->prepared->allocator;
	struct tw_category_row **rows = tw_alloc_array(a, data->row_count, sizeof(*rows));
	size_t i, first;

	if (!rows)
		return tw_no_memory(err);
	for (i = 0; i < data->row_count; i++)
		rows[i] = &data->rows[i];
	qsort(rows, data->row_count, sizeof(struct tw_category_row *), compare_looks);
	for (first = 0; first < data->row_count; first = i) {
		for (i = first + 1; i < data->row_count && !compare_looks(&rows[first], &rows[i]);)
			i++;
		tell_apart(rows + first, i - first, &data->prepared->arena);
	}
	tw_free(a, rows, data->row_count * sizeof(*rows));
	return data->prepared->arena.failed ? tw_no_memory(err) : 0;
}

static int derive_row(struct tw_category_row *row, const struct tw_category_data *data)
{
	struct tw_arena literals;
	int status;

	tw_arena_init(&literals, data->prepared->allocator);
	status = tw_category_open(row, &literals);
	if (!status) {
		derive_efficiency(row, data);
		derive_facts(row, data);
		row->library = tw_category_library(row);
		row->args = tw_category_args(&data->prepared->arena, row);
		row->has_mask = has_mask(row);
		tw_category_traits(row);
		judge_efficiency(row);
		status = row->args ? tw_category_callers(row, &data->prepared->arena) :
				     TRAWL_ENOMEM;
	}
	row->dims = row->types = row->params = row->kernels = NULL;
	tw_arena_release(&literals);
	return status;
}

static int derive(struct tw_category_data *data, struct trawl_error *err)
{
	double weighted = 0, known_us = 0, hidden_us = 0;
	double *value = data->facts.value;
	uint32_t i;

	for (i = 0; i < data->row_count; i++) {
		struct tw_category_row *row = &data->rows[i];

		if (derive_row(row, data))
			return tw_no_memory(err);
		hidden_us += row->kind ? row->time_us : 0;
		if (isnan(row->efficiency_percent) || row->is_anomaly)
			continue;
		weighted += row->efficiency_percent * row->time_us;
		known_us += row->time_us;
	}
	data->average_efficiency_percent = known_us > 0 ? weighted / known_us : NAN;
	data->percent_of_total = tw_percent_of(data->time_ms, data->total_ms);
	data->percent_of_compute = tw_percent_of(data->time_ms, data->compute_ms);
	find_uneven(data);
	if (find_distinct(data, err))
		return TRAWL_ENOMEM;
	tw_facts_init(&data->facts);
	value[TW_FACT_not_visible_percent] = data->time_ms > 0 ? hidden_us / 10 / data->time_ms :
								 NAN;
	value[TW_FACT_calls] = data->calls;
	value[TW_FACT_operation_kinds] = data->row_count;
	value[TW_FACT_time_ms] = data->time_ms;
	value[TW_FACT_mean_us] = data->calls > 0 ? data->time_ms * 1e3 / data->calls : NAN;
	value[TW_FACT_largest_percent] = data->rows[0].facts.value[TW_FACT_percent_of_category];
	return 0;
}

/* What the whole trace is, and what its GPU can do. */
static int read_whole(struct tw_category_data *data, const struct tw_manifest *manifest,
		      struct trawl_error *err)
{
	struct tw_manifest own;
	const char *title = NULL;
	int status;

	if (!data->prepared->manifest) {
		status = tw_metadata_read(data->prepared, data->name, &own, &title, err);
		if (status)
			return status == TRAWL_ENODATA ?
				       trawl_error_set(err, TRAWL_EIO, "cannot open %s/%s%s",
						       TW_METADATA, data->name, "_metadata.json") :
				       status;
		data->title = *title ? title : data->title;
		manifest = &own;
	}
	data->hardware = manifest->hardware;
	data->total_ms = tw_use_ms(&manifest->use, TW_USE_TOTAL);
	data->compute_ms = tw_use_ms(&manifest->use, TW_USE_COMPUTATION);
	return 0;
}

/* Of the report while it is there, else what its files have. */
static int read_trees(struct tw_category_data *data, const struct tw_manifest *manifest,
		      struct tw_prepared_category *category, struct trawl_error *err)
{
	size_t i;

	*category = (struct tw_prepared_category){ .name = data->name };
	if (!data->prepared->manifest)
		return tw_trees_read(data->prepared, category, err);
	for (i = 0; i < manifest->categories.count; i++)
		if (!strcmp(manifest->categories.at[i].name, data->name))
			*category = manifest->categories.at[i];
	data->title = category->title ? category->title : data->title;
	return 0;
}

int tw_category_read(struct tw_category_data *data, struct trawl_error *err)
{
	struct tw_prepared *prepared = data->prepared;
	const char *file = tw_prepared_name(prepared, data->name, "_ops.csv");
	struct tw_prepared_category category;
	const struct tw_manifest *manifest;
	struct tw_ops_rows rows;
	uint32_t i;
	int status;

	if (!file)
		return tw_no_memory(err);
	if (!tw_prepared_has(prepared, TW_CATEGORY_DATA, file))
		return trawl_error_set(err, TRAWL_ENODATA, "no %s", file);
	status = tw_prepared_rows(prepared, data->name, &list, &rows, err);
	if (!status && !rows.count)
		status = trawl_error_set(err, TRAWL_ENODATA, "%s has no rows", file);
	if (status)
		return status;
	manifest = tw_manifest_read(prepared, err);
	if (!manifest && err->status != TRAWL_ENODATA)
		return err->status;
	status = read_trees(data, manifest, &category, err);
	if (!status)
		status = read_whole(data, manifest, err);
	if (status)
		return status;
	if (manifest && manifest->shortest_kernel_ns != TRAWL_TIME_NONE)
		data->shortest_us = (double)manifest->shortest_kernel_ns / 1e3;
	data->rows = rows.at;
	data->row_count = (uint32_t)rows.count;
	for (i = 0; i < data->row_count; i++) {
		complete(&data->rows[i], data, &category, manifest);
		data->time_ms += data->rows[i].time_us / 1e3;
		data->calls += data->rows[i].count;
	}
	return derive(data, err);
}
