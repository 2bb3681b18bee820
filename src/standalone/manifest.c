#include "standalone/manifest.h"

#include "analysis/analysis.h"
#include "base/alloc.h"
#include "data/limits.h"
#include "store/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- members */

#define F(kind, member, key, ...) TW_FIELD(struct tw_use, kind, member, key, __VA_ARGS__)
static const struct tw_member use_fields[] = {
	F(NS, ns[TW_USE_TOTAL], "total_time_ms", 6),
	F(NS, ns[TW_USE_COMPUTATION], "computation_time_ms", 6),
	F(REAL, percent[TW_USE_COMPUTATION], "computation_time_percent", 6),
	F(NS, ns[TW_USE_COMM], "exposed_comm_time_ms", 6),
	F(REAL, percent[TW_USE_COMM], "exposed_comm_time_percent", 6),
	F(NS, ns[TW_USE_MEMCPY], "exposed_memcpy_time_ms", 6),
	F(REAL, percent[TW_USE_MEMCPY], "exposed_memcpy_time_percent", 6),
	F(NS, ns[TW_USE_IDLE], "idle_time_ms", 6),
	F(REAL, percent[TW_USE_IDLE], "idle_time_percent", 6),
};
#undef F
const struct tw_fields tw_use_fields = TW_FIELDS(struct tw_use, use_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_hardware, kind, member, key, __VA_ARGS__)
static const struct tw_member hardware_fields[] = {
	F(TEXT, platform, "platform"),
	F(NUMBER, hbm_tb_s, "peak_hbm_bw_tbs"),
	F(NAMED, tflops, "max_achievable_tflops"),
	F(NUMBER, memory_gb, "memory_gb"),
};
#undef F
const struct tw_fields tw_hardware_fields = TW_FIELDS(struct tw_hardware, hardware_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_unlinked, kind, member, key, __VA_ARGS__)
static const struct tw_member unlinked_fields[] = {
	F(COUNT, count, "count"),
	F(REAL, time_ms, "time_ms", 3),
	F(REAL, percent_of_total, "percent_of_total", 2),
	F(REAL, compute_time_ms, "compute_time_ms", 3),
	F(REAL, percent_of_compute, "percent_of_compute", 2),
};
#undef F
static const struct tw_fields unlinked = TW_FIELDS(struct tw_unlinked, unlinked_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_recorded, kind, member, key, __VA_ARGS__)
static const struct tw_member recorded_fields[] = {
	F(COUNT, operations, "operations"),
	F(COUNT, runtime_calls, "runtime_calls"),
	F(COUNT, python_functions, "python_functions"),
};
#undef F
static const struct tw_fields recorded = TW_FIELDS(struct tw_recorded, recorded_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_top_operation, kind, member, key, __VA_ARGS__)
static const struct tw_member top_fields[] = {
	F(COUNT, rank, "rank"),
	F(COUNT, uid, "uid"),
	F(PLAIN, name, "name"),
	F(PLAIN, category, "category"),
	F(PLAIN, title, "display_name"),
	F(PLAIN, input_dims, "input_dims"),
	F(COUNT, count, "count"),
	F(REAL, time_ms, "time_ms", 3),
	F(REAL, percent_of_compute, "percent_of_compute", 2),
	F(REAL, percent_of_total, "percent_of_total", 2),
};
#undef F
const struct tw_fields tw_top_operation_fields = TW_FIELDS(struct tw_top_operation, top_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_flaw, kind, member, key, __VA_ARGS__)
static const struct tw_member flaw_fields[] = {
	F(PLAIN, kind, "kind"),
	F(PLAIN, severity, "severity"),
	F(COUNT, count, "count"),
	F(PLAIN, meaning, "meaning"),
};
#undef F
const struct tw_fields tw_flaw_fields = TW_FIELDS(struct tw_flaw, flaw_fields, .inlined = true);

#define F(kind, member, key, ...) \
	TW_FIELD(struct tw_prepared_category, kind, member, key, __VA_ARGS__)
static const struct tw_member category_fields[] = {
	F(PLAIN, name, "name"),
	F(PLAIN, title, "display_name"),
	F(PLAIN, skill, "skill"),
	F(PLAIN, tier, "tier"),
	F(COUNT, ops_count, "ops_count"),
	F(TEXT, csv_file, "csv_file", .if_known = true),
	F(PLAIN, metadata_file, "metadata_file"),
	F(TEXT, data_file, "data_file", .if_known = true),
	F(REAL, area_priority, "priority", .if_known = true),
	/* Of operations only. */
	F(PLAIN, tree_data_file, "tree_data_file"),
	F(REAL, kernel_ms, "gpu_kernel_time_ms", 3),
	F(REAL, percent_of_compute, "percent_of_compute", 2),
	F(REAL, percent_of_total, "percent_of_total", 2),
	F(REAL, host_ms, "cpu_duration_ms", 3),
	F(REAL, sync_ms, "sync_time_ms", 3),
	F(REAL, sync_operations, "sync_ops_count"),
	F(FLAG, sync_bottleneck, "has_sync_bottleneck"),
}, breakdown_fields[] = {
	F(REAL, kernel_ms, "gpu_kernel_time_ms", 3),
	F(REAL, host_ms, "cpu_duration_ms", 3),
	F(REAL, sync_ms, "sync_time_ms", 3),
	F(REAL, sync_operations, "sync_ops_count"),
	F(FLAG, sync_bottleneck, "has_sync_bottleneck"),
	TW_SAYS("note",
		"Use gpu_kernel_time_ms for bottleneck prioritization. sync_time_ms indicates "
		"host-device sync overhead."),
};
#undef F

enum { OF_AREAS = 9 };

static size_t category_members(const void *category)
{
	return tw_category_is_system(category) ? OF_AREAS :
						 sizeof(category_fields) / sizeof(*category_fields);
}

const struct tw_fields tw_category_fields =
	TW_FIELDS(struct tw_prepared_category, category_fields, .members = category_members);
static const struct tw_fields breakdown = TW_FIELDS(struct tw_prepared_category, breakdown_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_manifest, kind, member, key, __VA_ARGS__)
static const struct tw_member manifest_fields[] = {
	F(TEXT, platform, "platform"),
	F(BOOL, platform_guessed, "platform_guessed"),
	F(TEXT, platform_of_device, "platform_of_device"),
	F(PLAIN, device_name, "device_name"),
	F(PLAIN, trace_path, "trace_path"),
	TW_SAYS("output_dir", "."),
	TW_SAYS("comparison_scope", "standalone"),
	F(PLAIN, view, "view"),
	F(BOOL, linked_only, "linked_only"),
	F(STRUCT, use, "gpu_utilization", .of = &tw_use_fields),
	F(POINTER, unlinked, "unlinked", .of = &unlinked),
	F(NS, shortest_kernel_ns, "shortest_kernel_us", 3),
	F(STRUCT, recorded, "recorded", .of = &recorded),
	F(BOOL, cpu_idle_critical, "cpu_idle_critical"),
	F(LIST, top, "top_operations", .of = &tw_top_operation_fields),
	F(LIST, categories, "categories", .of = &tw_category_fields),
	F(LIST, flaws, "defects", .of = &tw_flaw_fields),
	TW_SAYS("time_metric_note",
		"Use gpu_kernel_time_ms for bottleneck prioritization. cpu_duration_ms includes "
		"sync/launch overhead."),
};
#undef F
const struct tw_fields tw_manifest_fields = TW_FIELDS(struct tw_manifest, manifest_fields);

double tw_use_ms(const struct tw_use *use, enum tw_use_part part)
{
	if (use->ns[part] != TRAWL_TIME_NONE)
		return (double)use->ns[part] / 1e6;
	if (part == TW_USE_TOTAL || use->ns[TW_USE_TOTAL] == TRAWL_TIME_NONE)
		return NAN;
	return (double)use->ns[TW_USE_TOTAL] / 1e6 * use->percent[part] / 100;
}

/* ---- of a report */

static void use_timeline(struct tw_use *use, const struct trawl_table *table)
{
	static const char *const types[TW_USE_PARTS] = { "total_time", "computation_time",
							 "exposed_comm_time", "exposed_memcpy_time",
							 "idle_time" };
	size_t row, i;

	for (i = 0; i < TW_USE_PARTS; i++) {
		use->ns[i] = TRAWL_TIME_NONE;
		use->percent[i] = NAN;
		for (row = 0; table && row < trawl_table_rows(table); row++) {
			struct trawl_cell time = tw_table_cell(table, row, "time ms");

			if (!tw_table_text_is(table, row, trawl_table_find_column(table, "type"),
					      types[i]) ||
			    time.state != TRAWL_CELL_VALUE)
				continue;
			use->ns[i] = time.integer;
			/* As it is written: whoever reads it gets the same. */
			use->percent[i] = tw_as_written(
				tw_percent_of((double)time.integer, (double)use->ns[TW_USE_TOTAL]),
				6);
		}
	}
}

/* GPU work that no operation can be charged with. */
static struct tw_unlinked *find_unlinked(const struct tw_manifest *m, const struct tw_gpu *gpu,
					 struct tw_unlinked *u)
{
	tw_wide ns = 0, compute_ns = 0;
	uint64_t g;

	for (g = 0; g < gpu->count; g++) {
		int64_t length = gpu->end_ns[g] - gpu->start_ns[g];

		if (gpu->launch[g] != TW_NONE)
			continue;
		u->count++;
		ns += length;
		compute_ns += gpu->bucket[g] == TW_COMPUTE ? length : 0;
	}
	u->time_ms = (double)ns / 1e6;
	u->percent_of_total = tw_percent_of((double)ns, (double)m->use.ns[TW_USE_TOTAL]);
	u->compute_time_ms = (double)compute_ns / 1e6;
	u->percent_of_compute =
		tw_percent_of((double)compute_ns, (double)m->use.ns[TW_USE_COMPUTATION]);
	return u->count ? u : NULL;
}

/* No kernel takes less: what a call can be at best. */
static int64_t shortest_kernel(const struct tw_derived *d)
{
	int64_t shortest = INT64_MAX;
	uint64_t g;

	for (g = 0; g < d->gpu.count; g++) {
		int64_t length = d->gpu.end_ns[g] - d->gpu.start_ns[g];

		if (tw_class(d->trace, d->gpu.event[g]) == TRAWL_CLASS_KERNEL && length > 0 &&
		    length < shortest)
			shortest = length;
	}
	return shortest < INT64_MAX ? shortest : TRAWL_TIME_NONE;
}

/* What of the host was recorded: it slows the host, and tells who calls. */
static void count_recorded(struct tw_recorded *r, const struct trawl_trace *trace)
{
	size_t counts[TRAWL_CLASS_MEMSET + 1] = { 0 };
	uint64_t i;

	for (i = 0; i < trace->events.count; i++)
		counts[tw_class(trace, i)]++;
	r->operations = counts[TRAWL_CLASS_CPU_OP];
	r->runtime_calls = counts[TRAWL_CLASS_RUNTIME] + counts[TRAWL_CLASS_DRIVER];
	r->python_functions = counts[TRAWL_CLASS_PYTHON];
}

static bool find_hardware(struct tw_manifest *m, const struct tw_platform *platform,
			  struct tw_arena *arena)
{
	struct tw_hardware *h = &m->hardware;
	size_t i;

	h->tflops.at = tw_arena_array(arena, TW_PEAK_COUNT, sizeof(*h->tflops.at));
	h->hbm_tb_s = platform ? platform->mem_bw_gbps / 1000 : (double)NAN;
	h->memory_gb = platform ? platform->memory_gb : (double)NAN;
	h->platform = platform ? platform->name : NULL;
	for (i = 0; h->tflops.at && platform && i < TW_PEAK_COUNT; i++)
		if (!isnan(platform->peak_tflops[i]))
			h->tflops.at[h->tflops.count++] =
				(struct tw_named){ tw_peak_keys[i], platform->peak_tflops[i] };
	return h->tflops.at;
}

/* A text of the table, which lives as long as the report. */
static const char *cell_text(const struct trawl_table *table, size_t row, const char *header)
{
	return tw_table_cell(table, row, header).state == TRAWL_CELL_VALUE ?
		       tw_table_own_text(table, row, trawl_table_find_column(table, header)) :
		       NULL;
}

static bool list_top(struct tw_manifest *m, struct tw_arena *arena)
{
	const struct trawl_table *t = m->table;
	double total_ns = (double)m->use.ns[TW_USE_TOTAL];
	double compute_ns = (double)m->use.ns[TW_USE_COMPUTATION];
	size_t rows = t ? trawl_table_rows(t) : 0, i;

	m->top.at = tw_arena_array(arena, TW_LIMIT_TOP_OPERATIONS + 1, sizeof(*m->top.at));
	for (i = 0; m->top.at && i < rows && i < TW_LIMIT_TOP_OPERATIONS; i++) {
		const struct tw_prepared_category *category = &m->categories.at[m->of_row[i]];
		double ns = (double)tw_table_cell(t, i, "Kernel Time (µs)_sum").integer;

		m->top.at[m->top.count++] = (struct tw_top_operation){
			.rank = i + 1,
			.uid = (uint64_t)tw_table_cell(t, i, "ex_UID").integer,
			.name = cell_text(t, i, "name"),
			.category = category->name,
			.title = category->title,
			.input_dims = cell_text(t, i, "Input Dims"),
			.count = (uint64_t)tw_table_cell(t, i, "operation_count").integer,
			.time_ms = ns / 1e6,
			.percent_of_compute = tw_percent_of(ns, compute_ns),
			.percent_of_total = tw_percent_of(ns, total_ns),
		};
	}
	return m->top.at;
}

static bool list_flaws(struct tw_manifest *m, struct tw_arena *arena,
		       const struct trawl_report *report)
{
	size_t count = trawl_report_defects(report), i;

	m->flaws.at = tw_arena_array(arena, count + 1, sizeof(*m->flaws.at));
	for (i = 0; m->flaws.at && i < count; i++) {
		struct trawl_defect defect = trawl_report_defect(report, i);

		m->flaws.at[m->flaws.count++] = (struct tw_flaw){
			defect.kind,
			trawl_severity_name(defect.severity),
			defect.meaning,
			(uint64_t)defect.count,
		};
	}
	return m->flaws.at;
}

int tw_manifest_make(struct tw_manifest *m, struct tw_arena *arena,
		     const struct trawl_report *report, const struct trawl_table *table,
		     const char *trace_name, struct trawl_error *err)
{
	const struct tw_analysis_input *in = tw_report_input(report);
	const struct tw_device device = tw_device_of(in->trace);
	struct tw_unlinked *unlinked_work = tw_arena_array(arena, 1, sizeof(*unlinked_work));
	struct tw_facts facts;
	struct tw_platform platform;
	int status;

	*m = (struct tw_manifest){ .table = table,
				   .trace_path = trace_name,
				   .device_name = in->trace->device_name,
				   .view = trawl_report_view(report),
				   .linked_only = in->options->linked_only };
	m->platform = trawl_report_platform(report, &m->platform_guessed);
	if (tw_platform_of_device(&device, &platform))
		m->platform_of_device = tw_arena_copy(arena, platform.name, strlen(platform.name));
	use_timeline(&m->use, trawl_report_find(report, "gpu_timeline"));
	tw_facts_init(&facts);
	facts.value[TW_FACT_idle_percent] =
		tw_percent_of((double)m->use.ns[TW_USE_IDLE], (double)m->use.ns[TW_USE_TOTAL]);
	m->cpu_idle_critical = tw_level_is_yes("cpu_idle_critical", &facts);
	if (unlinked_work)
		m->unlinked = find_unlinked(m, &in->derived->gpu, unlinked_work);
	m->shortest_kernel_ns = shortest_kernel(in->derived);
	count_recorded(&m->recorded, in->trace);
	status = tw_manifest_sort(m, arena, err);
	if (!status && (!list_top(m, arena) || !list_flaws(m, arena, report) ||
			!find_hardware(m, tw_report_platform(report), arena) || arena->failed))
		status = tw_no_memory(err);
	return status;
}

void tw_metadata_json(struct tw_str *out, const struct tw_manifest *m,
		      const struct tw_prepared_category *category)
{
	struct tw_json json;

	tw_json_init(&json, out);
	tw_json_object(&json, TW_JSON_LINES);
	tw_fields_members(&json, &tw_hardware_fields, &m->hardware);
	tw_field_text(&json, "trace_path", m->trace_path);
	tw_field_text(&json, "output_dir", ".");
	tw_field_text(&json, "category", category->title);
	tw_field_text(&json, "category_name", category->name);
	tw_fields_object(&json, "gpu_utilization", &tw_use_fields, &m->use);
	if (tw_category_is_system(category)) {
		tw_field_text(&json, "tier", "system");
	} else {
		tw_field_text(&json, "trace_loading_policy",
			      "DO_NOT_LOAD_TRACE_use_precomputed_tree_data");
		tw_fields_object(&json, "time_breakdown", &breakdown, category);
	}
	tw_json_end(&json);
	tw_json_finish(&json);
}

/* ---- of a directory */

const struct tw_manifest *tw_manifest_read(struct tw_prepared *prepared, struct trawl_error *err)
{
	const char *folder = tw_prepared_has(prepared, "", TW_MANIFEST) ? "" : TW_CATEGORY_DATA;
	const struct tw_json_value *json;
	struct tw_manifest *m;

	if (prepared->manifest)
		return prepared->manifest;
	if (!tw_prepared_has(prepared, folder, TW_MANIFEST)) {
		trawl_error_set(err, TRAWL_ENODATA, "no %s", TW_MANIFEST);
		return NULL;
	}
	json = tw_prepared_json(prepared, folder, TW_MANIFEST, err);
	if (!json)
		return NULL;
	m = tw_arena_array(&prepared->arena, 1, sizeof(*m));
	if (!m)
		tw_no_memory(err);
	return m && !tw_fields_read(&tw_manifest_fields, m, json, TW_MANIFEST, &prepared->arena,
				    err) ?
		       m :
		       NULL;
}

int tw_metadata_read(struct tw_prepared *prepared, const char *category,
		     struct tw_manifest *manifest, const char **title, struct trawl_error *err)
{
	const char *name = tw_prepared_name(prepared, category, "_metadata.json");
	const struct tw_json_value *json, *use;
	char path[256];
	int status;

	if (!name)
		return tw_no_memory(err);
	if (!tw_prepared_has(prepared, TW_METADATA, name))
		return trawl_error_set(err, TRAWL_ENODATA, "no " TW_METADATA "/%s", name);
	json = tw_prepared_json(prepared, TW_METADATA, name, err);
	if (!json)
		return err->status;
	snprintf(path, sizeof(path), TW_METADATA "/%s", name);
	*title = tw_json_text(tw_json_get(json, "category"));
	use = tw_json_get(json, "gpu_utilization");
	status = tw_fields_read(&tw_hardware_fields, &manifest->hardware, json, path,
				&prepared->arena, err);
	return status ? status :
			tw_fields_read(&tw_use_fields, &manifest->use, use, path, &prepared->arena,
				       err);
}
