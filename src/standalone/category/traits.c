/*
 * What names, types, parameters and kernels of an operation tell, and what stands beside it or below it, as
 * facts.  A tree says which operations follow each other under one caller, not what they hand each other.
 */
#include "standalone/category/category.h"

#include <math.h>
#include <string.h>

static double parameter(const struct tw_category_row *row, const char *key)
{
	return tw_json_number(tw_json_get(row->params, key));
}

/* 1 or 0; unknown when the parameter is none. */
static double flag(const struct tw_category_row *row, const char *key)
{
	const struct tw_json_value *value = tw_json_get(row->params, key);

	return value->type == TW_JSON_BOOL ? value->boolean : (double)NAN;
}

static bool some_kernel_has(const struct tw_category_row *row, enum tw_trait trait)
{
	const struct tw_json_value *kernel = row->kernels->first;

	for (; kernel; kernel = kernel->next)
		if (tw_kernel_has(trait, tw_json_text(tw_json_get(kernel, "name"))))
			return true;
	return false;
}

/* Share of the kernel time in kernels of a trait; unknown without kernels. */
static double kernel_share(const struct tw_category_row *row, enum tw_trait trait)
{
	const struct tw_json_value *kernel = row->kernels->first;
	double with = 0, all = 0;

	for (; kernel; kernel = kernel->next) {
		double us = tw_json_number(tw_json_get(kernel, "total_duration_us"));

		all += us;
		if (tw_kernel_has(trait, tw_json_text(tw_json_get(kernel, "name"))))
			with += us;
	}
	return all > 0 ? 100 * with / all : NAN;
}

/* Of the first two operands, which are what is multiplied. */
static bool has_small_type(const struct tw_category_row *row)
{
	const struct tw_json_value *type = row->types->first;
	unsigned operands = 0;

	for (; type && operands < 2; type = type->next) {
		const char *name = tw_json_text(type);
		const struct tw_dtype *known = tw_dtype(name, strlen(name));

		operands += known != NULL;
		if (known && known->bits <= 8 && *known->precision)
			return true;
	}
	return false;
}

static void gemm_facts(const struct tw_category_row *row, double *value)
{
	value[TW_FACT_gemm_m] = parameter(row, "M");
	value[TW_FACT_gemm_n] = parameter(row, "N");
	value[TW_FACT_gemm_k] = parameter(row, "K");
	value[TW_FACT_gemm_batch] = parameter(row, "B");
	if (isnan(value[TW_FACT_gemm_batch]) && !isnan(value[TW_FACT_gemm_m]))
		value[TW_FACT_gemm_batch] = 1;
	value[TW_FACT_gemm_count] = row->count * value[TW_FACT_gemm_batch];
	value[TW_FACT_weight] = tw_operation_has(TW_TRAIT_WEIGHT, row->name);
	value[TW_FACT_batched] = value[TW_FACT_gemm_batch] > 1 ||
				 tw_operation_has(TW_TRAIT_BATCHED, row->name);
	value[TW_FACT_quantized] = tw_operation_has(TW_TRAIT_QUANTIZED, row->name) ||
				   has_small_type(row);
}

static void attention_facts(const struct tw_category_row *row, double *value)
{
	double context = parameter(row, "c_sq"), generated = parameter(row, "g_sq");

	value[TW_FACT_flash] = tw_operation_has(TW_TRAIT_FLASH, row->name) ||
			       some_kernel_has(row, TW_TRAIT_FLASH);
	value[TW_FACT_paged] = tw_operation_has(TW_TRAIT_PAGED, row->name) ||
			       some_kernel_has(row, TW_TRAIT_PAGED);
	value[TW_FACT_fused_attention] = value[TW_FACT_flash] > 0 || value[TW_FACT_paged] > 0 ||
					 tw_operation_has(TW_TRAIT_FUSED_ATTENTION, row->name) ||
					 some_kernel_has(row, TW_TRAIT_FUSED_ATTENTION);
	value[TW_FACT_queries] = parameter(row, "N_Q");
	value[TW_FACT_keys] = parameter(row, "N_KV");
	value[TW_FACT_query_heads] = parameter(row, "H_Q");
	value[TW_FACT_key_heads] = parameter(row, "H_KV");
	if (value[TW_FACT_keys] > 0)
		value[TW_FACT_query_share] = value[TW_FACT_queries] / value[TW_FACT_keys];
	if (value[TW_FACT_key_heads] > 0)
		value[TW_FACT_gqa_ratio] = value[TW_FACT_query_heads] / value[TW_FACT_key_heads];
	if (context + generated > 0)
		value[TW_FACT_context_share] = context / (context + generated);
}

/* By the names of the operation and its kernels: in GPU graphs there are only these. */
static bool names_fused_attention(const struct tw_category_row *row)
{
	static const enum tw_trait traits[] = { TW_TRAIT_FLASH, TW_TRAIT_PAGED,
						TW_TRAIT_FUSED_ATTENTION };
	size_t i;

	for (i = 0; i < sizeof(traits) / sizeof(traits[0]); i++)
		if (tw_operation_has(traits[i], row->name) || tw_kernel_has(traits[i], row->name) ||
		    some_kernel_has(row, traits[i]))
			return true;
	return false;
}

static void convolution_facts(const struct tw_category_row *row, double *value)
{
	const struct tw_json_value *shape = tw_json_get(row->params, "input_shape")->first;

	value[TW_FACT_transpose_percent] = kernel_share(row, TW_TRAIT_LAYOUT_TRANSPOSE);
	value[TW_FACT_conv_groups] = parameter(row, "groups");
	/* Input shape: batch, channels, places. */
	if (shape && shape->next && !isnan(value[TW_FACT_conv_groups]))
		value[TW_FACT_depthwise] = value[TW_FACT_conv_groups] > 1 &&
					   value[TW_FACT_conv_groups] >=
						   tw_json_number(shape->next);
}

static void triton_facts(const struct tw_category_row *row, double *value)
{
	const struct tw_json_value *fused = tw_json_get(row->params, "fused_ops");

	value[TW_FACT_triton_pointwise] = tw_operation_has(TW_TRAIT_TRITON_POINTWISE, row->name);
	value[TW_FACT_triton_reduction] = tw_operation_has(TW_TRAIT_TRITON_REDUCTION, row->name);
	value[TW_FACT_triton_persistent] = tw_operation_has(TW_TRAIT_TRITON_PERSISTENT, row->name);
	if (fused->type == TW_JSON_ARRAY)
		value[TW_FACT_fused_operations] = (double)fused->count;
	else if (fused->type == TW_JSON_STRING)
		value[TW_FACT_fused_operations] = 1;
}

static void moe_facts(const struct tw_category_row *row, double *value)
{
	double tokens = parameter(row, "M"), each = parameter(row, "topk");

	value[TW_FACT_experts] = parameter(row, "E");
	if (value[TW_FACT_experts] > 0)
		value[TW_FACT_tokens_per_expert] = tokens * each / value[TW_FACT_experts];
	value[TW_FACT_routing_percent] = tw_operation_has(TW_TRAIT_MOE_ROUTING, row->name) ?
						 100 :
						 kernel_share(row, TW_TRAIT_MOE_ROUTING);
}

static bool is_cast(const struct tw_category_row *row)
{
	const struct tw_json_value *to = row->types->first;
	const struct tw_json_value *from = to ? to->next : NULL;

	return from && *tw_json_text(to) && tw_dtype(tw_json_text(from), from->text_len) &&
	       strcmp(tw_json_text(to), tw_json_text(from)) != 0;
}

/* Kernels of a call: all of them by the calls; unknown without kernels. */
static double kernels_per_call(const struct tw_category_row *row)
{
	const struct tw_json_value *kernel = row->kernels->first;
	double count = 0;

	for (; kernel; kernel = kernel->next)
		count += tw_json_number(tw_json_get(kernel, "count"));
	return count > 0 && row->count > 0 ? count / row->count : NAN;
}

static const char *kernel_kind(const struct tw_category_row *row)
{
	/* What a name says first counts: kernels of attention and experts are named for GEMMs too. */
	static const struct {
		enum tw_trait trait;
		const char *kind;
	} kinds[] = { { TW_TRAIT_KIND_ATTENTION, "attention" },
		      { TW_TRAIT_KIND_MOE, "moe" },
		      { TW_TRAIT_KIND_GEMM, "gemm" },
		      { TW_TRAIT_KIND_NORM, "norm" } };
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (some_kernel_has(row, kinds[i].trait))
			return kinds[i].kind;
	return NULL;
}

/* Whether what it did and on what can be seen, and what a compiler has made. */
static void visibility_facts(const struct tw_category_row *row, double *value)
{
	bool region = tw_operation_has(TW_TRAIT_COMPILED_REGION, row->name);

	value[TW_FACT_compiled] = region || tw_operation_has(TW_TRAIT_COMPILED, row->name);
	value[TW_FACT_not_visible] = region || value[TW_FACT_graph_launch] > 0 ||
				     value[TW_FACT_no_operation] > 0;
}

/* ---- what stands beside it, or below it */

/* An operation of a tree. */
struct item {
	const char *name, *category;
	bool self;
};

/* Those beside it, else those below it. */
struct items {
	const struct tw_tree *tree;
	bool below;
	size_t count;
};

static struct item item_of(const struct items *list, size_t i)
{
	const struct tw_tree *tree = list->tree;

	return list->below ?
		       (struct item){ tree->callees.at[i].name, "", false } :
		       (struct item){ tree->neighbours.at[i].name, tree->neighbours.at[i].category,
				      tree->neighbours.at[i].self };
}

static bool is_gemm(struct item item)
{
	return tw_name_matches("gemm", item.category, strlen(item.category)) ||
	       tw_operation_has(TW_TRAIT_GEMM, item.name);
}

static bool has_mark(const struct items *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (item_of(list, i).self)
			return true;
	return false;
}

/*
 * Whether the operation itself is among those from `first` to `last`: the one that is marked so, else
 * one of its name.
 */
static bool is_among(const char *name, const struct items *list, size_t first, size_t last)
{
	bool marked = has_mark(list);
	size_t i;

	for (i = first; i < list->count && i <= last; i++)
		if (marked ? item_of(list, i).self : !strcmp(item_of(list, i).name, name))
			return true;
	return false;
}

/* Part of "GEMM, softmax, GEMM" with other work, no GEMM, between; NULL name: whether there is one. */
static bool in_attention(const struct items *list, const char *name)
{
	size_t none = list->count, gemm = none, softmax = none, i;

	for (i = 0; i < list->count; i++) {
		struct item item = item_of(list, i);

		if (tw_operation_has(TW_TRAIT_SOFTMAX, item.name)) {
			softmax = gemm < none ? i : none;
		} else if (is_gemm(item)) {
			if (softmax < none && (!name || is_among(name, list, gemm, i)))
				return true;
			gemm = i;
			softmax = none;
		}
	}
	return false;
}

/* From the power to what multiplies by the reciprocal root: x / sqrt(mean(x ^ 2)). */
static bool in_norm(const struct items *list, const char *name)
{
	size_t none = list->count, power = none, mean = none, i;

	for (i = 0; i < list->count; i++) {
		struct item item = item_of(list, i);

		if (tw_operation_has(TW_TRAIT_POWER, item.name)) {
			power = i;
			mean = none;
		} else if (power < none && tw_operation_has(TW_TRAIT_MEAN, item.name)) {
			mean = i;
		} else if (mean < none && tw_operation_has(TW_TRAIT_RSQRT, item.name)) {
			if (is_among(name, list, power, i + 1))
				return true;
			power = mean = none;
		}
	}
	return false;
}

static void tree_facts(struct tw_category_row *row)
{
	const struct tw_tree *tree = row->tree;
	double *value = row->facts.value;
	struct items beside, below;

	if (tw_operation_has(TW_TRAIT_UNFUSED_ATTENTION, row->name))
		value[TW_FACT_unfused_attention] = 1;
	if (!tree)
		return;
	beside = (struct items){ tree, false, tree->neighbours.count };
	below = (struct items){ tree, true, tree->callees.count };
	value[TW_FACT_unfused_attention] = value[TW_FACT_unfused_attention] > 0 ||
					   in_attention(&beside, row->name) ||
					   in_attention(&below, NULL);
	value[TW_FACT_unfused_norm] = in_norm(&beside, row->name);
}

void tw_category_traits(struct tw_category_row *row)
{
	double *value = row->facts.value;

	gemm_facts(row, value);
	attention_facts(row, value);
	convolution_facts(row, value);
	triton_facts(row, value);
	moe_facts(row, value);
	value[TW_FACT_kernels_per_call] = kernels_per_call(row);
	value[TW_FACT_host_copy_percent] = kernel_share(row, TW_TRAIT_HOST_COPY);
	value[TW_FACT_softmax] = tw_operation_has(TW_TRAIT_SOFTMAX, row->name);
	value[TW_FACT_batch_norm] = tw_operation_has(TW_TRAIT_BATCH_NORM, row->name);
	value[TW_FACT_layer_norm] = tw_operation_has(TW_TRAIT_LAYER_NORM, row->name);
	value[TW_FACT_group_norm] = tw_operation_has(TW_TRAIT_GROUP_NORM, row->name);
	value[TW_FACT_layer_or_rms_norm] = value[TW_FACT_layer_norm] > 0 ||
					   tw_operation_has(TW_TRAIT_RMS_NORM, row->name);
	value[TW_FACT_backward] = tw_operation_has(TW_TRAIT_BACKWARD, row->name);
	value[TW_FACT_training] = flag(row, "is_training");
	value[TW_FACT_copy] = tw_operation_has(TW_TRAIT_COPY, row->name);
	value[TW_FACT_cast] = value[TW_FACT_copy] > 0 && is_cast(row);
	value[TW_FACT_graph_launch] = tw_operation_has(TW_TRAIT_GRAPH_LAUNCH, row->name);
	value[TW_FACT_communication] =
		(tw_host_kinds_of(row->name, strlen(row->name)) & TW_HOST_COMMUNICATION) != 0;
	value[TW_FACT_no_operation] = tw_operation_has(TW_TRAIT_NO_OPERATION, row->name);
	visibility_facts(row, value);
	tree_facts(row);
	row->kernel_kind = kernel_kind(row);
	row->names_fused_attention = names_fused_attention(row);
}
