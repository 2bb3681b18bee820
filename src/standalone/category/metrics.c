/* The metrics of a category as JSON: keys as TraceLens' agent has them, and what findings need. */
#include "standalone/category/category.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

/* ---- members */

#define F(kind, member, key, ...) TW_FIELD(struct tw_category_row, kind, member, key, __VA_ARGS__)
#define FACT(fact) F(FACT, facts, #fact, TW_FACT_##fact)
#define TIMES                                                             \
	FACT(count), FACT(time_ms), FACT(mean_us), FACT(exposed_time_ms), \
		FACT(percent_of_category), FACT(percent_of_compute), FACT(percent_of_total)
#define ADVICE                                                               \
	F(PLAIN, advice.text[TW_ADVICE_ISSUE], "issue"),                     \
		F(PLAIN, advice.text[TW_ADVICE_ALGORITHMIC], "algorithmic"), \
		F(PLAIN, advice.text[TW_ADVICE_KERNEL], "kernel"),           \
		F(TEXTS, advice.ids, "rules", .inlined = true),              \
		F(NAMED, advice.evidence, "evidence", .inlined = true)
#define KIND                                                                           \
	F(TEXT, kind, "kind", .if_known = true), F(PLAIN, kernel_kind, "kernel_kind"), \
		F(BOOL, is_too_short, "too_short"), F(BOOL, is_host_copy, "host_copy")

static const struct tw_member efficiency_fields[] = {
	FACT(tflops_achieved),
	FACT(tb_s_achieved),
	FACT(efficiency_percent),
	F(PLAIN, bound, "bound_type"),
	FACT(flops_per_byte),
	F(TEXT, compute_spec, "compute_spec"),
	F(REAL, peak_tflops, "resolved_peak_maf", 2),
	F(REAL, facts.value[TW_FACT_peak_tb_s], "resolved_peak_hbm_bw", 4),
	F(PLAIN, warning, "warning"),
	F(BOOL, is_anomaly, "is_anomaly"),
};
static const struct tw_fields efficiency = TW_FIELDS(struct tw_category_row, efficiency_fields);

static const struct tw_member row_fields[] = {
	F(COUNT, rank, "rank"),
	F(REAL, uid, "uid"),
	F(PLAIN, name, "name"),
	TIMES,
	{ .key = "efficiency", .kind = TW_F_STRUCT, .of = &efficiency },
	F(LEVEL, assessment, "assessment"),
	F(LEVEL, type, "type"),
	F(PLAIN, dims_text, "Input Dims"),
	F(PLAIN, types_text, "Input type"),
	F(BOOL, has_model, "has_perf_model"),
	F(TEXT, params_text, "perf_params"),
	F(PLAIN, args, "args"),
	F(TEXT, distinct, "distinct", .if_known = true),
	F(REAL, cov, "cov", 3, .if_known = true),
	F(FLAG, high_variance, "high_variance", .if_known = true),
}, call_fields[] = {
	F(PLAIN, library, "library"),
	F(PLAIN, path, "launcher_path"),
	F(TEXT, kernel_names, "kernel_name"),
	F(TEXT, kernel_names_cut, "kernel_name_trunc"),
	F(TEXTS, modules, "module_chain", .inlined = true),
	F(TEXTS, calls, "call_chain", .inlined = true),
	F(BOOL, in_top_operations, "in_top_operations"),
	F(BOOL, is_slow, "is_bottleneck"),
	KIND,
}, bottleneck_fields[] = {
	F(COUNT, rank, "rank"),
	F(REAL, uid, "uid"),
	F(PLAIN, name, "operation"),
	F(PLAIN, args, "args"),
	F(TEXT, distinct, "distinct", .if_known = true),
	TIMES,
	FACT(efficiency_percent),
	F(PLAIN, bound, "bound_type"),
	FACT(flops_per_byte),
	F(LEVEL, priority, "category_priority"),
	F(BOOL, in_top_operations, "in_top_operations"),
	F(BOOL, is_modelled, "modelled"),
	KIND,
	F(TEXT, group, "group", .if_known = true),
	F(TEXT, group_key, "group_key", .if_known = true),
	ADVICE,
	F(PLAIN, main_kernel, "kernel_name_trunc"),
	F(PLAIN, library, "library"),
	F(PLAIN, path, "launcher_path"),
	F(TEXTS, modules, "module_chain", .inlined = true),
}, pattern_fields[] = {
	F(REAL, uid, "uid"),
	F(PLAIN, name, "operation"),
	F(PLAIN, args, "args"),
	FACT(time_ms),
	ADVICE,
};
#undef FACT
#undef F

#define ROWS(list) TW_FIELDS(struct tw_category_row, list)
const struct tw_fields tw_row_fields = ROWS(row_fields);
const struct tw_fields tw_bottleneck_fields = ROWS(bottleneck_fields);
static const struct tw_fields calls = ROWS(call_fields), pattern = ROWS(pattern_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_category_data, kind, member, key, __VA_ARGS__)
static const struct tw_member data_fields[] = {
	F(PLAIN, name, "category"),
	F(PLAIN, title, "display_name"),
	F(PLAIN, status, "status"),
	F(TEXT, error, "error", .if_known = true),
	TW_SAYS("comparison_scope", "standalone"),
	F(TEXT, hardware.platform, "platform"),
	F(REAL, time_ms, "total_time_ms", 3),
	F(REAL, percent_of_compute, "percent_of_compute", 2),
	F(REAL, percent_of_total, "percent_of_total", 2),
	F(REAL, calls, "operation_count"),
	F(REAL, average_efficiency_percent, "average_efficiency_percent", 2),
};
#undef F
const struct tw_fields tw_category_data_fields = TW_FIELDS(struct tw_category_data, data_fields);

/* ---- what is counted and told in some families only */

static const char *triton_kind(const struct tw_category_row *row)
{
	const double *value = row->facts.value;

	return value[TW_FACT_triton_pointwise] > 0  ? "pointwise" :
	       value[TW_FACT_triton_reduction] > 0  ? "reduction" :
	       value[TW_FACT_triton_persistent] > 0 ? "persistent" :
						      "other";
}

static const char *other_kind(const struct tw_category_row *row)
{
	const double *value = row->facts.value;

	return value[TW_FACT_communication] > 0 ? "communication" :
	       value[TW_FACT_graph_launch] > 0	? "graph" :
						  "miscellaneous";
}

static const char *attention_kind(const struct tw_category_row *row)
{
	const double *value = row->facts.value;

	return value[TW_FACT_paged] > 0		    ? "paged" :
	       value[TW_FACT_flash] > 0		    ? "flash" :
	       value[TW_FACT_unfused_attention] > 0 ? "unfused" :
	       value[TW_FACT_fused_attention] > 0   ? "fused" :
						      "unknown";
}

/* What a row has besides: a fact as number (digits) or as truth (-1). */
static const struct trait {
	const char *family, *key;
	enum tw_fact fact;
	int digits;
} traits[] = {
	{ "gemm", "is_quantized", TW_FACT_quantized, -1 },
	{ "sdpa", "is_flash_attention", TW_FACT_flash, -1 },
	{ "sdpa", "is_paged_attention", TW_FACT_paged, -1 },
	{ "convolution", "groups", TW_FACT_conv_groups, 0 },
	{ "convolution", "is_depthwise", TW_FACT_depthwise, -1 },
	{ "convolution", "transpose_percent", TW_FACT_transpose_percent, 2 },
	{ "norm", "is_training", TW_FACT_training, -1 },
	{ "norm", "kernels_per_call", TW_FACT_kernels_per_call, 1 },
	{ "reduce", "is_softmax", TW_FACT_softmax, -1 },
	{ "moe", "experts", TW_FACT_experts, 0 },
	{ "moe", "tokens_per_expert", TW_FACT_tokens_per_expert, 1 },
	{ "moe", "is_quantized", TW_FACT_quantized, -1 },
	{ "elementwise", "is_copy", TW_FACT_copy, -1 },
	{ "elementwise", "is_cast", TW_FACT_cast, -1 },
	{ "workload", "n_q", TW_FACT_queries, 0 },
	{ "workload", "n_kv", TW_FACT_keys, 0 },
	{ "workload", "h_q", TW_FACT_query_heads, 0 },
	{ "workload", "h_kv", TW_FACT_key_heads, 0 },
	{ "workload", "ctx_ratio", TW_FACT_context_share, 4 },
};

static void write_traits(struct tw_json *json, const char *family,
			 const struct tw_category_row *row)
{
	size_t i;

	for (i = 0; i < sizeof(traits) / sizeof(*traits); i++) {
		double value = row->facts.value[traits[i].fact];

		if (strcmp(traits[i].family, family))
			continue;
		if (traits[i].digits >= 0 || isnan(value))
			tw_field_real(json, traits[i].key, value, (unsigned)traits[i].digits);
		else
			tw_field_bool(json, traits[i].key, value > 0);
	}
}

static void write_attention(struct tw_json *json, const struct tw_category_row *row)
{
	double ratio = row->facts.value[TW_FACT_gqa_ratio];

	tw_field_bool(json, "has_perf_model", row->has_model);
	tw_field_text(json, "attention_type", attention_kind(row));
	tw_json_key(json, "workload_profile");
	tw_json_object(json, TW_JSON_LINES);
	write_traits(json, "workload", row);
	tw_field_text(json, "workload_type", tw_level_of("workload", &row->facts)->level);
	tw_field_text(json, "phase", tw_level_of("attention_phase", &row->facts)->level);
	tw_field_text(json, "attention_pattern", isnan(ratio) ? NULL : ratio > 1 ? "GQA" : "MHA");
	tw_field_real(json, "gqa_ratio", ratio > 1 ? ratio : (double)NAN, 2);
	tw_json_end(json);
}

static void write_classification(struct tw_json *json, const struct tw_category_data *data,
				 const struct tw_category_row *row)
{
	const char *family = data->family->family;

	tw_json_key(json, "classification");
	tw_json_object(json, TW_JSON_LINES);
	write_traits(json, family, row);
	if (!strcmp(family, "gemm"))
		tw_field_text(json, "gemm_type",
			      strncmp(data->name, "grouped", 7) ? "regular" : "grouped");
	else if (!strcmp(family, "sdpa"))
		write_attention(json, row);
	else if (!strcmp(family, "triton"))
		tw_field_text(json, "kernel_type", triton_kind(row));
	else if (!strcmp(family, "other"))
		tw_field_text(json, "sub_category", other_kind(row));
	tw_json_end(json);
}

/* ---- figures of the category */

static bool has_grouped_queries(const struct tw_category_row *row)
{
	return row->facts.value[TW_FACT_gqa_ratio] > 1;
}

static bool decodes(const struct tw_category_row *row)
{
	return !strcmp(tw_level_of("attention_phase", &row->facts)->level, "decode");
}

static bool has_model(const struct tw_category_row *row)
{
	return row->has_model;
}

static bool is_other_triton(const struct tw_category_row *row)
{
	return !strcmp(triton_kind(row), "other");
}

static bool is_miscellaneous(const struct tw_category_row *row)
{
	return !strcmp(other_kind(row), "miscellaneous");
}

static bool lacks_model(const struct tw_category_row *row)
{
	return isnan(row->tflops);
}

/* Of rows of which a fact is 1, or that are something: how many, or whether there are any; or the time. */
enum figure_kind { COUNT, ANY, TIME, TRANSPOSES, TRANSPOSES_PERCENT };

static const struct figure {
	const char *family, *key;
	enum tw_fact fact;
	enum figure_kind kind;
	bool (*is)(const struct tw_category_row *row);
} figures[] = {
	{ "gemm", "quantized_count", TW_FACT_quantized, COUNT, NULL },
	{ "sdpa", "flash_attention_count", TW_FACT_flash, COUNT, NULL },
	{ "sdpa", "paged_attention_count", TW_FACT_paged, COUNT, NULL },
	{ "sdpa", "flash_attention_detected", TW_FACT_flash, ANY, NULL },
	{ "sdpa", "paged_attention_detected", TW_FACT_paged, ANY, NULL },
	{ "sdpa", "has_perf_model_count", 0, COUNT, has_model },
	{ "sdpa", "gqa_count", 0, COUNT, has_grouped_queries },
	{ "sdpa", "decode_count", 0, COUNT, decodes },
	{ "convolution", "depthwise_count", TW_FACT_depthwise, COUNT, NULL },
	{ "convolution", "transpose_count", TW_FACT_transpose_percent, COUNT, NULL },
	{ "convolution", "transpose_time_ms", TW_FACT_transpose_percent, TRANSPOSES, NULL },
	{ "convolution", "transpose_overhead_percent", TW_FACT_transpose_percent,
	  TRANSPOSES_PERCENT, NULL },
	{ "norm", "batch_norm_count", TW_FACT_batch_norm, COUNT, NULL },
	{ "norm", "layer_norm_count", TW_FACT_layer_norm, COUNT, NULL },
	{ "reduce", "softmax_count", TW_FACT_softmax, COUNT, NULL },
	{ "triton", "pointwise_count", TW_FACT_triton_pointwise, COUNT, NULL },
	{ "triton", "reduction_count", TW_FACT_triton_reduction, COUNT, NULL },
	{ "triton", "persistent_count", TW_FACT_triton_persistent, COUNT, NULL },
	{ "triton", "other_count", 0, COUNT, is_other_triton },
	{ "moe", "quantized_count", TW_FACT_quantized, COUNT, NULL },
	{ "elementwise", "copy_count", TW_FACT_copy, COUNT, NULL },
	{ "elementwise", "cast_count", TW_FACT_cast, COUNT, NULL },
	{ "elementwise", "copy_time_ms", TW_FACT_copy, TIME, NULL },
	{ "other", "communication_count", TW_FACT_communication, COUNT, NULL },
	{ "other", "graph_count", TW_FACT_graph_launch, COUNT, NULL },
	{ "other", "miscellaneous_count", 0, COUNT, is_miscellaneous },
	{ "other", "graph_time_ms", TW_FACT_graph_launch, TIME, NULL },
	{ "other", "without_operation_count", TW_FACT_no_operation, COUNT, NULL },
	{ "other", "without_operation_time_ms", TW_FACT_no_operation, TIME, NULL },
	{ NULL, "missing_perf_model_count", 0, COUNT, lacks_model },
};

static double figure_of(const struct tw_category_data *data, const struct figure *f)
{
	double count = 0, ms = 0;
	uint32_t i;

	for (i = 0; i < data->row_count; i++) {
		const struct tw_category_row *row = &data->rows[i];
		double value = row->facts.value[f->fact];

		if (!(f->is ? f->is(row) : value > 0))
			continue;
		count++;
		ms += f->kind >= TRANSPOSES ? value / 100 * row->facts.value[TW_FACT_time_ms] :
					      row->time_us / 1e3;
	}
	if (f->kind == TRANSPOSES_PERCENT)
		return tw_percent_of(ms, data->time_ms);
	return f->kind >= TIME ? ms : count;
}

static unsigned digits_of(const struct figure *f)
{
	return f->kind == TRANSPOSES_PERCENT ? 2 : f->kind >= TIME ? 3 : 0;
}

static bool is_of(const struct figure *f, const struct tw_category_data *data)
{
	return !f->family || !strcmp(f->family, data->family->family);
}

void tw_category_figure(struct tw_str *out, const struct tw_category_data *data, const char *key)
{
	const struct figure *f = figures;
	struct tw_json json;
	double value;

	while (strcmp(f->key, key) || !is_of(f, data))
		f++;
	value = figure_of(data, f);
	tw_json_init(&json, out);
	if (isnan(value))
		tw_str_add_cstr(out, TW_MD_UNKNOWN);
	else
		tw_json_rounded(&json, value, digits_of(f));
}

static void write_specific(struct tw_json *json, const struct tw_category_data *data)
{
	size_t i;

	tw_json_key(json, "category_specific");
	tw_json_object(json, TW_JSON_LINES);
	for (i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
		double value;

		if (!is_of(&figures[i], data))
			continue;
		value = figure_of(data, &figures[i]);
		if (figures[i].kind == ANY)
			tw_field_bool(json, figures[i].key, value > 0);
		else
			tw_field_real(json, figures[i].key, value, digits_of(&figures[i]));
	}
	tw_field_real(json, "peak_maf_tflops", tw_category_peak(data, ""), 2);
	tw_field_real(json, "peak_hbm_bw_tbs", data->hardware.hbm_tb_s, 4);
	tw_json_end(json);
}

/* ---- the document */

/* Names of kernels are in memory only meanwhile. */
static void write_operation(struct tw_json *json, const struct tw_category_data *data,
			    const struct tw_category_row *row, uint32_t rank)
{
	struct tw_category_row open = *row;
	struct tw_arena arena;

	tw_arena_init(&arena, data->prepared->allocator);
	if (!tw_category_open(&open, &arena)) {
		open.rank = rank;
		open.kernel_names = tw_category_kernels(&arena, &open, 0);
		open.kernel_names_cut = tw_category_kernels(&arena, &open, TW_SHORT_KERNEL);
	}
	json->out->failed |= arena.failed || !open.kernel_names || !open.kernel_names_cut;
	tw_json_object(json, TW_JSON_LINES);
	tw_fields_members(json, &tw_row_fields, &open);
	write_classification(json, data, &open);
	tw_fields_members(json, &calls, &open);
	tw_json_end(json);
	tw_arena_release(&arena);
}

/* What rules see in operations that take their time and are no bottlenecks; in the category. */
static void write_patterns(struct tw_json *json, const struct tw_category_data *data)
{
	const struct tw_category_row whole = { .uid = NAN,
					       .facts = data->facts,
					       .advice = data->advice };
	uint32_t i;

	tw_json_key(json, "patterns");
	tw_json_array(json, TW_JSON_LINES);
	if (data->advice.patterns)
		tw_fields_object(json, NULL, &pattern, &whole);
	for (i = 0; i < data->row_count; i++)
		if (data->rows[i].advice.patterns && !data->rows[i].is_bottleneck)
			tw_fields_object(json, NULL, &pattern, &data->rows[i]);
	tw_json_end(json);
}

struct tw_left_out tw_category_left_out(const struct tw_category_data *data)
{
	struct tw_left_out left = { 0 };
	uint32_t i;

	for (i = TW_FINDINGS_ROWS; i < data->row_count; i++, left.operations++)
		left.ms += data->rows[i].time_us / 1e3;
	left.percent = tw_percent_of(left.ms, data->time_ms);
	if (data->bottleneck_count > TW_FINDINGS_BOTTLENECKS)
		left.bottlenecks = data->bottleneck_count - TW_FINDINGS_BOTTLENECKS;
	return left;
}

#define F(kind, member, key, ...) TW_FIELD(struct tw_left_out, kind, member, key, __VA_ARGS__)
static const struct tw_member left_fields[] = {
	F(COUNT, operations, "operations"),
	F(REAL, ms, "operations_time_ms", 3),
	F(REAL, percent, "operations_percent_of_category", 2),
	F(COUNT, bottlenecks, "bottlenecks"),
};
#undef F
const struct tw_fields tw_left_out_fields = TW_FIELDS(struct tw_left_out, left_fields);

int tw_category_metrics(struct tw_prepared_text *file, const struct tw_category_data *data,
			struct trawl_error *err)
{
	struct tw_left_out left = tw_category_left_out(data);
	struct tw_json json;
	uint32_t i;

	tw_json_init(&json, &file->text);
	json.drain = tw_prepared_drain;
	json.drain_context = file;
	tw_json_object(&json, TW_JSON_LINES);
	tw_fields_members(&json, &tw_category_data_fields, data);
	tw_json_key(&json, "operations");
	tw_json_array(&json, TW_JSON_LINES);
	for (i = 0; i < data->row_count; i++)
		write_operation(&json, data, &data->rows[i], i + 1);
	tw_json_end(&json);
	tw_json_key(&json, "bottlenecks");
	tw_json_array(&json, TW_JSON_LINES);
	for (i = 0; i < data->bottleneck_count; i++)
		tw_fields_object(&json, NULL, &tw_bottleneck_fields, data->bottlenecks[i]);
	tw_json_end(&json);
	write_patterns(&json, data);
	tw_fields_object(&json, "left_out", &tw_left_out_fields, &left);
	write_specific(&json, data);
	tw_fields_array(&json, "impact_estimates", &tw_estimate_fields, data->estimates.at,
			data->estimates.count);
	tw_json_key(&json, "category_findings");
	tw_json_array(&json, TW_JSON_LINES);
	for (i = 0; i < data->groups.count; i++) {
		tw_json_object(&json, TW_JSON_LINES);
		tw_fields_members(&json, &tw_estimates_fields, &data->groups.at[i]);
		tw_field_count(&json, "rank", i + 1);
		tw_json_end(&json);
	}
	tw_json_end(&json);
	tw_json_end(&json);
	tw_json_finish(&json);
	return file->text.failed ? tw_no_memory(err) : 0;
}
