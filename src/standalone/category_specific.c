/* What is counted and told in some families of categories only. */
#include "standalone/category.h"

#include <math.h>
#include <string.h>

/* Operations of which a fact is 1. */
static const struct tally {
	const char *family, *key;
	enum tw_fact fact;
} tallies[] = {
	{ "gemm", "quantized_count", TW_FACT_quantized },
	{ "sdpa", "flash_attention_count", TW_FACT_flash },
	{ "sdpa", "paged_attention_count", TW_FACT_paged },
	{ "convolution", "depthwise_count", TW_FACT_depthwise },
	{ "norm", "batch_norm_count", TW_FACT_batch_norm },
	{ "norm", "layer_norm_count", TW_FACT_layer_norm },
	{ "reduce", "softmax_count", TW_FACT_softmax },
	{ "triton", "pointwise_count", TW_FACT_triton_pointwise },
	{ "triton", "reduction_count", TW_FACT_triton_reduction },
	{ "triton", "persistent_count", TW_FACT_triton_persistent },
	{ "moe", "quantized_count", TW_FACT_quantized },
	{ "elementwise", "copy_count", TW_FACT_copy },
	{ "elementwise", "cast_count", TW_FACT_cast },
	{ "other", "communication_count", TW_FACT_communication },
	{ "other", "graph_count", TW_FACT_graph_launch },
};

static bool is_family(const struct tw_category_data *data, const char *family)
{
	return !strcmp(data->family->family, family);
}

static uint32_t count_with(const struct tw_category_data *data, enum tw_fact fact)
{
	uint32_t i, count = 0;

	for (i = 0; i < data->row_count; i++)
		count += data->rows[i].facts.value[fact] > 0;
	return count;
}

static double time_with(const struct tw_category_data *data, enum tw_fact fact)
{
	double ms = 0;
	uint32_t i;

	for (i = 0; i < data->row_count; i++)
		if (data->rows[i].facts.value[fact] > 0)
			ms += data->rows[i].time_us / 1e3;
	return ms;
}

/* ---- of an operation */

/* A fact that is 1 or 0. */
static void write_flag(struct tw_json *json, const char *key, double value)
{
	tw_json_key(json, key);
	if (isnan(value))
		tw_json_null(json);
	else
		tw_json_bool(json, value > 0);
}

static void attention_classification(struct tw_json *json, const struct tw_category_row *row)
{
	const double *value = row->facts.value;
	double ratio = value[TW_FACT_gqa_ratio];
	const char *type = value[TW_FACT_paged] > 0		? "paged" :
			   value[TW_FACT_flash] > 0		? "flash" :
			   value[TW_FACT_unfused_attention] > 0 ? "unfused" :
			   value[TW_FACT_fused_attention] > 0	? "fused" :
								  "unknown";

	write_flag(json, "is_flash_attention", value[TW_FACT_flash]);
	write_flag(json, "is_paged_attention", value[TW_FACT_paged]);
	tw_field_bool(json, "has_perf_model", row->has_model);
	tw_field_text(json, "attention_type", type);
	tw_json_key(json, "workload_profile");
	tw_json_object(json, TW_JSON_LINES);
	tw_field_real(json, "n_q", value[TW_FACT_queries], 0);
	tw_field_real(json, "n_kv", value[TW_FACT_keys], 0);
	tw_field_real(json, "h_q", value[TW_FACT_query_heads], 0);
	tw_field_real(json, "h_kv", value[TW_FACT_key_heads], 0);
	tw_field_real(json, "ctx_ratio", value[TW_FACT_context_share], 4);
	tw_field_text(json, "workload_type", tw_level_of("workload", &row->facts)->level);
	tw_field_text(json, "phase", tw_level_of("attention_phase", &row->facts)->level);
	tw_field_text(json, "attention_pattern", isnan(ratio) ? NULL : ratio > 1 ? "GQA" : "MHA");
	tw_field_real(json, "gqa_ratio", ratio > 1 ? ratio : (double)NAN, 2);
	tw_json_end(json);
}

static const char *triton_kind(const double *value)
{
	return value[TW_FACT_triton_pointwise] > 0  ? "pointwise" :
	       value[TW_FACT_triton_reduction] > 0  ? "reduction" :
	       value[TW_FACT_triton_persistent] > 0 ? "persistent" :
						      "other";
}

static const char *other_kind(const double *value)
{
	return value[TW_FACT_communication] > 0 ? "communication" :
	       value[TW_FACT_graph_launch] > 0	? "graph" :
						  "miscellaneous";
}

void tw_category_classification(struct tw_json *json, const struct tw_category_data *data,
				const struct tw_category_row *row)
{
	const double *value = row->facts.value;

	tw_json_key(json, "classification");
	tw_json_object(json, TW_JSON_LINES);
	if (is_family(data, "gemm")) {
		write_flag(json, "is_quantized", value[TW_FACT_quantized]);
		tw_field_text(json, "gemm_type",
			      strncmp(data->name, "grouped", 7) ? "regular" : "grouped");
	} else if (is_family(data, "sdpa")) {
		attention_classification(json, row);
	} else if (is_family(data, "convolution")) {
		tw_field_real(json, "groups", value[TW_FACT_conv_groups], 0);
		write_flag(json, "is_depthwise", value[TW_FACT_depthwise]);
		tw_field_real(json, "transpose_percent", value[TW_FACT_transpose_percent], 2);
	} else if (is_family(data, "norm")) {
		write_flag(json, "is_training", value[TW_FACT_training]);
		tw_field_real(json, "kernels_per_call", value[TW_FACT_kernels_per_call], 1);
	} else if (is_family(data, "reduce")) {
		write_flag(json, "is_softmax", value[TW_FACT_softmax]);
	} else if (is_family(data, "triton")) {
		tw_field_text(json, "kernel_type", triton_kind(value));
	} else if (is_family(data, "moe")) {
		tw_field_real(json, "experts", value[TW_FACT_experts], 0);
		tw_field_real(json, "tokens_per_expert", value[TW_FACT_tokens_per_expert], 1);
		write_flag(json, "is_quantized", value[TW_FACT_quantized]);
	} else if (is_family(data, "elementwise")) {
		write_flag(json, "is_copy", value[TW_FACT_copy]);
		write_flag(json, "is_cast", value[TW_FACT_cast]);
	} else {
		tw_field_text(json, "sub_category", other_kind(value));
	}
	tw_json_end(json);
}

/* ---- of the category */

static void attention_totals(struct tw_json *json, const struct tw_category_data *data)
{
	uint32_t i, grouped = 0, decode = 0, models = 0;

	for (i = 0; i < data->row_count; i++) {
		const struct tw_category_row *row = &data->rows[i];

		models += row->has_model;
		grouped += row->facts.value[TW_FACT_gqa_ratio] > 1;
		decode += !strcmp(tw_level_of("attention_phase", &row->facts)->level, "decode");
	}
	tw_field_bool(json, "flash_attention_detected", count_with(data, TW_FACT_flash) > 0);
	tw_field_bool(json, "paged_attention_detected", count_with(data, TW_FACT_paged) > 0);
	tw_field_count(json, "has_perf_model_count", models);
	tw_field_count(json, "gqa_count", grouped);
	tw_field_count(json, "decode_count", decode);
}

static void convolution_totals(struct tw_json *json, const struct tw_category_data *data)
{
	double ms = 0;
	uint32_t i;

	for (i = 0; i < data->row_count; i++) {
		const double *value = data->rows[i].facts.value;

		if (value[TW_FACT_transpose_percent] > 0)
			ms += value[TW_FACT_transpose_percent] / 100 * value[TW_FACT_time_ms];
	}
	tw_field_count(json, "transpose_count", count_with(data, TW_FACT_transpose_percent));
	tw_field_real(json, "transpose_time_ms", ms, 3);
	tw_field_real(json, "transpose_overhead_percent",
		      data->time_ms > 0 ? 100 * ms / data->time_ms : (double)NAN, 2);
}

static void rest_totals(struct tw_json *json, const struct tw_category_data *data)
{
	uint32_t i, rest = 0;

	if (is_family(data, "triton")) {
		for (i = 0; i < data->row_count; i++)
			rest += !strcmp(triton_kind(data->rows[i].facts.value), "other");
		tw_field_count(json, "other_count", rest);
	} else if (is_family(data, "other")) {
		for (i = 0; i < data->row_count; i++)
			rest += !strcmp(other_kind(data->rows[i].facts.value), "miscellaneous");
		tw_field_count(json, "miscellaneous_count", rest);
		tw_field_real(json, "graph_time_ms", time_with(data, TW_FACT_graph_launch), 3);
		tw_field_count(json, "without_operation_count",
			       count_with(data, TW_FACT_no_operation));
		tw_field_real(json, "without_operation_time_ms",
			      time_with(data, TW_FACT_no_operation), 3);
	} else if (is_family(data, "elementwise")) {
		tw_field_real(json, "copy_time_ms", time_with(data, TW_FACT_copy), 3);
	}
}

void tw_category_specific(struct tw_json *json, const struct tw_category_data *data)
{
	uint32_t i, missing = 0;

	for (i = 0; i < data->row_count; i++)
		missing += isnan(data->rows[i].tflops);
	tw_json_key(json, "category_specific");
	tw_json_object(json, TW_JSON_LINES);
	for (i = 0; i < sizeof(tallies) / sizeof(*tallies); i++) {
		if (!is_family(data, tallies[i].family))
			continue;
		tw_field_count(json, tallies[i].key, count_with(data, tallies[i].fact));
	}
	if (is_family(data, "sdpa"))
		attention_totals(json, data);
	else if (is_family(data, "convolution"))
		convolution_totals(json, data);
	else
		rest_totals(json, data);
	tw_field_count(json, "missing_perf_model_count", missing);
	tw_field_real(json, "peak_maf_tflops", tw_category_peak(data, ""), 2);
	tw_field_real(json, "peak_hbm_bw_tbs", data->peak_tb_s, 4);
	tw_json_end(json);
}
