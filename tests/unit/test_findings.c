/* Levels and rules: the mechanism, and every threshold just below, at and just above. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "findings/findings.h"

#include <math.h>
#include <string.h>

/* A ladder that asks one fact: thresholds and what is said below, at and above each. */
struct boundary {
	const char *ladder;
	enum tw_fact fact;
	double at;
	const char *below, *equal, *above;
};

static const char *level(const char *ladder, enum tw_fact fact, double value)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[fact] = value;
	return tw_level_of(ladder, &facts)->level;
}

/* By hand from the tables of the users' documents; equality takes the milder class. */
static void every_threshold(void **state)
{
	static const struct boundary boundaries[] = {
		{ "memcpy_time", TW_FACT_memcpy_percent, 10, "HIGH", "HIGH", "CRITICAL" },
		{ "memcpy_time", TW_FACT_memcpy_percent, 5, "MEDIUM", "MEDIUM", "HIGH" },
		{ "memcpy_time", TW_FACT_memcpy_percent, 2, "LOW", "LOW", "MEDIUM" },
		{ "memcpy_time", TW_FACT_memcpy_percent, 0.5, "ACCEPTABLE", "ACCEPTABLE", "LOW" },
		{ "memcpy_count", TW_FACT_copy_count, 100, "HIGH", "HIGH", "CRITICAL" },
		{ "memcpy_count", TW_FACT_copy_count, 50, "MEDIUM", "MEDIUM", "HIGH" },
		{ "memcpy_count", TW_FACT_copy_count, 10, "LOW", "LOW", "MEDIUM" },
		{ "memcpy_count", TW_FACT_copy_count, 5, "ACCEPTABLE", "ACCEPTABLE", "LOW" },
		{ "memcpy_count_within", TW_FACT_copy_count, 50, "MEDIUM", "MEDIUM", "HIGH" },
		{ "memcpy_count_within", TW_FACT_copy_count, 10, "LOW", "LOW", "MEDIUM" },
		{ "comm_blocking", TW_FACT_exposed_comm_percent, 20, "HIGH", "HIGH", "CRITICAL" },
		{ "comm_blocking", TW_FACT_exposed_comm_percent, 10, "MEDIUM", "MEDIUM", "HIGH" },
		{ "comm_blocking", TW_FACT_exposed_comm_percent, 5, "LOW", "LOW", "MEDIUM" },
		{ "comm_blocking", TW_FACT_exposed_comm_percent, 2, "ACCEPTABLE", "ACCEPTABLE",
		  "LOW" },
		{ "comm_overlap", TW_FACT_overlap_ratio, 0.3, "CRITICAL", "HIGH", "HIGH" },
		{ "comm_overlap", TW_FACT_overlap_ratio, 0.5, "HIGH", "MEDIUM", "MEDIUM" },
		{ "comm_overlap", TW_FACT_overlap_ratio, 0.7, "MEDIUM", "GOOD", "GOOD" },
		{ "idle", TW_FACT_idle_percent, 70, "HIGH", "HIGH", "CRITICAL" },
		{ "idle", TW_FACT_idle_percent, 50, "MEDIUM", "MEDIUM", "HIGH" },
		{ "idle", TW_FACT_idle_percent, 30, "LOW", "LOW", "MEDIUM" },
		{ "idle", TW_FACT_idle_percent, 20, "ACCEPTABLE", "ACCEPTABLE", "LOW" },
		{ "cpu_idle_critical", TW_FACT_idle_percent, 50, "no", "no", "yes" },
		{ "tree_operation", TW_FACT_percent_of_category, 10, "no", "no", "yes" },
		{ "bottleneck_time", TW_FACT_time_ms, 50, "no", "no", "yes" },
		{ "bottleneck_time", TW_FACT_percent_of_category, 5, "no", "no", "yes" },
		{ "bottleneck_efficiency", TW_FACT_efficiency_percent, 40, "yes", "no", "no" },
		{ "category_priority", TW_FACT_percent_of_compute, 10, "Medium", "Medium", "High" },
		{ "category_priority", TW_FACT_percent_of_compute, 5, "Low", "Low", "Medium" },
		{ "category_priority", TW_FACT_efficiency_percent, 40, "High", "Low", "Low" },
		{ "priority", TW_FACT_percent_of_category, 5, "Low", "Low", "Medium" },
		{ "assessment", TW_FACT_efficiency_percent, 80, "Good", "Good", "Excellent" },
		{ "assessment", TW_FACT_efficiency_percent, 60, "Acceptable", "Good", "Good" },
		{ "assessment", TW_FACT_efficiency_percent, 40, "Needs investigation", "Acceptable",
		  "Acceptable" },
		{ "bound", TW_FACT_flops_per_byte, 200, "balanced", "balanced", "compute" },
		{ "bound", TW_FACT_flops_per_byte, 100, "memory", "balanced", "balanced" },
		{ "sync_operation", TW_FACT_host_to_kernel, 5, "no", "no", "yes" },
		{ "overlap_judged", TW_FACT_comm_ms, 0.1, "no", "yes", "yes" },
		{ "cross_validation", TW_FACT_deviation_percent, 2, "PASS", "PASS", "WARN" },
		{ "idle_flagged", TW_FACT_idle_percent, 15, "no", "no", "yes" },
		{ "launch_delay", TW_FACT_launch_delay_us, 100, "no", "no", "yes" },
		{ "anomaly", TW_FACT_efficiency_percent, 110, "no", "no", "yes" },
		{ "host_bound", TW_FACT_host_copy_percent, 50, "no", "no", "yes" },
		{ "eff_bucket", TW_FACT_efficiency_percent, 30, "0-30", "30-60", "30-60" },
		{ "eff_bucket", TW_FACT_efficiency_percent, 60, "30-60", "60-100", "60-100" },
		{ "high_variance", TW_FACT_cov, 1, "no", "no", "yes" },
		{ "impact_told", TW_FACT_impact_percent, 0.01, "no", "yes", "yes" },
		{ "finding_told", TW_FACT_impact_percent, 0.5, "no", "yes", "yes" },
		{ "workload", TW_FACT_context_share, 0.8, "mixed", "mixed", "prefill_heavy" },
		{ "workload", TW_FACT_context_share, 0.2, "decode_heavy", "mixed", "mixed" },
		{ "attention_phase", TW_FACT_query_share, 0.8, "mixed", "mixed", "prefill" },
		{ "attention_phase", TW_FACT_query_share, 0.2, "decode", "mixed", "mixed" },
		{ "gemm_overlap", TW_FACT_collective_percent, 50, "partly", "partly", "blocked" },
		{ "gemm_overlap", TW_FACT_collectives_at_once, 1, "unknown", "unknown", "heavy" },
	};
	size_t i;

	for (i = 0; i < sizeof(boundaries) / sizeof(boundaries[0]); i++) {
		const struct boundary *b = &boundaries[i];

		assert_string_equal(level(b->ladder, b->fact, b->at * (1 - 1e-9)), b->below);
		assert_string_equal(level(b->ladder, b->fact, b->at), b->equal);
		assert_string_equal(level(b->ladder, b->fact, b->at * (1 + 1e-9)), b->above);
	}
}

/* Thresholds on two facts: one stays far beyond its own while the other crosses. */
static void thresholds_in_pairs(void **state)
{
	static const struct {
		const char *ladder;
		enum tw_fact fixed;
		double value;
		struct boundary b;
	} pairs[] = {
		{ "category_priority",
		  TW_FACT_efficiency_percent,
		  29,
		  { NULL, TW_FACT_percent_of_compute, 15, "High", "High", "Critical" } },
		{ "category_priority",
		  TW_FACT_percent_of_compute,
		  16,
		  { NULL, TW_FACT_efficiency_percent, 30, "Critical", "High", "High" } },
		{ "priority",
		  TW_FACT_percent_of_category,
		  11,
		  { NULL, TW_FACT_efficiency_percent, 40, "High", "Medium", "Medium" } },
		{ "priority",
		  TW_FACT_efficiency_percent,
		  39,
		  { NULL, TW_FACT_percent_of_category, 10, "Medium", "Medium", "High" } },
		{ "replay",
		  TW_FACT_efficiency_percent,
		  29,
		  { NULL, TW_FACT_percent_of_compute, 10, "no", "no", "yes" } },
		{ "replay",
		  TW_FACT_percent_of_compute,
		  11,
		  { NULL, TW_FACT_efficiency_percent, 30, "yes", "no", "no" } },
		{ "variance_told",
		  TW_FACT_count,
		  11,
		  { NULL, TW_FACT_percent_of_total, 5, "no", "yes", "yes" } },
		{ "variance_told",
		  TW_FACT_percent_of_total,
		  6,
		  { NULL, TW_FACT_count, 10, "no", "no", "yes" } },
		{ "sync_bottleneck",
		  TW_FACT_sync_ms,
		  2,
		  { NULL, TW_FACT_sync_percent, 10, "no", "no", "yes" } },
		{ "sync_bottleneck",
		  TW_FACT_sync_percent,
		  11,
		  { NULL, TW_FACT_sync_ms, 1, "no", "no", "yes" } },
	};
	size_t i;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const struct boundary *b = &pairs[i].b;
		const double factors[] = { 1 - 1e-9, 1, 1 + 1e-9 };
		const char *const expected[] = { b->below, b->equal, b->above };
		size_t k;

		for (k = 0; k < 3; k++) {
			struct tw_facts facts;

			tw_facts_init(&facts);
			facts.value[pairs[i].fixed] = pairs[i].value;
			facts.value[b->fact] = b->at * factors[k];
			assert_string_equal(tw_level_of(pairs[i].ladder, &facts)->level,
					    expected[k]);
		}
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
		cmocka_unit_test(thresholds_in_pairs),
		cmocka_unit_test(critical_needs_all_three),
		cmocka_unit_test(what_is_not_known_is_not_judged),
		cmocka_unit_test(the_worse_of_two),
		cmocka_unit_test(texts_with_numbers),
		cmocka_unit_test(every_rule_can_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
