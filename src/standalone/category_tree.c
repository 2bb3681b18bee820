/*
 * What operations stand beside an operation, or below it, as facts: attention in pieces, norms in
 * pieces.  A tree says which operations follow each other under
 * one caller, not what they hand each other.
 */
#include "standalone/category.h"

#include <string.h>

static const char *name_of(const struct tw_json_value *item)
{
	return tw_json_text(tw_json_get(item, "name"));
}

static bool is_gemm(const struct tw_json_value *item)
{
	const char *category = tw_json_text(tw_json_get(item, "category"));

	return tw_name_matches("gemm", category, strlen(category)) ||
	       tw_operation_has(TW_TRAIT_GEMM, name_of(item));
}

static bool has(const struct tw_json_value *item, enum tw_trait trait)
{
	return tw_operation_has(trait, name_of(item));
}

/*
 * Whether the operation itself is among those from `item` to `last`: the one that is marked so, else
 * one of its name.
 */
static bool is_among(const char *name, const struct tw_json_value *item,
		     const struct tw_json_value *last, bool marked)
{
	for (; item; item = item->next) {
		if (marked ? tw_json_true(tw_json_get(item, "self")) : !strcmp(name_of(item), name))
			return true;
		if (item == last)
			break;
	}
	return false;
}

static bool has_mark(const struct tw_json_value *item)
{
	for (; item; item = item->next)
		if (tw_json_true(tw_json_get(item, "self")))
			return true;
	return false;
}

/* Part of "GEMM, softmax, GEMM" with other work, no GEMM, between; NULL name: whether there is one. */
static bool in_attention(const struct tw_json_value *first, const char *name)
{
	const struct tw_json_value *item, *gemm = NULL, *softmax = NULL;
	bool marked = has_mark(first);

	for (item = first; item; item = item->next) {
		if (has(item, TW_TRAIT_SOFTMAX)) {
			softmax = gemm ? item : NULL;
		} else if (is_gemm(item)) {
			if (softmax && (!name || is_among(name, gemm, item, marked)))
				return true;
			gemm = item;
			softmax = NULL;
		}
	}
	return false;
}

/* From the power to what multiplies by the reciprocal root: x / sqrt(mean(x ^ 2)). */
static bool in_norm(const struct tw_json_value *first, const char *name)
{
	const struct tw_json_value *item, *power = NULL, *mean = NULL;
	bool marked = has_mark(first);

	for (item = first; item; item = item->next) {
		if (has(item, TW_TRAIT_POWER)) {
			power = item;
			mean = NULL;
		} else if (power && has(item, TW_TRAIT_MEAN)) {
			mean = item;
		} else if (mean && has(item, TW_TRAIT_RSQRT)) {
			if (is_among(name, power, item->next ? item->next : item, marked))
				return true;
			power = mean = NULL;
		}
	}
	return false;
}

void tw_category_tree_facts(struct tw_category_row *row)
{
	const struct tw_json_value *beside = tw_json_get(row->tree, "siblings")->first;
	const struct tw_json_value *below = tw_json_get(row->tree, "subtree")->first;
	double *value = row->facts.value;

	if (tw_operation_has(TW_TRAIT_UNFUSED_ATTENTION, row->name))
		value[TW_FACT_unfused_attention] = 1;
	if (row->tree->type != TW_JSON_OBJECT)
		return;
	value[TW_FACT_unfused_attention] = value[TW_FACT_unfused_attention] > 0 ||
					   in_attention(beside, row->name) ||
					   in_attention(below, NULL);
	value[TW_FACT_unfused_norm] = in_norm(beside, row->name);
	value[TW_FACT_chain_count] = tw_json_number(tw_json_get(row->tree, "chain_count"));
	value[TW_FACT_chain_us] = tw_json_number(tw_json_get(row->tree, "chain_us"));
	value[TW_FACT_chain_longest_us] =
		tw_json_number(tw_json_get(row->tree, "chain_longest_us"));
}
