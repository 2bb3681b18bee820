/* Operations that data/op_models.tsv gives a model have it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "model/model.h"

/* Each of these models, by each name of an operation that has it. */
static void models_are_found(void **state)
{
	static const char *const names[] = {
		"batch_norm",
		"batch_norm_backward",
		"layer_norm",
		"layer_norm_backward",
		"group_norm",
		"group_norm_backward",
		"instance_norm",
		"instance_norm_backward",
		"rms_norm",
		"rms_norm_backward",
		"fused_ln_modulate",
		"fused_ln_modulate_backward",
		"rms_norm_2d",
		"rms_norm_into",
		"rms_norm_add",
		"add_rms_norm_pad",
		"rms_norm_dynamic_quant",
		"rms_norm_group_quant",
		"rms_norm_add_group_quant",
		"rms_norm_mxfp4_quant",
		"rms_norm_quant",
		"reduce",
		"softmax",
		"softmax_backward",
		"softmax_composite",
		"embedding",
		"index_select",
		"gather",
		"embedding_backward",
		"per_group_quant",
		"per_token_group_quant_fp8",
		"mx_quant_moe_sort",
		"flatten_mxfp4_quant",
		"dynamic_mxfp4_quant",
		"quantize_fp8",
		"quantize_mxfp4_dual",
		"custom_all_reduce",
		"custom_reduce_scatter",
		"custom_all_gather",
		"allreduce_rms_norm",
		"grouped_gemm",
		"grouped_gemm_variable_k",
		"library_gemm",
		"fp4_gemm",
		"quantized_weight_gemm",
		"grouped_mm",
		"grouped_fp4_mm",
		"rms_norm_named",
		"quantize_named",
		"rope_named",
		"qk_norm_rope",
		"layer_attention",
		"flash_attention_named",
		"paged_decode",
		"latent_decode",
		"store_named",
		"moe_fused_named",
		"moe_quantized_experts",
		"moved_operands",
		"moved_experts",
		"moved_attention",
		"moe_layer",
		"ssm_layer",
		"attention_layer",
		"selective_scan",
		"causal_conv1d_named",
		"sdpa_overrideable",
		"sdpa_overrideable_backward",
		"aten_cudnn_attention",
		"flex_attention",
		"flex_attention_backward",
		"flash_attention_3_backward",
	};
	size_t i, row, found;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		found = 0;
		for (row = 0; row < tw_op_model_count; row++) {
			const struct tw_op_model *op = &tw_op_models[row];
			const struct tw_model *model;

			if (strcmp(op->model, names[i]))
				continue;
			found++;
			model = tw_model_of(op->op, strlen(op->op));
			if (!model)
				fail_msg("%s has no model %s", op->op, op->model);
			assert_string_equal(model->name, names[i]);
			assert_non_null(model->forward);
			assert_true(model->sheet[0]);
		}
		if (!found)
			fail_msg("no operation has the model %s", names[i]);
	}
}

static void names_are_unique(void **state)
{
	const struct tw_model *const *family, *const *other, *model, *before;

	(void)state;
	for (family = tw_families; *family; family++)
		for (model = *family; model->name; model++)
			for (other = tw_families; other <= family; other++)
				for (before = *other; before->name && before != model; before++)
					assert_string_not_equal(model->name, before->name);
}

static bool has_operation(const char *name)
{
	size_t i;

	for (i = 0; i < tw_op_model_count; i++)
		if (!strcmp(tw_op_models[i].model, name))
			return true;
	for (i = 0; i < tw_op_model_pattern_count; i++)
		if (!strcmp(tw_op_model_patterns[i].model, name))
			return true;
	return false;
}

static bool is_model(const char *name)
{
	const struct tw_model *const *family, *model;

	for (family = tw_families; *family; family++)
		for (model = *family; model->name; model++)
			if (!strcmp(model->name, name))
				return true;
	return false;
}

/* A name that is misspelt in data/op_models.tsv. */
static void operations_have_models(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < tw_op_model_count; i++)
		if (!is_model(tw_op_models[i].model))
			fail_msg("%s: no model %s", tw_op_models[i].op, tw_op_models[i].model);
	for (i = 0; i < tw_op_model_pattern_count; i++)
		if (!is_model(tw_op_model_patterns[i].model))
			fail_msg("%s: no model %s", tw_op_model_patterns[i].op,
				 tw_op_model_patterns[i].model);
}

/* All but those that go by rows of other data, which names of operations lead to. */
static void models_have_operations(void **state)
{
	const struct tw_model *const *family, *model;

	(void)state;
	for (family = tw_families; *family; family++)
		for (model = *family; model->name; model++)
			if (!model->general && strcmp(model->sheet, "Triton") != 0 &&
			    !has_operation(model->name))
				fail_msg("no operation has the model %s", model->name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(models_are_found),
		cmocka_unit_test(names_are_unique),
		cmocka_unit_test(models_have_operations),
		cmocka_unit_test(operations_have_models),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
