#include "standalone/manifest.h"

#include "analysis/analysis.h"
#include "base/alloc.h"
#include "data/limits.h"
#include "findings/findings.h"
#include "json/writer.h"
#include "standalone/json_fields.h"
#include "standalone/prepared.h"
#include "store/trace.h"
#include "table/table.h"

#include <math.h>
#include <string.h>

const struct tw_category_rows tw_cpu_idle_area = {
	.name = "cpu_idle",
	.display_name = "CPU/Idle Analysis",
	.skill = "cpu-idle-analysis",
};

const struct tw_category_rows tw_multi_kernel_area = {
	.name = "multi_kernel",
	.display_name = "Multi-Kernel Issues",
	.skill = "multi-kernel-analysis",
};

static bool is_system(const struct tw_category_rows *category)
{
	return category == &tw_cpu_idle_area || category == &tw_multi_kernel_area;
}

/* Time of a row of gpu_timeline; missing when the trace has no GPU work. */
static struct trawl_cell timeline_ms(const struct trawl_report *report, const char *type)
{
	const struct trawl_table *table = trawl_report_find(report, "gpu_timeline");
	struct trawl_cell missing = { .state = TRAWL_CELL_MISSING };
	size_t row;

	for (row = 0; table && row < trawl_table_rows(table); row++) {
		struct trawl_cell cell = tw_table_cell(table, row, "type");

		if (cell.text_len == strlen(type) && !memcmp(cell.text, type, cell.text_len))
			return tw_table_cell(table, row, "time ms");
	}
	return missing;
}

int tw_manifest_init(struct tw_manifest *manifest, struct tw_arena *arena,
		     const struct trawl_report *report, const char *trace_name,
		     struct trawl_error *err)
{
	*manifest = (struct tw_manifest){ .report = report, .trace_name = trace_name };
	manifest->total_ns = timeline_ms(report, "total_time").integer;
	manifest->compute_ns = timeline_ms(report, "computation_time").integer;
	return tw_categories_of_report(&manifest->categories, arena, report, err);
}

/* ---- values */

static void add_percent(struct tw_json *json, const char *key, double part, double whole,
			unsigned digits)
{
	tw_json_key(json, key);
	tw_json_rounded(json, whole > 0 ? 100 * part / whole : (double)NAN, digits);
}

static void add_ms(struct tw_json *json, const char *key, tw_wide ns)
{
	tw_json_key(json, key);
	tw_json_rounded(json, (double)ns / 1e6, 3);
}

static void add_real(struct tw_json *json, const char *key, double value)
{
	tw_json_key(json, key);
	tw_json_real(json, value);
}

/* A part of the time line, exact, and its share. */
static void add_timeline(struct tw_json *json, const struct tw_manifest *m, const char *type)
{
	struct trawl_cell time = timeline_ms(m->report, type);
	char key[64] = "";

	strncat(key, type, sizeof(key) - sizeof("_percent"));
	strncat(key, "_ms", 4);
	tw_json_key(json, key);
	if (time.state == TRAWL_CELL_VALUE)
		tw_json_decimal(json, time.integer, 6);
	else
		tw_json_null(json);
	if (!strcmp(type, "total_time"))
		return;
	memcpy(key + strlen(type), "_percent", sizeof("_percent"));
	add_percent(json, key, time.state == TRAWL_CELL_VALUE ? (double)time.integer : (double)NAN,
		    (double)m->total_ns, 6);
}

static void add_utilization(struct tw_json *json, const struct tw_manifest *m)
{
	static const char *const types[] = { "total_time", "computation_time", "exposed_comm_time",
					     "exposed_memcpy_time", "idle_time" };
	size_t i;

	tw_json_key(json, "gpu_utilization");
	tw_json_object(json, TW_JSON_LINES);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		add_timeline(json, m, types[i]);
	tw_json_end(json);
}

static bool idle_is_critical(const struct tw_manifest *m)
{
	struct trawl_cell idle = timeline_ms(m->report, "idle_time");
	struct tw_facts facts;

	tw_facts_init(&facts);
	if (idle.state == TRAWL_CELL_VALUE && m->total_ns > 0)
		facts.value[TW_FACT_idle_percent] =
			100 * (double)idle.integer / (double)m->total_ns;
	return tw_level_is_yes("cpu_idle_critical", &facts);
}

/* ---- the manifest */

/* GPU work that no operation can be charged with. */
static void add_unlinked(struct tw_json *json, const struct tw_manifest *m)
{
	const struct tw_gpu *gpu = &tw_report_input(m->report)->derived->gpu;
	tw_wide ns = 0, compute_ns = 0;
	size_t count = 0;
	uint64_t g;

	for (g = 0; g < gpu->count; g++) {
		int64_t length = gpu->end_ns[g] - gpu->start_ns[g];

		if (gpu->launch[g] != TW_NONE)
			continue;
		count++;
		ns += length;
		compute_ns += gpu->bucket[g] == TW_COMPUTE ? length : 0;
	}
	tw_json_key(json, "unlinked");
	if (!count) {
		tw_json_null(json);
		return;
	}
	tw_json_object(json, TW_JSON_LINES);
	tw_field_count(json, "count", count);
	add_ms(json, "time_ms", ns);
	add_percent(json, "percent_of_total", (double)ns, (double)m->total_ns, 2);
	add_ms(json, "compute_time_ms", compute_ns);
	add_percent(json, "percent_of_compute", (double)compute_ns, (double)m->compute_ns, 2);
	tw_json_end(json);
}

/* No kernel takes less: what a call can be at best. */
static void add_shortest(struct tw_json *json, const struct tw_manifest *m)
{
	const struct tw_derived *d = tw_report_input(m->report)->derived;
	int64_t shortest = INT64_MAX;
	uint64_t g;

	for (g = 0; g < d->gpu.count; g++) {
		int64_t length = d->gpu.end_ns[g] - d->gpu.start_ns[g];

		if (tw_class(d->trace, d->gpu.event[g]) == TRAWL_CLASS_KERNEL && length > 0 &&
		    length < shortest)
			shortest = length;
	}
	tw_json_key(json, "shortest_kernel_us");
	if (shortest < INT64_MAX)
		tw_json_decimal(json, shortest, 3);
	else
		tw_json_null(json);
}

/* What of the host was recorded: it slows the host, and tells who calls. */
static void add_recorded(struct tw_json *json, const struct tw_manifest *m)
{
	const struct trawl_trace *trace = tw_report_input(m->report)->trace;
	size_t counts[TRAWL_CLASS_MEMSET + 1] = { 0 };
	uint64_t i;

	for (i = 0; i < trace->events.count; i++)
		counts[tw_class(trace, i)]++;
	tw_json_key(json, "recorded");
	tw_json_object(json, TW_JSON_LINES);
	tw_field_count(json, "operations", counts[TRAWL_CLASS_CPU_OP]);
	tw_field_count(json, "runtime_calls",
		       counts[TRAWL_CLASS_RUNTIME] + counts[TRAWL_CLASS_DRIVER]);
	tw_field_count(json, "python_functions", counts[TRAWL_CLASS_PYTHON]);
	tw_json_end(json);
}

/* What the device's name says, whatever the user named. */
static void add_platform_of_device(struct tw_json *json, const struct trawl_trace *trace)
{
	const struct tw_device device = tw_device_of(trace);
	struct tw_platform platform;

	tw_field_text(json, "platform_of_device",
		      tw_platform_of_device(&device, &platform) ? platform.name : NULL);
}

static void add_cell_text(struct tw_json *json, const char *key, struct trawl_cell cell)
{
	tw_json_key(json, key);
	if (cell.state == TRAWL_CELL_VALUE)
		tw_json_string(json, cell.text, cell.text_len);
	else
		tw_json_null(json);
}

static void add_top_operations(struct tw_json *json, const struct tw_manifest *m)
{
	const struct trawl_table *table = m->categories.table;
	size_t rows = table ? trawl_table_rows(table) : 0, i;

	tw_json_key(json, "top_operations");
	tw_json_array(json, TW_JSON_LINES);
	for (i = 0; i < rows && i < TW_LIMIT_TOP_OPERATIONS; i++) {
		const struct tw_category_rows *category =
			&m->categories.items[m->categories.of_row[i]];
		int64_t ns = tw_table_cell(table, i, "Kernel Time (µs)_sum").integer;

		tw_json_object(json, TW_JSON_LINES);
		tw_field_count(json, "rank", i + 1);
		tw_field_count(json, "uid", (size_t)tw_table_cell(table, i, "ex_UID").integer);
		add_cell_text(json, "name", tw_table_cell(table, i, "name"));
		tw_field_text(json, "category", category->name);
		tw_field_text(json, "display_name", category->display_name);
		add_cell_text(json, "input_dims", tw_table_cell(table, i, "Input Dims"));
		tw_field_count(json, "count",
			       (size_t)tw_table_cell(table, i, "operation_count").integer);
		add_ms(json, "time_ms", ns);
		add_percent(json, "percent_of_compute", (double)ns, (double)m->compute_ns, 2);
		add_percent(json, "percent_of_total", (double)ns, (double)m->total_ns, 2);
		tw_json_end(json);
	}
	tw_json_end(json);
}

static void add_file(struct tw_json *json, const char *key, const char *folder, const char *name,
		     const char *ending)
{
	struct tw_str path;

	tw_str_init(&path, trawl_allocator_default());
	tw_str_addf(&path, "%s/%s%s", folder, name, ending);
	tw_field_text(json, key, path.failed ? "" : path.ptr);
	json->out->failed |= path.failed;
	tw_str_release(&path);
}

static void add_sync(struct tw_json *json, const struct tw_category_rows *category)
{
	add_ms(json, "cpu_duration_ms", category->host_ns);
	add_ms(json, "sync_time_ms", category->sync_ns);
	tw_field_count(json, "sync_ops_count", category->sync_operations);
	tw_json_key(json, "has_sync_bottleneck");
	tw_json_bool(json, category->sync_bottleneck);
}

static void add_category(struct tw_json *json, const struct tw_manifest *m,
			 const struct tw_category_rows *category)
{
	bool system = is_system(category);

	tw_json_object(json, TW_JSON_LINES);
	tw_field_text(json, "name", category->name);
	tw_field_text(json, "display_name", category->display_name);
	tw_field_text(json, "skill", category->skill);
	tw_field_text(json, "tier", system ? "system" : "compute_kernel");
	tw_field_count(json, "ops_count", category->count);
	if (category != &tw_multi_kernel_area)
		add_file(json, "csv_file", TW_CATEGORY_DATA, category->name, "_ops.csv");
	add_file(json, "metadata_file", TW_METADATA, category->name, "_metadata.json");
	if (system) {
		add_file(json, "data_file", TW_CATEGORY_DATA, category->name, "_data.json");
		if (category == &tw_cpu_idle_area)
			tw_field_count(json, "priority", 0);
	} else {
		add_file(json, "tree_data_file", TW_CATEGORY_DATA, category->name,
			 "_tree_data.json");
		add_ms(json, "gpu_kernel_time_ms", category->kernel_ns);
		add_percent(json, "percent_of_compute", (double)category->kernel_ns,
			    (double)m->compute_ns, 2);
		add_percent(json, "percent_of_total", (double)category->kernel_ns,
			    (double)m->total_ns, 2);
		add_sync(json, category);
	}
	tw_json_end(json);
}

static void add_categories(struct tw_json *json, const struct tw_manifest *m)
{
	size_t i;

	tw_json_key(json, "categories");
	tw_json_array(json, TW_JSON_LINES);
	add_category(json, m, &tw_cpu_idle_area);
	for (i = 0; i < m->categories.count; i++)
		add_category(json, m, &m->categories.items[i]);
	add_category(json, m, &tw_multi_kernel_area);
	tw_json_end(json);
}

static void add_defects(struct tw_json *json, const struct trawl_report *report)
{
	size_t count = trawl_report_defects(report), i;

	tw_json_key(json, "defects");
	tw_json_array(json, TW_JSON_LINES);
	for (i = 0; i < count; i++) {
		struct trawl_defect defect = trawl_report_defect(report, i);

		tw_json_object(json, TW_JSON_INLINE);
		tw_field_text(json, "kind", defect.kind);
		tw_field_text(json, "severity", trawl_severity_name(defect.severity));
		tw_field_count(json, "count", (size_t)defect.count);
		tw_field_text(json, "meaning", defect.meaning);
		tw_json_end(json);
	}
	tw_json_end(json);
}

void tw_manifest_json(struct tw_str *out, const struct tw_manifest *m)
{
	const struct trawl_trace *trace = tw_report_input(m->report)->trace;
	struct tw_json json;
	bool guessed;

	tw_json_init(&json, out);
	tw_json_object(&json, TW_JSON_LINES);
	tw_field_text(&json, "platform", trawl_report_platform(m->report, &guessed));
	tw_json_key(&json, "platform_guessed");
	tw_json_bool(&json, guessed);
	add_platform_of_device(&json, trace);
	tw_field_text(&json, "device_name", trace->device_name);
	tw_field_text(&json, "trace_path", m->trace_name);
	tw_field_text(&json, "output_dir", ".");
	tw_field_text(&json, "comparison_scope", "standalone");
	tw_field_text(&json, "view", trawl_report_view(m->report));
	tw_json_key(&json, "linked_only");
	tw_json_bool(&json, tw_report_input(m->report)->options->linked_only);
	add_utilization(&json, m);
	add_unlinked(&json, m);
	add_shortest(&json, m);
	add_recorded(&json, m);
	tw_json_key(&json, "cpu_idle_critical");
	tw_json_bool(&json, idle_is_critical(m));
	add_top_operations(&json, m);
	add_categories(&json, m);
	add_defects(&json, m->report);
	tw_field_text(
		&json, "time_metric_note",
		"Use gpu_kernel_time_ms for bottleneck prioritization. cpu_duration_ms includes "
		"sync/launch overhead.");
	tw_json_end(&json);
	tw_json_finish(&json);
}

/* ---- metadata */

static void add_platform(struct tw_json *json, const struct tw_manifest *m)
{
	const struct tw_platform *platform = tw_report_platform(m->report);
	size_t i;

	tw_field_text(json, "platform", platform ? platform->name : NULL);
	add_real(json, "peak_hbm_bw_tbs", platform ? platform->mem_bw_gbps / 1000 : (double)NAN);
	tw_json_key(json, "max_achievable_tflops");
	tw_json_object(json, TW_JSON_LINES);
	for (i = 0; platform && i < TW_PEAK_COUNT; i++)
		if (!isnan(platform->peak_tflops[i]))
			add_real(json, tw_peak_keys[i], platform->peak_tflops[i]);
	tw_json_end(json);
	add_real(json, "memory_gb", platform ? platform->memory_gb : (double)NAN);
}

static void add_breakdown(struct tw_json *json, const struct tw_category_rows *category)
{
	tw_field_text(json, "trace_loading_policy", "DO_NOT_LOAD_TRACE_use_precomputed_tree_data");
	tw_json_key(json, "time_breakdown");
	tw_json_object(json, TW_JSON_LINES);
	add_ms(json, "gpu_kernel_time_ms", category->kernel_ns);
	add_sync(json, category);
	tw_field_text(
		json, "note",
		"Use gpu_kernel_time_ms for bottleneck prioritization. sync_time_ms indicates "
		"host-device sync overhead.");
	tw_json_end(json);
}

void tw_metadata_json(struct tw_str *out, const struct tw_manifest *m,
		      const struct tw_category_rows *category)
{
	struct tw_json json;

	tw_json_init(&json, out);
	tw_json_object(&json, TW_JSON_LINES);
	add_platform(&json, m);
	tw_field_text(&json, "trace_path", m->trace_name);
	tw_field_text(&json, "output_dir", ".");
	tw_field_text(&json, "category", category->display_name);
	tw_field_text(&json, "category_name", category->name);
	add_utilization(&json, m);
	if (is_system(category))
		tw_field_text(&json, "tier", "system");
	else
		add_breakdown(&json, category);
	tw_json_end(&json);
	tw_json_finish(&json);
}
