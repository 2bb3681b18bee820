/* The metrics of a category as JSON: keys as TraceLens' agent has them, and what findings need. */
#include "standalone/category.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where a name is cut in kernel_name_trunc. */
#define SHORT_NAME 75
/* Of the modules around an operation, where no function of Python is known. */
#define PATH_MODULES 3

static void write_fact(struct tw_json *json, const struct tw_category_row *row, const char *key,
		       enum tw_fact fact)
{
	tw_field_real(json, key, row->facts.value[fact], tw_facts_known[fact].digits);
}

void tw_category_uid(struct tw_json *json, const struct tw_category_row *row)
{
	size_t digits = strspn(row->uid, "0123456789");

	if (!digits || row->uid[digits] || digits > 15)
		tw_json_null(json);
	else
		tw_json_integer(json, strtoll(row->uid, NULL, 10));
}

/* ---- where an operation is called from, as its tree data say */

static const char *frame_name(const struct tw_json_value *frame)
{
	return tw_json_text(tw_json_get(frame, "name"));
}

static bool frame_is(const struct tw_json_value *frame, const char *type)
{
	return !strcmp(tw_json_text(tw_json_get(frame, "type")), type);
}

static bool is_infrastructure(const struct tw_json_value *frame)
{
	return tw_operation_has(TW_TRAIT_INFRASTRUCTURE, frame_name(frame));
}

/* Without what every module's name begins with. */
static const char *module_name(const char *name)
{
	static const char prefix[] = "nn.Module: ";

	return strncmp(name, prefix, sizeof(prefix) - 1) ? name : name + sizeof(prefix) - 1;
}

/* The outermost first; with type NULL all frames that say something. */
static void write_chain(struct tw_json *json, const struct tw_json_value *chain, const char *type)
{
	const struct tw_json_value *frame, *behind = NULL;

	tw_json_array(json, TW_JSON_INLINE);
	while (behind != chain->first) {
		for (frame = chain->first; frame && frame->next != behind; frame = frame->next)
			;
		if (!frame)
			break;
		if (type ? frame_is(frame, type) : !is_infrastructure(frame))
			tw_json_cstr(json,
				     type ? module_name(frame_name(frame)) : frame_name(frame));
		behind = frame;
	}
	tw_json_end(json);
}

/* The function that called it, else the modules around it, outermost first; else null. */
static void write_path(struct tw_json *json, const struct tw_json_value *chain)
{
	const struct tw_json_value *frame, *modules[PATH_MODULES];
	unsigned count = 0;
	struct tw_str path;

	tw_json_key(json, "launcher_path");
	for (frame = chain->first; frame; frame = frame->next) {
		if (frame_is(frame, "python") && !is_infrastructure(frame)) {
			tw_json_cstr(json, frame_name(frame));
			return;
		}
		if (frame_is(frame, "module") && count < PATH_MODULES)
			modules[count++] = frame;
	}
	tw_str_init(&path, json->out->allocator);
	while (count--) {
		tw_str_add_cstr(&path, module_name(frame_name(modules[count])));
		if (count)
			tw_str_add_cstr(&path, " > ");
	}
	tw_json_cstr(json, path.len ? path.ptr : NULL);
	json->out->failed |= path.failed;
	tw_str_release(&path);
}

/* ---- operations */

static void write_efficiency(struct tw_json *json, const struct tw_category_data *data,
			     const struct tw_category_row *row)
{
	tw_json_key(json, "efficiency");
	tw_json_object(json, TW_JSON_LINES);
	write_fact(json, row, "tflops_achieved", TW_FACT_tflops_achieved);
	write_fact(json, row, "tb_s_achieved", TW_FACT_tb_s_achieved);
	write_fact(json, row, "efficiency_percent", TW_FACT_efficiency_percent);
	tw_field_text(json, "bound_type", row->bound);
	write_fact(json, row, "flops_per_byte", TW_FACT_flops_per_byte);
	tw_field_text(json, "compute_spec", *row->compute_spec ? row->compute_spec : NULL);
	tw_field_real(json, "resolved_peak_maf", row->peak_tflops, 2);
	tw_field_real(json, "resolved_peak_hbm_bw", data->peak_tb_s, 4);
	tw_field_text(json, "warning", row->warning);
	tw_field_bool(json, "is_anomaly", row->is_anomaly);
	tw_json_end(json);
}

static void write_times(struct tw_json *json, const struct tw_category_row *row)
{
	write_fact(json, row, "count", TW_FACT_count);
	write_fact(json, row, "time_ms", TW_FACT_time_ms);
	write_fact(json, row, "mean_us", TW_FACT_mean_us);
	write_fact(json, row, "exposed_time_ms", TW_FACT_exposed_time_ms);
	write_fact(json, row, "percent_of_category", TW_FACT_percent_of_category);
	write_fact(json, row, "percent_of_compute", TW_FACT_percent_of_compute);
	write_fact(json, row, "percent_of_total", TW_FACT_percent_of_total);
}

static void write_kernels(struct tw_json *json, const struct tw_category_row *row,
			  struct tw_arena *arena)
{
	const char *whole = tw_category_kernels(arena, row, 0);
	const char *brief = tw_category_kernels(arena, row, SHORT_NAME);

	if (!whole || !brief) {
		json->out->failed = true;
		return;
	}
	tw_field_text(json, "kernel_name", *whole ? whole : NULL);
	tw_field_text(json, "kernel_name_trunc", *brief ? brief : NULL);
}

/* What tells it from a row of the same name and arguments. */
static void write_distinct(struct tw_json *json, const struct tw_category_row *row)
{
	struct tw_str text;

	if (!row->distinct)
		return;
	tw_str_init(&text, json->out->allocator);
	tw_str_addf(&text, "%s %s", row->distinct == row->thread ? "thread" : "strides",
		    row->distinct);
	tw_field_text(json, "distinct", text.ptr);
	json->out->failed |= text.failed;
	tw_str_release(&text);
}

/* What keeps its efficiency from meaning anything. */
static void write_kind(struct tw_json *json, const struct tw_category_row *row)
{
	if (!row->is_visible)
		tw_field_text(json, "kind", "not_visible");
	tw_field_text(json, "kernel_kind", tw_category_kernel_kind(row));
	tw_field_bool(json, "too_short", row->is_too_short);
	tw_field_bool(json, "host_copy", row->is_host_copy);
}

static void write_operation(struct tw_json *json, const struct tw_category_data *data,
			    const struct tw_category_row *row, unsigned rank,
			    struct tw_arena *arena)
{
	const struct tw_json_value *chain = tw_json_get(row->tree, "parent_chain");

	tw_json_object(json, TW_JSON_LINES);
	tw_field_count(json, "rank", rank);
	tw_json_key(json, "uid");
	tw_category_uid(json, row);
	tw_field_text(json, "name", row->name);
	write_times(json, row);
	write_efficiency(json, data, row);
	tw_field_text(json, "assessment", tw_level_of("assessment", &row->facts)->level);
	tw_field_text(json, "type", tw_level_of("bound", &row->facts)->level);
	tw_field_text(json, "Input Dims", row->dims_text);
	tw_field_text(json, "Input type", row->types_text);
	tw_field_bool(json, "has_perf_model", row->has_model);
	tw_field_text(json, "perf_params", *row->params_text ? row->params_text : NULL);
	tw_field_text(json, "args", row->args);
	write_distinct(json, row);
	if (tw_level_is_yes("variance_told", &row->facts)) {
		write_fact(json, row, "cov", TW_FACT_cov);
		tw_field_bool(json, "high_variance", tw_level_is_yes("high_variance", &row->facts));
	}
	tw_category_classification(json, data, row);
	tw_field_text(json, "library", row->library);
	write_path(json, chain);
	write_kernels(json, row, arena);
	tw_json_key(json, "module_chain");
	write_chain(json, chain, "module");
	tw_json_key(json, "call_chain");
	write_chain(json, chain, NULL);
	tw_field_bool(json, "in_top_operations", row->in_top_operations);
	tw_field_bool(json, "is_bottleneck", row->is_bottleneck && !row->is_unmodelled);
	write_kind(json, row);
	tw_json_end(json);
}

/* Writes of a row what needs its literals, which are in memory only meanwhile. */
static void write_open(struct tw_json *json, const struct tw_category_data *data,
		       const struct tw_category_row *row, unsigned rank,
		       void (*write)(struct tw_json *json, const struct tw_category_data *data,
				     const struct tw_category_row *row, unsigned rank,
				     struct tw_arena *arena))
{
	struct tw_category_row open = *row;
	struct tw_arena arena;

	tw_arena_init(&arena, data->prepared->allocator);
	if (tw_category_open(&open, &arena))
		json->out->failed = true;
	else
		write(json, data, &open, rank, &arena);
	tw_arena_release(&arena);
}

/* ---- bottlenecks and patterns */

static void write_advice(struct tw_json *json, const struct tw_category_row *row)
{
	tw_json_key(json, "issue");
	tw_advice_string(json, &row->advice, TW_ADVICE_ISSUE, &row->facts);
	tw_json_key(json, "algorithmic");
	tw_advice_string(json, &row->advice, TW_ADVICE_ALGORITHMIC, &row->facts);
	tw_json_key(json, "kernel");
	tw_advice_string(json, &row->advice, TW_ADVICE_KERNEL, &row->facts);
	tw_advice_evidence(json, &row->advice, &row->facts);
}

/* Operations of one attention in pieces are one finding: the module in which they are tells which. */
static void write_group(struct tw_json *json, const struct tw_category_row *row)
{
	const struct tw_json_value *frame = tw_json_get(row->tree, "parent_chain")->first;

	if (!(row->facts.value[TW_FACT_unfused_attention] > 0))
		return;
	while (frame && !frame_is(frame, "module"))
		frame = frame->next;
	tw_field_text(json, "group", "unfused_attention");
	tw_field_text(json, "group_key", frame ? module_name(frame_name(frame)) : NULL);
}

static void write_bottleneck(struct tw_json *json, const struct tw_category_data *data,
			     const struct tw_category_row *row, unsigned rank,
			     struct tw_arena *arena)
{
	const char *kernel = tw_category_largest_kernel(arena, row, SHORT_NAME);
	const struct tw_json_value *chain = tw_json_get(row->tree, "parent_chain");

	(void)data;
	tw_json_object(json, TW_JSON_LINES);
	tw_field_count(json, "rank", rank);
	tw_json_key(json, "uid");
	tw_category_uid(json, row);
	tw_field_text(json, "operation", row->name);
	tw_field_text(json, "args", row->args);
	write_distinct(json, row);
	write_times(json, row);
	write_fact(json, row, "efficiency_percent", TW_FACT_efficiency_percent);
	tw_field_text(json, "bound_type", row->bound);
	write_fact(json, row, "flops_per_byte", TW_FACT_flops_per_byte);
	tw_field_text(json, "category_priority", row->priority->level);
	tw_field_bool(json, "in_top_operations", row->in_top_operations);
	tw_field_bool(json, "modelled", !row->is_unmodelled);
	write_kind(json, row);
	write_group(json, row);
	write_advice(json, row);
	if (row->kernels->first && !kernel)
		json->out->failed = true;
	tw_field_text(json, "kernel_name_trunc", kernel);
	tw_field_text(json, "library", row->library);
	write_path(json, chain);
	tw_json_key(json, "module_chain");
	write_chain(json, chain, "module");
	tw_json_end(json);
}

/* By priority, the most time first within one. */
static void write_bottlenecks(struct tw_json *json, const struct tw_category_data *data)
{
	static const char ladder[] = "category_priority";
	unsigned level, rank = 0, last = tw_level_rank(ladder, "Low");
	uint32_t i;

	tw_json_key(json, "bottlenecks");
	tw_json_array(json, TW_JSON_LINES);
	for (level = 0; level <= last; level++) {
		for (i = 0; i < data->row_count; i++) {
			const struct tw_category_row *row = &data->rows[i];

			if (row->is_bottleneck &&
			    tw_level_rank(ladder, row->priority->level) == level)
				write_open(json, data, row, ++rank, write_bottleneck);
		}
	}
	tw_json_end(json);
}

/* What rules see in operations that take their time and are no bottlenecks; in the category. */
static void write_patterns(struct tw_json *json, const struct tw_category_data *data)
{
	struct tw_category_row whole = { .facts = data->facts, .uid = "" };
	const struct tw_rule *rule = NULL;
	uint32_t i;

	tw_json_key(json, "patterns");
	tw_json_array(json, TW_JSON_LINES);
	while ((rule = tw_rule_next("any_overall", &whole.facts, rule)))
		whole.advice.rules[whole.advice.count++] = rule;
	whole.advice.patterns = whole.advice.count;
	for (i = 0; i <= data->row_count; i++) {
		struct tw_category_row *row = i ? &data->rows[i - 1] : &whole;

		if (!row->advice.patterns || row->is_bottleneck || row->is_host_copy ||
		    (i && !tw_level_is_yes("bottleneck_time", &row->facts)))
			continue;
		/* What is achieved stands among the operations. */
		row->advice.achieved = NULL;
		tw_json_object(json, TW_JSON_LINES);
		tw_json_key(json, "uid");
		tw_category_uid(json, row);
		tw_field_text(json, "operation", row->name);
		tw_field_text(json, "args", row->args);
		write_fact(json, row, "time_ms", TW_FACT_time_ms);
		write_advice(json, row);
		tw_json_end(json);
	}
	tw_json_end(json);
}

/* What the findings have no room for. */
static void write_left_out(struct tw_json *json, const struct tw_category_data *data)
{
	uint32_t i, bottlenecks = 0, operations = 0;
	double ms = 0;

	for (i = 0; i < data->row_count; i++) {
		bottlenecks += data->rows[i].is_bottleneck;
		if (i < TW_FINDINGS_ROWS)
			continue;
		operations++;
		ms += data->rows[i].time_us / 1e3;
	}
	tw_json_key(json, "left_out");
	tw_json_object(json, TW_JSON_LINES);
	tw_field_count(json, "operations", operations);
	tw_field_real(json, "operations_time_ms", ms, 3);
	tw_field_real(json, "operations_percent_of_category",
		      data->time_ms > 0 ? 100 * ms / data->time_ms : (double)NAN, 2);
	tw_field_count(
		json, "bottlenecks",
		bottlenecks > TW_FINDINGS_BOTTLENECKS ? bottlenecks - TW_FINDINGS_BOTTLENECKS : 0);
	tw_json_end(json);
}

int tw_category_metrics(struct tw_prepared_text *file, const struct tw_category_data *data,
			struct trawl_error *err)
{
	double of_total = data->total_ms > 0 ? 100 * data->time_ms / data->total_ms : NAN;
	double of_compute = data->compute_ms > 0 ? 100 * data->time_ms / data->compute_ms : NAN;
	struct tw_json json;
	int status;
	uint32_t i;

	tw_json_init(&json, &file->text);
	json.drain = tw_prepared_drain;
	json.drain_context = file;
	tw_json_object(&json, TW_JSON_LINES);
	tw_field_text(&json, "category", data->name);
	tw_field_text(&json, "display_name", data->display_name);
	tw_field_text(&json, "status", "OK");
	tw_field_text(&json, "comparison_scope", "standalone");
	tw_field_text(&json, "platform", data->platform);
	tw_field_real(&json, "total_time_ms", data->time_ms, 3);
	tw_field_real(&json, "percent_of_compute", of_compute, 2);
	tw_field_real(&json, "percent_of_total", of_total, 2);
	tw_field_real(&json, "operation_count", data->calls, 0);
	tw_field_real(&json, "average_efficiency_percent", data->average_efficiency_percent, 2);
	tw_json_key(&json, "operations");
	tw_json_array(&json, TW_JSON_LINES);
	for (i = 0; i < data->row_count; i++)
		write_open(&json, data, &data->rows[i], i + 1, write_operation);
	tw_json_end(&json);
	write_bottlenecks(&json, data);
	write_patterns(&json, data);
	write_left_out(&json, data);
	tw_category_specific(&json, data);
	status = tw_category_impact(&json, data, err);
	if (status)
		return status;
	tw_json_end(&json);
	tw_json_finish(&json);
	return file->text.failed ? tw_no_memory(err) : 0;
}
