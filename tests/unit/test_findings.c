/* Levels and rules: the mechanism, and every threshold just below, at and just above. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "findings/findings.h"

#include <math.h>
#include <string.h>

/* What is said below, at and above a threshold, while other facts stay far beyond theirs. */
struct boundary {
	const char *ladder;
	enum tw_fact fact;
	double at;
	const char *below, *equal, *above;
	struct {
		enum tw_fact fact;
		double value;
	} beside[2]; /* no value: none */
};

#define AT(ladder, name, at, below, equal, above, ...)           \
	{                                                        \
		ladder, TW_FACT_##name, at, below, equal, above, \
		{                                                \
			__VA_ARGS__                              \
		}                                                \
	}
#define BESIDE(name, value)           \
	{                             \
		TW_FACT_##name, value \
	}

/* By hand from the tables of the users' documents; equality takes the milder class. */
static const struct boundary boundaries[] = {
	AT("memcpy_time", memcpy_percent, 10, "HIGH", "HIGH", "CRITICAL"),
	AT("memcpy_time", memcpy_percent, 5, "MEDIUM", "MEDIUM", "HIGH"),
	AT("memcpy_time", memcpy_percent, 2, "LOW", "LOW", "MEDIUM"),
	AT("memcpy_time", memcpy_percent, 0.5, "ACCEPTABLE", "ACCEPTABLE", "LOW"),
	AT("memcpy_count", copy_count, 100, "HIGH", "HIGH", "CRITICAL"),
	AT("memcpy_count", copy_count, 50, "MEDIUM", "MEDIUM", "HIGH"),
	AT("memcpy_count", copy_count, 10, "LOW", "LOW", "MEDIUM"),
	AT("memcpy_count", copy_count, 5, "ACCEPTABLE", "ACCEPTABLE", "LOW"),
	AT("memcpy_count_within", copy_count, 50, "MEDIUM", "MEDIUM", "HIGH"),
	AT("memcpy_count_within", copy_count, 10, "LOW", "LOW", "MEDIUM"),
	AT("comm_blocking", exposed_comm_percent, 20, "HIGH", "HIGH", "CRITICAL"),
	AT("comm_blocking", exposed_comm_percent, 10, "MEDIUM", "MEDIUM", "HIGH"),
	AT("comm_blocking", exposed_comm_percent, 5, "LOW", "LOW", "MEDIUM"),
	AT("comm_blocking", exposed_comm_percent, 2, "ACCEPTABLE", "ACCEPTABLE", "LOW"),
	AT("comm_overlap", overlap_ratio, 0.3, "CRITICAL", "HIGH", "HIGH"),
	AT("comm_overlap", overlap_ratio, 0.5, "HIGH", "MEDIUM", "MEDIUM"),
	AT("comm_overlap", overlap_ratio, 0.7, "MEDIUM", "GOOD", "GOOD"),
	AT("idle", idle_percent, 70, "HIGH", "HIGH", "CRITICAL"),
	AT("idle", idle_percent, 50, "MEDIUM", "MEDIUM", "HIGH"),
	AT("idle", idle_percent, 30, "LOW", "LOW", "MEDIUM"),
	AT("idle", idle_percent, 20, "ACCEPTABLE", "ACCEPTABLE", "LOW"),
	AT("cpu_idle_critical", idle_percent, 50, "no", "no", "yes"),
	AT("tree_operation", percent_of_category, 10, "no", "no", "yes"),
	AT("bottleneck_time", time_ms, 50, "no", "no", "yes"),
	AT("bottleneck_time", percent_of_category, 5, "no", "no", "yes"),
	AT("bottleneck_efficiency", efficiency_percent, 40, "yes", "no", "no"),
	AT("category_priority", percent_of_compute, 10, "Medium", "Medium", "High"),
	AT("category_priority", percent_of_compute, 5, "Low", "Low", "Medium"),
	AT("category_priority", efficiency_percent, 40, "High", "Low", "Low"),
	AT("priority", percent_of_category, 5, "Low", "Low", "Medium"),
	AT("assessment", efficiency_percent, 80, "Good", "Good", "Excellent"),
	AT("assessment", efficiency_percent, 60, "Acceptable", "Good", "Good"),
	AT("assessment", efficiency_percent, 40, "Needs investigation", "Acceptable", "Acceptable"),
	AT("bound", flops_per_byte, 200, "balanced", "balanced", "compute"),
	AT("bound", flops_per_byte, 100, "memory", "balanced", "balanced"),
	AT("sync_operation", host_to_kernel, 5, "no", "no", "yes"),
	AT("overlap_judged", comm_ms, 0.1, "no", "yes", "yes"),
	AT("cross_validation", deviation_percent, 2, "PASS", "PASS", "WARN"),
	AT("idle_flagged", idle_percent, 15, "no", "no", "yes"),
	AT("launch_delay", launch_delay_us, 100, "no", "no", "yes"),
	AT("anomaly", efficiency_percent, 110, "no", "no", "yes"),
	AT("host_bound", host_copy_percent, 50, "no", "no", "yes"),
	AT("eff_bucket", efficiency_percent, 30, "0-30", "30-60", "30-60"),
	AT("eff_bucket", efficiency_percent, 60, "30-60", "60-100", "60-100"),
	AT("high_variance", cov, 1, "no", "no", "yes"),
	AT("impact_told", impact_percent, 0.01, "no", "yes", "yes"),
	AT("finding_told", impact_percent, 0.5, "no", "yes", "yes"),
	AT("workload", context_share, 0.8, "mixed", "mixed", "prefill_heavy"),
	AT("workload", context_share, 0.2, "decode_heavy", "mixed", "mixed"),
	AT("attention_phase", query_share, 0.8, "mixed", "mixed", "prefill"),
	AT("attention_phase", query_share, 0.2, "decode", "mixed", "mixed"),
	AT("gemm_overlap", collective_percent, 50, "partly", "partly", "blocked"),
	AT("gemm_overlap", collectives_at_once, 1, "unknown", "unknown", "heavy"),
	AT("memcpy_count_within", copy_count, 5, "ACCEPTABLE", "ACCEPTABLE", "LOW"),
	AT("priority", pattern_count, 0, "Low", "Low", "Medium"),
	AT("priority_limit", gain_percent, 0.5, "Low", "Critical", "Critical"),
	AT("priority_limit", percent_of_total, 0.5, "Low", "Medium", "Medium"),
	AT("priority_limit", percent_of_total, 5, "Medium", "Critical", "Critical"),
	AT("small_gain", gain_percent, 1, "yes", "no", "no"),
	AT("roofline_drawn", percent_of_compute, 5, "no", "yes", "yes"),
	AT("target_efficiency", efficiency_percent, 20, "20", "50", "50"),
	AT("target_efficiency", efficiency_percent, 50, "50", "80", "80"),
	AT("target_efficiency", efficiency_percent, 80, "80", "none", "none"),
	AT("category_without_findings", percent_of_compute, 5, "no", "yes", "yes"),
	AT("too_short", mean_us, 10, "yes", "no", "no"),
	AT("few_gaps", idle_most_gaps, 5, "yes", "yes", "no"),
	AT("gemm_overlap", collective_percent, 0, "unknown", "unknown", "partly"),
	AT("category_priority", percent_of_compute, 15, "High", "High", "Critical",
	   BESIDE(efficiency_percent, 29)),
	AT("category_priority", efficiency_percent, 30, "Critical", "High", "High",
	   BESIDE(percent_of_compute, 16)),
	AT("priority", efficiency_percent, 40, "High", "Medium", "Medium",
	   BESIDE(percent_of_category, 11)),
	AT("priority", percent_of_category, 10, "Medium", "Medium", "High",
	   BESIDE(efficiency_percent, 39)),
	AT("replay", percent_of_compute, 10, "no", "no", "yes", BESIDE(efficiency_percent, 29)),
	AT("replay", efficiency_percent, 30, "yes", "no", "no", BESIDE(percent_of_compute, 11)),
	AT("variance_told", percent_of_total, 5, "no", "yes", "yes", BESIDE(count, 11)),
	AT("variance_told", count, 10, "no", "no", "yes", BESIDE(percent_of_total, 6)),
	AT("sync_bottleneck", sync_percent, 10, "no", "no", "yes", BESIDE(sync_ms, 2)),
	AT("sync_bottleneck", sync_ms, 1, "no", "no", "yes", BESIDE(sync_percent, 11)),
	AT("priority", efficiency_percent, 30, "Critical", "High", "High",
	   BESIDE(in_top_operations, 1), BESIDE(percent_of_category, 16)),
	AT("priority", percent_of_category, 15, "High", "High", "Critical",
	   BESIDE(in_top_operations, 1), BESIDE(efficiency_percent, 29)),
};

#define BOUNDARIES (sizeof(boundaries) / sizeof(boundaries[0]))

/* Next to nothing: a billionth. */
static double step_at(double at)
{
	return at != 0 ? fabs(at) * 1e-9 : 1e-9;
}

static const char *level(const struct boundary *b, double value)
{
	struct tw_facts facts;
	size_t k;

	tw_facts_init(&facts);
	for (k = 0; k < 2; k++)
		if (b->beside[k].value > 0)
			facts.value[b->beside[k].fact] = b->beside[k].value;
	facts.value[b->fact] = value;
	return tw_level_of(b->ladder, &facts)->level;
}

static void every_threshold(void **state)
{
	size_t i;

	for (i = 0; i < BOUNDARIES; i++) {
		const struct boundary *b = &boundaries[i];

		assert_string_equal(level(b, b->at - step_at(b->at)), b->below);
		assert_string_equal(level(b, b->at), b->equal);
		assert_string_equal(level(b, b->at + step_at(b->at)), b->above);
	}
}

/* Not whether a fact is known, or is 1. */
static bool has_threshold(const struct tw_condition *c)
{
	return c->operator== TW_OVER || c->operator== TW_AT_LEAST || c->operator== TW_BELOW || c->
	operator== TW_AT_MOST;
}

static bool is_tried(const char *ladder, const struct tw_condition *c)
{
	size_t i;

	for (i = 0; i < BOUNDARIES; i++)
		if (!strcmp(boundaries[i].ladder, ladder) && boundaries[i].fact == c->fact &&
		    fabs(boundaries[i].at - c->value) < step_at(c->value))
			return true;
	return false;
}

static void no_threshold_is_left_out(void **state)
{
	size_t i, k;

	for (i = 0; i < tw_level_count; i++)
		for (k = 0; k < tw_levels[i].condition_count; k++)
			if (has_threshold(&tw_levels[i].conditions[k]) &&
			    !is_tried(tw_levels[i].ladder, &tw_levels[i].conditions[k]))
				fail_msg("%s, %s, condition %zu: no test at its edge",
					 tw_levels[i].ladder, tw_levels[i].level, k + 1);
}

/* ---- the same of rules */

enum side { BELOW = 4, UP_TO = 6, FROM = 3, ABOVE = 1 }; /* bits: it holds below, at, above */

/* Where a rule begins or ceases to hold. */
static const struct {
	const char *scope, *id;
	enum tw_fact fact;
	enum side holds;
	double at;
} rule_edges[] = {
	{ "before_general", "short_once", TW_FACT_count, UP_TO, 1 },
	{ "gemm", "tiny_batched", TW_FACT_gemm_count, FROM, 1000 },
	{ "gemm", "tiny_batched", TW_FACT_gemm_m, UP_TO, 64 },
	{ "gemm", "tiny_batched", TW_FACT_gemm_n, UP_TO, 64 },
	{ "gemm", "tiny_batched", TW_FACT_gemm_k, UP_TO, 64 },
	{ "gemm", "batched_already", TW_FACT_gemm_count, FROM, 1000 },
	{ "gemm", "batched_already", TW_FACT_gemm_m, UP_TO, 64 },
	{ "gemm", "batched_already", TW_FACT_gemm_n, UP_TO, 64 },
	{ "gemm", "batched_already", TW_FACT_gemm_k, UP_TO, 64 },
	{ "gemm", "compute_bound", TW_FACT_flops_per_byte, ABOVE, 200 },
	{ "gemm", "compute_bound", TW_FACT_efficiency_percent, BELOW, 40 },
	{ "gemm", "compute_bound", TW_FACT_count, ABOVE, 1 },
	{ "gemm", "compute_bound_kernel", TW_FACT_flops_per_byte, ABOVE, 200 },
	{ "gemm", "compute_bound_kernel", TW_FACT_efficiency_percent, BELOW, 40 },
	{ "gemm", "memory_bound", TW_FACT_flops_per_byte, BELOW, 100 },
	{ "gemm", "memory_bound", TW_FACT_efficiency_percent, BELOW, 40 },
	{ "gemm", "quantize", TW_FACT_flops_per_byte, BELOW, 100 },
	{ "gemm", "quantize", TW_FACT_efficiency_percent, BELOW, 40 },
	{ "gemm_general", "modelled", TW_FACT_count, ABOVE, 1 },
	{ "gemm_general", "unmodelled_alone", TW_FACT_count, UP_TO, 1 },
	{ "sdpa", "decode", TW_FACT_query_share, BELOW, 0.2 },
	{ "sdpa", "padding", TW_FACT_query_share, ABOVE, 0.8 },
	{ "sdpa", "padding", TW_FACT_efficiency_percent, BELOW, 40 },
	{ "sdpa", "prefill", TW_FACT_query_share, ABOVE, 0.8 },
	{ "sdpa", "prefill", TW_FACT_efficiency_percent, BELOW, 40 },
	{ "sdpa", "short_sequences", TW_FACT_keys, BELOW, 512 },
	{ "sdpa", "short_sequences", TW_FACT_efficiency_percent, BELOW, 40 },
	{ "sdpa", "gqa", TW_FACT_gqa_ratio, ABOVE, 1 },
	{ "sdpa_general", "several", TW_FACT_count, ABOVE, 1 },
	{ "convolution", "layout_transposes", TW_FACT_transpose_percent, ABOVE, 5 },
	{ "convolution", "grouped", TW_FACT_conv_groups, ABOVE, 1 },
	{ "triton", "pointwise", TW_FACT_efficiency_percent, BELOW, 40 },
	{ "triton", "reduction", TW_FACT_efficiency_percent, BELOW, 40 },
	{ "triton", "persistent", TW_FACT_efficiency_percent, BELOW, 40 },
	{ "moe", "small_experts", TW_FACT_tokens_per_expert, BELOW, 64 },
	{ "moe", "routing", TW_FACT_routing_percent, ABOVE, 5 },
	{ "moe_general", "several", TW_FACT_count, ABOVE, 1 },
	{ "norm", "several_kernels", TW_FACT_kernels_per_call, ABOVE, 1 },
	{ "norm_general", "fused_layer_norm", TW_FACT_kernels_per_call, ABOVE, 1 },
	{ "other_general", "several", TW_FACT_count, ABOVE, 1 },
	{ "any", "compute", TW_FACT_flops_per_byte, ABOVE, 200 },
	{ "any", "compute", TW_FACT_count, ABOVE, 1 },
	{ "any", "memory", TW_FACT_flops_per_byte, BELOW, 100 },
	{ "any_overall", "not_visible", TW_FACT_not_visible_percent, ABOVE, 0 },
	{ "any_overall", "few_large", TW_FACT_operation_kinds, ABOVE, 1 },
	{ "any_overall", "few_large", TW_FACT_largest_percent, ABOVE, 50 },
	{ "any_overall", "few_large", TW_FACT_mean_us, FROM, 100 },
	{ "any_overall", "many_small", TW_FACT_calls, ABOVE, 100 },
	{ "any_overall", "many_small", TW_FACT_mean_us, BELOW, 20 },
	{ "multi_kernel_h2d", "small_and_frequent", TW_FACT_copy_count, ABOVE, 10 },
	{ "multi_kernel_h2d", "small_and_frequent", TW_FACT_copy_mean_bytes, BELOW, 1024 },
	{ "multi_kernel_h2d", "frequent", TW_FACT_copy_count, ABOVE, 10 },
	{ "multi_kernel_h2d", "long", TW_FACT_memcpy_percent, ABOVE, 2 },
	{ "multi_kernel_d2d", "frequent", TW_FACT_copy_count, ABOVE, 10 },
	{ "multi_kernel_d2d", "long", TW_FACT_memcpy_percent, ABOVE, 2 },
	{ "multi_kernel_other", "frequent", TW_FACT_copy_count, ABOVE, 10 },
	{ "multi_kernel_other", "long", TW_FACT_memcpy_percent, ABOVE, 2 },
	{ "multi_kernel_memcpy", "exposed", TW_FACT_memcpy_percent, ABOVE, 2 },
	{ "gap", "unmodelled", TW_FACT_unmodelled_count, ABOVE, 0 },
	{ "gap", "anomalies", TW_FACT_anomaly_count, ABOVE, 0 },
	{ "gap", "no_category", TW_FACT_other_percent, ABOVE, 0 },
	{ "gap", "excluded", TW_FACT_excluded_count, ABOVE, 0 },
	{ "gap", "lost", TW_FACT_lost_count, ABOVE, 0 },
	{ "question", "host", TW_FACT_idle_percent, ABOVE, 50 },
	{ "question", "ranks", TW_FACT_exposed_comm_percent, ABOVE, 5 },
	{ "question", "synchronization", TW_FACT_sync_category_count, ABOVE, 0 },
	{ "question", "overlap", TW_FACT_hidden_percent, ABOVE, 10 },
	{ "question", "unmodelled", TW_FACT_unmodelled_percent, ABOVE, 10 },
	{ "question", "anomalies", TW_FACT_anomaly_count, ABOVE, 0 },
	{ "multi_kernel_d2h", "small_and_frequent", TW_FACT_copy_count, ABOVE, 10 },
	{ "multi_kernel_d2h", "small_and_frequent", TW_FACT_copy_mean_bytes, BELOW, 1024 },
	{ "multi_kernel_d2h", "frequent", TW_FACT_copy_count, ABOVE, 10 },
	{ "multi_kernel_d2h", "long", TW_FACT_memcpy_percent, ABOVE, 2 },
	{ "multi_kernel_blocking", "exposed", TW_FACT_exposed_comm_percent, ABOVE, 5 },
	{ "multi_kernel_overlap", "almost_none", TW_FACT_overlap_ratio, BELOW, 0.3 },
	{ "multi_kernel_overlap", "poor", TW_FACT_overlap_ratio, BELOW, 0.7 },
	{ "cpu_idle_launch_bound", "short_kernels", TW_FACT_idle_cause_percent, ABOVE, 1 },
	{ "cpu_idle_launch_bound", "short_kernels", TW_FACT_short_kernel_percent, ABOVE, 50 },
	{ "cpu_idle_launch_bound", "short_kernels", TW_FACT_idle_most_gaps, ABOVE, 5 },
	{ "cpu_idle_launch_bound", "late", TW_FACT_idle_cause_percent, ABOVE, 1 },
	{ "cpu_idle_synchronisation", "waits", TW_FACT_idle_cause_percent, ABOVE, 1 },
	{ "cpu_idle_data_wait", "input", TW_FACT_idle_cause_percent, ABOVE, 1 },
	{ "cpu_idle_graph_gap", "between_nodes", TW_FACT_idle_cause_percent, ABOVE, 1 },
	{ "cpu_idle_queued_work", "starts_late", TW_FACT_idle_cause_percent, ABOVE, 1 },
	{ "cpu_idle_unknown", "no_launch_recorded", TW_FACT_idle_cause_percent, ABOVE, 1 },
	{ "cpu_idle_unknown", "no_launch", TW_FACT_idle_cause_percent, ABOVE, 1 },
	{ "cpu_idle_gaps", "few", TW_FACT_idle_most_gaps, UP_TO, 5 },
};

#define RULE_EDGES (sizeof(rule_edges) / sizeof(rule_edges[0]))

/* Facts with which the conditions of a rule hold, none of them by little. */
static void meet(const struct tw_rule *rule, struct tw_facts *facts)
{
	unsigned k;

	tw_facts_init(facts);
	for (k = 0; k < rule->condition_count; k++) {
		const struct tw_condition *c = &rule->conditions[k];
		double *value = &facts->value[c->fact];

		switch (c->operator) {
		case TW_OVER:
		case TW_AT_LEAST:
			*value = c->value + 1 + fabs(c->value) / 10;
			break;
		case TW_BELOW:
		case TW_AT_MOST:
			*value = c->value - fabs(c->value) / 10;
			break;
		case TW_IS:
			*value = c->value;
			break;
		case TW_KNOWN:
			if (isnan(*value))
				*value = 1;
			break;
		case TW_UNKNOWN:
			break;
		}
	}
}

static bool rule_holds(const struct tw_rule *rule, const struct tw_facts *facts)
{
	const struct tw_rule *found = NULL;

	while ((found = tw_rule_next(rule->scope, facts, found)) && found != rule)
		;
	return found;
}

static const struct tw_rule *rule_named(const char *scope, const char *id)
{
	size_t i;

	for (i = 0; i < tw_rule_count; i++)
		if (!strcmp(tw_rules[i].scope, scope) && !strcmp(tw_rules[i].id, id))
			return &tw_rules[i];
	fail_msg("%s, %s: no such rule", scope, id);
	return NULL;
}

static void every_threshold_of_rules(void **state)
{
	static const unsigned bits[] = { BELOW, UP_TO & FROM, ABOVE };
	size_t i;

	for (i = 0; i < RULE_EDGES; i++) {
		const struct tw_rule *rule = rule_named(rule_edges[i].scope, rule_edges[i].id);
		double at = rule_edges[i].at, step = step_at(at);
		int side;

		for (side = -1; side <= 1; side++) {
			struct tw_facts facts;

			meet(rule, &facts);
			facts.value[rule_edges[i].fact] = at + side * step;
			if (rule_holds(rule, &facts) != !!(rule_edges[i].holds & bits[side + 1]))
				fail_msg("%s, %s: fact %d at %g %+d", rule->scope, rule->id,
					 rule_edges[i].fact, at, side);
		}
	}
}

static void no_threshold_of_rules_is_left_out(void **state)
{
	size_t i, k, n;

	for (i = 0; i < tw_rule_count; i++)
		for (k = 0; k < tw_rules[i].condition_count; k++) {
			const struct tw_condition *c = &tw_rules[i].conditions[k];

			for (n = 0; n < RULE_EDGES; n++)
				if (!strcmp(rule_edges[n].scope, tw_rules[i].scope) &&
				    !strcmp(rule_edges[n].id, tw_rules[i].id) &&
				    rule_edges[n].fact == c->fact &&
				    fabs(rule_edges[n].at - c->value) < step_at(c->value))
					break;
			if (has_threshold(c) && n == RULE_EDGES)
				fail_msg("%s, %s, condition %zu: no test at its edge",
					 tw_rules[i].scope, tw_rules[i].id, k + 1);
		}
}

/* The orchestrator's framework: critical needs all three. */
static void critical_needs_all_three(void **state)
{
	struct tw_facts facts;
	int k;

	for (k = 0; k < 8; k++) {
		tw_facts_init(&facts);
		facts.value[TW_FACT_in_top_operations] = k & 1;
		facts.value[TW_FACT_efficiency_percent] = k & 2 ? 29.9 : 30;
		facts.value[TW_FACT_percent_of_category] = k & 4 ? 15.1 : 15;
		assert_string_equal(tw_level_of("priority", &facts)->level,
				    k == 7 ? "Critical" : "High");
	}
	tw_facts_init(&facts);
	facts.value[TW_FACT_in_top_operations] = 1;
	assert_string_equal(tw_level_of("priority", &facts)->level, "High");
}

static void what_is_not_known_is_not_judged(void **state)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	assert_string_equal(tw_level_of("assessment", &facts)->level, "Unmodelled");
	assert_string_equal(tw_level_of("bound", &facts)->level, "unknown");
	assert_string_equal(tw_level_of("comm_overlap", &facts)->level, "ACCEPTABLE");
	assert_false(tw_level_is_yes("bottleneck_efficiency", &facts));
	assert_false(tw_level_is_yes("replay", &facts));
}

static void the_worse_of_two(void **state)
{
	struct tw_facts facts;
	const struct tw_level *high, *low;

	tw_facts_init(&facts);
	facts.value[TW_FACT_memcpy_percent] = 6;
	facts.value[TW_FACT_copy_count] = 6;
	high = tw_level_of("memcpy_time", &facts);
	low = tw_level_of("memcpy_count", &facts);
	assert_true(tw_level_rank(high->ladder, high->level) <
		    tw_level_rank(low->ladder, low->level));
}

static void texts_with_numbers(void **state)
{
	struct tw_facts facts;
	struct tw_str out;

	tw_facts_init(&facts);
	facts.value[TW_FACT_time_ms] = 1.23456;
	tw_str_init(&out, trawl_allocator_default());
	tw_rule_text(&out, "{time_ms} ms, {count} calls, {nothing} {", &facts);
	assert_string_equal(out.ptr, "1.235 ms, unknown calls, unknown {");
	tw_str_release(&out);
}

/* Of each rule some facts exist with which it holds, so none is dead. */
static void every_rule_can_hold(void **state)
{
	size_t i, k;

	for (i = 0; i < tw_rule_count; i++) {
		const struct tw_rule *rule = &tw_rules[i], *found = NULL;
		struct tw_facts facts;

		tw_facts_init(&facts);
		for (k = 0; k < rule->condition_count; k++) {
			const struct tw_condition *c = &rule->conditions[k];
			double step = fabs(c->value) * 1e-6 + 1e-9;

			if (c->operator== TW_UNKNOWN)
				continue;
			if (isnan(facts.value[c->fact]) || c->operator== TW_IS)
				facts.value[c->fact] = c->operator== TW_OVER  ? c->value + step :
						       c->operator== TW_BELOW ? c->value - step :
										c->value;
		}
		while ((found = tw_rule_next(rule->scope, &facts, found)) && found != rule)
			;
		if (found != rule)
			fail_msg("%s, %s never holds", rule->scope, rule->id);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_threshold),
		cmocka_unit_test(no_threshold_is_left_out),
		cmocka_unit_test(every_threshold_of_rules),
		cmocka_unit_test(no_threshold_of_rules_is_left_out),
		cmocka_unit_test(critical_needs_all_three),
		cmocka_unit_test(what_is_not_known_is_not_judged),
		cmocka_unit_test(the_worse_of_two),
		cmocka_unit_test(texts_with_numbers),
		cmocka_unit_test(every_rule_can_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
