#include "standalone/category.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "standalone/literal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIME_COLUMN "Kernel Time (µs)_sum"
#define EXPOSED_COLUMN "Exposed Kernel Time (µs)_sum"

/* Numbers of a row by their header. */
static const struct number_column {
	const char *header;
	size_t at; /* in struct tw_category_row */
	bool needed;
} number_columns[] = {
	{ "operation_count", offsetof(struct tw_category_row, count), true },
	{ TIME_COLUMN, offsetof(struct tw_category_row, time_us), true },
	{ "Kernel Time (µs)_mean", offsetof(struct tw_category_row, mean_us), false },
	{ "Kernel Time (µs)_std", offsetof(struct tw_category_row, std_us), false },
	{ EXPOSED_COLUMN, offsetof(struct tw_category_row, exposed_us), false },
	{ "TFLOPS/s_mean", offsetof(struct tw_category_row, tflops), false },
	{ "TB/s_mean", offsetof(struct tw_category_row, tb_s), false },
	{ "FLOPS/Byte", offsetof(struct tw_category_row, flops_per_byte), false },
	{ "Pct Roofline_mean", offsetof(struct tw_category_row, roofline_percent), false },
};

#define NUMBER_COLUMNS (sizeof(number_columns) / sizeof(*number_columns))

static const struct text_column {
	const char *header;
	size_t at;
	bool needed;
} text_columns[] = {
	{ "name", offsetof(struct tw_category_row, name), true },
	{ "ex_UID", offsetof(struct tw_category_row, uid_text), false },
	{ "Input Dims", offsetof(struct tw_category_row, dims_text), false },
	{ "Input type", offsetof(struct tw_category_row, types_text), false },
	{ "perf_params", offsetof(struct tw_category_row, params_text), false },
	{ "Compute Spec", offsetof(struct tw_category_row, compute_spec), false },
	{ "Input Strides", offsetof(struct tw_category_row, strides), false },
	{ "thread_name", offsetof(struct tw_category_row, thread), false },
	{ "kernel_details_summary", offsetof(struct tw_category_row, kernels_text), false },
};

#define TEXT_COLUMNS (sizeof(text_columns) / sizeof(*text_columns))

#define BOUND_COLUMN "Roofline Bound"
#define MODEL_COLUMN "has_perf_model"

/* Whether a column of the file is read. */
static bool is_read(const char *header)
{
	bool read = tw_same_header(header, BOUND_COLUMN) || tw_same_header(header, MODEL_COLUMN);
	size_t i;

	for (i = 0; i < NUMBER_COLUMNS && !read; i++)
		read = tw_same_header(header, number_columns[i].header);
	for (i = 0; i < TEXT_COLUMNS && !read; i++)
		read = tw_same_header(header, text_columns[i].header);
	return read;
}

/* What is read beside the operations, and where the columns are. */
struct source {
	struct tw_prepared *prepared;
	struct tw_prepared_ops ops;
	const char *file; /* its name, for messages */
	size_t number_column[NUMBER_COLUMNS], text_column[TEXT_COLUMNS];
	size_t bound_column, model_column;
	const struct tw_prepared_category *category; /* its trees */
	const struct tw_manifest *manifest;	     /* NULL: none */
};

static int find_columns(struct source *source, struct trawl_error *err)
{
	const struct trawl_table *table = source->ops.table;
	size_t none = trawl_table_columns(table), i;

	for (i = 0; i < NUMBER_COLUMNS; i++) {
		source->number_column[i] = trawl_table_find_column(table, number_columns[i].header);
		if (number_columns[i].needed && source->number_column[i] == none)
			return trawl_error_set(err, TRAWL_EFORMAT, "%s: no column '%s'",
					       source->file, number_columns[i].header);
	}
	for (i = 0; i < TEXT_COLUMNS; i++) {
		source->text_column[i] = trawl_table_find_column(table, text_columns[i].header);
		if (text_columns[i].needed && source->text_column[i] == none)
			return trawl_error_set(err, TRAWL_EFORMAT, "%s: no column '%s'",
					       source->file, text_columns[i].header);
	}
	source->bound_column = trawl_table_find_column(table, BOUND_COLUMN);
	source->model_column = trawl_table_find_column(table, MODEL_COLUMN);
	return 0;
}

static int no_number(const struct source *source, size_t line, size_t column, const char *header,
		     struct trawl_error *err)
{
	const char *text = tw_ops_text(source->prepared, &source->ops, line, column);

	return trawl_error_set(err, TRAWL_EFORMAT, "%s: row %zu: '%.40s' is no number for '%s'",
			       source->file, line + 1, text ? text : "", header);
}

/* A number, or nothing; never text, and nothing is not enough where a number is needed. */
static int read_numbers(struct tw_category_row *row, const struct source *source, size_t line,
			struct trawl_error *err)
{
	size_t i;

	for (i = 0; i < NUMBER_COLUMNS; i++) {
		size_t column = source->number_column[i];
		double value = tw_ops_number(&source->ops, line, column);

		if ((!isfinite(value) || value < 0) &&
		    (number_columns[i].needed || !tw_ops_lacks(&source->ops, line, column)))
			return no_number(source, line, column, number_columns[i].header, err);
		*(double *)((char *)row + number_columns[i].at) = value;
	}
	if (isnan(row->mean_us) && row->count > 0)
		row->mean_us = row->time_us / row->count;
	/* What is hidden is not known without the column: then all of it may be won. */
	if (!(row->exposed_us <= row->time_us))
		row->exposed_us = row->time_us;
	if (row->flops_per_byte <= 0)
		row->flops_per_byte = NAN;
	return 0;
}

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

static int read_texts(struct tw_category_row *row, const struct source *source, size_t line,
		      struct trawl_error *err)
{
	const struct tw_prepared_ops *ops = &source->ops;
	const char *bound = tw_ops_text(source->prepared, ops, line, source->bound_column), *text;
	size_t i;

	for (i = 0; i < TEXT_COLUMNS; i++) {
		text = tw_ops_text(source->prepared, ops, line, source->text_column[i]);
		if (!text)
			return tw_no_memory(err);
		*(const char **)((char *)row + text_columns[i].at) = text;
	}
	if (bound && !strncmp(bound, "COMPUTE", strlen("COMPUTE")))
		row->bound = "compute";
	else if (bound && !strncmp(bound, "MEMORY", strlen("MEMORY")))
		row->bound = "memory";
	text = tw_ops_text(source->prepared, ops, line, source->model_column);
	row->has_model = text && !strcmp(text, "True");
	find_number(row, source->category);
	return 0;
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

static double percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : (double)NAN;
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
	value[TW_FACT_percent_of_category] = percent_of(row->time_us / 1e3, data->time_ms);
	value[TW_FACT_percent_of_compute] = percent_of(row->time_us / 1e3, data->compute_ms);
	value[TW_FACT_percent_of_total] = percent_of(row->time_us / 1e3, data->total_ms);
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

/* Where the rows are, and which column has their time. */
struct times {
	const struct tw_prepared_ops *ops;
	size_t column;
};

static uint64_t time_key(const void *context, uint32_t line)
{
	const struct times *times = context;

	/* A cell may hold any number. */
	return UINT64_MAX -
	       (uint64_t)(fmin(tw_ops_number(times->ops, line, times->column), 1e15) * 1e3);
}

/* The lines of the file, the most time first. */
static int sort_lines(uint32_t *lines, const struct source *source,
		      const struct trawl_allocator *allocator)
{
	const struct times times = { &source->ops,
				     trawl_table_find_column(source->ops.table, TIME_COLUMN) };
	uint32_t i;

	for (i = 0; i < source->ops.count; i++)
		lines[i] = i;
	return tw_sort(lines, source->ops.count, time_key, &times, allocator);
}

static int read_row(struct tw_category_row *row, const struct tw_category_data *data,
		    const struct source *source, size_t line, struct trawl_error *err)
{
	*row = (struct tw_category_row){ .cov = NAN, .high_variance = NAN };
	if (read_numbers(row, source, line, err))
		return err->status;
	if (read_texts(row, source, line, err))
		return err->status;
	row->in_top_operations = is_top(row, data->name, source->manifest);
	return 0;
}

/* Sums are those of the file's order, whichever the rows have. */
static int sum_up(struct tw_category_data *data, const struct source *source,
		  struct trawl_error *err)
{
	struct tw_category_row row;
	size_t line;

	for (line = 0; line < source->ops.count; line++) {
		if (read_numbers(&row, source, line, err))
			return err->status;
		data->time_ms += row.time_us / 1e3;
		data->calls += row.count;
	}
	return 0;
}

static int read_rows(struct tw_category_data *data, const struct source *source,
		     struct trawl_error *err)
{
	struct tw_arena *arena = &data->prepared->arena;
	uint32_t *lines = tw_arena_alloc(arena, source->ops.count * sizeof(*lines));
	int status = sum_up(data, source, err);

	data->rows = tw_arena_alloc(arena, source->ops.count * sizeof(*data->rows));
	if (!data->rows || !lines)
		return tw_no_memory(err);
	if (!status && sort_lines(lines, source, data->prepared->allocator))
		return tw_no_memory(err);
	for (; !status && data->row_count < source->ops.count; data->row_count++)
		status = read_row(&data->rows[data->row_count], data, source,
				  lines[data->row_count], err);
	return status;
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
	data->percent_of_total = percent_of(data->time_ms, data->total_ms);
	data->percent_of_compute = percent_of(data->time_ms, data->compute_ms);
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
static int read_trees(struct tw_category_data *data, struct source *source,
		      struct tw_prepared_category *own, struct trawl_error *err)
{
	size_t i;

	*own = (struct tw_prepared_category){ .name = data->name };
	source->category = own;
	if (!data->prepared->manifest)
		return tw_trees_read(data->prepared, own, err);
	for (i = 0; i < source->manifest->categories.count; i++)
		if (!strcmp(source->manifest->categories.at[i].name, data->name))
			source->category = &source->manifest->categories.at[i];
	data->title = source->category->title ? source->category->title : data->title;
	return 0;
}

int tw_category_read(struct tw_category_data *data, struct trawl_error *err)
{
	struct tw_prepared *prepared = data->prepared;
	const char *file = tw_prepared_name(prepared, data->name, "_ops.csv");
	struct source source = { .prepared = prepared, .file = file };
	struct tw_prepared_category own;
	int status;

	if (!file)
		return tw_no_memory(err);
	if (!tw_prepared_has(prepared, TW_CATEGORY_DATA, file))
		return trawl_error_set(err, TRAWL_ENODATA, "no %s", file);
	status = tw_prepared_ops(prepared, data->name, is_read, &source.ops, err);
	if (!status)
		status = find_columns(&source, err);
	if (!status && !source.ops.count)
		status = trawl_error_set(err, TRAWL_ENODATA, "%s has no rows", file);
	if (status)
		return status;
	source.manifest = tw_manifest_read(prepared, err);
	if (!source.manifest && err->status != TRAWL_ENODATA)
		return err->status;
	status = read_trees(data, &source, &own, err);
	if (!status)
		status = read_whole(data, source.manifest, err);
	if (!status)
		status = read_rows(data, &source, err);
	if (source.manifest && source.manifest->shortest_kernel_ns != TRAWL_TIME_NONE)
		data->shortest_us = (double)source.manifest->shortest_kernel_ns / 1e3;
	return status ? status : derive(data, err);
}
